"""How well dense scores part the questions that have an answer from those that have none."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from doxa.engine.errors import CallerError

__all__ = [
    "ENOUGH",
    "Certification",
    "auc",
    "auc_lower",
    "certification",
    "confidence",
    "cosines",
    "middle",
    "quantile",
    "standard_error",
]

ENOUGH: Final = 20  # samples of a label, below which nothing is certified
CERTIFIED_AT: Final = 0.90  # of the lower bound of the AUC
DEVIATE: Final = 1.96  # of the standard normal: the lower end of a two-sided 95 % interval
_ROUNDED: Final = 1e-6  # by which the cosine of two rounded vectors may pass 1


class Certification(StrEnum):
    """Whether the scores part the questions: certainly, not certainly, or with too few to say."""

    CERTIFIED = "certified"
    UNCERTIFIED = "uncertified"
    UNDECIDED = "undecided"


def cosines(scores: Sequence[float], label: str, least: int = 1) -> list[float]:
    """Scores as cosines, what rounding has added taken off."""
    found = [float(score) for score in scores]
    if len(found) < least:
        raise CallerError(f"there is no score of a question that is {label}; give one at least")
    for score in found:
        if not abs(score) <= 1 + _ROUNDED:  # NaN too
            raise CallerError(
                f"a question that is {label} has the score {score}; a cosine is from -1 to 1"
            )
    return [min(1.0, max(-1.0, score)) for score in found]


def quantile(scores: Sequence[float], percent: int) -> float:
    """The quantile by nearest rank: the ceil(percent · n / 100)-th smallest of n scores.

    >>> quantile([0.4, 0.1, 0.3, 0.2], 25), quantile([0.4, 0.1, 0.3, 0.2], 26)
    (0.1, 0.2)
    """
    assert scores, "no scores"
    assert 0 < percent <= 100, percent
    return sorted(scores)[-(-percent * len(scores) // 100) - 1]


def middle(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """The middle between the 5 % quantile of the answerable and the 95 % quantile of the
    unanswerable scores, also where they overlap."""
    return (quantile(answerable, 5) + quantile(unanswerable, 95)) / 2 + 0.0  # no -0.0


def auc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """The share of pairs in which the answerable question scores higher, ties counting half
    (Mann-Whitney): the area under the ROC curve, 0.5 for scores that say nothing. O(n log n).

    >>> auc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    below = sorted(unanswerable)
    halves = sum(bisect_left(below, score) + bisect_right(below, score) for score in answerable)
    return halves / (2 * len(answerable) * len(below))


def standard_error(area: float, answerable: int, unanswerable: int) -> float:
    """The standard error of an AUC from so many samples of each label, by Hanley and McNeil
    (Radiology 143:29-36, 1982), with the terms of their formula factored so that none cancels.

    It is 0 for an area of 0 or 1: of scores that part all samples the formula has no doubt, and
    what stands against chance is then only how many samples there are.
    """
    rest = 1 - area
    spread = (answerable - 1) * area * rest * rest / (2 - area)
    spread += (unanswerable - 1) * area * area * rest / (1 + area)
    return math.sqrt((area * rest + spread) / (answerable * unanswerable))


def auc_lower(area: float, answerable: int, unanswerable: int) -> float:
    """The lower 95 % bound of an AUC, 0 at least: the lower end of the two-sided interval, so that
    the area itself is below it one time in forty at most, as far as the formula goes."""
    return max(0.0, area - DEVIATE * standard_error(area, answerable, unanswerable))


def certification(answerable: int, unanswerable: int, lower: float) -> Certification:
    """What so many samples of each label and the lower bound of their AUC allow to say."""
    if min(answerable, unanswerable) < ENOUGH:
        return Certification.UNDECIDED
    return Certification.CERTIFIED if lower >= CERTIFIED_AT else Certification.UNCERTIFIED


def confidence(score: float, boundary: float, scale: float) -> float:
    """The confidence of a dense score: logistic, 0.5 at the boundary. A ranking, not a probability.

    >>> confidence(0.5, 0.5, 0.05)
    0.5
    """
    return 1 / (1 + math.exp(min((boundary - score) / scale, 700.0)))
