"""Retrievers: what another one finds, judged by a view, and what the ledger finds itself.

What goes to a model is one item with one block: `GraphRAG` joins items by a line end, which would
tear labels, texts and citations apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import neo4j
import neo4j.graph
from neo4j_graphrag.retrievers.base import Retriever
from neo4j_graphrag.tool import ObjectParameter, StringParameter
from neo4j_graphrag.types import RawSearchResult, RetrieverResult, RetrieverResultItem

from doxa.adapters.annotations import ANNOTATIONS, declared
from doxa.adapters.answering import block
from doxa.adapters.judging import Found, Kept, Sieve, Sifting
from doxa.engine.items import iso_or_none

if TYPE_CHECKING:
    import os

    from doxa.engine.block import Block
    from doxa.ledger import Ledger

__all__ = ["LedgerRetriever", "TruthRetriever"]

_TIMES = {
    "valid_at": "When it has to apply, as an ISO date or time; now, where it is left out.",
    "known_at": "As known when, as an ISO date or time; the newest, where it is left out.",
}


class _Judging(Retriever):
    """A retriever that asks a ledger, and that needs no database for it."""

    VERIFY_NEO4J_VERSION = False
    sieve: Sieve

    def default_record_formatter(self, record: neo4j.Record) -> RetrieverResultItem:
        return RetrieverResultItem(content=record["content"], metadata=record["metadata"])

    async def asearch(self, *args: Any, **kwargs: Any) -> RetrieverResult:
        """`search` for asynchronous code, in a thread, with the same result."""
        return await asyncio.to_thread(self.search, *args, **kwargs)

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self.sieve.close()


class TruthRetriever(_Judging):
    """What another retriever finds and may be believed: one item with the block of it or, with
    ``items=True``, its items one by one.

    ``judging`` are the settings of `doxa.adapters.judging.Sieve`. A search takes the arguments of
    the other one, besides ``valid_at`` and ``known_at``. What is left out is in the result's
    ``metadata``. Of what is unknown nothing gets into a block.
    """

    def __init__(
        self,
        retriever: Retriever,
        ledger: Ledger | str | os.PathLike[str],
        *,
        items: bool = False,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        **judging: Any,
    ) -> None:
        self.retriever, self.items, self.budget, self.count = retriever, items, budget, count
        self.sieve = Sieve(ledger, **judging)
        self.driver = getattr(retriever, "driver", None)  # that of the other one, as it is
        self.neo4j_database = getattr(retriever, "neo4j_database", None)

    def get_search_results(
        self,
        query_text: str | None = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
        **asked: Any,
    ) -> RawSearchResult:
        """Searches with the other retriever, and judges what it finds at ``valid_at`` (now, where
        it is left out), as known at ``known_at`` (the newest)."""
        if query_text is not None:
            asked["query_text"] = query_text
        raw = self.retriever.get_search_results(**asked)
        found = list(self._found(raw))
        metadata = dict(raw.metadata or {})
        if self.items:
            return self._each(self.sieve.filter(found, valid_at, known_at), metadata)
        made = block(
            self.sieve,
            query_text or "",
            valid_at,
            known_at,
            found=found,
            budget=self.budget,
            count=self.count,
        )
        return _one(made, metadata)

    def sift(
        self,
        query_text: str | None = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
        **asked: Any,
    ) -> Sifting:
        """What the other one finds, judged: what may be believed, and what is left out."""
        if query_text is not None:
            asked["query_text"] = query_text
        raw = self.retriever.get_search_results(**asked)
        return self.sieve.filter(list(self._found(raw)), valid_at, known_at)

    def get_parameters(
        self, parameter_descriptions: dict[str, str] | None = None
    ) -> ObjectParameter:
        """The parameters of the other retriever, and the two times."""
        told = parameter_descriptions or {}
        inner = self.retriever.get_parameters(told)
        times = {
            name: StringParameter(description=told.get(name, words), required=False)
            for name, words in _TIMES.items()
        }
        return ObjectParameter(
            description=f"Parameters for {type(self.retriever).__name__}, judged",
            properties={**inner.properties, **times},
            required_properties=inner.required_properties,
            additional_properties=inner.additional_properties,
        )

    def _found(self, raw: RawSearchResult) -> Iterator[Found]:
        formatter = self.retriever.get_result_formatter()
        for record in raw.records:
            item = formatter(record)
            own = dict(item.metadata or {})
            id = own.get("id", record.get("id"))
            score = own.get("score", record.get("score"))
            yield Found(
                item.content if isinstance(item.content, str) else str(item.content),
                _declared(dict(record), own),
                None if id is None else str(id),
                float(score) if isinstance(score, int | float) else None,
                item,
            )

    def _each(self, sifting: Sifting, metadata: dict[str, Any]) -> RawSearchResult:
        view = sifting.view
        told = {
            "view_revision": view.revision,
            "truth_valid_at": iso_or_none(view.valid_at),
            "known_at": iso_or_none(view.known_at),
            "left_out": [left.as_dict() for left in sifting.left_out],
        }
        records = [neo4j.Record(_item(kept)) for kept in sifting]
        return RawSearchResult(records=records, metadata={**metadata, **told})


class LedgerRetriever(_Judging):
    """What the ledger itself knows about a question, as one item with one block; no item where it
    knows nothing.

    Raises `RecallRefused` where it refuses to answer, which is not the same. ``options`` are those
    of `Ledger.assemble` for a question.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        valid_at: Any = None,
        known_at: Any = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        archived: bool = False,
        keys: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        self.budget, self.count, self.options = budget, count, options
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            perspective=perspective,
            shared=shared,
            archived=archived,
            keys=keys,
        )
        self.driver = self.neo4j_database = None

    def get_search_results(
        self,
        query_text: str,
        top_k: int | None = None,
        valid_at: str | None = None,
        known_at: str | None = None,
    ) -> RawSearchResult:
        """Asks the ledger what it knows at ``valid_at`` (now, where it is left out), as known at
        ``known_at`` (the newest)."""
        options = self.options if top_k is None else {**self.options, "top_k": top_k}
        at = self.sieve, query_text, valid_at, known_at
        return _one(block(*at, budget=self.budget, count=self.count, **options), {})

    def get_parameters(
        self, parameter_descriptions: dict[str, str] | None = None
    ) -> ObjectParameter:
        """The question, how many places are given, and the two times."""
        asked = "What is to be known, in words."
        told = {**_TIMES, "query_text": asked, **(parameter_descriptions or {})}
        return super().get_parameters(told)


