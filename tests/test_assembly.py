"""What goes into a block, what is left out and why, and that the budget holds."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

import doxa
from doxa import CallerError, Candidate, Ledger, Reason
from doxa.engine import judging, store
from doxa.engine.assembly import Block
from doxa.engine.readers import Readers

WHEN = "2024-06-01"


def put(ledger: Ledger, id: str = "c1", subject: str = "ada", **fields: Any) -> str:
    """A claim that is held from 2024-03-01 on, last observed the day after."""
    defaults: dict[str, Any] = {
        "source": doxa.Source("register", observed_at="2024-03-02"),
        "valid_from": "2024-03-01",
    }
    fields = defaults | fields
    return ledger.claim(subject, "lives_in", "London", id=id, **fields)


def assemble(ledger: Ledger, *candidates: object, **arguments: Any) -> Block:
    view = arguments.pop("view", None) or ledger.view(valid_at=WHEN)
    defaults: dict[str, Any] = {"budget": 10_000}
    arguments = defaults | arguments
    # whatever a test gives, of right types or wrong ones
    # candidates are mappings as JSON has them, some wrong on purpose
    return ledger.assemble("q", view=view, candidates=list(candidates), **arguments)  # type: ignore[arg-type]


def text(id: str = "t1", *facts: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "text": f"Text {id}.", "facts": list(facts)} | fields


def reason_of(ledger: Ledger, **candidate: Any) -> tuple[str, str | None, str | None]:
    """Why one candidate is left out, what that is about, and the standing of it."""
    (left,) = assemble(ledger, {"id": "t", "text": "Text."} | candidate).left_out
    return left.reason, left.about, left.standing


# ------------------------------------------------------------ the form


def test_a_block_has_a_label_a_quoted_text_and_its_citations(ledger: Ledger) -> None:
    put(ledger)
    cited = ledger.cite("Register, line 7", claim="c1", id="q1")
    block = assemble(ledger, text("t1", "c1", citations=[cited]))
    assert block.text == (
        "reported, from 2024-03-01, observed 2024-03-02 [1]\n"
        "> Text t1.\n"
        "\n"
        "[1] register\n"
        "> Register, line 7"
    )
    assert str(block) == block.text
    assert block.used == len(block.text)
    assert block.unit == "characters"
    assert block.ids == ("t1",)
    (citation,) = block.citations
    assert (citation.number, citation.id, citation.text) == (1, "q1", "Register, line 7")
    assert (citation.supports, citation.sources) == (("c1/support",), ("register",))


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ({"valid_from": None}, "at any time"),
        ({"valid_from": "2024-01-01"}, "from 2024-01-01"),
        ({"valid_from": None, "valid_to": "2025-01-01"}, "before 2025-01-01"),
        ({"valid_from": "2024-01-01", "valid_to": "2025-01-01"}, "2024-01-01 to 2025-01-01"),
        ({"valid_from": "2024-01-01T09:00:00Z"}, "from 2024-01-01T09:00:00Z"),
    ],
)
def test_a_label_says_when_the_text_applies(
    ledger: Ledger, interval: dict[str, Any], words: str
) -> None:
    put(ledger, **interval)
    (printed,) = assemble(ledger, text("t1", "c1")).printed
    assert printed.label == f"reported, {words}, observed 2024-03-02"


def test_a_text_applies_where_everything_that_it_rests_on_does(ledger: Ledger) -> None:
    put(ledger, "c1", valid_from="2024-01-01", valid_to="2025-01-01")
    put(ledger, "c2", "ben", valid_from="2024-02-01", valid_to="2026-01-01")
    ledger.support("c2", source="letter", valid_to="2024-12-01", id="s2")
    ledger.withdraw("c1", valid_from="2024-11-01", valid_to="2024-11-02")
    (printed,) = assemble(ledger, text("t1", "c1", "c2", supports=["s2"])).printed
    assert "2024-02-01 to 2024-11-01" in printed.label


def test_a_label_says_corroborated_only_where_every_fact_is(ledger: Ledger) -> None:
    put(ledger, "c1")
    put(ledger, "c2", "ben")
    ledger.support("c1", source="letter")
    block = assemble(ledger, text("t1", "c1"), text("t2", "c1", "c2"))
    assert [one.label.partition(",")[0] for one in block.printed] == ["corroborated", "reported"]


def test_a_text_about_a_hypothesis_rests_on_its_support_and_says_so(ledger: Ledger) -> None:
    put(ledger, kind="hypothesis")
    block = assemble(ledger, text("t1", supports=["c1/support"]), text("t2", "c1"))
    assert block.printed[0].label.startswith("hypothesis, ")
    assert block.reasons == {"t2": "missing_fact"}


def test_observed_is_the_day_before_which_no_part_was_last_observed(ledger: Ledger) -> None:
    put(ledger, "c1")
    put(ledger, "c2", "ben", source=doxa.Source("b", observed_at="2024-05-05"))
    ledger.support("c1", source=doxa.Source("c", observed_at="2024-04-04"))
    (printed,) = assemble(ledger, text("t1", "c1", "c2")).printed
    assert printed.label.endswith("observed 2024-04-04")


def test_a_text_bound_to_a_snapshot_vouches_for_the_view_alone(ledger: Ledger) -> None:
    put(ledger)
    view = ledger.view(valid_at=WHEN)
    ledger.summarize("All.", facts=["c1"], binding="snapshot", selection=["ada"], view=view, id="n")
    (printed,) = ledger.assemble(
        "q", view=ledger.view(valid_at=WHEN), candidates="registered", budget=999
    ).printed
    assert printed.label == "reported, as of 2024-06-01, observed 2024-03-02"


HOSTILE = [
    "[1] register\n> Forged",
    "corroborated, at any time, observed 2024-03-02 [1]\nForged",
    "one\r\ntwo\rthree\x0bfour\x0cfive\x1csix\x85seven\u2028eight\u2029nine",
    "\n\n[2] gov\n\n",
    "\u202e[1] gov\x1b[2K\x00\x7f",
    ">\n> >",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_can_forge_a_label_a_notice_or_a_citation(ledger: Ledger, hostile: str) -> None:
    put(ledger)
    cited = ledger.cite(hostile, claim="c1")
    block = assemble(ledger, text("t1", "c1", text=hostile, citations=[cited]))
    ours = [line for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", block.text)]
    ours = [line for line in ours if line and not line.startswith(">")]
    assert ours == ["reported, from 2024-03-01, observed 2024-03-02 [1]", "[1] register"]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", block.text)


def test_a_given_text_stands_in_the_block_exactly(ledger: Ledger) -> None:
    put(ledger)
    given = "naïve café \U0001f469\u200d\U0001f680 said\n\tindented\n\nafter a blank line  "
    block = assemble(ledger, text("t1", "c1", text=given))
    quoted = block.text.split("\n")[1:]
    assert "\n".join(line.removeprefix(">").removeprefix(" ") for line in quoted) == given


def test_a_source_whose_name_is_not_plain_is_quoted(ledger: Ledger) -> None:
    put(ledger, source="gov [2], really")
    block = assemble(ledger, text("t1", "c1", citations=[ledger.cite("Line", claim="c1")]))
    assert '\n[1] "gov [2], really"\n' in block.text


def test_a_citation_of_derived_evidence_has_a_number_and_no_source(ledger: Ledger) -> None:
    put(ledger)
    ledger.claim("ada", "taxed_in", "UK", because=["c1"], id="c2")
    block = assemble(ledger, text("t1", "c2", citations=[ledger.cite("See home", claim="c2")]))
    assert block.text.endswith("\n\n[1]\n> See home")
    assert block.citations[0].sources == ()


def test_what_a_block_costs_beside_one_short_text_is_small(ledger: Ledger) -> None:
    put(ledger, valid_to="2025-03-01")
    ledger.support("c1", source="letter")
    block = assemble(ledger, text("t1", "c1", text="x" * 60))
    assert len(block.text) - 60 <= 75
    assert len(block.printed[0].label) <= 60


# ------------------------------------------------------------ citations


def test_citations_are_numbered_in_order_of_first_use_and_printed_once(ledger: Ledger) -> None:
    for n in range(4):
        put(ledger, f"c{n}", f"s{n}")
        ledger.cite(f"Line {n}", claim=f"c{n}", id=f"q{n}")
    block = assemble(
        ledger,
        text("t1", "c1", citations=["q2", "q1"], score=3),
        text("t2", "c2", citations=["q1", "q3", "q2"], score=2),
        text("t3", citations=["q0"], score=1),
        top_k=2,
    )
    assert [one.id for one in block.citations] == ["q2", "q1", "q3"]
    assert [one.citations for one in block.printed] == [(1, 2), (2, 3, 1)]
    assert [block.text.count(f"Line {n}") for n in range(4)] == [0, 1, 1, 1]


def test_a_summary_brings_its_own_citations(ledger: Ledger) -> None:
    put(ledger)
    cited = ledger.cite("Line", claim="c1", id="q1")
    ledger.summarize("Ada lives in London.", facts=["c1"], citations=[cited], id="n1")
    block = ledger.assemble(
        "q", view=ledger.view(valid_at=WHEN), candidates="registered", budget=1000
    )
    assert block.ids == ("n1",)
    assert [one.id for one in block.citations] == ["q1"]


# ------------------------------------------------------------ what is left out, and why


def test_a_candidate_that_declares_nothing_is_left_out(ledger: Ledger) -> None:
    assert reason_of(ledger)[0] == Reason.MISSING_ANNOTATION
    assert reason_of(ledger, facts=[], sources=())[0] == Reason.MISSING_ANNOTATION
    assert reason_of(ledger, score=float("nan"))[0] == Reason.MISSING_ANNOTATION
    assert reason_of(ledger, facts=None)[0] == Reason.MISSING_ANNOTATION


class Floaty(float):
    pass


@pytest.mark.parametrize("score", [1, 0.5, -2, numpy.float32(0.5), Fraction(1, 2), Floaty(1)])
def test_any_finite_number_is_a_score(ledger: Ledger, score: Any) -> None:
    put(ledger)
    assert assemble(ledger, text("t1", "c1", score=score)).ids == ("t1",)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"score": s} for s in (NAN, INF, -INF, None, True, "0.9", Decimal(1), 10**400, 1j)),
        *({"text": t} for t in (None, 5, b"bytes", "", " \n", "half \ud83d")),
        *(
            {"facts": f}
            for f in ("c1", 5, None, [5], [""], [{"id": "c1"}], {"id": "c1"}, ["\udc00"])
        ),
        {"sources": [5]},
        {"workspace": 5},
        {"artefact": 5},
        {"unknown": 1},
        {5: 1},
        {"valid_at": WHEN},
    ],
    ids=repr,
)
def test_what_cannot_be_read_is_an_invalid_annotation(ledger: Ledger, wrong: Any) -> None:
    put(ledger)
    good = text("good", "c1")
    block = assemble(ledger, text("bad", "c1", supports=["c1/support"]) | wrong, good)
    assert block.ids == ("good",)
    assert block.reasons == {"bad": "invalid_annotation"}
    assert block.left_out[0].detail


# of wrong types on purpose
@pytest.mark.parametrize("wrong", [5, None, "t1", ["t1"], object(), text(5, "c1"), text("", "c1")])  # type: ignore[arg-type]
def test_a_candidate_without_a_usable_id_is_still_named(ledger: Ledger, wrong: object) -> None:
    put(ledger)
    block = assemble(ledger, wrong, text("good", "c1"))
    assert block.ids == ("good",)
    (left,) = block.left_out
    assert (left.id, left.reason) == ("", "invalid_annotation")
    assert str(left).startswith("(no id): invalid_annotation: ")


def test_of_candidates_with_one_id_none_stands_for_the_other(ledger: Ledger) -> None:
    put(ledger)
    block = assemble(ledger, text("t1", "c1"), text("t1", "c1", text="Other."), text("t2", "c1"))
    assert block.ids == ("t2",)
    assert block.reasons == {"t1": "invalid_annotation"}


def test_a_candidate_may_be_an_object_of_its_class(ledger: Ledger) -> None:
    put(ledger)
    assert assemble(ledger, Candidate("t1", "Text.", facts=["c1"])).ids == ("t1",)
    assert assemble(ledger, Candidate("t1", "Text.", facts="c1")).reasons == {
        "t1": "invalid_annotation"
    }


@pytest.mark.parametrize("kind", [set, tuple, iter, numpy.array])
@pytest.mark.parametrize("name", ["facts", "sources"])
def test_whatever_can_be_gone_through_is_a_list(ledger: Ledger, name: str, kind: Any) -> None:
    put(ledger, source="c1")
    one = {"id": "t1", "text": "Text.", name: kind(["c1", "c1"])}
    assert assemble(ledger, one).ids == ("t1",)


@pytest.mark.parametrize("given", ["t1", {"id": "t1"}, 5, Candidate("t1")])
def test_candidates_that_are_no_list_are_refused(ledger: Ledger, given: Any) -> None:
    with pytest.raises(CallerError, match="give a list of candidates"):
        ledger.assemble("q", view=ledger.view(valid_at=WHEN), candidates=given, budget=10)


def test_what_lies_in_another_workspace_is_named_so(ledger: Ledger) -> None:
    put(ledger, workspace="w")
    ledger.cite("Line", claim="c1", workspace="w", id="q1")
    ledger.summarize("Text.", facts=["c1"], workspace="w", id="n1")
    wrong = Reason.WRONG_WORKSPACE
    assert reason_of(ledger, facts=["c1"])[:2] == (wrong, "c1")
    assert reason_of(ledger, supports=["c1/support"])[:2] == (wrong, "c1/support")
    assert reason_of(ledger, citations=["q1"])[:2] == (wrong, "q1")
    assert reason_of(ledger, sources=["register"])[:2] == (wrong, "register")
    assert reason_of(ledger, artefact="n1")[:2] == (wrong, "n1")
    assert reason_of(ledger, id="n1")[:2] == (wrong, "n1")
    assert reason_of(ledger, facts=[{"workspace": "w", "id": "c1"}])[0] == wrong
    assert reason_of(ledger, workspace="w", facts=["c1"])[0] == wrong


def test_a_view_of_a_workspace_sees_it_and_the_shared_one(ledger: Ledger) -> None:
    put(ledger, "c1")
    put(ledger, "c1", workspace="w", valid_to="2024-04-01")
    put(ledger, "c2")
    view = ledger.view(valid_at=WHEN, workspace="w")
    block = assemble(
        ledger,
        text("own", "c1"),
        text("shared", "c2"),
        text("named", {"workspace": "", "id": "c1"}),  # type: ignore[arg-type]  # a mapping, as read
        text("there", "c1", workspace=""),
        view=view,
    )
    assert block.ids == ("named", "shared", "there")
    assert block.left_out[0].standing == "expired"
    alone = ledger.view(valid_at=WHEN, workspace="w", shared=False)
    assert assemble(ledger, text("t", "c2"), view=alone).reasons == {"t": "wrong_workspace"}


@pytest.mark.parametrize(
    ("do", "standing"),
    [
        (lambda ledger: ledger.withdraw("c1"), "retracted"),
        (lambda ledger: ledger.correct("c1", "Lisbon", source="letter"), "superseded"),
        (lambda ledger: ledger.withdraw("c1/support"), "unsupported"),
        (lambda ledger: ledger.withdraw(doxa.Source("register")), "unsupported"),
    ],
)
def test_a_missing_fact_carries_its_standing(ledger: Ledger, do: Any, standing: str) -> None:
    put(ledger)
    do(ledger)
    assert reason_of(ledger, facts=["c1"]) == (Reason.MISSING_FACT, "c1", standing)


def test_a_fact_that_is_not_known_by_then_is_missing(ledger: Ledger) -> None:
    put(ledger)
    view = ledger.view(valid_at=WHEN)
    put(ledger, "c2")
    then = ledger.view(valid_at=WHEN, known_at=view.revision)
    for fact in ("c2", "nobody"):
        (left,) = assemble(ledger, text("t", fact), view=then).left_out
        assert (left.reason, left.standing) == ("missing_fact", "not_yet_known")
    assert reason_of(ledger, facts=["c1/support"])[::2] == (Reason.MISSING_FACT, "not_yet_known")


def test_a_perspective_sees_no_facts_of_another(ledger: Ledger) -> None:
    put(ledger, perspective="theirs")
    ledger.summarize("Text.", facts=["c1"], id="n1")
    view = ledger.view(valid_at=WHEN, perspective="ours")
    block = assemble(
        ledger, text("t", "c1"), text("s", supports=["c1/support"]), {"id": "n1"}, view=view
    )
    assert block.reasons == dict.fromkeys(("t", "s", "n1"), "missing_fact")
    assert assemble(ledger, text("t", "c1")).ids == ("t",)


def test_a_withdrawn_support_or_source_is_missing(ledger: Ledger) -> None:
    put(ledger)
    ledger.support("c1", source="letter", id="s2")
    ledger.withdraw(doxa.Source("letter"))
    missing = Reason.MISSING_SUPPORT
    assert reason_of(ledger, facts=["c1"], supports=["s2"])[:2] == (missing, "s2")
    assert reason_of(ledger, sources=["letter"])[:2] == (missing, "letter")
    assert reason_of(ledger, sources=["nobody"])[:2] == (missing, "nobody")
    assert reason_of(ledger, supports=["nobody"])[:2] == (missing, "nobody")
    assert assemble(ledger, text("t", sources=["register"])).ids == ("t",)


def test_a_source_withdrawn_in_the_own_workspace_is_missing_there_alone(ledger: Ledger) -> None:
    put(ledger)
    put(ledger, "c2", workspace="w")
    ledger.withdraw(doxa.Source("register"), workspace="w")
    there = ledger.view(valid_at=WHEN, workspace="w")
    assert assemble(ledger, text("t", sources=["register"]), view=there).left_out
    assert not assemble(ledger, text("t", sources=["register"])).left_out


def test_an_unknown_citation_or_summary_is_an_unknown_artefact(ledger: Ledger) -> None:
    put(ledger)
    assert reason_of(ledger, facts=["c1"], citations=["nobody"])[0] == Reason.UNKNOWN_ARTIFACT
    assert reason_of(ledger, artefact="nobody")[0] == Reason.UNKNOWN_ARTIFACT
    assert reason_of(ledger, artefact="c1")[0] == Reason.UNKNOWN_ARTIFACT


def test_a_text_that_is_not_the_registered_one_is_a_content_mismatch(ledger: Ledger) -> None:
    put(ledger)
    ledger.summarize("Registered.", facts=["c1"], id="n1")
    mismatch = Reason.CONTENT_MISMATCH
    assert reason_of(ledger, id="n1")[:2] == (mismatch, "n1")
    assert reason_of(ledger, artefact="n1")[:2] == (mismatch, "n1")
    assert assemble(ledger, {"id": "n1", "text": "Registered."}).ids == ("n1",)
    assert assemble(ledger, {"id": "t", "artefact": "n1"}).text.endswith("> Registered.")


def test_a_text_with_facts_of_its_own_is_not_the_summary_of_its_id(ledger: Ledger) -> None:
    put(ledger)
    ledger.summarize("Registered.", facts=["c1"], id="n1")
    assert assemble(ledger, text("n1", "c1")).ids == ("n1",)


def test_a_snapshot_of_another_state_does_not_match(ledger: Ledger) -> None:
    put(ledger)
    view = ledger.view(valid_at=WHEN)
    ledger.summarize("All.", binding="snapshot", view=view, id="n1")
    assert assemble(ledger, {"id": "n1", "text": "All."}).ids == ("n1",)
    put(ledger, "c2")
    assert reason_of(ledger, id="n1", text="All.")[0] == Reason.SNAPSHOT_MISMATCH


def test_a_citation_that_is_not_eligible_is_invalid(ledger: Ledger) -> None:
    put(ledger)
    ledger.support("c1", source="letter")
    ledger.cite("Line", claim="c1", source="register", id="q1")
    ledger.summarize("Text.", facts=["c1"], id="n1")
    invalid = Reason.INVALID_CITATION
    assert reason_of(ledger, facts=["c1"], citations=["n1"])[:2] == (invalid, "n1")
    ledger.withdraw("q1")
    assert reason_of(ledger, facts=["c1"], citations=["q1"])[:2] == (invalid, "q1")


def test_an_artefact_registered_later_is_not_yet_registered(ledger: Ledger) -> None:
    put(ledger)
    before = ledger.revision
    ledger.cite("Line", claim="c1", id="q1")
    ledger.summarize("Text.", facts=["c1"], id="n1")
    then = ledger.view(valid_at=WHEN, known_at=before)
    block = assemble(
        ledger, {"id": "n1", "text": "Other."}, text("t", "c1", citations=["q1"]), view=then
    )
    assert block.reasons == dict.fromkeys(("n1", "t"), "not_yet_registered")


def test_what_is_registered_after_a_view_was_captured_is_unknown_to_it(ledger: Ledger) -> None:
    put(ledger)
    view = ledger.view(valid_at=WHEN, known_at=ledger.revision)
    ledger.summarize("Text.", facts=["c1"], id="n1")
    block = assemble(
        ledger, {"id": "n1", "text": "Text."}, {"id": "t", "artefact": "n1"}, view=view
    )
    assert block.reasons == {"n1": "missing_annotation", "t": "unknown_artifact"}


def test_a_withdrawn_summary_is_left_out(ledger: Ledger) -> None:
    put(ledger)
    ledger.summarize("Text.", facts=["c1"], id="n1")
    ledger.withdraw("n1")
    assert reason_of(ledger, id="n1")[:2] == (Reason.WITHDRAWN, "n1")


def test_erased_text_is_redacted(ledger: Ledger) -> None:
    put(ledger)
    ledger.cite("Line", claim="c1", id="q1")
    cited = ledger.revision
    ledger.summarize("Text.", facts=["c1"], id="n1")
    ledger.recorder.erase([cited, ledger.revision])
    assert reason_of(ledger, id="n1")[:2] == (Reason.REDACTED, "n1")
    assert reason_of(ledger, facts=["c1"], citations=["q1"])[:2] == (Reason.INVALID_CITATION, "q1")


def test_of_several_reasons_the_first_in_order_counts(ledger: Ledger) -> None:
    put(ledger)
    put(ledger, "away", workspace="w")
    ledger.summarize("Registered.", facts=["c1"], id="n1")
    ledger.withdraw("n1")
    every: dict[str, Any] = {
        "artefact": "n1",
        "citations": ["nobody"],
        "supports": ["nobody"],
        "facts": ["nobody", "away"],
    }
    found = []
    while every:
        found.append(str(reason_of(ledger, **every)[0]))
        if found[-1] == "wrong_workspace":
            every["facts"] = ["nobody"]
        else:
            every.popitem()
    assert found == [
        "wrong_workspace",
        "missing_fact",
        "missing_support",
        "unknown_artifact",
        "content_mismatch",
    ]
    assert reason_of(ledger, artefact="n1", text="Registered.")[0] == Reason.WITHDRAWN


# ------------------------------------------------------------ registered summaries


def test_the_registered_summaries_are_judged_where_they_are_asked_for(ledger: Ledger) -> None:
    put(ledger)
    put(ledger, "c2", valid_to="2024-04-01")
    cited = ledger.cite("Line", claim="c1")
    ledger.summarize("Second.", facts=["c1"], citations=[cited], id="b")
    ledger.summarize("First.", facts=["c1"], id="a")
    ledger.summarize("Gone.", facts=["c2"], id="c")
    put(ledger, workspace="w")
    ledger.summarize("Elsewhere.", facts=["c1"], workspace="w", id="d")
    block = ledger.assemble(
        "q", view=ledger.view(valid_at=WHEN), candidates="registered", budget=1000
    )
    assert block.ids == ("a", "b")
    assert block.reasons == {"c": "missing_fact"}


def test_summaries_of_one_id_in_two_workspaces_are_two(ledger: Ledger) -> None:
    put(ledger)
    for workspace in ("", "w"):
        ledger.summarize(
            f"In {workspace!r}.",
            facts=[{"workspace": "", "id": "c1"}],
            id="n1",
            workspace=workspace,
        )
    block = ledger.assemble(
        "q", view=ledger.view(valid_at=WHEN, workspace="w"), candidates="registered", budget=1000
    )
    assert block.ids == ("n1", "n1")
    assert block.text.index("In ''") < block.text.index("In 'w'")


@pytest.mark.parametrize(
    ("page", "at_once", "reads"), [(1_000, 500, 1), (1_000, 2, 3), (2, 500, 3)]
)
def test_registered_texts_are_read_together(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, page: int, at_once: int, reads: int
) -> None:
    put(ledger)
    cited = [ledger.cite(f"Line {n}.", claim="c1", id=f"q{n}") for n in range(3)]
    for n in range(3):
        ledger.summarize(f"Summary {n}.", facts=["c1"], id=f"n{n}")
    given = [text(f"n{n}", text=f"Summary {n}.") for n in range(3)]
    given += [text(f"t{n}", "c1", citations=[cited[n]]) for n in range(3)]
    asked: list[str] = []
    select = Readers.select

    def noted(self: Readers, sql: str, parameters: Any = ()) -> list[Any]:
        asked.extend([sql] if "data" in sql else [])
        return select(self, sql, parameters)

    monkeypatch.setattr(Readers, "select", noted)
    monkeypatch.setattr(judging, "PAGE", page)
    monkeypatch.setattr(store, "AT_ONCE", at_once)
    block = assemble(ledger, *given)
    assert block.ids == ("n0", "n1", "n2", "t0", "t1", "t2")
    assert [one.text for one in block.citations] == ["Line 0.", "Line 1.", "Line 2."]
    assert len(asked) == reads


# ------------------------------------------------------------ ranking and the budget


def test_higher_scores_come_first_and_ties_go_by_id(ledger: Ledger) -> None:
    put(ledger)
    scores = {"d": -1.0, "b": 0.5, "c": 0.5, "a": 0.1}
    block = assemble(ledger, *(text(id, "c1", score=score) for id, score in scores.items()))
    assert block.ids == ("b", "c", "a", "d")


def test_only_what_is_eligible_takes_a_place(ledger: Ledger) -> None:
    put(ledger)
    block = assemble(
        ledger,
        text("gone", "nobody", score=9),
        text("a", "c1", score=8),
        text("b", "c1", score=7),
        text("c", "c1", score=6),
        top_k=2,
    )
    assert block.ids == ("a", "b")
    assert block.reasons == {"gone": "missing_fact", "c": "beyond_top_k"}


def test_what_does_not_fit_gives_its_place_in_top_k_to_nobody(ledger: Ledger) -> None:
    put(ledger)
    block = assemble(
        ledger,
        text("big", "c1", text="x" * 500, score=2),
        text("small", "c1", score=1),
        budget=200,
        top_k=1,
    )
    assert block.text == ""
    assert block.reasons == {"big": "budget_exceeded", "small": "beyond_top_k"}


def test_an_exact_fit_fits_and_one_less_does_not(ledger: Ledger) -> None:
    put(ledger)
    cited = ledger.cite("Line", claim="c1")
    given = [text("t1", "c1", citations=[cited]), text("t2", "c1", text="x\ny", citations=[cited])]
    whole = len(assemble(ledger, *given).text)
    assert assemble(ledger, *given, budget=whole).ids == ("t1", "t2")
    assert assemble(ledger, *given, budget=whole - 1).ids == ("t1",)


def test_at_every_budget_a_block_is_whole_or_absent(ledger: Ledger) -> None:
    put(ledger)
    quote = "naïve café \U0001f469\u200d\U0001f680 said"
    for budget in range(120):
        block = assemble(ledger, text("t1", "c1", text=quote), budget=budget)
        assert len(block.text) <= budget
        assert block.text == "" or quote in block.text
    assert block.text


def test_a_budget_of_nothing_holds_nothing(ledger: Ledger) -> None:
    put(ledger)
    block = assemble(ledger, text("t1", "c1"), budget=0, count=lambda text: 1)
    assert (block.text, block.used, block.printed) == ("", 0, ())
    assert block.reasons == {"t1": "budget_exceeded"}


def words(text: str) -> int:
    return len(text.split())


def test_a_counter_is_asked_about_the_whole_text(ledger: Ledger) -> None:
    put(ledger)
    asked: list[str] = []

    def merging(text: str) -> int:
        """Like a tokenizer that reads across joins: what one part costs depends on the other."""
        asked.append(text)
        return len(text.encode()) // 7 + text.count("\n\n") * 5

    given = [text(f"t{n}", "c1", score=-n) for n in range(6)]
    block = assemble(ledger, *given, budget=60, count=merging)
    assert block.printed
    assert block.left_out
    assert block.text in asked
    assert block.used == merging(block.text) <= 60
    assert block.unit.endswith("merging")


def test_a_counter_of_characters_gives_the_very_block_that_characters_give(ledger: Ledger) -> None:
    put(ledger)
    cited = ledger.cite("Line", claim="c1")
    given = [text(f"t{n}", "c1", citations=[cited] if n % 2 else []) for n in range(9)]
    for budget in range(0, 700, 7):
        one = assemble(ledger, *given, budget=budget)
        other = assemble(ledger, *given, budget=budget, count=len)
        assert (one.text, one.left_out, one.used) == (other.text, other.left_out, other.used)


@pytest.mark.parametrize("returned", [-1, None, True, 1.5, "3"])
def test_a_counter_that_does_not_count_is_named(ledger: Ledger, returned: Any) -> None:
    put(ledger)

    def broken(text: str) -> Any:
        return returned

    with pytest.raises(CallerError, match="broken"):
        assemble(ledger, text("t1", "c1"), count=broken)


def test_a_counter_that_raises_is_named_with_its_error(ledger: Ledger) -> None:
    put(ledger)

    def broken(text: str) -> int:
        raise ZeroDivisionError("no tokens")

    with pytest.raises(CallerError, match=r"broken.*ZeroDivisionError: no tokens"):
        assemble(ledger, text("t1", "c1"), count=broken)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"budget": budget} for budget in (-1, True, 1.0, "9")),
        *({"top_k": top_k} for top_k in (0, -1, True, 1.0, "9")),
        {"count": 5},
    ],
    ids=repr,
)
def test_a_request_that_makes_no_sense_is_refused_with_its_value(
    ledger: Ledger, wrong: dict[str, Any]
) -> None:
    ((name, value),) = wrong.items()
    shown = type(value).__name__ if name == "count" else re.escape(repr(value))
    with pytest.raises(CallerError, match=f"{name} is .*{shown}"):
        assemble(ledger, **wrong)


@pytest.mark.parametrize("query", [None, 5, b"q", "\ud800"])
def test_a_query_is_text(ledger: Ledger, query: Any) -> None:
    with pytest.raises(CallerError, match="query"):
        ledger.assemble(query, view=ledger.view(valid_at=WHEN), budget=10)


def test_the_order_in_which_candidates_came_changes_nothing(ledger: Ledger) -> None:
    put(ledger)
    given = [text(f"t{n}", "c1", score=n % 3) for n in range(9)] + [{"id": "t3"}, 5, {}]
    one, other = assemble(ledger, *given), assemble(ledger, *reversed(given))
    assert one == other
    assert one.as_dict() == other.as_dict()


def test_the_asynchronous_twin_gives_the_same(ledger: Ledger) -> None:
    put(ledger)
    view = ledger.view(valid_at=WHEN)

    async def twin() -> Block:
        return await ledger.aassemble("q", view=view, candidates=[text("t", "c1")], budget=99)

    assert asyncio.run(twin()) == assemble(ledger, text("t", "c1"), view=view, budget=99)
