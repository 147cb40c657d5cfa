"""What it costs to find what has faded among all claims, and to archive it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

import doxa
from doxa.bench.fields import Field, counted
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.engine.decay import BELOW, DAY, horizon
from doxa.ledger import Ledger

__all__ = ["decay"]

SLICES: Final = 100  # of the claims, an hour apart: one of them fades with each pass
ROUNDS: Final = 20
BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)
RESTING: Final = timedelta(microseconds=horizon()) + timedelta(minutes=1)


def decay(field: Field, effort: Effort) -> Iterator[Finding]:
    """A pass over all claims that archives one in a hundred, in a folder, with every flush: where
    the others were recorded later and, in the second finding, where all are old and the others were
    used later. By hand: numpy works out what is left of each, of columns at hand, and marks it; one
    UPDATE in SQLite marks what is older than that, with a flush.
    """
    for name, used in (("decay", False), ("decay_used", True)):
        folder = field.folder / name
        clock = _Clock()
        with doxa.open(folder, clock=clock) as ledger:
            _fill(ledger, clock, field, used)
            yield _measured(name, ledger, field, effort, folder)


def _measured(name: str, ledger: Ledger, field: Field, effort: Effort, folder: Path) -> Finding:
    part = field.size // SLICES
    rounds = min(effort.of(ROUNDS), SLICES - 4)
    rows, columns = _Rows(folder / "by-hand.sqlite", field.size), _Columns(field.size)

    def ours(number: int) -> None:
        done = ledger.decay(now=_now(number))
        assert len(done) == part, (len(done), part)

    def again(number: int) -> None:
        assert not ledger.decay(now=_now(number))

    series = in_turn(
        {
            "doxa": timed(ours),
            "numpy": timed(lambda number: _exactly(columns.decay(_now(number)), part)),
            "SQLite": timed(lambda number: _exactly(rows.decay(_now(number)), part)),
        },
        rounds,
        effort,
        warm=1,
    )
    passes = len(series["doxa"].figures) + 1
    series |= in_turn({"doxa: nothing due": timed(lambda _: again(passes - 1))}, 5, effort)
    rows.close()
    facts: Facts = {
        "claims": field.size,
        "archived by a pass": part,
        "slowest pass, s": round(max(series["doxa"].figures), 3),
    }
    return Finding(name, field.size, series, items=field.size, facts=facts)


class _Clock:
    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now


def _now(number: int) -> datetime:
    """When the slice of that number, and none behind it, has faded."""
    return BEGIN + timedelta(hours=number) + RESTING


def _fill(ledger: Ledger, clock: _Clock, field: Field, used: bool) -> None:
    """Claims in slices, each recorded an hour after the one before or, all recorded at the
    beginning, used then."""
    part = field.size // SLICES
    for number in range(SLICES):
        first = number * part
        claims: Iterator[dict[str, Any]] = counted(
            map(_claim, range(first, first + part)), field.size, lambda _, of: None
        )
        if not used:
            clock.now = BEGIN + timedelta(hours=number)
        ledger.append(list(claims))
        field.progress(first + part, field.size)
    if used:
        graph = ledger.view(valid_at=BEGIN).graph
        for number in range(SLICES):
            keys = [("", f"c{n}") for n in range(number * part, (number + 1) * part)]
            at = (BEGIN - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
            ledger._usage.touch(keys, at + number * 3_600_000_000, graph)
    clock.now = BEGIN + timedelta(days=30)


def _claim(number: int) -> dict[str, Any]:
    return {
        "event": "claim",
        "id": f"c{number}",
        "subject": f"subject {number}",
        "predicate": "is",
        "object": number,
        "source": f"source {number % 200}",
    }


def _exactly(found: int, part: int) -> None:
    assert found == part, (found, part)


def _micros(at: datetime) -> int:
    return (at - BEGIN) // timedelta(microseconds=1)


class _Columns:
    """When each claim was used last, and whether it is archived, as arrays."""

    def __init__(self, size: int) -> None:
        self.last = np.arange(size) // (size // SLICES) * 3_600_000_000
        self.archived = np.zeros(size, bool)

    def decay(self, now: datetime) -> int:
        """Marks what is below; how many."""
        left = np.exp((self.last - _micros(now)) / (7.0 * DAY))
        due = np.flatnonzero((left < BELOW) & ~self.archived)
        self.archived[due] = True
        return len(due)


class _Rows:
    """The same as a table with an index, durable."""

    def __init__(self, path: Path, size: int) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            " CREATE TABLE claim(id TEXT PRIMARY KEY, last INTEGER, archived INTEGER, reason TEXT)"
            " WITHOUT ROWID; BEGIN"
        )
        part = size // SLICES
        rows = ((f"c{n}", n // part * 3_600_000_000) for n in range(size))
        self.connection.executemany("INSERT INTO claim VALUES(?, ?, 0, NULL)", rows)
        self.connection.execute("COMMIT")
        self.connection.execute("CREATE INDEX by_last ON claim(archived, last)")

    def decay(self, now: datetime) -> int:
        """Marks what is older than the horizon; how many."""
        sql = "UPDATE claim SET archived = 1, reason = 'decay' WHERE archived = 0 AND last < ?"
        return self.connection.execute(sql, (int(_micros(now) - horizon()),)).rowcount

    def close(self) -> None:
        self.connection.close()
