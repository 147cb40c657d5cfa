"""Decay: how far a record has faded since it was used last, as a function of time alone.

decay = exp(-idle / constant), where the constant is seven days unless a policy gives another to
the kind of the claim. Nothing is multiplied step by step, so that it makes no difference how often
somebody looks. What is verified fades no further than 0.2, what was scored no further than its
importance, and what is pinned not at all. Below 0.05 a claim is to be archived.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["BELOW", "DAY", "SEVEN_DAYS", "VERIFIED", "decay", "floored", "horizon"]

DAY: Final = 86_400_000_000  # microseconds
SEVEN_DAYS: Final = 7 * DAY
BELOW: Final = 0.05  # what a claim has to fade to, to be archived
VERIFIED: Final = 0.2  # the least that is left of a verified claim


def decay(idle: int, constant: float = SEVEN_DAYS) -> float:
    """What is left of a record after so many microseconds of rest; 1 where the constant is
    infinite, and where the last use is still to come.

    >>> decay(0), round(decay(SEVEN_DAYS), 4), round(decay(21 * DAY), 4)
    (1.0, 0.3679, 0.0498)
    """
    return 1.0 if idle <= 0 or math.isinf(constant) else math.exp(-idle / constant)


def floored(faded: float, *, verified: bool, importance: float, pinned: bool = False) -> float:
    """What is left of a record that was verified, scored or pinned.

    >>> floored(0.01, verified=True, importance=0.0), floored(0.3, verified=False, importance=0.9)
    (0.2, 0.9)
    """
    if pinned:
        return 1.0
    return max(faded, importance, VERIFIED if verified else 0.0)


def horizon(constant: float = SEVEN_DAYS, below: float = BELOW) -> float:
    """The microseconds of rest behind which less than ``below`` is left: whether a claim is to be
    archived is asked of its idle time, so that no rounding of a power decides.

    >>> round(horizon() / DAY, 2)
    20.97
    """
    if below >= 1:
        return -1.0 if below > 1 else 0.0
    return math.inf if below <= 0 or math.isinf(constant) else -math.log(below) * constant
