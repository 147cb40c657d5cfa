"""The oracle's reading and audit of a log, of the engine's stored form, and of published data."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from doxa.engine import codec, times
from doxa.engine.parse import parse
from doxa.oracle import Log, Truth, Unreadable, check_chain
from tests.oracle_rows import Rows, shared
from tests.support import shared as shared_data


@pytest.fixture
def rows() -> Rows:
    return Rows()


# ---------------------------------------------------------------- reading and auditing


def test_a_log_is_read_from_its_folder_or_its_file(rows: Rows, tmp_path: Path) -> None:
    rows.claim("a", "Łódź", source="x")
    rows.withdraw("w", "a", span=(50, 60))
    file = rows.save(tmp_path)
    for place in (tmp_path, file, str(file)):
        log = Log.read(place)
        assert Truth(log, 0, log.head).value("s", "p") == "Łódź"
        assert log.commits == rows.log().commits


def test_what_the_oracle_has_no_reading_of_is_refused() -> None:
    def read(kind: str, head: dict[str, Any]) -> None:
        Log.from_rows([(1, 1, kind, json.dumps(head).encode(), b"{}")])

    with pytest.raises(Unreadable, match="version 2"):
        read("claim", {"v": 2, "id": "a"})
    with pytest.raises(Unreadable, match="'rumour'"):
        read("rumour", {"v": 1, "id": "a"})
    for head, complaint in ((b"{", "is not JSON"), (b"[]", "is not a JSON object")):
        with pytest.raises(Unreadable, match=f"position 1 {complaint}"):
            Log.from_rows([(1, 1, "claim", head, b"{}")])


def test_an_id_stands_for_one_event_in_its_workspace(rows: Rows) -> None:
    rows.claim("a", source="x")
    rows.claim("a", workspace="w")
    assert list(rows.log().claims) == [("", "a"), ("w", "a")]
    rows.withdraw("a", "a")
    with pytest.raises(Unreadable, match="twice"):
        rows.log()


def test_a_sound_chain_has_no_problems_also_where_content_is_erased(
    rows: Rows, tmp_path: Path
) -> None:
    with rows.commit():
        rows.claim("a", source="x")
        rows.claim("b", source="x")
    rows.withdraw("w", "a")
    rows.erase("a")
    rows.save(tmp_path)
    assert check_chain(tmp_path) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE log SET data = x'7b7d' WHERE position = 2", "position 2 breaks the chain"),
        ("UPDATE log SET head = x'7b7d' WHERE position = 2", "position 2 breaks the chain"),
        ("UPDATE log SET recorded_at = 1011 WHERE position = 2", "position 2 breaks the chain"),
        ("UPDATE log SET recorded_at = 1 WHERE position = 2", "is recorded at 1, before 1000"),
        ("UPDATE log SET chain = zeroblob(32) WHERE position = 2", "position 3 breaks the chain"),
        ("DELETE FROM log WHERE position = 2", "position 3 follows 1"),
        ("DELETE FROM log WHERE position = 3", "the head is at position 3, but the log ends at 2"),
        ("DELETE FROM head", "the head is at position 0, but the log ends at 3"),
        ("UPDATE head SET chain = zeroblob(32)", "does not match the log's last row"),
        ("UPDATE log SET data = NULL WHERE position = 2", "its salt is there"),
        ("UPDATE log SET data = NULL, salt = NULL WHERE position = 2", "commitment is gone too"),
        ("UPDATE log SET salt = NULL WHERE position = 2", "position 2 has no salt"),
        ("UPDATE log SET commitment = zeroblob(32) WHERE position = 2", "not its data's"),
        ("PRAGMA user_version = 7", "user_version is 7, not 1"),
        ("UPDATE log SET data = 'text' WHERE position = 2", "can't be read as a log"),
        ("DROP TABLE head", "can't be read as a log"),
    ],
)
def test_damage_is_named(rows: Rows, tmp_path: Path, damage: str, problem: str) -> None:
    for id in "abc":
        rows.claim(id, source="x")
    file = rows.save(tmp_path)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(damage)
    assert any(problem in found for found in check_chain(tmp_path)), check_chain(tmp_path)


# ---------------------------------------------------------------- what the engine writes


def read(lines: list[dict[str, Any]]) -> Log:
    """The log of exchange lines that state every portion, in the engine's stored form."""
    rows = []
    for position, line in enumerate(lines, 1):
        event = parse(line)
        stored = codec.encode(event)
        rows.append((position, times.instant(line["recorded_at"]), event.TYPE, *stored))
    return Log.from_rows(rows)


