"""What a version of a file says by its bytes: rows, cells and types, or why it is unsound."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.adapters.git.changes import differences
from doxa.adapters.git.reading import Reader
from doxa.adapters.git.rows import Row, Unsound, Version
from doxa.adapters.git.settings import Settings, checked
from doxa.adapters.git.tables import Tables
from doxa.engine import times
from doxa.engine.errors import CallerError

DEFAULTS: dict[str, Any] = {
    "format": None,
    "delimiter": None,
    "records": "",
    "types": "text",
    "empty": "none",
    "ignore": (),
    "prefix": "",
    "valid": "unknown",
    "valid_from": None,
    "valid_to": None,
    "valid_until": None,
    "follow": True,
}


def how(path: str = "d.csv", key: Any = "id", **given: Any) -> Settings:
    return checked(path, key, **{**DEFAULTS, **given})


def read(content: bytes | str, path: str = "d.csv", key: Any = "id", **given: Any) -> Version:
    raw = content.encode() if isinstance(content, str) else content
    return Reader(how(path, key, **given)).read(raw, path)


def rows(
    content: bytes | str, path: str = "d.csv", key: Any = "id", **given: Any
) -> dict[str, Any]:
    """The cells of each subject."""
    return {row.subject: dict(row.cells) for row in read(content, path, key, **given).rows.values()}


def why(content: bytes | str, path: str = "d.csv", key: Any = "id", **given: Any) -> str:
    with pytest.raises(Unsound) as raised:
        read(content, path, key, **given)
    return str(raised.value)


# ---------------------------------------------------------------- CSV

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "1,a", "2,b", "3,", '4,"x,y"', '5,"a""b"', "6", '7,"open', 'end"', "8,a,b"]
        ),
        st.text('ab",\r\n 12', max_size=8),
    ),
    max_size=6,
)


@given(
    st.lists(
        st.tuples(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans()), min_size=1, max_size=5
    )
)
def test_line_by_line_a_file_says_what_it_says_as_a_whole(
    versions: list[tuple[list[str], str, bool]],
) -> None:
    reader = Tables(how(), ",")
    for lines, end, ends in versions:
        text = end.join(["id,a", *lines]) + (end if ends else "")
        found: list[Version | None] = []
        for call in (reader.read, Tables(how(), ",").slow):
            try:
                found.append(call(text))
            except Unsound:
                found.append(None)
        quick, slow = found
        assert (quick is None) == (slow is None), text
        if quick is not None and slow is not None:
            assert list(quick.rows.items()) == list(slow.rows.items())
            assert list(quick.places) == list(slow.places)


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.integers(0, 11), st.sampled_from(["1,x", "2,x", "3,y", "12,z", '5,"q"', "6", ""])
            ),
            max_size=3,
        ),
        max_size=8,
    )
)
def test_a_version_with_a_few_other_lines_differs_as_if_it_were_read_alone(
    edits: list[list[tuple[int, str]]],
) -> None:
    reader = Tables(how(), ",")
    lines = [f"{number},a" for number in range(12)]
    last: tuple[Version, Version] | None = None
    for changes in [[], *edits]:
        before = list(lines)
        for at, line in changes:
            lines[at] = line
        text = "\n".join(["id,a", *lines])
        try:
            slow = Tables(how(), ",").slow(text)
        except Unsound:
            with pytest.raises(Unsound):
                reader.read(text)
            lines = before
            continue
        quick = reader.read(text)
        assert list(quick.rows.items()) == list(slow.rows.items())
        assert {key: quick.place(key) for key in quick.rows} == slow.place_of
        if last is not None:
            assert list(differences(last[0], quick)) == list(differences(last[1], slow))
        last = quick, slow


def test_a_quoted_cell_may_span_lines_and_rows_keep_their_line_numbers() -> None:
    version = read('id,a\n\n1,"two\nlines"\n2,x\n')
    assert version.rows["1", times.NEG].cells["a"] == "two\nlines"
    assert list(version.place_of.values()) == [3, 5]


def test_the_limit_of_the_csv_module_is_as_it_was() -> None:
    before = csv.field_size_limit()
    assert len(rows("id,a\n1," + "x" * 500_000)["1"]["a"]) == 500_000
    assert csv.field_size_limit() == before


def test_empty_cells_say_nothing_or_null_or_are_texts() -> None:
    content = "id,a,b\n1,,x\n"
    assert rows(content) == {"1": {"id": "1", "b": "x"}}
    assert rows(content, empty="null") == {"1": {"id": "1", "a": None, "b": "x"}}
    assert rows(content, empty="text") == {"1": {"id": "1", "a": "", "b": "x"}}


def test_cells_are_text_and_types_are_inferred_only_where_the_form_leaves_no_doubt() -> None:
    content = "id,a,b,c,d,e,f\n01,12,-0.5,true,007,1e5,2024-03-01\n"
    assert set(map(type, rows(content)["01"].values())) == {str}
    assert rows(content, types="infer") == {
        "01": {"id": "01", "a": 12, "b": -0.5, "c": True, "d": "007", "e": "1e5", "f": "2024-03-01"}
    }
    doubtful = [
        "-0",
        "1234567890123456789",
        "0.1234567890123456",
        "1.",
        ".5",
        "TRUE",
        " 1",
        "٣",
        "1_0",
    ]
    for text in doubtful:
        assert rows(f"id,a\nk,{text}\n", types="infer")["k"]["a"] == text


def test_other_delimiters_prefixes_and_columns_to_leave_out() -> None:
    assert rows("id;a\n1;x\n", delimiter=";") == {"1": {"id": "1", "a": "x"}}
    assert rows("id\ta\n1\tx,y\n", "d.tsv") == {"1": {"id": "1", "a": "x,y"}}
    assert rows(",id,a\n0,1,x\n", ignore=["", "a"], prefix="city:") == {"city:1": {"id": "1"}}
    assert rows("id,a\n1,x\n", "d.txt", format="csv") == {"1": {"id": "1", "a": "x"}}


def test_several_key_columns_make_one_subject_that_tells_them_apart() -> None:
    found = rows('a,b,c\nx,"y,z",1\n"x,y",z,2\n', key=["a", "b"])
    assert found == {
        '["x","y,z"]': {"a": "x", "b": "y,z", "c": "1"},
        '["x,y","z"]': {"a": "x,y", "b": "z", "c": "2"},
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"a\n1\n", "there is no column 'id'; the columns are 'a'"),
        (b"id,a\n1\n", "line 2: the row has 1 fields, and the header 2"),
        (b"id,a\n1,x,y\n", "line 2: the row has 3 fields, and the header 2"),
        (b"id,a\n1,x\n\n1,y\n", "the key '1' is there twice: at 2, 4"),
        (b"id,a\n,x\n", "line 2: the key is empty"),
        (b"id,a,a\n1,x,y\n", "two columns are named 'a'"),
        (b"id,,a\n1,x,y\n", "column 2 has no name"),
        (b'id,a\n1,"x\n', "unexpected end of data"),
        (b'id,a\n1,"x"y\n', "expected after"),
        (b'id,a\n"a\nb",x\n', "U+000A"),
        ("id,a\na\u2028b,x\n".encode(), "U+2028"),
        ("id,a\u202eb\n1,x\n".encode(), "U+202E"),
        (b"id,a\n" + b"k" * 1_001 + b",x\n", "at most 1000"),
        (b"id,a\n" + b"k" * 1_000_000 + b",x\n", "at most 1000"),
        (b"id,a\n1," + b"x" * 1_100_000, "a cell has 1,100,002 bytes"),
        (b"id,a\n1," + b"\x01" * 300_000, "a cell has 1,800,002 bytes"),
        (b"id,a\n1," + b"x" * 3_000_000, "field larger than field limit"),
        (b"id,a\n1,\xff\n", "not UTF-8"),
        ("id,a\n1,x\n".encode("utf-16"), "binary"),
        (b"id,a\n1,\0\n", "binary: byte 7 is NUL"),
        (b"id\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> side\n", "line 2: it has the marks of a merge"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "Git LFS pointer"),
        (b" <!doctype html><p>Please wait", "HTML or XML page"),
        (b"<?xml version='1.0'?><Error/>", "HTML or XML page"),
    ],
)
def test_a_version_that_is_not_what_was_meant_is_unsound(content: bytes, reason: str) -> None:
    assert reason in why(content)


def test_a_byte_order_mark_blank_lines_and_line_ends_say_nothing() -> None:
    plain = rows(b"id,a\n1,x\n")
    for content in (b"\xef\xbb\xbfid,a\n1,x\n", b"id,a\r\n1,x\r\n", b"\nid,a\n\n1,x", b"id,a\r1,x"):
        assert rows(content) == plain


# ---------------------------------------------------------------- intervals


def test_rows_say_when_they_apply_and_a_key_may_come_again_at_another_time() -> None:
    content = "id,a,since,last\n1,x,2020-01-01,2020-12-31\n1,y,2021-01-01,\n2,z,,2020-06-30\n"
    found = read(content, valid_from="since", valid_until="last").rows
    start, end = times.instant("2020-01-01"), times.instant("2021-01-01")
    assert [(row.subject, row.start, row.end) for row in found.values()] == [
        ("1", start, end),
        ("1", end, times.POS),
        ("2", times.NEG, times.instant("2020-07-01")),
    ]
    assert {frozenset(row.cells) for row in found.values()} == {frozenset({"id", "a"})}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,x,2020-01-01,2021-01-02", "at one time"),
        ("1,x,2021-01-01,", "is there twice"),
        ("1,x,soon,", "line 3: since is 'soon'"),
        ("1,x,2020-01-01,2019-01-01", "inverted"),
        ("1,x,2020-01-01T10:00:00,", "no time zone"),
    ],
)
def test_intervals_that_overlap_or_are_none_are_unsound(line: str, reason: str) -> None:
    content = f"id,a,since,till\n1,y,2021-01-01,\n{line}\n"
    assert reason in why(content, valid_from="since", valid_to="till")


# ---------------------------------------------------------------- JSON, YAML, TOML

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.text("abc é:#-'\"\n0", max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORDS = st.dictionaries(
    st.text("kK1 é", min_size=1, max_size=4),
    st.dictionaries(st.text("ab_", min_size=1, max_size=3), VALUES, max_size=4),
    max_size=4,
)


@given(RECORDS)
def test_json_and_yaml_say_the_same_as_a_list_and_as_a_mapping(
    records: dict[str, dict[str, Any]],
) -> None:
    listed = [{"id": key, **record} for key, record in records.items()]
    text = json.dumps({"data": listed}, ensure_ascii=False)  # which is YAML, too
    expected = {record["id"]: record for record in listed}
    assert rows(text, "d.json", records="/data") == expected
    assert rows(text, "d.yaml", records="/data") == expected
    assert rows(json.dumps(records), "d.json", key="id") == expected
    assert rows(json.dumps(records), "d.json", key=()) == records


def test_toml_tables_are_records_and_dates_are_text() -> None:
    content = (
        '[servers.alpha]\nip = "10.0.0.1"\nsince = 2024-01-01\n[servers.beta]\nports = [80, 443]\n'
    )
    assert rows(content, "d.toml", key=(), records="/servers") == {
        "alpha": {"ip": "10.0.0.1", "since": "2024-01-01"},
        "beta": {"ports": [80, 443]},
    }


def test_yaml_dates_stay_as_written_and_anchors_are_what_they_stand_for() -> None:
    content = "- {id: a, d: 2024-01-01, t: 2024-01-01 10:00:00, n: ~, y: yes}\n"
    content += "- {id: b, x: &x [1], z: *x}\n"
    assert rows(content, "d.yml") == {
        "a": {"id": "a", "d": "2024-01-01", "t": "2024-01-01 10:00:00", "n": None, "y": "yes"},
        "b": {"id": "b", "x": [1], "z": [1]},
    }
    assert rows("base: &b {x: 1}\nc: {<<: *b, y: 2}\n", "d.yml", key=()) == {
        "base": {"x": 1},
        "c": {"x": 1, "y": 2},
    }


def test_a_mapping_of_plain_values_has_them_in_the_column_value() -> None:
    assert rows('{"timeout": 30, "hosts": ["a"]}', "d.json", key=()) == {
        "timeout": {"value": 30},
        "hosts": {"value": ["a"]},
    }


def bomb() -> str:
    names = "abcdefghi"
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in pairwise(names)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("d.json", "", "line 1: it is no JSON"),
        ("d.json", '[{"id": NaN}]', "NaN"),
        ("d.json", '[{"id": 1, "id": 2}]', "the key 'id' is there twice in one object"),
        ("d.json", "[" * 100_000, "nested too deep"),
        ("d.json", '[{"id": 1, "x": ' + "[" * 150 + "]" * 150 + "}]", "more than 100 deep"),
        ("d.json", "[1]", "#/0 is a number, not a record"),
        ("d.json", '"text"', "it is a text"),
        ("d.json", '[{"a": 1}]', "#/0: the record has no 'id'"),
        ("d.json", '[{"id": 1}, {"id": "1"}]', "the key '1' is there twice: at #/0, #/1"),
        ("d.json", '[{"id": [1]}]', "a key is text or a number"),
        ("d.json", '[{"id": null}]', "the key is empty"),
        ("d.json", '[{"id": "a\\nb"}]', "U+000A"),
        ("d.json", '[{"id": "\\ud800"}]', "surrogate"),
        ("d.json", '[{"id": 1, "x": "\\ud800"}]', "surrogate"),
        ("d.json", '[{"id": 1, "": 2}]', "the column '' is empty"),
        ("d.json", '[{"id": 1e999}]', "too large"),
        ("d.json", '{"a": {"id": "b"}}', "says 'b' as its id"),
        ("d.yaml", "- id: 1\n  id: 2\n", "duplicate key"),
        ("d.yaml", "--- 1\n--- 2\n", "another document"),
        ("d.yaml", "- !!python/object:os.system {id: 1}\n", "constructor"),
        ("d.yaml", "- {id: 1, x: !!binary aGk=}\n", "constructor"),
        ("d.yaml", "- {id: 1, x: !!set {a}}\n", "constructor"),
        ("d.yaml", "- {id: .inf}\n", "not a number that JSON has"),
        ("d.yaml", "&a [*a]\n", "more than 100 deep"),
        ("d.yaml", bomb(), "more than 2,000,000 values"),
        ("d.yaml", "? [a]\n: 1\n", "a key is text or a whole number"),
        ("d.yaml", '- {id: "\\UFFFFFFFF"}\n', "no YAML"),
        ("d.yaml", "- {id: 1, x: !!float abc}\n", "no YAML"),
        ("d.toml", "a = 1\na = 2\n", "no TOML"),
        ("d.toml", "[a]\nx = nan\n", "not a number that JSON has"),
    ],
)
def test_trees_that_are_not_what_was_meant_are_unsound(
    path: str, content: str, reason: str
) -> None:
    assert reason in why(content, path)


def test_a_pointer_that_leads_nowhere_is_told() -> None:
    assert "nothing lies at '/data/7'" in why('{"data": []}', "d.json", records="/data/7")
    assert rows('{"a/b": {"~": [{"id": 1}]}}', "d.json", records="/a~1b/~0") == {"1": {"id": 1}}


def test_reused_anchors_warn_nobody() -> None:
    assert rows("- {id: &a x, b: *a}\n- {id: &a y, b: *a}\n", "d.yaml") == {
        "x": {"id": "x", "b": "x"},
        "y": {"id": "y", "b": "y"},
    }


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "/etc/passwd"}, "is no path in the repository"),
        ({"path": "../d.csv"}, "is no path in the repository"),
        ({"path": ""}, "is no path in the repository"),
        ({"path": "d\udcff.csv"}, "not UTF-8"),
        ({"path": []}, "no path is given"),
        ({"path": ["d.csv", "./d.csv"]}, "names 'd.csv' twice"),
        ({"path": "d.txt"}, "does not tell its format"),
        ({"key": ()}, "which column names what a row is about"),
        ({"key": ["a", "a"]}, "key names 'a' twice"),
        ({"types": "guess"}, "types is 'guess'"),
        ({"empty": ""}, "empty is ''"),
        ({"valid": "ever"}, "valid is 'ever'"),
        ({"format": "xls"}, "format is 'xls'"),
        ({"delimiter": ";;"}, "give one character"),
        ({"delimiter": 3}, "delimiter is 3; give a text"),
        ({"records": "data"}, "give a JSON pointer"),
        ({"valid_from": "id"}, "is given two roles"),
        ({"valid_from": "s", "valid": "commit"}, "it has one origin"),
        ({"valid_to": "s", "valid_until": "t"}, "give one"),
        ({"ignore": "id"}, "can't be ignored"),
    ],
)
def test_settings_that_can_not_be_meant_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(CallerError, match=words):
        how(**given)


def test_a_row_is_known_by_its_subject_and_start() -> None:
    row = Row(("a", 5), 9, {})
    assert (row.subject, row.start) == row.key
