"""AES-256-GCM, by the library cryptography: what encrypts the content of events."""

from __future__ import annotations

from doxa.adapters.extras import missing
from doxa.engine.keyfile import KeyFile
from doxa.engine.sealing import Cipher

__all__ = ["check_library", "cipher"]


def check_library() -> None:
    """Raises `MissingExtra` where the library is not installed."""
    try:
        import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
    except ImportError:
        needs, besides = "an encrypted ledger", "nothing was read or written"
        raise missing("cryptography", "encryption", needs, besides) from None


def cipher(keys: KeyFile) -> Cipher:
    """What encrypts and decrypts with the keys of a file."""
    check_library()
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return Cipher(keys, AESGCM, InvalidTag)
