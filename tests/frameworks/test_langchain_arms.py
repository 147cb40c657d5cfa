"""Searches of LangChain that reach an answer without being judged are found out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
    RePhraseQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_classic.storage import InMemoryStore
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore

import doxa
from doxa.adapters.answering import UnjudgedArm
from doxa.adapters.langchain import (
    LedgerRetriever,
    TruthCompressor,
    TruthRetriever,
    check_arms,
)
from doxa.ledger import Ledger
from tests.frameworks.test_langchain import HELD, QUESTION, Given, documents_of, ids
from tests.frameworks.towns import DAY, town

PLAIN = Given(documents=documents_of())


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


@pytest.fixture
def judged(ledger: Ledger) -> TruthRetriever:
    return TruthRetriever(PLAIN, ledger, valid_at=DAY)


def arms_of(searching: Any) -> tuple[str, ...]:
    try:
        check_arms(searching)
    except UnjudgedArm as error:
        return error.arms
    return ()


def test_what_was_withdrawn_comes_back_through_an_arm_that_is_not_judged(
    ledger: Ledger, judged: TruthRetriever
) -> None:
    half = EnsembleRetriever(retrievers=[judged, PLAIN], weights=[0.5, 0.5])
    assert "d-london" in ids(half.invoke(QUESTION))
    assert arms_of(half) == ("EnsembleRetriever[1] > Given",)
    whole = TruthRetriever(half, ledger, valid_at=DAY)
    assert ids(whole.invoke(QUESTION)) == HELD
    assert arms_of(whole) == ()


def test_arms_that_are_judged_are_merged_as_ever(ledger: Ledger, judged: TruthRetriever) -> None:
    for merging in (
        EnsembleRetriever(retrievers=[judged, judged], weights=[0.5, 0.5]),
        TruthRetriever(EnsembleRetriever(retrievers=[PLAIN, PLAIN]), ledger, valid_at=DAY),
    ):
        check_arms(merging)
        assert ids(merging.invoke(QUESTION)) == HELD
        assert ids(asyncio.run(merging.ainvoke(QUESTION))) == HELD


def test_the_times_of_a_run_reach_the_arms_of_an_ensemble(ledger: Ledger) -> None:
    judged = TruthRetriever(Given(documents=documents_of()[:2]), ledger, valid_at=DAY)
    both = EnsembleRetriever(retrievers=[judged, judged])
    run: Any = {"configurable": {"valid_at": "2024-05-01"}}
    assert ids(both.invoke(QUESTION, run)) == ["d-london"]
    assert ids(asyncio.run(both.ainvoke(QUESTION, run))) == ["d-london"]
    assert ids(both.invoke(QUESTION)) == ["d-lisbon"]


def test_merging_retrievers_are_looked_into(ledger: Ledger, judged: TruthRetriever) -> None:
    own, model = LedgerRetriever(ledger), FakeListLLM(responses=["one"])
    assert arms_of(MergerRetriever(retrievers=[judged, own])) == ()
    assert arms_of(MergerRetriever(retrievers=[own, MergerRetriever(retrievers=[PLAIN])])) == (
        "MergerRetriever[1] > MergerRetriever[0] > Given",
    )
    for asking in (
        MultiQueryRetriever.from_llm(PLAIN, model),
        RePhraseQueryRetriever.from_llm(PLAIN, model),
    ):
        assert arms_of(asking) == (f"{type(asking).__name__} > Given",)
    assert arms_of(MultiQueryRetriever.from_llm(judged, model)) == ()


def test_a_compression_is_judged_by_its_retriever_or_its_compressor(
    ledger: Ledger, judged: TruthRetriever
) -> None:
    judge, nothing = TruthCompressor(ledger), DocumentCompressorPipeline(transformers=[])

    def compressing(compressor: Any, retriever: Any) -> Any:
        return ContextualCompressionRetriever(base_compressor=compressor, base_retriever=retriever)

    assert arms_of(compressing(nothing, PLAIN)) == ("ContextualCompressionRetriever > Given",)
    assert arms_of(compressing(nothing, judged)) == ()
    assert arms_of(compressing(judge, PLAIN)) == ()
    pipeline = DocumentCompressorPipeline(transformers=[nothing, judge])
    assert arms_of(EnsembleRetriever(retrievers=[compressing(pipeline, PLAIN), judged])) == ()


def test_what_fetches_by_itself_is_a_search_of_its_own(ledger: Ledger) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    parents = MultiVectorRetriever(vectorstore=store, docstore=InMemoryStore())
    assert arms_of(store.as_retriever()) == ("VectorStoreRetriever",)
    assert arms_of(parents) == ("MultiVectorRetriever",)
    assert arms_of(TruthRetriever(parents, ledger)) == ()


def test_an_arm_that_is_no_retriever_brings_documents_all_the_same(
    ledger: Ledger, judged: TruthRetriever
) -> None:
    function = RunnableLambda(lambda query: documents_of())
    assert arms_of(EnsembleRetriever(retrievers=[judged, function])) == (
        "EnsembleRetriever[1] > RunnableLambda",
    )
    asking = RunnableLambda(lambda query: judged.invoke(query))
    assert arms_of(EnsembleRetriever(retrievers=[judged, asking])) == ()


def test_chains_are_looked_into(judged: TruthRetriever) -> None:
    bad, step = {"a": judged, "b": PLAIN}, RunnableLambda(str)
    assert arms_of(RunnableParallel(bad)) == ("RunnableParallel['b'] > Given",)
    assert arms_of(RunnableParallel(a=judged) | step) == ()
    assert arms_of(RunnablePassthrough.assign(**bad) | step) == (
        "RunnableSequence[0] > RunnableAssign > RunnableParallel['b'] > Given",
    )
    assert arms_of(step | PLAIN) == ("RunnableSequence[1] > Given",)
    assert arms_of(judged.with_fallbacks([PLAIN])) == ("RunnableWithFallbacks[1] > Given",)
    assert arms_of(PLAIN.with_retry()) == ("RunnableRetry > Given",)
    assert arms_of(PLAIN.with_config(tags=["x"]).map())[0].endswith(" > Given")
    branch = RunnableBranch((lambda query: bool(query), judged), PLAIN)
    assert arms_of(branch) == ("RunnableBranch[1] > Given",)
    choosing = judged.configurable_alternatives(ConfigurableField(id="which"), plain=PLAIN)
    assert arms_of(choosing) == ("RunnableConfigurableAlternatives['plain'] > Given",)
    assert arms_of(PLAIN.configurable_fields(tags=ConfigurableField(id="t"))) == (
        "RunnableConfigurableFields > Given",
    )
    assert len(arms_of(create_retrieval_chain(PLAIN, step))) == 1
    assert arms_of(create_retrieval_chain(judged, step)) == ()
    assert arms_of(RunnableLambda(lambda query: PLAIN.invoke(query))) == (
        "RunnableLambda[0] > Given",
    )


def test_what_cant_be_looked_into_is_refused(judged: TruthRetriever) -> None:
    tool = create_retriever_tool(judged, "t", "d")
    for nothing in (tool, RunnableLambda(str), [judged], None):
        with pytest.raises(doxa.CallerError, match="there is no retriever that could be looked at"):
            check_arms(nothing)


def test_a_ring_of_retrievers_ends(judged: TruthRetriever) -> None:
    ring = MergerRetriever(retrievers=[judged])
    ring.retrievers.append(ring)
    assert arms_of(ring) == ()
