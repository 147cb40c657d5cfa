"""What a block says of where its texts are from, and a correction of what is in force besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from tests.frameworks.mcp_agents import Agent, agent


@pytest.fixture(scope="module")
def alice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent with a new ledger; the tests of this module share it, each with subjects of its
    own."""
    with agent(tmp_path_factory.mktemp("mcp") / "people.doxa", "--create") as connected:
        yield connected


def test_a_block_names_the_sources_of_each_text_and_those_of_its_premises(alice: Agent) -> None:
    alice.ask("doxa_claim", subject="pim", predicate="born_in", object="Oslo", id="pim",
              text="Pim was born in Oslo.", source="chat of 3 May")  # fmt: skip
    alice.ask("doxa_support", claim="pim", source='> a "b"')
    alice.ask("doxa_claim", subject="pim", predicate="citizen_of", object="Norway", id="pim-2",
              text="Pim is a citizen of Norway.", because=["pim"])  # fmt: skip
    alice.ask("doxa_support", claim="pim-2", source="gossip", stance="refutes")
    block = alice.result("doxa_assemble", query="Where was Pim born, a citizen of Norway?")
    found = {one["id"]: one["sources"] for one in block.structured_content["printed"]}
    both = ["chat of 3 May", '> a "b"']
    assert found["pim"] == found["pim-2"] == both
    lines = block.content[0].text.split("\n")
    assert '- pim: from chat of 3 May; "> a \\"b\\""' in lines


def test_texts_that_were_given_and_pinned_claims_have_their_sources_too(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "a") as ledger:
        ledger.claim("ada", "allergic_to", "nuts", id="nuts", source="doctor")
        quote = ledger.cite("Letter, line 7", claim="nuts", id="quote")
        ledger.summarize("No nuts for Ada.", facts=["nuts"], citations=[quote], id="note")
        ledger.policy(pinned="nuts")
    with agent(tmp_path / "a") as bea:
        pinned = bea.ask("doxa_assemble", query="zebra", pinned=True)
        assert [(one["id"], one["sources"]) for one in pinned["printed"]] == [("nuts", ["doctor"])]
        given = [
            {"id": "mine", "text": "Nuts are bad for Ada.", "facts": ["nuts"]},
            {"id": "of source", "text": "The doctor spoke.", "sources": ["doctor"]},
            {"id": "registered", "artefact": "note"},
        ]
        block = bea.ask("doxa_assemble", query="nuts?", candidates=given)
        assert {one["id"]: one["sources"] for one in block["printed"]} == {
            "mine": ["doctor"],
            "of source": ["doctor"],
            "registered": ["doctor"],
        }
        assert [one["number"] for one in block["citations"]] == [1]


def test_of_many_sources_the_rest_is_counted(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "a") as ledger:
        ledger.claim("ada", "p", 1, id="a", source="s0")
        events = [{"event": "support", "claim": "a", "source": f"s{n}"} for n in range(1, 20)]
        ledger.append(events)
    with agent(tmp_path / "a") as bea:
        block = bea.result("doxa_assemble", query="ada p")
        (one,) = block.structured_content["printed"]
        assert (len(one["sources"]), one["sources_more"]) == (16, 4)
        assert "; s15 and 4 more" in block.content[0].text


def test_a_source_that_was_withdrawn_is_none_of_a_text(alice: Agent) -> None:
    alice.ask("doxa_claim", subject="quin", predicate="plays", object="chess", source="book")
    alice.ask("doxa_claim", subject="quin", predicate="plays", object="chess", id="q", source="pub")
    alice.ask("doxa_support", claim="q", source="novel")
    alice.ask("doxa_withdraw", source="novel")
    block = alice.ask("doxa_assemble", query="What does quin play?", subject="quin")
    assert sorted(name for one in block["printed"] for name in one["sources"]) == ["book", "pub"]


def test_correcting_what_was_superseded_already_names_what_stands_in_its_place(
    alice: Agent,
) -> None:
    alice.ask("doxa_claim", subject="rex", predicate="at", object="a", id="rex", source="s")
    first = alice.ask("doxa_correct", claim="rex", object="b", id="rex-b", source="s")
    assert first["warning"] is None
    done = {"claim": "rex", "object": "c", "id": "rex-c", "source": "s"}
    second = alice.result("doxa_correct", **done)
    said = second.structured_content["warning"]
    assert said.startswith(
        "rex had been superseded already, by rex-b/replacement; rex-b/replacement and "
        "rex-c/replacement hold now."
    )
    assert f"Warning: {said}" in second.content[0].text
    assert alice.ask("doxa_view", subject="rex", predicate="at")["values"] == ["b", "c"]
    assert alice.ask("doxa_correct", **done)["warning"] is None  # nothing was recorded
    nothing = alice.ask("doxa_correct", claim="rex", by_nothing=True)["warning"]
    assert "by rex-b/replacement, rex-c/replacement; " in nothing
