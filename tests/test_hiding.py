"""What is archived is not found and not put into blocks, unless it is asked for; and only that."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.candidates import Unread
from doxa.engine.eligibility import Problem
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity
from doxa.engine.hiding import Hidden, hidden
from doxa.engine.registry import Reason
from doxa.ledger import Ledger
from tests.asked import Meanings, ask, ids, now, said, strict, verdicts, withheld
from tests.test_assembly_quick import asked, at_random, recorded, shelve

PLENTY = 10**6
ORDER = list(Reason)


@pytest.fixture
def torn(ledger: Ledger) -> Ledger:
    """Two claims that contradict each other, and one beside them."""
    ledger.policy(single_valued="is")
    said(ledger, "a", "red word", subject="it")
    said(ledger, "b", "blue word", subject="it")
    said(ledger, "c", "green word")
    return ledger


# ---------------------------------------------------------------- recall


def test_what_is_hidden_is_not_told_of_as_withheld_either(ledger: Ledger) -> None:
    said(ledger, "a", "word")
    said(ledger, "gone", "word word")
    ledger.withdraw("gone")
    assert withheld(ask(ledger)) == {"gone": "retracted"}
    ledger.archive("gone")
    assert withheld(ask(ledger)) == {}
    assert withheld(ask(ledger, archived=True)) == {"gone": "retracted"}


def test_hiding_comes_before_the_pool_and_the_page_are_filled(ledger: Ledger) -> None:
    for number in range(40):
        said(ledger, f"h{number:02}", "word " * 3)
    said(ledger, "z", "word and much more that makes it score less")
    ledger.archive([f"h{number:02}" for number in range(40)])
    assert ids(ask(ledger, top_k=1, pool=1)) == ["z"]
    assert ask(ledger, top_k=1, pool=1).pool.eligible == 1


@pytest.mark.parametrize("mode", ["lexical", "dense", "fused"])
def test_every_way_of_searching_passes_over_what_is_hidden(mode: str) -> None:
    meanings: Meanings = {"word": 0.9, "word too": 0.8, "a quoted word": 0.95, "short word": 0.85}
    with strict(meanings) as ledger:
        quote = {"id": "s", "quote": "a quoted word"}
        said(ledger, "a", "word", recall_when=["ring"], source=quote)
        said(ledger, "b", "word too")
        ledger.summarize("short word", facts=["a"], id="n")
        assert set(ids(ask(ledger, "word ring", mode=mode))) == {"a", "a/support", "b", "n"}
        ledger.archive("a")
        found = ask(ledger, "word ring", mode=mode)
        assert set(ids(found)) == {"b", "n"}
        assert not any(hit.nominated for hit in found)
        ledger.archive("n")
        assert ids(ask(ledger, "word ring", mode=mode)) == ["b"]
        assert len(ask(ledger, "word ring", mode=mode, archived=True)) == 4


def test_a_successor_that_is_archived_is_not_brought_in(ledger: Ledger) -> None:
    said(ledger, "old", "word")
    said(ledger, "new", "other")
    ledger.correct("old", by="new")
    assert ids(ask(ledger)) == ["new"]
    ledger.archive("new")
    answer = ask(ledger)
    assert ids(answer) == []
    assert withheld(answer) == {"old": "superseded"}


def test_a_conflict_comes_whole_where_one_of_its_sides_is_archived(torn: Ledger) -> None:
    torn.archive("b")
    found = ask(torn, "red")
    assert verdicts(found) == {"a": "contested", "b": "contested"}
    assert found.hits[1].fetched == "conflict"
    assert [hit.archived for hit in found] == [False, True]
    assert [hit.as_dict().get("archived") for hit in found] == [None, True]
    assert ids(ask(torn, "blue")) == []
    block = torn.assemble("red", view=now(torn))
    assert "blue word" in block.text


def test_a_text_that_was_brought_and_names_what_is_archived_is_left_out_with_a_warning(
    ledger: Ledger,
) -> None:
    said(ledger, "a", "word")
    said(ledger, "b", "word")
    ledger.archive("a")
    brought = [
        {"id": "x", "text": "one", "facts": ["a"]},
        {"id": "y", "text": "two", "facts": ["b"]},
    ]
    answer = ask(ledger, candidates=brought)
    assert ids(answer) == ["y"]
    assert answer.withheld == ()
    assert answer.warnings == (
        "'x' is left out: 'a' is archived; restore it, or ask with archived=True",
    )
    assert ids(ask(ledger, candidates=brought, archived=True)) == ["x", "y"]


def test_what_is_hidden_in_one_workspace_is_there_in_another(ledger: Ledger) -> None:
    for place in ("", "w"):
        said(ledger, "a", "word", workspace=place)
    ledger.archive("a", workspace="w")
    found = ask(ledger, view=now(ledger, workspace="w"))
    assert [hit.workspace for hit in found] == [""]


def test_a_policy_that_counts_for_a_while_hides_for_that_while(ledger: Ledger) -> None:
    said(ledger, "a", "word")
    (policy,) = ledger.archive("a").policies
    ledger.withdraw(policy, valid_from="2024-06-01", valid_to="2024-09-01")
    assert ids(ask(ledger)) == ["a"]
    assert ids(ask(ledger, view=ledger.view(valid_at="2024-10-01"))) == []


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_archived_is_yes_or_no(ledger: Ledger, value: Any) -> None:
    with pytest.raises(doxa.CallerError, match="archived"):
        ask(ledger, archived=value)
    with pytest.raises(doxa.CallerError, match="archived"):
        ledger.assemble("q", view=now(ledger), candidates=[], archived=value)


# ---------------------------------------------------------------- assembly


def test_a_candidate_that_names_what_is_archived_is_left_out_for_that_last_of_all(
    ledger: Ledger,
) -> None:
    said(ledger, "a", "word", source={"id": "s", "quote": "q"})
    said(ledger, "b", "word")
    said(ledger, "gone", "word")
    ledger.withdraw("gone")
    ledger.cite("cited", claim="b", id="q")
    ledger.summarize("short", facts=["a"], id="n")
    ledger.summarize("long", facts=["b"], id="m")
    ledger.archive(["a", "q", "m"])
    given: list[dict[str, Any]] = [
        {"id": "fact", "text": "t", "facts": ["b", "a"]},
        {"id": "evidence", "text": "t", "supports": ["a/support"]},
        {"id": "cites", "text": "t", "facts": ["b"], "citations": ["q"]},
        {"id": "held", "text": "t", "facts": ["b"]},
        {"id": "both", "text": "t", "facts": ["a", "gone"]},
        {"id": "n"},
        {"id": "m"},
        {"id": "m with a fact", "artefact": "n", "facts": ["a"]},
    ]
    block = ledger.assemble("q", view=now(ledger), candidates=given, budget=PLENTY)
    assert {id: str(reason) for id, reason in block.reasons.items()} == {
        "fact": "archived",
        "evidence": "archived",
        "cites": "archived",
        "both": "missing_fact",
        "m": "archived",
        "m with a fact": "archived",
    }
    assert set(block.ids) == {"held", "n"}
    (told,) = [left for left in block.left_out if left.id == "fact"]
    assert told.about == "a"
    assert "restore it" in told.detail
    registered = ledger.assemble("q", view=now(ledger), candidates="registered", budget=PLENTY)
    assert registered.ids == ("n",)
    assert registered.reasons == {"m": Reason.ARCHIVED}


def test_a_receipt_says_that_the_archived_was_asked_for_and_replays(ledger: Ledger) -> None:
    said(ledger, "a", "word")
    ledger.archive("a")
    given = [{"id": "x", "text": "t", "facts": ["a"]}]
    without = ledger.assemble("q", view=now(ledger), candidates=given)
    asked_for = ledger.assemble("q", view=now(ledger), candidates=given, archived=True)
    assert "archived" not in without.receipt.request
    assert asked_for.receipt.request["archived"] is True
    ledger.restore("a")
    assert ledger.replay(without.receipt).same
    assert ledger.replay(asked_for.receipt.as_dict()).same
    changed = asked_for.receipt.as_dict()
    changed["request"] = {**changed["request"], "archived": "yes"}
    with pytest.raises(doxa.CallerError, match="archived"):
        ledger.replay(changed)


def test_a_block_of_a_question_has_what_is_archived_on_request(ledger: Ledger) -> None:
    said(ledger, "a", "word")
    ledger.archive("a")
    assert "word" not in ledger.assemble("word", view=now(ledger)).text
    block = ledger.assemble("word", view=now(ledger), archived=True)
    assert "> word" in block.text
    assert ledger.replay(block.receipt).same


def test_what_is_pinned_goes_into_every_block_though_it_was_archived(ledger: Ledger) -> None:
    said(ledger, "a", "word")
    ledger.archive("a")
    pin = ledger.pin("a")
    assert "> word" in ledger.assemble("", view=now(ledger), inject="always_inject").text
    ledger.withdraw(pin)
    assert "word" not in ledger.assemble("", view=now(ledger), inject="always_inject").text


@given(chance=st.randoms(use_true_random=False), size=st.integers(5, 40), count=st.integers(1, 12))
def test_hiding_leaves_out_what_names_the_hidden_and_changes_nothing_else(
    chance: random.Random, size: int, count: int
) -> None:
    ledger, author = recorded(chance, size)
    with ledger:
        shelve(chance, ledger, author)
        view = at_random(chance, ledger)
        given_ = [*asked(chance, author, count)]
        request: Any = {"view": view, "candidates": given_, "budget": PLENTY}
        whole = ledger.assemble("q", **request, archived=True)
        block = ledger.assemble("q", **request)
        hides = hidden(view.belief, view.v, view.k)
        read = {one.id: one for one in block._made.candidates or ()}
        before = {one.id: one.reason for one in whole.left_out}
        after = {one.id: one.reason for one in block.left_out}
        conflicts = {Reason.CONFLICT_INCOMPLETE, None}
        for id, one in read.items():
            reason = before.get(id)
            names = not isinstance(one, Unread) and _names_hidden(one, view, hides)
            if names and reason in conflicts:
                assert after.get(id) is Reason.ARCHIVED, id
            else:
                assert after.get(id) == reason, id


def _names_hidden(one: Any, view: Any, hides: Hidden) -> bool:
    graph = view.graph
    if one.artefact is not None:
        named = [view.find(one.artefact, one.workspace)]
    elif not (one.facts or one.supports or one.citations or one.sources):
        named = [view.find(one.id, one.workspace)]
    else:
        named = []
    found = [view.find(id, one.workspace) for id in (*one.facts, *one.supports, *one.citations)]
    for number in [*named, *found]:
        if number == NONE:
            continue
        if number & 7 == SUPPORT:
            number = entity(CLAIM, graph.s_claim[number >> 3])
        if number & 7 in (CLAIM, ARTEFACT) and number in hides:
            return True
    return False


def test_a_problem_of_hiding_is_the_last_but_those_of_room() -> None:
    behind = ORDER[ORDER.index(Reason.ARCHIVED) + 1 :]
    assert behind == [Reason.CONFLICT_INCOMPLETE, Reason.BEYOND_TOP_K, Reason.BUDGET_EXCEEDED]
    assert Problem(Reason.ARCHIVED, "").standing is None


# ---------------------------------------------------------------- over restarts and processes


def test_what_is_hidden_is_so_after_a_restart_with_and_without_the_cache(tmp_path: Path) -> None:
    import shutil

    with doxa.open(tmp_path / "l") as ledger:
        for number in range(30):
            said(ledger, f"c{number}", "word")
        ledger.archive([f"c{number}" for number in range(20)])
        ledger.restore([f"c{number}" for number in range(10)])
        expected = set(ids(ask(ledger, top_k=100)))
        assert len(expected) == 20
    for drop in (False, True, False):
        if drop:
            shutil.rmtree(tmp_path / "l" / "cache", ignore_errors=True)
        with doxa.open(tmp_path / "l") as ledger:
            assert set(ids(ask(ledger, top_k=100))) == expected
            said(ledger, "again", "word")
            ledger.withdraw("again")
            ledger.claim("subject of c15", "is", "c15", source="t")
            if drop:
                assert "c15" in ids(ask(ledger, top_k=100))
                expected |= {"c15"}
            expected = set(ids(ask(ledger, top_k=100)))


def test_another_process_hides_and_asserts_again_and_this_one_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "l"
    program = "import sys, doxa\nwith doxa.open(sys.argv[1]) as ledger:\n    exec(sys.argv[2])\n"
    with doxa.open(path) as ledger:
        said(ledger, "a", "word")
        ids(ask(ledger))

        def other(code: str) -> None:
            subprocess.run([sys.executable, "-c", program, str(path), code], check=True)

        other("ledger.archive('a')")
        assert ids(ask(ledger)) == []
        other("ledger.support('a', source='t')")
        assert ids(ask(ledger)) == ["a"]
        other("ledger.archive('a')")
        ledger.support("a", source="u")
        assert ids(ask(ledger)) == ["a"]


def test_what_is_taken_from_a_checkpoint_is_taken_once(tmp_path: Path) -> None:
    from doxa.engine import asserting, hiding

    with doxa.open(tmp_path / "l") as ledger:
        for number in range(30):
            said(ledger, f"c{number}", "word")
        ledger.archive([f"c{number}" for number in range(20)])
    with doxa.open(tmp_path / "l") as ledger:
        graph = now(ledger).graph
        for number in range(3):
            assert len(ask(ledger, top_k=100)) == 10 + number
            said(ledger, f"more {number}", "word")
        assert graph.policies_on.loaded is not None
        assert len(asserting._archives[graph]._claims) == 20
        ledger.archive("c25")
        assert len(ask(ledger, top_k=100)) == 12
        (shelf,) = hiding._shelves[graph].values()
        assert len(shelf._sayings.numbers) == 21
        ledger.support("c25", source="t")
        assert len(asserting._archives[graph]._claims) == 21
