"""Commands that render what may be believed, and render it again."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import document, note, say
from doxa.engine.errors import CallerError

__all__ = ["add_to"]


def assemble(
    path: opt.Path,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="What is asked; it goes into the receipt.")
    ],
    valid_at: opt.ValidAt,
    budget: Annotated[int, typer.Option(help="At most so many characters, or what COUNT counts.")],
    known_at: opt.KnownAt = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="A file of candidates, one JSON object a line; - is stdin. Left out: the "
            "registered summaries.",
            metavar="FILE",
        ),
    ] = None,
    count: opt.Count = None,
    top_k: Annotated[int | None, typer.Option(help="At most so many units.")] = None,
    attempts: Annotated[
        int, typer.Option(help="Begin anew so often if the truth moves meanwhile.")
    ] = 1,
    receipt: Annotated[
        str | None, typer.Option(help="Write the receipt here, for replay.", metavar="FILE")
    ] = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> None:
    """Print what may be believed, within a budget.

    Judges some candidates at a view. What is left out is listed on stderr. Exit 3 if the truth
    moved while it was made.
    """
    given = None if candidates is None else opt.read_lines(candidates)
    counter = opt.counter(count)
    if attempts != 1 and known_at is not None:
        raise CallerError("--attempts goes with a view of the newest knowledge: no --known-at")
    with opt.reading(path) as ledger:
        if attempts != 1:
            block = ledger.assemble_fresh(
                query,
                valid_at=opt.instant(valid_at),
                budget=budget,
                candidates=given,
                count=counter,
                top_k=top_k,
                workspace=workspace,
                perspective=perspective,
                shared=shared,
                attempts=attempts,
            )
        else:
            block = ledger.assemble(
                query,
                view=opt.view(ledger, valid_at, known_at, workspace, perspective, shared),
                candidates=given,
                budget=budget,
                count=counter,
                top_k=top_k,
            )
    if receipt is not None:
        opt.write_text(receipt, json.dumps(block.receipt.as_dict(), ensure_ascii=False) + "\n")
    if as_json:
        document(block.as_dict())
        return
    say(block.text)
    note(f"{block.used} of {block.budget} {block.unit}")
    for left in block.left_out:
        note(f"left out: {left.id}: {left.reason}: {left.detail}")


def replay(
    path: opt.Path,
    receipt: Annotated[str, typer.Argument(metavar="RECEIPT", help="The receipt's file.")],
    count: opt.Count = None,
    as_json: opt.AsJson = False,
) -> int:
    """Render a receipt's request again.

    Exit 1 if one byte differs.
    """
    given = opt.read_lines(receipt)
    if len(given) != 1:
        raise CallerError(f"{receipt} holds {len(given)} lines; a receipt is one JSON object")
    with opt.reading(path) as ledger:
        found = ledger.replay(given[0], count=opt.counter(count))
    if as_json:
        document(found.as_dict())
    else:
        say(found.text)
        note(str(found))
    return DONE if found.same else NO


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(assemble)
    app.command()(replay)
