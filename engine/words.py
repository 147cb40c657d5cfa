"""What is said where a question has no one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from doxa.engine import times

__all__ = ["contested", "nothing_held", "several_held"]

_NAMED: Final = 5


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
