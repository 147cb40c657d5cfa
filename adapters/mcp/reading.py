"""The tools that look: claims, explanations, histories, and what changed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from doxa.adapters.mcp import results as res
from doxa.adapters.mcp.arguments import Diffing, History, Looking, Reconciling, Viewing, Why
from doxa.adapters.mcp.desk import NOTICE, Desk
from doxa.adapters.mcp.telling import (
    told_changes,
    told_claims,
    told_past,
    told_reconciled,
    told_steps,
)
from doxa.engine.errors import CallerError, UnknownTarget, workspace_in_words
from doxa.engine.items import iso_or_none
from doxa.engine.reconcile import Cause, Outcome
from doxa.engine.rendering import named
from doxa.engine.why import Why as Step
from doxa.views import TruthView

__all__ = ["diff", "history", "reconcile", "view", "why"]

ROOM: Final = 400_000  # characters of JSON on a page, from which on no claim is put behind


def view(desk: Desk, args: Viewing) -> tuple[res.Claims, str]:
    """The claims at a view, page by page; each page is of the first one's view."""
    chosen: dict[str, Any] = {
        "subject": args.subject,
        "predicate": args.predicate,
        "kind": args.kind,
        "standing": "any" if args.standing == ["any"] else args.standing,
    }
    key = zlib.crc32(json.dumps([desk.place(args), args.perspective, chosen]).encode())
    start, seen = 0, args
    if args.cursor is not None:
        start, seen = _page(args, key)
    found = desk.view(seen)
    items = found.claims(**{name: one for name, one in chosen.items() if one is not None})
    page = [res.Claim(**item) for item in _fitting(items[start : start + args.limit])]
    end = start + len(page)
    cursor = None
    if end < len(items):
        cursor = f"{end}:{key:08x}:{found.revision}:{iso_or_none(found.valid_at)}"
    values, contested = _values(found, args)
    made = res.Claims(
        notice=NOTICE,
        view=desk.seen(found, seen),
        values=values,
        contested=contested,
        claims=page,
        total=len(items),
        cursor=cursor,
    )
    return made, told_claims(made)


def _page(args: Viewing, key: int) -> tuple[int, Viewing]:
    """Where a page begins, and the arguments of its view."""
    parts = (args.cursor or "").split(":", 3)
    whole = len(parts) == 4 and all(one.isascii() and one.isdigit() for one in (parts[0], parts[2]))
    if not whole or len(parts[0]) > 15:
        raise CallerError(
            f"cursor {args.cursor!r:.80} is none that doxa_view gave; leave it out to begin anew"
        )
    if parts[1] != f"{key:08x}":
        raise CallerError(
            "the cursor goes with another selection: give the same workspace, subject, predicate, "
            "perspective, kind and standing as on the page before, or leave it out to begin anew"
        )
    fixed = {"valid_at": parts[3], "known_at": int(parts[2])}
    return int(parts[0]), args.model_copy(update=fixed)


