"""Haystack documents as results, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from haystack import Document

from doxa.adapters.judging import Found, Kept, Remembered

__all__ = ["as_document", "as_found", "recalled_documents"]


def as_found(documents: Iterable[Document]) -> list[Found]:
    """Documents as results to be judged."""
    return [Found(one.content or "", one.meta, one.id, one.score, one) for one in documents]


def as_document(kept: Kept) -> Document:
    """A copy of a document that was kept, with the notes in its meta. Its id is its own: else it
    would be made anew of the meta, and be another at each view."""
    old: Document = kept.found.item
    embedding = None if old.embedding is None else list(old.embedding)
    return replace(old, id=old.id, meta=kept.metadata, embedding=embedding)


def recalled_documents(found: Remembered) -> list[Document]:
    """What the ledger found, as documents whose ids are those of the ledger."""
    return [
        Document(
            id=kept.found.id, content=kept.found.text, meta=kept.metadata, score=kept.found.score
        )
        for kept in found
    ]
