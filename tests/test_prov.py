"""What is behind a standing, as W3C PROV-JSON that the library of record reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prov.model import ProvDocument

import doxa
from doxa.adapters.prov import why_to_prov
from doxa.ledger import Ledger
from tests.compactions import Corrector
from tests.histories import INSTANTS, Author, moment
from tests.test_cli import answer, failed, ok, run

DAY = "2024-07-01"
HOSTILE = [
    "a b",
    "é/ü",
    "%20",
    "%",
    ".",
    "-x",
    "x.",
    "'\"<>&",
    "ledger:x",
    "a:b:c",
    "#?",
    "in/w",
    "🂡",
    "\\n",
    "x" * 900,
]
ENDS = {
    "wasDerivedFrom": ("prov:generatedEntity", "prov:usedEntity"),
    "wasGeneratedBy": ("prov:entity", "prov:activity"),
    "wasInvalidatedBy": ("prov:entity", "prov:activity"),
    "wasAttributedTo": ("prov:entity", "prov:agent"),
    "wasInfluencedBy": ("prov:influencee", "prov:influencer"),
}


def read(document: dict[str, Any]) -> Any:
    """The document as the library has it, after it came back the same."""
    read = ProvDocument.deserialize(content=json.dumps(document))
    assert ProvDocument.deserialize(content=read.serialize()) == read
    things = {name for kind in ("entity", "activity", "agent") for name in document.get(kind, {})}
    for kind, ends in ENDS.items():
        for relation in document.get(kind, {}).values():
            for end in ends:
                assert relation[end] in things, relation
    assert set(document) <= {"prefix", "entity", "activity", "agent", *ENDS}
    return read


def relations(document: dict[str, Any], kind: str) -> list[tuple[str, str, str | None]]:
    """The relations of a kind: its ends, without their prefixes, and the role."""
    return [
        (*(one[end].split(":", 1)[1] for end in ENDS[kind]), one.get("doxa:role"))
        for one in document.get(kind, {}).values()
    ]


def record(document: dict[str, Any], local: str) -> dict[str, Any]:
    found: dict[str, Any] = document["entity"][f"ledger:record/{local}"]
    return found


@pytest.fixture
def home(ledger: Ledger) -> Ledger:
    source = doxa.Source("register", locator="7", quote="q", origin="town", observed_at=DAY)
    ledger.claim("ada", "lives_in", "London", id="home", valid_from="2024-03-01", source=source)
    ledger.claim("ada", "taxed_in", "UK", id="tax", because=["home"])
    return ledger


def prov(ledger: Ledger, id: str, **more: Any) -> dict[str, Any]:
    document = why_to_prov(ledger.view(valid_at=DAY, **more), id)
    read(document)
    return document


def test_a_claim_is_derived_from_its_evidence_and_that_from_its_source(home: Ledger) -> None:
    document = prov(home, "tax")
    assert relations(document, "wasDerivedFrom") == [
        ("explanation", "record/tax", "explains"),
        ("record/tax", "record/tax%2Fsupport", "supported by"),
        ("record/tax%2Fsupport", "record/home", "because"),
        ("record/home%2Fsupport", "source/register", None),
        ("record/home", "record/home%2Fsupport", "supported by"),
    ]
    assert relations(document, "wasAttributedTo") == [
        ("record/home%2Fsupport", "origin/town", None)
    ]
    assert relations(document, "wasGeneratedBy")[0] == ("record/tax", "commit/2", None)
    at = home.view(valid_at=DAY).why("tax").recorded_at
    assert at is not None
    assert document["activity"]["ledger:commit/2"]["prov:startTime"] == at.isoformat()
    claim, support = record(document, "home"), record(document, "home%2Fsupport")
    assert (claim["doxa:standing"], claim["doxa:object"]) == ("reported", '"London"')
    assert claim["doxa:validFrom"]["$"] == "2024-03-01T00:00:00+00:00"
    assert (support["doxa:quote"], support["doxa:locator"]) == ("q", "7")
    explained = document["entity"]["ledger:explanation"]
    assert explained["doxa:validAt"]["$"] == "2024-07-01T00:00:00+00:00"
    assert explained["doxa:revision"]["$"] == "2"


def test_a_correction_invalidates_and_what_it_puts_in_is_a_revision(home: Ledger) -> None:
    home.correct("home", "Lisbon", id="moved", valid_from="2024-06-01", source="letter")
    document = prov(home, "home")
    assert relations(document, "wasInvalidatedBy") == [("record/home", "commit/4", "corrected by")]
    (revision,) = [
        one
        for one in document["wasDerivedFrom"].values()
        if one.get("prov:type", {}).get("$") == "prov:Revision"
    ]
    assert revision["prov:generatedEntity"] == "ledger:record/moved%2Freplacement"
    assert revision["doxa:by"]["$"] == "ledger:record/moved"
    assert record(document, "home")["doxa:standing"] == "superseded"
    before = prov(home, "home", known_at=2)
    assert "wasInvalidatedBy" not in before
    assert record(before, "home")["doxa:standing"] == "reported"
    backwards = prov(home, "moved/replacement")
    assert any(role == "in place of" for _, _, role in relations(backwards, "wasDerivedFrom"))


def test_a_withdrawal_that_is_withdrawn_invalidates_nothing_but_is_told(home: Ledger) -> None:
    home.withdraw("home", id="w1", reason="misread")
    assert relations(prov(home, "home"), "wasInvalidatedBy") == [
        ("record/home", "commit/3", "withdrawn by")
    ]
    home.withdraw("w1", id="w2", source="ada")
    document = prov(home, "home")
    assert relations(document, "wasInvalidatedBy") == [("record/w1", "commit/4", "withdrawn by")]
    assert ("record/home", "record/w1", "withdrawn by") in relations(document, "wasInfluencedBy")
    assert record(document, "w1")["doxa:reason"] == "misread"
    assert ("record/w2", "origin/ada", None) in relations(document, "wasAttributedTo")


def test_a_source_that_is_withdrawn_is_invalid_itself(home: Ledger) -> None:
    home.summarize("note", id="note", facts=["home"], sources=["register"])
    home.withdraw(doxa.Source("register"), id="w")
    for id in ("home", "tax", "note"):
        assert ("source/register", "commit/4", "withdrawn by") in relations(
            prov(home, id), "wasInvalidatedBy"
        )


def test_both_sides_of_a_contradiction_are_told(home: Ledger) -> None:
    home.policy(single_valued="lives_in", id="one")
    home.claim("ada", "lives_in", "Paris", id="paris", source="letter")
    home.support("home", source="neighbour", stance="refutes", id="no")
    found = relations(prov(home, "home"), "wasInfluencedBy")
    assert ("record/home", "record/paris", "contested by") in found
    assert ("record/home", "record/no", "refuted by") in found
    assert ("record/home", "record/one", "under") in found


def test_nothing_leaks_of_what_was_erased(home: Ledger) -> None:
    home.cite("SECRET quote", id="quote", claim="home")
    home.withdraw("home", id="w", reason="SECRET reason")
    for id in ("home", "quote"):
        home.archive(id)
    open_view = home.view(valid_at=DAY)
    home.purge(["home", "quote"])
    for id in ("home", "tax", "quote"):
        for view in (open_view, home.view(valid_at=DAY), home.view(valid_at=DAY, known_at=2)):
            if id == "quote" and view.revision == 2:
                continue
            document = why_to_prov(view, id)
            read(document)
            text = json.dumps(document)
            assert not any(word in text for word in ("London", "lives_in", "SECRET", '"q"'))
    assert record(prov(home, "home"), "home")["doxa:erased"] is True


def test_a_record_that_the_tree_ends_at_says_that_there_is_more(ledger: Ledger) -> None:
    ledger.claim("x", "p0", 1, id="c0", source="s")
    for n in range(1, 30):
        ledger.claim("x", f"p{n}", 1, id=f"c{n}", because=[f"c{n - 1}"])
    document = why_to_prov(ledger.view(valid_at="2024-07-01"), "c29")
    ends = {one["doxa:id"] for one in document["entity"].values() if one.get("doxa:more")}
    assert ends == {"c8"}
    assert "ledger:record/c7" not in document["entity"]
    ledger.claim("x", "short", 1, id="short", because=["c8", "c29"])
    document = why_to_prov(ledger.view(valid_at="2024-07-01"), "short")
    assert document["entity"]["ledger:record/c8"].get("doxa:more") is None  # it is told elsewhere
    assert "ledger:record/c0" in document["entity"]


@pytest.mark.parametrize("id", HOSTILE)
def test_hostile_ids_are_names_of_their_own(ledger: Ledger, id: str) -> None:
    names = [id, f"{id}x", f"%{id}"]
    for name in names:
        ledger.claim("x", "p", {"a": [name, "\x00"]}, id=name, source=f"{name}", workspace="w/%:")
    ledger.claim("x", "p", 1, id="all", because=names, workspace="w/%:", text="\x00 <&> \u2028")
    document = why_to_prov(ledger.view(valid_at=DAY, workspace="w/%:"), "all")
    made = read(document)
    assert sum(1 for key in document["entity"] if "/record/" in key) == 8
    assert sum(1 for key in document["entity"] if "/source/" in key) == 3
    assert {one["doxa:id"] for key, one in document["entity"].items() if "/source/" in key} == set(
        names
    )
    assert ProvDocument.deserialize(content=made.get_provn(), format="provn") is not None


def test_the_first_and_last_instants_can_be_told(ledger: Ledger) -> None:
    bounds = {"valid_from": "0001-01-01", "valid_to": "9999-12-31T23:59:59.999999Z"}
    ledger.claim("x", "p", 1, id="a", source="s", recorded_at="0001-01-01", **bounds)
    assert record(prov(ledger, "a"), "a")["doxa:validFrom"]["$"].startswith("0001-01-01")


def captured(ledger: Ledger, seed: int, author: type[Author] = Author) -> Iterator[tuple[Any, str]]:
    made = author(Random(seed))
    for _ in range(25):
        commit = made.commit()
        try:
            ledger.append(commit)
        except doxa.DoxaError:
            continue
        made.learn(commit)
    for workspace in ("", "w"):
        for at in made.random.sample(INSTANTS, 2):
            view = ledger.view(valid_at=moment(at), workspace=workspace)
            ids = [id for place in {"", workspace} for id in made.ids.get((place, "claim"), [])]
            for id in made.random.sample(ids, min(4, len(ids))):
                yield view, id


@given(st.integers(0, 2**32))
def test_a_claim_is_invalid_where_it_is_retracted_or_superseded(seed: int) -> None:
    with doxa.open() as ledger:
        for view, id in captured(ledger, seed):
            document = why_to_prov(view, id)
            read(document)
            taken = relations(document, "wasInvalidatedBy")
            (asked,) = [
                used
                for made, used, _ in relations(document, "wasDerivedFrom")
                if made == "explanation"
            ]
            invalid = any(entity == asked for entity, _, _ in taken)
            standing = document["entity"][f"ledger:{asked}"]["doxa:standing"]
            assert standing == str(view.standing(id))
            assert invalid == (standing in ("retracted", "superseded"))


@given(st.integers(0, 2**32))
def test_every_record_of_any_history_can_be_told(seed: int) -> None:
    with doxa.open() as ledger:
        for view, _ in [*captured(ledger, seed, Corrector)][:1]:
            for line in recorded(ledger, view.workspace):
                read(why_to_prov(view, line["id"]))


def recorded(ledger: Ledger, workspace: str) -> list[dict[str, Any]]:
    from doxa.adapters.exchange import export_events

    return [json.loads(line) for line in export_events(ledger, workspace=workspace)]


def test_what_was_compacted_is_told_as_a_count(ledger: Ledger) -> None:
    made = Corrector(Random(3))
    for _ in range(80):
        commit = made.commit()
        try:
            ledger.append(commit)
        except doxa.DoxaError:
            continue
        made.learn(commit)
    assert ledger.compact(versions=1).events
    view = ledger.view(valid_at=moment(INSTANTS[3]))
    told = 0
    for id in made.ids[("", "claim")]:
        try:
            document = why_to_prov(view, id)
        except doxa.Compacted:
            continue
        read(document)
        told += any("/compacted/" in f"/{key.split(':', 1)[1]}" for key in document["entity"])
    assert told


def test_the_same_view_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    folder = tmp_path / "town.doxa"
    for source in "abc":
        ok("claim", folder, "x", "p", "1", "--id", source, "--source", source)
    ok("claim", folder, "x", "q", "2", "--id", "all", "--because", "a", "--because", "b")
    command = [sys.executable, "-m", "doxa", "why", str(folder), "all", "--valid-at", DAY, "--prov"]
    texts = {
        subprocess.run(
            command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in "123"
    }
    assert len(texts) == 1
    read(json.loads(texts.pop()))


def test_the_command_prints_a_document(tmp_path: Path) -> None:
    folder = tmp_path / "town.doxa"
    ok("claim", folder, "ada", "lives_in", "London", "--id", "home", "--source", "register")
    read(json.loads(ok("why", folder, "home", "--valid-at", DAY, "--prov")))
    both = run("why", folder, "home", "--valid-at", DAY, "--prov", "--json")
    assert (both.exit_code, "give one of" in both.stderr) == (2, True)
    assert "nobody" in failed(2, "why", folder, "nobody", "--valid-at", DAY, "--prov")
    assert answer("why", folder, "home", "--valid-at", DAY)["standing"] == "reported"


def test_without_the_library_the_extra_is_named(
    home: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prov.model", None)
    with pytest.raises(doxa.CallerError, match=r"pip install 'doxa\[prov\]'"):
        why_to_prov(home.view(valid_at=DAY), "home")
