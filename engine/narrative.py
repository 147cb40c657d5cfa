"""What happened to one thing, in the order in which it became known.

Everything is taken from what is recorded and believed; nothing is decided here. Each entry has the
event that it is of, or that brought it about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from pydantic_core import to_json

from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.belief import Standing
from doxa.engine.causes import cause_of
from doxa.engine.errors import UnknownTarget, workspace_in_words
from doxa.engine.graph import (
    ARTEFACT,
    CLAIM,
    CORRECTION,
    KINDS,
    NONE,
    POLICY,
    SOURCE,
    SUPPORT,
    WITHDRAWAL,
    entity,
)
from doxa.engine.items import iso_or_none, moment_or_none
from doxa.engine.log import Row
from doxa.engine.registry import Registry
from doxa.engine.times import NEG, POS, Instant, Intervals, covers, span
from doxa.engine.view import TruthView
from doxa.engine.why import Explainer

__all__ = ["Entry", "Narrative", "narrative"]

# Fields of a policy that name no event, whatever their words are.
_NO_IDS: Final = (
    *("id", "workspace", "stated_at", "reason", "evidence", "author"),
    *("single_valued", "predicate", "calibrated", "decays", "rejected"),
)
_OUTSIDE: Final = (f"became {Standing.NOT_YET_VALID}", f"became {Standing.EXPIRED}")
_AT_ONCE: Final = 2_000  # policies read together
Rows = Callable[[list[int]], dict[int, Row]]
Label = str | None  # what is so of a thing over a stretch of valid time; None: nothing to tell
Stretch = tuple[Instant, Instant, Label]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: when it became known, by which event, what, and in which words.

    ``valid_from`` and ``valid_to`` are the stretch of valid time that it is about, ``None`` where
    that is open.
    """

    recorded_at: datetime
    position: int
    event: str
    what: str
    detail: str
    valid_from: datetime | None
    valid_to: datetime | None

    def __str__(self) -> str:
        when = times.iso(times.instant(self.recorded_at))
        return f"{when}  {self.position}  {self.event}  {self.what}: {self.detail}"

    def as_dict(self) -> dict[str, Any]:
        """The entry as a JSON object."""
        return {
            "recorded_at": times.iso(times.instant(self.recorded_at)),
            "position": self.position,
            "event": self.event,
            "what": self.what,
            "detail": self.detail,
            "valid_from": iso_or_none(self.valid_from),
            "valid_to": iso_or_none(self.valid_to),
        }


@dataclass(frozen=True, slots=True)
class Narrative:
    """What happened to one claim, artefact or other event, in order of knowledge."""

    id: str
    workspace: str
    kind: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.kind} {self.id}", *map(str, self.entries)])

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def as_dict(self) -> dict[str, Any]:
        """The narrative as a JSON object; times are ISO text."""
        return {
            "id": self.id,
            "workspace": self.workspace,
            "kind": self.kind,
            "entries": [entry.as_dict() for entry in self.entries],
        }


def narrative(view: TruthView, registry: Registry, rows: Rows, id: str) -> Narrative:
    """What happened up to the view's revision to what an id means in it.

    ``rows`` reads stored events by position. Costs what happened, and reading the policies. Raises
    `UnknownTarget` for an id that is not known.
    """
    number = view.find(id)
    if number == NONE:
        raise UnknownTarget(
            f"{id!r} is not known in {workspace_in_words(view.workspace)}; name a claim, an "
            "artefact or another event, and its workspace"
        )
    teller = _Teller(view, registry, rows)
    teller.tell(number)
    graph = view.graph
    workspace = graph.names.texts[graph.workspace_of(number)]
    return Narrative(graph.id_of(number), workspace, KINDS[number & 7], teller.told())


