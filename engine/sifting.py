"""What may be served of some candidates at a view, each judged by itself: as an assembly judges
them, without ranking or printing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.candidates import Candidate, Omission, check_many, read
from doxa.engine.collector import uncollected
from doxa.engine.eligibility import Item, Judge
from doxa.engine.items import moment_or_none
from doxa.engine.judging import judged
from doxa.engine.labels import Labels
from doxa.engine.registry import Reason, Registry
from doxa.engine.texts import Rows, Texts
from doxa.engine.view import TruthView

__all__ = ["Sifted", "sift"]


@dataclass(frozen=True, slots=True)
class Sifted:
    """One candidate, as a view judges it.

    Of one that may be served (``eligible``), ``standing`` is the weakest of what it rests on,
    ``valid_from`` and ``valid_to`` where around valid_at it applies (``None`` is open),
    ``observed_at`` the time before which no part of it was last observed, and ``label`` all that as
    a block words it. Of any other, ``reason`` is the first that applies, ``detail`` says it in
    words, ``about`` is the id of what is missing and ``standing`` that of a missing fact.
    """

    id: str
    eligible: bool
    standing: Standing | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    observed_at: datetime | None = None
    label: str | None = None
    reason: Reason | None = None
    detail: str | None = None
    about: str | None = None

    def __bool__(self) -> bool:
        return self.eligible

    def as_dict(self) -> dict[str, Any]:
        """The judgement as a JSON object; times are ISO text."""
        at = {
            name: None if (time := getattr(self, name)) is None else time.isoformat()
            for name in ("valid_from", "valid_to", "observed_at")
        }
        return {
            "id": self.id,
            "eligible": self.eligible,
            "standing": None if self.standing is None else str(self.standing),
            **at,
            "label": self.label,
            "reason": None if self.reason is None else str(self.reason),
            "detail": self.detail,
            "about": self.about,
        }


def sift(
    registry: Registry,
    view: TruthView,
    rows: Rows,
    candidates: Iterable[Candidate | Mapping[str, Any]],
    archived: bool = False,
) -> list[Sifted]:
    """Each candidate, judged at a view, in the order in which they were given; ``rows`` reads
    stored events. What is ``archived`` may not be served unless it is asked for."""
    with uncollected():
        judge = Judge(registry, view, Texts(view.graph, rows), archived)
        labels = Labels(judge)
        given = map(read, check_many(candidates))
        return [_sifted(labels, one) for one in judged(judge, given)]


def _sifted(labels: Labels, one: Item | Omission) -> Sifted:
    if isinstance(one, Omission):
        id, reason, detail, about, standing = one
        return Sifted(id, False, standing, reason=reason, detail=detail, about=about)
    low, high = labels.window(one)
    return Sifted(
        one.id,
        True,
        labels.standing(one),
        moment_or_none(low),
        moment_or_none(high),
        times.moment(labels.observed(one)),
        labels.of_item(one),
    )
