"""The log and the fold over it, kept in step: appending, following other processes, publishing.

Appends are judged, written and folded inside one write transaction, under the lock that gives out
positions; what is folded is published to readers after the commit is durable. If the commit fails,
the fold is thrown away and rebuilt from the log: views that were captured keep their own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.commits import CommitQueue
from doxa.engine.decide import expect, judge
from doxa.engine.errors import (
    CallerError,
    ClockError,
    ConflictError,
    DamageError,
    DoxaError,
    UnknownTarget,
)
from doxa.engine.fold import Fold
from doxa.engine.graph import NONE, Graph
from doxa.engine.log import Head, NewEvent, as_new
from doxa.engine.salvage import leave_out
from doxa.engine.store import PAGE, LogStore
from doxa.engine.transaction import Transaction
from doxa.engine.upkeep import Upkeep

__all__ = ["Committed", "Request", "Stream"]


@dataclass(slots=True)
class Request:
    """One commit: all its events or none; or, where ``salvage``, all that can be accepted."""

    events: Sequence[ev.Event]
    recorded_at: int | None = None
    expected: int | None = None  # of the workspaces of the events, and of those that are watched
    watched: frozenset[str] = frozenset()
    salvage: bool = False
    restamp: bool = False  # a recorded_at that is not later than the head's becomes stated_at


@dataclass(slots=True)
class Committed:
    """What became of one request.

    ``revision`` is the position of its last event in the log, also where all were there already
    (``new`` is then 0); ``refused`` gives the error of each event left out, by its index.
    """

    revision: int
    recorded_at: int
    new: int
    repeated: int
    refused: dict[int, DoxaError] = field(default_factory=dict)


class Stream:
    """One open log with its fold. Safe for threads; several processes may share the log."""

    def __init__(self, store: LogStore, checkpoint: Path | None = None) -> None:
        """``checkpoint`` is the file that the fold is written down in, and begun with."""
        self.store = store
        self.upkeep = Upkeep(store, checkpoint)
        self._mutex = threading.Lock()  # held by whoever changes the fold
        self._queue = CommitQueue(self._commit)
        # the events of the transaction under way, and the position of their first
        self._pending: tuple[int, list[ev.Event]] = (0, [])
        self._touched = False  # whether that transaction has changed the fold
        # The fold, and the last position of it that readers may see: one value, so that no reader
        # ever pairs a position with a fold that holds something else there.
        self._state: tuple[Fold, int] | None = None
        _streams.add(self)
        # Of a damaged log nothing can be read, but verify still says where the damage is.
        with self._mutex, contextlib.suppress(DamageError):
            self._current()

    def _start_in_child(self) -> None:
        """What a forked child must not share: a lock that some thread of the parent holds, and a
        fold that it was in the middle of changing."""
        if self._mutex.locked():
            self._state = None
        self._mutex = threading.Lock()
        self._pending = 0, []

    # -- reading

    def payload(self, position: int) -> ev.Event:
        """The event at a log position. Raises `UnknownTarget` where there is none."""
        first, pending = self._pending
        if first <= position < first + len(pending):
            return pending[position - first]
        row = self.store.row(position)
        if row is None:
            raise UnknownTarget(f"the log has no position {position}")
        return codec.decode(row.type, row.head, row.data)

    def capture(self, *, wait: bool = False) -> tuple[Fold, int]:
        """The fold and the newest published position, other processes' commits included.

        While another thread commits, the position before its commit is given, unless ``wait``.
        """
        state = self._state
        head = self.store.head().position
        behind = state is None or head > state[1]
        if behind and self._mutex.acquire(blocking=wait or state is None):
            try:
                fold = self._current()
                state = fold, fold.position
            finally:
                self._mutex.release()
        assert state is not None
        return state

    def _current(self) -> Fold:
        """The fold, rebuilt where need be and brought up to the head; the mutex is held."""
        opening = self._state is None
        fold = self.upkeep.opened(self.payload) if self._state is None else self._state[0]
        try:
            fold.follow(self.store.read_rows(fold.position))
            self.upkeep.tend(fold, pausing=opening)
        except BaseException:
            self._state = None
            raise
        self._state = fold, fold.position
        return fold

    def close(self) -> None:
        """Writes down what is worth it. The log is closed by whoever opened it."""
        with self._mutex:
            if self._state is not None:
                self.upkeep.tend(self._state[0], pausing=True)

    # -- appending

    def append(self, request: Request) -> Committed:
        """Appends one commit, durably. Raises the first thing that is wrong with it."""
        return self._queue.submit(request)

    def append_many(
        self, requests: Sequence[Request], check: Callable[[list[Committed]], None] | None = None
    ) -> list[Committed]:
        """Several commits in one transaction, with one flush; all of them, or an error and none.

        ``check`` sees the answers before anything is made durable, and may raise to refuse them.
        """
        with self._mutex:
            answers = self._write(requests, together=True, check=check)
        return [answer for answer in answers if isinstance(answer, Committed)]

    def _commit(self, requests: Sequence[Request]) -> list[Committed | Exception]:
        with self._mutex:
            return self._write(requests, together=False)

    def _write(
        self,
        requests: Sequence[Request],
        *,
        together: bool,
        check: Callable[[list[Committed]], None] | None = None,
    ) -> list[Committed | Exception]:
        answers: list[Committed | Exception] = []
        self._touched = False
        try:
            while True:
                fold = self._current() if self._state is None else self._state[0]
                with self.store.write() as transaction:
                    if self._follow(fold, transaction):
                        for request in requests:
                            answer = self._one(fold, transaction, request)
                            if together and isinstance(answer, Exception):
                                raise answer
                            answers.append(answer)
                        if check is not None:
                            check([answer for answer in answers if isinstance(answer, Committed)])
                        break
                self._current()
            self._state = fold, fold.position
        except BaseException:
            if self._touched:
                self._state = None  # it may hold what was never committed
            raise
        finally:
            self._pending = 0, []
        self.upkeep.tend(fold)
        return answers

    def _follow(self, fold: Fold, transaction: Transaction) -> bool:
        """Takes in what other processes committed before this transaction began; False where that
        is too much for their waiting."""
        behind = transaction.head.position - fold.position
        if behind > PAGE:
            return False
        if behind > 0:
            self._touched = True
            fold.follow([transaction.rows(fold.position)])
            self._state = fold, fold.position
        return True

    def _one(self, fold: Fold, transaction: Transaction, request: Request) -> Committed | Exception:
        before = transaction.head
        try:
            return self._judged(fold, transaction, request)
        except DoxaError as error:
            if transaction.head != before:
                raise  # it is written, but not wholly folded: neither may stay
            return error

    def _judged(self, fold: Fold, transaction: Transaction, request: Request) -> Committed:
        refused: dict[int, DoxaError] = {}
        events = dict(enumerate(request.events))
        recorded_at, head = request.recorded_at, transaction.head
        last = head.recorded_at if head.position else times.FIRST - 1
        if request.restamp and recorded_at is not None and recorded_at <= last:
            events, recorded_at = _restamped(recorded_at, events), last + 1
        while True:
            order = list(events)
            judged = judge(fold.belief, list(events.values()), self.payload)
            problems = {order[index]: error for index, error in judged.problems.items()}
            new = {order[index]: event for index, event in judged.new.items()}
            if not problems:
                encoded = _encoded(new, problems)
            if not problems:
                break
            if not request.salvage:
                raise problems[min(problems)]
            refused.update(problems)
            leave_out(events, refused, request.events, partial(_known, fold.belief.graph))
        repeated = len(judged.repeated)
        if not new:
            return Committed(head.position, head.recorded_at, 0, repeated, refused)
        if request.expected is not None:
            seen = request.watched.union(event.workspace for event in new.values())
            expect(fold.belief, seen, request.expected, fold.position)
        self._touched = True
        try:
            put = transaction.append(encoded, recorded_at=recorded_at)
        except (CallerError, ConflictError) as error:  # the time that it states
            if not request.salvage:
                raise
            early = recorded_at is not None and recorded_at <= last
            why = _too_early(recorded_at or 0, head) if early else error
            refused.update(dict.fromkeys(new, why))
            return Committed(head.position, head.recorded_at, 0, repeated, refused)
        folding = list(new.values())
        if not self._pending[1]:
            self._pending = put.first, []
        self._pending[1].extend(folding)
        fold.apply(put.first, put.recorded_at, folding, transaction.head.chain)
        return Committed(put.last, put.recorded_at, len(new), repeated, refused)


def _encoded(new: dict[int, ev.Event], problems: dict[int, DoxaError]) -> list[NewEvent]:
    encoded = []
    for index, event in new.items():
        try:
            encoded.append(as_new((event.TYPE, *codec.encode(event), ())))
        except DoxaError as error:
            problems[index] = error
    return encoded


def _known(graph: Graph, ref: ev.Ref) -> bool:
    return graph.find(*ref) != NONE


def _restamped(stated_at: int, events: dict[int, ev.Event]) -> dict[int, ev.Event]:
    return {
        index: event
        if event.stated_at is not None
        else event.model_copy(update={"stated_at": stated_at})
        for index, event in events.items()
    }


def _too_early(recorded_at: int, head: Head) -> ClockError:
    return ClockError(
        f"recorded_at {times.iso(recorded_at)} is not later than the ledger's last, "
        f"{times.iso(head.recorded_at)}; leave it out, or import with restamp"
    )


_streams: weakref.WeakSet[Stream] = weakref.WeakSet()


def _renew_after_fork() -> None:
    for stream in tuple(_streams):
        stream._start_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
