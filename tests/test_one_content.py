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


def test_a_text_is_judged_by_its_id_in_a_named_workspace(pair: doxa.Ledger) -> None:
    pair.summarize("shared", facts=["a"], id="n")
    pair.claim("x", "p", 1, id="c", workspace="w")
    pair.summarize("own", facts=["c"], id="n", workspace="w")
    view = pair.view(valid_at="2024-06-01", workspace="w")
    named: list[Any] = [doxa.Ref("", "n"), {"workspace": "w", "id": "n"}, "n", doxa.Ref("", "a")]
    judged = [(one.id, one.eligible) for one in pair.judge(named, view)]
    assert judged == [("n", True), ("n", False), ("n", False), ("a", True)]
    (elsewhere,) = pair.judge([doxa.Ref("v", "n")], view)
    assert elsewhere.reason == "wrong_workspace"
    refused(pair, lambda on: on.judge(doxa.Ref("", "a"), view), doxa.InvalidEvent, "give a list")
