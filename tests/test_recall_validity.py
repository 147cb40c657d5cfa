"""How much each hit is still worth: the validity profile, asked for in a recall."""

from __future__ import annotations

from typing import Any

import pytest

import doxa
from tests.asked import ask, by_hand, ids, said

BLOCK = {
    "grade",
    "freshness",
    "scope_match",
    "provenance_class",
    "superseded",
    "expiring_soon",
    "expired",
    "expires_at_unix_ms",
    "multiplier",
    "signals",
}


def seen(day: str, id: str = "s") -> dict[str, str]:
    """A source that was looked at on a day of 2024."""
    return {"id": id, "observed_at": f"2024-{day}"}


def _aged(ledger: doxa.Ledger) -> None:
    """An old claim that matches best, and a fresh one."""
    said(ledger, "old", "word", source=seen("01-01"))
    said(ledger, "fresh", "a word among others", source=seen("06-30"))


def test_a_fresh_claim_comes_before_an_older_better_match() -> None:
    with doxa.open(embedder=by_hand({"word": 0.9, "a word among others": 0.6})) as ledger:
        _aged(ledger)
        options: dict[str, Any] = {"trust": "development", "mode": "fused"}
        assert ids(ask(ledger, **options)) == ["old", "fresh"]
        answer = ask(ledger, profile="validity", **options)
        assert ids(answer) == ["fresh", "old"]
        fresh, old = (hit.validity for hit in answer)
        assert fresh is not None
        assert old is not None
        assert (fresh["grade"], old["grade"]) == ("valid", "context_invalid")
        assert fresh["freshness"] == pytest.approx(0.5 ** (1 / 30))
        assert old["freshness"] == pytest.approx(0.5 ** (182 / 30))
        products = [0.5 * fresh["multiplier"], old["multiplier"]]
        assert [hit.score for hit in answer] == [float(f"{one:.12g}") for one in products]
        trace = answer.trace["validity"]
        assert (trace["method"], trace["reranked"]) == ("validity-multiplier-v1", True)
        assert trace["grade_counts"] == {"valid": 1, "stale": 0, "context_invalid": 1}
        assert trace["flagged_context_invalid"] == 1


def test_a_profile_implies_the_annotation_and_without_either_nothing_is_said_of_it(
    ledger: doxa.Ledger,
) -> None:
    _aged(ledger)
    plain = ask(ledger)
    assert "validity" not in plain.to_bytes().decode()
    for options in ({"profile": "validity"}, {"validity_annotate": True}, {"profile": "default"}):
        answer = ask(ledger, **options)
        assert ids(answer) == ids(plain)
        for hit in answer:
            assert hit.validity is not None
            assert set(hit.validity) - {"context_invalid"} == BLOCK
            flagged = "context_invalid" in hit.validity
            assert flagged == (hit.validity["grade"] == "context_invalid")


@pytest.mark.parametrize("mode", ["lexical", "dense"])
def test_other_modes_annotate_and_say_that_they_do_not_re_rank(mode: str) -> None:
    with doxa.open(embedder=by_hand({"word": 0.9, "a word among others": 0.6})) as ledger:
        _aged(ledger)
        answer = ask(ledger, mode=mode, trust="development", profile="validity")
        assert ids(answer) == ["old", "fresh"]
        assert answer.trace["validity"]["reranked"] is False
        assert f"mode {mode}" in answer.trace["validity"]["why"]


def test_what_is_worth_more_is_weighed_before_the_best_are_taken() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        for number in range(5):
            said(ledger, f"old{number}", "word", source=seen("01-01"))
        said(ledger, "fresh", "a word among others", source=seen("06-30"))
        options: dict[str, Any] = {"trust": "standing", "mode": "fused", "top_k": 1}
        assert ids(ask(ledger, profile="validity", **options)) == ["fresh"]


