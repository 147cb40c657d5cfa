"""What is believed: extents, held, contested, corroborated; kept up to date event by event.

The truth of a claim at one knowledge time is a step function over valid time. A commit changes the
step functions of the claims that it reaches, and only where it reaches them; the earlier ones stay,
so that any past knowledge can be asked (see `history`). A claim that nothing has reached but its
own source has no row there: its own row says it all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from doxa.engine.crowds import Crowds
from doxa.engine.graph import (
    CLAIM,
    CORRECTION,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    Graph,
    entity,
)
from doxa.engine.history import DenseHistory, History, Piece
from doxa.engine.origins import Origins
from doxa.engine.rivalry import FEW, Rivalry
from doxa.engine.rows import HYPOTHESIS, PLAIN, SHARED
from doxa.engine.spans import Spans
from doxa.engine.times import ALL, EMPTY, Instant, Intervals, intersect

__all__ = [
    "CONTESTED",
    "CORROBORATED",
    "COUNTS",
    "FEW",
    "HELD",
    "HOLDS",
    "STANDINGS",
    "SUPERSEDED",
    "WITHDRAWN",
    "Belief",
    "Changes",
    "Record",
    "Standing",
]


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

# The bits of a claim's code. HOLDS, CONTESTED and CORROBORATED are meant within its own interval.
WITHDRAWN, SUPERSEDED, HOLDS, CONTESTED, CORROBORATED = 1, 2, 4, 8, 16
COUNTS = 1  # the one bit of any other event's code: its extent
assert HOLDS == PLAIN


def _stands(code: int) -> Standing:
    """The standing that a code stands for within a claim's own interval."""
    if code & WITHDRAWN:
        return Standing.RETRACTED
    if code & SUPERSEDED:
        return Standing.SUPERSEDED
    if not code & HOLDS:
        return Standing.UNSUPPORTED
    if code & CONTESTED:
        return Standing.CONTESTED
    return Standing.CORROBORATED if code & CORROBORATED else Standing.REPORTED


STANDINGS: Final = tuple(_stands(code) for code in range(32))  # by code


class Record(NamedTuple):
    """Where in valid time each thing is so of one claim, at one knowledge time."""

    withdrawn: Intervals = EMPTY
    superseded: Intervals = EMPTY
    held: Intervals = EMPTY
    contested: Intervals = EMPTY
    corroborated: Intervals = EMPTY


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
    beliefs: dict[int, list[Piece]] = field(default_factory=dict)  # by claim
    extents: dict[int, list[Piece]] = field(default_factory=dict)  # by entity


