"""Instants with rows, found by a stretch of time."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

__all__ = ["Moments"]

_LOOSE = 256  # entries that are looked at one by one before all are sorted again


class Moments:
    """Pairs of an instant and a row, in order of arrival and, when asked, in order of time."""

    def __init__(self) -> None:
        self.at, self.row = array("q"), array("i")
        self._sorted: tuple[array[int], array[int]] = array("q"), array("i")

    def __len__(self) -> int:
        return len(self.row)

    def add(self, at: int, row: int) -> None:
        """Notes a row at an instant."""
        self.at.append(at)
        self.row.append(row)

    def between(self, low: int, high: int) -> Iterator[int]:
        """The rows at instants in (low, high]. O(log n + those found), once sorted."""
        count = len(self.row)
        at, rows = self._sorted
        if count - len(rows) > _LOOSE:
            at, rows = self._sorted = self._in_order(count)
        yield from rows[bisect_right(at, low) : bisect_right(at, high)]
        for i in range(len(rows), count):
            if low < self.at[i] <= high:
                yield self.row[i]

    def _in_order(self, count: int) -> tuple[array[int], array[int]]:
        instants = np.frombuffer(self.at[:count], np.int64)
        order = np.argsort(instants, kind="stable")
        rows = np.frombuffer(self.row[:count], np.int32)
        return array("q", instants[order].tobytes()), array("i", rows[order].tobytes())
