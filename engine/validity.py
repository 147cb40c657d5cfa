"""The validity profile: how much each hit is still worth, as a multiplier, a grade and a trace.

Pure: values go in, values come out. What the view let through is only put in another order here,
or annotated; nothing is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, Final, NamedTuple, TypeVar

from doxa.engine.belief import Standing
from doxa.engine.errors import CallerError
from doxa.engine.outcomes import Mode
from doxa.engine.times import DAY, POS, Instant, iso

__all__ = [
    "CONTEXT_INVALID_FRESHNESS",
    "EXPIRING_PENALTY",
    "EXPIRING_WITHIN",
    "HALF_LIFE",
    "METHOD",
    "PROVENANCE_BOOST",
    "SCOPE_BONUS",
    "STALE_FRESHNESS",
    "SUPERSEDED_PENALTY",
    "WEIGHTS",
    "Facts",
    "FreshnessFrom",
    "Grade",
    "Profile",
    "Provenance",
    "Ranked",
    "Rated",
    "Scope",
    "Trace",
    "Validity",
    "annotate",
    "freshness",
    "freshness_from_of",
    "judge",
    "profile_of",
    "profiled",
    "provenance_of",
    "rerank",
]

METHOD: Final = "validity-multiplier-v1"
HALF_LIFE: Final = 30 * DAY  # microseconds, as the next
EXPIRING_WITHIN: Final = 30 * DAY
SCOPE_BONUS: Final = 0.10  # on top of 1, as the next
PROVENANCE_BOOST: Final = 0.15
SUPERSEDED_PENALTY: Final = 0.35  # a factor, as the next
EXPIRING_PENALTY: Final = 0.70
STALE_FRESHNESS: Final = 0.5  # fresher than this is not stale, as the next
CONTEXT_INVALID_FRESHNESS: Final = 0.125

WEIGHTS: Final[dict[str, float]] = {
    "freshness_half_life_secs": HALF_LIFE // 1_000_000,
    "scope_bonus": SCOPE_BONUS,
    "provenance_boost": PROVENANCE_BOOST,
    "superseded_penalty": SUPERSEDED_PENALTY,
    "expiring_penalty": EXPIRING_PENALTY,
    "stale_freshness": STALE_FRESHNESS,
    "context_invalid_freshness": CONTEXT_INVALID_FRESHNESS,
}


class Grade(StrEnum):
    """Whether a hit may be relied on in the context of the question."""

    VALID = "valid"
    STALE = "stale"
    CONTEXT_INVALID = "context_invalid"


class Scope(StrEnum):
    """Where a hit was recorded: the workspace that was asked, the shared one, or elsewhere."""

    EXACT = "exact"
    GLOBAL = "global"
    NONE = "none"


class Provenance(StrEnum):
    """Who vouches for a hit."""

    VERIFIED = "verified"
    CORROBORATED = "corroborated"
    CANDIDATE = "candidate"
    REJECTED = "rejected"
    DEFENSIVELY_RECALLED = "defensively_recalled"
    UNKNOWN = "unknown"


class FreshnessFrom(StrEnum):
    """Where age is counted from: when it was last looked at, or when it was recorded."""

    OBSERVED = "observed"
    RECORDED = "recorded"


class Profile(StrEnum):
    """What puts the hits in order: their scores alone, or their scores and their validity."""

    DEFAULT = "default"
    VALIDITY = "validity"


class _Base(StrEnum):
    """What the multiplier is applied to."""

    RERANK = "rerank"
    RANK = "rank"


# What a standing alone says about provenance. Reported, contested and assumed statements have
# somebody behind them and nobody to confirm them; those that are not held are shown only because
# they were asked for; of those without content nothing can be said.
_PROVENANCE: Final = {
    Standing.NOT_YET_KNOWN: Provenance.UNKNOWN,
    Standing.REDACTED: Provenance.UNKNOWN,
    Standing.COMPACTED: Provenance.UNKNOWN,
    Standing.RETRACTED: Provenance.REJECTED,
    Standing.SUPERSEDED: Provenance.DEFENSIVELY_RECALLED,
    Standing.NOT_YET_VALID: Provenance.DEFENSIVELY_RECALLED,
    Standing.EXPIRED: Provenance.DEFENSIVELY_RECALLED,
    Standing.HYPOTHESIS: Provenance.CANDIDATE,
    Standing.UNSUPPORTED: Provenance.DEFENSIVELY_RECALLED,
    Standing.CONTESTED: Provenance.CANDIDATE,
    Standing.CORROBORATED: Provenance.CORROBORATED,
    Standing.REPORTED: Provenance.CANDIDATE,
}
assert set(_PROVENANCE) == set(Standing)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at the view about one hit.

    ``rank``: its place before, from 0. ``observed_at``: when the latest of its live supports was
    observed, or it was verified, whichever is later; ``None`` where nobody says. ``valid_to``: POS
    where it is open. ``verified``: a verification is in force. ``corroborated``: its own live
    supports have two or more origins, whatever its standing. ``rejected``: its value is.
    ``eligible`` is false for what is to be annotated and not moved. Instants are in microseconds.
    """

    id: str
    rank: int
    standing: Standing
    scope: Scope
    recorded_at: Instant
    observed_at: Instant | None = None
    valid_to: Instant = POS
    verified: bool = False
    corroborated: bool = False
    rejected: bool = False
    eligible: bool = True


