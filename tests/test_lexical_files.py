"""What is kept of the index of words is used where it fits, and otherwise made anew, silently."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.projections import lexical, sections
from doxa.projections.lexical import FILE, Lexical
from tests.indexed import Indexed, Said, said, texts

histories = st.lists(said, max_size=8)
QUERY = "owl in the London night"


def answers(known: Indexed, index: Lexical, query: str = QUERY) -> list[bytes]:
    """What an index and its triggers find at the head, byte by byte."""
    view = known.view(known.position, "w")
    rankings = (index.search(query, view), index.triggers.search(query, view))
    return [each.tobytes() for ranking in rankings for each in ranking.best(9)]


def some() -> Indexed:
    known = Indexed()
    words = ("owl", "London night", "the 東京", "")
    known.take([Said("claim", "w", text, ("owl in", text or "the"), False) for text in words])
    return known


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Indexed, Path]:
    """A ledger, and the folder where its index is kept."""
    known = some()
    assert known.follow(known.index(tmp_path)).save()
    return known, tmp_path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories, histories, texts, st.integers(0, 2**32))
def test_what_is_loaded_goes_on_as_if_it_had_never_been_closed(
    tmp_path: Path, history: Sequence[Said], later: Sequence[Said], query: str, seed: int
) -> None:
    folder = tmp_path / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    random, known = Random(seed), Indexed()
    known.take(history)
    index = known.follow(known.index(folder), random.choice(known.revisions))
    assert index.save()
    loaded = known.index(folder)
    assert loaded.position == index.position
    known.take(later)
    for one in (loaded, known.follow(known.index())):
        assert answers(known, known.follow(one), query) == answers(
            known, known.follow(index), query
        )
    pool, other = loaded.pool, index.pool
    assert all(np.array_equal(pool.columns[name], other.columns[name]) for name in pool.columns)
    assert np.array_equal(pool.workspaces, other.workspaces)
    assert loaded.save()
    assert known.index(folder).position == known.position


def test_a_byte_that_changed_anywhere_makes_the_file_useless(kept: tuple[Indexed, Path]) -> None:
    known, folder = kept
    data = (folder / FILE).read_bytes()
    expected = answers(known, known.follow(known.index()))
    about, arrays = sections.load(folder / FILE)
    places = {*range(0, len(data), 97), *range(40), len(data) - 1}
    for at in places:
        (folder / FILE).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        index = known.index(folder)
        if index.position:  # padding that nothing is read from, or it would be noticed
            assert sections.load(folder / FILE)[0] == about
        assert answers(known, known.follow(index)) == expected
    assert arrays


@pytest.mark.parametrize("size", [0, 1, 22, 23, 24, 200, -64, -1])
def test_a_file_that_is_cut_off_is_not_used(kept: tuple[Indexed, Path], size: int) -> None:
    known, folder = kept
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[:size])
    assert known.index(folder).position == 0
    (folder / FILE).write_bytes(data + b"\0")
    assert known.index(folder).position == 0


@pytest.mark.parametrize("junk", [b"", b"\0" * 5_000, b"words", b'{"a": 1}' * 100])
def test_a_file_of_something_else_is_not_used(tmp_path: Path, junk: bytes) -> None:
    known = some()
    (tmp_path / FILE).write_bytes(junk)
    index = known.follow(known.index(tmp_path))
    assert index.save()
    assert known.index(tmp_path).position == known.position


def test_a_file_of_another_ledger_log_shape_or_version_is_not_used(
    kept: tuple[Indexed, Path],
) -> None:
    known, folder = kept
    id = known.ledger.recorder.ledger_id
    assert Lexical(folder, id, known.link_at).position == known.position
    assert Lexical(folder, "another", known.link_at).position == 0
    assert Lexical(folder, id, lambda position: b"another past").position == 0
    assert Lexical(folder, id, lambda position: None).position == 0
    with patch.object(lexical, "SHAPE", lexical.SHAPE + 1):
        assert known.index(folder).position == 0
    with patch.object(Lexical, "generation", "bm25.1-words.1-unicode.1"):
        assert known.index(folder).position == 0


def test_searching_and_following_write_nothing(tmp_path: Path) -> None:
    known = some()
    index = known.follow(known.index(tmp_path / "search"))
    answers(known, index)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_may_be_deleted_at_any_time(kept: tuple[Indexed, Path]) -> None:
    known, folder = kept
    index = known.index(folder)
    expected = answers(known, known.follow(known.index()))
    shutil.rmtree(folder)
    assert answers(known, known.follow(index)) == expected
    assert index.save()
    assert known.index(folder).position == known.position


def test_nothing_is_written_again_where_nothing_is_new(kept: tuple[Indexed, Path]) -> None:
    known, folder = kept
    before = os.stat(folder / FILE)
    index = known.follow(known.index(folder))
    assert index.save()
    assert os.stat(folder / FILE).st_ino == before.st_ino
    known.take([Said("claim", "", "more", (), True)])
    assert known.follow(index).save()
    assert os.stat(folder / FILE).st_ino != before.st_ino


def test_a_folder_that_can_not_be_written_to_stops_no_search(tmp_path: Path) -> None:
    known = some()
    (tmp_path / "file").write_text("in the way")
    index = known.follow(known.index(tmp_path / "file"))
    assert not index.save()
    assert answers(known, index) == answers(known, known.follow(known.index()))
    assert not known.follow(known.index(None)).save()


def test_a_disk_that_fills_up_leaves_the_file_from_before(kept: tuple[Indexed, Path]) -> None:
    known, folder = kept
    data = (folder / FILE).read_bytes()
    known.take([Said("claim", "", "more", (), True)])
    index = known.follow(known.index(folder))
    with patch.object(os, "fsync", side_effect=OSError(28, "No space left on device")):
        assert not index.save()
    assert [path.name for path in folder.iterdir()] == [FILE]
    assert (folder / FILE).read_bytes() == data


def test_what_a_killed_process_left_is_swept_away(kept: tuple[Indexed, Path]) -> None:
    known, folder = kept
    old, young = folder / f"{FILE}.1-aa", folder / f"{FILE}.2-bb"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (1, 1))
    known.take([Said("claim", "", "more", (), True)])
    assert known.follow(known.index(folder)).save()
    assert not old.exists()
    assert young.exists()


def test_an_index_that_goes_beyond_the_log_is_not_written(tmp_path: Path) -> None:
    known = some()
    index = Lexical(tmp_path, known.ledger.recorder.ledger_id, lambda position: None)
    assert not known.follow(index).save()
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_is_made_anew_without_what_was_erased(
    kept: tuple[Indexed, Path],
) -> None:
    known, folder = kept
    index = known.index(folder)
    known.ledger.recorder.erase([4])
    index.discard()
    assert not (folder / FILE).exists()
    assert index.position == 0
    known.follow(index)
    assert answers(known, index) == answers(known, known.follow(known.index()))
    assert len(index.pool) == 3 + 3
    index.discard()