class Belief(Rivalry):
    """The belief fold over one log: `apply` commits in order, ask at any position."""

    many = 64  # claims about one subject and predicate that are looked at one by one

    def __init__(self) -> None:
        super().__init__(Graph())
        self.hypothesis, self.shared = HYPOTHESIS, SHARED
        self.beliefs = DenseHistory(self.graph.c_plain.__getitem__)
        self.extents = History(lambda _: COUNTS)
        self.changed_at = array("i")  # commit positions, parallel to changed_claim
        self.changed_claim = array("i")
        self._spans: dict[int, Spans] = {}  # by entity: its live children, where there are many
        self._origins: dict[int, Origins] = {}
        self.crowds = Crowds(self.graph)

    # ------------------------------------------------------------ asking, at a position k

    def extent(self, number: int, k: int) -> Intervals:
        """Where an event counts, as known at ``k``: its portion less what took it back. For claims
        see `record`: theirs is their interval less ``withdrawn`` and ``superseded``."""
        base = self.graph.base_at(number, k)
        if not self.extents.has(number):
            return base
        return intersect(base, self.extents.where(number, COUNTS, k))

    def counts(self, number: int, v: Instant, k: int) -> bool:
        """Whether an event's extent covers ``v``, as known at ``k``. O(log n)."""
        base = self.graph.base_at(number, k)
        return (
            bool(base)
            and base[0] <= v < base[1]
            and (not self.extents.has(number) or bool(self.extents.at(number, v, k)))
        )

    def record(self, claim: int, k: int) -> Record:
        """The record of a claim as known at ``k``, which is not before its own position."""
        own, beliefs = self.own(claim), self.beliefs
        return Record(
            beliefs.where(claim, WITHDRAWN, k),
            beliefs.where(claim, SUPERSEDED, k),
            *(
                intersect(own, beliefs.where(claim, bit, k))
                for bit in (HOLDS, CONTESTED, CORROBORATED)
            ),
        )

    def held_where(self, claim: int, k: int) -> Intervals:
        """Where a claim is held, as known at ``k``."""
        leaf = self.beliefs.leaf(claim)
        if leaf == NONE:
            return self.own(claim) if self.graph.c_plain[claim] else EMPTY
        if leaf >= 0 and self.beliefs.known[leaf] <= k:  # one way throughout
            return self.own(claim) if self.beliefs.code[leaf] & HOLDS else EMPTY
        return intersect(self.own(claim), self.beliefs.where(claim, HOLDS, k))

    def own(self, claim: int) -> Intervals:
        """The interval that a claim was recorded with."""
        return (self.graph.c_from[claim], self.graph.c_to[claim])

    def held(self, claim: int, v: Instant, k: int) -> bool:
        """Whether a claim is held at (v, k)."""
        graph = self.graph
        return (
            graph.c_pos[claim] <= k
            and graph.c_from[claim] <= v < graph.c_to[claim]
            and bool(self.beliefs.at(claim, v, k) & HOLDS)
        )

    def standing(self, claim: int, v: Instant, k: int) -> Standing:
        """The standing of a claim at (v, k)."""
        graph = self.graph
        if graph.erased and claim * 8 + CLAIM in graph.erased and graph.c_pos[claim] <= k:
            return Standing.REDACTED
        return self.stood(claim, v, k)

    def stood(self, claim: int, v: Instant, k: int) -> Standing:
        """The standing of a claim at (v, k), as if its content were not erased: what the standing
        of all else is made of."""
        graph = self.graph
        if graph.c_pos[claim] > k:
            return Standing.NOT_YET_KNOWN
        code = self.beliefs.at(claim, v, k)
        if not code & (WITHDRAWN | SUPERSEDED):
            if v < graph.c_from[claim]:
                return Standing.NOT_YET_VALID
            if v >= graph.c_to[claim]:
                return Standing.EXPIRED
            if graph.c_kind[claim] == HYPOTHESIS:
                return Standing.HYPOTHESIS
        return STANDINGS[code]

    def live(self, support: int, v: Instant, k: int) -> bool:
        """Whether a support counts at (v, k): its extent covers v and its premises are held."""
        return (
            self.graph.s_pos[support] <= k
            and self.counts(entity(SUPPORT, support), v, k)
            and all(self.held(p, v, k) for p in self.graph.s_because.get(support))
        )

    def live_supports(self, claim: int, v: Instant, k: int) -> Iterator[int]:
        """The supports of a claim, of both stances, that are live at (v, k)."""
        return (s for s in self.graph.supports_of(claim) if self.live(s, v, k))

    def source_live(self, source: int, v: Instant, k: int) -> bool:
        """Whether a source is live at (v, k), in its workspace and in the shared one."""
        return all(self.counts(entity(SOURCE, row), v, k) for row in self.with_shared(source))

    def live_corrections(self, claim: int, v: Instant, k: int) -> Iterator[int]:
        """The corrections of a claim that are live at (v, k)."""
        pos = self.graph.k_pos
        for row in self.graph.corrections_of.get(claim):
            if pos[row] <= k and self.counts(entity(CORRECTION, row), v, k):
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
            for row in graph.contradictions.get(claim)
            if graph.p_pos[row] <= k and self.counts(entity(POLICY, row), v, k)
            for other in graph.p_claims.get(row)
        }
        if self._single_valued(claim, v, k):
            key = self.object_key(claim)
            found.update(
                other
                for other in self.fellows(claim)
                if self.object_key(other) != key and not self.known_to_agree(claim, other)
            )
        found.discard(claim)
        return sorted(other for other in found if self.held(other, v, k))

    def _single_valued(self, claim: int, v: Instant, k: int) -> bool:
        graph = self.graph
        declared = graph.single_valued.get(graph.c_predicate[claim])
        return declared is not None and any(
            graph.p_pos[row] <= k and self.counts(entity(POLICY, row), v, k)
            for workspace in {graph.c_ws[claim], SHARED}
            for row in declared.get(workspace, ())
        )

    def ambiguous(self, claim: int, v: Instant, k: int) -> list[int]:
        """The unresolved corrections, live at (v, k), that may mean a claim."""
        return [
            row
            for row in self.graph.k_candidates.get(claim)
            if self.graph.k_pos[row] <= k and self.counts(entity(CORRECTION, row), v, k)
        ]

    def changed_between(self, after: int, upto: int) -> set[int]:
        """The claims that are new, or whose record or supports changed, in (after, upto]."""
        low, high = bisect_right(self.changed_at, after), bisect_right(self.changed_at, upto)
        changed = set(self.changed_claim[low:high])
        pos = self.graph.c_pos
        changed.update(range(bisect_right(pos, after), bisect_right(pos, upto)))
        return changed

    def changes_of(self, claim: int) -> list[int]:
        """The commit positions at which a claim came to stand otherwise than its row says, or
        otherwise than before."""
        return self.beliefs.positions(claim)

    def touched(self, claim: int) -> bool:
        """Whether anything but its own source has ever changed what a claim is worth."""
        return self.beliefs.has(claim)

    def counts_everywhere(self, source: int) -> bool:
        """Whether nothing was ever withdrawn of a source."""
        leaves = [self.extents.leaf(entity(SOURCE, row)) for row in self.with_shared(source)]
        return leaves.count(NONE) == len(leaves)

    def with_shared(self, source: int) -> Iterable[int]:
        """A source, and the one of the same name in the shared workspace where there is one."""
        graph = self.graph
        if graph.r_ws[source] == SHARED:
            return (source,)
        shared = graph.shared_source(source)
        return (source,) if shared == NONE else (source, shared)

    # ------------------------------------------------------------ the newest knowledge

    def extent_now(self, number: int, where: Intervals = ALL) -> Intervals:
        """The extent of an event at the head, within ``where``."""
        base = intersect(self.graph.base(number), where)
        return self.extents.now_where(number, COUNTS, base) if base else EMPTY

    def source_extent_now(self, source: int, where: Intervals = ALL) -> Intervals:
        """Where a source counts at the head, in its workspace and in the shared one."""
        for row in self.with_shared(source):
            where = self.extent_now(entity(SOURCE, row), where)
        return where

    def held_now(self, claim: int, where: Intervals = ALL) -> Intervals:
        """Where a claim is held at the head, within ``where``."""
        return self.now(claim, HOLDS, where)

    def now(self, claim: int, bits: int, where: Intervals = ALL) -> Intervals:
        """Where, within its own interval and ``where``, a claim has any of the bits at the head."""
        code = self.beliefs.uniform(claim)
        if code != NONE and not code & bits:
            return EMPTY
        inside = intersect((self.graph.c_from[claim], self.graph.c_to[claim]), where)
        if code != NONE or not inside:
            return inside
        return self.beliefs.now_where(claim, bits, inside)

    def about(self, subject: int, predicate: int, v: Instant) -> list[int]:
        """The claims about a subject and predicate whose own intervals hold an instant, for keys
        with many."""
        return self.crowds.about(subject, predicate, v, self.many)

    # -- children: what withdraws, corrects or supports one thing

    def taking_back(self, number: int, where: Intervals) -> Iterable[int]:
        """The withdrawals that may take something back within ``where``."""
        rows = self.graph.withdrawals_of.get(number)
        if len(rows) <= FEW:
            return rows
        return self._meeting(number * 2, WITHDRAWAL, rows, where)

    def correcting(self, claim: int, where: Intervals) -> Iterable[int]:
        """The corrections that may correct a claim within ``where``."""
        rows = self.graph.corrections_of.get(claim)
        if len(rows) <= FEW:
            return rows
        return self._meeting(entity(CLAIM, claim) * 2 + 1, CORRECTION, rows, where)

    def supporting(self, claim: int, where: Intervals) -> Iterable[int]:
        """The supports of a claim, of both stances, that may count within ``where``."""
        graph = self.graph
        if len(graph.extra_supports.get(claim)) <= FEW:
            return graph.supports_of(claim)
        return self._meeting(
            entity(SUPPORT, claim) * 2 + 1, SUPPORT, graph.supports_of(claim), where
        )

    def _meeting(self, key: int, kind: int, rows: Iterable[int], where: Intervals) -> Iterator[int]:
        spans = self._spans.get(key)
        if spans is None:
            spans = self._spans[key] = Spans()
            for row in rows:
                self._keep(spans, kind, row)
        if len(where) == 2:
            yield from spans.meeting(*where)
            return
        met: set[int] = set()  # one that meets several stretches is found once
        for i in range(0, len(where), 2):
            for row in spans.meeting(where[i], where[i + 1]):
                if row not in met:
                    met.add(row)
                    yield row

    def _keep(self, spans: Spans, kind: int, row: int) -> None:
        base = self.graph.base(entity(kind, row))
        if base and self.extent_now(entity(kind, row)):
            spans.add(row, *base)
        else:
            spans.discard(row)

    def renewed(self, number: int) -> None:
        """Takes note that an event is new, or its extent another than it was."""
        kind, row, graph = number & 7, number >> 3, self.graph
        if kind == WITHDRAWAL:
            key = graph.w_target[row] * 2
        elif kind == CORRECTION:
            key = entity(CLAIM, graph.k_target[row]) * 2 + 1
        elif kind == SUPPORT:
            key = entity(SUPPORT, graph.s_claim[row]) * 2 + 1
            origins = self._origins.get(graph.s_claim[row])
            if origins is not None:
                self._note_origin(origins, row)
        else:
            return
        spans = self._spans.get(key)
        if spans is not None:
            self._keep(spans, kind, row)

    def origins_behind(self, claim: int) -> Origins:
        """The live source supports of a claim by origin."""
        origins = self._origins.get(claim)
        if origins is None:
            origins = self._origins[claim] = Origins()
            for row in self.graph.supports_of(claim):
                self._note_origin(origins, row)
        return origins

    def forget_origins(self) -> None:
        """Forgets which origins are behind claims; they are found again."""
        self._origins = {}

    def _note_origin(self, origins: Origins, row: int) -> None:
        graph = self.graph
        if graph.s_source[row] == NONE or graph.s_refutes[row]:
            return
        number = entity(SUPPORT, row)
        portion = graph.base(number) if self.extent_now(number) else EMPTY
        origins.note(row, graph.s_origin[row], portion, graph.s_digest[row] != NONE)

    def of_predicate(self, predicate: int) -> Sequence[int]:
        """The claims of a predicate, in log order. O(claims)."""
        column = np.frombuffer(self.graph.c_predicate[:], dtype=np.int32)
        found: list[int] = np.flatnonzero(column == predicate).tolist()
        return found
