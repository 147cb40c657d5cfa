"""Retrievers: another one's documents judged by a view, and what the ledger finds itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import ConfigDict

from doxa.adapters.answering import ask
from doxa.adapters.judging import Remembered, Sifting
from doxa.adapters.langchain.asking import SPECS, TIMES, Asking, configured, times_of
from doxa.adapters.langchain.documents import (
    RECALLED,
    SIFTED,
    adispatch,
    as_documents,
    dispatch,
    recalled_documents,
    recalled_event,
    sifted_event,
)
from doxa.adapters.langchain.refilling import Search, check_number
from doxa.engine.errors import CallerError

__all__ = ["LedgerRetriever", "TruthRetriever"]


class _OfLedger(Asking, BaseRetriever):
    """A retriever whose calls have times: as arguments, or as what is configurable."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        found: list[Document] = super().invoke(input, config, **self._called(config, kwargs))
        return found

    async def ainvoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        kwargs = self._called(config, kwargs)
        found: list[Document] = await super().ainvoke(input, config, **kwargs)
        return found

    def _called(self, config: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        if "as_of" in kwargs:
            from doxa.arguments import refuse_unknown

            refuse_unknown({"as_of": None}, "invoke", "")
        return {**kwargs, **times_of(config, kwargs)}

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The two times, which may be configured for a run."""
        return SPECS


class TruthRetriever(_OfLedger):
    """The documents of another retriever that may be believed, in its order.

    ``retriever`` is any that brings documents: a retriever, or a runnable of a question. ``ledger``
    is an open one or the path of one; the rest are the settings of `doxa.adapters.judging.Sieve`.
    ``k`` is how many documents there are at most, after judging: a vector store's retriever is
    asked for more until there are so many, and so is another one where ``k_key`` names the
    argument of its ``invoke`` that is the number.

    ``invoke`` takes ``valid_at``, ``known_at`` and ``k`` for one call, and ``search``, which are
    arguments for the other one's ``invoke``. What is left out is in an event ``doxa.sifted``, or in
    what `sift` returns.
    """

    retriever: Any
    unknown: str = "drop"
    annotate: Any = None
    k: int | None = None
    k_key: str | None = None

    def __init__(self, retriever: Any, ledger: Any, **fields: Any) -> None:
        super().__init__(retriever=retriever, ledger=ledger, **fields)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        check_number(self.k, "k")
        if not isinstance(self.retriever, Runnable):
            raise CallerError(
                f"retriever is a {type(self.retriever).__name__}; give a retriever, or put a "
                "function into a RunnableLambda"
            )

    def sift(
        self,
        query: str,
        config: Any = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
        k: int | None = None,
        search: Mapping[str, Any] | None = None,
    ) -> Sifting:
        """What the other one finds, judged: what may be believed, and what is left out."""
        times = times_of(config, {"valid_at": valid_at, "known_at": known_at})
        return self._sift(query, config, self._search(times, k, search))

    async def asift(
        self,
        query: str,
        config: Any = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
        k: int | None = None,
        search: Mapping[str, Any] | None = None,
    ) -> Sifting:
        """`sift` for asynchronous code, with the same result."""
        times = times_of(config, {"valid_at": valid_at, "known_at": known_at})
        return await self._asift(query, config, self._search(times, k, search))

    def _called(self, config: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {"configurable": configured(config), **super()._called(config, kwargs)}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        valid_at: Any = None,
        known_at: Any = None,
        k: int | None = None,
        search: Mapping[str, Any] | None = None,
        configurable: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        times = {"valid_at": valid_at, "known_at": known_at}
        child = run_manager.get_child()
        config = {"callbacks": child, "configurable": {**(configurable or {}), **times}}
        sifting = self._sift(query, config, self._search(times, k, search))
        if child.handlers:
            dispatch(child, SIFTED, sifted_event(sifting))
        return as_documents(sifting)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        valid_at: Any = None,
        known_at: Any = None,
        k: int | None = None,
        search: Mapping[str, Any] | None = None,
        configurable: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        times = {"valid_at": valid_at, "known_at": known_at}
        child = run_manager.get_child()
        config = {"callbacks": child, "configurable": {**(configurable or {}), **times}}
        sifting = await self._asift(query, config, self._search(times, k, search))
        if child.handlers:
            await adispatch(child, SIFTED, sifted_event(sifting))
        return as_documents(sifting)

    def _search(
        self, times: Mapping[str, Any], k: int | None, search: Mapping[str, Any] | None
    ) -> Search:
        return Search(
            self.retriever,
            self._sieve,
            (times["valid_at"], times["known_at"]),
            self.k if k is None else k,
            self.k_key,
            dict(search or {}),
        )

    def _sift(self, query: str, config: Any, search: Search) -> Sifting:
        while True:
            sifting = search.step(self.retriever.invoke(query, config, **search.arguments))
            if sifting is not None:
                return sifting

    async def _asift(self, query: str, config: Any, search: Search) -> Sifting:
        while True:
            found = await self.retriever.ainvoke(query, config, **search.arguments)
            sifting = await asyncio.to_thread(search.step, found)
            if sifting is not None:
                return sifting


class LedgerRetriever(_OfLedger):
    """What the ledger itself finds for a question, as documents whose ids are those of the ledger.

    Raises `RecallRefused` where it refuses to answer, which is not the same as finding nothing.
    ``options`` are those of `Ledger.recall`, here or in ``invoke``; how it came out is in an event
    ``doxa.recalled``, or in what `recall` returns.
    """

    options: dict[str, Any]

    def __init__(self, ledger: Any, **fields: Any) -> None:
        given = {**fields.pop("options", {})}
        known = {name: fields.pop(name) for name in list(fields) if name in self.__class__._own()}
        super().__init__(ledger=ledger, options={**given, **fields}, **known)

    @classmethod
    def _own(cls) -> set[str]:
        return {*cls.model_fields} - {"options"}

    def recall(self, query: str, config: Any = None, **options: Any) -> Remembered:
        """The hits, and the whole answer, which says what is missing and why."""
        times = times_of(config, options)
        rest = {name: value for name, value in options.items() if name not in TIMES}
        return self._recall(query, times["valid_at"], times["known_at"], rest)

    async def arecall(self, query: str, config: Any = None, **options: Any) -> Remembered:
        """`recall` for asynchronous code, with the same result."""
        return await asyncio.to_thread(self.recall, query, config, **options)

    def _recall(self, query: str, valid_at: Any, known_at: Any, rest: Any) -> Remembered:
        return ask(self._sieve, query, valid_at, known_at, **{**self.options, **rest})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        valid_at: Any = None,
        known_at: Any = None,
        **options: Any,
    ) -> list[Document]:
        found = self._recall(query, valid_at, known_at, options)
        if run_manager.inheritable_handlers:
            dispatch(run_manager.get_child(), RECALLED, recalled_event(found))
        return recalled_documents(found)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        valid_at: Any = None,
        known_at: Any = None,
        **options: Any,
    ) -> list[Document]:
        found = await asyncio.to_thread(self._recall, query, valid_at, known_at, options)
        if run_manager.inheritable_handlers:
            await adispatch(run_manager.get_child(), RECALLED, recalled_event(found))
        return recalled_documents(found)
