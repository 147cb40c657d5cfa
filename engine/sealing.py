"""Encrypted content: how it is stored, and how it is read.

The head of an event stays readable. Its content is encrypted with AES-256-GCM under the keys of
those whom it is about; of several, under a key made of all of theirs, so that it can't be read any
more once one of them is destroyed. Ledger, type and head are authenticated with it: what is stored
of one event is of no use for another. The chain's commitments are over what is stored, so a log is
verified, copied and erased without any key.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from doxa.engine.audit import id_in
from doxa.engine.errors import DamageError, StorageError, WrongKeys
from doxa.engine.keyfile import ID, KeyFile, Owner
from doxa.engine.log import NewEvent, Row, as_new
from doxa.engine.transaction import as_row

__all__ = ["CACHE", "LEDGER", "MARK", "Aead", "Cipher", "Whose", "key_ids"]

Whose = Sequence[Owner | bytes]
"""Whose content it is; or, by the ids of its keys, what it is encrypted with elsewhere."""

LEDGER: Final[Owner] = ("ledger", "", "")  # whose content is that is about nobody
CACHE: Final[Owner] = ("cache", "", "")  # and what can be made anew; it goes with any other key
MARK: Final = "SELECT value FROM meta WHERE key='encryption'"  # of the log of an encrypted ledger
MAGIC: Final = b"\xd0\x01"  # no JSON begins with it; the second byte is the version
NONCE: Final = 12  # bytes
TAG: Final = 16
READY: Final = 4_096  # keys that are kept ready for use
FEW: Final = 8  # of what has more it is made anew
_COUNT: Final = 4  # bytes of the number of keys
_IDS: Final = len(MAGIC) + _COUNT  # where the ids begin
_ALONE: Final = MAGIC + (1).to_bytes(_COUNT, "big")  # what content of one key begins with
_SHORTEST: Final = _IDS + ID + NONCE + TAG
_JOINED: Final = b"doxa joined keys 1"


class Aead(Protocol):
    """A key of an authenticated cipher."""

    def encrypt(self, nonce: bytes, data: bytes, aad: bytes, /) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, aad: bytes, /) -> bytes: ...


def key_ids(data: bytes | None) -> list[bytes]:
    """The ids of the keys that stored content is encrypted with; none of what is erased. Raises
    `ValueError` for what is not encrypted, or cut off."""
    if data is None:
        return []
    if not data.startswith(MAGIC):
        raise ValueError("it is not encrypted, in a ledger that is")
    end = _IDS + ID * int.from_bytes(data[len(MAGIC) : _IDS], "big")
    if end == _IDS or len(data) < end + NONCE + TAG:
        raise ValueError("it is cut off")
    return [data[at : at + ID] for at in range(_IDS, end, ID)]


class Cipher:
    """Encrypts and decrypts the events of one ledger. Safe for threads.

    ``aead`` makes a cipher of a key; ``failure`` is what that raises where it can't decrypt.
    """

    def __init__(
        self, keys: KeyFile, aead: Callable[[bytes], Aead], failure: type[Exception]
    ) -> None:
        self.keys = keys
        self._aead, self._failure = aead, failure
        self._context = b"doxa event 1\x1f" + keys.ledger.encode()
        self._ready: dict[bytes, Aead] = {}  # by what content begins with
        self._destroyed = 0  # keys, when those were made

    def sealed(self, events: Sequence[NewEvent], whose: Sequence[Whose]) -> list[NewEvent]:
        """Events as they are stored, each under the keys of those whose it is. Keys that are needed
        are made, durably, before this returns. Raises `StorageError`."""
        ids = self.keys.ids({one for each in whose for one in each if not isinstance(one, bytes)})
        nonces = os.urandom(NONCE * len(events))
        done = []
        for place, (event, each) in enumerate(zip(events, whose, strict=True)):
            kind, head, data, tags = event
            if data is None:
                done.append(event)
                continue
            named = {one if isinstance(one, bytes) else ids[one] for one in each}
            prefix = MAGIC + len(named).to_bytes(_COUNT, "big") + b"".join(sorted(named))
            aead = self._cipher(prefix)
            assert aead is not None, "a key that is not destroyed"
            nonce = nonces[NONCE * place : NONCE * place + NONCE]
            text = aead.encrypt(nonce, data, self._about(kind, prefix, head))
            done.append(as_new((kind, head, b"%b%b%b" % (prefix, nonce, text), tags)))
        return done

    def opened(self, rows: Iterable[Row]) -> list[Row]:
        """Stored events as they can be read: without data, where it or a key to it is gone.

        Raises `DamageError` for what is not as it was written, `WrongKeys` for a key that is not in
        the file.
        """
        self.keys.follow()
        return [row if row[4] is None else self._opened(row) for row in rows]

    def _opened(self, row: Row) -> Row:
        position, at, kind, head, data, chain = row
        assert data is not None, row
        try:
            alone = data[:_IDS] == _ALONE and len(data) >= _SHORTEST
            end = _IDS + ID * (1 if alone else len(key_ids(data)))
            prefix = data[:end]
            aead = self._cipher(prefix)
            if aead is None:
                return as_row((position, at, kind, head, None, chain))
            nonce, text = data[end : end + NONCE], data[end + NONCE :]
            content = aead.decrypt(nonce, text, self._about(kind, prefix, head))
        except (self._failure, ValueError) as error:
            why = str(error) or "it was altered, or moved there from elsewhere"
            raise DamageError(
                f"the content of event {position} ({id_in(head)}) can't be decrypted: {why}; run "
                "verify, and restore the last backup"
            ) from None
        return as_row((position, at, kind, head, content, chain))

    # -- what is kept beside the log

    def wrapped(self, parts: Iterable[Any]) -> bytes:
        """Parts of what is kept to save time, as one file has them. Raises `StorageError`."""
        id = self.keys.ids([CACHE])[CACHE]
        key, nonce = self.keys.key(id), os.urandom(NONCE)
        if key is None:
            raise StorageError("a key was destroyed meanwhile; what is kept is written next time")
        text = self._aead(key).encrypt(nonce, b"".join(parts), self._kept(id))
        return b"%b%b%b" % (id, nonce, text)

    def unwrapped(self, stored: bytes) -> bytes | None:
        """What was wrapped, ``None`` where that can't be told any more."""
        id, nonce, text = stored[:ID], stored[ID : ID + NONCE], stored[ID + NONCE :]
        try:
            self.keys.follow()
            key = self.keys.key(id)
            return None if key is None else self._aead(key).decrypt(nonce, text, self._kept(id))
        except (self._failure, ValueError, WrongKeys):
            return None

    def _kept(self, id: bytes) -> bytes:
        return b"doxa cache 1\x1f%b\x1f%b" % (self.keys.ledger.encode(), id)

    # -- keys

    def _about(self, kind: str, prefix: bytes, head: bytes) -> bytes:
        """What is authenticated with the content."""
        return b"%b\x1f%b\x1f%b\x1f%b" % (self._context, kind.encode(), prefix, head)

    def _cipher(self, prefix: bytes) -> Aead | None:
        """The cipher for content that begins so; ``None`` where a key is destroyed."""
        if self._destroyed != len(self.keys.destroyed):
            self._destroyed, self._ready = len(self.keys.destroyed), {}
        found = self._ready.get(prefix)
        if found is not None:
            return found
        ids = [prefix[at : at + ID] for at in range(_IDS, len(prefix), ID)]
        keys = [key for key in map(self.keys.key, ids) if key is not None]
        if len(keys) < len(ids):
            return None
        if len(self._ready) >= READY:
            self._ready = {}
        joined = keys[0] if len(keys) == 1 else hmac.digest(_JOINED, b"".join(keys), "sha256")
        made = self._aead(joined)
        if len(keys) <= FEW:
            self._ready[prefix] = made
        return made
