"""The audit of a log: the chain recomputed over all rows, and what doesn't fit named.

Pure: it takes rows and returns findings. An event that was put in another's place, or moved up
when one before it was dropped, is recognised by trying its link with the place it may have been
written at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from doxa.engine import times
from doxa.engine.events import Compaction
from doxa.engine.log import (
    DIGEST,
    NO_LINK,
    SEPARATOR,
    Gap,
    Head,
    Problem,
    Verification,
    commitment,
    link,
)
from doxa.engine.words import counted, cut_off

__all__ = ["Audit", "StoredRow", "id_in"]

# position, recorded_at, type, tags, head, data, salt, commitment, chain; all text as bytes
StoredRow = tuple[int, int, bytes, bytes, bytes, bytes | None, bytes | None, bytes | None, bytes]

_LISTED: Final = 100  # problems named one by one
_COMPARED: Final = 64  # broken events tried in each other's place
_NEAR: Final = 8  # positions up or down at which a moved event is looked for


class _Broken(NamedTuple):
    """An event whose link doesn't fit: where it stands, what stood before, and its own words."""

    position: int
    before: bytes
    digest: bytes
    rest: bytes
    chain: bytes
    head: bytes


class Audit:
    """Recomputes the chain over rows given in order of position."""

    def __init__(self, head: Head | None, gaps: Iterable[Gap] = ()) -> None:
        """``gaps`` are the stretches of which the log keeps a record alone."""
        self.head = head
        self._gaps = {gap.first: gap for gap in gaps}
        self.statement: dict[str, Any] | None = None  # what the log says was compacted
        self.events = self.erased = self.tags = self.uncounted = 0
        self.position, self.recorded_at = 0, times.NEG
        self.chain: bytes | None = NO_LINK  # None: not known, after a gap
        self.problems: list[Problem] = []
        self.shift = 0  # written so many positions further on: events before were dropped
        self._broken: list[_Broken] = []

    def report(self, position: int, code: str, message: str, head: object = None) -> None:
        """Adds a finding, with the id in the head of its event; beyond the first hundred they are
        only counted."""
        if len(self.problems) < _LISTED:
            self.problems.append(Problem(position, code, message, id_in(head)))
        else:
            self.uncounted += 1

    def rows(self, rows: Sequence[StoredRow]) -> None:
        """Takes the next rows. O(bytes)."""
        for row in rows:
            position, recorded_at, kind, tags, head, data, salt, stored, chain = row
            self.events += 1
            if position != self.position + 1:
                self._gap(position)
            self.position = position
            if data is None:
                self.erased += 1
            if tags:
                self.tags += len(set(tags.split(SEPARATOR.encode())))
            try:
                if data is not None and salt is not None and stored is None:
                    digest = blake2b(data, key=salt, digest_size=DIGEST).digest()
                else:
                    digest = self._kept(position, head, data, salt, stored)
                rest = b"%d\x1f%b\x1f%b\x1f%b" % (recorded_at, kind, tags, head)
                before = self.chain
                if before is not None:
                    whole = b"%b%b%d\x1f%b" % (before, digest, position + self.shift, rest)
                    if blake2b(whole, digest_size=DIGEST).digest() != chain:
                        self._misfit(_Broken(position, before, digest, rest, chain, head))
                if kind == b"policy" and b'"compacted":' in head:
                    self._stated(position, head)
                if recorded_at < self.recorded_at:
                    self._went_back(position, recorded_at, head)
                self.recorded_at = recorded_at
            except _Lost:
                pass
            except (TypeError, ValueError):
                text = f"event {position} holds values of a wrong kind"
                self.report(position, "altered", text, head)
            self.chain = chain if type(chain) is bytes else None

    def _stated(self, position: int, head: bytes) -> None:
        """Takes note of what the log says was compacted, the last of which counts."""
        try:
            found = json.loads(head).get("compacted")
        except (ValueError, AttributeError, RecursionError):
            return
        if isinstance(found, dict):
            self.statement = {**found, "at": position}

    def compare_gaps(self, found: Compaction | None) -> None:
        """Compares the record of compacted stretches with what the log states of it, once all rows
        were taken."""
        for gap in self._gaps.values():
            text = f"events {gap.first} to {gap.last} are recorded as compacted, and are there"
            self.report(gap.first, "compaction", text)
        stated = dict(self.statement or {})
        at = stated.pop("at", 0)
        if (found.model_dump() if found is not None else {}) == stated:
            return
        if not stated:
            text = "a record of compacted stretches is there, of which the log says nothing"
        elif found is None:
            text = f"event {at} says what was compacted, and the record of it is gone"
        else:
            text = (
                f"event {at} states the digest {stated.get('digest')} of what was compacted; its "
                f"record has {found.digest}"
            )
        self.report(at, "compaction", text)

    def _gap(self, position: int) -> None:
        first, last = self.position + 1, position - 1
        gap = self._gaps.get(first)
        if gap is not None and (gap.last, gap.events) == (last, last - first + 1):
            del self._gaps[first]
            self.chain = gap.chain
            return
        which = f"event {first} is" if first == last else f"events {first} to {last} are"
        self.report(first, "gap", f"{which} missing: position {position} follows {self.position}")
        self.chain = None

    def _kept(
        self,
        position: int,
        head: bytes,
        data: bytes | None,
        salt: bytes | None,
        stored: bytes | None,
    ) -> bytes:
        """The commitment of an erased event, or of one whose columns don't belong together."""
        if data is None:
            if stored is None:
                self.report(
                    position,
                    "missing_payload",
                    f"the data of event {position} is gone, but it was not erased: "
                    "no commitment was kept",
                    head,
                )
                raise _Lost
            if salt is not None:
                self.report(
                    position,
                    "salt_kept",
                    f"event {position} is erased, but its salt is still there; erase it again",
                    head,
                )
            return stored
        if salt is None:
            self.report(position, "missing_salt", f"the salt of event {position} is gone", head)
            raise _Lost
        digest = commitment(salt, data)
        if stored != digest:
            text = f"event {position} has data and another data's commitment"
            self.report(position, "altered", text, head)
        return digest

    def _misfit(self, broken: _Broken) -> None:
        position = broken.position
        for shift in range(self.shift - _NEAR, self.shift + _NEAR + 1):
            if _fits(broken, broken.before, position + shift, broken.chain):
                if self._broken and self._broken[-1].position == position - 1:
                    self._broken.pop()  # the first that moved; what it was chained to is gone
                self._moved(position - 1, shift)
                return
        if len(self._broken) < _COMPARED:
            self._broken.append(broken)
        else:
            self._altered(broken)

    def _moved(self, position: int, shift: int) -> None:
        missing, self.shift = shift - self.shift, shift
        if missing > 0:
            where, done, code = "before", "dropped", "dropped"
        else:
            where, done, code = "up to", "slipped in", "inserted"
        were = "was" if abs(missing) == 1 else "were"
        what = f"{counted(abs(missing), 'event')} {where} {position} {were} {done}"
        after = position + 1 if self.position > position else position
        self.report(
            position, code, f"{what}: what stands at {after} was written at {after + shift}"
        )

    def _went_back(self, position: int, recorded_at: int, head: bytes) -> None:
        self.report(
            position,
            "recorded_at",
            f"event {position} was recorded at {recorded_at}, before the event that precedes it "
            f"({self.recorded_at})",
            head,
        )

    def _altered(self, broken: _Broken) -> None:
        self.report(
            broken.position,
            "altered",
            f"event {broken.position} is not what was written: its data, header, salt or link "
            "changed",
            broken.head,
        )

    def finish(self, *, complete: bool = True) -> Verification:
        """Compares the end with the head row, unless reading broke off, and says what was found."""
        if complete and self.head is not None:
            self._compare_end(self.head)
        self._explain_broken()
        problems = sorted(self.problems, key=lambda problem: problem[:3])
        if self.uncounted:
            problems.append(Problem(0, "more", counted(self.uncounted, "further problem")))
        head = self.head or Head(self.position, self.recorded_at, self.chain or NO_LINK)
        return Verification(self.events, self.erased, head.position, head.chain.hex(), problems)

    def _compare_end(self, head: Head) -> None:
        last, end = self.position, self.position + self.shift
        recorded_at = self.recorded_at if self.events else 0  # as the head of an empty log has it
        if (end, self.chain, recorded_at) == (head.position, head.chain, head.recorded_at):
            return
        if self.chain == head.chain and self._broken and self._broken[-1].position == last:
            self._broken.pop()  # the last event is there, but the one before it is not
            self._moved(last, head.position - last)
        elif end < head.position:
            self.report(
                last,
                "truncated",
                f"the log ends at {last}, but its head is {head.position} with chain "
                f"{head.chain.hex()}: {cut_off(head.position - end)}",
            )
        else:
            self.report(
                last,
                "head",
                f"the log ends at {last} with chain {(self.chain or b'').hex()}, recorded at "
                f"{recorded_at}; its head says {head.position} with {head.chain.hex()}, "
                f"{head.recorded_at}",
            )

    def _explain_broken(self) -> None:
        """Events in each other's place are told from events that were altered."""
        named: set[int] = set()
        for place in self._broken:
            for other in self._broken:
                if place is not other and (
                    _fits(other, place.before, place.position, other.chain)
                    or _fits(other, place.before, place.position, place.chain)
                ):
                    self.report(
                        place.position,
                        "reordered",
                        f"the event at {other.position} was written at {place.position}; "
                        "the two were exchanged or moved",
                        other.head,
                    )
                    # what follows a moved event is chained to the one that stood there
                    for position in (place.position, other.position):
                        named |= {position, position + 1}
        for broken in self._broken:
            if broken.position not in named:
                self._altered(broken)


class _Lost(Exception):
    """The commitment of an event can't be known; already reported."""


def id_in(head: object) -> str | None:
    """The id in a stored head, where it can be read."""
    if not isinstance(head, bytes):
        return None
    try:
        found = json.loads(head)["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _fits(event: _Broken, before: bytes, position: int, chain: bytes) -> bool:
    return link(before, event.digest, b"%d\x1f%b" % (position, event.rest)) == chain
