"""What is promised of each measure, and whether a run kept it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from doxa.bench.measuring import Finding, growth

__all__ = ["BARS", "REASONS", "Bar", "Loss", "Verdict", "losses", "verdicts"]

FLAT: Final = 1.3


@dataclass(frozen=True)
class Verdict:
    """What was promised, what was found, and at which size."""

    bar: Bar
    size: int
    found: float
    least: float | None
    """The same of the least figures, where the bar is about a series."""

    @property
    def met(self) -> bool:
        """Whether the bar was kept, by the medians."""
        return self.found <= self.bar.limit if self.bar.at_most else self.found >= self.bar.limit


@dataclass(frozen=True)
class Bar:
    """One promise: what is taken from a run's findings, and its limit.

    ``found`` gives the size, the figure and that of the least figures; ``None`` where the run did
    not measure it. ``unit`` is what the figure and the limit are shown in.
    """

    number: int
    title: str
    found: Callable[[list[Finding]], tuple[int, float, float | None] | None]
    limit: float
    unit: str = "x"
    at_most: bool = True
    least_size: int = 0
    """Below this size nothing is promised."""


def _last(findings: list[Finding], measure: str) -> Finding | None:
    """The measure's finding at the largest size."""
    return max((f for f in findings if f.measure == measure), key=lambda f: f.size, default=None)


def _ratio(
    number: int, title: str, measure: str, theirs: str, limit: float, ours: str = "doxa"
) -> Bar:
    def found(findings: list[Finding]) -> tuple[int, float, float | None] | None:
        finding = _last(findings, measure)
        if finding is None:
            return None
        return finding.size, finding.ratio(ours, theirs), finding.ratio(ours, theirs, least=True)

    return Bar(number, title, found, limit)


def _taking(
    number: int,
    title: str,
    measure: str,
    limit: float,
    unit: str,
    ours: str = "doxa",
    part: float = 0,
) -> Bar:
    """At most so many of a unit of time, or of MB; the median or, with ``part``, that share."""
    scale = {"µs": 1e6, "ms": 1e3, "MB": 1e-6}[unit]

    def found(findings: list[Finding]) -> tuple[int, float, float | None] | None:
        finding = _last(findings, measure)
        if finding is None:
            return None
        series = finding.series[ours]
        figure = series.share(part) if part else series.median
        return finding.size, figure * scale, series.least * scale

    return Bar(number, title, found, limit, unit)


def _flat(number: int, title: str, measure: str, limit: float = FLAT, ours: str = "doxa") -> Bar:
    def found(findings: list[Finding]) -> tuple[int, float, float | None] | None:
        grown = growth(findings, measure, ours)
        finding = _last(findings, measure)
        return None if grown is None or finding is None else (finding.size, grown, None)

    return Bar(number, title, found, limit)


def _fact(
    number: int,
    title: str,
    measure: str,
    fact: str,
    limit: float,
    unit: str = "",
    at_most: bool = True,
) -> Bar:
    def found(findings: list[Finding]) -> tuple[int, float, float | None] | None:
        finding = _last(findings, measure)
        return None if finding is None else (finding.size, float(finding.facts[fact]), None)

    return Bar(number, title, found, limit, unit, at_most)


