"""Checking a whole ledger: the chain, the commitments, and belief against the oracle."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from doxa.engine import times
from doxa.engine.checkpoint import bound
from doxa.engine.codec import ERASING
from doxa.engine.errors import DamageError
from doxa.engine.fold import Fold
from doxa.engine.gaps import gaps_of
from doxa.engine.graph import KINDS, NONE, Graph
from doxa.engine.heads import Pin, compare
from doxa.engine.holes import Moved
from doxa.engine.log import Gap, Problem
from doxa.engine.sameness import differences
from doxa.engine.words import counted
from doxa.growth import growth
from doxa.querying import check_tables

if TYPE_CHECKING:
    from doxa.engine.store import LogStore
    from doxa.ledger import Ledger
    from doxa.oracle import Log
    from doxa.views import TruthView

__all__ = ["Report", "audited", "gaps_in", "stats", "verify"]

INSTANTS: Final = 6  # valid times at which belief is compared
REVISIONS: Final = 3  # and revisions, the head being one
LISTED: Final = 20  # differences named one by one


@dataclass
class Report:
    """What a verification found. ``ok`` is true where nothing is wrong; ``notes`` are worth
    knowing all the same. ``pinned`` counts the positions that were compared with what was kept.
    Keep ``head`` and ``chain`` elsewhere: they show a log that was cut off or rewritten."""

    events: int
    erased: int
    head: int
    chain: str
    compared: int = 0
    pinned: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "ok": self.ok,
            "events": self.events,
            "erased": self.erased,
            "head": self.head,
            "chain": self.chain,
            "compared": self.compared,
            "pinned": self.pinned,
            "problems": [problem._asdict() for problem in self.problems],
            "notes": self.notes,
        }

    def __str__(self) -> str:
        lines = [
            f"{self.events} events, {self.erased} erased, head {self.head}",
            f"chain {self.chain}",
            f"{self.compared} standings compared with the oracle",
            *(
                [f"{counted(self.pinned, 'position')} compared with what was kept"]
                if self.pinned
                else ()
            ),
            *(_line(problem) for problem in self.problems),
            *(f"note: {note}" for note in self.notes),
            "all is well" if self.ok else counted(len(self.problems), "problem"),
        ]
        return "\n".join(lines)


def _line(problem: Problem) -> str:
    event = "" if problem.id is None else f" ({problem.id})"
    return f"problem at {problem.position}{event}: {problem.code}: {problem.message}"


def audited(store: LogStore, pins: Sequence[Pin] = ()) -> Report:
    """The chain recomputed, and the log compared with what was kept of it. O(bytes)."""
    audit = store.verify()
    report = Report(
        audit.events, audit.erased, audit.position, audit.chain, problems=list(audit.problems)
    )
    if pins:
        try:
            end = store.head().position
            report.problems += compare(pins, store.ledger_id, end, store.link_at, gaps_in(store))
            report.pinned = len(set(pins))
        except DamageError as error:
            report.problems.append(
                Problem(0, error.code, f"nothing could be compared with what was kept: {error}")
            )
    if store.last_tagged(ERASING) > store.scrubbed:
        report.notes.append(
            "what was erased last can be read by nobody, but old bytes of it may still be there: "
            "close what else reads the ledger, then open it to write, or purge again"
        )
    if store.wal_reset_bug:
        report.notes.append(
            f"nothing to do: SQLite {store.sqlite_version} has the WAL-reset bug, which "
            "can't strike while only doxa writes to log.sqlite"
        )
    return report


def gaps_in(store: LogStore) -> list[Gap]:
    """The compacted stretches of a log. Raises `DamageError` where they can't be read."""
    try:
        with store.lent() as connection:
            return gaps_of(lambda *query: connection.execute(*query).fetchall())
    except (sqlite3.Error, TypeError) as error:
        raise DamageError(f"what was compacted can't be read: {error}; run verify") from None


