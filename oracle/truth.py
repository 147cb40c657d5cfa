"""What a view must answer: standings, values, supports, successors, entries, eligibility."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from doxa.oracle.belief import Belief, believe
from doxa.oracle.log import Artefact, Claim, Key, Log, Policy, Support, likeness

HELD = ("contested", "corroborated", "reported")


class NotHeld(Exception):
    """No claim about the subject and predicate is held."""


class Several(Exception):
    """Several distinct objects are held."""


class Contested(Several):
    """A held claim about the subject and predicate is contested."""


class Entry(NamedTuple):
    """What a fingerprint is made of: one claim that is held or hypothesised."""

    workspace: str
    id: str
    standing: str
    supports: tuple[str, ...]


class Truth:
    """The answers at one pair of coordinates, worked out from the whole log.

    ``valid_at`` is an instant in microseconds, ``known_at`` the last position of a commit, or 0.
    The view sees ``workspace`` and, if ``shared``, the shared one; ``perspective`` narrows what
    it lists, never what is believed. O(events) to make and for each listing.
    """

    def __init__(
        self,
        log: Log,
        valid_at: int,
        known_at: int,
        workspace: str = "",
        shared: bool = True,
        perspective: str | None = None,
    ) -> None:
        if known_at and all(commit.last != known_at for commit in log.commits):
            raise ValueError(f"{known_at} is not the last position of a commit")
        self.log = log
        self.valid_at = valid_at
        self.known_at = known_at
        self.workspace = workspace
        self.shared = shared
        self.perspective = perspective
        self.belief: Belief = believe(log, valid_at, known_at)

    def sees(self, workspace: str) -> bool:
        """Whether a workspace is in sight."""
        return workspace == self.workspace or (self.shared and workspace == "")

    # ------------------------------------------------------------ claims

    def standing(self, id: str, workspace: str | None = None) -> str:
        """The standing of a claim; without a workspace, the view's own comes before the shared."""
        claim = self._claim(id, workspace)
        return "not_yet_known" if claim is None else self._standing(claim)

    def standings(self) -> dict[Key, str]:
        """The standing of every claim in sight that is known here, in the order of the log."""
        return {claim.key: self._standing(claim) for claim in self._claims()}

    def held(self) -> set[Key]:
        """The claims in sight that are held."""
        return {claim.key for claim in self._claims() if claim.key in self.belief.held}

    def values(self, subject: str, predicate: str) -> list[Any]:
        """The distinct objects held, the first recorded first."""
        distinct: dict[Any, Any] = {}
        for claim in self._held_about(subject, predicate):
            distinct.setdefault(likeness(claim.object), claim.object)
        return list(distinct.values())

    def contested(self, subject: str, predicate: str) -> bool:
        """Whether any claim held about this is contested."""
        return any(c.key in self.belief.contested for c in self._held_about(subject, predicate))

    def value(self, subject: str, predicate: str) -> Any:
        """The one object held. Raises `NotHeld`, `Contested` or `Several`."""
        values = self.values(subject, predicate)
        if not values:
            raise NotHeld(f"{subject} {predicate}")
        if self.contested(subject, predicate):
            raise Contested(f"{subject} {predicate}: {values}")
        if len(values) > 1:
            raise Several(f"{subject} {predicate}: {values}")
        return values[0]

    def live_supports(self, id: str, workspace: str | None = None) -> tuple[str, ...]:
        """The ids of a claim's supports that are live here, of both stances, sorted."""
        claim = self._claim(id, workspace)
        return () if claim is None else tuple(sorted(s.key[1] for s in self._live(claim)))

    def origins(self, id: str, workspace: str | None = None) -> tuple[tuple[str, ...], ...]:
        """The independent origins behind a claim's live source supports with stance supports.

        Each is the sorted names of the origins in it: those of supports that share an origin or
        a content digest, directly or through others.
        """
        claim = self._claim(id, workspace)
        return () if claim is None else _independent(self._sourced(claim))

    def ambiguous(self, id: str, workspace: str | None = None) -> tuple[str, ...]:
        """The live unresolved corrections that may mean a claim, oldest first."""
        claim = self._claim(id, workspace)
        keys = () if claim is None else self.belief.ambiguous.get(claim.key, ())
        return tuple(id for _, id in keys)

    def successors(self, id: str, workspace: str | None = None) -> tuple[str, ...]:
        """The claims at the ends of the live corrections from a claim: held first, then by age.

        A chain that ends in nothing, or runs in a ring, has no end to give.
        """
        claim = self._claim(id, workspace)
        if claim is None or claim.key not in self.belief.corrected:
            return ()
        ends: set[Key] = set()
        seen = {claim.key}
        open_ends = [claim.key]
        while open_ends:
            for key in self.belief.corrected[open_ends.pop()]:
                if key is None or key in seen:
                    continue
                seen.add(key)
                (open_ends.append if key in self.belief.corrected else ends.add)(key)
        claims = sorted(
            (self.log.claims[key] for key in ends),
            key=lambda c: (c.key not in self.belief.held, c.position),
        )
        return tuple(c.key[1] for c in claims)

    def entries(self, subjects: Iterable[str] | None = None) -> tuple[Entry, ...]:
        """What the fingerprint is over, sorted: equal entries, equal fingerprint."""
        wanted = None if subjects is None else set(subjects)
        entries = []
        for claim in self._claims():
            if wanted is not None and not self._about(claim, wanted):
                continue
            standing, stood = self._standing(claim), self._stood(claim)
            if stood in HELD or stood == "hypothesis":
                supports = tuple(sorted(s.key[1] for s in self._live(claim)))
                entries.append(Entry(*claim.key, standing, supports))
        return tuple(sorted(entries))

    # ------------------------------------------------------------ policies

    def policies(self) -> list[Policy]:
        """The policies in sight that are in force here, in the order of the log."""
        return [
            policy
            for policy in self.log.policies
            if policy.position <= self.known_at
            and self.sees(policy.workspace)
            and policy.key not in self.belief.withdrawn
        ]

    def pinned(self) -> list[Key]:
        """The claims that are pinned, each where it was pinned first."""
        pins = [policy.pinned for policy in self.policies() if policy.pinned is not None]
        return [pin for place, pin in enumerate(pins) if pin not in pins[:place]]

    def calibration(self, embedder: str) -> int | None:
        """The position of the last calibration for an embedder."""
        found = None
        for policy in self.policies():
            if policy.calibrated is not None and policy.calibrated.get("embedder") == embedder:
                found = policy.position
        return found

    def archived(self, id: str, workspace: str | None = None) -> bool:
        """Whether the newest policy in force that archives or restores a record archives it."""
        keys = [(place, id) for place in self._places(workspace)]
        key = next((k for k in keys if k in self.log.claims or k in self.log.artefacts), None)
        hidden = False
        for policy in self.log.policies:
            counts = policy.position <= self.known_at and policy.key not in self.belief.withdrawn
            if counts and key in (*policy.archived, *policy.restored):
                hidden = key in policy.archived
        return hidden

    def hidden(self, id: str, workspace: str | None = None) -> bool:
        """Whether a record is archived and not pinned: pins are never archived."""
        keys = [(place, id) for place in self._places(workspace)]
        pins = [
            policy.pinned
            for policy in self.log.policies
            if policy.position <= self.known_at and policy.key not in self.belief.withdrawn
        ]
        return self.archived(id, workspace) and not any(key in pins for key in keys)

    def importance(self, id: str, workspace: str | None = None) -> float:
        """The importance of a record as it was scored last; 0 where nobody did."""
        keys = [(place, id) for place in self._places(workspace)]
        found = 0.0
        for policy in self.log.policies:
            counts = policy.position <= self.known_at and policy.key not in self.belief.withdrawn
            if counts and policy.scored is not None and policy.scored[0] == keys[0]:
                found = policy.scored[1]
        return found

    # ------------------------------------------------------------ artefacts

    def eligible(self, id: str, workspace: str | None = None) -> tuple[bool, str | None]:
        """Whether a registered text may be served here, or else the first reason why not."""
        artefact = self._artefact(id, workspace)
        if artefact is None:
            return False, "unknown_artifact"
        reason = next(self.reasons(artefact), None)
        return reason is None, reason

    def artefacts(self) -> dict[Key, tuple[bool, str | None]]:
        """The eligibility of every artefact in sight that is registered here."""
        return {
            key: self.eligible(key[1], key[0])
            for key, artefact in self.log.artefacts.items()
            if self.sees(key[0]) and artefact.position <= self.known_at
        }

    def reasons(self, artefact: Artefact) -> Iterator[str]:
        """Every reason against an artefact, in the order of the law.

        Of one that is not registered yet nothing can be read, so there is no other reason.
        """
        belief = self.belief
        if artefact.position > self.known_at:
            yield "not_yet_registered"
            return
        if any(fact not in belief.held or self.log.claims[fact].erased for fact in artefact.facts):
            yield "missing_fact"
        if any(
            support not in belief.based or self.log.supports[support].erased
            for support in artefact.supports
        ) or any(not belief.has_source(artefact.workspace, source) for source in artefact.sources):
            yield "missing_support"
        if artefact.snapshot and not artefact.erased:
            here = Truth(self.log, self.valid_at, self.known_at, artefact.workspace)
            if here.entries(artefact.subjects) != _bound(self.log, artefact.key):
                yield "snapshot_mismatch"
        if not all(self._citable(citation) for citation in artefact.citations):
            yield "invalid_citation"
        if artefact.key in belief.withdrawn:
            yield "withdrawn"
        if artefact.erased:
            yield "redacted"

    def _citable(self, key: Key) -> bool:
        citation = self.log.artefacts.get(key)
        if citation is None or citation.kind != "citation":
            return False
        return next(self.reasons(citation), None) is None

    def _artefact(self, id: str, workspace: str | None) -> Artefact | None:
        known, later = None, None
        for place in self._places(workspace):
            found = self.log.artefacts.get((place, id))
            if found is not None and found.position <= self.known_at:
                known = known or found
            else:
                later = later or found
        return known or later

    # ------------------------------------------------------------ inside

    def _places(self, workspace: str | None) -> list[str]:
        """Where an id may live, in the order of looking."""
        places = [self.workspace, ""] if workspace is None else [workspace]
        return [place for place in places if self.sees(place)]

    def _claim(self, id: str, workspace: str | None) -> Claim | None:
        for place in self._places(workspace):
            claim = self.log.claims.get((place, id))
            if claim is not None and claim.position <= self.known_at:
                return claim
        return None

    def _claims(self) -> Iterator[Claim]:
        for claim in self.log.claims.values():
            if (
                claim.position <= self.known_at
                and self.sees(claim.workspace)
                and (self.perspective is None or claim.perspective == self.perspective)
            ):
                yield claim

    def _held_about(self, subject: str, predicate: str) -> Iterator[Claim]:
        for claim in self._claims():
            about = (claim.subject, claim.predicate) == (subject, predicate)
            if about and not claim.erased and claim.key in self.belief.held:
                yield claim

    def _live(self, claim: Claim) -> list[Support]:
        return [s for s in self.log.supports_of.get(claim.key, []) if s.key in self.belief.based]

    def _sourced(self, claim: Claim) -> list[Support]:
        return [s for s in self._live(claim) if s.source is not None and not s.refutes]

    def _about(self, claim: Claim, subjects: set[str]) -> bool:
        if not claim.erased:
            return claim.subject in subjects
        digests = {self.log.digest("subject", subject) for subject in subjects}
        return self.log.about(claim)[0] in digests

    def _standing(self, claim: Claim) -> str:
        return "redacted" if claim.erased else self._stood(claim)

    def _stood(self, claim: Claim) -> str:
        """How a claim stands, as if its content were not erased."""
        belief = self.belief
        if self.log.erased_by(claim.key, self.known_at):
            return "retracted"
        if claim.key in belief.withdrawn:
            return "retracted"
        if claim.key in belief.corrected:
            return "superseded"
        if self.valid_at < claim.valid_from:
            return "not_yet_valid"
        if self.valid_at >= claim.valid_to:
            return "expired"
        if claim.kind == "hypothesis":
            return "hypothesis"
        if claim.key not in belief.held:
            return "unsupported"
        if claim.key in belief.contested:
            return "contested"
        return "corroborated" if len(_independent(self._sourced(claim))) > 1 else "reported"


@lru_cache(maxsize=1024)
def _bound(log: Log, key: Key) -> tuple[Entry, ...]:
    """What a snapshot was bound to: the entries of its selection when it was registered."""
    artefact = log.artefacts[key]
    truth = Truth(log, artefact.valid_at, artefact.commit, artefact.workspace)
    return truth.entries(artefact.subjects)


def _independent(supports: list[Support]) -> tuple[tuple[str, ...], ...]:
    """The groups of origins, two in one group if they share a support's origin or digest."""
    groups: list[tuple[set[str], set[str]]] = []  # origins, digests
    for support in supports:
        assert support.source is not None
        origins = {support.source if support.origin is None else support.origin}
        digests = set() if support.digest is None else {support.digest}
        apart = []
        for group in groups:
            if group[0] & origins or group[1] & digests:
                origins |= group[0]
                digests |= group[1]
            else:
                apart.append(group)
        groups = [*apart, (origins, digests)]
    return tuple(sorted(tuple(sorted(origins)) for origins, _ in groups))
