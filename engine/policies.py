"""Which policies about recalling are in force at a view: pinned claims, and calibrations."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge

from doxa.engine.belief import Belief
from doxa.engine.rows import NONE, POLICY, entity
from doxa.engine.times import Instant

__all__ = ["calibration", "pinned"]


def pinned(belief: Belief, workspaces: Iterable[int], v: Instant, k: int) -> list[int]:
    """The claims that are pinned at (v, k) in workspaces, given as codes: their rows, each once,
    in the order of pinning. O(pins recorded there)."""
    graph = belief.graph
    found: dict[int, None] = {}
    for row in merge(*(graph.pins_in.get(ws) for ws in set(workspaces))):
        if graph.p_pos[row] > k:
            break
        if belief.counts(entity(POLICY, row), v, k):
            found[graph.p_pinned.get(row)] = None
    return list(found)


def calibration(
    belief: Belief, embedder: str, workspaces: Iterable[int], v: Instant, k: int
) -> int:
    """The position of the newest calibration for an embedder that is in force at (v, k) in any of
    the workspaces, given as codes; NONE where there is none. Its parameters are read from the log,
    and nothing has been judged of them. O(calibrations of that embedder)."""
    graph = belief.graph
    code = graph.names.find(embedder)
    if code == NONE:
        return NONE
    seen = set(workspaces)
    for row in reversed(graph.calibrations.get(code)):
        known = graph.p_pos[row] <= k
        if known and graph.p_ws[row] in seen and belief.counts(entity(POLICY, row), v, k):
            return graph.p_pos[row]
    return NONE
