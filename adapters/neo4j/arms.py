"""Which searches reach an answer without being judged."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from neo4j_graphrag.generation import GraphRAG
from neo4j_graphrag.retrievers import ToolsRetriever
from neo4j_graphrag.retrievers.base import Retriever

from doxa.adapters.answering import refuse_arms
from doxa.adapters.neo4j.searching import LedgerRetriever, TruthRetriever
from doxa.engine.errors import CallerError

__all__ = ["check_arms"]


def check_arms(searching: GraphRAG | Retriever) -> None:
    """Raises `UnjudgedArm` where what a retriever, or that of a `GraphRAG`, finds reaches the model
    without being judged; it names each such search.

    It looks into the tools of a `ToolsRetriever`: a tool that no retriever was turned into is taken
    for a search of its own. Raises `CallerError` for anything else.
    """
    retriever = searching.retriever if isinstance(searching, GraphRAG) else searching
    if not _is_a(retriever, Retriever):
        raise CallerError(f"{searching!r:.80} is no retriever; give one, or a GraphRAG")
    refuse_arms(_unjudged(retriever, ""))


def _unjudged(retriever: Any, place: str) -> Iterator[str]:
    if _is_a(retriever, TruthRetriever, LedgerRetriever):
        return
    here = f"{place}{type(retriever).__name__}"
    if not _is_a(retriever, ToolsRetriever):
        yield here
        return
    for tool in retriever._tools:
        inner = _behind(tool._execute_func)
        if inner is None:
            yield f"{here} > tool {tool.get_name()!r}"
        else:
            yield from _unjudged(inner, f"{here} > tool {tool.get_name()!r} > ")


def _behind(function: Any) -> Retriever | None:
    """The retriever that a tool was made of, as `Retriever.convert_to_tool` leaves it behind."""
    bound = getattr(function, "__self__", None)
    if bound is None and inspect.isfunction(function):
        bound = inspect.getclosurevars(function).nonlocals.get("self")
    return bound if _is_a(bound, Retriever) else None


def _is_a(value: object, *kinds: type) -> bool:
    """Whether a value is of one of these classes, without `isinstance`: the metaclass of retrievers
    lets all of them share what that remembers, so that it takes one for any other."""
    return any(kind in type(value).__mro__ for kind in kinds)
