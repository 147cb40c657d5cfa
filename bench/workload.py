"""One seeded history for every contender: claims, second sources, conclusions, corrections,
withdrawals.

A tenth as many subjects as claims, five predicates, a fifth of the claims late by up to a year,
half of them closed, a fifth with a second source, one in twenty derived from another, one in
twenty corrected and one in fifty withdrawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["DAY", "START", "Workload"]

START = datetime(2020, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
DAYS = 1_500


@dataclass(frozen=True)
class Workload:
    """A history of ``claims`` claims and the questions put to it, the same for each seed."""

    claims: int
    seed: int = 7

    def events(self) -> Iterator[dict[str, Any]]:
        """The history in the exchange form, without recorded_at, in order."""
        rng = random.Random(self.seed)
        for i in range(self.claims):
            yield self._claim(rng, i)
            if i and rng.random() < 0.2:
                yield {
                    "event": "support",
                    "id": f"s{i}",
                    "claim": f"c{rng.randrange(i)}",
                    "source": f"second source {rng.randrange(200)}",
                }
            if i and rng.random() < 0.05:
                old = rng.randrange(i)
                yield {
                    "event": "correction",
                    "id": f"k{i}",
                    "corrects": f"c{old}",
                    "by": f"c{i}",
                    "valid_from": None,
                    "valid_to": None,
                }
            if i and rng.random() < 0.02:
                target = f"c{rng.randrange(i)}"
                yield {"event": "withdrawal", "id": f"w{i}", "target": target, "reason": "wrong"}

    def _claim(self, rng: random.Random, i: int) -> dict[str, Any]:
        late = rng.randrange(365) if rng.random() < 0.2 else 0
        start = START + DAY * max(0, i * DAYS // self.claims - late)
        end = start + DAY * rng.randrange(1, 700) if rng.random() < 0.5 else None
        claim = {
            "event": "claim",
            "id": f"c{i}",
            "subject": f"subject {rng.randrange(max(1, self.claims // 10))}",
            "predicate": f"predicate {rng.randrange(5)}",
            "object": f"value {rng.randrange(10_000)}",
            "valid_from": start,
            "valid_to": end,
        }
        if i and rng.random() < 0.05:
            claim["because"] = [f"c{rng.randrange(i)}"]
        else:
            claim["source"] = f"source {rng.randrange(200)}"
        return claim

    def questions(self, count: int) -> list[tuple[str, str]]:
        """Pairs of subject and predicate to ask about."""
        rng = random.Random(self.seed + 1)
        return [
            (
                f"subject {rng.randrange(max(1, self.claims // 10))}",
                f"predicate {rng.randrange(5)}",
            )
            for _ in range(count)
        ]

    def instants(self, count: int) -> list[datetime]:
        """Valid times to ask at."""
        rng = random.Random(self.seed + 2)
        return [START + DAY * rng.randrange(DAYS) for _ in range(count)]

    def picked(self, count: int) -> list[str]:
        """Ids of claims, each once."""
        rng = random.Random(self.seed + 3)
        return [f"c{i}" for i in rng.sample(range(self.claims), min(count, self.claims))]
