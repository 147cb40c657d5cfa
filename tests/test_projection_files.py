"""What a ledger's folder keeps of its tables: found whole by whoever looks, whatever happened."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine.log import Problem
from doxa.projections import publication, segments, serving
from doxa.projections.publication import MANIFEST, Publication
from doxa.projections.tables import TABLES
from doxa.querying import check_tables
from tests.cases_names import shows
from tests.histories import INSTANTS, Author, moment
from tests.support import ROOT
from tests.trials import walking
from tests.walks import Step, wander

KILLS = max(5, int(os.environ.get("DOXA_KILLS", "50")) // 5)
FEW = settings(max_examples=max(6, settings().max_examples // 6))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is published whenever somebody asks."""
    monkeypatch.setattr(serving, "PUBLISHED", 1)


def asked(ledger: doxa.Ledger) -> dict[str, list[str]]:
    """All rows of all tables, as SQL gives them."""
    return {name: sorted(map(repr, ledger.sql(f"FROM {name}"))) for name in TABLES}


def made(ledger: doxa.Ledger) -> dict[str, list[str]]:
    """All rows of all tables, made from scratch."""
    view = ledger.view(valid_at="2024-01-01")
    found = {}
    for name, table in TABLES.items():
        rows = table.added(view.belief, 0, view.revision).to_pylist()
        found[name] = sorted(repr(tuple(row.values())) for row in rows)
    return found


def folder(path: Path) -> Path:
    return path / "cache" / publication.FOLDER


def sealed(path: Path) -> dict[str, bytes]:
    """The sealed files and what is in them."""
    return {file.name: file.read_bytes() for file in folder(path).glob("rev-*")}


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder(path) / MANIFEST).read_text("utf-8"))
    return found


def problems(ledger: doxa.Ledger) -> list[Problem]:
    return check_tables(ledger)


def filled(path: Path, commits: int = 3) -> None:
    """A ledger with some history, published after each of its commits."""
    with doxa.open(path) as ledger:
        for number in range(commits):
            old = ledger.claim("ada", "lives_in", f"London {number}", id=f"c{number}", source="s")
            ledger.correct(old, "Lisbon", id=f"k{number}", valid_from="2024-06-01", source="t")
            ledger.sql("SELECT 1")


# ---------------------------------------------------------------- publishing part by part


@FEW
@given(seed=st.integers(0, 2**48), patience=st.sampled_from([1, 4, 9]))
def test_what_is_published_part_by_part_is_what_is_made_at_once(seed: int, patience: int) -> None:
    with pytest.MonkeyPatch.context() as patch, walking(True) as walk:
        patch.setattr(serving, "PUBLISHED", patience)
        random, author, now = Random(seed), Author(Random(seed)), INSTANTS[6]
        for _ in range(20):
            now += 1
            step = Step("append", author.commit(), now)
            if walk.take(step):
                author.learn(step.events)
            if random.random() < 0.4:
                assert asked(walk.ledger) == made(walk.ledger)
            if random.random() < 0.2:
                walk.take(Step(random.choice(["swap", "restart", "seal"]), clock=now))
        assert asked(walk.ledger) == made(walk.ledger)
        assert asked(walk.other) == asked(walk.ledger)
        assert problems(walk.ledger) == []


@FEW
@given(seed=st.integers(0, 2**48))
def test_a_slice_in_sql_is_what_a_view_of_there_holds(seed: int) -> None:
    with walking(False) as walk:
        wander(Random(seed), walk, 25)
        random, ledger = Random(seed), walk.ledger
        ends = [0, *(last for last in ledger.view(valid_at="2024-01-01").graph.commit_last)]
        for _ in range(6):
            v, k = random.choice(INSTANTS), random.choice(ends)
            view = ledger.view(valid_at=moment(v), known_at=k, workspace="w")
            found = ledger.sql(
                "SELECT workspace, claim, standing FROM believed($v, $k)"
                " WHERE workspace IN ('', 'w')"
                " AND standing IN ('reported', 'corroborated', 'contested') ORDER BY position",
                {"v": view.valid_at, "k": k},
            ).rows
            assert found == [(c.workspace, c.id, str(c.standing)) for c in view.claims()]


@pytest.mark.usefixtures("at_once")
def test_sealed_files_never_change_and_go_two_generations_later(tmp_path: Path) -> None:
    seen: dict[str, bytes] = {}
    lists: list[set[str]] = []
    with doxa.open(tmp_path) as ledger:
        for number in range(40):
            ledger.claim("ada", "counts", number, source="s")
            ledger.sql("SELECT 1")
            found = sealed(tmp_path)
            assert all(seen.get(name, content) == content for name, content in found.items())
            seen |= found
            lists.append({segment["name"] for segment in manifest(tmp_path)["segments"]})
            assert set(found) == set().union(*lists[-2:])
    assert max(map(len, lists)) <= 6, "neighbours are merged"
    assert len(seen) == 40


