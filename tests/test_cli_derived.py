"""The commands that consolidate, and that refresh a source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import doxa
from tests.test_cli import answer, failed, ok, run

CLAIM = {"subject": "ada", "predicate": "lives_in", "object": "London", "id": "home"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "town.doxa"
    for source in ("register", "letter"):
        ok("claim", folder, "ada", "lives_in", "London", "--source", source, "--id", source)
    ok("claim", folder, "ada", "likes", "tea", "--source", "a", "--id", "yes")
    ok("claim", folder, "ada", "likes", "no tea", "--source", "b", "--id", "no")
    return folder


def lines(folder: Path, *claims: dict[str, Any]) -> Path:
    file = folder / "claims.jsonl"
    file.write_text("\n".join(map(json.dumps, claims)), "utf-8")
    return file


def test_a_consolidation_is_told_as_a_table_and_as_json(path: Path) -> None:
    dry = answer("consolidate", path, "--dry-run")
    shown = run("consolidate", path)
    assert [row.split()[:2] for row in shown.stdout.splitlines()] == [
        ["step", "subject"],
        ["observed", "ada"],
        ["declared", "ada"],
    ]
    assert shown.stderr.splitlines() == [
        "declared: yes, no: one says what the other denies: nothing is merged",
        "2 clusters",
    ]
    assert [(each["step"], each["evidence"]) for each in dry["clusters"]] == [
        ("observed", ["register", "letter"]),
        ("declared", ["yes", "no"]),
    ]
    assert answer("consolidate", path)["clusters"][0]["step"] == "contested"


def test_a_consolidation_takes_its_options(path: Path) -> None:
    assert answer("consolidate", path, "--kind", "other")["clusters"] == []
    assert answer("consolidate", path, "--workspace", "w")["clusters"] == []
    assert answer("consolidate", path, "--perspective", "bob")["clusters"] == []
    bounded = answer("consolidate", path, "--limit", "1", "--valid-at", "2024-01-01", "--archive")
    assert (bounded["remaining"], bounded["archived"]) == (1, ["register", "letter"])
    assert "limit is -1" in failed(2, "consolidate", path, "--limit", "-1")
    assert "valid_at" in failed(2, "consolidate", path, "--valid-at", "noon")
    failed(2, "consolidate", path.parent / "nowhere")


def test_a_refresh_makes_the_ledger_and_is_told(tmp_path: Path) -> None:
    folder, page = tmp_path / "l", tmp_path / "page"
    page.write_text("v1", "utf-8")
    made = answer("refresh", folder, "page", lines(tmp_path, CLAIM), "--content", page)
    assert [(c["turn"], c["claim"]) for c in made["changes"]] == [("added", "home")]
    ok("claim", folder, "ada", "taxed_in", "UK", "--because", "home", "--id", "tax")
    moved = CLAIM | {"object": "Lisbon", "id": "moved"}
    shown = run("refresh", folder, "page", lines(tmp_path, moved), "--digest", "v2")
    assert shown.stdout.splitlines()[1].split() == (
        ["corrected", "home", "ada", "lives_in", "London", "moved"]
    )
    assert shown.stderr.splitlines() == [
        "stale evidence: fact tax rests on home, has fallen",
        "page refreshed; 0 kept, 1 changed",
    ]
    assert ok("value", folder, "ada", "lives_in", "--valid-at", "now") == "Lisbon"


def test_a_dry_run_of_a_refresh_makes_no_ledger(tmp_path: Path) -> None:
    file = lines(tmp_path, CLAIM)
    failed(2, "refresh", tmp_path / "l", "page", file, "--digest", "1", "--dry-run")
    assert not (tmp_path / "l").exists()


def test_sections_are_given_as_files(tmp_path: Path) -> None:
    for name in ("home", "work"):
        (tmp_path / name).write_text(name, "utf-8")
    both = [CLAIM | {"section": "home"}, {**CLAIM, "predicate": "x", "id": "w", "section": "work"}]
    given = [f"--section={name}={tmp_path / name}" for name in ("home", "work")]
    folder = tmp_path / "l"
    ok("refresh", folder, "page", lines(tmp_path, *both), *given)
    (tmp_path / "home").write_text("other", "utf-8")
    done = answer(
        "refresh", folder, "page", lines(tmp_path), given[0], "--partial", "--allow-empty"
    )
    assert done["sections"] == {"home": "refreshed"}
    done = answer("refresh", folder, '{"id":"page","origin":"ada"}', lines(tmp_path), given[0])
    assert [(c["turn"], c["claim"]) for c in done["changes"]] == [("withdrawn", "w")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "its digest"),
        (["--content", "missing"], "can't be read"),
        (["--section", "home"], "has no ="),
        (["--section", "a={page}", "--section", "a={page}"], "twice"),
        (["--digest", "1", "--partial"], "partial"),
        (["--section", "other={page}"], "whose content is not given"),
    ],
)
def test_a_refresh_that_makes_no_sense_is_refused(
    tmp_path: Path, options: list[str], told: str
) -> None:
    (tmp_path / "page").write_text("v1", "utf-8")
    given = [option.replace("{page}", str(tmp_path / "page")) for option in options]
    file = lines(tmp_path, CLAIM)
    assert told in failed(2, "refresh", tmp_path / "l", "page", file, *given)
    assert not (tmp_path / "l").exists()


def test_an_extraction_that_is_empty_or_takes_an_id_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    ok("refresh", folder, "page", lines(tmp_path, CLAIM), "--digest", "1")
    assert "no claims" in failed(2, "refresh", folder, "page", lines(tmp_path), "--digest", "2")
    other = lines(tmp_path, CLAIM | {"object": "Lisbon"})
    assert "is taken" in failed(3, "refresh", folder, "page", other, "--digest", "2")
    ok("refresh", folder, "page", lines(tmp_path), "--digest", "2", "--allow-empty")


KILLED = """
import os, sys, doxa
ledger = doxa.open(sys.argv[1])
ledger.consolidate(valid_at="2024-01-01", progress=lambda done, total: total and os._exit(9))
"""


def test_a_pass_that_is_killed_has_done_whole_clusters_and_is_gone_on_with(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "l"
    claims = [
        {"event": "claim", "id": f"{n}{c}", "subject": f"s{n}", "predicate": "p", "object": n}
        | {"source": c}
        for n in range(150)
        for c in "ab"
    ]
    with doxa.open(folder) as ledger:
        ledger.append(claims)
    died = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert died.returncode == 9
    with doxa.open(folder) as ledger:
        assert ledger.revision == 300 + 64
        done = ledger.consolidate(valid_at="2024-01-01")
        assert len(done) == 150 - 64
        assert ledger.consolidate(valid_at="2024-01-01").clusters == ()
        assert ledger.verify().ok
