"""What changed from one version of a file to the next, as events of one commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from operator import is_not
from typing import Any, Final, NamedTuple

from doxa.adapters.git.repository import Commit
from doxa.adapters.git.rows import Row, RowKey, Version, changed
from doxa.engine import times

__all__ = ["Change", "Live", "Stamp", "Writer", "differences"]

Live = dict[RowKey, dict[str, str]]
"""The claim of each cell: by row and column."""

_ASSUMED: Final = {
    "unknown": "git: the file does not say when; at all times",
    "commit": "git: from the author's date of the commit on",
}


class Change(NamedTuple):
    """One row that is otherwise: ``old`` and ``new``, of which one may be missing."""

    old: Row | None
    new: Row | None


def differences(old: Version, new: Version) -> Iterator[Change]:
    """The rows that are not in both versions alike, those that are gone first. A row whose interval
    begins at another time is known again by its key, where its place is free."""
    others = new.follows(old)
    if others is not None:
        for key in others:
            if old.rows[key] != new.rows[key]:
                yield Change(old.rows[key], new.rows[key])
        return
    moved: dict[RowKey, Row] = {}
    if old.rows.keys() != new.rows.keys():
        gone = [row for key, row in old.rows.items() if key not in new.rows]
        moved = _moved(gone, [key for key in new.rows if key not in old.rows])
        paired = {row.key for row in moved.values()}
        yield from (Change(row, None) for row in gone if row.key not in paired)
    before = map(old.rows.get, new.rows)
    for was, row in compress(zip(before, new.rows.values(), strict=True), _others(old, new)):
        if was is None:
            yield Change(moved.get(row.key), row)
        elif was != row:
            yield Change(was, row)


def _others(old: Version, new: Version) -> Iterator[bool]:
    """Whether each row of a version is another than in the one before."""
    return map(is_not, map(old.rows.get, new.rows), new.rows.values())


def _moved(gone: list[Row], fresh: list[RowKey]) -> dict[RowKey, Row]:
    """The rows whose key is there still, but with another beginning."""
    waiting: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(gone, key=lambda row: row.key, reverse=True):
        waiting[row.subject].append(row)
    return {key: waiting[key[0]].pop() for key in sorted(fresh) if waiting.get(key[0])}


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a commit is recorded: its own time where that can be, else ``stated_at`` keeps it."""

    recorded_at: int
    stated_at: int | None
    restamped: bool


