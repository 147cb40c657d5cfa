"""The claims about one subject and predicate that has very many, found by valid time."""

from __future__ import annotations

from typing import Final

import numpy as np

from doxa.engine.graph import NONE, Graph
from doxa.engine.spans import FixedSpans, cut
from doxa.engine.tables import Ints
from doxa.engine.times import Instant

__all__ = ["Crowds"]

_STRETCH: Final = 8_192  # rows
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

    def forget(self) -> None:
        """Forgets all parts; they are made again when they are asked for."""
        self._parts = {}

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
        rows, kept = self._between(subject, predicate, last, newest), list(parts)
        while kept and len(kept[-1]) < 2 * len(rows):
            rows = np.concatenate([np.array(kept.pop().rows, np.int64), np.array(rows, np.int64)])
        return (*kept, FixedSpans(rows, graph.c_from, graph.c_to))

    def _between(self, subject: int, predicate: int, last: int, newest: int) -> Ints | range:
        """The rows of a key in (last, newest], in order: along the chain where they are rare among
        the others, else by looking at all in between, a stretch at a time."""
        graph = self.graph
        chain, chained = graph.claims_about(subject, predicate), list[int]()
        for _ in range((newest - last) // _STRIDE):
            row = next(chain, NONE)
            if row <= last:
                return np.array(chained[::-1], np.int64)
            chained.append(row)
        found: list[Ints] = []
        whole = True
        for start in range(last + 1, newest + 1, _STRETCH):
            end = min(start + _STRETCH, newest + 1)
            about = cut(graph.c_subject, start, end) == subject
            about &= cut(graph.c_predicate, start, end) == predicate
            if whole and about.all():
                continue
            if whole and start > last + 1:
                found.append(np.arange(last + 1, start))
            whole = False
            found.append(np.flatnonzero(about) + start)
        return range(last + 1, newest + 1) if whole else np.concatenate(found)
