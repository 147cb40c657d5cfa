"""Contexts of graphrag's own builders, at a view."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from graphrag.config.models.drift_search_config import DRIFTSearchConfig
from graphrag.query.context_builder.entity_extraction import EntityVectorStoreKey
from graphrag.query.structured_search.basic_search.basic_context import BasicSearchContext
from graphrag.query.structured_search.basic_search.search import BasicSearch
from graphrag.query.structured_search.drift_search.drift_context import DRIFTSearchContextBuilder
from graphrag.query.structured_search.drift_search.primer import PrimerQueryProcessor
from graphrag.query.structured_search.drift_search.search import DRIFTSearch
from graphrag.query.structured_search.global_search.community_context import GlobalCommunityContext
from graphrag.query.structured_search.global_search.search import GlobalSearch
from graphrag.query.structured_search.local_search.mixed_context import LocalSearchMixedContext
from graphrag.query.structured_search.local_search.search import LocalSearch

import doxa
from doxa.adapters.graphrag import import_index
from doxa.adapters.graphrag.context import TruthLocalContext
from doxa.adapters.graphrag.frames import filter_frames
from doxa.adapters.graphrag.judging import IndexJudge
from doxa.adapters.graphrag.searches import with_truth
from doxa.adapters.judging import NothingDeclared, Sieve
from doxa.ledger import Ledger
from tests.frameworks.graphrag_fixture import Index, project
from tests.support import shared

ROOM: dict[str, Any] = {
    "max_context_tokens": 12_000,
    "text_unit_prop": 0.5,
    "community_prop": 0.15,
    "include_entity_rank": True,
    "include_relationship_weight": True,
}
QUESTIONS = ("Who is Scrooge?", "What is the Dulce base?", "Ada, Acme and Lisbon")


@pytest.fixture
def small(tmp_path: Path) -> Index:
    return Index(project.write_index(tmp_path / "output"))


@pytest.fixture
def ledger(small: Index) -> Iterator[Ledger]:
    with doxa.open() as opened:
        import_index(opened, small.folder)
        yield opened


def source_of(ledger: Ledger, title: str) -> doxa.Source:
    """The document that the index calls so: those of d1 are named by one claim's evidence."""
    why = ledger.view(valid_at="2024-06-01")
    ids = {
        support.source
        for claim in why.claims(standing="any")
        for support in why.supports(claim.id)
        if support.origin == title
    }
    (id,) = ids
    assert id is not None
    return doxa.Source(id)


def judge_of(ledger: Ledger, index: Index, **options: Any) -> IndexJudge:
    return IndexJudge(Sieve(ledger, **options), index.folder)


def same(mine: Any, plain: Any) -> None:
    assert mine.context_chunks == plain.context_chunks
    assert list(plain.context_records) == [k for k in mine.context_records if k != "left_out"]
    for table, frame in plain.context_records.items():
        pd.testing.assert_frame_equal(mine.context_records[table], frame)


# ---------------------------------------------------------------- where all of it stands


@pytest.mark.parametrize("name", ["graphrag_dulce", "graphrag_verbs"])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("tokens", [12_000, 3_000, 300])
def test_a_context_of_what_stands_is_the_frameworks_to_the_byte(
    name: str, question: str, tokens: int
) -> None:
    index = Index(shared("data", name))
    room = {**ROOM, "max_context_tokens": tokens}
    with doxa.open() as ledger:
        import_index(ledger, index.folder)
        judge = judge_of(ledger, index, unknown="keep")
        mine = TruthLocalContext(judge, **index.models().arguments()).build_context(
            question, **room
        )
    same(mine, index.models().builder().build_context(question, **room))
    assert {one.reason for one in mine.omitted} <= {"budget_exceeded"}
    assert {one.table for one in mine.unknown} <= {"covariates"}


def test_frames_of_what_stands_are_handed_back_themselves(ledger: Ledger, small: Index) -> None:
    frames = small.frames()
    found = filter_frames(judge_of(ledger, small, unknown="keep"), frames)
    assert {table for table in frames if found[table] is not frames[table]} == set()
    assert [one.id for one in found.unknown] == ["c2"]


# ---------------------------------------------------------------- a document is withdrawn


def omitted(result: Any) -> dict[tuple[str, str], str]:
    return {
        (one.id, one.part): one.reason for one in result.omitted if one.reason != "budget_exceeded"
    }


