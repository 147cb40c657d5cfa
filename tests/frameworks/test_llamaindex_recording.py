"""What LlamaIndex's extractors find goes into a ledger, and the graph says what it rests on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document, MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    Relation,
)
from llama_index.core.indices.property_graph import ImplicitPathExtractor, SimpleLLMPathExtractor
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, TextNode

import doxa
from doxa.adapters.llamaindex import LedgerRecorder, RecordEvent, TruthGraphStore
from doxa.adapters.llamaindex.recording import source_of
from doxa.ledger import Ledger
from tests.frameworks.test_llamaindex_graphs import Extracting, around, split
from tests.frameworks.towns import DAY, HOSTILE

LONDON, LISBON = "Ada lives in London.", "Ada lives in Lisbon."


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with doxa.open() as opened:
        yield opened


def chunk(text: str, path: str = "a.md", *relations: Relation, **options: Any) -> TextNode:
    """A chunk, and what an extractor found in it; its id is another each time."""
    entities = [
        EntityNode(name=name, properties=options.pop("properties", {}), **options)
        for relation in relations
        for name in (relation.source_id, relation.target_id)
    ]
    metadata = {"file_path": path, KG_NODES_KEY: entities, KG_RELATIONS_KEY: list(relations)}
    return TextNode(text=text, metadata=metadata)


def lives(town: str, **properties: Any) -> Relation:
    return Relation(label="lives in", source_id="Ada", target_id=town, properties=properties)


def facts(ledger: Ledger) -> set[tuple[Any, ...]]:
    claims = ledger.view(valid_at=DAY).claims()
    return {(each.subject, each.predicate, each.object) for each in claims}


def test_what_was_extracted_becomes_claims_with_supports_by_chunk(ledger: Ledger) -> None:
    node = chunk(LONDON, "a.md", lives("London"), label="Thing", properties={"seen": 3})
    told = LedgerRecorder(ledger).record([node])
    assert facts(ledger) == {
        ("a.md", "SAYS", LONDON),
        ("Ada", "IS_A", "Thing"),
        ("Ada", "seen", 3),
        ("London", "IS_A", "Thing"),
        ("Ada", "lives in", "London"),
    }
    assert (told["claims"], told["supports"], told["citations"]) == (5, 5, 1)
    ledger.withdraw(doxa.Source("a.md"))
    assert facts(ledger) == set()


def test_everything_says_what_it_rests_on_and_no_model_sees_it(ledger: Ledger) -> None:
    relation = lives("London", claim_ids=["forged"], file_path="a.md")
    node = chunk(LONDON, "a.md", relation)
    node.metadata["claim_ids"] = ["forged"]
    (out,) = LedgerRecorder(ledger)([node])
    assert out is node
    (id,) = (c.id for c in ledger.view(valid_at=DAY).claims(subject="Ada", predicate="lives in"))
    assert relation.properties == {"file_path": "a.md", "claim_ids": f'["{id}"]'}
    assert "forged" not in node.metadata["claim_ids"]
    assert id in node.metadata["claim_ids"]
    assert {"claim_ids", "citation_ids"} <= set(node.excluded_llm_metadata_keys)
    for key in (KG_NODES_KEY, KG_RELATIONS_KEY):
        node.metadata.pop(key)  # as the index does
    assert node.get_content(MetadataMode.EMBED) == f"file_path: a.md\n\n{LONDON}"


def test_an_entity_declares_something_only_where_it_says_something(ledger: Ledger) -> None:
    """An index embeds an entity with all its properties."""
    bare = chunk(LONDON, "a.md", lives("London"), label="Thing")
    LedgerRecorder(ledger).record([bare])
    assert [each.properties for each in bare.metadata[KG_NODES_KEY]] == [{}, {}]
    full = chunk(LONDON, "a.md", lives("London"), label="Thing", properties={"seen": 3})
    LedgerRecorder(ledger).record([full])
    assert len(claims_of(full.metadata[KG_NODES_KEY][0])) == 2


def claims_of(entity: EntityNode) -> list[str]:
    ids: list[str] = json.loads(entity.properties["claim_ids"])
    return ids


def test_the_same_chunks_again_write_nothing(ledger: Ledger) -> None:
    recorder = LedgerRecorder(ledger)
    recorder.record([chunk(LONDON, "a.md", lives("London"))])
    before = ledger.revision
    again = recorder.record([chunk(LONDON, "a.md", lives("London"))])
    assert (again["events"], again["withdrawn"]) == (0, 0)
    assert ledger.revision == before


def test_what_lost_its_chunk_is_withdrawn_only_where_the_nodes_are_all(ledger: Ledger) -> None:
    LedgerRecorder(ledger).record([chunk(LONDON, "a.md", lives("London")), chunk("Else.", "b.md")])
    LedgerRecorder(ledger).record([chunk(LISBON, "a.md", lives("Lisbon"))])
    assert ("Ada", "lives in", "London") in facts(ledger)
    told = LedgerRecorder(ledger, replace=True).record([chunk(LISBON, "a.md", lives("Lisbon"))])
    assert told["withdrawn"] == 2
    assert ("Ada", "lives in", "London") not in facts(ledger)
    assert ("b.md", "SAYS", "Else.") in facts(ledger)


def test_from_documents_to_a_corrected_graph(ledger: Ledger) -> None:
    store = SimplePropertyGraphStore()
    PropertyGraphIndex.from_documents(
        [
            Document(text=text, metadata={"file_path": path})
            for path, text in (("a.md", LONDON), ("b.md", LISBON))
        ],
        property_graph_store=store,
        embed_model=MockEmbedding(4),
        kg_extractors=[
            SimpleLLMPathExtractor(llm=Extracting(), parse_fn=split),
            ImplicitPathExtractor(),
            LedgerRecorder(ledger),
        ],
        llm=MockLLM(),
        use_async=False,
        embed_kg_nodes=False,
        transformations=[SentenceSplitter()],
    )
    said = {(s, o) for s, p, o in facts(ledger) if p.lower() == "lives in"}
    assert said == {("Ada", "London"), ("Ada", "Lisbon")}
    assert not any("SOURCE" in str(fact) for fact in facts(ledger))
    judged = around(TruthGraphStore(store, ledger, valid_at=DAY))
    texts = " ".join(each.text for each in judged.retrieve("Where does Ada live?"))
    assert LONDON in texts
    assert LISBON in texts
    (wrong,) = (c for c in ledger.view(valid_at=DAY).claims(subject="Ada") if c.object == "London")
    ledger.correct(wrong.id, source="letter", reason="she moved")
    texts = " ".join(each.text for each in judged.retrieve("Where does Ada live?"))
    assert "London" not in texts
    assert LISBON in texts


def test_it_is_a_step_of_an_ingestion_pipeline(ledger: Ledger) -> None:
    pipeline = IngestionPipeline(transformations=[SentenceSplitter(), LedgerRecorder(ledger)])
    document = Document(text=LONDON, metadata={"file_path": "a.md"})
    (node,) = pipeline.run(documents=[document])
    assert "claim_ids" in node.metadata
    assert facts(ledger) == {("a.md", "SAYS", LONDON)}
    with doxa.open() as other:
        pipeline.transformations[1] = LedgerRecorder(other)
        pipeline.run(documents=[document])
        assert facts(other) == facts(ledger)
    assert asyncio.run(LedgerRecorder(ledger).acall([node])) == [node]


def test_where_a_chunk_is_from_is_its_file_or_its_document_or_what_a_function_says() -> None:
    assert source_of(TextNode(text="t", metadata={"file_name": "f", "url": "u"})) == "u"
    assert source_of(TextNode(text="t")) is None
    node = SentenceSplitter().get_nodes_from_documents([Document(text="t", id_="doc-1")])[0]
    assert source_of(node) == "doc-1"
    with doxa.open() as ledger:
        LedgerRecorder(ledger, naming=lambda node: "mine").record([TextNode(text="t")])
        assert facts(ledger) == {("mine", "SAYS", "t")}
    with doxa.open() as ledger:
        LedgerRecorder(ledger).record([TextNode(text="t")])
        ((source, _, text),) = facts(ledger)
        assert (source[:6], text) == ("chunk ", "t")


def test_what_cant_be_recorded_is_told_and_stops_nothing(ledger: Ledger) -> None:
    seen: list[RecordEvent] = []

    class Seeing(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            if isinstance(event, RecordEvent):
                seen.append(event)

    root, handler = get_dispatcher(), Seeing()
    root.add_event_handler(handler)
    ledger.reject("London", predicate="lives in", reason="wrong")
    bad = Relation(label="\x00", source_id="Ada", target_id="x")
    nodes = [chunk(HOSTILE, "\u202ea.md\n", lives("London"), bad), chunk("word " * 300_000)]
    try:
        LedgerRecorder(ledger)(nodes)
    finally:
        root.event_handlers.remove(handler)
    reasons = [each["reason"] for each in seen[0].told["set_aside"]]
    assert any("rejected value" in reason for reason in reasons)
    assert any("without a name" in reason for reason in reasons)
    assert ("a.md", "SAYS", HOSTILE) in facts(ledger)
    assert ("Ada", "lives in", "London") not in facts(ledger)


def test_chunks_that_are_recorded_at_once_lose_nothing(ledger: Ledger) -> None:
    recorder = LedgerRecorder(ledger)
    many = [[chunk(LONDON, f"{number % 3}.md", lives("London"))] for number in range(12)]

    async def at_once() -> Sequence[Any]:
        return list(await asyncio.gather(*map(recorder.acall, many)))

    asyncio.run(at_once())
    assert {s for s, p, _ in facts(ledger) if p == "SAYS"} == {"0.md", "1.md", "2.md"}
    assert ledger.verify().ok


NAMES = st.text(max_size=6)
VALUES = NAMES | st.integers(-9, 9) | st.booleans() | st.none() | st.lists(NAMES, max_size=2)


@given(
    st.lists(
        st.tuples(NAMES, NAMES, NAMES, st.dictionaries(NAMES, VALUES, max_size=2)), max_size=4
    ),
    st.text(max_size=12),
    NAMES,
)
def test_whatever_was_extracted_is_recorded_once(
    triplets: list[tuple[str, str, str, dict[str, Any]]], text: str, path: str
) -> None:
    def node() -> BaseNode:
        relations = [
            Relation(label=label, source_id=one, target_id=other, properties=dict(properties))
            for one, label, other, properties in triplets
        ]
        return chunk(text, path, *relations)

    with doxa.open() as ledger:
        recorder = LedgerRecorder(ledger, replace=True)
        first = recorder.record([node()])
        revision = ledger.revision
        again = recorder.record([node()])
        assert (again["events"], again["withdrawn"], ledger.revision) == (0, 0, revision)
        reasons = [[each["reason"] for each in told["set_aside"]] for told in (first, again)]
        assert reasons[0] == reasons[1]
        assert ledger.verify().ok
