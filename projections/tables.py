"""The tables of a ledger: what came into each in a stretch of its log, and what ended in it.

All times are int64: microseconds since 1970-01-01Z, or positions of the log. An open start is the
least int64, an open end the greatest, so that comparisons are all that is needed. What came in up
to a position never changes, but for the end of what was still known then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from doxa.engine.belief import STANDINGS, SUPERSEDED, WITHDRAWN, Belief, Standing
from doxa.engine.graph import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    KINDS,
    NONE,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
)
from doxa.engine.numbers import Series
from doxa.engine.rows import NAMED, UNBOUND
from doxa.engine.times import NEG
from doxa.projections.growing import Ints, column_texts
from doxa.projections.lost import STRETCHES, lost_beliefs, stretches
from doxa.projections.making import Maker, Making
from doxa.projections.rectangles import Commits, added, closed

__all__ = ["ENDS", "TABLES", "Table"]

_MANY: Final = 20_000  # rows from which columns are made side by side
_TEXTS: Final = pa.list_(pa.string())

_BOTH_TIMES: Final = tuple(
    (name, pa.int64())
    for name in (
        "valid_from", "valid_to", "known_from", "known_to", "known_from_at", "known_to_at"
    )
)  # fmt: skip
ENDS: Final = pa.schema(
    [
        (name, pa.int64())
        for name in ("position", "valid_from", "known_from", "known_to", "known_to_at")
    ]
)
"""What ended: a row by its key, the first three columns, and its end."""


class Table(NamedTuple):
    """One table: its columns, and those that are made of the belief. ``kind`` is that of the events
    whose rectangles it has; a table without one has a row an event, which never ends."""

    name: str
    schema: pa.Schema
    make: Callable[[Belief, int, int, int], dict[str, Maker]]
    kind: int | None = None

    def added(self, belief: Belief, after: int, upto: int, at: int | None = None) -> pa.Table:
        """The rows that came in after one commit and up to another, as they are known at a third,
        by default the latter. Chunks of them, one after another, are the whole."""
        makers = self.make(belief, after, upto, upto if at is None else at)
        if upto - after < _MANY:
            made = [makers[name]() for name in self.schema.names]
        else:
            with ThreadPoolExecutor(4) as pool:
                made = list(pool.map(lambda name: makers[name](), self.schema.names))
        found = pa.Table.from_arrays(made, schema=self.schema)
        if self.kind == CLAIM and belief.graph.gone is not None:
            found = pa.concat_tables([found, lost_beliefs(belief, after, upto, self.schema)])
        return found

    def ended(self, belief: Belief, after: int, upto: int) -> pa.Table:
        """The rows known at one commit that ended up to another, as `ENDS`."""
        if self.kind is None:
            return ENDS.empty_table()
        found = closed(belief, self.kind, after, upto)
        positions = Making(belief, upto).position_of(self.kind, found.owner)
        ends = Commits(belief, upto).times(found.until)
        arrays = [positions, found.low, found.known, found.until, ends]
        return pa.Table.from_arrays([pa.array(array, pa.int64()) for array in arrays], schema=ENDS)


_CLAIM: Final = tuple(
    (name, pa.string())
    for name in ("claim", "workspace", "subject", "predicate", "object", "kind", "perspective")
)
_HYPOTHESIS, _REDACTED = len(STANDINGS), len(STANDINGS) + 1
_STANDINGS: Final = pa.array(
    [*map(str, STANDINGS), str(Standing.HYPOTHESIS), str(Standing.REDACTED)], pa.string()
)


def _beliefs(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    found = added(belief, CLAIM, after, upto, at)
    rows = found.owner

    def standing() -> Any:
        open_ = (found.code & (WITHDRAWN | SUPERSEDED)) == 0
        supposed = open_ & (making.ints(graph.c_kind, rows) == belief.hypothesis)
        codes = np.where(supposed, _HYPOTHESIS, found.code)
        codes[np.isin(rows, [n >> 3 for n in graph.erased if n & 7 == CLAIM])] = _REDACTED
        return _STANDINGS.take(pa.array(codes))

    return {
        **making.claim(rows),
        "standing": standing,
        **making.both_times(found),
        "position": lambda: pa.array(making.position_of(CLAIM, rows)),
    }


def _supports(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    found = added(belief, SUPPORT, after, upto, at)
    rows = found.owner
    claims, sources = making.ints(graph.s_claim, rows), making.ints(graph.s_source, rows)

    def source() -> Any:
        names = np.full(len(rows), NONE, np.int32)
        named = sources >= 0
        names[named] = making.ints(graph.r_name, sources[named])
        return making.named(names)

    def stance() -> Any:
        refutes = making.ints(graph.s_refutes, rows).astype(bool)
        return pc.if_else(pa.array(refutes, pa.bool_()), "refutes", "supports")

    def observed() -> Any:
        at = making.ints(graph.s_observed, rows)
        return pa.array(at, pa.int64(), mask=at == NEG)

    derived = np.flatnonzero(sources < 0)
    premises = [graph.s_because.get(row) for row in rows[derived].tolist()]
    sizes = np.zeros(len(rows) + 1, np.int64)
    sizes[derived + 1] = [len(some) for some in premises]
    ends = np.cumsum(sizes)
    flat = np.fromiter((claim for some in premises for claim in some), np.int64, int(ends[-1]))
    resting = making.position_of(CLAIM, flat)
    return {
        "support": lambda: making.support_ids(rows),
        "claim": lambda: making.ids(making.position_of(CLAIM, claims)),
        "workspace": making.name(graph.c_ws, claims),
        "stance": stance,
        "source": source,
        "origin": making.name(graph.s_origin, rows),
        "digest": making.name(graph.s_digest, rows),
        "because": lambda: making.lists(ends, making.ids(resting)),
        "observed_at": observed,
        **making.both_times(found),
        "position": lambda: pa.array(making.position_of(SUPPORT, rows)),
        "claim_position": lambda: pa.array(making.position_of(CLAIM, claims)),
        "because_positions": lambda: making.lists(ends, pa.array(resting)),
    }


def _corrections(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    found = added(belief, CORRECTION, after, upto, at)
    rows = found.owner
    end = bisect_right(graph.k_pos, at)
    # a name's claim may come later, so that the column is one that changes
    target = np.frombuffer(graph.k_target[:end], np.int32)[rows]
    target = np.where(found.bound, target, NONE)
    by, sources = making.ints(graph.k_by, rows), making.ints(graph.k_source, rows)

    def source() -> Any:
        names = np.full(len(rows), NONE, np.int32)
        names[sources >= 0] = making.ints(graph.r_name, sources[sources >= 0])
        return making.named(names)

    positions = making.position_of(CORRECTION, rows)
    targets, bys = making.position_of(CLAIM, target), making.position_of(CLAIM, by)
    return {
        "correction": lambda: making.ids(positions),
        "claim": lambda: making.ids(targets),
        "workspace": making.name(graph.k_ws, rows),
        "by": lambda: making.ids(bys),
        "source": source,
        **making.both_times(found),
        "position": lambda: pa.array(positions),
        "claim_position": lambda: making.places(targets),
        "by_position": lambda: making.places(bys),
    }


def _withdrawals(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    found = added(belief, WITHDRAWAL, after, upto, at)
    rows = found.owner
    targets = making.ints(graph.w_target, rows)
    kinds, target_rows = targets & 7, targets >> 3
    positions = np.zeros(len(rows), np.int64)
    for kind in range(len(KINDS)):
        if kind != SOURCE:
            mine = kinds == kind
            positions[mine] = making.position_of(kind, target_rows[mine])

    def target() -> Any:
        parts, order = [], []
        for kind in range(len(KINDS)):
            mine = np.flatnonzero(kinds == kind)
            order.append(mine)
            if kind == SOURCE:
                parts.append(making.named(making.ints(graph.r_name, target_rows[mine])))
            elif kind == SUPPORT:
                parts.append(making.support_ids(target_rows[mine]))
            else:
                parts.append(making.ids(positions[mine]))
        back = np.argsort(np.concatenate(order), kind="stable")
        return pa.concat_arrays(parts).take(pa.array(back))

    return {
        "withdrawal": lambda: making.ids(making.position_of(WITHDRAWAL, rows)),
        "target": target,
        "target_kind": lambda: pa.array(KINDS, pa.string()).take(pa.array(kinds)),
        "workspace": making.name(graph.w_ws, rows),
        **making.both_times(found),
        "position": lambda: pa.array(making.position_of(WITHDRAWAL, rows)),
        "target_position": lambda: making.places(positions),
    }


def _claims(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    rows = np.arange(graph.claims_upto(after), graph.claims_upto(upto))
    return {
        **making.claim(rows),
        "valid_from": lambda: pa.array(making.ints(graph.c_from, rows)),
        "valid_to": lambda: pa.array(making.ints(graph.c_to, rows)),
        **making.recorded(making.position_of(CLAIM, rows)),
    }


def _artefacts(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    first, end = bisect_right(graph.a_pos, after), bisect_right(graph.a_pos, upto)
    rows = np.arange(first, end)
    bound = making.ints(graph.a_snapshot, rows)

    def listed(series: Series, of: Callable[[Ints], Any]) -> Maker:
        def make() -> Any:
            ends = np.frombuffer(series.ends[first : end + 1], np.int32)
            values = np.frombuffer(series.values[ends[0] : ends[-1]], np.int32)
            return making.lists(ends, of(values))

        return make

    def positions(kind: int) -> Callable[[Ints], Any]:
        return lambda found: making.ids(making.position_of(kind, found))

    def subjects() -> Any:
        lists = listed(graph.a_subjects, making.named)()
        return pc.if_else(pa.array(bound == NAMED, pa.bool_()), lists, pa.scalar(None, _TEXTS))

    def kind() -> Any:
        summary = making.ints(graph.a_summary, rows).astype(bool)
        return pc.if_else(pa.array(summary, pa.bool_()), "summary", "citation")

    def binding() -> Any:
        snapshot = pa.array(bound != UNBOUND, pa.bool_())
        return pc.if_else(snapshot, "snapshot", "dependencies")

    def valid_at() -> Any:
        return pa.array(making.ints(graph.a_at, rows), pa.int64(), mask=bound == UNBOUND)

    places = making.position_of(ARTEFACT, rows)
    return {
        "artefact": lambda: making.ids(places),
        "workspace": making.name(graph.a_ws, rows),
        "kind": kind,
        "binding": binding,
        "facts": listed(graph.a_facts, positions(CLAIM)),
        "supports": listed(graph.a_supports, making.support_ids),
        "sources": listed(
            graph.a_sources, lambda found: making.named(making.ints(graph.r_name, found))
        ),
        "citations": listed(graph.a_citations, positions(ARTEFACT)),
        "subjects": subjects,
        "valid_at": valid_at,
        **making.recorded(places),
    }


def _events(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    making, graph = Making(belief, at), belief.graph
    rows = np.arange(after, upto)
    numbers = making.ints(graph.ids.number, rows)

    def type_() -> Any:
        kinds = (numbers & 7).astype(np.int64)
        artefacts = np.flatnonzero(kinds == ARTEFACT)
        summaries = making.ints(graph.a_summary, numbers[artefacts] >> 3)
        kinds[artefacts[summaries.astype(bool)]] = len(KINDS)
        names = ["citation" if kind == "artefact" else kind for kind in KINDS]
        kinds[numbers == NONE] = len(KINDS) + 1
        return pa.array([*names, "summary", "compacted"], pa.string()).take(pa.array(kinds))

    def ids() -> Any:
        parts = [part.cast(pa.string()) for part in column_texts(graph.ids.texts, after, upto)]
        return pa.chunked_array(parts, pa.string())

    return {
        **making.recorded(rows + 1),
        "type": type_,
        "id": ids,
        "workspace": making.name(graph.ids.workspace, rows),
    }


def _compacted(belief: Belief, after: int, upto: int, at: int) -> dict[str, Maker]:
    found = stretches(belief, after, upto)
    return {name: partial(found.__getitem__, name) for name in found}


def _schema(*fields: tuple[str, Any], texts: Sequence[str] = (), ints: Sequence[str] = ()) -> Any:
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            *fields,
            *((name, pa.int64()) for name in ints),
        ]
    )


_RECORDED: Final = ("recorded_at", "known_from", "position")

TABLES: Final = {
    table.name: table
    for table in (
        Table(
            "beliefs",
            _schema(*_CLAIM, ("standing", pa.string()), *_BOTH_TIMES, ints=("position",)),
            _beliefs,
            CLAIM,
        ),
        Table(
            "supports",
            _schema(
                ("because", _TEXTS),
                ("observed_at", pa.int64()),
                *_BOTH_TIMES,
                ("position", pa.int64()),
                ("claim_position", pa.int64()),
                ("because_positions", pa.list_(pa.int64())),
                texts=("support", "claim", "workspace", "stance", "source", "origin", "digest"),
            ),
            _supports,
            SUPPORT,
        ),
        Table(
            "corrections",
            _schema(
                *_BOTH_TIMES,
                texts=("correction", "claim", "workspace", "by", "source"),
                ints=("position", "claim_position", "by_position"),
            ),
            _corrections,
            CORRECTION,
        ),
        Table(
            "withdrawals",
            _schema(
                *_BOTH_TIMES,
                texts=("withdrawal", "target", "target_kind", "workspace"),
                ints=("position", "target_position"),
            ),
            _withdrawals,
            WITHDRAWAL,
        ),
        Table("claims", _schema(*_CLAIM, ints=("valid_from", "valid_to", *_RECORDED)), _claims),
        Table(
            "artefacts",
            _schema(
                *((name, _TEXTS) for name in ("facts", "supports", "sources", "citations")),
                ("subjects", _TEXTS),
                texts=("artefact", "workspace", "kind", "binding"),
                ints=("valid_at", *_RECORDED),
            ),
            _artefacts,
        ),
        Table(
            "events",
            pa.schema(
                [
                    ("position", pa.int64()),
                    ("known_from", pa.int64()),
                    ("recorded_at", pa.int64()),
                    ("type", pa.string()),
                    ("id", pa.string()),
                    ("workspace", pa.string()),
                ]
            ),
            _events,
        ),
        Table("compacted", STRETCHES, _compacted),
    )
}
"""All tables by name; ``position`` is the key of a plain one, with ``valid_from`` and
``known_from`` that of a bitemporal one."""
