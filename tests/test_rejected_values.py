"""Which values are the same to a rejection, and which only look it."""

# ruff: noqa: RUF001, RUF003

from __future__ import annotations

import json
import random
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.engine.rejecting import NESTED, normal, texts_in
from doxa.oracle.rejecting import alike

TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from('aAbBßẞıİiIſsSéÉe\u0301\u0345αΑᾳﬁ \t\n\u00a0\u200b\u2028[]{}",:1.0-'),
    ),
    max_size=12,
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.text(st.sampled_from(" \t\n\r\u00a0\u2003\u3000"), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("London", "  LONDON\n"),
        ("New\u00a0York", "new \t york"),
        ("caf\u00e9", "CAFE\u0301"),
        ("\u212bngstr\u00f6m", "a\u030angstro\u0308m"),
        ("Straße", "STRASSE"),
        ("ſtop", "Stop"),
        ("ﬁne", "FINE"),  # folding takes ligatures of letters apart, as it does with ß
        ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"),
        (1, 1.0),
        (0, -0.0),
        (2**100, float(2**100)),
        ({"b": 1, "a": [True, None]}, ' {"a" : [true,null],\n"b":1.0}'),
        ({"City": "London"}, {"city": " LONDON "}),
        ('{"City":"London"}', '{ "city": "l\\u006fndon" }'),
        ("[ TRUE ]", [True]),
        ("[]", []),
        ({"A": 1, "a": 2}, '{"A":1,"a":2}'),
        ('{"a":1,"a":2}', '{"a":2,"a":1}'),
        ('{"a":\u00a01}', {"a": 1}),
    ],
)
def test_values_that_differ_in_nothing_that_counts_are_one(one: Any, other: Any) -> None:
    assert normal(one) == normal(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("London", "Lond0n"),
        ("London", "Lon\u200bdon"),  # a space without width is no white space
        ("London", "London\ufeff"),
        ("London", "Lоndon"),  # a Cyrillic о
        ("x2", "x²"),  # NFC keeps what is compatible only
        ("kg", "㎏"),
        ("1", "①"),
        ("ﬆ.", "ﬆ"),
        ("i", "ı"),  # without its dot
        ("i", "İ"),  # with one more
        ("newyork", "new york"),
        (1, "1"),
        (1, True),
        (0, False),
        (None, "null"),
        (None, ""),
        (True, "true"),
        ("[1]", '"[1]"'),
        ([1], [[1]]),
        ([1, 2], [2, 1]),
        ({"a": "[1]"}, {"a": [1]}),  # a text within a value is a text
        ({"a": 1}, '{"a":1,"a":1}'),
        ({"a": 1}, {"a": "1"}),
        ("[1,]", [1]),
        ("[NaN]", "[nan, 1]"),
        (0.1, 0.1 + 2**-56),
        ("London.", "London"),
        ({"x": 1}, [["x", 1]]),
    ],
)
def test_values_that_only_look_alike_are_two(one: Any, other: Any) -> None:
    assert normal(one) != normal(other)


@given(VALUES, VALUES)
def test_two_values_are_one_exactly_where_the_oracle_says_so(one: Any, other: Any) -> None:
    assert (normal(one) == normal(other)) == alike(one, other)


@settings(max_examples=300)
@given(VALUES, st.randoms(use_true_random=False))
def test_a_value_is_the_same_however_it_is_written(value: Any, chance: random.Random) -> None:
    other = _rewritten(value, chance)
    assert normal(other) == normal(value), (value, other)
    assert alike(other, value)
    if isinstance(value, dict | list):
        text = json.dumps(
            other, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 1])
        )
        assert normal(text) == normal(value), (text, value)
        assert alike(text, value)


def _rewritten(value: Any, chance: random.Random) -> Any:
    """The same value in another case, normal form, order of keys and spacing."""
    if isinstance(value, str):
        text = unicodedata.normalize(chance.choice(["NFC", "NFD"]), value)
        if chance.random() < 0.5:
            text = unicodedata.normalize("NFC", text).casefold()
        spaces = [" ", "\t", "\u00a0", "\n  "]
        text = "".join(chance.choice(spaces) if letter == " " else letter for letter in text)
        return chance.choice(["", " ", "\n"]) + text + chance.choice(["", "\u3000"])
    if isinstance(value, list):
        return [_rewritten(item, chance) for item in value]
    if isinstance(value, dict):
        pairs = [(_rewritten(k, chance), _rewritten(v, chance)) for k, v in value.items()]
        chance.shuffle(pairs)
        if len({key for key, _ in pairs}) == len(pairs):
            return dict(pairs)
    if type(value) is float and value.is_integer():
        return chance.choice([value, int(value)])
    return value


@given(TEXTS)
def test_the_normal_form_of_a_text_is_in_normal_form(text: str) -> None:
    folded = normal(text)
    if folded.startswith('"'):
        assert normal(json.loads(folded)) == folded


@given(TEXTS, SPACES, TEXTS)
def test_any_run_of_white_space_is_as_good_as_another(one: str, space: str, other: str) -> None:
    assert normal(one + space + other) == normal(f"{one} {other}")


@pytest.mark.parametrize("depth", [NESTED, NESTED + 1, NESTED + 2, 5_000, 200_000])
def test_how_deep_a_text_nests_never_depends_on_who_asks(depth: int) -> None:
    text = "[" * depth + "]" * depth
    spaced = "[ " * depth + "]" * depth

    def at(frames: int) -> tuple[str, bool]:
        return at(frames - 1) if frames else (normal(text), normal(text) == normal(spaced))

    assert at(0) == at(500)
    assert at(0)[1] == (depth <= NESTED + 1)
    assert alike(text, spaced) == at(0)[1]


def test_hostile_texts_take_no_longer_than_others() -> None:
    many = 200_000  # with a time that grows with the square, each of these takes minutes
    above, below = "\u0301", "\u0323"
    runs = [(above + below) * many, above * many + below * many, below * many + above * many]
    assert len({normal("a" + run) for run in runs}) == 1
    assert len(normal("a" + "\u0f73" * many)) > many
    assert normal("[" + '\\"' * many + "]") != normal("")
    assert texts_in("a" * many + "\\") == ["a" * many]


@given(
    st.lists(
        st.sampled_from("\u0301\u0323\u0345\u0344\u0f73\u0315\u034f\u0308ae\u1fb3"), max_size=200
    )
)
def test_long_runs_of_marks_are_brought_into_the_order_that_unicode_gives_them(
    letters: list[str],
) -> None:
    text = "".join(letters)
    assert alike(text, _undone(normal(text)))
    assert normal(text) == normal(unicodedata.normalize("NFD", text))


def _undone(form: str) -> str:
    found: str = json.loads(form)
    return found


def test_a_text_with_brackets_in_its_words_is_not_deep() -> None:
    assert normal('["' + "[" * 500 + '"]') == normal(["[" * 500])


def test_a_number_with_too_many_digits_is_read_as_text() -> None:
    assert normal("[" + "9" * 5_000 + "]") != normal([9])
    assert normal("[1e999]").startswith('"')


@pytest.mark.parametrize("start", ['{"event":"claim",', '{event":"claim",', "", '"'])
def test_the_texts_of_a_line_that_is_no_json_are_found(start: str) -> None:
    line = start + r'"object":"caf\u00e9 \"noir\"", "text": "cut o'
    assert {"object", 'café "noir"', "text", "cut o"} <= set(texts_in(line))
