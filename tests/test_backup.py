"""A backup is a consistent copy taken while others write, whole or not there at all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import doxa
from doxa.adapters.cli.app import app
from doxa.engine import copies
from doxa.engine.copies import COPY, MANIFEST
from doxa.engine.store import LogStore
from doxa.ledger import Ledger
from tests.recorder_support import environment, tampering


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def filled(folder: Path, claims: int = 30) -> Path:
    with doxa.open(folder) as ledger:
        ledger.append(
            [
                {"event": "claim", "id": f"c{n}", "subject": f"s{n}", "predicate": "p",
                 "object": f"value {n}", "source": "register"}
                for n in range(claims)
            ]
        )  # fmt: skip
        ledger.correct("c1", "another", id="k", source="letter")
        ledger.withdraw("c2", id="w", reason="misread")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "a.doxa")


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with doxa.open(folder) as opened:
        yield opened


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


# ---------------------------------------------------------------- what it is


def test_a_backup_is_the_log_at_one_moment_with_its_head_and_digest(
    ledger: Ledger, tmp_path: Path
) -> None:
    target = tmp_path / "backup"
    made = ledger.backup(target)
    head = ledger.head()
    assert names(target) == {COPY, MANIFEST}
    assert json.loads((target / MANIFEST).read_text()) == made.as_dict()
    assert (made.ledger, made.position, made.chain) == (head.ledger, head.position, head.chain)
    assert (made.events, made.erased, made.path) == (33, 0, target)
    assert made.sha256 == copies.digest_of(target / COPY)
    assert made.bytes == (target / COPY).stat().st_size
    ledger.claim("later", "p", 1, source="s")
    assert copies.read_manifest(target) == made
    with tampering(target / COPY) as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (33,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_erased_data_is_not_in_a_backup(ledger: Ledger, tmp_path: Path) -> None:
    secret = b"value 7"
    ledger.backup(tmp_path / "before")
    assert secret in (tmp_path / "before" / COPY).read_bytes()
    ledger.recorder.erase([8])
    made = ledger.backup(tmp_path / "after")
    assert made.erased == 1
    assert secret not in (tmp_path / "after" / COPY).read_bytes()


def test_a_ledger_in_memory_has_backups_too(tmp_path: Path) -> None:
    with doxa.open() as ledger:
        assert ledger.backup(tmp_path / "empty").position == 0
        ledger.claim("a", "p", 1, source="s")
        ledger.backup(tmp_path / "one")
        doxa.restore_backup(tmp_path / "one", tmp_path / "a.doxa")
        with doxa.open(tmp_path / "a.doxa") as again:
            assert again.head() == ledger.head()


def test_the_asynchronous_twin_makes_the_same_backup(ledger: Ledger, tmp_path: Path) -> None:
    made = asyncio.run(ledger.abackup(tmp_path / "backup"))
    assert copies.read_manifest(tmp_path / "backup") == made


def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    with doxa.open(filled(tmp_path / "large", 20_000)) as ledger:
        ledger.backup(tmp_path / "backup", progress=lambda done, total: told.append((done, total)))
    assert len(told) > 1
    assert sorted(told) == told
    assert told[-1][0] == told[-1][1]


def test_a_log_in_a_folder_that_cannot_be_written_to_can_be_copied(
    folder: Path, tmp_path: Path
) -> None:
    for left in ("log.sqlite-wal", "log.sqlite-shm"):
        assert not (folder / left).exists()
    folder.chmod(0o555)
    try:
        with LogStore.open(folder / "log.sqlite", create=False) as store:
            made = copies.make(
                store, tmp_path / "backup", replace=False, told=lambda done, total: None
            )
    finally:
        folder.chmod(0o755)
    assert made.events == 33


# ---------------------------------------------------------------- where it goes


def test_nothing_is_overwritten_unless_it_is_a_backup_and_replacing_is_asked(
    ledger: Ledger, tmp_path: Path
) -> None:
    target = tmp_path / "backup"
    first = ledger.backup(target)
    with pytest.raises(doxa.CallerError, match="is there already"):
        ledger.backup(target)
    ledger.claim("later", "p", 1, source="s")
    second = ledger.backup(target, replace=True)
    assert (second.position, copies.read_manifest(target)) == (first.position + 1, second)
    assert names(tmp_path) == {"a.doxa", "backup"}
    (target / "notes.txt").write_text("mine")
    with pytest.raises(doxa.CallerError, match=r"notes\.txt"):
        ledger.backup(target, replace=True)
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(doxa.CallerError, match="is no backup"):
        ledger.backup(file, replace=True)
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(doxa.CallerError, match="is no backup"):
        ledger.backup(tmp_path / "link", replace=True)
    assert file.read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert ledger.backup(tmp_path / "empty", replace=True).path == tmp_path / "empty"


@pytest.mark.parametrize("inside", [".", "backup", "cache/backup"])
def test_a_backup_does_not_go_into_the_ledgers_own_folder(
    ledger: Ledger, folder: Path, inside: str
) -> None:
    with pytest.raises(doxa.CallerError, match="own folder"):
        ledger.backup(folder / inside, replace=True)


@pytest.mark.parametrize("given", [None, 5, "a\0b", "\udcff", "/"])
def test_what_is_no_place_is_refused(ledger: Ledger, given: Any) -> None:
    with pytest.raises(doxa.CallerError):
        ledger.backup(given)


def test_a_replace_that_is_neither_true_nor_false_is_refused(
    ledger: Ledger, tmp_path: Path
) -> None:
    for given in (1, "yes", None):
        with pytest.raises(doxa.CallerError, match="True or False"):
            ledger.backup(tmp_path / "backup", replace=given)  # type: ignore[arg-type]


def test_a_closed_ledger_has_no_backups(folder: Path, tmp_path: Path) -> None:
    with doxa.open(folder) as ledger:
        pass
    with pytest.raises(doxa.CallerError, match="closed"):
        ledger.backup(tmp_path / "backup")


# ---------------------------------------------------------------- what is not whole


def test_a_damaged_log_is_not_backed_up_and_the_damage_is_named(
    folder: Path, tmp_path: Path
) -> None:
    with tampering(folder / "log.sqlite") as connection:
        connection.execute("UPDATE log SET data = zeroblob(3) WHERE position=5")
    with doxa.open(folder) as ledger, pytest.raises(doxa.DamageError) as told:
        ledger.backup(tmp_path / "backup")
    assert f"{folder / 'log.sqlite'} is not whole: 1 problem, the first at 5" in str(told.value)
    assert names(tmp_path) == {"a.doxa"}
    assert run("backup", folder, tmp_path / "backup").exit_code == 4


FULL = """
import resource, sys
import doxa
with doxa.open(sys.argv[1]) as ledger:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    try:
        ledger.backup(sys.argv[2])
    except doxa.StorageError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits there")
