"""The command that destroys keys of an encrypted ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, say, table

__all__ = ["add_to"]


def destroy_key(
    path: opt.Path,
    subject: Annotated[
        str | None, typer.Argument(metavar="SUBJECT", help="Whose key it is.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            help="In place of a subject, an event that has a key of its own.", metavar="ID"
        ),
    ] = None,
    workspace: opt.Workspace = "",
    force: Annotated[
        bool, typer.Option("--force", help="Archive and erase what it still protects as well.")
    ] = False,
    reason: opt.Reason = None,
    id: opt.Id = None,
    recorded_at: opt.RecordedAt = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what it protects, and write nothing.")
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Destroy the key of a subject; prints its id.

    No copy of the log says anything of the subject then. Purge first: exit 2 while the key protects
    what was not erased. Exit 1 where old bytes are still held by a reader.
    """
    with opt.reading(path) as ledger:
        done = ledger.destroy_key(
            subject,
            event=event,
            workspace=workspace,
            force=force,
            reason=reason,
            id=id,
            recorded_at=recorded_at,
            dry_run=dry_run,
        )
    if as_json:
        document(done.as_dict())
    elif dry_run:
        table(("workspace", "id", "kind", "position", "bytes"), done.protected)
        note(f"{counted(len(done.protected), 'event')} encrypted with the key {done.key}")
    else:
        say(done.key)
        note(f"destroyed, and {counted(len(done.protected), 'event')} erased with it")
        for each in done.unreachable:
            note(f"out of reach: {each}")
    pending = None if done.purged is None else done.purged.pending
    if pending is not None and not as_json:
        note(f"pending: {pending}")
    return DONE if pending is None else NO


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("destroy-key")(destroy_key)
