"""What the measures share: one history on disk, and the hand-written contenders beside it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import psutil
import pyarrow as pa

import doxa
from doxa.bench import outcome
from doxa.bench.contenders import DUCKDB_DESIGNS, DuckDBRows, SQLiteRows
from doxa.bench.workload import Workload
from doxa.engine import times
from doxa.ledger import Ledger

__all__ = ["NEEDED", "SUMMARIES", "Field", "enough_memory", "moment"]

SUMMARIES: Final = 1_000  # registered behind the history, one commit, two facts each
NEEDED: Final = 3_000  # bytes of memory an event of the history, all contenders together
Progress = Callable[[int, int], None]


def moment(at: int) -> datetime:
    """An instant as doxa takes it."""
    return times.moment(at)


def enough_memory(size: int) -> bool:
    """Whether the machine has the memory for a history of so many events."""
    return bool(psutil.virtual_memory().available > size * NEEDED)


def counted(events: Iterable[Any], total: int, progress: Progress) -> Iterator[Any]:
    """The same events; tells the progress every ten thousand."""
    for number, event in enumerate(events):
        if number % 10_000 == 0:
            progress(number, total)
        yield event


class Field:
    """The history of one size in a folder, made once; what is costly is made when first used."""

    def __init__(self, size: int, folder: Path, progress: Progress = lambda done, of: None) -> None:
        self.size, self.folder, self.progress = size, folder, progress
        self.workload = Workload(size)
        self.path = folder / "ledger"
        self.build_seconds = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    @cached_property
    def built(self) -> Path:
        """The ledger's folder, after the ledger was closed for the first time."""
        with doxa.open(self.path) as ledger:
            started = time.perf_counter()
            events = counted(self.workload.events(), self.size, self.progress)
            report = ledger.import_events(events)
            self.build_seconds = time.perf_counter() - started
            assert not report.set_aside, report
            ledger.append(self.summaries(), recorded_at=moment(self.end))
        return self.path

    @property
    def end(self) -> int:
        """When the summaries are recorded, right after the history."""
        return self.workload.recorded(self.size - 1) + 1_000_000

    @property
    def events(self) -> int:
        """How many are in the ledger as it was built."""
        return self.size + SUMMARIES

    def summaries(self) -> list[dict[str, Any]]:
        """What is registered behind the history."""
        rng = self.workload.rng("summaries")
        facts = self.workload.picked(rng, 2 * SUMMARIES)
        facts += rng.choices(facts, k=2 * SUMMARIES - len(facts))
        return [
            {
                "event": "summary",
                "id": f"n{number}",
                "text": sentence(f"summary {number}"),
                "facts": sorted(set(facts[2 * number : 2 * number + 2])),
            }
            for number in range(SUMMARIES)
        ]

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger, open."""
        return doxa.open(self.built)

    @cached_property
    def rows(self) -> pa.Table:
        """The outcome of the history, as a table."""
        return outcome.table(self.workload)

    @cached_property
    def sqlite(self) -> SQLiteRows:
        """The fastest of the SQLite designs."""
        rng = self.workload.rng("designs")
        keys = self.workload.keys(rng)
        questions = [(*next(keys), *self.workload.coordinates(rng)) for _ in range(1_000)]
        return SQLiteRows.best(self.folder, self.rows, questions)

    @cached_property
    def duckdb(self) -> dict[str, DuckDBRows]:
        """All DuckDB designs; each measure takes the fastest for its question."""
        return {name: DuckDBRows(self.rows, name) for name in DUCKDB_DESIGNS}

    def close(self) -> None:
        """Closes what was opened and removes the folder."""
        made = self.__dict__
        for name in ("ledger", "sqlite"):
            if name in made:
                made.pop(name).close()
        for design in made.pop("duckdb", {}).values():
            design.close()
        for name in ("rows", "built"):
            made.pop(name, None)
        shutil.rmtree(self.folder, ignore_errors=True)


def sentence(about: str) -> str:
    """A text of usual length."""
    return f"What is said about {about}, in a sentence or two of ordinary words, with an end. " * 2
