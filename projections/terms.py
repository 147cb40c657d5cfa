"""Terms as numbers: what words are counted as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.tables import Index, Names, Texts
from doxa.projections.words import LONGEST, stem

__all__ = ["Terms"]

_KEPT: Final = 1 << 20  # words whose terms are at hand


class Terms:
    """The stems that have occurred, numbered in order of arrival. Written by one thread; `find` may
    be called by others meanwhile."""

    def __init__(self) -> None:
        self._names = Names()
        # the number of the stem of a word, given out where it is new
        self.code_of: Callable[[str], int] = _Codes(self._names).__getitem__

    def find(self, term: str) -> int:
        """The number of a stem; -1 where it has never occurred."""
        return self._names.find(term)

    def sealed(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All of it as numbers and arrays by name."""
        self._names.seal()
        texts, index = self._names.texts.parts[0], self._names.sealed()["index"]
        arrays = {"blob": np.frombuffer(texts.blob, np.uint8), "ends": np.asarray(texts.ends)}
        if index is not None:
            arrays |= {"heads": np.asarray(index.heads), "entries": np.asarray(index.entries)}
        shift = None if index is None else index.shift
        return {"secret": self._names.secret, "shift": shift}, arrays

    @classmethod
    def load(cls, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Terms:
        """What `sealed` gave."""
        found = cls()
        shift, ends = numbers["shift"], arrays["ends"]
        if shift is not None:
            index = Index(shift, arrays["heads"].data, arrays["entries"].data)
            texts = Texts(arrays["blob"].data, ends.data, len(ends) - 1)
            found._names.load(texts, numbers["secret"], index)
        return found


class _Codes(dict[str, int]):
    """The numbers of words by how they are written, as far as they are at hand."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def __missing__(self, word: str) -> int:
        code = self._names.code(stem(word))
        if len(word) <= LONGEST:
            if len(self) >= _KEPT:
                self.clear()
            self[word] = code
        return code
