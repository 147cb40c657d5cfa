"""The commands for folders of memos."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.memos import text, write
from tests.test_cli import answer, failed, ok, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "notes",
        {"new.md": text("New words.", supersedes="old"), "old.md": "Old words.\n"},
    )


def test_an_import_is_told_as_a_table_and_as_json(tmp_path: Path, folder: Path) -> None:
    ledger = tmp_path / "l"
    dry = answer("import-markdown", ledger, folder, "--dry-run")
    assert (len(dry["changes"]), dry["dry_run"], ledger.exists()) == (2, True, False)
    shown = run("import-markdown", ledger, folder)
    assert [row.split() for row in shown.stdout.splitlines()] == [
        ["turn", "memo", "path", "claim", "was"],
        ["added", "new", "new.md", "notes:new@1"],
        ["added", "old", "old.md", "notes:old@1"],
    ]
    assert shown.stderr.splitlines() == [
        "new.md: supersedes old: resolved (notes:old@1)",
        "notes: 0 kept, 2 changed, 0 set aside; 3 events",
    ]
    assert ok("standing", ledger, "notes:old@1", "--valid-at", "now") == "superseded"
    write(folder, {"new.md": text("Newer words.", supersedes="old")})
    told = run("import-markdown", ledger, folder, "--dry-run")
    assert "nothing written" in told.stderr
    assert answer("import-markdown", ledger, folder)["changes"][0]["turn"] == "changed"
    assert answer("import-markdown", ledger, folder)["unchanged"] is True


def test_what_is_set_aside_is_told_and_ends_with_1(tmp_path: Path, folder: Path) -> None:
    write(folder, {"bad.md": b"\xff", "third.md": text(supersedes="bad")})
    shown = run("import-markdown", tmp_path / "l", folder)
    assert shown.exit_code == 1
    assert "set aside: bad.md: not UTF-8" in shown.stderr
    assert "third.md: supersedes bad: dangling" in shown.stderr


def test_an_import_takes_its_options(tmp_path: Path, folder: Path) -> None:
    ledger = tmp_path / "l"
    given = ("--corpus", "c", "--workspace", "w", "--assume-from", "2020-01-01")
    assert answer("import-markdown", ledger, folder, *given)["changes"][0]["claim"] == "c:new@1"
    at = ("--valid-at", "2019-12-31", "--workspace", "w")
    assert ok("standing", ledger, "c:new@1", *at) == "not_yet_valid"
    for path in folder.iterdir():
        path.unlink()
    assert "allow_empty" in failed(2, "import-markdown", ledger, folder, *given)
    gone = answer("import-markdown", ledger, folder, *given, "--allow-empty")
    assert [change["turn"] for change in gone["changes"]] == ["withdrawn", "withdrawn"]
    failed(2, "import-markdown", tmp_path / "other", tmp_path / "nowhere")
    assert not (tmp_path / "other").exists()


def test_lint_ends_with_1_on_errors_and_with_strict_on_warnings(folder: Path) -> None:
    assert run("lint", folder).exit_code == 0
    write(folder, {"plan-v1.md": "1", "plan-v2.md": "2"})
    shown = run("lint", folder)
    assert (shown.exit_code, run("lint", folder, "--strict").exit_code) == (0, 1)
    assert shown.stdout == (
        "plan-v2.md:1:1: warning: 'plan-v2' does not supersede 'plan-v1' (plan-v1.md) "
        "[unlinked-version]\n"
    )
    assert shown.stderr == "4 memos: no errors, 1 warning\n"
    write(folder, {"old.md": text(supersedes="gone")})
    shown = run("lint", folder, "--json")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["errors"] == 1
    failed(2, "lint", folder / "nowhere")


def test_a_folder_without_memos_is_told_and_makes_no_ledger(tmp_path: Path) -> None:
    empty, ledger = tmp_path / "wrong", tmp_path / "l"
    empty.mkdir()
    assert (run("lint", empty).exit_code, run("lint", empty, "--strict").exit_code) == (0, 1)
    assert "no memos" in run("lint", empty).stdout
    for more in ((), ("--dry-run",)):
        said = failed(2, "import-markdown", ledger, empty, *more)
        assert f"there are no memos in '{empty}'" in said
    assert not ledger.exists()


def test_a_copy_of_a_folder_is_refused_and_told_how_to_go_on(tmp_path: Path, folder: Path) -> None:
    ledger, copy = tmp_path / "l", tmp_path / "notes two"
    run("import-markdown", ledger, folder)
    shutil.copytree(folder, copy)
    said = failed(2, "import-markdown", ledger, copy)
    assert "the corpus 'notes' has 2 of the 2 memos" in said
    assert "--corpus notes (" in said
    assert "--corpus 'notes two'" in said
    assert answer("import-markdown", ledger, copy, "--corpus", "notes")["unchanged"] is True
    assert len(answer("import-markdown", ledger, copy, "--corpus", "notes two")["changes"]) == 2
    assert answer("import-markdown", ledger, copy)["unchanged"] is True


def test_an_import_ends_with_what_lint_has_to_say(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "my notes",
        {"a.md": "x", "b.md": text(superseeds="a"), "c.md": text(supersedes="gone")},
    )
    shown = run("import-markdown", tmp_path / "l", folder)
    assert shown.exit_code == 0
    *_, first, summary, last = shown.stderr.splitlines()
    assert first == "b.md: the key 'superseeds' is not read; supersedes is"
    assert summary.startswith("my notes: 0 kept, 3 changed")
    assert last == f"2 findings (1 error, 1 warning): doxa lint '{folder}'"
    found = answer("import-markdown", tmp_path / "l", folder)
    assert found["findings"] == answer_lint(folder)
    assert found["notes"] == ["b.md: the key 'superseeds' is not read; supersedes is"]


def answer_lint(folder: Path) -> object:
    return json.loads(run("lint", folder, "--json").stdout)["findings"]


def test_lint_writes_sarif_into_a_file_or_on_stdout(tmp_path: Path, folder: Path) -> None:
    write(folder, {"old.md": text(supersedes="gone")})
    shown = run("lint", folder, "--sarif", "-")
    assert shown.exit_code == 1
    log = json.loads(shown.stdout)
    assert log["runs"][0]["results"][0]["ruleId"] == "dangling-reference"
    both = run("lint", folder, "--sarif", tmp_path / "out.sarif")
    assert "dangling-reference" in both.stdout
    assert json.loads((tmp_path / "out.sarif").read_text("utf-8")) == log
    assert run("lint", folder, "--sarif", "-", "--json").exit_code == 2
    assert "can't be written" in failed(2, "lint", folder, "--sarif", tmp_path / "no" / "x")


def test_fix_shows_a_diff_first_and_writes_when_told(folder: Path) -> None:
    write(
        folder, {"a.md": "This memo supersedes [[old]].\n", "b.md": "It may supersede [[old]].\n"}
    )
    shown = run("fix", folder)
    assert shown.exit_code == 1
    assert shown.stdout.splitlines() == [
        *("--- a/a.md", "+++ b/a.md", "@@ -1 +1,4 @@"),
        *("+---", '+supersedes: "[[old]]"', "+---", " This memo supersedes [[old]]."),
    ]
    assert shown.stderr.splitlines() == [
        "not proved: b.md:1: It may supersede [[old]].: it is not one of the sentences that prove "
        "one",
        "1 entry in 1 file",
    ]
    written = run("fix", folder, "--write")
    assert (written.exit_code, written.stderr.splitlines()[-1]) == (0, "1 entry in 1 file, written")
    assert answer("fix", folder)["added"] == []
    assert run("fix", folder).stderr.splitlines()[-1] == "nothing to add"


def test_check_offers_candidates_and_ends_with_1(folder: Path) -> None:
    draft = write(folder.parent, {"draft.md": "See [[old]]."}) / "draft.md"
    shown = run("check", folder, draft)
    assert shown.exit_code == 1
    assert shown.stdout.splitlines()[1].split() == ["old.md", "old", "mentioned", "new.md"]
    assert shown.stderr.splitlines() == ["draft.md: 1 candidate"]
    settled = run("check", folder, folder / "new.md")
    assert (settled.exit_code, settled.stderr) == (0, "new.md: no candidates; it supersedes old\n")
    assert "no file" in failed(2, "check", folder, folder / "nowhere.md")


def test_check_reads_a_draft_from_stdin(folder: Path) -> None:
    shown = run("check", folder, "-", "--path", "old-v2.md", "--json", stdin="This is old-v2.")
    assert shown.exit_code == 1
    (offer,) = json.loads(shown.stdout)["candidates"]
    assert (offer["path"], offer["reasons"]) == ("old.md", ["other_version"])


def test_nothing_in_a_memo_steers_the_terminal(folder: Path) -> None:
    write(
        folder,
        {"x.md": "This \x1b[31mmemo supersedes [[old]].", "y.md": text(supersedes='"\\e[1m"')},
    )
    shown = run("lint", folder, "--json")
    assert "\x1b" not in shown.stdout
    assert json.loads(shown.stdout)["errors"] == 1
