"""How often records are used, and when last: kept apart from the log, and written on request alone.

The file may be thrown away at any time: nothing is lost with it but warmth. So nothing here is an
error for whoever reads; what is lost is told in `Usage.problem`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np

from doxa.engine.graph import NONE, Graph
from doxa.engine.layers import COLD, WORKING, Warm
from doxa.engine.tables import Ints
from doxa.engine.times import FIRST, LAST, Instant

__all__ = ["USAGE", "Key", "Since", "Usage", "Used"]

USAGE: Final = "usage.sqlite"
PATIENCE: Final = 2.0  # seconds that one process waits for another to write here
READING: Final = 0.5  # and to read
AT_ONCE: Final = 400  # records that one statement names

Key = tuple[str, str]  # workspace and id
T = TypeVar("T")

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS used(workspace TEXT NOT NULL, id TEXT NOT NULL,"
    " last INTEGER NOT NULL, count INTEGER NOT NULL, position INTEGER, recorded_at INTEGER,"
    " PRIMARY KEY(workspace, id))"
    " STRICT, WITHOUT ROWID"
)
_USE: Final = (
    "INSERT INTO used VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " last = max(last, excluded.last), count = min(count + excluded.count, 1000000000),"
    " position = excluded.position, recorded_at = excluded.recorded_at"
)
_SOUND: Final = f"typeof(last) = 'integer' AND last BETWEEN {FIRST} AND {LAST} AND count > 0"
# What says that the file is no such file, or not whole; and what may pass.
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_PASSING: Final = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT),
)


_PLACED: Final = (  # whatever else somebody put there
    "typeof(position) IN ('integer', 'null') AND typeof(recorded_at) IN ('integer', 'null')"
)


class Used(NamedTuple):
    """When a record was used last, in microseconds, and how often it was."""

    last: Instant
    uses: int


class Since(NamedTuple):
    """The uses since an instant: where in the log each record is and when it was recorded, -1 where
    that was not noted, beside when it was used last."""

    positions: Ints
    recorded_at: Ints
    last: Ints


class Usage:
    """The uses of the records of one ledger: in a file beside its log, or in memory. Safe for
    threads, and for several processes."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.problem: str | None = None  # why it could not be read or written, the last time
        self.passing = False  # whether that may be another thing the next time
        self._lock = threading.Lock()
        self._open: tuple[sqlite3.Connection, int] | None = None  # with the inode of its file
        self._inherited: list[sqlite3.Connection] = []  # of a parent process: not to be closed here
        self._written = 0
        _usages.add(self)
        self._warm: tuple[weakref.ReferenceType[Graph], object, int, Warm] | None = None

    def _start_in_child(self) -> None:
        """What a forked child must not share: a lock that some thread of the parent may hold, and
        the connection."""
        self._lock = threading.Lock()
        if self._open is not None and self.path is not None:
            self._inherited.append(self._open[0])
            self._open = None

    # -- writing

    def touch(self, keys: Iterable[Key], at: Instant, graph: Graph | None = None) -> str | None:
        """Notes that records were used; one that is named twice, twice. With the ``graph``, where
        in the log they are is noted too, which is found faster than an id. Returns why that could
        not be noted, or what was lost before it could be; ``None`` where all is well."""
        rows = [(*key, at, times, *_place(graph, key)) for key, times in Counter(keys).items()]
        if not rows:
            return None
        return self._change(lambda connection: connection.executemany(_USE, rows))

    def forget(self, keys: Iterable[Key]) -> str | None:
        """Forgets records, as if they had never been used."""
        gone = [*keys]
        if not gone or not self._there():
            return None
        statement = "DELETE FROM used WHERE workspace = ? AND id = ?"
        return self._change(lambda connection: connection.executemany(statement, gone))

    def _change(self, change: Callable[[sqlite3.Connection], object]) -> str | None:
        with self._lock:
            problem = None
            for begun_anew in (False, True):
                try:
                    self._changed(change)
                    self.problem = None
                    return problem
                except sqlite3.Error as error:
                    problem = self._failed(error)
                    if begun_anew or not _damaged(error) or not self._begin_anew():
                        break
                    problem += "; it is begun anew"
            self.problem = problem
            return problem

    def _changed(self, change: Callable[[sqlite3.Connection], object]) -> None:
        connection = self._connection(create=True)
        assert connection is not None
        try:
            connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1_000:.0f}")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            change(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            connection.execute(f"PRAGMA busy_timeout = {READING * 1_000:.0f}")
        self._written += 1

    def _begin_anew(self) -> bool:
        """Throws the file away, which can't be used; whether that was possible."""
        self._drop()
        if self.path is None:
            return False
        try:
            for ending in ("", "-journal", "-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
        except OSError:
            return False
        return True

    # -- reading

    def of(self, keys: Sequence[Key]) -> dict[Key, Used]:
        """The uses of records, as far as there are any."""

        by_place: dict[str, list[str]] = {}
        for workspace, id in dict.fromkeys(keys):
            by_place.setdefault(workspace, []).append(id)

        def read(connection: sqlite3.Connection) -> dict[Key, Used]:
            found: dict[Key, Used] = {}
            for workspace, ids in by_place.items():
                for start in range(0, len(ids), AT_ONCE):
                    some = ids[start : start + AT_ONCE]
                    marks = ",".join("?" * len(some))
                    statement = (
                        "SELECT id, last, count FROM used WHERE workspace = ?"
                        f" AND id IN ({marks}) AND {_SOUND}"
                    )
                    for id, last, count in connection.execute(statement, (workspace, *some)):
                        found[workspace, id] = Used(last, count)
            return found

        return self._read(read, {})

    def since(self, at: Instant) -> Since:
        """When the records were used last that were used at an instant or later, by where they
        are."""
        statement = (
            "SELECT coalesce(position, -1), coalesce(recorded_at, -1), last FROM used"
            f" WHERE last >= ? AND {_SOUND} AND {_PLACED}"
        )

        def read(connection: sqlite3.Connection) -> Since:
            rows = chain.from_iterable(connection.execute(statement, (at,)))
            columns = np.fromiter(rows, np.int64).reshape(-1, 3)
            return Since(columns[:, 0], columns[:, 1], columns[:, 2])

        nothing = np.empty(0, np.int64)
        return self._read(read, Since(nothing, nothing, nothing))

    def named_since(self, at: Instant) -> dict[str, dict[str, Instant]]:
        """The same by workspace and id."""
        places = "SELECT DISTINCT workspace FROM used"
        statement = f"SELECT id, last FROM used WHERE workspace = ? AND last >= ? AND {_SOUND}"

        def read(connection: sqlite3.Connection) -> dict[str, dict[str, Instant]]:
            names = [name for (name,) in connection.execute(places).fetchall()]
            found = {name: dict(connection.execute(statement, (name, at))) for name in names}
            return {name: ids for name, ids in found.items() if ids}

        return self._read(read, {})

    def figures(self) -> dict[str, int]:
        """How many records were used, and how often together."""
        statement = f"SELECT count(*), total(count) FROM used WHERE {_SOUND}"
        records, uses = self._read(lambda c: c.execute(statement).fetchone(), (0, 0))
        return {"records": records, "uses": int(uses)}

    def warm(self, graph: Graph) -> Warm:
        """The records of a graph that are in a layer above the first; known from the last time,
        where nothing was written meanwhile."""
        version = self._version()
        if version is None:
            return COLD
        kept = self._warm
        if kept is not None and (kept[0](), kept[1]) == (graph, version):
            upto, warm = kept[2:]
            if upto in (NONE, graph.position):
                return warm
        statement = f"SELECT workspace, id, count FROM used WHERE count >= {WORKING} AND {_SOUND}"
        nothing: list[tuple[str, str, int]] = []
        rows = self._read(lambda connection: connection.execute(statement).fetchall(), nothing)
        position = graph.position
        found = {(workspace, id): graph.find(workspace, id) for workspace, id, _ in rows}
        known = {found[w, id]: count for w, id, count in rows if found[w, id] != NONE}
        warm = Warm(known) if known else COLD
        upto = NONE if len(known) == len(rows) else position  # others may come to be known
        self._warm = weakref.ref(graph), version, upto, warm
        return warm

    def _version(self) -> object:
        """What is another when something was written; ``None`` where there is nothing."""
        if self.path is None:
            return self._written or None
        try:
            file = os.stat(self.path)
        except OSError:
            return None
        return file.st_ino, file.st_mtime_ns, file.st_size, self._written

    def _there(self) -> bool:
        return self._open is not None if self.path is None else self.path.exists()

    def _read(self, read: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        if not self._there():
            return nothing
        with self._lock:
            try:
                connection = self._connection(create=False)
                if connection is None:
                    return nothing
                found = read(connection)
            except sqlite3.Error as error:
                if _no_table(error):  # another process is about to make it
                    return nothing
                self.problem = self._failed(error)
                return nothing
            self.problem = None
            return found

    # -- the file

    def _connection(self, *, create: bool) -> sqlite3.Connection | None:
        """The connection to the file that is there now; the lock is held."""
        inode = 0 if self.path is None else _inode(self.path)
        if self._open is not None:
            connection, known = self._open
            if known == inode:
                return connection
            self._drop()
        if inode < 0 and not create:
            return None
        if self.path is None:
            place = ":memory:"
        else:
            place = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        made = sqlite3.connect(
            place, uri=self.path is not None, timeout=READING, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        try:
            made.execute("PRAGMA synchronous = OFF")  # a power cut may cost warmth, and no more
            made.execute("PRAGMA trusted_schema = OFF")
            made.execute("PRAGMA secure_delete = ON")  # of what is forgotten no byte is left
            if create:
                made.execute("PRAGMA schema_version").fetchone()  # makes the file
        except BaseException:
            made.close()
            raise
        self._open = made, 0 if self.path is None else _inode(self.path)
        return made

    def _drop(self) -> None:
        if self._open is not None:
            connection, _ = self._open
            self._open = None
            connection.close()

    def _failed(self, error: sqlite3.Error) -> str:
        self._drop()
        self.passing = _code(error) in _PASSING
        place = "the usage" if self.path is None else self.path.name
        return f"{place} can't be used ({error}): how warm records are is not known"

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._drop()


def _place(graph: Graph | None, key: Key) -> tuple[int | None, Instant | None]:
    """Where in the log a record is, and when it was recorded: together they name one event, also
    of a log that was put back to an earlier state and went on otherwise."""
    number = NONE if graph is None else graph.find(*key)
    if graph is None or number == NONE:
        return None, None
    position = graph.position_of(number)
    return position, graph.recorded_of(position)


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _damaged(error: sqlite3.Error) -> bool:
    return _code(error) in _DAMAGE


def _no_table(error: sqlite3.Error) -> bool:
    return str(error) == "no such table: used"


_usages: weakref.WeakSet[Usage] = weakref.WeakSet()


def _renew_after_fork() -> None:
    for usage in tuple(_usages):
        usage._start_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
