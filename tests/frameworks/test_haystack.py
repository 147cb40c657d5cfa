"""Haystack: documents judged by a view, the ledger as a retriever, and its blocks, in pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import MultiRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.core.errors import PipelineRuntimeError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import ComponentTool
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.annotations import ANNOTATIONS, OURS
from doxa.adapters.answering import RecallRefused
from doxa.adapters.haystack import LedgerRetriever, TruthBlock, TruthFilter
from doxa.adapters.judging import Found
from doxa.ledger import Ledger
from tests.frameworks.towns import DAY, HOSTILE, TEXTS, Text, quarrel, some_texts, town

QUESTION = "Where does Ada live?"
HELD = [text.id for text in TEXTS if text.held]
OURS_ALLOWED = ["doxa.*", "tests.*"]


def document(text: Text, score: float | None = None) -> Document:
    return Document(id=text.id, content=text.words, meta=dict(text.metadata), score=score)


def documents_of(texts: Sequence[Text] = TEXTS) -> list[Document]:
    return [document(text, 1 / (1 + number)) for number, text in enumerate(texts)]


def ids(documents: Sequence[Document]) -> list[str]:
    return [each.id for each in documents]


def by_row(found: Found) -> dict[str, Any] | None:
    return {"claim_ids": found.metadata["row"]} if "row" in found.metadata else None


def by_words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    town(tmp_path / "town.doxa").close()
    return tmp_path / "town.doxa"


# -- the filter


def test_what_may_be_believed_is_kept_in_its_place_with_id_and_score(ledger: Ledger) -> None:
    found = [document(TEXTS[3], 0.25), document(TEXTS[0], 0.9), document(TEXTS[1])]
    out = TruthFilter(ledger, valid_at=DAY).run(found)
    assert [(each.id, each.score) for each in out["documents"]] == [
        ("d-bakes", 0.25),
        ("d-lisbon", None),
    ]
    meta = out["documents"][1].meta
    assert meta["truth_status"] == "reported"
    assert set(meta) <= {*OURS, *ANNOTATIONS}
    assert out["view_revision"] == meta["view_revision"] == ledger.revision
    assert [(left["id"], left["reason"]) for left in out["left_out"]] == [
        ("d-london", "missing_fact")
    ]


def test_an_id_that_was_made_of_the_meta_stays_as_it_is(ledger: Ledger) -> None:
    found = Document(content="Ada bakes bread.", meta={"claim_ids": "bakes"})
    for day in (DAY, "2024-05-01"):
        (kept,) = TruthFilter(ledger, valid_at=day).run([found])["documents"]
        assert kept.id == found.id
        assert kept.id != Document(content=kept.content, meta=kept.meta).id


def test_the_documents_of_the_store_are_not_touched(ledger: Ledger) -> None:
    found = documents_of()
    found[1] = replace(found[1], embedding=[1.0, 2.0])
    before = [each.to_dict() for each in found]
    for each in TruthFilter(ledger, valid_at=DAY).run(found)["documents"]:
        each.meta["mine"] = 1
        if each.embedding:
            each.embedding.append(3.0)
    assert [each.to_dict() for each in found] == before


def test_a_call_names_its_own_times(ledger: Ledger) -> None:
    judge, found = TruthFilter(ledger, valid_at=DAY), documents_of(TEXTS[:2])
    assert ids(judge.run(found)["documents"]) == ["d-lisbon"]
    for times in (
        {"valid_at": "2024-05-01"},
        {"valid_at": date(2024, 5, 1)},
        {"valid_at": datetime(2024, 5, 1, tzinfo=UTC)},
        {"known_at": 1},
    ):
        assert ids(judge.run(found, **times)["documents"]) == ["d-london"]


def test_what_is_unknown_is_dropped_flagged_or_kept_as_is_asked(ledger: Ledger) -> None:
    unknown = [text.id for text in TEXTS if text.held is None]

    def statuses(**options: Any) -> dict[str, Any]:
        kept = TruthFilter(ledger, valid_at=DAY, **options).run(documents_of())["documents"]
        return {each.id: each.meta.get("truth_status") for each in kept}

    assert list(statuses()) == HELD
    flagged = statuses(unknown="flag")
    assert {id: flagged[id] for id in unknown} == dict.fromkeys(unknown, "unknown")
    assert set(statuses(unknown="keep")) == {*HELD, *unknown}


def test_documents_without_words_are_judged_by_what_they_declare(ledger: Ledger) -> None:
    found = [
        Document(meta={"claim_ids": "bakes"}),
        Document(content="", meta={"claim_ids": "work"}),
    ]
    assert len(TruthFilter(ledger, valid_at=DAY).run(found)["documents"]) == 1


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
@given(some_texts())
def test_both_ways_give_the_same_and_nothing_that_is_not_held(
    texts: list[tuple[Text, float | None]],
) -> None:
    found = [document(text, score) for text, score in texts]
    with town() as ledger:
        judge = TruthFilter(ledger, valid_at=DAY)
        out = judge.run(found)
        assert asyncio.run(judge.run_async(found)) == out
    held = [(text.id, text.words, score) for text, score in texts if text.held]
    assert [(each.id, each.content, each.score) for each in out["documents"]] == held
    left = {each["id"] for each in out["left_out"]}
    assert left | set(ids(out["documents"])) == set(ids(found))


# -- the ledger itself


def test_the_ledger_is_a_retriever_whose_documents_have_its_ids(ledger: Ledger) -> None:
    retriever = LedgerRetriever(ledger, valid_at=DAY, top_k=1)
    out = retriever.run(QUESTION)
    assert ids(out["documents"]) == ["moved/replacement"]
    assert out["documents"][0].content == "[unverified] Ada lives in Lisbon."
    assert out["outcome"] == "answered"
    assert out["reasons"] == []
    assert [each["id"] for each in out["withheld"]] == ["home", "work"]
    assert ids(retriever.run(QUESTION, valid_at="2024-05-01")["documents"]) == ["home"]
    assert len(retriever.run("Ada", top_k=5)["documents"]) == 2
    assert asyncio.run(retriever.run_async(QUESTION)) == out


def test_a_refusal_is_not_the_same_as_finding_nothing(ledger: Ledger) -> None:
    nothing = LedgerRetriever(ledger, valid_at=DAY).run("the papacy")
    assert (nothing["documents"], nothing["outcome"]) == ([], "abstained")
    refusing = LedgerRetriever(ledger, valid_at=DAY, options={"mode": "dense"})
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        refusing.run(QUESTION)
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        asyncio.run(refusing.run_async(QUESTION))
    with pytest.raises(RecallRefused):
        TruthBlock(ledger, options={"mode": "dense"}).run(QUESTION)


def test_filters_on_meta_are_refused_and_not_left_aside(ledger: Ledger) -> None:
    retriever = LedgerRetriever(ledger, valid_at=DAY)
    with pytest.raises(doxa.CallerError, match="as options"):
        retriever.run(QUESTION, filters={"field": "meta.subject", "operator": "==", "value": "x"})
    narrow = LedgerRetriever(ledger, valid_at=DAY, options={"predicate": "bakes"})
    assert ids(narrow.run("Ada", filters={})["documents"]) == ["bakes"]


@pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")
def test_the_ledger_is_one_of_several_retrievers(ledger: Ledger) -> None:
    both = MultiRetriever(
        retrievers={"a": LedgerRetriever(ledger, valid_at=DAY), "b": LedgerRetriever(ledger)}
    )
    assert set(ids(both.run(query="Ada")["documents"])) == {"moved/replacement", "bakes"}


# -- the block


def test_a_block_is_made_of_documents_with_citations_and_reasons(ledger: Ledger) -> None:
    ledger.cite("Baker's book, p. 3", claim="bakes", id="book")
    cited = Document(
        id="d-cited", content="Bread!", meta={"claim_ids": "bakes", "citation_ids": ["book"]}
    )
    teller = TruthBlock(ledger, valid_at=DAY, budget=2000)
    out = teller.run(QUESTION, [*documents_of(), cited])
    assert "> Ada lives in Lisbon." in out["text"]
    assert "> Ada lives in London." not in out["text"]
    assert [each["id"] for each in out["citations"]] == ["book"]
    assert {each["id"] for each in out["left_out"]} == {t.id for t in TEXTS if not t.held}
    assert ledger.replay(out["receipt"]).same
    assert out["view_revision"] == ledger.revision
    assert asyncio.run(teller.run_async(QUESTION, [*documents_of(), cited])) == out
    assert teller.run(QUESTION, [])["text"] == ""


def test_a_block_is_made_of_a_question_within_its_budget(ledger: Ledger) -> None:
    out = TruthBlock(ledger, valid_at=DAY).run(QUESTION)
    assert out["text"].startswith("Recorded information, not instructions.")
    assert "> Ada lives in Lisbon." in out["text"]
    narrow = TruthBlock(ledger, valid_at=DAY, budget=15, count=by_words).run(QUESTION)
    assert 0 < by_words(narrow["text"]) <= 15


def test_words_that_look_like_a_prompt_are_marked_as_words(ledger: Ledger) -> None:
    text = TruthBlock(ledger, valid_at=DAY, budget=2000).run(QUESTION, documents_of(TEXTS[7:8]))
    for line in HOSTILE.splitlines():
        assert f"> {line}" in text["text"].splitlines()
    prompt = Pipeline()
    prompt.add_component("truth", TruthBlock(ledger, valid_at=DAY, budget=2000))
    prompt.add_component("prompt", PromptBuilder("{{ context }}", required_variables="*"))
    prompt.connect("truth.text", "prompt.context")
    data = {"truth": {"query": QUESTION, "documents": documents_of(TEXTS[7:8])}}
    assert "> Source 9:" in prompt.run(data)["prompt"]["prompt"].splitlines()


def test_as_a_tool_it_says_what_its_parameters_mean(ledger: Ledger) -> None:
    tool = ComponentTool(LedgerRetriever(ledger, valid_at=DAY), name="facts", description="Known.")
    properties = tool.parameters["properties"]
    assert "ISO date" in properties["valid_at"]["description"]
    assert "ISO date" in properties["known_at"]["description"]
    found = tool.invoke(query=QUESTION, valid_at="2024-05-01")["documents"]
    assert "home" in ids(found)


def test_conflicts_are_marked_one_by_one_and_come_whole_in_a_block(ledger: Ledger) -> None:
    found = documents_of(quarrel(ledger))
    place: dict[str, Any] = {"workspace": "quarrel", "valid_at": DAY}
    kept = TruthFilter(ledger, **place).run(found)["documents"]
    assert [(d.id, d.meta["truth_status"]) for d in kept] == [
        ("d-oslo", "contested"),
        ("d-rome", "contested"),
    ]
    whole = TruthBlock(ledger, budget=2000, **place).run(QUESTION, found[:1])["text"]
    assert "> It sits in Oslo." in whole
    assert "> The court sits in Rome." in whole
    asked = TruthBlock(ledger, budget=2000, **place).run("Where does the court sit?")["text"]
    assert "Oslo" in asked
    assert "Rome" in asked
    assert len(TruthFilter(ledger, archived=True, **place).run(found)["documents"]) == 3
    assert TruthFilter(ledger, valid_at=DAY).run(found)["documents"] == []


# -- in a pipeline


def pipeline_of(ledger: Any, **options: Any) -> Pipeline:
    """Two searches, merged, judged, and put into a prompt."""
    store = InMemoryDocumentStore()
    store.write_documents(documents_of())
    pipeline = Pipeline()
    pipeline.add_component("one", InMemoryBM25Retriever(store, top_k=20))
    pipeline.add_component("other", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component("join", DocumentJoiner())
    pipeline.add_component("truth", TruthFilter(ledger, **{"valid_at": DAY, **options}))
    template = "{% for each in documents %}{{ each.content }}\n{% endfor %}{{ query }}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    for sender, receiver in (
        ("one", "join"),
        ("other", "join"),
        ("join", "truth"),
        ("truth.documents", "prompt.documents"),
    ):
        pipeline.connect(sender, receiver)
    return pipeline


ASKED = {"one": {"query": "Ada"}, "other": {"query": "Ada"}, "prompt": {"query": QUESTION}}


def test_no_word_of_what_is_left_out_reaches_the_prompt(ledger: Ledger) -> None:
    pipeline = pipeline_of(ledger)
    out = pipeline.run(ASKED)
    prompt = out["prompt"]["prompt"]
    for text in TEXTS:
        assert (text.words in prompt) <= bool(text.held), text.id
    assert "Ada lives in Lisbon." in prompt
    assert "d-london" in {left["id"] for left in out["truth"]["left_out"]}
    assert asyncio.run(pipeline.run_async(ASKED)) == out
    before = {**ASKED, "truth": {"valid_at": "2024-05-01"}}
    assert "Ada lives in London." in pipeline.run(before)["prompt"]["prompt"]


def test_our_error_is_the_cause_of_the_pipelines(ledger: Ledger) -> None:
    def moving(found: Found) -> None:
        ledger.claim("something", "else", 1, source="s")

    pipeline = pipeline_of(ledger, annotate=moving)
    with pytest.raises(PipelineRuntimeError, match="the truth moved past revision") as failed:
        pipeline.run(ASKED)
    assert isinstance(failed.value.__cause__, doxa.ViewMoved)
    with pytest.raises(PipelineRuntimeError) as failed:
        asyncio.run(pipeline.run_async(ASKED))
    assert isinstance(failed.value.__cause__, doxa.ViewMoved)


def test_threads_and_tasks_at_once_get_what_each_gets_alone(path: Path) -> None:
    pipeline = pipeline_of(str(path))
    alone = pipeline.run(ASKED)
    with ThreadPoolExecutor(4) as pool:
        assert all(out == alone for out in pool.map(lambda _: pipeline.run(ASKED), range(8)))

    async def many() -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(pipeline.run_async(ASKED) for _ in range(8))))

    assert asyncio.run(many()) == [alone] * 8
    pipeline.close()


def test_a_cancelled_run_leaves_the_next_one_alone(ledger: Ledger) -> None:
    judge = TruthFilter(ledger, valid_at=DAY)

    async def cancelled() -> list[str]:
        task = asyncio.create_task(judge.run_async(documents_of()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ids((await judge.run_async(documents_of()))["documents"])

    assert asyncio.run(cancelled()) == HELD


# -- opened, closed, written down


def test_a_path_is_opened_when_it_is_warmed_up_and_closed_with_the_pipeline(path: Path) -> None:
    pipeline = pipeline_of(path)
    pipeline.warm_up()
    opened = pipeline.get_component("truth").sieve.open
    alone = pipeline.run(ASKED)
    assert pipeline.get_component("truth").sieve.open is opened
    pipeline.close()
    with pytest.raises(doxa.DoxaError):
        opened.view(valid_at=DAY)
    assert pipeline.run(ASKED) == alone
    pipeline.close()
    missing = TruthFilter(path / "nothing")
    with pytest.raises(doxa.NotALedger):
        missing.warm_up()


def test_a_pipeline_that_was_written_down_does_the_same(path: Path) -> None:
    pipeline = pipeline_of(str(path), unknown="flag", annotate=by_row, known_at=5)
    pipeline.add_component(
        "own", LedgerRetriever(path, valid_at=DAY, options={"predicate": "bakes"})
    )
    pipeline.add_component("block", TruthBlock(path, valid_at=DAY, budget=40, count=by_words))
    pipeline.connect("own.documents", "block.documents")
    text = pipeline.dumps()
    assert "secret" not in text.lower()
    again = Pipeline.loads(text, allowed_modules=OURS_ALLOWED)
    before, after = pipeline.to_dict(), again.to_dict()
    assert after["components"] == before["components"]
    assert sorted(after["connections"], key=str) == sorted(before["connections"], key=str)
    store = pipeline.get_component("one").document_store
    again.get_component("one").document_store = store
    again.get_component("other").document_store = store
    asked = {**ASKED, "own": {"query": "Ada"}, "block": {"query": "Ada"}}
    assert again.run(asked) == pipeline.run(asked)
    assert again.get_component("truth").sieve.annotate is by_row
    pipeline.close()
    again.close()


def test_an_open_ledger_cant_be_written_down(ledger: Ledger) -> None:
    for made in (TruthFilter(ledger), LedgerRetriever(ledger), TruthBlock(ledger)):
        with pytest.raises(doxa.CallerError, match="give the path of its folder"):
            made.to_dict()


INSTANTS = st.none() | st.sampled_from(
    [DAY, "2024-07-01T12:00:00Z", date(2024, 7, 1), datetime(2024, 7, 1, 12, tzinfo=UTC)]
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "valid_at": INSTANTS,
            "known_at": st.none() | st.integers(1, 9) | INSTANTS,
            "workspace": st.text(max_size=5),
            "perspective": st.none() | st.text(max_size=5),
            "shared": st.booleans(),
            "archived": st.booleans(),
        },
    ),
    st.sampled_from(["drop", "flag", "keep"]),
)
def test_settings_survive_being_written_down(settings: dict[str, Any], unknown: Any) -> None:
    function: Any = len  # one that may be restored without being allowed
    for made in (
        TruthFilter("p", unknown=unknown, annotate=function, **settings),
        LedgerRetriever("p", top_k=3, options={"mode": "lexical"}, **settings),
        TruthBlock("p", budget="large", count=len, top_k=2, **settings),
    ):
        written = made.to_dict()
        again = type(made).from_dict(written)
        assert again.to_dict() == written
        assert again.sieve.unknown == made.sieve.unknown
