"""How one commit changes belief: what it touches, what falls, what stands again, what is contested.

The order is fixed: extents (withdrawals from the newest back, then sources, then the rest), then
held, then contests. Everything is computed anew only where in valid time it may have changed. Each
change carries the position of the event that caused it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from doxa.engine import events as ev
from doxa.engine.belief import (
    CONTESTED,
    CORROBORATED,
    HOLDS,
    SUPERSEDED,
    WITHDRAWN,
    Belief,
    Changes,
)
from doxa.engine.corroboration import corroborated
from doxa.engine.extents import Extents
from doxa.engine.graph import (
    CLAIM,
    CORRECTION,
    NONE,
    POLICY,
    WITHDRAWAL,
    entity,
)
from doxa.engine.rivals import RivalGroup
from doxa.engine.times import ALL, EMPTY, Intervals, intersect, subtract, union

__all__ = ["apply", "settle"]

_OUT: Final = WITHDRAWN | SUPERSEDED  # where a claim has either, nothing carries it


def apply(belief: Belief, first: int, recorded_at: int, events: Sequence[ev.Event]) -> Changes:
    """Takes one judged commit into the belief; says what it changed."""
    earlier = belief.graph.position
    numbers = belief.graph.add(first, recorded_at, events)
    return settle(belief, earlier, enumerate(numbers, first))


def settle(belief: Belief, earlier: int, added: Iterable[tuple[int, int]]) -> Changes:
    """Settles one commit, in the graph already: the position and entity of each of its events.
    Claims that nothing but a source which counts everywhere bears on may be left out."""
    return _Settlement(belief, earlier).settle(added)


class _Settlement(Extents):
    """One commit: its extents, and what is held and contested because of them."""

    def __init__(self, belief: Belief, earlier: int) -> None:
        super().__init__(belief, earlier)
        self.fallen: dict[int, Intervals] = {}  # what fell throughout, uncontested → its interval
        self.contradicting: dict[int, RivalGroup] = {}  # policy → its claims, held as they are now

    def settle(self, added: Iterable[tuple[int, int]]) -> Changes:
        """Settles the new entities, each with its position."""
        placed = list(added)
        if len(placed) == 1 and self._takes(placed[0][1]):
            self._take(placed[0][1], placed[0][0])
        else:
            for position, number in placed:
                self._begin(number, position)
        for row in self.graph.bound:
            arrived = self.graph.c_pos[self.graph.k_target[row]]
            self._renew_later(entity(CORRECTION, row), ALL, arrived)
        self._settle_extents()
        for number, where in self.windows[CLAIM].items():
            self._settle_claim(number, where, self.causes[number])
        self._refill(self._fell())
        self._settle_contests()
        self._settle_rows()
        return self.changes

    def _takes(self, number: int) -> bool:
        """Whether a new event withdraws a claim."""
        return number & 7 == WITHDRAWAL and self.graph.w_target[number >> 3] & 7 == CLAIM

    def _take(self, number: int, position: int) -> None:
        """Settles the extent of the only new event, which withdraws a claim."""
        claim, beliefs = self.graph.w_target[number >> 3] >> 3, self.belief.beliefs
        portion = self.graph.base(number)
        code = beliefs.uniform(claim) if portion == ALL else NONE
        if code != NONE:
            lost = EMPTY if code & _OUT else self.belief.own(claim)
            beliefs.recode(claim, code | WITHDRAWN)
        else:
            lost = self._room(claim, portion)
            beliefs.paint(claim, portion, WITHDRAWN, 0)
        self.claims[claim] = position
        if lost:
            self._shrink(claim, lost, position)
        self.belief.renewed(number)

    def _settle_claim(self, number: int, where: Intervals, cause: int) -> None:
        claim, beliefs = number >> 3, self.belief.beliefs
        left = where
        for row in self.belief.correcting(claim, where):
            left = subtract(left, self.belief.extent_now(entity(CORRECTION, row), left))
            if not left:
                break
        superseded, withdrawn = subtract(where, left), self._taken_back(number, where)
        self.claims.setdefault(claim, cause)
        code = beliefs.uniform(claim) if where == ALL else NONE
        if code != NONE and superseded in (EMPTY, ALL) and withdrawn in (EMPTY, ALL):
            new = code & ~_OUT | (SUPERSEDED if superseded else 0) | (WITHDRAWN if withdrawn else 0)
            beliefs.recode(claim, new)
            own = self.belief.own(claim)
            before, after = EMPTY if code & _OUT else own, EMPTY if new & _OUT else own
        else:
            before = self._room(claim, where)
            for bit, found in (SUPERSEDED, superseded), (WITHDRAWN, withdrawn):
                old = beliefs.now_where(claim, bit, where)
                if found != old:
                    beliefs.paint(claim, subtract(found, old), bit, 0)
                    beliefs.paint(claim, subtract(old, found), 0, bit)
            after = self._room(claim, where)
        if lost := subtract(before, after):
            self._shrink(claim, lost, cause)
        if gained := subtract(after, before):
            self._grow(claim, gained, cause)

    # -- held: what lost its ground falls with all that leaned on it, then what still stands refills

    def _room(self, claim: int, where: Intervals) -> Intervals:
        """Where, of ``where``, a claim is neither withdrawn nor superseded."""
        inside = intersect(self.belief.own(claim), where)
        return subtract(inside, self.belief.now(claim, _OUT, inside))

    def _carried(self, claim: int, where: Intervals, *, alone: bool) -> Intervals:
        """Where, of ``where``, the supports of a claim carry it; only its own sources, whatever
        becomes of any premise, if ``alone``."""
        graph, left = self.graph, where
        for row in self.belief.supporting(claim, where) if where else ():
            if graph.s_refutes[row] or (alone and graph.s_source[row] == NONE):
                continue
            left = subtract(left, self._basis(row, left))
            if not left:
                return where
        return subtract(where, left)

    def _hold(self, claim: int, where: Intervals, on: int, off: int) -> None:
        self.direct.discard(claim)
        self.fallen.pop(claim, None)
        self._paint(claim, where, on, off)

    def _fell(self) -> dict[int, Intervals]:
        """Takes from each claim, and from what leans on it, all that only lost ground carried.
        Returns where another support may carry it still."""
        graph, uniform = self.graph, self.belief.beliefs.uniform
        recode, first, last = self.belief.beliefs.recode, graph.c_from, graph.c_to
        affected: dict[int, Intervals] = {}
        lost: Intervals
        queue = deque(self.shrunk.items())
        while queue:
            claim, where = queue.popleft()
            low, high = first[claim], last[claim]
            whole = len(where) == 2 and where[0] <= low and high <= where[1]
            code = uniform(claim) if whole else NONE
            if code != NONE and not code & HOLDS:
                continue
            plain = code != NONE and not code & CONTESTED
            if plain and (code & _OUT or self._derived(claim)):
                lost = self.fallen[claim] = (low, high)
                self.direct.discard(claim)
                recode(claim, code & ~HOLDS)
                if not code & _OUT and claim in self.shrunk:  # else its premise must rise first
                    affected[claim] = lost
            else:
                lost = self.belief.held_now(claim, where)
                if lost:
                    room = self._room(claim, lost)
                    lost = subtract(lost, self._carried(claim, room, alone=True))
                if not lost:
                    continue
                affected[claim] = union(affected.get(claim, EMPTY), lost)
                self._hold(claim, lost, 0, HOLDS)
            cause = self.claims[claim]
            for follower in self._leaning(claim):
                self.claims.setdefault(follower, cause)
                queue.append((follower, lost))
        return affected

    def _derived(self, claim: int) -> bool:
        """Whether a claim has no support but its own, and that names no source."""
        graph = self.graph
        carried = graph.c_carried[claim]
        return not graph.extra_supports.get(claim) and (
            carried == NONE or graph.s_source[carried] == NONE
        )

    def _stays(self, claim: int) -> bool:
        """Whether a claim plainly gains nothing: it is held throughout, or has no room, or its only
        support rests on a claim that is held nowhere."""
        beliefs = self.belief.beliefs
        code = beliefs.uniform(claim)
        if code == NONE:
            return False
        if code & (_OUT | HOLDS):
            return True
        if not self._derived(claim):
            return False
        for premise in self.graph.s_because.get(self.graph.c_carried[claim]):
            held = beliefs.uniform(premise)
            if held != NONE and not held & HOLDS:
                return True
        return False

    def _leaning(self, claim: int) -> Iterable[int]:
        """The claims that a claim is a premise of, each once."""
        graph = self.graph
        rows = graph.dependents.get(claim)
        if len(rows) > 1:
            return dict.fromkeys([graph.s_claim[row] for row in rows if not graph.s_refutes[row]])
        return (graph.s_claim[rows[0]],) if rows and not graph.s_refutes[rows[0]] else ()

    def _refill(self, affected: dict[int, Intervals]) -> None:
        """Adds, until nothing more follows, what the supports that stand carry."""
        graph, belief = self.graph, self.belief
        waiting = affected
        for claim, where in self.grown.items():
            waiting[claim] = union(waiting.get(claim, EMPTY), where)
        queue = deque(waiting)
        while queue:
            claim = queue.popleft()
            where = waiting.pop(claim)
            if self._stays(claim) or graph.c_kind[claim] == belief.hypothesis:
                continue
            room = self._room(claim, where)
            room = subtract(room, belief.held_now(claim, room))
            gained = self._carried(claim, room, alone=False) if room else EMPTY
            if not gained:
                continue
            self._hold(claim, gained, HOLDS, 0)
            cause = self.claims[claim]
            for follower in self._leaning(claim):
                self.claims.setdefault(follower, cause)
                if follower not in waiting:
                    queue.append(follower)
                waiting[follower] = union(waiting.get(follower, EMPTY), gained)

    # -- contests and corroboration

    def _settle_contests(self) -> None:
        graph, belief = self.graph, self.belief
        moved: dict[int, Intervals] = {}
        for claim in belief.beliefs.drafted():
            if claim in self.direct:
                continue
            where = self.fallen.get(claim, EMPTY)
            if not where:
                where = intersect(belief.beliefs.differs(claim, HOLDS), belief.own(claim))
            if where:
                moved[claim] = where
        for claim in self.changes.subjects if graph.single_valued else ():
            if (
                graph.c_pos[claim] > self.earlier
                and belief.predicate_of(claim) in graph.single_valued
            ):
                moved[claim] = belief.own(claim)
        for claim in moved if graph.single_valued else ():
            group = self._rivals_of(claim)
            if group is not None:
                group.note(claim, belief.object_key(claim), belief.held_hull(claim))
        for claim, where in moved.items():
            self._spread(claim, where, self.claims[claim])
        for claim, where in self.disputed.items():
            if self._undisputed(claim):
                continue
            self._set(claim, where, CONTESTED, self._contested(claim, where))
        for claim, where in self.sourced.items():
            where = intersect(where, belief.own(claim))
            if where:
                self._set(claim, where, CORROBORATED, corroborated(belief, claim, where))

    def _undisputed(self, claim: int) -> bool:
        """Whether a claim is held nowhere, and was not contested."""
        code = self.belief.beliefs.uniform(claim)
        return code != NONE and not code & (HOLDS | CONTESTED)

    def _set(self, claim: int, where: Intervals, bit: int, new: Intervals) -> None:
        """Makes a bit of a claim, within ``where``, be set where ``new`` says."""
        old = self.belief.now(claim, bit, where)
        if new != old:
            self._hold(claim, subtract(new, old), bit, 0)
            self._hold(claim, subtract(old, new), 0, bit)

    def _spread(self, claim: int, where: Intervals, cause: int) -> None:
        """Marks what a change of held touches next: derived supports, refutations, rivals."""
        graph = self.graph
        if claim not in self.fallen and not self._undisputed(claim):
            self._dispute(claim, where, cause)
        for row in graph.dependents.get(claim):
            self.changes.supports.setdefault(row, cause)
            if graph.s_refutes[row]:
                self._dispute(graph.s_claim[row], where, cause)
        for policy in graph.contradictions.get(claim):
            for other in graph.p_claims.get(policy):
                self._dispute(other, where, cause)
        group = self._rivals_of(claim)
        if group is not None:
            for other in group.others(self.belief.object_key(claim), where):
                self._dispute(other, where, cause)

    def _rivals_of(self, claim: int) -> RivalGroup | None:
        """The rivals of a claim, where its predicate has one value at a time."""
        graph, belief = self.graph, self.belief
        if not graph.single_valued or belief.predicate_of(claim) not in graph.single_valued:
            return None
        erased = bool(graph.erased) and claim * 8 + CLAIM in graph.erased
        return belief.group_of_erased(claim) if erased else belief.rival_group(claim)

    def _contradicting(self, policy: int) -> RivalGroup:
        """The held claims of a declared contradiction, each against all others."""
        group = self.contradicting.get(policy)
        if group is None:
            group = self.contradicting[policy] = RivalGroup()
            for claim in self.graph.p_claims.get(policy):
                group.note(claim, str(claim), self.belief.held_hull(claim))
        return group

    def _contested(self, claim: int, where: Intervals) -> Intervals:
        """Where, of ``where``, a held claim has something held against it."""
        graph, belief = self.graph, self.belief
        held = left = belief.held_now(claim, where)
        if not held:
            return EMPTY
        for row in belief.supporting(claim, held):
            if graph.s_refutes[row]:
                left = subtract(left, self._basis(row, left))
                if not left:
                    return held
        if graph.erased and claim * 8 + CLAIM in graph.erased:
            return EMPTY  # it stands as redacted, whatever is held against it
        for policy in graph.contradictions.get(claim):
            counts = belief.extent_now(entity(POLICY, policy), left)
            if counts:
                others = self._contradicting(policy).others(str(claim), counts)
                left = self._against(others, counts, left)
        for declared in self._single_valued(claim, left):
            counts = intersect(left, declared)
            others = belief.rival_group(claim).others(belief.object_key(claim), counts)
            if graph.erased:
                others = (each for each in others if not belief.known_to_agree(claim, each))
            left = self._against(others, counts, left)
        return subtract(held, left)

    def _single_valued(self, claim: int, where: Intervals) -> Iterator[Intervals]:
        graph = self.graph
        declared = graph.single_valued.get(graph.c_predicate[claim], {})
        for workspace in {graph.c_ws[claim], self.belief.shared}:
            for row in declared.get(workspace, ()):
                counts = self.belief.extent_now(entity(POLICY, row), where)
                if counts:
                    yield counts

    def _against(self, others: Iterable[int], counts: Intervals, left: Intervals) -> Intervals:
        """``left`` less where another claim is held, within ``counts``, which lies in it."""
        found = counts
        for other in others:
            found = subtract(found, self.belief.held_now(other, found))
            if not found:
                break
        return subtract(left, subtract(counts, found))

    # -- the rows that come of it

    def _settle_rows(self) -> None:
        graph, belief, changes = self.graph, self.belief, self.changes
        changes.extents = belief.extents.settle(self.k)
        changes.beliefs = belief.beliefs.settle(self.k)
        for claim in changes.beliefs:
            changes.claims[claim] = cause = self.claims[claim]
            changes.subjects.setdefault(claim, cause)
        for row, cause in changes.supports.items():
            changes.subjects.setdefault(graph.s_claim[row], cause)
        for claim in changes.subjects:
            if graph.c_pos[claim] <= self.earlier:
                belief.changed_claim.append(claim)
                belief.changed_at.append(self.k)
