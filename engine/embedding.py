"""What turns texts into vectors: an embedder, whose every answer is checked.

A vector here has length 1, so that the cosine of two is their dot product. It is computed in double
precision and kept in single.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.bounded import bounded
from doxa.engine.errors import CallerError
from doxa.engine.fields import check_label
from doxa.engine.outcomes import Gap, Unavailable

__all__ = ["DIMENSIONS", "Embedder", "Vector", "unit_vectors"]

Vector = npt.NDArray[np.float32]
Embed = Callable[[list[str]], Any]  # a vector for each text: lists, tuples, arrays, or one array

DIMENSIONS: Final = 65_536  # at most; the bounds of errors elsewhere hold up to here
_NUMBERS: Final = "fiu"  # what numpy calls the kinds of numbers that are numbers here
_Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Embedder:
    """A way to turn texts into vectors.

    ``name`` is the identity of its vectors: they are stored under it, and compared with no others.
    So another model, or another version of one, is another name. ``embed`` takes a list of texts
    and returns a vector for each; ``embed_query`` does so for questions, where the model treats
    them differently. ``dimension`` is checked where it is given. ``timeout`` is in seconds for one
    call, ``batch`` the number of texts in one. Raises `CallerError`.
    """

    name: str
    embed: Embed
    _: KW_ONLY
    dimension: int | None = None
    timeout: float = 30.0
    embed_query: Embed | None = None
    batch: int = 256

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise _refused(f"name is {self.name!r:.80}", "name the model and its version")
        try:
            check_label(self.name)
        except ValueError as error:
            raise CallerError(f"an embedder's name {error}") from None
        for what, call in (("embed", self.embed), ("embed_query", self.embed_query)):
            if not callable(call) and (call is not None or what == "embed"):
                raise _refused(f"{what} is {call!r:.80}", "give a function of a list of texts")
        if self.dimension is not None and not _whole(self.dimension, DIMENSIONS):
            raise _refused(
                f"dimension is {self.dimension!r:.80}", f"give a number from 1 to {DIMENSIONS:,}"
            )
        if not _whole(self.batch, 1 << 20):
            raise _refused(f"batch is {self.batch!r:.80}", f"give a number from 1 to {1 << 20:,}")
        seconds = self.timeout
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not 0 < seconds <= 86_400:
            raise _refused(f"timeout is {seconds!r:.80}", "give seconds, at most a day")

    @property
    def who(self) -> str:
        """The embedder, as messages name it."""
        return f"embedder {self.name!r}"

    def vectors(
        self, texts: Sequence[str], *, dimension: int | None = None, zeros: bool = False
    ) -> Vector:
        """A vector for each text, one row each, ``batch`` of them at a time. Raises `Unavailable`.

        A vector that is all zeros has no direction; it is refused, unless ``zeros``: then it stays.
        """
        return self._asked(self.embed, texts, dimension or self.dimension, zeros)

    def query(self, text: str, *, dimension: int | None = None) -> Vector:
        """The vector of a question. Raises `Unavailable`."""
        found: Vector = self.queries([text], dimension=dimension)[0]
        return found

    def queries(self, texts: Sequence[str], *, dimension: int | None = None) -> Vector:
        """The vectors of questions, one row each, ``batch`` at a time. Raises `Unavailable`."""
        embed = self.embed_query or self.embed
        return self._asked(embed, texts, dimension or self.dimension, False)

    def _asked(
        self, embed: Embed, texts: Sequence[str], dimension: int | None, zeros: bool
    ) -> Vector:
        parts: list[Vector] = []
        for at in range(0, len(texts), self.batch):
            parts.append(self._called(embed, list(texts[at : at + self.batch]), dimension, zeros))
            dimension = parts[0].shape[1]
        return np.concatenate(parts) if parts else np.zeros((0, dimension or 0), np.float32)

    def _called(self, embed: Embed, texts: list[str], dimension: int | None, zeros: bool) -> Vector:
        def call() -> Vector:  # what it returns is read in there too: it may be made only then
            return unit_vectors(embed(texts), count, self.who, dimension, zeros=zeros)

        count = len(texts)  # of what it was given, whatever it makes of the list
        return bounded(call, self.timeout, self.who)


def _refused(what: str, advice: str) -> CallerError:
    return CallerError(f"an embedder's {what}; {advice}")


def _whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def unit_vectors(
    given: Any, count: int, who: str, dimension: int | None = None, *, zeros: bool = False
) -> Vector:
    """``count`` vectors (1 or more), made as long as 1: an array of one row each.

    ``given`` is what somebody's function returned, so that anything may be wrong with it. Raises
    `Unavailable` (vectors_unavailable) that names the text by its number, from 1, and what is wrong
    with its vector: not numbers, not finite, all zeros (unless ``zeros``), of another dimension.
    """
    rows = _doubles(given, count, who)
    if dimension is not None and rows.shape[1] != dimension:
        raise _wrong(
            who, 0, count, f"it has dimension {rows.shape[1]} where {dimension} is expected"
        )
    if not 1 <= rows.shape[1] <= DIMENSIONS:
        raise _wrong(who, 0, count, f"its dimension is {rows.shape[1]}")
    largest = np.abs(rows).max(axis=1)
    bad = np.flatnonzero(~np.isfinite(largest))
    if len(bad):
        at = int(bad[0])
        what = "NaN" if np.isnan(rows[at]).any() else "infinite"
        raise _wrong(who, at, count, f"it has a number that is {what}")
    empty = largest == 0.0
    if empty.any() and not zeros:
        raise _wrong(who, int(np.flatnonzero(empty)[0]), count, "all of it is zero")
    largest[empty] = 1.0
    rows = rows / largest[:, None]  # or a square could be too large for a double, or too small
    length = np.sqrt((rows * rows).sum(axis=1))
    length[empty] = 1.0
    return np.ascontiguousarray(rows / length[:, None], np.float32)


def _doubles(given: Any, count: int, who: str) -> _Doubles:
    """The vectors as they were given, one row each."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise Unavailable(
            Gap.VECTORS_UNAVAILABLE, f"{who} returned a {kind} where a list of vectors is expected"
        )
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in _NUMBERS:
        rows: Sequence[Any] | npt.NDArray[Any] = given
    else:
        rows = list(islice(given, count + 1))
    if len(rows) != count:
        more = "more" if len(rows) > count and not isinstance(rows, np.ndarray) else len(rows)
        raise Unavailable(
            Gap.VECTORS_UNAVAILABLE, f"{who} returned {more} vectors for {count} texts"
        )
    with np.errstate(over="ignore"):  # too large for a double: infinite, and said to be
        if isinstance(rows, np.ndarray):
            return rows.astype(np.float64)
        each = [_row(row, at, count, who).astype(np.float64) for at, row in enumerate(rows)]
    for at, row in enumerate(each):
        if len(row) != len(each[0]):
            what = f"it has dimension {len(row)} where that of text 1 has {len(each[0])}"
            raise _wrong(who, at, count, what)
    return np.array(each, np.float64).reshape(count, -1)


def _row(row: Any, at: int, count: int, who: str) -> npt.NDArray[Any]:
    """One vector as it was given."""
    try:
        found = np.asarray(row)
    except (ValueError, TypeError) as error:
        raise _wrong(who, at, count, "it is no list of numbers") from error
    if found.size == 0 and found.ndim == 1:
        raise _wrong(who, at, count, "it is empty")
    if found.ndim != 1 or found.dtype.kind not in _NUMBERS:
        raise _wrong(who, at, count, "it is no list of numbers")
    return found


def _wrong(who: str, at: int, count: int, what: str) -> Unavailable:
    of = f"text {at + 1} of {count}" if count > 1 else "the text"
    return Unavailable(Gap.VECTORS_UNAVAILABLE, f"{who}, the vector of {of}: {what}")