def _one(made: Block, metadata: dict[str, Any]) -> RawSearchResult:
    """A block as a search's only result; none, where nothing is in it."""
    told = {
        "view_revision": made.view["revision"],
        "truth_valid_at": made.view["valid_at"],
        "citations": [one.as_dict() for one in made.citations],
        "left_out": [one.as_dict() for one in made.left_out],
    }
    printed = [one.id for one in made.printed]
    content = {"content": made.text, "metadata": {**told, "printed": printed}}
    records = [neo4j.Record(content)] if made.text else []
    return RawSearchResult(records=records, metadata={**metadata, **told})


def _item(kept: Kept) -> dict[str, Any]:
    """A result that was kept: its content as it was, and the notes beside its own metadata."""
    item: RetrieverResultItem = kept.found.item
    return {"content": item.content, "metadata": {**(item.metadata or {}), **kept.notes}}


def _declared(*values: Any) -> dict[str, Any]:
    """What all that a result holds declares together: each node of it, and the item's metadata.

    What can't be read is kept, to be refused where it is judged.
    """
    found: dict[str, Any] = {}
    for each in _maps(values):
        for name, value in declared(each).items():
            other = found.get(name)
            if other is None:
                found[name] = value
            elif isinstance(other, list) and isinstance(value, list):
                found[name] = [*other, *(one for one in value if one not in other)]
            elif other != value:
                found[name] = {"several": [other, value]}
    return {key: found[name] for key, name in ANNOTATIONS.items() if name in found}


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    """The maps in a value: nodes and relationships are some, paths have some."""
    if isinstance(value, Mapping):
        yield value
        yield from _maps(list(value.values()))
    elif isinstance(value, neo4j.graph.Path):
        yield from _maps([*value.nodes, *value.relationships])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _maps(each)
