"""What a way of searching is, to whoever asks it: an arm, and the ranking that it gives."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from doxa.engine.view import TruthView

__all__ = ["Arm", "Floats", "Ints", "Ranking"]

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]


class Ranking(Protocol):
    """The documents that one arm found at one view, better ones first.

    Nothing was left out for what is believed of it: that is judged by whoever asks.
    """

    @property
    def total(self) -> int:
        """How many documents were found."""

    def best(self, n: int) -> tuple[Ints, Floats]:
        """The ``n`` best documents, or all where there are fewer, and with them whatever scores
        exactly as the last of them does.

        Documents are entities (``row * 8 + kind``), int64; scores are float64, descending. The
        order among equal scores is not specified: whoever asks settles it by id.
        """

    def scores(self, documents: Ints) -> Floats:
        """The scores of given documents, NaN for those that were not found."""


class Arm(Protocol):
    """One way to find documents by a question.

    Pure: the same question at the same view gives the same ranking to the last bit, however much
    was recorded later and however the index is laid out.
    """

    @property
    def name(self) -> str: ...

    @property
    def generation(self) -> str:
        """What the index is: its kind, version and settings; not how much is in it."""

    def search(self, query: str, view: TruthView) -> Ranking:
        """The documents in the workspaces of a view, recorded by its revision, that the question
        finds. Raises `Unavailable`."""
