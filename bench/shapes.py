"""Shapes that make naive engines quadratic: time for each element at a size and at a tenth of it.

All in memory, so that only the engine is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import doxa
from doxa.bench.fields import Field, moment
from doxa.bench.measuring import Effort, Facts, Finding, Series, settled
from doxa.bench.workload import DAY, START, bound

__all__ = ["SHAPES", "shapes"]

PAGE: Final = 1_000  # events a commit
Shape = Callable[[int], dict[str, float]]  # seconds of each step, for a number of elements


def _append(ledger: doxa.Ledger, events: list[dict[str, Any]], page: int = PAGE) -> float:
    started = time.perf_counter()
    for start in range(0, len(events), page):
        ledger.append(events[start : start + page])
    return time.perf_counter() - started


def _claim(id: str, **fields: Any) -> dict[str, Any]:
    return {"event": "claim", "id": id, "subject": "s", "predicate": "p", "object": id, **fields}


def _day(number: int) -> str | None:
    """Days for numbers up to 100,000, minutes apart so that they fit in the calendar."""
    return bound(START + DAY // 1_440 * number)


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def versions(count: int) -> dict[str, float]:
    """One subject and predicate with a claim for each of many stretches of time: recorded, and
    asked a hundred times, each counting as one element."""
    claims = [
        _claim(f"v{n}", source="a", valid_from=_day(n), valid_to=_day(n + 1)) for n in range(count)
    ]
    with doxa.open() as ledger:
        recorded = _append(ledger, claims)
        asked = 100
        step = count // asked

        def ask() -> None:
            for n in range(asked):
                view = ledger.view(valid_at=moment(START + DAY // 1_440 * n * step))
                assert view.value("s", "p") == f"v{n * step}"

        return {"record": recorded, "ask": _seconds(ask) / asked * count}


def source(count: int) -> dict[str, float]:
    """A source with many supports: recorded, withdrawn at once, restored at once."""
    claims = [_claim(f"c{n}", subject=f"s{n}", source="all") for n in range(count)]
    with doxa.open() as ledger:
        recorded = _append(ledger, claims)
        withdrawn = _seconds(lambda: ledger.withdraw(doxa.Source("all"), id="w"))
        restored = _seconds(lambda: ledger.withdraw("w", id="x"))
        view = ledger.view(valid_at=moment(START))
        assert view.standing(f"c{count - 1}") == doxa.Standing.REPORTED
        return {"record": recorded, "withdraw": withdrawn, "restore": restored}


def ring(count: int) -> dict[str, float]:
    """Claims that each rest on the one before, the first on the last, and one source: recorded, and
    felled with that source's support."""
    claims = [_claim("c0")]
    claims += [_claim(f"c{n}", because=[f"c{n - 1}"]) for n in range(1, count)]
    closing = {"event": "support", "id": "close", "claim": "c0", "because": [f"c{count - 1}"]}
    told = {"event": "support", "id": "told", "claim": "c0", "source": "a"}
    with doxa.open() as ledger:
        recorded = _append(ledger, claims) + _append(ledger, [closing, told])
        before = ledger.view(valid_at=moment(START))
        assert before.standing(f"c{count - 1}") == doxa.Standing.REPORTED or before.values("s", "p")
        felled = _seconds(lambda: ledger.withdraw("told", id="w"))
        view = ledger.view(valid_at=moment(START))
        assert view.standing(f"c{count - 1}") == doxa.Standing.UNSUPPORTED
        return {"record": recorded, "fell": felled}


def corrections(count: int) -> dict[str, float]:
    """A claim corrected by another, that one by a third, and so on: recorded, and the standing and
    the successors of the first."""
    events = [_claim("c0", source="a")]
    for n in range(1, count):
        events.append(_claim(f"c{n}", source="a"))
        events.append(
            {"event": "correction", "id": f"k{n}", "corrects": f"c{n - 1}", "by": f"c{n}"}
        )
    with doxa.open() as ledger:
        recorded = _append(ledger, events)

        def ask() -> None:
            view = ledger.view(valid_at=moment(START))
            assert view.standing("c0") == doxa.Standing.SUPERSEDED
            assert view.value("s", "p") == f"c{count - 1}"

        return {"record": recorded, "ask": _seconds(ask)}


