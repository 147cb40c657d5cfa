"""Where independent sources agree: two or more distinct origins behind one claim."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from doxa.engine.belief import Belief
from doxa.engine.graph import NONE, SUPPORT, Graph, entity
from doxa.engine.times import EMPTY, Intervals, covers, union_all

__all__ = ["corroborated"]


def corroborated(belief: Belief, claim: int) -> Intervals:
    """Where the live source supports of a claim have two or more distinct origins, as known at the
    head. O(supports times their distinct bounds)."""
    graph = belief.graph
    sourced = [
        (belief.extent_now(entity(SUPPORT, row)), row)
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
        if _distinct_origins(graph, rows) > 1:
            found.append((low, high))
    return union_all(found)


def _distinct_origins(graph: Graph, supports: Iterable[int]) -> int:
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
