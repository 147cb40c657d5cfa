"""Compaction: what nothing is left of is taken out of the log, where somebody asks for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant
from doxa.engine import times
from doxa.engine.compacting import Criteria
from doxa.engine.compaction import CompactingStream, Done
from doxa.engine.errors import CallerError, StorageError
from doxa.engine.fold import Fold
from doxa.engine.sqlite import SQLiteRecorder
from doxa.engine.stream import Stream
from doxa.engine.words import counted

__all__ = ["Compacting", "CompactionReport"]

MOST: Final = 2**63 - 1
WASTE: Final = 0.05  # of the file unused, from which on it is written anew
SHOWN: Final = 20  # stretches that are named one by one


@dataclass(frozen=True)
class CompactionReport:
    """What was compacted or, with ``dry_run``, would be.

    ``stretches`` are the first and last positions of what goes, ``claims`` and ``events`` how many
    that are, ``bytes`` about how many bytes the log has less. ``digest`` is the SHA-256 over the
    record of all that was ever compacted, which the log states at ``position``. ``pending`` says
    why the space has not come back yet, if it has not.
    """

    stretches: tuple[tuple[int, int], ...]
    claims: int
    events: int
    bytes: int
    digest: str | None = None
    position: int | None = None
    dry_run: bool = False
    pending: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "stretches": [list(stretch) for stretch in self.stretches],
            "claims": self.claims,
            "events": self.events,
            "bytes": self.bytes,
            "digest": self.digest,
            "position": self.position,
            "dry_run": self.dry_run,
            "pending": self.pending,
        }

    def __str__(self) -> str:
        if not self.events:
            return "there is nothing to compact"
        done = "would be compacted" if self.dry_run else "compacted"
        lines = [
            f"{counted(self.claims, 'claim')}, {counted(self.events, 'event')} {done} in "
            f"{counted(len(self.stretches), 'stretch', 'stretches')}; "
            f"about {self.bytes:,} bytes less"
        ]
        lines += [f"  {first} to {last}" for first, last in self.stretches[:SHOWN]]
        if len(self.stretches) > SHOWN:
            lines.append(f"  and {len(self.stretches) - SHOWN:,} more")
        lines.append(f"digest {self.digest}")
        if self.pending is not None:
            lines.append(f"pending: {self.pending}")
        return "\n".join(lines)


class Compacting:
    """Taking out of the log what nothing is left of."""

    path: Path | None
    recorder: SQLiteRecorder
    clock: Callable[[], int]
    _stream: Stream

    def compact(
        self,
        *,
        older_than: float | timedelta | None = None,
        versions: int | None = None,
        bytes: int | None = None,
        limit: int | None = None,
        now: Instant | None = None,
        dry_run: bool = False,
    ) -> CompactionReport:
        """Takes claims out of the log of which nothing is left, the oldest first: those that were
        withdrawn or corrected over their whole interval, with all that bears on them alone.

        ``older_than``: a time, or days; whose last change lies as long before ``now``, which is the
        clock's time if left out. ``versions``: how many newest ones of a chain of corrections stay.
        ``bytes``: what the log's file may hold; as many go as it takes, if there are so many.
        Whatever any of the three says goes; one is needed. ``limit`` is the most events at once.

        Whatever is held, cited, contested, named by a policy or needed by anything that stays,
        stays. A question whose answer is gone raises `Compacted`; all others are answered as
        before. Of a ``dry_run`` nothing is written. Raises `StorageError`; repeat the call where
        ``pending`` says that the space has not come back yet.
        """
        horizon = self._horizon(older_than, now)
        kept = _whole("versions", versions, 1)
        room = _whole("bytes", bytes, 0)
        most = _whole("limit", limit, 1)
        if horizon is None and kept is None and room is None:
            raise CallerError(
                "nothing says what is to be compacted; give older_than, versions or bytes"
            )
        if dry_run is not True and dry_run is not False:
            raise CallerError(f"dry_run is {dry_run!r:.80}; give True or False")

        stream = self._stream
        assert isinstance(stream, CompactingStream), stream

        def wanted(fold: Fold) -> Criteria:
            upto = 0 if horizon is None else fold.belief.graph.known(horizon)
            freed = 0 if room is None else stream.size - room
            return Criteria(upto, kept, freed, most)

        done = stream.compact(wanted, dry_run=dry_run)
        pending = None if dry_run else self._after_compaction(done)
        return CompactionReport(
            done.stretches,
            done.claims,
            done.events,
            done.bytes,
            None if done.statement is None else done.statement.digest,
            done.position,
            dry_run,
            pending,
        )

    def _horizon(self, older_than: float | timedelta | None, now: Instant | None) -> int | None:
        """The instant up to which what changed last may go."""
        if older_than is None:
            if now is not None:
                raise CallerError("now goes with older_than only")
            return None
        if isinstance(older_than, timedelta):
            micros = older_than // timedelta(microseconds=1)
        elif isinstance(older_than, int | float) and not isinstance(older_than, bool):
            micros = int(older_than * times.DAY) if abs(older_than) < 1e7 else -1
        else:
            micros = -1
        if micros < 0:
            raise CallerError(
                f"older_than is {older_than!r:.80}; give days, 0 or more, or a timedelta"
            )
        return (self.clock() if now is None else times.instant(now, "now")) - micros

    def _after_compaction(self, done: Done) -> str | None:
        """Gives the space back, and removes what was made of the log as it was. Returns why that
        could not be done yet."""
        try:
            if done.events:
                self._discard_tables()
                self._discard_indexes()
            if done.events or (self.recorder.holes.at and self._unused() > WASTE):
                self.recorder.shrink()
        except (StorageError, OSError) as error:
            return f"{error}; what was compacted is gone, but its space has not come back yet"
        return None

    def _unused(self) -> float:
        """The share of the log's file that nothing uses, with what waits beside it in the WAL."""
        names = ("freelist_count", "page_count", "page_size")
        free, pages, size = (self.recorder.select(f"PRAGMA {name}")[0][0] for name in names)
        path = self.recorder.path
        with contextlib.suppress(OSError):
            free += 0 if path is None else os.stat(f"{path}-wal").st_size // size
        return float(free / pages) if pages else 0.0

    if TYPE_CHECKING:
        _discard_tables: Callable[[], None]
        _discard_indexes: Callable[[], None]


def _whole(name: str, value: object, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST:
        return value
    raise CallerError(f"{name} is {value!r:.80}; give a whole number, {least} or more")
