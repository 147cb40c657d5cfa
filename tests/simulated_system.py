"""Python's own calls of the system on a simulated machine: files, flushes, locks, time and chance.

The functions of `os` and the built-in `open` are replaced for a while; below the machine's folder
they go through the machine, elsewhere they do what they always did. Reading is left alone: what
processes see lies in real files.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from doxa import querying, recalling
from doxa.engine import beacon, lockfile, store, tables, whole, writer
from doxa.engine.lockfile import LockFile
from tests.simulated_disk import Cut, File, Place, Written
from tests.simulated_machine import Killed, Machine, Refusal
from tests.simulated_sqlite import sqlite_on

_REAL: Final = SimpleNamespace(
    **{
        name: getattr(os, name)
        for name in (
            *("open", "close", "write", "pwrite", "ftruncate", "fsync", "fdatasync"),
            *("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "urandom", "getpid"),
        )
    },
    file=io.open,
)
_ERRORS: Final = {"full": errno.ENOSPC, "error": errno.EIO}


def _stop(refusal: Refusal | None, path: object = None) -> None:
    """Raises what a refusal is for Python."""
    if refusal is None:
        return
    if refusal.kind == "dead":
        raise Killed
    number = _ERRORS[refusal.kind]
    raise OSError(number, os.strerror(number), path)


class _Raw(io.FileIO):
    """An open file whose writes go through the machine."""

    def __init__(self, system: System, path: str, mode: str) -> None:
        self._system = system
        place = system.machine.place(path)
        assert place is not None
        system.opening(path, place, make="r" not in mode, cut="w" in mode)
        super().__init__(path, mode)
        system.opened(self.fileno(), place, cut="w" in mode)

    def write(self, data: Any) -> int:
        content = bytes(memoryview(data).cast("B"))
        return self._system.write_at(self.fileno(), content, self.tell(), super().write)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        self._system.ftruncate(self.fileno(), size)
        return size

    def close(self) -> None:
        if not self.closed:
            self._system.files.pop(self.fileno(), None)
            self._system.owners.pop(self.fileno(), None)
        super().close()


class System:
    """The system's calls, as the processes of one machine make them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.files: dict[int, tuple[File | None, Place]] = {}  # by descriptor; None is a folder
        self.owners: dict[int, Any] = {}  # the process that opened a descriptor

    # ------------------------------------------------------------ files

    def opening(self, path: Any, place: Place, *, make: bool, cut: bool) -> None:
        """A file is about to be opened for writing."""
        there = os.path.exists(path)
        if not there and make:
            _stop(self.machine.reach("make", place), path)
        elif there and cut:
            _stop(self.machine.reach("cut", place), path)
        elif self.machine.is_off():
            raise Killed

    def opened(self, file: int, place: Place, *, cut: bool = False) -> None:
        """Takes note of a descriptor, at once."""
        if stat.S_ISDIR(os.fstat(file).st_mode):
            self.files[file] = None, place
            return
        found = self.machine.disk.find(place) or self.machine.disk.make(place)
        assert isinstance(found, File), place
        if cut and found.seen:
            found.change(Cut(0))
        self.files[file] = found, place
        self.owners[file] = self.machine.running

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = None if isinstance(path, int) else self.machine.place(os.fsdecode(path))
        if place is None:
            return int(_REAL.open(path, flags, mode, dir_fd=dir_fd))
        cut = bool(flags & os.O_TRUNC)
        self.opening(path, place, make=bool(flags & os.O_CREAT), cut=cut)
        file: int = _REAL.open(path, flags, mode)
        self.opened(file, place, cut=cut)
        return file

    def close(self, file: int) -> None:
        self.files.pop(file, None)
        self.owners.pop(file, None)
        _REAL.close(file)

    def write_at(
        self, file: int, content: bytes, offset: int, really: Callable[[bytes], int | None]
    ) -> int:
        """Writes through the machine what ``really`` writes."""
        node, place = self.files[file]
        assert node is not None
        refusal = self.machine.reach("write", place, offset, content)
        if refusal is not None:
            content = content[: refusal.portion if refusal.kind != "error" else 0]
        if content:
            really(content)
            node.change(Written(offset, content))
        if refusal is not None and not (refusal.kind == "full" and content):
            _stop(refusal)
        return len(content)

    def write(self, file: int, data: Any) -> int:
        if file not in self.files:
            return int(_REAL.write(file, data))
        appends = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_APPEND
        offset = os.fstat(file).st_size if appends else os.lseek(file, 0, os.SEEK_CUR)
        return self.write_at(file, bytes(data), offset, lambda part: _REAL.write(file, part))

    def pwrite(self, file: int, data: Any, offset: int) -> int:
        if file not in self.files:
            return int(_REAL.pwrite(file, data, offset))
        return self.write_at(
            file, bytes(data), offset, lambda part: _REAL.pwrite(file, part, offset)
        )

    def ftruncate(self, file: int, size: int) -> None:
        if file in self.files:
            node, place = self.files[file]
            assert node is not None
            _stop(self.machine.reach("cut", place, size))
            node.change(Cut(size))
        _REAL.ftruncate(file, size)

    def fsync(self, file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if number not in self.files:
            _REAL.fsync(number)
            return
        node, place = self.files[number]
        if node is None:
            _stop(self.machine.flush_folder(place))
        else:
            _stop(self.machine.flush(node, place))

    def file(self, path: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        place = None if isinstance(path, int) else self.machine.place(os.fsdecode(path))
        if place is None or not set(mode) & set("wax+"):
            return _REAL.file(path, mode, buffering, *rest, **more)
        raw = _Raw(self, os.fsdecode(path), mode.replace("b", "").replace("t", ""))
        whole = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return whole if "b" in mode else io.TextIOWrapper(whole, *rest, **more)

    # ------------------------------------------------------------ entries

    def replace(self, old: Any, new: Any, **more: Any) -> None:
        here, there = self.machine.place(os.fsdecode(old)), self.machine.place(os.fsdecode(new))
        if here is not None and there is not None:
            _stop(self.machine.reach("rename", there), old)
        _REAL.replace(old, new, **more)
        if here is not None and there is not None:
            self.machine.disk.rename(here, there)

    def _remove(self, really: Callable[..., None], path: Any, dir_fd: int | None) -> None:
        place = None if dir_fd is not None else self.machine.place(os.fsdecode(path))
        if place is not None and self.machine.disk.find(place) is not None:
            _stop(self.machine.reach("remove", place), path)
        really(path, dir_fd=dir_fd)
        if place is not None and self.machine.disk.find(place) is not None:
            self.machine.disk.remove(place)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove(_REAL.unlink, path, dir_fd)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._remove(_REAL.rmdir, path, dir_fd)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        place = None if dir_fd is not None else self.machine.place(os.fsdecode(path))
        if place is not None and not os.path.exists(path):
            _stop(self.machine.reach("make", place), path)
        _REAL.mkdir(path, mode, dir_fd=dir_fd)
        if place is not None:
            self.machine.disk.make(place, folder=True)

    # ------------------------------------------------------------ the rest

    def urandom(self, count: int) -> bytes:
        return self.machine.chance(count)

    def getpid(self) -> int:
        running = self.machine.running
        return int(_REAL.getpid()) if running is None else running.number

    def queue(self, lock: LockFile, deadline: float) -> bool:
        """Waits in the machine's time for the lock of another process."""

        def got() -> bool:
            return lock._file is not None and lockfile._lock_now(lock._file)

        return self.machine.wait_for(got, deadline - self.machine.clock.elapsed)

    def unlock(self, process: object) -> None:
        """The system gives back the locks of a process that is no more."""
        for file, owner in list(self.owners.items()):
            if owner is process:
                lockfile._unlock(file)


@contextmanager
def running_on(machine: Machine) -> Iterator[System]:
    """All that is done meanwhile is done on the machine."""
    system = System(machine)
    time = SimpleNamespace(
        monotonic=machine.clock.monotonic,
        time=machine.clock.time,
        time_ns=machine.clock.time_ns,
        sleep=machine.sleep,
    )
    with ExitStack() as stack:
        stack.enter_context(sqlite_on(machine))
        for name in (
            *("open", "close", "write", "pwrite", "ftruncate", "fsync", "replace"),
            *("unlink", "mkdir", "rmdir", "urandom", "getpid"),
        ):
            stack.enter_context(patch.object(os, name, getattr(system, name)))
        stack.enter_context(patch.object(os, "remove", system.unlink))
        stack.enter_context(patch.object(os, "rename", system.replace))
        stack.enter_context(patch.object(os, "fdatasync", system.fsync))
        for module in (io, builtins):
            stack.enter_context(patch.object(module, "open", system.file))
        for module in (beacon, lockfile, store, whole, writer):
            stack.enter_context(patch.object(module, "time", time))
        for module in (querying, recalling):  # each process has its own
            stack.enter_context(patch.object(module, "_making", nullcontext()))
        drawn = SimpleNamespace(randbits=machine.random.getrandbits)
        stack.enter_context(patch.object(tables, "secrets", drawn))
        stack.enter_context(
            patch.object(LockFile, "_queue", lambda lock, deadline: system.queue(lock, deadline))
        )
        yield system
