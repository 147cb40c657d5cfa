"""A transaction on the log: commits that become durable together, or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from types import TracebackType
from typing import Any, Final, Self, cast

from doxa.engine import disk, times
from doxa.engine.errors import (
    CallerError,
    ClockError,
    DamageError,
    DoxaError,
    DuplicateId,
    InvalidEvent,
    InvalidTime,
    UnknownTarget,
)
from doxa.engine.log import (
    DIGEST,
    SALT,
    SEPARATOR,
    Appended,
    Head,
    NewEvent,
    Row,
    check_event,
    commitment,
    stated_instant,
)
from doxa.engine.writer import Writer

__all__ = ["HEAD", "ROWS", "Transaction", "as_row"]

HEAD: Final = "SELECT position, recorded_at, chain FROM head"
ROWS: Final = (
    "SELECT position, recorded_at, type, head, data, CASE position WHEN ? THEN chain END FROM log"
    " WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
)
_END: Final = "SELECT position, recorded_at, chain FROM log ORDER BY position DESC LIMIT 1"
_KEYED: Final = (
    "SELECT type, head, data, tags, recorded_at FROM log"
    " WHERE position BETWEEN ? AND ? ORDER BY position"
)
_INSERT: Final = "INSERT INTO log VALUES(?,?,?,?,?,?,?,?,?)"
_SET_HEAD: Final = "UPDATE head SET position=?, recorded_at=?, chain=? WHERE position=? AND chain=?"
_ERASE: Final = "UPDATE log SET data=NULL, salt=NULL, commitment=? WHERE position=?"
_KEY: Final = "INSERT INTO log_key VALUES(?,?,?)"
_SECRET: Final = "INSERT OR IGNORE INTO meta VALUES('secret', ?)"
_SCRUBBED: Final = "INSERT OR REPLACE INTO meta VALUES('scrubbed', ?)"
_TAG: Final = "INSERT OR IGNORE INTO log_tag VALUES(?,?)"

# Every commit is later than the one before: what is recorded on the last day that can be told apart
# would keep all others out, for good.
_LAST_DAY: Final = times.LAST - times.DAY

as_row = cast("Callable[[Any], Row]", partial(tuple.__new__, Row))


class Transaction:
    """Commits to the log, all or none of them; used with ``with``.

    The end of the block flushes once for all; any error rolls everything back.
    """

    __slots__ = ("_begun", "_changed", "_connection", "_failure", "_writer", "head")

    head: Head  # where the log ends, with what was appended here

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._changed = False
        self._failure: DoxaError | None = None

    def __enter__(self) -> Self:
        self._connection = self._writer.begin()
        try:
            self.head = self._begun = self._true_head()
        except BaseException as error:
            self._roll_back()
            self._writer.end()
            if isinstance(error, sqlite3.Error):
                raise disk.refusal(error, self._writer.path) from error
            raise
        return self

    def _true_head(self) -> Head:
        """The head row, once it was seen to agree with the last event: nothing is appended to a
        log whose end is damaged. Not looked at where it is known."""
        if self._writer.known is not None:
            return self._writer.known
        row = self._connection.execute(HEAD).fetchone()
        if row is None:
            raise disk.headless(self._writer.path)
        end = self._connection.execute(_END).fetchone()
        if end != row and (end is not None or row[0] != 0):
            raise DamageError(
                f"{self._writer.path or disk.MEMORY} ends at {end[0] if end else 0}, but its "
                f"head row says {row[0]}, or has another chain; nothing was written: run "
                "verify, and restore the last backup"
            )
        return Head(*row)

    def _set_head(self) -> None:
        """Moves the head row, from where it was when this transaction began."""
        before = self._begun
        moved = self._connection.execute(_SET_HEAD, (*self.head, before.position, before.chain))
        if moved.rowcount != 1:
            self._failure = DamageError(
                f"the head row of {self._writer.path or disk.MEMORY} is not at {before.position}, "
                "where doxa left it: another program has written to it; nothing was written: run "
                "verify, and restore the last backup"
            )
            raise self._failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        writer = self._writer
        if writer.forgotten:
            if error is None:
                raise CallerError("a transaction can't be carried over a fork; nothing was written")
            return
        done = error is None and self._failure is None and self._changed
        try:
            if done:
                self._set_head()
                writer.committing()
                self._connection.execute("COMMIT")
                writer.committed(self._connection, self.head)
            else:
                self._roll_back()
        except (OSError, sqlite3.Error) as failure:
            self._failure = disk.refusal(failure, writer.path)
            self._roll_back()
            raise self._failure from failure
        except BaseException:
            self._roll_back()
            raise
        finally:
            writer.end()
        if done:
            writer.announce()
        elif error is None and self._failure is not None:
            raise self._failure

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        if self._failure is not None:
            self._writer.discard()

    def select(self, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows of a query, as this transaction sees them."""
        self._sound()
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._doom(error) from error

    def _write(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        try:
            if len(rows) == 1:
                self._connection.execute(sql, rows[0])
            else:
                self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._doom(error) from error

    def run(self, sql: str, rows: list[tuple[Any, ...]] | None = None) -> list[Any]:
        """Runs a statement that changes more than is appended, for each of the rows where they are
        given; what it finds."""
        self._sound()
        self._changed = True
        try:
            if rows is None:
                return self._connection.execute(sql).fetchall()
            self._connection.executemany(sql, rows)
            return []
        except sqlite3.Error as error:
            raise self._doom(error) from error

    def _doom(self, error: sqlite3.Error) -> DoxaError:
        """Something may be half done now: this transaction never commits, even if its caller goes
        on after the error."""
        self._failure = disk.refusal(error, self._writer.path)
        return self._failure

    def _sound(self) -> None:
        if self._writer.forgotten:
            raise CallerError("a transaction can't be carried over a fork; open one in the child")
        if self._failure is not None:
            raise self._failure

    def rows(self, after: int) -> list[Row]:
        """The events after a position, as this transaction sees them."""
        end = self.head.position
        return list(map(as_row, self.select(ROWS, (end, after, end, -1))))

    def append(
        self,
        events: Sequence[NewEvent],
        recorded_at: int | None = None,
        key: str | None = None,
    ) -> Appended:
        """One commit, of at least one event. O(bytes).

        ``recorded_at`` (microseconds since 1970) defaults to the clock, or one past the head's.
        With a ``key`` that was used before for the same events, nothing is appended and the old
        answer is given again. Raises `ClockError`, `InvalidEvent`, and `DuplicateId` for a key
        that was used for other events; nothing is appended then, and the transaction goes on.
        """
        self._sound()
        if key is not None and events and (known := self.repeated(events, key)) is not None:
            return known
        (done,) = self.append_all([(events, recorded_at)])
        if key is not None:
            self._write(_KEY, [(key, done.first, done.last)])
        return done

    def append_all(
        self, commits: Iterable[tuple[Sequence[NewEvent], int | None]]
    ) -> list[Appended]:
        """Several commits, each with its own ``recorded_at`` or the clock's. Raises as `append`
        does; none of them is appended then, and the transaction goes on."""
        self._sound()
        head, done = self.head, []
        rows: list[tuple[Any, ...]] = []
        tagged: list[tuple[Any, ...]] = []
        for events, stated in commits:
            at = self._recorded_at(stated, head)
            first = head.position + 1
            head = _store(head, at, events, rows, tagged)
            done.append(Appended(first, head.position, at))
        if rows:
            self._write(_INSERT, rows)
            self._changed = True
        if tagged:
            self._write(_TAG, tagged)
        self.head = head
        return done

    def _recorded_at(self, stated: int | None, head: Head) -> int:
        last = head.recorded_at if head.position else times.FIRST - 1
        if stated is None:
            return stated_instant(_followed(max(self._writer.clock(), last + 1), last))
        if _followed(stated_instant(stated), last) <= last:
            raise ClockError(
                f"recorded_at {times.iso(stated)} is not later than the head's, "
                f"{times.iso(last)}; leave it out, or state a later one"
            )
        return stated

    def repeated(self, events: Sequence[NewEvent], key: str) -> Appended | None:
        """What was answered when the key was first used, or ``None``. Erased data passes for any.

        Raises `DuplicateId` if it was used for other events.
        """
        if not isinstance(key, str) or not key:
            raise InvalidEvent(f"the key is {key!r}; give a text that is not empty")
        found = self.select("SELECT first, last FROM log_key WHERE key = ?", (key,))
        if not found:
            return None
        first, last = found[0]
        stored = self.select(_KEYED, (first, last))
        if len(stored) != len(events) or not all(
            (event.type, event.head, SEPARATOR.join(event.tags)) == (kind, head, tags)
            and data in (None, event.data)
            for event, (kind, head, data, tags, _) in zip(events, stored, strict=True)
        ):
            raise DuplicateId(
                f"key {key!r} was used for the events {first} to {last}, which are others; "
                "use a new key for new events"
            )
        return Appended(first, last, stored[0][4])

    def make_secret(self, secret: bytes) -> None:
        """Gives a ledger that was made without a secret this one."""
        self._write(_SECRET, [(secret.hex(),)])
        self._changed = True

    def note_scrubbed(self, position: int) -> None:
        """Notes that all that is kept was cleared after the erasure at a position."""
        self._write(_SCRUBBED, [(position,)])
        self._changed = True

    def erase(self, positions: Sequence[int]) -> None:
        """Takes data and salt out of events; that their old bytes go is up to `Writer.empty_wal`.

        Raises `UnknownTarget` for a position that isn't there.
        """
        for position in positions:
            found = self.select("SELECT data, salt FROM log WHERE position = ?", (position,))
            if not found:
                raise UnknownTarget(
                    f"there is no event {position} to erase; the log ends at {self.head.position}"
                )
            data, salt = found[0]
            if data is not None:
                self._write(_ERASE, [(commitment(salt, data), position)])
                self._changed = True


def _store(
    end: Head,
    at: int,
    events: Sequence[NewEvent],
    rows: list[tuple[Any, ...]],
    tagged: list[tuple[Any, ...]],
) -> Head:
    """Adds the rows of one commit, and its tags; returns where the log ends with them."""
    if not events:
        raise InvalidEvent("a commit holds at least one event; leave out the empty append")
    position, _, chain = end
    salts = os.urandom(SALT * len(events))
    checked: object = rows  # the type that was seen to be fit, where no tags go with it
    for place, event in enumerate(events):
        kind, head, data, tags = event
        position += 1
        if kind is not checked or tags != () or type(head) is not bytes or type(data) is not bytes:
            joined = check_event(event)
            tagged += [(tag, position) for tag in tags]
            checked = rows if tags else kind
            header = f"\x1f{at}\x1f{kind}\x1f{joined}\x1f".encode()
        salt: bytes | None = None
        if data is None:
            digest = kept = os.urandom(DIGEST)  # as good as that of what nobody knows
        else:
            salt, kept = salts[SALT * place : SALT * place + SALT], None
            digest = blake2b(data, key=salt, digest_size=DIGEST).digest()
        whole = b"%b%b%d%b%b" % (chain, digest, position, header, head)
        chain = blake2b(whole, digest_size=DIGEST).digest()
        rows.append((position, at, kind, joined, head, data, salt, kept, chain))
    return Head(position, at, chain)


def _followed(recorded_at: int, last: int) -> int:
    """A time of recording that leaves time for those after it, or is the next one of all. Raises
    `InvalidTime`."""
    if recorded_at > max(_LAST_DAY, last + 1):
        raise InvalidTime(
            "recorded_at is on 9999-12-31, the last day of all, and nothing could be recorded "
            "after it; state the time of recording, or set the clock"
        )
    return recorded_at