class Writer:
    """The events of one commit, and how many cells they change.

    ``valid`` says where valid times come from: `unknown`, `commit` (from ``valid_at`` on), or the
    `columns` of each row. ``rejects`` says of a claim whether nobody may record it.
    """

    def __init__(
        self,
        base: str,
        workspace: str,
        commit: Commit,
        stamp: Stamp,
        valid: str,
        valid_at: int,
        rejects: Callable[[dict[str, Any]], bool] = lambda claim: False,
    ) -> None:
        self.base, self.rejects = base, rejects
        self.events: list[dict[str, Any]] = []
        self.added = self.corrected = self.withdrawn = 0
        self._all: dict[str, Any] = {"workspace": workspace}
        if stamp.stated_at is not None:
            self._all["stated_at"] = times.iso(stamp.stated_at)
        self._source: dict[str, Any] = {"id": f"git:{commit.id}", "origin": commit.author or None}
        seen = commit.authored_at
        if seen is not None and seen <= stamp.recorded_at:
            self._source["observed_at"] = times.iso(seen)
        self._reason = f"commit {commit.id[:12]}: {commit.summary}"
        self._dated, self._since = valid == "columns", {}
        self._assumed = _ASSUMED["unknown"]
        if valid == "commit":
            self._since = {"valid_from": times.iso(valid_at)}
            self._assumed = _ASSUMED["commit"]

    # ------------------------------------------------------------ files

    def file(
        self, number: int, path: str, blob: str | None, old: Version, new: Version, live: Live
    ) -> None:
        """What became of a file; ``live`` is brought up to date."""
        made = 0
        for before, after in differences(old, new):
            claims = live.pop(before.key, {}) if before is not None else {}
            kept: dict[str, str] = {}
            source: dict[str, Any] = {}
            if after is not None:
                place = new.place(after.key)
                where = f"{path}:{place}" if isinstance(place, int) else f"{path}{place}"
                source = {**self._source, "locator": where, "digest": blob}
                live[after.key] = kept
            for column, what in _cells(before, after):
                target = claims.get(column)
                if what is Turn.SAME:
                    if target is not None:
                        kept[column] = target
                    continue
                made += 1
                id = f"{self.base}#{number}.{made}"
                if after is None or what is Turn.GONE:
                    self._withdraw(id, target, self._reason)
                elif self._cell(id, source, before, after, column, target):
                    kept[column] = id

    def _cell(
        self,
        id: str,
        source: dict[str, Any],
        before: Row | None,
        after: Row,
        column: str,
        target: str | None,
    ) -> bool:
        """A cell that is new or otherwise; False where nobody may record what it says."""
        bounds = _bounds(after) if self._dated else None
        self.claim(id, after.subject, column, after.cells[column], source, bounds)
        if self.rejects(self.events[-1]):
            self.events.pop()
            self._withdraw(id, target, "its new value is rejected")
            return False
        if target is None:
            self.added += 1
        else:
            self.corrected += 1
            self.correct(f"{id}>", target, id, _bounds(before) if self._dated and before else None)
        return True

    # ------------------------------------------------------------ events

    def claim(
        self,
        id: str,
        subject: str,
        predicate: str,
        object: Any,
        source: dict[str, Any] | None = None,
        bounds: dict[str, Any] | None = None,
        **more: str,
    ) -> None:
        """A claim that the commit makes; without bounds its valid time is assumed."""
        timed = {**self._since, "assumed": self._assumed} if bounds is None else bounds
        self.events.append(
            {
                "event": "claim",
                "id": id,
                "subject": subject,
                "predicate": predicate,
                "object": object,
                "source": self._source if source is None else source,
                **timed,
                **self._all,
                **more,
            }
        )

    def correct(
        self, id: str, old: str, by: str, bounds: dict[str, Any] | None = None, **more: str
    ) -> None:
        """A claim in place of another: at all times at which that applied or, where its valid time
        is from a commit on, from this one on."""
        portion = {} if self._since else bounds or {"valid_from": None, "valid_to": None}
        self.events.append(
            {
                "event": "correction",
                "id": id,
                "corrects": old,
                "by": by,
                "reason": self._reason,
                **portion,
                **self._all,
                **more,
            }
        )

    def _withdraw(self, id: str, target: str | None, why: str) -> None:
        """A cell that is gone; there may be no claim of it."""
        if target is None:
            return
        self.withdrawn += 1
        self.events.append(
            {
                "event": "withdrawal",
                "id": f"{id}-",
                "target": target,
                "reason": why,
                "source": self._source,
                **self._since,
                **self._all,
            }
        )


class Turn(Enum):
    """What became of a cell."""

    GONE = "gone"
    SAME = "same"
    NEW = "new"


def _cells(before: Row | None, after: Row | None) -> Iterator[tuple[str, Turn]]:
    """The columns of a row, and what became of each cell."""
    old = {} if before is None else before.cells
    new = {} if after is None else after.cells
    yield from ((column, Turn.GONE) for column in old if column not in new)
    moved = (
        before is not None
        and after is not None
        and (before.key, before.end) != (after.key, after.end)
    )
    for column, value in new.items():
        same = column in old and not moved and not changed(old[column], value)
        yield column, Turn.SAME if same else Turn.NEW


def _bounds(row: Row) -> dict[str, Any]:
    """A row's interval in the exchange form."""
    return {
        "valid_from": None if row.start == times.NEG else times.iso(row.start),
        "valid_to": None if row.end == times.POS else times.iso(row.end),
    }
