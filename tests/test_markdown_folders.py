"""Which folder a corpus is, and which it is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.markdown import import_corpus
from doxa.ledger import Ledger
from tests.memos import JULY, hours, standing, turns, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return hours(tmp_path / "notes")


def test_another_folder_of_the_same_name_withdraws_nothing(ledger: Ledger, folder: Path) -> None:
    import_corpus(ledger, folder)
    before = ledger.revision
    other = write(folder.parent / "elsewhere" / "notes", {"z.md": "z"})
    for empty in (other, folder.parent / "elsewhere"):
        (empty / "z.md").unlink(missing_ok=True)
        with pytest.raises(doxa.CallerError, match="none of the 2 memos"):
            import_corpus(ledger, empty, corpus="notes")
    assert ledger.revision == before
    assert len(import_corpus(ledger, other, allow_empty=True).of("withdrawn")) == 2
    assert turns(import_corpus(ledger, folder, corpus="second"))[0] == ("added", "hours-2023")


def test_the_only_memo_may_go(ledger: Ledger, tmp_path: Path) -> None:
    folder = write(tmp_path / "n", {"a.md": "a"})
    import_corpus(ledger, folder)
    (folder / "a.md").unlink()
    assert turns(import_corpus(ledger, folder)) == [("withdrawn", "a")]
    write(folder, {"a.md": "a"})
    assert turns(import_corpus(ledger, folder)) == [("restored", "a")]
    assert standing(ledger, "n:a@1") == "reported"


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "a\nb", "x" * 101, 3])
def test_a_corpus_has_a_plain_name(ledger: Ledger, folder: Path, name: Any) -> None:
    with pytest.raises(doxa.CallerError, match="corpus"):
        import_corpus(ledger, folder, corpus=name)


@pytest.mark.parametrize("place", ["nowhere", "a\0b", 7])
def test_what_is_no_folder_is_refused(ledger: Ledger, place: Any) -> None:
    with pytest.raises(doxa.CallerError):
        import_corpus(ledger, place)


def test_links_and_special_files_are_not_followed(ledger: Ledger, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "secret"})
    folder = write(tmp_path / "n", {"a.md": "a", ".hidden/b.md": "b", ".c.md": "c", "d.txt": "d"})
    (folder / "out.md").symlink_to(outside / "secret.md")
    (folder / "out").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "self.md").symlink_to("self.md")
    os.mkfifo(folder / "pipe.md")
    done = import_corpus(ledger, folder)
    assert turns(done) == [("added", "a")]
    assert [(each.path, each.reason) for each in done.set_aside] == [
        ("pipe.md", "is no file, but something special")
    ]
    assert done.notes == tuple(
        f"{path}: a link, which is not followed" for path in ("loop", "out", "out.md", "self.md")
    )


def test_workspaces_are_apart(ledger: Ledger, folder: Path) -> None:
    import_corpus(ledger, folder, workspace="w")
    assert ledger.view(valid_at=JULY).claims(standing="any") == []
    assert import_corpus(ledger, folder, workspace="w").unchanged
    assert len(import_corpus(ledger, folder).of("added")) == 2
