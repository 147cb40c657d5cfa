"""LangChain: documents judged by a view, in its retrievers and as a compressor."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

import doxa
from doxa.adapters.annotations import ANNOTATIONS, OURS
from doxa.adapters.answering import RecallRefused
from doxa.adapters.judging import NothingDeclared
from doxa.adapters.langchain import (
    RECALLED,
    SIFTED,
    LedgerRetriever,
    TruthCompressor,
    TruthRetriever,
)
from doxa.adapters.markdown import annotate_memos, import_corpus
from doxa.ledger import Ledger
from tests.frameworks.towns import DAY, TEXTS, Text, some_texts, town

QUESTION = "Where does Ada live?"
HELD = [text.id for text in TEXTS if text.held]


class Given(BaseRetriever):
    """Brings the same documents for any question, as a store does that hands out its own."""

    documents: list[Any]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
        return self.documents


class Counting(BaseRetriever):
    """Brings as many as it is asked for, and keeps count of what it was asked."""

    documents: list[Any]
    asked: list[int] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, first: int = 2
    ) -> list[Document]:
        self.asked.append(first)
        return self.documents[:first]


class Seeing(BaseCallbackHandler):
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.events.append(("error", type(error).__name__))


def document(text: Text, **more: Any) -> Document:
    return Document(page_content=text.words, id=text.id, metadata={**text.metadata, **more})


def documents_of(texts: Sequence[Text] = TEXTS) -> list[Document]:
    return [document(text) for text in texts]


def ids(documents: Sequence[Document]) -> list[str | None]:
    return [each.id for each in documents]


def stored(documents: Sequence[Document], **options: Any) -> Any:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(list(documents))
    return store.as_retriever(**options)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


def test_what_may_be_believed_is_kept_in_its_place_with_its_score(ledger: Ledger) -> None:
    found = [document(TEXTS[3], score=0.25), document(TEXTS[0]), document(TEXTS[1], score=0.9)]
    kept = TruthRetriever(Given(documents=found), ledger, valid_at=DAY).invoke(QUESTION)
    assert [(each.id, each.metadata["score"]) for each in kept] == [
        ("d-bakes", 0.25),
        ("d-lisbon", 0.9),
    ]
    assert kept[1].metadata["truth_status"] == "reported"
    assert kept[1].metadata["view_revision"] == ledger.revision
    assert set(kept[1].metadata) - {"score"} <= {*OURS, *ANNOTATIONS}
    assert kept[1].page_content == TEXTS[1].words


def test_the_documents_of_the_store_are_not_touched(ledger: Ledger) -> None:
    found = documents_of()
    before = [each.model_dump_json() for each in found]
    retriever = TruthRetriever(Given(documents=found), ledger, valid_at=DAY)
    compressor = TruthCompressor(ledger, valid_at=DAY)
    for each in [*retriever.invoke(QUESTION), *compressor.compress_documents(found, QUESTION)]:
        each.metadata["mine"] = 1
        each.page_content = "changed"
        each.id = "another"
    assert [each.model_dump_json() for each in found] == before
    index = stored(documents_of(), search_kwargs={"k": 20})
    for each in TruthRetriever(index, ledger, valid_at=DAY).invoke(QUESTION):
        each.metadata["mine"] = 1
    assert not any({"mine", "truth_status"} & each.metadata.keys() for each in index.invoke("q"))


def test_documents_without_ids_are_judged_and_stay_without(ledger: Ledger) -> None:
    found = [each.model_copy(update={"id": None}) for each in documents_of()]
    kept = TruthRetriever(Given(documents=found), ledger, valid_at=DAY).invoke(QUESTION)
    assert ids(kept) == [None] * len(HELD)
    assert [each.page_content for each in kept] == [text.words for text in TEXTS if text.held]


def test_a_call_a_binding_and_a_run_name_times(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of(TEXTS[:2])), ledger, valid_at=DAY)
    assert ids(retriever.invoke(QUESTION)) == ["d-lisbon"]
    before = {"valid_at": "2024-05-01"}
    assert ids(retriever.invoke(QUESTION, **before)) == ["d-london"]
    assert ids(retriever.bind(**before).invoke(QUESTION)) == ["d-london"]
    assert ids(retriever.invoke(QUESTION, {"configurable": before})) == ["d-london"]
    assert ids(retriever.with_config(configurable=before).invoke(QUESTION)) == ["d-london"]
    assert ids(retriever.invoke(QUESTION, known_at=1)) == ["d-london"]
    assert ids(retriever.invoke(QUESTION, {"configurable": before}, valid_at=DAY)) == ["d-lisbon"]
    assert [ids(each) for each in retriever.batch([QUESTION] * 3, **before)] == [["d-london"]] * 3
    assert {spec.id for spec in retriever.config_specs} == {"valid_at", "known_at"}


def test_the_times_of_a_run_reach_into_chains_and_into_other_judgements(ledger: Ledger) -> None:
    inner = TruthRetriever(Given(documents=documents_of(TEXTS[:2])), ledger, valid_at=DAY)
    chain = {"found": RunnablePassthrough() | inner} | RunnableLambda(lambda got: got["found"])
    before = {"valid_at": "2024-05-01"}
    assert ids(chain.invoke(QUESTION, {"configurable": before})) == ["d-london"]
    assert ids(asyncio.run(chain.ainvoke(QUESTION, {"configurable": before}))) == ["d-london"]
    outer = TruthRetriever(inner, ledger, valid_at=DAY)
    assert ids(outer.invoke(QUESTION, **before)) == ["d-london"]
    assert ids(outer.invoke(QUESTION)) == ["d-lisbon"]
    compressing = ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[]), base_retriever=inner
    )
    assert ids(compressing.invoke(QUESTION, **before)) == ["d-london"]


def test_the_times_can_be_configured_as_fields(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of(TEXTS[:2])), ledger, valid_at=DAY)
    field = retriever.configurable_fields(valid_at=ConfigurableField(id="day"))
    assert ids(field.invoke(QUESTION, {"configurable": {"day": "2024-05-01"}})) == ["d-london"]


def test_a_misspelt_time_is_refused_and_not_passed_over(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=[]), ledger)
    with pytest.raises(TypeError, match="valid_att"):
        retriever.invoke(QUESTION, valid_att=DAY)
    with pytest.raises(doxa.CallerError, match="no 'valid_att'; it takes ledger, valid_at, known"):
        TruthRetriever(Given(documents=[]), ledger, valid_att=DAY)
    with pytest.raises(doxa.CallerError, match="TruthCompressor takes no 'valid_att'; it takes"):
        TruthCompressor(ledger, valid_att=DAY)
    with pytest.raises(doxa.CallerError, match="'maybe'; give drop, flag or keep"):
        TruthRetriever(Given(documents=[]), ledger, unknown="maybe")


def test_as_of_is_refused_wherever_it_is_given(ledger: Ledger) -> None:
    judged = TruthRetriever(Given(documents=documents_of(TEXTS[:1])), ledger)
    own = LedgerRetriever(ledger)
    calls: list[Callable[[], object]] = [
        lambda: judged.invoke(QUESTION, as_of=DAY),
        lambda: asyncio.run(judged.ainvoke(QUESTION, as_of=DAY)),
        lambda: judged.bind(as_of=DAY).invoke(QUESTION),
        lambda: own.invoke(QUESTION, as_of=DAY),
        lambda: LedgerRetriever(ledger, as_of=DAY).invoke(QUESTION),
        lambda: TruthRetriever(Given(documents=[]), ledger, as_of=DAY),
        lambda: TruthCompressor(ledger, as_of=DAY),
    ]
    for call in calls:
        with pytest.raises(doxa.CallerError, match="as_of is refused: say valid_at"):
            call()


def test_what_is_unknown_is_dropped_flagged_or_kept_as_is_asked(ledger: Ledger) -> None:
    def statuses(unknown: str) -> dict[Any, Any]:
        compressor = TruthCompressor(ledger, valid_at=DAY, unknown=unknown)
        kept = compressor.compress_documents(documents_of(), QUESTION)
        return {each.id: each.metadata.get("truth_status") for each in kept}

    unknown = [text.id for text in TEXTS if text.held is None]
    assert list(statuses("drop")) == HELD
    flagged = statuses("flag")
    assert {id: flagged[id] for id in unknown} == dict.fromkeys(unknown, "unknown")
    assert set(statuses("keep")) == {*HELD, *unknown}
    assert statuses("keep")["d-bare"] is None


def test_documents_are_annotated_by_a_function(ledger: Ledger) -> None:
    found = [Document(page_content="Ada bakes bread.", metadata={"row": "bakes"})]
    retriever = TruthRetriever(
        Given(documents=found),
        ledger,
        valid_at=DAY,
        annotate=lambda one: {"claim_ids": one.item.metadata["row"]},
    )
    assert retriever.invoke(QUESTION)[0].metadata["claim_ids"] == '["bakes"]'


def test_what_was_left_out_is_told_in_an_event_and_by_sift(ledger: Ledger) -> None:
    seen = Seeing()
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
    retriever.invoke(QUESTION, {"callbacks": [seen]})
    asyncio.run(retriever.ainvoke(QUESTION, {"callbacks": [seen]}))
    (name, told), (_, same) = seen.events
    reasons = {left["id"]: left["reason"] for left in told["left_out"]}
    assert (name, told["kept"], told["view_revision"]) == (SIFTED, HELD, ledger.revision)
    assert reasons == {
        "d-london": "missing_fact",
        "d-mill": "missing_support",
        "d-both": "missing_fact",
        "d-bare": "missing_annotation",
        "d-other": "missing_fact",
        "d-odd": "invalid_annotation",
    }
    assert same == told
    assert not any(text.words in str(told) for text in TEXTS)
    sifting = retriever.sift(QUESTION)
    assert {left.found.id: left.reason for left in sifting.left_out} == reasons
    assert asyncio.run(retriever.asift(QUESTION)).left_out == sifting.left_out


def test_events_reach_asynchronous_handlers_and_streams(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
    seen: list[str] = []

    class Waiting(AsyncCallbackHandler):
        async def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            await asyncio.sleep(0)
            seen.append(name)

    async def streamed() -> list[str]:
        await retriever.ainvoke(QUESTION, {"callbacks": [Waiting()]})
        events = retriever.astream_events(QUESTION, version="v2")
        return [each["name"] async for each in events if each["event"] == "on_custom_event"]

    assert asyncio.run(streamed()) == [SIFTED]
    assert seen == [SIFTED]


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
def test_a_truth_that_moves_while_documents_are_judged_is_an_error(ledger: Ledger) -> None:
    def moving(found: Any) -> None:
        ledger.claim("something", "else", 1, source="s")

    seen, arm = Seeing(), Given(documents=documents_of(TEXTS[5:6]))
    retriever = TruthRetriever(arm, ledger, annotate=moving)
    with pytest.raises(doxa.ViewMoved):
        retriever.invoke(QUESTION, {"callbacks": [seen]})
    with pytest.raises(doxa.ViewMoved):
        asyncio.run(retriever.ainvoke(QUESTION))
    assert seen.events == [("error", "ViewMoved")]
    assert TruthRetriever(arm, ledger, annotate=moving, known_at=5).invoke(QUESTION) == []


def test_an_index_over_notes_serves_what_their_newest_wordings_say(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "old.md").write_text("# Hours\n\nWe open at ten.\n\nBring a chair.\n")
    (notes / "fees.md").write_text("---\nsources: [minutes]\n---\n# Fees\n\nFour a year.\n")
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))

    def indexed() -> None:
        for path in sorted(notes.glob("*.md")):
            parts = [path.read_text(), *path.read_text().split("\n\n")[1:]]
            metadata = {"source": str(path)}
            store.add_documents([Document(part, metadata=metadata) for part in parts])

    with doxa.open() as ledger:
        import_corpus(ledger, notes)
        indexed()
        arm = store.as_retriever(search_kwargs={"k": 20})
        retriever = TruthRetriever(arm, ledger, annotate=annotate_memos(ledger, notes))
        before = ledger.revision

        def words(**at: Any) -> set[str]:
            """Which words that tell the wordings apart are served."""
            text = " ".join(document.page_content for document in retriever.invoke(QUESTION, **at))
            return {word for word in ("ten", "nine", "chair", "Four", "Five") if word in text}

        assert words() == {"ten", "chair", "Four"}
        (notes / "old.md").write_text("# Hours\n\nWe open at nine.\n\nBring a chair.\n")
        (notes / "fees.md").write_text("---\nsupersedes: old\n---\n# Fees\n\nFive a year.\n")
        import_corpus(ledger, notes)
        indexed()  # the chunks of before are still there
        assert words() == {"Five"}
        assert words(known_at=before) == {"ten", "chair", "Four"}
        (notes / "fees.md").unlink()
        import_corpus(ledger, notes)
        assert words() == {"nine", "chair"}
        both = [retriever.invoke(QUESTION, valid_at=DAY)]
        both.append(asyncio.run(retriever.ainvoke(QUESTION, valid_at=DAY)))
        assert both[0] == both[1]


def test_a_store_that_declares_nothing_is_told_of_where_it_is_asked(ledger: Ledger) -> None:
    arm = Given(documents=[Document("Ada lives in London.", metadata={"claim_id": "home"})])
    retriever = TruthRetriever(arm, ledger)
    with pytest.warns(NothingDeclared, match="'claim_id' .is 'claim_ids' meant") as told:
        assert retriever.invoke(QUESTION) == []
    assert asyncio.run(retriever.ainvoke(QUESTION)) == []
    assert [one.filename for one in told] == [__file__]


def test_what_is_no_list_of_documents_is_refused(ledger: Ledger) -> None:
    texts = RunnableLambda(lambda query: ["Ada lives in London."])
    with pytest.raises(doxa.CallerError, match="brought a str where a Document is expected"):
        TruthRetriever(texts, ledger).invoke(QUESTION)
    with pytest.raises(doxa.CallerError, match="brought a dict where a list of Documents"):
        TruthRetriever(RunnableLambda(lambda query: {}), ledger).invoke(QUESTION)
    with pytest.raises(doxa.CallerError, match="put a function into a RunnableLambda"):
        TruthRetriever(lambda query: [], ledger)
    given = RunnableLambda(lambda query: documents_of())
    assert ids(TruthRetriever(given, ledger, valid_at=DAY).invoke(QUESTION)) == HELD


# -- as many as are asked for


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
def test_a_vector_store_is_asked_for_more_until_enough_may_be_believed(
    ledger: Ledger, search_type: str
) -> None:
    many = [document(text._replace(id=f"{text.id}-{n}")) for n in range(40) for text in TEXTS[:1]]
    index = stored([*many, *documents_of()], search_type=search_type, search_kwargs={"k": 2})
    retriever = TruthRetriever(index, ledger, valid_at=DAY)
    assert set(ids(retriever.invoke(QUESTION, k=3))) == set(HELD)
    assert ids(retriever.invoke(QUESTION, k=3)) == ids(
        asyncio.run(retriever.ainvoke(QUESTION, k=3))
    )
    assert set(ids(retriever.invoke(QUESTION, k=30))) == set(HELD)
    assert len(retriever.invoke(QUESTION)) <= 2


def test_another_retriever_is_asked_for_more_where_the_argument_is_named(ledger: Ledger) -> None:
    arm = Counting(documents=documents_of())
    retriever = TruthRetriever(arm, ledger, valid_at=DAY, k=2, k_key="first")
    assert ids(retriever.invoke(QUESTION)) == HELD[:2]
    assert arm.asked == [2, 4]
    sifting = retriever.sift(QUESTION, k=1)
    assert [left.found.id for left in sifting.left_out] == ["d-london"]
    assert retriever.sift(QUESTION, k=9).kept == retriever.sift(QUESTION, k=3).kept
    arm.asked.clear()
    assert ids(TruthRetriever(arm, ledger, valid_at=DAY).invoke(QUESTION)) == ["d-lisbon"]
    assert ids(retriever.invoke(QUESTION, search={"first": 9}, k=1)) == ["d-lisbon"]
    assert arm.asked == [2, 9]


def test_what_is_beyond_k_is_left_out_and_named(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY, k=1)
    sifting = retriever.sift(QUESTION)
    assert [kept.found.id for kept in sifting] == HELD[:1]
    beyond = [left.found.id for left in sifting.left_out if left.reason == "beyond_top_k"]
    assert beyond == HELD[1:]


def test_a_retriever_that_never_has_enough_is_not_asked_for_ever(ledger: Ledger) -> None:
    class Endless(BaseRetriever):
        asked: list[int] = Field(default_factory=list)

        def _get_relevant_documents(
            self, query: str, *, run_manager: Any, n: int
        ) -> list[Document]:
            self.asked.append(n)
            return [document(TEXTS[0])] * n

    arm = Endless()
    assert TruthRetriever(arm, ledger, valid_at=DAY, k=7, k_key="n").invoke(QUESTION) == []
    assert arm.asked == [7, 14, 28, 56, 112, 224, 448, 896, 1000]


@pytest.mark.parametrize("k", [0, -1, True, "3", 1.5])
def test_k_is_a_number_of_documents(ledger: Ledger, k: Any) -> None:
    retriever = TruthRetriever(Given(documents=[]), ledger)
    with pytest.raises(doxa.CallerError, match=r"k is .*; give a whole number"):
        retriever.invoke(QUESTION, k=k)


# -- a step of a pipeline


def test_a_compressor_judges_in_a_compression_retriever(ledger: Ledger) -> None:
    judge, seen = TruthCompressor(ledger, valid_at=DAY), Seeing()
    for compressor in (judge, DocumentCompressorPipeline(transformers=[judge])):
        retriever = ContextualCompressionRetriever(
            base_compressor=compressor, base_retriever=Given(documents=documents_of())
        )
        assert ids(retriever.invoke(QUESTION, {"callbacks": [seen]})) == HELD
        assert ids(asyncio.run(retriever.ainvoke(QUESTION))) == HELD
    assert [name for name, _ in seen.events] == [SIFTED, SIFTED]
    earlier = judge.compress_documents(documents_of(TEXTS[:2]), QUESTION, valid_at="2024-05-01")
    assert ids(earlier) == ["d-london"]
    assert len(judge.sift(documents_of()).left_out) == len(TEXTS) - len(HELD)
    assert judge.compress_documents([], QUESTION) == []


def test_a_retriever_is_a_tool_with_langchains_own_means(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
    tool = create_retriever_tool(retriever, "t", "d", response_format="content_and_artifact")
    call = {"name": "t", "args": {"query": QUESTION}, "id": "1", "type": "tool_call"}
    answer = tool.invoke(call)
    assert ids(answer.artifact) == HELD
    assert TEXTS[0].words not in answer.content


# -- the ledger itself


def test_the_ledger_is_a_retriever_whose_documents_have_its_ids(ledger: Ledger) -> None:
    retriever, seen = LedgerRetriever(ledger, valid_at=DAY, top_k=1), Seeing()
    (found,) = retriever.invoke(QUESTION, {"callbacks": [seen]})
    assert found.id == "moved/replacement"
    assert found.page_content == "[unverified] Ada lives in Lisbon."
    assert found.metadata["claim_ids"] == '["moved/replacement"]'
    assert found.metadata["score"] > 0
    assert seen.events[0][0] == RECALLED
    assert seen.events[0][1]["outcome"] == "answered"
    assert {each["id"] for each in seen.events[0][1]["withheld"]} == {"home", "work"}
    (before,) = retriever.invoke("Ada London", valid_at="2024-05-01")
    assert before.id == "home"
    assert len(retriever.invoke(QUESTION, top_k=2)) == 2
    assert TruthCompressor(ledger, valid_at=DAY).compress_documents([found], QUESTION)
    assert str(retriever.recall(QUESTION).answer.outcome) == "answered"
    both = asyncio.run(retriever.arecall(QUESTION, valid_at="2024-05-01", top_k=3))
    assert both.kept == retriever.recall(QUESTION, valid_at="2024-05-01", top_k=3).kept


def test_a_refusal_is_not_the_same_as_finding_nothing(ledger: Ledger) -> None:
    assert LedgerRetriever(ledger, valid_at=DAY).invoke("the papacy") == []
    refusing, seen = LedgerRetriever(ledger, valid_at=DAY, mode="dense"), Seeing()
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        refusing.invoke(QUESTION, {"callbacks": [seen]})
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        asyncio.run(refusing.ainvoke(QUESTION))
    assert seen.events == [("error", "RecallRefused")]


# -- both ways, at once, cancelled


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
@given(some_texts(), st.none() | st.integers(1, 9))
def test_both_ways_give_the_same_and_nothing_that_is_not_held(
    texts: list[tuple[Text, float | None]], k: int | None
) -> None:
    with town() as ledger:
        found = [document(text, score=score) for text, score in texts]
        retriever = TruthRetriever(Given(documents=found), ledger, valid_at=DAY, k=k)
        judge = TruthCompressor(ledger, valid_at=DAY)
        kept = retriever.invoke(QUESTION)
        alone = judge.compress_documents(found, QUESTION)
        assert asyncio.run(retriever.ainvoke(QUESTION)) == kept == alone[:k]
        assert asyncio.run(judge.acompress_documents(found, QUESTION)) == alone
        assert asyncio.run(retriever.abatch([QUESTION])) == retriever.batch([QUESTION]) == [kept]
    held = [(text.id, text.words, score) for text, score in texts if text.held]
    assert [(each.id, each.page_content, each.metadata["score"]) for each in kept] == held[:k]


def test_threads_and_tasks_at_once_get_what_each_gets_alone(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
    recalling = LedgerRetriever(ledger, valid_at=DAY)
    alone, told = retriever.invoke(QUESTION), recalling.invoke(QUESTION)
    with ThreadPoolExecutor(8) as pool:
        assert all(got == alone for got in pool.map(retriever.invoke, [QUESTION] * 24))
    assert retriever.batch([QUESTION] * 24) == [alone] * 24

    async def many() -> None:
        assert await retriever.abatch([QUESTION] * 24) == [alone] * 24
        tasks = [retriever.ainvoke(QUESTION), recalling.ainvoke(QUESTION)] * 8
        assert await asyncio.gather(*tasks) == [alone, told] * 8

    asyncio.run(many())


def test_what_is_given_while_others_write_was_held_at_the_view_that_it_names() -> None:
    with town() as ledger:
        retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
        done = Event()

        def write() -> None:
            for number in range(40):
                id = ledger.withdraw("bakes", id=f"gone {number}")
                ledger.withdraw(id, id=f"back {number}")
            done.set()

        def ask() -> list[tuple[Any, Any]]:
            given: list[tuple[Any, Any]] = []
            while True:
                last = done.is_set()
                try:
                    got = retriever.invoke(QUESTION)
                except doxa.ViewMoved:
                    continue
                given.append((got[0].metadata["view_revision"], tuple(ids(got))))
                if last:
                    return given

        with ThreadPoolExecutor(5) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            pool.submit(write).result()
            given = {each for one in asking for each in one.result()}
        assert max(revision for revision, _ in given) == ledger.revision
        for revision, got in given:
            view = ledger.view(valid_at=DAY, known_at=revision)
            bakes = view.standing("bakes") == "reported"
            assert list(got) == (HELD if bakes else ["d-lisbon"])


def test_a_cancelled_question_leaves_the_next_one_alone(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)

    async def cancelled() -> list[str | None]:
        task = asyncio.create_task(retriever.ainvoke(QUESTION))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ids(await retriever.ainvoke(QUESTION))

    assert asyncio.run(cancelled()) == HELD


# -- given as a path, written down


def test_a_path_is_opened_when_it_is_asked_and_goes_into_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "town.doxa"
    town(path).close()
    made = [
        TruthRetriever(stored(documents_of(), search_kwargs={"k": 20}), path, valid_at=DAY),
        LedgerRetriever(path, valid_at=DAY, top_k=2, tags=["mine"]),
    ]
    for one in made:
        got = one.invoke(QUESTION)
        again = pickle.loads(pickle.dumps(one)) if one is made[1] else None
        assert one.invoke(QUESTION) == got  # still open
        if again is not None:
            assert again.invoke(QUESTION) == got
            assert (again.tags, again.options) == (["mine"], {"top_k": 2})
            again.close()
        one.close()
    judge = TruthCompressor(path, valid_at=DAY, unknown="flag")
    again = pickle.loads(pickle.dumps(judge))
    assert len(again.compress_documents(documents_of(), QUESTION)) == len(HELD) + 2
    again.close()


def test_settings_that_are_changed_count_and_a_copy_has_its_own(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(documents=documents_of()), ledger, valid_at=DAY)
    today = ids(retriever.invoke(QUESTION))
    before = retriever.model_copy(update={"valid_at": "2020-01-01"})
    assert ids(before.invoke(QUESTION)) != today == ids(retriever.invoke(QUESTION))
    retriever.valid_at = "2020-01-01"
    assert ids(retriever.invoke(QUESTION)) == ids(before.invoke(QUESTION))
    own = LedgerRetriever(ledger, valid_at=DAY)
    assert own.invoke(QUESTION)
    own.workspace, own.shared = "elsewhere", False
    assert own.invoke(QUESTION) == []


def test_what_the_ledger_found_is_judged_again_with_its_warnings(ledger: Ledger) -> None:
    ledger.summarize("Ada lives in Lisbon.", facts=["moved/replacement"], id="summed up")
    own = LedgerRetriever(ledger, valid_at=DAY)
    found = own.invoke(QUESTION)
    assert {one.id: one.page_content for one in found}["summed up"].startswith("[unverified] ")
    again = TruthRetriever(own, ledger, valid_at=DAY).invoke(QUESTION)
    assert [(one.id, one.page_content) for one in again] == [
        (one.id, one.page_content) for one in found
    ]


def test_an_open_ledger_cant_be_written_down(ledger: Ledger) -> None:
    for one in (TruthCompressor(ledger), LedgerRetriever(ledger)):
        with pytest.raises(doxa.CallerError, match="give the path of its folder"):
            pickle.dumps(one)
