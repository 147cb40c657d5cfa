"""The embedded log: one SQLite file that is appended to in commits, read in pages, and audited."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from types import TracebackType
from typing import Any, Final, Self, cast

from doxa.engine import disk, times
from doxa.engine.audit import Audit
from doxa.engine.errors import (
    CallerError,
    ClockError,
    DamageError,
    DoxaError,
    DuplicateId,
    InvalidEvent,
    StorageError,
    UnknownTarget,
)
from doxa.engine.log import (
    DIGEST,
    SALT,
    SEPARATOR,
    Appended,
    Head,
    NewEvent,
    Row,
    Verification,
    check_event,
    commitment,
    stated_instant,
    wal_reset_bug,
)

__all__ = ["LogStore", "Transaction"]

PAGE: Final = 10_000  # rows a read
POLL: Final = 0.02  # seconds between looks for what other processes appended

_HEAD = "SELECT position, recorded_at, chain FROM head"
_ROWS = (
    "SELECT position, recorded_at, type, head, data FROM log"
    " WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
)
_ROW = "SELECT position, recorded_at, type, head, data FROM log WHERE position = ?"
_END = "SELECT position, recorded_at, chain FROM log ORDER BY position DESC LIMIT 1"
_STORED = (
    "SELECT position, recorded_at, CAST(type AS BLOB), CAST(tags AS BLOB), head, data, salt,"
    " commitment, chain FROM log WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
)
_KEYED = (
    "SELECT type, head, data, tags, recorded_at FROM log"
    " WHERE position BETWEEN ? AND ? ORDER BY position"
)
_INSERT = "INSERT INTO log VALUES(?,?,?,?,?,?,?,NULL,?)"
_ERASE = "UPDATE log SET data=NULL, salt=NULL, commitment=? WHERE position=?"
_KEY = "INSERT INTO log_key VALUES(?,?,?)"
_TAG = "INSERT OR IGNORE INTO log_tag VALUES(?,?)"
_SET_HEAD = "UPDATE head SET position=?, recorded_at=?, chain=?"

_ENDS = "SELECT position, recorded_at, chain, (SELECT max(position) FROM log) FROM head"
_CHECKS = (
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
)

_row = cast("Callable[[Any], Row]", partial(tuple.__new__, Row))
_stores: weakref.WeakSet[LogStore] = weakref.WeakSet()


def wall_clock() -> int:
    """Microseconds since 1970, by the system's clock."""
    return time.time_ns() // 1000


