"""A ledger on its way through a history, while it is closed, reopened, shared and disturbed.

A history is a list of steps, which can be played again, cut down, and printed as exchange lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import doxa
from doxa.engine import events as ev
from doxa.engine.codec import encode
from doxa.engine.errors import CallerError, ConflictError, DoxaError, StorageError
from doxa.engine.parse import parse
from doxa.ledger import Ledger
from doxa.oracle import Log
from doxa.oracle.log import Row
from tests.histories import DAY, GRID, Author, Fields, iso, moment


@dataclass(frozen=True)
class Step:
    """One thing that was done: ``append``, ``abort`` (an append whose commit fails), ``restart``,
    ``swap`` (go on through the other ledger of the same folder), ``seal`` (what grew in memory is
    packed and, in a folder, written down)."""

    do: str
    events: Sequence[Fields] = ()
    clock: int = 0  # microseconds: what the clock says
    expected: int | None = None

    def __str__(self) -> str:
        lines = [f"# {self.do}, the clock at {iso(self.clock)}"]
        if self.expected is not None:
            lines.append(f"# expecting revision {self.expected}")
        return "\n".join([*lines, *(json.dumps(event) for event in self.events)])


@dataclass
class Refusal:
    """An append that was refused, with what the log was and would have been."""

    error: DoxaError
    before: Log
    after: Log | None
    first: int


@dataclass
class Walk:
    """A ledger on its way through a history. Without a folder it is kept in memory."""

    folder: Path | None = None
    steps: list[Step] = field(default_factory=list)
    refusal: Refusal | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._now = GRID[2]
        self.ledger = self._open()
        self.other = self._open() if self.folder is not None else self.ledger

    def _open(self) -> Ledger:
        return doxa.open(self.folder, clock=lambda: moment(self._now))

    def close(self) -> None:
        """Closes both ledgers."""
        self.ledger.close()
        self.other.close()

    def log(self) -> Log:
        """The log as the oracle reads it."""
        if self.folder is not None:
            return Log.read(self.folder)
        return Log.from_rows(self.rows(), self.ledger.recorder.keyed.secret)

    def rows(self) -> list[Row]:
        """The rows of the log, as they are stored."""
        return [
            (row.position, row.recorded_at, row.type, row.head, row.data)
            for page in self.ledger.recorder.read_rows(0)
            for row in page
        ]

    def take(self, step: Step) -> bool:
        """Does one step; whether an append was accepted."""
        self.steps.append(step)
        self._now = step.clock
        self.refusal = None
        if step.do == "restart":
            self.close()
            self.__post_init__()
            self._now = step.clock
        elif step.do == "swap":
            self.ledger, self.other = self.other, self.ledger
        elif step.do == "seal":
            self._seal()
        elif step.do == "abort":
            self._abort(step)
        else:
            return self._append(step)
        return False

    def _state(self) -> tuple[int, str]:
        view = self.ledger.view(valid_at=moment(GRID[3]))
        return view.revision, view.fingerprint

    def _append(self, step: Step) -> bool:
        before = self._state()
        try:
            done = self.ledger.append(step.events, expected_revision=step.expected)
        except (CallerError, ConflictError) as error:
            if self._state() != before:
                self.problems.append(f"a refused append changed {before} to {self._state()}")
            self.refusal = Refusal(error, self.log(), self._supposed(step), before[0] + 1)
            return False
        if done.new == 0 and self._state() != before:
            self.problems.append(f"a repeated append changed {before} to {self._state()}")
        if done.new + done.repeated != len(step.events):
            self.problems.append(f"of {len(step.events)} events {done} took only some")
        # what is asserted again comes back from the archive, by an event of its own
        if done.new and not 0 <= done.revision - before[0] - done.new <= 1:
            self.problems.append(f"{done.new} new events led from {before[0]} to {done.revision}")
        return True

    def _abort(self, step: Step) -> None:
        before = self._state()
        with failing_commits(self.ledger), suppress(DoxaError):
            self.ledger.append(step.events)
        if self._state() != before:
            self.problems.append(f"an aborted append changed {before} to {self._state()}")

    def _seal(self) -> None:
        before = self._state()
        stream = self.ledger._stream
        fold, _ = stream.capture(wait=True)
        fold.seal()
        stream.upkeep.keep(fold)
        if self._state() != before:
            self.problems.append(f"sealing changed {before} to {self._state()}")

    def _supposed(self, step: Step) -> Log | None:
        """The log as it would be, had a refused commit been accepted; None if it has no form."""
        rows = self.rows()
        at = max([step.clock, *(row[1] + 1 for row in rows[-1:])])
        with suppress(Exception):
            new = [parse(event) for event in step.events]
            secret = self.ledger.recorder.keyed.secret
            claims = Log.from_rows(rows, secret).claims
            spans = {key: (claim.valid_from, claim.valid_to) for key, claim in claims.items()}
            for event in new:
                if isinstance(event, ev.Claim):
                    spans[event.workspace, event.id] = (event.valid_from, event.valid_to)
            for position, event in enumerate(new, len(rows) + 1):
                if isinstance(event, ev.Correction) and event.corrects is not None:
                    event = _with_portion(event, spans)
                rows.append((position, at, event.TYPE, *encode(event)))
            return Log.from_rows(rows, secret)
        return None

    def __str__(self) -> str:
        return "\n".join(str(step) for step in self.steps)


def _with_portion(
    event: ev.Correction, spans: dict[tuple[str, str], tuple[int, int]]
) -> ev.Correction:
    """A correction whose missing bounds are those of its claims, where both apply."""
    named = [id for id in (event.corrects, event.by) if id is not None]
    froms, tos = zip(*(spans[event.workspace, id] for id in named), strict=True)
    low = max(froms) if event.valid_from is None else event.valid_from
    high = min(tos) if event.valid_to is None else event.valid_to
    return event.model_copy(update={"valid_from": low, "valid_to": high})


@contextmanager
def failing_commits(ledger: Ledger) -> Iterator[None]:
    """A ledger whose disk fails at the very end of each commit."""
    write = ledger.recorder.write

    @contextmanager
    def fail() -> Iterator[Any]:
        with write() as transaction:
            yield transaction
            raise StorageError("the disk is full")

    with patch.object(ledger.recorder, "write", fail):
        yield


def wander(
    random: Random,
    walk: Walk,
    length: int,
    look: Callable[[Walk], None] = lambda walk: None,
    writer: Callable[[Random], Author] = Author,
) -> Author:
    """Takes ``length`` random steps, calling ``look`` after each."""
    author = writer(random)
    now = GRID[2]
    pace = random.choice((0, 0, 1, DAY // 4, DAY))
    for _ in range(length):
        now += pace * random.randrange(2)
        chance = random.random()
        if chance < 0.04:
            step = Step("restart" if walk.folder is not None else "swap", clock=now)
        elif chance < 0.1:
            step = Step("swap", clock=now)
        elif chance < 0.14:
            step = Step("abort", author.commit(), now)
        elif chance < 0.18:
            step = Step("seal", clock=now)
        else:
            expected = random.choice((0, walk.ledger.revision)) if chance > 0.96 else None
            step = Step("append", author.commit(), now, expected)
        if walk.take(step):
            author.learn(step.events)
        look(walk)
    return author


def play(steps: Sequence[Step], walk: Walk) -> Walk:
    """Takes the steps of a history once more."""
    for step in steps:
        walk.take(step)
    return walk


def cut(steps: Sequence[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """The history without the steps and events that it fails without as well."""
    left = list(steps)
    size = max(1, len(left) // 2)
    while size:
        place = 0
        while place < len(left):
            fewer = left[:place] + left[place + size :]
            if fails(fewer):
                left = fewer
            else:
                place += size
        size //= 2
    for place in range(len(left)):
        number = 0
        while number < len(left[place].events) > 1:
            events = left[place].events
            fewer_events = [*events[:number], *events[number + 1 :]]
            tried = [*left[:place], replace(left[place], events=fewer_events), *left[place + 1 :]]
            if fails(tried):
                left = tried
            else:
                number += 1
    return left
