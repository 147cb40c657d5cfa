"""A log file on disk: creating it, telling what it is, connecting to it, and what can go wrong."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from doxa.engine.errors import (
    CallerError,
    DamageError,
    DoxaError,
    NewerFormat,
    NotALedger,
    StorageError,
)
from doxa.engine.keyed import SECRET
from doxa.engine.log import NO_LINK

__all__ = [
    "APPLICATION_ID",
    "COMPACTED",
    "FORMAT",
    "SCHEMA",
    "Wal",
    "abandon",
    "check_fork",
    "closed",
    "connect",
    "create",
    "create_schema",
    "flush",
    "headless",
    "identify",
    "is_frozen",
    "make_folder",
    "missing",
    "refusal",
    "settle",
    "unfinished",
]

APPLICATION_ID: Final = 0x646F7861  # "doxa"
FORMAT: Final = 1  # the file's user_version
COMPACTED: Final = 2  # the same, once something was compacted
PAGE: Final = 4096
MEMORY: Final = "the ledger in memory"  # in messages, where there is no path

SCHEMA: Final = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE log(position INTEGER PRIMARY KEY, recorded_at INTEGER NOT NULL,"
    " type TEXT NOT NULL, tags TEXT NOT NULL, head BLOB NOT NULL, data BLOB, salt BLOB,"
    " commitment BLOB, chain BLOB NOT NULL)",
    "CREATE TABLE log_tag(tag TEXT NOT NULL, position INTEGER NOT NULL,"
    " PRIMARY KEY(tag, position)) WITHOUT ROWID",
    "CREATE TABLE log_key(key TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE head(one INTEGER PRIMARY KEY CHECK(one=1), position INTEGER NOT NULL,"
    " recorded_at INTEGER NOT NULL, chain BLOB NOT NULL)",
)


# ---------------------------------------------------------------- refusals


def refusal(error: Exception, path: str | None) -> DoxaError:
    """Our error for one of SQLite or the system, with its cause and the next step."""
    where = path or MEMORY
    if isinstance(error, OSError) and not isinstance(error, sqlite3.Error):
        return StorageError(
            f"{error.filename or where}: {error.strerror or error}; nothing was written: make the "
            "ledger's folder readable and writable, then repeat"
        )
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        if "closed database" in str(error):
            return closed(path)
        return DamageError(f"{where} holds what can't be read: {error}; run verify")
    kind, name = code & 0xFF, getattr(error, "sqlite_errorname", code)
    if code in _FLUSHES:
        return StorageError.told(
            f"{where}: {error} ({name}); whether it was written is open until the log is opened "
            "again: look after the disk, open it again, then repeat with the same ids",
            uncertain=True,
        )
    if kind in _ADVICE:
        told = f"{where}: {error} ({name}); nothing was written: {_ADVICE[kind]}"
        return StorageError.told(told, locked=kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
    if kind == sqlite3.SQLITE_NOTADB:
        if path is not None and os.path.exists(path + ".lock"):
            return DamageError(
                f"{where} was a ledger, but its first page is overwritten; {_RESTORE}"
            )
        return NotALedger(f"{where} is no SQLite file, so no ledger; name a ledger or a new path")
    return DamageError(f"{where} is damaged: {error} ({name}); {_RESTORE}")


_RESTORE: Final = "keep a copy of its folder, run verify, and restore the last backup"
_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "another program holds the file; let it finish, then repeat",
    sqlite3.SQLITE_LOCKED: "another program holds the file; let it finish, then repeat",
    sqlite3.SQLITE_FULL: "free space on the disk, then repeat",
    sqlite3.SQLITE_IOERR: "look after the disk (space, quota, limits, hardware), then repeat",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable, then repeat",
    sqlite3.SQLITE_CANTOPEN: "make the file and its folder readable and writable, then repeat",
    sqlite3.SQLITE_PERM: "make the file and its folder readable and writable, then repeat",
    sqlite3.SQLITE_AUTH: "make the file and its folder readable and writable, then repeat",
    sqlite3.SQLITE_NOMEM: "free memory, then repeat",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted; repeat it",
    sqlite3.SQLITE_PROTOCOL: "another program holds the file; let it finish, then repeat",
    sqlite3.SQLITE_TOOBIG: "an event is larger than SQLite can store; split it",
}


# A commit is whole in the WAL before it is flushed: if that fails, nobody knows what the disk has.
_FLUSHES: Final = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)


def closed(path: str | None) -> CallerError:
    """The refusal of whatever is asked after closing."""
    return CallerError(f"{path or MEMORY} is closed; open it again")


def missing(path: str) -> NotALedger:
    """The refusal where nothing is, and nothing shall be created."""
    return NotALedger(f"there is no ledger at {path}; name a ledger, or create one there")


def headless(path: str | None) -> DamageError:
    """The refusal where the head row is gone."""
    return DamageError(f"{path or MEMORY} has lost its head row; {_RESTORE}")


# ---------------------------------------------------------------- connections


def connect(path: str, mode: str, timeout: float) -> sqlite3.Connection:
    """A connection in autocommit.

    ``mode`` is ``rw`` to write, ``ro`` to read, or ``frozen`` to read a file that nothing writes
    to, without the files that SQLite keeps beside it.
    """
    check_fork(path)
    query = "mode=ro&immutable=1" if mode == "frozen" else "mode=rw"
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?{query}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in _WRITING if mode == "rw" else _READING:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


_READING: Final = ("PRAGMA wal_autocheckpoint=0", "PRAGMA mmap_size=0", "PRAGMA query_only=ON")
_WRITING: Final = (
    "PRAGMA wal_autocheckpoint=0",
    "PRAGMA mmap_size=0",
    "PRAGMA synchronous=FULL",
    "PRAGMA secure_delete=ON",
)


def is_frozen(path: str) -> bool:
    """Whether the folder can't be written to and no writer is, or was, at work there."""
    if os.access(os.path.dirname(path), os.W_OK) or os.path.exists(path + "-shm"):
        return False
    return not os.path.exists(path + "-wal") or os.path.getsize(path + "-wal") == 0


