"""Queries over a ledger's tables: what they give, may not reach, and how they are shown."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import doxa
from doxa.adapters.cli.app import app
from doxa.engine import times
from doxa.projections import export, serving
from doxa.projections.tables import TABLES

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)
HOSTILE = [
    "'; DROP TABLE claims; --",
    '"quoted" `ticked` \\backslashed',
    "a\0b",
    "line\nline\r\nline\ttab",
    "\u202eright to left\u202c",
    "emoji \U0001f469\u200d\U0001f680 and \U0001d54c",
    "%s %(name)s {0} $1 ?",
    "null",
    "  spaces  ",
    "x" * 1_000_000,
]


@pytest.fixture
def told(ledger: doxa.Ledger) -> doxa.Ledger:
    """Ada lived in London, which was wrong from June on."""
    home = ledger.claim("ada", "lives_in", "London", id="home", valid_from="2024-03-01", source="s")
    ledger.correct(home, "Lisbon", id="moved", valid_from="2024-06-01", source="t")
    return ledger


# ---------------------------------------------------------------- what is given


def test_a_result_has_columns_rows_and_a_length(told: doxa.Ledger) -> None:
    found = told.sql(
        "SELECT claim, standing FROM beliefs ORDER BY position, known_from, valid_from"
    )
    assert found.columns == ("claim", "standing")
    assert len(found) == 4
    assert list(found) == found.rows
    assert found.rows[0] == ("home", "reported")
    assert found.to_arrow().column_names == ["claim", "standing"]
    assert repr(found) == "Result(4 rows of claim, standing)"
    assert told.sql("SELECT 1 WHERE false").rows == []


def test_the_tables_are_as_new_as_the_log(ledger: doxa.Ledger) -> None:
    for number in range(5):
        ledger.claim("ada", "counts", number, source="s")
        assert ledger.sql("SELECT count(*) FROM claims").rows == [(number + 1,)]


def test_columns_are_those_of_the_schema_in_their_order(told: doxa.Ledger) -> None:
    for name, table in TABLES.items():
        found = told.sql(f"FROM {name}").to_arrow()
        assert found.column_names == table.schema.names
        assert [field.type for field in found.schema] == [field.type for field in table.schema]
        nulls = {f for f in table.schema.names if f.startswith(("valid_f", "valid_t", "known_"))}
        assert all(found.column(column).null_count == 0 for column in nulls)


def test_parameters_stand_by_place_or_by_name_and_times_are_microseconds(
    told: doxa.Ledger,
) -> None:
    assert told.sql("SELECT ?, ?", [1, "a"]).rows == [(1, "a")]
    assert told.sql("SELECT $b, $a", {"a": 1, "b": None}).rows == [(None, 1)]
    assert told.sql("SELECT ?", [date(2024, 7, 1)]).rows == [(1719792000000000,)]
    assert told.sql("SELECT ? = instant('2024-07-01T12:00:00Z')", [NOON]).rows == [(True,)]
    assert told.sql("SELECT standing FROM believed(?) ORDER BY position", [NOON]).rows == [
        ("superseded",), ("reported",)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ([datetime(2024, 1, 1)], doxa.InvalidTime),
        ("text", doxa.CallerError),
        (5, doxa.CallerError),
        ([1, 2], doxa.InvalidQuery),
        ({"other": 1}, doxa.InvalidQuery),
        (["\ud800"], doxa.InvalidQuery),
    ],
)
def test_parameters_that_can_not_be_used_are_refused(
    told: doxa.Ledger, params: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        told.sql("SELECT ?", params)


@given(st.integers(times.FIRST, times.LAST))
def test_instants_are_text_and_numbers_alike(micros: int) -> None:
    ((text, back),) = LEDGER.sql("SELECT iso($m), instant(iso($m))", {"m": micros}).rows
    assert (text, back) == (times.iso(micros), micros)


LEDGER = doxa.open()


@pytest.mark.parametrize("text", ["2024", "2024-07-01T10:00:00", "yesterday", "", "2024-13-01"])
def test_an_instant_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(doxa.InvalidQuery):
        LEDGER.sql("SELECT instant($t)", {"t": text})


def test_open_ends_are_the_extreme_numbers_and_null_as_text(told: doxa.Ledger) -> None:
    told.claim("eve", "is", "here", id="always", source="s")
    row = told.sql(
        "SELECT valid_from, valid_to, known_to, known_to_at, iso(valid_from), iso(valid_to)"
        " FROM beliefs WHERE claim = 'always'"
    ).rows[0]
    assert row == (times.NEG, times.POS, times.POS, times.POS, None, None)


def test_an_instant_of_knowledge_is_a_position(told: doxa.Ledger) -> None:
    first, second = (
        row[0] for row in told.sql("SELECT DISTINCT recorded_at FROM events ORDER BY 1")
    )
    found = told.sql("SELECT known(?), known(?), known(?)", [first - 1, first, second]).rows
    assert found == [(0, 1, 3)]


def test_what_was_believed_is_asked_by_position_or_by_instant_of_knowledge(
    told: doxa.Ledger,
) -> None:
    def standings(known_at: Any) -> list[str]:
        found = told.sql(
            "SELECT standing FROM believed($v, known_at := $k) ORDER BY position",
            {"v": NOON, "k": known_at},
        )
        return [standing for (standing,) in found]

    first, second = (told.view(valid_at=NOON, known_at=k).known_at for k in (1, 3))
    assert first is not None
    assert second is not None
    assert standings(1) == standings(first) == ["reported"]
    assert standings(3) == standings(second) == ["superseded", "reported"]
    assert standings(first - timedelta(microseconds=1)) == standings(0) == []
    assert standings(second + timedelta(days=900)) == ["superseded", "reported"]


def test_whole_sums_are_whole_numbers(told: doxa.Ledger) -> None:
    ((total, mean),) = told.sql("SELECT sum(position), avg(position) FROM events").rows
    assert (total, type(total), mean) == (6, int, 2.0)


def test_a_time_beyond_python_is_refused_where_it_is_fetched(told: doxa.Ledger) -> None:
    found = told.sql("SELECT TIMESTAMP 'infinity' AS t")
    with pytest.raises(doxa.CallerError, match="cast it to text"):
        found.rows  # noqa: B018


def test_data_frames_are_made_of_results_and_views(told: doxa.Ledger) -> None:
    found = told.sql(
        "SELECT claim, known_from FROM beliefs ORDER BY position, known_from, valid_to"
    )
    assert found.to_polars().rows() == found.rows
    assert list(found.to_pandas().itertuples(index=False, name=None)) == found.rows
    view = told.view(valid_at="2024-07-01")
    assert view.to_polars(standing="any")["id"].to_list() == ["home", "moved/replacement"]
    assert list(view.to_pandas()["object"]) == ['"Lisbon"']


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_data_frame_without_its_library_says_how_to_get_it(
    told: doxa.Ledger, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    result, view = told.sql("SELECT 1"), told.view(valid_at="2024-07-01")
    for made in (result, view):
        with pytest.raises(doxa.CallerError, match=rf"pip install 'doxa\[{name}\]'"):
            getattr(made, f"to_{name}")()


def test_hostile_text_comes_back_as_it_was_said(ledger: doxa.Ledger, tmp_path: Path) -> None:
    names = [
        text for text in HOSTILE if len(text) < 1_000 and not re.search(r"[\0\n\r\t\u202e]", text)
    ]
    for number, text in enumerate(HOSTILE):
        ledger.claim(f"s{number}", "says", text, id=f"c{number}", source="s")
    for number, text in enumerate(names):
        ledger.claim(text, "named", number, source=doxa.Source(text))
    said = ledger.sql("SELECT object FROM claims WHERE predicate = 'says' ORDER BY position").rows
    assert [json.loads(text) for (text,) in said] == HOSTILE
    named = ledger.sql(
        "SELECT subject FROM claims WHERE predicate = 'named' ORDER BY position"
    ).rows
    assert [text for (text,) in named] == names
    for text in names:
        assert len(ledger.sql("FROM claims WHERE subject = ?", [text])) == 1
        assert len(ledger.sql("FROM supports WHERE source = $name", {"name": text})) == 1
    ledger.export_parquet(tmp_path / "out")
    kept = pq.read_table(tmp_path / "out" / "claims.parquet").column("object").to_pylist()
    assert [json.loads(text) for text in kept[: len(HOSTILE)]] == HOSTILE


# ---------------------------------------------------------------- what is out of reach


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> doxa.Ledger:
    """A ledger whose tables are sealed files."""
    monkeypatch.setattr(serving, "PUBLISHED", 1)
    ledger = doxa.open(tmp_path / "ledger")
    ledger.claim("ada", "lives_in", "London", source="s")
    ledger.sql("SELECT 1")
    ledger.claim("ada", "lives_in", "Lisbon", source="s")
    return ledger


REFUSED = [
    "INSERT INTO tail.claims FROM tail.claims",
    "UPDATE tail.claims SET object = '1'",
    "DELETE FROM tail.claims",
    "WITH gone AS (DELETE FROM tail.claims RETURNING claim) SELECT * FROM gone",
    "WITH made AS (INSERT INTO tail.claims FROM tail.claims RETURNING claim) SELECT * FROM made",
    "WITH made AS (UPDATE tail.claims SET object = '1' RETURNING claim) SELECT * FROM made",
    "WITH out AS (COPY (SELECT 1) TO '{out}') SELECT * FROM out",
    "WITH out AS (COPY (SELECT 1) TO '{sealed}') SELECT * FROM out",
    "COPY (SELECT 1) TO '{out}'",
    "EXPORT DATABASE '{out}'",
    "CREATE TABLE other (a INT)",
    "CREATE OR REPLACE VIEW beliefs AS SELECT 1",
    "CREATE TEMP VIEW beliefs AS SELECT 1",
    "CREATE MACRO instant(x) AS 1",
    "DROP VIEW beliefs",
    "DROP TABLE tail.claims",
    "ALTER TABLE tail.claims ADD COLUMN a INT",
    "TRUNCATE tail.claims",
    "ATTACH '{out}'",
    "ATTACH '{log}' (TYPE sqlite)",
    "DETACH sealed0",
    "USE tail",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET memory_limit = '1TB'",
    "RESET memory_limit",
    "PRAGMA memory_limit = '1TB'",
    "SET VARIABLE x = 1",
    "CALL enable_logging(storage = 'file', storage_path = '{out}')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = '{out}')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT * FROM read_duckdb('{sealed}', table_name = 'claims')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('{secret}')",
    "SELECT * FROM 'https://example.org/x.parquet'",
    "SELECT getenv('HOME')",
    "SELECT * FROM arrow_scan(1, 1, 1)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM secret",
    "EXPLAIN ANALYZE DELETE FROM tail.claims",
    "PREPARE p AS SELECT 1",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "VACUUM",
    "SELECT 1; SELECT 2",
    "SELECT 1; DELETE FROM tail.claims",
    "PIVOT beliefs ON standing",
    "",
    "-- nothing",
    "SELEC 1",
    "SELECT nothing FROM beliefs",
    "SELECT * FROM nowhere",
    "SELECT CAST(object AS INT) FROM claims",
    "SELECT error('told')",
    "SELECT '\0",
    "SELECT \ud800",
]


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_reaches_nothing_but_the_tables(
    guarded: doxa.Ledger, tmp_path: Path, query: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep out")
    assert guarded.path is not None
    folder = guarded.path / "cache" / "beliefs"
    files = {path: path.read_bytes() for path in guarded.path.rglob("*.duckdb")}
    (sealed,) = [path for path in files][:1]
    before = guarded.sql("SELECT claim, object FROM claims ORDER BY position").rows
    text = query.format(
        secret=secret, out=tmp_path / "out", sealed=sealed, folder=folder,
        log=guarded.path / "log.sqlite",
    ) if "{" in query else query  # fmt: skip
    with pytest.raises(doxa.InvalidQuery):
        guarded.sql(text)
    assert not (tmp_path / "out").exists()
    assert {path: path.read_bytes() for path in files} == files
    assert guarded.sql("SELECT claim, object FROM claims ORDER BY position").rows == before
    guarded.close()


def test_a_query_that_is_no_text_is_refused(told: doxa.Ledger) -> None:
    wrong: Any
    for wrong in (None, 5, b"SELECT 1"):
        with pytest.raises(doxa.InvalidQuery):
            told.sql(wrong)


def test_no_variable_of_the_program_is_in_reach(told: doxa.Ledger) -> None:
    secret = told.view(valid_at="2024-07-01").to_arrow()
    with pytest.raises(doxa.InvalidQuery, match="secret"):
        told.sql("SELECT * FROM secret")
    assert secret.num_rows == 1


def test_a_query_that_goes_on_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(serving._CONFIG, "max_execution_time", 200)
    with doxa.open() as ledger, pytest.raises(doxa.InvalidQuery):
        ledger.sql(
            "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range > b.range"
        )


def test_a_query_that_needs_too_much_memory_is_refused_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(serving._CONFIG, "memory_limit", "50MB")
    with doxa.open() as ledger:
        with pytest.raises(doxa.InvalidQuery):
            ledger.sql("SELECT list(range::VARCHAR || repeat('x', 100)) FROM range(5000000)")
        assert ledger.sql("SELECT 1").rows == [(1,)]


def test_a_closed_ledger_answers_no_query() -> None:
    with doxa.open() as ledger:
        ledger.sql("SELECT 1")
    with pytest.raises(doxa.CallerError):
        ledger.sql("SELECT 1")


def test_what_explains_itself_is_a_query(told: doxa.Ledger) -> None:
    shown = {row[0] for row in told.sql("SHOW TABLES")}
    assert set(TABLES) <= shown
    assert ("claim", "VARCHAR") in [row[:2] for row in told.sql("DESCRIBE beliefs")]
    assert told.sql("FROM beliefs SELECT count(*)").rows == [(4,)]
    wide = told.sql(
        "PIVOT events ON type IN ('claim', 'correction') USING count(*) GROUP BY workspace"
    )
    assert wide.rows == [("", 2, 1)]


# ---------------------------------------------------------------- Parquet


def test_an_export_is_what_the_tables_hold(told: doxa.Ledger, tmp_path: Path) -> None:
    told.cite("words", claim="home", id="q")
    parts: list[tuple[int, int | None]] = []
    rows = told.export_parquet(tmp_path / "out", progress=lambda *part: parts.append(part))
    assert parts[-1] == (len(TABLES), len(TABLES))
    for name, table in TABLES.items():
        found = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        assert found.column_names == table.schema.names
        assert found.num_rows == rows[name]
        asked = told.sql(f"FROM {name}").to_arrow()
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, asked.to_pylist()))
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    assert (about["position"], about["rows"]) == (told.revision, rows)
    assert about["chain"] == told.verify().chain


def test_the_query_of_an_exports_readme_runs_there(told: doxa.Ledger, tmp_path: Path) -> None:
    told.export_parquet(tmp_path)
    query = re.search(r"```sql\n(.*?)```", (tmp_path / "README.md").read_text("utf-8"), re.S)
    assert query is not None
    now = str(told.sql("SELECT max(recorded_at) FROM events").rows[0][0])
    text = query[1].replace("1717977600000000", now).replace("'beliefs", f"'{tmp_path}/beliefs")
    with duckdb.connect() as con:
        assert con.execute(text).fetchall() == [("ada", "lives_in", '"Lisbon"', "reported")]


def test_an_export_replaces_an_earlier_one_and_nothing_else(
    told: doxa.Ledger, tmp_path: Path
) -> None:
    target = tmp_path / "deep" / "out"
    told.export_parquet(target)
    told.claim("eve", "is", "here", source="s")
    assert told.export_parquet(target)["claims"] == 3
    (target / "notes.txt").write_text("mine")
    with pytest.raises(doxa.CallerError, match=r"holds notes\.txt"):
        told.export_parquet(target)
    assert (target / "notes.txt").read_text() == "mine"
    (target / "notes.txt").unlink()
    (target / "about.json").write_text("{}")
    with pytest.raises(doxa.CallerError, match="no earlier export"):
        told.export_parquet(target)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(doxa.CallerError):
        told.export_parquet(file)
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_an_export_that_fails_leaves_what_was_there(
    told: doxa.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told.export_parquet(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_write", full)
    with pytest.raises(doxa.StorageError, match="No space left"):
        told.export_parquet(tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_ledger_has_empty_tables(ledger: doxa.Ledger, tmp_path: Path) -> None:
    assert {len(ledger.sql(f"FROM {name}")) for name in TABLES} == {0}
    assert set(ledger.export_parquet(tmp_path / "out").values()) == {0}
    assert pq.read_table(tmp_path / "out" / "beliefs.parquet").num_rows == 0


# ---------------------------------------------------------------- the command


@pytest.fixture
def path(tmp_path: Path) -> str:
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="s")
    return str(tmp_path / "ledger")


def run(*words: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(words), input=stdin)


def test_a_query_is_shown_as_a_table_as_json_and_as_csv(path: str) -> None:
    query = "SELECT claim, [1, 2] AS list, NULL AS nothing, 'a,\"b' AS text FROM beliefs"
    shown = run("sql", path, query)
    assert shown.stdout.splitlines()[0].split() == ["claim", "list", "nothing", "text"]
    (line,) = run("sql", path, query, "--json").stdout.splitlines()
    assert json.loads(line) == {"claim": "home", "list": [1, 2], "nothing": None, "text": 'a,"b'}
    rows = list(csv.reader(io.StringIO(run("sql", path, query, "--csv").stdout)))
    assert rows == [["claim", "list", "nothing", "text"], ["home", "[1, 2]", "", 'a,"b']]


def test_a_query_is_read_from_stdin_and_takes_parameters(path: str) -> None:
    shown = run("sql", path, "-", "--params", "[1, 2]", "--csv", stdin="SELECT ? + ? AS sum")
    assert shown.stdout == "sum\n3\n"
    shown = run("sql", path, "SELECT $a AS a", "--params", '{"a": "x"}', "--csv")
    assert shown.stdout == "a\nx\n"


def test_rows_are_written_into_a_parquet_file(path: str, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    assert run("sql", path, "SELECT claim FROM beliefs", "--parquet", str(out)).exit_code == 0
    assert pq.read_table(out).to_pylist() == [{"claim": "home"}]
    told = run("sql", path, "SELECT 1", "--parquet", str(tmp_path / "no" / "such"))
    assert told.exit_code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["SELECT nothing FROM beliefs"], "invalid_query"),
        (["DELETE FROM tail.claims"], "invalid_query"),
        (["SELECT 1", "--csv", "--parquet", "x"], "caller"),
        (["SELECT 1", "--params", "{"], "caller"),
        (["SELECT 1", "--params", "5"], "caller"),
    ],
)
def test_a_query_that_can_not_be_run_is_the_callers_mistake(
    path: str, words: list[str], code: str
) -> None:
    told = run("sql", path, *words)
    assert told.exit_code == 2
    assert told.stderr.startswith(f"doxa: {code}: ")


def test_what_json_has_no_form_for_is_text(path: str) -> None:
    query = (
        "SELECT 'nan'::DOUBLE AS n, 1.50::DECIMAL(4, 2) AS d, DATE '2024-07-01' AS day,"
        " 'ab'::BLOB AS b, {'x': [1.5::DOUBLE]} AS s, make_timestamp(0) AS t,"
        " 170141183460469231731687303715884105727 AS big"
    )
    assert json.loads(run("sql", path, query, "--json").stdout) == {
        "n": "nan", "d": "1.50", "day": "2024-07-01", "b": "6162", "s": {"x": [1.5]},
        "t": "1970-01-01T00:00:00", "big": 170141183460469231731687303715884105727,
    }  # fmt: skip


def test_tables_are_exported_by_the_command(path: str, tmp_path: Path) -> None:
    told = run("export", path, "--parquet", str(tmp_path / "out"), "--json")
    assert json.loads(told.stdout)["rows"]["claims"] == 1
    assert run("export", path, "--parquet", str(tmp_path)).exit_code == 2
    assert run("export", path, "--parquet", str(tmp_path / "out"), "--since", "1").exit_code == 2


def test_a_query_makes_no_ledger(tmp_path: Path) -> None:
    make: Callable[[], Any] = lambda: run("sql", str(tmp_path / "none"), "SELECT 1")  # noqa: E731
    assert make().exit_code == 2
    assert not (tmp_path / "none").exists()
