"""What a simulated process does with a ledger, and what it makes of the answers."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import doxa
from doxa.engine.errors import CallerError, ConflictError, StorageError
from doxa.engine.store import LogStore
from tests.histories import INSTANTS, Author, Fields, iso, moment
from tests.simulated_history import Attempt, Fate, History, Key, Stored, Wrong
from tests.simulated_machine import Killed, Machine
from tests.simulated_sqlite import left_open
from tests.simulated_system import System

# What a process may do, and how often beside the others.
OPERATIONS: Final = {
    "append": 8.0, "claim": 3.0, "load": 2.0, "look": 4.0, "index": 1.0, "reopen": 1.5,
    "verify": 0.5, "erase": 0.7, "unlock": 0.3, "maintain": 1.0,
}  # fmt: skip
RARE: Final = ("index", "reopen", "verify", "erase", "maintain")
STALE: Final = 0.06  # seconds that readers may be behind once the lock file was deleted


def embedded(texts: Sequence[str]) -> Any:
    """Vectors that depend on the text alone."""
    return np.array([[len(text), text.count("s"), 1.0] for text in texts])


@dataclass
class Workload:
    """What the processes of a run do, and what they know."""

    random: Random
    operations: dict[str, float]
    steps: int
    embeds: bool
    history: History = field(default_factory=History)
    counts: dict[str, int] = field(default_factory=dict)
    behind: float = 0.0  # until when readers may be behind

    def __post_init__(self) -> None:
        self.author = Author(self.random)

    def fresh(self, kind: str) -> str:
        """An id that no other process gives."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind} {self.counts[kind]}"


