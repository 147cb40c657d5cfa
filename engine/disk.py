"""A log file on disk: creating it, connecting to it, the lock beside it, and what can go wrong.

Every commit and every checkpoint runs under one lock file, ``log.sqlite.lock``. It serves waiting
processes in turn, which SQLite's own lock does not, and lets no commit run during a checkpoint,
which the WAL-reset bug of SQLite before 3.51.3 would need to do harm.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Final

from doxa.engine.errors import (
    CallerError,
    DamageError,
    DoxaError,
    NewerFormat,
    NotALedger,
    StorageError,
)
from doxa.engine.log import NO_LINK

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "APPLICATION_ID",
    "FORMAT",
    "LockFile",
    "Wal",
    "abandon",
    "connect",
    "create",
    "create_schema",
    "headless",
    "identify",
    "is_frozen",
    "missing",
    "refusal",
    "unfinished",
]

APPLICATION_ID: Final = 0x646F7861  # "doxa"
FORMAT: Final = 1  # the file's user_version
PAGE: Final = 4096

_SCHEMA: Final = (
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
    where = path or "the ledger in memory"
    if isinstance(error, OSError) and not isinstance(error, sqlite3.Error):
        return StorageError(f"{where}: {error.strerror or error}; nothing was written")
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        if "closed database" in str(error):
            return CallerError(f"{where} is closed; open it again")
        return DamageError(f"{where} holds what can't be read: {error}; run verify")
    kind, name = code & 0xFF, getattr(error, "sqlite_errorname", code)
    if kind in _ADVICE:
        return StorageError(f"{where}: {error} ({name}); nothing was written: {_ADVICE[kind]}")
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


def missing(path: str) -> NotALedger:
    """The refusal where nothing is, and nothing shall be created."""
    return NotALedger(f"there is no ledger at {path}; name a ledger, or create one there")


def headless(path: str | None) -> DamageError:
    """The refusal where the head row is gone."""
    return DamageError(f"{path or 'the ledger in memory'} has lost its head row; {_RESTORE}")


# ---------------------------------------------------------------- the lock file


class LockFile:
    """One writer at a time between processes, first come first served.

    Within one process the caller sees to it that only one thread is in here.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._queued: int | None = None
        self._inode = 0

    def acquire(self, timeout: float) -> bool:
        """Whether the lock was got within ``timeout`` seconds. Raises `OSError`."""
        deadline = time.monotonic() + timeout
        while True:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o666)
                self._inode = os.fstat(self._file).st_ino
            if not _lock_now(self._file) and not self._queue(deadline):
                return False
            with contextlib.suppress(FileNotFoundError):
                if os.stat(self.path).st_ino == self._inode:
                    return True
            self.close()  # somebody deleted or replaced the file: lock the one that is there now

    def _queue(self, deadline: float) -> bool:
        """Waits in the system's queue. The wait itself can't be timed, so a thread does it, on a
        file of its own: if it comes too late, it gives the lock back."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o666)
        self._queued = file
        waiter = _Waiter(file)
        try:
            waiter.ready.wait(max(0.0, deadline - time.monotonic()))
        except BaseException:
            if waiter.claim():
                _close(file)
            raise
        finally:
            self._queued = None
        if not waiter.claim():
            return False
        if self._file is not None:
            os.close(self._file)
        self._file, self._inode = file, os.fstat(file).st_ino
        return True

    def release(self) -> None:
        """Gives the lock back."""
        if self._file is not None:
            _unlock(self._file)

    def close(self) -> None:
        """Gives the lock back, if it was held, and closes the file."""
        if self._file is not None:
            file, self._file = self._file, None
            _close(file)

    def forget(self) -> None:
        """After a fork, in the child: drops the copies without unlocking for the parent."""
        for file in (self._file, self._queued):
            if file is not None:
                os.close(file)
        self._file = self._queued = None


def _close(file: int) -> None:
    with contextlib.suppress(OSError):
        _unlock(file)  # closing alone would not do while a forked child holds a copy
    os.close(file)


class _Waiter:
    """A thread that waits for the lock; `claim` settles once whether its caller still wants it."""

    def __init__(self, file: int) -> None:
        self.ready = threading.Event()
        self._file = file
        self._settle = threading.Lock()
        self._abandoned = False
        threading.Thread(target=self._wait, name="doxa-lock", daemon=True).start()

    def _wait(self) -> None:
        _lock_then(self._file)
        with self._settle:
            if self._abandoned:
                _close(self._file)
            else:
                self.ready.set()

    def claim(self) -> bool:
        with self._settle:
            self._abandoned = not self.ready.is_set()
            return not self._abandoned


if sys.platform == "win32":
    _CLOEXEC: Final = os.O_BINARY

    def _lock_now(file: int) -> bool:
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _lock_then(file: int) -> None:
        while not _lock_now(file):
            time.sleep(0.001)

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    _CLOEXEC: Final = os.O_CLOEXEC

    def _lock_now(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock_then(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


# ---------------------------------------------------------------- connections


def connect(path: str, mode: str, timeout: float) -> sqlite3.Connection:
    """A connection in autocommit. ``mode``: ``rw`` to write, ``ro`` to read, ``frozen`` to read a
    file that nothing can write to, without the files SQLite keeps beside it."""
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


def abandon(connection: sqlite3.Connection) -> None:
    """Keeps a connection that was carried over a fork from ever being closed: closing it here
    could checkpoint and delete the WAL that the parent is writing to."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


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
        connection.execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()
    _flush(new)
    for leftover in (f"{path}-wal", f"{path}-shm"):  # empty, of an empty file
        with contextlib.suppress(FileNotFoundError):
            os.remove(leftover)
    os.replace(new, path)
    if sys.platform != "win32":
        _flush(os.path.dirname(path))


