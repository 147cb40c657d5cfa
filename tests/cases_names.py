"""The published cases, and the names that their steps and checks use."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import doxa
from tests.support import shared

__all__ = ["Case", "cases", "names", "prepared", "refused", "shown_by", "shows"]

T = TypeVar("T", bound=Callable[..., object])


@dataclass(frozen=True)
class Case:
    """One case: how to build its ledger, and what must then be true."""

    id: str
    parts: tuple[str, ...]
    symptom: str
    input: dict[str, Any]
    text: str
    checks: tuple[str, ...]

    @property
    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.input.get("events", [])
        return found


def shows(id: str) -> Callable[[T], T]:
    """Says which case a test does by hand."""

    def mark(test: T) -> T:
        test.__dict__["shows"] = id
        return test

    return mark


def shown_by(module: ModuleType) -> set[str]:
    """The cases that the tests of a module do by hand."""
    return {
        test.__dict__["shows"]
        for test in vars(module).values()
        if "shows" in getattr(test, "__dict__", {})
    }


def cases() -> dict[str, Case]:
    """All cases by id."""
    found = {}
    for line in shared("cases", "cases.jsonl").read_text("utf-8").splitlines():
        raw = json.loads(line)
        expect = raw["expect"]
        found[raw["id"]] = Case(
            raw["id"],
            tuple(raw["parts"]),
            raw["symptom"],
            raw["input"],
            expect["text"],
            tuple(expect.get("checks", ())),
        )
    return found


def refused(ledger: doxa.Ledger, call: Callable[[], object]) -> bool:
    """Whether a call raises one of our own errors and leaves the log as it was."""
    before = ledger.revision
    try:
        call()
    except doxa.DoxaError:
        return ledger.revision == before
    return False


def _raises(kind: type[BaseException], call: Callable[[], object]) -> bool:
    try:
        call()
    except kind:
        return True
    return False


def names(ledger: doxa.Ledger, case: Case | None = None, report: Any = None) -> dict[str, Any]:
    """What steps and checks may name, over one ledger."""

    def view(v: Any, k: Any = None) -> doxa.TruthView:
        return ledger.view(valid_at=v) if k is None else ledger.view(valid_at=v, known_at=k)

    def ids(claims: Iterable[Any]) -> set[str]:
        return {claim.id for claim in claims}

    return {
        "doxa": doxa,
        "dt": dt,
        "ledger": ledger,
        "report": report,
        "events": case.events if case is not None else [],
        "aside": [item.line for item in report.set_aside] if report is not None else [],
        "view": view,
        "held": lambda v, k=None: ids(view(v, k).claims()),
        "held_about": lambda s, p, v, k=None: ids(view(v, k).claims(subject=s, predicate=p)),
        "values": lambda s, p, v, k=None: sorted(view(v, k).values(s, p), key=repr),
        "standing": lambda id, v, k=None: str(view(v, k).standing(id)),
        "history": lambda s, p, v: [item.value for item in ledger.history(s, p, valid_at=v)],
        "history_times": lambda s, p, v: [
            item.known_at for item in ledger.history(s, p, valid_at=v)
        ],
        "refused": lambda call: refused(ledger, call),
        "raises": _raises,
        "left_out": lambda block: {item.id: str(item.reason) for item in block.left_out},
        "invalidated": lambda result: {item.id for item in result.invalidated},
    }


def _imported(ledger: doxa.Ledger, case: Case, folder: Path) -> Any:
    if "data" in case.input:
        return ledger.import_events(shared("data", case.input["data"]) / "events.jsonl")
    path = folder / "events.jsonl"
    if "events" in case.input:
        lines = [json.dumps(event, ensure_ascii=False) for event in case.events]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    elif "file" in case.input:
        path.write_bytes(case.input["file"].encode())
    else:
        return None
    return ledger.import_events(path)


@contextmanager
def prepared(
    case: Case, folder: Path, *, clock: Callable[[], dt.datetime] | None = None
) -> Iterator[dict[str, Any]]:
    """The names of a case over a ledger that was built as the case says, its steps done."""
    with doxa.open(folder / "case.doxa", clock=clock) as ledger:
        found = names(ledger, case, _imported(ledger, case, folder))
        for step in case.input.get("steps", ()):
            exec(compile(step, f"<{case.id}>", "exec"), found)
        yield found
        other = found.get("other")
        if isinstance(other, doxa.Ledger):
            other.close()
