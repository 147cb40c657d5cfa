"""Engines whose machinery is broken on purpose: the rows of history, the trees of intervals, the
short ways, the tables, and reading a log all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from doxa.engine import history, settle, tables
from doxa.engine.belief import Belief
from doxa.engine.drawing import Drawing
from doxa.engine.graph import NONE
from doxa.engine.history import SEVERAL, DenseHistory, History
from doxa.engine.numbers import Lists, Numbers
from doxa.engine.origins import Origins
from doxa.engine.rows import PLAIN
from doxa.engine.spans import Spans
from doxa.engine.tables import Ids, Index
from doxa.engine.times import NEG, POS, Intervals
from tests.broken_engines import broken, instead
from tests.trials import few

Settlement: Any = settle._Settlement
Draft: Any = history._Draft


def trusting(self: Drawing, first: int) -> set[int]:
    """`Drawing.uncounted`, of a log in which no source was ever withdrawn."""
    self.counting.update(self.graph.s_source[first:])
    return set()


class Always:
    """A column that says the same of every row."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __getitem__(self, row: int) -> int:
        return self.value


@contextmanager
def hurried(change: Callable[[Any], Any]) -> Iterator[None]:
    """The short ways for a further source, while something of them is changed."""

    def make(agrees: Any) -> Any:
        def agrees_sooner(self: Any, *args: Any) -> bool:
            with change(self):
                found: bool = agrees(self, *args)
                return found

        return agrees_sooner

    with instead(Settlement, "_agrees", make), instead(Drawing, "_agrees", make):
        yield


def everywhere(column: str, value: int) -> Callable[[Any], Any]:
    """A column that says the same of every row."""
    return lambda self: patch.object(self.graph, column, Always(value))


# ---------------------------------------------------------------- history


@broken
def a_jump_goes_too_far() -> Iterator[None]:
    def earlier(self: History, row: int, k: int) -> int:
        while row != NONE and self.known[row] > k:
            row = self.jump[row]
        return row

    with patch.object(History, "_earlier", earlier):
        yield


@broken
def a_draft_is_painted_an_instant_too_wide() -> Iterator[None]:
    def make(paint: Any) -> Any:
        def wider(self: Any, low: int, high: int, *more: Any) -> None:
            paint(self, low, high if high == POS else high + 1, *more)

        return wider

    with instead(Draft, "paint", make):
        yield


@broken
def a_replaced_leaf_stays() -> Iterator[None]:
    def make(replace: Any) -> Any:
        def all_but_one(self: History, owner: int, replaced: dict[int, list[int]], k: int) -> None:
            if self.leaf(owner) == SEVERAL:
                replaced = dict(list(replaced.items())[1:])
            replace(self, owner, replaced, k)

        return all_but_one

    with instead(History, "_replace", make):
        yield


@broken
def the_last_leaf_is_not_painted() -> Iterator[None]:
    def make(keys: Any) -> Any:
        def all_but_the_last(self: History, owner: int, low: int, high: int) -> Any:
            found = tuple(keys(self, owner, low, high))
            return found[: max(1, len(found) - 1)]

        return all_but_the_last

    with instead(History, "_keys", make):
        yield


@broken
def what_was_known_before_the_first_change_is_forgotten() -> Iterator[None]:
    def make(at: Any) -> Any:
        def later_only(self: DenseHistory, owner: int, v: int, k: int) -> int:
            if owner < len(self.leaf_of) and k < self.since[owner] < history.OPEN:
                return 0
            code: int = at(self, owner, v, k)
            return code

        return later_only

    with instead(DenseHistory, "at", make):
        yield


@broken
def a_change_is_known_a_commit_late() -> Iterator[None]:
    def make(settled: Any) -> Any:
        return lambda self, k: settled(self, k + 1)

    with instead(DenseHistory, "settle", make):
        yield


# ---------------------------------------------------------------- what meets a stretch of time


@broken
def spans_forget_the_longest() -> Iterator[None]:
    def make(meeting: Any) -> Any:
        def shorter(self: Spans, low: int, high: int) -> Iterator[int]:
            longest = max(self._levels, default=0)
            with patch.object(
                self, "_levels", {p: rows for p, rows in self._levels.items() if p < longest}
            ):
                yield from meeting(self, low, high)

        return shorter

    with instead(Spans, "meeting", make), few(0):
        yield


@broken
def spans_miss_what_began_long_before() -> Iterator[None]:
    def make(meeting: Any) -> Any:
        def later(self: Spans, low: int, high: int) -> Iterator[int]:
            return (row for row in meeting(self, low, high) if self._kept[row][0] >= low)

        return later

    with instead(Spans, "meeting", make), few(0):
        yield


@broken
def what_comes_after_the_first_many_is_missed() -> Iterator[None]:
    with patch.object(Belief, "renewed", lambda self, number: None), few(0):
        yield


@broken
def a_rival_ends_with_its_first_stretch() -> Iterator[None]:
    def hull(self: Belief, claim: int) -> Intervals:
        return self.held_now(claim)[:2]

    with patch.object(Belief, "held_hull", hull):
        yield


