"""What the ledger knows about the latest message, as a block of an agent's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer

from doxa.adapters.answering import block
from doxa.adapters.judging import Sieve

if TYPE_CHECKING:
    from doxa.engine.block import Block

__all__ = ["Told", "TruthMemoryBlock"]


class Told(str):
    """The text of a block, with the ``block`` itself, and what was ``asked`` for it."""

    block: Block
    asked: tuple[str, Any, Any]

    @classmethod
    def of(cls, made: Block, asked: tuple[str, Any, Any]) -> Told:
        told = cls(made.text)
        told.block, told.asked = made, asked
        return told


class TruthMemoryBlock(BaseMemoryBlock[str]):
    """What may be believed about the latest message of the user, with its citations and conflicts,
    within ``token_limit`` tokens.

    ``ledger`` is an open one or the path of one. `Memory.get` takes ``valid_at`` and ``known_at``
    for one call. ``options`` are those of `Ledger.assemble` for a question (``top_k``, ``trust``,
    ``inject``, filters). ``extract`` makes events, in the exchange form, of the messages that leave
    the short-term memory, and these are recorded; without it nothing ever is. Where the memory is
    full, the block is made again with less room: whole texts go, until nothing is left. With
    ``priority`` 0 it is never cut.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="truth", description="The name of the memory block.")
    ledger: Any = Field(exclude=True, description="An open ledger, or the path of one.")
    token_limit: int = Field(default=1000, description="The most tokens that it takes.")
    tokenizer_fn: Callable[[str], Sequence[Any]] = Field(
        default_factory=get_tokenizer, exclude=True, description="What counts tokens."
    )
    valid_at: Any = None
    known_at: Any = None
    workspace: str = ""
    perspective: str | None = None
    shared: bool = True
    archived: bool = False
    keys: Any = Field(default=None, exclude=True)
    options: dict[str, Any] = Field(default_factory=dict, exclude=True)
    extract: Any = Field(default=None, exclude=True)
    _sieve: Sieve = PrivateAttr()

    def __init__(self, ledger: Any, **fields: Any) -> None:
        super().__init__(ledger=ledger, **fields)
        names = ("workspace", "perspective", "shared", "archived", "keys")
        chosen: dict[str, Any] = {name: getattr(self, name) for name in names}
        self._sieve = Sieve(ledger, valid_at=self.valid_at, known_at=self.known_at, **chosen)

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self._sieve.close()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = next(
            (
                message.content
                for message in reversed(messages or [])
                if message.role == MessageRole.USER and (message.content or "").strip()
            ),
            None,
        )
        if asked is None:
            return ""
        times = block_kwargs.get("valid_at"), block_kwargs.get("known_at")
        return await asyncio.to_thread(self._told, (asked, *times), self.token_limit)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if self.extract is None:
            return
        events = [{"workspace": self.workspace, **event} for event in self.extract(messages)]
        if events:
            await asyncio.to_thread(self._sieve.open.append, events)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The same with less room, whole texts left out; none where nothing fits."""
        room = self._count(content) - tokens_to_truncate
        if not isinstance(content, Told) or room <= 0:
            return None
        return await asyncio.to_thread(self._told, content.asked, room) or None

    def _told(self, asked: tuple[str, Any, Any], room: int) -> Told:
        made = block(self._sieve, *asked, budget=room, count=self._count, **self.options)
        return Told.of(made, asked)

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))
