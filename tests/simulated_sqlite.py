"""SQLite on a simulated machine: the library that `sqlite3` uses, with writes, flushes, removals,
waiting and chance going through a `Machine`.

A VFS is a copy of SQLite's own for Unix; the methods of the files below the machine's folder are
replaced one by one, so that reading, locking and shared memory are SQLite's own code. It is
registered through the very library that Python's module is linked with: no compiler is needed, and
nothing of the recorder knows of it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.simulated_disk import Cut, File, Place, Written
from tests.simulated_machine import Machine, Refusal

OK, FULL, CANTOPEN = 0, 13, 14
IOERR, IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, IOERR_DELETE = 10, 778, 1034, 1546, 2570
CREATE: Final = 0x4
JOURNALS: Final = 0x800 | 0x4000 | 0x80000  # main and super journal, WAL: flushed with their entry

Pointer, Int, Int64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64


def _function(*arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(Int, *arguments)


_METHODS: Final = {  # of a file, in SQLite's order
    "close": _function(Pointer),
    "read": Pointer,
    "write": _function(Pointer, Pointer, Int, Int64),
    "truncate": _function(Pointer, Int64),
    "sync": _function(Pointer, Int),
    **dict.fromkeys(("size", "lock", "unlock", "reserved", "control", "sector"), Pointer),
    "characteristics": Pointer,
    "shm_map": Pointer,
    "shm_lock": _function(Pointer, Int, Int, Int),
    **dict.fromkeys(("barrier", "unmap", "fetch", "unfetch"), Pointer),
}  # fmt: skip
_VFS: Final = {
    "version": Int, "file_size": Int, "longest_path": Int, "next": Pointer,
    "name": ctypes.c_char_p, "data": Pointer,
    "open": _function(Pointer, Pointer, Pointer, Int, Pointer),
    "delete": _function(Pointer, Pointer, Int),
    **dict.fromkeys(("access", "full_path", "dl_open", "dl_error", "dl_sym", "dl_close"), Pointer),
    "randomness": _function(Pointer, Int, Pointer),
    "sleep": _function(Pointer, Int),
    **dict.fromkeys(("time", "error", "time64", "set_call", "get_call", "next_call"), Pointer),
}  # fmt: skip


class Methods(ctypes.Structure):
    """``sqlite3_io_methods``."""

    _fields_ = (("version", Int), *_METHODS.items())


class Vfs(ctypes.Structure):
    """``sqlite3_vfs``."""

    _fields_ = tuple(_VFS.items())


@dataclass(slots=True)
class Handle:
    """One file that SQLite has open on a machine."""

    machine: Machine
    file: File
    place: Place
    entry: bool  # whether the first flush is to flush its folder too
    native: Any


_machines: list[Machine] = []  # the one that new files are opened on, last
_handles: dict[int, Handle] = {}
_tables: dict[int, tuple[Any, Any]] = {}  # SQLite's own methods → those, and ours
_library: Any = None


def library() -> Any:
    """The SQLite that Python's module uses. Raises `OSError` or `AttributeError` where it does not
    show itself, as where it is linked into the interpreter."""
    global _library
    if _library is None:
        import _sqlite3

        found = ctypes.CDLL(_sqlite3.__file__)
        for name, result, *arguments in (
            ("sqlite3_vfs_find", Pointer, ctypes.c_char_p),
            ("sqlite3_vfs_register", Int, Pointer, Int),
            ("sqlite3_randomness", None, Int, Pointer),
        ):
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        if found.sqlite3_vfs_find(b"unix") is None:
            raise OSError("this SQLite has no VFS for Unix")
        _library = found
    return _library


def available() -> bool:
    """Whether SQLite can be simulated here."""
    try:
        library()
    except (ImportError, OSError, AttributeError):
        return False
    return True


# ---------------------------------------------------------------- what SQLite calls


def _guarded(error: int, function: Callable[..., int]) -> Callable[..., int]:
    """What goes wrong in here can't be raised through C: the machine tells of it afterwards."""

    def call(*arguments: Any) -> int:
        try:
            return function(*arguments)
        except BaseException as problem:
            for machine in _machines:
                machine.broken.append(problem)
            return error

    return call


def _write(address: int, buffer: int, amount: int, offset: int) -> int:
    handle = _handles[address]
    data = ctypes.string_at(buffer, amount)
    refusal = handle.machine.reach("write", handle.place, offset, data)
    if refusal is not None:
        amount = refusal.portion if refusal.kind == "full" else 0
    if amount:
        done: int = handle.native.write(address, buffer, amount, offset)
        if done != OK:
            return done
        handle.file.change(Written(offset, data[:amount]))
    return _code(refusal, IOERR_WRITE)


def _code(refusal: Refusal | None, error: int) -> int:
    if refusal is None:
        return OK
    return {"dead": IOERR, "full": FULL}.get(refusal.kind, error)


def _truncate(address: int, size: int) -> int:
    handle = _handles[address]
    refusal = handle.machine.reach("cut", handle.place, size)
    if refusal is None:
        done: int = handle.native.truncate(address, size)
        if done != OK:
            return done
        handle.file.change(Cut(size))
    return _code(refusal, IOERR_TRUNCATE)


