"""Views as Arrow tables, against the claims that the same views give one by one."""

from __future__ import annotations

import json
import os
import signal
import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.history import OPEN
from doxa.engine.times import iso
from doxa.projections import arrow, columns, growing, places
from doxa.projections.arrow import SCHEMA
from tests.histories import INSTANTS, PERSPECTIVES, PREDICATES, SUBJECTS, WORKSPACES, moment
from tests.trials import walking
from tests.walks import Walk, wander

DAY = "2024-06-01"


def of_table(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as `ClaimItem.as_dict` has them."""
    rows = []
    for row in table.to_pylist():
        row["object"] = json.loads(row["object"])
        for name in ("valid_from", "valid_to", "recorded_at"):
            row[name] = None if row[name] is None else iso(row[name])
        rows.append(row)
    return rows


def ask(random: Random, walk: Walk) -> None:
    """Compares tables with the claims of views somewhere in the history."""
    commits = [0, *walk.ledger.view(valid_at=DAY).graph.commit_last]
    view = walk.ledger.view(
        valid_at=moment(random.choice(INSTANTS)),
        known_at=random.choice(commits[-random.choice([1, 3, 100]) :]),
        workspace=random.choice(WORKSPACES),
        shared=random.random() < 0.8,
        perspective=random.choice([None, None, *PERSPECTIVES]),
    )
    for _ in range(3):
        selection = {
            "subject": random.choice([None, None, *SUBJECTS, "nobody"]),
            "predicate": random.choice([None, *PREDICATES, "nothing"]),
            "standing": random.choice([None, None, None, "any", "superseded"]),
        }
        expected = [item.as_dict() for item in view.claims(**selection)]
        found = of_table(view.to_arrow(**selection))
        assert [{name: row[name] for name in SCHEMA.names} for row in expected] == found, (
            view,
            selection,
        )


@given(
    seed=st.integers(0, 2**48),
    few=st.sampled_from([0, 2, 256]),
    part=st.sampled_from([1, 5, 100_000]),
    codes=st.sampled_from([1, 256]),
    rare=st.sampled_from([0, 3, 10**9]),
    written=st.sampled_from([1, 3, 100_000]),
    short=st.sampled_from([0, 32]),
)
def test_a_table_has_the_claims_of_the_same_selection(
    seed: int, few: int, part: int, codes: int, rare: int, written: int, short: int
) -> None:
    random = Random(seed)

    def look(walk: Walk) -> None:
        if random.random() < 0.3:
            ask(random, walk)

    with pytest.MonkeyPatch.context() as patch, walking(False) as walk:
        patch.setattr(pa, "cpu_count", lambda: 3)
        patch.setattr(arrow, "_FEW", few)
        patch.setattr(arrow, "_PART", part)
        patch.setattr(columns, "CODES", codes)
        patch.setattr(places, "_RARE", rare)
        patch.setattr(columns, "_PART", written)
        patch.setattr(columns, "_SHORT", short)
        wander(random, walk, 30, look)
        for _ in range(3):
            ask(random, walk)


@given(seed=st.integers(0, 2**48))
def test_what_changes_in_place_is_followed_by_what_grows(seed: int) -> None:
    random = Random(seed)
    with walking(False) as walk:
        wander(random, walk, 40)
        view = walk.ledger.view(valid_at=DAY)
        graph, history = view.graph, view.belief.beliefs
        arrays = columns.Columns()
        for k in sorted(random.choices([0, *graph.commit_last], k=5)):
            rows, owners = bisect_right(history.known, k), graph.claims_upto(k)
            until, since = arrays.lives(history, rows, owners)
            assert [at > k for at in until] == [at > k for at in history.until[:rows]]
            began = [*history.since, *[OPEN] * owners][:owners]
            assert [at > k for at in since] == [at > k for at in began]
            code = random.choice([graph.names.find(name) for name in PREDICATES])
            chosen = arrays.chosen(graph.c_predicate, code, owners, history, rows)
            having = [row for row in range(owners) if graph.c_predicate[row] == code]
            assert chosen.rows.tolist() == having
            changed = [row for row in range(rows) if history.owner[row] in having]
            assert chosen.changes.tolist() == changed
            assert [having[n] for n in chosen.owners] == [history.owner[row] for row in changed]


TEXTS = st.lists(st.text("aé𝄞", max_size=9), max_size=4)


@given(
    parts=st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.booleans()), max_size=6),
    largest=st.sampled_from([8, 40, 2**31 - 1]),
)
def test_texts_that_were_given_out_stay_as_they_were(
    parts: list[tuple[list[str], list[str], list[str], bool]], largest: int
) -> None:
    kept = growing.GrownTexts()
    given, given_out = 0, list[tuple[Any, list[str]]]()
    expected: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "LARGEST", largest)
        for before, texts, after, large in parts:
            whole = pa.array([*before, *texts, *after], pa.large_string() if large else pa.string())
            kept.extend([whole[len(before) : len(before) + len(texts)]])
            expected += texts
            assert kept.bytes == sum(len(text.encode()) for text in expected)
            if (given := given + bool(texts)) > 1:
                assert (kept.array.type == pa.string()) == (kept.bytes <= largest)
            given_out.append((kept.array, list(expected)))
        for array, texts in given_out:
            array.validate(full=True)
            assert array.to_pylist() == texts


def test_tables_agree_with_their_views_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits of two: a claim that corrects the one before, and one of another predicate."""
    monkeypatch.setattr(arrow, "_FEW", 3)
    monkeypatch.setattr(arrow, "_PART", 20)
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    done = threading.Event()

    def claim(number: int, name: str, predicate: str) -> dict[str, Any]:
        return {"event": "claim", "id": f"{name}{number}", "subject": name, "object": number,
                "predicate": predicate, "source": "s"}  # fmt: skip

    def write(ledger: doxa.Ledger) -> None:
        for number in range(150):
            events = [claim(number, "a", "p"), claim(number, "b", f"q{number % 3}")]
            if number:
                events.append({"event": "correction", "id": f"k{number}",
                               "corrects": f"a{number - 1}", "by": f"a{number}"})  # fmt: skip
            ledger.append(events)

    def read(ledger: doxa.Ledger) -> int:
        rounds, kept = 0, []
        while not done.is_set() or not rounds:
            view = ledger.view(valid_at=DAY)
            for selection in ({}, {"predicate": "p"}, {"predicate": "q1"}, {"subject": "b"}):
                found = view.to_arrow(**selection).to_pylist()
                assert [row["id"] for row in found] == [c.id for c in view.claims(**selection)]
                kept.append((view, selection, found))
            rounds += 1
        for view, selection, found in kept[:: len(kept) // 20 + 1]:
            assert view.to_arrow(**selection).to_pylist() == found
        return rounds

    with doxa.open(tmp_path) as ledger, ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, ledger) for _ in range(3)]
        try:
            pool.submit(write, ledger).result()
        finally:
            done.set()
        assert all(reader.result() for reader in readers)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_gives_tables_too(
    ledger: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "_PART", 1)
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    for number in range(4):
        ledger.claim("x", "p", number, source="s", id=f"c{number}")
    view = ledger.view(valid_at=DAY)
    expected = view.to_arrow().to_pylist()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(view.to_arrow().to_pylist() != expected)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_text_that_nothing_can_have_is_had_by_nothing(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, source="s")
    for selection in ({"subject": "\ud800"}, {"predicate": "\ud800"}):
        assert ledger.view(valid_at=DAY).to_arrow(**selection).to_pylist() == []
    assert ledger.view(valid_at=DAY, perspective="\ud800").to_arrow().to_pylist() == []


def test_what_is_no_text_is_refused_as_by_claims(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, source="s")
    view = ledger.view(valid_at=DAY)
    wrong: list[dict[str, Any]] = [{"subject": 5}, {"predicate": ["p"]}, {"kind": 5}]
    for selection in wrong:
        for asked in (view.claims, view.to_arrow):
            with pytest.raises(doxa.CallerError, match="subjects, predicates and kinds are text"):
                asked(**selection)


def test_only_the_columns_that_are_named_are_made(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, source="s", id="a")
    view = ledger.view(valid_at=DAY)
    assert view.to_arrow(columns=["standing", "id"]).to_pylist() == [
        {"standing": "reported", "id": "a"}
    ]
    assert view.to_arrow(columns=["id", "id"]).column_names == ["id"]
    wrong: list[Any] = ["id", []]
    for bad in wrong:
        with pytest.raises(doxa.CallerError, match="give a list of names"):
            view.to_arrow(columns=bad)
    with pytest.raises(doxa.CallerError, match="'colour' is no column of claims; they are id"):
        view.to_arrow(columns=["id", "colour"])
