"""What a workload's history comes to, worked out by hand: the rows of a bitemporal table.

This is what the hand-written contenders load, and what doxa's answers are compared with. It knows
only what a `Workload` holds (no rings, no refuting, no source withdrawn), shares nothing with the
engine, and is not measured.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from doxa.bench.workload import CLAIM, CORRECTION, SUPPORT, Columns, Workload, predicate
from doxa.engine.times import NEG, POS

__all__ = ["ANSWER", "OPEN", "table"]

OPEN: Final = POS  # known_to of a row that still stands
ANSWER: Final = (
    "id",
    "subject",
    "predicate",
    "object",
    "standing",
    "valid_from",
    "valid_to",
    "recorded_at",
)
"""The columns of an answer, on all sides; the first five are texts."""

Span = tuple[int, int]
Stretch = tuple[int, int, bool]  # from, to, corroborated


class _Outcome:
    """The rows so far, and what each claim that is not plain rests on."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.claim: list[int] = []
        self.corroborated: list[bool] = []
        self.held_from: list[int] = []
        self.held_to: list[int] = []
        self.known_from: list[int] = []
        self.known_to: list[int] = []
        self.open: dict[int, list[int]] = defaultdict(list)  # claim → its standing rows
        self.cuts: dict[int, list[Span]] = defaultdict(list)  # claim or support → what is cut
        self.seconds: dict[int, list[int]] = defaultdict(list)  # claim → its second sources
        self.dependants: dict[int, list[int]] = defaultdict(list)

    def take(self, place: int) -> None:
        """Follows one event."""
        columns = self.columns
        kind, position = columns.kind[place], place + 1
        if kind == CLAIM:
            premises = columns.premises[place]
            if not premises:
                self._add(
                    place, columns.valid_from[place], columns.valid_to[place], False, position
                )
                return
            for premise in premises:
                self.dependants[premise].append(place)
            self._settle(place, position)
            return
        target = columns.target[place]
        if kind == SUPPORT:
            self.seconds[target].append(place)
        else:
            portion = (columns.valid_from[place], columns.valid_to[place])
            if kind == CORRECTION and columns.by[place] >= 0:
                assert portion == (NEG, POS), portion
            self.cuts[target].append(portion)
            if columns.kind[target] == SUPPORT:
                target = columns.target[target]
        self._settle(target, position)

    def _add(self, claim: int, since: int, until: int, corroborated: bool, position: int) -> None:
        self.open[claim].append(len(self.claim))
        self.claim.append(claim)
        self.corroborated.append(corroborated)
        self.held_from.append(since)
        self.held_to.append(until)
        self.known_from.append(position)
        self.known_to.append(OPEN)

    def _settle(self, claim: int, position: int) -> None:
        """Ends what no longer holds of a claim, begins what does, and goes on to what rests on
        it."""
        rows = self.open[claim]
        old = [(self.held_from[r], self.held_to[r], self.corroborated[r]) for r in rows]
        new = self._held(claim)
        if old == new:
            return
        for row in rows:
            self.known_to[row] = position
        rows.clear()
        for since, until, corroborated in new:
            self._add(claim, since, until, corroborated, position)
        for dependant in self.dependants.get(claim, ()):
            self._settle(dependant, position)

    def _held(self, claim: int) -> list[Stretch]:
        columns = self.columns
        extent = _minus(
            [(columns.valid_from[claim], columns.valid_to[claim])], self.cuts.get(claim, ())
        )
        bases: list[tuple[str, list[Span]]] = []
        premises = columns.premises[claim]
        if premises:
            basis = [(NEG, POS)]
            for premise in premises:
                rows = self.open.get(premise, ())
                basis = _meet(basis, [(self.held_from[r], self.held_to[r]) for r in rows])
            bases.append(("", basis))
        else:
            bases.append((f"source {columns.source[claim]}", [(NEG, POS)]))
        for second in self.seconds.get(claim, ()):
            basis = _minus([(NEG, POS)], self.cuts.get(second, ()))
            bases.append((f"second source {columns.source[second]}", basis))
        return _stretches(extent, bases)


def _minus(spans: list[Span], cuts: list[Span] | tuple[()]) -> list[Span]:
    for low, high in cuts:
        spans = [
            part
            for since, until in spans
            for part in ((since, min(until, low)), (max(since, high), until))
            if part[0] < part[1]
        ]
    return spans


def _meet(left: list[Span], right: list[Span]) -> list[Span]:
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return sorted({span for span in both if span[0] < span[1]})


def _stretches(extent: list[Span], bases: list[tuple[str, list[Span]]]) -> list[Stretch]:
    """The parts of an extent with a basis, split where the number of sources passes one."""
    edges = sorted({edge for span in extent for edge in span} | _edges(bases))
    found: list[Stretch] = []
    for since, until in pairwise(edges):
        if not any(low <= since and until <= high for low, high in extent):
            continue
        under = {
            origin
            for origin, basis in bases
            if any(low <= since and until <= high for low, high in basis)
        }
        if not under:
            continue
        corroborated = len(under - {""}) > 1
        if found and found[-1][1:] == (since, corroborated):
            since = found.pop()[0]
        found.append((since, until, corroborated))
    return found


def _edges(bases: list[tuple[str, list[Span]]]) -> set[int]:
    return {edge for _, basis in bases for span in basis for edge in span}


def table(workload: Workload) -> pa.Table:
    """The rows in order of knowledge: `ANSWER`'s columns, then held_from, held_to (microseconds,
    half-open), known_from and known_to (positions, half-open). O(events + rows)."""
    columns = workload.columns
    outcome = _Outcome(columns)
    for place in range(workload.size):
        outcome.take(place)
    claims = outcome.claim
    since = [columns.valid_from[claim] for claim in claims]
    until = [columns.valid_to[claim] for claim in claims]
    standings = ("reported", "corroborated")
    rows = pa.table(
        {
            "id": [f"c{claim}" for claim in claims],
            "subject": [f"subject {columns.subject[claim]}" for claim in claims],
            "predicate": [predicate(columns.predicate[claim]) for claim in claims],
            "object": [f'"value {columns.value[claim]}"' for claim in claims],
            "standing": [standings[found] for found in outcome.corroborated],
            "valid_from": pa.array([None if at == NEG else at for at in since], pa.int64()),
            "valid_to": pa.array([None if at == POS else at for at in until], pa.int64()),
            "recorded_at": [workload.recorded(claim) for claim in claims],
            "held_from": outcome.held_from,
            "held_to": outcome.held_to,
            "known_from": outcome.known_from,
            "known_to": outcome.known_to,
        }
    )
    return rows.filter(pc.less(rows["known_from"], rows["known_to"]))
