"""Which folder a corpus is, and which it is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.markdown import import_corpus
from doxa.ledger import Ledger
from tests.memos import JULY, hours, standing, text, turns, write


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


# ---------------------------------------------------------------- a copy, or nothing at all


def many(folder: Path, count: int = 10, changed: int = 0) -> Path:
    return write(folder, {f"m{n}.md": f"words {n}{' more' * (n < changed)}" for n in range(count)})


def test_a_folder_with_the_memos_of_another_corpus_is_refused(
    ledger: Ledger, tmp_path: Path
) -> None:
    team = many(tmp_path / "team")
    import_corpus(ledger, team)
    before = ledger.revision
    team.rename(tmp_path / "team2")
    for dry_run in (False, True):
        with pytest.raises(doxa.CallerError, match="'team' has 10 of the 10 memos") as refused:
            import_corpus(ledger, tmp_path / "team2", dry_run=dry_run)
    assert "--corpus team (corpus='team')" in str(refused.value)
    assert "--corpus team2;" in str(refused.value)
    assert ledger.revision == before
    assert import_corpus(ledger, tmp_path / "team2", corpus="team").unchanged
    assert len(import_corpus(ledger, tmp_path / "team2", corpus="team2").changes) == 10
    assert import_corpus(ledger, tmp_path / "team2").unchanged, "it is known by then"


def test_most_of_the_memos_make_a_copy_and_half_of_them_do_not(
    ledger: Ledger, tmp_path: Path
) -> None:
    import_corpus(ledger, many(tmp_path / "team"))
    with pytest.raises(doxa.CallerError, match="6 of the 10"):
        import_corpus(ledger, many(tmp_path / "most", changed=4))
    assert len(import_corpus(ledger, many(tmp_path / "half", changed=5)).changes) == 10
    assert len(import_corpus(ledger, many(tmp_path / "larger", 20)).changes) == 20
    with pytest.raises(doxa.CallerError, match="'larger' has 20 of the 20"):
        import_corpus(ledger, many(tmp_path / "again", 20))


def test_what_is_gone_or_elsewhere_makes_no_copy(ledger: Ledger, tmp_path: Path) -> None:
    team = many(tmp_path / "team", 2)
    import_corpus(ledger, team, workspace="w")
    assert len(import_corpus(ledger, many(tmp_path / "other", 2)).changes) == 2
    for path in (tmp_path / "other").iterdir():
        path.unlink()
    import_corpus(ledger, tmp_path / "other", allow_empty=True)
    assert len(import_corpus(ledger, team).changes) == 2
    ledger.claim("m0", "says", "x", id="odd:name", kind="memo", source="s")
    assert len(import_corpus(ledger, many(tmp_path / "third", 3, changed=3)).changes) == 3


def test_a_folder_without_memos_is_refused_where_nothing_is_recorded(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"a.txt": "x"})
    with pytest.raises(doxa.CallerError, match="there are no memos in"):
        import_corpus(ledger, folder)
    (folder / "a.md").symlink_to(folder / "a.txt")
    with pytest.raises(doxa.CallerError, match=r"a\.md: a link, which is not followed"):
        import_corpus(ledger, folder, corpus="c")
    assert import_corpus(ledger, folder, allow_empty=True).unchanged
    assert ledger.revision == 0


def test_what_front_matter_says_that_is_not_read_is_noted_once_for_all(
    ledger: Ledger, tmp_path: Path
) -> None:
    files = {f"m{n}.md": text(superseeds="a", date="2024-01-01") for n in range(5)}
    done = import_corpus(ledger, write(tmp_path / "n", {**files, "z.md": "id: z\n---\n"}))
    assert done.notes == (
        "m0.md, m1.md, m2.md and 2 more: the key 'superseeds' is not read; supersedes is",
        "z.md: front matter without a line --- above it is not read; put one there",
    )
    assert [finding.rule for finding in done.findings] == [
        *["misspelt-key"] * 5,
        "unopened-front-matter",
    ]
    assert len(done.as_dict()["findings"]) == 6
    assert import_corpus(ledger, tmp_path / "n").notes == done.notes
