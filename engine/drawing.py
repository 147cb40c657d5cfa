"""Events of one commit that each change one claim and nothing else, drawn into histories at once.

A claim that its own source carries, and that stands as its row says or is corroborated throughout,
is changed by nothing but the events that name it or one of its supports, as long as nothing refutes
or contradicts it. Where one event of a commit does, and nothing rests on the claim, what becomes of
it is plain: it is corroborated, withdrawn or superseded, over all of valid time or a portion. So it
is with a new claim whose premises are carried by their own sources, and are not named. `settle`
makes the same of them, row by row, which the tests compare; it gets what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from doxa.engine.belief import CORROBORATED, FEW, HOLDS, SUPERSEDED, WITHDRAWN, Belief
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL, entity
from doxa.engine.history import SEVERAL
from doxa.engine.times import NEG, POS

__all__ = ["Drawing"]

Placed = tuple[int, int]  # the position and entity of an event


class Drawing:
    """What is drawn at once into one belief."""

    def __init__(self, belief: Belief, depended: Callable[[int], bool]) -> None:
        """What an artefact has ``depended`` on is left to `settle`."""
        self.belief, self.graph, self.beliefs = belief, belief.graph, belief.beliefs
        self.depended = depended
        self.counting: set[int] = set()  # sources that count everywhere

    def uncounted(self, first: int) -> set[int]:
        """The sources of supports, from one on, that don't count everywhere."""
        named = set(self.graph.s_source[first:]) - {NONE} - self.counting
        apart = {source for source in named if not self.belief.counts_everywhere(source)}
        self.counting |= named - apart
        return apart

    def draw(self, placed: Sequence[Placed], earlier: int) -> list[Placed]:
        """Draws what it can of a commit that is in the graph and closed, after the commit that ends
        at ``earlier``; gives what is left. The sources of its supports are known to count, or not.
        """
        belief, graph, k = self.belief, self.graph, self.graph.position
        names = [self._named(number) for _, number in placed]
        named = Counter(names)
        left = []
        for pair, claim in zip(placed, names, strict=True):
            kind, row = pair[1] & 7, pair[1] >> 3
            if (
                claim == NONE
                or named[claim] != 1
                or graph.contradictions.get(claim)
                or graph.c_predicate[claim] in graph.single_valued
                or (graph.erased and claim * 8 + CLAIM in graph.erased)
                or self.depended(entity(CLAIM, claim))
            ):
                left.append(pair)
                continue
            if kind == SUPPORT:
                drawn = self._agrees(claim, row)
            elif kind == CLAIM:
                drawn = self._derives(claim, named)
            elif kind == WITHDRAWAL:
                low, high = graph.w_from[row], graph.w_to[row]
                drawn = graph.w_target[row] & 7 == CLAIM and self._fells(
                    claim, low, high, WITHDRAWN
                )
            else:
                drawn = self._fells(claim, graph.k_from[row], graph.k_to[row], SUPERSEDED)
            if not drawn:
                left.append(pair)
                continue
            belief.renewed(pair[1])
            if graph.c_pos[claim] <= earlier:
                belief.changed_claim.append(claim)
                belief.changed_at.append(k)
        return left

    def _named(self, number: int) -> int:
        """The claim that an event changes first of all, or NONE."""
        graph, kind, row = self.graph, number & 7, number >> 3
        while kind == WITHDRAWAL:
            number = graph.w_target[row]
            kind, row = number & 7, number >> 3
        if kind == CLAIM:
            return row
        if kind == SUPPORT:
            return graph.s_claim[row]
        return graph.k_target[row] if kind == CORRECTION else NONE

    def _agrees(self, claim: int, row: int) -> bool:
        """A further source for all of a claim: whether its effect was drawn."""
        graph, carried, leaf = self.graph, self.graph.c_carried[claim], self.beliefs.leaf(claim)
        if (
            not graph.confirms(row, claim)
            or graph.s_source[row] not in self.counting
            or graph.s_because.get(row)
        ):
            return False
        extras = len(graph.extra_supports.get(claim))
        if leaf >= 0:
            return self._corroborated(leaf) and extras <= FEW
        if leaf != NONE or extras != 1 or graph.s_digest[carried] != NONE:
            return False
        if graph.s_origin[carried] != graph.s_origin[row]:
            self.beliefs.turn(claim, CORROBORATED, NEG, POS, graph.position)
        return True

    def _fells(self, claim: int, low: int, high: int, bit: int) -> bool:
        """A withdrawal or correction of a claim: whether its effect was drawn."""
        graph, leaf = self.graph, self.beliefs.leaf(claim)
        extras = graph.extra_supports.get(claim)
        if (
            not graph.c_plain[claim]
            or (leaf != NONE and not self._corroborated(leaf))
            or low >= high
            or len(extras) > FEW
            or any(graph.s_refutes[row] for row in extras)
            or graph.dependents.get(claim)
        ):
            return False
        meets = low < graph.c_to[claim] and graph.c_from[claim] < high
        self.beliefs.turn(claim, bit | HOLDS if meets else bit, low, high, graph.position)
        return True

    def _corroborated(self, leaf: int) -> bool:
        return leaf >= 0 and self.beliefs.code[leaf] == HOLDS | CORROBORATED

    def _derives(self, claim: int, named: Counter[int]) -> bool:
        """A new claim that rests on premises alone: whether its effect was drawn."""
        graph, belief = self.graph, self.belief
        support = graph.c_carried[claim]
        premises = graph.s_because.get(support) if support != NONE else ()
        if (
            not premises
            or graph.s_source[support] != NONE
            or graph.c_kind[claim] == belief.hypothesis
            or graph.dependents.get(claim)
        ):
            return False
        start, end = low, high = belief.own(claim)
        for premise in premises:
            leaf = self.beliefs.leaf(premise)
            if premise in named or not graph.c_plain[premise] or leaf == SEVERAL:
                return False
            if leaf != NONE and not self.beliefs.code[leaf] & HOLDS:
                high = low  # it is held nowhere, and stays so
            low, high = max(low, graph.c_from[premise]), min(high, graph.c_to[premise])
        if low < high:
            low, high = NEG if low == start else low, POS if high == end else high
            self.beliefs.turn(claim, HOLDS, low, high, graph.position)
        return True
