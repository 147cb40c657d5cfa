"""Calibration: from which dense score on a hit is taken for an answer, and how well that parts the
questions that have one from those that have none.

The **confidence** of a score is logistic, with 0.5 at the boundary. It is a ranking, not a
probability: it says on which side of the boundary a score is, and how many scales away, and nothing
of how often such a hit is right. **Certification** says how sure it is that the scores part the two
at all; it never moves the boundary.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from doxa.engine.cases import Case, split
from doxa.engine.errors import CallerError
from doxa.engine.fields import LABEL_LIMIT
from doxa.engine.figures import (
    ENOUGH,
    Certification,
    auc,
    auc_lower,
    certification,
    confidence,
    cosines,
    middle,
    quantile,
)
from doxa.engine.outcomes import Gap

__all__ = [
    "BOUNDARY",
    "DEFAULT",
    "SCALE",
    "Calibration",
    "Certification",
    "HeldOut",
    "Parameters",
    "Refusal",
    "Scores",
    "calibrate",
    "few",
    "fit",
    "judged_at",
    "read",
]

METHOD: Final = "mid-gap-v1"
BOUNDARY: Final = 0.5  # where nothing is known, as the next
SCALE: Final = 0.05
LEAST_SCALE: Final = 0.01
LARGEST_SCALE: Final = 1.0
_MANY: Final = 1_000_000_000  # more of anything is no count
_DIMENSIONS: Final = 65_536

Scores = Callable[[Sequence[str]], Sequence[float]]  # the best dense score of each question


class Parameters(NamedTuple):
    """What a score is judged by: the boundary, the width of the logistic, and whether both come
    from a calibration, which one."""

    boundary: float
    scale: float
    calibrated: bool
    id: str | None = None


DEFAULT: Final = Parameters(BOUNDARY, SCALE, False)


class Refusal(NamedTuple):
    """Why what was recorded is not used as a calibration: the word for it, and a sentence."""

    gap: Gap
    detail: str


def _share(some: int, of: int) -> float | None:
    return some / of if of else None


# ---------------------------------------------------------------- a calibration


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How a calibration judges questions that it was not fitted with: how many there are of each
    label, and how many of them are on the wrong side of the boundary."""

    answerable: int = 0
    unanswerable: int = 0
    wrongly_confident: int = 0  # unanswerable, at the boundary or above
    wrongly_abstained: int = 0  # answerable, below

    @property
    def false_confidence(self) -> float | None:
        """The share of the unanswerable that are judged confident; ``None`` without any."""
        return _share(self.wrongly_confident, self.unanswerable)

    @property
    def false_abstention(self) -> float | None:
        """The share of the answerable that are not judged confident; ``None`` without any."""
        return _share(self.wrongly_abstained, self.answerable)


