"""A run of the quality bench for people: tables on the terminal, and the page about quality."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from doxa.bench.judging import FIRST, TOP_K, Ages, Column, Judged
from doxa.bench.measuring import Finding
from doxa.bench.recall_speed import RUNS, Promise, promises
from doxa.bench.report import amount, size_name
from doxa.bench.scores import FIGURES, Share

__all__ = ["COMMAND", "QualityRun", "page", "show"]

COMMAND: Final = "make bench-quality"
WIDTH: Final = 100
MAIN: Final = ("plain top-k", "newest wins", "doxa", "doxa, fused", "doxa, strict")
TODAY: Final = ("plain top-k, as of today", "newest wins, as of today")
ORDERS: Final = ("doxa, fused", "doxa, fused by validity")
SPEED: Final[dict[str, str]] = {
    "recall": "The same questions by words: the whole recall, with all that it says of ten hits; "
    "the search alone, for the ten best; and bm25s, for the ten best, over the same stems with "
    "the same k1 and b. Stems of a question are made within each.",
    "filtering": "A search for the best of all texts, beside the best that are held at the view: "
    "ten of them, and a hundred, which is what a recall takes; and ten with half of the log in "
    "sight.",
    "recall_fused": "By words and by vectors of 384 dimensions, exactly, with ranks fused; and by "
    "vectors alone. The vectors are random directions: what is measured is the search.",
    "indexing": "All texts read from the log, taken apart and indexed in memory. bm25s is given "
    "the same texts and makes the same stems, once.",
    "keeping": "The index of words written down, and loaded again.",
}
TOLD: Final[dict[str, str]] = {
    "covid_vintages": "Counts of confirmed cases, day by day, as they were published and corrected "
    "later. The claims have no texts, so that subject, predicate and value are searched. The days "
    "are in their valid times alone: to a store without those one day's count is as near as "
    "another's.",
    "advisories": "Security advisories of Rust crates, as their texts were changed. A crate may "
    "have several at once.",
    "us_executive": "Who held the highest offices of the United States, as a data set had it. A "
    "person may have held several.",
    "generated": "Invented topics, of which 30 % are superseded later, 10 % contradicted and 10 % "
    "withdrawn. Its words mean nothing, so that no embedder can tell its questions apart.",
}
"""What a corpus is."""
Rows = list[list[str]]


@dataclass
class QualityRun:
    """One run: where it took place, what was asked, and what came of it."""

    machine: dict[str, Any]
    command: str = COMMAND
    judged: list[Judged] = field(default_factory=list)
    ages: tuple[Ages, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def promises(self) -> list[Promise]:
        """What is promised of recall's speed, as far as it was measured."""
        return promises(self.findings)

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "machine": self.machine,
            "command": self.command,
            "corpora": [one.as_dict() for one in self.judged],
            "ages": [one.as_dict() for one in self.ages],
            "findings": [one.as_dict() for one in self.findings],
            "promises": [one.as_dict() for one in self.promises],
            "notices": self.notices,
        }


# ------------------------------------------------------------ rows, for both


def _of(one: Judged, names: Sequence[str]) -> list[Column]:
    by_name = {column.name: column for column in one.columns}
    return [by_name[name] for name in names if name in by_name]


def _figures(columns: Sequence[Column], past: bool) -> Rows:
    rows = []
    for name in FIGURES:
        shares = [(column.past if past else column.now)[name] for column in columns]
        if any(share.of for share in shares) and (name != "refused" or any(s.some for s in shares)):
            rows.append([name, *map(_cell, shares)])
    return rows


def _cell(share: Share) -> str:
    return f"{100 * share.some / share.of:.1f} % of {share.of}" if share.of else ""


def _cost(columns: Sequence[Column]) -> Rows:
    return [
        ["p50", *(amount(column.p50) for column in columns)],
        ["p95", *(amount(column.p95) for column in columns)],
    ]


