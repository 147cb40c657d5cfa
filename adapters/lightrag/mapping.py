"""What a LightRAG store says, as events: its chunks, what was extracted from them, and the merged
descriptions as summaries of that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final

from doxa.adapters.carrying import Aside, checked_name, key, label, moment, plain
from doxa.adapters.lightrag.records import SEP, Debris, Entity, Relation, extracted
from doxa.adapters.lightrag.store import NO_FILE, Chunk, Described, Document, Store, pair_of

__all__ = ["IS_A", "RELATED_TO", "SAYS", "Ids", "Said", "said_by", "shown", "speaker"]

SAYS: Final = "SAYS"  # a chunk's text, as said by its document
IS_A: Final = "IS_A"
RELATED_TO: Final = "RELATED_TO"
_ASSUMED: Final = "always: LightRAG states no valid time"
_UNTYPED: Final = ("", "UNKNOWN", "unknown")


@dataclass(frozen=True, slots=True)
class Ids:
    """How the events of one import are called: by their content, whatever else is known of it."""

    name: str

    def __post_init__(self) -> None:
        checked_name(self.name)

    @property
    def prefix(self) -> str:
        """How the ids of all but claims begin."""
        return f"lightrag:{self.name}:"

    def claim(self, subject: str, predicate: str, object: str, text: str | None) -> str:
        return f"lightrag:claim:{key(subject, predicate, object, text)}"

    def text(self, subject: str, text: str) -> str:
        return f"{self.texts(text)}{key(subject, size=12)}"

    def texts(self, text: str) -> str:
        """How the claims begin that somebody says this text."""
        return f"lightrag:text:{key(plain(text))}:"

    def part(self, document: str, chunk: str) -> str:
        """A chunk of a document, in the ids of what rests on it."""
        return f"{key(document, size=12)}:{chunk}"

    def support(self, part: str, claim: str) -> str:
        return f"{self.prefix}support:{part}:{key(claim)}"

    def citation(self, part: str) -> str:
        return f"{self.prefix}citation:{part}"

    def description(self, name: str | tuple[str, str], text: str) -> str:
        """How the summaries begin that are this description of an entity or of a pair."""
        return f"{self.about(name)}{key(text)}:"

    def about(self, name: str | tuple[str, str]) -> str:
        kind = "entity" if isinstance(name, str) else "relation"
        return f"{self.prefix}{kind}:{key(name)}:"


def speaker(file: str, chunk: str) -> str:
    """Who says the text of a chunk: its file or, where none is known, the chunk."""
    return label(chunk if file in NO_FILE else file) or "?"


def shown(description: str) -> str:
    """A merged description as lines."""
    return plain("\n".join(part for part in description.split(SEP) if part.strip()))


@dataclass(slots=True)
class Said:
    """What a store says now: events by id, in an order in which they can be recorded, the chunks
    that it has, and what can't be told of it for now."""

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    chunks: set[str] = field(default_factory=set)  # parts, as they stand in ids
    unsettled: set[str] = field(default_factory=set)  # documents, as they stand in ids
    undecided: set[str] = field(default_factory=set)  # how ids of descriptions begin
    aside: list[Aside] = field(default_factory=list)
    graph: bool = True  # whether there is a graph, with all descriptions that count


def said_by(store: Store, ids: Ids, zone: tzinfo | None = None) -> Said:
    """What the store says; times in it that have no zone are of ``zone``."""
    return _Mapping(store, ids, zone).run()


@dataclass(slots=True)
class _Source:
    """A chunk of a settled document, as a source of evidence."""

    chunk: Chunk
    part: str
    fields: dict[str, Any]


