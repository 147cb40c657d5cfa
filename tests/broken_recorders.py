"""Recorders that are broken on purpose, each in one place, for the simulation to find."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from doxa import erasing
from doxa.engine import checkpoint, disk, transaction
from doxa.engine.beacon import Beacon
from doxa.engine.errors import StorageError
from doxa.engine.lockfile import LockFile
from doxa.engine.stream import Stream
from doxa.engine.transaction import Transaction
from doxa.engine.writer import Writer

BROKEN: dict[str, Callable[[], Any]] = {}


def broken(make: Callable[[], Iterator[None]]) -> Callable[[], Iterator[None]]:
    """Enters a way of breaking the recorder under its function's name."""
    BROKEN[make.__name__] = contextmanager(make)
    return make


def _pragma(value: str) -> Any:
    others = [pragma for pragma in disk._WRITING if "synchronous" not in pragma]
    return patch.object(disk, "_WRITING", (*others, f"PRAGMA synchronous={value}"))


# ---------------------------------------------------------------- flushes


@broken
def nothing_is_flushed() -> Iterator[None]:
    with _pragma("OFF"):
        yield


@broken
def commits_are_flushed_at_the_next_checkpoint() -> Iterator[None]:
    with _pragma("NORMAL"):
        yield


@broken
def a_failing_flush_is_passed_over() -> Iterator[None]:
    end = Transaction.__exit__

    def passing(self: Transaction, *error: Any) -> None:
        try:
            end(self, *error)
        except StorageError as failure:
            if "FSYNC" not in str(failure):
                raise

    with patch.object(Transaction, "__exit__", passing):
        yield


@broken
def checkpoints_are_not_flushed() -> Iterator[None]:
    committed = Writer.committed

    def hasty(self: Writer, connection: Any, head: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        committed(self, connection, head)
        connection.execute("PRAGMA synchronous=FULL")

    with patch.object(Writer, "committed", hasty):
        yield


@broken
def a_new_log_is_not_flushed() -> Iterator[None]:
    with patch.object(disk, "flush", lambda path: None):
        yield


@broken
def the_folder_of_a_new_log_is_not_flushed() -> Iterator[None]:
    with patch.object(disk, "make_folder", lambda path: os.makedirs(path, exist_ok=True)):
        yield


# ---------------------------------------------------------------- commits


@broken
def it_is_acknowledged_before_the_commit() -> Iterator[None]:
    """The commit comes as the next transaction begins, or never."""
    begin, late = Writer.begin, set()

    class Later:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, sql: str, *rest: Any) -> Any:
            if sql == "COMMIT":
                late.add(self._connection)
                return None
            return self._connection.execute(sql, *rest)

    def beginning(self: Writer) -> Any:
        if self._connection in late:
            late.discard(self._connection)
            self._connection.execute("COMMIT")  # type: ignore[union-attr]
        return Later(begin(self))

    with patch.object(Writer, "begin", beginning):
        yield


@broken
def the_head_row_moves_in_a_transaction_of_its_own() -> Iterator[None]:
    committed = Writer.committed

    def later(self: Writer, connection: Any, head: Any) -> None:
        connection.execute(
            "UPDATE head SET position=?, recorded_at=?, chain=?",
            (head.position, head.recorded_at, head.chain),
        )
        committed(self, connection, head)

    with (
        patch.object(Transaction, "_set_head", lambda self: None),
        patch.object(Writer, "committed", later),
    ):
        yield


@broken
def a_commit_of_several_events_is_several() -> Iterator[None]:
    write = Transaction._write

    def piecemeal(self: Transaction, sql: str, rows: list[tuple[Any, ...]]) -> None:
        for number, row in enumerate(rows):
            if number and sql == transaction._INSERT:
                self._connection.execute("COMMIT")
                self._connection.execute("BEGIN IMMEDIATE")
            write(self, sql, [row])

    with patch.object(Transaction, "_write", piecemeal):
        yield


@broken
def times_follow_the_clock() -> Iterator[None]:
    def by_the_clock(self: Transaction, stated: int | None, head: Any) -> int:
        return self._writer.clock() if stated is None else stated

    with patch.object(Transaction, "_recorded_at", by_the_clock):
        yield


@broken
def what_failed_to_commit_stays_in_memory() -> Iterator[None]:
    never = property(lambda self: False, lambda self, value: None)
    with patch.object(Stream, "_touched", never, create=True):
        yield


# ---------------------------------------------------------------- several processes


@broken
def nobody_takes_the_lock() -> Iterator[None]:
    """Nor asks where the log ends."""

    def taken(self: LockFile, timeout: float) -> bool:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.inode = os.fstat(self._file).st_ino
        return True

    with (
        patch.object(LockFile, "acquire", taken),
        patch.object(LockFile, "is_there", lambda self: True),
        patch.object(Beacon, "locked", lambda self, inode: True),
    ):
        yield


@broken
def others_are_told_of_the_first_commit_alone() -> Iterator[None]:
    write = Beacon._write

    def once(self: Beacon, number: int) -> None:
        if self._read() & 1:
            write(self, number)

    with patch.object(Beacon, "_write", once):
        yield


@broken
def a_number_that_was_not_told_is_used_twice() -> Iterator[None]:
    def committed(self: Beacon) -> None:
        self._number += 1
        with suppress(OSError):
            self._write(self._number)

    with patch.object(Beacon, "committed", committed):
        yield


@broken
def a_deleted_lock_file_is_not_noticed() -> Iterator[None]:
    with patch.object(LockFile, "is_there", lambda self: True):
        yield


# ---------------------------------------------------------------- what may be thrown away, and must


@broken
def a_rotten_cache_is_believed() -> Iterator[None]:
    with patch.object(checkpoint, "zlib", SimpleNamespace(crc32=lambda data, crc=0: 0)):
        yield


@broken
def a_power_cut_brings_old_caches_back() -> Iterator[None]:
    with patch.object(erasing, "settle", lambda folder: None):
        yield


@broken
def erased_bytes_are_left_in_the_wal() -> Iterator[None]:
    with patch.object(Writer, "empty_wal", lambda self: None):
        yield
