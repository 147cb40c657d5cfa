"""Which searches reach an answer without being judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.configurable import DynamicRunnable, RunnableConfigurableAlternatives
from langchain_core.runnables.passthrough import RunnableAssign
from langchain_core.runnables.router import RouterRunnable

from doxa.adapters.answering import refuse_arms
from doxa.adapters.langchain.compressing import TruthCompressor
from doxa.adapters.langchain.retrieving import LedgerRetriever, TruthRetriever
from doxa.engine.errors import CallerError

__all__ = ["check_arms"]

# What hands on the documents of others and brings none of its own, and where it has them. They are
# of a library that need not be installed, so they are known by name.
_CLASSIC: Final = "langchain_classic.retrievers."
_MERGING: Final = {
    "EnsembleRetriever": "retrievers",
    "MergerRetriever": "retrievers",
    "MultiQueryRetriever": "retriever",
    "RePhraseQueryRetriever": "retriever",
    "ContextualCompressionRetriever": "base_retriever",
}


def check_arms(searching: Any) -> None:
    """Raises `UnjudgedArm` where what a retriever or chain finds is handed on without being judged;
    it names each such search.

    A `TruthRetriever` or `LedgerRetriever` is judged, and so is a compression retriever with a
    `TruthCompressor`. Into retrievers that merge others, and into chains, it looks; any other
    retriever is taken for a search of its own, and so is whatever else is an arm of one that
    merges. Raises `CallerError` where there is no search that it could look at.
    """
    searches = list(_searches(searching, "", ())) if isinstance(searching, Runnable) else []
    if not searches:
        raise CallerError(
            f"in this {type(searching).__name__} there is no retriever that could be looked at; "
            "give the retriever, or the chain that has it"
        )
    refuse_arms(place for place, judged in searches if not judged)


def _searches(one: Any, place: str, inside: tuple[Any, ...]) -> Iterator[tuple[str, bool]]:
    """The searches in a runnable, and whether each is judged."""
    here = f"{place}{_name(one)}"
    if _is_judged(one) or any(one is each for each in inside):
        yield here, True
        return
    inside = (*inside, one)
    parts = list(_parts(one))
    merging = isinstance(one, BaseRetriever)
    if merging and not parts:
        yield here, False
    for name, part in parts:
        found = list(_searches(part, f"{here}{name} > ", inside))
        if merging and not found:  # it brings documents, whatever it is
            found = [(f"{here}{name} > {_name(part)}", False)]
        yield from found


def _is_judged(one: Any) -> bool:
    if isinstance(one, BaseRetriever) and _judges(getattr(one, "base_compressor", None)):
        return True
    return isinstance(one, TruthRetriever | LedgerRetriever)


def _parts(one: Any) -> Iterator[tuple[str, Any]]:
    """What a runnable asks, each with its place; nothing for a search of its own, and for what
    can't be looked into."""
    if isinstance(one, BaseRetriever):
        name = type(one).__name__
        if name in _MERGING and type(one).__module__.startswith(_CLASSIC):
            yield from _numbered(getattr(one, _MERGING[name]))
    elif isinstance(one, RunnableSequence):
        yield from _numbered(one.steps)
    elif isinstance(one, RunnableParallel):
        yield from _named(one.steps__)
    elif isinstance(one, RouterRunnable):
        yield from _named(one.runnables)
    elif isinstance(one, RunnableWithFallbacks):
        yield from _numbered([one.runnable, *one.fallbacks])
    elif isinstance(one, RunnableBranch):
        yield from _numbered([*(each for _, each in one.branches), one.default])
    elif isinstance(one, RunnableAssign):
        yield "", one.mapper
    elif isinstance(one, RunnableBindingBase | RunnableEachBase):
        yield "", one.bound
    elif isinstance(one, RunnableConfigurableAlternatives):
        yield from _named({"default": one.default, **one.alternatives})
    elif isinstance(one, DynamicRunnable):
        yield "", one.default
    elif isinstance(one, RunnableLambda):
        yield from _numbered(one.deps)


def _name(one: Any) -> str:
    return type(one).__name__.partition("[")[0]  # without the types that a class was made for


def _numbered(parts: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(parts, list | tuple):
        yield "", parts
        return
    for number, part in enumerate(parts):
        yield f"[{number}]", part


def _named(parts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, part in parts.items():
        yield f"[{name!r}]", part


def _judges(compressor: Any) -> bool:
    """Whether a compressor judges, or is a pipeline in which one does."""
    if isinstance(compressor, TruthCompressor):
        return True
    return any(map(_judges, getattr(compressor, "transformers", None) or ()))
