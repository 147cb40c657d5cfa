"""What the texts of another index over a folder of memos rest on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.judging import Found, NothingDeclared, Sieve
from doxa.adapters.markdown import MemoAnnotation, annotate_memos, import_corpus
from doxa.ledger import Ledger

DAY = "2024-07-01"
OLD = """---
valid_from: 2023-01-01
---
# Opening hours

We open at ten.

Bring a chair.
"""
NEW = """---
valid_from: 2024-01-01
supersedes: old
sources: [minutes of 2 May]
---
# Hours from now on

We open at
nine.
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "old.md").write_text(OLD)
    (folder / "sub" / "new.md").write_text(NEW)
    return folder


@pytest.fixture
def ledger(notes: Path) -> Iterator[Ledger]:
    with doxa.open() as opened:
        import_corpus(opened, notes)
        yield opened


def said(ledger: Ledger, text: str, path: object, key: str = "source", **more: Any) -> Any:
    annotate = annotate_memos(ledger, "notes", **more)
    return annotate(Found(text, {key: path}))


def left(ledger: Ledger, *texts: str, **at: Any) -> dict[str, Any]:
    """What is left out of texts from old.md, and why."""
    sieve = Sieve(ledger, valid_at=DAY, annotate=annotate_memos(ledger, "notes"))
    found = [Found(text, {"source": "notes/old.md"}, text) for text in texts]
    return {str(one.found.id): one.standing for one in sieve.filter(found, **at).left_out}


def test_a_text_rests_on_the_memo_that_holds_it_with_its_corrections_and_sources(
    ledger: Ledger,
) -> None:
    sieve = Sieve(ledger, valid_at=DAY, annotate=annotate_memos(ledger, "notes"))
    found = [
        Found("We open at ten.", {"source": "notes/old.md"}, "a"),
        Found("We open at nine.", {"source": "notes/sub/new.md"}, "b"),
    ]
    sifting = sieve.filter(found)
    assert [kept.found.id for kept in sifting] == ["b"]
    assert sifting.kept[0].metadata["claim_ids"] == '["notes:sub/new@1"]'
    (out,) = sifting.left_out
    assert (out.about, out.standing) == ("notes:old@1", "superseded")
    assert [kept.found.id for kept in sieve.filter(found, "2023-06-01")] == ["a"]


def test_words_of_an_old_wording_fall_with_it_and_those_that_stayed_stand(
    ledger: Ledger, notes: Path
) -> None:
    before = ledger.revision
    (notes / "sub" / "new.md").unlink()
    (notes / "old.md").write_text(OLD.replace("ten", "eight"))
    import_corpus(ledger, notes)
    texts = ("We open at ten.", "We open at eight.", "Bring a chair.")
    assert left(ledger, *texts) == {"We open at ten.": "superseded"}
    # as known before, what stayed rests on the wording of then
    then = left(ledger, *texts, known_at=before, valid_at="2023-06-01")
    assert then == {"We open at eight.": None}


@pytest.mark.parametrize(
    "text",
    [OLD, OLD.strip(), "\ufeff" + OLD, OLD.replace("\n", "\r\n"), "ten.\n\n   Bring a\tchair."],
)
def test_front_matter_and_white_space_are_no_matter(ledger: Ledger, text: str) -> None:
    assert said(ledger, text, "notes/old.md") == {"claim_ids": ["notes:old@1"]}


@pytest.mark.parametrize(
    "text",
    ["", " \n", "---\nvalid_from: 2023-01-01\n---\n", "We open at te", "pen at ten.", "ten. We",
     "We open at ten", "We open at eleven.", "---\n" * 20_000],
)  # fmt: skip
def test_what_no_wording_says_is_unknown(ledger: Ledger, text: str) -> None:
    assert said(ledger, text, "notes/old.md") == {"claim_ids": []}
    sieve = Sieve(ledger, valid_at=DAY, annotate=annotate_memos(ledger, "notes"))
    with pytest.warns(NothingDeclared, match="record or import what was searched"):
        sieve.filter([Found(text, {"source": "notes/old.md"})])


@pytest.mark.parametrize("key", ["source", "file_path", "path"])
@pytest.mark.parametrize(
    "path",
    ["notes/sub/new.md", "sub/new.md", "./notes/../notes/sub//new.md", "new.md",
     "/elsewhere/notes/sub/new.md", Path("notes/sub/new.md")],
)  # fmt: skip
def test_a_file_may_be_named_in_many_ways(ledger: Ledger, path: object, key: str) -> None:
    assert said(ledger, "We open at nine.", path, key) == {"claim_ids": ["notes:sub/new@1"]}


def test_a_file_may_be_named_in_full_and_through_a_link(ledger: Ledger, notes: Path) -> None:
    (notes.parent / "link").symlink_to(notes)
    for root in (notes, notes.parent / "link"):
        annotate = annotate_memos(ledger, root)
        for place in (notes, root):
            found = Found("We open at nine.", {"source": str(place / "sub" / "new.md")})
            assert annotate(found) == {"claim_ids": ["notes:sub/new@1"]}


