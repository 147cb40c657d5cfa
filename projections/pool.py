"""The documents of a log, in its order: what each is, where it belongs, and how long it is.

A workspace is a **place** here: a number of the pool's own, given out in order of arrival, since
the codes of a graph are given out anew with every fold. Within its place a document has a number
too. Documents are only ever added: the first of them, and the first of each place, never change.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.arms import Ints
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT, Graph
from doxa.engine.view import TruthView
from doxa.projections.growing import Grown
from doxa.projections.reading import Read

__all__ = ["COLUMNS", "Place", "Pool", "Sight"]

COLUMNS: Final = {
    "entities": np.int64,
    "positions": np.int32,
    "places": np.int32,
    "lengths": np.int32,
}
_KINDS: Final = (CLAIM, SUPPORT, ARTEFACT)


class Place:
    """The documents of one workspace, by their numbers there."""

    def __init__(self, number: int) -> None:
        self.number, self.size = number, 0
        self._numbers, self._lengths = Grown(np.int32), Grown(np.int32)
        self._ends = Grown(np.int64)

    def add(self, numbers: Ints, lengths: Ints) -> None:
        """Adds documents by their numbers in the pool, and their lengths in terms."""
        before = int(self._ends.first(self.size)[-1]) if self.size else 0
        self._numbers.more(len(numbers))[:] = numbers
        self._lengths.more(len(numbers))[:] = lengths
        self._ends.more(len(numbers))[:] = np.cumsum(lengths, dtype=np.int64) + before
        self.size += len(numbers)  # the last of all: readers look at no more than that

    def upto(self, documents: int) -> int:
        """How many of the first so many documents of the pool are here."""
        return int(np.searchsorted(self._numbers.first(self.size), np.int32(documents)))

    def numbers(self, count: int) -> Ints:
        """The numbers of the first documents in the pool."""
        return self._numbers.first(count)

    def lengths(self, count: int) -> Ints:
        """The lengths of the first documents, in terms."""
        return self._lengths.first(count)

    def total(self, count: int) -> int:
        """How many terms the first documents have together."""
        return int(self._ends.first(count)[-1]) if count else 0


class Sight:
    """What one view may know of a pool: the beginning of each place in sight.

    Its documents have **slots**: those of one place after those of another, in log order.
    """

    def __init__(self, pool: Pool, places: Sequence[Place], documents: int) -> None:
        self.pool, self.documents = pool, documents
        some = [(place, place.upto(documents)) for place in places]
        self.parts = [(place, count) for place, count in some if count]
        self.size = sum(count for _, count in self.parts)

    @property
    def key(self) -> tuple[tuple[int, int], ...]:
        """What another sight of the same documents has the same."""
        return tuple((place.number, count) for place, count in self.parts)

    @property
    def terms(self) -> int:
        """How many terms the documents have together."""
        return sum(place.total(count) for place, count in self.parts)

    def lengths(self) -> Ints:
        """How many terms the documents have, by slot."""
        return _joined([place.lengths(count) for place, count in self.parts])

    def entities(self, slots: Ints) -> Ints:
        """The documents in some slots."""
        found, at = np.empty(len(slots), np.int64), 0
        for place, count in self.parts:
            mine = (slots >= at) & (slots < at + count)
            found[mine] = self.pool.entities[place.numbers(count)[slots[mine] - at]]
            at += count
        return found

    def slots(self, documents: Ints) -> Ints:
        """The slots of documents; -1 for one that is not here."""
        numbers = self.pool.find(documents)
        there = (numbers >= 0) & (numbers < self.documents)
        found, at = np.full(len(numbers), -1, np.int64), 0
        places = np.full(len(numbers), -1, np.int32)
        places[there] = self.pool.places[numbers[there]]
        for place, count in self.parts:
            mine = places == place.number
            sought = numbers[mine].astype(np.int32)
            found[mine] = at + np.searchsorted(place.numbers(count), sought)
            at += count
        return found


class Pool:
    """All documents of a log up to a position. Written by one thread; readers look below it."""

    def __init__(self) -> None:
        self.size = 0
        self.names: list[str] = []  # of the places
        self._places: dict[str, Place] = {}
        self._columns = {name: Grown(dtype) for name, dtype in COLUMNS.items()}
        self._rows = {kind: (Grown(np.int32), Grown(np.int32)) for kind in _KINDS}
        self._known = dict.fromkeys(_KINDS, 0)
        self._graph: Graph | None = None
        self._codes: tuple[object, int, Ints] = (None, 0, np.empty(0, np.int32))

    def __len__(self) -> int:
        return self.size

    def _column(self, name: str) -> Ints:
        return self._columns[name].first(self.size)

    @property
    def entities(self) -> Ints:
        """The documents as entities of the graph, in log order; int64."""
        return self._column("entities")

    @property
    def positions(self) -> Ints:
        """Where in the log the documents were recorded, ascending; int32."""
        return self._column("positions")

    @property
    def places(self) -> Ints:
        """The numbers of the places of the documents; int32."""
        return self._column("places")

    @property
    def lengths(self) -> Ints:
        """How many terms the documents have; int32."""
        return self._column("lengths")

    @property
    def workspaces(self) -> Ints:
        """The codes, in the graph that was followed last, of the workspaces of the documents;
        int32."""
        graph, size = self._graph, self.size
        of, count, codes = self._codes
        if of is not graph or count < size:
            assert graph is not None, "nothing was followed yet"
            names = np.array([graph.names.find(name) for name in self.names], np.int32)
            codes = names[self._columns["places"].first(size)] if size else codes[:0]
            self._codes = graph, size, codes
        return codes[:size]

    @property
    def columns(self) -> dict[str, Ints]:
        """All columns by name."""
        return {name: self._column(name) for name in COLUMNS}

    def upto(self, position: int) -> int:
        """How many documents were recorded up to a position."""
        return int(np.searchsorted(self.positions, np.int32(position), "right"))

    def place(self, name: str) -> Place:
        """The place of a workspace, made where it is new."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = Place(len(self.names))
            self.names.append(name)
        return found

    def places_of(self, view: TruthView) -> list[Place]:
        """The places of the workspaces that a view sees, as far as they have documents."""
        names = {view.workspace, ""} if view.shared else {view.workspace}
        found = [self._places.get(name) for name in sorted(names)]
        return [place for place in found if place is not None]

    def sight(self, view: TruthView) -> Sight:
        """What a view may know of the documents."""
        return Sight(self, self.places_of(view), self.upto(view.k))

    def find(self, documents: Ints) -> Ints:
        """The numbers of documents, which are entities; -1 for what is none. O(n · log n)."""
        documents = np.asarray(documents, np.int64)
        found = np.full(len(documents), -1, np.int64)
        for kind, (rows, numbers) in self._rows.items():
            mine = np.flatnonzero(documents & 7 == kind)
            known = rows.first(self._known[kind])
            if len(mine) and len(known):
                sought = (documents[mine] >> 3).astype(np.int32)
                at = np.minimum(np.searchsorted(known, sought), len(known) - 1)
                there = known[at] == sought
                found[mine[there]] = numbers.first(len(known))[at[there]]
        return found

    def add(self, read: Sequence[Read], lengths: Ints) -> tuple[Ints, Ints]:
        """Adds documents of the graph that is followed, with their lengths in terms; gives the
        place of each, and its number there. They count once `close` is called."""
        assert self._graph is not None, "nothing was followed yet"
        kinds = np.array([one.document.kind for one in read], np.int64)
        positions = np.array([one.position for one in read], np.int32)
        places = [self.place(one.workspace) for one in read]
        columns = {
            "entities": _rows_of(self._graph, kinds, positions) * 8 + kinds,
            "positions": positions,
            "places": np.array([place.number for place in places], np.int32),
            "lengths": lengths,
        }
        return columns["places"], self.extend(columns, list(dict.fromkeys(places)))

    def extend(self, columns: dict[str, npt.NDArray[Any]], places: Sequence[Place]) -> Ints:
        """Adds documents by column, which are in some places; gives their numbers there."""
        first = self._columns["entities"].size
        for name, values in columns.items():
            self._columns[name].more(len(values))[:] = values
        self._index(columns["entities"], first)
        inside = np.empty(len(columns["places"]), np.int32)
        order = np.argsort(columns["places"], kind="stable")
        bounds = np.searchsorted(columns["places"][order], np.arange(len(self.names) + 1))
        for place in places:
            mine = order[bounds[place.number] : bounds[place.number + 1]]
            inside[mine] = np.arange(place.size, place.size + len(mine))
            place.add(mine + first, columns["lengths"][mine])
        return inside

    def _index(self, entities: Ints, first: int) -> None:
        for kind, (rows, numbers) in self._rows.items():
            mine = np.flatnonzero(entities & 7 == kind)
            rows.more(len(mine))[:] = entities[mine] >> 3
            numbers.more(len(mine))[:] = mine + first

    def follow(self, graph: Graph) -> None:
        """Says whose documents these are."""
        self._graph = graph

    def close(self) -> None:
        """Lets readers see what was added."""
        self.size = self._columns["entities"].size
        for kind, (_, numbers) in self._rows.items():
            self._known[kind] = numbers.size


def _joined(parts: Sequence[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int32), *parts])


def _rows_of(graph: Graph, kinds: Ints, positions: Ints) -> Ints:
    """The rows of events of some kinds at ascending positions."""
    columns = {CLAIM: graph.c_pos, SUPPORT: graph.s_pos, ARTEFACT: graph.a_pos}
    found = np.empty(len(kinds), np.int64)
    for kind, column in columns.items():
        mine = np.flatnonzero(kinds == kind)
        if len(mine):
            low = bisect_left(column, positions[mine[0]])
            high = bisect_right(column, positions[mine[-1]], low)
            rows = np.array(column[low:high], np.int32)  # a copy: the column may grow meanwhile
            at = np.searchsorted(rows, positions[mine])
            assert np.array_equal(rows[at], positions[mine]), "the graph has other rows"
            found[mine] = low + at
    return found
