"""Intervals by what they belong to, so that those that meet a stretch of time are found."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

__all__ = ["Spans"]


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
