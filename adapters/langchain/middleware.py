"""The middleware that puts what may be believed before an agent's model, and looks afterwards
whether it still is."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config

from doxa.adapters.judging import erased
from doxa.adapters.langchain.asking import TIMES
from doxa.adapters.langchain.documents import TOLD, adispatch, dispatch
from doxa.adapters.langchain.telling import Teller, Told
from doxa.engine.errors import CallerError, ViewMoved

__all__ = ["TruthMiddleware"]


class TruthMiddleware(AgentMiddleware):
    """Adds what may be believed about the latest message of the user to the system message.

    It is made anew for each call of the model. After the model has answered it looks whether the
    truth moved meanwhile: if so, and what is told now is another text, the model is called again,
    ``attempts`` times at most. Then `ViewMoved` is raised, or with ``moved="mark"`` the last answer
    is given and says so. ``query`` makes the question of the messages (or none), where it is not
    the text of the latest one of the user. ``settings`` are those of `Teller`. The answer's
    ``response_metadata`` has, under ``name``, the view, the citations, what was left out, and
    whether it moved.
    """

    def __init__(
        self,
        ledger: Any,
        *,
        moved: Literal["raise", "mark"] = "raise",
        attempts: int = 3,
        name: str = "truth",
        query: Callable[[Sequence[Any]], str | None] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if moved not in ("raise", "mark"):
            raise CallerError(f"moved is {moved!r:.60}; give raise or mark")
        if query is not None and not callable(query):
            raise CallerError(f"query is a {type(query).__name__}; give a function of the messages")
        self.query = latest_text if query is None else query
        self.teller = Teller(ledger, attempts=attempts, **settings)
        self.moved, self.attempts, self._name = moved, attempts, name

    @property
    def name(self) -> str:
        """What an agent calls it: each of its middleware has a name of its own."""
        return self._name

    def close(self) -> None:
        """Closes the ledger where only its path was given; the next call opens it again."""
        self.teller.sieve.close()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        asked = self._asked(request)
        if asked is None:
            return handler(request)
        query, times = asked
        told = self.teller.tell(query, **times)
        for _ in range(self.attempts):
            dispatch(ensure_config().get("callbacks"), TOLD, told.summary())
            answer, before = handler(_with(request, told)), told
            if self._stands(told):
                return self._noted(answer, told)
            told = self.teller.tell(query, **times)
            if told.block.text == before.block.text:
                return self._noted(answer, told)
        return self._given_up(answer, before)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        asked = self._asked(request)
        if asked is None:
            return await handler(request)
        query, times = asked
        told = await self.teller.atell(query, **times)
        for _ in range(self.attempts):
            await adispatch(ensure_config().get("callbacks"), TOLD, told.summary())
            answer, before = await handler(_with(request, told)), told
            if await asyncio.to_thread(self._stands, told):
                return self._noted(answer, told)
            told = await self.teller.atell(query, **times)
            if told.block.text == before.block.text:
                return self._noted(answer, told)
        return self._given_up(answer, before)

    def _asked(self, request: ModelRequest[Any]) -> tuple[str, dict[str, Any]] | None:
        """The question, and the times that the agent's context names; none where there is none."""
        query = self.query(request.messages)
        if query is not None and not isinstance(query, str):
            raise CallerError(f"query gave a {type(query).__name__}; it gives text, or None")
        if not query or not query.strip():
            return None
        context = getattr(request.runtime, "context", None)
        if isinstance(context, Mapping):
            return query, {name: context.get(name) for name in TIMES}
        return query, {name: getattr(context, name, None) for name in TIMES}

    def _stands(self, told: Told) -> bool:
        ledger = self.teller.sieve.open
        return told.block.verify(ledger) and erased(ledger) == told.erased

    def _given_up(self, answer: Any, told: Told) -> Any:
        if self.moved == "mark":
            return self._noted(answer, told, moved=True)
        raise ViewMoved(
            f"the truth moved past revision {told.block.view['revision']} while the model "
            f"answered, {self.attempts} times; ask again, or give moved='mark'"
        )

    def _noted(self, answer: Any, told: Told, moved: bool = False) -> Any:
        """The answer with what it was told, in copies of its messages: a cache keeps its own."""
        if isinstance(answer, ExtendedModelResponse):
            inner = self._noted(answer.model_response, told, moved)
            return dataclasses.replace(answer, model_response=inner)
        if isinstance(answer, ModelResponse):
            noted = [self._noted(each, told, moved) for each in answer.result]
            return dataclasses.replace(answer, result=noted)
        if not isinstance(answer, AIMessage):
            return answer
        said = {**answer.response_metadata, self.name: {**told.summary(), "moved": moved}}
        return answer.model_copy(update={"response_metadata": said})


def latest_text(messages: Sequence[Any]) -> str | None:
    """The text of the user's latest message; of a very long one the end, as much as is allowed."""
    from doxa.questions import QUERY_LIMIT

    said = next((one for one in reversed(messages) if isinstance(one, HumanMessage)), None)
    return None if said is None else str(said.text)[-QUERY_LIMIT:]


def _with(request: ModelRequest[Any], told: Told) -> ModelRequest[Any]:
    """The request with the text behind the system message that it has."""
    if not told:
        return request
    before = request.system_message
    if before is None:
        return request.override(system_message=SystemMessage(content=str(told)))
    content = before.content
    more: Any = [*content, {"type": "text", "text": str(told)}]
    if isinstance(content, str):
        more = f"{content}\n\n{told}" if content else str(told)
    return request.override(system_message=before.model_copy(update={"content": more}))
