"""What is said where nothing of a search is known to the ledger, and nothing would be left in
silence."""

from __future__ import annotations

import asyncio
import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.judging import Found, NothingDeclared, Sieve
from doxa.ledger import Ledger

DAY = "2024-07-01"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with doxa.open() as opened:
        opened.claim("ada", "lives_in", "London", id="home", source="register")
        opened.claim("ada", "works_at", "mill", id="gone", source="register")
        opened.withdraw("gone")
        yield opened


def warned(sieve: Sieve, *found: Found) -> str:
    with pytest.warns(NothingDeclared) as told:
        assert sieve.filter(found).kept == ()
    (one,) = told
    assert one.filename == __file__
    return str(one.message)


def test_what_declares_nothing_is_told_of_once_with_what_can_be_done(ledger: Ledger) -> None:
    sieve = Sieve(ledger, valid_at=DAY)
    said = warned(sieve, Found("a", {"page": 3}), Found("b", {}))
    assert said.startswith("none of 2 results is known to the ledger in memory, so nothing is left")
    for words in ("claim_ids, support_ids", "a function as annotate", "unknown='flag'"):
        assert words in said
    assert "is 'claim_ids' meant" not in said
    assert sieve.filter([Found("a", {"page": 3})]).kept == ()  # and no second warning


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("claim_id", "claim_ids"),
        ("claims", "claim_ids"),
        ("claim", "claim_ids"),
        ("claimIds", "claim_ids"),
        ("fact_ids", "claim_ids"),
        ("clam_ids", "claim_ids"),
        ("artifact_id", "artefact_id"),
        ("source_id", "source_ids"),
    ],
)
def test_a_key_that_looks_like_one_is_named_with_that(ledger: Ledger, key: str, meant: str) -> None:
    said = warned(Sieve(ledger, valid_at=DAY), Found("a", {key: ["home"], "page": 1}))
    assert f"{key!r} (is {meant!r} meant?)" in said
    assert "'page'" not in said


def test_the_file_that_a_text_is_from_is_not_taken_for_what_it_rests_on(ledger: Ledger) -> None:
    said = warned(Sieve(ledger, valid_at=DAY), Found("a", {"source": "notes/a.md"}))
    assert "meant" not in said


def test_ids_that_the_ledger_never_had_are_named_with_the_ledger(tmp_path: Path) -> None:
    place = tmp_path / "a.doxa"
    doxa.open(place).close()
    sieve = Sieve(place, valid_at=DAY)
    said = warned(sieve, *(Found("a", {"claim_ids": [f"c{n}"]}) for n in range(7)))
    assert f"known to the ledger {str(place)!r}" in said
    assert "it never had 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more. Look whether" in said
    sieve.close()


def test_a_function_that_says_nothing_is_named(ledger: Ledger) -> None:
    said = warned(Sieve(ledger, valid_at=DAY, annotate=lambda found: None), Found("a", {}))
    assert "annotate said nothing of them" in said


@pytest.mark.parametrize(
    "found",
    [
        [],
        [Found("a", {"claim_ids": "home"}), Found("b", {})],
        [Found("a", {"claim_ids": "gone"}), Found("b", {})],
        [Found("a", {"claim_ids": ['["home"']})],
    ],
    ids=["nothing found", "one is held", "one was withdrawn", "one can't be read"],
)
def test_nothing_is_said_where_it_is_not_the_whole_that_is_unknown(
    ledger: Ledger, found: list[Found]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Sieve(ledger, valid_at=DAY).filter(found)


@pytest.mark.parametrize("unknown", ["flag", "keep"])
def test_nothing_is_said_where_the_unknown_is_let_through(ledger: Ledger, unknown: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Sieve(ledger, valid_at=DAY, unknown=unknown).filter([Found("a", {})]).kept) == 1


def test_it_is_said_in_a_thread_and_of_a_pickled_sieve_as_well(tmp_path: Path) -> None:
    doxa.open(tmp_path / "a.doxa").close()
    sieve = pickle.loads(pickle.dumps(Sieve(tmp_path / "a.doxa", valid_at=DAY)))
    with pytest.warns(NothingDeclared):
        asyncio.run(sieve.afilter([Found("a", {})]))
    sieve.close()


def test_who_makes_an_error_of_it_gets_one_and_the_next_call_an_answer(ledger: Ledger) -> None:
    sieve = Sieve(ledger, valid_at=DAY)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingDeclared)
        with pytest.raises(NothingDeclared):
            sieve.filter([Found("a", {})])
        assert len(sieve.filter([Found("a", {})]).left_out) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"claims": ["home"]}, "'claims' for the result 'd1'.* (is 'claims' for 'claim_ids'?)"),
        ({"facts": ["home"], "x": 1}, "'facts', 'x' for the result 'd1', and none of the keys"),
        ({1: 2}, "gave 1 for"),
    ],
)
def test_other_keys_from_annotate_are_refused_by_name(
    ledger: Ledger, given: dict[Any, Any], words: str
) -> None:
    sieve = Sieve(ledger, valid_at=DAY, annotate=lambda found: given)
    pattern = re.escape(words).replace(r"\.\*", ".*")
    with pytest.raises(doxa.CallerError, match=pattern):
        sieve.filter([Found("a", {}, "d1")])


def test_an_empty_mapping_and_known_keys_beside_others_are_taken(ledger: Ledger) -> None:
    both = {"claim_ids": ["home"], "page": 3}
    sieve = Sieve(ledger, valid_at=DAY, annotate=lambda one: both if one.id == "d1" else {})
    sifting = sieve.filter([Found("a", {}, "d1"), Found("b", {}, "home")])
    assert [kept.found.id for kept in sifting] == ["d1"]
