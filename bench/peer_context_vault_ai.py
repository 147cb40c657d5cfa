"""context-vault-ai: with its SQLite store, the hash embedder and the heuristic judge."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, ClassVar


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    notes: ClassVar = {"load": "one by one", "point": "a recall by words"}

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        os.environ.update(VAULT_STORE="sqlite", VAULT_SQLITE_DIR=self.folder, VAULT_EMBEDDER="hash")
        self.db = import_module("context_vault").Memory()
        self.me = self.db.principal("a")

    def write(self, claims: list[Any]) -> None:
        for c in claims:
            self.db.vault.assert_claim_from(self.me, c.subject, c.predicate, c.value)

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        found = self.db.recall(f"{subject} {predicate}", user="a")
        return len(found) if hasattr(found, "__len__") else 1

    def append(self, number: int) -> None:
        self.db.vault.assert_claim_from(self.me, f"new {number}", "predicate 0", f"v{number}")
