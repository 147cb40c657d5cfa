"""Which writes rejected values keep out, by definition: every value is compared with every other.

Unlike the engine, this holds the values themselves; it is for those who know them, such as a test.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Rejected", "Rejections", "alike", "form"]

DEEPEST: Final = 101  # lists and objects in one another, the outermost among them


@dataclass
class Rejected:
    """A value that was rejected, and what it is meant of. ``lifted`` are intervals of the time of
    recording at which it doesn't count, since it was withdrawn there."""

    id: str
    workspace: str
    value: Any
    predicate: str | None = None
    until: int | None = None
    lifted: list[tuple[int, int]] = field(default_factory=list)

    def keeps_out(
        self, workspace: str, predicate: str, object: Any, text: str | None, at: int
    ) -> bool:
        """Whether it keeps a claim out that would be recorded at an instant."""
        if self.workspace not in ("", workspace):
            return False
        if self.predicate is not None and self.predicate != predicate:
            return False
        if self.until is not None and at >= self.until:
            return False
        if any(start <= at < end for start, end in self.lifted):
            return False
        return alike(self.value, object) or (text is not None and alike(self.value, text))


@dataclass
class Rejections:
    """All that was rejected in a ledger, in order."""

    all: list[Rejected] = field(default_factory=list)

    def keeping_out(
        self, workspace: str, predicate: str, object: Any, text: str | None, at: int
    ) -> list[str]:
        """The ids of those that keep a claim out."""
        return [one.id for one in self.all if one.keeps_out(workspace, predicate, object, text, at)]


def alike(one: Any, other: Any) -> bool:
    """Whether two values differ in nothing but case, white space, the Unicode normal form, and how
    their JSON is written."""
    return form(one) == form(other)


def form(value: Any) -> Hashable:
    """What values that are alike have in common.

    >>> form("A\\u030a  b") == form("\\u00e5 B"), form("[1.0]") == form([1]), form("1") == form(1)
    (True, True, False)
    """
    if isinstance(value, str):
        words = _words(value)
        if words.startswith(("{", "[")):
            try:
                read = json.loads(
                    words, object_pairs_hook=_Object, parse_constant=_no, parse_float=_float
                )
            except (ValueError, RecursionError):
                return ("text", words)
            if isinstance(read, _Object | list) and _depth(read) <= DEEPEST:
                return _form(read)
        return ("text", words)
    return _form(value)


class _Object:
    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = list(pairs)


def _form(value: Any) -> Hashable:
    match value:
        case None | bool():
            return ("constant", repr(value))
        case int() | float():
            return ("number", value)
        case str():
            return ("text", _words(value))
        case list() | tuple():
            return ("list", tuple(_form(item) for item in value))
        case dict():
            return _form(_Object(value.items()))
        case _Object():
            pairs = [(_words(key), _form(item)) for key, item in value.pairs]
            counted = {pair: pairs.count(pair) for pair in pairs}
            return ("object", frozenset(counted.items()))
    raise TypeError(f"{value!r} is no JSON value")


def _words(text: str) -> str:
    nfc = unicodedata.normalize("NFC", text)
    folded = unicodedata.normalize("NFC", nfc.casefold())
    return re.sub(r"\s+", " ", folded).strip()


def _depth(value: Any) -> int:
    level, deepest = [value], 0
    while level:
        level = [item for item in level if isinstance(item, list | _Object)]
        deepest += bool(level)
        level = [
            item
            for holder in level
            for item in (holder if isinstance(holder, list) else [v for _, v in holder.pairs])
        ]
    return deepest


def _no(name: str) -> Any:
    raise ValueError(name)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number
