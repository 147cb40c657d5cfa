"""Commands that say what may still be served of texts and claims, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any, Final

import typer

from doxa.adapters.cli import options as opt
from doxa.adapters.cli.failures import DONE, NO
from doxa.adapters.cli.output import document, note, table
from doxa.engine import events as ev
from doxa.engine.items import iso_or_none
from doxa.engine.reconcile import Outcome
from doxa.views import TruthView

__all__ = ["add_to"]

_BEGINNING: Final = 60  # characters that are shown of a text


def judge(
    path: opt.Path,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Claims, supports and artefacts.")],
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    workspace: opt.Workspace = "",
    perspective: opt.Perspective = None,
    shared: opt.Shared = True,
    as_json: opt.AsJson = False,
) -> int:
    """Say whether things may be served at a view.

    Things are claims, supports and artefacts. Exit 1 if one of them may not.
    """
    with opt.reading(path) as ledger:
        view = opt.view(ledger, valid_at, known_at, workspace, perspective, shared)
        judged = ledger.judge(ids, view)
    if as_json:
        document([one._asdict() for one in judged])
    else:
        columns = ("id", "eligible", "reason", "about", "standing")
        table(columns, [(j.id, j.eligible, j.reason, j.about, j.standing) for j in judged])
    return DONE if all(one.eligible for one in judged) else NO


def reconcile(
    path: opt.Path,
    valid_at: opt.ValidAt,
    known_at: opt.KnownAt = None,
    since_valid_at: opt.OtherValidAt = None,
    since_known_at: opt.OtherKnownAt = None,
    workspace: opt.Workspace = "",
    shared: opt.Shared = True,
    prefix: Annotated[str, typer.Option(help="Texts whose ids begin like this only.")] = "",
    unchanged: Annotated[bool, typer.Option("--unchanged", help="List these as well.")] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Say which registered texts changed, and by what.

    Exit 1 if one is invalidated. Compares with each text's state at its registration or, with
    since, at another view: a time of it that is left out is that of the view.
    """
    with opt.reading(path) as ledger:
        view = opt.view(ledger, valid_at, known_at, workspace, shared=shared)
        since = None
        if since_valid_at is not None or since_known_at is not None:
            since = opt.view(
                ledger,
                valid_at if since_valid_at is None else since_valid_at,
                known_at if since_known_at is None else since_known_at,
                workspace,
                shared=shared,
            )
        found = ledger.reconcile(view, since)
        every = [
            [one for one in some if one.id.startswith(prefix)]
            for some in (found.invalidated, found.restored, found.unchanged)
        ]
        states = dict(zip(("invalidated", "restored", "unchanged"), every, strict=True))
        same = len(states["unchanged"])
        if not unchanged:
            states["unchanged"] = []
        begin = {} if as_json else _beginnings(view, chain.from_iterable(states.values()))
    if as_json:
        told: dict[str, Any] = {name: [_outcome(o) for o in some] for name, some in states.items()}
        if not unchanged:
            told["unchanged"] = same
        document(told)
    else:
        rows = [
            (name, o.kind, o.id, o.reason, o.about, o.standing, o.cause and str(o.cause), begin[o])
            for name, some in states.items()
            for o in some
        ]
        table(("change", "kind", "id", "reason", "about", "standing", "cause", "text"), rows)
        note(f"{same} unchanged")
    return NO if states["invalidated"] else DONE


def _beginnings(view: TruthView, outcomes: Iterable[Outcome]) -> dict[Outcome, str]:
    """How each text begins, so that it is known again; nothing of one that was erased."""
    found = {}
    for one in outcomes:
        event = view.payload(view.graph.position_of(view.find(one.id, one.workspace)))
        assert isinstance(event, ev.Artefact), event
        text = "" if event.erased else event.text.strip()
        first = text.partition("\n")[0].strip()
        cut = f"{first[:_BEGINNING]}…" if len(first) > _BEGINNING else first
        found[one] = f"{cut} …" if len(text) > len(first) <= _BEGINNING else cut
    return found


def _outcome(outcome: Outcome) -> dict[str, Any]:
    cause = outcome.cause
    return {
        "id": outcome.id,
        "workspace": outcome.workspace,
        "kind": outcome.kind,
        "eligible": outcome.eligible,
        "reason": outcome.reason,
        "about": outcome.about,
        "standing": outcome.standing,
        "cause": None
        if cause is None
        else {
            "event": cause.event,
            "type": cause.type,
            "position": cause.position,
            "recorded_at": iso_or_none(cause.recorded_at),
            "instant": iso_or_none(cause.instant),
        },
    }


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command()(judge)
    app.command()(reconcile)
