"""The postprocessor that leaves out what may not be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_serializer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from doxa.adapters.answering import settings
from doxa.adapters.judging import Sieve, Sifting
from doxa.adapters.llamaindex.nodes import as_found, as_nodes, times_of
from doxa.engine.errors import CallerError

__all__ = ["TruthPostprocessor"]


class TruthPostprocessor(BaseNodePostprocessor):
    """Keeps the nodes that may be believed, in their order and with their scores.

    ``ledger`` is an open one or the path of one; the rest are the settings of
    `doxa.adapters.judging.Sieve`. A `TruthQuery` names times of its own. What is left out is in a
    `TruthEvent`, or in what `sift` returns.
    """

    model_config = ConfigDict(extra="forbid")

    ledger: Any = Field(description="An open ledger, or the path of one.")
    valid_at: Any = None
    known_at: Any = None
    workspace: str = ""
    perspective: str | None = None
    shared: bool = True
    unknown: str = "drop"
    archived: bool = False
    annotate: Any = None
    keys: Any = None
    _sieve: Sieve = PrivateAttr()

    def __init__(self, ledger: Any, **options: Any) -> None:
        super().__init__(ledger=ledger, **options)
        names = ("workspace", "perspective", "shared", "unknown", "archived", "annotate", "keys")
        chosen: dict[str, Any] = {name: getattr(self, name) for name in names}
        self._sieve = Sieve(ledger, valid_at=self.valid_at, known_at=self.known_at, **chosen)

    @classmethod
    def class_name(cls) -> str:
        return "TruthPostprocessor"

    def sift(
        self,
        nodes: Sequence[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        *,
        valid_at: Any = None,
        known_at: Any = None,
    ) -> Sifting:
        """What may be believed of nodes, and what is left out, with the reasons."""
        valid, known = times_of(query_bundle)
        at = valid if valid_at is None else valid_at
        return self._sieve.filter(as_found(nodes), at, known if known_at is None else known_at)

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self._sieve.close()

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return as_nodes(self.sift(nodes, query_bundle))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return as_nodes(await self._sieve.afilter(as_found(nodes), *times_of(query_bundle)))

    # -- written down

    def _written(self) -> dict[str, Any]:
        if self.annotate is not None:
            raise CallerError(
                "annotate is a function and can't be written down; make the postprocessor anew, "
                "or put the keys that it gives into the metadata of the nodes"
            )
        return settings(self._sieve)

    @field_serializer("ledger", "valid_at", "known_at", "keys")
    def _setting(self, value: Any, info: Any) -> Any:
        return self._written()[info.field_name]

    def model_dump(self, **options: Any) -> dict[str, Any]:
        self._written()  # raised in a serializer, the error would be one of pydantic's
        dumped: dict[str, Any] = super().model_dump(**options)
        return dumped

    def __getstate__(self) -> dict[str, Any]:
        self._written()  # else half an object would be kept
        self.close()
        state: dict[str, Any] = super().__getstate__()
        return state
