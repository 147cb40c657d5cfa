"""What is found in a folder of memos, where, and in the form that code hosts take."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.markdown import lint, sentences
from doxa.adapters.markdown.corpus import Meaning
from doxa.adapters.markdown.findings import RULES, Places
from doxa.adapters.markdown.linting import findings_of
from doxa.adapters.markdown.rings import rings
from doxa.adapters.markdown.versions import version_of
from tests.memos import corpus, text, write

EDGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14)


def found(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in findings_of(corpus(files))]


def test_names_that_mean_nothing_or_too_much_are_errors_at_their_place(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        {
            "a.md": "---\ntitle: t\nsupersedes: [gone, a, plan, b]\n---\n",
            "b.md": text(supersedes="c"),
            "c.md": text(supersedes="b"),
            "x/plan.md": "1",
            "y/plan.md": "2",
        },
    )
    report = lint(folder)
    assert [(f.rule, f.path, f.span) for f in report.findings] == [
        ("dangling-reference", "a.md", (3, 14, 3, 18)),
        ("self-reference", "a.md", (3, 20, 3, 21)),
        ("ambiguous-reference", "a.md", (3, 23, 3, 27)),
        ("cycle", "b.md", (2, 13, 2, 14)),
        ("cycle", "c.md", (2, 13, 2, 14)),
    ]
    assert "x/plan.md, y/plan.md" in report.findings[2].message
    assert (len(report.errors), len(report.warnings), report.memos) == (5, 0, 5)
    assert report.as_dict()["findings"][0] == {
        "rule": "dangling-reference",
        "level": "error",
        "path": "a.md",
        "line": 3,
        "column": 14,
        "end_line": 3,
        "end_column": 18,
        "message": "'gone' names no memo here",
    }


def test_a_dangling_name_gets_a_hint() -> None:
    files = {"a.md": text(supersedes="[plan, P-7]"), "Plan.md": "x", "seven.md": text(id="P-7")}
    first, second = findings_of(corpus(files))
    assert "'Plan' is spelled otherwise" in first.message
    assert "the id of seven.md" in second.message


@given(EDGES)
def test_the_rule_of_rings_is_that_of_a_naive_search(edges: list[tuple[str, str]]) -> None:
    def way(start: str, end: str) -> bool:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            place = waiting.pop()
            for one, other in edges:
                if one == place and other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return end in seen

    ringed = rings(edges)
    for one, other in edges:
        same = one in ringed and ringed.get(other) == ringed[one]
        assert same == way(other, one), (one, other)


@given(EDGES)
def test_an_edge_of_a_ring_is_unresolved_with_all_its_others(edges: list[tuple[str, str]]) -> None:
    named: dict[str, list[str]] = {}
    for one, other in edges:
        named.setdefault(one, []).append(other)
    files = {
        f"{name}.md": text(supersedes=f"[{', '.join(named[name])}]") if name in named else "x"
        for name in "abcdef"
    }
    ringed = rings(edge for edge in edges if edge[0] != edge[1])
    for edge in corpus(files).edges:
        one, other = edge.memo.stem, edge.reference.stem
        if one == other:
            assert edge.meaning is Meaning.SELF
        else:
            round_ = one in ringed and ringed.get(other) == ringed[one]
            assert edge.meaning is (Meaning.CYCLE if round_ else Meaning.RESOLVED)


def test_a_long_ring_is_found_without_recursion() -> None:
    names = [str(number) for number in range(20_000)]
    ringed = rings(itertools.pairwise([*names, "0"]))
    assert len(set(ringed.values())) == 1
    assert len(ringed) == 20_000


@pytest.mark.parametrize(
    ("stem", "version"),
    [
        ("plan-v2", ("plan", (2,))),
        ("Plan V10", ("plan", (10,))),
        ("plan_rev3", ("plan", (3,))),
        ("plan (version 2.1)", ("plan", (2, 1))),
        ("plan", ("plan", ())),
        ("cv2", ("cv2", ())),
        ("v2", ("v2", ())),
        ("2024-01-01", ("2024-01-01", ())),
        ("plan-2", ("plan-2", ())),
    ],
)
def test_versions_are_told_by_their_names(stem: str, version: Any) -> None:
    assert version_of(stem) == version


def test_versions_that_are_not_linked_are_warned_of() -> None:
    files = {"plan.md": "0", "plan-v2.md": "2", "plan-v10.md": text(supersedes="plan-v2")}
    assert found(files) == [("unlinked-version", "plan-v2.md")]
    assert found({**files, "plan-v2.md": text(supersedes="[[plan]]")}) == []
    assert found({"plan-v1.md": "1", "x/plan-v2.md": "2", "y/plan-v2.md": "2"}) == []


def test_an_empty_list_says_that_a_later_version_supersedes_nothing() -> None:
    files = {"plan-v1.md": "1", "fees-2023.md": text(valid_from="2023-01-01")}
    for later, silent in (("[]", True), ("\n  []", True), ("", False), ("~", False), ("''", False)):
        later_ones = {
            "plan-v2.md": text(supersedes=later),
            "fees-2024.md": text(valid_from="2024-01-01", supersedes=later),
        }
        told = [each for each in found({**files, **later_ones}) if each[0] == "unlinked-version"]
        assert (told == []) is silent, later
    both = {"plan-v1.md": text(supersedes="[]"), "plan-v2.md": "2"}
    assert found(both) == [("unlinked-version", "plan-v2.md")], "the later one is to say it"
    said = {"old.md": "x", "a.md": text("This memo supersedes [[old]].", supersedes="[]")}
    assert found(said) == [("closure-words", "a.md")]


def test_a_folder_without_memos_is_warned_of(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "x", ".hidden.md": "x"})
    (finding,) = lint(tmp_path).findings
    assert (finding.rule, finding.level, finding.path) == ("no-memos", "warning", ".")
    (result,) = lint(tmp_path).sarif()["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_memos_of_years_are_versions_where_both_apply_at_once() -> None:
    former, later = text(valid_from="2023-01-01"), text(valid_from="2024-01-01")
    assert found({"fees-2023.md": former, "fees-2024.md": later}) == [
        ("unlinked-version", "fees-2024.md")
    ]
    assert found({"2023 Fees.md": former, "2024 Fees.md": later}) == [
        ("unlinked-version", "2024 Fees.md")
    ]
    ended = text(valid_from="2023-01-01", valid_until="2023-12-31")
    for files in (
        {"fees-2023.md": ended, "fees-2024.md": later},
        {"fees-2023.md": "no day", "fees-2024.md": later},
        {"2023-01-08.md": former, "2024-01-08.md": later},
        {"fees-2023.md": former, "x/fees-2024.md": later, "y/fees-2024.md": later},
        {
            "fees-2023.md": former,
            "fees-2024.md": text(valid_from="2024-01-01", supersedes="fees-2023"),
        },
    ):
        assert found(files) == []


def test_a_name_in_a_link_with_full_stops_is_one() -> None:
    files = {"0002-use-rest.md": "x", "Dr. No.md": "y"}
    body = "# 9. Use RPC\n\nSupersedes [2. Use REST](0002-use-rest.md). [[Dr. No]] is obsolete."
    assert found({**files, "a.md": body}) == [("closure-words", "a.md")] * 2


def test_what_hostile_text_costs_grows_with_its_length_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[int] = []
    real = sentences._parser

    def parser() -> Any:
        made = real()
        inline = made.inline.parse

        def counted(text: str, *rest: Any) -> Any:
            parsed.append(len(text))
            return inline(text, *rest)

        monkeypatch.setattr(made.inline, "parse", counted)
        return made

    monkeypatch.setattr(sentences, "_parser", parser)
    for piece in ("[", "![", "*a ", "_a_", "`"):
        one = piece * 200_000
        many = "\n\n".join(piece * 900 for _ in range(300))
        for body in (one, many):
            parsed.clear()
            memo = f"This memo supersedes [[old]].\n\n{body}"
            assert found({"old.md": "x", "a.md": memo}) == [("closure-words", "a.md")]
            assert sum(parsed) < 100_000


def test_a_long_word_is_read_in_one_go() -> None:
    body = f"This memo supersedes [[old]].\n\n{'_n' * 400_000}"
    assert found({"old.md": "x", "a.md": body}) == [("closure-words", "a.md")]


def test_many_names_that_dangle_or_are_taken_twice_are_told_in_one_pass() -> None:
    names = ", ".join(f"gone{number}" for number in range(4000))
    memos = {f"m{number}.md": text(id="'same'") for number in range(4000)}
    told = found({**memos, "a.md": text("x" * 500_000, supersedes=f"[{names}]")})
    assert Counter(rule for rule, _ in told) == {"dangling-reference": 4000, "duplicate-id": 4000}


@pytest.mark.parametrize(
    "body",
    [
        "This memo supersedes [[old]].",
        "Ann said it replaces [[old]].",
        "We may one day supersede old-plan.",
        "- [[old|The old one]] is no longer valid",
        "It is superseded by [the old one](x/old.md).",
        "# Obsoletes [[old]]",
        "This memo supersedes everything before it.",
    ],
)
def test_words_that_close_a_memo_without_an_entry_are_warned_of(body: str) -> None:
    files = {"a.md": body, "old.md": "x", "old-plan.md": "x"}
    assert found(files) == [("closure-words", "a.md")]


@pytest.mark.parametrize(
    "body",
    [
        "> This memo supersedes [[old]].",
        "```\nThis memo supersedes [[old]].\n```",
        "    This memo supersedes [[old]].",
        "<!-- This memo supersedes [[old]]. -->",
        "The battery replaces itself.",
        "See [[old]].",
        "It is obsolete.",
        "This memo supersedes\n\n[[linked]].",
    ],
)
def test_quotes_code_comments_and_other_words_are_not(body: str) -> None:
    files = {"a.md": text(body, supersedes="linked"), "old.md": "x", "linked.md": "y"}
    assert found(files) == []


def test_an_entry_in_either_direction_settles_the_words() -> None:
    files = {"a.md": text("Superseded by [[b]].\r\n"), "b.md": text("Supersedes [[a]].")}
    assert found(files) == [("closure-words", "a.md"), ("closure-words", "b.md")]
    assert found({**files, "b.md": text("Supersedes [[a]].", supersedes="a")}) == []


def test_a_warning_names_the_lines_of_the_sentence() -> None:
    body = "one\r\n\r\ntwo. This memo\r\nsupersedes [[old]]. three"
    (finding,) = findings_of(corpus({"a.md": text(body, title="t"), "old.md": "x"}))
    assert (finding.span.line, finding.span.end_line) == (6, 7)


@given(st.text(st.sampled_from("ab\r\n\u2028\u00e9\U0001f600"), max_size=30), st.booleans())
def test_every_place_has_a_line_and_a_column(words: str, mark: bool) -> None:
    whole = "\ufeff" * mark + words
    places = Places(whole)
    lines = re.split(r"\r\n|\n|\r", words)
    for index in range(mark, len(whole)):
        line, column = places.at(index)
        if whole[index] not in "\r\n":
            assert lines[line - 1][column - 1] == whole[index]
    assert places.lines(1, len(lines)).end_column == len(lines[-1]) + 1


# ---------------------------------------------------------------- SARIF


@pytest.fixture
def sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "my notes",
        {
            "a%b \u00e4.md": text("Supersedes [[old]].", supersedes="[gone, gone2]"),
            "old.md": b"x",
            "bad.md": b"\xff",
            "date.md": text(valid_from="soon"),
        },
    )
    return json.loads(json.dumps(lint("my notes").sarif()))


def test_a_sarif_log_is_what_the_standard_demands(sarif: Any, tmp_path: Path) -> None:
    assert sarif["version"] == "2.1.0"
    assert sarif["$schema"].endswith("sarif-2.1.0.json")
    (run,) = sarif["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("doxa", doxa.__version__)
    rules = driver["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert rule["shortDescription"]["text"].endswith(".")
        assert rule["help"]["text"]
        assert re.fullmatch("[A-Z][A-Za-z]+", rule["name"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9%/._~-]+", uri), "a relative reference"
        assert (tmp_path / unquote(uri)).exists()
        region = place["region"]
        assert all(value >= 1 for value in region.values())
        start = region["startLine"], region["startColumn"]
        assert start <= (region["endLine"], region["endColumn"])
        (print_,) = result["partialFingerprints"].values()
        assert re.fullmatch("[0-9a-f]{64}", print_)


def prints(log: Any) -> list[str]:
    return [
        print_
        for result in log["runs"][0]["results"]
        for print_ in result["partialFingerprints"].values()
    ]


def test_fingerprints_tell_findings_apart_and_stay_as_lines_move(
    sarif: Any, tmp_path: Path
) -> None:
    assert len(set(prints(sarif))) == 5
    path = tmp_path / "my notes" / "a%b \u00e4.md"
    path.write_text(
        path.read_text("utf-8").replace("---\nS", "title: t\n---\n\nmore\n\nS"), "utf-8"
    )
    assert sorted(prints(lint("my notes").sarif())) == sorted(prints(sarif))


def test_a_folder_elsewhere_has_file_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "n", {"a.md": text(supersedes="gone")})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (result,) = lint(folder).sarif()["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (folder / "a.md").as_uri()


def test_a_folder_is_found_from_the_root_though_it_is_named_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "repo" / "n", {"a.md": text(supersedes="gone")})
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    (result,) = lint(tmp_path / "link" / "n").sarif()["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "n/a.md"
