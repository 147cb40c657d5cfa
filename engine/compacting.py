"""Which events may be compacted: what can be taken out of a log without another answer changing.

A claim may go once nothing is left of it for good: over all of its interval it was withdrawn, or
corrected by what no source can take back, and nothing that stays rests on it, cites it, contradicts
it or was replaced by it. With it go its supports, and what withdrew or corrected it; who goes is
closed under all this, so that whatever stays stands at every (v, k) as it stood before.

Pure: takes a belief and a registry, gives positions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from doxa.engine.belief import CONTESTED, SUPERSEDED, WITHDRAWN, Belief
from doxa.engine.gone import HYPOTHETICAL, LABELS, SOURCED, Columns, mark, spelled_out
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL, entity
from doxa.engine.keyed import Keyed
from doxa.engine.registry import Registry
from doxa.engine.rows import HYPOTHESIS, SHARED
from doxa.engine.tables import Ints

__all__ = ["Chosen", "Criteria", "choose", "described"]

_OUT = WITHDRAWN | SUPERSEDED


@dataclass(frozen=True, slots=True)
class Criteria:
    """What is to go, of all that may: what any of the first three says, the oldest first.

    ``upto``: whose last change lies at this position or before. ``versions``: of which at least so
    many newer versions are there. ``freed``: as much as it takes to free so many bytes. ``most``:
    no more events than this.
    """

    upto: int = 0
    versions: int | None = None
    freed: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What goes: claims by row, and the positions of all events, both ascending."""

    claims: Ints
    positions: Ints


def choose(
    belief: Belief,
    registry: Registry,
    criteria: Criteria,
    sizes: Callable[[Sequence[int]], Sequence[int]],
    reserved: Collection[int] = (),
) -> Chosen:
    """What of a log may be compacted, and is to be.

    ``sizes`` gives the bytes of the events at some positions; what is ``reserved`` stays. O(claims
    that nothing is left of, and what bears on them).
    """
    choice = _Choice(belief, registry, reserved)
    wanted = [c for c in choice.may_go() if _wanted(choice, c, criteria)]
    if criteria.most is not None:
        wanted = _up_to(choice, wanted, lambda claim: len(choice.groups[claim]), criteria.most)
    if criteria.freed > 0:
        wanted = _with_bytes(choice, set(wanted), criteria, sizes)
    return _chosen(choice, wanted)


def _wanted(choice: _Choice, claim: int, criteria: Criteria) -> bool:
    if choice.last[claim] <= criteria.upto:
        return True
    return criteria.versions is not None and choice.rank(claim) >= criteria.versions


def _up_to(
    choice: _Choice, claims: Iterable[int], size: Callable[[int], int], most: int
) -> list[int]:
    """The oldest claims, as many as fit."""
    left, taken = most, []
    for claim in sorted(claims, key=lambda claim: (choice.last[claim], claim)):
        left -= size(claim)
        if left < 0:
            break
        taken.append(claim)
    return taken


def _with_bytes(
    choice: _Choice,
    wanted: set[int],
    criteria: Criteria,
    sizes: Callable[[Sequence[int]], Sequence[int]],
) -> list[int]:
    """Those that are wanted anyway, and the oldest of all others until enough is freed."""
    order = sorted(choice.groups, key=lambda claim: (choice.last[claim], claim))
    of = {claim: sum(sizes(choice.groups[claim])) for claim in order}
    count, room = 0, len(order)
    while count < room:
        found = choice.closed({*wanted, *order[:count]})
        if sum(of[claim] for claim in found) >= criteria.freed:
            break
        count = min(room, count + max(64, count))
    low, high = count // 2, count
    while low < high:  # the fewest that are enough
        middle = (low + high) // 2
        found = choice.closed({*wanted, *order[:middle]})
        if sum(of[claim] for claim in found) >= criteria.freed:
            high = middle
        else:
            low = middle + 1
    taken = {*wanted, *order[:high]}
    if criteria.most is not None:
        return _up_to(choice, taken, lambda claim: len(choice.groups[claim]), criteria.most)
    return list(taken)


def _chosen(choice: _Choice, wanted: Iterable[int]) -> Chosen:
    claims = np.array(sorted(choice.closed(set(wanted))), np.int64)
    positions = {position for claim in claims.tolist() for position in choice.groups[claim]}
    return Chosen(claims, np.array(sorted(positions), np.int64))


