"""Commands about calibration: from which score on a hit is an answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from doxa.adapters.cli import asking
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.answers import fitted
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import document, note, progress, say, table
from doxa.engine.calibration import Calibration, Refusal
from doxa.engine.drift import Drift, Stability

__all__ = ["add_to"]

_CASES = 'one object a line, {"query": …, "answerable": true or false}; - is stdin.'


def calibrate(
    path: opt.Path,
    cases: Annotated[str, typer.Argument(metavar="FILE", help=f"Labelled questions, {_CASES}")],
    valid_at: opt.ValidAt,
    embedder: asking.NeededEmbedder,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    reason: opt.Reason = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Fit, and record nothing.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Fit the boundary of confidence to labelled questions; prints its id.

    Every question is asked at a view. One half is held out, and says how often the boundary is
    wrong. Recorded as a policy.
    """
    given = opt.given(cases)
    with opt.reading(path, embedder) as ledger, progress("calibrate") as told:
        view = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        found = ledger.calibrate(given, view=view, reason=reason, dry_run=dry_run, progress=told)
        after = opt.view(ledger, valid_at, None, workspace, perspective, shared)
        used = ledger._in_force(after)
    in_force = isinstance(used, Calibration) and used.id == found.id
    if as_json:
        document({**_json(found), "recorded": not dry_run, "in_force": in_force})
        return
    say(found.id)
    for name, told_of in list(fitted(found))[1:]:
        note(f"{name}: {told_of}")
    for warning in found.warnings:
        note(f"warning: {warning}")
    if dry_run:
        note("not recorded")


def calibration(
    path: opt.Path,
    valid_at: opt.ValidAt,
    embedder: asking.NeededEmbedder,
    drift: Annotated[
        str | None,
        typer.Option(
            help=f"Ask these questions and say whether it still holds: {_CASES}", metavar="FILE"
        ),
    ] = None,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> int:
    """Print the calibration in force for an embedder.

    Exit 1 if there is none, or if it has drifted.
    """
    given = None if drift is None else opt.given(drift)
    with opt.reading(path, embedder) as ledger, progress("calibration") as told:
        view = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        found = ledger._in_force(view)  # with the reason, where there is none
        asked = None
        if isinstance(found, Calibration) and given is not None:
            asked = ledger.calibration_drift(given, view=view, progress=told)
    if isinstance(found, Refusal):
        if as_json:
            why = {"reason": found.gap, "detail": found.detail}
            document({"calibration": None, "drift": None, **why})
        else:
            note(f"{found.gap}: {found.detail}; doxa calibrate makes one")
        return NO
    if as_json:
        document({"calibration": _json(found), "drift": None if asked is None else _drift(asked)})
    else:
        table(("name", "value"), fitted(found))
        for warning in found.warnings:
            note(f"warning: {warning}")
        if asked is not None:
            _tell(asked)
    return DONE if asked is None or asked.verdict is Stability.OK else NO


def _json(found: Calibration) -> dict[str, Any]:
    held = found.held_out
    return {
        **found.as_json(),
        "false_confidence": held.false_confidence,
        "false_abstention": held.false_abstention,
        "warnings": list(found.warnings),
    }


def _drift(asked: Drift) -> dict[str, Any]:
    lists = {"reasons": list(asked.reasons), "warnings": list(asked.warnings)}
    return {**asked._asdict(), "verdict": str(asked.verdict), **lists}


def _tell(asked: Drift) -> None:
    say("")
    rows = (
        ("asked", f"{asked.answerable} answerable and {asked.unanswerable} unanswerable questions"),
        ("boundary", f"{asked.boundary:.3f} would fit them, {asked.shift:+.2f} scales away"),
        ("false confidence", f"{asked.false_confidence:.1%}"),
        ("false abstention", f"{asked.false_abstention:.1%}"),
        ("AUC", f"{asked.auc:.3f}, at least {asked.auc_lower:.3f}"),
    )
    table(("drift", str(asked.verdict)), rows)
    for reason in asked.reasons:
        note(f"drifted: {reason}")
    for warning in asked.warnings:
        note(f"warning: {warning}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(calibrate)
    app.command()(calibration)