def _lacks(columns: Sequence[Column]) -> Rows:
    names = dict.fromkeys(lack for column in columns for lack in column.lacks)
    return [
        [lack.replace("_", " "), *(_cell(column.lacks[lack]) for column in columns)]
        for lack in names
    ]


def _orders(judged: Sequence[Judged]) -> Rows:
    rows = []
    for one in judged:
        for column in _of(one, ORDERS):
            graded = [_cell(column.grades[grade]) for grade in column.grades]
            if graded:
                order = "by validity" if column.name.endswith("validity") else "by match"
                right = (column.now["right among k"], column.now["right first"])
                rows.append([one.name, order, *graded, *map(_cell, right)])
    return rows


def _calibrations(judged: Sequence[Judged]) -> Rows:
    return [
        [
            one.name,
            f"{found.answerable} + {found.unanswerable}",
            f"{found.boundary:.3f}",
            f"{found.auc:.3f}",
            f"{found.auc_lower:.3f}",
            str(found.certification),
        ]
        for one in judged
        if (found := one.calibration) is not None
    ]


def _promised(run: QualityRun) -> Rows:
    return [
        [
            one.title,
            size_name(one.size),
            f"{'≤' if one.at_most else '≥'} {amount(one.limit, one.unit)}",
            amount(one.best, one.unit),
            amount(one.median, one.unit),
            "met" if one.met else "**missed**",
        ]
        for one in run.promises
    ]


def _speeds(finding: Finding) -> Rows:
    return [
        [
            size_name(finding.size) if place == 0 else "",
            name,
            amount(series.least, series.unit),
            amount(series.median, series.unit),
            f"{p95} ms" if (p95 := finding.facts.get(f"{name}, p95 ms")) is not None else "",
        ]
        for place, (name, series) in enumerate(finding.series.items())
    ]


_AGES: Final = ["order", "stale", "context invalid", "about the topic", "fresh above older"]
_ORDERS: Final = ["corpus", "order", "stale", "context invalid", "right among k", "right first"]
_CALIBRATIONS: Final = ["corpus", "fitted to", "boundary", "AUC", "at least", ""]
_PROMISES: Final = ["", "texts", "wanted", f"best of {RUNS}", f"median of {RUNS}", ""]
_SPEEDS: Final = ["texts", "", f"best of {RUNS}", f"median of {RUNS}", "p95"]


def _aged(run: QualityRun) -> Rows:
    return [
        [one.name, *map(_cell, (one.stale, one.context_invalid, one.about_it, one.fresh_first))]
        for one in run.ages
    ]


# ------------------------------------------------------------ the terminal


def show(run: QualityRun, console: Console) -> None:
    """Prints everything that a run found."""
    for one in run.judged:
        columns = _of(one, MAIN)
        _print(console, f"{one.name}: as known at the end", columns, _figures(columns, False))
        past = _of(one, (*MAIN, *TODAY))
        _print(console, f"{one.name}: as known earlier", past, _figures(past, True))
        _print(console, f"{one.name}: nothing served, by why nothing is right", columns,
               _lacks(columns))  # fmt: skip
        _print(console, f"{one.name}: what an answer took", columns, _cost(columns))
    tables = (
        ("Calibrations", _CALIBRATIONS, _calibrations(run.judged)),
        ("Grades of the hits, in either order", _ORDERS, _orders(run.judged)),
        (f"Stated ages: the first {FIRST} hits, in either order", _AGES, _aged(run)),
        *((f.measure, _SPEEDS, _speeds(f)) for f in run.findings),
        ("Promised", _PROMISES, _promised(run)),
    )
    for title, head, rows in tables:
        if rows:
            console.print(_table(title, head, rows))
    for notice in run.notices:
        console.print(f"notice: {notice}", style="yellow", markup=False, highlight=False)


def _print(console: Console, title: str, columns: Sequence[Column], rows: Rows) -> None:
    if rows:
        console.print(_table(title, ["", *(column.name for column in columns)], rows))