def test_what_rested_on_a_withdrawn_document_is_gone_and_the_rest_stays(
    ledger: Ledger, small: Index
) -> None:
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    builder = TruthLocalContext(judge_of(ledger, small), **small.models().arguments())
    result = builder.build_context("Ada, Acme and Lisbon", **ROOM)
    assert omitted(result) == {
        ("u2", "row"): "missing_fact",
        ("u3", "row"): "missing_fact",
        ("e0", "description"): "missing_support",
        ("e2", "row"): "missing_fact",
        ("r1", "row"): "missing_fact",
        ("c1", "row"): "missing_support",
        ("c2", "row"): "unknown",
        ("report-0", "row"): "missing_fact",
        ("report-2", "row"): "missing_fact",
    }
    said = result.context_chunks
    for word in ("Lisbon", "LISBON", "they say", "Ada is a person"):
        assert word not in said
    for word in ("0|ADA||", "Ada leads Acme", "Acme is a firm."):
        assert word in said
    told = result.context_records["left_out"]
    assert dict(zip(told["id"], told["number"], strict=True))["report-2"] == "2"


def test_where_something_has_fallen_no_question_leaves_a_trace_in_the_next(
    ledger: Ledger, small: Index
) -> None:
    ledger.withdraw(source_of(ledger, "d2.txt"))
    judge = judge_of(ledger, small)
    fresh = TruthLocalContext.of(small.models().builder(), judge)
    alone = fresh.build_context(QUESTIONS[2], **ROOM).context_chunks
    used = small.models()
    before = copy.deepcopy(used)
    builder = TruthLocalContext.of(used.builder(), judge)
    for question in QUESTIONS:
        builder.build_context(question, **ROOM)
    assert used == before
    used.builder().build_context(QUESTIONS[2], **ROOM)  # as it is asked before a ledger is there
    for relationship in used.relationships:
        relationship.attributes = {"links": 77}
    assert builder.build_context(QUESTIONS[2], **ROOM).context_chunks == alone
    assert "links" not in alone


def test_rows_of_another_run_are_named_and_served_only_where_that_is_asked_for(
    ledger: Ledger, small: Index, tmp_path: Path
) -> None:
    frames = small.frames()
    frames["relationships"]["id"] = [f"new {n}" for n in range(len(frames["relationships"]))]
    builder = small.models(frames).builder()
    made = TruthLocalContext.of(builder, judge_of(ledger, small)).build_context(
        QUESTIONS[2], **ROOM
    )
    strange = {one.id for one in made.omitted if one.reason == "unknown"} - {"c2"}  # set aside
    assert strange == {f"new {n}" for n in range(len(frames["relationships"]))}
    assert "-----Relationships-----" not in made.context_chunks
    keeping = TruthLocalContext.of(builder, judge_of(ledger, small, unknown="keep"))
    kept = keeping.build_context(QUESTIONS[2], **ROOM)
    assert {one.id for one in kept.unknown} == {*strange, "c2"}
    assert "-----Relationships-----" in kept.context_chunks


def test_a_store_of_titles_finds_a_name_while_one_row_of_it_stands(
    ledger: Ledger, small: Index
) -> None:
    models = small.models()
    entities = models.entities
    twice = copy.copy(next(e for e in entities if e.title == "LISBON"))
    twice.id = "a row that nobody knows"
    entities.append(twice)
    arguments = models.arguments() | {
        "entity_text_embeddings": project.WordStore({e.title: str(e.title) for e in entities}),
        "embedding_vectorstore_key": EntityVectorStoreKey.TITLE,
    }
    builder = TruthLocalContext(judge_of(ledger, small), **arguments)
    assert "|LISBON|" in builder.build_context("Lisbon", **ROOM).context_chunks
    ledger.withdraw(source_of(ledger, "d2.txt"))
    assert "LISBON" not in builder.build_context("Lisbon", **ROOM).context_chunks


def test_a_restored_document_brings_all_of_it_back(ledger: Ledger, small: Index) -> None:
    gone = ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    ledger.withdraw(gone, reason="it was not")
    judge = judge_of(ledger, small, unknown="keep")
    mine = TruthLocalContext(judge, **small.models().arguments()).build_context("Ada", **ROOM)
    same(mine, small.models().builder().build_context("Ada", **ROOM))


