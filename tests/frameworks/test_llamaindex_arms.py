"""Searches of LlamaIndex that reach an answer without being judged are found out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import (
    LongContextReorder,
    PrevNextNodePostprocessor,
    SimilarityPostprocessor,
)
from llama_index.core.query_engine import (
    RetrieverQueryEngine,
    RouterQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.storage import StorageContext
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import QueryEngineTool, RetrieverTool

import doxa
from doxa.adapters.answering import UnjudgedArm
from doxa.adapters.llamaindex import (
    LedgerRetriever,
    TruthPostprocessor,
    TruthRetriever,
    check_arms,
)
from doxa.ledger import Ledger
from tests.frameworks.test_llamaindex import HELD, QUESTION, Given, ids, nodes_of
from tests.frameworks.towns import DAY, town

LLM = MockLLM()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


def arms_of(searching: Any) -> tuple[str, ...]:
    try:
        check_arms(searching)
    except UnjudgedArm as error:
        return error.arms
    return ()


def fused(*arms: Any, **options: Any) -> QueryFusionRetriever:
    options = {"llm": LLM, "num_queries": 1, "similarity_top_k": 20, "use_async": False, **options}
    return QueryFusionRetriever(list(arms), **options)


def engine(retriever: Any, *behind: Any) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(retriever, llm=LLM, node_postprocessors=list(behind))


def test_what_was_withdrawn_comes_back_through_an_arm_that_is_not_judged(ledger: Ledger) -> None:
    plain = Given(nodes_of())
    half = fused(TruthRetriever(plain, ledger, valid_at=DAY), plain)
    assert "d-london" in ids(half.retrieve(QUESTION))
    assert arms_of(half) == ("QueryFusionRetriever[1] > Given",)
    whole = TruthRetriever(half, ledger, valid_at=DAY)
    assert set(ids(whole.retrieve(QUESTION))) == set(HELD)
    assert arms_of(whole) == ()


@pytest.mark.parametrize("mode", list(FUSION_MODES))
def test_arms_that_are_judged_at_one_time_are_merged_as_ever(
    ledger: Ledger, mode: FUSION_MODES
) -> None:
    plain = [Given(nodes_of()) for _ in range(2)]
    judged = fused(*[TruthRetriever(arm, ledger, valid_at=DAY) for arm in plain], mode=mode)
    check_arms(judged)
    got = judged.retrieve(QUESTION)
    assert len(got) == len(set(ids(got))) == len(HELD)
    assert ids(asyncio.run(judged.aretrieve(QUESTION))) == ids(got)
    assert set(
        ids(TruthRetriever(fused(*plain, mode=mode), ledger, valid_at=DAY).retrieve(QUESTION))
    ) == set(HELD)


def test_merging_retrievers_are_looked_into(ledger: Ledger) -> None:
    plain, judged = Given([]), TruthRetriever(Given([]), ledger)
    own = LedgerRetriever(ledger)
    assert arms_of(fused(judged, own)) == ()
    assert arms_of(fused(judged, fused(own, plain))) == (
        "QueryFusionRetriever[1] > QueryFusionRetriever[1] > Given",
    )
    moved = TransformRetriever(plain, IdentityQueryTransform())
    assert arms_of(moved) == ("TransformRetriever[0] > Given",)
    tools = [RetrieverTool.from_defaults(each, description="d") for each in (judged, plain)]
    router = RouterRetriever(LLMSingleSelector.from_defaults(llm=LLM), tools, llm=LLM)
    assert arms_of(router) == ("RouterRetriever[1] > Given",)


def test_what_fetches_by_itself_is_a_search_of_its_own(ledger: Ledger) -> None:
    index = VectorStoreIndex([], embed_model=MockEmbedding(4))
    base = index.as_retriever()
    merging = AutoMergingRetriever(TruthRetriever(base, ledger), StorageContext.from_defaults())
    assert arms_of(base) == ("VectorIndexRetriever",)
    assert arms_of(merging) == ("AutoMergingRetriever",)
    assert arms_of(TruthRetriever(merging, ledger)) == ()


def test_what_nodes_point_to_is_looked_at(ledger: Ledger) -> None:
    judged = TruthRetriever(Given([]), ledger)
    pointing = fused(judged, object_map={"a": Given([]), "b": judged, "c": TextNode(text="t")})
    assert arms_of(pointing) == (
        "QueryFusionRetriever, object 'a' > Given",
        "QueryFusionRetriever, object 'c' > TextNode",
    )


def test_engines_are_judged_by_their_retriever_or_their_postprocessors(ledger: Ledger) -> None:
    plain, judge = Given(nodes_of()), TruthPostprocessor(ledger, valid_at=DAY)
    assert arms_of(engine(plain)) == ("RetrieverQueryEngine > Given",)
    assert arms_of(engine(TruthRetriever(plain, ledger))) == ()
    assert arms_of(engine(plain, judge)) == ()
    assert arms_of(engine(plain, judge, SimilarityPostprocessor(), LongContextReorder())) == ()
    neighbours = PrevNextNodePostprocessor(docstore=SimpleDocumentStore())
    assert arms_of(engine(plain, neighbours, judge)) == ()
    assert arms_of(engine(plain, judge, neighbours)) == (
        "RetrieverQueryEngine > PrevNextNodePostprocessor, which comes after the judgement",
    )
    assert arms_of(engine(plain, judge, neighbours, judge)) == ()
    assert arms_of(engine(TruthRetriever(plain, ledger), neighbours)) == (
        "RetrieverQueryEngine > PrevNextNodePostprocessor, which comes after the judgement",
    )


def test_engines_around_engines_are_looked_into(ledger: Ledger) -> None:
    plain, good = engine(Given([])), engine(TruthRetriever(Given([]), ledger))
    tools = [QueryEngineTool.from_defaults(each, description="d") for each in (good, plain)]
    router = RouterQueryEngine(LLMSingleSelector.from_defaults(llm=LLM), tools, llm=LLM)
    inner = "RetrieverQueryEngine > Given"
    assert arms_of(router) == (f"RouterQueryEngine > {inner}",)
    turned = TransformQueryEngine(plain, IdentityQueryTransform())
    assert arms_of(turned) == (f"TransformQueryEngine > {inner}",)
    memory = ChatMemoryBuffer.from_defaults(llm=LLM)
    asking = CondenseQuestionChatEngine.from_defaults(plain, llm=LLM, memory=memory)
    assert arms_of(asking) == (f"CondenseQuestionChatEngine > {inner}",)
    chat = CondensePlusContextChatEngine.from_defaults(Given([]), llm=LLM, memory=memory)
    assert arms_of(chat) == ("CondensePlusContextChatEngine > Given",)


def test_what_cant_be_looked_into_is_refused(ledger: Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="MockLLM is no retriever"):
        check_arms(LLM)


def test_a_ring_of_retrievers_ends(ledger: Ledger) -> None:
    ring = fused(TruthRetriever(Given([]), ledger))
    ring._retrievers.append(ring)
    assert arms_of(ring) == ()
