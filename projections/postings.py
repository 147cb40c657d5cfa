"""Which documents a term occurs in, and how often: an inverted index that only grows.

Documents are numbered within their workspace, in log order, and the postings of a term are kept by
workspace and in that order: what a view may know of them is a beginning, found by bisection.
Postings lie in segments that never change. New ones make a segment, which is merged with those
before it that are not much larger (O'Neil et al. 1996, a log-structured merge), so that there are
O(log n) of them and each posting is rewritten O(log n) times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["AT_ONCE", "Found", "Postings", "Segment", "merged", "sorted_out"]

Ints = npt.NDArray[Any]

AT_ONCE: Final = 1 << 14  # documents that are sorted out together
_DOCUMENT: Final = 14  # bits of a document among those
_TERM: Final = 31  # bits of a term
_GROWTH: Final = 2  # a segment is merged with what follows unless it is so many times larger


class Segment(NamedTuple):
    """Postings by key, which is ``place << 32 | term``: those of ``keys[i]`` are at ``starts[i]``
    to ``starts[i + 1]`` of ``documents`` (ascending) and ``counts`` (1 or more)."""

    keys: Ints  # int64, ascending
    starts: Ints  # int64, one more than there are keys
    documents: Ints  # int32
    counts: Ints  # int32


class Found(NamedTuple):
    """The documents of one term in one place, as far as they are known, and how often it occurs."""

    documents: Ints
    counts: Ints


class Postings:
    """The segments. Written by one thread; a reader takes those that are there when it asks."""

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        self.segments = tuple(segment for segment in segments if len(segment.keys))

    def add(self, places: Ints, documents: Ints, lengths: Ints, terms: Ints) -> None:
        """Adds documents, at most `AT_ONCE`: by their place and their number there, which goes on
        from those added before; each has so many of the ``terms``, one after another. Amortised
        O(terms · log n)."""
        if len(terms):
            self._append(sorted_out(places, documents, lengths, terms))

    def _append(self, segment: Segment) -> None:
        kept, size = list(self.segments), len(segment.documents)
        together = [segment]
        while kept and len(kept[-1].documents) < _GROWTH * size:
            size += len(kept[-1].documents)
            together.insert(0, kept.pop())
        self.segments = (*kept, merged(together))

    def merge(self) -> Segment:
        """Makes all segments one, and gives it."""
        if len(self.segments) > 1:
            self.segments = (merged(self.segments),)
        return merged(self.segments)

    def find(self, place: int, terms: Ints, known: int) -> list[list[Found]]:
        """For each term, where it occurs among the first ``known`` documents of a place, in order.
        O(terms · log² n)."""
        keys = np.int64(place) << np.int64(32) | terms.astype(np.int64)
        found: list[list[Found]] = [[] for _ in keys]
        for segment in self.segments:
            at = np.searchsorted(segment.keys, keys)
            for i in np.flatnonzero(segment.keys.take(at, mode="clip") == keys).tolist():
                low, high = segment.starts[at[i] : at[i] + 2].tolist()
                documents = segment.documents[low:high]
                if documents[-1] >= known:
                    high = low + int(np.searchsorted(documents, np.int32(known)))
                    documents = documents[: high - low]
                if high > low:
                    found[i].append(Found(documents, segment.counts[low:high]))
        return found


def sorted_out(places: Ints, documents: Ints, lengths: Ints, terms: Ints) -> Segment:
    """The segment of some documents, by their terms. O(terms · log(terms))."""
    assert len(places) <= AT_ONCE, len(places)
    known, place = np.unique(places, return_inverse=True)
    high = place.astype(np.int64) << (_TERM + _DOCUMENT) | np.arange(len(places))
    every = np.repeat(high, lengths) | terms.astype(np.int64) << _DOCUMENT
    every.sort()
    first = _firsts(every)
    postings = every[first]
    counts = np.diff(first, append=len(every)).astype(np.int32)
    key = postings >> _DOCUMENT
    starts = _firsts(key)
    of = key[starts]
    keys = known.astype(np.int64)[of >> _TERM] << 32 | of & ((1 << _TERM) - 1)
    numbers = documents.astype(np.int32)[postings & (AT_ONCE - 1)]
    return Segment(keys, np.append(starts, len(numbers)), numbers, counts)


def _firsts(ascending: Ints) -> Ints:
    """Where a number is another than the one before it."""
    other = np.empty(len(ascending), bool)
    other[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=other[1:])
    return np.flatnonzero(other)


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment out of several, each of later documents than those before it. O(postings)."""
    if len(segments) == 1:
        return segments[0]
    if not segments:
        none = np.empty(0, np.int64)
        return Segment(none, np.zeros(1, np.int64), none.astype(np.int32), none.astype(np.int32))
    ends = np.cumsum([len(segment.documents) for segment in segments])
    keys = np.concatenate([segment.keys for segment in segments])
    counts = np.concatenate([np.diff(segment.starts) for segment in segments])
    begins = np.concatenate(
        [s.starts[:-1] + end - len(s.documents) for s, end in zip(segments, ends, strict=True)]
    )
    order = np.argsort(keys, kind="stable")
    keys, counts, begins = keys[order], counts[order], begins[order]
    after = np.cumsum(counts)
    moved = np.repeat(begins - (after - counts), counts) + np.arange(ends[-1])
    first = _firsts(keys)
    return Segment(
        keys[first],
        np.append((after - counts)[first], ends[-1]),
        np.concatenate([segment.documents for segment in segments])[moved],
        np.concatenate([segment.counts for segment in segments])[moved],
    )
