"""LlamaIndex: nodes judged by a view, and what the ledger finds, in its retrievers and engines."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

import doxa
from doxa.adapters.annotations import ANNOTATIONS, OURS
from doxa.adapters.answering import RecallRefused
from doxa.adapters.judging import NothingDeclared
from doxa.adapters.llamaindex import (
    LedgerRetriever,
    RecallEvent,
    TruthEvent,
    TruthMemoryBlock,
    TruthPostprocessor,
    TruthQuery,
    TruthRetriever,
)
from doxa.ledger import Ledger
from tests.frameworks.towns import DAY, HOSTILE, TEXTS, Text, quarrel, some_texts, town

QUESTION = "Where does Ada live?"


class Given(BaseRetriever):
    """Brings the same nodes for any question, as a store does that hands out its own."""

    def __init__(self, nodes: Sequence[NodeWithScore]) -> None:
        self.nodes = list(nodes)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(self.nodes)


def node(text: Text, score: float | None = None) -> NodeWithScore:
    made = TextNode(id_=text.id, text=text.words, metadata=dict(text.metadata))
    return NodeWithScore(node=made, score=score)


def nodes_of(texts: Sequence[Text] = TEXTS) -> list[NodeWithScore]:
    return [node(text, 1 / (1 + number)) for number, text in enumerate(texts)]


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in nodes]


HELD = [text.id for text in TEXTS if text.held]


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


def test_what_may_be_believed_is_kept_in_its_place_with_its_score(ledger: Ledger) -> None:
    found = [node(TEXTS[3], 0.25), node(TEXTS[0], 0.9), node(TEXTS[1], None)]
    kept = TruthPostprocessor(ledger, valid_at=DAY).postprocess_nodes(found, query_str=QUESTION)
    assert [(each.node_id, each.score) for each in kept] == [("d-bakes", 0.25), ("d-lisbon", None)]
    assert kept[1].metadata["truth_status"] == "reported"
    assert kept[1].metadata["view_revision"] == ledger.revision


def test_the_nodes_of_the_store_are_not_touched(ledger: Ledger) -> None:
    found = nodes_of()
    found[1].node.embedding = [1.0, 2.0]
    found[1].node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="document")
    before = [each.model_dump_json() for each in found]
    for each in TruthRetriever(Given(found), ledger, valid_at=DAY).retrieve(QUESTION):
        each.node.metadata["mine"] = 1
        each.node.relationships.clear()
        each.score = 7.0
        if each.node.embedding:
            each.node.embedding.append(3.0)
    assert [each.model_dump_json() for each in found] == before


def test_the_notes_are_for_neither_the_model_nor_the_embedder(ledger: Ledger) -> None:
    before = node(TEXTS[1])
    before.node.metadata |= {"page": 3, "valid_from": "of mine"}
    before.node.excluded_llm_metadata_keys = ["page"]
    (kept,) = TruthPostprocessor(ledger, valid_at=DAY).postprocess_nodes([before])
    assert kept.node.get_content(MetadataMode.LLM) == TEXTS[1].words
    assert kept.node.get_content(MetadataMode.EMBED) == f"page: 3\n\n{TEXTS[1].words}"
    assert kept.node.excluded_llm_metadata_keys[0] == "page"
    assert set(kept.node.metadata) - {"page"} <= {*OURS, *ANNOTATIONS}


def test_a_question_names_its_own_times(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(nodes_of(TEXTS[:2])), ledger, valid_at=DAY)
    assert ids(retriever.retrieve(QUESTION)) == ["d-lisbon"]
    assert ids(retriever.retrieve(TruthQuery(QUESTION, valid_at="2024-05-01"))) == ["d-london"]
    assert ids(retriever.retrieve(TruthQuery(QUESTION, known_at=1))) == ["d-london"]
    engine = RetrieverQueryEngine.from_args(
        Given(nodes_of(TEXTS[:2])),
        llm=MockLLM(),
        node_postprocessors=[TruthPostprocessor(ledger, valid_at=DAY)],
    )
    assert ids(engine.query(TruthQuery(QUESTION, valid_at="2024-05-01")).source_nodes) == [
        "d-london"
    ]
    assert ids(engine.query(QUESTION).source_nodes) == ["d-lisbon"]


def test_what_is_unknown_is_dropped_flagged_or_kept_as_is_asked(ledger: Ledger) -> None:
    def statuses(unknown: str) -> dict[str, Any]:
        kept = TruthPostprocessor(ledger, valid_at=DAY, unknown=unknown).postprocess_nodes(
            nodes_of()
        )
        return {each.node_id: each.metadata.get("truth_status") for each in kept}

    unknown = [text.id for text in TEXTS if text.held is None]
    assert list(statuses("drop")) == HELD
    flagged = statuses("flag")
    assert {id: flagged[id] for id in unknown} == dict.fromkeys(unknown, "unknown")
    assert set(statuses("keep")) == {*HELD, *unknown}
    assert statuses("keep")["d-bare"] is None


def test_nodes_are_annotated_by_a_function(ledger: Ledger) -> None:
    found = [node(Text("n", "Ada bakes bread.", {"row": "bakes"}, None))]
    judge = TruthPostprocessor(
        ledger, valid_at=DAY, annotate=lambda one: {"claim_ids": one.metadata["row"]}
    )
    assert judge.postprocess_nodes(found)[0].metadata["claim_ids"] == '["bakes"]'


def test_an_image_is_judged_by_what_it_declares(ledger: Ledger) -> None:
    def image(id: str, claim: str) -> NodeWithScore:
        made = ImageNode(id_=id, image_path="bread.png", metadata={"claim_ids": claim})
        return NodeWithScore(node=made, score=1.0)

    found = [image("held", "bakes"), image("gone", "work")]
    (kept,) = TruthPostprocessor(ledger, valid_at=DAY).postprocess_nodes(found)
    assert (kept.node_id, kept.node.image_path) == ("held", "bread.png")


def test_what_was_left_out_is_told_in_an_event_and_by_sift(ledger: Ledger) -> None:
    seen: list[TruthEvent | RecallEvent] = []

    class Seeing(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            if isinstance(event, TruthEvent | RecallEvent):
                seen.append(event)

    root, handler = get_dispatcher(), Seeing()
    root.add_event_handler(handler)
    try:
        retriever = TruthRetriever(Given(nodes_of()), ledger, valid_at=DAY)
        retriever.retrieve(QUESTION)
        LedgerRetriever(ledger, valid_at=DAY).retrieve("Ada London Lisbon")
    finally:
        root.event_handlers.remove(handler)
    judged, recalled = seen
    assert isinstance(judged, TruthEvent)
    assert judged.kept == HELD
    reasons = {left["id"]: left["reason"] for left in judged.left_out}
    assert reasons == {
        "d-london": "missing_fact",
        "d-mill": "missing_support",
        "d-both": "missing_fact",
        "d-bare": "missing_annotation",
        "d-other": "missing_fact",
        "d-odd": "invalid_annotation",
    }
    assert judged.view_revision == ledger.revision
    sifting = retriever.sift(QUESTION)
    assert {left.found.id: left.reason for left in sifting.left_out} == reasons
    assert isinstance(recalled, RecallEvent)
    assert recalled.outcome == "answered"
    assert {each["id"] for each in recalled.withheld} == {"home", "work"}


def test_no_word_of_what_is_left_out_reaches_the_model(ledger: Ledger) -> None:
    index = VectorStoreIndex(
        [each.node for each in nodes_of()], embed_model=MockEmbedding(4), show_progress=False
    )
    engine = index.as_query_engine(
        llm=MockLLM(),
        similarity_top_k=20,
        node_postprocessors=[TruthPostprocessor(ledger, valid_at=DAY)],
    )
    prompt = str(engine.query(QUESTION))  # a mock model says what it was told
    for text in TEXTS:
        assert (text.words in prompt) == bool(text.held), text.id
    assert "claim_ids" not in prompt
    assert "truth_status" not in prompt


def test_claim_ids_survive_the_rechunking_of_a_citation_engine(ledger: Ledger) -> None:
    engine = CitationQueryEngine.from_args(
        VectorStoreIndex([], embed_model=MockEmbedding(4)),
        llm=MockLLM(),
        retriever=TruthRetriever(Given(nodes_of()), ledger, valid_at=DAY),
    )
    answer = engine.query(QUESTION)
    assert [each.metadata["claim_ids"] for each in answer.source_nodes][:2] == [
        ["moved/replacement"],
        "bakes",
    ]
    assert "claim_ids" not in str(answer)


def test_a_retriever_is_asked_for_more_until_enough_may_be_believed(ledger: Ledger) -> None:
    asked: list[int] = []

    class Numbered(Given):
        similarity_top_k = 2

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            asked.append(self.similarity_top_k)
            return list(self.nodes[: self.similarity_top_k])

    gone = [
        node(Text(f"g{n}", "Ada works at the mill.", {"claim_ids": "work"}, False))
        for n in range(9)
    ]
    inner = Numbered([*gone, node(TEXTS[1]), node(TEXTS[3]), node(TEXTS[7])])
    assert TruthRetriever(inner, ledger, valid_at=DAY).retrieve(QUESTION) == []
    for top_k, kept, numbers in (
        (1, ["d-lisbon"], [2, 4, 8, 16]),
        (2, ["d-lisbon", "d-bakes"], [2, 4, 8, 16]),
        (5, ["d-lisbon", "d-bakes", "d-hostile"], [5, 10, 20]),
    ):
        retriever = TruthRetriever(inner, ledger, valid_at=DAY, top_k=top_k)
        asked.clear()
        assert ids(retriever.retrieve(QUESTION)) == kept
        assert asked == numbers
        assert ids(asyncio.run(retriever.aretrieve(QUESTION))) == kept
        assert asked == numbers * 2
    assert inner.similarity_top_k == 2
    once = TruthRetriever(Given(inner.nodes), ledger, valid_at=DAY, top_k=1)
    assert ids(once.retrieve(QUESTION)) == ["d-lisbon"]
    index = VectorStoreIndex([each.node for each in inner.nodes], embed_model=MockEmbedding(4))
    searched = TruthRetriever(index.as_retriever(similarity_top_k=1), ledger, valid_at=DAY, top_k=3)
    assert len(searched.retrieve(QUESTION)) == 3
    for wrong in (0, True, "3"):
        with pytest.raises(doxa.CallerError, match="top_k is"):
            TruthRetriever(inner, ledger, top_k=wrong)  # type: ignore[arg-type]


def test_nothing_behind_a_node_is_entered_after_the_judgement(ledger: Ledger) -> None:
    secret = TextNode(id_="secret", text="Ada lives in London.", metadata={"claim_ids": "home"})
    inner = IndexNode(
        id_="inner", text="More.", index_id="i", obj=secret, metadata={"claim_ids": "bakes"}
    )
    outer = IndexNode(
        id_="outer", text="More.", index_id="o", obj=inner, metadata={"claim_ids": "bakes"}
    )
    retriever = TruthRetriever(Given([NodeWithScore(node=outer, score=1.0)]), ledger, valid_at=DAY)
    for found in (retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))):
        assert ids(found) == ["inner"]
        assert found[0].node.obj is None
    assert inner.obj is secret
    again = TruthRetriever(retriever, ledger, valid_at=DAY)
    assert ids(again.retrieve(QUESTION)) == ["inner"]


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
def test_a_truth_that_moves_while_nodes_are_judged_is_an_error(ledger: Ledger) -> None:
    def moving(found: Any) -> None:
        ledger.claim("something", "else", 1, source="s")

    retriever = TruthRetriever(Given(nodes_of(TEXTS[5:6])), ledger, annotate=moving)
    with pytest.raises(doxa.ViewMoved):
        retriever.retrieve(QUESTION)
    with pytest.raises(doxa.ViewMoved):
        asyncio.run(retriever.aretrieve(QUESTION))
    pinned = TruthRetriever(Given(nodes_of(TEXTS[5:6])), ledger, annotate=moving, known_at=5)
    assert pinned.retrieve(QUESTION) == []


def test_a_store_that_declares_nothing_is_told_of_where_it_is_asked(ledger: Ledger) -> None:
    bare = TextNode(text="Ada lives in London.", metadata={"claim_id": "home"})
    judge = TruthPostprocessor(ledger)
    with pytest.warns(NothingDeclared, match="'claim_id' .is 'claim_ids' meant") as told:
        assert judge.postprocess_nodes([NodeWithScore(node=bare)]) == []
    assert judge.postprocess_nodes([NodeWithScore(node=bare)]) == []
    assert [one.filename for one in told] == [__file__]


# -- the ledger itself


def test_the_ledger_is_a_retriever_whose_nodes_have_its_ids(ledger: Ledger) -> None:
    retriever = LedgerRetriever(ledger, valid_at=DAY, top_k=1)
    (found,) = retriever.retrieve(QUESTION)
    assert found.node_id == "moved/replacement"
    assert found.text == "[unverified] Ada lives in Lisbon."
    assert found.metadata["claim_ids"] == '["moved/replacement"]'
    assert found.node.get_content(MetadataMode.LLM) == found.text
    (before,) = retriever.retrieve(TruthQuery("Ada London", valid_at="2024-05-01"))
    assert before.node_id == "home"
    assert TruthPostprocessor(ledger, valid_at=DAY).postprocess_nodes([found])
    assert str(retriever.recall(QUESTION).answer.outcome) == "answered"


def test_a_refusal_is_not_the_same_as_finding_nothing(ledger: Ledger) -> None:
    assert LedgerRetriever(ledger, valid_at=DAY).retrieve("the papacy") == []
    refusing = LedgerRetriever(ledger, valid_at=DAY, mode="dense")
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        refusing.retrieve(QUESTION)
    with pytest.raises(RecallRefused, match="vectors_unavailable"):
        asyncio.run(refusing.aretrieve(QUESTION))


def test_conflicts_are_marked_and_other_workspaces_are_out_of_sight(ledger: Ledger) -> None:
    found = nodes_of(quarrel(ledger))
    place: dict[str, Any] = {"workspace": "quarrel", "valid_at": DAY}
    kept = TruthPostprocessor(ledger, **place).postprocess_nodes(found)
    assert [(n.node_id, n.metadata["truth_status"]) for n in kept] == [
        ("d-oslo", "contested"),
        ("d-rome", "contested"),
    ]
    assert len(TruthRetriever(Given(found), ledger, archived=True, **place).retrieve("?")) == 3
    assert TruthPostprocessor(ledger, valid_at=DAY).postprocess_nodes(found) == []
    recalled = LedgerRetriever(ledger, **place).retrieve("Where does the court sit?")
    assert {each.metadata["truth_status"] for each in recalled} == {"contested"}
    assert len(recalled) == 2
    block = TruthMemoryBlock(ledger, **place)
    told = asyncio.run(block.aget([ChatMessage(role="user", content="Where does the court sit?")]))
    assert "> The court sits in Oslo." in told
    assert "> The court sits in Rome." in told


# -- both ways, at once, cancelled


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
@given(some_texts())
def test_both_ways_give_the_same_and_nothing_that_is_not_held(
    texts: list[tuple[Text, float | None]],
) -> None:
    with town() as ledger:
        found = [node(text, score) for text, score in texts]
        judge = TruthPostprocessor(ledger, valid_at=DAY)
        retriever = TruthRetriever(Given(found), ledger, valid_at=DAY)
        kept = judge.postprocess_nodes(found)
        others = [
            retriever.retrieve(QUESTION),
            asyncio.run(judge.apostprocess_nodes(found)),
            asyncio.run(retriever.aretrieve(QUESTION)),
        ]
    held = [(text.id, text.words, score) for text, score in texts if text.held]
    assert [(each.node_id, each.text, each.score) for each in kept] == held
    for other in others:
        assert [each.model_dump() for each in other] == [each.model_dump() for each in kept]


def test_threads_and_tasks_at_once_get_what_each_gets_alone(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(nodes_of()), ledger, valid_at=DAY)
    recalling = LedgerRetriever(ledger, valid_at=DAY)
    alone, told = ids(retriever.retrieve(QUESTION)), ids(recalling.retrieve(QUESTION))
    with ThreadPoolExecutor(8) as pool:
        assert all(ids(got) == alone for got in pool.map(retriever.retrieve, [QUESTION] * 24))

    async def many() -> None:
        tasks = [retriever.aretrieve(QUESTION), recalling.aretrieve(QUESTION)] * 8
        assert [ids(got) for got in await asyncio.gather(*tasks)] == [alone, told] * 8

    asyncio.run(many())


def test_a_cancelled_question_leaves_the_next_one_alone(ledger: Ledger) -> None:
    retriever = TruthRetriever(Given(nodes_of()), ledger, valid_at=DAY)

    async def cancelled() -> list[str]:
        task = asyncio.create_task(retriever.aretrieve(QUESTION))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ids(await retriever.aretrieve(QUESTION))

    assert asyncio.run(cancelled()) == HELD


# -- made, written down


def test_a_path_is_opened_when_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "town.doxa"
    town(path).close()
    judge = TruthPostprocessor(path, valid_at=DAY, unknown="flag")
    assert len(judge.postprocess_nodes(nodes_of())) == len(HELD) + 2
    written = judge.to_dict()
    assert written["ledger"] == str(path)
    again = TruthPostprocessor.from_dict(written)
    assert ids(again.postprocess_nodes(nodes_of())) == ids(judge.postprocess_nodes(nodes_of()))
    unpickled = pickle.loads(pickle.dumps(judge))
    assert unpickled.to_dict() == written
    assert ids(unpickled.postprocess_nodes(nodes_of(TEXTS[:2]))) == ["d-lisbon"]
    for one in (judge, again, unpickled):
        one.close()


def test_what_cant_be_written_down_says_so(ledger: Ledger, tmp_path: Path) -> None:
    judge = TruthPostprocessor(ledger)
    for write in (judge.to_dict, judge.to_json, lambda: pickle.dumps(judge)):
        with pytest.raises(doxa.CallerError, match="give the path of its folder"):
            write()
    with pytest.raises(doxa.CallerError, match="annotate is a function"):
        TruthPostprocessor(tmp_path, annotate=lambda one: None).to_dict()


def test_a_setting_that_is_misspelt_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="valid_att"):
        TruthPostprocessor(ledger, valid_att=DAY)
    with pytest.raises(TypeError, match="valid_att"):
        TruthRetriever(Given([]), ledger, valid_att=DAY)
    with pytest.raises(doxa.CallerError, match="give drop, flag or keep"):
        TruthPostprocessor(ledger, unknown="maybe")


def test_hostile_words_stay_words(ledger: Ledger) -> None:
    ledger.claim("ada", "said", HOSTILE, id="said", text=HOSTILE, source="x")
    (found,) = LedgerRetriever(ledger, valid_at=DAY, predicate="said").retrieve("Ada said Rome")
    assert found.text == f"[unverified] {HOSTILE}"
