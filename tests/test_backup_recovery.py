"""A ledger restored from a backup is the one that was backed up, or nothing was touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import doxa
from doxa.adapters.cli.app import app
from doxa.adapters.exchange import export_events
from doxa.engine import recovery
from doxa.engine.copies import COPY, MANIFEST
from doxa.verification import gaps_in
from tests.histories import INSTANTS, moment
from tests.recorder_support import environment, tampering
from tests.trials import answers
from tests.walks import Walk, wander

LOG = "log.sqlite"


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
    return folder


def backed_up(folder: Path, target: Path) -> Path:
    with doxa.open(folder) as ledger:
        ledger.backup(target)
    return target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "a.doxa")


@pytest.fixture
def backup(folder: Path, tmp_path: Path) -> Path:
    return backed_up(folder, tmp_path / "backup")


def told(folder: Path) -> tuple[Any, ...]:
    """What a ledger says: its head, its lines, and what it holds."""
    with doxa.open(folder, create=False) as ledger:
        view = ledger.view(valid_at="2024-01-01")
        return ledger.head(), list(export_events(ledger)), view.fingerprint


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a folder and below, by name."""
    return {
        str(entry.relative_to(folder)): entry.read_bytes()
        for entry in sorted(folder.rglob("*"))
        if entry.is_file()
    }


# ---------------------------------------------------------------- the same again


def test_a_restored_ledger_is_the_one_that_was_backed_up(
    folder: Path, backup: Path, tmp_path: Path
) -> None:
    before = told(folder)
    made = doxa.restore_backup(backup, tmp_path / "again")
    assert told(tmp_path / "again") == before
    assert (made.position, made.chain, made.ledger) == (
        before[0].position, before[0].chain, before[0].ledger,
    )  # fmt: skip
    assert (made.events, made.erased, made.erased_again, made.replaced) == (30, 0, (), None)
    with doxa.open(tmp_path / "again") as ledger:
        assert ledger.verify(against=before[0]).ok
        ledger.claim("more", "p", 1, source="s")
        assert ledger.verify().ok
    left = {entry.name for entry in (tmp_path / "again").iterdir()}
    assert left <= {LOG, f"{LOG}.lock", "cache"}
    assert everything(backup).keys() == {COPY, MANIFEST}


