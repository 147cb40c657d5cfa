"""Searching by words, from the definition: every document counted, every term of it looked at.

BM25 (Robertson and Zaragoza 2009) in the form that Kamphuis, de Vries, Boytsov and Lin (2020) call
"Lucene (accurate)", with k1 = 1.2 and b = 0.75. What the words of a text are, the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import log
from typing import NamedTuple

__all__ = ["Claim", "Text", "fired", "scores"]

Words = Callable[[str], Sequence[str]]


class Text(NamedTuple):
    """A document: its id, its workspace, and where in the log it was recorded."""

    id: object
    workspace: str
    position: int
    text: str


class Claim(NamedTuple):
    """A claim with the phrases at which it is to be recalled."""

    id: object
    workspace: str
    position: int
    phrases: Sequence[str]


def scores(
    documents: Iterable[Text],
    query: str,
    workspaces: Collection[str],
    upto: int,
    words: Words,
    questions: Words | None = None,
) -> dict[object, float]:
    """The score of each document in the workspaces, recorded up to a position, that has a word of
    the question; its words may be told by another function, ``questions``. A word that the question
    has twice counts twice."""
    pool = [
        (document.id, list(words(document.text)))
        for document in documents
        if document.workspace in workspaces and document.position <= upto
    ]
    asked = list((questions or words)(query))
    found: dict[object, float] = {}
    for id, terms in pool:
        if any(term in terms for term in asked):
            found[id] = _score(sorted(set(asked)), asked, terms, [other for _, other in pool])
    return found


def _score(
    order: Sequence[str], asked: Sequence[str], terms: Sequence[str], pool: Sequence[Sequence[str]]
) -> float:
    average = sum(len(other) for other in pool) / len(pool)
    norm = 1.2 * (1 - 0.75 + 0.75 * (len(terms) / average))
    score = 0.0
    for term in order:
        often = terms.count(term)
        if often:
            having = sum(1 for other in pool if term in other)
            idf = log(1 + (len(pool) - having + 0.5) / (having + 0.5))
            score += (asked.count(term) * idf) * (often / (often + norm))
    return score


def fired(
    claims: Iterable[Claim], query: str, workspaces: Collection[str], upto: int, words: Words
) -> dict[object, int]:
    """The claims in the workspaces, recorded up to a position, with a phrase whose words are in the
    question, next to each other and in order; and how many words the longest such phrase has."""
    asked = list(words(query))
    found: dict[object, int] = {}
    for claim in claims:
        if claim.workspace not in workspaces or claim.position > upto:
            continue
        for phrase in claim.phrases:
            run = list(words(phrase))
            starts = range(len(asked) - len(run) + 1)
            if run and any(asked[i : i + len(run)] == run for i in starts):
                found[claim.id] = max(found.get(claim.id, 0), len(run))
    return found
