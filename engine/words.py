"""What is said where a question has no one answer."""

from __future__ import annotations

from doxa.engine import times

__all__ = ["contested", "nothing_held", "several_held"]


def nothing_held(subject: str, predicate: str, v: int, k: int) -> str:
    return (
        f"nothing is held about {subject!r} {predicate!r} at valid_at {times.iso(v)}, revision "
        f"{k}; its claims of standing 'any' are all that is known about it"
    )


def contested(subject: str, predicate: str, v: int, ids: list[str], more: int) -> str:
    return (
        f"{subject!r} {predicate!r} is contested at valid_at {times.iso(v)}: {_some(ids, more)}; "
        "values gives all, why says by what"
    )


def several_held(subject: str, predicate: str, v: int, ids: list[str], more: int) -> str:
    return (
        f"several values of {subject!r} {predicate!r} are held at valid_at {times.iso(v)}: "
        f"{_some(ids, more)}; ask for values"
    )


def _some(ids: list[str], more: int) -> str:
    return ", ".join(map(repr, ids)) + (f" and {more} more" if more else "")
