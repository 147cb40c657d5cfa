"""A graph that was built of documents, as events: who says which text, and what was extracted from
which chunk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final

from neo4j_graphrag.components.types import (
    GeoPoint,
    LexicalGraphConfig,
    Neo4jGraph,
    Neo4jNode,
    Neo4jRelationship,
)

from doxa.adapters.annotations import ANNOTATIONS
from doxa.adapters.carrying import Aside, checked_name, key, label, moment, plain

__all__ = ["IS_A", "SAYS", "Ids", "Said", "named", "said_by"]

SAYS: Final = "SAYS"  # a chunk's text, as said by its document
IS_A: Final = "IS_A"
_ASSUMED: Final = "always: the graph states no valid time"
_NAMES: Final = ("name", "title", "id")
_PATHLESS: Final = ("document.txt", "inline_text")  # the path of any text that is given as such


def named(node: Neo4jNode) -> str | None:
    """What an entity is called: its name, title or id; else its properties, under its label.

    A node without properties has no name that would be the same in the next run.
    """
    found = next((node.properties[name] for name in _NAMES if node.properties.get(name)), None)
    if found is not None:
        return str(found)
    if not node.properties:
        return None
    written = {name: _json(value) for name, value in sorted(node.properties.items())}
    return f"{node.label}({json.dumps(written, ensure_ascii=False)})"


@dataclass(frozen=True, slots=True)
class Ids:
    """How events are called: by their content, as the ids of nodes are others in each run."""

    name: str

    def __post_init__(self) -> None:
        checked_name(self.name)

    @property
    def prefix(self) -> str:
        """How the ids of all but claims begin."""
        return f"neo4j:{self.name}:"

    def claim(self, subject: str, predicate: str, object: Any, text: str | None) -> str:
        return f"neo4j:claim:{key(subject, predicate, object, text)}"

    def document(self, source: str) -> str:
        """How the parts begin that are of a document."""
        return f"{key(source, size=12)}:"

    def part(self, source: str, digest: str) -> str:
        """A chunk of a document, in the ids of what rests on it."""
        return f"{self.document(source)}{digest[:24]}"

    def support(self, part: str, claim: str) -> str:
        return f"{self.prefix}support:{part}:{key(claim)}"

    def citation(self, part: str) -> str:
        return f"{self.prefix}citation:{part}"


@dataclass(slots=True)
class Said:
    """What a graph says: events by id, in an order in which they can be recorded; the documents and
    chunks that it has, as they stand in ids; the claims and citations of each node and of each
    relationship, by its place; and what can't be recorded."""

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    documents: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    claims: dict[str, list[str]] = field(default_factory=dict)
    citations: dict[str, list[str]] = field(default_factory=dict)
    edges: dict[int, list[str]] = field(default_factory=dict)
    aside: list[Aside] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Source:
    """A chunk as a source of evidence, by the id of its node."""

    node: str
    part: str
    fields: dict[str, Any]


def said_by(
    graph: Neo4jGraph,
    config: LexicalGraphConfig,
    ids: Ids,
    source: str | None = None,
    name: Callable[[Neo4jNode], str | None] = named,
) -> Said:
    """What a graph says. ``source`` is where that is from which comes from no chunk, ``name`` gives
    an entity its name."""
    return _Mapping(graph, config, ids, source, name).run()


