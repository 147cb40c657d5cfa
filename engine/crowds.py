"""The claims about one subject and predicate that has very many, found by valid time."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import numpy as np

from doxa.engine.graph import NONE, Graph
from doxa.engine.spans import FixedSpans
from doxa.engine.times import Instant

__all__ = ["Crowds"]

_STRIDE: Final = 64  # rows that are looked at side by side in the time that one chained one takes


class Crowds:
    """For each key that was asked for: its claims in parts that never change, oldest first, each at
    most half as large as the one before it, so that a claim is put in order O(log n) times."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parts: dict[int, tuple[FixedSpans, ...]] = {}

    def known(self, subject: int, predicate: int) -> bool:
        """Whether a key was found to have many."""
        return subject << 32 | predicate in self._parts

    def about(self, subject: int, predicate: int, v: Instant, few: int) -> list[int]:
        """The claims whose own intervals hold an instant, in no order. Looks one by one at up to
        ``few`` that are newer than the parts. O(log² n + those found)."""
        graph, key = self.graph, subject << 32 | predicate
        parts = self._parts.get(key, ())
        newest, following = graph.newest_about(subject, predicate), graph.c_next_key
        row, last = newest, parts[-1].last if parts else NONE
        newer: list[int] = []
        while row > last and len(newer) <= few:
            newer.append(row)
            row = following[row]
        if row > last:
            parts = self._parts[key] = self._with_newer(parts, subject, predicate, newest)
            newer = []
        found = [claim for claim in newer if graph.c_from[claim] <= v < graph.c_to[claim]]
        for part in parts:
            found += part.meeting(v, v + 1)
        return found

    def _with_newer(
        self, parts: tuple[FixedSpans, ...], subject: int, predicate: int, newest: int
    ) -> tuple[FixedSpans, ...]:
        graph, last = self.graph, parts[-1].last if parts else NONE
        rows = self._between(subject, predicate, last, newest)
        columns = [rows, *(_picked(column, rows) for column in (graph.c_from, graph.c_to))]
        kept = list(parts)
        while kept and len(kept[-1]) < 2 * len(columns[0]):
            before = kept.pop().columns()
            columns = [np.concatenate(both) for both in zip(before, columns, strict=True)]
        return (*kept, FixedSpans(*columns))

    def _between(self, subject: int, predicate: int, last: int, newest: int) -> Any:
        """The rows of a key in (last, newest], in order: along the chain where they are rare among
        the others, else by looking at all in between."""
        graph = self.graph
        most = (newest - last) // _STRIDE
        chained: list[int] = []
        for row in islice(graph.claims_about(subject, predicate), most):
            if row <= last:
                break
            chained.append(row)
        else:
            about = _cut(graph.c_subject, last + 1, newest + 1) == subject
            about &= _cut(graph.c_predicate, last + 1, newest + 1) == predicate
            rows = np.flatnonzero(about)
            rows += last + 1
            return rows
        return np.array(chained[::-1], np.int64)


def _cut(column: Any, start: int, end: int) -> Any:
    """A copy of a part of a column, which may grow meanwhile."""
    return np.frombuffer(column[start:end], column.typecode)


def _picked(column: Any, rows: Any) -> Any:
    """The instants of some rows, given in order."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first > _STRIDE * len(rows):
        return np.fromiter(map(column.__getitem__, rows.tolist()), np.int64, len(rows))
    between = _cut(column, first, last + 1)
    return between if len(between) == len(rows) else between[rows - first]
