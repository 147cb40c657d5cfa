"""Vectors on disk: for each embedder and dimension one file of rows, and a manifest of it.

A file of rows only ever grows at its end, so that keeping some more vectors writes no more than
those. The manifest beside it is replaced whole, by renaming, once the rows are safe; it says how
many rows count and what their checksum is. Whoever is killed in between leaves what was there
before, with rows behind the end that nobody reads. What fits neither this ledger's log nor this
version, or is not as it was written, is not used: everything here can be made again.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.embedding import DIMENSIONS, Vector
from doxa.engine.lockfile import LockFile

__all__ = ["FOLDER", "SHAPE", "Link", "Manifest", "Matrices", "Present", "manifests"]

FOLDER: Final = "search"  # in a ledger's cache
SHAPE: Final = 1  # of what is stored here; another one is thrown away
_FORMAT: Final = "doxa vectors"
_PREFIX: Final = "dense-"
_MANIFEST, _ROWS, _TEMPORARY = ".json", ".f32", ".new"
_LOCK: Final = "dense.lock"
_PATIENCE: Final = 5.0  # seconds that another process may take to write
_CHUNK: Final = 1 << 24  # bytes
NUMBER: Final = np.dtype("<f4")

Link = Callable[[int], str | None]
Present = npt.NDArray[np.bool_]


@dataclass(frozen=True, order=True)
class Manifest:
    """What is stored of one embedder and dimension: vectors of the first ``count`` documents.

    The last of these was recorded at ``position``, where the chain of the ledger's log has the link
    ``chain``; ``documents`` is a checksum of which they are. ``rows`` is the name of the file,
    ``checksum`` that of its first ``count`` rows; ``present`` says which documents have a vector.
    """

    ledger: str
    position: int
    chain: str
    documents: int
    name: str
    dimension: int
    count: int
    rows: str
    checksum: int
    present: str

    def text(self) -> str:
        """As JSON, with a digest over itself."""
        fields: dict[str, Any] = {"format": _FORMAT, "shape": SHAPE, **asdict(self)}
        return json.dumps({**fields, "digest": _seal(fields)}, indent=1) + "\n"

    @classmethod
    def read(cls, text: str) -> Manifest:
        """Raises `ValueError` where it is no manifest of this shape, or not as it was written."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.pop("digest", None) != _seal(fields):
            raise ValueError("the manifest is not as it was written")
        if fields.pop("format", None) != _FORMAT or fields.pop("shape", None) != SHAPE:
            raise ValueError("it is no manifest of this version")
        try:
            found = cls(**fields)
        except TypeError as error:
            raise ValueError(f"the manifest can't be read: {error}") from None
        if found.count < 1 or not 1 <= found.dimension <= DIMENSIONS:
            raise ValueError("the manifest is of no vectors")
        if Path(found.rows).name != found.rows:
            raise ValueError("the rows are elsewhere")
        return found

    @property
    def size(self) -> int:
        """Bytes of the rows that count."""
        return self.count * self.dimension * NUMBER.itemsize

    def marks(self) -> Present:
        """Of each document, whether it has a vector."""
        packed = np.frombuffer(zlib.decompress(base64.b64decode(self.present)), np.uint8)
        return np.unpackbits(packed, count=self.count).astype(np.bool_)


def _packed(present: Present) -> str:
    """What `Manifest.marks` reads."""
    return base64.b64encode(zlib.compress(np.packbits(present).tobytes())).decode()