def portions(count: int) -> dict[str, float]:
    """One claim, of which one portion of valid time after another is withdrawn, each its own
    commit."""
    withdrawals = [
        {
            "event": "withdrawal",
            "id": f"w{n}",
            "target": "c",
            "valid_from": _day(2 * n),
            "valid_to": _day(2 * n + 1),
        }
        for n in range(count)
    ]
    with doxa.open() as ledger:
        ledger.append([_claim("c", source="a")])
        withdrawn = _append(ledger, withdrawals, page=1)
        at = moment(START + DAY // 1_440 * 2 * (count - 1))
        assert not ledger.view(valid_at=at).values("s", "p")
        return {"withdraw": withdrawn}


def cycles(count: int) -> dict[str, float]:
    """One claim withdrawn, restored, withdrawn, and so on, each its own commit."""
    events: list[dict[str, Any]] = []
    for n in range(count // 2):
        events.append({"event": "withdrawal", "id": f"w{n}", "target": "c"})
        events.append({"event": "withdrawal", "id": f"x{n}", "target": f"w{n}"})
    with doxa.open() as ledger:
        ledger.append([_claim("c", source="a")])
        taken = _append(ledger, events, page=1)
        assert ledger.view(valid_at=moment(START)).value("s", "p") == "c"
        return {"withdraw or restore": taken}


SHAPES: Final[dict[str, tuple[Shape, int]]] = {
    "versions": (versions, 100_000),
    "source": (source, 100_000),
    "ring": (ring, 10_000),
    "corrections": (corrections, 10_000),
    "portions": (portions, 10_000),
    "cycles": (cycles, 10_000),
}
"""Each with its elements at full size."""


def shapes(field: Field, effort: Effort) -> Iterator[Finding]:
    """Each shape at its size and at a tenth of it, taking turns: seconds for each element. Full
    size from 100,000 events on, a tenth of it below; a tenth too where the full size would take
    longer than twice the effort's seconds."""
    scale = 1 if field.size >= 100_000 else 10
    for done, (name, (shape, full)) in enumerate(SHAPES.items()):
        effort.progress(done, len(SHAPES))
        count = full // scale
        expected = _expected(shape, count)
        notes = []
        if expected > 2 * effort.seconds:
            notes.append(f"{count:,} elements would take about {expected:,.0f} s: left out.")
            count //= 10
        taken: dict[str, list[float]] = {}
        # As many figures of either size, since the least ones are compared.
        for _ in range(3 if 3 * expected < effort.seconds else 1):
            for elements in (count // 10, count):
                with settled():
                    found = shape(elements)
                for step, seconds in found.items():
                    kind = "large" if elements == count else "small"
                    taken.setdefault(f"{step}, {kind}", []).append(seconds / elements)
        series = {f"doxa: {step}": Series(tuple(figures)) for step, figures in taken.items()}
        grown = {step: _growth(taken, step) for step in {s.rpartition(",")[0] for s in taken}}
        facts: Facts = {"elements": count, "a tenth": count // 10}
        facts["growth"] = round(max(grown.values()), 2)
        facts |= {f"growth of {step}": round(factor, 2) for step, factor in sorted(grown.items())}
        yield Finding(f"shape_{name}", field.size, series, facts=facts, notes=notes)


def _expected(shape: Shape, count: int) -> float:
    """The seconds that so many elements are going to take, if they go on growing as they do from a
    hundredth to a tenth of them."""
    few, more = (sum(shape(elements).values()) for elements in (count // 100, count // 10))
    return more * max(10, more / few)


def _growth(taken: dict[str, list[float]], step: str) -> float:
    """The least time for an element at full size over that at a tenth of it."""
    return min(taken[f"{step}, large"]) / min(taken[f"{step}, small"])
