"""Compaction: what goes and what stays, what is told of it, and what is left of the file."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events
from doxa.engine import gaps
from doxa.engine.compaction import CompactingStream
from doxa.ledger import Ledger
from doxa.oracle import check_chain
from tests import children
from tests.test_cli import run

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Iterator[Ledger]:
    with doxa.open(path, clock=clock) as found:
        yield found


def claim(id: str, value: Any = 1, **fields: Any) -> dict[str, Any]:
    said = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "source": "s"}
    return {**said, "object": value, **fields}


def versions(ledger: Ledger, count: int, name: str = "v", **fields: Any) -> None:
    """A claim and its corrections, each in a commit with the claim that replaces it."""
    ledger.append([claim(f"{name}0", 0, **fields)])
    for number in range(1, count):
        correction = {"event": "correction", "id": f"{name}k{number}"}
        ledger.append(
            [
                claim(f"{name}{number}", number, **fields),
                {**correction, "corrects": f"{name}{number - 1}", "by": f"{name}{number}"},
            ]
        )


def size_of(ledger: Ledger) -> int:
    """The bytes of the log that are in use."""
    stream = ledger._stream
    assert isinstance(stream, CompactingStream)
    return stream.size


def ids(ledger: Ledger) -> list[str]:
    return [json.loads(line).get("id") for line in export_events(ledger)]


def standings(ledger: Ledger, *names: str) -> list[str]:
    view = ledger.view(valid_at=NOON)
    return [str(view.standing(name)) for name in names]


# ---------------------------------------------------------------- what goes


def test_nothing_is_compacted_unless_somebody_asks_for_it(ledger: Ledger) -> None:
    versions(ledger, 4)
    with pytest.raises(doxa.CallerError, match="nothing says what is to be compacted"):
        ledger.compact()
    assert standings(ledger, "v0", "v1") == ["superseded", "superseded"]


def test_versions_count_from_the_newest_back(ledger: Ledger) -> None:
    versions(ledger, 6)
    done = ledger.compact(versions=2)
    assert (done.claims, done.events) == (4, 8)
    expected = ["compacted"] * 4 + ["superseded", "reported"]
    assert standings(ledger, *(f"v{n}" for n in range(6))) == expected


def test_age_counts_from_the_last_change_of_a_claim(ledger: Ledger, clock: Clock) -> None:
    versions(ledger, 2, "old", subject="y")
    clock.pass_days(5)
    versions(ledger, 2, "new")
    clock.pass_days(1.01)
    assert ledger.compact(older_than=3).claims == 1
    assert standings(ledger, "old0", "new0") == ["compacted", "superseded"]
    assert ledger.compact(older_than=timedelta(hours=24)).claims == 1
    assert standings(ledger, "new0", "new1") == ["compacted", "reported"]


def test_what_was_withdrawn_goes_by_age_with_its_withdrawal(ledger: Ledger, clock: Clock) -> None:
    ledger.append([claim("a"), {"event": "withdrawal", "id": "w", "target": "a"}])
    assert ledger.compact(versions=1).claims == 0
    clock.pass_days(2)
    assert ledger.compact(older_than=1).events == 2
    assert standings(ledger, "a") == ["compacted"]
    with pytest.raises(doxa.Compacted):
        ledger.view(valid_at=NOON).standing("w")


def test_bytes_take_the_oldest_until_it_is_enough(ledger: Ledger) -> None:
    for number in range(40):
        versions(ledger, 4, f"s{number:02}-", subject=f"subject {number}", text="word " * 100)
    size = size_of(ledger)
    done = ledger.compact(bytes=size - 30_000)
    assert 20_000 < done.bytes < 40_000
    gone = [
        name
        for name in (f"s{n:02}-0" for n in range(40))
        if standings(ledger, name)[0] == "compacted"
    ]
    assert gone == sorted(gone)
    assert gone == [f"s{n:02}-0" for n in range(len(gone))]
    assert 0 < len(gone) < 40
    assert size_of(ledger) < size - 10_000


def test_a_limit_takes_the_oldest_first(ledger: Ledger) -> None:
    versions(ledger, 6)
    assert ledger.compact(versions=1, limit=5).events == 4
    assert standings(ledger, "v0", "v1", "v2") == ["compacted", "compacted", "superseded"]


def test_a_dry_run_says_what_would_go_and_writes_nothing(ledger: Ledger) -> None:
    versions(ledger, 5)
    before = ids(ledger), ledger.revision
    planned = ledger.compact(versions=2, dry_run=True)
    assert (ids(ledger), ledger.revision) == before
    done = ledger.compact(versions=2)
    assert planned.dry_run
    assert planned.position is None
    assert (planned.stretches, planned.claims, planned.events, planned.bytes, planned.digest) == (
        done.stretches, done.claims, done.events, done.bytes, done.digest,
    )  # fmt: skip
    assert done.stretches == ((1, 5), (7, 7))
    assert "3 claims, 6 events would be compacted in 2 stretches" in str(planned)


@pytest.mark.parametrize(
    "given",
    [
        {"older_than": -1}, {"older_than": "3"}, {"older_than": True}, {"older_than": float("nan")},
        {"older_than": timedelta(days=-1)}, {"versions": 0}, {"versions": 1.5}, {"bytes": -1},
        {"versions": 1, "limit": 0}, {"versions": 1, "now": NOON}, {"versions": 1, "dry_run": 1},
    ],
)  # fmt: skip
def test_what_can_not_be_meant_is_refused(ledger: Ledger, given: dict[str, Any]) -> None:
    versions(ledger, 3)
    with pytest.raises(doxa.CallerError):
        ledger.compact(**given)
    assert standings(ledger, "v0") == ["superseded"]


# ---------------------------------------------------------------- what stays


STAYING = {
    "held": [],
    "rested on by what is held": [claim("d", source=None, because=["v0"])],
    "cited": [{"event": "citation", "id": "q", "text": "t", "supports": ["v0/support"]}],
    "a fact of a summary": [{"event": "summary", "id": "u", "text": "t", "facts": ["v0"]}],
    "pinned": [{"event": "policy", "id": "o", "pinned": "v0"}],
    "verified": [{"event": "policy", "id": "o", "verified": "v0"}],
    "archived": [{"event": "policy", "id": "o", "archived": ["v0"]}],
    "scored": [{"event": "policy", "id": "o", "scored": "v0", "importance": 0.5}],
    "contradicting": [claim("z", 9), {"event": "policy", "id": "o", "contradicts": ["v0", "z"]}],
    "refuted": [{"event": "support", "id": "r", "claim": "v0", "source": "t", "stance": "refutes"}],
    "in sight of a snapshot": [
        {"event": "summary", "id": "u", "text": "t", "binding": "snapshot"},
    ],
    "of a subject that a snapshot is bound to": [
        {"event": "summary", "id": "u", "text": "t", "binding": "snapshot", "subjects": ["x"]},
    ],
    "perhaps meant by a name": [
        claim("z", 9),
        {"event": "correction", "id": "n", "unresolved": "v", "candidates": ["v0", "z"]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("why", STAYING)
def test_what_something_else_needs_stays(ledger: Ledger, why: str) -> None:
    ledger.append([claim("v0", 0)])
    if STAYING[why]:
        ledger.append(STAYING[why])
    if why != "held":
        ledger.append(
            [claim("v1", 1), {"event": "correction", "id": "k", "corrects": "v0", "by": "v1"}]
        )
    assert ledger.compact(older_than=0).claims == 0
    assert ledger.compact(versions=1).claims == 0
    assert ledger.view(valid_at=NOON).claim("v0").object == 0


def test_what_a_source_may_bring_back_stays(ledger: Ledger) -> None:
    ledger.append([claim("a", 0), claim("b", 1)])
    ledger.correct("a", by="b", source="editor")
    assert ledger.compact(older_than=0).claims == 0
    ledger.withdraw(doxa.Source("editor"))
    assert standings(ledger, "a") == ["reported"]


def test_what_was_replaced_by_a_claim_that_goes_goes_with_it_or_keeps_it(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.append([{"event": "policy", "id": "o", "pinned": "v0"}])
    assert ledger.compact(older_than=0).claims == 0
    assert ledger.view(valid_at=NOON).successors("v0") == ["v2"]


def test_what_rests_on_a_claim_that_goes_goes_with_it(ledger: Ledger) -> None:
    ledger.append([claim("a"), claim("d", 2, source=None, because=["a"])])
    ledger.append([{"event": "withdrawal", "id": "w", "target": "a"}])
    assert ledger.compact(older_than=0).claims == 0
    ledger.append([{"event": "withdrawal", "id": "w2", "target": "d"}])
    assert ledger.compact(older_than=0).claims == 2


def test_what_was_erased_stays_as_it_is(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.append([{"event": "policy", "id": "o", "archived": ["v0"]}])
    ledger.purge("v0")
    ledger.compact(older_than=0)
    assert standings(ledger, "v0", "v1") == ["redacted", "superseded"]


def test_a_snapshot_that_came_after_the_last_change_keeps_nothing(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.summarize("x is 2", facts=["v2"], binding="snapshot", id="u")
    assert ledger.compact(older_than=0).claims == 2
    assert ledger.judge("u", ledger.view(valid_at=NOON))[0].eligible


# ---------------------------------------------------------------- what is told


def test_a_question_whose_answer_is_gone_says_so_with_count_and_digest(ledger: Ledger) -> None:
    versions(ledger, 5)
    done = ledger.compact(versions=1)
    view = ledger.view(valid_at=NOON, known_at=3)
    with pytest.raises(doxa.Compacted) as refused:
        view.value("x", "p")
    assert refused.value.code == "compacted"
    assert done.stretches == ((1, 7), (9, 9))
    assert refused.value.count == 7
    assert refused.value.digest != done.digest  # that of the record of all
    assert refused.value.digest in str(refused.value)
    assert view.values("x", "q") == ()
    assert view.values("y", "p") == ()


def test_what_is_gone_is_not_missed_where_it_was_not_held(ledger: Ledger) -> None:
    ledger.append([claim("a", 1, valid_from="2024-01-01", valid_to="2025-01-01")])
    ledger.append([claim("b", 2, valid_from="2025-01-01")])
    ledger.append([{"event": "withdrawal", "id": "w", "target": "a"}])
    ledger.compact(older_than=0)
    assert ledger.view(valid_at=NOON, known_at=2).value("x", "p") == 2
    with pytest.raises(doxa.Compacted):
        ledger.view(valid_at="2024-06-01", known_at=2).value("x", "p")
    with pytest.raises(doxa.NotHeld):
        ledger.view(valid_at="2024-06-01").value("x", "p")


def test_known_at_finds_the_commits_of_compacted_events(ledger: Ledger, clock: Clock) -> None:
    clock.pass_days(1)
    versions(ledger, 3)
    clock.pass_days(1)
    ledger.append([claim("b", 2, predicate="q")])
    before = [
        ledger.view(valid_at=NOON, known_at=NOON + timedelta(days=d)).revision for d in (0, 1, 2)
    ]
    ledger.compact(versions=1)
    after = [
        ledger.view(valid_at=NOON, known_at=NOON + timedelta(days=d)).revision for d in (0, 1, 2)
    ]
    assert before == after
    with pytest.raises(doxa.CallerError, match="inside the commit that ends at 3"):
        ledger.view(valid_at=NOON, known_at=2)


def test_why_says_that_what_a_claim_replaced_was_compacted(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.compact(versions=1)
    text = str(ledger.view(valid_at=NOON).why("v2"))
    assert "put in by: correction" in text
    assert "[compacted]" in text
    with pytest.raises(doxa.Compacted):
        ledger.view(valid_at=NOON).why("v0")


def test_judgements_name_a_compacted_fact(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.compact(versions=1)
    (judged,) = ledger.judge(["v0"], ledger.view(valid_at=NOON))
    assert (str(judged.reason), str(judged.standing)) == ("missing_fact", "compacted")
    block = ledger.assemble(
        "x",
        view=ledger.view(valid_at=NOON),
        candidates=[doxa.Candidate("c", "x is 0", facts=["v0"], score=1)],
        budget=1000,
    )
    assert "was compacted" in str(block.receipt.as_dict())


def test_its_ids_are_not_given_out_again_and_can_not_be_referred_to(ledger: Ledger) -> None:
    versions(ledger, 3)
    ledger.compact(versions=1)
    revision = ledger.revision
    for event in (
        claim("v0", 0),
        claim("vk1", 5),
        claim("d", source=None, because=["v0"]),
        {"event": "withdrawal", "id": "w", "target": "vk1"},
        {"event": "withdrawal", "id": "w", "target": "v0/support"},
        {"event": "support", "id": "r", "claim": "v0", "source": "t"},
        {"event": "correction", "id": "n", "unresolved": "v0"},
        {"event": "correction", "id": "n", "corrects": "v2", "by": "v0"},
        {"event": "policy", "id": "o", "pinned": "v0"},
    ):
        with pytest.raises(doxa.Compacted, match="compacted"):
            ledger.append([event])
    assert ledger.revision == revision
    ledger.append([claim("v0", 0, workspace="elsewhere")])


def test_nobody_else_says_that_something_was_compacted(ledger: Ledger) -> None:
    said = {"first": 1, "last": 1, "stretches": 1, "events": 1, "digest": "0" * 64}
    with pytest.raises(doxa.InvalidEvent, match="only a compaction records"):
        ledger.append([{"event": "policy", "id": "o", "compacted": said}])


def test_views_from_before_keep_their_answers_as_far_as_they_need_no_text(ledger: Ledger) -> None:
    versions(ledger, 3)
    old = ledger.view(valid_at=NOON, known_at=1)
    ledger.compact(versions=1)
    assert old.value("x", "p") == 0
    with pytest.raises(doxa.Compacted):
        old.why("v0")
    with pytest.raises(doxa.ViewMoved, match="compacted since"):
        ledger.recall("x", view=old)


def test_recall_and_sql_go_on_with_what_is_left(ledger: Ledger) -> None:
    versions(ledger, 4)
    assert len(ledger.recall("x p", view=ledger.view(valid_at=NOON)).hits) == 1
    assert ledger.sql("SELECT count(*) FROM claims").rows == [(4,)]
    ledger.compact(versions=2)
    assert len(ledger.recall("x p", view=ledger.view(valid_at=NOON)).hits) == 1
    assert ledger.sql("SELECT count(*) FROM claims").rows == [(2,)]
    assert ledger.sql("SELECT count(*) FROM events WHERE type = 'compacted'").rows == [(4,)]
    assert ledger.sql("SELECT position, last, events FROM compacted").rows == [(1, 3, 3), (5, 5, 1)]
    at = {"v": 0, "k": 1}
    found = ledger.sql("SELECT claim, standing FROM believed($v, known_at := $k)", at).rows
    assert found == [(None, "compacted")]
    assert ledger.stats()["events"]["compacted"] == 4


def test_an_export_names_the_stretches_and_an_import_sets_them_aside(ledger: Ledger) -> None:
    versions(ledger, 4)
    ledger.compact(versions=1)
    lines = list(export_events(ledger))
    stretches = [json.loads(line) for line in lines if '"event":"compacted"' in line]
    assert [(one["first"], one["last"], one["count"]) for one in stretches] == [
        (1, 5, 5),
        (7, 7, 1),
    ]
    with doxa.open() as other:
        report = other.import_events(lines)
        assert report.events == 1
        assert [aside.line for aside in report.set_aside] == [1, 3, 4]
        assert "5 events were compacted where the line comes from" in report.set_aside[0].reason
        assert other.view(valid_at=NOON).value("x", "p") == 3


def test_it_works_in_memory_and_for_asynchronous_code(clock: Clock) -> None:
    async def run() -> None:
        async with doxa.open(clock=clock) as ledger:
            versions(ledger, 3)
            done = await ledger.acompact(versions=1)
            assert done.claims == 2
            assert ledger.verify().ok

    asyncio.run(run())


# ---------------------------------------------------------------- the file


def test_the_space_comes_back(ledger: Ledger, path: Path) -> None:
    versions(ledger, 300, text="word " * 200)
    before = size_of(ledger)
    done = ledger.compact(versions=1)
    after = (path / "log.sqlite").stat().st_size
    assert done.pending is None
    assert after < before / 5
    assert (path / "log.sqlite-wal").stat().st_size == 0
    assert abs((before - after) - done.bytes) < before / 3


def test_later_passes_merge_stretches_and_the_audit_still_passes(
    ledger: Ledger, path: Path
) -> None:
    versions(ledger, 3, "a")
    versions(ledger, 3, "b", subject="y")
    first = ledger.compact(versions=2)
    assert first.stretches == ((1, 1), (3, 3), (6, 6), (8, 8))
    ledger.compact(versions=1)
    with closing(sqlite3.connect(path / "log.sqlite")) as connection:
        rows = connection.execute("SELECT first, last, count FROM log_gap").fetchall()
    assert rows == [(1, 3, 3), (5, 8, 4), (10, 10, 1)]
    assert ledger.verify().ok
    assert check_chain(path) == []
    assert standings(ledger, "a0", "a1", "a2", "b0", "b2") == [
        "compacted", "compacted", "reported", "compacted", "reported",
    ]  # fmt: skip


def test_reopening_and_deleting_the_cache_change_no_answer(path: Path, clock: Clock) -> None:
    def told(ledger: Ledger) -> list[Any]:
        view = ledger.view(valid_at=NOON)
        return [
            ledger.revision,
            view.fingerprint,
            standings(ledger, *(f"v{n}" for n in range(1_500))),
            str(ledger.history("x", "p", valid_at=NOON)),
        ]

    with doxa.open(path, clock=clock) as ledger:
        versions(ledger, 1_500)
        ledger.compact(versions=3)
        ledger.append([claim("other", predicate="q")])
        before = told(ledger)
    with doxa.open(path, clock=clock) as ledger:
        assert told(ledger) == before
    shutil.rmtree(path / "cache")
    with doxa.open(path, clock=clock) as ledger:
        assert told(ledger) == before
        assert ledger.verify().ok


FORGERIES = {
    "a stretch that is gone": "DELETE FROM log_gap WHERE first = 1",
    "a stretch with another end": "UPDATE log_gap SET chain = zeroblob(32) WHERE first = 1",
    "a stretch with another digest": "UPDATE log_gap SET digest = zeroblob(32) WHERE first = 1",
    "a stretch with another count": "UPDATE log_gap SET count = count + 1 WHERE first = 1",
    "a stretch that is longer": "UPDATE log_gap SET last = last + 1 WHERE first = 1",
    "a stretch that is not there": "INSERT INTO log_gap"
    " VALUES(6, 6, 1, zeroblob(32), zeroblob(32))",
    "events that went without a record": "DELETE FROM log WHERE position = 6",
    "another account of the events": "UPDATE log_gone SET body = zeroblob(9)",
    "no account of the events": "DELETE FROM log_gone",
    "no record at all": "DROP TABLE log_gap",
    "another statement": "UPDATE log SET head = CAST(replace(CAST(head AS TEXT), '\"events\":6',"
    " '\"events\":7') AS BLOB) WHERE CAST(head AS TEXT) LIKE '%compacted%'",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_record_is_found(path: Path, clock: Clock, forgery: str) -> None:
    with doxa.open(path, clock=clock) as ledger:
        versions(ledger, 4)
        ledger.compact(versions=1)
        assert ledger.verify().ok
    with closing(sqlite3.connect(path / "log.sqlite", isolation_level=None)) as connection:
        connection.execute(FORGERIES[forgery])
    with doxa.open(path, clock=clock) as ledger:
        report = ledger.verify()
        assert not report.ok
        assert {problem.code for problem in report.problems} & {"compaction", "gap", "altered"}
    assert check_chain(path) != []


def test_a_record_of_what_was_not_compacted_is_found(path: Path, clock: Clock) -> None:
    """Events that were cut out, with a record that looks right, of which the log says nothing."""
    with doxa.open(path, clock=clock) as ledger:
        versions(ledger, 4)
    with closing(sqlite3.connect(path / "log.sqlite", isolation_level=None)) as connection:
        from doxa.engine.gaps import SCHEMA

        for statement in SCHEMA:
            connection.execute(statement)
        (link,) = connection.execute("SELECT chain FROM log WHERE position=5").fetchone()
        connection.execute("INSERT INTO log_gap VALUES(4, 5, 2, ?, zeroblob(32))", (link,))
        connection.execute("DELETE FROM log WHERE position IN (4, 5)")
    with doxa.open(path, clock=clock) as ledger:
        assert "compaction" in {problem.code for problem in ledger.verify().problems}


# ---------------------------------------------------------------- at the same time


def test_another_process_begins_anew_and_never_answers_otherwise(path: Path, clock: Clock) -> None:
    with doxa.open(path, clock=clock) as one, doxa.open(path, clock=clock) as other:
        versions(one, 5)
        old = other.view(valid_at=NOON, known_at=1)
        assert old.value("x", "p") == 0
        one.compact(versions=1)
        assert old.value("x", "p") == 0
        with pytest.raises(doxa.Compacted):
            other.view(valid_at=NOON, known_at=1).value("x", "p")
        other.append([claim("more", 7, predicate="q")])
        assert one.view(valid_at=NOON).value("x", "q") == 7
        assert other.compact(versions=1).claims == 0
        assert one.verify().ok
        assert other.verify().ok


def test_a_process_that_slept_through_two_compactions_writes_no_old_cache(
    path: Path, clock: Clock
) -> None:
    with doxa.open(path, clock=clock) as sleeper:
        versions(sleeper, 1_200)
        with doxa.open(path, clock=clock) as other:
            other.compact(versions=600)
            other.compact(versions=2)
    with doxa.open(path, clock=clock) as ledger:
        assert standings(ledger, "v0", "v1197", "v1198") == ["compacted", "compacted", "superseded"]
        assert ledger.verify().ok


def test_writers_and_readers_go_on_while_it_is_compacted(path: Path, clock: Clock) -> None:
    problems: list[str] = []
    stop = threading.Event()
    with doxa.open(path) as ledger:
        versions(ledger, 400)

        def write() -> None:
            number = 0
            with doxa.open(path) as own:
                while not stop.is_set():
                    own.claim("y", "p", number, source="s")
                    number += 1
                    if own.view(valid_at=NOON).values("y", "p")[-1] != number - 1:
                        problems.append(f"{number} is not read back")

        def read() -> None:
            while not stop.is_set():
                view = ledger.view(valid_at=NOON)
                if view.value("x", "p") != 399:
                    problems.append("another value")
                try:
                    found = ledger.view(valid_at=NOON, known_at=1).value("x", "p")
                except doxa.Compacted:
                    continue
                if found != 0:
                    problems.append(f"value {found}")

        threads = [threading.Thread(target=write), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        try:
            for count in (300, 200, 100, 1):
                ledger.compact(versions=count)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert problems == []
        assert ledger.verify().ok
        assert standings(ledger, "v0", "v398", "v399") == ["compacted", "compacted", "reported"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not killed so there")
def test_a_process_that_is_killed_has_compacted_all_or_nothing(path: Path, clock: Clock) -> None:
    chance = Random(7)
    with doxa.open(path, clock=clock) as ledger:
        for subject in range(20):
            versions(ledger, 60, f"s{subject}-", subject=f"subject {subject}")
    for left in (50, 40, 30, 20, 10, 5, 2, 1):
        child = children.start("compact", path, left)
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        time.sleep(chance.random() * 0.4)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
        with doxa.open(path, clock=clock) as ledger:
            assert ledger.verify(oracle=False).ok
            assert check_chain(path) == []
            last = 59 - left  # the newest that goes
            found = standings(ledger, *(f"s{n}-{last}" for n in range(20)))
            assert found in (["compacted"] * 20, ["superseded"] * 20)
            view = ledger.view(valid_at=NOON)
            assert [view.value(f"subject {n}", "p") for n in range(20)] == [59] * 20


def test_a_search_of_then_says_what_it_could_not_search(ledger: Ledger) -> None:
    versions(ledger, 4)
    ledger.compact(versions=1)
    now = ledger.recall("x p", view=ledger.view(valid_at=NOON))
    assert now.reasons == ()
    then = ledger.recall("x p", view=ledger.view(valid_at=NOON, known_at=1))
    assert [str(one.reason) for one in then.reasons] == ["history_boundary"]
    assert "5 events that were compacted" in then.reasons[0].detail
    elsewhere = ledger.recall("x p", view=ledger.view(valid_at=NOON, known_at=1), subject="y")
    assert elsewhere.reasons == ()


def test_predecessors_that_are_gone_are_told_of(ledger: Ledger) -> None:
    versions(ledger, 4)
    ledger.compact(versions=2)
    found = ledger.recall("x p", view=ledger.view(valid_at=NOON), predecessors=True)
    assert found.hits[0].predecessors == ("v2",)
    assert [str(one.reason) for one in found.reasons] == ["history_boundary"]


def test_a_picture_is_whole_or_not_drawn(ledger: Ledger) -> None:
    from doxa.adapters.plane import plane

    versions(ledger, 4)
    ledger.compact(versions=2)
    with pytest.raises(doxa.Compacted):
        plane(ledger, "x", "p")
    known = ledger.view(valid_at=NOON, known_at=7).known_at
    assert "svg" in plane(ledger, "x", "p", known_from=known)


# ---------------------------------------------------------------- from a shell, and in maintenance


def test_prune_with_history_compacts(path: Path, clock: Clock) -> None:
    with doxa.open(path, clock=clock) as ledger:
        versions(ledger, 4)
    planned = run("prune", str(path), "--history", "--versions", "2", "--dry-run", "--json")
    assert planned.exit_code == 0, planned.output
    assert json.loads(planned.stdout)["stretches"] == [[1, 3], [5, 5]]
    assert run("prune", str(path), "--history", "--versions", "2").exit_code == 0
    assert run("standing", str(path), "v0", "--valid-at", "2025-06-01").stdout == "compacted\n"
    refused = run("value", str(path), "x", "p", "--valid-at", "2025-06-01", "--known-at", "1")
    assert refused.exit_code == 1
    assert "compacted" in refused.stderr
    shown = run("history", str(path), "x", "p", "--valid-at", "2025-06-01", "--json")
    first, *_ = json.loads(shown.stdout)
    assert (first["known_at"], first["values"], first["contested"]) == (None, None, None)
    assert first["compacted"][0] == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--history"], "nothing says what is to be compacted"),
        (
            ["--history", "--versions", "1", "--kind", "fact"],
            "--kind can't be given with --history",
        ),
        (["--versions", "1"], "--versions can't be given without --history"),
    ],
)
def test_options_of_prune_that_do_not_go_together_are_refused(
    path: Path, options: list[str], told: str
) -> None:
    with doxa.open(path) as ledger:
        versions(ledger, 2)
    found = run("prune", str(path), *options)
    assert found.exit_code == 2
    assert told in found.stderr


def test_maintenance_compacts_where_it_is_asked_to(ledger: Ledger) -> None:
    versions(ledger, 4)
    assert "history" not in ledger.maintain().steps
    planned = ledger.maintain(history={"versions": 2}, dry_run=True)
    assert planned.as_dict()["history"]["claims"] == 2
    assert standings(ledger, "v0") == ["superseded"]
    ledger.maintain(history={"versions": 2, "limit": 100})
    assert standings(ledger, "v0", "v1", "v2") == ["compacted", "compacted", "superseded"]
    for wrong in ({}, {"age": 3}, [("versions", 2)], "versions=2"):
        with pytest.raises(doxa.CallerError, match="history is"):
            ledger.maintain(history=wrong)  # type: ignore[arg-type]


def test_maintenance_from_a_shell_takes_what_is_to_be_compacted(path: Path, clock: Clock) -> None:
    with doxa.open(path, clock=clock) as ledger:
        versions(ledger, 4)
    found = run("maintain", str(path), "--history", "versions=2, older_than=1000", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["history"]["claims"] == 2
    assert run("maintain", str(path), "--history", "versions").exit_code == 2


@pytest.mark.parametrize("meanwhile", ["of something else", "of what was to go"])
def test_what_others_record_meanwhile_is_looked_at(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    with doxa.open(path, clock=clock) as ledger, doxa.open(path, clock=clock) as other:
        versions(ledger, 4)
        plan, times = gaps.plan, iter(range(10))

        def planned(*given: Any) -> gaps.Pass:
            found = plan(*given)
            if next(times) == 0:
                if meanwhile == "of something else":
                    other.append([claim("more", 1, subject="y")])
                else:
                    other.cite("0 it was", supports=["v1/support"])
            return found

        monkeypatch.setattr(gaps, "plan", planned)
        done = ledger.compact(versions=1)
        assert next(times) == (1 if meanwhile == "of something else" else 2)
        assert done.claims == (3 if meanwhile == "of something else" else 1)
        stands = "compacted" if meanwhile == "of something else" else "superseded"
        assert standings(ledger, "v0", "v1") == ["compacted", stands]
        assert ledger.verify().ok
        assert other.view(valid_at=NOON).value("x", "p") == 3


def test_what_is_kept_of_many_passes_is_put_together(ledger: Ledger, path: Path) -> None:
    versions(ledger, 60)
    for left in range(50, 10, -1):
        assert ledger.compact(versions=left).claims in (1, 10)
    with closing(sqlite3.connect(path / "log.sqlite")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM log_gone").fetchone()
        (gaps_left,) = connection.execute("SELECT count(*) FROM log_gap").fetchone()
    assert count <= 16
    assert gaps_left <= 2
    assert ledger.verify().ok
    assert check_chain(path) == []
    assert standings(ledger, "v0", "v48", "v49") == ["compacted", "compacted", "superseded"]


def test_a_compaction_is_told_of_and_can_not_be_withdrawn(ledger: Ledger) -> None:
    versions(ledger, 3)
    done = ledger.compact(versions=1)
    assert done.position is not None
    stated = ledger._stream.payload(done.position)
    assert "4 events in 2 stretches were compacted" in str(
        ledger.view(valid_at=NOON).why(stated.id)
    )
    with pytest.raises(doxa.InvalidEvent, match="can't be brought back"):
        ledger.withdraw(stated.id)


def test_space_that_a_reader_keeps_comes_back_with_a_later_call(ledger: Ledger, path: Path) -> None:
    versions(ledger, 300, text="word " * 200)
    before = size_of(ledger)
    ledger.recorder._writer._timeout = 0.2
    with closing(sqlite3.connect(path / "log.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        done = ledger.compact(versions=1)
        assert done.claims == 299
        assert done.pending is not None
        assert "has not come back yet" in str(done)
        assert ledger.verify().ok
        reader.execute("COMMIT")
    again = ledger.compact(versions=1)
    assert (again.claims, again.pending) == (0, None)
    assert (path / "log.sqlite").stat().st_size < before / 5
    assert (path / "log.sqlite-wal").stat().st_size == 0
