"""A `rerank_model_func` for LightRAG that lets through only what may be believed.

LightRAG hands it the texts of chunks alone: entities and relationships never pass here, which is
why `Truth.judge` is the gate, and this a help for those who call ``aquery``. Where a rerank
function raises or returns nothing, LightRAG goes on with all that was found; so this one does
neither.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doxa.adapters.judging import Found, Sieve

if TYPE_CHECKING:
    from doxa.views import TruthView

__all__ = ["Rerank", "reranker"]

Rerank = Callable[..., Coroutine[Any, Any, list[Any]]]
Rests = Callable[["TruthView", str], list[list[str]]]
_LOG: Final = logging.getLogger("doxa.adapters.lightrag")
_NOTHING: Final = "(Nothing of what was found may be believed at this view.)"
_FAILED: Final = "(What was found could not be judged, and is left out.)"


def reranker(sieve: Sieve, rests: Rests, inner: Rerank | None) -> Rerank:
    """The function: chunks that may not be used are left out before ``inner`` ranks the others;
    its scores are handed on as they are. Without ``inner``, or where that fails, the others keep
    their order. ``rests`` gives the claims that a text rests on, once for each who says it."""

    async def rerank(
        query: str, documents: Sequence[str], top_n: int | None = None, **more: Any
    ) -> list[Any]:
        try:
            kept = await asyncio.to_thread(_kept, sieve, rests, list(documents))
        except Exception as error:  # raised, LightRAG would go on with all of them
            _LOG.error("no chunk is let through: %s", error)
            return [_notice(_FAILED)]
        if not kept:
            return [_notice(_NOTHING)]
        ranked = await _ranked(inner, query, [documents[place] for place in kept], top_n, more)
        return [_placed(each, kept) for each in ranked]

    return rerank


def _kept(sieve: Sieve, rests: Rests, documents: list[str]) -> list[int]:
    """The places of those texts that somebody may be believed to have said."""
    view = sieve.view()
    found = []
    for place, text in enumerate(documents):
        for claims in rests(view, text) or [[]]:
            found.append(Found(text, item=_Place(place, {"claim_ids": claims})))
    sifting = sieve.sift(found, view)
    sieve.still(view)
    return list(dict.fromkeys(each.found.item.place for each in sifting.kept))


class _Place(NamedTuple):
    """Where a text stands among those that were given, and what it rests on."""

    place: int
    rests: Mapping[str, Any]


async def _ranked(
    inner: Rerank | None,
    query: str,
    documents: list[str],
    top_n: int | None,
    more: Mapping[str, Any],
) -> list[Any]:
    if inner is not None:
        try:
            if ranked := await inner(query=query, documents=documents, top_n=top_n, **more):
                return list(ranked)
        except Exception as error:  # as above
            _LOG.error("chunks keep their order, since the rerank function failed: %s", error)
    in_order = [{"index": n, "relevance_score": 1.0} for n in range(len(documents))]
    return in_order if top_n is None else in_order[:top_n]


def _placed(ranked: Any, kept: Sequence[int]) -> Any:
    """A rank with the place that the text had before others were left out."""
    if not isinstance(ranked, Mapping) or type(ranked.get("index")) is not int:
        return ranked
    index = ranked["index"]
    # a place out of the list stays one: LightRAG passes over it
    return {**ranked, "index": kept[index] if 0 <= index < len(kept) else -1}


def _notice(text: str) -> dict[str, str]:
    """In the place of all chunks: a document in LightRAG's older form, which is taken as it is."""
    return {"content": text, "file_path": "unknown_source", "chunk_id": ""}
