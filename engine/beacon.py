"""Whether anything was committed since one last looked, told without asking SQLite.

The lock file beside a log holds one number of 8 bytes. Who holds the lock makes it odd before a
commit and even, and larger, after it; a commit that failed or was killed leaves it odd until the
next one succeeds. So whoever finds the even number that was there when they last asked the log
knows that the log is where it was. A new lock file begins with a number of its own.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from typing import Final

__all__ = ["Beacon"]

_SIZE: Final = 8
_TRUSTED: Final = 0.05  # seconds: if the lock file was deleted, the number here stands still


class Beacon:
    """The number in one lock file. Reading it takes no lock."""

    def __init__(self, path: str | None) -> None:
        self._path = path if sys.platform != "win32" else None
        self._file: int | None = None
        self._inode = -1
        self._number = 1  # what was read or written last, under the lock
        # a log in memory has no other process, and its number no file
        self._own = 0 if path is None else 1
        self._until = math.inf if path is None else 0.0

    def unchanged_since(self, number: int) -> bool:
        """Whether the log is known to be where it was when `now` gave an even ``number``."""
        if number & 1 or time.monotonic() >= self._until:
            return False
        if self._file is None:
            return self._read() == number
        try:
            return os.pread(self._file, _SIZE, 0) == number.to_bytes(_SIZE, "little")
        except OSError:
            return False

    def now(self) -> int:
        """The number, to be read before the log is asked; odd where it can't be had."""
        if self._path is not None:
            self._find(self._path)
            self._until = time.monotonic() + _TRUSTED
        return self._read()

    def locked(self, inode: int) -> bool:
        """Under the lock, which is on the file of that inode: whether nobody has committed since
        this beacon told of a commit."""
        if self._path is None:
            return False
        if inode != self._inode:
            self._find(self._path)
        told, self._number = self._number, self._read()
        return self._number == told and not told & 1

    def committing(self) -> None:
        """Before a commit, under the lock. Raises `OSError` where others could not be told."""
        if self._path is not None:
            trusted = not self._number & 1
            if self._number == 1:  # a new file
                self._number = int.from_bytes(os.urandom(6), "little")
            self._number |= 1
            try:
                self._write(self._number)
            except OSError:
                if trusted:
                    raise

    def committed(self) -> None:
        """After a commit, under the lock."""
        if self._path is None:
            self._own += 2
            return
        with contextlib.suppress(OSError):  # odd here too then: the next one will write this number
            self._write(self._number + 1)
            self._number += 1

    def close(self) -> None:
        """Lets the file go."""
        if self._file is not None:
            file, self._file, self._inode = self._file, None, -1
            os.close(file)

    def __del__(self) -> None:
        self.close()

    def _read(self) -> int:
        if self._path is None:
            return self._own
        if self._file is None:  # the log itself is asked
            return 1
        try:
            found = os.pread(self._file, _SIZE, 0)
        except OSError:
            return 1
        return int.from_bytes(found, "little") if len(found) == _SIZE else 1

    def _write(self, number: int) -> None:
        if self._file is not None:
            os.pwrite(self._file, number.to_bytes(_SIZE, "little"), 0)

    def _find(self, path: str) -> None:
        """Opens the file that is at the path now."""
        with contextlib.suppress(OSError):
            if self._file is not None and os.stat(path).st_ino == self._inode:
                return
            self.close()
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            self._inode = os.fstat(self._file).st_ino
