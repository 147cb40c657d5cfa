"""anatid: memories in DuckDB, bitemporal to read, loaded through its own Parquet route."""

from __future__ import annotations

import csv
import os
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, ClassVar

BATCH = 1_000  # claims a batch, as elsewhere


def moment(at: int) -> datetime:
    """An instant as the peer takes it."""
    return datetime.fromtimestamp(at / 1e6, UTC)


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    notes: ClassVar = {
        "load": "its own load_parquet; by its verbs about 150 a second",
        "slice": "raw SQL with its own predicate, Python tuples",
        "point": "all that is said about the subject",
    }
    BASE = 5_000_000

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        self.lib = import_module("anatid")
        self.db = self.lib.Anatid.open(os.path.join(self.folder, "memory.anatid"), tenant=1)
        self.con = self.db.connection

    def close(self) -> None:
        self.db.close()

    def load(self, claims: list[Any]) -> None:
        at = datetime(2019, 1, 1, tzinfo=UTC)
        self.db.remember("first", entities=["first"], now=at, writer="w")
        self.local = import_module("duckdb").connect()
        path = os.path.join(self.folder, "rows.csv")
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows(
                (
                    10_000_000 + c.number,
                    f"{c.subject} {c.predicate} {c.value}",
                    c.predicate,
                    c.since,
                    c.until,
                    c.recorded,
                    self.BASE + int(c.subject.split()[1]),
                )
                for c in claims
            )
        types = dict.fromkeys(("id", "vf", "vt", "tk", "e"), "bigint")
        types = {"id": "bigint", "c": "varchar", "k": "varchar", **types}
        self.local.execute(
            f"create table r as select * from read_csv('{path}', header=false, columns={types})"
        )
        os.remove(path)
        known = "make_timestamp(tk)"
        fact = {
            "valid_from": "make_timestamp(vf)",
            "valid_to": "make_timestamp(vt)",
            "tx_from": known,
            "tx_to": "NULL::timestamp",
            "created_at": known,
        }
        self._parquet("memories", fact | {"memory_id": "id", "content": "c", "kind": "k"})
        edge = {"edge_id": "id", "src": "id", "dst": "e", "memory_id": "id", "entity_id": "e"}
        self._parquet("edges_about", fact | edge)
        self._parquet("entities", {"entity_id": "e", "name": f"'q'||(e-{self.BASE})"})
        tables = ["entities", "memories", "edges_about"]
        self.db.load_parquet(self.folder, tables=tables, rebuild_fts=False, build_csr=False)
        for table in tables:
            os.remove(os.path.join(self.folder, f"{table}.parquet"))
        self.stamps = [moment(c.recorded) for c in claims[BATCH - 1 :: BATCH]]

    def _parquet(self, table: str, expressions: dict[str, str]) -> None:
        """One of its tables from the workload: the columns given, the rest as in its first row."""
        names = [row[0] for row in self.con.execute(f"describe {table}").fetchall()]
        first = self.con.execute(f"select * from {table} limit 1").fetchone()
        example = dict(zip(names, first, strict=True))

        def literal(value: object) -> str:
            return repr(value) if isinstance(value, int | float) else f"'{value}'"

        columns = [
            f"{expressions.get(name, literal(example[name]))} as {name}"
            for name in names
            if name in expressions or example[name] is not None
        ]
        if table == "entities":
            columns = [column for column in columns if not column.endswith(" as entity_key")]
        source = "(select distinct e from r)" if table == "entities" else "r"
        path = os.path.join(self.folder, f"{table}.parquet")
        self.local.execute(
            f"copy (select {', '.join(columns)} from {source}) to '{path}' (format parquet)"
        )

    def _as_of(self, batch: int, valid_at: int) -> Any:
        lib = import_module("anatid.types")
        return lib.AsOf(valid_time=moment(valid_at), tx_time=self.stamps[batch])

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        entity = self.BASE + int(subject.split()[1])
        found = self.db.context(entity, as_of=self._as_of(batch, valid_at), limit=100)
        return len(found) if hasattr(found, "__len__") else 0

    def slice(self, batch: int, valid_at: int) -> int:
        visible = import_module("anatid.visibility").Visibility
        where, values = visible.at(1, self._as_of(batch, valid_at)).predicate()
        columns = "memory_id, content, kind, valid_from, valid_to"
        sql = f"select {columns} from memories where {where}"
        return len(self.con.execute(sql, values).fetchall())

    def append(self, number: int) -> None:
        made = self.db.remember(f"new {number}", entities=[f"n{number % 50}"], writer="w")
        self.made.append(made.memory_id)

    def withdraw(self, number: int) -> None:
        self.db.forget(self.made[number])
