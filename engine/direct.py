"""Events whose effect on belief is plain to see, and is painted as soon as they are met.

Most further sources agree with a claim throughout, most withdrawals and corrections fell one claim
that nothing rests on, and most derived claims rest on what is settled. Conflicts, rings and all
that falls with something else go the long way, in `extents` and `settle`, which comes to the same
for these and starts from what was painted here.
"""

from __future__ import annotations

from doxa.engine.belief import (
    CONTESTED,
    CORROBORATED,
    FEW,
    HOLDS,
    SUPERSEDED,
    WITHDRAWN,
    Belief,
    Changes,
)
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL, entity
from doxa.engine.times import EMPTY, Intervals

__all__ = ["Direct"]


class Direct:
    """What one commit does to belief at first sight."""

    def __init__(self, belief: Belief, earlier: int) -> None:
        self.belief, self.graph = belief, belief.graph
        self.k = belief.graph.position
        self.earlier = earlier  # the last position of the commit before
        self.changes = Changes(self.k)
        self.claims: dict[int, int] = {}  # claims that may change → cause
        self.direct: set[int] = set()  # claims that changed in no other way than here

    def _paint(self, claim: int, where: Intervals, on: int, off: int) -> None:
        """Paints within a claim's own interval."""
        self.belief.beliefs.paint(claim, where, on, off, self.belief.own(claim))

    def _alone(self, claim: int) -> bool:
        """Whether nothing else changes with a claim: nothing rests on it or contradicts it."""
        graph = self.graph
        return not (
            graph.dependents.get(claim)
            or graph.contradictions.get(claim)
            or graph.c_predicate[claim] in graph.single_valued
            or (graph.erased and claim * 8 + CLAIM in graph.erased)
        )

    def _basis(self, support: int, where: Intervals) -> Intervals:
        """Where, of ``where``, a support counts and its premises are held."""
        basis = self.belief.extent_now(entity(SUPPORT, support), where)
        for premise in self.graph.s_because.get(support):
            if not basis:
                return EMPTY
            basis = self.belief.held_now(premise, basis)
        return basis

    def _agrees(self, claim: int, row: int, position: int) -> bool:
        """Settles a further source for all of a claim that its own source alone carries, or that
        is corroborated throughout. Whether it was that."""
        graph, beliefs = self.graph, self.belief.beliefs
        carried = graph.c_carried[claim]
        if (
            not graph.confirms(row, claim)
            or beliefs.is_drafted(claim)
            or not self.belief.counts_everywhere(graph.s_source[row])
        ):
            return False
        leaf = beliefs.leaf(claim)
        extras = graph.extra_supports.get(claim)
        if leaf >= 0:
            return beliefs.code[leaf] == HOLDS | CORROBORATED and len(extras) <= FEW
        if leaf != NONE or len(extras) != 1 or graph.s_digest[carried] != NONE:
            return False
        if not self.belief.counts_everywhere(graph.s_source[carried]):
            return False  # of a claim of this very commit: nothing of it is painted yet
        if graph.s_origin[carried] != graph.s_origin[row]:
            self.claims.setdefault(claim, position)
            self._paint(claim, self.belief.own(claim), CORROBORATED, 0)
            self.direct.add(claim)
        return True

    def _derives(self, claim: int, position: int) -> bool:
        """Settles a new claim that rests on premises alone. Whether it was that."""
        graph, belief = self.graph, self.belief
        support = graph.c_carried[claim]
        if (
            not graph.s_because.get(support)
            or graph.s_source[support] != NONE
            or graph.c_kind[claim] == belief.hypothesis
            or graph.extra_supports.get(claim)
            or belief.beliefs.is_drafted(claim)
            or not self._alone(claim)
        ):
            return False
        self.changes.supports[support] = position
        held = self._basis(support, belief.own(claim))
        self.claims.setdefault(claim, position)
        if held:
            self._paint(claim, held, HOLDS, 0)
            self.direct.add(claim)
        return True

    def _withdraws(self, row: int, position: int) -> bool:
        """Settles the withdrawal of a claim that stands alone. Whether it was that."""
        graph, target = self.graph, self.graph.w_target[row]
        if target & 7 != CLAIM or graph.withdrawals_of.get(entity(WITHDRAWAL, row)):
            return False
        portion = graph.base(entity(WITHDRAWAL, row))
        return self._fells(target >> 3, portion, WITHDRAWN, position)

    def _corrects(self, row: int, position: int) -> bool:
        """Settles the correction of a claim that stands alone. Whether it was that."""
        graph, claim = self.graph, self.graph.k_target[row]
        if (
            claim == NONE
            or graph.k_source[row] != NONE
            or row in graph.k_unresolved
            or graph.k_resolves.get(row) != NONE
            or graph.resolvers_of.get(row)
            or graph.withdrawals_of.get(entity(CORRECTION, row))
        ):
            return False
        portion = graph.base(entity(CORRECTION, row))
        return not portion or self._fells(claim, portion, SUPERSEDED, position)

    def _fells(self, claim: int, where: Intervals, bit: int, position: int) -> bool:
        belief, beliefs = self.belief, self.belief.beliefs
        if not self._alone(claim) or beliefs.now_where(claim, CONTESTED, where):
            return False
        self.claims.setdefault(claim, position)
        was_drafted = beliefs.is_drafted(claim)
        beliefs.paint(claim, where, bit, 0)
        held = belief.held_now(claim, where)
        if held:
            self._paint(claim, held, 0, HOLDS)
            if not was_drafted:
                self.direct.add(claim)
        return True
