"""What an import of an index did: for programs, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from doxa.adapters.graphrag.cells import shown
from doxa.adapters.graphrag.changes import Changes
from doxa.adapters.graphrag.folders import Run
from doxa.adapters.graphrag.mapping import Mapped
from doxa.adapters.graphrag.reports import Read
from doxa.adapters.graphrag.tables import TABLES, Remark, Tables
from doxa.engine import times
from doxa.engine.errors import DoxaError, ValueRejected
from doxa.engine.stream import Committed
from doxa.engine.words import counted

__all__ = ["Bound", "IndexImport", "RunImport", "outcome"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A report that is bound to its whole community as well, and why."""

    report: str | None
    number: int | None
    title: str
    reasons: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {
            "report": self.report,
            "number": self.number,
            "title": self.title,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class RunImport:
    """What became of one run of an index.

    ``events`` are new, by their kinds, and ``repeated`` were there. ``set_aside`` are rows that
    were not carried over, ``kept_out`` those that say a rejected value, ``remarks`` what is odd
    about rows that were carried over, ``missing`` tables that were not there. ``withdrawn``,
    ``restored`` and ``not_repeated`` are ids of evidence, ``stale`` those of summaries that are not
    repeated. ``resolved`` counts citations of reports, ``unresolved`` lists the others, ``bound``
    the reports that are bound to their whole community; ``documents`` are the sources by title.
    """

    folder: str
    complete: bool
    recorded_at: str | None
    revision: int
    rows: Mapping[str, int]
    events: int
    repeated: int
    kinds: Mapping[str, int]
    set_aside: tuple[Remark, ...]
    kept_out: tuple[Remark, ...]
    remarks: tuple[Remark, ...]
    missing: tuple[Remark, ...]
    withdrawn: tuple[str, ...]
    restored: tuple[str, ...]
    not_repeated: tuple[str, ...]
    stale: tuple[str, ...]
    resolved: int
    outside: int
    unresolved: tuple[Remark, ...]
    bound: tuple[Bound, ...]
    coarse: int
    documents: Mapping[str, str]
    dates: Mapping[str, int]
    quotes: Mapping[str, int]
    statuses: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class IndexImport:
    """What an import of an index did: its ``runs``, oldest first, and their sums and lists."""

    index: str
    workspace: str
    folder: str
    dates: str
    dry_run: bool
    runs: tuple[RunImport, ...]
    notes: tuple[str, ...] = ()

    @property
    def events(self) -> int:
        """How many events are new, withdrawals included."""
        return sum(run.events for run in self.runs)

    @property
    def repeated(self) -> int:
        """How many events were there already."""
        return sum(run.repeated for run in self.runs)

    @property
    def set_aside(self) -> tuple[Remark, ...]:
        """The rows that were not carried over, each with its table, row and reason."""
        return tuple(one for run in self.runs for one in run.set_aside)

    @property
    def kept_out(self) -> tuple[Remark, ...]:
        """The rows that say a rejected value."""
        return tuple(one for run in self.runs for one in run.kept_out)

    @property
    def withdrawn(self) -> tuple[str, ...]:
        """The evidence that was withdrawn, since its text unit is gone."""
        return tuple(one for run in self.runs for one in run.withdrawn)

    @property
    def restored(self) -> tuple[str, ...]:
        """The evidence that counts again, since its text unit is there again."""
        return tuple(one for run in self.runs for one in run.restored)

    @property
    def not_repeated(self) -> tuple[str, ...]:
        """The evidence that this index does not repeat, though its text unit is there."""
        return tuple(one for run in self.runs for one in run.not_repeated)

    @property
    def documents(self) -> dict[str, str]:
        """The sources that documents are, and their titles."""
        return {id: title for run in self.runs for id, title in run.documents.items()}

    def as_dict(self) -> dict[str, Any]:
        """It as a JSON object."""
        told: dict[str, Any] = {
            name: _plain(getattr(self, name))
            for name in ("index", "workspace", "folder", "dates", "dry_run", "notes")
        }
        told |= {
            name: _plain(getattr(self, name))
            for name in ("events", "repeated", "set_aside", "kept_out", "withdrawn", "restored")
        }
        told["not_repeated"] = list(self.not_repeated)
        return {**told, "runs": [run.as_dict() for run in self.runs]}

    def __str__(self) -> str:
        head = (
            f"{self.index}: {counted(self.events, 'event')}, {self.repeated} repeated, "
            f"{len(self.withdrawn)} withdrawn, {len(self.not_repeated)} not repeated, "
            f"{len(self.set_aside)} set aside"
        )
        if self.kept_out:
            head += f", {len(self.kept_out)} kept out"
        return "\n".join([head, *map(str, self.set_aside), *map(str, self.kept_out)])


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [one.as_dict() if isinstance(one, Remark | Bound) else one for one in value]
    return value


def outcome(
    run: Run,
    tables: Tables,
    said: Mapped,
    changes: Changes,
    answer: Committed,
    refused: Mapping[str, DoxaError],
) -> RunImport:
    """What became of a run, from what was said and what was answered."""
    aside, kept_out = _refused(said, refused)
    kinds = Counter(fields["event"] for id, fields in said.events.items() if id not in refused)
    return RunImport(
        folder=str(run.folder),
        complete=run.complete,
        recorded_at=times.iso(answer.recorded_at) if answer.new else None,
        revision=answer.revision,
        rows={table: len(tables.rows(table)) for table in TABLES if table in tables.present},
        events=answer.new,
        repeated=answer.repeated,
        kinds=dict(sorted(kinds.items())),
        set_aside=(*said.set_aside, *aside),
        kept_out=tuple(kept_out),
        remarks=tuple(said.remarks),
        missing=tables.missing,
        withdrawn=tuple(changes.gone),
        restored=tuple(changes.back),
        not_repeated=tuple(changes.not_repeated),
        stale=tuple(changes.stale),
        resolved=sum(read.resolved for read in said.reports),
        outside=sum(read.outside for read in said.reports),
        unresolved=tuple(one for read in said.reports for one in read.unresolved),
        bound=tuple(_bound(said, read) for read in said.reports if read.whole),
        coarse=sum(read.coarse for read in said.reports),
        documents={source.id: source.title or "" for source in said.sources.values()},
        dates=dict(sorted(said.dates.items())),
        quotes=dict(sorted(said.quotes.items())),
        statuses=dict(sorted(said.statuses.items())),
    )


def _bound(said: Mapped, read: Read) -> Bound:
    report = read.report
    ids: Iterable[str | None] = (
        rests.artefact for rests in said.aliases.of("community_reports", row=report.row)
    )
    return Bound(next(iter(ids), None), report.number, shown(report.title), tuple(read.whole))


def _refused(said: Mapped, refused: Mapping[str, DoxaError]) -> tuple[list[Remark], list[Remark]]:
    """The rows whose events the ledger did not take, once each for a reason; of a rejected value
    nothing is told but the row."""
    aside: dict[tuple[str, int | None, str], Remark] = {}
    kept_out: dict[tuple[str, int | None, str], Remark] = {}
    for id, error in refused.items():
        table, row = said.places[id]
        reason = f"{said.events[id]['event']} {id}: {error}"
        remark = Remark(
            table, None if row is None else row.row, reason, None if row is None else row.number
        )
        into = kept_out if isinstance(error, ValueRejected) else aside
        into.setdefault((remark.table, remark.row, reason), remark)
    return list(aside.values()), list(kept_out.values())
