"""Which statements are the same: what is so, what is almost so, and the groups by definition."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.oracle import overlaps as oracle
from doxa.projections import overlaps
from doxa.projections.overlaps import denials, grouped
from doxa.projections.similarity import (
    LOOKED_AT,
    NEAR,
    denial,
    may_deny,
    near,
    same,
    within,
    wording,
)


def alike(one: Any, other: Any, text: str | None = None, other_text: str | None = None) -> bool:
    return same(wording("ada", "likes", one, text), wording("ada", "likes", other, other_text))


SAME = [
    ("London", "London"),
    ("London", "london."),
    ("the mill", "mill"),
    ("Zürich", "ZU\u0308RICH"),
    ("90%", "90\uff05"),
    ("5km walk", "5 km walk"),
    ("m²", "m²"),
    (36, 36.0),
    ([1, {"a": 2}], [1.0, {"a": 2}]),
    ("!!!", "!!!"),
    ("dark roast coffee beans", "dark roast coffee beans daily"),  # four of five words
    ("a flat in London near the river Thames", "flat in London near the river Thames"),
]
NOT_THE_SAME = [
    ("London", "Paris"),
    ("London", "London Bridge"),
    ("roast coffee beans", "roast coffee beans daily"),  # three of four words
    ("Bob beats Ada at chess", "Ada beats Bob at chess"),
    ("from London to Paris", "from Paris to London"),
    ("a house with a cat by the sea", "a house with a dog by the sea"),
    ("coffee with milk in the morning", "coffee without milk in the morning"),
    ("going out with friends at night", "not going out with friends at night"),
    ("going out with friends at night", "perhaps going out with friends at night"),
    ("head of the bank of England", "former head of the bank of England"),
    ("a walk of 5 km along the river", "a walk of 6 km along the river"),
    ("a walk of 5 km along the river", "a walk of 5 miles along the river"),
    ("a plot of 5 km by the old road", "a plot of 5 square km by the old road"),
    ("a trip with two dogs to the sea", "a trip with three dogs to the sea"),
    ("the show on Monday at the old mill", "the show on Friday at the old mill"),
    ("born 2024-03-01", "born 2024-03-02"),
    ("$5", "€5"),
    ("-5", "5"),
    ("\u20135", "5"),
    ("5²", "52"),
    ("½", "1\u20442"),
    ("90%", "90"),
    ("C", "C#"),
    ("tea?", "tea"),
    ("!!!", "???"),
    ("我爱你", "你爱我"),
    ("我非常非常爱你们", "我不非常非常爱你们"),
    ("she really does like this old tea", "she really doesn't like this old tea"),
    (36, 37),
    (True, 1),
    ("36", 36),
    (None, "null"),
    ("lives in the city", "lived in the city"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_these_are_the_same(one: Any, other: Any) -> None:
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_THE_SAME)
def test_these_are_not_the_same(one: Any, other: Any) -> None:
    assert not alike(one, other)
    assert not alike(other, one)


def test_equal_objects_are_the_same_whatever_words_their_texts_have() -> None:
    assert alike("London", "London", "Ada lives in London", "Her home is London, on the Thames")
    assert alike("London", "London", "Since 2020 it is London", "It is London since 2020")
    assert alike(36, 36, "Ada is 36", None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is London since 2020", "It is London since 2021"),
        ("Ada lives in London", "Ada no longer lives in London"),
        ("Ada lives in London", "Ada may live in London"),
        ("Ada lives in London", "Ada lived in London until May"),
        ("It is 5 km", "It is 5 miles"),
        ("Ada lives in London", "Does Ada live in London?"),
    ],
)
def test_texts_that_turn_a_statement_round_keep_equal_objects_apart(one: str, other: str) -> None:
    assert not alike("London", "London", one, other)


def test_what_a_text_says_counts_where_the_other_has_none() -> None:
    assert alike("London", "London", "Ada likes London", None)
    assert not alike("London", "London", "Ada never liked London", None)


def test_the_threshold_is_met_exactly() -> None:
    for size in range(1, 200):
        words = [str(number) for number in range(size)]
        fewest = -(-4 * size // 5)
        assert near(words, words[:fewest])
        assert not near(words, words[: fewest - 1])
    assert float(NEAR) == 0.8


def test_very_long_statements_are_the_same_only_where_they_are_equal() -> None:
    long = "word " * LOOKED_AT
    assert alike(long, long)
    assert not alike(long, long + ".")
    assert alike("tea", "tea", long, long)
    assert not alike("tea", "tea", long, long + "!")


HOSTILE = ["", " ", "\u0000", "\ud800", "\u202e5", "e" + "\u0301" * 9_000, "_" * 9_000, "the"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_the_same_as_themselves_only(text: str) -> None:
    assert alike(text, text)
    assert alike("tea", "tea", text, text)
    assert not alike(text, "tea")


DENIED = [
    (("coffee", None), ("no coffee", None)),
    (("coffee", "Ada likes coffee"), ("coffee", "Ada doesn't like coffee.")),
    (("coffee", "Ada likes coffee"), ("coffee", "Ada does not like the coffee")),
    (("coffee", None), ("coffee", "Ada never likes coffee")),
    ((True, "The door is open"), (True, "The door is not open")),
    (("x", "She can swim"), ("x", "She can't swim")),
]
NOT_DENIED = [
    (("coffee", None), ("coffee", None)),
    (("no coffee", None), ("no coffee", None)),
    (("coffee", None), ("no tea", None)),
    (("London", "Ada lives in London"), ("London", "Ada lives in London, not in Paris")),
    (("perfume 5", None), ("perfume No 5", None)),
    (("coffee?", None), ("no coffee", None)),
    (("no", None), ("", None)),
    (("Doubt", None), ("No Doubt", None)),
    (("Let Me Go", None), ("Never Let Me Go", None)),
    (("not", None), ("!!!", None)),
    ((5, None), (-5, None)),
]


@pytest.mark.parametrize(("one", "other"), DENIED)
def test_these_deny_each_other(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert denials([denial("ada", "likes", *one), denial("ada", "likes", *other)]) == [(0, 1)]


@pytest.mark.parametrize(("one", "other"), NOT_DENIED)
def test_these_do_not_deny_each_other(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert denials([denial("ada", "likes", *one), denial("ada", "likes", *other)]) == []


def test_of_many_that_deny_each_other_each_is_in_a_pair() -> None:
    told = [denial("ada", "likes", v) for v in ("tea", "no tea", "tea", "not tea", "jazz")]
    assert denials(told) == [(0, 1), (0, 3), (1, 2)]


def test_statements_are_held_against_those_only_that_share_their_rarest_word() -> None:
    count = 2_000
    said = [wording("user", "said", f"that word{n} goes well with tea") for n in range(count)]
    with patch.object(overlaps, "within", side_effect=within) as asked:
        assert len(grouped(said)) == count
    assert asked.call_count == 0
    said += [
        wording("user", "said", f"well, that word{n} goes well with tea") for n in range(count)
    ]
    with patch.object(overlaps, "within", side_effect=within) as asked:
        assert len(grouped(said + said)) == count
    assert asked.call_count == count


WORDS_OF_NO = [
    "not",
    "No",
    "NEVER",
    "don't",
    "can\u2019t",
    "n\uff4f",
    "know",
    "cannot",
    "tea",
    "_no",
]
MAYBE = st.lists(st.sampled_from(WORDS_OF_NO), max_size=4).map(" ".join)


@given(MAYBE, MAYBE, st.none() | MAYBE)
def test_what_denies_something_is_looked_at(predicate: str, value: str, text: str | None) -> None:
    if denial("ada", predicate, value, text).denied:
        assert may_deny(f"ada {predicate}", None) or may_deny(value, text)


VOCABULARY = ["not", "5", "6", "km", "dark", "roast", "coffee", "beans", "the", "ada", "?", "x-1"]
SENTENCES = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
FEW = st.lists(st.sampled_from(["dark", "roast", "tea"]), min_size=3, max_size=10).map(" ".join)
PHRASE = "ada keeps tea from the green hills beside her old brown bread box"
LONG = PHRASE.split()
CUT = st.sets(st.integers(0, len(LONG) - 1), max_size=4).map(
    lambda gone: " ".join(word for place, word in enumerate(LONG) if place not in gone)
)


@given(st.lists(CUT, max_size=25))
def test_groups_of_almost_the_same_are_those_of_the_definition(objects: list[str]) -> None:
    wordings = [wording("s", "p", value) for value in objects]
    told = [oracle.Statement(each.guard, each.words) for each in wordings]
    assert grouped(wordings) == oracle.groups(told)


@given(st.lists(st.one_of(SENTENCES, FEW, st.integers(0, 2)), max_size=25))
def test_the_groups_are_those_of_the_definition(objects: list[Any]) -> None:
    wordings = [wording("s", "p", value) for value in objects]
    told = [oracle.Statement(each.guard, each.words) for each in wordings]
    assert grouped(wordings) == oracle.groups(told)


@given(SENTENCES, SENTENCES)
def test_two_statements_are_the_same_by_the_definition(one: str, other: str) -> None:
    first, second = wording("s", "p", one), wording("s", "p", other)
    told = [oracle.Statement(each.guard, each.words) for each in (first, second)]
    assert same(first, second) == same(second, first) == oracle.same(*told)


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_shorter_says_nothing_that_the_longer_does_not(one: str, other: str) -> None:
    first, second = wording("s", "p", one), wording("s", "p", other)
    assert same(first, first)
    if same(first, second):
        short, long = sorted((first.words, second.words), key=len)
        assert within(short, long)


@given(st.lists(SENTENCES, max_size=15), st.lists(SENTENCES, max_size=5))
def test_later_statements_change_no_group(before: list[str], after: list[str]) -> None:
    few = grouped([wording("s", "p", value) for value in before])
    many = grouped([wording("s", "p", value) for value in (*before, *after)])
    cut = [[n for n in group if n < len(before)] for group in many]
    assert [group for group in cut if group] == few
