"""The label of a block: standing, where in valid time it applies, when it was last observed.

A label is made of doxa's own words and dates alone: nothing that anybody recorded is in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice

from doxa.engine.belief import Standing
from doxa.engine.eligibility import Cited, Item, Judge
from doxa.engine.graph import ARTEFACT, NONE, SOURCE, SUPPORT, entity
from doxa.engine.times import NEG, POS, Instant, Intervals, covers, shown
from doxa.engine.times import span as in_words

__all__ = ["Labels"]

# The weakest standing of what a text rests on is the text's; the first here is the weakest.
_WEAKEST = (
    *(s for s in Standing if s not in (Standing.CORROBORATED, Standing.REPORTED)),
    Standing.REPORTED,
    Standing.CORROBORATED,
)
_WEAKNESS = {standing: place for place, standing in enumerate(_WEAKEST)}


class Labels:
    """Words about what is printed at one view."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.view = judge, judge.view
        self.graph, self.belief = judge.graph, judge.belief
        self._rests: dict[int, bool] = {}

    def of_item(self, item: Item, side: str = "") -> str:
        """The label of a candidate; ``side`` says which part of a conflict it is."""
        return ", ".join(
            [
                self._standing(item, side),
                self._applicability(item),
                f"observed {_date(self._observed(item))}",
            ]
        )

    def of_claim(self, claim: int, side: str) -> str:
        """The label of a contested claim that is printed in its own words."""
        low, high = _around(self.belief.record(claim, self.view.k).held, self.view.v)
        observed = _date(self.view.observed(claim))
        return f"contested{side}, {in_words(low, high)}, observed {observed}"

    def of_refutation(self, support: int, side: str) -> str:
        """The label of evidence against a contested claim."""
        low, high = self._narrowed((NEG, POS), Cited((), (support,), ()))
        observed = _date(self._support_observed(support))
        return f"contested{side}, {in_words(low, high)}, observed {observed}"

    # -- standing

    def _standing(self, item: Item, side: str) -> str:
        graph, cited = self.graph, item.cited
        claims = dict.fromkeys((*item.facts, *cited.facts))
        about = (s for s in (*item.supports, *cited.supports))
        for support in about:
            claim = graph.s_claim[support]
            standing = self.judge.standing(claim)
            if not graph.s_refutes[support] or standing is Standing.CONTESTED:
                claims[claim] = None
        standings = {self.judge.standing(claim) for claim in claims}
        if any(self._selects_contested(row) for row in item.artefacts):
            standings.add(Standing.CONTESTED)
        weakest = min(standings, key=_WEAKNESS.__getitem__, default=Standing.REPORTED)
        if weakest is Standing.CONTESTED:
            return f"{weakest}{side}"
        if Standing.CONTESTED in standings:
            return f"{weakest}, contested{side}"
        if any(self._rests_on_contested(claim) for claim in claims):
            return f"{weakest} (rests on contested)"
        return str(weakest)

    def _selects_contested(self, artefact: int) -> bool:
        """Whether a claim in the selection that a snapshot is bound to is contested."""
        graph, belief, v, k = self.graph, self.belief, self.view.v, self.view.k
        if not graph.a_snapshot[artefact]:
            return False
        subjects = graph.subjects_of(artefact)
        if subjects is not None:
            rows: Iterable[int] = (c for s in subjects for c in graph.claims_about(s, None))
        else:
            rows = (c for c in range(graph.claims_upto(k)) if belief.touched(c))
        places = (graph.a_ws[artefact], graph.names.find(""))
        return any(
            graph.c_ws[c] in places and belief.standing(c, v, k) is Standing.CONTESTED for c in rows
        )

    def _rests_on_contested(self, claim: int) -> bool:
        """Whether a claim follows from a contested one, and has no live source of its own."""
        if claim in self._rests:
            return self._rests[claim]
        seen, stack, found = {claim}, [claim], False
        while stack and not found:
            at = stack.pop()
            premises = self._premises(at)
            found = any(self.judge.standing(p) is Standing.CONTESTED for p in premises)
            stack += (p for p in premises if p not in seen)
            seen.update(premises)
        self._rests[claim] = found
        return found

    def _premises(self, claim: int) -> list[int]:
        graph = self.graph
        found: list[int] = []
        if claim not in graph.extra_supports:
            carried = graph.c_carried[claim]
            if carried == NONE or carried not in graph.s_because:
                return []
        for support in self.belief.live_supports(claim, self.view.v, self.view.k):
            if graph.s_refutes[support]:
                continue
            if graph.s_source[support] != NONE:
                return []
            found += graph.s_because.get(support)
        return found

    # -- applicability

    def _applicability(self, item: Item) -> str:
        graph = self.graph
        bound = (*item.artefacts, *item.citations)
        if any(graph.a_snapshot[row] for row in bound):
            return f"as of {shown(self.view.v)}"  # it vouches for one state of the truth alone
        v, k = self.view.v, self.view.k
        span = (NEG, POS)
        for row in bound:
            span = _narrow(span, self.belief.extent(entity(ARTEFACT, row), k), v)
        declared = Cited(item.facts, item.supports, item.sources)
        return in_words(*self._narrowed(self._narrowed(span, declared), item.cited))

    def _narrowed(self, span: tuple[Instant, Instant], on: Cited) -> tuple[Instant, Instant]:
        belief, v, k = self.belief, self.view.v, self.view.k
        for claim in on.facts:
            span = _narrow(span, belief.held_where(claim, k), v)
        for support in on.supports:
            span = _narrow(span, belief.extent(entity(SUPPORT, support), k), v)
            for premise in self.graph.s_because.get(support):
                span = _narrow(span, belief.held_where(premise, k), v)
        for source in on.sources:
            for row in belief.with_shared(source):
                span = _narrow(span, belief.extent(entity(SOURCE, row), k), v)
        return span

    # -- observation

    def _observed(self, item: Item) -> Instant:
        """No part of what the text declares was last observed before this."""
        graph = self.graph
        declared = [
            *(self.view.observed(claim) for claim in item.facts),
            *(self._support_observed(support) for support in item.supports),
        ]
        if not declared:
            for source in item.sources:
                declared += self._source_observed(source)
        if not declared:
            declared += (self._support_observed(support) for support in item.cited.supports)
        if not declared:
            declared += (graph.recorded_of(graph.a_pos[row]) for row in item.artefacts)
        return min(declared)

    def _support_observed(self, support: int) -> Instant:
        stated = self.graph.s_observed[support]
        return stated if stated != NEG else self.graph.recorded_of(self.graph.s_pos[support])

    def _source_observed(self, source: int) -> list[Instant]:
        """When the newest evidence from a source was observed, if there is any."""
        known = (s for s in self.graph.supports_from(source) if self.graph.s_pos[s] <= self.view.k)
        return [self._support_observed(support) for support in islice(known, 1)]


def _around(these: Intervals, v: Instant) -> tuple[Instant, Instant]:
    assert covers(these, v), (these, v)
    i = bisect_right(these, v)
    return these[i - 1], these[i]


def _narrow(span: tuple[Instant, Instant], these: Intervals, v: Instant) -> tuple[Instant, Instant]:
    low, high = _around(these, v)
    return max(span[0], low), min(span[1], high)


def _date(at: Instant) -> str:
    return shown(at)[:10]
