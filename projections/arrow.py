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

from doxa.engine.belief import HELD, HOLDS, STANDINGS
from doxa.engine.errors import CallerError
from doxa.engine.graph import CLAIM, NONE, entity
from doxa.engine.lost import refuse_listing
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
_PART = 100_000  # claims that are worth a thread of their own

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
        refuse_listing(view, subject, predicate, HELD)
        found = _held(view, subject, predicate)
        batches = _in_parts(found, make.held) if isinstance(found, Scan) else [make.held(found)]
    else:
        items = view.claims(subject=subject, predicate=predicate, standing=standing, kind=kind)
        rows = np.array([item.row for item in items], np.int64)
        standings = pa.array([str(item.standing) for item in items], pa.string())
        everything = view.graph.claims_upto(view.k)
        batches = [make(Held(0, everything, rows, np.empty(0, np.uint8)), standings)]
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
        and entity(CLAIM, row) not in graph.erased
        and graph.c_from[row] <= v < graph.c_to[row]
        and (code := at(row, v, k)) & HOLDS
    ]
    held, codes = np.array(found, np.int64).reshape(-1, 2).T
    return Held(0, graph.claims_upto(k), held, codes.astype(np.uint8))


def _in_parts(scan: Scan, make: Callable[[Held], Any]) -> list[Any]:
    """What is held as batches, one a thread: this one alone where it is not much."""
    threads = max(1, min(pa.cpu_count(), scan.claims // _PART))
    if threads == 1:
        scan.mark(0, scan.changes)
        return [make(scan.held(0, scan.claims))]
    with ThreadPoolExecutor(threads - 1) as pool:

        def side_by_side(work: Callable[[int, int], Any], size: int) -> list[Any]:
            mine, *parts = pairwise(size * part // threads for part in range(threads + 1))
            others = [pool.submit(work, *part) for part in parts]
            return [work(*mine), *(other.result() for other in others)]

        side_by_side(scan.mark, scan.changes)
        return side_by_side(lambda low, high: make(scan.held(low, high)), scan.claims)


# ---------------------------------------------------------------- making columns


_Made = Callable[[int, int, Ints], Any]


@lru_cache
def _schema(wanted: tuple[str, ...]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in wanted])


class _Batches:
    """Makes record batches of chosen claims, which have the ``same`` text in some columns."""

    def __init__(self, view: TruthView, wanted: Sequence[str], same: dict[str, str | None]) -> None:
        self.schema = _schema(tuple(wanted))
        self._wanted = wanted
        self._same = {name: text for name, text in same.items() if text is not None}
        self._graph, self._k, self._arrays = view.graph, view.k, columns_of(view.belief)

    def held(self, held: Held) -> pa.RecordBatch:
        """The claims that are held, which stand as their codes say."""
        standings = _CODES.take(pa.array(held.codes)) if "standing" in self._wanted else None
        return self(held, standings)

    def __call__(self, held: Held, standings: Any) -> pa.RecordBatch:
        """The same with the given standings."""
        graph = self._graph

        def named(column: array[int]) -> Callable[[], Any]:
            return lambda: picked(self._names(), pa.array(self._entries(held, column)))

        def texts(name: str, made: _Made) -> Callable[[], Any]:
            return lambda: self._texts(held, name, made)

        makers: dict[str, Callable[[], Any]] = {
            "id": texts("id", self._ids),
            "workspace": named(graph.c_ws),
            "subject": texts("subject", self._subjects),
            "predicate": named(graph.c_predicate),
            "object": texts("object", self._objects),
            "kind": named(graph.c_kind),
            "perspective": named(graph.c_perspective),
            "standing": lambda: standings,
            "valid_from": lambda: _instants(self._entries(held, graph.c_from), NEG),
            "valid_to": lambda: _instants(self._entries(held, graph.c_to), POS),
            "recorded_at": lambda: pa.array(self._recorded(held)),
        }
        if count := len(held.rows):  # a text that nothing has may be none that Arrow can hold
            for name, text in self._same.items():
                makers[name] = partial(pa.repeat, text, count)
        made = [makers[name]() for name in self._wanted]
        return pa.RecordBatch.from_arrays(made, schema=self.schema)

    # -- the entries of claims: from the columns of all, or from those kept of rare ones

    def _entries(self, held: Held, column: array[int]) -> Ints:
        chosen = held.chosen
        if chosen is None:
            return self._arrays.ints(column, held.high)[held.low :].take(held.rows)
        kept = self._arrays.entries(column, chosen.rows, 0, len(chosen.rows), chosen.places)
        return kept[held.among]

    def _texts(self, held: Held, name: str, made: _Made) -> Any:
        low, high, chosen = held.low, held.high, held.chosen
        if chosen is None:
            return made(low, high, held.rows)
        kept = chosen.places.texts(name, chosen.rows, lambda rows: made(0, high, rows))
        return picked(kept, pa.array(held.among))

    def _recorded(self, held: Held) -> Ints:
        low, high, chosen = held.low, held.high, held.chosen
        if chosen is None:
            return self._recorded_at(low, high, held.rows)
        return chosen.places.numbers(
            "recorded_at", np.int64, chosen.rows, lambda rows: self._recorded_at(0, high, rows)
        )[held.among]

    # -- of all: rows are counted from ``low`` on, and below ``high``

    def _names(self) -> Any:
        texts = self._graph.names.texts
        return self._arrays.texts(texts, len(texts))

    def _ids(self, low: int, high: int, rows: Ints) -> Any:
        places = self._arrays.ints(self._graph.c_pos, high)[low:].take(rows) - 1
        return picked(self._arrays.texts(self._graph.ids.texts, self._k), pa.array(places))

    def _subjects(self, low: int, high: int, rows: Ints) -> Any:
        column = self._graph.c_subject
        texts = self._arrays.written_out(column, self._graph.names.texts, high, len(rows))
        if texts is not None:
            return picked(texts[low:high], pa.array(rows))
        return picked(self._names(), pa.array(self._arrays.ints(column, high)[low:].take(rows)))

    def _objects(self, low: int, high: int, rows: Ints) -> Any:
        return picked(self._arrays.texts(self._graph.c_object, high)[low:high], pa.array(rows))

    def _recorded_at(self, low: int, high: int, rows: Ints) -> Ints:
        graph, arrays = self._graph, self._arrays

        def made(first: int, end: int) -> Ints:
            commits = len(graph.commit_last)
            ends = arrays.ints(graph.commit_last, commits)
            places = np.searchsorted(ends, arrays.ints(graph.c_pos, end)[first:])
            return arrays.ints(graph.commit_at, commits)[places]

        return arrays.derived("recorded_at", np.int64, high, made)[low:].take(rows)


def _instants(values: Ints, open_end: int) -> Any:
    """Instants as they are, null where one is the open end."""
    stated = values != open_end
    if stated.all():
        return pa.array(values)
    valid = pa.py_buffer(np.packbits(stated, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(values), [valid, pa.py_buffer(values)])
