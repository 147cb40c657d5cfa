"""Which event of a commit brought a change about: the one that bears most closely on it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from doxa.engine.belief import Belief
from doxa.engine.graph import (
    CLAIM,
    CORRECTION,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    entity,
)

__all__ = ["cause_of"]


def cause_of(belief: Belief, number: int, commit: int) -> int:
    """The position of the event of a commit that bears on an entity most closely; of several, the
    first. O(1) for a commit of one event, else O(what bears on it)."""
    graph = belief.graph
    erased = graph.erased_at.get(number)
    if erased is not None and graph.commit_of(erased) == commit:
        return erased
    place = bisect_left(graph.commit_last, commit)
    first = graph.commit_last[place - 1] + 1 if place else 1
    seen, level = {number}, [number]
    while level and first < commit:
        near = [graph.position_of(each) for each in level]
        inside = [position for position in near if first <= position <= commit]
        if inside:
            return min(inside)
        level = [other for each in level for other in _behind(belief, each) if other not in seen]
        level = list(dict.fromkeys(level))
        seen.update(level)
    return first


def _behind(belief: Belief, number: int) -> Iterator[int]:
    """What bears on an entity directly."""
    graph, kind, row = belief.graph, number & 7, number >> 3
    for withdrawal in graph.withdrawals_of.get(number):
        yield entity(WITHDRAWAL, withdrawal)
    source = NONE
    if kind == CLAIM:
        yield from (entity(SUPPORT, support) for support in graph.supports_of(row))
        yield from (entity(CORRECTION, each) for each in graph.corrections_of.get(row))
        yield from _rivals(belief, row)
    elif kind == SUPPORT:
        yield from (entity(CLAIM, premise) for premise in graph.s_because.get(row))
        source = graph.s_source[row]
    elif kind == CORRECTION:
        source = graph.k_source[row]
        if graph.k_target[row] != NONE:
            yield entity(CLAIM, graph.k_target[row])
    if source != NONE:
        yield from (entity(SOURCE, each) for each in belief.with_shared(source))


def _rivals(belief: Belief, row: int) -> Iterator[int]:
    """The policies that may set a claim against others, and these others."""
    graph = belief.graph
    for policy in graph.contradictions.get(row):
        yield entity(POLICY, policy)
        yield from (entity(CLAIM, claim) for claim in graph.p_claims.get(policy))
    declared = graph.single_valued.get(graph.c_predicate[row], {})
    single = [p for ws in {graph.c_ws[row], belief.shared} for p in declared.get(ws, ())]
    yield from (entity(POLICY, policy) for policy in single)
    if single:
        for claim in graph.claims_about(graph.c_subject[row], graph.c_predicate[row]):
            if graph.c_ws[claim] == graph.c_ws[row]:
                yield entity(CLAIM, claim)
