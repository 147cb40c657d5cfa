"""How one commit changes belief: what it touches, what falls, what stands again, what is contested.

The order is fixed: extents (withdrawals from the newest back, then sources, then the rest), then
held, then contests. Each change carries the position of the event that caused it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from doxa.engine import events as ev
from doxa.engine.belief import NOTHING, Belief, Changes, Record
from doxa.engine.corroboration import corroborated
from doxa.engine.graph import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    entity,
)
from doxa.engine.rivals import RivalGroup
from doxa.engine.times import ALL, EMPTY, Intervals, intersect, subtract, union, union_all

__all__ = ["apply"]


def apply(belief: Belief, first: int, recorded_at: int, events: Sequence[ev.Event]) -> Changes:
    """Takes one judged commit into the belief; says what it changed."""
    earlier = belief.graph.position
    numbers = belief.graph.add(first, recorded_at, events)
    return _Settlement(belief, earlier).settle(first, numbers)


class _Settlement:
    """The work list of one commit."""

    def __init__(self, belief: Belief, earlier: int) -> None:
        self.belief, self.graph = belief, belief.graph
        self.k = belief.graph.position
        self.earlier = earlier  # the last position of the commit before
        self.changes = Changes(self.k)
        self.extents: dict[int, int] = {}  # entity → cause: extent to be computed anew
        self.claims: dict[int, int] = {}  # claims whose record may change → cause
        self.shrunk: dict[int, Intervals] = {}  # claim → where its basis or extent was lost
        self.grown: set[int] = set()  # claims whose basis or extent has gained
        self.refuted: dict[int, int] = {}  # claims whose contests may change → cause
        self.before: dict[int, Intervals] = {}  # claim → held before this commit
        self.contradicting: dict[int, RivalGroup] = {}  # policy → its claims, held as they are now
        self.sourced: set[int] = set()  # claims whose supports changed: corroboration anew

    def settle(self, first: int, numbers: Sequence[int]) -> Changes:
        """Settles the new entities, which begin at position ``first``."""
        for position, number in enumerate(numbers, first):
            self._begin(number, position)
        for row in self.graph.bound:
            arrived = self.graph.c_pos[self.graph.k_target[row]]
            self.extents.setdefault(entity(CORRECTION, row), arrived)
        self._settle_extents()
        self._refill(self._fell())
        self._settle_records()
        return self.changes

    def _shrink(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.shrunk[claim] = union(self.shrunk.get(claim, EMPTY), where)

    def _grow(self, claim: int, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.grown.add(claim)

    def _begin(self, number: int, position: int) -> None:
        """Marks what one new event touches directly."""
        graph, kind, row = self.graph, number & 7, number >> 3
        if kind == CLAIM:
            self.changes.subjects[row] = position
            if graph.c_carried[row] != NONE:
                self._begin_support(graph.c_carried[row], position)
            if graph.c_predicate[row] in graph.single_valued:
                self.claims.setdefault(row, position)
                self.before[row] = EMPTY
        elif kind == SUPPORT:
            self._begin_support(row, position)
        elif kind == CORRECTION:
            self.extents.setdefault(number, position)
        elif kind == WITHDRAWAL:
            self.extents.setdefault(graph.w_target[row], position)
        elif kind == ARTEFACT:
            self.changes.registered.append(row)
        else:
            self._begin_policy(row, position)

    def _begin_support(self, row: int, position: int) -> None:
        graph = self.graph
        number, claim = entity(SUPPORT, row), graph.s_claim[row]
        self.changes.supports[row] = position
        source = graph.s_source[row]
        if source != NONE:
            counts = self.belief.source_extent_now(source)
            if counts != ALL:
                self._set_extent(number, intersect(graph.base(number), counts))
            elif row == graph.c_carried[claim]:
                return  # the plain case: the claim's row says it all
        self._open_record(claim, position)
        if graph.s_refutes[row]:
            self.refuted.setdefault(claim, position)
        else:
            if not self._beyond_doubt(claim, row):
                self.sourced.add(claim)
            self._grow(claim, position)

    def _beyond_doubt(self, claim: int, support: int) -> bool:
        """Whether a claim is corroborated throughout, and a further support can't change that. One
        with a content digest can: it may show two origins to be one."""
        graph = self.graph
        found = self.belief.record_now(claim).corroborated
        return (
            graph.s_digest[support] == NONE
            and bool(found)
            and not subtract((graph.c_from[claim], graph.c_to[claim]), found)
        )

    def _begin_policy(self, row: int, position: int) -> None:
        graph = self.graph
        for claim in graph.p_claims.get(row, ()):
            self.refuted.setdefault(claim, position)
        predicate = graph.p_predicate.get(row)
        if predicate is not None:
            self._contest_predicate(predicate, graph.p_ws[row], position)

    def _contest_predicate(self, predicate: int, workspace: int, cause: int) -> None:
        graph = self.graph
        for claim, found in enumerate(graph.c_predicate):
            if found == predicate:
                if graph.c_pos[claim] <= self.earlier:  # a new one is noted once it is settled
                    self._note_rival(claim, self.belief.record_now(claim).held)
                if workspace in (self.belief.shared, graph.c_ws[claim]):
                    self.refuted.setdefault(claim, cause)

    def _open_record(self, claim: int, cause: int) -> None:
        """Gives a claim a record of its own before held is settled. One that is new in this commit
        starts with nothing held and is filled; an older one starts with what its row says."""
        if claim in self.belief.records:
            return
        if self.graph.c_pos[claim] > self.earlier:
            self.belief.records[claim] = ([0], [NOTHING])
            self._grow(claim, cause)
        else:
            self.belief.records[claim] = ([0], [Record(held=self.belief.plain_held(claim))])

    # -- extents: withdrawals from the newest back, then sources, then the rest

    def _settle_extents(self) -> None:
        graph = self.graph
        heap = [(-graph.w_pos[n >> 3], n) for n in self.extents if n & 7 == WITHDRAWAL]
        heapify(heap)
        done: set[int] = set()
        while heap:
            _, number = heappop(heap)
            if number in done:
                continue
            done.add(number)
            cause = self.extents[number]
            if self._renew_extent(number) is not None:
                target = graph.w_target[number >> 3]
                self.extents.setdefault(target, cause)
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
            for number, cause in [item for item in self.extents.items() if item[0] & 7 == kind]:
                settle(number, cause)

    def _taken_back(self, number: int) -> Intervals:
        return union_all(
            self.belief.extent_now(entity(WITHDRAWAL, row))
            for row in self.graph.withdrawals_of.get(number, ())
        )

    def _renew_extent(self, number: int) -> tuple[Intervals, Intervals] | None:
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
            new = intersect(new, self.belief.source_extent_now(source))
        new = subtract(new, self._taken_back(number))
        if kind == CORRECTION:
            for resolver in graph.resolvers_of.get(number >> 3, ()):
                new = subtract(new, self.belief.extent_now(entity(CORRECTION, resolver)))
        old = self.belief.extent_now(number)
        if new == old:
            return None
        self._set_extent(number, new)
        return old, new

    def _set_extent(self, number: int, new: Intervals) -> None:
        versions = self.belief.extents.get(number)
        if versions is None:
            versions = self.belief.extents[number] = ([0], [self.graph.base(number)])
        if versions[0][-1] == self.k:
            versions[1][-1] = new
        else:
            versions[1].append(new)
            versions[0].append(self.k)

    def _settle_source(self, number: int, cause: int) -> None:
        if self._renew_extent(number) is None:
            return
        graph, source = self.graph, number >> 3
        named = (
            graph.sources_named[graph.r_name[source]]
            if graph.r_ws[source] == self.belief.shared
            else (source,)
        )
        for row in named:
            self.changes.sources.setdefault(row, cause)
            for support in graph.supports_from(row):
                self.extents.setdefault(entity(SUPPORT, support), cause)
            for correction in graph.r_corrections.get(row, ()):
                self.extents.setdefault(entity(CORRECTION, correction), cause)

    def _settle_support(self, number: int, cause: int) -> None:
        changed = self._renew_extent(number)
        if changed is None:
            return
        old, new = changed
        row = number >> 3
        claim = self.graph.s_claim[row]
        self.changes.supports.setdefault(row, cause)
        self._open_record(claim, cause)
        if self.graph.s_refutes[row]:
            self.refuted.setdefault(claim, cause)
            return
        self.sourced.add(claim)
        if lost := subtract(old, new):
            self._shrink(claim, lost, cause)
        if subtract(new, old):
            self._grow(claim, cause)

    def _settle_correction(self, number: int, cause: int) -> None:
        graph, row = self.graph, number >> 3
        new_here = graph.k_pos[row] > self.earlier or row in graph.bound
        if self._renew_extent(number) is None and not new_here:
            return
        if graph.k_target[row] != NONE:
            self.extents.setdefault(entity(CLAIM, graph.k_target[row]), cause)
        if row in graph.k_resolves:
            self._settle_correction(entity(CORRECTION, graph.k_resolves[row]), cause)

    def _settle_policy(self, number: int, cause: int) -> None:
        if self._renew_extent(number) is not None:
            self._begin_policy(number >> 3, cause)

    def _settle_artefact(self, number: int, cause: int) -> None:
        if self._renew_extent(number) is not None:
            self.changes.artefacts.setdefault(number >> 3, cause)

    def _settle_claim(self, number: int, cause: int) -> None:
        claim = number >> 3
        self._open_record(claim, cause)
        old = self.belief.record_now(claim)
        withdrawn = self._taken_back(number)
        superseded = union_all(
            self.belief.extent_now(entity(CORRECTION, row))
            for row in self.graph.corrections_of.get(claim, ())
        )
        new = old._replace(withdrawn=withdrawn, superseded=superseded)
        if new == old:
            return
        before, after = self.belief.claim_extent(claim, old), self.belief.claim_extent(claim, new)
        self.before.setdefault(claim, old.held)
        self._set_record(claim, new)
        self.claims.setdefault(claim, cause)
        if lost := subtract(before, after):
            self._shrink(claim, lost, cause)
        if subtract(after, before):
            self._grow(claim, cause)

    def _set_record(self, claim: int, record: Record) -> None:
        ks, values = self.belief.records[claim]
        if ks[-1] == self.k:
            values[-1] = record
        else:
            values.append(record)
            ks.append(self.k)

    # -- held: what lost its ground falls with all that leaned on it, then what still stands refills

    def _ground(self, claim: int) -> Intervals:
        """Where a claim's own sources carry it, whatever becomes of any premise."""
        graph = self.graph
        return union_all(
            self.belief.extent_now(entity(SUPPORT, row))
            for row in graph.supports_of(claim)
            if graph.s_source[row] != NONE and not graph.s_refutes[row]
        )

    def _set_held(self, claim: int, held: Intervals) -> None:
        self._open_record(claim, self.claims[claim])
        now = self.belief.record_now(claim)
        self.before.setdefault(claim, now.held)
        self._set_record(claim, now._replace(held=held))

    def _fell(self) -> dict[int, None]:
        """Takes from each claim, and from what leans on it, all that only lost ground carried."""
        graph = self.graph
        affected: dict[int, None] = {}
        queue = deque(self.shrunk.items())
        while queue:
            claim, where = queue.popleft()
            now = self.belief.record_now(claim)
            lost = intersect(now.held, where)
            if not lost:
                continue
            kept = intersect(self._ground(claim), self.belief.claim_extent(claim, now))
            lost = subtract(lost, kept)
            if not lost:
                continue
            affected[claim] = None
            self._set_held(claim, subtract(now.held, lost))
            cause = self.claims[claim]
            leaning = (r for r in graph.dependents.get(claim, ()) if not graph.s_refutes[r])
            for follower in dict.fromkeys(graph.s_claim[row] for row in leaning):
                self.claims.setdefault(follower, cause)
                queue.append((follower, lost))
        return affected

    def _basis_now(self, support: int) -> Intervals:
        basis = self.belief.extent_now(entity(SUPPORT, support))
        for premise in self.graph.s_because.get(support, ()):
            if not basis:
                return EMPTY
            basis = intersect(basis, self.belief.record_now(premise).held)
        return basis

    def _refill(self, affected: dict[int, None]) -> None:
        """Adds, until nothing more follows, what the supports that stand carry."""
        graph = self.graph
        queue = deque(dict.fromkeys([*affected, *self.grown]))
        waiting = set(queue)
        while queue:
            claim = queue.popleft()
            waiting.discard(claim)
            if graph.c_kind[claim] == self.belief.hypothesis:
                continue
            now = self.belief.record_now(claim)
            extent = self.belief.claim_extent(claim, now)
            if now.held == extent:
                continue  # there is nothing to gain
            bases = union_all(
                self._basis_now(row) for row in graph.supports_of(claim) if not graph.s_refutes[row]
            )
            held = intersect(extent, bases)
            assert not subtract(now.held, held), (claim, now.held, held)
            if held == now.held:
                continue
            self._set_held(claim, held)
            cause = self.claims[claim]
            for row in graph.dependents.get(claim, ()):
                follower = graph.s_claim[row]
                if not graph.s_refutes[row] and follower not in waiting:
                    self.claims.setdefault(follower, cause)
                    waiting.add(follower)
                    queue.append(follower)

    # -- contests, corroboration, and the records that changed

    def _settle_records(self) -> None:
        graph, changes = self.graph, self.changes
        moved: dict[int, Intervals] = {}
        for claim, before in self.before.items():
            now = self.belief.record_now(claim).held
            if now != before:
                moved[claim] = union(subtract(before, now), subtract(now, before))
        for claim, where in moved.items():
            self._spread(claim, where, self.claims[claim])
        for claim, cause in self.refuted.items():
            self.claims.setdefault(claim, cause)
        for claim, cause in self.claims.items():
            self._close(claim, cause)
        for row, cause in changes.supports.items():
            changes.subjects.setdefault(graph.s_claim[row], cause)
        for claim in changes.subjects:
            if graph.c_pos[claim] <= self.earlier:
                self.belief.changed_claim.append(claim)
                self.belief.changed_at.append(self.k)

    def _spread(self, claim: int, where: Intervals, cause: int) -> None:
        """Marks what a change of held touches next: derived supports, refutations, rivals."""
        graph = self.graph
        self.refuted.setdefault(claim, cause)
        for row in graph.dependents.get(claim, ()):
            self.changes.supports.setdefault(row, cause)
            if graph.s_refutes[row]:
                self.refuted.setdefault(graph.s_claim[row], cause)
        for policy in graph.contradictions.get(claim, ()):
            for other in graph.p_claims[policy]:
                self.refuted.setdefault(other, cause)
        if graph.c_predicate[claim] in graph.single_valued:
            group = self._note_rival(claim, self.belief.record_now(claim).held)
            for other in group.meeting(where):
                self.refuted.setdefault(other, cause)

    def _note_rival(self, claim: int, held: Intervals) -> RivalGroup:
        """Keeps the held claims about one subject and single-valued predicate together."""
        graph = self.graph
        key = (
            graph.c_ws[claim],
            graph.c_perspective[claim],
            graph.c_subject[claim],
            graph.c_predicate[claim],
        )
        group = self.belief.rival_groups.get(key)
        if group is None:
            group = self.belief.rival_groups[key] = RivalGroup()
        group[claim] = (held, self.belief.object_key(claim))
        return group

    def _close(self, claim: int, cause: int) -> None:
        """Completes the record of a claim in this commit, and reports it where it changed."""
        now = self.belief.record_now(claim)
        record = now._replace(contested=self._contested_now(claim, now.held))
        if claim in self.sourced:
            record = record._replace(corroborated=corroborated(self.belief, claim))
        if claim not in self.belief.records:
            if record == now:
                return
            self.belief.records[claim] = ([0], [now])
        if record != now:
            self._set_record(claim, record)
        ks, values = self.belief.records[claim]
        if ks[-1] != self.k:
            return
        if record == values[-2]:
            ks.pop()
            values.pop()
            return
        self.changes.claims[claim] = cause
        self.changes.subjects.setdefault(claim, cause)

    def _contradicting(self, policy: int) -> RivalGroup:
        """The held claims of a declared contradiction, each against all others."""
        group = self.contradicting.get(policy)
        if group is None:
            group = self.contradicting[policy] = RivalGroup()
            for claim in self.graph.p_claims[policy]:
                group[claim] = (self.belief.record_now(claim).held, str(claim))
        return group

    def _contested_now(self, claim: int, held: Intervals) -> Intervals:
        if not held:
            return EMPTY
        graph = self.graph
        against = [self._basis_now(row) for row in graph.supports_of(claim) if graph.s_refutes[row]]
        for policy in graph.contradictions.get(claim, ()):
            counts = self.belief.extent_now(entity(POLICY, policy))
            against.append(intersect(counts, self._contradicting(policy).against(claim)))
        declared = graph.single_valued.get(graph.c_predicate[claim])
        if declared is not None:
            counts = union_all(
                self.belief.extent_now(entity(POLICY, row))
                for workspace in {graph.c_ws[claim], self.belief.shared}
                for row in declared.get(workspace, ())
            )
            if counts:
                rivals = self._note_rival(claim, held).against(claim)
                against.append(intersect(counts, rivals))
        return intersect(held, union_all(against))
