"""Claims that belong together: who is in a cluster, and which comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import doxa
from doxa.projections.clusters import Cluster, clusters

DAY = "2024-06-01"


@pytest.fixture
def ledger() -> Any:
    moments = iter(datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(100))
    with doxa.open(clock=lambda: next(moments)) as opened:
        yield opened


def found(ledger: doxa.Ledger, **options: Any) -> list[Cluster]:
    return clusters(ledger.view(valid_at=DAY), **options)


def test_held_claims_about_one_subject_are_a_cluster(ledger: doxa.Ledger) -> None:
    home = ledger.claim("ada", "lives_in", "London", source="register")
    work = ledger.claim("ada", "works_at", "the mill", source="letter")
    ledger.claim("bob", "lives_in", "Paris", source="register")
    (cluster,) = found(ledger)
    assert cluster.ids == (home, work)
    assert (cluster.subject, cluster.kind, cluster.workspace) == ("ada", "fact", "")
    assert not cluster.contested


def test_kinds_perspectives_and_workspaces_are_kept_apart(ledger: doxa.Ledger) -> None:
    ledger.claim("ada", "likes", "tea", source="a")
    ledger.claim("ada", "likes", "rain", source="a", kind="preference")
    ledger.claim("ada", "likes", "salt", source="a", perspective="bob")
    ledger.claim("ada", "likes", "jazz", source="a", workspace="w")
    assert clusters(ledger.view(valid_at=DAY, workspace="w")) == []


def test_what_was_derived_or_is_not_held_is_in_no_cluster(ledger: doxa.Ledger) -> None:
    home = ledger.claim("ada", "lives_in", "London", source="register")
    tax = ledger.claim("ada", "taxed_in", "UK", because=[home])
    ledger.claim("ada", "likes", "tea")
    ledger.claim("ada", "likes", "rain", source="a", kind="hypothesis")
    ledger.claim("ada", "owns", "a boat", source="a", valid_to="2024-02-01")
    old = ledger.claim("ada", "owns", "a car", source="a")
    ledger.withdraw(old)
    assert found(ledger) == []
    ledger.support(tax, source="form")
    assert found(ledger) == []  # it was recorded as a conclusion


def test_a_claim_that_lost_its_source_and_is_still_derived_is_no_evidence(
    ledger: doxa.Ledger,
) -> None:
    home = ledger.claim("ada", "lives_in", "London", source="register")
    work = ledger.claim("ada", "works_at", "the mill", source="letter")
    ledger.support(work, because=[home])
    assert len(found(ledger)) == 1
    ledger.withdraw(doxa.Source("letter"))
    assert found(ledger) == []


def test_the_longest_unused_comes_first(ledger: doxa.Ledger) -> None:
    for subject in ("ada", "bob", "cleo"):
        ledger.claim(subject, "likes", "tea", source="a", id=f"{subject}1")
        ledger.claim(subject, "likes", "rain", source="a", id=f"{subject}2")
    assert [c.subject for c in found(ledger)] == ["ada", "bob", "cleo"]

    def used(workspace: str, id: str) -> int | None:
        return 2_000_000_000_000_000 if id == "ada1" else 5 if id == "cleo1" else None

    assert [c.subject for c in found(ledger, last_used=used)] == ["bob", "cleo", "ada"]


def test_a_contested_claim_makes_its_cluster_contested(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="lives_in")
    ledger.claim("ada", "lives_in", "London", source="a")
    ledger.claim("ada", "lives_in", "Lisbon", source="b")
    assert [c.contested for c in found(ledger)] == [True]
    assert found(ledger, kind="nothing of it") == []
    assert found(ledger, least=3) == []
