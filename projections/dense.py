"""Search by meaning: the exact cosine of a question's vector and each document's.

The score of a document must not depend on where its vector lies, nor on what lies beside it, and a
matrix product does: it adds in another order with another number of rows, on another machine. So
the product, in single precision, only says which documents can be among the best, given how far it
may be off; the scores of those are computed exactly, and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from doxa.engine.arms import Floats, Ints
from doxa.engine.embedding import Embedder, Vector, unit_vectors
from doxa.engine.outcomes import Gap, Unavailable
from doxa.engine.view import TruthView
from doxa.projections.cosines import error_bound, exact_products
from doxa.projections.matrices import Present
from doxa.projections.vectors import SHAPE, Pool, Rows, Vectors

__all__ = ["DenseArm", "DenseRanking", "Numbered", "Searched"]

_CHUNK: Final = 4_096  # rows that are scored at once


class Numbered(Protocol):
    """A place of documents: what a workspace is to a pool."""

    @property
    def number(self) -> int: ...


class Searched(Pool, Protocol):
    """What a search asks of a pool."""

    @property
    def places(self) -> Ints:
        """Of each document, the number of its place."""

    def places_of(self, view: TruthView) -> Sequence[Numbered]:
        """The places that a view sees."""

    def upto(self, position: int) -> int:
        """How many documents were recorded up to a position."""

    def find(self, documents: Ints) -> Ints:
        """The numbers of documents, which are entities; -1 for what is none."""


class DenseArm:
    """Finds documents by their vectors: every one in sight that has a vector, however far off."""

    name = "dense"

    def __init__(self, vectors: Vectors, pool: Searched, embedder: Embedder) -> None:
        self.vectors, self.pool, self.embedder = vectors, pool, embedder

    @property
    def generation(self) -> str:
        """The kind and version of the index, the dimension and the embedder's name."""
        return f"dense-{SHAPE}/{self._dimension() or 'unknown'}/{self.embedder.name}"

    def search(self, query: str, view: TruthView) -> DenseRanking:
        """The documents in sight, by how near they are to a question. Raises `Unavailable`; the
        embedder is not asked where there is nothing to compare its answer with."""
        if self.asks(view):
            return self._ranking(self.embedder.query(query), self._sight(view))
        return _nothing(self.pool)

    def asks(self, view: TruthView) -> bool:
        """Whether a search at a view asks the embedder: not where nothing is in sight. Raises
        `Unavailable` where a document in sight has no vector yet."""
        sight = self._sight(view)
        if not sight.any():
            return False
        self._rows(self._dimension(), sight)
        return True

    def search_vector(self, vector: object, view: TruthView) -> DenseRanking:
        """The same, by the vector of a question, such as one of `Embedder.queries`. Raises
        `Unavailable`."""
        sight = self._sight(view)
        return self._ranking(vector, sight) if sight.any() else _nothing(self.pool)

    def _ranking(self, vector: object, sight: Present) -> DenseRanking:
        (unit,) = unit_vectors([vector], 1, f"{self.embedder.who}, of the question")
        rows = self._rows(len(unit), sight)
        found = sight[: rows.count] & rows.present[: len(sight)]
        return DenseRanking(self.pool, rows, unit, found)

    def _sight(self, view: TruthView) -> Present:
        """Of each document by the view's revision, whether it is in sight."""
        places = self.pool.places[: self.pool.upto(view.k)]
        sight = np.zeros(len(places), np.bool_)
        for place in self.pool.places_of(view):
            sight |= places == place.number
        return sight

    def _dimension(self) -> int | None:
        """The embedder's dimension: the stated one, else the one that there are most vectors of."""
        if self.embedder.dimension is not None:
            return self.embedder.dimension
        own = [each for each in self.vectors.stored(self.pool) if each.name == self.embedder.name]
        return max(own, key=lambda each: (each.count, each.dimension)).dimension if own else None

    def _rows(self, dimension: int | None, sight: Present) -> Rows:
        """The vectors of all documents in sight. Raises `Unavailable` where they are not there."""
        wanted = int(np.flatnonzero(sight)[-1]) + 1
        name = self.embedder.name
        rows = dimension and self.vectors.rows(self.pool, name, dimension, wanted)
        if not rows:
            raise self._none(dimension)
        if rows.count < wanted:
            missing = int(np.count_nonzero(sight[rows.count :]))
            raise Unavailable(
                Gap.NOT_READY,
                f"{missing:,} of {int(np.count_nonzero(sight)):,} documents in sight have no "
                f"vectors by {self.embedder.who} yet; run ledger.index()",
            )
        return rows

    def _none(self, dimension: int | None) -> Unavailable:
        """Why there are no vectors by the embedder of a dimension."""
        stored = self.vectors.stored(self.pool)
        own = [str(each.dimension) for each in stored if each.name == self.embedder.name]
        others = [repr(each.name) for each in stored if each.name != self.embedder.name]
        if own:
            return Unavailable(
                Gap.LINEAGE_MISMATCH,
                f"{self.embedder.who} gives dimension {dimension}, its stored vectors have "
                f"{', '.join(own)}: is it another model? give it a name of its own, then run "
                "ledger.index()",
            )
        if others:
            return Unavailable(
                Gap.LINEAGE_MISMATCH,
                f"the question is for {self.embedder.who}, the stored vectors are by "
                f"{', '.join(dict.fromkeys(others))}: use that one, or run ledger.index()",
            )
        return Unavailable(
            Gap.VECTORS_UNAVAILABLE,
            f"there are no vectors by {self.embedder.who} yet; run ledger.index()",
        )


