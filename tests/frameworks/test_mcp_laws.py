"""What holds for every call: whatever it is given, it answers or fails in words; what was recorded
comes back as it was, and on quoted lines alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.mcp.desk import Desk
from doxa.adapters.mcp.resources import Resources
from doxa.adapters.mcp.tools import Failed, Toolbox

MARK = "ZQXJ"  # stands in every text that is recorded here, and in nothing that doxa says itself

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
texts = st.builds(lambda a, b: f"{a}{MARK}{b}", st.text(max_size=30), st.text(max_size=30))


@pytest.fixture(scope="module")
def box() -> Iterator[Toolbox]:
    with doxa.open() as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
        ledger.claim("ada", "lives_in", "Paris", id="other", workspace="w", source="letter")
        ledger.summarize("Ada lives in London.", facts=["home"], id="note")
        yield Toolbox(Desk(ledger))


def failing(call: Callable[[], object]) -> str | None:
    """The words in which a call fails; ``None`` where it does not."""
    try:
        call()
    except Failed as error:
        return str(error)
    return None


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A call whose arguments have the right names, and more or less of what they should be."""
    with doxa.open() as ledger:
        tools = Toolbox(Desk(ledger)).tools
    tool = tools[draw(st.sampled_from(sorted(tools)))]
    likely = st.sampled_from(
        [
            "home",
            "other",
            "note",
            "ada",
            "lives_in",
            "2024-01-01",
            "now",
            "open",
            "any",
            0,
            1,
            2,
            [],
            {},
        ]
    )
    given: dict[str, Any] = {}
    for name in tool.takes.model_fields:
        if tool.takes.model_fields[name].is_required() or draw(st.booleans()):
            given[name] = draw(likely | values | st.lists(likely, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        given[draw(st.text(max_size=8))] = draw(values)
    return tool.name, given


@given(call=calls())
def test_whatever_a_tool_is_given_it_answers_or_fails_in_words(
    box: Toolbox, call: tuple[str, dict[str, Any]]
) -> None:
    tool, arguments = call
    try:
        answered = box.answer(tool, arguments)
    except Failed as error:
        code, _, words = str(error).partition(": ")
        assert code.replace("_", "").isalpha()
        assert code != "unexpected"
        assert words
        return
    assert answered.text
    model = box.tools[tool].gives.model_validate(answered.data)
    assert model.model_dump(mode="json") == answered.data
    json.dumps(answered.data, allow_nan=False)


addresses = st.builds(
    lambda kind, rest: f"doxa://{kind}/{rest}",
    st.sampled_from(["view", "claim", "artefact"]),
    st.text(max_size=30)
    | st.sampled_from(["home?known_at=1", "note?valid_at=now", "now?cursor=1"]),
)


@given(uri=st.text(max_size=40) | addresses)
def test_whatever_address_is_read_it_answers_or_fails_in_words(box: Toolbox, uri: str) -> None:
    words = failing(lambda: Resources(box.desk).read(uri))
    assert words is None or not words.startswith("unexpected")


@given(value=values)
def test_a_value_comes_back_as_it_was_given(value: Any) -> None:
    with doxa.open() as ledger:
        box = Toolbox(Desk(ledger))
        claim = {"subject": "s", "predicate": "p", "object": value, "source": "x"}
        words = failing(lambda: box.answer("doxa_claim", claim))
        if words is not None:
            assert words.startswith("invalid_event: ")  # a text that no log can hold
            return
        seen = box.answer("doxa_view", {"subject": "s", "predicate": "p"})
        (back,) = seen.data["values"]
        assert json.dumps(back, sort_keys=True) == json.dumps(value, sort_keys=True)


@given(said=texts)
def test_what_was_recorded_is_on_quoted_lines_alone(said: str) -> None:
    with doxa.open() as ledger:
        box = Toolbox(Desk(ledger))
        source = {"id": "letter", "quote": said}
        claim = {"subject": "s", "predicate": "p", "object": said, "id": "c", "text": said}
        words = failing(lambda: box.answer("doxa_claim", {**claim, "source": source}))
        if words is not None:
            assert words.startswith("invalid_event: ")  # a text that no log can hold
            return
        new = {"claim": "c", "object": [said], "id": "k", "text": said, "reason": said}
        box.answer("doxa_correct", {**new, "source": "call"})
        box.answer("doxa_withdraw", {"target": "k", "id": "w", "reason": said})
        ledger.summarize(said, facts=["k/replacement"], id="note")
        asked: dict[str, dict[str, Any]] = {
            "doxa_view": {"standing": ["any"]},
            "doxa_why": {"id": "c"},
            "doxa_history": {"subject": "s", "predicate": "p"},
            "doxa_diff": {"before_known_at": 0},
            "doxa_recall": {"query": f"{MARK} letter s p", "standing": ["any"]},
            "doxa_assemble": {"query": f"{MARK} letter s p"},
            "doxa_reconcile": {},
        }
        told = [box.answer(tool, arguments).text for tool, arguments in asked.items()]
        read = Resources(box.desk).read
        told += [read("doxa://claim/c"), read("doxa://view/now"), read("doxa://artefact/note")]
        for text in told:
            assert not [
                line for line in text.splitlines() if MARK in line and not line.startswith(">")
            ]
        assert sum(MARK in text for text in told) >= 5
