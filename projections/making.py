"""Columns of a belief as Arrow arrays: ids, names, texts, times and positions of chosen rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.graph import ARTEFACT, CLAIM, CORRECTION, POLICY, SUPPORT, WITHDRAWAL
from doxa.engine.tables import Objects, Strings
from doxa.projections.columns import Ints, columns_of
from doxa.projections.growing import picked
from doxa.projections.rectangles import Commits, Rectangles

__all__ = ["Maker", "Making"]

Maker = Callable[[], Any]

_FEW: Final = 1_000  # texts that are read one by one


class Making:
    """Columns of a belief up to a position, as Arrow arrays of chosen rows."""

    def __init__(self, belief: Belief, at: int) -> None:
        self.graph, self.arrays = belief.graph, columns_of(belief)
        self.commits = Commits(belief, at)
        self.at, self.names = at, len(belief.graph.names.texts)

    def ints(self, column: Any, rows: Ints) -> Ints:
        """The entries of chosen rows."""
        return self.arrays.ints(column, int(rows.max()) + 1 if len(rows) else 0)[rows]

    def texts(self, column: Strings | Objects, rows: Ints, size: int) -> Any:
        """The texts of chosen rows of the first ``size``; null where a row is NONE."""
        if len(rows) < _FEW:
            found = [None if row < 0 else column.text(row) for row in rows.tolist()]
            return pa.array(found, pa.string())
        return picked(self.arrays.texts(column, size), pa.array(rows, mask=rows < 0))

    def named(self, codes: Ints) -> Any:
        """Names by their codes; null where there is none."""
        return self.texts(self.graph.names.texts, codes, self.names)

    def name(self, column: Any, rows: Ints) -> Maker:
        """A column of codes as names."""
        return lambda: self.named(self.ints(column, rows))

    def ids(self, positions: Ints) -> Any:
        """The ids of the events at positions; null where a position is 0."""
        return self.texts(self.graph.ids.texts, positions - 1, self.at)

    def position_of(self, kind: int, rows: Ints) -> Ints:
        """The positions of rows of a kind, int64; 0 where a row is NONE."""
        graph = self.graph
        columns = {
            CLAIM: graph.c_pos, SUPPORT: graph.s_pos, CORRECTION: graph.k_pos,
            WITHDRAWAL: graph.w_pos, ARTEFACT: graph.a_pos, POLICY: graph.p_pos,
        }  # fmt: skip
        there = rows >= 0
        found = np.zeros(len(rows), np.int64)
        found[there] = self.ints(columns[kind], rows[there])
        return found

    def support_ids(self, rows: Ints) -> Any:
        """The ids of supports: of one that a claim carries, the claim's with a suffix."""
        graph = self.graph
        carried = self.ints(graph.c_carried, self.ints(graph.s_claim, rows)) == rows
        ids = self.ids(self.position_of(SUPPORT, rows))
        suffix = pc.if_else(pa.array(carried, pa.bool_()), ev.CARRIED, "")
        return pc.binary_join_element_wise(ids, suffix, "")

    def places(self, positions: Ints) -> Any:
        """Positions, null where one is 0."""
        return pa.array(positions, pa.int64(), mask=positions == 0)

    def both_times(self, found: Rectangles) -> dict[str, Maker]:
        """The six columns of bitemporal bounds."""
        return {
            "valid_from": lambda: pa.array(found.low),
            "valid_to": lambda: pa.array(found.high),
            "known_from": lambda: pa.array(found.known),
            "known_to": lambda: pa.array(found.until),
            "known_from_at": lambda: pa.array(self.commits.times(found.known)),
            "known_to_at": lambda: pa.array(self.commits.times(found.until)),
        }

    def recorded(self, positions: Ints) -> dict[str, Maker]:
        """When events were recorded, and from which position on they are known."""
        return {
            "position": lambda: pa.array(positions, pa.int64()),
            "known_from": lambda: pa.array(self.commits.ends(positions)),
            "recorded_at": lambda: pa.array(self.commits.times(positions)),
        }

    def claim(self, rows: Ints) -> dict[str, Maker]:
        """What claims say."""
        graph = self.graph
        return {
            "claim": lambda: self.ids(self.position_of(CLAIM, rows)),
            "workspace": self.name(graph.c_ws, rows),
            "subject": self.name(graph.c_subject, rows),
            "predicate": self.name(graph.c_predicate, rows),
            "object": lambda: self.texts(graph.c_object, rows, graph.claims_upto(self.at)),
            "kind": self.name(graph.c_kind, rows),
            "perspective": self.name(graph.c_perspective, rows),
        }

    def lists(self, ends: Ints, values: Any) -> Any:
        """Lists, one after another in ``values``, that end at ``ends`` (rows + 1,)."""
        offsets = pa.array((ends - ends[0]).astype(np.int32))
        return pa.ListArray.from_arrays(offsets, values)