class _Teller:
    def __init__(self, view: TruthView, registry: Registry, rows: Rows) -> None:
        self.view, self.registry, self.rows = view, registry, rows
        self.graph, self.belief, self.k = view.graph, view.belief, view.k
        self.words = Explainer(view)
        self.entries: dict[tuple[int, int, str, Instant], Entry] = {}

    def told(self) -> tuple[Entry, ...]:
        """The entries in order of knowledge, what followed from an event behind it."""
        return tuple(self.entries[key] for key in sorted(self.entries, key=lambda key: key[:2]))

    def add(self, number: int, what: str, detail: str | None = None) -> None:
        """An entry for an event that bears on it."""
        position = self.graph.position_of(number)
        said = self.words.says(number, position) if detail is None else detail
        self.put(position, 0, what, said, self.graph.base(number) or times.ALL)

    def follow(self, cause: int, what: str, low: Instant, high: Instant, why: str) -> None:
        """An entry for what an event brought about over a stretch of valid time."""
        where = f"at {times.shown(low)}" if high == low + 1 else span(low, high)
        self.put(cause, 1, what, where + why, (low, high))

    def put(self, position: int, rank: int, what: str, detail: str, where: Intervals) -> None:
        """An entry, unless it is there already or not known yet."""
        if position <= self.k:
            at = times.moment(self.graph.recorded_of(position))
            bounds = map(moment_or_none, (where[0], where[-1]))
            entry = Entry(at, position, self.graph.id_at(position), what, detail, *bounds)
            self.entries.setdefault((position, rank, what, where[0]), entry)

    # -- what was recorded

    def tell(self, number: int) -> None:
        """All that happened to one thing."""
        kind, row = number & 7, number >> 3
        if kind == CLAIM:
            self.add(number, "recorded", self.words.brief("", row).says)
            self.claim(row)
        else:
            self.add(number, "registered" if kind == ARTEFACT else "recorded")
        if kind == SUPPORT:
            self.sources(self.graph.s_source[row])
        elif kind == CORRECTION:
            self.sources(self.graph.k_source[row])
            self.settled(row)
        elif kind == ARTEFACT:
            for source in self.graph.a_sources[row]:
                self.sources(source)
        self.taken_back(number, "")
        for policy, name in self.naming(number):
            self.event(entity(POLICY, policy), name, "policy ")
        if kind == ARTEFACT:
            self.eligibility(row)
        else:
            self.changes(number)

    def event(self, number: int, what: str, noun: str) -> None:
        """Another event that bears on it, and what became of that."""
        self.add(number, what)
        self.taken_back(number, noun)

    def claim(self, row: int) -> None:
        graph = self.graph
        for support in graph.supports_of(row):
            what = "refuted" if graph.s_refutes[support] else "supported"
            self.event(entity(SUPPORT, support), what, "support ")
            self.sources(graph.s_source[support])
        for correction in graph.corrections_of.get(row):
            self.event(entity(CORRECTION, correction), "corrected", "correction ")
            self.sources(graph.k_source[correction])
            self.settled(correction)
        for correction in graph.k_candidates.get(row):
            self.event(entity(CORRECTION, correction), "perhaps corrected", "correction ")
            self.sources(graph.k_source[correction])
            self.settled(correction)
        for correction in graph.replaces.get(row):
            self.event(entity(CORRECTION, correction), "replaces", "correction ")

    def settled(self, correction: int) -> None:
        """By which corrections the name in an unresolved one was settled."""
        for row in self.graph.resolvers_of.get(correction):
            self.event(entity(CORRECTION, row), "name settled", "correction ")

    def sources(self, source: int) -> None:
        """The withdrawals of a source, in its workspace and in the shared one."""
        if source != NONE:
            for row in self.belief.with_shared(source):
                self.taken_back(entity(SOURCE, row), "source ")

    def taken_back(self, number: int, noun: str) -> None:
        """What took a thing back, and what took that back, and so on."""
        stack = [(number, 0)]
        while stack:
            at, depth = stack.pop()
            for row in self.graph.withdrawals_of.get(at):
                withdrawal = entity(WITHDRAWAL, row)
                if self.graph.w_pos[row] <= self.k:
                    self.add(withdrawal, noun + ("restored" if depth % 2 else "withdrawn"))
                    stack.append((withdrawal, depth + 1))

    def naming(self, number: int) -> Iterator[tuple[int, str]]:
        """The policies that name a thing in whatever field, each with the name of the policy."""
        graph = self.graph
        id, workspace = graph.id_of(number), graph.names.texts[graph.workspace_of(number)]
        if id.endswith(ev.CARRIED) and number & 7 == SUPPORT:
            id = id.removesuffix(ev.CARRIED)  # whatever names it, begins with the claim's
        # what has not the words of the id in it, does not name it
        word = to_json(id)[1:-1]
        meant = ev.Ref(workspace, graph.id_of(number))
        positions = graph.p_pos[: bisect_right(graph.p_pos, self.k)]
        for first in range(0, len(positions), _AT_ONCE):
            found = self.rows(list(positions[first : first + _AT_ONCE]))
            for row, position in enumerate(positions[first : first + _AT_ONCE], first):
                stored = found[position]
                if word not in stored.head and word not in (stored.data or b""):
                    continue
                policy = codec.decode(stored.type, stored.head, stored.data)
                if isinstance(policy, ev.Policy) and meant in _named(policy):
                    yield row, policy.policy

    # -- what followed from it

    def changes(self, number: int) -> None:
        """Where in valid time it came to be so or otherwise, commit by commit."""
        before: list[Stretch] = [(NEG, POS, None)]
        for commit in self.commits(number):
            after = list(self.stretches(number, commit))
            self.differ(before, after, cause_of(self.belief, number, commit))
            before = after

    def commits(self, number: int) -> list[int]:
        """The commits at which something may have become of it."""
        graph, belief = self.graph, self.belief
        kind, row = number & 7, number >> 3
        found = {graph.commit_of(graph.position_of(number))}
        if kind == CLAIM:
            found.update(belief.changes_of(row))
        else:
            found.update(belief.extents.positions(number))
        if kind == SUPPORT:
            for premise in graph.s_because.get(row):
                found.update(belief.changes_of(premise))
        elif kind == CORRECTION and graph.k_target[row] != NONE:
            found.add(graph.commit_of(graph.c_pos[graph.k_target[row]]))  # it may have come later
        if number in graph.erased_at:
            found.add(graph.commit_of(graph.erased_at[number]))
        first = graph.position_of(number)
        return sorted(k for k in found if first <= k <= self.k)

    def stretches(self, number: int, k: int) -> Iterator[Stretch]:
        """What is so of it over valid time, as known at one position."""
        graph, belief = self.graph, self.belief
        kind, row = number & 7, number >> 3
        falls = kind in (CLAIM, SUPPORT, ARTEFACT)  # the others only lose their words
        if falls and graph.erased_at.get(number, POS) <= k:
            yield (NEG, POS, f"became {Standing.REDACTED}" if kind == CLAIM else None)
            return
        bounds = {NEG, POS}
        if kind == CLAIM:
            bounds.update(belief.own(row), *belief.record(row, k))
        else:
            bounds.update(belief.extent(number, k))
        premises = graph.s_because.get(row) if kind == SUPPORT else ()
        for premise in premises:
            bounds.update(belief.held_where(premise, k))
        for low, high in pairwise(sorted(bounds)):
            if kind == CLAIM:
                yield (low, high, f"became {belief.stood(row, low, k)}")
            else:
                counts = covers(belief.extent(number, k), low)
                held = counts and all(belief.held(premise, low, k) for premise in premises)
                yield (low, high, "counts" if held else None)

    def differ(self, before: Iterable[Stretch], after: Iterable[Stretch], cause: int) -> None:
        """Tells where two step functions differ, in stretches as long as they can be."""
        for low, high, was, now in _joined(_overlaid(before, after)):
            if was is None and now in _OUTSIDE:
                continue  # as it was recorded
            old = "" if was is None or now is None else f"; it was {was.removeprefix('became ')}"
            self.follow(cause, now or "counts no longer", low, high, old)

    def eligibility(self, row: int) -> None:
        """When a registered text became eligible, and was invalidated. A snapshot of a whole
        workspace, which every boundary in it may concern, is looked at at its own instant."""
        registry, graph = self.registry, self.graph
        own, commit = registry.at_registration(row)
        if registry.is_whole(row):
            bounds = [own, own + 1]
        else:
            bounds = [NEG, *registry.marks(row, NEG, POS - 1), POS]
        steps = [(commit, graph.a_pos[row]), *registry.reaches(row, commit, self.k)]
        before: list[Stretch] = [(bounds[0], bounds[-1], None)]
        for k, cause in steps:
            after: list[Stretch] = []
            reasons: dict[Instant, str] = {}
            for low, high in pairwise(bounds):
                judged = registry.judge(row, low, k)
                after.append((low, high, "eligible" if judged.eligible else None))
                reasons[low] = str(judged).partition(": ")[2]
            for low, high, _, now in _joined(_overlaid(before, after)):
                why = "" if now else f": {reasons[max(at for at in reasons if at <= low)]}"
                self.follow(cause, now or "invalidated", low, high, why)
            before = after


