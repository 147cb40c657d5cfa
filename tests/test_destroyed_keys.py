"""Destroying a key: what it protected is gone from every copy of the log, and nothing else is."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.adapters.exchange.exporting import export_events
from doxa.engine.graph import CLAIM
from doxa.ledger import Ledger
from tests.encrypted import DAY, EncryptedWalk, opened, stored
from tests.histories import GRID, moment
from tests.walks import wander


def told(ledger: Ledger) -> None:
    """Two claims about Ada, one about Bob, and a text about both."""
    ledger.claim("ada", "lives_in", "London", id="a1", source={"id": "s", "quote": "in London"})
    ledger.claim("ada", "works_at", "the Engine", id="a2", source="s")
    ledger.claim("bob", "lives_in", "Lisbon", id="b1", source="s")
    ledger.summarize("Ada and Bob live apart.", facts=["a1", "b1"], id="u1")


def archive(ledger: Ledger, *ids: str) -> None:
    ledger.append([{"event": "policy", "id": f"archive {ids[0]}", "archived": list(ids)}])


def copied(folder: Path, name: str) -> None:
    """A copy of the ledger in a folder, as a backup of the folder would have it."""
    shutil.copytree(folder / "ledger", folder / name)


def check_gone(ledger: Ledger) -> None:
    """Nothing of Ada can be read, all else can, and the ledger is whole."""
    view = ledger.view(valid_at=DAY)
    assert [view.standing(id) for id in ("a1", "a2", "b1")] == ["redacted", "redacted", "reported"]
    assert view.value("bob", "lives_in") == "Lisbon"
    lines = "\n".join(export_events(ledger))
    assert [word for word in ("London", "Engine", "live apart", '"ada"') if word in lines] == []
    report = ledger.verify()
    assert report.ok, str(report)


# ---------------------------------------------------------------- in order


def test_a_key_is_not_destroyed_while_it_is_needed(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        before = (tmp_path / "keys").read_bytes(), ledger.revision
        with pytest.raises(doxa.KeyNeeded, match=r"protects 3 events.*a1 \(claim\)") as refused:
            ledger.destroy_key("ada")
        assert refused.value.ids == ("a1", "a2", "u1")
        assert ((tmp_path / "keys").read_bytes(), ledger.revision) == before


def test_a_dry_run_lists_what_a_key_protects_and_does_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        before = (tmp_path / "keys").read_bytes(), ledger.revision
        report = ledger.destroy_key("ada", dry_run=True)
        assert [(one.id, one.kind, one.position) for one in report.protected] == [
            ("a1", "claim", 1),
            ("a2", "claim", 2),
            ("u1", "summary", 4),
        ]
        assert not report.destroyed
        assert report.purged is None
        assert report.as_dict()["destroyed"] is False
        assert "would be destroyed" in str(report)
        assert ((tmp_path / "keys").read_bytes(), ledger.revision) == before
        assert ledger.view(valid_at=DAY).value("ada", "lives_in") == "London"


def test_purged_first_and_then_destroyed_no_copy_can_be_read(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.backup(tmp_path / "backup")
        archive(ledger, "a1", "a2")
        ledger.purge(["a1", "a2"], with_residue=True)
        report = ledger.destroy_key("ada")
        assert (report.destroyed, report.protected, report.purged) == (True, (), None)
        check_gone(ledger)
    doxa.restore_backup(tmp_path / "backup", tmp_path / "restored")
    with opened(tmp_path, name="restored") as ledger:
        assert ledger.revision == 4
        assert any(data for position, *_, data in stored(tmp_path / "restored") if position == 1)
        check_gone(ledger)
        assert ledger.view(valid_at=DAY, known_at=4).standing("a1") == "redacted"


def test_a_copied_checkpoint_cannot_be_read_either(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
    copied(tmp_path, "copy")
    assert (tmp_path / "copy" / "cache" / "fold.doxa").exists()
    with opened(tmp_path, name="copy") as ledger:
        assert ledger._stream.upkeep.position == 4  # it was begun with
    with opened(tmp_path) as ledger:
        ledger.destroy_key("ada", force=True)
        assert not (tmp_path / "ledger" / "cache" / "fold.doxa").exists()
    with opened(tmp_path, name="copy") as ledger:
        check_gone(ledger)


def test_a_backup_that_is_put_back_brings_nothing_back_that_was_purged(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.backup(tmp_path / "backup")
        archive(ledger, "a1", "a2")
        ledger.purge(["a1", "a2"], with_residue=True)
    done = doxa.restore_backup(tmp_path / "backup", tmp_path / "ledger", replace=True)
    assert sorted(done.erased_again) == ["a1", "a2", "u1"]
    with opened(tmp_path) as ledger:
        assert ledger.revision == 4
        check_gone(ledger)
        ledger.destroy_key("ada")
        check_gone(ledger)


def test_by_force_all_that_a_key_protects_is_erased_with_it(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger, opened(tmp_path) as other:
        told(ledger)
        copied(tmp_path, "copy")
        captured = other.view(valid_at=DAY)
        assert captured.value("ada", "lives_in") == "London"
        report = ledger.destroy_key("ada", force=True, reason="asked to", id="gone")
        assert report.destroyed
        assert [one.id for one in report.protected] == ["a1", "a2", "u1"]
        assert report.purged is not None
        assert report.purged.policy == "gone"
        assert "it protected claim a1 at 1" in str(report)
        for each in (ledger, other):  # which sees that it was erased
            check_gone(each)
        erased = [position for position, *_, data in stored(tmp_path / "ledger") if data is None]
        assert erased == [1, 2, 4]
        with pytest.raises(doxa.UnknownTarget, match="destroyed already"):
            ledger.destroy_key("ada", force=True)
    for name in ("ledger", "copy"):
        with opened(tmp_path, name=name) as ledger:
            check_gone(ledger)


def test_a_subject_that_is_claimed_anew_has_another_key(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        first = ledger.destroy_key("ada", force=True)
        ledger.claim("ada", "lives_in", "Paris", id="a3", source="s")
        second = ledger.destroy_key("ada", dry_run=True)
        assert first.key != second.key
        assert [one.id for one in second.protected] == ["a3"]
    with opened(tmp_path) as ledger:
        view = ledger.view(valid_at=DAY)
        assert view.standing("a1") == "redacted"
        assert view.standing("a3") == "reported"
        assert view.value("ada", "lives_in") == "Paris"
        assert [json for json in export_events(ledger) if "Paris" in json]
        assert ledger.verify().ok


def test_what_several_are_told_of_in_is_gone_with_any_of_their_keys(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.correct("a1", by="b1", reason="taken for the other", id="k1")
        ledger.withdraw("k1", reason="not so", id="w1")
        copied(tmp_path, "copy")
        protected = {one.id for one in ledger.destroy_key("bob", dry_run=True).protected}
        assert protected == {"b1", "u1", "k1", "w1"}
        ledger.destroy_key("bob", force=True)
        view = ledger.view(valid_at=DAY)
        assert view.standing("b1") == "redacted"
        assert view.value("ada", "works_at") == "the Engine"
    with opened(tmp_path, name="copy") as ledger:
        lines = "\n".join(export_events(ledger))
        assert [w for w in ("Lisbon", "live apart", "the other", "not so") if w in lines] == []
        assert "London" in lines
        assert ledger.verify().ok


def test_the_same_name_in_another_workspace_is_somebody_else(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.claim("ada", "likes", "tea", id="t1", source="s", workspace="w")
        report = ledger.destroy_key("ada", workspace="w", force=True)
        assert [(one.workspace, one.id) for one in report.protected] == [("w", "t1")]
        assert ledger.view(valid_at=DAY).value("ada", "lives_in") == "London"
        assert ledger.view(valid_at=DAY, workspace="w").standing("t1") == "redacted"


def test_texts_of_other_workspaces_are_erased_there(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        shared = {"workspace": "", "id": "a1"}
        ledger.summarize("Of Ada, elsewhere.", facts=[shared], id="u2", workspace="w")
        report = ledger.destroy_key("ada", force=True)
        assert [(one.workspace, one.id) for one in report.protected][-1] == ("w", "u2")
        assert "elsewhere" not in "\n".join(export_events(ledger))
        assert ledger.verify().ok


def test_what_names_nobody_has_a_key_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.summarize("Of the press.", sources=["s"], id="u3")
        copied(tmp_path, "copy")
        with pytest.raises(doxa.KeyNeeded, match=r"u3 \(summary\)"):
            ledger.destroy_key(event="u3")
        archive(ledger, "u3")
        ledger.purge("u3")
        assert ledger.destroy_key(event="u3").protected == ()
        with pytest.raises(doxa.UnknownTarget, match="no key of the event 'a1'"):
            ledger.destroy_key(event="a1")
    with opened(tmp_path, name="copy") as ledger:
        assert "press" not in "\n".join(export_events(ledger))
        assert ledger.view(valid_at=DAY).value("ada", "lives_in") == "London"


def test_policies_of_the_ledger_stay_readable(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        ledger.policy(single_valued="lives_in", id="p1")
        ledger.destroy_key("ada", force=True)
        ledger.destroy_key("bob", force=True)
    with opened(tmp_path) as ledger:
        assert any('"single_valued":"lives_in"' in line for line in export_events(ledger))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "give a subject"),
        ({"subject": "ada", "event": "u1"}, "give a subject"),
        ({"subject": ""}, "subject is ''"),
        ({"subject": 3}, "subject is 3"),
        ({"event": ["u1"]}, "event is"),
        ({"subject": "ada", "force": 1}, "force is 1"),
        ({"subject": "ada", "dry_run": "no"}, "dry_run is 'no'"),
        ({"subject": "ada", "workspace": None}, "workspace is None"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        with pytest.raises(doxa.CallerError, match=words):
            ledger.destroy_key(**arguments)
        assert ledger.revision == 4


def test_a_plain_ledger_has_no_keys_to_destroy(ledger: Ledger) -> None:
    told(ledger)
    with pytest.raises(doxa.CallerError, match="is not encrypted"):
        ledger.destroy_key("ada")


def test_nobody_records_while_a_key_is_destroyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as ledger, opened(tmp_path) as other:
        told(ledger)
        other.recorder._writer._timeout = 0.2
        cipher = ledger._stream.cipher
        assert cipher is not None
        destroy, refused = cipher.keys.destroy, []

        def destroying(id: bytes) -> None:
            with pytest.raises(doxa.StorageError, match="locked") as error:
                other.claim("ada", "lives_in", "Rome", source="s")
            refused.append(error)
            destroy(id)

        monkeypatch.setattr(cipher.keys, "destroy", destroying)
        ledger.destroy_key("ada", force=True)
        assert len(refused) == 1
        other.claim("ada", "lives_in", "Rome", id="a4", source="s")
        assert ledger.view(valid_at=DAY).standing("a4") == "reported"


def test_the_asynchronous_twin_does_the_same(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        told(ledger)
        assert asyncio.run(ledger.adestroy_key("ada", force=True)).destroyed


# ---------------------------------------------------------------- random histories


@settings(max_examples=20)
@given(seed=st.integers(0, 2**48))
def test_destroying_keys_changes_nothing_else_in_the_past(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        walk = EncryptedWalk(Path(folder))
        try:
            wander(random, walk, random.choice((10, 30, 50)))
            ledger = walk.ledger
            graph = ledger._stream.capture()[0].belief.graph
            names = graph.names.texts
            places = {
                (names[graph.c_ws[number >> 3]], names[graph.c_subject[number >> 3]])
                for number in graph.ids.number
                if number & 7 == CLAIM
            }
            if not places:
                return
            workspace, subject = random.choice(sorted(places))
            revision = ledger.revision
            views = [
                ledger.view(valid_at=moment(day), known_at=revision, workspace=place)
                for day in GRID
                for place in ("", "w", "x")
            ]
            before = [{(c.workspace, c.id): str(c.standing) for c in v.claims(standing="any")}
                      for v in views]  # fmt: skip
            walk.other.close()
            report = ledger.destroy_key(subject, workspace=workspace, force=True)
            gone = {(one.workspace, one.id) for one in report.protected}
            for view, stood in zip(views, before, strict=True):
                again = ledger.view(
                    valid_at=view.valid_at, known_at=revision, workspace=view.workspace
                )
                for claim in again.claims(standing="any"):
                    key = (claim.workspace, claim.id)
                    assert str(claim.standing) == ("redacted" if key in gone else stood[key])
            said = ledger.verify()
            assert said.ok, f"{said}\n{walk}"
            lines = list(export_events(ledger))
            walk.close()
            walk.__post_init__()
            assert list(export_events(walk.ledger)) == lines
        finally:
            walk.close()
