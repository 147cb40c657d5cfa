"""What may be believed about a question, as text for a model, headed by the view it is of."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from doxa.adapters.answering import block_at
from doxa.adapters.judging import Found, Sieve, erased
from doxa.adapters.langchain.asking import TIMES, configured, times_of
from doxa.adapters.langchain.documents import as_found
from doxa.engine.context import BUDGET, FRAME, LARGE_BUDGET
from doxa.engine.errors import CallerError, ViewMoved
from doxa.engine.items import iso_or_none
from doxa.engine.rendering import measured

if TYPE_CHECKING:
    from doxa.engine.block import Block
    from doxa.views import TruthView

__all__ = ["Teller", "Told", "truth_context"]

_SIEVES: Final = [field.name for field in dataclasses.fields(Sieve)]


class Told(str):
    """The text of a ``block`` under its ``heading``, which names the view; empty where nothing may
    be told. ``budget`` and ``used`` are of all of it."""

    block: Block
    heading: str
    budget: int
    used: int
    erased: int  # how much of the ledger was, before it was made

    @classmethod
    def of(
        cls, block: Block, heading: str, budget: int, count: Callable[[str], int], erased: int
    ) -> Told:
        told = cls(heading + block.text if block.text else "")
        told.erased = erased
        told.block, told.heading, told.budget = block, heading, budget
        told.used = count(str(told)) if told else 0
        return told

    def summary(self) -> dict[str, Any]:
        """The view, the citations by their numbers, and what was left out and why: JSON, without a
        word of what is not in the text."""
        block = self.block
        answer: dict[str, Any] = {}
        if (asked := block.recalled) is not None:
            answer = {
                "outcome": str(asked.outcome),
                "reasons": [str(gap) for gap in asked.reasons],
                "abstention": None if asked.abstention is None else str(asked.abstention.reason),
            }
        return {
            "view_revision": block.view["revision"],
            "valid_at": block.view["valid_at"],
            "known_at": block.view["known_at"],
            "citations": [one.as_dict() for one in block.citations],
            "left_out": [one.as_dict() for one in block.left_out],
            **answer,
        }

    def as_dict(self) -> dict[str, Any]:
        """The text and all that is known of it, as a JSON object; but no receipt, which repeats
        the text of every candidate, of those left out too."""
        block = self.block
        return {
            "text": str(self),
            "printed": [one.as_dict() for one in block.printed],
            "notices": [one.as_dict() for one in block.notices],
            "warnings": list(block.warnings),
            "budget": self.budget,
            "used": self.used,
            "unit": block.unit,
            "view": dict(block.view),
            **self.summary(),
        }


class Teller:
    """Makes the text: of what a ``retriever`` finds or, without one, of what the ledger knows.

    ``budget`` is for all of it, with its heading, in characters or in what ``count`` counts; it is
    made anew where the truth moves meanwhile, ``attempts`` times at most. ``settings`` are those of
    `doxa.adapters.judging.Sieve`, and of `Ledger.assemble` for a question (with a retriever:
    ``top_k`` alone). Raises `CallerError`.
    """

    def __init__(
        self,
        ledger: Any,
        *,
        retriever: Any = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        attempts: int = 3,
        **settings: Any,
    ) -> None:
        if retriever is not None and not isinstance(retriever, Runnable):
            raise CallerError(f"retriever is a {type(retriever).__name__}; give one of LangChain's")
        if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
            raise CallerError(f"attempts is {attempts!r:.60}; give a whole number, 1 or more")
        if budget is None:
            budget = BUDGET
        self.budget = LARGE_BUDGET if budget == "large" else budget
        if not isinstance(self.budget, int) or isinstance(self.budget, bool) or self.budget < 0:
            raise CallerError(f"budget is {budget!r:.60}; give a whole number, or 'large'")
        if count is not None and not callable(count):
            raise CallerError(f"count is a {type(count).__name__}; give a function of a text")
        self.count, self.attempts, self.retriever = count, attempts, retriever
        chosen = {name: settings.pop(name) for name in _SIEVES if name in settings}
        self.sieve = Sieve(ledger, **chosen)
        self.options = settings
        if retriever is not None and settings.keys() - {"top_k"}:
            raise CallerError(
                f"{', '.join(sorted(settings.keys() - {'top_k'}))}: not for what a retriever "
                "finds; that takes top_k, and the settings of a Sieve"
            )

    def tell(self, query: str, config: Any = None, **named: Any) -> Told:
        """The text for a question; ``named`` are the times, where the call names them."""
        times = times_of(config, named)
        found = None
        if self.retriever is not None:
            found = as_found(self.retriever.invoke(query, _inside(config, times)))
        return self._told(query, times, found)

    async def atell(self, query: str, config: Any = None, **named: Any) -> Told:
        """`tell` for asynchronous code, with the same result."""
        times = times_of(config, named)
        found = None
        if self.retriever is not None:
            found = as_found(await self.retriever.ainvoke(query, _inside(config, times)))
        return await asyncio.to_thread(self._told, query, times, found)

    def _told(self, query: str, times: dict[str, Any], found: Sequence[Found] | None) -> Told:
        given = {name: self._given(name, times) for name in TIMES}
        for attempt in range(self.attempts):
            view = self.sieve.view(times["valid_at"], times["known_at"])
            heading = _heading(view, given, framed=found is not None)
            try:
                return self._within(query, view, heading, found)
            except ViewMoved:
                if attempt == self.attempts - 1:
                    raise
        raise AssertionError("unreachable")

    def _given(self, name: str, times: dict[str, Any]) -> bool:
        return times[name] is not None or getattr(self.sieve, name) is not None

    def _within(
        self, query: str, view: TruthView, heading: str, found: Sequence[Found] | None
    ) -> Told:
        """The text within the budget, heading and all. A counter need not add up over joins, so
        the whole is counted, and made with less room where it came out too long."""
        room, gone = self.budget - self._measure(heading), erased(self.sieve.open)
        while True:
            options = {**self.options, "budget": max(room, 0), "count": self.count}
            made = block_at(self.sieve, query, view, found, **options)
            told = Told.of(made, heading, self.budget, self._measure, gone)
            over = told.used - self.budget
            if over <= 0:
                return told
            room = min(room, made.used) - over

    def _measure(self, text: str) -> int:
        return len(text) if self.count is None else measured(self.count, text)


def _heading(view: TruthView, given: dict[str, bool], framed: bool) -> str:
    """The view in words, so that a model's cache, whose key is the prompt, can't answer with what
    was told at another one. The time is said where it was asked for: now is always another."""
    at = [f"revision {view.revision}"]
    if given["valid_at"]:
        at.append(f"valid at {iso_or_none(view.valid_at)}")
    if given["known_at"]:
        at.append(f"known at {iso_or_none(view.known_at)}")
    frame = f"{FRAME}\n\n" if framed else ""  # what a question finds comes with the line
    return f"View: {', '.join(at)}\n\n{frame}"


def _inside(config: Any, times: dict[str, Any]) -> Any:
    """The configuration of what is asked inside: at the same times."""
    return {**(config or {}), "configurable": {**configured(config), **times}}


def truth_context(ledger: Any, **settings: Any) -> Runnable[str, Told]:
    """A runnable from a question to what may be believed about it, as text for a prompt.

    ``settings`` are those of `Teller`: ``retriever``, ``budget``, ``count``, ``attempts``, those of
    a `Sieve`, and those of `Ledger.assemble`. The times of a run may be configured, or bound. What
    it gives is a `str` that has the ``block`` it is of.
    """
    teller = Teller(ledger, **settings)

    def tell(query: str, config: RunnableConfig, **times: Any) -> Told:
        return teller.tell(query, config, **times)

    async def atell(query: str, config: RunnableConfig, **times: Any) -> Told:
        return await teller.atell(query, config, **times)

    return RunnableLambda(tell, atell, name="truth_context")
