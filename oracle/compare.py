"""Across coordinates: successive beliefs, the difference of two views, rings of corrections."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from doxa.oracle.belief import believe
from doxa.oracle.log import NEG, Key, Log, likeness
from doxa.oracle.truth import Truth


class Item(NamedTuple):
    """A belief about one instant, from the commit on that began it."""

    known_at: int
    recorded_at: int
    values: tuple[Any, ...]
    contested: bool


def history(
    log: Log,
    subject: str,
    predicate: str,
    valid_at: int,
    workspace: str = "",
    shared: bool = True,
    perspective: str | None = None,
) -> list[Item]:
    """The successive beliefs about one instant, asked at every commit.

    A new item begins whenever the set of values held, or whether any is contested, is another;
    what comes before the first value is left out. O(commits x events).
    """
    items: list[Item] = []
    before: tuple[Any, bool] = (frozenset(), False)
    for commit in log.commits:
        truth = Truth(log, valid_at, commit.last, workspace, shared, perspective)
        values = tuple(truth.values(subject, predicate))
        contested = truth.contested(subject, predicate)
        now = (frozenset(map(likeness, values)), contested)
        if now != before:
            items.append(Item(commit.last, commit.recorded_at, values, contested))
        before = now
    return items


def diff(before: Truth, after: Truth) -> dict[Key, tuple[str, str]]:
    """The claims in sight of either view whose standing differs: the one before, the one after.

    What is out of a view's sight, by workspace or perspective, it does not know.
    """
    one, other = before.standings(), after.standings()
    pairs = {
        key: (one.get(key, "not_yet_known"), other.get(key, "not_yet_known"))
        for key in sorted(one.keys() | other.keys())
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def rings(log: Log, known_at: int) -> set[frozenset[Key]]:
    """The rings of corrections live at some instant, each as the claims that go round in it.

    Two rings that share a claim at an instant are one. Tried at every boundary instant, and
    before the first.
    """
    declared: dict[Key, set[Key]] = defaultdict(set)
    for correction in log.corrections:
        target = correction.corrects or correction.dangling
        if correction.by is not None and target is not None:
            declared[target].add(correction.by)
    found: set[frozenset[Key]] = set()
    if _going_round(declared):  # without a ring of all of them there is none at any instant
        for instant in [NEG, *log.boundaries()]:
            corrected = believe(log, instant, known_at).corrected
            live = {claim: {by for by in bys if by} for claim, bys in corrected.items()}
            found |= _going_round(live)
    return found


def _going_round(steps: dict[Key, set[Key]]) -> set[frozenset[Key]]:
    """The groups of claims each of which is reached from each other, and from itself."""
    reached = {claim: _reached(claim, steps) for claim in _between(steps)}
    return {
        frozenset(other for other in far if claim in reached.get(other, ()))
        for claim, far in reached.items()
        if claim in far
    }


def _between(steps: dict[Key, set[Key]]) -> dict[Key, set[Key]]:
    """The steps without those to a claim from which every way ends: no ring runs there."""
    left = {claim: set(following) for claim, following in steps.items()}
    leading_to: dict[Key, list[Key]] = defaultdict(list)
    for claim, following in steps.items():
        for other in following:
            leading_to[other].append(claim)
    ends = [claim for claim in {*steps, *leading_to} if not left.get(claim)]
    while ends:
        end = ends.pop()
        left.pop(end, None)
        for claim in leading_to[end]:
            left[claim].discard(end)
            if not left[claim]:
                ends.append(claim)
    return left


def _reached(claim: Key, steps: dict[Key, set[Key]]) -> set[Key]:
    reached: set[Key] = set()
    open_ends = [claim]
    while open_ends:
        for following in steps.get(open_ends.pop(), ()):
            if following not in reached:
                reached.add(following)
                open_ends.append(following)
    return reached
