"""What it costs to erase claims for good."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from typing import Final
from unittest import mock

from doxa.bench.fields import Field
from doxa.bench.measuring import Effort, Facts, Finding, in_turn
from doxa.ledger import Ledger

__all__ = ["purge"]

CLAIMS: Final = 1_000  # that one purge erases
_ROUNDS: Final = 5


def purge(field: Field, effort: Effort) -> Iterator[Finding]:
    """A thousand archived claims are purged from the history, in one commit, with what was said of
    them alone; until no byte of them is left in the log's files. The checkpoint, tables and indexes
    are removed; that they come back is not in it. By hand: the contents of as many rows of a table
    of the same bytes are set to NULL, with secure_delete, and the write-ahead log is truncated.
    """
    ledger = field.ledger
    rounds = min(_ROUNDS, effort.of(_ROUNDS, least=3))
    lots = _lots(ledger, rounds + 1)
    rows = field.folder / "erased.sqlite"
    by_hand = _by_hand(str(rows), ledger)
    truncating: list[float] = []
    events: list[int] = []
    scrub = ledger.recorder.scrub

    def scrubbing() -> None:
        begun = time.perf_counter()
        scrub()
        truncating.append(time.perf_counter() - begun)

    def purged(number: int) -> float:
        ids = lots[number]
        ledger.archive(ids)
        begun = time.perf_counter()
        done = ledger.purge(ids)
        taken = time.perf_counter() - begun
        assert done.pending is None, done.pending
        events.append(len(done.erased))
        _check(ledger, ids[0])
        return taken

    def erased(number: int) -> float:
        positions = [(number * CLAIMS + place + 1,) for place in range(CLAIMS)]
        begun = time.perf_counter()
        by_hand.execute("BEGIN IMMEDIATE")
        by_hand.executemany("UPDATE event SET data = NULL WHERE position = ?", positions)
        by_hand.execute("COMMIT")
        by_hand.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return time.perf_counter() - begun

    try:
        with mock.patch.object(ledger.recorder, "scrub", scrubbing):
            series = in_turn({"doxa": purged, "SQLite": erased}, rounds, effort)
    finally:
        by_hand.close()
        rows.unlink()
    facts: Facts = {
        "events erased": max(events),
        "of it truncating, ms": round(1_000 * sorted(truncating)[len(truncating) // 2], 1),
    }
    yield Finding("purge", field.size, series, items=CLAIMS, facts=facts)


def _lots(ledger: Ledger, count: int) -> list[list[str]]:
    """Ids of claims of the shared workspace, spread over the history."""
    graph = ledger._stream.capture()[0].belief.graph
    total = len(graph.c_pos)
    step = max(1, total // (count * CLAIMS))
    ids = [graph.claim_id(row) for row in range(0, total, step) if graph.c_ws[row] == 1]
    return [ids[place::count][:CLAIMS] for place in range(count)]


def _by_hand(path: str, ledger: Ledger) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("CREATE TABLE event(position INTEGER PRIMARY KEY, head BLOB, data BLOB)")
    connection.execute("BEGIN")
    for page in ledger.recorder.read_rows():
        connection.executemany(
            "INSERT INTO event VALUES(?,?,?)",
            [(row.position, row.head, row.data or os.urandom(200)) for row in page],
        )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection


def _check(ledger: Ledger, id: str) -> None:
    """That the claim is gone for every view."""
    assert ledger.view(valid_at="2024-01-01").standing(id) == "redacted", id
