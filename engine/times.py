"""Instants, half-open intervals and sets of intervals, in microseconds since 1970-01-01Z.

An instant is an ``int``. An interval set is a flat, strictly increasing tuple of bounds,
``(from, to, from, to, …)``, each pair half-open; ``NEG`` and ``POS`` are the open ends.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

from doxa.engine.errors import InvalidTime

__all__ = [
    "ALL",
    "EMPTY",
    "NEG",
    "POS",
    "Instant",
    "Intervals",
    "covers",
    "hull",
    "instant",
    "intersect",
    "interval",
    "iso",
    "moment",
    "shown",
    "span",
    "subtract",
    "union",
    "union_all",
    "valid_end",
    "valid_start",
    "valid_until",
]

Instant = int
Intervals = tuple[int, ...]

NEG: Final = -(2**63)
POS: Final = 2**63 - 1
ALL: Final[Intervals] = (NEG, POS)
EMPTY: Final[Intervals] = ()

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
DAY: Final = 86_400_000_000
FIRST: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LAST: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_NAIVE = re.compile(_TIME.pattern.removesuffix(r"([Zz]|[+-][0-9]{2}:[0-9]{2})"))
_ACCEPTED = "give an aware datetime, a date, or ISO text such as 2024-03-01 or 2024-03-01T09:00:00Z"


def instant(value: object, name: str = "time") -> Instant:
    """The instant that ``value`` names, in microseconds since 1970-01-01T00:00Z.

    ``value`` is an aware ``datetime``, a ``date`` (its 00:00Z) or ISO text of either. A naive
    time, a number, or text of any other form raises `InvalidTime`, as do digits beyond the
    microsecond: nothing is guessed or rounded.

    >>> instant("1970-01-02")
    86400000000
    """
    if type(value) is datetime and value.tzinfo is UTC:
        since = value - EPOCH
        return since.days * DAY + since.seconds * 1_000_000 + since.microseconds
    if isinstance(value, str):
        return _from_text(value, name)
    if isinstance(value, datetime):
        return _from_datetime(value, name)
    if isinstance(value, date):
        return (value.toordinal() - 719_163) * DAY
    raise InvalidTime(f"{name} is {value!r}, of type {type(value).__name__}; {_ACCEPTED}")


def _from_text(value: str, name: str) -> Instant:
    try:
        if _DATE.fullmatch(value):
            return (date.fromisoformat(value).toordinal() - 719_163) * DAY
        if _TIME.fullmatch(value):
            return _from_datetime(datetime.fromisoformat(value.upper()), name)
    except ValueError as error:
        raise InvalidTime(f"{name} is {_shown(value)}: {error}; {_ACCEPTED}") from None
    lack = "has no time zone" if _NAIVE.fullmatch(value) else "is no instant"
    raise InvalidTime(f"{name} is {_shown(value)}, which {lack}; {_ACCEPTED}")


def _shown(value: str) -> str:
    return repr(value if len(value) <= 80 else value[:77] + "...")


def _from_datetime(value: datetime, name: str) -> Instant:
    if value.utcoffset() is None:
        raise InvalidTime(f"{name} is {value.isoformat()}, which has no time zone; {_ACCEPTED}")
    micros = (value - EPOCH) // MICROSECOND
    if not FIRST <= micros <= LAST:
        raise InvalidTime(f"{name} is {value.isoformat()}, outside the years 1 to 9999 in UTC")
    return micros


def moment(micros: Instant) -> datetime:
    """The aware UTC ``datetime`` of an instant between the years 1 and 9999."""
    return EPOCH + timedelta(microseconds=micros)


def iso(micros: Instant) -> str:
    """ISO text in UTC: whole seconds, or six digits of a fraction.

    >>> iso(86_400_000_001)
    '1970-01-02T00:00:00.000001Z'
    """
    return moment(micros).isoformat().removesuffix("+00:00") + "Z"


def valid_start(value: object, name: str = "valid_from") -> Instant:
    """The start of an interval; ``None`` is an open start."""
    return NEG if value is None else instant(value, name)


def valid_end(value: object, name: str = "valid_to") -> Instant:
    """The exclusive end of an interval; ``None`` is an open end."""
    return POS if value is None else instant(value, name)


def valid_until(value: object, name: str = "valid_until") -> Instant:
    """The exclusive end that an inclusive last day stands for: 00:00Z of the next day.

    The last day that can be named, 9999-12-31, has no next day: it is an open end.
    """
    if isinstance(value, datetime) or (isinstance(value, str) and not _DATE.fullmatch(value)):
        raise InvalidTime(f"{name} is {value!r}, but an inclusive end is a day, as 2024-12-31")
    end = instant(value, name) + DAY
    return POS if end > LAST else end


def interval(start: Instant, end: Instant) -> Intervals:
    """The set of one half-open interval; empty and inverted ones raise `InvalidTime`."""
    if start >= end:
        what = "empty" if start == end else "inverted"
        raise InvalidTime(
            f"the interval from {shown(start)} to {shown(end)} is {what}: "
            "valid_from must lie before valid_to, which is exclusive"
        )
    return (start, end)


def shown(micros: Instant) -> str:
    """For people: ISO text, a bare date at midnight, ``open`` at an open end."""
    if micros in (NEG, POS):
        return "open"
    days, rest = divmod(micros, DAY)
    return iso(micros) if rest else date.fromordinal(719_163 + days).isoformat()


def span(low: Instant, high: Instant) -> str:
    """An interval in words: ``from 2024-03-01``, ``before …``, ``… to …``, or ``at any time``."""
    if low == NEG:
        return "at any time" if high == POS else f"before {shown(high)}"
    return f"from {shown(low)}" if high == POS else f"{shown(low)} to {shown(high)}"


def covers(these: Intervals, at: Instant) -> bool:
    """Whether the instant lies in the set. O(log n)."""
    return bisect_right(these, at) % 2 == 1


def union(a: Intervals, b: Intervals) -> Intervals:
    """The instants in either set. O(n + m)."""
    if not a or b == ALL:
        return b
    if not b or a in (ALL, b):
        return a
    if len(a) == 2 and len(b) == 2:
        first, second = (a, b) if a[0] <= b[0] else (b, a)
        if first[1] < second[0]:
            return first + second
        return (first[0], max(a[1], b[1]))
    if len(a) == 2:
        a, b = b, a
    if len(b) == 2:
        low, high = b
        i, j = bisect_left(a, low), bisect_right(a, high)
        return (*a[:i], *_even(i, low), *_even(j, high), *a[j:])
    return _sweep(a, b, lambda x, y: x or y)


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """The instants in both sets. O(n + m)."""
    if not a or not b:
        return EMPTY
    if a in (ALL, b):
        return b
    if b == ALL:
        return a
    if len(a) == 2 and len(b) == 2:
        low, high = max(a[0], b[0]), min(a[1], b[1])
        return (low, high) if low < high else EMPTY
    if len(a) == 2:
        a, b = b, a
    if len(b) == 2:
        low, high = b
        i, j = bisect_right(a, low), bisect_left(a, high)
        return (*_even(i + 1, low), *a[i:j], *_even(j + 1, high))
    return _sweep(a, b, lambda x, y: x and y)


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """The instants in ``a`` and not in ``b``. O(n + m)."""
    if not a or not b:
        return a
    if b == ALL or a == b:
        return EMPTY
    if len(a) == 2 and len(b) == 2:
        if b[1] <= a[0] or b[0] >= a[1]:
            return a
        before = (a[0], b[0]) if b[0] > a[0] else EMPTY
        return (*before, b[1], a[1]) if b[1] < a[1] else before
    if len(b) == 2:
        low, high = b
        i, j = bisect_left(a, low), bisect_right(a, high)
        return (*a[:i], *_even(i + 1, low), *_even(j + 1, high), *a[j:])
    if len(a) == 2:
        low, high = a
        i, j = bisect_right(b, low), bisect_left(b, high)
        return (*_even(i, low), *b[i:j], *_even(j, high))
    return _sweep(a, b, lambda x, y: x and not y)


def union_all(sets: Iterable[Intervals]) -> Intervals:
    """The instants in any of the sets. O(n log n) over all bounds."""
    kept = [s for s in sets if s]
    if len(kept) < 2:
        return kept[0] if kept else EMPTY
    pairs = sorted((s[i], s[i + 1]) for s in kept for i in range(0, len(s), 2))
    bounds = [*pairs[0]]
    for start, end in pairs:
        if start > bounds[-1]:
            bounds += (start, end)
        elif end > bounds[-1]:
            bounds[-1] = end
    return tuple(bounds)


def hull(these: Intervals) -> Intervals:
    """The smallest single interval that holds the set."""
    return (these[0], these[-1]) if these else EMPTY


def _even(place: int, at: Instant) -> Intervals:
    """An instant as a bound, where its place among the bounds of a set is even."""
    return EMPTY if place % 2 else (at,)


def _sweep(a: Intervals, b: Intervals, keep: Callable[[bool, bool], bool]) -> Intervals:
    bounds: list[int] = []
    i = j = 0
    inside = False
    while i < len(a) or j < len(b):
        at = a[i] if j >= len(b) or (i < len(a) and a[i] <= b[j]) else b[j]
        while i < len(a) and a[i] == at:
            i += 1
        while j < len(b) and b[j] == at:
            j += 1
        now = keep(i % 2 == 1, j % 2 == 1)
        if now != inside:
            bounds.append(at)
            inside = now
    return tuple(bounds)
