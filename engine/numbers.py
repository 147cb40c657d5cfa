"""Compact tables of whole numbers that only grow: numbers and lists, found by key.

Sealed and live parts are as in `tables`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import numpy as np

from doxa.engine.tables import NONE, Index, Ints

__all__ = ["Keys", "Lists", "Numbers", "Series", "before_each", "chain", "lead", "without"]

_SPREAD: Final = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd: multiplicative hashing
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_EMPTY: Final[Sequence[int]] = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """Whole numbers as keys: entry i has ``keys[i]``."""

    keys: Any
    index: Index

    @classmethod
    def over(cls, keys: Ints) -> Keys:
        spread = (keys.astype(np.uint64) * np.uint64(_SPREAD)) >> np.uint64(33)
        return cls(keys.data, Index.over(spread.astype(np.int64), np.arange(len(keys))))

    def find(self, key: int) -> int:
        index, keys = self.index, self.keys
        heads, bucket = index.heads, (key * _SPREAD & _MASK) >> 33 >> index.shift
        for entry in index.entries[heads[bucket] : heads[bucket + 1]]:
            number: int = entry & 0xFFFFFFFF
            if keys[number] == key:
                return number
        return NONE


class Numbers:
    """Whole numbers of 31 bits by whole numbers of 63; NONE where there is none."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self._sealed: tuple[Keys, Any] | None = None

    def get(self, key: int) -> int:
        found = self.live.get(key)
        if found is not None:
            return found
        if self._sealed is None:
            return NONE
        keys, numbers = self._sealed
        index, sought = keys.index, keys.keys
        heads, bucket = index.heads, (key * _SPREAD & _MASK) >> 33 >> index.shift
        for entry in index.entries[heads[bucket] : heads[bucket + 1]]:
            place = entry & 0xFFFFFFFF
            if sought[place] == key:
                number: int = numbers[place]
                return number
        return NONE

    def get_all(self, keys: Sequence[int]) -> list[int]:
        """The numbers of keys."""
        found = list(map(self.live.get, keys, repeat(NONE)))
        if self._sealed is not None:
            get = self.get
            for i in [i for i, number in enumerate(found) if number == NONE]:
                found[i] = get(keys[i])
        return found

    def __contains__(self, key: int) -> bool:
        return self.get(key) != NONE

    def __setitem__(self, key: int, number: int) -> None:
        self.live[key] = number

    def items(self) -> Iterator[tuple[int, int]]:
        """All entries, each once."""
        live = dict(self.live)
        yield from live.items()
        if self._sealed is not None:
            keys, numbers = self._sealed
            yield from (
                (key, number)
                for key, number in zip(keys.keys, numbers, strict=True)
                if key not in live
            )

    def seal(self) -> None:
        """Moves what is live into the sealed part."""
        if not self.live:
            return
        entries = list(self.items())
        keys = np.array([key for key, _ in entries], dtype=np.int64)
        numbers = np.array([number for _, number in entries], dtype=np.int32)
        self._sealed = (Keys.over(keys), numbers.data)
        self.live = {}

    def sealed(self) -> dict[str, Any]:
        """The sealed parts by name."""
        if self._sealed is None:
            return {}
        keys, values = self._sealed
        return {"keys.keys": keys.keys, "keys.index": keys.index, "values": values}

    def load(self, keys: Keys, values: Any) -> None:
        """Takes sealed parts over."""
        self._sealed, self.live = (keys, values), {}


class Series:
    """Lists of whole numbers of 31 bits, by row; a list is given when its row is."""

    def __init__(self) -> None:
        self.ends, self.values = array("i", [0]), array("i")

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, row: int) -> Sequence[int]:
        return self.values[self.ends[row] : self.ends[row + 1]]

    def append(self, values: Iterable[int]) -> None:
        """The list of the next row."""
        self.values.extend(values)
        self.ends.append(len(self.values))

    def replace(self, row: int, value: int) -> None:
        """Puts one value in place of each of a row's."""
        for place in range(self.ends[row], self.ends[row + 1]):
            self.values[place] = value


