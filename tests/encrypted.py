"""Encrypted ledgers for tests, and what may be found of them on the disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

import doxa
from doxa.engine.transaction import Transaction
from doxa.ledger import Ledger
from doxa.oracle import Log
from tests.histories import moment
from tests.support import ROOT
from tests.walks import Walk

DAY = "2024-06-01"

if not os.environ.get("CI"):  # there it is installed, or the tests fail
    pytest.importorskip("cryptography")


class EncryptedWalk(Walk):
    """A ledger on its way through a history, encrypted, in ``folder / "ledger"``."""

    def _open(self) -> Ledger:
        assert self.folder is not None
        keys = self.folder / "keys"
        return doxa.open(self.folder / "ledger", keys=keys, clock=lambda: moment(self._now))

    def log(self) -> Log:
        return Log.from_rows(self.rows(), self.ledger.recorder.keyed.secret)


def opened(folder: Path, *, name: str = "ledger") -> Ledger:
    """The encrypted ledger in a folder, beside its keys."""
    return doxa.open(folder / name, keys=folder / "keys")


def found_in(folder: Path, words: Sequence[str]) -> list[tuple[str, str]]:
    """The words that are to be read in files below a folder, with their files."""
    return [
        (str(path.relative_to(folder)), word)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for word in words
        if word.encode() in path.read_bytes()
    ]


def stored(ledger: Path) -> Iterator[tuple[int, str, bytes, bytes | None]]:
    """Position, type, head and data of the events, as the log's file has them."""
    connection = sqlite3.connect(f"file:{ledger / 'log.sqlite'}?mode=ro", uri=True)
    try:
        yield from connection.execute(
            "SELECT position, type, head, data FROM log ORDER BY position"
        ).fetchall()
    finally:
        connection.close()


def overwrite(ledger: Path, position: int, data: bytes | None) -> None:
    """Has the file say something else at a position; nobody may have it open."""
    connection = sqlite3.connect(ledger / "log.sqlite")
    connection.execute("UPDATE log SET data=? WHERE position=?", (data, position))
    connection.commit()
    connection.close()


# ---------------------------------------------------------------- other processes


def start(action: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Starts a child on the ledger in a folder: ``python -m tests.encrypted ACTION FOLDER …``."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.encrypted", action, str(folder), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _claiming(folder: str, name: str, count: str) -> None:
    """Claims about new subjects, one commit each, once told to go."""
    with opened(Path(folder)) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            ledger.claim(f"subject {number}", "named by", name, id=f"{name}-{number}", source=name)


def _dying(folder: str) -> None:
    """A claim about a new subject, whose process dies when its key is there, before it commits."""
    with opened(Path(folder)) as ledger, patch.object(Transaction, "append_all", _die):
        ledger.claim("ada", "lives_in", "London", source="s")


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    actions: dict[str, Callable[..., None]] = {"claim": _claiming, "die": _dying}
    actions[sys.argv[1]](*sys.argv[2:])
