"""Where one code occurs in a column of claims: an index that grows with the log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from doxa.projections.growing import Grown, GrownTexts, Ints

__all__ = ["CODES", "Chosen", "Places", "is_rare"]

CODES: Final = 64  # codes whose places are kept at once
_RARE: Final = 256  # claims for each that has a code, from which on its columns are kept beside


class Chosen(NamedTuple):
    """What there is of one code up to a position: the rows of its claims, ascending; the rows of
    their history, ascending, and whose each is, counted among these claims. All int32."""

    rows: Ints
    changes: Ints
    owners: Ints
    places: Places

    @property
    def rare(self) -> bool:
        """Whether its columns are kept beside."""
        return is_rare(self.rows)


class Places:
    """The claims that have one code in a column, and the rows of the history of claims that are of
    one of these. ``mutex`` guards the arrays that it belongs to, and is held by who calls `follow`
    and `upto`.

    What is rare has columns of its own, so that its entries lie side by side: of all claims, at
    most `CODES` in `_RARE` are kept twice.
    """

    def __init__(self, mutex: threading.RLock) -> None:
        self._mutex = mutex
        self._rows, self._changes, self._owners = (Grown(np.int32) for _ in range(3))
        self._claims = self._history = 0  # that were looked through
        self._numbers: dict[object, tuple[object, Grown]] = {}
        self._texts: dict[str, GrownTexts] = {}

    def follow(self, codes: Ints, code: int, owner: Ints) -> None:
        """Takes in what is new of the codes of claims, and of the owners of rows of the history."""
        if self._claims < len(codes):
            fresh = np.flatnonzero(codes[self._claims :] == code) + self._claims
            self._rows.more(len(fresh))[:] = fresh
            self._claims = len(codes)
        if self._history < len(owner):
            owners = owner[self._history :]
            mine = np.flatnonzero(codes[owners] == code)
            self._changes.more(len(mine))[:] = mine + self._history
            rows = self._rows.first(self._rows.size)
            self._owners.more(len(mine))[:] = np.searchsorted(rows, owners[mine])
            self._history = len(owner)

    def upto(self, claims: int, rows: int) -> Chosen:
        """Those among the first claims, and the first rows of their history."""
        own, changes = self._rows.first(self._rows.size), self._changes.first(self._changes.size)
        known = int(np.searchsorted(changes, rows))
        return Chosen(
            own[: np.searchsorted(own, claims)], changes[:known], self._owners.first(known), self
        )

    def numbers(self, key: object, dtype: Any, rows: Ints, made: Callable[[Ints], Ints]) -> Ints:
        """What ``made`` gives at the rows of what is rare, or of its history: entries that never
        change, known by ``key``."""
        with self._mutex:
            found = self._numbers.get(id(key))
            if found is None:
                found = self._numbers[id(key)] = key, Grown(dtype)
            _, kept = found
            if kept.size < len(rows):
                fresh = made(rows[kept.size :])
                kept.more(len(fresh))[:] = fresh
            return kept.first(len(rows))

    def texts(self, name: str, rows: Ints, made: Callable[[Ints], Any]) -> Any:
        """The same of texts, in Arrow, and perhaps more of them."""
        with self._mutex:
            kept = self._texts.get(name)
            if kept is None:
                kept = self._texts[name] = GrownTexts()
            if len(kept) < len(rows):
                kept.extend([made(rows[len(kept) :])])
            return kept.array


def is_rare(rows: Ints) -> bool:
    """Whether ascending rows are few beside all up to the last of them."""
    return len(rows) == 0 or len(rows) * _RARE <= int(rows[-1]) + 1
