"""Published histories with questions whose answers were found without doxa."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events
from doxa.oracle import Log, Truth
from tests.support import ROOT, shared

# name: events, commits, questions, and an instant of valid time in the midst of it
FIGURES = {
    "covid_vintages": (25_010, 426, 56, "2020-04-15"),
    "advisories": (588, 206, 93, "2030-01-01"),
    "us_executive": (492, 10, 56, "1990-06-01"),
}
for _name in FIGURES:
    shared("data", _name)


@dataclass(frozen=True)
class Told:
    """One history in a ledger on disk."""

    name: str
    ledger: doxa.Ledger
    events: Path
    questions: list[dict[str, Any]]
    report: Any


@pytest.fixture(scope="module", params=FIGURES)
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    name = request.param
    folder = tmp_path_factory.mktemp(name)
    events = shared("data", name) / "events.jsonl"
    if not events.exists():
        packed = gzip.decompress(events.with_suffix(".jsonl.gz").read_bytes())
        events = folder / "events.jsonl"
        events.write_bytes(packed)
    lines = (shared("data", name) / "questions.jsonl").read_text("utf-8").splitlines()
    with doxa.open(folder / "history.doxa") as ledger:
        report = ledger.import_events(events)
        yield Told(name, ledger, events, [json.loads(line) for line in lines], report)


# ---------------------------------------------------------------- the questions


def _same(found: object, expected: object) -> bool:
    """Equal as JSON: numbers by value, true is not 1, lists in order."""
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, list | tuple) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(_same, found, expected))
    return found == expected


def _answer(ledger: doxa.Ledger, q: dict[str, Any]) -> Any:
    if q["type"] in _ASKED:
        return _ASKED[q["type"]](ledger, q)
    claims = _claims(ledger, q)
    match q["type"]:
        case "holders":
            return sorted({c.subject for c in claims if c.object["office"] == q["office"]})
        case "party":
            return sorted({c.object["party"] for c in claims if c.object["office"] == q["office"]})
        case "is_active":
            return any(c.object["id"] == q["advisory"] for c in claims)
        case "patched":
            found = [c.object["patched"] for c in claims if c.object["id"] == q["advisory"]]
            return found[0] if found else None
        case "active_set":
            return sorted(c.object["id"] for c in claims)
        case "active_count":
            return len(claims)
        case "alias_lookup":
            return sorted(c.object["id"] for c in claims if q["alias"] in c.object["aliases"])
    raise AssertionError(f"no such type of question: {q['type']}")


def _claims(ledger: doxa.Ledger, q: dict[str, Any]) -> list[Any]:
    view = ledger.view(valid_at=q["valid_at"], known_at=q["known_at"])
    return view.claims(subject=q.get("subject"), predicate=q["predicate"])


def _value(ledger: doxa.Ledger, q: dict[str, Any]) -> Any:
    view = ledger.view(valid_at=q["valid_at"], known_at=q["known_at"])
    values = view.values(q["subject"], q["predicate"])
    try:
        found = view.value(q["subject"], q["predicate"])
    except doxa.NotHeld:
        assert values == ()
        return None
    assert values == (found,)
    return found


def _diff_count(ledger: doxa.Ledger, q: dict[str, Any]) -> int:
    day, last = date.fromisoformat(q["valid_from"]), date.fromisoformat(q["valid_until"])
    differing = 0
    while day <= last:
        one, other = (
            ledger.view(valid_at=day, known_at=at).values(q["subject"], q["predicate"])
            for at in (q["known_at"], q["other_known_at"])
        )
        differing += bool(one and other and one != other)
        day += timedelta(days=1)
    return differing


def _belief_history(ledger: doxa.Ledger, q: dict[str, Any]) -> list[Any]:
    until = ledger.view(valid_at=q["known_at"]).valid_at
    values: list[Any] = []
    for item in ledger.history(q["subject"], q["predicate"], valid_at=q["valid_at"]):
        assert item.known_at is not None, "nothing was compacted"
        if item.known_at <= until and item.values and values[-1:] != [item.value]:
            values.append(item.value)
    return values


_ASKED: dict[str, Callable[[doxa.Ledger, dict[str, Any]], Any]] = {
    "value": _value,
    "diff_count": _diff_count,
    "belief_history": _belief_history,
}


def _wrong(ledger: doxa.Ledger, questions: list[dict[str, Any]]) -> list[str]:
    wrong = []
    for q in questions:
        found = _answer(ledger, q)
        if not _same(found, q["expect"]):
            wrong.append(f"{q['id']} ({q['type']}; {q['hard']}): {found!r}, not {q['expect']!r}")
    return wrong


# ---------------------------------------------------------------- the tests


def test_every_line_of_a_history_goes_in(told: Told) -> None:
    events, commits, _, _ = FIGURES[told.name]
    assert told.report.set_aside == ()
    assert (told.report.events, told.report.commits, told.report.repeated) == (events, commits, 0)
    assert told.ledger.revision == events


def test_every_question_has_the_published_answer(told: Told) -> None:
    assert len(told.questions) == FIGURES[told.name][2]
    assert not _wrong(told.ledger, told.questions)


def test_a_second_import_changes_nothing(told: Told) -> None:
    events = FIGURES[told.name][0]
    report = told.ledger.import_events(told.events)
    assert (report.events, report.commits, report.repeated) == (0, 0, events)
    assert report.set_aside == ()
    assert told.ledger.revision == events


def test_the_same_folder_opened_again_gives_the_same_answers(told: Told) -> None:
    assert told.ledger.path is not None
    with doxa.open(told.ledger.path, create=False) as again:
        assert not _wrong(again, told.questions[::3])
        for k in (0, told.ledger.revision):
            now, before = (
                place.view(valid_at=FIGURES[told.name][3], known_at=k).fingerprint
                for place in (again, told.ledger)
            )
            assert now == before


def test_the_oracle_believes_the_same_of_a_history(told: Told) -> None:
    assert told.ledger.path is not None
    log = Log.read(told.ledger.path)
    lasts = [commit.last for commit in log.commits]
    for known_at in (lasts[len(lasts) // 3], lasts[-1]):
        view = told.ledger.view(valid_at=FIGURES[told.name][3], known_at=known_at)
        truth = Truth(log, view.v, known_at)
        found = {("", claim.id): str(claim.standing) for claim in view.claims(standing="any")}
        assert found == truth.standings()


def test_an_export_is_the_history_again(told: Told, tmp_path: Path) -> None:
    lines = list(export_events(told.ledger))
    published = told.events.read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [
        json.loads(line)["id"] for line in published
    ]
    if told.name == "covid_vintages":
        return  # the others show the rest in a tenth of the time
    with doxa.open(tmp_path / "copy.doxa") as copy:
        assert copy.import_events(lines, strict=True).set_aside == ()
        assert list(export_events(copy)) == lines
        assert not _wrong(copy, told.questions)


def test_a_history_verifies(told: Told) -> None:
    report = told.ledger.verify(oracle=told.name == "us_executive")
    assert report.ok, str(report)
    assert report.events == FIGURES[told.name][0]


def test_the_command_line_imports_and_answers_the_same(told: Told, tmp_path: Path) -> None:
    if told.name == "covid_vintages":
        packed = shared("data", told.name) / "events.jsonl.gz"  # as it is published
    else:
        packed = told.events
    path = tmp_path / "cli.doxa"
    done = _doxa("import", path, packed, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    events, commits, _, day = FIGURES[told.name]
    assert (report["events"], report["commits"], report["set_aside"]) == (events, commits, [])
    with doxa.open(path, create=False) as ledger:
        assert ledger.view(valid_at=day).fingerprint == told.ledger.view(valid_at=day).fingerprint
        assert not _wrong(ledger, told.questions[::5])


def _doxa(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doxa", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
