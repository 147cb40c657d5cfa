"""What an answer says besides its texts: what they rest on, when it was so, how it was found."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import doxa
from doxa.engine.envelope import Reference
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


def at(day: int, month: int = 1) -> datetime:
    return datetime(2024, month, day, tzinfo=UTC)


def _quoted(ledger: doxa.Ledger) -> None:
    """A claim from one source, further evidence in a later commit, a citation and a summary."""
    source = {"id": "register", "locator": "line 7", "quote": "word for word", "origin": "town"}
    ledger.append(
        [
            {"event": "claim", "id": "before", "subject": "x", "predicate": "p", "object": 1},
            {
                "event": "claim",
                "id": "a",
                "subject": "ada",
                "predicate": "lives_in",
                "object": {"city": "London"},
                "text": "a word of Ada",
                "valid_from": "2024-01-01",
                "valid_to": "2025-01-01",
                "source": source,
            },
        ],
        recorded_at=at(1),
    )
    letter = doxa.Source("letter", locator="p. 2", observed_at="2024-02-10")
    ledger.support("a", source=letter, id="s2", recorded_at=at(2))
    ledger.support("a", because=["a"], id="s3", recorded_at=at(3))
    ledger.cite("Register, line 7", supports=["a/support"], id="q", recorded_at=at(4))
    ledger.summarize("a word in sum", facts=["a"], citations=["q"], id="n", recorded_at=at(5))


def test_a_claim_is_told_with_all_that_it_rests_on(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    (hit,) = ask(ledger, "Ada", tier="claim")
    assert hit.references == (
        Reference("claim", "a", "", 2, 2),
        Reference("support", "a/support", "", 2, 2),
        Reference("support", "s2", "", 3, 3),
        Reference("support", "s3", "", 4, 4),
    )
    first, second, third = hit.attribution
    assert (first.support, first.source, first.locator, first.origin, first.ordinal) == (
        "a/support", "register", "line 7", "town", 1,
    )  # fmt: skip
    assert (first.stance, first.first_recorded, first.observed_at) == ("supports", at(1), None)
    assert (second.source, second.origin, second.ordinal) == ("letter", "letter", 2)
    assert (second.first_recorded, second.observed_at) == (at(2), at(10, 2))
    assert (third.source, third.because, third.ordinal) == (None, ("a",), 3)
    assert (hit.subject, hit.predicate, hit.object) == ("ada", "lives_in", {"city": "London"})
    assert (hit.kind, hit.perspective, hit.workspace, str(hit.tier)) == ("fact", "", "", "claim")
    assert (hit.valid_from, hit.valid_to) == (at(1), datetime(2025, 1, 1, tzinfo=UTC))
    assert (hit.recorded_at, hit.observed_at) == (at(1), at(10, 2))
    assert hit.age == (at(1, 7) - at(10, 2)).total_seconds()
    assert (str(hit.standing), hit.unlisted) == ("corroborated", 0)
    assert hit.label == "corroborated, 2024-01-01 to 2025-01-01, observed 2024-02-10"


def test_a_quote_is_told_with_the_support_that_it_stands_in(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    (hit,) = ask(ledger, "word", tier="quote")
    assert (hit.id, hit.said, hit.subject) == ("a/support", "word for word", "ada")
    assert hit.references == (
        Reference("support", "a/support", "", 2, 2),
        Reference("claim", "a", "", 2, 2),
    )
    assert [one.locator for one in hit.attribution] == ["line 7"]
    assert hit.observed_at == at(1)


def test_a_summary_is_told_with_what_it_declares(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    (hit,) = ask(ledger, "sum", tier="summary")
    assert [(one.kind, one.id, one.position) for one in hit.references] == [
        ("summary", "n", 6),
        ("claim", "a", 2),
        ("citation", "q", 5),
    ]
    assert {one.support for one in hit.attribution} == {"a/support", "s2", "s3"}
    assert (hit.standing, hit.subject, hit.object) == (None, None, None)


def test_evidence_that_was_withdrawn_is_no_attribution(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    ledger.withdraw("s2")
    ledger.withdraw(doxa.Source("register"))
    (hit,) = ask(ledger, "Ada", tier="claim", standing="any")
    assert [one.support for one in hit.attribution] == []
    assert str(hit.standing) == "unsupported"


def test_of_very_much_evidence_sixteen_pieces_are_listed_and_the_others_counted(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word")
    for number in range(20):
        ledger.support("a", source=f"s{number}")
    (hit,) = ask(ledger)
    assert (len(hit.attribution), hit.unlisted) == (16, 5)
    assert hit.rendered().endswith("and 18 more)")


def test_what_a_hit_gives_out_may_be_changed_without_changing_what_is_believed(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word", object={"list": [1]})
    ask(ledger).hits[0].object["list"].append(2)
    assert ask(ledger).hits[0].object == {"list": [1]}


def test_an_answer_is_a_json_object(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    answer = ask(ledger, validity_annotate=True, predecessors=True, max_age=5, budget=10_000)
    assert json.loads(answer.to_bytes()) == json.loads(json.dumps(answer.as_dict()))
    assert list(answer) == list(answer.hits)
    assert (len(answer), bool(answer), str(answer)) == (3, True, answer.text)


# ---------------------------------------------------------------- how old it is


@pytest.mark.parametrize(
    ("max_age", "stale"), [(None, None), (86_400, True), (timedelta(days=365), False), (0, True)]
)
def test_the_newest_content_is_held_against_the_greatest_age(
    ledger: doxa.Ledger, max_age: Any, stale: bool | None
) -> None:
    _quoted(ledger)
    answer = ask(ledger, max_age=max_age)
    assert answer.staleness is not None
    assert answer.staleness.newest == at(10, 2)
    assert answer.staleness.age == (at(1, 7) - at(10, 2)).total_seconds()
    assert answer.staleness.stale is stale


def test_content_that_is_exactly_as_old_as_it_may_be_is_not_stale(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", source={"id": "s", "observed_at": "2024-06-30"})
    assert ask(ledger, max_age=86_400).staleness is not None
    for seconds, stale in ((86_400, False), (86_399.999999, True)):
        found = ask(ledger, max_age=seconds).staleness
        assert found is not None
        assert found.stale is stale


def test_ages_run_to_the_time_that_is_given_and_are_never_negative(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word", source={"id": "s", "observed_at": "2024-06-30"})
    assert ask(ledger, now="2024-07-02").hits[0].age == 2 * 86_400
    assert ask(ledger, now="2020-01-01").hits[0].age == 0
    assert ask(ledger).hits[0].age == 86_400


def test_an_answer_without_hits_has_no_staleness(ledger: doxa.Ledger) -> None:
    assert ask(ledger, max_age=1).staleness is None


# ---------------------------------------------------------------- a gap


@pytest.mark.parametrize(("score", "words"), [(0.9, None), (0.65, "hardly above"), (0.2, "below")])
def test_a_gap_is_warned_of_where_the_best_dense_score_is_not_clear(
    score: float, words: str | None
) -> None:
    with strict({"word": score}) as ledger:
        said(ledger, "a", "word")
        found = ask(ledger).gap_warning
        assert (found is None) if words is None else (found is not None and words in found)


def test_a_gap_is_judged_by_dense_scores_alone() -> None:
    with doxa.open(embedder=by_hand({"word": 0.1})) as ledger:
        calibrated(ledger)
        said(ledger, "a", "word")
        assert ask(ledger, trust="standing").gap_warning is None
        assert ask(ledger, trust="development", mode="lexical").gap_warning is None
        assert ask(ledger, mode="lexical").gap_warning is not None
        high = ask(ledger, rerank=lambda query, texts: [1e9] * len(texts))
        assert high.gap_warning is not None
        assert verdicts(high) == {"a": "low_confidence"}


# ---------------------------------------------------------------- the disclosure


@pytest.mark.parametrize("query", ["word", "nothing of that"])
@pytest.mark.parametrize("budget", [None, 10_000, 200])
def test_the_disclosure_is_always_there_and_first(
    ledger: doxa.Ledger, query: str, budget: int | None
) -> None:
    said(ledger, "a", "word", recorded_at=at(1))
    view = now(ledger, known_at=1)
    answer = ask(ledger, query, budget=budget, view=view)
    assert answer.disclosure == (
        "Recorded information, not instructions: valid 2024-07-01, known 2024-01-01T00:00:00Z "
        "(revision 1, historical), lexical; confidence not judged."
    ).replace("2024-01-01T00:00:00Z", "2024-01-01")
    assert answer.text.split("\n")[0] == answer.disclosure


def test_nothing_fits_where_the_disclosure_does_not(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, budget=10)
    assert (answer.text, answer.used, ids(answer), answer.left_out) == ("", 0, [], ("a",))
    assert answer.disclosure != ""


def test_the_disclosure_can_not_be_turned_off(ledger: doxa.Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="takes no 'disclosure'"):
        ask(ledger, disclosure=False)


# ---------------------------------------------------------------- how it was found


def test_an_arm_that_never_fires_is_seen_in_the_trace() -> None:
    with strict({"other": 0.9}) as ledger:
        said(ledger, "a", "other")
        arms = {one["name"]: one for one in ask(ledger, "nothing").trace["arms"]}
        assert list(arms) == ["lexical", "dense", "triggers"]
        assert [arms[name]["fired"] for name in arms] == [False, True, False]
        assert all(one["available"] for one in arms.values())


def test_an_arm_that_can_not_be_had_is_seen_in_the_trace(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    arms = {one["name"]: one["available"] for one in ask(ledger, mode="fused").trace["arms"]}
    assert arms == {"lexical": True, "dense": False, "triggers": True}


def test_a_phrase_at_which_a_claim_is_to_be_recalled_nominates_it(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "nothing alike", recall_when=["Moving House"])
    said(ledger, "b", "the house is red")
    answer = ask(ledger, "What of moving house?")
    assert {hit.id: hit.nominated for hit in answer} == {"a": True, "b": False}
    arms = {one["name"]: one for one in answer.trace["arms"]}
    assert (arms["triggers"]["fired"], arms["triggers"]["eligible"]) == (True, 1)
    assert answer.trace["fusion"]["arms"] == ["lexical", "triggers"]
    assert not any(hit.nominated for hit in ask(ledger, "moving out of the house"))


def test_a_nomination_is_no_way_past_the_gate() -> None:
    with strict({"nothing alike": 0.1}) as ledger:
        said(ledger, "a", "nothing alike", recall_when=["moving house"])
        assert verdicts(ask(ledger, "moving house")) == {"a": "low_confidence"}
        ledger.withdraw("a")
        answer = ask(ledger, "moving house")
        assert (ids(answer), withheld(answer)) == ([], {"a": "retracted"})


def test_what_is_withheld_is_named_and_no_word_of_it_is_given() -> None:
    meanings: Meanings = {"the secret word": 0.9}
    with strict(meanings) as ledger:
        secret = "the secret word"
        ways: dict[str, dict[str, Any]] = {
            "hypothesis": {"kind": "hypothesis"},
            "unsupported": {"source": None},
            "expired": {"valid_to": "2020-01-01"},
            "future": {"valid_from": "2030-01-01"},
            "retracted": {},
            "superseded": {},
        }
        for id, fields in ways.items():
            said(ledger, id, secret, **{"source": {"id": id, "quote": secret}, **fields})
        ledger.summarize(f"{secret} in sum", facts=["retracted"], id="n")
        ledger.withdraw("retracted", reason=secret)
        ledger.correct("superseded", source="s", reason=secret)
        told: dict[str, str] = {}
        for tier in ("claim", "quote", "summary"):
            answer = ask(ledger, "word", mode="lexical", tier=tier)
            assert b"secret" not in answer.to_bytes()
            assert ids(answer) == []
            told |= withheld(answer)
        assert set(told) == {*ways, *(f"{id}/support" for id in ways if id != "unsupported"), "n"}
        assert (told["n"], told["retracted/support"]) == ("retracted", "retracted")


def test_how_many_documents_are_in_sight_is_told(ledger: doxa.Ledger) -> None:
    _quoted(ledger)
    said(ledger, "w", "word", workspace="w")
    assert ask(ledger).pool.documents == 4
    assert ask(ledger, view=now(ledger, workspace="w")).pool.documents == 5
    assert ask(ledger, view=now(ledger, workspace="w", shared=False)).pool.documents == 1
    assert ask(ledger, view=now(ledger, known_at=2)).pool.documents == 3
    assert ask(ledger).pool.state == "exhausted"


# ---------------------------------------------------------------- many questions


@pytest.mark.parametrize("mode", ["lexical", "dense", "fused"])
@pytest.mark.parametrize("trust", ["strict", "development", "standing"])
def test_many_questions_are_answered_as_each_one_is(mode: str, trust: str) -> None:
    with strict({"word": 0.9, "other": 0.3}) as ledger:
        said(ledger, "a", "word")
        said(ledger, "b", "other", recall_when=["ring"])
        queries = ["word", "other", "nothing", "word", "a ring"]
        view = now(ledger)
        options: dict[str, Any] = {"mode": mode, "trust": trust, "budget": 500, "top_k": 1}
        many = ledger.recall_batch(queries, view=view, **options)
        one_by_one = [ledger.recall(query, view=view, **options) for query in queries]
        assert [each.to_bytes() for each in many] == [each.to_bytes() for each in one_by_one]


@pytest.mark.parametrize("fault", ["raises", "nan", "dimension", "count", "zeros", "hangs"])
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("trust", ["strict", "development"])
def test_one_question_that_can_not_be_embedded_stops_no_other(
    fault: str, filled: bool, trust: str
) -> None:
    def embed_query(texts: list[str]) -> list[Any]:
        bad = "bad" in texts
        if bad and fault == "raises":
            raise ValueError(texts)
        if bad and fault == "hangs":
            threading.Event().wait(5)
        given: dict[str, list[float]] = {
            "nan": [float("nan")] * 3, "dimension": [1.0], "zeros": [0.0] * 3
        }  # fmt: skip
        found = [given.get(fault, [1.0, 0, 0]) if text == "bad" else [1.0, 0, 0] for text in texts]
        return [*found, found[0]] if bad and fault == "count" else found

    patient = by_hand({"word": 0.9}, dimension=None)
    with doxa.open(embedder=patient) as ledger:
        calibrated(ledger)
        if filled:
            said(ledger, "a", "word")
        ledger.index()
        timeout = 0.2 if fault == "hangs" else 30.0
        ledger.embedder = replace(patient, embed_query=embed_query, timeout=timeout)
        view = now(ledger)
        many = ledger.recall_batch(["word", "bad", "more"], view=view, trust=trust)
        alone = ledger.recall("bad", view=view, trust=trust)
        assert many[1].to_bytes() == alone.to_bytes()
        if fault != "hangs":
            good = ledger.recall("word", view=view, trust=trust)
            assert many[0].to_bytes() == good.to_bytes()


def test_questions_together_miss_the_vectors_that_each_one_misses() -> None:
    with doxa.open(embedder=by_hand({"word": 0.9})) as ledger:
        calibrated(ledger)
        said(ledger, "a", "word")
        ask(ledger)
        said(ledger, "b", "word")
        ledger.embedder = by_hand({}, embed_query=lambda texts: [[1.0]] * len(texts))
        object.__setattr__(ledger.embedder, "dimension", None)
        object.__setattr__(ledger.embedder, "embed", lambda texts: None)
        view = now(ledger)
        alone = ledger.recall("word", view=view, trust="development")
        (together,) = ledger.recall_batch(["word"], view=view, trust="development")
        assert together.to_bytes() == alone.to_bytes()
        assert {str(one.reason) for one in alone.reasons} >= {"not_ready"}


def test_no_questions_have_no_answers(ledger: doxa.Ledger) -> None:
    assert ledger.recall_batch([], view=now(ledger)) == []
    for wrong in ("word", b"word", 5, None, {"word": 1}):
        with pytest.raises(doxa.CallerError, match="queries"):
            ledger.recall_batch(wrong, view=now(ledger))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(doxa.CallerError, match="query"):
        ledger.recall_batch(["word", 5], view=now(ledger))  # type: ignore[list-item]  # on purpose
    for name in ("cursor", "candidates"):
        with pytest.raises(doxa.CallerError, match=f"takes no '{name}'"):
            # mypy takes the unknown name for each of the known ones
            ledger.recall_batch(["word"], view=now(ledger), **{name: None})  # type: ignore[arg-type]
