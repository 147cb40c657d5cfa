"""The embedded log: one SQLite file that is appended to in commits, read in pages, and audited."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self

from doxa.engine import disk, times
from doxa.engine.audit import Audit
from doxa.engine.codec import ERASING
from doxa.engine.errors import DamageError
from doxa.engine.gaps import SCHEMA, gaps_of, record_of
from doxa.engine.holes import Holes, Moved
from doxa.engine.keyed import SECRET, Keyed
from doxa.engine.log import Gap, Head, Row, Verification, wal_reset_bug
from doxa.engine.readers import Readers
from doxa.engine.transaction import HEAD, ROWS, Transaction, as_row
from doxa.engine.writer import Writer

__all__ = ["LogStore", "wall_clock"]

PAGE: Final = 10_000  # rows a read
AT_ONCE: Final = 500  # positions that one statement names
FORK_PATIENCE: Final = 5.0  # seconds that a fork waits for what other threads do here
POLL: Final = 0.02  # seconds between looks for what other processes appended

_ROW: Final = "SELECT position, recorded_at, type, head, data, chain FROM log WHERE position = ?"
_SOME: Final = (
    "SELECT position, recorded_at, type, head, data, chain FROM log WHERE position IN ({})"
)
_TAGGED: Final = (
    "SELECT l.position, l.recorded_at, l.type, l.head, l.data, l.chain FROM log_tag t"
    " JOIN log l USING(position) WHERE t.tag = ? ORDER BY position"
)
_LAST_TAGGED: Final = "SELECT max(position) FROM log_tag WHERE tag = ?"
_LINK: Final = "SELECT recorded_at, chain FROM log WHERE position = ?"
_ENDS: Final = "SELECT position, recorded_at, chain, (SELECT max(position) FROM log) FROM head"
_STORED: Final = (
    "SELECT position, recorded_at, CAST(type AS BLOB), CAST(tags AS BLOB), head, data, salt,"
    " commitment, chain FROM log WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
)
_TAGS: Final = "SELECT count(*) FROM log_tag WHERE position <= ?"
_EXPECTED: Final = ",".join(f"'{statement}'" for statement in (*disk.SCHEMA, *SCHEMA))
# What the chain doesn't cover: a code, and a query for messages and positions ("ok" is none).
_CHECKS: Final = (
    ("page", "PRAGMA quick_check(20)"),
    (
        "tag_index",
        "SELECT 'the tag ' || t.tag || ' is not one of the event''s', t.position FROM log_tag t"
        " LEFT JOIN log l USING(position) WHERE l.position IS NULL"
        " OR instr(char(31) || l.tags || char(31), char(31) || t.tag || char(31)) = 0 LIMIT 20",
    ),
    (
        "key",
        "SELECT 'the key ' || key || ' names positions that are not there', first FROM log_key"
        " WHERE first < 1 OR last < first OR last > (SELECT position FROM head) LIMIT 20",
    ),
    (
        "stray",
        "SELECT 'an event stands before the first position: ' || position, position FROM log"
        " WHERE position < 1 LIMIT 20",
    ),
    (
        "schema",
        "SELECT 'the file holds ' || name || ', which is not of the log (' || type || ')', 0"
        f" FROM sqlite_master WHERE sql NOT IN ({_EXPECTED}) LIMIT 20",
    ),
)

_stores: weakref.WeakSet[LogStore] = weakref.WeakSet()


def wall_clock() -> int:
    """Microseconds since 1970, by the system's clock."""
    return time.time_ns() // 1000