@pytest.mark.parametrize(
    "metadata",
    [{}, {"page": 3}, {"source": None}, {"source": 5}, {"source": ""}, {"source": b"notes/old.md"},
     {"source": "other.md"}, {"source": "/notes-of-others/old.txt"}, {"file": "notes/old.md"}],
)  # fmt: skip
def test_what_is_from_no_file_of_the_folder_is_not_spoken_of(
    ledger: Ledger, metadata: dict[str, Any]
) -> None:
    assert annotate_memos(ledger, "notes")(Found("We open at ten.", metadata)) is None


def test_the_key_and_the_corpus_may_be_named(notes: Path) -> None:
    with doxa.open() as ledger:
        import_corpus(ledger, notes, corpus="town", workspace="team")
        annotate = annotate_memos(ledger, notes, corpus="town", workspace="team", key="origin")
        for path in ("old.md", "notes/old.md", "town/old.md"):
            found = Found("We open at ten.", {"origin": path, "source": "elsewhere"})
            assert annotate(found) == {"claim_ids": ["town:old@1"]}
        nine = [Found("We open at nine.", {"origin": "sub/new.md"})]
        for workspace, ids in (("team", '["town:sub/new@1"]'), ("", None)):
            sieve = Sieve(ledger, workspace=workspace, valid_at=DAY, annotate=annotate)
            kept = sieve.filter(nine).kept
            assert [one.metadata["claim_ids"] for one in kept] == ([ids] if ids else [])


def test_a_memo_that_is_called_otherwise_and_one_that_is_gone(ledger: Ledger, notes: Path) -> None:
    (notes / "sub" / "new.md").unlink()
    (notes / "old.md").write_text(OLD.replace("---\nvalid", "---\nid: hours\nvalid", 1))
    import_corpus(ledger, notes, allow_empty=True)
    (notes / "old.md").rename(notes / "renamed.md")
    import_corpus(ledger, notes)
    for path in ("notes/old.md", "notes/renamed.md"):
        assert said(ledger, "We open at ten.", path) == {"claim_ids": ["notes:hours@1"]}
    assert left(ledger, "We open at ten.") == {}
    (notes / "renamed.md").unlink()
    import_corpus(ledger, notes, allow_empty=True)
    assert left(ledger, "We open at ten.") == {"We open at ten.": "unsupported"}


def test_what_was_erased_is_no_longer_found(ledger: Ledger) -> None:
    annotate = annotate_memos(ledger, "notes")
    found = Found("We open at ten.", {"source": "notes/old.md"})
    assert annotate(found) == {"claim_ids": ["notes:old@1"]}
    ledger.archive("notes:old@1")
    ledger.purge("notes:old@1", reason="asked for")
    assert annotate(found) is None
    assert not any(
        "ten" in each.words for ones in annotate._read.wordings.values() for each in ones
    )


def test_the_folder_is_read_again_only_where_its_part_of_the_ledger_has_changed(
    ledger: Ledger, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, read = MemoAnnotation._reading, []

    def counting(self: MemoAnnotation, *given: Any) -> Any:
        read.append(1)
        return reading(self, *given)

    monkeypatch.setattr(MemoAnnotation, "_reading", counting)
    annotate = annotate_memos(ledger, "notes")
    found = Found("We open at ten.", {"source": "notes/old.md"})
    for number in range(3):
        assert annotate(found) == {"claim_ids": ["notes:old@1"]}
        ledger.claim("ada", "p", number, source="s")
    assert len(read) == 1
    (notes / "old.md").write_text(OLD.replace("chair", "table"))
    import_corpus(ledger, notes)
    assert annotate(found) == {"claim_ids": ["notes:old@2"]}
    assert len(read) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ledger": "town.doxa"}, "open it first"),
        ({"corpus": ""}, "corpus is ''"),
        ({"corpus": 5}, "corpus is 5"),
        ({"key": ""}, "key is ''"),
        ({"key": [None]}, "key is None"),
        ({"workspace": None}, "workspace is None"),
    ],
)
def test_what_can_not_be_used_is_refused(ledger: Ledger, given: dict[str, Any], words: str) -> None:
    with pytest.raises(doxa.CallerError, match=words):
        annotate_memos(**{"ledger": ledger, "folder": "notes", **given})


WORDS = st.lists(st.sampled_from(["a", "b", "ab", "a.", "\n\n", "  "]), min_size=1, max_size=5)


@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_a_text_rests_on_the_newest_wording_with_its_words_in_a_row(
    wordings: list[list[str]], words: list[str]
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place, doxa.open() as ledger:
        folder = Path(place) / "notes"
        folder.mkdir()
        revisions = {}
        for each in wordings:
            (folder / "memo.md").write_text(f"x {' '.join(each)} y\n")
            import_corpus(ledger, folder)
            revisions[ledger.revision] = ["x", *" ".join(each).split(), "y"]
        chunk = " ".join(words).split()
        annotate = annotate_memos(ledger, folder)
        found = Found(" ".join(words), {"source": "memo.md"})
        for known_at in revisions:
            view = ledger.view(valid_at=DAY, known_at=known_at)
            told = annotate.at_view(found, view)
            assert told is not None
            ids = told["claim_ids"]
            texts = [
                (claim.id, (claim.text or "").split())
                for claim in view.claims(subject="memo", standing="any")
            ]
            holding = [
                int(id.rpartition("@")[2])
                for id, text in texts
                if chunk and any(text[at : at + len(chunk)] == chunk for at in range(len(text)))
            ]
            assert ids == ([f"notes:memo@{max(holding)}"] if holding else [])
