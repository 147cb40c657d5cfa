"""Restoring a ledger from a backup: verified before anything is touched, whole or not at all.

What was erased since the backup was taken is erased again before the restored log gets its name:
what the log that is replaced has erased, and what the list of purged records says.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from doxa.engine import disk
from doxa.engine.audit import id_in
from doxa.engine.copies import CHUNK, COPY, Backup, alive, checked, flush, read_manifest, tidy
from doxa.engine.errors import CallerError, DamageError, DoxaError, StorageError
from doxa.engine.keyed import Keyed
from doxa.engine.lockfile import LockFile
from doxa.engine.log import Head, Row
from doxa.engine.purged import PurgeList
from doxa.engine.purging import purged_again
from doxa.engine.sealing import MARK
from doxa.engine.store import LogStore
from doxa.engine.stream import Stream

__all__ = ["Restored", "restore", "resurrected"]

CACHE: Final = "cache"  # made anew from the log
PATIENCE: Final = 5.0  # seconds to wait for a writer
Told = Callable[[int, int], None]
Rows = Iterable[list[Row]]


@dataclass(frozen=True, slots=True)
class Restored:
    """A ledger that was restored: its folder, of which ledger it is and up to where, and what was
    erased again since it had been erased when the backup was taken no more.

    ``erased_again`` has the ids of these events. ``replaced`` is the position of the log that was
    there before, ``None`` where there was none.
    """

    path: Path
    ledger: str
    position: int
    chain: str
    events: int
    erased: int
    erased_again: tuple[str, ...]
    replaced: int | None

    def __str__(self) -> str:
        again = f", {len(self.erased_again)} of them again" if self.erased_again else ""
        before = (
            "" if self.replaced is None else f", in place of a log that ended at {self.replaced}"
        )
        return (
            f"{self.path}: {self.events} events, {self.erased} erased{again}, head "
            f"{self.position}:{self.chain}{before}"
        )

    def as_dict(self) -> dict[str, Any]:
        """What was restored, as a JSON object."""
        return {
            "path": str(self.path),
            "ledger": self.ledger,
            "position": self.position,
            "chain": self.chain,
            "events": self.events,
            "erased": self.erased,
            "erased_again": list(self.erased_again),
            "replaced": self.replaced,
        }


def resurrected(folder: Path, rows: Rows, keyed: Callable[[], Keyed]) -> list[int]:
    """The positions of restored events whose content was purged from the ledger in a folder, by the
    list that it keeps; ``keyed`` gives what makes the digests of that list."""
    listed = PurgeList.open(folder)
    if not listed:
        return []
    found, made = [], keyed()
    for page in rows:
        for row in page:
            if row.data is not None:
                head = json.loads(row.head)
                if listed.covers(head.get("workspace", ""), head["id"], made):
                    found.append(row.position)
    return found


def restore(backup: Path, folder: Path, log: str, *, replace: bool, told: Told) -> Restored:
    """Restores the log in a backup as ``log`` in a folder that holds none, or with ``replace`` one
    of the same ledger.

    Raises `CallerError`, `NewerFormat` or `DamageError` for a backup or folder that won't do, and
    `StorageError` where the disk refuses or the ledger is in use; nothing was changed then.
    """
    found = read_manifest(backup)
    target = Path(os.path.realpath(folder / log))
    before = _standing(target, found, replace)
    _sweep(target)
    new = target.with_name(f"{target.name}.restored.{os.getpid()}-{os.urandom(4).hex()}")
    made = not folder.exists()
    done = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _bring(found, new, told)
        again = _erase_again(new, target if before is not None else None, folder)
        _, _, events, erased, head = checked(new, str(backup))
        told(3, 3)
        flush(new)
        _put(new, target, folder, found.ledger, before)
        done = True
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error):
            raise disk.refusal(error, str(target)) from error
        raise StorageError(
            f"{folder} can't be written: {error.strerror or error}; nothing was restored: free "
            "space or look after the disk, then repeat"
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(new)
        tidy(new)
        if made and not done:
            with contextlib.suppress(OSError):
                folder.rmdir()
    replaced = None if before is None else before.position
    return Restored(
        folder, found.ledger, head.position, head.chain.hex(), events, erased, again, replaced
    )


def _standing(target: Path, backup: Backup, replace: bool) -> Head | None:
    """The head of the log that is to be replaced, ``None`` where there is none. Raises
    `CallerError` for one that is not to be, or is of another ledger."""
    try:
        if disk.unfinished(str(target)):
            return None
    except DamageError as error:
        raise _untold(target, error) from None
    if not replace:
        raise CallerError(
            f"{target.parent} holds a ledger already; name a new folder, or replace it, which "
            "takes away what was recorded since the backup"
        )
    try:
        with LogStore.open(target, create=False) as store:
            ledger, head = store.ledger_id, store.head()
    except DamageError as error:
        raise _untold(target, error) from None
    if ledger != backup.ledger:
        raise CallerError(
            f"{target} is of ledger {ledger}, and the backup of {backup.ledger}: it is not "
            "replaced; name another folder"
        )
    return head


def _untold(target: Path, error: DamageError) -> CallerError:
    return CallerError(
        f"whether {target} is of the backup's ledger can't be told; nothing was restored: restore "
        f"into a new folder, or move the damaged files away first ({error})"
    )


def _sweep(target: Path) -> None:
    """Removes what a killed process left beside the log."""
    pattern = re.compile(re.escape(target.name) + r"\.(?:restored\.(\d+)-[0-9a-f]{8}\S*|replaced)")
    for entry in target.parent.iterdir() if target.parent.is_dir() else ():
        found = pattern.fullmatch(entry.name)
        if found is not None and not (found[1] and alive(int(found[1]))):
            with contextlib.suppress(OSError):
                entry.unlink()


def _bring(backup: Backup, new: Path, told: Told) -> None:
    """Copies the log of a backup, flushed, and sees that it is what the manifest says."""
    told(0, 3)
    digest, size = sha256(), 0
    if not (backup.path / COPY).is_file():
        raise DamageError(f"{backup.path} has lost its {COPY}; take another backup")
    with open(backup.path / COPY, "rb") as source, open(new, "xb") as file:
        while data := source.read(CHUNK):
            digest.update(data)
            size += len(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if (digest.hexdigest(), size) != (backup.sha256, backup.bytes):
        raise DamageError(
            f"{backup.path / COPY} is not what was backed up: it has {size:,} bytes of digest "
            f"{digest.hexdigest()}, the manifest says {backup.bytes:,} and {backup.sha256}; "
            "nothing was restored: take another backup"
        )
    told(1, 3)
    ledger, version, events, erased, head = checked(new, str(backup.path))
    said = (backup.ledger, backup.format, backup.events, backup.erased)
    where = (backup.position, backup.chain)
    if said != (ledger, version, events, erased) or where != (head.position, head.chain.hex()):
        raise DamageError(
            f"{backup.path} is of ledger {ledger} up to {head.position}:{head.chain.hex()}, which "
            "is not what its manifest says; nothing was restored: take another backup"
        )
    told(2, 3)
    with contextlib.closing(sqlite3.connect(new)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


# ------------------------------------------------------------ what must not come back


def _erase_again(new: Path, old: Path | None, folder: Path) -> tuple[str, ...]:
    """Erases what had been erased by now; returns its ids. A ledger keeps its secret, with which
    the list of what was purged is read."""
    if old is not None:
        _keep_secret(old, new)
    with LogStore.open(new, create=False) as store:
        positions = set(resurrected(folder, store.read_rows(), partial(_secret_of, new, store)))
        if old is not None:
            with LogStore.open(old, create=False) as before:
                positions |= set(_erased_since(before, store))
        gone = [row for row in store.rows(sorted(positions)) if row.data is not None]
        if gone and not store._readers.select(MARK):
            # as it was purged once: recorded, so that it counts no longer
            purged_again(Stream(store), [row.position for row in gone])
        if left := [row.position for row in store.rows(sorted(positions)) if row.data is not None]:
            store.erase(left)
    tidy(new)
    return tuple(id_in(row.head) or f"position {row.position}" for row in gone)


def _erased_since(before: LogStore, store: LogStore) -> Iterator[int]:
    """The positions whose data is erased in the log that is replaced, and not in the backup: they
    have the same link in both, so they are the same events."""
    upto = min(before.head().position, store.head().position)
    for page in before.read_rows(upto=upto) if upto else ():
        for row in page:
            if row.data is None and before.link_at(row.position) == store.link_at(row.position):
                yield row.position


def _secret_of(new: Path, store: LogStore) -> Keyed:
    """What makes the digests of the ledger in a backup. Raises `CallerError` where the backup is
    older than its secret."""
    with contextlib.closing(sqlite3.connect(new)) as connection:
        if connection.execute("SELECT 1 FROM meta WHERE key='secret'").fetchone() is None:
            raise CallerError(
                "the folder lists what was purged, and the backup is from before its ledger had "
                "the secret that the list is read with; nothing was restored, since purged records "
                "would come back: take a later backup, or restore it in place of the ledger"
            )
    return store.keyed


def _keep_secret(old: Path, new: Path) -> None:
    """A backup of a ledger that had no secret yet takes over the one that it has now."""
    with contextlib.closing(disk.connect(str(old), "ro", PATIENCE)) as connection:
        row = connection.execute("SELECT value FROM meta WHERE key='secret'").fetchone()
    if row is not None:
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES('secret', ?)", row)


# ------------------------------------------------------------ putting it in place


def _put(new: Path, target: Path, folder: Path, ledger: str, before: Head | None) -> None:
    """Gives the restored log its name, under the ledger's lock. The old one is kept beside it until
    that is done; whenever this is interrupted, a whole log has the name."""
    lock = LockFile(f"{target}.lock")
    if not lock.acquire(PATIENCE):
        raise StorageError(
            f"{target} is being written to; nothing was restored: let it finish, then repeat"
        )
    kept = target.with_name(f"{target.name}.replaced")
    try:
        if before is None:
            if not disk.unfinished(str(target)):
                raise CallerError(f"a ledger came to be in {target.parent} meanwhile; look at it")
        else:
            _alone(target, ledger, before)
            with contextlib.suppress(FileNotFoundError):
                os.remove(kept)
            os.link(target, kept)
        _forget_wal(target)
        shutil.rmtree(folder / CACHE, ignore_errors=True)  # of what may be erased now
        os.replace(new, target)
        _forget_wal(target)
        flush(target.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(kept)
        lock.close()


def _alone(target: Path, ledger: str, before: Head) -> None:
    """Brings all of the WAL into the log that is to be replaced. Raises `StorageError` where it is
    open anywhere else, `CallerError` where it is not what it was."""
    connection = sqlite3.connect(f"{target.absolute().as_uri()}?mode=rw", uri=True, timeout=0.2)
    try:
        connection.isolation_level = None
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")
        head = connection.execute("SELECT position, recorded_at, chain FROM head").fetchone()
        (id,) = connection.execute("SELECT value FROM meta WHERE key='ledger'").fetchone()
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        found: DoxaError = disk.refusal(error, str(target))
        if isinstance(found, StorageError):
            found = StorageError(
                f"{target} is open elsewhere ({error}); nothing was restored: close the ledger in "
                "all processes, then repeat"
            )
        raise found from None
    finally:
        connection.close()  # the last one to be closed brings the WAL into the file
    if (id, Head(*head)) != (ledger, before):
        raise CallerError(f"{target} was written to meanwhile; nothing was restored: look at it")
    wal = Path(f"{target}-wal")
    if wal.exists() and wal.stat().st_size:
        raise StorageError(f"{wal} can't be brought into the log; nothing was restored: repeat")


def _forget_wal(target: Path) -> None:
    """What SQLite keeps beside a log that nobody has open; it must not meet another log."""
    for ending in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{target}{ending}")
