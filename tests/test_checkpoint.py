"""The checkpoint: what it is bound to, what is thrown away, and that no answer depends on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine import checkpoint, policies, upkeep
from doxa.engine import fold as fold_module
from doxa.engine.fold import Fold

DAY = "2024-06-01"


def fill(ledger: doxa.Ledger, count: int = 8) -> None:
    """A little of everything, with the texts that are hardest to keep."""
    for i in range(count):
        home = ledger.claim(f"s{i % 3}", "p", {"n": i, "t": "é\0🜚"}, source="A", id=f"c{i}")
        ledger.support(home, source=f"B{i % 2}")
    tax = ledger.claim("s0", "q", 1.5, because=["c0", "c1"], id="tax")
    ledger.correct("c1", "other", source="A")
    ledger.withdraw("c2/support")
    quote = ledger.cite("line 7", claim="c0", source="A")
    ledger.summarize("All of it.", facts=["c0", tax], citations=[quote], id="note")
    ledger.summarize("As it was.", binding="snapshot", selection=["s0"], id="snap")
    ledger.policy(single_valued="p")
    ledger.pin("c3")
    ledger.verify_claim("c4")
    ledger.policy(calibrated={"embedder": "e", "boundary": 0.4})
    ledger.append(
        [{"event": "correction", "id": "k9", "unresolved": "later", "reason": "not there yet"}]
    )


def answers(ledger: doxa.Ledger) -> list[Any]:
    """What is believed, and why, at every commit and a few instants."""
    found: list[Any] = [ledger.revision]
    for k in range(1, ledger.revision + 1, 5):
        try:
            view = ledger.view(valid_at=DAY, known_at=k)
        except doxa.CallerError:
            continue  # inside a commit
        found.append([view.fingerprint, [c.as_dict() for c in view.claims(standing="any")]])
    view = ledger.view(valid_at=DAY)
    found.append([str(view.why(id)) for id in ("c0", "c1", "c2", "tax")])
    found.append([str(view.why(id)) for id in ("c3", "c4")])
    found.append(policies.pinned(view.belief, view.workspaces, view.v, view.k))
    found.append(policies.calibration(view.belief, "e", view.workspaces, view.v, view.k))
    found.append(str(ledger.reconcile(view)))
    found.append([str(j) for j in ledger.judge(["c0", "tax", "note", "snap"], view)])
    found.append(view.to_arrow().to_pylist())
    return found


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A closed ledger with a checkpoint of all of it."""
    path = tmp_path / "l.doxa"
    with doxa.open(path) as ledger:
        fill(ledger)
    assert bound(path).position > 20
    return path


def file_of(path: Path) -> Path:
    return path / "cache" / "fold.doxa"


def bound(path: Path) -> checkpoint.Bound:
    found = checkpoint.bound(file_of(path))
    assert found is not None
    return found


def opened_from(path: Path) -> tuple[int, list[Any]]:
    """The position of the checkpoint that an opening begins with, and the answers then."""
    began: list[int] = []
    opened = upkeep.Upkeep.opened

    def noted(self: upkeep.Upkeep, payload: Any) -> Fold:
        fold = opened(self, payload)
        began.append(fold.position)
        return fold

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep.Upkeep, "opened", noted)
        with doxa.open(path) as ledger:
            return began[0], answers(ledger)


def test_a_ledger_opens_from_its_checkpoint_and_without_it_alike(kept: Path) -> None:
    begun, with_it = opened_from(kept)
    assert begun == bound(kept).position
    shutil.rmtree(kept / "cache")
    begun, without_it = opened_from(kept)
    assert begun == 0
    assert with_it == without_it
    assert opened_from(kept)[0] == bound(kept).position  # and it comes back


