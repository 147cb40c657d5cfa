"""Rings in a graph: which places can be reached from each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["neighbours", "reaches", "rings"]


def rings(edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The number of the ring that a place is in, for each that is in one: an edge goes round if and
    only if both its ends have the same number. Tarjan's algorithm, without recursion. O(edges)."""
    after: dict[str, list[str]] = {}
    for start, end in edges:
        after.setdefault(start, []).append(end)
        after.setdefault(end, [])
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: dict[str, int] = {}
    for root in sorted(after):
        if root in order:
            continue
        work = [(root, iter(after[root]))]
        order[root] = lowest[root] = len(order)
        path.append(root)
        on_path.add(root)
        while work:
            place, rest = work[-1]
            for following in rest:
                if following not in order:
                    order[following] = lowest[following] = len(order)
                    path.append(following)
                    on_path.add(following)
                    work.append((following, iter(after[following])))
                    break
                if following in on_path:
                    lowest[place] = min(lowest[place], order[following])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[place])
                if lowest[place] == order[place]:
                    members = _taken_off(path, on_path, place)
                    if len(members) > 1 or place in after[place]:
                        found.update(dict.fromkeys(members, order[place]))
    return found


def _taken_off(path: list[str], on_path: set[str], place: str) -> list[str]:
    """The end of the path from a place on, which is taken off it."""
    members = path[path.index(place) :] if path[-1] != place else [place]
    del path[-len(members) :]
    on_path.difference_update(members)
    return members


def neighbours(edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Where the edges from each place lead."""
    after: dict[str, list[str]] = {}
    for one, other in edges:
        after.setdefault(one, []).append(other)
    return after


def reaches(after: Mapping[str, Sequence[str]], start: str) -> set[str]:
    """All that can be reached from a place by one edge or more. O(edges)."""
    found: set[str] = set()
    waiting = [*after.get(start, ())]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += after.get(place, ())
    return found
