"""What may be given to an assembly: texts with what they rest on, read without trusting them.

A candidate that can't be read is left out and named; it never stops the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from functools import partial
from numbers import Real
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

from doxa.engine.belief import Standing
from doxa.engine.errors import CallerError
from doxa.engine.events import Ref
from doxa.engine.registry import Reason
from doxa.engine.view import Id

__all__ = [
    "Candidate",
    "Given",
    "LeftOut",
    "Omission",
    "Unread",
    "as_omission",
    "check_many",
    "from_json",
    "read",
    "read_all",
    "surrogate",
    "to_json",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
LISTS: Final = ("facts", "supports", "citations", "sources")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may go into a block, with what it declares that it rests on.

    ``facts`` are ids of claims, ``supports`` of evidence, ``citations`` of registered citations,
    ``sources`` names of sources; nothing is inferred from the text. Higher ``score`` is better.
    ``artefact`` is the id of the registered summary whose text this is; it may then be left out.
    A candidate that declares nothing, and has the id of a registered summary, is that summary.
    ``workspace`` is where plain ids are looked up; left out: the view's, then the shared one.
    Plain mappings with these keys are taken as well.
    """

    id: str
    text: str | None = None
    facts: Sequence[Id] = ()
    supports: Sequence[Id] = ()
    citations: Sequence[Id] = ()
    sources: Sequence[str] = ()
    score: float = 0.0
    artefact: Id | None = None
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that is not in a block, and the first reason that applies.

    ``about`` is the id of what is missing, ``standing`` that of a missing fact, ``detail`` the
    reason in words.
    """

    id: str
    reason: Reason
    detail: str
    about: str | None = None
    standing: Standing | None = None

    def __str__(self) -> str:
        return f"{self.id or '(no id)'}: {self.reason}: {self.detail}"

    def as_dict(self) -> dict[str, str | None]:
        """The candidate as a JSON object."""
        return Omission(self.id, self.reason, self.detail, self.about, self.standing).as_dict()


class Omission(NamedTuple):
    """What a `LeftOut` is made of, when somebody asks for it."""

    id: str
    reason: Reason
    detail: str
    about: str | None = None
    standing: Standing | None = None

    def as_dict(self) -> dict[str, str | None]:
        """The JSON object of the `LeftOut`."""
        id, reason, detail, about, standing = self
        return {
            "id": id,
            "reason": str(reason),
            "detail": detail,
            "about": about,
            "standing": None if standing is None else str(standing),
        }


class Given(NamedTuple):
    """A candidate as it was read: sound, each of its lists a tuple of ids and `Ref`s, each once."""

    id: str
    text: str | None = None
    facts: tuple[str | Ref, ...] = ()
    supports: tuple[str | Ref, ...] = ()
    citations: tuple[str | Ref, ...] = ()
    sources: tuple[str, ...] = ()
    score: float = 0.0
    artefact: str | Ref | None = None
    workspace: str | None = None


class Unread(NamedTuple):
    """A candidate that can't be read: its id (empty where it has none), why, and whether it
    declared anything at all."""

    id: str
    detail: str
    declares: bool


# from a tuple of all fields, in half the time
_as_given = cast("Callable[[tuple[Any, ...]], Given]", partial(tuple.__new__, Given))
as_omission = cast("Callable[[tuple[Any, ...]], Omission]", partial(tuple.__new__, Omission))
_by_id = itemgetter(0)
FIELDS: Final = tuple(field.name for field in fields(Candidate))
_NAMED: Final = frozenset(FIELDS)
_USUAL: Final = frozenset(("id", "text", "facts", "score", "artefact"))  # all that most have
assert Given._fields == FIELDS


class _Bad(Exception):
    """Why one candidate can't be read."""


def check_many(given: object) -> Iterable[object]:
    """Refuses what is no collection of candidates."""
    if isinstance(given, str | bytes | Mapping | Candidate) or not isinstance(given, Iterable):
        raise CallerError(
            f"candidates is {_shown(given)}; give a list of candidates, or leave it out for the "
            "registered summaries"
        )
    return given


