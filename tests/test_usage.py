"""Use is noted beside the log, on request alone; whoever throws the file away loses warmth only."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.engine.usage import Usage, Used
from doxa.ledger import Ledger
from tests.asked import files

AT = "2024-01-01"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with a claim, a quote, a summary."""
    with doxa.open(tmp_path / "ledger") as ledger:
        ledger.claim("ada", "is", "red", id="a", source={"id": "s", "quote": "red she is"})
        ledger.claim("bob", "is", "red", id="b", source="s")
        ledger.summarize("both are red", facts=["a", "b"], id="n")
    return tmp_path / "ledger"


@pytest.fixture
def opened(path: Path) -> Iterator[Ledger]:
    with doxa.open(path) as ledger:
        yield ledger


def ask(ledger: Ledger, query: str = "red", **more: Any) -> Any:
    return ledger.recall(query, view=ledger.view(valid_at=AT), **more)


def uses(ledger: Ledger, *ids: str) -> list[int]:
    return [one["uses"] for one in ledger.usage(ids)]


# ---------------------------------------------------------------- when it is written


def test_asking_writes_nothing_unless_it_is_asked_to(path: Path) -> None:
    with doxa.open(path) as ledger:
        ask(ledger)
        ledger.close()
    before = files(path)
    with doxa.open(path) as ledger:
        view = ledger.view(valid_at=AT)
        ask(ledger)
        ask(ledger, archived=True, layer=["buffer", "core"])
        ask(ledger, reinforce=False)
        ask(ledger, reinforce=True, skip_side_effects=True)
        ledger.recall_batch(["red"], view=view, reinforce=True, skip_side_effects=True)
        ledger.assemble("red", view=view, reinforce=True, skip_side_effects=True)
        ledger.usage(["a"])
        ledger.decay(dry_run=True)
        ledger.stats()
    assert files(path) == before
    assert not (path / "usage.sqlite").exists()


def test_each_record_that_is_returned_is_used_once_a_call(opened: Ledger) -> None:
    found = ask(opened, reinforce=True)
    assert {hit.id for hit in found} == {"a", "a/support", "b", "n"}
    assert uses(opened, "a", "b", "n") == [1, 1, 1]  # a quote is its claim's
    ask(opened, top_k=1, tier="summary", reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 1, 2]
    ask(opened, "nothing of the kind", reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 1, 2]


def test_a_batch_uses_what_its_questions_would_one_by_one(opened: Ledger) -> None:
    view = opened.view(valid_at=AT)
    opened.recall_batch(["red", "ada", "nothing"], view=view, reinforce=True)
    assert uses(opened, "a", "b", "n") == [2, 1, 1]


def test_a_block_uses_what_is_printed_in_it(opened: Ledger) -> None:
    view = opened.view(valid_at=AT)
    opened.assemble("red", view=view, reinforce=True, budget=10)
    assert uses(opened, "a", "b", "n") == [0, 0, 0]
    opened.assemble("ada", view=view, reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 0, 0]
    opened.assemble("", view=view, candidates="registered", reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 0, 1]
    brought: list[dict[str, Any]] = [
        {"id": "x", "text": "t", "facts": ["b"]},
        {"id": "y", "text": "u", "supports": ["b/support"], "score": 1},
        {"id": "z", "text": "u", "facts": ["nobody"]},
    ]
    opened.assemble("", view=view, candidates=brought, reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 1, 1]
    ask(opened, candidates=brought, reinforce=True)
    assert uses(opened, "a", "b", "n") == [1, 2, 1]


def test_a_block_that_is_refused_since_the_truth_moved_uses_nothing(opened: Ledger) -> None:
    view = opened.view(valid_at=AT)
    opened.claim("c", "is", 1, source="s")
    with pytest.raises(doxa.ViewMoved):
        opened.assemble("red", view=view, reinforce=True)
    assert uses(opened, "a", "b", "n") == [0, 0, 0]


def test_an_answer_has_the_same_bytes_whether_its_use_is_noted_or_not(opened: Ledger) -> None:
    plain = ask(opened).to_bytes()
    assert [ask(opened, reinforce=True).to_bytes() for _ in range(4)] == [plain] * 4
    assert ask(opened, reinforce=True, skip_side_effects=True).to_bytes() == plain


