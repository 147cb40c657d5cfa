"""Reconciliation by full recomputation: every artefact judged at both views, and every cause tried.

A flip lies on the way from the earlier view to the later one. The way goes through time first and
then, at the later view's instant, through the commits; the last change on it is the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doxa.oracle.log import Artefact, Key, Log
from doxa.oracle.truth import Truth


class Cause(NamedTuple):
    """What may have caused a flip: any event of one commit, or the passing of an instant.

    ``positions`` are those of the commit; ``instant`` is the boundary that was passed.
    """

    positions: tuple[int, ...] = ()
    instant: int | None = None


@dataclass(frozen=True)
class Flip:
    """Why an artefact is not eligible now (None: it is again), and what may be given as cause."""

    reason: str | None
    causes: frozenset[Cause]


@dataclass(frozen=True)
class Reconciliation:
    """What changed between two views: artefacts by workspace and id."""

    invalidated: dict[Key, Flip] = field(default_factory=dict)
    restored: dict[Key, Flip] = field(default_factory=dict)
    unchanged: set[Key] = field(default_factory=set)


def reconcile(view: Truth, since: Truth | None = None) -> Reconciliation:
    """What became of every registered artefact in the view's sight, against an earlier view.

    Without ``since``, and for what was registered after it, the other side is the artefact's
    state at its registration: at its own ``valid_at``, or else the time of its commit.
    """
    result = Reconciliation()
    for key, artefact in view.log.artefacts.items():
        known = artefact.position <= view.known_at
        known_before = since is not None and artefact.position <= since.known_at
        if not view.sees(artefact.workspace) or not (known or known_before):
            continue
        start = (artefact.valid_at, artefact.commit)
        if since is not None and known_before:
            start = (since.valid_at, since.known_at)
        end = (view.valid_at, view.known_at)
        if _state(view.log, artefact, *start) == _state(view.log, artefact, *end):
            result.unchanged.add(key)
            continue
        reason = next(_at(view.log, artefact, *end).reasons(artefact), None)
        flip = Flip(reason, _causes(view.log, artefact, start, end))
        (result.restored if reason is None else result.invalidated)[key] = flip
    return result


def _at(log: Log, artefact: Artefact, valid_at: int, known_at: int) -> Truth:
    return Truth(log, valid_at, known_at, artefact.workspace)


def _state(log: Log, artefact: Artefact, valid_at: int, known_at: int) -> bool:
    return next(_at(log, artefact, valid_at, known_at).reasons(artefact), None) is None


def _causes(
    log: Log, artefact: Artefact, start: tuple[int, int], end: tuple[int, int]
) -> frozenset[Cause]:
    """All that may be named: the last commit that flipped it, or else the last instant."""
    low, high = sorted((start[1], end[1]))
    commits = [low, *(commit.last for commit in log.commits if low < commit.last <= high)]
    if end[1] < start[1]:
        commits.reverse()
    states = [_state(log, artefact, end[0], known_at) for known_at in commits]
    if (step := _last_change(states)) is not None:
        later = max(commits[step - 1 : step + 1])
        return frozenset({Cause(positions=_positions(log, later))})
    found = (_passing(log, artefact, start[0], end[0], known_at) for known_at in {low, high})
    causes = frozenset(Cause(instant=instant) for instant in found if instant is not None)
    assert causes, f"{artefact.key} flipped between {start} and {end} without a cause"
    return causes


def _passing(log: Log, artefact: Artefact, start: int, end: int, known_at: int) -> int | None:
    """The last boundary whose passing, on the way from start to end, flipped the artefact."""
    low, high = sorted((start, end))
    bounds = [bound for bound in log.boundaries() if low < bound <= high]
    if start <= end:
        probes = [start, *bounds]
    else:
        bounds.reverse()
        probes = [start, *(bound - 1 for bound in bounds)]
    step = _last_change([_state(log, artefact, probe, known_at) for probe in probes])
    return None if step is None else bounds[step - 1]


def _last_change(states: Sequence[bool]) -> int | None:
    """The last index whose state is not that of the index before it."""
    changes = [i for i in range(1, len(states)) if states[i] != states[i - 1]]
    return changes[-1] if changes else None


def _positions(log: Log, last: int) -> tuple[int, ...]:
    before = max((commit.last for commit in log.commits if commit.last < last), default=0)
    return tuple(range(before + 1, last + 1))
