"""Front matter is what Obsidian and Jekyll take for it, and is read strictly."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doxa.adapters.markdown import frontmatter
from doxa.adapters.markdown.frontmatter import BOM, KEYS, Malformed, read, render
from doxa.adapters.markdown.references import Unreadable, target
from doxa.engine import times
from tests.memos import memo, rules

PRINTABLE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40
)


def values(text: str) -> dict[str, object]:
    """The front matter as texts and lists of texts."""
    return {
        key: [item.value for item in pair.value.value]
        if frontmatter.is_list(pair.value)
        else None
        if frontmatter.is_null(pair.value)
        else pair.value.value
        for key, pair in read(text).pairs.items()
    }


@given(
    st.dictionaries(
        st.sampled_from(KEYS) | PRINTABLE.filter(lambda key: key.strip() != "<<"),
        PRINTABLE | st.lists(PRINTABLE, max_size=4) | st.none(),
        max_size=6,
    ),
    PRINTABLE,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_what_is_rendered_is_read_again(
    fields: dict[str, str | list[str] | None], body: str, newline: str, bom: bool
) -> None:
    assume(not (newline == "\r" and body.startswith("\n")))  # the two would be one line end
    text = (BOM if bom else "") + render(fields, newline) + body
    assert values(text) == fields
    front = read(text)
    assert front.there
    assert text[front.body :] == body
    assert front.newline == newline


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", BOM])
@pytest.mark.parametrize("close", ["---", "...", "---  "])
def test_marks_line_ends_and_quotes_change_nothing(newline: str, mark: str, close: str) -> None:
    lines = ["---", "id: 'the plan' # c", 'valid_from: "2024-06-01"', "valid_until: 2024-06-30"]
    found = memo(mark + newline.join([*lines, close, "# Plan", "text", "---", "id: b"]))
    assert rules(found) == []
    assert found.key == "the plan"
    assert found.valid_from == times.instant("2024-06-01")
    assert found.valid_to == times.instant("2024-07-01"), "the last day belongs to it"
    assert found.title == "Plan"
    assert found.said == "# Plan\ntext\n---\nid: b", "a thematic break is none"


@pytest.mark.parametrize(
    "text",
    [
        "words\n---\nid: b\n---\n",
        "```\n---\nid: b\n---\n```\n",
        "----\nid: b\n----\n",
        "--- id: b\n---\n",
        "---\nwords without a key\n\nid is a word\n",
        "",
        BOM,
    ],
)
def test_a_thematic_break_is_no_front_matter(text: str) -> None:
    assert not read(text).there
    assert rules(memo(text)) == []
    assert memo(text).key == "a"


@pytest.mark.parametrize(
    "text",
    ["\n---\nid: b\n---\n", "---\nid: b\n", "  ---\ntitle: x\nvalid_from: 2024-01-01\n---\n"],
)
def test_front_matter_in_the_wrong_place_is_told_of_and_not_passed_over(text: str) -> None:
    assert rules(memo(text)) == ["malformed-front-matter"]
    assert not memo(text).usable


def bomb() -> str:
    """A billion laughs."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi")]  # noqa: B905
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (bomb(), "more than 10,000 values"),
        ("a: &a x\nb: [" + "*a, " * 101 + "]", "aliases"),
        ("a: &x [*x]", "stands for itself"),
        ("a: !!python/object/apply:os.system [x]", "tag"),
        ("a: !ruby/object b", "tag"),
        ("\tid: b", "not YAML"),
        ("id: [", "not YAML"),
        ("id: a: b", "not YAML"),
        ("id: a\nid: b", "twice"),
        ("<<: {id: b}", "merge"),
        ("- a\n- b", "no mapping"),
        ("just words", "no mapping"),
        ("? [a]\n: b", "no text"),
        ("a: " + "[" * 40 + "]" * 40, "deep"),
        ("a: " + "x" * 1_000_000, "1,000,004 characters"),
        ("k" * 1_000_000 + ": x", "characters"),
        ("a: \x07", "not YAML"),
        ('a: "\\UFFFFFFFF"', "not YAML"),
        ("a: b\u2028c: d: e", "not YAML"),
    ],
)
def test_hostile_front_matter_is_refused_with_its_place(yaml: str, said: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(f"---\n{yaml}\n---\n")
    assert said in str(refused.value)
    found = memo(f"---\n{yaml}\n---\nbody\n")
    assert rules(found) == ["malformed-front-matter"]
    assert found.findings[0].span.line >= 2


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_front_matter_breaks_the_reader(yaml: str) -> None:
    found = memo(f"---\n{yaml}\n---\nbody\n")
    for finding in found.findings:
        assert finding.span.line >= 1
        assert finding.span.column >= 1


@pytest.mark.parametrize(
    "value",
    [
        *("2024-02-30", "2024-13-01", "0000-01-01", "2024-6-1", "20240601", "yesterday", ".nan"),
        *("2024-06-01T09:00:00", "2024-06-01T09:00:00Z", "2024-06-01 09:00", "1717200000", "true"),
        *("[2024-06-01]", "{a: 2024-06-01}", "'\u0662024-06-01'", "''", "[]"),
    ],
)
@pytest.mark.parametrize("key", ["valid_from", "valid_until"])
def test_a_date_that_is_none_is_an_error_at_its_place(key: str, value: str) -> None:
    found = memo(f"---\ntitle: t\n{key}: {value}\n---\n")
    assert rules(found) == ["malformed-date"]
    assert (found.findings[0].span.line, found.findings[0].span.column) == (3, len(key) + 3)
    assert not found.usable


def test_dates_that_are_left_open_are_open() -> None:
    found = memo("---\nvalid_from:\nvalid_until: ~\n---\n")
    assert (rules(found), found.valid_from, found.valid_to) == ([], None, times.POS)
    assert memo("---\nvalid_until: 9999-12-31\n---\n").valid_to == times.POS
    assert rules(memo("---\nvalid_from: 2024-06-02\nvalid_until: 2024-06-01\n---\n")) == [
        "inverted-dates"
    ]
    assert rules(memo("---\nvalid_from: 2024-06-01\nvalid_until: 2024-06-01\n---\n")) == []


@pytest.mark.parametrize(
    ("yaml", "stems"),
    [
        ("old", ["old"]),
        ("old.md", ["old"]),
        ("archive/2023/old.md", ["old"]),
        ("[old]", ["old"]),
        ("[[old]]", ["old"]),
        ('"[old]"', ["old"]),
        ('"[[old]]"', ["old"]),
        ('"[[archive/old.md|the old one]]"', ["old"]),
        ('"[the old one](archive/old%20plan.md)"', ["old plan"]),
        ("[old, older.md]", ["old", "older"]),
        ("[[old], [[older]]]", ["old", "older"]),
        ("\n- old\n- [[older]]\n- '[[oldest]]'", ["old", "older", "oldest"]),
        ("[old, old.md, '[[x/old]]']", ["old"]),
        ("2024-01-01", ["2024-01-01"]),
        ("007", ["007"]),
        ("no", ["no"]),
        ("plan.v2", ["plan.v2"]),
        ("", []),
        ("~", []),
        ("[]", []),
        ("|\n  old", ["old"]),
        ("'notes\\old.md'", ["old"]),
        ("'Cafe\u0301'", ["Caf\u00e9"]),
    ],
)
def test_references_in_every_form_come_down_to_the_stem(yaml: str, stems: list[str]) -> None:
    found = memo(f"---\nsupersedes: {yaml}\n---\n")
    assert rules(found) == []
    assert [reference.stem for reference in found.references] == stems


@pytest.mark.parametrize(
    "yaml",
    [
        *("[[a, b]]", "{a: b}", "['']", "[~]", '"[[a#section]]"', '"[[a^block]]"', '"[[]]"'),
        *('"[[a]] and [[b]]"', '"[x](https://example.org/a.md)"', '".."', '"a/"', '"a\\u2028b"'),
        '"' + "x" * 2000 + '"',
    ],
)
def test_what_names_no_memo_as_a_whole_is_an_error_and_no_edge(yaml: str) -> None:
    found = memo(f"---\nsupersedes: {yaml}\n---\n")
    assert rules(found) == ["malformed-reference"]
    assert found.references == ()
    assert found.usable, "the memo is imported all the same"


@given(st.text(max_size=30))
def test_a_name_is_read_or_refused(written: str) -> None:
    try:
        stem = target(written)
    except Unreadable:
        return
    assert stem
    assert target(stem) == stem or "[" in stem or "(" in stem or stem.endswith((".md", ".markdown"))


def test_sources_are_names_links_or_mappings() -> None:
    found = memo(
        "---\nsources:\n- letter\n- [[minutes]]\n- {id: report, locator: p. 2, quote: 'so'}\n"
        "- letter\n---\n"
    )
    assert rules(found) == []
    assert found.sources == (
        {"id": "letter"},
        {"id": "minutes"},
        {"id": "report", "locator": "p. 2", "quote": "so"},
    )
    for yaml in ("{locator: p. 2}", "[{id: a, page: 2}]", "[[a, b]]", "['']", "{id: [a]}"):
        assert rules(memo(f"---\nsources: {yaml}\n---\n")) == ["malformed-source"], yaml


@pytest.mark.parametrize("yaml", ['""', "[a]", '"a\\nb"', '"a\\u2028b"', '"a\\u202eb"', "x" * 800])
def test_an_id_is_one_line_of_plain_text(yaml: str) -> None:
    assert rules(memo(f"---\nid: {yaml}\n---\n")) == ["malformed-id"]


def test_a_file_that_is_no_text_is_told_of() -> None:
    assert rules(memo(b"\xff\xfe")) == ["unreadable-file"]
    assert rules(memo(b"x" * ((1 << 20) + 1))) == ["too-large"]
    assert rules(memo("x", "a\nb.md")) == ["unusable-name"]
    assert rules(memo("x", "a\udcff.md")) == ["unusable-name"]
    assert rules(memo("---\nvalid_form: 2024-01-01\nvalid_to: x\nauthor: me\n---\n")) == [
        "misspelt-key",
        "misspelt-key",
    ]
