"""An invented corpus with stated rates of supersession, contradiction and withdrawal.

What is right is known from how it is made, and so is what a system without a view must get wrong:
`expected` gives the scores of two broken ones by formula, so that the bench itself is guarded.

A topic is a subject that no other topic has. Its first claim, A, is recorded in the first phase. In
the second some topics get a second claim, B:

- *changed*: B replaces A by a correction; B is right from then on;
- *reverted*: B is recorded and replaced by A in the same commit; A stays right. Two thirds of the
  superseded topics are changed, the others reverted;
- *contradicted*: B is recorded beside A, of a predicate with a single value: both are right, and
  contest each other;
- *withdrawn*: A is taken back, and nothing is right;
- the others are *settled*: A is all there is.

Each topic is asked about at the end, and again as known at the end of the first phase, where A is
right. Besides there is one question in ten about subjects that were never recorded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from doxa.bench.questions import Lack, Question, divided
from doxa.engine import times
from doxa.engine.times import DAY

__all__ = [
    "FIRST_PHASE",
    "NOW",
    "Expected",
    "Fate",
    "Generated",
    "System",
    "expected",
    "generated",
    "word",
]

START: Final = times.instant("2024-01-01")
FIRST_PHASE: Final = START + 240 * DAY  # its end; the second one begins a day later
NOW: Final = START + 300 * DAY  # the valid time of all questions
COMMITS: Final = 20  # a phase
FILLER: Final = 24  # words in a text that mean nothing: about 40 words in all
PREDICATES: Final = {
    "meeting_place": "meeting place",
    "lead_engineer": "lead engineer",
    "billing_address": "billing address",
    "favourite_dish": "favourite dish",
    "backup_schedule": "backup schedule",
    "home_port": "home port",
    "database_version": "database version",
    "travel_budget": "travel budget",
}
ONSETS: Final = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
NUCLEI: Final = ("a", "e", "i", "o", "u")

Fields = dict[str, Any]


class Fate(StrEnum):
    """What becomes of a topic."""

    SETTLED = "settled"
    CHANGED = "changed"
    REVERTED = "reverted"
    CONTRADICTED = "contradicted"
    WITHDRAWN = "withdrawn"


class System(StrEnum):
    """A broken system: the nearest of all texts, or those of them that are the newest recorded of
    their subject and predicate."""

    PLAIN = "plain"
    NEWEST = "newest"


@dataclass(frozen=True)
class Expected:
    """Scores over the current questions, those about the past, and those about nothing.

    ``stale``: the share of current questions about a topic that are served a claim about it that
    is not held. ``right``: of those that have an answer, the share served answers alone.
    ``whole``: of the contested ones, the share served both sides. ``past_right``: of the questions
    as known after the first phase, the share served answers alone. ``abstained``: of all that have
    no answer, the share served nothing.
    """

    stale: Fraction
    right: Fraction
    whole: Fraction
    past_right: Fraction
    abstained: Fraction


def expected(
    system: System, n: int, supersession: float, contradiction: float, withdrawal: float
) -> Expected:
    """The scores of a broken system on a corpus that is generated with these rates, by formula.

    It holds for any search that puts the claims of the subject that is asked about before all
    others, and serves two hits or more, of which only those about the topic are judged. With s, c
    and w of n topics superseded, contradicted and withdrawn, of s the part r reverted: *plain*
    serves both claims of a topic, so (s + w) / n are stale; *newest* serves the last one recorded,
    which is wrong where that was put right or withdrawn: (r + w) / n. Without a view neither knows
    the past: right there is what has one claim, (n - s - c) / n. Neither ever serves nothing.
    """
    s, c, w = round(n * supersession), round(n * contradiction), round(n * withdrawal)
    r = s // 3
    wrong = s if system is System.PLAIN else r
    return Expected(
        stale=Fraction(wrong + w, n),
        right=Fraction(n - w - wrong, n - w),
        whole=Fraction(system is System.PLAIN),
        past_right=Fraction(n - s - c, n),
        abstained=Fraction(0),
    )


@dataclass(frozen=True)
class Generated:
    """A corpus of ``n`` topics; the same for the same values. See the module for what is in it.

    The rates are shares of topics, rounded to whole ones; together they may not be above 1. Raises
    ``ValueError`` where they are, or where every topic would be withdrawn.
    """

    n: int
    supersession: float = 0.3
    contradiction: float = 0.1
    withdrawal: float = 0.1
    seed: int = 7

    def __post_init__(self) -> None:
        rates = (self.supersession, self.contradiction, self.withdrawal)
        counts = [round(self.n * rate) for rate in rates]
        if min(counts) < 0 or sum(counts) > self.n or counts[2] >= self.n:
            raise ValueError(
                f"{self}: the shares of {self.n} topics are {counts} topics; they may not be more"
                " than there are, nor all of them withdrawn"
            )

    @cached_property
    def fates(self) -> tuple[Fate, ...]:
        """What becomes of each topic, by its number."""
        superseded = round(self.n * self.supersession)
        found = [Fate.REVERTED] * (superseded // 3)
        found += [Fate.CHANGED] * (superseded - superseded // 3)
        found += [Fate.CONTRADICTED] * round(self.n * self.contradiction)
        found += [Fate.WITHDRAWN] * round(self.n * self.withdrawal)
        found += [Fate.SETTLED] * (self.n - len(found))
        random.Random(f"fates {self.seed}").shuffle(found)
        return tuple(found)

    def expected(self, system: System) -> Expected:
        """What a broken system must score on this corpus."""
        rates = (self.supersession, self.contradiction, self.withdrawal)
        return expected(system, self.n, *rates)

    # -- what is recorded

    def events(self) -> Iterator[Fields]:
        """The corpus in the exchange form, in order, `COMMITS` commits a phase."""
        single = [
            {"event": "policy", "id": f"single/{predicate}", "single_valued": predicate}
            for predicate in PREDICATES
        ]
        for event in single:
            yield event | {"recorded_at": times.iso(START)}
        for topic in range(self.n):
            at = self._recorded(topic, START + DAY, FIRST_PHASE)
            yield self._claim(topic, "A", at)
        for topic in range(self.n):
            at = self._recorded(topic, FIRST_PHASE + DAY, NOW)
            yield from self._second(topic, at)

    def _recorded(self, topic: int, first: int, end: int) -> int:
        """When a topic's turn comes in a phase: microseconds since 1970, one for a commit."""
        return first + (end - first) * (topic * COMMITS // self.n) // COMMITS

    def _claim(self, topic: int, version: str, at: int) -> Fields:
        rng = random.Random(f"{version} {topic} {self.seed}")
        subject, predicate = _name(topic), self.predicate(topic)
        value = f"{word(rng)} {word(rng)} {version.lower()}"
        filler = " ".join(word(rng) for _ in range(FILLER))
        return {
            "event": "claim",
            "id": f"{topic}/{version}",
            "subject": subject,
            "predicate": predicate,
            "object": value,
            "text": f"The {PREDICATES[predicate]} of {subject} is {value}: {filler}.",
            "source": {"id": f"source {version} {topic % 40}", "observed_at": times.iso(at)},
            "recorded_at": times.iso(at),
        }

    def _second(self, topic: int, at: int) -> Iterator[Fields]:
        fate, recorded = self.fates[topic], {"recorded_at": times.iso(at)}
        first, second = f"{topic}/A", f"{topic}/B"
        if fate is Fate.WITHDRAWN:
            yield {"event": "withdrawal", "id": f"{topic}/w", "target": first} | recorded
        elif fate is not Fate.SETTLED:
            yield self._claim(topic, "B", at)
            old, new = (first, second) if fate is Fate.CHANGED else (second, first)
            if fate is not Fate.CONTRADICTED:
                change = {"event": "correction", "id": f"{topic}/k", "corrects": old, "by": new}
                yield change | recorded

    def predicate(self, topic: int) -> str:
        """The predicate of a topic."""
        return [*PREDICATES][topic % len(PREDICATES)]

    # -- what is asked

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Every topic now and as known after the first phase, and strangers; half held out."""
        topics = range(self.n)
        strangers = range(self.n, self.n + max(1, self.n // 10))
        return divided(
            [
                *map(self._now, topics),
                *map(self._past, topics),
                *(self._question(topic, "never", NOW, (), ()) for topic in strangers),
            ]
        )

    def _now(self, topic: int) -> Question:
        first, second = f"{topic}/A", f"{topic}/B"
        answers, about = {
            Fate.SETTLED: ((first,), (first,)),
            Fate.CHANGED: ((second,), (first, second)),
            Fate.REVERTED: ((first,), (first, second)),
            Fate.CONTRADICTED: ((first, second), (first, second)),
            Fate.WITHDRAWN: ((), (first,)),
        }[self.fates[topic]]
        return self._question(topic, "now", NOW, answers, about)

    def _past(self, topic: int) -> Question:
        two = self.fates[topic] not in (Fate.SETTLED, Fate.WITHDRAWN)
        first, second = f"{topic}/A", f"{topic}/B"
        about = (first, second) if two else (first,)
        return self._question(topic, "past", FIRST_PHASE, (first,), about)

    def _question(
        self, topic: int, kind: str, known_at: int, answers: tuple[str, ...], about: tuple[str, ...]
    ) -> Question:
        asked = PREDICATES[self.predicate(topic)]
        lack = None if answers else Lack.WITHDRAWN if about else Lack.NEVER_RECORDED
        return Question(
            id=f"{kind}/{topic}",
            text=f"What is the {asked} of {_name(topic)}?",
            valid_at=times.iso(NOW),
            known_at=times.iso(known_at),
            answers=answers,
            about=about,
            lack=lack,
            contested=len(answers) > 1,
            past=kind == "past",
        )


def generated(
    n: int,
    supersession: float = 0.3,
    contradiction: float = 0.1,
    seed: int = 7,
    *,
    withdrawal: float = 0.1,
) -> Generated:
    """A corpus of ``n`` topics with these rates; raises ``ValueError`` where they are none."""
    return Generated(n, supersession, contradiction, withdrawal, seed)


def word(rng: random.Random) -> str:
    """A word of three syllables, that means nothing."""
    return "".join(rng.choice(ONSETS) + rng.choice(NUCLEI) for _ in range(3))


def _name(topic: int) -> str:
    """A name that no other topic has, in syllables, ending as no other word does."""
    syllables = [onset + nucleus for onset in ONSETS for nucleus in NUCLEI]
    letters, left = "", topic + len(syllables)  # two syllables at least
    while left:
        left, place = divmod(left, len(syllables))
        letters += syllables[place]
    return f"{letters}x".capitalize()
