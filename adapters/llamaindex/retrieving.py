"""Retrievers: another one's results judged by a view, and what the ledger finds itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

from doxa.adapters.answering import ask
from doxa.adapters.judging import Found, Remembered, Sieve, Sifting
from doxa.adapters.llamaindex.nodes import as_found, as_nodes, recalled_nodes, times_of
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    import os

    from doxa.ledger import Ledger

__all__ = ["LedgerRetriever", "TruthRetriever"]

_MOST: Final = 1_000  # nodes that are asked for, at most, to end with top_k


def _bundle(query: QueryType) -> QueryBundle:
    return QueryBundle(query) if isinstance(query, str) else query


class _Final(BaseRetriever):
    """A retriever whose results are as they are: nothing behind a node is entered any more."""

    def __init__(self, sieve: Sieve, **options: Any) -> None:
        self.sieve = sieve
        super().__init__(**options)

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self.sieve.close()

    def _handle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes

    async def _ahandle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes


class TruthRetriever(_Final):
    """The results of another retriever that may be believed, in its order and with its scores.

    ``judging`` are the settings of `doxa.adapters.judging.Sieve`. A `TruthQuery` names times of its
    own. What is left out is in a `TruthEvent`, or in what `sift` returns. With ``top_k``, a
    retriever that has a ``similarity_top_k`` is asked for that many, and for twice as many again,
    until so many may be believed or it has no more; any other is asked once, and cut.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        ledger: Ledger | str | os.PathLike[str],
        *,
        top_k: int | None = None,
        callback_manager: Any = None,
        verbose: bool = False,
        **judging: Any,
    ) -> None:
        whole = isinstance(top_k, int) and not isinstance(top_k, bool)
        if top_k is not None and (not whole or top_k < 1):
            raise CallerError(f"top_k is {top_k!r:.60}; give a whole number, 1 or more, or None")
        self.retriever, self.top_k = retriever, top_k
        sieve = Sieve(ledger, **judging)
        super().__init__(sieve, callback_manager=callback_manager, verbose=verbose)

    def sift(self, query: QueryType) -> Sifting:
        """What the other one finds, judged: what may be believed, and what is left out."""
        bundle = _bundle(query)
        for retriever, number in self._wider():
            found = as_found(retriever.retrieve(bundle))
            sifting = self.sieve.filter(found, *times_of(bundle))
            if self._enough(sifting, found, number):
                break
        return sifting

    def _wider(self) -> Iterator[tuple[BaseRetriever, int]]:
        """The other retriever, and what it is when it is asked for more and more."""
        own = getattr(self.retriever, "similarity_top_k", None)
        if self.top_k is None or not isinstance(own, int):
            yield self.retriever, 0
            return
        number = max(own, self.top_k)
        while True:
            wider = copy(self.retriever)  # others may use it meanwhile
            wider.similarity_top_k = number
            yield wider, number
            number *= 2

    def _enough(self, sifting: Sifting, found: Sequence[Found], number: int) -> bool:
        """Whether asking for more would bring nothing that is wanted."""
        return (
            not number
            or self.top_k is None
            or len(sifting.kept) >= self.top_k
            or len(found) < number
            or number >= _MOST
        )

    def _cut(self, sifting: Sifting) -> Sifting:
        return replace(sifting, kept=sifting.kept[: self.top_k])

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"retriever": self.retriever}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return as_nodes(self._cut(self.sift(query_bundle)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        for retriever, number in self._wider():
            found = as_found(await retriever.aretrieve(query_bundle))
            sifting = await self.sieve.afilter(found, *times_of(query_bundle))
            if self._enough(sifting, found, number):
                break
        return as_nodes(self._cut(sifting))


class LedgerRetriever(_Final):
    """What the ledger itself finds for a question, as nodes whose ids are those of the ledger.

    Raises `RecallRefused` where it refuses to answer, which is not the same as finding nothing.
    ``options`` are those of `Ledger.recall`; how it came out is in a `RecallEvent`, or in what
    `recall` returns.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        valid_at: Any = None,
        known_at: Any = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        archived: bool = False,
        keys: str | os.PathLike[str] | None = None,
        callback_manager: Any = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            perspective=perspective,
            shared=shared,
            archived=archived,
            keys=keys,
        )
        self.options = options
        super().__init__(sieve, callback_manager=callback_manager, verbose=verbose)

    def recall(self, query: QueryType) -> Remembered:
        """The hits, and the whole answer, which says what is missing and why."""
        bundle = _bundle(query)
        return ask(self.sieve, bundle.query_str, *times_of(bundle), **self.options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return recalled_nodes(self.recall(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return recalled_nodes(await asyncio.to_thread(self.recall, query_bundle))
