"""What is read of stored rows in a short way is what decoding them gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine import codec
from doxa.engine.documents import documents
from doxa.engine.errors import DamageError, NewerFormat
from doxa.engine.log import Row
from doxa.engine.parse import parse
from doxa.projections.reading import Read, read
from tests.test_bulk import random_rows

texts = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=5))
numbers = st.integers(-5, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("aé", max_size=1), inner, max_size=2)
    ),
    max_leaves=3,
)
names = st.sampled_from(("", "w", 'a"workspace":"x', "é", "\\"))


def decoded(rows: Sequence[Row]) -> Iterator[Read]:
    """The documents of rows in the long way."""
    for row in rows:
        event = codec.decode(row.type, row.head, row.data)
        for document in documents(event):
            yield Read(row.position, event.workspace, document)


@given(st.integers(0, 2**48), st.integers(0, 2**48))
def test_the_documents_of_a_history_are_those_of_its_events(seed: int, erased: int) -> None:
    rows = random_rows(seed, 10)
    rows = [row._replace(data=None) if erased >> i % 48 & 1 else row for i, row in enumerate(rows)]
    assert read(rows) == list(decoded(rows))


def row(position: int, **fields: Any) -> Row:
    event = parse(fields)
    return Row(position, position, event.TYPE, *codec.encode(event))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"workspace": names, "object": values, "text": texts, "predicate": st.just("is_a")},
            optional={
                "recall_when": st.lists(st.sampled_from(("a", "b c", "é")), max_size=2),
                "kind": st.just("hypothesis"),
                "because": st.just([{"workspace": "", "id": "z"}]),
            },
        ),
        max_size=4,
    )
)
def test_odd_claims_are_read_as_they_are_decoded(claims: list[dict[str, Any]]) -> None:
    rows = [
        row(i, event="claim", id=f'"quote"{i}', subject="s", **claim)
        for i, claim in enumerate(claims)
    ]
    assert read(rows) == list(decoded(rows))


@given(st.lists(st.tuples(names, texts, st.sampled_from(("claim", "support"))), max_size=4))
def test_quotes_are_read_as_they_are_decoded(quotes: list[tuple[str, str | None, str]]) -> None:
    rows = []
    for i, (workspace, quote, kind) in enumerate(quotes):
        said = (
            {"subject": "s", "predicate": "p", "object": 1} if kind == "claim" else {"claim": "c"}
        )
        source = {"id": "quote", "locator": '"quote":', "quote": quote}
        rows.append(row(i, event=kind, id=f"e{i}", workspace=workspace, source=source, **said))
    assert read(rows) == list(decoded(rows))


def test_one_row_that_can_not_be_read_is_named_as_decoding_names_it() -> None:
    good = row(1, event="claim", id="a", subject="s", predicate="p", object=1)
    with pytest.raises(DamageError, match="a stored claim can't be read"):
        read([good, good._replace(position=2, data=b"{")])
    with pytest.raises(DamageError, match="a stored claim can't be read"):
        read([good, good._replace(position=2, head=b'{"v":1,"workspace"')])
    head = json.dumps({"v": codec.VERSION + 1, "id": "a"}, separators=(",", ":")).encode()
    with pytest.raises(NewerFormat):
        read([good, good._replace(position=2, head=head)])
    assert read([good._replace(data=None)]) == []
    assert read([]) == []
