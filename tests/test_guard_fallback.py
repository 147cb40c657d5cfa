"""What a host has while its ledger refuses or is away: nothing, or a fallback that says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.contexts import LOCAL_ONLY
from doxa.engine.outcomes import Gap
from tests.guards import AT, LONG, held, nothing, patient, town, vectors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return town(tmp_path / "town.doxa")


@pytest.fixture
def hold() -> Iterator[Callable[[], bool]]:
    """A call that does not come back before the test is over."""
    with held() as call:
        yield call


# ---------------------------------------------------------------- refused


def test_a_recall_that_refuses_is_no_context(folder: Path) -> None:
    embedder = doxa.Embedder("test", vectors)
    with patient(folder, embedder=embedder) as guarded:
        context = guarded.assemble("Where does Ada live?", valid_at=AT)
        nothing(context, Gap.CALIBRATION_MISSING)
        assert context.block is not None
        assert context.answer is not None
        assert context.answer.outcome == "refused"
        nothing(guarded.recall("Where does Ada live?", valid_at=AT), "calibration_missing")
        assert "London" in guarded.assemble("Ada lives", valid_at=AT, trust="standing").text


def test_an_embedder_that_hangs_does_not_hold_the_host(
    folder: Path, hold: Callable[[], bool]
) -> None:
    def hangs(texts: list[str]) -> list[list[float]]:
        hold()
        return vectors(texts)

    with doxa.guard(folder, timeout=0.2, embedder=doxa.Embedder("slow", hangs)) as guarded:
        assert guarded.ready(LONG)
        began = time.monotonic()
        nothing(guarded.assemble("Ada", valid_at=AT, trust="standing"), "slow")
        assert time.monotonic() - began < 10


# ---------------------------------------------------------------- the fallback


def test_a_fallback_is_marked_in_its_first_line(tmp_path: Path) -> None:
    asked: list[str] = []

    def mine(query: str) -> str:
        asked.append(query)
        return "Ada lived in Paris."

    for fallback in (mine, "Ada lived in Paris."):
        guarded = patient(tmp_path / "none", fallback=fallback)
        context = guarded.assemble("Where?")
        assert context.text == f"{LOCAL_ONLY}\nAda lived in Paris."
        assert (context.source, context.degraded, context.reason) == ("local-only", True, "missing")
        assert (context.block, context.answer) == (None, None)
    assert asked == ["Where?"]


def test_a_fallback_is_not_asked_while_the_ledger_answers(folder: Path) -> None:
    def never(query: str) -> str:
        raise AssertionError(query)

    with patient(folder, fallback=never) as guarded:
        assert guarded.assemble("Ada", valid_at=AT).source == "ledger"
        assert guarded.assemble("Bob", valid_at=AT).text == ""  # it abstained, and that stands
        assert guarded.recall("Bob", valid_at=AT).degraded is False


@pytest.mark.parametrize("nothing_more", [None, "", " \n"])
def test_a_fallback_may_have_nothing(tmp_path: Path, nothing_more: str | None) -> None:
    nothing(patient(tmp_path / "no", fallback=lambda query: nothing_more).recall("Ada"), "missing")


def test_a_fallback_that_fails_is_told_and_nothing_is_raised(tmp_path: Path) -> None:
    def breaks(query: str) -> str:
        raise RuntimeError("no memory of it")

    context = patient(tmp_path / "no", fallback=breaks).assemble("Ada")
    nothing(context, "missing")
    assert "the fallback failed too: RuntimeError: no memory of it" in context.detail
    for wrong in (1, b"Ada", ["Ada"], object()):
        guarded = patient(tmp_path / "no", fallback=lambda query: wrong)  # noqa: B023
        context = guarded.assemble("Ada")
        nothing(context, "missing")
        assert "the fallback failed too: it gave " in context.detail


def test_a_mistake_in_a_budget_is_told_whether_the_ledger_is_there_or_not(
    folder: Path, tmp_path: Path
) -> None:
    counters: list[Any] = [lambda text: 1 / 0, lambda text: "many", lambda text: None]
    for guarded in (patient(folder), patient(tmp_path / "no", fallback="Ada")):
        for budget in ("huge", -1, 1.5, True):
            with pytest.raises(doxa.CallerError, match=r"budget is .*give a whole number"):
                guarded.assemble("Ada", valid_at=AT, budget=budget)  # type: ignore[arg-type]
        for count in counters:
            with pytest.raises(doxa.CallerError, match=r"the counter .* failed on a text"):
                guarded.assemble("Ada", valid_at=AT, count=count)


def test_a_fallback_keeps_the_budget(tmp_path: Path) -> None:
    guarded = patient(tmp_path / "no", fallback="x" * 100)
    size = len(LOCAL_ONLY) + 101
    assert guarded.assemble("Ada", budget=size).source == "local-only"
    short = guarded.assemble("Ada", budget=size - 1)
    assert (short.text, short.source) == ("", "none")
    assert "does not fit in the budget" in short.detail
    assert guarded.assemble("Ada", budget=1, count=lambda text: 1).source == "local-only"
    assert patient(tmp_path / "no", fallback="x" * 2_000).assemble("Ada").text == ""
    assert patient(tmp_path / "no", fallback="x" * 2_000).assemble("Ada", budget="large").text
