"""The kinds of field that events are made of: labels, texts, JSON values, references, sources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, NamedTuple, NoReturn, TypeGuard

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

from doxa.engine import times

__all__ = [
    "CARRIED",
    "LABEL_LIMIT",
    "PHRASES",
    "Compaction",
    "Compactions",
    "Days",
    "Digest",
    "Erasure",
    "Erasures",
    "EventId",
    "Label",
    "Model",
    "Name",
    "Names",
    "Parameters",
    "Phrases",
    "Ref",
    "Reference",
    "References",
    "Share",
    "SourceField",
    "SourceRef",
    "Text",
    "Value",
    "check_label",
    "check_name",
    "check_text",
    "check_value",
    "refuse",
]

CARRIED: Final = "/support"  # the id of a claim's own support is the claim's id with this ending
LABEL_LIMIT: Final = 1_000  # characters
INTEGER_LIMIT: Final = 13_000  # bits; Python reads no more than 4,300 digits from text
DEPTH_LIMIT: Final = 100  # nested lists and objects in a value
PHRASES: Final = 32  # that one claim is to be recalled at

# C0 and C1 controls, line and paragraph separators, bidirectional marks, surrogates
_BAD_LABEL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def refuse(message: str) -> NoReturn:
    raise PydanticCustomError("doxa", "{message}", {"message": message})


def check_text(value: str) -> str:
    if found := _SURROGATE.search(value):
        refuse(f"holds U+{ord(found[0]):04X} at {found.start()}, half of a surrogate pair")
    return value


def check_label(value: str) -> str:
    if value.isascii() and value.isprintable() and len(value) <= LABEL_LIMIT:
        return value
    check_text(value)
    if found := _BAD_LABEL.search(value):
        refuse(
            f"holds the control or direction mark U+{ord(found[0]):04X} at {found.start()}; "
            "a label is one line of plain text"
        )
    if len(value) > LABEL_LIMIT:
        refuse(f"has {len(value)} characters; a label has at most {LABEL_LIMIT}")
    return value


def check_name(value: str) -> str:
    if not value:
        refuse("is empty")
    return check_label(value)


def _event_id(value: str) -> str:
    if value.endswith(CARRIED):
        refuse(f"ends in {CARRIED!r}, which is reserved for the support that a claim carries")
    return check_name(value)


def check_value(value: object) -> object:
    """A copy of a JSON value, checked without recursion on the way down."""
    if value is None or type(value) is bool:
        return value
    if type(value) is int:
        if value.bit_length() > INTEGER_LIMIT:
            refuse(f"holds an integer of {value.bit_length():,} bits; at most {INTEGER_LIMIT:,}")
        return value
    if type(value) is str:
        return check_text(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            refuse(f"holds {value}, which is not a number that JSON has")
        return float(value)
    return _json_container(value, 0)


def _json_container(value: object, depth: int) -> object:
    if depth > DEPTH_LIMIT:
        refuse(f"is nested more than {DEPTH_LIMIT} deep")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                refuse(f"has the key {key!r}, of type {type(key).__name__}; keys are text")
        return {check_text(key): _json_nested(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_nested(item, depth) for item in value]
    refuse(
        f"holds something of type {type(value).__name__}; a value is null, true, false, "
        "a number, text, a list or an object with text keys"
    )


def _json_nested(value: object, depth: int) -> object:
    if isinstance(value, Mapping | list | tuple):
        return _json_container(value, depth + 1)
    return check_value(value)


Text = Annotated[str, AfterValidator(check_text)]
Label = Annotated[str, AfterValidator(check_label)]
Name = Annotated[str, AfterValidator(check_name)]
Names = Annotated[tuple[Name, ...], BeforeValidator(lambda v: tuple(v) if type(v) is list else v)]
EventId = Annotated[str, AfterValidator(_event_id)]
Value = Annotated[Any, BeforeValidator(check_value)]


def _phrases(value: object) -> object:
    """Phrases in their order, each once."""
    if isinstance(value, str | Mapping | set | frozenset) or not isinstance(value, Iterable):
        refuse(f"is {value!r:.80}; give a list of phrases")
    found = []
    for phrase in value:
        if not isinstance(phrase, str):
            refuse(f"holds {phrase!r:.80}; phrases are text")
        check_text(phrase)
        if not phrase.strip():
            refuse("holds an empty phrase")
        if len(phrase) > LABEL_LIMIT:
            refuse(f"holds a phrase of {len(phrase)} characters; at most {LABEL_LIMIT}")
        found.append(str(phrase))
    found = list(dict.fromkeys(found))
    if len(found) > PHRASES:
        refuse(f"holds {len(found)} phrases; at most {PHRASES}")
    return tuple(found)


Phrases = Annotated[tuple[str, ...], BeforeValidator(_phrases)]


def _parameters(value: object) -> object:
    """An object with the name of an embedder; the rest is judged where it is used."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        refuse(f"is {value!r:.80}; give an object of parameters")
    found = check_value(value)
    assert isinstance(found, dict)
    embedder = found.get("embedder")
    if not isinstance(embedder, str):
        refuse(f"has the embedder {embedder!r:.80}; give the name that it was fitted for")
    check_name(embedder)
    return found


