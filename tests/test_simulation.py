"""Faults by the seed: nothing acknowledged is lost, nothing is half done, all agree afterwards.

``DOXA_SEEDS`` sets how many runs the long test makes, ``DOXA_SEED`` the seed of its first. A single
seed is run again by ``python -m tests.simulation SEED``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from tests import simulated_sqlite
from tests.broken_recorders import BROKEN
from tests.recorder_support import environment
from tests.simulated_disk import Cut, Disk, File, Folder, Written
from tests.simulated_history import Wrong
from tests.simulated_machine import LOSSES, TROUBLES
from tests.simulation import run
from tests.support import ROOT

RUNS, AT_ONCE = 200, 25
ENOUGH = 400  # runs in which a broken recorder must have been found
FIRST: dict[str, int] = {}  # where to begin, so that no time is lost

if not simulated_sqlite.available():
    reason = "this Python's SQLite can't be reached, or is not for Unix"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


# ---------------------------------------------------------------- the runs


@pytest.mark.parametrize("first", range(0, RUNS, AT_ONCE))
def test_whatever_fails_the_ledger_is_as_it_was_told(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        run(seed)


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


# ---------------------------------------------------------------- the simulation can fail


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recorder_is_found(name: str) -> None:
    first = FIRST.get(name, 0)
    with BROKEN[name](), pytest.raises(Wrong, match=r"python -m tests.simulation \d+"):
        for seed in range(first, first + ENOUGH):
            run(seed)


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
