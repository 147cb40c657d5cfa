"""tiramemsu: statements at (transaction, valid) time in SQLite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    durable = False
    notes: ClassVar = {
        "append": "not flushed: WAL with synchronous=NORMAL",
        "slice": "Python objects",
    }
    PREFIX = "urn:tiramemsu:v:"

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        self.lib = import_module("tiramemsu")
        self.db = self.lib.Database(os.path.join(self.folder, "tiramemsu.db"))

    def close(self) -> None:
        del self.db

    def _iri(self, name: str) -> Any:
        return self.lib.Iri(self.PREFIX + name.replace(" ", "_"))

    @contextmanager
    def loading(self) -> Iterator[None]:
        with self.db.bulk_import() as self.importing:
            yield

    def write(self, claims: list[Any]) -> None:
        with self.importing.chunk() as transaction:
            for c in claims:
                transaction.create(
                    self._iri(c.subject),
                    self._iri(c.predicate),
                    c.value,
                    valid_from=c.since // 1_000,
                    valid_to=None if c.until is None else c.until // 1_000,
                )
        report = transaction.report
        self.stamps.append(report.t if hasattr(report, "t") else report.tx)

    def _view(self, batch: int, valid_at: int) -> Any:
        return self.db.as_of(tx=self.stamps[batch]).valid_at(valid_at // 1_000)

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        view = self._view(batch, valid_at)
        return len(view.triples(s=self._iri(subject), p=self._iri(predicate)))

    def slice(self, batch: int, valid_at: int) -> int:
        return len(self._view(batch, valid_at).triples())

    def append(self, number: int) -> None:
        with self.db.transact() as transaction:
            transaction.assert_(  # noqa: PT009
                self._iri(f"new {number % 100}"),
                self._iri("predicate 0"),
                f"new {number}",
                valid_from=1_700_000_000_000,
            )
        self.made.append(transaction.report.asserted[0])

    def withdraw(self, number: int) -> None:
        self._retract(self.made[number])

    def _retract(self, statement: Any) -> None:
        with self.db.transact() as transaction:
            transaction.retract(statement)

    def save(self, count: int) -> None:
        for n in range(count):
            self.db.save_answer(f"sum{n}", f"SELECT ?p ?o WHERE {{ v:subject_{n} ?p ?o }}")
        self.db.check_saved_answers()

    def change(self, number: int) -> None:
        self._retract(self.db.now().triples(s=self._iri(f"subject {number}"))[0].eid)

    def stale(self, number: int) -> tuple[int, int, int]:
        answers = self.db.check_saved_answers()
        found = {one.name for one in answers if one.status == "stale"}
        suspected = {one.name for one in answers if one.status == "recheck"}
        wanted = {f"sum{number}"}
        return len(found & wanted), len(wanted - found), len((found | suspected) - wanted)
