"""Intervals by what they belong to, so that those that meet a stretch of time are found."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["FixedSpans", "Spans"]


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
    """Rows, each with one interval, that never change: found as in `Spans`, made at once."""

    def __init__(self, rows: Any, lows: Any, highs: Any) -> None:
        """``rows`` are int64, the last one the largest; ``lows`` and ``highs`` microseconds beside
        them. O(n log n); O(n) where they are in order and of about one length."""
        self.last = int(rows[-1])
        lengths = highs.view(np.uint64) - lows.view(np.uint64)
        power = int(lengths.max()).bit_length()
        if power == int(lengths.min()).bit_length():
            self._levels = [(power, 0, len(rows))]
            order = None if (lows[1:] >= lows[:-1]).all() else np.argsort(lows)
        else:
            # a length that is rounded up on its way to a float only ever raises the power
            powers = np.frexp(lengths.astype(np.float64))[1]
            order = np.lexsort((lows, powers))
            powers = powers[order]
            bounds = [0, *(np.flatnonzero(np.diff(powers)) + 1).tolist(), len(powers)]
            self._levels = [(int(powers[low]), low, high) for low, high in pairwise(bounds)]
        if order is not None:
            rows, lows, highs = rows[order], lows[order], highs[order]
        self._rows, self._lows, self._highs = rows.data, lows.data, highs.data

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self) -> tuple[Any, Any, Any]:
        """Rows, lows and highs, in no order that matters."""
        return np.asarray(self._rows), np.asarray(self._lows), np.asarray(self._highs)

    def meeting(self, low: int, high: int) -> Iterator[int]:
        """The rows whose interval meets low to high; costs as in `Spans`."""
        rows, lows, highs = self._rows, self._lows, self._highs
        for power, first, end in self._levels:
            earliest = low - (1 << power)
            for i in range(bisect_left(lows, high, first, end) - 1, first - 1, -1):
                if lows[i] <= earliest:
                    break
                if highs[i] > low:
                    yield rows[i]
