"""Signed heads: who kept one can show by whom it was stated, and that it was not changed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from typer.testing import CliRunner, Result

import doxa
from doxa.adapters.cli.app import app
from doxa.ledger import Ledger
from tests.recorder_support import environment


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return doxa.keygen(tmp_path / "key")


@pytest.fixture
def told(ledger: Ledger) -> Ledger:
    ledger.claim("ada", "lives_in", "London", id="home", source="register")
    return ledger


def private_pem(key: Any, password: bytes | None = None) -> bytes:
    how = pem.NoEncryption() if password is None else pem.BestAvailableEncryption(password)
    made: bytes = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, how)
    return made


def private_file(path: Path, data: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


# ---------------------------------------------------------------- keys


def test_a_private_key_is_for_its_owner_alone_and_nothing_is_overwritten(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        private, public = doxa.keygen(tmp_path / "key")
    finally:
        os.umask(before)
    assert (private, public) == (tmp_path / "key", tmp_path / "key.pub")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    held = private.read_bytes()
    with pytest.raises(doxa.CallerError, match="ever overwritten"):
        doxa.keygen(tmp_path / "key")
    assert private.read_bytes() == held
    private.unlink()
    with pytest.raises(doxa.CallerError, match=r"key\.pub is there already"):
        doxa.keygen(tmp_path / "key")
    assert not private.exists()


@pytest.mark.parametrize("inside", ["key", "cache/key", "deep/er/key"])
def test_no_key_is_put_into_a_ledgers_folder(tmp_path: Path, inside: str) -> None:
    with doxa.open(tmp_path / "a.doxa") as ledger:
        place = tmp_path / "a.doxa" / inside
        place.parent.mkdir(parents=True, exist_ok=True)
        with pytest.raises(doxa.CallerError, match="the folder of a ledger"):
            doxa.keygen(place)
        (tmp_path / "link").symlink_to(place.parent)
        with pytest.raises(doxa.CallerError, match="the folder of a ledger"):
            doxa.keygen(tmp_path / "link" / "key")
        private, _ = doxa.keygen(tmp_path / "key")
        private.rename(place)
        with pytest.raises(doxa.CallerError, match="the folder of a ledger"):
            ledger.head(sign=place)
    assert not (place.parent / "key.pub").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(doxa.StorageError, match="No such file"):
        doxa.keygen(tmp_path / "none" / "key")
    assert run("keygen", tmp_path / "none" / "key").exit_code == 4


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights there")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_private_key_that_others_can_read_is_not_used(
    told: Ledger, keys: tuple[Path, Path], mode: int
) -> None:
    keys[0].chmod(mode)
    with pytest.raises(doxa.CallerError, match="chmod 600"):
        told.head(sign=keys[0])


def test_keys_of_other_kinds_are_refused_by_name(told: Ledger, tmp_path: Path) -> None:
    for number, (key, kind) in enumerate(
        [
            (rsa.generate_private_key(65537, 2048), "RSAPrivateKey"),
            (ec.generate_private_key(ec.SECP256R1()), r"E\w+PrivateKey"),
        ]
    ):
        path = private_file(tmp_path / f"k{number}", private_pem(key))
        with pytest.raises(doxa.CallerError, match=rf"{kind}; heads are signed with Ed25519"):
            told.head(sign=path)
    public = tmp_path / "rsa.pub"
    public.write_bytes(
        rsa.generate_private_key(65537, 2048)
        .public_key()
        .public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    )
    signed = told.head(sign=doxa.keygen(tmp_path / "key")[0])
    with pytest.raises(doxa.CallerError, match="RSAPublicKey"):
        doxa.check_head(signed, public)


def test_a_key_with_a_password_is_refused_as_that(told: Ledger, tmp_path: Path) -> None:
    key = private_pem(ed25519.Ed25519PrivateKey.generate(), b"secret")
    with pytest.raises(doxa.CallerError, match="has a password"):
        told.head(sign=private_file(tmp_path / "locked", key))


def test_what_is_no_key_is_refused(told: Ledger, keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = keys
    signed = told.head(sign=private)
    public.chmod(0o600)
    with pytest.raises(doxa.CallerError, match="holds a public key"):
        told.head(sign=public)
    with pytest.raises(doxa.CallerError, match="holds a private key"):
        doxa.check_head(signed, private)
    for data in (b"", b"nonsense", b"\xff" * 100_000, b"-----BEGIN PRIVATE KEY-----\n"):
        file = private_file(tmp_path / "no-key", data)
        with pytest.raises(doxa.CallerError):
            told.head(sign=file)
        with pytest.raises(doxa.CallerError):
            doxa.check_head(signed, file)
    for missing in (tmp_path / "nowhere", tmp_path, "a\0b"):
        with pytest.raises(doxa.CallerError):
            told.head(sign=missing)
        with pytest.raises(doxa.CallerError):
            doxa.check_head(signed, missing)


# ---------------------------------------------------------------- signed heads


def test_a_signed_head_is_checked_without_the_ledger(told: Ledger, keys: tuple[Path, Path]) -> None:
    signed = told.head(sign=keys[0])
    again = json.loads(json.dumps(signed.as_dict()))
    assert doxa.check_head(again, keys[1]) == signed
    assert doxa.check_head(again) == signed
    assert str(signed) == str(told.head())
    assert signed.statement == told.head().statement


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ledger", "0" * 32),
        ("position", 2),
        ("recorded_at", "2024-01-01T00:00:00Z"),
        ("chain", "0" * 64),
        ("signature", "0" * 128),
    ],
)
def test_a_statement_that_was_tampered_with_is_found_out(
    told: Ledger, keys: tuple[Path, Path], name: str, value: object
) -> None:
    changed = {**told.head(sign=keys[0]).as_dict(), name: value}
    for key in (keys[1], None):
        with pytest.raises(doxa.InvalidSignature, match="don't trust it"):
            doxa.check_head(changed, key)
    with pytest.raises(doxa.InvalidSignature):
        told.verify(against=changed)


def test_a_head_signed_with_another_key_is_found_out(
    told: Ledger, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    mine, theirs = told.head(sign=keys[0]), doxa.keygen(tmp_path / "theirs")
    with pytest.raises(doxa.InvalidSignature, match="give the key of who signed it"):
        doxa.check_head(mine, theirs[1])
    named = {**mine.as_dict(), "key": told.head(sign=theirs[0]).key}
    for key in (keys[1], theirs[1], None):
        with pytest.raises(doxa.InvalidSignature):
            doxa.check_head(named, key)


def test_a_head_without_a_signature_is_not_taken_for_a_signed_one(
    told: Ledger, keys: tuple[Path, Path]
) -> None:
    with pytest.raises(doxa.InvalidSignature, match="is not signed"):
        doxa.check_head(told.head(), keys[1])
    with pytest.raises(doxa.CallerError, match="is not signed"):
        told.verify(against=told.head(), key=keys[1])
    with pytest.raises(doxa.CallerError, match="is not signed"):
        told.verify(against=[told.head(sign=keys[0]), str(told.head())], key=keys[1])
    with pytest.raises(doxa.CallerError, match="no signed head"):
        told.verify(key=keys[1])


def test_a_ledger_is_checked_against_a_signed_head(told: Ledger, keys: tuple[Path, Path]) -> None:
    signed = told.head(sign=keys[0])
    told.claim("ada", "age", 36, source="register")
    report = told.verify(against=signed, key=keys[1])
    assert report.ok
    assert not any("signed" in note for note in report.notes)
    without = told.verify(against=signed)
    assert without.ok
    assert any(f"signed with the key {signed.key}" in note for note in without.notes)
    with doxa.open() as other:
        assert [p.code for p in other.verify(against=signed).problems] == ["another_ledger"]


def test_keys_of_other_tools_do(told: Ledger, tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    signed = told.head(sign=private_file(tmp_path / "their-key", private_pem(key)))
    assert signed.signature is not None
    key.public_key().verify(bytes.fromhex(signed.signature), signed.statement)


# ---------------------------------------------------------------- as commands


def test_the_commands_make_a_key_sign_and_check(tmp_path: Path) -> None:
    folder = tmp_path / "a.doxa"
    assert run("claim", folder, "ada", "lives_in", "London", "--source", "s").exit_code == 0
    made = run("keygen", tmp_path / "key", "--json")
    assert json.loads(made.stdout) == {
        "private": str(tmp_path / "key"), "public": str(tmp_path / "key.pub"),
    }  # fmt: skip
    signed = run("head", folder, "--sign", tmp_path / "key")
    assert signed.exit_code == 0
    (tmp_path / "head.json").write_text(signed.stdout)
    checked = run("check-head", tmp_path / "head.json", tmp_path / "key.pub")
    assert checked.exit_code == 0
    assert checked.stdout == run("head", folder).stdout
    against = ["--against", tmp_path / "head.json", "--key", tmp_path / "key.pub"]
    assert run("verify", folder, *against).exit_code == 0
    doxa.keygen(tmp_path / "other")
    wrong = run("check-head", tmp_path / "head.json", tmp_path / "other.pub")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("doxa: invalid_signature: ")
    assert run("verify", folder, *against[:-1], tmp_path / "other.pub").exit_code == 2


def test_without_the_library_the_extra_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "import doxa\n"
        "ledger = doxa.open()\n"
        "print(ledger.head())\n"
        "for call in (lambda: doxa.keygen(sys.argv[1]), lambda: ledger.head(sign='k')):\n"
        "    try: call()\n"
        "    except doxa.CallerError as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "key")],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    head, *refused = ran.stdout.splitlines()
    assert head.startswith("0:")
    assert ["pip install 'doxa[signing]'" in line for line in refused] == [True, True]


def test_heads_load_no_cryptography_until_one_is_signed() -> None:
    program = "import sys, doxa; doxa.open().head(); print('cryptography' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    assert ran.stdout.strip() == "False"


async def _ahead(ledger: Ledger) -> doxa.StatedHead:
    return await ledger.ahead()


def test_the_asynchronous_twin_gives_the_same_head(told: Ledger) -> None:
    import asyncio

    assert asyncio.run(_ahead(told)) == told.head()
