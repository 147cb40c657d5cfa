"""A claim is recalled by a phrase of its own where the question has it, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine.graph import CLAIM
from doxa.oracle import lexical as twin
from doxa.projections.lexical import LOOKED_AT
from doxa.projections.words import words
from tests.indexed import WORKSPACES, Indexed, Said, said, texts

histories = st.lists(said, max_size=14)


def fired(phrases: Sequence[str], query: str) -> float | None:
    """The score of a claim with some phrases; None where none fires."""
    known = Indexed()
    known.take([Said("claim", "", "text", tuple(phrases), True)])
    index = known.follow(known.index())
    (score,) = index.triggers.search(query, known.view(4)).scores(np.array([3 * 8 + CLAIM]))
    return None if np.isnan(score) else float(score)


@given(histories, texts, st.sampled_from(WORKSPACES), st.booleans(), st.integers(0, 2**32))
def test_claims_are_those_whose_phrases_the_question_has(
    history: Sequence[Said], query: str, workspace: str, shared: bool, seed: int
) -> None:
    random, known = Random(seed), Indexed()
    known.take(history)
    index = known.followed(random)
    view = known.view(random.choice(known.revisions), workspace, shared)
    ranking = index.triggers.search(query, view)
    places = {workspace, ""} if shared else {workspace}
    expected = twin.fired(known.claims, query, places, view.k, words)
    documents, scores = ranking.best(1_000)
    assert dict(zip(documents.tolist(), scores.tolist(), strict=True)) == expected
    assert list(scores) == sorted(expected.values(), reverse=True)
    assert ranking.total == len(expected)
    every = [one.id for one in known.documents]
    given = ranking.scores(np.array(every))
    assert np.array_equal(given, [expected.get(id, np.nan) for id in every], equal_nan=True)


def test_a_view_knows_no_claim_that_came_later() -> None:
    known = Indexed()
    for workspace in ("", "w", "", "x", "w"):
        known.take([Said("claim", workspace, "text", ("night owl", "owl"), True)])
    index = known.follow(known.index())
    for view in [known.view(k, workspace) for k in known.revisions for workspace in WORKSPACES]:
        documents, scores = index.triggers.search("the night owl", view).best(9)
        places = {view.workspace, ""}
        expected = twin.fired(known.claims, "the night owl", places, view.k, words)
        assert dict(zip(documents.tolist(), scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("phrases", "query", "score"),
    [
        (["night owl"], "Where do NIGHT-owls sleep?", 2),
        (["night owl"], "an owl at night", None),
        (["night owl"], "night and owl", None),
        (["owl", "the night owl", "night owl"], "see the night owls", 3),
        (["..."], "...", None),
        (["owl"], "", None),
        (["owl owl"], "owl", None),
        (["owl owl"], "owl owl owl", 2),
        (["東京"], "東京都", 2),
    ],
)
def test_a_phrase_fires_where_its_terms_stand_side_by_side(
    phrases: Sequence[str], query: str, score: float | None
) -> None:
    assert fired(phrases, query) == score


def test_a_question_is_looked_at_up_to_a_length() -> None:
    assert fired(["owl"], "x " * (LOOKED_AT - 1) + "owl") == 1
    assert fired(["owl"], "x " * LOOKED_AT + "owl") is None


@pytest.mark.timeout(30)
def test_many_phrases_of_many_lengths_are_found_in_a_long_question() -> None:
    known = Indexed()
    lengths = (*range(1, 20), 100, 300, 499)
    known.take([Said("claim", "", "t", tuple("a " * n for n in lengths), True)])
    index = known.follow(known.index())
    documents, scores = index.triggers.search("a " * 500_000, known.view(4)).best(1)
    assert documents.tolist() == [3 * 8 + CLAIM]
    assert scores.tolist() == [499]
