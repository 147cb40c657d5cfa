"""A host goes on, whatever becomes of its ledger: marked, with nothing invented."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.degrading import Trouble
from tests.guards import AT, LONG, held, nothing, patient, run, town, vectors
from tests.recorder_support import enterable
from tests.support import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return town(tmp_path / "town.doxa")


@pytest.fixture
def hold() -> Iterator[Callable[[], bool]]:
    """A call that does not come back before the test is over."""
    with held() as call:
        yield call


# ---------------------------------------------------------------- all is well


def test_a_guarded_ledger_gives_what_the_ledger_gives(folder: Path) -> None:
    with patient(folder) as guarded, doxa.open(folder) as ledger:
        context = guarded.assemble("Where does Ada live?", valid_at=AT)
        block = ledger.assemble_fresh("Where does Ada live?", valid_at=AT)
        assert (context.text, context.source, context.degraded) == (block.text, "ledger", False)
        assert context.block is not None
        assert context.block.receipt.as_dict() == block.receipt.as_dict()
        assert (context.reason, context.detail, context.error) == (None, "", None)
        answer = guarded.recall("Where does Ada live?", valid_at=AT)
        assert answer.answer == ledger.recall("Where does Ada live?", view=ledger.view(valid_at=AT))
        assert "London" in answer.text
        assert "London" in guarded.assemble("Where does Ada live?").text
        assert "London" not in guarded.recall("Who was Bob?").text


def test_candidates_views_and_budgets_go_through(folder: Path) -> None:
    mine = [{"id": "t", "text": "Ada is in London.", "facts": ["home"], "score": 1.0}]
    with patient(folder) as guarded:
        revision = guarded.claim("ada", "lives_in", "Rome", id="rome", source="t").value
        assert revision == "rome"
        for candidates in (mine, lambda view: mine):
            for known_at in (None, 1):
                context = guarded.assemble(
                    "?", valid_at=AT, known_at=known_at, candidates=candidates
                )
                assert "Ada is in London." in context.text
        assert guarded.assemble("Ada", budget=1).text == ""
        assert "Rome" not in guarded.recall("Ada", valid_at=AT, known_at=1).text
        assert guarded.assemble("Ada", workspace="w", shared=False).text == ""


def test_the_twins_give_the_same(folder: Path) -> None:
    async def ask() -> None:
        async with patient(folder) as guarded:
            assert await guarded.aready()
            for question in ("Where does Ada live?", "Bob", ""):
                there = guarded.assemble(question, valid_at=AT)
                assert (await guarded.aassemble(question, valid_at=AT)).text == there.text
                assert (await guarded.arecall("Ada", valid_at=AT)).answer == guarded.recall(
                    "Ada", valid_at=AT
                ).answer
            assert (await guarded.aclaim("x", "p", 1, id="a", source="s")).id == "a"
            assert await guarded.asupport("a", source="t")
            assert await guarded.acorrect("a", 2, id="k")
            assert await guarded.acite("quote", claim="a", id="q")
            assert await guarded.asummarize("note", facts=["home"], id="n")
            assert await guarded.awithdraw("n")

    asyncio.run(ask())


# ---------------------------------------------------------------- the host's own mistakes


def test_the_hosts_own_mistakes_are_raised(folder: Path) -> None:
    def breaks(view: object) -> Any:
        raise KeyError("mine")

    with patient(folder, fallback="x") as guarded:
        with pytest.raises(doxa.CallerError, match="as_of"):
            guarded.assemble("Ada", as_of=AT)
        with pytest.raises(doxa.CallerError, match="query is 1"):
            guarded.assemble(1)  # type: ignore[arg-type]
        with pytest.raises(doxa.InvalidTime, match="no time zone"):
            guarded.recall("Ada", valid_at="2024-07-01T00:00:00")
        with pytest.raises(doxa.CallerError, match="takes no 'topk'"):
            guarded.recall("Ada", topk=3)
        with pytest.raises(KeyError, match="mine"):
            guarded.assemble("Ada", candidates=breaks)
        with pytest.raises(KeyError, match="mine"):
            guarded.assemble("Ada", candidates=breaks, known_at=1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'objekt'"):
            guarded.claim("x", "p", 1, objekt=1)
        with pytest.raises(doxa.InvalidEvent, match="keys are text"):
            guarded.claim("x", "p", {1: 2})
        with pytest.raises(doxa.UnknownTarget):
            guarded.withdraw("nobody")
    with pytest.raises(doxa.CallerError, match="is closed; make another guard"):
        guarded.assemble("Ada")
    with pytest.raises(doxa.CallerError, match="is closed"):
        guarded.claim("x", "p", 1)


def test_a_guard_that_can_not_be_is_refused() -> None:
    for wrong in ({"timeout": -1}, {"write_timeout": "1"}, {"retry": None}, {"most_late": 0}):
        with pytest.raises(doxa.CallerError):
            doxa.guard("somewhere", **wrong)
    with pytest.raises(doxa.CallerError, match="fallback is 1"):
        doxa.guard("somewhere", fallback=1)  # type: ignore[arg-type]
    for no_ledger in (None, 1, ""):
        with pytest.raises(doxa.CallerError):
            doxa.guard(no_ledger)  # type: ignore[arg-type]
    with doxa.open() as ledger:
        for options in ({"create": True}, {"keys": "k"}, {"embedder": doxa.Embedder("t", vectors)}):
            for opened in (ledger, lambda: ledger):
                with pytest.raises(doxa.CallerError, match="go with a folder"):
                    doxa.guard(opened, **options)
    with pytest.raises(doxa.CallerError, match="postgresql:// can't be opened"):
        patient("postgresql://host/db").recall("Ada")
    with pytest.raises(doxa.CallerError, match="gave 1"):
        patient(lambda: 1).recall("Ada")
    with pytest.raises(ZeroDivisionError):
        patient(lambda: 1 / 0).recall("Ada")


# ---------------------------------------------------------------- the ledger's troubles


def test_a_ledger_that_is_missing_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.doxa"
    with patient(path) as guarded:
        nothing(guarded.assemble("Ada"), "missing")
        nothing(guarded.recall("Ada"), "missing")
        assert not guarded.ready()
        written = guarded.claim("x", "p", 1)
        assert (written.ok, bool(written), written.state, written.reason) == (
            False, False, "failed", "missing",
        )  # fmt: skip
        with pytest.raises(doxa.NotALedger):
            written.require()
        assert not path.exists()
        with doxa.open(path) as ledger:  # and once it is there it is used
            ledger.claim("ada", "lives_in", "London", source="s")
        assert "London" in guarded.assemble("Ada", valid_at=AT).text
    with patient(tmp_path / "made.doxa", create=True) as guarded:
        assert guarded.claim("x", "p", 1, id="a").require() == "a"


def test_what_is_no_ledger_is_told_from_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    nothing(patient(tmp_path / "file").recall("Ada"), "not_a_ledger")
    nothing(patient(tmp_path).recall("Ada"), "not_a_ledger")
    nothing(patient(tmp_path / "empty").recall("Ada"), "missing")


def test_an_opening_that_failed_is_not_tried_again_at_once(tmp_path: Path) -> None:
    tried: list[int] = []

    def opens() -> doxa.Ledger:
        tried.append(1)
        raise ConnectionError("the share is not mounted")

    with patient(opens, retry=1000.0) as guarded:
        for _ in range(3):
            nothing(guarded.recall("Ada"), "storage")
        assert guarded.claim("x", "p", 1).reason == "storage"
        assert len(tried) == 1
    with patient(opens) as guarded:
        nothing(guarded.recall("Ada"), "storage")
        nothing(guarded.recall("Ada"), "storage")
        assert len(tried) == 3


def test_another_process_that_holds_the_lock_keeps_writes_off_and_no_context(folder: Path) -> None:
    held = """
