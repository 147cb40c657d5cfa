"""The command that draws what was believed."""

from __future__ import annotations

from typing import Annotated

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.output import say
from doxa.engine.errors import CallerError

__all__ = ["add_to"]

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="What the claims are about.")]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", help="What they say of it.")]
Edge = Annotated[
    str | None,
    typer.Option(help="An edge of the picture; left out, all that happened.", metavar="TIME"),
]


def plane(
    path: opt.Path,
    subject: Subject,
    predicate: Predicate,
    point: Annotated[
        list[str] | None,
        typer.Option(
            help="A question to mark and answer: its valid_at and known_at; may be repeated.",
            metavar="TIME,TIME",
        ),
    ] = None,
    valid_from: Edge = None,
    valid_to: Edge = None,
    known_from: Edge = None,
    known_to: Edge = None,
    out: Annotated[
        str | None, typer.Option(help="Write it here; left out, on stdout.", metavar="FILE")
    ] = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
) -> None:
    """Draw what was believed over both times, as SVG.

    Valid time runs to the right, knowledge time upward.
    """
    from doxa.adapters import plane as drawing

    with opt.reading(path) as ledger:
        svg = drawing.plane(
            ledger,
            subject,
            predicate,
            points=[_point(text) for text in point or ()],
            valid_from=valid_from,
            valid_to=valid_to,
            known_from=known_from,
            known_to=known_to,
            workspace=workspace,
            perspective=perspective,
        )
    if out is None:
        say(svg)
    else:
        opt.write_text(out, svg)


def _point(text: str) -> tuple[str, str]:
    valid_at, comma, known_at = text.partition(",")
    if not comma:
        raise CallerError(
            f"--point {text!r:.80} is not a pair; give valid_at and known_at, as in "
            "2024-06-01,2020-06-01"
        )
    return valid_at, known_at


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command()(plane)