READY, ALONE, VIEW = "doxa: ready events", "doxa: recorder alone", "doxa: with its view"
BARS: Final = (
    _ratio(1, "one durable commit ÷ a bare SQLite insert", "append_one", "raw SQLite", 1.5),
    _ratio(2, "10,000 ready events ÷ SQLite's executemany", "append_batch", "raw SQLite", 2, READY),
    _fact(2, "ready events", "append_batch", f"{READY}, events/s", 80_000, "events/s", False),
    _ratio(2, "10,000 by the recorder ÷ executemany", "append_batch", "raw SQLite", 2, ALONE),
    _fact(2, "recorder alone", "append_batch", f"{ALONE}, events/s", 80_000, "events/s", False),
    _ratio(3, "point ÷ SQLite", "point", "SQLite", 1),
    _ratio(3, "point with its view ÷ SQLite", "point", "SQLite", 1, VIEW),
    _taking(3, "point", "point", 15, "µs"),
    _taking(3, "point with its view", "point", 15, "µs", VIEW),
    _flat(3, "point, largest ÷ smallest size", "point"),
    _flat(3, "point with its view, largest ÷ smallest size", "point", ours=VIEW),
    _ratio(4, "large slice ÷ DuckDB", "slice_large", "DuckDB", 0.6),
    _ratio(5, "early slice ÷ DuckDB", "slice_early", "DuckDB", 0.3),
    _ratio(5, "slice of a rare predicate ÷ DuckDB", "slice_rare", "DuckDB", 0.3),
    _taking(6, "withdrawal that fells 10 and 3, no flush", "withdraw", 200, "µs"),
    _flat(6, "withdrawal, largest ÷ smallest size", "withdraw"),
    _taking(7, "the one stale summary found", "stale", 1, "ms"),
    _fact(7, "false alarms", "stale", "false alarms", 0),
    _taking(8, "assembly, p50", "assemble", 3, "ms"),
    _taking(8, "assembly, p95", "assemble", 8, "ms", part=0.95),
    _flat(8, "assembly, largest ÷ smallest size", "assemble"),
    _taking(9, "open", "open", 100, "ms"),
    _fact(9, "made anew from the log", "rebuild", "events/s", 150_000, "events/s", False),
    replace(
        _taking(10, "memory, a million claims with supports", "memory", 700, "MB"),
        least_size=1_000_000,
    ),
    _fact(
        11, "log and cache beyond the payload", "disk", "beyond the payload, B an event", 300, "B"
    ),
    _fact(13, "the chain recomputed", "audit", "events/s", 100_000, "events/s", False),
    _fact(
        14,
        "a blocked write beyond a plain one, no flush",
        "rejections",
        "beyond a plain write, µs",
        20,
        "µs",
    ),
    _taking(15, "a pass that archives one claim in a hundred", "decay", 3_000, "ms"),
    _taking(15, "the same where the others were used", "decay_used", 3_000, "ms"),
    _taking(17, "purging 1,000 claims, truncation included", "purge", 2_000, "ms"),
    _taking(16, "compacting all but two of ten versions", "compaction", 30_000, "ms"),
    *(
        _fact(12, f"shape: {name}, an element at n ÷ at n/10", f"shape_{name}", "growth", 2, "x")
        for name in ("versions", "source", "ring", "corrections", "portions", "cycles")
    ),
)
"""In the order in which they are reported. Figures are medians, at the largest size of the run."""


def verdicts(findings: list[Finding], bars: Iterable[Bar] = BARS) -> list[Verdict]:
    """Each bar that the run can say something about."""
    found = ((bar, bar.found(findings)) for bar in bars)
    return [
        Verdict(bar, *taken)
        for bar, taken in found
        if taken is not None and taken[0] >= bar.least_size
    ]


@dataclass(frozen=True)
class Loss:
    """A contender that was faster, or smaller, than doxa; ``ratio`` is doxa's figure over its."""

    measure: str
    size: int
    contender: str
    ratio: float

    @property
    def reason(self) -> str:
        """Why, in a sentence; empty where nobody has said it yet."""
        name = self.contender.split(":")[0]
        for known in (name, name.rpartition(" ")[0]):
            if (self.measure, known) in REASONS:
                return REASONS[self.measure, known]
        return ""


