"""Arrays that only grow, with room to spare: what was given out of one stays as it was."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from doxa.engine.tables import Objects, Strings

__all__ = ["Grown", "GrownTexts", "Ints", "column_texts", "picked"]

Ints = npt.NDArray[Any]
LARGEST: Final = 2**31 - 1  # bytes of a plain array of texts


class Grown:
    """Numbers, one after another. Adding costs what is added, on average."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._kept: Ints = np.empty(0, dtype)
        self.size = 0

    def more(self, count: int) -> Ints:
        """Room for so many more, to be written at once: they count from now on."""
        low, self.size = self.size, self.size + count
        if len(self._kept) < self.size:
            larger = np.empty(max(self.size, low + low // 2), self._kept.dtype)
            larger[:low] = self._kept[:low]
            self._kept = larger
        return self._kept[low : self.size]

    def first(self, count: int) -> Ints:
        """The first of them."""
        return self._kept[:count]


class GrownTexts:
    """Texts, one after another, as one Arrow array; the first that are given are not copied until
    others follow."""

    def __init__(self) -> None:
        self.array: Any = pa.array([], pa.string())
        self._blob, self._ends = Grown(np.uint8), Grown(np.int32)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def bytes(self) -> int:
        """How many the texts have."""
        return int(_ends(self.array)[-1] - _ends(self.array)[0]) if len(self) else 0

    def extend(self, chunks: list[Any]) -> None:
        """Adds the texts of plain or large arrays without nulls."""
        chunks = [chunk for chunk in chunks if len(chunk)]
        if not len(self.array) and len(chunks) == 1:
            (self.array,) = chunks
            return
        if len(self.array) and not self._ends.size:
            chunks = [self.array, *chunks]
        for chunk in chunks:
            self._copy(chunk)
        if chunks:
            ends, blob = self._ends.first(self._ends.size), self._blob.first(self._blob.size)
            kind = pa.string() if ends.dtype == np.int32 else pa.large_string()
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(blob)]
            self.array = pa.Array.from_buffers(kind, len(ends) - 1, buffers)

    def _copy(self, chunk: Any) -> None:
        ends = _ends(chunk)
        low, high = int(ends[0]), int(ends[-1])
        size = self._blob.size + high - low
        if size > LARGEST and self._ends.first(1).dtype == np.int32:
            wide = Grown(np.int64)
            wide.more(self._ends.size)[:] = self._ends.first(self._ends.size)
            self._ends = wide
        if not self._ends.size:
            self._ends.more(1)[:] = 0
        self._ends.more(len(chunk))[:] = ends[1:].astype(np.int64) + (self._blob.size - low)
        if high > low:
            self._blob.more(high - low)[:] = np.frombuffer(chunk.buffers()[2], np.uint8)[low:high]


def _ends(texts: Any) -> Ints:
    """Where the texts of an array begin and end in its bytes, one more than there are."""
    dtype = np.int32 if texts.type == pa.string() else np.int64
    return np.frombuffer(texts.buffers()[1], dtype)[texts.offset : texts.offset + len(texts) + 1]


def picked(texts: Any, rows: Any) -> Any:
    """Chosen texts of an array, as a plain array."""
    found = texts.take(rows)
    return found if found.type == pa.string() else found.cast(pa.string())


def column_texts(column: Strings | Objects, low: int, high: int) -> list[Any]:
    """Texts low to high as Arrow arrays: those that are sealed without copying them."""
    sealed, _ = column.parts
    found = []
    if low < sealed.size:
        ends = np.asarray(sealed.ends)
        if ends[-1] <= LARGEST:
            whole = pa.StringArray.from_buffers(
                sealed.size, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(sealed.blob)
            )
        else:
            whole = pa.LargeStringArray.from_buffers(
                sealed.size, pa.py_buffer(ends), pa.py_buffer(sealed.blob)
            )
        found.append(whole[low : min(high, sealed.size)])
        low = min(high, sealed.size)
    if low < high:
        found.append(pa.array([column.text(i) for i in range(low, high)], pa.string()))
    return found
