"""What an import means to do: the events of one commit, and what each of them is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from doxa.adapters.markdown.corpus import Meaning
from doxa.engine import events as ev

__all__ = ["Change", "Linked", "Options", "Plan", "Step", "Turn"]


class Turn(StrEnum):
    """What becomes of one memo."""

    ADDED = "added"
    CHANGED = "changed"  # it says something else now, or of another time
    MOVED = "moved"  # it says the same; its file or its sources are others
    RESTORED = "restored"  # its file is back
    WITHDRAWN = "withdrawn"  # its file is gone


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one memo: its claim, and with ``was`` the one of its former wording."""

    turn: Turn
    key: str
    path: str
    claim: str
    was: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The change as a JSON object."""
        names = ("key", "path", "claim", "was")
        return {"turn": str(self.turn), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class Linked:
    """What became of one name in ``supersedes``: its meaning now, the event that says so, and the
    claims that it is about."""

    path: str
    name: str
    meaning: Meaning
    event: str
    claims: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The link as a JSON object."""
        return {
            "path": self.path,
            "name": self.name,
            "meaning": str(self.meaning),
            "event": self.event,
            "claims": list(self.claims),
        }


class Step(NamedTuple):
    """One event, and what goes without it if it can't be recorded: the memo of that key, or one
    edge of it."""

    event: ev.Event
    key: str
    edge: str | None = None


@dataclass
class Plan:
    """What is to be appended, and what it means; ``kept`` memos stay as they are."""

    steps: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    links: list[Linked] = field(default_factory=list)
    kept: int = 0
    aside: dict[str, str] = field(default_factory=dict)  # path → reason
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Options:
    """How a corpus is recorded. ``assume_from`` is the start of what states none."""

    corpus: str
    workspace: str = ""
    assume_from: int | None = None
    without: frozenset[str] = frozenset()  # keys of memos that are left as they are
    unlinked: frozenset[tuple[str, str]] = frozenset()  # key and stem of edges that are left out
