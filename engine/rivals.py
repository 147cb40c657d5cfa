"""The held claims about one subject and single-valued predicate, kept so that those that meet in
valid time are found without looking at all."""

from __future__ import annotations

from bisect import bisect_left, insort

from doxa.engine.times import EMPTY, Intervals, union, union_all

__all__ = ["RivalGroup"]

FEW = 8  # up to so many are united directly


class RivalGroup:
    """Rows of claims of one workspace, perspective, subject and predicate, with where each is held
    and the equality key of its object. Only held ones are kept."""

    def __init__(self) -> None:
        self._held: dict[int, Intervals] = {}
        self._keys: dict[int, str] = {}
        self._starts: list[tuple[int, int]] = []  # (start, row), sorted
        self._longest = 0  # length of the longest hull ever kept
        self._others: dict[str, Intervals] = {}  # object key → where any other object is held

    def __setitem__(self, row: int, entry: tuple[Intervals, str]) -> None:
        held, key = entry
        old = self._held.get(row, EMPTY)
        if held == old:
            return
        self._others.clear()
        if old:
            del self._starts[bisect_left(self._starts, (old[0], row))]
        if not held:
            del self._held[row], self._keys[row]
            return
        self._held[row], self._keys[row] = held, key
        insort(self._starts, (held[0], row))
        self._longest = max(self._longest, held[-1] - held[0])

    def meeting(self, where: Intervals, most: int | None = None) -> list[int]:
        """The rows whose hull meets that of ``where``, at most so many. O(log n + those, and as
        many that begin within the length of the longest before it)."""
        low, high = where[0], where[-1]
        found: list[int] = []
        for i in range(bisect_left(self._starts, (high, -1)) - 1, -1, -1):
            start, row = self._starts[i]
            if start <= low - self._longest:
                break
            if self._held[row][-1] > low:
                found.append(row)
                if len(found) == most:
                    break
        return found

    def against(self, row: int) -> Intervals:
        """Where another object than that of a kept row is held; exact wherever the row is held."""
        key = self._keys[row]
        near = self.meeting(self._held[row], FEW + 1)
        if len(near) <= FEW:
            return union_all(self._held[other] for other in near if self._keys[other] != key)
        if not self._others:
            self._unite()
        return self._others[key]

    def _unite(self) -> None:
        by_object: dict[str, list[Intervals]] = {}
        for row, held in self._held.items():
            by_object.setdefault(self._keys[row], []).append(held)
        keys = list(by_object)
        unions = [union_all(by_object[key]) for key in keys]
        before: list[Intervals] = [EMPTY]
        for held in unions:
            before.append(union(before[-1], held))
        after = EMPTY
        for i in range(len(keys) - 1, -1, -1):
            self._others[keys[i]] = union(before[i], after)
            after = union(after, unions[i])
