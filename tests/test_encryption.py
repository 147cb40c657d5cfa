"""An encrypted ledger: opened with its keys or not at all, and unreadable in every file."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.dcb.api import DCBEvent

import doxa
from doxa.engine import checkpoint
from doxa.engine.keyfile import SIZE
from doxa.engine.sealing import key_ids
from doxa.engine.sqlite import SQLiteRecorder, WrongUse
from doxa.engine.store import LogStore
from doxa.ledger import Ledger
from tests.encrypted import DAY, found_in, opened, overwrite, start, stored
from tests.histories import START
from tests.walks import failing_commits


def told(ledger: Ledger, *subjects: str) -> None:
    """A claim about each subject, with a quote."""
    for number, subject in enumerate(subjects, 1):
        source = {"id": "register", "quote": f"quoted of {subject}"}
        ledger.claim(subject, "lives_in", f"town {number}", id=f"c{number}", source=source)


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---------------------------------------------------------------- opening


def test_what_is_recorded_is_read_again_with_the_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada", "bob")
        assert ledger.encrypted
    with opened(tmp_path) as ledger:
        view = ledger.view(valid_at=DAY)
        assert view.value("ada", "lives_in") == "town 1"
        assert "quoted of bob" in str(view.why("c2"))
        assert ledger.verify().ok
    with doxa.open() as ledger:
        assert not ledger.encrypted


def test_without_its_keys_nothing_is_read_or_written(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    before = files(tmp_path)
    with pytest.raises(doxa.WrongKeys, match=r"is encrypted; open it with its key file"):
        doxa.open(tmp_path / "ledger")
    with pytest.raises(doxa.WrongKeys, match=r"missing.*No such file"):
        doxa.open(tmp_path / "ledger", keys=tmp_path / "missing")
    with pytest.raises(doxa.WrongKeys, match="Is a directory"):
        doxa.open(tmp_path / "ledger", keys=tmp_path)
    assert files(tmp_path) == before


def test_the_keys_of_another_ledger_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    other = tmp_path / "other"
    with opened(other) as ledger:
        told(ledger, "bob")
    before = files(tmp_path)
    with pytest.raises(doxa.WrongKeys, match="holds the keys of the ledger"):
        doxa.open(tmp_path / "ledger", keys=other / "keys")
    with pytest.raises(doxa.WrongKeys, match="and there is none at"):
        doxa.open(tmp_path / "new", keys=other / "keys")
    assert files(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_file_made_for_the_ledger_anew_is_not_taken_for_its_own(tmp_path: Path) -> None:
    from doxa.engine.keyfile import KeyFile

    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        id = ledger.recorder.ledger_id
    before = files(tmp_path / "ledger")
    KeyFile.made(tmp_path / "forged", id)
    with pytest.raises(doxa.WrongKeys, match="but not the one that it is encrypted with"):
        doxa.open(tmp_path / "ledger", keys=tmp_path / "forged")
    assert files(tmp_path / "ledger") == before


def test_an_older_copy_of_the_keys_lacks_one_and_says_so_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    old = tmp_path / "old"
    shutil.copy(tmp_path / "keys", old)
    with opened(tmp_path) as ledger:
        told(ledger, "ada", "bob")
    before = files(tmp_path)
    with pytest.raises(doxa.WrongKeys, match="older copy, or damaged; give the newest"):
        doxa.open(tmp_path / "ledger", keys=old)
    assert files(tmp_path) == before


def test_a_plain_ledger_is_not_opened_with_keys(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "ledger") as ledger:
        told(ledger, "ada")
    before = files(tmp_path / "ledger")
    with pytest.raises(doxa.WrongKeys, match="is not encrypted"):
        opened(tmp_path)
    assert files(tmp_path / "ledger") == before
    assert not (tmp_path / "keys").exists()


def test_an_empty_ledger_becomes_an_encrypted_one(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "ledger") as plain, opened(tmp_path) as ledger:
        with pytest.raises(doxa.WrongKeys, match="made an encrypted one after it was opened"):
            told(plain, "ada")
        assert ledger.revision == 0
        told(ledger, "ada")
    with pytest.raises(doxa.WrongKeys):
        doxa.open(tmp_path / "ledger")


def test_a_ledger_that_was_made_without_its_mark_gets_it_with_the_same_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        pass
    connection = sqlite3.connect(tmp_path / "ledger" / "log.sqlite")
    connection.execute("DELETE FROM meta WHERE key='encryption'")  # as if it had died before
    connection.commit()
    connection.close()
    keys = (tmp_path / "keys").read_bytes()
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    assert (tmp_path / "keys").read_bytes().startswith(keys)
    with pytest.raises(doxa.WrongKeys):
        doxa.open(tmp_path / "ledger")


def test_a_log_that_has_lost_its_mark_is_not_taken_for_a_plain_one(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    connection = sqlite3.connect(tmp_path / "ledger" / "log.sqlite")
    connection.execute("DELETE FROM meta WHERE key='encryption'")
    connection.commit()
    connection.close()
    with pytest.raises(doxa.DamageError, match="has lost the mark that it is encrypted"):
        opened(tmp_path)
    with doxa.open(tmp_path / "ledger") as plain, pytest.raises(doxa.DamageError):
        told(plain, "bob")


@pytest.mark.parametrize("place", ["ledger/keys", "ledger/a/b/keys", "ledger/../ledger/keys"])
def test_keys_do_not_lie_in_the_ledgers_folder(tmp_path: Path, place: str) -> None:
    with pytest.raises(doxa.CallerError, match="keep it elsewhere"):
        doxa.open(tmp_path / "ledger", keys=tmp_path / place)
    assert not (tmp_path / "ledger").exists()


def test_keys_lie_in_no_ledgers_folder_and_behind_no_link_to_one(tmp_path: Path) -> None:
    doxa.open(tmp_path / "other").close()
    (tmp_path / "link").symlink_to(tmp_path / "other" / "keys")
    for place in ("other/keys", "link"):
        with pytest.raises(doxa.CallerError, match="the folder of a ledger"):
            doxa.open(tmp_path / "ledger", keys=tmp_path / place)
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("keys", [3, "", "a\0b", b"", object(), "\udc80"])
def test_what_is_no_path_is_refused(tmp_path: Path, keys: Any) -> None:
    with pytest.raises(doxa.CallerError, match="keys is"):
        doxa.open(tmp_path / "ledger", keys=keys)
    assert not (tmp_path / "ledger").exists()


def test_a_ledger_in_memory_has_no_keys(tmp_path: Path) -> None:
    with pytest.raises(doxa.CallerError, match="in memory is not encrypted"):
        doxa.open(keys=tmp_path / "keys")


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(doxa.CallerError, match=r"pip install 'doxa\[encryption\]'"):
        opened(tmp_path)
    assert files(tmp_path) == {}


def test_a_key_file_that_cannot_be_made_leaves_no_readable_ledger(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(doxa.StorageError, match="can't be written"):
        doxa.open(tmp_path / "ledger", keys=tmp_path / "file" / "keys")
    with opened(tmp_path) as ledger:  # with another place it is an encrypted one
        told(ledger, "ada")


# ---------------------------------------------------------------- what is stored


WORDS = (
    "Ada Lovelace", "lives_in", "London", "in so many words", "p. 12", "she lives in", "as bob",
    "an error of the press", "Bob Dylan", "the whole text", "cited words", "checked by hand",
    "when rents rise", "prying", "lexicon", "rejected town", "an inquiry",
)  # fmt: skip


def _record_everything(ledger: Ledger) -> None:
    source = {"id": "register", "locator": "p. 12", "quote": "she lives in", "origin": "lexicon"}
    ledger.claim(
        "Ada Lovelace",
        "lives_in",
        "London",
        id="c1",
        text="in so many words",
        perspective="as bob",
        recall_when=["when rents rise"],
        source=source,
    )
    ledger.claim("Bob Dylan", "lives_in", {"town": "London"}, id="c2", source="register")
    ledger.claim("Ada Lovelace", "lives_in", "Lisbon", id="c3", source="register")
    ledger.support("c2", source=source, id="s1")
    ledger.correct("c1", by="c3", reason="an error of the press", id="k1")
    ledger.withdraw("s1", reason="prying", source=doxa.Source("them", quote="an inquiry"), id="w1")
    ledger.cite("cited words", claim="c2", id="q1")
    ledger.summarize("the whole text", facts=["c1", "c2"], citations=["q1"], id="u1")
    ledger.policy(single_valued="lives_in", reason="an inquiry", id="p1")
    ledger.policy(contradicts=["c1", "c2"], reason="prying", id="p2")
    ledger.verify_claim("c2", reason="checked by hand")
    ledger.reject("rejected town", predicate="lives_in", evidence="an inquiry", reason="prying")
    with pytest.raises(doxa.ValueRejected):
        ledger.claim("Bob Dylan", "lives_in", "rejected town", source="register")


def test_no_file_of_the_ledger_shows_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    embedder = doxa.Embedder("constant", lambda texts: [[1.0, 0.5]] * len(texts))
    with doxa.open(folder, keys=tmp_path / "keys", embedder=embedder) as ledger:
        _record_everything(ledger)
        bad: list[Any] = [
            {"event": "claim", "id": "bad", "subject": "Ada Lovelace", "predicate": "lives_in"},
            "no JSON: the whole text of Ada Lovelace",
            {"event": "support", "id": "s9", "claim": "nobody", "source": "Bob Dylan prying"},
        ]
        report = ledger.import_events(bad)
        assert [item.line for item in report.set_aside] == [1, 2, 3]
        assert any("subject" in item.text for item in report.set_aside)  # told once
        ledger.index()
        view = ledger.view(valid_at="2024-06-01")
        assert ledger.recall("London", view=view, trust="standing", reinforce=True).hits
        assert ledger.sql("SELECT count(*) FROM claims").rows == [(3,)]
        assert found_in(folder, WORDS) == []
        assert ledger.verify().ok
        assert found_in(folder, WORDS) == []
    assert found_in(folder, WORDS) == []
    kept = {path.name.split(".")[0] for path in folder.rglob("cache/**/*") if path.is_file()}
    assert kept <= {"fold"}
    assert found_in(tmp_path, [*WORDS]) == []
    with doxa.open(tmp_path / "plain") as plain:  # the scan finds what is there
        _record_everything(plain)
        assert {word for _, word in found_in(tmp_path / "plain", WORDS)} == {*WORDS} - {
            "rejected town"
        }


def test_a_checkpoint_is_encrypted_and_begun_with(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, *(f"somebody {number}" for number in range(30)))
    file = tmp_path / "ledger" / "cache" / "fold.doxa"
    assert file.exists()
    assert found_in(tmp_path / "ledger", ["somebody", "town", "quoted"]) == []
    with opened(tmp_path) as ledger:
        assert ledger.stats()["checkpoint"]["position"] == 30
        assert ledger._stream.upkeep.position == 30
        assert ledger.view(valid_at=DAY).value("somebody 7", "lives_in") == "town 8"
        assert ledger.verify().ok
    for content in (b"", b"x" * 10, file.read_bytes()[:-1], b"\0" + file.read_bytes()[1:]):
        file.write_bytes(content)
        with opened(tmp_path) as ledger:
            assert ledger.view(valid_at=DAY).value("somebody 7", "lives_in") == "town 8"
            assert ledger.verify().ok
    with LogStore.open(tmp_path / "ledger" / "log.sqlite", create=False) as store:
        assert checkpoint.bound(file) is None
        assert store.verify().problems == []


def test_what_is_set_aside_keeps_its_number_and_no_words(tmp_path: Path) -> None:
    bad: dict[str, Any] = {
        "event": "claim",
        "id": "x1",
        "subject": "ada",
        "predicate": "p",
        "source": "s",
    }
    lines: list[Any] = [
        bad,
        {**bad, "id": "x2", "object": 1},
        {**bad, "id": "x3", "object": float("nan")},
    ]
    with opened(tmp_path) as ledger:
        for _ in range(2):
            report = ledger.import_events(lines)
            assert [item.line for item in report.set_aside] == [1, 3]
            assert report.set_aside[0].text
        from doxa.adapters.exchange import set_aside

        kept = set_aside(ledger)
        assert [(item.line, item.id, item.text) for item in kept] == [(1, "x1", ""), (3, "x3", "")]
        assert all("not kept" in item.reason for item in kept)
        mended = [{**bad, "object": 2}, *lines[1:]]
        report = ledger.import_events(mended)
        assert [item.line for item in report.set_aside] == [3]
        assert [item.id for item in set_aside(ledger)] == ["x3"]
        assert ledger.view(valid_at=DAY).standing("x1") == "reported"


def test_digests_that_are_kept_of_erased_claims_need_the_key_file(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        ledger.append([{"event": "policy", "id": "a", "archived": ["c1"]}])
        ledger.purge("c1")
        with pytest.raises(doxa.CallerError):
            ledger.view(valid_at=DAY).value("ada", "lives_in")
        digest = ledger.recorder.keyed.digest("subject", "ada")
        assert ledger.verify().ok
    with LogStore.open(tmp_path / "ledger" / "log.sqlite", create=False) as store:
        assert store.keyed.digest("subject", "ada") != digest
        heads = b"".join(head for _, _, head, _ in stored(tmp_path / "ledger"))
        assert digest.encode() in heads
        assert store.keyed.digest("subject", "ada").encode() not in heads


def test_compaction_and_its_statement_are_encrypted_too(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        for number in range(2, 7):
            said = {"subject": "ada", "predicate": "lives_in", "object": f"Lisbon {number}"}
            new = {"event": "claim", "id": f"c{number}", "source": "register", **said}
            old = {"event": "correction", "corrects": f"c{number - 1}", "by": f"c{number}"}
            ledger.append([new, {**old, "id": f"k{number}", "reason": "she moved to Lisbon"}])
        assert ledger.compact(versions=2).claims > 0
        rows = list(stored(tmp_path / "ledger"))
        assert b"compacted" in rows[-1][2]
        assert all(key_ids(data) for *_, data in rows)
        assert found_in(tmp_path / "ledger", ["lives_in", "Lisbon"]) == []
    with opened(tmp_path) as ledger:
        assert ledger.verify().ok
        assert ledger.view(valid_at=DAY).value("ada", "lives_in") == "Lisbon 6"


def test_the_log_is_verified_and_backed_up_without_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        _record_everything(ledger)
        head = ledger.head()
        ledger.backup(tmp_path / "backup")
    assert found_in(tmp_path / "backup", WORDS) == []
    with LogStore.open(tmp_path / "ledger" / "log.sqlite", create=False) as store:
        found = store.verify()
        assert (found.problems, found.chain) == ([], head.chain)
    doxa.restore_backup(tmp_path / "backup", tmp_path / "restored")
    with opened(tmp_path, name="restored") as ledger:
        assert ledger.verify(against=head).ok
        assert ledger.view(valid_at=DAY).standing("c3") == "reported"


def test_others_write_nothing_readable_into_the_log(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    with SQLiteRecorder.open(tmp_path / "ledger" / "log.sqlite", create=False) as recorder:
        with pytest.raises(WrongUse, match="is encrypted"):
            recorder.append([DCBEvent("claim", b"words", [])])
        assert recorder.head().position == 1


def by_the_page(ledger: Path, keys: Path) -> list[Any]:
    """The content of all events, read by what the page on the log says and nothing else."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    content = keys.read_bytes()
    records = [content[at : at + 64] for at in range(64, len(content), 64)]
    known = {record[1:9]: record[25:57] for record in records if record[:1] == b"K"}
    id = content[8:24].hex().encode()
    found = []
    for _, kind, head, data in stored(ledger):
        assert data is not None
        assert data[:2] == b"\xd0\x01"
        count = int.from_bytes(data[2:6], "big")
        end = 6 + 8 * count
        used = [known[data[6 + 8 * n : 14 + 8 * n]] for n in range(count)]
        key = used[0]
        if count > 1:
            key = hmac.new(b"doxa joined keys 1", b"".join(used), hashlib.sha256).digest()
        about = b"\x1f".join([b"doxa event 1", id, kind.encode(), data[:end], head])
        text = AESGCM(key).decrypt(data[end : end + 12], data[end + 12 :], about)
        found.append(json.loads(text))
    return found