# Logs that were open, in the middle of something, when this process was forked. SQLite keeps
# one record of locks for each file and process, and the child's copy of it is wrong for ever.
_forked_inside: set[str] = set()


def abandon(connection: sqlite3.Connection, path: str) -> None:
    """In the child of a fork: keeps the parent's connection from ever being closed here, which
    could checkpoint and delete the WAL that the parent writes to, and its file from being used."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _forked_inside.add(path)


def check_fork(path: str | None) -> None:
    """Raises `StorageError` for a file that a fork has made unusable in this process."""
    if path in _forked_inside:
        raise StorageError(
            f"{path} can't be used in this process, which was forked in the middle of a "
            "transaction on it; fork outside of transactions, or start new processes (spawn)"
        )


# ---------------------------------------------------------------- creating


def unfinished(path: str) -> bool:
    """Whether there is no log at ``path`` yet. Raises `DamageError` for a WAL without its log."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        size = 0
    if size:
        return False
    with contextlib.suppress(FileNotFoundError):
        if os.stat(path + "-wal").st_size:
            raise DamageError(f"{path} is gone or empty, but {path}-wal is there; {_RESTORE}")
    return True


_BINARY: Final = getattr(os, "O_BINARY", 0)
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)


def make_folder(path: str) -> None:
    """Makes a folder, with those above it that are missing, durably: flushing a folder keeps
    nothing of the way to it."""
    above = [os.path.dirname(path)]  # even if it is there: who made it may have been killed
    while not os.path.exists(above[-1]):
        above.append(os.path.dirname(above[-1]))
    os.makedirs(path, exist_ok=True)
    if sys.platform != "win32":
        for folder in reversed(above):
            with contextlib.suppress(PermissionError):  # then others have made what is in it
                flush(folder)


def create(path: str, now: int) -> None:
    """Writes an empty log, complete or not at all. The caller holds the lock."""
    new = path + ".new"
    for leftover in (new, f"{new}-journal", f"{new}-wal", f"{new}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(leftover)
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=OFF")
        create_schema(connection, now)
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    finally:
        connection.close()
    if mode != "wal":  # SQLite passes over an error of the disk here
        raise StorageError(
            f"{path} could not be given a write-ahead log (its journal mode stayed {mode!r}); "
            "nothing was written: look after the disk (space, quota, shared memory), then repeat"
        )
    flush(new)
    for leftover in (f"{path}-wal", f"{path}-shm"):  # empty, of an empty file
        with contextlib.suppress(FileNotFoundError):
            os.remove(leftover)
    os.replace(new, path)
    if sys.platform != "win32":
        flush(os.path.dirname(path))


def create_schema(connection: sqlite3.Connection, now: int) -> None:
    """The tables of an empty log, its id and its time of creation."""
    connection.execute(f"PRAGMA page_size={PAGE}")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO meta VALUES('ledger', ?), ('created', ?), ('secret', ?)",
        (os.urandom(16).hex(), now, os.urandom(SECRET).hex()),
    )
    connection.execute("INSERT INTO head VALUES(1, 0, 0, ?)", (NO_LINK,))
    connection.execute("COMMIT")