def _seal(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _read(path: Path) -> Manifest | None:
    """The manifest in a file, if it can be read, and its rows are there."""
    try:
        found = Manifest.read(path.read_text("utf-8"))
        sound = os.stat(path.parent / found.rows).st_size >= found.size
    except (OSError, ValueError, RecursionError):  # none, torn, or another version's
        return None
    return found if sound and path.name == _name(found.name, found.dimension) else None


def _name(name: str, dimension: int) -> str:
    """The name of a manifest, from that of the embedder."""
    key = blake2b(f"{dimension} {name}".encode(), digest_size=10).hexdigest()
    return f"{_PREFIX}{key}{_MANIFEST}"


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def manifests(folder: Path) -> list[Manifest]:
    """The manifests in a folder that can be read, of whatever ledger; in the order of embedders."""
    read = (_read(path) for path in _paths(folder))
    return sorted(found for found in read if found is not None)


def _paths(folder: Path) -> Iterator[Path]:
    return folder.glob(f"{_PREFIX}*{_MANIFEST}")


class Matrices:
    """The stored vectors of one ledger, in a folder. ``link(position)`` is the chain's link at a
    position of its log, as hex digits; None where the log has no such position."""

    def __init__(self, folder: Path, ledger: str, link: Link) -> None:
        self.folder, self.ledger, self.link = folder, ledger, link
        self._seen: dict[Path, tuple[tuple[int, int] | None, Manifest | None]] = {}

    def manifests(self) -> list[Manifest]:
        """Those that fit this ledger's log; only new ones are read."""
        found = []
        for path in _paths(self.folder):
            stamp = _stamp(path)
            if self._seen.get(path, (None, None))[0] != stamp or stamp is None:
                self._seen[path] = stamp, _read(path)
            manifest = self._seen[path][1]
            if manifest is not None and self._fits(manifest):
                found.append(manifest)
        return sorted(found)

    def manifest(self, name: str, dimension: int) -> Manifest | None:
        """That of one embedder, if it fits this ledger's log."""
        found = _read(self.folder / _name(name, dimension))
        return found if found is not None and self._fits(found) else None

    def _fits(self, found: Manifest) -> bool:
        return found.ledger == self.ledger and self.link(found.position) == found.chain

    def stamp(self, name: str, dimension: int) -> tuple[int, int] | None:
        """What another manifest of the same embedder has another of; None where there is none."""
        return _stamp(self.folder / _name(name, dimension))

    def rows(self, manifest: Manifest) -> Vector | None:
        """The rows of a manifest, mapped and not copied; None where they are not as they were
        written. Reads through them once."""
        shape = manifest.count, manifest.dimension
        try:
            mapped = np.memmap(self.folder / manifest.rows, NUMBER, "r", shape=shape)
        except (OSError, ValueError):  # gone meanwhile, or shorter
            return None
        rows: Vector = np.asarray(mapped)
        return rows if checksum([rows]) == manifest.checksum else None

    def write(
        self,
        new: Manifest,
        present: Present,
        rows: Callable[[int], Iterable[Vector]],
        same: Callable[[Manifest], bool],
    ) -> Manifest | None:
        """Stores what a manifest is of, whose ``rows``, ``checksum`` and ``present`` are yet to be
        filled in.

        ``rows(n)`` gives the rows behind the first n. Where sound rows of the ``same`` documents
        are there already, only those behind them are written. What is stored then, which may be
        more. Raises `OSError`; None where another process is writing.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = LockFile(str(self.folder / _LOCK))
        try:
            if not lock.acquire(_PATIENCE):
                return None
            old = self.manifest(new.name, new.dimension)
            if old is not None and not (same(old) and self.rows(old) is not None):
                old = None
            if old is not None and old.count >= new.count:
                return old
            done = self._append(old, new, present, rows(old.count if old else 0))
            self._sweep()
            return done
        finally:
            lock.close()

    def _append(
        self, old: Manifest | None, new: Manifest, present: Present, rows: Iterable[Vector]
    ) -> Manifest:
        name = old.rows if old else f"{_PREFIX}{os.urandom(10).hex()}{_ROWS}"
        start, crc = (old.size, old.checksum) if old else (0, 0)
        with open(self.folder / name, "r+b" if old else "xb") as file:
            file.truncate(start)  # rows that were never told of in a manifest
            file.seek(start)
            for part in rows:
                data = np.ascontiguousarray(part, NUMBER)
                crc = checksum([data], crc)
                file.write(data.data)
            file.flush()
            os.fsync(file.fileno())
        marks = np.concatenate([old.marks(), present[old.count :]]) if old else present
        done = replace(new, rows=name, checksum=crc, present=_packed(marks))
        assert (self.folder / name).stat().st_size == done.size, done
        path = self.folder / _name(done.name, done.dimension)
        temporary = path.with_suffix(_TEMPORARY)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(done.text())
            file.flush()
            os.fsync(file.fileno())
        _flush(self.folder)
        os.replace(temporary, path)
        _flush(self.folder)
        return done

    def discard(self) -> None:
        """Removes everything. Raises `OSError`, of which one is that another process is writing."""
        if not self.folder.is_dir():
            return
        lock = LockFile(str(self.folder / _LOCK))
        try:
            if not lock.acquire(_PATIENCE):
                raise BlockingIOError(errno.EAGAIN, "another process is writing", str(self.folder))
            self._seen = {}
            for path in self.folder.glob(f"{_PREFIX}*"):
                path.unlink(missing_ok=True)
        finally:
            lock.close()

    def _sweep(self) -> None:
        """Removes what is not used: manifests that don't fit, what killed processes left, and the
        rows of neither. Only for whoever holds the lock."""
        kept: set[Path] = set()
        for found in self.manifests():
            kept |= {self.folder / _name(found.name, found.dimension), self.folder / found.rows}
        for path in self.folder.glob(f"{_PREFIX}*"):
            if path not in kept:
                with contextlib.suppress(OSError):  # of use to nobody, but in nobody's way
                    path.unlink()


def checksum(parts: Iterable[Vector], crc: int = 0) -> int:
    """The CRC of rows one after another, behind those whose CRC is ``crc``."""
    for part in parts:
        data = part.reshape(-1).view(np.uint8).data
        for at in range(0, len(data), _CHUNK):
            crc = zlib.crc32(data[at : at + _CHUNK], crc)
    return crc


def _flush(folder: Path) -> None:
    """Makes the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
