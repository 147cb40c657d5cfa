"""The validity profile once more, slowly: fractions and decimals, one rule after the other.

A freshness is decided by comparing ages as whole numbers, and computed with fifty digits. Facts
come as plain values, by the names that the semantics page has for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

__all__ = ["Hit", "block", "finals", "fresh", "multiplier", "order"]

MONTH = 30 * 24 * 60 * 60 * 1_000_000  # thirty days in microseconds
DIGITS = Context(prec=50, Emin=-(10**9), Emax=10**9)
TOLD = Context(prec=12, Emin=-(10**9), Emax=10**9)  # the digits of a final score


@dataclass(frozen=True)
class Hit:
    """One hit: its standing and scope by name, its times in microseconds, None where open."""

    id: str
    standing: str
    scope: str
    recorded_at: int
    observed_at: int | None
    valid_to: int | None
    verified: bool = False
    corroborated: bool = False
    rejected: bool = False
    eligible: bool = True


def block(hit: Hit, now: int, by_recording: bool = False) -> dict[str, object]:
    """The block of a hit without freshness and multiplier, which are `fresh` and `multiplier`."""
    result: dict[str, object] = {"scope_match": hit.scope, "provenance_class": _class(hit)}
    result["superseded"] = hit.standing == "superseded"
    result["expired"] = _expired(hit, now)
    result["expiring_soon"] = _expiring(hit, now)
    result["expires_at_unix_ms"] = None
    if hit.valid_to is not None:
        result["expires_at_unix_ms"] = math.floor(Fraction(hit.valid_to, 1000))
    invalid = hit.standing in ("superseded", "retracted", "unsupported") or _expired(hit, now)
    if invalid or _age(hit, now, by_recording) > 3 * MONTH:
        result["grade"] = "context_invalid"
        result["context_invalid"] = True
    elif _expiring(hit, now) or _age(hit, now, by_recording) > MONTH:
        result["grade"] = "stale"
    else:
        result["grade"] = "valid"
    return result


def fresh(hit: Hit, now: int, by_recording: bool = False) -> Decimal:
    """Half to the power of the age in months of thirty days."""
    months = DIGITS.divide(Decimal(_age(hit, now, by_recording)), Decimal(MONTH))
    return DIGITS.power(Decimal("0.5"), months)


def multiplier(hit: Hit, now: int, by_recording: bool = False) -> Decimal:
    """The product of all that applies."""
    result = fresh(hit, now, by_recording)
    if hit.scope == "exact":
        result = DIGITS.multiply(result, Decimal("1.10"))
    if _class(hit) in ("verified", "corroborated"):
        result = DIGITS.multiply(result, Decimal("1.15"))
    if hit.standing == "superseded" or _expired(hit, now):
        result = DIGITS.multiply(result, Decimal("0.35"))
    if _expiring(hit, now):
        result = DIGITS.multiply(result, Decimal("0.70"))
    return result


def finals(
    hits: Sequence[Hit], scores: Sequence[float | None] | None, now: int, by_recording: bool = False
) -> list[Decimal]:
    """The final score of each of the hits, which come in the order that they had."""
    result = []
    for rank, hit in enumerate(hits):
        base = DIGITS.divide(Decimal(len(hits) - rank), Decimal(len(hits)))
        if scores is not None and len(scores) == len(hits) and all(map(_usable, scores)):
            base = Decimal(scores[rank] or 0)
        result.append(TOLD.plus(DIGITS.multiply(base, multiplier(hit, now, by_recording))))
    return result


def order(
    hits: Sequence[Hit], scores: Sequence[float | None] | None, now: int, by_recording: bool = False
) -> list[int]:
    """The ranks that the hits had, in their new order: the best of those left goes into the next
    place of an eligible one, that with the smaller id if two are equal."""
    left = [rank for rank, hit in enumerate(hits) if hit.eligible]
    final = finals(hits, scores, now, by_recording)
    result = []
    for place, hit in enumerate(hits):
        if not hit.eligible:
            result.append(place)
            continue
        best = left[0]
        for other in left[1:]:
            better = final[other] > final[best]
            if better or (final[other] == final[best] and hits[other].id < hits[best].id):
                best = other
        left.remove(best)
        result.append(best)
    return result


def _age(hit: Hit, now: int, by_recording: bool) -> int:
    since = hit.observed_at
    if since is None or by_recording:
        since = hit.recorded_at
    return now - since if now > since else 0


def _expired(hit: Hit, now: int) -> bool:
    if hit.standing == "expired":
        return True
    return hit.valid_to is not None and now >= hit.valid_to


def _expiring(hit: Hit, now: int) -> bool:
    if hit.valid_to is None or _expired(hit, now):
        return False
    return 0 < hit.valid_to - now <= MONTH


def _class(hit: Hit) -> str:
    if hit.rejected or hit.standing == "retracted":
        return "rejected"
    if hit.verified:
        return "verified"
    if hit.corroborated or hit.standing == "corroborated":
        return "corroborated"
    if hit.standing in ("reported", "contested", "hypothesis"):
        return "candidate"
    if hit.standing in ("superseded", "expired", "not_yet_valid", "unsupported"):
        return "defensively_recalled"
    return "unknown"


def _usable(score: float | None) -> bool:
    return score is not None and math.isfinite(score) and score > 0
