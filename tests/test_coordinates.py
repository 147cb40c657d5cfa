"""Which coordinates are refused, wherever they may be given."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa.engine.receipt import digest
from tests.refusals import DAY, Call, refused

AS_OF: dict[str, Call] = {
    "view": lambda on: on.view(as_of=DAY),
    "history": lambda on: on.history("x", "p", as_of=DAY),
    "assemble_fresh": lambda on: on.assemble_fresh("q", budget=9, as_of=DAY),
}


@pytest.mark.parametrize("call", AS_OF)
def test_as_of_in_place_of_valid_at_is_refused_by_naming_the_two(
    call: str, ledger: doxa.Ledger
) -> None:
    refused(ledger, AS_OF[call], doxa.CallerError, "as_of is refused", "valid_at", "known_at")


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
