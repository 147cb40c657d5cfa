"""LlamaIndex nodes as results, and back; what is asked, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.schema import (
    IndexNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TextNode,
)

from doxa.adapters.annotations import ANNOTATIONS
from doxa.adapters.judging import Found, Kept, Remembered, Sifting
from doxa.engine.items import iso_or_none

__all__ = [
    "RecallEvent",
    "TruthEvent",
    "TruthQuery",
    "as_found",
    "as_nodes",
    "recalled_nodes",
    "times_of",
]

dispatcher = get_dispatcher(__name__)


@dataclass
class TruthQuery(QueryBundle):
    """A question with times of its own, for everything that judges on its way."""

    valid_at: Any = None
    known_at: Any = None


class TruthEvent(BaseEvent):
    """Nodes were judged: the ids of those kept, what was left out and why, and at which view."""

    kept: list[str]
    left_out: list[dict[str, Any]]
    view_revision: int
    valid_at: str | None
    known_at: str | None

    @classmethod
    def class_name(cls) -> str:
        return "TruthEvent"


class RecallEvent(BaseEvent):
    """The ledger was asked: how it came out, what is missing, what was withheld, at which view."""

    outcome: str
    reasons: list[str]
    abstention: str | None
    hits: list[str]
    withheld: list[dict[str, str]]
    view_revision: int
    valid_at: str | None
    known_at: str | None

    @classmethod
    def class_name(cls) -> str:
        return "RecallEvent"


def times_of(query: QueryBundle | None) -> tuple[Any, Any]:
    """The times that a question names itself."""
    return (query.valid_at, query.known_at) if isinstance(query, TruthQuery) else (None, None)


def as_found(nodes: Iterable[NodeWithScore]) -> list[Found]:
    """Nodes as results to be judged; their text is what they say, without metadata."""
    return [
        Found(
            one.node.get_content(metadata_mode=MetadataMode.NONE) or "",
            one.node.metadata,
            one.node.node_id,
            one.score,
            one,
        )
        for one in nodes
    ]


def as_nodes(sifting: Sifting) -> list[NodeWithScore]:
    """The nodes that were kept, in copies that carry the notes; others are told of in an event."""
    dispatcher.event(
        TruthEvent(
            kept=[str(kept.found.id) for kept in sifting],
            left_out=[left.as_dict() for left in sifting.left_out],
            view_revision=sifting.view.revision,
            valid_at=iso_or_none(sifting.view.valid_at),
            known_at=iso_or_none(sifting.view.known_at),
        )
    )
    return [_copied(kept) for kept in sifting]


def _copied(kept: Kept) -> NodeWithScore:
    """A copy of a node: its own id, text and score, and the notes, which are for neither model."""
    scored: NodeWithScore = kept.found.item
    node = scored.node
    hidden = [key for key in kept.metadata if key in kept.notes or key in ANNOTATIONS]
    changed: dict[str, Any] = {
        "metadata": kept.metadata,
        "excluded_llm_metadata_keys": _with(node.excluded_llm_metadata_keys, hidden),
        "excluded_embed_metadata_keys": _with(node.excluded_embed_metadata_keys, hidden),
        "relationships": dict(node.relationships),
    }
    if node.embedding is not None:
        changed["embedding"] = list(node.embedding)
    if isinstance(node, IndexNode):
        changed["obj"] = None  # else it would be entered later, and what is in it not be judged
    return scored.model_copy(update={"node": node.model_copy(update=changed)})


def _with(keys: Sequence[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*keys, *more)))


def recalled_nodes(found: Remembered) -> list[NodeWithScore]:
    """What the ledger found, as nodes; how it came out is told in an event."""
    answer = found.answer
    abstention = answer.abstention
    dispatcher.event(
        RecallEvent(
            outcome=str(answer.outcome),
            reasons=[str(gap) for gap in answer.reasons],
            abstention=None if abstention is None else str(abstention.reason),
            hits=[hit.id for hit in answer],
            withheld=[
                {"id": each.id, "verdict": str(each.verdict), "detail": each.detail}
                for each in answer.withheld
            ],
            view_revision=found.view.revision,
            valid_at=iso_or_none(found.view.valid_at),
            known_at=iso_or_none(found.view.known_at),
        )
    )
    return [NodeWithScore(node=_made(kept), score=kept.found.score) for kept in found]


def _made(kept: Kept) -> TextNode:
    metadata = kept.metadata
    return TextNode(
        id_=kept.found.id,
        text=kept.found.text,
        metadata=metadata,
        excluded_llm_metadata_keys=list(metadata),
        excluded_embed_metadata_keys=list(metadata),
    )
