"""The ledger: where the log, the belief, the registry and the assembler come together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from doxa.arguments import (
    Instant,
    check_list,
    check_revision,
    check_text,
    check_view,
    checked_seconds,
    refuse_unknown,
    watched_by,
)
from doxa.assembling import Assembling
from doxa.auditing import Auditing, pins
from doxa.calibrating import Calibrating
from doxa.compacting import Compacting
from doxa.consolidating import Consolidating
from doxa.dreaming import Dreaming
from doxa.encrypting import Encrypting, key_path, unlocked
from doxa.engine import times
from doxa.engine.compaction import CompactingStream
from doxa.engine.errors import (
    CallerError,
    DoxaError,
    InvalidTime,
    UnknownTarget,
    workspace_in_words,
)
from doxa.engine.fold import Fold
from doxa.engine.graph import ARTEFACT, NONE
from doxa.engine.view import Captured, Id, view_of
from doxa.erasing import Erasing
from doxa.maintaining import Maintaining
from doxa.places import CACHE, LOG, folder_of, micros_of
from doxa.querying import Querying
from doxa.recalling import Recalling, checked_embedder
from doxa.refreshing import Refreshing
from doxa.views import Belief, TruthView
from doxa.writing import Writing

if TYPE_CHECKING:
    from doxa.adapters.exchange import ImportReport
    from doxa.auditing import Kept
    from doxa.engine.embedding import Embedder
    from doxa.engine.reconcile import Reconciliation
    from doxa.engine.registry import Judgement, Registry
    from doxa.verification import Report

__all__ = ["Ledger", "open"]

P = ParamSpec("P")
T = TypeVar("T")


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    clock: Callable[[], datetime] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    embedder: Embedder | None = None,
    keys: str | os.PathLike[str] | None = None,
    lock_timeout: float = 30.0,
) -> Ledger:
    """Opens the ledger in a folder, made where there is none; without a path, one in memory.

    ``clock`` gives aware datetimes, for tests and replays; the default is the system's.
    ``progress(events done, total)`` is called now and then where many have to be read. ``keys`` is
    the file of an encrypted ledger's keys, which lies elsewhere and is made with a new ledger.
    ``lock_timeout`` is how many seconds a write waits while another process writes. Raises
    `NotALedger`, `NewerFormat`, `WrongKeys`, `StorageError`, or `DamageError` where the file
    can't be opened at all. A log that is damaged further in opens: its reads raise, and `verify`
    says where it is.
    """
    return Ledger(
        path,
        create=create,
        clock=clock,
        progress=progress,
        embedder=embedder,
        keys=keys,
        lock_timeout=lock_timeout,
    )


def _twin(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same call for asynchronous code: in a thread, with the same result."""

    @wraps(method)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    twin.__name__ = f"a{method.__name__}"
    twin.__doc__ = f"`{method.__name__}` for asynchronous code, with the same result."
    return twin


