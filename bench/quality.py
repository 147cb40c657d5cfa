"""``python -m doxa.bench.quality``: judges recall, and measures how fast it is.

A run without arguments is the quick one. ``--page`` writes the page about quality. The exit code is
1 where recall served what is not held, where it changed a file, or where the bench itself is not
what it says (`doxa.bench.scores.Broken`).
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from doxa.bench import corpora, judging, recall_speed
from doxa.bench.machine import load, machine, peak_memory
from doxa.bench.measuring import Effort
from doxa.bench.quality_page import COMMAND, QualityRun, page, show
from doxa.bench.scores import Broken
from doxa.engine.embedding import Embedder
from doxa.engine.errors import CallerError

__all__ = ["app", "embedder_of", "run", "write_page"]

AGES, SPEED = "ages", "speed"
QUICK_TOPICS, FULL_TOPICS = 300, 1_000
AGED: Final = 100  # topics of the corpus of stated ages
SIZES: Final = {False: (10_000, 100_000), True: (10_000, 100_000, 1_000_000)}
WITH_VECTORS: Final = 100_000  # texts at most; a million need 5 GB more
BUSY: Final = 0.8  # processes a core that want to run, beyond which others disturb a run

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def embedder_of(text: str) -> Embedder:
    """The embedder that ``module:attribute`` names, or that the function there makes. Raises
    `CallerError` where there is none, or what it needs is not installed."""
    module, _, attribute = text.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise CallerError(f"{text!r:.80} names no embedder: {error}") from None
    made = found() if callable(found) and not isinstance(found, Embedder) else found
    if not isinstance(made, Embedder):
        raise CallerError(f"{text!r:.80} gives a {type(made).__name__}, and no embedder")
    return made


def run(
    made: QualityRun,
    chosen: list[str],
    topics: int,
    sizes: tuple[int, ...],
    embedder: Embedder | None,
    effort: Effort,
    folder: Path,
    tell: Callable[[str], None],
    begin: Callable[[str], None] = lambda title: None,
) -> None:
    """Fills a run with what was chosen. Raises `Broken`."""

    def notice(text: str) -> None:
        made.notices.append(text)
        tell(text)

    for name in judging.CORPORA:
        if name in chosen:
            begin(name)
            try:
                made.judged.append(judging.judged(name, topics, embedder))
            except corpora.Absent as absent:
                notice(f"{name} is left out: {absent}")
    if AGES in chosen:
        begin("stated ages")
        made.ages = judging.ages(AGED)
    if SPEED not in chosen:
        return
    if find_spec(recall_speed.BM25S) is None:
        notice("bm25s is not installed: recall is measured without what it is compared with")
    for size in sizes:
        begin(f"{size:,} texts")
        place = folder / f"texts {size}"
        vectors = size <= WITH_VECTORS
        made.findings += recall_speed.measure(size, effort, place, vectors=vectors)
        shutil.rmtree(place, ignore_errors=True)


@app.command()
def main(
    only: Annotated[list[str] | None, typer.Option(help="this part alone; repeatable")] = None,
    topics: Annotated[int | None, typer.Option(min=10, help="of the generated corpus")] = None,
    size: Annotated[list[int] | None, typer.Option(help="texts to be searched fast")] = None,
    full: Annotated[bool, typer.Option("--full", help="more topics, and a million texts")] = False,
    embedder: Annotated[str | None, typer.Option(help="module:attribute of an embedder")] = None,
    rounds: Annotated[float | None, typer.Option(help="a factor for the rounds")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, not tables")] = False,
    to: Annotated[Path | None, typer.Option("--page", help="write the page, and its data")] = None,
) -> None:
    """Judges what recall serves beside stores without a view, and measures how fast it is."""
    known = [*judging.CORPORA, AGES, SPEED]
    for name in only or ():
        if name not in known:
            raise typer.BadParameter(f"no part {name!r}; there are {', '.join(known)}")
    chosen = [name for name in known if not only or name in only]
    talk = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="doxa-quality-"))
    made = QualityRun(machine(folder))
    if sys.argv[1:]:
        shown = " ".join(arg for arg in sys.argv[1:] if arg != "--json")
        made.command = f"python -m doxa.bench.quality {shown}"
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=talk, transient=True) as progress:
            task = progress.add_task("", total=None)

            def tell(text: str) -> None:
                progress.console.print(text, markup=False, highlight=False)

            crowd, cores = made.machine["load"], made.machine["cores"]
            if crowd > BUSY * cores:
                text = f"the machine was busy (load {crowd} on {cores} cores): trust ratios"
                made.notices.append(text)
                tell(text)
            run(
                made,
                chosen,
                topics or (FULL_TOPICS if full else QUICK_TOPICS),
                tuple(size or SIZES[full]),
                _embedder(embedder, made, tell),
                Effort(rounds=rounds or (1.0 if full else 0.3), seconds=30 if full else 8),
                folder,
                tell,
                lambda title: progress.update(task, description=title),
            )
    except Broken as broken:
        talk.print(f"failed: {broken}", style="bold red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    made.machine |= {"load_at_end": round(load(), 2), "peak_memory": peak_memory()}
    if to is not None and only:
        talk.print(f"{to} is not written: it is about a whole run")
    elif to is not None:
        write_page(made, to)
        talk.print(f"written: {to} and {to.parent / 'assets' / 'quality.json'}")
    if as_json:
        sys.stdout.write(json.dumps(made.as_dict(), indent=1, ensure_ascii=False) + "\n")
    else:
        wide = Console()
        show(made, wide if wide.is_terminal else Console(width=150))


def _embedder(text: str | None, made: QualityRun, tell: Callable[[str], None]) -> Embedder | None:
    """The embedder by its name; ``None``, and a notice, where it can't be had."""
    try:
        if text is not None:
            return embedder_of(text)
        said = f"no embedder is named: `{COMMAND}` names one; fused and strict are left out"
    except CallerError as error:
        said = f"fused and strict are left out: {error}"
    made.notices.append(said)
    tell(said)
    return None


def write_page(made: QualityRun, to: Path) -> None:
    """Writes the page, and the raw figures beside it in ``assets/``."""
    assets = to.parent / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    to.write_text(page(made), "utf-8")
    kept = json.dumps(made.as_dict(), ensure_ascii=False, separators=(",", ":"))
    (assets / "quality.json").write_text(kept + "\n", "utf-8")


if __name__ == "__main__":
    app(prog_name="python -m doxa.bench.quality")