def _fitting(items: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The items as JSON objects, as far as there is room; one at least."""
    room = ROOM
    for item in items:
        plain = item.as_dict()
        size = len(json.dumps(plain["object"]))
        if size > room and room < ROOM:
            return
        room -= size
        yield plain


def _values(found: TruthView, args: Viewing) -> tuple[list[Any] | None, bool | None]:
    """The distinct values held, where one subject and predicate are asked about."""
    if args.subject is None or args.predicate is None:
        return None, None
    held = found.claims(subject=args.subject, predicate=args.predicate)
    values = found.values(args.subject, args.predicate)
    return list(values), any(item.standing == "contested" for item in held)


def why(desk: Desk, args: Why) -> tuple[res.Explanation, str]:
    """The events, sources and steps behind a standing."""
    found = desk.view(args)
    try:
        steps = list(_flat(found.why(args.id), 0))
    except UnknownTarget:
        raise UnknownTarget(
            f"{args.id!r} is no id that is known at revision {found.revision} in "
            f"{workspace_in_words(found.workspace)}; doxa_view and doxa_recall give the ids of "
            'claims (doxa_view with standing ["any"] those of all)'
        ) from None
    made = res.Explanation(
        notice=NOTICE,
        view=desk.seen(found, args),
        id=args.id,
        steps=[_step(depth, step) for depth, step in steps[: args.limit]],
        more=max(0, len(steps) - args.limit),
    )
    return made, told_steps(made)


def _flat(root: Step, depth: int) -> Iterator[tuple[int, Step]]:
    """The steps of a tree, each before what is behind it."""
    stack = [(depth, root)]
    while stack:
        depth, step = stack.pop()
        yield depth, step
        stack.extend((depth + 1, child) for child in reversed(step.behind))


def _step(depth: int, step: Step) -> res.Step:
    return res.Step(
        depth=depth,
        role=step.role,
        kind=step.kind,
        id=step.id,
        says=step.says,
        standing=None if step.standing is None else str(step.standing),
        counts=step.counts,
        recorded_at=iso_or_none(step.recorded_at),
    )


def history(desk: Desk, args: History) -> tuple[res.Past, str]:
    """The successive beliefs about one instant."""
    at = Looking(valid_at=args.valid_at)
    found = desk.view_at(desk.place(args), args.valid_at, perspective=args.perspective)
    beliefs = desk.ledger.history(
        args.subject,
        args.predicate,
        valid_at=found.valid_at,
        workspace=found.workspace,
        perspective=args.perspective,
        shared=desk.shared,
    )
    made = res.Past(
        notice=NOTICE,
        view=desk.seen(found, at),
        subject=args.subject,
        predicate=args.predicate,
        beliefs=[
            res.Belief(
                known_at=iso_or_none(one.known_at),
                revision=one.revision,
                values=None if one.values is None else list(one.values),
                contested=one.contested,
                erased=list(one.erased),
                compacted=None if one.compacted is None else one.compacted[0],
            )
            for one in beliefs[-args.limit :]
        ],
        earlier=max(0, len(beliefs) - args.limit),
    )
    return made, told_past(made)


def diff(desk: Desk, args: Diffing) -> tuple[res.Changes, str]:
    """What stands otherwise than at an earlier view."""
    if args.before_valid_at is None and args.before_known_at is None:
        raise CallerError(
            "both views are the same: give before_known_at (what was known then?), "
            "before_valid_at (what applied then?), or both"
        )
    after = desk.view(args)
    other = Looking(
        valid_at=args.before_valid_at or iso_or_none(after.valid_at),
        known_at=args.known_at if args.before_known_at is None else args.before_known_at,
    )
    before = desk.view_at(after.workspace, other.valid_at, other.known_at, args.perspective)
    changes = [
        one for one in after.diff(before) if args.subject is None or one.subject == args.subject
    ]
    made = res.Changes(
        notice=NOTICE,
        view=desk.seen(after, args),
        before=desk.seen(before, other),
        changes=[
            res.Change(
                id=one.id,
                workspace=one.workspace,
                subject=one.subject,
                predicate=one.predicate,
                object=one.object,
                before=str(one.before),
                after=str(one.after),
            )
            for one in changes[args.offset : args.offset + args.limit]
        ],
        total=len(changes),
    )
    return made, told_changes(made)


def reconcile(desk: Desk, args: Reconciling) -> tuple[res.Reconciled, str]:
    """What became of registered summaries and citations."""
    found = desk.view(args)
    since = None
    if args.since_known_at is not None or args.since_valid_at is not None:
        at = args.since_valid_at or iso_or_none(found.valid_at)
        at_most = args.known_at if args.since_known_at is None else args.since_known_at
        since = desk.view_at(found.workspace, at, at_most)
    done = desk.ledger.reconcile(found, since=since)
    made = res.Reconciled(
        notice=NOTICE,
        view=desk.seen(found, args),
        invalidated=[_state(one) for one in done.invalidated[: args.limit]],
        restored=[_state(one) for one in done.restored[: args.limit]],
        invalidated_total=len(done.invalidated),
        restored_total=len(done.restored),
        unchanged=len(done.unchanged),
    )
    return made, told_reconciled(made)


def _state(one: Outcome) -> res.State:
    return res.State(
        id=one.id,
        workspace=one.workspace,
        kind=one.kind,
        eligible=one.eligible,
        reason=None if one.reason is None else str(one.reason),
        about=one.about,
        standing=None if one.standing is None else str(one.standing),
        cause=None if one.cause is None else _cause(one.cause),
    )


def _cause(cause: Cause) -> str:
    if cause.event is None:
        return str(cause)
    return f"{cause.type} {named(cause.event)}, recorded {iso_or_none(cause.recorded_at)}"
