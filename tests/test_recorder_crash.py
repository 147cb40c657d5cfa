"""Writers that are killed at random moments: nothing acknowledged is lost, nothing is half done.

The log survives the death of a process by what SQLite has written; a power cut is not tested here.
``DOXA_KILLS`` sets the number of kills.
"""

from __future__ import annotations

import os
import random
import select
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from doxa.engine.errors import StorageError
from doxa.engine.store import LogStore
from tests.recorder_support import append, environment, python, tampering, writer

BATCHES = (1, 7, 500, 5_000)
KILLS = int(os.environ.get("DOXA_KILLS", "50"))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")


def wait_for_line(child: subprocess.Popen[bytes]) -> bytes:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], 30)
    assert ready, "the writer did not start"
    return os.read(child.stdout.fileno(), 1 << 16)


def killed_under_load(path: Path, batches: list[int], delay: float) -> list[list[int]]:
    """What writers acknowledged until each was killed: last position, process, number."""
    children = [writer(path, batch) for batch in batches]
    said = [wait_for_line(child) for child in children]
    acknowledged = []
    for child, begun in zip(children, said, strict=True):
        time.sleep(delay / len(children))
        child.kill()
        out = begun + child.communicate(timeout=30)[0]
        whole = out[: out.rfind(b"\n") + 1]  # the kill may cut a line, not an acknowledged commit
        acknowledged += [[int(word) for word in line.split()] for line in whole.splitlines()]
    return acknowledged


def check(path: Path, acknowledged: list[list[int]], seen: int) -> int:
    """Looks at what is left, then appends to it; returns the last position."""
    with tampering(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    lasts = [last for last, _, _ in acknowledged]
    assert len(lasts) == len(set(lasts)), "a position was given out twice"
    with LogStore.open(path) as store:
        found = store.verify()
        assert found.problems == []
        assert found.events == found.position >= max([seen, *lasts])
        for last, process, number in acknowledged[-50:]:
            row = store.row(last)
            assert row is not None
            assert row.data is not None
            assert row.data.startswith(b"%d-%d-" % (process, number)), (
                "an acknowledged event is lost"
            )
        assert append(store, 1).first == found.position + 1
    return found.position + 1


def kill_repeatedly(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    left, turn = kills, 0
    while left > 0:
        path, seen = folder / f"{seed}-{turn}" / "log.sqlite", 0
        turn += 1
        for _ in range(12):  # then a new log, so that checking stays quick
            batches = [chance.choice(BATCHES) for _ in range(chance.choice([1, 1, 2, 3]))]
            seen = check(path, killed_under_load(path, batches, chance.random() * 0.2), seen)
            left -= len(batches)
            if left <= 0:
                break


@pytest.mark.timeout(0)
def test_kills_under_load_lose_nothing_acknowledged(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    kill_repeatedly(tmp_path, KILLS, seed)


@pytest.mark.torture
def test_hundreds_of_kills_under_load_lose_nothing_acknowledged(tmp_path: Path) -> None:
    kill_repeatedly(tmp_path, max(KILLS, 300), 1)


def test_a_kill_during_creation_leaves_no_log_or_a_whole_one(tmp_path: Path) -> None:
    chance = random.Random(3)
    for attempt in range(20):
        path = tmp_path / str(attempt) / "log.sqlite"
        child = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash_writer.py")), str(path), "0"],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            env=environment(),
        )
        wait_for_line(child)
        time.sleep(chance.random() * 0.01)
        child.kill()
        child.communicate(timeout=30)
        assert not path.exists() or path.stat().st_size > 4096
        with LogStore.open(path) as store:
            assert append(store, 1).first == 1
            assert store.verify().problems == []


@pytest.mark.parametrize("step", ["remove", "fsync", "replace"])
def test_a_creation_that_dies_at_any_step_is_done_again(tmp_path: Path, step: str) -> None:
    path = tmp_path / "log.sqlite"
    (tmp_path / "log.sqlite.new").touch()
    python(
        "import os, sys; from doxa.engine.store import LogStore\n"
        f"os.{step} = lambda *_: os._exit(0)\n"
        "LogStore.open(sys.argv[1]); os._exit(1)",
        path,
    )
    assert not path.exists()
    with LogStore.open(path) as store:
        assert append(store, 1).first == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.sqlite", "log.sqlite.lock"]


def test_a_log_is_not_created_without_its_wal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite keeps the old journal mode, and says no more, where the disk fails it at that."""

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
            return super().execute("PRAGMA journal_mode" if "=WAL" in sql else sql, *rest)

    path = tmp_path / "log.sqlite"
    connect = partial(sqlite3.connect, factory=Failing)
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", connect)
        with pytest.raises(StorageError, match="write-ahead log"):
            LogStore.open(path)
    assert not path.exists()
    with LogStore.open(path) as store:
        assert append(store, 1).first == 1


def test_a_kill_between_erasing_and_emptying_the_wal_can_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    python(
        "import os, sys; from doxa.engine.store import LogStore\n"
        "from doxa.engine.log import NewEvent\n"
        "from doxa.engine.writer import Writer\n"
        "store = LogStore.open(sys.argv[1])\n"
        "with store.write() as t: t.append([NewEvent('claim', b'{}', b'payload-secret')] * 3)\n"
        "Writer.empty_wal = lambda self: os._exit(0)\n"
        "store.erase([2])",
        path,
    )
    with LogStore.open(path) as store:
        assert [problem.code for problem in store.verify().problems] == []
        assert store.row(2).data is None  # type: ignore[union-attr]
        store.erase([1, 2, 3])
    assert b"payload-secret" not in path.read_bytes()


def test_the_tests_own_look_at_the_file_is_by_the_same_library() -> None:
    """Two copies of SQLite in one process would drop each other's locks."""
    assert sqlite3.connect is sqlite3.dbapi2.connect
