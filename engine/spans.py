"""Intervals by what they belong to, so that those that meet a stretch of time are found."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from doxa.engine.tables import Ints
from doxa.engine.times import NEG

__all__ = ["FixedSpans", "Spans", "cut", "picked"]

_SPARSE: Final = 64  # rows side by side that are copied in the time that one is picked
_STRETCH: Final = 8_192  # rows


class Spans:
    """Rows, each with one interval, kept by the power of two that its length reaches: within one
    power, what may meet a stretch lies side by side."""

    def __init__(self) -> None:
        self._levels: dict[int, list[tuple[int, int, int]]] = {}  # (low, row, high), sorted
        self._kept: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, row: int) -> bool:
        return row in self._kept

    def add(self, row: int, low: int, high: int) -> None:
        """Keeps a row, at this interval alone."""
        if self._kept.get(row) == (low, high):
            return
        self.discard(row)
        self._kept[row] = (low, high)
        insort(self._levels.setdefault((high - low).bit_length(), []), (low, row, high))

    def widen(self, row: int, low: int, high: int) -> None:
        """Keeps a row at the smallest interval that holds this one and the one that it had."""
        kept = self._kept.get(row, (low, high))
        self.add(row, min(low, kept[0]), max(high, kept[1]))

    def discard(self, row: int) -> None:
        """Forgets a row, if it is kept."""
        kept = self._kept.pop(row, None)
        if kept is not None:
            low, high = kept
            level = self._levels[(high - low).bit_length()]
            del level[bisect_left(level, (low, row, high))]

    def meeting(self, low: int, high: int) -> Iterator[int]:
        """The rows whose interval meets low to high. O(log n) for each power of two in use, and
        what is found there, with up to as many that end just before."""
        for power, level in self._levels.items():
            earliest = low - (1 << power)
            for i in range(bisect_left(level, (high,)) - 1, -1, -1):
                start, row, end = level[i]
                if start <= earliest:
                    break
                if end > low:
                    yield row


class FixedSpans:
    """Rows of two columns of bounds, which never change: found as in `Spans`, put in order at once.
    Rows side by side that are in order as they are, and of about one length, are not even listed.
    """

    def __init__(self, rows: Ints | range, lows: array[int], highs: array[int]) -> None:
        """``rows`` are some, of int64, or a range of them. O(n log n); O(n) where they are in
        order."""
        first, last = (rows[0], rows[-1]) if isinstance(rows, range) else (rows.min(), rows.max())
        self.last = int(last)
        self._lows, self._highs = lows, highs
        self.rows: Sequence[int]
        if len(rows) == last - first + 1:  # all in between
            side_by_side = range(int(first), self.last + 1)
            power = _power(side_by_side, lows, highs)
            if power is not None:
                self.rows, self._levels = side_by_side, [(power, 0, len(side_by_side))]
                return
        rows = np.array(rows, np.int64)
        starts = picked(lows, rows)
        # a length that is rounded up on its way to a float only ever raises the power
        lengths = (picked(highs, rows).view(np.uint64) - starts.view(np.uint64)).astype(np.float64)
        powers = np.frexp(lengths)[1]
        order = np.lexsort((starts, powers))
        powers = powers[order]
        bounds = [0, *(np.flatnonzero(np.diff(powers)) + 1).tolist(), len(powers)]
        self._levels = [(int(powers[low]), low, high) for low, high in pairwise(bounds)]
        self.rows = rows[order].astype(np.int32).data

    def __len__(self) -> int:
        return len(self.rows)

    def meeting(self, low: int, high: int) -> Iterator[int]:
        """The rows whose interval meets low to high; costs as in `Spans`."""
        rows, lows, highs = self.rows, self._lows, self._highs
        for power, first, end in self._levels:
            earliest = low - (1 << power)
            before = bisect_left(rows, high, first, end, key=lows.__getitem__)
            for i in range(before - 1, first - 1, -1):
                row = rows[i]
                if lows[row] <= earliest:
                    break
                if highs[row] > low:
                    yield row


def cut(column: array[int], start: int, end: int) -> Ints:
    """A copy of a part of a column, which may grow meanwhile."""
    return np.frombuffer(column[start:end], column.typecode)


def picked(column: array[int], rows: Ints) -> Ints:
    """The instants of some rows, one or more."""
    first, last = int(rows.min()), int(rows.max())
    if last - first > _SPARSE * len(rows):
        return np.fromiter(map(column.__getitem__, rows.tolist()), np.int64, len(rows))
    found: Ints = cut(column, first, last + 1)[rows - first]
    return found


def _power(rows: range, lows: array[int], highs: array[int]) -> int | None:
    """The power of two that the lengths of all rows reach, where it is one and they are in order.
    Looks at a stretch at a time, which costs no memory."""
    found, before = None, NEG
    for start in range(rows.start, rows.stop, _STRETCH):
        end = min(start + _STRETCH, rows.stop)
        low = cut(lows, start, end)
        if low[0] < before or (low[1:] < low[:-1]).any():
            return None
        lengths = cut(highs, start, end).view(np.uint64) - low.view(np.uint64)
        power, least = (int(length).bit_length() for length in (lengths.max(), lengths.min()))
        if power != least or found not in (None, power):
            return None
        found, before = power, int(low[-1])
    return found