class _Mapping:
    def __init__(self, store: Store, ids: Ids, zone: tzinfo | None) -> None:
        self.store, self.ids, self.zone = store, ids, zone
        self.said = Said(aside=list(store.aside), graph=store.nodes is not None)
        self.sources: dict[str, _Source] = {}
        # entity or pair → chunk → claims
        self.claims: dict[str | tuple[str, str], dict[str, list[str]]] = {}
        self.later: list[dict[str, Any]] = []  # supports, then citations

    def run(self) -> Said:
        for document in self.store.documents.values():
            if document.status != "processed":
                self.said.unsettled.add(key(document.id, size=12))
                reason = f"is {document.status}: nothing new is read of it, and nothing taken back"
                self._set_aside(f"document {document.id}", reason)
        for chunk in self.store.chunks.values():
            self._chunk(chunk)
        described = [*(self.store.nodes or {}).values(), *(self.store.edges or {}).values()]
        for each in described:
            self._untold(each)
        summaries = [summary for each in described for summary in self._summary(each)]
        for event in (*self.later, *summaries):
            self.said.events.setdefault(event["id"], event)
        return self.said

    def _set_aside(self, place: str, reason: str, text: object = "") -> None:
        self.said.aside.append(Aside.of(place, reason, text))

    # ------------------------------------------------------------ chunks

    def _chunk(self, chunk: Chunk) -> None:
        document = self.store.documents.get(chunk.document)
        if document is None:
            reason = f"is of the document {chunk.document}, which the store does not list"
            self._set_aside(f"chunk {chunk.id}", reason)
            return
        if document.status != "processed":
            return
        source = self.sources[chunk.id] = self._source(chunk, document)
        self.said.chunks.add(source.part)
        subject = speaker(chunk.file, chunk.id)
        claim = self._claim(subject, SAYS, plain(chunk.text), None)
        support = self._support(claim, source)
        cited = subject if subject == label(chunk.id) else f"{subject}, {label(chunk.id)}"
        self.later.append(
            {
                "event": "citation",
                "id": self.ids.citation(source.part),
                "text": cited,
                "supports": [support],
            }
        )
        for answer in self.store.answers_for(chunk):
            for record in extracted(answer):
                self._record(record, source)

    def _source(self, chunk: Chunk, document: Document) -> _Source:
        known = chunk.file not in NO_FILE
        name = label(chunk.file if known else document.id) or "?"
        id = f"{name}#{document.hash[:12]}"
        digest = hashlib.sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest()
        part = self.ids.part(document.id, key(id, chunk.id, digest, size=16))
        fields = {
            "id": id,
            "locator": label(chunk.id),
            "digest": f"sha256:{digest}",
            "origin": name,
            "observed_at": self._observed(document),
        }
        return _Source(chunk, part, fields)

    def _observed(self, document: Document) -> datetime | None:
        try:
            return moment(document.indexed, self.zone)
        except ValueError as error:
            self._set_aside(f"document {document.id}, when it was indexed", str(error))
            return None

    def _record(self, record: Entity | Relation | Debris, source: _Source) -> None:
        place = f"chunk {source.chunk.id}"
        if isinstance(record, Debris):
            self._set_aside(place, record.reason, record.text)
        elif isinstance(record, Entity):
            if not self.store.has_entity(record.name, source.chunk.id):
                self._set_aside(place, "the graph does not have it from here", record.name)
                return
            self._evidence(record.name, source, record.name, IS_A, record.kind, record.description)
        else:
            pair = pair_of(record.source, record.target)
            if not self.store.has_relation(*pair, source.chunk.id):
                self._set_aside(place, "the graph does not have it from here", " / ".join(pair))
                return
            ends = record.source, RELATED_TO, record.target
            self._evidence(pair, source, *ends, record.description)

    # ------------------------------------------------------------ events

    def _evidence(
        self,
        about: str | tuple[str, str],
        source: _Source,
        subject: str,
        predicate: str,
        object: str,
        text: str | None,
    ) -> None:
        """A claim about an entity or a pair, and its support from a chunk."""
        if not label(subject):
            self._set_aside(f"chunk {source.chunk.id}", "the name holds nothing but marks", subject)
            return
        claim = self._claim(label(subject), predicate, plain(object), text and plain(text))
        self._support(claim, source)
        found = self.claims.setdefault(about, {}).setdefault(source.chunk.id, [])
        if claim not in found:
            found.append(claim)

    def _claim(self, subject: str, predicate: str, object: str, text: str | None) -> str:
        if predicate == SAYS:
            id = self.ids.text(subject, object)
        else:
            id = self.ids.claim(subject, predicate, object, text)
        fields = {"subject": subject, "predicate": predicate, "object": object, "text": text}
        event = {"event": "claim", "id": id, **fields, "assumed": _ASSUMED}
        self.said.events.setdefault(id, event)
        return id

    def _support(self, claim: str, source: _Source) -> str:
        id = self.ids.support(source.part, claim)
        self.later.append({"event": "support", "id": id, "claim": claim, "source": source.fields})
        return id

    # ------------------------------------------------------------ the graph

    def _chunks_of(self, each: Described) -> Sequence[str]:
        """Which chunks a node or an edge is from: the store's own list, which is whole, or else the
        one in the graph."""
        if isinstance(each.name, str):
            rows, row = self.store.entity_chunks, each.name
        else:
            rows, row = self.store.relation_chunks, SEP.join(each.name)
        return each.chunks if rows is None or row not in rows else rows[row]

    def _untold(self, each: Described) -> None:
        """What the graph has from a chunk, though no answer of a model about it is kept."""
        told: Mapping[str, Any] = self.claims.get(each.name, {})
        for chunk in self._chunks_of(each):
            source = self.sources.get(chunk)
            if source is None or chunk in told:
                continue
            if isinstance(each.name, str):
                kind = "entity" if each.kind in _UNTYPED else each.kind
                self._evidence(each.name, source, each.name, IS_A, kind, None)
            else:
                one, other = each.name
                self._evidence(each.name, source, one, RELATED_TO, other, None)

    def _summary(self, each: Described) -> Iterator[dict[str, Any]]:
        """The description of a node or an edge, resting on all that it was merged from."""
        text = shown(each.description)
        if not text.strip():
            return
        chunks = list(dict.fromkeys((*self._chunks_of(each), *each.chunks)))
        gone = [chunk for chunk in chunks if chunk not in self.sources]
        told = self.claims.get(each.name, {})
        if gone or not chunks or not told:
            self._undescribed(each, gone)
            return
        facts = list(dict.fromkeys(claim for chunk in chunks for claim in told.get(chunk, ())))
        supports = sorted(self._supports_of(told, chunks))
        yield {
            "event": "summary",
            "id": self.ids.description(each.name, text) + key(supports, size=12),
            "text": text,
            "facts": facts,
            "supports": supports,
        }

    def _supports_of(
        self, told: Mapping[str, Iterable[str]], chunks: Iterable[str]
    ) -> Iterator[str]:
        for chunk in chunks:
            for claim in told.get(chunk, ()):
                yield self.ids.support(self.sources[chunk].part, claim)

    def _undescribed(self, each: Described, gone: list[str]) -> None:
        named = each.name if isinstance(each.name, str) else " / ".join(each.name)
        if any(chunk in self.store.chunks for chunk in gone):
            self.said.undecided.add(self.ids.about(each.name))
            reason = f"rests on {gone[0]}, of a document that is not processed"
        elif gone:
            reason = f"rests on {gone[0]}, which is no chunk of the store"
        else:
            reason = "rests on no chunk"
        self._set_aside(f"description of {named}", reason, each.description)
