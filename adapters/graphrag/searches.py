"""The other searches of graphrag, and any of them made to look at a view: `with_truth`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

from doxa.adapters.extras import needed
from doxa.adapters.graphrag.context import (
    Pack,
    Store,
    TruthContextResult,
    TruthLocalContext,
    apart,
    ids,
    refused,
    result_of,
    served,
)
from doxa.adapters.graphrag.judging import IndexJudge, Judged, Omitted
from doxa.engine.errors import CallerError

with needed("pandas", "graphrag"), needed("graphrag", "graphrag"):
    import pandas as pd
    from graphrag.query.structured_search.basic_search.basic_context import BasicSearchContext
    from graphrag.query.structured_search.basic_search.search import BasicSearch
    from graphrag.query.structured_search.drift_search.drift_context import (
        DRIFTSearchContextBuilder,
    )
    from graphrag.query.structured_search.drift_search.search import DRIFTSearch
    from graphrag.query.structured_search.global_search.community_context import (
        GlobalCommunityContext,
    )
    from graphrag.query.structured_search.global_search.search import GlobalSearch
    from graphrag.query.structured_search.local_search.mixed_context import LocalSearchMixedContext
    from graphrag.query.structured_search.local_search.search import LocalSearch

if TYPE_CHECKING:
    from doxa.arguments import Instant

__all__ = [
    "TruthBasicContext",
    "TruthDriftContext",
    "TruthGlobalContext",
    "with_truth",
]

S = TypeVar("S", LocalSearch, GlobalSearch, BasicSearch, DRIFTSearch)


def with_truth(search: S, judge: IndexJudge, *, pack: Pack = "framework") -> S:
    """The same search, as ``graphrag.query.factory`` makes it from a configuration, with a context
    builder that looks at a view. The one that was given stays as it is.

    ``search(query, valid_at=…, known_at=…)`` names the times of one question, where they are not
    those of the judge. ``pack`` is that of `TruthLocalContext`.
    """
    made, builder = copy.copy(search), search.context_builder
    if isinstance(builder, LocalSearchMixedContext):
        made.context_builder = TruthLocalContext.of(builder, judge, pack=pack)
    elif isinstance(builder, GlobalCommunityContext):
        made.context_builder = TruthGlobalContext.of(builder, judge)
    elif isinstance(builder, BasicSearchContext):
        made.context_builder = TruthBasicContext.of(builder, judge)
    elif isinstance(builder, DRIFTSearchContextBuilder):
        made.context_builder = TruthDriftContext.of(builder, judge, pack=pack)
        made.local_search = copy.copy(search.local_search)
        made.local_search.context_builder = made.context_builder.local_mixed_context
    else:
        raise CallerError(
            f"{type(search).__name__} has a context builder of type {type(builder).__name__}, "
            "which is none of graphrag's four; give its rows to filter_frames instead"
        )
    return made


class _Judging:
    """A builder with a judge."""

    judge: IndexJudge

    @classmethod
    def of(cls, builder: object, judge: IndexJudge) -> Self:
        """The same as a builder that there is, with the judge."""
        made = cls.__new__(cls)
        made.__dict__.update(builder.__dict__)
        made.judge = judge
        return made


class TruthGlobalContext(_Judging, GlobalCommunityContext):
    """`GlobalCommunityContext`, without the reports that may not be believed: no model is shown
    them either where it selects communities."""

    async def build_context(
        self,
        query: str,
        conversation_history: Any = None,
        *args: Any,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> TruthContextResult:
        """The context for a question, at a view that is captured now. Raises `ViewMoved`."""
        view = self.judge.sieve.view(valid_at, known_at)
        told = {"community_reports": ids(self.community_reports), "entities": ids(self.entities)}
        judged = self.judge.judge(view).beside(told)
        inner = GlobalCommunityContext.__new__(GlobalCommunityContext)
        inner.__dict__.update(self.__dict__)
        # the framework notes in a report how much its entities weigh, once for all questions
        weight = options.get("community_weight_name", "occurrence")
        noted = weight if judged.omitted else None
        reports = served(judged, "community_reports", self.community_reports)
        inner.community_reports = [apart(row, without=noted) for row in reports]
        if self.entities is not None:
            entities = served(judged, "entities", self.entities)
            inner.entities = entities if _weighs(reports, entities) else None
        if self.dynamic_community_selection is not None:
            inner.dynamic_community_selection = _selecting(self.dynamic_community_selection, judged)
        made = await inner.build_context(query, conversation_history, *args, **options)
        self.judge.sieve.still(view)
        return result_of(made, judged)


def _weighs(reports: list[Any], entities: list[Any]) -> bool:
    """Whether any of the reports has a text unit to be weighed by: the framework divides by their
    largest weight."""
    communities = {report.community_id for report in reports}
    return any(
        e.text_unit_ids and communities.intersection(e.community_ids or ()) for e in entities
    )


def _selecting(selection: Any, judged: Judged) -> Any:
    """A selection of communities in which one whose report may not be served gives its place to
    those below it."""
    reports = served(judged, "community_reports", selection.reports.values())
    if len(reports) == len(selection.reports):
        return selection
    made = copy.copy(selection)
    made.reports = {report.community_id: report for report in reports}

    def standing_for(community: str, seen: frozenset[str] = frozenset()) -> list[str]:
        """The community itself, or else the nearest below it that have a report."""
        if community in made.reports:
            return [community]
        if community in seen or community not in selection.communities:
            return []
        children = map(str, selection.communities[community].children)
        return [one for child in children for one in standing_for(child, seen | {community})]

    made.communities = {}
    for id, community in selection.communities.items():
        made.communities[id] = copy.copy(community)
        children = [one for child in community.children for one in standing_for(str(child))]
        made.communities[id].children = list(dict.fromkeys(children))
    made.levels = {
        level: [id for id in ids if id in made.reports] for level, ids in selection.levels.items()
    }
    starting = [one for id in selection.starting_communities for one in standing_for(id)]
    made.starting_communities = list(dict.fromkeys(starting))
    return made


class TruthBasicContext(_Judging, BasicSearchContext):
    """`BasicSearchContext`, without the text units that may not be believed."""

    def build_context(
        self,
        query: str,
        conversation_history: Any = None,
        *args: Any,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> TruthContextResult:
        """The context for a question, at a view that is captured now. Raises `ViewMoved`."""
        view = self.judge.sieve.view(valid_at, known_at)
        judged = self.judge.judge(view).beside({"text_units": ids(self.text_units)})
        inner = BasicSearchContext.__new__(BasicSearchContext)
        inner.__dict__.update(self.__dict__)
        units = self.text_units or []
        inner.text_units = served(judged, "text_units", units)
        store = _Noting(Store(self.text_unit_embeddings, refused(judged, "text_units", units)))
        inner.text_unit_embeddings = store
        made = inner.build_context(query, conversation_history, *args, **options)
        self.judge.sieve.still(view)
        return result_of(made, judged, self._over_budget(inner.text_units, store, made))

    def _over_budget(self, units: list[Any], store: _Noting, made: Any) -> list[Omitted]:
        """What was found and does not fit."""
        frames = [f for f in made.context_records.values() if isinstance(f, pd.DataFrame)]
        shown = {str(id) for frame in frames if "id" in frame for id in frame["id"]}
        detail = "does not fit in the budget"
        return [
            Omitted("text_units", str(u.id), "budget_exceeded", detail, number=str(u.short_id))
            for u in units
            if str(u.id) in store.found and str(u.short_id) not in shown
        ]


class _Noting:
    """A vector store that remembers the ids that it found."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.found: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def similarity_search_by_text(self, *args: Any, **options: Any) -> list[Any]:
        """As the store finds it."""
        found = self._store.similarity_search_by_text(*args, **options)
        self.found |= {str(one.document.id) for one in found}
        return found


