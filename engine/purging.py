"""What goes when a record is purged, what hangs on it, and what is kept of it.

With a claim goes what was said of it alone: its supports, the corrections that it stands in, what
takes any of these back, and policies about it. Their headers stay, and with them the past standing
of all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.declared import ARCHIVED, RESTORED
from doxa.engine.graph import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    KINDS,
    NONE,
    POLICY,
    SUPPORT,
    WITHDRAWAL,
    Graph,
    entity,
)
from doxa.engine.keyed import PERSPECTIVE, PREDICATE, SUBJECT, Keyed
from doxa.engine.registry import Registry
from doxa.engine.requests import Request
from doxa.engine.retention import archived_now
from doxa.engine.stream import Stream

__all__ = ["AT_ONCE", "Plan", "kind_of", "plan", "policies", "purged_again"]

INSIGHT: Final = "insight"  # the kind of claim that says in its object what its maker was shown
AT_ONCE: Final = 1_000  # erasures that one policy names
DECLARES: Final = "declares what is purged"
AGAIN: Final = "was purged before, and came back with a backup"


@dataclass
class Plan:
    """What a purge erases, as entities in log order, and what it leaves that says something of it:
    registered texts and derived claims (``residue``)."""

    erased: list[int] = field(default_factory=list)
    residue: list[int] = field(default_factory=list)
    to_archive: list[int] = field(default_factory=list)  # residue that goes as well


def kind_of(graph: Graph, number: int) -> str:
    """The kind of event that an entity is."""
    if number & 7 == ARTEFACT:
        return "summary" if graph.a_summary[number >> 3] else "citation"
    return KINDS[number & 7]


def plan(
    belief: Belief, registry: Registry, targets: Iterable[int], *, with_residue: bool = False
) -> Plan:
    """What purging claims and artefacts erases; of those that are erased already, what was said of
    them since, and their residue. O(what is said of them)."""
    graph = belief.graph
    chosen: dict[int, None] = {}
    waiting, found = list(targets), Plan()
    while waiting:
        for number in waiting:
            chosen.update(dict.fromkeys(_with(graph, number)))
        found_now = dict.fromkeys((*_residue(graph, registry, chosen), *_shown(graph, chosen)))
        waiting = [number for number in found_now if number not in chosen]
        residue = [number for number in waiting if number not in graph.erased]
        if not with_residue:
            found.residue = sorted(residue, key=graph.position_of)
            break
        found.to_archive += [n for n in residue if not archived_now(belief, n)]
    chosen.update(dict.fromkeys(_policies_alone(graph, chosen)))
    chosen.update(dict.fromkeys(_archivings_alone(graph, registry, chosen)))
    fresh = [number for number in chosen if number not in graph.erased]
    found.erased = sorted(fresh, key=graph.position_of)
    return found


def _with(graph: Graph, number: int) -> Iterator[int]:
    """A claim or artefact with what is said of it alone."""
    row = number >> 3
    said = [number]
    if number & 7 == CLAIM:
        said += [entity(SUPPORT, s) for s in graph.supports_of(row) if s != graph.c_carried[row]]
        for corrections in (graph.corrections_of, graph.replaces):
            said += [entity(CORRECTION, k) for k in corrections.get(row)]
        said += [entity(POLICY, p) for p in graph.verifications.get(row)]
        said += [entity(POLICY, p) for p in graph.pinnings.get(row)]
    said += [
        entity(POLICY, p)
        for p in graph.policies_on.get(number)
        if graph.p_what[p] not in (ARCHIVED, RESTORED)
    ]
    if number & 7 == CLAIM and graph.c_carried[row] != NONE:
        yield from _taken_back(graph, entity(SUPPORT, graph.c_carried[row]))
    for one in said:
        yield one
        yield from _taken_back(graph, one)


def _taken_back(graph: Graph, number: int) -> Iterator[int]:
    """What takes an event back, and that in turn."""
    for row in graph.withdrawals_of.get(number):
        yield entity(WITHDRAWAL, row)
        yield from _taken_back(graph, entity(WITHDRAWAL, row))


def _policies_alone(graph: Graph, chosen: dict[int, None]) -> list[int]:
    """The contradictions that are declared of erased claims alone."""
    found: list[int] = []
    gone = chosen.keys() | graph.erased.keys()
    for number in chosen:
        for policy in graph.contradictions.get(number >> 3) if number & 7 == CLAIM else ():
            if all(entity(CLAIM, claim) in gone for claim in graph.p_claims.get(policy)):
                found += [entity(POLICY, policy), *_taken_back(graph, entity(POLICY, policy))]
    return found


def _archivings_alone(graph: Graph, registry: Registry, chosen: dict[int, None]) -> list[int]:
    """What archived or restored erased records alone, for a reason that may say what they said."""
    gone = chosen.keys() | graph.erased.keys()
    policies = {
        policy
        for number in chosen
        for policy in graph.policies_on.get(number)
        if graph.p_what[policy] in (ARCHIVED, RESTORED)
    }
    if not policies:
        return []
    named: dict[int, list[int]] = {}
    for number, rows in graph.policies_on.items():
        for policy in policies.intersection(rows):
            named.setdefault(policy, []).append(number)
    alone = [policy for policy, numbers in named.items() if gone.issuperset(numbers)]
    found: list[int] = []
    for policy in alone:
        event = registry.payload(graph.p_pos[policy])
        if isinstance(event, ev.Policy) and event.reason in (None, AGAIN, DECLARES):
            continue  # nobody's words
        found += [entity(POLICY, policy), *_taken_back(graph, entity(POLICY, policy))]
    return found


def _residue(graph: Graph, registry: Registry, chosen: dict[int, None]) -> Iterator[int]:
    """The texts that declare, and the claims that rest on, anything that goes."""
    for number in chosen:
        numbers = [number]
        if number & 7 == CLAIM:
            carried = graph.c_carried[number >> 3]
            numbers += [entity(SUPPORT, carried)] if carried != NONE else []
            for support in graph.dependents.get(number >> 3):
                yield entity(CLAIM, graph.s_claim[support])
        for each in numbers:
            yield from (entity(ARTEFACT, row) for row in registry.declaring(each))


def purged_again(stream: Stream, positions: Iterable[int]) -> None:
    """Records that the claims and artefacts at positions of a restored log are erased, with what
    was said of them alone, as their purge once did; the reason tells that it is the second time."""
    fold, _ = stream.capture()
    graph, belief = fold.belief.graph, fold.belief
    targets = [graph.ids.number[position - 1] for position in positions]
    targets = [n for n in targets if n & 7 in (CLAIM, ARTEFACT) and n not in graph.erased]
    if not targets:
        return
    found = plan(belief, fold.registry, targets)
    found.to_archive = [number for number in targets if not archived_now(belief, number)]
    name = f"purged-again-{graph.position + 1}"
    stream.append(Request(policies(belief, stream.store.keyed, found, name, AGAIN)))


def _shown(graph: Graph, chosen: dict[int, None]) -> Iterator[int]:
    """The insights whose maker was shown a claim that goes, cited or not."""
    code = graph.names.find(INSIGHT)
    gone = {(graph.c_ws[n >> 3], graph.id_of(n)) for n in chosen if n & 7 == CLAIM}
    kinds = np.frombuffer(graph.c_kind[:], np.int32)
    for row in np.flatnonzero(kinds == code).tolist() if code != NONE and gone else ():
        said = graph.c_object[row]
        shown = said.get("shown") if isinstance(said, dict) else None
        if isinstance(shown, list) and any((graph.c_ws[row], id) in gone for id in shown):
            yield entity(CLAIM, row)


def policies(
    belief: Belief, keyed: Keyed, found: Plan, name: str, reason: str | None
) -> list[ev.Policy]:
    """The events that erase what is planned, in each workspace its own."""
    graph = belief.graph
    made: list[ev.Policy] = []
    for workspace, numbers in _parts(graph, found.to_archive):
        made.append(
            ev.Policy(
                id=f"{name}/archived{len(made) + 1}",
                workspace=workspace,
                archived=tuple(map(graph.id_of, numbers)),
                reason=AGAIN if reason == AGAIN else DECLARES,
            )
        )
    first = len(made)
    for workspace, numbers in _parts(graph, found.erased):
        made.append(
            ev.Policy(
                id=name if len(made) == first else f"{name}/{len(made) - first + 1}",
                workspace=workspace,
                redacted=tuple(_erasure(belief, keyed, number) for number in numbers),
                reason=reason,
            )
        )
    return made


def _parts(graph: Graph, numbers: Iterable[int]) -> Iterator[tuple[str, list[int]]]:
    """Entities by workspace, as many together as one policy names."""
    places: dict[int, list[int]] = {}
    for number in numbers:
        places.setdefault(graph.workspace_of(number), []).append(number)
    for workspace, some in places.items():
        for start in range(0, len(some), AT_ONCE):
            yield graph.names.texts[workspace], some[start : start + AT_ONCE]


def _erasure(belief: Belief, keyed: Keyed, number: int) -> ev.Erasure:
    """What is kept of an event: of a claim, by what its questions are recognised."""
    graph, row, id = belief.graph, number >> 3, belief.graph.id_of(number)
    if number & 7 != CLAIM:
        return ev.Erasure(id=id)
    texts = graph.names.texts
    perspective = texts[graph.c_perspective[row]]
    return ev.Erasure(
        id=id,
        subject=keyed.digest(SUBJECT, texts[graph.c_subject[row]]),
        predicate=keyed.digest(PREDICATE, texts[graph.c_predicate[row]]),
        perspective=keyed.digest(PERSPECTIVE, perspective) if perspective else None,
        agrees=tuple(_agreeing(belief, row)),
    )


def _agreeing(belief: Belief, row: int) -> Sequence[str]:
    """The claims that say the same where one value is said at a time: without them nobody could
    tell later that they never contradicted an erased one."""
    graph = belief.graph
    if graph.c_predicate[row] not in graph.single_valued:
        return ()
    return [
        graph.claim_id(other)
        for other in belief.fellows(row)
        if other != row
        and (
            belief.object_key(other) == belief.object_key(row) or belief.known_to_agree(row, other)
        )
    ]
