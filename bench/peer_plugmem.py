"""plugmem: memories by entity; one time, although it stores two."""

from __future__ import annotations

import os
import time
from importlib import import_module
from typing import Any, ClassVar


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    notes: ClassVar = {
        "point": "as known now only: its as_of moves both times",
        "slice": "an export of everything: it has no slice",
    }

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        self.lib = import_module("plugmem")
        self.db = self.lib.Plugmem.open(os.path.join(self.folder, "memory.plugmem"))

    def close(self) -> None:
        self.db.close()

    def write(self, claims: list[Any]) -> None:
        self.db.remember_many(
            [
                {
                    "text": f"{c.subject} {c.predicate} {c.value}",
                    "entity": c.subject,
                    "tags": [c.predicate],
                    "valid_from": c.since // 1_000,
                }
                for c in claims
            ]
        )

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        found = self.db.recall(entities=[subject], as_of=int(time.time() * 1e3), k=50)
        return len(getattr(found, "facts", None) or getattr(found, "hits", None) or [])

    def slice(self, batch: int, valid_at: int) -> int:
        return sum(len(page.facts) for page in self.lib.export_pages(self.db))

    def append(self, number: int) -> None:
        entity = f"subject {number % 100}"
        at = 1_600_000_000_000
        self.made.append(self.db.remember(f"new {number}", entity=entity, valid_from=at).id)

    def withdraw(self, number: int) -> None:
        self.db.forget(self.made[number])
