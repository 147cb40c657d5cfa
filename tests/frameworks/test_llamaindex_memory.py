"""What the ledger knows, as a block of LlamaIndex's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory, StaticMemoryBlock
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

import doxa
from doxa.adapters.answering import RecallRefused
from doxa.adapters.llamaindex import TruthMemoryBlock
from doxa.ledger import Ledger
from tests.frameworks.towns import DAY, HOSTILE, town

QUESTION = "Where does Ada live, and what does she bake?"
BREAD = "Ada bakes bread."
LISBON = "Ada lives in Lisbon."


def words(text: str) -> list[str]:
    return text.split()


class Memories:
    """Makes memories, in a file whose connections are closed each time."""

    def __init__(self, folder: Path) -> None:
        address = f"sqlite+aiosqlite:///{folder / 'chats.db'}"
        self.engine = create_async_engine(address, poolclass=NullPool)
        self.sessions = count()

    def __call__(self, block: TruthMemoryBlock, limit: int = 1000, *others: Any) -> Memory:
        return Memory.from_defaults(
            session_id=f"s{next(self.sessions)}",
            token_limit=limit,
            memory_blocks=[block, *others],
            tokenizer_fn=words,
            async_engine=self.engine,
        )


@pytest.fixture(scope="module")
def memory_of(tmp_path_factory: pytest.TempPathFactory) -> Memories:
    return Memories(tmp_path_factory.mktemp("chats"))


def block_of(ledger: Ledger, **fields: Any) -> TruthMemoryBlock:
    return TruthMemoryBlock(ledger, **{"valid_at": DAY, "tokenizer_fn": words, **fields})


def got(memory: Memory, question: str | None = None, **times: Any) -> list[ChatMessage]:
    messages: list[ChatMessage] = asyncio.run(memory.aget(question, **times))
    return messages


def told(memory: Memory, question: str, **times: Any) -> str:
    return "\n".join(str(message.content) for message in got(memory, question, **times))


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with town() as opened:
        yield opened


def test_the_memory_has_what_may_be_believed_about_the_latest_message(
    ledger: Ledger, memory_of: Memories
) -> None:
    memory = memory_of(block_of(ledger))
    before = [
        ChatMessage(role="user", content="Who is Ada?"),
        ChatMessage(role="assistant", content="Somebody who works at the mill."),
    ]
    asyncio.run(memory.aput_messages(before))
    said = told(memory, QUESTION)
    assert "<truth>" in said
    assert f"> {LISBON}" in said
    assert f"> {BREAD}" in said
    assert "> Ada works at the mill." not in said


def test_one_call_names_its_own_times(ledger: Ledger, memory_of: Memories) -> None:
    memory = memory_of(block_of(ledger))
    assert "> Ada lives in London." in told(memory, QUESTION, valid_at="2024-05-01")
    assert "> Ada lives in London." in told(memory, QUESTION, known_at=1)
    assert "> Ada lives in London." not in told(memory, QUESTION)


def test_without_a_message_of_the_user_there_is_nothing_to_tell(
    ledger: Ledger, memory_of: Memories
) -> None:
    block = block_of(ledger)
    assert asyncio.run(block.aget(None)) == ""
    assert asyncio.run(block.aget([ChatMessage(role="assistant", content=QUESTION)])) == ""
    assert asyncio.run(block.aget([ChatMessage(role="user", content=" ")])) == ""
    assert got(memory_of(block)) == []


def test_the_text_of_a_block_comes_with_the_block(ledger: Ledger) -> None:
    text = asyncio.run(block_of(ledger).aget([ChatMessage(role="user", content=QUESTION)]))
    assert text == text.block.text
    assert set(text.block.reasons) == {"home", "work"}


def test_a_full_memory_loses_whole_texts_and_never_a_part_of_one(ledger: Ledger) -> None:
    asked = [ChatMessage(role="user", content=QUESTION)]
    seen = set()
    whole = asyncio.run(block_of(ledger).aget(asked))
    for cut in range(1, 40):
        left = asyncio.run(block_of(ledger).atruncate(whole, cut))
        assert left is None or len(words(left)) <= len(words(whole)) - cut
        lines = [] if left is None else [line for line in left.splitlines() if line[:1] == ">"]
        assert set(lines) <= {f"> {LISBON}", f"> {BREAD}"}
        seen.add(len(lines))
    assert seen == {0, 1}


def test_a_memory_over_its_limit_cuts_by_whole_texts_but_never_at_priority_0(
    ledger: Ledger, memory_of: Memories
) -> None:
    whole = told(memory_of(block_of(ledger)), QUESTION)
    assert f"> {LISBON}" in whole
    assert f"> {BREAD}" in whole
    some = told(memory_of(block_of(ledger, priority=1), 20), QUESTION)
    assert (f"> {LISBON}" in some) != (f"> {BREAD}" in some)
    none = got(memory_of(block_of(ledger, priority=1), 5), QUESTION)
    assert none == []
    assert told(memory_of(block_of(ledger, priority=0), 5), QUESTION) == whole


def test_it_takes_its_limit_of_tokens_at_most(ledger: Ledger) -> None:
    for limit in (1, 10, 16, 24, 100):
        text = asyncio.run(
            block_of(ledger, token_limit=limit).aget([ChatMessage(role="user", content=QUESTION)])
        )
        assert len(words(text)) <= limit


def test_it_stands_beside_other_blocks(ledger: Ledger, memory_of: Memories) -> None:
    other = StaticMemoryBlock(name="rules", static_content="Be kind.", priority=0)
    said = told(memory_of(block_of(ledger), 1000, other), QUESTION)
    assert f"> {LISBON}" in said
    assert "Be kind." in said


def test_a_text_that_somebody_else_made_is_cut_whole(ledger: Ledger) -> None:
    assert asyncio.run(block_of(ledger).atruncate("one two three four", 1)) is None


def test_nothing_is_recorded_unless_events_are_made_of_the_messages(ledger: Ledger) -> None:
    before = ledger.revision
    message = ChatMessage(role="user", content="I moved to Porto.")
    asyncio.run(block_of(ledger).aput([message]))
    assert ledger.revision == before

    def extract(messages: list[ChatMessage]) -> list[dict[str, Any]]:
        return [
            {
                "event": "claim",
                "id": f"chat-{each.content}",
                "subject": "ada",
                "predicate": "said",
                "object": each.content,
                "source": "chat",
            }
            for each in messages
        ]

    block = block_of(ledger, extract=extract)
    asyncio.run(block.aput([message]))
    asyncio.run(block.aput([message]))
    assert ledger.revision == before + 1
    assert ledger.view(valid_at=DAY).value("ada", "said") == "I moved to Porto."
    asyncio.run(block_of(ledger, extract=lambda messages: []).aput([message]))


def test_a_refusal_is_not_the_same_as_knowing_nothing(ledger: Ledger, memory_of: Memories) -> None:
    assert got(memory_of(block_of(ledger)), "the papacy") == []
    with pytest.raises(RecallRefused):
        got(memory_of(block_of(ledger, options={"mode": "dense"})), QUESTION)


def test_words_that_look_like_the_frame_of_the_memory_are_marked_as_words(ledger: Ledger) -> None:
    ledger.claim("ada", "said", HOSTILE, id="said", text=HOSTILE, source="x")
    block = block_of(ledger, options={"predicate": "said"})
    text = asyncio.run(block.aget([ChatMessage(role="user", content="Ada said Rome")]))
    for line in HOSTILE.splitlines():
        assert f"> {line}" in text.splitlines()


def test_questions_at_once_get_what_each_gets_alone(ledger: Ledger) -> None:
    block = block_of(ledger)
    asked = [[ChatMessage(role="user", content=f"Ada {word}")] for word in ("lives", "bakes")] * 6

    async def many() -> list[str]:
        answers: list[str] = await asyncio.gather(*map(block.aget, asked))
        return answers

    assert asyncio.run(many()) == [asyncio.run(block.aget(messages)) for messages in asked]


def test_a_field_that_is_misspelt_is_refused(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="token_limits"):
        TruthMemoryBlock(ledger, token_limits=5)


@given(question=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_whatever_is_asked_nothing_is_told_that_is_not_held(
    question: str, memory_of: Memories
) -> None:
    with town() as ledger:
        said = told(memory_of(block_of(ledger)), f"{question} Ada London mill bread")
    assert "> Ada lives in London." not in said
    assert "> Ada works at the mill." not in said


def test_a_ledger_that_is_closed_says_so(memory_of: Memories) -> None:
    ledger = town()
    ledger.close()
    with pytest.raises(doxa.DoxaError):
        got(memory_of(block_of(ledger)), QUESTION)
