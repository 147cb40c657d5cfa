"""Where a claim's quote stands in its text unit, and how well it agrees with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["GRADES", "Found", "Grade", "locate"]

Grade = Literal["exact", "loose", "pieces", "some pieces", "not found", "no quote", "no text"]
GRADES: Final[tuple[Grade, ...]] = (
    *("exact", "loose", "pieces", "some pieces", "not found", "no quote", "no text"),
)  # fmt: skip

_ENDS: Final = re.compile(
    r"(?<=[.!?。\uff01\uff1f\u201d\"])\s+|[;\uff1b\n]|\.{3}|…|,,|(?<=[。\uff01\uff1f])"
)
_EDGES: Final = " \t;,\"'\u201c\u201d\u2018\u2019«»「」"
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
    words = [re.escape(word) for word in quote.split()]
    found = re.search(r"\s+".join(words), text, re.IGNORECASE) if words else None
    return None if found is None else found.span()
