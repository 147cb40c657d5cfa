"""A Markdown corpus into a ledger, and again whenever it has changed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import PydanticCustomError

from doxa.adapters.carrying import check_ledger
from doxa.adapters.markdown.corpus import Corpus, Meaning, folder_at, read_corpus
from doxa.adapters.markdown.findings import ERROR, Finding
from doxa.adapters.markdown.folders import check_folder
from doxa.adapters.markdown.linting import findings_of
from doxa.adapters.markdown.planning import plan
from doxa.adapters.markdown.plans import Change, Linked, Options, Plan, Step, Turn
from doxa.adapters.markdown.recorded import Recorded
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError, DoxaError, RevisionConflict, ValueRejected
from doxa.engine.fields import check_name
from doxa.engine.stream import Request

if TYPE_CHECKING:
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["CorpusImport", "SetAside", "import_corpus"]

_PATIENCE: Final = 10  # times in a row that others may write in between
_SHOWN: Final = 3  # paths for which a note tells the same
_UNREAD: Final = ("misspelt-key", "unopened-front-matter")
_NAME: Final = 100  # characters of a corpus's name

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SetAside:
    """What could not be imported, and why: a memo, or with ``name`` one entry of ``supersedes``.
    What was recorded of it before stays."""

    path: str
    reason: str
    name: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {"path": self.path, "name": self.name, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class CorpusImport:
    """What an import did or, in a dry run, would do: ``changes`` of memos, ``links`` that mean
    otherwise now, what was ``set_aside``, and how many memos are as they were (``kept``).
    ``findings`` are those of `lint`."""

    corpus: str
    workspace: str
    changes: tuple[Change, ...]
    links: tuple[Linked, ...]
    kept: int
    set_aside: tuple[SetAside, ...]
    notes: tuple[str, ...]
    events: int
    revision: int
    dry_run: bool
    findings: tuple[Finding, ...] = ()

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to record."""
        return not self.events

    def of(self, turn: str) -> list[Change]:
        """The memos that one thing became of: `added`, `changed`, …"""
        return [change for change in self.changes if change.turn == turn]

    def as_dict(self) -> dict[str, Any]:
        """The import as a JSON object."""
        return {
            "corpus": self.corpus,
            "workspace": self.workspace,
            "unchanged": self.unchanged,
            "kept": self.kept,
            "changes": [change.as_dict() for change in self.changes],
            "links": [link.as_dict() for link in self.links],
            "set_aside": [each.as_dict() for each in self.set_aside],
            "notes": list(self.notes),
            "events": self.events,
            "revision": self.revision,
            "dry_run": self.dry_run,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def import_corpus(
    ledger: Ledger,
    folder: str | os.PathLike[str],
    *,
    corpus: str | None = None,
    workspace: str = "",
    assume_from: date | str | None = None,
    allow_empty: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CorpusImport:
    """Records what the memos of a folder say now, in one commit, and only where that has changed.

    ``corpus`` is the name under which it is known again (left out: the folder's). ``assume_from``
    is the day from which a memo without ``valid_from`` applies; left out, there is no such bound.
    A memo that can't be read is set aside, and stays as it was recorded; one whose file is gone is
    withdrawn. Where none of several recorded memos is left, the folder may be another one:
    that is refused, unless ``allow_empty``; so is, before anything is recorded of the corpus, a
    folder without memos. One with the memos of another corpus is refused unless ``corpus`` is
    given. ``progress(files, total)`` is called after each file.
    Raises `CallerError`; nothing is written then, nor in a ``dry_run``.
    """
    check_ledger(ledger)
    name = _name(folder, corpus)
    start = None if assume_from is None else _day(assume_from)
    found = read_corpus(folder, progress)
    findings = findings_of(found)
    for patience in range(_PATIENCE, 0, -1):
        view = ledger.view(valid_at=times.moment(ledger.clock()), workspace=workspace, shared=False)
        try:
            options = Options(name, workspace, start)
            check_folder(
                *(view, ledger._stream.rows, found, name, folder),
                named=corpus is not None,
                allow_empty=allow_empty,
            )
            done = _Import(ledger, view, found, options, allow_empty, dry_run).done()
            return replace(
                done,
                notes=tuple(dict.fromkeys([*_unread(findings), *done.notes])),
                findings=tuple(findings),
            )
        except RevisionConflict:
            if patience == 1:
                raise
    raise AssertionError("it was written, or refused")


def _name(folder: str | os.PathLike[str], corpus: str | None) -> str:
    """The name of a corpus."""
    given = folder_at(folder).resolve().name if corpus is None else corpus
    if not isinstance(given, str):
        raise CallerError(f"corpus is {given!r:.80}; give the corpus a name, a text")
    try:
        check_name(given)
    except PydanticCustomError as error:
        raise CallerError(
            f"corpus is {given!r:.80}, which {error.message()}; give the corpus a name"
        ) from None
    if "/" in given or ":" in given or len(given) > _NAME:
        raise CallerError(
            f"corpus is {given!r:.120}; a corpus's name has up to {_NAME} characters, no / and no :"
        )
    return given


def _day(value: date | str) -> int:
    found = times.instant(value, "assume_from")
    if found % times.DAY:
        raise CallerError(f"assume_from is {value!r:.80}; give a day")
    return found


class _Import:
    def __init__(
        self,
        ledger: Ledger,
        view: TruthView,
        corpus: Corpus,
        options: Options,
        allow_empty: bool,
        dry_run: bool,
    ) -> None:
        self.ledger, self.stream, self.view = ledger, ledger._stream, view
        self.corpus, self.options = corpus, options
        self.allow_empty, self.dry_run = allow_empty, dry_run
        self.aside: list[SetAside] = []
        self.kept_out: list[ev.Event] = []

    def done(self) -> CorpusImport:
        """Plans, leaves out what can't be recorded until the rest can, and appends it."""
        while True:
            recorded = Recorded(self.view, self.options.corpus, self.stream.rows)
            planned = plan(self.corpus, recorded, self.options)
            self._same_folder(planned, recorded)
            events = [step.event for step in planned.steps]
            problems = self.stream.problems(Request(events)) if events else {}
            if not problems:
                break
            self._leave_out(planned.steps, problems)
        written = len(events)
        if events and not self.dry_run:
            request = Request(events, expected=self.view.revision)
            written = self.stream.append(request).new  # less, where another did the same at once
        for event in () if self.dry_run else self.kept_out:
            with contextlib.suppress(ValueRejected):  # that it was kept out is noted in the log
                self.stream.append(Request([event]))
        return self._told(planned, written)

    def _same_folder(self, planned: Plan, recorded: Recorded) -> None:
        """Refuses to withdraw all that is recorded because another folder was given."""
        gone = [change for change in planned.changes if change.turn is Turn.WITHDRAWN]
        counting = [
            key
            for key, wording in recorded.latest.items()
            if any(support.off is None for support in wording.supports)
        ]
        if len(gone) > 1 and len(gone) == len(counting) and not self.allow_empty:
            raise CallerError(
                f"none of the {len(gone)} memos that are recorded of the corpus "
                f"{self.options.corpus!r} is in the folder: if they are all gone, say so with "
                "allow_empty; if it is another folder, give it another name (corpus); nothing was "
                "written"
            )

    def _leave_out(self, steps: list[Step], problems: dict[int, DoxaError]) -> None:
        """Has the next plan do without what can't be recorded: an edge, or a memo."""
        without, unlinked = set(self.options.without), set(self.options.unlinked)
        paths = {memo.key: memo.path for memo in self.corpus.memos}
        read = {memo.key for memo in self.corpus.memos if memo.usable} - without
        wrong = [(steps[index], error) for index, error in sorted(problems.items())]
        # In a ring with an edge of a memo that can't be read now, that one stays as it was.
        first = [(step, error) for step, error in wrong if step.edge is None or step.key in read]
        for step, error in first or wrong:
            path = paths.get(step.key, step.key)
            if step.edge is not None:
                if (step.key, step.edge) not in unlinked:
                    self.aside.append(SetAside(path, str(error), step.edge))
                unlinked.add((step.key, step.edge))
                continue
            if step.key not in without:
                self.aside.append(SetAside(path, str(error)))
                if isinstance(error, ValueRejected):
                    self.kept_out.append(step.event)
            without.add(step.key)
        self.options = Options(
            self.options.corpus,
            self.options.workspace,
            self.options.assume_from,
            frozenset(without),
            frozenset(unlinked),
        )

    def _told(self, planned: Plan, events: int) -> CorpusImport:
        aside = [SetAside(path, reason) for path, reason in planned.aside.items()]
        aside += [SetAside(f.path, f.message) for f in self.corpus.findings if f.blocks]
        return CorpusImport(
            self.options.corpus,
            self.options.workspace,
            tuple(planned.changes),
            tuple(planned.links),
            planned.kept,
            tuple(sorted([*aside, *self.aside], key=lambda each: (each.path, each.name or ""))),
            tuple(dict.fromkeys([*_passed_over(self.corpus), *planned.notes])),
            events,
            self.ledger.revision,
            self.dry_run,
        )


def _unread(findings: list[Finding]) -> Iterator[str]:
    """What stands in front matter and is not read, each message once."""
    paths: dict[str, list[str]] = {}
    for finding in findings:
        if finding.rule in _UNREAD:
            paths.setdefault(finding.message, []).append(finding.path)
    for message, found in paths.items():
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield f"{', '.join(found[:_SHOWN])}{more}: {message}"


def _passed_over(corpus: Corpus) -> list[str]:
    """What an import leaves out, of the folder and of memos that it records all the same."""
    found = [f"{f.path}: {f.message}" for f in corpus.findings if not f.blocks]
    for memo in corpus.memos:
        if memo.usable:
            errors = [f for f in memo.findings if f.level == ERROR]
            found += [f"{f.path}: {f.message}; the entry is ignored" for f in errors]
    for edge in corpus.edges:
        if edge.meaning is Meaning.SELF:
            found.append(
                f"{edge.memo.path}: supersedes {edge.reference.written!r:.80}, which is the memo "
                "itself; the entry is ignored"
            )
    return found
