"""A small ledger to be refused by, and what every refusal must leave behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

import doxa

__all__ = ["DAY", "Call", "appending", "claim", "refused", "told_ledger"]

DAY = "2024-06-01"

Call = Callable[[doxa.Ledger], object]


@contextmanager
def told_ledger() -> Iterator[doxa.Ledger]:
    """A ledger with claims a, b, c, a support s2 and a citation q of a."""
    with doxa.open(clock=lambda: datetime(2025, 1, 1, tzinfo=UTC)) as ledger:
        bounds = {"valid_from": "2024-01-01", "valid_to": "2025-01-01"}
        ledger.append(
            [
                *(
                    {"event": "claim", "id": id, "subject": id, "predicate": "p", "object": id,
                     "source": "s", **bounds}
                    for id in "abc"
                ),
                {"event": "support", "id": "s2", "claim": "a", "source": "t"},
                {"event": "citation", "id": "q", "text": "so", "supports": ["a/support"]},
            ]
        )  # fmt: skip
        yield ledger


def refused(ledger: doxa.Ledger, call: Call, kind: type[doxa.DoxaError], *words: str) -> None:
    """The call raises that error, its message has the words, and nothing has changed."""
    before, mark = ledger.revision, ledger.view(valid_at=DAY).fingerprint
    with pytest.raises(kind) as caught:
        call(ledger)
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
    assert ledger.revision == before
    assert ledger.view(valid_at=DAY).fingerprint == mark
    ledger.claim("after", "p", 1, source="s")
    assert ledger.revision == before + 1


def appending(*events: dict[str, Any], **options: Any) -> Call:
    return lambda ledger: ledger.append(events, **options)


def claim(**fields: Any) -> dict[str, Any]:
    return {
        "event": "claim",
        "subject": "x",
        "predicate": "p",
        "object": 1,
        "source": "s",
        **fields,
    }
