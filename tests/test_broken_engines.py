"""The comparison catches what it is for: each broken engine, by a small history that names what is
wrong with it, and by random ones; the sound engine passes them all."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from doxa.engine.errors import CallerError
from tests import broken_parts, broken_reading
from tests.broken_engines import BROKEN
from tests.differences import Comparison
from tests.histories import GRID, Fields, iso
from tests.trials import Different, Watch, first_difference, replayed, walking
from tests.walks import Step, Walk, wander

assert broken_parts.__doc__, "its engines are entered as it is loaded"
assert broken_reading.__doc__, "likewise"
ENOUGH = 250  # random histories in which a broken engine must have shown itself
BEGIN = {  # where the rarest show themselves: to begin there loses no time
    "policies_stay_when_withdrawn": 39,
    "rings_keep_themselves_alive": 60,
    "reconciling_misses_events": 28,
    "the_first_event_is_blamed": 17,
    "withdrawn_sources_are_still_cited": 180,
    "rings_are_accepted": 35,
    "a_rival_ends_with_its_first_stretch": 53,
    "a_hurried_support_has_no_digest": 109,
    "a_hurried_support_never_refutes": 124,
    "a_hurried_support_has_another_origin": 48,
    "a_hurried_support_asks_no_source": 170,
    "reading_goes_on_trusting_a_source": 173,
    "reading_leaves_snapshots_alone": 89,
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


OTHER = claim("c3", subject="t")  # what is not alone in its commit is settled the long way
Commit = list[Fields] | str
HISTORIES: dict[str, Sequence[Commit]] = {
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
        [withdraw("d1", "c2"), OTHER],
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
    # how it is kept
    "a_jump_goes_too_far": [
        [claim("c1")],
        [withdraw("d0", "c1")],
        *[[withdraw(f"d{n}", f"d{n - 1}")] for n in range(1, 6)],
    ],
    "a_draft_is_painted_an_instant_too_wide": [[claim("c1")], [withdraw("d1", "c1", (1, 3))]],
    "a_replaced_leaf_stays": [
        [claim("c1")],
        [withdraw("d1", "c1", (1, 3))],
        [withdraw("d2", "c1", (4, 5))],
    ],
    "the_last_leaf_is_not_painted": [
        [claim("c1")],
        [withdraw("d1", "c1", (1, 3))],
        [drop("d2", "A")],
    ],
    "what_was_known_before_the_first_change_is_forgotten": [[claim("c1")], [withdraw("d1", "c1")]],
    "a_change_is_known_a_commit_late": [[claim("c1")], [withdraw("d1", "c1")]],
    "spans_forget_the_longest": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1", (1, 2))],
        [withdraw("d2", "c1", (0, 4)), OTHER],
        [withdraw("d3", "d1")],
    ],
    "spans_miss_what_began_long_before": [[single("p1"), claim("c1", 1)], [claim("c2", 2, (2, 4))]],
    "what_comes_after_the_first_many_is_missed": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1", (0, 2)), OTHER],
        [withdraw("d2", "c1", (1, 4)), claim("c4", subject="u")],
    ],
    "a_rival_ends_with_its_first_stretch": [
        [single("p1"), claim("c1", 1)],
        [withdraw("d1", "c1", (2, 3))],
        [claim("c2", 2, (4, 5))],
    ],
    "contests_outlive_a_rival": [
        [single("p1"), claim("c1", 1), claim("c2", 2)],
        [withdraw("d1", "c2")],
    ],
    "each_of_many_supports_is_an_origin": [
        [claim("c1"), support("s1", "c1", (0, 3), source="A")],
    ],
    "digests_of_many_supports_are_ignored": [
        [
            claim("c1", source={"id": "A", "digest": "d"}),
            support("s1", "c1", source={"id": "B", "digest": "d"}),
        ],
    ],
    "two_origins_agree_wherever_one_speaks": [
        [claim("c1", source=None)],
        [support("s1", "c1", (0, 5), source="A"), support("s2", "c1", (2, 3), source="B")],
    ],
    "a_hurried_support_is_of_all_time": [[claim("c1")], [support("s1", "c1", (1, 3), source="B")]],
    "a_hurried_support_has_no_digest": [
        [
            claim("c1", source={"id": "A", "digest": "d"}),
            support("s1", "c1", source={"id": "B", "digest": "d"}),
        ],
    ],
    "a_hurried_support_never_refutes": [
        [claim("c1"), support("s1", "c1", source="B", stance="refutes")],
    ],
    "a_hurried_support_finds_every_claim_carried": [
        [claim("c1", source=None), claim("c2", because=["c1"])],
        [support("s1", "c2", source="B")],
    ],
    "a_hurried_support_has_another_origin": [[claim("c1"), support("s1", "c1", source="A")]],
    "a_hurried_support_asks_no_source": [
        [claim("c1"), claim("c2", source="B")],
        [drop("d1", "B", (0, 3))],
        [support("s1", "c1", source="B")],
    ],
    "what_falls_is_carried_by_nothing_else": [
        [claim("c1"), claim("c2", because=["c1"]), support("s1", "c2", source="B")],
        [withdraw("d1", "c1")],
    ],
    "what_fell_never_rises": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1")],
        [withdraw("d2", "d1")],
    ],
    "what_stands_is_disputed_by_nothing": [
        [single("p1"), claim("c1", 1), claim("c2", 2)],
        [withdraw("d1", "c1")],
    ],
    "a_withdrawal_alone_is_of_all_time": [[claim("c1")], [withdraw("d1", "c1", (1, 3))]],
    "sealing_loses_what_is_new": [
        [claim("c1")],
        "seal",
        [claim("c2", subject="t")],
        "seal",
    ],
    "sealing_loses_what_was_sealed": [
        [claim("c1")],
        "seal",
        [claim("c2", subject="t")],
        "seal",
    ],
    "a_sealed_list_begins_anew": [
        [claim("c1"), support("s1", "c1", source="B")],
        "seal",
        [support("s2", "c1", source="C")],
    ],
    "the_bucket_beside_is_looked_into": [
        [claim("c1"), support("s1", "c1", source="B")],
        "seal",
    ],
    "sealed_ids_are_of_every_workspace": [
        [claim("c1"), claim("c1", workspace="w")],
        "seal",
        [withdraw("d1", "c1", workspace="w")],
    ],
    "reading_takes_withdrawn_sources_for_whole": [
        [claim("c1")],
        [drop("d1", "A", (0, 3))],
        [claim("c2")],
        "reread",
    ],
    "reading_goes_on_trusting_a_source": [
        [claim("c1")],
        [drop("d1", "A", (0, 3))],
        [claim("c2")],
        "reread",
    ],
    "reading_forgets_what_dangles": [
        [event("correction", "k1", None, unresolved="c1")],
        [claim("c1")],
        "reread",
    ],
    "reading_misses_what_is_single_valued": [
        [single("p1")],
        [claim("c1", 1)],
        [claim("c2", 2)],
        "reread",
    ],
    "reading_drops_premises": [[claim("c1"), claim("c2", because=["c1"])], "reread"],
    "reading_leaves_snapshots_alone": [
        [claim("c1"), cite("q1", "c1/support", binding="snapshot", subjects=["s"])],
        [claim("c2", 2)],
        "reread",
    ],
    "reading_takes_hypotheses_for_facts": [
        [claim("c1", kind="hypothesis"), claim("c2")],
        "reread",
    ],
    "reading_ties_commits_together": [[claim("c1")], [claim("c2")], [claim("c3")], "reread"],
    "drawing_forgets_what_rests_on_a_claim": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1")],
        "reread",
    ],
    "drawing_holds_hypotheses": [
        [claim("c1"), claim("c2", kind="hypothesis", because=["c1"])],
        [claim("c3", because=["c2"])],
        "reread",
    ],
    "drawing_derives_beyond_the_premises": [
        [claim("c1", days=(0, 3)), claim("c2", because=["c1"])],
        "reread",
    ],
    "what_is_painted_at_sight_forgets_what_rests_on_it": [
        [claim("c1"), claim("c2", because=["c1"])],
        [withdraw("d1", "c1"), OTHER],
    ],
}


def steps_of(history: Sequence[Commit]) -> list[Step]:
    """The steps of a history; to abort a commit is to read the log anew."""
    doing = {"seal": Step("seal", clock=GRID[2]), "reread": Step("abort", [claim("z")], GRID[2])}
    return [
        doing[commit] if isinstance(commit, str) else Step("append", commit, GRID[2])
        for commit in history
    ]


def small_difference(steps: Sequence[Step]) -> str | None:
    """The first difference on a small history, at many coordinates."""
    with walking(False) as walk:
        watch = Watch(Random(0))
        try:
            for step in steps:
                walk.take(step)
                watch(walk)
            random = Random(1)
            return next(Comparison(walk.ledger, walk.log(), random, 60).differences(), None)
        except (Different, CallerError) as different:
            return str(different)


def random_difference(seed: int, walk: Walk) -> str | None:
    """The first difference on a random history. What an engine falls over is not counted."""
    watch = Watch(Random(seed))
    try:
        wander(Random(seed), walk, 20, watch)
        return first_difference(walk, watch, seed, 12)
    except (Different, CallerError) as different:
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
