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

__all__ = ["Columns", "Ints", "Places", "columns_of"]

_CODES: Final = 256  # codes whose places are kept at once
_RARE: Final = 16  # rows for each that has a code, from which on its entries are kept
_PART: Final = 100_000  # texts that are written out at once
_SHORT: Final = 32  # bytes of a text, on average, up to which texts are written out

_made: weakref.WeakKeyDictionary[Belief, Columns] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def columns_of(belief: Belief) -> Columns:
    """The arrays of a belief."""
    with _lock:
        found = _made.get(belief)
        if found is None:
            found = _made[belief] = Columns()
        return found


class Columns:
    """Arrays by column. Safe for threads."""

    def __init__(self) -> None:
        # by the column's identity, which stays its own while it is kept here
        self._ints: dict[int, tuple[array[int] | bytearray, Grown]] = {}
        self._texts: dict[int, tuple[Strings | Objects, GrownTexts]] = {}
        self._written: dict[int, tuple[array[int], GrownTexts | None]] = {}
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

    def written_out(self, column: array[int], names: Strings, rows: int) -> Any:
        """The texts that a column of codes stands for, row by row, as `texts`: they are found in
        half the time where there are many. None where they are long; then they are not kept."""
        key = id(column)
        with self._mutex:
            found = self._written.get(key)
            if found is None:
                found = self._written[key] = column, GrownTexts()
            _, kept = found
            if kept is None:
                return None
            while len(kept) < rows:
                low = len(kept)
                codes = self.ints(column, rows)[low : low + _PART]
                kept.extend([self.texts(names, len(names)).take(pa.array(codes))])
                if kept.bytes > _SHORT * len(kept):
                    self._written[key] = column, None
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

    def places(
        self, column: array[int], code: int, claims: int, history: History, rows: int
    ) -> Places:
        """Where a code occurs in a column of claims, in as many of them and as many rows of their
        history as there are up to a position. O(both) for the first time, then what is new."""
        key = id(column), code
        with self._mutex:
            found = self._places.pop(key, None)
            if found is None:
                found = Places(self, self._mutex)
                if len(self._places) >= _CODES:
                    del self._places[next(iter(self._places))]
            self._places[key] = found
            found.follow(self.ints(column, claims), code, self.ints(history.owner, rows))
            return found


class Places:
    """The claims that have one code in a column, and the rows of the history of claims that are of
    one of these."""

    def __init__(self, arrays: Columns, mutex: threading.RLock) -> None:
        self._arrays, self._mutex = arrays, mutex
        self._rows, self._changes, self._owners = (Grown(np.int32) for _ in range(3))
        self._claims = self._history = 0  # that were looked through
        self._entries: dict[int, tuple[array[int] | bytearray, Grown]] = {}

    def follow(self, codes: Ints, code: int, owner: Ints) -> None:
        """Takes in what is new of the codes of claims, and of the owners of rows of the history."""
        if self._claims < len(codes):
            fresh = np.flatnonzero(codes[self._claims :] == code) + self._claims
            self._rows.more(len(fresh))[:] = fresh
            self._claims = len(codes)
        if self._history < len(owner):
            owners = owner[self._history :]
            mine = np.flatnonzero(codes[owners] == code)
            self._changes.more(len(mine))[:] = mine + self._history
            rows = self._rows.first(self._rows.size)
            self._owners.more(len(mine))[:] = np.searchsorted(rows, owners[mine])
            self._history = len(owner)

    def rows(self, claims: int) -> Ints:
        """The rows of those among the first ``claims``, ascending, int32."""
        rows = self._rows.first(self._rows.size)
        return rows[: np.searchsorted(rows, claims)]

    def changes(self, rows: int) -> tuple[Ints, Ints]:
        """Those of the first ``rows`` of the history, ascending, and of which of the claims each
        is, counted among the claims that have the code; int32."""
        changes = self._changes.first(self._changes.size)
        known = int(np.searchsorted(changes, rows))
        return changes[:known], self._owners.first(known)

    def entries(self, column: array[int] | bytearray, rows: Ints) -> Ints:
        """The entries of a column that only grows at the rows that `rows` or `changes` gave; where
        these are few beside it they are kept, so that they lie side by side."""
        size = int(rows[-1]) + 1 if len(rows) else 0
        if len(rows) * _RARE > size:
            return self._arrays.ints(column, size)[rows]
        with self._mutex:
            found = self._entries.get(id(column))
            if found is None:
                found = self._entries[id(column)] = column, Grown(_dtype(column))
            _, kept = found
            if kept.size < len(rows):
                fresh = self._arrays.ints(column, size)[rows[kept.size :]]
                kept.more(len(fresh))[:] = fresh
            return kept.first(len(rows))


def _dtype(column: array[int] | bytearray) -> Any:
    return np.uint8 if isinstance(column, bytearray) else np.dtype(column.typecode)


def _start_in_child() -> None:
    """A forked child does not have the thread that may hold a lock here."""
    global _lock
    _lock = threading.Lock()
    _made.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_in_child)
