"""The writer that records a graph in a ledger and, if it is to, hands it on to a database."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from neo4j_graphrag.components.kg_writer import KGWriter, KGWriterModel
from neo4j_graphrag.components.types import LexicalGraphConfig, Neo4jGraph, Neo4jNode
from pydantic import validate_call

from doxa.adapters.annotations import ANNOTATIONS
from doxa.adapters.evidence import Ids, Said, record
from doxa.adapters.judging import Sieve
from doxa.adapters.neo4j.mapping import named, said_by

if TYPE_CHECKING:
    import os

    from doxa.ledger import Ledger

__all__ = ["LedgerWriter"]


class LedgerWriter(KGWriter):
    """Records nodes and relationships as claims, each with a support for every chunk that it comes
    from, and each chunk's text as said by its document.

    ``writer`` (a `Neo4jWriter`, say) gets the graph afterwards, with ``claim_ids`` and
    ``citation_ids`` among the properties, so that what is found in it later can be judged. The
    same graph again writes nothing. With ``replace`` a graph is all there is of its documents: what
    rested on chunks that are no longer in it is withdrawn. ``name`` sets imports apart, ``source``
    is where that is from which comes from no chunk, ``naming`` gives an entity its name.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        writer: KGWriter | None = None,
        *,
        name: str = "default",
        workspace: str = "",
        source: str | None = None,
        naming: Callable[[Neo4jNode], str | None] = named,
        replace: bool = False,
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        self.writer, self.source, self.naming, self.replace = writer, source, naming, replace
        self.ids, self.workspace = Ids("neo4j", name), workspace
        self.sieve = Sieve(ledger, workspace=workspace, keys=keys)
        self._writing = threading.Lock()

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self.sieve.close()

    @validate_call
    async def run(
        self,
        graph: Neo4jGraph,
        lexical_graph_config: LexicalGraphConfig = LexicalGraphConfig(),  # noqa: B008
    ) -> KGWriterModel:
        """Records a graph; ``metadata["ledger"]`` says what was written, withdrawn, set aside.
        Raises a `DoxaError`, with nothing handed on, where it can't be recorded."""
        said, edges = said_by(graph, lexical_graph_config, self.ids, self.source, self.naming)
        told = await asyncio.to_thread(self._record, said)
        if self.writer is None:
            metadata = {"statistics": _counted(graph), "files": [], "ledger": told}
            return KGWriterModel(status="SUCCESS", metadata=metadata)
        done = await self.writer.run(_annotated(graph, said, edges), lexical_graph_config)
        return KGWriterModel(status=done.status, metadata={**(done.metadata or {}), "ledger": told})

    def _record(self, said: Said) -> dict[str, Any]:
        with self._writing:  # one looks at what is there while no other writes
            return record(self.sieve.open, self.workspace, self.ids, said, replace=self.replace)


def _counted(graph: Neo4jGraph) -> dict[str, Any]:
    """What a graph holds, as the other writers tell it."""
    return {
        "node_count": len(graph.nodes),
        "relationship_count": len(graph.relationships),
        "nodes_per_label": dict(Counter(node.label for node in graph.nodes)),
        "rel_per_type": dict(Counter(edge.type for edge in graph.relationships)),
        "input_files_count": 0,
        "input_files_total_size_bytes": 0,
    }


def _annotated(graph: Neo4jGraph, said: Said, edges: Mapping[int, list[str]]) -> Neo4jGraph:
    """A copy of a graph that declares what each part of it rests on."""
    nodes = [
        node.model_copy(
            update={
                "properties": _with(
                    node.properties,
                    claim_ids=said.claims.get(node.id, []),
                    citation_ids=said.citations.get(node.id, []),
                )
            }
        )
        for node in graph.nodes
    ]
    relationships = [
        edge.model_copy(
            update={"properties": _with(edge.properties, claim_ids=edges.get(place, []))}
        )
        for place, edge in enumerate(graph.relationships)
    ]
    return Neo4jGraph(nodes=nodes, relationships=relationships)


def _with(properties: Mapping[str, Any], **declared: list[str]) -> dict[str, Any]:
    """Properties with what is declared, and with nothing that only looks like it."""
    own = {name: value for name, value in properties.items() if name not in ANNOTATIONS}
    return {**own, **{name: ids for name, ids in declared.items() if ids}}
