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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.asserting import asserted, may_assert, restored
from doxa.engine.blocking import Blocking
from doxa.engine.collector import uncollected
from doxa.engine.commits import CommitQueue
from doxa.engine.decide import Plainly, expect, judge
from doxa.engine.errors import (
    CallerError,
    ConflictError,
    DamageError,
    DoxaError,
    UnknownTarget,
    ValueRejected,
)
from doxa.engine.fold import Fold
from doxa.engine.gate import Asked, Gate
from doxa.engine.graph import NONE, Graph
from doxa.engine.log import Appended, NewEvent, Row, as_new
from doxa.engine.owners import as_stored
from doxa.engine.plain import Plain
from doxa.engine.requests import (
    Committed,
    Request,
    Said,
    all_plain,
    encoded_all,
    erased_by,
    event_of,
    last_of,
    restamped,
    stored_form,
    too_early,
)
from doxa.engine.salvage import leave_out
from doxa.engine.sealing import Cipher
from doxa.engine.store import PAGE, LogStore
from doxa.engine.transaction import Transaction, as_row
from doxa.engine.upkeep import Upkeep

__all__ = ["Committed", "Request", "Stream"]

MANY: Final = 1_000  # events in a commit during which the collector of cycles would look often


class Stream:
    """One open log with its fold. Safe for threads; several processes may share the log."""

    def __init__(
        self,
        store: LogStore,
        checkpoint: Path | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        cipher: Cipher | None = None,
    ) -> None:
        """``checkpoint`` is the file that the fold is written down in, and begun with;
        ``progress(position, head)`` is called after each page that is read at the beginning;
        ``cipher`` encrypts what is written."""
        self.store, self.cipher = store, cipher
        # called after an append that erased something, when it is durable
        self.on_erased: Callable[[], None] | None = None
        self._erased = False  # whether that is still to be done
        self.upkeep = Upkeep(store, checkpoint, cipher)
        self._progress = progress
        self._mutex = threading.Lock()  # held by whoever changes the fold
        self._queue = CommitQueue(self._commit)
        self._pending: list[Row] = []  # the events of the transaction under way
        self._touched = False  # whether that transaction has changed the fold
        self._audited: list[Blocking] = []  # what it tells of claims that were kept out
        self._asking: Gate | None = None
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
        self._pending = []

    # -- reading

    def payload(self, position: int) -> ev.Event:
        """The event at a log position. Raises `UnknownTarget` where there is none."""
        row = self._coming(position) or self.store.row(position)
        if row is None:
            raise _unknown(position)
        return _event(row)

    def rows(self, positions: Sequence[int]) -> dict[int, Row]:
        """The stored events at log positions, read at once. Raises `UnknownTarget` where there is
        none."""
        found = {row.position: row for row in self.store.rows(positions)}
        for position in positions:
            if position not in found:
                row = self._coming(position)
                if row is None:
                    raise _unknown(position)
                found[position] = row
        return found

    def _coming(self, position: int) -> Row | None:
        """The event at a position that the transaction under way has given out."""
        pending = self._pending
        place = position - pending[0].position if pending else NONE
        return pending[place] if 0 <= place < len(pending) else None

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
            fold.follow(
                self._pages(fold.position) if opening else self.store.read_rows(fold.position)
            )
            self.upkeep.tend(fold, pausing=opening)
        except BaseException:
            self._state = None
            raise
        self._state = fold, fold.position
        return fold

    def _pages(self, after: int) -> Iterator[Sequence[Row]]:
        """The stored rows after a position, told of as they are read."""
        head = self.store.head().position
        for page in self.store.read_rows(after, head):
            yield page
            if self._progress is not None:
                self._progress(page[-1].position, head)

    def close(self) -> None:
        """Writes down what is worth it. The log is closed by whoever opened it."""
        with self._mutex:
            if self._state is not None:
                self.upkeep.tend(self._state[0], closing=True)

    # -- appending

    def append(self, request: Request) -> Committed:
        """Appends one commit, durably. Raises the first thing that is wrong with it."""
        if len(request.events) < MANY:
            answer = self._queue.submit(request)
        else:
            with uncollected():
                answer = self._queue.submit(request)
        self._tell_of_erasures()
        return answer

    def _tell_of_erasures(self) -> None:
        if self._erased and self.on_erased is not None:
            self._erased = False
            self.on_erased()

    def weigh(self, request: Request) -> None:
        """Judges one commit as `append` would, and writes nothing. Raises the first thing that is
        wrong with it."""
        problems = self.problems(request)
        if problems:
            raise problems[min(problems)]

    def problems(self, request: Request) -> dict[int, DoxaError]:
        """What is wrong with the events of one commit, by their index; nothing is written."""
        events = [*map(event_of, request.events)]
        with self._mutex:
            fold, head = self._current(), self.store.head()
            gate, at = self._gate(fold), request.recorded_at
            if gate is not None:
                upon = self.store.moment(head) if at is None else at
                asked = gate.ask(events, upon, request.override)
                if asked.blocked:
                    return {**asked.blocked}
                events += asked.overrides
            judged = judge(fold.belief, events, self.payload)
            if judged.new and not judged.problems and request.guard is not None:
                request.guard(fold)
        problems = judged.problems
        if not problems:
            encoded_all(judged.new, problems)
        if not problems and judged.new and at is not None and at <= last_of(head):
            problems[0] = too_early(at, head)
        return problems

    def append_many(
        self, requests: Sequence[Request], check: Callable[[list[Committed]], None] | None = None
    ) -> list[Committed]:
        """Several commits in one transaction, with one flush; all of them, or an error and none.

        ``check`` sees the answers before anything is made durable, and may raise to refuse them.
        That claims were kept out is recorded even then.
        """
        with self._mutex, uncollected():
            try:
                answers = self._write(requests, together=True, check=check)
            except DoxaError:
                if self._audited:
                    stated = any(request.recorded_at is not None for request in requests)
                    at = times.FIRST if stated else None  # history may go on from where it is
                    left = Request((), recorded_at=at, salvage=True, audits=self._audited)
                    self._write([left], together=False)
                raise
        self._tell_of_erasures()
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
        self._touched, self._audited = False, []
        try:
            while True:
                fold = self._current() if self._state is None else self._state[0]
                with self.store.write() as transaction:
                    if self._follow(fold, transaction):
                        while len(answers) < len(requests):
                            answers += self._plain(fold, transaction, requests, len(answers))
                            if len(answers) < len(requests):
                                answer = self._one(fold, transaction, requests[len(answers)])
                                if together and isinstance(answer, Exception):
                                    raise answer
                                answers.append(answer)
                        if check is not None:
                            check([answer for answer in answers if isinstance(answer, Committed)])
                        break
                self._current()
            fold.blank()
            self._state = fold, fold.position
        except BaseException:
            if self._touched:
                self._state = None  # it may hold what was never committed
            raise
        finally:
            self._pending = []
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
            fold.follow([self.store.opened(transaction.rows(fold.position))])
            self._state = fold, fold.position
        return True

    def _plain(
        self, fold: Fold, transaction: Transaction, requests: Sequence[Request], start: int
    ) -> list[Committed]:
        """Writes and folds the requests from one on, together, up to the first that is not of
        plain claims and supports alone, or of which something might be refused."""
        judge, gate = Plainly(fold.belief.graph), self._gate(fold)
        commits: list[tuple[list[NewEvent], int | None]] = []
        accepted: list[Plain] = []
        last = last_of(transaction.head)
        for request in islice(requests, start, None):
            at = request.recorded_at
            if request.expected is not None or request.making is not None:
                break
            if at is not None and at <= last:
                break
            events = all_plain(request.events)
            if not events or request.audits or (gate is not None and gate.may_block(events)):
                break
            if not judge.accepts(events):
                break
            if may_assert(fold.belief, events):
                break
            commits.append(([as_new((*event[:3], ())) for event in events], at))
            accepted += events
            last = times.POS if at is None else at  # after the clock's time only the clock's
        if not commits:
            return []
        try:
            put = transaction.append_all(
                as_stored(self.cipher, fold, transaction, commits, accepted)
            )
        except (CallerError, ConflictError):  # a time that can't be: each by itself then
            return []
        rows = self._given_out(transaction, put, [new for new, _ in commits])
        if rows:
            fold.follow_plain(rows, accepted)
        return [Committed(one.last, one.recorded_at, one.last - one.first + 1, 0) for one in put]

    def _given_out(
        self,
        transaction: Transaction,
        put: Sequence[Appended],
        commits: Sequence[Sequence[NewEvent]],
    ) -> list[Row]:
        """The rows of what was just written, known from now on to `payload`."""
        self._touched = True
        rows = [
            as_row((position, one.recorded_at, kind, head, data, None))
            for one, new in zip(put, commits, strict=True)
            for position, (kind, head, data, _) in enumerate(new, one.first)
        ]
        if rows:
            rows[-1] = as_row((*rows[-1][:5], transaction.head.chain))
        self._pending += rows
        return rows

    def _one(self, fold: Fold, transaction: Transaction, request: Request) -> Committed | Exception:
        before = transaction.head
        try:
            return self._judged(fold, transaction, request)
        except DoxaError as error:
            if transaction.head != before:
                raise  # it is written, but not wholly folded: neither may stay
            return error

    def _gate(self, fold: Fold) -> Gate | None:
        """What asks whether values may be recorded, where any was ever rejected."""
        if not fold.belief.graph.rejections:
            return None
        if self._asking is None or self._asking.belief is not fold.belief:
            keyed = self.store.keyed_if_made()
            self._asking = None if keyed is None else Gate(fold.belief, keyed, self.payload)
        return self._asking

    def _asked(
        self, fold: Fold, transaction: Transaction, request: Request, said: Sequence[Said]
    ) -> tuple[Asked, int | None]:
        """Which claims of a commit may not be recorded; and its time, if that mattered."""
        gate, at = self._gate(fold), request.recorded_at
        if gate is None:
            return Asked(), at
        if at is None:
            at = self.store.moment(transaction.head)
        upon = max(at, last_of(transaction.head) + 1) if request.restamp else at
        return gate.ask(said, upon, request.override), at

    def _leave(
        self,
        fold: Fold,
        transaction: Transaction,
        audits: Sequence[Blocking],
        stated: int | None,
    ) -> None:
        """Records that claims were kept out, in a commit of its own."""
        audits = self._fresh(fold, audits)
        if not audits:
            return
        at = None if stated is None else max(stated, last_of(transaction.head) + 1)
        encoded = [blocking.stored() for blocking in audits]
        said = () if self.cipher is None else [each.event for each in audits]
        stored = as_stored(self.cipher, fold, transaction, [(encoded, at)], said)
        (put,) = transaction.append_all(stored)
        self._given_out(transaction, [put], [encoded])
        fold.note(put.first, put.recorded_at, audits, transaction.head.chain)

    def _fresh(self, fold: Fold, audits: Sequence[Blocking]) -> list[Blocking]:
        """Those that are not in the log yet, each once."""
        self._audited += audits
        find = fold.belief.graph.find
        return [each for each in dict.fromkeys(audits) if find(each.workspace, each.id) == NONE]

    def _judged(
        self, fold: Fold, transaction: Transaction, request: Request
    ) -> Committed | ValueRejected:
        said = [*request.events]
        if request.making is not None:
            said += request.making(fold.belief)
        asked, recorded_at = self._asked(fold, transaction, request, said)
        if asked.blocked and not request.salvage:
            self._leave(fold, transaction, asked.audits, recorded_at)
            return asked.blocked[min(asked.blocked)]
        refused: dict[int, DoxaError] = {**asked.blocked}
        given = [*map(event_of, said), *asked.overrides]
        events = dict(enumerate(given))
        known = partial(_known, fold.belief.graph)
        if refused:
            leave_out(events, refused, given, known)
        head = transaction.head
        last = last_of(head)
        if request.restamp and recorded_at is not None and recorded_at <= last:
            events, recorded_at = restamped(recorded_at, events), last + 1
        while True:
            order = list(events)
            judged = judge(fold.belief, list(events.values()), self.payload)
            problems = {order[index]: error for index, error in judged.problems.items()}
            new = {order[index]: event for index, event in judged.new.items()}
            encoded = [] if problems else encoded_all(new, problems)
            if not problems:
                break
            if not request.salvage:
                raise problems[min(problems)]
            refused.update(problems)
            leave_out(events, refused, given, known)
        repeated = len(judged.repeated)
        audits = self._fresh(fold, [*request.audits, *asked.audits])
        again = [events[order[index]] for index in judged.repeated] if request.asserting else []
        back = asserted(fold.belief, new.values(), again)
        behind = [blocking.event for blocking in audits]
        behind += restored(fold.belief, back)
        if back and not new:  # a repeat is recognised whatever time it states
            recorded_at = None
        if not new and not behind:
            return Committed(head.position, head.recorded_at, 0, repeated, refused)
        if new and request.expected is not None:
            seen = request.watched.union(event.workspace for event in new.values())
            expect(fold.belief, seen, request.expected, fold.position)
        if new and request.guard is not None:
            request.guard(fold)
        self._touched = True
        encoded += map(stored_form, behind)
        try:
            made, said = [(encoded, recorded_at)], [*new.values(), *behind]
            (put,) = transaction.append_all(as_stored(self.cipher, fold, transaction, made, said))
        except (CallerError, ConflictError) as error:  # the time that it states
            if not request.salvage:
                raise
            early = recorded_at is not None and recorded_at <= last
            why = too_early(recorded_at or 0, head) if early else error
            refused.update(dict.fromkeys(new, why))
            self._leave(fold, transaction, audits, recorded_at)
            head = transaction.head
            return Committed(head.position, head.recorded_at, 0, repeated, refused)
        self._given_out(transaction, [put], [encoded])
        if gone := erased_by(fold.belief.graph, new.values()):
            transaction.erase(gone)
            self._erased = True
        fold.apply(put.first, put.recorded_at, [*new.values(), *behind], transaction.head.chain)
        return Committed(put.last, put.recorded_at, len(new), repeated, refused)


def _unknown(position: int) -> UnknownTarget:
    return UnknownTarget(f"the log has no position {position}")


def _event(row: Row) -> ev.Event:
    return codec.decode(row.type, row.head, row.data)


def _known(graph: Graph, ref: ev.Ref) -> bool:
    return graph.find(*ref) != NONE


_streams: weakref.WeakSet[Stream] = weakref.WeakSet()


def _renew_after_fork() -> None:
    for stream in tuple(_streams):
        stream._start_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