def test_what_is_archived_comes_back_by_use(opened: Ledger) -> None:
    opened.archive(["a", "n"])
    revision = opened.revision
    ask(opened, reinforce=True)  # it was not returned
    ask(opened, archived=True)
    ask(opened, archived=True, reinforce=True, skip_side_effects=True)
    assert opened.revision == revision
    ask(opened, "ada", archived=True, reinforce=True)
    assert [one["archived"] for one in opened.usage(["a", "n"])] == [False, True]
    assert "back: used" in str(opened.view(valid_at=AT).why("a"))
    view = opened.view(valid_at=AT)
    opened.assemble("red", view=view, archived=True, reinforce=True)
    assert [one["archived"] for one in opened.usage(["a", "n"])] == [False, False]
    revision = opened.revision
    ask(opened, archived=True, reinforce=True)
    assert opened.revision == revision


@pytest.mark.parametrize("name", ["reinforce", "skip_side_effects"])
def test_what_is_neither_yes_nor_no_is_refused(opened: Ledger, name: str) -> None:
    with pytest.raises(doxa.CallerError, match=f"{name} is 1"):
        ask(opened, "red", **{name: 1})
    with pytest.raises(doxa.CallerError, match=name):
        opened.assemble("red", view=opened.view(valid_at=AT), **{name: None})  # type: ignore[arg-type]


# ---------------------------------------------------------------- layers


def _warm(ledger: Ledger, id: str, times: int) -> None:
    ledger._usage.touch([("", id)] * times, ledger.clock())


def test_layers_filter_and_order_what_is_equal() -> None:
    with doxa.open() as ledger:
        for id in ("a", "b", "c", "d"):
            ledger.claim("it", "is", "red", id=id, source="s")
        ledger.claim("it", "is", "red red", id="more", source="s")
        view = ledger.view(valid_at=AT)
        assert [hit.id for hit in ledger.recall("red", view=view)] == ["more", "a", "b", "c", "d"]
        _warm(ledger, "c", 5)
        _warm(ledger, "d", 20)
        _warm(ledger, "b", 4)
        found = [hit.id for hit in ledger.recall("red", view=view)]
        assert found == ["more", "d", "c", "a", "b"]  # what scores more comes first all the same
        assert [hit.id for hit in ledger.recall("red", view=view, top_k=2)] == ["more", "d"]
        for layers, ids in (
            ("core", ["d"]),
            (["working"], ["c"]),
            ("buffer", ["more", "a", "b"]),
            (["core", "working"], ["d", "c"]),
        ):
            found = [hit.id for hit in ledger.recall("red", view=view, layer=layers)]
            assert found == ids
        with pytest.raises(doxa.CallerError, match=r"layer is 'hot'.*buffer, working, core"):
            ledger.recall("red", view=view, layer="hot")
        with pytest.raises(doxa.CallerError, match="layer is"):
            ledger.recall("red", view=view, layer=[])


def test_a_page_goes_on_where_the_last_ended_unless_the_order_became_another() -> None:
    with doxa.open() as ledger:
        for id in "abcdef":
            ledger.claim("it", "is", "red", id=id, source="s")
        _warm(ledger, "e", 5)
        view = ledger.view(valid_at=AT)
        first = ledger.recall("red", view=view, top_k=2)
        second = ledger.recall("red", view=view, top_k=2, cursor=first.cursor, reinforce=True)
        third = ledger.recall("red", view=view, top_k=2, cursor=second.cursor)
        assert [hit.id for page in (first, second, third) for hit in page] == list("eabcdf")
        _warm(ledger, "d", 5)
        with pytest.raises(doxa.ViewMoved, match="used more often; ask anew"):
            ledger.recall("red", view=view, top_k=2, cursor=second.cursor)
        assert [hit.id for hit in ledger.recall("red", view=view, top_k=2)] == ["d", "e"]


# ---------------------------------------------------------------- the file


def test_uses_outlast_the_process_and_go_with_the_file(path: Path) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
    with doxa.open(path) as ledger:
        assert uses(ledger, "a") == [1]
        (path / "usage.sqlite").unlink()
        assert uses(ledger, "a") == [0]
        answer = ask(ledger, reinforce=True)
        assert answer.warnings == ()
        assert uses(ledger, "a") == [1]
        assert ledger.verify().ok


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b"no database at all" * 100),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:5_000]),
        lambda file: file.write_bytes(file.read_bytes()[:4_096] + bytes(4_096)),
        lambda file: _sql(file, "DROP TABLE used", "CREATE TABLE used(x)"),
        lambda file: _sql(file, "DROP TABLE used"),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
