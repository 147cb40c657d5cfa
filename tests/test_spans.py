"""What meets a stretch of time, and where two origins agree, against looking at all there is."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from doxa.engine.origins import Origins
from doxa.engine.rivals import RivalGroup
from doxa.engine.spans import Spans
from doxa.engine.times import EMPTY, NEG, POS, Intervals, intersect, subtract, union, union_all

bounds = st.one_of(
    st.integers(-40, 40),
    st.sampled_from((NEG, POS, NEG + 1, POS - 1, -(2**40), 2**40)),
    st.integers(NEG, POS),
)
intervals = st.tuples(bounds, bounds).filter(lambda pair: pair[0] != pair[1]).map(sorted).map(tuple)
windows = st.lists(bounds, min_size=2, max_size=6, unique=True).map(
    lambda found: tuple(sorted(found[: len(found) // 2 * 2]))
)
rows = st.integers(0, 12)


def meets(one: Intervals, other: Intervals) -> bool:
    return bool(intersect(one, other))


# ---------------------------------------------------------------- spans


@given(
    does=st.lists(st.tuples(rows, st.one_of(st.none(), intervals)), max_size=40),
    asked=st.lists(intervals, min_size=1, max_size=5),
)
def test_what_meets_a_stretch_is_what_looking_at_all_finds(
    does: list[tuple[int, Intervals | None]], asked: list[tuple[int, int]]
) -> None:
    spans, kept = Spans(), dict[int, Intervals]()
    for row, interval in does:
        if interval is None:
            spans.discard(row)
            kept.pop(row, None)
        else:
            spans.add(row, *interval)
            kept[row] = interval
        assert (row in spans, len(spans)) == (row in kept, len(kept))
    for low, high in asked:
        found = list(spans.meeting(low, high))
        assert sorted(found) == sorted(row for row in kept if meets(kept[row], (low, high)))


def test_intervals_of_all_lengths_that_touch_do_not_meet() -> None:
    spans = Spans()
    for power in range(63):
        spans.add(2 * power, -(1 << power), 0)
        spans.add(2 * power + 1, 1, 1 + (1 << power))
    assert list(spans.meeting(0, 1)) == []
    assert sorted(spans.meeting(-1, 0)) == list(range(0, 126, 2))
    assert sorted(spans.meeting(1, 2)) == list(range(1, 126, 2))
    spans.add(126, NEG, POS)
    assert list(spans.meeting(0, 1)) == [126]


def test_many_that_end_long_before_are_not_looked_at() -> None:
    spans = Spans()
    for n in range(10_000):
        spans.add(n, 10 * n, 10 * n + 9)
    seen = 0

    class Counting(list[Any]):
        def __getitem__(self, at: Any) -> Any:
            nonlocal seen
            seen += 1
            return super().__getitem__(at)

    counting = {power: Counting(level) for power, level in spans._levels.items()}
    with patch.object(spans, "_levels", counting):
        for n in (0, 5_000, 9_999):
            assert list(spans.meeting(10 * n, 10 * n + 1)) == [n]
    assert seen <= 60


# ---------------------------------------------------------------- rivals


@given(
    notes=st.lists(
        st.tuples(rows, st.sampled_from("ab"), st.one_of(st.just(EMPTY), intervals)), max_size=30
    ),
    where=windows,
)
def test_rivals_are_those_that_say_otherwise_where_they_meet(
    notes: list[tuple[int, str, Intervals]], where: Intervals
) -> None:
    group, kept = RivalGroup(), dict[int, tuple[str, Intervals]]()
    for row, says, hull in notes:
        says = kept[row][0] if row in kept else says  # what a claim says never changes
        group.note(row, says, hull)
        kept[row] = (says, hull)
    held = {row: hull for row, (_, hull) in kept.items() if hull}
    assert set(group.meeting(where)) == {row for row in held if meets(held[row], where)}
    for says in "abc":
        assert set(group.others(says, where)) == {
            row for row in held if kept[row][0] != says and meets(held[row], where)
        }


def test_of_ten_thousand_that_say_the_same_none_is_looked_at() -> None:
    group = RivalGroup()
    for row in range(10_000):
        group.note(row, "a", (row, row + 100))
    group.note(10_000, "b", (50_000, 50_001))
    with patch.object(Spans, "meeting", autospec=True, side_effect=Spans.meeting) as met:
        assert list(group.others("a", (0, 20_000))) == []
        assert met.call_count == 1
        assert list(group.others("b", (0, 1))) == [0]


# ---------------------------------------------------------------- origins

supports = st.tuples(
    rows, st.integers(0, 4), intervals, st.booleans(), st.booleans(), st.one_of(st.none(), windows)
)


def agreeing(kept: dict[int, tuple[int, Intervals]], where: Intervals) -> Intervals:
    """Where two origins or more count, by looking at each pair of origins."""
    by_origin: dict[int, Intervals] = {}
    for origin, extent in kept.values():
        by_origin[origin] = union(by_origin.get(origin, EMPTY), extent)
    pairs = ((a, b) for a in by_origin for b in by_origin if a < b)
    agreed = (intersect(by_origin[a], by_origin[b]) for a, b in pairs)
    return intersect(union_all(agreed), where)


@given(noted=st.lists(supports, max_size=25), where=windows)
def test_origins_agree_where_looking_at_each_pair_says_so(
    noted: list[tuple[int, int, Intervals, bool, bool, Intervals | None]], where: Intervals
) -> None:
    origins, origin_of = Origins(), dict[int, int]()
    kept: dict[int, tuple[int, Intervals]] = {}
    digested = set[int]()
    portions: dict[int, Intervals] = {}
    for row, origin, portion, counts, has_digest, lost in noted:
        origin = origin_of.setdefault(row, origin)  # what a support is never changes
        portion = portions.setdefault(row, portion)
        has_digest = (row in digested) if row in kept else has_digest
        left = subtract(portion, lost or EMPTY) if counts else EMPTY
        origins.note(row, origin, portion if left else EMPTY, has_digest)
        kept[row] = (origin, left)
        (digested.add if left and has_digest else digested.discard)(row)
        assert origins.digested == bool(digested)

    def extent(row: int, within: Intervals) -> Intervals:
        return intersect(kept[row][1], within)

    assert origins.agreeing(where, extent) == agreeing(kept, where)


def test_of_ten_thousand_that_agree_only_two_are_asked() -> None:
    origins = Origins()
    for row in range(10_000):
        origins.note(row, row % 5_000, (0, 100), False)
    asked: list[int] = []

    def extent(row: int, within: Intervals) -> Intervals:
        asked.append(row)
        return intersect((0, 100), within)

    assert origins.agreeing((10, 20, 30, 40), extent) == (10, 20, 30, 40)
    assert len(asked) <= 4


def test_an_origin_whose_last_support_goes_is_forgotten() -> None:
    origins = Origins()
    origins.note(1, 7, (0, 9), True)
    origins.note(2, 7, EMPTY, False)
    assert origins.digested
    origins.note(1, 7, EMPTY, True)
    origins.note(1, 7, EMPTY, True)
    assert not origins.digested
    assert origins.agreeing((0, 9), lambda row, within: within) == EMPTY
