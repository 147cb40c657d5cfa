"""The comparison catches what it is for: each broken engine, by a small history that names what is
wrong with it, and by random ones; the sound engine passes them all."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tests.broken_engines import BROKEN
from tests.differences import Comparison
from tests.histories import GRID, Fields, iso
from tests.trials import Different, Watch, first_difference, replayed, walking
from tests.walks import Step, Walk, wander

ENOUGH = 250  # random histories in which a broken engine must have shown itself
BEGIN = {  # where the rarest show themselves: to begin there loses no time
    "policies_stay_when_withdrawn": 39,
    "rings_keep_themselves_alive": 60,
    "reconciling_misses_events": 28,
    "the_first_event_is_blamed": 17,
    "withdrawn_sources_are_still_cited": 180,
    "rings_are_accepted": 35,
}


def event(type: str, id: str, days: tuple[int | None, int | None] | None, **fields: Any) -> Fields:
    """An event of the exchange form, over days of the week."""
    bounds = {}
    for name, day in zip(("valid_from", "valid_to"), days or (), strict=False):
        bounds[name] = None if day is None else iso(GRID[day])
    return {"event": type, "id": id, "workspace": "", **bounds, **fields}


def claim(id: str, object: Any = 1, days: Any = (0, 6), **more: Any) -> Fields:
    basis = {} if "because" in more or "source" in more else {"source": "A"}
    about = {"subject": "s", "predicate": "p", "object": object}
    return event("claim", id, days, **(about | basis | more))


def support(id: str, claim: str, days: Any = None, **more: Any) -> Fields:
    return event("support", id, days, claim=claim, **more)


def withdraw(id: str, target: str, days: Any = None, **more: Any) -> Fields:
    return event("withdrawal", id, days, target=target, **more)


def drop(id: str, source: str, days: Any = None, **more: Any) -> Fields:
    return event("withdrawal", id, days, source=source, **more)


def correct(id: str, old: str, new: str | None = None, days: Any = None, **more: Any) -> Fields:
    by = {} if new is None else {"by": new}
    return event("correction", id, days, corrects=old, **by, **more)


def single(id: str, predicate: str = "p") -> Fields:
    return event("policy", id, None, single_valued=predicate)


def cite(id: str, *supports: str, **more: Any) -> Fields:
    return event("citation", id, None, text="words", supports=list(supports), **more)


HISTORIES: dict[str, list[list[Fields]]] = {
    "ends_are_inclusive": [[claim("c1")], [withdraw("d1", "c1", (1, 3))]],
    "portions_of_withdrawals_are_ignored": [[claim("c1")], [withdraw("d1", "c1", (1, 3))]],
    "knowledge_looks_ahead": [[claim("c1")], [withdraw("d1", "c1")]],
    "extents_look_ahead": [
        [claim("c1"), support("s1", "c1", source="B")],
        [withdraw("d1", "s1")],
    ],
    "withdrawals_of_withdrawals_are_ignored": [
        [claim("c1")],
        [withdraw("d1", "c1")],
        [withdraw("d2", "d1")],
    ],
    "policies_stay_when_withdrawn": [
        [single("p1"), claim("c1", 1), claim("c2", 2)],
        [withdraw("d1", "p1", (0, 3))],
    ],
    "a_source_withdrawal_misses_later_events": [
        [claim("c1")],
        [drop("d1", "A", (0, 3))],
        [claim("c2")],
    ],
    "a_source_withdrawal_misses_earlier_events": [[claim("c1")], [drop("d1", "A")]],
    "a_shared_source_withdrawal_stays_in_the_shared_workspace": [
        [claim("c1"), claim("c1", workspace="w")],
        [drop("d1", "A")],
    ],
    "corrections_outlive_their_source": [
        [claim("c1"), claim("c2", 2), correct("k1", "c1", "c2", source="B")],
        [drop("d1", "B")],
    ],
    "withdrawing_a_replacement_restores_what_it_replaced": [
        [claim("c1"), claim("c2", 2), correct("k1", "c1", "c2")],
        [withdraw("d1", "c2")],
    ],
    "conclusions_outlive_their_premises": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1")],
    ],
    "rings_keep_themselves_alive": [
        [claim("c1"), claim("c2", because=["c1"]), support("s1", "c1", because=["c2"])],
        [withdraw("d1", "c1/support")],
    ],
    "premises_that_are_not_held_are_dropped": [
        [claim("c1"), claim("c2", source=None), claim("c3", because=["c1", "c2"])],
    ],
    "one_premise_is_enough": [
        [claim("c1"), claim("c2", days=(0, 2)), claim("c3", because=["c1", "c2"])],
    ],
    "hypotheses_are_held": [[claim("c1", kind="hypothesis"), claim("c2", because=["c1"])]],
    "refutations_count_as_supports": [
        [claim("c1"), support("s1", "c1", source="B", stance="refutes")],
    ],
    "the_newest_wins": [[single("p1")], [claim("c1", 1)], [claim("c2", 2)]],
    "rivals_meet_across_perspectives": [
        [single("p1"), claim("c1", 1), claim("c2", 2, perspective="ada")],
    ],
    "true_is_one": [[single("p1"), claim("c1", 1), claim("c2", True)]],
    "one_digest_corroborates_itself": [
        [
            claim("c1", source={"id": "A", "digest": "d"}),
            support("s1", "c1", source={"id": "B", "digest": "d"}),
        ],
    ],
    "corroboration_counts_supports": [[claim("c1"), support("s1", "c1", source="A")]],
    "the_interval_comes_before_the_withdrawal": [[claim("c1", days=(0, 2)), withdraw("d1", "c1")]],
    "successors_are_the_next_only": [
        [claim("c1"), claim("c2"), claim("c3")],
        [correct("k1", "c1", "c2"), correct("k2", "c2", "c3")],
    ],
    "a_perspective_is_not_kept_apart": [[claim("c1"), claim("c2", perspective="ada")]],
    "history_knows_arrivals_only": [[claim("c1")], [withdraw("d1", "c1")]],
    "differences_miss_what_changed_before": [[claim("c1")], [withdraw("d1", "c1")]],
    "snapshots_ignore_added_facts": [
        [claim("c1"), cite("q1", "c1/support", binding="snapshot", subjects=["s"])],
        [claim("c2", 2)],
    ],
    "withdrawn_sources_are_still_cited": [
        [claim("c1"), claim("c2", source="B"), cite("q1", "c1/support", sources=["B"])],
        [drop("d1", "B")],
    ],
    "reconciling_misses_passing_time": [
        [claim("c1"), support("s1", "c1", (0, 3), source="B"), cite("q1", "s1")],
    ],
    "reconciling_misses_events": [
        [claim("c1"), cite("q1", "c1/support")],
        [withdraw("d1", "c1/support")],
    ],
    "the_first_event_is_blamed": [
        [claim("c1"), cite("q1", "c1/support")],
        [withdraw("d1", "c1/support")],
        [withdraw("d2", "d1")],
        [withdraw("d3", "d2")],
    ],
    "rings_are_accepted": [
        [claim("c1"), claim("c2"), correct("k1", "c1", "c2", (0, 3))],
        [correct("k2", "c2", "c1", (2, 4))],
    ],
    "spent_sources_are_accepted": [
        [claim("c1")],
        [drop("d1", "A", (2, 5))],
        [claim("c2", days=(3, 4))],
    ],
    "corrections_are_of_everything": [
        [claim("c1", days=(0, 4)), claim("c2", 2, (2, 6)), correct("k1", "c1", "c2")],
    ],
    "a_refused_commit_leaves_its_first_event": [[claim("c1"), withdraw("d1", "nobody")]],
}


def steps_of(commits: Sequence[Sequence[Fields]]) -> list[Step]:
    return [Step("append", commit, GRID[2]) for commit in commits]


def small_difference(steps: Sequence[Step]) -> str | None:
    """The first difference on a small history, at many coordinates."""
    with walking(False) as walk:
        watch = Watch(Random(0))
        try:
            for step in steps:
                walk.take(step)
                watch(walk)
        except Different as different:
            return str(different)
        random = Random(1)
        return next(Comparison(walk.ledger, walk.log(), random, 60).differences(), None)


def random_difference(seed: int, walk: Walk) -> str | None:
    """The first difference on a random history. What an engine falls over is not counted."""
    watch = Watch(Random(seed))
    try:
        wander(Random(seed), walk, 20, watch)
        return first_difference(walk, watch, seed, 12)
    except Different as different:
        return str(different)
    except Exception:
        return None


def test_every_broken_engine_has_its_history() -> None:
    assert HISTORIES.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_a_small_history_catches(name: str) -> None:
    steps = steps_of(HISTORIES[name])
    with BROKEN[name]():
        assert small_difference(steps) is not None, "not caught"
    assert small_difference(steps) is None


@pytest.mark.parametrize("name", BROKEN)
def test_random_histories_catch(name: str) -> None:
    begin = BEGIN.get(name, 0)
    for seed in range(begin, begin + ENOUGH):
        with BROKEN[name](), walking(False) as walk:
            found = random_difference(seed, walk)
        if found is not None:
            assert replayed(walk.steps, seed, False) is None
            return
    pytest.fail(f"{name} was not caught in {ENOUGH} random histories")
