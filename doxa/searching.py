"""The indexes of a ledger, kept in step with its log: of words always, of vectors where asked."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doxa.engine import codec
from doxa.engine.documents import documents
from doxa.engine.errors import DamageError
from doxa.engine.graph import Graph
from doxa.engine.holes import Moved
from doxa.engine.log import Row
from doxa.engine.outcomes import Gap, Unavailable
from doxa.engine.store import LogStore
from doxa.engine.stream import Stream
from doxa.places import CACHE

if TYPE_CHECKING:
    from doxa.engine.embedding import Embedder
    from doxa.projections.lexical import Lexical
    from doxa.projections.vectors import Stored, Vectors

__all__ = ["AT_ONCE", "Search"]

Progress = Callable[[int, int | None], None]
FOLDER: Final = "search"
AT_ONCE: Final = 1_000  # documents that a recall embeds by itself
FEW: Final = 1_000  # new events that are worth writing the index of words down for
PART: Final = 1_024  # or this part of those before


class Search:
    """Both indexes of one open ledger. Safe for threads.

    They grow in memory as questions are asked; what is on disk is written by `save` alone.
    """

    def __init__(self, stream: Stream, store: LogStore, folder: Path | None) -> None:
        from doxa.projections.lexical import Lexical
        from doxa.projections.vectors import Vectors

        self._stream, self._store = stream, store
        kept = None if folder is None else folder / CACHE / FOLDER
        self.words: Lexical = Lexical(kept, store.ledger_id, self._link)
        if not self.words.position and store.last_tagged(codec.ERASING):
            with contextlib.suppress(OSError):  # it may be of before, by a process killed since
                self.words.discard()
        self.vectors: Vectors = Vectors(kept, store.ledger_id, self._hex)
        self._lock = threading.Lock()  # held by whoever makes the indexes grow
        _searches.add(self)

    def _start_in_child(self) -> None:
        """A forked child has none of the threads that may hold the lock, or be in the middle of
        making an index grow: what they left behind is made anew."""
        if self._lock.locked():
            self.words.forget()
        self._lock = threading.Lock()

    def _link(self, position: int) -> bytes | None:
        found = self._store.clean_link_at(position)
        return None if found is None else found[1]

    def _hex(self, position: int) -> str | None:
        # what was erased is out of the vectors before they are asked for (`erase`)
        if position < self._store.holes.at:  # the documents have other numbers since
            return None
        found = self._store.link_at(position)
        return None if found is None else found[1].hex()

    # -- growing

    def follow(self, progress: Progress | None = None) -> int:
        """Takes all that is in the log into the index of words, and returns the position that it
        goes up to. Raises `Unavailable` where the log can't be read."""
        fold, head = self._stream.capture()
        if self.words.position >= head:
            return head
        with self._lock:
            fold, head = self._stream.capture()
            self._forget_erased(fold.belief.graph)
            try:
                self.words.follow(
                    fold.belief.graph,
                    _told(self._store.read_rows(self.words.position, head), head, progress),
                )
            except Moved:  # what was read may be of before and of after
                self.words.forget()
                raise
            except DamageError as error:
                told = "the log can't be read to its end; ledger.verify() says where it is damaged"
                raise Unavailable(Gap.INDEX_UNAVAILABLE, str(error), told) from error
        return self.words.position

    def _forget_erased(self, graph: Graph) -> None:
        """Forgets all where something was erased or compacted behind where the indexes end: they
        were made, or read from the cache, with it."""
        last = max((graph.p_pos[row] for row in graph.redactions[-1:]), default=0)
        if graph.gone is not None:
            last = max(last, graph.gone.at)
        if 0 < self.words.position < last:
            pool = self.words.pool
            self.words.forget()
            self.vectors.forget(pool)

    def discard(self) -> None:
        """Removes what is kept of erased events: the index of words, which is made anew from the
        log, and the rows of the vectors. Raises `OSError`."""
        import numpy as np

        with self._lock:
            fold, _ = self._stream.capture()
            graph, pool = fold.belief.graph, self.words.pool
            blank = np.fromiter(graph.erased, np.int64, len(graph.erased))
            self.vectors.erase(pool, np.isin(np.asarray(pool.entities), blank))
            self.words.discard()

    def embed(
        self,
        embedder: Embedder,
        *,
        limit: int | None = AT_ONCE,
        progress: Progress | None = None,
    ) -> int:
        """Embeds the documents of the index of words that have no vectors yet, all of them or, of
        more than ``limit``, none, and returns how many. Raises `Unavailable`."""
        pool = self.words.pool
        if limit is not None and self.missing(embedder) > limit:
            return 0
        return self.vectors.follow(pool, self._said, embedder, progress=progress)

    def own(self, embedder: Embedder) -> Stored | None:
        """The vectors that there are by an embedder, of its dimension where it states one."""
        own = [each for each in self.vectors.stored(self.words.pool) if each.name == embedder.name]
        if embedder.dimension is not None:
            own = [each for each in own if each.dimension == embedder.dimension]
        return max(own, key=lambda each: each.count, default=None)

    def missing(self, embedder: Embedder) -> int:
        """How many documents have no vectors by an embedder yet."""
        own = self.own(embedder)
        return len(self.words.pool) - (0 if own is None else own.count)

    def _said(self, numbers: Sequence[int]) -> list[str]:
        """The texts of some documents, by their numbers; "" for one that was erased."""
        pool = self.words.pool
        positions = [int(pool.positions[number]) for number in numbers]
        rows = self._stream.rows(list(dict.fromkeys(positions)))
        found: dict[tuple[int, int], str] = {}
        for position, row in rows.items():
            for one in documents(codec.decode(row.type, row.head, row.data)):
                found[position, one.kind] = one.said
        kinds = (int(pool.entities[number]) & 7 for number in numbers)
        return [found.get(key, "") for key in zip(positions, kinds, strict=True)]

    # -- keeping

    def save(self, *, closing: bool = False) -> bool:
        """Writes down what is new; at closing, the index of words only where that is worth it.
        False where something could not be written."""
        with self._lock:
            if self._outdated():
                return False
            fresh = self.words.position - self.words.saved
            done = True
            if not closing or fresh >= max(FEW, self.words.saved // PART):
                done = self.words.save()
            done = self.vectors.save(self.words.pool) and done
            if self._outdated():  # something was erased while they were written
                self.words.discard()
                self.vectors.discard()
                return False
            return done

    def _outdated(self) -> bool:
        """Whether something was erased from the log that the indexes may still hold."""
        erased = self._store.last_tagged(codec.ERASING)
        return self.words.position > 0 and erased > self.words.position


def _told(
    pages: Iterable[Sequence[Row]], head: int, progress: Progress | None
) -> Iterator[Sequence[Row]]:
    """Pages as they are read, each told of when it was taken."""
    for page in pages:
        yield page
        if progress is not None and page:
            progress(page[-1].position, head)


_searches: weakref.WeakSet[Search] = weakref.WeakSet()


def _renew_after_fork() -> None:
    for search in tuple(_searches):
        search._start_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