class DenseRanking:
    """Documents by the cosine of their vectors with a question's. ``found`` says of each of the
    first documents of the pool whether it is one of those."""

    def __init__(self, pool: Searched, rows: Rows, vector: Vector, found: Present) -> None:
        self._pool, self._rows, self._found = pool, rows, found
        self._vector = vector
        self._known = np.full(len(found), np.nan)  # the scores that were computed so far
        self.total = int(np.count_nonzero(found))

    def best(self, n: int) -> tuple[Ints, Floats]:
        """The ``n`` best documents as entities, and what scores exactly as the last of them; with
        their scores, descending.

        O(documents · dimension) at first, then O(documents + n · dimension).
        """
        numbers = self._candidates(n)
        scores = self._exact(numbers)
        order = np.argsort(-scores, kind="stable")
        if 0 < n < len(order):
            order = order[: np.count_nonzero(scores >= scores[order[n - 1]])]
        return self._pool.entities[numbers[order]], scores[order]

    def scores(self, documents: Ints) -> Floats:
        """The scores of documents, given as entities; NaN where one was not found."""
        numbers = self._pool.find(documents)
        known = (numbers >= 0) & (numbers < len(self._found))
        known[known] = self._found[numbers[known]]
        scores = np.full(len(numbers), np.nan)
        scores[known] = self._exact(numbers[known])
        return scores

    def _candidates(self, n: int) -> Ints:
        """The numbers of the documents that can be among the n best.

        At least n documents have a product of t or more, and so a score of t - b or more, where b
        is how far a product may be off. What scores as well as those has a product of t - 2b at
        least.
        """
        if n <= 0:
            return np.zeros(0, np.int64)
        if n >= self.total:
            return np.flatnonzero(self._found)
        products = self._products
        last = float(np.partition(products, len(products) - n)[len(products) - n])
        least = np.float32(last - 2 * error_bound(len(self._vector)))
        return np.flatnonzero(products >= np.nextafter(least, np.float32(-np.inf)))

    @cached_property
    def _products(self) -> Vector:
        """About the scores of the documents, and minus infinity for those that were not found."""
        found = np.zeros(len(self._found), np.float32)
        # A kernel of the BLAS may compute with what lies behind a short vector, of which no product
        # comes, but the processor's mark of an invalid operation: numbers are looked at instead.
        with np.errstate(invalid="ignore"):
            for start, part in self._rows.before(len(found)):
                np.dot(part, self._vector, out=found[start : start + len(part)])
        assert not np.isnan(found).any(), "a product of finite numbers is none"
        found[~self._found] = -np.inf
        return found

    def _exact(self, numbers: Ints) -> Floats:
        """The scores of documents by their numbers. Each is computed once."""
        known = self._known
        missing = numbers[np.isnan(known[numbers])]
        for at in range(0, len(missing), _CHUNK):
            chunk = missing[at : at + _CHUNK]
            known[chunk] = exact_products(self._rows.take(chunk), self._vector)
        return known[numbers]


def _nothing(pool: Searched) -> DenseRanking:
    """The ranking of no documents."""
    none = np.zeros(0, np.bool_)
    return DenseRanking(pool, Rows((), (), none), np.zeros(1, np.float32), none)
