"""What an arm found, with its scores: over all documents of a view, or over a few."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from doxa.engine.arms import Floats, Ints
from doxa.projections.pool import Sight

__all__ = ["Dense", "Sparse", "top"]

_COLUMN: Final = 64  # scores
_COLUMNS: Final = 4  # for each score that is asked for, from which on looking at columns pays


class Dense:
    """A ranking with a score for each document of a sight, by slot; 0 for those not found."""

    def __init__(self, sight: Sight, by_slot: Floats) -> None:
        self._sight, self._by_slot = sight, by_slot

    @cached_property
    def total(self) -> int:
        """How many documents were found."""
        return int(np.count_nonzero(self._by_slot > 0))

    def best(self, n: int) -> tuple[Ints, Floats]:
        """The best documents, descending, with the ties of the last. O(documents)."""
        slots = top(self._by_slot, n)
        return self._sight.entities(slots), self._by_slot[slots]

    def scores(self, documents: Ints) -> Floats:
        """The scores of documents; NaN for what was not found."""
        slots = self._sight.slots(documents)
        found = np.full(len(slots), np.nan)
        here = slots >= 0
        found[here] = self._by_slot[slots[here]]
        found[found == 0.0] = np.nan
        return found


class Sparse:
    """A ranking of a few documents: entities, ascending, with scores above 0."""

    def __init__(self, documents: Ints, scores: Floats) -> None:
        self._documents, self._scores = documents, scores

    @property
    def total(self) -> int:
        """How many documents were found."""
        return len(self._documents)

    def best(self, n: int) -> tuple[Ints, Floats]:
        """The best documents, descending, with the ties of the last. O(found)."""
        chosen = top(self._scores, n)
        return self._documents[chosen], self._scores[chosen]

    def scores(self, documents: Ints) -> Floats:
        """The scores of documents; NaN for what was not found."""
        documents = np.asarray(documents, np.int64)
        found = np.full(len(documents), np.nan)
        if len(self._documents):
            at = np.searchsorted(self._documents, documents)
            at = np.minimum(at, len(self._documents) - 1)
            there = self._documents[at] == documents
            found[there] = self._scores[at[there]]
        return found


def top(scores: Floats, n: int) -> Ints:
    """Where the ``n`` largest of positive scores are, largest first, and with them whatever equals
    the last of them; where there are fewer, all that are above 0."""
    if n <= 0:
        return np.empty(0, np.int64)
    least = _floor(scores, n)
    chosen = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    found = scores[chosen]
    if n < len(found):
        among = found >= np.partition(found, len(found) - n)[len(found) - n]
        chosen, found = chosen[among], found[among]
    return chosen[np.argsort(-found, kind="stable")]


def _floor(scores: Floats, n: int) -> float:
    """A number that at least ``n`` scores reach, near the n-th of them: the n-th of the maxima of
    columns, of which there are many more; 0 where there are too few scores to tell."""
    columns = len(scores) // _COLUMN
    if columns < _COLUMNS * n:
        return 0.0
    maxima = scores[: columns * _COLUMN].reshape(_COLUMN, columns).max(axis=0)
    return float(np.partition(maxima, columns - n)[columns - n])
