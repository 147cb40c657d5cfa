"""Instants, intervals and sets of intervals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine import times
from doxa.engine.errors import InvalidTime
from doxa.engine.times import ALL, EMPTY, NEG, POS, Intervals, covers

SMALL = (NEG, *range(9), POS)


def sets() -> st.SearchStrategy[Intervals]:
    """Sets of up to four intervals over a few instants and the open ends."""
    return st.sets(st.sampled_from(SMALL), max_size=8).map(
        lambda bounds: tuple(sorted(bounds)[: len(bounds) // 2 * 2])
    )


def members(these: Intervals) -> set[int]:
    """The instants of a set, tried one by one; ``NEG`` stands for all before the first bound."""
    return {
        at
        for at in (NEG, *range(-1, 10))
        if any(low <= at < high for low, high in zip(these[::2], these[1::2], strict=True))
    }


def canonical(these: Intervals) -> bool:
    """Whether the bounds come in pairs and strictly rise: no empty, touching or inverted ones."""
    return len(these) % 2 == 0 and list(these) == sorted(set(these))


# ---------------------------------------------------------------- sets


@given(sets(), sets())
@pytest.mark.parametrize(
    ("combine", "by_members"),
    [
        (times.union, set.union),
        (times.intersect, set.intersection),
        (times.subtract, set.difference),
    ],
)
def test_sets_combine_instant_by_instant(
    combine: Callable[[Intervals, Intervals], Intervals],
    by_members: Callable[[set[int], set[int]], set[int]],
    a: Intervals,
    b: Intervals,
) -> None:
    combined = combine(a, b)
    assert canonical(combined)
    assert members(combined) == by_members(members(a), members(b))


@given(st.lists(sets(), max_size=5))
def test_a_union_of_many_is_the_union_of_two_again_and_again(many: list[Intervals]) -> None:
    one_by_one = EMPTY
    for these in many:
        one_by_one = times.union(one_by_one, these)
    assert times.union_all(many) == one_by_one


@given(sets(), st.sampled_from((NEG, *range(-1, 10))))
def test_a_set_covers_its_starts_and_not_its_ends(these: Intervals, at: int) -> None:
    assert covers(these, at) == (at in members(these))
    assert all(covers(these, low) for low in these[::2])
    assert not any(covers(these, high) for high in these[1::2])


@given(sets())
def test_what_is_taken_away_and_given_back_is_whole(these: Intervals) -> None:
    assert times.union(times.subtract(ALL, these), these) == ALL
    assert times.subtract(these, these) == EMPTY
    assert times.intersect(these, times.subtract(ALL, these)) == EMPTY


def test_touching_intervals_are_one() -> None:
    assert times.union((1, 2), (2, 3)) == (1, 3)
    assert times.union_all([(2, 3), (1, 2), (5, 6)]) == (1, 3, 5, 6)


def test_a_microsecond_less_leaves_a_microsecond() -> None:
    assert times.subtract((0, 10), (0, 9)) == (9, 10)
    assert times.hull((0, 1, 5, 6)) == (0, 6)
    assert times.hull(EMPTY) == EMPTY


# ---------------------------------------------------------------- instants


@pytest.mark.parametrize(
    "value",
    [
        "2024-03-01",
        "2024-03-01T00:00:00Z",
        "2024-03-01t00:00:00z",
        "2024-03-01 00:00Z",
        "2024-03-01T01:00:00+01:00",
        "2024-02-29T22:30:00.000000-01:30",
        date(2024, 3, 1),
        datetime(2024, 3, 1, tzinfo=UTC),
        datetime(2024, 3, 1, 5, 45, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    ],
)
def test_one_instant_has_many_spellings(value: object) -> None:
    assert times.instant(value) == times.instant("2024-03-01")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2024-03-01T00:00:00", "no time zone"),
        (datetime(2024, 3, 1), "no time zone"),
        ("2024-02-30", "day"),
        ("2024-03-01T00:00:00.1234567Z", "no instant"),
        ("20240301", "no instant"),
        ("2024-W09-5", "no instant"),
        ("٢٠٢٤-03-01", "no instant"),
        ("", "no instant"),
        (0, "int"),
        (1.5, "float"),
        (True, "bool"),
        (None, "NoneType"),
        ("0001-01-01T00:00:00+14:00", "0001"),
        ("x" * 1000, "..."),
    ],
)
def test_what_is_no_instant_is_refused_with_its_name_and_the_forms_that_are(
    value: object, said: str
) -> None:
    with pytest.raises(InvalidTime) as caught:
        times.instant(value, "valid_at")
    message = str(caught.value)
    assert said in message
    assert message.startswith("valid_at is ")
    assert len(message) < 300


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_and_its_text_come_back_as_the_same_instant(moment: datetime) -> None:
    micros = times.instant(moment)
    assert times.moment(micros) == moment
    assert times.instant(times.iso(micros)) == micros


def test_the_first_and_the_last_microsecond_can_be_named() -> None:
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
    assert times.iso(times.instant(first)) == first
    assert times.iso(times.instant(last)) == last


# ---------------------------------------------------------------- intervals


def test_an_inclusive_last_day_ends_with_the_next() -> None:
    assert times.valid_until("2024-12-31") == times.instant("2025-01-01")
    assert times.valid_until(date(2024, 2, 28)) == times.instant("2024-02-29")
    assert times.valid_until("9999-12-31") == POS


@pytest.mark.parametrize("value", ["2024-12-31T00:00:00Z", datetime(2024, 12, 31, tzinfo=UTC)])
def test_an_inclusive_end_is_a_day_and_no_time(value: object) -> None:
    with pytest.raises(InvalidTime, match="is a day"):
        times.valid_until(value)


def test_open_ends_are_none_at_the_edge_only() -> None:
    assert times.valid_start(None) == NEG
    assert times.valid_end(None) == POS
    assert times.shown(NEG) == times.shown(POS) == "open"
    assert times.shown(times.instant("2024-03-01")) == "2024-03-01"


@pytest.mark.parametrize(("low", "high", "what"), [(5, 5, "empty"), (6, 5, "inverted")])
def test_an_interval_must_hold_something(low: int, high: int, what: str) -> None:
    with pytest.raises(InvalidTime, match=what):
        times.interval(low, high)
