"""Where independent sources agree: two or more distinct origins behind one claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from doxa.engine.belief import FEW, Belief
from doxa.engine.graph import NONE, SUPPORT, Graph, entity
from doxa.engine.times import EMPTY, Intervals, intersect, union_all

__all__ = ["corroborated", "distinct_origins"]

Backed = tuple[Intervals, int]  # where a support counts, and the support


def corroborated(belief: Belief, claim: int, where: Intervals) -> Intervals:
    """Where, of ``where``, the live source supports of a claim have two or more distinct origins,
    as known at the head. O(n log n) over the bounds; where digests are given, times the supports.
    """
    graph = belief.graph
    if len(graph.extra_supports.get(claim)) > FEW:
        origins = belief.origins_behind(claim)
        if not origins.digested:
            return origins.agreeing(
                where, lambda row, part: belief.extent_now(entity(SUPPORT, row), part)
            )
    sourced = [
        (belief.extent_now(entity(SUPPORT, row), where), row)
        for row in belief.supporting(claim, where)
        if graph.s_source[row] != NONE and not graph.s_refutes[row]
    ]
    return _agreeing(graph, [(extent, row) for extent, row in sourced if extent])


def _agreeing(graph: Graph, sourced: list[Backed]) -> Intervals:
    if len(sourced) < 2:
        return EMPTY
    if len(sourced) == 2:
        (one, first), (other, second) = sourced
        distinct = distinct_origins(graph, (first, second)) > 1
        return intersect(one, other) if distinct else EMPTY
    turns = sorted(
        (bound, place % 2 == 0, row)
        for extent, row in sourced
        for place, bound in enumerate(extent)
    )
    live: set[int] = set()
    origins: Counter[int] = Counter()
    digested = 0
    found: list[Intervals] = []
    for i, (low, begins, row) in enumerate(turns):
        step = 1 if begins else -1
        (live.add if begins else live.remove)(row)
        origins[graph.s_origin[row]] += step
        if not origins[graph.s_origin[row]]:
            del origins[graph.s_origin[row]]
        digested += step * (graph.s_digest[row] != NONE)
        if i + 1 == len(turns) or turns[i + 1][0] == low:
            continue
        if _several(graph, live, origins, digested):
            found.append((low, turns[i + 1][0]))
    return union_all(found)


def _several(graph: Graph, live: Iterable[int], origins: Counter[int], digested: int) -> bool:
    """Whether supports have two or more distinct origins: where some have digests, two that are
    named may be one."""
    return len(origins) > 1 and (not digested or distinct_origins(graph, live) > 1)


def distinct_origins(graph: Graph, supports: Iterable[int]) -> int:
    """How many origins supports have; those joined by an equal content digest count once."""
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
