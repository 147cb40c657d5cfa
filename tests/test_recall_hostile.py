"""Questions, embedders, judges and options as bad as they come: told of, and never a crash."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.outcomes import Gap, Outcome
from doxa.questions import in_few
from tests.asked import (
    NAME,
    ask,
    by_hand,
    calibrated,
    gaps,
    ids,
    now,
    said,
    strict,
    vector,
    verdicts,
)

# ---------------------------------------------------------------- questions

ODD = [
    '"',
    "'",
    'word AND "word',
    "word* OR NOT ~word^2 (",
    "NEAR(word, 5)",
    "subject:word",
    "^(word|.*)+$",
    "(a+)+$",
    "[[:alpha:]]{1000}",
    "'; DROP TABLE log; --",
    "word\x00word",
    "\x00",
    "\x01\x02\x1b[31m",
    "\x7f\x85\u2028\u2029",
    "\u202eword\u202c",
    "\ufeffword\u200b",
    "كلمة עברית",
    "東京 で 単語",
    "🙂👩‍👩‍👧‍👦🇩🇪",
    "e\u0301 \u0301",
    "word " * 20_000,
    "w" * 100_000,
    "3.14 1e308 -0 0x10 ١٢٣",
    "\ue000 \U0010ffff \ufffe",
    "İıſß ﬁ Ⅷ",
    "%s %d {0} {} $1 \\1",
    "../../etc/passwd",
    "null",
    "-",
    "...",
    "\\",
]


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
def test_an_odd_question_is_a_question_like_any_other(query: str) -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        for options in ({}, {"mode": "lexical"}, {"trust": "standing", "budget": 500}):
            answer = ask(ledger, query, **options)
            assert answer.outcome in (Outcome.ANSWERED, Outcome.ABSTAINED)
            assert answer.query == query
            assert json.loads(answer.to_bytes())["query"] == query
            assert answer.to_bytes() == ask(ledger, query, **options).to_bytes()


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
def test_what_was_said_in_an_odd_way_is_found_and_given_as_it_was(
    ledger: doxa.Ledger, query: str
) -> None:
    try:
        said(ledger, "a", f"zebra {query}")
    except doxa.InvalidEvent:
        return  # no event may say that
    answer = ask(ledger, "zebra")
    assert [hit.said for hit in answer] == [f"zebra {query}"]
    assert all(line[:1] in (">", "R", "u", "(", "") for line in answer.text.splitlines())


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "query is empty"),
        (" \n\t\u3000", "query is empty"),
        ("w" * 1_000_000, "at most 100,000"),
        ("\ud800", "half of a surrogate pair at 0"),
        ("word \udfff", "half of a surrogate pair at 5"),
        (None, "query is None; give text"),
        (5, "query is 5; give text"),
        (b"word", "give text"),
        (["word"], "give text"),
    ],
)
def test_what_is_no_question_is_the_callers_mistake(
    ledger: doxa.Ledger, query: Any, words: str
) -> None:
    said(ledger, "a", "word")
    with pytest.raises(doxa.CallerError, match=words):
        ask(ledger, query)
    with pytest.raises(doxa.CallerError, match=words):
        ledger.recall_batch(["word", query], view=now(ledger))


@pytest.mark.parametrize("name", ["subject", "predicate", "perspective", "kind"])
def test_a_filter_that_is_no_unicode_text_is_the_callers_mistake(
    ledger: doxa.Ledger, name: str
) -> None:
    said(ledger, "a", "word")
    with pytest.raises(doxa.CallerError, match=f"{name} holds half of a surrogate pair at 1"):
        ask(ledger, **{name: "a\ud800"})


@pytest.mark.parametrize("name", ["workspace", "perspective"])
def test_a_view_of_what_is_no_unicode_text_is_the_callers_mistake(
    ledger: doxa.Ledger, name: str
) -> None:
    said(ledger, "a", "word")
    with pytest.raises(doxa.CallerError, match="half of a surrogate pair at 0"):
        ask(ledger, view=now(ledger, **{name: "\ud800"}))


@given(st.text(max_size=30))
def test_no_text_is_too_odd_to_be_asked(query: str) -> None:
    with doxa.open() as ledger:
        said(ledger, "a", "word")
        try:
            answer = ask(ledger, query)
        except doxa.CallerError:
            assert not query.strip() or any("\ud800" <= char <= "\udfff" for char in query)
        else:
            json.loads(answer.to_bytes())


# ---------------------------------------------------------------- embedders


def _endless(texts: list[str]) -> Iterator[list[float]]:
    while True:
        yield [1.0, 0.0, 0.0]


ANSWERS: dict[str, Callable[[list[str]], Any]] = {
    "NaN": lambda texts: [[math.nan] * 3] * len(texts),
    "infinite": lambda texts: [[math.inf, 0, 0]] * len(texts),
    "zeros": lambda texts: [[0.0] * 3] * len(texts),
    "another dimension": lambda texts: [[1.0]] * len(texts),
    "no dimension": lambda texts: [[]] * len(texts),
    "too few": lambda texts: [],
    "too many": lambda texts: [[1.0, 0, 0]] * (len(texts) + 1),
    "endlessly many": _endless,
    "nothing": lambda texts: None,
    "text": lambda texts: "vectors",
    "texts": lambda texts: ["abc"] * len(texts),
    "numbers as texts": lambda texts: [["1", "0", "0"]] * len(texts),
    "Nones": lambda texts: [[None] * 3] * len(texts),
    "booleans": lambda texts: [[True, False, False]] * len(texts),
    "too deep": lambda texts: [[[1.0, 0, 0]]] * len(texts),
    "ragged": lambda texts: [[1.0, [0], 0]] * len(texts),
    "huge whole numbers": lambda texts: [[10**400, 0, 0]] * len(texts),
    "complex": lambda texts: [[1j, 0, 0]] * len(texts),
    "objects": lambda texts: [[object()] * 3] * len(texts),
    "an array of objects": lambda texts: np.array([[None] * 3] * len(texts), object),
    "a number": lambda texts: 5,
    "a mapping": lambda texts: {text: [1.0, 0, 0] for text in texts},
    "an error": lambda texts: ValueError("not raised"),
    # what clear returns is None, and so the list that follows
    "a lying length": lambda texts: texts.clear() or [],  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("fault", ANSWERS)
def test_an_embedder_that_answers_a_question_wrongly_refuses_it(fault: str) -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        assert verdicts(ask(ledger)) == {"a": "ok"}
        ledger.embedder = by_hand({"word": 0.9}, embed_query=ANSWERS[fault])
        answer = ask(ledger)
        assert answer.outcome is Outcome.REFUSED
        assert set(gaps(answer)) <= {Gap.VECTORS_UNAVAILABLE, Gap.DEPENDENCY_UNAVAILABLE}
        assert b"subject of a" not in answer.to_bytes()
        by_words = ask(ledger, trust="standing")
        assert (by_words.outcome, ids(by_words)) == (Outcome.PARTIAL, ["a"])


@pytest.mark.parametrize("fault", [fault for fault in ANSWERS if fault != "zeros"])
def test_an_embedder_that_embeds_documents_wrongly_refuses_what_needs_them(fault: str) -> None:
    embedder = doxa.Embedder(
        NAME, ANSWERS[fault], embed_query=lambda texts: [vector(1.0)] * len(texts), dimension=3
    )
    with doxa.open(embedder=embedder) as ledger:
        calibrated(ledger)
        said(ledger, "a", "word")
        answer = ask(ledger)
        assert answer.outcome is Outcome.REFUSED
        assert gaps(answer)[0] in (Gap.VECTORS_UNAVAILABLE, Gap.DEPENDENCY_UNAVAILABLE)
        assert b"subject of a" not in answer.to_bytes()
        assert ids(ask(ledger, mode="lexical", trust="standing")) == ["a"]


@pytest.mark.parametrize(
    "wrong", [5, "name", lambda texts: texts, object(), (NAME, lambda texts: texts)]
)
def test_what_is_no_embedder_is_the_callers_mistake(wrong: Any) -> None:
    with pytest.raises(doxa.CallerError, match=r"give a doxa\.Embedder"):
        doxa.open(embedder=wrong)


# ---------------------------------------------------------------- rerankers and judges


@pytest.mark.parametrize("count", [0, 1, 3, 100])
@pytest.mark.parametrize("what", ["rerank", "judge"])
def test_a_wrong_number_of_answers_is_an_error_that_quotes_nothing(count: int, what: str) -> None:
    with strict({"word secret": 0.9, "word hidden": 0.8}) as ledger:
        said(ledger, "a", "word secret")
        said(ledger, "b", "word hidden")
        given: Any = [True] * count
        with pytest.raises(doxa.CallerError, match=r"gave .* (scores|decisions)") as caught:
            ask(ledger, **{what: lambda query, texts: given})
        chain: BaseException | None = caught.value
        while chain is not None:
            assert "secret" not in str(chain)
            assert "hidden" not in str(chain)
            chain = chain.__cause__ or chain.__context__


@pytest.mark.parametrize("what", ["rerank", "judge"])
def test_answers_without_an_end_are_read_no_further_than_needed(what: str) -> None:
    read = 0

    def endless(query: str, texts: list[str]) -> Iterator[bool]:
        nonlocal read
        while True:
            read += 1
            yield True

    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        with pytest.raises(doxa.CallerError, match="gave 2"):
            ask(ledger, **{what: endless})
        assert read == 2


@pytest.mark.parametrize("what", ["rerank", "judge"])
@pytest.mark.parametrize("given", [None, 5, object(), True])
def test_what_is_no_list_of_answers_is_a_dependency_that_failed(what: str, given: Any) -> None:
    with strict({"word": 0.9}) as ledger:
        said(ledger, "a", "word")
        answer = ask(ledger, **{what: lambda query, texts: given})
        assert gaps(answer) == [Gap.DEPENDENCY_UNAVAILABLE]
        expected = Outcome.PARTIAL if what == "rerank" else Outcome.REFUSED
        assert answer.outcome is expected


def test_answers_that_are_made_as_they_are_read_are_read() -> None:
    with strict({"word one": 0.9, "word two": 0.8}) as ledger:
        said(ledger, "a", "word one")
        said(ledger, "b", "word two")
        answer = ask(
            ledger,
            rerank=lambda query, texts: (float("two" in text) for text in texts),
            judge=lambda query, texts: ("two" in text for text in texts),
        )
        assert list(verdicts(answer).items()) == [("b", "ok"), ("a", "not_entailed")]


@pytest.mark.parametrize(
    "odd",
    [math.nan, math.inf, -math.inf, None, "1", 10**400, True, decimal.Decimal(1), [1.0], object()],
)
def test_where_a_score_is_odd_the_order_counts_in_place_of_all(
    ledger: doxa.Ledger, odd: Any
) -> None:
    for id in "abc":
        said(ledger, id, "word")
    scores = {"a": 1.0, "b": odd, "c": 2.0}
    answer = ask(ledger, rerank=lambda query, texts: [scores[id] for id in "abc"])
    assert ids(answer) == ["c", "a", "b"]
    assert [hit.score for hit in answer] == [1.0, 2 / 3, 1 / 3]
    json.loads(answer.to_bytes())


def test_scores_that_are_finite_are_the_scores(ledger: doxa.Ledger) -> None:
    for id in "abc":
        said(ledger, id, "word")
    given = [np.float32(-1.5), 10**300, 0]
    answer = ask(ledger, rerank=lambda query, texts: given)
    assert [(hit.id, hit.score) for hit in answer] == [("b", 1e300), ("c", 0.0), ("a", -1.5)]


def test_a_reranker_that_changes_the_texts_it_was_given_changes_nothing_else(
    ledger: doxa.Ledger,
) -> None:
    for id in "ab":
        said(ledger, id, "word")

    def rerank(query: str, texts: list[str]) -> list[float]:
        texts[:] = ["changed"] * 5
        return [1.0, 2.0]

    assert [(hit.id, hit.said) for hit in ask(ledger, rerank=rerank)] == [
        ("b", "word"),
        ("a", "word"),
    ]


def test_a_timeout_of_others_is_theirs_alone(ledger: doxa.Ledger) -> None:
    said(ledger, "a", "word")

    def rerank(query: str, texts: list[str]) -> list[float]:
        raise KeyboardInterrupt

    answer = ask(ledger, rerank=rerank)
    assert (answer.outcome, ids(answer)) == (Outcome.PARTIAL, ["a"])


# ---------------------------------------------------------------- options


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


MANY = 10**5_000
WRONG: list[tuple[str, list[Any], str]] = [
    ("top_k", [0, -1, 10_001, 1.0, "1", None, True, math.nan, MANY, [1]], "whole number from 1 to"),
    ("pool", [0, -1, 10_001, 1.5, "1", True, MANY], "whole number from 1 to"),
    ("scan_limit", [0, -1, 1.5, "1", True, MANY], "whole number from 1 to"),
    ("budget", [-1, 1.5, "1", True, MANY, math.inf], "whole number from 0 to"),
    ("max_age", [-1, math.nan, math.inf, "1", True, MANY, -MANY, 10**400], "give a timedelta, or"),
    ("timeout", [0, -1, math.nan, math.inf, "1", True, None, MANY, 10**400, 1e300], "give seconds"),
    ("mode", ["", "words", 5, b"dense", ["dense"], np.array(["a", "b"]), True], "lexical, dense"),
    ("trust", ["", "none", 5, True, ["strict"], np.array(["a", "b"])], "strict, standing"),
    ("tier", ["", "fact", 5, [], [5], {}, np.array(["a", "b"]), b"claim"], "claim, summary, quote"),
    ("standing", ["", "held?", 5, [5], [[]], [None], [], ()], "they are not_yet_known"),
    ("workspace", [5, True, [""], b""], "give text"),
    ("workspace", ["elsewhere", "\x00"], "which the view does not see"),
    ("subject", [5, True, [""], b"a"], "give text"),
    ("predicate", [5, ["a"]], "give text"),
    ("perspective", [5, ["a"]], "give text"),
    ("kind", [5, ["a"]], "give text"),
    ("profile", ["", "trust", 5, True, [], "x" * 10_000], "'default' or 'validity'"),
    ("freshness_from", ["", "now", 5, None, []], "'observed' or 'recorded'"),
    ("now", ["", "yesterday", 5, True, [], "2024-13-01"], "now"),
    ("predecessors", [None, 1, "yes", []], "give True or False"),
    ("validity_annotate", [None, 1, "yes", 0], "give True or False"),
    ("fresh", [None, 1, "yes", 0], "give True or False"),
    ("count", [5, "tokens", [], True], "give a function"),
    ("rerank", [5, "best", [], True], "give a function"),
    ("judge", [5, "me", [], True], "give a function"),
    ("calibration", [5, True, [], b"c"], "give the id of one"),
    ("candidates", [5, "c", b"c", {"id": "c"}, True], "give a list of candidates"),
    ("as_of", ["2024-01-01", None], "valid_at .*known_at"),
    ("limit", [5], "takes no 'limit'"),
    ("top_K", [5], "it takes view, mode, trust, top_k"),
]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [(name, one, words) for name, each, words in WRONG for one in each],
    ids=[f"{name}-{number}" for name, each, _ in WRONG for number in range(len(each))],
)
def test_an_option_that_can_not_be_used_is_named_with_its_value_and_the_next_step(
    ledger: doxa.Ledger, name: str, value: Any, words: str
) -> None:
    said(ledger, "a", "word")
    with pytest.raises(doxa.CallerError, match=words) as caught:
        ask(ledger, **{name: value})
    told = str(caught.value)
    assert name in told
    assert len(told) < 700
    unshown = name in ("as_of", "limit", "top_K", "count", "candidates", "now")
    if not unshown and not isinstance(value, list | np.ndarray):
        assert in_few(value)[:30] in told
    if name not in ("timeout", "fresh", "rerank", "judge", "calibration", "candidates", "mode"):
        with pytest.raises(doxa.CallerError, match=words):
            ledger.recall_batch(["word"], view=now(ledger), **{name: value})


@pytest.mark.parametrize("name", ["top_k", "budget", "mode", "tier", "fresh", "timeout", "max_age"])
def test_a_value_that_can_not_be_shown_is_named_by_its_type(ledger: doxa.Ledger, name: str) -> None:
    with pytest.raises(doxa.CallerError, match="of type Unspeakable"):
        ask(ledger, **{name: Unspeakable()})


@pytest.mark.parametrize("options", [{"top_k": 10_000}, {"pool": 10_000}, {"scan_limit": 2**62},
                                     {"budget": 2**63 - 1}, {"max_age": 0}, {"max_age": 1e18},
                                     {"timeout": 1e-9}, {"timeout": 86_400}, {"pool": None},
                                     {"top_k": np.int64(3).item()}])  # fmt: skip
def test_an_option_at_its_bounds_is_taken(ledger: doxa.Ledger, options: dict[str, Any]) -> None:
    said(ledger, "a", "word")
    answer = ask(ledger, **options)
    assert ids(answer) == ["a"]
    json.loads(answer.to_bytes())
