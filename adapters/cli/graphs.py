"""Commands that carry in what LightRAG and Graphiti keep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

import doxa
from doxa.adapters.carrying import Aside, Progress
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, table
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger

__all__ = ["add_to"]

Name = Annotated[
    str, typer.Option(help="What it is called here; each store that is imported has its own.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
]


def import_lightrag(
    path: opt.Path,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The working_dir of a LightRAG.")],
    name: Name = "default",
    namespace: Annotated[
        str, typer.Option(help="LightRAG's own workspace: a folder in the working_dir.")
    ] = "",
    prefix: Annotated[str, typer.Option(help="What stands before the names of its files.")] = "",
    workspace: opt.Workspace = "",
    zone: Annotated[
        str | None,
        typer.Option(help="Where times without a zone are meant, such as Europe/Berlin."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Go on though the folder has nothing of what was imported under this name: all of "
            "that is withdrawn. Else that is refused, as it may be another store.",
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> int:
    """Import what a LightRAG keeps in its files, and withdraw what rested on chunks that are gone.

    Exit 1 if something was set aside. Safe to repeat: where nothing changed, nothing is written.
    """
    from doxa.adapters.lightrag import Imported, import_workspace

    def call(ledger: Ledger, dry: bool, told: Progress | None = None) -> Imported:
        return import_workspace(
            ledger,
            folder,
            name=name,
            namespace=namespace,
            prefix=prefix,
            workspace=workspace,
            zone=_zone(zone),
            replace=replace,
            dry_run=dry,
            progress=told,
        )

    done = _carried(path, call, dry_run)
    if as_json:
        document(done.as_dict())
    else:
        if done.withdrawn:
            columns = ("subject", "predicate", "object", "is now", "without", "chunk")
            table(
                columns,
                [
                    (g.subject, g.predicate, g.object, g.standing, g.source, g.chunk)
                    for g in done.withdrawn
                ],
            )
        _tell(
            done.set_aside,
            f"{counted(done.claims, 'claim')}, {counted(done.supports, 'support')} and "
            f"{counted(done.summaries, 'description')} new; "
            f"{counted(len(done.withdrawn), 'support')} withdrawn, {done.restored} restored, "
            f"{counted(done.replaced, 'description')} replaced, {done.not_repeated} not repeated",
            done.dry_run,
        )
    return NO if done.set_aside else DONE


def import_graphiti(
    path: opt.Path,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='JSON: an object with "nodes", "edges", "episodes" and so on as model_dump gives '
            "them, the results of add_episode, or a list of these; - is stdin.",
        ),
    ],
    name: Name = "default",
    group: Annotated[
        list[str] | None,
        typer.Option(help="Of this group only; may be repeated. Left out, of all.", metavar="ID"),
    ] = None,
    workspace: opt.Workspace = "",
    undated: Annotated[
        str,
        typer.Option(
            help="From when on an edge without valid_at holds: always, or reference_time.",
        ),
    ] = "always",
    complete: Annotated[
        bool,
        typer.Option("--complete", help="It is the whole graph: withdraw what it lacks."),
    ] = False,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> int:
    """Import a graph of Graphiti: edges as claims, invalidated ones as corrections.

    Exit 1 if something was set aside. Safe to repeat; what the graph has overwritten since is
    recorded as a correction.
    """
    from doxa.adapters.graphiti import Recorded, import_graph

    given = _json(file)

    def call(ledger: Ledger, dry: bool, told: Progress | None = None) -> Recorded:
        return import_graph(
            ledger,
            given,
            name=name,
            workspace=workspace,
            group_ids=group,
            undated=undated,  # type: ignore[arg-type]  # anything else is refused there
            complete=complete,
            dry_run=dry,
            progress=told,
        )

    done = _carried(path, call, dry_run)
    if as_json:
        document(done.as_dict())
    else:
        _tell(
            done.set_aside,
            f"{counted(done.claims, 'claim')}, {counted(done.supports, 'support')} and "
            f"{done.summaries or 'no'} summaries new; {done.ended} ended, {done.changed} changed, "
            f"{counted(len(done.withdrawn), 'support')} withdrawn, {done.restored} restored, "
            f"{done.replaced or 'no'} summaries replaced",
            done.dry_run,
        )
    return NO if done.set_aside else DONE


def _carried(path: str, call: Callable[..., Any], dry_run: bool) -> Any:
    """What an import did. One that is refused makes no ledger, nor does a dry run."""
    if not os.path.exists(path):
        with doxa.open() as trial:
            tried = call(trial, True)
        if dry_run:
            return tried
    if dry_run:
        with opt.reading(path) as ledger:
            return call(ledger, True)
    with opt.writing(path) as ledger, progress("import") as told:
        told(0, None)
        return call(ledger, False, told)


def _tell(set_aside: tuple[Aside, ...], text: str, dry_run: bool) -> None:
    for aside in set_aside:
        note(f"set aside: {aside}")
    note(f"{text}; {len(set_aside)} set aside" + ("; nothing written" if dry_run else ""))


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CallerError(
            f"--zone {name!r:.80} is no time zone; give UTC or Europe/Berlin"
        ) from None


def _json(file: str) -> Any:
    given = opt.given(file)
    if os.path.isdir(file):
        raise CallerError(
            f"{file} is a folder; give a JSON file of a graph: an object with the lists nodes, "
            "edges, episodes and so on, or the results of add_episode (docs/frameworks/graphiti.md)"
        )
    try:
        if file == "-":
            return json.load(given)
        with open(given, encoding="utf-8-sig") as opened:
            return json.load(opened)
    except OSError as error:
        raise CallerError(f"{file} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{file} is not JSON: {error}") from None


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command("import-lightrag")(import_lightrag)
    app.command("import-graphiti")(import_graphiti)