class LogStore:
    """The log in one SQLite file, or in memory.

    Safe for threads and for several processes. Reading never waits for a writer; one writer at a
    time, served in turn. A child made by fork gets connections of its own.
    """

    def __init__(
        self, path: str | None, *, clock: Callable[[], int], lock_timeout: float, mode: str
    ) -> None:
        self.path: Final = path
        self.ledger_id = ""
        self._clock, self._timeout, self._mode = clock, lock_timeout, mode
        self._closed = False
        self._inode = 0
        self._known: Head | None = None  # a head known to agree with the log's last row
        self._memory: sqlite3.Connection | None = None
        self._start_afresh()
        _stores.add(self)

    def _start_afresh(self) -> None:
        """What a new process must not share with the one it was forked from."""
        self._generation = object()
        self._writing = threading.RLock()
        self._in_transaction = False
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._frozen_as: tuple[int, int] | None = None
        self._lock = disk.LockFile(self.path + ".lock") if self.path else None
        self._wal = disk.Wal(self.path) if self.path else None
        self._news = threading.Condition(threading.Lock())

    def _after_fork(self) -> None:
        for connection in (*self._readers, self._writer):
            if connection is not None:
                disk.abandon(connection)
        if self._lock is not None and self._wal is not None:
            self._lock.forget()
            self._wal.close()
        self._start_afresh()

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

        ``clock`` gives microseconds since 1970; ``lock_timeout`` is in seconds. Raises `NotALedger`,
        `NewerFormat`, `DamageError`, or `StorageError`. A log in a folder that can't be written to
        can be read.
        """
        if path is None:
            return cls._open_memory(clock, lock_timeout)
        real = os.path.realpath(os.fspath(path))
        store = cls(real, clock=clock, lock_timeout=lock_timeout, mode="ro")
        try:
            if disk.unfinished(real):
                if not create:
                    raise disk.missing(real)
                store._create()
            store._inode = os.stat(real).st_ino
            connection = store._take()
            try:
                store.ledger_id = disk.identify(connection, real)
            finally:
                store._give(connection)
        except (OSError, sqlite3.Error) as error:
            store.close()
            raise disk.refusal(error, real) from error
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def _open_memory(cls, clock: Callable[[], int], lock_timeout: float) -> Self:
        store = cls(None, clock=clock, lock_timeout=lock_timeout, mode="memory")
        store._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        disk.create_schema(store._memory, clock())
        store.ledger_id = disk.identify(store._memory, "memory")
        return store

    def _create(self) -> None:
        assert self.path is not None and self._lock is not None
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if not self._lock.acquire(self._timeout):
            raise self._busy()
        try:
            if disk.unfinished(self.path):
                disk.create(self.path, self._clock())
        finally:
            self._lock.release()

    def close(self) -> None:
        """Closes all connections; harmless if repeated. A write under way is waited for."""
        if self._closed:
            return
        self._closed = True
        with self._news:
            self._news.notify_all()
        if not self._writing.acquire(timeout=self._timeout):
            raise self._busy()
        try:
            self._close_readers()
            if self._memory is not None:
                self._memory.close()
            self._close_writer()
        finally:
            self._writing.release()

    def _close_readers(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._readers.pop().close()

    def _close_writer(self) -> None:
        """The last connection of all brings the WAL into the log and removes it, under the lock
        if that is free; with others open, a long WAL is at least brought into the log."""
        if self._lock is None or self._wal is None or self.path is None:
            return
        if self._writer is not None:
            held = False
            with contextlib.suppress(OSError):
                held = self._lock.acquire(min(1.0, self._timeout))
            with contextlib.suppress(OSError, sqlite3.Error):
                if held and os.path.getsize(self.path + "-wal") >= self._wal.LIMIT:
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._wal.close()
            self._writer.close()
            self._writer = None
        self._wal.close()
        self._lock.close()

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

    def _busy(self) -> StorageError:
        return StorageError(
            f"{self.path or 'the ledger in memory'} is locked: another writer kept it for over "
            f"{self._timeout:g} s; nothing was written: let it finish, then repeat"
        )

    # ------------------------------------------------------------ reading

    def _take(self) -> sqlite3.Connection:
        """A connection to read with, for one short while; to be given back."""
        if self._closed:
            raise CallerError(f"{self.path or 'the ledger in memory'} is closed; open it again")
        if self._memory is not None:
            self._writing.acquire()
            return self._memory
        if self._frozen_as is not None:
            self._look_again()
        try:
            return self._readers.pop()
        except IndexError:
            return self._connect()

    def _give(self, connection: sqlite3.Connection) -> None:
        if self._memory is not None:
            self._writing.release()
            return
        self._readers.append(connection)
        if self._closed:
            self._close_readers()

    def _drop(self, connection: sqlite3.Connection) -> None:
        """Instead of giving it back, after an error."""
        if self._memory is not None:
            self._writing.release()
        else:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        assert self.path is not None
        if not disk.is_frozen(self.path):
            return disk.connect(self.path, "ro", self._timeout)
        stat = os.stat(self.path)
        self._frozen_as = (stat.st_mtime_ns, stat.st_size)
        return disk.connect(self.path, "frozen", self._timeout)

    def _look_again(self) -> None:
        """In a folder closed to us another user may still write: then nothing is kept."""
        assert self.path is not None
        stat = os.stat(self.path)
        if (stat.st_mtime_ns, stat.st_size) != self._frozen_as or not disk.is_frozen(self.path):
            self._frozen_as = None
            self._close_readers()

    def _select(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows of one statement, in a read transaction of its own."""
        try:
            connection = self._take()
        except (OSError, sqlite3.Error) as error:
            raise disk.refusal(error, self.path) from error
        try:
            rows = connection.execute(sql, parameters).fetchall()
        except BaseException as error:
            self._drop(connection)
            if isinstance(error, sqlite3.Error):
                raise disk.refusal(error, self.path) from error
            raise
        self._give(connection)
        return rows

    def head(self) -> Head:
        """Where the log ends now, commits of other processes included. O(1)."""
        rows = self._select(_HEAD)
        if not rows:
            raise disk.headless(self.path)
        return Head(*rows[0])

    def row(self, position: int) -> Row | None:
        """The event at a position, if there is one. O(log n)."""
        rows = self._select(_ROW, (position,))
        return _row(rows[0]) if rows else None

    def read_rows(
        self, after: int = 0, upto: int | None = None, page: int = PAGE
    ) -> Iterator[list[Row]]:
        """The events after a position and up to another (default: the head now), in pages.

        Each page is read in a transaction of its own, so that nothing keeps the WAL from starting
        anew. Raises `DamageError` where positions are missing.
        """
        end = self.head().position
        end = end if upto is None else min(upto, end)
        while after < end:
            rows = self._select(_ROWS, (after, end, page))
            if not rows or rows[-1][0] != after + len(rows):
                found = next((r[0] for n, r in enumerate(rows, after + 1) if r[0] != n), None)
                gap = f"; the next is {found}" if found else ""
                raise DamageError(
                    f"{self.path or 'the ledger in memory'} should go on to {end}, but events "
                    f"after {after} are missing{gap}; run verify, and restore the last backup"
                )
            yield list(map(_row, rows))
            after = rows[-1][0]

    def wait(self, after: int, timeout: float) -> bool:
        """Whether the log went past ``after`` within ``timeout`` seconds.

        Commits made through this object are seen at once, others within 20 ms.
        """
        deadline = time.monotonic() + timeout
        while not self._closed:
            with self._news:
                if self.head().position > after:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._news.wait(left if self.path is None else min(left, POLL))
        return False

    # ------------------------------------------------------------ writing

    def write(self) -> Transaction:
        """A transaction, to be used with ``with``: committed durably at its end, with one flush
        for all that was appended, or rolled back on any error."""
        return Transaction(self)

    def _begin(self) -> sqlite3.Connection:
        if self._closed:
            raise CallerError(f"{self.path or 'the ledger in memory'} is closed; open it again")
        if not self._writing.acquire(timeout=self._timeout):
            raise self._busy()
        locked = False
        try:
            if self._in_transaction:
                raise CallerError("a transaction is open in this thread; append to that one")
            if self._lock is not None:
                if not self._lock.acquire(self._timeout):
                    raise self._busy()
                locked = True
            connection = self._writing_connection()
            connection.execute("BEGIN IMMEDIATE")
            self._in_transaction = True
            return connection
        except BaseException as error:
            if locked and self._lock is not None:
                self._lock.release()
            self._writing.release()
            if isinstance(error, OSError | sqlite3.Error):
                raise disk.refusal(error, self.path) from error
            raise

    def _writing_connection(self) -> sqlite3.Connection:
        if self._closed:
            raise CallerError(f"{self.path or 'the ledger in memory'} is closed; open it again")
        if self.path is None:
            assert self._memory is not None
            return self._memory
        if os.stat(self.path).st_ino != self._inode:
            raise StorageError(
                f"{self.path} was replaced since it was opened; nothing was written: open it again"
            )
        if self._writer is None:
            self._writer = disk.connect(self.path, "rw", self._timeout)
        return self._writer

    def _end(self) -> None:
        self._in_transaction = False
        if self._lock is not None:
            self._lock.release()
        self._writing.release()

    def _discard_writer(self) -> None:
        """After an error of the disk nothing of the old connection is trusted."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            with contextlib.suppress(sqlite3.Error):
                writer.close()
        self._known = None

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Brings a long WAL into the log. The commit stands already, whatever happens here."""
        if self._wal is not None and self._wal.is_long():
            with contextlib.suppress(sqlite3.Error):
                row = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                self._wal.checkpointed(row[1], row[2])

    def erase(self, positions: Iterable[int]) -> None:
        """Removes the data and salt of events for good; their headers and commitments stay.

        Done only when the old bytes are gone from the log and its WAL. Raises `UnknownTarget` for
        a position that isn't there, `StorageError` while a reader keeps old pages: repeat it then.
        """
        wanted = sorted(set(positions))
        with self.write() as transaction:
            transaction.erase(wanted)
        if self.path is not None:
            self._empty_wal(wanted)

    def _empty_wal(self, wanted: list[int]) -> None:
        assert self.path is not None
        deadline = time.monotonic() + self._timeout
        while True:
            connection = self._begin()
            try:
                connection.execute("ROLLBACK")
                connection.execute("PRAGMA busy_timeout=50")
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                connection.execute(f"PRAGMA busy_timeout={int(self._timeout * 1000)}")
                if not busy and os.path.getsize(self.path + "-wal") == 0:
                    return
            except (OSError, sqlite3.Error) as error:
                raise disk.refusal(error, self.path) from error
            finally:
                self._end()
            if time.monotonic() > deadline:
                raise StorageError(
                    f"{len(wanted)} event(s) are erased in {self.path}, but a reader still keeps "
                    "their old bytes in the WAL; end the other readers, then erase again"
                )
            time.sleep(POLL)

    # ------------------------------------------------------------ audit

    def verify(self) -> Verification:
        """Recomputes the chain over the whole log, and checks the file. O(bytes).

        What was tampered with or damaged is reported, never raised.
        """
        problems: list[tuple[int, str, str]] = []
        head, end = self._ends(problems)
        audit = Audit(head)
        for problem in problems:
            audit.report(*problem)
        try:
            while audit.position < end:
                rows = self._select(_STORED, (audit.position, end, PAGE))
                if not rows:
                    break
                audit.rows(rows)
        except DamageError as error:
            audit.report(audit.position + 1, "page", f"after {audit.position}: {error}")
            head = None
        self._check_tables(audit)
        return audit.finish(complete=head is not None)

    def _ends(self, problems: list[tuple[int, str, str]]) -> tuple[Head | None, int]:
        try:
            rows = self._select(_ENDS)
            head = Head(*rows[0][:3]) if rows else None
            end = rows[0][3] if rows else self._select("SELECT max(position) FROM log")[0][0]
        except DamageError as error:
            problems.append((0, "page", str(error)))
            return None, 0
        if head is None or not (
            type(head.position) is int is type(head.recorded_at) and type(head.chain) is bytes
        ):
            problems.append((0, "head", "the head row is gone or unreadable"))
            head = None
        return head, end or 0

    def _check_tables(self, audit: Audit) -> None:
        for code, sql in _CHECKS:
            try:
                for row in self._select(sql):
                    if row[0] != "ok":
                        audit.report(int(row[1]) if len(row) > 1 else 0, code, str(row[0]))
            except DamageError as error:
                audit.report(0, "page", str(error))


