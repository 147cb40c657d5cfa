"""Lines that are read quickly are read as if they had not been: every line, every byte stored."""

from __future__ import annotations

import io
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import importing
from doxa.adapters.exchange.lines import Given, Line, fields_of, quick_fields
from doxa.engine import times
from doxa.engine.plain import plain
from tests.hostile import lines


def anatomy(value: object) -> object:
    """All that there is to see of a JSON value: types, order, and numbers to the last digit."""
    if isinstance(value, dict):
        return [(key, anatomy(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [anatomy(item) for item in value]
    return type(value), repr(value)


def check(raw: Given) -> bool:
    """Whether a line is read quickly; if so, the strict reader reads the same, and no less."""
    quick = quick_fields(raw)
    if quick is None or plain(quick) is None:
        return False
    assert anatomy(quick) == anatomy(fields_of(Line(2, raw)))
    return True


@settings(max_examples=2_000, deadline=None)
@given(lines())
def test_a_line_that_is_read_quickly_reads_as_it_does_strictly(raw: str | bytes) -> None:
    check(raw)


GOOD = '{"event":"claim","id":"c","subject":"s","predicate":"p","object":1,"source":{"id":"a"}}'


@pytest.mark.parametrize(
    "line",
    [
        GOOD,
        GOOD.replace(":", ": ").replace(",", ", "),
        GOOD + "\n",
        " " + GOOD + "\t\r\n",
        GOOD.replace("1", "-0.1e-7"),
        GOOD.replace("1", '"日本"'),
        GOOD.replace("1", "[1,2,[true,null]]"),
        GOOD.replace("1", '"a : b"'),
    ],
)
def test_what_most_files_hold_is_read_quickly(line: str) -> None:
    assert check(line)
    assert check(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        GOOD.replace("{", '{"id":"x",', 1),
        GOOD.replace("{", '{"id" : "x",', 1),
        GOOD.replace("{", '{"id"\t:"x",', 1),
        GOOD.replace("{", '{"id"\r:"x",', 1),
        GOOD.replace("{", '{"id"\n:"x",', 1),
        GOOD.replace("{", '{"\\u0069d":"x",', 1),
        GOOD.replace('"a"', '"a","id":"b"'),
        GOOD.replace("1", '{"a":1,"a":2}'),
        GOOD.replace("1", '[{"a":1,"a":2}]'),
        GOOD.replace("1", "1e999"),
        GOOD.replace("1", "NaN"),
        GOOD.replace("1", "9" * 4_301),
        GOOD.replace("1", "01"),
        GOOD.replace('"s"', '"\\ud800"'),
        GOOD.replace('"s"', '"\ud800"'),
        GOOD.replace('"s"', '"\x00"'),
        GOOD + GOOD,
        GOOD[:-1],
        "[" + GOOD + "]",
        "\ufeff" + GOOD,
        "",
    ],
)
def test_what_the_strict_reader_refuses_is_never_read_quickly(line: str) -> None:
    assert not check(line)
    assert not check(line.encode("utf-8", "surrogatepass"))


# ---------------------------------------------------------------- whole imports

OTHERS = (
    b'{"event":"correction","id":"k","corrects":"a","by":"b"}',
    b'{"event":"withdrawal","id":"w","target":"a","recorded_at":"2024-01-03T00:00:00Z"}',
    b'{"event":"withdrawal","id":"v","source":"a","whole_source":true}',
    b'{"event":"claim","id":"a","subject":"s","predicate":"p","object":1,"source":"a"}',
    b'{"event":"claim","id":"b","subject":"s","predicate":"p","object":2,"because":["a"]}',
    b'{"event":"support","id":"ada","claim":"a","source":"b","recorded_at":"2024-01-01"}',
    b'{"event":"redacted","id":"a"}',
    b"",
    b"not json",
)


def imported(content: bytes, how: Sequence[str]) -> tuple[object, ...]:
    """All that an import leaves behind, twice over."""
    now = times.moment(1_800_000_000_000_000)
    with doxa.open(clock=lambda: now) as ledger:
        told: list[object] = []
        for _ in range(2):
            try:
                report = ledger.import_events(
                    io.BytesIO(content),
                    restamp="restamp" in how,
                    strict="strict" in how,
                    workspace="w" if "workspace" in how else None,
                )
            except doxa.DoxaError as error:
                told.append((type(error), str(error)))
            else:
                told.append((str(report), repr(report)))
        rows = [row[:5] for page in ledger.recorder.read_rows() for row in page]
        assert ledger.verify().ok
        return *told, rows, ledger.view(valid_at="2024-01-02").fingerprint


@settings(max_examples=100, deadline=None)
@given(
    st.lists(lines() | st.sampled_from(OTHERS), max_size=12),
    st.sets(st.sampled_from(("restamp", "strict", "workspace"))),
)
def test_an_import_leaves_the_same_behind(parts: list[str | bytes], how: set[str]) -> None:
    encoded = [p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p for p in parts]
    content = b"\n".join(line.rstrip(b"\n") for line in encoded)
    with patch.object(importing, "quick_fields", lambda raw: None):
        strictly = imported(content, sorted(how))
    assert imported(content, sorted(how)) == strictly
