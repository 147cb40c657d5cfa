"""Folders and files that are no ledger, were one, or can't be written to."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import doxa
from tests import children

DAY = "2024-06-01"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder of a closed ledger of five commits."""
    with doxa.open(tmp_path / "kept.doxa") as ledger:
        for number in range(5):
            ledger.claim("x", "p", number, id=f"c{number}", source="s")
    return tmp_path / "kept.doxa"


def _change(folder: Path, sql: str, *parameters: Any) -> None:
    with closing(sqlite3.connect(folder / "log.sqlite")) as log, log:
        log.execute(sql, parameters)


def _listing(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- no ledger


def _file(path: Path) -> None:
    path.write_text("my diary")


def _folder_of_others(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("words")


def _foreign_database(path: Path) -> None:
    path.mkdir()
    with closing(sqlite3.connect(path / "log.sqlite")) as other, other:
        other.execute("CREATE TABLE log(position INTEGER PRIMARY KEY)")


def _no_database(path: Path) -> None:
    path.mkdir()
    (path / "log.sqlite").write_text("Dear diary, " * 1000)


PLACES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a file": (_file, "is a file; a ledger is a folder"),
    "a folder with other things": (_folder_of_others, "holds thesis.tex but no log.sqlite"),
    "another program's database": (_foreign_database, "of another program"),
    "a log that is no database": (_no_database, "no SQLite file"),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(place: str, tmp_path: Path) -> None:
    make, words = PLACES[place]
    path = tmp_path / "place"
    make(path)
    before = _listing(tmp_path)
    for _ in range(2):
        for create in (True, False):
            with pytest.raises(doxa.NotALedger, match=words):
                doxa.open(path, create=create)
    assert _listing(tmp_path) == before


def test_nothing_is_made_where_nothing_is_and_nothing_shall_be(tmp_path: Path) -> None:
    with pytest.raises(doxa.NotALedger, match="no ledger at"):
        doxa.open(tmp_path / "none", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("postgresql://host/people", "postgresql:// can't be opened.*give a folder's path"),
        ("sqlite:///people.db", "sqlite:// can't be opened"),
        ("", "is no path; give one, or none for a ledger in memory"),
        ("a\0b", "is no path"),
        ("\ud800", "is no path"),
        (5, "5 is no path; give the path of a folder"),
        (["people"], "is no path"),
        ({}, "is no path"),
    ],
)
def test_an_address_that_is_no_folder_is_refused(path: Any, words: str) -> None:
    with pytest.raises(doxa.CallerError, match=words):
        doxa.open(path)


def test_a_path_that_the_system_refuses_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / ("v" * 300), tmp_path / "file" / "below"):
        with pytest.raises(doxa.StorageError):
            doxa.open(path)


# ---------------------------------------------------------------- damage


def test_a_newer_format_is_left_to_the_newer_doxa(kept: Path) -> None:
    _change(kept, "PRAGMA user_version=3")
    before = _listing(kept)
    with pytest.raises(doxa.NewerFormat, match="format 3; this doxa reads up to 2: upgrade"):
        doxa.open(kept)
    assert _listing(kept) == before


def test_an_event_of_a_newer_version_is_left_to_the_newer_doxa(kept: Path) -> None:
    _change(kept, "UPDATE log SET head=replace(head, '\"v\":1', '\"v\":2') WHERE position=3")
    shutil.rmtree(kept / "cache")
    with pytest.raises(doxa.NewerFormat, match=r"version 2.*upgrade"):
        doxa.open(kept)


def _exchange(folder: Path) -> None:
    _change(folder, "UPDATE log SET position=-position WHERE position IN (2, 3)")
    _change(folder, "UPDATE log SET position=5+position WHERE position<0")


