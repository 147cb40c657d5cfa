"""Commands for auditors: heads to keep elsewhere, what happened to one thing, copies."""

from __future__ import annotations

import json
import os
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

import doxa
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import counted, document, note, progress, say, table
from doxa.engine.errors import CallerError, WrongKeys
from doxa.places import LOG

if TYPE_CHECKING:
    from doxa.engine.copies import Backup

__all__ = ["Against", "Key", "add_to", "kept"]

Against = Annotated[
    list[str] | None,
    typer.Option(
        help="What was kept of the log: a file with heads or receipts, as JSON or a line each, or "
        "a head as text; may be repeated.",
        metavar="FILE|HEAD",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(help="The file of the public key that heads are signed with.", metavar="FILE"),
]


def head(
    path: opt.Path,
    sign: Annotated[
        str | None,
        typer.Option(help="Sign it with the private key in this file.", metavar="KEY"),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Print where the log ends, to be kept elsewhere.

    As POSITION:CHAIN; signed, or with --json, as a JSON object. Later, verify --against shows
    whether the log is still the one that it was.
    """
    with opt.reading(path) as ledger:
        found = ledger.head(sign=sign)
    if as_json or sign is not None:
        document(found.as_dict())
    else:
        say(str(found))


def keygen(
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="Where the private key goes; the public one: KEY.pub."),
    ],
    as_json: opt.AsJson = False,
) -> None:
    """Make a pair of keys for signing heads.

    The private key is readable by its owner alone. Nothing is overwritten, and no key is put into a
    ledger's folder.
    """
    private, public = doxa.keygen(key)
    if as_json:
        document({"private": str(private), "public": str(public)})
    else:
        say(str(private))
        say(str(public))
        note("keep the first to yourself; give the second to whoever shall check your heads")


def check_head(
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The file of a signed head.")],
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="The file of the public key of who signed it.")
    ],
    as_json: opt.AsJson = False,
) -> None:
    """Check who signed a head.

    Without the ledger; verify --against --key checks the ledger too.
    """
    every = _in_file(head)
    found = [doxa.check_head(each, key) for each in every]
    if as_json:
        document([each.as_dict() for each in found] if len(found) > 1 else found[0].as_dict())
        return
    for each in found:
        say(str(each))
        note(f"of ledger {each.ledger}, signed with the key {each.key}")


def audit(
    path: opt.Path,
    id: Annotated[str, typer.Argument(metavar="ID", help="A claim, an artefact or another event.")],
    workspace: opt.Workspace = "",
    as_json: opt.AsJson = False,
) -> None:
    """List what happened to one thing.

    In order of knowledge: what was recorded of it, and what it came to be worth, by which event.
    """
    with opt.reading(path) as ledger:
        found = ledger.audit(id, workspace=workspace)
    if as_json:
        document(found.as_dict())
        return
    columns = ("recorded_at", "position", "event", "what", "detail")
    table(columns, [[item[column] for column in columns] for item in found.as_dict()["entries"]])
    note(f"{len(found)} told of {found.kind} {found.id}")


def backup(
    path: opt.Path,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The folder of the backup, which is made.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of an earlier backup.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Copy the log while others go on recording.

    Into a new folder, with a manifest; verified, and there whole or not at all. recover restores
    it.
    """
    try:
        with opt.reading(path) as ledger, progress("backup") as told:
            made = ledger.backup(target, replace=replace, progress=told)
    except WrongKeys:
        if opt.keys() is not None:
            raise
        made = _copied(path, target, replace)  # an encrypted log is copied without its keys
    if as_json:
        document({"path": str(made.path), **made.as_dict()})
    else:
        say(f"{made.position}:{made.chain}")
        note(f"{counted(made.events, 'event')}, {made.bytes:,} bytes in {made.path}")


def _copied(path: str, target: str, replace: bool) -> Backup:
    from doxa.engine.copies import make
    from doxa.engine.store import LogStore

    with (
        LogStore.open(FilePath(path) / LOG, create=False) as store,
        progress("backup") as told,
    ):
        return make(store, FilePath(target), replace=replace, told=told)


def recover(
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="The folder of the backup.")],
    path: Annotated[str, typer.Argument(metavar="LEDGER", help="A new or empty folder.")],
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace the same ledger, with what was recorded in it since the backup.",
        ),
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Restore a ledger from a backup.

    The backup is verified before anything is touched. What was erased since it was taken is erased
    again.
    """
    with progress("recover") as told:
        made = doxa.restore_backup(backup, path, replace=replace, progress=told)
    if as_json:
        document(made.as_dict())
        return
    say(f"{made.position}:{made.chain}")
    note(f"{counted(made.events, 'event')} in {made.path}")
    for id in made.erased_again:
        note(f"erased again: {id}")
    if made.replaced is not None:
        note(f"it took the place of a log that ended at {made.replaced}")


def kept(given: list[str] | None) -> list[Any] | None:
    """What the --against options give: heads as text, and what is in files."""
    if not given:
        return None
    found: list[Any] = []
    for text in given:
        if text != "-" and not os.path.exists(text):
            position, _, chain = text.partition(":")
            if not (position.isdecimal() and chain):
                raise CallerError(
                    f"--against {text!r:.80}: there is no such file, and it is no head as text "
                    "(POSITION:CHAIN)"
                )
            found.append(text)
        else:
            found += _in_file(text)
    return found


def _in_file(path: str) -> list[Any]:
    """The heads and receipts in a file: one JSON document, or one of them or a text a line."""
    lines = opt.read_texts(path)
    if not lines:
        raise CallerError(f"{path} is empty; it should hold a head or a receipt")
    try:
        whole = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return [_line(path, line) for line in lines]
    return whole if isinstance(whole, list) else [whole]


def _line(path: str, line: str) -> Any:
    text = line.strip()
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{path} holds what is not JSON: {error}") from None


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (audit, head, keygen, backup, recover):
        app.command()(command)
    app.command("check-head")(check_head)
