"""Backups: a consistent copy of a log while others write to it, and the manifest that goes with it.

A backup is a folder with the copy and a manifest that says what it is of and what its digest is. It
is made under another name and renamed when it is whole, flushed and verified, so that whatever has
the final name is a good backup.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from doxa.engine import disk, times
from doxa.engine.errors import CallerError, DamageError, NewerFormat, StorageError
from doxa.engine.log import Head
from doxa.engine.store import LogStore
from doxa.engine.words import counted

__all__ = [
    "CHUNK",
    "COPY",
    "MANIFEST",
    "Backup",
    "alive",
    "checked",
    "flush",
    "make",
    "read_manifest",
    "tidy",
]

VERSION: Final = 1
COPY: Final = "events.sqlite"  # not a ledger's name: nobody shall record into a backup
MANIFEST: Final = "manifest.json"
PAGES: Final = 256  # copied between two looks at the progress
CHUNK: Final = 1 << 20  # bytes hashed at once
_ABANDONED: Final = 600.0  # seconds after which a killed process's part is removed
_SHAPES: Final = {
    "ledger": "[0-9a-f]{32}",
    "chain": "[0-9a-f]{64}",
    "sha256": "[0-9a-f]{64}",
}
_COUNTS: Final = ("format", "position", "events", "erased", "bytes")
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a log: where it is, of which ledger, up to where, and the digest of its file.

    ``position`` and ``chain`` (hex) are the head of the log when it was copied; ``events`` and
    ``erased`` count what it holds; ``format`` is that of the log.
    """

    path: Path
    ledger: str
    format: int
    position: int
    recorded_at: str | None
    chain: str
    events: int
    erased: int
    bytes: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.path}: {self.events} events, head {self.position}:{self.chain}"

    def as_dict(self) -> dict[str, Any]:
        """The backup's manifest as a JSON object."""
        return {
            "backup": VERSION,
            "ledger": self.ledger,
            "format": self.format,
            "position": self.position,
            "recorded_at": self.recorded_at,
            "chain": self.chain,
            "events": self.events,
            "erased": self.erased,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }


# ------------------------------------------------------------ making one


def make(store: LogStore, target: Path, *, replace: bool, told: Told) -> Backup:
    """Copies a log into the folder ``target``, while others go on reading and writing.

    Raises `CallerError` where something is there already (with ``replace``: something else than a
    backup), `DamageError` where the copy's chain is not whole, and `StorageError` where the disk
    refuses; nothing has the target's name then but what had it before.
    """
    target = _place(target)
    _sweep(target)
    _check_target(store, target, replace)
    part = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        part.mkdir(parents=True)
        backup = _fill(store, part, target, told)
        _put(part, target, replace)
    except (OSError, sqlite3.Error) as error:
        raise _refused(error, store, target) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return backup


def _place(target: Path) -> Path:
    """The target in full. Raises `CallerError` for what can't be a folder's name."""
    try:
        found = Path(os.path.abspath(target))
        str(found).encode()
    except (ValueError, UnicodeError):
        raise CallerError(f"{str(target)!r:.80} is no path; give that of a new folder") from None
    if not found.name or "\0" in found.name:
        raise CallerError(f"{str(found)!r:.200} can't be a backup; give a new folder's path")
    return found


def _check_target(store: LogStore, target: Path, replace: bool) -> None:
    if store.path is not None:
        folder = Path(store.path).parent
        if Path(os.path.realpath(target.parent)).joinpath(target.name).is_relative_to(folder):
            raise CallerError(
                f"{target} is in the ledger's own folder; a backup belongs on another disk"
            )
    if not os.path.lexists(target):
        return
    if not replace:
        raise CallerError(f"{target} is there already; give another name, or replace it")
    if not target.is_dir() or target.is_symlink():
        raise CallerError(f"{target} is no backup, so it is not replaced; give another name")
    foreign = sorted({entry.name for entry in target.iterdir()} - {COPY, MANIFEST})
    if foreign:
        raise CallerError(
            f"{target} holds {', '.join(foreign[:3])}, so it is no backup and not replaced; give "
            "another name"
        )


