"""A transformation that records what extractors found, and says in the graph what it rests on."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_serializer
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    LabelledNode,
    Relation,
)
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent

from doxa.adapters.annotations import ANNOTATIONS, annotated
from doxa.adapters.carrying import label, plain
from doxa.adapters.evidence import IS_A, Evidence, Ids, Part, Said, record
from doxa.adapters.judging import Sieve

__all__ = ["LedgerRecorder", "RecordEvent", "source_of"]

dispatcher = get_dispatcher(__name__)
_SOURCES = ("file_path", "url", "source", "file_name")
_ENTITY = EntityNode(name="").label  # of an entity whose type nobody said


class RecordEvent(BaseEvent):
    """What extractors found was recorded: how much of it was new, and what was set aside."""

    told: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        return "RecordEvent"


def source_of(node: BaseNode) -> str | None:
    """Where a chunk is from: the file or address in its metadata, or else its document's id."""
    found = next((node.metadata[name] for name in _SOURCES if node.metadata.get(name)), None)
    return node.ref_doc_id if found is None else str(found)


class LedgerRecorder(TransformComponent):
    """Records each chunk's text as said by its document, and the entities and relations that were
    extracted from it as claims with a support from that chunk.

    It goes last among the ``kg_extractors`` of a `PropertyGraphIndex`, or into an
    `IngestionPipeline`. Chunks, relations, and entities that say something come out with
    ``claim_ids``, so that they can be judged. The same chunks again write nothing. With ``replace``
    the nodes of a call are all there is of their documents: what rested on other chunks of them is
    withdrawn. ``naming`` says where a chunk is from. How much was written is in a `RecordEvent`, or
    in what `record` returns.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    ledger: Any = Field(description="An open ledger, or the path of one.")
    name: str = "default"
    workspace: str = ""
    replace: bool = False
    naming: Callable[[BaseNode], str | None] = Field(default=source_of, exclude=True)
    keys: Any = Field(default=None, exclude=True)
    _sieve: Sieve = PrivateAttr()
    _ids: Ids = PrivateAttr()
    _writing: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, ledger: Any, **fields: Any) -> None:
        super().__init__(ledger=ledger, **fields)
        self._ids = Ids("llamaindex", self.name)
        self._sieve = Sieve(ledger, workspace=self.workspace, keys=self.keys)

    @classmethod
    def class_name(cls) -> str:
        return "LedgerRecorder"

    @field_serializer("ledger")
    def _place(self, value: Any) -> str:
        """Tells ledgers apart where a pipeline asks whether it has done the same before."""
        given = isinstance(value, str | os.PathLike)
        return os.fspath(value) if given else f"{value!r} at {id(value)}"

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self._sieve.close()

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        self.record(nodes)
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        return await asyncio.to_thread(self.__call__, nodes)

    def record(self, nodes: Sequence[BaseNode]) -> dict[str, Any]:
        """Records what nodes say, and declares it in them; gives how many events are new, and what
        was set aside."""
        evidence = Evidence(self._ids)
        made = [_Chunk(evidence, node, self.naming(node) or "") for node in nodes]
        said = evidence.said()
        with self._writing:  # one looks at what is there while no other writes
            told = record(self._sieve.open, self.workspace, self._ids, said, replace=self.replace)
        for chunk in made:
            chunk.declare(said)
        dispatcher.event(RecordEvent(told=told))
        return told


class _Chunk:
    """A node, and the claims of what was extracted from it."""

    def __init__(self, evidence: Evidence, node: BaseNode, source: str) -> None:
        self.evidence, self.node = evidence, node
        start, end = (getattr(node, f"{name}_char_idx", None) for name in ("start", "end"))
        where = None if start is None or end is None else f"characters {start} to {end}"
        text = node.get_content(metadata_mode=MetadataMode.NONE) or ""
        self.own = set(node.metadata) - {KG_NODES_KEY, KG_RELATIONS_KEY}
        self.part = evidence.chunk(node.node_id, source, text, where)
        self.entities: list[LabelledNode] = list(node.metadata.get(KG_NODES_KEY) or ())
        self.relations: list[Relation] = [  # without those between chunks, which nobody says
            each
            for each in node.metadata.get(KG_RELATIONS_KEY) or ()
            if each.source_id != node.node_id
        ]
        self.names = {entity.id: label(_name(entity)) for entity in self.entities}
        parts = [self.part]
        self.claims: list[tuple[LabelledNode | Relation, list[str]]] = [
            *((each, self._entity(each, parts)) for each in self.entities),
            *((each, self._relation(each, parts)) for each in self.relations),
        ]

    def _extracted(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties that are not the chunk's metadata, which extractors put there too."""
        return {
            name: _json(value)
            for name, value in properties.items()
            if name not in self.own and name not in ANNOTATIONS and label(name)
        }

    def _entity(self, entity: LabelledNode, parts: list[Part]) -> list[str]:
        name = self.names[entity.id]
        if not name:
            self.evidence.set_aside(f"an entity of {self.node.node_id}", "has no name", entity.id)
            return []
        said = [] if entity.label == _ENTITY else [(name, IS_A, plain(entity.label), None)]
        more = self._extracted(entity.properties).items()
        facts = [*said, *((name, label(key), value, None) for key, value in more)]
        claims = self.evidence.claims("", facts, parts)
        return claims if more else []  # an index embeds all properties: none to no purpose

    def _relation(self, relation: Relation, parts: list[Part]) -> list[str]:
        ends = relation.source_id, relation.target_id
        start, end = (self.names.get(id, label(id)) for id in ends)
        predicate = label(relation.label)
        if not (start and predicate and end):
            place = f"a relation of {self.node.node_id}"
            self.evidence.set_aside(place, "has an end or a type without a name", str(relation))
            return []
        text = None
        if more := self._extracted(relation.properties):
            written = json.dumps(more, ensure_ascii=False, sort_keys=True)
            text = plain(f"{start} {predicate} {end} {written}")
        return self.evidence.claims("", [(start, predicate, end, text)], parts)

    def declare(self, said: Said) -> None:
        """Says in the metadata and in the properties what each of them rests on."""
        for each, claims in self.claims:
            kept = {k: v for k, v in each.properties.items() if k not in ANNOTATIONS}
            each.properties = {**kept, **annotated({"facts": claims} if claims else {})}
        node = self.node
        notes = annotated(
            {
                "facts": said.claims.get(node.node_id, []),
                "citations": said.citations.get(node.node_id, []),
            }
        )
        kept = {k: v for k, v in node.metadata.items() if k not in ANNOTATIONS}
        node.metadata = {**kept, **notes}
        for keys in (node.excluded_llm_metadata_keys, node.excluded_embed_metadata_keys):
            keys.extend(key for key in notes if key not in keys)


def _name(entity: LabelledNode) -> str:
    return str(getattr(entity, "name", None) or entity.id)


def _json(value: Any) -> Any:
    """A property as a JSON value."""
    if isinstance(value, str):
        return plain(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _json(each) for key, each in value.items()}
    return str(value)
