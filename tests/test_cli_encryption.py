"""Encrypted ledgers from a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import doxa
from tests.encrypted import opened
from tests.test_cli import answer, ok, run

NOW = ("--valid-at", "now")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an encrypted ledger and its keys."""
    with opened(tmp_path) as ledger:
        ledger.claim("ada", "lives_in", "London", id="a1", source="s")
        ledger.claim("bob", "lives_in", "Lisbon", id="b1", source="s")
    return tmp_path


@pytest.mark.parametrize("where", ["before", "behind", "with =", "between", "environment"])
def test_the_key_file_is_named_anywhere_in_the_line(
    place: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, keys = str(place / "ledger"), str(place / "keys")
    line: list[object] = ["value", ledger, "ada", "lives_in", *NOW]
    if where == "environment":
        monkeypatch.setenv("DOXA_KEYS", keys)
    else:
        line[{"before": 0, "behind": 99, "with =": 99, "between": 2}[where] : 0] = (
            [f"--keys={keys}"] if where == "with =" else ["--keys", keys]
        )
    assert ok(*line) == "London"


def test_a_new_ledger_is_made_with_its_keys(tmp_path: Path) -> None:
    ledger, keys = tmp_path / "new", tmp_path / "keys"
    ok("claim", ledger, "ada", "lives_in", "London", "--source", "s", "--keys", keys)
    assert keys.exists()
    assert ok("value", ledger, "ada", "lives_in", *NOW, "--keys", keys) == "London"


def test_what_follows_two_dashes_is_no_option(tmp_path: Path) -> None:
    line = ["claim", tmp_path / "l", "--source", "s", "--", "ada", "says", "--keys"]
    ok(*line)
    assert ok("value", tmp_path / "l", "ada", "says", *NOW) == "--keys"


def test_without_keys_or_with_others_it_is_the_callers_mistake(place: Path) -> None:
    line = ["value", place / "ledger", "ada", "lives_in", *NOW]
    for more, words in (
        ((), "is encrypted"),
        (("--keys", place / "missing"), "can't be read"),
        (("--keys",), "requires an argument"),
    ):
        result = run(*line, *more)
        assert result.exit_code == 2
        assert words in result.stderr
        assert "London" not in result.output
    result = run(*line, "--json")
    assert json.loads(result.stderr)["error"]["code"] == "wrong_keys"
    plain = place / "plain"
    doxa.open(plain).close()
    with doxa.open(plain) as ledger:
        ledger.claim("x", "p", 1, source="s")
    assert "is not encrypted" in run("stats", plain, "--keys", place / "keys").stderr


def test_the_keys_of_one_command_are_not_those_of_the_next(place: Path) -> None:
    assert answer("stats", place / "ledger", "--keys", place / "keys")["encrypted"]
    assert run("stats", place / "ledger").exit_code == 2


def test_the_log_is_verified_copied_and_restored_without_keys(place: Path) -> None:
    told = answer("verify", place / "ledger")
    assert told["ok"]
    assert told["compared"] == 0
    assert any("the log alone was checked" in note for note in told["notes"])
    assert answer("verify", place / "ledger", "--keys", place / "keys")["compared"] > 0
    assert run("verify", place / "ledger", "--keys", place / "missing").exit_code == 2
    head = ok("backup", place / "ledger", place / "backup")
    assert ok("recover", place / "backup", place / "restored") == head
    line = ["value", place / "restored", "ada", "lives_in", *NOW, "--keys", place / "keys"]
    assert ok(*line) == "London"
    result = run("backup", place / "ledger", place / "other", "--keys", place / "missing")
    assert result.exit_code == 2


def test_a_key_is_destroyed_once_nothing_needs_it(place: Path) -> None:
    ledger = [place / "ledger", "--keys", place / "keys"]
    planned = ok("destroy-key", *ledger, "ada", "--dry-run")
    assert planned.splitlines()[1].split()[:3] == ["a1", "claim", "1"]
    refused = run("destroy-key", *ledger, "ada")
    assert refused.exit_code == 2
    assert "key_needed" in refused.stderr
    ok("archive", *ledger, "a1")
    ok("purge", *ledger, "a1")
    key = ok("destroy-key", *ledger, "ada")
    assert len(key) == 16
    assert run("destroy-key", *ledger, "ada").exit_code == 2
    assert ok("standing", *ledger, "a1", *NOW) == "redacted"


def test_by_force_it_is_destroyed_at_once_and_told_as_json(place: Path) -> None:
    ledger = [place / "ledger", "--keys", place / "keys"]
    told: Any = answer("destroy-key", *ledger, "bob", "--force", "--reason", "asked", "--id", "x")
    assert told["destroyed"]
    assert [one["id"] for one in told["protected"]] == ["b1"]
    assert told["purged"]["policy"] == "x"
    assert ok("standing", *ledger, "b1", *NOW) == "redacted"
    assert ok("value", *ledger, "ada", "lives_in", *NOW) == "London"


def test_an_event_with_a_key_of_its_own_is_named_by_its_id(place: Path) -> None:
    ledger = [place / "ledger", "--keys", place / "keys"]
    ok("summarize", *ledger, "Of the press.", "--sources", "s", "--id", "u1")
    assert answer("destroy-key", *ledger, "--event", "u1", "--force")["destroyed"]
    assert run("destroy-key", *ledger).exit_code == 2
