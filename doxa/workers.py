"""Threads that run calls up to a deadline: one that is late is left behind, and its answer is
thrown away."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

__all__ = ["Job", "Workers", "await_", "wait"]

T = TypeVar("T")
IDLE: Final = 10.0  # seconds after which a thread that has nothing to do ends
MOST_LOST: Final = 4  # times as many threads as may be late may be written off

_all: weakref.WeakSet[Workers] = weakref.WeakSet()


class Job(Generic[T]):
    """One call, its future, and whether it has begun what can't be taken back."""

    def __init__(self, call: Callable[[Job[T]], T]) -> None:
        self.future: Future[T] = Future()
        self.future.set_running_or_notify_cancel()
        self._call, self._context = call, contextvars.copy_context()
        self._lock = threading.Lock()
        self.begun = self._left = False

    def begin(self) -> bool:
        """Whether somebody still waits; asked before what can't be taken back."""
        with self._lock:
            self.begun = not self._left
            return self.begun

    def leave(self) -> bool:
        """Nobody waits any more; whether the call had begun what can't be taken back."""
        with self._lock:
            self._left = True
            return self.begun

    def run(self) -> None:
        try:
            found = self._context.run(self._call, self)
        except BaseException as error:  # whatever it is, who waits is told
            self.future.set_exception(error)
        else:
            self.future.set_result(found)


class Workers:
    """Runs jobs in daemon threads, which keep no process from ending.

    While ``most`` of them are late no other is started: the circuit is open. Every ``retry``
    seconds one is let through to see; one that comes back in time closes the circuit. Those that
    were late then are written off, four times ``most`` of them at the utmost.
    """

    def __init__(self, most: int, retry: float) -> None:
        self._most, self._retry = most, retry
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job[Any] | None]] = []
        self._ended = False
        self._late: set[Job[Any]] = set()
        self._lost: set[Job[Any]] = set()  # late still, after the circuit was closed again
        self._tried = float("-inf")

    def start(self, job: Job[T], *, always: bool = False) -> bool:
        """Starts a job; False, and nothing done, while the circuit is open (unless ``always``), or
        where no thread can be had."""
        with self._lock:
            if not always and not self._closed():
                return False
            queue = self._idle.pop() if self._idle else None
        if queue is None:
            queue = SimpleQueue()
            work = threading.Thread(
                target=self._work, args=(queue,), name="doxa-guard", daemon=True
            )
            try:
                work.start()
            except RuntimeError:  # the process has as many as it may have, or is ending
                return False
        queue.put(job)
        return True

    def _closed(self) -> bool:
        """Whether the circuit is closed, or one more may try whether it is."""
        if len(self._late) + len(self._lost) >= self._most * (1 + MOST_LOST):
            return False
        if len(self._late) >= self._most:
            now = time.monotonic()
            if now - self._tried < self._retry:
                return False
            self._tried = now
        return True

    def late(self, job: Job[T]) -> bool:
        """Notes that a job's deadline has passed; whether it had begun what can't be taken back."""
        begun = job.leave()
        with self._lock:
            if not job.future.done():
                self._late.add(job)
                self._tried = time.monotonic()
        return begun

    def in_time(self) -> None:
        """Notes that a job came back before its deadline."""
        if len(self._late) >= self._most:
            with self._lock:
                self._lost |= self._late
                self._late.clear()

    def end(self) -> None:
        """Has every thread end when it has nothing to do."""
        with self._lock:
            self._ended = True
            idle, self._idle = self._idle, []
        for queue in idle:
            queue.put(None)

    def _work(self, queue: SimpleQueue[Job[Any] | None]) -> None:
        while (job := self._next(queue)) is not None:
            job.run()
            with self._lock:
                self._late.discard(job)
                self._lost.discard(job)
                if self._ended:
                    return
                self._idle.append(queue)
            del job  # what it holds is not kept until the next one

    def _next(self, queue: SimpleQueue[Job[Any] | None]) -> Job[Any] | None:
        """What there is to do; nothing, where there was nothing for long."""
        try:
            return queue.get(timeout=IDLE)
        except Empty:
            with self._lock:
                if queue in self._idle:
                    self._idle.remove(queue)
                    return None
            return queue.get()  # somebody chose this thread just now


def wait(job: Job[Any], timeout: float) -> bool:
    """Waits for a job; whether it is done."""
    with suppress(TimeoutError):
        job.future.exception(timeout)
    return job.future.done()


async def await_(job: Job[Any], timeout: float) -> bool:
    """The same for asynchronous code; where it is cancelled, the job goes on."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    def told(future: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(end)

    job.future.add_done_callback(
        told
    )  # of what was raised the loop is not told: some it can't hold
    await asyncio.wait({over}, timeout=timeout)
    return job.future.done()


def _renew_after_fork() -> None:
    """In the child, which has none of the threads."""
    for workers in tuple(_all):
        workers._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
