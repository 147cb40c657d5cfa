"""Claims that may be looked at together, to see what they say between them; and those that can't,
as they contradict each other.

Two claims of one workspace and perspective are related where they have one subject, whatever their
kinds; or where each is the only one about its subject, and in subject, object and text they share
`SHARED` stems at least that are no function words and occur in `WIDESPREAD` such claims at most. A
group has at most `MOST` claims: of one subject these are taken in log order, so that a new claim
changes the last group alone; across subjects each claim in log order gathers the nearest of those
that are still free.

Only what is held, uncontested, and rests on a source of its own is in a group: no conclusion, no
claim of a kind that is derived, nothing archived, nothing that may have been superseded, and
nothing that takes more than `LONGEST` bytes to be shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from doxa.engine import events as ev
from doxa.engine.belief import Standing
from doxa.engine.documents import spoken
from doxa.engine.graph import CLAIM, NONE, POLICY, entity
from doxa.engine.insight import DERIVED, keyed, record
from doxa.engine.retention import archived
from doxa.engine.view import TruthView
from doxa.projections.clusters import LastUsed, evidence, last_use
from doxa.projections.overlaps import denials
from doxa.projections.similarity import denial
from doxa.projections.words import FUNCTION_WORDS, words

__all__ = [
    "LONGEST",
    "MOST",
    "SHARED",
    "WIDESPREAD",
    "Against",
    "Group",
    "Related",
    "related",
]

MOST: Final = 8  # claims that are shown together
SHARED: Final = 3  # stems that make claims about different subjects related
WIDESPREAD: Final = 64  # claims; a stem in more of them tells nothing
LONGEST: Final = 4_096  # bytes of one claim as it is shown

# Rows → the claims, as they were recorded; ``None`` for one that was erased since.
Read = Callable[[Sequence[int]], Sequence[ev.Claim | None]]


class Group(NamedTuple):
    """Related claims of one perspective, in log order. ``last_used``: when any of them was last
    used or, where it never was, recorded, in microseconds."""

    perspective: str
    ids: tuple[str, ...]
    rows: tuple[int, ...]
    last_used: int


class Against(NamedTuple):
    """Claims that contradict each other. ``policy`` is the id under which that is to be declared;
    ``None`` where they are contested at the view already: one alone by evidence, or by a claim that
    was used lately."""

    ids: tuple[str, ...]
    policy: str | None


class Related(NamedTuple):
    """What was found at a view: groups, the coldest first; contradictions, in log order; and how
    many claims were too long to be shown."""

    groups: list[Group]
    against: list[Against]
    too_long: int


def related(
    view: TruthView, read: Read, *, unused_since: int, last_used: LastUsed | None = None
) -> Related:
    """The groups among the claims in sight that were not used, or else recorded, after
    ``unused_since`` (microseconds), and the contradictions. The view sees one workspace.
    O(claims)."""
    calm, contested = _cold(view, unused_since, last_used)
    against = _rivals(view, contested)
    groups: list[tuple[int, ...]] = []
    too_long = 0
    by_subject: dict[tuple[int, int], list[int]] = {}
    graph = view.graph
    for row in calm:
        by_subject.setdefault((graph.c_perspective[row], graph.c_subject[row]), []).append(row)
    alone: dict[int, list[tuple[int, frozenset[str]]]] = {}
    for (perspective, _), rows in by_subject.items():
        there = zip(rows, read(rows), strict=True)
        claims = {row: claim for row, claim in there if claim is not None}
        denied = _denied(view, list(claims.values()))
        against += denied
        left_out = {id for each in denied for id in each.ids}
        fit = [row for row, claim in claims.items() if claim.id not in left_out]
        shown = [row for row in fit if len(json.dumps(record(claims[row]))) <= LONGEST]
        too_long += len(fit) - len(shown)
        for at in range(0, len(shown), MOST):
            part = shown[at : at + MOST]
            if len(part) > 1:
                groups.append(tuple(part))
            else:
                claim = claims[part[0]]
                alone.setdefault(perspective, []).append((part[0], _stems(claim)))
    for loners in alone.values():
        groups += _gathered(loners)
    made = [_group(view, rows, last_used) for rows in groups]
    return Related(sorted(made, key=lambda each: (each.last_used, each.rows)), against, too_long)


def _cold(
    view: TruthView, unused_since: int, last_used: LastUsed | None
) -> tuple[list[int], list[int]]:
    """The rows of the evidence that has rested for long enough: what nothing speaks against, and
    what is contested."""
    graph, belief, v, k = view.graph, view.belief, view.v, view.k
    calm: list[int] = []
    contested: list[int] = []
    for row, standing in evidence(view):
        if (
            graph.names.texts[graph.c_kind[row]] in DERIVED
            or last_use(view, row, last_used) > unused_since
            or archived(belief, entity(CLAIM, row), v, k)
            or belief.ambiguous(row, v, k)
        ):
            continue
        (contested if standing is Standing.CONTESTED else calm).append(row)
    return calm, contested


def _rivals(view: TruthView, contested: Sequence[int]) -> list[Against]:
    """The contested claims, in sets of those that say something about one subject and predicate, or
    are declared to contradict each other."""
    graph, belief = view.graph, view.belief
    sets: dict[int, list[int]] = {row: [row] for row in contested}  # each claim's, which it shares
    first: dict[tuple[int, int, int], int] = {}
    for row in contested:
        about = graph.c_perspective[row], graph.c_subject[row], graph.c_predicate[row]
        _unite(sets, first.setdefault(about, row), row)
        for policy in graph.contradictions.get(row):
            counts = graph.p_pos[policy] <= view.k and belief.counts(
                entity(POLICY, policy), view.v, view.k
            )
            for other in graph.p_claims.get(policy) if counts else ():
                if other in sets:
                    _unite(sets, other, row)
    distinct = {id(members): sorted(members) for members in sets.values()}
    return [
        Against(tuple(graph.claim_id(row) for row in members), None)
        for members in sorted(distinct.values())
    ]


def _unite(sets: dict[int, list[int]], one: int, other: int) -> None:
    """Makes the sets of two claims one."""
    small, large = sorted((sets[one], sets[other]), key=len)
    if small is not large:
        large += small
        for row in small:
            sets[row] = large


def _denied(view: TruthView, said: Sequence[ev.Claim]) -> list[Against]:
    """Pairs of claims about one subject of which one says, in English, that the other is not so.

    A pair that was declared before and is not contested now has been settled: somebody took the
    declaration back.
    """
    if len(said) < 2:
        return []
    sides = [denial(each.subject, each.predicate, each.object, each.text) for each in said]
    pairs = [(said[one].id, said[other].id) for one, other in denials(sides)]
    return [Against(pair, policy) for pair in pairs if (policy := _undeclared(view, pair))]


def _undeclared(view: TruthView, pair: tuple[str, str]) -> str | None:
    """The id under which a contradiction is to be declared; ``None`` where it once was."""
    id = keyed("contradiction", pair)
    return id if view.graph.find(view.workspace, id) == NONE else None


def _stems(claim: ev.Claim) -> frozenset[str]:
    """The stems of a claim's subject, object and text that are about something."""
    said = f"{spoken(claim.subject, '', claim.object)} {claim.text or ''}"
    return frozenset(words(said)) - _FUNCTION_STEMS


