"""The compacted stretches of one open log: read once, and again when another process compacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from doxa.engine.errors import ConflictError
from doxa.engine.gaps import Select, compacted_at, loaded
from doxa.engine.gone import Gone
from doxa.engine.keyed import Keyed
from doxa.engine.log import Row

__all__ = ["Holes", "Moved"]


class Moved(ConflictError):
    """The log was compacted while it was read; begin again."""

    code = "log_moved"


class Holes:
    """What takes the place of compacted events. Safe for threads: what is found replaces what was.

    ``select`` runs a query, ``keyed`` gives what makes the ledger's digests.
    """

    def __init__(self, select: Select, keyed: Callable[[], Keyed]) -> None:
        self._select: Final = select
        self._keyed: Final = keyed
        self._found: tuple[int, Gone | None] = (0, None)

    @property
    def at(self) -> int:
        """The position of the event that states the last compaction; 0 without any. O(log n)."""
        return compacted_at(self._select)

    @property
    def gone(self) -> Gone | None:
        """What is known of the compacted events; ``None`` where there are none."""
        at, gone = self._found
        now = self.at
        if now != at:
            gone = loaded(self._select, self._keyed())
            self._found = now, gone
        return gone

    def filled(self, rows: Sequence[Row], after: int, upto: int) -> list[Row]:
        """Rows between two positions, with those in the holes that say nothing."""
        gone = self.gone
        return list(rows) if gone is None else sorted([*rows, *gone.rows(after, upto)])