def create_schema(connection: sqlite3.Connection, now: int) -> None:
    """The tables of an empty log, its id and its time of creation."""
    connection.execute(f"PRAGMA page_size={PAGE}")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO meta VALUES('ledger', ?), ('created', ?)", (secrets.token_hex(16), now)
    )
    connection.execute("INSERT INTO head VALUES(1, 0, 0, ?)", (NO_LINK,))
    connection.execute("COMMIT")


def _flush(path: str) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def identify(connection: sqlite3.Connection, path: str) -> str:
    """The ledger's id. Raises `NotALedger`, `NewerFormat` or `DamageError`."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise NotALedger(
            f"{path} is an SQLite file of another program (application id {application:#x}); "
            "name a ledger or a new path"
        )
    if version > FORMAT:
        raise NewerFormat(
            f"{path} has format {version}; this doxa reads up to {FORMAT}: upgrade doxa"
        )
    row = connection.execute("SELECT value FROM meta WHERE key='ledger'").fetchone()
    if row is None or not isinstance(row[0], str):
        raise DamageError(f"{path} has lost its id; {_RESTORE}")
    return row[0]


# ---------------------------------------------------------------- the write-ahead log


class Wal:
    """Whether the WAL has grown past its limit: one look at the frame at that place.

    The file's size tells nothing, since a WAL is overwritten from its start. A frame is of the
    present round if it carries the header's salts. SQLite locks nothing in this file, so opening
    and closing it here is harmless; the log itself must never be opened by other means than
    SQLite, since closing it would drop the locks of the whole process.
    """

    LIMIT: Final = 4 << 20

    def __init__(self, path: str) -> None:
        self._path = path + "-wal"
        self._step = self.LIMIT // (PAGE + 24)
        self._frame = self._step
        self._file: int | None = None

    def is_long(self) -> bool:
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDONLY | _CLOEXEC)
            os.lseek(self._file, 16, os.SEEK_SET)
            salts = os.read(self._file, 8)
            os.lseek(self._file, 32 + self._frame * (PAGE + 24) + 8, os.SEEK_SET)
            return os.read(self._file, 8) == salts != b""
        except OSError:
            return False

    def checkpointed(self, frames: int, done: int) -> None:
        """Sets the next look: a step further where a reader kept the WAL from starting anew."""
        self._frame = self._step if frames == done else frames + self._step

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