_FUNCTION_STEMS: Final = frozenset(words(" ".join(FUNCTION_WORDS)))


def _gathered(loners: Sequence[tuple[int, frozenset[str]]]) -> Iterator[tuple[int, ...]]:
    """Groups of claims about different subjects, by what they share."""
    having: dict[str, list[int]] = {}  # stem → places among the loners
    for place, (_, stems) in enumerate(loners):
        for stem in stems:
            having.setdefault(stem, []).append(place)
    taken: set[int] = set()
    for place, (row, stems) in enumerate(loners):
        if place in taken:
            continue
        shared: Counter[int] = Counter()
        for stem in stems:
            if len(having[stem]) <= WIDESPREAD:
                shared.update(each for each in having[stem] if each > place and each not in taken)
        near = [other for other, count in shared.items() if count >= SHARED]
        near.sort(key=lambda other: (-shared[other], other))
        if near:
            chosen = sorted(near[: MOST - 1])
            taken.update(chosen)
            yield (row, *(loners[other][0] for other in chosen))


def _group(view: TruthView, rows: tuple[int, ...], last_used: LastUsed | None) -> Group:
    graph = view.graph
    perspective = graph.names.texts[graph.c_perspective[rows[0]]]
    used = max(last_use(view, row, last_used) for row in rows)
    return Group(perspective, tuple(graph.claim_id(row) for row in rows), rows, used)
