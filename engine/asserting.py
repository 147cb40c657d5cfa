"""What a commit asserts again: archived claims, which come back with it.

A claim is asserted again by further evidence for it, by a claim that says the same in the same
workspace and is no conclusion, or by recording it once more. Where nothing was ever archived, none
of this costs anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from doxa.engine import events as ev
from doxa.engine.belief import Belief
from doxa.engine.declared import ARCHIVED
from doxa.engine.graph import CLAIM, NONE, POLICY, Graph, entity
from doxa.engine.hiding import said_of
from doxa.engine.plain import Plain
from doxa.engine.retention import archived_now
from doxa.engine.tables import Ints

__all__ = ["asserted", "may_assert", "restored"]

REASON: Final = "asserted again"
_MIXED: Final = np.uint64(0x9E3779B97F4A7C15)


class _Archive:
    """The claims of one log that were ever archived, by what they are about."""

    def __init__(self) -> None:
        self._seen = -1
        self._hashes, self._claims = np.empty(0, np.uint64), np.empty(0, np.int64)

    def about(self, graph: Graph, codes: tuple[int, int, int, int]) -> list[int]:
        """The rows of those that are about the same; what else is given has the same hash."""
        self.follow(graph)
        sought = _hash(*(np.array([code], np.int64) for code in codes))[0]
        low, high = (int(np.searchsorted(self._hashes, sought, side)) for side in ("left", "right"))
        return [*dict.fromkeys(self._claims[low:high].tolist())]

    def hits(self, codes: Sequence[tuple[int, int, int, int]]) -> list[int]:
        """The places of those codes about which there may be some."""
        if not codes:
            return []
        sought = _hash(*np.array(codes, np.int64).T)
        at = np.minimum(np.searchsorted(self._hashes, sought), len(self._hashes) - 1)
        found: list[int] = np.flatnonzero(self._hashes[at] == sought).tolist()
        return found

    def follow(self, graph: Graph) -> bool:
        """Takes in what was archived since; whether any claim ever was."""
        if self._seen < len(graph.policies_on.added):
            self._take(graph)
        return len(self._claims) > 0

    def _take(self, graph: Graph) -> None:
        numbers, rows, seen = said_of(graph.policies_on, self._seen)
        what = np.frombuffer(bytes(graph.p_what), np.uint8)[rows]
        claims = numbers[(what == ARCHIVED) & (numbers & 7 == CLAIM)] >> 3
        self._seen = seen
        if not len(claims):
            return
        columns = (graph.c_ws, graph.c_subject, graph.c_predicate, graph.c_perspective)
        hashes = _hash(*(_some(column, claims) for column in columns))
        hashes, claims = np.append(self._hashes, hashes), np.append(self._claims, claims)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._claims = hashes[order], claims[order]


def _some(column: Sequence[int], rows: Ints) -> Ints:
    return np.array([column[row] for row in rows.tolist()], np.int64)


def _hash(*codes: Ints) -> Ints:
    found = np.zeros(len(codes[0]), np.uint64)
    for code in codes:
        found = (found ^ code.astype(np.uint64)) * _MIXED
    return found


_archives: WeakKeyDictionary[Graph, _Archive] = WeakKeyDictionary()


def _archive(graph: Graph) -> _Archive:
    found = _archives.get(graph)
    if found is None:
        found = _archives[graph] = _Archive()
    return found


def may_assert(belief: Belief, events: Sequence[Plain]) -> bool:
    """Whether plain events, which are new, may bring back what is archived. O(events), most of
    them in no time."""
    graph = belief.graph
    if not graph.policies_on:
        return False
    archive = _archive(graph)
    if not archive.follow(graph):
        return False
    find, places, codes = graph.names.find, list[int](), list[tuple[int, int, int, int]]()
    for place, event in enumerate(events):
        content = event.content
        if event.type == "support":
            number = graph.find(event.workspace, event.claim or "")
            if number != NONE and archived_now(belief, number):
                return True
            continue
        subject = find(content["subject"])
        if subject == NONE:  # as of most that is new
            continue
        predicate, perspective = find(content["predicate"]), find(content.get("perspective", ""))
        codes.append((find(event.workspace), subject, predicate, perspective))
        places.append(place)
    for hit in archive.hits(codes):
        event = events[places[hit]]
        content = event.content
        if next(_same(belief, event.workspace, content, content["object"]), None) is not None:
            return True
    return False


def asserted(
    belief: Belief, new: Iterable[ev.Event], repeated: Iterable[ev.Event] = ()
) -> list[int]:
    """The archived records that a commit asserts again: by its ``new`` events, and by those that
    are ``repeated`` for that."""
    graph, found = belief.graph, dict[int, None]()
    if not graph.policies_on:
        return []
    named: set[int] = set()  # what the commit archives or restores itself
    for event in new:
        if isinstance(event, ev.Policy):
            named.update(graph.find(event.workspace, id) for id in event.archived + event.restored)
        elif isinstance(event, ev.Claim) and not event.because:
            said = {name: getattr(event, name) for name in ("subject", "predicate", "perspective")}
            found.update(dict.fromkeys(_same(belief, event.workspace, said, event.object)))
        elif isinstance(event, ev.Support) and event.stance == "supports":
            found[graph.find(event.workspace, event.claim)] = None
    for event in repeated:
        meant = event.claim if isinstance(event, ev.Support) else event.id
        if isinstance(event, ev.Claim | ev.Support | ev.Artefact):
            found[graph.find(event.workspace, meant)] = None
    return [
        number
        for number in found
        if number not in (NONE, *named)
        and number not in graph.erased
        and archived_now(belief, number)
    ]


def _same(
    belief: Belief, workspace: str, said: Mapping[str, object], value: object
) -> Iterator[int]:
    """The archived claims that say the same as a new one."""
    graph, find = belief.graph, belief.graph.names.find
    names = (workspace, said["subject"], said["predicate"], said.get("perspective", ""))
    codes = tuple(find(str(name)) for name in names)
    if NONE in codes:
        return
    archive = _archive(graph)
    a, b, c, d = codes
    key: str | None = None
    for claim in archive.about(graph, (a, b, c, d)):
        here = (
            graph.c_ws[claim],
            graph.c_subject[claim],
            graph.c_predicate[claim],
            graph.c_perspective[claim],
        )
        number = entity(CLAIM, claim)
        if here != codes or number in graph.erased or not archived_now(belief, number):
            continue
        key = ev.equality_key(value) if key is None else key
        if ev.equality_key(graph.c_object[claim]) == key:
            yield number


def restored(belief: Belief, numbers: Iterable[int]) -> list[ev.Policy]:
    """The events that bring records back. Their ids are made of what archived the records, so that
    the same history makes the same events, in whichever ledger."""
    graph, by_place = belief.graph, dict[int, list[tuple[str, str]]]()
    for number in numbers:
        lifted = graph.id_of(entity(POLICY, _archiving(belief, number)))
        by_place.setdefault(graph.workspace_of(number), []).append((graph.id_of(number), lifted))
    made: list[ev.Policy] = []
    for place, pairs in by_place.items():
        workspace = graph.names.texts[place]
        text = json.dumps([workspace, *pairs], ensure_ascii=False).encode()
        id = f"restored-{blake2b(text, digest_size=10).hexdigest()}"
        while graph.find(workspace, id) != NONE:  # what archived them had been taken back meanwhile
            id += "+"
        ids = tuple(id for id, _ in pairs)
        made.append(ev.Policy(id=id, workspace=workspace, restored=ids, reason=REASON))
    return made


def _archiving(belief: Belief, number: int) -> int:
    """The row of the policy that archives a record now."""
    graph = belief.graph
    for row in reversed(graph.policies_on.get(number)):
        if graph.p_what[row] == ARCHIVED and belief.extent_now(entity(POLICY, row)):
            return row
    raise AssertionError(f"{graph.id_of(number)!r} is not archived")