def _sync(address: int, flags: int) -> int:
    handle = _handles[address]
    machine = handle.machine
    if machine.flush(handle.file, handle.place) is not None:
        return IOERR_FSYNC
    if handle.entry:
        if machine.flush_folder(handle.place[:-1]) is not None:
            return IOERR_FSYNC
        handle.entry = False
    return OK


def _shm_lock(address: int, offset: int, count: int, flags: int) -> int:
    handle = _handles[address]
    handle.machine.pass_by()
    done: int = handle.native.shm_lock(address, offset, count, flags)
    return done


def _close(address: int) -> int:
    handle = _handles.pop(address)
    done: int = handle.native.close(address)
    return done


def _open(vfs: int, name: int | None, address: int, flags: int, out: int) -> int:
    native = _unix().open
    machine = _machines[-1] if _machines else None
    place = None
    if name is not None and machine is not None:
        place = machine.place(os.fsdecode(ctypes.string_at(name)))
    if machine is None or place is None:
        done: int = native(vfs, name, address, flags, out)
        return done
    found = machine.disk.find(place)
    if found is None and flags & CREATE and machine.reach("make", place) is not None:
        return CANTOPEN
    if machine.is_off():
        return CANTOPEN
    done = native(vfs, name, address, flags, out)
    methods = ctypes.c_void_p.from_address(address)
    if done != OK or not methods.value:
        return done
    found = machine.disk.find(place) or machine.disk.make(place)
    assert isinstance(found, File)
    own, ours = _table(methods.value)
    _handles[address] = Handle(
        machine, found, place, bool(flags & CREATE and flags & JOURNALS), own
    )
    methods.value = ctypes.addressof(ours)
    return done


def _delete(vfs: int, name: int, flush: int) -> int:
    native = _unix().delete
    machine = _machines[-1] if _machines else None
    place = None if machine is None else machine.place(os.fsdecode(ctypes.string_at(name)))
    if machine is None or place is None:
        done: int = native(vfs, name, flush)
        return done
    if machine.disk.find(place) is not None:
        if machine.reach("remove", place) is not None:
            return IOERR_DELETE
        if machine.disk.find(place) is not None:
            machine.disk.remove(place)
        if flush and machine.flush_folder(place[:-1]) is not None:
            return IOERR_FSYNC
    return int(native(vfs, name, 0))


def _randomness(vfs: int, count: int, out: int) -> int:
    if _machines:
        ctypes.memmove(out, _machines[-1].chance(count), count)
        return count
    return int(_unix().randomness(vfs, count, out))


def _sleep(vfs: int, micros: int) -> int:
    if not _machines:
        return int(_unix().sleep(vfs, micros))
    _machines[-1].sleep(micros / 1e6)
    return micros


# ---------------------------------------------------------------- in SQLite's own tables


def _unix() -> Any:
    return Vfs.from_address(library().sqlite3_vfs_find(b"unix"))


_HOOKS: Final = {
    "close": _METHODS["close"](_guarded(IOERR, _close)),
    "write": _METHODS["write"](_guarded(IOERR, _write)),
    "truncate": _METHODS["truncate"](_guarded(IOERR, _truncate)),
    "sync": _METHODS["sync"](_guarded(IOERR, _sync)),
    "shm_lock": _METHODS["shm_lock"](_guarded(IOERR, _shm_lock)),
}
_VFS_HOOKS: Final = {
    "open": _VFS["open"](_guarded(CANTOPEN, _open)),
    "delete": _VFS["delete"](_guarded(IOERR, _delete)),
    "randomness": _VFS["randomness"](_guarded(0, _randomness)),
    "sleep": _VFS["sleep"](_guarded(0, _sleep)),
}


def _table(own: int) -> tuple[Any, Any]:
    """SQLite's own methods at an address, and a copy of them with ours in their places."""
    if own not in _tables:
        native = Methods.from_address(own)
        ours = Methods.from_buffer_copy(native)
        ours.version = min(native.version, 2)  # nothing is mapped
        for name, hook in _HOOKS.items():
            setattr(ours, name, hook)
        _tables[own] = native, ours
    return _tables[own]


_vfs: Vfs | None = None  # kept for ever: connections hold its address


def _registered() -> Vfs:
    global _vfs
    if _vfs is None:
        _vfs = Vfs.from_buffer_copy(_unix())
        _vfs.name, _vfs.next = b"simulated", None
        for name, hook in _VFS_HOOKS.items():
            setattr(_vfs, name, hook)
    return _vfs


@contextmanager
def sqlite_on(machine: Machine) -> Iterator[None]:
    """Connections opened meanwhile are on the machine, where their file is."""
    found, vfs = library(), _registered()
    _machines.append(machine)
    found.sqlite3_vfs_register(ctypes.addressof(vfs), 1)
    found.sqlite3_randomness(0, None)  # the next numbers begin with the machine's chance
    try:
        yield
    finally:
        _machines.remove(machine)
        found.sqlite3_vfs_register(found.sqlite3_vfs_find(b"unix"), 1)
        found.sqlite3_randomness(0, None)


def left_open(machine: Machine) -> list[Place]:
    """The files of a machine that SQLite still has open."""
    return [handle.place for handle in _handles.values() if handle.machine is machine]
