"""The components: what is left of documents, what the ledger finds, and the block for a prompt.

Each takes the path of a ledger, so that a pipeline with it can be written down, or an open one.
Every ``run`` has a twin ``run_async`` with the same result, and every call may name times of its
own. Where `Pipeline.run` raises `PipelineRuntimeError`, our error is its ``__cause__``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import deserialize_callable, serialize_callable

from doxa.adapters.answering import ask, block, settings
from doxa.adapters.haystack.documents import as_document, as_found, recalled_documents
from doxa.adapters.judging import Found, Sieve, Unknown
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    import os

    from doxa.ledger import Ledger

__all__ = ["LedgerRetriever", "TruthBlock", "TruthFilter"]

Annotate = Callable[[Found], Mapping[str, Any] | None]
Records = list[dict[str, Any]]
# What each component gives, by any of its two ways to run.
_FILTERED: Final = {"documents": list[Document], "left_out": Records, "view_revision": int}
_RECALLED: Final = {
    "documents": list[Document],
    "outcome": str,
    "reasons": list[str],
    "withheld": Records,
    "view_revision": int,
}
_TOLD: Final = {
    "text": str,
    "citations": Records,
    "left_out": Records,
    "receipt": dict[str, Any],
    "view_revision": int,
}


class _Opening:
    """What opens a ledger when it is warmed up, or else when it is first asked."""

    sieve: Sieve

    def warm_up(self) -> None:
        """Opens the ledger."""
        _ = self.sieve.open

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next run opens it again."""
        self.sieve.close()


def _name(function: Callable[..., Any] | None) -> str | None:
    return None if function is None else str(serialize_callable(function))


def _restored(kind: type, data: dict[str, Any], *functions: str) -> Any:
    given = dict(data.get("init_parameters", {}))
    for name in functions:
        if isinstance(given.get(name), str):
            given[name] = deserialize_callable(given[name])
    return default_from_dict(kind, {**data, "init_parameters": given})


@component
class TruthFilter(_Opening):
    """Keeps the documents that may be believed, in their order, with their ids and scores.

    The arguments are the settings of `doxa.adapters.judging.Sieve`. Put it behind whatever merges
    documents, and in front of what puts them into a prompt.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        unknown: Unknown = "drop",
        archived: bool = False,
        annotate: Annotate | None = None,
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            perspective=perspective,
            shared=shared,
            unknown=unknown,
            archived=archived,
            annotate=annotate,
            keys=keys,
        )

    def to_dict(self) -> dict[str, Any]:
        """The component as a JSON object. Raises `CallerError` where the ledger is open."""
        written = settings(self.sieve)
        made: dict[str, Any] = default_to_dict(self, **written, annotate=_name(self.sieve.annotate))
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TruthFilter:
        """The component that was written down."""
        made: TruthFilter = _restored(cls, data, "annotate")
        return made

    @component.output_types(**_FILTERED)
    def run(
        self,
        documents: list[Document],
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """The ``documents`` that may be believed, copies with our keys in their meta; what was
        ``left_out``, each with its id and reason; and the revision of the view.

        :param documents: What was found.
        :param valid_at: When it has to apply, as an ISO date or time; now, where it is left out.
        :param known_at: As known when, as an ISO date or time, or a revision; the newest, where it
            is left out.
        """
        sifting = self.sieve.filter(as_found(documents), valid_at, known_at)
        return {
            "documents": [as_document(kept) for kept in sifting],
            "left_out": [left.as_dict() for left in sifting.left_out],
            "view_revision": sifting.view.revision,
        }

    @component.output_types(**_FILTERED)
    async def run_async(
        self,
        documents: list[Document],
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """`run` for asynchronous code, in a thread, with the same result."""
        return await asyncio.to_thread(self.run, documents, valid_at, known_at)


@component
class LedgerRetriever(_Opening):
    """What the ledger itself finds for a question, as documents whose ids are those of the ledger.

    ``options`` are those of `Ledger.recall`. Raises `RecallRefused` where the ledger refuses to
    answer, which is not the same as finding nothing.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        top_k: int = 10,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        archived: bool = False,
        keys: str | os.PathLike[str] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.top_k, self.options = top_k, dict(options or {})
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            perspective=perspective,
            shared=shared,
            archived=archived,
            keys=keys,
        )

    def to_dict(self) -> dict[str, Any]:
        """The component as a JSON object. Raises `CallerError` where the ledger is open."""
        written = settings(self.sieve)
        del written["unknown"]
        made: dict[str, Any] = default_to_dict(
            self, **written, top_k=self.top_k, options=dict(self.options)
        )
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LedgerRetriever:
        """The component that was written down."""
        made: LedgerRetriever = _restored(cls, data)
        return made

    @component.output_types(**_RECALLED)
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """The hits as ``documents``, how it came out (``outcome``), the ``reasons`` for what is
        missing, what matched and was ``withheld``, and the revision of the view.

        :param query: What is to be known, in words.
        :param filters: None: a ledger has no filters on meta.
        :param top_k: How many places are given.
        :param valid_at: When it has to apply, as an ISO date or time; now, where it is left out.
        :param known_at: As known when, as an ISO date or time, or a revision; the newest, where it
            is left out.
        """
        if filters:
            raise CallerError(
                "a ledger has no filters on meta; give subject, predicate, kind and the like as "
                "options, where the retriever is made"
            )
        asked = {**self.options, "top_k": self.top_k if top_k is None else top_k}
        found = ask(self.sieve, query, valid_at, known_at, **asked)
        return {
            "documents": recalled_documents(found),
            "outcome": str(found.answer.outcome),
            "reasons": [str(gap) for gap in found.answer.reasons],
            "withheld": [
                {"id": each.id, "verdict": str(each.verdict), "detail": each.detail}
                for each in found.answer.withheld
            ],
            "view_revision": found.view.revision,
        }

    @component.output_types(**_RECALLED)
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """`run` for asynchronous code, in a thread, with the same result."""
        return await asyncio.to_thread(self.run, query, filters, top_k, valid_at, known_at)