class LogStore:
    """The log in one SQLite file, or in memory.

    Safe for threads and for several processes. Reading a file never waits for a writer; there is
    one writer at a time, served in turn. A child made by fork gets connections of its own.
    """

    def __init__(
        self,
        path: str | None,
        memory: sqlite3.Connection | None,
        clock: Callable[[], int],
        lock_timeout: float,
    ) -> None:
        self.path: Final = path
        self.ledger_id = ""
        self._memory, self._clock, self._timeout = memory, clock, lock_timeout
        self._keyed: Keyed | None = None
        self.opened: Callable[[Iterable[Row]], list[Row]] = list  # what is stored, as it is read
        self.derived: Callable[[bytes], bytes] = bytes  # a secret for digests, of the stored one
        self.holes: Final = Holes(lambda *query: self._readers.select(*query), lambda: self.keyed)
        self._closed = self._paused = False
        self._start()
        _stores.add(self)

    def _start(self) -> None:
        """What a forked child must not share with its parent."""
        guard = threading.RLock()
        self._seen: tuple[int, Head | None] = (1, None)  # the head, and the beacon's number before
        self._news = threading.Condition(threading.Lock())
        self._listening = 0  # threads in `wait`
        self._readers = Readers(self.path, self._timeout, guard, self._memory)
        self._writer = Writer(
            self.path, self._clock, self._timeout, guard, self._memory, self._announce
        )

    def _before_fork(self) -> None:
        self._paused = self._writer.pause(FORK_PATIENCE)
        self._readers.pause(FORK_PATIENCE)

    def _after_fork_in_parent(self) -> None:
        self._readers.resume()
        if self._paused:
            self._writer.resume()

    def _after_fork_in_child(self) -> None:
        self._readers.forget()
        if not self._paused:
            self._writer.forget()
        inode = self._writer.inode
        self._start()
        self._writer.inode = inode
        if self._closed:
            self._readers.close()
            self._writer.close()

    # ------------------------------------------------------------ opening and closing

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        *,
        create: bool = True,
        clock: Callable[[], int] = wall_clock,
        lock_timeout: float = 30.0,
    ) -> Self:
        """The log at ``path``, created if need be; ``None`` for one in memory.

        ``clock`` gives microseconds since 1970; ``lock_timeout`` is in seconds. A log in a folder
        that can't be written to can be read. Raises `NotALedger`, `NewerFormat`, `DamageError` or
        `StorageError`.
        """
        if path is None:
            return cls._open_memory(clock, lock_timeout)
        real = os.path.realpath(os.fspath(path))
        store = cls(real, None, clock, lock_timeout)
        try:
            store._open(real, create)
        except BaseException as error:
            store.close()
            if isinstance(error, OSError | sqlite3.Error):
                raise disk.refusal(error, real) from error
            raise
        return store

    @classmethod
    def _open_memory(cls, clock: Callable[[], int], lock_timeout: float) -> Self:
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        disk.create_schema(memory, clock())
        store = cls(None, memory, clock, lock_timeout)
        store.ledger_id = disk.identify(store._readers.select, disk.MEMORY)
        return store

    def _open(self, path: str, create: bool) -> None:
        if disk.unfinished(path):
            if not create:
                raise disk.missing(path)
            self._writer.create()
        self._writer.inode = os.stat(path).st_ino
        self.ledger_id = disk.identify(self._readers.select, path)

    def close(self) -> None:
        """Closes all connections; a write under way is waited for. Harmless if repeated."""
        self._writer.close()
        self._closed = True
        self._seen = 1, None
        self._readers.close()
        self._announce()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def sqlite_version(self) -> str:
        """The version of SQLite in use."""
        return sqlite3.sqlite_version

    @property
    def wal_reset_bug(self) -> bool:
        """Whether this SQLite has the WAL-reset bug; under the lock file it can't do harm."""
        return wal_reset_bug(sqlite3.sqlite_version_info[:3])

    # ------------------------------------------------------------ reading

    def head(self) -> Head:
        """Where the log ends now, commits of other processes included. O(1)."""
        number, found = self._seen
        if found is not None and self._writer.beacon.unchanged_since(number):
            return found
        number = self._writer.beacon.now()
        rows = self._readers.select(HEAD)
        if not rows:
            raise disk.headless(self.path)
        found = Head(*rows[0])
        self._seen = number, found
        return found

    def row(self, position: int) -> Row | None:
        """The event at a position, if there is one. O(log n)."""
        rows = self._readers.select(_ROW, (position,))
        return self.opened([as_row(rows[0])])[0] if rows else None

    def rows(self, positions: Sequence[int]) -> Iterator[Row]:
        """The events at those of the positions that there are. O(positions · log n)."""
        for first in range(0, len(positions), AT_ONCE):
            some = positions[first : first + AT_ONCE]
            sql = _SOME.format(",".join("?" * len(some)))
            yield from self.opened(map(as_row, self._readers.select(sql, some)))

    def tagged(self, tag: str) -> list[Row]:
        """The events with a tag, in order. O(those · log n)."""
        return self.opened(map(as_row, self._readers.select(_TAGGED, (tag,))))

    def last_tagged(self, tag: str) -> int:
        """The position of the last event with a tag; 0 where there is none. O(log n)."""
        found: int | None = self._readers.select(_LAST_TAGGED, (tag,))[0][0]
        return found or 0

    def link_at(self, position: int) -> tuple[int, bytes] | None:
        """When the event at a position was recorded, and its link in the chain. O(log n)."""
        rows = self._readers.select(_LINK, (position,))
        return (rows[0][0], rows[0][1]) if rows else None

    def read_rows(
        self, after: int = 0, upto: int | None = None, page: int = PAGE
    ) -> Iterator[list[Row]]:
        """The events after a position and up to another (default: the head now), in pages.

        Each page is read in a transaction of its own, so that nothing keeps the WAL from starting
        anew. What was compacted comes as rows that say nothing. Raises `DamageError` where
        positions are missing, and `Moved` where they were compacted meanwhile.
        """
        compacted = self.holes.at
        end = self.head().position
        end = end if upto is None else min(upto, end)
        while after < end:
            last = min(after + page, end)
            rows = self.opened(map(as_row, self._readers.select(ROWS, (last, after, last, page))))
            if len(rows) < last - after:
                rows = self.holes.filled(rows, after, last)
            if len(rows) < last - after:
                first = next((n for n, r in enumerate(rows, after + 1) if r.position != n), None)
                raise DamageError(
                    f"{self.path or disk.MEMORY} should go on to {end}, but event "
                    f"{first or after + len(rows) + 1} is missing; run verify, and restore the "
                    "last backup"
                )
            yield rows
            after = last
        if self.holes.at != compacted:
            raise Moved("the log was compacted while it was read; read it again")

    def clean_link_at(self, position: int) -> tuple[int, bytes] | None:
        """`link_at`, or ``None`` where something was erased or compacted after that position:
        whatever was written down of the log up to there may hold what is gone, and is of no use."""
        last = max(self.last_tagged(ERASING), self.holes.at)
        return self.link_at(position) if position >= last else None

    def scrub(self) -> None:
        """Sees that no bytes of what was erased are left in the log's files. Raises `StorageError`
        while a reader keeps old pages: repeat it then."""
        self._writer.empty_wal()

    @property
    def scrubbed(self) -> int:
        """The position of the last erasure after which all that is kept was cleared of it."""
        rows = self._readers.select("SELECT value FROM meta WHERE key='scrubbed'")
        return int(rows[0][0]) if rows else 0

    def note_scrubbed(self, position: int) -> None:
        """Notes that all that is kept was cleared after the erasure at a position."""
        with self.write() as transaction:
            transaction.note_scrubbed(position)

    def wait(self, after: int, timeout: float) -> bool:
        """Whether the log went past ``after`` within ``timeout`` seconds.

        Commits made through this object are seen at once, those of others within 20 ms.
        """
        deadline = time.monotonic() + timeout
        with self._news:
            self._listening += 1
            try:
                while not self._closed:
                    if self.head().position > after:
                        return True
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    self._news.wait(min(left, POLL))
            finally:
                self._listening -= 1
        return False

    def _announce(self) -> None:
        if self._listening:  # whoever begins to listen after this look finds the new head
            with self._news:
                self._news.notify_all()

    @property
    def keyed(self) -> Keyed:
        """What makes digests with the ledger's secret. A ledger of an earlier doxa, which has
        none, is given one, for which it has to be writable."""
        found = self.keyed_if_made()
        if found is None:
            with self.write() as transaction:
                transaction.make_secret(os.urandom(SECRET))
            found = self.keyed_if_made()
            assert found is not None, "a secret was just made"
        return found

    def keyed_if_made(self) -> Keyed | None:
        """`keyed`, or nothing where no digest was ever made with a secret of this ledger."""
        if self._keyed is None:
            rows = self._readers.select("SELECT value FROM meta WHERE key='secret'")
            if not rows:
                return None
            try:
                stored = bytes.fromhex(rows[0][0])
                self._keyed = Keyed(stored, self.derived(stored))
            except (AssertionError, TypeError, ValueError):
                raise DamageError(
                    f"{self.path or disk.MEMORY} has a secret that can't be one; restore the last "
                    "backup"
                ) from None
        return self._keyed

    def select(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows of a query, in a read transaction of its own."""
        return self._readers.select(sql, parameters)

    def lent(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection to read several things with, in a transaction of the caller's."""
        return self._readers.lent()

    @property
    def format(self) -> int:
        """The format of the file."""
        version: int = self._readers.select("PRAGMA user_version")[0][0]
        return version

    # ------------------------------------------------------------ writing

    def moment(self, head: Head) -> int:
        """When a commit after a head would be recorded that states no time of its own."""
        return max(self._clock(), head.recorded_at + 1 if head.position else times.FIRST)

    def write(self) -> Transaction:
        """A transaction, to be used with ``with``: flushed once at its end, rolled back on error.

        Waits its turn, up to the lock timeout. Raises `StorageError` if the disk refuses, and
        `DamageError` if the log doesn't end where its head row says.
        """
        return Transaction(self._writer)

    def erase(self, positions: Iterable[int]) -> None:
        """Removes the data and salt of events for good; their headers and commitments stay.

        Done only when the old bytes are gone from the log and its WAL. Raises `UnknownTarget` for
        a position that isn't there, `StorageError` while a reader keeps old pages: repeat it then.
        """
        with self.write() as transaction:
            transaction.erase(sorted(set(positions)))
        self._writer.empty_wal()

    def shrink(self) -> None:
        """Gives the pages back that nothing uses. Raises `StorageError` while a reader keeps old
        ones, or where the disk has no room for a second copy: repeat it then."""
        self._writer.vacuum()
        self._writer.empty_wal()

    # ------------------------------------------------------------ audit

    def verify(self) -> Verification:
        """Recomputes the chain over the whole log, and checks the file. O(bytes).

        What was tampered with or damaged is reported, never raised.
        """
        head, end, problem = self._ends()
        audit = Audit(head, self._gaps())
        if problem:
            audit.report(0, *problem)
        if astray := self._writer.astray():
            audit.report(0, "file", astray)
        complete = True
        try:
            while audit.position < end:
                rows = self._readers.select(_STORED, (audit.position, end, PAGE))
                if not rows:
                    break
                audit.rows(rows)
            audit.compare_gaps(record_of(self._readers.select))
            indexed = self._readers.select(_TAGS, (end,))[0][0]
            if indexed != audit.tags:
                audit.report(
                    0, "tag_index", f"the events have {audit.tags} tags, their index {indexed}"
                )
        except DamageError as error:
            complete = False
            audit.report(audit.position + 1, "page", f"from {audit.position + 1} on: {error}")
        self._check_tables(audit)
        return audit.finish(complete=complete)

    def _ends(self) -> tuple[Head | None, int, tuple[str, str] | None]:
        """The head row if it can be read, the last position, and what is wrong with the row."""
        try:
            rows = self._readers.select(_ENDS)
            end = (
                rows[0][3] if rows else self._readers.select("SELECT max(position) FROM log")[0][0]
            )
        except DamageError as error:
            return None, 0, ("page", str(error))
        head = Head(*rows[0][:3]) if rows else None
        if head is None or list(map(type, head)) != [int, int, bytes]:
            return None, end or 0, ("head", "the head row is gone, or holds what can't be one")
        return head, end or 0, None

    def _gaps(self) -> list[Gap]:
        """The compacted stretches, as far as they can be read."""
        with contextlib.suppress(DamageError, TypeError):
            return gaps_of(self._readers.select)
        return []

    def _check_tables(self, audit: Audit) -> None:
        for code, sql in _CHECKS:
            try:
                for text, *where in self._readers.select(sql):
                    if text != "ok":
                        audit.report(where[0] if where else 0, code, str(text))
            except DamageError as error:
                audit.report(0, "page", str(error))


# SQLite must not be carried over a fork, not even closed: all connections are closed before one.
_forking: list[LogStore] = []


def _before_fork() -> None:
    _forking[:] = _stores
    for store in _forking:
        store._before_fork()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop()._after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _forking:
        _forking.pop()._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
