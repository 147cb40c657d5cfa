"""The label of a block: standing, where in valid time it applies, when it was last observed.

A label is made of doxa's own words and dates alone: nothing that anybody recorded is in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Final

from doxa.engine.belief import Standing
from doxa.engine.eligibility import Cited, Item, Judge
from doxa.engine.graph import ARTEFACT, NONE, SOURCE, SUPPORT, entity
from doxa.engine.times import DAY, NEG, POS, Instant, Intervals, covers, shown, span

__all__ = ["Labels", "weakest"]

# The weakest standing of what a text rests on is the text's; the last here is the weakest.
_CONTESTED, _REPORTED, _CORROBORATED = Standing.CONTESTED, Standing.REPORTED, Standing.CORROBORATED
_WEAKNESS: Final = (
    _CORROBORATED,
    _REPORTED,
    *(s for s in reversed(Standing) if s not in (_CORROBORATED, _REPORTED)),
)
_EPOCH: Final = date(1970, 1, 1).toordinal()


class Labels:
    """Words about what is printed at one view."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.view = judge, judge.view
        self.graph, self.belief = judge.graph, judge.belief
        self._rests: dict[int, bool] = {}

    def of_item(self, item: Item, side: str = "") -> str:
        """The label of a candidate; ``side`` says which part of a conflict it is."""
        _, _, _, _, facts, supports, sources, citations, artefacts, _, _ = item
        if supports or sources or citations or (artefacts and not self._unbound(item)):
            standing, applicability = self._standing(item, side), self._applicability(item)
            return f"{standing}, {applicability}, observed {_date(self.observed(item))}"
        return self._of_facts(facts, side)

    def _unbound(self, item: Item) -> bool:
        """Whether what is registered says no more than its facts do: it rests on some, is bound to
        no snapshot, and nothing was ever withdrawn of it."""
        snapshot, withdrawn = self.graph.a_snapshot, self.belief.extents.has
        return bool(item.facts) and not any(
            snapshot[row] or withdrawn(entity(ARTEFACT, row)) for row in item.artefacts
        )

    def _of_facts(self, claims: Sequence[int], side: str) -> str:
        """The label of what rests on held claims alone, as most does."""
        graph, v, k, held_where = self.graph, self.view.v, self.view.k, self.belief.held_where
        low, high, observed, derived = NEG, POS, POS, False
        for claim in claims:
            held = held_where(claim, k)
            start, end = held if len(held) == 2 else _around(held, v)
            assert start <= v < end, (claim, held)
            carried, extra = graph.c_carried[claim], graph.extra_supports.get(claim)
            if graph.c_plain[claim] and not extra:
                at = self.support_observed(carried)
            else:
                supports = [*extra] if carried == NONE else [carried, *extra]
                at = self._observed_by(supports, claim)
                if NONE in [graph.s_source[support] for support in supports]:
                    derived = derived or self._rests_on_contested(claim)
            if start > low:
                low = start
            if end < high:
                high = end
            if at < observed:
                observed = at
        standing = _told([self.judge.standing(claim) for claim in claims], side, derived)
        return f"{standing}, {_span(low, high)}, observed {_date(observed)}"

    def of_claim(self, claim: int, side: str) -> str:
        """The label of a contested claim that is printed in its own words."""
        low, high = _around(self.belief.record(claim, self.view.k).held, self.view.v)
        observed = _date(self.view.observed(claim))
        return f"contested{side}, {_span(low, high)}, observed {observed}"

    def of_refutation(self, support: int, side: str) -> str:
        """The label of evidence against a contested claim."""
        low, high = self._narrowed((NEG, POS), Cited((), (support,), ()))
        observed = _date(self.support_observed(support))
        return f"contested{side}, {_span(low, high)}, observed {observed}"

    # -- standing

    def standing(self, item: Item) -> Standing:
        """The weakest standing of what a candidate rests on."""
        return weakest(self._standings(item, self._claims(item)))

    def _standing(self, item: Item, side: str) -> str:
        claims = self._claims(item)
        standings = self._standings(item, claims)
        derived = _CONTESTED not in standings and any(map(self._rests_on_contested, claims))
        return _told(standings, side, derived)

    def _standings(self, item: Item, claims: Collection[int]) -> list[Standing]:
        standings = [self.judge.standing(claim) for claim in claims]
        if item.artefacts and any(map(self._selects_contested, item.artefacts)):
            standings.append(_CONTESTED)
        return standings

    def _claims(self, item: Item) -> Collection[int]:
        """The claims whose standings a candidate's is made of."""
        graph, cited = self.graph, item.cited
        if not (item.supports or item.citations):
            return item.facts
        claims = dict.fromkeys((*item.facts, *cited.facts))
        for support in (*item.supports, *cited.supports):
            claim = graph.s_claim[support]
            if not graph.s_refutes[support] or self.judge.standing(claim) is _CONTESTED:
                claims[claim] = None
        return claims

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
        graph, sources = self.graph, self.graph.s_source
        found: list[int] = []
        if NONE not in [sources[support] for support in graph.supports_of(claim)]:
            return found
        for support in self.belief.live_supports(claim, self.view.v, self.view.k):
            if graph.s_refutes[support]:
                continue
            if graph.s_source[support] != NONE:
                return []
            found += graph.s_because.get(support)
        return found

    # -- applicability

    def _applicability(self, item: Item) -> str:
        bound = (*item.artefacts, *item.citations)
        if bound and any(self.graph.a_snapshot[row] for row in bound):
            return f"as of {shown(self.view.v)}"  # it vouches for one state of the truth alone
        return _span(*self.window(item))

    def window(self, item: Item) -> tuple[Instant, Instant]:
        """Where around the view's valid_at all that a candidate rests on stands."""
        v, k = self.view.v, self.view.k
        window = (NEG, POS)
        for row in (*item.artefacts, *item.citations):
            window = _narrow(window, self.belief.extent(entity(ARTEFACT, row), k), v)
        window = self._narrowed(window, item)
        return self._narrowed(window, item.cited) if item.citations else window

    def _narrowed(self, span: tuple[Instant, Instant], on: Item | Cited) -> tuple[Instant, Instant]:
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

    def observed(self, item: Item) -> Instant:
        """No part of what the text declares was last observed before this."""
        graph = self.graph
        declared = [self._claim_observed(claim) for claim in item.facts]
        declared += [self.support_observed(support) for support in item.supports]
        if not declared:
            for source in item.sources:
                declared += self._source_observed(source)
        if not declared:
            declared += (self.support_observed(support) for support in item.cited.supports)
        if not declared:
            declared += (graph.recorded_of(graph.a_pos[row]) for row in item.artefacts)
        return min(declared)

    def _claim_observed(self, claim: int) -> Instant:
        """When a held claim was last observed, as the view says."""
        return self._observed_by([*self.graph.supports_of(claim)], claim)

    def _observed_by(self, supports: Sequence[int], claim: int) -> Instant:
        """The same, of a claim with these supports of both stances in log order."""
        observed, refutes = self.graph.s_observed, self.graph.s_refutes
        for support in supports:
            if observed[support] != NEG:
                return self.view.observed(claim)
        for support in reversed(supports):  # of those that state nothing, the newest live one
            if not refutes[support] and self._live(support):
                return self.support_observed(support)
        return self.view.observed(claim)

    def _live(self, support: int) -> bool:
        """Whether a support counts at the view; for most in no time."""
        graph, v, k = self.graph, self.view.v, self.view.k
        if self.belief.extents.has(entity(SUPPORT, support)) or graph.s_because.get(support):
            return self.belief.live(support, v, k)
        return graph.s_pos[support] <= k and graph.s_from[support] <= v < graph.s_to[support]

    def support_observed(self, support: int) -> Instant:
        stated = self.graph.s_observed[support]
        return stated if stated != NEG else self.graph.recorded_of(self.graph.s_pos[support])

    def _source_observed(self, source: int) -> list[Instant]:
        """When the newest evidence from a source was observed, if there is any."""
        known = (s for s in self.graph.supports_from(source) if self.graph.s_pos[s] <= self.view.k)
        return [self.support_observed(support) for support in islice(known, 1)]


