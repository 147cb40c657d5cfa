"""The ``doxa`` command: all commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

import doxa
from doxa.adapters.cli import (
    assembling,
    auditing,
    calibrating,
    consolidating,
    corpora,
    drawing,
    dreaming,
    encrypting,
    erasing,
    graphs,
    histories,
    indexes,
    keeping,
    lines,
    querying,
    reading,
    recalling,
    reconciling,
    registering,
    rejecting,
    retaining,
    serving,
    writing,
)
from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import CALLER, Commands
from doxa.adapters.cli.output import note, say

__all__ = ["app"]

app = typer.Typer(
    name="doxa",
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Bitemporal truth: what did we know, when, and why. Times are ISO text; valid time and "
    "knowledge time are never mixed.",
)
# What --help shows under one heading each; `Commands` prints them in this order.
for heading, parts in {
    "Record": (writing, registering, rejecting),
    "Ask": (reading, querying, drawing, recalling, calibrating, assembling, reconciling),
    "Carry in and out": (lines, indexes, serving, graphs, corpora, histories),
    "Derive": (consolidating, dreaming),
    "Retain and erase": (retaining, erasing, encrypting),
    "Check and keep": (keeping, auditing),
}.items():
    before = len(app.registered_commands)
    for part in parts:
        part.add_to(app)
    for command in app.registered_commands[before:]:
        command.rich_help_panel = heading


def _version(wanted: bool) -> None:
    if wanted:
        say(f"doxa {doxa.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _all(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="The version.", callback=_version, is_eager=True)
    ] = False,
    keys: Annotated[
        str | None,
        typer.Option(
            help="The key file of an encrypted ledger. It may stand anywhere in the line.",
            metavar="FILE",
            envvar="DOXA_KEYS",
        ),
    ] = None,
) -> None:
    opt.use_keys(keys)
    if ctx.invoked_subcommand is None:
        note(ctx.get_help())
        raise typer.Exit(CALLER)
