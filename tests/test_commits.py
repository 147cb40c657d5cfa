"""Group commit: who waits shares a commit, and gets an answer of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.engine.commits import CommitQueue
from doxa.engine.errors import StorageError
from doxa.engine.store import LogStore
from tests.recorder_support import event


def together(*work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "somebody was left waiting"


class Owner:
    """Commits numbers: doubles them, refuses negative ones, breaks down on zero."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.threads: set[int] = set()
        self.busy = False
        self.gate = threading.Event()
        self.gate.set()

    def commit(self, requests: list[int]) -> list[int | Exception]:
        assert not self.busy, "two commits at a time"
        self.busy = True
        try:
            self.gate.wait(20)
            self.groups.append(requests)
            self.threads.add(threading.get_ident())
            if 0 in requests:
                raise StorageError("the disk broke down")
            return [r * 2 if r > 0 else ValueError(f"{r} is negative") for r in requests]
        finally:
            self.busy = False


def test_one_thread_commits_by_itself() -> None:
    owner = Owner()
    queue = CommitQueue(owner.commit)
    assert [queue.submit(n) for n in (1, 2, 3)] == [2, 4, 6]
    assert owner.groups == [[1], [2], [3]]
    assert owner.threads == {threading.get_ident()}


def test_each_gets_its_own_answer_or_exception() -> None:
    owner = Owner()
    queue = CommitQueue(owner.commit)
    answers: dict[int, object] = {}

    def submit(number: int) -> None:
        for n in range(number, number + 50):
            signed = -n if n % 7 == 0 else n
            try:
                answers[n] = queue.submit(signed)
            except ValueError as error:
                answers[n] = str(error)

    together(*[lambda i=i: submit(i) for i in range(1, 1_001, 50)])
    assert answers == {n: f"{-n} is negative" if n % 7 == 0 else 2 * n for n in range(1, 1_001)}


def test_those_who_wait_share_the_next_commit_in_the_order_they_came() -> None:
    owner = Owner()
    queue = CommitQueue(owner.commit)
    owner.gate.clear()
    threads = [threading.Thread(target=queue.submit, args=(n,)) for n in range(1, 701)]
    for thread in threads:
        before = len(queue._waiting)
        thread.start()
        deadline = time.monotonic() + 10
        while thread is not threads[0] and len(queue._waiting) == before:
            assert time.monotonic() < deadline
            time.sleep(0)
        while thread is threads[0] and not owner.busy:
            assert time.monotonic() < deadline
            time.sleep(0)
    owner.gate.set()
    for thread in threads:
        thread.join(20)
    assert owner.groups == [[1], list(range(2, 502)), list(range(502, 701))]


def test_a_commit_that_fails_fails_for_each_with_an_error_of_its_own() -> None:
    owner = Owner()
    queue = CommitQueue(owner.commit)
    owner.gate.clear()
    errors: list[Exception] = []

    def submit(number: int) -> None:
        try:
            queue.submit(number)
        except StorageError as error:
            errors.append(error)

    first = threading.Thread(target=submit, args=(0,))
    first.start()
    others = [threading.Thread(target=submit, args=(0,)) for _ in range(5)]
    for thread in others:
        thread.start()
    time.sleep(0.1)
    owner.gate.set()
    for thread in (first, *others):
        thread.join(20)
    assert len({id(error) for error in errors}) == 6
    assert {str(error) for error in errors} == {"the disk broke down"}
    assert queue.submit(4) == 8


def test_an_interrupted_leader_leaves_nobody_waiting() -> None:
    interrupt = threading.Event()
    release = threading.Event()

    def commit(requests: list[str]) -> list[str]:
        if "leads" in requests:
            interrupt.set()
            release.wait(20)
            return requests
        if "interrupted" in requests:
            raise KeyboardInterrupt
        return requests

    queue = CommitQueue(commit)
    said: dict[str, str] = {}

    def submit(word: str) -> None:
        try:
            said[word] = queue.submit(word)
        except BaseException as error:
            said[word] = type(error).__name__

    leader = threading.Thread(target=submit, args=("leads",))
    leader.start()
    assert interrupt.wait(10)
    group = [threading.Thread(target=submit, args=(w,)) for w in ("interrupted", "shares it")]
    for thread in group:
        thread.start()
        while not any(ticket.request == "shares it" for ticket in queue._waiting):
            time.sleep(0.001)
            if thread is group[0]:
                break
    time.sleep(0.05)
    release.set()
    for thread in (leader, *group):
        thread.join(20)
        assert not thread.is_alive()
    assert said == {
        "leads": "leads",
        "interrupted": "KeyboardInterrupt",
        "shares it": "StorageError",
    }
    assert queue.submit("after") == "after"


def test_an_interrupted_follower_leaves_the_queue() -> None:
    """An interrupt while waiting, as the main thread may get one, passes any lead on."""
    owner = Owner()
    queue = CommitQueue(owner.commit)
    owner.gate.clear()
    leader = threading.Thread(target=queue.submit, args=(1,))
    leader.start()
    while not owner.busy:
        time.sleep(0.001)

    class Interrupting:
        def acquire(self) -> None:
            raise KeyboardInterrupt

        def release(self) -> None:
            pass

    def give_up(ticket_type: type) -> None:
        import doxa.engine.commits as module

        original = module._Ticket.__init__

        def replaced(ticket: object, request: int) -> None:
            original(ticket, request)  # type: ignore[arg-type]  # passed on
            ticket.wake = Interrupting()  # type: ignore[attr-defined]

        module._Ticket.__init__ = replaced  # type: ignore[assignment,method-assign]
        try:
            with pytest.raises(KeyboardInterrupt):
                queue.submit(2)
        finally:
            module._Ticket.__init__ = original  # type: ignore[method-assign]

    give_up(object)
    assert not queue._waiting
    owner.gate.set()
    leader.join(20)
    assert queue.submit(3) == 6
    assert owner.groups == [[1], [3]]


def test_a_wrong_number_of_answers_is_noticed() -> None:
    queue: CommitQueue[int, int] = CommitQueue(lambda requests: [])
    with pytest.raises(AssertionError, match="0 answers to 1 requests"):
        queue.submit(1)


def test_threads_share_flushes_on_a_log(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.sqlite") as store:
        groups: list[int] = []

        def commit(requests: list[int]) -> list[int]:
            groups.append(len(requests))
            with store.write() as transaction:
                return [transaction.append([event(number)]).last for number in requests]

        queue = CommitQueue(commit)
        lasts: list[int] = []

        def work() -> None:
            for number in range(50):
                lasts.append(queue.submit(number))

        together(*[work] * 16)
        assert sorted(lasts) == list(range(1, 801))
        assert sum(groups) == 800
        assert len(groups) < 800
        verified = store.verify()
        assert (verified.events, verified.problems) == (800, [])
        times = [row.recorded_at for page in store.read_rows() for row in page]
        assert len(set(times)) == 800
