"""What must be shown together: the sides of each conflict that the eligible candidates reach.

A conflict is a set of contested claims, each held, joined by being each other's rivals; its sides
are those claims and the live evidence against any of them. A candidate that reaches two conflicts
makes one of them. Plain candidates are units of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from doxa.engine.eligibility import Item, Judge, rank
from doxa.engine.events import equality_key
from doxa.engine.graph import CLAIM, SUPPORT, entity

__all__ = ["Conflict", "Unit", "units"]


@dataclass(slots=True)
class Conflict:
    """The sides of one conflict, as entities: claims in log order, then evidence against them."""

    sides: tuple[int, ...]
    tried: bool = False
    printed: bool = False


@dataclass(slots=True)
class Unit:
    """What takes one place in the ranking for a conflict, and is printed whole or not at all.

    ``items`` are its candidates in order of rank, ``sides`` what is printed from the log. Where it
    is a ``further`` candidate on a conflict, it is printed only if the conflict was.
    """

    items: list[Item]
    conflict: Conflict
    sides: tuple[int, ...] = ()
    further: bool = False


@dataclass(slots=True)
class _Group:
    """A conflict while it is put together: its claims, and the candidates that reach them."""

    claims: set[int] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)


def units(judge: Judge, items: Iterable[Item]) -> list[Item | Unit]:
    """The units of all eligible candidates, best first; a plain one is its candidate alone."""
    plain: list[Item | Unit] = []
    groups = _Groups(judge)
    for item in sorted(items, key=rank):
        if item.contested:
            groups.add(item)
        else:
            plain.append(item)
    conflicts = [unit for group in groups.whole() for unit in _of_conflict(judge, group)]
    if not conflicts:
        return plain
    # The first candidate of a conflict's unit is the best that reaches it: the further ones follow.
    return sorted([*plain, *conflicts], key=_rank_of_unit)


def _rank_of_unit(unit: Item | Unit) -> tuple[float, str, str]:
    return rank(unit if isinstance(unit, Item) else unit.items[0])


class _Groups:
    """The conflicts reached so far, by claim."""

    def __init__(self, judge: Judge) -> None:
        self.view, self.graph, self.belief = judge.view, judge.graph, judge.belief
        self._of: dict[int, _Group] = {}

    def add(self, item: Item) -> None:
        """Puts a candidate into the one conflict of all the claims that it reaches."""
        group: _Group | None = None
        for claim in item.contested:
            other = self._of.get(claim)
            if other is None:
                other = _Group(self._component(claim))
                self._of.update(dict.fromkeys(other.claims, other))
            if group is None or group is other:
                group = other
                continue
            group.claims |= other.claims
            group.items += other.items
            self._of.update(dict.fromkeys(other.claims, group))
        assert group is not None, item
        group.items.append(item)

    def whole(self) -> list[_Group]:
        """The conflicts, each once."""
        return list({id(group): group for group in self._of.values()}.values())

    def _component(self, claim: int) -> set[int]:
        """The claim with its rivals, their rivals, and so on."""
        graph = self.graph
        found, stack = {claim}, [claim]
        asked: dict[tuple[int, ...], set[str]] = {}
        told: set[int] = set()  # contradictions whose claims were all found through one of them
        while stack:
            at = stack.pop()
            same = (
                graph.c_ws[at], graph.c_perspective[at], graph.c_subject[at], graph.c_predicate[at],
            )  # fmt: skip
            objects = asked.setdefault(same, set())
            declared = graph.contradictions.get(at)
            # Two claims with different objects have all the others between them as rivals.
            alone = len(objects) > 1 or graph.c_predicate[at] not in graph.single_valued
            if alone and told.issuperset(declared):
                continue
            told.update(declared)
            objects.add(equality_key(graph.c_object[at]))
            rivals = self.belief.rivals(at, self.view.v, self.view.k)
            stack += (rival for rival in rivals if rival not in found)
            found.update(rivals)
        return found


def _of_conflict(judge: Judge, group: _Group) -> list[Unit]:
    """The unit of a conflict, with the best candidate for each side, and the further candidates."""
    graph, view = judge.graph, judge.view
    refuting = sorted(
        support
        for claim in group.claims
        if claim in graph.extra_supports
        for support in judge.belief.live_supports(claim, view.v, view.k)
        if graph.s_refutes[support]
    )
    sides = (
        *(entity(CLAIM, claim) for claim in sorted(group.claims)),
        *(entity(SUPPORT, support) for support in refuting),
    )
    group.items.sort(key=rank)
    best: dict[int, Item] = {}
    for item in group.items:
        for side in _takes(judge, item):
            best.setdefault(side, item)
    conflict = Conflict(sides)
    chosen = {rank(item) for side, item in best.items() if side in sides}
    own = [item for item in group.items if rank(item) in chosen]
    bare = tuple(side for side in sides if side not in best)
    further = [item for item in group.items if rank(item) not in chosen]
    return [
        Unit(own, conflict, bare),
        *(Unit([item], conflict, further=True) for item in further),
    ]


def _takes(judge: Judge, item: Item) -> Iterable[int]:
    """The sides that a candidate speaks for: the claims that it states, or evidence against one."""
    graph, cited = judge.graph, item.cited
    for claim in (*item.facts, *cited.facts):
        yield entity(CLAIM, claim)
    for support in (*item.supports, *cited.supports):
        if graph.s_refutes[support]:
            yield entity(SUPPORT, support)
        else:
            yield entity(CLAIM, graph.s_claim[support])
