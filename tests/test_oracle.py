"""The oracle's beliefs against answers worked out by hand: extents, what is held, standings."""

from __future__ import annotations

import pytest

from doxa.oracle import Truth
from tests.oracle_rows import Rows, shared

TENS = list(range(0, 100, 10))


@pytest.fixture
def rows() -> Rows:
    return Rows()


# ---------------------------------------------------------------- time and knowledge


def test_an_interval_holds_its_start_and_not_its_end(rows: Rows) -> None:
    rows.claim("a", span=(20, 40), source="x")
    assert [rows.standing("a", at) for at in (19, 20, 39, 40)] == [
        "not_yet_valid",
        "reported",
        "reported",
        "expired",
    ]


def test_an_open_bound_holds_for_ever(rows: Rows) -> None:
    rows.claim("a", span=(None, None), source="x")
    assert rows.standing("a", -(2**63)) == rows.standing("a", 2**63 - 2) == "reported"


def test_what_is_recorded_later_is_not_yet_known(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", source="x")
    assert rows.standing("b", 0, known_at=1) == "not_yet_known"
    assert rows.standing("b", 0, known_at=2) == "reported"
    assert rows.standing("nobody", 0) == rows.standing("a", 0, known_at=0) == "not_yet_known"
    assert rows.truth(0, 1).standings() == {("", "a"): "reported"}


def test_known_at_is_inclusive_and_a_commit_is_one_instant(rows: Rows) -> None:
    rows.claim("a", source="x")
    with rows.commit():
        rows.claim("b", source="x")
        rows.claim("c", source="x")
    log = rows.log()
    assert [log.known_at(at) for at in (999, 1000, 1009, 1010, 9999)] == [0, 1, 1, 3, 3]
    with pytest.raises(ValueError, match="2 is not the last position of a commit"):
        Truth(log, 0, 2)


# ---------------------------------------------------------------- withdrawals


def test_a_withdrawn_portion_is_retracted_and_the_rest_stands(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.withdraw("w", "a", span=(20, 40))
    assert rows.where("retracted", "a") == [20, 30]
    assert rows.where("reported", "a") == [0, 10, 40, 50, 60, 70, 80, 90]
    assert rows.standing("a", 20, known_at=1) == "reported"


def test_a_withdrawal_shows_outside_the_claims_own_interval(rows: Rows) -> None:
    rows.claim("a", span=(20, 40), source="x")
    rows.withdraw("w", "a", span=(10, 90))
    assert rows.where("retracted", "a") == [10, 20, 30, 40, 50, 60, 70, 80]
    assert rows.standing("a", 0) == "not_yet_valid"
    assert rows.standing("a", 90) == "expired"


def test_withdrawing_a_withdrawal_restores_exactly_its_portion(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.withdraw("w1", "a", span=(20, 80))
    rows.withdraw("w2", "w1", span=(30, 60))
    rows.withdraw("w3", "w2", span=(40, 50))
    assert rows.where("retracted", "a") == [20, 40, 60, 70]
    rows.withdraw("w4", "w3")
    assert rows.where("retracted", "a") == [20, 60, 70]


def test_a_target_may_come_later_in_the_commit_of_its_withdrawal(rows: Rows) -> None:
    with rows.commit():
        rows.withdraw("w", "a")
        rows.claim("a", source="x")
    assert rows.standing("a", 0) == "retracted"


def test_a_withdrawn_support_takes_its_conclusions_with_it(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", because=["a"])
    rows.withdraw("w", "a/support", span=(0, 50))
    assert rows.where("unsupported", "a") == rows.where("unsupported", "b") == [0, 10, 20, 30, 40]


def test_a_claim_falls_with_its_last_support(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.support("s", "a", source="y", span=(50, 100))
    rows.withdraw("w", "a/support")
    assert rows.where("reported", "a") == [50, 60, 70, 80, 90]
    rows.withdraw("w2", "s")
    assert rows.where("unsupported", "a") == TENS


def test_withdrawing_a_claim_leaves_its_support_alive(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.withdraw("w", "a")
    assert rows.truth(0).live_supports("a") == ("a/support",)


# ---------------------------------------------------------------- sources


def test_a_source_withdrawn_reaches_its_earlier_and_later_events(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.withdraw("w", source="x", span=(0, 50))
    rows.claim("b", source="x")
    assert rows.where("unsupported", "a") == rows.where("unsupported", "b") == [0, 10, 20, 30, 40]
    rows.withdraw("w2", "w", span=(0, 20))
    assert rows.where("unsupported", "a") == rows.where("unsupported", "b") == [20, 30, 40]


def test_a_source_withdrawn_in_the_shared_workspace_is_withdrawn_everywhere() -> None:
    rows = Rows("w")
    rows.claim("a", source="x")
    rows.claim("b", source="x", workspace="")
    rows.claim("c", source="x", workspace="other")
    rows.withdraw("here", source="x", span=(0, 50))
    rows.withdraw("everywhere", source="x", span=(40, 60), workspace="")
    assert rows.where("unsupported", "a") == [0, 10, 20, 30, 40, 50]
    assert rows.where("unsupported", "b") == [40, 50]
    assert [rows.standing("c", at, workspace="other") for at in (30, 40, 60)] == [
        "reported",
        "unsupported",
        "reported",
    ]


def test_a_withdrawal_does_not_fall_with_the_source_that_asked_for_it(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.withdraw("w", "a", asked_by={"id": "court"})
    rows.withdraw("w2", source="court")
    assert rows.standing("a", 0) == "retracted"


# ---------------------------------------------------------------- corrections


def test_a_correction_replaces_over_its_portion(rows: Rows) -> None:
    rows.claim("a", "red", source="x")
    rows.claim("b", "blue", span=(30, 60), source="x")
    rows.correct("k", "a", by="b", span=(30, 60))
    assert [rows.truth(at).values("s", "p") for at in (20, 30, 60)] == [["red"], ["blue"], ["red"]]
    assert rows.where("superseded", "a") == [30, 40, 50]
    assert rows.truth(30).successors("a") == ("b",)
    assert rows.truth(20).successors("a") == ()


def test_a_correction_shows_outside_the_claims_own_interval(rows: Rows) -> None:
    rows.claim("a", span=(20, 40), source="x")
    rows.correct("k", "a")
    assert rows.where("superseded", "a") == TENS


def test_withdrawing_a_correction_restores_and_leaves_the_replacement(rows: Rows) -> None:
    rows.claim("a", "red", source="x")
    rows.claim("b", "blue", source="x")
    rows.correct("k", "a", by="b", span=(0, 100))
    rows.withdraw("w", "k", span=(0, 50))
    assert rows.truth(0).values("s", "p") == ["red", "blue"]
    assert rows.truth(50).values("s", "p") == ["blue"]


def test_withdrawing_the_replacement_alone_leaves_nothing_there(rows: Rows) -> None:
    rows.claim("a", "red", source="x")
    rows.claim("b", "blue", source="x")
    rows.correct("k", "a", by="b", span=(0, 100))
    rows.withdraw("w", "b", span=(0, 50))
    assert rows.truth(0).values("s", "p") == []
    assert rows.standing("a", 0) == "superseded"
    assert rows.truth(0).successors("a") == ("b",)
    assert rows.truth(50).values("s", "p") == ["blue"]


def test_a_correction_falls_with_the_source_that_it_names(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.correct("k", "a", span=(0, 60), source="letter")
    rows.withdraw("w", source="letter", span=(40, 100))
    assert rows.where("superseded", "a") == [0, 10, 20, 30]
    assert rows.where("reported", "a") == [40, 50, 60, 70, 80, 90]


def test_a_corrected_premise_no_longer_carries_its_conclusion(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", because=["a"])
    rows.correct("k", "a", span=(50, 100))
    assert rows.where("unsupported", "b") == [50, 60, 70, 80, 90]


def test_successors_are_followed_to_the_ends_held_ones_first(rows: Rows) -> None:
    for id in "abcdef":
        rows.claim(id, source="x")
    rows.correct("k1", "a", by="b")
    rows.correct("k2", "a", by="c")
    rows.correct("k3", "b", by="d")
    rows.correct("k4", "c", by="e")
    rows.correct("k5", "c", by="f")
    rows.correct("k6", "e", span=(50, 100))
    rows.withdraw("w", "d", span=(20, 30))
    assert rows.truth(0).successors("a") == ("d", "e", "f")
    assert rows.truth(20).successors("a") == ("e", "f", "d")
    assert rows.truth(50).successors("a") == ("d", "f")
    assert rows.truth(50).successors("e") == ()


def test_a_ring_of_corrections_has_no_successors_of_its_own(rows: Rows) -> None:
    for id in "abc":
        rows.claim(id, source="x")
    rows.correct("k1", "a", by="b")
    rows.correct("k2", "b", by="a", span=(0, 50))
    assert rows.truth(0).successors("a") == rows.truth(0).successors("b") == ()
    assert {rows.standing(id, 0) for id in "ab"} == {"superseded"}
    rows.correct("k3", "b", by="c")
    assert rows.truth(0).successors("a") == rows.truth(0).successors("b") == ("c",)


def test_a_very_long_chain_of_corrections_is_walked(rows: Rows) -> None:
    with rows.commit():
        for at in range(3000):
            rows.claim(f"c{at}", source="x")
        for at in range(2999):
            rows.correct(f"k{at}", f"c{at}", by=f"c{at + 1}")
    assert rows.truth(0).successors("c0") == ("c2999",)


# ---------------------------------------------------------------- derivations


def test_a_derivation_needs_every_premise_and_one_derivation_is_enough(rows: Rows) -> None:
    rows.claim("a", span=(0, 60), source="x")
    rows.claim("b", span=(30, 100), source="x")
    rows.claim("c", span=(80, 100), source="x")
    rows.claim("d", because=["a", "b"])
    rows.support("s", "d", because=["c"], span=(0, 90))
    assert rows.where("reported", "d") == [30, 40, 50, 80]
    assert rows.truth(80).live_supports("d") == ("s",)


def test_claims_that_support_each_other_in_a_ring_are_not_held(rows: Rows) -> None:
    with rows.commit():
        rows.claim("a", because=["b"])
        rows.claim("b", because=["a"])
    assert rows.standing("a", 0) == rows.standing("b", 0) == "unsupported"
    rows.support("s", "b", source="x", span=(0, 50))
    assert rows.where("reported", "a") == rows.where("reported", "b") == [0, 10, 20, 30, 40]
    rows.withdraw("w", "s")
    assert rows.where("reported", "a") == []


def test_a_conclusion_recorded_before_its_premises_is_reached(rows: Rows) -> None:
    rows.claim("base", source="x")
    for at in range(50):
        rows.claim(f"c{at}")
    for at in range(49):
        rows.support(f"s{at}", f"c{at}", because=[f"c{at + 1}"])
    rows.support("last", "c49", because=["base"])
    assert rows.standing("c0", 0) == "reported"
    assert rows.standing("c0", 0, known_at=rows.head - 1) == "unsupported"


def test_a_conclusion_may_rest_on_a_shared_claim() -> None:
    rows = Rows("w")
    rows.claim("a", span=(0, 50), source="x", workspace="")
    rows.claim("a", span=(0, 20), source="x")
    rows.claim("b", because=[shared("a")])
    assert rows.where("reported", "b") == [0, 10, 20, 30, 40]
    assert rows.standing("b", 40, shared=False) == "reported"


def test_a_hypothesis_is_never_held_and_carries_nothing(rows: Rows) -> None:
    rows.claim("a", kind="hypothesis", source="x", span=(10, 50))
    rows.claim("b", because=["a"])
    assert rows.where("hypothesis", "a") == [10, 20, 30, 40]
    assert rows.standing("b", 20) == "unsupported"
    assert rows.truth(20).held() == set()
    rows.withdraw("w", "a")
    assert rows.standing("a", 20) == "retracted"


# ---------------------------------------------------------------- contested


def test_a_refuting_source_contests_and_never_supports(rows: Rows) -> None:
    rows.claim("a", source="x", span=(20, 100))
    rows.support("s", "a", source="y", span=(0, 50), refutes=True)
    assert rows.where("contested", "a") == [20, 30, 40]
    rows.withdraw("w", "a/support")
    assert rows.standing("a", 30) == "unsupported"
    rows.withdraw("w2", source="y")
    assert rows.truth(30).live_supports("a") == ()


def test_a_derived_refutation_counts_while_its_premise_is_held(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("b", source="x", span=(0, 50))
    rows.support("s", "a", because=["b"], refutes=True)
    assert rows.where("contested", "a") == [0, 10, 20, 30, 40]
    assert rows.truth(0).live_supports("a") == ("a/support", "s")
    rows.withdraw("w", "b")
    assert rows.where("contested", "a") == []


def test_rivals_share_subject_predicate_perspective_and_workspace_but_not_the_object() -> None:
    rows = Rows("w")
    rows.single_valued("pol", "p")
    rows.claim("a", 1, source="x")
    rows.claim("same", 1.0, source="x")
    rows.claim("elsewhere", 2, source="x", workspace="")
    rows.claim("other subject", 2, source="x", subject="t")
    rows.claim("other predicate", 2, source="x", predicate="q")
    rows.claim("other eyes", 2, source="x", perspective="bob")
    assert set(rows.truth(0).standings().values()) == {"reported"}
    rows.claim("rival", True, source="x", span=(0, 50))
    standings = rows.truth(0).standings()
    assert {id for (_, id), what in standings.items() if what == "contested"} == {
        "a",
        "same",
        "rival",
    }
    assert rows.where("contested", "a") == [0, 10, 20, 30, 40]


def test_a_policy_counts_from_its_recording_until_withdrawn(rows: Rows) -> None:
    rows.claim("a", 1, source="x")
    rows.claim("b", 2, source="x")
    rows.single_valued("pol", "p")
    rows.withdraw("w", "pol", span=(0, 50))
    assert rows.standing("a", 0, known_at=2) == "reported"
    assert rows.standing("a", 0, known_at=3) == "contested"
    assert rows.where("contested", "a") == [50, 60, 70, 80, 90]


def test_a_shared_policy_counts_in_every_workspace_and_another_only_in_its_own() -> None:
    rows = Rows("w")
    for workspace in ("w", ""):
        rows.claim("a", 1, source="x", workspace=workspace)
        rows.claim("b", 2, source="x", workspace=workspace)
    rows.single_valued("own", "p")
    assert rows.truth(0).standing("a", "w") == "contested"
    assert rows.truth(0).standing("a", "") == "reported"
    rows.withdraw("w1", "own")
    rows.single_valued("all", "p", workspace="")
    assert rows.truth(0).standing("a", "w") == rows.truth(0).standing("a", "") == "contested"


def test_declared_contradictions_hold_pairwise_among_the_held(rows: Rows) -> None:
    rows.claim("a", source="x", span=(0, 60))
    rows.claim("b", source="x", span=(20, 80), perspective="bob")
    rows.claim("c", source="x", span=(50, 100), subject="t")
    rows.contradict("pol", "a", "b", "c")
    assert rows.where("contested", "a") == [20, 30, 40, 50]
    assert rows.where("contested", "b") == [20, 30, 40, 50, 60, 70]
    assert rows.where("contested", "c") == [50, 60, 70]


# ---------------------------------------------------------------- corroboration


def test_two_distinct_origins_corroborate(rows: Rows) -> None:
    rows.claim("a", source={"id": "x", "origin": "o"})
    rows.support("s1", "a", source={"id": "y", "origin": "o"})
    assert rows.standing("a", 0) == "reported"
    rows.support("s2", "a", source="o")
    assert rows.standing("a", 0) == "reported"
    rows.support("s3", "a", source="z", span=(0, 50))
    assert rows.where("corroborated", "a") == [0, 10, 20, 30, 40]
    assert rows.truth(0).origins("a") == (("o",), ("z",))


def test_sources_of_one_digest_count_once_also_through_a_third(rows: Rows) -> None:
    rows.claim("a", source={"id": "x", "digest": "d1"})
    rows.support("s1", "a", source={"id": "y", "digest": "d2"})
    assert rows.standing("a", 0) == "corroborated"
    rows.support("s2", "a", source={"id": "y", "digest": "d1"})
    assert rows.standing("a", 0) == "reported"
    assert rows.truth(0).origins("a") == (("x", "y"),)


def test_derivations_and_refutations_add_no_origin(rows: Rows) -> None:
    rows.claim("b", source="y")
    rows.claim("a", source="x")
    rows.support("s1", "a", because=["b"])
    assert rows.standing("a", 0) == "reported"
    rows.support("s2", "a", source="z", refutes=True)
    assert rows.standing("a", 0) == "contested"
    assert rows.truth(0).origins("a") == (("x",),)


# ---------------------------------------------------------------- standing


def test_the_first_standing_that_applies_is_given(rows: Rows) -> None:
    rows.claim("a", 1, kind="hypothesis", span=(20, 60))
    rows.claim("b", 2, span=(20, 60))
    rows.correct("ka", "a", span=(0, 30))
    rows.withdraw("wa", "a", span=(0, 10))
    assert [rows.standing("a", at) for at in (0, 10, 20, 30, 60)] == [
        "retracted",
        "superseded",
        "superseded",
        "hypothesis",
        "expired",
    ]
    assert [rows.standing("b", at) for at in (10, 20, 60)] == [
        "not_yet_valid",
        "unsupported",
        "expired",
    ]
    rows.erase("a")
    assert rows.standing("a", 0) == "redacted"
    assert rows.standing("a", 0, known_at=0) == "not_yet_known"
