"""What processes were told while a machine ran, and whether what is left agrees with it.

Of each thing that was written: it was acknowledged, and is there for ever, as it was told; or it
was refused with "nothing was written", and is nowhere; or nobody was told (the process ended, or
a flush failed at the very end), and it is there wholly or not at all. Nothing else is there.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from doxa.oracle.chain import check_chain

Key = tuple[str, str]  # the workspace of an event, and its id
# Events that a ledger makes of itself: what is put away, comes back, or is purged.
OWN: Final = ("policy-", "restored-", "purge-")


class Stored(NamedTuple):
    """One row of the log."""

    position: int
    recorded_at: int
    type: str
    head: bytes
    data: bytes | None
    chain: bytes

    @property
    def key(self) -> Key:
        head = json.loads(self.head)
        return head.get("workspace", ""), head["id"]


class Fate(Enum):
    """What is known of an attempt."""

    OPEN = "nobody was told"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"


@dataclass(eq=False)
class Attempt:
    """Something that a process tried to write: commits, in order, and what it was told."""

    process: str
    what: str
    commits: list[list[Key]]
    fate: Fate = Fate.OPEN

    def __str__(self) -> str:
        keys = [[f"{w}/{id}" if w else id for w, id in commit] for commit in self.commits]
        return f"{self.what} {keys} by {self.process} ({self.fate.value})"


class Wrong(AssertionError):
    """Something is not as it was told."""


@dataclass
class History:
    """All attempts of a run, and what is known of the log."""

    attempts: list[Attempt] = field(default_factory=list)
    rows: dict[int, Stored] = field(default_factory=dict)  # as somebody has read them
    told: int = 0  # the highest position that was acknowledged
    seen: int = 0  # and that anybody has seen
    unflushed: bool = False  # whether a process may have left what others read before it is durable
    fingerprints: dict[tuple[int, str, int], str] = field(default_factory=dict)
    erasing: set[int] = field(default_factory=set)  # positions whose data may be gone
    erased: dict[int, bytes] = field(default_factory=dict)  # and is gone: what nobody may find

    def read(self, rows: Iterable[Stored]) -> None:
        """Somebody has read rows that are durable: they are for ever."""
        for row in rows:
            self._compare(row)
            self.rows.setdefault(row.position, row)

    def see(self, revision: int) -> None:
        """Somebody has seen that the log goes so far."""
        self.seen = max(self.seen, revision)

    def tell(self, revision: int) -> None:
        """Somebody was told that what goes so far is durable."""
        self.told = max(self.told, revision)
        self.see(revision)

    def _compare(self, row: Stored) -> None:
        known = self.rows.get(row.position)
        if known is None or known == row:
            return
        may_go = row.position in self.erasing or row.key[1].startswith(OWN)
        if row.data is None and may_go and known._replace(data=None) == row:
            return
        raise Wrong(f"{row.position} was {known}, and is {row}")

    # ------------------------------------------------------------ at the end

    def settle(self, rows: Sequence[Stored]) -> None:
        """The whole log, after a machine has stopped. Raises `Wrong` for the first difference."""
        last = rows[-1].position if rows else 0
        if last < self.told:
            raise Wrong(f"up to {self.told} it was acknowledged, and the log ends at {last}")
        if last < self.seen:
            if not self.unflushed:
                raise Wrong(f"the log was seen up to {self.seen}, and ends at {last}")
            self.fingerprints = {k: v for k, v in self.fingerprints.items() if k[0] <= last}
            self.seen = last
        self.read(rows)
        for position in self.erased:
            if rows[position - 1].data is not None:
                raise Wrong(f"{position} was erased, and has its data")
        there = {row.key: row.position for row in rows}
        for attempt in self.attempts:
            self._check(attempt, there)
        self._explain(rows)
        for attempt in self.attempts:
            if attempt.fate is Fate.OPEN:
                attempt.fate = Fate.REFUSED
                if all(key in there for commit in attempt.commits for key in commit):
                    attempt.fate = Fate.ACKNOWLEDGED

    def _check(self, attempt: Attempt, there: dict[Key, int]) -> None:
        keys = [key for commit in attempt.commits for key in commit]
        if attempt.fate is Fate.ACKNOWLEDGED:
            missing = [key for key in keys if key not in there]
            if missing:
                raise Wrong(f"{attempt}: {missing} is not there")
        if attempt.fate is Fate.REFUSED:
            others = {
                key
                for other in self.attempts
                if other.fate is not Fate.REFUSED
                for commit in other.commits
                for key in commit
            }
            found = [key for key in keys if key in there and key not in others]
            if found:
                raise Wrong(f"{attempt}: but {found} is there, at {there[found[0]]}")

    def _explain(self, rows: Sequence[Stored]) -> None:
        """Each commit is one that somebody tried, whole, less what was there before."""
        before: set[Key] = set()
        possible = [
            (attempt, commit)
            for attempt in self.attempts
            if attempt.fate is not Fate.REFUSED
            for commit in attempt.commits
        ]
        last_at = None
        for commit in _commits(rows):
            at = commit[0].recorded_at
            if last_at is not None and at <= last_at:
                raise Wrong(f"{commit[0].position} is recorded at {at}, not after {last_at}")
            last_at = at
            keys = {row.key for row in commit if not row.key[1].startswith(OWN)}
            if keys and not any(keys == set(tried) - before for _, tried in possible):
                raise Wrong(
                    f"the commit {commit[0].position} to {commit[-1].position} is of "
                    f"{sorted(keys)}, which nobody tried as one"
                )
            before |= keys
        for attempt in self.attempts:  # what is made of several commits is made from its first on
            done = [set(commit) <= before for commit in attempt.commits]
            if attempt.fate is Fate.OPEN and sorted(done, reverse=True) != done:
                raise Wrong(f"{attempt}: of its commits there are {done}")


def _commits(rows: Sequence[Stored]) -> Iterator[list[Stored]]:
    commit: list[Stored] = []
    for row in rows:
        if commit and row.recorded_at != commit[-1].recorded_at:
            yield commit
            commit = []
        commit.append(row)
    if commit:
        yield commit


def stored(path: str) -> list[Stored]:
    """The rows of a log file, by SQLite itself, which recovers the file first; [] where there is
    none. Raises `Wrong` for a file that is not sound."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return []
    with closing(sqlite3.connect(f"file:{path}?vfs=unix", uri=True)) as connection:
        found = connection.execute("PRAGMA integrity_check(3)").fetchall()
        if found != [("ok",)]:
            raise Wrong(f"SQLite says: {found}")
        columns = "position, recorded_at, type, head, data, chain"
        query = f"SELECT {columns} FROM log ORDER BY position"
        rows = [Stored(*row) for row in connection.execute(query)]
        head = connection.execute("SELECT position, recorded_at, chain FROM head").fetchone()
        end = (
            (rows[-1].position, rows[-1].recorded_at, rows[-1].chain) if rows else (0, 0, bytes(32))
        )
        if head != end:
            raise Wrong(f"the head row is {head}, the end {end}")
    if broken := check_chain(path):
        raise Wrong(f"the chain is broken: {broken[:3]}")
    return rows
