"""Deterministic simulation of faults: processes write to a ledger on a machine that fails them.

One seed makes one run. A run is a few lives of a machine; in each, one to three processes use the
same ledger through the public interface, on the files and the SQLite of every day, while the
machine, under all of it, lets another process go on at any write, flush or lock, and does harm:

- **power**: a power cut; of what was not flushed some is kept, in any order, torn at sectors;
- **fall**: all processes end, as by a crash of the program; what they wrote is there;
- **kill**: one process ends, the others go on; it may start again;
- **full**: the disk has no room for a while, and takes a part of what is written;
- **error**: a write fails;
- **flush**: a flush fails, and what it has not kept is lost, though it can still be read;
- **slow**: a flush takes so long that others give up waiting;
- **clock**: the clock is set, forward or back, by a microsecond to more than a year;

besides a lock file that somebody deletes or that holds any number, and a cache that has rotted.
Which of these there are, how often, and what the processes do, is drawn anew for each seed. What
must hold is in `simulated_history`, the machine in `simulated_machine`, its disk in
`simulated_disk`; SQLite gets there by `simulated_sqlite`, Python's own calls by `simulated_system`.

``python -m tests.simulation SEED`` runs a seed again and prints what happened.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

import doxa
from doxa.engine.disk import Wal
from tests.histories import GRID, moment
from tests.simulated_disk import Cut, Disk, Folder, Image, Written
from tests.simulated_history import Stored, Wrong, stored
from tests.simulated_machine import LOSSES, TROUBLES, Clock, Machine, Plan, Process
from tests.simulated_process import OPERATIONS, Program, Workload
from tests.simulated_system import running_on

LEDGER = ("home", "people.doxa")
LOG = (*LEDGER, "log.sqlite")


@dataclass
class Run:
    """One run, by its seed."""

    seed: int
    folder: Path
    kinds: tuple[str, ...] = ()  # these faults alone
    more: Mapping[str, float] = field(default_factory=dict)  # operations that are done more often
    trace: list[str] = field(default_factory=list)
    lives: int = 0
    events: int = 0

    def __post_init__(self) -> None:
        random = self.random = Random(self.seed)
        kinds = [kind for kind in (*LOSSES, *TROUBLES) if random.random() < 0.4]
        self.plan = Plan(
            random,
            self.kinds or tuple(kinds),
            random.choice((10, 60, 250)),
            random.choice((0.0, 0.02, 0.2)),
        )
        operations = {
            name: random.choice((0, 1, 1, 4)) * usual for name, usual in OPERATIONS.items()
        }
        operations["append"] += 1
        for name, weight in self.more.items():
            operations[name] += weight
        self.work = Workload(
            random, operations, random.choice((5, 15, 40)), embeds=random.random() < 0.2
        )
        self.history = self.work.history
        self.processes = random.choice((1, 1, 2, 2, 3))
        self.limit = random.choice((10, 30, 1_000)) * Wal.FRAME
        self.clock = Clock()

    def go(self) -> str:
        """Runs it; returns a digest of all that happened. Raises `Wrong`, with the story."""
        self.trace.append(
            f"seed {self.seed}: {self.processes} processes, {self.work.steps} steps, faults "
            f"{', '.join(self.plan.kinds) or 'none'}, one in about {self.plan.gap // 2} events"
        )
        try:
            disk = Disk({LEDGER[:1]: None})
            with patch.object(Wal, "LIMIT", self.limit):
                for _ in range(self.random.choice((1, 2, 2, 3))):
                    disk = self._life(disk)
                self._healthy(disk.seen())
        except Exception as error:
            raise Wrong(self.story(error)) from error
        digest = hashlib.blake2b(digest_size=16)
        for part in (*self.trace, *sorted(self.history.rows.items())):
            digest.update(repr(part).encode())
        return digest.hexdigest()

    def story(self, error: BaseException) -> str:
        """What a failure prints."""
        return "\n".join(
            [
                f"seed {self.seed}: {type(error).__name__}: {error}",
                f"to run it again: python -m tests.simulation {self.seed}",
                "what happened last:",
                *(f"  {line}" for line in self.trace[-40:]),
            ]
        )

    # ------------------------------------------------------------ a life

    def _life(self, disk: Disk) -> Disk:
        """A machine from its start until it stops; what it leaves, which was looked at."""
        self.lives += 1
        folder = self.folder / f"life {self.lives}"
        folder.mkdir()
        machine = Machine(str(folder), disk, self.plan, self.clock, self.trace)
        self.trace.append(f"life {self.lives}")
        with running_on(machine) as system:
            path = os.path.join(machine.folder, *LEDGER)
            programs = {}
            for number in range(self.processes):
                program = Program(machine, system, self.work, f"{'abc'[number]}{self.lives}", path)
                programs[Process(program.name, 1_000 + number, program.run)] = program
            machine.killed = lambda process: programs[process].dying()
            machine.run(list(programs))
        self.events += machine.events
        self.trace.append(f"the end of life {self.lives}: {machine.ended or 'all have finished'}")
        if different := machine.unseen():
            raise Wrong(f"the simulation has not seen what was written to {different}")
        self.history.unflushed |= machine.ended == "fall"
        left = machine.left()
        self._settle(left.seen())
        shutil.rmtree(folder)
        self._rot(left)
        return left

    def _settle(self, left: Image) -> list[Stored]:
        """Looks at what is left, with nothing of the product but the oracle."""
        for position, secret in self.history.erased.items():
            for place, content in left.items():
                if content and secret in content:
                    raise Wrong(f"{position} was erased, and {place[-1]} has its bytes")
        with placed(self.folder / "look", left) as ledger:
            rows = stored(str(ledger / "log.sqlite"))
            self.history.settle(rows)
        self.trace.append(f"{len(rows)} events are left")
        return rows

    def _rot(self, disk: Disk) -> None:
        """What else may happen to files between two lives."""
        random = self.random
        for place in sorted(disk.seen(), reverse=True):
            file = disk.find(place)
            if isinstance(file, Folder) or file is None or random.random() < 0.8:
                continue
            elif place[-1].endswith(".lock"):
                file.change(Cut(0))
                file.change(Written(0, random.choice((b"", random.randbytes(8)))))
            elif "cache" in place and file.seen:
                at = random.randrange(len(file.seen))
                if random.random() < 0.3:
                    file.change(Cut(at))
                else:
                    file.change(Written(at, bytes([file.seen[at] ^ 1 << random.randrange(8)])))

    # ------------------------------------------------------------ afterwards

    def _healthy(self, image: Image) -> None:
        """On a machine without faults all is as it was told, and goes on."""
        rows = self._settle(image)
        with placed(self.folder / "healthy", image) as path:
            with doxa.open(path, clock=lambda: moment(self.clock.now)) as ledger:
                if ledger.revision != len(rows):
                    raise Wrong(f"SQLite finds {len(rows)} events, the ledger {ledger.revision}")
                _sound(ledger)
                answers = _answers(ledger)
                self._as_it_was(ledger)
            shutil.rmtree(path / "cache", ignore_errors=True)
            with doxa.open(path, clock=lambda: moment(self.clock.now)) as ledger:
                if (anew := _answers(ledger)) != answers:
                    raise Wrong(f"with its cache the ledger says {answers}, without {anew}")
                self._as_it_was(ledger)
                for number in range(3):
                    ledger.claim("at last", "p", number, id=f"at last {number}", source="register")
                if ledger.revision != len(rows) + 3:
                    raise Wrong(f"three more after {len(rows)} are {ledger.revision}")
                _sound(ledger)

    def _as_it_was(self, ledger: doxa.Ledger) -> None:
        """Old views are what they were when somebody captured them."""
        if self.history.erasing:  # which shows at every revision
            return
        for (revision, workspace, v), fingerprint in self.history.fingerprints.items():
            view = ledger.view(valid_at=moment(v), known_at=revision, workspace=workspace)
            if view.fingerprint != fingerprint:
                raise Wrong(f"the view at {revision}, {workspace!r}, {moment(v)} has changed")


def _sound(ledger: doxa.Ledger) -> None:
    report = ledger.verify()
    if not report.ok:
        raise Wrong(str(report))


def _answers(ledger: doxa.Ledger) -> list[object]:
    """A little of all that a ledger is asked."""
    views = [ledger.view(valid_at=moment(at), workspace=w) for at in GRID[1::2] for w in ("", "w")]
    found = ledger.recall("secret words", view=views[0], top_k=50, standing="any")
    return [
        *(view.fingerprint for view in views),
        *(view.entries() for view in views),
        [(hit.id, hit.verdict) for hit in found.hits],
    ]


@contextmanager
def placed(folder: Path, image: Image) -> Iterator[Path]:
    """An image in real files for a while; the folder of the ledger."""
    for place, content in sorted(image.items()):
        path = folder.joinpath(*place)
        if content is None:
            path.mkdir(parents=True)
        else:
            path.write_bytes(content)
    try:
        yield folder.joinpath(*LEDGER)
    finally:
        shutil.rmtree(folder)


def run(seed: int, kinds: tuple[str, ...] = (), more: Mapping[str, float] | None = None) -> Run:
    """One run, with faults of some ``kinds`` alone, and ``more`` of some operations. Raises
    `Wrong` with its story."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        done = Run(seed, Path(folder), kinds, more or {})
        done.trace.append(f"digest {done.go()}")
        return done


if __name__ == "__main__":
    import tests.conftest

    assert tests.conftest.__doc__, "small histories are treated as large ones, as in the tests"
    try:
        print("\n".join(run(int(sys.argv[1])).trace))
    except Wrong as wrong:
        sys.exit(str(wrong))
