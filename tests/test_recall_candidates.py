"""Texts that another search brought: judged as what is found is, by what they say they rest on."""

from __future__ import annotations

import json
from typing import Any

import pytest

import doxa
from doxa.engine.outcomes import Gap, Outcome, Verdict
from tests.asked import ask, by_hand, gaps, ids, now, said, strict, verdicts, withheld


def _brought(id: str, text: str = "a text", **declares: Any) -> dict[str, Any]:
    return {"id": id, "text": text, **declares}


def test_a_text_is_worth_what_it_rests_on(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", subject="ada", source={"id": "s", "locator": "p. 1"})
    cited = ledger.cite("line 7", claim="a")
    ways: list[dict[str, Any]] = [
        {"facts": ["a"]},
        {"supports": ["a/support"]},
        {"citations": [cited]},
        {"sources": ["s"]},
    ]
    for number, declares in enumerate(ways):
        answer = ask(ledger, candidates=[_brought("c", **declares)])
        (hit,) = answer
        assert (hit.id, hit.said, hit.verdict) == ("c", "a text", Verdict.UNVERIFIED)
        assert (hit.tier, hit.standing) == (None, None)
        assert [one.source for one in hit.attribution] == ["s"]
        assert {one.id for one in hit.references} & {"a", "a/support"}
        assert hit.subject == (None if number == 3 else "ada")
        assert answer.text.endswith("from s, p. 1)")
        json.loads(answer.to_bytes())


@pytest.mark.parametrize("validity", [True, False])
def test_a_text_that_rests_on_a_source_alone_is_told_with_its_evidence(
    ledger: doxa.Ledger, validity: bool
) -> None:
    said(ledger, "a", "word")
    said(ledger, "b", "word", source="t")
    ledger.support("b", source="s", id="s2")
    given = [_brought("c", sources=["s"])]
    (hit,) = ask(ledger, candidates=given, validity_annotate=validity)
    assert [one.id for one in hit.references] == ["s2", "a/support"]
    assert {one.support for one in hit.attribution} == {"s2", "a/support"}
    ledger.withdraw("s2")
    ledger.withdraw("a/support")
    (hit,) = ask(ledger, candidates=given, validity_annotate=validity)
    assert (len(hit.references), hit.attribution) == (2, ())
    ledger.withdraw(doxa.Source("s"))
    assert withheld(ask(ledger, candidates=given)) == {"c": "retracted"}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        "text",
        {},
        {"id": "c"},
        {"id": 5, "text": "t", "facts": ["a"]},
        {"id": "c", "text": "t"},
        {"id": "c", "text": 5, "facts": ["a"]},
        {"id": "c", "text": "t", "facts": 5},
        {"id": "c", "text": "t", "facts": "a"},
        {"id": "c", "text": "t", "facts": [5]},
        {"id": "c", "text": "t", "facts": ["a"], "score": float("nan")},
        {"id": "c", "text": "t", "facts": ["a"], "score": 10**400},
        {"id": "c", "text": "t", "facts": ["a"], "score": 10**5_000},
        {"id": "c", "text": "t", "facts": ["a"], "extra": 1},
        {"id": "c", "text": "\ud800", "facts": ["a"]},
        {"id": "c", "text": "t", "facts": ["a"], "workspace": "elsewhere"},
        {"id": "c", "text": "t", "supports": ["a"]},
        {"id": "c", "text": "t", "citations": ["a"]},
        {"id": "c", "text": "t", "citations": ["nothing"]},
        {"id": "c", "artefact": "nothing"},
    ],
)
def test_a_candidate_with_bad_metadata_is_withheld_and_the_others_still_come(
    ledger: doxa.Ledger, bad: Any
) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, candidates=[bad, _brought("good", facts=["a"])])
    assert verdicts(answer) == {"good": "unverified"}
    (one,) = answer.withheld
    assert one.verdict in (Verdict.INVALID_METADATA, Verdict.RETRACTED, Verdict.NOT_YET_KNOWN)
    assert answer.outcome is Outcome.ANSWERED
    alone = ask(ledger, candidates=[bad])
    assert alone.outcome is Outcome.ABSTAINED
    json.loads(alone.to_bytes())


