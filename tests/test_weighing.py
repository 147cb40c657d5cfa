"""What is wrong with the events of a commit, each by itself, before anything is written."""

from __future__ import annotations

from doxa.engine.errors import (
    CorrectionRing,
    DuplicateId,
    PayloadTooLarge,
    UnknownTarget,
    ValueRejected,
)
from doxa.engine.events import Event
from doxa.engine.parse import parse
from doxa.engine.stream import Request
from doxa.ledger import Ledger


def claim(id: str, object: object = 1) -> Event:
    fields = {"event": "claim", "id": id, "subject": "x", "predicate": "p", "object": object}
    return parse({**fields, "source": "s"})


def correction(id: str, corrects: str, by: str) -> Event:
    return parse({"event": "correction", "id": id, "corrects": corrects, "by": by})


def test_every_event_that_can_not_be_recorded_is_named_and_nothing_is_written(
    ledger: Ledger,
) -> None:
    ledger.append([claim("a"), claim("b"), correction("k", "a", "b")])
    before = ledger.revision
    wrong = ledger._stream.problems(
        Request([claim("c"), claim("a", 2), correction("k2", "c", "nobody"), claim("d")])
    )
    assert {index: type(error) for index, error in wrong.items()} == {
        1: DuplicateId,
        2: UnknownTarget,
    }
    wrong = ledger._stream.problems(Request([claim("c"), correction("k3", "b", "a")]))
    assert {index: type(error) for index, error in wrong.items()} == {1: CorrectionRing}
    wrong = ledger._stream.problems(Request([claim("c"), claim("d", "x" * 1_100_000)]))
    assert {index: type(error) for index, error in wrong.items()} == {1: PayloadTooLarge}
    assert ledger._stream.problems(Request([claim("c"), claim("a")])) == {}
    assert ledger.revision == before


def test_a_rejected_value_is_named_before_anything_else(ledger: Ledger) -> None:
    ledger.reject("bad", reason="it is")
    wrong = ledger._stream.problems(Request([claim("c"), claim("d", "bad")]))
    assert {index: type(error) for index, error in wrong.items()} == {1: ValueRejected}
    assert ledger.view(valid_at="2024-01-01").claims(standing="any") == []
