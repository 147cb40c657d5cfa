"""A view's claims as an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from doxa.engine.belief import HOLDS, STANDINGS
from doxa.engine.errors import CallerError
from doxa.engine.times import NEG, POS
from doxa.engine.view import TruthView
from doxa.projections.columns import Ints, changing, columns_of, picked

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
_FEW = 10_000  # claims of a selection that are looked at one by one
_MANY = 150_000  # rows from which columns are made side by side

_CODES = pa.array([str(standing) for standing in STANDINGS], pa.string())  # by code


def to_arrow(
    view: TruthView,
    *,
    subject: str | None = None,
    predicate: str | None = None,
    standing: Any = None,
    kind: str | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """The claims that `TruthView.claims` gives for the same selection, in log order, as `SCHEMA`,
    or those of its columns that are named.

    What is held is found with masks over the columns; a selection by standing or kind one by one.
    """
    if isinstance(columns, str) or (columns is not None and not len(columns)):
        raise CallerError(f"columns is {columns!r:.80}; give a list of names, or leave it out")
    wanted = SCHEMA.names if columns is None else list(dict.fromkeys(columns))
    if unknown := [name for name in wanted if name not in SCHEMA.names]:
        raise CallerError(
            f"{unknown[0]!r:.80} is no column of claims; they are {', '.join(SCHEMA.names)}"
        )
    if standing is None and kind is None:
        rows, codes = _selected(view, subject, predicate)
        standings = _CODES.take(pa.array(codes))
    else:
        items = view.claims(subject=subject, predicate=predicate, standing=standing, kind=kind)
        rows = np.array([item.row for item in items], dtype=np.int32)
        standings = pa.array([str(item.standing) for item in items], pa.string())
    return _table(view, rows, standings, wanted)


def _selected(view: TruthView, subject: str | None, predicate: str | None) -> tuple[Ints, Ints]:
    """What is held of a selection: looked for among its own claims where they are few."""
    if subject is not None:
        return _among(view, np.fromiter(view.rows(subject, predicate), np.int64))
    if predicate is None:
        return _held(view, None)
    graph, arrays = view.graph, columns_of(view.belief)
    column = arrays.ints(graph.c_predicate, graph.claims_upto(view.k))
    rows = np.flatnonzero(column == graph.names.find(predicate))
    return _among(view, rows) if len(rows) < _FEW else _held(view, predicate)


def _among(view: TruthView, rows: Ints) -> tuple[Ints, Ints]:
    """Those of the given claims that are in sight and held, and their codes."""
    graph, beliefs, v, k = view.graph, view.belief.beliefs, view.v, view.k
    arrays, claims = columns_of(view.belief), graph.claims_upto(view.k)
    rows = rows[rows < claims]
    kept = (arrays.ints(graph.c_from, claims)[rows] <= v) & (
        arrays.ints(graph.c_to, claims)[rows] > v
    )
    kept &= np.isin(arrays.ints(graph.c_ws, claims)[rows], list(view.workspaces))
    if view.perspective is not None:
        perspectives = arrays.ints(graph.c_perspective, claims)[rows]
        kept &= perspectives == graph.names.find(view.perspective)
    rows = rows[kept]
    codes = np.array([beliefs.at(row, v, k) for row in rows.tolist()], np.uint8)
    held = (codes & HOLDS) != 0
    return rows[held], codes[held]


def _held(view: TruthView, predicate: str | None) -> tuple[Ints, Ints]:
    """The rows of the claims in sight that are held, in log order, and their codes."""
    graph, beliefs, v, k = view.graph, view.belief.beliefs, view.v, view.k
    arrays = columns_of(view.belief)
    claims = graph.claims_upto(k)
    mask = arrays.ints(graph.c_from, claims) <= v
    mask &= arrays.ints(graph.c_to, claims) > v
    workspaces = arrays.ints(graph.c_ws, claims)
    mask &= np.logical_or.reduce([workspaces == workspace for workspace in view.workspaces])
    for column, name in (
        (graph.c_predicate, predicate),
        (graph.c_perspective, view.perspective),
    ):
        if name is not None:
            mask &= arrays.ints(column, claims) == graph.names.find(name)
    # those that a row of the beliefs says more of, by then
    held = mask & arrays.ints(graph.c_plain, claims).astype(bool)
    since = changing(beliefs.since, min(claims, len(beliefs.since)))
    held[: len(since)] &= since > k
    known = len(beliefs)
    known = int(np.searchsorted(arrays.ints(beliefs.known, known), k, side="right"))
    open_ = changing(beliefs.until, known) > k
    open_ &= arrays.ints(beliefs.low, known) <= v
    open_ &= arrays.ints(beliefs.high, known) > v
    codes = arrays.ints(beliefs.code, known)
    open_ &= (codes & HOLDS) != 0
    found = np.flatnonzero(open_)
    owners = arrays.ints(beliefs.owner, known)[found]
    chosen = mask[owners]
    owners, codes = owners[chosen], codes[found][chosen]
    held[owners] = True
    rows = np.flatnonzero(held)
    told = np.full(claims, HOLDS, np.uint8)
    told[owners] = codes
    return rows, told[rows]


@lru_cache
def _schema(wanted: tuple[str, ...]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in wanted])


def _table(view: TruthView, rows: Ints, standings: Any, wanted: Sequence[str]) -> pa.Table:
    graph = view.graph
    arrays = columns_of(view.belief)
    claims = graph.claims_upto(view.k)
    chosen = pa.array(rows)

    def named(column: Any) -> Callable[[], Any]:
        def make() -> Any:
            texts = arrays.texts(graph.names.texts, names)
            return picked(texts, pa.array(arrays.ints(column, claims)[rows]))

        return make

    def instants(column: Any, open_end: int) -> Callable[[], Any]:
        def make() -> Any:
            values = arrays.ints(column, claims)[rows]
            return pa.array(values, mask=values == open_end)

        return make

    def recorded_at(low: int, high: int) -> Ints:
        commits = len(graph.commit_last)
        ends, at = arrays.ints(graph.commit_last, commits), arrays.ints(graph.commit_at, commits)
        return at[np.searchsorted(ends, arrays.ints(graph.c_pos, high)[low:])]

    def recorded() -> Any:
        return pa.array(arrays.derived("recorded_at", np.int64, claims, recorded_at)[rows])

    def ids() -> Any:
        places = pa.array(arrays.ints(graph.c_pos, claims)[rows] - 1)
        return picked(arrays.texts(graph.ids.texts, view.k), places)

    names = len(graph.names.texts)
    makers: dict[str, Callable[[], Any]] = {
        "id": ids,
        "workspace": named(graph.c_ws),
        "subject": named(graph.c_subject),
        "predicate": named(graph.c_predicate),
        "object": lambda: picked(arrays.texts(graph.c_object, claims), chosen),
        "kind": named(graph.c_kind),
        "perspective": named(graph.c_perspective),
        "standing": lambda: standings,
        "valid_from": instants(graph.c_from, NEG),
        "valid_to": instants(graph.c_to, POS),
        "recorded_at": recorded,
    }
    schema = _schema(tuple(wanted))
    if len(rows) < _MANY:
        made = [makers[name]() for name in wanted]
    else:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda name: makers[name](), wanted))
    return pa.Table.from_arrays(made, schema=schema)
