"""Whatever somebody does to the rows of a log is found, and named where it was done; and whatever
they do and chain anew is found against a head that was kept."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine.log import NO_LINK
from doxa.verification import Report, audited
from tests.recorder_support import tampering

LOG = "log.sqlite"
COUNT = 30
# What is done, and which positions of the log may be named for it.
Done = tuple[str, set[int]]


def filled(folder: Path, random: Random) -> None:
    """Thirty events in commits of one to four, some of them erased."""
    with doxa.open(folder) as ledger:
        number = 0
        while number < COUNT:
            size = min(random.randint(1, 4), COUNT - number)
            ledger.append(
                [
                    {"event": "claim", "id": f"c{each}", "subject": f"s{each % 5}",
                     "predicate": "p", "object": random.randint(0, 3), "source": "register"}
                    for each in range(number + 1, number + size + 1)
                ]
            )  # fmt: skip
            number += size
        ledger.recorder.erase(random.sample(range(1, COUNT + 1), random.randint(0, 3)))


# ---------------------------------------------------------------- what is done to the rows


def alter(connection: sqlite3.Connection, random: Random) -> Done:
    position = random.randint(1, COUNT)
    column, value = random.choice(
        [
            ("data", "CAST('{\"object\":9}' AS BLOB)"),
            ("head", 'CAST(\'{"v":1,"id":"forged"}\' AS BLOB)'),
            ("head", "zeroblob(0)"),
            ("type", "'support'"),
            ("tags", "'t'"),
            ("recorded_at", "recorded_at + 1"),
            ("recorded_at", "0"),
            ("recorded_at", "'never'"),
            ("salt", "randomblob(16)"),
            ("salt", "randomblob(99)"),
            ("commitment", "randomblob(32)"),
            ("chain", "randomblob(32)"),
            ("chain", "'text'"),
        ]
    )
    connection.execute(f"UPDATE log SET {column} = {value} WHERE position = ?", (position,))
    return f"{column} = {value} at {position}", {position, position + 1}


def swap(connection: sqlite3.Connection, random: Random) -> Done:
    one, other = sorted(random.sample(range(1, COUNT + 1), 2))
    for old, new in ((one, -1), (other, one), (-1, other)):
        connection.execute("UPDATE log SET position = ? WHERE position = ?", (new, old))
    return f"swapped {one} and {other}", {one, one + 1, other, other + 1}


def drop(connection: sqlite3.Connection, random: Random) -> Done:
    first = random.randint(1, COUNT - 1)
    last = min(COUNT - 1, first + random.randint(0, 3))
    connection.execute("DELETE FROM log WHERE position BETWEEN ? AND ?", (first, last))
    return f"dropped {first} to {last}", set(range(first, last + 2))


def close_up(connection: sqlite3.Connection, random: Random) -> Done:
    text, where = drop(connection, random)
    gone = len(where) - 1
    connection.execute("UPDATE log SET position = -position WHERE position > ?", (min(where),))
    connection.execute("UPDATE log SET position = -position - ? WHERE position < 0", (gone,))
    return f"{text}, and closed up", where


def cut(connection: sqlite3.Connection, random: Random) -> Done:
    end = random.randint(0, COUNT - 1)
    connection.execute("DELETE FROM log WHERE position > ?", (end,))
    return f"cut off after {end}", {end}


def slip_in(connection: sqlite3.Connection, random: Random) -> Done:
    place, what = random.randint(1, COUNT), random.randint(1, COUNT)
    connection.execute(
        "CREATE TEMP TABLE kept AS SELECT recorded_at, type, tags, head, data, salt, commitment,"
        " chain FROM log WHERE position = ?",
        (what,),
    )
    connection.execute("UPDATE log SET position = -position WHERE position >= ?", (place,))
    connection.execute("UPDATE log SET position = 1 - position WHERE position < 0")
    connection.execute("INSERT INTO log SELECT ?, * FROM kept", (place,))
    return f"a copy of {what} slipped in at {place}", set(range(place - 1, COUNT + 2))


def append(connection: sqlite3.Connection, random: Random) -> Done:
    connection.execute(
        "INSERT INTO log SELECT ?, recorded_at, type, tags, head, data, salt, commitment, chain"
        " FROM log WHERE position = ?",
        (COUNT + 1, COUNT),
    )
    return "a copy of the last appended", {COUNT, COUNT + 1}


TAMPERING: tuple[Callable[[sqlite3.Connection, Random], Done], ...] = (
    alter, alter, alter, swap, drop, close_up, cut, slip_in, append,
)  # fmt: skip


def rechain(connection: sqlite3.Connection) -> int:
    """Renumbers the log and makes it consistent, from its first event on; its length."""
    rows = connection.execute(
        "SELECT position, recorded_at, type, tags, head, data, commitment FROM log"
        " ORDER BY position"
    ).fetchall()
    connection.execute("DELETE FROM log")
    chain, last = NO_LINK, 0
    for number, (_, at, kind, _tags, head, data, kept) in enumerate(rows, 1):
        last = at = at if isinstance(at, int) and at > last else last + 1
        salt = None if data is None else os.urandom(16)
        digest = blake2b(data, key=salt, digest_size=32).digest() if salt else kept or bytes(32)
        commitment = None if salt else digest
        header = f"{number}\x1f{at}\x1f{kind}\x1f\x1f".encode() + head
        chain = blake2b(chain + digest + header, digest_size=32).digest()
        row = (number, at, kind, "", head, data, salt, commitment, chain)
        connection.execute("INSERT INTO log VALUES(?,?,?,?,?,?,?,?,?)", row)
    connection.execute(
        "UPDATE head SET position = ?, recorded_at = ?, chain = ?", (len(rows), last, chain)
    )
    return len(rows)


# ---------------------------------------------------------------- what is found


@contextmanager
def tampered(seed: int, *, consistent: bool) -> Iterator[tuple[Path, Done, list[str]]]:
    """A ledger that something was done to, and heads of all its positions that were kept before."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "a"
        filled(folder, random)
        with tampering(folder / LOG) as connection:
            links = connection.execute("SELECT position, chain FROM log ORDER BY position")
            kept = [f"{position}:{chain.hex()}" for position, chain in links]
            before = connection.execute("SELECT * FROM log ORDER BY position").fetchall()
            connection.execute("BEGIN")
            done = random.choice(TAMPERING)(connection, random)
            same = connection.execute("SELECT * FROM log ORDER BY position").fetchall() == before
            if consistent:
                rechain(connection)
            connection.execute("COMMIT")
        yield folder, ("nothing", set()) if same else done, kept