def verify(
    ledger: Ledger,
    *,
    oracle: bool = True,
    pins: Sequence[Pin] = (),
    progress: Callable[[int, int | None], None] | None = None,
) -> Report:
    """Recomputes the chain, compares it with what was kept of it, folds the log anew and compares
    what is believed with it and with the tables kept for SQL, and belief and registry with the
    oracle's at a few coordinates spread over both times. O(events) for each."""
    told = (lambda done, total: None) if progress is None else progress
    told(0, None)
    report = audited(ledger.recorder, pins)
    if report.problems:
        return report
    told(1, None)
    _check_rebuilt(ledger, report)
    told(2, None)
    report.problems += check_tables(ledger)
    if not oracle:
        return report
    from doxa.oracle import Log, Unreadable

    try:
        rows = [row[:5] for page in ledger.recorder.read_rows() for row in page]
        log = Log.from_rows(rows, ledger.recorder.keyed.secret)
        _compare(ledger, log, report, told)
        _rings(ledger, log, report)
    except Moved:
        report.notes.append("it was compacted meanwhile: the oracle was not asked; verify again")
    except (
        DamageError,
        Unreadable,
    ) as error:  # under a chain that is whole
        report.problems.append(Problem(0, "unreadable", str(error)))
    return report


def _check_rebuilt(ledger: Ledger, report: Report) -> None:
    """What is believed here, perhaps begun with a checkpoint, against the log folded anew."""
    fold, head = ledger._stream.capture(wait=True)
    anew = Fold(ledger._stream.payload, ledger._stream.upkeep.erasures)
    try:
        anew.follow(ledger.recorder.read_rows(upto=head))
    except Moved:
        return  # it is compared another time
    if fold.compacted != ledger.recorder.holes.at:
        return  # it was compacted meanwhile: it is compared another time
    if not fold.position == anew.position == head == ledger.recorder.head().position:
        return  # somebody went on writing, perhaps erasing: it is compared another time
    for name in differences(fold, anew):
        report.problems.append(
            Problem(
                0,
                "checkpoint",
                f"{name} is not what the log says; delete the folder cache/ and open again",
            )
        )


