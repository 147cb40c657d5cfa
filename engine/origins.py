"""The live source supports of a claim that has very many, by origin."""

from __future__ import annotations

from collections.abc import Callable

from doxa.engine.spans import Spans
from doxa.engine.times import EMPTY, Intervals, intersect, subtract, union

__all__ = ["Origins"]


class Origins:
    """Supports by origin, each with the portion that it was recorded with."""

    def __init__(self) -> None:
        self._by_origin: dict[int, Spans] = {}
        self._digested: set[int] = set()

    @property
    def digested(self) -> bool:
        """Whether any has a content digest, by which two origins may be one."""
        return bool(self._digested)

    def note(self, row: int, origin: int, portion: Intervals, digested: bool) -> None:
        """Keeps a support, or forgets one that counts nowhere, whose portion is then empty."""
        spans = self._by_origin.setdefault(origin, Spans())
        if portion:
            spans.add(row, *portion)
            if digested:
                self._digested.add(row)
        else:
            spans.discard(row)
            self._digested.discard(row)
        if not spans:
            del self._by_origin[origin]

    def agreeing(
        self, where: Intervals, extent: Callable[[int, Intervals], Intervals]
    ) -> Intervals:
        """Where, of ``where``, two origins or more count; ``extent(support, within)`` says where
        one does. Looks at no more of them than it needs."""
        once, twice = EMPTY, EMPTY
        for spans in self._by_origin.values():
            open_ = subtract(where, twice)
            if not open_:
                break
            left = open_
            for i in range(0, len(open_), 2):
                for row in spans.meeting(open_[i], open_[i + 1]):
                    left = subtract(left, extent(row, left))
                    if not left:
                        break
            found = subtract(open_, left)
            twice = union(twice, intersect(once, found))
            once = union(once, found)
        return twice
