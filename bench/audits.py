"""What it costs to audit a log and to copy it: every event's commitment and link recomputed."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from doxa.bench.fields import Field
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.bench.processes import LOG, copied
from doxa.engine.copies import make
from doxa.engine.store import LogStore

__all__ = ["audit", "backup"]

CHUNK: Final = 1 << 20
COLUMNS: Final = "position, recorded_at, type, tags, head, data, salt, commitment, chain"


def audit(field: Field, effort: Effort) -> Iterator[Finding]:
    """The chain of the whole log recomputed, with every commitment, and the file's tables and pages
    checked. By hand: the program of twenty lines in the log format's page, which checks the chain
    alone. Raw: the bytes of the file, hashed once (BLAKE2b)."""
    path = copied(field, "audited", cache=False) / LOG
    positions: set[int] = set()

    def ours(number: int) -> None:
        with LogStore.open(path, create=False) as store:
            found = store.verify()
        assert not found.problems, found.problems[:3]
        positions.add(found.position)

    series = in_turn(
        {
            "doxa": timed(ours),
            "by hand": timed(lambda number: positions.add(_by_hand(path))),
            "raw hash": timed(lambda number: _raw(path)),
        },
        effort.of(7, least=3),
        effort,
    )
    assert positions == {field.events}, positions
    facts: Facts = {
        "events": field.events,
        "events/s": round(field.events / series["doxa"].median),
        "MB": round(path.stat().st_size / 1e6, 1),
    }
    notes = ["doxa and the program by hand come to the same head."]
    yield Finding("audit", field.size, series, items=field.events, facts=facts, notes=notes)
    shutil.rmtree(path.parent)


def _by_hand(path: Path) -> int:
    """The last position, if every event is as it was written."""
    chain, last = bytes(32), 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        for position, recorded_at, kind, tags, head, data, salt, kept, stored in connection.execute(
            f"SELECT {COLUMNS} FROM log ORDER BY position"
        ):
            last += 1
            assert position == last, position
            digest = kept
            if data is not None:
                digest = hashlib.blake2b(data, key=salt, digest_size=32).digest()
            header = f"{position}\x1f{recorded_at}\x1f{kind}\x1f{tags}\x1f".encode() + head
            chain = hashlib.blake2b(chain + digest + header, digest_size=32).digest()
            assert chain == stored, position
    return last


def _raw(path: Path) -> None:
    digest = hashlib.blake2b(digest_size=32)
    with open(path, "rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)


def backup(field: Field, effort: Effort) -> Iterator[Finding]:
    """A backup of the log: copied, its chain verified, its digest taken, flushed. By hand: SQLite's
    ``VACUUM INTO`` alone, which verifies nothing and flushes nothing."""
    path = copied(field, "backed up", cache=False) / LOG
    targets = field.folder / "backups"
    targets.mkdir()

    def ours(number: int) -> None:
        with LogStore.open(path, create=False) as store:
            made = make(store, targets / f"{number}", replace=False, told=lambda done, of: None)
        assert made.position == field.events, made

    def by_hand(number: int) -> None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("VACUUM INTO ?", (str(targets / f"{number}.sqlite"),))

    series = in_turn({"doxa": timed(ours), "SQLite": timed(by_hand)}, effort.of(5, least=3), effort)
    facts: Facts = {"events": field.events, "MB": round(path.stat().st_size / 1e6, 1)}
    yield Finding("backup", field.size, series, items=field.events, facts=facts)
    shutil.rmtree(targets)
    shutil.rmtree(path.parent)
