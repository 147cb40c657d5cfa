"""Stored events by column, as they are read from the log many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pydantic_core import from_json

from doxa.engine import codec
from doxa.engine.codec import Fields
from doxa.engine.log import Row
from doxa.engine.plain import Plain

__all__ = ["GONE", "READ", "Fields", "Page", "commit_ends", "parsed"]

_AROUND: Final = {"v", "id", "workspace", "valid_from", "valid_to"}
GONE: Final = "compacted"  # the kind of an event of which nothing but its place is known
READ: Final = {
    "claim": {*_AROUND, "kind", "source", "because"},
    "support": {*_AROUND, "claim", "source", "because", "stance"},
    "correction": {*_AROUND, "corrects", "by"},
    "withdrawal": {*_AROUND, "target"},
    GONE: {"v", "id", "workspace"},
}
_SUPPORTED: Final = ("claim", "support")  # their content is read too; both add rows of supports
_PART: Final = 100  # texts that are parsed at once


@dataclass
class Page:
    """Events by column; without a head, one is to be decoded by itself."""

    kinds: Sequence[str]
    heads: list[Any]  # fields, or None
    contents: list[Any]

    @classmethod
    def read(cls, rows: Sequence[Row]) -> Page:
        """The fields of stored rows."""
        _, _, kinds, stored, data, _ = zip(*rows, strict=True)
        heads, contents = parsed(stored, GONE in kinds), parsed(data)
        version = codec.VERSION
        for i, (kind, head) in enumerate(zip(kinds, heads, strict=True)):
            known = READ.get(kind)
            if known is None or not head.keys() <= known or head["v"] != version:
                heads[i] = None
        if None in data:
            for i, (kind, content) in enumerate(zip(kinds, contents, strict=True)):
                if content is None and kind != GONE:
                    heads[i] = None
        return cls(kinds, heads, contents)

    @classmethod
    def of(cls, events: Sequence[Plain]) -> Page:
        """The fields of plain events, which are about to be stored."""
        kinds, _, _, _, _, _, _, heads, contents = zip(*events, strict=True)
        return cls(kinds, list(heads), list(contents))

    def part(self, first: int, end: int) -> Page:
        """The events from one place to before another."""
        return Page(self.kinds[first:end], self.heads[first:end], self.contents[first:end])

    def at(self, places: Sequence[int]) -> tuple[list[Fields], list[Fields]]:
        """The heads and contents at some places."""
        heads, contents = self.heads, self.contents
        if len(places) == len(heads):
            return heads, contents
        return [heads[i] for i in places], [contents[i] for i in places]

    def set_apart(self, everything: bool) -> list[int]:
        """The places of the events of one commit that are decoded by themselves: all of a sort, so
        that the rows of each stay in the log's order."""
        sorts = {_sort(kind) for kind, h in zip(self.kinds, self.heads, strict=True) if h is None}
        apart = [
            i
            for i, kind in enumerate(self.kinds)
            if (everything or _sort(kind) in sorts) and kind != GONE
        ]
        for i in apart:
            self.heads[i] = None
        return apart


def _sort(kind: str) -> str:
    return "claim" if kind in _SUPPORTED else kind


def parsed(texts: Sequence[bytes | None], alike: bool = False) -> list[Any]:
    """The values of JSON texts; ``None`` where there is none. Raises `ValueError`. Where many are
    ``alike``, equal ones are parsed once."""
    if alike:
        distinct = list(dict.fromkeys(texts))
        each = dict(zip(distinct, parsed(distinct), strict=True))
        return [each[text] for text in texts]
    found: list[Any] = []
    for start in range(0, len(texts), _PART):
        part = texts[start : start + _PART]
        try:
            joined = b",".join([b"null" if text is None else text for text in part])
            values = from_json(b"[%b]" % joined, cache_strings="keys")
        except (ValueError, TypeError):  # by itself each says more, and is read as text too
            values = ()
        if len(values) != len(part):
            values = [None if text is None else from_json(text) for text in part]
        found += values
    return found


def commit_ends(rows: Sequence[Row]) -> list[int]:
    """Where the commits of some rows end: the places after their last ones."""
    times = [row.recorded_at for row in rows]
    ends = [i for i, (one, next) in enumerate(pairwise(times), 1) if one != next]
    return [*ends, len(rows)]
