"""What a recall returns: hits with all that is needed to act on them, and what is missing, and why.

Everything here is a value, made of the view, the question and the log alone: the same request at
the same view gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from doxa.engine.belief import Standing
from doxa.engine.items import iso_or_none
from doxa.engine.outcomes import Gap, Outcome, Tier, Verdict
from doxa.engine.receipt import canonical
from doxa.engine.rendering import named, quoted
from doxa.engine.trust import Abstention

__all__ = [
    "Attribution",
    "Hit",
    "Missing",
    "Pool",
    "Recalled",
    "Reference",
    "Staleness",
    "Withheld",
]

_SHOWN: Final = 3  # references and sources on the line of a hit


@dataclass(frozen=True, slots=True)
class Reference:
    """The exact event that a hit rests on: its kind, its id and workspace, its position in the log
    and the revision that it came with."""

    kind: str
    id: str
    workspace: str
    position: int
    revision: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """One live piece of evidence: where it is from, and when it was first recorded.

    ``ordinal`` is its place among all evidence about the claim, from 1. ``because`` are the claims
    that it follows from, where it has no source.
    """

    support: str
    stance: str
    source: str | None
    locator: str | None
    origin: str | None
    ordinal: int
    first_recorded: datetime
    observed_at: datetime | None
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One document that was found; a text that somebody brought has no ``tier``.

    ``text`` is what may be handed on: the words as recorded, ``said``, behind a warning where the
    verdict is not ``ok``. ``score`` orders the hits; ``scores`` are those of each arm. ``age`` is
    in seconds, from ``observed_at`` to the view's valid_at. ``valid_from`` and ``valid_to`` say
    where around valid_at it applies. ``fetched`` says why it is here where no arm found it:
    ``promotion`` or ``conflict``. ``archived`` is whether it is hidden unless it is asked for, or
    is a side of a conflict.
    """

    id: str
    tier: Tier | None
    workspace: str
    text: str
    said: str
    verdict: Verdict
    standing: Standing | None
    label: str
    score: float
    scores: Mapping[str, float | None]
    confidence: float | None
    subject: str | None
    predicate: str | None
    object: Any
    kind: str | None
    perspective: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    observed_at: datetime
    age: float
    references: tuple[Reference, ...]
    attribution: tuple[Attribution, ...]
    unlisted: int = 0  # further live evidence that is not listed in attribution
    contested_with: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()
    predecessors: tuple[str, ...] | None = None
    promoted_from: str | None = None
    fetched: str | None = None
    nominated: bool = False
    validity: Mapping[str, Any] | None = None
    archived: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The hit as a JSON object; times are ISO text. ``validity`` is there only on request,
        ``archived`` only where it is."""
        found: dict[str, Any] = {
            "id": self.id,
            "tier": None if self.tier is None else str(self.tier),
            "workspace": self.workspace,
            "text": self.text,
            "said": self.said,
            "verdict": str(self.verdict),
            "standing": None if self.standing is None else str(self.standing),
            "label": self.label,
            "score": self.score,
            "scores": dict(self.scores),
            "confidence": self.confidence,
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "kind": self.kind,
            "perspective": self.perspective,
            "valid_from": iso_or_none(self.valid_from),
            "valid_to": iso_or_none(self.valid_to),
            "recorded_at": iso_or_none(self.recorded_at),
            "observed_at": iso_or_none(self.observed_at),
            "age": self.age,
            "references": [_plain(one) for one in self.references],
            "attribution": [_plain(one) for one in self.attribution],
            "unlisted": self.unlisted,
            "contested_with": list(self.contested_with),
            "successors": list(self.successors),
            "predecessors": None if self.predecessors is None else list(self.predecessors),
            "promoted_from": self.promoted_from,
            "fetched": self.fetched,
            "nominated": self.nominated,
        }
        if self.validity is not None:
            found["validity"] = dict(self.validity)
        if self.archived:
            found["archived"] = True
        return found

    def rendered(self) -> str:
        """The hit as text: its verdict and label, its words, and what they rest on."""
        warning = self.text[: len(self.text) - len(self.said)]
        told = f"{self.verdict}: " if self.verdict in (Verdict.OK, Verdict.UNVERIFIED) else warning
        return f"{told}{self.label}\n{quoted(self.said)}\n({self._rests_on()})"

    def _rests_on(self) -> str:
        own, *others = self.references
        claims = [one for one in others if one.kind == "claim"]
        parts = [f"{one.kind} {named(one.id)} @{one.revision}" for one in (own, *claims[:_SHOWN])]
        if len(claims) > _SHOWN:
            parts.append(f"{len(claims) - _SHOWN} more claims")
        sources = [
            named(one.source) + (f", {named(one.locator)}" if one.locator else "")
            for one in self.attribution
            if one.source is not None
        ]
        told = "; ".join(parts)
        if sources:
            told += f"; from {'; '.join(sources[:_SHOWN])}"
            more = len(sources) - _SHOWN + self.unlisted
            told += f" and {more} more" if more > 0 else ""
        return told


@dataclass(frozen=True, slots=True)
class Missing:
    """One reason why an answer is partial, or was refused, and the ids that it is about."""

    reason: Gap
    detail: str
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Withheld:
    """A document that matched and may not be served: no word of it is given. ``claim`` is the id of
    the one that a quote is about."""

    id: str
    workspace: str
    tier: Tier | None
    verdict: Verdict
    detail: str
    successors: tuple[str, ...] = ()
    claim: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """What was searched: how many ``documents`` the view sees, how many of those that matched were
    looked at (``scanned``, in all arms together), how many could be served (``eligible``), and
    whether that is all (``exhausted``), or there may be more behind it (``bounded``)."""

    documents: int
    scanned: int
    eligible: int
    state: str


@dataclass(frozen=True, slots=True)
class Staleness:
    """How old the newest content of an answer is, in seconds before the view's valid_at (or the
    ``now`` that was given), and whether that is over the greatest age that was asked for."""

    newest: datetime
    age: float
    max_age: float | None
    stale: bool | None


@dataclass(frozen=True)
class Recalled:
    """The answer to a question at one view; iterated, it gives the hits.

    ``reasons`` say what is missing, ``abstention`` why nothing can be trusted, ``withheld`` what
    matched and may not be served, ``left_out`` what did not fit in the budget. ``disclosure`` is
    one line about the conditions under which this was said; it opens ``body``, and can't be turned
    off.
    """

    outcome: Outcome
    query: str
    view: Mapping[str, Any]
    mode: str
    trust: str
    hits: tuple[Hit, ...] = ()
    reasons: tuple[Missing, ...] = ()
    abstention: Abstention | None = None
    withheld: tuple[Withheld, ...] = ()
    calibrated: bool = False
    calibration: str | None = None
    index: str = ""
    gap_warning: str | None = None
    staleness: Staleness | None = None
    pool: Pool = field(default_factory=lambda: Pool(0, 0, 0, "bounded"))
    warnings: tuple[str, ...] = ()
    disclosure: str = ""
    text: str = ""
    budget: int | None = None
    used: int = 0
    unit: str = "characters"
    left_out: tuple[str, ...] = ()
    cursor: str | None = None
    more: int | None = None  # behind how many units a cursor would go on
    warmth: tuple[tuple[str, int], ...] = ()  # what of the order is owed to how much is used
    trace: Mapping[str, Any] = field(default_factory=dict)

    @property
    def abstained(self) -> bool:
        """Whether the gate ran and found nothing to trust."""
        return self.outcome is Outcome.ABSTAINED

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        """Whether there is something to act on: it was answered, in whole or in part."""
        return self.outcome in (Outcome.ANSWERED, Outcome.PARTIAL) and bool(self.hits)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        return {
            "outcome": str(self.outcome),
            "query": self.query,
            "view": dict(self.view),
            "mode": self.mode,
            "trust": self.trust,
            "hits": [hit.as_dict() for hit in self.hits],
            "reasons": [_plain(one) for one in self.reasons],
            "abstained": self.abstained,
            "abstention": None if self.abstention is None else _plain(self.abstention),
            "withheld": [_plain(one) for one in self.withheld],
            "calibrated": self.calibrated,
            "calibration": self.calibration,
            "index": self.index,
            "gap_warning": self.gap_warning,
            "staleness": None if self.staleness is None else _plain(self.staleness),
            "pool": _plain(self.pool),
            "warnings": list(self.warnings),
            "disclosure": self.disclosure,
            "text": self.text,
            "budget": self.budget,
            "used": self.used,
            "unit": self.unit,
            "left_out": list(self.left_out),
            "cursor": self.cursor,
            "trace": dict(self.trace),
        }

    def to_bytes(self) -> bytes:
        """The answer as canonical JSON: equal answers have equal bytes."""
        return canonical(self.as_dict())

    def but(self, **changes: Any) -> Recalled:
        """The same with other values for some fields."""
        return replace(self, **changes)


def _plain(value: Any) -> dict[str, Any]:
    """A small value as a JSON object."""
    found: dict[str, Any] = {}
    for name in value.__slots__:
        each = getattr(value, name)
        if isinstance(each, datetime):
            found[name] = iso_or_none(each)
        elif isinstance(each, tuple):
            found[name] = list(each)
        else:
            found[name] = (
                each if each is None or isinstance(each, bool | int | float) else str(each)
            )
    return found
