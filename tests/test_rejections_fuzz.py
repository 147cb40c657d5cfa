"""Whatever happens to a line that says a rejected value, nothing of the value stays."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange import exported

VALUE = 'the Zanzibar "Secret" \u00e9'
MARK = "zanzibar"

Fields = dict[str, Any]
CLAIM: Fields = {"event": "claim", "subject": "s", "predicate": "p", "object": VALUE}
GOOD: tuple[Callable[[Fields, random.Random], Fields], ...] = (
    lambda fields, chance: fields,
    lambda fields, chance: {**fields, "object": 1, "text": VALUE.upper()},
    lambda fields, chance: {**fields, "because": ["base"]},
    lambda fields, chance: {**fields, "source": "s", "workspace": "w"},
    lambda fields, chance: {**fields, "recorded_at": f"20{chance.randint(10, 60)}-01-01"},
    lambda fields, chance: {**fields, "id": "base"},
)
BAD: tuple[Callable[[Fields, random.Random], Fields], ...] = (
    lambda fields, chance: {**fields, "because": ["nothing"]},
    lambda fields, chance: {**fields, "valid_from": "2024-02-30"},
    lambda fields, chance: {**fields, "valid_from": "2024-01-02", "valid_to": "2024-01-01"},
    lambda fields, chance: {**fields, "objekt": fields["object"], "object": 1},
    lambda fields, chance: {**fields, "recorded_at": "yesterday"},
    lambda fields, chance: {**fields, "subject": ""},
    lambda fields, chance: {**fields, "id": 7},
    lambda fields, chance: {**fields, "event": chance.choice([[], None, 7, "clam", {}])},
    lambda fields, chance: {**fields, "predicate": ["p"], "workspace": {}},
    lambda fields, chance: {name: v for name, v in fields.items() if name != "predicate"},
)  # fmt: skip


def broken(line: str, chance: random.Random) -> str | bytes:
    """A line with something done to it anywhere but in the value itself."""
    (told,) = [t for t in (json.dumps(VALUE), json.dumps(VALUE.upper())) if t in line]
    before, _, after = line.partition(told)
    kind = chance.randrange(6)
    if kind == 0:
        after = after[: chance.randint(0, len(after))]
    elif kind == 1 and before:
        at = chance.randrange(len(before))
        before = before[:at] + before[at + 1 :]
    elif kind == 2 and after:
        at = chance.randrange(len(after))
        after = after[:at] + chance.choice([*'",{}[]:\\ 7', "\\u"]) + after[at:]
    elif kind == 3:
        before = before[chance.randint(0, len(before)) :]
    elif kind == 4:
        return f"{before}{told}{after}".encode() + b"\xff\xfe"
    else:
        told = told[:-1]  # cut off before its last mark, with all behind it
        after = ""
    return before + told + after


def told_by(
    ledger: doxa.Ledger, lines: list[str | bytes | Fields], strict: bool, restamp: bool
) -> str:
    """What an import says of itself, or is refused with."""
    try:
        return str(ledger.import_events(lines, strict=strict, restamp=restamp))
    except doxa.InvalidEvent as error:
        return str(error)


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_no_line_of_an_import_leaves_the_value_behind(
    chance: random.Random, strict: bool, restamp: bool
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with doxa.open(folder / "l") as ledger:
            ledger.claim("base", "q", "x", id="base", source="s", recorded_at="2020-01-01")
            ledger.reject(VALUE, id="r1", recorded_at="2020-01-02")
            lines: list[str | bytes | Fields] = []
            for number in range(chance.randint(1, 5)):
                fields = chance.choice(GOOD)({**CLAIM, "id": f"c{number}"}, chance)
                if chance.random() < 0.4:
                    lines.append(chance.choice(BAD)(fields, chance))
                elif chance.random() < 0.5:
                    lines.append(broken(json.dumps(fields), chance))
                else:
                    lines.append(json.dumps(fields, ensure_ascii=chance.random() < 0.5))
            head = told_by(ledger, lines, strict, restamp)
            told = "".join(item.line for item in exported(ledger))
            assert MARK not in (head + told).casefold()
            assert '"event":"claim"' not in told.replace('"id":"base"', "", 1).partition("r1")[2]
            assert ledger.verify().ok
        for path in folder.rglob("*"):
            if path.is_file():
                assert MARK.encode() not in path.read_bytes().lower(), (path, lines)
    finally:
        shutil.rmtree(folder)
