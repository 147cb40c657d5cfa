"""What the ledger's calls take and return besides plain values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import wraps
from typing import Any, Final, ParamSpec, Self, TypeVar

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidEvent, InvalidTime, ViewMoved
from doxa.engine.plain import Plain, ready
from doxa.engine.registry import Judgement, Registry
from doxa.engine.stream import Stream
from doxa.views import TruthView

__all__ = [
    "UNSET",
    "ArtefactId",
    "Commit",
    "CorrectionId",
    "Instant",
    "Source",
    "SourceLike",
    "Unset",
    "check_list",
    "check_revision",
    "check_text",
    "check_uncompacted",
    "check_view",
    "checked_seconds",
    "end_of",
    "fresh",
    "looks_at_a_view",
    "parsed",
    "refuse_unknown",
    "source_fields",
    "watched_by",
]

Instant = str | datetime | date
P = ParamSpec("P")
T = TypeVar("T")


class Unset:
    """The type of an argument that was left out, where ``None`` has a meaning of its own."""

    def __repr__(self) -> str:
        return "(left out)"


UNSET: Final = Unset()


@dataclass(frozen=True, slots=True)
class Source:
    """A source of evidence: its id and, where they are known, the place and words in it.

    ``origin`` is who stands behind it (two sources of one origin do not corroborate each other; it
    defaults to the id), ``digest`` that of its content, ``observed_at`` when it was looked at.
    """

    id: str
    locator: str | None = None
    quote: str | None = None
    digest: str | None = None
    origin: str | None = None
    observed_at: Instant | None = None


class CorrectionId(str):
    """The id of a correction; ``replacement`` is that of the claim put in, if any."""

    replacement: str | None

    def __new__(cls, id: str, replacement: str | None) -> Self:
        self = super().__new__(cls, id)
        self.replacement = replacement
        return self


class ArtefactId(str):
    """The id of a citation or summary; ``judgement`` says whether it is eligible at registration,
    and if not, why not: registering it is allowed all the same."""

    judgement: Judgement

    def __new__(cls, id: str, judgement: Judgement) -> Self:
        self = super().__new__(cls, id)
        self.judgement = judgement
        return self

    @property
    def eligible(self) -> bool:
        """Whether it is eligible at its own registration."""
        return self.judgement.eligible


@dataclass(frozen=True, slots=True)
class Commit:
    """What an append did: the ids of its events in order, the revision, and how many were new."""

    ids: tuple[str, ...]
    revision: int
    recorded_at: datetime
    new: int
    repeated: int


SourceLike = str | Source | Mapping[str, Any]


def fresh(kind: str) -> str:
    return f"{kind}-{os.urandom(10).hex()}"


def source_fields(source: SourceLike | None) -> object:
    if isinstance(source, Source):
        return {name: getattr(source, name) for name in Source.__slots__}
    return source


def end_of(fields: dict[str, Any], valid_to: object, valid_until: object) -> None:
    if valid_until is None:
        fields["valid_to"] = valid_to
        return
    if valid_to is not None:
        raise InvalidEvent("valid_to (exclusive) and valid_until (an inclusive day): give one")
    fields["valid_until"] = valid_until


_NO_LISTS: Final = (Mapping, str, bytes, ev.Event)


def parsed(
    events: Iterable[Mapping[str, Any] | ev.Event],
) -> tuple[Sequence[ev.Event | Plain], int | None]:
    if type(events) is not list and (
        isinstance(events, _NO_LISTS) or not isinstance(events, Iterable)
    ):
        raise InvalidEvent(f"{events!r:.80} is no list; give a list of events")
    found: list[ev.Event | Plain] = []
    stamps: set[int] = set()
    for event in events:
        if type(event) is dict:
            fields: dict[str, Any] = event
        elif isinstance(event, ev.Event):
            found.append(event)
            continue
        elif isinstance(event, Mapping):
            fields = dict(event)
        else:
            raise InvalidEvent(f"{event!r:.80} is no event; give mappings in the exchange form")
        if fields.get("id") is None:
            fields = {**fields, "id": fresh(str(fields.get("event", "event")))}
        if fields.get("recorded_at") is not None:
            stamps.add(times.instant(fields["recorded_at"], "recorded_at"))
        found.append(ready(fields))
    if len(stamps) > 1:
        raise InvalidTime(
            f"{len(stamps)} different recorded_at in one append; a commit has one: use "
            "import_events for several commits"
        )
    return found, stamps.pop() if stamps else None


def check_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        raise CallerError(f"{name} is {value!r:.80}; give text")


def check_list(value: object, name: str) -> list[Any]:
    """The items of a list that was given as an argument; a text is not the list of its letters."""
    if isinstance(value, str | bytes | Mapping | ev.Ref) or not isinstance(value, Iterable):
        raise InvalidEvent(f"{name} is {value!r:.80}; give a list of texts")
    return list(value)


def check_view(value: object, stream: Stream) -> Registry:
    """The registry behind a view of this ledger."""
    if not isinstance(value, TruthView):
        raise CallerError(f"{value!r:.80} is no view; give what ledger.view returned")
    if value.origin is None or value.origin[0] is not stream:
        raise CallerError("the view was captured from another ledger, or before a reopening")
    return value.origin[1]


def looks_at_a_view(method: Callable[P, T]) -> Callable[P, T]:
    """A method that says, where its ``view`` is left out, how one is given."""

    @wraps(method)
    def looking(*args: P.args, **kwargs: P.kwargs) -> T:
        if "view" not in kwargs:
            if "as_of" in kwargs:
                refuse_unknown({"as_of": None}, method.__name__, "")
            raise CallerError(f"{method.__name__} looks at a view: {_view_at(kwargs)}")
        return method(*args, **kwargs)

    return looking


def _view_at(given: Mapping[str, object]) -> str:
    """How a view is given, with the times that were given without one."""
    named = [f"{name}={given[name]!r:.80}" for name in ("valid_at", "known_at") if name in given]
    return f"give view=ledger.view({', '.join(named) or 'valid_at=…'})"


def check_uncompacted(view: TruthView, stream: Stream) -> None:
    """Raises `ViewMoved` for a view that was captured before the log was last compacted: what is
    found in indexes of the log as it is now has another place there."""
    gone = view.graph.gone
    if (0 if gone is None else gone.at) != stream.store.holes.at:
        raise ViewMoved(
            "the log was compacted since the view was captured; capture a new one and repeat"
        )


def watched_by(view: object, stream: Stream) -> tuple[bool, str, bool, int]:
    """Whether a view, or the view of a block, is live, and what it watches: its workspace, whether
    it sees the shared one, and since which revision."""
    if not isinstance(view, Mapping):
        check_view(view, stream)
        assert isinstance(view, TruthView)
        return view.live, view.workspace, view.shared, view.revision
    live, shared = view.get("live"), view.get("shared")
    workspace, revision = view.get("workspace"), view.get("revision")
    if not (isinstance(live, bool) and isinstance(shared, bool) and isinstance(workspace, str)):
        raise CallerError(f"{view!r:.80} is no view; give block.view as it was")
    return live, workspace, shared, check_revision(revision, "revision")


def check_revision(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CallerError(f"{name} is {value!r}; a revision is a position in the log, 0 or more")
    return value


def checked_seconds(value: object, name: str) -> float:
    """A number of seconds, from 0 to a day."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400:
        raise CallerError(f"{name} is {value!r:.80}; give seconds, from 0 to 86,400")
    return float(value)


def refuse_unknown(unknown: Mapping[str, object], call: str, accepted: str) -> None:
    """Raises `CallerError` for the first argument that a call doesn't take."""
    name = next(iter(unknown))
    if name == "as_of":
        raise CallerError(
            "as_of is refused: say valid_at (when it applied in the world) and known_at (what had "
            "been recorded by then)"
        )
    if name in ("valid_at", "known_at") and accepted.startswith("view"):
        raise CallerError(f"{call} takes no {name!r}, but a view at it: {_view_at(unknown)}")
    raise CallerError(f"{call} takes no {name!r}; it takes {accepted}")
