"""Searching by words gives what the formula says of what a view may know, whatever came later."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT
from doxa.engine.log import Row
from doxa.engine.outcomes import Gap, Unavailable
from doxa.engine.view import TruthView
from doxa.oracle import lexical as twin
from doxa.projections import corpus, postings, ranking, terms
from doxa.projections.lexical import Lexical
from doxa.projections.postings import Postings
from tests.indexed import WORKSPACES, Indexed, Said, asked_of, said, texts, words_of

histories = st.lists(said, max_size=14)
seeds = st.integers(0, 2**32)


def found(index: Lexical, query: str, view: TruthView, n: int = 10_000) -> dict[int, float]:
    """All that an index finds, with its scores, best first."""
    documents, scores = index.search(query, view).best(n)
    assert documents.dtype == np.int64
    assert scores.dtype == np.float64
    assert list(scores) == sorted(scores, reverse=True)
    return dict(zip(documents.tolist(), scores.tolist(), strict=True))


def claims(*words: str, workspace: str = "") -> list[Said]:
    return [Said("claim", workspace, text, (), False) for text in words]


@given(histories, texts, st.sampled_from(WORKSPACES), st.booleans(), seeds)
def test_scores_are_to_the_last_bit_what_the_formula_says(
    history: Sequence[Said], query: str, workspace: str, shared: bool, seed: int
) -> None:
    random, known = Random(seed), Indexed()
    known.take(history)
    with patch.object(corpus, "AT_ONCE", random.choice((1, 3, 1000))):
        index = known.followed(random)
    view = known.view(random.choice(known.revisions), workspace, shared)
    places = {workspace, ""} if shared else {workspace}
    expected = twin.scores(known.documents, query, places, view.k, words_of, asked_of)
    assert found(index, query, view) == expected
    assert index.search(query, view).total == len(expected)
    every = np.array([one.id for one in known.documents])
    given = index.search(query, view).scores(every)
    assert [None if np.isnan(s) else s for s in given.tolist()] == list(
        map(expected.get, every.tolist())
    )


@given(histories, histories, texts, st.sampled_from(WORKSPACES), seeds)
def test_an_answer_has_the_same_bytes_after_more_was_recorded(
    history: Sequence[Said], later: Sequence[Said], query: str, workspace: str, seed: int
) -> None:
    random, known = Random(seed), Indexed()
    known.take(history)
    view, index = known.view(known.position, workspace), known.index()
    before = [each.tobytes() for each in known.follow(index).search(query, view).best(5)]
    known.take(later)
    known.follow(index, page=random.choice((1, 10_000)))
    anew = known.follow(known.index())
    for one in (index, anew, known.followed(random)):
        assert [each.tobytes() for each in one.search(query, view).best(5)] == before


lengths = st.integers(0, 9) | st.integers(0, 300)
scored = st.tuples(lengths, st.sampled_from((3, 1_000))).flatmap(
    lambda of: st.lists(st.integers(0, of[1]), min_size=of[0], max_size=of[0])
)


@given(scored, st.integers(-1, 9) | st.integers(-1, 300))
def test_the_best_come_with_all_that_equal_the_last_of_them(values: list[int], n: int) -> None:
    scores = np.array(values, np.float64)
    with patch.object(ranking, "_COLUMN", 4), patch.object(ranking, "_COLUMNS", 1):
        chosen = ranking.top(scores, n)
    ordered = sorted((v for v in values if v), reverse=True)
    least = ordered[min(n, len(ordered)) - 1] if n > 0 and ordered else np.inf
    assert scores[chosen].tolist() == [v for v in ordered if v >= least]
    assert len(set(chosen.tolist())) == len(chosen)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 4), max_size=6)), max_size=30),
    seeds,
)
def test_postings_are_the_same_however_they_are_cut_and_merged(
    documents: list[tuple[int, list[int]]], seed: int
) -> None:
    random, store, counts, at = Random(seed), Postings(), [0, 0, 0], 0
    expected: dict[tuple[int, int], list[tuple[int, int]]] = {}
    while at < len(documents):
        some = documents[at : at + random.choice((1, 2, 7))]
        at += len(some)
        numbers = []
        for place, has in some:
            for term in set(has):
                here = (counts[place], has.count(term))
                expected.setdefault((place, term), []).append(here)
            numbers.append(counts[place])
            counts[place] += 1
        store.add(
            np.array([place for place, _ in some]),
            np.array(numbers),
            np.array([len(has) for _, has in some]),
            np.array([term for _, has in some for term in has], np.int32),
        )
        if random.random() < 0.2:
            store.merge()
    known = random.randint(0, len(documents))
    for place in range(3):
        for term, parts in enumerate(store.find(place, np.arange(6), known)):
            pairs = [
                (int(d), int(c))
                for part in parts
                for d, c in zip(part.documents, part.counts, strict=True)
            ]
            assert pairs == [p for p in expected.get((place, term), []) if p[0] < known]
    sizes = [len(segment.documents) for segment in store.segments]
    assert all(one >= postings._GROWTH * other for one, other in pairwise(sizes))


def test_claims_summaries_and_quotes_are_found_and_citations_are_not() -> None:
    known = Indexed()
    kinds = ("claim", "spoken", "quoted", "support", "summary", "citation")
    known.take([Said(kind, "", "owl", (), False) for kind in kinds])
    index = known.follow(known.index())
    documents = found(index, "owls", known.view(known.position))
    assert sorted(number & 7 for number in documents) == [
        *[CLAIM] * 3, *[SUPPORT] * 2, ARTEFACT,
    ]  # fmt: skip
    graph = known.graph
    assert {graph.position_of(number) for number in documents} == set(range(4, 9))


def test_a_workspace_out_of_sight_leaves_no_trace_in_the_scores() -> None:
    apart, known = Indexed(), Indexed()
    apart.take(claims("owl night", "day"))
    known.take(claims("owl night", "day"))
    known.take(claims(*["owl owl owl"] * 20, workspace="x"))
    alone = found(apart.follow(apart.index()), "owl", apart.view(apart.position, "w"))
    assert found(known.follow(known.index()), "owl", known.view(known.position, "w")) == alone


def test_documents_are_numbered_for_other_arms_too() -> None:
    known = Indexed()
    known.take(claims("one") + claims("two", workspace="w"))
    index = known.index()
    assert len(index.pool) == 0
    assert index.pool.upto(5) == 0
    known.follow(index)
    pool, graph = index.pool, known.graph
    assert len(pool) == 5
    assert pool.entities.tolist() == [8 * row + CLAIM for row in range(5)]
    assert pool.positions.tolist() == [1, 2, 3, 4, 5]
    assert pool.workspaces.tolist() == [graph.names.find(name) for name in (*WORKSPACES, "", "w")]
    assert [pool.upto(k) for k in (0, 3, 4, 99)] == [0, 3, 4, 5]
    assert pool.find(np.array([8, 16, 9, 8000])).tolist() == [1, 2, -1, -1]


def test_what_was_erased_before_it_was_indexed_is_not_found() -> None:
    known = Indexed()
    known.take(claims("owl one", "owl two"))
    known.ledger.recorder.erase([4])
    index = known.follow(known.index())
    assert list(found(index, "owl", known.view(5))) == [8 * 4 + CLAIM]
    assert index.position == 5


def test_views_take_turns_on_one_index() -> None:
    known = Indexed()
    known.take([*claims("owl"), *claims("owl and a long text about owls", workspace="w")])
    known.take([*claims("a longer text about an owl"), *claims("owl night", workspace="x")])
    index = known.follow(known.index())
    views = [known.view(k, workspace) for k in known.revisions for workspace in WORKSPACES]
    for view in (*views, *reversed(views)):
        places = {view.workspace, ""}
        expected = twin.scores(known.documents, "owl text", places, view.k, words_of, asked_of)
        assert found(index, "owl text", view) == expected


def test_an_index_behind_the_view_says_so_in_place_of_an_answer() -> None:
    known = Indexed()
    known.take(claims("owl"))
    index = known.follow(known.index(), upto=3)
    assert found(index, "owl", known.view(3)) == {}
    for arm in (index, index.triggers):
        with pytest.raises(Unavailable, match="up to revision 3, the view to 4") as refused:
            arm.search("owl", known.view(4))
        assert refused.value.reason is Gap.INDEX_UNAVAILABLE


@pytest.mark.parametrize(
    "query",
    ["", " ", "...", "\x00\xff", "\ud800", "owl AND -owl:(", "owl " * 250_000, "x" * 1_000_000,
     bytes(range(256)).decode("latin-1") * 4_000, "ﷺ" * 100_000],
)  # fmt: skip
def test_any_question_is_plain_words(query: str) -> None:
    known = Indexed()
    known.take(claims("owl", "day"))
    index = known.follow(known.index())
    answer = index.search(query, known.view(5))
    assert answer.total == ("owl" in query)
    assert np.isfinite(answer.best(9)[1]).all()
    assert index.triggers.search(query, known.view(5)).total == 0


def test_a_word_asked_twice_counts_twice() -> None:
    known = Indexed()
    known.take(claims("owl", "day"))
    index, view = known.follow(known.index()), known.view(5)
    once, twice = found(index, "owl", view), found(index, "owl owls", view)
    assert twice == {number: 2 * score for number, score in once.items()}


def test_the_words_at_hand_are_few_and_all_are_found() -> None:
    known = Indexed()
    known.take(claims("owl day", "x" * 200, "owls days", "y" * 50 + "x" * 100))
    with patch.object(terms, "_KEPT", 2):
        index = known.follow(known.index())
    for query in ("owl", "days", "x" * 150, "y" * 50 + "x" * 60):
        expected = twin.scores(known.documents, query, {""}, known.position, words_of, asked_of)
        assert expected
        assert found(index, query, known.view(known.position)) == expected


def test_an_empty_ledger_has_nothing_to_find() -> None:
    known = Indexed()
    index = known.index()
    answer = index.search("owl", known.view(0))
    assert answer.total == 0
    assert [len(each) for each in answer.best(3)] == [0, 0]
    assert np.isnan(answer.scores(np.array([0, 8]))).all()
    assert np.isnan(index.triggers.search("owl", known.view(0)).scores(np.array([0, 8]))).all()


def test_rows_that_are_half_in_when_it_fails_are_taken_in_anew() -> None:
    known = Indexed()
    known.take(claims("owl one", "owl two"))
    index = known.follow(known.index(), upto=4)
    with patch.object(Postings, "add", side_effect=MemoryError), pytest.raises(MemoryError):
        known.follow(index)
    assert index.position == 0
    expected = twin.scores(known.documents, "owl", {""}, 5, words_of, asked_of)
    for _ in range(2):
        known.follow(index)
        assert found(index, "owl", known.view(5)) == expected
        index.forget()
        assert index.position == 0


def test_rows_that_leave_a_gap_are_a_mistake_of_the_caller() -> None:
    known = Indexed()
    with pytest.raises(AssertionError):
        known.index().follow(known.graph, known.ledger.recorder.read_rows(1))


def test_searches_go_on_while_the_index_follows() -> None:
    known = Indexed()
    known.take(claims(*(f"owl number {n}" for n in range(40))))
    index, view = known.follow(known.index()), known.view(known.position)
    expected = [each.tobytes() for each in index.search("owl number 7", view).best(5)]
    known.take(claims(*(f"owl number {n}" for n in range(300)), workspace=""))
    rows: list[Row] = [row for page in known.ledger.recorder.read_rows(view.k) for row in page]
    graph, differing, done = known.graph, [], threading.Event()

    def look() -> None:
        while not done.is_set():
            answer = index.search("owl number 7", view)
            documents, scores = answer.best(5)
            if [documents.tobytes(), scores.tobytes()] != expected:
                differing.append(documents)
            if not np.array_equal(answer.scores(documents), scores):
                differing.append(documents)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        index.follow(graph, ([row] for row in rows))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert differing == []
