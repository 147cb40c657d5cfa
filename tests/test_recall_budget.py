"""What an answer's text may hold within a budget: whole hits, whole conflicts, and all labels."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa.engine.outcomes import Gap, Outcome
from tests.asked import ask, gaps, ids, said, strict


def _three(ledger: doxa.Ledger) -> None:
    for id, more in (("a", 0), ("b", 4), ("c", 9)):
        said(ledger, id, f"word{' more' * more}")


def test_without_a_budget_all_is_given_and_counted(ledger: doxa.Ledger) -> None:
    _three(ledger)
    answer = ask(ledger)
    assert (answer.budget, answer.used, answer.unit) == (None, len(answer.text), "characters")
    assert answer.left_out == ()
    parts = [answer.disclosure, *(hit.rendered() for hit in answer)]
    assert answer.text == "\n\n".join(parts)


def test_what_fits_exactly_fits_and_with_one_less_a_hit_is_left_out_whole(
    ledger: doxa.Ledger,
) -> None:
    _three(ledger)
    whole = ask(ledger)
    size = len(whole.text)
    exact = ask(ledger, budget=size)
    assert (exact.text, exact.used, exact.left_out) == (whole.text, size, ())
    less = ask(ledger, budget=size - 1)
    assert (ids(less), less.left_out) == (["a", "b"], ("c",))
    assert less.text == "\n\n".join([less.disclosure, *(hit.rendered() for hit in less)])
    assert less.used == len(less.text) <= size - 1


@pytest.mark.parametrize("step", [1, 7, 50])
def test_a_budget_is_never_exceeded_and_each_hit_is_whole_or_named(
    ledger: doxa.Ledger, step: int
) -> None:
    _three(ledger)
    whole = ask(ledger)
    for budget in range(0, len(whole.text) + 2, step):
        answer = ask(ledger, budget=budget)
        assert answer.used == len(answer.text) <= budget
        assert sorted([*ids(answer), *answer.left_out]) == sorted(ids(whole))
        assert all(hit.rendered() in answer.text for hit in answer)


def test_a_hit_that_does_not_fit_leaves_room_for_the_next(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    said(ledger, "b", "word " + "more " * 100)
    said(ledger, "c", "word again")

    def rerank(query: str, texts: list[str]) -> list[float]:
        return [0.0 if text == "word again" else 1.0 for text in texts]

    assert ids(ask(ledger, rerank=rerank)) == ["a", "b", "c"]
    answer = ask(ledger, budget=500, rerank=rerank)
    assert (ids(answer), answer.left_out) == (["a", "c"], ("b",))


def test_the_sides_of_a_conflict_are_given_together_or_not_at_all(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="is")
    for id in "xy":
        said(ledger, id, "word of one", subject="one")
    whole = ask(ledger)
    assert ids(whole) == ["x", "y"]
    exact = ask(ledger, budget=len(whole.text))
    assert (exact.text, gaps(exact)) == (whole.text, [])
    less = ask(ledger, budget=len(whole.text) - 1)
    assert (ids(less), set(less.left_out), gaps(less)) == ([], {"x", "y"}, [Gap.CONFLICT_COVERAGE])
    assert less.text.endswith("conflict left out, 2 sides do not fit: x, y")
    assert "word of one" not in less.text
    nothing = ask(ledger, budget=len(less.text) - 1)
    assert (nothing.text, gaps(nothing)) == (nothing.disclosure, [Gap.CONFLICT_COVERAGE])


def test_a_conflict_takes_one_place_of_those_asked_for(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="is")
    for id in "xy":
        said(ledger, id, "word of one", subject="one")
    said(ledger, "a", "a word of others, and more of it")
    assert ids(ask(ledger, top_k=1)) == ["x", "y"]
    assert ids(ask(ledger, top_k=2)) == ["x", "y", "a"]


def test_a_further_text_on_a_conflict_is_given_only_where_the_conflict_is(
    ledger: doxa.Ledger,
) -> None:
    ledger.policy(single_valued="is")
    said(ledger, "x", "word of one", subject="one")
    said(ledger, "y", "one thing " * 60, subject="one")
    ledger.summarize("word", facts=["x"], id="n")
    assert set(ids(ask(ledger))) == {"n", "x", "y"}
    answer = ask(ledger, budget=450)
    assert ids(answer) == []
    assert set(answer.left_out) == {"n", "x", "y"}


@pytest.mark.parametrize("budget", [0, 10, 300])
def test_that_nothing_fits_makes_nothing_to_act_on(budget: int) -> None:
    with strict({"word" * 100: 0.1}) as ledger:
        said(ledger, "a", "word" * 100)
        answer = ask(ledger, budget=budget)
        assert (ids(answer), answer.left_out) == ([], ("a",))
        assert answer.outcome is Outcome.ABSTAINED
        assert answer.abstention is not None
        assert answer.abstention.ids == ("a",)
        assert "word" not in answer.text


# ---------------------------------------------------------------- other units


def words(text: str) -> int:
    return len(text.split())


def test_a_budget_counts_in_what_the_counter_counts(ledger: doxa.Ledger) -> None:
    _three(ledger)
    whole = ask(ledger)
    size = words(whole.text)
    exact = ask(ledger, budget=size, count=words)
    assert (exact.text, exact.used) == (whole.text, size)
    assert exact.unit == "tests.test_recall_budget.words"
    less = ask(ledger, budget=size - 1, count=words)
    assert (ids(less), less.left_out, less.used) == (["a", "b"], ("c",), words(less.text))


@pytest.mark.parametrize("given", ["5", -1, None, True, 1.5])
def test_a_counter_that_does_not_count_is_the_callers_mistake(
    ledger: doxa.Ledger, given: Any
) -> None:
    _three(ledger)
    with pytest.raises(doxa.CallerError, match="the counter "):
        ask(ledger, budget=100, count=lambda text: given)


def test_a_counter_that_fails_is_named(ledger: doxa.Ledger) -> None:
    _three(ledger)

    def count(text: str) -> int:
        raise RuntimeError(text)

    with pytest.raises(doxa.CallerError, match=r"counter .*count failed on a text of"):
        ask(ledger, budget=10, count=count)


def test_without_a_budget_the_text_is_counted_too(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, count=lambda text: len(text.split()))
    assert answer.used == len(answer.text.split()) > 0
    assert ask(ledger).used == len(answer.text)
