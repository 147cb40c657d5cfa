"""Parquet files of events on the command line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.test_cli import answer, failed, ok, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "town.doxa"
    for id in ("a", "b", "c"):
        ok("claim", folder, id, "lives_in", "London", "--source", "register", "--id", id)
    return folder


def test_a_ledger_goes_out_as_a_parquet_file_and_comes_back(path: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "events.parquet", tmp_path / "other.doxa"
    done = run("export", path, "--events-parquet", file)
    assert done.stderr == f"3 events in {file}\n"
    assert answer("import", other, file)["events"] == 3
    assert ok("export", other) == ok("export", path)
    assert answer("import", other, file)["repeated"] == 3


def test_a_part_goes_out_with_the_cursor(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    found = answer("export", path, "--events-parquet", file, "--since", "1", "--limit", "1")
    assert (found["events"], found["cursor"]) == (1, 2)
    shown = run("export", path, "--events-parquet", file, "--limit", "2")
    assert shown.stderr == f"2 events in {file}; go on with --since 2\n"
    assert "give one of" in failed(2, "export", path, "--events-parquet", file, "--parquet", "t")
    assert "is a folder" in failed(2, "export", path, "--events-parquet", tmp_path)


def test_what_the_text_of_a_parquet_file_is_can_be_said(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "claims.parquet"
    rows = {"subject": ["x"], "predicate": ["p"], "object": ["[1]"], "source": ["s"]}
    pq.write_table(pa.table({**rows, "event": ["claim"]}), file)
    assert answer("import", path, file, "--text-objects")["events"] == 1
    assert '"object":"[1]"' in ok("export", path, "--since", "3")
    assert answer("import", path, file)["events"] == 1
    assert '"object":[1]' in ok("export", path, "--since", "4")
    pq.write_table(pa.table({**rows, "event": ["claim"], "object": ["Rome"]}), file)
    assert "or --text-objects" in run("import", path, file).stdout.replace("\n", " ")
    lines = tmp_path / "lines.jsonl"
    lines.write_text("")
    assert "Parquet files alone" in failed(2, "import", path, lines, "--json-objects")


def test_bad_rows_are_told_and_the_exit_code_says_so(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "claims.parquet"
    rows = {"subject": ["x", "y"], "predicate": ["p", ""], "object": [1, 2], "source": ["s", "s"]}
    pq.write_table(pa.table(rows), file)
    shown = run("import", path, file)
    assert shown.exit_code == 1
    assert "predicate is empty" in shown.stdout
    assert shown.stderr.endswith("1 event in 1 commit, 0 repeated, 1 set aside\n")
    assert '"subject":"y"' in ok("set-aside", path, "--text")
    assert "nothing was written" in failed(2, "import", path, file, "--strict")
    pq.write_table(pa.table({**rows, "valid_from": [1, 2]}), file)
    assert "valid_from is int64" in failed(2, "import", path, file)
    file.write_bytes(b"PAR1 and nothing more")
    assert "is no Parquet file that can be read" in failed(2, "import", path, file)
