"""On random histories a compaction changes no answer but those that it took."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine import bulk, gaps
from doxa.engine.errors import CallerError, ConflictError
from doxa.ledger import Ledger
from doxa.oracle import Log, check_chain
from doxa.oracle.log import Key
from tests.compactions import Corrector, answers, coordinates, first_difference
from tests.histories import DAY, GRID, moment


def lived(path: Path, random: Random, commits: int) -> Ledger:
    """A ledger with a random history of corrections."""
    now = [GRID[2]]
    ledger = doxa.open(path, clock=lambda: moment(now[0]))
    author = Corrector(random)
    for _ in range(commits):
        now[0] += random.choice((1, 1, DAY // 8))
        events = author.commit()
        try:
            ledger.append(events)
        except (CallerError, ConflictError):
            continue
        author.learn(events)
    return ledger


def asked_for(random: Random) -> dict[str, Any]:
    """What to compact."""
    asked: tuple[dict[str, Any], ...] = (
        {"older_than": 0},
        {"older_than": timedelta(days=random.random() * 3)},
        {"versions": 1},
        {"versions": 2},
        {"bytes": 0},
        {"older_than": 0, "limit": random.randint(1, 12)},
        {"bytes": random.randint(20_000, 60_000)},
    )
    return random.choice(asked)


def gone_from(before: Log, after: Log) -> set[Key]:
    return set(before.claims) - set(after.claims)


FEWER = settings(max_examples=max(5, settings().max_examples // 5))


@FEWER
@given(seed=st.integers(0, 2**32))
def test_whatever_stays_is_answered_as_before_and_whatever_is_gone_says_so(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "l"
        ledger = lived(path, random, random.randint(5, 40))
        if not ledger.revision:
            return
        log = Log.read(path)
        places = coordinates(log, random, 5)
        first = answers(ledger, log, places)
        for _ in range(2):
            ledger.compact(**asked_for(random))
            gone = gone_from(log, Log.read(path))
            told = first_difference(log, gone, first, answers(ledger, log, places))
            assert told is None, f"seed {seed}: {told}"
            if random.random() < 0.3:
                ledger.close()
                ledger = doxa.open(path, clock=lambda: moment(GRID[6]))
        assert ledger.verify().ok, f"seed {seed}: {ledger.verify()}"
        assert check_chain(path) == [], f"seed {seed}"
        ledger.close()


def grown(ledger: Ledger, twin: Ledger, random: Random, clock: list[int]) -> None:
    """Records the same in both, in spite of compactions of the first; the twin records something of
    no consequence in the place of each."""
    author = Corrector(random)
    for number in range(random.randint(10, 40)):
        clock[0] += random.choice((1, DAY // 8))
        if random.random() < 0.15 and ledger.compact(**asked_for(random)).events:
            event = {"event": "policy", "id": f"nothing{number}", "single_valued": "nothing"}
            twin.append([event])
        events = author.commit()
        try:
            ledger.append(events)
        except doxa.Compacted:
            continue  # it names what is gone, which the twin would accept
        except (CallerError, ConflictError) as error:
            with pytest.raises(type(error)):
                twin.append(events)
            continue
        twin.append(events)
        author.learn(events)


@FEWER
@given(seed=st.integers(0, 2**32))
def test_what_is_recorded_later_finds_everything_as_if_nothing_had_gone(seed: int) -> None:
    random, clock = Random(seed), [GRID[2]]
    few = patch.object(gaps, "PASSES", random.choice((2, 16)))
    short = patch.object(bulk, "MANY", random.choice((2, 64)))
    with TemporaryDirectory() as folder, few, short:
        ledger, twin = (
            doxa.open(Path(folder) / name, clock=lambda: moment(clock[0])) for name in "lt"
        )
        grown(ledger, twin, random, clock)
        assert ledger.revision == twin.revision, f"seed {seed}"
        if ledger.revision:
            log = Log.read(Path(folder) / "t")
            places = coordinates(log, random, 5)
            gone = gone_from(log, Log.read(Path(folder) / "l"))
            found = answers(twin, log, places), answers(ledger, log, places)
            told = first_difference(log, gone, *found)
            assert told is None, f"seed {seed}: {told}"
            assert ledger.verify().ok, f"seed {seed}: {ledger.verify()}"
        ledger.close()
        twin.close()
