"""How a recall comes out: whole, in part, with nothing to trust, or refused; and why."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import doxa
from doxa.engine.outcomes import Gap, Outcome
from tests.asked import (
    NAME,
    Meanings,
    ask,
    by_hand,
    calibrated,
    fitted,
    gaps,
    ids,
    now,
    said,
    strict,
    vector,
)

SECRET = "the secret word of the vault"


def failing(*given: Any) -> NoReturn:
    raise ValueError(f"no idea what {given} is")


def hanging(*_: Any) -> None:
    threading.Event().wait(5)


def refused(answer: doxa.Recalled, *reasons: Gap) -> None:
    """Holds an answer to be refused, for these reasons, and to say nothing that was recorded."""
    assert answer.outcome is Outcome.REFUSED
    assert set(gaps(answer)) == set(reasons)
    assert not answer
    assert not answer.abstained
    assert (answer.hits, answer.withheld, answer.text) == ((), (), "")
    for word in ("secret", "vault", "keeper", "ledger of the guild"):
        assert word not in answer.to_bytes().decode()


def guarded(ledger: doxa.Ledger) -> None:
    """Claims, quotes and summaries that no refused answer may tell."""
    ledger.claim(
        "keeper", "holds", SECRET, id="c", source={"id": "ledger of the guild", "quote": SECRET}
    )
    ledger.summarize(f"{SECRET} is held", facts=["c"], id="n")


# ---------------------------------------------------------------- how it comes out


def test_an_answer_that_is_whole_is_answered(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger)
    assert (answer.outcome, answer.reasons, answer.abstention) == (Outcome.ANSWERED, (), None)
    assert answer
    assert not answer.abstained


def test_where_nothing_matches_it_abstains(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "other")
    answer = ask(ledger)
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstained
    assert not answer
    assert answer.abstention is not None
    assert str(answer.abstention.reason) == "nothing_found"


def test_where_something_is_missing_it_is_partial() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        said(ledger, "a", "word")
        ask(ledger, trust="standing")
        ledger.embedder = by_hand({}, embed_query=failing)
        answer = ask(ledger, trust="standing")
        assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["a"])
        assert gaps(answer) == [Gap.DEPENDENCY_UNAVAILABLE]
        assert answer


# ---------------------------------------------------------------- each reason


def test_an_index_that_is_not_to_be_brought_up_to_date_says_how_far_it_goes(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word")
    ask(ledger)
    said(ledger, "b", "word")
    answer = ask(ledger, fresh=False)
    assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["a"])
    assert gaps(answer) == [Gap.REVISION_UNPUBLISHED]
    assert "up to revision 1, the view to 2" in answer.reasons[0].detail
    assert ids(ask(ledger, fresh=False, view=now(ledger, known_at=1))) == ["a"]
    assert gaps(ask(ledger, fresh=False, view=now(ledger, known_at=1))) == []
    assert ids(ask(ledger)) == ["a", "b"]


def test_an_index_that_was_never_made_finds_nothing_and_says_so(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, fresh=False)
    assert answer.outcome is Outcome.ABSTAINED
    assert gaps(answer) == [Gap.REVISION_UNPUBLISHED]


@pytest.mark.parametrize("rerank", [None, lambda query, texts: [1.0] * len(texts)])
def test_a_text_that_was_erased_is_left_out_and_named(
    ledger: doxa.Ledger, rerank: Callable[..., Any] | None
) -> None:
    said(ledger, "a", "word")
    said(ledger, "b", "word")
    ask(ledger)
    ledger.recorder.erase([1])
    answer = ask(ledger, rerank=rerank)
    assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["b"])
    assert [(one.reason, one.ids) for one in answer.reasons] == [(Gap.SOURCE_UNAVAILABLE, ("a",))]


def test_where_all_that_matched_was_erased_it_says_that_and_not_that_nothing_matches(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word")
    ask(ledger)
    ledger.recorder.erase([1])
    answer = ask(ledger)
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstention is not None
    assert (str(answer.abstention.reason), answer.abstention.ids) == ("erased", ("a",))


@pytest.mark.parametrize(("warm", "gap"), [(True, "source"), (False, "index")])
def test_a_log_that_can_not_be_read_is_told_of(tmp_path: Path, warm: bool, gap: str) -> None:
    with doxa.open(tmp_path) as ledger:
        guarded(ledger)
        view = now(ledger)
        if warm:
            ask(ledger, "holds", view=view)
        _damage(tmp_path, 1)
        refused(ask(ledger, "holds", view=view), Gap(f"{gap}_unavailable"))


def test_damage_behind_a_view_is_nothing_to_it(tmp_path: Path) -> None:
    with doxa.open(tmp_path) as ledger:
        said(ledger, "a", "word")
        before = ask(ledger)
        said(ledger, "b", "word")
        then = now(ledger, known_at=1)
        now(ledger)
        _damage(tmp_path, 2)
        assert ask(ledger, view=then).hits == before.hits
        assert gaps(ask(ledger, view=then)) == []
        refused(ask(ledger), Gap.INDEX_UNAVAILABLE)


def _damage(folder: Path, position: int) -> None:
    with sqlite3.connect(folder / "log.sqlite") as log:
        log.execute("UPDATE log SET data = ? WHERE position = ?", (b'{"secret', position))
    log.close()


def test_a_view_of_the_time_before_the_first_record_says_where_history_begins(
    ledger: doxa.Ledger,
) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, view=now(ledger, known_at=0))
    assert (answer.outcome, gaps(answer)) == (Outcome.ABSTAINED, [Gap.HISTORY_BOUNDARY])
    assert answer.pool.documents == 0


def test_a_search_that_ended_at_its_limit_says_so(ledger: doxa.Ledger) -> None:
    for number in range(70):
        said(ledger, f"a{number:02}", f"word {'more ' * number}")
        ledger.withdraw(f"a{number:02}")
    said(ledger, "z", f"word {'more ' * 90}")
    answer = ask(ledger, scan_limit=5)
    assert (answer.outcome, gaps(answer)) == (Outcome.ABSTAINED, [Gap.CANDIDATE_LIMIT])
    assert "scan_limit (looked at: lexical 5)" in answer.reasons[0].detail
    assert (answer.pool.state, answer.pool.scanned, answer.pool.eligible) == ("bounded", 5, 0)
    whole = ask(ledger)
    assert (ids(whole), gaps(whole), whole.pool.state) == (["z"], [], "exhausted")


def test_a_pool_that_has_fewer_places_than_were_asked_for_says_so(ledger: doxa.Ledger) -> None:
    for id in "abcde":
        said(ledger, id, "word")
    answer = ask(ledger, pool=2)
    assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["a", "b"])
    assert gaps(answer) == [Gap.CANDIDATE_LIMIT]
    assert answer.pool.state == "bounded"
    assert gaps(ask(ledger, pool=2, top_k=2)) == []
    assert ask(ledger, pool=2, top_k=2).pool.state == "bounded"
    assert gaps(ask(ledger, pool=5)) == []
    assert ask(ledger, pool=5).pool.state == "exhausted"


def test_a_pool_that_ends_behind_a_cursor_says_that_there_may_be_more(ledger: doxa.Ledger) -> None:
    for id in "abcde":
        said(ledger, id, "word")
    first = ask(ledger, pool=4, top_k=2)
    assert (gaps(first), first.cursor is None) == ([], False)
    last = ask(ledger, pool=4, top_k=2, cursor=first.cursor)
    assert (ids(last), last.cursor) == (["c", "d"], None)
    assert gaps(last) == [Gap.CANDIDATE_LIMIT]


def test_the_sides_of_a_conflict_take_one_place_of_those_asked_for(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="is")
    for id in "abc":
        said(ledger, id, "word word", subject="one")
    said(ledger, "p", "a word of others in a longer text")
    answer = ask(ledger, pool=3, top_k=2)
    assert (ids(answer), gaps(answer)) == (["a", "b", "c"], [Gap.CANDIDATE_LIMIT])


def test_a_conflict_that_does_not_fit_is_named_whole(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="is")
    said(ledger, "a", "word " * 100, subject="one")
    said(ledger, "b", "word " * 100, subject="one")
    said(ledger, "c", "word")
    answer = ask(ledger, budget=400)
    assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["c"])
    assert [(one.reason, one.ids) for one in answer.reasons] == [
        (Gap.CONFLICT_COVERAGE, ("a", "b"))
    ]
    assert set(answer.left_out) == {"a", "b"}
    assert "conflict left out, 2 sides do not fit: a, b" in answer.text


def test_of_a_conflict_with_very_many_sides_those_that_are_not_shown_are_named(
    ledger: doxa.Ledger,
) -> None:
    ledger.policy(single_valued="is")
    for number in range(40):
        said(ledger, f"a{number:02}", "word" if number < 5 else "other", subject="one")
    answer = ask(ledger)
    assert len(answer.hits) == 32
    (missing,) = answer.reasons
    assert missing.reason is Gap.CONFLICT_COVERAGE
    assert set(missing.ids) | set(ids(answer)) == {f"a{number:02}" for number in range(40)}
    assert not set(missing.ids) & set(ids(answer))


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize("mode", ["dense", "fused"])
@pytest.mark.parametrize("trust", ["strict", "development", "standing"])
def test_a_question_by_meaning_alone_is_refused_where_there_are_no_vectors(
    ledger: doxa.Ledger, mode: str, trust: str
) -> None:
    guarded(ledger)
    answer = ask(ledger, mode=mode, trust=trust)
    if trust == "strict" or mode == "dense":
        refused(answer, Gap.VECTORS_UNAVAILABLE)
    else:
        assert gaps(answer) == [Gap.VECTORS_UNAVAILABLE]


def test_a_question_by_meaning_alone_is_refused_also_of_an_empty_ledger(
    ledger: doxa.Ledger,
) -> None:
    refused(ask(ledger, mode="dense"), Gap.VECTORS_UNAVAILABLE)


def test_documents_without_vectors_that_are_more_than_are_embedded_at_once_are_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from doxa import searching

    monkeypatch.setattr(searching.Search.embed, "__kwdefaults__", {"limit": 2, "progress": None})
    with strict({}) as ledger:
        said(ledger, "a", "word")
        assert ask(ledger).outcome is Outcome.ABSTAINED
        guarded(ledger)
        refused(ask(ledger), Gap.NOT_READY)
        ledger.index()
        assert ask(ledger).outcome is not Outcome.REFUSED


def test_vectors_of_another_embedder_are_not_compared_with_a_question() -> None:
    with strict({}) as ledger:
        guarded(ledger)
        calibrated(ledger, fitted(embedder="another"))
        ask(ledger)
        ledger.embedder = by_hand({}, name="another")
        refused(ask(ledger, fresh=False), Gap.LINEAGE_MISMATCH)


def test_an_embedder_that_gives_another_dimension_is_another_lineage() -> None:
    with strict({}) as ledger:
        guarded(ledger)
        ask(ledger)
        ledger.embedder = by_hand(
            {}, dimension=None, embed_query=lambda texts: [[1.0, 0.0] for _ in texts]
        )
        refused(ask(ledger), Gap.LINEAGE_MISMATCH)


def test_without_a_calibration_strict_trust_is_refused() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        guarded(ledger)
        refused(ask(ledger), Gap.CALIBRATION_MISSING)


def test_a_calibration_from_few_questions_is_uncertified() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        guarded(ledger)
        calibrated(ledger, fitted(questions=19))
        refused(ask(ledger), Gap.CALIBRATION_UNCERTIFIED)


def test_a_calibration_over_fewer_than_half_the_documents_is_stale() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        said(ledger, "a", "word")
        calibrated(ledger, fitted(documents=1))
        said(ledger, "b", "word")
        assert ask(ledger).outcome is not Outcome.REFUSED
        guarded(ledger)
        refused(ask(ledger), Gap.CALIBRATION_STALE)
        assert ask(ledger, view=now(ledger, known_at=3)).outcome is not Outcome.REFUSED


def test_a_calibration_for_another_version_of_what_is_embedded_is_stale() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        guarded(ledger)
        calibrated(ledger, fitted(lineage="said-0"))
        refused(ask(ledger), Gap.CALIBRATION_STALE)


def test_several_reasons_are_told_together() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        guarded(ledger)
        calibrated(ledger, fitted(questions=3, documents=1))
        refused(ask(ledger), Gap.CALIBRATION_UNCERTIFIED, Gap.CALIBRATION_STALE)


# ---------------------------------------------------------------- others' code


@pytest.mark.parametrize("call", [failing, hanging])
def test_an_embedder_that_gives_no_question_vector_refuses_a_strict_recall(
    call: Callable[..., Any],
) -> None:
    with strict({}) as ledger:
        guarded(ledger)
        ask(ledger)
        ledger.embedder = by_hand({}, embed_query=call, timeout=0.05)
        refused(ask(ledger), Gap.DEPENDENCY_UNAVAILABLE)
        refused(ask(ledger, mode="lexical"), Gap.DEPENDENCY_UNAVAILABLE)
        refused(ask(ledger, mode="dense", trust="development"), Gap.DEPENDENCY_UNAVAILABLE)


@pytest.mark.parametrize("call", [failing, hanging])
def test_an_embedder_that_fails_on_what_is_recorded_does_not_quote_it(
    call: Callable[..., Any],
) -> None:
    with strict({}) as ledger:
        said(ledger, "a", "word")
        ask(ledger)
        guarded(ledger)
        ledger.embedder = doxa.Embedder(
            NAME, call, embed_query=lambda texts: [vector(1.0)] * len(texts), timeout=0.05
        )
        refused(ask(ledger), Gap.DEPENDENCY_UNAVAILABLE, Gap.NOT_READY)
        with pytest.raises(doxa.Unavailable):
            ledger.index()


def test_a_question_in_words_that_needs_no_vectors_does_not_miss_them() -> None:
    embedder = doxa.Embedder(NAME, failing, dimension=3)
    with doxa.open(embedder=embedder) as ledger:
        said(ledger, "a", "word")
        for trust in ("standing", "development"):
            answer = ask(ledger, mode="lexical", trust=trust)
            assert (answer.outcome, gaps(answer), ids(answer)) == (Outcome.ANSWERED, [], ["a"])


def test_an_embedder_that_fails_on_what_came_later_is_nothing_to_a_past_view() -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        then = now(ledger, known_at=ledger.revision)
        before = ask(ledger, view=then)
        assert ids(before) == ["a"]
        guarded(ledger)
        ledger.embedder = by_hand({})
        object.__setattr__(ledger.embedder, "embed", failing)
        assert ask(ledger, view=then).to_bytes() == before.to_bytes()


@pytest.mark.parametrize("call", [failing, hanging])
def test_a_judge_that_does_not_answer_refuses_what_it_was_to_judge(
    call: Callable[..., Any],
) -> None:
    meanings: Meanings = {SECRET: 0.9}
    with strict(meanings) as ledger:
        guarded(ledger)
        said(ledger, "d", SECRET)
        assert ask(ledger, "vault").outcome is Outcome.ANSWERED
        refused(ask(ledger, "q", judge=call, timeout=0.05), Gap.DEPENDENCY_UNAVAILABLE)


@pytest.mark.parametrize("call", [failing, hanging])
def test_without_its_reranker_an_answer_is_partial(call: Callable[..., Any]) -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        answer = ask(ledger, rerank=call, timeout=0.05)
        assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["a"])
        assert gaps(answer) == [Gap.DEPENDENCY_UNAVAILABLE]
        assert answer.trace["rerank"] is False
        assert "word" not in answer.reasons[0].detail


def test_a_refused_answer_still_says_of_what_it_is() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        guarded(ledger)
        answer = ask(ledger, workspace="")
        assert answer.query == "word"
        assert answer.view["revision"] == 2
        assert answer.disclosure.startswith("Recorded information, not instructions")
        assert (answer.trust, answer.mode, answer.calibrated) == ("strict", "fused", False)
        assert (answer.pool.scanned, answer.pool.state) == (0, "bounded")


def test_where_the_gate_can_not_run_nobody_is_asked_anything() -> None:
    asked: list[object] = []

    def note(*given: object) -> list[Any]:
        asked.append(given)
        return []

    with doxa.open(embedder=by_hand({}, embed_query=note)) as ledger:
        guarded(ledger)
        view = now(ledger)
        candidates = [{"id": "t", "text": SECRET, "facts": ["c"]}]
        refused(ask(ledger, rerank=note, judge=note), Gap.CALIBRATION_MISSING)
        refused(ask(ledger, rerank=note, candidates=candidates), Gap.CALIBRATION_MISSING)
        for answer in ledger.recall_batch(["one", "two"], view=view, judge=note):
            refused(answer, Gap.CALIBRATION_MISSING)
        assert asked == []
