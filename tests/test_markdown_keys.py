"""Front matter that is not read, and what its writer is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.adapters.markdown.findings import Finding
from doxa.adapters.markdown.frontmatter import KEYS
from doxa.adapters.markdown.keys import meant
from doxa.adapters.markdown.linting import findings_of
from tests.memos import corpus, memo, rules, text


def told(files: dict[str, str]) -> list[Finding]:
    return findings_of(corpus(files))


@pytest.mark.parametrize(
    ("key", "right"),
    [
        *((key, "supersedes") for key in ("superseeds", "supercedes", "Supersedes", "replaces")),
        *((key, "valid_from") for key in ("effective", "from", "valid-from", "valid form")),
        *((key, "valid_until") for key in ("until", "valid_to", "expires", "valid_untill")),
        *((key, "sources") for key in ("source", "Sources", "sorces")),
        *((key, "title") for key in ("Title", "tilte")),
    ],
)
def test_a_key_that_is_nearly_one_is_told_with_the_right_one(key: str, right: str) -> None:
    (finding,) = told({"a.md": f"---\nid: x\n{key}: 2024-06-01\n---\n"})
    assert (finding.rule, finding.level) == ("misspelt-key", "warning")
    assert finding.message == f"the key {key!r} is not read; {right} is"
    assert (finding.span.line, finding.span.column, finding.span.end_column) == (3, 1, 1 + len(key))


@pytest.mark.parametrize(
    "line",
    [
        *("date: 2024-06-01", "created: 2024-06-01", "tags: [a]", "status: final", "uid: 7"),
        *("resources: [a]", "subtitle: b", "from: ann@example.org", "to: Bob", "author: me"),
        *("sources: [a]\nsource: b", "valid_until: 2024-06-01\nexpires: never", "x: {until: y}"),
    ],
)
def test_keys_of_others_are_left_alone(line: str) -> None:
    assert told({"a.md": f"---\n{line}\n---\n"}) == []


def test_a_memo_that_names_its_successor_is_told_unless_that_one_says_so_too() -> None:
    files = {"a.md": text(superseded_by="'[[b]]'"), "b.md": "x"}
    (finding,) = told(files)
    assert finding.message == (
        "the key 'superseded_by' is not read; supersedes is, in the memo that supersedes this one"
    )
    assert told({**files, "b.md": text(supersedes="a")}) == []
    both = {**files, "a.md": text(superseded_by="[b, c]"), "b.md": text(supersedes="a")}
    assert [f.rule for f in told(both)] == ["misspelt-key"]


@given(st.text(max_size=80), st.none() | st.text(max_size=20))
def test_what_is_meant_is_a_key_that_is_read_or_nothing(key: str, value: str | None) -> None:
    assert meant(key, value) in (None, *KEYS)
    assert meant(key, value) != key


@pytest.mark.parametrize(
    "body",
    [
        "title: x\nvalid_from: 2024-01-01\n---\nwords",
        "\r\nowner: me\r\nsupersedes:\r\n- a\r\n---\r\nwords",
        "\ufeffsuperseeds: a\n---\n",
    ],
)
def test_front_matter_that_is_not_opened_is_told(body: str) -> None:
    found = memo(body)
    assert rules(found) == ["unopened-front-matter"]
    assert found.usable


@pytest.mark.parametrize(
    "body",
    [
        *("Title: x\n---\n", "owner: me\n---\n", "title: x\n\n---\n", "words\ntitle: x\n---\n"),
        *("title: x\n", "title: x\nwords\n---\n", "---\na: b\n---\ntitle: x\n---\n"),
    ],
)
def test_a_heading_is_no_front_matter(body: str) -> None:
    assert rules(memo(body)) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("title: Backup: nightly", 'quote the value: title: "Backup: nightly"'),
        ("title: Backup: a \\ b # c", 'quote the value: title: "Backup: a \\\\ b"'),
        ("title: [WIP] plan", 'quote the value: title: "[WIP] plan"'),
        ("title: @ann", 'quote the value: title: "@ann"'),
        ("supersedes: [[a]], [[b]]", "write a list: supersedes: [a, b]"),
        (f"title: a: {'x' * 100}", "; quote the value"),
    ],
)
def test_a_line_that_is_no_yaml_is_told_how_to_be_written(line: str, said: str) -> None:
    (finding,) = memo(f"---\nid: x\n{line}\n---\n").findings
    assert finding.rule == "malformed-front-matter"
    assert finding.message.endswith(said)
    assert finding.span.line == 3


def test_several_names_in_one_text_are_told_to_be_a_list() -> None:
    files = {"b.md": "x", "c.md": "x"}
    (finding,) = told({**files, "a.md": text(supersedes="b.md, c.md")})
    assert (
        finding.message == "'b.md, c.md' names no memo here; if it is several, write a list: [b, c]"
    )
    (finding,) = told({**files, "a.md": text(supersedes="'[[b]], [[c]]'")})
    assert finding.message == "'[[b]], [[c]]' is not one name; write a list: [b, c]"
    assert told({"b, c.md": "x", "a.md": text(supersedes="'b, c.md'")}) == []


@pytest.mark.parametrize("time", ["2024-06-01T09:00:00Z", "2024-06-01 09:00"])
def test_a_time_is_told_to_be_a_day(time: str) -> None:
    (finding,) = memo(text(valid_from=time)).findings
    assert finding.message == f"valid_from is {time!r}; give a day, without a time: 2024-06-01"


def test_a_long_line_is_looked_at_in_one_go() -> None:
    for line in (f"title:{' ' * 50_000}x: y{' ' * 9_000}: z", f"supersedes: a: {',' * 50_000}"):
        assert rules(memo(f"---\n{line}\n---\n")) == ["malformed-front-matter"]
        assert "malformed-front-matter" not in rules(memo(f"{line}\n{line}"))
