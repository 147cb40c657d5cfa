"""The tables of a ledger for SQL: sealed segments, and what came since, in one DuckDB in memory.

The segments are attached, not loaded, and what they lack is added from the belief as the log grows.
Then the doors are shut: no query reaches a file, an extension, a setting or a table that it could
change. Each query reads in a transaction and on a cursor of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from doxa.engine.belief import Belief
from doxa.engine.history import OPEN
from doxa.engine.times import NEG, POS
from doxa.projections.errors import InvalidQuery
from doxa.projections.publication import Manifest, Publication
from doxa.projections.segments import Config, chunks, insert, intact
from doxa.projections.tables import ENDS, TABLES

__all__ = ["PUBLISHED", "Served"]

Params = Sequence[Any] | Mapping[str, Any] | None

PUBLISHED: Final = 20_000  # events that are not published yet, from which on they are
LONGEST: Final = 600_000  # milliseconds that a query may take
_CONFIG: Final[Config] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "memory_limit": "50%",
    "temp_directory": "",
    "max_execution_time": LONGEST,
}
_SHUT: Final = ("SET TimeZone = 'UTC'", "SET enable_external_access = false",
                "SET lock_configuration = true")  # fmt: skip
# What a query is answered with for its own sake. Other errors may be, and may be a file's.
_ASKED: Final = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException,
    duckdb.PermissionException, duckdb.TransactionException,
)  # fmt: skip
_KEY: Final = ("position", "valid_from", "known_from")
_LATER: Final = ("known_to", "known_to_at")

# For queries: instants as numbers and back, and the slice at two coordinates.
_INSTANT: Final = r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d))?"
_MACROS: Final = (
    f"""CREATE MACRO instant(text) AS CASE WHEN regexp_full_match(text, '{_INSTANT}')
        THEN epoch_us(CAST(text AS TIMESTAMPTZ))
        ELSE error('instant(' || text || '): give a day, or a time with its zone, as '
            || '2024-03-01 or 2024-03-01T09:00:00Z') END""",
    f"""CREATE MACRO iso(micros) AS CASE WHEN micros IN ({NEG}, {POS}) THEN NULL
        WHEN micros % 1000000 = 0 THEN strftime(make_timestamp(micros), '%Y-%m-%dT%H:%M:%SZ')
        ELSE strftime(make_timestamp(micros), '%Y-%m-%dT%H:%M:%S.%fZ') END""",
    """CREATE MACRO known(micros) AS
        (SELECT coalesce(max(position), 0) FROM events WHERE recorded_at <= micros)""",
    f"""CREATE MACRO believed(valid_at, known_at := {POS - 1}) AS TABLE SELECT * FROM beliefs
        WHERE valid_from <= valid_at AND valid_at < valid_to
        AND CASE WHEN known_at BETWEEN 0 AND {OPEN}
            THEN known_from <= known_at AND known_at < known_to
            ELSE known_from_at <= known_at AND known_at < known_to_at END""",
)


class _Instance:
    """One DuckDB in memory with all tables: those of a manifest, and what was added since."""

    def __init__(self, folder: Path | None = None, manifest: Manifest | None = None) -> None:
        self.segments = () if manifest is None else manifest.segments
        self.sealed = self.covered = 0 if manifest is None else manifest.position
        self.con = duckdb.connect(config=_CONFIG)
        try:
            attached = []
            for number, name in enumerate(segment.name for segment in self.segments):
                path = str(folder / name if folder is not None else name).replace("'", "''")
                self.con.execute(f"ATTACH '{path}' AS sealed{number} (READ_ONLY)")
                attached.append((f"sealed{number}.main", number > 0))
            self._make_tables([*attached, ("tail", True)])
            for statement in (*_MACROS, *_SHUT):
                self.con.execute(statement)
        except BaseException:
            self.con.close()
            raise

    def _make_tables(self, places: list[tuple[str, bool]]) -> None:
        """A view over each table's parts; ``places`` also says whether they have ends."""
        self.con.execute("CREATE SCHEMA tail")
        for name, table in TABLES.items():
            insert(
                self.con, f"CREATE TABLE tail.{name} AS FROM came_in", table.schema.empty_table()
            )
            rows = _united(name, [place for place, _ in places])
            if table.kind is not None:
                insert(
                    self.con, f"CREATE TABLE tail.{name}_ends AS FROM came_in", ENDS.empty_table()
                )
                ends = _united(f"{name}_ends", [place for place, has in places if has])
                columns = [
                    f"coalesce(e.{column}, r.{column}) AS {column}"
                    if column in _LATER
                    else f"r.{column}"
                    for column in table.schema.names
                ]
                same = " AND ".join(f"e.{column} = r.{column}" for column in _KEY)
                rows = f"SELECT {', '.join(columns)} FROM ({rows}) r LEFT JOIN ({ends}) e ON {same}"
            self.con.execute(f"CREATE VIEW {name} AS {rows}")

    def follow(self, belief: Belief, upto: int) -> None:
        """Adds what came in since, up to the end of a commit; all of it is seen at once."""
        if upto <= self.covered:
            return
        after = self.covered
        self.con.execute("BEGIN")
        try:
            for name, table in TABLES.items():
                for low, high in chunks(belief, after, upto):
                    rows = table.added(belief, low, high, upto)
                    if rows.num_rows:
                        insert(self.con, f"INSERT INTO tail.{name} FROM came_in", rows)
                ended = table.ended(belief, after, upto) if after else ENDS.empty_table()
                if ended.num_rows:
                    insert(self.con, f"INSERT INTO tail.{name}_ends FROM came_in", ended)
            self.con.execute("COMMIT")
        except BaseException:
            self.con.execute("ROLLBACK")
            raise
        self.covered = upto


