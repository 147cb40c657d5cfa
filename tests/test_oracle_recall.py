"""Recall against its slow twin, on random histories that say something: at any coordinates, over
restarts, with the indexes saved, thrown away and followed in steps."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine import choosing
from doxa.ledger import Ledger
from doxa.oracle.recall import Question, recall
from doxa.oracle.searched import Filters, documents
from tests.oracle_rows import Rows
from tests.recalls import (
    EMBEDDER,
    MEANS,
    Asked,
    Speaker,
    some_question,
    speaking,
    trial,
)
from tests.walks import wander

seeds = st.integers(0, 2**48)


@settings(max_examples=settings().max_examples * 2)
@given(
    seed=seeds,
    on_disk=st.sampled_from((False, False, False, True)),
    first=st.sampled_from((64, 1, 4)),
)
def test_every_answer_to_a_random_question_is_the_twins(
    seed: int, on_disk: bool, first: int
) -> None:
    with patch.object(choosing, "FIRST", first):
        found = trial(seed, on_disk)
    if found is not None:
        pytest.fail(found, pytrace=False)


@given(seed=seeds, on_disk=st.sampled_from((False, False, True)))
def test_an_answer_at_a_view_of_then_has_the_same_bytes_when_more_is_known(
    seed: int, on_disk: bool
) -> None:
    random = Random(seed)
    with speaking(on_disk) as walk:
        author = wander(random, walk, 8, writer=Speaker)
        log = walk.log()
        asked = [some_question(random, log) for _ in range(6)]
        before = [each.of(walk.ledger).to_bytes() for each in asked]
        if random.random() < 0.5:
            walk.ledger.index()
        wander(random, walk, 8, writer=lambda random: author)
        assert [each.of(walk.ledger).to_bytes() for each in asked] == before


@given(seed=seeds)
def test_pages_one_after_the_other_are_the_one_page_that_is_larger(seed: int) -> None:
    random = Random(seed)
    with speaking(False) as walk:
        wander(random, walk, 15, writer=Speaker)
        log = walk.log()
        for asked in [some_question(random, log) for _ in range(4)]:
            size, pool = random.choice((1, 2, 3)), random.choice((4, 100))
            whole = asked.of(walk.ledger, top_k=1_000, pool=pool)
            found, cursor = [], None
            for _ in range(len(whole) + 1):
                page = asked.of(walk.ledger, top_k=size, pool=pool, cursor=cursor)
                found += [hit.as_dict() for hit in page]
                cursor = page.cursor
                if cursor is None:
                    break
            assert cursor is None
            assert found == [hit.as_dict() for hit in whole]


@given(seed=seeds)
def test_a_question_asked_among_others_has_the_answer_that_it_has_alone(seed: int) -> None:
    random = Random(seed)
    with speaking(False) as walk:
        wander(random, walk, 12, writer=Speaker)
        log = walk.log()
        asked = some_question(random, log)
        assume("scan_limit" not in asked.options)
        queries = [some_question(random, log).query for _ in range(3)]
        view = asked.view(walk.ledger)
        together = walk.ledger.recall_batch(
            queries,
            view=view,
            mode=asked.mode,
            trust=asked.trust,
            calibration=None if asked.boundary is None else f"at {asked.boundary}",
            **asked.options,
        )
        for query, found in zip(queries, together, strict=True):
            alone = Asked(
                asked.place, query, asked.mode, asked.trust, asked.boundary, asked.options
            )
            assert alone.of(walk.ledger, view) == found


# ---------------------------------------------------------------- the twin, by hand


def answered(rows: Rows, query: str, **more: object) -> list[tuple[str, str]]:
    """The ids and verdicts that the twin gives at day 0."""
    question = Question(query, **more)  # type: ignore[arg-type]  # fields by name
    return [(hit.key[1], hit.verdict) for hit in recall(rows.truth(0), question, MEANS).hits]


def test_the_twin_knows_texts_spoken_claims_quotes_and_summaries() -> None:
    rows = Rows()
    rows.claim("a", "London", source={"id": "x", "quote": "in London"}, predicate="lives_in")
    rows.claim("b", [1, "é"], text=" ", source="x")
    rows.claim("c", text="A flat.", source={"id": "x", "quote": " "}, recall_when=["flat of s"])
    rows.summarize("n", facts=["a"])
    rows.cite("q", ["a/support"])
    found = {one.key[1]: (one.tier, one.said, one.words) for one in documents(rows.log())}
    assert found == {
        "a": ("claim", "s lives in London", "s lives in London"),
        "b": ("claim", 's p [1, "é"]', 's p [1, "é"]'),
        "c": ("claim", "A flat.", "s A flat."),
        "a/support": ("quote", "in London", "in London"),
        "n": ("summary", "said", "said"),
    }
    rows.erase("a")
    assert "a" not in {one.key[1] for one in documents(rows.log())}


def test_the_twin_ranks_by_score_then_by_id_and_passes_over_what_is_not_eligible() -> None:
    rows = Rows()
    for id in ("c", "b", "a", "z"):
        rows.claim(id, text="red", source="x")
    rows.claim("y", text="red red red", source="x")
    rows.withdraw("w", "y")
    assert answered(rows, "red", pool=2) == [("a", "unverified"), ("b", "unverified")]
    told = recall(rows.truth(0), Question("red", pool=2), MEANS)
    assert told.withheld == [(("", "y"), "retracted", [])]
    assert (told.outcome, told.reasons) == ("partial", {"candidate_limit"})
    retracted = Filters(standings=frozenset({"retracted"}))
    assert answered(rows, "red", filters=retracted) == [("y", "retracted")]


def test_the_twin_gives_a_conflict_one_place_with_all_its_sides() -> None:
    rows = Rows()
    rows.single_valued("p1", "p")
    rows.claim("a", 1, text="red red", source="x")
    rows.claim("b", 2, text="blue", source="x")
    rows.support("r", "b", source="y", refutes=True)
    rows.claim("c", 3, text="red", subject="t", source="x")
    assert answered(rows, "red", top_k=1) == [
        ("a", "contested"),
        ("b", "contested"),
        ("r", "contested"),
    ]
    assert [id for id, _ in answered(rows, "red")] == ["a", "b", "r", "c"]
    assert [id for id, _ in answered(rows, "red", offset=1)] == ["c"]


def test_the_twin_lifts_what_replaced_the_confident_answer_and_no_contested_one() -> None:
    rows = Rows()
    rows.claim("a", 1, text="red red red", source="x")
    rows.claim("b", 2, text="then", source="x")
    rows.correct("k", "a", by="b")
    strict = {"trust": "strict", "boundary": 0.8, "mode": "dense"}
    assert answered(rows, "red red red", **strict) == [("b", "ok")]
    assert answered(rows, "red blue blue blue", **strict) == [("b", "low_confidence")]
    rows.support("r", "b", source="y", refutes=True)
    assert answered(rows, "red red red", **strict) == [("b", "contested"), ("r", "contested")]


# ---------------------------------------------------------------- what the comparison found


def test_a_successor_out_of_the_views_sight_is_not_brought_in(ledger: Ledger) -> None:
    ledger.claim("s", "p", 1, text="red", id="a", source="x")
    ledger.claim("s", "p", 2, text="blue", id="b", source="x")
    ledger.summarize("red", supports=[{"workspace": "", "id": "a/support"}], id="n", workspace="w")
    ledger.correct("a", by="b")
    for shared, ids in ((True, ["b"]), (False, [])):
        view = ledger.view(valid_at="2024-01-01", workspace="w", shared=shared)
        assert [hit.id for hit in ledger.recall("red", view=view, tier="claim")] == ids


def test_a_summary_is_not_served_where_the_view_does_not_see_what_it_cites(
    ledger: Ledger,
) -> None:
    ledger.claim("s", "p", 1, perspective="hers", id="a", source="x")
    ledger.cite("Line 7", supports=["a/support"], id="q")
    ledger.summarize("red", citations=["q"], id="n")
    for perspective, ids in ((None, ["n"]), ("hers", ["n"]), ("his", [])):
        view = ledger.view(valid_at="2024-01-01", perspective=perspective)
        assert [hit.id for hit in ledger.recall("red", view=view)] == ids
        block = ledger.assemble("red", view=view, candidates=[{"id": "n"}])
        assert list(block.ids) == ids
        assert list(block.reasons.values()) == ([] if ids else ["invalid_citation"])


def test_equal_scores_of_one_id_go_by_workspace() -> None:
    with doxa.open(embedder=EMBEDDER) as ledger:
        for workspace in ("w", ""):
            ledger.claim("s", "p", 1, text="red", id="a", workspace=workspace, source="x")
        view = ledger.view(valid_at="2024-01-01", workspace="w")
        found = ledger.recall("red", view=view, trust="standing", pool=1)
        assert [(hit.workspace, hit.id) for hit in found] == [("", "a")]


def test_where_standing_alone_decides_no_boundary_says_why_it_abstained() -> None:
    with doxa.open(embedder=EMBEDDER) as ledger:
        ledger.policy(single_valued="p")
        for id, value in (("a", 1), ("b", 2)):
            ledger.claim("s", "p", value, text="red", id=id, source="x")
        ledger.claim("s", "q", 1, text="red", id="c", source="x")
        ledger.withdraw("c")
        view = ledger.view(valid_at="2024-01-01")
        reasons = []
        for mode in ("lexical", "dense", "fused"):
            found = ledger.recall("red", view=view, trust="standing", mode=mode)
            assert found.abstention is not None
            reasons.append((str(found.abstention.reason), found.abstention.ids))
        assert reasons == [("contested", ("a", "b"))] * 3


def test_every_side_of_a_conflict_says_how_valid_it_is(ledger: Ledger) -> None:
    ledger.policy(single_valued="p")
    for id, value in (("a", 1), ("b", 2)):
        ledger.claim("s", "p", value, text=("red", "sea")[value - 1], id=id, source="x")
    ledger.support("b", source="y", stance="refutes", id="r")
    view = ledger.view(valid_at="2024-01-01")
    found = ledger.recall("red", view=view, validity_annotate=True)
    grades = {hit.id: None if hit.validity is None else hit.validity["grade"] for hit in found}
    assert grades == {"a": "valid", "b": "valid", "r": "valid"}


def test_sources_of_one_content_vouch_for_a_hit_once(ledger: Ledger) -> None:
    ledger.claim("s", "p", 1, text="red", id="a", source=doxa.Source("x", digest="d"))
    for n, (digest, provenance) in enumerate((("d", "candidate"), ("e", "corroborated"))):
        ledger.support("a", source=doxa.Source(f"y{n}", digest=digest))
        view = ledger.view(valid_at="2024-01-01")
        (hit,) = ledger.recall("red", view=view, validity_annotate=True)
        assert hit.validity is not None
        assert hit.validity["provenance_class"] == provenance


def test_a_correction_that_may_mean_two_claims_of_a_summary_is_named_once(
    ledger: Ledger,
) -> None:
    for id in ("a", "b"):
        ledger.claim("s", "p", 1, text="sea", id=id, source="x")
    ledger.summarize("red", facts=["a", "b"], id="n")
    unresolved = {"event": "correction", "id": "k", "unresolved": "c", "candidates": ["a", "b"]}
    ledger.append([unresolved])
    found = ledger.recall("red", view=ledger.view(valid_at="2024-01-01"))
    assert found.abstention is not None
    assert found.abstention.ids == ("n", "k")
