"""What is counted of the answers to labelled questions, and what must come out of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from doxa.bench.generated import Expected, Generated, System
from doxa.bench.questions import Lack, Question
from doxa.bench.systems import Answer, Truth

__all__ = [
    "FIGURES",
    "Asked",
    "Broken",
    "Share",
    "against_formula",
    "counted",
    "never_served",
]


class Broken(AssertionError):
    """The bench, or a system in it, does not do what it must; the message says where."""


class Asked(NamedTuple):
    """A question, with what a system served."""

    question: Question
    answer: Answer


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    some: int
    of: int

    @property
    def rate(self) -> Fraction | None:
        """The part of the whole; ``None`` of nothing."""
        return Fraction(self.some, self.of) if self.of else None

    def __str__(self) -> str:
        return f"{self.some / self.of:.1%} ({self.some}/{self.of})" if self.of else "none"

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        return {"some": self.some, "of": self.of}


FIGURES: Final[dict[str, str]] = {
    "not held": "questions at which anything that is not held at their view was served as current",
    "about it, not held": "questions about something recorded, at which a statement about just "
    "that was served as current and is not held: superseded, taken back, of other times, or not "
    "yet known",
    "right among k": "answerable questions with a right statement among the first k",
    "right first": "answerable questions with a right statement in the first place",
    "right alone": "answerable questions at which right statements are all that was served about "
    "what is asked",
    "conflicts whole": "contested questions at which all sides were served, and nothing else "
    "about it",
    "abstained rightly": "unanswerable questions at which nothing was served that is to be acted "
    "on; sides of a conflict may be shown, and say that they are",
    "abstained wrongly": "answerable questions at which nothing was served that is to be acted on, "
    "but for contested ones of which all sides are shown",
    "refused": "questions at which the gate could not run, so that no text went out; these are "
    "not counted as abstentions",
}
"""What each figure is a share of, and which part."""


def counted(asked: Sequence[Asked], truth: Truth) -> dict[str, Share]:
    """All figures over some questions."""
    told = [_Told(q, answer, truth) for q, answer in asked]
    answerable = [one for one in told if one.question.answerable]
    unanswerable = [one for one in told if not one.question.answerable]
    return {
        "not held": _share(one.wrong for one in told),
        "about it, not held": _share(one.stale for one in told if one.question.about),
        "right among k": _share(one.right for one in answerable),
        "right first": _share(one.first for one in answerable),
        "right alone": _share(one.right and not one.stale for one in answerable),
        "conflicts whole": _share(one.whole for one in told if one.question.contested),
        "abstained rightly": _share(one.answer.abstained for one in unanswerable),
        "abstained wrongly": _share(
            one.answer.abstained and not (one.question.contested and one.whole)
            for one in answerable
        ),
        "refused": _share(one.answer.refused for one in told),
    }


class _Told:
    """What is to be said of one answer."""

    def __init__(self, question: Question, answer: Answer, truth: Truth) -> None:
        served, right = answer.served, set(question.answers)
        about = set(served) & set(question.about)
        self.question, self.answer = question, answer
        self.wrong = not all(truth.held(claim, question) for claim in served)
        self.stale = not about <= right
        self.right = bool(about & right)
        self.first = bool(served) and served[0] in right
        self.whole = about == right


def _share(said: Iterable[bool]) -> Share:
    found = list(said)
    return Share(sum(found), len(found))


# ------------------------------------------------------------ what must be


def never_served(name: str, asked: Iterable[Asked], truth: Truth) -> None:
    """Raises `Broken` where a system served anything that is not held at a question's view, by the
    lines of the history, or about what is asked anything but the answers."""
    for question, answer in asked:
        about = set(answer.served) & set(question.about)
        wrong = [claim for claim in answer.served if not truth.held(claim, question)]
        wrong += sorted(about.difference(question.answers))
        if wrong:
            raise Broken(
                f"{name} served {', '.join(wrong)} as current at question {question.id} "
                f"({question.text!r:.80}, valid_at {question.valid_at}, known_at "
                f"{question.known_at}), and that is not held there"
            )


def against_formula(
    corpus: Generated, system: System, today: Sequence[Asked], cut: Sequence[Asked], truth: Truth
) -> None:
    """Raises `Broken` where the scores of a broken system on a generated corpus are others than
    those that the formulas give, to the last question. ``today`` are the answers of a store without
    a past, ``cut`` those of one that is given what was recorded by then: it has only the first of
    each topic's claims for the questions about the past, all of which are right.
    """
    expected = corpus.expected(system)
    _compare(f"{system}, as of today", _scored(today, truth), expected)
    past = Fraction(1)
    _compare(f"{system}", _scored(cut, truth), _with_past(expected, past))


def _with_past(expected: Expected, past: Fraction) -> Expected:
    return Expected(expected.stale, expected.right, expected.whole, past, expected.abstained)


def _scored(asked: Sequence[Asked], truth: Truth) -> dict[str, Share]:
    """The shares that `Expected` has, by its names."""
    topics = [one for one in asked if one.question.lack is not Lack.NEVER_RECORDED]
    now = counted([one for one in topics if not one.question.past], truth)
    past = counted([one for one in topics if one.question.past], truth)
    return {
        "stale": now["about it, not held"],
        "right": now["right alone"],
        "whole": now["conflicts whole"],
        "past_right": past["right alone"],
        "abstained": counted(asked, truth)["abstained rightly"],
    }


def _compare(name: str, found: dict[str, Share], expected: Expected) -> None:
    for figure, share in found.items():
        wanted = getattr(expected, figure)
        if share.rate is not None and share.rate != wanted:
            raise Broken(
                f"{name}: {figure} is {share}, and by the formula it must be {wanted}; the bench "
                "does not measure what it says"
            )
