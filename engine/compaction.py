"""Compacting an open log: what may go is taken out of it, and all who have it open begin anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from doxa.engine import codec, gaps
from doxa.engine import events as ev
from doxa.engine.compacting import Chosen, Criteria, choose, described, still
from doxa.engine.errors import UnknownTarget
from doxa.engine.fold import Fold
from doxa.engine.gaps import PAGE, Select, compacted_at
from doxa.engine.holes import Moved
from doxa.engine.log import Row, as_new
from doxa.engine.sealing import LEDGER, Cipher
from doxa.engine.stream import Stream
from doxa.engine.tables import Ints
from doxa.engine.transaction import Transaction

__all__ = ["CompactingStream", "Done"]

_SIZES: Final = (
    "SELECT position, length(head) + coalesce(length(data), 0) FROM log"
    " WHERE position > ? AND position <= ?"
)
_RESERVED: Final = "SELECT first, last FROM log_key"
_PAGES: Final = (
    "SELECT (SELECT * FROM pragma_page_count) - (SELECT * FROM pragma_freelist_count),"
    " (SELECT * FROM pragma_page_size)"
)
AROUND: Final = 95  # bytes of a row beside its head and data
KEPT: Final = 25  # and of what stays known of an event, about

Wanted = Callable[[Fold], Criteria]


@dataclass(frozen=True, slots=True)
class Done:
    """What a compaction took out, or would: the stretches of positions, the claims and events in
    them, and about how many bytes the file has less. ``statement`` is what the log says of all its
    compactions, ``position`` where; both are ``None`` where nothing went."""

    stretches: tuple[tuple[int, int], ...] = ()
    claims: int = 0
    events: int = 0
    bytes: int = 0
    statement: ev.Compaction | None = None
    position: int | None = None


class CompactingStream(Stream):
    """A stream over a log that is compacted now and then, by this process or by others."""

    # -- reading

    def payload(self, position: int) -> ev.Event:
        """The event at a log position. Raises `UnknownTarget` where there is none, and `Compacted`
        where it is gone."""
        try:
            return super().payload(position)
        except UnknownTarget:
            self._refuse_gone([position])
            raise

    def rows(self, positions: Sequence[int]) -> dict[int, Row]:
        """The stored events at log positions, read at once. Raises as `payload` does."""
        try:
            return super().rows(positions)
        except UnknownTarget:
            self._refuse_gone(positions)
            raise

    def _refuse_gone(self, positions: Sequence[int]) -> None:
        gone = self.store.holes.gone
        for position in positions if gone is not None else ():
            assert gone is not None
            if gone.holds(position):
                place = np.searchsorted(gone.columns.position, [position])
                raise gone.refusal(f"event {position}", place, gone.last)

    def _current(self) -> Fold:
        while True:
            state = self._state
            if state is not None and state[0].compacted != self.store.holes.at:
                self._state = None
            try:
                return super()._current()
            except Moved:
                continue  # the next one begins anew

    def _follow(self, fold: Fold, transaction: Transaction) -> bool:
        if compacted_at(transaction.select) != fold.compacted:
            return False
        return super()._follow(fold, transaction)

    # -- compacting

    def compact(self, wanted: Wanted, *, dry_run: bool = False) -> Done:
        """Takes out of the log what may go and is wanted, in one transaction; with ``dry_run`` says
        what that would be. `LogStore.shrink` gives the space back then. Raises `StorageError`."""
        with self._mutex:
            while True:
                fold = self._current()
                planned_at = fold.position
                chosen = self._chosen(fold, wanted(fold))
                if not len(chosen.positions):
                    return Done()
                select, keyed = self.store.select, self.store.keyed
                planned = gaps.plan(select, chosen.positions, described(fold.belief, chosen, keyed))
                done = self._told(chosen, planned.statement)
                if dry_run:
                    return done
                with self.store.write() as transaction:
                    if self._may_still(fold, transaction, planned_at, chosen):
                        position = _stated(transaction, self.cipher, planned.statement)
                        gaps.write(transaction.run, planned, chosen.positions)
                        break
            self._begin_anew()
        return Done(done.stretches, done.claims, done.events, done.bytes, done.statement, position)

    def _may_still(
        self, fold: Fold, transaction: Transaction, planned_at: int, chosen: Chosen
    ) -> bool:
        """Whether what was chosen may go, in spite of what others recorded meanwhile."""
        if not self._follow(fold, transaction):
            return False
        if fold.position == planned_at:
            return True
        return still(fold.belief, fold.registry, chosen, self._reserved())

    def _begin_anew(self) -> None:
        """Folds the log without what was taken out of it; until then readers have the fold from
        before, whose answers are as good."""
        try:
            self.upkeep.discard()
            fold = self.upkeep.opened(self.payload)
            fold.follow(self._pages(fold.position))
            self._state = fold, fold.position
        except BaseException:
            self._state = None
            raise

    def _chosen(self, fold: Fold, criteria: Criteria) -> Chosen:
        sizes = partial(_sizes, self.store.select)
        return choose(fold.belief, fold.registry, criteria, sizes, self._reserved())

    def _reserved(self) -> set[int]:
        """The positions that keys stand for."""
        return {
            position
            for first, last in self.store.select(_RESERVED)
            for position in range(first, last + 1)
        }

    def _told(self, chosen: Chosen, statement: ev.Compaction) -> Done:
        positions = chosen.positions
        breaks = np.diff(positions) != 1
        firsts = positions[np.append(True, breaks)].tolist()
        lasts = positions[np.append(breaks, True)].tolist()
        freed = int(_sizes(self.store.select, positions).sum())
        return Done(
            tuple(zip(firsts, lasts, strict=True)),
            len(chosen.claims),
            len(positions),
            freed,
            statement,
        )

    @property
    def size(self) -> int:
        """The bytes of the log's file that are in use."""
        pages, each = self.store.select(_PAGES)[0]
        return int(pages * each)


def _stated(transaction: Transaction, cipher: Cipher | None, statement: ev.Compaction) -> int:
    """Appends the event that states what was compacted; its position."""
    event = ev.Policy(id=f"policy-{os.urandom(10).hex()}", compacted=statement)
    stored = as_new((event.TYPE, *codec.stored(event), codec.tags(event)))
    done = [stored] if cipher is None else cipher.sealed([stored], [[LEDGER]])
    return transaction.append(done).last


def _sizes(select: Select, positions: Ints) -> Ints:
    """The bytes that go with the events at some positions, less what stays known of them."""
    found = np.zeros(len(positions), np.int64)
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    place = 0
    while place < len(ordered):
        after = int(ordered[place]) - 1
        end = int(np.searchsorted(ordered, after + PAGE, side="right"))
        rows = np.array(select(_SIZES, (after, after + PAGE)), np.int64).reshape(-1, 2)
        at = np.searchsorted(rows[:, 0], ordered[place:end])
        found[order[place:end]] = rows[at, 1] + (AROUND - KEPT)
        place = end
    return found
