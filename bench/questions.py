"""Labelled questions for recall: what may be asked, which claims are right, and why none is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

__all__ = ["Lack", "Question", "divided", "halves"]


class Lack(StrEnum):
    """Why nothing is held that would answer a question.

    ``never_recorded``: nothing was ever said about it. ``outside_window``: what was said is about
    other times. ``not_yet_known``: it was recorded later than ``known_at``. ``withdrawn`` and
    ``replaced``: it was taken back by then, or something else was put in its place.
    """

    NEVER_RECORDED = "never_recorded"
    OUTSIDE_WINDOW = "outside_window"
    NOT_YET_KNOWN = "not_yet_known"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"


@dataclass(frozen=True)
class Question:
    """One question in words, at one view.

    ``valid_at`` and ``known_at`` are ISO instants. ``answers`` are the ids of the claims that are
    right: those held at the view that say what is asked. ``about`` are the ids of all claims that
    were ever recorded about it, the right ones among them: to serve another of these is to serve
    what is not believed. ``lack`` says why there are no answers, and is None where there are.
    ``contested``: the answers contest each other, and are to be shown together. ``past``: asked at
    a ``known_at`` after which something was recorded. ``held_out``: kept for calibration.
    """

    id: str
    text: str
    valid_at: str
    known_at: str
    answers: tuple[str, ...]
    about: tuple[str, ...]
    lack: Lack | None = None
    contested: bool = False
    past: bool = False
    held_out: bool = False

    def __post_init__(self) -> None:
        assert (self.lack is None) == bool(self.answers), self
        assert set(self.answers) <= set(self.about), self

    @property
    def answerable(self) -> bool:
        """Whether something is held that answers it."""
        return self.lack is None

    @property
    def digest(self) -> str:
        """A digest of what is asked, and of nothing else; hexadecimal."""
        asked = "\n".join((self.text, self.valid_at, self.known_at))
        return hashlib.sha256(asked.encode()).hexdigest()

    def as_case(self) -> dict[str, Any]:
        """The question as a line that a calibration is fitted to. It has the label of its own view:
        asked at another one, it may have answers, or none."""
        return {"query": self.text, "answerable": self.answerable}

    def as_dict(self) -> dict[str, Any]:
        """The question as JSON values."""
        lists = {"answers": [*self.answers], "about": [*self.about]}
        return asdict(self) | lists | {"lack": None if self.lack is None else str(self.lack)}


def divided(questions: Iterable[Question]) -> tuple[Question, ...]:
    """The questions, in their order, half of the answerable and half of the unanswerable ones
    held out: those with the smaller digests."""
    asked = tuple(questions)
    kept: set[str] = set()
    for answerable in (True, False):
        digests = sorted(q.digest for q in asked if q.answerable is answerable)
        kept.update(digests[: len(digests) // 2])
    return tuple(replace(q, held_out=q.digest in kept) for q in asked)


def halves(questions: Iterable[Question]) -> tuple[list[Question], list[Question]]:
    """The questions that are held out for calibration, and those to be judged by."""
    asked = list(questions)
    return [q for q in asked if q.held_out], [q for q in asked if not q.held_out]
