"""The command for SQL: a query over the ledger's tables, shown or given on."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import counted, document, note, table
from doxa.engine.errors import CallerError
from doxa.querying import Result

__all__ = ["add_to"]


def sql(
    path: opt.Path,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="One SELECT, in DuckDB's SQL; - is stdin.")
    ],
    params: Annotated[
        str | None,
        typer.Option(
            help="Values for ? as a JSON list, or for $name as a JSON object.", metavar="JSON"
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a row, each on a line.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV, with a line of names.")] = False,
    parquet: Annotated[
        str | None, typer.Option(help="Write the rows into this Parquet file.", metavar="FILE")
    ] = None,
) -> None:
    """Query the ledger's tables in SQL.

    They are beliefs, claims, supports, corrections, withdrawals, artefacts and events.
    """
    if as_json + as_csv + (parquet is not None) > 1:
        raise CallerError("give one of --json, --csv and --parquet")
    given = _params(params)
    text = sys.stdin.read() if query == "-" else query
    with opt.reading(path) as ledger:
        result = ledger.sql(text, given)
    if parquet is not None:
        _write(result, parquet)
        note(f"{counted(len(result), 'row')} in {parquet}")
    elif as_json:
        for row in result:
            document(dict(zip(result.columns, map(_json, row), strict=True)))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows([_cell(value) for value in row] for row in result)
    else:
        table(result.columns, [[_json(value) for value in row] for row in result])
        note(counted(len(result), "row"))


def _params(text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallerError(f"--params {text!r:.80} is not JSON: {error}") from None
    if not isinstance(found, list | dict):
        raise CallerError(f"--params {text!r:.80} is neither a JSON list nor an object")
    return found


def _json(value: Any) -> Any:
    """A value as JSON has it: what it has no form for, as text."""
    if isinstance(value, dict):
        return {str(name): _json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        return str(value)
    return value


def _cell(value: Any) -> Any:
    found = _json(value)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, list | dict) else found


def _write(result: Result, path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        pq.write_table(result.to_arrow(), temporary, compression="zstd")
        os.replace(temporary, path)
    except (OSError, pa.ArrowException) as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise CallerError(f"{path} can't be written: {error}") from None


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command()(sql)
