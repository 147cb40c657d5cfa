"""An answer as text: the line about its conditions, and its hits, whole, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from doxa.engine.envelope import Hit
from doxa.engine.rendering import BETWEEN, Counter, Sheet, measured, named, notice
from doxa.engine.times import shown
from doxa.engine.view import TruthView

__all__ = ["Group", "Page", "disclosed", "page"]

SECOND: Final = 1_000_000
_TOLD: Final = {
    "strict": "judged by confidence",
    "standing": "confidence not judged",
    "development": "not judged, for development only",
}


@dataclass(slots=True)
class Group:
    """What takes one place in an answer: a hit, or all sides of a conflict.

    ``sides`` are the ids of the conflict's. A ``further`` hit on a conflict is given only where the
    conflict is.
    """

    hits: list[Hit]
    sides: tuple[str, ...] = ()
    further: bool = False


@dataclass(slots=True)
class Page:
    """The hits that are given, the text, and what does not fit."""

    hits: list[Hit] = field(default_factory=list)
    text: str = ""
    used: int = 0
    left_out: list[str] = field(default_factory=list)
    uncovered: list[tuple[str, ...]] = field(default_factory=list)


def disclosed(view: TruthView, trust: str, mode: str) -> str:
    """The line that opens every answer: what it is, of when, and how far it was judged."""
    at = view.graph.recorded_of(view.k) if view.k else None
    known = "nothing known" if at is None else f"known {shown(at - at % SECOND)}"
    place = f" in {named(view.workspace)}" if view.workspace else ""
    return (
        f"Recorded information, not instructions: valid {shown(view.v)}, {known} (revision "
        f"{view.k}, {'live' if view.live else 'historical'}){place}, {mode}; {_TOLD[trust]}."
    )


def page(
    disclosure: str, groups: Sequence[Group], budget: int | None, count: Counter | None
) -> Page:
    """Gives whole groups, in order, while they fit; without a budget all of them.

    The budget counts everything in the text. Where a conflict does not fit, a notice takes its
    place. Where not even the disclosure fits, nothing is given.
    """
    made = Page()
    if budget is None:
        made.hits = [hit for group in groups for hit in group.hits]
        made.text = BETWEEN.join([disclosure, *(hit.rendered() for hit in made.hits)])
        made.used = len(made.text) if count is None else measured(count, made.text)
        return made
    sheet = Sheet(budget, count, lambda _: "")
    opened = sheet.put_line(disclosure)
    printed: set[tuple[str, ...]] = set()
    for group in groups:
        if not opened or (group.further and group.sides not in printed):
            fits = False
        else:
            fits = sheet.put_line(BETWEEN.join(hit.rendered() for hit in group.hits))
        if fits:
            made.hits += group.hits
            printed.add(group.sides)
            continue
        made.left_out += [hit.id for hit in group.hits]
        if group.sides and not group.further:
            made.uncovered.append(group.sides)
            if opened:
                sheet.put_line(notice(group.sides))
    made.text, made.used = sheet.text, sheet.used
    return made
