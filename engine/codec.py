"""The stored form of events, and back.

An event is stored in two parts. The **head** holds what must stay for ever so that the standing
of everything else can be recomputed: ids, intervals and edges. The **data** holds the content:
words, values, quotes. Erasure removes the data and its salt; the head and the hash chain stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import from_json, to_json

from doxa.engine import times
from doxa.engine.errors import DamageError, NewerFormat, PayloadTooLarge
from doxa.engine.events import CLASSES, Compaction, Erasure, Event, Policy, Ref, SourceRef

__all__ = [
    "COMPACTING",
    "ERASING",
    "PAYLOAD_LIMIT",
    "VERSION",
    "Fields",
    "check_size",
    "decode",
    "encode",
    "erasure_fields",
    "part",
    "stored",
    "tags",
]

Fields = dict[str, Any]

VERSION: Final = 1
ERASING: Final = "redacted"  # the tag of the events that say what was erased
COMPACTING: Final = "compacted"  # and of those that say what was compacted
PAYLOAD_LIMIT: Final = 1 << 20  # bytes of head and data together

# Fields of the head, in order; all others are content. Policies keep their name in the head and
# the predicate, which may be about a person, in the data.
_HEAD: Final[dict[str, tuple[str, ...]]] = {
    "claim": ("kind", "valid_from", "valid_to", "because"),
    "support": ("claim", "because", "stance", "valid_from", "valid_to"),
    "withdrawal": ("target", "source", "valid_from", "valid_to"),
    "correction": (
        "corrects",
        "by",
        "unresolved",
        "candidates",
        "resolves",
        "valid_from",
        "valid_to",
    ),
    "citation": ("facts", "supports", "sources", "binding", "valid_at"),
    "summary": ("facts", "supports", "sources", "citations", "binding", "valid_at"),
    "policy": (
        "contradicts",
        "verified",
        "pinned",
        "scored",
        "expires",
        "archived",
        "restored",
        "overrides",
        "blocked",
        "of",
        "redacted",
        "compacted",
    ),
}
_SOURCED: Final = ("claim", "support", "correction")
_MISSING: Final = object()


def _plan(name: str) -> tuple[tuple[str, bool, object], ...]:
    """What to write of each field of an event: whether in the head, and the default left out."""
    return tuple(
        (field, field in _HEAD[name], _MISSING if info.is_required() else info.default)
        for field, info in CLASSES[name].model_fields.items()
        if field not in ("id", "workspace") and not (field == "source" and name in _SOURCED)
    )


_PLANS: Final = {name: _plan(name) for name in CLASSES}


def _plain(value: Any) -> Any:
    if isinstance(value, SourceRef):
        return {name: item for name, item in value.__dict__.items() if item is not None}
    if isinstance(value, Ref):
        return {"workspace": value.workspace, "id": value.id}
    if isinstance(value, Erasure):
        return erasure_fields(value)
    if isinstance(value, Compaction):
        return value.model_dump()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def erasure_fields(one: Erasure) -> Fields:
    """What is said of one erased event, in the exchange form."""
    return one.model_dump(exclude_defaults=True) | (
        {"agrees": list(one.agrees)} if one.agrees else {}
    )


def tags(event: Event) -> tuple[str, ...]:
    """The tags of an event: by which those that say what was erased or compacted are found at
    once."""
    if not isinstance(event, Policy):
        return ()
    return (ERASING,) if event.redacted else (COMPACTING,) if event.compacted else ()


def stored(event: Event) -> tuple[bytes, bytes | None]:
    """The stored head and data of an event; of an erased one there is no data. Raises
    `PayloadTooLarge` above 1 MiB."""
    if event.erased:
        return to_json(part(event.TYPE, *_erased_fields(event))[0]), None
    return encode(event)


def encode(event: Event) -> tuple[bytes, bytes]:
    """The stored head and data of an event with content. Raises `PayloadTooLarge` above 1 MiB."""
    kind, fields = event.TYPE, event.__dict__
    source = fields.get("source") if kind in _SOURCED else None
    if source is None:
        head, data = part(kind, fields)
    else:
        details = {name: item for name, item in source.__dict__.items() if item is not None}
        head, data = part(kind, fields, details.pop("id"), details)
    stored, content = to_json(head), to_json(data)
    check_size(kind, head, len(stored) + len(content))
    return stored, content


def _erased_fields(event: Event) -> tuple[Fields, str | None]:
    fields = {name: None for name in type(event).model_fields} | event.__dict__
    source = fields.get("source") if event.TYPE in _SOURCED else None
    return fields, None if source is None else source.id


def part(
    kind: str, fields: Fields, source: str | None = None, details: Fields | None = None
) -> tuple[Fields, Fields]:
    """The fields of a kind of event, all of them, in the form that its model gives them, as its
    head and its data say them; of the source of a claim, support or correction, the id and what
    else is given."""
    head: Fields = {"v": VERSION, "id": fields["id"]}
    data: Fields = {}
    if fields["workspace"]:
        head["workspace"] = fields["workspace"]
    _PUT.get(kind, _put_by_plan)(kind, fields, head, data)
    if source is not None:
        head["source"] = source
    if details:
        data["source"] = details
    return head, data


def check_size(kind: str, head: Fields, size: int) -> None:
    """Raises `PayloadTooLarge` where the stored head and data are too large together."""
    if size > PAYLOAD_LIMIT:
        raise PayloadTooLarge(
            f"{kind} {head['id']!r} has {size:,} bytes; the limit is {PAYLOAD_LIMIT:,}: "
            "keep large texts outside and claim their digest and place"
        )


def _put_by_plan(kind: str, fields: Fields, head: Fields, data: Fields) -> None:
    for name, in_head, default in _PLANS[kind]:
        value = fields[name]
        if value is default or (value == default and type(value) is type(default)):
            continue
        (head if in_head else data)[name] = _plain(value)


# Nearly all events are claims and supports: what the plan says of them, written out.


def _put_claim(kind: str, fields: Fields, head: Fields, data: Fields) -> None:
    _put_span(fields, head, data)
    data["subject"] = fields["subject"]
    data["predicate"] = fields["predicate"]
    data["object"] = fields["object"]
    if fields["text"] is not None:
        data["text"] = fields["text"]
    if fields["kind"] != "fact":
        head["kind"] = fields["kind"]
    if fields["perspective"]:
        data["perspective"] = fields["perspective"]
    if fields["because"]:
        head["because"] = _plain(fields["because"])
    if fields["assumed"] is not None:
        data["assumed"] = fields["assumed"]
    if fields["recall_when"]:
        data["recall_when"] = list(fields["recall_when"])


def _put_support(kind: str, fields: Fields, head: Fields, data: Fields) -> None:
    _put_span(fields, head, data)
    head["claim"] = fields["claim"]
    if fields["because"]:
        head["because"] = _plain(fields["because"])
    if fields["stance"] != "supports":
        head["stance"] = fields["stance"]
    if fields["assumed"] is not None:
        data["assumed"] = fields["assumed"]


def _put_span(fields: Fields, head: Fields, data: Fields) -> None:
    if fields["stated_at"] is not None:
        data["stated_at"] = fields["stated_at"]
    if fields["valid_from"] != times.NEG:
        head["valid_from"] = fields["valid_from"]
    if fields["valid_to"] != times.POS:
        head["valid_to"] = fields["valid_to"]


_PUT: Final = {"claim": _put_claim, "support": _put_support}


Upcast = Callable[[Fields, Fields], None]
# What turns the head and data of version n into those of n + 1, by (type, n).
_UPCASTS: dict[tuple[str, int], Upcast] = {}


# What is stored was checked when it was appended: events are copied from blank ones, which takes
# half the time of constructing them.
_BLANK: Final = {
    name: cls.model_construct(
        **{field: None for field, info in cls.model_fields.items() if info.is_required()}
    )
    for name, cls in CLASSES.items()
}
_NO_SOURCE: Final = SourceRef.model_construct(id="")
_LISTS: Final = frozenset(
    (
        *("because", "facts", "supports", "citations", "sources", "contradicts", "candidates"),
        *("archived", "restored"),
    )
)
_MAYBE_SHARED: Final = ("overrides", "blocked")  # that name one, perhaps in the shared workspace
_LISTS_SAID: Final = ("subjects", "recall_when")


def decode(kind: str, head: bytes, data: bytes | None) -> Event:
    """The event of a stored head and data; with ``data`` erased, its content is empty.

    Raises `NewerFormat` for an event of a later version, `DamageError` for one that can't be read.
    """
    try:
        fields: Fields = from_json(head)
        content: Fields = {} if data is None else from_json(data)
        version = fields.pop("v")
        cls = CLASSES.get(kind)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamageError(f"a stored {kind} can't be read: {error}") from None
    if version > VERSION or cls is None:
        raise NewerFormat(
            f"the log holds a {kind} of version {version}; this doxa reads versions up to "
            f"{VERSION} of {', '.join(CLASSES)}: upgrade doxa"
        )
    for step in range(version, VERSION):
        _UPCASTS[kind, step](fields, content)
    if kind in _SOURCED and "source" in fields:
        details = content.pop("source", {}) | {"id": fields["source"]}
        fields["source"] = _NO_SOURCE.model_copy(update=details)
    if "asked_by" in content:
        content["asked_by"] = _NO_SOURCE.model_copy(update=content["asked_by"])
    for name in _LISTS.intersection(fields):
        fields[name] = tuple(
            Ref(**item) if isinstance(item, dict) else item for item in fields[name]
        )
    for name in _MAYBE_SHARED:
        if isinstance(fields.get(name), dict):
            fields[name] = Ref(**fields[name])
    if "redacted" in fields:
        fields["redacted"] = tuple(
            Erasure.model_construct(**item | {"agrees": tuple(item.get("agrees", ()))})
            for item in fields["redacted"]
        )
    if "compacted" in fields:
        fields["compacted"] = Compaction.model_construct(**fields["compacted"])
    for name in _LISTS_SAID:
        if content.get(name) is not None:
            content[name] = tuple(content[name])
    if data is None and kind == "claim":
        content = {"subject": "", "predicate": "", "object": None}
    elif data is None and kind in ("citation", "summary"):
        content = {"text": ""}
    if data is None:
        return cls.model_construct(set(), **fields, **content)
    return _BLANK[kind].model_copy(update=fields | content)
