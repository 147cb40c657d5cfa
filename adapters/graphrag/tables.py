"""The tables of an index, read with pyarrow alone: Parquet or CSV, whatever version wrote them.

``graphrag`` itself is never imported. Tables that were not written, and columns that are missing,
are told of; a table without the columns that make it one is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from doxa.adapters.graphrag.cells import shown
from doxa.adapters.graphrag.rows import (
    NEEDED,
    Community,
    Covariate,
    Document,
    Entity,
    Relationship,
    Report,
    Row,
    TextUnit,
)
from doxa.engine.errors import CallerError

__all__ = ["TABLES", "Remark", "Tables", "checked_folder", "read_tables", "tables_in", "tables_of"]

TABLES: Final[Mapping[str, Callable[[int, Mapping[str, Any]], Row]]] = {
    "documents": Document.of,
    "text_units": TextUnit.of,
    "entities": Entity.of,
    "relationships": Relationship.of,
    "covariates": Covariate.of,
    "communities": Community.of,
    "community_reports": Report.of,
}
_OLD: Final = "create_final_"
_NODES: Final = "nodes"
# The columns that are read; embeddings and the like are left where they are.
_COLUMNS: Final = frozenset(
    {
        *("id", "human_readable_id", "title", "name", "text", "raw_content", "content", "chunk"),
        *("text_unit_id", "text_unit_ids", "text_units", "document_id", "document_ids"),
        *("entity_ids", "relationship_ids", "type", "description", "source", "source_id"),
        *("target", "subject", "subject_id", "object", "object_id", "status", "start_date"),
        *("end_date", "source_text", "community", "raw_community", "parent", "children"),
        *("summary", "full_content", "findings"),
    }
)


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a row of an index: where, and what. ``row`` is the place in its table, from
    0, and ``number`` what citations call it; both are `None` where it is about the table."""

    table: str
    row: int | None
    reason: str
    number: int | None = None
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The remark as a JSON object."""
        names = ("table", "row", "number", "reason", "text")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        where = self.table if self.row is None else f"{self.table} row {self.row}"
        return f"{where}: {self.reason}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of one run. ``missing`` says which tables and columns were not there."""

    documents: tuple[Document, ...] = ()
    text_units: tuple[TextUnit, ...] = ()
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    covariates: tuple[Covariate, ...] = ()
    communities: tuple[Community, ...] = ()
    community_reports: tuple[Report, ...] = ()
    present: frozenset[str] = frozenset()
    missing: tuple[Remark, ...] = ()

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a table, by its name."""
        found: Sequence[Row] = getattr(self, table)
        return found


# ---------------------------------------------------------------- from a folder


def checked_folder(folder: object) -> Path:
    """The path of a folder. Raises `CallerError` where it is none."""
    if not isinstance(folder, str | os.PathLike):
        raise CallerError(f"folder is {folder!r:.60}; give the path of the folder of an index")
    return Path(folder)


def tables_in(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """The tables of an index that lie in a folder, and their files; a link that leads nowhere is
    one that can't be read. Raises `CallerError`."""
    found: dict[str, Path] = {}
    place = checked_folder(folder)
    try:
        there = frozenset(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # told of where it is read
        there = frozenset()
    except OSError as error:
        raise CallerError(f"{shown(place)!r} can't be read: {error.strerror}") from None
    for table in (*TABLES, _NODES):
        for stem in (table, _OLD + table):
            for ending in (".parquet", ".csv"):
                path = place / (stem + ending)
                if table not in found and path.name in there:
                    found[table] = path
    return found


def read_tables(folder: str | os.PathLike[str]) -> Tables:
    """Reads the index in a folder. Raises `CallerError` where there is none, or where a table
    can't be read."""
    files = tables_in(folder)
    if not set(files) - {"documents"}:
        there = sorted(os.listdir(folder)) if Path(folder).is_dir() else None
        raise CallerError(
            f"{os.fspath(folder)!r} holds no index of graphrag: "
            + ("it is no folder" if there is None else f"it holds {shown(', '.join(there)) or '-'}")
            + "; name the folder with entities.parquet, text_units.parquet and the like "
            "(create_final_*.parquet in 0.x)"
        )
    return _made({table: _read(table, path) for table, path in files.items()})


def _read(table: str, path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns of a file, and its rows."""
    import pyarrow

    try:
        return (_csv if path.suffix == ".csv" else _parquet)(path)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CallerError(
            f"{table} can't be read from {str(path)!r}: {shown(str(error))}"
        ) from None


def _parquet(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """A file, or a folder of several that are its parts."""
    from pyarrow import parquet

    names: dict[str, None] = {}
    rows: list[dict[str, Any]] = []
    for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        with parquet.ParquetFile(part) as opened:
            there = opened.schema_arrow.names
            names |= dict.fromkeys(there)
            wanted = [name for name in there if name in _COLUMNS]
            rows += opened.read(columns=wanted).to_pylist()
    return list(names), rows


def _csv(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    import pyarrow
    from pyarrow import csv

    size = min(max(path.stat().st_size + 1, 1 << 20), (1 << 31) - 1)  # a row may be long
    parse = csv.ParseOptions(newlines_in_values=True)
    head = csv.open_csv(
        path, read_options=csv.ReadOptions(block_size=size), parse_options=parse
    ).schema.names
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(block_size=size),
        parse_options=parse,
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(head, pyarrow.string()),
            include_columns=[name for name in head if name in _COLUMNS],
        ),
    )
    return list(head), table.to_pylist()


# ---------------------------------------------------------------- from data frames


def tables_of(frames: Mapping[str, Any]) -> Tables:
    """The tables of an index that is in memory: a data frame (pandas or Polars), an Arrow table, or
    rows as mappings, for each name of a table; `None` for one that is not there."""
    if unknown := set(frames) - {*TABLES, _NODES}:
        raise CallerError(
            f"{min(unknown)!r:.60} is no table of an index; they are {', '.join(TABLES)}"
        )
    return _made({name: _rows(frame) for name, frame in frames.items() if frame is not None})


def _rows(frame: Any) -> tuple[list[str], list[dict[str, Any]]]:
    if hasattr(frame, "to_pylist"):  # Arrow
        columns = [name for name in frame.schema.names if name in _COLUMNS]
        return list(frame.schema.names), frame.select(columns).to_pylist()
    if hasattr(frame, "to_dicts"):  # Polars
        return list(frame.columns), frame.to_dicts()
    if hasattr(frame, "to_dict") and hasattr(frame, "reset_index"):  # pandas
        if set(getattr(frame.index, "names", ())) & _COLUMNS:
            frame = frame.reset_index()
        names = [str(name) for name in frame.columns]
        wanted = [name for name in dict.fromkeys(frame.columns) if name in _COLUMNS]
        return names, frame.loc[:, wanted].to_dict("records")
    rows = [dict(row) for row in frame]
    return list(dict.fromkeys(name for row in rows for name in row)), rows


# ---------------------------------------------------------------- rows


def _made(read: Mapping[str, tuple[list[str], list[dict[str, Any]]]]) -> Tables:
    missing = [Remark(table, None, "not there") for table in TABLES if table not in read]
    made: dict[str, tuple[Any, ...]] = {}
    for table, of in TABLES.items():
        if table in read:
            columns, rows = read[table]
            _check(table, columns)
            made[table] = tuple(of(place, row) for place, row in enumerate(rows))
    if _NODES in read:
        columns, rows = read[_NODES]
        _check("entities", columns, _NODES)
        nodes = [Entity.of(place, row) for place, row in enumerate(rows)]
        made["entities"] = _placed(made.get("entities"), nodes)
        missing = [remark for remark in missing if remark.table != "entities"]
    if "entities" in made:
        made["entities"] = tuple(_once(made["entities"]))
    return Tables(**made, present=frozenset(made), missing=tuple(missing))


def _check(table: str, columns: list[str], said: str | None = None) -> None:
    for names in NEEDED[table] if columns else ():  # without any there are no rows either
        if not set(names) & set(columns):
            raise CallerError(
                f"{said or table} has no column {' or '.join(names)}; its columns are "
                f"{shown(', '.join(columns))}: is it a table of graphrag?"
            )


def _placed(entities: Sequence[Entity] | None, nodes: list[Entity]) -> tuple[Entity, ...]:
    """Entities with the communities that the nodes of 0.x put them in. Where there is no table of
    entities, the nodes are it: one row a level."""
    if entities is None:
        return tuple(nodes)
    places: dict[str | None, list[int]] = {}
    for node in nodes:
        for key in {node.id, node.title} - {None}:
            places.setdefault(key, []).extend(node.places)
    return tuple(
        replace(e, places=tuple(dict.fromkeys([*places.get(e.id, ()), *places.get(e.title, ())])))
        for e in entities
    )


def _once(entities: Iterable[Entity]) -> Iterator[Entity]:
    """Entities that have the same id, title and number are one, in all their communities."""
    groups: dict[tuple[str | int | None, ...], list[Entity]] = {}
    for entity in entities:
        said = entity.id, entity.title, entity.number, entity.description
        groups.setdefault(said, []).append(entity)
    for one, *others in groups.values():
        if not others:
            yield one
            continue
        units = dict.fromkeys([*one.text_units, *(u for e in others for u in e.text_units)])
        places = dict.fromkeys([*one.places, *(p for e in others for p in e.places)])
        yield replace(one, text_units=tuple(units), places=tuple(places))
