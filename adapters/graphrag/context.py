"""A context builder of graphrag's local search that looks at a view: what may not be believed is
not in a context, and one for which the truth moved meanwhile is not returned.

It is the framework's own builder at work on fewer rows. Where all rows stand, what it builds is the
same to the byte.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from doxa.adapters.extras import needed
from doxa.adapters.graphrag.judging import IndexJudge, Judged, Omitted
from doxa.engine.errors import CallerError

with needed("pandas", "graphrag"), needed("graphrag", "graphrag"):
    import pandas as pd
    from graphrag.query.context_builder.builders import ContextBuilderResult
    from graphrag.query.context_builder.entity_extraction import EntityVectorStoreKey
    from graphrag.query.context_builder.local_context import (
        build_covariates_context,
        build_entity_context,
        build_relationship_context,
    )
    from graphrag.query.structured_search.local_search.mixed_context import LocalSearchMixedContext

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.views import TruthView

__all__ = [
    "Store",
    "TruthContextResult",
    "TruthLocalContext",
    "apart",
    "ids",
    "result_of",
    "served",
]

T = TypeVar("T")
Pack = Literal["framework", "items"]
LEFT_OUT: Final = "left_out"
_NOTED: Final = "links"
_ALL: Final = 1 << 60  # a budget that everything fits in


@dataclass
class TruthContextResult(ContextBuilderResult):
    """A context, the ``view`` that it holds at, what is ``omitted`` from it, with the reasons, and
    what is in it though ``unknown`` to the ledger, where that was asked for. Where something is
    omitted, ``context_records["left_out"]`` has it as a table."""

    view: TruthView | None = None
    omitted: tuple[Omitted, ...] = ()
    unknown: tuple[Omitted, ...] = ()


def result_of(
    made: ContextBuilderResult, judged: Judged, more: Iterable[Omitted] = ()
) -> TruthContextResult:
    """What a builder of the framework made, with what is not in it."""
    records = dict(made.context_records)
    omitted = (*judged.omitted, *more)
    if omitted:
        records[LEFT_OUT] = pd.DataFrame([one.as_dict() for one in omitted])
    return TruthContextResult(
        context_chunks=made.context_chunks,
        context_records=records,
        llm_calls=made.llm_calls,
        prompt_tokens=made.prompt_tokens,
        output_tokens=made.output_tokens,
        view=judged.view,
        omitted=omitted,
        unknown=judged.unknown,
    )


class Store:
    """A vector store that finds as many rows that may be served as it is asked for."""

    def __init__(self, store: Any, refused: Collection[str]) -> None:
        self._store, self._refused = store, refused

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def similarity_search_by_text(
        self, text: str, text_embedder: Any, k: int = 10, **more: Any
    ) -> list[Any]:
        """The ``k`` nearest to a text, of those that may be served."""
        search = self._store.similarity_search_by_text
        return self._served(search(text, text_embedder, k=k + len(self._refused), **more), k)

    def similarity_search_by_vector(
        self, query_embedding: Any, k: int = 10, **more: Any
    ) -> list[Any]:
        """The ``k`` nearest to a vector, of those that may be served."""
        search = self._store.similarity_search_by_vector
        return self._served(search(query_embedding, k=k + len(self._refused), **more), k)

    def _served(self, found: list[Any], k: int) -> list[Any]:
        if not self._refused:
            return found
        return [one for one in found if str(one.document.id) not in self._refused][:k]


def served(judged: Judged, table: str, rows: Iterable[T]) -> list[T]:
    """The model objects that may be served; one whose description may not be, in a copy without."""
    kept = []
    for row in rows:
        id = row.id  # type: ignore[attr-defined]  # each of the framework's models has one
        if judged.serves(table, id):
            if not judged.describes(table, id):
                row = copy.copy(row)
                row.description = ""  # type: ignore[attr-defined]  # only those with one
            kept.append(row)
    return kept


def refused(judged: Judged, table: str, rows: Iterable[Any], key: str = "id") -> frozenset[str]:
    """What the store calls those that may not be served, and no other that may be."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for row in rows:
        named[judged.serves(table, row.id)].add(str(getattr(row, key)))
    return frozenset(named[False] - named[True])


def ids(rows: Iterable[Any] | None) -> Iterator[str]:
    """The ids of model objects."""
    return (row.id for row in rows or ())


def _checked(pack: Pack) -> Pack:
    if pack not in ("framework", "items"):
        raise CallerError(f"pack is {pack!r:.60}; give framework or items")
    return pack


