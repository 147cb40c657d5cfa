"""What a process costs: opening a ledger, making it anew from its log, memory; and the disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb

import doxa
from doxa.bench.contenders import SQLiteRows
from doxa.bench.fields import Field, counted
from doxa.bench.measuring import Effort, Facts, Finding, Series, in_turn
from doxa.bench.workload import START, bound
from doxa.engine import times
from doxa.engine.log import Row

__all__ = ["disk", "memory", "open_ledger", "rebuild"]

CACHE: Final = "cache"
LOG: Final = "log.sqlite"

OPENING: Final = """
import sys, time
import doxa
doxa.open().close()
started = time.perf_counter()
ledger = doxa.open(sys.argv[1], create=False)
assert ledger.revision
opened = time.perf_counter()
try:
    ledger.view(valid_at=sys.argv[2]).value(sys.argv[3], sys.argv[4])
except (doxa.NotHeld, doxa.SeveralHeld):
    pass
print(opened - started, time.perf_counter() - started)
"""
OPENING_SQLITE: Final = """
import sys, time, sqlite3
sqlite3.connect(":memory:").execute("SELECT 1").fetchall()
started = time.perf_counter()
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT max(rowid) FROM belief").fetchall()
opened = time.perf_counter()
connection.execute("SELECT object FROM belief WHERE id=?", (sys.argv[2],)).fetchall()
print(opened - started, time.perf_counter() - started)
"""
OPENING_DUCKDB: Final = """
import sys, time, duckdb
duckdb.connect(":memory:").execute("SELECT 1").fetchall()
started = time.perf_counter()
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("SELECT count(*) FROM belief").fetchall()
opened = time.perf_counter()
connection.execute("SELECT object FROM belief WHERE id=?", (sys.argv[2],)).fetchall()
print(opened - started, time.perf_counter() - started)
"""
HOLDING: Final = """
import json, sys, psutil
import doxa
doxa.open().close()
bare = psutil.Process().memory_full_info()
ledger = doxa.open(sys.argv[1], create=False)
assert ledger.revision
opened = psutil.Process().memory_full_info()
view = ledger.view(valid_at="2023-06-01")
for number in range(1_000):
    view.values(f"subject {number}", "predicate 1")
asked = psutil.Process().memory_full_info()
names = ("rss", "pss", "uss")
found = {"bare": bare, "opened": opened, "asked": asked}
print(json.dumps({k: {name: getattr(v, name) for name in names} for k, v in found.items()}))
"""


def child(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints. Raises `RuntimeError` with its error."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a child ended with {done.returncode}: {done.stderr[-2_000:]}")
    return done.stdout


def _two(code: str, *arguments: str) -> tuple[float, float]:
    first, second = child(code, *arguments).split()
    return float(first), float(second)


def forget_pages(folder: Path) -> None:
    """Has the system drop its cached pages of the files in a folder, as far as they are on disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def copied(field: Field, name: str, *, cache: bool) -> Path:
    """A copy of the ledger as it lay when it was closed, with or without what it keeps in cache/.

    The ledger is closed for it, and opened again where it is used next.
    """
    made = field.__dict__.pop("ledger", None)
    if made is not None:
        made.close()
    left_out = shutil.ignore_patterns(*([] if cache else [CACHE]))
    target = field.folder / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(field.built, target, ignore=left_out)
    return target


def open_ledger(field: Field, effort: Effort) -> Iterator[Finding]:
    """Opening the history in a running interpreter that has imported doxa, and with the first
    value; a fresh process for each figure, taking turns with the files of the hand-written ones."""
    rounds = effort.of(12, least=5)
    folder = copied(field, "opened", cache=True)
    rng = field.workload.rng("open")
    subject, predicate = next(field.workload.keys(rng))
    at = bound(field.workload.instant_at(0.9)) or ""
    (claim,) = field.workload.picked(rng, 1)
    sqlite, duck = _hand_files(field)
    firsts: dict[str, list[float]] = {}

    def ours(number: int) -> float:
        opened, first = _two(OPENING, str(folder), at, subject, predicate)
        firsts.setdefault("doxa", []).append(first)
        return opened

    def theirs(name: str, code: str, path: Path) -> Callable[[int], float]:
        def taken(number: int) -> float:
            opened, first = _two(code, str(path), claim)
            firsts.setdefault(name, []).append(first)
            return opened

        return taken

    def cold(number: int) -> float:
        forget_pages(folder)
        return ours(number)

    warm = in_turn(
        {
            "doxa": ours,
            "SQLite": theirs("SQLite", OPENING_SQLITE, sqlite),
            "DuckDB": theirs("DuckDB", OPENING_DUCKDB, duck),
        },
        rounds,
        effort,
    )
    first = {name: Series(tuple(figures[1:])) for name, figures in firsts.items()}
    series = dict(warm)
    if hasattr(os, "posix_fadvise"):
        series["doxa: from a cold disk"] = in_turn({"": cold}, 5, effort, warm=0)[""]
        notes = ["Cold: the system was asked to drop its cached pages of these files."]
    else:
        notes = ["Cold was not measured: this system can't drop single files from its cache."]
    yield Finding("open", field.size, series, facts={"events": field.events}, notes=notes)
    yield Finding("open_first", field.size, first, notes=["With the first answer."])


