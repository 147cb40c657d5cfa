"""What falls with the events of a commit that can't be accepted, where the others still go in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from doxa.engine import events as ev
from doxa.engine.errors import DoxaError, InvalidEvent, UnknownTarget, ValueRejected, WasErased

__all__ = ["falls_with", "leave_out", "named"]

_ONE = (
    *("claim", "corrects", "by", "resolves", "target", "verified", "pinned"),
    *("scored", "expires", "overrides"),
)
_SEVERAL = (
    *("because", "candidates", "facts", "supports", "citations", "contradicts"),
    *("archived", "restored"),
)


def leave_out(
    events: dict[int, ev.Event],
    refused: dict[int, DoxaError],
    all_events: Sequence[ev.Event],
    known: Callable[[ev.Ref], bool],
) -> None:
    """Removes the refused events from ``events``, and what falls with them is added to ``refused``.

    That is each claim that a refused correction was to put in place, and whatever names an event
    that is then neither in the commit nor in the log (``known``). O(events and what they name).
    """
    for index in refused:
        events.pop(index, None)
    there: dict[ev.Ref, int] = {}
    named_by: dict[ev.Ref, list[tuple[int, str]]] = {}
    for index, event in events.items():
        there[ev.Ref(event.workspace, event.id)] = index
        for role, key in named(event):
            named_by.setdefault(key, []).append((index, role))
    fallen = list(refused)
    while fallen:
        index = fallen.pop()
        for other, error in _falling(
            all_events[index], refused[index], all_events, there, named_by, known
        ):
            if other in events:
                event = events.pop(other)
                there.pop(ev.Ref(event.workspace, event.id), None)
                refused[other] = error(event)
                fallen.append(other)


Refusal = Callable[[ev.Event], DoxaError]


def _falling(
    event: ev.Event,
    error: DoxaError,
    all_events: Sequence[ev.Event],
    there: dict[ev.Ref, int],
    named_by: dict[ev.Ref, list[tuple[int, str]]],
    known: Callable[[ev.Ref], bool],
) -> Iterator[tuple[int, Refusal]]:
    """The events that fall with a refused one, and how they are told."""
    comes_back = isinstance(error, WasErased)  # what it put in is there
    if isinstance(event, ev.Correction) and event.by is not None and not comes_back:
        index = there.get(event.key(event.by))
        if index is not None and isinstance(all_events[index], ev.Claim):
            yield index, _goes_with(event, error)
    key = ev.Ref(event.workspace, event.id)
    if key not in there and key in named_by and not known(key):
        for index, role in named_by[key]:
            yield index, _names(event, role, error)


def _goes_with(correction: ev.Correction, error: DoxaError) -> Refusal:
    return lambda claim: InvalidEvent(
        f"claim {claim.id!r} goes with the correction {correction.id!r}, which can't be accepted: "
        f"{error}"
    )


def _names(missing: ev.Event, role: str, error: DoxaError) -> Refusal:
    if isinstance(error, ValueRejected):
        return lambda event: falls_with(event, role, error)
    return lambda event: UnknownTarget(
        f"{event.TYPE} {event.id!r}: {role} names {missing.id!r}, which can't be accepted itself"
    )


def falls_with(event: ev.Event, role: str, error: ValueRejected) -> ValueRejected:
    """The refusal of what names a claim that was kept out."""
    found = ValueRejected(
        f"{event.TYPE} {event.id!r}: {role} names the claim {error.claim!r}, whose object or text "
        f"is a value that is rejected, by {' and '.join(map(repr, error.rejections))}"
    )
    found.claim, found.workspace = error.claim, error.workspace
    found.rejections, found.audits = error.rejections, error.audits
    return found


def named(event: ev.Event) -> Iterator[tuple[str, ev.Ref]]:
    """What an event names, a carried support by its claim."""
    for role in _ONE:
        ref = getattr(event, role, None)
        if ref is not None:
            yield role, _carrier(event.key(ref))
    for role in _SEVERAL:
        for ref in getattr(event, role, ()):
            yield role, _carrier(event.key(ref))


def _carrier(key: ev.Ref) -> ev.Ref:
    return ev.Ref(key.workspace, key.id.removesuffix(ev.CARRIED))
