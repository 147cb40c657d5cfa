"""An index into a ledger: what it says, and what it no longer says. Safe to repeat."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from doxa.adapters.carrying import check_ledger
from doxa.adapters.graphrag.changes import Changes
from doxa.adapters.graphrag.dates import Dates, checked_dates
from doxa.adapters.graphrag.folders import Run, index_name, runs_in
from doxa.adapters.graphrag.mapping import Mapped, mapped
from doxa.adapters.graphrag.naming import Naming
from doxa.adapters.graphrag.outcome import IndexImport, RunImport, outcome
from doxa.adapters.graphrag.tables import Tables, read_tables
from doxa.adapters.graphrag.words import VOCABULARY, Vocabulary
from doxa.arguments import check_text
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Belief
from doxa.engine.collector import uncollected
from doxa.engine.errors import CallerError, ClockError, DoxaError
from doxa.engine.parse import parse
from doxa.engine.plain import Plain, ready
from doxa.engine.stream import Committed, Request

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.ledger import Ledger

__all__ = ["Prepared", "import_index", "prepare"]

Progress = Callable[[int, int | None], None]
FOLDER = "folder"


def import_index(
    ledger: Ledger,
    folder: str | os.PathLike[str],
    *,
    index: str | None = None,
    workspace: str = "",
    recorded_at: Instant | None = None,
    dates: Dates = "observed",
    vocabulary: Vocabulary = VOCABULARY,
    replace: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> IndexImport:
    """Imports an index of Microsoft GraphRAG: the folder of its tables, of its project, or of its
    updates. Only what is new is recorded, in one commit a run; all runs of a folder or none.

    ``index`` names it, so that a later import knows what it had (left out: the name of the
    project's folder). ``dates`` says what the dates of claims are: when they were ``observed``,
    when they are ``valid``, or to be ignored. ``recorded_at`` is when it became known (left out:
    now; ``"folder"``: the local time in the names of the folders of updates). ``replace`` allows an
    index of which nothing is left, or that lost its documents, to take the place of the one before.
    ``dry_run`` writes nothing. ``progress(rows done, total)`` is called now and then. Raises
    `CallerError` where the folder holds no index or a table can't be read, `ClockError` where the
    time is not later than the ledger's last; nothing is written then.
    """
    check_ledger(ledger)
    ready = prepare(
        folder,
        index=index,
        workspace=workspace,
        recorded_at=recorded_at,
        dates=dates,
        vocabulary=vocabulary,
        replace=replace,
        progress=progress,
    )
    return ready.into(ledger, dry_run=dry_run)


def prepare(
    folder: str | os.PathLike[str],
    *,
    index: str | None = None,
    workspace: str = "",
    recorded_at: Instant | None = None,
    dates: Dates = "observed",
    vocabulary: Vocabulary = VOCABULARY,
    replace: bool = False,
    progress: Progress | None = None,
) -> Prepared:
    """Reads an index and makes it ready for a ledger; the arguments are those of `import_index`.
    What is wrong with them, or with the folder, is said here, before there is a ledger."""
    check_text(workspace, "workspace")
    naming = Naming(index_name(folder) if index is None else index)
    checked_dates(dates)
    with uncollected():
        runs, notes = runs_in(folder)
        stamps = _stamps(runs, recorded_at)
        read = [read_tables(run.folder) for run in runs]
        told = _Told(progress, read)
        said = [
            mapped(each, index=naming.index, dates=dates, vocabulary=vocabulary, progress=told.row)
            for each in read
        ]
    plans = [
        _Plan(run, tables, its, naming, workspace, replace, said if run.complete else None)
        for run, tables, its in zip(runs, read, said, strict=True)
    ]
    return Prepared(naming.index, workspace, os.fspath(folder), dates, plans, stamps, notes, told)


@dataclass(slots=True)
class Prepared:
    """An index that was read, on its way into a ledger."""

    index: str
    workspace: str
    folder: str
    dates: Dates
    plans: list[_Plan]
    stamps: list[int | None]
    notes: list[str]
    told: _Told

    def into(self, ledger: Ledger, *, dry_run: bool = False) -> IndexImport:
        """Records it; a ``dry_run`` only says what would be done."""
        with uncollected():
            requests = [p.request(at) for p, at in zip(self.plans, self.stamps, strict=True)]
        answers = _written(ledger, requests, dry_run)
        self.told.end()
        done = tuple(plan.outcome(answer) for plan, answer in zip(self.plans, answers, strict=True))
        return IndexImport(
            self.index,
            self.workspace,
            self.folder,
            self.dates,
            dry_run,
            done,
            tuple(self.notes),
        )


class _Told:
    """How far it is, now and then."""

    def __init__(self, progress: Progress | None, read: Sequence[Tables]) -> None:
        self.progress, self.done = progress, 0
        self.total = sum(
            len(tables.entities) + len(tables.relationships) + len(tables.covariates)
            for tables in read
        )

    def row(self) -> None:
        self.done += 1
        if self.progress is not None and self.done % 500 == 0:
            self.progress(self.done, self.total)

    def end(self) -> None:
        if self.progress is not None:
            self.progress(self.total, self.total)


@dataclass(slots=True)
class _Plan:
    """One run on its way into the log."""

    run: Run
    tables: Tables
    said: Mapped
    naming: Naming
    workspace: str
    replace: bool
    whole: list[Mapped] | None  # the runs that are the whole index, where this is the first of them
    changes: Changes | None = None
    unready: dict[str, DoxaError] | None = None
    ids: Sequence[str] = ()

    def request(self, at: int | None) -> Request:
        """The commit of the run. What it takes back is decided as it is written."""
        events: list[ev.Event | Plain] = []
        self.unready = {}
        for id, fields in self.said.events.items():
            try:
                events.append(ready({**fields, "workspace": self.workspace}))
            except DoxaError as error:
                self.unready[id] = error
        self.ids = [event.id for event in events]
        return Request(events, recorded_at=at, salvage=True, making=self._making)

    def _making(self, belief: Belief) -> list[ev.Event]:
        self.changes = Changes.between(
            belief,
            self.naming,
            self.workspace,
            self.said,
            self.whole,
            replace=self.replace,
        )
        return [parse({**w, "workspace": self.workspace}) for w in self.changes.withdrawals]

    def outcome(self, answer: Committed) -> RunImport:
        """What became of it."""
        assert self.unready is not None, "it was asked for"
        assert self.changes is not None, "it was written"
        refused = {**self.unready}
        refused |= {self.ids[i]: error for i, error in answer.refused.items() if i < len(self.ids)}
        return outcome(self.run, self.tables, self.said, self.changes, answer, refused)


class _Enough(Exception):
    """Ends a dry run before anything is written."""


def _written(ledger: Ledger, requests: Sequence[Request], dry_run: bool) -> list[Committed]:
    kept: list[Committed] = []

    def check(answers: list[Committed]) -> None:
        kept[:] = answers
        for answer in answers:
            for error in answer.refused.values():
                if isinstance(error, ClockError):
                    raise error
        if dry_run:
            raise _Enough

    with contextlib.suppress(_Enough):
        ledger._stream.append_many(requests, check=check)
    return kept


def _stamps(runs: Sequence[Run], recorded_at: Any) -> list[int | None]:
    """When each run is recorded: one after the other."""
    if recorded_at is None:
        return [None] * len(runs)
    if recorded_at != FOLDER:
        first = times.instant(recorded_at, "recorded_at")
        return [first + place for place in range(len(runs))]
    stamps: list[int | None] = []
    for run in runs:
        if run.at is None:
            raise CallerError(
                f"{str(run.folder)!r} is no folder of an update, so its name says no time; give "
                "recorded_at as a time, or leave it out"
            )
        # what an update found is known just before what it brought
        at = run.at - timedelta(microseconds=1) if run.complete else run.at
        stamps.append(times.instant(at))
    return stamps
