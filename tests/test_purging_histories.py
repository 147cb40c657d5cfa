"""Random histories of which records are purged: the past of all else stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.engine.belief import HELD
from doxa.engine.fold import Fold
from doxa.engine.graph import ARTEFACT, CLAIM
from doxa.engine.sameness import differences
from doxa.engine.view import TruthView
from doxa.ledger import Ledger
from tests.histories import GRID, moment
from tests.trials import walking
from tests.walks import Walk, wander


def anew(ledger: Ledger) -> Fold:
    """The fold made from the log alone."""
    stream = ledger._stream
    fold = Fold(stream.payload, stream.upkeep.erasures)
    fold.follow(ledger.recorder.read_rows())
    return fold


def coordinates(random: Random, ledger: Ledger) -> Iterator[TruthView]:
    """Some views of the past, of each workspace."""
    graph = ledger._stream.capture()[0].belief.graph
    commits = list(graph.commit_last)
    for workspace in {graph.names.texts[code] for code in graph.revisions} or {""}:
        for k in random.sample(commits, min(3, len(commits))):
            v = random.choice(GRID)
            yield ledger.view(valid_at=moment(v), known_at=k, workspace=workspace)


def standings(view: TruthView) -> dict[tuple[str, str], str]:
    """How every claim in sight stands."""
    return {(c.workspace, c.id): str(c.standing) for c in view.claims(standing="any")}


def chosen(random: Random, ledger: Ledger) -> list[tuple[str, str]]:
    """Some claims and artefacts of one workspace."""
    graph = ledger._stream.capture()[0].belief.graph
    records = [
        (graph.names.texts[graph.workspace_of(number)], graph.id_of(number))
        for number in graph.ids.number
        if number & 7 in (CLAIM, ARTEFACT) and number not in graph.erased
    ]
    if not records:
        return []
    workspace, _ = random.choice(records)
    own = [record for record in records if record[0] == workspace]
    return random.sample(own, min(len(own), random.choice((1, 1, 2, 4))))


def purge(random: Random, ledger: Ledger) -> set[tuple[str, str]]:
    """Archives and purges some records; returns what was erased."""
    records = chosen(random, ledger)
    if not records:
        return set()
    workspace, ids = records[0][0], [id for _, id in records]
    archived = {"event": "policy", "id": f"archived {random.random()}", "workspace": workspace}
    ledger.append([archived | {"archived": ids}])
    residue = random.random() < 0.3
    planned = ledger.purge(ids, workspace=workspace, with_residue=residue, dry_run=True)
    done = ledger.purge(ids, workspace=workspace, with_residue=residue)
    assert done.erased == planned.erased
    assert done.residue == planned.residue
    return {(record.workspace, record.id) for record in done.erased}


def check_past(view: TruthView, before: tuple[dict[Any, str], str], gone: set[Any]) -> None:
    """What was known then of all else stands as it did; what is gone is redacted."""
    stood, fingerprint = before
    now = standings(view)
    assert now.keys() == stood.keys()
    for key, standing in now.items():
        assert standing == ("redacted" if key in gone else stood[key]), (view, key)
    was = {key for key in gone if stood.get(key) in (*map(str, HELD), "hypothesis")}
    assert (view.fingerprint == fingerprint) is not bool(was), (view, was)


def purged_walk(random: Random, walk: Walk) -> set[tuple[str, str]]:
    """Goes on a walk, and purges some of what came of it; the checks are made on the way."""
    author = wander(random, walk, random.choice((10, 30, 50)))
    gone: set[tuple[str, str]] = set()
    for _ in range(random.choice((1, 2, 3))):
        ledger = walk.ledger
        views = list(coordinates(random, ledger))
        before = [(standings(view), view.fingerprint) for view in views]
        fresh = purge(random, ledger)
        gone |= fresh
        for view, said in zip(views, before, strict=True):
            check_past(view, said, gone)  # the view that was captured before
            again = ledger.view(valid_at=view.valid_at, known_at=view.k, workspace=view.workspace)
            check_past(again, said, gone)
        fold, _ = ledger._stream.capture()
        assert list(differences(fold, anew(ledger))) == []
        report = ledger.verify()
        assert report.ok, str(report)
        wander(random, walk, 6, writer=lambda _: author)
    assert walk.problems == [], walk.problems
    return gone


@given(seed=st.integers(0, 2**48))
def test_purging_changes_nothing_else_in_the_past(seed: int) -> None:
    random = Random(seed)
    with walking(False) as walk:
        purged_walk(random, walk)
        report = walk.ledger.verify()
        assert report.ok, f"{report}\n{walk}"


@given(seed=st.integers(0, 2**48))
def test_a_purged_ledger_reopened_without_its_cache_is_the_same(seed: int) -> None:
    random = Random(seed)
    with walking(True) as walk:
        gone = purged_walk(random, walk)
        ledger = walk.ledger
        views = [(v.v, v.k, v.workspace) for v in coordinates(random, ledger)]
        before = [_seen(ledger, *place) for place in views]
        walk.close()
        assert walk.folder is not None
        for path in sorted(walk.folder.joinpath("cache").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        walk.__post_init__()
        assert [_seen(walk.ledger, *place) for place in views] == before
        graph = walk.ledger._stream.capture()[0].belief.graph
        assert {(w, i) for w, i in gone if graph.find(w, i) not in graph.erased} == set()


def _seen(ledger: Ledger, v: int, k: int, workspace: str) -> tuple[Any, str]:
    view = ledger.view(valid_at=moment(v), known_at=k, workspace=workspace)
    return standings(view), view.fingerprint


@given(seed=st.integers(0, 2**48))
def test_what_is_exported_of_a_purged_ledger_imports_and_exports_alike(seed: int) -> None:
    random = Random(seed)
    with walking(False) as walk, doxa.open() as other:
        purged_walk(random, walk)
        lines = list(export_events(walk.ledger))
        report = other.import_events(lines)
        assert not report.set_aside, str(report)
        assert list(export_events(other)) == lines


@pytest.mark.parametrize("seed", range(3))
def test_no_byte_of_what_is_purged_stays_in_the_folder(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder, doxa.open(Path(folder) / "l") as ledger:
        kept = [f"kept-{random.getrandbits(64):x}" for _ in range(5)]
        secret = [f"gone-{random.getrandbits(64):x}" for _ in range(5)]
        for number, word in enumerate([*kept, *secret]):
            ledger.claim(
                f"of {word}",
                f"says {word}",
                word,
                id=f"c{number}",
                text=f"in words {word}",
                perspective=f"as {word}",
                recall_when=[f"when {word}"],
                source={"id": "s", "quote": f"quote {word}", "origin": f"o {word}", "digest": word},
            )
            ledger.cite(f"cited {word}", claim=f"c{number}", id=f"q{number}")
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
        view = ledger.view(valid_at="2024-01-01")
        assert [h.id for h in ledger.recall(secret[0], view=view, perspective=None).hits]
        ids = [f"c{number}" for number in range(5, 10)]
        ledger.append([{"event": "policy", "id": "a", "archived": ids}])
        assert len(ledger.purge(ids).residue) == 5
        ledger.append([{"event": "policy", "id": "b", "archived": [f"q{n}" for n in range(5, 10)]}])
        ledger.purge([f"q{n}" for n in range(5, 10)])
        assert not ledger.recall(secret[0], view=view).hits
        _scan(Path(folder), kept, secret)
        ledger.index()
        ledger.sql("SELECT count(*) FROM beliefs")
        _scan(Path(folder), kept, secret)
        ledger.close()
        _scan(Path(folder), kept, secret)


def _scan(folder: Path, kept: list[str], secret: list[str]) -> None:
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert all(word.encode() in held for word in kept)  # the scan finds what is there
    assert [word for word in secret if word.encode() in held] == []
