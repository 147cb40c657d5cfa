"""Which documents of a ranking may be served at a view: judged before any is cut off.

A document is passed over where its claims stand otherwise than was asked for. Those that no filter
lets through are not seen at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, cast

import numpy as np

from doxa.engine.arms import Floats, Ints, Ranking
from doxa.engine.belief import HELD, Standing
from doxa.engine.eligibility import NOTHING, Item, Judge, as_item, once
from doxa.engine.graph import ARTEFACT, CLAIM, CORRECTION, SUPPORT, entity
from doxa.engine.layers import COLD, Layer, Warm
from doxa.engine.lookups import ids_of, standings
from doxa.engine.outcomes import Tier

__all__ = ["Chooser", "Filters", "Found", "Listed"]

FIRST: Final = 16  # documents of a ranking that are looked at first; then four times as many


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents are asked for; what is ``None`` asks nothing.

    A summary passes where one of the claims that it declares does; ``standings`` are of claims: a
    summary is eligible or it is not. What is ``archived`` passes where that is asked for. A quote
    is of the layer that its claim is of.
    """

    workspace: str | None = None
    subject: str | None = None
    predicate: str | None = None
    perspective: str | None = None
    kind: str | None = None
    standings: frozenset[Standing] = HELD
    tiers: frozenset[Tier] = frozenset(Tier)
    archived: bool = False
    layers: frozenset[Layer] | None = None


class Listed(NamedTuple):
    """A document with the score that an arm gave it."""

    document: int
    score: float


_as_listed = cast("Callable[[tuple[int, float]], Listed]", partial(tuple.__new__, Listed))


class Found(NamedTuple):
    """What of a ranking may be served, best first, ties by id; the best that were ``passed`` over;
    how many were looked at, and whether that is all there is (``exhausted``)."""

    eligible: list[Listed]
    passed: list[Listed]
    scanned: int
    exhausted: bool


