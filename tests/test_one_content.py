"""One content, however it was written and by whatever route it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events
from tests.refusals import appending, refused


@pytest.fixture
def pair(ledger: doxa.Ledger) -> doxa.Ledger:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("x", "p", 2, id="b", source="s")
    return ledger


REPEATING: dict[str, Callable[[doxa.Ledger], object]] = {
    "contradicts": lambda on: on.policy(contradicts=["a", "b", "a"]),
    "sources": appending({"event": "summary", "text": "t", "sources": ("s", "s")}),
    "subjects": appending(
        {"event": "summary", "text": "t", "binding": "snapshot", "subjects": ("x", "x")}
    ),
    "candidates": appending(
        {"event": "correction", "unresolved": "it", "candidates": ("a", "b", "a")}
    ),
}


@pytest.mark.parametrize("field", REPEATING)
def test_a_name_said_twice_is_recorded_once_and_survives_the_round_trip(
    field: str, pair: doxa.Ledger
) -> None:
    REPEATING[field](pair)
    written = list(export_events(pair))
    with doxa.open() as other:
        other.import_events(written)
        assert list(export_events(other)) == written


def test_one_claim_named_twice_is_no_choice_of_candidates(pair: doxa.Ledger) -> None:
    twice = {"event": "correction", "id": "k", "unresolved": "it", "candidates": ["a", "a"]}
    refused(pair, appending(twice), doxa.InvalidEvent, "has one candidate, 'a'")


@pytest.mark.parametrize("workspace", ["", "w"])
def test_a_reference_with_its_own_workspace_spelled_out_is_a_repeat(
    workspace: str, ledger: doxa.Ledger
) -> None:
    ledger.claim("x", "p", 1, id="a", source="s", workspace=workspace)
    named = {"workspace": workspace, "id": "a"}
    fields: dict[str, Any] = {"event": "claim", "id": "b", "workspace": workspace, "subject": "x"}
    fields |= {"predicate": "q", "object": 1}
    assert ledger.append([fields | {"because": ["a"]}]).new == 1
    for same in ([named], [named, "a"]):
        assert ledger.append([fields | {"because": same}]).repeated == 1
    refused(ledger, appending(fields | {"because": ["b"]}), doxa.DuplicateId, "other content")
