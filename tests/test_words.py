"""Words come apart where Unicode says, and what is written otherwise is found all the same."""

# ruff: noqa: RUF001

from __future__ import annotations

import threading

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from doxa.projections import words as module
from doxa.projections.words import LONGEST, asked, searched, split, stem, words

BOUNDARIES = regex.compile(r"(?w)\b\w.*?\b", regex.DOTALL)
SIGNS = "aZ09'.:,;_\"-/@#$%^&*()[]{}<>|~`!? \t\r\n\x00\x0b\x0c\x1f\x7f"
ASCII = st.text(st.sampled_from(SIGNS) | st.characters(max_codepoint=127), max_size=30)


@given(ASCII)
def test_plain_letters_come_apart_where_the_boundaries_of_unicode_are(text: str) -> None:
    assert split(text) == BOUNDARIES.findall(text.lower().replace("_", " "))


@given(st.text(max_size=40))
def test_no_text_is_refused_and_each_word_is_a_letter_or_a_digit_at_least(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= LONGEST
        assert any(c.isalnum() or regex.match(r"\w", c) for c in word)


@given(ASCII)
def test_plain_text_has_the_same_words_in_the_company_of_other_letters(text: str) -> None:
    assert searched(f"{text} é") == [*searched(text), "é"]
    assert searched(text.upper()) == searched(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ...  !?", []),
        ("Ada's cats were running", ["ada", "cat", "were", "run"]),
        ("ada’s", ["ada"]),
        ("lives_in", ["live", "in"]),
        ("＿full＿width＿", ["full", "width"]),
        ("3.14 1,000 e.g. can't", ["3.14", "1,000", "e.g", "can't"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("ﬁne Ｆｉｎｅ", ["fine", "fine"]),
        ("Nu\u0308rnberg Nürnberg", ["nürnberg", "nürnberg"]),
        ("co\u00adop", ["coop"]),
        ("漢字かな", ["漢", "字", "か", "な"]),
        ("カタカナ ｶﾀｶﾅ", ["カタカナ", "カタカナ"]),
        ('title:foo -bar (baz^2) "qux"*', ["title:foo", "bar", "baz", "2", "qux"]),
    ],
)  # fmt: skip
def test_words_are_folded_and_cut_down_to_their_stems(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_signs_without_spaces_are_found_in_pairs_too() -> None:
    assert searched("東京都 kyoto") == ["東", "京", "都", "kyoto", "東京", "京都"]
    assert searched("plain words") == split("plain words")


def test_half_a_surrogate_pair_parts_words() -> None:
    assert words("a\ud800b \udfff c") == ["a", "b", "c"]


def test_a_long_word_counts_by_its_beginning() -> None:
    assert words("x" * 1_000_000) == ["x" * LONGEST] == words("x" * LONGEST + "yz")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "a.", "_", "\x00", "\U0001f1e6", "e\u0301", "\u0301\u0323", "ﾞ\u0323", "\u200d",
     "漢", "ก", "\u0344\u0323", "\ufdfa", "ß", "\r\n", "a\u00ad"],
)  # fmt: skip
def test_a_megabyte_of_anything_is_taken_apart(unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode()))
    assert len(searched(text)) <= 20 * len(text)


def test_marks_beyond_all_sense_are_left_out() -> None:
    assert words("e" + "\u0301\u0323" * 50 + " x") == words("e" + "\u0301\u0323" * 15 + " x")


def test_what_is_looked_for_in_a_short_way_is_all_there_is() -> None:
    signs = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    marks, neighbours = regex.compile(r"[\p{M}\uFF9E\uFF9F]"), module._NEIGHBOURS
    assert all(module._MAY_MARK.match(sign) for sign in signs if marks.match(sign))
    assert all(module._MAY_NEIGHBOUR.match(sign) for sign in signs if neighbours.match(sign * 2))


def test_threads_stem_side_by_side() -> None:
    found: list[list[str]] = []
    texts = [f"running {n} lives tokens stemming" for n in range(300)]

    def run() -> None:
        found.append([stem(word) for text in texts for word in split(text)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)


def test_what_decides_about_words_is_named() -> None:
    assert module.METHOD.startswith("words.2-regex.")
    assert "unicode." in module.METHOD
    assert "snowball." in module.METHOD


def test_a_question_is_asked_without_function_words_unless_it_has_no_others() -> None:
    assert asked("Who is the owner of the house?") == ["owner", "house"]
    assert asked("The Who") == ["the", "who"]
    assert asked("cases in US, in May") == ["cases", "us", "may"]
    assert asked("?!") == []
    assert searched("the owner") == ["the", "owner"]