_CACHED: Final = "Beside its log doxa keeps what lets it open fast, some 170 bytes an event."
REASONS: Final[dict[tuple[str, str], str]] = {
    ("append_one", "raw SQLite"): (
        "The bare insert checks nothing, chains nothing and keeps nothing in memory."
    ),
    ("append_batch", "raw SQLite"): (
        "The bare insert is given finished bytes; doxa makes them from mappings, checks every id "
        "and target, chains them and settles what follows."
    ),
    ("audit", "by hand"): (
        "The program by hand checks the chain alone; doxa also looks at the file's pages, tables "
        "and indexes, and keeps what it needs to name what was changed."
    ),
    ("audit", "raw hash"): (
        "The file is hashed in one go; the chain takes two digests an event, each of a few bytes, "
        "and reads the events out of SQLite's pages."
    ),
    ("backup", "SQLite"): (
        "VACUUM INTO copies, and no more; doxa recomputes the chain of the copy, takes its digest "
        "and flushes it before it gives it its name."
    ),
    ("assemble", "SQLite"): (
        "By hand the texts are only joined: no labels, citations, conflicts, reasons or receipt."
    ),
    ("open", "SQLite"): "SQLite reads nothing before it is asked.",
    ("open_first", "SQLite"): "SQLite reads the pages of one row; doxa has read all it needs.",
    ("decay", "numpy"): (
        "By hand flags are set in an array; doxa looks at pins, floors and policies, and records "
        "durably what it archived, and why."
    ),
    ("decay_used", "numpy"): "By hand the last uses lie in an array; doxa reads them from a file.",
    ("decay", "SQLite"): (
        "By hand a column is updated by its index; doxa judges, chains and folds the events that "
        "name the claims, each of which is looked at once more under the lock."
    ),
    ("decay_used", "SQLite"): (
        "By hand a column is updated by its index; doxa has the uses in a file of their own."
    ),
    ("purge", "SQLite"): (
        "By hand the rows are known and nothing is recorded; doxa looks up what was said of each "
        "claim, records what goes, chains it, settles what rested on it, and clears what is kept."
    ),
    ("compaction", "SQLite"): (
        "By hand nothing is looked at, and nothing kept of what went; doxa finds what may go, "
        "keeps how it stood and a digest of it, and folds what is left anew."
    ),
    ("stale", "SQLite"): (
        "By hand one row is looked up; doxa says why, by which event, and that nothing else is."
    ),
    ("disk", "SQLite"): "By hand only the outcome is kept, without its events.",
    ("disk", "DuckDB"): "By hand only the outcome is kept, without its events, and compressed.",
    ("open", "DuckDB"): (
        "The checkpoint is read through first, so that no damaged byte ever answers; DuckDB reads "
        "its file when it is asked."
    ),
    ("open_first", "DuckDB"): (
        "The checkpoint is read through first, so that no damaged byte ever answers; DuckDB reads "
        "the blocks of one row."
    ),
    ("slice_large", "DuckDB"): (
        "The masks look at every claim recorded by then; texts are copied on both sides."
    ),
    ("point", "SQLite"): (
        "The row is found in compact arrays by interpreted code; SQLite's index does it in C."
    ),
    (
        "point_view",
        "SQLite",
    ): "A view is made first, with its coordinates checked; a query has none.",
    ("peer_append", "tiramemsu"): "It does not flush.",
    ("peer_append", "memvara"): "It does not flush.",
    ("peer_append", "plugmem"): (
        "It writes a record and flushes, in compiled code; doxa checks, chains, commits to SQLite "
        "and settles what follows, in Python."
    ),
    ("peer_withdraw", "tiramemsu"): "It does not flush.",
    ("peer_withdraw", "memvara"): "It does not flush, and nothing else falls with the fact.",
    ("peer_withdraw", "plugmem"): "Compiled code, and nothing else falls with the fact.",
    ("peer_load", "plugmem"): "Compiled code, and no chain over its events.",
    ("peer_load", "tgms"): "Compiled code.",
    ("peer_load", "anatid"): (
        "By its route for whole Parquet files; by its verbs it takes some 150 a second."
    ),
    ("peer_open", "tiramemsu"): "Doxa reads what is believed into memory first.",
    ("peer_open", "plugmem"): "Compiled code.",
    ("peer_disk", "anatid"): "Compressed columns, and no chain over its events.",
    ("peer_disk", "plugmem"): _CACHED,
    ("peer_disk", "tgms"): _CACHED,
    ("peer_disk", "tiramemsu"): _CACHED,
}
"""Why a contender wins, by measure and contender (without its version)."""


def losses(findings: list[Finding]) -> list[Loss]:
    """Every contender whose median is below doxa's at the largest size where they met, the worst
    first."""
    last: dict[tuple[str, str], Loss] = {}
    for finding in sorted(findings, key=lambda f: f.size):
        for ours, theirs in finding.contenders():
            if ours == "doxa":
                ratio = finding.ratio(ours, theirs)
                last[finding.measure, theirs] = Loss(finding.measure, finding.size, theirs, ratio)
    return sorted((loss for loss in last.values() if loss.ratio > 1), key=lambda loss: -loss.ratio)
