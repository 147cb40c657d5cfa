"""A ledger's events as Arrow batches and Parquet files, a page at a time."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from doxa.adapters.exchange.exporting import exported_fields
from doxa.adapters.tables.schema import COLUMNS, OPEN, POSITION, SCHEMA, Form
from doxa.engine import times
from doxa.engine.errors import CallerError, StorageError

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["TableWritten", "events_reader", "events_to_arrow", "write_parquet"]

Progress = Callable[[int, int | None], None]

# An event has at most 1 MiB: no column of a batch comes near the 2 GiB that its offsets can tell.
_ROWS: Final = 1_024


class TableWritten(NamedTuple):
    """How many events a file has, and the position of the last: ``since`` for the next one."""

    events: int
    position: int


def events_to_arrow(
    ledger: Ledger, *, workspace: str | None = None, since: int = 0, limit: int | None = None
) -> pa.Table:
    """The events after position ``since`` as a table with the columns of `SCHEMA`, in stream
    order; ``workspace`` gives that workspace's only, ``limit`` at most so many. O(events)."""
    return events_reader(ledger, workspace=workspace, since=since, limit=limit).read_all()


def events_reader(
    ledger: Ledger, *, workspace: str | None = None, since: int = 0, limit: int | None = None
) -> pa.RecordBatchReader:
    """The same as a stream of record batches, which are made as they are read: memory for one."""
    found = exported_fields(ledger, workspace=workspace, since=since, limit=limit)
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(found))


def write_parquet(
    ledger: Ledger,
    path: str | os.PathLike[str],
    *,
    workspace: str | None = None,
    since: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> TableWritten:
    """Writes the events into a Parquet file, which is there whole or not at all; one that is there
    is replaced. ``progress(position, revision)`` is called now and then."""
    found = exported_fields(ledger, workspace=workspace, since=since, limit=limit)
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise CallerError(f"{target} is a folder; give the path of a file")
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        done = _write(made, found, TableWritten(0, since), ledger.revision, progress)
        os.replace(made, target)
    except OSError as error:
        raise StorageError(f"{target} can't be written: {error.strerror or error}") from error
    finally:
        made.unlink(missing_ok=True)
    return done


def _write(
    path: Path,
    found: Iterator[tuple[int, dict[str, Any]]],
    done: TableWritten,
    revision: int,
    progress: Progress | None,
) -> TableWritten:
    with open(path, "xb") as file:
        with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            waiting: list[pa.RecordBatch] = []
            for batch in _batches(found):
                waiting.append(batch)
                position = batch.column(POSITION)[-1].as_py()
                done = TableWritten(done.events + batch.num_rows, position)
                if len(waiting) == 64:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting = []
                    if progress is not None:
                        progress(position, revision)
            writer.write_table(pa.Table.from_batches(waiting, SCHEMA))
        file.flush()
        os.fsync(file.fileno())
    return done


def _batches(found: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[pa.RecordBatch]:
    while rows := list(islice(found, _ROWS)):
        yield _batch(rows)


def _batch(rows: list[tuple[int, dict[str, Any]]]) -> pa.RecordBatch:
    size = len(rows)
    cells: dict[str, list[Any]] = {POSITION: [position for position, _ in rows]}
    for at, (_, fields) in enumerate(rows):
        for key, value in fields.items():
            column = cells.get(key) or cells.setdefault(key, [None] * size)
            column[at] = None if value is None and key != "object" else _MADE[COLUMNS[key]](value)
            if (is_open := OPEN.get(key)) is not None:
                cells.setdefault(is_open, [None] * size)[at] = value is None
    assert cells.keys() <= set(SCHEMA.names), "a key of the exchange form has no column"
    return pa.record_batch(
        [
            pa.array(cells[field.name], field.type)
            if field.name in cells
            else pa.nulls(size, field.type)
            for field in SCHEMA
        ],
        schema=SCHEMA,
    )


# ---------------------------------------------------------------- one cell


def _same(value: Any) -> Any:
    return value


_json: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_instant: Final = lru_cache(10_000)(times.instant)


def _source(value: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"id": value}
    if "observed_at" in value:
        return {**value, "observed_at": _instant(value["observed_at"])}
    return value


def _reference(value: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"id": value} if isinstance(value, str) else value


_MADE: Final[Mapping[Form, Callable[[Any], Any]]] = {
    Form.TEXT: _same,
    Form.TIME: _instant,
    Form.FLAG: _same,
    Form.NUMBER: _same,
    Form.COUNT: _same,
    Form.VALUE: _json,
    Form.JSON: _json,
    Form.NAMES: _same,
    Form.SOURCE: _source,
    Form.REFERENCE: _reference,
    Form.REFERENCES: lambda value: [_reference(each) for each in value],
    Form.ERASURES: _same,
    Form.COMPACTION: _same,
}
