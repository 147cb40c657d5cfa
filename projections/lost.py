"""What the tables have of compacted events: that something was known there, how much is gone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from doxa.engine.belief import Belief, Standing
from doxa.engine.times import POS

__all__ = ["STRETCHES", "lost_beliefs", "stretches"]

STRETCHES: Final = pa.schema(
    [
        ("position", pa.int64()),
        ("last", pa.int64()),
        ("events", pa.int64()),
        ("digest", pa.string()),
    ]
)


def lost_beliefs(belief: Belief, after: int, upto: int, schema: pa.Schema) -> pa.Table:
    """Rows of the standing ``compacted``, without words, of the claims that were recorded after one
    commit and up to another: from then on they were known, over their own intervals."""
    graph = belief.graph
    gone = graph.gone
    if gone is None:
        return schema.empty_table()
    columns = gone.columns
    positions = columns.position[columns.event]
    rows = np.flatnonzero((positions > after) & (positions <= upto))
    if not len(rows):
        return schema.empty_table()
    events, positions = columns.event[rows], positions[rows]
    ends = np.array(graph.commit_last, np.int64)
    names = pa.array(columns.names, pa.string())
    found: dict[str, Any] = {
        "workspace": names.take(pa.array(columns.workspace[events])),
        "standing": pa.array([str(Standing.COMPACTED)] * len(rows), pa.string()),
        "valid_from": columns.start[rows],
        "valid_to": columns.end[rows],
        "known_from": ends[np.searchsorted(ends, positions)],
        "known_to": np.full(len(rows), POS, np.int64),
        "known_from_at": columns.recorded_at[events],
        "known_to_at": np.full(len(rows), POS, np.int64),
        "position": positions,
    }
    arrays = [
        pa.array(found[field.name], field.type)
        if field.name in found
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def stretches(belief: Belief, after: int, upto: int) -> dict[str, Any]:
    """The columns of the stretches that begin after one position, up to another."""
    gone = belief.graph.gone
    if gone is None:
        return {field.name: pa.array([], field.type) for field in STRETCHES}
    first, last, digests = gone.stretches
    low, high = np.searchsorted(first, (after, upto), side="right")
    own = [digests[32 * place : 32 * place + 32].hex() for place in range(low, high)]
    return {
        "position": pa.array(first[low:high]),
        "last": pa.array(last[low:high]),
        "events": pa.array(last[low:high] - first[low:high] + 1),
        "digest": pa.array(own, pa.string()),
    }
