"""The room that is made in the WAL ahead of commits, and when the WAL is long."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.engine.disk import Wal
from doxa.engine.log import NewEvent
from doxa.engine.sqlite import SQLiteRecorder
from doxa.engine.store import LogStore

FRAME = Wal.FRAME


def events(count: int = 1, size: int = 100) -> list[NewEvent]:
    return [NewEvent("claim", b"{}", os.urandom(size)) for _ in range(count)]


def commit(store: LogStore, count: int = 1, size: int = 100) -> None:
    with store.write() as transaction:
        transaction.append(events(count, size))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[LogStore]:
    with SQLiteRecorder.open(path) as opened:
        yield opened


def frames(path: Path) -> int:
    return (Path(f"{path}-wal").stat().st_size - 32) // FRAME


def test_few_commits_lengthen_the_wal(store: LogStore, path: Path) -> None:
    sizes = []
    for _ in range(300):
        commit(store)
        sizes.append(frames(path))
    assert len(set(sizes)) < 20
    used = 2 * 300
    assert used <= sizes[-1] <= used + used // 300 * 50 + Wal.MOST + Wal.LEFT
    assert store.verify().problems == []


def test_a_commit_of_many_pages_goes_beyond_its_room(store: LogStore, path: Path) -> None:
    for count in (1, 1, 200, 1, 1, 300, 1):
        commit(store, count, 3_000)
    assert store.head().position == 505
    assert store.verify().problems == []


def test_the_wal_starts_anew_once_it_is_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wal, "LIMIT", 100 * FRAME)
    with SQLiteRecorder.open(path) as store:
        for _ in range(1_000):
            commit(store)
            assert frames(path) <= 100 + 2 * Wal.MOST
        assert store.verify().problems == []


def test_what_was_written_ahead_is_nothing_to_others(store: LogStore, path: Path) -> None:
    for n in range(50):
        commit(store)
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as other:
            assert other.execute("SELECT max(position) FROM log").fetchone() == (n + 1,)
            assert other.execute("PRAGMA quick_check").fetchone() == ("ok",)
        other.close()


def test_what_was_written_ahead_is_nothing_after_a_crash(
    store: LogStore, path: Path, tmp_path: Path
) -> None:
    for n in range(1, 60):
        commit(store)
        folder = tmp_path / f"copy {n}"  # the files as a crash would leave them
        folder.mkdir()
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", folder / f"log.sqlite{ending}")
        with SQLiteRecorder.open(folder / "log.sqlite") as other:
            assert other.head() == store.head()
            commit(other)
            assert other.verify().problems == []


def test_a_wal_of_zeros_alone_is_empty(store: LogStore, path: Path, tmp_path: Path) -> None:
    """As after a crash between making room and the first commit."""
    commit(store)
    store.close()
    Path(f"{path}-wal").write_bytes(bytes(20 * FRAME))
    with SQLiteRecorder.open(path) as again:
        assert again.head().position == 1
        commit(again)
        assert again.verify().problems == []


COMMIT_ONCE = """
import sys
from doxa.engine.log import NewEvent
from doxa.engine.sqlite import SQLiteRecorder
with SQLiteRecorder.open(sys.argv[1]) as store:
    with store.write() as transaction:
        transaction.append([NewEvent("claim", b"{}", b"{}")])
"""


def test_processes_that_come_and_go_make_no_room_each(store: LogStore, path: Path) -> None:
    for _ in range(20):
        commit(store)
    before = frames(path)
    for _ in range(6):
        subprocess.run([sys.executable, "-c", COMMIT_ONCE, str(path)], check=True)
    assert frames(path) <= before + Wal.MOST
    commit(store)
    assert store.head().position == 27
    assert store.verify().problems == []


def test_room_is_made_anew_in_a_wal_that_another_has_emptied(store: LogStore, path: Path) -> None:
    for _ in range(40):
        commit(store)
    with SQLiteRecorder.open(path) as other:
        other.erase([1])
        assert Path(f"{path}-wal").stat().st_size == 0
    sizes = []
    for _ in range(40):
        commit(store)
        sizes.append(frames(path))
    assert len(set(sizes)) < 8
    assert store.head().position == 80
    assert store.verify().problems == []


def test_a_disk_that_has_no_room_ahead_still_takes_the_commit(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite

    def full(file: int, data: bytes, offset: int) -> int:
        if offset + len(data) > os.fstat(file).st_size:
            raise OSError(28, "No space left on device")
        return write(file, data, offset)

    commit(store)
    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(40):
        commit(store)
    monkeypatch.undo()
    commit(store)
    assert store.head().position == 42
    assert store.verify().problems == []


def test_room_is_made_on_both_sides_of_a_fork(store: LogStore, path: Path) -> None:
    commit(store)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for _ in range(30):
                commit(store)
            status = 0
        finally:
            os._exit(status)
    for _ in range(30):
        commit(store)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.head().position == 61
    assert store.verify().problems == []
