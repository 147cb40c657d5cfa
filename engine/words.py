"""What is said where a question has no one answer, and how many there are of something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from doxa.engine import times

__all__ = ["contested", "counted", "cut_off", "nothing_held", "several_held"]

_NAMED: Final = 5


def counted(number: int, noun: str, several: str | None = None) -> str:
    """So many of them, in words; ``several`` is the plural, where that is not made with an s.

    >>> counted(1, "hit"), counted(3_000, "hit"), counted(0, "hit")
    ('1 hit', '3,000 hits', 'no hits')
    """
    named = noun if number == 1 else several or f"{noun}s"
    return f"{number:,} {named}" if number else f"no {named}"


def cut_off(number: int) -> str:
    """That so many events of a log are not there any more."""
    return f"{counted(number, 'event')} {'is' if number == 1 else 'are'} cut off at the end"


def nothing_held(subject: str, predicate: str, v: int, k: int) -> str:
    return (
        f"nothing is held about {subject!r} {predicate!r} at valid_at {times.iso(v)}, revision "
        f"{k}; claims that are not held, such as superseded ones, are listed by claims with "
        'standing="any", on the command line by doxa view --standing any'
    )


def contested(
    subject: str, predicate: str, v: int, rows: Sequence[int], name: Callable[[int], str]
) -> str:
    return (
        f"{subject!r} {predicate!r} is contested at valid_at {times.iso(v)}: {_some(rows, name)}; "
        "values gives all, why says by what"
    )


def several_held(
    subject: str, predicate: str, v: int, rows: Sequence[int], name: Callable[[int], str]
) -> str:
    return (
        f"several values of {subject!r} {predicate!r} are held at valid_at {times.iso(v)}: "
        f"{_some(rows, name)}; ask for values"
    )


def _some(rows: Sequence[int], name: Callable[[int], str]) -> str:
    """The first few of the claims by name, and how many more there are."""
    named = ", ".join(repr(name(row)) for row in rows[:_NAMED])
    return named + (f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else "")
