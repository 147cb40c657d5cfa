"""The recorder: appending, reading, keys, clocks, threads and processes."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.dcb.api import DCBAppendCondition, DCBEvent, DCBQuery, DCBQueryItem
from eventsourcing.dcb.application import DCBApplication
from eventsourcing.dcb.domain import Decision, Selector, Tagged
from eventsourcing.dcb.persistence import DCBMapper
from eventsourcing.dcb.tests import DCBRecorderTestCase
from eventsourcing.persistence import IntegrityError, OperationalError, ProgrammingError
from eventsourcing.utils import get_topic

from doxa.engine.errors import (
    CallerError,
    ClockError,
    ConflictError,
    DuplicateId,
    InvalidEvent,
    InvalidTime,
    StorageError,
)
from doxa.engine.log import NewEvent, wal_reset_bug
from doxa.engine.sqlite import AppendRefused, SQLiteDCBFactory, SQLiteRecorder, WrongUse
from tests.recorder_support import Clock, append, event, python, writer


@pytest.fixture(params=["file", "memory"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SQLiteRecorder]:
    path = tmp_path / "log.sqlite" if request.param == "file" else None
    with SQLiteRecorder.open(path) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


def dcb(number: int = 0, *tags: str) -> DCBEvent:
    return DCBEvent("Claimed", b"payload-%d" % number, list(tags) or [f"claim:{number}"])


def interrupted(recorder: SQLiteRecorder) -> None:
    with recorder.write() as transaction:
        transaction.append([event(2)], key="k")
        transaction.append([event(3, "tag")])
        raise KeyboardInterrupt


# ---------------------------------------------------------------- the library's contract


def test_the_librarys_conformance_case_for_reading_and_appending_passes(
    recorder: SQLiteRecorder,
) -> None:
    DCBRecorderTestCase()._test_append_read(recorder)
    assert recorder.verify().problems == []


def test_the_librarys_conformance_case_for_subscriptions_passes(recorder: SQLiteRecorder) -> None:
    DCBRecorderTestCase()._test_append_subscribe(recorder)


def test_the_subscription_case_passes_on_a_log_that_is_not_empty(recorder: SQLiteRecorder) -> None:
    recorder.append([dcb(1, "other"), dcb(2, "other")])
    DCBRecorderTestCase()._test_append_subscribe(recorder, recorder.head().position)


def test_a_failed_condition_is_the_librarys_error_and_ours(recorder: SQLiteRecorder) -> None:
    recorder.append([dcb(1, "a")])
    with pytest.raises(IntegrityError) as caught:
        recorder.append([dcb(2)], DCBAppendCondition(DCBQuery([DCBQueryItem(tags=["a"])])))
    assert isinstance(caught.value, ConflictError)
    assert caught.value.code == "revision_conflict"
    assert "event 1" in str(caught.value)


def test_a_condition_without_items_is_an_expected_revision(recorder: SQLiteRecorder) -> None:
    revision = recorder.append([dcb(1)])
    recorder.append([dcb(2)], DCBAppendCondition(after=revision))
    with pytest.raises(IntegrityError):
        recorder.append([dcb(3)], DCBAppendCondition(after=revision))
    assert recorder.head().position == 2


def test_an_item_matches_by_all_its_tags_and_any_of_its_types(recorder: SQLiteRecorder) -> None:
    many = [f"t{i}" for i in range(70)]  # more than SQLite joins
    recorder.append([DCBEvent("A", b"", [*many, "x"]), DCBEvent("B", b"", many[:-1])])
    recorder.append([DCBEvent("C", b"", ["x"])])

    def positions(*items: DCBQueryItem, **bounds: int) -> list[int]:
        return [e.position for e in recorder.read(DCBQuery(list(items)), **bounds)]

    assert positions(DCBQueryItem(tags=many)) == [1]
    assert positions(DCBQueryItem(tags=many[:-1], types=["B", "C"])) == [2]
    assert positions(DCBQueryItem(types=["C"]), DCBQueryItem(tags=["x"])) == [1, 3]
    assert positions(*[DCBQueryItem(tags=["x"])] * 600, after=1) == [3]
    assert positions(DCBQueryItem(), limit=2) == [1, 2]


def test_reading_without_limit_goes_over_many_pages(recorder: SQLiteRecorder) -> None:
    recorder.append([dcb(i, "a" if i % 2 else "b") for i in range(1, 9_001)])
    response = recorder.read(DCBQuery([DCBQueryItem(tags=["a"])]))
    recorder.append([dcb(9_001, "a")])
    assert response.head == 9_000
    assert [e.position for e in response] == list(range(1, 9_001, 2))
    assert len(list(recorder.read(after=10, limit=5_000))) == 5_000


def test_a_key_that_comes_again_gets_the_old_answer(recorder: SQLiteRecorder) -> None:
    first = recorder.append([dcb(1)], key="k")
    recorder.append([dcb(2)])
    failing = DCBAppendCondition(after=0)
    assert recorder.append([dcb(1)], failing, key="k") == first
    with pytest.raises(AppendRefused, match="key 'k' was used") as caught:
        recorder.append([dcb(3)], key="k")
    assert caught.value.code == "duplicate_id"
    recorder.erase([first])
    assert recorder.append([dcb(1)], key="k") == first
    assert recorder.head().position == 2


def test_an_erased_event_reads_as_empty(recorder: SQLiteRecorder) -> None:
    recorder.append([dcb(1, "a")])
    recorder.erase([1])
    (read,) = recorder.read()
    assert (read.event.data, read.event.tags) == (b"", ["a"])


def test_tags_and_types_that_could_not_be_told_apart_are_refused(recorder: SQLiteRecorder) -> None:
    for bad in (
        DCBEvent("t", b"", ["a\x1fb"]),
        DCBEvent("t", b"", [""]),
        DCBEvent("", b""),
        DCBEvent("t\x1f", b""),
        DCBEvent("t", b"", ["\ud800"]),
        DCBEvent("t", b"", ["a\x00"]),
        DCBEvent("t", "text"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ProgrammingError) as caught:
            recorder.append([dcb(1), bad])
        assert isinstance(caught.value, CallerError)
    with pytest.raises(WrongUse):
        recorder.append([])
    assert recorder.head().position == 0


def test_a_subscription_sees_old_and_new_events_and_those_of_other_processes(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        recorder.append([dcb(i, "a") for i in range(1_200)])
        query = DCBQuery([DCBQueryItem(tags=["a"])])
        with recorder.subscribe(query, after=1) as subscription:
            seen = [next(subscription).position for _ in range(1_199)]
            recorder.append([dcb(1, "b"), dcb(2, "a")])
            seen.append(next(subscription).position)
            python(
                "import sys; from doxa.engine.sqlite import *\n"
                "from eventsourcing.dcb.api import DCBEvent\n"
                "with SQLiteRecorder.open(sys.argv[1]) as r: r.append([DCBEvent('t', b'', ['a'])])",
                path,
            )
            seen.append(next(subscription).position)
        assert seen == [*range(2, 1_201), 1_202, 1_203]


def test_closing_the_recorder_ends_its_subscriptions(path: Path) -> None:
    recorder = SQLiteRecorder.open(path)
    with recorder.subscribe() as subscription:
        threading.Timer(0.1, recorder.close).start()
        with pytest.raises(CallerError, match="closed"):
            next(subscription)


# ---------------------------------------------------------------- the library's application


@dataclass
class Registered(Decision):
    name: str


class JSONMapper(DCBMapper[Registered]):
    def to_dcb_event(self, event: Tagged[Registered]) -> DCBEvent:
        data = json.dumps(event.decision.as_dict()).encode()
        return DCBEvent("Registered", data, event.tags)

    def to_domain_event(self, event: DCBEvent) -> Tagged[Registered]:
        return Tagged(event.tags, Registered(**json.loads(event.data)))


def test_the_librarys_application_runs_on_the_recorder(path: Path) -> None:
    env = {
        "PERSISTENCE_MODULE": get_topic(SQLiteDCBFactory),
        "SQLITE_DBNAME": str(path),
        "MAPPER_TOPIC": get_topic(JSONMapper),
    }
    ada = Selector(tags=["person:ada"])
    with DCBApplication(env) as application:
        application.events.append([Tagged(["person:ada"], Registered("Ada"))], cb=ada, after=0)
        with pytest.raises(IntegrityError):
            application.events.append([Tagged(["person:ada"], Registered("Ada"))], cb=ada, after=0)
    with DCBApplication(env) as application:
        read: Any = application.events.read(ada)
        assert [tagged.decision.name for tagged in read] == ["Ada"]
        assert read.head == 1


def test_the_factory_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ProgrammingError, match="SQLITE_DBNAME"):
        SQLiteDCBFactory({}).dcb_recorder()
    with pytest.raises(ProgrammingError, match="SQLITE_LOCK_TIMEOUT"):
        SQLiteDCBFactory({"SQLITE_DBNAME": ":memory:", "SQLITE_LOCK_TIMEOUT": "x"}).dcb_recorder()
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"a text, and no ledger" * 100)
    with pytest.raises(ProgrammingError, match="no SQLite file"):
        SQLiteDCBFactory({"SQLITE_DBNAME": str(foreign)}).dcb_recorder()


# ---------------------------------------------------------------- appending


def test_positions_have_no_gaps_whatever_is_refused(recorder: SQLiteRecorder) -> None:
    for number in range(5):
        append(recorder, number, number + 100)
        with pytest.raises(IntegrityError):
            recorder.append([dcb()], DCBAppendCondition(after=0))
        with pytest.raises(KeyboardInterrupt):
            interrupted(recorder)
    assert [row.position for page in recorder.read_rows() for row in page] == list(range(1, 11))
    assert recorder.verify().problems == []


@pytest.mark.parametrize("step", [0, -1_000_000, 1])
def test_recorded_at_grows_whatever_the_clock_does(path: Path, step: int) -> None:
    clock = Clock()
    with SQLiteRecorder.open(path, clock=clock) as recorder:
        for number in range(20):
            append(recorder, number, number)
            clock.now += step
        times = [row.recorded_at for page in recorder.read_rows() for row in page]
    assert times[0::2] == times[1::2]
    assert all(one < other for one, other in pairwise(times[0::2]))
    assert times[0] == Clock().now


def test_imported_history_brings_its_own_time_if_it_is_later(recorder: SQLiteRecorder) -> None:
    with recorder.write() as transaction:
        assert transaction.append([event(1)], recorded_at=1_000).recorded_at == 1_000
        with pytest.raises(
            ClockError, match=r"not later than the head's, 1970-01-01T00:00:00\.001"
        ):
            transaction.append([event(2)], recorded_at=1_000)
        assert transaction.append([event(2)], recorded_at=1_001).first == 2
    assert recorder.head()[:2] == (2, 1_001)
    for wrong in (2.5, True, "2024", 2**62, -(2**62)):
        with pytest.raises(InvalidTime), recorder.write() as transaction:
            transaction.append([event(3)], recorded_at=wrong)  # type: ignore[arg-type]
    assert recorder.head().position == 2


def test_the_first_event_may_be_older_than_1970(recorder: SQLiteRecorder) -> None:
    with recorder.write() as transaction:
        transaction.append([event(1)], recorded_at=-1_000)
        transaction.append([event(2)], recorded_at=-999)
    assert recorder.head()[:2] == (2, -999)
    assert recorder.verify().problems == []


def test_several_commits_share_a_transaction_and_each_has_its_own_time(
    recorder: SQLiteRecorder,
) -> None:
    with recorder.write() as transaction:
        one = transaction.append([event(1), event(2)])
        assert transaction.head.position == 2
        with pytest.raises(InvalidEvent):
            transaction.append([event(3), event(4, "a\x1fb")])
        other = transaction.append([event(3)])
        assert [row.position for row in transaction.rows(1)] == [2, 3]
        assert transaction.head == (3, other.recorded_at, transaction.head.chain)
    assert (one.first, one.last, other.first, other.last) == (1, 2, 3, 3)
    assert other.recorded_at > one.recorded_at
    assert recorder.head().position == 3
    assert recorder.verify().problems == []


def test_a_transaction_is_all_or_nothing(recorder: SQLiteRecorder) -> None:
    append(recorder, 1)
    before = recorder.head()
    with pytest.raises(KeyboardInterrupt):
        interrupted(recorder)
    assert recorder.head() == before
    assert recorder.append([dcb(4)], key="k") == 2


def test_a_transaction_that_appends_nothing_writes_nothing(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        append(recorder, 1)
        wal = Path(f"{path}-wal")
        before = (wal.stat().st_size, wal.stat().st_mtime_ns, path.stat().st_mtime_ns)
        with recorder.write() as transaction:
            assert transaction.rows(0)[0].data == b"payload-1"
        with recorder.write() as transaction, pytest.raises(InvalidEvent):
            transaction.append([])
        assert (wal.stat().st_size, wal.stat().st_mtime_ns, path.stat().st_mtime_ns) == before


def test_a_transaction_within_another_is_refused_at_once(recorder: SQLiteRecorder) -> None:
    with recorder.write() as transaction:
        with pytest.raises(CallerError, match="append to that one"), recorder.write():
            pass
        with pytest.raises(CallerError, match="before closing"):
            recorder.close()
        transaction.append([event(1)])
    assert recorder.head().position == 1


def test_each_transaction_is_one_durable_commit(path: Path) -> None:
    """The writing connection flushes every commit, and one transaction is one commit."""
    with SQLiteRecorder.open(path) as recorder:
        append(recorder, 1)
        connection = recorder._writer._connection
        assert connection is not None
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        with recorder.write() as transaction:
            for number in range(10):
                transaction.append([event(number)] * 3)
        connection.set_trace_callback(None)
        assert [s for s in statements if s in ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")] == [
            "BEGIN IMMEDIATE",
            "COMMIT",
        ]


def test_the_wal_stays_short_while_nobody_reads_and_starts_anew_after_a_long_read(
    path: Path,
) -> None:
    wal = Path(f"{path}-wal")
    batch = [event(0, data=os.urandom(1_000))] * 100
    with SQLiteRecorder.open(path) as recorder:

        def fill(commits: int) -> int:
            for _ in range(commits):
                with recorder.write() as transaction:
                    transaction.append(batch)
            return wal.stat().st_size

        assert fill(150) < 6 << 20
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        long = fill(100)
        assert long > 10 << 20
        reader.close()
        assert fill(150) < long + (6 << 20)
    assert not wal.exists()


# ---------------------------------------------------------------- reading


def test_rows_come_in_pages_up_to_the_head_at_the_start(recorder: SQLiteRecorder) -> None:
    append(recorder, *range(1, 26))
    pages = recorder.read_rows(after=2, page=10)
    first = next(pages)
    append(recorder, 26)
    rest = list(pages)
    assert [len(first), *map(len, rest)] == [10, 10, 3]
    assert first[0].position == 3
    assert [row.position for page in recorder.read_rows(5, 7) for row in page] == [6, 7]
    assert list(recorder.read_rows(26)) == []
    row = recorder.row(4)
    assert row is not None
    assert (row.type, row.head, row.data) == ("claim", b'{"v":1,"id":"c4"}', b"payload-4")
    assert recorder.row(27) is None


def test_readers_never_wait_for_an_open_transaction(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        append(recorder, 1)
        answers: list[object] = []

        def read() -> None:
            answers.append(recorder.head().position)
            answers.append(len(list(recorder.read())))

        with recorder.write() as transaction:
            transaction.append([event(2)] * 1_000)
            thread = threading.Thread(target=read)
            started = time.monotonic()
            thread.start()
            thread.join(5)
            assert time.monotonic() - started < 2
            outside = python(
                "import sys; from doxa.engine.store import LogStore\n"
                "with LogStore.open(sys.argv[1]) as s: print(s.head().position)",
                path,
            )
        assert answers == [1, 1]
        assert outside == "1"
        assert recorder.head().position == 1_001


def test_the_head_shows_commits_of_other_processes(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        assert recorder.head() == (0, 0, bytes(32))
        child = writer(path, 3, 2)
        child.communicate(timeout=30)
        assert recorder.head().position == 6
        assert append(recorder, 7).first == 7
        assert recorder.verify().problems == []


def test_waiting_ends_with_the_commit_or_the_timeout(recorder: SQLiteRecorder) -> None:
    assert not recorder.wait(0, 0.05)
    threading.Timer(0.05, append, (recorder, 1)).start()
    assert recorder.wait(0, 10)
    assert recorder.wait(0, 0)


def test_waiting_ends_with_a_commit_of_another_process(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        child = writer(path, 1, 1)
        assert recorder.wait(0, 30)
        child.communicate(timeout=30)


def test_a_closed_recorder_says_so(recorder: SQLiteRecorder) -> None:
    recorder.close()
    recorder.close()
    assert not recorder.wait(0, 10)
    for use in (recorder.head, recorder.verify, lambda: append(recorder, 1)):
        with pytest.raises(CallerError, match="closed"):
            use()


def test_what_can_be_told_about_the_log(recorder: SQLiteRecorder, path: Path) -> None:
    assert len(recorder.ledger_id) == 32
    assert recorder.path in (None, str(path))
    assert recorder.sqlite_version == sqlite3.sqlite_version
    assert recorder.wal_reset_bug == wal_reset_bug(sqlite3.sqlite_version_info[:3])


def test_which_versions_of_sqlite_have_the_wal_reset_bug() -> None:
    assert all(map(wal_reset_bug, [(3, 40, 1), (3, 46, 1), (3, 51, 2), (3, 50, 6), (3, 44, 5)]))
    assert not any(map(wal_reset_bug, [(3, 51, 3), (3, 50, 7), (3, 44, 6), (3, 53, 4), (3, 6, 9)]))


# ---------------------------------------------------------------- threads and processes


def test_threads_append_and_read_side_by_side(recorder: SQLiteRecorder) -> None:
    query = DCBQuery([DCBQueryItem(tags=["account"])])
    accepted: list[int] = []

    def work() -> None:
        for _ in range(30):
            response = recorder.read(query)
            seen = len(list(response))
            condition = DCBAppendCondition(query, after=response.head)
            try:
                recorder.append([dcb(seen, "account")] * 5, condition)
                accepted.append(seen)
            except IntegrityError:
                recorder.append([dcb(0, "other")])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == [5 * i for i in range(len(accepted))]
    assert recorder.verify().problems == []


def test_processes_append_side_by_side_without_gaps(path: Path) -> None:
    batches = (1, 7, 20, 1)
    children = [writer(path, batch, 40) for batch in batches]
    acknowledged: set[int] = set()
    for child in children:
        out, _ = child.communicate(timeout=60)
        lasts = [int(line.split()[0]) for line in out.splitlines()]
        assert len(lasts) == 40
        assert lasts == sorted(lasts)
        assert not acknowledged & set(lasts)
        acknowledged |= set(lasts)
    with SQLiteRecorder.open(path) as recorder:
        found = recorder.verify()
        assert (found.events, found.position, found.problems) == (29 * 40, 29 * 40, [])


def test_eight_processes_that_create_a_log_at_once_all_succeed(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / str(attempt) / "log.sqlite"
        children = [writer(path, 1, 2) for _ in range(8)]
        outs = [child.communicate(timeout=60)[0] for child in children]
        assert [child.returncode for child in children] == [0] * 8
        assert sorted(int(line.split()[0]) for out in outs for line in out.splitlines()) == list(
            range(1, 17)
        )
        with SQLiteRecorder.open(path) as recorder:
            assert recorder.verify().problems == []
        assert sorted(p.name for p in path.parent.iterdir()) == ["log.sqlite", "log.sqlite.lock"]


def test_a_writer_that_does_not_get_its_turn_says_so(path: Path) -> None:
    with (
        SQLiteRecorder.open(path) as holder,
        SQLiteRecorder.open(path, lock_timeout=0.1) as other,
    ):
        with holder.write() as transaction:
            transaction.append([event(1)])
            with pytest.raises(StorageError, match="another writer"):
                append(other, 2)
            with pytest.raises(OperationalError):
                other.append([dcb(2)])
        assert append(other, 2).first == 2
        assert append(holder, 3).first == 3
    assert not [t for t in threading.enumerate() if t.name == "doxa-lock"]


def test_a_program_that_takes_sqlites_own_lock_is_waited_for_and_named(path: Path) -> None:
    with SQLiteRecorder.open(path, lock_timeout=0.1) as recorder:
        stranger = sqlite3.connect(path, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another program holds the file"):
            append(recorder, 1)
        stranger.execute("ROLLBACK")
        stranger.close()
        assert append(recorder, 1).first == 1


def test_a_deleted_lock_file_is_made_anew(path: Path) -> None:
    with SQLiteRecorder.open(path) as recorder:
        append(recorder, 1)
        os.remove(f"{path}.lock")
        append(recorder, 2)
        assert Path(f"{path}.lock").exists()


FORKING = """
import os, sys, threading
from doxa.engine.log import NewEvent
from doxa.engine.store import LogStore
from doxa.engine.commits import CommitQueue