@dataclass(frozen=True, slots=True)
class Validity:
    """What one hit is still worth, and why. ``expires_at`` is in microseconds, POS where open."""

    grade: Grade
    freshness: float
    scope_match: Scope
    provenance_class: Provenance
    superseded: bool
    expiring_soon: bool
    expired: bool
    expires_at: Instant
    multiplier: float
    signals: tuple[str, ...]

    @property
    def context_invalid(self) -> bool:
        """Whether it is graded so."""
        return self.grade is Grade.CONTEXT_INVALID

    @property
    def expires_at_unix_ms(self) -> int | None:
        """Whole milliseconds since 1970, a part of one cut off; ``None`` where it is open."""
        return None if self.expires_at == POS else self.expires_at // 1000

    def as_dict(self) -> dict[str, Any]:
        """The block as JSON values; ``context_invalid`` is there only where it is true."""
        block: dict[str, Any] = {
            "grade": str(self.grade),
            "freshness": self.freshness,
            "scope_match": str(self.scope_match),
            "provenance_class": str(self.provenance_class),
            "superseded": self.superseded,
            "expiring_soon": self.expiring_soon,
            "expired": self.expired,
            "expires_at_unix_ms": self.expires_at_unix_ms,
            "multiplier": self.multiplier,
            "signals": [*self.signals],
        }
        return block | {"context_invalid": True} if self.context_invalid else block


@dataclass(frozen=True, slots=True)
class Trace:
    """What the profile did to a list of hits. ``base`` is what was multiplied: rerank or rank."""

    profile: Profile
    now: Instant
    freshness_from: FreshnessFrom
    grade_counts: dict[Grade, int]
    reranked: bool
    base: str | None
    why: str

    def as_dict(self) -> dict[str, Any]:
        """The trace as JSON values; ``now`` as ISO text."""
        return {
            "profile": str(self.profile),
            "method": METHOD,
            "weights": dict(WEIGHTS),
            "now": iso(self.now),
            "freshness_from": str(self.freshness_from),
            "grade_counts": {str(grade): count for grade, count in self.grade_counts.items()},
            "flagged_context_invalid": self.grade_counts[Grade.CONTEXT_INVALID],
            "reranked": self.reranked,
            "base": self.base,
            "why": self.why,
        }


class Rated(NamedTuple):
    """One hit with its block; ``base`` and ``final`` are ``None`` where it was not re-ranked."""

    facts: Facts
    validity: Validity
    base: float | None = None
    final: float | None = None


class Ranked(NamedTuple):
    """All hits, in their order, and what was done."""

    hits: tuple[Rated, ...]
    trace: Trace


# ---------------------------------------------------------------- one hit


def freshness(age: int) -> float:
    """How fresh a thing of this age in microseconds is: 1 when new, half of it every 30 days.

    >>> freshness(0), freshness(30 * 86_400_000_000), freshness(-5)
    (1.0, 0.5, 1.0)
    """
    return math.pow(0.5, max(0, age) / HALF_LIFE)


