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

__all__ = ["NOTHING", "Hidden", "hidden", "pins_at", "said_of"]

_KEPT: Final = 16  # answers that are kept of one log


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
    shelf = _shelves.get(graph)
    if shelf is None:
        shelf = _shelves[graph] = _Shelf()
    return shelf.at(belief, v, k)


def pins_at(belief: Belief, v: Instant, k: int) -> frozenset[int]:
    """The rows of the claims that are pinned at (v, k), in whichever workspace. O(pins)."""
    graph = belief.graph
    return frozenset(
        claim
        for row, claim in graph.p_pinned.items()
        if graph.p_pos[row] <= k and belief.counts(entity(POLICY, row), v, k)
    )


def said_of(notes: Notes, after: int = 0) -> tuple[Ints, Ints, int]:
    """The records that policies name, each beside the row of a policy, since the first ``after``
    of those that were added; all with 0. And how many were added by now."""
    upto = len(notes.added)
    keys = np.array(notes.added_key[after:upto], np.int64)
    rows = np.array(notes.added[after:upto], np.int64)
    if notes.loaded is not None and not after:
        known, starts, values = notes.loaded
        sizes = np.diff(np.asarray(starts))
        keys = np.concatenate([np.repeat(np.asarray(known.keys, np.int64), sizes), keys])
        rows = np.concatenate([np.asarray(values, np.int64), rows])
    return keys, rows, upto


class _Sayings(NamedTuple):
    """What was said of records by policies that archive or restore: by record, then by position.
    ``seen`` is how many notes were looked at."""

    seen: int
    numbers: Ints
    rows: Ints
    archives: Ints
    positions: Ints


_Answer = tuple[int, frozenset[int], frozenset[int]]


class _Shelf:
    """What is known of one log so far. Any thread may ask: what is found replaces what was."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        self._sayings = _Sayings(-1, none, none, none.astype(bool), none)
        self._taken_back: tuple[int, list[int]] = 0, []
        self._answers: dict[_Answer, Hidden] = {}

    def at(self, belief: Belief, v: Instant, k: int) -> Hidden:
        graph = belief.graph
        sayings = self._upto_date(graph)
        known = sayings.positions <= k
        count = int(np.count_nonzero(known))
        if not count:
            return NOTHING
        withdrawn = frozenset(
            row for row in self._withdrawn(graph) if not belief.counts(entity(POLICY, row), v, k)
        )
        key = count, withdrawn, pins_at(belief, v, k)
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= _KEPT:
                self._answers = {}
            found = self._answers[key] = _found(sayings, known, withdrawn, key[2])
        return found

    def _upto_date(self, graph: Graph) -> _Sayings:
        sayings = self._sayings
        if sayings.seen == len(graph.policies_on.added):
            return sayings
        numbers, rows, seen = said_of(graph.policies_on, max(0, sayings.seen))
        what = np.frombuffer(bytes(graph.p_what), np.uint8)[rows]
        mine = np.flatnonzero((what == ARCHIVED) | (what == RESTORED))
        positions = np.array(graph.p_pos[: int(rows.max()) + 1] if len(rows) else (), np.int64)
        fresh = numbers[mine], rows[mine], what[mine] == ARCHIVED, positions[rows[mine]]
        both = [np.concatenate(pair) for pair in zip(sayings[1:], fresh, strict=True)]
        order = np.lexsort((both[1], both[0]))
        made = _Sayings(seen, *(column[order] for column in both))
        if len(mine) or sayings.seen < 0:
            self._answers = {}
        self._sayings = made
        return made

    def _withdrawn(self, graph: Graph) -> list[int]:
        """The rows of policies that archive or restore, and of which something was taken back."""
        seen, rows = self._taken_back
        upto = bisect_right(graph.w_pos, graph.position)  # of later ones the target may be to come
        if seen < upto:
            targets = graph.w_target[seen:upto]
            of_policies = {target >> 3 for target in targets if target & 7 == POLICY}
            what = graph.p_what
            mine = (row for row in of_policies if what[row] in (ARCHIVED, RESTORED))
            rows = [*rows, *(row for row in mine if row not in rows)]
            self._taken_back = upto, rows
        return rows


def _found(
    sayings: _Sayings, known: Ints, withdrawn: frozenset[int], pinned: frozenset[int]
) -> Hidden:
    """The records of which the newest that is known, and counts, archives them."""
    counts = known
    if withdrawn:
        counts = known & ~np.isin(sayings.rows, np.array(sorted(withdrawn), np.int64))
    numbers, archives = sayings.numbers[counts], sayings.archives[counts]
    last = np.ones(len(numbers), bool)
    last[:-1] = numbers[1:] != numbers[:-1]
    found = numbers[last & archives]
    if pinned:
        kept = np.array([entity(CLAIM, claim) for claim in pinned], np.int64)
        found = found[~np.isin(found, kept)]
    return Hidden(found) if len(found) else NOTHING


_shelves: WeakKeyDictionary[Graph, _Shelf] = WeakKeyDictionary()