def test_events_after_the_checkpoint_are_taken_in_on_top_of_it(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FEW", 10_000)
    with doxa.open(kept) as ledger:
        ledger.claim("s0", "p", "new", source="C", id="later")  # what k9 was waiting for
        ledger.withdraw(doxa.Source("A"))
        ledger.support("c3", source="D")
        expected = answers(ledger)
    begun, found = opened_from(kept)
    assert 0 < begun < found[0]
    assert found == expected
    shutil.rmtree(kept / "cache")
    assert opened_from(kept) == (0, expected)


@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_checkpoint_with_a_changed_byte_is_thrown_away(
    where: float, flip: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = _damaged(tmp_path_factory)
    file, fresh = file_of(path), (path.parent / "fresh").read_bytes()
    at = int(where * len(fresh))
    file.write_bytes(fresh[:at] + bytes([fresh[at] ^ flip]) + fresh[at + 1 :])
    begun, found = opened_from(path)
    assert found == EXPECTED[path]
    length = checkpoint._HEAD.unpack_from(fresh)[1]
    end = checkpoint._HEAD.size + length
    padding = range(end, end + -end % checkpoint._ALIGN)  # after the directory: nobody's
    assert begun == 0 or at in padding


EXPECTED: dict[Path, list[Any]] = {}


def _damaged(factory: pytest.TempPathFactory) -> Path:
    if not EXPECTED:
        path = factory.mktemp("damaged") / "l.doxa"
        with doxa.open(path) as ledger:
            fill(ledger)
            EXPECTED[path] = answers(ledger)
        shutil.copy(file_of(path), path.parent / "fresh")
    return next(iter(EXPECTED))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the head": lambda data: data[:7],
    "cut in the directory": lambda data: data[:200],
    "cut in the middle": lambda data: data[: len(data) // 2],
    "its last byte gone": lambda data: data[:-1],
    "longer than it was": lambda data: data + b"\0",
    "something else": lambda data: b"SQLite format 3\0" * 100,
    "zeros from the middle on": lambda data: data[: len(data) // 2] + bytes(len(data) // 2),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_thrown_away(kept: Path, damage: str) -> None:
    with doxa.open(kept) as ledger:
        expected = answers(ledger)
    file_of(kept).write_bytes(DAMAGE[damage](file_of(kept).read_bytes()))
    assert opened_from(kept) == (0, expected)
    assert opened_from(kept) == (bound(kept).position, expected)


def test_a_checkpoint_of_another_ledger_is_thrown_away(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.doxa"
    with doxa.open(other) as ledger:
        for i in range(60):
            ledger.claim("x", "p", i, source="s")
        expected = answers_of_others(ledger)
    shutil.copy(file_of(kept), file_of(other))
    with doxa.open(other) as ledger:
        assert answers_of_others(ledger) == expected
    assert bound(other).ledger != bound(kept).ledger


def answers_of_others(ledger: doxa.Ledger) -> list[Any]:
    return [c.as_dict() for c in ledger.view(valid_at=DAY).claims(standing="any")]


def test_a_checkpoint_that_knows_more_than_a_restored_log_is_thrown_away(
    kept: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.sqlite"
    shutil.copy(kept / "log.sqlite", backup)
    with doxa.open(kept) as ledger:
        before = answers(ledger)
        for i in range(20):
            ledger.claim("x", "p", i, source="s")
    late = file_of(kept).read_bytes()
    for name in ("log.sqlite", "log.sqlite-wal", "log.sqlite-shm"):
        (kept / name).unlink(missing_ok=True)
    shutil.copy(backup, kept / "log.sqlite")
    assert opened_from(kept) == (0, before)
    # and one of another future of the same past
    with doxa.open(kept) as ledger:
        for i in range(20):
            ledger.claim("y", "p", i, source="s")
        expected = answers(ledger)
    file_of(kept).write_bytes(late)
    assert opened_from(kept) == (0, expected)


def test_a_checkpoint_of_another_shape_is_thrown_away(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SHAPE", checkpoint.SHAPE + 1)
    begun, found = opened_from(kept)
    assert begun == 0
    monkeypatch.undo()
    assert opened_from(kept) == (0, found)


def test_every_part_of_a_fold_is_written_or_named_as_found_again() -> None:
    writing = checkpoint._Writing()
    fold = Fold(lambda position: pytest.fail("nothing is read"))
    for name, part in (
        ("graph", fold.belief.graph), ("belief", fold.belief), ("registry", fold.registry)
    ):  # fmt: skip
        known = checkpoint._FOUND_AGAIN[name]
        writing.put_all(name, part, known)
        assert set(known) <= set(vars(part)), name
    with pytest.raises(TypeError, match="no checkpoint can hold"):
        writing.put("x", object())


def test_a_full_disk_leaves_the_ledger_whole_and_is_told(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = file_of(kept).read_bytes()
    with doxa.open(kept) as ledger:
        monkeypatch.setattr(os, "replace", full)
        for i in range(60):
            ledger.claim("x", "p", i, source="s")
        assert "No space left" in str(ledger.stats()["checkpoint"])
        expected = answers(ledger)
    assert file_of(kept).read_bytes() == before
    assert [entry.name for entry in (kept / "cache").iterdir() if "fold" in entry.name] == [
        "fold.doxa"
    ]
    monkeypatch.undo()
    assert opened_from(kept)[1] == expected


def test_a_ledger_that_can_only_be_read_opens_from_its_checkpoint(kept: Path) -> None:
    with doxa.open(kept) as ledger:
        expected = answers(ledger)
    os.chmod(kept / "cache", 0o500)
    try:
        assert opened_from(kept) == (bound(kept).position, expected)
    finally:
        os.chmod(kept / "cache", 0o700)


WRITER = """
import sys
import doxa
from doxa.engine import upkeep
upkeep.FEW = upkeep.MANY = 1
upkeep.PART = upkeep.LARGE_PART = 10**9
with doxa.open(sys.argv[1]) as ledger:
    i = ledger.revision
    while True:
        c = ledger.claim(f"s{i % 7}", "p", i, source=f"{sys.argv[2]}{i % 3}")
        ledger.support(c, source="B")
        i += 2
        print(i, flush=True)
"""


def writers(path: Path, count: int) -> Iterator[subprocess.Popen[str]]:
    for n in range(count):
        yield subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"w{n}-"],
            stdout=subprocess.PIPE,
            text=True,
        )


def test_a_kill_while_a_checkpoint_is_written_leaves_one_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    doxa.open(path).close()
    for turn in range(6):
        (child,) = writers(path, 1)
        assert child.stdout is not None
        for _ in range(3 + turn):
            assert child.stdout.readline()
        time.sleep(0.003 * turn)
        child.kill()
        child.wait()
        child.stdout.close()
        begun, found = opened_from_log(path)
        assert begun > 0
        assert found == rebuilt(path)


def opened_from_log(path: Path) -> tuple[int, str]:
    found = bound(path).position
    with doxa.open(path) as ledger:
        return found, ledger.view(valid_at=DAY).fingerprint


def rebuilt(path: Path) -> str:
    aside = path / "cache-aside"
    (path / "cache").rename(aside)
    try:
        with doxa.open(path) as ledger:
            return ledger.view(valid_at=DAY).fingerprint
    finally:
        shutil.rmtree(path / "cache", ignore_errors=True)
        aside.rename(path / "cache")


def test_processes_that_write_tail_and_publish_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "l.doxa"
    doxa.open(path).close()
    children = list(writers(path, 3))
    with doxa.open(path) as ledger:
        for child in children:
            assert child.stdout is not None
            for _ in range(15):
                assert child.stdout.readline()
            assert ledger.view(valid_at=DAY).fingerprint
        for child in children:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
        tailed = ledger.view(valid_at=DAY).fingerprint
    assert opened_from_log(path)[1] == tailed == rebuilt(path)
    assert len([f for f in (path / "cache").iterdir() if f.name == "fold.doxa"]) == 1


SPOILED: dict[str, Callable[[Fold], None]] = {
    "c_from": lambda fold: fold.belief.graph.c_from.__setitem__(0, 5),
    "c_subject": lambda fold: fold.belief.graph.c_subject.__setitem__(
        0, fold.belief.graph.c_predicate[0]
    ),
    "s_refutes": lambda fold: fold.belief.graph.s_refutes.__setitem__(1, 1),
    "beliefs": lambda fold: fold.belief.beliefs.code.__setitem__(0, 0),
    "extents": lambda fold: fold.belief.extents.until.__setitem__(0, 7),
    "ids": lambda fold: fold.belief.graph.ids.texts.live.__setitem__(-1, "another"),
    "c_object": lambda fold: fold.belief.graph.c_object.live.__setitem__(0, "another"),
    "extra_supports": lambda fold: fold.belief.graph.extra_supports.live[0].append(1),
    "s_source": lambda fold: fold.belief.graph.s_source.__setitem__(0, 1),
}


@pytest.mark.parametrize("part", SPOILED)
def test_verify_finds_what_is_believed_otherwise_than_the_log_says(
    part: str, ledger: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MANY", 10_000)
    monkeypatch.setattr(fold_module, "MANY", 10_000)
    fill(ledger)
    assert ledger.verify(oracle=False).ok
    SPOILED[part](ledger._stream.capture()[0])
    found = [p for p in ledger.verify(oracle=False).problems if p.code == "checkpoint"]
    assert part in " ".join(p.message for p in found)
    assert all("delete the folder cache/" in p.message for p in found)


def test_a_sound_ledger_is_not_suspected_for_the_order_of_its_sources(
    ledger: doxa.Ledger,
) -> None:
    claim = {"event": "claim", "subject": "s", "predicate": "p", "object": 1}
    ledger.append([claim | {"id": "a"}])
    ledger.append(
        [
            {"event": "correction", "id": "k", "corrects": "a", "source": "X"},
            claim | {"id": "b", "source": "Y"},
        ]
    )
    ledger.withdraw(doxa.Source("X"))
    assert ledger.verify().problems == []


FORGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "no sections": lambda directory: directory.update(sections={}),
    "a section that is nowhere": lambda directory: directory["sections"].update(
        {"graph.c_pos": [2**40, 8, "i"]}
    ),
    "a column of another length": lambda directory: directory["sections"].update(
        {"graph.s_pos": [0, 7, "i"]}
    ),
    "bound to nothing": lambda directory: directory.update(bound={}),
    "bound to a chain that is none": lambda directory: directory["bound"].update(chain="zz"),
    "a secret that is a text": lambda directory: directory["numbers"].update(
        {"graph.names.secret": "x"}
    ),
    "no numbers": lambda directory: directory.update(numbers={}),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_checkpoint_that_is_put_together_wrongly_is_thrown_away(kept: Path, forgery: str) -> None:
    with doxa.open(kept) as ledger:
        expected = answers(ledger)
    data = file_of(kept).read_bytes()
    found = checkpoint._directory(memoryview(data))
    assert found is not None
    directory, start, crc = found
    FORGED[forgery](directory)
    told = json.dumps(directory).encode()
    head = checkpoint._HEAD.pack(checkpoint._MAGIC, len(told), zlib.crc32(told), crc)
    padding = bytes(-(len(head) + len(told)) % checkpoint._ALIGN)
    file_of(kept).write_bytes(head + told + padding + data[start:])
    assert opened_from(kept) == (0, expected)
    assert opened_from(kept)[0] > 0


def test_opening_and_verifying_tell_how_far_they_are(kept: Path) -> None:
    told: list[tuple[int, int | None]] = []
    with doxa.open(kept, progress=lambda done, total: told.append((done, total))) as ledger:
        assert told == []  # nothing has to be read
        assert ledger.verify(progress=lambda done, total: told.append((done, total))).ok
        head = ledger.revision
    assert told[0] == (0, None)
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    shutil.rmtree(kept / "cache")
    told.clear()
    doxa.open(kept, progress=lambda done, total: told.append((done, total))).close()
    assert told == [(head, head)]


def test_a_ledger_that_others_write_to_keeps_few_objects(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l.doxa") as mine, doxa.open(tmp_path / "l.doxa") as other:
        for i in range(150):
            other.append([{"event": "claim", "id": f"c{i}", "subject": f"s{i}", "predicate": "p",
                           "object": i, "source": f"source {i}"}])  # fmt: skip
            graph = mine.view(valid_at=DAY).graph
            assert sum(map(len, graph.ids.live.values())) <= max(upkeep.MANY, i // 2) + 1
            assert len(graph.names.live) <= 3 * (max(upkeep.MANY, i // 2) + 1)
        assert len(mine.view(valid_at=DAY).claims()) == 150
