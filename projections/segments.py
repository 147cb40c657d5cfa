"""One stretch of a ledger's log as a DuckDB file: what came into each table in it, and what ended.

A segment is written under a temporary name, made durable, and given a name that says what it holds:
it is never written to again. DuckDB reads it without loading it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import count, pairwise
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from doxa.engine.belief import Belief
from doxa.projections.tables import ENDS, TABLES, Table

__all__ = ["PREFIX", "TEMPORARY", "Progress", "Segment", "chunks", "intact", "write"]

Progress = Callable[[int, int | None], None]
Config = dict[str, str | bool | int | float | list[str]]

PREFIX: Final = "rev-"
TEMPORARY: Final = "tmp-"
CHUNK: Final = 100_000  # positions of the log that are made into rows at a time
_AT_ONCE: Final = 2  # tables that are written side by side
_CONFIG: Final[Config] = {"checkpoint_threshold": "1TB", "autoinstall_known_extensions": False}
_BLOCK: Final = 1 << 20  # bytes that are digested at a time


class Segment(NamedTuple):
    """A segment by the positions between which it lies, its file's name, and what the file is."""

    after: int
    upto: int
    name: str
    bytes: int
    digest: str


def chunks(belief: Belief, after: int, upto: int) -> Iterator[tuple[int, int]]:
    """The stretch in parts of about `CHUNK` positions, each of whole commits."""
    bounds, position = [after], after
    while position < upto:
        position = min(upto, belief.graph.commit_of(min(upto, position + CHUNK)))
        bounds.append(position)
    return pairwise(bounds)


def write(
    folder: Path, belief: Belief, after: int, upto: int, progress: Progress | None = None
) -> Segment:
    """Writes what came in after one commit and up to another. Raises `OSError` or `duckdb.Error`,
    and leaves nothing then but perhaps a file with a temporary name."""
    temporary = folder / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}.duckdb"
    try:
        with contextlib.closing(duckdb.connect(str(temporary), config=_CONFIG)) as con:
            _fill(con, belief, after, upto, progress)
        digest = _flushed(temporary)
        name = f"{PREFIX}{after:012}-{upto:012}-{digest[:16]}.duckdb"
        size = temporary.stat().st_size
        os.replace(temporary, folder / name)
    except BaseException:
        for left in (temporary, temporary.with_name(temporary.name + ".wal")):
            left.unlink(missing_ok=True)
        raise
    return Segment(after, upto, name, size, digest)


def _fill(
    con: duckdb.DuckDBPyConnection,
    belief: Belief,
    after: int,
    upto: int,
    progress: Progress | None,
) -> None:
    parts = list(chunks(belief, after, upto))
    done = count()

    def fill(table: Table) -> None:
        name = table.name
        with contextlib.closing(con.cursor()) as cursor:
            cursor.execute("BEGIN")
            insert(cursor, f"CREATE TABLE {name} AS FROM came_in", table.schema.empty_table())
            for low, high in parts:
                rows = table.added(belief, low, high, upto)
                insert(cursor, f"INSERT INTO {name} FROM came_in", rows)
                if progress is not None:
                    progress(next(done) + 1, len(parts) * len(TABLES))
            if table.kind is not None:
                insert(cursor, f"CREATE TABLE {name}_ends AS FROM came_in", ENDS.empty_table())
                ended = table.ended(belief, after, upto) if after else ENDS.empty_table()
                insert(cursor, f"INSERT INTO {name}_ends FROM came_in", ended)
            cursor.execute("COMMIT")

    with ThreadPoolExecutor(_AT_ONCE) as pool:  # DuckDB takes in one table with one thread
        for filled in [pool.submit(fill, table) for table in TABLES.values()]:
            filled.result()
    con.execute("CHECKPOINT")


def insert(con: duckdb.DuckDBPyConnection, statement: str, rows: pa.Table) -> None:
    """Runs a statement that takes its rows from ``came_in``."""
    con.register("came_in", rows)
    try:
        con.execute(statement)
    finally:
        con.unregister("came_in")


def _flushed(path: Path) -> str:
    """The digest of a file that is on the disk for good."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return _digest(path)


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=32)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def intact(folder: Path, segment: Segment) -> str | None:
    """What is wrong with a segment's file: a few words, or None. O(its bytes)."""
    path = folder / segment.name
    try:
        if path.stat().st_size != segment.bytes:
            return f"has {path.stat().st_size:,} bytes instead of {segment.bytes:,}"
        return None if _digest(path) == segment.digest else "is not what was written"
    except OSError as error:
        return f"can't be read: {error.strerror}"
