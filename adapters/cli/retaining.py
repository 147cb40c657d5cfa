"""Commands that put records away, bring them back, and keep a ledger in order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import counted, document, note, progress, say, table
from doxa.adapters.cli.output import record as figures
from doxa.adapters.cli.writing import tell
from doxa.engine.errors import CallerError
from doxa.engine.shelving import Swept

__all__ = ["add_to"]

Records = Annotated[
    list[str], typer.Argument(metavar="ID…", help="Claims, summaries and citations.")
]
Record = Annotated[str, typer.Argument(metavar="ID", help="A claim, summary or citation.")]
Everywhere = Annotated[
    str | None,
    typer.Option(help='This workspace only ("" is the shared one); left out, all of them.'),
]
Now = Annotated[
    str | None, typer.Option(help="As of when; left out, by the clock.", metavar="TIME")
]
Limit = Annotated[int | None, typer.Option(help="Archive at most so many in this run.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
]


def _said_of(dry_run: bool) -> None:
    if dry_run:
        note("nothing was written: the id is not given out")


def score(
    path: opt.Path,
    record: Record,
    importance: Annotated[
        float, typer.Argument(metavar="IMPORTANCE", help="From 0 to 1; 0 clears it.")
    ],
    reason: opt.Reason = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Declare how important a record is; prints the policy's id.

    It fades no further than that, and is not pruned. The last score counts.
    """
    with opt.reading(path) as ledger:
        made = ledger.score(
            record,
            importance,
            reason=reason,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
            dry_run=dry_run,
        )
    tell(made, as_json)
    _said_of(dry_run)


