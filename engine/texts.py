"""The words of recorded events, as far as they are still there."""

from __future__ import annotations

import json

from doxa.engine import events as ev
from doxa.engine.graph import CLAIM, Graph
from doxa.engine.registry import Registry

__all__ = ["Texts", "side_text"]


class Texts:
    """The content of recorded events, each read once, and the ids of those that were erased."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._read: dict[int, ev.Event | None] = {}
        self.erased: set[str] = set()

    def event(self, position: int) -> ev.Event | None:
        """The event at a position, ``None`` where its content was erased."""
        if position not in self._read:
            event = self._registry.payload(position)
            self._read[position] = None if event.erased else event
            if event.erased:
                self.erased.add(event.id)
        return self._read[position]

    def artefact(self, row: int) -> str | None:
        """The registered text of an artefact, ``None`` where it was erased."""
        event = self.event(self._registry.graph.a_pos[row])
        assert event is None or isinstance(event, ev.Artefact), event
        return None if event is None else event.text


def side_text(graph: Graph, texts: Texts, number: int) -> str:
    """A side of a conflict in its own words: the claim's text, or subject, predicate and object as
    JSON; of evidence against a claim, where it is from, and the claim."""
    if number & 7 == CLAIM:
        return _claim_words(graph, texts, number >> 3)
    support = number >> 3
    against = _claim_words(graph, texts, graph.s_claim[support])
    event = texts.event(graph.s_pos[support])
    assert event is None or isinstance(event, ev.Support), event
    if event is None or event.source is None:
        premises = graph.s_because.get(support)
        words = "; ".join(_claim_words(graph, texts, premise) for premise in premises)
        return f"Against ({against}): {words or '(erased)'}"
    source = event.source
    parts = [source.id] + ([] if source.locator is None else [source.locator])
    quote = "" if source.quote is None else f": {source.quote}"
    return f"Against ({against}): {', '.join(parts)}{quote}"


def _claim_words(graph: Graph, texts: Texts, claim: int) -> str:
    event = texts.event(graph.c_pos[claim])
    if event is None:
        return "(erased)"
    assert isinstance(event, ev.Claim), event
    if event.text is not None and event.text and not event.text.isspace():
        return event.text
    return f"{event.subject} {event.predicate} {json.dumps(event.object, ensure_ascii=False)}"
