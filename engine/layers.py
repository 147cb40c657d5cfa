"""The layers of records by how often they were used: buffer, working, core.

A layer filters what is asked for, and orders what is equal otherwise; it never changes decay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

import numpy as np

from doxa.engine.tables import Ints

__all__ = ["COLD", "CORE", "WORKING", "Layer", "Warm", "layer"]

WORKING: Final = 5  # uses from which on a record is in the working layer
CORE: Final = 20  # uses from which on it is in the core


class Layer(StrEnum):
    """How often a record is used: of two that are equal otherwise, core comes before working, and
    working before buffer."""

    BUFFER = "buffer"
    WORKING = "working"
    CORE = "core"


_HEAT: Final = {each: place for place, each in enumerate(Layer)}


def layer(count: int) -> Layer:
    """The layer of a record that was used so many times.

    >>> [str(layer(count)) for count in (0, 4, 5, 19, 20)]
    ['buffer', 'buffer', 'working', 'working', 'core']
    """
    return Layer.CORE if count >= CORE else Layer.WORKING if count >= WORKING else Layer.BUFFER


class Warm:
    """The records of one log that are in a layer above the first, by entity."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        """``counts`` has how often records were used, by entity."""
        some = sorted((number, _HEAT[layer(count)]) for number, count in counts.items())
        some = [pair for pair in some if pair[1]]
        self.numbers = np.array([number for number, _ in some], np.int64)
        self._heat = np.array([heat for _, heat in some], np.int64)

    def __bool__(self) -> bool:
        return len(self.numbers) > 0

    def heat(self, records: Ints) -> Ints:
        """How warm records are: 0 for the buffer, 1 for working, 2 for core."""
        found = np.zeros(len(records), np.int64)
        if len(self.numbers):
            at = np.minimum(np.searchsorted(self.numbers, records), len(self.numbers) - 1)
            there = self.numbers[at] == records
            found[there] = self._heat[at[there]]
        return found

    def among(self, records: Ints, layers: Collection[Layer]) -> Ints:
        """Of each record, whether it is in one of some layers."""
        return np.isin(self.heat(records), [_HEAT[each] for each in layers])


COLD: Final = Warm({})
