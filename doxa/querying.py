"""The ledger's tables for SQL, and as Parquet files."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.engine import times
from doxa.engine.errors import CallerError
from doxa.engine.log import Problem
from doxa.engine.stream import Stream
from doxa.places import CACHE

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from doxa.engine.belief import Belief
    from doxa.engine.sqlite import SQLiteRecorder
    from doxa.projections.publication import Publication
    from doxa.projections.serving import Served

__all__ = ["Querying", "Result", "check_tables"]

_making = threading.Lock()


class Result:
    """The rows that a query gave. It has a length, and is iterated row by row."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table
        self._rows: list[tuple[Any, ...]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table.column_names)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of plain Python values. Raises `CallerError` for a time that Python
        has no value for."""
        if self._rows is not None:
            return self._rows
        try:
            columns = [_plain(column.to_pylist()) for column in self._table.columns]
        except (ValueError, OverflowError) as error:
            raise CallerError(
                f"a value can't be given in Python ({error}); cast it to text in the query"
            ) from None
        self._rows = list(zip(*columns, strict=True)) if columns else []
        return self._rows

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"Result({len(self)} rows of {', '.join(self.columns)})"

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas ``DataFrame``."""
        from doxa.adapters.frames import to_pandas

        frame: pandas.DataFrame = to_pandas(self._table)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars ``DataFrame``."""
        from doxa.adapters.frames import to_polars

        frame: polars.DataFrame = to_polars(self._table)
        return frame


def _plain(values: list[Any]) -> list[Any]:
    """Whole numbers of any size as ``int``: sums of them come as decimals without places."""
    return [
        int(value)
        if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent == 0
        else value
        for value in values
    ]


class Querying:
    """What is asked in SQL, and given to other engines."""

    recorder: SQLiteRecorder
    _stream: Stream
    _served: Served | None = None
    _served_after = 0, 0  # how many erasures there were when it was begun, and which compaction

    def sql(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> Result:
        """Runs one SELECT over the ledger's tables, as new as its log.

        ``params`` are the values of ``?`` in order, or of ``$name`` by name; a ``datetime`` or
        ``date`` among them is given as microseconds, as the tables have it. Nothing but the tables
        is in reach. Raises `InvalidQuery`.
        """
        return Result(self._serving().query(query, _params(params)))

    def export_parquet(
        self,
        folder: str | os.PathLike[str],
        *,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> dict[str, int]:
        """Writes the ledger's tables as Parquet files into a folder, one a table, and returns how
        many rows each has.

        The folder is new, empty, or an earlier export, which is replaced; it appears whole.
        ``progress(parts done, total)`` is called now and then. Raises `CallerError` where the
        folder holds anything else, `StorageError` where it can't be written.
        """
        from doxa.projections.export import export_parquet

        belief, head = self._believed()
        link = self._link(head) or ""
        return export_parquet(belief, head, link, self.recorder.ledger_id, folder, progress)

    def _serving(self) -> Served:
        with _making:
            belief, _ = self._believed()
            gone = belief.graph.gone
            after = len(belief.graph.redactions), 0 if gone is None else gone.at
            if self._served is not None and self._served_after != after:
                self._served.close()  # it may hold what is gone
                self._served = None
            if self._served is None:
                from doxa.projections.serving import Served

                publication = self._publication()
                if publication is not None and belief.graph.redactions:
                    with contextlib.suppress(OSError):  # by a process that was killed since
                        publication.discard_misfit()
                self._served = Served(self._believed, publication)
                self._served_after = after
            return self._served

    def _publication(self) -> Publication | None:
        """Where the tables are kept; None in memory, and for an encrypted ledger."""
        from doxa.projections.publication import Publication

        path = self.recorder.path
        if path is None or self._stream.cipher is not None:
            return None
        return Publication(Path(path).parent / CACHE, self.recorder.ledger_id, self._link)

    def _believed(self) -> tuple[Belief, int]:
        fold, head = self._stream.capture()
        return fold.belief, head

    def _link(self, position: int) -> str | None:
        """The chain's link at a position of the log; none of one before the last erasure."""
        found = self.recorder.clean_link_at(position)
        return None if found is None else found[1].hex()

    def _discard_tables(self) -> None:
        """Removes the tables that are kept for SQL. Raises `OSError`."""
        with _making:
            self._stop_serving()
            self._served = None
            publication = self._publication()
            if publication is not None:
                publication.discard()

    def _stop_serving(self) -> None:
        if self._served is not None:
            self._served.close()


def _params(given: object) -> list[Any] | dict[str, Any] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {str(name): _param(value) for name, value in given.items()}
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return [_param(value) for value in given]
    raise CallerError(f"params is {given!r:.80}; give a list, or a mapping by name")


def _param(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return times.instant(value, "a time in params")
    return value


_KEPT = "; it is a copy for SQL: delete the folder cache/, and the next query makes it anew"


def check_tables(ledger: Querying) -> list[Problem]:
    """What is wrong with the ledger's tables: files, chain, rows that are not the belief's, rows
    that do not tile. O(rows)."""
    from doxa.projections.checking import check

    belief, head = ledger._believed()
    return [
        Problem(position, code, message + (_KEPT if code == "projection" else ""))
        for position, code, message in check(belief, head, ledger._publication())
    ]
