"""Where a run took place: the machine, its load, and the versions of everything."""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from doxa.bench.contenders import durable

__all__ = ["load", "machine", "peak_memory"]

PACKAGES = ("doxa", "duckdb", "pyarrow", "numpy", "eventsourcing", "pydantic")


def load() -> float:
    """How many processes have wanted a processor in the last minute, on average."""
    return os.getloadavg()[0]


def peak_memory() -> dict[str, int]:
    """The most bytes that this process, and the largest of its children, have held so far."""
    scale = 1 if sys.platform == "darwin" else 1024
    return {
        "this process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale,
        "largest child": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * scale,
    }


def machine(folder: Path) -> dict[str, Any]:
    """Processor, memory, system, versions, and what a flush costs in ``folder`` now."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in PACKAGES},
        "flush_us": round(_flush(folder) * 1e6, 1),
        "load": round(load(), 2),
        "began": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _flush(folder: Path) -> float:
    """Seconds of the middle one of fifty durable inserts into a bare SQLite file."""
    path = folder / "flush.sqlite"
    connection = durable(path)
    connection.execute("CREATE TABLE t(x)")
    taken = []
    for number in range(50):
        started = time.perf_counter()
        connection.execute("INSERT INTO t VALUES(?)", (number,))
        taken.append(time.perf_counter() - started)
    connection.close()
    for left in folder.glob("flush.sqlite*"):
        left.unlink()
    return sorted(taken)[25]
