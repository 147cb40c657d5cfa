"""Which searches reach an answer without being judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.property_graph import BasePGRetriever, PGRetriever
from llama_index.core.retrievers import (
    QueryFusionRetriever,
    RouterRetriever,
    TransformRetriever,
)

from doxa.adapters.answering import refuse_arms
from doxa.adapters.llamaindex.graphs import TruthGraphStore
from doxa.adapters.llamaindex.postprocessing import TruthPostprocessor
from doxa.adapters.llamaindex.retrieving import LedgerRetriever, TruthRetriever
from doxa.engine.errors import CallerError

__all__ = ["check_arms"]

# What hands on the results of others and brings none of its own, and where it has them.
_MERGING: Final = {
    QueryFusionRetriever: "_retrievers",
    RouterRetriever: "_retrievers",
    TransformRetriever: "_retriever",
    PGRetriever: "sub_retrievers",
}
# Where engines keep others.
_ENGINES: Final = ("_query_engine", "_query_engines")


def check_arms(searching: Any) -> None:
    """Raises `UnjudgedArm` where what a retriever, query engine or chat engine finds reaches the
    model without being judged; it names each such search.

    A `TruthRetriever` or `LedgerRetriever` is judged, and so is an engine with a
    `TruthPostprocessor` behind which nothing fetches further nodes. Into retrievers that merge
    others it looks; any other is taken for a search of its own. Raises `CallerError` for an engine
    that it can't look into.
    """
    refuse_arms(_unjudged(searching, "", ()))


def _unjudged(searching: Any, place: str, inside: tuple[Any, ...]) -> Iterator[str]:
    if any(searching is each for each in inside):
        return
    here = f"{place}{type(searching).__name__}"
    inside = (*inside, searching)
    if isinstance(searching, LedgerRetriever):
        return
    if isinstance(searching, TruthRetriever):
        yield from _mixing(searching.retriever, f"{here} > ", inside)
        return
    if isinstance(searching, BaseRetriever):
        yield from _of_retriever(searching, here, inside)
    elif hasattr(searching, "_retriever"):
        behind = getattr(searching, "_node_postprocessors", None) or ()
        last = max((n for n, each in enumerate(behind) if _judges(each)), default=None)
        look = _unjudged if last is None else _mixing
        yield from look(searching._retriever, f"{here} > ", inside)
        for each in behind[0 if last is None else last + 1 :]:
            if hasattr(each, "docstore"):  # it fetches further nodes
                yield f"{here} > {type(each).__name__}, which comes after the judgement"
    else:
        yield from _of_engine(searching, here, inside)


def _mixing(retriever: Any, place: str, inside: tuple[Any, ...]) -> Iterator[str]:
    """The searches of a property graph that put triplets into other texts, where a judgement of
    these texts does not find them."""
    if any(retriever is each for each in inside):
        return
    inside = (*inside, retriever)
    here = f"{place}{type(retriever).__name__}"
    if isinstance(retriever, BasePGRetriever):
        if retriever.include_text and not _judged_graph(retriever):
            yield f"{here}, which puts triplets into the texts of chunks: give it a TruthGraphStore"
        return
    for name in sorted({*_MERGING.values(), "retriever"}):
        arms = getattr(retriever, name, None) or []
        for number, arm in enumerate(arms if isinstance(arms, list) else [arms]):
            yield from _mixing(arm, f"{here}[{number}] > ", inside)


def _judged_graph(retriever: BasePGRetriever) -> bool:
    return isinstance(retriever._graph_store, TruthGraphStore)


def _of_retriever(retriever: BaseRetriever, here: str, inside: tuple[Any, ...]) -> Iterator[str]:
    name = next((name for kind, name in _MERGING.items() if type(retriever) is kind), None)
    if isinstance(retriever, BasePGRetriever) and _judged_graph(retriever):
        return
    if name is None:
        yield here
        return
    arms = getattr(retriever, name)
    for number, arm in enumerate(arms if isinstance(arms, list) else [arms]):
        yield from _unjudged(arm, f"{here}[{number}] > ", inside)
    objects = getattr(retriever, "object_map", None) or {}  # a PGRetriever has none
    for key, found in objects.items():  # entered where a node points to it
        if hasattr(found, "retrieve") or hasattr(found, "query"):
            yield from _unjudged(found, f"{here}, object {key!r} > ", inside)
        else:
            yield f"{here}, object {key!r} > {type(found).__name__}"


def _of_engine(engine: Any, here: str, inside: tuple[Any, ...]) -> Iterator[str]:
    held = next((getattr(engine, name) for name in _ENGINES if hasattr(engine, name)), None)
    if held is None:
        raise CallerError(
            f"{here} is no retriever, and has none that could be looked at; give its retriever, or "
            "the query engine inside"
        )
    engines = held.values() if isinstance(held, dict) else held
    for one in engines if isinstance(held, dict | list) else [held]:
        yield from _unjudged(one, f"{here} > ", inside)


def _judges(postprocessor: Any) -> bool:
    return isinstance(postprocessor, TruthPostprocessor)
