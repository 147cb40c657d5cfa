"""The ledger's forgetting half: what is purged goes from the log and all that is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doxa.arguments import Instant, check_list, check_text, fresh
from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.errors import (
    CallerError,
    StorageError,
    UnknownTarget,
    workspace_in_words,
)
from doxa.engine.graph import ARTEFACT, CLAIM, NONE
from doxa.engine.requests import Request
from doxa.engine.sqlite import SQLiteRecorder
from doxa.engine.stream import Stream
from doxa.engine.whole import settle
from doxa.engine.words import counted
from doxa.places import CACHE

if TYPE_CHECKING:
    from doxa.engine.belief import Belief
    from doxa.engine.fold import Fold
    from doxa.engine.purging import Plan

__all__ = ["Erasing", "Purged", "Record"]

UNREACHABLE: Final = (
    "exports and Parquet files written earlier",
    "blocks, answers and receipts given out earlier",
    "backups: restored here, or beside this folder's file 'purged', one brings nothing back; "
    "restored elsewhere it does",
    "other ledgers that imported the lines",
)


class Record(NamedTuple):
    """One event of a purge: where it is, its kind, its position, and the bytes of its content."""

    workspace: str
    id: str
    kind: str
    position: int
    bytes: int


@dataclass(frozen=True)
class Purged:
    """What a purge erased or, of a dry run, would erase.

    ``erased`` are the events that lose their content, in log order; ``bytes`` is the content of all
    of them. ``residue`` are the registered texts and derived claims that declare a purged record
    and still have theirs. ``already`` are those of the ids that were erased before.
    ``unreachable`` names the copies that no ledger can erase. ``policy`` is the id of the event
    that records it, and ``revision`` its position; ``pending`` says what could not be cleared yet.
    """

    erased: tuple[Record, ...]
    residue: tuple[Record, ...]
    already: tuple[str, ...] = ()
    policy: str | None = None
    revision: int | None = None
    pending: str | None = None
    unreachable: tuple[str, ...] = UNREACHABLE

    @property
    def bytes(self) -> int:
        """Bytes of content."""
        return sum(record.bytes for record in self.erased)

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "erased": [record._asdict() for record in self.erased],
            "bytes": self.bytes,
            "residue": [record._asdict() for record in self.residue],
            "already": list(self.already),
            "policy": self.policy,
            "revision": self.revision,
            "pending": self.pending,
            "unreachable": list(self.unreachable),
        }

    def __str__(self) -> str:
        done = "would be erased" if self.policy is None else "erased"
        lines = [f"{counted(len(self.erased), 'event')}, {self.bytes:,} bytes {done}"]
        lines += [f"  {one.kind} {one.id} at {one.position}" for one in self.erased]
        lines += [f"residue: {one.kind} {one.id} at {one.position}" for one in self.residue]
        if self.already:
            lines.append(f"erased before: {', '.join(self.already)}")
        if self.pending is not None:
            lines.append(f"pending: {self.pending}")
        return "\n".join([*lines, *(f"out of reach: {each}" for each in self.unreachable)])


class Erasing:
    """Purging what is archived."""

    path: Path | None
    recorder: SQLiteRecorder
    _stream: Stream
    _uncleared: str | None = None  # why what was just erased could not be cleared

    if TYPE_CHECKING:
        _prepare_to_erase: Callable[[], None]

    def purge(
        self,
        ids: str | Iterable[str],
        *,
        with_residue: bool = False,
        reason: str | None = None,
        workspace: str = "",
        id: str | None = None,
        recorded_at: Instant | None = None,
        dry_run: bool = False,
    ) -> Purged:
        """Erases the content of archived claims, summaries and citations for good.

        With a claim goes what was said of it alone: its supports, corrections that put it in or
        replaced it, what took these back, and policies about it. Ids, intervals and edges stay, and
        the chain still verifies. Texts and derived claims that declare a purged record are listed
        as residue, and go too ``with_residue``. Of a ``dry_run`` nothing is written. ``reason`` is
        recorded. Raises `UnknownTarget` for an id that is not there, `InvalidEvent` for one that is
        not archived; nothing is erased then. Repeat the call where ``pending`` says that a reader
        kept old bytes from being cleared, for the residue, or where something was said of a record
        after it was erased: that goes as well then.
        """
        names = [ids] if isinstance(ids, str) else check_list(ids, "ids")
        check_text(workspace, "workspace")
        if with_residue is not True and with_residue is not False:
            raise CallerError(f"with_residue is {with_residue!r:.80}; give True or False")
        if not names:
            raise CallerError("ids is empty; name what is to be purged")
        stamp = None if recorded_at is None else times.instant(recorded_at, "recorded_at")
        policy = fresh("purge") if id is None else id
        if dry_run:
            fold, _ = self._stream.capture(wait=True)
            report, events = self._erasing(fold, names, workspace, with_residue, policy, reason)
            if events:
                self._stream.weigh(Request(events, stamp))
            return report
        self._prepare_to_erase()
        reports: list[Purged] = []

        def making(belief: Belief) -> list[ev.Policy]:
            fold, _ = self._stream.capture()
            assert fold.belief is belief, "not the fold that is written to"
            report, events = self._erasing(fold, names, workspace, with_residue, policy, reason)
            reports.append(report)
            return events

        answer = self._stream.append(Request((), stamp, making=making))
        report = reports[-1]
        if answer.new:
            report = replace(report, policy=policy, revision=answer.revision)
        return self._cleared(report)

    def _erasing(
        self,
        fold: Fold,
        names: list[str],
        workspace: str,
        with_residue: bool,
        policy: str,
        reason: str | None,
    ) -> tuple[Purged, list[ev.Policy]]:
        """What a purge would erase, and the events that do it."""
        found, already = _planned(fold, names, workspace, with_residue)
        erased, residue = (self._records(fold, some) for some in (found.erased, found.residue))
        return Purged(erased, residue, already), self._events(fold, found, policy, reason)

    def _events(self, fold: Fold, found: Plan, policy: str, reason: str | None) -> list[ev.Policy]:
        from doxa.engine.purging import policies

        if not found.erased:
            return []
        return policies(fold.belief, self.recorder.keyed, found, policy, reason)

    def _records(self, fold: Fold, numbers: list[int]) -> tuple[Record, ...]:
        from doxa.engine.purging import kind_of

        graph = fold.belief.graph
        positions = [graph.position_of(number) for number in numbers]
        rows = self._stream.rows(positions)
        return tuple(
            Record(
                graph.names.texts[graph.workspace_of(number)],
                graph.id_of(number),
                kind_of(graph, number),
                at,
                len(rows[at].data or b""),
            )
            for number, at in zip(numbers, positions, strict=True)
        )

    # ------------------------------------------------------------ clearing what is kept

    def _cleared(self, report: Purged) -> Purged:
        """The report, with what could not be cleared yet."""
        if report.policy is None or self._uncleared is None:  # else it was tried just now
            self._try_to_clear()
        if self._uncleared is None:
            return report
        told = "what is erased can be read by nobody, but old bytes are still there"
        return replace(report, pending=f"{self._uncleared}; {told}")

    def _try_to_clear(self) -> None:
        """Clears what it can. What was erased stays so: the next purge, or who opens the ledger
        next, goes on, and until then `verify` says so."""
        try:
            self._clear_erased()
            self._uncleared = None
        except (StorageError, OSError) as error:
            self._uncleared = str(error)

    def _clear_erased(self) -> None:
        """Clears all that is kept of what was erased since the last time. Harmless if repeated."""
        last, done = self.recorder.last_tagged(codec.ERASING), self.recorder.scrubbed
        if last <= done:
            return
        from doxa.stores import clear

        gone: list[tuple[str, str]] = []
        for row in self.recorder.tagged(codec.ERASING):
            policy = codec.decode(row.type, row.head, row.data)
            if isinstance(policy, ev.Policy) and row.position > done:
                gone += [(policy.workspace, one.id) for one in policy.redacted]
        clear(self, gone)  # type: ignore[arg-type]  # it is a ledger
        if self.path is not None:
            settle(self.path / CACHE)
        self.recorder.note_scrubbed(last)


def _planned(
    fold: Fold, names: list[str], workspace: str, with_residue: bool
) -> tuple[Plan, tuple[str, ...]]:
    from doxa.engine.purging import kind_of, plan

    graph = fold.belief.graph
    targets, already = [], []
    for name in dict.fromkeys(names):
        found = NONE if not isinstance(name, str) else graph.find(workspace, name)
        if found == NONE:
            raise UnknownTarget(
                f"{name!r:.200} is not in {workspace_in_words(workspace)} of this ledger; nothing "
                "was erased: why and export show the ids"
            )
        if found & 7 not in (CLAIM, ARTEFACT):
            raise CallerError(
                f"{name!r} is a {kind_of(graph, found)}; claims, summaries and citations are "
                "purged, and what was said of a claim alone goes with it"
            )
        targets.append(found)
        if found in graph.erased:
            already.append(name)
    return plan(fold.belief, fold.registry, targets, with_residue=with_residue), tuple(already)
