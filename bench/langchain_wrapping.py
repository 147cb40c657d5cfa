"""What wrapping a LangChain retriever costs: the same search bare and judged, one after the other.

Run by the Python of an environment that holds the extra ``langchain``, as a script:

    .venvs/langchain/bin/python bench/langchain_wrapping.py [--claims 100000] [--rounds 300]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import doxa
from doxa.ledger import Ledger

DAY = "2024-07-01"
FOUND = 50  # documents that the search brings
BAR = 3.0  # milliseconds that judging them may take
SIZES = (1_000, 10_000, 100_000)


def filled(claims: int) -> Ledger:
    """A ledger with so many claims about people; every tenth is corrected, every twentieth of the
    others withdrawn."""
    ledger = doxa.open()
    for start in range(0, claims, 10_000):
        ledger.append([_claim(number) for number in range(start, min(start + 10_000, claims))])
    changes: list[dict[str, Any]] = []
    for number in range(0, claims, 10):
        changes.append(
            {
                "event": "correction",
                "corrects": f"c{number}",
                "by": f"c{number + 1}",
                "valid_from": "2024-06-01",
            }
        )
        if number % 20 == 0:
            changes.append({"event": "withdrawal", "target": f"c{number + 5}"})
    ledger.append(changes)
    return ledger


def _claim(number: int) -> dict[str, Any]:
    return {
        "event": "claim",
        "id": f"c{number}",
        "subject": f"person {number // 2}",
        "predicate": "lives_in" if number % 2 else "works_as",
        "object": f"value {number % 97}",
        "text": f"Person {number // 2} has the value {number % 97}.",
        "valid_from": "2024-01-01",
        "source": f"register {number % 50}",
    }


def searches(claims: int) -> dict[str, Any]:
    """The bare search and the judged one, in one ledger, by their names."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from doxa.adapters.langchain import TruthRetriever

    class Fixed(BaseRetriever):
        """Brings other documents for every question, in no time of its own."""

        pages: dict[str, list[Document]]

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return self.pages[query]

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return self.pages[query]

    chance = random.Random(7)

    def document() -> Document:
        id = f"c{chance.randrange(claims)}"
        words = f"What {id} says, and some more words, as texts of an index have them. " * 8
        return Document(page_content=words, id=f"d-{id}", metadata={"claim_ids": [id], "page": 1})

    pages = {str(each): [document() for _ in range(FOUND)] for each in range(100)}
    bare = Fixed(pages=pages)
    return {"bare": bare, "judged": TruthRetriever(bare, filled(claims), valid_at=DAY)}


def measured(found: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each search, in turn, after some rounds that are not counted."""
    times: dict[str, list[float]] = {name: [] for name in found}
    for number in range(-20, rounds):
        for name, search in found.items():
            taken = _timed(partial(search.invoke, str(number % 100)))
            if number >= 0:
                times[name].append(taken)
    return times


async def ameasured(found: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    """`measured`, asynchronously."""
    times: dict[str, list[float]] = {name: [] for name in found}
    for number in range(-20, rounds):
        for name, search in found.items():
            began = perf_counter()
            await search.ainvoke(str(number % 100))
            if number >= 0:
                times[name].append(1000 * (perf_counter() - began))
    return times


def _calm(times: list[float]) -> float:
    """What a tenth of the rounds takes at most, those that other processes disturb least."""
    return statistics.quantiles(times, n=10)[0]


def _timed(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return 1000 * (perf_counter() - began)


def main() -> None:
    """Prints the medians, and ends with 1 where the difference is over the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    over = False
    print(f"{FOUND} documents, {given.rounds} rounds, medians in milliseconds; the bar is {BAR}")
    for claims in given.claims:
        found = searches(claims)
        for how, times in (
            ("invoke", measured(found, given.rounds)),
            ("ainvoke", asyncio.run(ameasured(found, given.rounds))),
        ):
            bare, judged = (statistics.median(times[name]) for name in ("bare", "judged"))
            calm = _calm(times["judged"]) - _calm(times["bare"])
            over = over or judged - bare >= BAR
            print(
                f"{claims:>9,} claims  {how:8} bare {bare:6.3f}  judged {judged:6.3f}  "
                f"difference {judged - bare:6.3f}  (in the calmest tenth {calm:.3f})"
            )
        found["judged"].ledger.close()
    sys.exit(int(over))


if __name__ == "__main__":
    main()
