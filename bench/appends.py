"""What it costs to record: one durable commit, batches, the recorder alone, exchange lines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import doxa
from doxa.bench.contenders import RawLog
from doxa.bench.fields import Field
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.bench.workload import DAY, START
from doxa.engine import codec, times
from doxa.engine.log import NewEvent
from doxa.engine.parse import parse

__all__ = ["append_batch", "append_one", "claim"]

BATCH = 10_000


def claim(id: str, number: int = 0) -> dict[str, Any]:
    """One claim of the usual length with its support, in the exchange form."""
    return {
        "event": "claim",
        "id": id,
        "subject": f"new subject {number % 1_000}",
        "predicate": f"predicate {number % 5}",
        "object": f"value {number}",
        "text": "A claim of the usual length, with a sentence of words to go with it. " * 2,
        "valid_from": times.iso(START + DAY * (number % 1_000)),
        "source": {"id": "source", "quote": "as it was said there", "observed_at": "2024-01-02"},
    }


def stored(events: list[dict[str, Any]]) -> list[NewEvent]:
    """What the log stores for events."""
    parsed = [parse(dict(event)) for event in events]
    return [NewEvent(event.TYPE, *codec.encode(event)) for event in parsed]


def append_one(field: Field, effort: Effort) -> Iterator[Finding]:
    """One durable commit of one claim to the whole history: all checks, the chain, the flush; in
    turn with one durable insert of the same bytes into a bare SQLite table, and with doxa's
    recorder alone."""
    rounds = effort.of(2_000, least=200)
    claims = [claim(f"one{number}", number) for number in range(rounds + 20)]
    events = stored(claims)
    raw = RawLog(field.folder / "raw one.sqlite")
    ledger = field.ledger
    with doxa.open(field.folder / "recorder one") as other:

        def record(number: int) -> None:
            with other.recorder.write() as transaction:
                transaction.append([events[number]])

        series = in_turn(
            {
                "doxa": timed(lambda number: ledger.append([claims[number]])),
                "raw SQLite": timed(
                    lambda number: raw.append([events[number].head + (events[number].data or b"")])
                ),
                "doxa: recorder alone": timed(record),
            },
            rounds,
            effort,
            warm=10,
        )
    raw.close()
    size = sum(len(event.head) + len(event.data or b"") for event in events) / len(events)
    bare = series["raw SQLite"]
    notes = []
    if bare.median > 2 * bare.least:
        notes.append(
            "The disk's flushes took of very different length: the least figures say more."
        )
    facts: Facts = {"bytes a claim": round(size)}
    yield Finding("append_one", field.size, series, facts=facts, notes=notes)


def append_batch(field: Field, effort: Effort) -> Iterator[Finding]:
    """10,000 claims in one durable commit: as mappings, as ready events, by the recorder alone,
    as exchange lines; in turn with an executemany of the same bytes into a bare SQLite table.

    Into new ledgers, which grow with the rounds; the history's length is not in it.
    """
    rounds = effort.of(8, least=5)
    turns = range(rounds + 1)
    folder = field.folder
    raw = RawLog(folder / "raw batch.sqlite")
    names = ("mappings", "events", "recorder", "lines")
    ledgers = {name: doxa.open(folder / f"batch {name}") for name in names}
    batches = [[claim(f"b{turn}-{n}", n) for n in range(BATCH)] for turn in turns]
    ready = [[parse(dict(event)) for event in batch] for batch in batches]
    new = [[NewEvent(e.TYPE, *codec.encode(e)) for e in batch] for batch in ready]
    payloads = [[event.head + (event.data or b"") for event in batch] for batch in new]
    lines = [_lines(batch, turn) for turn, batch in enumerate(batches)]

    def record(number: int) -> None:
        with ledgers["recorder"].recorder.write() as transaction:
            transaction.append(new[number])

    def bring_in(number: int) -> None:
        report = ledgers["lines"].import_events(lines[number])
        assert report.events == BATCH, report

    series = in_turn(
        {
            "doxa": timed(lambda number: ledgers["mappings"].append(batches[number])),
            "raw SQLite": timed(lambda number: raw.append(payloads[number])),
            "doxa: ready events": timed(lambda number: ledgers["events"].append(ready[number])),
            "doxa: recorder alone": timed(record),
            "doxa: exchange lines": timed(bring_in),
        },
        rounds,
        effort,
    )
    for ledger in ledgers.values():
        ledger.close()
    raw.close()
    rates: Facts = {
        f"{name}, events/s": round(BATCH / taken.median) for name, taken in series.items()
    }
    yield Finding("append_batch", field.size, series, items=BATCH, facts=rates)


def _lines(batch: list[dict[str, Any]], turn: int) -> list[str]:
    """The batch as exchange lines, a hundred a commit."""
    commits = itertools.count()
    base = START + DAY * turn
    return [
        json.dumps({**event, "recorded_at": times.iso(base + 1_000_000 * (next(commits) // 100))})
        for event in batch
    ]
