"""The command that carries an index of another tool into a ledger."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

import doxa
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, table
from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    from doxa.adapters.graphrag.outcome import IndexImport
    from doxa.adapters.graphrag.tables import Remark
    from doxa.adapters.graphrag.words import Vocabulary

__all__ = ["add_to"]


def import_graphrag(
    path: opt.Path,
    folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="Where the index's tables are; or its project, or its updates."
        ),
    ],
    index: Annotated[
        str | None,
        typer.Option(help="What the index is called; left out, as the project's folder."),
    ] = None,
    dates: Annotated[
        str,
        typer.Option(
            help="What the dates of claims mean. observed: when their evidence was seen; valid: "
            "from when until when they apply; ignore: nothing."
        ),
    ] = "observed",
    vocabulary: Annotated[
        str | None,
        typer.Option(help="Further words, as a JSON object in a file.", metavar="FILE"),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Go on though the folder has nothing of what was imported under this name, or "
            "lacks documents: what it lacks is withdrawn. Else that is refused, as it may be "
            "another index.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
    ] = False,
    workspace: opt.Workspace = "",
    recorded_at: Annotated[
        str | None,
        typer.Option(
            help="When it became known: a time, or folder: as the folders of updates are called. "
            "Left out: now.",
            metavar="TIME|folder",
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> int:
    """Import an index of Microsoft GraphRAG.

    Exit 1 if rows were set aside or kept out. Safe to repeat: only what is new is recorded, and
    what rests on text units that are gone is withdrawn.
    """
    from doxa.adapters.graphrag.dates import checked_dates
    from doxa.adapters.graphrag.importing import prepare

    with progress("read") as told:
        ready = prepare(
            folder,
            index=index,
            workspace=workspace,
            recorded_at=recorded_at,
            dates=checked_dates(dates),
            vocabulary=_words(vocabulary),
            replace=replace,
            progress=told,
        )
    # a dry run makes no folder
    with doxa.open() if dry_run and not os.path.exists(path) else opt.writing(path) as ledger:
        done = ready.into(ledger, dry_run=dry_run)
    if as_json:
        document(done.as_dict())
    else:
        _tell(done)
        _tell_way_back(path, done)
    return NO if done.set_aside or done.kept_out else DONE


def _words(path: str | None) -> Vocabulary:
    """The vocabulary, with what a file adds."""
    from doxa.adapters.graphrag.words import VOCABULARY

    if path is None:
        return VOCABULARY
    try:
        with open(path, encoding="utf-8") as file:
            more = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CallerError(f"no vocabulary can be read from {path!r}: {error}") from None
    if not isinstance(more, dict):
        raise CallerError(f"{path!r} holds no JSON object of words, but {more!r:.60}")
    return VOCABULARY.extended(more)


def _tell(done: IndexImport) -> None:
    rows = [(run.folder, kind, number) for run in done.runs for kind, number in run.kinds.items()]
    table(("folder", "event", "said"), rows)
    for title, remarks in {
        "set aside": done.set_aside,
        "kept out": done.kept_out,
        "unresolved": [one for run in done.runs for one in run.unresolved],
        "remark": [one for run in done.runs for one in run.remarks],
    }.items():
        _list(title, remarks)
    bound = [one for run in done.runs for one in run.bound]
    if bound:
        columns = ("report", "bound to its whole community, since")
        table(columns, [(one.number, "; ".join(one.reasons)) for one in bound])
    if done.documents:
        table(("document", "source"), [(title, id) for id, title in done.documents.items()])
    for run in done.runs:
        for missing in run.missing:
            note(f"{missing.table}: {missing.reason}")
    for said in done.notes:
        note(said)
    note(
        f"{done.index}: {counted(done.events, 'event')}"
        + (" to record" if done.dry_run else "")
        + f", {done.repeated} repeated, {len(done.withdrawn)} withdrawn, "
        f"{len(done.restored)} restored, {len(done.not_repeated)} not repeated, "
        f"{len(done.set_aside)} set aside"
        + (f", {len(done.kept_out)} kept out" if done.kept_out else "")
    )


def _tell_way_back(path: str, done: IndexImport) -> None:
    """How one of the documents would be withdrawn, to be copied."""
    if done.dry_run or not done.documents:
        return
    id, title = next(reversed(done.documents.items()))
    where = ["--workspace", done.workspace] if done.workspace else []
    line = ["doxa", "withdraw", path, id, "--whole-source", *where]
    note(f"to withdraw a document, such as {title!r:.80}: {shlex.join(line)}")


def _list(title: str, remarks: Iterable[Remark]) -> None:
    rows = [(one.table, one.row, one.number, one.reason, one.text) for one in remarks]
    if rows:
        table(("table", "row", "number", title, "text"), rows)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("import-graphrag")(import_graphrag)