class Chooser:
    """Judges documents at one view, under filters."""

    def __init__(self, judge: Judge, filters: Filters, warm: Warm = COLD) -> None:
        self.judge, self.filters, self.warm = judge, filters, warm
        self.view, self.graph, self.belief = judge.view, judge.graph, judge.belief
        self._about = self._codes()
        self._wanted = self._about + self._places()

    def _codes(self) -> list[tuple[Sequence[int], int]]:
        """The columns of claims that are asked about, each with the code that is wanted."""
        graph, filters, find = self.graph, self.filters, self.graph.names.find
        asked = [
            (graph.c_subject, filters.subject),
            (graph.c_predicate, filters.predicate),
            (graph.c_perspective, filters.perspective),
            (graph.c_kind, filters.kind),
        ]
        return [(column, find(text)) for column, text in asked if text is not None]

    def _places(self) -> list[tuple[Sequence[int], int]]:
        """The same of where claims are, and whose; a summary is looked at for that by itself."""
        graph, find = self.graph, self.graph.names.find
        asked = [
            (graph.c_ws, self.filters.workspace),
            (graph.c_perspective, self.view.perspective),
        ]
        return [(column, find(text)) for column, text in asked if text is not None]

    # -- a ranking

    def refilled(self, ranking: Ranking, wanted: int, limit: int | None = None) -> Found:
        """The best documents that may be served, ``wanted`` of them where there are as many.

        ``limit`` bounds how many are looked at. O(those looked at).
        """
        eligible: list[tuple[Ints, Floats]] = []
        passed: list[tuple[Ints, Floats]] = []
        seen, served, more = 0, 0, True
        size = max(FIRST, wanted + wanted // 4)
        while more:
            asked = size if limit is None else min(size, limit)
            documents, scores = ranking.best(asked)
            fresh, of_them = documents[seen:], scores[seen:]
            fits, barred = self.judged(fresh)
            eligible.append((fresh[fits], of_them[fits]))
            passed.append((fresh[barred], of_them[barred]))
            seen, served = len(documents), served + len(fits)
            size = max(4 * size, seen + 1)  # many may have scored exactly as the last one did
            more = seen >= asked and served < wanted and (limit is None or seen < limit)
        return Found(
            self._first(wanted, eligible),
            self._first_recorded(wanted, passed),
            seen,
            served <= wanted and seen >= ranking.total,
        )

    def _first(self, n: int, parts: Sequence[tuple[Ints, Floats]]) -> list[Listed]:
        """The first of documents that come by their scores: among equal ones, by id and the name of
        the workspace."""
        documents, scores = parts[0]
        if len(parts) > 1:
            documents, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        if len(scores) > n:
            end = int(np.count_nonzero(scores >= scores[n - 1]))
            documents, scores = documents[:end], scores[:end]
        tied = np.zeros(len(scores), bool)
        tied[1:] = scores[1:] == scores[:-1]
        tied[:-1] |= tied[1:]
        places = np.flatnonzero(tied)
        if len(places):
            documents = documents.copy()
            documents[places] = self._by_id(documents[places], scores[places])
        return [*map(_as_listed, zip(documents[:n].tolist(), scores[:n].tolist(), strict=True))]

    def _by_id(self, documents: Ints, scores: Floats) -> list[int]:
        """Documents by their scores, equal ones by id and the name of the workspace."""
        listed, graph = documents.tolist(), self.graph
        keys: list[Any] = ids_of(graph, listed)
        if len(self.judge.workspaces) > 1:
            names = (self._name(graph.workspace_of(document)) for document in listed)
            keys = [*zip(keys, names, strict=True)]
        by_key = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        ranked = by_key[np.argsort(-scores[by_key], kind="stable")]
        return [listed[place] for place in ranked.tolist()]

    def _first_recorded(self, n: int, parts: Sequence[tuple[Ints, Floats]]) -> list[Listed]:
        """The same, among equal ones as they were recorded: most of what there is may have been
        passed over, and have scored the same."""
        documents, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        found: list[Listed] = []
        if not len(documents):
            return found
        for kind in (CLAIM, SUPPORT, ARTEFACT):  # of one kind, rows are in the order of the log
            mine = np.flatnonzero(documents & 7 == kind)
            first = mine[np.lexsort((documents[mine], -scores[mine]))[:n]]
            found += map(Listed, documents[first].tolist(), scores[first].tolist())
        position = self.graph.position_of
        found.sort(key=lambda one: (-one.score, position(one.document), one.document & 7))
        return found[:n]

    def judged(self, documents: Ints) -> tuple[Ints, Ints]:
        """The places of what may be served, and of what only passes the filters."""
        kinds, rows = documents & 7, documents >> 3
        passing: list[bool | None] = [None] * len(documents)
        for kind, tier in ((CLAIM, Tier.CLAIM), (SUPPORT, Tier.QUOTE), (ARTEFACT, Tier.SUMMARY)):
            places = np.flatnonzero(kinds == kind)
            if not len(places) or tier not in self.filters.tiers:
                continue
            found = self._OF[kind](self, rows[places])
            self._hide(self.record_of(documents[places]), found)
            if len(found) == len(passing):  # all are of one kind, as most often
                passing = found
                break
            for place, passes in zip(places.tolist(), found, strict=True):
                passing[place] = passes
        fits = [place for place, passes in enumerate(passing) if passes]
        barred = [
            place for place, passes in enumerate(passing) if passes is not None and not passes
        ]
        return np.array(fits, np.int64), np.array(barred, np.int64)

    def _hide(self, records: Ints, found: list[bool | None]) -> None:
        """Takes out those that nothing lets through: what is hidden, or of another layer."""
        out = None
        if self.judge.hidden:
            out = self.judge.hidden.among(records)
        if self.filters.layers is not None:
            others = ~self.warm.among(records, self.filters.layers)
            out = others if out is None else out | others
        for place in () if out is None else np.flatnonzero(out).tolist():
            found[place] = None

    def record_of(self, documents: Ints) -> Ints:
        """What each document is used and archived as: a quote as its claim, all others as
        themselves."""
        quotes = np.flatnonzero(documents & 7 == SUPPORT)
        if not len(quotes):
            return documents
        claim_of, records = self.graph.s_claim, documents.copy()
        supports = (documents[quotes] >> 3).tolist()
        records[quotes] = [entity(CLAIM, claim_of[support]) for support in supports]
        return records

    def fits(self, document: int) -> bool:
        """Whether one document may be served."""
        return len(self.judged(np.array([document], np.int64))[0]) == 1

    def _claims(self, rows: Ints) -> list[bool | None]:
        """Of each claim: whether it may be served; ``None`` where no filter lets it through."""
        listed, wanted = rows.tolist(), self.filters.standings
        if not self._wanted:
            stand = standings(self.belief, listed, self.view.v, self.view.k)
            self.judge.standings.update(stand)
            return [stand[row] in wanted for row in listed]
        passing = self._passing(listed, self._wanted)
        stand = standings(
            self.belief,
            {row for row, passes in zip(listed, passing, strict=True) if passes},
            self.view.v,
            self.view.k,
        )
        self.judge.standings.update(stand)
        return [
            stand[row] in wanted if passes else None
            for row, passes in zip(listed, passing, strict=True)
        ]

    def passes(self, claims: Sequence[int]) -> bool:
        """Whether the filters let through what rests on claims: one of them is enough."""
        layers = self.filters.layers
        if layers is not None:
            records = np.array([entity(CLAIM, claim) for claim in claims], np.int64)
            claims = [claims[i] for i in np.flatnonzero(self.warm.among(records, layers)).tolist()]
        elif not self._wanted:
            return True
        return bool(claims) and (not self._wanted or any(self._passing(claims, self._wanted)))

    def _passing(
        self, claims: Sequence[int], wanted: Iterable[tuple[Sequence[int], int]]
    ) -> list[bool]:
        passing = [True] * len(claims)
        for column, code in wanted:
            passing = [
                passes and column[row] == code for row, passes in zip(claims, passing, strict=True)
            ]
        return passing

    def _quotes(self, rows: Ints) -> list[bool | None]:
        """A quote may be served while its support is live, where its claim may be."""
        claim_of, view = self.graph.s_claim, self.view
        supports = rows.tolist()
        claims = self._claims(np.array([claim_of[row] for row in supports], np.int64))
        live = self.belief.live
        return [
            fits and live(row, view.v, view.k) for row, fits in zip(supports, claims, strict=True)
        ]

    def _summaries(self, rows: Ints) -> list[bool | None]:
        return [self._summary(row) for row in rows.tolist()]

    def _summary(self, row: int) -> bool | None:
        graph, view, filters = self.graph, self.view, self.filters
        place = graph.names.texts[graph.a_ws[row]]
        if filters.workspace not in (None, place):
            return None
        claims = self.claims_of(entity(ARTEFACT, row)) if self._about else ()
        if self._about and not any(self._passing(claims, self._about)):
            return None
        if not self.judge.registry.judge(row, view.v, view.k).eligible:
            return False
        return self.judge.artefact(row, None) is None

    def _declared(self, summary: int) -> list[int]:
        graph = self.graph
        return [
            *graph.a_facts[summary],
            *(graph.s_claim[support] for support in graph.a_supports[summary]),
        ]

    _OF: Final[dict[int, Callable[[Chooser, Ints], list[bool | None]]]] = {
        CLAIM: _claims,
        SUPPORT: _quotes,
        ARTEFACT: _summaries,
    }

    # -- one document

    def item(self, document: int, score: float = 0.0) -> Item:
        """A document that may be served, as a candidate of an assembly; its text is not read."""
        graph, judge = self.graph, self.judge
        kind, row, id = document & 7, document >> 3, graph.id_of(document)
        workspace = self._name(graph.workspace_of(document))
        if kind == CLAIM:
            contested = (row,) if judge.standing(row) is Standing.CONTESTED else ()
            return as_item((id, workspace, score, "", (row,), (), (), (), (), NOTHING, contested))
        if kind == SUPPORT:
            made = Item(id, workspace, score, "", (), (row,))
            return made._replace(contested=judge.contested(made))
        cited = once([*graph.a_citations[row]])
        made = Item(
            id,
            workspace,
            score,
            "",
            once([*graph.a_facts[row]]),
            once([*graph.a_supports[row]]),
            once([*graph.a_sources[row]]),
            cited,
            (row,),
            judge.declared_by(cited) if cited else NOTHING,
        )
        return made._replace(contested=judge.contested(made))

    def _name(self, workspace: int) -> str:
        """The name of a workspace, which is most often one that the view sees."""
        found = self.judge.workspaces.get(workspace)
        return self.graph.names.texts[workspace] if found is None else found

    def claims_of(self, document: int) -> tuple[int, ...]:
        """The claims that a document is worth as much as: its own, or all that it declares."""
        graph, kind, row = self.graph, document & 7, document >> 3
        if kind == CLAIM:
            return (row,)
        if kind == SUPPORT:
            return (graph.s_claim[row],)
        found = self._declared(row)
        for citation in graph.a_citations[row]:
            found += self._declared(citation)
        return once(found)

    def ambiguous(self, claims: Iterable[int]) -> tuple[str, ...]:
        """The ids of the unresolved corrections that may mean one of the claims here."""
        graph, belief, view = self.graph, self.belief, self.view
        if not graph.k_candidates:
            return ()
        rows = once(
            [
                row
                for claim in claims
                if graph.k_candidates.get(claim)
                for row in belief.ambiguous(claim, view.v, view.k)
            ]
        )
        return tuple(graph.id_of(entity(CORRECTION, row)) for row in rows)