@pytest.mark.usefixtures("at_once")
def test_a_closed_row_stays_in_the_file_where_it_was_sealed(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        for number in range(20):
            ledger.claim("ada", "counts", number, id=f"c{number}", source="s")
        ledger.sql("SELECT 1")
        (base,) = sealed(tmp_path)
        ledger.withdraw("c3")
        assert ledger.sql("SELECT standing FROM beliefs WHERE claim = 'c3' ORDER BY known_from"
                          ).rows == [("reported",), ("retracted",)]  # fmt: skip
        assert base in sealed(tmp_path)
        newest = manifest(tmp_path)["segments"][-1]["name"]
        with duckdb.connect(str(folder(tmp_path) / newest), read_only=True) as con:
            rows = con.execute("SELECT position, known_from, known_to FROM beliefs_ends").fetchall()
        assert rows == [(4, 4, 21)]


def test_few_events_are_not_published(tmp_path: Path) -> None:
    filled(tmp_path)
    assert not (folder(tmp_path) / MANIFEST).exists()


# ---------------------------------------------------------------- damage


def flip(path: Path, place: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 0x10
    path.write_bytes(content)


def newest(path: Path) -> Path:
    return folder(path) / str(manifest(path)["segments"][-1]["name"])


def rewritten(path: Path, **fields: Any) -> None:
    """A manifest that is as it was written, but says something else."""
    found = manifest(path) | fields
    del found["digest"]
    found["digest"] = publication._seal(found)
    (folder(path) / MANIFEST).write_text(json.dumps(found), "utf-8")


def substituted(path: Path) -> None:
    """As if another version of DuckDB had written it: a file that this one can't attach."""
    named = manifest(path)["segments"]
    newest(path).write_bytes(b"not a file of DuckDB" * 1_000)
    named[-1] |= {"digest": segments._digest(newest(path)), "bytes": 20_000}
    rewritten(path, segments=named)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flipped byte in the midst": lambda path: flip(newest(path), 0.5),
    "a flipped byte at the start": lambda path: flip(newest(path), 0.0),
    "a torn file": lambda path: os.truncate(newest(path), newest(path).stat().st_size // 2),
    "an empty file": lambda path: os.truncate(newest(path), 0),
    "a missing file": lambda path: newest(path).unlink(),
    "a missing folder": lambda path: shutil.rmtree(folder(path)),
    "a missing manifest": lambda path: (folder(path) / MANIFEST).unlink(),
    "a torn manifest": lambda path: os.truncate(folder(path) / MANIFEST, 100),
    "an empty manifest": lambda path: os.truncate(folder(path) / MANIFEST, 0),
    "a manifest of something else": lambda path: (folder(path) / MANIFEST).write_text("[1]"),
    "a manifest that is no text": lambda path: (folder(path) / MANIFEST).write_bytes(b"\xff\xfe"),
    "a flipped byte in the manifest": lambda path: flip(folder(path) / MANIFEST, 0.4),
    "another shape": lambda path: rewritten(path, shape=publication.SHAPE + 1),
    "another ledger's": lambda path: rewritten(path, ledger="0" * 32),
    "another chain": lambda path: rewritten(path, chain="0" * 64),
    "a position that the log lacks": lambda path: rewritten(path, position=10**6),
    "a gap": lambda path: rewritten(path, segments=manifest(path)["segments"][1:]),
    "a file of something else, with a digest to match": lambda path: substituted(path),
    "fields that are none": lambda path: rewritten(path, segments=[{"name": 1}]),
}


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("harm", DAMAGE)
def test_what_is_damaged_is_made_again_with_the_same_answers(tmp_path: Path, harm: str) -> None:
    filled(tmp_path)
    with doxa.open(tmp_path) as ledger:
        before = asked(ledger)
        log = (tmp_path / "log.sqlite").read_bytes()
    DAMAGE[harm](tmp_path)
    with doxa.open(tmp_path) as ledger:
        found = problems(ledger)
        assert [problem.code for problem in found] == ["projection"] * len(found)
        assert found or harm in ("a missing folder", "a missing manifest")
        assert asked(ledger) == before == made(ledger)
        assert problems(ledger) == []
    assert (tmp_path / "log.sqlite").read_bytes() == log


@pytest.mark.usefixtures("at_once")
def test_a_file_of_other_rows_with_a_digest_to_match_is_found_by_recounting(tmp_path: Path) -> None:
    filled(tmp_path)
    named = manifest(tmp_path)["segments"]
    path = newest(tmp_path)
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE claims SET object = '\"Paris\"'")
        con.execute("DELETE FROM events WHERE position = (SELECT max(position) FROM events)")
    named[-1] |= {"digest": segments._digest(path), "bytes": path.stat().st_size}
    rewritten(tmp_path, segments=named)
    with doxa.open(tmp_path) as ledger:
        messages = [problem.message for problem in problems(ledger)]
    assert any("claims between" in message for message in messages), messages
    assert any("events has" in message for message in messages), messages


@pytest.mark.usefixtures("at_once")
def test_harm_to_a_file_that_is_attached_is_mended_on_the_way(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        for number in range(300):
            ledger.claim("ada", "counts", f"{number} {random.random()}" * 20, source="s")
        ledger.sql("SELECT 1")
        path = newest(tmp_path)
        path.write_bytes(b"\0" * path.stat().st_size)
        assert asked(ledger) == made(ledger)


@pytest.mark.usefixtures("at_once")
def test_an_older_copy_of_the_log_does_not_use_what_a_newer_one_published(tmp_path: Path) -> None:
    path, copy = tmp_path / "ledger", tmp_path / "copy"
    filled(path, 1)
    shutil.copytree(path, copy)
    filled(path, 2)
    shutil.rmtree(copy / "cache")
    shutil.copytree(path / "cache", copy / "cache")
    with doxa.open(copy) as ledger:
        ledger.claim("ada", "moved", "elsewhere", source="s")
        assert asked(ledger) == made(ledger)


@shows("C091")
@pytest.mark.usefixtures("at_once")
def test_tables_of_another_shape_or_damaged_are_made_again_and_the_log_is_not_touched(
    tmp_path: Path,
) -> None:
    filled(tmp_path, 5)

    def marks() -> list[str]:
        with doxa.open(tmp_path) as ledger:
            ledger.sql("SELECT 1")
            return [
                ledger.view(valid_at=day, known_at=k).fingerprint
                for day in ("2024-01-01", "2024-07-01")
                for k in ledger.view(valid_at=day).graph.commit_last[:5]
            ]

    before, log = marks(), (tmp_path / "log.sqlite").read_bytes()
    assert len(before) == 10
    for harm in ("another shape", "a flipped byte in the midst"):
        DAMAGE[harm](tmp_path)
        assert marks() == before
        with doxa.open(tmp_path) as ledger:
            assert problems(ledger) == []
            assert ledger.verify().ok
        assert (tmp_path / "log.sqlite").read_bytes() == log


# ---------------------------------------------------------------- places and processes


def test_where_nothing_can_be_published_the_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    with doxa.open(tmp_path) as ledger:
        before = asked(ledger)
    monkeypatch.setattr(serving, "PUBLISHED", 1)
    shutil.rmtree(folder(tmp_path), ignore_errors=True)
    folder(tmp_path).parent.mkdir(exist_ok=True)
    folder(tmp_path).write_text("a file in its place")
    with doxa.open(tmp_path) as ledger:
        assert asked(ledger) == before
        ledger.claim("ada", "moved", True, source="s")
        assert asked(ledger) == made(ledger)
    assert folder(tmp_path).read_text() == "a file in its place"


@pytest.mark.usefixtures("at_once")
def test_a_disk_that_is_full_stops_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "_flushed", full)
    filled(tmp_path)
    with doxa.open(tmp_path) as ledger:
        assert asked(ledger) == made(ledger)
    assert list(folder(tmp_path).glob("[rt][em][vp]-*")) == []


@pytest.mark.usefixtures("at_once")
def test_who_can_not_publish_since_another_does_goes_on_with_what_there_is(tmp_path: Path) -> None:
    filled(tmp_path)
    before = sealed(tmp_path)
    with open(folder(tmp_path) / "lock", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with doxa.open(tmp_path) as ledger:
            ledger.claim("ada", "moved", True, source="s")
            assert asked(ledger) == made(ledger)
            assert sealed(tmp_path) == before
    with doxa.open(tmp_path) as ledger:
        assert asked(ledger) == made(ledger)
    assert sealed(tmp_path) != before


@pytest.mark.usefixtures("at_once")
def test_who_could_not_publish_takes_up_what_another_has(tmp_path: Path) -> None:
    filled(tmp_path)
    with doxa.open(tmp_path) as ledger, doxa.open(tmp_path) as other:
        ledger.sql("SELECT 1")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Publication, "publish", lambda *_, **__: None)
            ledger.claim("ada", "moved", True, source="s")
            ledger.sql("SELECT 1")
        serving_now = ledger._served
        assert serving_now is not None
        other.sql("SELECT 1")
        assert asked(ledger) == made(ledger)
        assert serving_now._instance is not None
        assert serving_now._instance.sealed == ledger.revision


@pytest.mark.usefixtures("at_once")
def test_two_ledgers_of_one_folder_each_see_what_the_other_records(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as one, doxa.open(tmp_path) as other:
        for number in range(6):
            (one, other)[number % 2].claim("ada", "counts", number, source="s")
            assert asked(one) == asked(other) == made(one)


def test_threads_ask_while_others_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PUBLISHED", 25)
    wrong: list[object] = []
    with doxa.open(tmp_path) as ledger:

        def ask() -> None:
            last = 0
            for _ in range(15):
                ((claims, rows, head),) = ledger.sql(
                    "SELECT (SELECT count(*) FROM claims), (SELECT count(*) FROM beliefs),"
                    " (SELECT max(position) FROM events)"
                ).rows
                if not (claims == rows == (head or 0) >= last):
                    wrong.append((claims, rows, head, last))
                last = claims

        def record(name: int) -> None:
            for number in range(30):
                ledger.claim(f"s{name}", "counts", number, source="s")

        jobs = [threading.Thread(target=ask) for _ in range(4)]
        jobs += [threading.Thread(target=record, args=(name,)) for name in range(2)]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        assert wrong == []
        assert asked(ledger) == made(ledger)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.usefixtures("at_once")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_asks_for_itself(tmp_path: Path) -> None:
    filled(tmp_path)
    with doxa.open(tmp_path) as ledger:
        before = asked(ledger)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            same = asked(ledger) == before
            ledger.claim("child", "was", "here", source="s")
            same = same and asked(ledger) == made(ledger)
            os.write(writing, b"same" if same else b"other")
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as said:
            assert said.read() == b"same"
        os.waitpid(child, 0)
        assert asked(ledger) == made(ledger)
        assert ledger.sql("SELECT subject FROM claims ORDER BY position DESC LIMIT 1").rows == [
            ("child",)
        ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_ends_in_peace(tmp_path: Path) -> None:
    program = (
        "import os, sys, doxa\n"
        f"ledger = doxa.open({str(tmp_path)!r})\n"
        "ledger.claim('a', 'p', 1, source='s')\n"
        "ledger.sql('SELECT 1')\n"
        "child = os.fork()\n"
        "assert ledger.sql('SELECT count(*) FROM claims').rows == [(1,)]\n"
        "if child:\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def publisher(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.publisher", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def told(child: subprocess.Popen[str]) -> Iterator[tuple[int, int]]:
    assert child.stdout is not None
    for line in child.stdout:
        if line.endswith("\n"):
            head, count = map(int, line.split())
            yield head, count


@pytest.mark.usefixtures("at_once")
@pytest.mark.timeout(300)
def test_a_publisher_killed_at_any_moment_leaves_what_can_be_read(tmp_path: Path) -> None:
    chance = Random(4)
    for _ in range(KILLS):
        with publisher(tmp_path) as child:
            head, _ = next(told(child))
            time.sleep(chance.random() * 0.25)
            child.kill()
            heads = [head, *(head for head, _ in told(child))]
        found = Publication(tmp_path / "cache", manifest(tmp_path)["ledger"], lambda _: None)
        text = (found.folder / MANIFEST).read_text("utf-8")
        assert publication.Manifest.read(text).position >= heads[-1], "what was told is published"
    with doxa.open(tmp_path) as ledger:
        assert problems(ledger) == []
        assert asked(ledger) == made(ledger)
        left = {file.name for file in folder(tmp_path).iterdir()}
    ledger.close()
    named = {segment["name"] for segment in manifest(tmp_path)["segments"]}
    assert left == named | {MANIFEST, "lock"} | set(manifest(tmp_path)["before"])


@pytest.mark.usefixtures("at_once")
def test_readers_go_on_while_another_process_publishes(tmp_path: Path) -> None:
    with publisher(tmp_path) as child:
        answers = told(child)
        next(answers)
        with closing(doxa.open(tmp_path)) as one, closing(doxa.open(tmp_path)) as other:
            last = 0
            for _ in range(25):
                for ledger in (one, other):
                    ((claims, events, head),) = ledger.sql(
                        "SELECT (SELECT count(*) FROM claims), (SELECT count(*) FROM events),"
                        " (SELECT max(known_from) FROM events)"
                    ).rows
                    assert events == head >= last
                    assert claims == sum(
                        1
                        for ((kind,)) in ledger.sql("SELECT type FROM events WHERE position <= ?",
                                                    [head])
                        if kind == "claim"
                    )  # fmt: skip
                    last = max(last, head)
        child.kill()
        assert last > 41
