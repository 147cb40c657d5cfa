"""Summaries and citations: what they declare, whether they are eligible, and what reaches them.

Eligibility is a pure function of the belief at (valid_at, known_at). Beside it stands an inverted
index from each thing declared to the artefacts that declare it, so that a commit that reaches three
of a hundred thousand artefacts looks at three.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from doxa.engine.belief import HELD, Belief, Changes, Standing
from doxa.engine.errors import Compacted
from doxa.engine.events import Ref
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SOURCE, SUPPORT, Graph, entity
from doxa.engine.history import Piece
from doxa.engine.moments import Moments
from doxa.engine.numbers import Lists
from doxa.engine.times import NEG, POS, Instant
from doxa.engine.view import Id, Payload, TruthView

__all__ = ["Judgement", "Reason", "Registry", "judge_ids", "moved"]


class Reason(StrEnum):
    """Why something may not be served; of several, the first in this order."""

    MISSING_ANNOTATION = "missing_annotation"
    INVALID_ANNOTATION = "invalid_annotation"
    WRONG_WORKSPACE = "wrong_workspace"
    MISSING_FACT = "missing_fact"
    MISSING_SUPPORT = "missing_support"
    UNKNOWN_ARTIFACT = "unknown_artifact"
    CONTENT_MISMATCH = "content_mismatch"
    SNAPSHOT_MISMATCH = "snapshot_mismatch"
    INVALID_CITATION = "invalid_citation"
    NOT_YET_REGISTERED = "not_yet_registered"
    WITHDRAWN = "withdrawn"
    REDACTED = "redacted"
    ARCHIVED = "archived"
    CONFLICT_INCOMPLETE = "conflict_incomplete"
    BEYOND_TOP_K = "beyond_top_k"
    BUDGET_EXCEEDED = "budget_exceeded"


class Judgement(NamedTuple):
    """Whether one thing may be served at a view, and if not, why and because of what.

    ``about`` is the id of the fact, support, source or citation that is missing; ``standing`` that
    of a missing fact.
    """

    id: str
    eligible: bool
    reason: Reason | None = None
    about: str | None = None
    standing: Standing | None = None

    def __str__(self) -> str:
        if self.eligible:
            return f"{self.id}: eligible"
        about = f" {self.about}" if self.about is not None else ""
        standing = f" ({self.standing})" if self.standing is not None else ""
        return f"{self.id}: {self.reason}{about}{standing}"


class Registry:
    """The artefacts of one log; `take` the changes of each commit, in order."""

    def __init__(self, belief: Belief, payload: Payload) -> None:
        self.belief, self.graph, self.payload = belief, belief.graph, payload
        self._dependants = Lists()  # entity → artefact rows
        self._by_subject = Lists()  # subject → snapshots bound to it
        self._by_workspace = Lists()  # workspace → snapshots of the whole of it
        self._whole = Lists()  # those, and summaries that cite one → workspaces
        # What reaches every snapshot of a whole workspace is kept once, by workspace.
        self._swept_at: dict[int, array[int]] = {}  # commits
        self._swept_by: dict[int, array[int]] = {}  # their causes
        self.reached_at, self.reached_row = array("i"), array("i")  # commits and artefacts
        self._reached_by = array("i")  # their causes
        self._reached = Lists()  # artefact → places in these three
        self._marked = Moments()  # instants at which an artefact may flip
        self._marks = Lists()  # artefact → places in _marked
        self._next = Moments()  # the first mark after its own instant, by artefact
        self._last = Moments()  # the last mark up to its own instant, by artefact
        self._bound: dict[int, str] = {}  # snapshot → the fingerprint that it is bound to
        self._fingerprints: OrderedDict[tuple[int, Instant, int], str] = OrderedDict()

    # ------------------------------------------------------------ eligibility

    def judge(self, row: int, v: Instant, k: int, *, stood: bool = False) -> Judgement:
        """The eligibility of an artefact at (v, k); O(what it declares). With ``stood``, as it
        stood there before anything was erased later on: what a past state is compared by."""
        graph, belief = self.graph, self.belief
        gone = {} if stood else graph.erased
        id = graph.artefact_id(row)
        if graph.a_pos[row] > k:
            return Judgement(id, False, Reason.NOT_YET_REGISTERED)
        for claim in graph.a_facts[row]:
            if not belief.held(claim, v, k) or entity(CLAIM, claim) in gone:
                standing = belief.standing(claim, v, k)
                return Judgement(id, False, Reason.MISSING_FACT, graph.claim_id(claim), standing)
        for support in graph.a_supports[row]:
            if not belief.live(support, v, k) or entity(SUPPORT, support) in gone:
                about = graph.id_of(entity(SUPPORT, support))
                return Judgement(id, False, Reason.MISSING_SUPPORT, about)
        for source in graph.a_sources[row]:
            if not belief.source_live(source, v, k):
                about = graph.id_of(entity(SOURCE, source))
                return Judgement(id, False, Reason.MISSING_SUPPORT, about)
        blank = entity(ARTEFACT, row) in graph.erased
        if graph.a_snapshot[row] and not blank and self._moved(row, v, k):
            return Judgement(id, False, Reason.SNAPSHOT_MISMATCH)
        for citation in graph.a_citations[row]:
            if not self.judge(citation, v, k, stood=stood).eligible:
                return Judgement(id, False, Reason.INVALID_CITATION, graph.artefact_id(citation))
        if not belief.counts(entity(ARTEFACT, row), v, k):
            return Judgement(id, False, Reason.WITHDRAWN)
        if entity(ARTEFACT, row) in gone or graph.erased_at.get(entity(ARTEFACT, row), k + 1) <= k:
            return Judgement(id, False, Reason.REDACTED)
        return Judgement(id, True)

    def eligible(self, row: int, v: Instant, k: int) -> bool:
        """Whether an artefact was eligible at (v, k), before anything was erased later on."""
        return self.judge(row, v, k, stood=True).eligible

    def at_registration(self, row: int) -> tuple[Instant, int]:
        """The coordinates of an artefact's own registration."""
        return self.graph.a_at[row], self.graph.commit_of(self.graph.a_pos[row])

    def _moved(self, row: int, v: Instant, k: int) -> bool:
        bound = self._bound.get(row)
        if bound is None:
            bound = self._bound[row] = self._selection(row, *self.at_registration(row))
        return bound != self._selection(row, v, k)

    def _selection(self, row: int, v: Instant, k: int) -> str:
        graph = self.graph
        workspace = graph.a_ws[row]
        subjects = graph.subjects_of(row)
        if subjects is not None:
            view = self._view(workspace, v, k)
            return view.fingerprint_of(graph.names.texts[code] for code in subjects)
        key = workspace, v, k
        found = self._fingerprints.get(key)
        if found is None:
            found = self._fingerprints[key] = self._view(workspace, v, k).fingerprint
            if len(self._fingerprints) > 4096:
                self._fingerprints.popitem(last=False)
        return found

    def _view(self, workspace: int, v: Instant, k: int) -> TruthView:
        name = self.graph.names.texts[workspace]
        return TruthView(self.belief, self.payload, valid_at=v, revision=k, workspace=name)

    def in_sight(self, view: TruthView) -> Iterator[int]:
        """The artefacts of a view's workspaces, registered by it, in log order."""
        graph = self.graph
        for row in range(bisect_right(graph.a_pos, view.k)):
            if graph.a_ws[row] in view.workspaces:
                yield row

    # ------------------------------------------------------------ keeping the index

    def watches_claims(self) -> bool:
        """Whether every new claim matters: to a snapshot, of its subject or its workspace."""
        return bool(self._by_subject) or bool(self._by_workspace)

    def depends_on(self, number: int) -> bool:
        """Whether an artefact declares an entity."""
        return number in self._dependants

    def declaring(self, number: int) -> Sequence[int]:
        """The artefacts that declare an entity, in no order."""
        return self._dependants.get(number)

    def declared(self) -> Iterator[int]:
        """All entities that artefacts declare."""
        return self._dependants.keys()

    def forget_fingerprints(self) -> None:
        """Forgets what snapshots are bound to; it is found again."""
        self._bound = {}
        self._fingerprints = OrderedDict()

    def take(self, changes: Changes) -> None:
        """Notes which artefacts one commit reaches, and registers its new ones."""
        reached: dict[int, int] = {}
        dependants = self._dependants.get
        for kind, causes in (
            (CLAIM, changes.claims),
            (SUPPORT, changes.supports),
            (SOURCE, changes.sources),
        ):
            for row, cause in causes.items() if self._dependants else ():
                for artefact in dependants(row * 8 + kind):
                    _reach(reached, artefact, cause)
                    self._mark_all(artefact, self._new_bounds(changes, row * 8 + kind))
        for artefact, cause in changes.artefacts.items():
            _reach(reached, artefact, cause)
            self._mark_all(artefact, self._new_bounds(changes, entity(ARTEFACT, artefact)))
        if self._by_subject or self._by_workspace:
            self._reach_snapshots(changes, reached)
        self._follow_citations(reached)
        for artefact, cause in reached.items():
            self._reached.add(artefact, len(self.reached_at))
            self.reached_row.append(artefact)
            self._reached_by.append(cause)
            self.reached_at.append(changes.position)
        for artefact in sorted(changes.registered, key=self.graph.a_summary.__getitem__):
            self._register(artefact)  # citations first: a summary has the marks of those it cites

    def _reach_snapshots(self, changes: Changes, reached: dict[int, int]) -> None:
        graph = self.graph
        shared, watched = graph.names.find(""), list(self._by_workspace.keys())
        for claim, cause in changes.subjects.items():
            place = graph.c_ws[claim]
            for artefact in self._by_subject.get(graph.c_subject[claim]):
                if place in (shared, graph.a_ws[artefact]):
                    _reach(reached, artefact, cause)
                    self._mark_all(artefact, self._claim_bounds(claim))
            for workspace in watched:
                swept = self._swept_at.setdefault(workspace, array("i"))
                if place not in (shared, workspace):
                    continue
                by = self._swept_by.setdefault(workspace, array("i"))
                if not swept or swept[-1] < changes.position:
                    by.append(cause)
                    swept.append(changes.position)
                elif cause < by[-1]:
                    by[-1] = cause

    def _follow_citations(self, reached: dict[int, int]) -> None:
        for citation, cause in list(reached.items()):
            for summary in self._dependants.get(entity(ARTEFACT, citation)):
                _reach(reached, summary, cause)
                self._mark_all(summary, self._marks_of(citation))

    def _register(self, row: int) -> None:
        graph = self.graph
        named = [
            *(entity(CLAIM, claim) for claim in graph.a_facts[row]),
            *(entity(SUPPORT, support) for support in graph.a_supports[row]),
            *(entity(SOURCE, source) for source in graph.a_sources[row]),
            *(entity(ARTEFACT, citation) for citation in graph.a_citations[row]),
        ]
        for number in named:
            self._dependants.add(number, row)
            if number & 7 == SUPPORT:
                for premise in graph.s_because.get(number >> 3):
                    self._mark_all(row, self._bounds(entity(CLAIM, premise)))
            self._mark_all(row, self._bounds(number))
        self._mark_all(row, self._bounds(entity(ARTEFACT, row)))
        for citation in graph.a_citations[row]:
            for workspace in self._whole.get(citation):
                self._whole.add(row, workspace)
        if graph.a_snapshot[row]:
            subjects = graph.subjects_of(row)
            if subjects is None:
                self._by_workspace.add(graph.a_ws[row], row)
                self._whole.add(row, graph.a_ws[row])
            for subject in subjects or ():
                self._by_subject.add(subject, row)
                for claim in graph.claims_about(subject, None):
                    self._mark_all(row, self._claim_bounds(claim))
        own = graph.a_at[row]
        marks = self._marks_of(row)
        self._next.add(min((m for m in marks if m > own), default=POS), row)
        self._last.add(max((m for m in marks if m <= own), default=NEG), row)

    def _bounds(self, number: int) -> Iterable[int]:
        """The instants at which a thing that is declared may change, at the newest knowledge."""
        kind, row, belief = number & 7, number >> 3, self.belief
        if kind == CLAIM:
            return (*belief.own(row), *belief.held_now(row))
        if kind == SUPPORT:
            own = (*self.graph.base(number), *belief.extent_now(number))
            premises = self.graph.s_because.get(row)
            return [*own, *(b for c in premises for b in (*belief.own(c), *belief.held_now(c)))]
        if kind == SOURCE:
            return belief.source_extent_now(row)
        return [*belief.extent_now(number), *self._marks_of(row)]

    def _new_bounds(self, changes: Changes, number: int) -> Iterable[int]:
        """The instants that one commit adds to those of `_bounds`."""
        kind, row = number & 7, number >> 3
        if kind == CLAIM:
            return _bounds_of(changes.beliefs.get(row, ()))
        if kind == SUPPORT:
            premises = self.graph.s_because.get(row)
            found = [changes.extents.get(number, ()), *map(changes.beliefs.get, premises)]
        elif kind == SOURCE:
            shared = self.belief.with_shared(row)
            found = [changes.extents.get(entity(SOURCE, each), ()) for each in shared]
        else:
            found = [changes.extents.get(number, ())]
        return [at for pieces in found if pieces for at in _bounds_of(pieces)]

    def _claim_bounds(self, claim: int) -> Iterable[int]:
        bounds = set(self.belief.own(claim))
        bounds.update(*self.belief.record(claim, self.graph.position))
        for support in self.graph.supports_of(claim):
            bounds.update(self._bounds(entity(SUPPORT, support)))
        return bounds

    def _mark_all(self, artefact: int, instants: Iterable[int]) -> None:
        fresh = set(instants) - {NEG, POS}
        for at in fresh.difference(self._marks_of(artefact)) if fresh else ():
            self._marks.add(artefact, len(self._marked))
            self._marked.add(at, artefact)

    def _marks_of(self, artefact: int) -> list[Instant]:
        at = self._marked.at
        return [at[place] for place in self._marks.get(artefact)]

    # ------------------------------------------------------------ what may have flipped

    def reaches(self, artefact: int, after: int, upto: int) -> list[tuple[int, int]]:
        """The commits in (after, upto] that reached an artefact, each with the causing event."""
        places = self._reached.get(artefact)
        first = bisect_right(places, after, key=self.reached_at.__getitem__)
        last = bisect_right(places, upto, key=self.reached_at.__getitem__)
        found = {self.reached_at[i]: self._reached_by[i] for i in places[first:last]}
        for workspace in self._whole.get(artefact):
            for i in self._swept_between(workspace, after, upto):
                found.setdefault(self._swept_at[workspace][i], self._swept_by[workspace][i])
        return sorted(found.items())

    def is_whole(self, artefact: int) -> bool:
        """Whether an artefact is bound to a whole workspace, itself or through what it cites."""
        return artefact in self._whole

    def _swept_between(self, workspace: int, after: int, upto: int) -> range:
        swept = self._swept_at.get(workspace, ())
        return range(bisect_right(swept, after), bisect_right(swept, upto))

    def marks(self, artefact: int, low: Instant, high: Instant) -> list[Instant]:
        """The instants in (low, high] at which an artefact may flip with no event, ascending."""
        whole = artefact in self._whole
        marks = _all_bounds(self.graph) if whole else self._marks_of(artefact)
        return sorted(at for at in marks if low < at <= high)

    def reached_between(self, after: int, upto: int) -> set[int]:
        """The artefacts that commits in (after, upto] reached."""
        low, high = bisect_right(self.reached_at, after), bisect_right(self.reached_at, upto)
        found = set(self.reached_row[low:high])
        moved = {ws for ws in self._swept_at if self._swept_between(ws, after, upto)}
        if moved:
            found.update(row for row, places in self._whole.items() if not moved.isdisjoint(places))
        return found

    def marked_between(self, low: Instant, high: Instant) -> set[int]:
        """The artefacts that may flip at an instant in (low, high]."""
        if low == high:
            return set()
        return {*self._marked.between(low, high), *self._whole.keys()}

    def registered_between(self, after: int, upto: int) -> range:
        """The artefacts registered in (after, upto]."""
        pos = self.graph.a_pos
        return range(bisect_right(pos, after), bisect_right(pos, upto))

    def flipped_since_registration(self, v: Instant, upto: int) -> set[int]:
        """The artefacts whose state at (v, upto) may differ from that at their registration."""
        found = self.reached_between(0, upto)
        found.update(self._next.between(NEG, v))
        found.update(self._last.between(v, POS))
        found.update(self._whole.keys())
        return found

    def find(self, view: TruthView, id: Id) -> tuple[int, Reason | None]:
        """The row of an artefact as a view may name it, or NONE and why not."""
        named, name = _parts(id)
        later = NONE
        for place in dict.fromkeys((view.workspace, "") if view.shared else (view.workspace,)):
            if named not in (None, place):
                continue
            found = view.graph.find(place, name)
            if found == NONE or found & 7 != ARTEFACT:
                continue
            if self.graph.a_pos[found >> 3] <= view.k:
                return found >> 3, None
            if later == NONE and self.graph.a_pos[found >> 3] <= view.horizon:
                later = found >> 3
        if later != NONE:
            return later, None
        elsewhere = any(
            n != NONE and n & 7 == ARTEFACT and self.graph.a_pos[n >> 3] <= view.horizon
            for n in view.graph.find_everywhere(name)
        )
        return NONE, Reason.WRONG_WORKSPACE if elsewhere else Reason.UNKNOWN_ARTIFACT