def _hand_files(field: Field) -> tuple[Path, Path]:
    """The outcome in a SQLite and in a DuckDB file."""
    sqlite, duck = field.folder / "hand.sqlite", field.folder / "hand.duckdb"
    if not sqlite.exists():
        SQLiteRows(sqlite, field.rows, "valid time first").close()
        connection = duckdb.connect(duck)
        connection.register("incoming", field.rows)
        connection.execute("CREATE TABLE belief AS SELECT * FROM incoming")
        connection.close()
    return sqlite, duck


def rebuild(field: Field, effort: Effort) -> Iterator[Finding]:
    """Opening the history with cache/ deleted, so that all is made anew from the log; a fresh
    process for each figure."""

    def ours(number: int) -> float:
        folder = copied(field, f"rebuilt {number}", cache=False)
        opened, _ = _two(OPENING, str(folder), "2023-01-01", "nobody", "nothing")
        shutil.rmtree(folder)
        return opened

    series = in_turn({"doxa": ours}, effort.of(5, least=3), effort, warm=0)
    rate = round(field.events / series["doxa"].median)
    facts: Facts = {"events": field.events, "events/s": rate}
    yield Finding("rebuild", field.size, series, items=field.events, facts=facts)


# ------------------------------------------------------------ memory


LOADING: Final = """
import sys
from pathlib import Path
from doxa.bench.processes import load_evidence
load_evidence(Path(sys.argv[1]), int(sys.argv[2]))
"""


def evidence(count: int) -> Iterator[dict[str, Any]]:
    """So many claims, each with its support as an event of its own, two thousand events a
    commit."""
    for number in range(count):
        at = times.iso(START + 1_000_000 * (number // 1_000))
        yield {
            "event": "claim",
            "id": f"c{number}",
            "subject": f"subject {number // 10}",
            "predicate": f"predicate {number % 5}",
            "object": f"value {number % 10_000}",
            "valid_from": bound(START + 1_000_000 * (number % 100_000_000)),
            "recorded_at": at,
        }
        support = {"event": "support", "id": f"s{number}", "claim": f"c{number}"}
        yield {**support, "source": f"source {number % 200}", "recorded_at": at}


def load_evidence(folder: Path, count: int) -> None:
    """Makes a ledger of `evidence` and closes it."""
    with doxa.open(folder) as ledger:
        report = ledger.import_events(evidence(count))
        assert not report.set_aside, report


def memory(field: Field, effort: Effort) -> Iterator[Finding]:
    """The memory of a process that has opened as many claims as the size, each with its support as
    an event of its own, so twice as many events; after opening, and after a thousand questions."""
    folder = field.folder / "evidence"
    if not folder.exists():
        child(LOADING, str(folder), str(field.size))
    rounds = effort.of(3, least=2)
    taken: dict[str, list[float]] = {}
    for number in range(rounds):
        found = json.loads(child(HOLDING, str(folder)))
        for state, figures in found.items():
            for name, size in figures.items():
                taken.setdefault(f"{state}, {name.upper()}", []).append(float(size))
        effort.progress(number + 1, rounds)
    series = {
        "doxa": Series(tuple(taken["opened, RSS"]), "B"),
        "doxa: after a thousand questions": Series(tuple(taken["asked, RSS"]), "B"),
    }
    facts: Facts = {"events": 2 * field.size}
    facts |= {f"{name}, MB": round(max(figures) / 1e6, 1) for name, figures in taken.items()}
    notes = ["Bare is the interpreter with doxa imported and an empty ledger opened."]
    yield Finding("memory", field.size, series, facts=facts, notes=notes)


# ------------------------------------------------------------ disk


def disk(field: Field, effort: Effort) -> Iterator[Finding]:
    """The bytes of the log and of cache/ after closing, beside the payload: the events' heads and
    data as they are stored, which hold what the caller gave, as JSON."""
    folder = copied(field, "weighed", cache=True)
    payload = 0
    with doxa.open(folder) as ledger:
        rows: Iterator[list[Row]] = ledger.recorder.read_rows()
        for page in counted(rows, field.events, effort.progress):
            payload += sum(len(row.head) + len(row.data or b"") for row in page)
    shutil.rmtree(folder)
    log = sum(p.stat().st_size for p in field.built.glob(f"{LOG}*"))
    cache = sum(p.stat().st_size for p in (field.built / CACHE).rglob("*") if p.is_file())
    sqlite, duck = _hand_files(field)
    events = field.events
    facts: Facts = {
        "events": events,
        "payload, B an event": round(payload / events, 1),
        "log, B an event": round(log / events, 1),
        "cache, B an event": round(cache / events, 1),
        "beyond the payload, B an event": round((log + cache - payload) / events, 1),
    }
    series = {
        "doxa": Series(((log + cache) / events,), "B"),
        "SQLite": Series((sqlite.stat().st_size / events,), "B"),
        "DuckDB": Series((duck.stat().st_size / events,), "B"),
    }
    notes = ["By hand only the outcome is kept: no events, no audit, no history of evidence."]
    yield Finding("disk", field.size, series, facts=facts, notes=notes)