def flush(path: str) -> None:
    """Makes what a file or a folder holds durable. Raises `OSError`."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def identify(select: Callable[[str], list[Any]], path: str) -> str:
    """The ledger's id. Raises `NotALedger`, `NewerFormat` or `DamageError`."""
    application, version = (
        select(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION_ID:
        raise NotALedger(
            f"{path} is an SQLite file of another program (application id {application:#x}); "
            "name a ledger or a new path"
        )
    if version > COMPACTED:
        raise NewerFormat(
            f"{path} has format {version}; this doxa reads up to {COMPACTED}: upgrade doxa"
        )
    rows = select("SELECT value FROM meta WHERE key='ledger'")
    if not rows or not isinstance(rows[0][0], str):
        raise DamageError(f"{path} has lost its id; {_RESTORE}")
    return rows[0][0]


# ---------------------------------------------------------------- the write-ahead log


def settle(connection: sqlite3.Connection, path: str, timeout: float) -> None:
    """Brings what a WAL holds into the log, durably, before anything is built on it, and empties
    it; under the lock.

    A process that was killed before its flush, or whose flush failed, leaves a commit there that
    can be read and that a power cut would undo; and with it all that was appended behind it, and
    all that was told to be there already. Raises `OSError` and `sqlite3.Error`.
    """
    try:
        if not os.path.getsize(path + "-wal"):
            return
    except FileNotFoundError:
        return
    connection.execute("PRAGMA busy_timeout=0")
    blocked = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout={int(timeout * 1000)}")
    if blocked:  # by a reader, who needs it where it is
        flush(path + "-wal")


class Wal:
    """How far the WAL is filled, and room in it for the commits to come.

    The file's size tells nothing, since a WAL is overwritten from its start. A frame is of the
    present round if it carries the header's salts. A flush that lengthens a file takes half as long
    again as one that overwrites it, so zeros are put behind the last frame before it is needed;
    SQLite takes them for the frames of an earlier round. SQLite locks nothing in this file, so
    opening and closing it here is harmless; the log itself must never be opened by other means than
    SQLite, since closing it would drop the locks of the whole process.
    """

    LIMIT: Final = 4 << 20  # bytes
    FRAME: Final = PAGE + 24
    LEAST, MOST, LEFT = 16, 64, 8  # frames of room made at once; and left when more is made

    def __init__(self, path: str) -> None:
        self._path = path + "-wal"
        self._file: int | None = None
        self._step = self._limit = self.LIMIT // self.FRAME
        self._begin()

    def _begin(self) -> None:
        self._mark = self._limit  # the frame to look at next
        self._idle = b""  # the salts that were there when it was not of the present round
        self._short = True  # whether room may be wanted

    def make_room(self) -> None:
        """Before a commit, within its transaction: makes room for it where there may be too little.
        Mostly does nothing; never fails."""
        if not self._short or sys.platform == "win32":
            return
        with contextlib.suppress(OSError):
            file = self._opened()
            size = os.fstat(file).st_size
            frames = max(0, size - 32) // self.FRAME
            if frames < self.LEAST or self._reaches(file, frames - self.LEFT):
                room = min(max(frames, self.LEAST), self.MOST)
                frames += room
                missing = 32 + frames * self.FRAME - size
                os.pwrite(file, bytes(missing), size)
            self._mark, self._idle = min(self._limit, frames - self.LEFT), b""
        self._short = False

    def is_long(self) -> bool:
        """After a commit: whether the present round has passed the limit. One or two reads of 8
        bytes."""
        try:
            file = self._opened()
            salts = _read(file, 8, self._place(self._mark))
            if salts and salts == self._idle:
                return False
            if not self._reaches(file, self._mark):
                self._idle, self._short = salts, not salts
                return False
        except OSError:
            return False
        self._short = True
        return self._mark >= self._limit

    def checkpointed(self, frames: int, done: int) -> None:
        """Sets the next look: a step further where a reader kept the WAL from starting anew."""
        self._limit = self._step if frames == done else frames + self._step
        self._begin()

    def _opened(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | _BINARY | _CLOEXEC)
        return self._file

    def _place(self, frame: int) -> int:
        """Where the salts of a frame are."""
        return 32 + frame * self.FRAME + 8

    def _reaches(self, file: int, frame: int) -> bool:
        """Whether the present round has come to a frame."""
        salts = _read(file, 8, self._place(frame))
        return salts != b"" and salts == _read(file, 8, 16)

    def close(self) -> None:
        """Closes the file; the next look opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
        self._begin()

    def __del__(self) -> None:
        self.close()


if sys.platform == "win32":

    def _read(file: int, count: int, offset: int) -> bytes:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, count)

else:
    _read = os.pread
