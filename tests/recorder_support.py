"""What the recorder's tests share: events, logs, a clock to set, and processes of their own."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from doxa.engine.log import Appended, NewEvent
from doxa.engine.store import LogStore
from tests.support import ROOT

START = 1_700_000_000_000_000  # microseconds


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def event(number: int = 0, *tags: str, data: bytes | None = None) -> NewEvent:
    head = b'{"v":1,"id":"c%d"}' % number
    return NewEvent("claim", head, b"payload-%d" % number if data is None else data, tags)


def append(store: LogStore, *numbers: int) -> Appended:
    """One commit with an event for each number."""
    with store.write() as transaction:
        return transaction.append([event(number) for number in numbers])


def filled(path: Path, commits: int = 10) -> bytes:
    """A closed log of one-event commits at ``path``; returns its head's link."""
    with LogStore.open(path) as store:
        with store.write() as transaction:
            for number in range(1, commits + 1):
                transaction.append([event(number)])
        return store.head().chain


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, as whoever has it can change it."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def codes(store: LogStore) -> list[tuple[int, str]]:
    return [(problem.position, problem.code) for problem in store.verify().problems]


# For code that shall run without root's rights: modules are loaded before they are given up.
POWERLESS = """
import os, sys
import doxa.engine.errors, doxa.engine.log, doxa.engine.store
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


def python(code: str, *arguments: object) -> str:
    """What a Python process of its own prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def enterable(folder: Path) -> None:
    """Lets others into the test's own folders, down to this one."""
    for parent in folder.parents:
        if parent.owner() == "root" and parent.stat().st_mode & 0o077 == 0:
            parent.chmod(0o755)


def writer(path: Path, *arguments: object) -> subprocess.Popen[bytes]:
    """A process that appends for ever; see `tests.crash_writer`."""
    script = ROOT / "tests" / "crash_writer.py"
    return subprocess.Popen(
        [sys.executable, str(script), str(path), *map(str, arguments)],
        stdout=subprocess.PIPE,
        env=environment(),
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def bytes_on_disk(folder: Path, names: Sequence[str]) -> bytes:
    """The files' bytes, read by a process of its own: closing a file of SQLite's here would drop
    this process's locks on it."""
    paths = [str(folder / name) for name in names if (folder / name).exists()]
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfor p in sys.argv[1:]: sys.stdout.buffer.write(open(p, 'rb').read())",
            *paths,
        ],
        capture_output=True,
        check=True,
    ).stdout