def _parts(id: Id) -> tuple[str | None, str]:
    """The workspace that an id names, if it does, and the id in it."""
    if isinstance(id, str):
        return None, id
    return (id.workspace, id.id) if isinstance(id, Ref) else (id["workspace"], id["id"])


def _bounds_of(pieces: Iterable[Piece]) -> list[int]:
    return [at for piece in pieces for at in (piece.low, piece.high)]


def _all_bounds(graph: Graph) -> set[int]:
    """Every instant at which an interval or portion begins or ends; O(events)."""
    columns = (
        graph.c_from, graph.c_to, graph.s_from, graph.s_to,
        graph.k_from, graph.k_to, graph.w_from, graph.w_to,
    )  # fmt: skip
    return set().union(*columns) - {NEG, POS}


def moved(registry: Registry, workspace: str, shared: bool, after: int, upto: int) -> bool:
    """Whether commits in (after, upto] bear on a view of a workspace: they touched it, or the
    shared one where that is in sight. Where it is not, its policies, premises and withdrawn sources
    count all the same, and the view moves with what they change in its own workspace."""
    graph = registry.graph
    seen = (workspace, "") if shared else (workspace,)
    if any(graph.revision_of(name, upto) > after for name in seen):
        return True
    if shared:
        return False
    own = graph.names.find(workspace)
    return any(
        graph.c_ws[claim] == own for claim in registry.belief.changed_between(after, upto)
    ) or any(graph.a_ws[row] == own for row in registry.reached_between(after, upto))


