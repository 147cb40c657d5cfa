"""Whether anything was committed since one last looked, told without asking SQLite.

The lock file beside a log holds one number of 8 bytes, mapped by every process that has the log
open. Who holds the lock makes it odd before a commit and even, and larger, after it; a commit that
failed or was killed leaves it odd until the next one succeeds. So whoever finds the even number
that was there when they last asked the log knows that the log is where it was.
"""

from __future__ import annotations

import contextlib
import math
import mmap
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
        # a log in memory has no other process, and its number no file
        self._number = memoryview(bytearray(_SIZE)).cast("Q") if path is None else None
        self._inode = 0
        self._until = math.inf if path is None else 0.0

    def unchanged_since(self, number: int) -> bool:
        """Whether the log is known to be where it was when `now` gave an even ``number``."""
        found = self._number
        return (
            found is not None
            and found[0] == number
            and not number & 1
            and time.monotonic() < self._until
        )

    def now(self) -> int:
        """The number, to be read before the log is asked; odd where it can't be had."""
        if self._path is not None:
            self._map(self._path)
            self._until = time.monotonic() + _TRUSTED
        return 1 if self._number is None else int(self._number[0])

    def committing(self) -> None:
        """Before a commit, under the lock."""
        if self._path is not None:
            self._map(self._path)
        if self._number is not None:
            self._number[0] |= 1

    def committed(self) -> None:
        """After a commit, under the lock."""
        if self._number is not None:
            self._number[0] = (self._number[0] | 1) + 1

    def _map(self, path: str) -> None:
        """Maps the file that is at the path now, made long enough by whoever comes first."""
        with contextlib.suppress(OSError):  # without it, the log itself is asked
            stat = os.stat(path)
            if self._number is not None and stat.st_ino == self._inode and stat.st_size >= _SIZE:
                return
            self._number = None
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if os.fstat(file).st_size < _SIZE:
                    os.ftruncate(file, _SIZE)
                self._number = memoryview(mmap.mmap(file, _SIZE)).cast("Q")
                self._inode = os.fstat(file).st_ino
            finally:
                os.close(file)