def test_the_scores_of_a_reranker_are_the_base_where_all_are_positive() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        _aged(ledger)
        options: dict[str, Any] = {"trust": "standing", "mode": "fused", "profile": "validity"}
        scores = {"word": 4.0, "a word among others": 2.0}
        answer = ask(
            ledger, rerank=lambda query, texts: [scores[each] for each in texts], **options
        )
        assert answer.trace["validity"]["base"] == "rerank"
        for hit in answer:
            assert hit.validity is not None
            product = scores[hit.said] * hit.validity["multiplier"]
            assert hit.score == float(f"{product:.12g}")
        for bad in (0.0, -1.0, None, float("nan")):
            scores["word"] = bad  # type: ignore[assignment]  # on purpose
            answer = ask(
                ledger, rerank=lambda query, texts: [scores[each] for each in texts], **options
            )
            assert answer.trace["validity"]["base"] == "rank"


@pytest.mark.parametrize(
    ("fields", "signals"),
    [
        ({"valid_to": "2024-07-15"}, {"expiring_soon"}),
        ({"valid_to": "2024-08-01"}, set()),
        ({"valid_to": "2024-07-31"}, {"expiring_soon"}),
        ({"valid_to": "2024-07-01"}, {"expired"}),
        ({"source": None}, {"unsupported"}),
    ],
)
def test_what_a_hit_is_worth_has_its_signals(
    ledger: doxa.Ledger, fields: dict[str, Any], signals: set[str]
) -> None:
    said(ledger, "a", "word", recorded_at="2024-07-01", **fields)
    (hit,) = ask(ledger, validity_annotate=True, standing="any")
    assert hit.validity is not None
    assert {"freshness:1.000", "scope:exact", *signals} == set(hit.validity["signals"])


def test_where_and_by_whom_it_was_vouched_for_counts(ledger: doxa.Ledger) -> None:
    said(ledger, "plain", "word", recorded_at="2024-06-01")
    said(ledger, "verified", "word", recorded_at="2024-06-02")
    said(ledger, "two sources", "word", recorded_at="2024-06-03")
    ledger.support("two sources", source="t", recorded_at="2024-06-04")
    ledger.verify_claim("verified", recorded_at="2024-06-30")
    said(ledger, "shared", "word", recorded_at="2024-07-01")
    said(ledger, "own", "word", workspace="w", recorded_at="2024-07-02")
    view = ledger.view(valid_at="2024-07-01", workspace="w")
    found = {hit.id: hit.validity for hit in ask(ledger, view=view, validity_annotate=True)}
    told = {
        id: (each["provenance_class"], each["scope_match"]) for id, each in found.items() if each
    }
    assert told == {
        "plain": ("candidate", "global"),
        "verified": ("verified", "global"),
        "two sources": ("corroborated", "global"),
        "shared": ("candidate", "global"),
        "own": ("candidate", "exact"),
    }
    assert found["verified"] is not None
    assert found["verified"]["freshness"] == pytest.approx(0.5 ** (1 / 30))


def test_age_may_be_counted_from_the_recording_and_to_another_time(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", source=seen("01-01"), recorded_at="2024-06-01")
    for options, days in (
        ({}, 182),
        ({"freshness_from": "recorded"}, 30),
        ({"freshness_from": "recorded", "now": "2024-07-31"}, 60),
        ({"now": "2020-01-01"}, 0),
    ):
        (hit,) = ask(ledger, validity_annotate=True, **options)
        assert hit.validity is not None
        assert hit.validity["freshness"] == pytest.approx(0.5 ** (days / 30))


def test_a_superseded_hit_on_request_is_invalid_in_context_and_counted_once(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word", valid_to="2024-01-01", source=seen("07-01"))
    ledger.correct("a", valid_from=None, valid_to=None)
    (hit,) = ask(ledger, validity_annotate=True, standing="any")
    assert hit.validity is not None
    assert (hit.validity["superseded"], hit.validity["expired"]) == (True, True)
    assert hit.validity["multiplier"] == pytest.approx(hit.validity["freshness"] * 1.1 * 0.35)