def judge_ids(registry: Registry, view: TruthView, ids: Iterable[Id]) -> list[Judgement]:
    """Whether claims and artefacts may be served at a view, one judgement an id, in order."""
    return [_judge_id(registry, view, id) for id in ids]


def _judge_id(registry: Registry, view: TruthView, id: Id) -> Judgement:
    name = _parts(id)[1]
    try:
        found = view.find(id)
    except Compacted:
        return Judgement(name, False, Reason.MISSING_FACT, name, Standing.COMPACTED)
    if found != NONE and found & 7 == CLAIM:
        standing = view.standing_in_sight(found >> 3)
        if standing in HELD:
            return Judgement(name, True, None, None, standing)
        return Judgement(name, False, Reason.MISSING_FACT, name, standing)
    if found != NONE and found & 7 == SUPPORT:
        live = view.belief.live(found >> 3, view.v, view.k) and found not in view.graph.erased
        missing = None if live else Reason.MISSING_SUPPORT
        return Judgement(name, live, missing, None if live else name)
    row, reason = registry.find(view, id)
    if reason is not None:
        return Judgement(name, False, reason)
    return registry.judge(row, view.v, view.k)


def _reach(reached: dict[int, int], artefact: int, cause: int) -> None:
    """Notes that an event reaches an artefact; of several in one commit, the first counts."""
    if cause < reached.get(artefact, POS):
        reached[artefact] = cause