class _Choice:
    """The claims of one log that may go, each with the positions of its events."""

    def __init__(self, belief: Belief, registry: Registry, reserved: Collection[int]) -> None:
        self.belief, self.graph, self.registry = belief, belief.graph, registry
        self.reserved = reserved
        self.groups: dict[int, list[int]] = {}
        self.last: dict[int, int] = {}  # claim → its last change
        self._ranks: dict[int, int] = {}
        self._named = self._named_by_policies()
        self._settled = {row for row, _ in self.graph.k_resolves.items()}
        self._snapshots = _Snapshots(belief, registry)

    def may_go(self) -> Collection[int]:
        """The claims that may go, all together."""
        contested = self._ever_contested()
        for claim in self._dead():
            if not contested[claim] and claim not in self._named:
                group = self._group(claim)
                if group is not None:
                    self.groups[claim], self.last[claim] = group, max(group)
        left = self.closed(set(self.groups))
        self.groups = {claim: group for claim, group in self.groups.items() if claim in left}
        return self.groups

    def closed(self, claims: set[int]) -> set[int]:
        """Those of some claims that may go if all others stay: every claim that rests on them goes
        too, and every one that they replaced."""
        graph, left, waiting = self.graph, set(claims), list(claims)
        while waiting:
            claim = waiting.pop()
            if claim not in left or self._needs(claim) <= left:
                continue
            left.discard(claim)
            waiting += (c for s in graph.supports_of(claim) for c in graph.s_because.get(s))
            waiting += (graph.k_by[k] for k in graph.corrections_of.get(claim))
        return left

    def _needs(self, claim: int) -> set[int]:
        """The claims that have to go with one."""
        graph = self.graph
        resting = {graph.s_claim[support] for support in graph.dependents.get(claim)}
        resting.update(graph.k_target[row] for row in graph.replaces.get(claim))
        resting.discard(claim)
        return resting

    def rank(self, claim: int) -> int:
        """How many newer versions of a claim there are, along its corrections."""
        ranks, path = self._ranks, {claim: self._newer(claim)}
        while path:
            at, newer = next(reversed(path.items()))
            further = next((by for by in newer if by not in ranks and by not in path), NONE)
            if further != NONE:
                path[further] = self._newer(further)
                continue
            del path[at]
            ranks[at] = 1 + min(ranks.get(by, 0) for by in newer) if newer else 0
        return ranks[claim]

    def _newer(self, claim: int) -> list[int]:
        by, belief = self.graph.k_by, self.belief
        return [
            by[row]
            for row in self.graph.corrections_of.get(claim)
            if by[row] != NONE and belief.extent_now(entity(CORRECTION, row))
        ]

    # -- one claim

    def _dead(self) -> Iterator[int]:
        """The claims of which nothing is left: over their whole intervals they are withdrawn or
        corrected."""
        beliefs = self.belief.beliefs
        leaves = np.array(beliefs.leaf_of, np.int64)
        codes = np.frombuffer(bytes(beliefs.code), np.uint8)
        one = leaves >= 0
        gone = np.zeros(len(leaves), bool)
        gone[one] = (codes[leaves[one]] & _OUT) != 0
        several = set(np.flatnonzero(leaves < NONE).tolist())
        for claim in np.flatnonzero(gone | (leaves < NONE)).tolist():
            own = self.belief.own(claim)
            if claim not in several or beliefs.now_where(claim, _OUT, own) == own:
                yield claim

    def _ever_contested(self) -> Ints:
        beliefs = self.belief.beliefs
        codes = np.frombuffer(bytes(beliefs.code), np.uint8)
        found = np.zeros(len(self.graph.c_pos), bool)
        found[np.array(beliefs.owner, np.int64)[(codes & CONTESTED) != 0]] = True
        return found

    def _named_by_policies(self) -> set[int]:
        """The claims that a policy says something of."""
        graph = self.graph
        found: set[int] = set()
        for naming in (graph.contradictions, graph.verifications, graph.pinnings):
            found.update(naming.keys())
        for numbers in (graph.policies_on.keys(), graph.erased):
            found.update(number >> 3 for number in numbers if number & 7 == CLAIM)
        for one in graph.erased.values():
            found.update(number >> 3 for id in one.agrees for number in graph.find_everywhere(id))
        return found

    def _group(self, claim: int) -> list[int] | None:
        """The positions of a claim, of its supports, and of what withdrew or corrected any of
        them; ``None`` where it has to stay."""
        graph, depends_on = self.graph, self.registry.depends_on
        if graph.k_candidates.get(claim) or depends_on(entity(CLAIM, claim)):
            return None
        members = [entity(CLAIM, claim)]
        for support in graph.supports_of(claim):
            number = entity(SUPPORT, support)
            if depends_on(number) or number in graph.erased:
                return None
            members.append(number)
        for row in graph.corrections_of.get(claim):
            unsettled = row in graph.k_unresolved or row in self._settled
            if unsettled or graph.k_source[row] != NONE or graph.resolvers_of.get(row):
                return None
            members.append(entity(CORRECTION, row))
        positions = set(map(graph.position_of, members))
        while members:
            for row in graph.withdrawals_of.get(members.pop()):
                positions.add(graph.w_pos[row])
                members.append(entity(WITHDRAWAL, row))
        if any(graph.k_target[row] == NONE for row in graph.replaces.get(claim)):
            return None
        if self.reserved and not positions.isdisjoint(self.reserved):
            return None
        return None if self._snapshots.saw(claim, max(positions)) else sorted(positions)