class Ledger(
    Writing,
    Querying,
    Assembling,
    Auditing,
    Maintaining,
    Compacting,
    Consolidating,
    Dreaming,
    Refreshing,
    Encrypting,
    Erasing,
):
    """An append-only log of claims, supports, withdrawals and corrections, and what follows from
    it. Safe for threads; several processes may share one folder."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        clock: Callable[[], datetime] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
        embedder: Embedder | None = None,
        keys: str | os.PathLike[str] | None = None,
        lock_timeout: float = 30.0,
    ) -> None:
        from doxa.engine.sqlite import SQLiteRecorder
        from doxa.engine.store import wall_clock

        self.embedder = checked_embedder(embedder)
        self.path = None if path is None else folder_of(path, create)
        self.clock = wall_clock if clock is None else micros_of(clock)
        key_file = key_path(keys, self.path)
        self.recorder = SQLiteRecorder.open(
            None if self.path is None else self.path / LOG,
            create=create,
            clock=self.clock,
            lock_timeout=checked_seconds(lock_timeout, "lock_timeout"),
        )
        try:
            cipher = unlocked(self.recorder, key_file)
            checkpoint = None if self.path is None else self.path / CACHE / "fold.doxa"
            self._stream = CompactingStream(self.recorder, checkpoint, progress, cipher)
            self._stream.on_erased = self._try_to_clear
            self._try_to_clear()
        except BaseException:
            self.recorder.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, DoxaError):
            str(error)  # its words may have to be read from the log
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})" if self.path else "Ledger(in memory)"

    def close(self) -> None:
        """Closes the ledger. Views captured from it keep their answers, except where they would
        have to read the log: `why`, and a claim's text."""
        try:
            self._stop_serving()
            self._stop_searching()
            self._stop_using()
            self._stream.close()
        finally:
            self.recorder.close()

    def import_events(
        self,
        lines: str | os.PathLike[str] | Iterable[str | bytes | Mapping[str, Any]],
        *,
        restamp: bool = False,
        strict: bool = False,
        workspace: str | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> ImportReport:
        """Imports exchange lines from a file, or from an iterable of lines or mappings.

        Lines that can't be accepted are set aside with their numbers and reasons; with ``strict``
        the whole file is refused instead. Safe to repeat and to resume. ``restamp`` records lines
        whose ``recorded_at`` steps back just after the line before, keeping it as ``stated_at``.
        ``progress(bytes or lines done, total)`` is called now and then.
        """
        from doxa.adapters.exchange import import_events

        return import_events(
            self, lines, restamp=restamp, strict=strict, workspace=workspace, progress=progress
        )

    # ------------------------------------------------------------ reading

    @property
    def revision(self) -> int:
        """The last position of the log; 0 while it is empty."""
        return self._stream.capture()[1]

    def workspace_revision(self, workspace: str = "") -> int:
        """The last position of the last commit that touched a workspace."""
        check_text(workspace, "workspace")
        fold, k = self._stream.capture()
        code = fold.belief.graph.names.find(workspace)
        return 0 if code == NONE else fold.belief.graph.revision(code, k)

    def view(
        self,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        **unknown: object,
    ) -> TruthView:
        """Captures what may be believed at ``valid_at``, as known at ``known_at``.

        ``known_at`` is an instant (inclusive) or a revision; left out, it is the head of the log,
        and the view is *live*. It sees the workspace and, unless ``shared=False``, the shared one.
        """
        if unknown:
            accepted = "valid_at, known_at, workspace, perspective, shared"
            refuse_unknown(unknown, "view", accepted)
        if valid_at is None:
            both = (
                "known_at alone is ambiguous; say both" if known_at is not None else "it is needed"
            )
            raise CallerError(
                f"valid_at is missing and {both}: valid_at is when it applied in the world, "
                "known_at what had been recorded by then"
            )
        if type(workspace) is not str:
            check_text(workspace, "workspace")
        if perspective is not None:
            check_text(perspective, "perspective")
        if shared is not True and shared is not False:
            raise CallerError(f"shared is {shared!r:.80}; give True or False")
        v = times.instant(valid_at, "valid_at")
        fold, head = self._stream.capture()
        if isinstance(known_at, int) and known_at > head:  # perhaps another process has just told
            fold, head = self._stream.capture(wait=True)
        belief = fold.belief
        if known_at is None:
            k, live = head, True
        elif type(known_at) is int and 0 < known_at <= head and belief.graph.ends_commit(known_at):
            k, live = known_at, False
        else:
            k, live = self._known(fold, head, known_at)
        payload, origin = self._stream.payload, (self._stream, fold.registry)
        captured = Captured(
            belief, payload, v, k, workspace, shared, perspective, live, head, origin
        )
        return view_of(captured, TruthView)

    def _known(self, fold: Fold, head: int, known_at: Instant | int) -> tuple[int, bool]:
        graph = fold.belief.graph
        if isinstance(known_at, int):
            k = check_revision(known_at, "known_at")
            if k > head:
                raise CallerError(
                    f"known_at is revision {k}; the ledger's is {head}, which is also what is "
                    "meant where known_at is left out"
                )
            if k and graph.commit_of(k) != k:
                before = max((last for last in graph.commit_last if last < k), default=0)
                raise CallerError(
                    f"known_at is position {k}, inside the commit that ends at "
                    f"{graph.commit_of(k)}; a commit is known whole: give {before} for what was "
                    f"known before it, or {graph.commit_of(k)}"
                )
            return k, False
        at = times.instant(known_at, "known_at")
        last = graph.recorded_of(head) if head else times.NEG
        if at > max(last, self.clock()):
            raise InvalidTime(
                f"known_at {times.iso(at)} is in the future: nothing can be known from then yet; "
                "leave it out for the newest knowledge"
            )
        return min(graph.known(at), head), at > last

    def history(
        self,
        subject: str,
        predicate: str,
        *,
        valid_at: Instant | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        **unknown: object,
    ) -> list[Belief]:
        """The successive beliefs about one instant of valid time, in order of knowledge.

        Each has ``known_at``, ``revision``, ``values`` and ``value``.
        """
        from doxa.views import history

        if unknown:
            refuse_unknown(unknown, "history", "valid_at, workspace, perspective, shared")
        view = self.view(
            valid_at=valid_at, workspace=workspace, perspective=perspective, shared=shared
        )
        return history(view, subject, predicate)

    # ------------------------------------------------------------ registry and assembly

    def judge(self, ids: str | Iterable[Id], view: TruthView) -> list[Judgement]:
        """Whether claims, supports and artefacts may be served at a view, each with the reason if
        not."""
        from doxa.engine.registry import judge_ids

        wanted = [ids] if isinstance(ids, str) else check_list(ids, "ids")
        return judge_ids(self._registry_of(view), view, wanted)

    def judge_artefact(self, view: TruthView, workspace: str, id: str) -> Judgement:
        """Whether one artefact of a named workspace may be served at a view."""
        registry = self._registry_of(view)
        found = view.graph.find(workspace, id)
        if found == NONE or found & 7 != ARTEFACT:
            raise UnknownTarget(f"{id!r} is no artefact in {workspace_in_words(workspace)}")
        return registry.judge(found >> 3, view.v, view.k)

    def reconcile(self, view: TruthView, since: TruthView | None = None) -> Reconciliation:
        """What is invalidated, restored and unchanged at a view, since another or, without one,
        since each artefact's registration. Costs what changed."""
        from doxa.engine.reconcile import reconcile

        if since is not None:
            self._registry_of(since)
        return reconcile(self._registry_of(view), view, since)

    def _registry_of(self, view: TruthView) -> Registry:
        registry = check_view(view, self._stream)
        self._stream.capture()  # refuses a closed ledger
        return registry

    def moved(self, view: TruthView | Mapping[str, Any]) -> bool:
        """Whether what bears on a live view has moved since it was captured, in any process.

        A block's ``view`` may be given instead. A historical view never moves.
        """
        from doxa.engine.registry import moved

        live, workspace, shared, revision = watched_by(view, self._stream)
        if not live:
            return False
        fold, head = self._stream.capture(wait=True)
        return moved(fold.registry, workspace, shared, revision, head)

    # ------------------------------------------------------------ audit

    def verify(
        self,
        *,
        against: Kept | Iterable[Kept] | None = None,
        key: str | os.PathLike[str] | None = None,
        oracle: bool = True,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Report:
        """Checks the chain and every commitment, the belief against the log folded anew, the tables
        for SQL, and the belief and registry against the oracle.

        ``against`` is what was kept of the log elsewhere, one or several: heads, their text or JSON
        object, receipts. ``key`` is the file of the public key that these heads are signed with.
        Reports what it finds; raises nothing for damage. ``progress(steps done, total)`` is called
        at the beginning and after each step; the total is ``None`` until it is known.
        """
        from doxa.verification import verify

        kept, notes = pins(against, key)
        report = verify(self, oracle=oracle, pins=kept, progress=progress)
        report.notes += notes
        return report

    def stats(self) -> dict[str, Any]:
        """Figures about the ledger: events by kind, workspaces, bytes, versions; how it grows, and
        what there is most of; artefacts by state, what is archived, how much is used. O(events)."""
        from doxa.verification import stats

        return stats(self)

    aclaim = _twin(Writing.claim)
    asupport = _twin(Writing.support)
    awithdraw = _twin(Writing.withdraw)
    acorrect = _twin(Writing.correct)
    acite = _twin(Writing.cite)
    asummarize = _twin(Writing.summarize)
    apolicy = _twin(Writing.policy)
    apin = _twin(Writing.pin)
    averify_claim = _twin(Writing.verify_claim)
    areject = _twin(Writing.reject)
    arejections = _twin(Writing.rejections)
    ais_rejected = _twin(Writing.is_rejected)
    aappend = _twin(Writing.append)
    apurge = _twin(Erasing.purge)
    adestroy_key = _twin(Encrypting.destroy_key)
    acompact = _twin(Compacting.compact)
    aimport_events = _twin(import_events)
    aview = _twin(view)
    ahistory = _twin(history)
    ajudge = _twin(judge)
    areconcile = _twin(reconcile)
    ajudge_candidates = _twin(Assembling.judge_candidates)
    aassemble = _twin(Assembling.assemble)
    aassemble_fresh = _twin(Assembling.assemble_fresh)
    areplay = _twin(Assembling.replay)
    averify = _twin(verify)
    ahead = _twin(Auditing.head)
    aaudit = _twin(Auditing.audit)
    abackup = _twin(Auditing.backup)
    asql = _twin(Querying.sql)
    aexport_parquet = _twin(Querying.export_parquet)
    aindex = _twin(Recalling.index)
    arecall = _twin(Recalling.recall)
    arecall_batch = _twin(Recalling.recall_batch)
    acalibrate = _twin(Calibrating.calibrate)
    aconsolidate = _twin(Consolidating.consolidate)
    arefresh = _twin(Refreshing.refresh)
    adream = _twin(Dreaming.dream)
    acalibration = _twin(Calibrating.calibration)
    acalibration_drift = _twin(Calibrating.calibration_drift)
    ascore = _twin(Maintaining.score)
    aexpire = _twin(Maintaining.expire)
    adecays = _twin(Maintaining.decays)
    aarchive = _twin(Maintaining.archive)
    arestore = _twin(Maintaining.restore)
    ausage = _twin(Maintaining.usage)
    adecay = _twin(Maintaining.decay)
    aprune = _twin(Maintaining.prune)
    amaintain = _twin(Maintaining.maintain)
