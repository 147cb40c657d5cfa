"""From the exchange form to events: mappings as people and files write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidEvent
from doxa.engine.events import CLASSES, Artefact, Correction, Event, Policy, Withdrawal
from doxa.engine.fields import LABEL_LIMIT

__all__ = ["parse"]


def parse(fields: Mapping[str, Any]) -> Event:
    """The event that a mapping in the exchange form describes, without its ``recorded_at``.

    Raises `InvalidEvent` or `InvalidTime`, naming the field, the value and what is accepted.
    """
    rest = dict(fields)
    kind = rest.pop("event", None)
    cls = CLASSES.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise InvalidEvent(f"event is {kind!r}; the events are {', '.join(CLASSES)}")
    rest.pop("recorded_at", None)
    try:
        if rest.get("stated_at") is not None:
            rest["stated_at"] = times.instant(rest["stated_at"], "stated_at")
        if cls is Withdrawal:
            _parse_withdrawal(rest)
        else:
            _say_once(rest, "contradicts", "candidates", "archived", "restored")
            for name in ("at", "until") if cls is Policy else ():
                if rest.get(name) is not None:
                    rest[name] = times.instant(rest[name], name)
        if issubclass(cls, Artefact):
            _parse_artefact(rest)
        else:
            _parse_bounds(rest, open_ends=cls is not Correction)
        return cls.model_validate(rest)
    except ValidationError as error:
        raise InvalidEvent(_explain(kind, fields, error)) from None
    except CallerError as error:
        raise type(error)(f"{kind} {_known_as(fields)}: {error}") from None


_WANTED: Final = {
    "string_type": "give text",
    "string_unicode": "that is no unicode text: it holds half of a surrogate pair",
    "tuple_type": "give a list of texts",
    "bool_type": "give true or false",
}


def _known_as(fields: Mapping[str, Any]) -> str:
    id = fields.get("id")
    return repr(id) if isinstance(id, str) and len(id) <= LABEL_LIMIT else "without a usable id"


def _explain(kind: str, fields: Mapping[str, Any], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    names = [part for part in first["loc"] if isinstance(part, str)]
    where = ".".join(name if name.isidentifier() else f"{name!r:.80}" for name in names)[:200]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "is not a key of this event"
    elif first["type"] == "missing":
        message = "is missing"
    elif first["type"] == "invalid_key":
        where, message = "", f"has the key {first['loc'][0]!r}; keys are text"
    elif first["type"] != "doxa":
        shown = repr(first.get("input"))
        wanted = _WANTED.get(first["type"], message)
        if first["type"] == "literal_error":
            wanted = f"give {first['ctx']['expected']}"
        message = f"is {shown if len(shown) <= 80 else shown[:77] + '...'}; {wanted}"
    return f"{kind} {_known_as(fields)}: {where + ' ' if where else ''}{message}"


def _parse_bounds(rest: dict[str, Any], *, open_ends: bool) -> None:
    if "valid_until" in rest:
        if "valid_to" in rest:
            raise InvalidEvent(
                "has both valid_to (exclusive) and valid_until (an inclusive day); give one"
            )
        until = rest.pop("valid_until")
        if until is None:
            raise InvalidEvent("valid_until is null; an open end is valid_to null")
        rest["valid_to"] = times.valid_until(until)
    elif "valid_to" in rest:
        rest["valid_to"] = times.valid_end(rest["valid_to"])
    if "valid_from" in rest:
        rest["valid_from"] = times.valid_start(rest["valid_from"])
    start, end = rest.get("valid_from"), rest.get("valid_to")
    if open_ends or (start is not None and end is not None):
        times.interval(times.NEG if start is None else start, times.POS if end is None else end)


def _parse_withdrawal(rest: dict[str, Any]) -> None:
    whole = rest.pop("whole_source", None)
    if rest.get("target") is not None:
        if whole:
            raise InvalidEvent("has both target and whole_source; withdraw one of them")
        if "source" in rest:
            if "asked_by" in rest:
                raise InvalidEvent("has both source and asked_by; with a target they mean the same")
            rest["asked_by"] = rest.pop("source")
    elif isinstance(rest.get("source"), Mapping) and set(rest["source"]) == {"id"}:
        rest["source"] = rest["source"]["id"]


def _parse_artefact(rest: dict[str, Any]) -> None:
    _say_once(rest, "sources", "subjects")
    if rest.get("valid_at") is not None:
        rest["valid_at"] = times.instant(rest["valid_at"], "valid_at")


def _say_once(rest: dict[str, Any], *fields: str) -> None:
    """Takes repetitions out of lists of names, so that they are one content by every route; what
    can't be a name is left for the model to refuse."""
    for field in fields:
        given = rest.get(field)
        if isinstance(given, list | tuple):
            named = all(isinstance(item, str) for item in given)
            rest[field] = tuple(dict.fromkeys(given)) if named else tuple(given)
