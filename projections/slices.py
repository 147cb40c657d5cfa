"""What is held at a view, found with masks over columns, part by part."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from doxa.engine.belief import HOLDS
from doxa.engine.graph import CLAIM
from doxa.engine.view import TruthView
from doxa.projections.columns import Ints, columns_of
from doxa.projections.places import Chosen

__all__ = ["Held", "Scan"]


class Held(NamedTuple):
    """Claims that are held: ``low + rows`` are their rows, ascending, all below ``high``, and
    ``codes`` their codes, uint8. Of rare ones that were chosen, ``among`` says which of the chosen
    they are."""

    low: int
    high: int
    rows: Ints
    codes: Ints
    chosen: Chosen | None = None
    among: Ints | None = None


class Scan:
    """The claims that were known at a view, all of them or those of one code in a column, to be
    looked through for what is held.

    `mark` has to have gone through all ``changes`` before `held` is asked; both take any part of
    what there is, in any order and in several threads at once. O(claims and changes) together, of
    one code O(its own).
    """

    def __init__(
        self,
        view: TruthView,
        chosen: tuple[array[int], int] | None = None,
        alike: Sequence[tuple[array[int], int]] = (),
    ) -> None:
        """``chosen`` is the column and the code, ``alike`` more of them that claims must have."""
        graph, history = view.graph, view.belief.beliefs
        self._view, self._arrays = view, columns_of(view.belief)
        self.known = graph.claims_upto(view.k)
        history_known = bisect_right(history.known, view.k)
        self._until, self._since = self._arrays.lives(history, history_known, self.known)
        self._alike = list(alike)
        if view.perspective is not None:
            self._alike.append((graph.c_perspective, graph.names.find(view.perspective)))
        self._everywhere = view.workspaces.issuperset(list(graph.revisions))
        self.claims, self.changes = self.known, history_known
        self._chosen = None
        if chosen is not None:
            found = self._arrays.chosen(*chosen, self.known, history, history_known)
            self.claims, self.changes = len(found.rows), len(found.changes)
            self._chosen = found
        self._marked = np.zeros(self.claims, np.uint8)

    def _entries(self, column: array[int] | bytearray, low: int, high: int) -> Ints:
        """A column of the claims low to high."""
        chosen = self._chosen
        if chosen is None:
            return self._arrays.ints(column, self.known)[low:high]
        return self._arrays.entries(column, chosen.rows, low, high, chosen.places)

    def _changes(self, column: array[int] | bytearray, low: int, high: int) -> Ints:
        """A column of the changes low to high."""
        chosen = self._chosen
        if chosen is None:
            return self._arrays.ints(column, self.changes)[low:high]
        return self._arrays.entries(column, chosen.changes, low, high, chosen.places)

    def mark(self, low: int, high: int) -> None:
        """Looks at what became of claims, as far as it was known: changes low to high."""
        view, history, chosen = self._view, self._view.belief.beliefs, self._chosen
        until = self._until[slice(low, high) if chosen is None else chosen.changes[low:high]]
        mask = until > view.k
        mask &= self._changes(history.low, low, high) <= view.v
        mask &= self._changes(history.high, low, high) > view.v
        codes = self._changes(history.code, low, high)
        mask &= (codes & HOLDS) != 0
        found = np.flatnonzero(mask)
        owners = (
            self._changes(history.owner, low, high) if chosen is None else chosen.owners[low:high]
        )
        self._marked[owners[found]] = codes[found]  # one is so at a time of each owner

    def held(self, low: int, high: int) -> Held:
        """Those of the claims low to high that are held."""
        view, graph, chosen = self._view, self._view.graph, self._chosen
        since = self._since[slice(low, high) if chosen is None else chosen.rows[low:high]]
        codes = self._entries(graph.c_plain, low, high) * (since > view.k)
        codes |= self._marked[low:high]
        mask = codes != 0
        mask &= self._entries(graph.c_from, low, high) <= view.v
        mask &= self._entries(graph.c_to, low, high) > view.v
        if not self._everywhere:
            mask &= np.isin(self._entries(graph.c_ws, low, high), list(view.workspaces))
        for column, code in self._alike:
            mask &= self._entries(column, low, high) == code
        rows = np.flatnonzero(mask)
        if graph.erased:
            of = rows + low if chosen is None else chosen.rows[low:high][rows]
            rows = rows[~np.isin(of, [n >> 3 for n in graph.erased if n & 7 == CLAIM])]
        if chosen is None:
            return Held(low, high, rows, codes[rows])
        found = chosen.rows[low:high][rows]
        return Held(0, self.known, found, codes[rows], chosen if chosen.rare else None, rows + low)