@pytest.mark.parametrize("limit", [0, 100, 8_192, 60_000])
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path, limit: int) -> None:
    filled(tmp_path / "a.doxa", 2_000)
    ran = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "a.doxa", tmp_path / "backup", str(limit)],
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    assert "backup can't be written" in ran.stdout
    assert "nothing is left of it" in ran.stdout
    assert names(tmp_path) == {"a.doxa"}


def test_a_folder_that_cannot_be_made_is_told(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(doxa.StorageError, match="nothing is left of it"):
        ledger.backup(tmp_path / "file" / "backup")


# ---------------------------------------------------------------- beside others


WRITING = """
import sys
import doxa
with doxa.open(sys.argv[1]) as ledger:
    number = 0
    print("ready", flush=True)
    while True:
        ledger.append([
            {"event": "claim", "id": f"n{number}-{part}", "subject": "s", "predicate": f"q{number}",
             "object": "x" * 500, "source": "s"} for part in range(3)
        ])
        number += 1
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A ledger that another process goes on writing to, three events a commit."""
    folder = filled(tmp_path / "a.doxa", 20_000)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(folder)],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    try:
        yield folder, writer
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


def test_others_go_on_recording_while_pages_are_copied(tmp_path: Path) -> None:
    folder = filled(tmp_path / "a.doxa", 20_000)
    with doxa.open(folder) as ledger, doxa.open(folder) as other:
        before = ledger.head()
        recorded = []

        def told(done: int, total: int | None) -> None:
            recorded.append(other.claim("s", f"while {done}", 1, source="s"))

        made = ledger.backup(tmp_path / "backup", progress=told)
        assert len(recorded) > 2
        assert (made.position, made.chain) == (before.position, before.chain)
        assert ledger.revision == before.position + len(recorded)


