"""The rows of a table of events as exchange lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from doxa.adapters.exchange.exporting import form
from doxa.adapters.exchange.lines import Line
from doxa.adapters.exchange.stubs import KEPT, REDACTED
from doxa.adapters.tables.cells import Null, Unusable
from doxa.adapters.tables.schema import COLUMNS, OPEN
from doxa.engine.errors import CallerError
from doxa.engine.events import POLICIES, equality_key
from doxa.engine.pages import GONE
from doxa.engine.parse import parse

__all__ = ["line_of"]

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
    "policy": (
        *_HEAD,
        *(key for name, others in POLICIES.items() for key in (name, *others)),
        *("recorded_at", "reason", "stated_at"),
    ),
    GONE: ("event", "first", "last", "count", "digest"),
}
_PLACES: Final = {
    event: {key: place for place, key in enumerate(keys)} for event, keys in _ORDER.items()
}
_STUBS: Final = {
    kind: {k: place for place, k in enumerate(("event", "of", "workspace", "id", *keys))}
    for kind, keys in KEPT.items()
}
_LAST: Final = len(COLUMNS)


def line_of(number: int, cells: Mapping[str, Any]) -> Line:
    """The exchange line of a row, from those of its cells that are not empty; with a problem where
    one of them can't be used. A claim without an id gets the one that follows from what it says."""
    fields: dict[str, Any] = {}
    problem: str | None = None
    for key, value in cells.items():
        if isinstance(value, Unusable):
            problem = problem or f"{key} {value.why}"
            fields[key] = value.shown
        else:
            fields[key] = None if value is Null.NULL else value
    problem = _bounds(fields) or problem
    try:
        if fields.get("event") == "claim" and "id" not in fields:
            fields["id"] = _id(fields)
        return Line(number, _text(_ordered(fields)), problem)
    except (ValueError, TypeError, RecursionError) as error:
        return Line(number, _text({"id": str(fields.get("id"))}), f"it is no JSON: {error}")


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _bounds(fields: dict[str, Any]) -> str | None:
    """Makes explicit which bounds are open; why that can't be, where it can't."""
    for bound, column in OPEN.items():
        is_open = fields.pop(column, None)
        if is_open and bound in fields:
            return f"{column} is true beside the {bound} {fields[bound]}; one of them is wrong"
        if is_open is False and bound not in fields:
            return f"{column} is false, but {bound} is empty: it is lost"
        if is_open:
            fields[bound] = None
    return None


def _ordered(fields: dict[str, Any]) -> Mapping[str, Any]:
    """The fields as an export writes them, with those that it writes although they are null."""
    event = fields.get("event")
    if event == "claim":
        fields.setdefault("text", None)
    elif event in ("citation", "summary") and fields.get("binding") == "snapshot":
        fields.setdefault("subjects", None)
    if event == REDACTED:
        places = _STUBS.get(str(fields.get("of")), {})
    elif event == "withdrawal" and "target" not in fields:
        places = _PLACES["whole source"]
    else:
        places = _PLACES.get(str(event), {})
    return {key: fields[key] for key in sorted(fields, key=lambda key: places.get(key, _LAST))}


def _id(fields: Mapping[str, Any]) -> str:
    """An id for a claim that has none: the same for the same statement, recorded at the same time
    where it says when."""
    try:
        said = form(parse({**fields, "id": "-"}))
        said.pop("stated_at", None)
        key = equality_key([said, fields.get("recorded_at")])
    except CallerError:  # it will be set aside, and come again perhaps
        key = _text(fields)
    return f"claim-{hashlib.sha256(key.encode('utf-8', 'backslashreplace')).hexdigest()[:32]}"
