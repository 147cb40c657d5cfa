"""The engine beside the oracle: every answer of a ledger, held against full recomputation.

`Comparison` yields what differs, as sentences, in the order in which it looks: first what is
believed at each pair of coordinates, then what relates two of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from random import Random
from typing import Any, NamedTuple

from doxa import oracle
from doxa.engine import policies
from doxa.engine.errors import (
    CallerError,
    Contested,
    CorrectionRing,
    NotHeld,
    SeveralHeld,
    UnknownTarget,
)
from doxa.engine.graph import NONE
from doxa.engine.reconcile import Outcome
from doxa.engine.times import instant
from doxa.ledger import Ledger
from doxa.oracle import Cause, Log, Truth
from doxa.oracle.belief import believe
from doxa.oracle.log import Correction, Support
from doxa.views import TruthView
from tests.histories import (
    EMBEDDERS,
    INSTANTS,
    PERSPECTIVES,
    PREDICATES,
    SUBJECTS,
    WORKSPACES,
    Fields,
    iso,
    moment,
)
from tests.walks import Refusal

ABOUT = tuple(product(SUBJECTS, PREDICATES))


class Scope(NamedTuple):
    """What a view sees."""

    workspace: str = ""
    shared: bool = True
    perspective: str | None = None


SCOPES = (
    *(Scope(workspace) for workspace in WORKSPACES),
    Scope("w", shared=False),
    *(Scope("w", perspective=name) for name in PERSPECTIVES),
    Scope("", perspective="ada"),
    Scope("never"),
    Scope("", shared=False, perspective=""),
)


class Place(NamedTuple):
    """A pair of coordinates and a scope."""

    valid_at: int
    known_at: int
    scope: Scope

    def __str__(self) -> str:
        scope = ", ".join(f"{name}={value!r}" for name, value in self.scope._asdict().items())
        return f"valid_at {iso(self.valid_at)}, known_at {self.known_at}, {scope}"


def exact(values: Iterable[Any]) -> list[str]:
    """Values as text that is equal only for the very same JSON."""
    return [json.dumps(value, sort_keys=True) for value in values]


class Sight:
    """The engine's view and the oracle's truth of one place."""

    def __init__(self, ledger: Ledger, log: Log, place: Place, live: bool = False) -> None:
        self.place = place
        self.view: TruthView = ledger.view(
            valid_at=moment(place.valid_at),
            known_at=None if live else place.known_at,
            **place.scope._asdict(),
        )
        self.truth = Truth(log, place.valid_at, place.known_at, *place.scope)

    def differences(self, ledger: Ledger) -> Iterator[str]:
        """What the view answers otherwise than the oracle."""
        for what, ours, theirs in self._answers(ledger):
            if ours != theirs:
                yield f"{what} at {self.place}: engine {ours!r}, oracle {theirs!r}"

    def _answers(self, ledger: Ledger) -> Iterator[tuple[str, Any, Any]]:
        view, truth = self.view, self.truth
        if view.revision != self.place.known_at:
            yield "revision", view.revision, self.place.known_at
            return
        items = view.claims(standing="any")
        standings = truth.standings()
        yield (
            "standings",
            [((c.workspace, c.id), str(c.standing)) for c in items],
            list(standings.items()),
        )
        for workspace, id in list(truth.log.claims):
            yield (
                f"standing of {id!r} in {workspace!r}",
                str(view.standing(id, workspace=workspace)),
                truth.standing(id, workspace),
            )
        for id in dict.fromkeys([*(key[1] for key in truth.log.claims), "nobody"]):
            yield f"standing of {id!r}", str(view.standing(id)), truth.standing(id)
        yield "held", {(c.workspace, c.id) for c in view.claims()}, truth.held()
        for about in ABOUT:
            yield f"values of {about}", exact(view.values(*about)), exact(truth.values(*about))
            yield f"value of {about}", value_of(view, *about), oracle_value_of(truth, *about)
        for (workspace, id), standing in standings.items():
            name = f"{id!r} in {workspace!r}"
            item = view.claim(id, workspace=workspace)
            live = sorted(support.id for support in item.supports if support.live)
            yield f"live supports of {name}", live, list(truth.live_supports(id, workspace))
            groups = truth.origins(id, workspace)
            yield f"origins of {name}", item.origins, sorted({o for group in groups for o in group})
            if standing in ("corroborated", "reported"):
                yield f"{name} is corroborated", standing == "corroborated", len(groups) >= 2
            yield f"successors of {name}", item.successors, list(truth.successors(id, workspace))
            ambiguous = view.ambiguous(id, workspace=workspace)
            yield f"ambiguities of {name}", ambiguous, list(truth.ambiguous(id, workspace))
        yield "entries", view.entries(), entries(truth)
        for subject in SUBJECTS:
            selected = [
                (e.workspace, e.id, e.standing, *e.supports) for e in truth.entries([subject])
            ]
            yield f"entries of {subject}", view.entries([subject]), selected
        yield from self._policies()
        ids = [*dict.fromkeys(key[1] for key in truth.log.artefacts), "nobody"]
        for id, judged in zip(ids, ledger.judge(ids, view), strict=True):
            ours = (judged.eligible, None if judged.reason is None else str(judged.reason))
            yield f"eligibility of {id!r}", ours, self._expected(id)

    def _policies(self) -> Iterator[tuple[str, Any, Any]]:
        view, truth = self.view, self.truth
        belief, graph = view.belief, view.belief.graph
        sight = belief, view.workspaces, view.v, view.k
        pins = [
            (graph.names.texts[graph.c_ws[claim]], graph.claim_id(claim))
            for claim in policies.pinned(*sight)
        ]
        yield "pinned claims", pins, truth.pinned()
        for embedder in EMBEDDERS:
            found = policies.calibration(belief, embedder, *sight[1:])
            ours = None if found == NONE else found
            yield f"calibration of {embedder!r}", ours, truth.calibration(embedder)

    def _expected(self, id: str) -> tuple[bool, str | None]:
        expected = self.truth.eligible(id)
        elsewhere = any(
            key[1] == id and not self.truth.sees(key[0]) for key in self.truth.log.artefacts
        )
        if expected[1] == "unknown_artifact" and elsewhere:
            return False, "wrong_workspace"
        return expected


def entries(truth: Truth) -> list[tuple[str, ...]]:
    """The oracle's entries in the engine's form."""
    return [(e.workspace, e.id, e.standing, *e.supports) for e in truth.entries()]


def value_of(view: TruthView, subject: str, predicate: str) -> str:
    """The value that a view gives, or the name of what it raises."""
    try:
        return json.dumps(view.value(subject, predicate), sort_keys=True)
    except (NotHeld, SeveralHeld, Contested) as error:
        return type(error).__name__


def oracle_value_of(truth: Truth, subject: str, predicate: str) -> str:
    """The same of the oracle, whose first recorded value stands for its equals."""
    try:
        return json.dumps(truth.value(subject, predicate), sort_keys=True)
    except oracle.NotHeld:
        return "NotHeld"
    except oracle.Contested:
        return "Contested"
    except oracle.Several:
        return "SeveralHeld"


@dataclass
class Comparison:
    """A ledger and its log. ``random`` picks coordinates; without it all are tried."""

    ledger: Ledger
    log: Log
    random: Random | None = None
    places: int = 12
    fingerprints: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)

    def differences(self) -> Iterator[str]:
        """All that differs, the most basic first."""
        sights: list[Sight] = []
        for place in self._places():
            live = place.known_at == self.log.head and (
                self.random is None or place.valid_at % 2 == 0
            )
            sight = Sight(self.ledger, self.log, place, live)
            sights.append(sight)
            yield from sight.differences(self.ledger)
            yield from self._fingerprint(sight)
        yield from self._known()
        yield from self._histories()
        for one, other in self._pairs(sights):
            yield from self._diff(one, other)
            yield from self._reconciled(one, other)
        for sight in sights:
            yield from self._reconciled(sight, None)
        for one, other in self._across(sights):
            yield from self._diff(one, other)

    @cached_property
    def commits(self) -> list[int]:
        return [0, *(commit.last for commit in self.log.commits)]

    def _places(self) -> Iterator[Place]:
        if self.random is None:
            for known_at, valid_at in product(self.commits, INSTANTS):
                for scope in SCOPES[:6]:
                    yield Place(valid_at, known_at, scope)
            return
        for number in range(self.places):
            known_at = self.random.choice(self.commits) if number % 2 else self.log.head
            valid_at = self.random.choice(INSTANTS)
            for scope in self.random.sample(SCOPES, 2):
                yield Place(valid_at, known_at, scope)

    def _pairs(self, sights: list[Sight]) -> Iterator[tuple[Sight, Sight]]:
        by_scope: dict[Scope, list[Sight]] = {}
        for sight in sights:
            by_scope.setdefault(sight.place.scope, []).append(sight)
        for same in by_scope.values():
            pairs = [(a, b) for a in same for b in same if a is not b]
            if self.random is None:
                pairs = pairs[:: max(1, len(pairs) // 300)]
            yield from pairs

    def _across(self, sights: list[Sight]) -> Iterator[tuple[Sight, Sight]]:
        """Pairs of different scopes at one valid time."""
        for one, other in pairwise(sights):
            if one.place.valid_at == other.place.valid_at:
                yield one, other

    def _fingerprint(self, sight: Sight) -> Iterator[str]:
        """Equal entries, equal fingerprint, and the other way round."""
        theirs = entries(sight.truth)
        digest = sight.view.fingerprint
        if self.fingerprints.setdefault(digest, theirs) != theirs:
            yield f"one fingerprint for {theirs} and {self.fingerprints[digest]}"
        for other, known in self.fingerprints.items():
            if known == theirs and other != digest:
                yield f"two fingerprints for {theirs}"

    def _known(self) -> Iterator[str]:
        for commit in self.log.commits:
            for at in (commit.recorded_at - 1, commit.recorded_at):
                revision = self.ledger.view(valid_at=moment(at), known_at=moment(at)).revision
                if revision != self.log.known_at(at):
                    yield f"at {iso(at)} known is {revision}, by the oracle {self.log.known_at(at)}"

    def _histories(self) -> Iterator[str]:
        scopes = SCOPES if self.random is None else self.random.sample(SCOPES, 1)
        for scope, about in product(scopes, ABOUT):
            instants = INSTANTS if self.random is None else self.random.sample(INSTANTS, 1)
            for at in instants:
                ours = self.ledger.history(*about, valid_at=moment(at), **scope._asdict())
                found = [
                    (b.revision, instant(b.known_at), exact(b.values or ()), b.contested)
                    for b in ours
                ]
                expected = [
                    (i.known_at, i.recorded_at, exact(i.values), i.contested)
                    for i in oracle.history(self.log, *about, at, **scope._asdict())
                ]
                if found != expected:
                    yield (
                        f"history of {about} at {iso(at)} in {scope}: engine {found}, "
                        f"oracle {expected}"
                    )

    def _diff(self, one: Sight, other: Sight) -> Iterator[str]:
        found = {
            (c.workspace, c.id): (str(c.before), str(c.after)) for c in other.view.diff(one.view)
        }
        expected = oracle.diff(one.truth, other.truth)
        if found != expected:
            yield f"diff of {one.place} to {other.place}: engine {found}, oracle {expected}"

    def _reconciled(self, sight: Sight, since: Sight | None) -> Iterator[str]:
        if since is not None and since.place.known_at > sight.place.known_at:
            return
        ours = self.ledger.reconcile(sight.view, None if since is None else since.view)
        theirs = oracle.reconcile(sight.truth, None if since is None else since.truth)
        where = (
            f"reconciling {sight.place} since {'registration' if since is None else since.place}"
        )
        for name in ("invalidated", "restored"):
            found = {(o.workspace, o.id): o for o in getattr(ours, name)}
            expected = getattr(theirs, name)
            if found.keys() != expected.keys():
                yield f"{where}: {name} by engine {sorted(found)}, by oracle {sorted(expected)}"
                continue
            for key, outcome in found.items():
                flip = expected[key]
                if flip.reason is not None and str(outcome.reason) != flip.reason:
                    yield f"{where}: {key} because {outcome.reason}, by the oracle {flip.reason}"
                if not admissible(outcome, flip.causes):
                    yield f"{where}: {key} caused by {outcome.cause}, by the oracle {flip.causes}"
        same = {(o.workspace, o.id) for o in ours.unchanged}
        if same != theirs.unchanged or len(ours.unchanged) != len(same):
            yield f"{where}: unchanged {sorted(same)}, by the oracle {sorted(theirs.unchanged)}"


def admissible(outcome: Outcome, causes: frozenset[Cause]) -> bool:
    """Whether the cause that the engine names is one that the oracle admits."""
    cause = outcome.cause
    if cause is None:
        return False
    if cause.instant is not None:
        return any(one.instant == instant(cause.instant) for one in causes)
    return any(cause.position in one.positions for one in causes)


# ---------------------------------------------------------------- refusals


def unjustified(refusal: Refusal) -> str | None:
    """Why a refusal for a ring or for a withdrawn source was wrong; None where it was right, or
    where it was for something that the log, as it would have been, does not show."""
    log, error = refusal.after, refusal.error
    if log is None or not isinstance(error, CallerError):
        return None
    if isinstance(error, CorrectionRing) and not any(rings_closed(log, refusal.first)):
        return f"refused without a ring: {error}"
    spent = isinstance(error, UnknownTarget) and "has been withdrawn for all of" in str(error)
    if spent and not any(spent_sources(log, refusal.first)):
        return f"refused with its source standing: {error}"
    return None


def wrongly_accepted(log: Log, first: int, events: Iterable[Fields]) -> Iterator[str]:
    """What is wrong with the commit that begins at ``first``, made of some of the events."""
    stated = {(event["workspace"], event["id"]): event for event in events}
    for correction in log.corrections:
        if correction.position >= first and correction.corrects is not None:
            portion = (correction.valid_from, correction.valid_to)
            expected = stated_portion(log, correction, stated[correction.key])
            if portion != expected:
                yield f"{correction.key} was to have the portion {expected}, and has {portion}"
    arrived = (log.claims.get(c.dangling) for c in log.corrections if c.dangling is not None)
    if not any(claim is not None and claim.position >= first for claim in arrived):
        # where a name that dangled meets its claim only now, nobody need have seen the ring
        yield from (f"{key} closes a ring" for key in rings_closed(log, first))
    yield from (f"{key} has a source with nothing left" for key in spent_sources(log, first))


def stated_portion(log: Log, correction: Correction, stated: Fields) -> tuple[int, int]:
    """The bounds that a correction states, and for those left out what its claims share."""
    named = [log.claims[key] for key in (correction.corrects, correction.by) if key is not None]
    low, high = max(c.valid_from for c in named), min(c.valid_to for c in named)
    if "valid_from" in stated:
        given = stated["valid_from"]
        low = oracle.log.NEG if given is None else instant(given)
    if "valid_to" in stated:
        given = stated["valid_to"]
        high = oracle.log.POS if given is None else instant(given)
    return low, high


def rings_closed(log: Log, first: int) -> Iterator[tuple[str, str]]:
    """The corrections from ``first`` on that lie in a ring at some instant."""
    for correction in log.corrections:
        start, target = correction.corrects, correction.by
        if correction.position < first or start is None or target is None:
            continue
        for at in probes(log):
            corrected = believe(log, at, log.head).corrected
            if target in corrected.get(start, []) and live(log, correction, at):
                seen, ends = {target}, [target]
                while ends:
                    for by in corrected.get(ends.pop(), ()):
                        if by is not None and by not in seen:
                            seen.add(by)
                            ends.append(by)
                if start in seen:
                    yield correction.key
                    break


def spent_sources(log: Log, first: int) -> Iterator[tuple[str, str]]:
    """The events from ``first`` on whose source has nothing left of their portion."""
    named: list[Support | Correction] = [*log.supports.values(), *log.corrections]
    for event in named:
        if event.position < first or event.source is None:
            continue
        claim = log.claims.get(event.claim) if isinstance(event, Support) else None
        carried = claim is not None and claim.position == event.position
        portion = claim if carried and claim is not None else event
        if not any(
            portion.covers(at)
            and believe(log, at, log.head).has_source(event.workspace, event.source)
            for at in probes(log)
        ):
            yield event.key


def live(log: Log, correction: Correction, at: int) -> bool:
    """Whether a correction counts at an instant, at the head of the log."""
    belief = believe(log, at, log.head)
    return (
        correction.covers(at)
        and correction.key not in belief.withdrawn
        and (
            correction.source is None or belief.has_source(correction.workspace, correction.source)
        )
    )


def probes(log: Log) -> list[int]:
    """Instants between which nothing can change."""
    return [oracle.log.NEG, *log.boundaries()]
