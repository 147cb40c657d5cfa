"""Commands for exchange lines: in, out, and those that were set aside."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, say, table
from doxa.adapters.exchange import ImportReport, exported
from doxa.adapters.exchange import set_aside as lines_set_aside
from doxa.adapters.exchange.lines import Lines, fields_of
from doxa.engine import times
from doxa.engine.errors import CallerError, DoxaError
from doxa.ledger import Ledger

__all__ = ["add_to"]

File = Annotated[str, typer.Argument(metavar="FILE", help="Exchange lines, gzip too; - is stdin.")]


def append(
    path: opt.Path,
    file: File,
    expected_revision: opt.ExpectedRevision = None,
    recorded_at: opt.RecordedAt = None,
    override: opt.Override = None,
    as_json: opt.AsJson = False,
) -> None:
    """Append a file in one commit, or nothing; prints the ids."""
    events = opt.read_lines(file)
    done = opt.record(
        path,
        lambda ledger: ledger.append(
            events,
            expected_revision=expected_revision,
            recorded_at=recorded_at,
            override=opt.override(override),
        ),
    )
    if as_json:
        told = asdict(done)
        told["recorded_at"] = times.iso(times.instant(done.recorded_at))
        document(told)
    else:
        for id in done.ids:
            say(id)
        note(f"{done.new} new, {done.repeated} repeated; revision {done.revision}")


def import_(
    path: opt.Path,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Exchange lines, gzip too, or a Parquet file; - is stdin."
        ),
    ],
    restamp: Annotated[
        bool, typer.Option("--restamp", help="Record lines whose time steps back all the same.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing at all if one line is bad.")
    ] = False,
    workspace: Annotated[
        str | None, typer.Option(help="The workspace of lines that name none.")
    ] = None,
    json_objects: Annotated[
        bool | None,
        typer.Option(
            "--json-objects/--text-objects",
            help="What text in the column object of a Parquet file is; left out, it is JSON text "
            "where there is a column event.",
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> int:
    """Import exchange lines, or the rows of a Parquet file, in order.

    Exit 1 if lines were set aside or kept out. Bad lines stop nothing: they are set aside with
    their numbers and reasons; those that say a rejected value are kept out. Safe to repeat and to
    resume.
    """
    lines = opt.given(file)  # before a ledger is made for it
    carry: Callable[..., ImportReport] = Ledger.import_events
    if isinstance(lines, str):
        from doxa.adapters.tables import import_table, is_parquet

        if is_parquet(lines):
            carry = partial(import_table, json_objects=json_objects)
    if json_objects is not None and carry is Ledger.import_events:
        raise CallerError("--json-objects and --text-objects are about Parquet files alone")
    if isinstance(lines, str) and carry is Ledger.import_events and not os.path.exists(path):
        _check_lines(lines)
    try:
        with opt.writing(path) as ledger, progress("import") as told:
            report = carry(
                ledger, lines, restamp=restamp, strict=strict, workspace=workspace, progress=told
            )
    except KeyboardInterrupt:
        note("interrupted; what went in is whole commits: run the same import again to go on")
        raise
    if as_json:
        document(asdict(report))
    else:
        if report.set_aside:
            table(("line", "reason"), [(kept.line, kept.reason) for kept in report.set_aside])
        if report.blocked:
            columns = ("line", "id", "kept out by")
            table(columns, [(k.line, k.id, ", ".join(k.rejections)) for k in report.blocked])
        note(
            f"{counted(report.events, 'event')} in {counted(report.commits, 'commit')}, "
            f"{report.repeated} repeated, "
            f"{len(report.set_aside)} set aside"
            + (f", {len(report.blocked)} kept out" if report.blocked else "")
        )
    return NO if report.set_aside or report.blocked else DONE


def _check_lines(file: str) -> None:
    """Raises `CallerError` for a file of which no line can be read at all: it makes no ledger."""
    first = None
    for line in Lines(file):
        if line.blank:
            continue
        try:
            fields_of(line)
        except DoxaError as error:
            first = first or f"line {line.number}: {error}"
        else:
            return
    if first is None:
        return
    kind = "CSV" if file.lower().endswith((".csv", ".tsv")) else "no exchange file"
    step = (
        "its rows are carried in from a data frame (docs/tables.md) or, with their history, from "
        "Git (doxa import-git)"
        if kind == "CSV"
        else "one has a JSON object a line (docs/exchange.md)"
    )
    raise CallerError(
        f"{file} is {kind}, so nothing was imported and no ledger was made: {step}; {first}"
    )


def export(
    path: opt.Path,
    workspace: Annotated[
        str | None, typer.Option(help="This workspace's events only; left out, all.")
    ] = None,
    since: Annotated[int, typer.Option(help="Begin after this position of the log.")] = 0,
    limit: Annotated[int | None, typer.Option(help="At most so many lines.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON document, with the cursor to go on from.")
    ] = False,
    parquet: Annotated[
        str | None,
        typer.Option(help="Write the tables as Parquet files into this folder.", metavar="DIR"),
    ] = None,
    events_parquet: Annotated[
        str | None,
        typer.Option(help="Write the events into this Parquet file instead.", metavar="FILE"),
    ] = None,
) -> None:
    """Export exchange lines, in stream order.

    Or, with --events-parquet, the same events as a Parquet file, a column a key; with --parquet,
    the tables of what was believed, for other engines.
    """
    if events_parquet is not None:
        if parquet is not None:
            raise CallerError("give one of --parquet and --events-parquet")
        _export_events(path, events_parquet, workspace, since, limit, as_json)
        return
    if parquet is not None:
        if workspace is not None or since or limit is not None:
            raise CallerError("--parquet writes all tables whole; leave the other options out")
        _export_tables(path, parquet, as_json)
        return
    cursor, count = since, 0
    with opt.reading(path) as ledger:
        if as_json:
            sys.stdout.write('{"events":[')
        for item in exported(ledger, workspace=workspace, since=since, limit=limit):
            if as_json:
                sys.stdout.write("," * (count > 0) + item.line)
            else:
                print(item.line)
            cursor, count = item.position, count + 1
    if as_json:
        print(f'],"cursor":{cursor}}}')
    elif limit is not None:
        note(f"{counted(count, 'event')}; go on with --since {cursor}")


def _export_tables(path: str, folder: str, as_json: bool) -> None:
    with opt.reading(path) as ledger, progress("export") as told:
        rows = ledger.export_parquet(folder, progress=told)
    if as_json:
        document({"folder": folder, "rows": rows})
    else:
        table(("table", "rows"), rows.items())
        note(f"{counted(len(rows), 'table')} in {folder}")


def _export_events(
    path: str, file: str, workspace: str | None, since: int, limit: int | None, as_json: bool
) -> None:
    from doxa.adapters.tables import write_parquet

    with opt.reading(path) as ledger, progress("export") as told:
        done = write_parquet(
            ledger, file, workspace=workspace, since=since, limit=limit, progress=told
        )
    if as_json:
        document({"file": file, "events": done.events, "cursor": done.position})
    else:
        more = f"; go on with --since {done.position}" if limit is not None else ""
        note(f"{counted(done.events, 'event')} in {file}{more}")


def set_aside(
    path: opt.Path,
    text: Annotated[
        bool, typer.Option("--text", help="The lines alone, to be mended and imported again.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the lines that imports have set aside.

    Those that have gone in since are no longer among them.
    """
    with opt.reading(path) as ledger:
        kept = lines_set_aside(ledger)
    if as_json:
        document([asdict(line) for line in kept])
    elif text:
        for line in kept:
            say(line.text)
    else:
        columns = ("file", "line", "id", "reason", "set aside at")
        table(columns, [(k.file, k.line, k.id, k.reason, k.set_aside_at) for k in kept])


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(append)
    app.command("import")(import_)
    app.command()(export)
    app.command("set-aside")(set_aside)
