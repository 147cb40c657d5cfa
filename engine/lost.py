"""Questions whose answer, or a part of it, lies in compacted stretches: who asks is told so.

An answer is given as before, or refused with `Compacted`; never another one. Where nothing was
compacted, that is seen at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from doxa.engine import times
from doxa.engine.belief import HELD, Standing
from doxa.engine.events import CARRIED
from doxa.engine.gone import HYPOTHETICAL, Gone, Ints, mark
from doxa.engine.graph import CLAIM, NONE
from doxa.engine.stood import held, held_until, of_standings, standings

if TYPE_CHECKING:
    from doxa.engine.view import TruthView

__all__ = [
    "behind_sources",
    "boundary",
    "event_of",
    "in_place",
    "not_searched",
    "refuse_difference",
    "refuse_entries",
    "refuse_id",
    "refuse_listing",
    "refuse_picture",
    "refuse_values",
]

_LISTED: Final = HELD | {Standing.HYPOTHESIS}  # what a fingerprint covers


def event_of(view: TruthView, place: str, id: str) -> int:
    """The compacted event that an id means in a workspace, as known at a view; NONE where it means
    none."""
    gone = view.graph.gone
    if gone is None:
        return NONE
    event = gone.event(place, id)
    if event == NONE and id.endswith(CARRIED):
        event = gone.event(place, id[: -len(CARRIED)])
        event = event if gone.claim(event) != NONE else NONE
    return event if event != NONE and gone.columns.position[event] <= view.k else NONE


def refuse_id(view: TruthView, place: str, id: str) -> None:
    """Raises `Compacted` where an id means a compacted event."""
    event = event_of(view, place, id)
    if event != NONE:
        assert view.graph.gone is not None
        gone = view.graph.gone
        claim = bool(gone.columns.kind[event] == CLAIM) and gone.event(place, id) == event
        raise gone.refusal(repr(id), np.array([event]), gone.last, claim)


def refuse_values(view: TruthView, subject: str, predicate: str) -> None:
    """Raises `Compacted` where a compacted claim about a subject and predicate was held."""
    gone = view.graph.gone
    if gone is None or view.k >= gone.last:
        return
    found = held(gone, _about(view, gone, subject, predicate), view.v, view.k)
    _refuse(
        gone, f"{subject} {predicate} at {times.iso(view.v)}, revision {view.k},", found, view.k
    )


def refuse_listing(
    view: TruthView,
    subject: str | None,
    predicate: str | None,
    wanted: Collection[Standing],
    kind: str | None = None,
) -> None:
    """Raises `Compacted` where a list of claims of some standings would have a compacted one."""
    gone = view.graph.gone
    if gone is None or (view.k >= gone.last and _LISTED.issuperset(wanted)):
        return
    found = _of_kind(gone, _about(view, gone, subject, predicate), kind)
    found = of_standings(gone, found, wanted, view.v, view.k)
    later = view.k if _LISTED.issuperset(wanted) else gone.last
    _refuse(gone, f"a part of what is listed at revision {view.k}", found, later)


def refuse_entries(view: TruthView, subjects: Iterable[str] | None) -> None:
    """Raises `Compacted` where a fingerprint would cover a compacted claim."""
    for subject in (None,) if subjects is None else subjects:
        refuse_listing(view, subject, None, _LISTED)


def not_searched(
    view: TruthView,
    wanted: Collection[Standing],
    subject: str | None,
    predicate: str | None,
    kind: str | None,
    *,
    workspace: str | None,
    perspective: str | None,
    predecessors: bool,
) -> tuple[int, str] | None:
    """The count and digest of the stretches with compacted claims that a search may have found, by
    its filters, or told of as ``predecessors``; ``None`` where there are none."""
    gone = view.graph.gone
    if gone is None:
        return None
    if predecessors:
        replaced = gone.columns.correction[gone.columns.position[gone.columns.correction] <= view.k]
        if len(replaced):
            return gone.told(replaced)
    if view.k >= gone.last and _LISTED.issuperset(wanted):
        return None
    sight = _sight(view) if workspace is None else (workspace,)
    found = gone.about(subject, predicate, sight, view.perspective, view.k)
    if perspective is not None and len(found):
        said = np.uint64(mark(gone.keyed, "perspective", perspective))
        found = found[gone.columns.perspective[found] == said]
    found = of_standings(gone, _of_kind(gone, found, kind), wanted, view.v, view.k)
    return gone.told(gone.columns.event[found]) if len(found) else None


def _of_kind(gone: Gone, claims: Ints, kind: str | None) -> Ints:
    """Those of some claims that may be of a kind: only hypotheses are known as such."""
    if kind is None or not len(claims):
        return claims
    supposed = (gone.columns.flags[claims] & HYPOTHETICAL) != 0
    found: Ints = claims[supposed == (kind == "hypothesis")]
    return found


def refuse_picture(view: TruthView, subject: str, predicate: str, known_from: int) -> None:
    """Raises `Compacted` where a compacted claim would be in a picture of all that was believed
    about a subject and predicate since an instant."""
    gone = view.graph.gone
    if gone is not None and known_from < view.graph.recorded_of(gone.last):
        found = _about(view, gone, subject, predicate)
        _refuse(gone, f"a part of what was believed about {subject} {predicate}", found, 0)


def behind_sources(view: TruthView) -> dict[tuple[str, str], int]:
    """How many compacted claims, known at a view, each source in its sight stands behind, by
    workspace and name. Raises `Compacted` where nobody else names one of them."""
    gone = view.graph.gone
    if gone is None:
        return {}
    columns, graph = gone.columns, view.graph
    sight = _sight(view)
    known = np.zeros(len(columns.event), bool)
    known[gone.about(None, None, sight, None, view.k)] = True
    pairs = np.flatnonzero(known[columns.sourced])
    places = columns.workspace[columns.event[columns.sourced[pairs]]].tolist()
    counts = Counter(zip(places, columns.source[pairs].tolist(), strict=True))
    found: dict[tuple[str, str], int] = {}
    texts = graph.names.texts
    for row, workspace in enumerate(graph.r_ws) if counts else ():
        place, name = texts[workspace], texts[graph.r_name[row]]
        if place in sight and place in columns.names:
            key = columns.names.index(place), mark(gone.keyed, "source", name)
            if count := counts.pop(key, 0):
                found[place, name] = count
    unnamed = [
        pair
        for pair, *key in zip(pairs.tolist(), places, columns.source[pairs].tolist(), strict=True)
        if tuple(key) in counts
    ]
    claims = columns.sourced[np.array(unnamed, np.int64)]
    _refuse(gone, f"a source at revision {view.k}", claims, gone.last)
    return found


def refuse_difference(one: TruthView, other: TruthView) -> None:
    """Raises `Compacted` where a compacted claim stands otherwise at one view than at another."""
    gone = one.graph.gone
    if gone is None:
        return
    standing: list[dict[int, Standing]] = []
    for view in (one, other):
        found = _about(view, gone, None, None)
        places, kinds = standings(gone, found, view.v, view.k)
        named = [kinds[place] for place in places.tolist()]
        standing.append(dict(zip(found.tolist(), named, strict=True)))
    differ = [c for c in {**standing[0], **standing[1]} if standing[0].get(c) != standing[1].get(c)]
    _refuse(gone, "a part of the difference", np.array(sorted(differ), np.int64), gone.last)


def boundary(view: TruthView, subject: str, predicate: str) -> tuple[int, int, str] | None:
    """The position from which on all is known of what was held about a subject and predicate at a
    view's valid time, and the count and digest of what lies before; ``None`` where nothing was
    compacted of it."""
    gone = view.graph.gone
    if gone is None:
        return None
    found = _about(view, gone, subject, predicate)
    columns, v = gone.columns, view.v
    found = found[(columns.start[found] <= v) & (v < columns.end[found])]
    last = 0
    ever: list[int] = []
    for claim in found.tolist():
        until = held_until(gone, claim, v)
        if until:
            ever.append(claim)
            last = max(last, until)
    if not ever:
        return None
    return last, *gone.told(columns.event[np.array(ever)])


def in_place(view: TruthView, position: int) -> list[tuple[int, int, str]]:
    """The compacted corrections that put a claim in, given by its position: of each the position,
    and the count and digest of the stretch that it lies in."""
    gone = view.graph.gone
    if gone is None:
        return []
    columns = gone.columns
    events = columns.correction[columns.by == position]
    at = columns.position[events]
    return [
        (int(columns.position[event]), *gone.told(np.array([event])))
        for event in events[at <= view.k].tolist()
    ]


def _about(view: TruthView, gone: Gone, subject: str | None, predicate: str | None) -> Ints:
    """The compacted claims about a subject and a predicate that were in a view's sight."""
    return gone.about(subject, predicate, _sight(view), view.perspective, view.k)


def _sight(view: TruthView) -> tuple[str, ...]:
    return (view.workspace, "") if view.shared else (view.workspace,)


def _refuse(gone: Gone, what: str, claims: Ints, k: int) -> None:
    if len(claims):
        raise gone.refusal(what, gone.columns.event[claims], k)
