"""Consolidation: what several claims say is recorded once, as an observation that rests on them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant, check_text
from doxa.engine import times
from doxa.engine.errors import CallerError, ConflictError, RevisionConflict, ValueRejected
from doxa.engine.stream import Request, Stream
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.engine.usage import Usage
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
    ids of the claims that were archived behind their observations, ``restored`` of those that were,
    and whose observation stands no longer.
    """

    clusters: tuple[Consolidated, ...]
    remaining: int
    revision: int
    dry_run: bool
    archived: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()

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
            "restored": list(self.restored),
        }


class Consolidating:
    """The pass that finds what is said more than once."""

    _stream: Stream

    if TYPE_CHECKING:
        clock: Callable[[], int]
        view: Callable[..., TruthView]
        usage: Callable[..., list[dict[str, Any]]]
        archive: Callable[..., object]
        restore: Callable[..., object]
        workspace_revision: Callable[[str], int]
        _usage: Usage

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
        id)`` says when in microseconds (left out: as `usage` knows); where it says ``None`` it is
        when the claim was recorded. A pass that follows goes on where this one ended; one that
        finds all done writes nothing. ``archive`` archives what observations rest on, in a commit
        of its own, less what is pinned, verified, scored above 0, or was brought back by somebody;
        what was archived so comes back with the next pass once no observation that stands says it.
        With ``dry_run`` nothing is written, and the same is told. ``progress(clusters done,
        total)`` is called now and then. O(claims), as long as few of one subject and predicate
        share their rarest words.
        """
        check_text(workspace, "workspace")
        for name, value in (("kind", kind), ("perspective", perspective)):
            if value is not None:
                check_text(value, name)
        if limit is not None and (type(limit) is not int or limit < 0):
            raise CallerError(f"limit is {limit!r:.80}; give a number of clusters, or leave it out")
        at = times.moment(self.clock()) if valid_at is None else valid_at
        options = {"valid_at": at, "workspace": workspace, "perspective": perspective}
        used = _used(self._usage) if last_used is None else last_used
        run = _Run(self, options, {"kind": kind, "last_used": used}, limit, progress)
        done = run.dry() if dry_run else run.written()
        from doxa.projections.observations import SHELVED

        view = self.view(shared=False, **options)
        away, back = self._shelved(view, done, kind, archive)
        if not dry_run:
            if away:
                self.archive(away, reason=SHELVED, workspace=workspace)
            if back:
                self.restore(back, reason=SHELVED, workspace=workspace)
        revision = self.workspace_revision(workspace)
        return replace(done, archived=tuple(away), restored=tuple(back), revision=revision)

    def _shelved(
        self, view: TruthView, done: Consolidation, kind: str | None, archive: bool
    ) -> tuple[list[str], list[str]]:
        """What observations say, those of the pass and earlier ones, and is neither protected nor
        archived, nor was brought back by somebody; and what is to come back, as its observation
        stands no longer."""
        from doxa.projections.observations import Observations

        observations = Observations(view)
        replaced = {id for each in done for id in each.supersedes}
        made = {id for each in done if each.events for id in each.observed}
        said, alone = observations.shelves(kind, replaced, made)
        if not (archive and said):
            return [], alone
        away = [
            vital["id"]
            for vital in self.usage(said, workspace=view.workspace, now=view.valid_at)
            if not (vital["archived"] or vital["pinned"] or vital["verified"])
            and not vital["importance"]
            and not observations.brought_back(vital["id"])
        ]
        return away, alone


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

    def planned(self, dry: bool) -> tuple[int, list[Consolidated], list[Consolidated], int]:
        """The revision that is looked at, what is to be written by now, what nothing is written
        for, and how many clusters are beyond the limit. Unless it is ``dry``, what a rejected value
        keeps out is noted in the log."""
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
            except (CallerError, ConflictError) as error:  # whatever it is, the rest goes on
                if isinstance(error, ValueRejected) and not dry:
                    with contextlib.suppress(ValueRejected):
                        self.stream.append(Request(each.events))
                each = replace(each, step=Step.REFUSED, reason=str(error), events=())
            (todo if each.events else rest).append(each)
        return view.revision, todo, rest, remaining

    def dry(self) -> Consolidation:
        """What would be done."""
        revision, todo, rest, remaining = self.planned(dry=True)
        return Consolidation(_in_order([*todo, *rest]), remaining, revision, True)

    def written(self) -> Consolidation:
        """Does it. What others write meanwhile is looked at anew."""
        conflicts = 0
        while True:
            revision, todo, rest, remaining = self.planned(dry=False)
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


def _used(usage: Usage) -> LastUsed | None:
    """When claims were used last, as far as that was noted."""
    if not usage.figures()["records"]:
        return None

    def last_used(workspace: str, id: str) -> int | None:
        key = workspace, id
        found = usage.of([key]).get(key)
        return None if found is None else found.last

    return last_used
