"""Recalls that are broken on purpose, each in one place, by replacing something for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from doxa.engine import describing, placing, ranking, trust
from doxa.engine.choosing import Chooser, Filters
from doxa.engine.conflicts import Unit
from doxa.engine.describing import Describer
from doxa.engine.eligibility import Judge
from doxa.engine.finding import Finder
from doxa.engine.graph import ARTEFACT, SUPPORT
from doxa.engine.outcomes import Verdict
from doxa.engine.placing import Bundle, Placer
from doxa.engine.view import TruthView
from doxa.projections.dense import DenseArm, DenseRanking
from doxa.projections.lexical import Lexical, TriggerArm
from doxa.projections.ranking import Sparse
from tests.broken_engines import instead

BROKEN: dict[str, Callable[[], Any]] = {}


def broken(make: Callable[[], Iterator[None]]) -> Callable[[], Iterator[None]]:
    """Enters a way of breaking recall under its function's name."""
    BROKEN[make.__name__] = contextmanager(make)
    return make


def at_head(view: TruthView) -> TruthView:
    """The same view, but of all that is known."""
    revision = view.graph.position
    return TruthView(
        view.belief,
        view.payload,
        valid_at=view.v,
        revision=revision,
        workspace=view.workspace,
        shared=view.shared,
        perspective=view.perspective,
    )


class Cut:
    """The first few of a ranking."""

    def __init__(self, whole: Any, n: int) -> None:
        self.whole, self.n = whole, n

    @property
    def total(self) -> int:
        return min(self.n, int(self.whole.total))

    def best(self, n: int) -> Any:
        documents, scores = self.whole.best(min(n, self.n))
        return documents[: self.n], scores[: self.n]


# ---------------------------------------------------------------- what may be served


@broken
def eligibility_comes_after_the_first_few() -> Iterator[None]:
    def make(refilled: Any) -> Any:
        return lambda self, ranking, wanted, limit=None: refilled(
            self, Cut(ranking, wanted), wanted
        )

    with instead(Chooser, "refilled", make):
        yield


@broken
def a_quote_does_not_ask_its_support() -> Iterator[None]:
    def quotes(self: Chooser, rows: Any) -> Any:
        return self._claims(np.array([self.graph.s_claim[row] for row in rows.tolist()], np.int64))

    with patch.dict(Chooser._OF, {SUPPORT: quotes}):
        yield


@broken
def a_quote_does_not_ask_its_claim() -> Iterator[None]:
    def quotes(self: Chooser, rows: Any) -> Any:
        return [self.belief.live(row, self.view.v, self.view.k) for row in rows.tolist()]

    with patch.dict(Chooser._OF, {SUPPORT: quotes}):
        yield


@broken
def summaries_are_judged_by_nobody() -> Iterator[None]:
    with patch.dict(Chooser._OF, {ARTEFACT: lambda self, rows: [True] * len(rows)}):
        yield


@broken
def what_a_summary_rests_on_need_not_be_in_sight() -> Iterator[None]:
    with patch.object(Judge, "_out_of_sight", lambda self, row: ()):
        yield


@broken
def what_was_not_asked_for_is_withheld() -> Iterator[None]:
    with patch.object(Finder, "_barred", lambda self, document: True):
        yield


@broken
def filters_ask_for_standings_alone() -> Iterator[None]:
    def make(init: Any) -> Any:
        def asking_less(self: Chooser, judge: Judge, filters: Filters, *rest: Any) -> None:
            init(self, judge, Filters(standings=filters.standings), *rest)

        return asking_less

    with instead(Chooser, "__init__", make):
        yield


@broken
def ties_go_by_age() -> Iterator[None]:
    with patch.object(Chooser, "_first", Chooser._first_recorded):
        yield


# ---------------------------------------------------------------- what is found


@broken
def words_are_counted_in_the_whole_log() -> Iterator[None]:
    def make(search: Any) -> Any:
        def counting(self: Any, query: str, view: TruthView) -> Any:
            documents, scores = search(self, query, at_head(view)).best(10_000)
            known = [view.graph.position_of(int(one)) <= view.k for one in documents]
            order = np.argsort(documents[known])
            return Sparse(documents[known][order], scores[known][order])

        return counting

    with instead(Lexical, "search", make):
        yield


