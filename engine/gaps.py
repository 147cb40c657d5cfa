"""The record of compacted stretches in the log's file, and the taking out of their events.

A *stretch* is a run of positions whose events are gone. Of each there is one row: its first and
last position, how many events it holds, the link of the chain at its end, and a SHA-256 digest:
over the links of its events in order or, where a later pass merged stretches, over the digests of
their parts. Beside these lies, for each pass, what is still known of the events (see `gone`). A
policy event in the log states the digest of all this, so that the chain covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol

import numpy as np

from doxa.engine import disk
from doxa.engine.codec import COMPACTING
from doxa.engine.errors import DamageError
from doxa.engine.events import Compaction
from doxa.engine.gone import Columns, Gone, Ints, Stretches, joined
from doxa.engine.keyed import Keyed
from doxa.engine.log import Gap

__all__ = [
    "SCHEMA",
    "Pass",
    "compacted_at",
    "gaps_of",
    "loaded",
    "plan",
    "record_of",
    "stated",
    "write",
]

SCHEMA: Final = (
    "CREATE TABLE log_gap(first INTEGER PRIMARY KEY, last INTEGER NOT NULL,"
    " count INTEGER NOT NULL, chain BLOB NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE log_gone(pass INTEGER PRIMARY KEY, body BLOB NOT NULL)",
)
PAGE: Final = 10_000  # positions a read
PASSES: Final = 16  # of which something is kept apart, before it is put together

_THERE: Final = "SELECT count(*) FROM sqlite_master WHERE name IN ('log_gap', 'log_gone')"
_AT: Final = "SELECT max(position) FROM log_tag WHERE tag = ?"
_GAPS: Final = "SELECT first, last, count, chain, digest FROM log_gap ORDER BY first"
_PASSES: Final = "SELECT pass FROM log_gone ORDER BY pass"
_BODY: Final = "SELECT body FROM log_gone WHERE pass = ?"
_LINKS: Final = "SELECT position, chain FROM log WHERE position > ? AND position <= ?"

Select = Callable[..., list[Any]]


class Run(Protocol):
    def __call__(self, sql: str, rows: list[tuple[Any, ...]] | None = None) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Pass:
    """What one compaction is going to write: the stretches that are merged into others, by their
    first positions, the new ones, what stays known, in place of what is ``replaced`` of earlier
    passes, and what the log states of it all."""

    merged: list[int]
    gaps: list[Gap]
    body: bytes
    replaced: bool
    statement: Compaction


# ---------------------------------------------------------------- reading


def compacted_at(select: Select) -> int:
    """The position of the event that states the last compaction of a log; 0 without any."""
    found: int | None = select(_AT, (COMPACTING,))[0][0]
    return found or 0


def gaps_of(select: Select) -> list[Gap]:
    """All stretches, in order."""
    return [Gap(*row) for row in select(_GAPS)] if select(_THERE)[0][0] else []


def bodies_of(select: Select) -> Iterator[bytes]:
    """What is still known of the events, pass by pass."""
    if select(_THERE)[0][0]:
        for (number,) in select(_PASSES):
            yield select(_BODY, (number,))[0][0]


def loaded(select: Select, keyed: Keyed) -> Gone | None:
    """What is known of the compacted events of a log; ``None`` where there are none. Raises
    `DamageError` where the record is incomplete."""
    at = compacted_at(select)
    if not at:
        return None
    gaps = gaps_of(select)
    parts = [Columns.unpacked(body) for body in bodies_of(select)]
    if not gaps or not parts:
        raise DamageError(
            f"the record of what was compacted up to {at} is gone; run verify, and restore the "
            "last backup"
        )
    first = np.array([gap.first for gap in gaps], np.int64)
    last = np.array([gap.last for gap in gaps], np.int64)
    columns = joined(parts)
    if int(np.sum(last - first + 1)) != len(columns.position):
        raise DamageError(
            "the record of compacted stretches names other events than what is known of them; run "
            "verify, and restore the last backup"
        )
    return Gone(keyed, at, Stretches(first, last, b"".join(gap.digest for gap in gaps)), columns)


def stated(gaps: Sequence[Gap], bodies: Iterable[bytes]) -> Compaction:
    """What the log states of stretches, and of what is known of their events."""
    digest = sha256()
    for gap in gaps:
        digest.update(b"%d:%d:%d:%b%b" % gap)
    for body in bodies:
        digest.update(sha256(body).digest())
    return Compaction(
        first=gaps[0].first,
        last=gaps[-1].last,
        stretches=len(gaps),
        events=sum(gap.events for gap in gaps),
        digest=digest.hexdigest(),
    )


def record_of(select: Select) -> Compaction | None:
    """What is to be stated of the record as it is; ``None`` where there is none. O(bytes)."""
    gaps = gaps_of(select)
    try:
        return stated(gaps, bodies_of(select)) if gaps else None
    except (TypeError, ValueError) as error:
        raise DamageError(f"the record of compacted stretches can't be read: {error}") from None


# ---------------------------------------------------------------- writing


def plan(select: Select, positions: Ints, columns: Columns) -> Pass:
    """What a compaction of the events at some positions is going to write. O(events)."""
    before, bodies = gaps_of(select), list(bodies_of(select))
    if replaced := len(bodies) >= PASSES:
        columns, bodies = joined([*map(Columns.unpacked, bodies), columns]), []
    body = columns.packed()
    merged, gaps, all_gaps = _merged(before, _runs(select, positions))
    return Pass(merged, gaps, body, replaced, stated(all_gaps, (*bodies, body)))


def _runs(select: Select, positions: Ints) -> Iterator[Gap]:
    """The stretches that some positions make, in order."""
    digest, first, last, chain = sha256(), 0, 0, b""
    for position, link in _links(select, positions):
        if first and position != last + 1:
            yield Gap(first, last, last - first + 1, chain, digest.digest())
            digest, first = sha256(), 0
        first, last, chain = first or position, position, link
        digest.update(link)
    yield Gap(first, last, last - first + 1, chain, digest.digest())


def _links(select: Select, positions: Ints) -> Iterator[tuple[int, bytes]]:
    """The links of the events at some positions."""
    place = 0
    while place < len(positions):
        after = int(positions[place]) - 1
        end = int(np.searchsorted(positions, after + PAGE, side="right"))
        found = dict(select(_LINKS, (after, after + PAGE)))
        for position in positions[place:end].tolist():
            yield position, found[position]
        place = end


def _merged(before: Sequence[Gap], runs: Iterable[Gap]) -> tuple[list[int], list[Gap], list[Gap]]:
    """The old stretches that become part of others, the new ones, and all that there are then."""
    merged: list[int] = []
    new: list[Gap] = []
    every: list[Gap] = []
    old = {gap.first for gap in before}
    group: list[Gap] = []
    for gap in (*sorted((*before, *runs)), None):
        if group and (gap is None or gap.first != group[-1].last + 1):
            first, last = group[0].first, group[-1].last
            whole = group[0]
            if len(group) > 1:
                digest = sha256(b"".join(part.digest for part in group)).digest()
                whole = Gap(first, last, last - first + 1, group[-1].chain, digest)
                merged += (part.first for part in group if part.first in old)
            if len(group) > 1 or first not in old:
                new.append(whole)
            every.append(whole)
            group = []
        if gap is not None:
            group.append(gap)
    return merged, new, every


def write(run: Run, done: Pass, positions: Ints) -> None:
    """Takes the events out, and writes down what stays. O(events).

    ``run`` runs a statement, once or for each of several rows, and gives what it finds.
    """
    if not run(_THERE)[0][0]:
        for statement in SCHEMA:
            run(statement)
        run(f"PRAGMA user_version={disk.COMPACTED}")
    breaks = np.diff(positions) != 1
    firsts = positions[np.append(True, breaks)].tolist()
    bounds = list(zip(firsts, positions[np.append(breaks, True)].tolist(), strict=True))
    run("DELETE FROM log WHERE position BETWEEN ? AND ?", bounds)
    run("DELETE FROM log_tag WHERE position NOT IN (SELECT position FROM log)")
    run("DELETE FROM log_gap WHERE first = ?", [(first,) for first in done.merged])
    run("INSERT INTO log_gap VALUES(?,?,?,?,?)", [tuple(gap) for gap in done.gaps])
    if done.replaced:
        run("DELETE FROM log_gone")
    run("INSERT INTO log_gone(body) VALUES(?)", [(done.body,)])
