"""The embedded recorder: the log in one SQLite file, under eventsourcing's DCB contract as well.

`SQLiteRecorder` is a `LogStore` that the library's own parts can drive: its event store,
application and subscriptions. What the library's contract covers raises errors that are the
library's and doxa's at once; all else raises doxa's alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, Protocol

from eventsourcing.dcb.api import (
    DCBAppendCondition,
    DCBEvent,
    DCBQuery,
    DCBQueryItem,
    DCBReadResponse,
    DCBRecorder,
    DCBSequencedEvent,
)
from eventsourcing.dcb.persistence import DCBInfrastructureFactory, DCBListenNotifySubscription
from eventsourcing.persistence import (
    IntegrityError,
    InternalError,
    OperationalError,
    ProgrammingError,
    TrackingRecorder,
)
from eventsourcing.utils import Environment, EnvType

from doxa.engine.errors import (
    CallerError,
    ConflictError,
    DamageError,
    DoxaError,
    RevisionConflict,
    StorageError,
)
from doxa.engine.log import SEPARATOR, NewEvent
from doxa.engine.sealing import MARK
from doxa.engine.store import LogStore
from doxa.engine.transaction import Transaction

__all__ = [
    "AppendRefused",
    "DamagedLog",
    "LogUnavailable",
    "SQLiteDCBFactory",
    "SQLiteRecorder",
    "SQLiteSubscription",
    "Transaction",
    "WrongUse",
]

PAGE: Final = 2_000  # events a read
PATIENCE: Final = 0.05  # seconds until a subscription looks whether it was stopped


class AppendRefused(ConflictError, IntegrityError):
    """The append condition failed, the key was used for other events, or the time is not later."""


class LogUnavailable(StorageError, OperationalError):
    """The disk refused: full, read-only, or locked. Nothing half-written remains."""


class DamagedLog(DamageError, InternalError):
    """What is stored can't be read, or is not what was written."""


class WrongUse(CallerError, ProgrammingError):
    """The request can't be carried out as it was put; nothing was written."""


_TWINS: Final[tuple[tuple[type[DoxaError], type[DoxaError]], ...]] = (
    (ConflictError, AppendRefused),
    (StorageError, LogUnavailable),
    (DamageError, DamagedLog),
    (CallerError, WrongUse),
)


def _raise_twin(error: DoxaError) -> NoReturn:
    """The same error, for those who know the library's errors only."""
    twin = next(twin for kind, twin in _TWINS if isinstance(error, kind))(*error.args)
    twin.code = error.code
    raise twin from error


class _Select(Protocol):
    def __call__(self, sql: str, parameters: Sequence[object] = (), /) -> list[Any]: ...


# ---------------------------------------------------------------- queries


def _item_sql(item: DCBQueryItem) -> tuple[str, list[object]]:
    """Positions of the events that an item matches: probes of the tag index, or a scan."""
    tags, types = list(dict.fromkeys(item.tags)), list(item.types)
    marks = ",".join("?" * len(types))
    if not tags:
        kind = f" AND type IN ({marks})" if types else ""
        return f"SELECT position FROM log e WHERE position > ? AND position <= ?{kind}", [*types]
    sql = "SELECT position FROM log_tag e WHERE position > ? AND position <= ? AND tag = ?"
    for _ in tags[1:]:
        sql += " AND EXISTS(SELECT 1 FROM log_tag t WHERE t.tag = ? AND t.position = e.position)"
    if types:
        sql += (
            " AND EXISTS(SELECT 1 FROM log l WHERE l.position = e.position"
            f" AND l.type IN ({marks}))"
        )
    return sql, [*tags, *types]


def _matching(select: _Select, query: DCBQuery, after: int, upto: int, limit: int) -> list[int]:
    """The first positions after one and up to another that match any item, in order."""
    found: set[int] = set()
    for item in query.items:
        sql, parameters = _item_sql(item)
        rows = select(f"{sql} ORDER BY position LIMIT ?", [after, upto, *parameters, limit])
        found.update(row[0] for row in rows)
    return sorted(found)[:limit]


def _events(
    select: _Select, query: DCBQuery | None, after: int, upto: int, limit: int
) -> list[DCBSequencedEvent]:
    """The first events after a position and up to another that match, at most a page of them."""
    columns = "SELECT position, type, data, tags FROM log WHERE position"
    if query is None or not query.items:
        rows = select(f"{columns} > ? AND position <= ? ORDER BY position LIMIT ?",
                      [after, upto, limit])  # fmt: skip
    else:
        positions = _matching(select, query, after, upto, limit)
        rows = []
        for start in range(0, len(positions), 500):
            part = positions[start : start + 500]
            marks = ",".join("?" * len(part))
            rows += select(f"{columns} IN ({marks}) ORDER BY position", part)
    return [
        DCBSequencedEvent(DCBEvent(kind, data or b"", tags.split(SEPARATOR) if tags else []), at)
        for at, kind, data, tags in rows
    ]


class _Response(DCBReadResponse):
    def __init__(self, events: Iterator[DCBSequencedEvent], head: int | None) -> None:
        self._events, self._head = events, head

    @property
    def head(self) -> int | None:
        return self._head

    def __next__(self) -> DCBSequencedEvent:
        try:
            return next(self._events)
        except DoxaError as error:
            _raise_twin(error)


