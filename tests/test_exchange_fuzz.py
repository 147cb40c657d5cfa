"""Damaged files: no line is dropped without a word, and none raises anything."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import export_events
from tests.test_exchange_export import streams


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file of good lines, some of which were cut, doubled, mixed up or overwritten."""
    lines = [json.dumps(fields, ensure_ascii=False).encode() for fields in draw(streams())]
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["cut", "double", "swap", "overwrite", "insert", "join"]))
        line = lines[at]
        place = draw(st.integers(0, len(line)))
        if how == "cut":
            lines[at] = line[:place]
        elif how == "double":
            lines.insert(at, line)
        elif how == "swap":
            lines[at], lines[0] = lines[0], line
        elif how == "overwrite":
            lines[at] = line[:place] + draw(st.binary(max_size=4)) + line[place + 4 :]
        elif how == "insert":
            lines.insert(at, draw(st.binary(max_size=12)))
        else:
            lines[at] = line + lines[-1]
    return draw(st.sampled_from([b"\n", b"\r\n"])).join(lines)


def told(report: Any) -> int:
    return int(report.events) + int(report.repeated) + len(report.set_aside)


@given(damaged(), st.booleans())
def test_every_line_is_recorded_repeated_or_set_aside(content: bytes, restamp: bool) -> None:
    full = [n for n, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if content.startswith(b"\xef\xbb\xbf") and not content[3:].split(b"\n")[0].strip():
        full.remove(1)
    with doxa.open() as ledger:
        report = ledger.import_events(io.BytesIO(content), restamp=restamp)
        assert told(report) == len(full)
        assert {kept.line for kept in report.set_aside} <= set(full)
        assert report.events == ledger.revision
        for kept in report.set_aside:
            json.dumps([kept.reason, kept.text]).encode()
        written = list(export_events(ledger))
        with doxa.open() as other:
            assert other.import_events(written, strict=True).events == len(written)


@given(damaged())
def test_a_file_again_adds_nothing_but_what_waited_for_it(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "in.jsonl"
        file.write_bytes(content)
        with doxa.open(Path(folder) / "ledger") as ledger:
            first = ledger.import_events(file)
            for _ in range(3):
                again = ledger.import_events(file)
                assert told(again) == told(first)
                if not again.events:
                    break
            kept = {line.line for line in again.set_aside}
            from doxa.adapters.exchange import set_aside

            assert {line.line for line in set_aside(ledger)} == kept


@given(damaged())
def test_a_strict_import_takes_all_or_nothing(content: bytes) -> None:
    with doxa.open() as ledger, doxa.open() as other:
        report = other.import_events(io.BytesIO(content))
        try:
            strict = ledger.import_events(io.BytesIO(content), strict=True)
        except doxa.InvalidEvent:
            assert ledger.revision == 0
        else:
            assert report.set_aside == ()
            assert strict == report