class TruthDriftContext(DRIFTSearchContextBuilder):
    """`DRIFTSearchContextBuilder`, without what may not be believed, in its first step and in the
    local searches that follow. Each of them captures a view of its own."""

    judge: IndexJudge

    @classmethod
    def of(
        cls, builder: DRIFTSearchContextBuilder, judge: IndexJudge, *, pack: Pack = "framework"
    ) -> TruthDriftContext:
        """The same as a builder that there is, with the judge."""
        made = cls.__new__(cls)
        made.__dict__.update(builder.__dict__)
        made.judge = judge
        local = TruthLocalContext.of(builder.local_mixed_context, judge, pack=pack)
        made.local_mixed_context = local
        return made

    async def build_context(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> tuple[pd.DataFrame, dict[str, int]]:
        """The reports nearest to a question, at a view that is captured now. Raises `ViewMoved`,
        and `CallerError` where there are reports and none of them may be served."""
        view = self.judge.sieve.view(valid_at, known_at)
        judged = self.judge.judge(view).beside({"community_reports": ids(self.reports)})
        inner = DRIFTSearchContextBuilder.__new__(DRIFTSearchContextBuilder)
        inner.__dict__.update(self.__dict__)
        if self.reports:
            inner.reports = served(judged, "community_reports", self.reports)
            if not inner.reports:
                raise CallerError(
                    f"none of the {len(self.reports)} community reports may be served at "
                    f"{view.valid_at.isoformat()}, known at revision {view.revision}: a DRIFT "
                    "search begins with them; use a local search"
                )
        made: tuple[pd.DataFrame, dict[str, int]] = await inner.build_context(query, **options)
        self.judge.sieve.still(view)
        return made
