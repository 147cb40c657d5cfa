"""What a memo's own words prove is put in, byte for byte; everything else is left to people."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.markdown import fix, fixing, lint
from tests.memo_sentences import PROOF, PROVED, REFUSED, TURNED
from tests.memos import text, write

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"old.md": "x", "plan-v1.md": "y", "d/dup.md": "1", "e/dup.md": "2"}
    return write(
        tmp_path,
        {**files, "0002-use-rest.md": "# 2. Use REST\n", "cash.md": "z", "d/e/deep-1.md": ""},
    )


@pytest.mark.parametrize(("body", "stem"), PROVED)
def test_a_plain_sentence_in_the_memos_own_voice_proves_an_entry(
    folder: Path, body: str, stem: str
) -> None:
    write(folder, {"a.md": body})
    shown = fix(folder)
    stems = stem.split()
    assert {(added.path, added.name) for added in shown.added} == {("a.md", one) for one in stems}
    assert all(f"[[{one}]]" in shown.diff for one in stems)
    assert (folder / "a.md").read_text("utf-8") == body, "the diff comes first"
    assert fix(folder, write=True).written == ("a.md",)
    after = (folder / "a.md").read_text("utf-8")
    assert after.startswith("---\nsupersedes: ")
    assert after.endswith(f"\n---\n{body}")
    again = fix(folder, write=True)
    assert (again.added, again.diff, again.written) == ((), "", ())
    assert lint(folder).findings == ()


@pytest.mark.parametrize("body", [*REFUSED.values(), *TURNED])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_other_sentence_is_left_alone(folder: Path, body: str, newline: str) -> None:
    content = text(body, title="t").replace("\n", newline).encode()
    write(folder, {"a.md": content})
    done = fix(folder, write=True)
    assert (done.added, done.diff, done.written) == ((), "", ())
    assert (folder / "a.md").read_bytes() == content


@pytest.mark.parametrize(
    "front",
    [
        *("status: draft", "status: Proposed", "draft: true", "status: accepted once we vote"),
        *(
            "status: [draft]",
            "State: under review",
            "published: false",
            "tags: [x, template]",
            "type: example",
        ),
        "title: An example",
    ],
)
def test_a_draft_proves_nothing(folder: Path, front: str) -> None:
    write(folder, {"a.md": f"---\n{front}\n---\n{PROOF}\n"})
    done = fix(folder)
    assert (done.added, len(done.refused)) == ((), 1)
    assert re.search(r"the memo says that it is|'example' stands near", done.refused[0].reason)


@pytest.mark.parametrize("status", ["accepted", "Accepted (2024-01-03)", "in force since May 2024"])
def test_what_is_in_force_proves(folder: Path, status: str) -> None:
    write(folder, {"a.md": f"---\nstatus: {status}\ntags: [memos]\n---\n{PROOF}\n"})
    assert [added.name for added in fix(folder).added] == ["old"]


@pytest.mark.parametrize("path", ["templates/a.md", "adr/template.md", "example-1.md"])
def test_a_file_to_copy_proves_nothing(folder: Path, path: str) -> None:
    write(folder, {path: PROOF})
    assert fix(folder).added == ()


def test_what_is_refused_is_told_with_its_line_and_reason(folder: Path) -> None:
    write(folder, {"a.md": text(f"one\n\nAnn wrote:\n\n{PROOF}", title="t")})
    (refused,) = fix(folder).refused
    assert refused.as_dict() == {
        "path": "a.md",
        "line": 8,
        "sentence": PROOF,
        "reason": "it does not open the memo, and is in no section about its status",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b'---\nsupersedes: "[[old]]"\n---\n'),
        (BOM, BOM + b'---\nsupersedes: "[[old]]"\n---\n'),
        (b"---\n---\n", b'---\nsupersedes: "[[old]]"\n---\n'),
        (b"---\nid: 'a' # c\n---\n", b"---\nid: 'a' # c\nsupersedes: \"[[old]]\"\n---\n"),
        (
            BOM + b"---\r\nid: 'a'  # c\r\n...\r\n",
            BOM + b"---\r\nid: 'a'  # c\r\nsupersedes: \"[[old]]\"\r\n...\r\n",
        ),
        (b"---\nsupersedes:\nid: a\n---\n", b'---\nsupersedes: "[[old]]"\nid: a\n---\n'),
        (b"---\nsupersedes: ~ # c\n---\n", b'---\nsupersedes: "[[old]]" # c\n---\n'),
        (
            b"---\nsupersedes: plan-v1 # c\n---\n",
            b'---\nsupersedes: [plan-v1, "[[old]]"] # c\n---\n',
        ),
        (
            b"---\nsupersedes: '[[plan-v1]]'\n---\n",
            b"---\nsupersedes: ['[[plan-v1]]', \"[[old]]\"]\n---\n",
        ),
        (b"---\nsupersedes: [[plan-v1]]\n---\n", b'---\nsupersedes: [[plan-v1], "[[old]]"]\n---\n'),
        (b"---\nsupersedes: []\n---\n", b'---\nsupersedes: ["[[old]]"]\n---\n'),
        (b"---\nsupersedes: [plan-v1,]\n---\n", b'---\nsupersedes: [plan-v1, "[[old]]"]\n---\n'),
        (
            b"---\nsupersedes:\r\n  - plan-v1 # c\r\n# d\r\nid: a\r\n---\r\n",
            b'---\nsupersedes:\r\n  - plan-v1 # c\r\n  - "[[old]]"\n# d\r\nid: a\r\n---\r\n',
        ),
        (b"---\n{supersedes: plan-v1}\n---\n", b'---\n{supersedes: [plan-v1, "[[old]]"]}\n---\n'),
    ],
)
def test_every_byte_outside_the_entry_stays(folder: Path, before: bytes, after: bytes) -> None:
    body = PROOF.encode() + b"\n\nAll other words\r\n\x0c\xc2\x85\xe2\x80\xa8 without a newline"
    write(folder, {"a.md": before + body})
    os.chmod(folder / "a.md", 0o640)
    assert fix(folder, write=True).written == ("a.md",)
    assert (folder / "a.md").read_bytes() == after + body
    assert stat.S_IMODE((folder / "a.md").stat().st_mode) == 0o640
    assert sorted(path.name for path in folder.glob("*")) == [
        *("0002-use-rest.md", "a.md", "cash.md", "d", "e", "old.md", "plan-v1.md")
    ], "no file is left behind"


@pytest.mark.parametrize("front", ["{id: a}", "  id: a", "supersedes: |\n  plan-v1\n  b"])
def test_front_matter_that_can_not_be_added_to_safely_is_left_alone(
    folder: Path, front: str
) -> None:
    content = f"---\n{front}\n---\n{PROOF}\n"
    write(folder, {"a.md": content})
    done = fix(folder, write=True)
    assert (done.added, done.written) == ((), ())
    assert "safely" in done.refused[0].reason
    assert (folder / "a.md").read_text("utf-8") == content


def test_proofs_that_contradict_each_other_count_for_nobody(tmp_path: Path) -> None:
    files = {"a.md": "Supersedes [[b]].", "b.md": "Supersedes [[c]].", "c.md": "Supersedes [[a]]."}
    done = fix(write(tmp_path, files))
    assert done.added == ()
    assert [each.reason for each in done.refused] == ["the entry would close a ring"] * 3
    write(tmp_path, {"c.md": text("c"), "d.md": text(supersedes="a")})
    assert [(each.path, each.name) for each in fix(tmp_path).added] == [
        ("a.md", "b"),
        ("b.md", "c"),
    ]
    write(tmp_path, {"c.md": text(supersedes="a")})
    assert fix(tmp_path).added == ()


def test_a_memo_that_can_not_be_read_is_neither_mended_nor_named(folder: Path) -> None:
    write(
        folder, {"a.md": f"---\nvalid_from: soon\n---\n{PROOF}", "b.md": PROOF, "old.md": b"\xff"}
    )
    done = fix(folder, write=True)
    assert done.written == ()
    assert [(each.path, each.reason) for each in done.refused] == [("b.md", "old.md can't be read")]


def test_a_file_that_changed_meanwhile_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.md": PROOF, "b.md": PROOF, "c.md": PROOF})
    real = fixing._proofs

    def proofs(corpus: Any) -> Any:
        (folder / "a.md").write_text("new words", "utf-8")
        (folder / "b.md").unlink()
        return real(corpus)

    monkeypatch.setattr(fixing, "_proofs", proofs)
    done = fix(folder, write=True)
    assert (done.written, done.skipped) == (("c.md",), ("a.md", "b.md"))
    assert (folder / "a.md").read_text("utf-8") == "new words"
    assert not (folder / "b.md").exists()


def test_a_file_that_changes_while_it_is_written_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.md": PROOF})
    real = os.fsync

    def fsync(handle: int) -> None:
        (folder / "a.md").write_text("new words", "utf-8")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    done = fix(folder, write=True)
    assert (done.written, done.skipped) == ((), ("a.md",))
    assert (folder / "a.md").read_text("utf-8") == "new words"
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_a_file_that_is_read_only_is_not_replaced(folder: Path) -> None:
    write(folder, {"a.md": PROOF, "b.md": PROOF, "c.md": PROOF})
    os.chmod(folder / "b.md", 0o444)
    with pytest.raises(
        doxa.engine.errors.StorageError,
        match=r"^b\.md .*: it is read-only; written before it: a\.md",
    ):
        fix(folder, write=True)
    assert (folder / "b.md").read_text("utf-8") == PROOF
    assert stat.S_IMODE((folder / "b.md").stat().st_mode) == 0o444
    assert (folder / "c.md").read_text("utf-8") == PROOF


def test_a_disk_that_refuses_leaves_the_file_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.md": PROOF})

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(doxa.engine.errors.StorageError, match=r"a\.md can't be written: No space"):
        fix(folder, write=True)
    assert (folder / "a.md").read_text("utf-8") == PROOF
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


BODIES = st.sampled_from(
    [
        *(
            f"{verb} [[{name}]]."
            for name in "abcd"
            for verb in ("This memo supersedes", "Replaces")
        ),
        *REFUSED.values(),
        "words",
    ]
)
FRONTS = st.sampled_from(
    ["", "---\nid: 'x'\n---\n", "---\nsupersedes: [a, b]\n---\n", "---\nsupersedes:\n- c\n---\n",
     "---\nsupersedes: d\n---\n", "---\nid: [\n---\n", "---\n{title: t}\n---\n"]
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["a.md", "b.md", "c.md", "x/d.md", "y/d.md", "old.md"]),
        st.tuples(FRONTS, st.lists(BODIES, max_size=3)),
        min_size=1,
    ),
    st.booleans(),
)
def test_a_fix_is_done_once_and_makes_no_new_error(
    tmp_path_factory: pytest.TempPathFactory, drawn: dict[str, Any], crlf: bool
) -> None:
    files = {
        path: (front + "\n\n".join(bodies)).replace("\n", "\r\n" if crlf else "\n")
        for path, (front, bodies) in drawn.items()
    }
    folder = write(tmp_path_factory.mktemp("fix"), files)
    before = {(f.rule, f.path, f.about) for f in lint(folder).errors}
    shown = fix(folder)
    done = fix(folder, write=True)
    assert (shown.added, shown.diff) == (done.added, done.diff)
    after = {(f.rule, f.path, f.about) for f in lint(folder).errors}
    assert after <= before
    again = fix(folder, write=True)
    assert (again.added, again.written) == ((), ())
    for path in set(files) - set(done.written):
        assert (folder / path).read_bytes() == files[path].encode()
