"""The file of the keys with which one ledger's content is encrypted; it lies apart from the ledger.

The file is a row of records of 64 bytes. The first names the ledger and holds a random secret, of
which the log keeps a check value: so another ledger's file, or another one's for this ledger, is
told before anything is written. Each further one is a key: its random id, whose it is (a digest
that needs the secret), and 256 random bits. Records are appended; a key that is destroyed is first
noted as destroyed, at the end, and then overwritten in its place, so that whatever interrupts that,
nobody uses it again, and the next one who opens the file overwrites it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Final

from doxa.engine.errors import CallerError, DamageError, StorageError, WrongKeys

__all__ = ["ID", "KEY", "KeyFile", "Owner"]

Owner = tuple[str, str, str]
"""Whose a key is: of what sort, in which workspace, and the name."""

ID: Final = 8  # bytes of a key's id
KEY: Final = 32  # bytes of a key
SIZE: Final = 64  # bytes of a record
_MAGIC: Final = b"doxakey1"
_HEADER: Final = Struct("8s16s32s8s")  # what it is, the ledger, the secret, a checksum
_RECORD: Final = Struct("c8s16s32s7s")  # what it is, the key's id, whose, the key, a checksum
_KEY, _GONE, _BLANK = b"K", b"G", b"-"  # a key; that one is destroyed; what is left in its place
_NOBODY: Final = bytes(16)
_CHECKED: Final = "doxa key check"


class KeyFile:
    """The keys of one ledger. Safe for threads and for several processes: what others add or
    destroy is seen with `follow`."""

    def __init__(self, path: Path) -> None:
        """Opens the file at a path. Raises `WrongKeys` where there is none, or none that can be
        trusted; `DamageError` where its first record can't be read."""
        self.path = path
        self.destroyed: set[bytes] = set()  # ids of keys
        self._keys: dict[bytes, bytes] = {}
        self._ids: dict[bytes, bytes] = {}  # whose → id
        self._seen = 0, 0  # the file's number on the disk, and up to where it was read
        self._durable = 0  # up to where it is known to be flushed
        with _opened(path) as file:
            self.ledger, self._secret = _header(path, os.pread(file, SIZE, 0))
            self._check_mode(file)
            self._read(file)
        if not self.destroyed.isdisjoint(self._keys):
            with contextlib.suppress(StorageError):  # where it can't be written, it is for others
                self._finish()

    @classmethod
    def made(cls, path: Path, ledger: str) -> KeyFile:
        """The file at a path, made for a ledger where there is none. Raises `StorageError`."""
        _make(path, ledger)
        return cls(path)

    def _check_mode(self, file: int) -> None:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        if mode & 0o077:
            raise WrongKeys(
                f"the key file {self.path} can be read or written by others ({mode:04o}); nothing "
                "was read or written: chmod 600 it"
            )

    @property
    def check(self) -> str:
        """What a log keeps, to know this file by."""
        return self._digest(_CHECKED, self.ledger).hex()

    def derived(self, secret: bytes) -> bytes:
        """Another secret made of one and of this file's, which nobody can make without the file."""
        return hmac.digest(self._secret, secret, "sha256")

    def _digest(self, *texts: str) -> bytes:
        words = b"\x00".join(text.encode("utf-8", "surrogatepass") for text in texts)
        return hmac.digest(self._secret, words, "sha256")[:16]

    # -- reading

    def follow(self) -> None:
        """Sees what others added or destroyed. Raises `StorageError` where the file is gone."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise self._lost(error) from None
        if (found.st_ino, found.st_size) != self._seen:
            with self._open(os.O_RDONLY) as file:
                self._read(file)
            self._forget()

    def _forget(self) -> None:
        for id in self.destroyed:
            self._keys.pop(id, None)

    def _read(self, file: int) -> None:
        """Takes in what is new; all of it, where another file has the name. What is not whole is
        looked at again the next time: it is being written, or was torn and never used."""
        found = os.fstat(file)
        inode, upto = self._seen
        keys, ids, destroyed = self._keys, self._ids, self.destroyed
        if inode != found.st_ino or found.st_size < upto:
            if _header(self.path, os.pread(file, SIZE, 0)) != (self.ledger, self._secret):
                raise WrongKeys(
                    f"{self.path} was replaced by the keys of another ledger; put back the file "
                    "that was there"
                )
            upto, keys, ids, destroyed = SIZE, {}, {}, set()
            self._durable = 0
        whole = found.st_size - found.st_size % SIZE
        content = os.pread(file, whole - upto, upto)
        sound = True
        for at, (kind, id, whose, key, check) in enumerate(_RECORD.iter_unpack(content)):
            if check != _sum(kind + id + whose + key, 7):
                if sound:
                    sound, whole = False, upto + at * SIZE
            elif kind == _KEY:
                keys[id] = key
                ids[whose] = id
            else:
                destroyed.add(id)
        for whose, id in [*ids.items()] if destroyed else ():
            if id in destroyed:
                ids.pop(whose, None)
        self._keys, self._ids, self.destroyed = keys, ids, destroyed
        self._seen = found.st_ino, whole

    def key(self, id: bytes) -> bytes | None:
        """The key of an id; ``None`` where it is destroyed. Raises `WrongKeys` where it is not in
        the file."""
        if id in self.destroyed:
            return None
        try:
            return self._keys[id]
        except KeyError:
            raise WrongKeys(
                f"{self.path} has no key {id.hex()}, with which an event is encrypted: it is an "
                "older copy, or damaged; give the newest copy of the ledger's key file"
            ) from None

    def find(self, owner: Owner) -> bytes | None:
        """The id of the key that somebody has now, if there is one."""
        self.follow()
        return self._ids.get(self._digest(*owner))

    # -- writing

    def ids(self, owners: Iterable[Owner]) -> dict[Owner, bytes]:
        """The ids of the keys that some have, made where they have none: durably, before this
        returns. Raises `StorageError`."""
        self.follow()
        digests = {owner: self._digest(*owner) for owner in owners}
        while True:  # until none of them is destroyed meanwhile
            found = {owner: self._ids.get(digest) for owner, digest in digests.items()}
            made = {owner: id for owner, id in found.items() if id is not None}
            if len(made) == len(found):
                self._flush()
                return made
            with self._locked() as file:
                self._read(file)
                new = [each for each in dict.fromkeys(digests.values()) if each not in self._ids]
                self._append(file, [(_KEY, self._fresh(), each, os.urandom(KEY)) for each in new])

    def _flush(self) -> None:
        """Has the disk keep what another process wrote, and perhaps died before it was flushed."""
        upto = self._seen[1]
        if upto > self._durable:
            with self._refusing(), self._open(os.O_RDONLY) as file:
                os.fsync(file)
            self._durable = upto

    def _fresh(self) -> bytes:
        while (id := os.urandom(ID)) in self._keys or id in self.destroyed:
            pass
        return id

    def destroy(self, id: bytes) -> None:
        """Destroys a key for good; when this returns, its bytes are overwritten on the disk."""
        with self._locked() as file:
            self._read(file)
            if id not in self.destroyed:
                self._append(file, [(_GONE, id, _NOBODY, bytes(KEY))])
        self._finish()

    def _append(self, file: int, records: list[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Adds records at the end, whole ones behind whole ones, and takes them in. None stays
        where they can't be flushed."""
        end = os.fstat(file).st_size
        end -= end % SIZE
        try:
            _write(file, b"".join(_record(*each) for each in records), end)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, end)
            raise
        self._read(file)
        self._durable = self._seen[1]

    def _finish(self) -> None:
        """Overwrites the keys that are noted as destroyed."""
        with self._locked() as file:
            self._read(file)
            content = os.pread(file, os.fstat(file).st_size, 0)
            for at in range(SIZE, len(content), SIZE):
                kind, id = content[at : at + 1], content[at + 1 : at + 1 + ID]
                blank = _record(_BLANK, id, _NOBODY, bytes(KEY))
                if kind != _GONE and id in self.destroyed and content[at : at + SIZE] != blank:
                    _write(file, blank, at)
        self._forget()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, to be written to by nobody else. Raises `StorageError`."""
        with self._refusing(), self._open(os.O_RDWR) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{self.path}: {error.strerror or error}; no key could be written, so nothing was "
                "recorded: make the key file writable, then repeat"
            ) from None

    @contextlib.contextmanager
    def _open(self, flags: int) -> Iterator[int]:
        try:
            file = os.open(self.path, flags | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise self._lost(error) from None
        try:
            yield file
        finally:
            os.close(file)

    def _lost(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self.path}: {error.strerror or error}; without its keys the ledger can neither be "
            "read nor written: put the key file back"
        )


# ---------------------------------------------------------------- records


def _header(path: Path, stored: bytes) -> tuple[str, bytes]:
    """The ledger and the secret that a first record has."""
    if not stored.startswith(_MAGIC):
        raise WrongKeys(f"{path} is no key file of a ledger; give the one that doxa made")
    if len(stored) < SIZE or stored[56:] != _sum(stored[:56], 8):
        raise DamageError(f"{path} has a damaged beginning; put back a copy of the key file")
    _, ledger, secret, _ = _HEADER.unpack(stored)
    return ledger.hex(), secret


def _record(kind: bytes, id: bytes, whose: bytes, key: bytes) -> bytes:
    body = kind + id + whose + key
    return body + _sum(body, 7)


def _sum(body: bytes, size: int) -> bytes:
    return blake2b(body, digest_size=size).digest()


def _write(file: int, content: bytes, at: int) -> None:
    left = memoryview(content)
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done
    os.fsync(file)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield file
        finally:
            os.close(file)
    except (OSError, ValueError) as error:
        raise WrongKeys(
            f"the key file {str(path)!r:.200} can't be read: "
            f"{getattr(error, 'strerror', None) or error}; nothing was read or written: give the "
            "file that was made with the ledger, or a copy of it"
        ) from None


def _make(path: Path, ledger: str) -> None:
    """Makes a file with its first record, whole or not at all, unless there is one; durably, also
    where another process has made it just now."""
    head = _MAGIC + bytes.fromhex(ledger) + os.urandom(32)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        if not path.exists():
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                _write(file, head + _sum(head, 8), 0)
                with contextlib.suppress(FileExistsError):
                    os.link(temporary, path)
            finally:
                os.close(file)
                os.unlink(temporary)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StorageError(
            f"the key file {path} can't be written: {error.strerror or error}; nothing was "
            "recorded: give another place"
        ) from None
    except ValueError as error:
        raise CallerError(f"{str(path)!r:.200} can't be a key file: {error}") from None
