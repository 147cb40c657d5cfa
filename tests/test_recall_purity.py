"""Asking changes nothing, and the same question at the same view has the same answer for ever."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.outcomes import Outcome
from tests.asked import AT, Meanings, ask, by_hand, calibrated, files, ids, now, said, strict

MEANINGS: Meanings = {
    "word": 0.9,
    "the old word": 0.8,
    "the new word": 0.3,
    "a quoted word": 0.7,
    "a word in sum": 0.6,
    "torn word": 0.65,
    "the other side": 0.1,
}
WAYS: list[dict[str, Any]] = [
    {"mode": "lexical", "trust": "standing"},
    {"mode": "dense", "trust": "development"},
    {},
    {"profile": "validity", "standing": "any", "predecessors": True, "max_age": 1},
    {"budget": 700, "top_k": 2},
    {"mode": "lexical"},
]


def _fill(ledger: doxa.Ledger) -> None:
    """Something of everything that an answer may tell of."""
    calibrated(ledger)
    ledger.policy(single_valued="torn")
    said(ledger, "a", "word", recall_when=["ring"], source={"id": "s", "quote": "a quoted word"})
    said(ledger, "old", "the old word")
    said(ledger, "new", "the new word")
    ledger.correct("old", by="new")
    said(ledger, "x", "torn word", subject="one", predicate="torn")
    said(ledger, "y", "the other side", subject="one", predicate="torn")
    ledger.summarize("a word in sum", facts=["a"], id="n")
    said(ledger, "gone", "word")
    ledger.withdraw("gone")
    ledger.verify_claim("a")


def _grow(ledger: doxa.Ledger) -> None:
    """More of the same words, here and elsewhere, and all that can happen to what was there."""
    for number in range(5):
        said(ledger, f"later {number}", "word", recall_when=["ring"])
        said(ledger, f"elsewhere {number}", "the old word", workspace="w")
    ledger.withdraw("a")
    ledger.correct("new", source="s")
    ledger.support("x", source={"id": "t", "quote": "a quoted word"}, stance="refutes")
    said(ledger, "o", "torn word")
    fields = {"unresolved": "it", "candidates": ["y", "o"]}
    ledger.append([{"event": "correction", "id": "u", **fields}])
    ledger.policy(contradicts=["x", "o"])
    ledger.withdraw("n")
    ledger.policy(single_valued="is")


def _answers(ledger: doxa.Ledger, revision: int) -> list[bytes]:
    view = now(ledger, known_at=revision)
    return [ask(ledger, "word ring", view=view, **way).to_bytes() for way in WAYS]


def _open(path: Path | None = None) -> doxa.Ledger:
    return doxa.open(path, embedder=by_hand(MEANINGS))


# ---------------------------------------------------------------- nothing is written


@pytest.mark.parametrize("saved", [True, False])
def test_asking_changes_no_byte_of_the_ledgers_folder(tmp_path: Path, saved: bool) -> None:
    with _open(tmp_path) as ledger:
        _fill(ledger)
        if saved:
            ledger.index()
        before = files(tmp_path)
        for way in WAYS:
            assert ask(ledger, **way).outcome is not Outcome.REFUSED
        ledger.recall_batch(["word", "ring"], view=now(ledger))
        ask(ledger, candidates=[{"id": "c", "text": "word", "facts": ["a"]}])
        assert files(tmp_path) == before
        revision = ledger.revision
    with _open(tmp_path) as ledger:
        assert ledger.revision == revision


def test_asking_a_ledger_without_an_index_makes_no_files(tmp_path: Path) -> None:
    with _open(tmp_path) as ledger:
        _fill(ledger)
        before = set(files(tmp_path))
        ask(ledger)
        assert set(files(tmp_path)) == before


# ---------------------------------------------------------------- the same for ever


@pytest.mark.parametrize("indexed", [True, False])
def test_an_answer_stays_the_same_however_much_is_recorded_later(
    tmp_path: Path, indexed: bool
) -> None:
    with _open(tmp_path) as ledger:
        _fill(ledger)
        revision = ledger.revision
        before = _answers(ledger, revision)
        if indexed:
            ledger.index()
        _grow(ledger)
        assert _answers(ledger, revision) == before
        assert ask(ledger, "word ring").to_bytes() != before[2]
    with _open(tmp_path) as again:
        assert _answers(again, revision) == before
        again.index()
        assert _answers(again, revision) == before
    shutil.rmtree(tmp_path / "cache")
    with _open(tmp_path) as anew:
        assert _answers(anew, revision) == before


def test_an_answer_at_a_time_is_the_one_at_its_revision(tmp_path: Path) -> None:
    with _open() as ledger:
        _fill(ledger)
        revision = ledger.revision
        at = now(ledger, known_at=revision).graph.recorded_of(revision)
        from doxa.engine.times import moment

        _grow(ledger)
        by_time = ask(ledger, view=now(ledger, known_at=moment(at)))
        assert by_time.to_bytes() == ask(ledger, view=now(ledger, known_at=revision)).to_bytes()


def test_all_revisions_of_a_history_keep_their_answers() -> None:
    with _open() as ledger:
        calibrated(ledger)
        kept: dict[int, list[bytes]] = {}
        for step in range(12):
            kept[ledger.revision] = _answers(ledger, ledger.revision)
            said(ledger, f"a{step}", ["word", "the old word", "the new word"][step % 3])
            if step % 4 == 3:
                ledger.correct(f"a{step - 3}", by=f"a{step}")
        assert {revision: _answers(ledger, revision) for revision in kept} == kept


@pytest.mark.parametrize("trust", ["strict", "development", "standing"])
@pytest.mark.parametrize("mode", ["lexical", "dense", "fused"])
def test_an_answer_of_before_the_first_document_does_not_learn_a_dimension_later(
    trust: str, mode: str
) -> None:
    with doxa.open(embedder=by_hand(MEANINGS, dimension=None)) as ledger:
        calibrated(ledger)
        views = [now(ledger, known_at=revision) for revision in (0, 1)]
        before = [ask(ledger, view=view, trust=trust, mode=mode).to_bytes() for view in views]
        said(ledger, "b", "word", workspace="w")
        said(ledger, "a", "word")
        ledger.index()
        after = [ask(ledger, view=view, trust=trust, mode=mode).to_bytes() for view in views]
        assert after == before


def test_documents_of_other_workspaces_move_no_score(tmp_path: Path) -> None:
    with _open() as one, _open() as other:
        for ledger in (one, other):
            said(ledger, "a", "word and more", workspace="w")
            said(ledger, "b", "word", workspace="w")
        for number in range(20):
            said(other, f"c{number}", "word", workspace="x")
        for ledger in (one, other):
            calibrated(ledger, workspace="w")
        scores = [
            [
                (hit.id, hit.score, hit.scores)
                for hit in ask(ledger, view=now(ledger, workspace="w"))
            ]
            for ledger in (one, other)
        ]
        assert scores[0] == scores[1]


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    script = (
        "import sys, hashlib\n"
        "from pathlib import Path\n"
        "from tests.test_recall_purity import _answers, _open\n"
        "with _open(Path(sys.argv[1])) as ledger:\n"
        "    found = _answers(ledger, int(sys.argv[2]))\n"
        "print(hashlib.sha256(b'|'.join(found)).hexdigest())\n"
    )
    import hashlib

    with _open(tmp_path) as ledger:
        _fill(ledger)
        revision = ledger.revision
        expected = hashlib.sha256(b"|".join(_answers(ledger, revision))).hexdigest()
        _grow(ledger)
        for seed in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-c", script, str(tmp_path), str(revision)],
                capture_output=True,
                text=True,
                check=True,
                env={"PYTHONHASHSEED": seed, "PATH": ""},
                cwd=Path(__file__).parents[1],
            )
            assert done.stdout.strip() == expected


@given(st.lists(st.sampled_from(["claim", "withdraw", "correct", "elsewhere"]), max_size=8))
def test_whatever_comes_later_an_answer_stays_the_same(later: list[str]) -> None:
    with _open() as ledger:
        _fill(ledger)
        revision = ledger.revision
        before = _answers(ledger, revision)
        standing = ["a", "new", "x", "y"]
        for number, what in enumerate(later):
            if what == "claim":
                standing.append(said(ledger, f"l{number}", "the old word"))
            elif what == "elsewhere":
                said(ledger, f"e{number}", "word", workspace="w")
            elif what == "withdraw":
                ledger.withdraw(standing[number % len(standing)])
            else:
                ledger.correct(standing[number % len(standing)])
        assert _answers(ledger, revision) == before


# ---------------------------------------------------------------- many at once


def test_many_ask_while_one_records(tmp_path: Path) -> None:
    wrong: list[str] = []
    with _open(tmp_path) as ledger:
        _fill(ledger)
        revision = ledger.revision
        expected = _answers(ledger, revision)
        done = threading.Event()

        def guarded(call: Callable[[], None]) -> None:
            try:
                call()
            except BaseException as error:
                wrong.append(repr(error))
                raise

        def reader() -> None:
            while not done.is_set():
                if _answers(ledger, revision) != expected:
                    wrong.append("a past answer changed")
                live = ask(ledger, "word", mode="lexical", trust="standing", top_k=1_000)
                count = sum(id.startswith("later") for id in ids(live))
                if live.reasons or count > 30:
                    wrong.append(f"{live.reasons} {count}")

        def writer() -> None:
            for number in range(30):
                said(ledger, f"later {number}", "word")
            done.set()

        threads = [threading.Thread(target=guarded, args=(each,)) for each in [reader] * 3]
        for thread in threads:
            thread.start()
        guarded(writer)
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len([id for id in ids(ask(ledger, top_k=100)) if id.startswith("later")]) == 30


async def _twins(ledger: doxa.Ledger) -> tuple[doxa.Recalled, list[doxa.Recalled]]:
    view = now(ledger)
    return (
        await ledger.arecall("word", view=view),
        await ledger.arecall_batch(["word", "ring"], view=view),
    )


def test_the_asynchronous_calls_give_the_same_answers() -> None:
    import asyncio

    with strict(MEANINGS) as ledger:
        said(ledger, "a", "word", recall_when=["ring"])
        one, many = asyncio.run(_twins(ledger))
        view = now(ledger)
        assert one.to_bytes() == ledger.recall("word", view=view).to_bytes()
        alone = [ledger.recall(query, view=view) for query in ("word", "ring")]
        assert [each.to_bytes() for each in many] == [each.to_bytes() for each in alone]


def test_a_ledger_that_was_closed_is_asked_no_more() -> None:
    ledger = doxa.open()
    view = ledger.view(valid_at=AT)
    ledger.close()
    with pytest.raises(doxa.DoxaError, match="closed"):
        ledger.recall("word", view=view)


def test_a_view_of_another_ledger_is_the_callers_mistake(ledger: doxa.Ledger) -> None:
    with doxa.open() as other:
        for wrong in (now(other), None, "now", 5):
            with pytest.raises(doxa.CallerError, match="view"):
                ledger.recall("word", view=wrong)  # type: ignore[arg-type]  # on purpose
