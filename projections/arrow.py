"""A view's claims as an Arrow table."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from doxa.engine.belief import HELD
from doxa.engine.graph import NONE
from doxa.engine.times import NEG, POS
from doxa.engine.view import TruthView

__all__ = ["SCHEMA", "to_arrow"]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("workspace", pa.string()),
        ("subject", pa.string()),
        ("predicate", pa.string()),
        ("object", pa.string()),  # JSON text
        ("kind", pa.string()),
        ("perspective", pa.string()),
        ("standing", pa.string()),
        ("valid_from", pa.int64()),  # microseconds since 1970-01-01Z; null: open
        ("valid_to", pa.int64()),
        ("recorded_at", pa.int64()),
    ]
)

Ints = npt.NDArray[np.int64]


def _ints(column: array[int], rows: int) -> Ints:
    """A copy of a column's beginning: the log may grow meanwhile."""
    return np.frombuffer(column[:rows], dtype=np.int64)


def to_arrow(
    view: TruthView,
    *,
    subject: str | None = None,
    predicate: str | None = None,
    standing: Any = None,
    kind: str | None = None,
) -> pa.Table:
    """The claims that `TruthView.claims` gives for the same selection, in log order, as `SCHEMA`.

    Held claims of the plain kind are found with masks over the columns; the others one by one.
    """
    if standing is None and kind is None:
        rows, standings = _held(view, subject, predicate)
    else:
        items = view.claims(subject=subject, predicate=predicate, standing=standing, kind=kind)
        rows = np.array([item.row for item in items], dtype=np.int64)
        standings = [str(item.standing) for item in items]
    return _table(view, rows, standings)


def _held(
    view: TruthView, subject: str | None, predicate: str | None
) -> tuple[Ints, Sequence[str]]:
    graph, belief, v, k = view.graph, view.belief, view.v, view.k
    n = graph.claims_upto(k)
    mask = (_ints(graph.c_from, n) <= v) & (v < _ints(graph.c_to, n))
    mask &= np.isin(_ints(graph.c_ws, n), list(view.workspaces))
    for column, name in (
        (graph.c_subject, subject),
        (graph.c_predicate, predicate),
        (graph.c_perspective, view.perspective),
    ):
        if name is not None:
            mask &= _ints(column, n) == graph.names.find(name)
    special = np.array([row for row in list(belief.records) if row < n], dtype=np.int64)
    chosen = special[mask[special]]
    mask[special] = False
    mask &= _ints(graph.c_kind, n) != belief.hypothesis
    carried = _ints(graph.c_carried, n)
    mask &= carried != NONE
    rows = np.flatnonzero(mask)
    sources = _ints(graph.s_source, len(graph.s_source))
    rows = rows[sources[carried[rows]] != NONE]
    named = {int(row): belief.standing(int(row), v, k) for row in chosen}
    held = np.array([row for row, found in named.items() if found in HELD], dtype=np.int64)
    every = np.sort(np.concatenate([rows, held]))
    standings = ["reported"] * len(every)
    for place, row in zip(np.searchsorted(every, held), held, strict=True):
        standings[int(place)] = str(named[int(row)])
    return every, standings


def _table(view: TruthView, rows: Ints, standings: Sequence[str]) -> pa.Table:
    graph = view.graph
    n = graph.claims_upto(view.k)
    picked = rows.tolist()

    def names(column: array[int]) -> pa.Array:
        codes, inverse = np.unique(_ints(column, n)[rows], return_inverse=True)
        texts = pa.array([graph.names.texts[code] for code in codes.tolist()], pa.string())
        return texts.take(pa.array(inverse))

    def instants(column: array[int], open_end: int) -> pa.Array:
        values = _ints(column, n)[rows]
        return pa.array(values, mask=values == open_end)

    commits = graph.commit_last[:]
    at = np.searchsorted(_ints(commits, len(commits)), _ints(graph.c_pos, n)[rows])
    recorded = _ints(graph.commit_at, len(commits))[at]
    objects = [json.dumps(graph.c_object[row], ensure_ascii=False) for row in picked]
    return pa.Table.from_arrays(
        [
            pa.array([graph.c_id[row] for row in picked], pa.string()),
            names(graph.c_ws),
            names(graph.c_subject),
            names(graph.c_predicate),
            pa.array(objects, pa.string()),
            names(graph.c_kind),
            names(graph.c_perspective),
            pa.array(list(standings), pa.string()),
            instants(graph.c_from, NEG),
            instants(graph.c_to, POS),
            pa.array(recorded, pa.int64()),
        ],
        schema=SCHEMA,
    )
