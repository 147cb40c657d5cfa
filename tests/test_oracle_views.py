"""The oracle's views against answers worked out by hand: values, fingerprints, histories, rings."""

from __future__ import annotations

import pytest

from doxa.oracle import Contested, NotHeld, Several, diff, history, rings
from tests.oracle_rows import Rows


@pytest.fixture
def rows() -> Rows:
    return Rows()


# ---------------------------------------------------------------- values and sight


def test_values_are_distinct_and_the_first_recorded_comes_first(rows: Rows) -> None:
    rows.claim("a", 2, source="x")
    rows.claim("b", {"n": [1, None]}, source="x")
    rows.claim("c", 2.0, source="x")
    rows.claim("d", {"n": [1.0, None]}, source="x")
    rows.claim("e", True, source="x")
    rows.claim("f", 1, source="x")
    assert rows.truth(0).values("s", "p") == [2, {"n": [1, None]}, True, 1]


def test_an_erased_claim_is_listed_without_content(rows: Rows) -> None:
    rows.claim("a", "red", source="x")
    rows.claim("b", because=["a"], subject="t")
    rows.erase("a")
    assert rows.truth(0).values("s", "p") == []
    assert rows.truth(0).standings() == {("", "a"): "redacted", ("", "b"): "reported"}


def test_value_gives_the_one_object_or_says_why_not(rows: Rows) -> None:
    with pytest.raises(NotHeld):
        rows.truth(0).value("s", "p")
    rows.claim("a", "red", source="x")
    rows.claim("b", "red", source="x")
    assert rows.truth(0).value("s", "p") == "red"
    rows.support("r", "b", source="y", refutes=True, span=(0, 50))
    with pytest.raises(Contested):
        rows.truth(0).value("s", "p")
    rows.claim("c", "blue", source="x")
    with pytest.raises(Several) as raised:
        rows.truth(50).value("s", "p")
    assert raised.type is Several


def test_a_view_sees_its_workspace_and_the_shared_one() -> None:
    rows = Rows("w")
    rows.claim("a", "own", source="x")
    rows.claim("a", "common", source="x", workspace="")
    rows.claim("b", "common too", source="x", workspace="")
    rows.claim("c", "foreign", source="x", workspace="other")
    assert rows.truth(0).values("s", "p") == ["own", "common", "common too"]
    assert rows.truth(0, shared=False).values("s", "p") == ["own"]
    assert rows.truth(0, workspace="").values("s", "p") == ["common", "common too"]
    assert rows.standing("b", 0) == "reported"
    assert rows.standing("b", 0, shared=False) == rows.standing("c", 0) == "not_yet_known"


def test_an_id_means_the_own_workspaces_claim_once_that_is_known() -> None:
    rows = Rows("w")
    rows.claim("a", workspace="", source="x")
    rows.claim("a")
    assert rows.standing("a", 0, known_at=1) == "reported"
    assert rows.standing("a", 0, known_at=2) == "unsupported"


def test_a_perspective_narrows_what_is_listed(rows: Rows) -> None:
    rows.claim("a", 1, source="x", perspective="ann")
    rows.claim("b", 2, source="x", perspective="bob")
    assert rows.truth(0).values("s", "p") == [1, 2]
    assert rows.truth(0, perspective="bob").values("s", "p") == [2]
    assert rows.truth(0, perspective="bob").held() == {("", "b")}
    assert [entry.id for entry in rows.truth(0, perspective="bob").entries()] == ["b"]


# ---------------------------------------------------------------- fingerprints


def test_entries_are_the_held_and_hypothesised_with_their_live_supports(rows: Rows) -> None:
    rows.claim("b", 1, source="x")
    rows.support("s", "b", source="y", refutes=True)
    rows.support("gone", "b", source="z", span=(50, 60))
    rows.claim("a", 1, kind="hypothesis", subject="t")
    rows.claim("c", 1, subject="t")
    rows.claim("d", 1, span=(50, 60), source="x", subject="t")
    assert rows.truth(0).entries() == (
        ("", "a", "hypothesis", ()),
        ("", "b", "contested", ("b/support", "s")),
    )
    assert [entry.id for entry in rows.truth(0).entries(["s"])] == ["b"]
    assert rows.truth(0).entries([]) == ()


def test_withdraw_and_restore_brings_the_fingerprint_back(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", because=["a"])
    before = rows.truth(0).entries()
    rows.withdraw("w", "a")
    assert rows.truth(0).entries() == ()
    rows.withdraw("w2", "w")
    assert rows.truth(0).entries() == before
    rows.claim("c", source="x")
    assert rows.truth(0).entries() != before
    assert rows.truth(0, 2).entries() == before


def test_time_passing_a_boundary_changes_the_fingerprint_with_no_event(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.support("s", "a", source="x", span=(20, 30))
    entries = [rows.truth(at).entries() for at in (19, 20, 29, 30)]
    assert entries[0] == entries[3] != entries[1] == entries[2]


# ---------------------------------------------------------------- across coordinates


def test_history_is_the_successive_distinct_beliefs(rows: Rows) -> None:
    rows.claim("other", source="x", subject="t")
    rows.claim("a", "red", source="x")
    rows.claim("b", "red", source="y")
    rows.support("r", "b", source="z", refutes=True)
    rows.withdraw("w1", "a")
    rows.withdraw("w2", "b")
    rows.claim("c", "blue", source="x", span=(50, 100))
    rows.claim("d", "blue", source="x")
    assert history(rows.log(), "s", "p", 0) == [
        (2, 1010, ("red",), False),
        (4, 1030, ("red",), True),
        (6, 1050, (), False),
        (8, 1070, ("blue",), False),
    ]
    assert history(rows.log(), "s", "q", 0) == []


def test_a_difference_names_each_claim_whose_standing_differs(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", because=["a"])
    rows.claim("c", source="x")
    rows.claim("d", source="x")
    rows.withdraw("w", "a")
    assert diff(rows.truth(0, 3), rows.truth(0)) == {
        ("", "a"): ("reported", "retracted"),
        ("", "b"): ("reported", "unsupported"),
        ("", "d"): ("not_yet_known", "reported"),
    }


def test_rings_of_corrections_are_found_wherever_they_close(rows: Rows) -> None:
    for id in "abcdef":
        rows.claim(id, source="x")
    rows.correct("k0", "f", by="a")
    rows.correct("k1", "a", by="b", span=(0, 50))
    rows.correct("k2", "b", by="c", span=(20, 80))
    rows.correct("k3", "c", by="a", span=(50, 90))
    rows.correct("k4", "c", by="d")
    log, head = rows.log(), rows.head
    assert rings(log, head) == set()
    rows.correct("k5", "c", by="a", span=(40, 45))
    rows.correct("k6", "d", by="e")
    rows.withdraw("w", "k6")
    rows.correct("k7", "e", by="d")
    assert rings(rows.log(), rows.head) == {frozenset({("", "a"), ("", "b"), ("", "c")})}
    assert rings(rows.log(), head) == set()
    rows.withdraw("w2", "w", span=(200, 201))
    assert frozenset({("", "d"), ("", "e")}) in rings(rows.log(), rows.head)
