"""Who answers the calls: a few threads, so that a slow call holds up no other; and a bound on how
many calls wait, so that a flood is told to wait and does no harm."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar, cast

__all__ = ["Busy", "Workers"]

T = TypeVar("T")

THREADS: Final = 8
WAITING: Final = 64  # calls at once, those that are being answered included


class Busy(Exception):
    """There are too many calls at once."""


class Workers:
    """Threads that answer calls. What is cancelled is not waited for: it is not begun, or else ends
    by itself, and counts until then."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self.waiting = waiting
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="doxa-mcp")
        self._counting = threading.Lock()
        self._at_once = 0

    async def run(self, work: Callable[[], T]) -> T:
        """What some work gives. Raises `Busy`, and what the work raises."""
        with self._counting:
            if self._at_once >= self.waiting:
                raise Busy
            self._at_once += 1
        left: list[None] = []  # filled when nobody waits any more

        def unless_left() -> T | None:
            return None if left else work()

        try:
            future = self._threads.submit(unless_left)
        except BaseException:
            self._done()
            raise
        future.add_done_callback(self._done)
        try:
            return cast(T, await asyncio.shield(asyncio.wrap_future(future)))
        except asyncio.CancelledError:
            left.append(None)
            raise

    def _done(self, _: Future[Any] | None = None) -> None:
        with self._counting:
            self._at_once -= 1

    def close(self) -> None:
        """Drops what has not begun, and waits for what has: a commit is not left half told."""
        self._threads.shutdown(wait=True, cancel_futures=True)