def _fill(store: LogStore, part: Path, target: Path, told: Told) -> Backup:
    """Makes the copy and its manifest in a folder, flushed and verified."""
    copy = part / COPY
    pages = _copy(store, copy, told)
    store_id, version, events, erased, head = checked(copy, store.path or disk.MEMORY)
    digest = digest_of(copy)
    recorded_at = times.iso(head.recorded_at) if head.position else None
    backup = Backup(
        target,
        store_id,
        version,
        head.position,
        recorded_at,
        head.chain.hex(),
        events,
        erased,
        copy.stat().st_size,
        digest,
    )
    with open(part / MANIFEST, "xb") as file:
        file.write(json.dumps(backup.as_dict(), indent=1).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    flush(copy)
    flush(part)
    told(2 * pages, 2 * pages)
    return backup


def _copy(store: LogStore, copy: Path, told: Told) -> int:
    """Copies what one read transaction sees, and returns how many pages that is. In WAL mode it
    keeps nobody from writing."""
    with store.lent() as source, contextlib.closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA synchronous=OFF")  # it is flushed when it is whole
        with _reading(source):
            source.backup(
                target,
                pages=PAGES,
                progress=lambda _, left, total: told(total - left, 2 * total),
            )
        target.execute("PRAGMA journal_mode=DELETE")  # one file, with nothing beside it
        pages: int = target.execute("PRAGMA page_count").fetchone()[0]
    return pages


@contextlib.contextmanager
def _reading(source: sqlite3.Connection) -> Iterator[None]:
    """A read transaction, which holds what it sees still while pages are copied."""
    source.execute("BEGIN")
    try:
        source.execute("SELECT position FROM head").fetchall()
        yield
    finally:
        source.execute("ROLLBACK")


def checked(copy: Path, what: str) -> tuple[str, int, int, int, Head]:
    """The ledger's id, the format, how many events there are and how many are erased, and the head
    of a copied log, whose chain is recomputed. Raises `DamageError` where ``what`` it is a copy of
    is not whole."""
    with LogStore.open(copy, create=False) as store:
        found = store.verify()
        version = store.format
        head = store.head() if not found.problems else None
    tidy(copy)
    if head is None:
        first = found.problems[0]
        raise DamageError(
            f"{what} is not whole: {counted(len(found.problems), 'problem')}, the first at "
            f"{first.position}: {first.code}: {first.message}"
        )
    return store.ledger_id, version, found.events, found.erased, head


def tidy(copy: Path) -> None:
    """Removes what SQLite and the lock leave beside a log that nobody has open any more."""
    for ending in ("-wal", "-shm", "-journal", ".lock"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{copy}{ending}")


def _put(part: Path, target: Path, replace: bool) -> None:
    """Gives a whole backup its name. One that is replaced goes when the new one is there."""
    old = None
    if os.path.lexists(target):
        if not replace:
            raise CallerError(f"{target} came to be there meanwhile; give another name")
        old = part.with_suffix(".old")
        os.rename(target, old)
    try:
        os.rename(part, target)
    except BaseException:
        if old is not None:
            os.rename(old, target)
        raise
    flush(target.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Removes what killed processes left half made, and gives back the name to a backup that was
    to be replaced when one was killed."""
    pattern = re.compile(re.escape(f".{target.name}.") + r"(\d+)-[0-9a-f]{8}\.(part|old)")
    try:
        left = [(entry, pattern.fullmatch(entry.name)) for entry in target.parent.iterdir()]
    except OSError:
        return
    for entry, found in left:
        if found is None or alive(int(found[1])):
            continue
        with contextlib.suppress(OSError):
            if found[2] == "old" and not os.path.lexists(target):
                os.rename(entry, target)
            elif time.time() - entry.stat().st_mtime > _ABANDONED or found[2] == "old":
                shutil.rmtree(entry, ignore_errors=True)


def alive(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


# ------------------------------------------------------------ reading one


def read_manifest(path: Path) -> Backup:
    """What a backup says that it is. Raises `CallerError` where there is none, `NewerFormat` for
    one of a later doxa, `DamageError` for a manifest that can't be read."""
    place = path / MANIFEST
    try:
        data = place.read_bytes()
    except (OSError, ValueError):
        raise CallerError(
            f"{str(path)!r:.200} is no backup: there is no {MANIFEST} in it; name the folder that "
            "doxa backup made"
        ) from None
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamageError(f"{place} can't be read: {error}; take another backup") from None
    if not isinstance(fields, dict) or type(fields.get("backup")) is not int:
        raise DamageError(f"{place} is no manifest of a backup; take another backup")
    if fields["backup"] > VERSION:
        raise NewerFormat(
            f"{path} is a backup of version {fields['backup']}; this doxa reads versions up to "
            f"{VERSION}: upgrade doxa"
        )
    for name, shape in _SHAPES.items():
        value = fields.get(name)
        if not isinstance(value, str) or not re.fullmatch(shape, value):
            raise DamageError(f"{place} has {value!r:.60} as its {name}; take another backup")
    for name in _COUNTS:
        if type(fields.get(name)) is not int or fields[name] < 0:
            raise DamageError(f"{place} has {fields.get(name)!r:.60} as its {name}")
    recorded_at = fields.get("recorded_at")
    named = {name: fields[name] for name in (*_SHAPES, *_COUNTS)}
    return Backup(path, recorded_at=recorded_at, **named)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    found = sha256()
    with open(path, "rb") as file:
        while data := file.read(CHUNK):
            found.update(data)
    return found.hexdigest()


def flush(path: Path) -> None:
    """Has the disk keep a file, or the names in a folder."""
    if os.name == "nt" and path.is_dir():
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _refused(error: Exception, store: LogStore, target: Path) -> Exception:
    """The disk's refusal, which says what is left: nothing; or the damage of what is copied."""
    found = disk.refusal(error, store.path)
    if not isinstance(found, StorageError):
        return found
    return StorageError(
        f"{target} can't be written: {getattr(error, 'strerror', None) or error}; nothing is left "
        "of it: free space or look after the disk, then repeat"
    )
