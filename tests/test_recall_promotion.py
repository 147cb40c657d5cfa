"""What replaced a superseded claim that would have been the answer: brought in, lifted, ordered."""

from __future__ import annotations

import pytest

import doxa
from doxa.engine.outcomes import Outcome, Verdict
from tests.asked import (
    Meanings,
    ask,
    by_hand,
    calibrated,
    ids,
    now,
    said,
    strict,
    verdicts,
    withheld,
)

OLD, NEW = "the old word", "what it is today"


def _replaced(ledger: doxa.Ledger, id: str = "new", text: str = NEW, **fields: object) -> None:
    """A claim "old", and what replaced it."""
    said(ledger, "old", OLD)
    said(ledger, id, text, **fields)
    ledger.correct("old", by=id, id="k")


@pytest.mark.parametrize("mode", ["dense", "fused", "lexical"])
def test_what_replaced_the_confident_answer_is_lifted_to_ok(mode: str) -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        answer = ask(ledger, "old word", mode=mode)
        assert verdicts(answer) == {"new": "ok"}
        assert withheld(answer) == {"old": "superseded"}
        (hit,) = answer
        assert (hit.promoted_from, hit.text) == ("old", NEW)
        assert answer.trace["promoted"] == ["new"]
        assert answer.outcome is Outcome.ANSWERED


def test_a_promoted_hit_keeps_its_own_score_and_confidence() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        (hit,) = ask(ledger, "old word", mode="dense")
        assert hit.score == pytest.approx(0.2, abs=1e-6)
        assert hit.scores["dense"] == pytest.approx(0.2, abs=1e-6)
        assert hit.confidence is not None
        assert hit.confidence < 0.5


def test_what_replaced_it_is_fetched_by_its_id_where_no_arm_found_it() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        for number in range(4):
            said(ledger, f"a{number}", "filler")
        (hit,) = [hit for hit in ask(ledger, "old", mode="lexical") if hit.id == "new"]
        assert (hit.fetched, hit.scores["lexical"], hit.score) == ("promotion", None, 0.0)
        assert hit.verdict is Verdict.OK
        by_meaning = ask(ledger, "old", mode="dense", pool=1)
        assert {hit.id: hit.fetched for hit in by_meaning}["new"] is None


def test_a_contested_successor_is_brought_in_and_never_lifted() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        ledger.support("new", source="t", stance="refutes", id="r")
        answer = ask(ledger, "old word")
        assert verdicts(answer) == {"new": "contested", "r": "contested"}
        assert answer.trace["promoted"] == []
        assert answer.outcome is Outcome.ABSTAINED


def test_a_successor_that_may_be_superseded_itself_is_never_lifted() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        said(ledger, "other", "nothing")
        fields = {"unresolved": "it", "candidates": ["new", "other"]}
        ledger.append([{"event": "correction", "id": "u", **fields}])
        answer = ask(ledger, "old word", subject="subject of new")
        assert verdicts(answer) == {"new": "ambiguous_supersession"}
        assert answer.trace["promoted"] == []


def test_a_superseded_claim_that_would_not_have_been_the_answer_lifts_nothing() -> None:
    with strict({OLD: 0.49, NEW: 0.2}) as ledger:
        _replaced(ledger)
        answer = ask(ledger, "old word")
        assert verdicts(answer) == {"new": "low_confidence"}
        assert [hit.promoted_from for hit in answer] == [None]
        assert answer.outcome is Outcome.ABSTAINED


def test_a_claim_that_was_replaced_by_nothing_lifts_nothing() -> None:
    with strict({OLD: 0.9}) as ledger:
        said(ledger, "old", OLD)
        ledger.correct("old", id="k")
        answer = ask(ledger, "old word")
        assert (ids(answer), withheld(answer)) == ([], {"old": "superseded"})
        assert answer.abstention is not None
        assert answer.abstention.detail == '"old" is superseded, by nothing'


def test_a_chain_of_corrections_leads_to_its_end() -> None:
    with strict({OLD: 0.9, NEW: 0.1}) as ledger:
        said(ledger, "old", OLD)
        for number, id in enumerate(("mid", "late", "new")):
            said(ledger, id, NEW if id == "new" else f"in between {number}")
        for one, other in (("old", "mid"), ("mid", "late"), ("late", "new")):
            ledger.correct(one, by=other)
        answer = ask(ledger, "old word", predecessors=True)
        assert verdicts(answer) == {"new": "ok"}
        assert [hit.promoted_from for hit in answer] == ["old"]
        assert [hit.predecessors for hit in answer] == [("old", "mid", "late")]
        assert {one.id: one.successors for one in answer.withheld}["old"] == ("new",)
        assert [hit.predecessors for hit in ask(ledger, "old word")] == [None]


