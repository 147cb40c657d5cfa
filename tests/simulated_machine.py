"""A simulated machine: its disk, its clocks, its chance, the processes on it, and what goes wrong.

Every process is a thread, of which only one runs at a time. At each write, flush, creation, removal
and lock the machine may let another go on, and may do harm: all by one seed, so that a run can be
had again. A process that is killed goes on for a while as a ghost, since a thread can't be ended:
from then on nothing that it does has an effect, and all that it tries fails.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple
from zlib import crc32

from tests.histories import DAY, GRID
from tests.simulated_disk import Disk, File, Image, Place

LONGEST: Final = 60.0  # real seconds that one process may go on without coming by
# What ends processes: all of them, with what was not flushed; all of them; one of them.
LOSSES: Final = ("power", "fall", "kill")
TROUBLES: Final = ("full", "error", "flush", "slow", "clock")
_FITS: Final = {  # the events that a fault strikes; the others strike any
    "full": ("write", "make"),
    "error": ("write",),
    "flush": ("flush",),
    "slow": ("flush",),
}


class Killed(BaseException):
    """Raised in a process that is no more; nothing in the product may stop it."""


class Refusal(NamedTuple):
    """Why something is not done (``dead``, ``full`` or ``error``), and how many bytes of it are."""

    kind: str
    portion: int = 0


@dataclass(eq=False)
class Process:
    """One process on the machine: a thread that waits for its turn."""

    name: str
    number: int
    work: Callable[[], None]
    dead: bool = False
    done: bool = False
    failed_flushes: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.turn.acquire()
        self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.given_back = threading.Lock()
        self.given_back.acquire()

    def _run(self) -> None:
        self.turn.acquire()
        try:
            self.work()
        finally:
            self.done = True
            self.given_back.release()

    def give_back(self) -> None:
        """In its own thread: lets others go on, until its turn comes again."""
        self.given_back.release()
        self.turn.acquire()


@dataclass
class Plan:
    """What may happen in a run, and how often."""

    random: Random
    kinds: tuple[str, ...]
    gap: int  # events between two faults, about
    eager: float  # how likely another process goes on at each event

    def __post_init__(self) -> None:
        self.at, self.kind = self._next(0)

    def _next(self, now: int) -> tuple[int, str | None]:
        if not self.kinds:
            return 0, None
        return now + self.random.randint(1, self.gap), self.random.choice(self.kinds)

    def hasten(self, now: int) -> None:
        """Something that is rarely done begins: the next fault may come soon."""
        if self.kind is not None and self.random.random() < 0.4:
            self.at = now + self.random.randint(1, 12)

    def due(self, now: int, what: str) -> str | None:
        """What goes wrong with this event."""
        if self.kind is None or now < self.at or what not in _FITS.get(self.kind, (what,)):
            return None
        kind = self.kind
        self.at, self.kind = self._next(now)
        return kind


class Machine:
    """One machine, from when it is switched on to when it stops."""

    def __init__(self, folder: str, disk: Disk, plan: Plan, clock: Clock, trace: list[str]) -> None:
        self.folder = os.path.realpath(folder)
        self.disk, self.plan, self.random, self.clock = disk, plan, plan.random, clock
        self.trace, self.events = trace, 0
        self.broken: list[BaseException] = []  # what went wrong with the simulation itself
        self.ended: str | None = None  # by which loss
        self.running: Process | None = None
        self.killed: Callable[[Process], None] = lambda process: None
        self.troubles = self._full = 0
        for place, content in sorted(disk.seen().items()):
            path = os.path.join(self.folder, *place)
            if content is None:
                os.makedirs(path, exist_ok=True)
            else:
                with open(path, "wb") as file:
                    file.write(content)

    def place(self, path: str) -> Place | None:
        """Where a path is on the disk; ``None`` if it is elsewhere, or only shared memory."""
        path = os.path.abspath(path)
        if path == self.folder:
            return ()
        if not path.startswith(self.folder + os.sep) or path.endswith("-shm"):
            return None
        return tuple(path[len(self.folder) + 1 :].split(os.sep))

    # ------------------------------------------------------------ processes

    def run(self, processes: list[Process]) -> None:
        """Lets processes take turns until all are done."""
        for process in processes:
            process.thread.start()
        waiting = list(processes)
        while waiting:
            self.running = process = self.random.choice(waiting)
            process.turn.release()
            if not process.given_back.acquire(timeout=LONGEST):
                raise TimeoutError(f"{process.name} hangs after event {self.events}")
            if process.done:
                process.thread.join()
                waiting.remove(process)
        self.running = None
        if self.broken:
            raise self.broken[0]

    def is_off(self) -> bool:
        """Whether the process that runs is no more."""
        running = self.running
        return self.ended is not None or (running is not None and running.dead)

    def pass_by(self, always: bool = False) -> None:
        """Perhaps another process goes on."""
        running = self.running
        if running is None or running.thread is not threading.current_thread() or self.is_off():
            return
        if always or self.random.random() < self.plan.eager:
            running.give_back()

    def wait_for(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Lets others go on until something is so. Whether it is within ``seconds``."""
        deadline = self.clock.elapsed + seconds
        while not ready():
            if self.is_off():
                raise Killed
            if self.clock.elapsed >= deadline:
                return False
            self.clock.pass_time(0.01)
            self.pass_by(always=True)
        return True

    def sleep(self, seconds: float) -> None:
        """Time passes for the process that runs."""
        self.clock.pass_time(seconds)
        self.pass_by(always=True)

    def chance(self, count: int) -> bytes:
        """Bytes that nobody foresees, save by the seed."""
        return self.random.randbytes(count)

    # ------------------------------------------------------------ what happens, and what goes wrong

    def reach(self, what: str, place: Place, offset: int = 0, data: bytes = b"") -> Refusal | None:
        """Something is about to be done: why it is not, if it is not."""
        self.pass_by()
        if self.is_off():
            return Refusal("dead")
        self.events += 1
        self.clock.pass_time(self.random.randrange(3_000) / 1e6)
        name = "nobody" if self.running is None else self.running.name
        detail = f" {offset}+{len(data)} {crc32(data):08x}" if what == "write" else ""
        if "cache" in place:  # whose bytes may follow the order of sets, which is Python's chance
            detail = detail[: detail.rfind(" ")]
        self.trace.append(f"{self.events} {name}: {what} {'/'.join(place)}{detail}")
        if self._full and what in _FITS["full"]:
            self._full -= 1
            return self._no_room(place, offset, data)
        kind = self.plan.due(self.events, what)
        if kind is None:
            return None
        self.trace.append(f"{self.events} {name}: ***** {kind}")
        return self._harm(kind, place, offset, data)

    def _harm(self, kind: str, place: Place, offset: int, data: bytes) -> Refusal | None:
        random = self.random
        self.troubles += 1
        if kind in LOSSES:
            if kind == "kill" and self.running is not None:
                self.running.dead = True
                self.killed(self.running)
            else:
                self.ended = kind
            return Refusal("dead", random.randrange(len(data) + 1) if random.random() < 0.5 else 0)
        if kind == "full":
            self._full = random.choice((0, 2, 10, 40))
            return self._no_room(place, offset, data)
        if kind == "slow":
            self.clock.pass_time(random.choice((0.2, 3.0, 45.0)))
            self.pass_by(always=True)
            return Refusal("dead") if self.is_off() else None
        if kind == "clock":
            self.clock.step(random)
            return None
        if kind == "flush" and self.running is not None:
            self.running.failed_flushes += 1
        return Refusal("error")

    def _no_room(self, place: Place, offset: int, data: bytes) -> Refusal | None:
        found = self.disk.find(place)
        size = len(found.seen) if isinstance(found, File) else -1
        if offset + len(data) <= size:
            return None  # what is there can be written over
        self.troubles += 1
        return Refusal("full", self.random.randrange(len(data) + 1) if data else 0)

    def flush(self, file: File, place: Place) -> Refusal | None:
        """A file is flushed: why not, if it is not."""
        refusal = self.reach("flush", place)
        if refusal is None:
            file.flush()
        elif refusal.kind == "error":
            file.flush_in_part(self.random)
        return refusal

    def flush_folder(self, place: Place) -> Refusal | None:
        """The entries of a folder are flushed: why not, if they are not."""
        refusal = self.reach("flush", place)
        if refusal is None:
            self.disk.flush_folder(place)
        return refusal

    def left(self) -> Disk:
        """What the next start finds: after a power cut, or what the processes saw, not all of it
        flushed."""
        return Disk(self.disk.after_a_cut(self.random)) if self.ended == "power" else self.disk

    def unseen(self) -> list[str]:
        """Where the folder is not as the disk says: something was written past the simulation."""
        found: Image = {}
        for folder, folders, files in os.walk(self.folder):
            place = tuple(os.path.relpath(folder, self.folder).split(os.sep))
            place = () if place == (".",) else place
            found.update({(*place, name): None for name in folders})
            for name in files:
                if not name.endswith("-shm"):
                    with open(os.path.join(folder, name), "rb") as file:
                        found[(*place, name)] = file.read()
        seen = self.disk.seen()
        return ["/".join(p) for p in {**found, **seen} if found.get(p, 1) != seen.get(p, 1)]


class Clock:
    """The time of day, which may be set, and the time that has passed."""

    def __init__(self) -> None:
        self.now = GRID[2]  # microseconds since 1970
        self.elapsed = 1_000.0  # seconds

    def pass_time(self, seconds: float) -> None:
        """Time passes."""
        self.elapsed += seconds
        self.now += round(seconds * 1e6)

    def step(self, random: Random) -> None:
        """Somebody sets the clock."""
        self.now += random.choice((-1, 1)) * random.choice((1, 10**6, 3_600 * 10**6, 400 * DAY))

    # what `time` has, for the modules that ask it

    def monotonic(self) -> float:
        return self.elapsed

    def time(self) -> float:
        return self.now / 1e6

    def time_ns(self) -> int:
        return self.now * 1_000
