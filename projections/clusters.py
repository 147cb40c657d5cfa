"""Related claims at a view: what may be looked at together, the longest unused first.

A cluster holds claims of one workspace, perspective, kind and subject. Only what is held there and
rests on a source of its own is in one: what was derived is no evidence for more of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from doxa.engine.belief import HELD, Standing
from doxa.engine.graph import NONE
from doxa.engine.view import TruthView

__all__ = ["Cluster", "LastUsed", "clusters", "evidence", "last_use"]

LastUsed = Callable[[str, str], int | None]  # workspace, id → microseconds; None: never


class Cluster(NamedTuple):
    """Claims that belong together, in log order.

    ``last_used`` is when any of them was last used or, where none ever was, when the newest was
    recorded, in microseconds: the smaller, the colder. ``contested`` says whether one of them is.
    """

    workspace: str
    perspective: str
    kind: str
    subject: str
    ids: tuple[str, ...]
    rows: tuple[int, ...]  # in the belief
    last_used: int
    contested: bool


def clusters(
    view: TruthView,
    *,
    kind: str | None = None,
    least: int = 2,
    last_used: LastUsed | None = None,
) -> list[Cluster]:
    """The clusters of ``least`` claims or more at a view, the coldest first, then in log order.

    ``kind`` is of the claims; left out, all kinds, each for itself. O(claims).
    """
    found: dict[tuple[int, int, int, int], list[tuple[int, Standing]]] = {}
    graph = view.graph
    for row, standing in evidence(view, kind):
        place = (
            graph.c_ws[row], graph.c_perspective[row], graph.c_kind[row], graph.c_subject[row]
        )  # fmt: skip
        found.setdefault(place, []).append((row, standing))
    made = []
    for place, claims in found.items():
        if len(claims) >= least:
            rows = tuple(row for row, _ in claims)
            contested = any(standing is Standing.CONTESTED for _, standing in claims)
            made.append(_cluster(view, place, rows, contested, last_used))
    return sorted(made, key=lambda cluster: (cluster.last_used, cluster.rows))


def evidence(view: TruthView, kind: str | None = None) -> Iterator[tuple[int, Standing]]:
    """The rows of the claims in sight that are held and rest on sources, with their standings, in
    log order; of one kind, where it is given."""
    graph, belief, v, k = view.graph, view.belief, view.v, view.k
    wanted = None if kind is None else graph.names.find(kind)
    for row in range(graph.claims_upto(k)):
        if wanted is not None and graph.c_kind[row] != wanted:
            continue
        if not (graph.c_from[row] <= v < graph.c_to[row] and view.in_sight(row)):
            continue
        standing = belief.standing(row, v, k)
        if standing in HELD and _sourced(view, row):
            yield row, standing


def _sourced(view: TruthView, row: int) -> bool:
    """Whether a held claim was recorded as no conclusion, and rests on a source at the view."""
    graph = view.graph
    carried = graph.c_carried[row]
    if carried != NONE and graph.s_source[carried] == NONE:
        return False
    return any(
        graph.s_source[support] != NONE and not graph.s_refutes[support]
        for support in view.belief.live_supports(row, view.v, view.k)
    )


def last_use(view: TruthView, row: int, last_used: LastUsed | None) -> int:
    """When a claim was last used or, where it never was, recorded."""
    graph = view.graph
    if last_used is not None:
        used = last_used(graph.names.texts[graph.c_ws[row]], graph.claim_id(row))
        if used is not None:
            return used
    return graph.recorded_of(graph.c_pos[row])


def _cluster(
    view: TruthView,
    place: tuple[int, int, int, int],
    rows: tuple[int, ...],
    contested: bool,
    last_used: LastUsed | None,
) -> Cluster:
    workspace, perspective, kind, subject = (view.graph.names.texts[code] for code in place)
    used = max(last_use(view, row, last_used) for row in rows)
    ids = tuple(view.graph.claim_id(row) for row in rows)
    return Cluster(workspace, perspective, kind, subject, ids, rows, used, contested)
