"""A Graphiti that needs no network, over a graph in memory: what its model answers is written
down."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from typing import Any

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"

from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.driver.driver import GraphProvider
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.graph_queries import get_fulltext_indices
from graphiti_core.llm_client.client import LLMClient

# What is said, of whom, and since when.
FACTS = {
    "Ann is the CEO of Acme.": ("Ann", "2024-01-01T00:00:00Z"),
    "Bob replaced Ann as CEO of Acme.": ("Bob", "2026-03-01T00:00:00Z"),
}


class Model(LLMClient):
    def __init__(self) -> None:
        super().__init__(None)

    async def _generate_response(
        self, messages: list[Any], response_model: Any = None, *_: Any, **__: Any
    ) -> dict[str, Any]:
        current = messages[-1].content.split("<CURRENT")[-1]
        fact = next((text for text in FACTS if text in current), None)
        name, valid_at = FACTS.get(fact or "", (None, None))
        edge = {
            "source_entity_name": name,
            "target_entity_name": "Acme",
            "relation_type": "LEADS",
            "fact": fact,
            "valid_at": valid_at,
            "invalid_at": None,
        }
        names = [{"name": each, "entity_type_id": 0} for each in (name, "Acme")]
        answers: dict[str, dict[str, Any]] = {
            "ExtractedEntities": {"extracted_entities": names},
            "ExtractedEdges": {"edges": [edge]},
            "CombinedExtraction": {"extracted_entities": names, "edges": [edge]},
            "BatchEdgeTimestamps": {"timestamps": [{"valid_at": valid_at, "invalid_at": None}]},
            "EdgeDuplicate": {"duplicate_facts": [], "contradicted_facts": [0]},
            "SummarizedEntities": {"summaries": [{"name": "Acme", "summary": "Acme has a CEO."}]},
            "Summary": {"summary": "Acme and its CEOs."},
            "SummaryDescription": {"description": "People of Acme"},
        }
        return answers[response_model.__name__]


class Words(EmbedderClient):
    async def create(self, input_data: Any) -> list[float]:
        text = input_data if isinstance(input_data, str) else " ".join(input_data)
        found = [0.001] * 1024
        for word in re.findall(r"\w+", text.lower()):
            found[int(hashlib.md5(word.encode()).hexdigest(), 16) % 1024] += 1
        return found

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        return [await self.create(each) for each in input_data_list]


class InOrder(CrossEncoderClient):
    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        return [(passage, 1.0) for passage in passages]


async def opened() -> Any:
    """An empty graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Graphiti deprecates this driver
        from graphiti_core.driver.kuzu_driver import KuzuDriver

        driver = KuzuDriver()
    for query in get_fulltext_indices(GraphProvider.KUZU):
        await driver.execute_query(query)
    return Graphiti(
        graph_driver=driver, llm_client=Model(), embedder=Words(), cross_encoder=InOrder()
    )
