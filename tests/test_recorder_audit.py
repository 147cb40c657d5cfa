"""What an audit finds, by name, after someone has changed the file."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.engine.log import NO_LINK, commitment, link
from doxa.engine.store import LogStore
from tests.recorder_support import append, codes, event, filled, tampering

Tamper = Callable[[sqlite3.Connection], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.sqlite"
    filled(path, 20)
    return path


def found(path: Path, *tamper: str) -> list[tuple[int, str]]:
    with tampering(path) as connection:
        for statement in tamper:
            connection.execute(statement)
    with LogStore.open(path) as store:
        return codes(store)


def drop_and_close_up(connection: sqlite3.Connection, position: int) -> None:
    """The event goes, and those after it move up by one."""
    connection.execute("DELETE FROM log WHERE position=?", (position,))
    connection.execute("UPDATE log SET position=-position WHERE position>?", (position,))
    connection.execute("UPDATE log SET position=-position-1 WHERE position<0")


# ---------------------------------------------------------------- an honest log


def test_a_log_that_nobody_touched_has_no_problems(path: Path) -> None:
    with LogStore.open(path) as store:
        store.erase([3, 4, 20])
        verified = store.verify()
        head = store.head()
    assert (verified.events, verified.erased, verified.problems) == (20, 3, [])
    assert (verified.position, verified.chain) == (20, head.chain.hex())


def test_the_chain_is_what_the_documentation_says(path: Path) -> None:
    with LogStore.open(path) as store:
        store.erase([7])
    chain = bytes(32)
    with tampering(path) as connection:
        for position, recorded_at, kind, tags, head, data, salt, kept, stored in connection.execute(
            "SELECT position, recorded_at, type, tags, head, data, salt, commitment, chain FROM log"
        ):
            digest = kept
            if data is not None:
                assert kept is None
                assert len(salt) == 16
                digest = hashlib.blake2b(data, key=salt, digest_size=32).digest()
                assert digest == commitment(salt, data)
            header = f"{position}\x1f{recorded_at}\x1f{kind}\x1f{tags}\x1f".encode() + head
            assert link(chain, digest, header) == stored
            chain = hashlib.blake2b(chain + digest + header, digest_size=32).digest()
            assert chain == stored
        assert connection.execute("SELECT position, chain FROM head").fetchone() == (20, chain)
    assert bytes(32) == NO_LINK


def test_an_empty_log_has_no_problems(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "empty.sqlite") as store:
        verified = store.verify()
    assert (verified.events, verified.position, verified.problems) == (0, 0, [])


# ---------------------------------------------------------------- altered events


@pytest.mark.parametrize(
    "change",
    [
        "data = CAST('forged' AS BLOB)",
        "data = 'forged, and as a text'",
        """head = CAST('{"v":1,"id":"c6"}' AS BLOB)""",
        "type = 'withdrawal'",
        "type = CAST(x'ff' AS TEXT)",
        "tags = 'a'",
        "salt = zeroblob(16)",
        "salt = zeroblob(100)",
        "recorded_at = recorded_at + 1",
        "recorded_at = 'soon'",
        "data = NULL, salt = NULL, commitment = zeroblob(32)",
        "commitment = zeroblob(32)",
    ],
)
def test_an_altered_event_is_named(path: Path, change: str) -> None:
    assert (5, "altered") in found(path, f"UPDATE log SET {change} WHERE position=5")


def test_an_altered_event_is_named_once_and_the_others_are_not(path: Path) -> None:
    assert found(path, "UPDATE log SET data = zeroblob(3) WHERE position IN (5, 20)") == [
        (5, "altered"),
        (20, "altered"),
    ]


def test_an_altered_header_of_an_erased_event_is_named(path: Path) -> None:
    with LogStore.open(path) as store:
        store.erase([5])
    assert found(path, "UPDATE log SET head = zeroblob(3) WHERE position=5") == [(5, "altered")]


def test_an_altered_link_is_named_with_the_event_chained_to_it(path: Path) -> None:
    problems = found(path, "UPDATE log SET chain = zeroblob(32) WHERE position=5")
    assert problems == [(5, "altered"), (6, "altered")]


def test_the_last_link_is_compared_with_the_head_row(path: Path) -> None:
    problems = found(path, "UPDATE log SET chain = zeroblob(32) WHERE position=20")
    assert problems == [(20, "altered"), (20, "head")]


def test_a_time_that_goes_back_is_named(path: Path) -> None:
    problems = found(path, "UPDATE log SET recorded_at = recorded_at - 1000000 WHERE position=5")
    assert problems == [(5, "altered"), (5, "recorded_at")]


def test_data_that_is_gone_without_erasure_is_named(path: Path) -> None:
    assert found(path, "UPDATE log SET data = NULL, salt = NULL WHERE position=5") == [
        (5, "missing_payload")
    ]


def test_a_salt_that_is_gone_is_named(path: Path) -> None:
    assert found(path, "UPDATE log SET salt = NULL WHERE position=5") == [(5, "missing_salt")]


def test_a_salt_that_outlived_its_data_is_named(path: Path) -> None:
    with LogStore.open(path) as store:
        store.erase([5])
    assert found(path, "UPDATE log SET salt = zeroblob(16) WHERE position=5") == [(5, "salt_kept")]


# ---------------------------------------------------------------- events that went or moved


def test_a_dropped_event_leaves_a_gap_that_is_named(path: Path) -> None:
    assert found(path, "DELETE FROM log WHERE position=5") == [(5, "gap")]
    assert found(path, "DELETE FROM log WHERE position IN (1, 9, 10, 11)") == [
        (1, "gap"),
        (5, "gap"),
        (9, "gap"),
    ]


@pytest.mark.parametrize("dropped", [1, 5, 18, 19])
def test_a_dropped_event_is_named_even_if_the_gap_was_closed_up(path: Path, dropped: int) -> None:
    with tampering(path) as connection:
        drop_and_close_up(connection, dropped)
    assert found(path) == [(dropped, "dropped")]


def test_several_dropped_events_are_named_each_at_its_place(path: Path) -> None:
    with tampering(path) as connection:
        for position in (12, 5, 5):
            drop_and_close_up(connection, position)
    assert found(path) == [(5, "dropped"), (10, "dropped")]


def test_an_event_that_was_slipped_in_is_named(path: Path) -> None:
    with tampering(path) as connection:
        connection.execute("UPDATE log SET position=-position WHERE position>=5")
        connection.execute("UPDATE log SET position=1-position WHERE position<0")
        connection.execute(
            "INSERT INTO log SELECT 5, recorded_at, type, tags, head, data, salt, NULL, chain"
            " FROM log WHERE position=4"
        )
    assert (5, "inserted") in found(path)


@pytest.mark.parametrize(("one", "other"), [(5, 9), (5, 6), (5, 7), (1, 20), (1, 2), (19, 20)])
def test_events_in_each_others_place_are_named(path: Path, one: int, other: int) -> None:
    problems = found(
        path,
        f"UPDATE log SET position=-1 WHERE position={one}",
        f"UPDATE log SET position={one} WHERE position={other}",
        f"UPDATE log SET position={other} WHERE position=-1",
    )
    named = {position for position, code in problems if code == "reordered"}
    assert named
    assert named <= {one, other}
    assert {code for _, code in problems} <= {"reordered", "recorded_at", "head"}


def test_contents_in_each_others_place_are_named(path: Path) -> None:
    """The payloads and headers were exchanged, the links were not."""
    with tampering(path) as connection:
        columns = "recorded_at, type, tags, head, data, salt"
        rows = {
            position: row
            for position, *row in connection.execute(f"SELECT position, {columns} FROM log")
        }
        for to, source in ((5, 9), (9, 5)):
            marks = ", ".join(f"{column}=?" for column in columns.split(", "))
            connection.execute(f"UPDATE log SET {marks} WHERE position=?", (*rows[source], to))
    assert [problem for problem in found(path) if problem[1] != "recorded_at"] == [
        (5, "reordered"),
        (9, "reordered"),
    ]


# ---------------------------------------------------------------- the end


def test_a_tail_that_was_cut_off_is_named_with_the_expected_head(path: Path) -> None:
    with tampering(path) as connection:
        connection.execute("DELETE FROM log WHERE position > 15")
    with LogStore.open(path) as store:
        (problem,) = store.verify().problems
        head = store.head()
    assert (problem.position, problem.code) == (15, "truncated")
    assert "ends at 15" in problem.message
    assert f"its head is 20 with chain {head.chain.hex()}" in problem.message
    assert "5 events" in problem.message


def test_a_log_that_was_emptied_is_named(path: Path) -> None:
    assert found(path, "DELETE FROM log") == [(0, "truncated")]


@pytest.mark.parametrize(
    "change", ["position = 15", "chain = zeroblob(32)", "recorded_at = 5", "position = 'x'"]
)
def test_an_altered_head_row_is_named(path: Path, change: str) -> None:
    problems = found(path, f"UPDATE head SET {change}")
    assert [code for _, code in problems] == ["head"]


def test_a_head_row_that_is_gone_is_named(path: Path) -> None:
    assert found(path, "DELETE FROM head") == [(0, "head")]


def test_log_and_head_rolled_back_together_can_only_be_seen_from_outside(path: Path) -> None:
    """The chain of a shorter log is a chain: only a head kept elsewhere tells."""
    with LogStore.open(path) as store:
        printed = store.verify()
    rolled_back = found(
        path,
        "DELETE FROM log WHERE position > 15",
        "UPDATE head SET (position, recorded_at, chain) ="
        " (SELECT position, recorded_at, chain FROM log WHERE position = 15)",
    )
    assert rolled_back == []
    with LogStore.open(path) as store:
        assert (store.verify().position, store.verify().chain) != (printed.position, printed.chain)


# ---------------------------------------------------------------- beside the chain


def test_the_tag_index_is_compared_with_the_tags(tmp_path: Path) -> None:
    path = tmp_path / "tags.sqlite"
    with LogStore.open(path) as store, store.write() as transaction:
        transaction.append([event(1, "a", "b", "a"), event(2, "b"), event(3)], key="k")
    assert found(path) == []
    added = found(path, "INSERT INTO log_tag VALUES('c', 1)")
    assert added == [(0, "tag_index"), (1, "tag_index")]
    assert found(path, "DELETE FROM log_tag WHERE tag IN ('a', 'c')") == [(0, "tag_index")]
    assert (0, "key") in found(path, "UPDATE log_key SET first = 0, last = 9")


def test_many_problems_are_named_up_to_a_hundred_and_counted_from_there(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    filled(path, 500)
    with tampering(path) as connection:
        connection.execute("UPDATE log SET data = zeroblob(1)")
    with LogStore.open(path) as store:
        problems = store.verify().problems
    assert len(problems) == 101
    assert problems[-1].message == "400 further problems"


def test_verifying_goes_on_beside_writers(path: Path) -> None:
    with LogStore.open(path) as store, store.write() as transaction:
        transaction.append([event(21)])
        assert store.verify().events == 20
    with LogStore.open(path) as store:
        append(store, 22)
        assert store.verify().events == 22


# ---------------------------------------------------------------- the file itself


def test_a_file_that_went_away_or_was_replaced_is_named(path: Path) -> None:
    with LogStore.open(path) as store:
        kept = path.with_name("kept.sqlite")
        path.rename(kept)
        assert codes(store) == [(0, "file")]
        path.write_bytes(b"another")
        assert codes(store) == [(0, "file")]
        kept.replace(path)
        assert codes(store) == []
