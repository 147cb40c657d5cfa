"""The command that erases records for good."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, table
from doxa.erasing import Purged

__all__ = ["add_to"]


def purge(
    path: opt.Path,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Archived claims, summaries and citations.")
    ],
    with_residue: Annotated[
        bool,
        typer.Option(
            "--with-residue", help="Erase texts and derived claims that declare them as well."
        ),
    ] = False,
    reason: opt.Reason = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be erased, and write nothing.")
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Erase the content of archived records for good.

    Ids, intervals and edges stay, and the chain still verifies. Exit 1 where old bytes are still
    held by a reader: repeat the command then.
    """
    with opt.reading(path) if dry_run else opt.writing(path) as ledger:
        done = ledger.purge(
            ids,
            with_residue=with_residue,
            reason=reason,
            workspace=workspace,
            id=id,
            recorded_at=recorded_at,
            dry_run=dry_run,
        )
    if as_json:
        document(done.as_dict())
    else:
        _show(done, dry_run)
    return DONE if done.pending is None else NO


def _show(done: Purged, dry_run: bool) -> None:
    table(
        ("workspace", "id", "kind", "position", "bytes", "what"),
        [
            *((*record, "erased") for record in done.erased),
            *((*record, "residue") for record in done.residue),
        ],
    )
    verb = "would be erased" if dry_run else "erased"
    note(f"{counted(len(done.erased), 'event')}, {done.bytes:,} bytes {verb}")
    if done.already:
        note(f"erased before: {', '.join(done.already)}")
    if done.residue:
        left = counted(len(done.residue), "record")
        note(f"residue: {left} with content that rests on what goes: --with-residue")
    for each in done.unreachable if done.erased else ():
        note(f"out of reach: {each}")
    if done.pending is not None:
        note(f"pending: {done.pending}")


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command()(purge)
