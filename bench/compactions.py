"""What it costs to take old versions out of a log, and how much comes back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import doxa
from doxa.bench.fields import Field, counted
from doxa.bench.measuring import Effort, Facts, Finding, in_turn
from doxa.bench.processes import LOG, child

__all__ = ["compaction"]

VERSIONS: Final = 10  # of each claim
LEFT: Final = 2  # of them, afterwards
AT_ONCE: Final = 2_000

COMPACTING: Final = """
import json, psutil, resource, sys, time
import doxa
with doxa.open(sys.argv[1], create=False) as ledger:
    before = psutil.Process().memory_info().rss
    begun, used = time.perf_counter(), time.process_time()
    done = ledger.compact(versions=int(sys.argv[2]))
    taken, used = time.perf_counter() - begun, time.process_time() - used
    assert done.pending is None, done.pending
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": taken, "processor": used, "events": done.events, "before": before,
                  "peak": peak, "stretches": len(done.stretches)}))
"""
BY_HAND: Final = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
begun = time.perf_counter()
connection.execute("PRAGMA synchronous=FULL")
connection.execute("BEGIN")
connection.execute("DELETE FROM version WHERE number < ?", (int(sys.argv[2]),))
connection.execute("COMMIT")
connection.execute("VACUUM")
print(time.perf_counter() - begun)
"""


def compaction(field: Field, effort: Effort) -> Iterator[Finding]:
    """Of claims with ten versions each, a history of as many events as the size says, all but the
    two newest are compacted, in a folder and a process of its own, until the space is back. By
    hand: rows of the same content in SQLite, of which the old ones are deleted in one statement,
    with VACUUM. That keeps no record, and answers questions about then with nothing.
    """
    ours, rows = field.folder / "versions", field.folder / "versions.sqlite"
    _fill(ours, field)
    _fill_by_hand(rows, field)
    told: list[dict[str, Any]] = []

    def compacted(number: int) -> float:
        target = field.folder / f"versions-{number}"
        shutil.copytree(ours, target)
        told.append(json.loads(child(COMPACTING, str(target), str(LEFT))))
        told[-1]["bytes"] = (target / LOG).stat().st_size
        _check(target, field)
        shutil.rmtree(target)
        return float(told[-1]["seconds"])

    def deleted(number: int) -> float:
        target = field.folder / f"versions-{number}.sqlite"
        shutil.copyfile(rows, target)
        taken = float(child(BY_HAND, str(target), str(VERSIONS - LEFT)))
        target.unlink()
        return taken

    series = in_turn({"doxa": compacted, "SQLite": deleted}, 3, effort)
    worst = max(each["seconds"] for each in told)
    facts: Facts = {
        "events compacted": told[0]["events"],
        "stretches": told[0]["stretches"],
        "slowest, s": round(worst, 2),
        "of the processor, s": round(min(each["processor"] for each in told), 2),
        "memory when opened, MB": round(told[0]["before"] / 1e6),
        "most memory, MB": round(max(each["peak"] for each in told) / 1e6),
        "log before, MB": round((ours / LOG).stat().st_size / 1e6, 1),
        "log after, MB": round(told[0]["bytes"] / 1e6, 1),
    }
    yield Finding("compaction", field.size, series, items=told[0]["events"], facts=facts)
    shutil.rmtree(ours)
    rows.unlink()


def _subjects(field: Field) -> int:
    return field.size // (2 * VERSIONS - 1)


def _fill(folder: Path, field: Field) -> None:
    """Versions of claims, each with the correction that put it in."""
    with doxa.open(folder) as ledger:
        lot: list[dict[str, Any]] = []
        for event in counted(_events(_subjects(field)), field.size, field.progress):
            lot.append(event)
            if len(lot) == AT_ONCE:
                ledger.append(lot)
                lot = []
        if lot:
            ledger.append(lot)


def _events(subjects: int) -> Iterator[dict[str, Any]]:
    for version in range(VERSIONS):
        for subject in range(subjects):
            yield {
                "event": "claim", "id": f"c{subject}-{version}", "subject": f"subject {subject}",
                "predicate": f"predicate {subject % 50}", "object": f"value {version}",
                "source": f"source {subject % 100}",
            }  # fmt: skip
            if version:
                yield {
                    "event": "correction", "id": f"k{subject}-{version}",
                    "corrects": f"c{subject}-{version - 1}", "by": f"c{subject}-{version}",
                }  # fmt: skip


def _fill_by_hand(path: Path, field: Field) -> None:
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE version(id TEXT PRIMARY KEY, number INTEGER, body TEXT) WITHOUT ROWID"
    )
    connection.executemany(
        "INSERT INTO version VALUES(?, ?, ?)",
        (
            (event["id"], int(event["id"].rpartition("-")[2]), json.dumps(event))
            for event in _events(_subjects(field))
        ),
    )
    connection.commit()
    connection.close()


def _check(folder: Path, field: Field) -> None:
    """What stays is answered as before, what is gone says so."""
    with doxa.open(folder, create=False) as ledger:
        view = ledger.view(valid_at="2024-06-01")
        for subject in range(0, _subjects(field), max(1, _subjects(field) // 50)):
            about = f"subject {subject}", f"predicate {subject % 50}"
            assert view.value(*about) == f"value {VERSIONS - 1}"
            stands = [str(view.standing(f"c{subject}-{n}")) for n in range(VERSIONS)]
            gone = VERSIONS - LEFT
            assert stands == ["compacted"] * gone + ["superseded"] * (LEFT - 1) + ["reported"]