import sys, doxa
from doxa.engine.lockfile import LockFile
lock = LockFile(sys.argv[1])
assert lock.acquire(5)
print("held", flush=True)
sys.stdin.readline()
"""
    command = [sys.executable, "-c", held, str(folder / "log.sqlite.lock")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with patient(folder, write_timeout=0.5) as guarded:
            assert "London" in guarded.assemble("Where does Ada live?", valid_at=AT).text
            written = guarded.claim("x", "p", 1, id="late", source="s")
            assert (written.state, written.reason, written.id) == ("failed", "locked", "late")
            with pytest.raises(doxa.StorageError, match="nothing was written"):
                written.require()
            assert guarded.recall("late", valid_at=AT).degraded is False
            child.stdin.write("\n")
            child.stdin.flush()
            child.wait(LONG)
            again = patient(folder).claim("x", "p", 1, id=written.id, source="s")
            assert again.ok
    with doxa.open(folder) as ledger:
        assert ledger.revision == 2


def test_a_write_that_was_late_is_unknown_and_can_be_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, late = threading.Event(), threading.Event()
    real = doxa.Ledger.claim

    def slow(self: doxa.Ledger, *arguments: Any, **options: Any) -> str:
        go.wait(LONG)
        done = real(self, *arguments, **options)
        late.set()
        return done

    with patient(folder, write_timeout=0.05) as guarded:
        assert guarded.ready(LONG)
        monkeypatch.setattr(doxa.Ledger, "claim", slow)
        written = guarded.claim("x", "p", 1, source="s")
        assert (written.state, written.reason, written.ok) == ("unknown", "slow", False)
        assert f"repeat it with the id {written.id}" in written.detail
        with pytest.raises(doxa.StorageError, match="may be recorded") as raised:
            written.require()
        assert raised.value.uncertain
        go.set()
        assert late.wait(LONG)
        monkeypatch.setattr(doxa.Ledger, "claim", real)
        again = patient(folder).claim("x", "p", 1, source="s", id=written.id)
        assert again.ok
    with doxa.open(folder) as ledger:
        assert ledger.revision == 2  # once


def test_a_write_that_nobody_waits_for_is_not_begun(folder: Path, hold: Callable[[], bool]) -> None:
    opened = threading.Event()

    def opens() -> doxa.Ledger:
        opened.wait(LONG)
        return doxa.open(folder)

    with patient(opens, write_timeout=0.05) as guarded:
        written = guarded.claim("x", "p", 1, source="s")
        assert (written.state, written.reason) == ("failed", "not_ready")
        assert "nothing was recorded" in written.detail
        opened.set()
        assert guarded.ready(LONG)
    with doxa.open(folder) as ledger:
        assert ledger.revision == 1


def test_what_the_ledger_says_no_to_is_refused(folder: Path) -> None:
    with patient(folder) as guarded, doxa.open(folder) as ledger:
        taken = guarded.claim("x", "p", 1, id="home")
        assert (taken.state, taken.reason) == ("refused", "duplicate_id")
        with pytest.raises(doxa.DuplicateId):
            taken.require()
        ledger.reject("Atlantis", reason="there is no such place")
        assert guarded.claim("x", "p", "atlantis").reason == "rejected"
        assert (
            guarded.claim("x", "p", 1, recorded_at="2000-01-01").reason == "recorded_at_not_later"
        )


def test_a_torn_log_is_damage(folder: Path) -> None:
    log = folder / "log.sqlite"
    whole = log.read_bytes()
    shutil.rmtree(folder / "cache", ignore_errors=True)
    log.write_bytes(b"\x00" * 4096 + whole[4096:])
    with patient(folder) as guarded:
        nothing(guarded.assemble("Ada"), "damaged")
        assert guarded.claim("x", "p", 1).state == "failed"
        log.write_bytes(whole)  # the backup is put back
        assert "London" in guarded.assemble("Ada", valid_at=AT).text


def test_a_log_that_is_torn_in_its_midst_is_damage(folder: Path) -> None:
    with doxa.open(folder) as ledger:
        for n in range(400):
            ledger.claim(f"s{n}", "p", "x" * 200, source="s")
    shutil.rmtree(folder / "cache", ignore_errors=True)
    log = folder / "log.sqlite"
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    with patient(folder) as guarded:
        for context in (guarded.assemble("Ada"), guarded.recall("Ada")):
            assert context.degraded
            assert context.text == ""
            assert context.reason in ("damaged", "index_unavailable", "source_unavailable")


def test_a_ledger_that_was_encrypted_needs_its_keys(tmp_path: Path) -> None:
    doxa.open(tmp_path / "l", keys=tmp_path / "keys").close()
    nothing(patient(tmp_path / "l").recall("Ada"), "wrong_keys")
    assert not patient(tmp_path / "l", keys=tmp_path / "keys").recall("Ada").degraded


def test_a_folder_that_can_not_be_written_is_read(folder: Path) -> None:
    enterable(folder)
    folder.chmod(0o555)
    for file in folder.iterdir():
        if file.is_file():
            file.chmod(0o444)
    try:
        done = run(
            """
