"""Digests that only somebody with the ledger's secret can make: of what may not be kept itself.

HMAC-SHA-256 (RFC 2104) with the secret that lies beside the log in its file. Each purpose has a
label of its own, so that a digest made for one says nothing to another.
"""

from __future__ import annotations

import hmac
from typing import Final

__all__ = ["BLOCKED", "PERSPECTIVE", "PREDICATE", "SECRET", "SUBJECT", "VALUE", "Keyed"]

SECRET: Final = 32  # bytes
SUBJECT, PREDICATE, PERSPECTIVE = "subject", "predicate", "perspective"  # labels
VALUE, BLOCKED = "value", "blocked"


class Keyed:
    """Makes the digests of one ledger."""

    __slots__ = ("secret",)

    def __init__(self, secret: bytes) -> None:
        assert len(secret) == SECRET, "not a ledger's secret"
        self.secret = secret

    def digest(self, label: str, *texts: str) -> str:
        """The digest of texts for one purpose, in 64 hexadecimal digits.

        >>> Keyed(bytes(32)).digest("subject", "ada") == Keyed(bytes(32)).digest("object", "ada")
        False
        """
        words = "\x00".join((label, *texts)).encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, words, "sha256").hex()
