"""The citations in a text, ``[Data: Entities (5, 7); Reports (1, +more)]``: read and written.

Models write them in many ways: with commas between the tables, in full-width signs, in other
languages, with words among the numbers. What is no number is handed on, to be told of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from doxa.adapters.graphrag.words import VOCABULARY, Vocabulary

__all__ = ["Cited", "citations", "written"]

_NARROW: Final = str.maketrans(
    "\uff08\uff09\uff3b\uff3d【】\uff1a\uff1b\uff0c、\uff0b", "()[][]:;,,+"
)
_CUT: Final = re.compile(r"\+\s*(more|更多|其他)|^(\.{3}|…|etc\.?|更多|等)$", re.IGNORECASE)
_SPLIT: Final = re.compile(r"[,;\s]+and\s+|[,;]|\s+(?=[\d+])")
_LAST_WORD: Final = re.compile(r"[^\d;,]*$")
_BARE: Final = re.compile(r"([^\d+]*)")
_BETWEEN: Final = " \t\r\n;,.&#:"
_DIGITS: Final = 18  # of a row's number
_LONG: Final = 20_000  # characters of one citation; a bracket that is open for longer is none


@dataclass(frozen=True, slots=True)
class Cited:
    """What a text cites of one table: its ``word`` for it, the ``table`` that this means (`None`
    where that is not known), the rows' ``numbers``, whether the list was cut (``more``), and what
    stands there that is no number (``odd``)."""

    word: str
    table: str | None
    numbers: tuple[int, ...] = ()
    more: bool = False
    odd: tuple[str, ...] = ()


def citations(text: str, vocabulary: Vocabulary = VOCABULARY) -> list[Cited]:
    """What a text cites, in order. O(text).

    >>> citations("Rich [Data: Claims (2, 7, +more)].")
    [Cited(word='Claims', table='covariates', numbers=(2, 7), more=True, odd=())]
    """
    narrow = text.translate(_NARROW)
    found: list[Cited] = []
    for start in _beginning(vocabulary.data).finditer(narrow):
        body = narrow[start.end() : start.end() + _LONG]
        found += _tables(_bracketed(body), vocabulary)
    return found


@lru_cache(maxsize=64)
def _beginning(words: frozenset[str]) -> re.Pattern[str]:
    told = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"\[\s*(?:{told})\s*:", re.IGNORECASE)


def _bracketed(body: str) -> str:
    """Up to the bracket that closes it, or to where another opens."""
    end = re.search(r"[\[\]]", body)
    return body[: end.start()] if end else body


def _tables(body: str, vocabulary: Vocabulary) -> Iterator[Cited]:
    """The tables of one citation: a word and, in parentheses, rows of it."""
    word, depth, start, said = "", 0, 0, 0
    for place, sign in enumerate(body):
        if sign == "(":
            if depth == 0:
                between = body[said:place].strip(_BETWEEN)
                own = _LAST_WORD.search(between)
                assert own is not None, "it matches nothing, too"
                yield from _bare(between[: own.start()], vocabulary)
                word, start = own[0].strip(_BETWEEN) or word, place + 1
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
            if depth == 0:
                yield _cited(word, body[start:place], vocabulary)
                said = place + 1
    if depth:  # never closed
        yield _cited(word, body[start:], vocabulary)
    else:
        yield from _bare(body[said:], vocabulary)


def _bare(said: str, vocabulary: Vocabulary) -> Iterator[Cited]:
    """Tables without parentheses: ``Entities 5, 7; Reports 1``."""
    for part in said.split(";"):
        if part.strip(_BETWEEN + ")"):
            split = _BARE.match(part)
            assert split is not None, "it matches nothing, too"
            yield _cited(split[1].strip(_BETWEEN), part[split.end() :], vocabulary)


def _cited(word: str, inside: str, vocabulary: Vocabulary) -> Cited:
    numbers: dict[int, None] = {}
    odd: dict[str, None] = {}
    more = False
    table = vocabulary.dataset(word.removeprefix("and ").strip())
    for item in _SPLIT.split(inside):
        item = item.strip(" \t\r\n#\"'`*.")
        if _CUT.search(item) or item == "+":
            more = True
        elif item.isascii() and item.isdigit() and len(item) <= _DIGITS:
            numbers[int(item)] = None
        elif item:
            odd[item] = None
    return Cited(word, table, tuple(numbers), more, tuple(odd))


def written(cited: Iterable[Cited]) -> str:
    """The citation that says this, as graphrag writes it.

    >>> written([Cited("Reports", "community_reports", (1, 3), more=True)])
    '[Data: Reports (1, 3, +more)]'
    """
    parts = (
        f"{c.word} ({', '.join([*map(str, c.numbers), *c.odd, *(['+more'] if c.more else [])])})"
        for c in cited
    )
    return f"[Data: {'; '.join(parts)}]"
