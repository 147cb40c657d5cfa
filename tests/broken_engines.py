"""Engines that are broken on purpose, each in one place, by replacing a method for a while.

Here: what the law says; how it is kept is broken in `broken_parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from doxa.engine import corroboration, decide, events, settle, times
from doxa.engine.belief import SUPERSEDED, Belief, Standing
from doxa.engine.bulk import Bulk
from doxa.engine.decide import judge
from doxa.engine.drawing import Drawing
from doxa.engine.graph import CORRECTION, NONE, POLICY, SUPPORT, WITHDRAWAL, Graph, entity
from doxa.engine.history import OPEN, DenseHistory, History
from doxa.engine.numbers import Lists
from doxa.engine.registry import Registry
from doxa.engine.rivals import RivalGroup
from doxa.engine.view import TruthView

Settlement: Any = settle._Settlement
Judge: Any = decide._Judge
Break = Callable[[], Iterator[None]]
BROKEN: dict[str, Callable[[], Any]] = {}


def broken(make: Break) -> Break:
    """Enters a way of breaking the engine under its function's name."""
    BROKEN[make.__name__] = contextmanager(make)
    return make


def instead(target: Any, name: str, make: Callable[[Any], Any]) -> Any:
    """Replaces a function or method by what ``make`` makes of it."""
    return patch.object(target, name, make(getattr(target, name)))


# ---------------------------------------------------------------- time


@broken
def ends_are_inclusive() -> Iterator[None]:
    def make(at: Any) -> Any:
        return lambda self, owner, v, k: at(self, owner, v - 1, k)

    with instead(History, "at", make), instead(DenseHistory, "at", make):
        yield


@broken
def portions_of_withdrawals_are_ignored() -> Iterator[None]:
    def make(base: Any) -> Any:
        return lambda self, n: times.ALL if n & 7 == WITHDRAWAL else base(self, n)

    with instead(Graph, "base", make):
        yield


@broken
def knowledge_looks_ahead() -> Iterator[None]:
    def make(at: Any) -> Any:
        return lambda self, owner, v, k: at(self, owner, v, OPEN - 1)

    with instead(DenseHistory, "at", make):
        yield


@broken
def extents_look_ahead() -> Iterator[None]:
    def make(at: Any) -> Any:
        return lambda self, owner, v, k: at(self, owner, v, OPEN - 1)

    with instead(History, "at", make):
        yield


# ---------------------------------------------------------------- withdrawals and sources


@broken
def withdrawals_of_withdrawals_are_ignored() -> Iterator[None]:
    def make(taken_back: Any) -> Any:
        return lambda self, n, where: () if n & 7 == WITHDRAWAL else taken_back(self, n, where)

    with instead(Settlement, "_taken_back", make):
        yield


@broken
def policies_stay_when_withdrawn() -> Iterator[None]:
    def make(renew: Any) -> Any:
        return lambda self, n, where: ((), ()) if n & 7 == POLICY else renew(self, n, where)

    with instead(Settlement, "_renew", make):
        yield


@broken
def a_source_withdrawal_misses_later_events() -> Iterator[None]:
    def make(begin: Any) -> Any:
        def begin_support(self: Any, row: int, position: int) -> None:
            with patch.object(self.belief, "source_extent_now", lambda source, where: where):
                begin(self, row, position)

        return begin_support

    with instead(Settlement, "_begin_support", make):
        yield


@broken
def a_source_withdrawal_misses_earlier_events() -> Iterator[None]:
    def settle_source(self: Any, number: int, where: times.Intervals, cause: int) -> None:
        self._renew(number, where)

    with patch.object(Settlement, "_settle_source", settle_source):
        yield


@broken
def a_shared_source_withdrawal_stays_in_the_shared_workspace() -> Iterator[None]:
    with patch.object(Belief, "with_shared", lambda self, source: (source,)):
        yield


@broken
def corrections_outlive_their_source() -> Iterator[None]:
    def make(add: Any) -> Any:
        def add_row(self: Graph, position: int, at: int, ws: int, event: events.Event) -> Any:
            number = add(self, position, at, ws, event)
            if number & 7 == CORRECTION:
                self.k_source[number >> 3] = NONE
            return number

        return add_row

    with instead(Graph, "add_row", make):
        yield


