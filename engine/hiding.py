"""Which records are hidden at a view: archived, and not pinned. Found once for many questions.

What is hidden stays true, and still supports what rests on it; it is not found, and not put into
blocks, unless somebody asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from doxa.engine.belief import Belief
from doxa.engine.declared import ARCHIVED, RESTORED, Notes
from doxa.engine.graph import CLAIM, POLICY, Graph, entity
from doxa.engine.tables import Ints
from doxa.engine.times import Instant

__all__ = ["NOTHING", "Hidden", "Newest", "hidden", "newest", "pins_at", "said_of"]

_KEPT: Final = 16  # answers that are kept of one log
_HIDING: Final = (ARCHIVED, RESTORED)


class Hidden:
    """Records, as entities in ascending order."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Ints) -> None:
        self.numbers = numbers

    def __bool__(self) -> bool:
        return len(self.numbers) > 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        at = int(np.searchsorted(self.numbers, number))
        return at < len(self.numbers) and int(self.numbers[at]) == number

    def among(self, numbers: Ints) -> Ints:
        """Of each of some entities, whether it is hidden."""
        if not len(self.numbers):
            return np.zeros(len(numbers), bool)
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        found: Ints = self.numbers[at] == numbers
        return found


NOTHING: Final = Hidden(np.empty(0, np.int64))


def hidden(belief: Belief, v: Instant, k: int) -> Hidden:
    """The records that are hidden at (v, k). Where nothing was ever archived, that is seen at once;
    else O(policies that were withdrawn, and pins), and once O(records that were ever archived)."""
    graph = belief.graph
    if not graph.policies_on:
        return NOTHING
    shelf = _shelf(graph, _HIDING)
    newest = shelf.newest(belief, v, k)
    if not len(newest.numbers):
        return NOTHING
    pinned = pins_at(belief, v, k)
    kept = shelf.hidden
    if kept is not None and kept[0] is newest and kept[1] == pinned:
        return kept[2]
    found = newest.numbers[newest.what == ARCHIVED]
    if pinned:
        pins = np.array([entity(CLAIM, claim) for claim in pinned], np.int64)
        found = found[~np.isin(found, pins)]
    hidden = Hidden(found) if len(found) else NOTHING
    shelf.hidden = newest, pinned, hidden
    return hidden


def newest(belief: Belief, kinds: tuple[int, ...], v: Instant, k: int) -> Newest:
    """Of each record that policies of some kinds name, the newest that counts at (v, k)."""
    if not belief.graph.policies_on:
        return NONE_SAID
    return _shelf(belief.graph, kinds).newest(belief, v, k)


def pins_at(belief: Belief, v: Instant, k: int) -> frozenset[int]:
    """The rows of the claims that are pinned at (v, k), in whichever workspace. O(pins)."""
    graph = belief.graph
    if not graph.pins_in:
        return _NOBODY
    return frozenset(
        claim
        for row, claim in graph.p_pinned.items()
        if graph.p_pos[row] <= k and belief.counts(entity(POLICY, row), v, k)
    )


def said_of(notes: Notes, after: int = -1) -> tuple[Ints, Ints, int]:
    """The records that policies name, each beside the row of a policy, since the first ``after``
    of those that were added; where it is below 0, all. And how many were added by now."""
    upto = len(notes.added)
    keys = np.array(notes.added_key[max(0, after) : upto], np.int64)
    rows = np.array(notes.added[max(0, after) : upto], np.int64)
    if notes.loaded is not None and after < 0:
        known, starts, values = notes.loaded
        sizes = np.diff(np.asarray(starts))
        keys = np.concatenate([np.repeat(np.asarray(known.keys, np.int64), sizes), keys])
        rows = np.concatenate([np.asarray(values, np.int64), rows])
    return keys, rows, upto


class Newest(NamedTuple):
    """Records in ascending order, each with the row of a policy about it, and which it is."""

    numbers: Ints
    rows: Ints
    what: Ints


class _Sayings(NamedTuple):
    """What was said of records by policies of some kinds: by record, then by position. ``seen`` is
    how many notes were looked at, ``latest`` the last of the positions."""

    seen: int
    latest: int
    numbers: Ints
    rows: Ints
    what: Ints
    positions: Ints


