"""Exchange lines into a ledger: in order, resumable, and with every bad line accounted for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.carrying import check_ledger
from doxa.adapters.exchange.kept_out import KeptOut, fallen, unreadable
from doxa.adapters.exchange.lines import Given, Line, Lines, fields_of, quick_fields, shown
from doxa.adapters.exchange.set_aside import SetAside, identify, register_of
from doxa.adapters.exchange.stubs import REDACTED, event_of
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.blocking import Blocking
from doxa.engine.errors import (
    CallerError,
    DoxaError,
    InvalidEvent,
    StorageError,
    UnknownTarget,
    ValueRejected,
    WasErased,
)
from doxa.engine.graph import NONE
from doxa.engine.pages import GONE
from doxa.engine.parse import parse
from doxa.engine.plain import Plain, plain
from doxa.engine.stream import Committed, Request
from doxa.engine.words import counted

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["ImportReport", "Progress", "import_events"]

BATCH: Final = 5_000  # events that share one transaction and one flush

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: ``events`` that are new and their ``commits``, events that were there
    already (``repeated``), the lines ``set_aside``, and those ``blocked`` since they, or claims
    that they go with, say a rejected value; each in order."""

    events: int
    commits: int
    repeated: int
    set_aside: tuple[SetAside, ...] = ()
    blocked: tuple[KeptOut, ...] = ()

    def __str__(self) -> str:
        head = (
            f"{counted(self.events, 'event')} in {counted(self.commits, 'commit')}, "
            f"{self.repeated} repeated, "
            f"{len(self.set_aside)} set aside"
        )
        if self.blocked:
            head += f", {len(self.blocked)} kept out"
        return "\n".join([head, *map(str, self.set_aside), *map(str, self.blocked)])


