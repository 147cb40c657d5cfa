"""What the validity profile asks of a document: who vouches for it, since when, until when."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.oracle.log import POS, Artefact, Claim, Key, Support
from doxa.oracle.searched import Document, Sight
from doxa.oracle.truth import HELD, Truth
from doxa.oracle.validity import Hit

__all__ = ["STANDINGS", "vouched"]

STANDINGS = (
    "not_yet_known", "redacted", "compacted", "retracted", "superseded", "not_yet_valid",
    "expired", "hypothesis", "unsupported", "contested", "reported", "corroborated",
)  # fmt: skip

LISTED = 16  # pieces of evidence


def vouched(sight: Sight, document: Document) -> Hit:
    """A document as the validity profile sees it at a view."""
    truth, key = sight.truth, document.key
    claims = sight.claims_of(key)
    standings = [sight.standing(claim) for claim in claims]
    verified = _verified(truth, claims)
    observed = [support.observed_at for support in _evidence(sight, key) if not support.refutes]
    looked = [at for at in (*observed, verified) if at is not None]
    scope = "global" if key[0] == "" else "none"
    return Hit(
        id=key[1],
        standing=min(standings, key=STANDINGS.index, default="reported"),
        scope="exact" if key[0] == truth.workspace else scope,
        recorded_at=_recorded(sight, key),
        observed_at=max(looked, default=None),
        valid_to=_until(sight, document),
        verified=verified is not None,
        corroborated=bool(claims) and all(_origins(truth, claim) > 1 for claim in claims),
    )


def _own(truth: Truth, workspace: str) -> Truth:
    return Truth(truth.log, truth.valid_at, truth.known_at, workspace)


def _origins(truth: Truth, claim: Key) -> int:
    return len(_own(truth, claim[0]).origins(claim[1], claim[0]))


def _verified(truth: Truth, claims: Iterable[Key]) -> int | None:
    """Since when all claims are verified, each by its newest verification in force."""
    since: list[int] = []
    for claim in claims:
        at = [
            policy.recorded_at
            for policy in truth.log.policies
            if policy.verified == claim
            and policy.position <= truth.known_at
            and policy.key not in truth.belief.withdrawn
        ]
        if not at:
            return None
        since.append(max(at))
    return min(since, default=None)


def _evidence(sight: Sight, key: Key) -> list[Support]:
    """The live evidence about the claims of a document, and what it declares; of a quote itself; of
    what rests on sources alone the newest from each, as much as a hit lists."""
    log, based = sight.log, sight.truth.belief.based
    if key in log.supports:
        return [log.supports[key]]
    about = [each for claim in sight.claims_of(key) for each in log.supports_of.get(claim, [])]
    found = [each for each in about if each.key in based]
    found += (log.supports[each] for each in sight.supports_of(key))
    if found or key not in log.artefacts:
        return found
    for source in log.artefacts[key].sources:
        said = [
            each
            for each in log.supports.values()
            if (each.workspace, each.source) == (key[0], source)
            and each.position <= sight.truth.known_at
        ]
        found += (each for each in said[-LISTED:] if each.key in based)
    return found


def _recorded(sight: Sight, key: Key) -> int:
    log = sight.log
    found: Claim | Support | Artefact | None
    found = log.claims.get(key) or log.supports.get(key) or log.artefacts.get(key)
    assert found is not None, key
    return found.recorded_at


def _until(sight: Sight, document: Document) -> int | None:
    """The first instant behind the view's at which something that a document rests on has ended;
    of what is not held, the end that was stated."""
    truth, log = sight.truth, sight.log
    if document.tier != "summary":
        (claim,) = (log.claims[each] for each in sight.claims_of(document.key))
        if sight.standing(claim.key) not in HELD:
            return None if claim.valid_to == POS else claim.valid_to
    for instant in log.boundaries():
        if instant > truth.valid_at:
            then = Truth(log, instant, truth.known_at, truth.workspace, truth.shared)
            if not _stands(sight, then, document.key):
                return instant
    return None


def _stands(sight: Sight, then: Truth, key: Key) -> bool:
    """Whether all that a document rests on stands at another instant."""
    belief = then.belief
    artefacts = sight.artefacts_of(key)
    return (
        all(claim in belief.held for claim in sight.facts_of(key))
        and all(support in belief.based for support in sight.supports_of(key))
        and all(artefact.key not in belief.withdrawn for artefact in artefacts)
        and all(
            belief.has_source(artefact.workspace, source)
            for artefact in artefacts
            for source in artefact.sources
        )
    )
