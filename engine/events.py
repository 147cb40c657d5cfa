"""The events of the log: their fields, their stored form, and what makes two of them equal.

An event is stored in two parts. The **head** holds what must stay for ever so that the standing
of everything else can be recomputed: ids, intervals and edges. The **data** holds the content:
words, values, quotes. Erasure removes the data and its salt; the head and the hash chain stay.

Times in a model are microseconds; an open start is ``times.NEG``, an open end ``times.POS``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, NoReturn, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError, from_json

from doxa.engine import times
from doxa.engine.errors import (
    CallerError,
    DamageError,
    InvalidEvent,
    NewerFormat,
    PayloadTooLarge,
)

__all__ = [
    "CARRIED",
    "CLASSES",
    "PAYLOAD_LIMIT",
    "POLICIES",
    "VERSION",
    "Citation",
    "Claim",
    "Correction",
    "Event",
    "Policy",
    "Ref",
    "SourceRef",
    "Summary",
    "Support",
    "Withdrawal",
    "decode",
    "encode",
    "equality_key",
    "parse",
    "same_content",
]

VERSION: Final = 1
PAYLOAD_LIMIT: Final = 1 << 20  # bytes of head and data together
CARRIED: Final = "/support"  # the id of a claim's own support is the claim's id with this ending
LABEL_LIMIT: Final = 1_000  # characters
DEPTH_LIMIT: Final = 100  # nested lists and objects in a value
POLICIES: Final = ("single_valued", "contradicts", "verified")

# C0 and C1 controls, line and paragraph separators, bidirectional marks, surrogates
_BAD_LABEL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")


# ---------------------------------------------------------------- field types


def _refuse(message: str) -> NoReturn:
    raise PydanticCustomError("doxa", "{message}", {"message": message})


def _text(value: str) -> str:
    if found := _SURROGATE.search(value):
        _refuse(f"holds U+{ord(found[0]):04X} at {found.start()}, half of a surrogate pair")
    return value


def _label(value: str) -> str:
    _text(value)
    if found := _BAD_LABEL.search(value):
        _refuse(
            f"holds the control or direction mark U+{ord(found[0]):04X} at {found.start()}; "
            "a label is one line of plain text"
        )
    if len(value) > LABEL_LIMIT:
        _refuse(f"has {len(value)} characters; a label has at most {LABEL_LIMIT}")
    return value


def _name(value: str) -> str:
    if not value:
        _refuse("is empty")
    return _label(value)


def _event_id(value: str) -> str:
    if value.endswith(CARRIED):
        _refuse(f"ends in {CARRIED!r}, which is reserved for the support that a claim carries")
    return _name(value)


def _json_value(value: object) -> object:
    """A copy of a JSON value, checked without recursion on the way down."""
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is str:
        return _text(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            _refuse(f"holds {value}, which is not a number that JSON has")
        return float(value)
    return _json_container(value, 0)


def _json_container(value: object, depth: int) -> object:
    if depth > DEPTH_LIMIT:
        _refuse(f"is nested more than {DEPTH_LIMIT} deep")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                _refuse(f"has the key {key!r}, a {type(key).__name__}; keys are text")
        return {_text(key): _json_nested(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_nested(item, depth) for item in value]
    _refuse(
        f"holds a {type(value).__name__}; a value is null, true, false, a number, text, "
        "a list or an object with text keys"
    )


def _json_nested(value: object, depth: int) -> object:
    if isinstance(value, Mapping | list | tuple):
        return _json_container(value, depth + 1)
    return _json_value(value)


Text = Annotated[str, AfterValidator(_text)]
Label = Annotated[str, AfterValidator(_label)]
Name = Annotated[str, AfterValidator(_name)]
EventId = Annotated[str, AfterValidator(_event_id)]
Value = Annotated[Any, BeforeValidator(_json_value)]


class Ref(NamedTuple):
    """An id in a named workspace; ``Ref("", id)`` is the shared one."""

    workspace: str
    id: str


def _reference(value: object) -> object:
    if isinstance(value, Ref):
        return Ref(_label(value.workspace), _name(value.id))
    if isinstance(value, str):
        return _name(str(value))
    if isinstance(value, Mapping) and set(value) == {"workspace", "id"}:
        workspace, id = value["workspace"], value["id"]
        if isinstance(workspace, str) and isinstance(id, str):
            return Ref(_label(workspace), _name(id))
    _refuse(f'is {value!r}; a reference is an id, or {{"workspace": "", "id": …}} for a shared one')


Reference = Annotated[Any, BeforeValidator(_reference)]


def _listed(value: object) -> object:
    if isinstance(value, str | Ref | Mapping) or not isinstance(value, Iterable):
        _refuse(f"is {value!r}; give a list of ids")
    return tuple(dict.fromkeys(_reference(item) for item in value))


References = Annotated[tuple[Any, ...], BeforeValidator(_listed)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SourceRef(_Model):
    """Where evidence comes from. ``origin`` defaults to the source's id where origins count."""

    id: Name
    locator: Text | None = None
    quote: Text | None = None
    digest: Label | None = None
    origin: Label | None = None
    observed_at: int | None = None


