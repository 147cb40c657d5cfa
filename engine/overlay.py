"""How things will stand once a commit is in: what its own withdrawals and corrections change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SOURCE, WITHDRAWAL, entity
from doxa.engine.times import ALL, EMPTY, Intervals, intersect, subtract, union, union_all

__all__ = ["Meaning", "Overlay"]

# What an id means: ("log", entity), ("commit", index of the event), or ("carried", index of the
# claim that carries the support).
Meaning = tuple[str, int]


_SHOWN: Final = 9  # claims of a ring that are named


class _Step(NamedTuple):
    """One correction on the way, the claim that it leads to, and what was taken before it."""

    before: _Step | None
    id: str
    place: int  # in the commit; NONE where it is in the log


class Overlay:
    """Extents as they will be once the commit is in: what its withdrawals change at the head."""

    def __init__(
        self,
        belief: Belief,
        events: Sequence[ev.Event],
        fresh: Sequence[int],
        meaning: Callable[[ev.Event, str | ev.Ref, str], Meaning],
    ) -> None:
        self.belief, self.graph = belief, belief.graph
        self.events, self.fresh, self.meaning = events, fresh, meaning
        self.taken: dict[Meaning, list[int]] = {}  # target → indexes of new withdrawals
        self.sources_taken: dict[ev.Ref, list[int]] = {}
        self.resolving: dict[Meaning, list[int]] = {}  # unresolved → new corrections that settle it
        self.corrections: dict[Meaning, list[int]] = {}  # claim → indexes of new corrections
        self.extents: dict[Meaning, Intervals] = {}
        for index in fresh:
            event = events[index]
            if isinstance(event, ev.Correction):
                if event.resolves is not None:
                    settled = meaning(event, event.resolves, "resolves")
                    self.resolving.setdefault(settled, []).append(index)
                if event.corrects is None:
                    continue
                claim = meaning(event, event.corrects, "corrects")
                self.corrections.setdefault(claim, []).append(index)
            elif isinstance(event, ev.Withdrawal) and event.target is not None:
                self.taken.setdefault(self._target(event), []).append(index)
            elif isinstance(event, ev.Withdrawal):
                assert event.source is not None
                key = ev.Ref(event.workspace, event.source)
                self.sources_taken.setdefault(key, []).append(index)
        self._settle()

    def _target(self, event: ev.Withdrawal) -> Meaning:
        assert event.target is not None
        where, number = self.meaning(event, event.target, "target")
        if where == "commit" and event.target.endswith(ev.CARRIED):
            return "carried", number
        return where, number

    def _settle(self) -> None:
        """The extents of all withdrawals that this commit makes or reaches, newest first."""
        graph = self.graph
        heap = [
            (-graph.position - 1 - index, ("commit", index))
            for index in self.fresh
            if isinstance(self.events[index], ev.Withdrawal)
        ]
        heapify(heap)
        seen: set[Meaning] = set()
        while heap:
            _, meaning = heappop(heap)
            if meaning in seen:
                continue
            seen.add(meaning)
            where, number = meaning
            if where == "commit":
                event = self.events[number]
                assert isinstance(event, ev.Withdrawal)
                target = None if event.target is None else self._target(event)
                base = event.valid
            else:
                target = "log", graph.w_target[number >> 3]
                base = graph.base(number)
            self.extents[meaning] = subtract(base, self._taken_back(meaning))
            if target is not None and target[0] == "log" and target[1] & 7 == WITHDRAWAL:
                heappush(heap, (-graph.w_pos[target[1] >> 3], target))

    def _withdrawal(self, row: int) -> Intervals:
        number = entity(WITHDRAWAL, row)
        found = self.extents.get(("log", number))
        return self.belief.extent_now(number) if found is None else found

    def _taken_back(self, meaning: Meaning) -> Intervals:
        old = self.graph.withdrawals_of.get(meaning[1]) if meaning[0] == "log" else ()
        return union_all(
            [
                *(self._withdrawal(row) for row in old),
                *(self.extents["commit", index] for index in self.taken.get(meaning, ())),
            ]
        )

    def source(self, workspace: str, name: str) -> Intervals:
        """Where a source will count, for an event of that workspace."""
        left = ALL
        for place in {workspace, ""}:
            key = ev.Ref(place, name)
            row = self.graph.find_source(place, name)
            old = () if row == NONE else self.graph.withdrawals_of.get(entity(SOURCE, row))
            gone = [
                *(self._withdrawal(w) for w in old),
                *(self.extents["commit", i] for i in self.sources_taken.get(key, ())),
            ]
            left = subtract(left, union_all(gone))
        return left

    def correction(self, index: int) -> Intervals:
        """Where a correction of this commit will count."""
        event = self.events[index]
        assert isinstance(event, ev.Correction)
        extent = subtract(event.valid, self._taken_back(("commit", index)))
        if event.source is not None:
            extent = intersect(extent, self.source(event.workspace, event.source.id))
        return extent

    def _old_correction(self, row: int) -> Intervals:
        number = entity(CORRECTION, row)
        settled_by = self.resolving.get(("log", number), ())
        if not self.extents and not settled_by:
            return self.belief.extent_now(number)
        extent = subtract(self.graph.base(number), self._taken_back(("log", number)))
        for resolver in self.graph.resolvers_of.get(row):
            extent = subtract(extent, self._old_correction(resolver))
        for index in settled_by:
            extent = subtract(extent, self.correction(index))
        source = self.graph.k_source[row]
        if source != NONE:
            texts = self.graph.names.texts
            workspace = texts[self.graph.k_ws[row]]
            extent = intersect(extent, self.source(workspace, texts[self.graph.r_name[source]]))
        return extent

    def _ways(self, claim: Meaning) -> Iterator[tuple[Meaning, str, Meaning]]:
        """The claims that replace a claim, each with its id and the correction that says so."""
        graph = self.graph
        if claim[0] == "log":
            for row in graph.corrections_of.get(claim[1] >> 3):
                by = graph.k_by[row]
                if by != NONE:
                    yield ("log", entity(CLAIM, by)), graph.claim_id(by), ("log", row)
        for index in self.corrections.get(claim, ()):
            event = self.events[index]
            assert isinstance(event, ev.Correction)
            if event.by is not None:
                by_meaning = self.meaning(event, event.by, "by")
                yield by_meaning, event.by, ("commit", index)

    def circling(self, replacing: Iterable[int]) -> set[Meaning]:
        """The claims, of those that the given new corrections lead to, from which the way goes on
        without end, whatever the portions: only there can a ring run. O(what is reached)."""
        ends: list[tuple[Meaning, Meaning]] = []
        for index in replacing:
            event = self.events[index]
            assert isinstance(event, ev.Correction), event
            ends.append(
                (
                    self.meaning(event, event.corrects or "", "corrects"),
                    self.meaning(event, event.by or "", "by"),
                )
            )
        put_in = {by for _, by in ends}
        replaces = self.graph.replaces
        onward: dict[Meaning, set[Meaning]] = {}
        leading: dict[Meaning, list[Meaning]] = {}
        open_ends = [
            by
            for goal, by in ends
            if goal in put_in or (goal[0] == "log" and replaces.get(goal[1] >> 3))
        ]
        while open_ends:
            claim = open_ends.pop()
            if claim in onward:
                continue
            onward[claim] = {following for following, _, _ in self._ways(claim)}
            for following in onward[claim]:
                leading.setdefault(following, []).append(claim)
                open_ends.append(following)
        ended = [claim for claim, following in onward.items() if not following]
        while ended:
            claim = ended.pop()
            del onward[claim]
            for before in leading.get(claim, ()):
                onward[before].discard(claim)
                if not onward[before]:
                    ended.append(before)
        return set(onward)

    def path(
        self, start: Meaning, goal: Meaning, where: Intervals
    ) -> tuple[list[str], set[int]] | None:
        """The way from ``start`` to ``goal`` along corrections that share an instant of ``where``:
        the ids of its last claims, and the indexes of the new corrections."""
        visited: dict[Meaning, Intervals] = {start: where}
        stack: list[tuple[Meaning, Intervals, _Step | None]] = [(start, where, None)]
        while stack:
            claim, here, taken = stack.pop()
            for onward, id, (place, number) in self._ways(claim):
                extent = (
                    self.correction(number) if place == "commit" else self._old_correction(number)
                )
                shared = intersect(here, extent)
                if not shared:
                    continue
                step = _Step(taken, id, number if place == "commit" else NONE)
                if onward == goal:
                    return self._told(start, step)
                fresh = subtract(shared, visited.get(onward, EMPTY))
                if fresh:
                    visited[onward] = union(visited.get(onward, EMPTY), fresh)
                    stack.append((onward, fresh, step))
        return None

    def _told(self, start: Meaning, last: _Step) -> tuple[list[str], set[int]]:
        steps: list[_Step] = []
        step: _Step | None = last
        while step is not None:
            steps.append(step)
            step = step.before
        ids = [self._id(start), *(one.id for one in reversed(steps))]
        return ids[-_SHOWN:], {one.place for one in steps} - {NONE}

    def _id(self, claim: Meaning) -> str:
        where, number = claim
        return self.events[number].id if where == "commit" else self.graph.id_of(number)