def test_the_page_says_enough_to_read_a_ledger_with_its_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        _record_everything(ledger)
        rows = [row for page in ledger.recorder.read_rows() for row in page]
        said = [json.loads(row.data or b"") for row in rows]
    found = by_the_page(tmp_path / "ledger", tmp_path / "keys")
    assert found == said
    assert found[0]["text"] == "in so many words"
    content = (tmp_path / "keys").read_bytes()
    assert content[56:64] == hashlib.blake2b(content[:56], digest_size=8).digest()
    named = hmac.new(content[24:56], b"subject\0\0Ada Lovelace", hashlib.sha256).digest()
    assert named[:16] in content


# ---------------------------------------------------------------- tampering


@pytest.mark.parametrize("at", [0, 1, 5, 6, 14, 26, 27, -17, -1])
def test_a_changed_byte_is_damage_that_names_its_event(tmp_path: Path, at: int) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada", "bob")
    folder = tmp_path / "ledger"
    data = next(data for position, *_, data in stored(folder) if position == 2)
    assert data is not None
    changed = bytearray(data)
    changed[at] ^= 1
    overwrite(folder, 2, bytes(changed))
    _check_damaged(tmp_path, "event 2", unknown_key=6 <= at < 14)


@pytest.mark.parametrize("size", [0, 1, 6, 13, 14, 25, 26, 41, 42])
def test_content_that_is_cut_off_is_damage(tmp_path: Path, size: int) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada", "bob")
    data = next(data for position, *_, data in stored(tmp_path / "ledger") if position == 2)
    assert data is not None
    overwrite(tmp_path / "ledger", 2, data[:size])
    _check_damaged(tmp_path, "event 2")