def test_a_question_about_then_is_answered_as_it_was_known_then(
    ledger: Ledger, small: Index
) -> None:
    before = ledger.revision
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    builder = TruthLocalContext(
        judge_of(ledger, small, unknown="keep"), **small.models().arguments()
    )
    then = builder.build_context("Ada", known_at=before, **ROOM)
    same(then, small.models().builder().build_context("Ada", **ROOM))


def test_the_store_is_asked_for_as_many_as_may_be_served(ledger: Ledger, small: Index) -> None:
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    builder = TruthLocalContext(judge_of(ledger, small), **small.models().arguments())
    result = builder.build_context("Lisbon where Ada lives", top_k_mapped_entities=1, **ROOM)
    assert sorted(result.context_records["entities"]["entity"]) == ["ACME", "ADA"]


def test_frames_for_the_api_are_without_what_may_not_be_believed(
    ledger: Ledger, small: Index
) -> None:
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    frames = small.frames()
    found = filter_frames(judge_of(ledger, small), frames)
    assert list(found["entities"]["id"]) == ["e0", "e1"]
    assert list(found["entities"]["description"]) == ["", "Acme is a firm."]
    assert list(found["relationships"]["id"]) == ["r0"]
    assert list(found["covariates"]["id"]) == ["c0"]
    assert list(found["community_reports"]["id"]) == ["report-1"]
    assert list(found["text_units"]["id"]) == ["u1"]
    assert found["communities"] is frames["communities"]
    assert frames["entities"]["description"][0] == "Ada is a person."
    models = small.models({table: frame.copy() for table, frame in found.frames.items()})
    assert {e.title for e in models.entities} == {"ADA", "ACME"}


def test_an_index_that_was_never_imported_is_unknown(small: Index) -> None:
    with doxa.open() as empty:
        empty.claim("a", "p", 1)
        result = TruthLocalContext(judge_of(empty, small), **small.models().arguments())
        with pytest.warns(NothingDeclared, match="import the index into this ledger first") as told:
            made = result.build_context("Ada", **ROOM)
        assert [one.filename for one in told] == [__file__]
        assert {one.reason for one in made.omitted} == {"unknown"}
        assert "ADA" not in made.context_chunks


# ---------------------------------------------------------------- the truth moves


def test_a_context_for_which_the_truth_moved_is_not_returned(ledger: Ledger, small: Index) -> None:
    arguments = small.models().arguments()
    store = arguments["entity_text_embeddings"]
    store.hook = lambda: ledger.claim("else", "p", 1, source="s")
    builder = TruthLocalContext(judge_of(ledger, small), **arguments)
    with pytest.raises(doxa.ViewMoved):
        builder.build_context("Ada", **ROOM)
    assert builder.build_context("Ada", known_at=ledger.revision, **ROOM).context_chunks


def local_search(small: Index) -> LocalSearch:
    return LocalSearch(
        project.Model(),
        small.models().builder(),
        project.WordTokenizer(),
        context_builder_params=dict(ROOM),
    )


def test_a_search_is_made_to_look_at_a_view(ledger: Ledger, small: Index) -> None:
    plain = local_search(small)
    search = with_truth(plain, judge_of(ledger, small, unknown="keep"))
    one, other = asyncio.run(plain.search("Ada")), asyncio.run(local_search(small).search("Ada"))
    assert asyncio.run(search.search("Ada")).context_text == other.context_text == one.context_text
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    result = asyncio.run(search.search("Ada"))
    assert result.response == "answered"
    assert "Lisbon" not in result.context_text
    assert "u3" in set(result.context_data["left_out"]["id"])
    then = asyncio.run(search.search("Ada", known_at=ledger.revision - 1))
    assert "Lisbon" in then.context_text


def test_a_moved_view_reaches_the_caller_before_the_model_is_asked(
    ledger: Ledger, small: Index
) -> None:
    search = with_truth(local_search(small), judge_of(ledger, small))
    search.context_builder.entity_text_embeddings.hook = lambda: ledger.claim("a", "b", 1)
    with pytest.raises(doxa.ViewMoved):
        asyncio.run(search.search("Ada"))

    async def streamed() -> list[str]:
        return [piece async for piece in search.stream_search("Ada")]

    with pytest.raises(doxa.ViewMoved):
        asyncio.run(streamed())
    assert search.model.asked == 0