def _united(name: str, places: Sequence[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM {place}.{name}" for place in places)


class Served:
    """The tables of one ledger, as new as its log. Safe for threads, and after a fork.

    ``capture`` gives the belief and the head; ``publication`` is where the tables are kept, None
    where they are not.
    """

    def __init__(
        self, capture: Callable[[], tuple[Belief, int]], publication: Publication | None
    ) -> None:
        self._capture, self.publication = capture, publication
        self._mutex = threading.Lock()  # held by whoever uses or changes the instance
        self._renewing = threading.Lock()  # held by whoever makes another
        self._instance: _Instance | None = None
        self._blank = 0  # how many events had no content when it was begun
        self._tried = 0  # the head when publishing was last thought of
        self._stamp: tuple[int, int] | None = None  # of the manifest that was looked at then
        _served.add(self)

    def query(self, sql: str, params: Params = None) -> pa.Table:
        """The result of one SELECT. Raises `InvalidQuery`."""
        try:
            return self._run(sql, params)
        except duckdb.Error as error:
            if not self._harmed(error):
                raise InvalidQuery(str(error)) from None
        with self._mutex:
            self._instance, self._tried = None, 0  # the next attaches what is whole
        try:
            return self._run(sql, params)
        except duckdb.Error as error:
            raise InvalidQuery(str(error)) from None

    def _run(self, sql: str, params: Params) -> pa.Table:
        cursor = self._cursor()
        try:
            statement = _select(cursor, sql)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            return cursor.sql(statement, params=params).to_arrow_table()
        except UnicodeError as error:
            raise InvalidQuery(f"it is no text that can be stored: {error}") from None
        finally:
            cursor.close()

    def _harmed(self, error: duckdb.Error) -> bool:
        """Whether a query failed for what befell the instance, and not for what it asks."""
        if isinstance(error, _ASKED):
            return False
        instance, publication = self._instance, self.publication
        if isinstance(error, duckdb.FatalException | duckdb.InternalException) or instance is None:
            return True
        return publication is not None and any(
            intact(publication.folder, segment) for segment in instance.segments
        )

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor on tables as new as the log."""
        while True:
            belief, head = self._capture()
            self._renew(belief, head)
            with self._mutex:
                if self._blank < len(belief.graph.blank):  # it may hold what was erased since
                    self._instance, self._tried = None, 0
                if self._instance is not None:
                    self._instance.follow(belief, head)
                    return self._instance.con.cursor()

    def _renew(self, belief: Belief, head: int) -> None:
        """Makes an instance where there is none, or another where much has come since it was made;
        threads that have one go on with it meanwhile."""
        instance = self._instance
        if instance is not None and not self._due(instance, head):
            return
        if not self._renewing.acquire(blocking=instance is None):
            return
        try:
            if self._instance is instance:
                blank = len(belief.graph.blank)
                made = self._renewed(belief, head)
                if made is not instance:
                    made.follow(belief, head)
                with self._mutex:
                    self._instance = made
                    self._blank = self._blank if made is instance else blank
        finally:
            self._renewing.release()

    def _due(self, instance: _Instance, head: int) -> bool:
        """Whether to look for a newer publication, or to make one: much has come since the last,
        and either much since one was thought of, or another process has published."""
        if head - instance.sealed < PUBLISHED:
            return False
        publication = self.publication
        return head - self._tried >= PUBLISHED or (
            publication is not None and publication.stamp() != self._stamp
        )

    def _renewed(self, belief: Belief, head: int) -> _Instance:
        """An instance over what is published, which is done first where much has come since; the
        old one where nothing newer is."""
        old, publication, self._tried = self._instance, self.publication, head
        if publication is None:
            return old or _Instance()
        self._stamp = publication.stamp()
        manifest = publication.manifest()
        if head - (manifest.position if manifest else 0) >= PUBLISHED:
            manifest = publication.publish(belief, head) or manifest
        if old is not None and (manifest is None or manifest.position <= old.sealed):
            return old
        return self._attached(manifest)

    def _attached(self, manifest: Manifest | None) -> _Instance:
        publication = self.publication
        if publication is None or manifest is None:
            return _Instance()
        if not any(intact(publication.folder, segment) for segment in manifest.segments):
            try:
                return _Instance(publication.folder, manifest)
            except duckdb.Error:
                pass  # written by another DuckDB, or removed just now
        newer = publication.manifest()
        if newer is not None and newer.files != manifest.files:
            return self._attached(newer)
        return self._anew()

    def _anew(self) -> _Instance:
        """An instance that uses nothing of what was published."""
        belief, head = self._capture()
        publication, self._tried = self.publication, head
        if publication is not None:
            manifest = publication.publish(belief, head, anew=True)
            if manifest is not None:
                try:
                    return _Instance(publication.folder, manifest)
                except duckdb.Error:
                    return _Instance()
        return _Instance()

    def close(self) -> None:
        """Drops the instance; queries under way are finished, and the next makes another."""
        with self._mutex:
            if self._instance is not None:
                self._instance.con.close()
            self._instance, self._tried = None, 0

    def _start_in_child(self) -> None:
        """A forked child does not have the threads of its parent's DuckDB: it leaves that alone."""
        if self._instance is not None:
            # never to be taken down, not even as the child ends: it would wait for those threads
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._instance.con))
        self._mutex, self._renewing = threading.Lock(), threading.Lock()
        self._instance = None


def _select(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The one statement of a query. Raises `InvalidQuery`."""
    if not isinstance(sql, str):
        raise InvalidQuery(f"the query is {sql!r:.80}; give the text of one SELECT")
    sql.encode()  # half of a surrogate pair is no text that DuckDB takes
    statements = cursor.extract_statements(sql)
    if len(statements) != 1:
        raise InvalidQuery(f"the query has {len(statements)} statements; give one SELECT")
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise InvalidQuery(
            f"it is a statement of the kind {kind.name}; only SELECT is run (a PIVOT names its "
            "columns with IN)"
        )
    return statements[0]


_served: weakref.WeakSet[Served] = weakref.WeakSet()


def _renew_after_fork() -> None:
    for served in tuple(_served):
        served._start_in_child()


def _close_all() -> None:
    for served in tuple(_served):
        served.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
atexit.register(_close_all)
