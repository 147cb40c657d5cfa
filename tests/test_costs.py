"""What grows with what changed, and not with its square: counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest

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
    with patch.object(corroboration, "distinct_origins") as asked:
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


# ---------------------------------------------------------------- what each of n costs, and of 4 n

Fields = dict[str, Any]
Work = Callable[[], object]
Shape = Callable[[doxa.Ledger, int], Work]
FLAT: dict[str, Shape] = {}
STEEP: dict[str, tuple[str, Shape]] = {}
SMALL = 40


def flat(shape: Shape) -> Shape:
    """A shape of history in which each further event costs what the one before it did."""
    FLAT[shape.__name__] = shape
    return shape


def steep(why: str) -> Callable[[Shape], Shape]:
    """One in which it costs as much more as there are others already, and why."""

    def named(shape: Shape) -> Shape:
        STEEP[shape.__name__] = (why, shape)
        return shape

    return named


def claim(id: str, object: Any = 1, **more: Any) -> Fields:
    basis = {} if "because" in more or "source" in more else {"source": "A"}
    about = {"subject": "x", "predicate": "p", "object": object}
    return {"event": "claim", "id": id} | about | basis | more


def support(id: str, claim: str, **more: Any) -> Fields:
    return {"event": "support", "id": id, "claim": claim} | more


def withdraw(target: str, id: str | None = None, **more: Any) -> Fields:
    named = {} if id is None else {"id": id}
    return {"event": "withdrawal", "target": target} | named | more


def portion(n: int) -> Fields:
    """The hour of a number; none touches another."""
    start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=2 * n)
    return {"valid_from": start, "valid_to": start + timedelta(hours=1)}


def each(ledger: doxa.Ledger, commits: Callable[[int], list[Fields]], count: int) -> Work:
    """Commits one after another, made beforehand."""
    made = [commits(n) for n in range(count)]
    return lambda: [ledger.append(commit) for commit in made]


def steps(work: Work) -> Counter[str]:
    """The calls that some work takes, by function."""
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            counted[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            counted[argument.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def growth(shape: Shape) -> tuple[float, str]:
    """How many times the calls for each of 4 n are those for each of n, and where they are."""
    found = []
    for count in (SMALL, 4 * SMALL):
        with doxa.open() as ledger:
            counted = steps(shape(ledger, count))
        found.append({name: calls / count for name, calls in counted.items()})
    few, many = found
    more = sorted(many, key=lambda name: few.get(name, 0) - many[name])[:8]
    where = ", ".join(f"{name} {few.get(name, 0):.1f} to {many[name]:.1f}" for name in more)
    return sum(many.values()) / sum(few.values()), where


@flat
def portions_of_one_claim_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    return each(ledger, lambda n: [withdraw("a", **portion(n))], count)


@flat
def portions_of_one_claim_withdrawn_together(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    events = [withdraw("a", **portion(n)) for n in range(count)]
    return lambda: ledger.append(events)


@flat
def portions_of_a_source_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    return each(ledger, lambda n: [{"event": "withdrawal", "source": "A"} | portion(n)], count)


@flat
def one_claim_withdrawn_and_restored_again_and_again(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    return each(
        ledger, lambda n: [withdraw("a", f"d{n}")] if n % 2 == 0 else [withdraw(f"d{n - 1}")], count
    )


def supported(ledger: doxa.Ledger, sources: int, count: int, **more: Any) -> Work:
    ledger.append([claim("a", source="S0")])
    named = [{"id": f"S{n % sources}"} | {k: f"{v}{n % sources}" for k, v in more.items()}
             for n in range(count)]  # fmt: skip
    return each(ledger, lambda n: [support(f"s{n}", "a", source=named[n])], count)


@flat
def supports_of_one_source(ledger: doxa.Ledger, count: int) -> Work:
    return supported(ledger, 1, count)


@flat
def supports_of_two_sources(ledger: doxa.Ledger, count: int) -> Work:
    return supported(ledger, 2, count)


@flat
def supports_of_as_many_sources(ledger: doxa.Ledger, count: int) -> Work:
    return supported(ledger, count, count)


@flat
def supports_of_one_source_that_is_withdrawn(ledger: doxa.Ledger, count: int) -> Work:
    supported(ledger, 1, count)()
    return lambda: ledger.withdraw(doxa.Source("S0"))


@flat
def supports_of_two_sources_one_of_which_is_withdrawn(ledger: doxa.Ledger, count: int) -> Work:
    supported(ledger, 2, count)()
    return lambda: ledger.withdraw(doxa.Source("S0"))


@flat
def supports_of_as_many_sources_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    supported(ledger, count, count)()
    return each(ledger, lambda n: [withdraw(f"s{n}")], count)


@flat
def supports_of_two_sources_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    supported(ledger, 2, count)()
    return each(ledger, lambda n: [withdraw(f"s{n}")], count)


@flat
def refutations_of_one_claim(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    return each(ledger, lambda n: [support(f"s{n}", "a", source=f"S{n}", stance="refutes")], count)


@flat
def claims_of_one_source_that_is_withdrawn(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim(f"c{n}") for n in range(count)])
    return lambda: ledger.withdraw(doxa.Source("A"))


@flat
def second_supports_of_one_source_that_is_withdrawn(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim(f"c{n}") for n in range(count)])
    ledger.append([support(f"s{n}", f"c{n}", source="B") for n in range(count)])
    return lambda: ledger.withdraw(doxa.Source("B"))


@flat
def a_ring_that_falls_and_stands_again(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim(f"c{n}", because=[f"c{(n - 1) % count}"]) for n in range(count)])
    ledger.append([support("s", "c7", source="B")])
    return each(ledger, lambda n: [withdraw("d" if n else "s", "e" if n else "d")], 2)


@flat
def a_chain_that_falls_and_stands_again(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("c0"), *(claim(f"c{n}", because=[f"c{n - 1}"]) for n in range(1, count))])
    return each(ledger, lambda n: [withdraw("d" if n else "c0", "e" if n else "d")], 2)


@flat
def conclusions_of_one_claim_that_is_withdrawn(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a"), *(claim(f"c{n}", because=["a"]) for n in range(count))])
    return lambda: ledger.append([withdraw("a")])


@flat
def corrections_of_one_claim(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a"), claim("b")])
    correction = {"event": "correction", "corrects": "a", "by": "b"}
    return each(ledger, lambda n: [correction | portion(n)], count)


@flat
def a_chain_of_corrections_of_a_single_valued_predicate(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    ledger.append([claim("c0", 0)])
    correction = {"event": "correction"}
    return each(
        ledger,
        lambda n: [
            claim(f"c{n + 1}", n + 1),
            correction | {"corrects": f"c{n}", "by": f"c{n + 1}"},
        ],
        count,
    )


@flat
def rivals_that_never_meet(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    return each(ledger, lambda n: [claim(f"c{n}", n, **portion(n))], count)


@flat
def claims_of_one_key_that_say_the_same(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    return each(ledger, lambda n: [claim(f"c{n}", 1)], count)


@flat
def claims_that_say_the_same_and_one_that_does_not(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    ledger.append([claim(f"c{n}", 1) for n in range(count)])
    return each(ledger, lambda n: [withdraw("z") if n else claim("z", 2)], 2)


@flat
def a_policy_over_rivals_that_comes_and_goes(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim(f"c{n}", n) for n in range(count)])
    policy = {"event": "policy", "id": "p", "single_valued": "p"}
    return each(ledger, lambda n: [withdraw("p") if n else policy], 2)


@steep("each takes back the one before it, and so gives and takes all of them")
def withdrawals_each_of_the_one_before(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("a")])
    return each(ledger, lambda n: [withdraw(f"d{n - 1}" if n else "a", f"d{n}")], count)


@steep("each contests all others")
def rivals_in_one_key_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    return each(ledger, lambda n: [claim(f"c{n}", n)], count)


@steep("each contests all others")
def rivals_in_one_key_together(ledger: doxa.Ledger, count: int) -> Work:
    ledger.policy(single_valued="p")
    events = [claim(f"c{n}", n) for n in range(count)]
    return lambda: ledger.append(events)


@steep("by their digests two origins may be one: all that count are looked at")
def supports_with_digests(ledger: doxa.Ledger, count: int) -> Work:
    return supported(ledger, count, count, digest="d")


@steep("where a conclusion stands is asked of all its premises")
def premises_of_one_claim_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    premises = [claim(f"c{n}") for n in range(count)]
    ledger.append([*premises, claim("z", because=[one["id"] for one in premises])])
    return each(ledger, lambda n: [withdraw(f"c{n}", **portion(n))], count)


@steep("whether another way carries a conclusion is asked of those that fell too")
def ways_to_one_claim_withdrawn_one_by_one(ledger: doxa.Ledger, count: int) -> Work:
    ledger.append([claim("z", source=None), *(claim(f"c{n}") for n in range(count))])
    ledger.append([support(f"s{n}", "z", because=[f"c{n}"]) for n in range(count)])
    return each(ledger, lambda n: [withdraw(f"c{n}")], count)


@pytest.mark.parametrize("name", FLAT)
def test_each_of_many_costs_what_each_of_few_does(name: str) -> None:
    times, where = growth(FLAT[name])
    assert times <= 1.3, f"each of {4 * SMALL} takes {times:.2f} times each of {SMALL}: {where}"


@pytest.mark.parametrize("name", STEEP)
def test_each_of_many_costs_no_more_than_there_are_others(name: str) -> None:
    why, shape = STEEP[name]
    times, where = growth(shape)
    assert times <= 4.2, f"{why}, but {4 * SMALL} take {times:.2f} times {SMALL}: {where}"
