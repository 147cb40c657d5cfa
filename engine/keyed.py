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

    __slots__ = ("_begun", "secret", "stored")

    def __init__(self, stored: bytes, secret: bytes | None = None) -> None:
        """``stored`` is the secret that lies in the log's file, ``secret`` the one that is used in
        its place: of an encrypted ledger, one that nobody can make without its keys."""
        assert len(stored) == SECRET, "not a ledger's secret"
        self.stored = stored
        self.secret = stored if secret is None else secret
        self._begun = hmac.new(self.secret, digestmod="sha256")  # its copies are the quicker way

    @property
    def by_stored(self) -> Keyed:
        """What makes digests with the secret in the log's file: of what is no secret itself."""
        return Keyed(self.stored)

    def digest(self, label: str, *texts: str) -> str:
        """The digest of texts for one purpose, in 64 hexadecimal digits.

        >>> Keyed(bytes(32)).digest("subject", "ada") == Keyed(bytes(32)).digest("object", "ada")
        False
        """
        words = "\x00".join((label, *texts)).encode("utf-8", "surrogatepass")
        made = self._begun.copy()
        made.update(words)
        return made.hexdigest()