import os, sys, doxa, doxa.guarding, doxa.engine.sqlite
with doxa.open() as warm:  # what is loaded later may not be readable any more
    warm.claim("x", "p", 1, source="s")
    warm.assemble_fresh("x", valid_at="2024-07-01")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
guarded = doxa.guard(sys.argv[1], timeout=60, write_timeout=60)
context = guarded.assemble("Ada", valid_at="2024-07-01")
written = guarded.claim("x", "p", 1)
print("London" in context.text, context.degraded, written.state, written.reason)
""",
            folder,
        )
    finally:
        folder.chmod(0o755)
    assert done.stdout == "True False failed storage\n", done.stderr


def test_a_disk_that_refuses_fails_the_write_and_not_the_context(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.engine import disk

    with patient(folder) as guarded:
        assert guarded.ready(LONG)
        real = disk.connect

        def refuses(path: str, mode: str, timeout: float = 0.0) -> Any:
            if mode == "rw":
                raise OSError(30, "Read-only file system", path)
            return real(path, mode, timeout)

        monkeypatch.setattr(disk, "connect", refuses)
        written = guarded.claim("x", "p", 1)
        assert (written.state, written.reason) == ("failed", "storage")
        assert "Read-only file system" in written.detail
        # what is open is read on, though it could not be opened now
        monkeypatch.setattr(disk, "connect", lambda *arguments, **options: real("/no", "ro", 0.0))
        assert "London" in guarded.assemble("Ada", valid_at=AT).text
        monkeypatch.undo()
        assert "London" in guarded.assemble("Ada", valid_at=AT).text
        assert guarded.claim("x", "p", 1, id=written.id).ok


def test_a_ledger_that_was_replaced_is_opened_anew(folder: Path, tmp_path: Path) -> None:
    with patient(folder) as guarded:
        assert guarded.ready(LONG)
        with doxa.open(tmp_path / "other") as other:
            other.claim("ada", "lives_in", "Rome", id="rome", source="s")
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "other", folder)
        assert "Rome" in guarded.assemble("Where does Ada live?", valid_at=AT).text
        assert guarded.claim("x", "p", 1, id="a", source="s").ok
    with doxa.open(folder) as there:
        assert there.revision == 2


def test_a_ledger_that_was_removed_is_missing_and_not_read_on(folder: Path) -> None:
    with doxa.open(folder) as given, patient(folder) as guarded, patient(given) as other:
        both = patient(lambda: doxa.open(folder, create=False))
        for each in (guarded, other, both):
            assert "London" in each.assemble("Where does Ada live?", valid_at=AT).text
        folder.rename(folder.with_name("moved"))
        for each in (guarded, other, both):
            word = "not_a_ledger" if each is both else "missing"
            nothing(each.assemble("Where does Ada live?", valid_at=AT), word)
            nothing(each.recall("Where does Ada live?", valid_at=AT, known_at=1), word)
            written = each.claim("x", "p", 1, source="s")
            assert (written.state, written.reason) == ("failed", word)
            assert not each.ready()
        assert not folder.exists()
        folder.with_name("moved").rename(folder)
        for each in (guarded, other, both):
            assert "London" in each.assemble("Where does Ada live?", valid_at=AT).text
        both.close()


def test_a_host_may_go_to_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with doxa.open(folder.name) as ledger, patient(folder.name) as one, patient(ledger) as two:
        assert one.ready(LONG)
        monkeypatch.chdir("/")
        for each in (one, two, patient(ledger)):
            assert "London" in each.assemble("Where does Ada live?", valid_at=AT).text
        assert one.claim("x", "p", 1, source="s").ok


def test_a_truth_that_moves_all_the_time_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doxa.Ledger, "moved", lambda self, view: True)
    nothing(patient(folder).assemble("Ada", valid_at=AT), "view_moved")


def test_a_mistake_of_doxas_own_does_not_reach_the_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(self: doxa.Ledger, *arguments: Any, **options: Any) -> Any:
        raise AssertionError("a mistake")

    with patient(folder) as guarded:
        monkeypatch.setattr(doxa.Ledger, "recall", breaks)
        monkeypatch.setattr(doxa.Ledger, "claim", breaks)
        context = guarded.assemble("Ada", valid_at=AT)
        nothing(context, "unexpected")
        assert isinstance(context.error, AssertionError)
        written = guarded.claim("x", "p", 1)
        assert (written.state, written.reason) == ("unknown", "unexpected")


class Odd(BaseException):
    """What is no `Exception`, as a library may have it."""


@pytest.mark.parametrize(
    "error",
    [
        *(SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()),
        *(StopIteration(), Odd(), MemoryError()),
    ],
    ids=repr,
)
def test_whatever_is_raised_inside_ends_no_host_and_cancels_no_task(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def breaks(self: doxa.Ledger, *arguments: Any, **options: Any) -> Any:
        raise error

    async def ask() -> None:
        nothing(await guarded.aassemble("Ada", valid_at=AT), "unexpected")
        assert (await guarded.aclaim("x", "p", 1)).state == "unknown"

    with patient(folder) as guarded:
        assert guarded.ready(LONG)
        with monkeypatch.context() as patch:
            patch.setattr(doxa.Ledger, "recall", breaks)
            patch.setattr(doxa.Ledger, "claim", breaks)
            context = guarded.assemble("Ada", valid_at=AT)
            nothing(context, "unexpected")
            assert context.error is error
            assert guarded.claim("x", "p", 1).state == "unknown"
            began = time.monotonic()
            asyncio.run(ask())
            assert time.monotonic() - began < LONG  # nobody waited for the deadline
        assert "London" in guarded.assemble("Ada", valid_at=AT).text


def test_a_process_that_can_have_no_more_threads_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with patient(folder) as guarded:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuses)
            nothing(guarded.assemble("Ada"), "stuck")
            written = guarded.claim("x", "p", 1)
            assert (written.state, written.reason) == ("failed", "stuck")
            assert "no thread can be had" in written.detail
        assert "London" in guarded.assemble("Ada", valid_at=AT).text


def test_every_trouble_has_its_word_on_the_page() -> None:
    page = (ROOT / "docs" / "degraded.md").read_text("utf-8")
    for word in Trouble:
        assert f"`{word}`" in page, word
