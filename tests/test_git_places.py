"""Repositories and paths as they come: bare, shallow, partial, empty; links and submodules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters import extras
from doxa.adapters.git import GitImport, import_git
from doxa.engine.errors import CallerError
from tests.git_repositories import DAY, FAR, START, Repo, told

OLD, NEW = b"id,a\n1,x\n", b"id,a\n1,y\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"data/d.csv": OLD}, START)
    made.commit({"data/d.csv": NEW}, START + DAY)
    return made.done()


def take(
    place: Path | str, path: str = "data/d.csv", **more: Any
) -> tuple[GitImport, dict[str, Any]]:
    with doxa.open() as ledger:
        report = import_git(ledger, place, path, key="id", **more)
        return report, told(ledger.view(valid_at=FAR))


def refused(place: Path | str, path: str = "data/d.csv", **more: Any) -> str:
    with doxa.open() as ledger:
        with pytest.raises(CallerError) as raised:
            import_git(ledger, place, path, key="id", **more)
        assert ledger.revision == 0
    return str(raised.value)


def test_bare_repositories_worktrees_and_detached_heads_are_as_good(
    repo: Repo, tmp_path: Path
) -> None:
    repo.git("clone", "--quiet", "--bare", str(repo.folder), str(tmp_path / "bare.git"))
    assert take(tmp_path / "bare.git")[1]["1"]["a"] == "y"
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "main~1")
    assert take(tmp_path / "tree")[1]["1"]["a"] == "x"
    repo.git(
        "-c", "user.name=A", "-c", "user.email=a@x", "tag", "-a", "v1", "-m", "a tag", "main~1"
    )
    for ref in ("v1", "main~1", repo.line()[0]):
        assert take(repo.folder, ref=ref)[1]["1"]["a"] == "x"


def test_what_lies_in_the_working_tree_is_not_looked_at(repo: Repo) -> None:
    (repo.folder / "data").mkdir()
    (repo.folder / "data" / "d.csv").write_text("id,a\n1,dirty\n")
    assert take(repo.folder)[1]["1"]["a"] == "y"


def test_of_a_shallow_clone_is_said_what_is_missing(repo: Repo, tmp_path: Path) -> None:
    shallow, url = tmp_path / "shallow", f"file://{repo.folder}"
    repo.git("clone", "--quiet", "--depth", "1", url, str(shallow))
    first, second = repo.line()
    assert f"what came before commit {second[:12]} is not in it" in refused(shallow)
    report, rows = take(shallow, shallow=True)
    assert (report.seen, rows["1"]["a"]) == (1, "y")
    with doxa.open() as ledger:
        import_git(ledger, repo.folder, "data/d.csv", key="id", ref=first)
        with pytest.raises(CallerError, match=f"does not reach back to commit {first[:12]}"):
            import_git(ledger, shallow, "data/d.csv", key="id")
        repo.git("fetch", "--quiet", "--unshallow", at=shallow)
        assert import_git(ledger, shallow, "data/d.csv", key="id").corrected == 1


def test_a_shallow_clone_that_reaches_back_far_enough_goes_on(repo: Repo, tmp_path: Path) -> None:
    with doxa.open() as ledger:
        import_git(ledger, repo.folder, "data/d.csv", key="id")
        repo.commit({"data/d.csv": OLD}, START + 2 * DAY)
        repo.done()
        shallow = tmp_path / "shallow"
        repo.git("clone", "--quiet", "--depth", "2", f"file://{repo.folder}", str(shallow))
        assert import_git(ledger, shallow, "data/d.csv", key="id").corrected == 1


@pytest.mark.parametrize(("kept", "what"), [("blob:none", "version"), ("tree:0", "folder")])
def test_of_a_partial_clone_is_said_what_is_missing(
    repo: Repo, tmp_path: Path, kept: str, what: str
) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    repo.git(
        *("clone", "--quiet", "--no-checkout", f"--filter={kept}"),
        f"file://{repo.folder}",
        str(partial),
    )
    told_of = refused(partial)
    assert what in told_of
    assert "git fetch --refetch --no-filter" in told_of
    repo.git("fetch", "--quiet", "--refetch", "--no-filter", at=partial)
    assert take(partial)[1]["1"]["a"] == "y"


def test_an_object_that_is_damaged_is_no_version(repo: Repo) -> None:
    id = repo.git("rev-parse", "main:data/d.csv").strip()
    inside = repo.folder / ".git" / "objects"
    for pack in [*inside.glob("pack/*.pack")]:  # made loose, so that one can be taken out
        content = pack.read_bytes()
        shutil.rmtree(pack.parent)
        repo.git("unpack-objects", "-q", given=content)
    loose = inside / id[:2] / id[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"not an object")
    assert "can't be read" in refused(repo.folder)
    loose.unlink()
    assert f"version {id}, is not in" in refused(repo.folder)


def test_repositories_with_other_ids_are_refused_with_a_way_out(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r", "--object-format=sha256")
    made.commit({"data/d.csv": OLD}, START)
    made.done()
    assert "SHA-256 object ids" in refused(made.folder)
    plain = Repo(tmp_path / "plain")
    plain.git("fast-import", "--quiet", given=made.git("fast-export", "--all").encode())
    assert take(plain.folder)[1]["1"]["a"] == "x"


def test_what_is_no_repository_is_refused(repo: Repo, tmp_path: Path) -> None:
    assert "is no Git repository" in refused(tmp_path / "nowhere")
    assert "is no Git repository" in refused(repo.folder / "data")
    assert "clone it first" in refused("https://example.org/cities.git")
    empty = Repo(tmp_path / "empty")
    assert "has no commits yet" in refused(empty.folder)
    assert "its branches are: main" in refused(repo.folder, ref="nowhere")
    assert "names no commit" in refused(repo.folder, ref="HEAD^{tree}")
    assert "names no commit" in refused(repo.folder, ref="--upload-pack=x")


def test_a_path_that_never_was_is_refused_with_one_that_is_near(repo: Repo) -> None:
    assert "did you mean data/d.csv?" in refused(repo.folder, "data/e.csv")
    assert "did you mean data/d.csv?" in refused(repo.folder, "D.CSV")
    told = refused(repo.folder, "something/quite/unlike.json")
    assert "there is no file 'something/quite/unlike.json' in " in told
    assert "the last commit has " in told
    made = Repo(repo.folder.parent / "deep")
    made.commit({"d.csv/x.csv": OLD}, START)
    assert "is a folder" in refused(made.done().folder, "d.csv")
    assert take(made.folder, "./d.csv//x.csv")[1]["1"]["a"] == "x"


@pytest.mark.parametrize(
    ("mode", "content", "what"),
    [("120000", b"/etc/passwd", "symbolic link"), ("160000", b"1" * 40, "submodule")],
)
def test_links_and_submodules_are_not_followed(
    repo: Repo, mode: str, content: bytes, what: str
) -> None:
    repo.commit({"data/d.csv": content}, START + 2 * DAY, modes={"data/d.csv": mode})
    report, rows = take(repo.done().folder)
    assert [each.reason for each in report.set_aside] == [f"it is a {what}, which is not followed"]
    assert rows["1"]["a"] == "y"


def test_where_a_folder_takes_its_place_a_file_is_gone(repo: Repo) -> None:
    repo.commit({"data/d.csv/readme": b"something else"}, START + 2 * DAY)
    repo.commit({"data": b"a file where the folder was"}, START + 3 * DAY)
    report, rows = take(repo.done().folder)
    assert (report.withdrawn, rows) == (2, {})
    repo.commit({"data/d.csv": OLD}, START + 4 * DAY)
    report, rows = take(repo.done().folder)
    assert (report.withdrawn, report.set_aside, rows["1"]["a"]) == (2, (), "x")


def test_without_the_library_the_extra_is_named(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pygit2", None)
    with doxa.open() as ledger, pytest.raises(extras.MissingExtra, match=r"doxa\[git\]"):
        import_git(ledger, repo.folder, "data/d.csv", key="id")


def test_nothing_of_a_repository_is_run_or_changed(repo: Repo, tmp_path: Path) -> None:
    hooks = repo.folder / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    trap = tmp_path / "trap"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)
    repo.git("config", "core.fsmonitor", f"touch {trap}")
    repo.git("config", "diff.external", f"touch {trap}")
    before = {p: p.stat().st_mtime_ns for p in repo.folder.rglob("*") if p.is_file()}
    take(repo.folder)
    assert not trap.exists()
    assert {p: p.stat().st_mtime_ns for p in repo.folder.rglob("*") if p.is_file()} == before
