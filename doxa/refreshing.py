"""Refresh: a source that has changed is looked at anew, and what it says now is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import Instant, SourceLike, check_text, source_fields
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError, RevisionConflict, ValueRejected
from doxa.engine.parse import parse
from doxa.engine.stream import Request, Stream
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.engine.registry import Registry
    from doxa.projections.refresh import Changed, Given, Part
    from doxa.projections.stale import Stale

__all__ = ["Refresh", "Refreshing"]

_PATIENCE: Final = 10  # times in a row that others may write in between


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a refresh did or, in a dry run, would do.

    ``sections`` says what became of each, or under "" of the source as a whole: unchanged,
    refreshed or vanished. ``kept`` is how many claims it still says, ``changes`` what became of the
    others, ``stale_evidence`` what rests on something that has changed. ``revision`` is the log's.
    """

    source: str
    workspace: str
    sections: Mapping[str, Part]
    kept: int
    changes: tuple[Changed, ...]
    stale_evidence: tuple[Stale, ...]
    revision: int
    dry_run: bool

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to record."""
        return all(change.turn == "rejected" for change in self.changes)

    def of(self, turn: str) -> list[Changed]:
        """The claims that one thing became of: `added`, `corrected`, …"""
        return [change for change in self.changes if change.turn == turn]

    def as_dict(self) -> dict[str, Any]:
        """The refresh as a JSON object."""
        return {
            "source": self.source,
            "workspace": self.workspace,
            "sections": {name: str(part) for name, part in self.sections.items()},
            "unchanged": self.unchanged,
            "kept": self.kept,
            "changes": [change.as_dict() for change in self.changes],
            "stale_evidence": [each.as_dict() for each in self.stale_evidence],
            "revision": self.revision,
            "dry_run": self.dry_run,
        }


class Refreshing:
    """The pass that follows a source."""

    _stream: Stream

    if TYPE_CHECKING:
        clock: Callable[[], int]
        view: Callable[..., TruthView]
        is_rejected: Callable[..., tuple[Any, ...]]
        _registry_of: Callable[[TruthView], Registry]

    def refresh(
        self,
        source: SourceLike,
        lines: Iterable[Mapping[str, Any]],
        *,
        content: str | bytes | None = None,
        digest: str | None = None,
        sections: Mapping[str, str | bytes] | None = None,
        partial: bool = False,
        allow_empty: bool = False,
        confirm: bool = False,
        reason: str | None = None,
        workspace: str = "",
        valid_at: Instant | None = None,
        dry_run: bool = False,
    ) -> Refresh:
        """Records what a source says now, in one commit, and only where that has changed.

        ``lines`` are all claims that were extracted from it: mappings in the exchange form, without
        ``because``; ``section`` names the part of the source, ``quote`` the words. The ``content``
        is hashed (SHA-256), or its ``digest`` is given; where it is the one that was recorded of
        the source last, nothing is looked at. Else claims that it still says stay as they are; one
        that it says otherwise, from the same time on, is corrected, where no other source ever said
        it; what it says no longer is withdrawn from this source alone; and what is new is added, as
        a support where the claim is there already. ``confirm`` records that the new content says it
        too, for what stays. A claim whose object or text was rejected is left out, and told of.

        With ``sections``, the content of each by name, only those that have changed are looked at,
        and what is recorded of others is withdrawn, unless ``partial``. A source or section with
        claims of which nothing was extracted is refused, unless ``allow_empty``. ``valid_at`` (now)
        is where it is judged whether what rests on changed evidence still stands. Raises
        `CallerError` and `DuplicateId`; nothing is written then, nor in a ``dry_run``.
        """
        from doxa.projections.extracted import extracted
        from doxa.projections.refresh import Given

        check_text(workspace, "workspace")
        ref, told = _source(source), _content(content, digest, sections)
        parse({"event": "withdrawal", "id": "-", "target": "…", "reason": reason})
        if partial and sections is None:
            raise CallerError("partial goes with sections: the others are left alone")
        found = extracted(lines, ref, workspace, told)
        options = partial, allow_empty, confirm, reason
        given = Given(ref, workspace, told, found, *options, self._rejecting)
        at = times.moment(self.clock()) if valid_at is None else valid_at
        for patience in range(_PATIENCE, 0, -1):
            view = self.view(valid_at=at, workspace=workspace, shared=False)
            try:
                return self._refreshed(view, given, dry_run)
            except RevisionConflict:
                if patience == 1:
                    raise
        raise AssertionError("it was written, or refused")

    def _rejecting(self, claim: ev.Claim) -> str | None:
        """The id of a rejection that keeps a claim out."""
        said = [claim.object] if claim.text is None else [claim.object, claim.text]
        place = {"predicate": claim.predicate, "workspace": claim.workspace}
        return next((r.id for value in said for r in self.is_rejected(value, **place)), None)

    def _refreshed(self, view: TruthView, given: Given, dry_run: bool) -> Refresh:
        from doxa.projections.refresh import plan
        from doxa.projections.stale import stale

        planned = plan(view, given, self._stream.rows)
        events, after = planned.events, view
        if dry_run and events:
            self._stream.weigh(Request(events))
        elif not dry_run and (events or planned.kept_out):
            if events:
                self._stream.append(Request(events, expected=view.revision))
            for claim in planned.kept_out:
                with contextlib.suppress(ValueRejected):  # that it was kept out is noted in the log
                    self._stream.append(Request([claim]))
            after = self.view(valid_at=view.valid_at, workspace=given.workspace, shared=False)
        resting = stale(self._registry_of(after), after, planned.touched, changed=not dry_run)
        return Refresh(
            given.source.id,
            given.workspace,
            planned.parts,
            planned.kept,
            tuple(planned.changes),
            tuple(resting),
            after.revision,
            dry_run,
        )


def _source(source: object) -> ev.SourceRef:
    """The source, of which no place, words or content may be stated here."""
    found = _ref(source_fields(source))  # type: ignore[arg-type]  # it is checked there
    for name in ("locator", "quote", "digest"):
        if getattr(found, name) is not None:
            raise CallerError(
                f"source has a {name}; a refresh states it of each claim: give the source's id, "
                "and what goes for all of it (origin, observed_at)"
            )
    return found


def _ref(source: object) -> ev.SourceRef:
    """A source as an event may name it."""
    claim = {"event": "claim", "id": "-", "subject": "-", "predicate": "-", "object": None}
    found = parse({**claim, "source": source})
    assert isinstance(found, ev.Claim), found
    if found.source is None:
        raise CallerError("source is None; give the id of the source that is refreshed")
    return found.source


def _content(content: object, digest: object, sections: object) -> Any:
    """The digests of what is refreshed."""
    from doxa.projections.extracted import Content, digest_of

    if sum(given is not None for given in (content, digest, sections)) != 1:
        raise CallerError(
            "give the content of the source, its digest, or the contents of its sections: one of "
            "them says whether it has changed"
        )
    if digest is not None:
        check_text(digest, "digest")
        if not digest:
            raise CallerError("digest is empty; give that of the source's content")
        return Content(_ref({"id": "-", "digest": digest}).digest, {})
    if sections is None:
        return Content(digest_of(content), {})  # type: ignore[arg-type]  # it is checked there
    if not isinstance(sections, Mapping) or not all(isinstance(name, str) for name in sections):
        raise CallerError(f"sections is {sections!r:.80}; give the contents by name")
    return Content(
        None, {name: digest_of(each, f"section {name!r:.80}") for name, each in sections.items()}
    )
