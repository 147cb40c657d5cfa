"""The tables of a ledger as Parquet files, for any engine and for long keeping.

The files are written into a folder beside the one that is asked for, which then takes its place: it
is there whole, or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from doxa.engine import times
from doxa.engine.belief import Belief
from doxa.engine.errors import CallerError, StorageError
from doxa.projections.segments import Progress, chunks
from doxa.projections.tables import TABLES

__all__ = ["export_parquet"]

ABOUT: Final = "about.json"
README: Final = "README.md"
_FORMAT: Final = "doxa tables"
_GROUP: Final = 131_072  # rows of a row group
_FILES: Final = {ABOUT, README, *(f"{name}.parquet" for name in TABLES)}

_WORDS: Final = """\
# Tables of a doxa ledger

Ledger `{ledger}`, up to position {position} of its log, recorded at {recorded_at}. One Parquet file
a table; `about.json` says the same for programs.

What was believed about a day, as known on another, are four comparisons:

```sql
SELECT subject, predicate, object, standing
FROM 'beliefs.parquet'
WHERE valid_from <= 1719792000000000 AND 1719792000000000 < valid_to       -- 2024-07-01
  AND known_from_at <= 1717977600000000 AND 1717977600000000 < known_to_at -- 2024-06-10
  AND standing IN ('reported', 'corroborated', 'contested');               -- what is held
```

All times are whole numbers: microseconds since 1970-01-01 in UTC, or, in `known_from` and
`known_to`, positions of the log. An open start is -9223372036854775808, an open end
9223372036854775807. An interval begins with its start and ends before its end. `object` is JSON
text. `position` is unique over all workspaces where ids are not: join by it.
"""


def export_parquet(
    belief: Belief,
    upto: int,
    chain: str,
    ledger: str,
    folder: str | os.PathLike[str],
    progress: Progress | None = None,
) -> dict[str, int]:
    """Writes all tables up to the end of a commit; how many rows each has. See
    `Ledger.export_parquet`."""
    target = Path(os.path.realpath(folder))
    _check(target)
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
        rows = _write(made, belief, upto, progress)
        about = {
            "format": _FORMAT,
            "version": 1,
            "ledger": ledger,
            "position": upto,
            "recorded_at": times.iso(belief.graph.recorded_of(upto)) if upto else None,
            "chain": chain,
            "rows": rows,
        }
        (made / ABOUT).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        (made / README).write_text(_WORDS.format(**about), "utf-8")
        _put(made, target)
    except OSError as error:
        raise StorageError(f"{target} can't be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return rows


def _check(target: Path) -> None:
    """Raises `CallerError` where the folder holds anything that is not an export's."""
    try:
        found = {entry.name for entry in target.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise CallerError(f"{target} is no folder that can be used: {error.strerror}") from None
    if found and not _ours(target, found):
        strange = ", ".join(sorted(found - _FILES)[:3]) or "files"
        raise CallerError(
            f"{target} holds {strange} and is no earlier export; give a new or empty folder"
        )


def _ours(target: Path, found: set[str]) -> bool:
    with contextlib.suppress(OSError, ValueError):
        about = json.loads((target / ABOUT).read_text("utf-8"))
        return found <= _FILES and isinstance(about, dict) and about.get("format") == _FORMAT
    return False


def _write(folder: Path, belief: Belief, upto: int, progress: Progress | None) -> dict[str, int]:
    parts = list(chunks(belief, 0, upto))
    rows: dict[str, int] = {}
    for number, (name, table) in enumerate(TABLES.items()):
        path = folder / f"{name}.parquet"
        with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
            rows[name] = 0
            for place, (low, high) in enumerate(parts, 1):
                part = table.added(belief, low, high, upto)
                writer.write_table(part, row_group_size=_GROUP)
                rows[name] += part.num_rows
                if progress is not None:
                    progress(number * len(parts) + place, len(TABLES) * len(parts))
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    return rows


def _put(made: Path, target: Path) -> None:
    """Puts a folder in the place of another, which is an earlier export, or empty, or not there."""
    old = made.with_name(made.name + ".old")
    there = target.exists()
    if there:
        target.rename(old)
    try:
        made.rename(target)
    except OSError:
        if there:
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
