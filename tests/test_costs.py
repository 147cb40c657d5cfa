"""What grows with what changed, and not with its square: counted, not timed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import doxa
from doxa.engine import corroboration, settle, times
from doxa.engine.belief import Belief
from doxa.engine.overlay import Overlay


def test_a_long_series_of_corrections_is_told_at_the_cost_of_its_length(
    ledger: doxa.Ledger,
) -> None:
    length = 300
    claim: dict[str, Any] = {"event": "claim", "subject": "x", "predicate": "p", "source": "s"}
    ledger.append([claim | {"id": "c0", "object": 0}])
    for n in range(1, length):
        new = claim | {"id": f"c{n}", "object": n}
        ledger.append([new, {"event": "correction", "corrects": f"c{n - 1}", "by": f"c{n}"}])
    with patch.object(Belief, "standing", autospec=True, side_effect=Belief.standing) as asked:
        told = ledger.history("x", "p", valid_at="2024-06-01")
    assert [belief.value for belief in told] == list(range(length))
    assert asked.call_count <= 2 * length


def test_a_claim_that_leans_on_another_by_many_portions_falls_once(ledger: doxa.Ledger) -> None:
    count, day = 200, timedelta(days=1)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    premise: dict[str, Any] = {"event": "claim", "id": "a", "subject": "x", "predicate": "p"}
    support: dict[str, Any] = {"event": "support", "claim": "b", "because": ["a"]}
    portions = [(start + 2 * n * day, start + (2 * n + 1) * day) for n in range(count)]
    ledger.append(
        [
            premise | {"object": 1, "source": "s"},
            premise | {"id": "b", "object": 2},
            *(support | {"valid_from": low, "valid_to": high} for low, high in portions),
        ]
    )
    with patch.object(settle, "intersect", side_effect=times.intersect) as cut:
        ledger.withdraw("a", valid_from=portions[3][0], valid_to=portions[4][0])
    assert cut.call_count <= 3 * count
    standings = [str(ledger.view(valid_at=low).standing("b")) for low, _ in portions[2:5]]
    assert standings == ["reported", "unsupported", "reported"]


def test_what_reaches_every_snapshot_of_a_workspace_is_kept_once(ledger: doxa.Ledger) -> None:
    snapshot: dict[str, Any] = {"event": "summary", "text": "t", "binding": "snapshot"}
    ledger.claim("x", "p", 0, source="s", id="a")
    ledger.append([snapshot | {"id": f"n{n}"} for n in range(50)])
    ledger.append([{"event": "citation", "id": "q", "text": "t", "supports": ["a/support"]}])
    then = ledger.view(valid_at="2024-06-01")
    last = [ledger.claim("x", "p", n, source="s", id=f"c{n}") for n in range(20)][-1]
    now = ledger.view(valid_at="2024-06-01")
    assert now.origin is not None
    assert len(now.origin[1].reached_row) < 50
    told = ledger.reconcile(now, then)
    assert {one.cause.event for one in told.invalidated if one.cause} == {"c0"}
    assert (len(told.invalidated), len(told.unchanged)) == (50, 1)
    ledger.withdraw(last)
    assert not ledger.reconcile(ledger.view(valid_at="2024-06-01"), now).invalidated


def test_where_many_sources_meet_is_found_without_asking_all_at_each_bound(
    ledger: doxa.Ledger,
) -> None:
    count, hour = 400, timedelta(hours=1)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    ledger.claim("x", "p", 1, id="a")
    support: dict[str, Any] = {"event": "support", "claim": "a"}
    with patch.object(corroboration, "_distinct_origins") as asked:
        ledger.append(
            [
                support
                | {"source": f"s{n % 3}"}
                | {"valid_from": start + 2 * n * hour, "valid_to": start + (2 * n + 3) * hour}
                for n in range(count)
            ]
        )
    assert asked.call_count == 0
    at = [start + hour, start + 2 * hour, start + 3 * hour]
    standings = [str(ledger.view(valid_at=one).standing("a")) for one in at]
    assert standings == ["reported", "corroborated", "reported"]


def test_a_ring_in_one_commit_is_walked_once(ledger: doxa.Ledger) -> None:
    length = 200
    claim: dict[str, Any] = {"event": "claim", "subject": "x", "predicate": "p", "object": 1}
    ledger.append([claim | {"id": f"c{n}"} for n in range(length)])
    ring = [
        {"event": "correction", "id": f"k{n}", "corrects": f"c{n}", "by": f"c{(n + 1) % length}"}
        for n in range(length)
    ]
    with patch.object(Overlay, "path", autospec=True, side_effect=Overlay.path) as walked:
        report = ledger.import_events(ring)
    assert walked.call_count <= 2
    assert {aside.code for aside in report.set_aside} == {"correction_ring"}
    assert (report.events, len(report.set_aside)) == (0, length)


def test_what_is_said_of_a_large_conflict_is_not_the_square_of_its_sides(
    ledger: doxa.Ledger,
) -> None:
    count = 100
    claim: dict[str, Any] = {"event": "claim", "subject": "x", "predicate": "p", "source": "s"}
    ledger.append([claim | {"id": f"c{n}", "object": n} for n in range(count)])
    ledger.policy(contradicts=[f"c{n}" for n in range(count)])
    with patch.object(Belief, "rivals", autospec=True, side_effect=Belief.rivals) as asked:
        block = ledger.assemble(
            "q",
            view=ledger.view(valid_at="2024-06-01"),
            candidates=[{"id": f"t{n}", "text": "t", "facts": [f"c{n}"]} for n in range(count)],
            budget=10,
        )
    assert asked.call_count <= 3
    assert [one.reason for one in block.left_out] == ["conflict_incomplete"] * count
    assert "(100 sides: c0, c1, " in block.left_out[0].detail
    assert "c19 and 80 more)" in block.left_out[0].detail