class TruthLocalContext(LocalSearchMixedContext):
    """`LocalSearchMixedContext`, without what may not be believed.

    ``judge`` says which rows may be served; the other arguments are the framework's. What
    ``pack="items"`` changes: a budget too small for all relationships and claims of the selected
    entities is filled with as many of each as fit, where the framework takes back those of a whole
    entity. Whatever the budget keeps out is named either way.
    """

    def __init__(
        self, judge: IndexJudge, *args: Any, pack: Pack = "framework", **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.judge, self.pack = judge, _checked(pack)

    @classmethod
    def of(
        cls, builder: LocalSearchMixedContext, judge: IndexJudge, *, pack: Pack = "framework"
    ) -> TruthLocalContext:
        """The same as a builder that there is, with the judge."""
        made = cls.__new__(cls)
        made.__dict__.update(builder.__dict__)
        made.judge, made.pack = judge, _checked(pack)
        return made

    def build_context(
        self,
        query: str,
        conversation_history: Any = None,
        *args: Any,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        **options: Any,
    ) -> TruthContextResult:
        """The context for a question, at a view that is captured now. Raises `ViewMoved`, and
        returns nothing, where the truth moved meanwhile."""
        view = self.judge.sieve.view(valid_at, known_at)
        judged = self.judge.judge(view).beside(
            {
                "entities": ids(self.entities.values()),
                "relationships": ids(self.relationships.values()),
                "covariates": chain.from_iterable(map(ids, self.covariates.values())),
                "community_reports": ids(self.community_reports.values()),
                "text_units": ids(self.text_units.values()),
            }
        )
        packing = _Packing(self, judged)
        made = packing.build_context(query, conversation_history, *args, **options)
        self.judge.sieve.still(view)
        return result_of(made, judged, packing.omitted)


class _Packing(LocalSearchMixedContext):
    """The framework's builder on the rows that may be served, once; it notes what the budget keeps
    out."""

    def __init__(self, whole: TruthLocalContext, judged: Judged) -> None:
        self.__dict__.update(whole.__dict__)
        self.omitted: list[Omitted] = []
        by_title = whole.embedding_vectorstore_key == EntityVectorStoreKey.TITLE
        entities = whole.entities.values()
        gone = refused(judged, "entities", entities, "title" if by_title else "id")
        self.entity_text_embeddings = Store(whole.entity_text_embeddings, gone)
        self.entities = {row.id: row for row in served(judged, "entities", entities)}
        rows = served(judged, "relationships", whole.relationships.values())
        if any(one.table in ("entities", "relationships") for one in judged.omitted):
            # the framework notes in a relationship how many of its end it saw in a question before,
            # fallen ones too, and prints that in the next
            rows = [apart(row, without=_NOTED) for row in rows]
        self.relationships = {row.id: row for row in rows}
        self.text_units = {
            row.id: row for row in served(judged, "text_units", whole.text_units.values())
        }
        reports = served(judged, "community_reports", whole.community_reports.values())
        # the framework counts in them, and takes the counts out again: not while others do
        self.community_reports = {row.community_id: apart(row) for row in reports}
        self.covariates = {
            name: served(judged, "covariates", rows) for name, rows in whole.covariates.items()
        }

    def _note(self, table: str, rows: Iterable[Any], frame: Any, why: str = "") -> None:
        """Names the rows that are not in a table of the context."""
        ids = set() if frame is None or "id" not in frame else set(frame["id"].astype(str))
        known = {(one.table, one.id) for one in self.omitted}
        for row in rows:
            if str(row.short_id) not in ids and (table, str(row.id)) not in known:
                reason, detail = "budget_exceeded", why or "does not fit in the budget"
                number = None if row.short_id is None else str(row.short_id)
                self.omitted.append(Omitted(table, str(row.id), reason, detail, number=number))

    # -- the three parts of a context, as the framework calls them

    def _build_community_context(
        self, selected_entities: list[Any], *args: Any, **options: Any
    ) -> tuple[str, dict[str, pd.DataFrame]]:
        text, data = super()._build_community_context(selected_entities, *args, **options)
        wanted = {id for entity in selected_entities for id in entity.community_ids or ()}
        least = options.get("min_community_rank", 0)
        rows = [
            report
            for id, report in self.community_reports.items()
            if id in wanted and (report.rank or 0) >= least
        ]
        name = options.get("context_name", "Reports").lower()
        self._note("community_reports", rows, _in_context(data.get(name)))
        return text, data

    def _build_text_unit_context(
        self, selected_entities: list[Any], *args: Any, **options: Any
    ) -> tuple[str, dict[str, pd.DataFrame]]:
        text, data = super()._build_text_unit_context(selected_entities, *args, **options)
        wanted = {id for entity in selected_entities for id in entity.text_unit_ids or ()}
        rows = [unit for id, unit in self.text_units.items() if id in wanted]
        name = options.get("context_name", "Sources").lower()
        self._note("text_units", rows, _in_context(data.get(name)))
        return text, data

    def _build_local_context(
        self, selected_entities: list[Any], *args: Any, **options: Any
    ) -> tuple[str, dict[str, pd.DataFrame]]:
        if self.pack == "items":
            text, data = self._by_items(selected_entities, **options)
        else:
            text, data = super()._build_local_context(selected_entities, *args, **options)
        self._note("entities", selected_entities, _in_context(data.get("entities")))
        chosen = self._chosen(selected_entities, options)
        self._note("relationships", chosen, _in_context(data.get("relationships")))
        titles = {entity.title for entity in selected_entities}
        near = [r for r in self.relationships.values() if {r.source, r.target} & titles]
        in_context = _in_context(data.get("relationships"))
        self._note("relationships", near, in_context, "ranked after the first relationships")
        for name, rows in self.covariates.items():
            about = [row for row in rows if row.subject_id in titles]
            self._note("covariates", about, _in_context(data.get(name.lower())))
        return text, data

    def _chosen(self, selected: list[Any], options: Mapping[str, Any]) -> list[Any]:
        """The relationships that the framework would take, had it room for them."""
        by_id = {str(row.short_id): row for row in self.relationships.values()}
        names = ("top_k_relationships", "relationship_ranking_attribute", "column_delimiter")
        more = {name: options[name] for name in names if name in options}
        rows = [apart(row) for row in self.relationships.values()]
        _, frame = build_relationship_context(
            selected, rows, self.tokenizer, max_context_tokens=_ALL, **more
        )
        return [by_id[id] for id in (frame["id"].astype(str) if "id" in frame else ())]

    # -- a budget that is filled item by item

    def _by_items(
        self,
        selected_entities: list[Any],
        max_context_tokens: int = 8000,
        include_entity_rank: bool = False,
        rank_description: str = "relationship count",
        include_relationship_weight: bool = False,
        top_k_relationships: int = 10,
        relationship_ranking_attribute: str = "rank",
        return_candidate_context: bool = False,
        column_delimiter: str = "|",
    ) -> tuple[str, dict[str, pd.DataFrame]]:
        """Entities, claims and relationships, each as many as fit: the claims in half of what the
        entities leave, or in what the framework's relationships leave, if that is more; and the
        relationships in the rest."""
        if return_candidate_context:
            raise CallerError(
                'return_candidate_context goes with pack="framework"; what is not in the context '
                "is in its omitted"
            )
        count = self.tokenizer.num_tokens
        entities, entity_data = build_entity_context(
            selected_entities,
            self.tokenizer,
            max_context_tokens,
            include_entity_rank,
            rank_description,
            column_delimiter,
        )
        _, plain = super()._build_local_context(
            selected_entities,
            max_context_tokens,
            include_entity_rank,
            rank_description,
            include_relationship_weight,
            top_k_relationships,
            relationship_ranking_attribute,
            column_delimiter=column_delimiter,
        )
        taken = self._tokens(plain.get("relationships"), column_delimiter)
        joint = count("\n\n")
        left = max_context_tokens - count(entities) - joint * (1 + len(self.covariates))
        data: dict[str, pd.DataFrame] = {}
        claims: list[str] = []
        share = max(left // 2, left - taken) if taken else left // 2
        for name, rows in self.covariates.items():
            text, frame = build_covariates_context(
                selected_entities, rows, self.tokenizer, share, column_delimiter, name
            )
            text = text if len(frame) else ""  # a header alone may be over the budget
            claims.append(text)
            data[name.lower()] = frame
            left, share = left - count(text), share - count(text)
        related, frame = build_relationship_context(
            selected_entities,
            list(self.relationships.values()),
            self.tokenizer,
            include_relationship_weight,
            left,
            top_k_relationships,
            relationship_ranking_attribute,
            column_delimiter,
        )
        parts = [related if len(frame) else "", *claims]
        data |= {"relationships": frame, "entities": entity_data}
        for table in data.values():
            table["in_context"] = True
        return "\n\n".join([entities, *filter(None, parts)]), data

    def _tokens(self, frame: Any, delimiter: str) -> int:
        """What a table of a context costs, without its headers."""
        if frame is None or not len(frame):
            return 0
        rows = frame.drop(columns="in_context").astype(str).itertuples(index=False)
        return sum(self.tokenizer.num_tokens(delimiter.join(row) + "\n") for row in rows)


def _in_context(frame: Any) -> Any:
    """The rows of a table that are in the context, where it has the others too."""
    if frame is not None and "in_context" in frame:
        return frame[frame["in_context"].astype(bool)]
    return frame


def apart(row: T, without: str | None = None) -> T:
    """A copy whose attributes the framework may write in."""
    made = copy.copy(row)
    attributes = made.attributes  # type: ignore[attr-defined]  # each of the framework's models has
    kept = {key: said for key, said in (attributes or {}).items() if key != without}
    made.attributes = kept or None  # type: ignore[attr-defined]  # as above
    return made
