"""One ledger, many hands: threads, processes, failures in the midst of a commit, forks."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import threading
import traceback
from array import array
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest

import doxa
from doxa.engine import rows
from doxa.engine.fold import Fold
from doxa.engine.numbers import lead
from tests import children

DAY = "2024-06-01"


def _claim(id: str, **fields: Any) -> dict[str, Any]:
    base = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": id}
    return {**base, "source": "s", **fields}


def _ids(ledger: doxa.Ledger) -> list[str]:
    return [claim.id for claim in ledger.view(valid_at=DAY).claims()]


def _together(calls: Iterable[Callable[[], object]]) -> list[object]:
    """What the calls return, or the error that they raise, each in a thread, begun at once."""
    calls = list(calls)
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        gate.wait()
        try:
            return call()
        except doxa.DoxaError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.fixture(params=["memory", "folder"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterable[doxa.Ledger]:
    with doxa.open(None if request.param == "memory" else tmp_path / "l.doxa") as ledger:
        yield ledger


# ---------------------------------------------------------------- threads


def test_thirty_two_threads_append_and_every_commit_is_there_once(opened: doxa.Ledger) -> None:
    def twenty(name: int) -> None:
        for number in range(20):
            id = opened.claim(f"s{name}", "p", number, id=f"{name}-{number}", source="s")
            assert opened.view(valid_at=DAY).standing(id) == "reported"  # one's own is seen at once

    found = _together(lambda name=name: twenty(name) for name in range(32))  # type: ignore[misc]
    assert found == [None] * 32
    assert opened.revision == 640
    assert len(set(_ids(opened))) == 640
    view = opened.view(valid_at=DAY)
    assert all(view.values(f"s{name}", "p") == tuple(range(20)) for name in range(32))
    assert opened.verify().ok


def test_views_keep_their_answers_and_end_at_commits_while_others_write(
    opened: doxa.Ledger,
) -> None:
    """Commits of three: a claim, its rival, and the withdrawal of the claim two commits before."""
    opened.policy(single_valued="p")
    stop = threading.Event()

    def write(name: str) -> None:
        for number in range(60):
            events = [_claim(f"{name}{number}", subject=name), _claim(f"{name}{number}'")]
            if number > 1:
                target = f"{name}{number - 2}"
                events.append({"event": "withdrawal", "id": f"w{target}", "target": target})
            opened.append(events)

    def read() -> int:
        kept: list[tuple[doxa.TruthView, str, list[str]]] = []
        while not stop.is_set():
            view = opened.view(valid_at=DAY)
            ids = [claim.id for claim in view.claims()]
            for name in ("ada", "bo"):
                about = {c.id for c in view.claims(subject=name, standing="any")}
                rest = {c.id for c in view.claims(subject="x", standing="any")}
                assert {f"{id}'" for id in about} == {id for id in rest if id.startswith(name)}
            kept.append((view, view.fingerprint, ids))
        for view, mark, ids in kept:
            again = opened.view(valid_at=DAY, known_at=view.revision)  # refused inside a commit
            assert again.fingerprint == mark
            assert [claim.id for claim in view.claims()] == ids
        return len(kept)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for writer in [pool.submit(write, name) for name in ("ada", "bo")]:
            writer.result()
        stop.set()
        assert all(reader.result() > 0 for reader in readers)
    assert opened.verify().ok


def test_reconciliations_keep_their_answers_while_others_write(opened: doxa.Ledger) -> None:
    """Texts over claims that are withdrawn and restored; half of them bound to a snapshot."""
    facts = [opened.claim(f"s{number}", "p", number, source="s") for number in range(8)]
    stop = threading.Event()

    def write() -> None:
        for number in range(60):
            fact = facts[number % 8]
            opened.summarize("so", facts=[fact], binding="snapshot", selection=[f"s{number % 8}"])
            opened.summarize("so it is", facts=[fact, facts[0]])
            opened.withdraw(opened.withdraw(fact) if number % 3 else fact)
        stop.set()

    def read() -> int:
        kept = []
        while not stop.is_set():
            view = opened.view(valid_at=DAY)
            kept.append((view, _outcome(opened, view)))
        for view, outcome in kept[:: max(1, len(kept) // 20)]:
            again = opened.view(valid_at=DAY, known_at=view.revision)
            assert _outcome(opened, again) == outcome == _outcome(opened, view)
        return len(kept)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert opened.verify().ok


def _outcome(ledger: doxa.Ledger, view: doxa.TruthView) -> list[tuple[str, str, str]]:
    return [
        (item.id, str(item.reason), str(item.cause)) for item in ledger.reconcile(view).invalidated
    ]


def test_knowing_at_this_instant_never_fails_while_others_write(opened: doxa.Ledger) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            opened.claim("x", "p", 1, source="s")

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        for _ in range(300):
            now = opened.view(valid_at=DAY).known_at
            if now is not None:
                view = opened.view(valid_at=DAY, known_at=now)
                assert view.known_at == now
                assert not opened.reconcile(opened.view(valid_at=DAY)).invalidated
        stop.set()
        writer.result()


def test_of_many_who_expect_one_revision_exactly_one_wins(opened: doxa.Ledger) -> None:
    opened.claim("x", "p", 0, source="s")
    read = opened.revision
    found = _together(
        lambda n=n: opened.append([_claim(f"c{n}")], expected_revision=read)  # type: ignore[misc]
        for n in range(12)
    )
    lost = [item for item in found if isinstance(item, doxa.RevisionConflict)]
    assert len(lost) == 11
    assert all(
        f"at revision {read + 1}" in str(item) and f"{read} as" in str(item) for item in lost
    )
    assert opened.revision == read + 1


def test_another_workspace_moves_without_a_conflict(opened: doxa.Ledger) -> None:
    opened.claim("x", "p", 1, source="s", workspace="w1")
    read = opened.revision
    opened.claim("x", "p", 1, source="s", workspace="w2")
    opened.append([_claim("c", workspace="w1")], expected_revision=read)
    with pytest.raises(doxa.RevisionConflict, match="'w1' is at revision 3, not at 1"):
        opened.append([_claim("d", workspace="w1")], expected_revision=read)


def test_the_same_append_from_many_threads_is_recorded_once(opened: doxa.Ledger) -> None:
    events = [_claim("a"), _claim("b"), {"event": "correction", "id": "k", "corrects": "a"}]
    found = _together(lambda: opened.append(events, expected_revision=0) for _ in range(12))
    commits: list[Any] = [item for item in found if not isinstance(item, doxa.DoxaError)]
    assert len(commits) == 12  # a repeat is no conflict, whatever it expects
    assert sorted((item.new, item.repeated) for item in commits) == [(0, 3)] * 11 + [(3, 0)]
    assert {item.revision for item in commits} == {3} == {opened.revision}


def test_an_id_that_two_claim_for_other_contents_goes_to_one(opened: doxa.Ledger) -> None:
    found = _together(
        lambda n=n: opened.claim("x", "p", n, id="mine", source="s")  # type: ignore[misc]
        for n in range(8)
    )
    assert sum(isinstance(item, doxa.DuplicateId) for item in found) == 7
    assert found.count("mine") == 1
    assert opened.revision == 1


# ---------------------------------------------------------------- processes


def _go(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("go\n")
    child.stdin.flush()


def test_two_processes_see_each_others_commits_while_both_append(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    with doxa.open(path) as ledger, children.start("append", path, "child", 60) as child:
        _go(child)
        seen = []
        for number in range(60):
            ledger.claim("parent", "counts", number, source="s")
            view = ledger.view(valid_at=DAY)
            assert view.values("parent", "counts") == tuple(range(number + 1))
            seen.append(len(view.values("child", "counts")))
        assert child.wait(timeout=60) == 0
        assert seen == sorted(seen)
        view = ledger.view(valid_at=DAY)
        assert view.values("child", "counts") == tuple(range(60))
        assert ledger.revision == 120
        assert ledger.verify().ok


def test_of_processes_that_expect_one_revision_exactly_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    with doxa.open(path) as ledger:
        ledger.claim("x", "p", 0, source="s")
        racers = [children.start("race", path, 1) for _ in range(3)]
        for racer in racers:
            _go(racer)
        said = sorted(racer.communicate(timeout=60)[0] for racer in racers)
        assert said == ["lost\n", "lost\n", "won\n"]
        assert ledger.revision == 2


def test_an_assembly_whose_view_another_process_moved_returns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    with doxa.open(path) as ledger:
        fact = ledger.claim("x", "p", 1, source="s")
        given = [{"id": "t", "text": "one", "facts": [fact], "score": 1.0}]
        view = ledger.view(valid_at=DAY)
        past = ledger.view(valid_at=DAY, known_at=ledger.revision)
        assert "one" in ledger.assemble("q", candidates=given, view=view, budget=400).text
        children.run("move", path, "elsewhere")
        for candidates in (given, []):
            with pytest.raises(doxa.ViewMoved, match="past revision 1"):
                ledger.assemble("q", candidates=candidates, view=view, budget=400)
            assert ledger.assemble("q", candidates=candidates, view=past, budget=400) is not None
        with pytest.raises(doxa.ViewMoved):
            ledger.summarize("one", facts=[fact], view=view)
        assert ledger.revision == 2


def test_an_assembly_whose_view_moves_underneath_it_returns_nothing(opened: doxa.Ledger) -> None:
    """The truth moves while the candidates are being read, and they select nothing."""

    def candidates() -> Iterable[dict[str, Any]]:
        opened.claim("y", "p", 1, source="s")
        return
        yield

    with pytest.raises(doxa.ViewMoved):
        opened.assemble("q", candidates=candidates(), view=opened.view(valid_at=DAY), budget=400)
    tries = []

    def each(view: doxa.TruthView) -> Iterable[dict[str, Any]]:
        tries.append(view.revision)
        if len(tries) < 3:
            opened.claim("y", "p", len(tries), source="s")
        return []

    opened.assemble_fresh("q", valid_at=DAY, budget=400, candidates=each)
    assert tries == [1, 2, 3]


def test_one_folder_opened_twice_in_one_process_is_one_ledger(tmp_path: Path) -> None:
    one, other = doxa.open(tmp_path / "l.doxa"), doxa.open(tmp_path / "l.doxa")
    for number in range(10):
        for ledger, name in ((one, "one"), (other, "other")):  # each sees the other's
            ledger.append(
                [_claim(f"{name}{number}")], expected_revision=2 * number + (name > "one")
            )
    assert _ids(one) == _ids(other)
    one.close()
    other.claim("x", "p", "last", source="s")
    assert other.revision == 21
    assert other.verify().ok
    other.close()


# ---------------------------------------------------------------- failures


def test_a_full_disk_refuses_the_append_and_the_ledger_goes_on(tmp_path: Path) -> None:
    refused, revision = children.run("limited", tmp_path / "l.doxa", 400_000).split()
    assert (int(refused), int(revision) > 1) == (3, True)
    with doxa.open(tmp_path / "l.doxa") as ledger:
        assert ledger.revision == int(revision)
        assert ledger.verify().ok


class _FailingCommit:
    """A connection of which the next COMMIT fails, as on a full disk."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode, error.sqlite_errorname = 10, "SQLITE_IOERR"
            raise error
        return self._connection.execute(sql, *parameters)


