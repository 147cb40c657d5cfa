"""Stores, dumps and results of LightRAG and Graphiti with anything at all in them: what can't be
read is refused or set aside, and nothing else happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters import graphiti, lightrag
from doxa.engine.errors import CallerError
from tests.graphiti_graph import after
from tests.lightrag_store import Doc, found_by, written

NOW = "2026-12-01"
JUNK = [
    *(None, True, 7, -1.5, 1e308, float("inf"), "", "x", "\ud800", "<SEP>", "a<SEP>b", "\x00\n"),
    *([], {}, [1], {"a": 1}, ["doc-a"], "9" * 400),
]
DOCS = {
    "a": Doc("Ann leads.", "a.txt", [("Ann", "person", "Ann leads.")], [("Ann", "Bob", "met")]),
    "b": Doc("Bob leads.", "unknown_source", [("Bob", "person", "Bob leads.")]),
}
RANDOM = st.randoms(use_true_random=False)


def spoilt(value: Any, random: Any, share: float = 0.05) -> Any:
    """A copy in which some things are others, or missing."""
    if random.random() < share:
        return random.choice(JUNK)
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if random.random() > share / 2}
        return {key: spoilt(each, random, share) for key, each in kept.items()}
    if isinstance(value, list):
        return [spoilt(each, random, share) for each in value]
    return value


@settings(max_examples=200)
@given(RANDOM, st.booleans())
def test_a_spoilt_store_is_refused_or_read_and_read_again_the_same(
    tmp_path_factory: pytest.TempPathFactory, random: Any, cache: bool
) -> None:
    folder: Path = tmp_path_factory.mktemp("rag")
    made = written(DOCS, cache=cache)
    made.rows = {
        name: spoilt(rows, random) for name, rows in made.rows.items() if random.random() > 0.03
    }
    made.save(folder)
    with doxa.open() as ledger:
        try:
            lightrag.import_workspace(ledger, folder)
        except CallerError:
            assert ledger.revision == 0
            return
        assert lightrag.import_workspace(ledger, folder, replace=True).unchanged
        assert ledger.verify().ok


@settings(max_examples=200)
@given(RANDOM)
def test_a_spoilt_graph_is_refused_or_read_and_read_again_the_same(random: Any) -> None:
    graph = spoilt(after(), random)
    with doxa.open() as ledger:
        try:
            graphiti.import_graph(ledger, graph)
        except CallerError:
            assert ledger.revision == 0
            return
        assert graphiti.import_graph(ledger, graph).unchanged
        assert ledger.verify().ok


# where all that is spoilt is unknown, it is warned of
@pytest.mark.filterwarnings("ignore::doxa.adapters.undeclared.NothingDeclared")
@settings(max_examples=200)
@given(RANDOM, st.sampled_from(["drop", "flag", "keep"]))
def test_spoilt_results_are_refused_or_judged(
    tmp_path_factory: pytest.TempPathFactory, random: Any, unknown: Any
) -> None:
    folder: Path = tmp_path_factory.mktemp("rag")
    with doxa.open() as ledger:
        lightrag.import_workspace(ledger, written(DOCS).save(folder))
        graphiti.import_graph(ledger, after())
        data = spoilt(found_by(written(DOCS)), random)
        truth = lightrag.Truth(ledger, valid_at=NOW, unknown=unknown)
        try:
            judged = truth.judge(data)
            rows = [
                data["data"].get(kind) or [] for kind in ("entities", "relationships", "chunks")
            ]
            assert len(judged.kept) + len(judged.left_out) == sum(map(len, rows))
            truth.assemble("Who?", data, budget=500)
        except CallerError:
            pass
        results = spoilt(after(), random)
        other = graphiti.Truth(ledger, valid_at=NOW, unknown=unknown)
        try:
            found = other.judge(results)
            kinds = ("edges", "nodes", "episodes", "communities")
            lists = [results] if isinstance(results, list) else map(results.get, kinds)
            assert len(found.kept) + len(found.left_out) == sum(len(each or []) for each in lists)
            other.context("Who?", results, budget=500)
        except CallerError:
            pass


def test_what_once_broke_them_does_not(ledger: Any, tmp_path: Path) -> None:
    lightrag.import_workspace(ledger, written(DOCS).save(tmp_path))
    data = found_by(written(DOCS))
    data["data"]["references"].append({"reference_id": ["1"]})
    data["data"]["chunks"][0]["reference_id"] = {"1": 1}
    data["metadata"] = [1]
    judged = lightrag.Truth(ledger, valid_at=NOW).judge(data)
    assert judged.data["chunks"][0]["reference_id"] == ""
    graph = after()
    graph["edges"][0] |= {"episodes": 1.5}
    graph["edges"][1] |= {"uuid": {"a": 1}}
    done = graphiti.import_graph(ledger, graph)
    assert {aside.reason for aside in done.set_aside} >= {
        "its episodes are no list, and are not used",
        "has no uuid",
    }
    graphiti.Truth(ledger, valid_at=NOW).context("Who?", graph)


def test_a_description_that_came_later_is_not_yet_registered(ledger: Any, tmp_path: Path) -> None:
    lightrag.import_workspace(ledger, written({"b": DOCS["b"]}).save(tmp_path))
    then = ledger.revision
    lightrag.import_workspace(ledger, written(DOCS).save(tmp_path))
    truth = lightrag.Truth(ledger, valid_at=NOW, unknown="keep")
    judged = truth.judge(found_by(written(DOCS)), known_at=then)
    assert {left.found.id: left.reason for left in judged.left_out} == {
        "entity:Ann": "not_yet_registered",
        "relation:Ann<SEP>Bob": "not_yet_registered",
        "chunk:a-chunk-000": "missing_fact",
    }
