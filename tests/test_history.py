"""Step functions over two times, against a plain record of what was said at each commit."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine import history as history_module
from doxa.engine.history import OPEN, DenseHistory, History
from doxa.engine.tables import NONE
from doxa.engine.times import ALL, EMPTY, NEG, POS, Intervals, intersect, union_all

Make = Callable[[Callable[[int], int]], History]
BOUNDS = (NEG, *range(0, 60, 5), POS)
INSTANTS = (NEG, *range(-1, 61), POS - 1)
OWNERS = range(4)
BITS = 31


def default(owner: int) -> int:
    """What an owner is before anything is said of it."""
    return 4 if owner % 2 else 0


class Model:
    """The code of each owner in each stretch between two bounds, after each commit."""

    def __init__(self) -> None:
        self.now = {owner: dict.fromkeys(BOUNDS[:-1], default(owner)) for owner in OWNERS}
        self.then: dict[int, dict[int, dict[int, int]]] = {0: self._copy()}

    def _copy(self) -> dict[int, dict[int, int]]:
        return {owner: dict(codes) for owner, codes in self.now.items()}

    def paint(self, owner: int, where: Intervals, on: int, off: int) -> None:
        for low in BOUNDS[:-1]:
            if intersect(where, (low, low + 1)):
                self.now[owner][low] = (self.now[owner][low] | on) & ~off

    def settle(self, k: int) -> None:
        self.then[k] = self._copy()

    def at(self, owner: int, v: int, k: int) -> int:
        stretch = max(low for low in BOUNDS[:-1] if low <= v)
        return self.then[max(n for n in self.then if n <= k)][owner][stretch]

    def where(self, codes: dict[int, int], bits: int) -> Intervals:
        return union_all((low, high) for low, high in pairwise(BOUNDS) if codes[low] & bits)


windows = st.lists(st.sampled_from(BOUNDS), min_size=2, max_size=6, unique=True).map(
    lambda bounds: tuple(sorted(bounds[: len(bounds) // 2 * 2]))
)
codes = st.integers(0, BITS)
paints = st.tuples(st.sampled_from(OWNERS), windows, codes, codes)
commits = st.lists(st.lists(paints, max_size=5), max_size=12)


def written(make: Make, said: list[list[tuple[int, Intervals, int, int]]]) -> tuple[History, Model]:
    """A history and its model after the same commits, at positions 2, 4, 6, …"""
    history, model = make(default), Model()
    for k, commit in enumerate(said, 1):
        for owner, where, on, off in commit:
            history.paint(owner, where, on, off)
            model.paint(owner, where, on, off)
        history.settle(2 * k)
        model.settle(2 * k)
    return history, model


def check_rows(history: History) -> None:
    """The shape of the rows: leaves tile valid time, each row lies within the one before it, and
    is closed by the commit that replaced it."""
    replaced: dict[int, list[int]] = {}
    for row in range(len(history)):
        assert history.low[row] < history.high[row]
        before = history.before[row]
        if before == NONE:
            assert (history.depth[row], history.jump[row]) == (0, NONE)
            continue
        replaced.setdefault(before, []).append(row)
        assert history.low[before] <= history.low[row] < history.high[row] <= history.high[before]
        assert history.owner[before] == history.owner[row]
        assert history.depth[row] == history.depth[before] + 1
        assert history.known[before] < history.known[row] == history.until[before]
        further, seen = before, {before}
        while further != NONE:
            seen.add(further)
            further = history.before[further]
        assert history.jump[row] in seen
    for before, rows in replaced.items():
        assert tiles(history, rows, history.low[before], history.high[before])
    assert all((history.until[row] == OPEN) == (row not in replaced) for row in range(len(history)))
    for owner in OWNERS:
        leaves = leaves_of(history, owner)
        assert all(history.until[leaf] == OPEN for leaf in leaves)
        assert not leaves or tiles(history, leaves, NEG, POS)


def leaves_of(history: History, owner: int) -> list[int]:
    leaf = history.leaf(owner)
    if leaf == NONE:
        return []
    return [leaf] if leaf >= 0 else list(history.leaves.get(owner))


def tiles(history: History, rows: list[int], low: int, high: int) -> bool:
    """Whether rows, in order of valid time, cover a stretch without gap or overlap."""
    ordered = sorted(rows, key=history.low.__getitem__)
    bounds = [low, *(history.high[row] for row in ordered)]
    return bounds[:-1] == [history.low[row] for row in ordered] and bounds[-1] == high


@pytest.mark.parametrize("make", [History, DenseHistory])
@given(said=commits, few=st.sampled_from((0, 8)))
def test_every_instant_at_every_commit_is_what_was_said(
    make: Make, said: list[list[tuple[int, Intervals, int, int]]], few: int
) -> None:
    with patch.object(history_module, "_FEW", few):
        history, model = written(make, said)
    check_rows(history)
    for k in range(2 * len(said) + 2):
        for owner in OWNERS:
            assert [history.at(owner, v, k) for v in INSTANTS] == [
                model.at(owner, v, k) for v in INSTANTS
            ]
            codes = model.then[k - k % 2 if k - k % 2 in model.then else max(model.then)][owner]
            for bits in (1, 4, 6, BITS):
                assert history.where(owner, bits, k) == model.where(codes, bits)
            rows = history.rows_at(owner, k)
            assert not rows or tiles(history, rows, NEG, POS)
            assert [history.low[row] for row in rows] == sorted(history.low[row] for row in rows)
            assert all(history.known[row] <= k < history.until[row] for row in rows)


@pytest.mark.parametrize("make", [History, DenseHistory])
@given(said=commits)
def test_the_positions_of_an_owner_are_the_commits_that_changed_it(
    make: Make, said: list[list[tuple[int, Intervals, int, int]]]
) -> None:
    history, model = written(make, said)
    for owner in OWNERS:
        changed = [
            k for k in list(model.then)[1:] if model.then[k][owner] != model.then[k - 2][owner]
        ]
        assert history.positions(owner) == changed
        assert history.has(owner) == bool(changed)


@pytest.mark.parametrize("make", [History, DenseHistory])
@given(said=commits, more=st.lists(paints, max_size=8), within=windows)
def test_what_is_painted_is_seen_before_it_is_settled(
    make: Make,
    said: list[list[tuple[int, Intervals, int, int]]],
    more: list[tuple[int, Intervals, int, int]],
    within: Intervals,
) -> None:
    history, model = written(make, said)
    before = model._copy()
    for owner, where, on, off in more:
        history.paint(owner, where, on, off)
        model.paint(owner, where, on, off)
    assert set(history.drafted()) == {owner for owner, *_ in more}
    for owner in OWNERS:
        assert history.is_drafted(owner) == (owner in history.drafted())
        for bits in (1, 4, BITS):
            expected = intersect(model.where(model.now[owner], bits), within)
            assert history.now_where(owner, bits, within) == expected
            if owner in history.drafted():
                moved = {
                    low: (model.now[owner][low] ^ before[owner][low]) & bits for low in BOUNDS[:-1]
                }
                assert history.differs(owner, bits) == model.where(moved, bits)
        found = [*history.now(owner, within[0], within[1])]
        assert found[0][0] == within[0]
        assert found[-1][1] == within[1]
        assert all(one[1] == other[0] for one, other in pairwise(found))
        for low, high, code in found:
            assert {model.now[owner][at] for at in BOUNDS[:-1] if low <= at < high} <= {code}
    pieces = history.settle(2 * len(said) + 2)
    assert set(pieces) == {owner for owner in OWNERS if model.now[owner] != before[owner]}
    assert not history.drafted()
    for owner, changed in pieces.items():
        assert {
            (low, high, old, new) for low, high, old, new in changed if low >= high or old == new
        } == set()
        for low in BOUNDS[:-1]:
            here = [p for p in changed if p.low <= low < p.high]
            old, new = before[owner][low], model.now[owner][low]
            assert [(p.before, p.after) for p in here] == ([(old, new)] if old != new else [])
    check_rows(history)


@pytest.mark.parametrize("make", [History, DenseHistory])
@given(said=st.lists(st.lists(paints, max_size=5), max_size=8), own=windows.map(lambda w: w[:2]))
def test_bits_may_spill_beyond_an_interval_and_are_right_within_it(
    make: Make, said: list[list[tuple[int, Intervals, int, int]]], own: Intervals
) -> None:
    """The bits of 28 are read within an interval only; those of 3 everywhere."""
    history, model = make(default), Model()
    for k, commit in enumerate(said, 1):
        for owner, where, on, off in commit:
            history.paint(owner, where, on & 3, off & 3)
            model.paint(owner, where, on & 3, off & 3)
            inside = intersect(where, own)
            history.paint(owner, inside, on & 28, off & 28, own)
            model.paint(owner, inside, on & 28, off & 28)
        history.settle(2 * k)
        model.settle(2 * k)
    check_rows(history)
    for k in range(2 * len(said) + 1):
        for owner in OWNERS:
            for v in INSTANTS:
                read = BITS if own[0] <= v < own[1] else 3
                assert history.at(owner, v, k) & read == model.at(owner, v, k) & read


@given(said=commits, seed=st.integers(0, 100))
def test_sealed_leaves_and_live_ones_are_the_same(
    said: list[list[tuple[int, Intervals, int, int]]], seed: int
) -> None:
    random = Random(seed)
    plain, _ = written(History, said)
    history = History(default)
    for k, commit in enumerate(said, 1):
        for paint in commit:
            history.paint(*paint)
        history.settle(2 * k)
        if random.random() < 0.5:
            history.leaves.seal()
            history._leaf.seal()
    check_rows(history)
    assert [leaves_of(history, owner) for owner in OWNERS] == [
        leaves_of(plain, owner) for owner in OWNERS
    ]


def test_an_owner_that_nothing_was_said_of_is_what_it_is_by_default() -> None:
    for history in (History(default), DenseHistory(default)):
        assert [history.at(owner, 0, 9) for owner in OWNERS] == [0, 4, 0, 4]
        assert history.where(1, 4, 9) == ALL
        assert history.where(0, 4, 9) == EMPTY
        assert history.positions(1) == []
        history.paint(1, EMPTY, 1, 0)
        history.paint(0, ALL, 0, 1)
        assert history.settle(3) == {}
        assert len(history) == 0


# ---------------------------------------------------------------- long chains


class Counted(array):  # type: ignore[type-arg]
    """A column that counts how often it is looked into."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("make", [History, DenseHistory])
