"""Arms over others: such as find only what an index has by now, or have their question's vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doxa.engine.arms import Arm, Ranking
from doxa.engine.embedding import Vector
from doxa.engine.outcomes import Unavailable
from doxa.engine.view import TruthView

if TYPE_CHECKING:
    from doxa.projections.dense import DenseArm

__all__ = ["Clipped", "Embedded", "Failing"]


class Clipped:
    """An arm that looks only as far as its index goes; what it finds is judged at the view."""

    def __init__(self, arm: Arm, position: int) -> None:
        self._arm, self._position = arm, position
        self.name, self.generation = arm.name, arm.generation

    def search(self, query: str, view: TruthView) -> Ranking:
        """The documents of the view that the index has. Raises `Unavailable`."""
        before = TruthView(
            view.belief,
            view.payload,
            valid_at=view.v,
            revision=min(view.k, self._position),
            workspace=view.workspace,
            shared=view.shared,
            perspective=view.perspective,
        )
        return self._arm.search(query, before)


class Embedded:
    """The arm of vectors for one question, whose vector is there."""

    def __init__(self, arm: DenseArm, vector: Vector) -> None:
        self._arm, self._vector = arm, vector
        self.name, self.generation = arm.name, arm.generation

    def search(self, query: str, view: TruthView) -> Ranking:
        """The documents in sight, by how near they are. Raises `Unavailable`."""
        self._arm.asks(view)
        return self._arm.search_vector(self._vector, view)


class Failing:
    """The arm of vectors while its embedder gives no answer."""

    def __init__(self, arm: DenseArm, error: Unavailable) -> None:
        self._arm, self._error = arm, error
        self.name, self.generation = arm.name, arm.generation

    def search(self, query: str, view: TruthView) -> Ranking:
        """Nothing, where the embedder would not be asked. Raises `Unavailable`."""
        if self._arm.asks(view):
            raise self._error
        return self._arm.search(query, view)