@dataclass(frozen=True, slots=True)
class Calibration:
    """From which dense score on a hit is taken for an answer, for one embedder and index.

    ``lineage`` is the version of what was embedded and ``documents`` how many of them had vectors
    when it was fitted. ``answerable`` and ``unanswerable`` count the questions that it was fitted
    with; ``separated`` says whether the 5 % quantile of the former is above the 95 % quantile of
    the latter, between which the ``boundary`` lies.
    """

    embedder: str
    dimension: int
    lineage: str
    documents: int
    boundary: float
    scale: float
    separated: bool
    answerable: int
    unanswerable: int
    auc: float
    auc_lower: float
    certification: Certification
    held_out: HeldOut = HeldOut()

    @property
    def id(self) -> str:
        """Its name, made of its content: equal calibrations have equal ids."""
        text = json.dumps(
            self._content(), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"calibration-{digest.hexdigest()}"

    @property
    def parameters(self) -> Parameters:
        """What scores are judged by."""
        return Parameters(self.boundary, self.scale, True, self.id)

    @property
    def certified(self) -> bool:
        """Whether it is certified."""
        return self.certification is Certification.CERTIFIED

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be said with it, in sentences."""
        held = few(self.held_out.answerable, self.held_out.unanswerable)
        told = [
            f"fitted with {asked}: nothing is certified"
            for asked in few(self.answerable, self.unanswerable)
        ]
        told += [f"held out {asked}: their rate says little" for asked in held]
        if not self.separated:
            told.append("the scores of the two labels overlap at the boundary")
        return tuple(told)

    def confidence(self, score: float) -> float:
        """The confidence of a dense score: a ranking, not a probability."""
        return confidence(score, self.boundary, self.scale)

    def as_json(self) -> dict[str, Any]:
        """What a policy event records of it: `read` gives it back."""
        return {"id": self.id, **self._content()}

    def _content(self) -> dict[str, Any]:
        held = self.held_out
        return {
            "method": METHOD,
            **{name: getattr(self, name) for name in _NAMES if name != "certification"},
            "certification": str(self.certification),
            "held_out": {name: getattr(held, name) for name in _HELD_OUT},
        }


_HELD_OUT: Final = tuple(HeldOut.__dataclass_fields__)
_NAMES: Final = tuple(name for name in Calibration.__dataclass_fields__ if name != "held_out")


def few(answerable: int, unanswerable: int) -> Iterator[str]:
    """How many questions there are of each label that has too few of them."""
    for label, count in (("answerable", answerable), ("unanswerable", unanswerable)):
        if count < ENOUGH:
            yield f"{count} {label} questions, fewer than {ENOUGH}"


# ---------------------------------------------------------------- fitting


def calibrate(
    cases: Sequence[Case],
    scores: Scores,
    *,
    embedder: str,
    dimension: int,
    lineage: str,
    documents: int,
) -> Calibration:
    """Fits with one half of the cases, and says how the other half is judged then.

    ``scores`` gives the best dense score of each of many questions. Raises `CallerError`, as `fit`
    and `split` do.
    """
    halves = split(cases)
    queries = [case.query for half in halves for case in half]
    given = list(scores(queries))
    if len(given) != len(queries):
        raise CallerError(f"{len(queries)} questions were given {len(given)} scores")
    found: list[dict[bool, list[float]]] = []
    for half in halves:
        part, given = given[: len(half)], given[len(half) :]
        by_label: dict[bool, list[float]] = {True: [], False: []}
        for case, score in zip(half, part, strict=True):
            by_label[case.answerable].append(score)
        found.append(by_label)
    fitting, held_out = found
    return fit(
        fitting[True],
        fitting[False],
        embedder=embedder,
        dimension=dimension,
        lineage=lineage,
        documents=documents,
        held_out=(held_out[True], held_out[False]),
    )


def fit(
    answerable: Sequence[float],
    unanswerable: Sequence[float],
    *,
    embedder: str,
    dimension: int,
    lineage: str,
    documents: int,
    held_out: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Calibration:
    """The calibration of the best dense scores (cosines) of answerable and unanswerable questions.

    The boundary is the middle between the 5 % quantile of the answerable and the 95 % quantile of
    the unanswerable scores, also where they overlap; the scale a quarter of the difference of the
    lower quartile of the former and the upper quartile of the latter, 0.01 at least. ``held_out``
    are scores of both labels that are only judged by it. Raises `CallerError` where a label has no
    score, or one is no cosine.
    """
    try:
        _text(embedder, "embedder"), _text(lineage, "lineage")
        _count(dimension, "dimension", 1, _DIMENSIONS), _count(documents, "documents", 0)
    except _Unusable as error:
        raise CallerError(str(error)) from None
    right, wrong = cosines(answerable, "answerable"), cosines(unanswerable, "unanswerable")
    low, high = quantile(right, 5), quantile(wrong, 95)
    boundary = middle(right, wrong)
    area = auc(right, wrong)
    lower = auc_lower(area, len(right), len(wrong))
    held = [cosines(scores, "held out", least=0) for scores in held_out]
    return Calibration(
        embedder=embedder,
        dimension=dimension,
        lineage=lineage,
        documents=documents,
        boundary=boundary,
        scale=max(LEAST_SCALE, (quantile(right, 25) - quantile(wrong, 75)) / 4),
        separated=low > high,
        answerable=len(right),
        unanswerable=len(wrong),
        auc=area,
        auc_lower=lower,
        certification=certification(len(right), len(wrong), lower),
        held_out=judged_at(boundary, *held),
    )


def judged_at(
    boundary: float, answerable: Sequence[float], unanswerable: Sequence[float]
) -> HeldOut:
    """How a boundary judges scores of both labels."""
    return HeldOut(
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        wrongly_confident=sum(score >= boundary for score in unanswerable),
        wrongly_abstained=sum(score < boundary for score in answerable),
    )


# ---------------------------------------------------------------- reading what was recorded


class _Unusable(Exception):
    """Why something is no calibration."""


def read(
    value: object, *, embedder: str, dimension: int | None, lineage: str
) -> Calibration | Refusal:
    """The calibration that a policy event recorded, or why it is not one that may be used here.

    Nothing that was recorded is trusted: whatever is absent, malformed, out of range, at odds with
    the rest of it or fitted for something else is refused, as missing; one that was fitted for
    another version of what is embedded is stale. A ``dimension`` that is not known is ``None``, and
    not compared. It never raises.
    """
    if value is None:
        return Refusal(Gap.CALIBRATION_MISSING, "nothing was calibrated")
    try:
        found = _calibration(value)
    except _Unusable as error:
        return Refusal(Gap.CALIBRATION_MISSING, f"the calibration can't be used: {error}")
    fitted = f"{found.id} was fitted for"
    if found.embedder != embedder:
        detail = f"{fitted} the embedder {found.embedder!r:.80}, not {embedder!r:.80}"
        return Refusal(Gap.CALIBRATION_MISSING, detail)
    if dimension not in (None, found.dimension):
        detail = f"{fitted} {found.dimension} dimensions, not {dimension}"
        return Refusal(Gap.CALIBRATION_MISSING, detail)
    if found.lineage != lineage:
        detail = f"{fitted} texts of version {found.lineage!r:.80}, not {lineage!r:.80}"
        return Refusal(Gap.CALIBRATION_STALE, detail)
    return found


def _calibration(value: object) -> Calibration:
    fields = _object(value, "it", ("id", "method", *_NAMES, "held_out"))
    if fields["method"] != METHOD:
        raise _Unusable(f"its method is {_shown(fields['method'])}, not {METHOD!r}")
    held = _object(fields["held_out"], "held_out", _HELD_OUT)
    counts = {name: _count(held[name], name, 0) for name in _HELD_OUT}
    for wrong, of in (("wrongly_confident", "unanswerable"), ("wrongly_abstained", "answerable")):
        if counts[wrong] > counts[of]:
            raise _Unusable(f"{wrong} is {counts[wrong]} of {counts[of]} held out")
    if type(fields["separated"]) is not bool:
        raise _Unusable(f"separated is {_shown(fields['separated'])}; it is true or false")
    answerable = _count(fields["answerable"], "answerable", 1)
    unanswerable = _count(fields["unanswerable"], "unanswerable", 1)
    area = _number(fields["auc"], "auc", 0, 1)
    lower = _number(fields["auc_lower"], "auc_lower", 0, 1)
    if not math.isclose(lower, auc_lower(area, answerable, unanswerable), abs_tol=1e-9):
        raise _Unusable(f"auc_lower is {lower}, which an auc of {area} does not give")
    certified = certification(answerable, unanswerable, lower)
    if fields["certification"] != str(certified):
        said = _shown(fields["certification"])
        raise _Unusable(f"certification is {said}, but the rest of it is {certified}")
    found = Calibration(
        embedder=_text(fields["embedder"], "embedder"),
        dimension=_count(fields["dimension"], "dimension", 1, _DIMENSIONS),
        lineage=_text(fields["lineage"], "lineage"),
        documents=_count(fields["documents"], "documents", 0),
        boundary=_number(fields["boundary"], "boundary", -1, 1),
        scale=_number(fields["scale"], "scale", LEAST_SCALE, LARGEST_SCALE),
        separated=fields["separated"],
        answerable=answerable,
        unanswerable=unanswerable,
        auc=area,
        auc_lower=lower,
        certification=certified,
        held_out=HeldOut(**counts),
    )
    if fields["id"] != found.id:
        raise _Unusable(f"its id is {_shown(fields['id'])}, but its content makes {found.id}")
    return found


def _object(value: object, what: str, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Unusable(f"{what} is {_shown(value)}, not an object")
    missing = [name for name in names if name not in value]
    if missing:
        raise _Unusable(f"{what} has no {missing[0]}")
    unknown = [key for key in value if key not in names]
    if unknown:
        raise _Unusable(f"{what} has the key {_shown(unknown[0])}, which is none of its own")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LABEL_LIMIT:
        raise _Unusable(f"{what} is {_shown(value)}; it is a text of up to {LABEL_LIMIT}")
    return value


def _count(value: object, what: str, least: int, most: int = _MANY) -> int:
    if type(value) is not int or not least <= value <= most:
        raise _Unusable(f"{what} is {_shown(value)}; it is a whole number from {least} to {most}")
    return value


def _number(value: object, what: str, least: float, most: float) -> float:
    if type(value) not in (int, float):
        raise _Unusable(f"{what} is {_shown(value)}; it is a number")
    assert isinstance(value, int | float)
    if not least <= value <= most:  # NaN too
        raise _Unusable(f"{what} is {_shown(value)}; it is from {least} to {most}")
    return float(value) + 0.0


def _shown(value: object) -> str:
    """A value in few characters; its type, where it is long or can't be shown."""
    if isinstance(value, str):
        return f"{value!r:.80}"
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and value.bit_length() < 64:
        return repr(value)
    return f"of type {type(value).__name__}"