# ---------------------------------------------------------------- the recorder


class SQLiteRecorder(LogStore, DCBRecorder):
    """The log in one SQLite file or in memory, for doxa and for eventsourcing's DCB parts."""

    def append(
        self,
        events: Sequence[DCBEvent],
        condition: DCBAppendCondition | None = None,
        *,
        key: str | None = None,
        recorded_at: int | None = None,
    ) -> int:
        """One commit; returns its last position.

        With a ``key`` that was used before for the same events, whatever the condition, nothing
        is appended and the old position is returned. Raises `AppendRefused` if an event after
        ``condition.after`` matches, or the key was used for other events, or ``recorded_at``
        (microseconds since 1970) is not later than the head's.
        """
        try:
            new = [NewEvent(e.type, b"", e.data, tuple(e.tags)) for e in events]
            with self.write() as transaction:
                if transaction.select(MARK):
                    raise CallerError(f"{self.path} is encrypted; only doxa.open can record in it")
                if key is not None and (known := transaction.repeated(new, key)) is not None:
                    return known.last
                if condition is not None:
                    self._judge(transaction, condition)
                return transaction.append(new, recorded_at, key).last
        except DoxaError as error:
            _raise_twin(error)

    @staticmethod
    def _judge(transaction: Transaction, condition: DCBAppendCondition) -> None:
        query, after = condition.fail_if_events_match, condition.after or 0
        end = transaction.head.position
        if not query.items:
            found = end if end > after else None
        else:
            first = _matching(transaction.select, query, after, end, 1)
            found = first[0] if first else None
        if found is not None:
            raise RevisionConflict(
                f"event {found} came after {after} and matches the condition {query}; "
                "read again, then repeat"
            )

    def read(
        self,
        query: DCBQuery | None = None,
        *,
        after: int | None = None,
        limit: int | None = None,
    ) -> DCBReadResponse:
        """The matching events after a position, in order; the data of an erased one is empty.

        Without ``limit`` they are fetched as they are consumed, up to the head at the call.
        """
        try:
            head = self.head().position
            if limit is None:
                return _Response(self._pages(query, after or 0, head), head or None)
            events: list[DCBSequencedEvent] = []
            last = after or 0
            while len(events) < limit:
                page = _events(
                    self._readers.select, query, last, head, min(PAGE, limit - len(events))
                )
                if not page:
                    break
                events += page
                last = page[-1].position
            return _Response(iter(events), events[-1].position if events else None)
        except DoxaError as error:
            _raise_twin(error)

    def _pages(self, query: DCBQuery | None, after: int, upto: int) -> Iterator[DCBSequencedEvent]:
        while page := _events(self._readers.select, query, after, upto, PAGE):
            yield from page
            after = page[-1].position

    def subscribe(
        self, query: DCBQuery | None = None, *, after: int | None = None
    ) -> SQLiteSubscription:
        """The matching events after a position, then new ones as they come, of all processes.

        It starts a thread: use it as a context manager.
        """
        return SQLiteSubscription(self, query, after)


class SQLiteSubscription(DCBListenNotifySubscription[SQLiteRecorder]):
    """Wakes at once for commits of its recorder, and within 20 ms for those of others."""

    def _loop_on_pull(self) -> None:
        recorder, seen = self._recorder, -1
        try:
            while not self._has_been_stopped:
                head = recorder.head().position
                if head > seen:
                    self._pull()
                    seen = head
                    self._last_position = max(self._last_position, head)  # none matched in between
                recorder.wait(seen, PATIENCE)
        except BaseException as error:
            self._thread_error = error
            self.stop()


# ---------------------------------------------------------------- for the library's applications


class SQLiteDCBFactory(DCBInfrastructureFactory[TrackingRecorder]):
    """Makes the recorder for the library's `DCBApplication`.

    ``PERSISTENCE_MODULE`` names this class (``doxa.engine.sqlite:SQLiteDCBFactory``),
    ``SQLITE_DBNAME`` the file or ``:memory:``, ``SQLITE_LOCK_TIMEOUT`` the seconds to wait for
    other writers.
    """

    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        self._recorders: list[SQLiteRecorder] = []

    def dcb_recorder(self) -> SQLiteRecorder:
        """A recorder, created on disk if need be."""
        name = self.env.get("SQLITE_DBNAME")
        if not name:
            raise WrongUse("SQLITE_DBNAME is not set; name the log's file, or :memory:")
        timeout = self.env.get("SQLITE_LOCK_TIMEOUT") or "30"
        try:
            recorder = SQLiteRecorder.open(
                None if name == ":memory:" else name, lock_timeout=float(timeout)
            )
        except ValueError:
            raise WrongUse(f"SQLITE_LOCK_TIMEOUT is {timeout!r}; give seconds") from None
        except DoxaError as error:
            _raise_twin(error)
        self._recorders.append(recorder)
        return recorder

    def close(self) -> None:
        """Closes the recorders made here."""
        while self._recorders:
            self._recorders.pop().close()
