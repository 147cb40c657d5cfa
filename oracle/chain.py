"""The audit of a log's own consistency: gap-free positions, times, commitments and the chain."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Final

from doxa.oracle.log import connect

APPLICATION: Final = 0x646F7861
USER_VERSION: Final = 1
START: Final = bytes(32)


def check_chain(path: str | Path) -> list[str]:
    """What is wrong with the log of a ledger, in the order of its positions; empty if nothing.

    ``path`` is the ledger's folder or its ``log.sqlite``. Reads one consistent state. O(bytes).
    """
    problems: list[str] = []
    try:
        with closing(connect(path)) as connection:
            connection.execute("BEGIN")
            problems.extend(_problems(connection))
    except (sqlite3.Error, TypeError, ValueError) as error:  # damage may change types too
        problems.append(f"{path} can't be read as a log: {error}")
    return problems


def _problems(connection: sqlite3.Connection) -> Iterator[str]:
    for pragma, expected in (("application_id", APPLICATION), ("user_version", USER_VERSION)):
        (found,) = connection.execute(f"PRAGMA {pragma}").fetchone()
        if found != expected:
            yield f"{pragma} is {found}, not {expected}"
    last, last_at, chain = 0, None, START
    for (
        position,
        recorded_at,
        kind,
        tags,
        head,
        data,
        salt,
        commitment,
        stored,
    ) in connection.execute(
        "SELECT position, recorded_at, type, tags, head, data, salt, commitment, chain"
        " FROM log ORDER BY position"
    ):
        if position != last + 1:
            yield f"position {position} follows {last}"
        if last_at is not None and recorded_at < last_at:
            yield f"position {position} is recorded at {recorded_at}, before {last_at}"
        if data is None:
            if salt is not None:
                yield f"position {position} is erased, but its salt is there"
            if commitment is None:
                yield f"position {position} is erased, and its commitment is gone too"
        elif salt is None:
            yield f"position {position} has no salt"
        else:
            made = blake2b(data, key=salt, digest_size=32).digest()
            if commitment is not None and commitment != made:
                yield f"position {position} has a commitment, and not its data's"
            commitment = made
        header = f"{position}\x1f{recorded_at}\x1f{kind}\x1f{tags}\x1f".encode() + head
        expected_link = blake2b(chain + (commitment or b"") + header, digest_size=32).digest()
        if stored != expected_link:
            yield f"position {position} breaks the chain: it is not what was written"
        last, last_at, chain = position, recorded_at, stored  # so that one break is told once
    head_row = connection.execute("SELECT position, recorded_at, chain FROM head").fetchone()
    head_row = head_row or (0, None, START)
    if head_row[0] != last:
        yield f"the head is at position {head_row[0]}, but the log ends at {last}"
    elif last and head_row[1:] != (last_at, chain):
        yield f"the head at position {last} does not match the log's last row"