def _named(policy: ev.Policy) -> set[ev.Ref]:
    """What a policy names in any of its fields."""
    return {
        policy.key(ref)
        for field in type(policy).model_fields
        if field not in _NO_IDS
        for ref in _references(getattr(policy, field))
    }


def _references(value: object) -> Iterator[str | ev.Ref]:
    if isinstance(value, str | ev.Ref):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _references(each)
    elif isinstance(id := getattr(value, "id", None), str):
        yield id


def _overlaid(
    before: Iterable[Stretch], after: Iterable[Stretch]
) -> Iterator[tuple[Instant, Instant, Label, Label]]:
    """Two step functions over the same time, cut where either steps."""
    one, other = list(before), list(after)
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low < high:
            yield (low, high, one[i][2], other[j][2])
        if one[i][1] <= other[j][1]:
            i += 1
        else:
            j += 1


def _joined(
    pieces: Iterable[tuple[Instant, Instant, Label, Label]],
) -> Iterator[tuple[Instant, Instant, Label, Label]]:
    """The pieces that differ before and after, neighbours that say the same put together."""
    last: tuple[Instant, Instant, Label, Label] | None = None
    for piece in pieces:
        if last is not None and last[1] == piece[0] and last[2:] == piece[2:]:
            last = (last[0], *piece[1:])
            continue
        if last is not None and last[2] != last[3]:
            yield last
        last = piece
    if last is not None and last[2] != last[3]:
        yield last
