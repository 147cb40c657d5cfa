"""The tools that record, each call one durable commit."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from doxa.adapters.mcp.arguments import Arguments, Claiming, Correcting, Supporting, Withdrawing
from doxa.adapters.mcp.desk import Desk, source_of
from doxa.adapters.mcp.results import Recorded
from doxa.adapters.mcp.telling import told_recorded
from doxa.arguments import UNSET, Commit, Unset
from doxa.engine.belief import Standing
from doxa.engine.errors import CallerError, InvalidEvent, UnknownTarget, workspace_in_words
from doxa.engine.items import iso_or_none
from doxa.engine.rendering import named
from doxa.views import TruthView

__all__ = ["claim", "correct", "support", "withdraw"]

OPEN: Final = "open"  # what is given for an open bound, where left out is the old claim's

_NEXT: Final = {
    Standing.UNSUPPORTED: "It is not believed without evidence: record some with doxa_support "
    "(the source that says so, or the claims that it follows from).",
    Standing.HYPOTHESIS: "A hypothesis is never believed; record it as kind fact once it is one.",
    Standing.CONTESTED: "Another claim or piece of evidence says otherwise: doxa_why shows it.",
}


def claim(desk: Desk, args: Claiming) -> tuple[Recorded, str]:
    """Records a claim, with its evidence."""
    event = {
        "event": "claim",
        "subject": args.subject,
        "predicate": args.predicate,
        "object": args.object,
        "text": args.text,
        "kind": args.kind,
        "perspective": args.perspective,
        "assumed": args.assumed,
        **_evidence(desk, args),
        **_portion(args),
    }
    commit = _append(desk, event, args)
    return _told(desk, args, commit, commit.ids[0])


def support(desk: Desk, args: Supporting) -> tuple[Recorded, str]:
    """Records evidence for or against a claim."""
    event = {
        "event": "support",
        "claim": args.claim,
        "stance": args.stance,
        **_evidence(desk, args),
        **_portion(args),
    }
    return _told(desk, args, _append(desk, event, args), args.claim)


def withdraw(desk: Desk, args: Withdrawing) -> tuple[Recorded, str]:
    """Takes back an event, an artefact or a whole source."""
    if (args.target is None) == (args.source is None):
        raise CallerError("give target (an id) or source (all that it says): one of the two")
    event: dict[str, Any] = {
        "event": "withdrawal",
        "reason": args.reason,
        "asked_by": args.asked_by,
        **_portion(args),
    }
    event |= {"source": args.source} if args.target is None else {"target": args.target}
    try:
        commit = _append(desk, event, args)
    except UnknownTarget as error:
        raise UnknownTarget(_unknown(desk.place(args), args, error.source)) from None
    return _told(desk, args, commit, args.target)


def _unknown(workspace: str, args: Withdrawing, meant: str | None) -> str:
    """What is said where there is nothing of that name, in the words of the tools."""
    place = workspace_in_words(workspace)
    if args.target is None:
        unknown = f"nothing in {place} names the source {args.source!r}"
        if meant is None:
            return (
                f"{unknown}; doxa_recall and doxa_why name the sources of what they show: give one "
                "as it is spelt there"
            )
        return f"{unknown}; it is the origin of the source {meant!r}: give that, if you mean it"
    if meant == args.target:
        return (
            f"target is {args.target!r}, which is a source and no id: to take back all that it "
            "says, give it as source, and leave target out"
        )
    if meant is not None:
        return (
            f"target is {args.target!r}, which is no id, but the origin of a source: to take back "
            f"all that this says, give {meant!r} as source, and leave target out"
        )
    return (
        f"target is {args.target!r}, which is no id in {place}; doxa_view and doxa_recall give the "
        "ids of claims, doxa_why those of what is behind them"
    )


def correct(desk: Desk, args: Correcting) -> tuple[Recorded, str]:
    """Replaces a claim by a new value, by another claim, or by nothing."""
    ways = [args.object is not None, args.by is not None, args.by_nothing]
    if sum(ways) != 1:
        raise CallerError(
            "give one of object (the new value), by (a claim that is there) and by_nothing=true "
            "(it was wrong, and nothing replaces it); a null is recorded with doxa_claim, and its "
            "id given in by"
        )
    before = desk.ledger.revision
    done = desk.ledger.correct(
        args.claim,
        UNSET if args.object is None else args.object,
        by=args.by,
        valid_from=_bound(args.valid_from),
        valid_to=_bound(args.valid_to),
        source=source_of(args.source),
        because=desk.references(args.because),
        reason=args.reason,
        text=args.text,
        id=args.id,
        workspace=desk.place(args),
        expected_revision=args.expected_revision,
    )
    return _corrected(desk, args, str(done), done.replacement, before)


def _corrected(
    desk: Desk, args: Correcting, id: str, replacement: str | None, before: int
) -> tuple[Recorded, str]:
    """What was recorded: the correction is the last event of its commit."""
    view = desk.view_at(desk.place(args))
    event = view.why(id, workspace=desk.place(args))
    revision = event.position or 0
    about = replacement or args.claim
    standing = view.standing(about)
    warning = None
    if revision > before:
        put_in = replacement is not None
        warning = _warning(view, args.claim, replacement or args.by, put_in)
    made = Recorded(
        id=id,
        replacement=replacement,
        recorded=revision > before,
        revision=revision,
        recorded_at=iso_or_none(event.recorded_at) or "",
        claim=about,
        standing=str(standing),
        standing_at=iso_or_none(view.valid_at),
        next=_NEXT.get(standing) if replacement else None,
        warning=warning,
    )
    return made, told_recorded(made)


def _warning(view: TruthView, old: str, new: str | None, put_in: bool) -> str | None:
    """What is to be known where the old claim had been replaced before: that this is in force."""
    others = [id for id in view.successors(old) if id != new and view.standing(id).held]
    if not others:
        return None
    told = ", ".join(map(named, others))
    both = new is not None and view.standing(new).held
    hold = f"{told} and {named(new)} hold now" if both and new else f"{told} still holds"
    return (
        f"{named(old)} had been superseded already, by {told}; {hold}. If {told} is what is wrong, "
        f"correct that, and withdraw this correction{' and what it put in' if put_in else ''}"
    )


def _evidence(desk: Desk, args: Claiming | Supporting) -> dict[str, Any]:
    source = args.source
    given = source if source is None or isinstance(source, str) else source.model_dump()
    return {"source": given, "because": desk.references(args.because)}


def _portion(args: Claiming | Supporting | Withdrawing) -> dict[str, Any]:
    """The bounds in valid time; an inclusive last day and an exclusive end are not both given."""
    bounds: dict[str, Any] = {"valid_from": args.valid_from}
    if args.valid_until is None:
        return {**bounds, "valid_to": args.valid_to}
    if args.valid_to is not None:
        raise CallerError("valid_to (exclusive) and valid_until (an inclusive day): give one")
    return {**bounds, "valid_until": args.valid_until}


def _bound(text: str | None) -> str | Unset | None:
    """A bound of a correction: left out it is the old claim's, which is not the same as open."""
    return UNSET if text is None else None if text == OPEN else text


def _append(desk: Desk, event: dict[str, Any], args: Any) -> Commit:
    event |= {"id": args.id, "workspace": desk.place(args)}
    return desk.ledger.append([event], expected_revision=args.expected_revision)


def _told(desk: Desk, args: Arguments, commit: Commit, about: str | None) -> tuple[Recorded, str]:
    """What was recorded, and how the claim that it is about stands now."""
    view = desk.view_at(desk.place(args))
    standing = None
    if about is not None:
        with suppress(InvalidEvent):  # it is no claim
            standing = view.standing(about)
    made = Recorded(
        id=commit.ids[0],
        replacement=None,
        recorded=commit.new > 0,
        revision=commit.revision,
        recorded_at=iso_or_none(commit.recorded_at) or "",
        claim=about if standing is not None else None,
        standing=None if standing is None else str(standing),
        standing_at=None if standing is None else iso_or_none(view.valid_at),
        next=None if standing is None else _NEXT.get(standing),
        warning=None,
    )
    return made, told_recorded(made)
