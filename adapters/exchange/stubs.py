"""Erased events as exchange lines: ids, intervals and edges, which stay, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.errors import InvalidEvent
from doxa.engine.parse import parse

__all__ = ["KEPT", "REDACTED", "event_of", "stub"]

REDACTED: Final = "redacted"
_AROUND: Final = ("id", "workspace", "recorded_at")
_SPAN: Final = ("valid_from", "valid_to")
_OF: Final = "claim"  # what a policy calls ``of``, which says here what the event was
_RESTS: Final = ("facts", "supports", "sources", "citations", "binding", "valid_at")
KEPT: Final[dict[str, tuple[str, ...]]] = {
    "claim": ("kind", *_SPAN, "source", "because"),
    "support": ("claim", "source", "because", "stance", *_SPAN),
    "correction": (
        *("corrects", "unresolved", "candidates", "by", "resolves", "source"),
        *_SPAN,
    ),
    "withdrawal": ("target", "source", "whole_source", *_SPAN),
    "citation": _RESTS,
    "summary": _RESTS,
    "policy": (
        *("contradicts", "verified", "pinned", "scored", "expires", "archived", "restored"),
        *("overrides", "blocked", _OF),
    ),
}
# What stands in for content while the rest is judged as that of any event.
_FILLED: Final[dict[str, dict[str, Any]]] = {
    "claim": {"subject": "-", "predicate": "-", "object": None},
    "citation": {"text": "-"},
    "summary": {"text": "-"},
}
_BESIDE: Final[dict[str, dict[str, Any]]] = {
    "scored": {"importance": 0},
    "expires": {"at": "1970-01-01"},
}


def stub(event: ev.Event, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The line of an erased event, from its fields in the exchange form."""
    kept = ("id", *KEPT[event.TYPE], "recorded_at")
    found = {"event": REDACTED, "of": event.TYPE}
    if event.workspace:
        found["workspace"] = event.workspace
    # a bound that is open is said to be, since one that is left out may take a default
    said = {key: fields[key] for key in kept if key in fields}
    if event.TYPE == "policy" and "of" in fields:
        said[_OF] = fields["of"]
    return found | {k: v for k, v in said.items() if k in _SPAN or v not in (None, [])}


def event_of(fields: Mapping[str, Any]) -> ev.Event:
    """The erased event that a line describes. Raises `InvalidEvent`."""
    kind = fields.get("of")
    if not isinstance(kind, str) or kind not in KEPT:
        raise InvalidEvent(
            f"redacted {fields.get('id')!r:.200}: of is {kind!r:.80}; the events are "
            f"{', '.join(KEPT)}"
        )
    rest = {key: value for key, value in fields.items() if key not in ("event", "of")}
    if unknown := set(rest).difference(_AROUND, KEPT[kind]):
        raise InvalidEvent(
            f"redacted {fields.get('id')!r:.200}: {min(unknown)!r:.80} is not a key of this event"
        )
    if kind == "policy" and _OF in rest:
        rest["of"] = rest.pop(_OF)
    for policy, beside in _BESIDE.items():
        if rest.get(policy) is not None:
            rest |= beside
    whole = parse({"event": kind, **_FILLED.get(kind, {}), **rest})
    head, _ = codec.encode(whole)
    return codec.decode(kind, head, None)
