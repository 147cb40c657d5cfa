"""Commands that record claims, supports, withdrawals and corrections."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal, cast

import typer

import doxa
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import document, say
from doxa.arguments import UNSET
from doxa.engine.errors import CallerError, UnknownTarget

__all__ = ["add_to", "tell"]

ObjectJson = Annotated[
    str | None, typer.Option(help="The object as a JSON value, instead of OBJECT.", metavar="JSON")
]


def tell(id: str, as_json: bool, **more: Any) -> None:
    """The id of what was recorded, on stdout."""
    if as_json:
        document({"id": id, **more})
    else:
        say(id)


def claim(
    path: opt.Path,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="What the claim is about.")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help="What it says of it.")],
    object: Annotated[
        str | None,
        typer.Argument(metavar="OBJECT", help="The value, as text; --object-json for any other."),
    ] = None,
    object_json: ObjectJson = None,
    id: opt.Id = None,
    text: opt.Text = None,
    kind: Annotated[str, typer.Option(help="fact, hypothesis, or another word.")] = "fact",
    perspective: Annotated[str, typer.Option(help="Whose view of things.")] = "",
    valid_from: opt.ValidFrom = None,
    valid_to: opt.ValidTo = None,
    valid_until: opt.ValidUntil = None,
    source: opt.Source = None,
    because: opt.Because = None,
    assumed: opt.Assumed = None,
    recall_when: opt.RecallWhen = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    override: opt.Override = None,
    as_json: opt.AsJson = False,
) -> None:
    """Record a claim; prints its id.

    It carries its own support if a source or premises are given.
    """
    stated = opt.value(object, object_json)
    if stated is UNSET:
        raise CallerError("a claim needs an OBJECT, or --object-json")
    made = opt.record(
        path,
        lambda ledger: ledger.claim(
            subject,
            predicate,
            stated,
            id=id,
            text=text,
            kind=kind,
            perspective=perspective,
            valid_from=opt.bound(valid_from),
            valid_to=opt.bound(valid_to),
            valid_until=valid_until,
            source=opt.source(source),
            because=opt.references(because),
            assumed=assumed,
            recall_when=recall_when or (),
            workspace=workspace,
            recorded_at=recorded_at,
            override=opt.override(override),
        ),
    )
    tell(made, as_json)


def support(
    path: opt.Path,
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="The claim's id.")],
    source: opt.Source = None,
    because: opt.Because = None,
    stance: Annotated[str, typer.Option(help="supports, or refutes.")] = "supports",
    valid_from: opt.ValidFrom = None,
    valid_to: opt.ValidTo = None,
    valid_until: opt.ValidUntil = None,
    assumed: opt.Assumed = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    as_json: opt.AsJson = False,
) -> None:
    """Record evidence on a claim; prints an id."""
    with opt.reading(path) as ledger:
        made = ledger.support(
            claim,
            source=opt.source(source),
            because=opt.references(because),
            stance=cast('Literal["supports", "refutes"]', stance),
            valid_from=opt.bound(valid_from),
            valid_to=opt.bound(valid_to),
            valid_until=valid_until,
            assumed=assumed,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
        )
    tell(made, as_json)


def withdraw(
    path: opt.Path,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The id of an event or artefact, or a source's.")
    ],
    whole_source: Annotated[
        bool, typer.Option("--whole-source", help="TARGET is a source: withdraw all it says.")
    ] = False,
    reason: opt.Reason = None,
    valid_from: opt.ValidFrom = None,
    valid_to: opt.ValidTo = None,
    valid_until: opt.ValidUntil = None,
    source: opt.Source = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    as_json: opt.AsJson = False,
) -> None:
    """Take back an event or source; prints an id.

    Artefacts too; the id is the withdrawal's. Without bounds it is taken back at all valid times.
    The source says who asked.
    """
    try:
        with opt.reading(path) as ledger:
            made = ledger.withdraw(
                doxa.Source(target) if whole_source else target,
                reason=reason,
                valid_from=opt.bound(valid_from),
                valid_to=opt.bound(valid_to),
                valid_until=valid_until,
                source=opt.source(source),
                id=id,
                workspace=workspace,
                recorded_at=recorded_at,
            )
    except UnknownTarget as error:
        if error.source is None:
            raise
        raise UnknownTarget(_meant(path, target, error.source, workspace)) from None
    tell(made, as_json)


def _meant(path: str, target: str, source: str, workspace: str) -> str:
    """What is said where a source is meant, by the command line that withdraws it."""
    where = ["--workspace", workspace] if workspace else []
    line = shlex.join(["doxa", "withdraw", path, source, "--whole-source", *where])
    if target == source:
        return f"{target!r:.200} is a source, and no event; to take back all that it says: {line}"
    return (
        f"{target!r:.200} is no event, and no source's id, but the origin of one source, "
        f"{source!r:.200}; did you mean to take back all that it says? {line}"
    )


def correct(
    path: opt.Path,
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help="The id of the claim that is corrected.")
    ],
    object: Annotated[
        str | None,
        typer.Argument(metavar="OBJECT", help="The new value, as text; left out: by nothing."),
    ] = None,
    object_json: ObjectJson = None,
    by: Annotated[str | None, typer.Option(help="A claim that replaces it.", metavar="ID")] = None,
    valid_from: opt.ValidFrom = None,
    valid_to: opt.ValidTo = None,
    valid_until: opt.ValidUntil = None,
    source: opt.Source = None,
    because: opt.Because = None,
    reason: opt.Reason = None,
    text: opt.Text = None,
    kind: Annotated[str | None, typer.Option(help="The new claim's kind.")] = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    reject: Annotated[
        bool, typer.Option("--reject", help="Reject the old object and text, for their predicate.")
    ] = False,
    override: opt.Override = None,
    expected_revision: opt.ExpectedRevision = None,
    as_json: opt.AsJson = False,
) -> None:
    """Replace a claim; prints an id.

    By a new value, by another claim, or by nothing, over its valid time or a portion of it. A
    bound that is left out takes its default; none makes it open. The id is the correction's.
    """
    with opt.reading(path) as ledger:
        made = ledger.correct(
            claim,
            opt.value(object, object_json),
            by=by,
            valid_from=opt.stated_bound(valid_from),
            valid_to=opt.stated_bound(valid_to),
            valid_until=valid_until,
            source=opt.source(source),
            because=opt.references(because),
            reason=reason,
            text=text,
            kind=kind,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
            reject=reject,
            override=opt.override(override),
            expected_revision=expected_revision,
        )
    tell(made, as_json, replacement=made.replacement)


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (claim, support, withdraw, correct):
        app.command()(command)
