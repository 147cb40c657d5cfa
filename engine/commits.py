"""Group commit: whoever comes while a commit is under way shares the next one."""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from doxa.engine.errors import StorageError

__all__ = ["CommitQueue"]

Q = TypeVar("Q")
A = TypeVar("A")

_queues: weakref.WeakSet[CommitQueue[object, object]] = weakref.WeakSet()


class _Ticket(Generic[Q, A]):
    """One waiting request. Its thread sleeps on ``wake`` until it is answered, or has to lead."""

    __slots__ = ("answer", "done", "error", "leads", "request", "wake")

    answer: A

    def __init__(self, request: Q) -> None:
        self.request = request
        self.error: BaseException | None = None
        self.done = self.leads = False
        self.wake = threading.Lock()  # held until then
        self.wake.acquire()


class CommitQueue(Generic[Q, A]):
    """Requests of many threads, committed together.

    ``commit`` takes requests in the order they came, makes all that it accepts durable at once,
    and returns one answer, or one exception, for each. It runs in the thread of whoever came
    first, with no hand-over where there is only one thread, and never in two threads at a time.

    >>> queue = CommitQueue(commit=lambda requests: [r * 2 for r in requests])
    >>> queue.submit(21)
    42
    """

    LARGEST: Final = 500  # requests a commit

    def __init__(self, commit: Callable[[list[Q]], Sequence[A | Exception]]) -> None:
        self._commit = commit
        self._start()
        _queues.add(self)  # type: ignore[arg-type]  # the set only renews them

    def _start(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[_Ticket[Q, A]] = deque()
        self._led = False

    def submit(self, request: Q) -> A:
        """The answer to one request, once it is durable. Raises what ``commit`` answered or raised.

        `StorageError` if the thread that was committing for this one was interrupted: then it is
        open whether the request was committed.
        """
        alone = False
        try:
            with self._mutex:
                if not self._led:
                    self._led = alone = True
            if alone:
                answer = self._answers([request])[0]
        finally:
            if alone:
                with self._mutex:
                    self._led = False
                    if self._waiting:
                        self._pass_on()
        if not alone:
            return self._share(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answers(self, requests: list[Q]) -> Sequence[A | Exception]:
        answers = self._commit(requests)
        assert len(answers) == len(requests), f"{len(answers)} answers to {len(requests)} requests"
        return answers

    def _share(self, request: Q) -> A:
        """The answer where another thread may be committing: whoever is first leads the others."""
        ticket: _Ticket[Q, A] = _Ticket(request)
        try:
            with self._mutex:
                self._waiting.append(ticket)
                if not self._led:
                    self._led = ticket.leads = True
            if not ticket.leads:
                ticket.wake.acquire()
            if not ticket.done:
                self._lead()
        finally:
            self._leave(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def _lead(self) -> None:
        """Commits for the first in the queue, this thread's own ticket among them."""
        group: list[_Ticket[Q, A]] = []
        try:
            with self._mutex:
                while self._waiting and len(group) < self.LARGEST:
                    group.append(self._waiting.popleft())
            answers = self._answers([ticket.request for ticket in group])
            for ticket, answer in zip(group, answers, strict=True):
                if isinstance(answer, Exception):
                    ticket.error = answer
                else:
                    ticket.answer = answer
                ticket.done = True
        except Exception as error:
            for ticket in group:
                ticket.error = ticket.error or _own(error)
        finally:
            for ticket in group:
                if not ticket.done and ticket.error is None:
                    ticket.error = StorageError.told(
                        "the thread that was committing this was interrupted; it may be in the "
                        "log or not: look, or append the same again",
                        uncertain=True,
                    )
                ticket.done = True
                ticket.wake.release()

    def _leave(self, ticket: _Ticket[Q, A]) -> None:
        """Whatever happened: passes the lead on, and leaves no request of a thread that is gone."""
        with self._mutex:
            if not ticket.done and ticket in self._waiting:
                self._waiting.remove(ticket)
            if ticket.leads:
                ticket.leads = False
                self._pass_on()

    def _pass_on(self) -> None:
        self._led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].wake.release()


def _own(error: Exception) -> Exception:
    """A copy for each thread that raises it: a traceback belongs to one thread."""
    try:
        twin = copy.copy(error)
    except Exception:
        return error
    twin.__cause__ = error
    return twin


def _renew_after_fork() -> None:
    for queue in tuple(_queues):
        queue._start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
