"""Where an index lies: the folder of one run, or those of its updates, in the order of time.

``graphrag update`` keeps, in ``update_output/<local time>/``, the tables from before (``previous``)
and those of the new documents (``delta``), and then merges both into ``output``. The merge gives
the delta's rows other numbers and leaves the texts of its reports as they are, so that their
citations point elsewhere: where the parts are still there, they are read in place of what was
merged.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from doxa.adapters.graphrag.tables import checked_folder, read_tables, tables_in
from doxa.engine.errors import CallerError

__all__ = ["Run", "index_name", "runs_in"]

_STAMP: Final = re.compile(r"\d{8}-\d{6}")
_UPDATES: Final = "update_output"
# Folders that graphrag makes in every project: they name no index.
_OWN: Final = {"output", _UPDATES, "previous", "delta", "artifacts"}


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of one run. ``complete``: with the runs after it, it is the whole index as it is
    now, so that what is not there has gone; an old state, or new documents alone, is not.
    ``at``: when the update began, which the name of its folder says in local time."""

    folder: Path
    complete: bool = True
    at: datetime | None = None


def index_name(folder: str | os.PathLike[str]) -> str:
    """What an index is called where nobody says it: the name of its project's folder, that is the
    last one on the path which graphrag does not make itself.

    >>> index_name("carol/output"), index_name("carol/update_output/20260131-090000/delta")
    ('carol', 'carol')
    """
    for part in reversed(Path(os.path.abspath(checked_folder(folder))).parts):
        if part not in _OWN and not re.fullmatch(r"\d{8}-\d{4,6}", part) and part != os.sep:
            return part
    raise CallerError(f"no name for the index in {os.fspath(folder)!r}; give one (index)")


def runs_in(folder: str | os.PathLike[str]) -> tuple[list[Run], list[str]]:
    """The runs to be imported for a folder, oldest first, and what is to be said about them."""
    place = checked_folder(folder)
    if _indexed(place):
        return _with_updates(place)
    if _stamped(place):
        return _update(place), []
    if stamps := _stamps(place):
        return _updates(stamps), []
    for inner in (place / "output", place / "artifacts"):
        if _indexed(inner):
            return _with_updates(inner)
    if stamps := _stamps(place / _UPDATES):
        return _updates(stamps), []
    return [Run(place)], []  # its reading says what is wrong


def _indexed(place: Path) -> bool:
    return bool(set(tables_in(place)) - {"documents"})


def _stamped(place: Path) -> bool:
    """Whether a folder is that of one update."""
    return bool(_STAMP.fullmatch(Path(os.path.abspath(place)).name)) and any(
        _indexed(place / part) for part in ("previous", "delta")
    )


def _stamps(place: Path) -> list[Path]:
    """The folders of updates, oldest first."""
    return sorted(p for p in place.iterdir() if _stamped(p)) if place.is_dir() else []


def _updates(stamps: list[Path]) -> list[Run]:
    """The runs of all updates: together the whole index, where the first has what was before."""
    runs = [run for stamp in stamps for run in _update(stamp)]
    if runs and runs[0].folder.name == "previous":
        runs[0] = replace(runs[0], complete=True)
    return runs


def _update(stamp: Path) -> list[Run]:
    """The runs of one update. What was there before is a run of its own only for the first: later
    ones found what those before had merged."""
    place = Path(os.path.abspath(stamp))
    at = _local(place.name)
    earlier = [p for p in _stamps(place.parent) if p.name < place.name]
    parts = ("delta",) if earlier else ("previous", "delta")
    return [Run(stamp / part, complete=False, at=at) for part in parts if _indexed(stamp / part)]


def _local(name: str) -> datetime | None:
    try:
        return datetime.strptime(name, "%Y%m%d-%H%M%S").astimezone(UTC)
    except ValueError:
        return None


def _with_updates(place: Path) -> tuple[list[Run], list[str]]:
    """The run in a folder that holds tables; or, where that was merged by updates, their parts."""
    where = Path(os.path.abspath(place))
    if where.name in ("previous", "delta") and _STAMP.fullmatch(where.parent.name):
        alone = Run(place, complete=False, at=_local(where.parent.name))
        if where.name == "delta":
            return [alone], []
        before = [p for p in _stamps(where.parent.parent) if p.name < where.parent.name]
        runs, notes = _parts(place, before, alone)
        return [replace(run, complete=False) for run in runs], notes
    return _parts(place, _stamps(where.parent / _UPDATES), Run(place))


def _parts(place: Path, stamps: list[Path], alone: Run) -> tuple[list[Run], list[str]]:
    if not stamps:
        return [alone], []
    runs = _updates(stamps)
    if not _merged(place, runs):
        return [alone], [f"{place} was made anew since the updates in {stamps[0].parent}"]
    return runs, [
        f"{place} was merged by updates, which gives rows other numbers than its reports cite: "
        f"their parts are read instead, from {stamps[0].parent}"
    ]


def _merged(place: Path, runs: list[Run]) -> bool:
    """Whether tables were merged from those of these runs: ids of rows are new in every run, and
    kept by a merge."""
    ids = _ids(place)
    return any(ids & _ids(run.folder) for run in runs)


def _ids(place: Path) -> set[str]:
    tables = read_tables(place)
    rows = (*tables.entities, *tables.relationships)
    return {row.id for row in rows if row.id is not None}