def _source(value: object) -> object:
    if isinstance(value, SourceRef):
        return value
    if isinstance(value, str):
        return SourceRef(id=str(value))
    if isinstance(value, Mapping):
        fields = dict(value)
        if fields.get("observed_at") is not None:
            fields["observed_at"] = times.instant(fields["observed_at"], "observed_at")
        return SourceRef.model_validate(fields)
    _refuse(f'is {value!r}; a source is its id, or {{"id": …, "locator": …, "quote": …}}')


SourceField = Annotated[SourceRef, BeforeValidator(_source)]


# ---------------------------------------------------------------- events


class Event(_Model):
    """What all events have. ``stated_at``: the time that a restamped line gave itself."""

    TYPE: ClassVar[str]
    SHAREABLE: ClassVar[tuple[str, ...]] = ()  # fields that may name shared ids

    id: EventId
    workspace: Label = ""
    stated_at: int | None = None

    @model_validator(mode="after")
    def _own_workspace(self) -> Self:
        for field in self.SHAREABLE:
            for ref in getattr(self, field):
                if isinstance(ref, Ref) and ref.workspace not in ("", self.workspace):
                    _refuse(
                        f"{field} names {ref.id!r} in workspace {ref.workspace!r}; only the "
                        'shared workspace "" may be named from another'
                    )
        return self

    def key(self, ref: str | Ref) -> Ref:
        """The workspace and id that a reference of this event means."""
        return ref if isinstance(ref, Ref) else Ref(self.workspace, ref)


class _Spanning(Event):
    valid_from: int = times.NEG
    valid_to: int = times.POS

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.valid_from >= self.valid_to:
            times.interval(self.valid_from, self.valid_to)
        return self

    @property
    def valid(self) -> times.Intervals:
        return (self.valid_from, self.valid_to)


class Claim(_Spanning):
    """A statement: subject, predicate, object, over an interval of valid time.

    With ``source`` or ``because`` it carries its own support, whose id is the claim's + "/support".
    """

    TYPE = "claim"
    SHAREABLE = ("because",)

    subject: Name
    predicate: Name
    object: Value
    text: Text | None = None
    kind: Name = "fact"
    perspective: Label = ""
    source: SourceField | None = None
    because: References = ()
    assumed: Text | None = None

    @model_validator(mode="after")
    def _one_basis(self) -> Self:
        if self.source is not None and self.because:
            _refuse("has both source and because; give one, and a further support for the other")
        return self


class Support(_Spanning):
    """Evidence for or against one claim: from a source, or derived from other claims."""

    TYPE = "support"
    SHAREABLE = ("because",)

    claim: Name
    source: SourceField | None = None
    because: References = ()
    stance: Literal["supports", "refutes"] = "supports"
    assumed: Text | None = None

    @model_validator(mode="after")
    def _one_basis(self) -> Self:
        if (self.source is None) == (not self.because):
            _refuse("needs exactly one of source and because (because names at least one claim)")
        return self


class Correction(Event):
    """A claim is replaced, by another or by nothing, over a portion of valid time.

    A bound that is ``None`` was left out and takes its default when the event is recorded.
    """

    TYPE = "correction"

    corrects: Name
    by: Name | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    source: SourceField | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _other(self) -> Self:
        if self.by == self.corrects:
            _refuse(f"corrects {self.corrects!r} by itself; name another claim, or none")
        return self

    @property
    def valid(self) -> times.Intervals:
        assert self.valid_from is not None, "portion not resolved"
        assert self.valid_to is not None, "portion not resolved"
        return (self.valid_from, self.valid_to)