Damage = Callable[[Path], None]
DAMAGE: dict[str, Damage] = {
    "an altered payload": lambda p: _change(p, "UPDATE log SET data='{}' WHERE position=3"),
    "an altered object": lambda p: _change(
        p, "UPDATE log SET data=replace(data, '\"object\":2', '\"object\":7') WHERE position=3"
    ),
    "a payload that is not JSON": lambda p: _change(
        p, "UPDATE log SET data=x'00ff' WHERE position=3"
    ),
    "a header that is not JSON": lambda p: _change(p, "UPDATE log SET head=x'7b' WHERE position=3"),
    "a header of a wrong kind": lambda p: _change(p, "UPDATE log SET head='5' WHERE position=3"),
    "a type that is none": lambda p: _change(p, "UPDATE log SET type='rumour' WHERE position=3"),
    "an event that is gone": lambda p: _change(p, "DELETE FROM log WHERE position=3"),
    "the last event gone": lambda p: _change(p, "DELETE FROM log WHERE position=5"),
    "a head that is set back": lambda p: _change(p, "UPDATE head SET position=4"),
    "the head row gone": lambda p: _change(p, "DELETE FROM head"),
    "the salt gone": lambda p: _change(p, "UPDATE log SET salt=NULL WHERE position=3"),
    "a payload gone without erasure": lambda p: _change(
        p, "UPDATE log SET data=NULL WHERE position=3"
    ),
    "two events exchanged": _exchange,
    "a time set back": lambda p: _change(p, "UPDATE log SET recorded_at=5 WHERE position=3"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_by_verify_and_raises_nothing_but_our_errors(
    damage: str, kept: Path
) -> None:
    DAMAGE[damage](kept)
    try:
        ledger = doxa.open(kept)
    except (doxa.DamageError, doxa.NewerFormat) as error:
        assert "verify" in str(error) or "upgrade" in str(error)  # noqa: PT017
        return
    with ledger:
        report = ledger.verify()
        assert not report.ok
        assert report.problems[0].message
        before = _listing(kept)
        try:
            ledger.view(valid_at=DAY).values("x", "p")
        except doxa.DamageError:
            with pytest.raises(doxa.DamageError):
                ledger.claim("x", "p", 9, source="s")
            assert [name for name, _ in _listing(kept)] == [name for name, _ in before]


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 9000, -1, -4096])
def test_a_torn_log_opens_as_damaged_or_not_at_all(size: int, kept: Path) -> None:
    log = kept / "log.sqlite"
    content = log.read_bytes()
    log.write_bytes(content[:size])
    if not size:
        with pytest.raises(doxa.NotALedger):
            doxa.open(kept, create=False)
        return
    if size == 1:  # too short to say whose file it was
        with pytest.raises(doxa.NotALedger):
            doxa.open(kept)
        return
    try:
        ledger = doxa.open(kept)
    except doxa.DamageError as error:
        assert "restore the last backup" in str(error)  # noqa: PT017
        return
    with ledger:
        assert not ledger.verify().ok


def test_a_log_that_was_overwritten_is_damage_and_not_somebody_elses_file(kept: Path) -> None:
    (kept / "log.sqlite").write_bytes(b"\0" * 40_000)
    with pytest.raises(doxa.DamageError, match="was a ledger"):
        doxa.open(kept)


def test_a_log_that_was_replaced_while_it_was_open_is_not_written_to(
    kept: Path, tmp_path: Path
) -> None:
    with doxa.open(kept) as ledger:
        with doxa.open(tmp_path / "other.doxa") as other:
            other.claim("y", "p", 1, source="s")
        (tmp_path / "other.doxa" / "log.sqlite").replace(kept / "log.sqlite")
        with pytest.raises(doxa.StorageError, match="replaced since it was opened"):
            ledger.claim("x", "p", 9, source="s")


# ---------------------------------------------------------------- no room, no right


