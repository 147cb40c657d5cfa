"""The rows of an index, judged by views: what may be served when, and what is remembered of it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pandas
import pytest

import doxa
from doxa.adapters.graphrag import import_index
from doxa.adapters.graphrag.frames import filter_frames
from doxa.adapters.graphrag.judging import IndexJudge
from doxa.adapters.judging import NothingDeclared, Sieve
from doxa.engine.errors import ViewMoved
from doxa.ledger import Ledger
from tests.graph_indexes import A1, B0, Rows, story, written

NOW = "2026-06-01"


def judge_of(ledger: Ledger, rows: Rows, **options: Any) -> IndexJudge:
    dates = options.pop("dates", "observed")
    return IndexJudge(Sieve(ledger, **options), rows, index="story", dates=dates)


def imported(ledger: Ledger, folder: Path, rows: Rows, **more: Any) -> None:
    import_index(ledger, written(folder, rows), index="story", **more)


def served(judge: IndexJudge, table: str, **at: Any) -> list[int]:
    """The numbers of the rows of a table that may be served."""
    judged = judge.judge(judge.sieve.view(**({"valid_at": NOW} | at)))
    return [rests.row for rests in judge.aliases.in_table(table) if judged.serves(table, rests.id)]


def claim_of(judge: IndexJudge, number: int) -> str:
    (found,) = judge.aliases.of("covariates", number=number)
    return found.claims[0]


@pytest.mark.parametrize("number", [0, 1, 2], ids=["true", "suspected", "denied"])
def test_a_claim_that_somebody_took_back_is_not_served_whatever_its_status(
    ledger: Ledger, tmp_path: Path, number: int
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    judge = judge_of(ledger, rows)
    assert served(judge, "covariates") == [0, 1, 2]
    claim = claim_of(judge, number)
    back = ledger.withdraw(claim, reason="no such thing")
    assert served(judge, "covariates") == [n for n in range(3) if n != number]
    (told,) = [
        one for one in judge.judge(judge.sieve.view(NOW)).omitted if one.table == "covariates"
    ]
    assert (told.about, told.standing, told.reason) == (claim, "retracted", "missing_fact")
    ledger.withdraw(back)
    assert served(judge, "covariates") == [0, 1, 2]


def test_claims_are_served_while_they_are_valid_whatever_their_status(
    ledger: Ledger, tmp_path: Path
) -> None:
    when = {"start_date": "2021-05-03", "end_date": "2021-05-04"}
    rows = story(
        claims=[
            {"unit": A1, "type": "BRIBERY", **when},
            {"unit": B0, "type": "LEAK", "status": "SUSPECTED", **when},
            {"unit": B0, "type": "THEFT", "status": "FALSE", **when},
        ]
    )
    imported(ledger, tmp_path, rows, dates="valid")
    judge = judge_of(ledger, rows, dates="valid")
    times = {
        "2021-05-02T23:59:59Z": [],
        "2021-05-03": [0, 1, 2],
        "2021-05-04T23:59:59.999999Z": [0, 1, 2],
        "2021-05-05": [],
    }
    for _ in range(2):  # in any order, and remembered or not
        for at, numbers in times.items():
            assert served(judge, "covariates", valid_at=at) == numbers
            assert served(judge, "entities", valid_at=at) == [0, 1, 2]


def test_judgements_are_remembered_until_something_begins_or_ends(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    judge = judge_of(ledger, rows)
    asked: list[Any] = []
    really = judge._judged

    def judged(view: Any) -> Any:
        asked.append(view)
        return really(view)

    monkeypatch.setattr(judge, "_judged", judged)
    first, second = (judge.sieve.view(at) for at in ("2026-06-01", "2026-06-02"))
    assert judge.judge(first).view is first
    assert judge.judge(second).view is second
    assert len(asked) == 1
    source = doxa.Source(next(iter(judge.aliases.of("text_units", number=0)[0].sources)))
    ledger.withdraw(source, valid_from="2026-06-02")
    assert served(judge, "entities", valid_at="2026-06-01") == [0, 1, 2]
    assert served(judge, "entities", valid_at="2026-06-02") == [1, 2]
    assert len(asked) == 3
    judge.sieve.workspace = "elsewhere"
    judge.sieve.shared = False
    assert served(judge, "entities") == []


def test_what_the_tables_never_had_is_told_of_and_not_dropped_silently(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    later = {table: pandas.DataFrame(its) for table, its in story().items()}  # other ids
    found = filter_frames(judge_of(ledger, rows), later, valid_at=NOW)
    assert len(found["entities"]) == 0
    assert {one.id for one in found.omitted if one.table == "entities"} == set(
        later["entities"]["id"]
    )
    assert {one.reason for one in found.omitted} == {"unknown"}
    kept = filter_frames(judge_of(ledger, rows, unknown="keep"), later, valid_at=NOW)
    assert kept["entities"] is later["entities"]
    assert {one.id for one in kept.unknown} >= set(later["entities"]["id"])


def test_ids_that_are_numbers_are_found_in_frames_of_floats(ledger: Ledger, tmp_path: Path) -> None:
    rows = story()
    for place, row in enumerate(rows["relationships"]):
        row["id"] = place + 1
    for community in rows["communities"]:
        community["relationship_ids"] = []
    imported(ledger, tmp_path, rows)
    frames = {table: pandas.DataFrame(its) for table, its in rows.items()}
    frames["relationships"]["id"] = frames["relationships"]["id"].astype(float)
    judge = judge_of(ledger, rows)
    found = filter_frames(judge, frames, valid_at=NOW)
    assert found["relationships"] is frames["relationships"]
    assert not found.omitted
    judged = judge.judge(judge.sieve.view(NOW))
    assert judged.serves("relationships", "1.0")
    assert not judged.serves("relationships", "3.0")


def test_a_perspective_that_the_index_is_not_of_sees_none_of_it(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    judge = judge_of(ledger, rows, perspective="auditor")
    assert [served(judge, table) for table in ("entities", "relationships")] == [[], []]
    assert served(judge, "covariates") == []
    assert served(judge, "text_units") == []
    assert served(judge, "community_reports") == []


@pytest.mark.parametrize("number", [0, 1, 2], ids=["true", "suspected", "denied"])
def test_what_is_archived_is_left_out_until_it_comes_back_and_what_is_purged_for_good(
    ledger: Ledger, tmp_path: Path, number: int
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    judge = judge_of(ledger, rows)
    then = ledger.revision
    claim, others = claim_of(judge, number), [n for n in range(3) if n != number]
    ledger.archive(claim, reason="old")
    assert served(judge, "covariates") == others
    assert served(judge_of(ledger, rows, archived=True), "covariates") == [0, 1, 2]
    ledger.restore(claim)
    assert served(judge, "covariates") == [0, 1, 2]
    assert served(judge, "covariates", known_at=then) == [0, 1, 2]
    ledger.archive(claim, reason="old")
    ledger.purge(claim, reason="erase it")
    assert served(judge, "covariates") == others
    assert served(judge, "covariates", known_at=then) == others  # remembered a moment ago
    assert import_index(ledger, tmp_path, index="story").events == 0


def test_no_thread_is_told_that_what_has_fallen_stands(tmp_path: Path) -> None:
    rows = story()
    with doxa.open(tmp_path / "ledger") as ledger:
        imported(ledger, tmp_path / "index", rows)
        judge = judge_of(ledger, rows)
        frames = {table: pandas.DataFrame(its) for table, its in rows.items()}
        (alice,) = judge.aliases.of("entities", number=0)
        source, wrong, ended = doxa.Source(alice.sources[0]), [], threading.Event()
        outcomes = {"moved": 0, "told": 0}

        def asks() -> None:
            while not ended.is_set():
                try:
                    found = filter_frames(judge, frames)
                except ViewMoved:
                    outcomes["moved"] += 1
                    continue
                outcomes["told"] += 1
                stands = found.view.standing(alice.claims[0]) in (
                    doxa.Standing.REPORTED,
                    doxa.Standing.CORROBORATED,
                )
                if stands != ("ALICE" in set(found["entities"]["title"])):
                    wrong.append(found.view.revision)

        threads = [threading.Thread(target=asks) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(25):
            ledger.withdraw(ledger.withdraw(source))
        ended.set()
        for thread in threads:
            thread.join()
        assert not wrong
        assert outcomes["told"]


def test_an_index_of_which_the_ledger_has_nothing_is_told_of_once(tmp_path: Path) -> None:
    rows, place = story(), tmp_path / "town.doxa"
    with doxa.open(place) as ledger:
        judge = judge_of(ledger, rows)
        with pytest.warns(NothingDeclared) as told:
            found = [judge.judge(ledger.view(valid_at=day)) for day in (NOW, "2001-01-01")]
        assert {one.reason for one in found[0].omitted} == {"unknown"}
        (one,) = told
        assert one.filename == __file__
        said = str(one.message)
        assert f"the ledger {str(place)!r} has nothing of the {len(found[0].omitted)} rows" in said
        assert "import the index into this ledger first (import_index), or name" in said
        judge_of(ledger, rows, unknown="keep").judge(ledger.view(valid_at=NOW))  # as was asked
