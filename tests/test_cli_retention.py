"""Records are put away, brought back and looked after from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from tests.test_cli import answer, failed, ok, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with three claims, in two workspaces."""
    with doxa.open(tmp_path / "l") as ledger:
        for id, place in (("a", ""), ("b", ""), ("a", "w")):
            ledger.claim("it", "is", "red", id=id, workspace=place, source="s")
    return tmp_path / "l"


def test_records_are_archived_and_restored(path: Path) -> None:
    result = run("archive", path, "a", "b", "--reason", "noise")
    assert result.exit_code == 0
    assert result.stdout.split() == ["a", "b"]
    assert result.stderr.startswith("2 records archived\nunder: policy-")
    assert "noise" in ok("why", path, "a", "--valid-at", "now")
    assert run("recall", path, "red", "--valid-at", "now").exit_code == 1
    found = answer("recall", path, "red", "--valid-at", "now", "--archived")
    assert [hit["id"] for hit in found["hits"]] == ["a", "b"]
    told = answer("restore", path, "a")
    assert [one["id"] for one in told["records"]] == ["a"]
    assert not told["dry_run"]
    assert run("restore", path, "a").stderr == "no records restored\n"


def test_use_is_noted_on_request_and_brings_back(path: Path) -> None:
    ok("archive", path, "a")
    ask = ("recall", path, "red", "--valid-at", "now", "--archived")
    ok(*ask)
    ok(*ask, "--reinforce", "--skip-side-effects")
    assert not (path / "usage.sqlite").exists()
    ok(*ask, "--reinforce")
    told = answer("usage", path, "a", "b")
    assert [(one["id"], one["uses"], one["archived"]) for one in told] == [
        ("a", 1, False),
        ("b", 1, False),
    ]
    ok("assemble", path, "red", "--valid-at", "now", "--reinforce")
    assert answer("usage", path, "a")[0]["uses"] == 2
    assert "buffer" in ok("usage", path, "a")
    assert run("recall", path, "red", "--valid-at", "now", "--layer", "core").exit_code == 1


def test_what_faded_is_archived_as_of_any_time(path: Path) -> None:
    dry = run("decay", path, "--now", "2100-01-01", "--dry-run")
    assert dry.stdout.splitlines() == ["a", "b", "w: a"]
    assert dry.stderr == "3 records would be archived\n"
    ok("score", path, "b", "0.5", "--reason", "wanted")
    result = run("decay", path, "--now", "2100-01-01", "--limit", "1")
    assert result.stdout == "a\n"
    assert "kept: 1 important" in result.stderr
    assert "1 record still due: run it again" in result.stderr
    assert answer("decay", path, "--workspace", "w", "--now", "2100-01-01")["left"] == 0
    assert answer("stats", path)["archived"] == {"claims": 2, "artefacts": 0}


def test_maintenance_and_pruning_from_the_command_line(path: Path) -> None:
    ok("expire", path, "a", "2024-01-01")
    ok("decays", path, "fact", "0.5")
    told = answer("maintain", path, "--dry-run", "--now", "now")
    assert [one["id"] for one in told["expired"]["records"]] == ["a"]
    result = run("maintain", path)
    assert "expired archived  1" in result.stdout
    assert ok("prune", path, "--older-than", "0", "--workspace", "", "--now", "2100-01-01") == "b"
    assert answer("prune", path, "--kind", "note", "--decay-below", "0.5")["records"] == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["prune"], "needs a filter"),
        (["prune", "--older-than", "-1"], "older_than is -1"),
        (["decay", "--limit", "0"], "limit is 0"),
        (["archive", "nobody"], "'nobody' is not in the shared workspace"),
        (["score", "a", "2"], "importance"),
        (["expire", "a", "soon"], "soon"),
        (["decays", "fact", "0"], "days"),
    ],
)
def test_mistakes_are_the_callers(path: Path, args: list[str], told: str) -> None:
    command, *rest = args
    assert told in failed(2, command, path, *rest)


def test_what_is_pinned_is_not_archived(path: Path) -> None:
    ok("policy", path, "--pinned", "a")
    assert "is pinned" in failed(2, "archive", path, "a")