def test_bad_metadata_is_why_it_abstains(ledger: doxa.Ledger) -> None:
    answer = ask(ledger, candidates=[_brought("c", "a secret text")])
    assert answer.abstention is not None
    assert str(answer.abstention.reason) == "bad_metadata"
    assert withheld(answer) == {"c": "invalid_metadata"}
    assert b"secret" not in answer.to_bytes()


def test_candidates_of_one_id_are_all_withheld(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, candidates=[_brought("c", facts=["a"]), _brought("c", facts=["a"])])
    assert (ids(answer), withheld(answer)) == ([], {"c": "invalid_metadata"})


def test_a_text_of_a_claim_that_is_not_known_says_so(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    said(ledger, "b", "word")
    given = [_brought("c", facts=["nothing"]), _brought("d", facts=["b"])]
    assert withheld(ask(ledger, candidates=given)) == {"c": "not_yet_known"}
    before = ask(ledger, candidates=given, view=now(ledger, known_at=1))
    assert withheld(before) == {"c": "not_yet_known", "d": "not_yet_known"}


def test_a_text_is_judged_by_the_claim_of_the_workspace_that_it_names(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", workspace="w")
    said(ledger, "a", "word")
    said(ledger, "b", "word")
    ledger.correct("a", by="b")
    given = [_brought("c", facts=[{"workspace": "", "id": "a"}]), _brought("d", facts=["a"])]
    answer = ask(ledger, candidates=given, view=now(ledger, workspace="w"))
    assert (ids(answer), withheld(answer)) == (["d"], {"c": "superseded"})


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (lambda ledger: ledger.withdraw("a"), "retracted"),
        (lambda ledger: ledger.correct("a"), "superseded"),
        (lambda ledger: ledger.withdraw("a/support"), "unsupported"),
    ],
)
def test_a_text_falls_with_its_claim(ledger: doxa.Ledger, done: Any, verdict: str) -> None:
    said(ledger, "a", "word")
    done(ledger)
    answer = ask(ledger, candidates=[_brought("c", "a secret text", facts=["a"])])
    assert (ids(answer), withheld(answer)) == ([], {"c": verdict})
    assert b"secret" not in answer.to_bytes()