def read_all(given: object) -> list[Given | Unread]:
    """The candidates given, each read by itself, in an order that does not depend on theirs.

    Those whose id another one has too are not read: neither may stand for the other.
    """
    every = sorted(map(read, check_many(given)), key=_by_id)
    if len(set(map(_by_id, every))) == len(every):
        return every
    found: dict[str, list[Given | Unread]] = {}
    for one in every:
        found.setdefault(one.id, []).append(one)
    kept: list[Given | Unread] = []
    for id, same in found.items():
        if len(same) == 1:
            kept += same
            continue
        if id == "":
            kept += sorted(same, key=str)
            continue
        declares = any(isinstance(one, Given) or one.declares for one in same)
        kept.append(
            Unread(id, f"{len(same)} candidates have the id {id!r}; give each its own", declares)
        )
    return kept


def read(item: object) -> Given | Unread:
    """One candidate, or why it can't be read."""
    if type(item) is dict:
        values: dict[Any, Any] = item
        if (usual := _usual(values)) is not None:
            return usual
    elif isinstance(item, Candidate):
        values = {name: getattr(item, name) for name in FIELDS}
    elif isinstance(item, Mapping):
        values = dict(item)
    else:
        return Unread("", f"is of type {type(item).__name__}; give a Candidate or a mapping", True)
    try:
        id = _text("id", values.get("id"))
    except _Bad as bad:
        return Unread("", str(bad), _declares(values))
    try:
        return _read(id, values)
    except _Bad as bad:
        return Unread(id, str(bad), _declares(values))


def _usual(values: dict[Any, Any]) -> Given | None:
    """A candidate with nothing odd about it, as most are, read in fewer steps; ``None`` for all
    others, which are to be looked at closely."""
    if not _USUAL.issuperset(values):
        return None
    get = values.get
    id, text, facts, score = get("id"), get("text"), get("facts", ()), get("score", 0.0)
    artefact = get("artefact")
    if (
        type(id) is not str
        or type(text) is not str
        or type(score) is not float
        or not (type(facts) is list or type(facts) is tuple)
        or not (artefact is None or (type(artefact) is str and artefact and artefact.isascii()))
        or not id
        or id.isspace()
        or not id.isascii()
        or not text
        or text.isspace()
        or not (text.isascii() or _SURROGATE.search(text) is None)
        or not math.isfinite(score)
    ):
        return None
    for fact in facts:
        if type(fact) is not str or not fact or not fact.isascii():
            return None
    once = (facts[0],) if len(facts) == 1 else tuple(dict.fromkeys(facts))
    return _as_given((id, text, once, (), (), (), score + 0.0, artefact, None))


def _declares(values: Mapping[Any, Any]) -> bool:
    lists = (values.get(name) for name in LISTS)
    return values.get("artefact") is not None or any(
        value is not None and not (isinstance(value, Sized) and len(value) == 0) for value in lists
    )


def _shown(value: object) -> str:
    """A value in words that are the same in every process."""
    if isinstance(value, int) and value.bit_length() > 10_000:
        return "a whole number of very many digits"  # Python refuses to write it out
    if value is None or isinstance(value, str | int | float):
        return f"{value!r:.60}"
    return f"something of type {type(value).__name__}"


def _read(id: str, values: Mapping[Any, Any]) -> Given:
    if not values.keys() <= _NAMED:
        name = next(name for name in values if name not in _NAMED)
        raise _Bad(f"{_shown(name)} is no key of a candidate; they are {', '.join(FIELDS)}")
    get = values.get
    text, artefact, workspace = get("text"), get("artefact"), get("workspace")
    if text is not None:
        text = _text("text", text)
    facts = _ids("facts", values["facts"]) if "facts" in values else ()
    supports = _ids("supports", values["supports"]) if "supports" in values else ()
    citations = _ids("citations", values["citations"]) if "citations" in values else ()
    sources = _texts("sources", values["sources"]) if "sources" in values else ()
    if workspace is not None and not isinstance(workspace, str):
        raise _Bad(f"workspace is {_shown(workspace)}; give its name")
    score = _score(get("score", 0.0))
    if artefact is not None:
        artefact = _id("artefact", artefact)
    if workspace is not None:
        workspace = _sound("workspace", workspace)
    return Given(id, text, facts, supports, citations, sources, score, artefact, workspace)


