"""What of a folder of memos can not be recorded: set aside with the reason, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from doxa.adapters.markdown import import_corpus
from doxa.ledger import Ledger
from tests.memos import JULY, believed, hours, meanings, standing, text, turns, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return hours(tmp_path / "notes")


def test_a_memo_that_can_not_be_read_stays_as_it_was(ledger: Ledger, folder: Path) -> None:
    import_corpus(ledger, folder)
    before = believed(ledger)
    for content in (b"\xff", b"---\nid: [\n---\n", b"---\nvalid_from: soon\n---\nten\n"):
        write(folder, {"hours-2024.md": content})
        done = import_corpus(ledger, folder)
        assert [each.path for each in done.set_aside] == ["hours-2024.md"]
        assert (done.unchanged, believed(ledger)) == (True, before)
    write(folder, {"hours-2023.md": text("eleven", valid_from="2023-01-01")})
    assert turns(import_corpus(ledger, folder)) == [("changed", "hours-2023")]
    assert standing(ledger, "notes:hours-2023@2") == "superseded", "by the memo that can't be read"
    assert standing(ledger, "notes:hours-2023@2", "2024-02-01") == "reported"


def test_a_folder_that_can_not_be_read_withdraws_nothing(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "n", {"a.md": "a", "sub/b.md": "b"})
    import_corpus(ledger, folder)
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = import_corpus(ledger, folder)
    assert (done.unchanged, [each.path for each in done.set_aside]) == (True, ["sub"])
    assert standing(ledger, "n:sub/b@1") == "reported"


def test_a_file_that_vanishes_meanwhile_is_set_aside(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_corpus(ledger, folder)
    real = os.open

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith("hours-2024.md"):
            raise FileNotFoundError(2, "No such file or directory")
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", opened)
    done = import_corpus(ledger, folder)
    assert done.unchanged
    assert [(each.path, each.reason) for each in done.set_aside] == [
        ("hours-2024.md", "can't be read: No such file or directory")
    ]


def test_two_files_with_one_id_are_set_aside_until_one_is_left(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"a.md": text("1", id="x")})
    import_corpus(ledger, folder)
    write(folder, {"b.md": text("2", id="x")})
    done = import_corpus(ledger, folder)
    assert ([each.path for each in done.set_aside], done.unchanged) == (["a.md", "b.md"], True)
    assert standing(ledger, "n:x@1") == "reported"
    (folder / "a.md").unlink()
    assert turns(import_corpus(ledger, folder)) == [("changed", "x")]


def test_an_event_that_is_too_large_is_set_aside_with_the_reason(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"a.md": "x" * ((1 << 20) - 10), "b.md": text(supersedes="a")})
    done = import_corpus(ledger, folder)
    assert turns(done) == [("added", "b")]
    assert [each.path for each in done.set_aside] == ["a.md"]
    assert "1,048,576" in done.set_aside[0].reason
    assert meanings(done) == [("a", "dangling")]


def test_a_rejected_text_is_kept_out_and_noted_once(ledger: Ledger, tmp_path: Path) -> None:
    ledger.reject("The earth is flat", reason="it is not")
    folder = write(tmp_path / "n", {"a.md": "the EARTH is flat", "b.md": "b"})
    done = import_corpus(ledger, folder)
    assert (turns(done), [each.path for each in done.set_aside]) == ([("added", "b")], ["a.md"])
    after = ledger.revision
    assert import_corpus(ledger, folder).unchanged
    assert ledger.revision == after


def test_an_erased_memo_does_not_come_back_from_its_file(ledger: Ledger, folder: Path) -> None:
    import_corpus(ledger, folder)
    ledger.archive(["notes:hours-2023@1"])
    ledger.purge(["notes:hours-2023@1"], reason="asked for")
    done = import_corpus(ledger, folder)
    assert ([each.path for each in done.set_aside], done.events) == (["hours-2023.md"], 0)
    write(folder, {"new.md": text(supersedes="hours-2023")})
    done = import_corpus(ledger, folder)
    assert (turns(done), len(done.set_aside), len(done.notes)) == ([("added", "new")], 1, 2)
    assert standing(ledger, "notes:hours-2023@1") == "redacted"
    assert "ten" not in "".join(str(line) for line in ledger.view(valid_at=JULY).claims())
    assert import_corpus(ledger, folder).unchanged


def test_a_ring_with_what_people_declared_leaves_out_the_edge_alone(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"a.md": "a", "b.md": "b"})
    import_corpus(ledger, folder)
    ledger.correct("n:a@1", by="n:b@1", reason="so I say")
    write(folder, {"a.md": text("a", supersedes="b"), "c.md": text(supersedes="b")})
    done = import_corpus(ledger, folder)
    assert [(each.path, each.name) for each in done.set_aside] == [("a.md", "b")]
    assert "ring" in done.set_aside[0].reason
    assert turns(done) == [("added", "c")]
    assert standing(ledger, "n:a@1") == "superseded"
