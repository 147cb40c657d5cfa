"""Events as earlier versions of doxa stored them: each can still be read, and means the same.

`stored/version-N.jsonl` holds, for every kind of event, the bytes that version N wrote and the
exchange line that they say. No line of these files is ever changed: what an event may say besides
gets a line of its own, and a new version a file of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doxa.engine import codec
from doxa.engine.errors import DamageError, NewerFormat
from doxa.engine.events import CLASSES, Claim, same_content
from doxa.engine.parse import parse

STORED = sorted((Path(__file__).parent / "stored").glob("version-*.jsonl"))


def examples(*files: Path) -> list[Any]:
    return [
        pytest.param(json.loads(line), id=f"{file.stem}-{json.loads(line)['line']['id']}")
        for file in files
        for line in file.read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize("example", examples(*STORED))
def test_a_stored_event_reads_as_what_was_said(example: dict[str, Any]) -> None:
    kind, head, data = example["type"], example["head"].encode(), example["data"].encode()
    assert codec.decode(kind, head, data) == parse(example["line"])


@pytest.mark.parametrize("example", examples(STORED[-1]))
def test_an_event_of_this_version_is_stored_as_its_example_is(example: dict[str, Any]) -> None:
    stored = codec.encode(parse(example["line"]))
    assert stored == (example["head"].encode(), example["data"].encode())


def test_every_version_has_examples_of_every_event() -> None:
    assert [file.stem for file in STORED] == [f"version-{n}" for n in range(1, codec.VERSION + 1)]
    for file in STORED:
        kinds = {json.loads(line)["type"] for line in file.read_text("utf-8").splitlines()}
        assert kinds == set(CLASSES)


def test_a_later_version_is_refused_and_not_guessed_at() -> None:
    head = json.dumps({"v": codec.VERSION + 1, "id": "c"}).encode()
    with pytest.raises(NewerFormat, match="upgrade doxa"):
        codec.decode("claim", head, b"{}")
    with pytest.raises(NewerFormat, match="upgrade doxa"):
        codec.decode("prophecy", json.dumps({"v": 1, "id": "c"}).encode(), b"{}")


def test_bytes_that_no_version_wrote_are_damage() -> None:
    with pytest.raises(DamageError):
        codec.decode("claim", b'{"v":1,"id"', b"{}")


def test_an_older_event_is_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(head: dict[str, Any], data: dict[str, Any]) -> None:
        data["object"] = data.pop("value")

    def moved(head: dict[str, Any], data: dict[str, Any]) -> None:
        head["kind"] = data.pop("kind", "fact")

    monkeypatch.setattr(codec, "VERSION", 3)
    monkeypatch.setitem(codec._UPCASTS, ("claim", 1), renamed)
    monkeypatch.setitem(codec._UPCASTS, ("claim", 2), moved)
    data = b'{"subject":"x","predicate":"p","value":1,"kind":"hypothesis"}'
    read = codec.decode("claim", b'{"v":1,"id":"c"}', data)
    said = Claim(id="c", subject="x", predicate="p", object=1, kind="hypothesis")
    assert same_content(read, said)