class Transaction:
    """Appends to the log, all or nothing; made by `LogStore.write`."""

    __slots__ = ("_appended", "_connection", "_failure", "_generation", "_store", "head")

    head: Head

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._appended = False
        self._failure: DoxaError | None = None

    def __enter__(self) -> Self:
        store = self._store
        self._connection = store._begin()
        self._generation = store._generation
        try:
            self.head = self._true_head()
        except BaseException as error:
            self._roll_back()
            store._end()
            if isinstance(error, sqlite3.Error):
                raise disk.refusal(error, store.path) from error
            raise
        return self

    def _true_head(self) -> Head:
        row = self._connection.execute(_HEAD).fetchone()
        if row is None:
            raise disk.headless(self._store.path)
        if row != self._store._known:
            end = self._connection.execute(_END).fetchone()
            if end != row and (end is not None or row[0] != 0):
                raise DamageError(
                    f"{self._store.path or 'the ledger in memory'} ends at "
                    f"{end[0] if end else 0}, but its head row says {row[0]} or has another chain; "
                    "nothing was written: run verify, and restore the last backup"
                )
        return Head(*row)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        store = self._store
        if store._generation is not self._generation:
            if error is None:
                raise CallerError("a transaction can't be carried over a fork; nothing was written")
            return
        committed = False
        try:
            if error is None and self._failure is None and self._appended:
                self._connection.execute(_SET_HEAD, self.head)
                self._connection.execute("COMMIT")
                committed = True
                store._known = self.head
                store._checkpoint(self._connection)
            else:
                self._roll_back()
        except sqlite3.Error as failure:
            self._roll_back()
            store._discard_writer()
            raise disk.refusal(failure, store.path) from failure
        except BaseException:
            self._roll_back()
            raise
        finally:
            store._end()
        if committed:
            with store._news:
                store._news.notify_all()
        elif error is None and self._failure is not None:
            raise self._failure

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        if self._failure is not None:
            self._store._discard_writer()

    def _execute(self, sql: str, parameters: Sequence[object]) -> list[Any]:
        """All rows; an error dooms the transaction, even if it is caught."""
        if self._failure is not None:
            raise self._failure
        self._here()
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            self._failure = disk.refusal(error, self._store.path)
            raise self._failure from error

    def _here(self) -> None:
        if self._store._generation is not self._generation:
            raise CallerError("a transaction can't be carried over a fork; open one in the child")

    def rows(self, after: int) -> list[Row]:
        """The events after a position, as this transaction sees them."""
        return list(map(_row, self._execute(_ROWS, (after, times.POS, -1))))

    def append(
        self,
        events: Sequence[NewEvent],
        recorded_at: int | None = None,
        key: str | None = None,
    ) -> Appended:
        """One commit of at least one event.

        ``recorded_at`` (microseconds since 1970) defaults to the clock, or one past the head's.
        With a ``key`` that was used before for the same events, what was answered then is
        answered again. Raises `ClockError`, `InvalidEvent`, and `DuplicateId` for a key that was
        used for other events; nothing is appended then, and the transaction goes on.
        """
        self._here()
        if not events:
            raise InvalidEvent("a commit holds at least one event; leave out the empty append")
        if key is not None and (known := self._repeated(events, key)) is not None:
            return known
        at = self._recorded_at(recorded_at)
        rows, tagged = self._stored(events, at)
        if key is not None:
            self._write(_KEY, [(key, rows[0][0], rows[-1][0])])
        self._write(_INSERT, rows)
        if tagged:
            self._write(_TAG, tagged)
        self._appended = True
        self.head = Head(rows[-1][0], at, rows[-1][7])
        return Appended(rows[0][0], rows[-1][0], at)

    def _recorded_at(self, stated: int | None) -> int:
        last = self.head.recorded_at
        if stated is None:
            return stated_instant(max(self._store._clock(), last + 1))
        if stated_instant(stated) <= last:
            raise ClockError(
                f"recorded_at {times.iso(stated) if stated >= times.FIRST else stated} is not "
                f"later than the head's, {times.iso(last)}; leave it out, or state a later one"
            )
        return stated

    def _stored(
        self, events: Sequence[NewEvent], at: int
    ) -> tuple[list[tuple[Any, ...]], list[tuple[str, int]]]:
        position, _, chain = self.head
        salts = os.urandom(SALT * len(events))
        rows: list[tuple[Any, ...]] = []
        tagged: list[tuple[str, int]] = []
        for number, event in enumerate(events):
            tags = check_event(event)
            kind, head, data, _ = event
            position += 1
            salt = salts[SALT * number : SALT * number + SALT]
            digest = blake2b(data, key=salt, digest_size=DIGEST).digest()
            header = f"{position}\x1f{at}\x1f{kind}\x1f{tags}\x1f".encode()
            chain = blake2b(
                b"%b%b%b%b" % (chain, digest, header, head), digest_size=DIGEST
            ).digest()
            rows.append((position, at, kind, tags, head, data, salt, chain))
            if tags:
                tagged += [(tag, position) for tag in event.tags]
        return rows, tagged

    def _write(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            if len(rows) == 1:
                self._connection.execute(sql, rows[0])
            else:
                self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            self._failure = disk.refusal(error, self._store.path)
            raise self._failure from error

    def _repeated(self, events: Sequence[NewEvent], key: str) -> Appended | None:
        if not isinstance(key, str) or not key:
            raise InvalidEvent(f"the key is {key!r}; give a text that is not empty")
        found = self._execute("SELECT first, last FROM log_key WHERE key = ?", (key,))
        if not found:
            return None
        first, last = found[0]
        stored = self._execute(_KEYED, (first, last))
        same = len(stored) == len(events) and all(
            (e.type, e.head, SEPARATOR.join(e.tags)) == (kind, head, tags)
            and (data is None or data == e.data)
            for e, (kind, head, data, tags, _) in zip(events, stored, strict=True)
        )
        if not same:
            raise DuplicateId(
                f"key {key!r} was used for the events {first} to {last}, which are others; "
                "use a new key for new events"
            )
        return Appended(first, last, stored[0][4])

    def erase(self, positions: Sequence[int]) -> None:
        """Removes data and salt of events here; only `LogStore.erase` sees to the old bytes too."""
        for position in positions:
            found = self._execute("SELECT data, salt FROM log WHERE position = ?", (position,))
            if not found:
                raise UnknownTarget(
                    f"there is no event {position} to erase; the log ends at {self.head.position}"
                )
            data, salt = found[0]
            if data is not None:
                self._write(_ERASE, [(commitment(salt, data), position)])
                self._appended = True


def _renew_after_fork() -> None:
    for store in tuple(_stores):
        store._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
