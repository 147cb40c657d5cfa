"""The recorder's files: what is no ledger, what is damaged, and disks that refuse."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.engine.errors import (
    DamageError,
    DoxaError,
    NewerFormat,
    NotALedger,
    StorageError,
    UnknownTarget,
)
from doxa.engine.log import NewEvent
from doxa.engine.store import LogStore
from tests.recorder_support import (
    POWERLESS,
    append,
    bytes_on_disk,
    codes,
    enterable,
    environment,
    event,
    filled,
    python,
    tampering,
)

NAMES = ("log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "log.sqlite.lock")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


# ---------------------------------------------------------------- what is no ledger


@pytest.mark.parametrize("content", [b"a text\n", b"x" * 100_000, b"\x00" * 8192])
def test_a_file_of_another_kind_is_no_ledger_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotALedger, match="no SQLite file"):
        LogStore.open(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["log.sqlite"]


def test_the_database_of_another_program_is_no_ledger_and_stays_as_it_is(path: Path) -> None:
    with tampering(path) as connection:
        connection.execute("PRAGMA application_id=77")
        connection.execute("CREATE TABLE log(position)")
    before = path.read_bytes()
    with pytest.raises(NotALedger, match="another program"):
        LogStore.open(path)
    assert path.read_bytes() == before


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(DoxaError):
        LogStore.open(tmp_path)


def test_nothing_is_created_where_nothing_shall_be(path: Path) -> None:
    with pytest.raises(NotALedger, match="there is no ledger"):
        LogStore.open(path, create=False)
    path.touch()
    with pytest.raises(NotALedger, match="there is no ledger"):
        LogStore.open(path, create=False)
    assert [p.name for p in path.parent.iterdir()] == ["log.sqlite"]


def test_a_newer_format_asks_for_an_upgrade(path: Path) -> None:
    filled(path)
    with tampering(path) as connection:
        connection.execute("PRAGMA user_version=3")
    with pytest.raises(NewerFormat, match="upgrade doxa"):
        LogStore.open(path)


def test_an_empty_file_is_a_creation_that_did_not_end(path: Path) -> None:
    path.touch()
    Path(f"{path}.new").write_bytes(b"left by the one before")
    with LogStore.open(path) as store:
        assert append(store, 1).first == 1
        assert store.verify().problems == []
    assert not Path(f"{path}.new").exists()


def test_a_log_keeps_its_id_and_its_events(path: Path) -> None:
    with LogStore.open(path) as store:
        first = store.ledger_id
        append(store, 1, 2)
    with LogStore.open(str(path), create=False) as store:
        assert (store.ledger_id, store.head().position) == (first, 2)
    with tampering(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x646F7861,)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_relative_path_and_a_link_name_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a ? folder # 100 %"
    filled(odd / "log.sqlite", 2)
    monkeypatch.chdir(odd)
    (tmp_path / "link").symlink_to(odd / "log.sqlite")
    with LogStore.open("log.sqlite") as one, LogStore.open(tmp_path / "link") as other:
        monkeypatch.chdir(tmp_path)
        append(one, 3)
        append(other, 4)
        assert one.head() == other.head()
        assert one.path == other.path


# ---------------------------------------------------------------- damage


def test_a_log_whose_first_page_is_overwritten_is_damaged(path: Path) -> None:
    filled(path)
    content = bytearray(path.read_bytes())
    content[:4096] = os.urandom(4096)
    path.write_bytes(content)
    with pytest.raises(DamageError, match="restore"):
        LogStore.open(path)


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.1])
def test_a_log_that_was_cut_is_damaged(path: Path, keep: float) -> None:
    filled(path, 200)
    os.truncate(path, int(path.stat().st_size * keep) // 4096 * 4096)
    with pytest.raises(DamageError):
        LogStore.open(path)


@pytest.mark.parametrize("seed", range(8))
def test_pages_that_are_overwritten_are_found_by_verify_and_never_crash(
    path: Path, seed: int
) -> None:
    filled(path, 300)
    chance = random.Random(seed)
    content = bytearray(path.read_bytes())
    pages = chance.sample(range(1, len(content) // 4096), 3)
    for page in pages:
        content[page * 4096 : page * 4096 + 4096] = chance.randbytes(4096)
    path.write_bytes(content)
    try:
        store = LogStore.open(path)
    except DamageError:
        return
    with store:
        assert store.verify().problems
        for use in (store.head, lambda: list(store.read_rows()), lambda: append(store, 1)):
            with contextlib.suppress(DamageError):
                use()


def test_a_log_that_is_gone_while_its_wal_is_there_is_damaged(path: Path) -> None:
    store = LogStore.open(path)
    append(store, 1)
    folder = path.parent / "copy"
    folder.mkdir()
    shutil.copy(f"{path}-wal", folder / "log.sqlite-wal")
    store.close()
    with pytest.raises(DamageError, match="gone or empty"):
        LogStore.open(folder / "log.sqlite")
    (folder / "log.sqlite").touch()
    with pytest.raises(DamageError, match="gone or empty"):
        LogStore.open(folder / "log.sqlite")


@pytest.mark.parametrize("table", ["head", "meta", "log"])
def test_a_log_without_one_of_its_tables_is_damaged(path: Path, table: str) -> None:
    filled(path)
    with tampering(path) as connection:
        connection.execute(f"DROP TABLE {table}")
    if table == "meta":
        with pytest.raises(DamageError):
            LogStore.open(path)
        return
    with LogStore.open(path) as store:
        assert store.verify().problems
        with pytest.raises(DamageError):
            append(store, 11)


def test_nothing_is_appended_to_a_log_that_does_not_end_where_its_head_says(path: Path) -> None:
    filled(path)
    with tampering(path) as connection:
        connection.execute("DELETE FROM log WHERE position=10")
    with LogStore.open(path) as store:
        for _ in range(2):
            with pytest.raises(DamageError, match="ends at 9, but its head row says 10"):
                append(store, 11)
        with pytest.raises(DamageError, match="event 10 is missing"):
            list(store.read_rows())


def test_a_head_that_another_program_moved_is_not_moved_on(path: Path) -> None:
    filled(path)
    with LogStore.open(path) as store:
        append(store, 11)
        with tampering(path) as connection:
            connection.execute("UPDATE head SET position=10")
        for words in ("head row .* is not at 11", "ends at 11, but its head row says 10"):
            with pytest.raises(DamageError, match=words):
                append(store, 12)
        with tampering(path) as connection:
            connection.execute("UPDATE head SET position=11")
        append(store, 12)
        assert store.verify().problems == []


def test_the_head_is_read_again_once_another_has_committed(path: Path) -> None:
    with LogStore.open(path) as store, LogStore.open(path) as other:
        asked: list[str] = []
        for round in range(3):
            append(other, 2 * round + 1)
            append(store, 2 * round + 2)
            connection = store._writer._connection
            assert connection is not None
            connection.set_trace_callback(asked.append)
            append(store, 2 * round + 2)
            connection.set_trace_callback(None)
            with other.write():
                pass  # nothing comes of it
        assert not any("SELECT" in sql for sql in asked)
        assert store.head().position == 9
        assert store.verify().problems == []


def test_a_log_that_was_replaced_while_open_is_not_written_to(path: Path) -> None:
    filled(path.parent / "other.sqlite")
    with LogStore.open(path) as store:
        append(store, 1)
        os.replace(path.parent / "other.sqlite", path)
        with pytest.raises(StorageError, match="open it again"):
            append(store, 2)


# ---------------------------------------------------------------- disks that refuse


def too_much(store: LogStore, swallow: type[DoxaError] = NotALedger) -> None:
    with store.write() as transaction:
        transaction.append([event(2)])
        for _ in range(2):
            with contextlib.suppress(swallow):
                transaction.append([event(i, data=bytes(3_000)) for i in range(100)])


def test_a_full_disk_is_named_and_leaves_nothing_half_written(path: Path) -> None:
    with LogStore.open(path) as store:
        append(store, 1)
        connection = store._writer._connection
        assert connection is not None
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 5}")
        before = store.head()
        with pytest.raises(StorageError, match="free space") as caught:
            too_much(store)
        assert isinstance(caught.value.__cause__, sqlite3.Error)
        assert store.head() == before
        assert append(store, 2).first == 2  # by a new connection, without the limit
        assert store.verify().problems == []


def test_an_error_that_is_swallowed_still_rolls_the_transaction_back(path: Path) -> None:
    with LogStore.open(path) as store:
        append(store, 1)
        assert store._writer._connection is not None
        store._writer._connection.execute("PRAGMA max_page_count=10")
        with pytest.raises(StorageError, match="free space"):
            too_much(store, swallow=StorageError)
        assert store.head().position == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits here")
def test_a_disk_that_takes_no_more_bytes_is_named_and_can_be_used_again(path: Path) -> None:
    code = """
