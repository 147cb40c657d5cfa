"""The page on the exchange form lists every key of every event, and says which are required."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from pydantic_core import PydanticUndefined

from doxa.engine import events as ev
from tests.support import ROOT

PAGE = (ROOT / "docs" / "exchange.md").read_text("utf-8")
# Keys of the form that are no fields of the models, by event.
FORM_ONLY = {
    "claim": {"valid_until"},
    "support": {"valid_until"},
    "correction": {"valid_until"},
    "withdrawal": {"valid_until", "whole_source"},
}
COMMON = {"event", "id", "workspace", "recorded_at", "stated_at"}


def tables() -> Iterator[tuple[str, dict[str, str]]]:
    """Each heading of the page with the keys of its table, and their defaults."""
    parts = re.split(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    for heading, text in pairwise(parts[1:]):
        rows = re.findall(r"^\| `(\w+)` \| [^|]+\|([^|]*)\|", text, re.MULTILINE)
        if rows:
            yield heading, {key: default.strip().strip("`") for key, default in rows}


TABLES = dict(tables())


def test_the_keys_that_all_events_have_are_listed() -> None:
    assert set(TABLES["Events"]) == COMMON
    assert TABLES["Events"]["id"] == "required"


def test_the_keys_of_a_source_are_listed() -> None:
    assert set(TABLES["References"]) == set(ev.SourceRef.model_fields)


@pytest.mark.parametrize("kind", ev.CLASSES)
def test_every_key_of_an_event_is_listed_with_its_default(kind: str) -> None:
    listed = TABLES[kind]
    fields = {
        name: info for name, info in ev.CLASSES[kind].model_fields.items() if name not in COMMON
    }
    # A citation names no citations; the model it shares with summaries has the field.
    if kind == "citation":
        del fields["citations"]
    assert set(listed) == set(fields) | FORM_ONLY.get(kind, set())
    for name, info in fields.items():
        if info.is_required():
            assert listed[name] == "required", name
        elif name in ("valid_from", "valid_to"):
            assert listed[name] in ("null", "the default portion"), name
        else:
            assert info.default is not PydanticUndefined
            default = [] if info.default == () else info.default
            assert json.loads(listed[name]) == default, name


def test_every_event_has_its_heading() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)
    assert headings == [
        "claim",
        "support",
        "correction",
        "withdrawal",
        "citation",
        "summary",
        "policy",
        "redacted",
    ]
    assert set(ev.CLASSES) | {"redacted"} == set(headings)
