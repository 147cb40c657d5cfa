"""Search by vectors, slowly: every cosine as an exact fraction, and a plain sort.

The vectors here have length 1 already, as near as their numbers come to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Embedded:
    """A document with its vector, if it has one: in a workspace, recorded at a position."""

    document: int
    position: int
    workspace: str
    vector: Sequence[float] | None


def product(one: Sequence[float], other: Sequence[float]) -> float:
    """The exact product of two vectors, rounded once."""
    assert len(one) == len(other), (len(one), len(other))
    exact = sum((Fraction(a) * Fraction(b) for a, b in zip(one, other, strict=True)), Fraction())
    return float(exact)


def ranked(
    documents: Sequence[Embedded], vector: Sequence[float], k: int, workspaces: Collection[str]
) -> list[tuple[float, int]]:
    """The documents of some workspaces that were recorded by a position and have a vector, each
    behind its score; the best first, equal ones by their numbers."""
    found = [
        (product(each.vector, vector), each.document)
        for each in documents
        if each.vector is not None and each.position <= k and each.workspace in workspaces
    ]
    return sorted(found, key=lambda scored: (-scored[0], scored[1]))


def best(ranking: Sequence[tuple[float, int]], n: int) -> list[tuple[float, int]]:
    """The first n of a ranking, and those that score exactly as the last of them."""
    if n <= 0 or not ranking:
        return []
    least = ranking[min(n, len(ranking)) - 1][0]
    return [scored for scored in ranking if scored[0] >= least]