@broken
def withdrawing_a_replacement_restores_what_it_replaced() -> Iterator[None]:
    def make(settle_claim: Any) -> Any:
        def restored(self: Any, number: int, where: times.Intervals, cause: int) -> None:
            settle_claim(self, number, where, cause)
            gone = self._taken_back(number, where)
            for row in self.graph.replaces.get(number >> 3):
                claim = self.graph.k_target[row]
                self.belief.beliefs.paint(claim, gone, 0, SUPERSEDED)
                self._grow(claim, gone, cause)

        return restored

    with (
        instead(Settlement, "_settle_claim", make),
        instead(Settlement, "_withdraws", lambda _: lambda *args: False),
    ):
        yield


# ---------------------------------------------------------------- held


@broken
def conclusions_outlive_their_premises() -> Iterator[None]:
    def make(fell: Any) -> Any:
        def no_cascade(self: Any) -> Any:
            with patch.object(self.graph, "dependents", Lists()):
                return fell(self)

        return no_cascade

    with instead(Settlement, "_fell", make):
        yield


@broken
def rings_keep_themselves_alive() -> Iterator[None]:
    def make(carried: Any) -> Any:
        return lambda self, claim, where, alone: carried(self, claim, where, alone=False)

    with instead(Settlement, "_carried", make):
        yield


@broken
def premises_that_are_not_held_are_dropped() -> Iterator[None]:
    def basis(self: Any, support: int, where: times.Intervals) -> times.Intervals:
        left: times.Intervals = self.belief.extent_now(entity(SUPPORT, support), where)
        for premise in self.graph.s_because.get(support):
            left = self.belief.held_now(premise, left) or left
        return left

    with patch.object(Settlement, "_basis", basis):
        yield


@broken
def one_premise_is_enough() -> Iterator[None]:
    def basis(self: Any, support: int, where: times.Intervals) -> times.Intervals:
        extent: times.Intervals = self.belief.extent_now(entity(SUPPORT, support), where)
        premises = self.graph.s_because.get(support)
        if not premises:
            return extent
        return times.union_all(self.belief.held_now(premise, extent) for premise in premises)

    with patch.object(Settlement, "_basis", basis):
        yield


@broken
def hypotheses_are_held() -> Iterator[None]:
    def make(init: Any) -> Any:
        def believing(self: Belief) -> None:
            init(self)
            self.hypothesis = NONE

        return believing

    with instead(Belief, "__init__", make):
        yield


@broken
def refutations_count_as_supports() -> Iterator[None]:
    def make(add: Any) -> Any:
        def add_row(self: Graph, position: int, at: int, ws: int, event: events.Event) -> Any:
            number = add(self, position, at, ws, event)
            if number & 7 == SUPPORT:
                self.s_refutes[number >> 3] = 0
            return number

        return add_row

    def make_many(add: Any) -> Any:
        def add_supports(self: Bulk, *columns: Any) -> Any:
            before = len(self.graph.s_refutes)
            found = add(self, *columns)
            self.graph.s_refutes[before:] = bytes(len(self.graph.s_refutes) - before)
            return found

        return add_supports

    with instead(Graph, "add_row", make), instead(Bulk, "_add_supports", make_many):
        yield


# ---------------------------------------------------------------- contested, corroborated


@broken
def the_newest_wins() -> Iterator[None]:
    def make(contested: Any) -> Any:
        def newest(self: Any, claim: int, where: times.Intervals) -> times.Intervals:
            against: times.Intervals = contested(self, claim, where)
            rivals = self.belief.rival_group(claim).meeting(against)
            return () if claim == max(rivals, default=NONE) else against

        return newest

    with instead(Settlement, "_contested", make):
        yield


@broken
def rivals_meet_across_perspectives() -> Iterator[None]:
    def rival_group(self: Belief, claim: int) -> RivalGroup:
        graph, group = self.graph, RivalGroup()
        for other in graph.claims_about(graph.c_subject[claim], graph.c_predicate[claim]):
            if graph.c_ws[other] == graph.c_ws[claim]:
                group.note(other, self.object_key(other), self.held_hull(other))
        return group

    with patch.object(Belief, "rival_group", rival_group):
        yield


@broken
def true_is_one() -> Iterator[None]:
    def object_key(self: Belief, claim: int) -> str:
        value = self.graph.c_object[claim]
        return events.equality_key(1 if value is True else value)

    with patch.object(Belief, "object_key", object_key):
        yield


@broken
def one_digest_corroborates_itself() -> Iterator[None]:
    def distinct(graph: Graph, supports: Iterable[int]) -> int:
        return len({graph.s_origin[row] for row in supports})

    with patch.object(corroboration, "distinct_origins", distinct):
        yield


