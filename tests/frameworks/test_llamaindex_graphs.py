"""A property graph of LlamaIndex that gives only what may be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.indices.property_graph import (
    LLMSynonymRetriever,
    PGRetriever,
    SimpleLLMPathExtractor,
    TextToCypherRetriever,
)
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

import doxa
from doxa.adapters.answering import UnjudgedArm
from doxa.adapters.llamaindex import (
    TruthGraphStore,
    TruthPostprocessor,
    TruthRetriever,
    check_arms,
)
from doxa.ledger import Ledger
from tests.frameworks.test_llamaindex import ids
from tests.frameworks.towns import DAY, TEXTS, town

LONDON, LISBON = TEXTS[0].words, TEXTS[1].words


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


class Extracting(MockLLM):
    """Finds where Ada lives, in a prompt that has a chunk in it."""

    async def apredict(self, prompt: Any, **given: Any) -> str:
        return f"(Ada, lives in, {'London' if 'London' in given['text'] else 'Lisbon'})"


def split(text: str, **options: Any) -> list[Any]:
    return [tuple(part.strip() for part in text.strip("()").split(","))]


def built(store: PropertyGraphStore) -> None:
    """Two chunks and what was extracted from them; Ada is from the one that fell."""
    chunks = [
        TextNode(id_="c2", text=LISBON, metadata={"claim_ids": ["moved/replacement"]}),
        TextNode(id_="c1", text=LONDON, metadata={"claim_ids": ["home"]}),
    ]
    PropertyGraphIndex(
        chunks,
        property_graph_store=store,
        embed_model=MockEmbedding(4),
        kg_extractors=[SimpleLLMPathExtractor(llm=Extracting(), parse_fn=split)],
        llm=MockLLM(),
        use_async=False,
        embed_kg_nodes=False,
    )


def around(store: PropertyGraphStore, **options: Any) -> LLMSynonymRetriever:
    return LLMSynonymRetriever(
        store, llm=MockLLM(), output_parsing_fn=lambda words: ["Ada"], **options
    )


@pytest.fixture
def store() -> SimplePropertyGraphStore:
    made = SimplePropertyGraphStore()
    built(made)
    return made


def test_a_triplet_gets_into_the_text_of_another_chunk_unless_the_graph_is_judged(
    ledger: Ledger, store: SimplePropertyGraphStore
) -> None:
    (mixed,) = around(store).retrieve("Where does Ada live?")
    assert "Ada -> lives in -> London" in mixed.text.replace("Lives", "lives")
    judged = around(TruthGraphStore(store, ledger, valid_at=DAY))
    (found,) = judged.retrieve("Where does Ada live?")
    assert "London" not in found.text
    assert found.text.replace("Lives", "lives").endswith(f"Ada -> lives in -> Lisbon\n\n{LISBON}")
    assert found.node_id == "c2"
    assert found.metadata["truth_status"] == "reported"
    (again,) = asyncio.run(judged.aretrieve("Where does Ada live?"))
    assert again.model_dump() == found.model_dump()
    assert ids(TruthRetriever(judged, ledger, valid_at=DAY).retrieve("Where?")) == ["c2"]
    then = around(TruthGraphStore(store, ledger, valid_at="2024-05-01"))
    assert [each.node_id for each in then.retrieve("Where does Ada live?")] == ["c1"]


def test_it_is_known_which_graph_is_judged(ledger: Ledger, store: SimplePropertyGraphStore) -> None:
    judged = TruthGraphStore(store, ledger)
    check_arms(around(judged))
    check_arms(PGRetriever([around(judged)]))
    check_arms(TruthRetriever(PGRetriever([around(judged)]), ledger))
    check_arms(TruthRetriever(around(store, include_text=False), ledger))
    behind = [TruthPostprocessor(ledger)]
    engine = RetrieverQueryEngine.from_args(
        around(store), llm=MockLLM(), node_postprocessors=behind
    )
    check_arms(
        RetrieverQueryEngine.from_args(around(judged), llm=MockLLM(), node_postprocessors=behind)
    )
    mixing = "which puts triplets into the texts of chunks: give it a TruthGraphStore"
    for bad, arm in (
        (engine, f"RetrieverQueryEngine > LLMSynonymRetriever, {mixing}"),
        (around(store), "LLMSynonymRetriever"),
        (
            PGRetriever([around(judged), around(store)]),
            "PGRetriever[1] > LLMSynonymRetriever",
        ),
        (
            TruthRetriever(PGRetriever([around(judged), around(store)]), ledger),
            f"TruthRetriever > PGRetriever[1] > LLMSynonymRetriever, {mixing}",
        ),
    ):
        with pytest.raises(UnjudgedArm) as refused:
            check_arms(bad)
        assert refused.value.arms == (arm,)


def test_entities_keep_only_the_properties_that_are_held(ledger: Ledger) -> None:
    inner = SimplePropertyGraphStore()
    good, bad = {"claim_ids": ["bakes"], "said": 1}, {"claim_ids": ["home"], "said": 2}
    ends = [EntityNode(name="a", properties=good), EntityNode(name="b", properties=bad)]
    inner.upsert_nodes(ends)
    relation = Relation(
        label="r",
        source_id="a",
        target_id="b",
        properties={"claim_ids": "bakes", TRIPLET_SOURCE_KEY: "c"},
    )
    inner.upsert_relations([relation])
    ((one, kept, other),) = TruthGraphStore(inner, ledger, valid_at=DAY).get_triplets(["a"])
    assert one.properties == {**good, TRIPLET_SOURCE_KEY: "c"}
    assert kept == relation
    assert other.properties == {TRIPLET_SOURCE_KEY: "c"}
    assert ends[1].properties == bad


def test_chunks_are_judged_wherever_they_are_read(
    ledger: Ledger, store: SimplePropertyGraphStore
) -> None:
    judged = TruthGraphStore(store, ledger, valid_at=DAY)
    assert [each.node_id for each in judged.get_llama_nodes(["c1", "c2"])] == ["c2"]
    got = {each.id for each in judged.get(ids=["c1", "c2", "Ada"])}
    assert got == {"c2", "Ada"}
    assert {each.id for each in asyncio.run(judged.aget(ids=["c1", "c2", "Ada"]))} == got

    class Near(SimplePropertyGraphStore):
        supports_vector_queries = True

        def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> Any:
            chunk = ChunkNode(text=LONDON, id_="c1", properties={"claim_ids": "home"})
            return [chunk, EntityNode(name="Ada")], [0.9, 0.5]

    near = TruthGraphStore(Near(), ledger, valid_at=DAY)
    nodes, scores = near.vector_query(VectorStoreQuery())
    assert ([each.id for each in nodes], scores) == (["Ada"], [0.5])
    assert asyncio.run(near.avector_query(VectorStoreQuery())) == (nodes, scores)


def test_queries_in_another_language_are_refused(
    ledger: Ledger, store: SimplePropertyGraphStore
) -> None:
    judged = TruthGraphStore(store, ledger)
    with pytest.raises(doxa.CallerError, match="can't be judged"):
        judged.structured_query("MATCH (n) RETURN n")
    with pytest.raises(ValueError, match="does not support"):
        TextToCypherRetriever(judged, llm=MockLLM())


def test_what_is_written_and_deleted_goes_through(ledger: Ledger) -> None:
    inner = SimplePropertyGraphStore()
    judged = TruthGraphStore(inner, ledger, valid_at=DAY)
    built(judged)
    assert len(inner.graph.relations) == 2
    assert len(judged.get_triplets(["Ada"])) == 1
    judged.delete(ids=["c2"])
    assert judged.get_llama_nodes(["c2"]) == []


CLAIMS = st.sampled_from([["bakes"], ["home"], ["moved/replacement"], ["nowhere"], [], 7])


@given(st.lists(CLAIMS, max_size=8))
def test_no_triplet_gets_through_that_is_not_held(claims: list[Any]) -> None:
    inner = SimplePropertyGraphStore()
    relations = [
        Relation(label=f"r{n}", source_id="a", target_id=f"b{n}", properties={"claim_ids": each})
        for n, each in enumerate(claims)
    ]
    inner.upsert_relations(relations)
    with town() as ledger:
        judged = TruthGraphStore(inner, ledger, valid_at=DAY)
        found = judged.get_triplets(entity_names=["a"])
        assert asyncio.run(judged.aget_triplets(entity_names=["a"])) == found
    held = [
        r.label
        for r in relations
        if r.properties["claim_ids"] in (["bakes"], ["moved/replacement"])
    ]
    assert sorted(relation.label for _, relation, _ in found) == held
