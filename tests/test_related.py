"""Which claims are looked at together, which are not, and which contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine import times
from doxa.engine.insight import keyed
from doxa.projections.related import LONGEST, MOST, SHARED, WIDESPREAD, Related, related
from doxa.projections.words import FUNCTION_WORDS, words

DAY = "2024-06-01"
LATER = times.instant("2100-01-01")


@pytest.fixture
def ledger() -> Iterator[doxa.Ledger]:
    moments = iter(datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(1_000))
    with doxa.open(clock=lambda: next(moments)) as opened:
        yield opened


def found(ledger: doxa.Ledger, unused_since: int = LATER, **options: Any) -> Related:
    view = ledger.view(
        valid_at=DAY, shared=False, workspace=options.pop("workspace", ""),
        perspective=options.pop("perspective", None),
    )  # fmt: skip
    return related(
        view, lambda rows: ledger._claims(view, rows), unused_since=unused_since, **options
    )


def groups(ledger: doxa.Ledger, **options: Any) -> list[list[str]]:
    return [list(group.ids) for group in found(ledger, **options).groups]


def tell(ledger: doxa.Ledger, id: str, subject: str, predicate: str, value: Any, **o: Any) -> str:
    return ledger.claim(subject, predicate, value, id=id, **{"source": "register", **o})


def test_claims_about_one_subject_are_related_whatever_their_kinds(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "lives_in", "London")
    tell(ledger, "b", "ada", "likes", "tea", kind="preference")
    tell(ledger, "c", "bob", "lives_in", "Paris")
    assert groups(ledger) == [["a", "b"]]


def test_perspectives_and_workspaces_are_kept_apart(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "lives_in", "London")
    tell(ledger, "b", "ada", "likes", "tea", perspective="bob")
    tell(ledger, "c", "ada", "likes", "jazz", workspace="w")
    assert groups(ledger) == groups(ledger, workspace="w") == []
    tell(ledger, "d", "ada", "owns", "a boat", perspective="bob")
    assert [(each.perspective, each.ids) for each in found(ledger).groups] == [("bob", ("b", "d"))]
    assert groups(ledger, perspective="") == []


def test_claims_about_different_subjects_are_related_by_what_they_share(
    ledger: doxa.Ledger,
) -> None:
    tell(ledger, "a", "crane 7", "report", "The harbour crane was repaired")
    tell(ledger, "b", "inspector", "wrote", "Harbour cranes need more repairs")
    tell(ledger, "c", "bob", "said", "It is a harbour with a crane")
    tell(ledger, "d", "cleo", "said", "There are those who do and those who were")
    tell(ledger, "e", "dan", "thinks", "There were those who did and those who are")
    assert groups(ledger) == [["a", "b"]]


def test_the_text_of_a_claim_counts_as_well(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "note", 1, text="the harbour crane broke")
    tell(ledger, "b", "bob", "note", 2, text="a broken crane in the harbour")  # not broke
    assert groups(ledger) == []
    tell(ledger, "c", "cleo", "note", 3, text="Harbour crane, note of 2024: it broke")
    assert groups(ledger) == [["a", "c"]]


def test_words_that_many_have_relate_nothing(ledger: doxa.Ledger) -> None:
    for number in range(WIDESPREAD + 1):
        tell(ledger, f"c{number}", f"customer{number}", "asked", "about opening hours today")
    assert groups(ledger) == []


def test_a_large_subject_falls_into_groups_that_stay_when_claims_are_added(
    ledger: doxa.Ledger,
) -> None:
    for number in range(2 * MOST):
        tell(ledger, f"c{number}", "ada", "met", f"person {number}")
    first, second = groups(ledger)
    assert [len(first), len(second)] == [MOST, MOST]
    tell(ledger, "more", "ada", "met", "one more")
    assert groups(ledger) == [first, second]  # one alone is no group
    tell(ledger, "most", "ada", "met", "and another")
    assert groups(ledger) == [first, second, ["more", "most"]]


def test_what_is_no_evidence_is_not_looked_at(ledger: doxa.Ledger) -> None:
    home = tell(ledger, "home", "ada", "lives_in", "London")
    ledger.claim("ada", "taxed_in", "UK", id="derived", because=[home])
    ledger.claim("ada", "likes", "tea", id="unsupported")
    tell(ledger, "guess", "ada", "likes", "rain", kind="hypothesis")
    tell(ledger, "past", "ada", "owns", "a boat", valid_to="2024-02-01")
    tell(ledger, "gone", "ada", "owns", "a car")
    ledger.withdraw("gone")
    tell(ledger, "old", "ada", "works_at", "the mill")
    ledger.correct("old")
    tell(ledger, "dreamt", "ada", "insight", "she moves a lot", kind="insight")
    tell(ledger, "seen", "ada", "likes", "salt", kind="observation")
    tell(ledger, "away", "ada", "likes", "pepper")
    ledger.append([{"event": "policy", "archived": ["away"]}])
    assert groups(ledger) == []
    ledger.support("derived", source="form")  # it was recorded as a conclusion
    assert groups(ledger) == []
    tell(ledger, "work", "ada", "works_at", "the dock")
    assert groups(ledger) == [["home", "work"]]


def test_what_may_have_been_superseded_is_not_looked_at(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "lives_in", "London")
    tell(ledger, "b", "ada", "works_at", "the mill")
    tell(ledger, "c", "ada", "likes", "tea")
    ledger.append([{"event": "correction", "unresolved": "the note", "candidates": ["a", "b"]}])
    assert groups(ledger) == []


def test_only_what_has_rested_is_looked_at_and_the_coldest_comes_first(
    ledger: doxa.Ledger,
) -> None:
    for subject in ("ada", "bob"):
        tell(ledger, f"{subject}1", subject, "likes", "tea")
        tell(ledger, f"{subject}2", subject, "likes", "rain")
    assert groups(ledger) == [["ada1", "ada2"], ["bob1", "bob2"]]
    second = times.instant(ledger.view(valid_at=DAY).claim("ada2").recorded_at)
    assert groups(ledger, unused_since=second) == [["ada1", "ada2"]]
    assert groups(ledger, unused_since=second - 1) == []

    def used(workspace: str, id: str) -> int | None:
        return second + 10**12 if id == "ada1" else None

    assert groups(ledger, last_used=used) == [["bob1", "bob2"], ["ada1", "ada2"]]


def test_a_claim_that_is_too_long_to_be_shown_is_counted(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "wrote", "x" * LONGEST)
    tell(ledger, "b", "ada", "wrote", "ä" * (LONGEST // 6))  # each takes six bytes as it is shown
    tell(ledger, "c", "ada", "likes", "tea")
    assert groups(ledger) == []
    assert found(ledger).too_long == 2
    tell(ledger, "d", "ada", "wrote", "x" * (LONGEST - 200))
    assert groups(ledger) == [["c", "d"]]


# ---------------------------------------------------------------- contradictions


def test_rivals_are_in_no_group_and_are_told_of_together(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="lives_in")
    tell(ledger, "a", "ada", "lives_in", "London")
    tell(ledger, "b", "ada", "lives_in", "Lisbon")
    tell(ledger, "c", "ada", "likes", "tea")
    tell(ledger, "d", "ada", "likes", "rain")
    done = found(ledger)
    assert [group.ids for group in done.groups] == [("c", "d")]
    assert [(each.ids, each.policy) for each in done.against] == [(("a", "b"), None)]


def test_a_claim_that_evidence_speaks_against_is_in_no_group(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "lives_in", "London")
    tell(ledger, "b", "ada", "likes", "tea")
    ledger.support("a", source="letter", stance="refutes")
    done = found(ledger)
    assert done.groups == []
    assert [(each.ids, each.policy) for each in done.against] == [(("a",), None)]


def test_a_claim_that_denies_another_is_to_be_declared_against_it(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "likes", "tea")
    tell(ledger, "b", "ada", "does_not_like", "tea")
    tell(ledger, "c", "ada", "likes", "rain")
    tell(ledger, "d", "bob", "likes", "tea")
    done = found(ledger)
    assert done.groups == []
    assert [(each.ids, each.policy) for each in done.against] == [
        (("a", "b"), keyed("contradiction", ["a", "b"]))
    ]


def test_a_contradiction_that_somebody_took_back_is_settled(ledger: doxa.Ledger) -> None:
    tell(ledger, "a", "ada", "likes", "tea")
    tell(ledger, "b", "ada", "does_not_like", "tea")
    (each,) = found(ledger).against
    assert each.policy is not None
    ledger.policy(contradicts=each.ids, id=each.policy)
    assert [(a.ids, a.policy) for a in found(ledger).against] == [(("a", "b"), None)]
    ledger.withdraw(each.policy)
    done = found(ledger)
    assert done.against == []
    assert [group.ids for group in done.groups] == [("a", "b")]


def test_what_is_contested_is_told_of_in_sets(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="lives_in")
    for number in range(40):
        tell(ledger, f"c{number}", "ada", "lives_in", number)
    for id, subject in (("x", "bob"), ("y", "bob"), ("z", "cleo"), ("u", "dan"), ("v", "dan")):
        tell(ledger, id, subject, f"says_{id}", id)
    for pair in (("x", "y"), ("y", "z"), ("u", "v"), ("u", "c3")):
        ledger.policy(contradicts=pair)
    taken_back = ledger.policy(contradicts=["z", "u"])
    ledger.withdraw(taken_back)
    told = [set(each.ids) for each in found(ledger).against]
    assert told == [{*(f"c{number}" for number in range(40)), "u", "v"}, {"x", "y", "z"}]


# ---------------------------------------------------------------- against a slow twin


NOUNS = ["crane", "harbour", "repair", "mill", "flour", "tea", "rain", "the", "of"]


def slow(said: list[tuple[str, str]]) -> list[list[int]]:
    """The groups of claims, as subject and object, by looking at all pairs, one by one."""
    counts = Counter(subject for subject, _ in said)
    made: list[list[int]] = []
    alone: list[int] = []
    for subject in counts:
        rows = [n for n, (other, _) in enumerate(said) if other == subject]
        while rows:
            part, rows = rows[:MOST], rows[MOST:]
            if len(part) > 1:
                made.append(part)
            else:
                alone += part
    function_words = set(words(" ".join(FUNCTION_WORDS)))
    stems = {n: set(words(" ".join(said[n]))) - function_words for n in alone}
    common = Counter(stem for each in stems.values() for stem in each)
    free = list(alone)
    while free:
        first, *rest = free
        near = []
        for other in rest:
            both = {s for s in stems[first] & stems[other] if common[s] <= WIDESPREAD}
            if len(both) >= SHARED:
                near.append((-len(both), other))
        chosen = [other for _, other in sorted(near)[: MOST - 1]]
        if chosen:
            made.append([first, *sorted(chosen)])
        free = [other for other in rest if other not in chosen]
    return sorted(made)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([f"s{n}" for n in range(14)]),
            st.lists(st.sampled_from(NOUNS), min_size=1, max_size=5).map(" ".join),
        ),
        max_size=30,
    )
)
def test_the_groups_are_those_that_looking_at_all_pairs_finds(said: list[tuple[str, str]]) -> None:
    with doxa.open() as ledger:
        for number, (subject, value) in enumerate(said):
            tell(ledger, f"{number}", subject, "says", value)
        got = sorted([int(id) for id in ids] for ids in groups(ledger))
    assert got == slow(said)