@broken
def corroboration_counts_supports() -> Iterator[None]:
    with ExitStack() as stack:
        for module, name, count in (
            (corroboration, "_several", lambda graph, live, *rest: len(live) > 1),
            (corroboration, "distinct_origins", lambda graph, supports: len(supports)),
            (Settlement, "_agrees", lambda *args: False),
            (Drawing, "_agrees", lambda *args: False),
        ):
            stack.enter_context(patch.object(module, name, count))
        yield


# ---------------------------------------------------------------- views


@broken
def the_interval_comes_before_the_withdrawal() -> Iterator[None]:
    def make(standing: Any) -> Any:
        def expired_first(self: Belief, claim: int, v: int, k: int) -> Standing:
            if self.graph.c_pos[claim] <= k and v >= self.graph.c_to[claim]:
                return Standing.EXPIRED
            found: Standing = standing(self, claim, v, k)
            return found

        return expired_first

    with instead(Belief, "standing", make):
        yield


@broken
def successors_are_the_next_only() -> Iterator[None]:
    def successors(self: Belief, claim: int, v: int, k: int) -> list[int]:
        by = [self.graph.k_by[row] for row in self.live_corrections(claim, v, k)]
        return sorted(set(by) - {NONE})

    with patch.object(Belief, "successors", successors):
        yield


@broken
def a_perspective_is_not_kept_apart() -> Iterator[None]:
    def in_sight(self: TruthView, row: int) -> bool:
        return self.graph.c_pos[row] <= self.k and self.graph.c_ws[row] in self.workspaces

    with patch.object(TruthView, "in_sight", in_sight):
        yield


@broken
def history_knows_arrivals_only() -> Iterator[None]:
    with patch.object(Belief, "changes_of", lambda self, claim: ()):
        yield


@broken
def differences_miss_what_changed_before() -> Iterator[None]:
    with patch.object(Belief, "changed_between", lambda self, after, upto: set()):
        yield


# ---------------------------------------------------------------- the registry


@broken
def snapshots_ignore_added_facts() -> Iterator[None]:
    def moved(self: Registry, row: int, v: int, k: int) -> bool:
        subjects = self.graph.subjects_of(row)
        names = None if subjects is None else [self.graph.names.texts[s] for s in subjects]
        bound, now = (
            self._view(self.graph.a_ws[row], *at).entries(names)
            for at in (self.at_registration(row), (v, k))
        )
        return not set(bound) <= set(now)

    with patch.object(Registry, "_moved", moved):
        yield


@broken
def withdrawn_sources_are_still_cited() -> Iterator[None]:
    with patch.object(Belief, "source_live", lambda self, source, v, k: True):
        yield


@broken
def reconciling_misses_passing_time() -> Iterator[None]:
    with patch.object(Registry, "marked_between", lambda self, low, high: set()):
        yield


@broken
def reconciling_misses_events() -> Iterator[None]:
    with patch.object(Registry, "reached_between", lambda self, after, upto: set()):
        yield


@broken
def the_first_event_is_blamed() -> Iterator[None]:
    def make(reaches: Any) -> Any:
        def blaming(self: Registry, artefact: int, after: int, upto: int) -> list[tuple[int, int]]:
            found = reaches(self, artefact, after, upto)
            return [(commit, found[0][1]) for commit, _ in found]

        return blaming

    with instead(Registry, "reaches", make):
        yield


# ---------------------------------------------------------------- what is accepted


@broken
def rings_are_accepted() -> Iterator[None]:
    with patch.object(Judge, "_ringless", lambda self, *ring: None):
        yield


@broken
def spent_sources_are_accepted() -> Iterator[None]:
    with patch.object(Judge, "_sourced", lambda self, overlay, index: None):
        yield


@broken
def corrections_are_of_everything() -> Iterator[None]:
    def with_portion(self: Any, event: events.Correction) -> events.Correction:
        return event.model_copy(update={"valid_from": times.NEG, "valid_to": times.POS})

    with patch.object(Judge, "_with_portion", with_portion):
        yield


@broken
def a_refused_commit_leaves_its_first_event() -> Iterator[None]:
    def first_only(belief: Belief, batch: Any, stored: Any) -> Any:
        judged = judge(belief, batch, stored)
        if judged.problems and 0 not in judged.problems and len(batch) > 1:
            return judge(belief, batch[:1], stored)
        return judged

    with patch("doxa.engine.stream.judge", first_only):
        yield
