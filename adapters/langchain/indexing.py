"""What LangChain's ``index()`` deletes is withdrawn; what it indexes again comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from langchain_core.indexing import RecordManager

from doxa.adapters.judging import Sieve
from doxa.engine.errors import CallerError
from doxa.engine.graph import NONE

__all__ = ["TruthRecordManager"]

_REASON: Final = "deleted from the index"


class TruthRecordManager(RecordManager):
    """A record manager that withdraws the sources that deleted keys are in a ledger.

    ``records`` is the record manager that keeps the keys. A key is the id of a document, and the
    name of the source of what was recorded from it, unless ``source_of`` gives another name for it,
    or none. What is deleted is withdrawn before its key goes; what is indexed again is restored,
    where it was withdrawn here. Of sources that no evidence names, nothing is recorded.
    """

    def __init__(
        self,
        records: RecordManager,
        ledger: Any,
        *,
        source_of: Callable[[str], str | None] = str,
        workspace: str = "",
        reason: str = _REASON,
    ) -> None:
        if not isinstance(records, RecordManager):
            raise CallerError(
                f"records is a {type(records).__name__}; give the record manager that keeps the "
                "keys"
            )
        super().__init__(records.namespace)
        self.records, self.source_of = records, source_of
        self.workspace, self.reason = workspace, reason
        self._sieve = Sieve(ledger, workspace=workspace)

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self._sieve.close()

    # -- what the ledger is told

    def _record(self, keys: Sequence[str], gone: bool) -> None:
        """One commit that withdraws what is gone, or restores what is back, of these keys."""
        events = list(self._events(keys, gone))
        if events:
            self._sieve.open.append(events)

    def _events(self, keys: Sequence[str], gone: bool) -> Iterator[dict[str, Any]]:
        graph = self._sieve.view().graph

        def known(id: str) -> bool:
            return graph.find(self.workspace, id) != NONE

        for source in dict.fromkeys(filter(None, map(self.source_of, keys))):
            if not graph.sources_named.get(graph.names.find(source)):
                continue
            number = 1
            while known(self._gone(source, number)):
                number += 1
            last = self._gone(source, number - 1)
            withdrawn = number > 1 and not known(f"{last}/back")
            if gone and not withdrawn:
                event = {"id": self._gone(source, number), "source": source, "reason": self.reason}
            elif withdrawn and not gone:
                event = {"id": f"{last}/back", "target": last, "reason": "indexed again"}
            else:
                continue
            yield {"event": "withdrawal", "workspace": self.workspace, **event}

    def _gone(self, source: str, number: int) -> str:
        """The id of the withdrawal when a source goes for the so many'th time."""
        return f"langchain/{self.namespace}/{source}/gone/{number}"

    # -- the record manager

    def create_schema(self) -> None:
        self.records.create_schema()

    async def acreate_schema(self) -> None:
        await self.records.acreate_schema()

    def get_time(self) -> float:
        time: float = self.records.get_time()
        return time

    async def aget_time(self) -> float:
        time: float = await self.records.aget_time()
        return time

    def update(self, keys: Sequence[str], **options: Any) -> None:
        self.records.update(keys, **options)
        self._record(keys, gone=False)

    async def aupdate(self, keys: Sequence[str], **options: Any) -> None:
        await self.records.aupdate(keys, **options)
        await asyncio.to_thread(self._record, keys, gone=False)

    def exists(self, keys: Sequence[str]) -> list[bool]:
        found: list[bool] = self.records.exists(keys)
        return found

    async def aexists(self, keys: Sequence[str]) -> list[bool]:
        found: list[bool] = await self.records.aexists(keys)
        return found

    def list_keys(self, **options: Any) -> list[str]:
        keys: list[str] = self.records.list_keys(**options)
        return keys

    async def alist_keys(self, **options: Any) -> list[str]:
        keys: list[str] = await self.records.alist_keys(**options)
        return keys

    def delete_keys(self, keys: Sequence[str]) -> None:
        self._record(keys, gone=True)
        self.records.delete_keys(keys)

    async def adelete_keys(self, keys: Sequence[str]) -> None:
        await asyncio.to_thread(self._record, keys, gone=True)
        await self.records.adelete_keys(keys)
