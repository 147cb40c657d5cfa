"""The writing side of a log: its one connection, the locks around it, and its checkpoints."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable

from doxa.engine import disk
from doxa.engine.beacon import Beacon
from doxa.engine.errors import CallerError, StorageError
from doxa.engine.lockfile import LockFile
from doxa.engine.log import Head

__all__ = ["Writer"]


class Writer:
    """The one writing connection of a process, and the locks around it."""

    def __init__(
        self,
        path: str | None,
        clock: Callable[[], int],
        timeout: float,
        guard: threading.RLock,
        memory: sqlite3.Connection | None,
        announce: Callable[[], None],
    ) -> None:
        self.path, self.clock, self.announce = path, clock, announce
        self.known: Head | None = None  # where the log ends, while nobody else has committed
        self.inode = 0  # of the file at ``path`` when it was opened
        self.forgotten = self._closed = self._busy = False
        self._timeout, self._guard, self._memory = timeout, guard, memory
        self._connection: sqlite3.Connection | None = None
        self._lock = LockFile(path + ".lock") if path else None
        self._wal = disk.Wal(path) if path else None
        self.beacon = Beacon(path + ".lock" if path else None)

    def create(self) -> None:
        """Creates the log under the lock, unless another process has done so by then."""
        assert self.path is not None
        assert self._lock is not None
        disk.make_folder(os.path.dirname(self.path))
        if not self._lock.acquire(self._timeout):
            raise self._locked()
        try:
            if disk.unfinished(self.path):
                disk.create(self.path, self.clock())
        finally:
            self._lock.release()

    def begin(self) -> sqlite3.Connection:
        """The connection, in a transaction that holds all locks, until `end`."""
        disk.check_fork(self.path)
        if not self._guard.acquire(blocking=False) and not self._guard.acquire(
            timeout=self._timeout
        ):
            raise self._locked()
        locked = False
        try:
            if self._closed:
                raise disk.closed(self.path)
            if self._busy:
                raise CallerError("a transaction is open in this thread; append to that one")
            while True:
                if self._lock is not None:
                    locked = self._lock.acquire(self._timeout)
                    if not locked:
                        raise self._locked()
                connection = self._memory or self._connected()
                connection.execute("BEGIN IMMEDIATE")
                if self._lock is None or self._lock.is_there():
                    break
                connection.execute("ROLLBACK")  # it was deleted meanwhile: others wait for another
            if self._lock is not None and not self.beacon.locked(self._lock.inode):
                self.known = None
        except BaseException as error:
            if isinstance(error, sqlite3.Error):
                self.discard()
            if locked and self._lock is not None:
                self._lock.release()
            self._guard.release()
            if isinstance(error, OSError | sqlite3.Error):
                raise disk.refusal(error, self.path) from error
            raise
        self._busy = True
        return connection

    def _locked(self) -> StorageError:
        return StorageError.told(
            f"{self.path or disk.MEMORY} is locked: another writer kept it for over "
            f"{self._timeout:g} s; nothing was written: let it finish, then repeat",
            locked=True,
        )

    def astray(self) -> str | None:
        """What became of the file since it was opened, if it is no longer at its path."""
        if self.path is None:
            return None
        try:
            if os.stat(self.path).st_ino == self.inode:
                return None
        except OSError as error:
            return f"{self.path} is no longer there: {error.strerror}; restore the last backup"
        return f"{self.path} was replaced since it was opened; open it again"

    def _connected(self) -> sqlite3.Connection:
        assert self.path is not None
        if os.stat(self.path).st_ino != self.inode:
            raise StorageError(
                f"{self.path} was replaced since it was opened; nothing was written: open it again"
            )
        if self._connection is None:
            self._connection = disk.connect(self.path, "rw", self._timeout)
            disk.settle(self._connection, self.path, self._timeout)
        return self._connection

    def end(self) -> None:
        """Gives the locks back."""
        self._busy = False
        if self._lock is not None:
            self._lock.release()
        self._guard.release()

    def discard(self) -> None:
        """After an error of the disk nothing of the old connection is trusted."""
        self.known = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def committing(self) -> None:
        """Before a commit, in its transaction: others are told, and its flush lengthens no file."""
        if self._lock is not None and self._wal is not None:
            self._wal.make_room()
            self.beacon.committing()

    def committed(self, connection: sqlite3.Connection, head: Head) -> None:
        """After a commit, under the lock: others are told, and a long WAL is brought into the log.
        The commit stands already, whatever happens here."""
        self.known = head
        self.beacon.committed()
        if self._wal is not None and self._wal.is_long():
            with contextlib.suppress(sqlite3.Error):
                row = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                self._wal.checkpointed(row[1], row[2])

    def empty_wal(self) -> None:
        """Brings all of the WAL into the log and cuts it to nothing, as soon as no reader needs it.

        Raises `StorageError` after the timeout.
        """
        if self.path is None:
            return
        deadline = time.monotonic() + self._timeout
        while True:
            connection = self.begin()
            try:
                connection.execute("ROLLBACK")
                connection.execute("PRAGMA busy_timeout=50")
                blocked = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                connection.execute(f"PRAGMA busy_timeout={int(self._timeout * 1000)}")
                if not blocked and os.path.getsize(self.path + "-wal") == 0:
                    disk.flush(self.path + "-wal")  # or a power cut brings the old bytes back
                    return
            except (OSError, sqlite3.Error) as error:
                self.discard()
                raise disk.refusal(error, self.path) from error
            finally:
                self.end()
            if time.monotonic() > deadline:
                raise StorageError(
                    f"the data is erased in {self.path}, but a reader still keeps its old bytes in "
                    "the WAL; end the other readers, then erase the same events again"
                )
            time.sleep(0.02)

    def vacuum(self) -> None:
        """Writes the file anew without the pages that nothing uses; it is cut shorter as soon as
        the WAL is brought into it. Readers go on meanwhile."""
        connection = self.begin()
        try:
            connection.execute("ROLLBACK")
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            self.discard()
            raise disk.refusal(error, self.path) from error
        finally:
            self.end()

    def close(self) -> None:
        """Waits for a write under way, then closes.

        The last connection of all brings the WAL into the log and removes it, under the lock
        where that is free; with others open, a long WAL is at least brought into the log.
        """
        if not self._guard.acquire(timeout=self._timeout):
            raise self._locked()
        try:
            if self._busy:
                raise CallerError("a transaction is open in this thread; end it before closing")
            self._closed = True
            if self._memory is not None:
                self._memory.close()
            if self._connection is not None:
                self._close_connection(self._connection)
                self._connection = None
            if self._lock is not None:
                self._lock.close()
            self.beacon.close()
        finally:
            self._guard.release()

    def _close_connection(self, connection: sqlite3.Connection) -> None:
        assert self.path is not None
        assert self._lock is not None
        assert self._wal is not None
        held = False
        with contextlib.suppress(OSError):
            held = self._lock.acquire(min(1.0, self._timeout))
        with contextlib.suppress(OSError, sqlite3.Error):
            if held and os.path.getsize(self.path + "-wal") >= self._wal.LIMIT:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        self._wal.close()
        connection.close()

    def pause(self, patience: float) -> bool:
        """Before a fork: ends and closes what is under way, and begins nothing until `resume`.

        False, and nothing is held up, where that can't be: within a transaction of this thread,
        or if another's takes longer than ``patience`` seconds.
        """
        if not self._guard.acquire(timeout=patience):
            return False
        if self._busy:
            self._guard.release()
            return False
        if self._connection is not None:
            self._close_connection(self._connection)
            self._connection = None
        if self._lock is not None:
            self._lock.close()
        return True

    def resume(self) -> None:
        """After a fork, in the parent, where `pause` succeeded."""
        self._guard.release()

    def forget(self) -> None:
        """After a fork, in the child, where `pause` failed: leaves all to the parent."""
        self.forgotten = True
        if self._connection is not None and self.path is not None:
            disk.abandon(self._connection, self.path)
        if self._lock is not None:
            self._lock.forget()
        if self._wal is not None:
            self._wal.close()
        if self._memory is not None and self._memory.in_transaction:
            self._memory.execute("ROLLBACK")
