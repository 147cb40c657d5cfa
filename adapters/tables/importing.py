"""Tables of anything that speaks Arrow, and Parquet files, into a ledger."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from doxa.adapters.exchange.importing import ImportReport, import_events
from doxa.adapters.exchange.lines import Line, Lines, shown
from doxa.adapters.tables.cells import cells, is_empty, misfits
from doxa.adapters.tables.kinds import fits, wanted
from doxa.adapters.tables.rows import line_of
from doxa.adapters.tables.schema import COLUMNS, POSITION
from doxa.engine.errors import CallerError, InvalidEvent, StorageError

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["exchange_lines", "import_table", "is_parquet"]

_MAGIC: Final = b"PAR1"
_ROWS: Final = 8_192
_CLAIM: Final = ("subject", "predicate", "object")
_MAKES: Final = ("collect", "to_table")  # of a query of Polars, and of a data set of Arrow
_FRAMES: Final = {".csv": "read_csv", ".tsv": "read_table", ".xlsx": "read_excel"}
_INDEX: Final = "__index_level_"  # what a frame's own numbering is called, which says nothing

Progress = Callable[[int, int | None], None]


def import_table(
    ledger: Ledger,
    table: Any,
    *,
    json_objects: bool | None = None,
    restamp: bool = False,
    strict: bool = False,
    workspace: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Imports the rows of a table, as `import_events` does exchange lines: in order, resumable, and
    with every row that can't be accepted set aside.

    ``table`` is a data frame, an Arrow table or stream, anything else with ``__arrow_c_stream__``,
    or the path of a Parquet file. Its columns are keys of the exchange form; without a column
    ``event`` its rows are claims. ``json_objects`` says whether a text column ``object`` holds JSON
    text; left out, it does where there is a column ``event``. Raises `CallerError`, with nothing
    written, for columns that are unknown or can't be what their name says. ``progress(rows done,
    total)`` is called now and then.
    """
    return import_events(
        ledger,
        _Rows(table, json_objects),
        restamp=restamp,
        strict=strict,
        workspace=workspace,
        progress=progress,
    )


def exchange_lines(table: Any, *, json_objects: bool | None = None) -> Iterator[str]:
    """The rows of a table as exchange lines, for a file: of an exported one, those that
    `export_events` gives. Raises `InvalidEvent` at the first row with a cell that can't be used."""
    for line in _Rows(table, json_objects):
        if line.problem is not None:
            raise InvalidEvent(f"row {line.number}: {line.problem}")
        yield shown(line.raw)


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a Parquet file, by its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == _MAGIC
    except OSError:
        return False


def _near(name: str) -> str:
    """What a column that is no key of an event was probably meant for."""
    plain = re.sub(r"\W+", "_", name[:40]).lower()
    near = difflib.get_close_matches(plain, [key for key in COLUMNS if key != POSITION], 1, 0.6)
    return f"; {name!r:.80} may be {near[0]}" if near else ""


def _instead(path: Path) -> str:
    """What to do with a file that is none of Parquet."""
    suffix = path.suffix.lower()
    if suffix in _FRAMES:
        read = f"pandas.{_FRAMES[suffix]}({str(path)!r})"
        return f"read it with pandas, and give the frame: {read}"
    if suffix in (".jsonl", ".ndjson"):
        return "its lines go into import_events, if they are exchange lines"
    return "give a Parquet file, a data frame or an Arrow table"


