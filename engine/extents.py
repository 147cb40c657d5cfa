"""Where events count after a commit: what it marks as to be computed anew, and the new extents.

The order is fixed: withdrawals from the newest back, then sources, then supports, corrections,
policies and artefacts. Everything is computed anew only where in valid time it may have changed.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush

from doxa.engine.belief import COUNTS, Belief
from doxa.engine.declared import REDACTED
from doxa.engine.direct import Direct
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
from doxa.engine.times import ALL, EMPTY, Intervals, intersect, subtract, union

__all__ = ["Extents"]

Lost = tuple[Intervals, Intervals]  # where something counts no longer, and where it does now


class Extents(Direct):
    """The work list of one commit, and what it does to extents."""

    def __init__(self, belief: Belief, earlier: int) -> None:
        super().__init__(belief, earlier)
        self.causes: dict[int, int] = {}  # entity → cause
        # by kind: entity → where its extent is to be computed anew
        self.windows: defaultdict[int, dict[int, Intervals]] = defaultdict(dict)
        self.shrunk: dict[int, Intervals] = {}  # claim → where its basis or extent was lost
        self.grown: dict[int, Intervals] = {}  # claim → where its basis or extent has gained
        self.disputed: dict[int, Intervals] = {}  # claim → where it may be contested, or no longer
        self.sourced: dict[int, Intervals] = {}  # claim → where its source supports changed

    def _renew_later(self, number: int, where: Intervals, cause: int) -> None:
        """Marks an extent as to be computed anew within ``where``."""
        windows = self.windows[number & 7]
        windows[number] = union(windows.get(number, EMPTY), where)
        self.causes.setdefault(number, cause)

    def _shrink(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.shrunk[claim] = union(self.shrunk.get(claim, EMPTY), where)

    def _grow(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.grown[claim] = union(self.grown.get(claim, EMPTY), where)

    def _dispute(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.disputed[claim] = union(self.disputed.get(claim, EMPTY), where)

    # -- what one new event touches directly

    def _begin(self, number: int, position: int) -> None:
        graph, kind, row = self.graph, number & 7, number >> 3
        if kind == CLAIM:
            self.changes.subjects[row] = position
            if graph.c_carried[row] != NONE and not self._derives(row, position):
                self._begin_support(graph.c_carried[row], position)
            if graph.single_valued and self.belief.predicate_of(row) in graph.single_valued:
                self.claims.setdefault(row, position)
        elif kind == SUPPORT:
            self._begin_support(row, position)
        elif kind == CORRECTION:
            if not self._corrects(row, position):
                self._renew_later(number, ALL, position)
            if graph.k_target[row] != NONE:
                self.belief.renewed(number)
        elif kind == WITHDRAWAL:
            if not self._withdraws(row, position):
                self._renew_later(number, graph.base(number), position)
            self.belief.renewed(number)
        elif kind == ARTEFACT:
            self.changes.registered.append(row)
        else:
            self._begin_policy(row, ALL, position)

    def _begin_support(self, row: int, position: int) -> None:
        graph = self.graph
        number, claim = entity(SUPPORT, row), graph.s_claim[row]
        self.changes.supports[row] = position
        if self._agrees(claim, row, position):
            return
        source, where = graph.s_source[row], graph.base(number)
        plain = row == graph.c_carried[claim] and bool(graph.c_plain[claim])
        if source != NONE:
            counts = self.belief.source_extent_now(source, where)
            if lost := subtract(where, counts):
                self.belief.extents.paint(number, lost, 0, COUNTS)
                if plain:
                    self._shrink(claim, lost, position)
            where = counts
        self.belief.renewed(number)
        if graph.s_refutes[row]:
            self._dispute(claim, where, position)
        elif not plain:
            self._grow(claim, where, position)
            if source != NONE and len(graph.extra_supports.get(claim)):
                self._source(claim, where, position)

    def _source(self, claim: int, where: Intervals, cause: int) -> None:
        self.claims.setdefault(claim, cause)
        self.sourced[claim] = union(self.sourced.get(claim, EMPTY), where)

    def _begin_policy(self, row: int, where: Intervals, position: int) -> None:
        graph = self.graph
        if graph.p_what[row] == REDACTED:
            self._begin_erasure(position)
        for claim in graph.p_claims.get(row):
            self._dispute(claim, where, position)
        predicate = graph.p_predicate.get(row)
        if predicate != NONE:
            everywhere = graph.p_ws[row] == self.belief.shared
            for claim in self.belief.of_predicate(predicate):
                if everywhere or graph.p_ws[row] == graph.c_ws[claim]:
                    self._dispute(claim, where, position)

    def _begin_erasure(self, position: int) -> None:
        """What was erased counts no longer; corrections, withdrawals and policies only lose their
        words."""
        for number, at in self.graph.erased_at.items():
            if at != position:
                continue
            if number & 7 in (CLAIM, SUPPORT):
                self._renew_later(number, ALL, position)
            elif number & 7 == ARTEFACT:
                self.changes.artefacts[number >> 3] = position

    # -- extents: withdrawals from the newest back, then sources, then the rest

    def _settle_extents(self) -> None:
        graph = self.graph
        windows = self.windows[WITHDRAWAL]
        heap = [(-graph.w_pos[number >> 3], number) for number in windows]
        heapify(heap)
        while heap:
            _, number = heappop(heap)
            where = windows.pop(number, EMPTY)
            if not where:
                continue
            if graph.w_pos[number >> 3] <= self.earlier:
                moved = union(*self._renew(number, where))
            elif graph.withdrawals_of.get(number):
                self._renew(number, where)
                moved = self.belief.extent_now(number)
            else:
                moved = graph.base(number)
            if moved:
                target = graph.w_target[number >> 3]
                self._renew_later(target, moved, self.causes[number])
                if target & 7 == WITHDRAWAL:
                    heappush(heap, (-graph.w_pos[target >> 3], target))
        for kind, step in (
            (SOURCE, self._settle_source),
            (SUPPORT, self._settle_support),
            (CORRECTION, self._settle_correction),
            (POLICY, self._settle_policy),
            (ARTEFACT, self._settle_artefact),
        ):
            for number, where in list(self.windows[kind].items()):
                step(number, where, self.causes[number])

    def _taken_back(self, number: int, where: Intervals) -> Intervals:
        """Where, of ``where``, something is withdrawn, or erased."""
        left = where
        if number & 7 in (CLAIM, SUPPORT) and number in self.graph.erased_at:
            return where
        for row in self.belief.taking_back(number, where):
            left = subtract(left, self.belief.extent_now(entity(WITHDRAWAL, row), left))
            if not left:
                return where
        return subtract(where, left)

    def _renew(self, number: int, where: Intervals) -> Lost:
        """Computes an extent anew within ``where``; what it lost and gained there."""
        graph, belief = self.graph, self.belief
        kind, row = number & 7, number >> 3
        new = where = intersect(where, graph.base(number))
        source = (
            graph.s_source[row] if kind == SUPPORT
            else graph.k_source[row] if kind == CORRECTION
            else NONE
        )  # fmt: skip
        if source != NONE:
            new = belief.source_extent_now(source, new)
        new = subtract(new, self._taken_back(number, new))
        if kind == CORRECTION:
            for resolver in graph.resolvers_of.get(row):
                new = subtract(new, belief.extent_now(entity(CORRECTION, resolver), new))
        old = belief.extent_now(number, where)
        if new == old:
            return EMPTY, EMPTY
        lost, gained = subtract(old, new), subtract(new, old)
        belief.extents.paint(number, lost, 0, COUNTS)
        belief.extents.paint(number, gained, COUNTS, 0)
        if kind != CORRECTION or graph.k_target[row] != NONE:
            belief.renewed(number)
        return lost, gained

    def _settle_source(self, number: int, where: Intervals, cause: int) -> None:
        lost, gained = self._renew(number, where)
        if not (moved := union(lost, gained)):
            return
        graph, source = self.graph, number >> 3
        named = (
            graph.sources_named.get(graph.r_name[source])
            if graph.r_ws[source] == self.belief.shared
            else (source,)
        )
        for row in named:
            self.changes.sources.setdefault(row, cause)
            for support in graph.supports_from(row):
                if graph.s_pos[support] <= graph.position:  # not of a commit still to be linked
                    self._renew_later(entity(SUPPORT, support), moved, cause)
            for correction in graph.r_corrections.get(row):
                self._renew_later(entity(CORRECTION, correction), moved, cause)

    def _settle_support(self, number: int, where: Intervals, cause: int) -> None:
        lost, gained = self._renew(number, where)
        if not (moved := union(lost, gained)):
            return
        graph, row = self.graph, number >> 3
        claim = graph.s_claim[row]
        self.changes.supports.setdefault(row, cause)
        if graph.s_refutes[row]:
            self._dispute(claim, moved, cause)
            return
        self._source(claim, moved, cause)
        if lost:
            self._shrink(claim, lost, cause)
        if gained:
            self._grow(claim, gained, cause)

    def _settle_correction(self, number: int, where: Intervals, cause: int) -> None:
        graph, belief = self.graph, self.belief
        waiting = [(number, where)]
        while waiting:
            number, where = waiting.pop()
            row = number >> 3
            lost, gained = self._renew(number, where)
            moved = union(lost, gained)
            if graph.k_pos[row] > self.earlier or row in graph.bound:
                moved = union(moved, belief.extent_now(number))
                if graph.k_target[row] != NONE:
                    belief.renewed(number)
            if not moved:
                continue
            if graph.k_target[row] != NONE:
                self._renew_later(entity(CLAIM, graph.k_target[row]), moved, cause)
            settled = graph.k_resolves.get(row)
            if settled != NONE:
                waiting.append((entity(CORRECTION, settled), moved))

    def _settle_policy(self, number: int, where: Intervals, cause: int) -> None:
        if moved := union(*self._renew(number, where)):
            self._begin_policy(number >> 3, moved, cause)

    def _settle_artefact(self, number: int, where: Intervals, cause: int) -> None:
        if union(*self._renew(number, where)):
            self.changes.artefacts.setdefault(number >> 3, cause)
