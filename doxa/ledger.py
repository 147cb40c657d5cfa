"""The ledger: where the log, the belief, the registry and the assembler come together."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Literal, ParamSpec, Self, TypeVar

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import (
    CallerError,
    InvalidEvent,
    InvalidTime,
    NotALedger,
    RevisionConflict,
    UnknownTarget,
    ViewMoved,
)
from doxa.engine.graph import CLAIM, NONE, SUPPORT, entity
from doxa.engine.stream import Fold, Request, Stream
from doxa.engine.view import Id
from doxa.views import Belief, TruthView

if TYPE_CHECKING:
    from doxa.adapters.exchange import ImportReport
    from doxa.engine.assembly import Block, Candidate, Receipt, Replay
    from doxa.engine.reconcile import Reconciliation
    from doxa.engine.registry import Judgement
    from doxa.verification import Report

__all__ = ["ArtefactId", "Commit", "CorrectionId", "Ledger", "Source", "open"]

Instant = str | datetime | date
P = ParamSpec("P")
T = TypeVar("T")
LOG: Final = "log.sqlite"
# What else a ledger's folder may hold while its log is not there yet.
_OWN: Final = {"cache", "usage.sqlite", "purged", "set-aside.jsonl"}


class _Unset:
    """The type of an argument that was left out, where ``None`` has a meaning of its own."""

    def __repr__(self) -> str:
        return "(left out)"


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Source:
    """A source of evidence: its id and, where they are known, the place and words in it.

    ``origin`` is who stands behind it (two sources of one origin do not corroborate each other; it
    defaults to the id), ``digest`` that of its content, ``observed_at`` when it was looked at.
    """

    id: str
    locator: str | None = None
    quote: str | None = None
    digest: str | None = None
    origin: str | None = None
    observed_at: Instant | None = None


class CorrectionId(str):
    """The id of a correction; ``replacement`` is that of the claim put in, if any."""

    replacement: str | None

    def __new__(cls, id: str, replacement: str | None) -> Self:
        self = super().__new__(cls, id)
        self.replacement = replacement
        return self


class ArtefactId(str):
    """The id of a citation or summary; ``judgement`` says whether it is eligible at registration,
    and if not, why not: registering it is allowed all the same."""

    judgement: Judgement

    def __new__(cls, id: str, judgement: Judgement) -> Self:
        self = super().__new__(cls, id)
        self.judgement = judgement
        return self

    @property
    def eligible(self) -> bool:
        """Whether it is eligible at its own registration."""
        return self.judgement.eligible


@dataclass(frozen=True, slots=True)
class Commit:
    """What an append did: the ids of its events in order, the revision, and how many were new."""

    ids: tuple[str, ...]
    revision: int
    recorded_at: datetime
    new: int
    repeated: int


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    clock: Callable[[], datetime] | None = None,
) -> Ledger:
    """Opens the ledger in a folder, made where there is none; without a path, one in memory.

    ``clock`` gives aware datetimes, for tests and replays; the default is the system's. Raises
    `NotALedger`, `NewerFormat`, `DamageError` or `StorageError`.
    """
    return Ledger(path, create=create, clock=clock)


def _twin(
    method: Callable[Concatenate[Ledger, P], T],
) -> Callable[Concatenate[Ledger, P], Awaitable[T]]:
    """The same call from asynchronous code: in a thread, with the same result."""

    async def twin(self: Ledger, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    twin.__name__ = twin.__qualname__ = f"a{method.__name__}"
    twin.__doc__ = f"``{method.__name__}`` for asynchronous code, with the same result."
    return twin


class Ledger:
    """An append-only log of claims, supports, withdrawals and corrections, and what follows from
    it. Safe for threads; several processes may share one folder."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        from doxa.engine.sqlite import SQLiteRecorder
        from doxa.engine.store import wall_clock

        self.path = None if path is None else _folder(path, create)
        self._clock = wall_clock if clock is None else _micros(clock)
        self.recorder = SQLiteRecorder.open(
            None if self.path is None else self.path / LOG, create=create, clock=self._clock
        )
        try:
            self._stream = Stream(self.recorder)
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
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})" if self.path else "Ledger(in memory)"

    def close(self) -> None:
        """Closes the ledger; views captured from it keep their answers."""
        self.recorder.close()

    # ------------------------------------------------------------ writing

    def claim(
        self,
        subject: str,
        predicate: str,
        object: Any,
        *,
        id: str | None = None,
        text: str | None = None,
        kind: str = "fact",
        perspective: str = "",
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        valid_until: date | str | None = None,
        source: str | Source | Mapping[str, Any] | None = None,
        because: Iterable[Id] = (),
        assumed: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Records a claim, with its own support if ``source`` or ``because`` is given.

        ``object`` is any JSON value; the interval is ``[valid_from, valid_to)``, ``None`` an open
        end; ``valid_until`` is an inclusive last day instead. Returns the claim's id.
        """
        fields: dict[str, Any] = {
            "event": "claim",
            "id": _fresh("claim") if id is None else id,
            "workspace": workspace,
            "subject": subject,
            "predicate": predicate,
            "object": object,
            "text": text,
            "kind": kind,
            "perspective": perspective,
            "valid_from": valid_from,
            "source": _source(source),
            "because": because,
            "assumed": assumed,
        }
        _end(fields, valid_to, valid_until)
        return self._one(fields, recorded_at)

    def support(
        self,
        claim: str,
        *,
        source: str | Source | Mapping[str, Any] | None = None,
        because: Iterable[Id] = (),
        stance: Literal["supports", "refutes"] = "supports",
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        valid_until: date | str | None = None,
        assumed: str | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Records evidence for or against a claim: a ``source``, or the claims of ``because``."""
        fields: dict[str, Any] = {
            "event": "support",
            "id": _fresh("support") if id is None else id,
            "workspace": workspace,
            "claim": claim,
            "source": _source(source),
            "because": because,
            "stance": stance,
            "valid_from": valid_from,
            "assumed": assumed,
        }
        _end(fields, valid_to, valid_until)
        return self._one(fields, recorded_at)

    def withdraw(
        self,
        target: str | Source,
        *,
        reason: str | None = None,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        valid_until: date | str | None = None,
        source: str | Source | Mapping[str, Any] | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Takes back an event or artefact by id, or a whole source (``doxa.Source("id")``).

        ``source`` says who asked. Without bounds it is taken back at all valid times.
        """
        fields: dict[str, Any] = {
            "event": "withdrawal",
            "id": _fresh("withdrawal") if id is None else id,
            "workspace": workspace,
            "reason": reason,
            "asked_by": _source(source),
            "valid_from": valid_from,
        }
        if isinstance(target, Source):
            fields["source"] = target.id
        else:
            fields["target"] = target
        _end(fields, valid_to, valid_until)
        return self._one(fields, recorded_at)

    def correct(
        self,
        claim: str,
        object: Any = UNSET,
        *,
        by: str | None = None,
        valid_from: Instant | _Unset | None = UNSET,
        valid_to: Instant | _Unset | None = UNSET,
        valid_until: date | str | None = None,
        source: str | Source | Mapping[str, Any] | None = None,
        because: Iterable[Id] = (),
        reason: str | None = None,
        text: str | None = None,
        kind: str | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> CorrectionId:
        """Replaces a claim: by a new ``object``, by an existing claim (``by``), or by nothing.

        With an object the bounds set the new claim's interval, those left out being the target's;
        otherwise they set the portion that is corrected. Left out is not ``None``: ``None`` is an
        open bound, or the JSON null. Both events go into one commit.
        """
        if not isinstance(object, _Unset) and by is not None:
            raise CallerError("give a new object or an existing claim (by), not both")
        bounds: dict[str, Any] = {}
        if not isinstance(valid_from, _Unset):
            bounds["valid_from"] = valid_from
        if not isinstance(valid_to, _Unset):
            bounds["valid_to"] = valid_to
        if valid_until is not None:
            bounds["valid_until"] = valid_until
        correction: dict[str, Any] = {
            "event": "correction",
            "id": _fresh("correction") if id is None else id,
            "workspace": workspace,
            "corrects": claim,
            "source": _source(source),
            "reason": reason,
        }
        events = [correction]
        if isinstance(object, _Unset):
            correction |= bounds | ({} if by is None else {"by": by})
        else:
            new = self._replacement(claim, workspace, bounds)
            new |= {"object": object, "text": text, "source": _source(source), "because": because}
            if kind is not None:
                new["kind"] = kind
            by = correction["by"] = new["id"]
            events.insert(0, new)
        self.append(events, recorded_at=recorded_at)
        return CorrectionId(correction["id"], by)

    def _replacement(
        self, claim: object, workspace: str, bounds: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A claim like another, over the bounds that are given and its own where they are not."""
        fold, _ = self._stream.capture()
        found = NONE if not isinstance(claim, str) else fold.belief.graph.find(workspace, claim)
        if found == NONE or found & 7 != CLAIM:
            raise UnknownTarget(
                f"{claim!r} is no claim in workspace {workspace!r}; give the id that claim returned"
            )
        old = self._stream.payload(fold.belief.graph.position_of(found))
        assert isinstance(old, ev.Claim)
        fields: dict[str, Any] = {
            "event": "claim",
            "id": _fresh("claim"),
            "workspace": workspace,
            "subject": old.subject,
            "predicate": old.predicate,
            "kind": old.kind,
            "perspective": old.perspective,
            "valid_from": None if old.valid_from == times.NEG else times.moment(old.valid_from),
        }
        if "valid_until" not in bounds:
            fields["valid_to"] = None if old.valid_to == times.POS else times.moment(old.valid_to)
        return fields | dict(bounds)

    def cite(
        self,
        text: str,
        *,
        claim: str | None = None,
        source: str | Source | None = None,
        supports: Iterable[Id] = (),
        facts: Iterable[Id] = (),
        sources: Iterable[str] = (),
        binding: Literal["dependencies", "snapshot"] = "dependencies",
        selection: Iterable[str] | None = None,
        view: TruthView | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> ArtefactId:
        """Registers a citation: its text, and the supports that it quotes.

        ``claim`` (and ``source``) stand for the supports of that claim (from that source). The
        binding, the selection of subjects and the view are as for `summarize`.
        """
        named = list(supports)
        if claim is not None:
            named += self._supports_of(claim, source, workspace)
        elif source is not None:
            raise CallerError("source goes with claim: which claim does it support?")
        fields = {"event": "citation", "supports": named, "facts": facts, "sources": list(sources)}
        return self._artefact(fields, text, binding, selection, view, id, workspace, recorded_at)

    def summarize(
        self,
        text: str,
        *,
        facts: Iterable[Id] = (),
        supports: Iterable[Id] = (),
        sources: Iterable[str] = (),
        citations: Iterable[Id] = (),
        binding: Literal["dependencies", "snapshot"] = "dependencies",
        selection: Iterable[str] | None = None,
        view: TruthView | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> ArtefactId:
        """Registers a summary with what it rests on.

        ``binding="snapshot"`` also binds it to the fingerprint of the ``selection`` (subjects; left
        out: the workspace). ``view`` is the one that the text was made from: its ``valid_at`` is
        the snapshot's, and `ViewMoved` is raised if the truth moved since.
        """
        fields = {
            "event": "summary",
            "facts": facts,
            "supports": supports,
            "sources": list(sources),
            "citations": citations,
        }
        return self._artefact(fields, text, binding, selection, view, id, workspace, recorded_at)

    def _artefact(
        self,
        fields: dict[str, Any],
        text: str,
        binding: str,
        selection: Iterable[str] | None,
        view: TruthView | None,
        id: str | None,
        workspace: str,
        recorded_at: Instant | None,
    ) -> ArtefactId:
        name = _fresh(fields["event"]) if id is None else id
        fields |= {"id": name, "workspace": workspace, "text": text, "binding": binding}
        if selection is not None:
            fields["subjects"] = list(selection)
        expected = None
        if view is not None:
            if binding == "snapshot":
                fields["valid_at"] = view.valid_at
            expected = view.revision
        try:
            self.append([fields], recorded_at=recorded_at, expected_revision=expected)
        except RevisionConflict as error:
            raise ViewMoved(
                f"the truth moved since the view at revision {expected}, from which the text was "
                f"made ({error}); capture a new view and make the text anew"
            ) from None
        fold, _ = self._stream.capture()
        row = fold.belief.graph.find(workspace, name) >> 3
        judged = fold.registry.judge(row, *fold.registry.at_registration(row))
        return ArtefactId(name, judged)

    def _supports_of(self, claim: str, source: str | Source | None, workspace: str) -> list[str]:
        fold, k = self._stream.capture()
        graph = fold.belief.graph
        found = graph.find(workspace, claim)
        if found == NONE or found & 7 != CLAIM:
            raise UnknownTarget(f"{claim!r} is no claim in workspace {workspace!r}")
        name = source.id if isinstance(source, Source) else source
        rows = [
            row
            for row in graph.supports_of(found >> 3)
            if graph.s_pos[row] <= k
            and (
                name is None
                or (
                    graph.s_source[row] != NONE
                    and graph.names.texts[graph.r_name[graph.s_source[row]]] == name
                )
            )
        ]
        if not rows:
            what = "no support" if name is None else f"no support from the source {name!r}"
            raise UnknownTarget(
                f"claim {claim!r} has {what}; record one with support(…), or give supports=[…]"
            )
        return [graph.id_of(entity(SUPPORT, row)) for row in rows]

    def policy(
        self,
        *,
        single_valued: str | None = None,
        contradicts: Iterable[str] = (),
        verified: str | None = None,
        reason: str | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Declares a policy: a ``single_valued`` predicate, claims that contradict each other
        (``contradicts``), or a claim that somebody ``verified``. Withdraw it by its id."""
        fields: dict[str, Any] = {
            "event": "policy",
            "id": _fresh("policy") if id is None else id,
            "workspace": workspace,
            "single_valued": single_valued,
            "contradicts": tuple(contradicts),
            "verified": verified,
            "reason": reason,
        }
        return self._one(fields, recorded_at)

    def _one(self, fields: Mapping[str, Any], recorded_at: Instant | None) -> str:
        self.append([fields], recorded_at=recorded_at)
        id: str = fields["id"]
        return id

    def append(
        self,
        events: Iterable[Mapping[str, Any] | ev.Event],
        *,
        expected_revision: int | None = None,
        recorded_at: Instant | None = None,
    ) -> Commit:
        """Appends events, as mappings in the exchange form, in one atomic and durable commit.

        With ``expected_revision`` it is refused (`RevisionConflict`) if a workspace of the events
        has moved past it. What is there already with the same content is not repeated; with other
        content it raises `DuplicateId`. On any error nothing is written.
        """
        parsed, stamp = _parsed(events)
        if recorded_at is not None:
            stamp = times.instant(recorded_at, "recorded_at")
        if expected_revision is not None:
            _check_revision(expected_revision, "expected_revision")
        if not parsed:
            raise InvalidEvent("an append needs at least one event")
        done = self._stream.append(Request(parsed, recorded_at=stamp, expected=expected_revision))
        return Commit(
            tuple(event.id for event in parsed),
            done.revision,
            times.moment(done.recorded_at),
            done.new,
            done.repeated,
        )

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
        whose ``recorded_at`` steps back at their arrival, keeping it as ``stated_at``.
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
            _refuse_unknown(unknown)
        if valid_at is None:
            both = (
                "known_at alone is ambiguous; say both" if known_at is not None else "it is needed"
            )
            raise CallerError(
                f"valid_at is missing and {both}: valid_at is when it applied in the world, "
                "known_at what had been recorded by then"
            )
        v = times.instant(valid_at, "valid_at")
        fold, head = self._stream.capture()
        k, live = self._known(fold, head, known_at)
        return TruthView(
            fold.belief,
            self._stream.payload,
            valid_at=v,
            revision=k,
            workspace=workspace,
            shared=shared,
            perspective=perspective,
            live=live,
            horizon=head,
        )

    def _known(self, fold: Fold, head: int, known_at: Instant | int | None) -> tuple[int, bool]:
        graph = fold.belief.graph
        if known_at is None:
            return head, True
        if isinstance(known_at, int):
            k = _check_revision(known_at, "known_at")
            if k > head:
                raise CallerError(f"known_at is revision {k}; the ledger's is {head}")
            if k and graph.commit_of(k) != k:
                raise CallerError(
                    f"known_at is position {k}, inside the commit that ends at "
                    f"{graph.commit_of(k)}; a commit is known whole"
                )
            return k, False
        at = times.instant(known_at, "known_at")
        last = graph.recorded_of(head) if head else times.NEG
        if at > max(last, self._clock()):
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
        valid_at: Instant,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
    ) -> list[Belief]:
        """The successive beliefs about one instant of valid time, in order of knowledge.

        Each has ``known_at``, ``revision``, ``values`` and ``value``.
        """
        from doxa.views import history

        view = self.view(
            valid_at=valid_at, workspace=workspace, perspective=perspective, shared=shared
        )
        return history(view, subject, predicate)

    # ------------------------------------------------------------ registry and assembly

    def judge(self, ids: str | Iterable[str], view: TruthView) -> list[Judgement]:
        """Whether claims and artefacts may be served at a view, each with the reason if not."""
        from doxa.engine.registry import judge_ids

        fold = self._fold_of(view)
        return judge_ids(fold.registry, view, [ids] if isinstance(ids, str) else ids)

    def reconcile(self, view: TruthView, since: TruthView | None = None) -> Reconciliation:
        """What is invalidated, restored and unchanged at a view, since another or, without one,
        since each artefact's registration. Costs what changed."""
        from doxa.engine.reconcile import reconcile

        return reconcile(self._fold_of(view).registry, view, since)

    def _fold_of(self, view: TruthView) -> Fold:
        fold, _ = self._stream.capture()
        if view.belief is not fold.belief:
            raise CallerError("the view is of another ledger, or of one that was reopened since")
        return fold

    def moved(self, view: TruthView) -> bool:
        """Whether what a live view sees has moved since it was captured, in any process.

        A historical view never moves.
        """
        if not view.live:
            return False
        fold, head = self._stream.capture(wait=True)
        if view.belief is not fold.belief:
            self._fold_of(view)
        return view.seen_revision(head) > view.seen_revision(view.revision)

    def assemble(
        self,
        query: str,
        *,
        view: TruthView,
        candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
        budget: int,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
    ) -> Block:
        """Renders what may be believed of the candidates at a view, within a budget.

        Without candidates the registered summaries are judged. ``budget`` is in characters, or in
        what ``count`` counts. Raises `ViewMoved`, and returns nothing, if the truth moved while it
        was made.
        """
        from doxa.engine.assembly import assemble

        block = assemble(
            self._fold_of(view).registry,
            view,
            query,
            candidates=candidates,
            budget=budget,
            count=count,
            top_k=top_k,
        )
        if self.moved(view):
            raise ViewMoved(
                f"the truth moved past revision {view.revision} since the view was captured; "
                "capture a new view and assemble again, or use assemble_fresh"
            )
        return block

    def assemble_fresh(
        self,
        query: str,
        *,
        valid_at: Instant,
        budget: int,
        candidates: Iterable[Candidate | Mapping[str, Any]]
        | Callable[[TruthView], Iterable[Candidate | Mapping[str, Any]]]
        | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        attempts: int = 3,
    ) -> Block:
        """Captures a live view and assembles, anew when the truth moves meanwhile.

        ``candidates`` may be a function of the view, called for each attempt. After ``attempts``
        the last `ViewMoved` is raised.
        """
        if attempts < 1:
            raise CallerError(f"attempts is {attempts}; give 1 or more")
        if candidates is not None and not callable(candidates):
            candidates = list(candidates)
        for attempt in range(attempts):
            view = self.view(
                valid_at=valid_at, workspace=workspace, perspective=perspective, shared=shared
            )
            chosen = candidates(view) if callable(candidates) else candidates
            try:
                return self.assemble(
                    query, view=view, candidates=chosen, budget=budget, count=count, top_k=top_k
                )
            except ViewMoved:
                if attempt == attempts - 1:
                    raise
        raise AssertionError("unreachable")

    def replay(
        self,
        receipt: Receipt | Mapping[str, Any],
        *,
        count: Callable[[str], int] | None = None,
    ) -> Replay:
        """Renders a receipt's request again at its own view and compares every byte.

        ``count`` is the counter that was used, if any: the receipt has only its name.
        """
        from doxa.engine.assembly import as_receipt, replay

        given = as_receipt(receipt)
        fold, _ = self._stream.capture()
        return replay(fold.registry, given, self._view_of(given), count=count)

    def _view_of(self, receipt: Receipt) -> TruthView:
        at = receipt.view
        fold, head = self._stream.capture()
        if at["horizon"] > head or at["revision"] > head:
            raise CallerError(
                f"the receipt is of revision {at['revision']} (horizon {at['horizon']}); this "
                f"ledger ends at {head}: it is another ledger, or an older copy"
            )
        return TruthView(
            fold.belief,
            self._stream.payload,
            valid_at=times.instant(at["valid_at"], "valid_at"),
            revision=at["revision"],
            workspace=at["workspace"],
            shared=at["shared"],
            perspective=at["perspective"],
            live=False,
            horizon=at["horizon"],
        )

    # ------------------------------------------------------------ audit

    def verify(self, *, oracle: bool = True) -> Report:
        """Checks the chain and every commitment, and the belief and registry against the oracle.

        Reports what it finds; raises nothing for damage.
        """
        from doxa.verification import verify

        return verify(self, oracle=oracle)

    def stats(self) -> dict[str, Any]:
        """Figures about the ledger: events by kind, workspaces, bytes, versions."""
        from doxa.verification import stats

        return stats(self)

    aclaim = _twin(claim)
    asupport = _twin(support)
    awithdraw = _twin(withdraw)
    acorrect = _twin(correct)
    acite = _twin(cite)
    asummarize = _twin(summarize)
    apolicy = _twin(policy)
    aappend = _twin(append)
    aimport_events = _twin(import_events)
    aview = _twin(view)
    ahistory = _twin(history)
    ajudge = _twin(judge)
    areconcile = _twin(reconcile)
    aassemble = _twin(assemble)
    aassemble_fresh = _twin(assemble_fresh)
    areplay = _twin(replay)
    averify = _twin(verify)


# ------------------------------------------------------------ arguments


def _folder(path: str | os.PathLike[str], create: bool) -> Path:
    text = os.fspath(path)
    if "://" in text:
        scheme = text.split("://")[0]
        raise CallerError(
            f"a ledger at {scheme}:// can't be opened: this doxa keeps ledgers in folders only; "
            "give a folder's path"
        )
    folder = Path(text)
    if folder.exists() and not folder.is_dir():
        raise NotALedger(f"{folder} is a file; a ledger is a folder with {LOG} in it")
    if folder.is_dir() and not (folder / LOG).exists():
        found = {entry.name for entry in folder.iterdir() if not entry.name.startswith(LOG)}
        if foreign := sorted(found - _OWN):
            raise NotALedger(
                f"{folder} holds {', '.join(foreign[:3])} but no {LOG}: it is no ledger; give the "
                "path of one, or of a new or empty folder"
            )
    if not create and not (folder / LOG).exists():
        raise NotALedger(f"there is no ledger at {folder}")
    return folder


def _micros(clock: Callable[[], datetime]) -> Callable[[], int]:
    return lambda: times.instant(clock(), "the clock's time")


def _fresh(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:20]}"


def _source(source: str | Source | Mapping[str, Any] | None) -> object:
    if isinstance(source, Source):
        return {name: getattr(source, name) for name in Source.__slots__}
    return source


def _end(fields: dict[str, Any], valid_to: object, valid_until: object) -> None:
    if valid_until is None:
        fields["valid_to"] = valid_to
        return
    if valid_to is not None:
        raise InvalidEvent("valid_to (exclusive) and valid_until (an inclusive day): give one")
    fields["valid_until"] = valid_until


def _parsed(
    events: Iterable[Mapping[str, Any] | ev.Event],
) -> tuple[Sequence[ev.Event], int | None]:
    if isinstance(events, Mapping | str | ev.Event):
        raise InvalidEvent(f"{events!r:.80} is one event or text; give a list of events")
    parsed, stamps = [], set()
    for event in events:
        if isinstance(event, ev.Event):
            parsed.append(event)
            continue
        if not isinstance(event, Mapping):
            raise InvalidEvent(f"{event!r:.80} is no event; give mappings in the exchange form")
        fields = dict(event)
        if fields.get("id") is None:
            fields["id"] = _fresh(str(fields.get("event", "event")))
        if fields.get("recorded_at") is not None:
            stamps.add(times.instant(fields["recorded_at"], "recorded_at"))
        parsed.append(ev.parse(fields))
    if len(stamps) > 1:
        raise InvalidTime(
            f"{len(stamps)} different recorded_at in one append; a commit has one: use "
            "import_events for several commits"
        )
    return parsed, stamps.pop() if stamps else None


def _check_revision(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CallerError(f"{name} is {value!r}; a revision is a position in the log, 0 or more")
    return value


def _refuse_unknown(unknown: Mapping[str, object]) -> None:
    name = next(iter(unknown))
    if name == "as_of":
        raise CallerError(
            "as_of is refused: say valid_at (when it applied in the world) and known_at (what had "
            "been recorded by then)"
        )
    raise CallerError(
        f"view takes no {name!r}; it takes valid_at, known_at, workspace, perspective, shared"
    )
