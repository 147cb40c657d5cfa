"""What the command says where a disk, or a number, is not as it should be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import doxa
from tests.support import ROOT


def run(*command: object, out: str | None = None) -> subprocess.CompletedProcess[str]:
    with open(out or os.devnull, "w") as file:
        return subprocess.run(
            [sys.executable, "-m", "doxa", *map(str, command)],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            timeout=60,
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.claim("x", "p", 1, source="s")
    return tmp_path / "ledger"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["export", "stats"])
def test_an_output_that_can_not_be_written_is_the_disks_fault(command: str, path: Path) -> None:
    ran = run(command, path, "--json", out="/dev/full")
    assert ran.returncode == 4, ran.stderr
    told = json.loads(ran.stderr)["error"]
    assert told["code"] == "storage"
    assert "can't be written" in told["message"]


def test_a_revision_of_thousands_of_digits_is_the_callers_mistake(path: Path) -> None:
    ran = run("view", path, "--valid-at", "now", "--known-at", "9" * 5_000)
    assert ran.returncode == 2, ran.stderr
    assert "known_at is" in ran.stderr
    assert len(ran.stderr) < 500


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can't be read")
def test_a_file_that_can_not_be_read_from_its_start_is_the_disks_fault(path: Path) -> None:
    ran = run("import", path, "/proc/self/mem")
    assert ran.returncode == 4, ran.stderr
    assert "can't be read" in ran.stderr