_NO_ROWS: Final = np.empty(0, np.int64)
_NOBODY: Final = frozenset[int]()
NONE_SAID: Final = Newest(_NO_ROWS, _NO_ROWS, _NO_ROWS)


class _Shelf:
    """What policies of some kinds say of the records of one log, as far as is known. Any thread may
    ask: what is found replaces what was."""

    def __init__(self, kinds: tuple[int, ...]) -> None:
        self.kinds = kinds
        self.hidden: tuple[Newest, frozenset[int], Hidden] | None = None
        self._sayings = _Sayings(-1, 0, _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS)
        self._taken_back: tuple[int, list[int]] = 0, []
        self._answers: dict[tuple[int, frozenset[int]], Newest] = {}

    def newest(self, belief: Belief, v: Instant, k: int) -> Newest:
        graph = belief.graph
        sayings = self._upto_date(graph)
        count, known = len(sayings.numbers), None
        if k < sayings.latest:
            known = sayings.positions <= k
            count = int(np.count_nonzero(known))
        if not count:
            return NONE_SAID
        withdrawn = _NOBODY
        if rows := self._withdrawn(graph):
            gone = (row for row in rows if not belief.counts(entity(POLICY, row), v, k))
            withdrawn = frozenset(gone)
        found = self._answers.get((count, withdrawn))
        if found is None:
            if len(self._answers) >= _KEPT:
                self._answers = {}
            found = self._answers[count, withdrawn] = _last(sayings, known, withdrawn)
        return found

    def _upto_date(self, graph: Graph) -> _Sayings:
        sayings = self._sayings
        if sayings.seen == len(graph.policies_on.added):
            return sayings
        numbers, rows, seen = said_of(graph.policies_on, sayings.seen)
        what = np.frombuffer(bytes(graph.p_what), np.uint8)[rows]
        mine = np.flatnonzero(np.isin(what, self.kinds))
        positions = np.array(graph.p_pos[: int(rows.max()) + 1] if len(rows) else (), np.int64)
        made = sayings._replace(seen=seen)
        if len(mine):
            fresh = numbers[mine], rows[mine], what[mine], positions[rows[mine]]
            before = sayings.numbers, sayings.rows, sayings.what, sayings.positions
            pairs = zip(before, fresh, strict=True)
            both: list[Ints] = [np.concatenate([old, new]) for old, new in pairs]
            order = np.lexsort((both[1], both[0]))
            latest = max(sayings.latest, int(fresh[3].max()))
            made = _Sayings(seen, latest, *(column[order] for column in both))
            self._answers = {}
        self._sayings = made
        return made

    def _withdrawn(self, graph: Graph) -> list[int]:
        """The rows of policies of these kinds of which something was taken back."""
        seen, rows = self._taken_back
        upto = bisect_right(graph.w_pos, graph.position)  # of later ones the target may be to come
        if seen < upto:
            targets = graph.w_target[seen:upto]
            of_policies = {target >> 3 for target in targets if target & 7 == POLICY}
            mine = (row for row in of_policies if graph.p_what[row] in self.kinds)
            rows = [*rows, *(row for row in mine if row not in rows)]
            self._taken_back = upto, rows
        return rows


def _last(sayings: _Sayings, known: Ints | None, withdrawn: frozenset[int]) -> Newest:
    """Of each record the newest that is known, and counts."""
    counts = np.ones(len(sayings.numbers), bool) if known is None else known
    if withdrawn:
        counts = counts & ~np.isin(sayings.rows, np.array(sorted(withdrawn), np.int64))
    numbers = sayings.numbers[counts]
    last = np.ones(len(numbers), bool)
    last[:-1] = numbers[1:] != numbers[:-1]
    return Newest(numbers[last], sayings.rows[counts][last], sayings.what[counts][last])


_shelves: WeakKeyDictionary[Graph, dict[tuple[int, ...], _Shelf]] = WeakKeyDictionary()


def _shelf(graph: Graph, kinds: tuple[int, ...]) -> _Shelf:
    shelves = _shelves.get(graph)
    if shelves is None:
        shelves = _shelves[graph] = {}
    found = shelves.get(kinds)
    if found is None:
        found = shelves[kinds] = _Shelf(kinds)
    return found