# ---------------------------------------------------------------- the other searches


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # graphrag's own, with a new pandas
def test_a_global_search_shows_no_report_that_has_fallen(ledger: Ledger, small: Index) -> None:
    models = small.models()
    builder = GlobalCommunityContext(models.reports, [], models.entities, project.WordTokenizer())
    search = GlobalSearch(project.Model(), builder, project.WordTokenizer())
    judge = judge_of(ledger, small)
    plain = asyncio.run(builder.build_context("Ada"))
    mine = asyncio.run(with_truth(search, judge).context_builder.build_context("Ada"))
    assert mine.context_chunks == plain.context_chunks
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    mine = asyncio.run(with_truth(search, judge).context_builder.build_context("Ada"))
    assert list(mine.context_records["reports"]["title"]) == ["Ada and Acme"]
    assert "Lisbon" not in "".join(mine.context_chunks)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_weights_of_reports_are_those_of_what_stands(ledger: Ledger, small: Index) -> None:
    def weights(models: Any) -> list[str]:
        builder = GlobalCommunityContext(
            models.reports, [], models.entities, project.WordTokenizer()
        )
        search = with_truth(
            GlobalSearch(project.Model(), builder, project.WordTokenizer()), judge_of(ledger, small)
        )
        asyncio.run(builder.build_context("Ada"))  # it notes weights in the reports
        made = asyncio.run(search.context_builder.build_context("Ada"))
        frame = made.context_records["reports"]
        return list(frame["occurrence"]) if "occurrence" in frame else []

    models = small.models()
    assert len(weights(models)) == 3
    ledger.withdraw(source_of(ledger, "d2.txt"))
    assert [float(weight) for weight in weights(models)] == [1.0]
    for entity in models.entities:
        entity.text_unit_ids = [] if entity.title in ("ADA", "ACME") else entity.text_unit_ids
    assert weights(models) == []


def test_threads_that_share_a_builder_get_what_one_alone_does(ledger: Ledger, small: Index) -> None:
    ledger.withdraw(source_of(ledger, "d2.txt"))
    builder = TruthLocalContext.of(small.models().builder(), judge_of(ledger, small))
    alone = {q: builder.build_context(q, **ROOM).context_chunks for q in QUESTIONS}
    with ThreadPoolExecutor(4) as pool:
        for question, chunks in pool.map(
            lambda q: (q, builder.build_context(q, **ROOM).context_chunks), QUESTIONS * 20
        ):
            assert chunks == alone[question]


def test_a_basic_search_shows_no_passage_that_has_fallen(ledger: Ledger, small: Index) -> None:
    models = small.models()
    store = project.WordStore({unit.id: unit.text for unit in models.text_units})
    builder = BasicSearchContext(None, store, models.text_units, project.WordTokenizer())
    search = BasicSearch(project.Model(), builder, project.WordTokenizer())
    judge = judge_of(ledger, small)
    plain = builder.build_context("Lisbon", k=1)
    mine = with_truth(search, judge).context_builder.build_context("Lisbon", k=1)
    assert mine.context_chunks == plain.context_chunks
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    mine = with_truth(search, judge).context_builder.build_context("Lisbon", k=1)
    assert mine.context_chunks == "id|text\n0|Ada leads Acme.\n"
    short = with_truth(search, judge).context_builder.build_context(
        "Lisbon", k=1, max_context_tokens=5
    )
    assert [(o.id, o.reason) for o in short.omitted if o.reason == "budget_exceeded"] == [
        ("u1", "budget_exceeded")
    ]


def test_below_a_report_that_has_fallen_the_selection_goes_on(ledger: Ledger, small: Index) -> None:
    from graphrag.query.context_builder.dynamic_community_selection import (
        DynamicCommunitySelection,
    )
    from graphrag.query.indexer_adapters import read_indexer_communities, read_indexer_reports

    frames = small.frames()
    reports = read_indexer_reports(
        frames["community_reports"], frames["communities"], None, dynamic_community_selection=True
    )
    communities = read_indexer_communities(frames["communities"], frames["community_reports"])
    selection = DynamicCommunitySelection(
        reports, communities, project.Model(), project.WordTokenizer()
    )
    builder = GlobalCommunityContext(reports, communities, None, project.WordTokenizer())
    builder.dynamic_community_selection = selection
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    search = with_truth(
        GlobalSearch(project.Model(), builder, project.WordTokenizer()), judge_of(ledger, small)
    )
    from doxa.adapters.graphrag.searches import _selecting

    judged = search.context_builder.judge.judge(ledger.view(valid_at="2024-06-01"))
    narrowed = _selecting(selection, judged)
    assert narrowed.starting_communities == ["1"]
    assert list(narrowed.reports) == ["1"]
    assert selection.starting_communities == ["0"]


