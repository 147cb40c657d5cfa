"""How long a write waits for another writer, and what is said when that was too long."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pytest

import doxa
from doxa.engine import disk
from doxa.engine.lockfile import LockFile


def test_a_write_waits_as_long_as_it_was_told(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l", lock_timeout=0.05) as ledger:
        ledger.claim("x", "p", 1, id="a", source="s")
        lock = LockFile(str(tmp_path / "l" / "log.sqlite.lock"))
        assert lock.acquire(1)
        with pytest.raises(doxa.StorageError, match=r"is locked.* over 0\.05 s") as raised:
            ledger.claim("x", "p", 2, source="s")
        assert (raised.value.locked, raised.value.uncertain) == (True, False)
        assert pickle.loads(pickle.dumps(raised.value)).locked
        assert ledger.revision == 1
        lock.close()
        ledger.claim("x", "p", 2, source="s")
        assert ledger.revision == 2


@pytest.mark.parametrize("wrong", [-1, True, "1", float("nan"), 1e9, None])
def test_a_time_to_wait_is_seconds(wrong: float) -> None:
    with pytest.raises(doxa.CallerError, match="lock_timeout is"):
        doxa.open(lock_timeout=wrong)


@pytest.mark.parametrize(
    ("code", "locked", "uncertain"),
    [
        (sqlite3.SQLITE_BUSY, True, False),
        (sqlite3.SQLITE_FULL, False, False),
        (sqlite3.SQLITE_IOERR_FSYNC, False, True),
    ],
)
def test_a_refusal_says_whether_it_is_certain(code: int, locked: bool, uncertain: bool) -> None:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode, error.sqlite_errorname = code, "NO"
    told = disk.refusal(error, "log")
    assert isinstance(told, doxa.StorageError)
    assert (told.locked, told.uncertain) == (locked, uncertain)
