"""What the names in ``supersedes`` come to in a ledger."""

from __future__ import annotations

from pathlib import Path

from doxa.adapters.markdown import import_corpus
from doxa.ledger import Ledger
from tests.memos import JULY, ambiguous, meanings, standing, text, turns, write


def test_two_carriers_of_one_stem_are_ambiguous_until_one_is_left(
    ledger: Ledger, tmp_path: Path
) -> None:
    files = {"x/plan.md": "1", "y/plan.md": "2", "new.md": text(supersedes="x/plan.md")}
    folder = write(tmp_path / "n", files)
    assert meanings(import_corpus(ledger, folder)) == [("plan", "ambiguous")]
    assert ambiguous(ledger) == ["n:x/plan@1", "n:y/plan@1"]
    assert standing(ledger, "n:x/plan@1") == standing(ledger, "n:y/plan@1") == "reported"
    answer = ledger.recall("1", view=ledger.view(valid_at=JULY))
    assert {str(hit.verdict) for hit in [*answer, *answer.withheld]} == {"ambiguous_supersession"}
    (folder / "y/plan.md").rename(folder / "y/other.md")
    done = import_corpus(ledger, folder)
    assert meanings(done) == [("plan", "resolved")]
    assert ambiguous(ledger) == []
    assert standing(ledger, "n:x/plan@1") == "superseded"
    (folder / "y/other.md").rename(folder / "y/plan.md")
    import_corpus(ledger, folder)
    assert ambiguous(ledger) == ["n:x/plan@1", "n:y/plan@1"]
    assert standing(ledger, "n:x/plan@1") == "reported"
    assert ledger.verify().ok


def test_a_dangling_name_is_kept_and_resolves_when_its_target_arrives(
    ledger: Ledger, tmp_path: Path
) -> None:
    folder = write(tmp_path / "n", {"new.md": text(supersedes="old")})
    ledger.claim("a house", "is", "old", id="old", source="s")
    assert meanings(import_corpus(ledger, folder)) == [("old", "dangling")]
    assert "[[old]]" in str(ledger.audit("n:new@1>1"))
    write(folder, {"old.md": "x"})
    done = import_corpus(ledger, folder)
    assert (meanings(done), done.events) == ([("old", "resolved")], 2)
    assert standing(ledger, "n:old@1") == "superseded"
    assert standing(ledger, "old") == "reported", "a claim of that id is no memo"
    (folder / "old.md").unlink()
    import_corpus(ledger, folder)
    write(folder, {"old.md": "y"})
    import_corpus(ledger, folder)
    assert standing(ledger, "n:old@2") == "superseded"
    write(folder, {"new.md": text()})
    import_corpus(ledger, folder)
    assert standing(ledger, "n:old@2") == "reported"


def test_all_edges_of_a_ring_stay_unresolved_together(ledger: Ledger, tmp_path: Path) -> None:
    files = {
        "a.md": text(supersedes="b"),
        "b.md": text(supersedes="c"),
        "c.md": text(supersedes="[a, d]"),
        "d.md": "d",
    }
    folder = write(tmp_path / "n", files)
    done = import_corpus(ledger, folder)
    assert meanings(done) == [("b", "cycle"), ("c", "cycle"), ("a", "cycle"), ("d", "resolved")]
    assert ambiguous(ledger) == ["n:a@1", "n:b@1", "n:c@1"]
    view = ledger.view(valid_at=JULY)
    assert [item.id for item in view.claims()] == ["n:a@1", "n:b@1", "n:c@1"], "all are imported"
    write(folder, {"c.md": text(supersedes="d")})
    import_corpus(ledger, folder)
    assert ambiguous(ledger) == []
    assert [item.id for item in ledger.view(valid_at=JULY).claims()] == ["n:a@1"]
    assert ledger.verify().ok


def test_a_self_claim_is_ignored(ledger: Ledger, tmp_path: Path) -> None:
    folder = write(tmp_path / "n", {"a.md": text(supersedes="[a, b]"), "b.md": "b"})
    assert meanings(import_corpus(ledger, folder)) == [("b", "resolved")]
    assert (standing(ledger, "n:a@1"), standing(ledger, "n:b@1")) == ("reported", "superseded")


def test_what_is_left_out_of_a_memo_that_is_recorded_is_told(
    ledger: Ledger, tmp_path: Path
) -> None:
    files = {"a.md": text(supersedes="[a, '[[b#part]]', b]"), "b.md": "b"}
    done = import_corpus(ledger, write(tmp_path / "n", files))
    assert turns(done) == [("added", "a"), ("added", "b")]
    assert meanings(done) == [("b", "resolved")]
    assert done.set_aside == ()
    assert done.notes == (
        "a.md: '[[b#part]]' names a part of a memo; a memo is superseded as a whole; the entry is "
        "ignored",
        "a.md: supersedes 'a', which is the memo itself; the entry is ignored",
    )


def test_a_namesake_elsewhere_makes_a_self_claim_ambiguous(ledger: Ledger, tmp_path: Path) -> None:
    folder = write(tmp_path / "n", {"new/a.md": text(supersedes="old/a"), "old/a.md": "x"})
    assert meanings(import_corpus(ledger, folder)) == [("a", "ambiguous")]
    assert ambiguous(ledger) == ["n:new/a@1", "n:old/a@1"]


def test_a_namesake_that_can_not_be_read_leaves_the_other_in_doubt(
    ledger: Ledger, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"x/plan.md": "1", "y/plan.md": b"\xff"}
    files["new.md"] = text(supersedes="plan")
    folder = write(tmp_path / "n", files)
    assert meanings(import_corpus(ledger, folder)) == [("plan", "ambiguous")]
    assert ambiguous(ledger) == ["n:new@1", "n:x/plan@1"]
    write(folder, {"y/plan.md": "2"})
    import_corpus(ledger, folder)
    assert ambiguous(ledger) == ["n:x/plan@1", "n:y/plan@1"]
    (folder / "y/plan.md").unlink()
    import_corpus(ledger, folder)
    assert standing(ledger, "n:x/plan@1") == "superseded"
