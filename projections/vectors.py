"""The vectors of a ledger's documents, by the embedder that made them, in memory and on disk."""

from __future__ import annotations

import os
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from doxa.engine.arms import Ints
from doxa.engine.embedding import Embedder, Vector
from doxa.engine.outcomes import Unavailable
from doxa.projections.matrices import (
    FOLDER,
    SHAPE,
    Link,
    Manifest,
    Matrices,
    Present,
    manifests,
)

__all__ = ["FOLDER", "SHAPE", "Pool", "Rows", "Stored", "Vectors", "stored"]

BLOCK: Final = 4_096  # rows

Progress = Callable[[int, int], None]  # documents that are done, and of how many


class Pool(Protocol):
    """The documents of a log, numbered from 0 in its order; more are added at the end."""

    @property
    def entities(self) -> Ints:
        """Of each document, the entity that it is (``row * 8 + kind``)."""

    @property
    def positions(self) -> Ints:
        """Of each document, where it was recorded; never descending."""


@dataclass(frozen=True, order=True)
class Stored:
    """Vectors that there are: of which embedder and dimension, and of how many documents."""

    name: str
    dimension: int
    count: int


def stored(folder: Path) -> list[Stored]:
    """What a folder keeps of whatever ledger; what can't be read is left out."""
    return [Stored(each.name, each.dimension, each.count) for each in manifests(folder)]


@dataclass(frozen=True)
class Rows:
    """The vectors of the first documents of a pool, as they are at one moment: a row each, in parts
    that lie end to end. A document that has no vector (``present``) has a row of zeros."""

    parts: tuple[Vector, ...]
    starts: tuple[int, ...]
    present: Present

    @property
    def count(self) -> int:
        return len(self.present)

    def before(self, n: int) -> Iterator[tuple[int, Vector]]:
        """The parts of the first n rows, each behind the number of its first."""
        for start, part in zip(self.starts, self.parts, strict=True):
            if start < n:
                yield start, part[: n - start]

    def behind(self, n: int) -> Iterator[Vector]:
        """The parts of the rows from n on."""
        for start, part in zip(self.starts, self.parts, strict=True):
            if start + len(part) > n:
                yield part[max(0, n - start) :]

    def take(self, numbers: Ints) -> Vector:
        """The rows of some documents, in that order."""
        if len(self.parts) == 1:
            return self.parts[0][numbers]
        which = np.searchsorted(np.array(self.starts), numbers, "right") - 1
        taken = np.empty((len(numbers), self.parts[0].shape[1]), np.float32)
        for at in np.unique(which).tolist():
            mine = which == at
            taken[mine] = self.parts[at][numbers[mine] - self.starts[at]]
        return taken


@dataclass(frozen=True)
class _Left:
    """The documents of a pool but for some."""

    entities: Ints
    positions: Ints


