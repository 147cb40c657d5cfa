"""Conflicts: which claims are rivals of one another, the sides, and who speaks for a side."""

from __future__ import annotations

from doxa.oracle.log import Claim, Key, likeness
from doxa.oracle.searched import Sight
from doxa.oracle.truth import Truth

__all__ = ["component", "sides", "speaks_for"]


def component(truth: Truth, claim: Key) -> set[Key]:
    """A contested claim with its rivals, their rivals, and so on."""
    found, fresh = {claim}, [claim]
    while fresh:
        at = fresh.pop()
        for other in truth.belief.held:
            if other not in found and _rivals(truth, at, other):
                found.add(other)
                fresh.append(other)
    return found


def _rivals(truth: Truth, one: Key, other: Key) -> bool:
    """Whether two held claims are rivals."""
    log, belief = truth.log, truth.belief
    a, b = log.claims[one], log.claims[other]
    policies = [
        policy
        for policy in log.policies
        if policy.position <= truth.known_at and policy.key not in belief.withdrawn
    ]
    if any(one in policy.contradicts and other in policy.contradicts for policy in policies):
        return True
    single_valued = any(
        policy.single_valued == a.predicate and policy.workspace in ("", a.workspace)
        for policy in policies
    )
    return single_valued and _about(a) == _about(b) and likeness(a.object) != likeness(b.object)


def _about(claim: Claim) -> tuple[str, str, str, str]:
    """Where one value only may be held, if the predicate has one."""
    return claim.workspace, claim.perspective, claim.subject, claim.predicate


def sides(truth: Truth, claims: set[Key]) -> list[Key]:
    """The claims of a conflict, and then the live evidence against them, in log order."""
    log, based = truth.log, truth.belief.based
    against = [
        key
        for key, support in log.supports.items()
        if support.refutes and support.claim in claims and key in based
    ]
    return [*(key for key in log.claims if key in claims), *against]


def speaks_for(sight: Sight, key: Key) -> list[Key]:
    """The sides that a document speaks for: claims that it states, and evidence against them; a
    text that rests on evidence for a claim speaks for the claim."""
    supports = sight.log.supports
    evidence = sight.supports_of(key)
    return [
        *sight.facts_of(key),
        *(each if supports[each].refutes else supports[each].claim for each in evidence),
    ]