def import_events(
    ledger: Ledger,
    lines: str | os.PathLike[str] | Iterable[Given] | Lines,
    *,
    restamp: bool = False,
    strict: bool = False,
    workspace: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Imports exchange lines from a file (gzip too), an open file, or an iterable.

    ``restamp`` records lines whose ``recorded_at`` steps back just after the one before; ``strict``
    refuses the whole with nothing written (`InvalidEvent`, naming the first bad line) if one line
    can't be accepted; ``workspace`` is that of lines which name none. Raises `CallerError` where
    there is no such file. O(lines); memory for some thousand lines, with ``strict`` for all.
    """
    check_ledger(ledger)
    given = lines if isinstance(lines, Lines) else Lines(lines)
    return _Import(ledger, given, restamp, strict, workspace, progress).run()


@dataclass(slots=True)
class _Item:
    """An event that a line holds, on its way into the log."""

    line: Line
    said: ev.Event | Plain
    recorded_at: int | None
    mended: bool = False  # it was set aside before, and may go in now

    @property
    def event(self) -> ev.Event:
        return self.said.event if isinstance(self.said, Plain) else self.said


@dataclass(slots=True)
class _Group:
    """Consecutive lines with one ``recorded_at``: one commit."""

    recorded_at: int | None
    items: list[_Item] = field(default_factory=list)
    arrival: bool = False  # recorded as they arrive, whatever they say
    audits: list[Blocking] = field(default_factory=list)  # of lines that were kept out


@dataclass(frozen=True, slots=True)
class _Unread:
    """A correction that can't be accepted, and the claim that it was to put in place."""

    correction: str
    line: int
    by: ev.Ref
    reason: str


class _Import:
    def __init__(
        self,
        ledger: Ledger,
        lines: Lines,
        restamp: bool,
        strict: bool,
        workspace: str | None,
        progress: Progress | None,
    ) -> None:
        self.ledger, self.stream, self.lines = ledger, ledger._stream, lines
        self.restamp, self.strict, self.workspace = restamp, strict, workspace
        self.progress = progress
        self.register = register_of(ledger)
        self.events = self.commits = self.repeated = 0
        self.aside: dict[int, SetAside] = {}
        self.blocked: dict[int, KeptOut] = {}
        self.without: dict[ev.Ref, ValueRejected] = {}  # claims that were kept out
        self.batch: list[_Group] = []
        self.waiting = 0  # events in the batch
        self.group: _Group | None = None
        self.stubs: dict[ev.Ref, Line] = {}
        self.unread: dict[int | None, list[_Unread]] = {}
        self.deferred: list[_Item] = []
        self.orphans: list[_Item] = []  # named what was not there
        self.stamp: tuple[object, int | None] = (None, None)

    def run(self) -> ImportReport:
        self.stream.capture()  # refuses a closed ledger before a line of it is judged
        for line in self.lines:
            item = self._quick_item(line)
            if item is not None:
                self._put(item)
            elif not line.blank or line.problem is not None:
                self._take(line)
        self._close_group()
        if not self.strict:
            self._flush()
        self._check_stubs()
        self._late()
        self._flush()
        aside = tuple(self.aside[number] for number in sorted(self.aside))
        blocked = tuple(self.blocked[number] for number in sorted(self.blocked))
        return ImportReport(self.events, self.commits, self.repeated, aside, blocked)

    # ------------------------------------------------------------ lines

    def _take(self, line: Line) -> None:
        fields: Mapping[str, Any] = {}
        try:
            fields = fields_of(line)
            item = self._item(line, fields)
        except DoxaError as error:
            if not self._withheld(line, fields, None, self.group):
                self._refuse(line, error)
            self._remember(line, fields, error)
            return
        if item is not None:
            self._put(item)

    def _put(self, item: _Item) -> None:
        if item.mended:
            self.deferred.append(item)
            return
        if self.group is None or self.group.recorded_at != item.recorded_at:
            self._close_group()
            self.group = _Group(item.recorded_at)
        self.group.items.append(item)

    def _quick_item(self, line: Line) -> _Item | None:
        """What `_item` makes of a line with a plain event; ``None`` leaves it to that."""
        fields = None if line.problem is not None else quick_fields(line.raw)
        if fields is None:
            return None
        if self.workspace is not None:
            fields.setdefault("workspace", self.workspace)
        said = plain(fields)
        if said is None:
            return None
        try:
            item = _Item(line, said, self._recorded_at(fields.get("recorded_at")))
        except CallerError:
            return None
        if self.register:
            self._compare(item)
        return item

    def _item(self, line: Line, fields: Mapping[str, Any]) -> _Item | None:
        """The event of a line; ``None`` for a stub of an erased event that is there already."""
        if self.workspace is not None and "workspace" not in fields:
            fields = {**fields, "workspace": self.workspace}
        if fields.get("event") == REDACTED and "of" not in fields:
            self._stub(line, fields)
            return None
        if fields.get("event") == GONE:
            raise InvalidEvent(
                f"{fields.get('count')} events were compacted where the line comes from, with the "
                f"digest {fields.get('digest')!s:.64}: what they said is gone"
            )
        self._check_strict(fields)
        recorded_at = self._recorded_at(fields.get("recorded_at"))
        said = event_of(fields) if fields.get("event") == REDACTED else parse(fields)
        item = _Item(line, said, recorded_at)
        if self.register:
            self._compare(item)
        return item

    def _compare(self, item: _Item) -> None:
        """Compares a line with those that were set aside before."""
        line, said = item.line, item.said
        kept = self.register.find(said.workspace, said.id, self.lines.name, line.number)
        item.mended = bool(kept) and self.register.mended(kept[-1], shown(line.raw))

    def _recorded_at(self, stated: object) -> int | None:
        if stated is None:
            return None
        if isinstance(stated, str) and stated == self.stamp[0]:
            return self.stamp[1]
        at = times.instant(stated, "recorded_at")
        self.stamp = (stated, at)
        return at

    def _stub(self, line: Line, fields: Mapping[str, Any]) -> None:
        """A line that only says that an event was erased, and not what it was, says nothing that
        could be recorded here."""
        id, workspace = fields.get("id"), fields.get("workspace", "")
        if not isinstance(id, str) or not isinstance(workspace, str):
            raise InvalidEvent(f"redacted: the id is {id!r}; give the id of an event")
        if unknown := set(fields) - {"event", "id", "workspace", "recorded_at"}:
            raise InvalidEvent(f"redacted {id!r}: {min(unknown)} is not a key of this event")
        self.stubs[ev.Ref(workspace, id)] = line

    def _check_stubs(self) -> None:
        """A stub is a repeat where its id is known, and otherwise set aside."""
        if not self.stubs:
            return
        graph = self.stream.capture()[0].belief.graph
        coming = {(i.said.workspace, i.said.id) for group in self.batch for i in group.items}
        for ref, line in self.stubs.items():
            if ref in coming or graph.find(*ref) != NONE:
                self.repeated += 1
            else:
                what = f"{ref.id!r} was erased where the line comes from, and is not in this ledger"
                self._refuse(line, UnknownTarget(f"{what}: what it said is gone"))

    def _check_strict(self, fields: Mapping[str, Any]) -> None:
        if (
            self.strict
            and fields.get("event") == "withdrawal"
            and fields.get("target") is None
            and fields.get("whole_source") is not True
        ):
            raise InvalidEvent(
                f"withdrawal {fields.get('id')!r} names no target: to withdraw the whole source, "
                'a strict import wants "whole_source": true'
            )

    def _refuse(self, line: Line, error: DoxaError, event: ev.Event | None = None) -> None:
        """Sets a line aside."""
        text = shown(line.raw)
        if event is None:
            workspace, id = identify(text, self.workspace)
        else:
            workspace, id = event.workspace, event.id
        self.aside[line.number] = SetAside(
            line=line.number,
            reason=shown(str(error)),
            text=text,
            code=error.code,
            file=self.lines.name,
            workspace=workspace,
            id=id,
        )

    def _withheld(
        self,
        line: Line,
        fields: Mapping[str, Any],
        event: ev.Event | None,
        group: _Group | None,
    ) -> bool:
        """Whether a line that can't be accepted for another reason says a rejected value. It is
        not set aside then, and that it was kept out is recorded with the commit around it."""
        stated = None
        with contextlib.suppress(CallerError):
            stated = self._recorded_at(fields.get("recorded_at"))
        found = unreadable(self.ledger, line, fields, event, self.workspace, stated)
        if found is None:
            return False
        error, audits = found
        if group is None:
            # without a time, just after what is there: the history of the file may go on from it
            group = self.group = _Group(times.FIRST if stated is None else stated)
        group.audits += audits
        self._keep_out(line, error, error.workspace, event.id if event is not None else None)
        return True

    def _keep_out(self, line: Line, error: ValueRejected, workspace: str, id: str | None) -> None:
        """Notes a line that is kept out, and keeps nothing of what it says: nor does the register,
        if it was set aside before."""
        told = KeptOut(line.number, workspace, id, error.rejections, str(error))
        self.blocked[line.number] = told
        self.aside.pop(line.number, None)
        if self.register:
            text, place = shown(line.raw), (workspace, id)
            self.register.remove(
                kept
                for kept in self.register
                if kept.text == text or (id is not None and (kept.workspace, kept.id) == place)
            )

    def _refuse_event(self, item: _Item, error: DoxaError) -> None:
        """Sets the line of an event aside; one that was erased here does not come back, and what
        it said is not kept. One that says a rejected value is kept out."""
        if self.without and isinstance(error, UnknownTarget):
            error = fallen(item.event, error, self.without)
        if isinstance(error, ValueRejected):
            self._keep_out(item.line, error, item.said.workspace, item.said.id)
            self.without.setdefault(ev.Ref(item.said.workspace, item.said.id), error)
            return
        self._refuse(item.line, error, item.event)
        if isinstance(error, WasErased):
            aside = self.aside[item.line.number]
            self.aside[item.line.number] = replace(aside, code=REDACTED)

    # ------------------------------------------------------------ commits

    def _remember(self, line: Line, fields: Mapping[str, Any], error: DoxaError) -> None:
        """Notes which claim falls with a correction that can't be read. Where its time can't be
        read either, it belongs to the commit around it."""
        by, workspace = fields.get("by"), fields.get("workspace", self.workspace or "")
        if fields.get("event") != "correction":
            return
        if not isinstance(by, str) or not isinstance(workspace, str):
            return
        try:
            at = self._recorded_at(fields.get("recorded_at"))
        except CallerError:
            at = self.group.recorded_at if self.group is not None else None
        unread = _Unread(str(fields.get("id")), line.number, ev.Ref(workspace, by), str(error))
        self.unread.setdefault(at, []).append(unread)

    def _close_group(self) -> None:
        group, self.group = self.group, None
        if group is None:
            return
        if self.unread:
            self._drop_unread(group)
        if group.items or group.audits:
            self.batch.append(group)
            self.waiting += len(group.items)
        if self.waiting >= BATCH and not self.strict:
            self._flush()

    def _drop_unread(self, group: _Group) -> None:
        at = group.recorded_at
        falls = {unread.by: unread for unread in self.unread.pop(at, ())}
        self.unread.pop(None, None)
        if at is not None:
            self.unread = {t: u for t, u in self.unread.items() if t is not None and t > at}
        for item in list(group.items):
            unread = falls.get(ev.Ref(item.said.workspace, item.said.id))
            if unread is not None and isinstance(item.event, ev.Claim):
                group.items.remove(item)
                if self._withheld(item.line, {"recorded_at": None}, item.event, group):
                    continue
                self._refuse(
                    item.line,
                    InvalidEvent(
                        f"claim {item.event.id!r} goes with the correction {unread.correction!r} "
                        f"on line {unread.line}, which can't be accepted: {unread.reason}"
                    ),
                    item.event,
                )

    def _late(self) -> None:
        """Mended lines, recorded as they arrive once the file's own history is in; with them the
        lines of this import that named what was not there, and may be now."""
        if not self.deferred:
            return
        late = sorted([*self.deferred, *self.orphans], key=lambda item: item.line.number)
        for item in late:
            if self.group is None or self.group.recorded_at != item.recorded_at:
                self._close_group()
                self.group = _Group(item.recorded_at, arrival=True)
            if item.recorded_at is not None and item.event.stated_at is None:
                item.said = item.event.model_copy(update={"stated_at": item.recorded_at})
            self.aside.pop(item.line.number, None)
            self.group.items.append(item)
        self._close_group()

    # ------------------------------------------------------------ writing

    def _flush(self) -> None:
        """Writes the batch: its commits in one transaction."""
        batch, self.batch, self.waiting = self.batch, [], 0
        requests = [
            Request(
                [item.said for item in group.items],
                recorded_at=None if group.arrival else group.recorded_at,
                salvage=True,
                restamp=self.restamp,
                audits=group.audits,
            )
            for group in batch
        ]
        if requests or self.strict:
            check = self._all_or_nothing(batch) if self.strict else None
            try:
                answers = self.stream.append_many(requests, check=check)
            except StorageError as error:
                if not self.events:
                    raise
                raise StorageError(
                    f"{error}; before that, {counted(self.events, 'event')} of this import went "
                    "in: they are repeats when it is run again"
                ) from error
            went_in: list[SetAside] = []
            for group, answer in zip(batch, answers, strict=True):
                self._count(group, answer, went_in)
            # a line that is still as bad as it was stays, whatever else went in under its id
            still = {self.register.form(aside).line_key for aside in self.aside.values()}
            self.register.remove(kept for kept in went_in if kept.line_key not in still)
        if not self.strict:
            self._keep()
        if self.progress is not None:
            self.progress(self.lines.done, self.lines.total)

    def _count(self, group: _Group, answer: Committed, went_in: list[SetAside]) -> None:
        self.events += answer.new
        self.commits += answer.new > 0
        self.repeated += answer.repeated
        if not answer.refused and not self.register:
            return
        for index, item in enumerate(group.items):
            error = answer.refused.get(index)
            if error is not None:
                self._refuse_event(item, error)
                again = item.line.number in self.aside and not group.arrival
                if again and isinstance(error, UnknownTarget):
                    self.orphans.append(item)
            elif self.register:
                name, said = self.lines.name, item.said
                kept = self.register.find(said.workspace, said.id, name, item.line.number)
                went_in += kept if item.mended else [k for k in kept if k.id in (None, said.id)]

    def _keep(self) -> None:
        """Keeps what was set aside since the last time."""
        fresh = [
            kept
            for kept in self.aside.values()
            if kept.set_aside_at is None and kept.code != REDACTED
        ]
        if not fresh:
            return
        now = times.iso(self.ledger.clock())
        for line in fresh:
            self.aside[line.line] = replace(line, set_aside_at=now)
        self.register.add(self.aside[line.line] for line in fresh)

    def _all_or_nothing(self, batch: list[_Group]) -> Callable[[list[Committed]], None]:
        """What refuses a strict import before its commits are made."""

        def check(answers: list[Committed]) -> None:
            for group, answer in zip(batch, answers, strict=True):
                for index, error in answer.refused.items():
                    self._refuse_event(group.items[index], error)
            bad: dict[int, SetAside | KeptOut] = {**self.aside, **self.blocked}
            if bad:
                raise InvalidEvent(
                    f"{bad[min(bad)]}; {counted(len(bad), 'line')} can't be accepted, so nothing "
                    "was written: mend them, or import without strict to set them aside"
                )

        return check
