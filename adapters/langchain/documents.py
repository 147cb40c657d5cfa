"""LangChain documents as results, and back; and what callbacks are told of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)

from doxa.adapters.judging import Found, Kept, Remembered, Sifting
from doxa.engine.errors import CallerError
from doxa.engine.items import iso_or_none

if TYPE_CHECKING:
    from doxa.views import TruthView

__all__ = [
    "RECALLED",
    "SIFTED",
    "TOLD",
    "adispatch",
    "as_documents",
    "as_found",
    "coordinates",
    "dispatch",
    "recalled_documents",
    "recalled_event",
    "sifted_event",
]

# The names of custom events: `on_custom_event` of a callback handler, `astream_events`.
SIFTED: Final = "doxa.sifted"
RECALLED: Final = "doxa.recalled"
TOLD: Final = "doxa.told"


def as_found(documents: Iterable[Any]) -> list[Found]:
    """Documents as results to be judged, in their order."""
    found = []
    for one in documents:
        if not isinstance(one, Document):
            raise CallerError(
                f"the retriever brought a {type(one).__name__} where a Document is expected; "
                "wrap one that brings Documents"
            )
        found.append(Found(one.page_content, one.metadata, one.id, None, one))
    return found


def as_documents(kept: Iterable[Kept]) -> list[Document]:
    """Copies of the documents that were kept, with the notes in their metadata: stores hand out
    documents, or their metadata, that they share."""
    return [one.found.item.model_copy(update={"metadata": one.metadata}) for one in kept]


def recalled_documents(found: Remembered) -> list[Document]:
    """What the ledger found, as documents whose ids are those of the ledger."""
    return [
        Document(
            page_content=one.found.text,
            id=one.found.id,
            metadata={"score": one.found.score, **one.metadata},
        )
        for one in found
    ]


# -- what callbacks are told


def dispatch(callbacks: Any, name: str, data: dict[str, Any]) -> None:
    """Tells the handlers of a run of an event; outside of any run there is nobody to tell.

    ``callbacks`` are those of the run's children.
    """
    manager = get_callback_manager_for_config({"callbacks": callbacks})
    if manager.parent_run_id is not None:
        manager.on_custom_event(name, data, run_id=manager.parent_run_id)


async def adispatch(callbacks: Any, name: str, data: dict[str, Any]) -> None:
    """`dispatch` for asynchronous code."""
    manager = get_async_callback_manager_for_config({"callbacks": callbacks})
    if manager.parent_run_id is not None:
        await manager.on_custom_event(name, data, run_id=manager.parent_run_id)


def coordinates(view: TruthView) -> dict[str, Any]:
    """The view that something was judged at, as an event says it."""
    return {
        "view_revision": view.revision,
        "valid_at": iso_or_none(view.valid_at),
        "known_at": iso_or_none(view.known_at),
    }


def sifted_event(sifting: Sifting) -> dict[str, Any]:
    """What was kept, and what was left out and why, without a word of it."""
    return {
        "kept": [one.found.id for one in sifting],
        "left_out": [one.as_dict() for one in sifting.left_out],
        **coordinates(sifting.view),
    }


def recalled_event(found: Remembered) -> dict[str, Any]:
    """How an answer of the ledger came out, what is missing, and what was withheld."""
    answer = found.answer
    abstention = answer.abstention
    return {
        "outcome": str(answer.outcome),
        "reasons": [str(gap) for gap in answer.reasons],
        "abstention": None if abstention is None else str(abstention.reason),
        "hits": [hit.id for hit in answer],
        "withheld": [
            {"id": each.id, "verdict": str(each.verdict), "detail": each.detail}
            for each in answer.withheld
        ],
        **coordinates(found.view),
    }
