"""The bitemporal rows of a belief, as arrays: where in both times something was so.

A *rectangle* is an interval of valid time by a stretch of the log: known from one commit on, to
another. What came in a stretch of the log, and what was closed in it, is read off the columns of
the belief; nothing is looked at row by row.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Final, NamedTuple

import numpy as np

from doxa.engine.belief import COUNTS, Belief
from doxa.engine.graph import CLAIM, CORRECTION, NONE, SUPPORT, WITHDRAWAL
from doxa.engine.history import OPEN, History
from doxa.engine.times import NEG, POS
from doxa.projections.columns import Ints, columns_of

__all__ = ["FOREVER", "Commits", "Rectangles", "added", "closed"]

FOREVER: Final = POS  # ``known_to`` of what is still so


class Rectangles(NamedTuple):
    """One entry a rectangle: the row of its claim or event, the code that holds there, its bounds.

    ``low`` and ``high`` are microseconds, ``known`` and ``until`` positions of the log, all int64;
    ``bound`` says whether a correction of a name had met its claim by then.
    """

    owner: Ints
    code: Ints
    low: Ints
    high: Ints
    known: Ints
    until: Ints
    bound: Ints

    def chosen(self, which: Ints) -> Rectangles:
        """Those that a mask or a list of numbers picks."""
        return Rectangles(*(column[which] for column in self))


class Commits:
    """The commits up to a position, which is the end of one, or 0."""

    def __init__(self, belief: Belief, upto: int) -> None:
        graph, arrays = belief.graph, columns_of(belief)
        self.upto = upto
        count = bisect_right(graph.commit_last, upto)
        self.last = arrays.ints(graph.commit_last, count)
        self.at = arrays.ints(graph.commit_at, count)

    def ends(self, positions: Ints) -> Ints:
        """The last position of the commit of each of the positions, int64."""
        found: Ints = self.last[np.searchsorted(self.last, positions)].astype(np.int64)
        return found

    def times(self, positions: Ints) -> Ints:
        """When the commits that hold the positions were recorded; `FOREVER` stays."""
        places = np.searchsorted(self.last, np.minimum(positions, self.upto))
        found: Ints = self.at[places] if len(self.at) else np.empty(0, np.int64)
        return np.where(positions == FOREVER, FOREVER, found)


class _Owners(NamedTuple):
    """The claims, or the events of a kind, up to a position: their columns, and the history that
    says how they changed. ``spread`` owners of the history lie between one and the next."""

    history: History
    kind: int
    spread: int
    position: array[int]
    low: array[int]
    high: array[int]
    wanted: int  # bits without which a rectangle is left out; 0: none is


def _owners(belief: Belief, kind: int) -> _Owners:
    graph, extents = belief.graph, belief.extents
    if kind == CLAIM:
        return _Owners(belief.beliefs, 0, 1, graph.c_pos, graph.c_from, graph.c_to, 0)
    if kind == SUPPORT:
        return _Owners(extents, kind, 8, graph.s_pos, graph.s_from, graph.s_to, COUNTS)
    if kind == CORRECTION:
        return _Owners(extents, kind, 8, graph.k_pos, graph.k_from, graph.k_to, COUNTS)
    assert kind == WITHDRAWAL, kind
    return _Owners(extents, kind, 8, graph.w_pos, graph.w_from, graph.w_to, COUNTS)


def added(belief: Belief, kind: int, after: int, upto: int, at: int) -> Rectangles:
    """The rectangles that became known after one commit and up to another, in order of knowledge,
    with their ends as they are known at a third. Of claims all, of other events where they count.

    O(what came in) for claims, O(the changes of all events meanwhile) for the others, in numpy.
    """
    owners = _owners(belief, kind)
    first, end = bisect_right(owners.position, after), bisect_right(owners.position, upto)
    since = _since(belief, owners, first, end, (after, at))
    begun = _begun(belief, owners, np.arange(first, end), since, at)
    low, high = bisect_right(owners.history.known, after), bisect_right(owners.history.known, upto)
    found = _joined(begun, _changes(belief, owners, np.arange(low, high), at))
    if kind == CORRECTION and belief.graph.k_unresolved:
        named = _of_names(belief, owners, at)
        mine = (named.known > after) & (named.known <= upto)
        found = _joined(_not_of_names(belief, found), named.chosen(mine))
    return found.chosen(np.argsort(found.known, kind="stable"))


def closed(belief: Belief, kind: int, after: int, upto: int) -> Rectangles:
    """The rectangles known at one commit that were so no longer at some point up to another.
    O(all that ever changed), in numpy."""
    owners = _owners(belief, kind)
    history = owners.history
    until = np.frombuffer(history.until[: bisect_right(history.known, after)], np.int32)
    changed = np.flatnonzero((until > after) & (until <= upto))
    since = _since(belief, owners, 0, bisect_right(owners.position, after), (after, upto))
    ended = np.flatnonzero(since != OPEN)
    found = _joined(
        _begun(belief, owners, ended, since[ended], upto), _changes(belief, owners, changed, upto)
    )
    if kind == CORRECTION and belief.graph.k_unresolved:
        named = _of_names(belief, owners, upto)
        mine = (named.known <= after) & (named.until > after) & (named.until <= upto)
        found = _joined(_not_of_names(belief, found), named.chosen(mine))
    return found


def _since(belief: Belief, owners: _Owners, first: int, end: int, between: tuple[int, int]) -> Ints:
    """From when on the history knows of each of the owners, OPEN where it does not begin to after
    one position and up to another."""
    found = np.full(end - first, OPEN, np.int32)
    history, arrays = owners.history, columns_of(belief)
    low, high = (bisect_right(history.known, position) for position in between)
    of = arrays.ints(history.owner, high)[low:]
    begins = arrays.ints(history.before, high)[low:] == NONE
    if owners.spread > 1:
        begins &= (of & 7) == owners.kind
    of = of[begins] // owners.spread - first
    inside = (of >= 0) & (of < len(found))
    found[of[inside]] = arrays.ints(history.known, high)[low:][begins][inside]
    return found


def _begun(
    belief: Belief, owners: _Owners, rows: Ints, since: Ints, at: int, *, clip: bool = True
) -> Rectangles:
    """What owners were from their own commits on, until the history knows otherwise."""
    arrays, count = columns_of(belief), int(rows[-1]) + 1 if len(rows) else 0
    known = Commits(belief, at).ends(arrays.ints(owners.position, count)[rows])
    code = np.full(len(rows), COUNTS, np.uint8)
    if not owners.wanted:
        code = arrays.ints(belief.graph.c_plain, count)[rows]
    low, high = np.full(len(rows), NEG), np.full(len(rows), POS)
    if clip:
        own_low, own_high = _bounds(belief, owners, count)
        low, high = own_low[rows], own_high[rows]
    found = Rectangles(rows, code, low, high, known, _until(since, at), np.ones(len(rows), bool))
    return found.chosen((known < found.until) & (low < high))


def _changes(
    belief: Belief, owners: _Owners, rows: Ints, at: int, *, clip: bool = True
) -> Rectangles:
    """Rows of the history, ascending, within the intervals that their owners were recorded with."""
    arrays, history = columns_of(belief), owners.history
    count = int(rows[-1]) + 1 if len(rows) else 0
    owner = arrays.ints(history.owner, count)[rows]
    if owners.spread > 1:
        mine = (owner & 7) == owners.kind
        rows, owner = rows[mine], owner[mine] >> 3
    code = arrays.ints(history.code, count)[rows]
    if owners.wanted:
        mine = (code & owners.wanted) != 0
        rows, owner, code = rows[mine], owner[mine], code[mine]
    low = arrays.ints(history.low, count)[rows]
    high = arrays.ints(history.high, count)[rows]
    if clip:
        own_low, own_high = _bounds(belief, owners, bisect_right(owners.position, at))
        low, high = np.maximum(low, own_low[owner]), np.minimum(high, own_high[owner])
    known = arrays.ints(history.known, count)[rows].astype(np.int64)
    first = int(rows[0]) if len(rows) else 0
    until = np.frombuffer(history.until[first:count], np.int32)[rows - first]
    found = Rectangles(
        owner.astype(np.int64), code, low, high, known, _until(until, at), np.ones(len(rows), bool)
    )
    return found.chosen(low < high)


def _bounds(belief: Belief, owners: _Owners, end: int) -> tuple[Ints, Ints]:
    """The intervals that the owners were recorded with."""
    if owners.low is belief.graph.k_from:  # those of a name are others once its claim arrives
        return np.frombuffer(owners.low[:end], np.int64), np.frombuffer(owners.high[:end], np.int64)
    arrays = columns_of(belief)
    return arrays.ints(owners.low, end), arrays.ints(owners.high, end)


def _until(column: Ints, at: int) -> Ints:
    """Where each ends, as known at a position: `FOREVER` where later, or not at all."""
    found: Ints = column.astype(np.int64)
    found[found > at] = FOREVER
    return found


def _joined(*parts: Rectangles) -> Rectangles:
    return Rectangles(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


# ---------------------------------------------------------------- corrections of a name


def _names(belief: Belief) -> Ints:
    """The corrections that were recorded of a name instead of a claim."""
    return np.array(list(belief.graph.k_unresolved), np.int64)


def _not_of_names(belief: Belief, found: Rectangles) -> Rectangles:
    return found.chosen(~np.isin(found.owner, _names(belief)))


def _of_names(belief: Belief, owners: _Owners, at: int) -> Rectangles:
    """All rectangles of corrections of a name: they count over one portion until the claim of that
    name arrives, and over another from then on. O(all changes of events)."""
    graph, end = belief.graph, bisect_right(owners.position, at)
    rows = _names(belief)
    rows = rows[rows < end]
    targets = [graph.k_target[row] for row in rows]
    arrived = np.array([0 if c == NONE else graph.c_pos[c] for c in targets], np.int64)
    there = (arrived > 0) & (arrived <= at)
    met = np.full(end, FOREVER, np.int64)
    met[rows[there]] = Commits(belief, at).ends(arrived[there])
    stated = np.zeros((end, 2), np.int64)
    portions = [graph.k_unresolved[row].valid for row in rows.tolist()]
    stated[rows] = np.array(portions, np.int64).reshape(-1, 2)
    count = bisect_right(owners.history.known, at)
    of = columns_of(belief).ints(owners.history.owner, count)
    changes = np.flatnonzero(np.isin(of, rows * owners.spread + owners.kind))
    since = _since(belief, owners, 0, end, (0, at))
    every = _joined(
        _begun(belief, owners, rows, since[rows], at, clip=False),
        _changes(belief, owners, changes, at, clip=False),
    )
    owner, meets = every.owner, met[every.owner]
    before = every._replace(
        low=np.maximum(every.low, stated[owner, 0]),
        high=np.minimum(every.high, stated[owner, 1]),
        until=np.minimum(every.until, meets),
        bound=np.zeros(len(owner), bool),
    )
    low, high = _bounds(belief, owners, end)
    after = every._replace(
        low=np.maximum(every.low, low[owner]),
        high=np.minimum(every.high, high[owner]),
        known=np.maximum(every.known, meets),
    )
    found = _joined(before, after.chosen(meets != FOREVER))
    return found.chosen((found.low < found.high) & (found.known < found.until))
