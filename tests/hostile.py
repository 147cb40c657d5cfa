"""Fields of claims and supports, plain and hostile, in every mixture."""

from __future__ import annotations

import datetime as dt
import json
from collections import UserDict
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import strategies as st

from doxa.engine.events import Ref, SourceRef

__all__ = ["fields", "lines", "one_by_one"]


class Text(str):
    """A text that is not exactly one."""


class Number(int):
    """A number that is not exactly one."""


UTC: Final = dt.UTC
WORDS: Final = (
    "a", "b", "ada", "works at", "", " ", "x/support", "/support", "shared", "é", "日本",
    "\U0001f600", "a\u202eb", "\ud800", "x\udfffy", "\x00", "\x1f", "\x7f", "\x85", "\u2028",
    "\u061c", "a\nb", "\t", '"', "\\", '\\"', "':\"", '":', '" :', "{", "a" * 1_000, "a" * 1_001,
    "é" * 1_000, "é" * 1_001, "supports", "refutes", "fact", "hypothesis", "null", "NaN",
)  # fmt: skip
TIMES: Final = (
    None, "2024-01-01", "2024-06-30", "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31",
    "9999-12-31T23:59:59.999999Z", "2024-01-01T00:00:00Z", "2024-01-01T00:00Z",
    "2024-01-01 00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T01:00:00+01:00",
    "2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.123456+05:30", "2024-01-01T00:00:00.1234567Z",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2024-01-01T00:00:00",
    "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00+24:00", "2024-1-1",
    "20240101", "2024-W01-1", "now", "", "\uff12024-01-01", 0, 1_704_067_200_000_000, 1.5, True,
    dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1),
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), Text("2024-01-01"),
)  # fmt: skip
ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**63, -(2**64), 2**12_999, 2**13_001, Number(3), 1.0, -0.0, 1e300,
    5e-324, float("nan"), float("inf"), b"a", (), [], ["a"], ("a", "b"), ["a", "a"], ["a", 1], {},
    {"a": 1}, {1: "a"}, {"id": "x"}, {"\ud800": 1}, [[[["deep"]]]], [float("nan")], {"a"}, object,
    {"workspace": "", "id": "a"}, [{"workspace": "", "id": "a"}], [Ref("", "a")], [Ref("w", "a")],
    Ref("", "a"), SourceRef(id="s"), SourceRef(id="s", quote="q"), Text("a"), [Text("a")],
    UserDict(id="s"),
)  # fmt: skip

EARLY: Final = (None, "2024-01-01", "0001-01-01", "2024-01-01T01:00:00+01:00", dt.date(2024, 1, 1))
LATE: Final = (None, "2024-06-30", "9999-12-31", "2024-06-01T00:00:00.5Z", dt.date(2024, 7, 1))

words = st.sampled_from(WORDS) | st.text(max_size=6)
EVERY: Final = (*WORDS, *TIMES, *ODD)
values = st.sampled_from(EVERY) | words | st.integers() | st.floats()
good = st.sampled_from(("a", "b", "ada", "é", "works at", "日本"))
stated = st.sampled_from(EARLY + LATE)
objects = good | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | values

SOURCE: Final[dict[str, st.SearchStrategy[Any]]] = {
    "id": good,
    "locator": good,
    "quote": good,
    "digest": good,
    "origin": good,
    "observed_at": stated,
}
OPTIONAL: Final[dict[str, st.SearchStrategy[Any]]] = {
    "workspace": st.just("") | good,
    "stated_at": stated,
    "valid_from": st.sampled_from(EARLY),
    "valid_to": st.sampled_from(LATE),
    "recorded_at": stated,
    "assumed": st.none() | good,
}
KINDS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "claim": (
        {"id": good, "subject": good, "predicate": good, "object": objects},
        OPTIONAL
        | {"text": st.none() | good, "kind": st.just("fact") | good, "perspective": good}
        | {"recall_when": st.lists(good, max_size=2) | st.just(())},
    ),
    "support": (
        {"id": good, "claim": good},
        OPTIONAL | {"stance": st.sampled_from(("supports", "refutes"))},
    ),
}
UNKNOWN: Final = (1, None, "", "Event", "unknown", "target", Text("text"))
BASE: Final[tuple[dict[str, Any], ...]] = (
    {
        "event": "claim",
        "id": "c",
        "workspace": "w",
        "subject": "s",
        "predicate": "p",
        "object": "o",
        "text": "t",
        "kind": "fact",
        "perspective": "x",
        "valid_from": "2024-01-01",
        "valid_to": "2024-06-30",
        "source": "a",
        "assumed": "z",
        "stated_at": "2024-01-01",
        "recorded_at": "2024-01-01",
    },
    {
        "event": "claim",
        "id": "c",
        "subject": "s",
        "predicate": "p",
        "object": "o",
        "because": ["b"],
    },
    {"event": "support", "id": "s", "claim": "c", "source": "a", "stance": "refutes"},
    {"event": "support", "id": "s", "workspace": "w", "claim": "c", "because": ["b"]},
)


