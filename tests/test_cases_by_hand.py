"""What the cases ask for beyond statements: processes, clocks, zones, files and round trips."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events, exported
from tests import children
from tests.cases_names import cases, names, prepared, shows
from tests.support import ROOT

CASES = cases()
NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def _claim(id: str, object: Any = 1, **fields: Any) -> dict[str, Any]:
    base = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "source": "s"}
    return {**base, "object": object, **fields}


def _ids(ledger: doxa.Ledger) -> list[str]:
    return [json.loads(line)["id"] for line in export_events(ledger)]


# ---------------------------------------------------------------- clocks and zones


@shows("C005")
def test_a_frozen_clock_makes_neither_empty_intervals_nor_lost_values(tmp_path: Path) -> None:
    case = CASES["C005"]
    with prepared(case, tmp_path, clock=lambda: NOON) as found:
        assert all(eval(check, found) for check in case.checks)
        ledger = found["ledger"]
        stamps = [
            ledger.view(valid_at="2024-06-01", known_at=k).known_at
            for k in range(1, ledger.revision + 1)
        ]
    assert stamps == [NOON + timedelta(microseconds=n) for n in range(3)]


@shows("C090")
def test_commits_at_one_clock_reading_are_a_microsecond_apart(tmp_path: Path) -> None:
    case = CASES["C090"]
    with prepared(case, tmp_path, clock=lambda: NOON) as found:
        assert all(eval(check, found) for check in case.checks)
        lines = list(export_events(found["ledger"]))
        beliefs = found["ledger"].history("x", "p", valid_at="2024-06-01")
        assert [b.known_at - NOON for b in beliefs] == [timedelta(microseconds=n) for n in range(3)]
    with doxa.open() as again:
        again.import_events(lines)
        assert again.history("x", "p", valid_at="2024-06-01") == beliefs


@shows("C089")
def test_a_clock_that_runs_back_orders_nothing() -> None:
    now = [NOON]
    with doxa.open(clock=lambda: now[0]) as ledger:
        for number, ahead in enumerate((1, 0, 0)):
            now[0] = NOON + timedelta(hours=ahead)
            ledger.claim("x", "p", number, source="s")
        stamps = [item.known_at for item in ledger.history("x", "p", valid_at="2024-06-01")]
    thirteen = NOON + timedelta(hours=1)
    assert stamps == [thirteen + timedelta(microseconds=n) for n in range(3)]


@shows("C013")
def test_the_zone_of_the_host_changes_no_answer(tmp_path: Path) -> None:
    zones = ["UTC", "America/New_York", "Pacific/Auckland"]
    answers = {children.run("zone", tmp_path / zone, TZ=zone) for zone in zones}
    assert len(answers) == 1
    assert answers.pop().startswith("[2]\n")


# ---------------------------------------------------------------- exports


@shows("C011")
def test_microseconds_survive_export_and_import(tmp_path: Path) -> None:
    case = CASES["C011"]
    with prepared(case, tmp_path) as found, doxa.open(tmp_path / "copy") as copy:
        report = copy.import_events(list(export_events(found["ledger"])))
        assert (report.events, report.set_aside) == (2, ())
        again = names(copy)
        assert all(eval(check, again) for check in case.checks)


def _exports_in_order(id: str, folder: Path) -> list[tuple[str, str]]:
    with prepared(CASES[id], folder) as found:
        lines = [json.loads(line) for line in export_events(found["ledger"])]
    assert [line["id"] for line in lines] == [event["id"] for event in CASES[id].events]
    return [(line["event"], line["id"]) for line in lines]


@shows("C020")
def test_what_was_claimed_and_withdrawn_at_once_is_exported_in_that_order(tmp_path: Path) -> None:
    kinds = [kind for kind, _ in _exports_in_order("C020", tmp_path)]
    assert kinds == ["claim", "withdrawal"]


@shows("C023")
def test_every_event_of_a_commit_is_exported_though_no_view_lies_between(tmp_path: Path) -> None:
    assert len(_exports_in_order("C023", tmp_path)) == 4


@shows("C029")
def test_late_arrivals_are_exported_in_the_order_of_arrival(tmp_path: Path) -> None:
    assert len(_exports_in_order("C029", tmp_path)) == 8


@shows("C103")
@pytest.mark.parametrize("size", [1, 3, 7, 10])
def test_pages_of_any_size_join_to_the_whole_commit(size: int, tmp_path: Path) -> None:
    with prepared(CASES["C103"], tmp_path) as found:
        ledger = found["ledger"]
        ids = list(_paged(ledger, size))
        assert ids == [event["id"] for event in CASES["C103"].events]
        assert len(set(ids)) == 11


def _paged(ledger: doxa.Ledger, size: int) -> Iterator[str]:
    cursor = 0
    while page := list(exported(ledger, since=cursor, limit=size)):
        cursor = page[-1].position
        yield from (json.loads(item.line)["id"] for item in page)


@shows("C104")
def test_what_comes_in_between_two_pages_is_on_the_next_one(ledger: doxa.Ledger) -> None:
    for number in range(10):
        ledger.append([_claim(f"c{number}", number)])
    view = ledger.view(valid_at="2024-06-01")
    first = list(exported(ledger, limit=5))
    ledger.append([_claim(f"d{number}", number) for number in range(3)])
    rest = list(exported(ledger, since=first[-1].position))
    assert [item.position for item in [*first, *rest]] == list(range(1, 14))
    assert len(rest) == 8
    assert [claim.id for claim in view.claims()] == [f"c{number}" for number in range(10)]


@shows("C096")
def test_verification_hashes_the_bytes_that_were_written(tmp_path: Path) -> None:
    objects = [{"b": 1, "a": {"d": 2, "c": 3}}, 1.0, 1e3, 10000000000000001, "\u00e9", "e\u0301"]
    with doxa.open(tmp_path / "one") as ledger:
        for number, item in enumerate(objects):
            ledger.claim(f"x{number}", "p", item, id=f"c{number}", source="s")
        assert ledger.verify().ok
        lines = list(export_events(ledger))
    with doxa.open(tmp_path / "one") as ledger, doxa.open(tmp_path / "two") as copy:
        assert ledger.verify().ok
        assert copy.import_events(lines, strict=True).events == len(objects)
        assert copy.verify().ok
        assert list(export_events(copy)) == lines
        for place in (ledger, copy):
            view = place.view(valid_at="2024-06-01")
            found = [view.value(f"x{number}", "p") for number in range(len(objects))]
            assert found == objects
            assert list(found[0]) == ["b", "a"]


# ---------------------------------------------------------------- budgets, scores, sizes


@shows("C073")
def test_at_any_budget_a_quote_is_printed_whole_or_not_at_all(tmp_path: Path) -> None:
    quote = "na\u00efve caf\u00e9 \U0001f469\u200d\U0001f680 said"
    with prepared(CASES["C073"], tmp_path) as found:
        ledger = found["ledger"]
        view = ledger.view(valid_at="2024-06-01")
        cited = ledger.cite(quote, claim="f")
        given = [{"id": "t", "text": quote, "facts": ["f"], "citations": [cited], "score": 1.0}]
        view = ledger.view(valid_at="2024-06-01")
        for budget in [*range(1, 61), 400]:
            block = ledger.assemble("q", candidates=given, view=view, budget=budget)
            assert len(block.text) <= budget
            assert (quote in block.text) == bool(block.text)
        assert quote in block.text


@shows("C080")
@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf"), None])
def test_a_score_that_is_no_number_keeps_its_candidate_out(
    score: float | None, tmp_path: Path
) -> None:
    with prepared(CASES["C080"], tmp_path) as found:
        ledger = found["ledger"]
        given = [
            {"id": "t1", "text": "one", "facts": ["f"], "score": 0.9},
            {"id": "t2", "text": "two", "facts": ["f"], "score": score},
            {"id": "t3", "text": "three", "facts": ["f"], "score": 0.8},
        ]
        view = ledger.view(valid_at="2024-06-01")
        block = ledger.assemble("q", candidates=given, view=view, budget=400, top_k=2)
        assert found["left_out"](block) == {"t2": "invalid_annotation"}
        assert block.text.index("one") < block.text.index("three")
        for bad in (float("nan"), float("inf"), float("-inf")):
            for item in (bad, [bad], {"deep": [{"er": bad}]}):
                assert found["refused"](lambda item=item: ledger.claim("x", "p", item, source="s"))
        bare = '{"event":"claim","id":"n","subject":"x","predicate":"p","source":"s","object":'
        report = ledger.import_events([f"{bare}{word}}}" for word in ("NaN", "-Infinity", "1e999")])
        assert [item.line for item in report.set_aside] == [1, 2, 3]


@shows("C082")
@pytest.mark.parametrize(
    ("text", "stored"),
    [("v" * 3_000_000, False), ("\U0001f600" * 300_000, False), ("\U0001f600" * 260_000, True)],
    ids=["three-megabytes", "emoji-over-in-bytes-only", "emoji-within"],
)
def test_a_text_is_stored_whole_or_refused_whole(
    text: str, stored: bool, ledger: doxa.Ledger
) -> None:
    if stored:
        ledger.claim("x", "p", text, source="s")
        assert ledger.view(valid_at="2024-06-01").value("x", "p") == text
        return
    size = len(text.encode())
    with pytest.raises(doxa.PayloadTooLarge, match=r"has [0-9,]+ bytes; the limit is 1,048,576"):
        ledger.claim("x", "p", text, source="s")
    assert size > 1_048_576
    assert ledger.revision == 0


# ---------------------------------------------------------------- processes and damage


@shows("C084")
def test_two_processes_append_a_thousand_claims_and_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "both.doxa"
    writers = [children.start("append", path, name, 500) for name in ("ada", "bo")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, err = writer.communicate(timeout=100)
        assert writer.returncode == 0, err
    with doxa.open(path) as ledger:
        rows = [row for page in ledger.recorder.read_rows() for row in page]
        assert [row.position for row in rows] == list(range(1, 1001))
        assert all(a.recorded_at < b.recorded_at for a, b in pairwise(rows))
        view = ledger.view(valid_at="2024-06-01")
        for name in ("ada", "bo"):
            assert view.values(name, "counts") == tuple(range(500))
        assert ledger.verify().ok


@shows("C087")
def test_a_killed_writer_leaves_whole_commits_and_a_ledger_that_goes_on(tmp_path: Path) -> None:
    path, chance = tmp_path / "killed.doxa", random.Random(7)
    acknowledged: set[int] = set()
    for _ in range(5):
        writer = children.start("until-killed", path, "w", 7)
        assert writer.stdout is not None
        acknowledged.add(int(writer.stdout.readline()))
        time.sleep(chance.random() * 0.05)
        writer.send_signal(signal.SIGKILL)
        out, _ = writer.communicate(timeout=60)
        acknowledged |= {int(line) for line in out.split("\n")[:-1]}
        with doxa.open(path) as ledger:
            report = ledger.verify(oracle=False)
            assert report.ok, str(report)
            sizes = Counter(claim.subject for claim in ledger.view(valid_at="2024-06-01").claims())
            assert {f"w-{number}" for number in acknowledged} <= set(sizes)
            assert {size for subject, size in sizes.items() if subject != "after"} == {7}
            ledger.claim("after", "p", 1, source="s")


@shows("C093")
def test_nothing_of_a_refused_append_is_anywhere_in_the_folder(tmp_path: Path) -> None:
    secret = "TOP-SECRET-7319"
    path = tmp_path / "secret.doxa"
    with doxa.open(path) as ledger:
        ledger.claim("x", "p", "known", source="s")
        with pytest.raises(doxa.RevisionConflict):
            ledger.append([_claim("a", secret)], expected_revision=0)
        with pytest.raises(doxa.InvalidTime):
            ledger.append([_claim("b", secret, valid_from="2024-02-01", valid_to="2024-01-01")])
        with pytest.raises(doxa.UnknownTarget):
            ledger.append([_claim("c", secret), {"event": "withdrawal", "id": "w", "target": "no"}])
        with pytest.raises(doxa.ClockError):
            ledger.append([_claim("d", secret)], recorded_at="1999-01-01")
        assert children.files_with(path, secret.encode()) == []
    assert children.files_with(path, secret.encode()) == []
    assert children.files_with(path, b"known") != []


@shows("C098")
def test_a_log_whose_end_was_cut_off_does_not_verify(tmp_path: Path) -> None:
    path = tmp_path / "cut.doxa"
    with doxa.open(path) as ledger:
        for number in range(10):
            ledger.append([_claim(f"c{number}", number)])
        head = ledger.verify()
        assert head.ok
    with sqlite3.connect(path / "log.sqlite") as store:
        store.execute("DELETE FROM log WHERE position > 7")
    store.close()
    with doxa.open(path) as ledger:
        report = ledger.verify()
        assert not report.ok
        problem = report.problems[0]
        assert problem.position == 7
        assert head.chain in problem.message
        assert "10" in problem.message
        with pytest.raises(doxa.DamageError):
            ledger.view(valid_at="2024-06-01")
        with pytest.raises(doxa.DamageError):
            ledger.claim("x", "p", 1, source="s")
    told = subprocess.run(
        [sys.executable, "-m", "doxa", "verify", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.returncode == 4, told.stderr
    assert head.chain in told.stdout + told.stderr


# ---------------------------------------------------------------- compaction


class _Days:
    """A clock that is set by the day."""

    def __init__(self) -> None:
        self.day = 0

    def __call__(self) -> datetime:
        return NOON + timedelta(days=self.day)


@shows("C099")
def test_a_view_inside_the_window_is_answered_from_a_change_before_it(tmp_path: Path) -> None:
    clock = _Days()
    with doxa.open(tmp_path / "l", clock=clock) as ledger:
        ledger.claim("x", "p", "quiet", source="s")
        clock.day = 12
        ledger.compact(older_than=10)
        eight_days_ago = NOON + timedelta(days=4)
        assert ledger.view(valid_at=NOON, known_at=eight_days_ago).value("x", "p") == "quiet"
        assert ledger.view(valid_at=NOON, known_at=NOON).value("x", "p") == "quiet"


@shows("C100")
def test_each_of_twenty_versions_is_as_before_or_says_compacted(tmp_path: Path) -> None:
    clock = _Days()
    with doxa.open(tmp_path / "l", clock=clock) as ledger:
        ledger.claim("x", "p", 0, source="s", id="v0")
        for version in range(1, 21):
            clock.day += 1
            ledger.append(
                [
                    _claim(f"v{version}", version),
                    {"event": "correction", "id": f"k{version}", "corrects": f"v{version - 1}",
                     "by": f"v{version}"},
                ]
            )  # fmt: skip
        assert ledger.compact(versions=5).claims == 16
        for version in range(21):
            view = ledger.view(valid_at=NOON, known_at=NOON + timedelta(days=version))
            if version > 15:
                assert view.value("x", "p") == version
                assert view.standing(f"v{version}") == "reported"
                continue
            assert view.standing(f"v{version}") == "compacted"
            with pytest.raises(doxa.Compacted) as refused:
                view.value("x", "p")
            assert refused.value.count > 0
            assert len(bytes.fromhex(refused.value.digest)) == 32
        assert ledger.verify().ok


@shows("C102")
def test_a_history_that_was_compacted_begins_when_it_knows_and_is_null_before(
    tmp_path: Path,
) -> None:
    with prepared(CASES["C102"], tmp_path) as found:
        ledger = found["ledger"]
        ledger.append([_claim("b", 2), {"event": "correction", "id": "k", "corrects": "a",
                                        "by": "b"}])  # fmt: skip
        ledger.compact(versions=1)
        lost, known = ledger.history("x", "p", valid_at="2024-06-01")
        assert (lost.known_at, lost.values) == (None, None)
        assert known.known_at is not None
        assert known.values == (2,)
        with pytest.raises(doxa.Compacted):
            _ = lost.value
        assert "1970" not in str((lost, known, found["view"]("2024-06-01").why("b")))
