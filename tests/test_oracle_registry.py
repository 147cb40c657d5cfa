"""The oracle's judgement of registered texts against answers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from doxa.oracle import Cause, reconcile
from tests.oracle_rows import Rows, shared


@pytest.fixture
def rows() -> Rows:
    return Rows()


def causes(rows: Rows, id: str, valid_at: int, since: tuple[int, int] | None = None) -> set[Cause]:
    before = None if since is None else rows.truth(*since)
    result = reconcile(rows.truth(valid_at), before)
    return set((result.invalidated | result.restored)[rows.workspace, id].causes)


# ---------------------------------------------------------------- eligibility


def test_a_summary_is_eligible_while_its_facts_are_held(rows: Rows) -> None:
    rows.claim("a", source="x", span=(0, 50))
    rows.summarize("n", ["a"])
    assert rows.truth(0).eligible("n") == (True, None)
    assert rows.truth(50).eligible("n") == (False, "missing_fact")
    assert rows.truth(0, 1).eligible("n") == (False, "not_yet_registered")
    assert rows.truth(0).eligible("nothing") == (False, "unknown_artifact")


def test_a_text_about_a_hypothesis_rests_on_its_supports(rows: Rows) -> None:
    rows.claim("a", kind="hypothesis", source="x")
    rows.summarize("fact", ["a"])
    rows.summarize("supports", supports=["a/support"])
    assert rows.truth(0).artefacts() == {
        ("", "fact"): (False, "missing_fact"),
        ("", "supports"): (True, None),
    }


def test_a_derived_support_is_live_where_its_basis_is(rows: Rows) -> None:
    rows.claim("a", source="x", span=(0, 50))
    rows.claim("b", because=["a"])
    rows.cite("q", ["b/support"])
    assert rows.truth(0).eligible("q") == (True, None)
    assert rows.truth(50).eligible("q") == (False, "missing_support")


def test_a_summary_falls_with_its_source_and_with_its_citation(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.cite("q", ["a/support"])
    rows.summarize("by source", sources=["x"])
    rows.summarize("by citation", citations=["q"])
    rows.withdraw("w1", source="x", span=(0, 50))
    rows.withdraw("w2", "q", span=(80, 100))
    at = {place: rows.truth(place).artefacts() for place in (0, 50, 80)}
    assert at[0] == {
        ("", "q"): (False, "missing_support"),
        ("", "by source"): (False, "missing_support"),
        ("", "by citation"): (False, "invalid_citation"),
    }
    assert set(at[50].values()) == {(True, None)}
    assert at[80]["", "q"] == (False, "withdrawn")
    assert at[80]["", "by citation"] == (False, "invalid_citation")


def test_the_first_reason_of_the_law_is_given(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", source="y")
    rows.summarize("n", ["a"], supports=["b/support"], binding="snapshot")
    rows.withdraw("w1", "n")
    assert rows.truth(0).eligible("n") == (False, "snapshot_mismatch")  # bound at 1020, expired
    rows.withdraw("w2", "b/support")
    assert rows.truth(0).eligible("n") == (False, "missing_support")
    rows.withdraw("w3", "a")
    assert rows.truth(0).eligible("n") == (False, "missing_fact")


def test_erased_texts_are_redacted(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.summarize("n", ["a"], subjects=["s"], binding="snapshot", valid_at=0)
    rows.erase("n")
    assert rows.truth(0).eligible("n") == (False, "redacted")


def test_shared_texts_and_shared_dependencies_are_judged_from_a_workspace() -> None:
    rows = Rows("w")
    rows.claim("a", source="x", workspace="")
    rows.cite("q", ["a/support"], workspace="")
    rows.summarize("n", [shared("a")], supports=[shared("a/support")], citations=[shared("q")])
    assert rows.truth(0).artefacts() == {("", "q"): (True, None), ("w", "n"): (True, None)}
    assert rows.truth(0, shared=False).artefacts() == {("w", "n"): (True, None)}
    rows.withdraw("w1", source="x")
    assert rows.truth(0).artefacts()["", "q"] == (True, None)
    rows.withdraw("w2", source="x", workspace="")
    assert rows.truth(0, shared=False).eligible("n") == (False, "missing_fact")


def test_a_snapshot_is_bound_to_everything_in_its_selection(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.summarize("all", binding="snapshot", valid_at=10)
    rows.summarize("some", subjects=["s"], binding="snapshot", valid_at=10)
    rows.claim("b", source="x", subject="t", span=(0, 50))
    assert rows.truth(10).eligible("all") == (False, "snapshot_mismatch")
    assert rows.truth(60).eligible("all") == (True, None)
    assert rows.truth(10).eligible("some") == (True, None)
    rows.support("s1", "a", source="x")
    assert rows.truth(10).eligible("some") == (False, "snapshot_mismatch")
    rows.withdraw("w", "s1")
    assert rows.truth(10).eligible("some") == (True, None)


def test_a_snapshot_sees_the_shared_workspace_and_every_perspective() -> None:
    rows = Rows("w")
    rows.claim("a", source="x", perspective="ann")
    rows.summarize("n", binding="snapshot", valid_at=10)
    narrow: dict[str, Any] = {"shared": False, "perspective": "ann"}
    assert rows.truth(10, **narrow).eligible("n") == (True, None)
    rows.claim("b", source="x", perspective="bob", span=(0, 50))
    rows.claim("c", source="x", workspace="", span=(40, 80))
    assert rows.truth(10, **narrow).eligible("n") == (False, "snapshot_mismatch")
    assert rows.truth(60, **narrow).eligible("n") == (False, "snapshot_mismatch")
    assert rows.truth(80, **narrow).eligible("n") == (True, None)


def test_a_snapshot_is_bound_at_its_own_revision_and_by_default_at_its_own_time(rows: Rows) -> None:
    with rows.commit():  # recorded at 1000
        rows.claim("a", source="x", span=(None, 2000))
        rows.summarize("n", binding="snapshot")
        rows.claim("b", source="x", span=(1000, 1001))
    assert rows.truth(1000).eligible("n") == (True, None)
    assert rows.truth(1001).eligible("n") == (False, "snapshot_mismatch")


def test_only_a_citation_can_be_cited(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.summarize("inner", ["a"])
    rows.summarize("outer", citations=["inner"])
    assert rows.truth(0).eligible("outer") == (False, "invalid_citation")


def test_an_own_text_that_is_not_registered_yet_leaves_the_shared_one_in_sight() -> None:
    rows = Rows("w")
    rows.claim("a", source="x", workspace="")
    rows.summarize("n", ["a"], workspace="")
    rows.summarize("n", ["nothing"])
    assert rows.truth(0, 2).eligible("n") == (True, None)
    assert rows.truth(0, 3).eligible("n") == (False, "missing_fact")
    assert rows.truth(0, 3).eligible("n", "") == (True, None)


# ---------------------------------------------------------------- reconciling


def test_reconciling_names_what_fell_why_and_by_which_commit(rows: Rows) -> None:
    rows.claim("a", source="x", span=(None, None))
    rows.claim("b", source="y", span=(None, None))
    rows.summarize("n", ["a"])
    rows.summarize("m", ["b"])
    with rows.commit():
        rows.claim("c", source="y")
        rows.withdraw("w", source="x")
    rows.claim("d", source="y")
    result = reconcile(rows.truth(0))
    assert result.unchanged == {("", "m")}
    assert not result.restored
    flip = result.invalidated["", "n"]
    assert flip.reason == "missing_fact"
    assert flip.causes == {Cause(positions=(5, 6))}


def test_reconciling_since_a_view_sees_only_what_came_between(rows: Rows) -> None:
    rows.claim("a", source="x", span=(None, None))
    rows.summarize("n", ["a"])
    rows.withdraw("w1", "a")
    rows.withdraw("w2", "w1")
    rows.withdraw("w3", "w2")
    assert reconcile(rows.truth(0), rows.truth(0, 3)).unchanged == {("", "n")}
    restored = reconcile(rows.truth(0, 4), rows.truth(0, 3)).restored["", "n"]
    assert restored.reason is None
    assert restored.causes == {Cause(positions=(4,))}
    assert causes(rows, "n", 0, since=(0, 2)) == {Cause(positions=(5,))}
    assert causes(rows, "n", 0) == {Cause(positions=(5,))}


def test_what_is_registered_after_since_is_compared_with_its_registration(rows: Rows) -> None:
    rows.claim("a", source="x", span=(None, None))
    rows.summarize("good", ["a"])
    rows.withdraw("w", "a")
    rows.summarize("bad", ["a"])
    result = reconcile(rows.truth(0), rows.truth(0, 1))
    assert set(result.invalidated) == {("", "good")}
    assert result.unchanged == {("", "bad")}


def test_the_passing_instant_is_the_cause_where_no_commit_is(rows: Rows) -> None:
    rows.claim("a", source="x", span=(0, 50))
    rows.claim("b", source="x", span=(20, 30))
    rows.summarize("n", ["a"])
    rows.support("more", "a", source="y")
    assert causes(rows, "n", 70, since=(10, 4)) == {Cause(instant=50)}
    assert causes(rows, "n", 70, since=(10, 3)) == {Cause(instant=50)}
    assert causes(rows, "n", 10, since=(70, 4)) == {Cause(instant=50)}
    assert causes(rows, "n", 10, since=(-5, 4)) == {Cause(instant=0)}
    assert causes(rows, "n", 10) == {Cause(instant=50)}  # registered at 1020, when it had expired


def test_a_commit_at_the_views_instant_goes_before_a_passing_instant(rows: Rows) -> None:
    rows.claim("a", source="x", span=(0, 50))
    rows.support("s", "a", source="y")
    rows.summarize("n", supports=["s"])
    rows.withdraw("w", "s", span=(60, 100))
    assert causes(rows, "n", 70, since=(10, 3)) == {Cause(positions=(4,))}
    assert causes(rows, "n", 70, since=(10, 4)) == {Cause(instant=60)}


def test_a_view_that_knows_less_than_since_takes_the_knowledge_back(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.summarize("n", ["a"])
    rows.withdraw("w", "a")
    rows.claim("b", source="x")
    result = reconcile(rows.truth(0, 2), rows.truth(0, 4))
    assert result.restored["", "n"].causes == {Cause(positions=(3,))}
    result = reconcile(rows.truth(0, 1), rows.truth(0, 2))
    assert result.invalidated["", "n"].reason == "not_yet_registered"
    assert result.invalidated["", "n"].causes == {Cause(positions=(2,))}


def test_reconciling_covers_what_is_in_sight() -> None:
    rows = Rows("w")
    rows.claim("a", source="x", workspace="")
    rows.summarize("common", ["a"], workspace="")
    rows.summarize("own", [shared("a")])
    rows.summarize("foreign", [shared("a")], workspace="other")
    rows.withdraw("w", "a", workspace="")
    before = rows.truth(0, 4)
    assert set(reconcile(rows.truth(0), before).invalidated) == {("", "common"), ("w", "own")}
    assert set(reconcile(rows.truth(0, shared=False), before).invalidated) == {("w", "own")}
