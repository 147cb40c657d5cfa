"""What is searched: the texts of claims, of registered summaries, and of quotes in evidence.

A document is an entity of the graph: a claim, a summary (an artefact) or a support with a quote.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from doxa.engine import events as ev
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT

__all__ = ["LINEAGE", "Document", "documents", "spoken"]

LINEAGE: Final = "said-1"  # raised with every change of what is embedded of an event


class Document(NamedTuple):
    """One text of an event.

    ``kind`` is CLAIM, ARTEFACT or SUPPORT. ``said`` is what is embedded: the text as it was given,
    or subject, predicate and object in words. ``words`` is what is looked for by words: the same,
    behind the subject where a claim has a text. ``triggers`` are phrases that a claim is to be
    recalled at.
    """

    kind: int
    said: str
    words: str
    triggers: tuple[str, ...] = ()


def documents(event: ev.Event) -> Iterator[Document]:
    """The documents of one event, the claim's own before its quote; none where it was erased."""
    if event.erased:
        return
    if isinstance(event, ev.Claim):
        triggers = tuple(getattr(event, "recall_when", ()))
        if event.text is not None and event.text.strip():
            yield Document(CLAIM, event.text, f"{event.subject} {event.text}", triggers)
        else:
            said = spoken(event.subject, event.predicate, event.object)
            yield Document(CLAIM, said, said, triggers)
    elif isinstance(event, ev.Summary):
        yield Document(ARTEFACT, event.text, event.text)
    if isinstance(event, ev.Claim | ev.Support) and event.source is not None:
        quote = event.source.quote
        if quote is not None and quote.strip():
            yield Document(SUPPORT, quote, quote)


def spoken(subject: str, predicate: str, value: object) -> str:
    """A statement in words.

    >>> spoken("ada", "lives_in", "London")
    'ada lives in London'
    """
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{subject} {predicate.replace('_', ' ')} {words}"
