"""Pinned and verified claims, calibrations, and the phrases at which a claim is to be recalled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events
from doxa.engine import codec, policies
from doxa.engine.documents import documents
from doxa.engine.events import same_content
from doxa.engine.graph import NONE
from doxa.engine.parse import parse

DAY = "2024-06-01"
CLAIM = {"event": "claim", "id": "c", "subject": "x", "predicate": "p", "object": 1}


def pins(ledger: doxa.Ledger, **at: Any) -> list[str]:
    """The ids of the claims that are pinned at a view."""
    view = ledger.view(**{"valid_at": DAY, **at})
    found = policies.pinned(view.belief, view.workspaces, view.v, view.k)
    return [view.graph.claim_id(row) for row in found]


def calibrated(ledger: doxa.Ledger, embedder: str = "e", **at: Any) -> str | None:
    """The id of the calibration in force at a view."""
    view = ledger.view(**{"valid_at": DAY, **at})
    found = policies.calibration(view.belief, embedder, view.workspaces, view.v, view.k)
    return None if found == NONE else view.graph.id_at(found)


@pytest.fixture
def three(ledger: doxa.Ledger) -> doxa.Ledger:
    for id in "abc":
        ledger.claim(id, "p", 1, id=id, source="s")
    return ledger


# ---------------------------------------------------------------- pins


def test_pinned_claims_come_in_the_order_of_pinning_each_once(three: doxa.Ledger) -> None:
    for id in "cabca":
        three.pin(id)
    assert pins(three) == ["c", "a", "b"]


def test_a_pin_counts_from_its_recording_until_it_is_withdrawn(three: doxa.Ledger) -> None:
    before = three.revision
    pin = three.pin("a")
    meanwhile = three.revision
    gone = three.withdraw(pin)
    assert pins(three) == []
    assert pins(three, known_at=before) == []
    assert pins(three, known_at=meanwhile) == ["a"]
    three.withdraw(gone)
    assert pins(three) == ["a"]


def test_a_pin_may_be_withdrawn_for_a_portion_of_valid_time(three: doxa.Ledger) -> None:
    three.withdraw(three.pin("a"), valid_from="2024-07-01")
    assert pins(three) == ["a"]
    assert pins(three, valid_at="2024-07-01") == []


def test_of_two_pins_of_a_claim_either_is_enough(three: doxa.Ledger) -> None:
    first, _, again = three.pin("a"), three.pin("b"), three.pin("a")
    three.withdraw(first)
    assert pins(three) == ["b", "a"]
    three.withdraw(again)
    assert pins(three) == ["b"]


def test_only_pins_in_sight_are_seen(three: doxa.Ledger) -> None:
    three.claim("w", "p", 1, id="own", workspace="w")
    three.pin("own", workspace="w")
    three.pin("a")
    assert pins(three) == ["a"]
    assert pins(three, workspace="w") == ["own", "a"]
    assert pins(three, workspace="w", shared=False) == ["own"]
    assert pins(three, workspace="nowhere") == ["a"]


def test_a_pin_changes_nothing_of_what_is_believed(three: doxa.Ledger) -> None:
    before = three.view(valid_at=DAY).fingerprint
    three.pin("a")
    three.verify_claim("a")
    three.policy(calibrated={"embedder": "e"})
    assert three.view(valid_at=DAY).fingerprint == before


def test_why_names_the_pin_and_the_verification(three: doxa.Ledger) -> None:
    three.pin("a", id="p1", reason="always wanted")
    three.verify_claim("a", id="p2")
    told = str(three.view(valid_at=DAY).why("a"))
    assert "under: policy p1: a is pinned: always wanted" in told
    assert "under: policy p2: a is verified" in told
    three.policy(calibrated={"embedder": "minilm"}, id="p3")
    told = str(three.view(valid_at=DAY).why("p3"))
    assert "confidence in what minilm finds is calibrated" in told


def test_a_dry_run_judges_and_writes_nothing(three: doxa.Ledger) -> None:
    before = three.revision
    for call in (three.pin, three.verify_claim):
        assert call("a", dry_run=True, id="p") == "p"
        with pytest.raises(doxa.UnknownTarget):
            call("nobody", dry_run=True)
        with pytest.raises(doxa.ClockError):
            call("a", dry_run=True, recorded_at="2001-01-01T00:00:00Z")
        with pytest.raises(doxa.PayloadTooLarge):
            call("a", dry_run=True, reason="v" * 2**20)
    assert three.revision == before
    three.pin("a", id="p")
    with pytest.raises(doxa.DuplicateId):
        three.pin("b", id="p", dry_run=True)
    assert three.pin("a", id="p", dry_run=True, recorded_at="2001-01-01T00:00:00Z") == "p"


def test_the_async_twins_do_the_same(three: doxa.Ledger) -> None:
    assert asyncio.run(three.apin("a", id="p")) == "p"
    assert asyncio.run(three.averify_claim("a", id="q")) == "q"
    assert pins(three) == ["a"]


def test_a_pin_whose_claim_is_set_aside_is_set_aside_with_it(ledger: doxa.Ledger) -> None:
    at = {"recorded_at": "2024-01-02T00:00:00Z"}
    bad = CLAIM | at | {"because": ["nobody"]}
    pin = {"event": "policy", "id": "p", "pinned": "c"} | at
    report = ledger.import_events([bad, pin])
    assert [line.line for line in report.set_aside] == [1, 2]
    assert "pinned names 'c', which can't be accepted itself" in report.set_aside[1].reason


# ---------------------------------------------------------------- calibrations


def test_the_newest_calibration_for_an_embedder_counts(three: doxa.Ledger) -> None:
    assert calibrated(three) is None
    for id in ("one", "two"):
        three.policy(calibrated={"embedder": "e", "boundary": 0.4}, id=id)
    three.policy(calibrated={"embedder": "other"}, id="three")
    assert calibrated(three) == "two"
    assert calibrated(three, "other") == "three"
    assert calibrated(three, "unheard") is None
    three.withdraw("two")
    assert calibrated(three) == "one"
    assert calibrated(three, known_at=4) == "one"
    assert calibrated(three, known_at=5) == "two"


def test_the_newest_in_sight_counts_wherever_it_was_recorded(three: doxa.Ledger) -> None:
    three.policy(calibrated={"embedder": "e"}, id="own", workspace="w")
    assert (calibrated(three), calibrated(three, workspace="w")) == (None, "own")
    three.policy(calibrated={"embedder": "e"}, id="all")
    assert calibrated(three, workspace="w") == "all"
    assert calibrated(three, workspace="w", shared=False) == "own"


def test_what_is_in_a_calibration_is_kept_as_it_was_given(ledger: doxa.Ledger) -> None:
    given = {"embedder": "e", "boundary": -7.5, "odd": [None, {"n": 10**25}], "scale": 1e-300}
    ledger.policy(calibrated=given, id="p")
    view = ledger.view(valid_at=DAY)
    event: Any = view.payload(1)
    assert event.calibrated == given
    written = list(export_events(ledger))
    with doxa.open() as other:
        assert other.import_events(written, strict=True).events == 1
        assert list(export_events(other)) == written
    repeated = {"event": "policy", "id": "p", "calibrated": given}
    assert ledger.append([repeated]).repeated == 1
    with pytest.raises(doxa.DuplicateId):
        ledger.append([repeated | {"calibrated": given | {"scale": 1}}])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "give an object"),
        ("e", "give an object"),
        ({}, "has the embedder None"),
        ({"embedder": 5}, "has the embedder 5"),
        ({"embedder": ""}, "is empty"),
        ({"embedder": "two\nlines"}, "U+000A"),
        ({"embedder": "e", "boundary": float("nan")}, "holds nan"),
        ({"embedder": "e", 1: 2}, "keys are text"),
    ],
)
def test_a_calibration_is_an_object_that_names_its_embedder(
    ledger: doxa.Ledger, given: Any, said: str
) -> None:
    with pytest.raises(doxa.InvalidEvent) as caught:
        ledger.policy(calibrated=given)
    assert said in str(caught.value)
    with pytest.raises(doxa.PayloadTooLarge):
        ledger.policy(calibrated={"embedder": "e", "odd": "v" * 2**20})
    assert ledger.revision == 0


# ---------------------------------------------------------------- recall_when


def test_a_claim_without_phrases_is_stored_as_ever() -> None:
    without = codec.encode(parse(CLAIM))
    assert without == (b'{"v":1,"id":"c"}', b'{"subject":"x","predicate":"p","object":1}')
    assert codec.encode(parse(CLAIM | {"recall_when": []})) == without


def test_phrases_are_kept_in_their_order_each_once(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, id="c", source="s", recall_when=["then", "now", "then"])
    event: Any = ledger.view(valid_at=DAY).payload(1)
    assert event.recall_when == ("then", "now")
    (document,) = documents(event)
    assert document.triggers == ("then", "now")
    (line,) = export_events(ledger)
    assert '"recall_when":["then","now"]' in line
    with doxa.open() as other:
        other.import_events([line], strict=True)
        assert list(export_events(other)) == [line]


def test_phrases_are_part_of_what_a_claim_says(ledger: doxa.Ledger) -> None:
    said = CLAIM | {"recall_when": ["then", "now"]}
    assert ledger.append([said]).new == 1
    assert ledger.append([said | {"recall_when": ("then", "now", "then")}]).repeated == 1
    for other in ([], ["now", "then"], ["then"]):
        assert not same_content(parse(said), parse(CLAIM | {"recall_when": other}))
        with pytest.raises(doxa.DuplicateId):
            ledger.append([CLAIM | {"recall_when": other}])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("then", "give a list of phrases"),
        ({"then"}, "give a list of phrases"),
        (None, "give a list of phrases"),
        ([""], "holds an empty phrase"),
        ([" \t"], "holds an empty phrase"),
        ([5], "phrases are text"),
        (["a\ud800"], "half of a surrogate pair"),
        (["v" * 1_001], "1001 characters; at most 1000"),
        ([str(n) for n in range(33)], "holds 33 phrases; at most 32"),
    ],
)
def test_what_is_no_list_of_phrases_is_refused(ledger: doxa.Ledger, given: Any, said: str) -> None:
    with pytest.raises(doxa.InvalidEvent) as caught:
        ledger.claim("x", "p", 1, recall_when=given)
    assert "recall_when " in str(caught.value)
    assert said in str(caught.value)
    assert ledger.revision == 0


def test_as_many_phrases_as_may_be_are_taken(ledger: doxa.Ledger) -> None:
    phrases = [str(n) * 500 for n in range(10, 42)]
    ledger.claim("x", "p", 1, recall_when=phrases * 2)
    event: Any = ledger.view(valid_at=DAY).payload(1)
    assert event.recall_when == tuple(phrases)