def provenance_of(facts: Facts) -> Provenance:
    """Who vouches for a hit: refused, verified, corroborated, or else what its standing says."""
    if facts.rejected or facts.standing is Standing.RETRACTED:
        return Provenance.REJECTED
    if facts.verified:
        return Provenance.VERIFIED
    if facts.corroborated:
        return Provenance.CORROBORATED
    return _PROVENANCE[facts.standing]


def judge(facts: Facts, *, now: Instant, freshness_from: str = FreshnessFrom.OBSERVED) -> Validity:
    """What a hit is worth at ``now`` (microseconds).

    The formula is that of the semantics page: freshness x scope x provenance x superseded or
    expired (once) x expiring. What ends at ``now`` is expired, and not expiring.
    """
    since, counted = facts.recorded_at, freshness_from_of(freshness_from)
    if counted is FreshnessFrom.OBSERVED and facts.observed_at is not None:
        since = facts.observed_at
    fresh, provenance = freshness(now - since), provenance_of(facts)
    vouched = provenance in (Provenance.VERIFIED, Provenance.CORROBORATED)
    superseded = facts.standing is Standing.SUPERSEDED
    gone = facts.standing in (Standing.RETRACTED, Standing.UNSUPPORTED)
    closed = facts.valid_to != POS
    expired = facts.standing is Standing.EXPIRED or (closed and facts.valid_to <= now)
    expiring = closed and not expired and facts.valid_to - now <= EXPIRING_WITHIN
    multiplier = (
        fresh
        * (1 + SCOPE_BONUS if facts.scope is Scope.EXACT else 1)
        * (1 + PROVENANCE_BOOST if vouched else 1)
        * (SUPERSEDED_PENALTY if superseded or expired else 1)
        * (EXPIRING_PENALTY if expiring else 1)
    )
    if superseded or expired or gone or fresh < CONTEXT_INVALID_FRESHNESS:
        grade = Grade.CONTEXT_INVALID
    else:
        grade = Grade.STALE if expiring or fresh < STALE_FRESHNESS else Grade.VALID
    signals = (
        (f"freshness:{fresh:.3f}", True),
        (f"scope:{facts.scope}", facts.scope is Scope.EXACT),
        (f"provenance:{provenance}", vouched),
        (f"{facts.standing}", gone or superseded),
        ("expired", expired),
        ("expiring_soon", expiring),
    )
    return Validity(
        grade=grade,
        freshness=fresh,
        scope_match=facts.scope,
        provenance_class=provenance,
        superseded=superseded,
        expiring_soon=expiring,
        expired=expired,
        expires_at=facts.valid_to,
        multiplier=multiplier,
        signals=tuple(signal for signal, there in signals if there),
    )


# ---------------------------------------------------------------- a list of hits


def profile_of(value: str | None) -> Profile:
    """The profile of that name; none given is the default. Another name is a `CallerError`."""
    return Profile.DEFAULT if value is None else _named(Profile, value, "profile")


def freshness_from_of(value: str) -> FreshnessFrom:
    """What age is counted from, by name. Another name is a `CallerError`."""
    return _named(FreshnessFrom, value, "freshness_from")


def annotate(
    hits: Sequence[Facts],
    *,
    now: Instant,
    freshness_from: str = FreshnessFrom.OBSERVED,
    profile: Profile = Profile.DEFAULT,
    why: str = "annotated only: validity_annotate",
) -> Ranked:
    """Every hit with its block, in the order of their ranks. O(n log n)."""
    rated = tuple(
        Rated(hit, judge(hit, now=now, freshness_from=freshness_from)) for hit in _placed(hits)
    )
    return Ranked(rated, _trace(rated, profile, now, freshness_from, None, why))