def test_a_damaged_file_is_warmth_lost_and_told_of(
    path: Path, spoil: Callable[[Path], object]
) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
        plain = [hit.id for hit in ask(ledger)]
    file = path / "usage.sqlite"
    spoil(file)
    with doxa.open(path) as ledger:
        assert [hit.id for hit in ask(ledger)] == plain
        assert uses(ledger, "a") == [0]
        ledger.decay(dry_run=True)
        answer = ask(ledger, reinforce=True)
        assert [hit.id for hit in answer] == plain
        if file.is_dir():
            assert "can't be used" in answer.warnings[-1]
            assert "can't be used" in ledger.stats()["usage"]["problem"]
        else:
            assert uses(ledger, "a") == [1]
            assert ask(ledger).warnings == ()


def _sql(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_what_was_lost_is_told_with_the_answer_that_lost_it(path: Path) -> None:
    (path / "usage.sqlite").write_bytes(b"no database at all" * 100)
    with doxa.open(path) as ledger:
        told = ask(ledger).warnings
        assert "usage.sqlite can't be used" in told[0]
        assert any("begun anew" in warning for warning in ask(ledger, reinforce=True).warnings)


def test_figures_that_can_not_be_are_passed_over(path: Path) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
    _sql(
        path / "usage.sqlite",
        f"UPDATE used SET last = {-(2**63)} WHERE id = 'a'",
        "UPDATE used SET count = -5 WHERE id = 'b'",
        f"INSERT INTO used VALUES('', 'far', {2**63 - 1}, 5, NULL, NULL)",
        "INSERT INTO used VALUES('nowhere', 'unknown', 0, 7, 99, 5)",
    )
    with doxa.open(path) as ledger:
        assert uses(ledger, "a", "b", "n") == [0, 0, 1]
        assert ledger.stats()["usage"]["records"] == 2
        assert len(ask(ledger, layer="buffer")) == 4
        assert not ledger.decay()
        assert len(ledger.decay(now="2200-01-01", dry_run=True)) == 2


def test_a_file_that_may_not_be_written_stops_no_answer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)

        def refuse(*_: object) -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr(Usage, "_changed", refuse)
        answer = ask(ledger, reinforce=True)
        assert len(answer) == 4
        assert "disk is full" in answer.warnings[0]
        block = ledger.assemble("red", view=ledger.view(valid_at=AT), reinforce=True)
        assert "disk is full" in block.warnings[0]
        monkeypatch.undo()
        assert uses(ledger, "a") == [1]  # what was there is not thrown away for that


def test_a_locked_file_is_waited_for_and_then_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.engine.usage.PATIENCE", 0.05)
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
    other = sqlite3.connect(path / "usage.sqlite", isolation_level=None)
    with doxa.open(path) as ledger:
        other.execute("BEGIN EXCLUSIVE")
        answer = ask(ledger, reinforce=True)
        assert len(answer) == 4
        assert "locked" in answer.warnings[-1]
        other.execute("ROLLBACK")
        other.close()
        assert uses(ledger, "a") == [1]
        assert ask(ledger, reinforce=True).warnings == ()
        assert uses(ledger, "a") == [2]


