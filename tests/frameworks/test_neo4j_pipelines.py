"""The writer in neo4j-graphrag's own pipelines, before its own writer, and many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j_graphrag.components.entity_relation_extractor import LLMEntityRelationExtractor
from neo4j_graphrag.components.kg_writer import KGWriterModel, Neo4jWriter
from neo4j_graphrag.components.types import DocumentInfo, TextChunk, TextChunks
from neo4j_graphrag.experimental.pipeline import Pipeline
from neo4j_graphrag.experimental.pipeline.kg_builder import SimpleKGPipeline

import doxa
from doxa.adapters.neo4j import LedgerWriter
from doxa.ledger import Ledger
from tests.frameworks.test_neo4j import Answer, Counting
from tests.frameworks.test_neo4j_writing import (
    DAY,
    LISBON,
    LONDON,
    Extracting,
    built,
    facts,
    written,
)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with doxa.open() as opened:
        yield opened


def test_it_is_a_component_of_the_librarys_pipelines(tmp_path: Path) -> None:
    path = tmp_path / "town.doxa"
    doxa.open(path).close()
    writer = LedgerWriter(path, workspace="docs")
    pipeline = Pipeline()
    pipeline.add_component(LLMEntityRelationExtractor(Extracting()), "extract")
    pipeline.add_component(writer, "write")
    pipeline.connect("extract", "write", input_config={"graph": "extract"})
    chunks = TextChunks(chunks=[TextChunk(text=LONDON, index=0)])
    data = {"extract": {"chunks": chunks, "document_info": DocumentInfo(path="a.md")}}
    result = asyncio.run(pipeline.run(data))
    assert result.result["write"]["metadata"]["ledger"]["claims"] == 5
    writer.close()
    with doxa.open(path) as ledger:
        view = ledger.view(valid_at=DAY, workspace="docs")
        assert view.value("Ada", "LIVES_IN") == "London"


def test_texts_that_are_given_without_a_path_are_told_apart(ledger: Ledger) -> None:
    """`SimpleKGPipeline` calls each of them document.txt."""
    with neo4j.GraphDatabase.driver("bolt://127.0.0.1:1") as driver:
        builder = SimpleKGPipeline(
            Extracting(),
            driver,
            Counting(),
            from_file=False,
            kg_writer=LedgerWriter(ledger, replace=True),
            perform_entity_resolution=False,
            schema="FREE",
        )
        for text in (LONDON, LISBON, LONDON):
            asyncio.run(builder.run_async(text=text))
        asyncio.run(builder.run_async(text="Ada is here.", file_path="notes.md"))
    said = {(s, o) for s, p, o in facts(ledger) if p == "SAYS"}
    assert {text for _, text in said} == {LONDON, LISBON, "Ada is here."}
    assert len({source for source, _ in said}) == 3
    assert ("notes.md", "Ada is here.") in said
    (source,) = (source for source, text in said if text == LONDON)
    ledger.withdraw(doxa.Source(source))
    assert ("Ada", "LIVES_IN", "London") not in facts(ledger)
    assert ("Ada", "LIVES_IN", "Lisbon") in facts(ledger)


def test_the_librarys_own_writer_writes_after_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[dict[str, Any]] = []

    def execute_query(query: str, parameters_: Any = None, **kwargs: Any) -> Answer:
        rows.extend((parameters_ or {}).get("rows", []))
        version = {"versions": ["5.26.0"], "edition": "enterprise"}
        return Answer([neo4j.Record(version)], None, [])

    with neo4j.GraphDatabase.driver("bolt://127.0.0.1:1") as driver:
        monkeypatch.setattr(driver, "execute_query", execute_query)
        writer = LedgerWriter(ledger, Neo4jWriter(driver, clean_db=False))
        assert written(writer, built("a.md", LONDON))["claims"] == 5
    declaring = [row for row in rows if "claim_ids" in row["properties"]]
    assert len(declaring) == 4  # the chunk, two entities, a relationship
    assert all(isinstance(id, str) for row in declaring for id in row["properties"]["claim_ids"])


def test_documents_that_are_written_at_once_lose_nothing(ledger: Ledger) -> None:
    writer = LedgerWriter(ledger, replace=True)
    graphs = [built(f"{number % 4}.md", LONDON) for number in range(12)]

    async def many() -> list[KGWriterModel]:
        return list(await asyncio.gather(*map(writer.run, graphs)))

    done = asyncio.run(many())
    assert all(each.metadata["ledger"]["set_aside"] == [] for each in done)
    assert {s for s, p, _ in facts(ledger) if p == "SAYS"} == {f"{n}.md" for n in range(4)}
    (lives,) = ledger.view(valid_at=DAY).claims(subject="Ada", predicate="LIVES_IN")
    assert lives.object == "London"
