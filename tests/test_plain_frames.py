"""Tables that people have: columns of their own types, most keys left out, something wrong."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import export_events, set_aside
from doxa.adapters.tables import exchange_lines, import_table
from doxa.ledger import Ledger

WHO = {"subject": ["ada"], "predicate": ["p"]}
NOW = "2024-07-01"


def frame(**columns: Any) -> pa.Table:
    size = max(len(column) for column in columns.values())
    return pa.table({**{key: value * size for key, value in WHO.items()}, **columns})


def fields(table: Any, **options: Any) -> list[dict[str, Any]]:
    """What the rows of a table say."""
    return [json.loads(line) for line in exchange_lines(table, **options)]


def objects(*values: Any, type: Any = None, **options: Any) -> list[Any]:
    said = fields(frame(object=pa.array(values, type)), **options)
    return [each.get("object", "left out") for each in said]


def problem(table: Any, **options: Any) -> str:
    """Why the only row of a table is set aside."""
    with doxa.open() as ledger:
        report = import_table(ledger, table, **options)
        (kept,) = report.set_aside
        assert report.events == 0
        assert set_aside(ledger) == [kept]
        with pytest.raises(doxa.InvalidEvent):
            import_table(ledger, table, strict=True, **options)
        return kept.reason


# ---------------------------------------------------------------- plain frames


def test_a_frame_of_three_columns_is_claims(ledger: Ledger) -> None:
    table = pd.DataFrame(
        {"subject": ["ada", "bob"], "predicate": "lives_in", "object": ["London", "Rome"]}
    )
    assert import_table(ledger, table.assign(source="register")).events == 2
    assert ledger.view(valid_at=NOW).value("bob", "lives_in") == "Rome"


def test_a_claim_without_an_id_has_the_same_one_each_time(ledger: Ledger) -> None:
    table = pl.DataFrame({**WHO, "object": [1], "source": ["s"], "valid_from": [date(2024, 3, 1)]})
    assert import_table(ledger, table).events == 1
    assert import_table(ledger, table).repeated == 1
    text = table.with_columns(valid_from=pl.lit("2024-03-01T00:00:00Z"), kind=pl.lit("fact"))
    assert import_table(ledger, text).repeated == 1
    assert import_table(ledger, table.with_columns(object=1.0)).repeated == 1
    assert import_table(ledger, table.with_columns(object=True)).events == 1
    assert import_table(ledger, table.with_columns(source=pl.lit("t"))).events == 1
    assert import_table(ledger, table, workspace="w").events == 1


def test_a_claim_that_was_recorded_again_later_is_another(ledger: Ledger) -> None:
    times = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2)]
    table = frame(object=[1, 1], recorded_at=pa.array(times), source=["s", "s"])
    assert import_table(ledger, table).events == 2
    assert import_table(ledger, table).repeated == 2


def test_an_event_of_another_kind_needs_its_id() -> None:
    table = pa.table({"event": ["withdrawal"], "target": ["a"], "id": pa.nulls(1)})
    assert "id is missing" in problem(table)


def test_rows_of_all_kinds_are_told_apart_by_a_column(ledger: Ledger) -> None:
    table = pd.DataFrame(
        [
            {
                "event": "claim",
                "id": "a",
                "subject": "x",
                "predicate": "p",
                "object": "[1]",
                "source": "s",
            },
            {"event": "support", "id": "b", "claim": "a", "source": "t"},
            {"event": "withdrawal", "id": "c", "target": "b", "source": "u"},
            {"event": "summary", "id": "d", "text": "t", "facts": ["a"], "sources": ["s"]},
        ]
    )
    assert import_table(ledger, table).events == 4
    assert ledger.view(valid_at=NOW).value("x", "p") == [1]


def test_what_a_column_may_be_instead_is_said(ledger: Ledger) -> None:
    naive = [pd.Timestamp("2024-03-01")]
    refused: list[tuple[dict[str, Any], str]] = [
        (
            {"valid_from": naive},
            "valid_from is timestamp.*no time zone: say which, with tz_localize",
        ),
        ({"valid_from": [20240301]}, "valid_from is int64; it is timestamps with a time zone"),
        ({"subject": [7]}, "subject is int64; it is text: cast it"),
        ({"id": [7]}, "id is int64; it is text: cast it"),
        ({"because": ["a"]}, "because is .*string.*lists of ids"),
        ({"whole_source": ["yes"]}, "it is booleans: cast it"),
        ({"source": [{"name": "s"}]}, "source is struct.*structs of id, locator"),
        ({"object": [b"x"]}, "object is binary; it is text, numbers"),
        ({"object": [pd.Timedelta(1, "s")]}, "object is duration"),
        ({"objekt": [1]}, "'objekt' is no key of an event"),
    ]
    for columns, why in refused:
        table = pd.DataFrame({**WHO, "object": [1], **columns})
        with pytest.raises(doxa.CallerError, match=why):
            import_table(ledger, table)
    with pytest.raises(doxa.CallerError, match="has no column object"):
        import_table(ledger, pa.table(WHO))
    with pytest.raises(doxa.CallerError, match="two columns 'object'"):
        import_table(ledger, pa.Table.from_arrays([pa.array([1])] * 2, ["object", "object"]))
    assert ledger.revision == 0


def test_what_is_no_table_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    for no_table in (None, 1, [{"subject": "x"}], {"subject": ["x"]}, pa.array([1])):
        with pytest.raises(doxa.CallerError, match=r"is no (Arrow )?table"):
            import_table(ledger, no_table)
    mixed = pd.DataFrame({"subject": "x", "predicate": "p", "object": ["a", 1]})
    with pytest.raises(doxa.CallerError, match="for mixed objects JSON text, with json_objects"):
        import_table(ledger, mixed)
    mixed["object"] = mixed["object"].map(json.dumps)
    assert [each["object"] for each in fields(mixed, json_objects=True)] == ["a", 1]
    csv = tmp_path / "claims.csv"
    csv.write_text("subject,predicate,object\nx,p,1\n")
    with pytest.raises(doxa.CallerError, match="is no Parquet file"):
        import_table(ledger, csv)
    with pytest.raises(doxa.CallerError, match="is a folder"):
        import_table(ledger, tmp_path)


# ---------------------------------------------------------------- missing values


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_an_empty_cell_is_left_out_however_it_is_written(ledger: Ledger, nothing: Any) -> None:
    table = pd.DataFrame(
        {
            **WHO,
            "object": ["x"],
            "source": ["s"],
            "valid_to": [nothing],
            "text": [nothing],
            "because": [nothing],
        }
    )
    assert import_table(ledger, table).events == 1
    (line,) = map(json.loads, export_events(ledger))
    assert (line["valid_to"], line["text"]) == (None, None)


def test_an_object_that_is_missing_is_no_null() -> None:
    assert "object is missing" in problem(pd.DataFrame({**WHO, "object": [np.nan]}))
    assert "object is missing" in problem(frame(object=pa.nulls(1)))
    assert objects("null", json_objects=True) == [None]
    assert objects("null") == ["null"]


def test_columns_of_missing_numbers_say_nothing_whatever_their_name(ledger: Ledger) -> None:
    table = pl.DataFrame({**WHO, "object": [1], "source": ["s"], "valid_from": [float("nan")]})
    assert import_table(ledger, table).events == 1


def test_a_bound_that_is_lost_is_told() -> None:
    lost = frame(object=["x"], open_from=[False])
    assert "open_from is false, but valid_from is empty" in problem(lost)
    both = frame(object=["x"], open_to=[True], valid_to=["2024-01-01"])
    assert "open_to is true beside the valid_to" in problem(both)


# ---------------------------------------------------------------- objects


def test_native_objects_are_json_values() -> None:
    assert objects(1, 2**63 - 1) == [1, 2**63 - 1]
    assert objects(2**64 - 1, type=pa.uint64()) == [2**64 - 1]
    assert objects(0.5, 1e300) == [0.5, 1e300]
    assert objects(0.1, type=pa.float32()) == [0.10000000149011612]
    assert objects(True, False) == [True, False]
    assert objects("London", "1", "null", '{"a":1}') == ["London", "1", "null", '{"a":1}']
    assert objects(date(2024, 3, 1)) == ["2024-03-01"]
    assert objects(time(9, 30)) == ["09:30:00"]
    aware = pd.Timestamp("2024-03-01T09:00", tz="Asia/Tokyo")
    assert objects(aware, type=pa.timestamp("ns", "Asia/Tokyo")) == ["2024-03-01T00:00:00Z"]
    assert objects(datetime(2024, 3, 1, 9)) == ["2024-03-01T09:00:00"]
    assert objects(Decimal("10.00"), Decimal("1.25")) == [10, 1.25]
    assert objects(Decimal(10**70), type=pa.decimal256(76)) == [10**70]
    assert objects(["a", None], []) == [["a", None], []]
    assert objects({"a": 1, "b": None}) == [{"a": 1, "b": None}]
    assert objects([{"at": date(2024, 3, 1)}]) == [[{"at": "2024-03-01"}]]


def test_an_object_that_json_does_not_have_is_set_aside() -> None:
    assert "object holds nan, which is no number that JSON has" in problem(
        pl.DataFrame({**WHO, "object": [float("nan")]})
    )
    assert "object holds inf, which is no number that" in problem(frame(object=[[float("inf")]]))
    far = pa.array([Decimal("0.12345678901234567890")])
    assert "holds 0.12345678901234567890, which has more digits" in problem(frame(object=far))
    nanos = pa.array([1], pa.timestamp("ns", "UTC"))
    assert "digits beyond the microsecond" in problem(frame(object=nanos))
    assert "digits beyond the microsecond" in problem(
        frame(object=pa.array([[1]], pa.list_(pa.timestamp("ns", "UTC"))))
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("London", "is no JSON text"),
        ('1,"id":"z"', "is no JSON text"),
        ("NaN", "is no JSON text"),
        ("1e999", "too large"),
        ('{"a":1,"a":2}', "there twice"),
        ("[" * 100_000, "nested too deep"),
        ("[" * 200 + "]" * 200, "nested more than 100 deep"),
        ("9" * 5_000, "is no JSON text"),
        ('"\\ud800"', "half of a surrogate pair"),
        ("", "is no JSON text"),
    ],
)
def test_json_text_is_read_as_strictly_as_a_line(text: str, why: str) -> None:
    assert why in problem(frame(object=[text]), json_objects=True)


def test_a_column_of_json_says_so_itself(ledger: Ledger) -> None:
    table = frame(object=pa.array(['{"a":[1]}'], pa.json_()))
    assert fields(table)[0]["object"] == {"a": [1]}
    rows = duckdb.sql("SELECT 'x' AS subject, 'p' AS predicate, 42 AS object")
    assert fields(rows)[0]["object"] == 42


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([date(2024, 3, 1)]),
        pa.array([date(2024, 3, 1)], pa.date64()),
        pa.array(["2024-03-01"]),
        pa.array(["2024-03-01T09:00:00+09:00"], pa.large_string()),
        pa.array(["2024-03-01"], pa.string_view()),
        pa.array(["2024-03-01"]).dictionary_encode(),
        pa.array([1709251200], pa.timestamp("s", "UTC")),
        pa.array([1709251200_000], pa.timestamp("ms", "Europe/Vienna")),
        pa.array([1709251200_000_000], pa.timestamp("us", "+09:00")),
        pa.array([1709251200_000_000_000], pa.timestamp("ns", "America/New_York")),
    ],
)
def test_times_of_every_type_are_the_same_instant(cells: pa.Array) -> None:
    (said,) = fields(frame(object=["x"], valid_from=cells))
    assert said["valid_from"] == "2024-03-01T00:00:00Z"


def test_the_last_day_may_be_given_instead(ledger: Ledger) -> None:
    for last in (pa.array([date(2024, 6, 30)]), pa.array(["2024-06-30"])):
        import_table(ledger, frame(object=["x"], valid_until=last, source=["s"]))
    (line,) = map(json.loads, export_events(ledger))
    assert line["valid_to"] == "2024-07-01T00:00:00Z"


def test_a_time_that_can_not_be_used_is_set_aside_with_the_reason() -> None:
    far = pa.array([2**62], pa.timestamp("s", "UTC"))
    assert "from 1970, outside the years 1 to 9999; an open end is an empty cell" in problem(
        frame(object=["x"], valid_from=far)
    )
    for_ever = duckdb.sql(
        "SELECT 'x' AS subject, 'p' AS predicate, 1 AS object, 'infinity'::TIMESTAMPTZ AS valid_to"
    )
    assert "an open end is an empty cell" in problem(for_ever)
    for nanos, told in ((1, "1970-01-01T00:00:00.000000001Z"), (-1, "1969-12-31T23:59:59.9999")):
        column = pa.array([nanos], pa.timestamp("ns", "UTC"))
        why = problem(frame(object=["x"], valid_from=column))
        assert f"valid_from holds {told}" in why
        assert "with digits beyond the microsecond: round it" in why
    nanos = pa.array([1], pa.timestamp("ns", "UTC"))
    half = pa.array([86_400_001], pa.date64())
    assert "holds 1970-01-02T00:00:00.001000Z, which is no whole day" in problem(
        frame(object=["x"], valid_until=half)
    )
    assert fields(frame(object=["x"], valid_from=half))[0]["valid_from"].endswith("00.001000Z")
    assert "has no time zone" in problem(frame(object=["x"], valid_from=["2024-03-01T09:00:00"]))
    source = pa.array(
        [{"id": "s", "observed_at": 1}],
        pa.struct([("id", pa.string()), ("observed_at", pa.timestamp("ns", "UTC"))]),
    )
    assert "source holds 1970-01-01T00:00:00.000000001Z, with digits" in problem(
        frame(object=["x"], source=source)
    )


# ---------------------------------------------------------------- types and coats


def test_texts_may_be_encoded_in_any_way(ledger: Ledger) -> None:
    texts = pa.array(["ada", "ada", "bob"])
    columns = [
        texts.dictionary_encode(),
        texts.cast(pa.large_string()),
        texts.cast(pa.string_view()),
    ]
    for few in (pa.array(["ada", "bob"]), pa.array(["ada", "bob"], pa.string_view())):
        columns += [
            pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), few),
            pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), few),
        ]
    for column in columns:
        table = pa.table({"subject": column, "predicate": texts, "object": [1, 2, 3]})
        assert [each["subject"] for each in fields(table)] == ["ada", "ada", "bob"]
        assert [each["subject"] for each in fields(table.slice(1))] == ["ada", "bob"]
    categories = pd.DataFrame(
        {"subject": ["ada"], "predicate": ["p"], "object": ["x"]}, dtype="category"
    )
    assert fields(categories)[0]["object"] == "x"


def test_an_index_that_a_frame_left_in_its_file_says_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    table = pd.DataFrame({**WHO, "object": ["x"], "source": ["s"]}, index=[41])
    arrow = pa.Table.from_pandas(table, preserve_index=True)
    assert "__index_level_0__" in arrow.column_names
    pq.write_table(arrow, tmp_path / "old.parquet")
    assert import_table(ledger, tmp_path / "old.parquet").events == 1
    named = pd.DataFrame(
        {"predicate": ["q"], "object": ["x"], "source": ["s"]},
        index=pd.Index(["bob"], name="subject"),
    )
    assert import_table(ledger, pa.Table.from_pandas(named)).events == 1
    assert ledger.view(valid_at=NOW).value("bob", "q") == "x"


def test_a_source_is_its_name_or_a_struct() -> None:
    (said,) = fields(frame(object=["x"], source=["letter"]))
    assert said["source"] == "letter"
    (said,) = fields(frame(object=["x"], source=[{"id": "letter", "locator": None}]))
    assert said["source"] == "letter"
    seen = datetime(2024, 3, 5, tzinfo=UTC)
    (said,) = fields(frame(object=["x"], source=[{"id": "letter", "observed_at": seen}]))
    assert said["source"] == {"id": "letter", "observed_at": "2024-03-05T00:00:00Z"}
    assert "id is missing" in problem(frame(object=["x"], source=[{"id": None, "locator": "p. 2"}]))


def test_bytes_that_are_no_text_are_set_aside() -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"a\xff")]
    )
    assert "subject is no UTF-8: byte 0xff" in problem(
        pa.table({**WHO, "subject": bad, "object": [1]})
    )


def test_a_bad_row_stops_nothing_and_can_be_mended(ledger: Ledger) -> None:
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "subject": ["x", "", "z"],
            "predicate": ["p"] * 3,
            "object": [1, 2, 3],
            "source": ["s"] * 3,
        }
    )
    report = import_table(ledger, table)
    assert (report.events, [(kept.line, kept.id) for kept in report.set_aside]) == (2, [(2, "b")])
    mended = json.loads(report.set_aside[0].text) | {"subject": "y"}
    assert ledger.import_events([json.dumps(mended)]).events == 1
    assert set_aside(ledger) == []
    assert (
        import_table(ledger, table.set_column(1, "subject", pa.array(["x", "y", "z"]))).repeated
        == 3
    )


def test_a_row_of_a_file_is_known_by_its_number(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "claims.parquet"
    pq.write_table(frame(object=["x"], valid_from=["soon"], source=["s"]), file)
    (kept,) = import_table(ledger, file).set_aside
    assert (kept.file, kept.line) == (str(file), 1)
    pq.write_table(frame(object=["x"], valid_from=["2024-01-01"], source=["s"]), file)
    assert import_table(ledger, file).events == 1
    assert set_aside(ledger) == []


def test_a_later_part_of_a_stream_may_be_of_no_use_and_is_told(ledger: Ledger) -> None:
    schema = pa.schema(
        [
            ("subject", pa.string()),
            ("predicate", pa.string()),
            ("object", pa.int64()),
            ("valid_from", pa.float64()),
        ]
    )
    row = {"subject": "x", "predicate": "p", "object": 1}
    batches = [
        pa.RecordBatch.from_pylist([row | {"valid_from": cell}], schema) for cell in (None, 1.5)
    ]
    report = import_table(ledger, pa.RecordBatchReader.from_batches(schema, batches))
    assert report.events == 1
    assert "valid_from is double; it is timestamps" in report.set_aside[0].reason


def test_a_stream_that_breaks_says_where(ledger: Ledger) -> None:
    schema = pa.schema(
        [("subject", pa.string()), ("predicate", pa.string()), ("object", pa.int64())]
    )

    def batches() -> Any:
        yield pa.RecordBatch.from_pylist([{"subject": "x", "predicate": "p", "object": 1}], schema)
        raise OSError("the line is dead")

    report = import_table(ledger, pa.RecordBatchReader.from_batches(schema, batches()))
    assert report.events == 1
    assert "line is dead" in report.set_aside[0].reason


def test_a_rejected_value_is_kept_out_of_a_table_too(ledger: Ledger) -> None:
    ledger.reject("Atlantis", reason="there is no such place")
    report = import_table(ledger, frame(object=["Rome", "ATLANTIS"], source=["s", "s"]))
    assert (report.events, [kept.line for kept in report.blocked]) == (1, [2])
    assert set_aside(ledger) == []


# ---------------------------------------------------------------- anything at all


columns = st.dictionaries(
    st.sampled_from(
        [
            "event",
            "id",
            "object",
            "valid_from",
            "valid_to",
            "open_from",
            "source",
            "because",
            "kind",
            "recorded_at",
        ]
    ),
    st.one_of(
        st.lists(st.one_of(st.none(), st.text(max_size=4)), min_size=2, max_size=2),
        st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=2, max_size=2),
        st.lists(st.one_of(st.none(), st.floats()), min_size=2, max_size=2),
        st.lists(st.one_of(st.none(), st.booleans()), min_size=2, max_size=2),
        st.lists(
            st.one_of(st.none(), st.lists(st.text(max_size=2), max_size=2)), min_size=2, max_size=2
        ),
        st.lists(st.one_of(st.none(), st.datetimes()), min_size=2, max_size=2),
        st.lists(
            st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))), min_size=2, max_size=2
        ),
    ),
)


@given(columns, st.booleans())
def test_every_row_is_recorded_repeated_or_set_aside(
    said: dict[str, Any], json_objects: bool
) -> None:
    table = pa.table({"subject": ["x", "y"], "predicate": ["p", "p"], **said})
    with doxa.open() as ledger:
        try:
            report = import_table(ledger, table, json_objects=json_objects)
        except doxa.CallerError:
            assert ledger.revision == 0
            return
        assert report.events + report.repeated + len(report.set_aside) == 2
        assert report.events == ledger.revision
        again = import_table(ledger, table, json_objects=json_objects)
        assert (again.events, len(again.set_aside)) == (0, len(report.set_aside))


def test_what_only_an_export_has_is_of_the_types_that_an_export_gives_it(ledger: Ledger) -> None:
    for name, column in {
        "redacted": pa.array([[{"id": b"x"}]]),
        "compacted": pa.array([{"first": datetime(2024, 1, 1), "last": None}]),
        "overrides": pa.array([{"id": "a", "name": "b"}]),
    }.items():
        with pytest.raises(doxa.CallerError, match=rf"{name} is .*structs of"):
            import_table(ledger, frame(object=["x"], **{name: column}))
    nan = pa.array([{"first": float("nan")}])
    assert "compacted holds nan, which is no number" in problem(frame(object=["x"], compacted=nan))


def test_a_type_that_says_what_it_stands_for_is_not_taken_for_what_it_is_stored_as(
    ledger: Ledger,
) -> None:
    uuid = pa.array([b"0" * 16], pa.uuid())
    columns: list[Any] = [
        pd.Series(pd.period_range("2024", periods=1, freq="Y")),
        pd.Series(pd.interval_range(0, 1)),
    ]
    for column in columns:
        with pytest.raises(doxa.CallerError, match=r"object is extension.*cast it"):
            import_table(ledger, pd.DataFrame({**WHO, "object": column}))
    with pytest.raises(doxa.CallerError, match=r"object is extension<arrow.uuid>"):
        import_table(ledger, frame(object=uuid))


def test_a_struct_with_a_key_twice_is_refused(ledger: Ledger) -> None:
    twice = pa.StructArray.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    for name in ("object", "source", "overrides"):
        with pytest.raises(doxa.CallerError, match=f"{name} is struct<id: string, id: string>"):
            import_table(ledger, frame(**{"object": ["x"], name: twice}))


# ---------------------------------------------------------------- nothing is lost, or made up


UNUSABLE: list[tuple[dict[str, Any], str, Any]] = [
    ({"object": [float("inf")]}, "object", "inf"),
    ({"object": [[1.5, float("inf"), 2.0]]}, "object", [1.5, "inf", 2.0]),
    ({"object": [{"a": [1.5, float("inf")], "b": "c"}]}, "object", {"a": [1.5, "inf"], "b": "c"}),
    ({"object": pa.array([Decimal("0.12345678901234567890")])}, "object", "0.12345678901234567890"),
    (
        {"object": pa.array([[2**62, 1]], pa.list_(pa.timestamp("s", "UTC")))},
        "object",
        ["value out of range: 4611686018427387904", "1970-01-01 00:00:01+00:00"],
    ),
    (
        {"object": pa.array([2**31 - 1], pa.date32())},
        "object",
        "185542587100800000000 µs from 1970",
    ),
    (
        {
            "source": pa.array(
                [{"id": "s", "locator": "p. 2", "observed_at": 1}],
                pa.struct(
                    [
                        ("id", pa.string()),
                        ("locator", pa.string()),
                        ("observed_at", pa.timestamp("ns", "UTC")),
                    ]
                ),
            )
        },
        "source",
        {"id": "s", "locator": "p. 2", "observed_at": "1970-01-01T00:00:00.000000001Z"},
    ),
    ({"open_from": [False]}, "open_from", False),
    ({"open_to": [True], "valid_to": ["2024-01-01"]}, "open_to", True),
]


@pytest.mark.parametrize(("columns", "key", "shown"), UNUSABLE)
def test_what_a_cell_showed_is_kept_and_never_taken_for_its_value(
    ledger: Ledger, columns: dict[str, Any], key: str, shown: Any
) -> None:
    (kept,) = import_table(ledger, frame(**{"object": ["x"], **columns})).set_aside
    said = json.loads(kept.text)
    assert said[f"{key}?"] == shown
    assert key not in said
    again = ledger.import_events([kept.text])  # as it is: it is not mended
    assert (again.events, len(again.set_aside)) == (0, 1)
    assert key in again.set_aside[0].reason
    del said[f"{key}?"]
    mended = {key: "mended"} if not key.startswith("open") else {}
    assert ledger.import_events([json.dumps({**said, **mended})]).events == 1
    assert set_aside(ledger) == []


def test_plain_text_where_json_is_meant_is_kept_whole(ledger: Ledger) -> None:
    text = "London, " * 500
    table = frame(event=["claim"], object=[text])
    (kept,) = import_table(ledger, table).set_aside
    assert "say json_objects=False" in kept.reason
    assert json.loads(kept.text)["object?"] == text
    assert import_table(ledger, table, json_objects=False).events == 1


@pytest.mark.parametrize("nested", [False, True])
def test_bytes_that_are_no_text_are_shown_with_all_around_them(
    ledger: Ledger, nested: bool
) -> None:
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32))
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab\xff")])
    if nested:
        lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), texts)
        (kept,) = import_table(ledger, frame(object=["x"], recall_when=lists)).set_aside
        assert json.loads(kept.text)["recall_when?"] == ["a", "b\\xff"]
    else:
        table = pa.table(
            {"id": texts, "subject": ["x"] * 2, "predicate": ["p"] * 2, "object": [1, 2]}
        )
        (kept,) = import_table(ledger, table).set_aside
        said = json.loads(kept.text)
        assert (kept.line, said["id?"], "id" in said) == (2, "b\\xff", False)
        assert ledger.revision == 1


def test_a_row_that_is_too_long_is_kept_by_its_beginning(ledger: Ledger) -> None:
    (kept,) = import_table(ledger, frame(object=["x" * 9_000_000])).set_aside
    assert "only its beginning is kept" in kept.reason
    assert len(kept.text) == 1_000


def test_a_column_of_numbers_that_goes_on_with_missing_ones_says_nothing_there(
    ledger: Ledger,
) -> None:
    schema = pa.schema([("subject", pa.string()), ("valid_from", pa.float64())])
    schema = schema.append(pa.field("predicate", pa.string())).append(
        pa.field("object", pa.int64())
    )
    row = {"subject": "x", "predicate": "p", "object": 1}
    cells: list[list[float | None]] = [[None], [float("nan"), 2.5]]
    batches = [
        pa.RecordBatch.from_pylist([row | {"valid_from": cell} for cell in each], schema)
        for each in cells
    ]
    report = import_table(ledger, pa.RecordBatchReader.from_batches(schema, batches))
    assert (report.events, report.repeated, len(report.set_aside)) == (1, 1, 1)
    assert json.loads(report.set_aside[0].text)["valid_from?"] == 2.5


def test_what_a_library_can_not_make_a_stream_of_is_refused(ledger: Ledger) -> None:
    huge = pd.DataFrame({**WHO, "object": pd.Series([2**70], dtype=object)})
    with pytest.raises(doxa.CallerError, match=r"too large.*for mixed objects JSON text"):
        import_table(ledger, huge)
    with pytest.raises(doxa.CallerError, match=r"LazyFrame is no table; give what its collect\(\)"):
        import_table(ledger, pl.LazyFrame({**WHO, "object": [1]}))
    for wrong in ("yes", 1):
        with pytest.raises(doxa.CallerError, match=r"json_objects is .*give True, False or None"):
            import_table(ledger, frame(object=["x"]), json_objects=wrong)  # type: ignore[arg-type]
    with pytest.raises(doxa.CallerError, match="'objekt', 'sauce' are no keys of an event"):
        import_table(ledger, pd.DataFrame({**WHO, "objekt": [1], "sauce": ["s"]}))


def test_an_id_that_was_made_for_a_claim_stays_the_same() -> None:
    (said,) = fields(frame(object=["London"], source=["s"], valid_from=["2024-03-01"]))
    assert said["id"] == "claim-2a6d9761990c0971c3bbf302f3a9e70f"
    because = frame(object=[{"a": [1, None]}], because=[["b"]], recall_when=[["at home"]])
    assert fields(because)[0]["id"] == "claim-470b7b61d5dffc2f9df77dc42f0ba017"


def test_a_frame_of_every_library_keeps_its_values(ledger: Ledger) -> None:
    rows = {
        "subject": ["a", "b"],
        "predicate": ["p", "p"],
        "object": [1, 2],
        "source": ["s", "s"],
        "valid_from": [datetime(2024, 3, 1, tzinfo=UTC), None],
    }
    tables = [
        pd.DataFrame(rows),
        pd.DataFrame(rows).convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame(rows).set_index("subject"),
        pd.DataFrame(rows).iloc[::-1].iloc[::-1],
        pl.DataFrame(rows),
        pl.DataFrame(
            rows, schema_overrides={"subject": pl.Categorical, "object": pl.Decimal(20, 2)}
        ),
        pl.DataFrame(rows).with_columns(pl.col("object").cast(pl.UInt8)),
        duckdb.from_arrow(pa.table(rows)),
        duckdb.from_arrow(pa.table(rows)).select("*, NULL AS text"),
        pa.table(rows),
        pa.concat_tables([pa.table(rows)] * 2).slice(1, 2).take([1, 0]),
    ]
    said = [fields(table) for table in tables]
    assert [[f["object"] for f in each] for each in said] == [[1, 2]] * len(tables)
    assert len({each[0]["id"] for each in said}) == 1
    for table in tables:
        import_table(ledger, table)
    assert ledger.revision == 2


def test_a_slice_of_an_export_is_its_rows(ledger: Ledger) -> None:
    base = {"event": "claim", "subject": "x", "predicate": "p", "object": 1}
    source = {"id": "s", "observed_at": "2024-01-01"}
    ledger.import_events([{**base, "id": f"c{n}", "source": source} for n in range(9)])
    ledger.import_events([{**base, "id": f"d{n}", "because": ["c1", f"c{n}"]} for n in range(9)])
    from doxa.adapters.tables import events_to_arrow

    lines = list(export_events(ledger))
    table = events_to_arrow(ledger)
    for start in range(0, 18, 5):
        assert list(exchange_lines(table.slice(start, 4))) == lines[start : start + 4]


def test_parquet_on_a_stream_is_refused_with_the_next_step(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "claims.parquet"
    pq.write_table(frame(object=["x"]), file)
    with file.open("rb") as stream, pytest.raises(doxa.CallerError, match="give its path"):
        ledger.import_events(stream)
