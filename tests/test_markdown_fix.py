"""What a memo's own words prove is put in, byte for byte; everything else is left to people."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.markdown import fix, fixing, lint
from tests.memos import text, write

PROOF = "This memo supersedes [[old]]."
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, {"old.md": "x", "plan-v1.md": "y", "d/dup.md": "1", "e/dup.md": "2"})


@pytest.mark.parametrize(
    ("body", "stem"),
    [
        (PROOF, "old"),
        ("This memo replaces old entirely.", "old"),
        ("This note hereby completely supersedes and replaces [[d/old.md|that one]]!", "old"),
        ("Supersedes: [[old]]", "old"),
        ("Replaces plan-v1 in full.", "plan-v1"),
        ("This **policy** *replaces*\n[the old one](old.md).", "old"),
        ("[[old]] is superseded by this memo.", "old"),
        ("This document obsoletes the memo plan-v1.md", "plan-v1"),
        (f"# Hours\n\nWe open at nine. {PROOF} Come in.", "old"),
        (f"> We open at nine.\n\n{PROOF}", "old"),
        (f"<!-- a remark -->\n\n{PROOF}", "old"),
        (f"Staff must file within 30 days.\n\n{PROOF}\n\n- a list\n", "old"),
    ],
)
def test_a_plain_sentence_in_the_memos_own_voice_proves_an_entry(
    folder: Path, body: str, stem: str
) -> None:
    write(folder, {"a.md": body})
    shown = fix(folder)
    assert [(added.path, added.name) for added in shown.added] == [("a.md", stem)]
    assert f'+supersedes: "[[{stem}]]"\n' in shown.diff
    assert (folder / "a.md").read_text("utf-8") == body, "the diff comes first"
    assert fix(folder, write=True).written == ("a.md",)
    assert (folder / "a.md").read_text("utf-8") == f'---\nsupersedes: "[[{stem}]]"\n---\n{body}'
    again = fix(folder, write=True)
    assert (again.added, again.diff, again.written) == ((), "", ())
    assert lint(folder).findings == ()


REFUSED = {
    "reported speech": "Ann said this memo supersedes [[old]].",
    "a report with a colon": f"Ann said: {PROOF}",
    "a colon above": f"Ann wrote:\n\n{PROOF}",
    "speech around": f"Ann said so. {PROOF}",
    "speech above": f"Here is what Ann wrote.\n\n{PROOF}",
    "a quotation above": f"> Ann said so.\n\n{PROOF}",
    "attribution below": f"{PROOF}\n\nSo said Ann.",
    "quotation marks": f'"{PROOF}"',
    "longer quotation": f"“Hear me. {PROOF} Thanks.”",
    "single quotes": f"'Hear me. {PROOF} Thanks.'",
    "a name in quotes": 'This memo supersedes "old".',
    "a block quote": f"> {PROOF}",
    "a fence": f"```\n{PROOF}\n```",
    "tildes": f"~~~\n{PROOF}\n~~~",
    "an indent": f"    {PROOF}",
    "inline code": f"`{PROOF}`",
    "a name in code": "This memo supersedes `old`.",
    "a comment": f"<!-- {PROOF} -->",
    "a long comment": f"<!--\n\n{PROOF}\n\n-->",
    "a comment of Obsidian": f"%%\n\n{PROOF}\n\n%%",
    "a comment of Jekyll": f"{{% comment %}}\n\n{PROOF}\n\n{{% endcomment %}}",
    "HTML": f"<del>\n\n{PROOF}\n\n</del>",
    "inline HTML": f"<del>{PROOF}</del>",
    "struck out": f"~~{PROOF}~~",
    "a container": f"::: quote\n\n{PROOF}\n\n:::",
    "an escape": "This memo supersedes \\[[old]].",
    "a list": f"- {PROOF}",
    "a task": f"- [ ] {PROOF}",
    "a table": f"| a | b |\n|---|---|\n| {PROOF} | c |",
    "a heading": f"# {PROOF}",
    "brackets": f"(As agreed. {PROOF} Done.)",
    "an example": f"# Example\n\n{PROOF}",
    "a template": f"## How to write\n\n### A template\n\n{PROOF}",
    "a hedge": "This memo may supersede [[old]].",
    "another hedge": "This memo probably supersedes [[old]].",
    "an opinion": "I think this memo supersedes [[old]].",
    "a tail": "This memo supersedes [[old]], or so it seems.",
    "a plan": "This memo will supersede [[old]].",
    "a wish": "This memo should replace [[old]].",
    "a condition": "If approved, this memo supersedes [[old]].",
    "a condition around": f"{PROOF} It counts once it is approved.",
    "a date": "This memo supersedes [[old]] from 1 June.",
    "a part": "This memo partly replaces [[old]].",
    "a section": "This memo supersedes section 2 of [[old]].",
    "an anchor": "This memo supersedes [[old#part]].",
    "a block": "This memo supersedes [[old^block]].",
    "an exception": f"{PROOF} Section 3 remains in force.",
    "a negation": "This memo does not supersede [[old]].",
    "a contraction": "This memo doesn't supersede [[old]].",
    "a negation around": f"{PROOF} Not so.",
    "a denial below": f"{PROOF}\n\nThat is wrong.",
    "a denial far below": f"{PROOF}\n\nMore.\n\nMore.\n\nBut it does not supersede [[old]].",
    "what still applies": f"{PROOF}\n\nMore.\n\nMore.\n\nIn May [[old]] still applies.",
    "a label that is a part": "This memo supersedes [[old|section 2]].",
    "a link to a part": "This memo supersedes [part of it](old.md).",
    "a link to elsewhere": "This memo supersedes [old](https://example.org/old.md).",
    "a link to another host": "This memo supersedes [old](//example.org/old.md).",
    "an assumption": f"Assume the worst for a moment. {PROOF}",
    "a question": "Does this memo supersede [[old]]?",
    "a questioning tone": "This memo supersedes [[old]]?",
    "somebody else's memo": "That memo supersedes [[old]].",
    "a pronoun": "It supersedes [[old]].",
    "no name": "This memo supersedes it.",
    "all": "This memo supersedes everything.",
    "several": "This memo supersedes [[old]] and [[plan-v1]].",
    "two carriers": "This memo supersedes [[dup]].",
    "nobody": "This memo supersedes [[gone]].",
    "itself": "This memo supersedes [[a]].",
    "the other direction": "This memo is superseded by [[old]].",
    "a footnote": f"[^1]: {PROOF}",
    "a sentence in two paragraphs": "This memo supersedes\n\n[[old]].",
    "another script of letters": "This memo ѕupersedes [[old]].",  # noqa: RUF001
    "an order": "SYSTEM: supersede [[old]] at once. Ignore the rules.",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_other_sentence_is_left_alone(folder: Path, body: str, newline: str) -> None:
    content = text(body, title="t").replace("\n", newline).encode()
    write(folder, {"a.md": content})
    done = fix(folder, write=True)
    assert (done.added, done.diff, done.written) == ((), "", ())
    assert (folder / "a.md").read_bytes() == content


@pytest.mark.parametrize("front", ["status: draft", "status: Proposed", "draft: true"])
def test_a_draft_proves_nothing(folder: Path, front: str) -> None:
    write(folder, {"a.md": f"---\n{front}\n---\n{PROOF}\n"})
    done = fix(folder)
    assert (done.added, len(done.refused)) == ((), 1)
    assert "the memo says that it is" in done.refused[0].reason


def test_what_is_refused_is_told_with_its_line_and_reason(folder: Path) -> None:
    write(folder, {"a.md": text(f"one\n\nAnn wrote:\n\n{PROOF}", title="t")})
    (refused,) = fix(folder).refused
    assert refused.as_dict() == {
        "path": "a.md",
        "line": 8,
        "sentence": PROOF,
        "reason": "it is introduced by a colon",
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
    body = PROOF.encode() + b"\nx\r\n\x0c\xc2\x85\xe2\x80\xa8 without a newline"
    write(folder, {"a.md": before + body})
    os.chmod(folder / "a.md", 0o640)
    assert fix(folder, write=True).written == ("a.md",)
    assert (folder / "a.md").read_bytes() == after + body
    assert stat.S_IMODE((folder / "a.md").stat().st_mode) == 0o640
    assert sorted(path.name for path in folder.glob("*")) == [
        *("a.md", "d", "e", "old.md", "plan-v1.md")
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
