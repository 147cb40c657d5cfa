"""The document compressor that leaves out what may not be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from doxa.adapters.judging import Sifting
from doxa.adapters.langchain.asking import Asking
from doxa.adapters.langchain.documents import (
    SIFTED,
    adispatch,
    as_documents,
    as_found,
    dispatch,
    sifted_event,
)

__all__ = ["TruthCompressor"]


class TruthCompressor(Asking, BaseDocumentCompressor):
    """Keeps the documents that may be believed, in their order.

    ``ledger`` is an open one or the path of one; the rest are the settings of
    `doxa.adapters.judging.Sieve`. A pipeline hands no times on, so they are those of here, unless
    a call of your own names them. What is left out is in an event ``doxa.sifted``, or in what
    `sift` returns.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    unknown: str = "drop"
    annotate: Any = None

    def __init__(self, ledger: Any, **fields: Any) -> None:
        super().__init__(ledger=ledger, **fields)

    def sift(
        self, documents: Sequence[Document], *, valid_at: Any = None, known_at: Any = None
    ) -> Sifting:
        """What may be believed of documents, and what is left out, with the reasons."""
        return self._sieve.filter(as_found(documents), valid_at, known_at)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
    ) -> list[Document]:
        """The documents that may be believed, in copies; the question plays no part."""
        sifting = self.sift(documents, valid_at=valid_at, known_at=known_at)
        if callbacks is not None:
            dispatch(callbacks, SIFTED, sifted_event(sifting))
        return as_documents(sifting)

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
    ) -> list[Document]:
        """`compress_documents` for asynchronous code, with the same result."""
        sifting = await asyncio.to_thread(
            self.sift, documents, valid_at=valid_at, known_at=known_at
        )
        if callbacks is not None:
            await adispatch(callbacks, SIFTED, sifted_event(sifting))
        return as_documents(sifting)
