"""Plain claims and supports: from fields to the stored form, with no object in between.

Nearly all events are claims and supports of plain fields that rest on nothing but a source. What
is made of their fields here is, to the last byte, what the models and the codec would make of them,
in a third of the time. Whatever is out of the ordinary, and whatever is wrong, is left to those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, cast

from pydantic_core import PydanticCustomError, from_json, to_json

from doxa.engine import codec, times
from doxa.engine.errors import InvalidTime, PayloadTooLarge
from doxa.engine.events import CARRIED, Claim, Event, Support
from doxa.engine.fields import LABEL_LIMIT, SourceRef, check_label, check_text, check_value
from doxa.engine.parse import parse

__all__ = ["Plain", "plain", "plainly", "ready"]


class Plain(NamedTuple):
    """A claim or support that rests on a source or on nothing, ready to be stored.

    ``claim`` is what a support supports, ``source`` the id of the source; ``said`` and ``content``
    are what reading ``head`` and ``data`` again would give.
    """

    type: str
    head: bytes
    data: bytes
    workspace: str
    id: str
    claim: str | None
    source: str | None
    said: codec.Fields
    content: codec.Fields

    @property
    def event(self) -> Event:
        """The event, as it will be read from the log."""
        return codec.decode(self.type, self.head, self.data)


_as_plain = cast("Callable[[Any], Plain]", partial(tuple.__new__, Plain))
_FIXED: Final = (str, int, float, bool, type(None))  # what nobody can change, and JSON keeps


def _made(
    kind: str, fields: dict[str, Any], claim: str | None, source: str | None, details: Any
) -> Plain:
    head, data = codec.part(kind, fields, source, details)
    stored, content = to_json(head), to_json(data)
    codec.check_size(kind, head, len(stored) + len(content))
    if claim is None and type(data["object"]) not in _FIXED:
        data = from_json(content)
    return _as_plain(
        (kind, stored, content, fields["workspace"], fields["id"], claim, source, head, data)
    )


def plain(fields: Mapping[str, Any]) -> Plain | None:
    """What plain fields in the exchange form describe; ``None`` leaves it to `parse`.

    As there, ``recorded_at`` is not looked at.
    """
    if type(fields) is not dict:
        return None
    try:
        return _MAKERS[fields["event"]](fields)
    except _LEFT_TO_MODELS:
        return None


def ready(fields: Mapping[str, Any]) -> Event | Plain:
    """What a mapping in the exchange form describes, plain where it can be. Raises as `parse`."""
    found = plain(fields)
    return parse(fields) if found is None else found


def plainly(event: Event) -> Plain | None:
    """The same of an event that is ready; ``None`` for what is no plain claim or support."""
    kind, fields = type(event), event.__dict__
    if (kind is not Claim and kind is not Support) or event.erased or fields["because"]:
        return None
    if fields.get("recall_when"):
        return None
    claim, source = fields.get("claim"), fields["source"]
    if source is None:
        return _made(event.TYPE, fields, claim, None, None)
    details = {name: item for name, item in source.__dict__.items() if item is not None}
    return _made(event.TYPE, fields, claim, details.pop("id"), details)


# ---------------------------------------------------------------- from fields


class _NotPlain(Exception):
    """Something that the models have to look at."""


_LEFT_TO_MODELS: Final = (
    _NotPlain,
    PydanticCustomError,
    InvalidTime,
    PayloadTooLarge,
    KeyError,
    TypeError,
)
_SPANNING: Final[dict[str, Any]] = {
    "workspace": "",
    "stated_at": None,
    "valid_from": None,
    "valid_to": None,
    "source": None,
    "because": (),
    "assumed": None,
}
_CLAIM: Final = _SPANNING | {
    "text": None,
    "kind": "fact",
    "perspective": "",
    "recall_when": (),
}
_SUPPORT: Final = _SPANNING | {"stance": "supports"}
_AROUND: Final = {"event", "recorded_at", "valid_until"}  # what is no field of a model
_CLAIM_KEYS: Final = frozenset({*Claim.model_fields, *_AROUND})
_SUPPORT_KEYS: Final = frozenset({*Support.model_fields, *_AROUND})
_SOURCE_KEYS: Final = frozenset(SourceRef.model_fields)


def _claim(given: dict[str, Any]) -> Plain:
    if not _CLAIM_KEYS.issuperset(given):
        raise _NotPlain
    fields = {**_CLAIM, **given}
    id, subject, predicate = fields["id"], fields["subject"], fields["predicate"]
    workspace, kind = fields["workspace"], fields["kind"]
    _check_labels(id, subject, predicate, workspace, kind, fields["perspective"])
    if not (id and subject and predicate and kind) or id.endswith(CARRIED):
        raise _NotPlain
    _check_unsaid(fields, "recall_when")
    value = fields["object"]
    if type(value) is not str or not value.isascii():
        fields["object"] = check_value(value)
    _check_text(fields["text"])
    source, details = _finish(fields, given)
    return _made("claim", fields, None, source, details)


def _support(given: dict[str, Any]) -> Plain:
    if not _SUPPORT_KEYS.issuperset(given):
        raise _NotPlain
    fields = {**_SUPPORT, **given}
    id, claim, workspace = fields["id"], fields["claim"], fields["workspace"]
    _check_labels(id, claim, workspace, fields["stance"])
    if not (id and claim) or id.endswith(CARRIED) or fields["stance"] not in _STANCES:
        raise _NotPlain
    source, details = _finish(fields, given)
    if source is None:
        raise _NotPlain
    return _made("support", fields, claim, source, details)


_STANCES: Final = ("supports", "refutes")
_MAKERS: Final[dict[object, Callable[[dict[str, Any]], Plain]]] = {
    "claim": _claim,
    "support": _support,
}


_Source = tuple[str | None, dict[str, Any] | None]  # its id, and what else is given


def _finish(fields: dict[str, Any], given: dict[str, Any]) -> _Source:
    """Checks what claims and supports have in common, and puts it into its final form."""
    _check_unsaid(fields, "because")
    _check_text(fields["assumed"])
    fields["stated_at"] = _at(fields["stated_at"], None)
    start = fields["valid_from"] = _at(fields["valid_from"], times.NEG)
    end = _at(fields["valid_to"], times.POS)
    if "valid_until" in given:
        if "valid_to" in given:
            raise _NotPlain
        end = times.valid_until(given["valid_until"])
    if start >= end:
        raise _NotPlain
    fields["valid_to"] = end
    source = fields["source"]
    return (None, None) if source is None else _source(source)


def _check_unsaid(fields: dict[str, Any], name: str) -> None:
    """A list that is left out or empty."""
    if fields[name] != ():
        if type(fields[name]) is not list or fields[name]:
            raise _NotPlain
        fields[name] = ()


def _source(source: object) -> _Source:
    if type(source) is str:
        _check_labels(source)
        if not source:
            raise _NotPlain
        return source, None
    if type(source) is not dict or not _SOURCE_KEYS.issuperset(source):
        raise _NotPlain
    get = source.get
    id, digest, origin = source["id"], get("digest"), get("origin")
    _check_labels(id, "" if digest is None else digest, "" if origin is None else origin)
    if not id:
        raise _NotPlain
    found: dict[str, Any] = {}
    if (locator := get("locator")) is not None:
        found["locator"] = _check_text(locator)
    if (quote := get("quote")) is not None:
        found["quote"] = _check_text(quote)
    if digest is not None:
        found["digest"] = digest
    if origin is not None:
        found["origin"] = origin
    if (observed_at := get("observed_at")) is not None:
        found["observed_at"] = _at(observed_at, None)
    return id, found


def _check_labels(*labels: str) -> None:
    for label in labels:
        if type(label) is not str:
            raise _NotPlain
    together = "".join(labels)
    if len(together) > LABEL_LIMIT or not together.isprintable():
        for label in labels:
            check_label(label)


def _check_text(text: Any) -> Any:
    if text is not None:
        if type(text) is not str:
            raise _NotPlain
        if not text.isascii():
            check_text(text)
    return text


_instant: Final = lru_cache(10_000)(times.instant)


def _at(given: object, left_out: Any) -> Any:
    """An instant; ``left_out`` in place of ``None``."""
    if given is None:
        return left_out
    return _instant(given) if type(given) is str else times.instant(given)
