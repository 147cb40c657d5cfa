"""No host waits longer than it said: threads, loops and processes beside a ledger that hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import doxa
from tests.guards import AT, LONG, held, nothing, patient, run, town


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return town(tmp_path / "town.doxa")


@pytest.fixture
def hold() -> Iterator[Callable[[], bool]]:
    """A call that does not come back before the test is over."""
    with held() as call:
        yield call


# ---------------------------------------------------------------- slow and stuck


def test_a_late_answer_goes_to_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    real = doxa.Ledger.recall

    def slow(self: doxa.Ledger, query: str, **options: Any) -> Any:
        if query == "slow":
            go.wait(LONG)
        return real(self, query, **options)

    monkeypatch.setattr(doxa.Ledger, "recall", slow)
    with patient(folder, timeout=0.05) as guarded:
        assert guarded.ready(LONG)
        nothing(guarded.recall("slow"), "slow")
        guarded.timeout = LONG
        answer = guarded.recall("Where does Ada live?").answer
        assert answer is not None
        assert answer.query == "Where does Ada live?"
        go.set()
        assert guarded.recall("Ada").answer.query == "Ada"  # type: ignore[union-attr]


def test_while_calls_are_stuck_no_other_is_begun_until_one_comes_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hold: Callable[[], bool]
) -> None:
    begun: list[str] = []
    real = doxa.Ledger.recall

    def hangs(self: doxa.Ledger, query: str, **options: Any) -> Any:
        begun.append(query)
        if query == "hang":
            hold()
        return real(self, query, **options)

    guarded = patient(folder, timeout=0.02, retry=1000.0, most_late=2)
    assert guarded.ready(LONG)
    monkeypatch.setattr(doxa.Ledger, "recall", hangs)
    for _ in range(2):
        nothing(guarded.recall("hang"), "slow")
    for _ in range(5):
        nothing(guarded.recall("hang"), "stuck")
        written = guarded.claim("x", "p", 1)
        assert (written.state, written.reason) == ("failed", "stuck")
    assert begun == ["hang"] * 2
    guarded._workers._retry, guarded.timeout = 0.0, LONG  # one is let through, and closes it
    assert not guarded.recall("Ada").degraded
    guarded._workers._retry = 1000.0
    assert not guarded.recall("Ada").degraded
    guarded.close()


def test_threads_that_hang_for_ever_are_bounded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hold: Callable[[], bool]
) -> None:
    def sometimes(self: doxa.Ledger, query: str, **options: Any) -> Any:
        if query == "hang":
            hold()
        raise doxa.StorageError.told("no", locked=True)

    guarded = patient(folder, timeout=0.01, most_late=2)
    assert guarded.ready(LONG)
    monkeypatch.setattr(doxa.Ledger, "recall", sometimes)
    before = threading.active_count()
    reasons = set()
    for _ in range(60):
        guarded.timeout = 0.01
        reasons.add(guarded.recall("hang").reason)
        guarded.timeout = LONG
        reasons.add(guarded.recall("come back").reason)
    assert reasons == {"slow", "locked", "stuck"}
    assert threading.active_count() - before <= 2 * 5 + 1


def test_a_guard_is_closed_though_calls_are_stuck(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    closed: list[doxa.Ledger] = []
    close = doxa.Ledger.close

    def closes(self: doxa.Ledger) -> None:
        closed.append(self)
        close(self)

    guarded = doxa.guard(folder, timeout=0.02, retry=1000.0, most_late=1)
    assert guarded.ready(LONG)
    monkeypatch.setattr(doxa.Ledger, "recall", lambda self, *a, **o: go.wait(LONG))
    monkeypatch.setattr(doxa.Ledger, "close", closes)
    nothing(guarded.recall("Ada"), "slow")
    nothing(guarded.recall("Ada"), "stuck")
    guarded.close()
    guarded.close()
    assert closed == []  # somebody uses it
    go.set()
    deadline = time.monotonic() + LONG
    while not closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(closed) == 1


def test_threads_end_with_their_guard_and_when_they_have_nothing_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(most: int) -> bool:
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            if sum(thread.name == "doxa-guard" for thread in threading.enumerate()) <= most:
                return True
            time.sleep(0.01)
        return False

    async def ask() -> None:
        async with patient(folder) as guarded:
            assert (await guarded.aassemble("Ada", valid_at=AT)).source == "ledger"

    before = sum(thread.name == "doxa-guard" for thread in threading.enumerate())
    for _ in range(3):
        asyncio.run(ask())
    assert ends(before)
    monkeypatch.setattr("doxa.workers.IDLE", 0.01)
    guarded = patient(folder)
    for _ in range(30):  # whether the thread is there or not
        assert not guarded.assemble("Ada", valid_at=AT).degraded
        time.sleep(0.01)
    assert ends(before)
    assert not guarded.assemble("Ada", valid_at=AT).degraded


def test_many_threads_share_one_guard(folder: Path) -> None:
    with patient(folder) as guarded, ThreadPoolExecutor(16) as pool:
        texts = list(pool.map(lambda n: guarded.assemble("Ada", valid_at=AT).text, range(64)))
        assert len(set(texts)) == 1
        writes = list(pool.map(lambda n: guarded.claim("x", "p", n, id=f"c{n}"), range(64)))
        assert all(writes)
    with doxa.open(folder) as ledger:
        assert ledger.revision == 65


def test_it_is_opened_once_for_all_who_wait(folder: Path) -> None:
    opened: list[int] = []

    def opens() -> doxa.Ledger:
        opened.append(1)
        return doxa.open(folder)

    with patient(opens) as guarded, ThreadPoolExecutor(8) as pool:
        contexts = list(pool.map(lambda n: guarded.recall("Ada"), range(32)))
    assert not any(context.degraded for context in contexts)
    assert len(opened) == 1


def test_a_ledger_is_not_closed_between_being_had_and_being_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.holding import _Held

    real = _Held.is_there.fget  # type: ignore[attr-defined]
    breaks = iter([True])

    def slowly(self: _Held) -> bool:
        if next(breaks, False):  # another call finds that it broke, just now
            guarded._holder.failed(doxa.StorageError("the disk has gone away"))
            guarded._holder._close_old()
        return bool(real(self))

    with patient(folder) as guarded:
        assert guarded.ready(LONG)
        monkeypatch.setattr(_Held, "is_there", property(slowly))
        assert "London" in guarded.assemble("Where does Ada live?", valid_at=AT).text
        assert "London" in guarded.assemble("Where does Ada live?", valid_at=AT).text


def test_an_open_ledger_stays_its_owners(folder: Path) -> None:
    with doxa.open(folder) as ledger:
        with patient(ledger) as guarded:
            assert "London" in guarded.assemble("Ada", valid_at=AT).text
        assert ledger.revision == 1


def test_a_ledger_that_breaks_under_many_is_closed_by_the_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[doxa.Ledger] = []
    closed: list[doxa.Ledger] = []
    real, close, broken = doxa.Ledger.recall, doxa.Ledger.close, iter(range(10**9))

    def opens() -> doxa.Ledger:
        opened.append(doxa.open(folder))
        return opened[-1]

    def sometimes(self: doxa.Ledger, query: str, **options: Any) -> Any:
        if next(broken) % 7 == 3:
            raise doxa.StorageError("the disk has gone away")
        return real(self, query, **options)

    def closes(self: doxa.Ledger) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(doxa.Ledger, "recall", sometimes)
    monkeypatch.setattr(doxa.Ledger, "close", closes)
    guarded = patient(opens, most_late=64)
    with ThreadPoolExecutor(16) as pool:
        contexts = list(pool.map(lambda n: guarded.recall("Ada", valid_at=AT), range(300)))
    assert {str(context.reason) for context in contexts} == {"None", "storage"}
    guarded.close()
    assert len(opened) > 5
    assert sorted(map(id, opened)) == sorted(map(id, closed))


# ---------------------------------------------------------------- asynchronous hosts


def test_the_loop_goes_on_while_the_ledger_hangs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hold: Callable[[], bool]
) -> None:
    async def ask() -> None:
        guarded = patient(folder)
        assert await guarded.aready()
        monkeypatch.setattr(doxa.Ledger, "recall", lambda self, *a, **o: hold())
        guarded.timeout, ticks = 0.2, 0
        asking = asyncio.create_task(guarded.aassemble("Ada"))
        while not asking.done():
            ticks += 1
            await asyncio.sleep(0)
        nothing(asking.result(), "slow")
        assert ticks > 10

    asyncio.run(ask())


def test_a_call_may_be_cancelled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hold: Callable[[], bool]
) -> None:
    begun = threading.Event()

    def hangs(self: doxa.Ledger, *arguments: Any, **options: Any) -> Any:
        begun.set()
        hold()
        raise RuntimeError("nobody hears of it")

    async def ask() -> None:
        guarded = patient(folder)
        assert await guarded.aready()
        monkeypatch.setattr(doxa.Ledger, "recall", hangs)
        for call in (guarded.arecall("Ada"), guarded.aassemble("Ada")):
            asking = asyncio.create_task(call)
            while not begun.is_set():
                await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            begun.clear()
        assert len(guarded._workers._late) == 2

    asyncio.run(ask())


# ---------------------------------------------------------------- processes


def test_what_is_stuck_keeps_no_process_from_ending(folder: Path) -> None:
    done = run(
        """