def one_by_one() -> Iterator[dict[Any, Any]]:
    """Good events with each field left out, and with every value in place of it."""
    for base in BASE:
        for name in (*base, "valid_until", "because", "source", "recall_when", *UNKNOWN):
            yield {key: value for key, value in base.items() if key != name}
            for value in EVERY:
                yield base | {name: value}
        for name in (*SOURCE, *UNKNOWN):
            for value in EVERY:
                yield base | {"source": {"id": "a", name: value}}
    claim = {"event": "claim", "id": "c", "subject": "s", "predicate": "p", "object": 1}
    for start in TIMES:
        for end in TIMES:
            yield claim | {"valid_from": start, "valid_to": end}
            yield claim | {"valid_from": start, "valid_until": end}
    for one in EVERY:
        yield claim | {"because": [one]}
        yield claim | {"recall_when": [one]}
        yield claim | {"because": ("a", one, "a")}
        yield claim | {"object": [one]}
        yield claim | {"object": {"a": one}}


def _some(draw: st.DrawFn, fields: dict[str, Any], largest: int) -> dict[str, Any]:
    names = draw(st.sets(st.sampled_from(sorted(fields)), max_size=largest))
    return {name: draw(fields[name]) for name in sorted(names)}


def _source(draw: st.DrawFn) -> object:
    if draw(st.booleans()):
        return draw(good)
    found: dict[Any, Any] = {"id": draw(good)} | _some(draw, SOURCE, 5)
    return _spoilt(draw, found, draw(st.sampled_from((0, 0, 0, 1))))


def _spoilt(draw: st.DrawFn, fields: dict[Any, Any], times: int) -> dict[Any, Any]:
    """Fields with something done to them, and in another order."""
    for _ in range(times):
        how = draw(st.integers(0, 5))
        if how == 0:
            fields.pop(draw(st.sampled_from(list(fields))), None)
        elif how == 1:
            fields[draw(st.sampled_from(UNKNOWN))] = draw(values)
        elif how == 2:
            fields["valid_until"] = draw(st.sampled_from(TIMES))
            fields.pop(draw(st.sampled_from(("valid_to", "event"))), None)
        elif fields:
            fields[draw(st.sampled_from(list(fields)))] = draw(values)
    return dict(draw(st.permutations(list(fields.items()))))


@st.composite
def fields(draw: st.DrawFn) -> dict[Any, Any]:
    """The fields of one claim or support: two in three of them good."""
    kind = draw(st.sampled_from(("claim", "claim", "support")))
    required, optional = KINDS[kind]
    found: dict[Any, Any] = {"event": kind}
    found |= {name: draw(strategy) for name, strategy in required.items()}
    found |= _some(draw, optional, 5)
    basis = draw(st.sampled_from(("source", "source", "because", "neither", "both")))
    if basis in ("source", "both"):
        found["source"] = _source(draw)
    if basis in ("because", "both"):
        found["because"] = draw(st.lists(good, max_size=3) | st.just(()))
    return _spoilt(draw, found, draw(st.sampled_from((0, 0, 0, 1, 1, 2))))


FRAGMENTS: Final = (
    b'"', b"\\", b'\\"', b"\\u0041", b"\\ud800", b":", b" :", b'" :', b'":', b",", b"{", b"}", b"[",
    b"]", b" ", b"\t", b"\r", b"\n", b"\x00", b"\x0b", b"\x1f", b"\x7f", b"\xff", b"\xc3",
    b"\xc3\xa9",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"1e999", b"-0", b"01", b"1.", b"NaN", b"-Infinity", b"null",
    b'"id":"x",', b'"id": "x",', b'"id" :"x",', b'"a":{"b":1},', b'":x"',
    b'"source":{"id":"a","id":"b"},',
    b'"object":{"a":1,"a":2},', b'"object":":",', b'"text":" ",',
)  # fmt: skip
NUMBERS: Final = r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?"


@st.composite
def lines(draw: st.DrawFn) -> str | bytes:
    """One line as a file might hold it: an event in JSON as anybody writes it, or what is left of
    it once some of it was cut out, overwritten or said twice."""
    found = draw(fields())
    number = draw(st.none() | st.from_regex(NUMBERS, fullmatch=True))
    if number is not None:
        found["object"] = "the number"
    try:
        text = json.dumps(
            found,
            ensure_ascii=draw(st.booleans()),
            separators=draw(
                st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), (",", "\t:")])
            ),
            default=str,
        )
    except (TypeError, ValueError):
        text = json.dumps(draw(st.sampled_from(BASE)))
    text = text.replace('"the number"', number or "")
    line = text.encode("utf-8", "surrogatepass")
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))):
        at = draw(st.integers(0, len(line)))
        cut = draw(st.sampled_from((0, 0, 0, 1, 2, 9)))
        line = line[:at] + draw(st.sampled_from(FRAGMENTS)) + line[at + cut :]
    if draw(st.booleans()):
        key = draw(st.sampled_from((b'{"id":"x",', b'{"source":"s",', b'{ "object" : 1 ,')))
        line = line.replace(b"{", key, 1) if draw(st.booleans()) else line
    line += draw(st.sampled_from((b"", b"\n", b"\r\n")))
    return line.decode("utf-8", "surrogatepass") if _decodes(line) and draw(st.booleans()) else line


def _decodes(line: bytes) -> bool:
    try:
        line.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