def test_a_commit_that_fails_leaves_neither_the_log_nor_the_belief_changed(
    opened: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = opened.claim("x", "p", 1, source="s")
    view = opened.view(valid_at=DAY)
    mark = view.fingerprint
    writer = opened.recorder._writer
    begin = writer.begin
    with monkeypatch.context() as patch:
        patch.setattr(writer, "begin", lambda: _FailingCommit(begin()))
        with pytest.raises(doxa.StorageError, match="nothing was written"):
            opened.append([_claim("lost"), {"event": "withdrawal", "id": "w", "target": kept}])
    now = opened.view(valid_at=DAY)
    assert (now.revision, now.fingerprint) == (1, mark)
    assert now.standing("lost") == "not_yet_known"
    assert (view.fingerprint, view.standing(kept)) == (mark, "reported")
    opened.append([_claim("kept")])
    assert view.standing("kept") == "not_yet_known"
    assert _ids(opened) == [kept, "kept"]
    assert opened.verify().ok


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError, doxa.DamageError])
def test_an_interruption_while_a_commit_is_folded_leaves_both_as_they_were(
    interruption: type[BaseException], opened: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = opened.claim("x", "p", 1, source="s")
    apply = Fold.apply

    def interrupted(fold: Fold, *commit: Any) -> NoReturn:
        apply(fold, *commit)
        raise interruption("now")

    with monkeypatch.context() as patch:
        patch.setattr(Fold, "apply", interrupted)
        with pytest.raises(interruption):
            opened.append([_claim("lost"), {"event": "withdrawal", "id": "w", "target": kept}])
    assert opened.revision == 1
    assert opened.view(valid_at=DAY).standing(kept) == "reported"
    opened.claim("x", "p", 2, source="s")
    assert opened.verify().ok


def test_readers_never_see_what_a_failing_commit_would_have_brought(
    opened: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.claim("x", "p", 1, source="s")
    stop = threading.Event()
    wrong: list[str] = []

    def read() -> None:
        while not stop.is_set():
            view = opened.view(valid_at=DAY)
            wrong.extend(claim.id for claim in view.claims() if claim.id.startswith("lost"))

    writer = opened.recorder._writer
    begin, count = writer.begin, [0]

    def sometimes() -> Any:
        count[0] += 1
        return _FailingCommit(begin()) if count[0] % 2 else begin()

    reader = threading.Thread(target=read)
    reader.start()
    with monkeypatch.context() as patch:
        patch.setattr(writer, "begin", sometimes)
        for number in range(60):
            try:
                opened.append([_claim(f"{'kept' if number % 2 else 'lost'}{number}")])
            except doxa.StorageError:
                assert not number % 2
    stop.set()
    reader.join()
    assert not wrong
    assert opened.verify().ok


def test_an_append_that_fails_in_a_shared_flush_takes_only_itself(opened: doxa.Ledger) -> None:
    calls: list[Callable[[], object]] = []
    for number in range(8):
        calls.append(lambda n=number: opened.append([_claim(f"good{n}")]))  # type: ignore[misc]
        bad = {"event": "withdrawal", "id": f"bad{number}", "target": "nobody"}
        calls.append(lambda bad=bad: opened.append([bad]))  # type: ignore[misc]
    found = _together(calls)
    assert sum(isinstance(item, doxa.UnknownTarget) for item in found) == 8
    assert set(_ids(opened)) == {f"good{number}" for number in range(8)}


# ---------------------------------------------------------------- closing, forking


def test_closing_while_others_write_ends_each_write_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    ledger = doxa.open(path)
    begun = threading.Event()
    done: list[str] = []
    refusals: list[str] = []

    def write(name: int) -> None:
        for number in range(10_000):
            try:
                done.append(ledger.claim("x", "p", number, id=f"{name}-{number}", source="s"))
            except doxa.CallerError as error:
                refusals.append(str(error))
                return
            begun.set()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, name) for name in range(4)]
        begun.wait(30)
        ledger.close()
        for writer in writers:
            writer.result()
    assert len(refusals) == 4
    assert all("is closed" in refusal for refusal in refusals)
    with doxa.open(path) as again:
        assert set(_ids(again)) == set(done)
        assert again.verify().ok


