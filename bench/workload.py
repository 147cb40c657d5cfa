"""One seeded history for every contender, cheap to make at any size.

Of a thousand events 780 are claims, 160 second sources, 40 corrections and 20 withdrawals. A tenth
as many subjects as events, five common predicates and a rare one; a fifth of the claims arrive up
to a year late, a third are closed, one in twenty is derived from one or two others. Corrections
and withdrawals reach back to any earlier claim; half of the corrections, and a fifth of the
withdrawals, cover a portion of valid time only. A *plain* history is claims alone, each with its
source: what every peer can hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from doxa.engine import times

__all__ = ["COMMIT", "DAY", "DAYS", "MIX", "RARE", "START", "Columns", "Workload"]

DAY: Final = 86_400_000_000  # microseconds
START: Final = times.instant("2020-01-01")
DAYS: Final = 1_500  # the history's length
COMMIT: Final = 100  # events a commit
RARE: Final = "rare predicate"  # one claim in 400
PREDICATES: Final = 5
SOURCES: Final = 200
VALUES: Final = 10_000
CLAIM, SUPPORT, CORRECTION, WITHDRAWAL = range(4)
MIX: Final = (0.78, 0.16, 0.04, 0.02)
DERIVED, LATE, CLOSED, PORTION = 0.05, 0.2, 0.33, 0.2
FIRST = 10  # so many claims come before anything refers to one


@dataclass(frozen=True)
class Columns:
    """A history as lists, one item an event; what a column does not apply to holds anything.

    ``target`` and ``by`` are indexes of events, ``by`` -1 for none; ``premises`` one or two of
    them for a derived claim, else empty. Bounds are microseconds since 1970, `times.NEG` and
    `times.POS` where open: a claim's interval, or the portion of a correction or withdrawal.
    """

    kind: list[int]
    subject: list[int]
    predicate: list[int]
    value: list[int]
    source: list[int]
    premises: list[tuple[int, ...]]
    target: list[int]
    by: list[int]
    valid_from: list[int]
    valid_to: list[int]


@dataclass(frozen=True)
class Workload:
    """A history of ``size`` events and the questions put to it, the same for each seed."""

    size: int
    seed: int = 7
    plain: bool = False

    @property
    def subjects(self) -> int:
        """How many there are."""
        return max(1, self.size // 10)

    @cached_property
    def columns(self) -> Columns:
        """The whole history. O(events), a few hundred nanoseconds each."""
        n, draw = self.size, np.random.RandomState(self.seed)  # its numbers never change
        kind = np.searchsorted(np.cumsum(MIX)[:-1], draw.random_sample(n), side="right")
        kind[:FIRST] = CLAIM
        if self.plain:
            kind[:] = CLAIM
        claims = np.flatnonzero(kind == CLAIM)
        before = np.cumsum(kind == CLAIM) - (kind == CLAIM)  # claims before each event

        def earlier(kept: int = 0) -> Any:
            chosen = draw.random_sample(n) * np.maximum(1, before - kept)
            return claims[chosen.astype(np.int64)]

        day = np.arange(n) * DAYS // n
        late = draw.randint(1, 365, n) * (draw.random_sample(n) < LATE)
        start = np.where(kind == CLAIM, START + DAY * (day - late), times.NEG)
        end = start + DAY * draw.randint(1, 700, n)
        end = np.where(draw.random_sample(n) < CLOSED, end, times.POS)
        end = np.where(kind == CLAIM, end, times.POS)

        target, by = earlier(kept=1), np.full(n, -1)
        whole = draw.random_sample(n) < 0.5
        replaced = (kind == CORRECTION) & whole
        by[replaced] = claims[before[replaced] - 1]
        portion = (kind == CORRECTION) & ~whole
        portion |= (kind == WITHDRAWAL) & (draw.random_sample(n) < PORTION)
        since = start[target] + DAY * draw.randint(1, 200, n)
        start = np.where(portion, since, start)
        closed = portion & (draw.random_sample(n) < 0.5)
        end = np.where(closed, since + DAY * draw.randint(1, 200, n), end)

        supports = np.flatnonzero(kind == SUPPORT)
        told = np.cumsum(kind == SUPPORT)
        chosen = (kind == WITHDRAWAL) & (draw.random_sample(n) < 0.2) & (told > 0)
        which = (draw.random_sample(n) * told).astype(np.int64)
        target[chosen] = supports[which[chosen]]

        derived = (kind == CLAIM) & (draw.random_sample(n) < DERIVED) & (not self.plain)
        derived[:FIRST] = False
        premises: list[tuple[int, ...]] = [()] * n
        pairs = zip(earlier().tolist(), earlier().tolist(), strict=True)
        for place, pair in zip(range(n), pairs, strict=True):
            if derived[place]:
                premises[place] = pair if pair[0] != pair[1] else pair[:1]

        rare = draw.random_sample(n) < 1 / 400
        return Columns(
            kind=kind.tolist(),
            subject=draw.randint(0, self.subjects, n).tolist(),
            predicate=np.where(rare, PREDICATES, draw.randint(0, PREDICATES, n)).tolist(),
            value=draw.randint(0, VALUES, n).tolist(),
            source=draw.randint(0, SOURCES, n).tolist(),
            premises=premises,
            target=target.tolist(),
            by=by.tolist(),
            valid_from=start.tolist(),
            valid_to=end.tolist(),
        )

    def events(self) -> Iterator[dict[str, Any]]:
        """The history in the exchange form, in order; times as text, `COMMIT` events a commit."""
        columns = self.columns
        for place in range(self.size):
            event = self._event(columns, place)
            event["recorded_at"] = times.iso(self.recorded(place))
            yield event

    def _event(self, columns: Columns, place: int) -> dict[str, Any]:
        kind = columns.kind[place]
        if kind == CLAIM:
            claim: dict[str, Any] = {
                "event": "claim",
                "id": f"c{place}",
                "subject": f"subject {columns.subject[place]}",
                "predicate": predicate(columns.predicate[place]),
                "object": f"value {columns.value[place]}",
                "valid_from": bound(columns.valid_from[place]),
                "valid_to": bound(columns.valid_to[place]),
            }
            if columns.premises[place]:
                claim["because"] = [f"c{premise}" for premise in columns.premises[place]]
            else:
                claim["source"] = f"source {columns.source[place]}"
            return claim
        target = columns.target[place]
        if kind == SUPPORT:
            source = f"second source {columns.source[place]}"
            return {"event": "support", "id": f"s{place}", "claim": f"c{target}", "source": source}
        portion = {
            "valid_from": bound(columns.valid_from[place]),
            "valid_to": bound(columns.valid_to[place]),
        }
        if kind == CORRECTION:
            change = {"event": "correction", "id": f"k{place}", "corrects": f"c{target}"}
            if columns.by[place] >= 0:
                change["by"] = f"c{columns.by[place]}"
            return change | portion
        said = "s" if columns.kind[target] == SUPPORT else "c"
        return {"event": "withdrawal", "id": f"w{place}", "target": f"{said}{target}"} | portion

    def recorded(self, place: int) -> int:
        """When the event at an index is recorded: microseconds since 1970, one for a commit."""
        return START + DAYS * DAY * (place // COMMIT) // -(-self.size // COMMIT)

    # -- questions

    def rng(self, purpose: str) -> random.Random:
        """Random numbers for one purpose, the same for each seed."""
        return random.Random(f"{purpose} {self.size} {self.seed}")

    def revision(self, share: float) -> int:
        """The last position of the commit before a share of the history, at least the first."""
        return max(COMMIT, int(self.size * share) // COMMIT * COMMIT)

    def instant_at(self, share: float) -> int:
        """The valid time, at 12:00 of a day, at a share of the history's length."""
        return START + int(DAYS * share) * DAY + DAY // 2

    def coordinates(self, rng: random.Random) -> tuple[int, int]:
        """A valid time and a revision, anywhere in the history."""
        return self.instant_at(rng.random()), self.revision(rng.random())

    def keys(self, rng: random.Random) -> Iterator[tuple[str, str]]:
        """Subjects and predicates of random claims, without end."""
        columns = self.columns
        while True:
            place = rng.randrange(self.size)
            if columns.kind[place] == CLAIM:
                name = predicate(columns.predicate[place])
                yield f"subject {columns.subject[place]}", name

    def picked(self, rng: random.Random, count: int) -> list[str]:
        """Ids of different claims, up to ``count`` of them."""
        kinds = self.columns.kind
        claims = [place for place in range(self.size) if kinds[place] == CLAIM]
        return [f"c{place}" for place in rng.sample(claims, min(count, len(claims)))]


def predicate(number: int) -> str:
    """A predicate's name."""
    return RARE if number == PREDICATES else f"predicate {number}"


def bound(at: int) -> str | None:
    """A bound in the exchange form."""
    return None if at in (times.NEG, times.POS) else times.iso(at)
