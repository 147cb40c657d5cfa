"""Phrases at which a claim is to be recalled, found by the runs of terms that they are."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["Triggers"]

_BYTES: Final = array("i").itemsize


class Triggers:
    """The phrases of all claims, by place and by the numbers of their terms. Written by one thread;
    readers look only at documents that they know."""

    def __init__(self) -> None:
        self._owners, self._ends, self._terms = array("i"), array("i", [0]), array("i")
        self._runs: dict[int, dict[bytes, array[int]]] = {}  # place → phrase → documents
        self._first: dict[int, set[int]] = {}  # place → terms that a phrase begins with
        self._lengths: dict[int, tuple[int, ...]] = {}  # place → lengths of phrases, in terms

    def add(self, place: int, document: int, terms: Sequence[int]) -> None:
        """Adds a phrase of a document, which is not before those added already. One without terms
        never fires."""
        if not terms:
            return
        self._owners.append(document)
        self._terms.extend(terms)
        self._ends.append(len(self._terms))
        self._first.setdefault(place, set()).add(terms[0])
        lengths = self._lengths.get(place, ())
        if len(terms) not in lengths:
            self._lengths[place] = tuple(sorted((*lengths, len(terms))))
        self._put(place, document, array("i", terms).tobytes())

    def fired(self, place: int, asked: Sequence[int], known: int) -> Iterable[tuple[int, Any]]:
        """The lengths of phrases that occur in a question, each with documents, ascending, of the
        first ``known``. O(terms · lengths)."""
        runs = self._runs.get(place)
        if runs is None:
            return
        begin = self._first[place]
        starts = [i for i, term in enumerate(asked) if term in begin]
        raw = array("i", asked).tobytes()
        for length in self._lengths[place]:
            ends = len(asked) - length
            windows = {raw[_BYTES * i : _BYTES * (i + length)] for i in starts if i <= ends}
            for window in windows:
                documents = runs.get(window)
                if documents is not None:
                    yield length, documents[: bisect_left(documents, known)]

    def sealed(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as arrays by name."""
        return {
            name: np.array(column, np.int32)
            for name, column in (
                ("owners", self._owners),
                ("ends", self._ends),
                ("terms", self._terms),
            )
        }

    @classmethod
    def load(cls, arrays: Mapping[str, npt.NDArray[Any]], places: npt.NDArray[Any]) -> Triggers:
        """What `sealed` gave; ``places`` are those of all documents."""
        found, raw = cls(), arrays["terms"].astype(np.int32).tobytes()
        found._owners.frombytes(arrays["owners"].astype(np.int32).tobytes())
        found._terms.frombytes(raw)
        found._ends = array("i", arrays["ends"].tolist())
        of, first = places[arrays["owners"]].tolist(), arrays["terms"][arrays["ends"][:-1]].tolist()
        lengths: dict[int, set[int]] = {}
        bounds = zip(of, found._owners, first, pairwise(found._ends), strict=True)
        for place, owner, term, (low, high) in bounds:
            found._put(place, owner, raw[low * _BYTES : high * _BYTES])
            found._first.setdefault(place, set()).add(term)
            lengths.setdefault(place, set()).add(high - low)
        found._lengths = {place: tuple(sorted(some)) for place, some in lengths.items()}
        return found

    def _put(self, place: int, document: int, run: bytes) -> None:
        runs = self._runs.get(place)
        if runs is None:
            runs = self._runs[place] = {}
        documents = runs.get(run)
        if documents is None:
            runs[run] = array("i", (document,))
        else:
            documents.append(document)
