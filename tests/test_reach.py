"""Reconciling looks at what a change reaches, however many artefacts there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import doxa
from doxa.ledger import Ledger

MANY = 3_000
DAY = "2024-06-01"


@pytest.fixture(scope="module")
def crowd() -> Iterator[Ledger]:
    """Three thousand claims, each with a citation and a summary; three summaries name claim 7."""
    with doxa.open() as ledger:
        for start in range(0, MANY, 1_000):
            numbers = range(start, start + 1_000)
            ledger.append(
                [
                    {
                        "event": "claim",
                        "id": f"c{i}",
                        "subject": f"x{i}",
                        "predicate": "p",
                        "object": i,
                        "source": f"s{i}",
                        "valid_to": "2024-12-01" if i == 11 else None,
                    }
                    for i in numbers
                ]
                + [
                    {"event": "citation", "id": f"q{i}", "text": "q", "supports": [f"c{i}/support"]}
                    for i in numbers
                ]
                + [
                    {
                        "event": "summary",
                        "id": f"n{i}",
                        "text": "n",
                        "facts": [f"c{i}"],
                        "citations": [f"q{i}"],
                    }
                    for i in numbers
                ]
            )
        ledger.summarize("seven", facts=["c7"], id="seven")
        ledger.summarize("and seven", facts=["c7", "c8"], id="and seven")
        yield ledger


def test_an_event_that_reaches_three_looks_at_three(crowd: Ledger) -> None:
    before = crowd.view(valid_at=DAY)
    moved = crowd.correct("c7", 70, source="s7")
    result = crowd.reconcile(crowd.view(valid_at=DAY), since=before)
    assert {item.id for item in result.invalidated} == {"n7", "seven", "and seven"}
    assert {str(item.cause).split()[1] for item in result.invalidated} == {moved}
    assert result.examined == 3
    assert len(result.unchanged) == 2 * MANY + 2 - 3
    crowd.withdraw(moved)
    back = crowd.reconcile(crowd.view(valid_at=DAY), since=before)
    assert not back.invalidated
    assert back.examined == 3


def test_a_withdrawn_source_reaches_its_citation_and_what_cites_it(crowd: Ledger) -> None:
    before = crowd.view(valid_at=DAY)
    crowd.withdraw(doxa.Source("s9"), reason="forged")
    result = crowd.reconcile(crowd.view(valid_at=DAY), since=before)
    assert {item.id for item in result.invalidated} == {"q9", "n9"}
    assert result.examined == 2


def test_the_passing_of_time_looks_at_what_has_a_boundary_there(crowd: Ledger) -> None:
    before, after = crowd.view(valid_at=DAY), crowd.view(valid_at="2025-01-01")
    result = crowd.reconcile(after, since=before)
    (gone,) = result.invalidated
    assert gone.id == "n11"
    assert gone.cause is not None
    assert gone.cause.event is None
    assert str(gone.cause) == "the passing of 2024-12-01"
    assert result.examined == 1


def test_an_event_that_reaches_nothing_looks_at_nothing(crowd: Ledger) -> None:
    before = crowd.view(valid_at=DAY)
    crowd.claim("elsewhere", "p", 1, source="s")
    result = crowd.reconcile(crowd.view(valid_at=DAY), since=before)
    assert (len(result.invalidated), len(result.restored), result.examined) == (0, 0, 0)
