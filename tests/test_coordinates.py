"""Which coordinates are refused, wherever they may be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import doxa
from doxa.engine.receipt import digest
from tests.refusals import DAY, refused

AS_OF: dict[str, Callable[[Any], object]] = {
    "view": lambda on: on.view(as_of=DAY),
    "history": lambda on: on.history("x", "p", as_of=DAY),
    "assemble_fresh": lambda on: on.assemble_fresh("q", budget=9, as_of=DAY),
    "recall": lambda on: on.recall("q", as_of=DAY),
    "recall_batch": lambda on: on.recall_batch(["q"], as_of=DAY),
    "assemble": lambda on: on.assemble("q", as_of=DAY),
}
VIEWLESS: dict[str, Callable[[Any], object]] = {
    "recall": lambda on: on.recall("q", valid_at=DAY),
    "recall beside a view": lambda on: on.recall("q", view=on.view(valid_at=DAY), valid_at=DAY),
    "recall_batch": lambda on: on.recall_batch(["q"], valid_at=DAY),
    "assemble": lambda on: on.assemble("q", valid_at=DAY),
    "assemble of candidates": lambda on: on.assemble(
        "q", view=on.view(valid_at=DAY), candidates=[], valid_at=DAY
    ),
    "calibrate": lambda on: on.calibrate([], valid_at=DAY),
    "calibration_drift": lambda on: on.calibration_drift([], valid_at=DAY),
}


@pytest.mark.parametrize("call", AS_OF)
def test_as_of_in_place_of_valid_at_is_refused_by_naming_the_two(
    call: str, ledger: doxa.Ledger
) -> None:
    refused(ledger, AS_OF[call], doxa.CallerError, "as_of is refused", "valid_at", "known_at")


@pytest.mark.parametrize("call", VIEWLESS)
def test_what_looks_at_a_view_says_how_one_is_given(call: str, ledger: doxa.Ledger) -> None:
    said = f"give view=ledger.view(valid_at={DAY!r})"
    refused(ledger, VIEWLESS[call], doxa.CallerError, call.partition(" ")[0], said)


def test_a_call_without_any_view_or_time_says_what_it_takes(ledger: doxa.Ledger) -> None:
    without: Any = ledger.recall
    refused(ledger, lambda on: without("q"), doxa.CallerError, "give view=ledger.view(valid_at=…)")


def test_no_receipt_is_of_a_position_inside_a_commit(ledger: doxa.Ledger) -> None:
    claim: dict[str, Any] = {"event": "claim", "subject": "x", "predicate": "p", "object": 1}
    ledger.append([claim | {"id": "a"}, claim | {"id": "b"}])
    block = ledger.assemble("q", view=ledger.view(valid_at=DAY), budget=9)
    receipt = block.receipt.as_dict()
    receipt["view"]["revision"] = 1
    receipt["digests"]["view"] = digest(receipt["view"])
    refused(ledger, lambda on: on.replay(receipt), doxa.CallerError, "inside the commit")


@pytest.mark.parametrize("name", ["v", "k", "workspace", "shared", "perspective", "live"])
def test_a_captured_view_can_not_be_given_other_coordinates(name: str, ledger: doxa.Ledger) -> None:
    view = ledger.view(valid_at=DAY)
    before = getattr(view, name)
    with pytest.raises(AttributeError, match="never changes"):
        setattr(view, name, 5)
    assert getattr(view, name) == before


def test_a_closed_ledger_judges_no_line() -> None:
    ledger = doxa.open()
    ledger.close()
    with pytest.raises(doxa.CallerError, match="closed"):
        ledger.import_events(["torn"])
