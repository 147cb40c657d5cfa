"""A view's claims as an Arrow table."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from doxa.engine.belief import HOLDS, STANDINGS
from doxa.engine.errors import CallerError
from doxa.engine.graph import NONE
from doxa.engine.times import NEG, POS
from doxa.engine.view import TruthView
from doxa.projections.columns import Ints, columns_of
from doxa.projections.growing import picked
from doxa.projections.slices import Held, Scan

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
_FEW = 256  # claims about a subject that are looked at one by one
_PART = 50_000  # claims that are worth a thread of their own

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
    same = {"subject": subject, "predicate": predicate, "perspective": view.perspective}
    make = _Batches(view, wanted, same)
    named = all(isinstance(name, str | None) for name in (subject, predicate))
    if named and standing is None and kind is None:
        found = _held(view, subject, predicate)
        batches = _in_parts(found, make.held) if isinstance(found, Scan) else [make.held(found)]
    else:
        items = view.claims(subject=subject, predicate=predicate, standing=standing, kind=kind)
        rows = np.array([item.row for item in items], np.int64)
        standings = pa.array([str(item.standing) for item in items], pa.string())
        batches = [make(0, view.graph.claims_upto(view.k), rows, standings)]
    return pa.Table.from_batches(batches, make.schema)


# ---------------------------------------------------------------- finding what is held


def _held(view: TruthView, subject: str | None, predicate: str | None) -> Held | Scan:
    """What is held of a selection: of few claims about a subject found at once, or to be found."""
    graph = view.graph
    wanted: list[tuple[array[int], int]] = []
    for name, column in ((subject, graph.c_subject), (predicate, graph.c_predicate)):
        if name is not None:
            wanted.append((column, graph.names.find(name)))
    if any(code == NONE for _, code in wanted):
        return _among(view, [])
    if subject is not None:
        code = None if predicate is None else wanted[1][1]
        rows = list(islice(graph.claims_about(wanted[0][1], code), _FEW + 1))
        if len(rows) <= _FEW:
            return _among(view, rows[::-1])
    return Scan(view, wanted[0], wanted[1:]) if wanted else Scan(view)


def _among(view: TruthView, rows: Sequence[int]) -> Held:
    """Those of the given claims that are in sight and held."""
    graph, v, k = view.graph, view.v, view.k
    at = view.belief.beliefs.at
    found = [
        (row, code)
        for row in rows
        if view.in_sight(row)
        and graph.c_from[row] <= v < graph.c_to[row]
        and (code := at(row, v, k)) & HOLDS
    ]
    held, codes = np.array(found, np.int64).reshape(-1, 2).T
    return Held(0, graph.claims_upto(k), held, codes.astype(np.uint8))


def _in_parts(scan: Scan, make: Callable[[Held], Any]) -> list[Any]:
    """What is held as batches, made side by side where it is much."""
    threads = min(pa.cpu_count(), scan.claims // _PART)
    if threads < 2:
        scan.mark(0, scan.changes)
        return [make(scan.held(0, scan.claims))]
    changes, claims = (
        list(pairwise(np.linspace(0, size, threads + 1).astype(int).tolist()))
        for size in (scan.changes, scan.claims)
    )
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: scan.mark(*part), changes))
        return list(pool.map(lambda part: make(scan.held(*part)), claims))


# ---------------------------------------------------------------- making columns


@lru_cache
def _schema(wanted: tuple[str, ...]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in wanted])


class _Batches:
    """Makes record batches of chosen claims, which have the ``same`` text in some columns."""

    def __init__(self, view: TruthView, wanted: Sequence[str], same: dict[str, str | None]) -> None:
        self.schema = _schema(tuple(wanted))
        self._wanted, self._same = wanted, same
        self._graph, self._k, self._arrays = view.graph, view.k, columns_of(view.belief)
        self._names = len(view.graph.names.texts)

    def held(self, held: Held) -> pa.RecordBatch:
        """The claims that are held, which stand as their codes say."""
        standings = _CODES.take(pa.array(held.codes)) if "standing" in self._wanted else None
        return self(held.low, held.high, held.rows, standings)

    def __call__(self, low: int, high: int, rows: Ints, standings: Any) -> pa.RecordBatch:
        """Rows counted from ``low`` on, below ``high``."""
        graph, arrays = self._graph, self._arrays

        def entries(column: array[int]) -> Ints:
            return arrays.ints(column, high)[low:].take(rows)

        def named(column: array[int]) -> Any:
            return picked(arrays.texts(graph.names.texts, self._names), pa.array(entries(column)))

        def subject() -> Any:
            texts = arrays.written_out(graph.c_subject, graph.names.texts, high)
            if texts is None:
                return named(graph.c_subject)
            return picked(texts[low:high], pa.array(rows))

        makers: dict[str, Callable[[], Any]] = {
            "id": lambda: picked(
                arrays.texts(graph.ids.texts, self._k), pa.array(entries(graph.c_pos) - 1)
            ),
            "workspace": lambda: named(graph.c_ws),
            "subject": subject,
            "predicate": lambda: named(graph.c_predicate),
            "object": lambda: picked(arrays.texts(graph.c_object, high)[low:high], pa.array(rows)),
            "kind": lambda: named(graph.c_kind),
            "perspective": lambda: named(graph.c_perspective),
            "standing": lambda: standings,
            "valid_from": lambda: _instants(entries(graph.c_from), NEG),
            "valid_to": lambda: _instants(entries(graph.c_to), POS),
            "recorded_at": lambda: pa.array(
                arrays.derived("recorded_at", np.int64, high, self._recorded)[low:].take(rows)
            ),
        }
        for name, text in self._same.items():
            if text is not None:
                makers[name] = partial(pa.repeat, text, len(rows))
        made = [makers[name]() for name in self._wanted]
        return pa.RecordBatch.from_arrays(made, schema=self.schema)

    def _recorded(self, low: int, high: int) -> Ints:
        """When the claims low to high were recorded."""
        graph, arrays = self._graph, self._arrays
        commits = len(graph.commit_last)
        ends, at = arrays.ints(graph.commit_last, commits), arrays.ints(graph.commit_at, commits)
        return at[np.searchsorted(ends, arrays.ints(graph.c_pos, high)[low:])]


def _instants(values: Ints, open_end: int) -> Any:
    """Instants as they are, null where one is the open end."""
    stated = values != open_end
    if stated.all():
        return pa.array(values)
    valid = pa.py_buffer(np.packbits(stated, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(values), [valid, pa.py_buffer(values)])
