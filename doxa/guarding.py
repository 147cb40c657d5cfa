"""A ledger for hosts that must go on: locked, missing, slow or refusing, the host gets no context,
marked as that, and never an exception or a wait that is not its own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar

from doxa.arguments import Instant, check_text, checked_seconds, fresh
from doxa.contexts import Fallback, Fits, any_size, assembling, fits_in, instead, recalling, warm
from doxa.degrading import Context, Trouble, Written, is_trouble, said, trouble_of
from doxa.engine.errors import CallerError, Compacted, ConflictError, Erased, StorageError
from doxa.holding import Failed, Holder
from doxa.ledger import Ledger
from doxa.workers import Job, Workers, await_, wait

if TYPE_CHECKING:
    from doxa.engine.embedding import Embedder

__all__ = ["Guarded", "guard"]

T = TypeVar("T")
Call = Callable[[Ledger, Job[T]], T]

_STUCK: Final = (
    "earlier calls are still running, or no thread can be had; it is tried again now and then"
)
_EVENTS: Final = {
    "claim": "claim",
    "support": "support",
    "withdraw": "withdrawal",
    "correct": "correction",
    "cite": "citation",
    "summarize": "summary",
}


class Guarded:
    """A ledger whose troubles are not its host's; safe for threads.

    ``ledger`` is a folder, a function that opens a ledger, or one that is open; it is opened at
    the first call, not here, and made only with ``create``. A context call takes at most
    ``timeout`` seconds, a write ``write_timeout``. ``fallback`` is a text, or a function of the
    question, for when the ledger gives none: it is marked in its first line. ``retry`` is after
    how many seconds an opening that failed is tried again; while ``most_late`` calls are still
    running no other is begun, but for one every ``retry`` seconds. Raises `CallerError`.
    """

    def __init__(
        self,
        ledger: str | os.PathLike[str] | Ledger | Callable[[], Ledger],
        *,
        timeout: float = 0.5,
        write_timeout: float = 2.0,
        fallback: Fallback | None = None,
        create: bool = False,
        embedder: Embedder | None = None,
        keys: str | os.PathLike[str] | None = None,
        retry: float = 1.0,
        most_late: int = 4,
    ) -> None:
        if fallback is not None and not isinstance(fallback, str) and not callable(fallback):
            raise CallerError(f"fallback is {fallback!r:.80}; give a text or a function")
        if type(most_late) is not int or most_late < 1:
            raise CallerError(f"most_late is {most_late!r:.80}; give a whole number, 1 or more")
        self.timeout = checked_seconds(timeout, "timeout")
        self.write_timeout = checked_seconds(write_timeout, "write_timeout")
        self.fallback = fallback
        pause = checked_seconds(retry, "retry")
        # a write that waits for the lock is to say so itself, before its deadline
        options = {"embedder": embedder, "keys": keys, "lock_timeout": 0.8 * self.write_timeout}
        self._holder = Holder(ledger, create, options, pause)
        self._workers = Workers(most_late, pause)
        self._closing: Job[None] | None = None

    def __repr__(self) -> str:
        return f"Guarded({self._holder.name})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    # ------------------------------------------------------------ context

    def assemble(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        **options: Any,
    ) -> Context:
        """A block of text for a question, or for candidates, as `Ledger.assemble_fresh` makes it,
        or none, marked as degraded.

        ``valid_at`` is now where it is left out; with ``known_at`` it is a historical view.
        ``options`` are those of `assemble_fresh`. Raises `CallerError` for a mistake in them.
        """
        check_text(query, "query")
        fits = fits_in(budget, count)
        ask = assembling(query, valid_at, known_at, options | {"budget": budget, "count": count})
        done = self._run(lambda ledger, job: ask(ledger), self.timeout)
        return self._context(done, query, fits)

    async def aassemble(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        **options: Any,
    ) -> Context:
        """`assemble` for asynchronous code, with the same result; it may be cancelled."""
        check_text(query, "query")
        fits = fits_in(budget, count)
        ask = assembling(query, valid_at, known_at, options | {"budget": budget, "count": count})
        done = await self._arun(lambda ledger, job: ask(ledger), self.timeout)
        return self._context(done, query, fits)

    def recall(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> Context:
        """What a question finds, as `Ledger.recall` gives it (``answer``) and says it (``text``),
        or none, marked as degraded. ``options`` are those of `Ledger.view` and `recall`."""
        check_text(query, "query")
        ask = recalling(query, valid_at, known_at, options)
        done = self._run(lambda ledger, job: ask(ledger), self.timeout)
        return self._context(done, query, any_size)

    async def arecall(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> Context:
        """`recall` for asynchronous code, with the same result; it may be cancelled."""
        check_text(query, "query")
        ask = recalling(query, valid_at, known_at, options)
        done = await self._arun(lambda ledger, job: ask(ledger), self.timeout)
        return self._context(done, query, any_size)

    # ------------------------------------------------------------ writes

    def _write(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Written:
        id, call = self._writing(name, arguments, options)
        return self._written(id, self._run(call, self.write_timeout))

    async def _awrite(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Written:
        id, call = self._writing(name, arguments, options)
        return self._written(id, await self._arun(call, self.write_timeout))

    def claim(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.claim`, and what became of it."""
        return self._write("claim", arguments, options)

    def support(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.support`, and what became of it."""
        return self._write("support", arguments, options)

    def withdraw(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.withdraw`, and what became of it."""
        return self._write("withdraw", arguments, options)

    def correct(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.correct`, and what became of it."""
        return self._write("correct", arguments, options)

    def cite(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.cite`, and what became of it."""
        return self._write("cite", arguments, options)

    def summarize(self, *arguments: Any, **options: Any) -> Written:
        """`Ledger.summarize`, and what became of it."""
        return self._write("summarize", arguments, options)

    async def aclaim(self, *arguments: Any, **options: Any) -> Written:
        """`claim` for asynchronous code."""
        return await self._awrite("claim", arguments, options)

    async def asupport(self, *arguments: Any, **options: Any) -> Written:
        """`support` for asynchronous code."""
        return await self._awrite("support", arguments, options)

    async def awithdraw(self, *arguments: Any, **options: Any) -> Written:
        """`withdraw` for asynchronous code."""
        return await self._awrite("withdraw", arguments, options)

    async def acorrect(self, *arguments: Any, **options: Any) -> Written:
        """`correct` for asynchronous code."""
        return await self._awrite("correct", arguments, options)

    async def acite(self, *arguments: Any, **options: Any) -> Written:
        """`cite` for asynchronous code."""
        return await self._awrite("cite", arguments, options)

    async def asummarize(self, *arguments: Any, **options: Any) -> Written:
        """`summarize` for asynchronous code."""
        return await self._awrite("summarize", arguments, options)

    # ------------------------------------------------------------ opening and closing

    def ready(self, timeout: float | None = None) -> bool:
        """Opens the ledger and its index of words, if they are not open, and waits for it
        (``timeout``; left out, that of a context call): whether it can be asked."""
        done = self._run(lambda ledger, job: warm(ledger), self._seconds(timeout))
        return not done.missed and done.error() is None

    async def aready(self, timeout: float | None = None) -> bool:
        """`ready` for asynchronous code."""
        done = await self._arun(lambda ledger, job: warm(ledger), self._seconds(timeout))
        return not done.missed and done.error() is None

    def close(self) -> None:
        """Closes what it opened; further calls raise `CallerError`. What is still running goes on
        behind, and is thrown away."""
        if (closing := self._begin_closing()) is not None:
            wait(closing, self.write_timeout)

    async def aclose(self) -> None:
        """`close` for asynchronous code."""
        if (closing := self._begin_closing()) is not None:
            await await_(closing, self.write_timeout)

    def _begin_closing(self) -> Job[None] | None:
        """Begins to close, once, whatever else is late."""
        self._holder.closed = True
        if self._closing is None:
            closing: Job[None] = Job(lambda job: self._holder.drop())
            self._closing = closing if self._workers.start(closing, always=True) else None
            self._workers.end()
        return self._closing

    def _seconds(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else checked_seconds(timeout, "timeout")

    # ------------------------------------------------------------ running

    def _job(self, call: Call[T]) -> Job[T]:
        if self._holder.closed:
            raise CallerError(f"{self!r} is closed; make another guard")

        def run(job: Job[T]) -> T:
            with self._holder.opened() as ledger:
                return call(ledger, job)

        return Job(run)

    def _run(self, call: Call[T], timeout: float) -> _Done[T]:
        job = self._job(call)
        if not self._workers.start(job):
            return _Done(job, timeout, "stuck")
        in_time = False
        try:
            in_time = wait(job, timeout)
        finally:  # nobody waits any more where it was interrupted, either
            done = self._done(job, timeout, in_time)
        return done

    async def _arun(self, call: Call[T], timeout: float) -> _Done[T]:
        job = self._job(call)
        if not self._workers.start(job):
            return _Done(job, timeout, "stuck")
        in_time = False
        try:
            in_time = await await_(job, timeout)
        finally:
            done = self._done(job, timeout, in_time)
        return done

    def _done(self, job: Job[T], timeout: float, in_time: bool) -> _Done[T]:
        if in_time:
            self._workers.in_time()
            return _Done(job, timeout, "")
        return _Done(job, timeout, "begun" if self._workers.late(job) else "late")

    def _context(self, done: _Done[Context], query: str, fits: Fits) -> Context:
        error = done.error()
        if done.missed:
            found = Context("", "none", True, self._missed(done), self._late(done))
        elif error is not None:
            self._holder.failed(error)
            word = done.word or trouble_of(error)
            found = Context("", "none", True, word, said(error), error=error)
        else:
            found = done.job.future.result()
            if not found.degraded:
                return found
        return instead(found, query, self.fallback, fits)

    def _missed(self, done: _Done[Any]) -> Trouble:
        if done.missed == "stuck":
            return Trouble.STUCK
        return Trouble.SLOW if self._holder.is_open else Trouble.NOT_READY

    @staticmethod
    def _late(done: _Done[Any]) -> str:
        if done.missed == "stuck":
            return _STUCK
        return f"it was not there within {done.timeout:g} s; a late answer is thrown away"

    def _writing(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[str, Call[Any]]:
        """A write with the id that it will have, whatever becomes of it."""
        method = getattr(Ledger, name)
        inspect.signature(method).bind(None, *arguments, **options)  # a mistake is the caller's
        id = options.get("id")
        if id is None:
            id = fresh(_EVENTS[name])
        given = {**options, "id": id}

        def write(ledger: Ledger, job: Job[Any]) -> Any:
            if not job.begin():
                raise StorageError("nobody waits for it any more: nothing was written")
            return method(ledger, *arguments, **given)

        return str(id), write

    def _written(self, id: str, done: _Done[Any]) -> Written:
        error = done.error()
        again = f"to be sure, repeat it with the id {id}"
        if done.missed == "begun":
            detail = f"it was not done within {done.timeout:g} s and may be recorded yet; {again}"
            return Written(id, "unknown", Trouble.SLOW, detail)
        if done.missed:
            detail = f"nothing was recorded: {self._late(done)}"
            return Written(id, "failed", self._missed(done), detail)
        if error is None:
            return Written(id, "recorded", value=done.job.future.result())
        if isinstance(error, ConflictError | Erased | Compacted):
            return Written(id, "refused", error.code, said(error), error=error)
        self._holder.failed(error, writing=True)
        word = done.word or trouble_of(error)
        certain = isinstance(error, StorageError) and not error.uncertain
        if certain or not done.job.begun:
            return Written(id, "failed", word, said(error), error=error)
        return Written(
            id, "unknown", word, f"{said(error)}; it may be recorded; {again}", error=error
        )


class _Done(Generic[T]):
    """A job that is over for whoever waited: in time, or ``missed``: it was not started (stuck),
    not done (late), or not done after it had begun what can't be taken back (begun)."""

    def __init__(self, job: Job[T], timeout: float, missed: str) -> None:
        self.job, self.timeout, self.missed = job, timeout, missed
        self.word: Trouble | None = None

    def error(self) -> BaseException | None:
        """What the ledger raised. Raises what is the caller's own mistake."""
        raised = None if self.missed else self.job.future.exception()
        if isinstance(raised, Failed):
            if raised.word is None:
                raise raised.error
            self.word = raised.word
            return raised.error
        if raised is not None and not is_trouble(raised):
            raise raised
        return raised


guard = Guarded
"""The same under the name that a call has."""
