"""What is believed: extents, held, contested, corroborated; kept up to date event by event.

The truth of a claim at one knowledge time is a handful of interval sets over valid time, its
`Record`. A commit changes the records of the claims that it reaches, and only those are computed
anew; the earlier ones stay, so that any past knowledge can be asked. A claim that nothing has
reached but its own source has no record of its own: its row says it all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from doxa.engine import events as ev
from doxa.engine.graph import (
    ARTEFACT,
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
from doxa.engine.times import (
    ALL,
    EMPTY,
    Instant,
    Intervals,
    covers,
    intersect,
    subtract,
    union,
    union_all,
)

__all__ = ["HELD", "Belief", "Changes", "Record", "Standing"]


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


class _Settling:
    """What a commit has touched so far: the work list of one settlement."""

    def __init__(self, k: int, earlier: int) -> None:
        self.k = k
        self.earlier = earlier  # the last position of the commit before
        self.changes = Changes(k)
        self.extents: dict[int, int] = {}  # entity → cause: extent to be computed anew
        self.claims: dict[int, int] = {}  # claims whose record may change → cause
        self.shrunk: dict[int, Intervals] = {}  # claim → where its basis or extent was lost
        self.grown: set[int] = set()  # claims whose basis or extent has gained
        self.refuted: dict[int, int] = {}  # claims whose contests may change → cause
        self.before: dict[int, Intervals] = {}  # claim → held before this commit
        self.sourced: set[int] = set()  # claims whose supports changed: corroboration anew

    def shrink(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.shrunk[claim] = union(self.shrunk.get(claim, EMPTY), where)

    def grow(self, claim: int, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.grown.add(claim)


class Belief:
    """The belief fold over one log: `apply` commits in order, ask at any position."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._hypothesis = self.graph.names.code("hypothesis")
        self._shared = self.graph.names.code("")
        self._extents: dict[int, tuple[list[int], list[Intervals]]] = {}
        self._records: dict[int, tuple[list[int], list[Record]]] = {}
        self._rivals: dict[tuple[int, int, int, int], dict[int, Intervals]] = {}
        self._object_keys: dict[int, str] = {}
        self.changed_at: list[int] = []  # commit positions, parallel to changed_claim
        self.changed_claim: list[int] = []

    # ------------------------------------------------------------ asking, at a position k

    def extent(self, number: int, k: int) -> Intervals:
        """Where an event counts, as known at ``k``: its portion less what took it back. For claims
        see `record`: theirs is their interval less ``withdrawn`` and ``superseded``."""
        versions = self._extents.get(number)
        if versions is None:
            return self.graph.base(number)
        i = bisect_right(versions[0], k)
        return versions[1][i - 1] if i else self.graph.base(number)

    def record(self, claim: int, k: int) -> Record:
        """The record of a claim as known at ``k``, which is not before its own position."""
        versions = self._records.get(claim)
        if versions is not None:
            i = bisect_right(versions[0], k)
            if i:
                return versions[1][i - 1]
        return Record(held=self._plain_held(claim))

    def held(self, claim: int, v: Instant, k: int) -> bool:
        """Whether a claim is held at (v, k)."""
        if self.graph.c_pos[claim] > k:
            return False
        versions = self._records.get(claim)
        if versions is not None:
            i = bisect_right(versions[0], k)
            if i:
                return covers(versions[1][i - 1].held, v)
        return covers(self._plain_held(claim), v)

    def standing(self, claim: int, v: Instant, k: int) -> Standing:
        """The standing of a claim at (v, k)."""
        graph = self.graph
        if graph.c_pos[claim] > k:
            return Standing.NOT_YET_KNOWN
        record = self.record(claim, k)
        if record.withdrawn and covers(record.withdrawn, v):
            return Standing.RETRACTED
        if record.superseded and covers(record.superseded, v):
            return Standing.SUPERSEDED
        if v < graph.c_from[claim]:
            return Standing.NOT_YET_VALID
        if v >= graph.c_to[claim]:
            return Standing.EXPIRED
        if graph.c_kind[claim] == self._hypothesis:
            return Standing.HYPOTHESIS
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
            covers(self.extent(entity(SOURCE, row), k), v) for row in self._with_shared(source)
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
            key = self._object_key(claim)
            found.update(
                other
                for other in graph.claims_about(graph.c_subject[claim], graph.c_predicate[claim])
                if graph.c_ws[other] == graph.c_ws[claim]
                and graph.c_perspective[other] == graph.c_perspective[claim]
                and self._object_key(other) != key
            )
        found.discard(claim)
        return sorted(other for other in found if self.held(other, v, k))

    def _single_valued(self, claim: int, v: Instant, k: int) -> bool:
        graph = self.graph
        declared = graph.single_valued.get(graph.c_predicate[claim])
        return declared is not None and any(
            graph.p_pos[row] <= k and covers(self.extent(entity(POLICY, row), k), v)
            for workspace in {graph.c_ws[claim], self._shared}
            for row in declared.get(workspace, ())
        )

    def changed_between(self, after: int, upto: int) -> set[int]:
        """The claims that are new, or whose record or supports changed, in (after, upto]."""
        low, high = bisect_right(self.changed_at, after), bisect_right(self.changed_at, upto)
        changed = set(self.changed_claim[low:high])
        pos = self.graph.c_pos
        changed.update(range(bisect_right(pos, after), bisect_right(pos, upto)))
        return changed

    def changes_of(self, claim: int) -> Sequence[int]:
        """The commit positions at which the record of a claim changed, after its first."""
        versions = self._records.get(claim)
        return versions[0] if versions is not None else ()

    def touched(self, claim: int) -> bool:
        """Whether anything but its own source has ever reached a claim."""
        return claim in self._records

    # ------------------------------------------------------------ the newest knowledge

    def extent_now(self, number: int) -> Intervals:
        """The extent of an event at the head."""
        versions = self._extents.get(number)
        return versions[1][-1] if versions is not None else self.graph.base(number)

    def source_extent_now(self, source: int) -> Intervals:
        """Where a source counts at the head, in its workspace and in the shared one."""
        found = ALL
        for row in self._with_shared(source):
            found = intersect(found, self.extent_now(entity(SOURCE, row)))
        return found

    def _with_shared(self, source: int) -> Iterable[int]:
        graph = self.graph
        if graph.r_ws[source] == self._shared:
            return (source,)
        shared = graph.find_source("", graph.names.texts[graph.r_name[source]])
        return (source,) if shared == NONE else (source, shared)

    def _plain_held(self, claim: int) -> Intervals:
        graph = self.graph
        carried = graph.c_carried[claim]
        if (
            carried == NONE
            or graph.s_source[carried] == NONE
            or graph.c_kind[claim] == self._hypothesis
        ):
            return EMPTY
        return (graph.c_from[claim], graph.c_to[claim])

    def record_now(self, claim: int) -> Record:
        """The record of a claim at the head."""
        versions = self._records.get(claim)
        return versions[1][-1] if versions is not None else Record(held=self._plain_held(claim))

    def _claim_extent(self, claim: int, record: Record) -> Intervals:
        own = (self.graph.c_from[claim], self.graph.c_to[claim])
        return subtract(subtract(own, record.withdrawn), record.superseded)

    def _object_key(self, claim: int) -> str:
        key = self._object_keys.get(claim)
        if key is None:
            key = self._object_keys[claim] = ev.equality_key(self.graph.c_object[claim])
        return key

    # ------------------------------------------------------------ applying one commit

    def apply(self, first: int, recorded_at: int, events: Sequence[ev.Event]) -> Changes:
        """Takes one judged commit in, and settles what it changes."""
        graph = self.graph
        earlier = graph.position
        numbers = graph.add(first, recorded_at, events)
        work = _Settling(graph.position, earlier)
        for position, number in enumerate(numbers, first):
            self._begin(work, number, position)
        self._settle_extents(work)
        self._settle_held(work)
        self._settle_records(work)
        return work.changes

    def _begin(self, work: _Settling, number: int, position: int) -> None:
        """Marks what one new event touches directly."""
        graph, kind, row = self.graph, number & 7, number >> 3
        if kind == CLAIM:
            work.changes.subjects[row] = position
            if graph.c_carried[row] != NONE:
                self._begin_support(work, graph.c_carried[row], position)
            if graph.c_predicate[row] in graph.single_valued:
                work.claims.setdefault(row, position)
                work.before[row] = EMPTY
        elif kind == SUPPORT:
            self._begin_support(work, row, position)
        elif kind == CORRECTION:
            work.extents.setdefault(number, position)
        elif kind == WITHDRAWAL:
            work.extents.setdefault(graph.w_target[row], position)
        elif kind == ARTEFACT:
            work.changes.registered.append(row)
        else:
            self._begin_policy(work, row, position)

    def _begin_support(self, work: _Settling, row: int, position: int) -> None:
        graph = self.graph
        number, claim = entity(SUPPORT, row), graph.s_claim[row]
        work.changes.supports[row] = position
        source = graph.s_source[row]
        if source != NONE:
            counts = self.source_extent_now(source)
            if counts != ALL:
                self._set_extent(number, intersect(graph.base(number), counts), work.k)
            elif row == graph.c_carried[claim]:
                return  # the plain case: the claim's row says it all
        self._open_record(work, claim, position)
        if graph.s_refutes[row]:
            work.refuted.setdefault(claim, position)
        else:
            work.sourced.add(claim)
            work.grow(claim, position)

    def _begin_policy(self, work: _Settling, row: int, position: int) -> None:
        graph = self.graph
        for claim in graph.p_claims.get(row, ()):
            work.refuted.setdefault(claim, position)
        predicate = graph.p_predicate.get(row)
        if predicate is not None:
            self._contest_predicate(work, predicate, graph.p_ws[row], position)

    def _contest_predicate(
        self, work: _Settling, predicate: int, workspace: int, cause: int
    ) -> None:
        graph = self.graph
        for claim, found in enumerate(graph.c_predicate):
            if found == predicate:
                self._note_rival(claim, self.record_now(claim).held)
                if workspace in (self._shared, graph.c_ws[claim]):
                    work.refuted.setdefault(claim, cause)

    def _open_record(self, work: _Settling, claim: int, cause: int) -> None:
        """Gives a claim a record of its own before held is settled. One that is new in this commit
        starts with nothing held and is filled; an older one starts with what its row says."""
        if claim in self._records:
            return
        if self.graph.c_pos[claim] > work.earlier:
            self._records[claim] = ([0], [NOTHING])
            work.grow(claim, cause)
        else:
            self._records[claim] = ([0], [Record(held=self._plain_held(claim))])

    # -- extents: withdrawals from the newest back, then sources, then the rest

    def _settle_extents(self, work: _Settling) -> None:
        graph = self.graph
        heap = [(-graph.w_pos[n >> 3], n) for n in work.extents if n & 7 == WITHDRAWAL]
        heapify(heap)
        done: set[int] = set()
        while heap:
            _, number = heappop(heap)
            if number in done:
                continue
            done.add(number)
            cause = work.extents[number]
            if self._renew_extent(number, work.k) is not None:
                target = graph.w_target[number >> 3]
                work.extents.setdefault(target, cause)
                if target & 7 == WITHDRAWAL:
                    heappush(heap, (-graph.w_pos[target >> 3], target))
        for kind, settle in (
            (SOURCE, self._settle_source),
            (SUPPORT, self._settle_support),
            (CORRECTION, self._settle_correction),
            (POLICY, self._settle_policy),
            (ARTEFACT, self._settle_artefact),
            (CLAIM, self._settle_claim),
        ):
            for number, cause in [item for item in work.extents.items() if item[0] & 7 == kind]:
                settle(work, number, cause)

    def _taken_back(self, number: int) -> Intervals:
        return union_all(
            self.extent_now(entity(WITHDRAWAL, row))
            for row in self.graph.withdrawals_of.get(number, ())
        )

    def _renew_extent(self, number: int, k: int) -> tuple[Intervals, Intervals] | None:
        """Computes an extent anew; the old and the new one where it changed."""
        graph = self.graph
        new = graph.base(number)
        kind = number & 7
        source = (
            graph.s_source[number >> 3] if kind == SUPPORT
            else graph.k_source[number >> 3] if kind == CORRECTION
            else NONE
        )  # fmt: skip
        if source != NONE:
            new = intersect(new, self.source_extent_now(source))
        new = subtract(new, self._taken_back(number))
        old = self.extent_now(number)
        if new == old:
            return None
        self._set_extent(number, new, k)
        return old, new

    def _set_extent(self, number: int, new: Intervals, k: int) -> None:
        versions = self._extents.get(number)
        if versions is None:
            versions = self._extents[number] = ([0], [self.graph.base(number)])
        if versions[0][-1] == k:
            versions[1][-1] = new
        else:
            versions[1].append(new)
            versions[0].append(k)

    def _settle_source(self, work: _Settling, number: int, cause: int) -> None:
        if self._renew_extent(number, work.k) is None:
            return
        graph, source = self.graph, number >> 3
        named = (
            graph.sources_named[graph.r_name[source]]
            if graph.r_ws[source] == self._shared
            else (source,)
        )
        for row in named:
            work.changes.sources.setdefault(row, cause)
            for support in graph.supports_from(row):
                work.extents.setdefault(entity(SUPPORT, support), cause)
            for correction in graph.r_corrections.get(row, ()):
                work.extents.setdefault(entity(CORRECTION, correction), cause)

    def _settle_support(self, work: _Settling, number: int, cause: int) -> None:
        changed = self._renew_extent(number, work.k)
        if changed is None:
            return
        old, new = changed
        row = number >> 3
        claim = self.graph.s_claim[row]
        work.changes.supports.setdefault(row, cause)
        self._open_record(work, claim, cause)
        if self.graph.s_refutes[row]:
            work.refuted.setdefault(claim, cause)
            return
        work.sourced.add(claim)
        if lost := subtract(old, new):
            work.shrink(claim, lost, cause)
        if subtract(new, old):
            work.grow(claim, cause)

    def _settle_correction(self, work: _Settling, number: int, cause: int) -> None:
        new_here = self.graph.k_pos[number >> 3] > work.earlier
        if self._renew_extent(number, work.k) is not None or new_here:
            work.extents.setdefault(entity(CLAIM, self.graph.k_target[number >> 3]), cause)

    def _settle_policy(self, work: _Settling, number: int, cause: int) -> None:
        if self._renew_extent(number, work.k) is not None:
            self._begin_policy(work, number >> 3, cause)

    def _settle_artefact(self, work: _Settling, number: int, cause: int) -> None:
        if self._renew_extent(number, work.k) is not None:
            work.changes.artefacts.setdefault(number >> 3, cause)

    def _settle_claim(self, work: _Settling, number: int, cause: int) -> None:
        claim = number >> 3
        self._open_record(work, claim, cause)
        old = self.record_now(claim)
        withdrawn = self._taken_back(number)
        superseded = union_all(
            self.extent_now(entity(CORRECTION, row))
            for row in self.graph.corrections_of.get(claim, ())
        )
        new = old._replace(withdrawn=withdrawn, superseded=superseded)
        if new == old:
            return
        before, after = self._claim_extent(claim, old), self._claim_extent(claim, new)
        work.before.setdefault(claim, old.held)
        self._set_record(claim, new, work.k)
        work.claims.setdefault(claim, cause)
        if lost := subtract(before, after):
            work.shrink(claim, lost, cause)
        if subtract(after, before):
            work.grow(claim, cause)

    def _set_record(self, claim: int, record: Record, k: int) -> None:
        ks, values = self._records[claim]
        if ks[-1] == k:
            values[-1] = record
        else:
            values.append(record)
            ks.append(k)

    # -- held: what lost its ground falls with all that leaned on it, then what still stands refills

    def _settle_held(self, work: _Settling) -> None:
        affected = self._fell(work)
        self._refill(work, affected)

    def _ground(self, claim: int) -> Intervals:
        """Where a claim's own sources carry it, whatever becomes of any premise."""
        graph = self.graph
        return union_all(
            self.extent_now(entity(SUPPORT, row))
            for row in graph.supports_of(claim)
            if graph.s_source[row] != NONE and not graph.s_refutes[row]
        )

    def _set_held(self, work: _Settling, claim: int, held: Intervals) -> None:
        self._open_record(work, claim, work.claims[claim])
        now = self.record_now(claim)
        work.before.setdefault(claim, now.held)
        self._set_record(claim, now._replace(held=held), work.k)

    def _fell(self, work: _Settling) -> dict[int, None]:
        """Takes from each claim, and from what leans on it, all that only lost ground carried."""
        graph = self.graph
        affected: dict[int, None] = {}
        queue = deque(work.shrunk.items())
        while queue:
            claim, where = queue.popleft()
            now = self.record_now(claim)
            lost = intersect(now.held, where)
            if not lost:
                continue
            kept = intersect(self._ground(claim), self._claim_extent(claim, now))
            lost = subtract(lost, kept)
            if not lost:
                continue
            affected[claim] = None
            self._set_held(work, claim, subtract(now.held, lost))
            cause = work.claims[claim]
            for row in graph.dependents.get(claim, ()):
                if not graph.s_refutes[row]:
                    work.claims.setdefault(graph.s_claim[row], cause)
                    queue.append((graph.s_claim[row], lost))
        return affected

    def _basis_now(self, support: int) -> Intervals:
        basis = self.extent_now(entity(SUPPORT, support))
        for premise in self.graph.s_because.get(support, ()):
            if not basis:
                return EMPTY
            basis = intersect(basis, self.record_now(premise).held)
        return basis

    def _refill(self, work: _Settling, affected: dict[int, None]) -> None:
        """Adds, until nothing more follows, what the supports that stand carry."""
        graph = self.graph
        queue = deque(dict.fromkeys([*affected, *work.grown]))
        waiting = set(queue)
        while queue:
            claim = queue.popleft()
            waiting.discard(claim)
            if graph.c_kind[claim] == self._hypothesis:
                continue
            now = self.record_now(claim)
            bases = union_all(
                self._basis_now(row) for row in graph.supports_of(claim) if not graph.s_refutes[row]
            )
            held = intersect(self._claim_extent(claim, now), bases)
            assert not subtract(now.held, held), (claim, now.held, held)
            if held == now.held:
                continue
            self._set_held(work, claim, held)
            cause = work.claims[claim]
            for row in graph.dependents.get(claim, ()):
                follower = graph.s_claim[row]
                if not graph.s_refutes[row] and follower not in waiting:
                    work.claims.setdefault(follower, cause)
                    waiting.add(follower)
                    queue.append(follower)

    # -- contests, corroboration, and the records that changed

    def _settle_records(self, work: _Settling) -> None:
        graph, changes = self.graph, work.changes
        moved: dict[int, Intervals] = {}
        for claim, before in work.before.items():
            now = self.record_now(claim).held
            if now != before:
                moved[claim] = union(subtract(before, now), subtract(now, before))
        for claim, where in moved.items():
            self._spread(work, claim, where, work.claims[claim])
        for claim, cause in work.refuted.items():
            work.claims.setdefault(claim, cause)
        for claim, cause in work.claims.items():
            self._close(work, claim, cause)
        for row, cause in changes.supports.items():
            changes.subjects.setdefault(graph.s_claim[row], cause)
        for claim in changes.subjects:
            if graph.c_pos[claim] <= work.earlier:
                self.changed_claim.append(claim)
                self.changed_at.append(work.k)

    def _spread(self, work: _Settling, claim: int, where: Intervals, cause: int) -> None:
        """Marks what a change of held touches next: derived supports, refutations, rivals."""
        graph = self.graph
        work.refuted.setdefault(claim, cause)
        for row in graph.dependents.get(claim, ()):
            work.changes.supports.setdefault(row, cause)
            if graph.s_refutes[row]:
                work.refuted.setdefault(graph.s_claim[row], cause)
        for policy in graph.contradictions.get(claim, ()):
            for other in graph.p_claims[policy]:
                work.refuted.setdefault(other, cause)
        if graph.c_predicate[claim] in graph.single_valued:
            for other, held in self._note_rival(claim, self.record_now(claim).held).items():
                if held[0] < where[-1] and where[0] < held[-1]:
                    work.refuted.setdefault(other, cause)

    def _note_rival(self, claim: int, held: Intervals) -> dict[int, Intervals]:
        """Keeps the held claims about one subject and single-valued predicate together."""
        graph = self.graph
        group = self._rivals.setdefault(
            (
                graph.c_ws[claim],
                graph.c_perspective[claim],
                graph.c_subject[claim],
                graph.c_predicate[claim],
            ),
            {},
        )
        if held:
            group[claim] = held
        else:
            group.pop(claim, None)
        return group

    def _close(self, work: _Settling, claim: int, cause: int) -> None:
        """Completes the record of a claim in this commit, and reports it where it changed."""
        now = self.record_now(claim)
        record = now._replace(contested=self._contested_now(claim, now.held))
        if claim in work.sourced:
            record = record._replace(corroborated=self._corroborated_now(claim))
        if claim not in self._records:
            if record == now:
                return
            self._records[claim] = ([0], [now])
        if record != now:
            self._set_record(claim, record, work.k)
        ks, values = self._records[claim]
        if ks[-1] != work.k:
            return
        if record == values[-2]:
            ks.pop()
            values.pop()
            return
        work.changes.claims[claim] = cause
        work.changes.subjects.setdefault(claim, cause)

    def _contested_now(self, claim: int, held: Intervals) -> Intervals:
        if not held:
            return EMPTY
        graph = self.graph
        against = [self._basis_now(row) for row in graph.supports_of(claim) if graph.s_refutes[row]]
        for policy in graph.contradictions.get(claim, ()):
            counts = self.extent_now(entity(POLICY, policy))
            against += [
                intersect(counts, self.record_now(other).held)
                for other in graph.p_claims[policy]
                if other != claim
            ]
        declared = graph.single_valued.get(graph.c_predicate[claim])
        if declared is not None:
            counts = union_all(
                self.extent_now(entity(POLICY, row))
                for workspace in {graph.c_ws[claim], self._shared}
                for row in declared.get(workspace, ())
            )
            if counts:
                key = self._object_key(claim)
                against += [
                    intersect(counts, other_held)
                    for other, other_held in self._note_rival(claim, held).items()
                    if other_held[0] < held[-1]
                    and held[0] < other_held[-1]
                    and self._object_key(other) != key
                ]
        return intersect(held, union_all(against))

    def _corroborated_now(self, claim: int) -> Intervals:
        """Where the live source supports of a claim have two or more distinct origins."""
        graph = self.graph
        sourced = [
            (self.extent_now(entity(SUPPORT, row)), row)
            for row in graph.supports_of(claim)
            if graph.s_source[row] != NONE and not graph.s_refutes[row]
        ]
        sourced = [(extent, row) for extent, row in sourced if extent]
        if len(sourced) < 2:
            return EMPTY
        bounds = sorted({bound for extent, _ in sourced for bound in extent})
        found: list[Intervals] = []
        for low, high in pairwise(bounds):
            rows = [row for extent, row in sourced if covers(extent, low)]
            if self._distinct_origins(rows) > 1:
                found.append((low, high))
        return union_all(found)

    def _distinct_origins(self, supports: Iterable[int]) -> int:
        """How many origins supports have, those with an equal content digest counted once."""
        graph = self.graph
        parent: dict[tuple[str, int], tuple[str, int]] = {}

        def root(node: tuple[str, int]) -> tuple[str, int]:
            while parent.setdefault(node, node) != node:
                node = parent[node]
            return node

        for row in supports:
            origin = root(("origin", graph.s_origin[row]))
            if graph.s_digest[row] != NONE:
                parent[root(("digest", graph.s_digest[row]))] = origin
        return len({root(node) for node in list(parent)})

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
