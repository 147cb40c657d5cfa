"""Commands that read: what is held, what was, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, say, show, table
from doxa.engine.errors import CallerError
from doxa.engine.items import iso_or_none

__all__ = ["add_to"]

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="What the claims are about.")]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", help="What they say of it.")]
ClaimId = Annotated[str, typer.Argument(metavar="ID", help="The claim's id.")]


def view(
    path: opt.Path,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    subject: Annotated[str | None, typer.Option(help="Claims about this subject only.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Claims of this predicate only.")] = None,
    standing: Annotated[
        list[str] | None,
        typer.Option(help="A standing, or any; may be repeated. Left out: what is held."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Claims of this kind only.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """List the claims at a view.

    Those that are held, unless standings are named.
    """
    with opt.reading(path) as ledger:
        seen = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        wanted: Any = "any" if standing == ["any"] else standing
        claims = seen.claims(subject=subject, predicate=predicate, standing=wanted, kind=kind)
        items = [item.as_dict() for item in claims]
        fingerprint = seen.fingerprint if as_json else None
    if as_json:
        document(
            {
                "valid_at": iso_or_none(seen.valid_at),
                "known_at": iso_or_none(seen.known_at),
                "revision": seen.revision,
                "workspace": seen.workspace,
                "shared": seen.shared,
                "perspective": seen.perspective,
                "live": seen.live,
                "fingerprint": fingerprint,
                "claims": items,
            }
        )
        return
    columns = ("id", "subject", "predicate", "object", "standing", "valid_from", "valid_to")
    table(columns, [[item[column] for column in columns] for item in items])
    note(f"{counted(len(items), 'claim')} at revision {seen.revision}")


def value(
    path: opt.Path,
    subject: Subject,
    predicate: Predicate,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> None:
    """Print the one value held.

    Exit 1 if none is held, or several, or one that is contested.
    """
    with opt.reading(path) as ledger:
        seen = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        show(seen.value(subject, predicate), as_json=as_json)


def values(
    path: opt.Path,
    subject: Subject,
    predicate: Predicate,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> int:
    """Print the distinct values held, one a line.

    Exit 1 if there is none.
    """
    with opt.reading(path) as ledger:
        found = opt.view(ledger, valid_at, known_at, workspace, perspective, shared).values(
            subject, predicate
        )
    if as_json:
        document(list(found))
    else:
        for one in found:
            show(one, as_json=False)
    return DONE if found else NO


def history(
    path: opt.Path,
    subject: Subject,
    predicate: Predicate,
    valid_at: opt.ValidAt,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> None:
    """List successive beliefs about one instant."""
    with opt.reading(path) as ledger:
        found = ledger.history(
            subject,
            predicate,
            valid_at=opt.instant(valid_at),
            workspace=workspace,
            perspective=perspective,
            shared=shared,
        )
    items = [
        {
            "known_at": iso_or_none(belief.known_at),
            "revision": belief.revision,
            "values": None if belief.values is None else list(belief.values),
            "contested": belief.contested if belief.compacted is None else None,
            **({} if belief.compacted is None else {"compacted": list(belief.compacted)}),
            **({"erased": list(belief.erased)} if belief.erased else {}),
        }
        for belief in found
    ]
    if as_json:
        document(items)
    else:
        columns = ("known_at", "revision", "values", "contested")
        rows = [[item[column] for column in columns] for item in items]
        for row, belief in zip(rows, found, strict=True):
            if belief.compacted is not None:
                row[2] = f"{belief.compacted[0]} events were compacted"
            elif belief.erased:
                others = f", beside {row[2]}" if belief.values else ""
                row[2] = f"{', '.join(belief.erased)} was erased{others}"
        table(columns, rows)


def standing(
    path: opt.Path,
    id: ClaimId,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> None:
    """Print the standing of a claim, in one word."""
    with opt.reading(path) as ledger:
        found = opt.view(ledger, valid_at, known_at, workspace, shared=shared).standing(id)
    show(str(found), as_json=as_json)


def sources(
    path: opt.Path,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> None:
    """List the sources, and how many claims each was named for."""
    with opt.reading(path) as ledger:
        found = opt.view(ledger, valid_at, known_at, workspace, shared=shared).sources()
    if as_json:
        document([item.as_dict() for item in found])
    else:
        columns = ("id", "workspace", "live", "claims")
        table(columns, [[s.id, s.workspace, s.live, len(s.claims) + s.compacted] for s in found])


def why(
    path: opt.Path,
    id: Annotated[str, typer.Argument(metavar="ID", help="A claim or an artefact.")],
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
    prov: Annotated[
        bool, typer.Option("--prov", help="As W3C PROV-JSON, for other tools.")
    ] = False,
) -> None:
    """Print what is behind a standing.

    The events, sources and steps, as a tree.
    """
    if prov and as_json:
        raise CallerError("give one of --json and --prov")
    with opt.reading(path) as ledger:
        view = opt.view(ledger, valid_at, known_at, workspace, shared=shared)
        if prov:
            from doxa.adapters.prov import why_to_prov

            document(why_to_prov(view, id), spread=True)
        elif as_json:
            document(view.why(id).as_dict())
        else:
            say(str(view.why(id)))


def diff(
    path: opt.Path,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    other_valid_at: opt.OtherValidAt = None,
    other_known_at: opt.OtherKnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> int:
    """List what stands otherwise than at another view.

    Exit 1 if there is any. The other view is the one before; a time of it that is left out is that
    of the view.
    """
    with opt.reading(path) as ledger:
        after = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        before = opt.view(
            ledger,
            valid_at if other_valid_at is None else other_valid_at,
            known_at if other_known_at is None else other_known_at,
            workspace,
            perspective,
            shared,
        )
        changes = [
            {
                "id": change.id,
                "workspace": change.workspace,
                "subject": change.subject,
                "predicate": change.predicate,
                "object": change.object,
                "before": change.before,
                "after": change.after,
            }
            for change in after.diff(before)
        ]
    if as_json:
        document(changes)
    else:
        columns = ("id", "subject", "predicate", "object", "before", "after")
        table(columns, [[change[column] for column in columns] for change in changes])
        stand = "stands" if len(changes) == 1 else "stand"
        note(f"{counted(len(changes), 'claim')} {stand} otherwise")
        if other_valid_at is None and other_known_at is None:
            note("both views are the same; give --other-valid-at or --other-known-at")
    return NO if changes else DONE


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (view, value, values, history, standing, sources, why, diff):
        app.command()(command)