def test_a_backup_beside_a_writer_is_whole_commits(
    busy: tuple[Path, subprocess.Popen[str]], tmp_path: Path
) -> None:
    folder, writer = busy
    positions = []
    with doxa.open(folder) as ledger:
        for number in range(5):
            before = ledger.revision
            made = ledger.backup(tmp_path / f"b{number}")
            assert before <= made.position <= ledger.revision
            assert (made.position - 20_003) % 3 == 0
            positions.append(made.position)
            link = ledger.recorder.link_at(made.position)
            assert link is not None
            assert link[1].hex() == made.chain
        assert ledger.verify(
            against=[f"{copies.read_manifest(tmp_path / f'b{n}').position}:"
                     f"{copies.read_manifest(tmp_path / f'b{n}').chain}" for n in range(5)],
            oracle=False,
        ).ok  # fmt: skip
    assert positions == sorted(positions)
    assert positions[0] < positions[-1], "the writer stood still meanwhile"
    assert writer.poll() is None


SLOWLY = """
import sys
from pathlib import Path
import doxa
from doxa.engine import copies
stage, folder, target, replace = sys.argv[1:]
def stop(*args, **options):
    print("here", flush=True)
    import time
    time.sleep(60)
if stage == "copying":
    copies.PAGES = 1
    def told(done, total):
        if done * 4 > total:
            stop()
else:
    told = None
    setattr(copies, stage, stop)
with doxa.open(folder) as ledger:
    ledger.backup(target, replace=replace == "True", progress=told)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not killed so there")
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("stage", ["copying", "checked", "digest_of", "flush", "_put"])
def test_a_process_that_is_killed_leaves_no_half_backup_under_the_name(
    tmp_path: Path, stage: str, replace: bool
) -> None:
    folder, target = filled(tmp_path / "a.doxa", 2_000), tmp_path / "backup"
    if replace:
        with doxa.open(folder) as ledger:
            before = ledger.backup(target)
    made = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, stage, folder, target, str(replace)],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert made.stdout is not None
    assert made.stdout.readline() == "here\n"
    made.send_signal(signal.SIGKILL)
    made.wait()
    made.stdout.close()
    assert target.exists() == replace
    if replace:
        assert copies.read_manifest(target) == before
    (left,) = names(tmp_path) - {"a.doxa", "backup"}
    assert left.startswith(".backup.")
    long_ago = time.time() - 10_000
    os.utime(tmp_path / left, (long_ago, long_ago))
    with doxa.open(folder) as ledger:
        assert ledger.verify(oracle=False).ok
        ledger.backup(target, replace=replace)
    assert names(tmp_path) == {"a.doxa", "backup"}


def test_a_backup_that_was_being_replaced_gets_its_name_back(
    ledger: Ledger, tmp_path: Path
) -> None:
    target = tmp_path / "backup"
    first = ledger.backup(target)
    target.rename(tmp_path / ".backup.99999999-0123abcd.old")  # killed between two renames
    with pytest.raises(doxa.CallerError, match="is there already"):
        ledger.backup(target)
    assert copies.read_manifest(target) == first


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "backup"
    checked = copies.checked

    def meanwhile(*arguments: Any) -> Any:
        target.mkdir()
        (target / "mine").write_text("mine")
        return checked(*arguments)

    monkeypatch.setattr(copies, "checked", meanwhile)
    with pytest.raises(doxa.CallerError, match="meanwhile"):
        ledger.backup(target)
    assert names(target) == {"mine"}
    assert names(tmp_path) == {"a.doxa", "backup"}


def test_sqlite_itself_can_read_a_backup(ledger: Ledger, tmp_path: Path) -> None:
    ledger.backup(tmp_path / "backup")
    place = (tmp_path / "backup" / COPY).as_uri()
    connection = sqlite3.connect(f"{place}?mode=ro&immutable=1", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
