"""A property graph that gives only what may be believed.

Its retrievers put triplets into the texts of other chunks, where nobody can judge them any more. So
they are judged here, before they are put together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.vector_stores.types import VectorStoreQuery

from doxa.adapters.judging import Found, Sieve
from doxa.adapters.llamaindex.nodes import as_found, as_nodes
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    import os

    from doxa.ledger import Ledger

__all__ = ["TruthGraphStore"]


class TruthGraphStore(PropertyGraphStore):
    """Another property graph store, of which only those triplets and chunks can be read that may be
    believed; writing goes through to it.

    A triplet rests on what the properties of its relation declare, a chunk on its metadata. The
    properties of an entity are given where they declare what is held, and are left away elsewhere.
    ``judging`` are the settings of `doxa.adapters.judging.Sieve`. Queries in the store's own
    language are refused: what they bring back can't be judged.
    """

    supports_structured_queries = False

    def __init__(
        self,
        store: PropertyGraphStore,
        ledger: Ledger | str | os.PathLike[str],
        **judging: Any,
    ) -> None:
        self.store, self.sieve = store, Sieve(ledger, **judging)
        self.sieve.quiet = True  # of what it is asked for at once, often nothing declares anything
        self.supports_vector_queries = store.supports_vector_queries

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self.sieve.close()

    @property
    def client(self) -> Any:
        return self.store.client

    # -- read

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Entities, as they are found, and the chunks that may be believed."""
        return self._chunks(self.store.get(properties, ids))

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """The triplets that may be believed, in their order."""
        return self._held(self.store.get_triplets(entity_names, relation_names, properties, ids))

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """The triplets around entities that may be believed, in their order."""
        return self._held(self.store.get_rel_map(graph_nodes, depth, limit, ignore_rels))

    def get_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        """The chunks that may be believed, with our keys in their metadata."""
        return self._nodes(self.store.get_llama_nodes(node_ids))

    def vector_query(
        self, query: VectorStoreQuery, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """What is near a vector, without the chunks that may not be believed."""
        return self._near(*self.store.vector_query(query, **kwargs))

    async def aget(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        return await asyncio.to_thread(self._chunks, await self.store.aget(properties, ids))

    async def aget_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        asked = entity_names, relation_names, properties, ids
        return await asyncio.to_thread(self._held, await self.store.aget_triplets(*asked))

    async def aget_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        found = await self.store.aget_rel_map(graph_nodes, depth, limit, ignore_rels)
        return await asyncio.to_thread(self._held, found)

    async def aget_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        return await asyncio.to_thread(self._nodes, await self.store.aget_llama_nodes(node_ids))

    async def avector_query(
        self, query: VectorStoreQuery, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        return await asyncio.to_thread(self._near, *await self.store.avector_query(query, **kwargs))

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Is refused."""
        raise CallerError(
            "what a query in the store's own language brings back can't be judged; ask the store "
            "itself, and judge the nodes that are made of it"
        )

    def get_schema(self, refresh: bool = False) -> Any:
        """The schema of the store."""
        return self.store.get_schema(refresh=refresh)

    # -- written

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Writes nodes into the store."""
        self.store.upsert_nodes(nodes)

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Writes relations into the store."""
        self.store.upsert_relations(relations)

    def upsert_llama_nodes(self, llama_nodes: list[BaseNode]) -> None:
        """Writes chunks into the store."""
        self.store.upsert_llama_nodes(llama_nodes)

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Deletes from the store."""
        self.store.delete(entity_names, relation_names, properties, ids)

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Has the store written down."""
        self.store.persist(persist_path, fs)

    # -- judged

    def _kept(self, found: Iterable[Found]) -> set[int]:
        """Which of these may be believed, by their place."""
        placed = [
            Found(one.text, one.metadata, one.id, None, place) for place, one in enumerate(found)
        ]
        return {kept.found.item for kept in self.sieve.filter(placed)}

    def _held(self, triplets: Sequence[Triplet]) -> list[Triplet]:
        relations = [
            Found(f"{one.id} -> {relation.id} -> {other.id}", relation.properties)
            for one, relation, other in triplets
        ]
        ends = [
            Found(end.id, end.properties)
            for triplet in triplets
            for end in (triplet[0], triplet[2])
        ]
        kept = self._kept([*relations, *ends])  # at one view
        first = len(relations)
        return [
            (
                _end(one, relation, first + 2 * place in kept),
                relation,
                _end(other, relation, first + 2 * place + 1 in kept),
            )
            for place, (one, relation, other) in enumerate(triplets)
            if place in kept
        ]

    def _chunks(self, nodes: Sequence[LabelledNode]) -> list[LabelledNode]:
        return self._near(nodes, [0.0] * len(nodes))[0]

    def _near(
        self, nodes: Sequence[LabelledNode], scores: Sequence[float]
    ) -> tuple[list[LabelledNode], list[float]]:
        kept = self._kept(
            Found(node.text, node.properties, node.id)
            if isinstance(node, ChunkNode)
            else Found(node.id)
            for node in nodes
        )
        pairs = [
            (node, score)
            for place, (node, score) in enumerate(zip(nodes, scores, strict=True))
            if place in kept or not isinstance(node, ChunkNode)
        ]
        return [node for node, _ in pairs], [score for _, score in pairs]

    def _nodes(self, nodes: Sequence[BaseNode]) -> list[BaseNode]:
        found = as_found(NodeWithScore(node=node) for node in nodes)
        return [kept.node for kept in as_nodes(self.sieve.filter(found))]


def _end(entity: LabelledNode, relation: Relation, held: bool) -> LabelledNode:
    """An end of a triplet, without the properties that nobody vouches for, and from the chunk that
    the relation is from: retrievers put a triplet into the text of the chunk of its first end."""
    properties = dict(entity.properties) if held else {}
    source = relation.properties.get(TRIPLET_SOURCE_KEY, entity.properties.get(TRIPLET_SOURCE_KEY))
    if source is not None:
        properties[TRIPLET_SOURCE_KEY] = source
    return entity.model_copy(update={"properties": properties})
