"""The command that carries an index in."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.graph_indexes import A0, story, written
from tests.test_cli import answer, failed, ok, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "novel" / "output", story())


def test_an_index_is_imported_and_told_as_tables(tmp_path: Path, folder: Path) -> None:
    ledger = tmp_path / "novel.doxa"
    shown = run("import-graphrag", ledger, folder)
    assert shown.exit_code == 0
    assert "bound to its whole community" not in shown.stdout
    assert [line.split()[1:] for line in shown.stdout.splitlines()[1:4]] == [
        ["claim", "12"],
        ["summary", "7"],
        ["support", "15"],
    ]
    assert "alice.txt" in shown.stdout
    assert shown.stderr.splitlines()[:-1] == [
        "novel: 34 events, 0 repeated, 0 withdrawn, 0 restored, 0 not repeated, 0 set aside"
    ]
    again = answer("import-graphrag", ledger, folder)
    assert (again["index"], again["events"], again["repeated"]) == ("novel", 0, 34)
    assert again["runs"][0]["rows"]["entities"] == 3


def test_rows_that_are_set_aside_are_listed_and_the_exit_code_says_so(
    tmp_path: Path, folder: Path
) -> None:
    rows = story(reports={0: "[Data: Entities (99)]"})
    rows["covariates"][0]["status"] = "vrai"
    rows["entities"][0]["title"] = " "
    written(folder, rows)
    shown = run("import-graphrag", tmp_path / "l", folder)
    assert shown.exit_code == 1
    assert "its status is 'vrai', which is no status that the vocabulary has" in shown.stdout
    assert "it has no title" in shown.stdout
    assert "cites a row that entities does not have" in shown.stdout
    assert "not all that it cites can be resolved" in shown.stdout
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"true": ["vrai"]}), "utf-8")
    options = ["--vocabulary", words]
    more = answer("import-graphrag", tmp_path / "l", folder, *options, code=1)
    assert [(one["table"], one["row"]) for one in more["set_aside"]] == [("entities", 0)]


def test_a_dry_run_makes_no_folder(tmp_path: Path, folder: Path) -> None:
    shown = run("import-graphrag", tmp_path / "l", folder, "--dry-run")
    assert "34 events to record" in shown.stderr
    assert not (tmp_path / "l").exists()
    ok("import-graphrag", tmp_path / "l", folder)
    assert answer("import-graphrag", tmp_path / "l", folder, "--dry-run")["events"] == 0


def test_options_reach_the_import(tmp_path: Path, folder: Path) -> None:
    options = [
        "--index",
        "i",
        "--workspace",
        "w",
        "--dates",
        "valid",
        "--recorded-at",
        "2026-01-01",
    ]
    done = answer("import-graphrag", tmp_path / "l", folder, *options)
    assert (done["index"], done["workspace"], done["dates"]) == ("i", "w", "valid")
    assert done["runs"][0]["recorded_at"] == "2026-01-01T00:00:00Z"
    other = written(tmp_path / "other", {"text_units": [{"id": "x", "text": "else"}]})
    said = failed(2, "import-graphrag", tmp_path / "l", other, "--index", "i", "--workspace", "w")
    assert "none of them is among the 1" in said
    options = ["--index", "i", "--workspace", "w", "--replace"]
    assert answer("import-graphrag", tmp_path / "l", other, *options)["withdrawn"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--dates", "maybe"], 2, "dates is 'maybe'"),
        (["--index", "a/b"], 2, "index is 'a/b'"),
        (["--recorded-at", "folder"], 2, "no folder of an update"),
        (["--recorded-at", "today"], 2, "recorded_at is 'today'"),
        (["--vocabulary", "nowhere.json"], 2, "no vocabulary can be read"),
    ],
)
def test_what_can_not_be_is_refused_before_there_is_a_ledger(
    tmp_path: Path, folder: Path, options: list[str], code: int, said: str
) -> None:
    assert said in failed(code, "import-graphrag", tmp_path / "l", folder, *options)
    assert not (tmp_path / "l").exists()


def test_what_is_no_index_or_no_vocabulary_is_refused(tmp_path: Path, folder: Path) -> None:
    assert "holds no index of graphrag" in failed(2, "import-graphrag", tmp_path / "l", tmp_path)
    words = tmp_path / "words.json"
    for text in ("[1]", "{", '{"true": "yes"}', "[" * 100_000):
        words.write_text(text, "utf-8")
        failed(2, "import-graphrag", tmp_path / "l", folder, "--vocabulary", words)
    assert not (tmp_path / "l").exists()


def test_a_time_that_steps_back_is_a_conflict(tmp_path: Path, folder: Path) -> None:
    ok("import-graphrag", tmp_path / "l", folder)
    written(folder, story(entities=[("NEW", None, "", [A0])], relationships=[], communities={}))
    failed(3, "import-graphrag", tmp_path / "l", folder, "--recorded-at", "2001-01-01")


def test_the_command_that_withdraws_a_document_is_told_and_what_fell_is_listed(
    tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "a ledger"
    told = run("import-graphrag", path, folder, "--workspace", "w")
    line = shlex.split(told.stderr.splitlines()[-1].partition(": ")[2])
    assert line[:3] == ["doxa", "withdraw", str(path)]
    assert line[4:] == ["--whole-source", "--workspace", "w"]
    title = told.stderr.splitlines()[-1].split("'")[1]
    hint = failed(2, "withdraw", path, title, "--workspace", "w")
    assert shlex.split(hint.partition("? ")[2]) == line
    ok(*line[1:], "--id", "gone")
    report = "graphrag/novel/report/"
    asked = ("reconcile", path, "--valid-at", "now", "--workspace", "w")
    shown = run(*asked, "--prefix", report)
    assert shown.exit_code == 1
    (fallen,) = shown.stdout.splitlines()[1:]
    assert "withdrawal gone" in fallen
    assert fallen.split()[2].startswith(report)
    assert len(run(*asked).stdout.splitlines()) > 2
    nothing = run(*asked, "--prefix", "nothing")
    assert (nothing.exit_code, nothing.stderr) == (0, "0 unchanged\n")
    again = run("import-graphrag", path, folder, "--dry-run", "--workspace", "w")
    assert "to withdraw" not in again.stderr
