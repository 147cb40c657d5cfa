"""Phrases at which a claim is to be recalled, found by the runs of terms that they are."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
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
        runs = self._runs.setdefault(place, {})
        runs.setdefault(array("i", terms).tobytes(), array("i")).append(document)
        self._first.setdefault(place, set()).add(terms[0])
        lengths = self._lengths.get(place, ())
        if len(terms) not in lengths:
            self._lengths[place] = tuple(sorted((*lengths, len(terms))))

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
                if documents is not None and documents[0] < known:
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
        found = cls()
        owners, ends = arrays["owners"].tolist(), arrays["ends"].tolist()
        terms = arrays["terms"].tolist()
        of = places[arrays["owners"]].tolist()
        for i, (place, owner) in enumerate(zip(of, owners, strict=True)):
            found.add(place, owner, terms[ends[i] : ends[i + 1]])
        return found
