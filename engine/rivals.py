"""The held claims that may contradict one another, kept so that those that meet in valid time are
found without looking at all."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.engine.spans import Spans
from doxa.engine.times import Intervals

__all__ = ["RivalGroup"]


class RivalGroup:
    """Rows of claims, with the hull of where each is held, by what they say. Only held ones."""

    def __init__(self) -> None:
        self._says: dict[int, int] = {}  # claim → the number of what it says
        self._numbers: dict[str, int] = {}
        self._hulls: dict[int, Spans] = {}  # by what is said: those who say it
        self._reach = Spans()  # of each thing said, with all that has been said it over

    def note(self, row: int, says: str, hull: Intervals) -> None:
        """Keeps a claim, or forgets one that is held nowhere. What it says never changes."""
        if not hull:
            number = self._says.pop(row, None)
            if number is not None:
                self._hulls[number].discard(row)
                if not self._hulls[number]:
                    del self._hulls[number]
                    self._reach.discard(number)
            return
        number = self._says[row] = self._numbers.setdefault(says, len(self._numbers))
        hulls = self._hulls.get(number)
        if hulls is None:
            hulls = self._hulls[number] = Spans()
        hulls.add(row, *hull)
        self._reach.widen(number, *hull)

    def others(self, says: str, where: Intervals) -> Iterator[int]:
        """The claims that say otherwise, and may be held within ``where``."""
        return self._meeting(where, self._numbers.get(says))

    def meeting(self, where: Intervals) -> Iterator[int]:
        """The claims that may be held within ``where``."""
        return self._meeting(where, None)

    def _meeting(self, where: Intervals, but: int | None) -> Iterator[int]:
        for i in range(0, len(where), 2):
            for number in self._reach.meeting(where[i], where[i + 1]):
                if number != but:
                    yield from self._hulls[number].meeting(where[i], where[i + 1])
