"""A receipt makes the same bytes again, later and elsewhere, and nobody can pass off another."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa import CallerError, Ledger, NewerFormat, ViewMoved
from doxa.engine.assembly import Block, as_receipt
from tests.support import ROOT

WHEN = "2024-06-01"


def fill(ledger: Ledger) -> None:
    """Two sides of a conflict, a third claim with a cited summary, one that expired."""
    ledger.policy(single_valued="lives_in")
    ledger.claim("ada", "lives_in", "London", id="a", source="register")
    ledger.claim("ada", "lives_in", "Paris", id="b", source="letter")
    ledger.claim("ben", "works_at", "Acme", id="c", source="register")
    ledger.claim("ben", "works_at", "Bolt", id="d", source="register", valid_to="2024-02-01")
    ledger.cite("Register, line 7", claim="c", id="q")
    ledger.summarize("Ben works at Acme.", facts=["c"], citations=["q"], id="n")


CANDIDATES: list[Any] = [
    {"id": "t1", "text": "Ada lives in London.", "facts": ["a"], "score": 0.9},
    {"id": "t2", "text": "Acme.", "facts": ["c"], "citations": ["q"], "score": 0.5},
    {"id": "t3", "text": "Bolt.", "facts": ["d"], "score": 1},
    {"id": "t4", "text": "NaN.", "facts": ["c"], "score": float("nan")},
    {"id": "t5", "text": "Too long. " * 30, "sources": ["register"]},
    {"id": "n"},
    {"id": "none", "text": "Nothing."},
    5,
]


def made(ledger: Ledger, **arguments: Any) -> Block:
    view = arguments.pop("view", None) or ledger.view(valid_at=WHEN)
    defaults: dict[str, Any] = {"candidates": CANDIDATES, "budget": 400}
    arguments = defaults | arguments
    return ledger.assemble("Where?", view=view, **arguments)


def stored(block: Block) -> dict[str, Any]:
    """The receipt as it comes back from wherever the caller kept it."""
    kept: dict[str, Any] = json.loads(json.dumps(block.receipt.as_dict()))
    return kept


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    fill(ledger)
    return ledger


# ------------------------------------------------------------ the same again


@pytest.mark.parametrize("arguments", [{}, {"candidates": None}, {"budget": 60}, {"top_k": 1}])
def test_a_receipt_replays_to_the_same_bytes_whatever_came_later(
    filled: Ledger, arguments: dict[str, Any]
) -> None:
    block = made(filled, **arguments)
    receipt = stored(block)
    filled.withdraw("a")
    filled.support("c", source="witness", stance="refutes")
    filled.withdraw("n")
    filled.claim("eve", "lives_in", "Rome", source="x")
    again = filled.replay(receipt)
    assert (again.same, again.text, again.differences, again.erased) == (True, block.text, (), ())
    assert str(again) == "the same"
    assert made(filled).text != block.text
    assert filled.replay(block.receipt) == again


def test_a_receipt_survives_tools_that_write_whole_numbers_without_a_point(filled: Ledger) -> None:
    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: whole(item) for name, item in value.items()}
        if isinstance(value, list):
            return [whole(item) for item in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    assert filled.replay(whole(stored(made(filled)))).same


def test_the_same_request_gives_the_same_block_after_reopening(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "x") as ledger:
        fill(ledger)
        revision = ledger.revision
        first = made(ledger, view=ledger.view(valid_at=WHEN, known_at=revision))
    with doxa.open(tmp_path / "x") as ledger:
        assert made(ledger, view=ledger.view(valid_at=WHEN, known_at=revision)) == first
        ledger.withdraw("a")
        assert made(ledger, view=ledger.view(valid_at=WHEN, known_at=revision)).text == first.text
        assert ledger.replay(stored(first)).same


CHILD = """
import json, sys
import doxa
from tests.test_assembly_receipts import WHEN, made
with doxa.open(sys.argv[1]) as ledger:
    block = made(ledger, view=ledger.view(valid_at=WHEN, known_at=int(sys.argv[2])))
    print(json.dumps(block.as_dict(), sort_keys=True))
"""


def child(program: str, *arguments: object) -> str:
    """What a program prints in a process of its own, with another seed for its hashes."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT), "PATH": ""},
    )
    return ran.stdout


def test_another_process_makes_the_very_same_block(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "x") as ledger:
        fill(ledger)
        block = made(ledger, view=ledger.view(valid_at=WHEN, known_at=ledger.revision))
        there = child(CHILD, tmp_path / "x", ledger.revision)
    assert json.loads(there) == json.loads(json.dumps(block.as_dict()))


def test_a_block_is_plain_json(filled: Ledger) -> None:
    block = made(filled)
    plain = json.loads(json.dumps(block.as_dict(), allow_nan=False))
    assert plain["text"] == block.text
    assert plain["left_out"][0].keys() == {"id", "reason", "detail", "about", "standing"}
    assert plain["view"]["valid_at"] == "2024-06-01T00:00:00Z"
    assert json.loads(json.dumps(filled.replay(block.receipt).as_dict()))["same"] is True


