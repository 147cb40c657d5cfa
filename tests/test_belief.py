"""Belief, kept up to date commit by commit: what each kind of event does to what is held."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from doxa.engine.errors import SeveralHeld
from doxa.engine.stream import Stream
from doxa.engine.view import TruthView
from doxa.ledger import Ledger

Fields = dict[str, Any]
DAYS = ("2023-12-31", "2024-01-01", "2024-03-01", "2024-06-01", "2024-09-01", "2025-01-01")
JUNE = "2024-06-01"


def claim(id: str, object: Any = None, **more: Any) -> Fields:
    fields = {"event": "claim", "id": id, "subject": "s", "predicate": "p"}
    fields["object"] = id if object is None else object
    return fields | ({} if "because" in more or "source" in more else {"source": "A"}) | more


def support(id: str, claim: str, **more: Any) -> Fields:
    return {"event": "support", "id": id, "claim": claim} | more


def withdrawal(id: str, target: str, **more: Any) -> Fields:
    return {"event": "withdrawal", "id": id, "target": target} | more


def correction(id: str, old: str, by: str, **more: Any) -> Fields:
    return {"event": "correction", "id": id, "corrects": old, "by": by} | more


def single(id: str, predicate: str = "p") -> Fields:
    return {"event": "policy", "id": id, "single_valued": predicate}


def standing(ledger: Ledger, id: str, at: str = JUNE, **more: Any) -> str:
    return str(ledger.view(valid_at=at, **more).standing(id))


def check_rebuilt(ledger: Ledger, commits: int = 5) -> None:
    """A fold made anew from the log believes what the one that grew with it believes."""
    anew, _ = Stream(ledger.recorder).capture()
    graph = anew.belief.graph
    for revision in {0, *list(graph.commit_last)[:: max(1, len(graph.commit_last) // commits)]}:
        for at in DAYS:
            view = ledger.view(valid_at=at, known_at=revision)
            same = TruthView(anew.belief, view.payload, valid_at=view.v, revision=revision)
            assert same.entries() == view.entries()


# ---------------------------------------------------------------- held


def test_a_conclusion_stands_where_all_its_premises_do(ledger: Ledger) -> None:
    ledger.append([claim("a", valid_to=JUNE), claim("b", valid_from="2024-03-01")])
    ledger.append([claim("c", because=["a", "b"])])
    assert [standing(ledger, "c", at) for at in ("2024-02-29", "2024-03-01", JUNE)] == [
        "unsupported",
        "reported",
        "unsupported",
    ]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_ring_of_claims_stands_with_a_source_and_falls_with_it(
    ledger: Ledger, length: int
) -> None:
    names = [f"c{n}" for n in range(length)]
    ledger.append([claim(name, because=[names[n - 1]]) for n, name in enumerate(names)])
    assert {standing(ledger, name) for name in names} == {"unsupported"}
    ledger.append([support("s", "c0", source="B", valid_from="2024-03-01")])
    assert {standing(ledger, name) for name in names} == {"reported"}
    assert {standing(ledger, name, "2024-02-01") for name in names} == {"unsupported"}
    ledger.append([withdrawal("d", "s", valid_from=JUNE)])
    assert {standing(ledger, name) for name in names} == {"unsupported"}
    assert {standing(ledger, name, "2024-05-31") for name in names} == {"reported"}
    ledger.append([withdrawal("e", "d")])
    assert {standing(ledger, name) for name in names} == {"reported"}
    check_rebuilt(ledger)


def test_a_second_way_keeps_a_conclusion_when_the_first_falls(ledger: Ledger) -> None:
    ledger.append([claim("a"), claim("b"), claim("c", because=["a"])])
    ledger.append([support("s", "c", because=["b"]), withdrawal("d", "a")])
    assert standing(ledger, "c") == "reported"
    ledger.append([withdrawal("e", "b")])
    assert standing(ledger, "c") == "unsupported"


def test_a_hypothesis_carries_no_conclusion(ledger: Ledger) -> None:
    ledger.append([claim("h", kind="hypothesis"), claim("c", because=["h"])])
    assert (standing(ledger, "h"), standing(ledger, "c")) == ("hypothesis", "unsupported")


def test_a_conclusion_may_rest_on_the_shared_workspace(ledger: Ledger) -> None:
    shared = {"workspace": "", "id": "a"}
    ledger.append([claim("a"), claim("c", because=[shared], workspace="w")])
    assert standing(ledger, "c", workspace="w") == "reported"
    ledger.append([withdrawal("d", "a")])
    assert standing(ledger, "c", workspace="w", shared=False) == "unsupported"


# ---------------------------------------------------------------- withdrawn and restored


def test_withdrawals_of_withdrawals_take_turns(ledger: Ledger) -> None:
    ledger.append([claim("a")])
    before = ledger.view(valid_at=JUNE).fingerprint
    for n, expected in enumerate(("retracted", "reported", "retracted", "reported")):
        ledger.append([withdrawal(f"d{n}", "a" if n == 0 else f"d{n - 1}")])
        assert standing(ledger, "a") == expected
    assert ledger.view(valid_at=JUNE).fingerprint == before
    check_rebuilt(ledger)


def test_a_portion_of_a_portion_is_restored(ledger: Ledger) -> None:
    ledger.append([claim("a")])
    ledger.append([withdrawal("d", "a", valid_from="2024-01-01", valid_to="2025-01-01")])
    ledger.append([withdrawal("e", "d", valid_from=JUNE)])
    assert [standing(ledger, "a", at) for at in DAYS] == [
        "reported", "retracted", "retracted", "reported", "reported", "reported",
    ]  # fmt: skip


def test_a_withdrawn_source_takes_earlier_and_later_words_and_gives_both_back(
    ledger: Ledger,
) -> None:
    ledger.append([claim("a"), claim("x", workspace="w")])
    ledger.append([{"event": "withdrawal", "id": "d", "source": "A", "valid_to": JUNE}])
    ledger.append([claim("b")])
    view = ledger.view(valid_at="2024-05-31", workspace="w")
    assert [str(view.standing(id)) for id in "axb"] == ["unsupported"] * 3
    assert standing(ledger, "b") == "reported"
    ledger.append([withdrawal("e", "d")])
    view = ledger.view(valid_at="2024-05-31", workspace="w")
    assert [str(view.standing(id)) for id in "axb"] == ["reported"] * 3


def test_a_withdrawn_replacement_leaves_nothing_and_a_withdrawn_correction_what_was(
    ledger: Ledger,
) -> None:
    ledger.append([claim("a"), claim("b"), correction("k", "a", "b")])
    ledger.append([withdrawal("d", "b")])
    assert (standing(ledger, "a"), standing(ledger, "b")) == ("superseded", "retracted")
    ledger.append([withdrawal("e", "k")])
    assert (standing(ledger, "a"), standing(ledger, "b")) == ("reported", "retracted")


def test_a_carried_support_is_withdrawn_by_its_name(ledger: Ledger) -> None:
    ledger.append([claim("a"), support("s", "a", source="B")])
    assert standing(ledger, "a") == "corroborated"
    ledger.append([withdrawal("d", "a/support")])
    assert standing(ledger, "a") == "reported"
    ledger.append([withdrawal("e", "s", valid_from=JUNE)])
    assert standing(ledger, "a") == "unsupported"


# ---------------------------------------------------------------- contested, corroborated


def test_a_policy_reaches_what_was_claimed_before_it_and_what_comes_after(ledger: Ledger) -> None:
    ledger.append([claim("a", 1)])
    ledger.append([single("p")])
    ledger.append([claim("b", 2, valid_from=JUNE)])
    assert [standing(ledger, "a", at) for at in ("2024-05-31", JUNE)] == ["reported", "contested"]
    ledger.append([withdrawal("d", "p", valid_from="2024-09-01")])
    assert [standing(ledger, "a", at) for at in (JUNE, "2024-09-01")] == ["contested", "reported"]
    check_rebuilt(ledger)


def test_equal_numbers_are_no_rivals_and_true_is_one_to_one(ledger: Ledger) -> None:
    ledger.append([single("p"), claim("a", 1), claim("b", 1.0)])
    assert standing(ledger, "b") == "reported"
    ledger.append([claim("c", True)])
    assert {standing(ledger, id) for id in "abc"} == {"contested"}


def test_a_claim_made_and_withdrawn_with_its_policy_contests_nothing(ledger: Ledger) -> None:
    ledger.append([single("p"), claim("a", 1), withdrawal("d", "a")])
    ledger.append([claim("b", 2)])
    assert standing(ledger, "b") == "reported"


def test_many_rivals_are_each_contested_where_they_meet(ledger: Ledger) -> None:
    months = [f"2024-{month:02}-01" for month in range(1, 13)]
    ledger.append([single("p")])
    ledger.append([claim(at, at, valid_from=at, valid_to=end) for at, end in pairwise(months)])
    assert {standing(ledger, at, at) for at in months[:-1]} == {"reported"}
    ledger.append([claim("all", 0)])
    assert {standing(ledger, at, at) for at in months[:-1]} == {"contested"}
    assert [standing(ledger, "all", at) for at in ("2023-12-31", months[0], months[-1])] == [
        "reported", "contested", "reported",
    ]  # fmt: skip
    ledger.append([withdrawal("d", "all")])
    assert {standing(ledger, at, at) for at in months[:-1]} == {"reported"}
    check_rebuilt(ledger)


def test_sources_that_share_an_origin_or_a_digest_are_one_however_they_are_linked(
    ledger: Ledger,
) -> None:
    sources = [
        {"id": "A", "origin": "o", "digest": "d"},
        {"id": "B", "digest": "d"},
        {"id": "C", "origin": "o", "digest": "e"},
        {"id": "D", "digest": "e"},
    ]
    ledger.append([claim("a", source=sources[0])])
    for n, source in enumerate(sources[1:]):
        ledger.append([support(f"s{n}", "a", source=source)])
        assert standing(ledger, "a") == "reported"
    ledger.append([withdrawal("w", "s1")])  # C was the link between A and D
    assert standing(ledger, "a") == "corroborated"


def test_one_of_many_supports_is_counted_once_where_it_was_taken_back_twice(
    ledger: Ledger,
) -> None:
    sources = [{"id": f"S{n}", "digest": f"d{n}"} for n in range(20)]
    ledger.append([claim("a", source=sources[0])])
    ledger.append([support(f"s{n}", "a", source=sources[n]) for n in range(1, 20)])
    spring = {"valid_from": "2024-03-01", "valid_to": JUNE}
    autumn = {"valid_from": "2024-09-01", "valid_to": "2025-01-01"}
    ledger.append([withdrawal("d", "s1", **spring), withdrawal("e", "s1", **autumn)])
    assert {standing(ledger, "a", at) for at in DAYS} == {"corroborated"}
    check_rebuilt(ledger)


def test_a_source_that_was_withdrawn_before_does_not_agree_with_one_of_the_same_commit(
    ledger: Ledger,
) -> None:
    drop = {"event": "withdrawal", "id": "d", "source": "A", "valid_to": DAYS[2]}
    ledger.append([claim("old")])
    ledger.append([drop])
    ledger.append([claim("a", valid_from=DAYS[1]), support("s", "a", source="B")])
    assert standing(ledger, "a", DAYS[1]) == "reported"
    assert standing(ledger, "a", DAYS[2]) == "corroborated"
    check_rebuilt(ledger)


# ---------------------------------------------------------------- views


def test_of_equal_values_the_first_recorded_is_shown(ledger: Ledger) -> None:
    ledger.append([claim("a", 1.0)])
    ledger.append([claim("b", 1)])
    view = ledger.view(valid_at=JUNE)
    assert [repr(value) for value in (view.value("s", "p"), *view.values("s", "p"))] == ["1.0"] * 2
    ledger.append([claim("c", True)])
    with pytest.raises(SeveralHeld):
        ledger.view(valid_at=JUNE).value("s", "p")


def test_a_belief_in_another_order_is_no_other_belief(ledger: Ledger) -> None:
    ledger.append([claim("a", 1), claim("b", 2), claim("c", 1)])
    ledger.append([withdrawal("d", "a")])
    assert [belief.values for belief in ledger.history("s", "p", valid_at=JUNE)] == [(1, 2)]


def test_a_view_says_nothing_of_workspaces_out_of_its_sight(ledger: Ledger) -> None:
    ledger.append([claim("a", workspace="w"), claim("b")])
    assert ledger.view(valid_at=JUNE).standing("a", workspace="w") == "not_yet_known"
    alone = ledger.view(valid_at=JUNE, workspace="w", shared=False)
    assert alone.standing("b", workspace="") == "not_yet_known"
    assert alone.standing({"workspace": "", "id": "b"}) == "not_yet_known"
    assert alone.supports("b", workspace="") == []


def test_a_text_is_judged_by_what_was_registered_then(ledger: Ledger) -> None:
    ledger.append([claim("a"), {"event": "summary", "id": "u", "text": "…", "facts": ["a"]}])
    then = ledger.revision
    ledger.append(
        [
            claim("b", workspace="w"),
            {"event": "summary", "id": "u", "text": "…", "facts": ["b"], "workspace": "w"},
            withdrawal("d", "b") | {"workspace": "w"},
        ]
    )
    (before,) = ledger.judge("u", ledger.view(valid_at=JUNE, known_at=then, workspace="w"))
    (now,) = ledger.judge("u", ledger.view(valid_at=JUNE, workspace="w"))
    assert (before.eligible, now.eligible, now.reason) == (True, False, "missing_fact")


def test_a_claim_out_of_one_views_sight_differs_from_one_in_the_others(ledger: Ledger) -> None:
    ledger.append([claim("a"), claim("b", perspective="ada"), claim("c", workspace="w")])
    everything = ledger.view(valid_at=JUNE)
    ada = ledger.view(valid_at=JUNE, perspective="ada")
    found = {change.id: (str(change.before), str(change.after)) for change in ada.diff(everything)}
    assert found == {"a": ("reported", "not_yet_known")}
    there = ledger.view(valid_at=JUNE, workspace="w")
    assert {change.id for change in there.diff(everything)} == {"c"}


def test_a_view_of_a_workspace_before_its_first_event_moves_with_it(ledger: Ledger) -> None:
    ledger.append([claim("b")])
    since = ledger.view(valid_at=JUNE, workspace="w")
    assert [item.id for item in since.claims()] == ["b"]
    ledger.append([claim("a", workspace="w")])
    assert ledger.moved(since)
    view = ledger.view(valid_at=JUNE, workspace="w")
    assert len(ledger.reconcile(view, since).unchanged) == 0
    assert [change.id for change in view.diff(since)] == ["a"]


# ---------------------------------------------------------------- causes


def snapshot(id: str, valid_at: str = JUNE, **more: Any) -> Fields:
    kind = "citation" if "supports" in more else "summary"
    bound = {"binding": "snapshot", "valid_at": valid_at}
    return {"event": kind, "id": id, "text": "…"} | bound | more


@pytest.mark.parametrize("order", [1, -1])
def test_time_reaches_a_summary_through_the_snapshot_that_it_cites(
    ledger: Ledger, order: int
) -> None:
    ledger.append([claim("a"), claim("b", valid_to="2024-09-01")])
    texts = [
        snapshot("q", supports=["a/support"]),
        {"event": "summary", "id": "u", "text": "…", "citations": ["q"]},
    ]
    ledger.append(texts[::order])
    found = ledger.reconcile(ledger.view(valid_at="2024-10-01"), ledger.view(valid_at=JUNE))
    assert sorted(outcome.id for outcome in found.invalidated) == ["q", "u"]
    assert {str(outcome.cause) for outcome in found.invalidated} == {"the passing of 2024-09-01"}


def test_a_passing_instant_is_found_by_what_was_known_at_the_start(ledger: Ledger) -> None:
    ledger.append([claim("a", valid_to="2024-03-01")])
    ledger.append([{"event": "summary", "id": "u", "text": "…", "facts": ["a"]}])
    since = ledger.view(valid_at="2024-02-01")
    ledger.append([withdrawal("d", "a")])
    (outcome,) = ledger.reconcile(ledger.view(valid_at="2024-04-01"), since).invalidated
    assert str(outcome.cause) == "the passing of 2024-03-01"


def test_a_boundary_that_was_taken_back_since_is_still_the_cause_then(ledger: Ledger) -> None:
    ledger.append([claim("a"), support("s", "a", source="B", valid_to="2024-03-01")])
    ledger.append([snapshot("u", valid_at="2024-02-01")])
    then = ledger.revision
    ledger.append([withdrawal("d", "s")])
    since = ledger.view(valid_at="2024-02-01", known_at=then)
    (outcome,) = ledger.reconcile(ledger.view(valid_at=JUNE, known_at=then), since).invalidated
    assert str(outcome.cause) == "the passing of 2024-03-01"


# ---------------------------------------------------------------- long chains


def test_ten_thousand_corrections_lead_to_the_last_claim(ledger: Ledger) -> None:
    last = 10_000
    ledger.append([claim(f"c{n}") for n in range(last + 1)])
    ledger.append([correction(f"k{n}", f"c{n}", f"c{n + 1}") for n in range(last)])
    assert ledger.view(valid_at=JUNE).successors("c0") == [f"c{last}"]
    ledger.append([withdrawal("d", f"k{last // 2}")])
    assert ledger.view(valid_at=JUNE).successors("c0") == [f"c{last // 2}"]
    assert standing(ledger, f"c{last // 2}") == "reported"


def test_ten_thousand_conclusions_fall_with_the_first_and_stand_again(ledger: Ledger) -> None:
    last = 10_000
    chain = [claim(f"c{n}", because=[f"c{n - 1}"]) for n in range(last, 0, -1)]
    ledger.append([*chain, claim("c0")])
    assert standing(ledger, f"c{last}") == "reported"
    ledger.append([withdrawal("d", "c0", valid_to=JUNE)])
    assert standing(ledger, f"c{last}", "2024-05-31") == "unsupported"
    assert standing(ledger, f"c{last}") == "reported"
    ledger.append([withdrawal("e", "d")])
    assert standing(ledger, f"c{last}", "2024-05-31") == "reported"
    check_rebuilt(ledger, 1)


def test_a_ring_of_two_thousand_falls_as_one(ledger: Ledger) -> None:
    size = 2_000
    ledger.append([claim(f"c{n}", because=[f"c{(n - 1) % size}"]) for n in range(size)])
    ledger.append([support("s", "c7", source="B")])
    assert standing(ledger, "c6") == "reported"
    ledger.append([withdrawal("d", "s")])
    assert not ledger.view(valid_at=JUNE).claims()
    check_rebuilt(ledger, 2)


def test_five_thousand_withdrawals_of_withdrawals_take_turns(ledger: Ledger) -> None:
    size = 5_000
    ledger.append(
        [claim("a"), *(withdrawal(f"d{n}", f"d{n - 1}" if n else "a") for n in range(size))]
    )
    assert standing(ledger, "a") == "reported"
    ledger.append([withdrawal("e", f"d{size - 1}")])
    assert standing(ledger, "a") == "retracted"
    ledger.append([withdrawal("f", "e", valid_from=JUNE)])
    assert [standing(ledger, "a", at) for at in ("2024-05-31", JUNE)] == ["retracted", "reported"]
    check_rebuilt(ledger, 2)
