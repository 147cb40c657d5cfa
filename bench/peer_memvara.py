"""memvara: claims with two times in SQLite; needs a newer SQLite than many systems have."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, ClassVar


def moment(at: int) -> datetime:
    """An instant as the peer takes it."""
    return datetime.fromtimestamp(at / 1e6, UTC)


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    durable = False
    notes: ClassVar = {
        "append": "not flushed",
        "point": "the whole history of the key",
        "slice": "objects",
    }

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        sqlite = import_module("pysqlite3")  # it needs a SQLite newer than many systems have
        sys.modules["sqlite3"] = sqlite
        sys.modules["sqlite3.dbapi2"] = sqlite.dbapi2
        os.environ["MEMVARA_FEATURE_ENCRYPTION"] = "0"
        self.db = import_module("memvara").Memvara(
            os.path.join(self.folder, "memvara.db"), user="u"
        )

    def close(self) -> None:
        self.db.close()

    def write(self, claims: list[Any]) -> None:
        with self.db.store.batch():
            for c in claims:
                self.db.remember(
                    c.subject,
                    c.predicate,
                    c.value,
                    valid_from=moment(c.since),
                    valid_to=None if c.until is None else moment(c.until),
                    recorded_at=moment(c.recorded),
                )
        self.stamps.append(moment(claims[-1].recorded))

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        return len(self.db.history(subject, predicate))

    def slice(self, batch: int, valid_at: int) -> int:
        return len(self.db.get_all(valid_at=moment(valid_at), known_at=self.stamps[batch]))

    def append(self, number: int) -> None:
        added = self.db.remember(f"n{number}", "predicate 0", "x").added
        added = added[0] if isinstance(added, list | tuple) else added
        self.made.append(getattr(added, "id", added))

    def withdraw(self, number: int) -> None:
        self.db.delete(self.made[number])
