"""What is believed: extents, held, contested, corroborated; kept up to date event by event.

The truth of a claim at one knowledge time is a handful of interval sets over valid time, its
`Record`. A commit changes the records of the claims that it reaches, and only those are computed
anew; the earlier ones stay, so that any past knowledge can be asked. A claim that nothing has
reached but its own source has no record of its own: its row says it all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from doxa.engine import events as ev
from doxa.engine.graph import (
    CORRECTION,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    Graph,
    entity,
)
from doxa.engine.rivals import RivalGroup
from doxa.engine.times import (
    ALL,
    EMPTY,
    Instant,
    Intervals,
    covers,
    intersect,
    subtract,
)

__all__ = ["HELD", "NOTHING", "Belief", "Changes", "Record", "Standing"]


class Standing(StrEnum):
    """What a claim is worth at a view; the first of these that applies."""

    NOT_YET_KNOWN = "not_yet_known"
    REDACTED = "redacted"
    COMPACTED = "compacted"
    RETRACTED = "retracted"
    SUPERSEDED = "superseded"
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"
    HYPOTHESIS = "hypothesis"
    UNSUPPORTED = "unsupported"
    CONTESTED = "contested"
    CORROBORATED = "corroborated"
    REPORTED = "reported"

    @property
    def held(self) -> bool:
        """Whether a claim of this standing is believed."""
        return self in HELD


HELD = frozenset({Standing.CONTESTED, Standing.CORROBORATED, Standing.REPORTED})


class Record(NamedTuple):
    """Where in valid time each thing is so of one claim, from one commit on."""

    withdrawn: Intervals = EMPTY
    superseded: Intervals = EMPTY
    held: Intervals = EMPTY
    contested: Intervals = EMPTY
    corroborated: Intervals = EMPTY


NOTHING = Record()


@dataclass
class Changes:
    """What one commit changed, each with the position of the event that caused it."""

    position: int
    claims: dict[int, int] = field(default_factory=dict)
    supports: dict[int, int] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    artefacts: dict[int, int] = field(default_factory=dict)
    registered: list[int] = field(default_factory=list)
    subjects: dict[int, int] = field(default_factory=dict)  # claim row → cause, for snapshots


class Belief:
    """The belief fold over one log: `apply` commits in order, ask at any position."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.hypothesis = self.graph.names.code("hypothesis")
        self.shared = self.graph.names.code("")
        self.extents: dict[int, tuple[list[int], list[Intervals]]] = {}
        self.records: dict[int, tuple[list[int], list[Record]]] = {}
        self.rival_groups: dict[tuple[int, int, int, int], RivalGroup] = {}
        self._object_keys: dict[int, str] = {}
        self.changed_at: list[int] = []  # commit positions, parallel to changed_claim
        self.changed_claim: list[int] = []

    # ------------------------------------------------------------ asking, at a position k

    def extent(self, number: int, k: int) -> Intervals:
        """Where an event counts, as known at ``k``: its portion less what took it back. For claims
        see `record`: theirs is their interval less ``withdrawn`` and ``superseded``."""
        versions = self.extents.get(number)
        if versions is None:
            return self.graph.base(number)
        i = bisect_right(versions[0], k)
        return versions[1][i - 1] if i else self.graph.base(number)

    def record(self, claim: int, k: int) -> Record:
        """The record of a claim as known at ``k``, which is not before its own position."""
        versions = self.records.get(claim)
        if versions is not None:
            i = bisect_right(versions[0], k)
            if i:
                return versions[1][i - 1]
        return Record(held=self.plain_held(claim))

    def held(self, claim: int, v: Instant, k: int) -> bool:
        """Whether a claim is held at (v, k)."""
        if self.graph.c_pos[claim] > k:
            return False
        versions = self.records.get(claim)
        if versions is not None:
            i = bisect_right(versions[0], k)
            if i:
                return covers(versions[1][i - 1].held, v)
        return covers(self.plain_held(claim), v)

    def standing(self, claim: int, v: Instant, k: int) -> Standing:
        """The standing of a claim at (v, k)."""
        graph = self.graph
        if graph.c_pos[claim] > k:
            return Standing.NOT_YET_KNOWN
        record = self.record(claim, k) if claim in self.records else None
        if record is not None:
            if record.withdrawn and covers(record.withdrawn, v):
                return Standing.RETRACTED
            if record.superseded and covers(record.superseded, v):
                return Standing.SUPERSEDED
        if v < graph.c_from[claim]:
            return Standing.NOT_YET_VALID
        if v >= graph.c_to[claim]:
            return Standing.EXPIRED
        if graph.c_kind[claim] == self.hypothesis:
            return Standing.HYPOTHESIS
        if record is None:
            return Standing.REPORTED if self.plain_held(claim) else Standing.UNSUPPORTED
        if not covers(record.held, v):
            return Standing.UNSUPPORTED
        if record.contested and covers(record.contested, v):
            return Standing.CONTESTED
        if record.corroborated and covers(record.corroborated, v):
            return Standing.CORROBORATED
        return Standing.REPORTED

    def live(self, support: int, v: Instant, k: int) -> bool:
        """Whether a support counts at (v, k): its extent covers v and its premises are held."""
        return (
            self.graph.s_pos[support] <= k
            and covers(self.extent(entity(SUPPORT, support), k), v)
            and all(self.held(p, v, k) for p in self.graph.s_because.get(support, ()))
        )

    def live_supports(self, claim: int, v: Instant, k: int) -> Iterator[int]:
        """The supports of a claim, of both stances, that are live at (v, k)."""
        return (s for s in self.graph.supports_of(claim) if self.live(s, v, k))

    def source_live(self, source: int, v: Instant, k: int) -> bool:
        """Whether a source is live at (v, k), in its workspace and in the shared one."""
        return all(
            covers(self.extent(entity(SOURCE, row), k), v) for row in self.with_shared(source)
        )

    def live_corrections(self, claim: int, v: Instant, k: int) -> Iterator[int]:
        """The corrections of a claim that are live at (v, k)."""
        pos = self.graph.k_pos
        for row in self.graph.corrections_of.get(claim, ()):
            if pos[row] <= k and covers(self.extent(entity(CORRECTION, row), k), v):
                yield row

    def successors(self, claim: int, v: Instant, k: int) -> list[int]:
        """The claims at the end of the live corrections of a claim: held ones first, then in log
        order. Chains that end in nothing, or in a ring, have none."""
        seen, found, stack = {claim}, set(), [claim]
        by = self.graph.k_by
        while stack:
            at = stack.pop()
            corrections = list(self.live_corrections(at, v, k))
            if not corrections and at != claim:
                found.add(at)
            for row in corrections:
                if by[row] != NONE and by[row] not in seen:
                    seen.add(by[row])
                    stack.append(by[row])
        return sorted(found, key=lambda c: (not self.held(c, v, k), self.graph.c_pos[c]))

    def origins(self, claim: int, v: Instant, k: int) -> list[str]:
        """The distinct origins of the live source supports of a claim, in order of their names."""
        graph = self.graph
        return sorted(
            {
                graph.names.texts[graph.s_origin[row]]
                for row in self.live_supports(claim, v, k)
                if graph.s_source[row] != NONE and not graph.s_refutes[row]
            }
        )

    def rivals(self, claim: int, v: Instant, k: int) -> list[int]:
        """The held claims that a held claim is contested by at (v, k), in log order."""
        graph = self.graph
        found = {
            other
            for row in graph.contradictions.get(claim, ())
            if graph.p_pos[row] <= k and covers(self.extent(entity(POLICY, row), k), v)
            for other in graph.p_claims[row]
        }
        if self._single_valued(claim, v, k):
            key = self.object_key(claim)
            found.update(
                other
                for other in graph.claims_about(graph.c_subject[claim], graph.c_predicate[claim])
                if graph.c_ws[other] == graph.c_ws[claim]
                and graph.c_perspective[other] == graph.c_perspective[claim]
                and self.object_key(other) != key
            )
        found.discard(claim)
        return sorted(other for other in found if self.held(other, v, k))

    def _single_valued(self, claim: int, v: Instant, k: int) -> bool:
        graph = self.graph
        declared = graph.single_valued.get(graph.c_predicate[claim])
        return declared is not None and any(
            graph.p_pos[row] <= k and covers(self.extent(entity(POLICY, row), k), v)
            for workspace in {graph.c_ws[claim], self.shared}
            for row in declared.get(workspace, ())
        )

    def ambiguous(self, claim: int, v: Instant, k: int) -> list[int]:
        """The unresolved corrections, live at (v, k), that may mean a claim."""
        return [
            row
            for row in self.graph.k_candidates.get(claim, ())
            if self.graph.k_pos[row] <= k and covers(self.extent(entity(CORRECTION, row), k), v)
        ]

    def changed_between(self, after: int, upto: int) -> set[int]:
        """The claims that are new, or whose record or supports changed, in (after, upto]."""
        low, high = bisect_right(self.changed_at, after), bisect_right(self.changed_at, upto)
        changed = set(self.changed_claim[low:high])
        pos = self.graph.c_pos
        changed.update(range(bisect_right(pos, after), bisect_right(pos, upto)))
        return changed

    def changes_of(self, claim: int) -> Sequence[int]:
        """The commit positions at which the record of a claim changed, after its first."""
        versions = self.records.get(claim)
        return versions[0] if versions is not None else ()

    def touched(self, claim: int) -> bool:
        """Whether anything but its own source has ever reached a claim."""
        return claim in self.records

    # ------------------------------------------------------------ the newest knowledge

    def extent_now(self, number: int) -> Intervals:
        """The extent of an event at the head."""
        versions = self.extents.get(number)
        return versions[1][-1] if versions is not None else self.graph.base(number)

    def source_extent_now(self, source: int) -> Intervals:
        """Where a source counts at the head, in its workspace and in the shared one."""
        found = ALL
        for row in self.with_shared(source):
            found = intersect(found, self.extent_now(entity(SOURCE, row)))
        return found

    def with_shared(self, source: int) -> Iterable[int]:
        """A source, and the one of the same name in the shared workspace where there is one."""
        graph = self.graph
        if graph.r_ws[source] == self.shared:
            return (source,)
        shared = graph.find_source("", graph.names.texts[graph.r_name[source]])
        return (source,) if shared == NONE else (source, shared)

    def plain_held(self, claim: int) -> Intervals:
        graph = self.graph
        carried = graph.c_carried[claim]
        if (
            carried == NONE
            or graph.s_source[carried] == NONE
            or graph.c_kind[claim] == self.hypothesis
        ):
            return EMPTY
        return (graph.c_from[claim], graph.c_to[claim])

    def record_now(self, claim: int) -> Record:
        """The record of a claim at the head."""
        versions = self.records.get(claim)
        return versions[1][-1] if versions is not None else Record(held=self.plain_held(claim))

    def claim_extent(self, claim: int, record: Record) -> Intervals:
        own = (self.graph.c_from[claim], self.graph.c_to[claim])
        return subtract(subtract(own, record.withdrawn), record.superseded)

    def object_key(self, claim: int) -> str:
        key = self._object_keys.get(claim)
        if key is None:
            key = self._object_keys[claim] = ev.equality_key(self.graph.c_object[claim])
        return key
