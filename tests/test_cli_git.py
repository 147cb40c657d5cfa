"""The command that takes in the history of a file in Git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git_repositories import DAY, START, Repo
from tests.test_cli import answer, failed, ok, run

SAME = ("d.csv", "--key", "id")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"d.csv": b"id,a,since\n1,x,2020-01-01\n"}, START)
    made.commit({"d.csv": b"id,a,since\n1,y,2021-01-01\n"}, START + DAY)
    return made.done()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def value(ledger: Path, subject: str, predicate: str) -> str:
    return ok("value", ledger, subject, predicate, "--valid-at", "now")


def test_it_imports_and_goes_on(repo: Repo, ledger: Path) -> None:
    told = run("import-git", ledger, repo.folder, *SAME)
    assert (told.exit_code, told.stdout) == (0, "")
    assert told.stderr == (
        "d.csv: 2 commits, 2 with changes: 3 cells added, 2 corrected, 0 withdrawn\n"
    )
    assert value(ledger, "1", "a") == "y"
    report = answer("import-git", ledger, repo.folder, *SAME)
    assert (report["written"], report["resumed_from"]) == (0, repo.line()[-1])
    last = repo.line()[-1][:12]
    assert f"no commits after {last}" in run("import-git", ledger, repo.folder, *SAME).stderr


def test_broken_versions_are_data_and_exit_with_1(repo: Repo, ledger: Path) -> None:
    repo.commit({"d.csv": b"id,a,since\n1,y\n"}, START + 2 * DAY)
    repo.done()
    dry = run("import-git", ledger, repo.folder, *SAME, "--dry-run")
    assert dry.exit_code == 1
    assert "line 2: the row has 2 fields, and the header 3" in dry.stdout
    assert "nothing written" in dry.stderr
    assert not ledger.exists()
    assert run("import-git", ledger, repo.folder, *SAME).exit_code == 1
    assert run("import-git", ledger, repo.folder, *SAME, "--dry-run").exit_code == 0


def test_cells_that_are_kept_out_exit_with_1(repo: Repo, ledger: Path) -> None:
    ok("claim", ledger, "a", "b", "c", "--recorded-at", "2017-01-01")
    ok("reject", ledger, "y", "--reason", "no value", "--id", "no-y")
    told = run("import-git", ledger, repo.folder, *SAME)
    assert told.exit_code == 1
    assert "kept out by no-y" in told.stderr
    assert run("value", ledger, "1", "a", "--valid-at", "now").exit_code == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("d.csv", "--key", "ID"), "there is no column 'ID'"),
        (("e.csv", "--key", "id"), "did you mean d.csv?"),
        (("d.csv",), "which column names what a row is about"),
        ((*SAME, "--types", "guess"), "give one of text, infer"),
        ((*SAME, "--valid-from", "a"), "line 2: a is 'y'"),
        ((*SAME, "--ref", "nowhere"), "its branches are: main"),
    ],
)
def test_what_is_refused_makes_no_ledger(
    repo: Repo, ledger: Path, args: tuple[str, ...], words: str
) -> None:
    assert words in failed(2, "import-git", ledger, repo.folder, *args)
    assert not ledger.exists()


def test_a_rewritten_history_is_a_conflict_until_it_is_said_to_be_meant(
    repo: Repo, ledger: Path
) -> None:
    ok("import-git", ledger, repo.folder, *SAME)
    back = ("--ref", "main~1")
    told = failed(3, "import-git", ledger, repo.folder, *SAME, *back)
    assert "doxa: rewritten_history: commit" in told
    done = run("import-git", ledger, repo.folder, *SAME, *back, "--rewritten")
    assert "1 commit restamped" in done.stderr
    assert value(ledger, "1", "a") == "x"


def test_the_options_say_how_files_are_read(repo: Repo, ledger: Path) -> None:
    content = b"id;n;e;x;since;last\n1;7;;q;2020-01-01;2020-12-31\n"
    repo.commit({"t.txt": content}, START + 2 * DAY)
    repo.done()
    args = ["--key", "id", "--format", "csv", "--delimiter", ";", "--types", "infer"]
    args += ["--empty", "null", "--ignore", "x", "--prefix", "p:", "--name", "n"]
    args += ["--valid-from", "since", "--valid-until", "last", "--workspace", "w", "--no-follow"]
    ok("import-git", ledger, repo.folder, "t.txt", *args)
    view = ("view", ledger, "--workspace", "w", "--subject", "p:1", "--valid-at")
    rows = answer(*view, "2020-12-31")["claims"]
    assert {(row["predicate"], row["object"]) for row in rows} == {("id", 1), ("n", 7), ("e", None)}
    assert answer(*view, "2021-01-01")["claims"] == []


def test_records_are_taken_from_where_they_lie(repo: Repo, ledger: Path) -> None:
    repo.commit({"d.toml": b"[servers.a]\nip = '10.0.0.1'\n"}, START + 2 * DAY)
    repo.done()
    where = ("--records", "/servers", "--valid", "commit")
    ok("import-git", ledger, repo.folder, "d.toml", *where)
    assert value(ledger, "a", "ip") == "10.0.0.1"


def test_a_shallow_clone_begins_where_it_does_if_that_is_meant(
    repo: Repo, ledger: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.folder}", str(clone))
    assert "git fetch --unshallow" in failed(2, "import-git", ledger, clone, *SAME)
    ok("import-git", ledger, clone, *SAME, "--shallow")
    assert value(ledger, "1", "a") == "y"
