"""The words of recorded events, as far as they are still there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from pydantic_core import from_json

from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.graph import CLAIM, Graph
from doxa.engine.log import Row

__all__ = ["Rows", "Texts", "side_text"]

Rows = Callable[[Sequence[int]], dict[int, Row]]


class Texts:
    """The content of recorded events, each read once, and the ids of those that were erased.

    ``rows`` reads the stored events at some positions of the log that the graph is of.
    """

    def __init__(self, graph: Graph, rows: Rows) -> None:
        self.graph, self._rows = graph, rows
        self._expected: list[int] = []
        self._stored: dict[int, Row] = {}
        self._read: dict[int, ev.Event | None] = {}
        self._texts: dict[int, str] = {}  # of artefacts, by position
        self.erased: set[str] = set()

    def expect(self, artefacts: Iterable[int]) -> None:
        """Says which artefacts will be asked for next: they are read together, with the first of
        them that is."""
        self.expect_at([self.graph.a_pos[row] for row in artefacts])

    def expect_at(self, positions: Sequence[int]) -> None:
        """The same of the events at some positions."""
        self._expected = [*positions]

    def event(self, position: int) -> ev.Event | None:
        """The event at a position, ``None`` where its content was erased."""
        if position not in self._read:
            row = self._row(position)
            event = codec.decode(row.type, row.head, row.data)
            self._read[position] = None if event.erased else event
            if event.erased:
                self.erased.add(event.id)
        return self._read[position]

    def _row(self, position: int) -> Row:
        row = self._stored.pop(position, None)
        if row is None:
            expected = set(self._expected).difference(self._read, self._texts, self._stored)
            self._stored |= self._rows([*expected | {position}])
            self._expected = []
            row = self._stored.pop(position)
        return row

    def artefact(self, row: int) -> str | None:
        """The registered text of an artefact, ``None`` where it was erased."""
        position = self.graph.a_pos[row]
        text = self._texts.get(position)
        if text is None and position not in self._read:
            stored = self._row(position)
            text = _plain_text(stored)
            if text is None:
                self._stored[position] = stored
            else:
                self._texts[position] = text
        if text is not None:
            return text
        event = self.event(position)
        assert event is None or isinstance(event, ev.Artefact), event
        return None if event is None else event.text


def _plain_text(stored: Row) -> str | None:
    """The text of a stored artefact without the event around it; ``None`` where it was erased, or
    has to be decoded to be told what is wrong with it."""
    if stored.data is None:
        return None
    try:
        head, data = from_json(stored.head), from_json(stored.data)
        text = data["text"] if head["v"] == codec.VERSION else None
    except (ValueError, KeyError, TypeError):
        return None
    return text if type(text) is str else None


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