class Program:
    """One process at its work: it opens the ledger, does this and that, and closes it; where it
    was killed alone, it may start again."""

    def __init__(
        self, machine: Machine, system: System, work: Workload, name: str, path: str
    ) -> None:
        self.machine, self.system, self.work, self.name = machine, system, work, name
        self.path, self.random, self.history = path, work.random, work.history
        self.ledger: doxa.Ledger | None = None
        self.stores: list[LogStore] = []
        self.left = work.steps
        self.untold: list[list[Fields]] = []  # commits that nobody knows of, to be tried again
        self._shared: list[tuple[str, int, bytes]] = []

    def run(self) -> None:
        """The thread's work. What goes wrong ends the run."""
        try:
            while self._lived() and self.left > 0:
                pass
        except BaseException as error:
            self.machine.broken.append(error)
            self.machine.ended = self.machine.ended or "broken"
            self._bury()

    def _lived(self) -> bool:
        """One life of the process; whether there shall be another."""
        process = self.machine.running
        assert process is not None
        try:
            self._session()
        except BaseException as error:
            if not self.machine.is_off() or isinstance(error, Wrong):
                raise
        if not self.machine.is_off():
            return False
        self._bury()
        if self.machine.ended is None and self.random.random() < 0.7:
            process.dead = False
            process.number += 100
            return True
        return False

    # ------------------------------------------------------------ the end of a process

    def dying(self) -> None:
        """The process is killed now: the memory that it shares is to stay as it is."""
        self.history.unflushed = True
        for folder, _, files in os.walk(self.machine.folder):
            for name in files:
                if name.endswith("-shm"):
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        self._shared.append((path, os.stat(path).st_ino, file.read()))

    def _bury(self) -> None:
        """What the system does with the things of a process that is no more: its files are closed,
        its locks given back, and no byte written."""
        self.ledger = None
        for store in self.stores:
            readers, writer = store._readers._open, store._writer._connection
            for connection in [*readers, *([] if writer is None else [writer])]:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        self.stores.clear()
        self.system.unlock(self.machine.running)
        if left_open(self.machine):
            gc.collect()
        for path, inode, content in self._shared:
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_ino == inode:
                    with open(path, "r+b", buffering=0) as file:
                        file.write(content)
        self._shared.clear()

    # ------------------------------------------------------------ its life

    def _session(self) -> None:
        if not self._open():
            return
        names = list(self.work.operations)
        weights = list(self.work.operations.values())
        while self.left > 0 and self.ledger is not None:
            self.left -= 1
            name = self.random.choices(names, weights)[0]
            self._do(name, getattr(self, f"_{name}"))
        if self.ledger is not None:
            self._do("close", self._close)

    def _do(self, name: str, operation: Callable[[], None]) -> None:
        """One thing, which the machine may refuse, but for a reason only."""
        if self.machine.is_off():
            raise Killed
        self.machine.trace.append(f"{self.name}: {name}")
        if name in RARE:
            self.machine.plan.hasten(self.machine.events)
        troubles = self.machine.troubles
        try:
            operation()
        except StorageError as error:
            if self.machine.is_off():
                raise Killed from error
            if troubles == self.machine.troubles and "slow" not in self.machine.plan.kinds:
                raise Wrong(f"{self.name}: {name} was refused without a cause: {error}") from error
            said = str(error).replace(self.machine.folder, "")
            self.machine.trace.append(f"{self.name}: {name}: {said}")

    def _open(self) -> bool:
        def opening() -> None:
            embedder = doxa.Embedder("lengths", embedded) if self.work.embeds else None
            with self._noted():
                self.ledger = doxa.open(
                    self.path, clock=lambda: moment(self.machine.clock.now), embedder=embedder
                )
            self._seen(self.ledger.revision, before)

        before = self.history.seen
        for _ in range(4):
            self._do("open", opening)
            if self.ledger is not None:
                return True
        return False

    @contextlib.contextmanager
    def _noted(self) -> Any:
        """The stores that are made meanwhile by this process, so that they can be closed."""
        begin, mine = LogStore.__init__, self.machine.running

        def noting(store: LogStore, *given: Any) -> None:
            begin(store, *given)
            if self.machine.running is mine:
                self.stores.append(store)

        with patch.object(LogStore, "__init__", noting):
            yield

    def _close(self) -> None:
        ledger, self.ledger = self.ledger, None
        assert ledger is not None
        try:
            ledger.close()
        finally:
            if not self.machine.is_off():
                self.stores.clear()

    def _reopen(self) -> None:
        self._close()
        if not self._open():
            self.left = 0

    # ------------------------------------------------------------ what is written

    def _tried(
        self, what: str, commits: list[list[Key]], write: Callable[[], int | None]
    ) -> Attempt:
        """Writes, and takes note of what it is told. ``write`` returns how many events are new, if
        it is told that."""
        assert self.ledger is not None
        process = self.machine.running
        assert process is not None
        attempt = Attempt(self.name, what, commits)
        self.history.attempts.append(attempt)
        before, failed = self.history.seen, process.failed_flushes
        try:
            new = write()
        except (CallerError, ConflictError):
            attempt.fate = Fate.REFUSED
            return attempt
        except StorageError as error:
            self.history.unflushed |= process.failed_flushes > failed
            if "nothing was written" in str(error) and not self.machine.is_off():
                attempt.fate = Fate.REFUSED
            elif process.failed_flushes == failed and not self.machine.is_off():
                raise Wrong(f"{attempt}: left open without a cause: {error}") from error
            raise
        if self.machine.is_off():  # it was told, and nobody heard it
            raise Killed
        attempt.fate = Fate.ACKNOWLEDGED
        self.machine.trace.append(f"{self.name}: {attempt}")
        self._look_back(attempt, new or 0, before)
        return attempt

    def _look_back(self, attempt: Attempt, new: int, before: int) -> None:
        """What was acknowledged is read, and what was seen before it is not overtaken."""
        assert self.ledger is not None
        fold, _ = self.ledger._stream.capture()
        graph = fold.belief.graph
        found = [graph.find(*key) for commit in attempt.commits for key in commit]
        positions = sorted({graph.position_of(number) for number in found if number >= 0})
        rows = [Stored(*row[:5], row.chain or b"") for row in self.ledger.recorder.rows(positions)]
        self.history.read(rows)
        self.history.tell(positions[-1])
        if len(rows) != len({key for commit in attempt.commits for key in commit}):
            raise Wrong(f"{attempt}: is not all there right afterwards: {positions}")
        if new and rows[-new].position <= before:
            raise Wrong(f"{attempt}: at {rows[-new].position}, but {before} was seen before")

    def _append(self) -> None:
        assert self.ledger is not None
        ledger, untold = self.ledger, self.untold
        again = untold.pop() if untold and self.random.random() < 0.5 else None
        events = self.work.author.commit() if again is None else again
        untold.append(events)
        keys = list(dict.fromkeys((e.get("workspace", ""), e["id"]) for e in events))
        attempt = self._tried("append", [keys], lambda: ledger.append(events).new)
        untold.remove(events)
        if attempt.fate is Fate.ACKNOWLEDGED:
            self.work.author.learn(events)

    def _claim(self) -> None:
        id, ledger = self.work.fresh("x"), self.ledger
        secret = f"secret {self.machine.chance(6).hex()}"
        assert ledger is not None

        def write() -> int:
            ledger.claim(id, "says", secret, id=id, text=f"{secret} words", source="register")
            return 1

        self._tried("claim", [[("", id)]], write)

    def _load(self) -> None:
        """Several commits by an import, with one flush."""
        lines: list[Fields] = []
        commits: list[list[Key]] = []
        assert self.ledger is not None
        ledger, at = self.ledger, self.machine.clock.now
        for number in range(self.random.randint(1, 5)):
            ids = [self.work.fresh("l") for _ in range(self.random.randint(1, 3))]
            commits.append([("w", id) for id in ids])
            lines += [
                {"event": "claim", "id": id, "workspace": "w", "subject": "s", "predicate": "p",
                 "object": id, "source": "register", "recorded_at": iso(at + number)}
                for id in ids
            ]  # fmt: skip

        def write() -> None:
            report = ledger.import_events(map(json.dumps, lines), restamp=True)
            if report.set_aside or report.events != len(lines):
                raise Wrong(f"of {len(lines)} lines, in {len(commits)} commits: {report}")

        self._tried("load", commits, write)

    def _erase(self) -> None:
        """Purges a claim that is put away for it."""
        assert self.ledger is not None
        known = [row for row in self.history.rows.values() if row.key[1].startswith("x ")]
        if not known:
            return
        row = self.random.choice(known)
        assert row.data is not None
        self.history.erasing.add(row.position)
        try:
            self.ledger.archive(row.key[1])
            purged = self.ledger.purge(row.key[1])
        except CallerError as error:  # others were faster, or it came back meanwhile
            self.machine.trace.append(f"{self.name}: {error}")
            return
        if self.machine.is_off():
            raise Killed
        if not purged.pending:
            self.history.erased[row.position] = json.loads(row.data)["object"].encode()
            self.machine.trace.append(f"{self.name}: {row.position} is erased")
            self.machine.plan.hasten(self.machine.events)

    # ------------------------------------------------------------ what is read, and the rest

    def _seen(self, revision: int, before: int) -> None:
        if revision < before and self.machine.clock.elapsed > self.work.behind:
            raise Wrong(f"{self.name} sees {revision}, after {before} was seen")
        self.history.see(revision)

    def _look(self) -> None:
        assert self.ledger is not None
        before, v = self.history.seen, self.random.choice(INSTANTS)
        workspace = self.random.choice(("", "w"))
        view = self.ledger.view(valid_at=moment(v), workspace=workspace)
        self._seen(view.revision, before)
        if view.revision:
            self._remember(view.revision, workspace, v, view.fingerprint)
        if self.history.fingerprints:
            old = self.random.choice(list(self.history.fingerprints))
            if old[0] <= view.revision:
                revision, workspace, v = old
                then = self.ledger.view(valid_at=moment(v), known_at=revision, workspace=workspace)
                self._remember(revision, workspace, v, then.fingerprint)

    def _remember(self, revision: int, workspace: str, v: int, fingerprint: str) -> None:
        if self.history.erasing:  # which shows at every revision
            return
        key = revision, workspace, v
        if self.history.fingerprints.setdefault(key, fingerprint) != fingerprint:
            raise Wrong(f"{self.name} sees another view at {revision}, {workspace!r}, {moment(v)}")

    def _index(self) -> None:
        assert self.ledger is not None
        self.ledger.index()

    def _verify(self) -> None:
        assert self.ledger is not None
        report = self.ledger.verify(oracle=False)
        if not report.ok and not self.machine.is_off():
            raise Wrong(f"{self.name}: {report}")

    def _unlock(self) -> None:
        """Somebody deletes the lock file."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.path, "log.sqlite.lock"))
            self.work.behind = self.machine.clock.elapsed + STALE

    def _maintain(self) -> None:
        """The upkeep that a ledger offers, as far as it does."""
        assert self.ledger is not None
        maintain = getattr(self.ledger, "maintain", None)
        if maintain is not None:
            maintain()
