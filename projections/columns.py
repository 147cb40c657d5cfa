"""The columns of a belief as arrays, kept from one question to the next.

Columns only grow, so that an array made of their beginning stays right; what was added since is
copied when it is asked for. What changes in place is followed by what grows. Nothing here depends
on a view: only on what was recorded.
"""

from __future__ import annotations

import os
import threading
import weakref
from array import array
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from doxa.engine.belief import Belief
from doxa.engine.graph import NONE
from doxa.engine.history import OPEN, History
from doxa.engine.tables import Objects, Strings
from doxa.projections.growing import Grown, GrownTexts, Ints, column_texts
from doxa.projections.places import CODES, Chosen, Places, is_rare

__all__ = ["Columns", "Ints", "columns_of"]

_PART: Final = 100_000  # texts that are written out at once
_SHORT: Final = 32  # bytes of a text, on average, up to which texts are written out

_made: weakref.WeakKeyDictionary[Belief, Columns] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def columns_of(belief: Belief) -> Columns:
    """The arrays of a belief."""
    with _lock:
        found, erased = _made.get(belief), len(belief.graph.blank)
        if found is None or found.erased != erased:  # columns of what was erased changed in place
            found = _made[belief] = Columns(erased)
        return found


class Columns:
    """Arrays by column. Safe for threads."""

    def __init__(self, erased: int = 0) -> None:
        """``erased`` is how many events have no content."""
        self.erased = erased
        # by the column's identity, which stays its own while it is kept here
        self._ints: dict[int, tuple[array[int] | bytearray, Grown]] = {}
        self._texts: dict[int, tuple[Strings | Objects, GrownTexts]] = {}
        self._written: dict[int, _Written] = {}
        self._derived: dict[str, Grown] = {}
        self._lives: dict[int, tuple[History, Grown, Grown]] = {}
        self._places: dict[tuple[int, int], Places] = {}
        self._mutex = threading.RLock()

    def ints(self, column: array[int] | bytearray, rows: int) -> Ints:
        """The first ``rows`` of a column that only grows, not to be written to."""
        key = id(column)
        with self._mutex:
            found = self._ints.get(key)
            if found is None:
                found = self._ints[key] = column, Grown(_dtype(column))
            _, kept = found
            if kept.size < rows:
                low = kept.size
                kept.more(rows - low)[:] = np.frombuffer(column[low:rows], _dtype(column))
            return kept.first(rows)

    def entries(
        self, column: array[int] | bytearray, rows: Ints, low: int, high: int, places: Places
    ) -> Ints:
        """The entries of a column that only grows, at those from low to high of the rows of a code
        or of its history."""

        def made(some: Ints) -> Ints:
            return self.ints(column, int(some[-1]) + 1 if len(some) else 0)[some]

        if not is_rare(rows):
            return made(rows[low:high])
        return places.numbers(column, _dtype(column), rows, made)[low:high]

    def derived(self, name: str, dtype: Any, rows: int, made: Callable[[int, int], Ints]) -> Ints:
        """The first ``rows`` of a column that follows from others; ``made(low, high)`` gives the
        entries that are new."""
        with self._mutex:
            kept = self._derived.get(name)
            if kept is None:
                kept = self._derived[name] = Grown(dtype)
            if kept.size < rows:
                fresh = made(kept.size, rows)
                kept.more(len(fresh))[:] = fresh
            return kept.first(rows)

    def texts(self, column: Strings | Objects, rows: int) -> Any:
        """The first ``rows`` of a column of texts, or of JSON values as their text, in Arrow, and
        perhaps more."""
        key = id(column)
        with self._mutex:
            found = self._texts.get(key)
            if found is None:
                found = self._texts[key] = column, GrownTexts()
            _, kept = found
            if len(kept) < rows:
                high = max(rows, column.parts[0].size)  # all that is sealed: it is not copied
                kept.extend(column_texts(column, len(kept), high))
            return kept.array

    def written_out(self, column: array[int], names: Strings, rows: int, wanted: int) -> Any:
        """The texts that a column of codes stands for, row by row, as `texts`: they are found in
        half the time where there are many. None where they are long, and until more of them were
        ``wanted`` than there are, so that who asks once does not pay for it."""
        key = id(column)
        with self._mutex:
            found = self._written.get(key)
            if found is None:
                found = self._written[key] = _Written(column)
            found.wanted += wanted
            if found.long or found.wanted <= rows:
                return None
            kept = found.texts
            while len(kept) < rows:
                low = len(kept)
                codes = self.ints(column, rows)[low : low + _PART]
                kept.extend([self.texts(names, len(names)).take(pa.array(codes))])
                if kept.bytes > _SHORT * len(kept):
                    found.long, found.texts = True, GrownTexts()
                    return None
            return kept.array

    def lives(self, history: History, rows: int, owners: int) -> tuple[Ints, Ints]:
        """``until`` of the first ``rows`` of a history and ``since`` of the first ``owners``, who
        have no others before those rows: as they are known there, or at any later position.

        Later knowledge may be written into both while they are read. It can't be told from `OPEN`
        by who looks for what was so at the position of the last of the rows, or before.
        """
        key = id(history)
        with self._mutex:
            found = self._lives.get(key)
            if found is None:
                found = self._lives[key] = history, Grown(np.int32), Grown(np.int32)
            _, until, since = found
            if since.size < owners:
                since.more(owners - since.size)[:] = OPEN
            if until.size < rows:
                low = until.size
                until.more(rows - low)[:] = OPEN
                known, before, owner = (
                    np.frombuffer(column[low:rows], np.int32)
                    for column in (history.known, history.before, history.owner)
                )
                begins = before == NONE
                until.first(rows)[before[~begins]] = known[~begins]
                since.first(since.size)[owner[begins]] = known[begins]
            return until.first(rows), since.first(owners)

    def chosen(
        self, column: array[int], code: int, claims: int, history: History, rows: int
    ) -> Chosen:
        """Where a code occurs in a column of claims, in as many of them and as many rows of their
        history as there are up to a position. O(both) for the first time, then what is new."""
        key = id(column), code
        with self._mutex:
            found = self._places.pop(key, None)
            if found is None:
                found = Places(self._mutex)
                if len(self._places) >= CODES:
                    del self._places[next(iter(self._places))]
            self._places[key] = found
            found.follow(self.ints(column, claims), code, self.ints(history.owner, rows))
            return found.upto(claims, rows)


class _Written:
    """A column of codes, written out; how many of its texts were wanted, and whether they are
    long."""

    def __init__(self, column: array[int]) -> None:
        self.column, self.texts = column, GrownTexts()
        self.wanted, self.long = 0, False


def _dtype(column: array[int] | bytearray) -> Any:
    return np.uint8 if isinstance(column, bytearray) else np.dtype(column.typecode)


def _start_in_child() -> None:
    """A forked child does not have the thread that may hold a lock here."""
    global _lock
    _lock = threading.Lock()
    _made.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_in_child)