def report_of(folder: Path, against: list[str] | None = None) -> Report:
    from doxa.auditing import pins
    from doxa.engine.store import LogStore

    with LogStore.open(folder / LOG, create=False) as store:
        return audited(store, pins(against)[0])


@settings(max_examples=settings().max_examples * 2)
@given(seed=st.integers(0, 2**48))
def test_whatever_is_done_to_the_rows_is_found_and_named_where_it_was_done(seed: int) -> None:
    with tampered(seed, consistent=False) as (folder, (done, where), _):
        problems = report_of(folder).problems
        assert bool(problems) == (done != "nothing"), f"{done}: {problems}"
        named = {problem.position for problem in problems}
        assert not where or named & where, f"{done}: {problems}"
        if " = " in done or done.startswith("swapped"):
            assert named <= where | {0, COUNT}, f"{done}: {problems}"
        for problem in problems:
            if problem.code == "altered" and "head" not in done:
                assert (
                    problem.id == f"c{problem.position}" or "slipped" in done or "copy" in done
                ), f"{done}: {problem}"


@settings(max_examples=settings().max_examples)
@given(seed=st.integers(0, 2**48))
def test_whatever_is_done_and_chained_anew_is_found_against_a_head_that_was_kept(
    seed: int,
) -> None:
    with tampered(seed, consistent=True) as (folder, (done, _), kept):
        assert report_of(folder).problems == [], done
        # new salts alone are a rewritten log: of no event is it certain what it said
        for against in (kept, [kept[-1]]):
            codes = {problem.code for problem in report_of(folder, against).problems}
            assert codes, done
            assert codes <= {"rewritten", "truncated"}, done
