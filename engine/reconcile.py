"""What a change of truth, or the passing of valid time, did to what is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.errors import CallerError
from doxa.engine.graph import KINDS, Graph
from doxa.engine.registry import Judgement, Reason, Registry
from doxa.engine.times import Instant
from doxa.engine.view import TruthView
from doxa.engine.words import counted

__all__ = ["Cause", "Outcome", "Reconciliation", "Unchanged", "reconcile"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an artefact's state changed: an event, or an instant of valid time that passed."""

    event: str | None = None
    type: str | None = None
    position: int | None = None
    recorded_at: datetime | None = None
    instant: datetime | None = None

    def __str__(self) -> str:
        if self.instant is not None:
            return f"the passing of {times.shown(times.instant(self.instant))}"
        assert self.recorded_at is not None
        when = times.iso(times.instant(self.recorded_at))
        return f"{self.type} {self.event} (position {self.position}, recorded {when})"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of one artefact at a view. ``reason`` says why it is not eligible, or, where it
    was restored, why it was not before; ``cause`` is ``None`` where nothing changed."""

    id: str
    workspace: str
    kind: str
    eligible: bool
    reason: Reason | None
    about: str | None
    standing: Standing | None
    cause: Cause | None

    def __str__(self) -> str:
        state = "eligible" if self.eligible else "not eligible"
        about = f" {self.about}" if self.about is not None else ""
        standing = f" ({self.standing})" if self.standing is not None else ""
        reason = f": {self.reason}{about}{standing}" if self.reason is not None else ""
        cause = f", by {self.cause}" if self.cause is not None else ""
        return f"{self.kind} {self.id} is {state}{reason}{cause}"


class Unchanged:
    """The artefacts whose state is the same; each is judged when it is asked for."""

    def __init__(self, total: int, items: Callable[[], Iterator[Outcome]]) -> None:
        self._total, self._items = total, items

    def __len__(self) -> int:
        return self._total

    def __iter__(self) -> Iterator[Outcome]:
        return self._items()


@dataclass(frozen=True)
class Reconciliation:
    """What two views, or registration and a view, make of the registry.

    ``examined`` counts the artefacts that had to be looked at.
    """

    invalidated: tuple[Outcome, ...]
    restored: tuple[Outcome, ...]
    unchanged: Unchanged
    examined: int

    def __str__(self) -> str:
        lines = [
            *(f"invalidated  {item}" for item in self.invalidated),
            *(f"restored     {item}" for item in self.restored),
            f"unchanged    {counted(len(self.unchanged), 'artefact')}",
        ]
        return "\n".join(lines)


def reconcile(
    registry: Registry, view: TruthView, since: TruthView | None = None
) -> Reconciliation:
    """Compares each artefact's state at ``view`` with that at ``since``, or, without ``since`` or
    where it was registered later, with that at its registration.

    Costs what changed, not what exists. Raises `CallerError` where ``since`` knows more than
    ``view``, or sees other workspaces.
    """
    if since is not None and (since.k > view.k or since.workspaces != view.workspaces):
        raise CallerError(
            f"since is at revision {since.k} in {since.workspace!r}, view at {view.k} in "
            f"{view.workspace!r}: since is the earlier view of the same workspaces"
        )
    graph = registry.graph
    if since is None:
        rows = registry.flipped_since_registration(view.v, view.k)
    else:
        rows = registry.reached_between(since.k, view.k)
        rows |= registry.marked_between(min(since.v, view.v), max(since.v, view.v))
        rows |= set(registry.registered_between(since.k, view.k))
    looked_at = sorted(
        row for row in rows if graph.a_pos[row] <= view.k and graph.a_ws[row] in view.workspaces
    )
    invalidated: list[Outcome] = []
    restored: list[Outcome] = []
    changed: set[int] = set()
    for row in looked_at:
        outcome = _compare(registry, row, view, since)
        if outcome is not None:
            changed.add(row)
            (restored if outcome.eligible else invalidated).append(outcome)

    def same() -> Iterator[Outcome]:
        for row in registry.in_sight(view):
            if row not in changed:
                yield _outcome(graph, row, registry.judge(row, view.v, view.k, stood=True), None)

    total = sum(graph.artefacts_upto(ws, view.k) for ws in view.workspaces)
    return Reconciliation(
        tuple(invalidated), tuple(restored), Unchanged(total - len(changed), same), len(looked_at)
    )


def _compare(
    registry: Registry, row: int, view: TruthView, since: TruthView | None
) -> Outcome | None:
    if since is None or registry.graph.a_pos[row] > since.k:
        v, k = registry.at_registration(row)
    else:
        v, k = since.v, since.k
    before = registry.judge(row, v, k, stood=True)
    after = registry.judge(row, view.v, view.k, stood=True)
    if before.eligible == after.eligible:
        return None
    cause = _cause(registry, row, (v, k), (view.v, view.k), after.eligible)
    telling = before if after.eligible else after
    return _outcome(registry.graph, row, telling._replace(eligible=after.eligible), cause)


def _cause(
    registry: Registry,
    row: int,
    start: tuple[Instant, int],
    end: tuple[Instant, int],
    final: bool,
) -> Cause:
    """The last event that, at the end's valid time, brought the final state; else the instant
    that, as known at the start, did."""
    v, k = end
    state, found = registry.eligible(row, v, start[1]), None
    for commit, position in registry.reaches(row, start[1], k):
        now = registry.eligible(row, v, commit)
        if now != state and now == final:
            found = position
        state = now
    if found is not None:
        return _event_cause(registry.graph, found)
    low, high = min(start[0], v), max(start[0], v)
    marks = registry.marks(row, low, high)
    for at in reversed(marks) if v == high else marks:
        if registry.eligible(row, at - 1, start[1]) != registry.eligible(row, at, start[1]):
            return Cause(instant=times.moment(at))
    raise AssertionError(
        f"{registry.graph.artefact_id(row)!r} changed between {start} and {end} for nothing"
    )


def _event_cause(graph: Graph, position: int) -> Cause:
    number = graph.ids.number[position - 1]
    return Cause(
        event=graph.id_of(number),
        type=KINDS[number & 7],
        position=position,
        recorded_at=times.moment(graph.recorded_of(position)),
    )


def _outcome(graph: Graph, row: int, judged: Judgement, cause: Cause | None) -> Outcome:
    return Outcome(
        id=judged.id,
        workspace=graph.names.texts[graph.a_ws[row]],
        kind="summary" if graph.a_summary[row] else "citation",
        eligible=judged.eligible,
        reason=judged.reason,
        about=judged.about,
        standing=judged.standing,
        cause=cause,
    )