@component
class TruthBlock(_Opening):
    """The block of text for a prompt: of documents, or of what the ledger knows about a question.

    It has standing, times and citations, conflicts with all their sides, and is never over its
    ``budget``, in characters or in what ``count`` counts. Of documents, those are in it that may be
    believed, whatever judged them before. ``options`` are those of `Ledger.assemble` for a
    question; they go without ``documents``.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        budget: int | str | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        archived: bool = False,
        annotate: Annotate | None = None,
        keys: str | os.PathLike[str] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.budget, self.count, self.top_k = budget, count, top_k
        self.options = dict(options or {})
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            perspective=perspective,
            shared=shared,
            archived=archived,
            annotate=annotate,
            keys=keys,
        )

    def to_dict(self) -> dict[str, Any]:
        """The component as a JSON object. Raises `CallerError` where the ledger is open."""
        written = settings(self.sieve)
        del written["unknown"]
        made: dict[str, Any] = default_to_dict(
            self,
            **written,
            annotate=_name(self.sieve.annotate),
            budget=self.budget,
            count=_name(self.count),
            top_k=self.top_k,
            options=dict(self.options),
        )
        return made

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TruthBlock:
        """The component that was written down."""
        made: TruthBlock = _restored(cls, data, "annotate", "count")
        return made

    @component.output_types(**_TOLD)
    def run(
        self,
        query: str,
        documents: list[Document] | None = None,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """The ``text``, its ``citations``, what was ``left_out`` of it and why, the ``receipt`` to
        keep, and the revision of the view.

        :param query: What is to be known, in words.
        :param documents: What was found; without it, the ledger answers the question itself.
        :param valid_at: When it has to apply, as an ISO date or time; now, where it is left out.
        :param known_at: As known when, as an ISO date or time, or a revision; the newest, where it
            is left out.
        """
        made = block(
            self.sieve,
            query,
            valid_at,
            known_at,
            found=None if documents is None else as_found(documents),
            budget=self.budget,
            count=self.count,
            top_k=self.top_k,
            **(self.options if documents is None else {}),
        )
        return {
            "text": made.text,
            "citations": [one.as_dict() for one in made.citations],
            "left_out": [one.as_dict() for one in made.left_out],
            "receipt": made.receipt.as_dict(),
            "view_revision": made.view["revision"],
        }

    @component.output_types(**_TOLD)
    async def run_async(
        self,
        query: str,
        documents: list[Document] | None = None,
        valid_at: str | date | None = None,
        known_at: int | str | date | None = None,
    ) -> dict[str, Any]:
        """`run` for asynchronous code, in a thread, with the same result."""
        return await asyncio.to_thread(self.run, query, documents, valid_at, known_at)