def _sound(name: str, value: str) -> str:
    at = surrogate(value)
    if at is not None:
        raise _Bad(f"{name} holds half of a surrogate pair at {at}: it is not Unicode text")
    return str(value)


def surrogate(text: str) -> int | None:
    """Where a text holds half of a surrogate pair, if it does."""
    found = None if text.isascii() else _SURROGATE.search(text)
    return None if found is None else found.start()


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _Bad(f"{name} is {_shown(value)}; give text")
    if not value or value.isspace():
        raise _Bad(f"{name} is empty")
    return value if type(value) is str and value.isascii() else _sound(name, value)


def _list(name: str, value: object) -> Sequence[Any]:
    if type(value) is list or type(value) is tuple:
        return value
    if isinstance(value, str | bytes | Ref | Mapping) or not isinstance(value, Iterable):
        raise _Bad(f"{name} is {_shown(value)}; give a list of ids")
    listed = list(value)
    return sorted(listed, key=repr) if isinstance(value, set | frozenset) else listed


def _texts(name: str, value: object) -> tuple[str, ...]:
    return _distinct([_text(name, item) for item in _list(name, value)])


def _ids(name: str, value: object) -> tuple[str | Ref, ...]:
    return _distinct([_id(name, item) for item in _list(name, value)])


def _distinct(values: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values) if len(values) > 1 else values)


def _id(name: str, value: object) -> str | Ref:
    if type(value) is str and value and value.isascii():
        return value
    if isinstance(value, Ref):
        value = {"workspace": value.workspace, "id": value.id}
    if isinstance(value, Mapping) and set(value) == {"workspace", "id"}:
        if isinstance(value["workspace"], str):
            return Ref(_sound(name, value["workspace"]), _text(name, value["id"]))
    elif isinstance(value, str):
        return _text(name, value)
    raise _Bad(f'{name} has {_shown(value)}; an id is text, or {{"workspace": …, "id": …}}')


def _score(value: object) -> float:
    if type(value) is float and math.isfinite(value):
        return value + 0.0  # -0.0 and 0.0 are one score
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _Bad(f"score is {_shown(value)}; give a number, higher is better")
    try:
        score = float(value)
    except (OverflowError, TypeError, ValueError):
        score = math.inf
    if not math.isfinite(score):
        raise _Bad(f"score is {_shown(value)}; give a finite number")
    return score + 0.0


# ------------------------------------------------------------ in receipts


def to_json(one: Given | Unread) -> dict[str, Any]:
    """A candidate as it was read, as a JSON object; `from_json` gives it back."""
    if isinstance(one, Unread):
        return {"id": one.id, "unread": one.detail, "declares": one.declares}
    found: dict[str, Any] = {"id": one.id}
    if one.text is not None:
        found["text"] = one.text
    for name in LISTS:
        if ids := getattr(one, name):
            found[name] = [_id_out(id) for id in ids]
    # Whole numbers without a point: a receipt stays the same through tools that write 1.0 as 1.
    found["score"] = int(one.score) if one.score.is_integer() else one.score
    if one.artefact is not None:
        found["artefact"] = _id_out(one.artefact)
    if one.workspace is not None:
        found["workspace"] = one.workspace
    return found


def _id_out(id: Id) -> object:
    return {"workspace": id.workspace, "id": id.id} if isinstance(id, Ref) else id


def from_json(value: object) -> Given | Unread:
    """The candidate of a receipt. Raises `CallerError` where it is none."""
    if isinstance(value, Mapping) and "unread" in value:
        id, detail, declares = value.get("id"), value["unread"], value.get("declares")
        if isinstance(id, str) and isinstance(detail, str) and isinstance(declares, bool):
            return Unread(id, detail, declares)
    one = read(value)
    if isinstance(one, Unread) or to_json(one) != value:
        raise CallerError(f"the receipt holds a candidate that none would: {value!r:.120}")
    return one
