"""What the command line says to somebody who got a line of it wrong, or gave the wrong file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from doxa.adapters.cli.app import app
from tests.test_cli import failed, ok, run

SOUND = '{"event":"claim","id":"a","subject":"s","predicate":"p","object":1,"source":"x"}\n'


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["value", "l", "s", "p"], "'--valid-at', e.g. --valid-at now. See doxa value"),
        (["recall", "l", "who?"], "e.g. --valid-at now. See doxa recall --help"),
        (["export", "l", "--limit"], "'--limit' requires an argument. See doxa export --help"),
        (["--keys", "k", "export", "l", "--limit"], "See doxa export --help"),
        (["mcp", "l", "--http"], "See doxa mcp --help"),
        (["export", "l", "--keys"], "'--keys' requires an argument. See doxa --help"),
        (["--nonsense"], "see doxa --help"),
        (["exprt"], "See doxa --help"),
    ],
)  # fmt: skip
def test_a_wrong_line_names_the_help_of_the_command_that_was_meant(
    args: list[str], told: str
) -> None:
    assert told in failed(2, *args)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("quick.py", b"import doxa\n\nprint(1)\n", "quick.py is no exchange file"),
        ("a.json", b'{\n  "event": "claim"\n}\n', "a.json is no exchange file"),
        ("a.bin", bytes(range(128, 256)), "line 1: the line is not UTF-8"),
        ("a.gz", gzip.compress(b"hello\n"), "a.gz is no exchange file"),
        ("people.csv", b"id,name\n1,ada\n", "people.csv is CSV"),
        ("people.csv", b"1\n2\n", "docs/tables.md"),
    ],
)
def test_a_file_of_which_no_line_can_be_read_makes_no_ledger(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(content)
    said = failed(2, "import", tmp_path / "new", tmp_path / name)
    assert told in said
    assert "no ledger was made" in said
    assert not (tmp_path / "new").exists()


def test_one_line_that_can_be_read_makes_it_an_exchange_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\n\n" + SOUND)
    assert run("import", tmp_path / "new", tmp_path / "a").exit_code == 1
    assert ok("value", tmp_path / "new", "s", "p", "--valid-at", "now") == "1"
    (tmp_path / "b").write_text("hello\n")
    told = run("import", tmp_path / "new", tmp_path / "b")  # into a ledger that is there
    assert (told.exit_code, "1 set aside" in told.stderr) == (1, True)
    (tmp_path / "c").write_text("\n")
    assert run("import", tmp_path / "newer", tmp_path / "c").exit_code == 0


def test_a_folder_is_no_graph_and_the_file_that_is_wanted_is_told(tmp_path: Path) -> None:
    said = failed(2, "import-graphiti", tmp_path / "new", tmp_path)
    assert "is a folder; give a JSON file" in said
    assert not (tmp_path / "new").exists()


def test_provenance_is_spread_over_lines_for_a_person_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("prov")
    path = tmp_path / "l"
    ok("claim", path, "s", "p", "a\u202eb", "--id", "a", "--source", "x")
    asked = ("why", path, "a", "--valid-at", "now", "--prov")
    plain = ok(*asked)
    assert "\n" not in plain
    monkeypatch.setattr("doxa.adapters.cli.output._terminal", lambda file: True)
    told = run(*asked).stdout
    assert told.startswith("{\n  ")
    assert "\u202e" not in told
    assert json.loads(told).keys() == json.loads(plain).keys()


def test_what_only_asks_is_listed_under_ask() -> None:
    headings = {command.callback.__name__: command.rich_help_panel  # type: ignore[union-attr]
                for command in app.registered_commands}  # fmt: skip
    assert headings["judge"] == headings["reconcile"] == headings["view"] == "Ask"
    assert headings["cite"] == headings["claim"] == "Record"
