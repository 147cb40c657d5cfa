"""Signed heads: who kept one can show by whom it was stated. Ed25519, by the library cryptography.

Keys are files in the usual form (PEM: PKCS 8 for a private key, SubjectPublicKeyInfo for a public
one), so that other tools can make and read them. A private key never lies in a ledger's folder,
where every copy of the ledger would carry it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.extras import missing
from doxa.engine.errors import CallerError, InvalidSignature, StorageError
from doxa.engine.heads import StatedHead, as_head

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["check", "keygen", "sign"]

LOG: Final = "log.sqlite"
PUBLIC: Final = ".pub"  # behind the private key's name
LARGEST: Final = 1 << 16  # bytes of a key's file
Where = str | os.PathLike[str]


def keygen(path: Where) -> tuple[Path, Path]:
    """Makes a pair of keys: the private one at ``path``, readable by its owner alone, the public
    one beside it with ``.pub`` behind its name. Returns both paths.

    Raises `CallerError` where one of the two is there already or the place is in a ledger's folder,
    `StorageError` where they can't be written.
    """
    pem, ed25519 = _library()
    private, public = Path(path), Path(f"{os.fspath(path)}{PUBLIC}")
    _refuse_ledgers(private)
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
    )  # who wants a password on it keeps it in a store of keys
    open_to_all = key.public_key().public_bytes(
        pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo
    )
    _write_new(private, secret, 0o600)
    try:
        _write_new(public, open_to_all, 0o644)
    except BaseException:
        private.unlink()
        raise
    return private, public


def sign(head: StatedHead, key: Where, *, ledger: Path | None = None) -> StatedHead:
    """The head, signed with the private key of a file, which is not in the ledger's folder.

    Raises `CallerError` for a key that can't be used: not there, of another kind, with a password,
    readable by others, or in the folder of the ledger.
    """
    pem, _ = _library()
    path = Path(key)
    _refuse_ledgers(path)
    if ledger is not None and _real(path).is_relative_to(_real(ledger)):
        raise _inside(path, ledger)
    private = _private(path)
    public = private.public_key().public_bytes(pem.Encoding.Raw, pem.PublicFormat.Raw)
    signature = private.sign(head.statement)
    return replace(head, key=public.hex(), signature=signature.hex())


def check(head: object, key: Where | None = None) -> StatedHead:
    """The head, if its signature is that of the public key in a file; without one, of the key that
    it names itself, which says nothing about who signed it.

    Raises `InvalidSignature` where it is not, or where the head has none, and `CallerError` for
    what is no head or no such key.
    """
    pem, ed25519 = _library()
    found = as_head(head)
    if found.signature is None or found.key is None:
        raise InvalidSignature(
            f"the head of position {found.position} is not signed; sign it with doxa head --sign"
        )
    named = bytes.fromhex(found.key)
    if key is None:
        public = ed25519.Ed25519PublicKey.from_public_bytes(named)
    else:
        public = _public(Path(key))
        raw = public.public_bytes(pem.Encoding.Raw, pem.PublicFormat.Raw)
        if raw != named:
            raise InvalidSignature(
                f"the head of position {found.position} was signed with the key {found.key}, and "
                f"{key} is {raw.hex()}: give the key of who signed it, or don't trust it"
            )
    from cryptography.exceptions import InvalidSignature as Wrong

    try:
        public.verify(bytes.fromhex(found.signature), found.statement)
    except Wrong:
        raise InvalidSignature(
            f"the head of position {found.position} is not what was signed with the key "
            f"{found.key}: its values or its signature were changed; don't trust it"
        ) from None
    return found


# ------------------------------------------------------------ keys


def _library() -> tuple[Any, Any]:
    """What the library has for writing keys, and for Ed25519."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        besides = "heads without a signature can be kept and compared without it"
        raise missing("cryptography", "signing", "signing", besides) from None
    return serialization, ed25519


def _private(path: Path) -> Ed25519PrivateKey:
    pem, ed25519 = _library()
    data = _read(path, private=True)
    try:
        key = pem.load_pem_private_key(data, password=None)
    except TypeError:
        raise CallerError(
            f"the key in {path} has a password, and doxa asks for none; give one without, readable "
            "by you alone"
        ) from None
    except _unreadable() as error:
        if b"PUBLIC KEY" in data:
            raise CallerError(
                f"{path} holds a public key; signing takes the private one, which doxa keygen "
                f"wrote to the name without {PUBLIC}"
            ) from None
        raise CallerError(f"{path} holds no private key in PEM form: {error}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _other_kind(path, key)
    found: Ed25519PrivateKey = key
    return found


def _public(path: Path) -> Ed25519PublicKey:
    pem, ed25519 = _library()
    data = _read(path)
    if b"PRIVATE KEY" in data:
        raise CallerError(
            f"{path} holds a private key; a head is checked with the public one ({path}{PUBLIC}), "
            "and the private one is shown to nobody"
        )
    try:
        key = pem.load_pem_public_key(data)
    except _unreadable() as error:
        raise CallerError(f"{path} holds no public key in PEM form: {error}") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _other_kind(path, key)
    found: Ed25519PublicKey = key
    return found


def _unreadable() -> tuple[type[Exception], ...]:
    from cryptography.exceptions import UnsupportedAlgorithm

    return (ValueError, UnsupportedAlgorithm)


def _other_kind(path: Path, key: object) -> CallerError:
    kind = type(key).__name__.lstrip("_")
    return CallerError(f"{path} holds a key of type {kind}; heads are signed with Ed25519 keys")


def _read(path: Path, private: bool = False) -> bytes:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or error
        raise CallerError(f"the key {str(path)!r:.200} can't be read: {text}") from None
    if private and sys.platform != "win32" and stat.S_IMODE(mode) & 0o077:
        raise CallerError(
            f"the private key {path} can be read or written by others "
            f"({stat.S_IMODE(mode):04o}): chmod 600 it, and make a new one if others could read it"
        )
    if len(data) > LARGEST:
        raise CallerError(f"{path} is too large for a key; name the file that doxa keygen wrote")
    return data


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise CallerError(
            f"{path} is there already, and no key is ever overwritten; give another name"
        ) from None
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or error
        raise StorageError(f"{str(path)!r:.200} can't be written: {text}") from None
    try:
        with os.fdopen(file, "wb") as opened:
            if sys.platform != "win32":
                os.fchmod(file, mode)
            opened.write(data)
            opened.flush()
            os.fsync(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise StorageError(f"{path} can't be written: {error.strerror}; nothing is left") from None


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        raise CallerError(f"{str(path)!r:.200} is no path; give that of a key's file") from None


def _refuse_ledgers(path: Path) -> None:
    """Raises `CallerError` for a place in a ledger's folder."""
    for folder in _real(path).parents:
        if (folder / LOG).exists():
            raise _inside(path, folder)


def _inside(path: Path, ledger: Path) -> CallerError:
    return CallerError(
        f"{path} is in {ledger}, the folder of a ledger, whose copies would carry the private key "
        "along; keep it elsewhere"
    )
