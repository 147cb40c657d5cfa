"""A ledger to guard, and guards of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import doxa
from doxa.guarding import Guarded
from tests.support import ROOT

AT = "2024-07-01"
LONG = 30.0  # seconds that no test waits


def town(path: Path) -> Path:
    """A ledger that says where Ada lives."""
    with doxa.open(path) as ledger:
        ledger.claim(
            "ada", "lives_in", "London", id="home", text="Ada lives in London.", source="s"
        )
    return path


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """A call that does not come back before the end."""
    end = threading.Event()
    yield lambda: end.wait(LONG)
    end.set()


def patient(ledger: Any, **options: Any) -> Guarded:
    """A guard whose ledger has all the time that it may need."""
    return doxa.guard(ledger, **{"timeout": LONG, "write_timeout": LONG, "retry": 0.0, **options})


def nothing(context: doxa.Context, reason: str) -> None:
    """That a context is none, marked, for a reason."""
    assert (context.text, context.source, context.degraded) == ("", "none", True)
    assert (str(context), context.reason) == ("", reason)
    assert context.detail


def vectors(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
