"""Commands that register texts and policies."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import note
from doxa.adapters.cli.writing import tell
from doxa.arguments import ArtefactId
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger
from doxa.views import TruthView

__all__ = ["add_to"]

_Binding = Literal["dependencies", "snapshot"]


def _view(
    ledger: Ledger, valid_at: str | None, known_at: str | None, workspace: str
) -> TruthView | None:
    """The view that a text was made from, where one is given."""
    if valid_at is None:
        if known_at is not None:
            raise CallerError("--known-at alone is ambiguous; say --valid-at as well")
        return None
    return opt.view(ledger, valid_at, known_at, workspace)


def _registered(made: ArtefactId, as_json: bool) -> None:
    reason = None if made.eligible else str(made.judgement)
    tell(made, as_json, eligible=made.eligible, reason=reason)
    if reason is not None:
        note(f"registered, but not eligible now: {reason}")


def cite(
    path: opt.Path,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The quotation or reference.")],
    claim: Annotated[
        str | None, typer.Option(help="Quote the supports of this claim.", metavar="ID")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Of these, the ones from this source.", metavar="ID")
    ] = None,
    supports: opt.Ids = None,
    facts: opt.Ids = None,
    sources: opt.Names = None,
    binding: opt.Binding = "dependencies",
    selection: opt.Selection = None,
    valid_at: opt.MaybeValidAt = None,
    known_at: opt.KnownAt = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    as_json: opt.AsJson = False,
) -> None:
    """Register a citation; prints its id.

    It quotes one support at least, or those of a claim. The times name the view that the text was
    made from: exit 3 if the truth of a snapshot moved since.
    """
    with opt.reading(path) as ledger:
        made = ledger.cite(
            text,
            claim=claim,
            source=source,
            supports=opt.references(supports),
            facts=opt.references(facts),
            sources=sources or (),
            binding=cast("_Binding", binding),
            selection=selection,
            view=_view(ledger, valid_at, known_at, workspace),
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
        )
    _registered(made, as_json)


def summarize(
    path: opt.Path,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The summary.")],
    facts: opt.Ids = None,
    supports: opt.Ids = None,
    sources: opt.Names = None,
    citations: opt.Ids = None,
    binding: opt.Binding = "dependencies",
    selection: opt.Selection = None,
    valid_at: opt.MaybeValidAt = None,
    known_at: opt.KnownAt = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    as_json: opt.AsJson = False,
) -> None:
    """Register a summary; prints its id.

    It declares what it rests on. The times name the view that the text was made from: exit 3 if
    the truth of a snapshot moved since.
    """
    with opt.reading(path) as ledger:
        made = ledger.summarize(
            text,
            facts=opt.references(facts),
            supports=opt.references(supports),
            sources=sources or (),
            citations=opt.references(citations),
            binding=cast("_Binding", binding),
            selection=selection,
            view=_view(ledger, valid_at, known_at, workspace),
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
        )
    _registered(made, as_json)


def policy(
    path: opt.Path,
    single_valued: Annotated[
        str | None, typer.Option(help="A predicate that has one value.", metavar="PREDICATE")
    ] = None,
    contradicts: opt.Names = None,
    verified: Annotated[
        str | None, typer.Option(help="A claim that somebody verified.", metavar="ID")
    ] = None,
    pinned: Annotated[
        str | None, typer.Option(help="A claim that is always given.", metavar="ID")
    ] = None,
    calibrated: Annotated[
        str | None,
        typer.Option(help="The parameters of a calibration, as an object.", metavar="JSON"),
    ] = None,
    reason: opt.Reason = None,
    id: opt.Id = None,
    workspace: opt.Workspace = "",
    recorded_at: opt.RecordedAt = None,
    as_json: opt.AsJson = False,
) -> None:
    """Declare a policy; prints its id.

    One of: a single-valued predicate, claims that contradict each other, a claim that is verified
    or pinned, a calibration.
    """
    parameters = None if calibrated is None else opt.fields_of_value(calibrated, "--calibrated")
    made = opt.record(
        path,
        lambda ledger: ledger.policy(
            single_valued=single_valued,
            contradicts=contradicts or (),
            verified=verified,
            pinned=pinned,
            calibrated=parameters,
            reason=reason,
            id=id,
            workspace=workspace,
            recorded_at=recorded_at,
        ),
    )
    tell(made, as_json)


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (cite, summarize, policy):
        app.command()(command)