class Withdrawal(_Spanning):
    """Takes back an event or artefact (``target``), or a whole source (``source``)."""

    TYPE = "withdrawal"

    target: Name | None = None
    source: Name | None = None
    reason: Text | None = None
    asked_by: SourceField | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.target is None) == (self.source is None):
            _refuse("needs exactly one of target and source")
        if self.target == self.id:
            _refuse("withdraws itself")
        return self


class _Artefact(Event):
    SHAREABLE = ("facts", "supports", "citations")

    text: Text
    facts: References = ()
    supports: References = ()
    sources: tuple[Name, ...] = ()
    citations: References = ()
    binding: Literal["dependencies", "snapshot"] = "dependencies"
    subjects: tuple[Name, ...] | None = None
    valid_at: int | None = None

    @model_validator(mode="after")
    def _bound(self) -> Self:
        if self.binding != "snapshot" and (self.subjects is not None or self.valid_at is not None):
            _refuse('has subjects or valid_at, which go with "binding": "snapshot" only')
        return self


class Citation(_Artefact):
    """A quotation or reference; names at least one support."""

    TYPE = "citation"

    @model_validator(mode="after")
    def _supported(self) -> Self:
        if not self.supports:
            _refuse("names no support; a citation names at least one")
        if self.citations:
            _refuse("names citations; only a summary does")
        return self


class Summary(_Artefact):
    """A text with declared dependencies; nothing is inferred from its words."""

    TYPE = "summary"

    @model_validator(mode="after")
    def _declared(self) -> Self:
        declared = self.facts or self.supports or self.sources or self.citations
        if not declared and self.binding != "snapshot":
            _refuse("declares nothing that it rests on: facts, supports, sources or citations")
        return self


class Policy(Event):
    """A rule for the workspace, or for all where the workspace is the shared one."""

    TYPE = "policy"

    single_valued: Name | None = None
    contradicts: tuple[Name, ...] = ()
    verified: Name | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _one_policy(self) -> Self:
        if sum(bool(getattr(self, name)) for name in POLICIES) != 1:
            _refuse(f"needs exactly one of {', '.join(POLICIES)}")
        if self.contradicts and len(set(self.contradicts)) < 2:
            _refuse("contradicts names fewer than two claims")
        return self


CLASSES: Final[dict[str, type[Event]]] = {
    cls.TYPE: cls for cls in (Claim, Support, Withdrawal, Correction, Citation, Summary, Policy)
}


# ---------------------------------------------------------------- exchange form → model


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
        if isinstance(rest.get("contradicts"), list):
            rest["contradicts"] = tuple(dict.fromkeys(rest["contradicts"]))
        if issubclass(cls, _Artefact):
            _parse_artefact(rest)
        else:
            _parse_bounds(rest, open_ends=cls is not Correction)
        return cls.model_validate(rest)
    except ValidationError as error:
        raise InvalidEvent(_explain(kind, fields, error)) from None
    except CallerError as error:
        raise type(error)(f"{kind} {_known_as(fields)}: {error}") from None


def _known_as(fields: Mapping[str, Any]) -> str:
    id = fields.get("id")
    return repr(id) if isinstance(id, str) and len(id) <= LABEL_LIMIT else "without a usable id"


def _explain(kind: str, fields: Mapping[str, Any], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "is not a key of this event"
    elif first["type"] == "missing":
        message = "is missing"
    elif first["type"] != "doxa":
        shown = repr(first.get("input"))
        message = f"is {shown if len(shown) <= 80 else shown[:77] + '...'}: {message}"
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
    for field in ("sources", "subjects"):
        if isinstance(rest.get(field), list):
            rest[field] = tuple(dict.fromkeys(rest[field]))
    if rest.get("valid_at") is not None:
        rest["valid_at"] = times.instant(rest["valid_at"], "valid_at")


# ---------------------------------------------------------------- stored form

# Fields of the head, in order; all others are content. Policies keep their name in the head and
# the predicate, which may be about a person, in the data.
_HEAD: Final[dict[str, tuple[str, ...]]] = {
    "claim": ("kind", "valid_from", "valid_to", "because"),
    "support": ("claim", "because", "stance", "valid_from", "valid_to"),
    "withdrawal": ("target", "source", "valid_from", "valid_to"),
    "correction": ("corrects", "by", "valid_from", "valid_to"),
    "citation": ("facts", "supports", "sources", "binding", "valid_at"),
    "summary": ("facts", "supports", "sources", "citations", "binding", "valid_at"),
    "policy": ("contradicts", "verified"),
}
_DEFAULTS: Final = {
    name: {
        field: info.default for field, info in cls.model_fields.items() if not info.is_required()
    }
    for name, cls in CLASSES.items()
}
_SOURCED: Final = ("claim", "support", "correction")


def _dump(value: object) -> bytes:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_ref_out
    ).encode()