# ------------------------------------------------------------ not the same


def test_a_replay_names_what_was_erased(filled: Ledger) -> None:
    block = made(filled)
    filled.recorder.erase([3, 6, 7])  # claim b, citation q, summary n
    again = filled.replay(stored(block))
    assert not again.same
    assert again.erased == ("b", "n", "q")
    assert "the text is not the same" in again.differences
    assert "erased: b, n, q" in str(again)


def test_a_replay_by_another_version_of_the_renderer_says_so(filled: Ledger) -> None:
    receipt = stored(made(filled)) | {"renderer": "0"}
    again = filled.replay(receipt)
    assert again.same
    assert again.differences == ("the receipt was rendered by version 0, this is 1",)


def words(text: str) -> int:
    return len(text.split())


def double(text: str) -> int:
    return 2 * words(text)


def test_a_replay_needs_the_counter_that_was_used(filled: Ledger) -> None:
    counted = made(filled, budget=30, count=words)
    assert counted.unit.endswith(".words")
    assert filled.replay(stored(counted), count=words).same
    with pytest.raises(CallerError, match=r"counted in .*words.*give the counter"):
        filled.replay(stored(counted))
    with pytest.raises(CallerError, match="counted in characters"):
        filled.replay(stored(made(filled)), count=words)
    other = filled.replay(stored(counted), count=double)
    assert not other.same
    assert any("this replay by" in line for line in other.differences)


def test_a_replay_says_what_was_decided_otherwise(filled: Ledger) -> None:
    block = made(filled, budget=30, count=words)
    other = filled.replay(stored(block), count=lambda text: 0)
    assert any(line.startswith("t5: left out then, not now") for line in other.differences)
    assert any(line.startswith("t5: printed now, not then") for line in other.differences)


def test_a_receipt_of_another_ledger_is_refused(filled: Ledger) -> None:
    receipt = stored(made(filled))
    with doxa.open() as other:
        with pytest.raises(CallerError, match="another ledger"):
            other.replay(receipt)
        fill(other)
        with pytest.raises(CallerError, match="another ledger"):
            other.replay(receipt)


# ------------------------------------------------------------ receipts that lie


def changed(receipt: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    receipt = copy.deepcopy(receipt)
    *above, last = path.split(".")
    inner = receipt
    for name in above:
        inner = inner[name]
    inner[last] = value
    return receipt


LIES: list[tuple[str, object]] = [
    *(("receipt", version) for version in (0, -1, True, "1", None, 1.5)),
    *((name, 5) for name in ("view", "request", "decisions", "digests")),
    ("renderer", 5),
    ("counter", None),
    ("more", 1),
    *((f"view.{name}", [])
      for name in ("workspace", "shared", "perspective", "valid_at", "revision", "known_at")),
    ("view.workspace", "\ud800"),
    ("view.valid_at", "yesterday"),
    ("view.revision", -1),
    ("view.revision", 10**30),
    ("view.revision", True),
    ("view.horizon", 0),
    ("view.horizon", 10**6),
    ("view.known_at", "2024-01-01T00:00:00Z"),
    ("view.more", 1),
    ("request.query", "Other?"),
    ("request.query", 5),
    ("request.budget", 10**6),
    ("request.budget", -1),
    ("request.top_k", 0),
    ("request.candidates", 5),
    ("request.candidates", [5]),
    ("request.candidates", [{"id": "t", "text": "x", "score": float("nan")}]),
    ("decisions.used", 0),
    ("digests.text", "0"),
    ("digests.request", "0" * 64),
    ("digests.more", "0" * 64),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), LIES, ids=str)
def test_a_receipt_that_was_changed_is_refused(filled: Ledger, path: str, value: object) -> None:
    receipt = stored(made(filled))
    assert filled.replay(receipt).same
    with pytest.raises(CallerError):
        filled.replay(changed(receipt, path, value))


@pytest.mark.parametrize("given", [None, 5, "receipt", [], {}, {"receipt": 1}, {"view": {}}])
def test_what_is_no_receipt_is_refused(filled: Ledger, given: Any) -> None:
    with pytest.raises(CallerError):
        filled.replay(given)


def test_a_receipt_nested_without_end_is_refused(filled: Ledger) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CallerError):
        filled.replay(changed(stored(made(filled)), "decisions.printed", deep))


def test_a_newer_receipt_is_refused_by_its_version(filled: Ledger) -> None:
    with pytest.raises(NewerFormat, match="version 2"):
        filled.replay(stored(made(filled)) | {"receipt": 2, "what": "comes then"})


def test_another_text_digest_is_a_difference(filled: Ledger) -> None:
    again = filled.replay(changed(stored(made(filled)), "digests.text", "0" * 64))
    assert (again.same, again.differences) == (False, ("the text is not the same",))


