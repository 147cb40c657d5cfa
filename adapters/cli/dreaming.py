"""The command that shows related claims to a language model."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.answers import tell_some
from doxa.adapters.cli.consolidating import tell_consolidated
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import counted, document, note, progress, table
from doxa.adapters.endpoint import Endpoint
from doxa.dreaming import CALLS, IDLE, KEY
from doxa.dreams import Contradiction, Dreams
from doxa.engine.errors import CallerError

__all__ = ["add_to"]


def dream(
    path: opt.Path,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="The base address of a model that speaks the OpenAI protocol, such as "
            f"http://127.0.0.1:8080/v1. Its key is taken from {KEY}.",
            metavar="URL",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name there.", metavar="NAME")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="For one call, retries included.", metavar="SECONDS")
    ] = 60.0,
    settings: Annotated[
        str | None,
        typer.Option(
            help='What goes into each request instead of {"temperature":0,"max_tokens":1024}.',
            metavar="JSON",
        ),
    ] = None,
    schema: Annotated[
        bool, typer.Option(help="Send the answer's JSON schema, which some servers refuse.")
    ] = True,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    valid_at: opt.MaybeValidAt = None,
    idle: Annotated[
        float, typer.Option(help="Only claims that have rested for so long.", metavar="DAYS")
    ] = IDLE,
    limit: Annotated[
        int | None,
        typer.Option(help=f"Ask for so many answers at most; left out, {CALLS}.", metavar="N"),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            help="An insight that is not asked for, by id; may be repeated.", metavar="ID"
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked; ask and write nothing.")
    ] = False,
    mechanical: Annotated[
        bool, typer.Option("--mechanical", help="Ask no model; do what consolidate does.")
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Show related claims to a language model; record what it sees.

    Only claims with sources are shown. An insight rests on the claims that it cites. Exit 1 if an
    answer was refused.
    """
    asked = _endpoint(endpoint, model, timeout, settings, schema)
    with opt.reading(path) as ledger, progress("dream") as told:
        done = ledger.dream(
            endpoint=asked,
            workspace=workspace,
            perspective=perspective,
            valid_at=None if valid_at is None else opt.instant(valid_at),
            idle=idle,
            limit=limit,
            skip=skip or (),
            dry_run=dry_run,
            mechanical=mechanical,
            progress=told,
        )
    if as_json:
        document(done.as_dict())
    elif done.consolidation is not None:
        tell_consolidated(done.consolidation)
    else:
        _tell(done, dry_run)
        if not (done.planned or done.insights or done.refused or done.already):
            note(f"no related claims have rested for {idle:g} days: --idle says how long they must")
    return NO if done.refused else DONE


def _endpoint(
    url: str | None, model: str | None, timeout: float, settings: str | None, schema: bool
) -> Endpoint | None:
    """The endpoint that the options mean."""
    if url is None:
        if model is not None:
            raise CallerError("--model goes with --endpoint")
        return None
    if model is None:
        raise CallerError("--endpoint needs --model, the model's name there")
    more: dict[str, Any] = {}
    if settings is not None:
        more["settings"] = opt.fields_of_value(settings, "--settings")
    key = os.environ.get(KEY) or None
    return Endpoint(url, model, key=key, timeout=timeout, schema=schema, **more)


def _tell(done: Dreams, dry_run: bool) -> None:
    """What a run did, or would do, for people."""
    if done.planned:
        sizes = [(each.id, ", ".join(each.shown), each.bytes, each.tokens) for each in done.planned]
        table(("insight", "shown", "bytes", "tokens"), sizes)
    if done.insights:
        made = [(each.id, ", ".join(each.cites), each.text) for each in done.insights]
        table(("insight", "cites", "text"), made)
    for each in done.refused:
        note(f"refused: {each.id}: {each.reason}: {each.detail}")
    tell_some("not shown", [_against(each, dry_run) for each in done.contradictions])
    if done.stopped:
        note("stopped: the endpoint gave no answer several times in a row")
    left = f", {counted(done.remaining, 'group')} left" if done.remaining else ""
    long = f", {counted(done.too_long, 'claim')} too long to be shown" if done.too_long else ""
    note(
        f"{counted(done.calls, 'call')}, {counted(len(done.insights), 'insight')}, "
        f"{len(done.already)} there before{left}{long}"
    )


def _against(each: Contradiction, dry_run: bool) -> str:
    """A contradiction in words."""
    claims = ", ".join(each.claims)
    if each.policy is None:
        return f"{claims}: contested"
    would = "would be declared as" if dry_run else "declared as"
    return f"{claims}: they contradict each other, {would} {each.policy}"


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command()(dream)