def test_after_closing_every_call_is_refused_and_views_keep_their_answers(
    opened: doxa.Ledger,
) -> None:
    fact = opened.claim("x", "p", {"deep": [1]}, source="s")
    view = opened.view(valid_at=DAY)
    mark = view.fingerprint
    opened.close()
    opened.close()
    calls: list[Callable[[], object]] = [
        lambda: opened.revision,
        lambda: opened.view(valid_at=DAY),
        lambda: opened.claim("x", "p", 2, source="s"),
        lambda: opened.correct(fact, 2),
        lambda: opened.import_events([_claim("c")]),
        lambda: opened.history("x", "p", valid_at=DAY),
        lambda: opened.reconcile(view),
        lambda: opened.verify(),
    ]
    for call in calls:
        with pytest.raises(doxa.CallerError, match="is closed; open it again"):
            call()
    assert view.value("x", "p") == {"deep": [1]}
    assert (view.standing(fact), view.fingerprint) == ("reported", mark)


def _in_child(work: Callable[[], object]) -> None:
    """Runs ``work`` in a forked child, and fails here if it fails there."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_goes_on_with_the_ledger_of_its_parent(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as ledger:
        ledger.claim("x", "p", "before", source="s")

        def work() -> None:
            ledger.claim("x", "p", "child", source="s")
            assert ledger.view(valid_at=DAY).values("x", "p") == ("before", "child")

        _in_child(work)
        assert ledger.view(valid_at=DAY).values("x", "p") == ("before", "child")
        ledger.claim("x", "p", "after", source="s")
        assert ledger.verify().ok


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_in_the_midst_of_a_commit_is_refused_and_not_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding, forked = threading.Event(), threading.Event()
    follow = Fold.follow_plain

    def slow(fold: Fold, *commit: Any) -> None:
        follow(fold, *commit)
        if not forked.is_set():
            folding.set()
            forked.wait(30)

    with doxa.open(tmp_path / "l.doxa") as ledger:
        ledger.claim("x", "p", "before", source="s")
        monkeypatch.setattr(Fold, "follow_plain", slow)
        writer = threading.Thread(target=lambda: ledger.claim("x", "p", "parent", source="s"))
        writer.start()
        folding.wait(30)

        def work() -> None:
            with pytest.raises(doxa.StorageError, match="forked in the middle of a transaction"):
                ledger.view(valid_at=DAY)

        _in_child(work)
        forked.set()
        writer.join()
        assert ledger.view(valid_at=DAY).values("x", "p") == ("before", "parent")
        assert ledger.verify().ok


class _Heads(array):  # type: ignore[type-arg]  # an array is generic for type checkers alone
    """The heads of chains, which say of each row that they come to lead to whether it is whole."""

    def watch(self, following: Sized, positions: Sized) -> None:
        self.columns, self.torn = (following, positions), list[int]()

    def __setitem__(self, place: Any, row: Any) -> None:
        super().__setitem__(place, row)
        if row >= min(map(len, self.columns)):
            self.torn.append(row)


@pytest.mark.parametrize("many", [1, 64])
def test_a_chain_leads_to_rows_that_are_whole(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """Readers follow the chains while rows are added: alone, or many at once."""
    seen: list[bool] = []

    def leading(last: Any, keys: Any, row: int) -> None:
        lead(last, keys, row)
        column = graph.c_next_subject if last is graph._first_subject else graph.s_next_source
        positions = graph.c_pos if last is graph._first_subject else graph.s_pos
        seen.append(len(column) == len(positions) == row + len(keys))

    with doxa.open() as ledger:
        ledger.append([_claim("a"), _claim("b")])
        graph = ledger.view(valid_at=DAY).graph
        for name, following, positions in (
            ("_first_subject", graph.c_next_subject, graph.c_pos),
            ("r_first_support", graph.s_next_source, graph.s_pos),
        ):
            heads = _Heads("i", getattr(graph, name))
            heads.watch(following, positions)
            setattr(graph, name, heads)
        monkeypatch.setattr(rows, "lead", leading)
        monkeypatch.setattr(rows, "_MANY", many)
        for number in range(3):
            ledger.append([_claim(f"{number} {each}") for each in range(3)])
        # they are watched ones, put in place of plain arrays above
        assert graph._first_subject.torn == graph.r_first_support.torn == []  # type: ignore[attr-defined]
        assert seen == [True] * len(seen)
        assert bool(seen) == (many == 1)
        assert len(ledger.view(valid_at=DAY).claims(subject="x")) == 11