class _Store:
    """The vectors of one embedder and dimension. ``rows`` is replaced whole as they grow, so that
    whoever reads them needs no lock."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension
        self.rows = Rows((), (), np.zeros(0, np.bool_))
        self.saved = 0  # rows that are on disk
        self.stamp: tuple[int, int] | None = None  # of what was last looked for there
        self._block = 0, np.zeros((0, dimension), np.float32)  # the last, behind its first row

    def append(self, vectors: Vector) -> None:
        """Adds rows; they are not copied again as more come."""
        parts, starts = list(self.rows.parts), list(self.rows.starts)
        present = np.concatenate([self.rows.present, vectors.any(axis=1)])
        at, done, (start, block) = self.rows.count, 0, self._block
        while done < len(vectors):
            if not start <= at < start + len(block):
                start, block = at, np.empty((BLOCK, self.dimension), np.float32)
            fits = min(len(vectors) - done, start + len(block) - at)
            block[at - start :][:fits] = vectors[done : done + fits]
            at, done = at + fits, done + fits
            if starts and starts[-1] == start:
                parts.pop(), starts.pop()
            parts.append(block[: at - start])
            starts.append(start)
        self._block = start, block
        self.rows = Rows(tuple(parts), tuple(starts), present)

    def adopt(self, mapped: Vector, present: Present) -> None:
        """Takes what is on disk, which is no less than what is here."""
        assert len(mapped) >= self.rows.count, (len(mapped), self.rows.count)
        self.rows = Rows((mapped,), (0,), present)
        self._block = len(mapped), np.zeros((0, self.dimension), np.float32)
        self.saved = len(mapped)


class Vectors:
    """The vectors of one ledger's documents: those of each embedder are kept apart.

    ``folder`` is where they are kept between processes (`FOLDER` in the ledger's cache), None for a
    ledger in memory; ``ledger`` is its id, ``link(position)`` the chain's link at a position of its
    log, as hex digits, None where it has no such position. What is stored is read when it is first
    asked for, and written by `save` alone.
    """

    def __init__(
        self, folder: Path | None = None, ledger: str = "", link: Link = lambda position: None
    ) -> None:
        self._files = None if folder is None else Matrices(folder, ledger, link)
        self._stores: dict[tuple[str, int], _Store] = {}
        self._probes: dict[str, tuple[object, int]] = {}  # by name: a function, its dimension
        self._retired: list[weakref.ref[Pool]] = []  # whose documents are others now
        self.start_locks()
        _opened.add(self)

    def start_locks(self) -> None:
        """Makes new locks, which nobody holds."""
        self._growing = threading.Lock()  # held while new documents are embedded, or written
        self._looking = threading.Lock()  # held for a moment, by whoever changes a store

    # -- reading

    def stored(self, pool: Pool) -> list[Stored]:
        """The vectors that there are for a pool's documents, by the names of embedders."""
        stores = dict(self._stores)  # another thread may be adding one
        found = {key: store.rows.count for key, store in stores.items() if store.rows.count}
        for manifest in self._files.manifests() if self._files else ():
            key = manifest.name, manifest.dimension
            if manifest.count > found.get(key, 0) and self._sound(pool, *key, manifest.count):
                found[key] = manifest.count
        return [Stored(*key, count) for key, count in sorted(found.items())]

    def _sound(self, pool: Pool, name: str, dimension: int, count: int) -> bool:
        rows = self.rows(pool, name, dimension, count)
        return rows is not None and rows.count >= count

    def rows(self, pool: Pool, name: str, dimension: int, wanted: int) -> Rows | None:
        """The vectors by one embedder, as many as there are; None where there are none. Looks on
        disk where there are fewer than ``wanted``: another process may have stored more."""
        store = self._stores.get((name, dimension))
        if store is None or store.rows.count < wanted:
            store = self._looked_up(pool, name, dimension)
        return store.rows if store.rows.count else None

    def _looked_up(self, pool: Pool, name: str, dimension: int) -> _Store:
        """The store of one embedder, with what is on disk by now."""
        with self._looking:
            store = self._stores.setdefault((name, dimension), _Store(name, dimension))
            stamp = self._files.stamp(name, dimension) if self._files else None
            if self._files is None or stamp is None or stamp == store.stamp:
                return store
            manifest = self._files.manifest(name, dimension)
            if manifest and manifest.count > store.rows.count and _fits(manifest, pool):
                store.stamp = stamp
                mapped = self._files.rows(manifest)
                if mapped is not None:
                    store.adopt(mapped, manifest.marks())
            return store

    # -- growing

    def follow(
        self,
        pool: Pool,
        texts: Callable[[Sequence[int]], Sequence[str]],
        embedder: Embedder,
        *,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Embeds the documents that have no vectors by an embedder yet, ``limit`` of them at most,
        and returns how many those were. Writes nothing to disk.

        ``texts`` gives what the documents of some numbers say. One that says nothing, or whose
        vector is all zeros, has none and is never found. Raises `Unavailable` where the embedder
        fails; what was embedded before stays.
        """
        with self._growing:
            dimension = embedder.dimension or self._probed(pool, texts, embedder)
            if dimension is None:
                return 0
            store = self._looked_up(pool, embedder.name, dimension)
            first, end = store.rows.count, len(pool.entities)
            end = end if limit is None else min(end, first + limit)
            while (at := store.rows.count) < end and not self._is_retired(pool):
                numbers = range(at, min(at + embedder.batch, end))
                vectors = _embedded(embedder, texts(numbers), numbers, dimension)
                with self._looking:
                    # else another process has stored more meanwhile, or something was erased
                    if store.rows.count == at and not self._is_retired(pool):
                        store.append(vectors)
                if progress is not None:
                    progress(min(store.rows.count, end) - first, end - first)
            return max(0, min(store.rows.count, end) - first)

    def _probed(
        self, pool: Pool, texts: Callable[[Sequence[int]], Sequence[str]], embedder: Embedder
    ) -> int | None:
        """The dimension of an embedder that does not state it, by the first document that says
        something; None where there is nothing to do."""
        probed, dimension = self._probes.get(embedder.name, (None, 0))
        if probed is embedder.embed:
            return dimension
        end = len(pool.entities)
        if any(each.name == embedder.name and each.count >= end for each in self.stored(pool)):
            return None
        for at in range(0, end, embedder.batch):
            for said in texts(range(at, min(at + embedder.batch, end))):
                if said.strip():
                    dimension = len(embedder.vectors([said], zeros=True)[0])
                    self._probes[embedder.name] = embedder.embed, dimension
                    return dimension
        return None

    # -- erasing

    def any(self) -> bool:
        """Whether there are vectors in memory."""
        return any(store.rows.count for store in list(self._stores.values()))

    def forget(self, pool: Pool | None = None) -> None:
        """Forgets what is in memory; what is on disk is read again when it is asked for. Whoever is
        at embedding the documents of a ``pool`` that is of no use any more adds nothing."""
        with self._looking:
            if pool is not None:
                there = [each for each in self._retired if each() is not None]
                self._retired = [*there, weakref.ref(pool)]
            self._stores = {}

    def _is_retired(self, pool: Pool) -> bool:
        return any(each() is pool for each in self._retired)

    def discard(self) -> None:
        """Forgets everything, and removes the files. Raises `OSError`."""
        self.forget()
        if self._files is not None:
            self._files.discard()

    def erase(self, pool: Pool, gone: Present) -> None:
        """Takes the vectors of some documents of a pool out, on disk too: those of the others stay,
        as of a pool without these. Raises `OSError`."""
        kept: list[_Store] = []
        for each in self.stored(pool):
            rows = self.rows(pool, each.name, each.dimension, each.count)
            assert rows is not None, each
            store = _Store(each.name, each.dimension)
            store.append(rows.take(np.flatnonzero(~gone[: rows.count])))
            kept.append(store)
        left = _Left(pool.entities[~gone], pool.positions[~gone])
        self.forget(pool)
        self.discard()
        self._stores = {(store.name, store.dimension): store for store in kept}
        self.save(left)

    # -- keeping

    def save(self, pool: Pool) -> bool:
        """Writes what is not on disk yet; whether all of it is there then. It is not where another
        process is writing, or the disk refuses: then it is for the next time."""
        if self._files is None:
            return False
        with self._growing:
            done = [
                self._saved(self._files, pool, store)
                for store in list(self._stores.values())
                if store.rows.count > store.saved
            ]
        return all(done)

    def _saved(self, files: Matrices, pool: Pool, store: _Store) -> bool:
        rows, position = store.rows, int(pool.positions[store.rows.count - 1])
        chain = files.link(position)
        if chain is None:
            return False
        new = Manifest(
            ledger=files.ledger,
            position=position,
            chain=chain,
            documents=_documents(pool, rows.count),
            name=store.name,
            dimension=store.dimension,
            count=rows.count,
            rows="",
            checksum=0,
            present="",
        )

        def same(old: Manifest) -> bool:  # one that is further than this pool is left as it is
            return old.count > len(pool.entities) or _fits(old, pool)

        try:
            done = files.write(new, rows.present, rows.behind, same)
        except OSError:
            return False
        if done is None:
            return False
        store.saved = rows.count
        mapped = files.rows(done) if _fits(done, pool) else None
        with self._looking:
            if mapped is not None and len(mapped) >= store.rows.count:
                store.adopt(mapped, done.marks())
        return True


def _fits(manifest: Manifest, pool: Pool) -> bool:
    """Whether what is stored is of the first documents of a pool."""
    count = manifest.count
    return count <= len(pool.entities) and _documents(pool, count) == manifest.documents


def _documents(pool: Pool, count: int) -> int:
    """A checksum of which documents are the first."""
    return zlib.crc32(np.asarray(pool.entities[:count], np.dtype("<i8")).tobytes())


def _embedded(embedder: Embedder, texts: Sequence[str], numbers: range, dimension: int) -> Vector:
    """The vectors of some documents, zeros where they say nothing."""
    assert len(texts) == len(numbers), (len(texts), numbers)
    vectors = np.zeros((len(numbers), dimension), np.float32)
    saying = [at for at, text in enumerate(texts) if text.strip()]
    try:
        found = embedder.vectors([texts[at] for at in saying], dimension=dimension, zeros=True)
    except Unavailable as error:
        where = f"documents {numbers.start + 1:,} to {numbers.stop:,}; those before are embedded"
        told = f"{error.detail} ({where})", f"{error.disclosed} ({where})"
        raise Unavailable(error.reason, *told) from error
    if saying:
        vectors[saying] = found
    return vectors


_opened: weakref.WeakSet[Vectors] = weakref.WeakSet()


def _renew_after_fork() -> None:
    """A child made by fork must not wait for threads of its parent's."""
    for each in tuple(_opened):
        each.start_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