def test_all_successors_of_a_claim_that_was_split_are_lifted() -> None:
    with strict({OLD: 0.9, "east": 0.1, "west": 0.2}) as ledger:
        said(ledger, "old", OLD)
        for id in ("east", "west"):
            said(ledger, id, id)
            ledger.correct("old", by=id)
        answer = ask(ledger, "old word")
        assert verdicts(answer) == {"west": "ok", "east": "ok"}
        assert ids(answer) == ["west", "east"]
        assert {hit.promoted_from for hit in answer} == {"old"}


def test_the_quote_of_a_superseded_claim_lifts_what_replaced_it() -> None:
    with strict({"a quoted word": 0.9, NEW: 0.2}) as ledger:
        said(ledger, "old", OLD, source={"id": "s", "quote": "a quoted word"})
        said(ledger, "new", NEW)
        ledger.correct("old", by="new")
        answer = ask(ledger, "word")
        assert verdicts(answer) == {"new": "ok"}
        assert [hit.promoted_from for hit in answer] == ["old/support"]


def test_a_successor_that_may_not_be_served_is_not_brought_in() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger, source=None)
        answer = ask(ledger, "old word")
        assert (ids(answer), answer.outcome) == ([], Outcome.ABSTAINED)
        assert withheld(answer) == {"new": "unsupported", "old": "superseded"}


def test_filters_hold_for_what_is_brought_in_too() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        assert ids(ask(ledger, "old word", subject="subject of old")) == []
        assert ids(ask(ledger, "old word", tier="quote")) == []


def test_what_was_superseded_comes_behind_what_is_valid_whatever_its_score() -> None:
    with strict({OLD: 0.95, NEW: 0.2, "another word": 0.6}) as ledger:
        _replaced(ledger)
        said(ledger, "other", "another word")
        answer = ask(ledger, "word", standing="any", mode="dense")
        assert list(verdicts(answer).items()) == [
            ("other", "ok"),
            ("new", "ok"),
            ("old", "superseded"),
        ]


def test_however_much_better_withdrawn_claims_match_what_was_replaced_lifts() -> None:
    meanings: Meanings = {OLD: 0.9, NEW: 0.2}
    with strict(meanings) as ledger:
        _replaced(ledger)
        for number in range(12):
            meanings[f"gone {number}"] = 0.99
            said(ledger, f"a{number}", f"gone {number}")
            ledger.withdraw(f"a{number}")
        answer = ask(ledger, "word", mode="dense")
        assert verdicts(answer) == {"new": "ok"}
        assert len(answer.withheld) == 10


def test_by_standing_alone_what_replaced_a_match_is_brought_in(ledger: doxa.Ledger) -> None:
    _replaced(ledger)
    answer = ask(ledger, "old word")
    assert verdicts(answer) == {"new": "unverified"}
    assert [(hit.fetched, hit.promoted_from) for hit in answer] == [("promotion", "old")]


def test_what_replaced_it_in_part_is_brought_in_where_it_did(ledger: doxa.Ledger) -> None:
    said(ledger, "old", OLD)
    ledger.correct("old", "new", text=NEW, valid_from="2024-06-01", source="s", id="k")
    assert ids(ask(ledger, "old word")) == ["k/replacement"]
    before = now(ledger, valid_at="2024-05-01")
    assert ids(ask(ledger, "old word", view=before)) == ["old"]


def test_a_judge_is_asked_about_what_was_lifted_too() -> None:
    with strict({OLD: 0.9, NEW: 0.2}) as ledger:
        _replaced(ledger)
        answer = ask(ledger, "old word", judge=lambda query, texts: [False] * len(texts))
        assert verdicts(answer) == {"new": "not_entailed"}


def test_at_a_time_before_the_correction_was_known_the_old_is_the_answer() -> None:
    with doxa.open(embedder=by_hand({OLD: 0.9, NEW: 0.2})) as ledger:
        calibrated(ledger)
        said(ledger, "old", OLD)
        then = now(ledger, known_at=ledger.revision)
        before = ask(ledger, "old word", view=then)
        said(ledger, "new", NEW)
        ledger.correct("old", by="new")
        assert verdicts(ask(ledger, "old word")) == {"new": "ok"}
        assert ask(ledger, "old word", view=then).to_bytes() == before.to_bytes()
        assert verdicts(before) == {"old": "ok"}
