"""Before a memo is saved, everything it may supersede is offered, and nothing is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.markdown import Check, check
from tests.memos import text, write

HOURS = ("hours-v1.md", "hours-v2.md")
PLANS = ("x/plan.md", "y/plan.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "n",
        {
            "hours-v1.md": text("# Opening hours of the shop", valid_until="2023-12-31"),
            "hours-v2.md": text("# Opening hours of the shop", supersedes="hours-v1"),
            "x/plan.md": text("x", id="P"),
            "y/plan.md": "y",
            "other.md": "z",
            "fees-2023.md": "v",
        },
    )


def reasons(found: Check) -> dict[str, tuple[str, ...]]:
    return {offer.path: offer.reasons for offer in found.candidates}


def test_a_memo_that_touches_nothing_is_settled(folder: Path) -> None:
    found = check(folder, b"# Something new\n\nwords", path="new.md")
    assert (found.settled, found.candidates, found.findings, found.declared) == (True, (), (), ())


@pytest.mark.parametrize(
    ("draft", "path", "offered"),
    [
        (text(supersedes="plan"), "new.md", {path: ("ambiguous_name",) for path in PLANS}),
        (text(id="P"), "new.md", {"x/plan.md": ("same_id",)}),
        ("w", "z/other.md", {"other.md": ("same_stem", "same_title")}),
        ("w", "hours-v3.md", {path: ("other_version",) for path in HOURS}),
        ("w", "2024-fees.md", {"fees-2023.md": ("other_version",)}),
        ("# opening HOURS of the shop", "new.md", {path: ("same_title",) for path in HOURS}),
        ("# Hours of opening the big shop", "new.md", {path: ("like_title",) for path in HOURS}),
        ("See [[other]].", "new.md", {"other.md": ("mentioned",)}),
        ("We may supersede [[other]].", "new.md", {"other.md": ("closed_in_words", "mentioned")}),
        ("> as [it](other.md) said", "new.md", {"other.md": ("mentioned",)}),
    ],
)
def test_every_memo_that_comes_into_question_is_offered_with_its_reasons(
    folder: Path, draft: str, path: str, offered: dict[str, tuple[str, ...]]
) -> None:
    found = check(folder, draft.encode(), path=path)
    assert reasons(found) == offered
    assert not found.settled


def test_an_entry_settles_a_candidate_and_is_no_longer_offered(folder: Path) -> None:
    draft = text("w", supersedes="[hours-v1, hours-v2]")
    found = check(folder, draft.encode(), path="hours-v3.md")
    assert (found.declared, found.settled) == (("hours-v1", "hours-v2"), True)


def test_an_empty_list_settles_what_is_merely_like_the_draft(folder: Path) -> None:
    title = "# Opening hours of the shop\n\nSee [[other]]."
    asked = check(folder, title.encode(), path="hours-v3.md")
    assert set(reasons(asked)) == {*HOURS, "other.md"}
    assert [finding.rule for finding in asked.findings] == ["unlinked-version"]
    assert check(folder, text(title, supersedes="[]").encode(), path="hours-v3.md").settled
    for draft, path, offered in (
        (text(supersedes="[]", id="P"), "new.md", ["x/plan.md"]),
        (text(supersedes="[]"), "z/other.md", ["other.md"]),
        (text("We may supersede [[other]].", supersedes="[]"), "new.md", ["other.md"]),
    ):
        assert [*reasons(check(folder, draft.encode(), path=path))] == offered


def test_an_offer_says_what_it_is_and_who_has_replaced_it(folder: Path) -> None:
    first, second = check(folder, b"w", path="hours-v3.md").candidates
    assert first.as_dict() == {
        "path": "hours-v1.md",
        "stem": "hours-v1",
        "title": "Opening hours of the shop",
        "reasons": ["other_version"],
        "superseded_by": ["hours-v2.md"],
        "valid_from": None,
        "valid_to": "2024-01-01",
    }
    assert (second.path, second.superseded_by) == ("hours-v2.md", ())


def test_errors_of_the_draft_are_told_and_those_of_others_are_not(folder: Path) -> None:
    write(folder, {"bad.md": b"\xff"})
    found = check(
        folder, text(supersedes="[gone, new]", valid_from="2024-01-01").encode(), path="new.md"
    )
    assert [finding.rule for finding in found.findings] == ["dangling-reference", "self-reference"]
    assert not found.settled
    assert [f.rule for f in check(folder, b"\xff").findings] == ["unreadable-file"]
    assert [f.rule for f in check(folder, b"---\nid: [\n---\nx").findings] == [
        "malformed-front-matter"
    ]


def test_a_file_of_the_folder_is_no_candidate_of_itself(folder: Path) -> None:
    found = check(folder, folder / "hours-v2.md")
    assert (found.path, found.settled, found.declared) == ("hours-v2.md", True, ("hours-v1",))
    elsewhere = write(folder.parent, {"hours-v2.md": "other"}) / "hours-v2.md"
    assert check(folder, elsewhere).path == "hours-v2.md", "by its name, where it would be saved"


def test_a_draft_that_closes_a_ring_is_told(folder: Path) -> None:
    write(folder, {"a.md": text(supersedes="b")})
    found = check(folder, text(supersedes="a").encode(), path="b.md")
    assert [finding.rule for finding in found.findings] == ["cycle"]


def test_a_draft_that_is_not_there_is_refused(folder: Path) -> None:
    for draft in (folder / "nowhere.md", folder):
        with pytest.raises(doxa.CallerError, match="can't be read"):
            check(folder, draft)


def test_the_folder_is_left_as_it_was(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.md")}
    check(folder, b"Supersedes [[other]].")
    assert {path: path.read_bytes() for path in folder.rglob("*.md")} == before


@pytest.mark.parametrize("path", ["../a.md", "/a.md", "x/../../a.md", "a.txt", "", ".md/..", 3])
def test_a_place_that_is_none_in_the_folder_is_refused(folder: Path, path: Any) -> None:
    with pytest.raises(doxa.engine.errors.CallerError, match="place in the folder"):
        check(folder, b"words", path=path)


def test_a_place_is_the_same_however_it_is_written(folder: Path) -> None:
    assert check(folder, b"words", path="./x//plan.md").path == "x/plan.md"
