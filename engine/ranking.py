"""The order of what was found: ranks fused, and the scores of a reranker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from doxa.engine.belief import HELD, Standing
from doxa.engine.choosing import Listed
from doxa.engine.eligibility import Item
from doxa.engine.outcomes import Tier, Verdict, tier_of

__all__ = ["RRF", "Entry", "bases", "fused", "place"]

RRF: Final = 60  # the constant of reciprocal rank fusion


@dataclass(slots=True)
class Entry:
    """One document on its way into an answer.

    ``document`` is its entity; of a text that somebody brought (``given``) a number below 0.
    ``claims`` are those that it is worth as much as, ``standing`` that of the claim which it states
    or quotes; a summary has none of its own. ``score`` orders it, ``scores`` are those of the arms,
    ``dense`` is the cosine, NaN where there is none. ``detail`` says why it may not be served,
    where that is known.
    """

    document: int
    item: Item
    claims: tuple[int, ...]
    standing: Standing | None
    score: float = 0.0
    scores: dict[str, float | None] = field(default_factory=dict)
    dense: float = math.nan
    verdict: Verdict = Verdict.UNVERIFIED
    promoted_from: str | None = None
    fetched: str | None = None
    nominated: bool = False
    ambiguous: tuple[str, ...] = ()
    validity: Mapping[str, object] | None = None
    given: str | None = None
    detail: str | None = None

    @property
    def tier(self) -> Tier | None:
        """What kind of document it is; ``None`` for a text that somebody brought."""
        return tier_of(self.document) if self.document >= 0 else None

    @property
    def held(self) -> bool:
        """Whether what it rests on is believed."""
        return self.standing is None or self.standing in HELD

    @property
    def trusted(self) -> bool:
        """Whether nothing is held against it."""
        return self.verdict in (Verdict.OK, Verdict.UNVERIFIED)


def fused(rankings: Sequence[Sequence[Listed]]) -> dict[int, float]:
    """Scores by reciprocal rank fusion: the sum of 1 / (60 + rank) over the rankings that list a
    document, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    found: dict[int, float] = {}
    for ranking in rankings:
        for place, listed in enumerate(ranking, 1):
            found[listed.document] = found.get(listed.document, 0.0) + 1 / (RRF + place)
    return found


def place(entry: Entry) -> tuple[float, str, str]:
    """The place of an entry: the higher score first, then the id."""
    return -entry.score, entry.item.id, entry.item.workspace


def bases(ids: Sequence[str], scores: Sequence[float | None]) -> list[float]:
    """The scores that a reranker gives to the texts of ``ids``, which come in the order found.

    Where one of them is missing or not finite, (n - rank) / n in place of all, ranks from 0: those
    with a score first, by it, ties by id; the others in the order found.
    """
    known = [score if score is not None and math.isfinite(score) else None for score in scores]
    if None not in known:
        return [float(score) for score in known if score is not None]
    size = len(ids)
    given = [i for i in range(size) if known[i] is not None]
    given.sort(key=lambda i: (-(known[i] or 0.0), ids[i]))
    found = [0.0] * size
    for number, i in enumerate([*given, *(i for i in range(size) if known[i] is None)]):
        found[i] = (size - number) / size
    return found
