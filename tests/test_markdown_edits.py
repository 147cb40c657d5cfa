"""Folders of memos at random: what is believed does not depend on the route."""

from __future__ import annotations

import random
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.markdown import import_corpus
from tests.memos import believed, text, write

NAMES = ("a", "b", "x/a", "c-v1", "c-v2", "x/d")
STEMS = ("a", "b", "c-v1", "c-v2", "d", "gone")


@st.composite
def contents(draw: st.DrawFn) -> str:
    front = {}
    if id := draw(st.sampled_from(["", "", "one memo", "another"])):
        front["id"] = id
    if draw(st.booleans()):
        front["valid_from"] = draw(st.sampled_from(["2024-01-01", "2024-03-01"]))
    if draw(st.booleans()):
        front["valid_until"] = draw(st.sampled_from(["2024-06-30", "2025-12-31"]))
    if named := draw(st.lists(st.sampled_from(STEMS), max_size=3)):
        front["supersedes"] = f"[{', '.join(named)}]"
    if sources := draw(st.lists(st.sampled_from(["letter", "minutes"]), max_size=2, unique=True)):
        front["sources"] = f"[{', '.join(sources)}]"
    return text(draw(st.sampled_from(["one", "two", "three"])), **front)


def own_ids(files: dict[str, str]) -> bool:
    """Whether no two memos have one id: what is set aside stays as it was, by whatever route."""
    return all(sum(f"id: {id}\n" in each for each in files.values()) < 2 for id in IDS)


IDS = ("one memo", "another")
FOLDERS = st.dictionaries(
    st.sampled_from([f"{name}.md" for name in NAMES]), contents(), min_size=1, max_size=6
).filter(own_ids)


@given(st.lists(FOLDERS, min_size=2, max_size=5))
def test_after_any_edits_what_is_believed_is_what_a_fresh_import_gives(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("random") / "n"
    with doxa.open() as ledger, doxa.open() as fresh:
        for files in states:
            shutil.rmtree(folder, ignore_errors=True)
            write(folder, files)
            import_corpus(ledger, folder, allow_empty=True)
            assert import_corpus(ledger, folder).unchanged
        import_corpus(fresh, folder)
        assert believed(ledger) == believed(fresh)
        report = ledger.verify()
        assert report.ok, report


@given(FOLDERS, st.randoms())
def test_the_order_of_files_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], order: random.Random
) -> None:
    from tests.memos import corpus

    shuffled = list(files.items())
    order.shuffle(shuffled)
    assert corpus(dict(shuffled)) == corpus(files)
    folder = tmp_path_factory.mktemp("order")
    one, other = write(folder / "1" / "n", files), write(folder / "2" / "n", dict(shuffled))
    with doxa.open() as first, doxa.open() as second:
        assert import_corpus(first, one).as_dict() == import_corpus(second, other).as_dict()
