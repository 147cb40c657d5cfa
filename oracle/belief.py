"""What is live, held and contested at one instant, as known after one commit.

Section 3 of the semantics, read pointwise: at one pair of coordinates every extent is yes or no,
so there are no intervals here, only sets of keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from doxa.oracle.log import Claim, Correction, Key, Log, Support, Withdrawal, likeness


@dataclass(frozen=True, eq=False, slots=True)
class Belief:
    """All workspaces at one pair of coordinates.

    ``withdrawn``: targets of live withdrawals. ``dead``: withdrawn sources, each with the
    workspace it was withdrawn in. ``corrected``: claims with a live correction, and what they are
    corrected by. ``ambiguous``: claims that live unresolved corrections may mean, with those.
    ``based``: supports whose basis is here. ``held``, ``contested``: claims.
    """

    withdrawn: frozenset[Key]
    dead: frozenset[Key]
    corrected: dict[Key, list[Key | None]]
    ambiguous: dict[Key, list[Key]]
    based: frozenset[Key]
    held: frozenset[Key]
    contested: frozenset[Key]

    def has_source(self, workspace: str, source: str) -> bool:
        """Whether a source stands for a workspace: withdrawn neither there nor in the shared."""
        return _stands(source, workspace, self.dead)


@lru_cache(maxsize=16)
def believe(log: Log, valid_at: int, known_at: int) -> Belief:
    """The belief at an instant, as known at a position. O(events), times the rounds of `_held`."""
    withdrawn, dead = _taken_back(log.withdrawals, valid_at, known_at)

    def live(event: Claim | Support | Correction, source: str | None) -> bool:
        return (
            event.position <= known_at
            and event.covers(valid_at)
            and event.key not in withdrawn
            and (isinstance(event, Correction) or not log.erased_by(event.key, known_at))
            and (source is None or _stands(source, event.workspace, dead))
        )

    corrections = [c for c in log.corrections if live(c, c.source)]
    resolved = {c.resolves for c in corrections}
    corrected: dict[Key, list[Key | None]] = {}
    ambiguous: dict[Key, list[Key]] = {}
    for correction in corrections:
        if correction.key in resolved:
            continue
        for candidate in correction.candidates:
            ambiguous.setdefault(candidate, []).append(correction.key)
        target = correction.corrects or _met(log, correction, valid_at, known_at)
        if target is not None:
            corrected.setdefault(target, []).append(correction.by)
    claims = {
        key: claim
        for key, claim in log.claims.items()
        if live(claim, None) and key not in corrected
    }
    supports = [support for support in log.supports.values() if live(support, support.source)]
    held = _held(claims, supports)
    based = [s for s in supports if s.source is not None or all(a in held for a in s.because)]
    refuted = {support.claim for support in based if support.refutes}
    rivals = _rivals(log, {key: claims[key] for key in held}, withdrawn, known_at)
    return Belief(
        withdrawn=frozenset(withdrawn),
        dead=frozenset(dead),
        corrected=corrected,
        ambiguous=ambiguous,
        based=frozenset(support.key for support in based),
        held=frozenset(held),
        contested=frozenset(held & (refuted | rivals)),
    )


def _met(log: Log, correction: Correction, valid_at: int, known_at: int) -> Key | None:
    """The claim that a dangling correction named, if it has come and is reached here: within the
    bounds that were stated, else within the claim's own and its replacement's."""
    claim = log.claims.get(correction.dangling) if correction.dangling is not None else None
    if claim is None or claim.position > known_at:
        return None
    ends = [claim] if correction.by is None else [claim, log.claims[correction.by]]
    after_start = correction.stated[0] or all(valid_at >= each.valid_from for each in ends)
    before_end = correction.stated[1] or all(valid_at < each.valid_to for each in ends)
    return claim.key if after_start and before_end else None


def _stands(source: str, workspace: str, dead: Set[Key]) -> bool:
    return (workspace, source) not in dead and ("", source) not in dead


def _taken_back(
    withdrawals: list[Withdrawal], valid_at: int, known_at: int
) -> tuple[set[Key], set[Key]]:
    """The targets and the sources that live withdrawals take back here.

    A withdrawal can be taken back only by a later one, so going from the last to the first,
    each one's fate is settled before it counts.
    """
    targets: set[Key] = set()
    sources: set[Key] = set()
    for withdrawal in reversed(withdrawals):
        if withdrawal.position > known_at or not withdrawal.covers(valid_at):
            continue
        if withdrawal.key in targets:
            continue
        if withdrawal.target is not None:
            targets.add(withdrawal.target)
        elif withdrawal.source is not None:
            sources.add((withdrawal.workspace, withdrawal.source))
    return targets, sources


def _held(claims: dict[Key, Claim], supports: list[Support]) -> set[Key]:
    """The least set that holds every live claim with a basis: begin with none, add until still.

    ``claims`` and ``supports`` are those whose own extent is here.
    """
    held: set[Key] = set()
    waiting = [
        support
        for support in supports
        if not support.refutes
        and support.claim in claims
        and claims[support.claim].kind != "hypothesis"
    ]
    while True:
        still_waiting = []
        for support in waiting:
            if support.source is not None or all(a in held for a in support.because):
                held.add(support.claim)
            else:
                still_waiting.append(support)
        if len(still_waiting) == len(waiting):
            return held
        waiting = still_waiting[::-1]  # the other way round, for conclusions older than premises


def _agree(log: Log, one: Claim, other: Claim) -> bool:
    """Whether two claims about one thing say the same, as far as it is known of erased ones."""
    if not one.erased and not other.erased:
        return likeness(one.object) == likeness(other.object)
    for claim, fellow in (one, other), (other, one):
        if claim.key in log.erasures and fellow.key in log.erasures[claim.key][1].agrees:
            return True
    return False


def _rivals(log: Log, held: dict[Key, Claim], withdrawn: set[Key], known_at: int) -> set[Key]:
    """The held claims that have a held rival."""
    policies = [p for p in log.policies if p.position <= known_at and p.key not in withdrawn]
    single_valued = {
        (p.workspace, log.digest("predicate", p.single_valued)) for p in policies if p.single_valued
    }
    places: dict[Hashable, list[Claim]] = defaultdict(list)
    for claim in held.values():
        about = log.about(claim)
        if {(claim.workspace, about[1]), ("", about[1])} & single_valued:
            places[claim.workspace, *about].append(claim)
    rivals: set[Key] = set()
    for fellows in places.values():
        for one, other in permutations(fellows, 2):
            if not _agree(log, one, other):
                rivals.add(one.key)
    for policy in policies:
        declared = {key for key in policy.contradicts if key in held}
        if len(declared) > 1:
            rivals |= declared
    return rivals
