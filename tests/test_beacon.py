"""What tells that nothing was committed since one last looked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.engine.beacon import Beacon
from doxa.engine.lockfile import LockFile

DAY = "2024-06-01"


def test_a_number_is_trusted_only_while_it_is_even_and_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "log.lock")
    Path(path).touch()
    writer, reader = Beacon(path), Beacon(path)
    assert not reader.unchanged_since(reader.now())  # nobody has committed: there is no number
    writer.locked(0)
    writer.committing()
    writer.committed()
    seen = reader.now()
    assert reader.unchanged_since(seen)
    writer.locked(0)
    writer.committing()
    assert not reader.unchanged_since(seen)
    assert not reader.unchanged_since(reader.now())  # under way, or never ended
    writer.locked(0)
    writer.committing()
    writer.committed()
    assert not reader.unchanged_since(seen)
    assert reader.unchanged_since(reader.now())


def test_a_deleted_lock_file_is_noticed_before_long(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        mine.claim("x", "p", 1, source="s")
        assert other.revision == 1
        (tmp_path / "l.doxa" / "log.sqlite.lock").unlink()
        mine.claim("x", "p", 2, source="s")
        time.sleep(0.06)
        assert other.revision == 2


def test_a_truncated_lock_file_is_not_read_beyond_its_end(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        mine.claim("x", "p", 1, source="s")
        assert other.revision == 1
        os.truncate(tmp_path / "l.doxa" / "log.sqlite.lock", 0)
        assert mine.revision == other.revision == 1
        mine.claim("x", "p", 2, source="s")
        assert mine.revision == other.revision == 2


def test_a_commit_under_a_new_lock_file_is_seen_at_once_by_its_own_process(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as ledger:
        ledger.claim("x", "p", 1, source="s")
        assert ledger.recorder.head().position == 1
        (tmp_path / "l.doxa" / "log.sqlite.lock").unlink()
        ledger.claim("x", "p", 2, source="s")
        assert ledger.recorder.head().position == 2


def test_a_ledger_whose_lock_file_may_not_be_written_asks_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refused(path: str, flags: int, *rest: int) -> int:
        if str(path).endswith(".lock") and sys._getframe(1).f_code.co_name == "_find":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refused)
    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        for i in range(5):
            mine.claim("x", "p", i, source="s")
            assert other.revision == i + 1


def test_nothing_is_asked_of_the_log_while_nothing_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with doxa.open(tmp_path / "l.doxa") as ledger:
        ledger.claim("x", "p", 1, source="s")
        assert ledger.view(valid_at=DAY).value("x", "p") == 1
        asked: list[str] = []
        select = ledger.recorder._readers.select

        def noted(sql: str, *parameters: Any) -> list[Any]:
            asked.append(sql)
            return select(sql, *parameters)

        monkeypatch.setattr(ledger.recorder._readers, "select", noted)
        deadline = time.monotonic() + 0.02
        while time.monotonic() < deadline:
            assert ledger.view(valid_at=DAY).revision == 1
        assert len(asked) <= 2  # what is trusted for a while may just have run out


COMMITS = """
import sys, doxa
with doxa.open(sys.argv[1]) as ledger:
    for i in range(int(sys.argv[2])):
        ledger.claim("x", "p", i, source="s")
        print(ledger.revision, flush=True)
"""


def test_what_another_process_has_told_of_is_always_seen(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as ledger:
        child = subprocess.Popen(
            [sys.executable, "-c", COMMITS, str(tmp_path / "l.doxa"), "60"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        for line in child.stdout:
            assert ledger.revision >= int(line)
        child.stdout.close()
        assert child.wait() == 0
        assert ledger.revision == 60


def test_a_commit_that_fails_leaves_the_log_to_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with doxa.open(tmp_path / "l.doxa") as ledger:
        ledger.claim("x", "p", 1, source="s")
        assert ledger.revision == 1
        writer = ledger.recorder._writer

        class Failing(Beacon):
            def committing(self) -> None:
                super().committing()
                raise sqlite3.OperationalError("database or disk is full")

        failing = Failing(writer.beacon._path)
        monkeypatch.setattr(writer, "beacon", failing)
        with pytest.raises(doxa.DoxaError):
            ledger.claim("x", "p", 2, source="s")
        monkeypatch.undo()
        assert writer.beacon.now() & 1
        assert ledger.revision == 1
        ledger.claim("x", "p", 3, source="s")
        assert ledger.revision == 2
        assert not writer.beacon.now() & 1


def test_a_number_that_could_not_be_told_is_not_taken_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: object) -> int:
        raise OSError(5, "Input/output error")

    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        mine.claim("x", "p", 1, source="s")
        committed = Beacon.committed

        def untold(beacon: Beacon) -> None:
            with monkeypatch.context() as patched:
                patched.setattr(os, "pwrite", failing)
                committed(beacon)

        with monkeypatch.context() as patched:
            patched.setattr(Beacon, "committed", untold)
            mine.claim("x", "p", 2, source="s")
        other.claim("x", "p", 3, source="s")
        assert mine.revision == 3
        mine.claim("x", "p", 4, source="s")
        assert mine.revision == other.revision == 4
        assert mine.verify().ok


def test_nothing_is_committed_that_others_can_not_be_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: object) -> int:
        raise OSError(5, "Input/output error")

    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        mine.claim("x", "p", 1, source="s")
        assert other.revision == 1
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", failing)
            with pytest.raises(doxa.StorageError, match="nothing was written"):
                mine.claim("x", "p", 2, source="s")
        assert mine.revision == other.revision == 1
        other.claim("x", "p", 2, source="s")
        mine.claim("x", "p", 3, source="s")
        assert mine.revision == other.revision == 3


def test_a_lock_file_that_is_deleted_just_after_it_was_locked_hides_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire = LockFile.acquire
    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        mine.claim("x", "p", 1, source="s")

        def overtaken(lock: LockFile, timeout: float) -> bool:
            monkeypatch.undo()
            assert acquire(lock, timeout)
            (tmp_path / "l.doxa" / "log.sqlite.lock").unlink()
            other.claim("x", "p", 2, source="s")
            return True

        monkeypatch.setattr(LockFile, "acquire", overtaken)
        mine.claim("x", "p", 3, source="s")
        other.claim("x", "p", 4, source="s")
        assert mine.revision == other.revision == 4
        assert mine.verify().ok
