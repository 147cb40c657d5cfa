"""What a calibration must be, by the definitions: exact fractions, every pair looked at."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, exp, sqrt
from typing import NamedTuple


class Fitted(NamedTuple):
    """What follows from the scores of questions of both labels."""

    boundary: float
    scale: float
    separated: bool
    auc: float
    auc_lower: float
    certification: str
    false_confidence: float  # of these very scores, as the next
    false_abstention: float


def quantile(scores: Sequence[float], share: Fraction) -> float:
    """The least score that at least this share of all does not exceed."""
    wanted = ceil(share * len(scores))
    return min(x for x in scores if sum(other <= x for other in scores) >= wanted)


def area(answerable: Sequence[float], unanswerable: Sequence[float]) -> Fraction:
    """How many pairs have the answerable question ahead, ties as halves, of all pairs."""
    won = Fraction(0)
    for one in answerable:
        for other in unanswerable:
            if one > other:
                won += 1
            elif one == other:
                won += Fraction(1, 2)
    return won / (len(answerable) * len(unanswerable))


def variance(area: Fraction, answerable: int, unanswerable: int) -> Fraction:
    """The variance of an area, as Hanley and McNeil print it."""
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    spread = area * (1 - area)
    spread += (answerable - 1) * (q1 - area**2)
    spread += (unanswerable - 1) * (q2 - area**2)
    return spread / (answerable * unanswerable)


def fitted(answerable: Sequence[float], unanswerable: Sequence[float]) -> Fitted:
    """All of it, for cosines. O(n²)."""
    low = Fraction(quantile(answerable, Fraction(5, 100)))
    high = Fraction(quantile(unanswerable, Fraction(95, 100)))
    boundary = (low + high) / 2
    lower_quartile = Fraction(quantile(answerable, Fraction(1, 4)))
    upper_quartile = Fraction(quantile(unanswerable, Fraction(3, 4)))
    part = area(answerable, unanswerable)
    error = sqrt(variance(part, len(answerable), len(unanswerable)))
    lower = max(float(part) - 1.96 * error, 0.0)
    if len(answerable) < 20 or len(unanswerable) < 20:
        certification = "undecided"
    else:
        certification = "uncertified" if lower < 0.9 else "certified"
    return Fitted(
        boundary=float(boundary),
        scale=float(max((lower_quartile - upper_quartile) / 4, Fraction(1, 100))),
        separated=high < low,
        auc=float(part),
        auc_lower=lower,
        certification=certification,
        false_confidence=_share([score >= float(boundary) for score in unanswerable]),
        false_abstention=_share([score < float(boundary) for score in answerable]),
    )


def confidence(score: float, boundary: float, scale: float) -> float:
    """The logistic, by its other form."""
    odds = exp((score - boundary) / scale)
    return odds / (1 + odds)


def _share(found: Sequence[bool]) -> float:
    return float(Fraction(sum(found), len(found)))