def test_an_index_that_is_behind_is_nothing_to_texts_that_were_brought(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word")
    given = [_brought("c", facts=["a"])]
    answer = ask(ledger, candidates=given, fresh=False)
    assert (answer.outcome, gaps(answer)) == (Outcome.ANSWERED, [])
    assert gaps(ask(ledger, candidates=given, mode="fused")) == []


# ---------------------------------------------------------------- confidence


def test_confidence_in_a_text_is_judged_by_its_own_words() -> None:
    with strict({"near": 0.9, "far": 0.1}) as ledger:
        said(ledger, "a", "word")
        given = [_brought("n", "near", facts=["a"]), _brought("f", "far", facts=["a"], score=9)]
        answer = ask(ledger, candidates=given)
        assert list(verdicts(answer).items()) == [("n", "ok"), ("f", "low_confidence")]
        assert [hit.scores["brought"] for hit in answer] == [0.0, 9.0]
        assert answer.hits[0].scores["dense"] == pytest.approx(0.9, abs=1e-6)


def test_a_text_whose_vector_says_nothing_is_never_ok() -> None:
    from tests.asked import calibrated, fitted

    with doxa.open(embedder=by_hand({"mute": [0.0, 0.0, 0.0]})) as ledger:
        calibrated(ledger, fitted(-0.1, -0.9))
        said(ledger, "a", "word")
        answer = ask(ledger, candidates=[_brought("c", "mute", facts=["a"])])
        assert verdicts(answer) == {"c": "low_confidence"}


@pytest.mark.parametrize("texts", [0, 1])
def test_an_embedder_that_fails_refuses_candidates_and_quotes_none(texts: int) -> None:
    def failing(given: list[str]) -> None:
        raise ValueError(given)

    with strict({}) as ledger:
        said(ledger, "a", "word")
        ask(ledger)
        ledger.embedder = by_hand({}) if texts else by_hand({}, embed_query=failing)
        if texts:
            object.__setattr__(ledger.embedder, "embed", failing)
        given = [_brought("c", "a secret text", facts=["a"])]
        answer = ask(ledger, candidates=given)
        assert (answer.outcome, gaps(answer)) == (Outcome.REFUSED, [Gap.DEPENDENCY_UNAVAILABLE])
        assert b"secret" not in answer.to_bytes()
        by_standing = ask(ledger, candidates=given, trust="standing")
        assert verdicts(by_standing) == {"c": "unverified"}


# ---------------------------------------------------------------- successors


def _replaced(ledger: doxa.Ledger) -> None:
    said(ledger, "old", "the old word")
    said(ledger, "new", "the new word")
    ledger.correct("old", by="new")


def test_what_replaced_the_claim_of_a_text_is_fetched() -> None:
    with strict({"a text": 0.9, "the new word": 0.2}) as ledger:
        _replaced(ledger)
        answer = ask(ledger, candidates=[_brought("c", facts=["old"])])
        (hit,) = answer
        assert (hit.id, hit.verdict, hit.promoted_from) == ("new", Verdict.OK, "c")
        assert (hit.fetched, hit.said) == ("promotion", "the new word")


def test_a_text_that_was_brought_for_what_replaced_it_is_lifted_itself() -> None:
    with strict({"a text": 0.9, "today": 0.2}) as ledger:
        _replaced(ledger)
        given = [_brought("old", facts=["old"]), _brought("new", "today", facts=["new"])]
        (hit,) = ask(ledger, candidates=given)
        assert (hit.id, hit.said, hit.verdict, hit.promoted_from) == (
            "new", "today", Verdict.OK, "old",
        )  # fmt: skip


def test_a_text_with_the_id_of_what_replaced_another_is_not_lost(ledger: doxa.Ledger) -> None:
    _replaced(ledger)
    said(ledger, "other", "nothing")
    given = [_brought("new", "of another", facts=["other"]), _brought("c", facts=["old"])]
    answer = ask(ledger, candidates=given)
    assert [(hit.id, hit.said) for hit in answer] == [("new", "of another")]
    assert [one.successors for one in answer.withheld] == [("new",)]


@pytest.mark.parametrize("trust", ["strict", "development", "standing"])
def test_a_successor_whose_text_was_erased_is_told_of(trust: str) -> None:
    with strict({"a text": 0.9}) as ledger:
        _replaced(ledger)
        ledger.recorder.erase([3])
        answer = ask(ledger, candidates=[_brought("c", facts=["old"])], trust=trust)
        assert answer.outcome is Outcome.ABSTAINED
        assert [(one.reason, one.ids) for one in answer.reasons] == [
            (Gap.SOURCE_UNAVAILABLE, ("new",))
        ]


# ---------------------------------------------------------------- the others


def test_filters_and_conflicts_hold_for_texts_too(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="is")
    said(ledger, "x", "word", subject="one")
    said(ledger, "y", "word", subject="one")
    said(ledger, "z", "word", subject="other")
    given = [_brought("c", facts=["x"]), _brought("d", facts=["z"])]
    answer = ask(ledger, candidates=given)
    assert verdicts(answer) == {"c": "contested", "y": "contested", "d": "unverified"}
    assert {hit.id: hit.contested_with for hit in answer}["c"] == ("y",)
    assert ids(ask(ledger, candidates=given, subject="other")) == ["d"]


def test_the_order_in_which_texts_are_given_changes_nothing(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    given = [_brought(f"c{number}", facts=["a"], score=number % 3) for number in range(6)]
    answer = ask(ledger, candidates=given)
    assert ids(answer) == ["c2", "c5", "c1", "c4", "c0", "c3"]
    assert ask(ledger, candidates=iter(given[::-1])).to_bytes() == answer.to_bytes()


def test_no_candidates_are_nothing_found(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, candidates=[])
    assert (answer.outcome, ids(answer)) == (Outcome.ABSTAINED, [])
    assert answer.trace["arms"][0]["name"] == "brought"
