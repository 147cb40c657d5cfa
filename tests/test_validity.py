"""The validity profile: grades, multipliers, signals, traces, and what is put in another order."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from math import inf, isclose, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine import validity
from doxa.engine.belief import Standing
from doxa.engine.outcomes import Mode
from doxa.engine.times import DAY, POS, instant
from doxa.engine.validity import (
    Facts,
    FreshnessFrom,
    Grade,
    Profile,
    Provenance,
    Ranked,
    Scope,
    Validity,
    annotate,
    freshness,
    judge,
    profile_of,
    profiled,
    rerank,
)
from doxa.oracle import validity as slowly

NOW = instant("2024-07-01")
MONTH = 30 * DAY


def hit(name: str = "c", rank: int = 0, **fields: Any) -> Facts:
    """A hit that is reported, in the shared workspace, new, and for ever."""
    plain: dict[str, Any] = {
        "standing": Standing.REPORTED,
        "scope": Scope.GLOBAL,
        "recorded_at": NOW,
    }
    return Facts(id=name, rank=rank, **plain | fields)


def judged(now: int = NOW, **fields: Any) -> Validity:
    return judge(hit(**fields), now=now)


def ids(ranked: Ranked) -> list[str]:
    return [rated.facts.id for rated in ranked.hits]


# ---------------------------------------------------------------- freshness


@pytest.mark.parametrize(
    ("age", "expected", "grade"),
    [
        (-1, 1.0, Grade.VALID),
        (-POS, 1.0, Grade.VALID),
        (0, 1.0, Grade.VALID),
        (MONTH, 0.5, Grade.VALID),
        (2 * MONTH, 0.25, Grade.STALE),
        (3 * MONTH, 0.125, Grade.STALE),
        (4 * MONTH, 0.0625, Grade.CONTEXT_INVALID),
    ],
)
def test_freshness_halves_every_thirty_days_and_is_never_above_one(
    age: int, expected: float, grade: Grade
) -> None:
    assert freshness(age) == expected
    found = judged(recorded_at=NOW - age)
    assert (found.freshness, found.multiplier, found.grade) == (expected, expected, grade)


@pytest.mark.parametrize(
    ("months", "at", "after"),
    [(1, Grade.VALID, Grade.STALE), (3, Grade.STALE, Grade.CONTEXT_INVALID)],
)
def test_a_grade_changes_a_microsecond_after_its_age(months: int, at: Grade, after: Grade) -> None:
    assert judged(recorded_at=NOW - months * MONTH).grade is at
    assert judged(recorded_at=NOW - months * MONTH - 1).grade is after


def test_age_runs_from_the_last_observation_or_else_from_the_recording() -> None:
    seen = hit(observed_at=NOW - MONTH, recorded_at=NOW - 2 * MONTH)
    assert judge(seen, now=NOW).freshness == 0.5
    assert judge(seen, now=NOW, freshness_from="recorded").freshness == 0.25
    unseen = replace(seen, observed_at=None)
    assert judge(unseen, now=NOW).freshness == 0.25


def test_an_observation_at_the_beginning_of_time_is_one() -> None:
    assert judge(hit(observed_at=0, recorded_at=MONTH), now=MONTH).freshness == 0.5


def test_an_observation_may_be_older_than_its_recording() -> None:
    late = hit(observed_at=NOW - 4 * MONTH, recorded_at=NOW)
    assert judge(late, now=NOW).grade is Grade.CONTEXT_INVALID
    assert judge(late, now=NOW, freshness_from=FreshnessFrom.RECORDED).grade is Grade.VALID


def test_what_is_older_than_a_life_has_no_freshness_at_all() -> None:
    assert freshness(2**63) == 0.0


# ---------------------------------------------------------------- the other factors


def test_each_factor_is_applied_once() -> None:
    assert judged(scope=Scope.EXACT).multiplier == 1.10
    assert judged(scope=Scope.NONE).multiplier == 1
    assert judged(verified=True).multiplier == 1.15
    assert judged(corroborated=True).multiplier == 1.15
    assert judged(verified=True, corroborated=True).multiplier == 1.15
    assert judged(standing=Standing.SUPERSEDED).multiplier == 0.35
    assert judged(valid_to=NOW - 1).multiplier == 0.35
    assert judged(standing=Standing.SUPERSEDED, valid_to=NOW - 1).multiplier == 0.35
    assert judged(standing=Standing.EXPIRED, valid_to=NOW - 1).multiplier == 0.35
    assert judged(valid_to=NOW + 1).multiplier == 0.70
    assert judged(standing=Standing.SUPERSEDED, valid_to=NOW + 1).multiplier == 0.35 * 0.70


@pytest.mark.parametrize(
    ("left", "expired", "expiring", "grade"),
    [
        (-1, True, False, Grade.CONTEXT_INVALID),
        (0, True, False, Grade.CONTEXT_INVALID),
        (1, False, True, Grade.STALE),
        (MONTH, False, True, Grade.STALE),
        (MONTH + 1, False, False, Grade.VALID),
    ],
)
def test_at_the_instant_of_its_end_a_claim_is_expired_and_not_expiring(
    left: int, expired: bool, expiring: bool, grade: Grade
) -> None:
    found = judged(valid_to=NOW + left)
    assert (found.expired, found.expiring_soon, found.grade) == (expired, expiring, grade)


def test_what_is_expired_at_the_view_stays_so_at_an_earlier_now() -> None:
    found = judged(standing=Standing.EXPIRED, valid_to=NOW + 1)
    assert (found.expired, found.expiring_soon, found.multiplier) == (True, False, 0.35)


@pytest.mark.parametrize("standing", Standing)
def test_four_standings_are_context_invalid_however_fresh(standing: Standing) -> None:
    invalid = {"superseded", "expired", "retracted", "unsupported"}
    assert judged(standing=standing).context_invalid == (standing in invalid)


# ---------------------------------------------------------------- provenance


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ("not_yet_known", "unknown"),
        ("redacted", "unknown"),
        ("compacted", "unknown"),
        ("retracted", "rejected"),
        ("superseded", "defensively_recalled"),
        ("not_yet_valid", "defensively_recalled"),
        ("expired", "defensively_recalled"),
        ("hypothesis", "candidate"),
        ("unsupported", "defensively_recalled"),
        ("contested", "candidate"),
        ("corroborated", "corroborated"),
        ("reported", "candidate"),
    ],
)
def test_a_standing_has_its_class_of_provenance(standing: str, expected: str) -> None:
    assert judged(standing=Standing(standing)).provenance_class == expected


def test_who_vouches_goes_before_the_standing_and_a_refusal_before_all() -> None:
    old = Standing.SUPERSEDED
    assert judged(standing=old, verified=True).provenance_class is Provenance.VERIFIED
    assert judged(standing=old, corroborated=True).provenance_class is Provenance.CORROBORATED
    both = judged(verified=True, corroborated=True)
    assert both.provenance_class is Provenance.VERIFIED
    refused = judged(verified=True, corroborated=True, rejected=True)
    assert (refused.provenance_class, refused.multiplier) == (Provenance.REJECTED, 1)
    withdrawn = judged(standing=Standing.RETRACTED, verified=True)
    assert (withdrawn.provenance_class, withdrawn.multiplier) == (Provenance.REJECTED, 1)


# ---------------------------------------------------------------- blocks


def test_a_block_has_these_names_and_values() -> None:
    found = judged(
        scope=Scope.EXACT, valid_to=instant("2024-07-15T00:00:00.000999Z"), recorded_at=NOW - DAY
    )
    block = found.as_dict()
    assert block == {
        "grade": "stale",
        "freshness": 0.5 ** (1 / 30),
        "scope_match": "exact",
        "provenance_class": "candidate",
        "superseded": False,
        "expiring_soon": True,
        "expired": False,
        "expires_at_unix_ms": instant("2024-07-15") // 1000,
        "multiplier": 0.5 ** (1 / 30) * 1.10 * 0.70,
        "signals": ["freshness:0.977", "scope:exact", "expiring_soon"],
    }
    assert json.loads(json.dumps(block)) == block


def test_context_invalid_is_in_a_block_only_where_it_is_true() -> None:
    assert "context_invalid" not in judged().as_dict()
    assert judged(standing=Standing.SUPERSEDED).as_dict()["context_invalid"] is True


def test_an_open_end_has_no_expiry() -> None:
    assert judged().as_dict()["expires_at_unix_ms"] is None
    assert judged(valid_to=-1).as_dict()["expires_at_unix_ms"] == -1


@pytest.mark.parametrize(
    ("fields", "signals"),
    [
        ({}, ["freshness:1.000"]),
        ({"verified": True}, ["freshness:1.000", "provenance:verified"]),
        ({"standing": Standing.CORROBORATED}, ["freshness:1.000", "provenance:corroborated"]),
        ({"standing": Standing.RETRACTED}, ["freshness:1.000", "retracted"]),
        ({"standing": Standing.UNSUPPORTED}, ["freshness:1.000", "unsupported"]),
        ({"standing": Standing.EXPIRED}, ["freshness:1.000", "expired"]),
        (
            {"standing": Standing.SUPERSEDED, "valid_to": NOW},
            ["freshness:1.000", "superseded", "expired"],
        ),
        (
            {"standing": Standing.SUPERSEDED, "valid_to": NOW + 1},
            ["freshness:1.000", "superseded", "expiring_soon"],
        ),
    ],
)
def test_signals_name_what_counted(fields: dict[str, Any], signals: list[str]) -> None:
    assert judged(**fields).as_dict()["signals"] == signals


# ---------------------------------------------------------------- re-ranking


def test_a_fresh_claim_in_scope_rises_above_an_older_better_match() -> None:
    old = hit("old", 0, recorded_at=NOW - 2 * MONTH)
    new = hit("new", 1, scope=Scope.EXACT)
    ranked = rerank([old, new], now=NOW)
    assert ids(ranked) == ["new", "old"]
    assert [(rated.base, rated.final) for rated in ranked.hits] == [(0.5, 0.5 * 1.10), (1.0, 0.25)]


def test_the_base_of_a_rank_is_what_is_left_of_the_pool() -> None:
    ranked = rerank([hit(name, rank) for rank, name in enumerate("abcd")], now=NOW)
    assert [rated.base for rated in ranked.hits] == [1.0, 0.75, 0.5, 0.25]
    assert (ranked.trace.base, ranked.trace.why) == (
        "rank",
        "re-ranked: base score from the ranks",
    )


def test_rerank_scores_are_those_of_the_hits_as_they_are_given() -> None:
    ranked = rerank([hit("b", 1), hit("a", 0)], [0.25, 2], now=NOW)
    assert [(rated.facts.id, rated.base) for rated in ranked.hits] == [("a", 2), ("b", 0.25)]
    assert ranked.trace.base == "rerank"


@pytest.mark.parametrize(
    "bad", [None, nan, inf, -inf, 0, 0.0, -0.5, 10**400, "1", True, [1.0], 1j], ids=repr
)
def test_one_bad_rerank_score_leaves_the_whole_list_to_its_ranks(bad: object) -> None:
    hits = [hit("a", 0), hit("b", 1), hit("c", 2)]
    ranked = rerank(hits, [0.1, bad, 0.9], now=NOW)
    assert ids(ranked) == ["a", "b", "c"]
    assert [rated.base for rated in ranked.hits] == [1, 2 / 3, 1 / 3]
    assert ranked.trace.base == "rank"
    assert ranked.trace.why.endswith("as a rerank score is missing, not finite, or not above 0")


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 2.0, 3.0]], ids=len)
def test_another_number_of_rerank_scores_than_hits_is_a_score_missing(scores: list[float]) -> None:
    ranked = rerank([hit("a", 0), hit("b", 1)], scores, now=NOW)
    assert (ids(ranked), ranked.trace.base) == (["a", "b"], "rank")


def test_scores_of_any_real_type_count() -> None:
    ranked = rerank([hit("a", 0), hit("b", 1)], [np.float32(0.5), 1], now=NOW)
    assert (ids(ranked), ranked.trace.base) == (["b", "a"], "rerank")


def test_equal_finals_are_in_the_order_of_their_ids() -> None:
    ranked = rerank([hit("b", 0), hit("a", 1), hit("c", 2)], [1, 1, 1], now=NOW)
    assert ids(ranked) == ["a", "b", "c"]


def test_equal_ids_of_two_workspaces_stay_as_they_were() -> None:
    first, second = hit("a", 0), hit("a", 1, scope=Scope.NONE)
    assert [r.facts for r in rerank([second, first], [1, 1], now=NOW).hits] == [first, second]


def test_nothing_is_left_out_and_what_is_not_eligible_keeps_its_place() -> None:
    hits = [
        hit("old", 0, recorded_at=NOW - 3 * MONTH),
        hit("bad", 1, standing=Standing.RETRACTED, eligible=False),
        hit("new", 2),
        hit("gone", 3, valid_to=NOW),
    ]
    ranked = rerank(hits, now=NOW)
    assert ids(ranked) == ["new", "bad", "old", "gone"]
    assert [rated.final is None for rated in ranked.hits] == [False, True, False, False]
    assert ranked.hits[1].validity.context_invalid


def test_no_hits_make_no_order() -> None:
    ranked = rerank([], [], now=NOW)
    assert (ranked.hits, ranked.trace.why) == ((), "re-ranked: base score from the rerank scores")
    assert ranked.trace.as_dict()["grade_counts"] == {"valid": 0, "stale": 0, "context_invalid": 0}


def test_nothing_is_rounded_before_it_is_compared() -> None:
    ranked = rerank([hit("a", 0, recorded_at=NOW - 1_000_000), hit("b", 1)], [1, 1], now=NOW)
    assert ids(ranked) == ["b", "a"]
    assert ranked.hits[0].validity.signals == ranked.hits[1].validity.signals


# ---------------------------------------------------------------- profiles and traces


def test_a_trace_has_these_names_and_values() -> None:
    hits = [
        hit("a", 0),
        hit("b", 1, valid_to=NOW + 1),
        hit("c", 2, standing=Standing.SUPERSEDED),
        hit("d", 3, recorded_at=NOW - 4 * MONTH),
    ]
    trace = rerank(hits, now=NOW, freshness_from="recorded").trace.as_dict()
    assert trace == {
        "profile": "validity",
        "method": "validity-multiplier-v1",
        "weights": {
            "freshness_half_life_secs": 2_592_000,
            "scope_bonus": 0.10,
            "provenance_boost": 0.15,
            "superseded_penalty": 0.35,
            "expiring_penalty": 0.70,
            "stale_freshness": 0.5,
            "context_invalid_freshness": 0.125,
        },
        "now": "2024-07-01T00:00:00Z",
        "freshness_from": "recorded",
        "grade_counts": {"valid": 1, "stale": 1, "context_invalid": 2},
        "flagged_context_invalid": 2,
        "reranked": True,
        "base": "rank",
        "why": "re-ranked: base score from the ranks",
    }
    assert json.loads(json.dumps(trace)) == trace


OLD_FIRST = (hit("old", 0, recorded_at=NOW - 2 * MONTH), hit("new", 1))


@pytest.mark.parametrize(
    ("profile", "mode", "order", "why"),
    [
        ("validity", "fused", ["new", "old"], "re-ranked: base score from the rerank scores"),
        (
            "validity",
            "lexical",
            ["old", "new"],
            "annotated only: mode lexical, and only fused mode is re-ranked",
        ),
        (
            "validity",
            "dense",
            ["old", "new"],
            "annotated only: mode dense, and only fused mode is re-ranked",
        ),
        (None, "fused", ["old", "new"], "annotated only: validity_annotate"),
        ("default", "lexical", ["old", "new"], "annotated only: validity_annotate"),
    ],
)
def test_only_the_profile_in_fused_mode_moves_anything(
    profile: str | None, mode: str, order: list[str], why: str
) -> None:
    ranked = profiled(OLD_FIRST, [1, 0.9], profile=profile, mode=Mode(mode), now=NOW)
    assert ids(ranked) == order
    assert (ranked.trace.reranked, ranked.trace.why) == (order == ["new", "old"], why)
    assert ranked.trace.profile == (profile or "default")
    blocks = {rated.facts.id: rated.validity for rated in ranked.hits}
    assert blocks == {each.id: judge(each, now=NOW) for each in OLD_FIRST}


def test_an_annotated_list_is_in_the_order_of_its_ranks_without_scores() -> None:
    ranked = annotate(OLD_FIRST[::-1], now=NOW)
    assert ids(ranked) == ["old", "new"]
    assert [(rated.base, rated.final) for rated in ranked.hits] == [(None, None)] * 2
    assert ranked.trace.base is None


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    assert profile_of(None) is Profile.DEFAULT
    assert profile_of("validity") is Profile.VALIDITY
    with pytest.raises(doxa.CallerError, match=r"profile is 'valid', .* 'default' or 'validity'"):
        profiled(OLD_FIRST, profile="valid", mode=Mode.FUSED, now=NOW)
    with pytest.raises(doxa.CallerError, match=r"freshness_from is 'seen', .* 'observed' or 'rec"):
        rerank(OLD_FIRST, now=NOW, freshness_from="seen")


def test_the_weights_are_the_numbers_that_count() -> None:
    assert validity.WEIGHTS == {
        "freshness_half_life_secs": validity.HALF_LIFE / 1_000_000,
        "scope_bonus": validity.SCOPE_BONUS,
        "provenance_boost": validity.PROVENANCE_BOOST,
        "superseded_penalty": validity.SUPERSEDED_PENALTY,
        "expiring_penalty": validity.EXPIRING_PENALTY,
        "stale_freshness": validity.STALE_FRESHNESS,
        "context_invalid_freshness": validity.CONTEXT_INVALID_FRESHNESS,
    }


# ---------------------------------------------------------------- against the slow twin

AGES = st.one_of(
    st.sampled_from([edge * MONTH + off for edge in (0, 1, 2, 3) for off in (-1, 0, 1)]),
    st.integers(-MONTH, 5 * MONTH),
    st.integers(-(2**62), 80 * 365 * DAY),
)
LEFT = st.one_of(
    st.none(),
    st.sampled_from([edge + off for edge in (0, MONTH) for off in (-1, 0, 1)]),
    st.integers(-MONTH, 2 * MONTH),
)


@st.composite
def hits(draw: st.DrawFn, now: int) -> slowly.Hit:
    left, seen = draw(LEFT), draw(st.one_of(st.none(), AGES))
    return slowly.Hit(
        id=draw(st.sampled_from("abcde")),
        standing=draw(st.sampled_from([str(standing) for standing in Standing])),
        scope=draw(st.sampled_from(["exact", "global", "none"])),
        recorded_at=now - draw(AGES),
        observed_at=None if seen is None else now - seen,
        valid_to=None if left is None else now + left,
        verified=draw(st.booleans()),
        corroborated=draw(st.booleans()),
        rejected=draw(st.booleans()),
        eligible=draw(st.sampled_from([True, True, True, False])),
    )


def as_facts(given: slowly.Hit, rank: int = 0) -> Facts:
    fields = vars(given) | {
        "standing": Standing(given.standing),
        "scope": Scope(given.scope),
        "valid_to": POS if given.valid_to is None else given.valid_to,
    }
    return Facts(rank=rank, **fields)


def close(found: float | None, exact: Decimal) -> bool:
    assert found is not None
    return isclose(found, float(exact), rel_tol=1e-12, abs_tol=1e-300)


@given(data=st.data(), now=st.integers(0, 2**52), by_recording=st.booleans())
def test_a_block_is_what_the_oracle_finds(
    data: st.DataObject, now: int, by_recording: bool
) -> None:
    given = data.draw(hits(now))
    counted = FreshnessFrom.RECORDED if by_recording else FreshnessFrom.OBSERVED
    found = judge(as_facts(given), now=now, freshness_from=counted)
    block = found.as_dict()
    signals = block.pop("signals")
    assert close(block.pop("freshness"), slowly.fresh(given, now, by_recording))
    assert close(block.pop("multiplier"), slowly.multiplier(given, now, by_recording))
    assert block == slowly.block(given, now, by_recording)
    assert signals[0] == f"freshness:{found.freshness:.3f}"
    assert ("expiring_soon" in signals, "expired" in signals, "superseded" in signals) == (
        found.expiring_soon,
        found.expired,
        found.superseded,
    )


SCORES = st.one_of(
    st.sampled_from([1.0, 0.5, 0.25]),
    st.floats(1e-3, 1e3),
    st.sampled_from([None, nan, inf, 0.0, -1.0]),
)


@given(data=st.data(), now=st.integers(0, 2**52), by_recording=st.booleans())
def test_an_order_is_what_the_oracle_finds(
    data: st.DataObject, now: int, by_recording: bool
) -> None:
    given = data.draw(st.lists(hits(now), max_size=8))
    scores = data.draw(
        st.one_of(
            st.none(),
            st.lists(SCORES, min_size=len(given), max_size=len(given)),
            st.lists(st.sampled_from([1.0, 2.0]), min_size=len(given), max_size=len(given)),
        )
    )
    counted = FreshnessFrom.RECORDED if by_recording else FreshnessFrom.OBSERVED
    facts = [as_facts(each, rank) for rank, each in enumerate(given)]
    ranked = rerank(facts, scores, now=now, freshness_from=counted)
    assert sorted(rated.facts.rank for rated in ranked.hits) == [*range(len(given))]

    exact = slowly.finals(given, scores, now, by_recording)
    pairs = []
    for rated in ranked.hits:
        if rated.final is None:
            assert ranked.hits[rated.facts.rank] == rated
        else:
            assert close(rated.final, exact[rated.facts.rank])
            pairs.append((exact[rated.facts.rank], rated.final))
    if all(told_apart(*pair) for pair in pairwise(sorted(pairs))):
        expected = slowly.order(given, scores, now, by_recording)
        assert [rated.facts.rank for rated in ranked.hits] == expected


def told_apart(one: tuple[Decimal, float], other: tuple[Decimal, float]) -> bool:
    """Whether two finals are as equal, or clearly as different, in floats as they are exactly."""
    if one[0] == other[0]:
        return one[1] == other[1]
    return not isclose(one[1], other[1], rel_tol=1e-12, abs_tol=1e-300)


@given(data=st.data(), now=st.integers(0, 2**52))
def test_the_order_is_that_of_the_facts_and_not_of_how_they_are_given(
    data: st.DataObject, now: int
) -> None:
    given = data.draw(st.lists(hits(now), max_size=8))
    facts = [as_facts(each, rank) for rank, each in enumerate(given)]
    shuffled = data.draw(st.permutations(facts))
    assert rerank(shuffled, now=now) == rerank(facts, now=now)
    assert annotate(shuffled, now=now) == annotate(facts, now=now)


def test_finals_that_are_equal_but_for_rounding_go_by_id() -> None:
    """Of eleven the first, which expires, is worth 0.7; so is the fifth, in the exact scope: in
    floats a little more."""

    def fact(id: str, rank: int, scope: Scope, valid_to: int) -> Facts:
        return Facts(id, rank, Standing.REPORTED, scope, recorded_at=0, valid_to=valid_to)

    assert 7 / 11 * (1 + validity.SCOPE_BONUS) > validity.EXPIRING_PENALTY
    hits = [fact(f"z{rank}", rank, Scope.NONE, POS) for rank in range(11)]
    hits[0], hits[4] = fact("a", 0, Scope.NONE, DAY), fact("b", 4, Scope.EXACT, POS)
    final = {hit.facts.id: hit.final for hit in rerank(hits, now=0).hits}
    assert final["a"] == final["b"] == 0.7
    assert [*final].index("b") == [*final].index("a") + 1
