"""What rests on evidence that has changed: conclusions, and registered texts that declare it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from doxa.engine.belief import HELD
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT, entity
from doxa.engine.registry import Registry
from doxa.engine.view import TruthView

__all__ = ["Stale", "stale"]


@dataclass(frozen=True, slots=True)
class Stale:
    """One record that rests on changed evidence.

    ``kind`` is that of a claim, or "citation" or "summary"; ``evidence`` what has changed,
    ``event`` what changed it. ``stands`` says whether it is held, or may be served, all the same;
    ``None`` where nobody knows yet, in a dry run.
    """

    id: str
    workspace: str
    kind: str
    evidence: str
    event: str
    stands: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as a JSON object."""
        names = ("id", "workspace", "kind", "evidence", "event", "stands")
        return {name: getattr(self, name) for name in names}


def stale(
    registry: Registry, view: TruthView, touched: Mapping[int, str], *, changed: bool
) -> list[Stale]:
    """What rests directly on evidence, given as entities with the events that change it, in log
    order. ``changed`` says whether it has changed at the view, which is asked what still stands."""
    graph = view.graph
    found: dict[int, tuple[int, str]] = {}
    for number, event in touched.items():
        for record in _resting_on(registry, view, number):
            if graph.position_of(record) <= view.k:
                found.setdefault(record, (number, event))
    made = []
    for record in sorted(found, key=graph.position_of):
        number, event = found[record]
        made.append(
            Stale(
                graph.id_of(record),
                graph.names.texts[graph.workspace_of(record)],
                _kind(view, record),
                graph.id_of(number),
                event,
                _stands(registry, view, record) if changed else None,
            )
        )
    return made


def _resting_on(registry: Registry, view: TruthView, number: int) -> Iterator[int]:
    """The claims that were concluded from a claim, and the texts that declare it, or a citation
    that does."""
    graph, belief = view.graph, view.belief
    if number & 7 == CLAIM:
        for support in graph.dependents.get(number >> 3):
            if belief.extent(entity(SUPPORT, support), view.k):
                yield entity(CLAIM, graph.s_claim[support])
    for artefact in registry.declaring(number):
        yield entity(ARTEFACT, artefact)
        for summary in registry.declaring(entity(ARTEFACT, artefact)):
            yield entity(ARTEFACT, summary)


def _kind(view: TruthView, record: int) -> str:
    graph = view.graph
    if record & 7 == CLAIM:
        return graph.names.texts[graph.c_kind[record >> 3]]
    return "summary" if graph.a_summary[record >> 3] else "citation"


def _stands(registry: Registry, view: TruthView, record: int) -> bool:
    row = record >> 3
    if record & 7 == CLAIM:
        return view.belief.standing(row, view.v, view.k) in HELD
    return registry.judge(row, view.v, view.k).eligible
