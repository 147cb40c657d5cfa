"""The lock file beside a log: one writer at a time between processes, first come first served.

Every commit and every checkpoint runs under it. It serves waiting processes in turn, which
SQLite's own lock does not, and lets no commit run during a checkpoint, which the WAL-reset bug of
SQLite before 3.51.3 would need to do harm.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["LockFile"]


class LockFile:
    """The lock of one process; its caller lets only one thread in here at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.inode = 0  # of the file that was locked last
        self._file: int | None = None
        self._queued: int | None = None

    def acquire(self, timeout: float) -> bool:
        """Whether the lock was got within ``timeout`` seconds. Raises `OSError`."""
        deadline: float | None = None
        while True:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o666)
            if not _lock_now(self._file):
                deadline = deadline or time.monotonic() + timeout
                if not self._queue(deadline):
                    return False
            found = os.fstat(self._file)
            if found.st_nlink:
                self.inode = found.st_ino
                return True
            self.close()  # somebody deleted the file: lock the one that is there now

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
        self._file = file
        return True

    def is_there(self) -> bool:
        """Whether the file that is locked still has a name, so that all others wait for it too."""
        return self._file is not None and os.fstat(self._file).st_nlink > 0

    def release(self) -> None:
        """Gives the lock back."""
        if self._file is not None:
            _unlock(self._file)

    def close(self) -> None:
        """Gives the lock back, if it was held, and closes the file."""
        if self._file is not None:
            file, self._file = self._file, None
            _close(file)

    def __del__(self) -> None:
        self.close()

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