def expire(
    path: opt.Path,
    record: Record,
    at: Annotated[str, typer.Argument(metavar="TIME", help="From when on it is to be archived.")],
    reason: opt.Reason = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Declare when a record is to be archived; prints the policy's id.

    Maintenance does so, whatever the record has faded to. What is true stays so.
    """
    with opt.reading(path) as ledger:
        made = ledger.expire(
            record,
            opt.instant(at),
            reason=reason,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
            dry_run=dry_run,
        )
    tell(made, as_json)
    _said_of(dry_run)


def decays(
    path: opt.Path,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="A kind of claims.")],
    days: Annotated[
        float | None,
        typer.Argument(metavar="DAYS", help="In which they fade to 1/e; left out, never."),
    ] = None,
    reason: opt.Reason = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Declare how fast claims of a kind fade; prints the policy's id.

    In seven days to 1/e, where nothing is declared.
    """
    with opt.reading(path) as ledger:
        made = ledger.decays(
            kind,
            days,
            reason=reason,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
            dry_run=dry_run,
        )
    tell(made, as_json)
    _said_of(dry_run)


def archive(
    path: opt.Path,
    ids: Records,
    reason: opt.Reason = None,
    workspace: opt.Workspace = "",
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Hide records from recall and context; prints what was archived.

    They stay true, and come back by use, by restore, or by being asserted again.
    """
    with opt.reading(path) as ledger:
        done = ledger.archive(ids, reason=reason, workspace=workspace, dry_run=dry_run)
    _tell(done, "archived", as_json)


def restore(
    path: opt.Path,
    ids: Records,
    reason: opt.Reason = None,
    workspace: opt.Workspace = "",
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Bring archived records back; prints what was restored."""
    with opt.reading(path) as ledger:
        done = ledger.restore(ids, reason=reason, workspace=workspace, dry_run=dry_run)
    _tell(done, "restored", as_json)


def usage(
    path: opt.Path,
    ids: Records,
    workspace: opt.Workspace = "",
    now: Now = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show how warm records are.

    When each was used last and how often, its layer, what is left of it, and what protects it.
    """
    with opt.reading(path) as ledger:
        found = ledger.usage(ids, workspace=workspace, now=_instant(now))
    if as_json:
        document(found)
    else:
        columns = [name for name in found[0] if name != "workspace"]
        table(columns, [[one[name] for name in columns] for one in found])


def decay(
    path: opt.Path,
    workspace: Everywhere = None,
    now: Now = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Archive the claims of which less than 0.05 is left; prints them.

    Those that rested longest first. A run that was broken off is gone on with by the next.
    """
    with opt.reading(path) as ledger, progress("decay") as told:
        done = ledger.decay(
            now=_instant(now), limit=limit, workspace=workspace, dry_run=dry_run, progress=told
        )
    _tell(done, "archived", as_json)


def prune(
    path: opt.Path,
    kind: Annotated[str | None, typer.Option(help="Claims of this kind.")] = None,
    decay_below: Annotated[
        float | None, typer.Option(help="Of which less than this is left, up to 1.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option(help="Recorded more than so many days ago.", metavar="DAYS")
    ] = None,
    workspace: Everywhere = None,
    reason: opt.Reason = None,
    now: Now = None,
    limit: Limit = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="Compact the log instead: what nothing is left of goes for good."
        ),
    ] = False,
    versions: Annotated[
        int | None,
        typer.Option(help="With --history: all but so many newest versions.", metavar="N"),
    ] = None,
    bytes: Annotated[
        int | None,
        typer.Option(help="With --history: until the log has no more bytes.", metavar="N"),
    ] = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Archive the claims that pass all filters given; prints them.

    What is pinned, verified or scored above 0 is protected. With --history the log is compacted
    by --older-than (since the last change), --versions or --bytes.
    """
    if history:
        others = {"kind": kind, "decay-below": decay_below, "reason": reason}
        _refuse({**others, "workspace": workspace}, "can't be given with --history")
        _compact(path, older_than, versions, bytes, limit, now, dry_run, as_json)
        return
    _refuse({"versions": versions, "bytes": bytes}, "can't be given without --history")
    with opt.reading(path) as ledger, progress("prune") as told:
        done = ledger.prune(
            kind=kind,
            decay_below=decay_below,
            older_than=older_than,
            workspace=workspace,
            reason=reason,
            now=_instant(now),
            limit=limit,
            dry_run=dry_run,
            progress=told,
        )
    _tell(done, "archived", as_json)


def _refuse(given: dict[str, object], why: str) -> None:
    """Refuses options that are given and do not go together with others."""
    if found := [f"--{name}" for name, value in given.items() if value is not None]:
        raise CallerError(f"{', '.join(found)} {why}")


def _compact(
    path: str,
    older_than: float | None,
    versions: int | None,
    bytes: int | None,
    limit: int | None,
    now: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    with opt.reading(path) as ledger:
        done = ledger.compact(
            older_than=older_than,
            versions=versions,
            bytes=bytes,
            limit=limit,
            now=_instant(now),
            dry_run=dry_run,
        )
    if as_json:
        document(done.as_dict())
    else:
        say(str(done))


def maintain(
    path: opt.Path,
    workspace: Everywhere = None,
    now: Now = None,
    limit: Limit = None,
    history: Annotated[
        str | None,
        typer.Option(
            help="Compact the log first, by older_than=DAYS, versions=N, bytes=N; several with "
            "commas between them.",
            metavar="WHAT",
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Do all that is to be done now and then.

    Archives what has expired and what has faded, and brings the index of words up to the log. With
    --history the log is compacted before.
    """
    with opt.reading(path) as ledger, progress("maintain") as told:
        done = ledger.maintain(
            now=_instant(now),
            limit=limit,
            workspace=workspace,
            history=_history(history),
            dry_run=dry_run,
            progress=told,
        )
    if as_json:
        document(done.as_dict())
        return
    rows = {
        name: {"archived": len(step), "left": step.left, **_kept(step)}
        if isinstance(step, Swept)
        else dict(step)
        for name, step in done.steps.items()
    }
    figures(rows, as_json=False)
    if done.dry_run:
        note("nothing was written")


def _history(text: str | None) -> dict[str, float] | None:
    """What is to be compacted, as `compact` takes it."""
    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            found[name] = int(value) if value.isdigit() else float(value)
        except ValueError:
            raise CallerError(
                f"--history {text!r:.80} has the part {part!r:.80}; write NAME=NUMBER, as in "
                "older_than=90,versions=5"
            ) from None
    return found


def _instant(text: str | None) -> datetime | str | None:
    return None if text is None else opt.instant(text)


def _kept(done: Swept) -> dict[str, int]:
    return {f"kept: {why}": count for why, count in done.kept.items()}


def _tell(done: Swept, verb: str, as_json: bool) -> None:
    """What was put away or brought back, one id a line; the rest on stderr."""
    if as_json:
        document(done.as_dict())
        return
    for one in done.records:
        say(f"{one.workspace}: {one.id}" if one.workspace else one.id)
    note(f"{counted(len(done), 'record')} {'would be ' if done.dry_run else ''}{verb}")
    _note("kept", (f"{count} {why}" for why, count in done.kept.items()))
    _note("under", done.policies)
    if done.left:
        note(f"{counted(done.left, 'record')} still due: run it again")


def _note(title: str, parts: Iterable[str]) -> None:
    if told := ", ".join(parts):
        note(f"{title}: {told}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (score, expire, decays, archive, restore, usage, decay, prune, maintain):
        app.command()(command)
