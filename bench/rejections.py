"""What it costs to keep a rejected value out, beside recording one that is not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import doxa
from doxa.bench.fields import Field
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.ledger import Ledger

__all__ = ["rejections"]

REJECTED: Final = 10_000  # values
BATCH: Final = 5  # writes of each kind in a turn


def rejections(field: Field, effort: Effort) -> Iterator[Finding]:
    """A write whose value is rejected, with the event that says so, against 10,000 rejections and
    without the flush: in ledgers in memory. In turn with a plain write there, with one into a
    ledger in which nothing was ever rejected, and with a blocked write that is tried again."""
    number = itertools.count()
    with doxa.open() as ledger, doxa.open() as free:
        for value in range(REJECTED):
            ledger.reject(f"rejected value {value}", predicate="predicate", id=f"r{value}")

        def plain(into: Ledger) -> None:
            n = next(number)
            into.claim("subject", "predicate", f"value {n}", id=f"c{n}", source="source")

        def blocked(value: int, id: str) -> None:
            try:
                ledger.claim(
                    "subject", "predicate", f"Rejected  value {value}", id=id, source="source"
                )
            except doxa.ValueRejected:
                return
            raise AssertionError(f"{id} was not kept out")

        def fresh() -> None:
            n = next(number)
            blocked(n % REJECTED, f"c{n}")

        blocked(7, "again")
        series = in_turn(
            {
                "doxa: blocked": timed(lambda _: fresh()),
                "doxa: blocked again": timed(lambda _: blocked(7, "again")),
                "doxa: plain": timed(lambda _: plain(ledger)),
                "doxa: plain, nothing rejected": timed(lambda _: plain(free)),
            },
            effort.of(1_000, least=200),
            effort,
            per_turn=BATCH,
            warm=20,
        )
    kept_out, beside = series["doxa: blocked"], series["doxa: plain, nothing rejected"]
    facts: Facts = {
        "rejections": REJECTED,
        "beyond a plain write, µs": round((kept_out.median - beside.median) * 1e6, 1),
        "beyond a plain write there, µs": round(
            (kept_out.median - series["doxa: plain"].median) * 1e6, 1
        ),
    }
    yield Finding("rejections", field.size, series, facts=facts)
