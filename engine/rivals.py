"""The held claims that may contradict one another, kept so that those that meet in valid time are
found without looking at all."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.engine.spans import Spans
from doxa.engine.times import Intervals

__all__ = ["RivalGroup"]


class RivalGroup:
    """Rows of claims, with the hull of where each is held and what it says. Only held ones."""

    def __init__(self) -> None:
        self._hulls = Spans()
        self._says: dict[int, str] = {}

    def note(self, row: int, says: str, hull: Intervals) -> None:
        """Keeps a claim, or forgets one that is held nowhere."""
        if hull:
            self._says[row] = says
            self._hulls.add(row, *hull)
        else:
            self._hulls.discard(row)
            self._says.pop(row, None)

    def others(self, row: int, where: Intervals) -> Iterator[int]:
        """The claims that say otherwise than a kept one, and may be held within ``where``."""
        says = self._says
        own = says[row]
        return (other for other in self.meeting(where) if says[other] != own)

    def meeting(self, where: Intervals) -> Iterator[int]:
        """The claims that may be held within ``where``."""
        for i in range(0, len(where), 2):
            yield from self._hulls.meeting(where[i], where[i + 1])
