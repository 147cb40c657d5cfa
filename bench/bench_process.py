"""What a process costs: importing doxa, opening a ledger, importing lines, and memory.

Each is measured in a fresh interpreter, which prints what it found.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doxa.bench.workload import Workload
from doxa.engine import times

LINES = 30_000


def child(code: str, *arguments: str) -> float:
    """The number that a fresh interpreter prints last."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def seconds(benchmark: Any, rounds: int, code: str, *arguments: str) -> float:
    """The best of several children; the benchmark itself times the whole process."""
    found: list[float] = []
    benchmark.pedantic(lambda: found.append(child(code, *arguments)), rounds=rounds)
    benchmark.extra_info["inside, best"] = min(found)
    return min(found)


IMPORT = """
import time, pydantic
class Loaded(pydantic.BaseModel): x: int
started = time.perf_counter()
import doxa
{more}
print(time.perf_counter() - started)
"""


@pytest.mark.parametrize("more", ["", "doxa.Ledger", "doxa.open().close()"])
def test_import(benchmark: Any, more: str) -> None:
    """Seconds beyond pydantic: ``import doxa``, with the ledger class, with a ledger opened."""
    benchmark.group = "import doxa, beyond pydantic"
    assert seconds(benchmark, 7, IMPORT.format(more=more)) > 0


LOADING = """
import sys, time
{setup}
started = time.perf_counter()
{load}
print(time.perf_counter() - started)
"""
LOADERS = {
    "doxa": (
        "import doxa; import doxa.adapters.exchange; ledger = doxa.open(sys.argv[2])",
        "report = ledger.import_events(sys.argv[1]); assert not report.set_aside, report",
    ),
    "sqlite": (
        "import sqlite3, json; db = sqlite3.connect(sys.argv[2]);"
        "db.execute('PRAGMA journal_mode=WAL'); db.execute('PRAGMA synchronous=FULL');"
        "db.execute('CREATE TABLE log(position INTEGER PRIMARY KEY, id TEXT UNIQUE, line TEXT)')",
        "lines = [(json.loads(line)['id'], line) for line in open(sys.argv[1])];"
        "db.executemany('INSERT INTO log(id, line) VALUES(?,?)', lines); db.commit()",
    ),
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30,000 exchange lines, a hundred events a commit."""
    path = tmp_path_factory.mktemp("lines") / "events.jsonl"
    base = times.instant("2024-01-01")
    with path.open("w") as file:
        for number, event in enumerate(Workload(LINES).events()):
            if number == LINES:
                break
            recorded = times.iso(base + number // 100 * 1_000_000)
            fields = {key: _text(value) for key, value in event.items()}
            file.write(json.dumps(fields | {"recorded_at": recorded}) + "\n")
    return path


def _text(value: object) -> object:
    return times.iso(times.instant(value)) if hasattr(value, "isoformat") else value


@pytest.mark.parametrize("contender", LOADERS)
def test_import_lines(benchmark: Any, lines: Path, tmp_path: Path, contender: str) -> None:
    """Seconds to import 30,000 lines into a new ledger on disk; by hand, to store them."""
    benchmark.group = "import: 30,000 exchange lines"
    setup, load = LOADERS[contender]
    code = LOADING.format(setup=setup, load=load)
    numbers = iter(range(100))
    found: list[float] = []

    def once() -> None:
        found.append(child(code, str(lines), str(tmp_path / f"{contender}{next(numbers)}")))

    benchmark.pedantic(once, rounds=5)
    benchmark.extra_info["inside, best"] = min(found)


LOADED = """
import sys
from pathlib import Path
from doxa.bench.contenders import load_doxa
from doxa.bench.workload import Workload
load_doxa(Workload(int(sys.argv[1])), Path(sys.argv[2])).close()
"""
OPENED = """
import sys, doxa
def rss():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) / 1e3
ledger = doxa.open(sys.argv[2])
assert ledger.revision
print(rss())
"""


@pytest.mark.parametrize("claims", [10_000, 100_000])
def test_memory(benchmark: Any, tmp_path: Path, claims: int) -> None:
    """Resident megabytes of a process that has opened a ledger of so many claims; the time is
    that of starting it, which rebuilds the belief from the log."""
    benchmark.group = "open and hold: resident memory"
    folder = str(tmp_path / "ledger")
    subprocess.run([sys.executable, "-c", LOADED, str(claims), folder], check=True)
    found: list[float] = []
    benchmark.pedantic(lambda: found.append(child(OPENED, str(claims), folder)), rounds=2)
    benchmark.extra_info["megabytes"] = max(found)