def test_twenty_thousand_changes_of_one_instant_are_looked_through_in_a_few_steps(
    make: Make,
) -> None:
    length = 20_000
    history = make(default)
    for k in range(1, length + 1):
        history.paint(0, (10, 20), *((1, 0) if k % 2 else (0, 1)))
        history.settle(k)
    counted = Counted("i", history.known)
    with patch.object(history, "known", counted):
        for k in (0, 1, 2, 3, length // 3, length // 2, length - 1, length):
            counted.looks = 0
            assert history.at(0, 15, k) == k % 2
            assert counted.looks <= 6 * length.bit_length(), k
            counted.looks = 0
            assert history.where(0, 1, k) == ((10, 20) if k % 2 else EMPTY)
            assert counted.looks <= 18 * length.bit_length(), k
    assert history.positions(0) == list(range(1, length + 1))
    assert len(history) == length + 2  # one leaf of three changes


def test_a_leaf_among_twenty_thousand_is_found_by_halving() -> None:
    width = 20_000
    history = History(default)
    for n in range(width):
        history.paint(0, (10 * n, 10 * n + 5), 1, 0)
    history.settle(1)
    counted = Counted("q", history.low)
    with patch.object(history, "low", counted):
        for n in (0, 1, width // 2, width - 1):
            counted.looks = 0
            assert [history.at(0, 10 * n + off, 1) for off in (0, 5)] == [1, 0]
            assert counted.looks <= 4 * width.bit_length()
            counted.looks = 0
            history.paint(0, (10 * n + 1, 10 * n + 2), 2, 0)
            history.settle(n + 2)
            assert counted.looks <= 8 * width.bit_length()