def _table(title: str, head: Sequence[str], rows: Rows) -> Table:
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(head):
        table.add_column(name, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table


# ------------------------------------------------------------ the page


def page(run: QualityRun) -> str:
    """The page about quality, in Markdown."""
    parts = (_head(run), _meaning(run), *map(_corpus, run.judged), _trusted(run), _validity(run))
    lines = [line for part in (*parts, _fast(run)) for line in part]
    return "\n".join(_reflowed(lines)).rstrip("\n") + "\n"


def _reflowed(lines: Sequence[str]) -> Iterator[str]:
    """Paragraphs and points in lines of a hundred characters; tables and headings as they are."""
    said: list[str] = []
    for line in [*lines, ""]:
        prose = bool(line) and not line.startswith(("|", "#"))
        if said and (not prose or line.startswith("- ")):
            indent = "  " if said[0].startswith("- ") else ""
            yield from textwrap.wrap(
                " ".join(said),
                WIDTH,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            said = []
        if prose:
            said.append(line.strip())
        else:
            yield line


def _lines(head: Sequence[str], rows: Rows) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---'] * len(head))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _head(run: QualityRun) -> Iterator[str]:
    where = run.machine
    yield "# Quality"
    yield ""
    yield f"This page is written by `{COMMAND}`. The same questions are put to a store of texts"
    yield "that gives the nearest ones (**plain top-k**), to one that keeps the newest of each"
    yield "subject and predicate (**newest wins**), and to **doxa**, over the same documents and"
    yield f"with the same scorer: BM25 over the same stems and counts, the first {TOP_K} served."
    yield "What is right is known without doxa: from how a corpus was made, or from a reading of"
    yield "the history's lines that shares nothing with the engine."
    yield ""
    yield f"- **Command:** `{run.command}`"
    yield f"- **Where:** {where['processor']}, {where['cores']} cores, {where['memory_gb']} GB,"
    yield f"  {where['system']}; doxa {where['doxa']}, Python {where['python']}, numpy"
    yield f"  {where['numpy']}."
    yield f"- **When:** {where['began']} UTC; load {where['load']} at the start,"
    yield f"  {where.get('load_at_end', '?')} at the end."
    for notice in run.notices:
        yield f"- **Notice:** {notice.splitlines()[0]}"
    yield "- The raw figures are in [quality.json](assets/quality.json)."
    yield ""


def _meaning(run: QualityRun) -> Iterator[str]:
    yield "## What the figures mean"
    yield ""
    yield from _lines(["figure", "share of"], [[f"*{name}*", of] for name, of in FIGURES.items()])
    yield "Both stores without a view are given the texts that were recorded by a question's"
    yield "`known_at`, as if they had kept a copy of themselves for each moment; *as of today*"
    yield "says what they do without that. They are not told `valid_at`, for they have no use for"
    yield "it. Newest wins loses what is right where a subject has several values of a predicate"
    yield "at once, as it does in the published histories. Half of the questions are kept for"
    yield "calibration, and in no figure."
    yield ""
    yield "- **doxa** searches by words, without an embedder: standing alone decides (`standing`)."
    yield "- **doxa, fused** searches by words and vectors, and standing alone decides."
    yield "- **doxa, strict** does so too, and acts on a calibration fitted to the questions that"
    yield "  are kept; it serves what is `ok`, or contested and said to be. Where the calibration"
    yield "  is not certified, it refuses: no text goes out."
    yield ""
    yield "Two things end a run as failed, and this page is not written then: doxa serving anything"
    yield "as current that is not held at a question's view (by words, at those that are kept for"
    yield "calibration too); and a store without a view that scores otherwise on the generated"
    yield "corpus than its formula says, by a single question."
    yield ""


def _corpus(one: Judged) -> Iterator[str]:
    columns, past = _of(one, MAIN), _of(one, (*MAIN[:2], *TODAY, *MAIN[2:]))
    asked = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in one.questions.items())
    yield f"## {one.name}"
    yield ""
    yield f"{one.documents:,} documents. Questions: {asked}."
    yield ""
    if one.name in TOLD:
        yield TOLD[one.name]
        yield ""
    for title, of, rows in (
        ("As known at the end", columns, _figures(columns, False)),
        ("As known earlier", past, _figures(past, True)),
        ("Nothing served, by why nothing is right", columns, _lacks(columns)),
        ("What an answer took", columns, _cost(columns)),
    ):
        if rows:
            yield f"### {one.name}: {title[0].lower()}{title[1:]}"
            yield ""
            yield from _lines(["", *(column.name for column in of)], rows)
    yield "The stores give ids alone; doxa gives texts, labels, references, sources and reasons."
    yield ""


def _trusted(run: QualityRun) -> Iterator[str]:
    rows = _calibrations(run.judged)
    yield "## Knowing when there is no answer"
    yield ""
    yield "By words alone every question that shares a word with a text is served something, so"
    yield "that *never recorded* is not noticed: what doxa keeps back there is only what is not"
    yield "held. It is strict trust that abstains, where the embedder can tell the questions"
    yield "apart. What is certified is the lower 95 % bound of the AUC, which has to be 0.90 or"
    yield "more."
    yield ""
    if rows:
        yield from _lines(_CALIBRATIONS, rows)
    else:
        yield "No embedder was at hand in this run, so strict trust was not measured."
        yield ""


def _validity(run: QualityRun) -> Iterator[str]:
    yield "## The validity profile"
    yield ""
    yield "Grades of all hits that were served, ordered by match alone and by the validity"
    yield "profile, in fused mode. The profile only re-orders: what is at the end of a long list"
    yield "of hits may come forward because it is fresh, though it is not about what is asked."
    yield ""
    rows = _orders(run.judged)
    if rows:
        yield from _lines(_ORDERS, rows)
    if run.ages:
        topics = run.ages[0].fresh_first.of
        yield f"On an invented corpus of {topics} topics with six notes each, 2 to 400 days old,"
        yield "the older the better they match, the fresh ones of the workspace that is asked: the"
        yield f"first {FIRST} hits of each question, and the share of questions at which the"
        yield "freshest note stands above the oldest and best match. The vectors are stated, not"
        yield "learned."
        yield ""
        yield from _lines(_AGES, _aged(run))


def _fast(run: QualityRun) -> Iterator[str]:
    if not run.findings:
        return
    kept = run.promises
    yield "## How fast it is"
    yield ""
    yield "Texts of about forty words (30 to 50), drawn from Zipf's law, of 60,000; one claim in"
    yield "twenty is taken back later, and one in twenty replaced. Questions are six words of one"
    yield f"text. A figure is the median of a run of questions, none asked twice; there are {RUNS}"
    yield "runs, in which all take turns. No recall changed a byte on the disk: the files were"
    yield "compared."
    yield ""
    if kept:
        met = sum(one.met for one in kept)
        yield f"{met} of {len(kept)} bars are met, by the best of {RUNS} runs."
        yield ""
        yield from _lines(_PROMISES, _promised(run))
    for measure in dict.fromkeys(finding.measure for finding in run.findings):
        found = [finding for finding in run.findings if finding.measure == measure]
        yield f"### {measure}"
        yield ""
        yield SPEED[measure]
        yield ""
        yield from _lines(_SPEEDS, [row for finding in found for row in _speeds(finding)])
        for finding in found:
            facts = {k: v for k, v in finding.facts.items() if not k.endswith("p95 ms")}
            if facts:
                told = ", ".join(f"{name}: {fact:,}" for name, fact in facts.items()
                                 if not isinstance(fact, str))  # fmt: skip
                yield f"- {size_name(finding.size)}: {told}."
        yield ""
