"""Random histories in an encrypted ledger: it answers as the oracle does, and as a plain one."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.engine.sealing import NONCE, key_ids
from doxa.engine.view import TruthView
from tests.compactions import Corrector
from tests.encrypted import EncryptedWalk, opened, stored
from tests.histories import DAY, GRID, moment
from tests.test_purging_histories import purged_walk
from tests.trials import Watch, first_difference
from tests.walks import Walk, play, wander


def said(view: TruthView) -> list[tuple[object, ...]]:
    """What every claim in sight says, and how it stands."""
    return [
        (c.workspace, c.id, c.subject, c.predicate, c.object, c.text, str(c.standing))
        for c in view.claims(standing="any")
    ]


@settings(max_examples=25)
@given(seed=st.integers(0, 2**48))
def test_an_encrypted_ledger_answers_as_the_oracle_does(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        walk = EncryptedWalk(Path(folder))
        try:
            watch = Watch(Random(seed))
            wander(random, walk, random.choice((10, 25, 40)), watch)
            found = first_difference(walk, watch, seed, 12)
            assert found is None, f"{found}\n{walk}"
            report = walk.ledger.verify()
            assert report.ok, f"{report}\n{walk}"
        finally:
            walk.close()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**48))
def test_an_encrypted_ledger_and_a_plain_one_say_the_same(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        plain, sealed = Walk(Path(folder) / "plain"), EncryptedWalk(Path(folder))
        try:
            wander(random, sealed, random.choice((10, 30, 60)))
            play(sealed.steps, plain)
            assert plain.problems == sealed.problems == []
            assert list(export_events(sealed.ledger)) == list(export_events(plain.ledger))
            revision = plain.ledger.revision
            for workspace in ("", "w", "x"):
                for day in GRID:
                    views = [
                        walk.ledger.view(valid_at=moment(day), workspace=workspace)
                        for walk in (plain, sealed)
                    ]
                    assert views[0].fingerprint == views[1].fingerprint
                    assert said(views[0]) == said(views[1])
            assert sealed.ledger.revision == revision
            for query in (
                "SELECT * FROM beliefs ORDER BY ALL",
                "SELECT * FROM claims ORDER BY ALL",
            ):
                assert sealed.ledger.sql(query).rows == plain.ledger.sql(query).rows
        finally:
            plain.close()
            sealed.close()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**48))
def test_every_event_of_a_history_is_stored_encrypted_with_a_nonce_of_its_own(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        walk = EncryptedWalk(Path(folder))
        wander(random, walk, 40)
        walk.close()
        nonces, keys = set(), set()
        rows = list(stored(Path(folder) / "ledger"))
        for _, _, _, data in rows:
            assert data is not None
            ids = key_ids(data)
            assert ids == sorted(set(ids))
            place = 6 + 8 * len(ids)
            nonces.add(data[place : place + NONCE])
            keys.update(ids)
        assert len(nonces) == len(rows)
        content = (Path(folder) / "keys").read_bytes()
        assert all(content.count(key) == 1 for key in keys)


@pytest.mark.parametrize("seed", range(4))
def test_a_plain_ledger_goes_into_an_encrypted_one_by_its_lines(seed: int, tmp_path: Path) -> None:
    random, plain = Random(seed), Walk()
    wander(random, plain, 60)
    lines = list(export_events(plain.ledger))
    with opened(tmp_path) as ledger:
        report = ledger.import_events(lines)
        assert report.set_aside == ()
        assert list(export_events(ledger)) == lines
        assert ledger.verify().ok
    with opened(tmp_path) as ledger, doxa.open() as again:
        assert again.import_events(list(export_events(ledger))).set_aside == ()
        assert list(export_events(again)) == lines
    plain.close()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**48))
def test_purging_an_encrypted_ledger_changes_nothing_else_in_the_past(seed: int) -> None:
    with TemporaryDirectory() as folder:
        walk = EncryptedWalk(Path(folder))
        try:
            purged_walk(Random(seed), walk)
            report = walk.ledger.verify()
            assert report.ok, f"{report}\n{walk}"
        finally:
            walk.close()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**48))
def test_a_compacted_encrypted_ledger_answers_as_a_plain_one(seed: int) -> None:
    random = Random(seed)
    now = [GRID[2]]
    with TemporaryDirectory() as folder:
        keys, places = Path(folder) / "keys", (Path(folder) / "plain", Path(folder) / "sealed")
        plain, sealed = (
            doxa.open(place, keys=file, clock=lambda: moment(now[0]))
            for place, file in zip(places, (None, keys), strict=True)
        )
        author = Corrector(random)
        for _ in range(random.randint(10, 40)):
            now[0] += random.choice((1, DAY // 8))
            events = author.commit()
            outcomes: list[int | str] = []
            for ledger in (plain, sealed):
                try:
                    outcomes.append(ledger.append(events).new)
                except (doxa.CallerError, doxa.ConflictError) as error:
                    outcomes.append(error.code)
            assert outcomes[0] == outcomes[1]
            if isinstance(outcomes[0], int):
                author.learn(events)
            if random.random() < 0.1:
                asked = random.choice(({"versions": 1}, {"versions": 2}, {"older_than": 0.1}))
                done = [ledger.compact(**asked) for ledger in (plain, sealed)]
                assert done[0].stretches == done[1].stretches
        for ledger in (plain, sealed):
            assert ledger.verify().ok
        sealed.close()
        sealed = doxa.open(places[1], keys=keys, clock=lambda: moment(now[0]))
        for day in GRID:
            for workspace in ("", "w"):
                found = []
                for ledger in (plain, sealed):
                    view = ledger.view(valid_at=moment(day), workspace=workspace)
                    named = author.ids.get((workspace, "claim"), [])
                    found.append([view.standing(id, workspace=workspace) for id in named])
                assert found[0] == found[1]
        plain.close()
        sealed.close()
