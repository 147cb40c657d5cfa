"""Plain events are stored as the models and the codec would store them, to the last byte."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings

from doxa.engine import codec
from doxa.engine.events import Claim, Support
from doxa.engine.parse import parse
from doxa.engine.plain import plain, plainly
from tests.hostile import fields, one_by_one


def check(given: dict[Any, Any]) -> bool:
    """Whether the fields are plain; if so, what is made of them is what the models make."""
    before = repr(given)
    found = plain(given)
    assert repr(given) == before, "the caller's own mapping was changed"
    if found is None:
        return False
    event = parse(given)  # it is accepted
    assert isinstance(event, Claim | Support)
    assert found[:3] == (event.TYPE, *codec.encode(event))
    assert [type(part) for part in found[:3]] == [str, bytes, bytes]
    assert found.event == event
    named = (event.workspace, event.id, getattr(event, "claim", None))
    assert (found.workspace, found.id, found.claim) == named
    assert found.source == (None if event.source is None else event.source.id)
    assert not event.because
    assert plainly(event) == found
    return True


@settings(max_examples=1_500, deadline=None)
@given(fields())
def test_what_is_plain_is_stored_as_the_models_and_the_codec_would(fields: dict[Any, Any]) -> None:
    check(fields)


def test_every_field_takes_what_the_models_take_and_nothing_else() -> None:
    assert Counter(map(check, one_by_one()))[True] > 1_000
