"""doxa, and the same work written by hand for SQLite and DuckDB by somebody who knows them.

The hand-written ones keep the outcome of each claim as a bitemporal row and cannot do more than is
asked here: no cascade, no rings, no portions, no audit. They are what a careful engineer would
write instead, with the best index for each question.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import doxa
from doxa.bench.workload import Workload
from doxa.engine import times
from doxa.ledger import Ledger

__all__ = ["HandDuckDB", "HandSQLite", "load_doxa"]

OPEN = 2**63 - 1
PAGE = 5_000


def _batches(events: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for event in events:
        batch.append(event)
        if len(batch) == PAGE:
            yield batch
            batch = []
    if batch:
        yield batch


def load_doxa(workload: Workload, folder: Path | None = None) -> Ledger:
    """A ledger with the workload, in commits of 5,000 events."""
    ledger = doxa.open(folder)
    for batch in _batches(workload.events()):
        ledger.append(batch)
    return ledger


def micros(at: datetime | None) -> int:
    """Microseconds since 1970; an open end is the largest integer."""
    return OPEN if at is None else times.instant(at)


class HandSQLite:
    """A belief table with a covering index for points, and tables of evidence by claim."""

    SCHEMA = """
        CREATE TABLE belief(claim TEXT PRIMARY KEY, subject TEXT, predicate TEXT, object TEXT,
            valid_from INT, valid_to INT, known_from INT, known_to INT) WITHOUT ROWID;
        CREATE INDEX point ON belief(subject, predicate, valid_from, valid_to, known_from, known_to,
            object);
        CREATE TABLE support(id TEXT PRIMARY KEY, claim TEXT, source TEXT, because TEXT, known INT);
        CREATE INDEX support_claim ON support(claim);
        CREATE TABLE change(id TEXT PRIMARY KEY, claim TEXT, kind TEXT, by TEXT, known INT);
        CREATE INDEX change_claim ON change(claim);
        CREATE TABLE dependency(claim TEXT, summary TEXT, PRIMARY KEY(claim, summary))
            WITHOUT ROWID;
        CREATE TABLE log(position INTEGER PRIMARY KEY, payload BLOB);
    """

    def __init__(self, path: Path | None = None) -> None:
        self.connection = sqlite3.connect(path or ":memory:", isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.executescript(self.SCHEMA)
        self.known = 0

    def load(self, workload: Workload) -> None:
        """Applies the workload event by event, in one transaction."""
        self.connection.execute("BEGIN")
        for event in workload.events():
            self.apply(event)
        self.connection.execute("COMMIT")
        self.connection.execute("ANALYZE")

    def apply(self, event: dict[str, Any]) -> None:
        """One event; a correction or withdrawal ends what it reaches, and nothing more."""
        self.known += 1
        execute = self.connection.execute
        if event["event"] == "claim":
            execute(
                "INSERT INTO belief VALUES(?,?,?,?,?,?,?,?)",
                (
                    event["id"],
                    event["subject"],
                    event["predicate"],
                    json.dumps(event["object"]),
                    micros(event["valid_from"]),
                    micros(event["valid_to"]),
                    self.known,
                    OPEN,
                ),
            )
            self._support(event["id"] + "/support", event["id"], event)
        elif event["event"] == "support":
            self._support(event["id"], event["claim"], event)
        else:
            claim = event.get("corrects", event.get("target"))
            execute(
                "UPDATE belief SET known_to=? WHERE claim=? AND known_to=?",
                (self.known, claim, OPEN),
            )
            kind = event["event"]
            row = (event["id"], claim, kind, event.get("by"), self.known)
            execute("INSERT INTO change VALUES(?,?,?,?,?)", row)

    def _support(self, id: str, claim: str, event: dict[str, Any]) -> None:
        row = (id, claim, event.get("source"), json.dumps(event.get("because")), self.known)
        self.connection.execute("INSERT INTO support VALUES(?,?,?,?,?)", row)

    def append(self, payload: bytes) -> None:
        """One durable insert of a payload."""
        self.connection.execute("INSERT INTO log(payload) VALUES(?)", (payload,))

    def append_many(self, payloads: Sequence[bytes]) -> None:
        """One durable transaction of many."""
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO log(payload) VALUES(?)", [(payload,) for payload in payloads]
        )
        self.connection.execute("COMMIT")

    def values(self, subject: str, predicate: str, valid_at: int, known_at: int) -> list[str]:
        """The objects believed at one point."""
        return [
            row[0]
            for row in self.connection.execute(
                "SELECT DISTINCT object FROM belief WHERE subject=? AND predicate=? AND"
                " valid_from<=? AND valid_to>? AND known_from<=? AND known_to>?",
                (subject, predicate, valid_at, valid_at, known_at, known_at),
            )
        ]

    def why(self, claim: str) -> list[tuple[Any, ...]]:
        """The claim, its supports and what changed it, one step deep."""
        execute = self.connection.execute
        found = execute("SELECT * FROM belief WHERE claim=?", (claim,)).fetchall()
        found += execute("SELECT * FROM support WHERE claim=?", (claim,)).fetchall()
        found += execute("SELECT * FROM change WHERE claim=?", (claim,)).fetchall()
        return found

    def depend(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Registers which summaries rest on which claims."""
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT INTO dependency VALUES(?,?)", pairs)
        self.connection.execute("COMMIT")

    def stale(self, after: int) -> list[tuple[Any, ...]]:
        """The summaries whose claims were changed after a point of knowledge."""
        return self.connection.execute(
            "SELECT d.summary, c.claim, c.id FROM change c JOIN dependency d ON d.claim=c.claim"
            " WHERE c.known>?",
            (after,),
        ).fetchall()

    def block(
        self, candidates: Sequence[dict[str, Any]], valid_at: int, known_at: int, budget: int
    ) -> str:
        """Texts whose one fact is believed, by score, joined within a budget."""
        good = []
        for candidate in candidates:
            row = self.connection.execute(
                "SELECT 1 FROM belief WHERE claim=? AND valid_from<=? AND valid_to>? AND"
                " known_from<=? AND known_to>?",
                (candidate["facts"][0], valid_at, valid_at, known_at, known_at),
            ).fetchone()
            if row:
                good.append(candidate)
        good.sort(key=lambda item: (-item["score"], item["id"]))
        text = ""
        for item in good:
            longer = f"{text}\n\n{item['text']}" if text else item["text"]
            if len(longer) <= budget:
                text = longer
        return text


class HandDuckDB:
    """The belief table of `HandSQLite`, copied into DuckDB as typed columns."""

    COLUMNS = ("claim", "subject", "predicate", "object", "valid_from", "valid_to")

    def __init__(self, rows: HandSQLite) -> None:
        self.connection = duckdb.connect(":memory:")
        fetched = rows.connection.execute("SELECT * FROM belief ORDER BY known_from").fetchall()
        names = [*self.COLUMNS, "known_from", "known_to"]
        belief = pa.table(dict(zip(names, map(list, zip(*fetched, strict=True)), strict=True)))
        self.connection.register("incoming", belief)
        self.connection.execute("CREATE TABLE belief AS SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def slice(self, valid_at: int, known_at: int) -> pa.Table:
        """What is believed at one pair of coordinates."""
        return self.connection.sql(
            f"SELECT {', '.join(self.COLUMNS)} FROM belief WHERE valid_from<={valid_at} AND"
            f" valid_to>{valid_at} AND known_from<={known_at} AND known_to>{known_at}"
        ).to_arrow_table()
