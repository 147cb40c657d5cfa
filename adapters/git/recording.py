"""Commits of Git as commits of a ledger, one by one, written many at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.exchange.kept_out import unreadable
from doxa.adapters.exchange.lines import Line
from doxa.adapters.git.changes import Live, Stamp, Writer
from doxa.adapters.git.course import Asked
from doxa.adapters.git.line import Placed
from doxa.adapters.git.reading import Reader, version_of
from doxa.adapters.git.recorded import IMPORTED, KIND, SETTINGS, Cursor, Recorded
from doxa.adapters.git.report import KeptOut, SetAside
from doxa.adapters.git.repository import Commit, Entry, Repository
from doxa.adapters.git.rows import Unsound, Version
from doxa.adapters.git.settings import Settings
from doxa.engine import times
from doxa.engine.blocking import Blocking
from doxa.engine.errors import CallerError
from doxa.engine.parse import parse
from doxa.engine.plain import ready
from doxa.engine.stream import Request

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["BATCH", "Recording"]

BATCH: Final = 5_000  # events that share one transaction
_EMPTY: Final = Version({})


@dataclass(slots=True)
class _File:
    """One file on its way: its last sound version, and the claims of its cells."""

    number: int
    reader: Reader
    place: tuple[str, Entry | None] | None = None
    version: Version = _EMPTY
    live: Live = field(default_factory=dict)
    sound: str | None = None  # where that version is found
    reason: str | None = None  # why the version after it was set aside


class Recording:
    """What an import records, step by step; it begins with what was believed before."""

    def __init__(
        self,
        ledger: Ledger,
        repo: Repository,
        settings: Settings,
        asked: Asked,
        recorded: Recorded,
        arrival: bool,
    ) -> None:
        self.ledger, self.repo, self.settings, self.asked = ledger, repo, settings, asked
        self.recorded, self.arrival = recorded, arrival
        self.files = {
            path: _File(number, Reader(settings)) for number, path in enumerate(settings.paths, 1)
        }
        self.valid = "columns" if settings.bounds else settings.valid
        head = ledger._stream.store.head()
        self.last = head.recorded_at if head.position else None
        self.now = ledger.clock()
        self.cursor = recorded.cursor
        self.round, self.valid_at = 1, times.FIRST
        self.aside: list[SetAside] = []
        self.kept_out: list[KeptOut] = []
        self.audits: list[Blocking] = []
        self.batch: list[Request] = []
        self.waiting = self.events = 0
        self.written = self.restamped = 0
        self.added = self.corrected = self.withdrawn = 0
        if self.cursor is not None:
            self.round, self.valid_at = self.cursor.round + arrival, self.cursor.valid_at

    def restore(self) -> None:
        """Takes up what was believed last of each file."""
        cursor = self.cursor
        if cursor is None:
            return
        at = (
            self.repo.line(cursor.commit, cursor.commit)[0]
            if self.repo.has(cursor.commit)
            else None
        )
        for path, file in self.files.items():
            name, place = cursor.paths[path], cursor.sound[path]
            file.reason = cursor.set_aside[path]
            if at is not None:
                file.place = (name, self.repo.entry(at, name))
            if place is None:
                continue
            commit, _, sound = place.partition(":")
            if not self.repo.has(commit):
                raise CallerError(
                    f"{place[:200]!r}, what was believed last, is not in this clone: git fetch "
                    f"origin {commit}; or import under another name"
                )
            entry = self.repo.entry(self.repo.line(commit, commit)[0], sound)
            assert entry is not None, f"{place} was read before"
            try:
                file.version = version_of(self.repo, file.reader, sound, entry)
            except Unsound as error:
                raise CallerError(
                    f"{place[:200]!r} could be read when it was imported, and now it can't: {error}"
                ) from None
            file.sound = place
            file.live = self.recorded.live(file.number, file.version, self.valid == "columns")

    # ------------------------------------------------------------ one commit

    def step(self, commit: Commit, placed: Placed) -> None:
        """Adds one commit to what is to be written."""
        stamp = self._stamp(commit)
        base = f"{self.asked.name}@{commit.id}" + (f"~{self.round}" if self.round > 1 else "")
        since = commit.authored_at
        if since is None or since > stamp.recorded_at:
            since = stamp.recorded_at
        self.valid_at = max(self.valid_at, since)
        writer = Writer(
            base,
            self.asked.workspace,
            commit,
            stamp,
            self.valid,
            self.valid_at,
            lambda claim: self._rejects(commit, stamp, claim),
        )
        for path, place in placed.items():
            if self.files[path].place != place:
                self._read(self.files[path], commit, place, writer)
        self._mark(commit, base, writer)
        self.added += writer.added
        self.corrected += writer.corrected
        self.withdrawn += writer.withdrawn
        self.restamped += stamp.restamped
        self.written += 1
        audits, self.audits = self.audits, []
        # what is not of claims alone is judged as events, and made into them at once
        made = ready if all(event["event"] == "claim" for event in writer.events) else parse
        events = [*map(made, writer.events)]
        request = Request(events, stamp.recorded_at, restamp=True, audits=audits)
        self.batch.append(request)
        self.waiting += len(request.events)

    def _read(
        self, file: _File, commit: Commit, place: tuple[str, Entry | None], writer: Writer
    ) -> None:
        """What a commit made of a file."""
        file.place = place
        name, entry = place
        version, blob = _EMPTY, None
        if entry is not None:
            try:
                version, blob = version_of(self.repo, file.reader, name, entry), entry.id
            except Unsound as error:
                file.reason = str(error)
                self.aside.append(SetAside(commit.id, name, file.reason))
                return
        writer.file(file.number, name, blob, file.version, version, file.live)
        file.version, file.reason = version, None
        file.sound = None if entry is None else f"{commit.id}:{name}"

    def _mark(self, commit: Commit, base: str, writer: Writer) -> None:
        """Says how far the import has come."""
        name, place = self.asked.name, self.recorded.place
        if self.cursor is None:
            how = self.settings.as_dict()
            writer.claim(f"{name}@{SETTINGS}", name, SETTINGS, how, kind=KIND, workspace=place)
        files = {
            path: {
                "path": "" if file.place is None else file.place[0],
                "sound": file.sound,
                "set_aside": file.reason,
            }
            for path, file in self.files.items()
        }
        said = {"commit": commit.id, "round": self.round, "files": files}
        writer.claim(base, name, IMPORTED, said, kind=KIND, workspace=place)
        if self.cursor is not None:
            writer.correct(f"{base}>", self.cursor.id, base, workspace=place)
        paths = {path: file["path"] or "" for path, file in files.items()}
        sound = {path: file.sound for path, file in self.files.items()}
        aside = {path: file.reason for path, file in self.files.items()}
        self.cursor = Cursor(base, commit.id, self.round, paths, sound, aside, self.valid_at)

    def _stamp(self, commit: Commit) -> Stamp:
        """A date that steps back, or lies ahead of the clock, can't be when something became known:
        that is just after the commit before then."""
        said, last = commit.committed_at, self.last
        if self.arrival:
            at = self.now if last is None else max(self.now, last + 1)
        elif said is not None and said <= self.now and (last is None or said > last):
            at = said
        else:
            at = self.now if last is None else last + 1
        self.last = at
        return Stamp(at, said if said != at else None, said != at)

    def _rejects(self, commit: Commit, stamp: Stamp, claim: dict[str, Any]) -> bool:
        """Whether a claim says a rejected value; that is noted then."""
        if not self.recorded.graph.rejections:
            return False
        event = parse(claim)
        found = unreadable(
            self.ledger, Line(1, ""), {}, event, self.asked.workspace, stamp.recorded_at
        )
        if found is None:
            return False
        error, audits = found
        self.kept_out.append(KeptOut(commit.id, claim["id"], error.rejections))
        self.audits += audits
        return True

    # ------------------------------------------------------------ writing

    def flush(self) -> None:
        """Writes the batch, all of it or nothing: each commit of Git is one of the ledger."""
        batch, self.batch, self.waiting = self.batch, [], 0
        self.events += sum(len(request.events) for request in batch)
        if batch and not self.asked.dry_run:
            self.ledger._stream.append_many(batch)