def weakest(standings: Iterable[Standing]) -> Standing:
    """The weakest of some standings; of none, reported."""
    return max(standings, key=_WEAKNESS.index, default=_REPORTED)


def _told(standings: Sequence[Standing], side: str, derived: bool) -> str:
    """The standing of what rests on claims of these, or is ``derived`` from a contested one."""
    told = standings[0] if len(standings) == 1 else weakest(standings)
    if told is _CONTESTED:
        return f"{told}{side}"
    if _CONTESTED in standings:
        return f"{told}, contested{side}"
    return f"{told} (rests on contested)" if derived else f"{told}"


def _around(these: Intervals, v: Instant) -> tuple[Instant, Instant]:
    assert covers(these, v), (these, v)
    i = bisect_right(these, v)
    return these[i - 1], these[i]


def _narrow(span: tuple[Instant, Instant], these: Intervals, v: Instant) -> tuple[Instant, Instant]:
    low, high = these if len(these) == 2 else _around(these, v)
    assert low <= v < high, (these, v)
    return max(span[0], low), min(span[1], high)


@lru_cache(4_096)  # eleven years of days
def _day(number: int) -> str:
    return date.fromordinal(_EPOCH + number).isoformat()


def _date(at: Instant) -> str:
    return _day(at // DAY)


def _span(low: Instant, high: Instant) -> str:
    """`times.span`, in fewer steps where it begins and ends with days."""
    if (low != NEG and low % DAY) or (high != POS and high % DAY):
        return span(low, high)
    if low == NEG:
        return "at any time" if high == POS else f"before {_day(high // DAY)}"
    since = _day(low // DAY)
    return f"from {since}" if high == POS else f"{since} to {_day(high // DAY)}"