class Lists:
    """Lists of whole numbers of 31 bits, by whole numbers of 63; each only grows at its end."""

    def __init__(self) -> None:
        self.live: dict[int, list[int]] = {}
        self._sealed: tuple[Keys, Any, Any] | None = None

    def get(self, key: int) -> Sequence[int]:
        """The list of a key; empty where there is none."""
        found = self.live.get(key)
        if found is not None:
            return found
        return _EMPTY if self._sealed is None else self._from_sealed(key)

    def _from_sealed(self, key: int) -> Sequence[int]:
        sealed = self._sealed
        assert sealed is not None
        keys, starts, values = sealed
        place = keys.find(key)
        if place == NONE:
            return _EMPTY
        found: Sequence[int] = values[starts[place] : starts[place + 1]]
        return found

    def __contains__(self, key: int) -> bool:
        return bool(self.get(key))

    def __bool__(self) -> bool:
        return bool(self.live) or self._sealed is not None

    def add(self, key: int, value: int) -> None:
        """Appends to the list of a key."""
        found = self.live.get(key)
        if found is not None:
            found.append(value)
        elif self._sealed is None:
            self.live[key] = [value]
        else:
            self.live[key] = [*self._from_sealed(key), value]

    def own(self, key: int) -> list[int]:
        """The list of a key, to be changed in place."""
        found = self.live.get(key)
        if found is None:
            found = self.live[key] = list(self.get(key))
        return found

    def put(self, key: int, values: list[int]) -> None:
        """Gives a key another list."""
        self.live[key] = values

    def items(self) -> Iterator[tuple[int, Sequence[int]]]:
        """All keys with their lists, each once."""
        live = dict(self.live)
        yield from live.items()
        if self._sealed is not None:
            keys, starts, values = self._sealed
            for place, key in enumerate(keys.keys):
                if key not in live:
                    yield key, values[starts[place] : starts[place + 1]]

    def keys(self) -> Iterator[int]:
        """All keys, each once."""
        return (key for key, _ in self.items())

    def seal(self) -> None:
        """Moves what is live into the sealed part."""
        if not self.live:
            return
        live = self.live
        keys = [np.fromiter(live, np.int64, len(live))]
        sizes = [np.fromiter(map(len, live.values()), np.int64, len(live))]
        values = [np.fromiter((v for some in live.values() for v in some), np.int32)]
        if self._sealed is not None:
            old, starts, kept = self._sealed
            old_keys, old_starts = np.asarray(old.keys), np.asarray(starts)
            stay = ~np.isin(old_keys, keys[0])
            keys.append(old_keys[stay])
            sizes.append(np.diff(old_starts)[stay])
            values.append(np.asarray(kept)[np.repeat(stay, np.diff(old_starts))])
        starts = np.zeros(sum(map(len, sizes)) + 1, np.int64)
        np.cumsum(np.concatenate(sizes), out=starts[1:])
        self._sealed = (
            Keys.over(np.concatenate(keys)),
            starts.data,
            np.concatenate(values).data,
        )
        self.live = {}

    def sealed(self) -> dict[str, Any]:
        """The sealed parts by name."""
        if self._sealed is None:
            return {}
        keys, starts, values = self._sealed
        return {
            "keys.keys": keys.keys,
            "keys.index": keys.index,
            "starts": starts,
            "values": values,
        }

    def load(self, keys: Keys, starts: Any, values: Any) -> None:
        """Takes sealed parts over."""
        self._sealed, self.live = (keys, starts, values), {}


def before_each(keys: Ints, row: int, known: Ints) -> Ints:
    """For each of new rows, which begin at ``row``, the one before it of the same key: another of
    them, or else what is ``known``, which is changed. O(n log n)."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    known[order[again + 1]] = row + order[again]
    return known


def chain(last: array[int], keys: Ints, row: int) -> Ints:
    """The row before each of new ones, which begin at ``row``, by small keys, some of them NONE;
    ``last`` has the last row of each key."""
    chained = np.flatnonzero(keys != NONE)
    found = np.full(len(keys), NONE, np.int32)
    if len(chained):
        rows, picked = np.frombuffer(last, np.int32), keys[chained]
        found[chained] = rows[picked]
        before_each(keys, row, found)
        found[keys == NONE] = NONE
    return found


def lead(last: array[int], keys: Ints, row: int) -> None:
    """Has ``last`` lead to the new rows, which are chained: whoever follows it finds them whole."""
    chained = np.flatnonzero(keys != NONE)
    if len(chained):  # where a key is there more than once, its last row stays
        np.frombuffer(last, np.int32)[keys[chained]] = row + chained


def without(gone: set[int], first: int, following: array[int]) -> int:
    """The first of a chain, from which some rows are left out."""
    while first in gone:
        first = following[first]
    at = first
    while at != NONE:
        while following[at] in gone:
            following[at] = following[following[at]]
        at = following[at]
    return first
