"""Faults by the seed: nothing acknowledged is lost, nothing is half done, all agree afterwards.

``DOXA_SEEDS`` sets how many runs the long test makes, ``DOXA_SEED`` the seed of its first. A single
seed is run again by ``python -m tests.simulation SEED``.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import doxa
from doxa.engine import disk as engine_disk
from tests import simulated_sqlite
from tests.broken_recorders import BROKEN
from tests.recorder_support import environment
from tests.simulated_disk import Cut, Disk, File, Folder, Written
from tests.simulated_history import Attempt, Fate, History, Wrong, stored
from tests.simulated_machine import LOSSES, TROUBLES, Clock, Killed, Machine, Plan, Process
from tests.simulated_system import running_on
from tests.simulation import placed, run
from tests.support import ROOT

RUNS, AT_ONCE = 200, 25
ENOUGH = 200  # runs in which a broken recorder must have been found
FOCUS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {  # faults and work that show it soon
    "checkpoints_are_not_flushed": (("power",), {}),
    "the_folder_of_a_new_log_is_not_flushed": (("power",), {}),
    "a_deleted_lock_file_is_not_noticed": (("slow",), {"unlock": 10}),
    "a_number_that_was_not_told_is_used_twice": (("error",), {}),
    "a_power_cut_brings_old_caches_back": (("power",), {"erase": 20, "reopen": 10, "claim": 10}),
    "erased_bytes_are_left_in_the_wal": ((), {"erase": 10, "claim": 10}),
}

if not simulated_sqlite.available():
    reason = "this Python's SQLite can't be reached, or is not for Unix"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def run_many(
    first: int,
    count: int,
    kinds: tuple[str, ...] = (),
    more: dict[str, float] | None = None,
) -> None:
    for seed in range(first, first + count):
        run(seed, kinds, more)


# ---------------------------------------------------------------- the runs


@pytest.mark.parametrize("first", range(0, RUNS, AT_ONCE))
def test_whatever_fails_the_ledger_is_as_it_was_told(first: int) -> None:
    run_many(first, AT_ONCE)


@pytest.mark.torture
def test_thousands_of_runs_find_nothing() -> None:
    first, count = (
        int(os.environ.get("DOXA_SEED", "1000")),
        int(os.environ.get("DOXA_SEEDS", "5000")),
    )
    failed = []
    for seed in range(first, first + count):
        try:
            run(seed)
        except Wrong as wrong:
            failed.append(seed)
            print(wrong, flush=True)
    assert not failed, f"of {count} runs these failed: {failed}"


def test_every_kind_of_fault_happens_and_work_goes_on() -> None:
    happened: Counter[str] = Counter()
    for seed in range(40):
        for line in run(seed).trace:
            if "*****" in line:
                happened[line.split("***** ")[1]] += 1
            for word in ("acknowledged", "refused", "nobody was told", "is erased"):
                happened[word] += word in line
    assert not {*LOSSES, *TROUBLES, "acknowledged", "is erased"} - happened.keys(), happened
    assert happened["acknowledged"] > 400, happened


def test_a_seed_makes_the_same_run_wherever_it_is_run() -> None:
    for seed in (3, 7, 11):
        once, again = run(seed), run(seed)
        assert once.trace == again.trace
        there = subprocess.run(
            [sys.executable, "-m", "tests.simulation", str(seed)],
            cwd=ROOT,
            env=environment() | {"PYTHONHASHSEED": "99"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout.splitlines() == once.trace


def killed(path: Path, names: list[str], random: Random) -> list[Attempt]:
    """What real processes tried, and were told, until each was killed at some moment."""
    code = Path(__file__).with_name("killed_child.py")
    children = [
        subprocess.Popen(
            [sys.executable, str(code), str(path), name],
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment(),
        )
        for name in names
    ]
    attempts = []
    for child, name in zip(children, names, strict=True):
        assert child.stdout is not None
        said = child.stdout.readline()
        time.sleep(random.random() * 0.3)
        child.kill()
        said += child.communicate(timeout=30)[0]
        for line in said[: said.rfind(b"\n")].splitlines():
            word, *more = json.loads(line)
            if word == "try":
                commits = [[("", id) for id in ids] for ids in more[0]]
                attempts.append(Attempt(name, "real", commits))
            elif word == "told":
                attempts[-1].fate = Fate.ACKNOWLEDGED
    return attempts


def kill_real_processes(folder: Path, rounds: int) -> None:
    random, history, path = Random(rounds), History(), folder / "l.doxa"
    for number in range(rounds):
        names = [f"{letter}{number}" for letter in "abc"[: random.randint(1, 3)]]
        history.attempts += killed(path, names, random)
        # corrections are made between the attempts, one each
        rows = stored(str(path / "log.sqlite"))
        history.attempts += [
            Attempt("somebody", "correct", [[row.key]]) for row in rows if row.type == "correction"
        ]
        history.settle(rows)
        with doxa.open(path) as ledger:
            assert ledger.revision == len(rows)
            assert ledger.verify(oracle=False).ok
    assert len(history.rows) > 20 * rounds


def test_real_processes_that_are_killed_lose_nothing_either(tmp_path: Path) -> None:
    kill_real_processes(tmp_path, 4)


@pytest.mark.torture
def test_a_hundred_rounds_of_killing_real_processes(tmp_path: Path) -> None:
    for turn in range(10):
        kill_real_processes(tmp_path / str(turn), 10)


# ---------------------------------------------------------------- the simulation can fail


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recorder_is_found(name: str) -> None:
    with BROKEN[name](), pytest.raises(Wrong, match=r"python -m tests.simulation \d+"):
        run_many(0, ENOUGH, *FOCUS.get(name, ()))


# ---------------------------------------------------------------- one run by hand


class Script(Plan):
    """A plan in which nothing happens but what is asked for."""

    strike: tuple[str, str] | None = None

    def due(self, now: int, what: str) -> str | None:
        if self.strike is None or self.strike[0] != what:
            return None
        kind, self.strike = self.strike[1], None
        return kind


def lived(folder: Path, disk: Disk, work: Callable[[Path, Script], None]) -> Disk:
    """What one process does on a machine, until it ends with it."""
    folder.mkdir()
    plan = Script(Random(1), (), 1, 0.0)
    machine = Machine(str(folder), disk, plan, Clock(), [])

    def until_the_end() -> None:
        with suppress(Killed, doxa.StorageError):
            work(folder / "home" / "people.doxa", plan)

    with running_on(machine):
        machine.run([Process("a", 1, until_the_end)])
        gc.collect()
    assert machine.ended is not None
    return machine.disk


def told_again_after_a_crash(folder: Path) -> list[set[str]]:
    """The ids that power cuts leave of a commit that was written by a process that ended before
    the flush, and acknowledged by the next one, which found it there."""

    def crash(path: Path, plan: Script) -> None:
        ledger = doxa.open(path)
        ledger.claim("x", "p", 1, id="first", source="s")
        plan.strike = "flush", "fall"
        ledger.claim("x", "p", 2, id="second", source="s")

    def again(path: Path, plan: Script) -> None:
        ledger = doxa.open(path)
        ledger.claim("x", "p", 2, id="second", source="s")
        told.append(True)
        plan.strike = "write", "power"
        ledger.claim("x", "p", 3, id="third", source="s")

    told: list[bool] = []
    disk = lived(folder / "one", Disk({("home",): None}), crash)
    disk = lived(folder / "two", disk, again)
    assert told
    left = []
    for seed in range(40):
        with placed(folder / "look", disk.after_a_cut(Random(seed))) as ledger:
            left.append({row.key[1] for row in stored(str(ledger / "log.sqlite"))})
    return left


def test_what_a_crash_left_unflushed_is_durable_before_it_is_acknowledged(tmp_path: Path) -> None:
    assert all(ids == {"first", "second"} for ids in told_again_after_a_crash(tmp_path))


def test_without_that_a_power_cut_would_undo_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_disk, "settle", lambda connection, path, timeout: None)
    left = told_again_after_a_crash(tmp_path)
    assert {"first"} in left
    assert {"first", "second"} in left


# ---------------------------------------------------------------- the disk


def cut_often(disk: Disk, times: int = 300) -> list[dict[tuple[str, ...], bytes | None]]:
    return [disk.after_a_cut(Random(seed)) for seed in range(times)]


def test_what_was_flushed_survives_every_power_cut() -> None:
    disk = Disk({("d",): None})
    file = disk.make(("d", "f"))
    assert isinstance(file, File)
    file.change(Written(0, b"kept"))
    file.flush()
    assert {image.get(("d", "f")) for image in cut_often(disk)} == {None, b"kept"}
    disk.flush_folder(("d",))
    assert {image.get(("d", "f")) for image in cut_often(disk)} == {b"kept"}


def test_what_was_not_flushed_is_kept_in_any_part_and_seen_whole() -> None:
    disk = Disk({("f",): b"." * 1024})
    file = disk.find(("f",))
    assert isinstance(file, File)
    file.change(Written(0, b"a" * 1024))
    file.change(Cut(700))
    kept = {image[("f",)] for image in cut_often(disk)}
    assert disk.seen() == {("f",): b"a" * 700}
    for expected in (b"." * 1024, b"a" * 512 + b"." * 512, b"." * 512 + b"a" * 512, b"a" * 700):
        assert expected in kept
    assert all(set(content or b"") <= set(b"a.") for content in kept)


def test_what_a_failing_flush_has_lost_no_later_one_keeps() -> None:
    lost = 0
    for seed in range(40):
        file = File()
        file.change(Written(0, b"first"))
        file.flush_in_part(Random(seed))
        file.change(Written(5, b" second"))
        file.flush()
        assert file.seen == b"first second"
        assert file.kept in (b"first second", bytes(5) + b" second")
        lost += file.kept != file.seen
    assert 0 < lost < 40


def test_entries_are_kept_in_their_order() -> None:
    disk = Disk({("a",): b"1"})
    disk.rename(("a",), ("b",))
    assert isinstance(disk.make(("c",), folder=True), Folder)
    disk.remove(("b",))
    names = {tuple(sorted(image)) for image in cut_often(disk)}
    assert names == {(("a",),), (("b",),), (("b",), ("c",)), (("c",),)}
    assert set(disk.seen()) == {("c",)}
