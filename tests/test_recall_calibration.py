"""What a recall's confidence rests on: calibrations that count, that do not, and that lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.engine.outcomes import Gap, Outcome
from tests.asked import (
    Meanings,
    ask,
    by_hand,
    calibrated,
    fitted,
    gaps,
    now,
    said,
    strict,
    verdicts,
)


def _lying(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    recorded = fitted().as_json()
    change(recorded)
    return recorded


LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a lower boundary": lambda said: said.update(boundary=-1.0),
    "another scale": lambda said: said.update(scale=0.5),
    "no id": lambda said: said.pop("id"),
    "another id": lambda said: said.update(id="calibration-0"),
    "another method": lambda said: said.update(method="trust-me-v1"),
    "a boundary out of range": lambda said: said.update(boundary=-2),
    "a boundary that is no number": lambda said: said.update(boundary="low"),
    "a boundary that is true": lambda said: said.update(boundary=True),
    "an enormous boundary": lambda said: said.update(boundary=10**400),
    "no boundary": lambda said: said.pop("boundary"),
    "a scale of nothing": lambda said: said.update(scale=0),
    "one question": lambda said: said.update(answerable=1),
    "a negative count": lambda said: said.update(unanswerable=-20),
    "a certificate that it has not": lambda said: said.update(auc=0.5),
    "a list held out": lambda said: said.update(held_out=[]),
    "more wrong than there are": lambda said: said["held_out"].update(wrongly_confident=5),
    "a key of its own": lambda said: said.update(extra=1),
    "another dimension": lambda said: said.update(dimension=4),
    "deep nesting": lambda said: said.update(held_out=json.loads("[" * 50 + "]" * 50)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_calibration_that_lies_is_never_applied(lie: str) -> None:
    with doxa.open(embedder=by_hand({"word": 0.1})) as ledger:
        said(ledger, "a", "word")
        try:
            ledger.policy(calibrated=_lying(LIES[lie]), id="lie")
        except doxa.CallerError:
            return  # it does not even get in
        answer = ask(ledger)
        assert (answer.outcome, gaps(answer)) == (Outcome.REFUSED, [Gap.CALIBRATION_MISSING])
        for trusting in ({}, {"calibration": "lie"}):
            answer = ask(ledger, trust="development", **trusting)
            assert (answer.calibrated, answer.calibration) == (False, None)
            assert verdicts(answer) == {"a": "unverified"}
        assert ledger.calibration(now(ledger)) is None


def test_an_imported_calibration_that_lies_is_not_applied_either(tmp_path: Path) -> None:
    line = {"event": "policy", "id": "lie", "calibrated": _lying(LIES["a lower boundary"])}
    with doxa.open(tmp_path, embedder=by_hand({"word": 0.1})) as ledger:
        said(ledger, "a", "word")
        assert ledger.import_events([json.dumps(line)]).events == 1
        assert gaps(ask(ledger)) == [Gap.CALIBRATION_MISSING]


def test_a_lie_takes_the_place_of_the_calibration_before_it_and_is_withdrawn() -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        ledger.policy(calibrated=_lying(LIES["a lower boundary"]), id="lie")
        assert gaps(ask(ledger)) == [Gap.CALIBRATION_MISSING]
        ledger.withdraw("lie")
        assert verdicts(ask(ledger)) == {"a": "ok"}


def test_a_calibration_for_another_embedder_is_none_of_this_one() -> None:
    with doxa.open(embedder=by_hand({})) as ledger:
        said(ledger, "a", "word")
        id = calibrated(ledger, fitted(embedder="another"))
        assert gaps(ask(ledger)) == [Gap.CALIBRATION_MISSING]
        named = ask(ledger, calibration=id)
        assert gaps(named) == [Gap.CALIBRATION_MISSING]
        assert "'another', not 'by hand'" in named.reasons[0].detail


def test_a_calibration_counts_from_its_recording_on_unless_it_is_named() -> None:
    with doxa.open(embedder=by_hand({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        then = now(ledger, known_at=1)
        id = calibrated(ledger)
        assert gaps(ask(ledger, view=then)) == [Gap.CALIBRATION_MISSING]
        named = ask(ledger, view=then, calibration=id)
        assert (verdicts(named), named.calibration) == ({"a": "ok"}, id)
        assert verdicts(ask(ledger)) == {"a": "ok"}


def test_a_withdrawn_calibration_is_none_and_the_one_before_it_counts_again() -> None:
    with strict({"word": 0.6}) as ledger:
        said(ledger, "a", "word")
        before = ask(ledger)
        assert verdicts(before) == {"a": "ok"}
        stern = calibrated(ledger, fitted(0.99, 0.5))
        assert ask(ledger).calibration == stern
        assert verdicts(ask(ledger)) == {"a": "low_confidence"}
        ledger.withdraw(stern)
        assert ask(ledger).calibration == before.calibration
        assert before.calibration is not None
        ledger.withdraw(before.calibration)
        assert gaps(ask(ledger)) == [Gap.CALIBRATION_MISSING]
        then = now(ledger, known_at=2)
        assert ask(ledger, view=then).hits == before.hits


def test_a_calibration_of_a_workspace_counts_there_alone() -> None:
    with doxa.open(embedder=by_hand({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        said(ledger, "b", "word", workspace="w")
        id = calibrated(ledger, workspace="w")
        assert gaps(ask(ledger)) == [Gap.CALIBRATION_MISSING]
        assert ask(ledger, view=now(ledger, workspace="w")).calibration == id
        with pytest.raises(doxa.CallerError, match="in sight"):
            ask(ledger, calibration=id)


def test_a_shared_calibration_is_out_of_sight_of_a_workspace_alone() -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "b", "word", workspace="w")
        id = ask(ledger, view=now(ledger, workspace="w")).calibration
        assert id is not None
        alone = now(ledger, workspace="w", shared=False)
        assert gaps(ask(ledger, view=alone)) == [Gap.CALIBRATION_MISSING]
        with pytest.raises(doxa.CallerError, match="in sight"):
            ask(ledger, view=alone, calibration=id)


@pytest.mark.parametrize("id", ["nothing", "a", ""])
def test_a_calibration_that_is_named_and_is_none_is_the_callers_mistake(id: str) -> None:
    with strict({}) as ledger:
        said(ledger, "a", "word")
        with pytest.raises(doxa.CallerError, match=r"ledger\.calibrate makes one"):
            ask(ledger, calibration=id)


def test_another_policy_that_is_named_is_no_calibration() -> None:
    with strict({}) as ledger:
        policy = ledger.policy(single_valued="is")
        assert gaps(ask(ledger, calibration=policy)) == [Gap.CALIBRATION_MISSING]


# ---------------------------------------------------------------- fitting one


def _questions(answerable: int, unanswerable: int) -> list[dict[str, Any]]:
    return [
        {"query": f"{label} {number}", "answerable": label == "known"}
        for label, count in (("known", answerable), ("unknown", unanswerable))
        for number in range(count)
    ]


def _telling(meanings: Meanings) -> doxa.Embedder:
    """An embedder for which questions that begin with "unknown" are far from all."""

    def embed_query(texts: list[str]) -> list[list[float]]:
        return [[0.0, 0.0, 1.0] if text.startswith("unknown") else [1.0, 0, 0] for text in texts]

    return by_hand(meanings, embed_query=embed_query)


def test_a_calibration_that_was_fitted_is_recorded_and_used() -> None:
    with doxa.open(embedder=_telling({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        found = ledger.calibrate(_questions(40, 40), view=now(ledger))
        assert found.boundary == pytest.approx(0.45, abs=1e-6)
        assert found.certified
        assert ledger.calibrate(_questions(40, 40), view=now(ledger)).id == found.id
        assert ledger.revision == 2
        answer = ask(ledger, "known 1")
        assert (verdicts(answer), answer.calibration) == ({"a": "ok"}, found.id)
        unknown = ask(ledger, "unknown 1")
        assert (unknown.outcome, verdicts(unknown)) == (Outcome.ABSTAINED, {"a": "low_confidence"})
        assert unknown.gap_warning is not None


def test_a_calibration_is_recorded_anew_where_it_no_longer_counts() -> None:
    with doxa.open(embedder=_telling({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        found = ledger.calibrate(_questions(40, 40), view=now(ledger))
        ledger.withdraw(found.id, reason="too few questions")
        assert ledger.calibration(now(ledger)) is None
        again = ledger.calibrate(_questions(40, 40), view=now(ledger), reason="enough after all")
        assert ledger.calibration(now(ledger)) == again == found
        assert now(ledger).find(f"{found.id}/2") != -1
        head = ledger.revision
        ledger.calibrate(_questions(40, 40), view=now(ledger), reason="another reason")
        assert ledger.revision == head


def test_a_dry_run_records_nothing() -> None:
    with doxa.open(embedder=_telling({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        ledger.calibrate(_questions(4, 4), view=now(ledger), dry_run=True)
        assert ledger.revision == 1


def test_drift_says_how_the_questions_of_today_are_judged() -> None:
    meanings: Meanings = {"word": 0.9}
    with doxa.open(embedder=_telling(meanings)) as ledger:
        said(ledger, "a", "word")
        ledger.calibrate(_questions(40, 40), view=now(ledger))
        same = ledger.calibration_drift(_questions(40, 40), view=now(ledger))
        assert (str(same.verdict), same.false_confidence, same.false_abstention) == ("ok", 0, 0)
        ledger.withdraw("a")
        gone = ledger.calibration_drift(_questions(40, 40), view=now(ledger))
        assert (str(gone.verdict), gone.false_abstention) == ("drifted", 1.0)
        with pytest.raises(doxa.CallerError, match="no labelled question"):
            ledger.calibration_drift([], view=now(ledger))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no labelled question"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[1]", "is no object"),
        (b'{"query": "a"}', "needs one of answerable"),
        (b'{"query": "a", "answerable": "yes"}', "give true or false"),
        (b'{"query": "", "answerable": true}', "give the question as text"),
        (b'{"query": 5, "answerable": true}', "give the question as text"),
        (b'{"query": "a", "answerable": true}\n{"query": "a ", "answerable": false}', "line 2"),
        (b'{"query": "a", "query": "b", "answerable": true}', "twice"),
        (b'{"query": "a", "answerable": true, "extra": 1}', "is no key of it"),
        (b'{"query": "\\ud800", "answerable": true}', "surrogate"),
        (b"[" * 100_000, "not JSON"),
        (b'{"query": "a", "answerable": true}\n' * 1, "labelled answerable"),
    ],
)
def test_a_bad_file_of_questions_is_refused_and_nothing_recorded(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with doxa.open(embedder=_telling({"word": 0.9})) as ledger:
        said(ledger, "a", "word")
        with pytest.raises(doxa.CallerError, match=words):
            ledger.calibrate(path, view=now(ledger))
        assert ledger.revision == 1


def test_a_file_of_questions_that_is_not_there_is_named(tmp_path: Path) -> None:
    with doxa.open(embedder=_telling({})) as ledger, pytest.raises(doxa.StorageError, match="gone"):
        ledger.calibrate(tmp_path / "gone", view=now(ledger))


@pytest.mark.parametrize("dimension", [3, None])
def test_an_empty_ledger_can_not_be_calibrated(dimension: int | None) -> None:
    with doxa.open(embedder=by_hand({}, dimension=dimension)) as ledger:
        with pytest.raises(doxa.CallerError, match="record something first"):
            ledger.calibrate(_questions(4, 4), view=now(ledger))
        assert ledger.calibration(now(ledger)) is None
        with pytest.raises(doxa.CallerError, match=r"ledger\.calibrate makes one"):
            ledger.calibration_drift(_questions(4, 4), view=now(ledger))


def test_a_label_of_very_many_digits_is_named() -> None:
    line: dict[str, Any] = {"query": "a", "answerable": 10**5_000}
    with doxa.open(embedder=by_hand({})) as other:
        for bad in (line, {"query": 10**5_000, "answerable": True}, json.dumps({"query": "a"})):
            with pytest.raises(doxa.CallerError, match="line 1"):
                other.calibrate([bad], view=now(other))


def test_calibrating_needs_an_embedder(ledger: doxa.Ledger) -> None:
    for call in (ledger.calibrate, ledger.calibration_drift):
        with pytest.raises(doxa.CallerError, match="no embedder is configured"):
            call(_questions(4, 4), view=now(ledger))
