"""What a run of dreaming did, or would do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from doxa.engine.insight import Flaw

if TYPE_CHECKING:
    from doxa.consolidating import Consolidation

__all__ = ["Contradiction", "Dreams", "Dreamt", "Planned", "Turned"]


@dataclass(frozen=True, slots=True)
class Dreamt:
    """An insight that was recorded: the claim's id, the ids of the claims that the model was shown
    and of those that it cites, and the text."""

    id: str
    shown: tuple[str, ...]
    cites: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Turned:
    """An answer that was refused, or not got: the id that its insight would have had, the ids of
    the claims that were shown, the reason in a word and in a sentence."""

    id: str
    shown: tuple[str, ...]
    reason: Flaw
    detail: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be asked: the id that the insight would have, the ids of the claims that would be
    shown, and how large the prompt is, in bytes and, as a rough estimate, in tokens."""

    id: str
    shown: tuple[str, ...]
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Claims that contradict each other, so that they were not shown.

    ``policy`` is the id of the contradiction that was declared (on a dry run: would be); ``None``
    where they were contested already. A single claim is contested by evidence against it, or by a
    claim that was used lately.
    """

    claims: tuple[str, ...]
    policy: str | None


@dataclass(frozen=True, slots=True)
class Dreams:
    """What a run did, or on a dry run would do.

    ``insights`` were recorded, ``already`` (ids) were there before, ``refused`` answers were not
    taken. ``planned`` is what a dry run would ask. ``contradictions`` were flagged. ``calls`` is
    how often the endpoint was asked, ``remaining`` how many groups are left for another run,
    ``too_long`` how many claims are too long to be shown. ``stopped`` says that the endpoint failed
    so often that the rest was not asked. Of a run without a model all that is empty, and
    ``consolidation`` is what it did.
    """

    insights: tuple[Dreamt, ...] = ()
    already: tuple[str, ...] = ()
    refused: tuple[Turned, ...] = ()
    planned: tuple[Planned, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    calls: int = 0
    remaining: int = 0
    too_long: int = 0
    stopped: bool = False
    consolidation: Consolidation | None = None

    def as_dict(self) -> dict[str, Any]:
        """The run as a JSON object."""
        told = self.consolidation
        fields = asdict(replace(self, consolidation=None))
        return fields | {"consolidation": None if told is None else told.as_dict()}
