"""An embedder's answers: what is accepted, what is refused, and how long is waited."""

from __future__ import annotations

import contextvars
import math
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.engine.bounded import bounded, in_short
from doxa.engine.embedding import Embedder, unit_vectors
from doxa.engine.errors import CallerError
from doxa.engine.outcomes import Gap, Unavailable
from tests.support import ROOT


def giving(answer: Any, **options: Any) -> Embedder:
    return Embedder("x", lambda texts: answer, **options)


def refusal(call: Callable[[], object]) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        call()
    return caught.value


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize(
    "answer",
    [
        [[3, 4], [0.0, -2.0]],
        ((3.0, 4.0), (0.0, -2.0)),
        [np.array([3.0, 4.0]), np.array([0, -2], np.float32)],
        np.array([[3, 4], [0, -2]], np.int64),
        np.array([[3, 4], [0, -2]], np.float16),
        iter([[3, 4], [0, -2]]),
    ],
)
def test_lists_tuples_and_arrays_become_unit_vectors(answer: object) -> None:
    found = giving(answer).vectors(["a", "b"])
    assert found.dtype == np.float32
    assert found.tolist() == np.array([[0.6, 0.8], [0.0, -1.0]], np.float32).tolist()


WRONG: dict[str, tuple[object, str]] = {
    "too few": ([[1.0, 2.0]], "returned 1 vectors for 2 texts"),
    "too many": ([[1.0], [2.0], [3.0]], "returned more vectors for 2 texts"),
    "too many rows": (np.ones((5, 2)), "returned 5 vectors for 2 texts"),
    "nothing": (None, "returned a NoneType where a list of vectors is expected"),
    "text": ("ab", "returned a str where a list of vectors is expected"),
    "NaN": (
        [[1.0, 2.0], [1.0, math.nan]],
        "the vector of text 2 of 2: it has a number that is NaN",
    ),
    "infinite": ([[math.inf, 1.0], [1.0, 1.0]], "text 1 of 2: it has a number that is infinite"),
    "NaN in an array": (
        np.array([[1, np.nan], [1, 1]]),
        "text 1 of 2: it has a number that is NaN",
    ),
    "too large": ([[1.0, 1.0], np.array([np.longdouble("1e4000"), 1])], "text 2 of 2: it has a"),
    "zeros": ([[1.0, 2.0], [0.0, -0.0]], "text 2 of 2: all of it is zero"),
    "empty": ([[1.0, 2.0], []], "text 2 of 2: it is empty"),
    "empty arrays": (np.ones((2, 0)), "text 1 of 2: its dimension is 0"),
    "ragged": ([[1.0, 2.0], [1.0, 2.0, 3.0]], "text 2 of 2: it has dimension 3 where that of text"),
    "words": ([[1.0, 2.0], ["1.0", "2.0"]], "text 2 of 2: it is no list of numbers"),
    "yes and no": ([[1.0, 2.0], [True, False]], "text 2 of 2: it is no list of numbers"),
    "complex": ([[1j, 2.0], [1.0, 2.0]], "text 1 of 2: it is no list of numbers"),
    "a hole": ([[1.0, None], [1.0, 2.0]], "text 1 of 2: it is no list of numbers"),
    "nested": ([[[1.0], [2.0]], [1.0, 2.0]], "text 1 of 2: it is no list of numbers"),
    "nested raggedly": ([[[1.0], 2.0], [1.0, 2.0]], "text 1 of 2: it is no list of numbers"),
    "one vector": ([1.0, 2.0], "text 1 of 2: it is no list of numbers"),
    "a mapping": ({"a": [1.0], "b": [2.0]}, "text 1 of 2: it is no list of numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_refused_with_the_text_and_what_is_wrong(case: str) -> None:
    answer, words = WRONG[case]
    found = refusal(lambda: giving(answer).vectors(["a", "b"]))
    assert found.reason is Gap.VECTORS_UNAVAILABLE
    assert found.detail.startswith("embedder 'x'")
    assert words in found.detail


def test_another_dimension_than_the_stated_one_is_refused() -> None:
    found = refusal(lambda: giving([[1.0, 2.0]], dimension=3).query("a"))
    assert found.reason is Gap.VECTORS_UNAVAILABLE
    assert "has dimension 2 where 3 is expected" in found.detail


def test_an_endless_answer_is_read_no_further_than_needed() -> None:
    def endless(texts: list[str]) -> Any:
        while True:
            yield [1.0, 2.0]

    assert "more vectors for 1 texts" in refusal(lambda: Embedder("x", endless).query("a")).detail


def test_zeros_stay_where_they_are_asked_for() -> None:
    found = giving([[0.0, 0.0], [0.0, 5.0]]).vectors(["a", "b"], zeros=True)
    assert found.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_no_text_has_no_vector() -> None:
    assert giving([]).vectors([]).shape == (0, 0)


def test_questions_may_be_embedded_in_their_own_way() -> None:
    both = Embedder("x", lambda t: [[1.0, 0.0]] * len(t), embed_query=lambda t: [[0.0, 1.0]])
    assert both.vectors(["a"]).tolist() == [[1.0, 0.0]]
    assert both.query("a").tolist() == [0.0, 1.0]
    assert Embedder("x", both.embed).query("a").tolist() == [1.0, 0.0]


def test_no_more_texts_go_into_one_call_than_a_batch_has() -> None:
    asked: list[int] = []

    def counting(texts: list[str]) -> list[list[float]]:
        asked.append(len(texts))
        return [[1.0, float(text)] for text in texts]

    embedder = Embedder("x", counting, batch=3)
    texts = [str(number) for number in range(7)]
    assert embedder.vectors(texts).tolist() == [embedder.query(text).tolist() for text in texts]
    assert asked[:3] == [3, 3, 1]


def test_a_dimension_that_changes_between_two_calls_is_refused() -> None:
    wavering = Embedder("x", lambda texts: [[1.0] * len(text) for text in texts], batch=1)
    assert (
        "has dimension 3 where 2 is expected"
        in refusal(lambda: wavering.queries(["ab", "abc"])).detail
    )


def test_a_list_that_was_emptied_by_the_embedder_still_counts() -> None:
    assert (
        "0 vectors for 2 texts"
        in refusal(
            lambda: Embedder("x", lambda texts: [texts.pop(), texts.pop()][2:]).vectors(["a", "b"])
        ).detail
    )


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_whatever_is_finite_and_not_zero_gets_length_one(rows: list[list[float]]) -> None:
    rows = [row if any(row) else [1.0, *row[1:]] for row in rows]
    found = unit_vectors(rows, len(rows), "x")
    for row, unit in zip(rows, found.tolist(), strict=True):
        assert math.isclose(math.hypot(*unit), 1.0, rel_tol=1e-6)
        largest = max(map(abs, row))
        exact = [number / largest for number in row]
        length = math.hypot(*exact)
        assert unit == pytest.approx([number / length for number in exact], abs=1e-7)


# ---------------------------------------------------------------- calls


def test_an_embedder_that_raises_is_told_by_type_and_message_on_one_short_line() -> None:
    def failing(texts: list[str]) -> object:
        raise OSError("no such model:\n  " + "very " * 100 + "\x1b[31mred")

    found = refusal(lambda: Embedder("x", failing).vectors(["a"]))
    assert found.reason is Gap.DEPENDENCY_UNAVAILABLE
    assert found.detail.startswith("embedder 'x' failed: OSError 'no such model: very very")
    assert len(found.detail) < 250
    assert found.detail.isprintable()
    assert isinstance(found.__cause__, OSError)


def test_an_error_that_can_not_be_put_into_words_is_told_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def failing() -> object:
        raise Mute

    assert "Mute, which can't be put into words" in refusal(lambda: bounded(failing, 9, "x")).detail


def test_leaving_the_interpreter_from_within_is_a_failure() -> None:
    found = refusal(lambda: bounded(lambda: sys.exit(3), 9, "judge 'j'"))
    assert (found.reason, found.detail) == (
        Gap.DEPENDENCY_UNAVAILABLE,
        "judge 'j' failed: SystemExit '3'",
    )


def test_what_is_unavailable_within_passes_as_it_is() -> None:
    within = Unavailable(Gap.NOT_READY, "later")

    def failing() -> object:
        raise within

    assert refusal(lambda: bounded(failing, 9, "x")) is within


def test_one_that_hangs_is_not_waited_for() -> None:
    release = threading.Event()
    try:
        hanging = Embedder("x", lambda texts: release.wait(60), timeout=0.05)
        found = refusal(lambda: hanging.query("a"))
    finally:
        release.set()
    assert found.reason is Gap.DEPENDENCY_UNAVAILABLE
    assert found.detail == "embedder 'x' gave no answer within 0.05 s"


def test_an_answer_that_hangs_as_it_is_read_is_not_waited_for() -> None:
    release = threading.Event()

    def lazily(texts: list[str]) -> Any:
        yield [1.0]
        release.wait(60)

    try:
        found = refusal(lambda: Embedder("x", lazily, timeout=0.05).vectors(["a", "b"]))
    finally:
        release.set()
    assert found.reason is Gap.DEPENDENCY_UNAVAILABLE


def test_one_that_hangs_does_not_keep_the_interpreter_from_ending() -> None:
    program = """
        import time
        from doxa.engine.bounded import bounded
        from doxa.engine.outcomes import Unavailable
        try:
            bounded(lambda: time.sleep(3_600), 0.05, "x")
        except Unavailable as error:
            print(error.detail)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout == "x gave no answer within 0.05 s\n"


def test_the_callers_context_is_there_within() -> None:
    color = contextvars.ContextVar[str]("color")
    color.set("green")
    assert bounded(color.get, 9, "x") == "green"


def test_words_in_short_are_quoted_and_on_one_line() -> None:
    assert in_short("it's\u202e\x00 so") == '"it\'s so"'


# ---------------------------------------------------------------- what an embedder may be


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": ""}, "name is ''"),
        ({"name": "  "}, "name is '  '"),
        ({"name": None}, "name is None"),
        ({"name": "a\nb"}, "name holds the control"),
        ({"embed": None}, "embed is None"),
        ({"embed": "model"}, "embed is 'model'"),
        ({"embed_query": 3}, "embed_query is 3"),
        ({"dimension": 0}, "dimension is 0"),
        ({"dimension": True}, "dimension is True"),
        ({"dimension": 384.0}, "dimension is 384.0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": math.nan}, "timeout is nan"),
        ({"timeout": math.inf}, "timeout is inf"),
        ({"timeout": "30"}, "timeout is '30'"),
        ({"batch": 0}, "batch is 0"),
    ],
)
def test_an_embedder_that_can_not_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(CallerError, match="an embedder's") as caught:
        Embedder(**{"name": "x", "embed": lambda texts: [], **options})
    assert words in str(caught.value)
