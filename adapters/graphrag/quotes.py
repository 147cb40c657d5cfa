"""Where a claim's quote stands in its text unit, and how well it agrees with it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

__all__ = ["GRADES", "Found", "Grade", "locate"]

Grade = Literal["exact", "loose", "pieces", "some pieces", "not found", "no quote", "no text"]
GRADES: Final[tuple[Grade, ...]] = (
    *("exact", "loose", "pieces", "some pieces", "not found", "no quote", "no text"),
)  # fmt: skip

_ENDS: Final = re.compile(
    r"(?<=[.!?。\uff01\uff1f\u201d\"])\s+|[;\uff1b\n]|\.{3}|…|,,|(?<=[。\uff01\uff1f])"
)
_EDGES: Final = " \t;,\"'\u201c\u201d\u2018\u2019«»「」"
_WORD: Final = re.compile(r"\S+")
_SHORT: Final = 15  # characters of a piece that says too little to be looked for
_LONG: Final = 20_000  # characters of a quote that are looked for


@dataclass(frozen=True, slots=True)
class Found:
    """``grade``: ``exact``, ``loose`` (but for white space and case), ``pieces`` (all of its
    sentences), ``some pieces``, ``not found``, ``no quote``, or ``no text`` to look in; ``spans``
    are the characters, from and to."""

    grade: Grade
    spans: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        if not self.spans:
            return f"quote {self.grade}"
        return f"characters {', '.join(f'{a}-{b}' for a, b in self.spans)} ({self.grade})"


def locate(quote: str | None, text: str | None) -> Found:
    """Finds a quote in a text. O(text for each piece).

    >>> locate("the  CAT", "See the cat."), locate("a dog", "See the cat.").grade
    (Found(grade='loose', spans=((4, 11),)), 'not found')
    """
    if quote is None or not quote.strip():
        return Found("no quote")
    if text is None:
        return Found("no text")
    if (start := text.find(quote)) >= 0:
        return Found("exact", ((start, start + len(quote)),))
    quote = quote[:_LONG]
    if (span := _loosely(quote.strip(_EDGES), text)) is not None:
        return Found("loose", (span,))
    parts = [part.strip(_EDGES) for part in _ENDS.split(quote)]
    parts = [part for part in parts if len(part) > _SHORT]
    spans = [span for part in parts if (span := _loosely(part, text)) is not None]
    if not spans:
        return Found("not found")
    return Found("pieces" if len(spans) == len(parts) else "some pieces", tuple(spans))


def _loosely(quote: str, text: str) -> tuple[int, int] | None:
    """Where it stands, but for white space and case."""
    wanted = _folded(quote).text
    if not wanted:
        return None
    folded = _folded(text)
    start = folded.text.find(wanted)
    return None if start < 0 else folded.span(start, start + len(wanted))


class _Folded(NamedTuple):
    """A text in lower case with one space between words; where each word begins, here and in the
    text itself."""

    text: str
    begins: list[int]
    stood: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the text itself."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        word = bisect_right(self.begins, at) - 1
        return self.stood[word] + at - self.begins[word]


@lru_cache(maxsize=256)
def _folded(text: str) -> _Folded:
    words: list[str] = []
    begins: list[int] = []
    stood: list[int] = []
    length = 0
    for found in _WORD.finditer(text):
        word = found[0].lower()
        if len(word) != len(found[0]):  # a letter that is two in lower case
            word = "".join(low if len(low := sign.lower()) == 1 else sign for sign in found[0])
        words.append(word)
        begins.append(length)
        stood.append(found.start())
        length += len(word) + 1
    return _Folded(" ".join(words), begins, stood)
