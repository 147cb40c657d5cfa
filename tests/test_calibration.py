"""Calibration: fitted by its definitions, believed only where everything about it is right."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import doxa
from doxa.engine import calibration as cal
from doxa.engine import figures
from doxa.engine.calibration import Calibration, Certification, Refusal, calibrate, fit, read
from doxa.engine.cases import Case, read_cases, split
from doxa.engine.drift import Stability, drift
from doxa.engine.errors import CallerError
from doxa.engine.outcomes import Gap
from doxa.oracle import calibration as oracle

FOR: dict[str, Any] = {"embedder": "minilm", "dimension": 256, "lineage": "said-1"}
WITH: dict[str, Any] = FOR | {"documents": 1_000}
COSINES = st.sampled_from([n / 10 for n in range(-10, 11)]) | st.floats(-1, 1)
SCORES = st.lists(COSINES, min_size=1, max_size=45)


def spread(low: float, high: float, count: int) -> list[float]:
    """So many scores, evenly from the one to the other."""
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def good(count: int = 40) -> Calibration:
    return fit(spread(0.5, 0.9, count), spread(0.0, 0.3, count), **WITH)


# ---------------------------------------------------------------- fitting


@given(SCORES, SCORES)
def test_a_fit_is_what_the_definitions_say(right: list[float], wrong: list[float]) -> None:
    found, expected = (
        fit(right, wrong, **WITH, held_out=(right, wrong)),
        oracle.fitted(right, wrong),
    )
    assert found.boundary == expected.boundary
    assert found.scale == expected.scale
    assert found.separated == expected.separated
    assert found.auc == expected.auc
    assert found.auc_lower == pytest.approx(expected.auc_lower, abs=1e-12)
    if abs(expected.auc_lower - 0.9) > 1e-9:
        assert str(found.certification) == expected.certification
    assert found.held_out.false_confidence == expected.false_confidence
    assert found.held_out.false_abstention == expected.false_abstention
    assert (found.answerable, found.unanswerable) == (len(right), len(wrong))
    assert read(json.loads(json.dumps(found.as_json())), **FOR) == found


@given(st.lists(COSINES, min_size=1, max_size=200), st.integers(1, 100))
def test_a_quantile_is_one_of_the_scores_by_nearest_rank(scores: list[float], percent: int) -> None:
    expected = oracle.quantile(scores, Fraction(percent, 100))
    assert figures.quantile(scores, percent) == expected


def test_the_rank_of_a_quantile_is_not_rounded_up_by_the_way_a_share_is_written() -> None:
    scores = [float(n) for n in range(1, 101)]
    assert math.ceil(0.07 * 100) == 8
    assert figures.quantile(scores, 7) == 7.0


@given(st.fractions(0, 1), st.integers(1, 500), st.integers(1, 500))
def test_the_standard_error_is_that_of_hanley_and_mcneil(area: Fraction, n: int, m: int) -> None:
    expected = math.sqrt(oracle.variance(Fraction(float(area)), n, m))
    assert figures.standard_error(float(area), n, m) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_standard_error_of_a_published_example() -> None:
    # Hanley and McNeil 1982: an area of 0.893 from 51 abnormal and 58 normal images
    assert figures.standard_error(0.893, 51, 58) == pytest.approx(0.032, abs=0.001)


def test_the_boundary_is_in_the_middle_of_the_gap() -> None:
    found = good()
    assert found.boundary == pytest.approx((0.5 + 0.4 / 39 + 0.3 - 0.6 / 39) / 2)
    assert found.separated
    assert found.confidence(found.boundary) == 0.5
    overlapping = fit([0.2, 0.4], [0.3, 0.5], **WITH)
    assert (overlapping.boundary, overlapping.separated) == (0.35, False)
    assert overlapping.scale == cal.LEAST_SCALE
    assert "the scores of the two labels overlap at the boundary" in overlapping.warnings


@given(SCORES, SCORES, st.lists(COSINES, min_size=2, max_size=9))
def test_confidence_orders_as_the_scores_do(
    right: list[float], wrong: list[float], scores: list[float]
) -> None:
    found = fit(right, wrong, **WITH)
    confident = [found.confidence(score) for score in sorted(scores)]
    assert confident == sorted(confident)
    assert all(0 <= each <= 1 for each in confident)
    for score, each in zip(sorted(scores), confident, strict=True):
        expected = oracle.confidence(score, found.boundary, found.scale)
        assert each == pytest.approx(expected, rel=1e-9)
        assert (each >= 0.5) == (score >= found.boundary) or each == 0.5


def test_a_score_of_any_size_has_a_confidence() -> None:
    assert figures.confidence(-1e9, 0.5, 0.01) == pytest.approx(0)
    assert figures.confidence(1e9, 0.5, 0.01) == 1
    assert math.isnan(figures.confidence(math.nan, 0.5, 0.05))


def test_certification_takes_twenty_a_label_and_a_bound_of_nine_tenths() -> None:
    assert good(20).certification is Certification.CERTIFIED
    assert fit(spread(0.5, 0.9, 19), spread(0.0, 0.3, 99), **WITH).certification == "undecided"
    assert fit(spread(0.5, 0.9, 99), spread(0.0, 0.3, 19), **WITH).certification == "undecided"
    mixed = fit(spread(0.1, 0.9, 30), spread(0.0, 0.5, 30), **WITH)
    assert mixed.certification is Certification.UNCERTIFIED
    assert mixed.auc_lower < 0.9
    assert not mixed.certified


@given(SCORES, SCORES)
def test_more_of_the_same_may_certify_and_moves_no_boundary(
    right: list[float], wrong: list[float]
) -> None:
    some, more = fit(right * 20, wrong * 20, **WITH), fit(right * 40, wrong * 40, **WITH)
    assert (more.boundary, more.scale, more.auc) == (some.boundary, some.scale, some.auc)
    assert more.auc_lower >= some.auc_lower - 1e-12
    assert Certification.UNDECIDED not in (some.certification, more.certification)


def test_few_questions_are_warned_of() -> None:
    few = fit([0.9] * 19, [0.1] * 20, **WITH, held_out=([0.9] * 20, [0.1] * 3))
    assert few.warnings == (
        "fitted with 19 answerable questions, fewer than 20: nothing is certified",
        "held out 3 unanswerable questions, fewer than 20: their rate says little",
    )
    enough = fit([0.9] * 20, [0.1] * 20, **WITH, held_out=([0.9] * 20, [0.1] * 20))
    assert enough.warnings == ()


def test_what_is_held_out_is_judged_and_moves_nothing() -> None:
    alone = fit([0.8] * 20, [0.2] * 20, **WITH)
    judged = fit([0.8] * 20, [0.2] * 20, **WITH, held_out=([0.9, 0.5, 0.4, 0.1], [0.5, 0.1]))
    assert (
        (judged.boundary, judged.scale)
        == (alone.boundary, alone.scale)
        == (0.5, 0.15000000000000002)
    )
    assert (judged.held_out.false_confidence, judged.held_out.false_abstention) == (0.5, 0.5)
    assert alone.held_out.false_confidence is None
    assert alone.held_out.false_abstention is None


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ([], [0.1], "no score of a question that is answerable"),
        ([0.1], [], "no score of a question that is unanswerable"),
        ([math.nan], [0.1], "has the score nan"),
        ([0.1], [math.inf], "has the score inf"),
        ([1.1], [0.1], "has the score 1.1; a cosine is from -1 to 1"),
    ],
)
def test_what_is_no_cosine_is_refused(right: Any, wrong: Any, said: str) -> None:
    with pytest.raises(CallerError, match=said):
        fit(right, wrong, **WITH)
    with pytest.raises(CallerError, match=said):
        drift(good(), right, wrong)


def test_a_cosine_that_rounding_has_carried_past_one_is_one() -> None:
    beyond = float(np.float32(1) + np.finfo(np.float32).eps)
    assert fit([beyond], [beyond], **WITH) == fit([1.0], [1.0], **WITH)


@pytest.mark.parametrize(
    "wrong",
    [{"embedder": ""}, {"embedder": 5}, {"lineage": ""}, {"dimension": 0}, {"dimension": 2.0},
     {"documents": -1}, {"documents": True}],
)  # fmt: skip
def test_a_fit_for_nothing_in_particular_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CallerError, match=next(iter(wrong))):
        fit([0.9], [0.1], **(WITH | wrong))


def test_where_nothing_is_known_there_is_a_default_that_says_so() -> None:
    assert cal.DEFAULT == (0.5, 0.05, False, None)
    found = good()
    assert found.parameters == (found.boundary, found.scale, True, found.id)


# ---------------------------------------------------------------- what was recorded


def resealed(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields under the id that their content makes, as a liar would write them."""
    content = {key: value for key, value in fields.items() if key != "id"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return content | {"id": f"calibration-{digest.hexdigest()}"}


def refused(value: object, **wanted: Any) -> Refusal:
    found = read(value, **(FOR | wanted))
    assert isinstance(found, Refusal), found
    return found


def test_a_calibration_survives_the_log(ledger: doxa.Ledger) -> None:
    found = good()
    ledger.policy(calibrated=found.as_json(), id=found.id)
    event: Any = ledger.view(valid_at="2024-01-01").payload(1)
    assert read(event.calibrated, **FOR) == found


def test_its_id_is_its_content() -> None:
    found = good()
    assert resealed(found.as_json()) == found.as_json()
    assert found.id == good().id
    assert found.id != replace(found, documents=1_001).id
    whole = found.as_json() | {"auc": 1}  # the same number, written otherwise
    assert read(whole, **FOR) == found


def test_nothing_recorded_is_nothing_calibrated() -> None:
    assert refused(None) == (Gap.CALIBRATION_MISSING, "nothing was calibrated")


LIES: dict[str, tuple[Any, str]] = {
    "boundary": (1.5, "boundary is 1.5; it is from -1 to 1"),
    "boundary below": (-1.01, "boundary is -1.01"),
    "boundary true": (True, "boundary is True; it is a number"),
    "boundary text": ("0.5", "boundary is '0.5'; it is a number"),
    "boundary nan": (math.nan, "boundary is nan"),
    "boundary vast": (10**400, "boundary is of type int"),
    "scale": (0.009, "scale is 0.009; it is from 0.01 to 1"),
    "scale above": (1.01, "scale is 1.01"),
    "scale infinite": (math.inf, "scale is inf"),
    "separated": (1, "separated is 1; it is true or false"),
    "answerable": (-1, "answerable is -1; it is a whole number from 1"),
    "answerable none": (0, "answerable is 0"),
    "answerable true": (True, "answerable is True"),
    "answerable half": (20.5, "answerable is 20.5"),
    "unanswerable": (10**10, "unanswerable is 10000000000"),
    "auc": (1.01, "auc is 1.01"),
    "auc smaller": (0.9, "auc_lower is 1.0, which an auc of 0.9 does not give"),
    "auc_lower": (0.95, "auc_lower is 0.95, which an auc of 1.0 does not give"),
    "auc_lower below": (-0.1, "auc_lower is -0.1"),
    "certification": ("uncertified", "certification is 'uncertified', but the rest"),
    "certification word": ("yes", "certification is 'yes'"),
    "certification null": (None, "certification is None"),
    "documents": (-5, "documents is -5"),
    "dimension": (0, "dimension is 0"),
    "dimension vast": (10**6, "dimension is 1000000"),
    "embedder": ("", "embedder is ''"),
    "embedder long": ("v" * 1_001, "embedder is 'vvv"),
    "lineage": (None, "lineage is None"),
    "method": ("mid-gap-v2", "its method is 'mid-gap-v2', not 'mid-gap-v1'"),
    "method vast": (10**5_000, "its method is of type int"),
    "held_out": ([], "held_out is of type list, not an object"),
    "held_out empty": ({}, "held_out has no answerable"),
    "odd": (1, "it has the key 'odd', which is none of its own"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_calibration_that_lies_is_refused_however_well_it_is_sealed(lie: str) -> None:
    value, said = LIES[lie]
    fields = good().as_json() | {lie.partition(" ")[0]: value}
    sealed = fields if "vast" in lie else resealed(fields)
    gap, detail = refused(sealed)
    assert gap is Gap.CALIBRATION_MISSING
    assert f"the calibration can't be used: {said}" in detail


@pytest.mark.parametrize("name", good().as_json())
def test_a_calibration_that_lacks_anything_is_refused(name: str) -> None:
    fields = good().as_json()
    del fields[name]
    assert f"it has no {name}" in refused(fields).detail


@pytest.mark.parametrize(
    "held",
    [{"wrongly_confident": 2}, {"wrongly_abstained": 3}, {"answerable": -1}, {"odd": 0}],
)
def test_what_was_held_out_must_add_up(held: dict[str, int]) -> None:
    found = fit([0.9] * 20, [0.1] * 20, **WITH, held_out=([0.9, 0.1], [0.1])).as_json()
    refused(resealed(found | {"held_out": found["held_out"] | held}))
    assert isinstance(read(resealed(found), **FOR), Calibration)


def test_a_calibration_is_for_one_embedder_dimension_and_lineage() -> None:
    fields = good().as_json()
    for name, other, gap, said in [
        ("embedder", "other", Gap.CALIBRATION_MISSING, "the embedder 'minilm', not 'other'"),
        ("dimension", 384, Gap.CALIBRATION_MISSING, "256 dimensions, not 384"),
        ("lineage", "said-2", Gap.CALIBRATION_STALE, "texts of version 'said-1', not 'said-2'"),
    ]:
        found = refused(fields, **{name: other})
        assert found.gap is gap
        assert said in found.detail
        assert good().id in found.detail
    assert read(fields, **(FOR | {"dimension": None})) == good()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(JSON, st.sampled_from(sorted(good().as_json())), st.booleans())
def test_whatever_was_recorded_is_read_or_refused_and_never_raises(
    value: Any, name: str, sealed: bool
) -> None:
    assert isinstance(read(value, **FOR), Refusal)
    before = good().as_json()
    changed = before | {name: value}
    assume(changed != before)
    found = read(resealed(changed) if sealed else changed, **FOR)
    if not sealed:
        assert isinstance(found, Refusal)  # any one thing that was changed is noticed
    elif isinstance(found, Calibration):
        assert -1 <= found.boundary <= 1
        assert cal.LEAST_SCALE <= found.scale <= cal.LARGEST_SCALE
        assert found.auc_lower <= found.auc


@given(st.dictionaries(st.sampled_from(sorted(good().as_json())), JSON))
def test_an_object_of_the_right_keys_is_no_calibration_yet(changed: dict[str, Any]) -> None:
    found = read(good().as_json() | changed, **FOR)
    assert isinstance(found, Refusal) or found == good()


# ---------------------------------------------------------------- labelled questions


LINES = (
    '{"query": "Where does Ada live?", "answerable": true}\n',
    "\n",
    b'{"label": "unanswerable", "query": "Who is Bob?"}\r\n',
    {"query": "what", "answerable": False},
    '{"query": "é", "label": "answerable"}',
)


def test_labelled_questions_are_read_in_their_order() -> None:
    assert read_cases(LINES) == [
        Case("Where does Ada live?", True),
        Case("Who is Bob?", False),
        Case("what", False),
        Case("é", True),
    ]
    marked = '\ufeff{"query": "a", "answerable": true}'
    assert read_cases([marked]) == read_cases([marked.encode()]) == [Case("a", True)]


BAD: dict[str, tuple[Any, str]] = {
    "cut": ('{"query": "a"', "line 1: it is not JSON"),
    "no object": ('["a"]', "line 1: '[\"a\"]' is no object"),
    "no text": (5, "line 1: 5 is no line of text"),
    "no utf-8": (b'{"query": "\xff"}', "line 1: it is not UTF-8: invalid start byte at byte 11"),
    "deep": ("[" * 100_000, "line 1: it is not JSON"),
    "no query": ('{"answerable": true}', "query is None"),
    "empty query": ('{"query": " ", "answerable": true}', "query is ' '; give the question"),
    "query of numbers": ('{"query": [1], "answerable": true}', "query is [1]"),
    "half a pair": ('{"query": "\\ud800", "answerable": true}', "query holds U+D800"),
    "no label": ('{"query": "a"}', "needs one of answerable (true or false) and label"),
    "both": ('{"query": "a", "answerable": true, "label": "answerable"}', "needs one of"),
    "1": ('{"query": "a", "answerable": 1}', "answerable is 1; give true or false"),
    "null": ('{"query": "a", "answerable": null}', "answerable is None"),
    "label": ('{"query": "a", "label": "maybe"}', "label is 'maybe'; give answerable or"),
    "label list": ('{"query": "a", "label": ["answerable"]}', "label is ['answerable']"),
    "unknown key": ('{"query": "a", "answerable": true, "id": 1}', "'id' is no key of it"),
    "key twice": ('{"query": "a", "query": "a", "answerable": true}', "a key is there twice"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_line_that_is_no_labelled_question_is_named(name: str) -> None:
    line, said = BAD[name]
    with pytest.raises(CallerError) as caught:
        read_cases([line])
    assert "line 1: " in str(caught.value)
    assert said in str(caught.value)


def test_repetitions_and_contradictions_are_refused_by_their_lines() -> None:
    one = '{"query": "Wo wohnt\\u00a0 Ad\\u00e9?", "answerable": true}'
    again = {"query": " Wo wohnt Ade\u0301?", "answerable": True}
    with pytest.raises(CallerError, match=r"^line 3: .* is on line 1 already$"):
        read_cases([one, "", again])
    with pytest.raises(CallerError, match=r"^line 2: .* is labelled the other way on line 1$"):
        read_cases([one, again | {"answerable": False}])


def test_all_bad_lines_are_counted_and_the_first_are_told() -> None:
    with pytest.raises(CallerError, match=r"^line 1: .*line 5: .*; and 4 more$"):
        read_cases(["{"] * 9)


@pytest.mark.parametrize("nothing", [[], ["", " \n"], iter(())])
def test_a_file_without_questions_is_refused(nothing: Any) -> None:
    with pytest.raises(CallerError, match="there is no labelled question"):
        read_cases(nothing)


@pytest.mark.parametrize("given", ["text", b"bytes", {"query": "a"}, None, 5])
def test_what_holds_no_lines_is_refused(given: Any) -> None:
    with pytest.raises(CallerError, match="holds no lines"):
        read_cases(given)


@given(st.lists(JSON | st.text(max_size=20) | st.binary(max_size=20), max_size=5))
def test_no_line_raises_anything_else(lines: list[Any]) -> None:
    texts = [json.dumps(line) if isinstance(line, dict | list) else line for line in lines]
    for given_ in (lines, texts):
        with pytest.raises(CallerError):
            read_cases(given_)


CASES = st.lists(
    st.builds(Case, st.text(max_size=5), st.booleans()), unique_by=lambda case: case.query
)


@given(CASES, st.randoms(use_true_random=False))
def test_a_split_depends_on_the_questions_alone_and_has_both_labels_in_both_halves(
    cases: list[Case], random: Any
) -> None:
    counts = [sum(case.answerable is label for case in cases) for label in (True, False)]
    if min(counts) < 2:
        with pytest.raises(CallerError, match="give two at least"):
            split(cases)
        return
    one, other = split(cases)
    assert sorted(one + other) == sorted(cases)
    for label, count in zip((True, False), counts, strict=True):
        held = sum(case.answerable is label for case in other)
        assert held == count // 2 >= 1
    mixed = random.sample(cases, len(cases))
    assert split(mixed) == (one, other)


def test_calibrating_scores_all_questions_at_once_and_holds_half_of_them_out() -> None:
    cases = [Case(f"q{n}", n % 2 == 0) for n in range(80)]
    asked: list[list[str]] = []

    def scores(queries: Sequence[str]) -> list[float]:
        asked.append(list(queries))
        return [0.8 if int(query[1:]) % 2 == 0 else 0.2 for query in queries]

    found = calibrate(cases, scores, **WITH)
    assert len(asked) == 1
    assert sorted(asked[0]) == sorted(case.query for case in cases)
    assert (found.answerable, found.unanswerable) == (20, 20)
    assert found.held_out == cal.HeldOut(20, 20, 0, 0)
    assert found.certified
    assert found.warnings == ()
    assert calibrate(cases[::-1], scores, **WITH) == found
    with pytest.raises(CallerError, match="80 questions were given 1 scores"):
        calibrate(cases, lambda queries: [0.5], **WITH)


# ---------------------------------------------------------------- drift


@given(SCORES, SCORES, SCORES, SCORES)
def test_drift_is_what_a_fit_to_the_fresh_scores_would_change(
    right: list[float], wrong: list[float], fresh: list[float], other: list[float]
) -> None:
    before, after = fit(right, wrong, **WITH), fit(fresh, other, **WITH)
    judged = fit(right, wrong, **WITH, held_out=(fresh, other)).held_out
    found = drift(before, fresh, other)
    assert (found.calibration, found.boundary) == (before.id, after.boundary)
    assert found.shift == (after.boundary - before.boundary) / before.scale
    rates = found.false_confidence, found.false_abstention
    assert rates == (judged.false_confidence, judged.false_abstention)
    assert (found.auc, found.auc_lower) == (after.auc, after.auc_lower)
    drifted = abs(found.shift) > 1 or max(rates) > 0.1
    assert (found.verdict is Stability.DRIFTED) == drifted == bool(found.reasons)


@pytest.mark.parametrize(
    ("right", "wrong", "reasons", "warnings"),
    [
        ([0.8] * 20, [0.2] * 20, [], []),
        ([0.8] * 18 + [0.1] * 2, [0.2] * 20, ["the boundary would be 0.150, -2.33 scales"], []),
        ([0.8] * 27 + [0.49] * 3, [0.35] * 30, [], []),
        ([0.8] * 26 + [0.49] * 4, [0.35] * 30, ["13% of the answerable questions are not"], []),
        ([0.7] * 20, [0.2] * 17 + [0.5] * 3, ["15% of the unanswerable questions are"], []),
        ([0.8] * 3, [0.2] * 20, [], ["asked 3 answerable questions, fewer than 20"]),
    ],
)
def test_a_calibration_has_drifted_by_a_scale_or_by_a_tenth_on_the_wrong_side(
    right: list[float], wrong: list[float], reasons: list[str], warnings: list[str]
) -> None:
    found = drift(fit([0.8] * 20, [0.2] * 20, **WITH), right, wrong)
    assert (found.verdict is Stability.OK) == (not reasons)
    for told, expected in ((found.reasons, reasons), (found.warnings, warnings)):
        assert len(told) == len(expected)
        assert all(part in words for part, words in zip(expected, told, strict=True))
