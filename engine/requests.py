"""What is asked of the log in one commit, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.blocking import Blocking
from doxa.engine.errors import ClockError, DoxaError, PayloadTooLarge
from doxa.engine.fold import Fold
from doxa.engine.gate import Override
from doxa.engine.graph import Graph
from doxa.engine.log import Head, NewEvent, as_new
from doxa.engine.plain import Plain, plainly

__all__ = [
    "Committed",
    "Request",
    "Said",
    "all_plain",
    "encoded_all",
    "erased_by",
    "event_of",
    "last_of",
    "restamped",
    "stored_form",
    "too_early",
]

Said = ev.Event | Plain  # an event, whichever form it is in


@dataclass(slots=True)
class Request:
    """One commit: all its events or none; or, where ``salvage``, all that can be accepted."""

    events: Sequence[Said]
    recorded_at: int | None = None
    expected: int | None = None  # of the workspaces of the events, and of those that are watched
    watched: frozenset[str] = frozenset()
    salvage: bool = False
    restamp: bool = False  # a recorded_at that is not later than the head's becomes stated_at
    override: Override | None = None  # of the rejections that would keep its claims out
    audits: Sequence[Blocking] = ()  # what tells of claims that were kept out before
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


def event_of(said: Said) -> ev.Event:
    """An event in the form of its model."""
    return said.event if isinstance(said, Plain) else said


def last_of(head: Head) -> int:
    """When the last commit was recorded; before all times where there is none."""
    return head.recorded_at if head.position else times.FIRST - 1


def all_plain(events: Sequence[Said]) -> list[Plain] | None:
    """All events of a commit as plain ones, where they are that."""
    found = []
    try:
        for each in events:
            plain = each if isinstance(each, Plain) else plainly(each)
            if plain is None:
                return None
            found.append(plain)
    except PayloadTooLarge:
        return None
    return found


def stored_form(event: ev.Event) -> NewEvent:
    """An event as it is stored."""
    return as_new((event.TYPE, *codec.stored(event), codec.tags(event)))


def encoded_all(new: dict[int, ev.Event], problems: dict[int, DoxaError]) -> list[NewEvent]:
    """Events as they are stored; what is wrong with those that can't be goes into ``problems``."""
    encoded = []
    for index, event in new.items():
        try:
            encoded.append(stored_form(event))
        except DoxaError as error:
            problems[index] = error
    return encoded


def too_early(recorded_at: int, head: Head) -> ClockError:
    """The refusal of a time of recording that steps back."""
    return ClockError(
        f"recorded_at {times.iso(recorded_at)} is not later than the ledger's last, "
        f"{times.iso(head.recorded_at)}; leave it out, or import with restamp"
    )


def erased_by(graph: Graph, events: Iterable[ev.Event]) -> list[int]:
    """The positions of what events erase."""
    return sorted(
        graph.position_of(graph.find(event.workspace, one.id))
        for event in events
        if isinstance(event, ev.Policy)
        for one in event.redacted
    )
