"""The reading side of a log: connections lent for one statement each."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from doxa.engine import disk

__all__ = ["Readers"]


class Readers:
    """Connections to read with, each lent to one thread at a time; never waiting for a writer.

    In memory there is one connection for all, used by one thread at a time under ``guard``.
    """

    def __init__(
        self,
        path: str | None,
        timeout: float,
        guard: threading.RLock,
        memory: sqlite3.Connection | None,
    ) -> None:
        self._path, self._timeout, self._guard, self._memory = path, timeout, guard, memory
        self._open: list[sqlite3.Connection] = []
        self._idle: list[sqlite3.Connection] = []  # those of the open that are not lent
        self._gate = threading.Lock()  # held while a fork is under way
        self._frozen_as: tuple[int, int] | None = None
        self._closed = False

    def select(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows of one statement, in a read transaction of its own. Raises `DoxaError` only."""
        try:
            connection = self._take()
        except (OSError, sqlite3.Error) as error:
            raise disk.refusal(error, self._path) from error
        try:
            rows = connection.execute(sql, parameters).fetchall()
        except BaseException as error:
            self._give(connection, sound=False)
            if isinstance(error, sqlite3.Error):
                raise disk.refusal(error, self._path) from error
            raise
        self._give(connection)
        return rows

    @contextlib.contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """A connection for several statements. Errors of SQLite's are raised as they are."""
        try:
            connection = self._take()
        except (OSError, sqlite3.Error) as error:
            raise disk.refusal(error, self._path) from error
        sound = False
        try:
            yield connection
            sound = True
        finally:
            self._give(connection, sound)

    def _take(self) -> sqlite3.Connection:
        if self._closed:
            raise disk.closed(self._path)
        if self._memory is not None:
            self._guard.acquire()
            return self._memory
        if self._frozen_as is not None:
            self._look_again()
        try:
            return self._idle.pop()
        except IndexError:
            with self._gate:
                connection = self._connect()
                self._open.append(connection)
            return connection

    def _give(self, connection: sqlite3.Connection, sound: bool = True) -> None:
        if self._memory is not None:
            self._guard.release()
        elif sound:
            self._idle.append(connection)
            if self._closed:
                self._close_idle()
        else:
            self._open.remove(connection)
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        assert self._path is not None
        if not disk.is_frozen(self._path):
            return disk.connect(self._path, "ro", self._timeout)
        stat = os.stat(self._path)
        self._frozen_as = (stat.st_mtime_ns, stat.st_size)
        return disk.connect(self._path, "frozen", self._timeout)

    def _look_again(self) -> None:
        """In a folder that is closed to us another user may still write: then nothing is kept."""
        assert self._path is not None
        stat = os.stat(self._path)
        if (stat.st_mtime_ns, stat.st_size) != self._frozen_as or not disk.is_frozen(self._path):
            self._frozen_as = None
            self._close_idle()

    def close(self) -> None:
        """Closes all connections, those now lent when they are given back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                self._open.remove(connection)
                connection.close()

    def pause(self, patience: float) -> bool:
        """Before a fork: closes all connections and opens none until `resume`, in the parent.

        Whether all could be closed within ``patience`` seconds.
        """
        deadline = time.monotonic() + patience
        self._gate.acquire()
        self._close_idle()
        while self._open and time.monotonic() < deadline:
            time.sleep(0.001)
            self._close_idle()
        return not self._open

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._gate.release()

    def forget(self) -> None:
        """After a fork, in the child: leaves what could not be closed to the parent."""
        for connection in self._open:
            assert self._path is not None
            disk.abandon(connection, self._path)
