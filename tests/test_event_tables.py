"""Events as tables: every key has a column, and what goes out comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

import doxa
from doxa.adapters.exchange import export_events
from doxa.adapters.tables import (
    SCHEMA,
    events_reader,
    events_to_arrow,
    exchange_lines,
    import_table,
    is_parquet,
    write_parquet,
)
from doxa.adapters.tables.schema import COLUMNS, OPEN, POSITION
from doxa.ledger import Ledger
from tests.compactions import Corrector
from tests.histories import Author
from tests.test_exchange_docs import TABLES
from tests.test_exchange_export import streams

T1, T2 = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00.000001Z"
Frame = Callable[[pa.Table], Any]
FRAMES: dict[str, Frame] = {
    "arrow": lambda table: table,
    "a batch": lambda table: table.combine_chunks().to_batches()[0],
    "a reader": lambda table: table.to_reader(max_chunksize=3),
    "pandas": lambda table: table.to_pandas(),
    "pandas on arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas that may be missing": lambda table: table.to_pandas().convert_dtypes(),
    "pandas of polars": lambda table: pl.from_arrow(table).to_pandas(),
    "polars": pl.from_arrow,
    "duckdb": duckdb.from_arrow,
}


def _by_pandas(table: pa.Table, file: Path) -> Any:
    table.to_pandas().to_parquet(file)
    return pd.read_parquet(file, dtype_backend="numpy_nullable")


def _by_polars(table: pa.Table, file: Path) -> Any:
    pl.from_arrow(table).write_parquet(file)  # type: ignore[union-attr]
    return file


def _by_duckdb(table: pa.Table, file: Path) -> Any:
    duckdb.from_arrow(table).write_parquet(str(file))
    return duckdb.read_parquet(str(file))


def _without_types(table: pa.Table, file: Path) -> Any:
    pq.write_table(table, file, version="1.0", store_schema=False, row_group_size=3)
    return str(file)


def _by_feather(table: pa.Table, file: Path) -> Any:
    feather.write_feather(table, file)
    return pl.read_ipc(file)


FILES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": _by_pandas,
    "polars": _by_polars,
    "duckdb": _by_duckdb,
    "without types": _without_types,
    "feather": _by_feather,
}


def claim(id: str = "a", at: str = T1, **more: Any) -> dict[str, Any]:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": 1}
    return fields | {"source": "s", "recorded_at": at} | more


def check_round_trip(ledger: Ledger, frame: Frame = FRAMES["arrow"], anew: bool = True) -> None:
    """Export → table → lines are the lines; → import → export too."""
    lines = list(export_events(ledger))
    table = events_to_arrow(ledger)
    assert table.schema == SCHEMA
    table.validate(full=True)
    assert list(exchange_lines(frame(table))) == lines
    if not anew:  # what was compacted comes back nowhere
        return
    with doxa.open() as other:
        report = import_table(other, frame(table), strict=True)
        assert (report.events, report.repeated) == (len(lines), 0)
        assert list(export_events(other)) == lines
        again = import_table(other, frame(table))
        assert (again.events, again.repeated, again.set_aside) == (0, len(lines), ())


def history(seed: int, author: type[Author] = Author, commits: int = 25) -> Ledger:
    ledger, made = doxa.open(), author(Random(seed))
    for _ in range(commits):
        commit = made.commit()
        try:
            ledger.append(commit)
        except doxa.DoxaError:
            continue
        made.learn(commit)
    return ledger


# ---------------------------------------------------------------- the columns


def test_every_key_of_the_exchange_form_has_a_column() -> None:
    keys = {key for listed in TABLES.values() for key in listed} - set(TABLES["References"])
    told = {"first", "last", "count", "digest"}  # of a stretch that was compacted
    assert keys | told | {"id", POSITION, *OPEN.values()} == set(COLUMNS)
    assert set(SCHEMA.names) == set(COLUMNS) - {"valid_until"}


def test_the_page_lists_every_column_with_its_type() -> None:
    page = (Path(__file__).parents[1] / "docs" / "tables.md").read_text("utf-8")
    for name in SCHEMA.names:
        assert f"`{name}`" in page, name


# ---------------------------------------------------------------- round trips


@given(streams(), st.sampled_from(sorted(FRAMES)))
def test_export_table_import_export_is_identical(lines: list[dict[str, Any]], frame: str) -> None:
    with doxa.open() as ledger:
        ledger.import_events(lines)
        if ledger.revision:
            check_round_trip(ledger, FRAMES[frame])


@given(st.integers(0, 2**32), st.sampled_from(sorted(FRAMES)))
def test_any_history_comes_back_as_it_was(seed: int, frame: str) -> None:
    with history(seed) as ledger:
        if ledger.revision:
            check_round_trip(ledger, FRAMES[frame])


@given(st.integers(0, 2**32))
def test_erased_events_come_back_as_stubs(seed: int) -> None:
    with history(seed) as ledger:
        random = Random(seed)
        events = [json.loads(line) for line in export_events(ledger)]
        known = [e for e in events if e["event"] in ("claim", "summary", "citation")]
        erased = 0
        for one in random.sample(known, min(3, len(known))):
            place = {"workspace": one["workspace"]}
            with suppress(doxa.CallerError):  # what is pinned stays
                ledger.archive(one["id"], **place)
                erased += bool(ledger.purge(one["id"], **place).erased)
        if erased:
            kinds = events_to_arrow(ledger).column("event").to_pylist()
            assert "redacted" in kinds
            check_round_trip(ledger)


@pytest.mark.parametrize("seed", range(1, 8))
def test_what_was_compacted_is_a_row_a_stretch(seed: int) -> None:
    with history(seed, Corrector, 60) as ledger:
        ledger.compact(versions=1)
        table = events_to_arrow(ledger)
        gone = table.filter(pa.compute.equal(table["event"], "compacted"))
        assert gone.num_rows
        assert gone["digest"].null_count == 0
        check_round_trip(ledger, anew=False)


def test_an_empty_ledger_is_an_empty_table(ledger: Ledger, tmp_path: Path) -> None:
    table = events_to_arrow(ledger)
    assert (table.schema, table.num_rows) == (SCHEMA, 0)
    assert write_parquet(ledger, tmp_path / "none.parquet") == (0, 0)
    assert import_table(ledger, tmp_path / "none.parquet").events == 0
    assert import_table(ledger, table).events == 0


SHARED = {"workspace": "", "id": "b"}
SEEN = {"id": "s", "locator": "l", "quote": "", "digest": "d", "origin": "o"}
SAID_BY_POLICIES: list[dict[str, Any]] = [
    {
        "rejected": "ab" * 32,
        "predicate": "q",
        "until": "2030-01-01",
        "evidence": "e",
        "author": "me",
    },
    {"overrides": "p0", "of": "a", "author": "me"},
    {"blocked": {"workspace": "", "id": "p0"}, "of": "a"},
    {"single_valued": "p"},
    {"contradicts": ["a", "b"]},
    {"verified": "a"},
    {"pinned": "a"},
    {"calibrated": {"embedder": "e", "x": [1, 1.0, None, {"y": "é"}]}},
    {"scored": "a", "importance": 1},
    {"scored": "b", "importance": 0.25},
    {"expires": "m1", "at": "2030-01-01"},
    {"decays": "fact"},
    {"decays": "guess", "days": 7},
    {"archived": ["b", "m1"]},
    {"restored": ["b"]},
]
EVERYTHING: list[dict[str, Any]] = [
    claim("a", object=None),
    claim("b", object={"é": [1, 1.0, "null", None, True, -0.0, 10**22]}, text="", kind="hypothesis",
          perspective="me", valid_until="2024-06-30", source=SEEN | {"observed_at": "2024-01-01"},
          recall_when=["one", "é"], assumed="always", stated_at="2023-01-01"),
    claim("a", workspace="w", source=None, because=[SHARED], valid_from="0001-01-01",
          valid_to="9999-12-31"),
    claim("c", workspace="w", object="", source=None, because=["a", SHARED]),
    {"event": "support", "id": "s1", "claim": "b", "source": "t", "stance": "refutes"},
    {"event": "support", "id": "s2", "claim": "b", "because": ["a"], "valid_until": "2024-03-01"},
    {"event": "correction", "id": "k1", "corrects": "a", "by": "b", "valid_from": None,
     "valid_to": "2024-01-02", "source": SEEN, "reason": ""},
    {"event": "correction", "id": "k2", "unresolved": "U", "candidates": ["a", "b"]},
    {"event": "correction", "id": "k3", "corrects": "a", "resolves": "k2"},
    {"event": "withdrawal", "id": "w1", "target": "s1", "source": SEEN, "reason": "r"},
    {"event": "withdrawal", "id": "w2", "source": "t", "whole_source": True, "asked_by": SEEN,
     "valid_from": "2024-01-01"},
    {"event": "citation", "id": "q1", "text": "t", "supports": ["s1"], "sources": ["s"],
     "binding": "snapshot"},
    {"event": "citation", "id": "q2", "text": "t", "supports": ["s1"], "binding": "snapshot",
     "subjects": ["x"], "valid_at": "2024-01-01"},
    {"event": "summary", "id": "m1", "text": "t", "citations": ["q1"], "facts": ["a"]},
    {"event": "summary", "id": "m2", "text": "t", "binding": "snapshot", "subjects": []},
    *(
        {"event": "policy", "id": f"p{n}", "reason": "why"} | policy
        for n, policy in enumerate(SAID_BY_POLICIES)
    ),
]  # fmt: skip


@pytest.fixture
def everything(ledger: Ledger) -> Ledger:
    """A ledger with every key that an event may have."""
    lines = [
        each | {"recorded_at": f"2024-01-02T00:00:{n:02}Z"} for n, each in enumerate(EVERYTHING)
    ]
    assert ledger.import_events(lines, strict=True).events == len(lines)
    said = {key for line in export_events(ledger) for key in json.loads(line)}
    assert set(COLUMNS) - said == {
        *("position", "open_from", "open_to", "valid_until"),  # of tables alone, or resolved
        *("redacted", "compacted", "first", "last", "count", "digest"),
    }
    return ledger


@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_every_key_comes_back_through_every_library(everything: Ledger, frame: str) -> None:
    check_round_trip(everything, FRAMES[frame])


@pytest.mark.parametrize("kind", sorted(FILES))
def test_every_key_comes_back_through_the_files_of_others(
    everything: Ledger, kind: str, tmp_path: Path
) -> None:
    check_round_trip(everything, lambda table: FILES[kind](table, tmp_path / "file"))


@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_every_row_comes_back_alone_and_no_rows_are_none(everything: Ledger, frame: str) -> None:
    table, lines = events_to_arrow(everything), list(export_events(everything))
    for at, line in enumerate(lines):  # all other columns are empty
        assert list(exchange_lines(FRAMES[frame](table.slice(at, 1)))) == [line]
    if frame != "a batch":
        assert list(exchange_lines(FRAMES[frame](table.slice(3, 0)))) == []


def test_left_out_is_told_from_open_and_from_null(ledger: Ledger) -> None:
    correction = {"event": "correction", "unresolved": "Z", "recorded_at": T2}
    ledger.import_events(
        [
            claim("a", object=None),
            correction | {"id": "left out"},
            correction | {"id": "open", "valid_from": None, "valid_to": None},
            correction | {"id": "half", "valid_from": None, "valid_to": "2024-07-01"},
        ]
    )
    rows = events_to_arrow(ledger).to_pylist()
    assert [(row["open_from"], row["open_to"]) for row in rows] == [
        (True, True),
        (None, None),
        (True, True),
        (True, False),
    ]
    assert rows[0]["object"] == "null"
    check_round_trip(ledger)


def test_times_are_instants_and_sources_structs(ledger: Ledger) -> None:
    source = {"id": "letter", "observed_at": "2024-03-05"}
    ledger.import_events([claim("a", T2, source=source, workspace="w", valid_to="9999-12-31")])
    (row,) = events_to_arrow(ledger).to_pylist()
    assert row["recorded_at"].isoformat() == "2024-01-03T00:00:00.000001+00:00"
    assert row["source"]["observed_at"].isoformat() == "2024-03-05T00:00:00+00:00"
    assert (row["position"], row["object"], row["because"]) == (1, "1", None)
    check_round_trip(ledger)


def test_a_shared_claim_is_named_with_its_workspace(ledger: Ledger) -> None:
    ledger.import_events(
        [
            claim("a"),
            claim("b", workspace="w"),
            claim("c", workspace="w", source=None, because=["b", {"workspace": "", "id": "a"}]),
        ]
    )
    assert events_to_arrow(ledger).to_pylist()[2]["because"] == [
        {"workspace": None, "id": "b"},
        {"workspace": "", "id": "a"},
    ]
    check_round_trip(ledger)


def test_hostile_objects_come_back_to_the_byte(ledger: Ledger) -> None:
    hostile = [
        '1,"id":"other"', "\x00\u2028\U0001f600", 2**400, -0.0, 1e308, 5e-324, True, None, [], {},
        {"": [{"a": None}]}, "NaN", "null", " ", {"id": "x", "workspace": ""}, "'; DROP TABLE",
    ]  # fmt: skip
    ledger.import_events([claim(str(n), object=value) for n, value in enumerate(hostile)])
    for frame in FRAMES.values():
        check_round_trip(ledger, frame)


def test_a_part_of_the_log_goes_out_by_position(ledger: Ledger) -> None:
    ledger.import_events([claim(f"c{n}", workspace="w" if n % 2 else "") for n in range(9)])
    assert events_to_arrow(ledger, since=4, limit=3)["position"].to_pylist() == [5, 6, 7]
    assert events_to_arrow(ledger, workspace="w")["id"].to_pylist() == ["c1", "c3", "c5", "c7"]
    with pytest.raises(doxa.CallerError, match="a cursor is a position"):
        events_to_arrow(ledger, since=-1)
    reader = events_reader(ledger)
    ledger.import_events([claim("late", T2)])
    assert sum(batch.num_rows for batch in reader) in (9, 10)


# ---------------------------------------------------------------- Parquet


def test_a_parquet_file_carries_a_ledger(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    with history(7, commits=60) as ledger, doxa.open(tmp_path / "other") as other:
        done = write_parquet(ledger, file)
        assert done == (ledger.revision, ledger.revision)
        assert is_parquet(file)
        assert pq.read_schema(file).equals(SCHEMA)
        assert import_table(other, file).events == ledger.revision
        assert list(export_events(other)) == list(export_events(ledger))
        assert list(exchange_lines(file)) == list(export_events(ledger))
        assert import_table(other, str(file)).repeated == ledger.revision
        assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []


def test_a_parquet_file_is_there_whole_or_not_at_all(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    ledger.import_events([claim()])
    write_parquet(ledger, file)
    before = file.read_bytes()
    with pytest.raises(doxa.CallerError, match="is a folder"):
        write_parquet(ledger, tmp_path)
    with pytest.raises(doxa.StorageError, match="can't be written"):
        write_parquet(ledger, tmp_path / "no" / "where.parquet")
    told: list[tuple[int, int | None]] = []

    def breaks(done: int, total: int | None) -> None:
        told.append((done, total))
        raise KeyboardInterrupt

    ledger.import_events([claim(f"c{n}", T2) for n in range(70_000)])
    with pytest.raises(KeyboardInterrupt):
        write_parquet(ledger, file, progress=breaks)
    assert told == [(65_536, 70_001)]
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["events.parquet"]


def test_a_damaged_parquet_file_is_named_and_loses_nothing(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    ledger.import_events([claim(f"c{n}", T1) for n in range(20_000)])
    write_parquet(ledger, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with doxa.open() as other:
        with pytest.raises(doxa.CallerError, match="is no Parquet file that can be read"):
            import_table(other, file)
        with pytest.raises(doxa.CallerError, match="there is no file"):
            import_table(other, tmp_path / "none.parquet")
        with pytest.raises(doxa.CallerError, match="import_table reads its rows"):
            other.import_events(file)
        assert other.revision == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notes.csv", "give the frame: pandas.read_csv"),
        ("notes.TSV", "give the frame: pandas.read_table"),
        ("notes.jsonl", "import_events"),
        ("notes", "give a Parquet file, a data frame or an Arrow table"),
    ],
)
def test_a_file_of_another_kind_is_told_how_to_be_read(
    ledger: Ledger, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / name).write_text("subject,predicate,object\na,b,c\n")
    with pytest.raises(doxa.CallerError, match="is no Parquet file;") as refused:
        import_table(ledger, tmp_path / name)
    assert said in str(refused.value)
    assert "magic" not in str(refused.value)


def test_an_unknown_column_is_told_what_it_was_meant_for(ledger: Ledger) -> None:
    row = {"subject": "a", "predicate": "p", "object": 1, "Valid From": "2024-01-01", "colour": "x"}
    with pytest.raises(doxa.CallerError) as refused:
        import_table(ledger, pa.Table.from_pylist([row]))
    said = str(refused.value)
    assert said.startswith(
        "'Valid From', 'colour' are no keys of an event; 'Valid From' may be valid_"
    )
    assert "'colour' may be" not in said
    assert "Claims need subject, predicate and object" in said
    assert len(said) < 400
    with pytest.raises(doxa.CallerError, match=f"'{'x' * 79} is no key"):
        import_table(ledger, pa.table({"x" * 1_000_000: [1]}))


def test_an_import_that_was_broken_off_is_resumed(tmp_path: Path) -> None:
    rows = [claim(f"c{n}", f"2024-01-01T00:00:00.{n:06}Z") for n in range(12_000)]
    table = pa.Table.from_pylist(rows)

    def breaks(done: int, total: int | None) -> None:
        assert total == 12_000
        raise KeyboardInterrupt

    with doxa.open(tmp_path / "ledger") as ledger:
        with pytest.raises(KeyboardInterrupt):
            import_table(ledger, table, progress=breaks)
        assert 0 < ledger.revision < 12_000
        before = ledger.revision
        report = import_table(ledger, table)
        assert (report.events, report.repeated) == (12_000 - before, before)
