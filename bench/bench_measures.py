"""Append, point, slice, why, reconcile, assemble: doxa beside the same work written by hand.

Each measure is one group; compare within a group only. Sizes: 10k and 100k claims, 1k for a quick
look (`DOXA_BENCH=quick`).
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.bench.contenders import HandDuckDB, HandSQLite, load_doxa, micros
from doxa.bench.workload import Workload
from doxa.engine import codec
from doxa.engine.parse import parse
from doxa.ledger import Ledger

SIZES = (1_000,) if os.environ.get("DOXA_BENCH") == "quick" else (10_000, 100_000)


@dataclass
class Field:
    """All contenders, loaded with one workload."""

    workload: Workload
    ledger: Ledger
    sqlite: HandSQLite
    duckdb: HandDuckDB


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size // 1000}k")
def field(request: pytest.FixtureRequest) -> Iterator[Field]:
    workload = Workload(request.param)
    ledger = load_doxa(workload)
    sqlite = HandSQLite()
    sqlite.load(workload)
    yield Field(workload, ledger, sqlite, HandDuckDB(sqlite))
    ledger.close()


def payloads(count: int) -> list[bytes]:
    """What doxa stores for one claim with its source, head and data together."""
    return [b"".join(codec.encode(parse({**claim(i), "id": f"p{i}"}))) for i in range(count)]


def claim(i: int) -> dict[str, Any]:
    return {
        "event": "claim",
        "subject": f"subject {i % 1000}",
        "predicate": "predicate",
        "object": f"value {i}",
        "text": "A claim of the usual length, with a sentence of words to go with it. " * 2,
        "valid_from": "2024-01-01",
        "source": {"id": "source", "quote": "as it was said there", "observed_at": "2024-01-02"},
    }


# ------------------------------------------------------------ durable appends


def in_turn(
    benchmark: Any, ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> None:
    """Times ``ours`` with the benchmark and ``theirs`` before each round, so that both meet the
    same disk; the ratio of the medians is in the benchmark's extra information."""
    by_hand: list[float] = []
    by_doxa: list[float] = []

    def timed(call: Callable[[], object], into: list[float]) -> None:
        started = time.perf_counter()
        call()
        into.append(time.perf_counter() - started)

    benchmark.pedantic(
        lambda: timed(ours, by_doxa), setup=lambda: timed(theirs, by_hand), rounds=rounds
    )
    median = statistics.median(by_hand)
    benchmark.extra_info["by hand, median seconds"] = median
    benchmark.extra_info["ratio"] = statistics.median(by_doxa) / median


def test_append_one(benchmark: Any, tmp_path: Path) -> None:
    """One durable commit of one claim, in turn with one durable insert of the same bytes."""
    benchmark.group = "append: one durable commit"
    number, rows = itertools.count(), itertools.cycle(payloads(1000))
    hand = HandSQLite(tmp_path / "hand.sqlite")
    with doxa.open(tmp_path / "ledger") as ledger:
        in_turn(
            benchmark,
            lambda: ledger.append([claim(next(number))]),
            lambda: hand.append(next(rows)),
            rounds=2_000,
        )
    hand.connection.close()


def test_append_batch(benchmark: Any, tmp_path: Path) -> None:
    """One durable commit of a thousand claims, in turn with an executemany of the same bytes."""
    benchmark.group = "append: 1,000 claims a commit"
    number, rows = itertools.count(), payloads(1000)
    hand = HandSQLite(tmp_path / "hand.sqlite")
    with doxa.open(tmp_path / "ledger") as ledger:
        in_turn(
            benchmark,
            lambda: ledger.append([claim(next(number)) for _ in range(1000)]),
            lambda: hand.append_many(rows),
            rounds=30,
        )
    hand.connection.close()


# ------------------------------------------------------------ reading


@pytest.mark.parametrize("contender", ["doxa", "sqlite"])
def test_point(benchmark: Any, field: Field, contender: str) -> None:
    """The values of one subject and predicate, at a captured view."""
    benchmark.group = f"point: {field.workload.claims // 1000}k claims"
    at = field.workload.instants(1)[0]
    questions = itertools.cycle(field.workload.questions(997))
    if contender == "doxa":
        view = field.ledger.view(valid_at=at)
        benchmark(lambda: view.values(*next(questions)))
    else:
        v = micros(at)
        benchmark(lambda: field.sqlite.values(*next(questions), v, field.sqlite.known))