def test_the_stored_form_of_every_event_is_read() -> None:
    at = {"recorded_at": "2024-01-02T00:00:00Z", "workspace": "w"}
    source = {"id": "x", "origin": "o", "digest": "d", "observed_at": "2024-01-01"}
    bounds = {"valid_from": None, "valid_to": "2030-01-01"}
    lines: list[dict[str, Any]] = [
        {"event": "claim", "id": "a", "subject": "s", "predicate": "p", "object": 1.5, **bounds},
        {"event": "claim", "id": "b", "subject": "s", "predicate": "p", "object": None},
        {"event": "support", "id": "s1", "claim": "b", "because": ["a", shared("z")]},
        {"event": "support", "id": "s2", "claim": "b", "source": "y", "stance": "refutes"},
        {"event": "correction", "id": "k", "corrects": "b", "by": "a", **bounds, "source": "x"},
        {"event": "withdrawal", "id": "w1", "target": "s1", "source": "who asked"},
        {"event": "withdrawal", "id": "w2", "source": "y", "valid_from": "2025-01-01"},
        {"event": "citation", "id": "q", "supports": ["a/support"], "text": "t"},
        {
            "event": "summary",
            "id": "n",
            "text": "t",
            "facts": ["a"],
            "sources": ["x"],
            "citations": ["q"],
            "binding": "snapshot",
            "subjects": ["s"],
            "valid_at": "2024-06-01",
        },
        {"event": "policy", "id": "p1", "single_valued": "p"},
        {"event": "policy", "id": "p2", "contradicts": ("a", "b")},
        {"event": "policy", "id": "p3", "verified": "a"},
        {"event": "policy", "id": "p4", "pinned": "b"},
        {"event": "policy", "id": "p5", "calibrated": {"embedder": "e", "boundary": 0.5}},
    ]
    lines[0] |= {"source": source, "kind": "hypothesis", "perspective": "ann"}
    lines[0]["recall_when"] = ["then", "now"]
    log = read([line | at for line in lines])
    a, b = log.claims["w", "a"], log.claims["w", "b"]
    assert (a.object, a.kind, a.perspective, a.valid_from) == (1.5, "hypothesis", "ann", -(2**63))
    assert (a.valid_to, b.valid_to) == (times.instant("2030-01-01"), 2**63 - 1)
    carried = log.supports["w", "a/support"]
    assert (carried.claim, carried.source, carried.origin, carried.digest) == (a.key, "x", "o", "d")
    assert log.supports["w", "s1"].because == (("w", "a"), ("", "z"))
    assert [log.supports["w", id].refutes for id in ("a/support", "s1", "s2")] == [0, 0, 1]
    (correction,) = log.corrections
    assert (correction.corrects, correction.by, correction.source) == (b.key, a.key, "x")
    assert (correction.valid_from, correction.valid_to) == (a.valid_from, a.valid_to)
    assert [(w.target, w.source) for w in log.withdrawals] == [(("w", "s1"), None), (None, "y")]
    assert log.withdrawals[1].valid_from == times.instant("2025-01-01")
    summary = log.artefacts["w", "n"]
    assert (summary.facts, summary.sources, summary.citations) == ((a.key,), ("x",), (("w", "q"),))
    assert summary.snapshot
    assert summary.subjects == ("s",)
    assert summary.valid_at == times.instant("2024-06-01")
    assert log.artefacts["w", "q"].valid_at == times.instant("2024-01-02")
    assert log.artefacts["w", "q"].supports == (carried.key,)
    assert [(p.single_valued, p.contradicts) for p in log.policies] == [
        ("p", ()),
        (None, (a.key, b.key)),
        *[(None, ())] * 3,
    ]
    assert [(p.verified, p.pinned) for p in log.policies[2:4]] == [(a.key, None), (None, b.key)]
    assert log.policies[4].calibrated == {"embedder": "e", "boundary": 0.5}
    assert (a.recall_when, b.recall_when) == (("then", "now"), ())
    assert log.commits == ((14, times.instant("2024-01-02")),)


def lines_of(*parts: str) -> list[dict[str, Any]]:
    text = shared_data("data", *parts).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def ask(log: Log, question: dict[str, Any]) -> Any:
    valid_at, known_at = (times.instant(question[name]) for name in ("valid_at", "known_at"))
    truth = Truth(log, valid_at, log.known_at(known_at))
    held = [log.claims[key] for key in truth.held()]
    held = [c for c in held if c.predicate == question["predicate"]]
    held = [c for c in held if question.get("subject") in (None, c.subject)]
    match question["type"]:
        case "holders":
            return sorted({c.subject for c in held if c.object["office"] == question["office"]})
        case "party":
            objects = [c.object for c in held if c.object["office"] == question["office"]]
            return sorted({found["party"] for found in objects})
        case "is_active":
            return any(c.object["id"] == question["advisory"] for c in held)
        case "patched":
            found = [c.object for c in held if c.object["id"] == question["advisory"]]
            return found[0]["patched"] if found else None
        case "active_set":
            return sorted(c.object["id"] for c in held)
        case "active_count":
            return len(held)
        case "alias_lookup":
            return sorted(c.object["id"] for c in held if question["alias"] in c.object["aliases"])
    raise AssertionError(f"no way to ask {question['type']}")


@pytest.mark.parametrize("name", ["advisories", "us_executive"])
def test_published_histories_are_answered_as_their_own_tables_do(name: str) -> None:
    log = read(lines_of(name, "events.jsonl"))
    questions = lines_of(name, "questions.jsonl")
    wrong = [q["id"] for q in questions if ask(log, q) != q["expect"]]
    assert questions
    assert wrong == []
