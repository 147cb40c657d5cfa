"""Drift: whether a calibration still holds for questions that are asked anew."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from doxa.engine.calibration import Calibration, few, judged_at
from doxa.engine.figures import auc, auc_lower, cosines, middle

__all__ = ["Drift", "Stability", "drift"]

LARGEST_SHIFT: Final = 1.0  # in scales; a calibration further off has drifted
LARGEST_RATE: Final = 0.10  # of false confidence or abstention, likewise


class Stability(StrEnum):
    """Whether a calibration still holds."""

    OK = "ok"
    DRIFTED = "drifted"


class Drift(NamedTuple):
    """How a calibration in force judges fresh scores.

    ``boundary``, ``auc`` and ``auc_lower`` are those that a fit to the fresh scores would give;
    ``shift`` is how far its boundary lies above the one in force, in scales of the one in force.
    The other figures are of the boundary in force.
    """

    calibration: str
    answerable: int
    unanswerable: int
    boundary: float
    shift: float
    false_confidence: float
    false_abstention: float
    auc: float
    auc_lower: float
    verdict: Stability
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def drift(
    calibration: Calibration, answerable: Sequence[float], unanswerable: Sequence[float]
) -> Drift:
    """How a calibration judges scores of questions asked anew. It has drifted where the boundary
    that they give is more than one scale away, or more than a tenth of either label is on the wrong
    side of the one in force. Raises `CallerError`, as `fit` does.
    """
    right, wrong = cosines(answerable, "answerable"), cosines(unanswerable, "unanswerable")
    judged = judged_at(calibration.boundary, right, wrong)
    boundary, area = middle(right, wrong), auc(right, wrong)
    shift = (boundary - calibration.boundary) / calibration.scale
    confident, abstained = judged.false_confidence, judged.false_abstention
    assert confident is not None, "no unanswerable score"
    assert abstained is not None, "no answerable score"
    reasons = []
    if abs(shift) > LARGEST_SHIFT:
        reasons.append(f"the boundary would be {boundary:.3f}, {shift:+.2f} scales away")
    for rate, told in (
        (confident, "unanswerable questions are judged confident"),
        (abstained, "answerable questions are not judged confident"),
    ):
        if rate > LARGEST_RATE:
            reasons.append(f"{rate:.0%} of the {told}")
    return Drift(
        calibration=calibration.id,
        answerable=len(right),
        unanswerable=len(wrong),
        boundary=boundary,
        shift=shift,
        false_confidence=confident,
        false_abstention=abstained,
        auc=area,
        auc_lower=auc_lower(area, len(right), len(wrong)),
        verdict=Stability.DRIFTED if reasons else Stability.OK,
        reasons=tuple(reasons),
        warnings=tuple(
            f"asked {asked}: the figures say little" for asked in few(len(right), len(wrong))
        ),
    )
