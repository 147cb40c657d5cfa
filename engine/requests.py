"""What is asked of the log in one commit, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.errors import DoxaError
from doxa.engine.fold import Fold
from doxa.engine.gate import Override
from doxa.engine.plain import Plain

__all__ = ["Committed", "Request", "restamped"]


@dataclass(slots=True)
class Request:
    """One commit: all its events or none; or, where ``salvage``, all that can be accepted."""

    events: Sequence[ev.Event | Plain]
    recorded_at: int | None = None
    expected: int | None = None  # of the workspaces of the events, and of those that are watched
    watched: frozenset[str] = frozenset()
    salvage: bool = False
    restamp: bool = False  # a recorded_at that is not later than the head's becomes stated_at
    override: Override | None = None  # of the rejections that would keep its claims out
    audits: Sequence[ev.Policy] = ()  # what tells of claims that were kept out before
    guard: Callable[[Fold], None] | None = None  # a last look before it is written; may refuse it
    making: Callable[[Belief], Sequence[ev.Event]] | None = None  # the events, under the lock
    asserting: bool = False  # what it repeats is asserted again, and comes back if it is archived


@dataclass(slots=True)
class Committed:
    """What became of one request.

    ``revision`` is the position of its last event in the log, also where all were there already
    (``new`` is then 0); ``refused`` gives the error of each event left out, by its index.
    """

    revision: int
    recorded_at: int
    new: int
    repeated: int
    refused: dict[int, DoxaError] = field(default_factory=dict)


def restamped(stated_at: int, events: dict[int, ev.Event]) -> dict[int, ev.Event]:
    """Events that keep the time which their commit stated."""
    return {
        index: event
        if event.stated_at is not None
        else event.model_copy(update={"stated_at": stated_at})
        for index, event in events.items()
    }
