"""How long an agent waits: round trips to ``doxa mcp`` over stdio, by the real client.

Run by the Python of an environment that holds the extra ``mcp``, as a script:

    .venvs/mcp/bin/python bench/mcp_roundtrip.py [--claims 10000] [--rounds 200]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import doxa

TOWNS = ["London", "Lisbon", "Lagos", "Lima", "Leeds", "Lyon", "Lhasa", "Linz", "Lund", "Lviv"]
TRADES = ["miller", "baker", "smith", "tailor", "mason", "carter", "weaver", "cooper", "potter"]
SYLLABLES = ["ba", "do", "fi", "gu", "ka", "le", "mo", "ni", "ra", "su", "ti", "vo"]


def person(number: int) -> str:
    """A name of its own for each number."""
    parts = []
    for _ in range(4):
        number, one = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[one])
    return f"{''.join(parts).capitalize()} {SYLLABLES[number % 12].capitalize()}rin"


def filled(folder: Path, claims: int) -> None:
    """A ledger with so many claims: where people live, and what they work as."""
    with doxa.open(folder) as ledger:
        for start in range(0, claims, 1_000):
            ledger.append([_claim(number) for number in range(start, min(start + 1_000, claims))])
        ledger.index()


def _claim(number: int) -> dict[str, Any]:
    who, trade = person(number // 2), TRADES[number * 7 % len(TRADES)]
    said = ("lives_in", TOWNS[number % len(TOWNS)]) if number % 2 else ("works_as", trade)
    return {
        "event": "claim",
        "id": f"c{number}",
        "subject": who,
        "predicate": said[0],
        "object": said[1],
        "text": f"{who} {said[0].replace('_', ' ')} {said[1]}.",
        "valid_from": "2024-01-01",
        "source": f"register {number % 50}",
    }


def calls(claims: int) -> dict[str, Callable[[int], tuple[str, dict[str, Any]]]]:
    """What is asked, by its name, for the number of a round."""

    def someone(number: int) -> str:
        return person(number * 31 % (claims // 2))

    return {
        "doxa_recall": lambda n: ("doxa_recall", {"query": f"Where does {someone(n)} live?"}),
        "doxa_assemble": lambda n: ("doxa_assemble", {"query": f"What does {someone(n)} work as?"}),
        "doxa_view": lambda n: ("doxa_view", {"subject": someone(n), "predicate": "lives_in"}),
        "doxa_why": lambda n: ("doxa_why", {"id": f"c{n * 31 % claims}"}),
        "doxa_claim": lambda n: (
            "doxa_claim",
            {
                "subject": someone(n),
                "predicate": "likes",
                "object": n,
                "id": f"l{n}",
                "source": "s",
            },
        ),
    }


async def measured(folder: Path, claims: int, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each round trip, by what was asked."""
    from mcp.client import Client  # the extra is asked for where it is used
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "doxa", "mcp", str(folder)])
    times: dict[str, list[float]] = {}
    began = perf_counter()
    async with Client(stdio_client(server)) as client:
        await client.list_tools()
        times["start, until the tools are listed"] = [1000 * (perf_counter() - began)]
        began = perf_counter()
        await client.call_tool("doxa_recall", {"query": "Who lives in Lisbon?"})
        times["first doxa_recall"] = [1000 * (perf_counter() - began)]
        for name, call in calls(claims).items():
            for number in range(rounds):
                tool, arguments = call(number)
                began = perf_counter()
                answer = await client.call_tool(tool, arguments)
                taken = 1000 * (perf_counter() - began)
                if answer.is_error:
                    raise SystemExit(f"{tool} failed: {answer.content[0].text}")
                times.setdefault(name, []).append(taken)
    return times


def main() -> None:
    """Prints p50 and p90 of each call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "people.doxa"
        filled(folder, given.claims)
        times = asyncio.run(measured(folder, given.claims, given.rounds))
    print(f"{given.claims:,} claims, {given.rounds} rounds, milliseconds")
    for name, taken in times.items():
        if len(taken) == 1:
            print(f"{name:36} {taken[0]:8.1f}")
        else:
            tenths = statistics.quantiles(taken, n=10)
            print(f"{name:36} p50 {statistics.median(taken):6.2f}   p90 {tenths[-1]:6.2f}")


if __name__ == "__main__":
    main()
