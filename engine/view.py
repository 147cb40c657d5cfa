"""A truth view: what is believed at one (valid_at, known_at), captured once and never changing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, Self, TypeVar

from doxa.engine import events as ev
from doxa.engine import lost, times, words
from doxa.engine.belief import HELD, Belief, Standing
from doxa.engine.errors import CallerError, Compacted, Contested, InvalidEvent, NotHeld, SeveralHeld
from doxa.engine.graph import CLAIM, CORRECTION, KINDS, NONE, SUPPORT, Graph, entity
from doxa.engine.holding import SHARED_ONLY, check, held_about, refuse_erased, several
from doxa.engine.items import (
    Change,
    ClaimItem,
    Diff,
    SourceItem,
    SupportItem,
    moment_or_none,
    own_copy,
    standings_of,
)

__all__ = ["Captured", "Payload", "TruthView", "view_of"]

Payload = Callable[[int], ev.Event]
Id = str | ev.Ref | Mapping[str, str]


class Captured:
    """What a view consists of, while it may still be filled in: a view may be made for every
    question, and slots that are not watched are filled in the fewest steps."""

    __slots__ = (
        "__weakref__",
        "_fingerprint",
        "_read",
        "_workspaces",
        "belief",
        "graph",
        "horizon",
        "k",
        "live",
        "origin",
        "perspective",
        "shared",
        "v",
        "workspace",
    )

    def __init__(
        self,
        belief: Belief,
        payload: Payload,
        v: int,
        k: int,
        workspace: str,
        shared: bool,
        perspective: str | None,
        live: bool,
        horizon: int,
        origin: object,
    ) -> None:
        self.belief = belief
        self.graph: Graph = belief.graph
        self._read = payload
        self.v, self.k = v, k
        self.workspace, self.shared, self.perspective = workspace, shared, perspective
        self.live, self.horizon, self.origin = live, horizon, origin
        self._workspaces: frozenset[int] = frozenset() if workspace else SHARED_ONLY
        self._fingerprint = NONE, ""  # behind how much was erased when it was made


V = TypeVar("V", bound="TruthView")


def view_of(captured: Captured, kind: type[V]) -> V:
    """The view that what was captured becomes."""
    captured.__class__ = kind
    return captured  # type: ignore[return-value]  # it is one now


class TruthView(Captured):
    """What may be believed at (``valid_at``, ``known_at``) in a workspace; immutable.

    ``revision`` is the last log position that it may know. A view without ``known_at`` is *live*:
    it goes stale when what it sees moves, and keeps its answers all the same.
    """

    __slots__ = ()

    def __new__(
        cls,
        belief: Belief,
        payload: Payload,
        *,
        valid_at: int,
        revision: int,
        workspace: str = "",
        shared: bool = True,
        perspective: str | None = None,
        live: bool = True,
        horizon: int | None = None,
        origin: object = None,
    ) -> Self:
        last = revision if horizon is None else horizon
        coordinates = valid_at, revision, workspace, shared, perspective
        return view_of(Captured(belief, payload, *coordinates, live, last, origin), cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass  # it is filled in

    def __copy__(self) -> Self:
        return self

    # -- coordinates

    @property
    def valid_at(self) -> datetime:
        """When it applied in the world."""
        return times.moment(self.v)

    @property
    def known_at(self) -> datetime | None:
        """When the last thing that the view may know was recorded; ``None`` in an empty ledger."""
        return times.moment(self.graph.recorded_of(self.k)) if self.k else None

    @property
    def revision(self) -> int:
        """The last log position that the view may know."""
        return self.k

    @property
    def workspaces(self) -> frozenset[int]:
        """The codes of the workspaces in sight; one that nothing was recorded in has none yet."""
        found = self._workspaces
        if not found or (len(found) == 1 and self.workspace and self.shared):
            names = {self.workspace, ""} if self.shared else {self.workspace}
            codes = (self.graph.names.find(name) for name in names)
            found = self._workspaces = frozenset(codes) - {NONE}
        return found

    @property
    def _sight(self) -> tuple[frozenset[int], str | None]:
        return self.workspaces, self.perspective

    def __repr__(self) -> str:
        place = f", workspace={self.workspace!r}" if self.workspace else ""
        return (
            f"TruthView(valid_at={times.iso(self.v)!r}, revision={self.k}"
            f"{place}{', live' if self.live else ''})"
        )

    # -- finding

    def find(self, id: Id, workspace: str | None = None) -> int:
        """The entity that an id means here, or NONE: in the view's workspace first, then in the
        shared one; a `Ref`, or ``{"workspace": …, "id": …}``, means exactly one. What is out of
        sight means nothing. Raises `Compacted` where it meant what was compacted."""
        if isinstance(id, Mapping):
            if set(id) != {"workspace", "id"}:
                raise InvalidEvent(f'{id!r} is no id; a named one is {{"workspace": …, "id": …}}')
            id = ev.Ref(id["workspace"], id["id"])
        if isinstance(id, ev.Ref):
            workspace, id = id.workspace, id.id
        if not isinstance(id, str):
            raise InvalidEvent(f"{id!r} is no id; ids are text, as claim returned them")
        sight = (self.workspace, "") if self.shared else (self.workspace,)
        for place in dict.fromkeys(sight):
            if workspace not in (None, place):
                continue
            found = self.graph.find(place, id)
            if found != NONE and self.graph.position_of(found) <= self.k:
                return found
            if self.graph.gone is not None:
                lost.refuse_id(self, place, id)
        return NONE

    def _claim_row(self, id: Id, workspace: str | None = None) -> int:
        found = self.find(id, workspace)
        if found == NONE:
            return NONE
        if found & 7 != CLAIM:
            by = self.graph.k_by[found >> 3] if found & 7 == CORRECTION else NONE
            instead = (
                "" if by == NONE else f"; ask for that of {self.graph.claim_id(by)!r}, put in by it"
            )
            raise InvalidEvent(f"{id!r} is a {KINDS[found & 7]}; standing is a claim's{instead}")
        return found >> 3

    def in_sight(self, row: int) -> bool:
        """Whether a claim row is in the view's workspaces and perspective, and known."""
        graph = self.graph
        return (
            graph.c_pos[row] <= self.k
            and graph.c_ws[row] in self.workspaces
            and (self.perspective is None or graph.of_perspective(row, self.perspective))
        )

    def payload(self, position: int) -> ev.Event:
        """The event at a log position."""
        return self._read(position)

    # -- asking

    def standing(self, id: Id, *, workspace: str | None = None) -> Standing:
        """The standing of a claim; ``not_yet_known`` where nothing of that id was recorded by now.

        Raises `InvalidEvent` where the id is another kind of event's.
        """
        try:
            row = self._claim_row(id, workspace)
        except Compacted as error:
            if error.claim:
                return Standing.COMPACTED
            raise
        if row == NONE:
            return Standing.NOT_YET_KNOWN
        return self.belief.standing(row, self.v, self.k)

    def rows(self, subject: str | None, predicate: str | None) -> Iterator[int]:
        """The rows of the claims about a subject and a predicate, in log order, in sight or not."""
        graph = self.graph
        for text in (subject, predicate):
            if text is not None:
                check(text)
        if subject is None:
            code = None if predicate is None else graph.names.find(predicate)
            saying = set() if predicate is None else graph.erased_saying(predicate)
            for row in range(len(graph.c_pos)):
                if graph.c_pos[row] > self.k:
                    return
                if code is None or graph.c_predicate[row] == code or row in saying:
                    yield row
            return
        gone = graph.erased_claims(subject, predicate)
        subject_code = graph.names.find(subject)
        predicate_code = None if predicate is None else graph.names.find(predicate)
        found = list[int]()
        if subject and NONE not in (subject_code, predicate_code):
            found = list(graph.claims_about(subject_code, predicate_code))[::-1]
        yield from sorted({*found, *gone}) if gone else found

    def claims(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        standing: Standing | str | Iterable[Standing | str] | None = None,
        kind: str | None = None,
    ) -> list[ClaimItem]:
        """The claims in sight, in log order; held ones only, or those of the given standings.

        ``standing="any"`` gives all that are known. O(claims about the subject), or O(claims).
        """
        wanted = standings_of(standing)
        if kind is not None:
            check(kind)
        lost.refuse_listing(self, subject, predicate, wanted, kind)
        found = []
        for row in self.rows(subject, predicate):
            if not self.in_sight(row):
                continue
            stands = self.belief.standing(row, self.v, self.k)
            if stands in wanted:
                item = ClaimItem(self, row, stands)
                if kind is None or item.kind == kind:
                    found.append(item)
        return found

    def claim(self, id: Id, *, workspace: str | None = None) -> ClaimItem:
        """One claim by id, whatever its standing. Raises `NotHeld` where it is not known here."""
        row = self._claim_row(id, workspace)
        if row == NONE:
            raise NotHeld(f"claim {id!r} is not known at revision {self.k}")
        return ClaimItem(self, row, self.belief.standing(row, self.v, self.k))

    def held_values(self, rows: Iterable[int], k: int) -> tuple[dict[str, Any], bool]:
        """The distinct objects of the given claims that are held as known at ``k``, by equality
        key, and whether one is contested."""
        distinct: dict[str, Any] = {}
        contested = False
        for row in rows:
            standing = self.belief.standing(row, self.v, k)
            if standing in HELD:
                contested = contested or standing is Standing.CONTESTED
                key = self.belief.object_key(row)
                if key not in distinct:
                    distinct[key] = own_copy(self.graph.c_object[row])
        return distinct, contested

    def values(self, subject: str, predicate: str) -> tuple[Any, ...]:
        """The distinct objects held, by value, in the order in which they were first recorded."""
        erased = len(self.graph.blank)
        held, _ = held_about(self, subject, predicate)
        if self.graph.gone is not None:
            lost.refuse_values(self, subject, predicate)
        objects = self.graph.c_object
        found = [objects[row] for row in held]
        if len(self.graph.blank) != erased:  # by another thread, meanwhile
            refuse_erased(self, subject, predicate)
        if len(found) > 1:
            distinct: dict[str, Any] = {}
            for item in found:
                distinct.setdefault(ev.equality_key(item), item)
            found = list(distinct.values())
        return tuple(own_copy(item) if isinstance(item, dict | list) else item for item in found)

    def value(self, subject: str, predicate: str) -> Any:
        """The one object held.

        Raises `NotHeld` where there is none, `SeveralHeld` where there are several distinct ones,
        `Contested` wherever a held one is contested, even alone.
        """
        erased = len(self.graph.blank)
        held, contested = held_about(self, subject, predicate)
        if self.graph.gone is not None:
            lost.refuse_values(self, subject, predicate)
        objects = self.graph.c_object
        first = objects[held[0]] if held else None  # as in values: of equals, the first recorded
        differ = len(held) > 1 and not contested and several(objects, held)
        if len(self.graph.blank) != erased:  # by another thread, meanwhile
            refuse_erased(self, subject, predicate)
        if not held:
            raise NotHeld(words.nothing_held, subject, predicate, self.v, self.k)
        if contested or differ:
            told = (subject, predicate, self.v, held, self.graph.claim_id)
            if contested:
                raise Contested(words.contested, *told)
            raise SeveralHeld(words.several_held, *told)
        return own_copy(first) if isinstance(first, dict | list) else first

    # -- evidence

    def supports(self, id: Id, *, workspace: str | None = None) -> list[SupportItem]:
        """All supports of a claim recorded by the view, live or not, in log order."""
        row = self._claim_row(id, workspace)
        if row == NONE:
            return []
        graph = self.graph
        return [self._support(s) for s in graph.supports_of(row) if graph.s_pos[s] <= self.k]

    def sources(self) -> list[SourceItem]:
        """The sources in sight that a support names, by id: what withdrawing one would reach.
        O(sources and their supports). Raises `Compacted` where one was named by nothing else."""
        graph, gone = self.graph, lost.behind_sources(self)
        found = []
        for row, workspace in enumerate(graph.r_ws):
            if workspace not in self.workspaces:
                continue
            claims = sorted(
                {graph.s_claim[s] for s in graph.supports_from(row) if graph.s_pos[s] <= self.k}
            )
            name, place = graph.names.texts[graph.r_name[row]], graph.names.texts[workspace]
            compacted = gone.get((place, name), 0)
            if claims or compacted:
                live = self.belief.source_live(row, self.v, self.k)
                ids = tuple(graph.claim_id(claim) for claim in claims)
                found.append(SourceItem(name, place, live, ids, compacted))
        return sorted(found, key=lambda item: (item.id, item.workspace))

    def _support(self, row: int) -> SupportItem:
        graph = self.graph
        source = graph.s_source[row]
        texts = graph.names.texts
        return SupportItem(
            id=graph.id_of(entity(SUPPORT, row)),
            stance="refutes" if graph.s_refutes[row] else "supports",
            live=self.belief.live(row, self.v, self.k),
            source=None if source == NONE else texts[graph.r_name[source]],
            origin=None if source == NONE else texts[graph.s_origin[row]],
            observed_at=moment_or_none(graph.s_observed[row]),
            because=tuple(graph.claim_id(c) for c in graph.s_because.get(row)),
            recorded_at=times.moment(graph.recorded_of(graph.s_pos[row])),
            position=graph.s_pos[row],
        )

    def observed(self, row: int, evidence: Iterable[int] | None = None) -> int:
        """When a claim was last observed, in microseconds; see `ClaimItem.observed_at`. Its live
        supports, of both stances, may be given where they are at hand."""
        graph = self.graph
        if evidence is None:
            evidence = self.belief.live_supports(row, self.v, self.k)
        live = [s for s in evidence if not graph.s_refutes[s]]
        stated = [at for s in live if (at := graph.s_observed[s]) != times.NEG]
        if stated:
            return max(stated)
        return graph.recorded_of(max((graph.s_pos[s] for s in live), default=graph.c_pos[row]))

    def successors(self, id: Id, *, workspace: str | None = None) -> list[str]:
        """Ids of the claims at the end of the live corrections of a claim, held ones first."""
        row = self._claim_row(id, workspace)
        if row == NONE:
            return []
        return [self.graph.claim_id(c) for c in self.belief.successors(row, self.v, self.k)]

    def ambiguous(self, id: Id, *, workspace: str | None = None) -> list[str]:
        """Ids of the unresolved corrections that may mean a claim here: while there is one, nobody
        can say whether the claim has been superseded."""
        row = self._claim_row(id, workspace)
        if row == NONE:
            return []
        rows = self.belief.ambiguous(row, self.v, self.k)
        return [self.graph.id_of(entity(CORRECTION, correction)) for correction in rows]

    # -- comparing

    def entries(self, subjects: Iterable[str] | None = None) -> list[tuple[str, ...]]:
        """What a fingerprint covers: (workspace, id, standing, live supports…) of each claim held
        or hypothesised in sight, or in a selection of subjects, sorted."""
        graph, belief, v, k = self.graph, self.belief, self.v, self.k
        if subjects is None:
            rows: Iterable[int] = self.rows(None, None)
        else:
            if isinstance(subjects, str | bytes | Mapping) or not isinstance(subjects, Iterable):
                raise CallerError(f"subjects is {subjects!r:.80}; give a list of subjects")
            subjects = set(subjects)
            rows = [row for name in subjects for row in self.rows(name, None)]
        lost.refuse_entries(self, subjects)
        found = []
        for row in rows:
            if not (graph.c_from[row] <= v < graph.c_to[row] and self.in_sight(row)):
                continue
            standing = stood = belief.standing(row, v, k)
            if standing is Standing.REDACTED:  # where it was held, it leaves its mark
                stood = belief.stood(row, v, k)
            if stood in HELD or stood is Standing.HYPOTHESIS:
                live = sorted(
                    graph.id_of(entity(SUPPORT, s)) for s in belief.live_supports(row, v, k)
                )
                found.append(
                    (graph.names.texts[graph.c_ws[row]], graph.claim_id(row), str(standing), *live)
                )
        return sorted(found)

    def fingerprint_of(self, subjects: Iterable[str]) -> str:
        """The fingerprint of a selection of subjects."""
        return _digest(self.entries(subjects))

    @property
    def fingerprint(self) -> str:
        """A digest over the claims held or hypothesised here, with their standings and live
        supports: equal truth, equal fingerprint, whatever the route. BLAKE2b, 32 hex digits;
        O(claims), once."""
        # no lock is held meanwhile, as `cached_property` does: a fork would copy it locked
        erased, found = self._fingerprint
        if erased != len(self.graph.blank):  # not yet, or something was erased since
            self._fingerprint = erased, found = len(self.graph.blank), _digest(self.entries())
        return found

    def diff(self, other: TruthView) -> Diff:
        """The claims that stand otherwise here than at ``other``: before there, after here.

        What is out of a view's sight, it does not know. Costs what changed where both views
        have one valid_at and sight; else O(claims).
        """
        if not isinstance(other, TruthView):
            raise CallerError(f"{other!r:.80} is no view; give what ledger.view returned")
        if other.belief is not self.belief:
            raise CallerError("the two views are of different ledgers, or one was reopened")
        lost.refuse_difference(self, other)
        low, high = sorted((self.k, other.k))
        if (self.v, self._sight) == (other.v, other._sight):
            rows: Iterable[int] = sorted(self.belief.changed_between(low, high))
        else:
            rows = range(self.graph.claims_upto(high))
        changes = []
        for row in rows:
            before, after = other.standing_in_sight(row), self.standing_in_sight(row)
            if before is not after:
                item = ClaimItem(self, row, after)
                changes.append(
                    Change(
                        item.id, item.workspace, item.subject, item.predicate, item.object,
                        before, after,
                    )
                )  # fmt: skip
        return Diff(tuple(changes))

    def standing_in_sight(self, row: int) -> Standing:
        """The standing of a claim row; ``not_yet_known`` where it is out of the view's sight."""
        if not self.in_sight(row):
            return Standing.NOT_YET_KNOWN
        return self.belief.standing(row, self.v, self.k)


def _digest(entries: list[tuple[str, ...]]) -> str:
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()
