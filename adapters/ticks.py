"""Where to draw the ticks of an axis of time, and what to write at them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from doxa.engine import times

__all__ = ["ticks"]

MOST: Final = 9  # ticks on an axis
MINUTE: Final = 60_000_000
DAY: Final = 1440 * MINUTE
MONTH: Final = 30 * DAY  # for choosing a step; months are counted by the calendar
MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
SMALL: Final = (1, MINUTE // 60, MINUTE, 10 * MINUTE, 60 * MINUTE, 360 * MINUTE, DAY, 7 * DAY)


def ticks(first: int, last: int) -> Iterator[tuple[int, str]]:
    """Round instants between two, at most nine or so, each with its label."""
    span = last - first
    for step in MONTHS:
        if 2 * MONTH <= span <= MOST * step * MONTH:
            yield from _months(first, last, step)
            return
    step = next((s for s in SMALL if span <= MOST * s), span // MOST + 1)
    for at in range(-(-first // step) * step, last + 1, step):
        yield at, times.shown(at) if step % DAY == 0 else times.iso(at)[5:19].replace("T", " ")


def _months(first: int, last: int, step: int) -> Iterator[tuple[int, str]]:
    start = times.moment(first)
    number = -(-(start.year * 12 + start.month - 1) // step) * step
    while True:
        year, month = divmod(number, 12)
        if not 1 <= year <= 9999:
            return
        at = times.instant(datetime(year, month + 1, 1, tzinfo=UTC))
        if at > last:
            return
        if at >= first:
            yield at, f"{year:04}" if step % 12 == 0 else f"{year:04}-{month + 1:02}"
        number += step
