"""The commands that carry in what LightRAG and Graphiti keep: what they show, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.graphiti_graph import E1, after, before
from tests.lightrag_store import Doc, written
from tests.test_cli import answer, failed, ok, run

ANN = Doc("Ann leads Acme.", "a.txt", [("Ann", "person", "Ann leads Acme.")])
BOB = Doc("Bob leads Acme.", "b.txt", [("Bob", "person", "Bob leads Acme.")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "led.doxa"


def dump(folder: Path, graph: Any) -> Path:
    file = folder / "graph.json"
    file.write_text(json.dumps(graph), "utf-8")
    return file


def test_a_lightrag_is_imported_and_followed(path: Path, tmp_path: Path) -> None:
    folder = written({"a": ANN, "b": BOB}).save(tmp_path / "rag")
    first = run("import-lightrag", path, folder)
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.startswith("4 claims, 4 supports and 2 descriptions new; no supports with")
    again = run("import-lightrag", path, folder)
    assert again.stderr.startswith("no claims, no supports and no descriptions new")
    written({"b": BOB}).save(folder)
    gone = run("import-lightrag", path, folder)
    assert gone.exit_code == 0
    head, *rows = gone.stdout.splitlines()
    assert head.split() == ["subject", "predicate", "object", "is", "now", "without", "chunk"]
    assert [row.split()[0] for row in rows] == ["a.txt", "Ann"]
    assert all("unsupported" in row for row in rows)
    assert answer("import-lightrag", path, folder)["events"] == 0


def test_what_is_set_aside_is_told_of_and_ends_in_no(path: Path, tmp_path: Path) -> None:
    bad = Doc("Ann leads.", entities=[("Ann", "person", "x")], answer="no record\x1b[2J")
    folder = written({"a": bad}).save(tmp_path / "rag")
    result = run("import-lightrag", path, folder)
    assert result.exit_code == 1
    assert "set aside: chunk a-chunk-000: has 1 of the 4 fields" in result.stderr
    assert "\x1b" not in result.stderr
    assert len(answer("import-lightrag", path, folder, code=1)["set_aside"]) == 1


def test_a_dry_run_writes_nothing_and_makes_no_ledger(path: Path, tmp_path: Path) -> None:
    folder = written({"a": ANN}).save(tmp_path / "rag")
    graph = dump(tmp_path, after())
    for words in (("import-lightrag", path, folder), ("import-graphiti", path, graph)):
        assert "nothing written" in run(*words, "--dry-run").stderr
        assert not path.exists()
    ok("import-lightrag", path, folder)
    before_ = ok("stats", path, "--json")
    assert "nothing written" in run("import-graphiti", path, graph, "--dry-run").stderr
    assert ok("stats", path, "--json") == before_


def test_what_is_no_store_is_refused_and_makes_no_ledger(path: Path, tmp_path: Path) -> None:
    graph = dump(tmp_path, before())
    refused: list[tuple[object, ...]] = [
        ("import-lightrag", path, tmp_path / "nowhere"),
        ("import-lightrag", path, tmp_path, "--zone", "Nowhere/At"),
        ("import-graphiti", path, tmp_path / "nowhere.json"),
        ("import-graphiti", path, graph, "--undated", "never"),
        ("import-graphiti", path, graph, "--name", "a/b"),
    ]
    for words in refused:
        failed(2, *words)
        assert not path.exists()


def test_a_store_of_another_name_or_place_can_be_meant(path: Path, tmp_path: Path) -> None:
    folder = written({"a": ANN}).save(tmp_path / "rag" / "space")
    ok("import-lightrag", path, tmp_path / "rag", "--namespace", "space", "--zone", "UTC")
    written({"b": BOB}).save(folder)
    assert "another store" in failed(2, "import-lightrag", path, folder)
    ok("import-lightrag", path, folder, "--name", "other")
    ok("import-lightrag", path, folder, "--replace")


def test_a_graphiti_is_imported_and_followed(path: Path, tmp_path: Path) -> None:
    first = run("import-graphiti", path, dump(tmp_path, before()))
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.startswith("2 claims, 2 supports and 1 summaries new; 0 ended")
    done = answer("import-graphiti", path, dump(tmp_path, after()))
    assert (done["claims"], done["ended"], done["set_aside"]) == (2, 1, [])
    assert ok("standing", path, "graphiti:edge:e1", "--valid-at", "2026-06-01") == "superseded"
    rest = dump(tmp_path, {"edges": [], "nodes": []})
    assert len(answer("import-graphiti", path, rest, "--complete")["withdrawn"]) == 4


def test_groups_and_workspaces_are_chosen(path: Path, tmp_path: Path) -> None:
    file = dump(tmp_path, after())
    assert answer("import-graphiti", path, file, "--group", "none")["events"] == 0
    done = answer("import-graphiti", path, file, "--group", "", "--workspace", "team")
    assert done["claims"] == 4
    shown = ("--valid-at", "2026-06-01", "--workspace", "team")
    assert ok("value", path, "Bob", "LEADS", *shown) == "Acme"


def test_a_file_that_is_no_json_is_refused(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    for text in ("", "{", "[" * 100_000, '{"edges": 3}'):
        file.write_text(text, "utf-8")
        failed(2, "import-graphiti", path, file)
    file.write_text(json.dumps({"edges": [E1]}), "utf-8")
    result = run("import-graphiti", path, file)
    assert result.exit_code == 1
    assert "its node n1 is not in the graph given" in result.stderr
