"""The words of an answer: how a recall came out, what is missing, how far a hit is trusted."""

from __future__ import annotations

from enum import StrEnum

from doxa.engine.errors import DoxaError
from doxa.engine.graph import ARTEFACT, CLAIM, SUPPORT

__all__ = ["Gap", "Mode", "Outcome", "Tier", "Trust", "Unavailable", "Verdict", "tier_of"]


class Outcome(StrEnum):
    """How a recall came out.

    ``answered``: whole. ``partial``: something is missing, and the reasons say what. ``abstained``:
    the gate ran, and found nothing to trust. ``refused``: the gate could not run; no text goes out.
    """

    ANSWERED = "answered"
    PARTIAL = "partial"
    ABSTAINED = "abstained"
    REFUSED = "refused"


class Gap(StrEnum):
    """Why an answer is partial, or was refused."""

    REVISION_UNPUBLISHED = "revision_unpublished"
    SOURCE_UNAVAILABLE = "source_unavailable"
    INDEX_UNAVAILABLE = "index_unavailable"
    HISTORY_BOUNDARY = "history_boundary"
    CANDIDATE_LIMIT = "candidate_limit"
    CONFLICT_COVERAGE = "conflict_coverage"
    VECTORS_UNAVAILABLE = "vectors_unavailable"
    NOT_READY = "not_ready"
    LINEAGE_MISMATCH = "lineage_mismatch"
    CALIBRATION_MISSING = "calibration_missing"
    CALIBRATION_UNCERTIFIED = "calibration_uncertified"
    CALIBRATION_STALE = "calibration_stale"
    DEPENDENCY_UNAVAILABLE = "dependency_unavailable"


class Verdict(StrEnum):
    """How far one hit may be acted on; the first of these that applies. Only ``ok`` is."""

    INVALID_METADATA = "invalid_metadata"
    NOT_YET_KNOWN = "not_yet_known"
    REDACTED = "redacted"
    COMPACTED = "compacted"
    RETRACTED = "retracted"
    AMBIGUOUS_SUPERSESSION = "ambiguous_supersession"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    HYPOTHESIS = "hypothesis"
    UNSUPPORTED = "unsupported"
    CONTESTED = "contested"
    LOW_CONFIDENCE = "low_confidence"
    NOT_ENTAILED = "not_entailed"
    OK = "ok"
    UNVERIFIED = "unverified"


class Mode(StrEnum):
    """Which arms look for documents: that of words, that of vectors, or both with ranks fused."""

    LEXICAL = "lexical"
    DENSE = "dense"
    FUSED = "fused"


class Trust(StrEnum):
    """What decides about a hit: confidence and standing, standing alone, or nothing yet."""

    STRICT = "strict"
    STANDING = "standing"
    DEVELOPMENT = "development"


class Tier(StrEnum):
    """What kind of document a hit is."""

    CLAIM = "claim"
    SUMMARY = "summary"
    QUOTE = "quote"


_TIERS = {CLAIM: Tier.CLAIM, ARTEFACT: Tier.SUMMARY, SUPPORT: Tier.QUOTE}


def tier_of(document: int) -> Tier:
    """The tier of a document, given as the entity that it is."""
    return _TIERS[document & 7]


class Unavailable(DoxaError):
    """Something that a recall needs can't be had; in an answer it becomes a reason.

    ``disclosed`` is what an answer says of it: nothing of somebody else's error message, which may
    quote what was recorded. ``detail`` is for whoever is told by the error itself.
    """

    code = "unavailable"

    def __init__(self, reason: Gap, detail: str, disclosed: str | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail
        self.disclosed = detail if disclosed is None else disclosed
