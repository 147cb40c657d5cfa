"""A run's findings for people: a table on the terminal, and the page about performance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from doxa.bench.bars import Verdict, losses, verdicts
from doxa.bench.measuring import Finding, Series, growth

__all__ = ["PLOTS", "Run", "amount", "page", "show", "size_name"]

NO_REASON: Final = "No reason is on record yet."
PLOTS: Final = {
    "performance-ratios.svg": "doxa beside each contender",
    "performance-growth.svg": "doxa from the smallest to the largest history",
    "performance-peers.svg": "doxa beside its peers",
}


@dataclass
class Run:
    """One run: where it took place, what it found, and what it has to say."""

    machine: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    """What each measure does, by its name."""
    failed: list[str] = field(default_factory=list)
    """Measures that raised; the notices say what."""

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "machine": self.machine,
            "findings": [finding.as_dict() for finding in self.findings],
            "bars": [
                {
                    "number": one.bar.number,
                    "title": one.bar.title,
                    "size": one.size,
                    "found": one.found,
                    "least": one.least,
                    "limit": one.bar.limit,
                    "unit": one.bar.unit,
                    "met": one.met,
                }
                for one in verdicts(self.findings)
            ],
            "notices": self.notices,
            "documents": self.documents,
            "failed": self.failed,
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Run:
        """A run as it was kept."""
        findings = [Finding.from_dict(found) for found in kept["findings"]]
        return cls(kept["machine"], findings, kept["notices"], kept["documents"], kept["failed"])


# ------------------------------------------------------------ figures in words


def size_name(size: int) -> str:
    """``10k`` for ten thousand, ``1M`` for a million."""
    if size % 1_000_000 == 0:
        return f"{size // 1_000_000}M"
    return f"{size // 1_000}k" if size % 1_000 == 0 else f"{size:,}"


def amount(figure: float, unit: str = "s") -> str:
    """A figure with three digits and a unit that suits it."""
    if unit == "s":
        for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
            if figure >= scale:
                return f"{_three(figure / scale)} {name}"
        return "0 s"
    if unit == "B":
        for scale, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
            if figure >= scale:
                return f"{_three(figure / scale)} {name}"
    return f"{_three(figure)} {unit}".strip()


def _three(figure: float) -> str:
    if figure >= 1_000:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


def _wanted(one: Verdict) -> str:
    return f"{'≤' if one.bar.at_most else '≥'} {amount(one.bar.limit, one.bar.unit)}"


def _found(one: Verdict) -> str:
    least = "" if one.least is None else f" (least {amount(one.least, one.bar.unit)})"
    return amount(one.found, one.bar.unit) + least


def _row(name: str, series: Series) -> list[str]:
    unit = series.unit
    return [
        name,
        amount(series.median, unit),
        amount(series.spread, unit) if len(series.figures) > 1 else "",
        amount(series.least, unit),
        str(len(series.figures)),
    ]


def _ratios(finding: Finding) -> Iterator[tuple[str, str, float, float]]:
    for ours, theirs in finding.contenders():
        least = finding.ratio(ours, theirs, least=True)
        yield ours, theirs, finding.ratio(ours, theirs), least


# ------------------------------------------------------------ the terminal


def show(run: Run, console: Console) -> None:
    """Prints everything that a run found."""
    console.print(_figures(run))
    if any(list(finding.contenders()) for finding in run.findings):
        console.print(_compared(run))
    for finding in run.findings:
        if finding.facts:
            said = ", ".join(f"{name} {_plain(fact)}" for name, fact in finding.facts.items())
            console.print(f"{finding.measure} {size_name(finding.size)}: {said}", style="dim")
    kept = verdicts(run.findings)
    if kept:
        console.print(_promised(kept))
    for notice in run.notices:
        console.print(f"notice: {notice}", style="yellow", markup=False, highlight=False)


def _figures(run: Run) -> Table:
    table = Table(title="What was measured", title_justify="left")
    for name in ("measure", "size", "contender", "median", "IQR", "least", "figures"):
        right = name in ("size", "median", "IQR", "least", "figures")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for finding in run.findings:
        for place, (name, series) in enumerate(finding.series.items()):
            head = [finding.measure, size_name(finding.size)] if place == 0 else ["", ""]
            table.add_row(*head, *_row(name, series), end_section=place == len(finding.series) - 1)
    return table


def _compared(run: Run) -> Table:
    table = Table(title="doxa ÷ contender (below 1: doxa is faster)", title_justify="left")
    for name in ("measure", "size", "doxa", "contender", "of medians", "of least"):
        right = name in ("size", "of medians", "of least")
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for finding in run.findings:
        for ours, theirs, median, least in _ratios(finding):
            style = None if median <= 1 else "bold"
            cells = [finding.measure, size_name(finding.size), ours, theirs]
            table.add_row(*cells, amount(median, ""), amount(least, ""), style=style)
    return table


def _promised(kept: list[Verdict]) -> Table:
    table = Table(title="Bars", title_justify="left")
    for name in ("", "bar", "size", "wanted", "found", ""):
        table.add_column(name, justify="right" if name in ("size", "wanted") else "left")
    for one in kept:
        said = "[green]met[/]" if one.met else "[bold red]missed[/]"
        number, size = str(one.bar.number), size_name(one.size)
        table.add_row(number, one.bar.title, size, _wanted(one), _found(one), said)
    return table


def _plain(fact: float | int | str) -> str:
    return fact if isinstance(fact, str) else f"{fact:,}"


# ------------------------------------------------------------ the page


def page(run: Run) -> str:
    """The page about performance, in Markdown; its pictures are in ``assets/``."""
    parts = (_head(run), _notices(run), _bars(run), _lost(run), _grown(run), _all(run))
    return "\n".join(line for part in parts for line in part) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(['---'] * len(head))}|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _head(run: Run) -> Iterator[str]:
    where = run.machine
    sizes = sorted({f.size for f in run.findings if not f.measure.startswith("peer_")})
    yield "# Performance"
    yield ""
    yield "This page is written by `make bench-full`; `make bench` measures the same at a small"
    yield "size. All figures are of one run, but for what the notices name: the contenders of a"
    yield "measure take turns, so that all meet the same machine. What is asked is random and"
    yield "seeded, and never asked twice. Tables give the median, the distance of the quartiles"
    yield "(IQR) and the least; a ratio is doxa's figure over the contender's, so below 1 doxa is"
    yield "faster, or smaller."
    yield ""
    yield "To repeat it: `make bench-peers` installs the peers, each in an environment of its own,"
    yield "and `make bench-full` takes about half an hour on a machine that does nothing else."
    yield '`make bench BENCH_ARGS="--size 100k --only point"` measures a part. The bars were set'
    yield "before anything was measured."
    yield ""
    yield f"- **Where:** {where['processor']}, {where['cores']} cores, {where['memory_gb']} GB,"
    yield f"  {where['system']}; a durable insert into a bare SQLite took {where['flush_us']} µs."
    versions = ("doxa", "python", "sqlite", "duckdb", "pyarrow", "numpy", "eventsourcing")
    yield f"- **Versions:** {', '.join(f'{name} {where[name]}' for name in versions)}."
    yield f"- **When:** {where['began']} UTC; load {where['load']} at the start,"
    yield f"  {where.get('load_at_end', '?')} at the end."
    names = ", ".join(size_name(size) for size in sizes)
    yield f"- **Histories:** {names} events: 78 % claims, 16 % second sources (as many as a fifth"
    yield "  of the claims), 4 % corrections and 2 % withdrawals, which reach back anywhere; a"
    yield "  fifth of the claims come up to a year late, a third are closed, 5 % are derived from"
    yield "  others; half of the corrections cover a portion of valid time only. Seed 7, 100 events"
    yield "  a commit."
    peak = where.get("peak_memory", {})
    if peak:
        said = ", ".join(f"{name} {amount(size, 'B')}" for name, size in peak.items())
        yield f"- **Peak memory** of the run, contenders and their data included: {said}."
    yield "- The raw figures are in [performance.json](assets/performance.json)."
    yield ""
    for file, title in PLOTS.items():
        yield f"![{title}](assets/{file})"
        yield ""


def _notices(run: Run) -> Iterator[str]:
    if run.notices:
        yield "## Notices"
        yield ""
        for notice in run.notices:
            first = notice.splitlines()[0].rstrip(":")  # what follows is for the terminal
            yield f"- {first[:1].upper()}{first[1:]}"
        yield ""


def _bars(run: Run) -> Iterator[str]:
    kept = verdicts(run.findings)
    met = sum(one.met for one in kept)
    yield "## Bars"
    yield ""
    yield f"{met} of {len(kept)} are met. What counts is the median, at the size given."
    yield ""
    rows = [
        [
            str(one.bar.number),
            one.bar.title,
            size_name(one.size),
            _wanted(one),
            _found(one),
            "met" if one.met else "**missed**",
        ]
        for one in kept
    ]
    yield from _table(["", "bar", "size", "wanted", "found", ""], rows)
    yield ""


def _lost(run: Run) -> Iterator[str]:
    lost = losses(run.findings)
    yield "## Where doxa is behind"
    yield ""
    if not lost:
        yield "Nowhere in this run."
        yield ""
        return
    rows = [
        [
            f"`{one.measure}`",
            size_name(one.size),
            one.contender,
            amount(one.ratio, "x"),
            one.reason or NO_REASON,
        ]
        for one in lost
    ]
    yield from _table(["measure", "size", "ahead", "doxa takes", "why"], rows)
    yield ""


def _grown(run: Run) -> Iterator[str]:
    names = {
        (f.measure, name): None
        for f in run.findings
        for name in f.series
        if name.startswith("doxa") and not f.measure.startswith(("peer_", "shape_"))
    }
    rows = []
    for measure, name in names:
        factor = growth(run.findings, measure, name)
        if factor is not None:
            by_size = {
                f.size: f.series[name]
                for f in run.findings
                if f.measure == measure and name in f.series
            }
            cells = [amount(s.median, s.unit) for _, s in sorted(by_size.items())]
            rows.append([f"`{measure}`", name, " → ".join(cells), amount(factor, "x")])
    if rows:
        yield "## Growth"
        yield ""
        yield "The medians from the smallest to the largest history."
        yield ""
        yield from _table(["measure", "", "medians", "growth"], rows)
        yield ""


def _all(run: Run) -> Iterator[str]:
    yield "## Everything measured"
    yield ""
    for measure in dict.fromkeys(finding.measure for finding in run.findings):
        yield f"### {measure}"
        yield ""
        if measure in run.documents:
            yield run.documents[measure]
            yield ""
        found = [finding for finding in run.findings if finding.measure == measure]
        yield from _measure(found)


def _measure(findings: list[Finding]) -> Iterator[str]:
    rows = []
    for finding in findings:
        compared = {
            ours: [
                f"{amount(median, 'x')} {theirs} ({amount(least, 'x')})"
                for mine, theirs, median, least in _ratios(finding)
                if mine == ours
            ]
            for ours in finding.series
        }
        for name, series in finding.series.items():
            rows.append([size_name(finding.size), *_row(name, series), "; ".join(compared[name])])
    head = ["size", "contender", "median", "IQR", "least", "figures", "ratio (of least)"]
    yield from _table(head, rows)
    yield ""
    notes: dict[str, None] = {}
    for finding in findings:
        if finding.facts:
            said = ", ".join(f"{name}: {_plain(fact)}" for name, fact in finding.facts.items())
            notes[f"- {size_name(finding.size)}: {said}."] = None
        notes |= {f"- {note[:1].upper()}{note[1:]}": None for note in finding.notes}
    yield from notes
    if notes:
        yield ""