def test_content_does_not_fit_another_event_of_the_same_subject(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        ledger.claim("ada", "lives_in", "town 1", id="c2", source="register")
    rows = {position: data for position, _, _, data in stored(tmp_path / "ledger")}
    overwrite(tmp_path / "ledger", 2, rows[1])
    _check_damaged(tmp_path, "event 2")


def test_a_changed_head_is_damage_to_the_content(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    connection = sqlite3.connect(tmp_path / "ledger" / "log.sqlite")
    connection.execute("UPDATE log SET head=replace(CAST(head AS TEXT), 'register', 'regester')")
    connection.execute("UPDATE log SET head=CAST(head AS BLOB)")
    connection.commit()
    connection.close()
    _check_damaged(tmp_path, "event 1")


def test_readable_content_in_an_encrypted_ledger_is_damage(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    overwrite(tmp_path / "ledger", 1, b'{"subject":"eve","predicate":"p","object":1}')
    _check_damaged(tmp_path, "it is not encrypted, in a ledger that is")


def _check_damaged(folder: Path, words: str, *, unknown_key: bool = False) -> None:
    """Reads raise, naming the event; the chain says the same without keys."""
    if unknown_key:
        with pytest.raises(doxa.WrongKeys, match="has no key"):
            opened(folder)
    else:
        with opened(folder) as ledger:
            with pytest.raises(doxa.DamageError, match=words):
                ledger.view(valid_at=DAY)
            with pytest.raises(doxa.DamageError, match=words):
                told(ledger, "eve")
    with LogStore.open(folder / "ledger" / "log.sqlite", create=False) as store:
        assert [problem.code for problem in store.verify().problems] == ["altered"]


# ---------------------------------------------------------------- several writers, and crashes


def test_two_processes_give_a_new_subject_one_key(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with start("claim", tmp_path, "one", 15) as one, start("claim", tmp_path, "two", 15) as two:
        for child in (one, two):
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in (one, two):
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in (one, two):
            assert child.communicate(timeout=60)[1] == ""
    with opened(tmp_path) as ledger:
        assert ledger.revision == 30
        view = ledger.view(valid_at=DAY)
        for number in range(15):
            assert sorted(view.values(f"subject {number}", "named by")) == ["one", "two"]
        assert ledger.verify().ok
    size = (tmp_path / "keys").stat().st_size
    assert size == SIZE * (1 + 15 + 1)  # a header, and the cache's


def test_a_key_is_durable_before_what_is_encrypted_with_it(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with start("die", tmp_path) as child:
        child.communicate(timeout=60)
    assert child.returncode == -9
    keys = (tmp_path / "keys").read_bytes()
    assert len(keys) == 2 * SIZE
    with opened(tmp_path) as ledger:
        assert ledger.revision == 0
        told(ledger, "ada")
        assert ledger.verify().ok
    assert (tmp_path / "keys").read_bytes() == keys  # the key that was there is used


def test_writers_that_are_killed_leave_a_ledger_that_can_be_read(tmp_path: Path) -> None:
    opened(tmp_path).close()
    for turn in range(4):
        with start("claim", tmp_path, f"turn {turn}", 100_000) as child:
            assert child.stdout is not None
            assert child.stdin is not None
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("go\n")
            child.stdin.flush()
            time.sleep(0.2 + 0.07 * turn)
            child.kill()
        with opened(tmp_path) as ledger:
            assert ledger.revision > 0
            assert ledger.verify().ok
            claims = ledger.view(valid_at=DAY).claims(standing="any")
            assert len(claims) == ledger.revision
            assert all(claim.subject.startswith("subject ") for claim in claims)


def test_many_threads_record_about_new_subjects(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:

        def work(name: int) -> None:
            for number in range(25):
                ledger.claim(f"subject {number}", "named by", name, source="s")

        with ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(work, name) for name in range(6)]:
                done.result()
        view = ledger.view(valid_at=DAY)
        assert all(len(view.values(f"subject {n}", "named by")) == 6 for n in range(25))
        assert ledger.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_uses_and_makes_keys_too(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        child = os.fork()
        if child == 0:
            try:
                told(ledger, "ada", "bob")
                os._exit(0 if ledger.view(valid_at=DAY).value("ada", "lives_in") else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ledger.view(valid_at=DAY).value("bob", "lives_in") == "town 2"
        told(ledger, "ada", "bob", "eve")
        assert ledger.verify().ok


def test_a_text_about_thousands_is_read_and_has_all_their_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(
            {"event": "claim", "id": f"c{n}", "subject": f"s{n}", "predicate": "p", "object": n,
             "source": "s"}
            for n in range(3_000)
        )  # fmt: skip
        ledger.summarize("Of all of them.", facts=[f"c{n}" for n in range(3_000)], id="u1")
    *_, data = list(stored(tmp_path / "ledger"))[-1]
    assert len(key_ids(data)) == 3_000
    with opened(tmp_path) as ledger:
        assert "Of all of them." in str(ledger.view(valid_at=DAY).payload(3_001))
        ledger.destroy_key("s1234", force=True)
        assert [row.data for row in ledger.recorder.rows([3_001])] == [None]


def test_nothing_more_is_said_of_a_claim_whose_key_is_destroyed(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
    shutil.copytree(tmp_path / "ledger", tmp_path / "copy")
    with opened(tmp_path) as ledger:
        ledger.destroy_key("ada", force=True)
    for name in ("ledger", "copy"):
        with opened(tmp_path, name=name) as ledger:
            with pytest.raises(doxa.WasErased, match="nothing more is recorded"):
                ledger.support("c1", source={"id": "s", "quote": "late words"}, id="late")
            assert ledger.verify().ok


def test_a_commit_that_fails_leaves_nothing_but_a_key(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        with failing_commits(ledger), pytest.raises(doxa.StorageError):
            told(ledger, "ada")
        assert ledger.revision == 0
        told(ledger, "ada")
        assert ledger.verify().ok


def test_keys_that_cannot_be_written_keep_the_claim_out(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger, "ada")
        (tmp_path / "keys").rename(tmp_path / "away")
        with pytest.raises(doxa.StorageError, match="put the key file back"):
            told(ledger, "ada", "bob")
        assert ledger._stream.store.head().position == 1
        (tmp_path / "away").rename(tmp_path / "keys")
        told(ledger, "ada", "bob")
        assert ledger.view(valid_at=DAY).value("bob", "lives_in") == "town 2"


def test_what_another_process_records_is_decrypted(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        told(one, "ada")
        assert other.view(valid_at=DAY).value("ada", "lives_in") == "town 1"
        told(other, "ada", "bob")
        assert one.view(valid_at=DAY).value("bob", "lives_in") == "town 2"


def test_a_bulk_import_flushes_its_keys_together(tmp_path: Path, monkeypatch: Any) -> None:
    flushed: list[int] = []
    fsync = os.fsync

    def flushing(file: int) -> None:
        flushed.append(file)
        fsync(file)

    with opened(tmp_path) as ledger:
        monkeypatch.setattr("os.fsync", flushing)
        lines = [
            {"event": "claim", "subject": f"s{n}", "predicate": "p", "object": n, "source": "s",
             "id": f"c{n}", "recorded_at": START.isoformat()}
            for n in range(300)
        ]  # fmt: skip
        assert ledger.import_events(lines).events == 300
    assert len(flushed) < 20
    assert (tmp_path / "keys").stat().st_size == SIZE * 302
