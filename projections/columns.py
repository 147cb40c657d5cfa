"""The columns of a belief as arrays, kept from one question to the next.

Columns only grow, so that an array made of their beginning stays right; what was added since is
copied when it is asked for. Columns that change in place are copied anew each time.
"""

from __future__ import annotations

import os
import threading
import weakref
from array import array
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from doxa.engine.belief import Belief
from doxa.engine.tables import Objects, Strings

__all__ = ["Columns", "Ints", "changing", "column_texts", "columns_of", "picked"]

Ints = npt.NDArray[Any]
LARGEST: Final = 2**31 - 1  # bytes of a plain array of texts

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
        # by the column's identity, which stays its own while it is kept here: array, filled
        self._ints: dict[int, tuple[array[int] | bytearray, Ints, int]] = {}
        self._texts: dict[int, tuple[Strings | Objects, list[Any]]] = {}
        self._derived: dict[str, tuple[Ints, int]] = {}
        self._mutex = threading.Lock()

    def ints(self, column: array[int] | bytearray, rows: int) -> Ints:
        """The first ``rows`` of a column that only grows, not to be written to."""
        key = id(column)
        with self._mutex:
            _, kept, filled = self._ints.get(key, (column, np.empty(0, _dtype(column)), 0))
            if filled < rows:
                if len(kept) < rows:
                    larger = np.empty(max(rows, 2 * len(kept)), kept.dtype)
                    larger[:filled] = kept[:filled]
                    kept = larger
                kept[filled:rows] = np.frombuffer(column[filled:rows], kept.dtype)
                self._ints[key] = (column, kept, rows)
            return kept[:rows]

    def derived(self, name: str, dtype: Any, rows: int, made: Callable[[int, int], Ints]) -> Ints:
        """The first ``rows`` of a column that follows from others; ``made(low, high)`` gives the
        entries that are new."""
        kept, filled = self._derived.get(name, (np.empty(0, dtype), 0))
        if filled < rows:
            fresh = made(filled, rows)
            with self._mutex:
                self._derived[name] = np.concatenate([kept[:filled], fresh]), rows
                kept = self._derived[name][0]
        return kept[:rows]

    def texts(self, column: Strings | Objects, rows: int) -> Any:
        """The first ``rows`` of a column of texts, or of JSON values as their text, in Arrow."""
        key = id(column)
        with self._mutex:
            _, chunks = self._texts.setdefault(key, (column, []))
            filled = sum(map(len, chunks))
            if filled < rows:
                chunks += column_texts(column, filled, rows)
            if len(chunks) != 1:
                chunks[:] = [_concatenated(chunks)]
            return chunks[0]


def _concatenated(chunks: list[Any]) -> Any:
    """One array of several; of more bytes than a plain array of texts can have, a large one."""
    large = any(chunk.type != pa.string() for chunk in chunks)
    if large or sum(chunk.nbytes for chunk in chunks) > LARGEST:
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


def picked(texts: Any, rows: Any) -> Any:
    """Chosen texts of an array, as a plain array."""
    found = texts.take(rows)
    return found if found.type == pa.string() else found.cast(pa.string())


def column_texts(column: Strings | Objects, low: int, high: int) -> list[Any]:
    """Texts low to high as Arrow arrays: those that are sealed without copying them."""
    sealed, _ = column.parts
    found = []
    if low < sealed.size:
        ends = np.asarray(sealed.ends)
        if ends[-1] <= LARGEST:
            whole = pa.StringArray.from_buffers(
                sealed.size, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(sealed.blob)
            )
        else:
            whole = pa.LargeStringArray.from_buffers(
                sealed.size, pa.py_buffer(ends), pa.py_buffer(sealed.blob)
            )
        found.append(whole[low : min(high, sealed.size)])
        low = min(high, sealed.size)
    if low < high:
        found.append(pa.array([column.text(i) for i in range(low, high)], pa.string()))
    return found


def _dtype(column: array[int] | bytearray) -> Any:
    return np.uint8 if isinstance(column, bytearray) else np.dtype(column.typecode)


def changing(column: array[int], rows: int) -> Ints:
    """A copy of the beginning of a column whose entries change."""
    return np.frombuffer(column[:rows], _dtype(column))


def _start_in_child() -> None:
    """A forked child does not have the thread that may hold a lock here."""
    global _lock
    _lock = threading.Lock()
    _made.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_in_child)
