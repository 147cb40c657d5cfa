"""The audit of a log's own consistency: gap-free positions, times, commitments and the chain."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

from doxa.oracle.log import connect

APPLICATION: Final = 0x646F7861
USER_VERSIONS: Final = (1, 2)  # the second where something was compacted
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
    for pragma, expected in (("application_id", (APPLICATION,)), ("user_version", USER_VERSIONS)):
        (found,) = connection.execute(f"PRAGMA {pragma}").fetchone()
        if found not in expected:
            yield f"{pragma} is {found}, not {expected[0]}"
    gaps, record = _gaps(connection)
    stated = None
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
            gap = gaps.pop(last + 1, None)
            if gap is None or gap[:2] != (position - 1, position - 1 - last):
                yield f"position {position} follows {last}"
            else:
                chain = gap[2]
        if kind == "policy":
            stated = json.loads(head).get("compacted", stated)
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
    for first in gaps:
        yield f"a compacted stretch is said to begin at {first}, where events are"
    if (None if stated is None else stated["digest"]) != record:
        yield f"the compacted stretches have the digest {record}, and the log states {stated}"


def _gaps(
    connection: sqlite3.Connection,
) -> tuple[dict[int, tuple[int, int, bytes]], str | None]:
    """The compacted stretches by their first positions (last, count, link), and the digest of their
    record, where there is one."""
    sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('log_gap', 'log_gone')"
    if not connection.execute(sql).fetchone()[0]:
        return {}, None
    found, digest = {}, sha256()
    for gap in connection.execute("SELECT * FROM log_gap ORDER BY first"):
        first, last, count, link, own = gap
        found[first] = last, count, link
        digest.update(f"{first}:{last}:{count}:".encode() + link + own)
    for (body,) in connection.execute("SELECT body FROM log_gone ORDER BY pass"):
        digest.update(sha256(body).digest())
    return found, digest.hexdigest()