@contextmanager
def _without_rights(folder: Path) -> Iterator[None]:
    """As somebody who may read the folder and not write to it."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    parents = [parent for parent in folder.parents if parent.owner() == "root"] if root else []
    modes = {parent: parent.stat().st_mode for parent in parents}
    for parent in parents:
        if not modes[parent] & 0o001:
            parent.chmod(modes[parent] | 0o011)
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)
        for parent, mode in modes.items():
            parent.chmod(mode)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_folder_that_can_only_be_read_is_read_and_not_written(kept: Path) -> None:
    with doxa.open(kept) as ledger:  # what is imported late may lie where only root can read it
        assert ledger.verify().ok
    before = _listing(kept)
    with _without_rights(kept):
        with doxa.open(kept) as ledger:
            assert ledger.view(valid_at=DAY).values("x", "p") == tuple(range(5))
            with pytest.raises(doxa.StorageError, match="nothing was written"):
                ledger.claim("x", "p", 9, source="s")
            assert ledger.revision == 5
            assert ledger.verify().ok
        with pytest.raises(doxa.StorageError):
            doxa.open(kept / "new.doxa")
    assert _listing(kept) == before
    with doxa.open(kept) as ledger:
        ledger.claim("x", "p", 5, source="s")


def test_where_there_is_no_room_for_a_ledger_none_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "full.doxa"
    with children.start("create", path, 8_000) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "refused\n"), err
    with doxa.open(path) as ledger:
        assert ledger.revision == 0
        assert ledger.verify().ok


# ---------------------------------------------------------------- files to import


def test_a_file_of_noise_is_set_aside_line_by_line(kept: Path, tmp_path: Path) -> None:
    good = b'{"event":"claim","id":"good","subject":"y","predicate":"p","object":1,"source":"s"}'
    lines = [b"\xff\xfe\x00", b"\x00" * 50, b"[1,2]", b"{", b'"text"', good, b"<html>", b"{}"]
    path = tmp_path / "noise.jsonl"
    path.write_bytes(b"\n".join(lines))
    with doxa.open(kept) as ledger:
        report = ledger.import_events(path)
        assert [item.line for item in report.set_aside] == [1, 2, 3, 4, 5, 7, 8]
        assert all(item.reason for item in report.set_aside)
        assert (report.events, ledger.revision) == (1, 6)
        with pytest.raises(doxa.InvalidEvent, match=r"line 1.*nothing was written"):
            ledger.import_events(path, strict=True)
        assert ledger.revision == 6


def test_a_torn_archive_gives_what_can_be_read_of_it(kept: Path, tmp_path: Path) -> None:
    line = '{{"event":"claim","id":"n{}","subject":"y","predicate":"p","object":{},"source":"s"}}\n'
    packed = gzip.compress("".join(line.format(n, n) for n in range(500)).encode())
    path = tmp_path / "torn.jsonl.gz"
    path.write_bytes(packed[:-40])
    with doxa.open(kept) as ledger:
        report = ledger.import_events(path)
        assert len(report.set_aside) == 1
        assert ledger.revision == 5 + report.events
        path.write_bytes(packed)
        report = ledger.import_events(path)
        assert ledger.revision == 505
        assert ledger.verify().ok


def test_what_is_no_file_is_refused(kept: Path, tmp_path: Path) -> None:
    with doxa.open(kept) as ledger:
        for path in (tmp_path, tmp_path / "none.jsonl"):
            with pytest.raises(doxa.CallerError, match=r"folder|no file"):
                ledger.import_events(path)
        assert ledger.revision == 5


@pytest.mark.parametrize("wrong", [None, 5, ["w"], {"w": 1}])
def test_a_correction_of_an_unusable_workspace_is_set_aside_alone(
    wrong: Any, ledger: doxa.Ledger
) -> None:
    event = {"event": "claim", "id": "a", "subject": "x", "predicate": "p", "object": 1}
    bad = {"event": "correction", "id": "k", "corrects": "a", "by": "b", "workspace": wrong}
    report = ledger.import_events([event, bad, {**event, "id": "c"}])
    assert [item.line for item in report.set_aside] == [2]
    assert ledger.revision == report.events == 2
