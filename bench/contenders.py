"""The same questions answered by hand: SQLite and DuckDB, as somebody would who knows them well.

They are given the outcome (`doxa.bench.outcome`), one row a rectangle of valid time and knowledge,
and cannot do more than is asked here: no cascade, no audit, no further event. Each has several
designs of tables and indexes; `SQLiteRows.best` and `DuckDBRows.best` try them and keep the fastest
for a question.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import pyarrow as pa

from doxa.bench.outcome import ANSWER

__all__ = ["DUCKDB_DESIGNS", "SQLITE_DESIGNS", "DuckDBRows", "RawLog", "SQLiteRows", "fastest"]

T = TypeVar("T")
HELD: Final = "held_from<=? AND held_to>? AND known_from<=? AND known_to>?"
RECTANGLE: Final = ("held_from", "held_to", "known_from", "known_to")


def fastest(designs: dict[str, T], ask: Callable[[T, int], object], rounds: int) -> tuple[str, T]:
    """The design with the smallest median over some questions, asked in turn."""
    taken: dict[str, list[float]] = {name: [] for name in designs}
    for number in range(rounds):
        for name, design in designs.items():
            started = time.perf_counter()
            ask(design, number)
            taken[name].append(time.perf_counter() - started)
    best = min(taken, key=lambda name: statistics.median(taken[name]))
    return best, designs[best]


def durable(path: Path | str) -> sqlite3.Connection:
    """A connection as for the truth: WAL, a flush for each commit."""
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-400000", "mmap_size=4e9"):
        connection.execute(f"PRAGMA {setting.replace('4e9', '4000000000')}").fetchall()
    return connection


# ------------------------------------------------------------ what is written


class RawLog:
    """A table of payloads, and nothing else: what a durable insert costs at least."""

    def __init__(self, path: Path) -> None:
        self.connection = durable(path)
        self.connection.execute(
            "CREATE TABLE log(position INTEGER PRIMARY KEY, recorded_at INT, type TEXT, data BLOB)"
        )
        self.position = 0

    def append(self, payloads: Sequence[bytes]) -> None:
        """One durable commit."""
        execute, first = self.connection.execute, self.position + 1
        self.position += len(payloads)
        execute("BEGIN IMMEDIATE")
        if len(payloads) == 1:
            execute("INSERT INTO log VALUES(?,?,?,?)", (first, first, "claim", payloads[0]))
        else:
            rows = [(first + n, first, "claim", payload) for n, payload in enumerate(payloads)]
            self.connection.executemany("INSERT INTO log VALUES(?,?,?,?)", rows)
        execute("COMMIT")

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


# ------------------------------------------------------------ SQLite


SQLITE_DESIGNS: Final = {
    "valid time first": "CREATE INDEX point ON belief(subject, predicate, held_from, held_to,"
    " known_from, known_to, object)",
    "knowledge first": "CREATE INDEX point ON belief(subject, predicate, known_from, known_to,"
    " held_from, held_to, object)",
    "codes": "CREATE TABLE point(key INT, known_from INT, known_to INT, held_from INT, held_to INT,"
    " claim INT, object TEXT, PRIMARY KEY(key, known_from, claim, held_from)) WITHOUT ROWID",
}
"""The first two index the table of texts; the last is clustered by a code for subject and
predicate, kept in a dictionary by the program."""


class SQLiteRows:
    """The outcome in a SQLite file, in one of `SQLITE_DESIGNS`; all texts, all columns."""

    def __init__(self, path: Path, rows: pa.Table, design: str) -> None:
        self.design = design
        self.connection = durable(path)
        execute = self.connection.execute
        types = ", ".join(
            f"{name} {'TEXT' if name in ANSWER[:5] else 'INT'}" for name in rows.column_names
        )
        execute("BEGIN")
        execute(f"CREATE TABLE belief({types})")
        marks = ",".join("?" * rows.num_columns)
        for part in _parts(rows):
            self.connection.executemany(f"INSERT INTO belief VALUES({marks})", part)
        execute(SQLITE_DESIGNS[design])
        self.keys: dict[tuple[str, str], int] = {}
        if design == "codes":
            self._fill_codes(rows)
        else:
            execute("CREATE INDEX claim ON belief(id, known_from)")
        execute("COMMIT")
        execute("ANALYZE")
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @classmethod
    def best(
        cls, folder: Path, rows: pa.Table, questions: Sequence[tuple[str, str, int, int]]
    ) -> SQLiteRows:
        """The design that answers points fastest; the others are closed and removed."""
        made = {name: cls(folder / f"rows {name}.sqlite", rows, name) for name in SQLITE_DESIGNS}
        _, kept = fastest(made, lambda d, n: d.values(*questions[n]), len(questions))
        for design in made.values():
            if design is not kept:
                design.close()
                for path in folder.glob(f"rows {design.design}.sqlite*"):
                    path.unlink()
        return kept

    def _fill_codes(self, rows: pa.Table) -> None:
        keys = self.keys
        pairs = zip(rows["subject"].to_pylist(), rows["predicate"].to_pylist(), strict=True)
        codes = [keys.setdefault(pair, len(keys)) for pair in pairs]
        times = [rows[name].to_pylist() for name in ("known_from", "known_to", *RECTANGLE[:2])]
        claims = [int(id[1:]) for id in rows["id"].to_pylist()]
        columns = zip(codes, *times, claims, rows["object"].to_pylist(), strict=True)
        self.connection.executemany("INSERT INTO point VALUES(?,?,?,?,?,?,?)", columns)
        self.connection.execute("CREATE INDEX claim ON belief(id, known_from)")

    def values(self, subject: str, predicate: str, valid_at: int, revision: int) -> list[str]:
        """The distinct objects believed at one point, as JSON text."""
        at = (valid_at, valid_at, revision, revision)
        if self.design == "codes":
            key = self.keys.get((subject, predicate), -1)
            sql = f"SELECT DISTINCT object FROM point WHERE key=? AND {HELD}"
            return [row[0] for row in self.connection.execute(sql, (key, *at))]
        sql = f"SELECT DISTINCT object FROM belief WHERE subject=? AND predicate=? AND {HELD}"
        return [row[0] for row in self.connection.execute(sql, (subject, predicate, *at))]

    def block(
        self, candidates: Sequence[dict[str, Any]], valid_at: int, revision: int, budget: int
    ) -> str:
        """The texts whose facts are all believed, by score, joined within a budget: no labels, no
        citations, no conflicts."""
        sql = f"SELECT 1 FROM belief WHERE id=? AND {HELD}"
        at = (valid_at, valid_at, revision, revision)
        good = [
            item
            for item in candidates
            if all(self.connection.execute(sql, (id, *at)).fetchone() for id in item["facts"])
        ]
        good.sort(key=lambda item: (-item["score"], item["id"]))
        text = ""
        for item in good:
            longer = f"{text}\n\n{item['text']}" if text else item["text"]
            if len(longer) <= budget:
                text = longer
        return text

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


def _parts(rows: pa.Table) -> Iterator[Iterator[tuple[Any, ...]]]:
    for batch in rows.to_batches(max_chunksize=50_000):
        yield zip(*(column.to_pylist() for column in batch.columns), strict=True)


# ------------------------------------------------------------ DuckDB


DUCKDB_DESIGNS: Final = {
    "texts, by knowledge": ((), "known_from"),
    "enumerations, by knowledge": (("subject", "predicate", "object", "standing"), "known_from"),
    "enumerations, by predicate": (
        ("subject", "predicate", "object", "standing"),
        "predicate, known_from",
    ),
}
"""Which texts are enumerations, and how the rows are sorted."""


class DuckDBRows:
    """The outcome in DuckDB's memory, in one of `DUCKDB_DESIGNS`; answers come as Arrow."""

    def __init__(self, rows: pa.Table, design: str) -> None:
        self.design = design
        enumerations, order = DUCKDB_DESIGNS[design]
        self.connection = duckdb.connect(
            ":memory:",
            config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
        )
        execute = self.connection.execute
        self.connection.register("incoming", rows)
        columns = []
        for name in rows.column_names:
            if name in enumerations:
                execute(f"CREATE TYPE {name}_text AS ENUM (SELECT DISTINCT {name} FROM incoming)")
                columns.append(f"{name}::{name}_text AS {name}")
            else:
                columns.append(name)
        picked = ", ".join(columns)
        execute(f"CREATE TABLE belief AS SELECT {picked} FROM incoming ORDER BY {order}")
        self.connection.unregister("incoming")

    def slice(self, valid_at: int, revision: int, predicate: str | None = None) -> pa.Table:
        """What is believed at one pair of coordinates: the columns of `ANSWER`."""
        where = (
            f"held_from<={valid_at} AND held_to>{valid_at} AND known_from<={revision} AND"
            f" known_to>{revision}"
        )
        if predicate is not None:
            where = f"predicate='{predicate}' AND {where}"
        # texts leave as texts, whatever they are kept as
        texts = DUCKDB_DESIGNS[self.design][0]
        picked = [f"{name}::VARCHAR AS {name}" if name in texts else name for name in ANSWER]
        sql = f"SELECT {', '.join(picked)} FROM belief WHERE {where}"
        return self.connection.sql(sql).to_arrow_table()

    def values(self, subject: str, predicate: str, valid_at: int, revision: int) -> list[str]:
        """The distinct objects believed at one point, as JSON text."""
        sql = f"SELECT DISTINCT object FROM belief WHERE subject=? AND predicate=? AND {HELD}"
        at = (subject, predicate, valid_at, valid_at, revision, revision)
        return [row[0] for row in self.connection.execute(sql, at).fetchall()]

    def close(self) -> None:
        """Closes the database."""
        self.connection.close()
