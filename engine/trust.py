"""How far a hit may be acted on: its verdict, the successor that takes its place, the warning that
goes out with its text, and what is said where nothing can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from doxa.engine.belief import Standing
from doxa.engine.outcomes import Trust, Verdict

__all__ = [
    "NAMED",
    "Abstention",
    "Abstinence",
    "Gate",
    "gap_warning",
    "in_band",
    "verdict",
]

NAME_LIMIT: Final = 40  # characters of a name in a warning
NAMED: Final = 3  # names in a warning

# A standing that is a verdict by itself, in the order of precedence (see `verdict`).
_BY_STANDING: Final = {
    Standing.NOT_YET_KNOWN: Verdict.NOT_YET_KNOWN,
    Standing.REDACTED: Verdict.REDACTED,
    Standing.COMPACTED: Verdict.COMPACTED,
    Standing.RETRACTED: Verdict.RETRACTED,
    Standing.SUPERSEDED: Verdict.SUPERSEDED,
    Standing.EXPIRED: Verdict.EXPIRED,
    Standing.NOT_YET_VALID: Verdict.NOT_YET_VALID,
    Standing.HYPOTHESIS: Verdict.HYPOTHESIS,
    Standing.UNSUPPORTED: Verdict.UNSUPPORTED,
    Standing.CONTESTED: Verdict.CONTESTED,
}
_PLACE: Final = {one: place for place, one in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class Gate:
    """What decides at one recall: the kind of trust and, where confidence is judged, how.

    ``boundary`` is the cosine at which confidence is 0.5, ``scale`` the width of the logistic.
    """

    trust: Trust
    boundary: float
    scale: float
    calibrated: bool = False
    calibration: str | None = None

    def confidence(self, score: float) -> float | None:
        """The confidence of a dense score, in (0, 1); ``None`` where there is no score, or where
        standing alone decides. A ranking, not a probability."""
        if self.trust is Trust.STANDING or math.isnan(score):
            return None
        return 1 / (1 + math.exp((self.boundary - score) / self.scale))

    def confident(self, score: float) -> bool:
        """Whether a dense score reaches the boundary; where standing alone decides, none does."""
        return self.trust is not Trust.STANDING and score >= self.boundary  # false of NaN


def verdict(standings: Iterable[Standing], ambiguous: bool, gate: Gate, score: float) -> Verdict:
    """The verdict of a hit that rests on claims of these standings: the first that applies.

    ``ambiguous`` says whether an unresolved correction may mean one of them; ``score`` is the dense
    one, NaN where there is none.
    """
    found = [
        _BY_STANDING[standing]
        for standing in standings
        if standing is not Standing.REPORTED and standing is not Standing.CORROBORATED
    ]
    if ambiguous:
        found.append(Verdict.AMBIGUOUS_SUPERSESSION)
    if found:
        return min(found, key=_PLACE.__getitem__)
    if gate.trust is not Trust.STRICT:
        return Verdict.UNVERIFIED
    return Verdict.OK if gate.confident(score) else Verdict.LOW_CONFIDENCE


# ------------------------------------------------------------ what goes out with a text


def in_band(judged: Verdict, names: Sequence[str] = ()) -> str:
    """What stands before the text of a hit that is not ``ok``, in one line; "" before others.

    ``names`` are ids of what replaced it, or of what stands against it.

    >>> in_band(Verdict.SUPERSEDED, ["c2"])
    '[superseded by "c2": not current] '
    """
    if judged is Verdict.OK:
        return ""
    about = _listed(names)
    if judged is Verdict.SUPERSEDED:
        return f"[superseded{f' by {about}' if about else ''}: not current] "
    if judged is Verdict.CONTESTED:
        return f"[contested{f' by {about}' if about else ''}: not settled] "
    if judged is Verdict.AMBIGUOUS_SUPERSESSION:
        return f"[perhaps superseded{f', see {about}' if about else ''}: not settled] "
    return f"[{_TOLD[judged]}] "


_TOLD: Final = {
    Verdict.INVALID_METADATA: "invalid metadata: nothing is known of what this rests on",
    Verdict.NOT_YET_KNOWN: "not yet known at this view",
    Verdict.REDACTED: "redacted",
    Verdict.COMPACTED: "compacted: its history is gone",
    Verdict.RETRACTED: "retracted: not to be relied on",
    Verdict.EXPIRED: "expired: no longer applies",
    Verdict.NOT_YET_VALID: "not yet valid",
    Verdict.HYPOTHESIS: "hypothesis: nobody has confirmed it",
    Verdict.UNSUPPORTED: "unsupported: no evidence for it counts",
    Verdict.LOW_CONFIDENCE: "low confidence: it may not answer the question",
    Verdict.NOT_ENTAILED: "not entailed: it does not answer the question",
    Verdict.UNVERIFIED: "unverified",
}


def _listed(names: Sequence[str]) -> str:
    shown = [short(name) for name in names[:NAMED]]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(shown) + more


def short(name: str) -> str:
    r"""A name in quotes, without what can't be seen, and cut where it is long.

    >>> short('c2"]\n[ok')
    '"c2\')(ok"'
    """
    plain = "".join(filter(str.isprintable, name)).translate(_HARMLESS).strip()
    cut = plain if len(plain) <= NAME_LIMIT else f"{plain[: NAME_LIMIT - 1]}…"
    return f'"{cut}"'


_HARMLESS: Final = str.maketrans({'"': "'", "[": "(", "]": ")", "\\": "/"})


# ------------------------------------------------------------ where nothing can be trusted


class Abstinence(StrEnum):
    """Why there was nothing to trust."""

    NOTHING_FOUND = "nothing_found"
    SUPERSEDED = "superseded"
    OUTSIDE_WINDOW = "outside_window"
    RETRACTED = "retracted"
    UNSUPPORTED = "unsupported"
    HYPOTHESIS = "hypothesis"
    CONTESTED = "contested"
    AMBIGUOUS = "ambiguous"
    BAD_METADATA = "bad_metadata"
    BELOW_BOUNDARY = "below_boundary"
    NOT_ENTAILED = "not_entailed"
    ERASED = "erased"


_ABSTINENCE: Final = {
    Verdict.INVALID_METADATA: Abstinence.BAD_METADATA,
    Verdict.NOT_YET_KNOWN: Abstinence.OUTSIDE_WINDOW,
    Verdict.REDACTED: Abstinence.ERASED,
    Verdict.COMPACTED: Abstinence.ERASED,
    Verdict.RETRACTED: Abstinence.RETRACTED,
    Verdict.AMBIGUOUS_SUPERSESSION: Abstinence.AMBIGUOUS,
    Verdict.SUPERSEDED: Abstinence.SUPERSEDED,
    Verdict.EXPIRED: Abstinence.OUTSIDE_WINDOW,
    Verdict.NOT_YET_VALID: Abstinence.OUTSIDE_WINDOW,
    Verdict.HYPOTHESIS: Abstinence.HYPOTHESIS,
    Verdict.UNSUPPORTED: Abstinence.UNSUPPORTED,
    Verdict.CONTESTED: Abstinence.CONTESTED,
    Verdict.LOW_CONFIDENCE: Abstinence.BELOW_BOUNDARY,
    Verdict.NOT_ENTAILED: Abstinence.NOT_ENTAILED,
}


@dataclass(frozen=True, slots=True)
class Abstention:
    """Why an answer abstains: the reason that what matched best gives, in one word and in a
    sentence, and the ids that it is about."""

    reason: Abstinence
    detail: str
    ids: tuple[str, ...] = ()

    @classmethod
    def over(cls, judged: Verdict, id: str, others: Sequence[str], gate: Gate) -> Abstention:
        """What is said where the best match has this verdict. ``others`` are what replaced it, what
        stands against it, or the corrections that may mean it."""
        reason, about, by = _ABSTINENCE[judged], short(id), _listed(others)
        details = {
            Abstinence.SUPERSEDED: f"{about} is superseded{f' by {by}' if by else ', by nothing'}",
            Abstinence.OUTSIDE_WINDOW: f"{about} is {judged.replace('_', ' ')} at this view: ask "
            "at another valid_at or known_at",
            Abstinence.RETRACTED: f"{about} was taken back",
            Abstinence.UNSUPPORTED: f"{about} has no evidence that counts: none was given, or what "
            "it rested on is gone",
            Abstinence.HYPOTHESIS: f"{about} is a hypothesis",
            Abstinence.CONTESTED: f"{about} is contested{f' by {by}' if by else ''}; withdraw or "
            "correct one of them to settle it",
            Abstinence.AMBIGUOUS: f"{about} may have been superseded{f' (see {by})' if by else ''}"
            ": record a correction that resolves it, or withdraw it",
            Abstinence.BAD_METADATA: f"{about} does not say what it rests on",
            Abstinence.BELOW_BOUNDARY: f"{about}, the best of these, is below the boundary of "
            f"{gate.boundary:.3f}",
            Abstinence.NOT_ENTAILED: f"{about} does not answer the question, by the judge",
            Abstinence.ERASED: f"{about} was erased",
        }
        return cls(reason, details[reason], (id, *others))


def gap_warning(scores: Iterable[float], gate: Gate) -> str | None:
    """A warning where the best dense score is less than one scale above the boundary: what is
    recorded may hold no answer. ``None`` where there is no dense score, or a clear one."""
    known = [score for score in scores if not math.isnan(score)]
    if not known or gate.trust is Trust.STANDING:
        return None
    best = max(known)
    if best >= gate.boundary + gate.scale:
        return None
    side = "below" if best < gate.boundary else "hardly above"
    return (
        f"the best dense score, {best:.3f}, is {side} the boundary of {gate.boundary:.3f}: there "
        "may be nothing recorded that answers this"
    )
