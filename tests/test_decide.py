"""What may be appended: each refusal says what is wrong and leaves everything as it was."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa.engine.errors import (
    CorrectionRing,
    DuplicateId,
    InvalidEvent,
    InvalidTime,
    RevisionConflict,
    UnknownTarget,
)
from doxa.ledger import Ledger

Fields = dict[str, Any]


def claim(id: str, **more: Any) -> Fields:
    fields = {"event": "claim", "id": id, "subject": "s", "predicate": "p", "object": id}
    return fields | ({} if "because" in more else {"source": "A"}) | more


def correction(id: str, old: str, by: str | None = None, **more: Any) -> Fields:
    fields = {"event": "correction", "id": id, "corrects": old, "by": by} | more
    return {name: value for name, value in fields.items() if name != "by" or value is not None}


def withdrawal(id: str, target: str | None = None, **more: Any) -> Fields:
    return {"event": "withdrawal", "id": id} | ({} if target is None else {"target": target}) | more


def refused(
    ledger: Ledger, error: type[doxa.DoxaError], *events: Fields, said: str = "", **more: Any
) -> None:
    """The events are refused with this error, and nothing has changed."""
    before = ledger.revision, ledger.view(valid_at="2024-06-01").fingerprint
    with pytest.raises(error) as caught:
        ledger.append(events, **more)
    assert type(caught.value) is error
    assert said in str(caught.value)
    assert (ledger.revision, ledger.view(valid_at="2024-06-01").fingerprint) == before


@pytest.fixture
def three(ledger: Ledger) -> Ledger:
    ledger.append([claim("a"), claim("b"), claim("c")])
    return ledger


# ---------------------------------------------------------------- references


def test_events_of_a_commit_may_name_one_another_in_any_order(ledger: Ledger) -> None:
    ledger.append(
        [
            withdrawal("d", "s"),
            correction("k", "a", "b"),
            {"event": "citation", "id": "q", "text": "…", "supports": ["a/support", "s"]},
            {"event": "support", "id": "s", "claim": "a", "because": ["b"]},
            claim("a"),
            claim("b"),
        ]
    )
    view = ledger.view(valid_at="2024-06-01")
    assert view.standing("a") == "superseded"
    assert [support.live for support in view.supports("a")] == [True, False]


@pytest.mark.parametrize(
    "event",
    [
        {"event": "support", "id": "n", "claim": "nobody", "source": "A"},
        claim("n", because=["a", "nobody"]),
        withdrawal("n", "nobody"),
        withdrawal("n", source="no such source"),
        correction("n", "nobody"),
        correction("n", "a", "nobody"),
        {"event": "citation", "id": "n", "text": "…", "supports": ["s/support"]},
        {"event": "summary", "id": "n", "text": "…", "sources": ["no such source"]},
        {"event": "policy", "id": "n", "contradicts": ["a", "nobody"]},
        {"event": "policy", "id": "n", "verified": "nobody"},
        {"event": "policy", "id": "n", "pinned": "nobody"},
        {"event": "policy", "id": "n", "pinned": "a", "workspace": "w"},
        claim("n", because=[{"workspace": "", "id": "nobody"}], workspace="w"),
        claim("n", because=["a"], workspace="w"),
    ],
)
def test_a_target_that_is_not_there_is_refused(three: Ledger, event: Fields) -> None:
    refused(three, UnknownTarget, event)
    refused(three, UnknownTarget, claim("fine"), event)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "support", "id": "n", "claim": "k", "source": "A"},
        claim("n", because=["k"]),
        correction("n", "k"),
        {"event": "citation", "id": "n", "text": "…", "supports": ["a"]},
        {"event": "summary", "id": "n", "text": "…", "citations": ["u"]},
        withdrawal("n", "n"),
        correction("n", "a", "a"),
        {"event": "policy", "id": "n", "contradicts": ["a", "a"]},
        {"event": "policy", "id": "n", "pinned": "k"},
        {"event": "policy", "id": "n", "pinned": "a", "verified": "a"},
        {"event": "policy", "id": "n", "calibrated": {}},
        claim("n/support"),
    ],
)
def test_a_target_of_the_wrong_kind_is_refused(three: Ledger, event: Fields) -> None:
    three.append(
        [correction("k", "c"), {"event": "summary", "id": "u", "text": "…", "facts": ["a", "b"]}]
    )
    refused(three, InvalidEvent, event)


def test_a_withdrawal_comes_after_the_withdrawal_that_it_takes_back(three: Ledger) -> None:
    refused(three, InvalidEvent, withdrawal("e", "d"), withdrawal("d", "a"), said="put it after")
    three.append([withdrawal("d", "a"), withdrawal("e", "d")])
    assert three.view(valid_at="2024-06-01").standing("a") == "reported"


def test_a_claim_without_a_basis_has_no_support_to_name(ledger: Ledger) -> None:
    ledger.append([claim("bare", source=None)])
    refused(ledger, UnknownTarget, withdrawal("d", "bare/support"))


# ---------------------------------------------------------------- repeats


def test_the_same_again_is_no_news_whatever_is_expected(three: Ledger) -> None:
    done = three.append([claim("a"), claim("b")], expected_revision=0)
    assert (done.new, done.repeated, done.revision) == (0, 2, 3)


def test_a_repeated_correction_may_leave_out_what_was_filled_in(ledger: Ledger) -> None:
    ledger.append([claim("a", valid_from="2024-01-01"), claim("b", valid_to="2025-01-01")])
    ledger.append([correction("k", "a", "b")])
    assert ledger.append([correction("k", "a", "b")]).repeated == 1
    stated = {"valid_from": "2024-01-01", "valid_to": "2025-01-01"}
    assert ledger.append([correction("k", "a", "b", **stated)]).repeated == 1
    refused(ledger, DuplicateId, correction("k", "a", "b", valid_to="2024-12-31"))


def test_an_id_is_taken_once_in_its_workspace(three: Ledger) -> None:
    refused(three, DuplicateId, claim("a", object=2), said="other content")
    refused(three, DuplicateId, withdrawal("a", "b"))
    refused(three, DuplicateId, claim("n"), claim("n", object=2))
    assert three.append([claim("a", object=2, workspace="w")]).new == 1


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), ([1, {"k": 2}], [1.0, {"k": 2.0}])])
def test_numbers_are_equal_by_value(ledger: Ledger, one: Any, other: Any) -> None:
    ledger.append([claim("a", object=one)])
    assert ledger.append([claim("a", object=other)]).repeated == 1


def test_true_is_not_one_and_text_is_no_number(ledger: Ledger) -> None:
    ledger.append([claim("a", object=1)])
    refused(ledger, DuplicateId, claim("a", object=True))
    refused(ledger, DuplicateId, claim("a", object="1"))


def test_what_moved_meanwhile_is_a_conflict_in_its_workspace_only(three: Ledger) -> None:
    three.append([claim("a", workspace="w")])
    refused(three, RevisionConflict, claim("n"), expected_revision=2)
    assert three.append([claim("n")], expected_revision=3).new == 1
    refused(three, RevisionConflict, claim("m", workspace="w"), expected_revision=3)


# ---------------------------------------------------------------- portions


def test_a_correction_is_of_what_both_claims_share(ledger: Ledger) -> None:
    ledger.append(
        [
            claim("a", valid_from="2024-01-01", valid_to="2024-09-01"),
            claim("b", valid_from="2024-03-01"),
            correction("k", "a", "b"),
        ]
    )
    standing = [str(ledger.view(valid_at=at).standing("a")) for at in ("2024-02-29", "2024-03-01")]
    assert standing == ["reported", "superseded"]
    assert ledger.view(valid_at="2024-09-01").standing("a") == "expired"


def test_a_correction_by_what_never_meets_it_states_its_portion(ledger: Ledger) -> None:
    ledger.append([claim("a", valid_to="2024-01-01"), claim("b", valid_from="2024-03-01")])
    refused(ledger, InvalidTime, correction("k", "a", "b"), said="give valid_from and valid_to")
    refused(ledger, InvalidTime, correction("k", "a", valid_from="2025-01-01"), said="inverted")
    both = {"valid_from": "2023-01-01", "valid_to": "2025-01-01"}
    assert ledger.append([correction("k", "a", "b", **both)]).new == 1


# ---------------------------------------------------------------- sources with nothing left


def test_a_withdrawn_source_can_carry_nothing_new(three: Ledger) -> None:
    three.append([withdrawal("d", source="A", valid_from="2024-01-01", valid_to="2025-01-01")])
    within = {"valid_from": "2024-02-01", "valid_to": "2024-03-01"}
    refused(three, InvalidEvent, claim("n", **within), said="withdraw that withdrawal first")
    refused(three, InvalidEvent, correction("n", "a", source="A", **within))
    refused(
        three, InvalidEvent, {"event": "support", "id": "n", "claim": "a", "source": "A", **within}
    )
    assert three.append([claim("n", valid_from="2024-12-31")]).new == 1
    assert three.append([withdrawal("e", "d"), claim("m", **within)]).new == 2


def test_a_source_withdrawn_in_the_shared_workspace_is_withdrawn_everywhere(three: Ledger) -> None:
    three.append([claim("a", workspace="w")])
    three.append([withdrawal("d", source="A")])
    refused(three, InvalidEvent, claim("n", workspace="w"))


def test_a_source_and_its_withdrawal_in_one_commit_leave_nothing(ledger: Ledger) -> None:
    refused(ledger, InvalidEvent, claim("a"), withdrawal("d", source="A"))


# ---------------------------------------------------------------- rings of corrections


def test_a_ring_is_refused_at_any_length(three: Ledger) -> None:
    three.append([correction("k", "a", "b"), correction("l", "b", "c")])
    refused(three, CorrectionRing, correction("m", "c", "a"), said="c by a by b by c")
    refused(three, CorrectionRing, correction("m", "b", "a"))


def test_a_ring_within_one_commit_is_refused(three: Ledger) -> None:
    ring = [correction("k", "a", "b"), correction("l", "b", "c"), correction("m", "c", "a")]
    refused(three, CorrectionRing, *ring)
    assert three.append(ring[:2]).new == 2


def test_corrections_that_share_no_instant_make_no_ring(three: Ledger) -> None:
    three.append([correction("k", "a", "b", valid_from=None, valid_to="2024-01-01")])
    back = correction("l", "b", "a", valid_from="2024-01-01", valid_to=None)
    assert three.append([back]).new == 1
    refused(
        three, CorrectionRing, correction("m", "b", "a", valid_from="2023-12-31", valid_to=None)
    )


def test_a_ring_through_a_later_claim_is_found_behind_one_that_is_no_ring(three: Ledger) -> None:
    three.append([claim("x"), claim("y")])
    three.append([correction("k1", "a", "b", valid_from=None, valid_to="2024-01-01")])
    three.append([correction("k2", "a", "c", valid_from="2024-01-01", valid_to=None)])
    three.append([correction("k3", "b", "x"), correction("k4", "c", "x")])
    refused(three, CorrectionRing, correction("k5", "x", "a"))
    early = {"valid_from": None, "valid_to": "2024-01-01"}
    refused(three, CorrectionRing, correction("k5", "x", "a", **early))
    assert three.append([correction("k5", "x", "y")]).new == 1


def test_to_go_back_the_correction_is_withdrawn(three: Ledger) -> None:
    three.append([correction("k", "a", "b")])
    assert three.append([withdrawal("d", "k"), correction("l", "b", "a")]).new == 2
    view = three.view(valid_at="2024-06-01")
    assert (view.standing("a"), view.successors("b")) == ("reported", ["a"])


def test_a_ring_that_a_restoration_closes_leaves_its_members_superseded(three: Ledger) -> None:
    three.append([correction("k", "a", "b")])
    three.append([withdrawal("d", "k"), correction("l", "b", "a")])
    three.append([withdrawal("e", "d")])
    view = three.view(valid_at="2024-06-01")
    assert view.standing("a") == view.standing("b") == "superseded"
    assert view.successors("a") == view.successors("b") == []


def test_a_ring_whose_source_fell_is_none(three: Ledger) -> None:
    three.append([claim("n", source="B"), correction("k", "a", "b", source="B")])
    refused(three, CorrectionRing, correction("l", "b", "a"))
    assert three.append([withdrawal("d", source="B"), correction("l", "b", "a")]).new == 2
