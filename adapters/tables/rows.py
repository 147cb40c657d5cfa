"""The rows of a table of events as exchange lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic_core import from_json, to_json

from doxa.adapters.exchange.lines import LINE_LIMIT, Line, overlong
from doxa.adapters.exchange.stubs import KEPT, REDACTED
from doxa.adapters.tables.cells import Null, Unusable
from doxa.adapters.tables.schema import COLUMNS, OPEN
from doxa.engine import codec
from doxa.engine.errors import CallerError
from doxa.engine.events import POLICIES, equality_key
from doxa.engine.pages import GONE
from doxa.engine.plain import Plain, ready

__all__ = ["line_of"]

UNUSABLE: Final = "?"  # behind the key of a cell that can't be used
_HEAD: Final = ("event", "id", "workspace")
_SPAN: Final = ("valid_from", "valid_to", "valid_until")
_DECLARED: Final = ("text", "facts", "supports", "sources", "citations", "binding", "subjects")

# The keys of each event as an export writes them.
_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "claim": (
        *(*_HEAD, "subject", "predicate", "object", "text", "kind", "perspective"),
        *("recall_when", *_SPAN, "recorded_at", "source", "because", "assumed", "stated_at"),
    ),
    "support": (
        *(*_HEAD, "claim", "source", "because", "stance", *_SPAN),
        *("recorded_at", "assumed", "stated_at"),
    ),
    "correction": (
        *(*_HEAD, "corrects", "unresolved", "candidates", "by", "resolves", *_SPAN),
        *("recorded_at", "source", "reason", "stated_at"),
    ),
    "withdrawal": (
        *(*_HEAD, "target", "reason", *_SPAN),
        *("recorded_at", "source", "asked_by", "stated_at"),
    ),
    "whole source": (
        *(*_HEAD, "source", "whole_source", "reason", *_SPAN),
        *("recorded_at", "asked_by", "stated_at"),
    ),
    "citation": (*_HEAD, *_DECLARED, "valid_at", "recorded_at", "stated_at"),
    "summary": (*_HEAD, *_DECLARED, "valid_at", "recorded_at", "stated_at"),
    **{
        f"policy {name}": (*_HEAD, name, *others, "recorded_at", "reason", "stated_at")
        for name, others in POLICIES.items()
    },
    GONE: ("event", "first", "last", "count", "digest"),
    **{f"{REDACTED} {of}": ("event", "of", "workspace", "id", *keys) for of, keys in KEPT.items()},
}
_PLACES: Final = {
    event: {key: place for place, key in enumerate(keys)} for event, keys in _ORDER.items()
}
_LAST: Final = len(COLUMNS)


def line_of(number: int, cells: Mapping[str, Any]) -> Line:
    """The exchange line of a row, from those of its cells that are not empty. A claim without an id
    gets the one that follows from what it says.

    A cell that can't be used is the problem of its line, and stands in it under a name that is no
    key of an event (``object?``): so what it shows is kept, and is never taken for its value.
    """
    fields: dict[str, Any] = {}
    problem: str | None = None
    for key, value in cells.items():
        if isinstance(value, Unusable):
            problem = problem or f"{key} {value.why}"
            fields[key + UNUSABLE] = value.shown
        else:
            fields[key] = None if value is Null.NULL else value
    lost = _bounds(fields)
    problem = problem or lost
    if fields.get("event") == "claim" and "id" not in fields and f"id{UNUSABLE}" not in fields:
        fields["id"] = _id(fields)
    text = _text(_ordered(fields))
    return overlong(number, text) if len(text) > LINE_LIMIT else Line(number, text, problem)


_text: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _bounds(fields: dict[str, Any]) -> str | None:
    """Makes explicit which bounds are open; why that can't be, where it can't."""
    problem = None
    for bound, column in OPEN.items():
        is_open = fields.pop(column, None)
        if is_open is None or bound + UNUSABLE in fields:
            continue
        if is_open is (bound in fields):
            problem = f"{column} is false, but {bound} is empty: it is lost"
            if is_open:
                there = f"beside the {bound} {fields[bound]}"
                problem = f"{column} is true {there}; one of them is wrong"
            fields[column + UNUSABLE] = is_open
        elif is_open:
            fields[bound] = None
    return problem


def _ordered(fields: dict[str, Any]) -> Mapping[str, Any]:
    """The fields as an export writes them, with those that it writes although they are null."""
    event = fields.get("event")
    if event == "claim":
        fields.setdefault("text", None)
    elif event in ("citation", "summary") and fields.get("binding") == "snapshot":
        fields.setdefault("subjects", None)
    if event == REDACTED:
        kind = f"{REDACTED} {fields.get('of')}"
    elif event == "withdrawal" and "target" not in fields:
        kind = "whole source"
    elif event == "policy":
        kind = f"policy {next((name for name in POLICIES if name in fields), None)}"
    else:
        kind = str(event)
    if kind not in _PLACES:
        return fields
    return {key: fields[key] for key in _sorted(kind, tuple(fields))}


@lru_cache(1_000)
def _sorted(kind: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    places = _PLACES[kind]
    return tuple(sorted(keys, key=lambda key: places.get(key, _LAST)))


def _id(fields: Mapping[str, Any]) -> str:
    """An id for a claim that has none: the same for the same statement, recorded at the same time
    where it says when."""
    try:
        said = to_json([*_content({**fields, "id": "-"}), fields.get("recorded_at")])
    except (CallerError, ValueError):  # it will be set aside, and come again perhaps
        said = _text(fields).encode("utf-8", "backslashreplace")
    return f"claim-{hashlib.sha256(said).hexdigest()[:32]}"


def _content(fields: dict[str, Any]) -> list[Any]:
    """What a claim says, however it is written. Raises `CallerError`."""
    made = ready(fields)
    if isinstance(made, Plain):
        head, data = made.said, made.content
    else:
        head, data = map(from_json, codec.encode(made))
    head = {key: value for key, value in head.items() if key not in ("v", "stated_at")}
    return [head, {**data, "object": equality_key(data["object"])}]
