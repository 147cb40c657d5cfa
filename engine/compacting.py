"""Which events may be compacted: what can be taken out of a log without another answer changing.

A claim may go once nothing is left of it for good: over all of its interval it was withdrawn, or
corrected by what no source can take back, and nothing that stays rests on it, cites it, contradicts
it or was replaced by it. With it go its supports, and what withdrew or corrected it; who goes is
closed under all this, so that whatever stays stands at every (v, k) as it stood before.

Pure: takes a belief and a registry, gives positions.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from doxa.engine.belief import CONTESTED, SUPERSEDED, WITHDRAWN, Belief
from doxa.engine.gone import HYPOTHETICAL, LABELS, Columns, marks, spelled_out
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL
from doxa.engine.keyed import Keyed
from doxa.engine.registry import Registry
from doxa.engine.rows import HYPOTHESIS, SHARED
from doxa.engine.tables import Ints

__all__ = ["Chosen", "Criteria", "choose", "described", "still"]

ROUNDS: Final = 32  # of looking for what stays, before it is followed from claim to claim
_OUT: Final = WITHDRAWN | SUPERSEDED


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
    sizes: Callable[[Ints], Ints],
    reserved: Collection[int] = (),
) -> Chosen:
    """What of a log may be compacted, and is to be.

    ``sizes`` gives the bytes of the events at some positions; what is ``reserved`` stays.
    O(events), in numpy, and O(what premises and policies name).
    """
    choice = _Choice(belief, registry, reserved)
    wanted = choice.going & (choice.last <= criteria.upto)
    if criteria.versions is not None:
        wanted |= choice.going & choice.older(criteria.versions)
    most = choice.events.size if criteria.most is None else criteria.most
    wanted = choice.closed(choice.oldest(wanted, most))
    if criteria.freed > 0:
        wanted = _enough(choice, wanted, criteria.freed, most, sizes)
    return choice.chosen(wanted)


def still(
    belief: Belief, registry: Registry, chosen: Chosen, reserved: Collection[int] = ()
) -> bool:
    """Whether what was chosen may still go, of a log that has grown since, and nothing else with
    it."""
    choice = _Choice(belief, registry, reserved)
    claims = np.zeros(choice.count, bool)
    claims[chosen.claims] = True
    going = choice.closed(claims & choice.going)
    return bool((going == claims).all()) and np.array_equal(
        choice.chosen(claims).positions, chosen.positions
    )


def _enough(
    choice: _Choice, wanted: Ints, freed: int, most: int, sizes: Callable[[Ints], Ints]
) -> Ints:
    """Those that are wanted anyway, and the oldest of all others until enough is freed."""
    each = choice.summed(sizes(choice.events))
    order = choice.by_age(choice.going)

    def taken(count: int) -> Ints:
        more = wanted.copy()
        more[order[:count]] = True
        return choice.closed(choice.oldest(more, most))

    low, high = 0, len(order)
    while low < high:  # the fewest that are enough
        middle = (low + high) // 2
        if int(each[taken(middle)].sum()) >= freed:
            high = middle
        else:
            low = middle + 1
    return taken(low)


class _Choice:
    """The claims of one log by row: which may go, all together, and when each changed last.

    ``events`` are the positions of what goes with claims, ``owners`` whose each is.
    """

    def __init__(self, belief: Belief, registry: Registry, reserved: Collection[int]) -> None:
        self.belief, self.graph, self.registry = belief, belief.graph, registry
        graph = self.graph
        self.count = len(graph.c_pos)
        self.target, self.by = _column(graph.k_target), _column(graph.k_by)
        self.events, self.owners = self._grouped()
        self.last = np.zeros(self.count, np.int64)
        np.maximum.at(self.last, self.owners, self.events)
        self.before, self.after = self._edges()
        going = self._dead() & ~self._contested()
        going[self._named(reserved)] = False
        since = _snapshots(belief, registry)
        for claim in np.flatnonzero(going).tolist() if since else ():
            going[claim] = not self._seen(since, claim)
        self.going = self.closed(going)

    # -- which go together

    def _grouped(self) -> tuple[Ints, Ints]:
        """The positions of claims, of their supports, and of what corrected or withdrew any of
        these, each beside the claim."""
        graph = self.graph
        claims = np.arange(self.count)
        of = {CLAIM: claims, SUPPORT: _column(graph.s_claim), CORRECTION: self.target}
        taken = _column(graph.w_target)
        owner = np.full(len(taken), NONE)
        for kind, owners in of.items():
            mine = (taken & 7) == kind
            owner[mine] = owners[taken[mine] >> 3]
        again = np.flatnonzero((taken & 7) == WITHDRAWAL)  # each takes back an earlier one
        for row in again.tolist():
            owner[row] = owner[taken[row] >> 3]
        columns = (graph.c_pos, graph.s_pos, graph.k_pos, graph.w_pos)
        events = np.concatenate([_column(column) for column in columns])
        owners = np.concatenate([claims, of[SUPPORT], self.target, owner])
        pairs = np.unique(owners[owners != NONE] << 32 | events[owners != NONE])
        return pairs & 0xFFFFFFFF, pairs >> 32

    def _edges(self) -> tuple[Ints, Ints]:
        """Pairs of claims: the first goes only with the second, which rests on it, or which it
        replaced."""
        claim_of = self.graph.s_claim
        resting = [
            (premise, claim_of[support])
            for support, premises in self.graph.s_because.items()
            for premise in premises
        ]
        pairs = np.array(resting, np.int64).reshape(-1, 2)
        put_in = (self.by != NONE) & (self.target != NONE)
        before = np.concatenate([pairs[:, 0], self.by[put_in]])
        after = np.concatenate([pairs[:, 1], self.target[put_in]])
        return before[before != after], after[before != after]

    def closed(self, going: Ints) -> Ints:
        """Those of some claims that may go if all others stay."""
        left = going.copy()
        before, after = self.before, self.after
        for _ in range(ROUNDS):
            stays = left[before] & ~left[after]
            if not stays.any():
                return left
            left[before[stays]] = False
        needing = left[before]
        leading: dict[int, list[int]] = {}
        for one, other in zip(before[needing].tolist(), after[needing].tolist(), strict=True):
            leading.setdefault(other, []).append(one)
        waiting = [claim for claim in leading if not left[claim]]
        while waiting:
            for claim in leading.get(waiting.pop(), ()):
                if left[claim]:
                    left[claim] = False
                    waiting.append(claim)
        return left

    def older(self, versions: int) -> Ints:
        """The claims of which there are so many newer versions, along their corrections."""
        counts = np.ones(len(self.by), bool)
        touched = np.unique(_column(self.belief.extents.owner))
        for number in touched[(touched & 7) == CORRECTION].tolist():
            counts[number >> 3] = bool(self.belief.extent_now(number))
        counts &= (self.by != NONE) & (self.target != NONE)
        target, by = self.target[counts], self.by[counts]
        replaced = np.zeros(self.count, bool)
        replaced[target] = True
        found = np.ones(self.count, bool)
        for _ in range(versions):
            newest = target[~found[by]]
            found = found & replaced
            found[newest] = False
            if not found.any():
                break
        return found

    # -- how many of them

    def summed(self, values: Ints) -> Ints:
        """Values of the events, added up by claim."""
        return np.bincount(self.owners, values, self.count).astype(np.int64)

    def by_age(self, claims: Ints) -> Ints:
        """The rows of some claims, the oldest first."""
        rows = np.flatnonzero(claims)
        return rows[np.lexsort((rows, self.last[rows]))]

    def oldest(self, claims: Ints, most: int) -> Ints:
        """Of some claims the oldest, with no more events than a number of them."""
        rows = self.by_age(claims)
        counts = np.bincount(self.owners, minlength=self.count)[rows]
        found = np.zeros(self.count, bool)
        found[rows[np.cumsum(counts) <= most]] = True
        return found

    def chosen(self, claims: Ints) -> Chosen:
        """Claims with the positions of all that goes with them."""
        return Chosen(np.flatnonzero(claims), np.unique(self.events[claims[self.owners]]))

    # -- which stay, whatever becomes of the others

    def _dead(self) -> Ints:
        """The claims of which nothing is left: over their whole intervals they are withdrawn or
        corrected."""
        beliefs = self.belief.beliefs
        leaves = _column(beliefs.leaf_of)
        codes = np.frombuffer(bytes(beliefs.code), np.uint8)
        found = np.zeros(self.count, bool)
        one = np.flatnonzero(leaves >= 0)
        found[one] = (codes[leaves[one]] & _OUT) != 0
        for claim in np.flatnonzero(leaves < NONE).tolist():
            own = self.belief.own(claim)
            found[claim] = beliefs.now_where(claim, _OUT, own) == own
        return found

    def _contested(self) -> Ints:
        """The claims that were ever contested."""
        beliefs = self.belief.beliefs
        codes = np.frombuffer(bytes(beliefs.code), np.uint8)
        found = np.zeros(self.count, bool)
        found[_column(beliefs.owner)[(codes & CONTESTED) != 0]] = True
        return found

    def _named(self, reserved: Collection[int]) -> Ints:
        """The claims that an artefact or a policy names, that a source may bring back, or that
        something is still to be said of."""
        graph = self.graph
        found: list[int] = []
        for naming in (graph.contradictions, graph.verifications, graph.pinnings):
            found += naming.keys()
        found += graph.k_candidates.keys()
        for one in graph.erased.values():
            found += (number >> 3 for id in one.agrees for number in graph.find_everywhere(id))
        for number in (*graph.policies_on.keys(), *graph.erased, *self.registry.declared()):
            if number & 7 == CLAIM:
                found.append(number >> 3)
            elif number & 7 == SUPPORT:
                found.append(graph.s_claim[number >> 3])
        unsettled = _column(graph.k_source) != NONE
        for row in (*graph.k_unresolved, *graph.resolvers_of.keys()):
            unsettled[row] = True
        for row, _ in graph.k_resolves.items():
            unsettled[row] = True
        dangling = (self.target == NONE) & (self.by != NONE)
        kept = np.isin(self.events, np.array(list(reserved), np.int64))
        several = [
            np.array(found, np.int64),
            self.target[unsettled & (self.target != NONE)],
            self.by[dangling],
            self.owners[kept],
        ]
        return np.concatenate(several)

    def _seen(self, since: dict[tuple[int, int], int], claim: int) -> bool:
        """Whether anything that is bound to a snapshot may have seen a change of a claim."""
        graph, last = self.graph, int(self.last[claim])
        place = NONE if graph.c_ws[claim] == SHARED else graph.c_ws[claim]
        places = ((place, NONE), (place, graph.c_subject[claim]))
        return any(since.get(key, last) < last for key in places)


def _column(column: array[int]) -> Ints:
    return np.array(column, np.int64)


def _snapshots(belief: Belief, registry: Registry) -> dict[tuple[int, int], int]:
    """From when on something is bound to what is believed of a workspace, or of a subject in it:
    by workspace and subject, either of which may be NONE."""
    graph = belief.graph
    since: dict[tuple[int, int], int] = {}
    for row, snapshot in enumerate(graph.a_snapshot):
        if not snapshot:
            continue
        bound = registry.at_registration(row)[1]
        subjects = graph.subjects_of(row)
        for subject in (NONE,) if subjects is None else subjects:
            for place in (graph.a_ws[row], NONE):  # whose claims are seen, and the shared ones
                key = place, subject
                since[key] = min(bound, since.get(key, bound))
    return since


# ---------------------------------------------------------------- what is kept of them


def described(belief: Belief, chosen: Chosen, keyed: Keyed) -> Columns:
    """What stays known of events that are to be compacted."""
    graph, claims = belief.graph, chosen.claims
    positions = chosen.positions
    numbers = _column(graph.ids.number)[positions - 1]
    spaces = _column(graph.ids.workspace)[positions - 1]
    used, workspace = np.unique(spaces, return_inverse=True)
    texts = graph.names.texts
    names = [texts[code] for code in used.tolist()]
    id_at, places = graph.id_at, workspace.tolist()
    ids = [
        f"{names[place]}\x00{id_at(position)}"
        for place, position in zip(places, positions.tolist(), strict=True)
    ]
    ends = _column(graph.commit_last)
    at = _column(graph.commit_at)[np.searchsorted(ends, positions)]
    starts, stops = (_column(c)[claims] for c in (graph.c_from, graph.c_to))
    pieces, low, high, known, until, code = _pieces(belief, claims)
    correction, by = _put_in(belief, positions, numbers)
    sourced, source = _sources(belief, claims, keyed)
    subject, predicate, perspective = (_marked(belief, claims, name, keyed) for name in LABELS)
    return Columns(
        names=tuple(names),
        position=positions,
        recorded_at=at,
        workspace=workspace,
        kind=numbers & 7,
        id=marks(keyed, "id", ids),
        event=np.searchsorted(positions, _column(graph.c_pos)[claims]),
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
        sourced=sourced,
        source=source,
    )


def _marked(belief: Belief, claims: Ints, label: str, keyed: Keyed) -> Ints:
    """The marks of a name that each claim has."""
    graph = belief.graph
    codes = _column(getattr(graph, f"c_{label}"))[claims]
    used, places = np.unique(codes, return_inverse=True)
    texts = graph.names.texts
    found: Ints = marks(keyed, label, [texts[code] for code in used.tolist()])[places]
    return found


def _flags(belief: Belief, claims: Ints) -> Ints:
    graph = belief.graph
    found = np.frombuffer(bytes(graph.c_plain), np.uint8).copy()
    found[_column(graph.c_kind) == HYPOTHESIS] |= HYPOTHETICAL
    chosen: Ints = found[claims]
    return chosen


def _sources(belief: Belief, claims: Ints, keyed: Keyed) -> tuple[Ints, Ints]:
    """The places of claims beside the marks of sources that their supports name, each pair once."""
    graph = belief.graph
    place = np.full(len(graph.c_pos), NONE)
    place[claims] = np.arange(len(claims))
    of, named = place[_column(graph.s_claim)], _column(graph.s_source)
    mine = (of != NONE) & (named != NONE)
    pairs = np.unique(of[mine] << 32 | named[mine])
    used, at = np.unique(pairs & 0xFFFFFFFF, return_inverse=True)
    texts, names = graph.names.texts, graph.r_name
    found = marks(keyed, "source", [texts[names[row]] for row in used.tolist()])
    return pairs >> 32, found[at]


def _pieces(belief: Belief, claims: Ints) -> tuple[Ints, ...]:
    """How many rows each claim has in the history of beliefs, and the rows."""
    beliefs = belief.beliefs
    owner = _column(beliefs.owner)
    order = np.argsort(owner, kind="stable")
    sorted_owner = owner[order]
    first = np.searchsorted(sorted_owner, claims)
    counts = np.searchsorted(sorted_owner, claims, side="right") - first
    rows = order[spelled_out(first, counts)]
    codes = np.frombuffer(bytes(beliefs.code), np.uint8)
    columns = (_column(c) for c in (beliefs.low, beliefs.high, beliefs.known, beliefs.until))
    return (counts, *(column[rows] for column in columns), codes[rows])


def _put_in(belief: Belief, positions: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The corrections by claims that stay, and the positions of these."""
    graph = belief.graph
    places = np.flatnonzero((numbers & 7) == CORRECTION)
    replacing = _column(graph.k_by)[numbers[places] >> 3]
    places, replacing = places[replacing != NONE], replacing[replacing != NONE]
    at = _column(graph.c_pos)[replacing]
    stays = ~np.isin(at, positions)
    return places[stays], at[stays]
