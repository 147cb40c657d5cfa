"""What a ledger holds of a corpus: of each memo its latest wording, the supports and the edges that
imports recorded of it, and which of them imports took back.

All of it is found by ids. The wordings of the memo ``KEY`` in the corpus ``NAME`` are the claims
``NAME:KEY@1``, ``…@2`` and so on; what is recorded of a claim C is C+1, C+2, … (further supports)
and C>1, C>2, … (corrections by it); what takes back T, or such a withdrawal, is T!1, T!2, ….
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.graph import (
    CLAIM,
    CORRECTION,
    NONE,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    entity,
)
from doxa.engine.texts import Rows, Texts
from doxa.engine.view import TruthView

__all__ = ["KIND", "PREDICATE", "Edge", "Recorded", "Support", "Wording", "corpora"]

PREDICATE: Final = "says"
KIND: Final = "memo"
_NUMBERED: Final = re.compile(r"(.*)@([1-9][0-9]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Support:
    """A support that an import recorded; ``off`` is the withdrawal by which one took it back."""

    id: str
    source: ev.SourceRef
    off: str | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A correction that an import recorded; ``off`` is as in a support."""

    id: str
    event: ev.Correction
    off: str | None


@dataclass(slots=True)
class Wording:
    """The latest wording of a memo; ``path`` is the file it was last read from."""

    id: str
    claim: ev.Claim
    path: str | None = None
    supports: list[Support] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def corpora(view: TruthView) -> dict[str, frozenset[str]]:
    """The corpora of a workspace, each with the names of its memos. O(memos)."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in _memos(view):
        id, key = view.graph.claim_id(row), view.graph.names.texts[view.graph.c_subject[row]]
        name, colon, rest = id.partition(":")
        if colon and (numbered := _NUMBERED.fullmatch(rest)) is not None and numbered[1] == key:
            found[name].add(key)
    return {name: frozenset(keys) for name, keys in found.items()}


def _memos(view: TruthView) -> Iterator[int]:
    """The rows of the claims that are memos."""
    graph = view.graph
    codes = [graph.names.find(name) for name in (view.workspace, PREDICATE, KIND)]
    if NONE in codes:
        return
    for row in view.belief.of_predicate(codes[1]):
        if graph.c_ws[row] == codes[0] and graph.c_kind[row] == codes[2]:
            yield row


class Recorded:
    """What a ledger holds of a corpus, as known at a view of one workspace."""

    def __init__(self, view: TruthView, corpus: str, rows: Rows) -> None:
        self.view, self.graph, self.corpus = view, view.graph, corpus
        self.workspace = view.workspace
        self.texts = Texts(view.graph, rows)
        self.latest: dict[str, Wording] = {}  # by key
        self._given: dict[str, int] = {}  # the last number behind a text
        self._read()

    def _read(self) -> None:
        newest: dict[str, tuple[int, int]] = {}  # key → number and row
        for key, number, row in self._claims():
            newest[key] = max(newest.get(key, (0, NONE)), (number, row))
        found = {key: self._about(row) for key, (_, row) in newest.items()}
        self.texts.expect_at(
            [
                *(self.graph.c_pos[row] for _, row in newest.values()),
                *(self.graph.s_pos[s] for supports, _ in found.values() for s in supports),
                *(self.graph.k_pos[k] for _, edges in found.values() for k in edges),
            ]
        )
        for key, (_, row) in newest.items():
            claim = self.texts.event(self.graph.c_pos[row])
            if isinstance(claim, ev.Claim):
                self.latest[key] = self._wording(claim, *found[key])

    def _claims(self) -> Iterator[tuple[str, int, int]]:
        """The wordings of the corpus: key, number and row."""
        graph, before = self.graph, f"{self.corpus}:"
        for row in _memos(self.view):
            found = _NUMBERED.fullmatch(graph.claim_id(row).removeprefix(before))
            if found is None or not graph.claim_id(row).startswith(before):
                continue
            if found[1] == graph.names.texts[graph.c_subject[row]]:
                yield found[1], int(found[2]), row

    def _about(self, claim: int) -> tuple[list[int], list[int]]:
        """The rows of the supports and edges that imports recorded of a claim."""
        graph, id = self.graph, self.graph.claim_id(claim)
        supports = [graph.c_carried[claim]] if graph.c_carried[claim] != NONE else []
        supports += [n >> 3 for n in self._numbered(f"{id}+") if n & 7 == SUPPORT]
        edges = [n >> 3 for n in self._numbered(f"{id}>") if n & 7 == CORRECTION]
        return [s for s in supports if graph.s_claim[s] == claim], edges

    def _wording(self, claim: ev.Claim, supports: list[int], edges: list[int]) -> Wording:
        found = Wording(claim.id, claim)
        for row in supports:
            event = self.texts.event(self.graph.s_pos[row])
            if isinstance(event, ev.Claim | ev.Support) and event.source is not None:
                id = self.graph.id_of(entity(SUPPORT, row))
                found.supports.append(Support(id, event.source, self._off(SUPPORT, row, id)))
        for row in edges:
            event = self.texts.event(self.graph.k_pos[row])
            if isinstance(event, ev.Correction):
                found.edges.append(Edge(event.id, event, self._off(CORRECTION, row, event.id)))
        found.path = self._path(found)
        return found

    def _path(self, wording: Wording) -> str | None:
        """Where a memo was read last: of its supports that count, else of any."""
        before = f"{self.corpus}/"
        for counting in (True, False):
            for support in reversed(wording.supports):
                place = support.source.locator or ""
                place = place[place.rfind(before) :] if before in place else support.source.id
                if place.startswith(before) and (support.off is None) is counting:
                    return place.removeprefix(before)
        return None

    def _off(self, kind: int, row: int, id: str) -> str | None:
        """The id of a withdrawal by an import that takes an event back now."""
        for number in self._numbered(f"{id}!"):
            if number & 7 != WITHDRAWAL or self.graph.w_target[number >> 3] != entity(kind, row):
                continue
            if self.view.belief.extent(number, self.view.k):
                return self.graph.id_of(number)
        return None

    def _numbered(self, before: str) -> Iterator[int]:
        """The events whose ids are some text and 1, 2, 3, …; compacted ones are passed over."""
        number = 1
        while self.graph.taken(self.workspace, f"{before}{number}"):
            found = self.graph.find(self.workspace, f"{before}{number}")
            if found != NONE:
                yield found
            number += 1

    # -- what is to be recorded

    def free(self, before: str) -> str:
        """The next id that is some text and a number; each is given out once."""
        number = self._given.get(before, 0) + 1
        while self.graph.taken(self.workspace, f"{before}{number}"):
            number += 1
        self._given[before] = number
        return f"{before}{number}"

    def erased(self, key: str) -> bool:
        """Whether the latest wording of a memo was erased."""
        latest = False
        for number in self._numbered(f"{self.corpus}:{key}@"):
            if number & 7 == CLAIM:
                latest = number in self.graph.erased
        return latest

    def counts(self, source: str, start: int, end: int) -> bool:
        """Whether anything is left of a source within an interval."""
        left: times.Intervals = (start, end)
        for place in {self.workspace, ""}:
            row = self.graph.find_source(place, source)
            if row != NONE and left:
                left = self.view.belief.extent_now(entity(SOURCE, row), left)
        return bool(left)
