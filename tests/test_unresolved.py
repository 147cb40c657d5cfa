"""Corrections that name what they correct in words: ambiguous, or dangling until it arrives."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa.ledger import Ledger
from doxa.oracle import Log, Truth, rings
from doxa.views import TruthView


def claim(id: str, **more: Any) -> dict[str, Any]:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": id}
    return {**fields, "source": "s", **more}


def unresolved(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"event": "correction", "id": id, "unresolved": name, **more}


def oracle(ledger: Ledger, view: TruthView) -> Truth:
    rows = [row[:5] for page in ledger.recorder.read_rows() for row in page]
    return Truth(Log.from_rows(rows), view.v, view.k, workspace=view.workspace)


def check(ledger: Ledger, valid_at: str = "2024-06-01", known_at: int | None = None) -> TruthView:
    """A view whose standings and ambiguities are the oracle's."""
    view = ledger.view(valid_at=valid_at, known_at=known_at)
    truth = oracle(ledger, view)
    for item in view.claims(standing="any"):
        assert item.standing == truth.standing(item.id), item.id
        assert view.ambiguous(item.id) == list(truth.ambiguous(item.id)), item.id
        assert item.successors == list(truth.successors(item.id)), item.id
    return view


@pytest.fixture
def two(ledger: Ledger) -> Ledger:
    ledger.append([claim("memo/plan"), claim("notes/plan"), claim("new")])
    return ledger


def test_every_candidate_is_ambiguous_and_none_is_superseded(two: Ledger) -> None:
    before = two.revision
    two.append([unresolved("k", "plan", candidates=["memo/plan", "notes/plan"], by="new")])
    view = check(two)
    assert view.ambiguous("memo/plan") == view.ambiguous("notes/plan") == ["k"]
    assert view.ambiguous("new") == []
    assert view.standing("memo/plan") == "reported"
    assert "plan" in str(view.why("memo/plan"))
    assert check(two, known_at=before).ambiguous("memo/plan") == []


def test_a_resolution_ends_the_ambiguity_and_its_withdrawal_brings_it_back(two: Ledger) -> None:
    two.append([unresolved("k", "plan", candidates=["memo/plan", "notes/plan"], by="new")])
    two.append(
        [{"event": "correction", "id": "r", "corrects": "notes/plan", "by": "new", "resolves": "k"}]
    )
    view = check(two)
    assert view.ambiguous("memo/plan") == []
    assert view.standing("notes/plan") == "superseded"
    two.withdraw("r", reason="it was the other one")
    view = check(two)
    assert view.ambiguous("memo/plan") == ["k"]
    assert view.standing("notes/plan") == "reported"


def test_a_withdrawn_unresolved_correction_is_ambiguous_no_more(two: Ledger) -> None:
    two.append([unresolved("k", "plan", candidates=["memo/plan", "notes/plan"])])
    two.withdraw("k", valid_to="2024-03-01")
    assert check(two, "2024-02-01").ambiguous("memo/plan") == []
    assert check(two, "2024-04-01").ambiguous("memo/plan") == ["k"]


def test_a_dangling_name_resolves_when_its_target_arrives(ledger: Ledger) -> None:
    ledger.append([claim("new", valid_from="2024-03-01")])
    ledger.append([unresolved("k", "old", by="new")])
    before = ledger.revision
    check(ledger)
    ledger.append([claim("old", valid_from="2024-01-01")])
    assert check(ledger, "2024-02-01").standing("old") == "reported"
    view = check(ledger, "2024-04-01")
    assert view.standing("old") == "superseded"
    assert view.successors("old") == ["new"]
    assert check(ledger, "2024-04-01", before).standing("old") == "not_yet_known"


def test_a_dangling_name_keeps_the_bounds_that_were_stated(ledger: Ledger) -> None:
    ledger.append([unresolved("k", "old", valid_from="2024-03-01", valid_to="2024-05-01")])
    ledger.append([claim("old", valid_from="2024-04-01")])
    assert check(ledger, "2024-04-15").standing("old") == "superseded"
    assert check(ledger, "2024-03-15").standing("old") == "superseded"
    assert check(ledger, "2024-05-01").standing("old") == "reported"


def test_a_dangling_name_whose_replacement_never_meets_it_changes_nothing(ledger: Ledger) -> None:
    ledger.append([claim("new", valid_from="2025-01-01")])
    ledger.append([unresolved("k", "old", by="new")])
    ledger.append([claim("old", valid_to="2024-07-01")])
    assert check(ledger).standing("old") == "reported"


def test_a_dangling_name_withdrawn_before_its_target_comes_does_not_bind(ledger: Ledger) -> None:
    ledger.append([unresolved("k", "old")])
    w = ledger.withdraw("k")
    ledger.append([claim("old")])
    assert check(ledger).standing("old") == "reported"
    ledger.withdraw(w)
    assert check(ledger).standing("old") == "superseded"


def test_name_and_target_in_one_commit_meet_there(ledger: Ledger) -> None:
    ledger.append([unresolved("k", "old"), claim("old")])
    assert check(ledger).standing("old") == "superseded"
    ledger.append([claim("older"), unresolved("k2", "older")])
    assert check(ledger).standing("older") == "superseded"


def test_a_ring_closed_by_an_arrival_is_reported_and_nobody_succeeds(ledger: Ledger) -> None:
    ledger.append([claim("a")])
    ledger.append([unresolved("k", "b", by="a")])
    ledger.append([claim("b"), {"event": "correction", "id": "k2", "corrects": "a", "by": "b"}])
    view = check(ledger)
    assert view.standing("a") == view.standing("b") == "superseded"
    assert view.successors("a") == []
    rows = [row[:5] for page in ledger.recorder.read_rows() for row in page]
    assert rings(Log.from_rows(rows), view.k) == {frozenset({("", "a"), ("", "b")})}
    report = ledger.verify()
    assert report.ok
    assert any("go round" in note for note in report.notes)


@pytest.mark.parametrize(
    "event",
    [
        unresolved("k", "plan", corrects="memo/plan"),
        unresolved("k", "plan", candidates=["memo/plan"]),
        unresolved("k", "plan", candidates=["memo/plan", "nobody"]),
        unresolved("k", "plan", candidates=["memo/plan", "new"], by="new"),
        unresolved("k", "memo/plan"),
        {"event": "correction", "id": "k", "corrects": "new", "resolves": "memo/plan"},
        {"event": "correction", "id": "k"},
    ],
)
def test_what_is_no_unresolved_correction_is_refused(two: Ledger, event: dict[str, Any]) -> None:
    before = two.revision
    with pytest.raises(doxa.CallerError):
        two.append([event])
    assert two.revision == before


def test_a_repeated_dangling_line_is_known_after_its_target_came(ledger: Ledger) -> None:
    ledger.append([unresolved("k", "old")])
    ledger.append([claim("old")])
    before = ledger.revision
    assert ledger.append([unresolved("k", "old")]).repeated == 1
    assert ledger.revision == before


def test_what_a_dangling_correction_covered_is_not_changed_by_what_came_later(
    ledger: Ledger,
) -> None:
    ledger.append([unresolved("k", "later")])
    early = ledger.view(valid_at="2024-06-01")
    number = early.graph.find("", "k")
    stated = early.belief.extent(number, early.k)
    assert early.belief.counts(number, early.v, early.k)
    ledger.append([claim("later", valid_from="2030-01-01")])
    assert early.belief.extent(number, early.k) == stated
    assert early.belief.counts(number, early.v, early.k)
    now = ledger.view(valid_at="2024-06-01")
    assert not now.belief.counts(number, now.v, now.k)
