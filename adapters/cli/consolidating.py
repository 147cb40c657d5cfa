"""Commands that follow what is said: once instead of often, and anew where a source has changed."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import counted, document, note, progress, table
from doxa.consolidating import Consolidation
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger
from doxa.refreshing import Refresh

__all__ = ["add_to", "tell_consolidated"]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")
]


def consolidate(
    path: opt.Path,
    kind: Annotated[
        str | None, typer.Option(help="Claims of this kind only; left out, each kind by itself.")
    ] = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    valid_at: opt.MaybeValidAt = None,
    limit: Annotated[
        int | None, typer.Option(help="Write so many clusters at most.", metavar="N")
    ] = None,
    archive: Annotated[
        bool, typer.Option("--archive", help="Archive what the observations rest on.")
    ] = False,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Record what several claims say as one observation.

    It rests on all of them, and says how many origins they have. Where one claim denies another,
    their contradiction is declared. The longest unused come first; a later run goes on.
    """
    with opt.reading(path) as ledger, progress("consolidate") as told:
        done = ledger.consolidate(
            kind=kind,
            workspace=workspace,
            perspective=perspective,
            valid_at=None if valid_at is None else opt.instant(valid_at),
            limit=limit,
            archive=archive,
            dry_run=dry_run,
            progress=told,
        )
    if as_json:
        document(done.as_dict())
    else:
        tell_consolidated(done)


def tell_consolidated(done: Consolidation) -> None:
    """What a consolidation did, or would do, for people."""
    if done.clusters:
        columns = ("step", "subject", "predicate", "claims", "origins", "id")
        rows = [
            (each.step, each.subject, each.predicate, ", ".join(each.evidence), each.proofs)
            for each in done
        ]
        ids = [each.id for each in done]
        table(columns, [(*row, id) for row, id in zip(rows, ids, strict=True)])
    for each in done:
        if each.reason is not None:
            note(f"{each.step}: {', '.join(each.evidence)}: {each.reason}")
    moved = [
        f", {counted(len(ids), 'claim')} {what}"
        for ids, what in ((done.archived, "archived"), (done.restored, "restored"))
        if ids
    ]
    left = f", {done.remaining} left" if done.remaining else ""
    dry = ", nothing written" if done.dry_run else ""
    note(f"{counted(len(done), 'cluster')}{''.join(moved)}{left}{dry}")


def refresh(
    path: opt.Path,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="The source's id, or a JSON object.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The claims that it makes now, exchange lines; - is stdin."
        ),
    ],
    content: Annotated[
        str | None, typer.Option(help="The file with the content of the source.", metavar="PATH")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(help="The digest of the content, instead of it.")
    ] = None,
    sections: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            help="A section and the file with its content; may be repeated.",
            metavar="NAME=PATH",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave sections alone that are not given.")
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="It may be that nothing is said any more.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Record that the new content says the rest too.")
    ] = False,
    reason: opt.Reason = None,
    workspace: opt.Workspace = "",
    valid_at: opt.MaybeValidAt = None,
    dry_run: DryRun = False,
    as_json: opt.AsJson = False,
) -> None:
    """Record what a source that has changed says now.

    What it still says stays; the rest is corrected, withdrawn from this source alone, or added, in
    one commit. The same content as last time is not looked at.
    """
    claims = opt.read_lines(file)
    held = None if content is None else _content(content)
    told = None if sections is None else dict(map(_section, sections))
    if told is not None and sections is not None and len(told) < len(sections):
        raise CallerError("--section names one section twice; give each once")

    def call(ledger: Ledger) -> Refresh:
        return ledger.refresh(
            opt.source(source),
            claims,
            content=held,
            digest=digest,
            sections=told,
            partial=partial,
            allow_empty=allow_empty,
            confirm=confirm,
            reason=reason,
            workspace=workspace,
            valid_at=None if valid_at is None else opt.instant(valid_at),
            dry_run=dry_run,
        )

    if dry_run:
        with opt.reading(path) as ledger:
            done = call(ledger)
    else:
        done = opt.record(path, call)
    if as_json:
        document(done.as_dict())
    else:
        _tell(done)


def _content(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CallerError(f"{path} can't be read: {error.strerror}") from None


def _section(text: str) -> tuple[str, bytes]:
    """A section's name, and the bytes of the file with its content."""
    name, parted, path = text.partition("=")
    if not parted:
        raise CallerError(f"--section {text!r:.80} has no =; give NAME=PATH")
    return name, _content(path)


def _tell(done: Refresh) -> None:
    if done.changes:
        columns = ("turn", "claim", "subject", "predicate", "object", "by")
        table(
            columns,
            [(c.turn, c.claim, c.subject, c.predicate, c.object, c.by) for c in done.changes],
        )
    for each in done.stale_evidence:
        stands = "" if each.stands is None else ", stands" if each.stands else ", has fallen"
        note(f"stale evidence: {each.kind} {each.id} rests on {each.evidence}{stands}")
    parts = [f"{name or done.source} {part}" for name, part in done.sections.items()]
    dry = ", nothing written" if done.dry_run else ""
    note(f"{', '.join(parts)}; {done.kept} kept, {len(done.changes)} changed{dry}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(consolidate)
    app.command()(refresh)
