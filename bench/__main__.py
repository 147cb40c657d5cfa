"""``python -m doxa.bench``: measures doxa beside the same work written by hand, and its peers.

A run without arguments is the quick one: a history of 10,000 events. Each measure can be run alone
(``--only point --size 100k --json``). ``--page`` writes the page about performance.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from doxa.bench import (
    appends,
    audits,
    compactions,
    decays,
    derivations,
    erasures,
    peers,
    processes,
    reads,
    rejections,
    report,
    sealing,
    shapes,
    upkeep,
)
from doxa.bench.fields import NEEDED, Field, enough_memory
from doxa.bench.machine import load, machine, peak_memory
from doxa.bench.measuring import Effort, Finding

Measure = Callable[[Field, Effort], Iterator[Finding]]

MEASURES: Final[dict[str, Measure]] = {
    "point": reads.point,
    "slice_large": reads.slice_large,
    "slice_small": reads.slice_small,
    "open": processes.open_ledger,
    "rebuild": processes.rebuild,
    "disk": processes.disk,
    "memory": processes.memory,
    "audit": audits.audit,
    "backup": audits.backup,
    "assemble": reads.assemble,
    "withdraw": upkeep.withdraw,
    "stale": upkeep.stale,
    "append_one": appends.append_one,
    "append_batch": appends.append_batch,
    "encrypted_one": sealing.encrypted_one,
    "encrypted_batch": sealing.encrypted_batch,
    "encrypted_open": sealing.encrypted_open,
    "rejections": rejections.rejections,
    "decay": decays.decay,
    "purge": erasures.purge,
    "compaction": compactions.compaction,
    "consolidate": derivations.consolidate,
    "refresh": derivations.refresh,
    "shapes": shapes.shapes,
}
"""In the order in which they run: what only reads comes before what appends to the history."""
PEERS: Final = "peers"
QUICK, FULL = ("10k",), ("10k", "100k", "1M")
BUSY: Final = 0.8  # processes a core that want to run, beyond which others disturb a run
UNITS: Final = {"k": 1_000, "m": 1_000_000}

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def events_of(text: str) -> int:
    """``100k`` or ``1M`` or ``20000`` as a number. Raises `typer.BadParameter` for anything else,
    and for less than 10,000."""
    unit = UNITS.get(text[-1:].lower(), 1)
    digits = text if unit == 1 else text[:-1]
    if not digits.isascii() or not digits.isdecimal() or int(digits) * unit < 10_000:
        raise typer.BadParameter(f"{text!r} is no size; give 10k, 100k, 1M, 10M or a number")
    return int(digits) * unit


def run(
    sizes: list[int],
    chosen: list[str],
    effort: Effort,
    folder: Path,
    show: Callable[[str], Callable[[int, int], None]],
    tell: Callable[[str], None],
) -> report.Run:
    """Measures what was chosen at each size. ``show`` is told what begins, and gives the function
    that is told how far it is; ``tell`` takes notices."""
    made = report.Run(machine(folder))
    made.documents = documents()
    crowd = made.machine["load"]

    def notice(text: str) -> None:
        made.notices.append(text)
        tell(text)

    def fail(what: str) -> None:
        made.failed.append(what)
        notice(f"{what} failed:\n{traceback.format_exc()}")

    cores = made.machine["cores"]
    if crowd > BUSY * cores:
        notice(f"the machine was busy (load {crowd} on {cores} cores): trust ratios, not figures")
    for size in sizes:
        name = report.size_name(size)
        if not enough_memory(size):
            need = size * NEEDED / 1e9
            notice(f"{name} events are left out: they need about {need:.0f} GB of free memory")
            continue
        field = Field(size, folder / name, show(f"{name}: making the history"))
        try:
            for measure in chosen:
                if measure != PEERS:
                    step = replace(effort, progress=show(f"{name}: {measure}"))
                    try:
                        made.findings += MEASURES[measure](field, step)
                    except Exception:  # told, and again at the end: a long run is not lost to it
                        fail(f"{measure} at {name}")
        finally:
            field.close()
    if PEERS in chosen:
        made.findings += peers.measure(
            sizes,
            folder / "peers",
            effort,
            begin=lambda title: show(title)(0, 1),
            tell=notice,
            fail=fail,
        )
    made.machine |= {"load_at_end": round(load(), 2), "peak_memory": peak_memory()}
    return made


def documents() -> dict[str, str]:
    """What each measure does, from its docstring, by the name of its findings."""
    found = {name: _words(measure.__doc__) for name, measure in MEASURES.items()}
    small = found.pop("slice_small")
    found |= {"slice_early": small, "slice_rare": small}
    found.pop("shapes")
    found |= {f"shape_{name}": _words(shape.__doc__) for name, (shape, _) in shapes.SHAPES.items()}
    return {**found, **peers.DOCUMENTS}


def _words(text: str | None) -> str:
    return " ".join((text or "").replace("``", "`").split())


@app.command()
def main(
    only: Annotated[list[str] | None, typer.Option(help="this measure alone; repeatable")] = None,
    size: Annotated[list[str] | None, typer.Option(help="events: 10k, 100k, 1M, 10M")] = None,
    full: Annotated[bool, typer.Option("--full", help="10k, 100k and 1M, thoroughly")] = False,
    rounds: Annotated[float | None, typer.Option(help="a factor for the rounds")] = None,
    seconds: Annotated[float | None, typer.Option(help="the most for one measure's turns")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, not tables")] = False,
    page: Annotated[Path | None, typer.Option(help="write the page, and its assets")] = None,
    again: Annotated[Path | None, typer.Option(help="report this kept run instead")] = None,
    folder: Annotated[Path | None, typer.Option(help="where ledgers are made for it")] = None,
) -> None:
    """Measures doxa beside the same work written by hand, and beside its peers."""
    talk = Console(stderr=True)
    if again is not None:
        made = report.Run.from_dict(json.loads(again.read_text("utf-8")))
    else:
        known = [*MEASURES, PEERS]
        for name in only or ():
            if name not in known:
                raise typer.BadParameter(f"no measure {name!r}; there are {', '.join(known)}")
        chosen = [name for name in known if not only or name in only]
        sizes = [events_of(text) for text in size or (FULL if full else QUICK)]
        effort = Effort(
            rounds=rounds if rounds is not None else 1.0 if full else 0.4,
            seconds=seconds if seconds is not None else 60.0 if full else 8.0,
        )
        place = Path(tempfile.mkdtemp(prefix="doxa-bench-", dir=folder))
        try:
            made = _watched(sorted(sizes), chosen, effort, place, talk)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    if page is not None:
        write_page(made, page)
        talk.print(f"written: {page} and {page.parent / 'assets'}")
    if as_json:
        sys.stdout.write(json.dumps(made.as_dict(), indent=1, ensure_ascii=False) + "\n")
    else:
        wide = Console()
        report.show(made, wide if wide.is_terminal else Console(width=120))
    if made.failed:
        talk.print(f"failed: {', '.join(made.failed)}", style="bold red")
        raise typer.Exit(1)


def _watched(
    sizes: list[int], chosen: list[str], effort: Effort, place: Path, talk: Console
) -> report.Run:
    """The run, with a line for what is going on."""
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=talk, transient=True) as progress:
        task: TaskID = progress.add_task("", total=None)

        def show(title: str) -> Callable[[int, int], None]:
            # The line changes when the measure first says how far it is.
            def step(done: int, total: int) -> None:
                progress.update(task, description=title, completed=done, total=total)

            return step

        def tell(text: str) -> None:
            progress.console.print(text, markup=False, highlight=False)

        return run(sizes, chosen, effort, place, show, tell)


def write_page(made: report.Run, page: Path) -> None:
    """Writes the page, its pictures, and the raw figures beside them in ``assets/``."""
    from doxa.bench.plots import draw

    assets = page.parent / "assets"
    draw(made.findings, assets)
    page.write_text(report.page(made), "utf-8")
    kept = json.dumps(made.as_dict(), ensure_ascii=False, separators=(",", ":"))
    (assets / "performance.json").write_text(kept + "\n", "utf-8")


if __name__ == "__main__":
    app(prog_name="python -m doxa.bench")
