"""Rejected values beside the rest: derived records, encryption, commands, killed writers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import doxa
from doxa.adapters.cli.app import app
from doxa.adapters.exchange import exported
from doxa.ledger import Ledger

SECRET = "the Zanzibar Secret"
AT = "2024-01-01"


def told(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    lines = (json.loads(item.line) for item in exported(ledger))
    return [line for line in lines if name in line]


# ---------------------------------------------------------------- derived records


def test_an_observation_of_a_rejected_value_is_not_made_and_the_log_says_so() -> None:
    with doxa.open() as ledger:
        ledger.reject(SECRET, id="r1")
        for n in range(3):
            ledger.claim(
                "ada", "says", SECRET, id=f"c{n}", source=f"s{n}", override="it is what she says"
            )
            ledger.claim("ada", "likes", "tea", id=f"d{n}", source=f"s{n}")
        head = ledger.revision
        dry = ledger.consolidate(valid_at=AT, dry_run=True)
        assert [str(each.step) for each in dry].count("refused") == 1
        assert ledger.revision == head
        for _ in range(2):
            done = ledger.consolidate(valid_at=AT)
            assert "refused" in [str(each.step) for each in done]
            assert SECRET not in json.dumps([each.reason for each in done])
        (audit,) = told(ledger, "blocked")
        assert audit["blocked"] == "r1"
        made = [c for c in ledger.view(valid_at=AT).claims() if c.kind == "observation"]
        assert [claim.object for claim in made] == ["tea"]


# ---------------------------------------------------------------- purging, encryption


def test_an_override_whose_claim_was_purged_is_carried_over_as_it_stands() -> None:
    with doxa.open() as ledger:
        ledger.reject(SECRET, id="r1")
        ledger.claim("a", "p", SECRET, id="c1", workspace="w", source="s", override="seen")
        ledger.archive(["c1"], workspace="w")
        ledger.purge(["c1"], workspace="w")
        lines = [item.line for item in exported(ledger)]
        assert SECRET not in "".join(lines)
        with doxa.open() as other:
            assert not other.import_events(lines).set_aside
            assert [item.line for item in exported(other)] == lines
        with pytest.raises(doxa.ValueRejected):
            ledger.claim("a", "p", SECRET, id="c2", workspace="w")
        assert ledger.verify().ok


def test_nulls_of_purged_claims_are_no_values() -> None:
    with doxa.open() as ledger:
        ledger.claim("a", "p", "x", id="c1", source="s")
        ledger.archive(["c1"])
        ledger.purge(["c1"])
        lines = [item.line for item in exported(ledger)]
    with doxa.open() as other:
        other.reject(None, id="r1", recorded_at="2020-01-01")
        report = other.import_events(lines)
        assert (report.blocked, report.set_aside) == ((), ())


def test_an_encrypted_ledger_keeps_values_out_too(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    with doxa.open(tmp_path / "l", keys=keys) as ledger:
        ledger.claim("a", "p", SECRET, id="c1", source="s", text="a text")
        with pytest.raises(doxa.ValueHeld):
            ledger.reject(SECRET)
        ledger.reject(SECRET, id="r1", reason="made up", withdraw=True)
        with pytest.raises(doxa.ValueRejected, match="made up"):
            ledger.claim("b", "q", SECRET.upper(), id="c2")
        ledger.claim("b", "q", SECRET.upper(), id="c2", override="so")
    with doxa.open(tmp_path / "l", keys=keys) as ledger:
        with pytest.raises(doxa.ValueRejected):
            ledger.claim("b", "q", SECRET)
        assert [one.reason for one in ledger.rejections()] == ["made up"]
        assert ledger.verify().ok


# ---------------------------------------------------------------- the command line


def run(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "l"
    assert run("claim", path, "a", "p", "x", "--id", "c0", "--source", "s").exit_code == 0
    return path


def test_values_are_rejected_and_overridden_on_the_command_line(folder: Path) -> None:
    held = run("reject", folder, "X")
    assert (held.exit_code, held.stdout) == (3, "")
    assert "'c0'" in held.stderr
    made = run("reject", folder, "-", "--id", "r1", "--reason", "no", stdin=f"{SECRET}\n")
    assert (made.exit_code, made.stdout) == (0, "r1\n")
    assert run("reject", folder, "--value-json", "[1, 2.0]", "--id", "r2").exit_code == 0
    kept = run("claim", folder, "b", "q", SECRET.upper(), "--id", "c1")
    assert kept.exit_code == 3
    assert "'r1' (no)" in kept.stderr
    assert "zanzibar" not in kept.stderr.casefold()
    kept = run("claim", folder, "b", "q", "--object-json", "[1,2]", "--json")
    assert json.loads(kept.stderr)["error"]["code"] == "rejected"
    override = '{"reason": "seen", "author": "eve"}'
    assert run("claim", folder, "b", "q", SECRET, "--override", override).exit_code == 0
    listed = json.loads(run("rejections", folder, "--json").stdout)
    assert [(one["id"], one["in_force"]) for one in listed] == [("r1", True), ("r2", True)]
    assert run("is-rejected", folder, SECRET).exit_code == 0
    assert run("is-rejected", folder, "tea").exit_code == 1
    assert json.loads(run("is-rejected", folder, "tea", "--json").stdout) == []


def test_a_correction_rejects_on_the_command_line(folder: Path) -> None:
    assert run("correct", folder, "c0", "y", "--reject").exit_code == 0
    assert run("claim", folder, "b", "p", "X").exit_code == 3
    assert run("correct", folder, "c0", "X", "--override", "back").exit_code == 0


def test_an_import_on_the_command_line_tells_what_it_kept_out(folder: Path) -> None:
    run("reject", folder, SECRET, "--id", "r1")
    line = {"event": "claim", "id": "c1", "subject": "s", "predicate": "p", "object": SECRET}
    for strict, code in (((), 1), (("--strict",), 2)):
        done = run("import", folder, "-", *strict, stdin=json.dumps(line))
        assert done.exit_code == code
        assert "zanzibar" not in (done.stdout + done.stderr).casefold()
        assert "r1" in done.stdout + done.stderr
    done = run("import", folder, "-", "--json", stdin=json.dumps(line))
    (kept,) = json.loads(done.stdout)["blocked"]
    assert (kept["line"], kept["id"], kept["rejections"]) == (1, "c1", ["r1"])


@pytest.mark.parametrize(
    "args", [(), ("x", "--value-json", "1"), ("--value-json", "{"), ("--value-json", "NaN")]
)
def test_a_value_is_given_once_and_well(folder: Path, args: tuple[str, ...]) -> None:
    for command in ("reject", "is-rejected"):
        assert run(command, folder, *args).exit_code == 2


# ---------------------------------------------------------------- processes

_TRYING = """
import sys, doxa
with doxa.open(sys.argv[1]) as ledger:
    print("begun", flush=True)
    n = 0
    while True:
        try:
            ledger.claim("a", "p", "the zanzibar SECRET", id=f"{sys.argv[2]}{n}")
        except doxa.ValueRejected:
            ledger.claim("a", "p", f"fine {n}", id=f"{sys.argv[2]}-fine-{n}")
            n += 1
            if n == 20:
                print("on", flush=True)
"""


def test_writers_that_are_killed_leave_no_value_and_a_whole_log(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with doxa.open(folder) as ledger:
        ledger.reject(SECRET, id="r1")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _TRYING, str(folder), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("x", "y")
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert [writer.stdout.readline() for _ in range(2)] == ["begun\n", "on\n"]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    for path in folder.rglob("*"):
        assert not path.is_file() or b"zanzibar" not in path.read_bytes().lower()
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok
        of = [audit["of"] for audit in told(ledger, "blocked")]
        assert len(of) == len(set(of)) >= 40