import os, resource, sys
from doxa.engine.errors import StorageError
from doxa.engine.log import NewEvent
from doxa.engine.store import LogStore
store = LogStore.open(sys.argv[1])
def append(size):
    with store.write() as transaction:
        return transaction.append([NewEvent("claim", b"{}", bytes(1000))] * size).last
acknowledged = append(1)
for limit in range(100_000, 400_000, 7_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    refused = 0
    while not refused:
        try:
            acknowledged = append(20)
        except StorageError as error:
            refused = 1
            assert "nothing was written" in str(error), error
    assert store.head().position == acknowledged
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert append(1) == acknowledged + 1
    acknowledged += 1
    found = store.verify()
    assert not found.problems, found
store.close()
print("ok")
"""
    assert python(code, path) == "ok"


@pytest.mark.skipif(sys.platform == "win32", reason="folders have other permissions here")
def test_a_log_in_a_folder_that_is_closed_to_us_can_be_read_but_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    link = filled(folder / "log.sqlite").hex()
    code = """
from doxa.engine.errors import StorageError
from doxa.engine.log import NewEvent
from doxa.engine.store import LogStore
with LogStore.open(sys.argv[1]) as store:
    assert sum(map(len, store.read_rows())) == 10
    assert not store.verify().problems
    for _ in range(2):
        try:
            with store.write() as transaction:
                transaction.append([NewEvent("claim", b"{}", b"")])
        except StorageError as error:
            assert "writable" in str(error), error
        else:
            raise SystemExit("written")
    print(store.head().chain.hex())
"""
    enterable(folder)
    folder.chmod(0o555)
    (folder / "log.sqlite").chmod(0o444)
    try:
        assert python(POWERLESS + code, folder / "log.sqlite") == link
        assert sorted(p.name for p in folder.iterdir()) == ["log.sqlite", "log.sqlite.lock"]
        refused = python(
            POWERLESS + "from doxa.engine.store import LogStore\n"
            "try: LogStore.open(sys.argv[1])\nexcept Exception as e: print(type(e).__name__)",
            folder / "other.sqlite",
        )
        assert refused == "StorageError"
    finally:
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have other permissions here")
def test_a_reader_in_a_closed_folder_sees_what_its_owner_writes_meanwhile(tmp_path: Path) -> None:
    """The owner comes and goes; the reader, who may write nothing, follows."""
    if os.getuid() != 0:
        pytest.skip("needs a second user")
    folder = tmp_path / "ledger"
    path = folder / "log.sqlite"
    filled(path, 1)
    enterable(folder)
    code = """
from doxa.engine.store import LogStore
with LogStore.open(sys.argv[1]) as store:
    print(store.head().position, flush=True)
    for line in sys.stdin:
        print(store.head().position, flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", POWERLESS + code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert child.stdin is not None
    assert child.stdout is not None

    def seen() -> int:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        return int(child.stdout.readline())

    with child:
        assert child.stdout.readline() == "1\n"
        with LogStore.open(path) as store:  # comes
            append(store, 2)
            assert seen() == 2
            append(store, 3)
            assert seen() == 3
        assert seen() == 3  # and goes
        with LogStore.open(path) as store:
            append(store, 4)
        assert seen() == 4
        child.stdin.close()
    assert child.returncode == 0


# ---------------------------------------------------------------- erasure


def test_erased_data_is_gone_from_all_files_when_erase_returns(path: Path) -> None:
    chance = random.Random(5)
    secrets = {
        n: b"<secret %06d %s>" % (n, chance.randbytes(8).hex().encode()) for n in range(1, 401)
    }
    with LogStore.open(path) as store:
        for start in range(1, 401, 20):
            with store.write() as transaction:
                transaction.append(
                    [
                        NewEvent("claim", b"{}", secrets[n] * chance.choice([1, 3, 50, 300]))
                        for n in range(start, start + 20)
                    ]
                )
        kept = set(secrets)
        for turn in range(8):
            first = turn * 45
            erased = set(chance.sample(sorted(kept), 12)) | (kept & set(range(first, first + 20)))
            store.erase(erased)
            kept -= erased
            raw = bytes_on_disk(path.parent, NAMES)
            assert [n for n in secrets if (secrets[n] in raw) != (n in kept)] == []
        found = store.verify()
        assert (found.problems, found.events, found.erased) == ([], 400, 400 - len(kept))
        assert store.row(min(set(secrets) - kept)).data is None  # type: ignore[union-attr]


def test_erasing_again_and_erasing_nothing_do_no_harm(path: Path) -> None:
    filled(path)
    with LogStore.open(path) as store:
        before = store.head()
        store.erase([3, 3, 4])
        store.erase([4])
        store.erase([])
        with pytest.raises(UnknownTarget, match="no event 11"):
            store.erase([5, 11])
        assert store.row(5).data is not None  # type: ignore[union-attr]
        assert (store.head(), codes(store)) == (before, [])


def test_erasing_says_so_while_a_reader_keeps_the_old_bytes(path: Path) -> None:
    with LogStore.open(path, lock_timeout=0.2) as store:
        append(store, 1, 2)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        with pytest.raises(StorageError, match="erase the same events again"):
            store.erase([1])
        assert append(store, 3).first == 3
        reader.close()
        store.erase([1])
        assert b"payload-1" not in bytes_on_disk(path.parent, NAMES)
        assert codes(store) == []


def test_the_lock_file_is_no_more_open_than_the_process_wants(path: Path) -> None:
    before: Callable[[int], int] = os.umask
    old = before(0o077)
    try:
        filled(path)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(f"{path}.lock").st_mode) == 0o600
    finally:
        os.umask(old)