import sys, threading, doxa
for_ever = threading.Event()
guarded = doxa.guard(sys.argv[1], timeout=0.05, write_timeout=0.05)
assert guarded.ready(60)
doxa.Ledger.recall = doxa.Ledger.claim = lambda self, *a, **o: for_ever.wait()
print(guarded.recall("Ada").reason, guarded.claim("x", "p", 1).state)
never = doxa.guard(lambda: for_ever.wait(), timeout=0.05)
print(never.recall("Ada").reason)
""",
        folder,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "slow unknown\nnot_ready\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_asks_for_itself(folder: Path) -> None:
    done = run(
        """
import os, sys, threading, warnings, doxa
warnings.simplefilter("ignore")  # that of forking with threads
end = threading.Event()
guarded = doxa.guard(sys.argv[1], timeout=30, write_timeout=30, most_late=1, retry=0)
text = guarded.assemble("Ada", valid_at="2024-07-01").text
assert "London" in text
real = doxa.Ledger.recall
doxa.Ledger.recall = lambda self, *a, **o: end.wait()
guarded.timeout = 0.05
assert guarded.recall("Ada").reason == "slow"  # it is running while we fork
doxa.Ledger.recall = real
guarded.timeout = 30
child = os.fork()
if child == 0:
    same = guarded.assemble("Ada", valid_at="2024-07-01")
    wrote = guarded.claim("x", "p", 1, id="child", source="s")
    os._exit(0 if same.text == text and wrote.ok else 1)
assert os.waitpid(child, 0)[1] == 0
end.set()
assert guarded.claim("x", "p", 1, id="child", source="s").ok
print(guarded.recall("Ada", valid_at="2024-07-01").degraded)
""",
        folder,
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_a_host_that_is_interrupted_is_interrupted(folder: Path) -> None:
    guarded = patient(folder)
    assert guarded.ready()
    here, end = threading.get_ident(), threading.Event()
    # to the thread that waits: another one that is given the signal would not wake it
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(here, signal.SIGINT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doxa.Ledger, "recall", lambda self, *a, **o: end.wait(LONG))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            guarded.recall("Ada")
    end.set()
    assert "London" in guarded.assemble("Ada", valid_at=AT).text
    guarded.close()