Parameters = Annotated[dict[str, Any] | None, BeforeValidator(_parameters)]


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)  # a bool is none


def _share(value: object) -> object:
    if not _is_number(value) or not 0 <= value <= 1:
        refuse(f"is {value!r:.80}; give a number from 0 to 1")
    return float(value)


def _days(value: object) -> object:
    if not _is_number(value) or not 0 < value < 1e6:
        refuse(f"is {value!r:.80}; give a number of days above 0")
    return float(value)


def _digest(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        refuse(f"is {value!r:.80}; it is the digest of a value, in 64 hexadecimal digits")
    return str(value)


Share = Annotated[float, BeforeValidator(_share)]
Days = Annotated[float, BeforeValidator(_days)]
Digest = Annotated[str, BeforeValidator(_digest)]


class Ref(NamedTuple):
    """An id in a named workspace; ``Ref("", id)`` is the shared one."""

    workspace: str
    id: str


def _reference(value: object) -> object:
    if isinstance(value, Ref):
        return Ref(check_label(value.workspace), check_name(value.id))
    if isinstance(value, str):
        return check_name(str(value))
    if isinstance(value, Mapping) and set(value) == {"workspace", "id"}:
        workspace, id = value["workspace"], value["id"]
        if isinstance(workspace, str) and isinstance(id, str):
            return Ref(check_label(workspace), check_name(id))
    refuse(f'is {value!r}; a reference is an id, or {{"workspace": "", "id": …}} for a shared one')


def _listed(value: object) -> object:
    if isinstance(value, str | Ref | Mapping) or not isinstance(value, Iterable):
        refuse(f"is {value!r}; give a list of ids")
    return tuple(dict.fromkeys(_reference(item) for item in value))


Reference = Annotated[Any, BeforeValidator(_reference)]
References = Annotated[tuple[Any, ...], BeforeValidator(_listed)]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SourceRef(Model):
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
    refuse(f'is {value!r}; a source is its id, or {{"id": …, "locator": …, "quote": …}}')


SourceField = Annotated[SourceRef, BeforeValidator(_source)]


class Erasure(Model):
    """One erased event: its id, and of a claim the keyed digests of what it was about, by which
    questions whose answer it was are recognised. ``agrees`` are claims that said the same where a
    predicate had one value at a time."""

    id: Name
    subject: Digest | None = None
    predicate: Digest | None = None
    perspective: Digest | None = None
    agrees: Names = ()


def _erasures(value: object) -> object:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        refuse(f"is {value!r:.80}; give a list of what was erased")
    found: dict[str, Erasure] = {}
    for item in value:
        one = item if isinstance(item, Erasure) else Erasure.model_validate(item)
        found.setdefault(one.id, one)
    return tuple(found.values())


Erasures = Annotated[tuple[Erasure, ...], BeforeValidator(_erasures)]


class Compaction(Model):
    """What was compacted by a pass and by those before it: in how many ``stretches`` of how many
    ``events``, between which positions, and the digest of their record."""

    first: int
    last: int
    stretches: int
    events: int
    digest: Digest


Compactions = Annotated[
    Compaction | None,
    BeforeValidator(lambda v: Compaction.model_validate(dict(v)) if isinstance(v, Mapping) else v),
]
