"""What a ledger says by itself to a framework's question, whatever the framework."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.answering import (
    RecallRefused,
    UnjudgedArm,
    ask,
    block,
    refuse_arms,
    settings,
)
from doxa.adapters.extras import MissingExtra
from doxa.adapters.judging import Found, Sieve
from doxa.ledger import Ledger


@pytest.fixture
def town() -> Iterator[Ledger]:
    with doxa.open() as ledger:
        text = "Ada lives in London."
        ledger.claim("ada", "lives_in", "London", id="home", text=text, source="register")
        yield ledger


def test_a_refusal_is_raised_with_its_reasons_and_never_looks_like_nothing(town: Ledger) -> None:
    sieve = Sieve(town, valid_at="2024-01-01")
    with pytest.raises(RecallRefused, match="refused to answer") as refused:
        ask(sieve, "Where does Ada live?", mode="dense")
    assert [str(gap.reason) for gap in refused.value.answer.reasons] == ["vectors_unavailable"]
    with pytest.raises(RecallRefused):
        block(sieve, "Where does Ada live?", mode="dense")
    assert ask(sieve, "the papacy").kept == ()
    assert block(sieve, "the papacy").text == ""


def test_a_block_is_made_anew_where_the_truth_moved_meanwhile(town: Ledger) -> None:
    moves = iter([True, True])

    def count(text: str) -> int:
        if next(moves, False):
            town.claim("something", "else", 1, source="s")
        return len(text)

    sieve = Sieve(town, valid_at="2024-01-01")
    made = block(sieve, "Where does Ada live?", budget=500, count=count)
    assert "> Ada lives in London." in made.text
    assert made.view["revision"] == town.revision
    moves = iter([True])
    found = [Found("Ada lives in London.", {"claim_ids": "home"}), Found("Ada lives in Rome.")]
    made = block(sieve, "Where?", found=found, budget=500, count=count)
    assert made.ids == ("#1",)
    assert made.view["revision"] == town.revision
    assert block(sieve, "Where?", found=[]).text == ""


def test_a_block_of_a_truth_that_always_moves_is_given_up(town: Ledger) -> None:
    def count(text: str) -> int:
        town.claim("something", "else", 1, source="s")
        return len(text)

    sieve = Sieve(town, valid_at="2024-01-01")
    with pytest.raises(doxa.ViewMoved):
        block(sieve, "Where does Ada live?", budget=500, count=count)
    with pytest.raises(doxa.CallerError, match="attempts is 0"):
        block(sieve, "Where does Ada live?", attempts=0)


def test_arms_that_are_not_judged_are_refused_by_their_names() -> None:
    refuse_arms([])
    with pytest.raises(UnjudgedArm, match="not judged: one; two") as refused:
        refuse_arms(["one", "two"])
    assert refused.value.arms == ("one", "two")


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"valid_at": "2024-01-01", "known_at": 3},
        {"valid_at": date(2024, 1, 1), "known_at": datetime(2024, 1, 1, 12, tzinfo=UTC)},
    ],
)
def test_what_a_sieve_was_made_with_is_json_that_it_takes_again(
    times: dict[str, Any], tmp_path: Path
) -> None:
    sieve = Sieve(tmp_path, workspace="w", unknown="flag", archived=True, **times)
    written = json.loads(json.dumps(settings(sieve)))
    again = Sieve(**written)
    assert settings(again) == written
    assert written["valid_at"] == (
        "2024-01-01T00:00:00Z" if isinstance(times.get("valid_at"), date) else times.get("valid_at")
    )


def test_an_encrypted_ledger_is_opened_with_the_file_of_its_keys(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    path, keys = tmp_path / "people.doxa", tmp_path / "people.keys"
    with doxa.open(path, keys=keys) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
    with pytest.raises(doxa.WrongKeys):
        ask(Sieve(path), "Ada London")
    sieve = Sieve(**settings(Sieve(path, keys=keys)))
    assert [kept.found.id for kept in ask(sieve, "Ada London")] == ["home"]
    sieve.close()


def test_an_open_ledger_cant_be_written_down(town: Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="is open and can't be written down; give the path"):
        settings(Sieve(town))


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("langchain", "langchain_core"),
        ("llamaindex", "llama_index"),
        ("haystack", "haystack"),
        ("neo4j", "neo4j_graphrag"),
        ("graphrag.context", "graphrag"),
        ("graphrag.searches", "graphrag"),
    ],
)
def test_without_its_library_an_adapter_names_the_extra(module: str, library: str) -> None:
    if find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    extra = module.partition(".")[0]
    with pytest.raises(MissingExtra, match=rf"pip install 'doxa\[{extra}\]'"):
        import_module(f"doxa.adapters.{module}")