def test_a_restored_log_is_written_to_by_several_processes_as_ever(
    backup: Path, tmp_path: Path
) -> None:
    doxa.restore_backup(backup, tmp_path / "again")
    with tampering(tmp_path / "again" / LOG) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@settings(max_examples=max(5, settings().max_examples // 5))
@given(seed=st.integers(0, 2**48))
def test_whatever_the_history_its_backup_comes_back_as_it_was(seed: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        walk = Walk(Path(place) / "a")
        try:
            wander(Random(seed), walk, 12)
            erased = Random(seed).sample(range(1, walk.ledger.revision + 1), k=1)
            if walk.ledger.revision:
                walk.ledger.recorder.erase(erased)
            before = [answers(walk.ledger.view(valid_at=moment(at))) for at in INSTANTS[::4]]
            lines, head = list(export_events(walk.ledger)), walk.ledger.head()
            walk.ledger.backup(Path(place) / "backup")
        finally:
            walk.close()
        doxa.restore_backup(Path(place) / "backup", Path(place) / "b")
        with doxa.open(Path(place) / "b") as again:
            assert again.head() == head
            assert list(export_events(again)) == lines
            assert again.verify(against=head).ok
            if not erased:
                assert [answers(again.view(valid_at=moment(at))) for at in INSTANTS[::4]] == before


# ---------------------------------------------------------------- where it goes


def test_a_folder_that_holds_a_ledger_is_left_alone_unless_it_is_the_same_and_asked_for(
    folder: Path, backup: Path, tmp_path: Path
) -> None:
    with doxa.open(folder) as ledger:
        ledger.claim("later", "p", 1, source="s", id="later")
    before = told(folder)
    with pytest.raises(doxa.CallerError, match="holds a ledger already"):
        doxa.restore_backup(backup, folder)
    other = filled(tmp_path / "other")
    with pytest.raises(doxa.CallerError, match="it is not replaced"):
        doxa.restore_backup(backup, other, replace=True)
    assert told(folder) == before
    made = doxa.restore_backup(backup, folder, replace=True)
    assert (made.position, made.replaced) == (30, 31)
    assert told(folder)[0].position == 30
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok
        assert ledger.view(valid_at="2024-01-01").standing("later") == "not_yet_known"
    assert not [entry.name for entry in folder.iterdir() if "re" in entry.name[len(LOG) :]]


def test_what_else_is_in_an_empty_ledgers_folder_stays(backup: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    (again / "usage.sqlite").write_bytes(b"usage")
    (again / "set-aside.jsonl").write_bytes(b"lines")
    doxa.restore_backup(backup, again)
    assert (again / "usage.sqlite").read_bytes() == b"usage"
    assert (again / "set-aside.jsonl").read_bytes() == b"lines"


def test_a_folder_of_other_things_is_refused(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place in ("mine", "file"):
        with pytest.raises(doxa.NotALedger):
            doxa.restore_backup(backup, tmp_path / place)
    assert everything(tmp_path / "mine") == {"notes.txt": b"mine"}


def test_a_ledger_that_is_open_anywhere_is_not_replaced(folder: Path, backup: Path) -> None:
    with doxa.open(folder) as ledger:
        ledger.claim("later", "p", 1, source="s", id="later")
        head = ledger.head()
        with pytest.raises(doxa.StorageError, match="close the ledger in all processes"):
            doxa.restore_backup(backup, folder, replace=True)
        ledger.claim("still", "p", 1, source="s")
        assert ledger.verify(against=head).ok
    assert doxa.restore_backup(backup, folder, replace=True).position == 30


OPEN = """
import sys
import doxa
with doxa.open(sys.argv[1]) as ledger:
    ledger.revision
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_ledger_that_another_process_reads_is_not_replaced(folder: Path, backup: Path) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", OPEN, folder],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert reader.stdout is not None
    try:
        assert reader.stdout.readline() == "open\n"
        with pytest.raises(doxa.StorageError, match="close the ledger in all processes"):
            doxa.restore_backup(backup, folder, replace=True)
    finally:
        reader.communicate()
    assert doxa.restore_backup(backup, folder, replace=True).position == 30


def test_a_ledger_that_came_to_be_there_or_moved_on_meanwhile_is_not_overwritten(
    folder: Path, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = recovery._put

    def meanwhile(new: Path, target: Path, *rest: Any) -> None:
        with doxa.open(target.parent) as ledger:
            ledger.claim("meanwhile", "p", 1, source="s", id="meanwhile")
        put(new, target, *rest)

    monkeypatch.setattr(recovery, "_put", meanwhile)
    for place, replace in ((tmp_path / "again", False), (folder, True)):
        with pytest.raises(doxa.CallerError, match="meanwhile"):
            doxa.restore_backup(backup, place, replace=replace)
        with doxa.open(place, create=False) as ledger:
            assert ledger.view(valid_at="2024-01-01").standing("meanwhile") == "reported"
            assert ledger.verify().ok


def test_a_ledger_that_is_being_written_to_is_not_replaced(
    folder: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "PATIENCE", 0.05)
    with doxa.open(folder) as ledger, ledger.recorder.write(), pytest.raises(doxa.StorageError):
        doxa.restore_backup(backup, folder, replace=True)
    assert told(folder)[0].position == 30


def test_what_a_log_has_in_its_wal_is_kept_until_the_restored_one_is_in_place(
    folder: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c",
         "import os, sys, doxa\nledger = doxa.open(sys.argv[1])\n"
         "ledger.claim('late', 'p', 1, source='s', id='late')\nos._exit(9)", folder],
        env=environment(), check=False,
    )  # fmt: skip
    assert killed.returncode == 9
    assert (folder / f"{LOG}-wal").stat().st_size > 0

    def fail(*paths: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(doxa.StorageError, match="nothing was restored"):
            doxa.restore_backup(backup, folder, replace=True)
    assert {entry.name for entry in folder.iterdir()} <= {LOG, f"{LOG}.lock", "cache"}
    with doxa.open(folder) as ledger:
        assert ledger.revision == 31
        assert ledger.verify().ok
    assert doxa.restore_backup(backup, folder, replace=True).replaced == 31
    with doxa.open(folder) as ledger:
        assert ledger.revision == 30
        assert ledger.verify().ok


def test_a_damaged_log_is_not_taken_for_another(folder: Path, backup: Path) -> None:
    whole = (folder / LOG).read_bytes()
    (folder / LOG).write_bytes(b"\0" * 4096)
    with pytest.raises((doxa.CallerError, doxa.DamageError)):
        doxa.restore_backup(backup, folder, replace=True)
    assert (folder / LOG).read_bytes() == b"\0" * 4096
    os.remove(folder / LOG)
    (folder / f"{LOG}-wal").write_bytes(whole)
    with pytest.raises(doxa.CallerError, match="move the damaged files away first"):
        doxa.restore_backup(backup, folder, replace=True)
    os.remove(folder / f"{LOG}-wal")
    assert doxa.restore_backup(backup, folder).position == 30


def test_a_log_with_a_damaged_event_is_replaced(folder: Path, backup: Path) -> None:
    with tampering(folder / LOG) as connection:
        connection.execute("UPDATE log SET data = zeroblob(3) WHERE position=5")
    doxa.restore_backup(backup, folder, replace=True)
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok


# ---------------------------------------------------------------- backups that won't do


def edit(place: Path, /, **fields: Any) -> None:
    manifest = json.loads((place / MANIFEST).read_text())
    (place / MANIFEST).write_text(json.dumps(manifest | fields))


def flip(backup: Path, at: int) -> None:
    data = bytearray((backup / COPY).read_bytes())
    data[at] ^= 1
    (backup / COPY).write_bytes(data)


def newer(backup: Path) -> None:
    """A log as a later doxa might write it."""
    from doxa.engine.copies import digest_of

    with tampering(backup / COPY) as connection:
        connection.execute("PRAGMA user_version = 99")
    size = (backup / COPY).stat().st_size
    edit(backup, format=99, sha256=digest_of(backup / COPY), bytes=size)


def swap_event(backup: Path) -> None:
    """Another value in an event, with a digest of the file to match."""
    from doxa.engine.copies import digest_of

    with tampering(backup / COPY) as connection:
        connection.execute("UPDATE log SET data = zeroblob(9) WHERE position = 7")
    edit(backup, sha256=digest_of(backup / COPY), bytes=(backup / COPY).stat().st_size)


BAD: dict[str, tuple[Callable[[Path], object], type[doxa.DoxaError]]] = {
    "a torn copy": (lambda b: os.truncate(b / COPY, 5_000), doxa.DamageError),
    "an empty copy": (lambda b: os.truncate(b / COPY, 0), doxa.DamageError),
    "a copy that is gone": (lambda b: os.remove(b / COPY), doxa.DamageError),
    "a flipped bit": (lambda b: flip(b, 9_000), doxa.DamageError),
    "a flipped last bit": (lambda b: flip(b, -1), doxa.DamageError),
    "a longer copy": (
        lambda b: (b / COPY).write_bytes((b / COPY).read_bytes() + b"x"), doxa.DamageError,
    ),
    "an event that was changed": (swap_event, doxa.DamageError),
    "another ledger": (lambda b: edit(b, ledger="0" * 32), doxa.DamageError),
    "another head": (lambda b: edit(b, position=29), doxa.DamageError),
    "another chain": (lambda b: edit(b, chain="0" * 64), doxa.DamageError),
    "another count": (lambda b: edit(b, events=29), doxa.DamageError),
    "another digest": (lambda b: edit(b, sha256="0" * 64), doxa.DamageError),
    "a manifest that is no JSON": (
        lambda b: (b / MANIFEST).write_text("{"), doxa.DamageError,
    ),
    "a manifest that is a list": (lambda b: (b / MANIFEST).write_text("[]"), doxa.DamageError),
    "a chain that is no hex": (lambda b: edit(b, chain="x"), doxa.DamageError),
    "a count that is none": (lambda b: edit(b, events=-1), doxa.DamageError),
    "a manifest that is gone": (lambda b: os.remove(b / MANIFEST), doxa.CallerError),
    "nothing": (lambda b: shutil.rmtree(b), doxa.CallerError),
    "a newer format of the log": (newer, doxa.NewerFormat),
    "a newer backup": (lambda b: edit(b, backup=99), doxa.NewerFormat),
}  # fmt: skip


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("bad", BAD)
def test_a_backup_that_is_not_whole_is_refused_and_nothing_touched(
    folder: Path, backup: Path, tmp_path: Path, bad: str, replace: bool
) -> None:
    spoil, kind = BAD[bad]
    spoil(backup)
    target = folder if replace else tmp_path / "again"
    before = everything(folder)
    another = replace and bad == "another ledger"
    with pytest.raises(doxa.CallerError if another else kind):
        doxa.restore_backup(backup, target, replace=replace)
    assert everything(folder) == before
    if not replace:
        assert not target.exists()
    assert run("recover", backup, target, *["--replace"] * replace).exit_code in (2, 4)


@pytest.mark.parametrize("given", [None, 5, "a\0b", "\udcff", ""])
def test_what_is_no_path_is_refused(backup: Path, tmp_path: Path, given: Any) -> None:
    with pytest.raises(doxa.CallerError):
        doxa.restore_backup(given, tmp_path / "again")
    with pytest.raises(doxa.CallerError):
        doxa.restore_backup(backup, given)


# ---------------------------------------------------------------- what was erased stays erased


def test_what_was_erased_since_the_backup_is_erased_again(folder: Path, backup: Path) -> None:
    with doxa.open(folder) as ledger:
        ledger.recorder.erase([8])
    assert b"value 7" in (backup / COPY).read_bytes()
    made = doxa.restore_backup(backup, folder, replace=True)
    assert (made.erased, made.erased_again) == (1, ("c7",))
    assert all(b'value 7"' not in data for data in everything(folder).values())
    with doxa.open(folder) as ledger:
        report = ledger.verify()
        assert (report.ok, report.erased) == (True, 1)
    assert "1 of them again" in str(made)


def purged(folder: Path) -> Path:
    """A ledger from which a claim of each of two workspaces of the same id is purged, once."""
    with doxa.open(folder) as ledger:
        ledger.claim("s7", "p", "theirs", id="c7", source="register", workspace="w")
        backup = backed_up(folder, folder.parent / "full")
        ledger.archive(["c7", "c9"])
        ledger.purge(["c7", "c9"])
    return backup


def test_what_was_purged_is_purged_in_the_restored_ledger_too(folder: Path, tmp_path: Path) -> None:
    backup = purged(folder)
    again = tmp_path / "again"
    again.mkdir()
    listed = (folder / "purged").read_bytes()
    (again / "purged").write_bytes(listed)
    made = doxa.restore_backup(backup, again)
    assert made.erased_again == ("c7", "c9")
    held = everything(again)
    assert held["purged"] == listed
    for name, data in held.items():
        assert b'"value 7"' not in data, name
        assert b'"value 9"' not in data, name
    assert any(b'"theirs"' in data for data in held.values())
    with doxa.open(again) as ledger:
        assert ledger.verify().ok
        view = ledger.view(valid_at="2024-01-01")
        assert (view.standing("c7"), view.standing("c8")) == ("redacted", "reported")


def test_what_was_purged_stays_so_where_the_ledger_itself_is_replaced(folder: Path) -> None:
    backup = purged(folder)
    os.remove(folder / "purged")  # the log that is replaced says so as well
    made = doxa.restore_backup(backup, folder, replace=True)
    assert made.erased_again == ("c7", "c9")
    assert all(b'"value 7"' not in data for data in everything(folder).values())


def test_a_list_without_the_secret_that_it_is_read_with_lets_nothing_come_back(
    folder: Path, tmp_path: Path
) -> None:
    from doxa.engine.copies import digest_of

    backup = purged(folder)
    with tampering(backup / COPY) as connection:
        connection.execute("DELETE FROM meta WHERE key='secret'")
    edit(backup, sha256=digest_of(backup / COPY), bytes=(backup / COPY).stat().st_size)
    again = tmp_path / "again"
    again.mkdir()
    (again / "purged").write_bytes((folder / "purged").read_bytes())
    with pytest.raises(doxa.CallerError, match="purged records would come back"):
        doxa.restore_backup(backup, again)
    assert everything(again).keys() == {"purged"}
    made = doxa.restore_backup(backup, folder, replace=True)  # which has the secret
    assert made.erased_again == ("c7", "c9")


def test_a_list_that_cannot_be_read_lets_nothing_come_back(backup: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    (again / "purged").mkdir(parents=True)
    with pytest.raises(doxa.StorageError, match="lists what was purged"):
        doxa.restore_backup(backup, again)
    assert not (again / LOG).exists()


def test_a_compacted_ledger_is_backed_up_and_restored_as_it_is(
    folder: Path, tmp_path: Path
) -> None:
    with doxa.open(folder) as ledger:
        ledger.withdraw("c3", id="w")
        ledger.compact(older_than=0, now="2200-01-01")
        assert gaps_in(ledger.recorder)
        ledger.backup(tmp_path / "compacted")
        head = ledger.head()
    doxa.restore_backup(tmp_path / "compacted", tmp_path / "again")
    assert told(tmp_path / "again") == told(folder)
    with doxa.open(tmp_path / "again") as ledger:
        assert ledger.verify(against=head).ok


def test_an_encrypted_ledger_is_backed_up_as_it_is_and_opened_with_its_own_keys(
    tmp_path: Path,
) -> None:
    keys = tmp_path / "keys"
    with doxa.open(tmp_path / "a", keys=keys) as ledger:
        ledger.claim("ada", "lives_in", "in the clear", id="home", source="register")
        ledger.backup(tmp_path / "backup")
        head, lines = ledger.head(), list(export_events(ledger))
    assert b"in the clear" not in (tmp_path / "backup" / COPY).read_bytes()
    doxa.restore_backup(tmp_path / "backup", tmp_path / "again")
    with doxa.open(tmp_path / "again", keys=keys) as again:
        assert (again.head(), list(export_events(again))) == (head, lines)
        assert again.verify(against=head).ok
        assert again.audit("home").entries[0].detail == 'ada lives_in "in the clear", at any time'


# ---------------------------------------------------------------- interruptions


STOPPING = """
import sys
from pathlib import Path
import doxa
from doxa.engine import recovery
stage, backup, folder, replace = sys.argv[1:]
def stop(*args, **options):
    print("here", flush=True)
    import time
    time.sleep(60)
if stage == "after":
    real = recovery.os.replace
    def placed(*args):
        real(*args)
        stop()
    recovery.os.replace = placed
elif stage == "before":
    recovery.os.replace = stop
else:
    setattr(recovery, stage, stop)
doxa.restore_backup(backup, folder, replace=replace == "True")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not killed so there")
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("stage", ["_erase_again", "checked", "_put", "before", "after"])
def test_a_process_that_is_killed_leaves_the_old_log_or_the_new_one_whole(
    folder: Path, backup: Path, tmp_path: Path, stage: str, replace: bool
) -> None:
    with doxa.open(folder) as ledger:
        ledger.claim("later", "p", 1, source="s", id="later")
    target = folder if replace else tmp_path / "again"
    restoring = subprocess.Popen(
        [sys.executable, "-c", STOPPING, stage, backup, target, str(replace)],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert restoring.stdout is not None
    assert restoring.stdout.readline() == "here\n"
    restoring.send_signal(signal.SIGKILL)
    restoring.wait()
    restoring.stdout.close()
    if replace or stage == "after":
        with doxa.open(target, create=False) as ledger:
            assert ledger.verify().ok
            assert ledger.revision == (30 if stage == "after" else 31)
    made = doxa.restore_backup(backup, target, replace=replace or stage == "after")
    assert made.position == 30
    left = {entry.name for entry in target.iterdir()}
    assert left <= {LOG, f"{LOG}.lock", "cache"}


FULL = """
import resource, sys
import doxa
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    doxa.restore_backup(*sys.argv[1:3])
except doxa.StorageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits there")
@pytest.mark.parametrize("limit", [0, 8_192, 60_000])
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path, limit: int) -> None:
    backup = backed_up(filled(tmp_path / "a.doxa", 2_000), tmp_path / "backup")
    ran = subprocess.run(
        [sys.executable, "-c", FULL, backup, tmp_path / "again", str(limit)],
        capture_output=True, text=True, env=environment(), check=True,
    )  # fmt: skip
    assert "nothing was restored" in ran.stdout
    assert not (tmp_path / "again").exists()


# ---------------------------------------------------------------- as commands


def test_the_commands_take_a_backup_and_restore_it(folder: Path, tmp_path: Path) -> None:
    made = run("backup", folder, tmp_path / "backup", "--json")
    assert made.exit_code == 0
    fields = json.loads(made.stdout)
    assert fields["path"] == str(tmp_path / "backup")
    shown = run("recover", tmp_path / "backup", tmp_path / "again")
    assert shown.exit_code == 0
    assert shown.stdout == run("head", folder).stdout
    assert run("verify", tmp_path / "again").exit_code == 0
    assert run("recover", tmp_path / "backup", tmp_path / "again").exit_code == 2
    again = run("recover", tmp_path / "backup", tmp_path / "again", "--replace", "--json")
    assert json.loads(again.stdout)["replaced"] == 30
    assert run("backup", folder, tmp_path / "backup").exit_code == 2
    assert run("backup", folder, tmp_path / "backup", "--replace").exit_code == 0


def test_what_is_erased_again_is_told_by_the_command(folder: Path, backup: Path) -> None:
    with doxa.open(folder) as ledger:
        ledger.recorder.erase([8])
    shown = run("recover", backup, folder, "--replace")
    assert shown.exit_code == 0
    assert "erased again: c7" in shown.stderr
    assert "it took the place of a log that ended at 30" in shown.stderr
