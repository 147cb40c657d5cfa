"""Commands that render what may be believed, and render it again."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from doxa.adapters.cli import asking
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.answers import code, tell_reasons, tell_some
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import document, note, say
from doxa.engine.block import Block
from doxa.engine.errors import CallerError

__all__ = ["add_to"]


def assemble(
    path: opt.Path,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='What is asked; "" gives a pointer alone.')
    ],
    valid_at: opt.ValidAt,
    budget: Annotated[
        str | None,
        typer.Option(
            help="At most so many characters, or what COUNT counts; large is 6000. Left out: 1500.",
            metavar="N|large",
        ),
    ] = None,
    known_at: opt.KnownAt = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="A file of candidates, one JSON object a line; - is stdin. Left out: what the "
            "question finds.",
            metavar="FILE",
        ),
    ] = None,
    registered: Annotated[
        bool, typer.Option("--registered", help="The candidates are the registered summaries.")
    ] = False,
    inject: Annotated[
        str,
        typer.Option(
            help="on_demand, or always_inject: the pinned claims come first, five at most.",
            metavar="INJECT",
        ),
    ] = "on_demand",
    count: opt.Count = None,
    top_k: Annotated[int | None, typer.Option(help="At most so many units.")] = None,
    embedder: asking.Embedder = None,
    mode: asking.Mode = None,
    trust: asking.Trust = None,
    in_workspace: asking.InWorkspace = None,
    subject: asking.Subject = None,
    predicate: asking.Predicate = None,
    kind: asking.Kind = None,
    tier: asking.Tier = None,
    layer: asking.Layer = None,
    archived: asking.Archived = False,
    profile: asking.Profile = None,
    freshness_from: asking.FreshnessFrom = None,
    now: asking.Now = None,
    pool: asking.Pool = None,
    scan_limit: asking.ScanLimit = None,
    calibration: asking.Calibration = None,
    rerank: asking.Rerank = None,
    judge: asking.JudgeBy = None,
    timeout: asking.Timeout = None,
    fresh: asking.Fresh = True,
    reinforce: asking.Reinforce = False,
    skip_side_effects: asking.SkipSideEffects = False,
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
) -> int:
    """Print what may be believed, within a budget.

    Of what the question finds or, with candidates, of these. What is left out is listed on stderr.
    Exit codes of a question are those of recall; 3 if the truth moved while it was made.
    """
    if attempts != 1 and known_at is not None:
        raise CallerError("--attempts goes with a view of the newest knowledge: no --known-at")
    if attempts != 1 and in_workspace is not None:
        raise CallerError("--attempts does not go with --in-workspace; give --no-shared")
    options = asking.asked(
        in_workspace=in_workspace,
        now=now,
        tier=tier,
        layer=layer,
        archived=archived,
        reinforce=reinforce,
        skip_side_effects=skip_side_effects,
        rerank=rerank,
        judge=judge,
        fresh=fresh,
        mode=mode,
        trust=trust,
        subject=subject,
        predicate=predicate,
        kind=kind,
        profile=profile,
        freshness_from=freshness_from,
        pool=pool,
        scan_limit=scan_limit,
        calibration=calibration,
        timeout=timeout,
    )
    options |= {
        "candidates": _candidates(candidates, registered),
        "budget": _budget(budget),
        "inject": inject,
        "count": opt.counter(count),
        "top_k": top_k,
    }
    with opt.reading(path, embedder) as ledger:
        if attempts != 1:
            block = ledger.assemble_fresh(
                query,
                valid_at=opt.instant(valid_at),
                workspace=workspace,
                perspective=perspective,
                shared=shared,
                attempts=attempts,
                **options,
            )
        else:
            view = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
            block = ledger.assemble(query, view=view, **options)
    if receipt is not None:
        opt.write_text(receipt, json.dumps(block.receipt.as_dict(), ensure_ascii=False) + "\n")
    if as_json:
        document(block.as_dict())
    else:
        _tell(block)
    if block.recalled is None:
        return DONE
    return code(block.recalled) or (DONE if block.printed else NO)


def _candidates(path: str | None, registered: bool) -> Any:
    if path is not None and registered:
        raise CallerError("give one of --candidates and --registered")
    return "registered" if registered else path and opt.read_lines(path)


def _budget(text: str | None) -> int | Literal["large"] | None:
    if text is None:
        return None
    if text == "large":
        return "large"
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise CallerError(f"--budget is {text!r:.80}; give a whole number, or large")


def _tell(block: Block) -> None:
    """The block's text on stdout, and what is not in it on stderr."""
    say(block.text)
    note(f"{block.used} of {block.budget} {block.unit}")
    left_out = [f"{left.id}: {left.reason}: {left.detail}" for left in block.left_out]
    if block.recalled is None:  # each candidate was given by somebody who is to hear of it
        tell_some("left out", left_out, most=None)
    else:
        tell_some("left out", left_out)
    for warning in block.warnings:
        note(f"warning: {warning}")
    if block.recalled is not None:
        tell_reasons(block.recalled.but(withheld=()))  # which are among what is left out


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