class _Snapshots:
    """From when on something is bound to what is believed of a workspace, or of a subject in it."""

    def __init__(self, belief: Belief, registry: Registry) -> None:
        graph = self.graph = belief.graph
        self.since: dict[tuple[int, int], int] = {}  # workspace and subject, or NONE for each
        for row, snapshot in enumerate(graph.a_snapshot):
            if not snapshot:
                continue
            bound = registry.at_registration(row)[1]
            subjects = graph.subjects_of(row)
            for subject in (NONE,) if subjects is None else subjects:
                for place in (graph.a_ws[row], NONE):  # whose claims are seen, and the shared ones
                    key = place, subject
                    self.since[key] = min(bound, self.since.get(key, bound))

    def saw(self, claim: int, last: int) -> bool:
        """Whether anything that is bound to a snapshot may have seen a change of a claim, of which
        the last was at a position."""
        if not self.since:
            return False
        graph = self.graph
        place = NONE if graph.c_ws[claim] == SHARED else graph.c_ws[claim]
        places = ((place, NONE), (place, graph.c_subject[claim]))
        return any(self.since.get(key, last) < last for key in places)


# ---------------------------------------------------------------- what is kept of them


def described(belief: Belief, chosen: Chosen, keyed: Keyed) -> Columns:
    """What stays known of events that are to be compacted."""
    graph, claims = belief.graph, chosen.claims
    positions = chosen.positions
    numbers = np.array(graph.ids.number, np.int64)[positions - 1]
    spaces = np.array(graph.ids.workspace, np.int64)[positions - 1]
    used, workspace = np.unique(spaces, return_inverse=True)
    texts = graph.names.texts
    names = [texts[code] for code in used.tolist()]
    ids = [
        mark(keyed, "id", names[place], graph.ids.texts[position - 1])
        for place, position in zip(workspace.tolist(), positions.tolist(), strict=True)
    ]
    ends = np.array(graph.commit_last, np.int64)
    at = np.array(graph.commit_at, np.int64)[np.searchsorted(ends, positions)]
    starts, stops = (np.array(c, np.int64)[claims] for c in (graph.c_from, graph.c_to))
    pieces, low, high, known, until, code = _pieces(belief, claims)
    correction, by = _put_in(belief, positions, numbers)
    subject, predicate, perspective = (_marked(belief, claims, name, keyed) for name in LABELS[1:])
    return Columns(
        names=tuple(names),
        position=positions,
        recorded_at=at,
        workspace=workspace,
        kind=numbers & 7,
        id=np.array(ids, np.uint64),
        event=np.searchsorted(positions, np.array(graph.c_pos, np.int64)[claims]),
        subject=subject,
        predicate=predicate,
        perspective=perspective,
        start=starts,
        end=stops,
        flags=_flags(belief, claims),
        pieces=pieces,
        low=low,
        high=high,
        known=known,
        until=until,
        code=code,
        correction=correction,
        by=by,
    )


def _marked(belief: Belief, claims: Ints, label: str, keyed: Keyed) -> Ints:
    """The marks of a name that each claim has."""
    graph = belief.graph
    codes = np.array(getattr(graph, f"c_{label}"), np.int64)[claims]
    used, places = np.unique(codes, return_inverse=True)
    found = [mark(keyed, label, graph.names.texts[code]) for code in used.tolist()]
    return np.array(found, np.uint64)[places]


def _flags(belief: Belief, claims: Ints) -> Ints:
    graph = belief.graph
    found = np.frombuffer(bytes(graph.c_plain), np.uint8)[claims].copy()
    found[np.array(graph.c_kind, np.int64)[claims] == HYPOTHESIS] |= HYPOTHETICAL
    source = graph.s_source
    for place, claim in enumerate(claims.tolist()):
        if any(source[support] != NONE for support in graph.supports_of(claim)):
            found[place] |= SOURCED
    return found


def _pieces(belief: Belief, claims: Ints) -> tuple[Ints, ...]:
    """How many rows each claim has in the history of beliefs, and the rows."""
    beliefs = belief.beliefs
    owner = np.array(beliefs.owner, np.int64)
    order = np.argsort(owner, kind="stable")
    sorted_owner = owner[order]
    first = np.searchsorted(sorted_owner, claims)
    counts = np.searchsorted(sorted_owner, claims, side="right") - first
    rows = order[spelled_out(first, counts)]
    codes = np.frombuffer(bytes(beliefs.code), np.uint8)
    columns = (
        np.array(c, np.int64) for c in (beliefs.low, beliefs.high, beliefs.known, beliefs.until)
    )
    return (counts, *(column[rows] for column in columns), codes[rows])


def _put_in(belief: Belief, positions: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The corrections by claims that stay, and the positions of these."""
    graph = belief.graph
    places = np.flatnonzero((numbers & 7) == CORRECTION)
    replacing = np.array(graph.k_by, np.int64)[numbers[places] >> 3]
    places, replacing = places[replacing != NONE], replacing[replacing != NONE]
    at = np.array(graph.c_pos, np.int64)[replacing]
    stays = ~np.isin(at, positions)
    return places[stays], at[stays]
