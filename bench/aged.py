"""An invented corpus of statements with stated ages: what the validity profile is judged by.

Each topic has six notes, all held. The older a note is, the better its words and its vector match
the question about its topic; the fresh ones are of the workspace that is asked, the old ones of the
shared one. So a search by match alone puts the oldest first, and every hit's grade is known.

The vectors are stated, not learned: that of a note has just the cosine with its topic's question
that `NOTES` gives, and next to none with others'. They say nothing about any embedder.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from doxa.bench.generated import word
from doxa.engine import times
from doxa.engine.embedding import Embedder
from doxa.engine.times import DAY

__all__ = ["NOTES", "NOW", "WORKSPACE", "Aged", "Note", "Topic"]

NOW: Final = times.instant("2024-10-01")
WORKSPACE: Final = "team"
DIMENSION: Final = 256
ASKED: Final = ("budget", "review", "status", "report")


class Note(NamedTuple):
    """How old a note is, in days; whether it is of the workspace that is asked; its cosine with the
    question, and how many words of it it has."""

    age: int
    exact: bool
    cosine: float
    words: int


NOTES: Final = (
    Note(400, False, 0.92, 4),
    Note(150, False, 0.89, 4),
    Note(75, False, 0.86, 3),
    Note(40, True, 0.83, 3),
    Note(12, True, 0.80, 2),
    Note(2, True, 0.77, 1),
)
"""By how well they match, best first."""


class Topic(NamedTuple):
    """A question about one topic, and its notes' ids, as in `NOTES`."""

    text: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Aged:
    """A corpus of ``n`` topics; the same for the same values."""

    n: int
    seed: int = 7

    def name(self, topic: int) -> str:
        """The subject of a topic."""
        return f"{word(random.Random(f'name {topic} {self.seed}'))}{topic}"

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """What is asked."""
        return tuple(
            Topic(
                f"What is the {' '.join(ASKED)} of {self.name(topic)}?",
                tuple(f"{topic}/{number}" for number in range(len(NOTES))),
            )
            for topic in range(self.n)
        )

    def text(self, topic: int, number: int) -> str:
        """The words of a note: as many in all, whatever it has of the question."""
        rng = random.Random(f"note {topic} {number} {self.seed}")
        filler = " ".join(word(rng) for _ in range(24 - NOTES[number].words))
        return f"{self.name(topic)}: {' '.join(ASKED[: NOTES[number].words])} {filler}"

    def events(self) -> Iterator[dict[str, Any]]:
        """The corpus in the exchange form: the older before the newer."""
        for number, note in enumerate(NOTES):
            seen = times.iso(NOW - note.age * DAY)
            for topic in range(self.n):
                yield {
                    "event": "claim",
                    "id": f"{topic}/{number}",
                    "workspace": WORKSPACE if note.exact else "",
                    "subject": self.name(topic),
                    "predicate": "note",
                    "object": number,
                    "text": self.text(topic, number),
                    "source": {"id": f"source {number}", "observed_at": seen},
                    "recorded_at": seen,
                }

    @cached_property
    def embedder(self) -> Embedder:
        """The stated vectors, by text."""
        vectors: dict[str, npt.NDArray[np.float64]] = {}
        rng = np.random.default_rng(self.seed)
        for topic, asked in enumerate(self.topics):
            towards = _unit(rng.standard_normal(DIMENSION))
            vectors[asked.text] = towards
            for number, note in enumerate(NOTES):
                off = rng.standard_normal(DIMENSION)
                off = _unit(off - (off @ towards) * towards)
                mixed = note.cosine * towards + (1 - note.cosine**2) ** 0.5 * off
                vectors[self.text(topic, number)] = mixed
        return Embedder(
            f"stated-{self.n}-{self.seed}",
            lambda texts: [vectors[text] for text in texts],
            dimension=DIMENSION,
        )


def _unit(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return vector / np.linalg.norm(vector)