def _spread(values: list[int], count: int) -> list[int]:
    """Up to ``count`` of the values, evenly over them, the last one included."""
    if len(values) <= count:
        return values
    return sorted({values[(i + 1) * len(values) // count - 1] for i in range(count)})


def _compare(
    ledger: Ledger, log: Log, report: Report, told: Callable[[int, int | None], None]
) -> None:
    revisions = _spread([commit.last for commit in log.commits], REVISIONS)
    bounds = [at for at in log.boundaries() if times.FIRST <= at <= times.LAST]
    instants = _spread(sorted(set(bounds)), INSTANTS) or [0]
    names = sorted({claim.workspace for claim in log.claims.values()})
    places = list(product(names, revisions, instants))
    for done, (workspace, revision, v) in enumerate(places):
        told(3 + done, 3 + len(places))
        _compare_at(ledger, log, report, workspace, v, revision)
    told(3 + len(places), 3 + len(places))


def _compare_at(
    ledger: Ledger, log: Log, report: Report, workspace: str, v: int, revision: int
) -> None:
    from doxa.oracle import Truth

    truth = Truth(log, v, revision, workspace=workspace)
    view = ledger.view(valid_at=times.moment(v), known_at=revision, workspace=workspace)
    where = f"at valid_at {times.iso(v)}, revision {revision}"
    for (place, id), expected in truth.standings().items():
        report.compared += 1
        found = view.standing(id, workspace=place)
        if found != expected:
            _differs(report, f"claim {id!r} in {place!r} is {found} {where}, oracle: {expected}")
    for place, id in truth.artefacts():
        report.compared += 1
        expected_state = truth.eligible(id, place)
        state = _judged(ledger, view, place, id)
        if state != expected_state:
            _differs(report, f"artefact {id!r} is {state} {where}, oracle: {expected_state}")


def _judged(ledger: Ledger, view: TruthView, workspace: str, id: str) -> tuple[bool, str | None]:
    judged = ledger.judge_artefact(view, workspace, id)
    return judged.eligible, None if judged.reason is None else str(judged.reason)


def _differs(report: Report, message: str) -> None:
    if len(report.problems) < LISTED:
        report.problems.append(Problem(0, "belief", message))


def _rings(ledger: Ledger, log: Log, report: Report) -> None:
    """Corrections that go round, which only a later restoration can bring about."""
    from doxa.oracle import rings

    view = ledger.view(valid_at=times.moment(0))
    if not _may_ring(view.graph):
        return
    for ring in rings(log, view.revision):
        members = ", ".join(sorted(id for _, id in ring))
        report.notes.append(
            f"the corrections of {members} go round in a ring, so none of them stands; withdraw "
            "one of the corrections, or claim anew"
        )


def _may_ring(graph: Graph) -> bool:
    """Whether corrections, withdrawn ones included, go round anywhere: what is left when claims
    that nothing replaces are taken away, again and again."""
    onward: Counter[int] = Counter()
    for target, by in zip(graph.k_target, graph.k_by, strict=True):
        if by != NONE:
            onward[target] += 1
    ends = [claim for claim in set(graph.k_by) if claim != NONE and not onward[claim]]
    while ends:
        claim = ends.pop()
        for row in graph.replaces.get(claim):
            target = graph.k_target[row]
            onward[target] -= 1
            if not onward[target]:
                ends.append(target)
    return any(onward.values())


def stats(ledger: Ledger) -> dict[str, Any]:
    """Figures about a ledger, as a JSON object; sizes in bytes, times as ISO text."""
    view = ledger.view(valid_at=times.moment(0))
    graph, head = view.graph, view.revision
    found: dict[str, Any] = {
        "path": None if ledger.path is None else str(ledger.path),
        "ledger": ledger.recorder.ledger_id,
        "encrypted": ledger.encrypted,
        "revision": head,
        "recorded_at": None if not head else times.iso(graph.recorded_of(head)),
        "commits": sum(1 for last in graph.commit_last if last <= head),
        "events": _by_kind(graph, head),
        "workspaces": {
            graph.names.texts[code]: graph.revision(code, head) for code in sorted(graph.revisions)
        },
        "sources": len(graph.r_name),
        "checkpoint": _checkpoint(ledger),
        "bytes": {} if ledger.path is None else dict(_sizes(ledger)),
        "sqlite": ledger.recorder.sqlite_version,
        "wal_reset_bug": ledger.recorder.wal_reset_bug,
    }
    ahead = (graph.recorded_of(head) - ledger.clock()) if head else 0
    # A clock that once ran ahead drags every later commit with it.
    found["ahead_of_clock_seconds"] = max(0, ahead) / 1e6
    return found | growth(ledger, ledger.view(valid_at=times.moment(ledger.clock())))


def _checkpoint(ledger: Ledger) -> dict[str, Any]:
    """Up to which position the next opening finds what is believed made already, and the problem,
    if it could not be written down."""
    upkeep = ledger._stream.upkeep
    written = None if upkeep.path is None else bound(upkeep.path, upkeep.cipher)
    fits = written is not None and written.ledger == ledger.recorder.ledger_id
    return {
        "position": written.position if written is not None and fits else 0,
        "problem": upkeep.problem,
    }


def _by_kind(graph: Graph, head: int) -> dict[str, int]:
    names = (*KINDS, "compacted")  # of these nothing but the time is known
    kinds = Counter(names[number & 7] for number in graph.ids.number[:head])
    return {kind: kinds[kind] for kind in names if kinds[kind]}


def _sizes(ledger: Ledger) -> Iterator[tuple[str, int]]:
    assert ledger.path is not None
    files: Iterable[Any] = sorted(ledger.path.rglob("*"))
    for file in files:
        if file.is_file():
            yield str(file.relative_to(ledger.path)), file.stat().st_size
