"""What one version of a file says: rows with a key, each with cells; and what makes two differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, NamedTuple
from weakref import ReferenceType

from pydantic_core import PydanticCustomError, to_json

from doxa.engine import times
from doxa.engine.codec import PAYLOAD_LIMIT
from doxa.engine.events import equality_key
from doxa.engine.fields import check_name, check_value

__all__ = ["Row", "RowKey", "Unsound", "Version", "changed", "checked_cell", "key_text", "name_of"]

_ROOM: Final = 16 << 10  # bytes of an event that are not its value
_SHORT: Final = 150_000  # characters that fit in whatever way they are written

_KEY: Final = itemgetter(0)

RowKey = tuple[str, int]  # the subject and, where rows say since when they apply, that instant


class Unsound(Exception):
    """A version of a file that can't be taken as what its author meant; nothing of it counts."""


class Row(NamedTuple):
    """One row: what it is about, the interval over which it applies, and its cells by column.

    The ``key`` is that by which it is known again in another version: the subject and the start.
    ``mark`` is the same for the same cells, types included; empty where cells are texts alone.
    """

    key: RowKey
    end: int
    cells: Mapping[str, Any]
    mark: bytes = b""

    @property
    def subject(self) -> str:
        """What it is about."""
        return self.key[0]

    @property
    def start(self) -> int:
        """Since when it applies."""
        return self.key[1]


class Since(NamedTuple):
    """That a version has the keys of another one, in the same order, and which of its rows may be
    others, with their places."""

    version: ReferenceType[Version]  # not kept by those that came later
    places: Mapping[RowKey, int | str]


@dataclass(frozen=True)
class Version:
    """The rows of a version by their keys, in the file's order; ``places`` are theirs in it."""

    rows: Mapping[RowKey, Row]
    places: Sequence[int | str] = field(repr=False, default=())
    since: Since | None = field(repr=False, default=None, compare=False)

    def follows(self, other: Version) -> Mapping[RowKey, int | str] | None:
        """The rows that may be others than in the version before, where that is known."""
        return self.since.places if self.since and self.since.version() is other else None

    def place(self, key: RowKey) -> int | str:
        """Where a row stands in the file."""
        known = None if self.since is None else self.since.places.get(key)
        return self.place_of[key] if known is None else known

    @classmethod
    def of(cls, rows: Sequence[Row], places: Sequence[int | str], dated: bool) -> Version:
        """The version of some rows. Raises `Unsound` where two have one key or, where rows are
        ``dated``, one key applies twice at one time."""
        found = dict(zip(map(_KEY, rows), rows, strict=True))
        if len(found) < len(rows):
            seen: dict[RowKey, int | str] = {}
            for row, place in zip(rows, places, strict=True):
                if row.key in seen:
                    raise Unsound(
                        f"the key {row.subject!r:.80} is there twice: at {seen[row.key]}, {place}"
                    )
                seen[row.key] = place
        if dated:
            _check_apart(rows)
        return cls(found, places)

    @cached_property
    def place_of(self) -> Mapping[RowKey, int | str]:
        """Where each row stands in the file."""
        return dict(zip(self.rows, self.places, strict=True))


def _check_apart(rows: Iterable[Row]) -> None:
    last: dict[str, Row] = {}
    for row in sorted(rows, key=_KEY):
        before = last.get(row.subject)
        if before is not None and row.start < before.end:
            raise Unsound(
                f"the key {row.subject!r:.80} is there twice at one time: "
                f"{times.span(before.start, before.end)} and {times.span(row.start, row.end)}"
            )
        last[row.subject] = row


def changed(old: object, new: object) -> bool:
    """Whether two values of a cell differ: numbers by value, `true` is not 1."""
    if type(old) is str and type(new) is str:
        return old != new
    return equality_key(old) != equality_key(new)


# ---------------------------------------------------------------- what can be recorded


def checked_cell(value: Any) -> Any:
    """A value of a cell that can be recorded. Raises `Unsound`."""
    if type(value) is str and len(value) < _SHORT and value.isascii():
        return value
    try:
        check_value(value)
    except PydanticCustomError as error:
        raise Unsound(f"a value {error.message()}") from None
    if type(value) is not bool and isinstance(value, str | list | dict | int):
        size = len(to_json(value))
        if size > PAYLOAD_LIMIT - _ROOM:
            raise Unsound(f"a cell has {size:,} bytes; at most {PAYLOAD_LIMIT - _ROOM:,} fit")
    return value


def name_of(text: str, what: str) -> str:
    """A subject or predicate. Raises `Unsound` where the text can't be one."""
    try:
        return check_name(text)
    except PydanticCustomError as error:
        raise Unsound(f"{what} {text!r:.60} {error.message()}") from None


def key_text(parts: Sequence[Any], prefix: str) -> str:
    """The subject of a row: its key as it is, or the JSON list of several.

    >>> key_text(["Berlin"], ""), key_text(["DE", 10115], "")
    ('Berlin', '["DE",10115]')
    """
    for part in parts:
        if part is None or part == "":
            raise Unsound("the key is empty")
        if isinstance(part, list | dict):
            raise Unsound(f"the key is {part!r:.60}; a key is text or a number")
    if len(parts) > 1:
        return name_of(prefix + to_json(list(parts)).decode(), "the key")
    only = parts[0]
    text = only if isinstance(only, str) else to_json(only).decode()
    return name_of(prefix + text, "the key")
