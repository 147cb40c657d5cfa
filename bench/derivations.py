"""What it costs to find what is said more than once, and to follow a source that has changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import doxa
from doxa.bench.fields import Field, counted
from doxa.bench.measuring import Effort, Facts, Finding, in_turn, timed

__all__ = ["consolidate", "refresh"]

MOST: Final = 100_000  # claims that are looked at; a larger history tells nothing new
OFTEN: Final = 3  # one claim in so many says what another said
ABOUT: Final = 5  # claims about a subject
WORDS: Final = 5_000  # that there are, as often as Zipf's law has it
DAY: Final = "2024-06-01"


def consolidate(field: Field, effort: Effort) -> Iterator[Finding]:
    """A dry run over sentences of 2 to 14 words, of which a third say what another said, in memory.
    By hand: a dictionary of the claims that are equal to the letter, which are at hand."""
    size = min(field.size, MOST)
    if size < field.size:
        return
    claims = list(_claims(size))
    with doxa.open() as ledger:
        ledger.append(list(counted(claims, size, field.progress)))

        def by_hand() -> None:
            found: dict[tuple[str, str, str], list[str]] = {}
            for claim in claims:
                place = claim["subject"], claim["predicate"], claim["object"]
                found.setdefault(place, []).append(claim["id"])
            assert any(len(ids) > 1 for ids in found.values())

        series = in_turn(
            {
                "doxa": timed(lambda _: len(ledger.consolidate(valid_at=DAY, dry_run=True))),
                "by hand": timed(lambda _: by_hand()),
            },
            effort.of(5),
            effort,
        )
        done = ledger.consolidate(valid_at=DAY, dry_run=True)
    facts: Facts = {"claims": size, "observations": len(done)}
    yield Finding("consolidate", field.size, series, items=size, facts=facts)


def refresh(field: Field, effort: Effort) -> Iterator[Finding]:
    """A source with a tenth of the claims, of which one has changed, refreshed, in a folder and
    with its flush; beside one in which none has, and beside recording all of its claims."""
    size = min(field.size, MOST) // 10
    if size < field.size // 10:
        return
    number = itertools.count(1)
    lines: list[dict[str, Any]] = [
        {"subject": f"s{n}", "predicate": "is", "object": n} for n in range(size)
    ]
    with doxa.open(field.folder / "refresh") as ledger:
        ledger.refresh("page", lines, content="0")

        def changed() -> None:
            version = next(number)
            lines[version % size] = {**lines[version % size], "object": f"version {version}"}
            done = ledger.refresh("page", lines, content=str(version))
            assert [str(change.turn) for change in done.changes] == ["corrected"]

        def unchanged() -> None:
            version = next(number)
            ledger.refresh("page", lines, content=f"{version}")

        def recorded() -> None:
            version = next(number)
            ledger.append(
                [{"event": "claim", "source": f"page {version}", **line} for line in lines]
            )

        series = in_turn(
            {
                "doxa: one changed": timed(lambda _: changed()),
                "doxa: none changed": timed(lambda _: unchanged()),
                "doxa: all recorded": timed(lambda _: recorded()),
            },
            effort.of(5),
            effort,
        )
    yield Finding("refresh", field.size, series, items=size, facts={"claims": size})


def _claims(size: int) -> Iterator[dict[str, Any]]:
    random = Random(1)
    words = [f"word{n}" for n in range(WORDS)]
    weights = [1 / (n + 1) for n in range(WORDS)]
    said: list[tuple[str, str]] = []
    for number in range(size):
        if said and random.randrange(OFTEN) == 0:
            subject, value = random.choice(said)
        else:
            subject = f"s{random.randrange(max(1, size // ABOUT))}"
            value = " ".join(random.choices(words, weights, k=random.randint(2, 14)))
            said.append((subject, value))
        yield {
            "event": "claim",
            "id": f"c{number}",
            "subject": subject,
            "predicate": "said",
            "object": value,
            "source": f"source {number % 9}",
        }
