"""What a view gives out: claims, their supports, and what differs between two views."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import HELD, Standing
from doxa.engine.errors import CallerError
from doxa.engine.graph import CLAIM, entity

if TYPE_CHECKING:
    from doxa.engine.view import TruthView

__all__ = [
    "Change",
    "ClaimItem",
    "Diff",
    "SourceItem",
    "SupportItem",
    "iso_or_none",
    "moment_or_none",
    "own_copy",
    "standings_of",
]


def moment_or_none(micros: int) -> datetime | None:
    return None if micros in (times.NEG, times.POS) else times.moment(micros)


def iso_or_none(at: datetime | None) -> str | None:
    """ISO text in UTC, or ``None`` for an open end."""
    return None if at is None else times.iso(times.instant(at))


def own_copy(value: object) -> Any:
    """A JSON value that its receiver may change without changing what is believed."""
    if isinstance(value, dict):
        return {key: own_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [own_copy(item) for item in value]
    return value


def standings_of(
    standing: Standing | str | Iterable[Standing | str] | None,
) -> frozenset[Standing]:
    """The standings that a selection means: held ones where it is ``None``, all with ``any``."""
    if standing is None:
        return HELD
    if standing == "any":
        return frozenset(Standing)
    if standing == "held":
        return HELD
    try:
        wanted = [standing] if isinstance(standing, str) else list(standing)
        return frozenset(Standing(item) for item in wanted)
    except (TypeError, ValueError) as error:
        raise CallerError(
            f"standing is {standing!r:.80}: {error}; they are {', '.join(Standing)}, or any"
        ) from None


@dataclass(frozen=True, slots=True)
class SupportItem:
    """One support of a claim, as it counts at a view."""

    id: str
    stance: str
    live: bool
    source: str | None
    origin: str | None
    observed_at: datetime | None
    because: tuple[str, ...]
    recorded_at: datetime
    position: int


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One source at a view: whether it counts there, and the claims that it was named for;
    ``compacted`` says for how many more, of which the log keeps a record alone."""

    id: str
    workspace: str
    live: bool
    claims: tuple[str, ...]
    compacted: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The source as a JSON object."""
        return {
            "id": self.id,
            "workspace": self.workspace,
            "live": self.live,
            "claims": list(self.claims),
            **({"compacted": self.compacted} if self.compacted else {}),
        }


class ClaimItem:
    """One claim at a view: ``id``, ``subject``, ``predicate``, ``object``, ``standing``, times."""

    __slots__ = ("_row", "_standing", "_view")

    def __init__(self, view: TruthView, row: int, standing: Standing) -> None:
        self._view, self._row, self._standing = view, row, standing

    def _name(self, column: Sequence[int]) -> str:
        return self._view.graph.names.texts[column[self._row]]

    @property
    def id(self) -> str:
        return self._view.graph.claim_id(self._row)

    @property
    def standing(self) -> Standing:
        """How it stands at the view; ``redacted`` once its content is erased, even where it was
        looked up before."""
        erased = self._view.graph.erased
        gone = erased and entity(CLAIM, self._row) in erased
        return Standing.REDACTED if gone else self._standing

    @property
    def workspace(self) -> str:
        return self._name(self._view.graph.c_ws)

    @property
    def subject(self) -> str:
        return self._name(self._view.graph.c_subject)

    @property
    def predicate(self) -> str:
        return self._name(self._view.graph.c_predicate)

    @property
    def perspective(self) -> str:
        return self._name(self._view.graph.c_perspective)

    @property
    def kind(self) -> str:
        return self._name(self._view.graph.c_kind)

    @property
    def object(self) -> Any:
        return own_copy(self._view.graph.c_object[self._row])

    @property
    def text(self) -> str | None:
        """The claim in words, where it was given."""
        event = self._view.payload(self.position)
        assert isinstance(event, ev.Claim)
        return event.text

    @property
    def valid_from(self) -> datetime | None:
        """The start that was stated; ``None`` is an open start."""
        return moment_or_none(self._view.graph.c_from[self._row])

    @property
    def valid_to(self) -> datetime | None:
        """The exclusive end that was stated; ``None`` is an open end."""
        return moment_or_none(self._view.graph.c_to[self._row])

    @property
    def position(self) -> int:
        return self._view.graph.c_pos[self._row]

    @property
    def recorded_at(self) -> datetime:
        return times.moment(self._view.graph.recorded_of(self.position))

    @property
    def held(self) -> bool:
        return self.standing in HELD

    @property
    def supports(self) -> list[SupportItem]:
        """All supports recorded by the view, live or not, in log order."""
        return self._view.supports(self.id, workspace=self.workspace)

    @property
    def origins(self) -> list[str]:
        """The distinct origins of the live source supports."""
        return self._view.belief.origins(self._row, self._view.v, self._view.k)

    @property
    def successors(self) -> list[str]:
        """Ids of what replaced the claim here, held ones first."""
        return self._view.successors(self.id, workspace=self.workspace)

    @property
    def observed_at(self) -> datetime:
        """When the claim was last observed: the latest ``observed_at`` of a live support that
        states one, else when the latest live support (or the claim itself) was recorded."""
        return times.moment(self._view.observed(self._row))

    @property
    def row(self) -> int:
        """The claim's row in the belief."""
        return self._row

    def as_dict(self) -> dict[str, Any]:
        """The claim as a JSON object; times are ISO text."""
        return {
            "id": self.id,
            "workspace": self.workspace,
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "standing": str(self.standing),
            "kind": self.kind,
            "perspective": self.perspective,
            "valid_from": iso_or_none(self.valid_from),
            "valid_to": iso_or_none(self.valid_to),
            "recorded_at": times.iso(times.instant(self.recorded_at)),
        }

    def __repr__(self) -> str:
        return (
            f"ClaimItem({self.id!r}, {self.subject!r}, {self.predicate!r}, {self.object!r}, "
            f"{str(self.standing)!r})"
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One claim whose standing differs between two views."""

    id: str
    workspace: str
    subject: str
    predicate: str
    object: Any
    before: Standing
    after: Standing


@dataclass(frozen=True)
class Diff:
    """What differs between an earlier and a later view, claim by claim in log order."""

    changes: tuple[Change, ...]

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __str__(self) -> str:
        if not self.changes:
            return "no claim stands otherwise"
        return "\n".join(
            f"{c.id}: {c.subject} {c.predicate} {json.dumps(c.object, ensure_ascii=False)}: "
            f"{c.before} → {c.after}"
            for c in self.changes
        )