class _Rows(Lines):
    """The rows of a table as lines, numbered from 1."""

    def __init__(self, table: Any, json_objects: bool | None) -> None:
        if json_objects is not None and type(json_objects) is not bool:
            raise CallerError(f"json_objects is {json_objects!r:.80}; give True, False or None")
        self.path, self._read, self._file = None, 0, None
        self._batches = self._opened(table)
        try:
            self._first = next(self._batches, None)
        except (pa.ArrowException, OSError, TypeError) as error:
            raise CallerError(f"the table can't be read: {error}") from None
        self._json = "event" in self._schema.names if json_objects is None else json_objects
        self._check()

    @property
    def done(self) -> int:
        """Rows that were read."""
        return self._read

    # ------------------------------------------------------------ opening

    def _opened(self, table: Any) -> Iterator[pa.RecordBatch]:
        self.total: int | None = None
        if isinstance(table, str | os.PathLike):
            return self._of_file(Path(table))
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if isinstance(table, pa.Table):
            self.total = table.num_rows
        if not hasattr(table, "__arrow_c_stream__"):
            made = (f"give what its {name}() gives" for name in _MAKES if hasattr(table, name))
            raise CallerError(
                f"{type(table).__name__} is no table; "
                + next(
                    made,
                    "give a data frame, an Arrow table, or the path of a Parquet file (lines and "
                    "mappings go into import_events)",
                )
            )
        try:
            reader = pa.RecordBatchReader.from_stream(table)
        except Exception as error:  # whatever a library that makes a stream of it may raise
            raise CallerError(
                f"the {type(table).__name__} is no Arrow table: {error}; a column has one type: "
                "text, say, or for mixed objects JSON text, with json_objects=True"
            ) from error
        self._schema = reader.schema
        return iter(reader)

    def _of_file(self, path: Path) -> Iterator[pa.RecordBatch]:
        if path.is_dir():
            raise CallerError(f"{path} is a folder; give the path of a Parquet file")
        try:
            file = pq.ParquetFile(path)
        except FileNotFoundError:
            raise CallerError(f"there is no file {path}") from None
        except pa.ArrowException as error:
            if not is_parquet(path):
                raise CallerError(f"{path} is no Parquet file; {_instead(path)}") from None
            raise CallerError(f"{path} is no Parquet file that can be read: {error}") from None
        except OSError as error:
            raise StorageError(f"{path} can't be read: {error}") from None
        self.path, self.total = path, file.metadata.num_rows
        self._schema = file.schema_arrow
        return self._read_file(file)

    @staticmethod
    def _read_file(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
        with file:
            yield from file.iter_batches(batch_size=_ROWS)

    def _check(self) -> None:
        """Refuses a table whose columns can't be what their names say."""
        names = [name for name in self._schema.names if not name.startswith(_INDEX)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise CallerError(f"the table has two columns {twice[0]!r:.80}; rename one")
        if unknown := [name for name in names if name not in COLUMNS]:
            some = ", ".join(f"{name!r:.80}" for name in unknown[:5])
            are = "are no keys" if len(unknown) > 1 else "is no key"
            raise CallerError(
                f"{some}{', …' if len(unknown) > 5 else ''} {are} of an event"
                f"{''.join(map(_near, unknown[:5]))}; rename what is one "
                "and leave out the rest. Claims need subject, predicate and object, and often have "
                "source, valid_from and valid_to; docs/tables.md lists all"
            )
        lacking = [name for name in _CLAIM if name not in names]
        if "event" not in names and lacking:
            raise CallerError(
                f"the table has no column {lacking[0]}: without a column event its rows are "
                f"claims, and those have {', '.join(_CLAIM)}"
            )
        for name in names:
            type_ = self._schema.field(name).type
            if not fits(type_, COLUMNS[name]) and self._first is not None:
                column = self._first.column(self._first.schema.get_field_index(name))
                if not is_empty(column):
                    raise CallerError(f"{name} is {type_}; {wanted(type_, COLUMNS[name])}")

    # ------------------------------------------------------------ reading

    def __iter__(self) -> Iterator[Line]:
        batch, self._first = self._first, None
        while batch is not None:
            for start in range(0, batch.num_rows, _ROWS):  # a frame may come as one batch
                yield from self._lines(batch.slice(start, _ROWS))
            try:
                batch = next(self._batches, None)
            except (pa.ArrowException, OSError) as error:
                number = self._read + 1
                yield Line(number, b"", f"the table can't be read from here on: {error}")
                return

    def _lines(self, batch: pa.RecordBatch) -> Iterator[Line]:
        columns: dict[str, list[Any]] = {}
        if "event" not in batch.schema.names:
            columns["event"] = ["claim"] * batch.num_rows
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            form = COLUMNS.get(name)
            if form is None or name == POSITION or array.null_count == len(array):
                continue
            if fits(array.type, form):
                columns[name] = cells(array, form, self._json)
            elif not is_empty(array):
                columns[name] = misfits(array, f"is {array.type}; {wanted(array.type, form)}")
        for at in range(batch.num_rows):
            self._read += 1
            said = {name: column[at] for name, column in columns.items()}
            yield line_of(self._read, {k: v for k, v in said.items() if v is not None})
