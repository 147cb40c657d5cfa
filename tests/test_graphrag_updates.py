"""The folders of updates: their parts are read before they were merged, in the order of time."""

from __future__ import annotations

import copy
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.graphrag import aliases_of, import_index
from doxa.adapters.graphrag.folders import index_name, runs_in
from doxa.ledger import Ledger
from tests.graph_indexes import STORY, Rows, index, story, written

NEW = "Dora bought Acme in 2026."
LATER = "Eve sued Dora."
FIRST, SECOND = "20260131-093000", "20260301-120000"


def delta(text: str = NEW, title: str = "dora.txt", who: str = "DORA") -> Rows:
    """What an update adds: a document, whose report cites rows by the delta's own numbers."""
    return index(
        {title: [text]},
        [(who, "PERSON", f"{who} is new.", [text])],
        [(who, "ACME", "A new tie.", [text])],
        communities={0: ([], [who], [0])},
        reports={0: f"{who} is about [Data: Entities (0); Relationships (0)]."},
    )


def merged(old: Rows, new: Rows) -> Rows:
    """What graphrag makes of both: new rows get other numbers, and their reports cite the old."""
    made: Rows = {}
    for table in old:
        rows = copy.deepcopy(new.get(table, []))
        for row in rows:
            row["human_readable_id"] += len(old[table])
            if "community" in row:
                row["community"] += len(old[table])
        made[table] = copy.deepcopy(old[table]) + rows
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an index and two updates of it."""
    root = tmp_path / "novel"
    one, two, three = story(), delta(), delta(LATER, "eve.txt", "EVE")
    written(root / "update_output" / FIRST / "previous", one)
    written(root / "update_output" / FIRST / "delta", two)
    written(root / "update_output" / SECOND / "previous", merged(one, two))
    written(root / "update_output" / SECOND / "delta", three)
    written(root / "output", merged(merged(one, two), three))
    return root


def names(root: Path, folder: Path) -> list[str]:
    return [str(run.folder.relative_to(root)) for run in runs_in(folder)[0]]


PARTS = [
    f"update_output/{FIRST}/previous",
    f"update_output/{FIRST}/delta",
    f"update_output/{SECOND}/delta",
]


@pytest.mark.parametrize("where", ["", "output", "update_output"])
def test_the_parts_are_read_in_place_of_what_was_merged(project: Path, where: str) -> None:
    assert names(project, project / where) == PARTS


def test_one_update_is_its_delta_and_for_the_first_what_was_before(project: Path) -> None:
    updates = project / "update_output"
    assert names(project, updates / FIRST) == PARTS[:2]
    assert names(project, updates / SECOND) == PARTS[2:]
    assert names(project, updates / SECOND / "delta") == PARTS[2:]
    assert names(project, updates / FIRST / "previous") == PARTS[:1]
    assert names(project, updates / SECOND / "previous") == PARTS[:2]


def test_an_index_that_was_made_anew_is_read_whole(project: Path, ledger: Ledger) -> None:
    for file in (project / "output").glob("*.parquet"):
        file.unlink()
    written(project / "output", story())
    assert names(project, project / "output") == ["output"]
    done = import_index(ledger, project)
    assert len(done.runs) == 1
    assert "made anew" in done.notes[0]


def test_reports_of_updates_rest_on_what_they_cited_before_the_merge(
    ledger: Ledger, project: Path
) -> None:
    done = import_index(ledger, project / "output")
    assert done.index == "novel"
    assert [run.complete for run in done.runs] == [True, False, False]
    assert not done.withdrawn
    assert not done.not_repeated
    assert "was merged by updates" in done.notes[0]
    alone = aliases_of(delta(), index="novel")
    (report,) = alone.of("community_reports", number=0)
    (dora,) = alone.of("entities", number=0)
    assert set(dora.facts) <= set(report.facts)
    assert report.artefact is not None
    view = ledger.view(valid_at="2026-06-01")
    assert ledger.judge([report.artefact], view)[0].eligible
    ledger.withdraw(doxa.Source(dora.sources[0]))
    view = ledger.view(valid_at="2026-06-01")
    assert not ledger.judge([report.artefact], view)[0].eligible
    head = ledger.revision
    updates = project / "update_output"
    for again in (
        project,
        updates,
        updates / FIRST,
        updates / SECOND,
        updates / FIRST / "previous",
    ):
        assert import_index(ledger, again).events == 0
    assert ledger.revision == head


def test_an_update_takes_nothing_back(ledger: Ledger, project: Path) -> None:
    updates = project / "update_output"
    import_index(ledger, updates / FIRST)
    done = import_index(ledger, updates / SECOND)
    assert done.events
    assert not done.withdrawn
    assert not done.not_repeated


def test_what_is_in_no_part_any_more_is_withdrawn(
    ledger: Ledger, project: Path, tmp_path: Path
) -> None:
    before = story(documents={"old.txt": ["Acme was sold."], **STORY})
    import_index(ledger, written(tmp_path / "before" / "novel" / "output", before))
    assert len(import_index(ledger, project).withdrawn) == 1  # the passage itself
    assert not import_index(ledger, project).events


def test_updates_of_which_the_beginning_is_lost_take_nothing_back(
    ledger: Ledger, project: Path
) -> None:
    import_index(ledger, project)
    shutil.rmtree(project / "update_output" / FIRST / "previous")
    shutil.rmtree(project / "output")
    done = import_index(ledger, project)
    assert [run.complete for run in done.runs] == [False, False]
    assert not done.events


def test_the_names_of_folders_are_times_where_they_are_asked_for(
    ledger: Ledger, project: Path
) -> None:
    done = import_index(ledger, project, recorded_at="folder")
    at = [datetime.strptime(name, "%Y%m%d-%H%M%S").astimezone(UTC) for name in (FIRST, SECOND)]
    told = [datetime.fromisoformat(run.recorded_at or "") for run in done.runs]
    assert told[1:] == at
    assert told[0] < told[1]
    before = ledger.view(valid_at="2026-06-01", known_at=told[0])
    after = ledger.view(valid_at="2026-06-01")
    assert not before.values("DORA", "IS_A")
    assert after.values("DORA", "IS_A") == ("PERSON",)


def test_a_stated_time_is_that_of_the_first_run(ledger: Ledger, project: Path) -> None:
    done = import_index(ledger, project, recorded_at="2026-05-01")
    assert [run.recorded_at for run in done.runs] == [
        "2026-05-01T00:00:00Z",
        "2026-05-01T00:00:00.000001Z",
        "2026-05-01T00:00:00.000002Z",
    ]


def test_all_runs_go_in_or_none(ledger: Ledger, project: Path) -> None:
    first = project / "update_output" / SECOND / "delta" / "entities.parquet"
    first.write_bytes(b"no parquet")
    with pytest.raises(doxa.CallerError, match="entities can't be read"):
        import_index(ledger, project)
    assert ledger.revision == 0


def test_one_run_that_the_ledger_refuses_keeps_all_out(
    ledger: Ledger, project: Path, tmp_path: Path
) -> None:
    import_index(ledger, written(tmp_path / "other", index({"o": ["Other."]})), index="novel")
    head = ledger.revision
    with pytest.raises(doxa.CallerError, match="none of them is among"):
        import_index(ledger, project)
    assert ledger.revision == head
    assert import_index(ledger, project, replace=True).withdrawn
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/novel", "novel"),
        ("/data/novel/output", "novel"),
        ("/data/novel/output/20240807-1234/artifacts", "novel"),
        (f"/data/novel/update_output/{FIRST}/delta", "novel"),
    ],
)
def test_an_index_is_called_as_its_project(path: str, name: str) -> None:
    assert index_name(path) == name
    with pytest.raises(doxa.CallerError, match="give one"):
        index_name("/output")


def test_odd_folders_are_no_updates(tmp_path: Path) -> None:
    updates: Any = tmp_path / "update_output"
    (updates / "20261399-999999" / "delta").mkdir(parents=True)
    (updates / "notes").mkdir()
    written(updates / "20261399-999998" / "delta", delta())
    (run,), _ = runs_in(updates)
    assert (run.at, run.complete) == (None, False)
