"""The file of keys: made once, bound to a ledger, shared by processes, and forgetful for good."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from doxa.engine.errors import DamageError, StorageError, WrongKeys
from doxa.engine.keyfile import KEY, SIZE, KeyFile, Owner

LEDGER, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
ADA: Owner = ("subject", "", "ada")
BOB: Owner = ("subject", "", "bob")


def raw(path: Path) -> list[bytes]:
    """The records of a file."""
    content = path.read_bytes()
    return [content[at : at + SIZE] for at in range(0, len(content), SIZE)]


def test_a_key_is_made_once_and_found_again(tmp_path: Path) -> None:
    file = KeyFile.made(tmp_path / "keys", LEDGER)
    made = file.ids([ADA, BOB, ADA])
    assert len(set(made.values())) == 2
    assert file.ids([ADA]) == {ADA: made[ADA]}
    again = KeyFile(tmp_path / "keys")
    assert again.ids([BOB, ADA]) == made
    key = again.key(made[ADA])
    assert key == file.key(made[ADA])
    assert key is not None
    assert len(key) == KEY
    assert key != again.key(made[BOB])


def test_the_same_name_elsewhere_has_another_key(tmp_path: Path) -> None:
    file = KeyFile.made(tmp_path / "keys", LEDGER)
    owners: list[Owner] = [ADA, ("event", "", "ada"), ("subject", "w", "ada"), ("subject", "", "")]
    assert len(set(file.ids(owners).values())) == 4


def test_the_file_is_readable_by_its_owner_alone_and_names_nobody(tmp_path: Path) -> None:
    os.umask(os.umask(0))
    path = tmp_path / "keys"
    KeyFile.made(path, LEDGER).ids([("subject", "staff", "Ada Lovelace")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [word for word in (b"Ada", b"staff", b"subject") if word in path.read_bytes()]


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    KeyFile.made(path, LEDGER)
    path.chmod(0o640)
    with pytest.raises(WrongKeys, match=r"0640.*chmod 600"):
        KeyFile(path)


def test_a_destroyed_key_is_overwritten_and_its_owner_gets_another(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    file = KeyFile.made(path, LEDGER)
    made = file.ids([ADA, BOB])
    key, kept = file.key(made[ADA]), file.key(made[BOB])
    assert key is not None
    assert kept is not None
    whose = raw(path)[1][9:25]
    file.destroy(made[ADA])
    content = path.read_bytes()
    assert (key in content, whose in content, kept in content) == (False, False, True)
    assert file.key(made[ADA]) is None
    assert file.find(ADA) is None
    fresh = file.ids([ADA])[ADA]
    assert fresh != made[ADA]
    again = KeyFile(path)
    assert (again.key(made[ADA]), again.find(ADA), again.find(BOB)) == (None, fresh, made[BOB])
    file.destroy(made[ADA])  # once more changes nothing
    assert again.find(ADA) == fresh


def test_a_destruction_that_was_interrupted_is_finished_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    file = KeyFile.made(path, LEDGER)
    id = file.ids([ADA])[ADA]
    key = file.key(id)
    before = path.read_bytes()
    file.destroy(id)
    noted = path.read_bytes()[len(before) :]
    path.write_bytes(before + noted)  # as it is after the note, before anything is overwritten
    assert key is not None
    assert key in path.read_bytes()
    again = KeyFile(path)
    assert again.key(id) is None
    assert again.find(ADA) is None
    assert key not in path.read_bytes()


@pytest.mark.parametrize("cut", [1, 20, SIZE - 1])
def test_a_record_that_is_torn_is_passed_over_and_overwritten(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "keys"
    file = KeyFile.made(path, LEDGER)
    first = file.ids([ADA])[ADA]
    file.ids([BOB])
    path.write_bytes(path.read_bytes()[:-cut])
    again = KeyFile(path)
    assert again.find(ADA) == first
    assert again.find(BOB) is None
    second = again.ids([BOB])[BOB]
    assert path.stat().st_size == 3 * SIZE
    assert KeyFile(path).ids([ADA, BOB]) == {ADA: first, BOB: second}


def test_an_unknown_key_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = KeyFile.made(tmp_path / "keys", LEDGER)
    with pytest.raises(WrongKeys, match=r"0001020304050607.*older copy"):
        file.key(bytes(range(8)))


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b"", WrongKeys, "no key file"),
        (b"-----BEGIN PRIVATE KEY-----", WrongKeys, "no key file"),
        (b"doxakey1" + bytes(10), DamageError, "damaged beginning"),
        (b"doxakey1" + bytes(56), DamageError, "damaged beginning"),
    ],
)
def test_what_is_no_key_file_is_refused(
    tmp_path: Path, content: bytes, error: type[Exception], words: str
) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(error, match=words):
        KeyFile(path)


def test_what_another_process_does_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    one = KeyFile.made(path, LEDGER)
    other = KeyFile.made(path, OTHER)  # there already: it is the first one's
    assert other.ledger == LEDGER
    assert one.check == other.check
    made = one.ids([ADA])
    assert other.ids([ADA, BOB])[ADA] == made[ADA]
    one.destroy(made[ADA])
    other.follow()
    assert other.key(made[ADA]) is None


def test_a_file_that_is_replaced_is_read_anew_and_another_ledgers_is_refused(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "keys", tmp_path / "copy"
    file = KeyFile.made(path, LEDGER)
    file.ids([ADA])
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    made = KeyFile(copy).ids([BOB])
    copy.replace(path)
    assert file.find(BOB) == made[BOB]
    KeyFile.made(copy, OTHER)
    copy.replace(path)
    with pytest.raises(WrongKeys, match="replaced"):
        file.follow()
    path.unlink()
    with pytest.raises(StorageError, match="put the key file back"):
        file.follow()
    with pytest.raises(StorageError, match="put the key file back"):
        file.ids([ADA])


def test_a_record_that_is_seen_half_written_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    one, other = KeyFile.made(path, LEDGER), KeyFile.made(path, LEDGER)
    one.ids([ADA])
    made = one.ids([BOB])
    whole = path.read_bytes()
    with path.open("r+b") as file:  # the size is there, and not all of the content
        file.seek(len(whole) - 30)
        file.write(bytes(30))
    assert other.find(ADA) is not None
    assert other.find(BOB) is None
    with path.open("r+b") as file:
        file.write(whole)
    assert other.find(BOB) == made[BOB]


def test_what_comes_behind_a_damaged_record_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    file = KeyFile.made(path, LEDGER)
    made = file.ids([ADA])
    file.ids([BOB])
    third: Owner = ("subject", "", "eve")
    made |= file.ids([third])
    content = bytearray(path.read_bytes())
    content[2 * SIZE + 30] ^= 1
    path.write_bytes(content)
    again = KeyFile(path)
    assert (again.find(ADA), again.find(BOB), again.find(third)) == (made[ADA], None, made[third])
    key = again.key(made[third])
    again.destroy(made[third])
    assert key is not None
    assert key not in path.read_bytes()
    assert again.ids([BOB])[BOB] in path.read_bytes()


def test_an_older_copy_that_is_put_back_is_believed_and_no_key_is_used_that_it_lacks(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "keys", tmp_path / "copy"
    file = KeyFile.made(path, LEDGER)
    file.ids([ADA])
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    lost = file.ids([BOB])[BOB]
    copy.replace(path)
    fresh = file.ids([BOB])[BOB]
    assert fresh != lost
    assert KeyFile(path).find(BOB) == fresh


@pytest.mark.parametrize("broken", ["pwrite", "fsync"])
def test_a_key_that_cannot_be_flushed_is_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "keys"
    file = KeyFile.made(path, LEDGER)
    first = file.ids([ADA])
    before, whole = path.read_bytes(), getattr(os, broken)

    def fail(file: int, *rest: object) -> None:
        if broken == "pwrite":
            whole(file, b"half of it", rest[1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(StorageError, match=r"No space left.*nothing was recorded"):
        file.ids([BOB])
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert file.find(BOB) is None
    assert KeyFile(path).ids([ADA, BOB])[ADA] == first[ADA]


def test_a_key_that_another_process_wrote_is_flushed_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys"
    KeyFile.made(path, LEDGER).ids([ADA])  # which may have died before it was flushed
    other, fsync = KeyFile(path), os.fsync
    flushed: list[int] = []

    def flushing(file: int) -> None:
        flushed.append(file)
        fsync(file)

    monkeypatch.setattr(os, "fsync", flushing)
    for _ in range(2):
        other.ids([ADA])
        assert len(flushed) == 1


def test_keys_that_are_there_are_used_from_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    made = KeyFile.made(path, LEDGER).ids([ADA])
    path.chmod(0o400)
    file = KeyFile(path)
    assert file.ids([ADA]) == made
    if os.geteuid():  # root can write all the same
        with pytest.raises(StorageError, match="make the key file writable"):
            file.ids([BOB])


def test_many_at_once_get_one_key_each(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    found: list[dict[Owner, bytes]] = []

    def work() -> None:
        file = KeyFile.made(path, LEDGER)
        for number in range(20):
            found.append(file.ids([("subject", "", str(number))]))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = {(owner, id) for one in found for owner, id in one.items()}
    assert len(ids) == 20
    assert len(raw(path)) == 21
