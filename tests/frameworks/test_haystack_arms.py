"""Searches of a Haystack pipeline that reach its answer without being judged are found out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from haystack import Document, Pipeline, SuperComponent
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.converters import OutputAdapter, TextFileToDocument
from haystack.components.embedders import MockTextEmbedder
from haystack.components.joiners import BranchJoiner, DocumentJoiner, ListJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.rankers import LostInTheMiddleRanker
from haystack.components.retrievers import MultiRetriever, SentenceWindowRetriever
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.components.routers import MetadataRouter
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

import doxa
from doxa.adapters.answering import UnjudgedArm
from doxa.adapters.haystack import LedgerRetriever, TruthBlock, TruthFilter, check_arms
from doxa.ledger import Ledger
from tests.frameworks.test_haystack import HELD, documents_of
from tests.frameworks.towns import DAY, town

TEMPLATE = "{% for each in documents %}{{ each.content }}\n{% endfor %}"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


def search() -> InMemoryBM25Retriever:
    store = InMemoryDocumentStore()
    store.write_documents(documents_of())
    return InMemoryBM25Retriever(store, top_k=20)


def prompt() -> PromptBuilder:
    return PromptBuilder(TEMPLATE, required_variables="*")


def pipeline(*connections: str, **components: Any) -> Pipeline:
    """A pipeline of components, connected as in ``"one > join"``."""
    made = Pipeline()
    for name, component in components.items():
        made.add_component(name, component)
    for connection in connections:
        names = connection.split(" > ")
        for sender, receiver in itertools.pairwise(names):
            made.connect(sender, receiver)
    return made


def arms_of(made: Pipeline) -> tuple[str, ...]:
    try:
        check_arms(made)
    except UnjudgedArm as error:
        return error.arms
    return ()


def test_what_was_withdrawn_comes_back_through_an_arm_that_is_not_judged(ledger: Ledger) -> None:
    half = pipeline(
        "one > truth.documents",
        "truth.documents > join",
        "other > join > prompt.documents",
        one=search(),
        other=search(),
        truth=TruthFilter(ledger, valid_at=DAY),
        join=DocumentJoiner(),
        prompt=prompt(),
    )
    asked = {"one": {"query": "Ada"}, "other": {"query": "Ada"}}
    assert "Ada lives in London." in half.run(asked)["prompt"]["prompt"]
    assert arms_of(half) == ("other > join > prompt",)
    whole = pipeline(
        "one > join",
        "other > join > truth.documents",
        "truth.documents > prompt.documents",
        one=search(),
        other=search(),
        truth=TruthFilter(ledger, valid_at=DAY),
        join=DocumentJoiner(),
        prompt=prompt(),
    )
    assert "Ada lives in London." not in whole.run(asked)["prompt"]["prompt"]
    assert arms_of(whole) == ()


def test_each_arm_may_be_judged_by_itself(ledger: Ledger) -> None:
    made = pipeline(
        "one > a.documents",
        "a.documents > join",
        "other > b.documents",
        "b.documents > join > rank > prompt.documents",
        "own.documents > join",
        one=search(),
        other=search(),
        own=LedgerRetriever(ledger, valid_at=DAY),
        a=TruthFilter(ledger, valid_at=DAY),
        b=TruthFilter(ledger, valid_at=DAY),
        join=DocumentJoiner(),
        rank=LostInTheMiddleRanker(),
        prompt=prompt(),
    )
    assert arms_of(made) == ()
    asked = {name: {"query": "Ada"} for name in ("one", "other", "own")}
    out = made.run(asked, include_outputs_from={"join"})
    found = [each.id for each in out["join"]["documents"]]
    assert len(found) == len(set(found))
    assert set(found) <= {*HELD, "moved/replacement", "bakes"}


def test_a_block_judges_and_so_does_the_ledger(ledger: Ledger) -> None:
    teller = TruthBlock(ledger)
    assert arms_of(pipeline("one > block.documents", one=search(), block=teller)) == ()
    assert arms_of(pipeline(own=LedgerRetriever(ledger))) == ()


def test_a_search_at_the_end_of_a_pipeline_is_its_output(ledger: Ledger) -> None:
    assert arms_of(pipeline(one=search())) == ("one",)
    made = pipeline("one > rank", one=search(), rank=LostInTheMiddleRanker())
    assert arms_of(made) == ("one > rank",)


def test_documents_that_go_past_the_judgement_as_well_are_named(ledger: Ledger) -> None:
    made = pipeline(
        "one > truth.documents",
        "truth.documents > prompt.documents",
        "one > answer.documents",
        "prompt > answer.replies",
        one=search(),
        truth=TruthFilter(ledger),
        prompt=PromptBuilder(TEMPLATE, required_variables="*"),
        answer=AnswerBuilder(),
    )
    assert arms_of(made) == ("one > answer",)


def test_what_fetches_more_after_the_judgement_is_a_search(ledger: Ledger) -> None:
    store = InMemoryDocumentStore()
    made = pipeline(
        "one > truth.documents",
        "truth.documents > window.retrieved_documents",
        "window.context_documents > prompt.documents",
        one=search(),
        truth=TruthFilter(ledger),
        window=SentenceWindowRetriever(store),
        prompt=prompt(),
    )
    assert arms_of(made) == ("window > prompt",)


def test_a_route_that_leads_past_the_judgement_is_found(ledger: Ledger) -> None:
    rules = {"new": {"field": "meta.page", "operator": ">", "value": 1}}
    made = pipeline(
        "one > route",
        "route.new > truth.documents",
        "truth.documents > prompt.documents",
        one=search(),
        route=MetadataRouter(rules),
        truth=TruthFilter(ledger),
        prompt=prompt(),
    )
    assert arms_of(made) == ("one > route",)


def test_lists_of_any_kind_are_followed(ledger: Ledger) -> None:
    adapter = OutputAdapter("{{ documents[:3] }}", output_type=list[Document])
    made = pipeline(
        "one > adapt.documents",
        "adapt > branch > lists > prompt.documents",
        one=search(),
        adapt=adapter,
        branch=BranchJoiner(list[Document]),
        lists=ListJoiner(list[Document]),
        prompt=prompt(),
    )
    assert arms_of(made) == ("one > adapt > branch > lists > prompt",)
    judged = pipeline(
        "one > truth.documents",
        "truth.documents > adapt.documents",
        "adapt > prompt.documents",
        one=search(),
        truth=TruthFilter(ledger),
        adapt=OutputAdapter("{{ documents[:3] }}", output_type=list[Document]),
        prompt=prompt(),
    )
    assert arms_of(judged) == ()


def test_documents_that_are_written_into_a_store_are_no_answer() -> None:
    made = pipeline(
        "files > split > write",
        files=TextFileToDocument(),
        split=DocumentSplitter(),
        write=DocumentWriter(InMemoryDocumentStore()),
    )
    assert arms_of(made) == ()
    read = pipeline("files > prompt.documents", files=TextFileToDocument(), prompt=prompt())
    assert arms_of(read) == ("files > prompt",)


def test_a_search_by_meaning_is_a_search(ledger: Ledger) -> None:
    made = pipeline(
        "embed.embedding > dense.query_embedding",
        "dense > prompt.documents",
        embed=MockTextEmbedder(),
        dense=InMemoryEmbeddingRetriever(InMemoryDocumentStore()),
        prompt=prompt(),
    )
    assert arms_of(made) == ("dense > prompt",)


@pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")
def test_retrievers_inside_of_one_are_looked_at(ledger: Ledger) -> None:
    own = LedgerRetriever(ledger)
    many = MultiRetriever(retrievers={"own": own, "words": search()})
    assert arms_of(pipeline(many=many)) == ("many[words]",)
    assert arms_of(pipeline(many=MultiRetriever(retrievers={"own": own}))) == ()


def test_super_components_are_looked_into(ledger: Ledger) -> None:
    def inside(*connections: str, **components: Any) -> SuperComponent:
        made = pipeline(*connections, **components)
        return SuperComponent(made, {"query": ["one.query"]}, {next(iter(outputs)): "documents"})

    outputs = {"one.documents": "documents"}
    bad = pipeline("all > prompt.documents", all=inside(one=search()), prompt=prompt())
    assert arms_of(bad) == ("all[one] > prompt",)
    outputs = {"truth.documents": "documents"}
    judged = inside("one > truth.documents", one=search(), truth=TruthFilter(ledger))
    good = pipeline("all > prompt.documents", all=judged, prompt=prompt())
    assert arms_of(good) == ()


def test_a_ring_in_a_pipeline_ends(ledger: Ledger) -> None:
    made = pipeline(
        "one > branch > rank > branch",
        one=search(),
        branch=BranchJoiner(list[Document]),
        rank=LostInTheMiddleRanker(),
    )
    made.add_component("prompt", prompt())
    made.connect("rank", "prompt.documents")
    assert arms_of(made) == ("one > branch > rank > prompt",)


def test_what_is_no_pipeline_is_refused() -> None:
    with pytest.raises(doxa.CallerError, match="is no pipeline"):
        check_arms(search())