class Embedder:
    """One vector for everything."""

    def embedding(self, input: list[str]) -> SimpleNamespace:
        return SimpleNamespace(first_embedding=[1.0, 0.0])


def drift_search(small: Index) -> DRIFTSearch:
    models = small.models()
    for report in models.reports:
        report.full_content_embedding = [1.0, float(report.short_id)]
    model = project.Model()
    model.tokenizer = project.WordTokenizer()
    builder = DRIFTSearchContextBuilder(
        model,
        DRIFTSearchConfig(),
        Embedder(),
        models.entities,
        models.store(),
        models.text_units,
        models.reports,
        models.relationships,
        {"claims": models.covariates},
        project.WordTokenizer(),
    )
    return DRIFTSearch(model, builder, project.WordTokenizer())


def test_a_drift_search_begins_with_no_report_that_has_fallen(
    ledger: Ledger, small: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unchanged(self: object, query: str) -> tuple[list[float], dict[str, int]]:
        return [1.0, 0.0], {}

    monkeypatch.setattr(
        f"{PrimerQueryProcessor.__module__}.PrimerQueryProcessor.__call__", unchanged
    )
    plain = drift_search(small)
    search = with_truth(plain, judge_of(ledger, small))
    built = asyncio.run(search.context_builder.build_context("Ada"))[0]
    pd.testing.assert_frame_equal(built, asyncio.run(plain.context_builder.build_context("Ada"))[0])
    assert type(search.local_search.context_builder) is TruthLocalContext
    assert type(plain.local_search.context_builder) is LocalSearchMixedContext
    ledger.withdraw(source_of(ledger, "d2.txt"), reason="forged")
    built = asyncio.run(search.context_builder.build_context("Ada"))[0]
    assert list(built["community_id"]) == ["1"]
    ledger.withdraw(source_of(ledger, "d1.txt"), reason="forged as well")
    with pytest.raises(doxa.CallerError, match="none of the 3 community reports may be served"):
        asyncio.run(search.context_builder.build_context("Ada"))


def test_what_is_no_search_of_graphrag_is_refused(ledger: Ledger, small: Index) -> None:
    search = local_search(small)
    search.context_builder = object()
    with pytest.raises(doxa.CallerError, match="give its rows to filter_frames"):
        with_truth(search, judge_of(ledger, small))
    with pytest.raises(doxa.CallerError, match="'tight'; give framework or items"):
        with_truth(local_search(small), judge_of(ledger, small), pack="tight")  # type: ignore[arg-type]


# ---------------------------------------------------------------- a small budget


@pytest.mark.parametrize("tokens", [1_000, 2_000, 4_000, 8_000, 12_000])
@pytest.mark.parametrize("question", ["Who is Scrooge?", "Marley's ghost"])
def test_a_small_budget_is_filled_item_by_item_and_never_overrun(
    tokens: int, question: str
) -> None:
    index = Index(shared("data", "graphrag_verbs"))
    room = {**ROOM, "max_context_tokens": tokens}
    count = project.WordTokenizer().num_tokens
    with doxa.open() as ledger:
        import_index(ledger, index.folder)
        judge = judge_of(ledger, index)
        builder = TruthLocalContext(judge, pack="items", **index.models().arguments())
        mine = builder.build_context(question, **room)
        plain = TruthLocalContext(judge, **index.models().arguments())
        other = plain.build_context(question, **room)
    claims = [len(one.context_records.get("claims", ())) for one in (mine, other)]
    assert claims[0] >= claims[1]
    assert count(mine.context_chunks) <= tokens
    shown = {
        ("covariates", number) for number in mine.context_records.get("claims", {}).get("id", ())
    } | {
        ("relationships", number)
        for number in mine.context_records.get("relationships", {}).get("id", ())
    }
    assert shown & {(one.table, one.number) for one in mine.omitted} == set()
