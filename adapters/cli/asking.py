"""The arguments of commands that ask in words, and what their texts mean."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import typer

from doxa.adapters.cli import options as opt
from doxa.engine.errors import CallerError

__all__ = [
    "Archived",
    "Calibration",
    "Embedder",
    "Fresh",
    "FreshnessFrom",
    "InWorkspace",
    "JudgeBy",
    "Kind",
    "Layer",
    "Mode",
    "NeededEmbedder",
    "Now",
    "Pool",
    "Predicate",
    "Profile",
    "Reinforce",
    "Rerank",
    "ScanLimit",
    "SkipSideEffects",
    "Subject",
    "Tier",
    "Timeout",
    "Trust",
    "asked",
    "seconds",
]

_NAMED: Final = "local, or MODULE:ATTRIBUTE: a doxa.Embedder, or a function of a list of texts."

Embedder = Annotated[
    str | None,
    typer.Option(help=f"What makes vectors: {_NAMED} Left out: words alone.", metavar="NAME"),
]
NeededEmbedder = Annotated[str, typer.Option(help=f"What makes vectors: {_NAMED}", metavar="NAME")]
Mode = Annotated[
    str | None,
    typer.Option(
        help="lexical, dense, or fused. Left out: fused with an embedder, else lexical.",
        metavar="MODE",
    ),
]
Trust = Annotated[
    str | None,
    typer.Option(
        help="What decides whether a hit may be acted on. strict: its standing, and a calibrated "
        "score (doxa calibrate); standing: that alone; development: nothing, to "
        "look at scores. Left out: strict with an embedder, else standing.",
        metavar="TRUST",
    ),
]
InWorkspace = Annotated[
    str | None,
    typer.Option(help='What this workspace holds only, of those in sight; "" is the shared one.'),
]
Subject = Annotated[str | None, typer.Option(help="What is about this subject only.")]
Predicate = Annotated[str | None, typer.Option(help="What is of this predicate only.")]
Kind = Annotated[str | None, typer.Option(help="What is about claims of this kind only.")]
Tier = Annotated[
    list[str] | None, typer.Option(help="claim, summary, or quote; may be repeated. Left out: all.")
]
Profile = Annotated[
    str | None, typer.Option(help="validity: hits are weighed by what they are still worth.")
]
FreshnessFrom = Annotated[
    str | None, typer.Option(help="What age is counted from: observed, or recorded.")
]
Now = Annotated[
    str | None,
    typer.Option(help="What ages are counted up to; left out, valid_at.", metavar="TIME"),
]
Pool = Annotated[
    int | None, typer.Option(help="At most so many documents by each way of searching (100).")
]
ScanLimit = Annotated[
    int | None, typer.Option(help="Look at so many documents at most, by each way of searching.")
]
Calibration = Annotated[
    str | None,
    typer.Option(help="The calibration to judge by; left out, the one in force.", metavar="ID"),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        help="Scores texts anew: a function of the question and a list of texts.",
        metavar="MODULE:FUNCTION",
    ),
]
JudgeBy = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="Says of texts that are ok whether each answers the question, likewise.",
        metavar="MODULE:FUNCTION",
    ),
]
Timeout = Annotated[
    float | None, typer.Option(help="Seconds that a reranker and a judge have (30).")
]
Fresh = Annotated[
    bool, typer.Option(help="Bring the indexes up to the log first, as far as that is quick.")
]

Layer = Annotated[
    list[str] | None,
    typer.Option(
        help="How often it is used: buffer, working, or core; may be repeated. Left out: all."
    ),
]
Archived = Annotated[bool, typer.Option("--archived", help="What is archived, too.")]
Reinforce = Annotated[
    bool,
    typer.Option(
        "--reinforce", help="Note that what is given was used; what is archived comes back."
    ),
]
SkipSideEffects = Annotated[
    bool, typer.Option("--skip-side-effects", help="Note nothing, even with --reinforce.")
]

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_AGE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([smhd]?)")


def seconds(text: str | None) -> float | None:
    """An age as seconds: a number of them or, with a unit, of ``m``, ``h`` or ``d``.

    >>> seconds("30d"), seconds("90")
    (2592000.0, 90.0)
    """
    if text is None:
        return None
    found = _AGE.fullmatch(text)
    if found is None:
        raise CallerError(f"{text!r:.80} is no age; give seconds, or such as 90m, 12h or 30d")
    return float(found[1]) * _UNITS[found[2]]


def asked(
    *,
    in_workspace: str | None,
    now: str | None,
    tier: list[str] | None,
    layer: list[str] | None,
    archived: bool,
    reinforce: bool,
    skip_side_effects: bool,
    rerank: str | None,
    judge: str | None,
    fresh: bool,
    **options: Any,
) -> dict[str, Any]:
    """The options of a recall, those left out being absent."""
    given = {
        "workspace": in_workspace,
        "now": None if now is None else opt.instant(now),
        "tier": tier or None,
        "layer": layer or None,
        "archived": archived or None,
        "reinforce": reinforce or None,
        "skip_side_effects": skip_side_effects or None,
        "rerank": opt.function(rerank, "--rerank"),
        "judge": opt.function(judge, "--judge"),
        "fresh": None if fresh else False,
        **options,
    }
    return {name: value for name, value in given.items() if value is not None}
