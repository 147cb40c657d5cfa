"""What a question is asked of: filters, tiers, standings, workspaces, perspectives."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from doxa.engine.outcomes import Outcome
from tests.asked import ask, ids, now, said, verdicts, withheld


def _various(ledger: doxa.Ledger) -> None:
    quote = {"id": "s", "quote": "word in a quote"}
    said(ledger, "a", "word", subject="ada", predicate="lives_in", source=quote)
    said(ledger, "b", "word", subject="bob", predicate="lives_in", kind="preference")
    said(ledger, "c", "word", subject="ada", predicate="likes", perspective="bob")
    ledger.summarize("word in sum", facts=["a"], id="n")
    ledger.summarize("word of sources", sources=["s"], id="m")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"a", "a/support", "b", "c", "n", "m"}),
        ({"subject": "ada"}, {"a", "a/support", "c", "n"}),
        ({"subject": "nobody"}, set()),
        ({"predicate": "lives_in"}, {"a", "a/support", "b", "n"}),
        ({"subject": "ada", "predicate": "likes"}, {"c"}),
        ({"perspective": "bob"}, {"c"}),
        ({"perspective": ""}, {"a", "a/support", "b", "n"}),
        ({"kind": "preference"}, {"b"}),
        ({"kind": "fact"}, {"a", "a/support", "c", "n"}),
        ({"tier": "claim"}, {"a", "b", "c"}),
        ({"tier": "quote"}, {"a/support"}),
        ({"tier": "summary"}, {"n", "m"}),
        ({"tier": ["quote", "summary"]}, {"a/support", "n", "m"}),
        ({"tier": iter(["claim"])}, {"a", "b", "c"}),
        ({"workspace": ""}, {"a", "a/support", "b", "c", "n", "m"}),
        ({"standing": "reported"}, {"a", "a/support", "b", "c", "n", "m"}),
        ({"standing": ["contested", "corroborated"]}, {"n", "m"}),
        ({"tier": "claim", "standing": "hypothesis"}, set()),
    ],
)
def test_a_filter_lets_through_what_it_says(
    ledger: doxa.Ledger, options: dict[str, Any], expected: set[str]
) -> None:
    _various(ledger)
    answer = ask(ledger, **options)
    assert set(ids(answer)) == expected
    assert withheld(answer) == {}
    assert (answer.outcome is Outcome.ANSWERED) == bool(expected)


@pytest.mark.parametrize("name", ["subject", "predicate", "perspective", "kind"])
def test_what_no_filter_lets_through_is_not_told_of_either(ledger: doxa.Ledger, name: str) -> None:
    _various(ledger)
    ledger.withdraw("a")
    assert withheld(ask(ledger))["a"] == "retracted"
    answer = ask(ledger, **{name: "nothing like that"})
    assert (withheld(answer), ids(answer)) == ({}, [])


def test_filters_are_applied_before_the_best_are_taken(ledger: doxa.Ledger) -> None:
    for number in range(300):
        said(ledger, f"a{number:03}", "word", subject="one")
    said(ledger, "z", "a word among very many other words", subject="other")
    answer = ask(ledger, subject="other", top_k=1)
    assert (ids(answer), answer.reasons) == (["z"], ())


def test_a_live_quote_of_a_claim_that_was_not_asked_for_is_not_withheld(
    ledger: doxa.Ledger,
) -> None:
    _various(ledger)
    answer = ask(ledger, standing="superseded", tier=["claim", "quote"])
    assert (ids(answer), withheld(answer)) == ([], {})
    assert answer.abstention is not None
    assert str(answer.abstention.reason) == "nothing_found"


# ---------------------------------------------------------------- standings on request


STANDINGS: dict[str, dict[str, Any]] = {
    "hypothesis": {"kind": "hypothesis"},
    "unsupported": {"source": None},
    "expired": {"valid_to": "2020-01-01"},
    "not_yet_valid": {"valid_from": "2030-01-01"},
    "retracted": {},
    "superseded": {},
}


@pytest.mark.parametrize("standing", STANDINGS)
def test_what_is_not_held_comes_on_request_alone_and_always_labelled(
    ledger: doxa.Ledger, standing: str
) -> None:
    for id, fields in STANDINGS.items():
        said(ledger, id, "word", **fields)
    ledger.withdraw("retracted")
    ledger.correct("superseded")
    assert ids(ask(ledger)) == []
    answer = ask(ledger, standing=standing)
    (hit,) = answer
    assert (hit.id, str(hit.standing), str(hit.verdict)) == (standing, standing, standing)
    assert hit.label.startswith(f"{standing}, ")
    assert hit.text.startswith("[")
    assert answer.outcome is Outcome.ABSTAINED
    assert set(ids(ask(ledger, standing="any"))) == set(STANDINGS)


def test_time_comes_first_and_then_the_standing_of_that_time(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", valid_from="2020-01-01")
    known = ledger.revision
    ledger.correct("a", "new", text="new word", valid_from="2022-01-01", source="s", id="k")
    ledger.withdraw("k/replacement")
    for valid_at, known_at, expected in (
        ("2021-01-01", None, {"a": "unverified"}),
        ("2023-01-01", None, {}),
        ("2023-01-01", known, {"a": "unverified"}),
        ("2019-01-01", known, {}),
    ):
        view = ledger.view(valid_at=valid_at, known_at=known_at)
        assert verdicts(ask(ledger, view=view)) == expected


# ---------------------------------------------------------------- workspaces and perspectives


def _workspaces(ledger: doxa.Ledger) -> None:
    said(ledger, "shared", "word")
    said(ledger, "own", "word", workspace="w")
    said(ledger, "other", "word", workspace="x")


@pytest.mark.parametrize(
    ("view", "options", "expected"),
    [
        ({}, {}, ["shared"]),
        ({"workspace": "w"}, {}, ["own", "shared"]),
        ({"workspace": "w"}, {"workspace": "w"}, ["own"]),
        ({"workspace": "w"}, {"workspace": ""}, ["shared"]),
        ({"workspace": "w", "shared": False}, {}, ["own"]),
        ({"workspace": "nobody's"}, {}, ["shared"]),
        ({"workspace": "nobody's", "shared": False}, {}, []),
    ],
)
def test_a_view_of_a_workspace_sees_it_and_the_shared_one(
    ledger: doxa.Ledger, view: dict[str, Any], options: dict[str, Any], expected: list[str]
) -> None:
    _workspaces(ledger)
    assert ids(ask(ledger, view=now(ledger, **view), **options)) == expected


def test_a_workspace_out_of_sight_is_the_callers_mistake(ledger: doxa.Ledger) -> None:
    _workspaces(ledger)
    for view, workspace in (({}, "w"), ({"workspace": "w", "shared": False}, "")):
        with pytest.raises(doxa.CallerError, match="which the view does not see"):
            ask(ledger, view=now(ledger, **view), workspace=workspace)


@pytest.mark.parametrize("standing", [None, "any"])
@pytest.mark.parametrize("subject", [None, "ada"])
def test_a_summary_is_where_it_was_registered_whatever_it_rests_on(
    ledger: doxa.Ledger, standing: str | None, subject: str | None
) -> None:
    said(ledger, "a", "nothing", subject="ada")
    ledger.summarize("word", facts=[doxa.Ref("", "a")], id="n", workspace="w")
    view = now(ledger, workspace="w")
    options: dict[str, Any] = {"standing": standing, "subject": subject, "view": view}
    assert ids(ask(ledger, workspace="w", **options)) == ["n"]
    assert ids(ask(ledger, workspace="", **options)) == []


def test_a_summary_passes_by_the_claims_that_its_citations_rest_on(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing", subject="ada")
    cited = ledger.cite("line 7", claim="a")
    ledger.summarize("word", citations=[cited], id="n")
    assert ids(ask(ledger, subject="ada")) == ["n"]
    assert ids(ask(ledger, subject="bob")) == []


def test_a_view_of_a_perspective_sees_that_one_alone(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", perspective="ada")
    said(ledger, "b", "word", perspective="bob")
    ledger.summarize("word of Ada", facts=["a"], id="n")
    ledger.summarize("word of both", facts=["a", "b"], id="m")
    answer = ask(ledger, view=now(ledger, perspective="ada"))
    assert set(ids(answer)) == {"a", "n"}
    assert set(withheld(answer)) == {"m"}
    assert set(ids(ask(ledger, perspective="bob"))) == {"b", "m"}


# ---------------------------------------------------------------- quotes and summaries


def test_a_quote_falls_with_its_claim_and_with_its_support(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing", source={"id": "s", "quote": "word"})
    ledger.support("a", source={"id": "t", "quote": "another word"}, id="s2")
    assert set(ids(ask(ledger))) == {"a/support", "s2"}
    gone = ledger.withdraw("s2")
    answer = ask(ledger)
    assert (ids(answer), withheld(answer)) == (["a/support"], {"s2": "retracted"})
    ledger.withdraw(gone)
    ledger.withdraw(doxa.Source("s"))
    assert ids(ask(ledger)) == ["s2"]
    ledger.withdraw("a")
    assert ids(ask(ledger)) == []
    assert withheld(ask(ledger)) == {"s2": "retracted", "a/support": "retracted"}


def test_a_quote_counts_over_the_portion_of_its_support(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing")
    quote = {"id": "t", "quote": "word"}
    ledger.support("a", source=quote, id="s2", valid_from="2024-01-01", valid_to="2024-02-01")
    assert ids(ask(ledger, view=now(ledger, valid_at="2024-01-15"))) == ["s2"]
    assert ids(ask(ledger)) == []


@pytest.mark.parametrize("binding", ["dependencies", "snapshot"])
def test_a_summary_falls_with_what_it_declares(ledger: doxa.Ledger, binding: Any) -> None:
    said(ledger, "a", "nothing", valid_from="2024-01-01")
    ledger.summarize("word", facts=["a"], id="n", binding=binding, view=now(ledger))
    assert ids(ask(ledger)) == ["n"]
    said(ledger, "b", "new", valid_from="2024-01-01")
    assert ids(ask(ledger)) == (["n"] if binding == "dependencies" else [])
    gone = ledger.withdraw("a")
    answer = ask(ledger)
    assert (ids(answer), withheld(answer)) == ([], {"n": "retracted"})
    ledger.withdraw(gone)
    assert ids(ask(ledger)) == (["n"] if binding == "dependencies" else [])


def test_a_summary_that_was_withdrawn_is_withheld(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing")
    ledger.summarize("word", facts=["a"], id="n")
    ledger.withdraw("n")
    answer = ask(ledger)
    assert (ids(answer), set(withheld(answer))) == ([], {"n"})


def test_a_citation_is_no_document(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing")
    ledger.cite("word", claim="a")
    assert ids(ask(ledger)) == []
    assert ask(ledger).pool.documents == 1


def test_a_claim_without_a_text_is_found_by_what_it_says(ledger: doxa.Ledger) -> None:
    ledger.claim("ada", "lives_in", "London", id="a", source="s")
    ledger.claim("ada", "has", {"cats": ["Tom", None]}, id="b", source="s")
    assert [hit.said for hit in ask(ledger, "who lives in London?")][:1] == ["ada lives in London"]
    assert ids(ask(ledger, "Tom")) == ["b"]
