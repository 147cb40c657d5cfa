"""The ledger's writing half: what is recorded, each call one durable commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Literal

from doxa.arguments import (
    UNSET,
    ArtefactId,
    Commit,
    CorrectionId,
    Instant,
    Source,
    SourceLike,
    Unset,
    check_list,
    check_revision,
    check_text,
    check_view,
    end_of,
    fresh,
    parsed,
    source_fields,
)
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import (
    CallerError,
    InvalidEvent,
    InvalidTime,
    RevisionConflict,
    UnknownTarget,
    ViewMoved,
    WasErased,
    workspace_in_words,
)
from doxa.engine.gate import Override
from doxa.engine.graph import CLAIM, CORRECTION, KINDS, NONE, SUPPORT, Graph, entity
from doxa.engine.stream import Request, Stream
from doxa.engine.view import Id
from doxa.rejecting import Guard, OverrideLike, Rejecting, override_of
from doxa.views import TruthView

__all__ = ["Writing"]


class Writing(Rejecting):
    """Everything that appends to the log."""

    _stream: Stream

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
        source: SourceLike | None = None,
        because: Iterable[Id] = (),
        assumed: str | None = None,
        recall_when: Iterable[str] = (),
        workspace: str = "",
        recorded_at: Instant | None = None,
        override: OverrideLike | None = None,
    ) -> str:
        """Records a claim, with its own support if ``source`` or ``because`` is given.

        ``object`` is any JSON value; the interval is ``[valid_from, valid_to)``, ``None`` an open
        end; ``valid_until`` is an inclusive last day instead; ``recall_when`` are phrases at which
        it is to be recalled. Returns the claim's id. Raises `ValueRejected` where the object or
        text is rejected; ``override`` says why it is to be recorded all the same.
        """
        fields: dict[str, Any] = {
            "event": "claim",
            "id": fresh("claim") if id is None else id,
            "workspace": workspace,
            "subject": subject,
            "predicate": predicate,
            "object": object,
            "text": text,
            "kind": kind,
            "perspective": perspective,
            "valid_from": valid_from,
            "source": source_fields(source),
            "because": because,
            "assumed": assumed,
            "recall_when": recall_when,
        }
        end_of(fields, valid_to, valid_until)
        return self._one(fields, recorded_at, override=override_of(override))

    def support(
        self,
        claim: str,
        *,
        source: SourceLike | None = None,
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
            "id": fresh("support") if id is None else id,
            "workspace": workspace,
            "claim": claim,
            "source": source_fields(source),
            "because": because,
            "stance": stance,
            "valid_from": valid_from,
            "assumed": assumed,
        }
        end_of(fields, valid_to, valid_until)
        return self._one(fields, recorded_at)

    def withdraw(
        self,
        target: str | Source,
        *,
        reason: str | None = None,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        valid_until: date | str | None = None,
        source: SourceLike | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
    ) -> str:
        """Takes back an event or artefact by id, or a whole source (``doxa.Source("id")``).

        ``source`` says who asked. Without bounds it is taken back at all valid times.
        """
        fields: dict[str, Any] = {
            "event": "withdrawal",
            "id": fresh("withdrawal") if id is None else id,
            "workspace": workspace,
            "reason": reason,
            "asked_by": source_fields(source),
            "valid_from": valid_from,
        }
        if isinstance(target, Source):
            fields["source"] = target.id
        else:
            fields["target"] = target
        end_of(fields, valid_to, valid_until)
        return self._one(fields, recorded_at)

    def correct(
        self,
        claim: str,
        object: Any = UNSET,
        *,
        by: str | None = None,
        valid_from: Instant | Unset | None = UNSET,
        valid_to: Instant | Unset | None = UNSET,
        valid_until: date | str | None = None,
        source: SourceLike | None = None,
        because: Iterable[Id] = (),
        reason: str | None = None,
        text: str | None = None,
        kind: str | None = None,
        id: str | None = None,
        workspace: str = "",
        recorded_at: Instant | None = None,
        reject: bool = False,
        override: OverrideLike | None = None,
        expected_revision: int | None = None,
    ) -> CorrectionId:
        """Replaces a claim: by a new ``object``, by an existing claim (``by``), or by nothing.

        With an object the bounds set the new claim's interval, those left out being the target's;
        otherwise they set the portion that is corrected. Left out is not ``None``: ``None`` is an
        open bound, or the JSON null. Both events go into one commit. Where an ``id`` is given, the
        new claim's is that with ``/replacement`` behind it, so that the call can be repeated.
        With ``reject`` the old object and text are rejected in the same commit (see `reject`), for
        their predicate; ``override`` is that of `claim`, for the new one. ``expected_revision`` is
        that of `append`.
        """
        if expected_revision is not None:
            check_revision(expected_revision, "expected_revision")
        if not isinstance(object, Unset) and by is not None:
            raise CallerError("give a new object or an existing claim (by), not both")
        bounds: dict[str, Any] = {}
        if not isinstance(valid_from, Unset):
            bounds["valid_from"] = valid_from
        if not isinstance(valid_to, Unset):
            bounds["valid_to"] = valid_to
        if valid_until is not None:
            bounds["valid_until"] = valid_until
        correction: dict[str, Any] = {
            "event": "correction",
            "id": fresh("correction") if id is None else id,
            "workspace": workspace,
            "corrects": claim,
            "source": source_fields(source),
            "reason": reason,
        }
        events = [correction]
        guard: Guard | None = None
        if isinstance(object, Unset):
            if because or text is not None or kind is not None:
                raise CallerError("because, text and kind are a new claim's: give its object too")
            correction |= bounds | ({} if by is None else {"by": by})
        else:
            new = self._replacement(claim, workspace, bounds)
            new["id"] = fresh("claim") if id is None else f"{id}/replacement"
            new |= {
                "object": object,
                "text": text,
                "source": source_fields(source),
                "because": because,
            }
            if kind is not None:
                new["kind"] = kind
            by = correction["by"] = new["id"]
            events.insert(0, new)
        if reject:
            replacing = None if isinstance(object, Unset) else events[0]
            rejections, guard = self._reject_old(self._old(claim, workspace), replacing, id)
            events += rejections
        given = override_of(override)
        self._append(events, recorded_at, expected_revision, override=given, guard=guard)
        if reject:
            self._forget()
        return CorrectionId(correction["id"], by)

    def _replacement(
        self, claim: object, workspace: str, bounds: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A claim like another, over the bounds that are given and its own where they are not."""
        old = self._old(claim, workspace)
        fields: dict[str, Any] = {
            "event": "claim",
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

    def _old(self, claim: object, workspace: str) -> ev.Claim:
        """A claim that is there, as it was recorded."""
        check_text(workspace, "workspace")
        fold, _ = self._stream.capture()
        found = NONE if not isinstance(claim, str) else fold.belief.graph.find(workspace, claim)
        if found == NONE or found & 7 != CLAIM:
            raise _no_claim(fold.belief.graph, found, workspace, claim)
        old = self._stream.payload(fold.belief.graph.position_of(found))
        assert isinstance(old, ev.Claim)
        if old.erased:
            raise WasErased(
                f"claim {claim!r} was erased, and nobody knows what it said: it can't be replaced "
                "or rejected by its id; record what is so as a new claim"
            )
        return old

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

        ``claim`` (and ``source``) stand for the supports of that claim (from that source), less
        refutations and what has been withdrawn for good. The binding, the selection of subjects
        and the view are as for `summarize`.
        """
        named = check_list(supports, "supports")
        if claim is not None:
            named += self._supports_of(claim, source, workspace)
        elif source is not None:
            raise CallerError("source goes with claim: which claim does it support?")
        fields = {
            "event": "citation",
            "supports": named,
            "facts": facts,
            "sources": check_list(sources, "sources"),
        }
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
        the snapshot's. `ViewMoved` is raised if the truth moved since a live view, or since any
        view that a snapshot was made from.
        """
        fields = {
            "event": "summary",
            "facts": facts,
            "supports": supports,
            "sources": check_list(sources, "sources"),
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
        name = fresh(fields["event"]) if id is None else id
        fields |= {"id": name, "workspace": workspace, "text": text, "binding": binding}
        if selection is not None:
            fields["subjects"] = check_list(selection, "selection")
        expected: int | None = None
        watched: frozenset[str] = frozenset()
        if view is not None:
            check_view(view, self._stream)
            if binding == "snapshot":
                fields["valid_at"] = view.valid_at
            if view.live or binding == "snapshot":
                expected = view.revision
            watched = frozenset({view.workspace, ""} if view.shared else {view.workspace})
        try:
            self._append([fields], recorded_at, expected, watched)
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
        check_text(claim, "claim")
        check_text(workspace, "workspace")
        if source is not None and not isinstance(source, Source):
            check_text(source, "source")
        fold, k = self._stream.capture()
        graph = fold.belief.graph
        found = graph.find(workspace, claim)
        if found == NONE or found & 7 != CLAIM:
            raise _no_claim(graph, found, workspace, claim)
        name = source.id if isinstance(source, Source) else source
        named = [
            row
            for row in graph.supports_of(found >> 3)
            if graph.s_pos[row] <= k
            and not graph.s_refutes[row]
            and (
                name is None
                or (
                    graph.s_source[row] != NONE
                    and graph.names.texts[graph.r_name[graph.s_source[row]]] == name
                )
            )
        ]
        if not named:
            what = "no support" if name is None else f"no support from the source {name!r}"
            raise UnknownTarget(
                f"claim {claim!r} has {what}; record one with support(…), or give supports=[…]"
            )
        # what has been withdrawn for good is cited only where there is nothing else
        standing = [row for row in named if fold.belief.extent(entity(SUPPORT, row), k)]
        return [graph.id_of(entity(SUPPORT, row)) for row in standing or named]

    def append(
        self,
        events: Iterable[Mapping[str, Any] | ev.Event],
        *,
        expected_revision: int | None = None,
        recorded_at: Instant | None = None,
        override: OverrideLike | None = None,
    ) -> Commit:
        """Appends events, as mappings in the exchange form, in one atomic and durable commit.

        With ``expected_revision`` it is refused (`RevisionConflict`) if a workspace of the events
        has moved past it. What is there already with the same content is not repeated; with other
        content it raises `DuplicateId`. On any error nothing is written; where a value is rejected
        (`ValueRejected`), only that it was kept out. ``override`` is that of `claim`.
        """
        if expected_revision is not None:
            check_revision(expected_revision, "expected_revision")
        override_given = override_of(override)
        return self._append(events, recorded_at, expected_revision, override=override_given)

    def _append(
        self,
        events: Iterable[Mapping[str, Any] | ev.Event],
        recorded_at: Instant | None = None,
        expected: int | None = None,
        watched: frozenset[str] = frozenset(),
        override: Override | None = None,
        guard: Guard | None = None,
    ) -> Commit:
        given, stated = parsed(events)
        stamp = stated if recorded_at is None else times.instant(recorded_at, "recorded_at")
        if stated not in (None, stamp):
            raise InvalidTime(
                "recorded_at is given twice: the events say otherwise than the call; give one"
            )
        if not given:
            raise InvalidEvent("an append needs at least one event")
        request = Request(given, stamp, expected, watched, override=override, guard=guard)
        done = self._stream.append(request)
        return Commit(
            tuple([event.id for event in given]),
            done.revision,
            times.moment(done.recorded_at),
            done.new,
            done.repeated,
        )


def _no_claim(graph: Graph, found: int, workspace: str, id: object) -> UnknownTarget:
    """The refusal of an id that is no claim's, with the one that may be meant."""
    if found == NONE:
        place = workspace_in_words(workspace)
        return UnknownTarget(f"{id!r} is no claim in {place}; give the id that claim returned")
    by = graph.k_by[found >> 3] if found & 7 == CORRECTION else NONE
    put_in = "" if by == NONE else f"{graph.claim_id(by)!r}, which it put in"
    instead = put_in or "the id that claim returned"
    return UnknownTarget(f"{id!r} is a {KINDS[found & 7]} and no claim; give {instead}")
