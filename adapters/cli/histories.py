"""The command that takes in the history of a file in Git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, cast

import typer

import doxa
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, table
from doxa.ledger import Ledger

if TYPE_CHECKING:
    from doxa.adapters.git import GitImport
    from doxa.adapters.git.settings import Empty, Format, Types, Valid

__all__ = ["add_to"]


def import_git_history(
    path: opt.Path,
    repository: Annotated[str, typer.Argument(metavar="REPO", help="The repository's folder.")],
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, from the repository's root.")
    ],
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="The column that names what a row is about; repeat for several. Needed for CSV, "
            "TSV and lists of records; a mapping in JSON, YAML or TOML names its records itself."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name under which it goes on; left out, the paths.")
    ] = None,
    ref: Annotated[str, typer.Option(help="A branch, a tag or a commit.")] = "HEAD",
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, json, yaml or toml; left out, by the file's name.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What parts the fields of a CSV file; left out, a comma.")
    ] = None,
    records: Annotated[
        str,
        typer.Option(help="Where the records lie, in JSON, YAML or TOML.", metavar="POINTER"),
    ] = "",
    types: Annotated[
        str, typer.Option(help="text, or infer: plain numbers, true and false, cell by cell.")
    ] = "text",
    empty: Annotated[
        str, typer.Option(help="What an empty CSV cell is: none (no claim), null, or text.")
    ] = "none",
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be repeated.", metavar="COLUMN"),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Before each key, where keys of files mean different things.")
    ] = "",
    valid: Annotated[
        str,
        typer.Option(
            help="Since when a value applies, where no column says it. unknown: a new value was "
            "right all along; commit: it applies from the author's date on, and the old one until "
            "then, as in a price list."
        ),
    ] = "unknown",
    valid_from: Annotated[
        str | None,
        typer.Option(
            help="The column since when a row applies. A row in place of another says that the "
            "other was wrong: keep the old row for a value that was so before.",
            metavar="COLUMN",
        ),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(help="The column until when it applies, exclusive.", metavar="COLUMN"),
    ] = None,
    valid_until: Annotated[
        str | None, typer.Option(help="The column of its last day, inclusive.", metavar="COLUMN")
    ] = None,
    follow: Annotated[bool, typer.Option(help="Follow renames.")] = True,
    rewritten: Annotated[
        bool,
        typer.Option("--rewritten", help="Record a rewritten history as corrections, from now on."),
    ] = False,
    shallow: Annotated[
        bool, typer.Option("--shallow", help="Let the history begin where a shallow clone does.")
    ] = False,
    workspace: opt.Workspace = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Import the history of a file in Git, and later what is new.

    Each commit on the line of first parents is a time of knowledge; a cell that changes is a
    correction, one that vanishes a withdrawal. Exit 1 if versions were set aside, or cells kept
    out.
    """

    from doxa.adapters.git import import_git

    def call(ledger: Ledger, dry: bool) -> GitImport:
        with progress("import-git") as told:
            return import_git(
                ledger,
                repository,
                paths,
                key=key or (),
                name=name,
                ref=ref,
                format=cast("Format | None", format),
                delimiter=delimiter,
                records=records,
                types=cast("Types", types),
                empty=cast("Empty", empty),
                ignore=ignore or (),
                prefix=prefix,
                valid=cast("Valid", valid),
                valid_from=valid_from,
                valid_to=valid_to,
                valid_until=valid_until,
                follow=follow,
                rewritten=rewritten,
                shallow=shallow,
                workspace=workspace,
                dry_run=dry,
                progress=told,
            )

    if not os.path.exists(path):  # what is refused makes no folder
        with doxa.open() as nothing:
            done = call(nothing, True)
    if dry_run and os.path.exists(path):
        with opt.reading(path) as ledger:
            done = call(ledger, True)
    elif not dry_run:
        try:
            with opt.writing(path) as ledger:
                done = call(ledger, False)
        except KeyboardInterrupt:
            note("interrupted; what went in is whole commits: run the same again to go on")
            raise
    if as_json:
        document(done.as_dict())
    else:
        _tell(done)
    return NO if done.set_aside or done.kept_out else DONE


def _tell(done: GitImport) -> None:
    if done.set_aside:
        columns = ("commit", "path", "reason")
        table(columns, [(each.commit[:12], each.path, each.reason) for each in done.set_aside])
    for cell in done.kept_out:
        note(str(cell))
    since = "" if done.resumed_from is None else f" after {done.resumed_from[:12]}"
    stamped = f", {counted(done.restamped, 'commit')} restamped" if done.restamped else ""
    dry = ", nothing written" if done.dry_run else ""
    note(
        f"{done.name}: {counted(done.seen, 'commit')}{since}, {done.written} with changes: "
        f"{counted(done.added, 'cell')} added, {done.corrected} corrected, "
        f"{done.withdrawn} withdrawn{stamped}{dry}"
    )


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("import-git")(import_git_history)