store = LogStore.open(sys.argv[1])
def commit(requests):
    with store.write() as transaction:
        return [transaction.append([NewEvent("claim", b"{}", r)]).last for r in requests]
queue = CommitQueue(commit)
def some(word):
    for i in range(50):
        queue.submit(word)
some(b"before")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_parent_and_children_of_a_fork_all_go_on(path: Path) -> None:
    code = """
pages = store.read_rows(page=30)
next(pages)
others = [threading.Thread(target=some, args=(b"thread",)) for _ in range(4)]
for thread in others: thread.start()
child = os.fork()
if child == 0:
    grandchild = os.fork()
    some(b"child")
    assert sum(map(len, pages)) == 20
    if grandchild:
        assert os.waitpid(grandchild, 0)[1] == 0
    assert not store.verify().problems
    store.close()
    sys.exit(0)
some(b"parent")
for thread in others: thread.join()
assert os.waitpid(child, 0)[1] == 0
found = store.verify()
assert not found.problems, found
store.close()
print(found.events)
"""
    assert python(FORKING + code, path) == str(50 * 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_within_a_transaction_leaves_the_log_to_the_parent(path: Path) -> None:
    code = """
from doxa.engine.errors import CallerError, StorageError
def refused(error, act):
    try:
        act()
    except error as e:
        assert "fork" in str(e), e
    else:
        os._exit(3)
with store.write() as transaction:
    transaction.append([NewEvent("claim", b"{}", b"parent")])
    child = os.fork()
    if child == 0:
        refused(CallerError, lambda: transaction.append([NewEvent("claim", b"{}", b"child")]))
        refused(StorageError, lambda: some(b"child"))
        refused(StorageError, lambda: LogStore.open(sys.argv[1]))
        store.close()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
some(b"parent")
found = store.verify()
assert not found.problems, found
store.close()
print(found.events)
"""
    assert python(FORKING + code, path) == "101"


def test_a_log_in_memory_belongs_to_its_recorder(tmp_path: Path) -> None:
    with SQLiteRecorder.open(None) as one, SQLiteRecorder.open(None) as other:
        append(one, 1)
        assert (one.head().position, other.head().position) == (1, 0)
        assert one.ledger_id != other.ledger_id


def test_a_commit_of_the_native_kind_reads_under_the_contract_too(
    recorder: SQLiteRecorder,
) -> None:
    with recorder.write() as transaction:
        transaction.append([NewEvent("claim", b"{}", b"data", ("a", "b"))], key="k")
        with pytest.raises(DuplicateId):
            transaction.append([event(2)], key="k")
    (read,) = recorder.read()
    assert read.event == DCBEvent("claim", b"data", ["a", "b"])
