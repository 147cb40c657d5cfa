"""Contested sides are shown together, or not at all and said so, however they are reached."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa import Ledger
from doxa.engine.assembly import Block

WHEN = "2024-06-01"


@pytest.fixture
def torn(ledger: Ledger) -> Ledger:
    """Ada lives in London (a), or in Paris (b); Ben works at Acme (c), contested by nobody."""
    ledger.policy(single_valued="lives_in")
    put(ledger, "a", "ada", "London")
    put(ledger, "b", "ada", "Paris")
    ledger.claim("ben", "works_at", "Acme", source="s-c", id="c")
    return ledger


def put(ledger: Ledger, id: str, subject: str, object: Any, **fields: Any) -> None:
    """A claim about where somebody lives, from a source of its own."""
    source = doxa.Source(f"s-{id}", observed_at="2024-03-02")
    ledger.claim(subject, "lives_in", object, source=source, id=id, **fields)


def assemble(ledger: Ledger, *candidates: dict[str, Any], **arguments: Any) -> Block:
    view = arguments.pop("view", None) or ledger.view(valid_at=WHEN)
    defaults: dict[str, Any] = {"budget": 10_000}
    return ledger.assemble("q", view=view, candidates=candidates, **defaults | arguments)


def text(id: str, *facts: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "text": f"Text {id}.", "facts": list(facts)} | fields


def shown(block: Block) -> list[str]:
    return [one.id for one in block.printed]


# ------------------------------------------------------------ one unit


def test_a_side_without_a_candidate_is_printed_from_its_claim(torn: Ledger) -> None:
    block = assemble(torn, text("t", "a"))
    assert block.text == (
        "contested (1 of 2), at any time, observed 2024-03-02\n"
        "> Text t.\n"
        "\n"
        "contested (2 of 2), at any time, observed 2024-03-02\n"
        '> ada lives_in "Paris"'
    )
    assert [(one.id, one.kind) for one in block.printed] == [("t", "candidate"), ("b", "claim")]
    assert {one.unit for one in block.printed} == {1}


def test_a_claim_with_words_of_its_own_is_printed_in_them(torn: Ledger) -> None:
    put(torn, "d", "ada", {"city": "Rome", "since": 2020}, text="She says:\nRome.")
    assert "> She says:\n> Rome." in assemble(torn, text("t", "a")).text


def test_the_best_candidate_of_each_side_is_in_the_unit(torn: Ledger) -> None:
    block = assemble(
        torn,
        text("low", "a", score=0.1),
        text("plain", "c", score=0.5),
        text("high", "a", score=0.4),
        text("other", "b", score=0.9),
    )
    assert shown(block) == ["other", "high", "plain", "low"]
    assert [one.label.partition(",")[0] for one in block.printed] == [
        "contested (1 of 2)",
        "contested (2 of 2)",
        "reported",
        "contested",
    ]


def test_a_text_about_both_sides_is_the_whole_unit(torn: Ledger) -> None:
    block = assemble(torn, text("both", "a", "b", score=1), text("one", "a"))
    assert shown(block) == ["both", "one"]
    assert block.printed[0].label.startswith("contested, ")


def test_the_sides_take_one_place_of_top_k(torn: Ledger) -> None:
    given = [text("t", "a", score=3), text("u", "b", score=1), text("plain", "c", score=2)]
    assert shown(assemble(torn, *given, top_k=1)) == ["t", "u"]
    assert shown(assemble(torn, *given, top_k=2)) == ["t", "u", "plain"]
    assert assemble(torn, *given, top_k=1).reasons == {"plain": "beyond_top_k"}


def test_a_unit_beyond_top_k_gets_no_notice(torn: Ledger) -> None:
    given = [text("t", "a", score=1), text("u", "a"), text("plain", "c", score=2)]
    block = assemble(torn, *given, top_k=1)
    assert shown(block) == ["plain"]
    assert block.reasons == {"t": "beyond_top_k", "u": "beyond_top_k"}
    assert block.notices == ()


def test_rivals_of_rivals_are_sides_too(torn: Ledger) -> None:
    torn.claim("ada", "born_in", "Rome", source="r", id="d")
    torn.claim("ada", "born_in", "Oslo", source="o", id="e")
    torn.policy(contradicts=["b", "d"])
    torn.policy(contradicts=["d", "e"])
    assert shown(assemble(torn, text("t", "a"))) == ["t", "b", "d", "e"]


def test_many_values_of_one_predicate_are_one_conflict(torn: Ledger) -> None:
    for n in range(30):
        put(torn, f"x{n:02}", "ada", f"city {n % 10}")
    block = assemble(torn, text("t", "x05"))
    assert len(block.printed) == 32
    assert set(shown(block)) == {"t", "a", "b", *(f"x{n:02}" for n in range(30) if n != 5)}


def test_what_is_not_held_is_no_side(torn: Ledger) -> None:
    put(torn, "d", "ada", "Rome", valid_to="2024-01-01")
    put(torn, "e", "ada", "Oslo", kind="hypothesis")
    torn.withdraw("b")
    block = assemble(torn, text("t", "a"))
    assert shown(block) == ["t"]
    assert block.printed[0].label.startswith("reported, ")


def test_a_text_that_reaches_two_conflicts_makes_them_one(torn: Ledger) -> None:
    put(torn, "d", "ben", "Rome")
    put(torn, "e", "ben", "Oslo")
    apart = assemble(torn, text("t", "a", score=2), text("u", "d", score=1))
    assert [one.unit for one in apart.printed] == [1, 1, 2, 2]
    joined = assemble(torn, text("t", "a", score=2), text("u", "d", "b", score=1))
    assert shown(joined) == ["t", "u", "e"]
    assert {one.unit for one in joined.printed} == {1}


# ------------------------------------------------------------ evidence against


def test_evidence_against_a_claim_is_a_side(torn: Ledger) -> None:
    witness = doxa.Source(
        "witness", locator="p. 2", quote="Never\nat Acme", observed_at="2024-05-05"
    )
    torn.support("c", source=witness, stance="refutes", id="r")
    block = assemble(torn, text("t", "c"))
    assert shown(block) == ["t", "r"]
    assert block.text.endswith(
        "contested (2 of 2), at any time, observed 2024-05-05\n"
        '> Against (ben works_at "Acme"): witness, p. 2: Never\n'
        "> at Acme"
    )


def test_evidence_derived_from_claims_is_printed_in_their_words(torn: Ledger) -> None:
    torn.claim("ben", "retired", True, source="x", id="d", text="Ben has retired.")
    torn.support("c", because=["d"], stance="refutes", id="r")
    assert (
        '> Against (ben works_at "Acme"): Ben has retired.' in assemble(torn, text("t", "c")).text
    )


def test_evidence_against_that_was_withdrawn_is_no_side(torn: Ledger) -> None:
    torn.support("c", source="witness", stance="refutes", id="r")
    torn.withdraw("r")
    assert shown(assemble(torn, text("t", "c"))) == ["t"]


def test_a_text_that_rests_on_the_evidence_against_speaks_for_that_side(torn: Ledger) -> None:
    torn.support("c", source="witness", stance="refutes", id="r")
    block = assemble(torn, text("t", supports=["r"]))
    assert shown(block) == ["t", "c"]
    whole = assemble(torn, text("t", "c", supports=["r"]))
    assert shown(whole) == ["t"]


# ------------------------------------------------------------ every way to a conflict


def test_a_conflict_is_reached_through_supports_citations_and_summaries(torn: Ledger) -> None:
    torn.cite("Line", claim="a", id="q")
    torn.summarize("By fact.", facts=["a"], id="n1")
    torn.summarize("By support.", supports=["a/support"], id="n2")
    torn.summarize("By citation.", citations=["q"], id="n3")
    ways: list[dict[str, Any]] = [
        text("t", "a"),
        text("t", supports=["a/support"]),
        text("t", citations=["q"]),
        text("t", "c", citations=["q"]),
        *({"id": id} for id in ("n1", "n2", "n3")),
    ]
    for way in ways:
        block = assemble(torn, way)
        assert shown(block) == [way["id"], "b"], way
        assert all(one.label.startswith("contested (") for one in block.printed)
    block = torn.assemble("q", view=torn.view(valid_at=WHEN), candidates="registered", budget=1000)
    assert shown(block) == ["n1", "b", "n2", "n3"]


def test_the_other_side_is_shown_in_a_view_of_one_perspective_too(ledger: Ledger) -> None:
    put(ledger, "a", "ada", "London", perspective="hers")
    put(ledger, "b", "ada", "Paris", perspective="his")
    ledger.policy(contradicts=["a", "b"])
    view = ledger.view(valid_at=WHEN, perspective="hers")
    assert shown(assemble(ledger, text("t", "a"), view=view)) == ["t", "b"]


def test_a_conclusion_from_a_contested_claim_says_so(torn: Ledger) -> None:
    torn.claim("ada", "taxed_in", "UK", because=["a"], id="tax")
    torn.claim("ada", "votes_in", "UK", because=["tax"], id="vote")
    torn.claim("ada", "files_in", "UK", because=["tax"], id="file")
    torn.support("file", source="office")
    block = assemble(torn, text("t1", "tax"), text("t2", "vote"), text("t3", "file"))
    labels = [one.label.partition(", ")[0] for one in block.printed]
    assert labels == ["reported (rests on contested)"] * 2 + ["reported"]


def test_a_snapshot_of_contested_subjects_says_so(torn: Ledger) -> None:
    view = torn.view(valid_at=WHEN)
    torn.summarize("Ada.", binding="snapshot", selection=["ada"], view=view, id="n1")
    assert "contested, as of" in assemble(torn, {"id": "n1"}).printed[0].label
    view = torn.view(valid_at=WHEN)
    torn.summarize("Ben.", binding="snapshot", selection=["ben"], view=view, id="n2")
    assert "reported, as of" in assemble(torn, {"id": "n2"}).printed[0].label
    view = torn.view(valid_at=WHEN)
    torn.summarize("All.", binding="snapshot", view=view, id="n3")
    assert "contested, as of" in assemble(torn, {"id": "n3"}).printed[0].label


def test_a_hypothesis_beside_a_contested_claim_says_both(torn: Ledger) -> None:
    torn.claim("ada", "moves_to", "Rome", kind="hypothesis", source="x", id="h")
    block = assemble(torn, text("t", "a", supports=["h/support"]))
    assert block.printed[0].label.startswith("hypothesis, contested (1 of 2), ")


# ------------------------------------------------------------ what does not fit


def test_where_the_sides_do_not_fit_a_notice_takes_their_place(torn: Ledger) -> None:
    given = [text("t", "a", score=1), text("u", "a"), text("plain", "c")]
    whole = len(assemble(torn, text("t", "a")).text)
    block = assemble(torn, *given, budget=whole - 1)
    assert block.text == (
        "conflict left out, 2 sides do not fit: a, b\n\n" + assemble(torn, text("plain", "c")).text
    )
    assert block.reasons == {"t": "conflict_incomplete", "u": "conflict_incomplete"}
    assert block.notices[0].ids == ("a", "b")
    assert "(2 sides: a, b)" in block.left_out[0].detail


def test_where_not_even_the_notice_fits_that_is_said(torn: Ledger) -> None:
    notice = len("conflict left out, 2 sides do not fit: a, b")
    assert assemble(torn, text("t", "a"), budget=notice).used == notice
    block = assemble(torn, text("t", "a"), budget=notice - 1)
    assert (block.text, block.notices) == ("", ())
    assert block.reasons == {"t": "conflict_incomplete"}
    assert "nor does a notice" in block.left_out[0].detail


def test_a_further_text_is_printed_only_where_the_sides_were(torn: Ledger) -> None:
    given = [text("t", "a", score=2), text("u", "b", score=1, text="x" * 300), text("v", "a")]
    block = assemble(torn, *given, budget=200)
    assert shown(block) == []
    assert set(block.reasons.values()) == {"conflict_incomplete"}
    block = assemble(torn, *given, budget=200, top_k=1)
    assert block.reasons["v"] == "conflict_incomplete"


def test_a_further_text_that_does_not_fit_leaves_the_sides_alone(torn: Ledger) -> None:
    sides = len(assemble(torn, text("t", "a", score=1)).text)
    block = assemble(torn, text("t", "a", score=1), text("u", "a"), budget=sides + 20)
    assert shown(block) == ["t", "b"]
    assert block.reasons == {"u": "budget_exceeded"}


def test_an_odd_id_in_a_notice_is_quoted(torn: Ledger) -> None:
    put(torn, "x, y: [1]", "ada", "Rome")
    block = assemble(torn, text("t", "a"), budget=100)
    assert block.text.endswith('3 sides do not fit: a, b, "x, y: [1]"')


def test_a_past_view_has_no_conflict_that_came_later(torn: Ledger) -> None:
    before = torn.revision
    put(torn, "d", "ben", "Rome")
    put(torn, "e", "ben", "Oslo")
    torn.support("c", source="witness", stance="refutes")
    then = torn.view(valid_at=WHEN, known_at=before)
    assert shown(assemble(torn, text("t", "c"), view=then)) == ["t"]


def test_a_side_that_was_erased_is_named_without_its_words(torn: Ledger) -> None:
    torn.recorder.erase([3])  # claim b
    block = assemble(torn, text("t", "a"))
    assert shown(block) == ["t", "b"]
    assert block.text.endswith("\n> (erased)")