@broken
def contests_outlive_a_rival() -> Iterator[None]:
    def spread(self: Any, claim: int, where: Intervals, cause: int) -> None:
        self._dispute(claim, where, cause)

    with patch.object(Settlement, "_spread", spread):
        yield


@broken
def each_of_many_supports_is_an_origin() -> Iterator[None]:
    def make(note: Any) -> Any:
        def by_row(self: Origins, row: int, origin: int, *more: Any) -> None:
            note(self, row, row, *more)

        return by_row

    with instead(Origins, "note", make), few(0):
        yield


@broken
def digests_of_many_supports_are_ignored() -> Iterator[None]:
    with patch.object(Origins, "digested", False), few(0):
        yield


@broken
def two_origins_agree_wherever_one_speaks() -> Iterator[None]:
    def make(agreeing: Any) -> Any:
        def anywhere(self: Origins, where: Intervals, extent: Any) -> Intervals:
            found: Intervals = agreeing(self, where, extent)
            return where if found else found

        return anywhere

    with instead(Origins, "agreeing", make), few(0):
        yield


# ---------------------------------------------------------------- a further source, in short


@broken
def a_hurried_support_is_of_all_time() -> Iterator[None]:
    with hurried(lambda self: patch.multiple(self.graph, s_from=Always(NEG), s_to=Always(POS))):
        yield


@broken
def a_hurried_support_has_no_digest() -> Iterator[None]:
    with hurried(everywhere("s_digest", NONE)):
        yield


@broken
def a_hurried_support_never_refutes() -> Iterator[None]:
    with hurried(everywhere("s_refutes", 0)):
        yield


@broken
def a_hurried_support_finds_every_claim_carried() -> Iterator[None]:
    with hurried(everywhere("c_plain", PLAIN)):
        yield


@broken
def a_hurried_support_has_another_origin() -> Iterator[None]:
    class Own:
        def __getitem__(self, row: int) -> int:
            return row

    with hurried(lambda self: patch.object(self.graph, "s_origin", Own())):
        yield


@broken
def a_hurried_support_asks_no_source() -> Iterator[None]:
    def counting(self: Any) -> Any:
        return patch.object(self.belief, "counts_everywhere", lambda source: True)

    with hurried(counting), patch.object(Drawing, "uncounted", trusting):
        yield


# ---------------------------------------------------------------- what changes throughout, in short


@broken
def what_falls_is_carried_by_nothing_else() -> Iterator[None]:
    with patch.object(Settlement, "_derived", lambda self, claim: True):
        yield


@broken
def what_fell_never_rises() -> Iterator[None]:
    with patch.object(Settlement, "_stays", lambda self, claim: True):
        yield


@broken
def what_stands_is_disputed_by_nothing() -> Iterator[None]:
    with patch.object(Settlement, "_undisputed", lambda self, claim: True):
        yield


@broken
def a_withdrawal_alone_is_of_all_time() -> Iterator[None]:
    def make(take: Any) -> Any:
        def take_all(self: Any, number: int, position: int) -> None:
            with patch.object(self.graph, "base", lambda number: (NEG, POS)):
                take(self, number, position)

        return take_all

    with instead(Settlement, "_take", make):
        yield


# ---------------------------------------------------------------- tables


@broken
def sealing_loses_what_is_new() -> Iterator[None]:
    def make(seal: Any) -> Any:
        def forgetting(self: Any) -> None:
            if self._sealed is not None:
                self.live = {}
            seal(self)

        return forgetting

    with instead(Numbers, "seal", make):
        yield


@broken
def sealing_loses_what_was_sealed() -> Iterator[None]:
    def make(seal: Any) -> Any:
        def forgetting(self: Any) -> None:
            if self.live:
                self._sealed = None
            seal(self)

        return forgetting

    with instead(Numbers, "seal", make):
        yield


@broken
def a_sealed_list_begins_anew() -> Iterator[None]:
    def make(add: Any) -> Any:
        def afresh(self: Lists, key: int, value: int) -> None:
            self.live.setdefault(key, [])
            add(self, key, value)

        return afresh

    with instead(Lists, "add", make):
        yield


@broken
def the_bucket_beside_is_looked_into() -> Iterator[None]:
    class Beside:
        @staticmethod
        def over(hashes: Any, rows: Any, *room: int) -> Index:
            index = Index.over(hashes, rows, *room)
            heads = [*index.heads[1:], index.heads[-1]]
            return Index(index.shift, heads, index.entries)

    with patch.object(tables, "Index", Beside):
        yield


@broken
def sealed_ids_are_of_every_workspace() -> Iterator[None]:
    def make(find: Any) -> Any:
        def anywhere(self: Ids, workspace: int, id: str) -> int:
            if id in self.live.get(workspace, ()):
                return self.live[workspace][id]
            for place in sorted(set(self.workspace)):
                found: int = find(self, place, id)
                if found != NONE:
                    return found
            return NONE

        return anywhere

    with instead(Ids, "find", make):
        yield
