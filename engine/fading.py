"""Which records are due to be archived: what faded, what expired, and what somebody prunes.

`vitals` says how one record is, step by step; `faded` finds those that are due among all claims,
column by column. Both come to the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from doxa.engine.belief import Belief
from doxa.engine.decay import BELOW, DAY, SEVEN_DAYS, VERIFIED, decay, floored, horizon
from doxa.engine.declared import ARCHIVED, EXPIRES, RESTORED, SCORED
from doxa.engine.graph import CLAIM, POLICY, Graph, entity
from doxa.engine.hiding import hidden, newest, pins_at, said_of
from doxa.engine.items import iso_or_none, moment_or_none
from doxa.engine.layers import Layer, layer
from doxa.engine.lookups import entities
from doxa.engine.retention import archived, expiry, importance
from doxa.engine.rows import SHARED
from doxa.engine.tables import Ints
from doxa.engine.times import NEG, Instant
from doxa.engine.usage import Key, Since, Usage, Used

__all__ = ["Due", "Vitals", "Wanted", "expired", "faded", "keys_of", "still_due", "vitals"]

FEW: Final = 10_000  # claims whose uses are looked up one by one, rather than all uses read
_NEVER: Final = Used(NEG, 0)


class Vitals(NamedTuple):
    """How a record is: when it was used, recorded, supported or restored last, in microseconds, how
    often it was used, what is left of it, and what keeps it. Artefacts do not fade."""

    number: int
    last: Instant
    uses: int
    constant: float  # microseconds
    decay: float
    archived: bool
    pinned: bool
    verified: bool
    importance: float
    expires: Instant | None

    @property
    def layer(self) -> Layer:
        """The layer that it is in."""
        return layer(self.uses)

    @property
    def kept(self) -> str | None:
        """What protects it from being pruned, if anything does."""
        if self.pinned:
            return "pinned"
        return "verified" if self.verified else "important" if self.importance > 0 else None

    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """The record as a JSON object; times are ISO text, the constant is in days."""
        return {
            "id": graph.id_of(self.number),
            "workspace": graph.names.texts[graph.workspace_of(self.number)],
            "last": iso_or_none(moment_or_none(self.last)),
            "uses": self.uses,
            "layer": str(self.layer),
            "decay": self.decay,
            "days": None if math.isinf(self.constant) else self.constant / DAY,
            "archived": self.archived,
            "pinned": self.pinned,
            "verified": self.verified,
            "importance": self.importance,
            "expires": None if self.expires is None else iso_or_none(moment_or_none(self.expires)),
        }


def vitals(belief: Belief, number: int, used: Used | None, now: Instant) -> Vitals:
    """How one record is at an instant, as known at the head. O(its policies and supports)."""
    graph, k = belief.graph, belief.graph.position
    row, of_claim = number >> 3, number & 7 == CLAIM
    constant = _constant(belief, graph.c_ws[row], graph.c_kind[row], now) if of_claim else math.inf
    last, uses = used or _NEVER
    last = max(last, _recorded(graph, number), _brought_back(belief, number))
    pinned = of_claim and any(
        belief.counts(entity(POLICY, policy), now, k) for policy in graph.pinnings.get(row)
    )
    verified = of_claim and any(
        belief.counts(entity(POLICY, policy), now, k) for policy in graph.verifications.get(row)
    )
    scored = importance(belief, number, now, k)
    left = floored(decay(now - last, constant), verified=verified, importance=scored, pinned=pinned)
    hides = archived(belief, number, now, k) and not pinned
    return Vitals(
        *(number, last, uses, constant, left, hides, pinned, verified, scored),
        expiry(belief, number, now, k),
    )


def _recorded(graph: Graph, number: int) -> Instant:
    """When a record was recorded, or supported last."""
    row, at = number >> 3, graph.recorded_of(graph.position_of(number))
    if number & 7 != CLAIM:
        return at
    supports = (s for s in graph.supports_of(row) if not graph.s_refutes[s])
    return max((graph.recorded_of(graph.s_pos[s]) for s in supports), default=at)


def _brought_back(belief: Belief, number: int) -> Instant:
    """When a record was restored last, or what archived it was taken back; NEG where never."""
    graph, found = belief.graph, NEG
    for policy in graph.policies_on.get(number):
        if graph.p_what[policy] == RESTORED:
            found = max(found, graph.recorded_of(graph.p_pos[policy]))
        elif graph.p_what[policy] == ARCHIVED:
            found = max(found, _taken_back(graph, policy))
    return found


def _taken_back(graph: Graph, policy: int) -> Instant:
    rows = graph.withdrawals_of.get(entity(POLICY, policy))
    return max((graph.recorded_of(graph.w_pos[row]) for row in rows), default=NEG)


def _constant(belief: Belief, workspace: int, kind: int, now: Instant) -> float:
    """In which time a kind of claim fades to 1/e: by the newest policy that counts there."""
    graph = belief.graph
    for policy in reversed(graph.decays_of.get(kind)):
        here = graph.p_ws[policy] in (workspace, SHARED)
        if here and belief.counts(entity(POLICY, policy), now, graph.position):
            days = graph.p_number[policy]
            return days * DAY if days > 0 else math.inf
    return float(SEVEN_DAYS)


# ------------------------------------------------------------ all at once


class Wanted(NamedTuple):
    """Which claims are to be archived: those of which less than ``below`` is left, that are of a
    ``kind``, and that were recorded before an instant. What is ``None`` asks nothing. With
    ``protecting``, none that is verified or scored above 0."""

    below: float | None = BELOW
    kind: str | None = None
    before: Instant | None = None
    workspace: str | None = None
    protecting: bool = False


class Due(NamedTuple):
    """The claims that are to be archived, as entities, the longest at rest first; and how many
    would be, were they not pinned, verified or important."""

    numbers: list[int]
    kept: dict[str, int]


def faded(
    belief: Belief, usage: Usage, now: Instant, wanted: Wanted, limit: int | None = None
) -> Due:
    """The claims that are to be archived now; where there are more than ``limit``, in the order of
    their last uses too, however old. O(claims) in columns."""
    graph = belief.graph
    count = graph.claims_upto(graph.position)
    rows = _asked(graph, count, wanted)
    last = _last_recorded(graph, count)[rows]
    constants = _constants(belief, rows, now)
    limits = _limits(constants, wanted.below)
    at_rest = _at_rest(last, now) > limits
    if wanted.before is not None:
        at_rest &= _own_times(graph, count)[rows] < wanted.before
    rows, last, limits = rows[at_rest], last[at_rest], limits[at_rest]
    there = ~hidden(belief, now, graph.position).among(rows * 8 + CLAIM)
    there &= ~np.isin(rows * 8 + CLAIM, np.array(sorted(graph.erased), np.int64))
    rows, last, limits = rows[there], last[there], limits[there]
    last = _with_uses(graph, usage, rows, last, now, limits)
    last = _with_returns(graph, rows, last)
    still = _at_rest(last, now) > limits
    rows, last = rows[still], last[still]
    why = _kept(belief, rows, now, wanted)
    free = np.array([reason is None for reason in why], bool)
    kept: dict[str, int] = {}
    for reason in why:
        if reason is not None:
            kept[reason] = kept.get(reason, 0) + 1
    rows, last = rows[free], last[free]
    if limit is not None and len(rows) > limit:
        last = _with_old_uses(graph, usage, rows, last)
    order = np.lexsort((rows, last))
    return Due((rows[order] * 8 + CLAIM).tolist(), kept)


def _asked(graph: Graph, count: int, wanted: Wanted) -> Ints:
    """The rows of the claims of a workspace and kind."""
    asked = [(graph.c_ws, wanted.workspace), (graph.c_kind, wanted.kind)]
    mask = np.ones(count, bool)
    for column, name in asked:
        if name is not None:
            mask &= _column(column, count, np.int32) == graph.names.find(name)
    return np.flatnonzero(mask)


def _column(column: Any, count: int, kind: type) -> Any:
    """The first rows of a column, copied: it may grow meanwhile."""
    return np.array(column[:count], kind)


def _recorded_at(graph: Graph, positions: Ints) -> Ints:
    """When the commits at positions were recorded."""
    size = len(graph.commit_last)
    lasts, at = np.array(graph.commit_last[:size]), np.array(graph.commit_at[:size])
    found: Ints = at[np.searchsorted(lasts, positions)]
    return found


def _own_times(graph: Graph, count: int) -> Ints:
    return _recorded_at(graph, _column(graph.c_pos, count, np.int32))


def _last_recorded(graph: Graph, count: int) -> Ints:
    """When each claim was recorded, or supported last."""
    last = _own_times(graph, count).copy()
    supports = len(graph.s_pos)
    claims, positions = (
        _column(column, supports, np.int32) for column in (graph.s_claim, graph.s_pos)
    )
    refutes = np.frombuffer(bytes(graph.s_refutes), np.uint8)[:supports]
    mine = np.flatnonzero((refutes == 0) & (positions <= graph.position))
    # further ones come later than the claim, and later ones later: the last that is put there stays
    mine = mine[positions[mine] != _column(graph.c_pos, count, np.int32)[claims[mine]]]
    last[claims[mine]] = _recorded_at(graph, positions[mine])
    return last


def _at_rest(last: Ints, now: Instant) -> Ints:
    found: Ints = np.maximum(now - last, 0)
    return found


def _constants(belief: Belief, rows: Ints, now: Instant) -> Any:
    """In which time each claim fades to 1/e."""
    graph = belief.graph
    found = np.full(len(rows), float(SEVEN_DAYS))
    kinds = [*graph.decays_of.keys()]
    if not kinds or not len(rows):
        return found
    count = int(rows[-1]) + 1
    of_kind, of_place = (
        _column(column, count, np.int32)[rows] for column in (graph.c_kind, graph.c_ws)
    )
    for kind in kinds:
        mine = np.flatnonzero(of_kind == kind)
        for place in np.unique(of_place[mine]).tolist():
            here = mine[of_place[mine] == place]
            found[here] = _constant(belief, place, kind, now)
    return found


def _limits(constants: Any, below: float | None) -> Any:
    """The rest behind which less than ``below`` is left of each."""
    if below is None:
        return np.full(len(constants), -1.0)
    found = np.empty(len(constants))
    for constant in np.unique(constants).tolist():
        found[constants == constant] = horizon(constant, below)
    return found


def _with_uses(
    graph: Graph, usage: Usage, rows: Ints, last: Ints, now: Instant, limits: Any
) -> Ints:
    """The last uses of claims too, as far as they may matter."""
    finite = limits[np.isfinite(limits)]
    if not len(rows) or not len(finite):
        return last
    if len(rows) <= FEW:
        return _with_old_uses(graph, usage, rows, last)
    at = int(now - max(0.0, float(finite.max()))) - 1
    uses = usage.since(at)
    if not len(uses.last):
        return last
    last, known = last.copy(), np.array(graph.c_pos[: int(rows[-1]) + 1], np.int64)
    if not _placed(graph, uses):
        for claims, times in _by_name(graph, usage, at):
            _put(rows, last, claims, times)
        return last
    claims = np.minimum(np.searchsorted(known, uses.positions), len(known) - 1)
    there = known[claims] == uses.positions
    _put(rows, last, claims[there], uses.last[there])
    return last


def _with_old_uses(graph: Graph, usage: Usage, rows: Ints, last: Ints) -> Ints:
    """The last uses of claims, also those that are too old to keep them."""
    keys = keys_of(graph, (rows * 8 + CLAIM).tolist())
    used = usage.of(keys)
    times = [used.get(key, _NEVER).last for key in keys]
    found: Ints = np.maximum(last, np.array(times, np.int64))
    return found


def _placed(graph: Graph, uses: Since) -> bool:
    """Whether all uses are of events of this log, as it is."""
    inside = bool(np.all((uses.positions > 0) & (uses.positions <= graph.position)))
    return inside and bool(np.array_equal(_recorded_at(graph, uses.positions), uses.recorded_at))


def _by_name(graph: Graph, usage: Usage, at: Instant) -> Iterable[tuple[Ints, Ints]]:
    """The rows of the claims that were used, and when, found by their ids."""
    for workspace, ids in usage.named_since(at).items():
        known = entities(graph.ids, graph.names.find(workspace), ids)
        numbers = np.fromiter(known.values(), np.int64, len(known))
        times = np.fromiter(map(ids.__getitem__, known), np.int64, len(known))
        claims = numbers & 7 == CLAIM
        yield numbers[claims] >> 3, times[claims]


def _put(rows: Ints, last: Ints, of: Any, at: Any) -> None:
    """Puts times to some of ascending rows, where they are later."""
    if not len(of) or not len(rows):
        return
    places = np.minimum(np.searchsorted(rows, of), len(rows) - 1)
    there = rows[places] == of
    np.maximum.at(last, places[there], at[there])


def _with_returns(graph: Graph, rows: Ints, last: Ints) -> Ints:
    """The times of restoring too, and of taking back what archived."""
    if not graph.policies_on or not len(rows):
        return last
    numbers, policies, _ = said_of(graph.policies_on)
    what = np.frombuffer(bytes(graph.p_what), np.uint8)[policies]
    mine = (numbers & 7 == CLAIM) & ((what == RESTORED) | (what == ARCHIVED))
    numbers, policies = numbers[mine], policies[mine]
    times = {
        row: graph.recorded_of(graph.p_pos[row])
        if graph.p_what[row] == RESTORED
        else _taken_back(graph, row)
        for row in np.unique(policies).tolist()
    }
    last = last.copy()
    _put(rows, last, numbers >> 3, np.array([times[row] for row in policies.tolist()], np.int64))
    return last


def _kept(belief: Belief, rows: Ints, now: Instant, wanted: Wanted) -> list[str | None]:
    """What keeps each of some claims, if anything does."""
    graph, k = belief.graph, belief.graph.position
    why: list[str | None] = [None] * len(rows)
    if not len(rows):
        return why
    floor = 1.0 if wanted.protecting or wanted.below is None else wanted.below
    scores = newest(belief, (SCORED,), now, k)
    for place, policy in _at(rows, scores.numbers, scores.rows):
        score = graph.p_number[policy]
        if score > 0 and (wanted.protecting or score >= floor):
            why[place] = "important"
    if wanted.protecting or floor <= VERIFIED:
        keys = np.array(sorted(graph.verifications.keys()), np.int64)
        for place, claim in _at(rows, keys * 8 + CLAIM, keys):
            policies = graph.verifications.get(claim)
            if any(belief.counts(entity(POLICY, row), now, k) for row in policies):
                why[place] = "verified"
    pins = np.array(sorted(pins_at(belief, now, k)), np.int64)
    for place, _ in _at(rows, pins * 8 + CLAIM, pins):
        why[place] = "pinned"
    return why


def _at(rows: Ints, numbers: Ints, values: Ints) -> Iterable[tuple[int, int]]:
    """The places, among ascending rows of claims, of some of ascending entities, each with what
    is beside the entity."""
    found = np.flatnonzero(np.isin(numbers, rows * 8 + CLAIM))
    places = np.searchsorted(rows, numbers[found] >> 3)
    return zip(places.tolist(), values[found].tolist(), strict=True)


def expired(belief: Belief, now: Instant, workspace: str | None = None) -> Due:
    """The records that a policy says are to be archived by now, whatever they have faded to; not
    those that were restored since."""
    graph, k = belief.graph, belief.graph.position
    ends = newest(belief, (EXPIRES,), now, k)
    hides, pins = hidden(belief, now, k), pins_at(belief, now, k)
    place = None if workspace is None else graph.names.find(workspace)
    found, kept = list[int](), 0
    for number, policy in zip(ends.numbers.tolist(), ends.rows.tolist(), strict=True):
        at = graph.p_at[policy]
        if at > now or number in hides or number in graph.erased:
            continue
        if place is not None and graph.workspace_of(number) != place:
            continue
        back = _brought_back(belief, number)
        if back >= max(at, graph.recorded_of(graph.p_pos[policy])):
            continue
        if number & 7 == CLAIM and number >> 3 in pins:
            kept += 1
        else:
            found.append(number)
    return Due(found, {"pinned": kept} if kept else {})


def keys_of(graph: Graph, numbers: Collection[int]) -> list[Key]:
    """The workspaces and ids of records."""
    names = graph.names.texts
    return [(names[graph.workspace_of(number)], graph.id_of(number)) for number in numbers]


def still_due(
    belief: Belief, usage: Usage, numbers: Sequence[int], now: Instant, wanted: Wanted
) -> list[int]:
    """Those of some claims that are still to be archived: somebody may have used one meanwhile."""
    graph = belief.graph
    used = usage.of(keys_of(graph, numbers))
    found = []
    for number, key in zip(numbers, keys_of(graph, numbers), strict=True):
        one = vitals(belief, number, used.get(key), now)
        limit = -1.0 if wanted.below is None else horizon(one.constant, wanted.below)
        floor = max(one.importance, VERIFIED if one.verified else 0.0)
        kept = one.pinned or one.archived or (wanted.protecting and one.kept is not None)
        kept = kept or (wanted.below is not None and floor >= wanted.below)
        if max(0, now - one.last) > limit and not kept:
            found.append(number)
    return found
