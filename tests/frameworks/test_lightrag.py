"""LightRAG itself: stores that it wrote, results that it gave, and its own parser beside ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightrag import QueryParam
from lightrag.kg.shared_storage import finalize_share_data
from lightrag.operate import _rebuild_from_extraction_result
from lightrag.utils import normalize_entity_name, sanitize_and_normalize_extracted_text

import doxa
from doxa.adapters.lightrag import Truth, import_workspace
from doxa.adapters.lightrag.names import cleaned, cleaned_name
from doxa.adapters.lightrag.records import Debris, Entity, Relation, extracted
from doxa.ledger import Ledger
from tests.frameworks.scripted_lightrag import TEXTS, opened

NOW = "2026-12-01"
ASKED = QueryParam(mode="mix", enable_rerank=False)
Use = Callable[[Any], Coroutine[Any, Any, Any]]


@pytest.fixture
def ledger() -> Any:
    with doxa.open() as opened_here:
        yield opened_here


def with_rag(folder: Path, use: Use, **options: Any) -> Any:
    """What is done with a LightRAG in a folder."""

    async def run() -> Any:
        rag = await opened(folder, **options)
        try:
            return await use(rag)
        finally:
            await rag.finalize_storages()
            finalize_share_data()  # what it keeps of one folder, it would answer another with

    return asyncio.run(run())


def standings(ledger: Ledger) -> dict[str, str]:
    found = ledger.view(valid_at=NOW).claims(standing="any")
    return {
        f"{c.subject} {c.predicate} {c.object}": str(c.standing)
        for c in found
        if c.predicate != "SAYS"
    }


def test_a_store_that_lightrag_wrote_and_changed_is_followed(
    tmp_path: Path, ledger: Ledger
) -> None:
    async def use(rag: Any) -> None:
        first = import_workspace(ledger, tmp_path)
        assert (first.claims, first.supports, first.summaries) == (9, 12, 5)
        assert [aside.text for aside in first.set_aside] == ["entity<|a line that is no record"] * 3
        assert import_workspace(ledger, tmp_path).unchanged
        assert standings(ledger)["Ann RELATED_TO Acme"] == "corroborated"
        before = await rag.aquery_data("Who leads Acme?", ASKED)
        truth = Truth(ledger)
        assert truth.judge(before).left_out == ()

        await rag.adelete_by_doc_id("doc-a")
        done = import_workspace(ledger, tmp_path)
        assert {gone.chunk for gone in done.withdrawn} == {"doc-a-chunk-000"}
        assert len(done.withdrawn) == 4
        assert standings(ledger)["Ann RELATED_TO Acme"] == "reported"
        judged = truth.judge(before)
        assert {left.found.id: left.reason for left in judged.left_out} == {
            "entity:Acme": "missing_support",
            "chunk:doc-a-chunk-000": "missing_fact",
        }
        after = await rag.aquery_data("Who leads Acme?", ASKED)
        assert truth.judge(after).left_out == ()

        file, text = TEXTS["doc-a"]
        await rag.ainsert([text], ids=["doc-a"], file_paths=[file])
        back = import_workspace(ledger, tmp_path)
        assert (len(back.withdrawn), back.restored, back.claims) == (0, 4, 0)
        assert standings(ledger)["Ann RELATED_TO Acme"] == "corroborated"
        again = await rag.aquery_data("Who leads Acme?", ASKED)
        assert truth.judge(again).left_out == ()
        assert ledger.verify().ok

    with_rag(tmp_path, use)


def test_a_store_without_a_cache_and_one_in_a_workspace_are_read(
    tmp_path: Path, ledger: Ledger
) -> None:
    async def use(rag: Any) -> None:
        done = import_workspace(ledger, tmp_path, namespace="space")
        assert (done.set_aside, done.summaries) == ((), 5)
        assert standings(ledger) == {
            "Acme IS_A organization": "corroborated",
            "Ann IS_A person": "corroborated",
            "Bob IS_A person": "reported",
            "Acme RELATED_TO Ann": "corroborated",
            "Acme RELATED_TO Bob": "reported",
        }
        found = await rag.aquery_data("Who leads Acme?", ASKED)
        assert Truth(ledger).judge(found).left_out == ()

    with_rag(tmp_path, use, workspace="space", enable_llm_cache_for_entity_extract=False)


def test_what_people_do_to_the_graph_by_hand_is_followed_or_told_of(
    tmp_path: Path, ledger: Ledger
) -> None:
    async def use(rag: Any) -> None:
        import_workspace(ledger, tmp_path)
        await rag.adelete_by_relation("Ann", "Acme")
        await rag.acreate_entity("Eve", {"entity_type": "person", "description": "Eve is new."})
        await rag.aedit_entity("Bob", {"description": "Bob is somebody else."})
        done = import_workspace(ledger, tmp_path)
        assert done.withdrawn == ()
        assert (done.replaced, done.summaries) == (2, 1)  # of Ann and Acme, of Bob; Bob's new one
        assert any("Eve" in aside.place for aside in done.set_aside)
        found = await rag.aquery_data("Who leads Acme?", ASKED)
        judged = Truth(ledger).judge(found)
        assert {left.found.id for left in judged.left_out} <= {"entity:Eve"}
        block = Truth(ledger).assemble("Who leads Acme?", found, budget=5_000)
        assert "Bob is somebody else." in block.text
        assert "Bob is the CEO of Acme." not in block.text

    with_rag(tmp_path, use)


def test_chunks_are_judged_before_they_are_ranked(tmp_path: Path, ledger: Ledger) -> None:
    truth = Truth(ledger)
    seen: list[str] = []

    async def inner(query: str, documents: list[str], top_n: int | None = None) -> Any:
        seen[:] = documents
        return [{"index": n, "relevance_score": 0.9 - n / 10} for n in range(len(documents))]

    async def use(rag: Any) -> None:
        import_workspace(ledger, tmp_path)
        view = ledger.view(valid_at=NOW)
        source = next(s.id for s in view.sources() if s.id.startswith("a2024.txt"))
        ledger.withdraw(doxa.Source(source), reason="forged")
        found = await rag.aquery_data("Who leads Acme?", QueryParam(mode="mix"))
        chunks = [chunk["content"] for chunk in found["data"]["chunks"]]
        assert sorted(chunks) == sorted(seen)
        assert sorted(seen) == sorted([TEXTS["doc-b"][1], TEXTS["doc-c"][1]])
        for source in [s.id for s in ledger.view(valid_at=NOW).sources()]:
            ledger.withdraw(doxa.Source(source), reason="forged")
        found = await rag.aquery_data("Who leads Acme?", QueryParam(mode="mix"))
        (nothing,) = found["data"]["chunks"]
        assert nothing["content"].startswith("(Nothing of what was found")

    with_rag(tmp_path, use, rerank_model_func=truth.reranker(inner))


def test_the_twins_give_the_same_of_a_real_result(tmp_path: Path, ledger: Ledger) -> None:
    async def use(rag: Any) -> None:
        import_workspace(ledger, tmp_path)
        truth = Truth(ledger, valid_at=NOW)
        found = await rag.aquery_data("Who leads Acme?", ASKED)
        assert (await truth.ajudge(found)).result == truth.judge(found).result
        twin = await truth.aassemble("Who?", found, budget=900)
        assert twin.text == truth.assemble("Who?", found, budget=900).text
        judged = await truth.aquery_data(rag, "Who leads Acme?", ASKED)
        assert judged.data.keys() == found["data"].keys()

    with_rag(tmp_path, use)


# ---------------------------------------------------------------- their parser and ours

FIELDS = ["Ann", "Acme", "person", "a/b", "x,y", "12", "1.2", '"Ann"', "“Ann”", "张 三", "《书》"]
PIECES = st.sampled_from(
    [
        *(*FIELDS, "entity", "relation", "relationship", " ", "\n", "<|COMPLETE|>", "<|complete|>"),
        *("<|#|>", "<|#|>", "<|#|>", "<|#", "|#|>", "<#>", "<||#||>", "<|##|>", "<|>", "<|:|>"),
        *(
            "'",
            "&lt;b&gt;",
            "<br>",
            "<SEP>",
            "—",
            "\uff11",
            "\uff21",
            "\u202f",
            "\u00a0",
            "\ud800",
            "\x07",
        ),
    ]
)
RECORD = st.one_of(
    st.lists(st.sampled_from(FIELDS), min_size=2, max_size=5).map(
        lambda fields: "<|#|>".join(["entity", *fields])
    ),
    st.lists(st.sampled_from(FIELDS), min_size=3, max_size=5).map(
        lambda fields: "<|#|>".join(["relation", *fields])
    ),
    st.lists(PIECES, max_size=12).map("".join),
)
logging.getLogger("lightrag").setLevel(logging.CRITICAL)


@settings(max_examples=500)
@given(st.lists(RECORD, max_size=6).map("\n".join))
def test_an_answer_is_read_as_lightrag_reads_it(answer: str) -> None:
    nodes, edges = asyncio.run(
        _rebuild_from_extraction_result(None, answer, "c", 0, {"file_path": "f"})
    )
    theirs = {
        (d["entity_name"], d["entity_type"], d["description"]) for v in nodes.values() for d in v
    }
    related = {(d["src_id"], d["tgt_id"], d["description"]) for v in edges.values() for d in v}
    ours = extracted(answer)
    assert {tuple(each) for each in ours if isinstance(each, Entity)} == theirs
    assert {tuple(each) for each in ours if isinstance(each, Relation)} == related


@settings(max_examples=500)
@given(st.lists(PIECES, max_size=8).map("".join) | st.text())
def test_names_are_cleaned_as_lightrag_cleans_them(text: str) -> None:
    assert cleaned(text) == sanitize_and_normalize_extracted_text(text)
    assert cleaned(text, name=True) == normalize_entity_name(text)
    assert normalize_entity_name(text).startswith(cleaned_name(text))


def test_an_answer_in_json_is_read_as_lightrag_reads_it() -> None:
    answer = (
        '```json\n{"entities": [{"name": "Ann", "type": "Person", "description": "CEO"}, {}, 7],'
        ' "relationships": [{"source": "Ann", "target": "Acme", "description": "leads",'
        ' "keywords": "x"}]} and more\n```'
    )
    nodes, edges = asyncio.run(
        _rebuild_from_extraction_result(None, answer, "c", 0, {"file_path": "f"})
    )
    ours = extracted(answer)
    assert [each for each in ours if not isinstance(each, Debris)] == [
        Entity("Ann", "person", "CEO"),
        Relation("Ann", "Acme", "leads"),
    ]
    assert (list(nodes), list(edges)) == (["Ann"], [("Ann", "Acme")])