class _Mapping:
    def __init__(
        self,
        graph: Neo4jGraph,
        config: LexicalGraphConfig,
        ids: Ids,
        source: str | None,
        name: Callable[[Neo4jNode], str | None],
    ) -> None:
        self.graph, self.config, self.ids, self.name = graph, config, ids, name
        self.said = Said()
        self.later: list[dict[str, Any]] = []  # supports, then citations
        self.given = None if source is None else self._of_source(source)
        self.sources: dict[str, _Source] = {}  # chunk → source
        self.names: dict[str, str] = {}  # entity → name
        self.chunks: dict[str, list[_Source]] = {}  # entity → where it is from

    def run(self) -> Said:
        entities = self._lexical()
        for entity in entities:
            self._entity(entity)
        for place, edge in enumerate(self.graph.relationships):
            if edge.type not in self.config.lexical_graph_relationship_types:
                self._edge(place, edge)
        for event in self.later:
            self.said.events.setdefault(event["id"], event)
        return self.said

    def _set_aside(self, place: str, reason: str, text: object = "") -> None:
        self.said.aside.append(Aside.of(place, reason, text))

    # ------------------------------------------------------------ documents and chunks

    def _lexical(self) -> list[Neo4jNode]:
        """Reads documents and chunks; gives all other nodes."""
        document_label, chunk_label = self.config.lexical_graph_node_labels
        kinds: dict[str, list[Neo4jNode]] = {document_label: [], chunk_label: [], "": []}
        for node in self.graph.nodes:
            kinds[node.label if node.label in kinds else ""].append(node)
        of: dict[str, str] = {}
        for edge in self.graph.relationships:
            if edge.type == self.config.chunk_to_document_relationship_type:
                of[edge.start_node_id] = edge.end_node_id
        chunks: dict[str, list[Neo4jNode]] = {}
        for chunk in kinds[chunk_label]:
            chunks.setdefault(of.get(chunk.id, ""), []).append(chunk)
        documents = {node.id: node for node in kinds[document_label]}
        for id, document in documents.items():
            called = self._called(document, chunks.get(id, ()))
            self.said.documents.add(self.ids.document(called))
            for chunk in chunks.pop(id, ()):
                self._chunk(chunk, document, called)
        for chunk in (each for many in chunks.values() for each in many):
            self._chunk(chunk, None, "")
        for edge in self.graph.relationships:
            source = self.sources.get(edge.end_node_id)
            if edge.type == self.config.node_to_chunk_relationship_type and source is not None:
                self.chunks.setdefault(edge.start_node_id, []).append(source)
        return kinds[""]

    def _called(self, document: Neo4jNode, chunks: Iterable[Neo4jNode]) -> str:
        """What a document is called as a source: its path; a text that was given without one, by
        its words, as the library calls all of them the same."""
        path = label(str(document.properties.get("path") or ""))
        if path and (path, document.properties.get("document_type")) != _PATHLESS:
            return path
        return f"text {key(*sorted(map(self._text, chunks)))}"

    def _text(self, chunk: Neo4jNode) -> str:
        return plain(str(chunk.properties.get(self.config.chunk_text_property, "")))

    def _chunk(self, chunk: Neo4jNode, document: Neo4jNode | None, called: str) -> None:
        text = self._text(chunk)
        digest = hashlib.sha256(text.encode()).hexdigest()
        given = self.given.fields["id"] if self.given else ""
        speaker = called or given or f"chunk {digest[:24]}"
        index = chunk.properties.get(self.config.chunk_index_property)
        where = None if index is None else label(f"chunk {index}")
        part = self.ids.part(speaker, digest)
        fields = {
            "id": speaker,
            "locator": where,
            "digest": f"sha256:{digest}",
            "observed_at": self._observed(document),
        }
        source = self.sources[chunk.id] = _Source(chunk.id, part, fields)
        self.said.documents.add(self.ids.document(speaker))
        self.said.parts.add(part)
        if text.strip():
            (support,) = self._claims(chunk.id, [(speaker, SAYS, text, None)], [source])
            cited = speaker if where is None else label(f"{speaker}, {where}")
            event = {"event": "citation", "id": self.ids.citation(part), "text": cited}
            self.later.append({**event, "supports": [support]})
            self.said.citations[chunk.id] = [event["id"]]

    def _observed(self, document: Neo4jNode | None) -> datetime | None:
        at = None if document is None else document.properties.get("createdAt")
        try:
            return moment(at)
        except ValueError as error:
            self._set_aside("a document's createdAt", str(error))
            return None

    def _of_source(self, name: str) -> _Source:
        source = label(name)
        part = self.ids.part(source, hashlib.sha256(b"").hexdigest())
        self.said.documents.add(self.ids.document(source))
        self.said.parts.add(part)
        return _Source("", part, {"id": source})

    # ------------------------------------------------------------ entities and relationships

    def _entity(self, node: Neo4jNode) -> None:
        place = f"{node.label} {node.id}"
        name = self.name(node)
        subject = "" if name is None else label(str(name))
        if not subject:
            self._set_aside(place, "has no name; give a function that makes one", node.properties)
            return
        self.names[node.id] = subject
        sources = self.chunks.get(node.id, [self.given] if self.given else [])
        if not sources:
            self._set_aside(place, "comes from no chunk; give a source", subject)
            return
        said = [(subject, IS_A, node.label, None)]
        for property, value in node.properties.items():
            is_name = property in _NAMES and str(value) == name
            if label(property) and not is_name and property not in ANNOTATIONS:
                said.append((subject, label(property), _json(value), None))
        self._claims(node.id, said, sources)

    def _edge(self, place: int, edge: Neo4jRelationship) -> None:
        ends = edge.start_node_id, edge.end_node_id
        missing = next((end for end in ends if end not in self.names), None)
        about = f"{edge.type} of {ends[0]} and {ends[1]}"
        if missing is not None:
            self._set_aside(about, f"{missing} is no entity with a name in the graph")
            return
        one, other = (self.chunks.get(end, []) for end in ends)
        sources = [source for source in one if source in other]
        if not sources and not (one or other) and self.given:
            sources = [self.given]
        if not sources:
            self._set_aside(about, "its ends come from no common chunk")
            return
        start, end = (self.names[end] for end in ends)
        predicate = label(edge.type)
        if not predicate:
            self._set_aside(about, "its type holds nothing but marks")
            return
        text = None
        if edge.properties:
            written = {name: _json(value) for name, value in sorted(edge.properties.items())}
            text = plain(f"{start} {predicate} {end} {json.dumps(written, ensure_ascii=False)}")
        supports = self._claims("", [(start, predicate, end, text)], sources)
        self.said.edges[place] = [self.ids.claim(start, predicate, end, text)] if supports else []

    # ------------------------------------------------------------ events

    def _claims(
        self,
        node: str,
        said: Iterable[tuple[str, str, Any, str | None]],
        sources: Iterable[_Source],
    ) -> list[str]:
        """Claims of a node, with a support from each source; gives the ids of the supports."""
        supports: list[str] = []
        for subject, predicate, object, text in said:
            id = self.ids.claim(subject, predicate, object, text)
            fields = {"subject": subject, "predicate": predicate, "object": object, "text": text}
            event = {"event": "claim", "id": id, **fields, "assumed": _ASSUMED}
            self.said.events.setdefault(id, event)
            for source in sources:
                support = self.ids.support(source.part, id)
                supports.append(support)
                event = {"event": "support", "id": support, "claim": id, "source": source.fields}
                self.later.append(event)
                self._declare(source.node, id)
            self._declare(node, id)
        return supports

    def _declare(self, node: str, claim: str) -> None:
        """A node rests on a claim; a chunk, on all that was extracted from it."""
        if node:
            found = self.said.claims.setdefault(node, [])
            if claim not in found:
                found.append(claim)


def _json(value: Any) -> Any:
    """A property as a JSON value."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, GeoPoint):
        return value.model_dump()
    if isinstance(value, str):
        return plain(value)
    return [_json(each) for each in value] if isinstance(value, list) else value
