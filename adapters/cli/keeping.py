"""Commands about the ledger itself: is it whole, how large is it, how does it work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.auditing import Against, Key, kept
from doxa.adapters.cli.failures import DAMAGE, DONE
from doxa.adapters.cli.output import counted, document, note, progress, record, say, table
from doxa.engine.errors import DamageError, WrongKeys
from doxa.verification import Report

__all__ = ["add_to"]


def verify(
    path: opt.Path,
    against: Against = None,
    key: Key = None,
    oracle: Annotated[
        bool, typer.Option(help="Compare belief with a recomputation from the raw log.")
    ] = True,
    as_json: opt.AsJson = False,
) -> int:
    """Check the whole ledger.

    The chain, every commitment, and the belief; with --against, whether the log is still the one
    that was there when a head was kept. Exit 4 if something is wrong.
    """
    with progress("verify") as told:
        report = _verified(path, kept(against), key, oracle, told)
    if as_json:
        document(report.as_dict())
    else:
        if report.problems:
            table(("position", "code", "message", "id"), report.problems)
        say(f"head {report.head}, chain {report.chain}")
        for text in report.notes:
            note(text)
        note(
            f"{counted(report.events, 'event')}, {report.erased} erased, "
            f"{counted(report.compared, 'standing')} compared, "
            f"{_kept(report)}"
            f"{counted(len(report.problems), 'problem')}"
        )
    return DONE if report.ok else DAMAGE


def _kept(report: Report) -> str:
    return f"{counted(report.pinned, 'position')} against what was kept, " if report.pinned else ""


def _verified(
    path: str,
    against: list[Any] | None,
    key: str | None,
    oracle: bool,
    told: Callable[[int, int | None], None],
) -> Report:
    """The report, on the log alone where it is too damaged to be folded, or encrypted."""
    try:
        with opt.reading(path) as ledger:
            return ledger.verify(against=against, key=key, oracle=oracle, progress=told)
    except (DamageError, WrongKeys) as error:
        if isinstance(error, WrongKeys) and opt.keys() is not None:
            raise
        from doxa.auditing import pins
        from doxa.engine.log import Problem
        from doxa.engine.store import LogStore
        from doxa.places import LOG
        from doxa.verification import audited

        found, notes = pins(against, key)
        with LogStore.open(Path(path) / LOG, create=False) as store:
            report = audited(store, found)
        if isinstance(error, WrongKeys):
            report.notes.append("the log alone was checked, since it is encrypted; give --keys")
        else:
            report.problems = report.problems or [Problem(0, error.code, str(error))]
        report.notes += notes
        return report


def stats(path: opt.Path, as_json: opt.AsJson = False) -> None:
    """Print figures about the ledger.

    Events by kind, workspaces with their revisions, bytes.
    """
    with opt.reading(path) as ledger:
        record(ledger.stats(), as_json=as_json)


def demo(
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="Keep the ledger of the example here.")
    ] = None,
) -> int:
    """Show doxa at work on a small example."""
    from rich.console import Console

    from doxa.adapters.demo import run

    return run(Console(), None if folder is None else Path(folder))


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for command in (verify, stats, demo):
        app.command()(command)
