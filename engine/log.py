"""The log as values: rows, heads, commitments and the hash chain.

An event's **commitment** hides its data behind a random salt; its **link** is a digest of the
link before, the commitment and the header. Erasing data and salt leaves the commitment, so the
chain still verifies. Nothing here touches the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Final, NamedTuple, cast

from doxa.engine import times
from doxa.engine.errors import InvalidEvent, InvalidTime

__all__ = [
    "DIGEST",
    "NO_LINK",
    "SALT",
    "SEPARATOR",
    "Appended",
    "Gap",
    "Head",
    "NewEvent",
    "Problem",
    "Row",
    "Verification",
    "as_new",
    "check_event",
    "commitment",
    "link",
    "stated_instant",
    "wal_reset_bug",
]

SEPARATOR: Final = "\x1f"
DIGEST: Final = 32  # bytes of a commitment and of a link
SALT: Final = 16  # bytes
NO_LINK: Final = bytes(DIGEST)  # what the first event is chained to


class Row(NamedTuple):
    """One stored event; ``data`` is ``None`` once it is erased. Where rows are read in pages, the
    last of each has its link in the ``chain``."""

    position: int
    recorded_at: int
    type: str
    head: bytes
    data: bytes | None
    chain: bytes | None = None


class NewEvent(NamedTuple):
    """One event to append; without ``data`` it is erased from the start."""

    type: str
    head: bytes
    data: bytes | None
    tags: tuple[str, ...] = ()


# from a tuple of all four, in half the time
as_new = cast("Callable[[tuple[str, bytes, bytes | None, tuple[str, ...]]], NewEvent]",
              partial(tuple.__new__, NewEvent))  # fmt: skip


class Head(NamedTuple):
    """Where the log ends: the last position, its ``recorded_at``, and its link in the chain."""

    position: int
    recorded_at: int
    chain: bytes


class Appended(NamedTuple):
    """One commit: its first and last position, and when it was recorded."""

    first: int
    last: int
    recorded_at: int


class Gap(NamedTuple):
    """One compacted stretch: ``chain`` is the link of its last event, ``digest`` the SHA-256 of
    what was there."""

    first: int
    last: int
    events: int
    chain: bytes
    digest: bytes


class Problem(NamedTuple):
    """One finding of an audit. ``position`` is 0 where it belongs to no event; ``id`` is that of
    the event that stands there, or was written there, where it can be read."""

    position: int
    code: str
    message: str
    id: str | None = None


@dataclass(frozen=True)
class Verification:
    """What an audit found; without problems the log is as it was written, up to its head."""

    events: int
    erased: int
    position: int
    chain: str
    problems: list[Problem] = field(default_factory=list)


# ---------------------------------------------------------------- digests


def commitment(salt: bytes, data: bytes) -> bytes:
    """BLAKE2b of the data, keyed with the salt: without the salt, short data can't be guessed."""
    return blake2b(data, key=salt, digest_size=DIGEST).digest()


def link(before: bytes, commitment: bytes, header: bytes) -> bytes:
    """The chain's next value: BLAKE2b of the one before, the commitment and the header."""
    return blake2b(before + commitment + header, digest_size=DIGEST).digest()


def check_event(event: NewEvent) -> str:
    """The stored form of the tags. Raises `InvalidEvent` for what could not be told apart later."""
    kind, head, data, tags = event
    if type(head) is not bytes or type(data) not in (bytes, type(None)):
        raise InvalidEvent(f"head and data of a {kind!r} are bytes, not {head!r:.80}, {data!r:.80}")
    if tags == () and type(kind) is str and kind.isalpha() and kind.isascii():
        return ""
    if not isinstance(tags, tuple | list):
        raise InvalidEvent(f"tags are {tags!r}; give a tuple of texts")
    for text in (kind, *tags):
        if not isinstance(text, str) or not text or SEPARATOR in text or "\x00" in text:
            raise InvalidEvent(
                f"{text!r} can't be a type or tag; give a text that is not empty and holds "
                "neither U+001F nor U+0000"
            )
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidEvent(f"{text!r} can't be stored: half of a surrogate pair") from None
    return SEPARATOR.join(tags)


def stated_instant(recorded_at: object) -> int:
    """``recorded_at`` as stated by the caller. Raises `InvalidTime` if it is no instant."""
    if type(recorded_at) is not int:
        raise InvalidTime(f"recorded_at is {recorded_at!r}; give microseconds since 1970, an int")
    if not times.FIRST <= recorded_at <= times.LAST:
        raise InvalidTime(f"recorded_at is {recorded_at}, outside the years 1 to 9999 in UTC")
    return recorded_at


def wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite can lose pages when one connection commits while another checkpoints.

    From 3.7.0 to 3.51.2, save 3.50.7 and later of 3.50, 3.44.6 and later of 3.44. A patch by a
    distribution doesn't show in the number.
    """
    if version[:2] == (3, 50):
        return version < (3, 50, 7)
    if version[:2] == (3, 44):
        return version < (3, 44, 6)
    return (3, 7, 0) <= version < (3, 51, 3)