@pytest.mark.parametrize("contender", ["doxa", "duckdb"])
def test_slice(benchmark: Any, field: Field, contender: str) -> None:
    """Everything held at one pair of coordinates, as an Arrow table.

    By hand there is no cascade, so what rests on a fallen claim is among its rows.
    """
    benchmark.group = f"slice: {field.workload.claims // 1000}k claims"
    instants = field.workload.instants(5)

    def by_doxa(at: datetime) -> Any:
        return field.ledger.view(valid_at=at).to_arrow()

    def by_hand(at: datetime) -> Any:
        return field.duckdb.slice(micros(at), field.sqlite.known)

    taken = by_doxa if contender == "doxa" else by_hand
    benchmark.extra_info["rows of five slices"] = sum(taken(at).num_rows for at in instants)
    turn = itertools.cycle(instants)
    assert benchmark(lambda: taken(next(turn))).num_rows > 0


@pytest.mark.parametrize("contender", ["doxa", "sqlite"])
def test_why(benchmark: Any, field: Field, contender: str) -> None:
    """The tree behind one claim; by hand, one step of it."""
    benchmark.group = f"why: {field.workload.claims // 1000}k claims"
    picked = itertools.cycle(field.workload.picked(499))
    if contender == "doxa":
        view = field.ledger.view(valid_at=field.workload.instants(1)[0])
        benchmark(lambda: view.why(next(picked)))
    else:
        benchmark(lambda: field.sqlite.why(next(picked)))


# ------------------------------------------------------------ registry and assembly


@pytest.mark.parametrize("contender", ["doxa", "sqlite"])
def test_reconcile(benchmark: Any, field: Field, contender: str) -> None:
    """What one correction invalidates, with as many summaries as claims."""
    count = field.workload.claims
    benchmark.group = f"reconcile: one event, {count // 1000}k summaries"
    if contender == "doxa":
        ledger = summarised(field.workload)
        before = ledger.view(valid_at="2024-06-01")
        ledger.withdraw("c5", reason="wrong")
        after = ledger.view(valid_at="2024-06-01")
        result = benchmark(lambda: ledger.reconcile(after, since=before))
        assert {item.id for item in result.invalidated} <= {"n5"}
        benchmark.extra_info["examined"] = result.examined
        ledger.close()
        return
    hand = HandSQLite()
    hand.depend((f"c{i}", f"n{i}") for i in range(count))
    for i in range(count):
        hand.apply({**claim(i), "id": f"c{i}", "valid_from": None, "valid_to": None, "source": "s"})
    mark = hand.known
    hand.apply({"event": "withdrawal", "id": "w", "target": "c5"})
    assert [row[0] for row in benchmark(lambda: hand.stale(mark))] == ["n5"]
    hand.connection.close()


def summarised(workload: Workload) -> Ledger:
    """A ledger of plain claims with one summary each."""
    ledger = doxa.open()
    size = 5_000
    for start in range(0, workload.claims, size):
        numbers = range(start, min(start + size, workload.claims))
        claims = [{**claim(i), "id": f"c{i}"} for i in numbers]
        texts = [
            {"event": "summary", "id": f"n{i}", "text": f"Text {i}.", "facts": [f"c{i}"]}
            for i in numbers
        ]
        ledger.append(claims + texts)
    return ledger


@pytest.mark.parametrize("contender", ["doxa", "sqlite"])
def test_assemble(benchmark: Any, field: Field, contender: str) -> None:
    """A block of 8,000 characters out of 200 candidates of one fact each."""
    benchmark.group = f"assemble: 200 candidates, {field.workload.claims // 1000}k claims"
    candidates = [
        {
            "id": f"t{n}",
            "text": f"What is said about {id}, in a sentence or two of ordinary words. " * 2,
            "facts": [id],
            "score": 1 - n / 1000,
        }
        for n, id in enumerate(field.workload.picked(200))
    ]
    at = field.workload.instants(1)[0]
    if contender == "doxa":
        view = field.ledger.view(valid_at=at)
        block = benchmark(
            lambda: field.ledger.assemble("q", candidates=candidates, view=view, budget=8_000)
        )
        assert 0 < len(block.text) <= 8_000
    else:
        v = micros(at)
        text = benchmark(lambda: field.sqlite.block(candidates, v, field.sqlite.known, 8_000))
        assert 0 < len(text) <= 8_000