def test_nothing_is_put_away_while_it_can_not_be_seen_what_was_used(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.engine.usage.READING", 0.05)
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
    other = sqlite3.connect(path / "usage.sqlite", isolation_level=None)
    with doxa.open(path) as ledger:
        other.execute("BEGIN EXCLUSIVE")
        revision = ledger.revision
        with pytest.raises(doxa.StorageError, match=r"locked.*try again"):
            ledger.decay(now="2200-01-01")
        with pytest.raises(doxa.StorageError, match="locked"):
            ledger.maintain(now="2200-01-01")
        assert ledger.revision == revision
        other.execute("ROLLBACK")
        other.close()
        assert len(ledger.decay(now="2200-01-01")) == 2


def test_a_folder_with_uses_and_no_log_yet_is_taken_for_a_ledger(path: Path) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
    for file in path.iterdir():
        if file.name != "usage.sqlite":
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    with doxa.open(path) as ledger:
        assert ledger.revision == 0


def test_odd_paths_and_odd_ids_are_just_names(tmp_path: Path) -> None:
    path = tmp_path / "a ?mode=memory&%20#é"
    id = "'; DROP TABLE used; --"
    with doxa.open(path) as ledger:
        ledger.claim("x", "is", "red", id=id, workspace="w'\"", source="s")
        view = ledger.view(valid_at=AT, workspace="w'\"")
        ledger.recall("red", view=view, reinforce=True)
        assert ledger.usage(id, workspace="w'\"")[0]["uses"] == 1
    assert (path / "usage.sqlite").is_file()


# ---------------------------------------------------------------- several at once

USER = """
import sys, doxa
with doxa.open(sys.argv[1], create=False) as ledger:
    view = ledger.view(valid_at="2024-01-01")
    for _ in range(25):
        answer = ledger.recall("ada", view=view, reinforce=True, tier="claim")
        assert not answer.warnings, answer.warnings
"""


def test_uses_by_several_processes_and_threads_all_count(path: Path) -> None:
    with doxa.open(path) as ledger:
        users = [subprocess.Popen([sys.executable, "-c", USER, str(path)]) for _ in range(2)]

        def use() -> None:
            for _ in range(25):
                ask(ledger, "ada", reinforce=True, tier="claim")

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [user.wait(60) for user in users] == [0, 0]
        assert uses(ledger, "a") == [125]
        assert [hit.id for hit in ask(ledger, layer="core", tier="claim")] == ["a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_uses_a_connection_of_its_own(path: Path) -> None:
    with doxa.open(path) as ledger:
        ask(ledger, reinforce=True)
        context = multiprocessing.get_context("fork")
        child = context.Process(target=lambda: ask(ledger, reinforce=True))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        ask(ledger, reinforce=True)
        assert uses(ledger, "a") == [3]


# ---------------------------------------------------------------- by itself


def test_uses_are_counted_kept_and_forgotten(tmp_path: Path) -> None:
    for usage in (Usage(None), Usage(tmp_path / "usage.sqlite")):
        assert usage.of([("", "a")]) == {}
        assert usage.forget([("", "a")]) is None
        assert usage.touch([], 5) is None
        assert usage.figures() == {"records": 0, "uses": 0}
        assert usage.touch([("", "a"), ("w", "a"), ("", "a")], 10) is None
        assert usage.touch([("", "a")], 7) is None  # a clock that went back
        assert usage.of([("", "a"), ("w", "a"), ("", "b")]) == {
            ("", "a"): Used(10, 3),
            ("w", "a"): Used(10, 1),
        }
        assert usage.named_since(11) == {}
        assert usage.named_since(10) == {"": {"a": 10}, "w": {"a": 10}}
        assert usage.since(10).last.tolist() == [10, 10]
        keys = [("", f"k{number}") for number in range(1_500)]
        usage.touch(keys, 20)
        assert len(usage.of(keys)) == 1_500
        assert usage.forget([("", "a"), *keys]) is None
        assert usage.of([("", "a"), *keys]) == {}
        assert usage.figures() == {"records": 1, "uses": 1}
        usage.close()
    assert list(tmp_path.iterdir()) == [tmp_path / "usage.sqlite"]


@pytest.mark.parametrize("few", [0, 10_000])
def test_uses_noted_in_a_log_that_went_on_otherwise_are_found_by_their_ids(
    tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.engine.fading.FEW", few)
    day = datetime(2024, 1, 1, tzinfo=UTC)

    def filled(name: str, ids: str, at: datetime) -> Path:
        with doxa.open(tmp_path / name, clock=lambda: at) as ledger:
            for id in ids:
                ledger.claim(id, "is", "red", id=id, source="s")
        return tmp_path / name

    one, two = filled("one", "abc", day), filled("two", "cab", day + timedelta(seconds=1))
    with doxa.open(one, clock=lambda: day + timedelta(days=10)) as ledger:
        ledger.recall("c", view=ledger.view(valid_at=AT), reinforce=True)
    shutil.copy(one / "usage.sqlite", two)
    for path in (one, two):
        with doxa.open(path, create=False) as ledger:
            assert set(ledger.decay(now=day + timedelta(days=25), dry_run=True).ids) == {"a", "b"}
            later = day + timedelta(days=35)
            assert len(ledger.decay(now=later, dry_run=True)) == 3
            # it rested least, though that is too long to keep it
            first = ledger.decay(now=later, limit=2, dry_run=True)
            assert (set(first.ids), first.left) == ({"a", "b"}, 1)


def test_of_what_is_forgotten_no_byte_is_left(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "usage.sqlite")
    usage.touch([("", f"name of somebody {number}") for number in range(500)], 5)
    assert b"name of somebody 77" in (tmp_path / "usage.sqlite").read_bytes()
    usage.forget([("", f"name of somebody {number}") for number in range(500)])
    usage.close()
    assert b"somebody" not in (tmp_path / "usage.sqlite").read_bytes()


def test_a_file_is_made_by_the_first_use_and_no_sooner(tmp_path: Path) -> None:
    usage = Usage(tmp_path / "usage.sqlite")
    usage.figures()
    usage.since(0)
    usage.forget([("", "a")])
    assert list(tmp_path.iterdir()) == []
