"""Consolidation: what several claims say is recorded once, as an observation that rests on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant, check_text
from doxa.engine import times
from doxa.engine.errors import CallerError, RevisionConflict
from doxa.engine.stream import Request, Stream
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.projections.clusters import LastUsed
    from doxa.projections.consolidation import Consolidated, Step

__all__ = ["Consolidating", "Consolidation"]

Progress = Callable[[int, int | None], None]

_TOGETHER: Final = 64  # clusters whose commits share a flush
_PATIENCE: Final = 10  # times in a row that others may write in between


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a consolidation did or, in a dry run, would do.

    ``clusters`` are in the order in which they were taken up, the longest unused first;
    ``remaining`` says how many more wait for the next run, beyond the limit; ``archived`` are the
    ids of the claims that were archived behind their observations.
    """

    clusters: tuple[Consolidated, ...]
    remaining: int
    revision: int
    dry_run: bool
    archived: tuple[str, ...] = ()

    def of(self, step: Step | str) -> list[Consolidated]:
        """The clusters that became one thing: `observed`, `declared`, …"""
        return [each for each in self.clusters if each.step == step]

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self) -> Iterator[Consolidated]:
        return iter(self.clusters)

    def as_dict(self) -> dict[str, Any]:
        """The consolidation as a JSON object."""
        return {
            "clusters": [each.as_dict() for each in self.clusters],
            "remaining": self.remaining,
            "revision": self.revision,
            "dry_run": self.dry_run,
            "archived": list(self.archived),
        }


class Consolidating:
    """The pass that finds what is said more than once."""

    _stream: Stream

    if TYPE_CHECKING:
        clock: Callable[[], int]
        view: Callable[..., TruthView]

    def consolidate(
        self,
        *,
        kind: str | None = None,
        workspace: str = "",
        perspective: str | None = None,
        valid_at: Instant | None = None,
        limit: int | None = None,
        archive: bool = False,
        dry_run: bool = False,
        last_used: LastUsed | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Records what several held claims say as one observation, which rests on all of them.

        Claims of one ``kind`` (left out: each kind by itself), perspective, subject and predicate
        are held against each other at ``valid_at`` (now). Those that say the same, two at least,
        become a claim of the kind "observation", over the time that all of them apply, with the
        number of distinct origins behind them in its text. It supersedes the observation of fewer
        of them, and falls with any of them. Where one claim says what another denies, and they are
        no rivals yet, their contradiction is declared; what is contested is not merged.

        At most ``limit`` clusters are written, the longest unused first: ``last_used(workspace,
        id)`` says when in microseconds, and where it says ``None``, or is left out, it is when the
        claim was recorded. A pass that follows goes on where this one ended; one that finds all
        done writes nothing. ``archive`` archives what an observation says, unless it is protected.
        With ``dry_run`` nothing is written, and the same is told. ``progress(clusters done,
        total)`` is called now and then.
        """
        check_text(workspace, "workspace")
        for name, value in (("kind", kind), ("perspective", perspective)):
            if value is not None:
                check_text(value, name)
        if limit is not None and (type(limit) is not int or limit < 0):
            raise CallerError(f"limit is {limit!r:.80}; give a number of clusters, or leave it out")
        if archive:
            _archiver(self)
        at = times.moment(self.clock()) if valid_at is None else valid_at
        options = {"valid_at": at, "workspace": workspace, "perspective": perspective}
        run = _Run(self, options, {"kind": kind, "last_used": last_used}, limit, progress)
        done = run.dry() if dry_run else run.written()
        if not archive or dry_run:
            return done
        return replace(done, archived=_archived(self, done.clusters, workspace))


class _Run:
    """One pass: what was done so far, and how it is gone on with."""

    def __init__(
        self,
        ledger: Consolidating,
        view: dict[str, Any],
        plan: dict[str, Any],
        limit: int | None,
        progress: Progress | None,
    ) -> None:
        self.ledger, self.stream = ledger, ledger._stream
        self.options, self.planned_by = view, plan
        self.limit, self.progress = limit, progress
        self.done: list[Consolidated] = []

    def planned(self) -> tuple[int, list[Consolidated], list[Consolidated], int]:
        """The revision that is looked at, what is to be written by now, what nothing is written
        for, and how many clusters are beyond the limit."""
        from doxa.projections.consolidation import Step, plan

        view = self.ledger.view(shared=False, **self.options)
        found = plan(view, self.stream.rows, **self.planned_by)
        most = math.inf if self.limit is None else self.limit - len(self.done)
        todo: list[Consolidated] = []
        rest: list[Consolidated] = []
        remaining = 0
        for each in found:
            if each.events and len(todo) >= most:
                remaining += 1
                continue
            try:
                if each.events:
                    self.stream.weigh(Request(each.events))
            except CallerError as error:
                each = replace(each, step=Step.REFUSED, reason=str(error), events=())
            (todo if each.events else rest).append(each)
        return view.revision, todo, rest, remaining

    def dry(self) -> Consolidation:
        """What would be done."""
        revision, todo, rest, remaining = self.planned()
        return Consolidation(_in_order([*todo, *rest]), remaining, revision, True)

    def written(self) -> Consolidation:
        """Does it. What others write meanwhile is looked at anew."""
        conflicts = 0
        while True:
            revision, todo, rest, remaining = self.planned()
            before = len(self.done)
            try:
                revision = self._write(todo, revision)
            except RevisionConflict:
                conflicts = 0 if len(self.done) > before else conflicts + 1
                if conflicts >= _PATIENCE:
                    raise
                continue
            return Consolidation(_in_order([*self.done, *rest]), remaining, revision, False)

    def _write(self, todo: Sequence[Consolidated], revision: int) -> int:
        """Writes some clusters, each in a commit of its own; the revision after them. Raises
        `RevisionConflict` where somebody else wrote to the workspace in between."""
        for start in range(0, len(todo), _TOGETHER):
            part = todo[start : start + _TOGETHER]
            expected = [revision, *[None] * (len(part) - 1)]  # all are one transaction
            requests = [
                Request(each.events, expected=at) for each, at in zip(part, expected, strict=True)
            ]
            revision = self.stream.append_many(requests)[-1].revision
            self.done += part
            if self.progress is not None:
                self.progress(start + len(part), len(todo))
        return revision


def _in_order(clusters: Sequence[Consolidated]) -> tuple[Consolidated, ...]:
    """The longest unused first, as they were planned."""
    return tuple(sorted(clusters, key=lambda each: each.last_used))


def _archiver(ledger: object) -> Callable[..., Any]:
    """What archives claims."""
    found = getattr(ledger, "archive", None)
    if found is None:
        raise CallerError("archive: this ledger can't archive claims; consolidate without it")
    call: Callable[..., Any] = found
    return call


def _archived(
    ledger: Consolidating, clusters: Sequence[Consolidated], workspace: str
) -> tuple[str, ...]:
    """Archives what the observations of some clusters say; the ids of what was archived."""
    from doxa.projections.consolidation import Step

    ids = [
        id
        for each in clusters
        if each.step in (Step.OBSERVED, Step.RESTORED)
        for id in each.evidence
    ]
    if not ids:
        return ()
    _archiver(ledger)(ids, reason="consolidated", workspace=workspace)
    return tuple(ids)