def rerank(
    hits: Sequence[Facts],
    rerank_scores: Sequence[object] | None = None,
    *,
    now: Instant,
    freshness_from: str = FreshnessFrom.OBSERVED,
) -> Ranked:
    """Every hit with its block, the eligible ones by base score x multiplier, ties by id.

    ``rerank_scores`` are those of ``hits``, one by one. Base is that score; or (n - rank) / n for
    the whole list of n hits, if there are none or any is missing, not finite, or not above 0. What
    is not eligible keeps its place. O(n log n).
    """
    scores = _positive(rerank_scores, len(hits))
    by_rank = {} if scores is None else dict(zip([h.rank for h in hits], scores, strict=True))
    placed, rated = _placed(hits), []
    for hit in placed:
        validity = judge(hit, now=now, freshness_from=freshness_from)
        if not hit.eligible:
            rated.append(Rated(hit, validity))
            continue
        base = by_rank[hit.rank] if by_rank else (len(placed) - hit.rank) / len(placed)
        rated.append(Rated(hit, validity, base, _told(base * validity.multiplier)))
    order = iter(sorted((hit for hit in rated if hit.final is not None), key=_place))
    moved = tuple(hit if hit.final is None else next(order) for hit in rated)
    base_name = _Base.RANK if scores is None else _Base.RERANK
    why = f"re-ranked: base score from the {_BASES[base_name]}"
    if scores is None and rerank_scores is not None:
        why += ", as a rerank score is missing, not finite, or not above 0"
    return Ranked(moved, _trace(moved, Profile.VALIDITY, now, freshness_from, base_name, why))


_BASES: Final = {_Base.RANK: "ranks", _Base.RERANK: "rerank scores"}


def profiled(
    hits: Sequence[Facts],
    rerank_scores: Sequence[object] | None = None,
    *,
    profile: str | None,
    mode: Mode,
    now: Instant,
    freshness_from: str = FreshnessFrom.OBSERVED,
) -> Ranked:
    """What a recall does where validity was asked for: re-ranks in fused mode by the validity
    profile, and only annotates everywhere else; the trace says which, and why."""
    if (asked := profile_of(profile)) is not Profile.VALIDITY:
        return annotate(hits, now=now, freshness_from=freshness_from)
    if mode is not Mode.FUSED:
        why = f"annotated only: mode {mode}, and only fused mode is re-ranked"
        return annotate(hits, now=now, freshness_from=freshness_from, profile=asked, why=why)
    return rerank(hits, rerank_scores, now=now, freshness_from=freshness_from)


def _told(product: float) -> float:
    """A product to 12 digits: those that are equal but for the rounding of factors are equal."""
    return float(f"{product:.12g}")


def _placed(hits: Sequence[Facts]) -> list[Facts]:
    placed = sorted(hits, key=lambda hit: hit.rank)
    assert [hit.rank for hit in placed] == [*range(len(placed))], "ranks are not 0, 1, 2, …"
    return placed


def _place(hit: Rated) -> tuple[float, str, int]:
    """Best first; equal ones by id, and those of equal ids in two workspaces as they were."""
    assert hit.final is not None
    return -hit.final, hit.facts.id, hit.facts.rank


def _positive(scores: Sequence[object] | None, count: int) -> list[float] | None:
    """The rerank scores as they may be multiplied: all of them, or none."""
    if scores is None or len(scores) != count:
        return None
    found: list[float] = []
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, Real):
            return None
        try:
            found.append(float(score))
        except OverflowError:  # a whole number that no float holds is not finite as one
            return None
    return found if all(math.isfinite(score) and score > 0 for score in found) else None


def _trace(
    rated: Sequence[Rated],
    profile: Profile,
    now: Instant,
    freshness_from: str,
    base: _Base | None,
    why: str,
) -> Trace:
    counts = Counter(hit.validity.grade for hit in rated)
    return Trace(
        profile=profile,
        now=now,
        freshness_from=freshness_from_of(freshness_from),
        grade_counts={grade: counts[grade] for grade in Grade},
        reranked=base is not None,
        base=None if base is None else str(base),
        why=why,
    )


_Name = TypeVar("_Name", bound=StrEnum)


def _named(names: type[_Name], value: str, argument: str) -> _Name:
    for name in names:
        if name == value:
            return name
    accepted = " or ".join(repr(str(name)) for name in names)
    raise CallerError(f"{argument} is {value!r:.60}, which is none; give {accepted}")
