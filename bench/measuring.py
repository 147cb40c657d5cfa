"""Taking turns, and what comes of it: series of figures, findings, their maths."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Effort", "Facts", "Finding", "Series", "growth", "in_turn", "settled", "timed"]

DOXA: Final = "doxa"
KEPT: Final = 101  # figures of a series
Call = Callable[[int], float]
Facts = dict[str, float | int | str]


@dataclass(frozen=True)
class Series:
    """The figures of one contender, in seconds, bytes or whatever ``unit`` says."""

    figures: tuple[float, ...]
    unit: str = "s"

    @property
    def median(self) -> float:
        """The middle figure."""
        return statistics.median(self.figures)

    @property
    def least(self) -> float:
        """The smallest figure."""
        return min(self.figures)

    def share(self, part: float) -> float:
        """The figure below which a part of them lies, by the nearest rank."""
        ranked = sorted(self.figures)
        return ranked[min(len(ranked) - 1, int(len(ranked) * part))]

    @property
    def spread(self) -> float:
        """The distance of the quartiles (IQR)."""
        return self.share(0.75) - self.share(0.25)

    def as_dict(self) -> dict[str, Any]:
        """A JSON object: how many, median, quartiles, 95 %, least, and the figures themselves: up
        to 101 as they were taken, of more the least, the percentiles and the largest."""
        kept = list(self.figures)
        if len(kept) > KEPT:
            ranked, last = sorted(kept), len(kept) - 1
            kept = [ranked[round(place * last / (KEPT - 1))] for place in range(KEPT)]
        return {
            "unit": self.unit,
            "count": len(self.figures),
            "median": self.median,
            "quarter": self.share(0.25),
            "three_quarters": self.share(0.75),
            "p95": self.share(0.95),
            "least": self.least,
            "figures": [float(f"{figure:.5g}") for figure in kept],
        }


@dataclass
class Finding:
    """What one measure found at one size: a series for each contender that took turns in it.

    ``items`` is how many things one figure covers (rows of a slice, events of a batch), for
    rates. ``facts`` are single numbers and texts; ``notes`` say what a reader must know.
    """

    measure: str
    size: int
    series: dict[str, Series]
    items: int = 1
    facts: Facts = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ratio(self, ours: str, theirs: str, least: bool = False) -> float:
        """Ours over theirs: of the medians, or of the least figures."""
        one, other = self.series[ours], self.series[theirs]
        return one.least / other.least if least else one.median / other.median

    def contenders(self) -> Iterator[tuple[str, str]]:
        """Pairs of a series of doxa's and one of somebody else's with the same unit."""
        for ours, mine in self.series.items():
            if ours.split(":")[0] != DOXA:
                continue
            for theirs, series in self.series.items():
                if theirs.split(":")[0] != DOXA and series.unit == mine.unit:
                    yield ours, theirs

    def as_dict(self) -> dict[str, Any]:
        """A JSON object, with the ratios."""
        return {
            "measure": self.measure,
            "size": self.size,
            "items": self.items,
            "series": {name: series.as_dict() for name, series in self.series.items()},
            "ratios": {
                f"{ours} / {theirs}": {
                    "of_medians": self.ratio(ours, theirs),
                    "of_least": self.ratio(ours, theirs, least=True),
                }
                for ours, theirs in self.contenders()
            },
            "facts": self.facts,
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Finding:
        """A finding as it was kept; its series have the kept figures only."""
        series = {
            name: Series(tuple(kept["figures"]), kept["unit"])
            for name, kept in found["series"].items()
        }
        return cls(
            found["measure"],
            found["size"],
            series,
            found["items"],
            dict(found["facts"]),
            list(found["notes"]),
        )


def growth(findings: list[Finding], measure: str, name: str) -> float | None:
    """The median at the largest size over that at the smallest; ``None`` for a single size."""
    sizes = {f.size: f.series[name] for f in findings if f.measure == measure and name in f.series}
    if len(sizes) < 2:
        return None
    return sizes[max(sizes)].median / sizes[min(sizes)].median


@dataclass(frozen=True)
class Effort:
    """How long a measure may go on: a factor for its rounds, and seconds after which it ends."""

    rounds: float = 1.0
    seconds: float = 60.0
    progress: Callable[[int, int], None] = lambda done, total: None

    def of(self, rounds: int, least: int = 5) -> int:
        """The rounds of a measure that would like so many."""
        return max(least, round(rounds * self.rounds))


def timed(call: Callable[[int], object]) -> Call:
    """The seconds that a call takes, by the number of the round."""

    def taken(number: int) -> float:
        started = time.perf_counter()
        call(number)
        return time.perf_counter() - started

    return taken


@contextmanager
def settled() -> Iterator[None]:
    """Takes what is there out of the collector's sight, so that nobody pays for another's heap."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def in_turn(
    calls: Mapping[str, Call], rounds: int, effort: Effort, per_turn: int = 1, warm: int = 1
) -> dict[str, Series]:
    """Seconds of each contender. All have a turn in each round, of ``per_turn`` calls, and another
    one begins each time; the numbers given to the calls are the same for all and never repeat.

    ``warm`` rounds before count for nothing. Ends early, after five rounds at least, when the
    effort's seconds are over.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls.items())
    until = time.perf_counter() + effort.seconds
    with settled():
        for turn in range(rounds + warm):
            numbers = range(turn * per_turn, (turn + 1) * per_turn)
            for name, call in order:
                seconds = [call(number) for number in numbers]
                if turn >= warm:
                    taken[name] += seconds
            order.append(order.pop(0))
            effort.progress(turn + 1, rounds + warm)
            if time.perf_counter() > until and turn >= warm + 4:
                break
    return {name: Series(tuple(figures)) for name, figures in taken.items()}
