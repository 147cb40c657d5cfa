"""Commands about values that nobody is to record."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import document, note, progress, table
from doxa.adapters.cli.writing import tell
from doxa.arguments import UNSET
from doxa.engine.errors import CallerError
from doxa.engine.items import iso_or_none
from doxa.rejecting import Rejection

__all__ = ["add_to"]

Value = Annotated[
    str | None,
    typer.Argument(
        metavar="VALUE", help="The value, as text; - reads it from stdin, out of sight of others."
    ),
]
ValueJson = Annotated[
    str | None, typer.Option(help="The value as a JSON value, instead of VALUE.", metavar="JSON")
]


def _value(text: str | None, as_json: str | None) -> Any:
    if text is not None and as_json is not None:
        raise CallerError("give VALUE or --value-json, not both")
    if as_json is not None:
        return opt.fields_of_value(as_json, "--value-json")
    if text == "-":
        return sys.stdin.read().removesuffix("\n")
    found = opt.value(text, None)
    if found is UNSET:
        raise CallerError("give a VALUE, or --value-json")
    return found


def reject(
    path: opt.Path,
    value: Value = None,
    value_json: ValueJson = None,
    predicate: Annotated[
        str | None, typer.Option(help="As the value of this predicate; left out, of any.")
    ] = None,
    workspace: Annotated[
        str, typer.Option(help="In this workspace; left out, or *, in all of them.")
    ] = "",
    reason: opt.Reason = None,
    evidence: Annotated[str | None, typer.Option(help="What shows that it is wrong.")] = None,
    author: Annotated[str | None, typer.Option(help="Who says so.")] = None,
    until: Annotated[
        str | None,
        typer.Option(help="What is recorded from then on is let in again.", metavar="TIME"),
    ] = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Take back the held claims that say it, too.")
    ] = False,
    id: opt.Id = None,
    recorded_at: opt.RecordedAt = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Judge it, and write nothing.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Reject a value; prints the id of the rejection.

    From now on no claim is recorded whose object or text it is, whatever the subject. Nothing of
    the value is kept but a keyed digest.
    """
    refused = _value(value, value_json)
    with opt.reading(path) as ledger, progress("reject") as told:
        made = ledger.reject(
            refused,
            predicate=predicate,
            workspace=workspace,
            reason=reason,
            evidence=evidence,
            author=author,
            until=None if until is None else opt.instant(until),
            withdraw=withdraw,
            id=id,
            recorded_at=recorded_at,
            dry_run=dry_run,
            progress=told,
        )
    tell(made, as_json)
    if dry_run:
        note("nothing was written")


def rejections(
    path: opt.Path,
    workspace: Annotated[
        str | None, typer.Option(help="Those that bear on this workspace; left out, all.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """List the rejections, without their values.

    Those that were withdrawn or have run out are listed too, as not in force.
    """
    with opt.reading(path) as ledger:
        found = ledger.rejections(workspace=workspace)
    _list(found, as_json)


def is_rejected(
    path: opt.Path,
    value: Value = None,
    value_json: ValueJson = None,
    predicate: Annotated[
        str | None, typer.Option(help="As the value of this predicate; left out, of any.")
    ] = None,
    workspace: opt.Workspace = "",
    as_json: opt.AsJson = False,
) -> int:
    """Say whether a value would be kept out, and by which rejections.

    Exit 1 if it would not. Nothing is written.
    """
    asked = _value(value, value_json)
    with opt.reading(path) as ledger:
        found = ledger.is_rejected(asked, predicate=predicate, workspace=workspace)
    if found or as_json:
        _list(found, as_json)
    else:
        note("nothing in force rejects it")
    return DONE if found else NO


def _list(found: Iterable[Rejection], as_json: bool) -> None:
    if as_json:
        document([_fields(one) for one in found])
        return
    columns = ("id", "workspace", "predicate", "in force", "until", "reason", "author")
    rows = (
        (
            one.id,
            one.workspace,
            "any" if one.predicate is None else one.predicate,
            "yes" if one.in_force else "no",
            iso_or_none(one.until),
            one.reason,
            one.author,
        )
        for one in found
    )
    table(columns, rows)


def _fields(one: Rejection) -> dict[str, Any]:
    times = {"until": iso_or_none(one.until), "recorded_at": iso_or_none(one.recorded_at)}
    return asdict(one) | times


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(reject)
    app.command()(rejections)
    app.command("is-rejected")(is_rejected)