def test_a_receipt_read_back_is_the_receipt(filled: Ledger) -> None:
    block = made(filled)
    assert as_receipt(stored(block)).as_dict() == block.receipt.as_dict()


def test_a_receipt_of_another_view_than_it_was_made_at_is_refused(filled: Ledger) -> None:
    receipt = made(filled).receipt.as_dict()
    receipt["view"] = {**receipt["view"], "valid_at": "2024-06-02T00:00:00Z"}
    with pytest.raises(CallerError, match="view is not what its digest is of"):
        filled.replay(receipt)


# ------------------------------------------------------------ the truth moves


def test_a_block_knows_whether_the_truth_moved_since(filled: Ledger) -> None:
    live = made(filled)
    past = made(filled, view=filled.view(valid_at=WHEN, known_at=filled.revision))
    own = made(filled, view=filled.view(valid_at=WHEN, workspace="w", shared=False), candidates=[])
    assert live.verify(filled)
    filled.claim("x", "y", 1, source="z", workspace="v")
    assert live.verify(filled)
    filled.claim("x", "y", 1, source="z")
    assert not live.verify(filled)
    assert past.verify(filled)
    assert own.verify(filled)
    with doxa.open() as other, pytest.raises(CallerError, match="another ledger"):
        live.verify(other)


def moving(ledger: Ledger, move: Callable[[], object]) -> Iterator[dict[str, Any]]:
    """Candidates during whose reading the truth moves."""
    move()
    yield {"id": "t", "text": "Acme.", "facts": ["c"]}


def test_nothing_is_returned_where_the_truth_moved_meanwhile(filled: Ledger) -> None:
    view = filled.view(valid_at=WHEN)
    candidates = moving(filled, lambda: filled.withdraw("c"))
    with pytest.raises(ViewMoved, match=f"past revision {view.revision}"):
        filled.assemble("q", view=view, candidates=candidates, budget=400)
    with pytest.raises(ViewMoved):
        filled.assemble("q", view=view, candidates=[], budget=400)
    with pytest.raises(ViewMoved):
        filled.assemble("q", view=view, budget=0)
    old = filled.view(valid_at=WHEN, known_at=view.revision)
    assert filled.assemble("q", view=old, candidates=CANDIDATES, budget=400).ids


def test_a_move_in_a_workspace_out_of_sight_does_not_matter(filled: Ledger) -> None:
    view = filled.view(valid_at=WHEN)
    filled.claim("x", "y", 1, source="z", workspace="w")
    assert made(filled, view=view).ids


def test_a_thread_that_appends_meanwhile_is_noticed(filled: Ledger) -> None:
    view = filled.view(valid_at=WHEN)

    def in_a_thread() -> None:
        thread = threading.Thread(target=lambda: filled.claim("x", "y", 1, source="z"))
        thread.start()
        thread.join()

    with pytest.raises(ViewMoved):
        filled.assemble("q", view=view, candidates=moving(filled, in_a_thread), budget=400)


def test_while_threads_append_a_block_is_current_or_refused(filled: Ledger) -> None:
    stop = threading.Event()

    def append() -> None:
        while not stop.is_set():
            filled.claim("x", "y", 1, source="z")

    threads = [threading.Thread(target=append) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        past = filled.view(valid_at=WHEN, known_at=7)
        first, refused = made(filled, view=past), 0
        for _ in range(50):
            assert made(filled, view=past).text == first.text
            try:
                assert made(filled).text == first.text
            except ViewMoved:
                refused += 1
        fresh = filled.assemble_fresh(
            "Where?", valid_at=WHEN, candidates=CANDIDATES, budget=400, attempts=1000
        )
        assert fresh.text == first.text
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert made(filled).text == first.text


APPEND = """
import sys
import doxa
with doxa.open(sys.argv[1]) as ledger:
    ledger.withdraw("c")
"""


def test_another_process_that_appends_meanwhile_is_noticed(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "x") as ledger:
        fill(ledger)
        view, revision = ledger.view(valid_at=WHEN), ledger.revision
        candidates = moving(ledger, lambda: child(APPEND, tmp_path / "x"))
        with pytest.raises(ViewMoved):
            ledger.assemble("q", view=view, candidates=candidates, budget=400)
        assert made(ledger).reasons["t2"] == "missing_fact"
        then = ledger.view(valid_at=WHEN, known_at=revision)
        assert "t2" in made(ledger, view=then).ids


def test_assembling_writes_nothing(filled: Ledger) -> None:
    before = filled.revision
    filled.replay(made(filled).receipt)
    assert filled.revision == before


def test_a_counter_may_be_any_callable_even_one_without_a_module(filled: Ledger) -> None:
    block = made(filled, count=str.__len__)
    assert block.unit == "builtins.str.__len__"
    assert filled.replay(block.receipt, count=str.__len__).same
