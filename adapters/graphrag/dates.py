"""The dates of claims: inclusive, of any precision, and mostly missing. What becomes of them is a
stated policy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from doxa.adapters.graphrag.words import Vocabulary
from doxa.engine import times
from doxa.engine.errors import CallerError, InvalidTime

__all__ = ["ASSUMED", "Dated", "Dates", "How", "checked_dates", "dated", "period"]

Dates = Literal["observed", "valid", "ignore"]
How = Literal["given", "start only", "end only", "missing", "inverted", "unreadable"]

ASSUMED: Final = "no valid time is stated: taken as unbounded"
_SECOND: Final = 1_000_000
_DAY: Final = re.compile(
    r"(\d{4})(?:\s*[-/.年]\s*(\d{1,2})(?:\s*[-/.月]\s*(\d{1,2})\s*日?)?\s*月?)?\s*年?"
)
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?([.,]\d+)?\s*([Zz]|[+-]\d{2}:?\d{2})?"
)


@dataclass(frozen=True, slots=True)
class Dated:
    """What a claim's dates come to: ``how`` they are, the claim's interval, what was ``assumed``
    about it, and when its evidence was observed; times are ISO text, or `None`."""

    how: How
    valid_from: str | None = None
    valid_to: str | None = None
    observed_at: str | None = None
    assumed: str | None = ASSUMED


def checked_dates(policy: object) -> Dates:
    """A policy of dates. Raises `CallerError`."""
    for known in get_args(Dates):
        if policy == known:
            found: Dates = known
            return found
    raise CallerError(f"dates is {policy!r:.60}; give {', '.join(get_args(Dates))}")


def period(text: str) -> tuple[int, int] | None:
    """The first instant of a year, month, day or second, and the first one after it; `None` where
    the text is no date. What names no zone is UTC, and midnight is the whole day.

    >>> [times.iso(at) for at in period("2024-02")]
    ['2024-02-01T00:00:00Z', '2024-03-01T00:00:00Z']
    """
    said = text.strip()
    try:
        if (found := _TIME.fullmatch(said)) is not None:
            day, minutes, seconds, _, zone = found.groups()
            if (minutes, seconds or ":00") == ("00:00", ":00") and zone in (None, "Z", "z"):
                return _days(*map(int, day.split("-")))
            if zone is not None and zone not in "Zz" and ":" not in zone:
                zone = f"{zone[:3]}:{zone[3:]}"
            at = times.instant(f"{day}T{minutes}{seconds or ':00'}{zone or 'Z'}")
            return at, at + (_SECOND if seconds else 60 * _SECOND)
        if (found := _DAY.fullmatch(said)) is not None:
            return _days(*(int(part) for part in found.groups() if part is not None))
    except (InvalidTime, ValueError):
        pass
    return None


def _days(year: int, month: int | None = None, day: int | None = None) -> tuple[int, int]:
    start = times.instant(f"{year:04}-{month or 1:02}-{day or 1:02}")
    if day is not None:
        return start, times.valid_until(f"{year:04}-{month:02}-{day:02}")
    following = (year + 1, 1) if month in (None, 12) else (year, (month or 1) + 1)
    if following[0] > 9999:
        return start, times.POS
    return start, times.instant(f"{following[0]:04}-{following[1]:02}-01")


def dated(start: str | None, end: str | None, policy: Dates, vocabulary: Vocabulary) -> Dated:
    """What the dates of a claim come to under a policy.

    ``observed``: the first instant of the start (or else of the end) is when the evidence was
    observed. ``valid``: they bound the claim, both inclusive; a side that is not stated is open,
    and the claim says that this is assumed. ``ignore``: they are only counted. Dates that are
    inverted or can't be read bound nothing.
    """
    said = vocabulary.value(start), vocabulary.value(end)
    first, last = (None if text is None else period(text) for text in said)
    how = _how(said, first, last)
    if how in ("missing", "inverted") or policy == "ignore" or (first is None and last is None):
        why = "" if how != "inverted" else f"; its dates, {said[0]} to {said[1]}, are inverted"
        return Dated(how, assumed=ASSUMED + (why if policy == "valid" else ""))
    if policy == "observed":
        seen = first or last
        assert seen is not None
        return Dated(how, observed_at=times.iso(seen[0]))
    ends = None if last is None or last[1] == times.POS else times.iso(last[1])
    open_side = "no start" if first is None else "no end" if last is None else None
    return Dated(
        how,
        valid_from=None if first is None else times.iso(first[0]),
        valid_to=ends,
        assumed=None if open_side is None else f"{open_side} is stated: taken as open",
    )


def _how(
    said: tuple[str | None, str | None],
    first: tuple[int, int] | None,
    last: tuple[int, int] | None,
) -> How:
    if any(
        text is not None and found is None for text, found in zip(said, (first, last), strict=True)
    ):
        return "unreadable"
    if first is None or last is None:
        return "missing" if first is last else "end only" if first is None else "start only"
    return "inverted" if last[1] <= first[0] else "given"
