"""What it costs to keep a ledger's content encrypted: recording and opening it.

Ten claims a subject, and each subject with a key of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import doxa
from doxa.bench.fields import Field
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed
from doxa.ledger import Ledger

__all__ = ["encrypted_batch", "encrypted_one", "encrypted_open"]

MOST: Final = 100_000  # events
SUBJECTS: Final = 10  # events a subject
BATCH: Final = 1_000  # events a commit
NAMES: Final = {"doxa: encrypted": "sealed", "plain": "plain"}


def encrypted_batch(field: Field, effort: Effort) -> Iterator[Finding]:
    """Claims recorded a thousand a commit, in an encrypted ledger and in a plain one."""
    folder, events = _begun(field)

    def made(kind: str) -> Callable[[int], None]:
        return lambda number: _made(folder / f"{number}", kind, events).close()

    calls = {name: timed(made(kind)) for name, kind in NAMES.items()}
    series = in_turn(calls, effort.of(5, least=3), effort)
    sealed, plain = (folder / "0" / kind / "log.sqlite" for kind in NAMES.values())
    facts: Facts = {
        "log, encrypted over plain": round(sealed.stat().st_size / plain.stat().st_size, 2),
        "bytes of keys an event": round((folder / "0" / "keys").stat().st_size / events, 1),
    }
    yield Finding("encrypted_batch", field.size, series, items=events, facts=facts)
    shutil.rmtree(folder)


def encrypted_open(field: Field, effort: Effort) -> Iterator[Finding]:
    """An encrypted ledger opened, whose checkpoint is read whole and decrypted, and a plain one,
    whose checkpoint is mapped; and both without it, when all of the log is read."""
    folder, events = _begun(field)
    for kind in NAMES.values():
        _made(folder, kind, events).close()

    def opened(kind: str, *, anew: bool) -> Callable[[int], None]:
        def run(number: int) -> None:
            if anew:
                shutil.rmtree(folder / kind / "cache", ignore_errors=True)
            with _opened(folder, kind) as ledger:
                assert ledger.revision == events, ledger

        return run

    calls = {name: timed(opened(kind, anew=False)) for name, kind in NAMES.items()}
    series = in_turn(calls, effort.of(15), effort)
    calls = {f"{name}, anew": timed(opened(kind, anew=True)) for name, kind in NAMES.items()}
    series |= in_turn(calls, effort.of(7, least=3), effort)
    yield Finding("encrypted_open", field.size, series, items=events)
    shutil.rmtree(folder)


def encrypted_one(field: Field, effort: Effort) -> Iterator[Finding]:
    """A claim in a commit of its own, in an encrypted ledger and in a plain one; every tenth is
    about a new subject, whose key is flushed first."""
    folder, events = _begun(field)
    ledgers = {name: _made(folder, kind, events) for name, kind in NAMES.items()}
    calls = {name: timed(_one_more(ledger)) for name, ledger in ledgers.items()}
    series = in_turn(calls, effort.of(301), effort)
    for ledger in ledgers.values():
        ledger.close()
    yield Finding("encrypted_one", field.size, series)
    shutil.rmtree(folder)


def _begun(field: Field) -> tuple[Path, int]:
    """A fresh folder, and how many events to put there."""
    folder = field.folder / "encryption"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder, min(field.size, MOST)


def _opened(folder: Path, kind: str) -> Ledger:
    return doxa.open(folder / kind, keys=folder / "keys" if kind == "sealed" else None)


def _made(folder: Path, kind: str, events: int) -> Ledger:
    """A ledger with so many claims in it, still open."""
    folder.mkdir(exist_ok=True)
    ledger = _opened(folder, kind)
    for first in range(0, events, BATCH):
        ledger.append(_claims(first, min(events, first + BATCH)))
    return ledger


def _one_more(ledger: Ledger) -> Callable[[int], None]:
    def run(number: int) -> None:
        ledger.claim(f"new {number // 10}", "counts", number, id=f"new-{number}", source="bench")

    return run


def _claims(first: int, end: int) -> list[dict[str, Any]]:
    return [
        {
            "event": "claim",
            "id": f"c{number}",
            "subject": f"subject {number // SUBJECTS}",
            "predicate": "counts",
            "object": number,
            "text": f"what is said of subject {number // SUBJECTS}, number {number}",
            "source": "bench",
        }
        for number in range(first, end)
    ]
