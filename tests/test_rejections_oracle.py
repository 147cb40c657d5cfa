"""The gate against the oracle's, over random histories of rejections and writes."""

from __future__ import annotations

import json
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import doxa
from doxa.adapters.exchange import exported
from doxa.oracle.rejecting import Rejected, Rejections, alike

START = datetime(2030, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FOREVER = 2**62

VALUES = st.sampled_from(
    [
        *("London", " LONDON\t", "Lon\u200bdon", "caf\u00e9", "CAFE\u0301", "cafe"),
        *("Straße", "strasse", "", "\u00a0", "null", "true", "1", "1.0"),
        *(1, 1.0, -0.0, 0, True, False, None),
        *([1, "A"], "[1.0, \"a\"]", "[1 ,\"A\"]", ["a", 1], [[1, "a"]]),
        *({"a": 1, "B": [True]}, '{"b":[ TRUE ],"A":1e0}', {"a": True}, '{"a":1'),
    ]
)  # fmt: skip
TEXTS = st.none() | VALUES.filter(lambda value: isinstance(value, str))
PREDICATES = st.sampled_from(["p", "q"])
WORKSPACES = st.sampled_from(["", "w", "v"])
PATHS = st.sampled_from(["claim", "append", "import", "derive", "correct", "override"])


class Gate(RuleBasedStateMachine):
    """One ledger and the oracle's list of rejections, side by side."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now = START
        self.oracle = Rejections()
        self.events = 0  # what the log should hold
        self.number = 0
        self.said: dict[str, tuple[str, str, Any, str | None]] = {}  # claims that are there
        self.blocked: set[tuple[str, str]] = set()  # claim and rejection
        self.ledger = self.opened()
        self.bases = {}
        for workspace in ("", "w", "v"):
            self.bases[workspace] = [
                self.ledger.claim("base", "r", f"base {n}", workspace=workspace, source="src")
                for n in "12"
            ]
            self.events += 2

    def opened(self) -> doxa.Ledger:
        return doxa.open(self.folder / "l", clock=lambda: self.now)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
            shutil.rmtree(self.folder)

    def at(self) -> int:
        """When the next commit will be recorded, in microseconds since the start."""
        last = self.ledger._stream.store.head().recorded_at
        now = max(self.now, datetime.fromtimestamp(0, UTC) + (last + 1) * MICROSECOND)
        return (now - START) // MICROSECOND

    @rule(hours=st.integers(-3, 30))
    def pass_time(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    @rule(
        value=VALUES,
        predicate=st.none() | PREDICATES,
        workspace=WORKSPACES | st.just("*"),
        hours=st.none() | st.integers(1, 48),
        withdraw=st.booleans(),
    )
    def reject(
        self, value: Any, predicate: str | None, workspace: str, hours: int | None, withdraw: bool
    ) -> None:
        place = "" if workspace == "*" else workspace
        self.number += 1
        held = [
            id
            for id, (home, about, object, text) in self.said.items()
            if place in ("", home)
            and predicate in (None, about)
            and (alike(value, object) or (text is not None and alike(value, text)))
        ]
        until = None if hours is None else self.now + timedelta(hours=hours)
        id = f"r{self.number}"
        try:
            self.ledger.reject(
                value, predicate=predicate, workspace=workspace, until=until,
                withdraw=withdraw, id=id,
            )  # fmt: skip
            refused: list[str] = []
        except doxa.ValueHeld as error:
            refused = sorted(error.claims)
        assert refused == ([] if withdraw else sorted(held))
        if refused:
            return
        self.events += 1 + len(held)
        for gone in held:
            del self.said[gone]
        end = None if until is None else (until - START) // MICROSECOND
        self.oracle.all.append(Rejected(id, place, value, predicate, end))

    @precondition(lambda self: self.oracle.all)
    @rule(choose=st.randoms(use_true_random=False), hours=st.none() | st.integers(-24, 24))
    def withdraw(self, choose: Any, hours: int | None) -> None:
        """From an instant on, or altogether."""
        one = choose.choice(self.oracle.all)
        start = None if hours is None else self.now + timedelta(hours=hours)
        self.ledger.withdraw(one.id, workspace=one.workspace, valid_from=start)
        begins = -FOREVER if start is None else (start - START) // MICROSECOND
        one.lifted.append((begins, FOREVER))
        self.events += 1

    @rule(
        path=PATHS, workspace=WORKSPACES, predicate=PREDICATES, object=VALUES, text=TEXTS,
        near=st.none() | st.randoms(use_true_random=False), again=st.booleans(),
    )  # fmt: skip
    def write(
        self,
        path: str,
        workspace: str,
        predicate: str,
        object: Any,
        text: str | None,
        near: Any,
        again: bool,
    ) -> None:
        """A claim; ``near`` one that says what was rejected, somewhere near where it was."""
        if near is not None and self.oracle.all:
            one = near.choice(self.oracle.all)
            if near.random() < 0.8:
                workspace, predicate = one.workspace, one.predicate or predicate
            if isinstance(one.value, str) and near.random() < 0.5:
                text = one.value
            else:
                object = one.value
        self.number += 1
        id = f"c{self.number}"
        if path == "correct":
            predicate = "r"
        expected = self.oracle.keeping_out(workspace, predicate, object, text, self.at())
        claim = "k" + id + "/replacement" if path == "correct" else id
        if path == "override":
            self._write("claim", id, workspace, predicate, object, text, override="so")
            self.events += 1 + len(expected)
            self.said[id] = (workspace, predicate, object, text)
            return
        refused = self._write(path, id, workspace, predicate, object, text)
        assert refused == expected, (refused, expected)
        if expected:
            self.events += len(expected)
            if again:  # tried again, perhaps another way: no event more
                refused = self._write("append", claim, workspace, predicate, object, text)
                later = self.oracle.keeping_out(workspace, predicate, object, text, self.at())
                assert refused == later
                assert set(later) <= set(expected)
                if not later:
                    self._count("append", claim, workspace, predicate, object, text)
        else:
            self._count(path, claim, workspace, predicate, object, text)

    def _count(
        self, path: str, id: str, workspace: str, predicate: str, object: Any, text: str | None
    ) -> None:
        self.events += {"append": 2, "correct": 2}.get(path, 1)
        self.said[id] = (workspace, predicate, object, text)

    def _write(
        self,
        path: str,
        id: str,
        workspace: str,
        predicate: str,
        object: Any,
        text: str | None,
        override: str | None = None,
    ) -> list[str]:
        """Writes a claim one way or another; the ids of the rejections that keep it out."""
        ledger = self.ledger
        common: dict[str, Any] = {"text": text, "workspace": workspace}
        fields = {
            "event": "claim", "id": id, "subject": "s", "predicate": predicate, "object": object,
            "source": "src", **common,
        }  # fmt: skip
        try:
            if path == "import":
                report = ledger.import_events(
                    [json.dumps(fields, ensure_ascii=self.number % 2 > 0)]
                )
                assert not report.set_aside
                return [name for one in report.blocked for name in one.rejections]
            if path == "append":
                other = {**fields, "id": f"{id}-with", "object": f"harmless {id}", "text": None}
                ledger.append([other, fields])
            elif path == "derive":
                because = self.bases[workspace]
                ledger.claim("s", predicate, object, id=id, because=because, **common)
            elif path == "correct":
                base = ledger.claim("base", "r", f"other {id}", id=id, workspace=workspace)
                self.events += 1
                ledger.correct(base, object, id=f"k{id}", source="src", **common)
            else:
                ledger.claim(
                    "s", predicate, object, id=id, source="src", override=override, **common
                )
        except doxa.ValueRejected as error:
            return list(error.rejections)
        return []

    @invariant()
    def the_log_holds_what_was_let_in_and_nothing_else(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.revision == self.events

    def _asked(self) -> None:
        for value in ("London", 1, None, [1, "a"]):
            for workspace in ("", "w"):
                now = self.at()
                found = [one.id for one in self.ledger.is_rejected(value, workspace=workspace)]
                expected = [
                    one.id
                    for one in self.oracle.all
                    if one.keeps_out(workspace, one.predicate or "p", value, None, now)
                ]
                assert found == expected

    @rule()
    def ask(self) -> None:
        head = self.ledger.revision
        self._asked()
        assert self.ledger.revision == head

    @rule()
    def carry_over(self) -> None:
        """What is exported goes in elsewhere as it is, whatever is rejected here."""
        lines = [item.line for item in exported(self.ledger)]
        report = self.ledger.import_events(lines)
        assert (report.events, report.blocked, report.set_aside) == (0, (), ())
        with doxa.open() as other:
            assert not other.import_events(lines).set_aside
            assert [item.line for item in exported(other)] == lines


Gate.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestGate = Gate.TestCase