def _ref_out(value: object) -> object:
    raise TypeError(f"{value!r} has no stored form")


def _plain(value: object) -> object:
    if isinstance(value, SourceRef):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Ref):
        return {"workspace": value.workspace, "id": value.id}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def encode(event: Event) -> tuple[bytes, bytes]:
    """The stored head and data of an event. Raises `PayloadTooLarge` above 1 MiB."""
    defaults = _DEFAULTS[event.TYPE]
    head: dict[str, object] = {"v": VERSION, "id": event.id}
    data: dict[str, object] = {}
    if event.workspace:
        head["workspace"] = event.workspace
    in_head = _HEAD[event.TYPE]
    for field in in_head:
        value = getattr(event, field)
        if value != defaults.get(field, head):
            head[field] = _plain(value)
    source = getattr(event, "source", None)
    if source is not None and event.TYPE in _SOURCED:
        head["source"] = source.id
        if details := source.model_dump(exclude={"id"}, exclude_none=True):
            data["source"] = details
    for field in type(event).model_fields:
        if field in in_head or field in ("id", "workspace", "source"):
            continue
        value = getattr(event, field)
        default = defaults.get(field, head)
        if value is not default and (value != default or type(value) is not type(default)):
            data[field] = _plain(value)
    encoded = _dump(head), _dump(data)
    size = len(encoded[0]) + len(encoded[1])
    if size > PAYLOAD_LIMIT:
        raise PayloadTooLarge(
            f"{event.TYPE} {event.id!r} has {size:,} bytes; the limit is {PAYLOAD_LIMIT:,}: "
            "keep large texts outside and claim their digest and place"
        )
    return encoded


Upcast = Callable[[dict[str, Any], dict[str, Any]], None]
# What turns the head and data of version n into those of n + 1, by (type, n).
_UPCASTS: dict[tuple[str, int], Upcast] = {}


def decode(kind: str, head: bytes, data: bytes | None) -> Event:
    """The event of a stored head and data; with ``data`` erased, its content is empty.

    Raises `NewerFormat` for an event of a later version, `DamageError` for one that can't be read.
    """
    try:
        fields: dict[str, Any] = from_json(head)
        content: dict[str, Any] = {} if data is None else from_json(data)
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
        fields["source"] = SourceRef.model_construct(
            id=fields["source"], **content.pop("source", {})
        )
    if "asked_by" in content:
        content["asked_by"] = SourceRef.model_construct(**content["asked_by"])
    for name in ("because", "facts", "supports", "citations", "sources", "contradicts"):
        if name in fields:
            fields[name] = tuple(
                Ref(**item) if isinstance(item, dict) else item for item in fields[name]
            )
    if "subjects" in content and content["subjects"] is not None:
        content["subjects"] = tuple(content["subjects"])
    if data is None and kind == "claim":
        content = {"subject": "", "predicate": "", "object": None}
    elif data is None and kind in ("citation", "summary"):
        content = {"text": ""}
    return cls.model_construct(None, **fields, **content)


# ---------------------------------------------------------------- equality


def equality_key(value: object) -> str:
    """Text that is equal for equal JSON values: numbers by value, text by code point.

    >>> equality_key(1) == equality_key(1.0) != equality_key(True)
    True
    """
    kind = type(value)
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is int:
        return f"{value:x}"
    if isinstance(value, float):
        return f"{int(value):x}" if value.is_integer() else repr(value)
    if isinstance(value, Mapping):
        inner = (
            f"{json.dumps(k, ensure_ascii=False)}:{equality_key(value[k])}" for k in sorted(value)
        )
        return "{" + ",".join(inner) + "}"
    assert isinstance(value, list | tuple), f"{value!r} is no JSON value"
    return "[" + ",".join(equality_key(item) for item in value) + "]"


def same_content(one: Event, other: Event) -> bool:
    """Whether two events say the same, whenever each was recorded."""
    return type(one) is type(other) and all(
        _equal(getattr(one, field), getattr(other, field))
        for field in type(one).model_fields
        if field != "stated_at"
    )


def _equal(one: object, other: object) -> bool:
    if isinstance(one, SourceRef) or isinstance(other, SourceRef):
        return one == other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one == other
    return equality_key(one) == equality_key(other)
