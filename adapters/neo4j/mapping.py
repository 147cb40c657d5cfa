"""A graph that was built of documents, as events: who says which text, and what was extracted from
which chunk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
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
from doxa.adapters.carrying import key, label, moment, plain
from doxa.adapters.evidence import IS_A, Evidence, Ids, Part, Said

__all__ = ["named", "said_by"]

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


def said_by(
    graph: Neo4jGraph,
    config: LexicalGraphConfig,
    ids: Ids,
    source: str | None = None,
    name: Callable[[Neo4jNode], str | None] = named,
) -> tuple[Said, dict[int, list[str]]]:
    """What a graph says, and the claims of each relationship by its place. ``source`` is where that
    is from which comes from no chunk, ``name`` gives an entity its name."""
    mapping = _Mapping(graph, config, ids, source, name)
    mapping.run()
    return mapping.evidence.said(), mapping.edges


class _Mapping:
    def __init__(
        self,
        graph: Neo4jGraph,
        config: LexicalGraphConfig,
        ids: Ids,
        source: str | None,
        name: Callable[[Neo4jNode], str | None],
    ) -> None:
        self.graph, self.config, self.name = graph, config, name
        self.evidence = Evidence(ids)
        self.edges: dict[int, list[str]] = {}
        self.given = None if source is None else self.evidence.source(source)
        self.sources: dict[str, Part] = {}  # chunk → source
        self.names: dict[str, str] = {}  # entity → name
        self.chunks: dict[str, list[Part]] = {}  # entity → where it is from

    def run(self) -> None:
        for entity in self._lexical():
            self._entity(entity)
        for place, edge in enumerate(self.graph.relationships):
            if edge.type not in self.config.lexical_graph_relationship_types:
                self._edge(place, edge)

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
            self.evidence.document(called)
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
        given = self.given.fields["id"] if self.given else ""
        index = chunk.properties.get(self.config.chunk_index_property)
        self.sources[chunk.id] = self.evidence.chunk(
            chunk.id,
            called or given,
            self._text(chunk),
            None if index is None else f"chunk {index}",
            self._observed(document),
        )

    def _observed(self, document: Neo4jNode | None) -> datetime | None:
        at = None if document is None else document.properties.get("createdAt")
        try:
            return moment(at)
        except ValueError as error:
            self.evidence.set_aside("a document's createdAt", str(error))
            return None

    # ------------------------------------------------------------ entities and relationships

    def _entity(self, node: Neo4jNode) -> None:
        place = f"{node.label} {node.id}"
        name = self.name(node)
        subject = "" if name is None else label(str(name))
        if not subject:
            self.evidence.set_aside(
                place, "has no name; give a function that makes one", node.properties
            )
            return
        self.names[node.id] = subject
        sources = self.chunks.get(node.id, [self.given] if self.given else [])
        if not sources:
            self.evidence.set_aside(place, "comes from no chunk; give a source", subject)
            return
        said = [(subject, IS_A, node.label, None)]
        for property, value in node.properties.items():
            is_name = property in _NAMES and str(value) == name
            if label(property) and not is_name and property not in ANNOTATIONS:
                said.append((subject, label(property), _json(value), None))
        self.evidence.claims(node.id, said, sources)

    def _edge(self, place: int, edge: Neo4jRelationship) -> None:
        ends = edge.start_node_id, edge.end_node_id
        missing = next((end for end in ends if end not in self.names), None)
        about = f"{edge.type} of {ends[0]} and {ends[1]}"
        if missing is not None:
            self.evidence.set_aside(about, f"{missing} is no entity with a name in the graph")
            return
        one, other = (self.chunks.get(end, []) for end in ends)
        sources = [source for source in one if source in other]
        if not sources and not (one or other) and self.given:
            sources = [self.given]
        if not sources:
            self.evidence.set_aside(about, "its ends come from no common chunk")
            return
        start, end = (self.names[end] for end in ends)
        predicate = label(edge.type)
        if not predicate:
            self.evidence.set_aside(about, "its type holds nothing but marks")
            return
        text = None
        if edge.properties:
            written = {name: _json(value) for name, value in sorted(edge.properties.items())}
            text = plain(f"{start} {predicate} {end} {json.dumps(written, ensure_ascii=False)}")
        self.edges[place] = self.evidence.claims("", [(start, predicate, end, text)], sources)


def _json(value: Any) -> Any:
    """A property as a JSON value."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, GeoPoint):
        return value.model_dump()
    if isinstance(value, str):
        return plain(value)
    return [_json(each) for each in value] if isinstance(value, list) else value