@broken
def later_documents_are_found() -> Iterator[None]:
    def make(search: Any) -> Any:
        return lambda self, query, view: search(self, query, at_head(view))

    with instead(DenseArm, "search", make):
        yield


@broken
def documents_of_every_workspace_are_found() -> Iterator[None]:
    with patch.object(DenseArm, "_sight", lambda self, view: self.pool.positions[:] <= view.k):
        yield


@broken
def phrases_do_not_nominate() -> Iterator[None]:
    nothing = Sparse(np.empty(0, np.int64), np.empty(0))
    with patch.object(TriggerArm, "search", lambda self, query, view: nothing):
        yield


@broken
def cosines_are_rounded() -> Iterator[None]:
    def make(exact: Any) -> Any:
        return lambda self, numbers: exact(self, numbers).astype(np.float32).astype(np.float64)

    with instead(DenseRanking, "_exact", make):
        yield


@broken
def ranks_begin_at_nought() -> Iterator[None]:
    with patch.object(ranking, "RRF", ranking.RRF - 1):
        yield


# ---------------------------------------------------------------- how far it is trusted


@broken
def a_contested_successor_is_trusted() -> Iterator[None]:
    def make(promote: Any) -> Any:
        def lifting(self: Finder) -> None:
            promote(self)
            for entry in self.entries.values():
                if entry.promoted_from is not None and entry.verdict is Verdict.CONTESTED:
                    entry.verdict = Verdict.OK

        return lifting

    with instead(Finder, "_promote", make):
        yield


@broken
def nothing_is_replaced() -> Iterator[None]:
    with patch.object(Describer, "successors", lambda self, claims: ()):
        yield


@broken
def everything_is_in_sight() -> Iterator[None]:
    with patch.object(TruthView, "in_sight", lambda self, claim: True):
        yield


@broken
def whatever_was_replaced_lifts_what_replaced_it() -> Iterator[None]:
    with patch.object(Finder, "_would_answer", lambda self, old: True):
        yield


@broken
def the_last_verdict_counts() -> Iterator[None]:
    with patch.object(trust, "_PLACE", {one: -place for place, one in enumerate(Verdict)}):
        yield


@broken
def ambiguity_is_not_seen() -> Iterator[None]:
    with patch.object(Chooser, "ambiguous", lambda self, claims: ()):
        yield


# ---------------------------------------------------------------- in which order it is given


@broken
def the_sides_of_a_conflict_come_apart() -> Iterator[None]:
    def apart(judge: Any, items: Any) -> Any:
        return sorted(items, key=lambda item: (-item.score, item.id, item.workspace))

    with patch.object(placing, "units", apart):
        yield


@broken
def sides_that_nothing_found_are_left_out() -> Iterator[None]:
    def make(units: Any) -> Any:
        def found(judge: Any, items: Any) -> Any:
            whole = units(judge, items)
            return [replace(one, sides=()) if isinstance(one, Unit) else one for one in whole]

        return found

    with instead(placing, "units", make):
        yield


@broken
def confidence_orders_nothing() -> Iterator[None]:
    with patch.object(Placer, "_trusted_first", lambda self, bundles: bundles):
        yield


@broken
def trust_orders_where_confidence_is_not_judged() -> Iterator[None]:
    def first(self: Placer, bundles: list[Bundle]) -> list[Bundle]:
        return sorted(bundles, key=lambda bundle: not bundle.trusted)

    with patch.object(Placer, "_trusted_first", first):
        yield


# ---------------------------------------------------------------- what it is still worth


@broken
def validity_orders_nothing() -> Iterator[None]:
    def make(profiled: Any) -> Any:
        return lambda *args, profile, **more: profiled(*args, profile=None, **more)

    with instead(placing, "profiled", make):
        yield


@broken
def sources_of_one_content_vouch_twice() -> Iterator[None]:
    with patch.object(describing, "distinct_origins", lambda graph, rows: len(list(rows))):
        yield


@broken
def what_was_observed_long_ago_is_as_fresh_as_its_recording() -> Iterator[None]:
    with patch.object(Describer, "looked_at", lambda self, entry: None):
        yield
