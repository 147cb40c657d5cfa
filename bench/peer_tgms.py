"""tgms: a bitemporal graph in columns; asked through its documented storage adapter."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, ClassVar


class Peer:
    """What `doxa.bench.peer` asks, of this peer."""

    notes: ClassVar = {
        "slice": "columns of numpy, texts included",
        "point": "all predicates of the subject",
    }
    COLUMNS = ("src_id", "dst_id", "rel_type", "eid", "vt_s", "vt_e")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.made: list[Any] = []  # ids of what was appended
        self.stamps: list[Any] = []  # transaction time after each batch

    def open(self) -> None:
        self.lib = import_module("tgms")
        self.db = self.lib.open(os.path.join(self.folder, "tgms"), backend="native")

    def close(self) -> None:
        self.db.close()

    def write(self, claims: list[Any]) -> None:
        events = [
            {
                "src": c.subject,
                "dst": c.value,
                "rel_type": c.predicate,
                "vt_s": c.since,
                "vt_e": self.lib.OPEN_END if c.until is None else c.until,
                "props": {},
                "disc": str(c.number),
            }
            for c in claims
        ]
        self.stamps.append(self.db.ingest_events(events))

    def _edges(self, batch: int, valid_at: int, **more: Any) -> int:
        edges = self.db.adapter.edges_columnar(
            as_of_tt=self.stamps[batch],
            vt_min=valid_at,
            vt_max=valid_at + 1,
            columns=self.COLUMNS,
            **more,
        )
        return len(edges["vt_s"])

    def point(self, subject: str, predicate: str, batch: int, valid_at: int) -> int:
        ids = self.db.adapter.dense_ids([subject])
        return self._edges(batch, valid_at, touching_ids=ids)

    def slice(self, batch: int, valid_at: int) -> int:
        return self._edges(batch, valid_at)

    def append(self, number: int) -> None:
        edge = (f"subject {number % 100}", f"value {number % 1_000}", "new")
        at = 1_700_000_000_000_000 + number
        self.db.assert_edge(*edge, {"n": number}, vt_s=at, disc=f"new {number}")

    def withdraw(self, number: int) -> None:
        ref = self.lib.EntityRef(
            "edge",
            src=f"subject {number % 100}",
            dst=f"value {number % 1_000}",
            rel_type="new",
            disc=f"new {number}",
        )
        self.db.retract(ref, 1_700_000_000_000_100 + number)

    def prepare(self, claims: list[Any]) -> None:
        self.firsts: dict[str, Any] = {}
        for claim in claims:
            self.firsts.setdefault(claim.subject, claim)

    def save(self, count: int) -> None:
        router = import_module("tgms.tools.server").ToolRouter(self.db.adapter, tt_source=self.db)
        call = getattr(router, "call", None) or router.call_tool
        asked = ({"uid": f"subject {n}", "include_edges": True} for n in range(count))
        self.saved = [call("entity_history", one) for one in asked]

    def change(self, number: int) -> None:
        c = self.firsts[f"subject {number}"]
        ref = self.lib.EntityRef(
            "edge", src=c.subject, dst=c.value, rel_type=c.predicate, disc=str(c.number)
        )
        self.db.correct(ref, {"fix": number}, vt_s=c.since)
        self.changed = {*getattr(self, "changed", ()), number}

    def stale(self, number: int) -> tuple[int, int, int]:
        cache = import_module("tgms.tgir.check").ChainCache()
        states = [self.db.check_result(one, chain_cache=cache) for one in self.saved]
        found = {n for n, one in enumerate(states) if str(one.state).lower() != "fresh"}
        right = len(found & self.changed)
        return right, len(self.changed - found), len(found - self.changed)
