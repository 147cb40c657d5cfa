"""A ledger's events as exchange lines: the same bytes for the same log, wherever it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from doxa.adapters.carrying import check_ledger
from doxa.adapters.exchange.stubs import stub
from doxa.engine import codec, times
from doxa.engine import events as ev
from doxa.engine.errors import CallerError
from doxa.engine.log import Row
from doxa.engine.pages import GONE

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["Exported", "export_events", "exported", "exported_fields", "form"]


class Exported(NamedTuple):
    """One exported line and the position of its event, from which reading can go on."""

    position: int
    line: str


def export_events(ledger: Ledger, *, workspace: str | None = None, since: int = 0) -> Iterator[str]:
    """The events after position ``since`` as exchange lines, without line ends, in stream order.

    ``workspace`` gives that workspace's events only. What is recorded while this is read is left
    for the next time. O(events), a page at a time.
    """
    return (item.line for item in exported(ledger, workspace=workspace, since=since))


def exported(
    ledger: Ledger,
    *,
    workspace: str | None = None,
    since: int = 0,
    limit: int | None = None,
) -> Iterator[Exported]:
    """As `export_events`, each line with its position: the cursor for the page after it."""
    found = exported_fields(ledger, workspace=workspace, since=since, limit=limit)
    return (Exported(position, _text(fields)) for position, fields in found)


def exported_fields(
    ledger: Ledger,
    *,
    workspace: str | None = None,
    since: int = 0,
    limit: int | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `exported`, each line as the mapping that it holds."""
    check_ledger(ledger)
    if type(since) is not int or since < 0:
        raise CallerError(f"since is {since!r}; a cursor is a position in the log, 0 or more")
    if limit is not None and limit < 1:
        raise CallerError(f"limit is {limit}; give 1 or more")
    return _exported(ledger, workspace, since, limit)


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _exported(
    ledger: Ledger, workspace: str | None, since: int, limit: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    left = limit
    for page in ledger.recorder.read_rows(since, page=_page(workspace, limit)):
        for row in page:
            fields = _fields(row, workspace) if row.type != GONE else _stretch(ledger, row)
            if fields is None:
                continue
            yield row.position, fields
            if left is not None:
                left -= 1
                if left == 0:
                    return


def _page(workspace: str | None, limit: int | None) -> int:
    return 2_000 if limit is None or workspace is not None else min(limit, 2_000)


def _fields(row: Row, workspace: str | None) -> dict[str, Any] | None:
    event = codec.decode(row.type, row.head, row.data)
    if workspace is not None and event.workspace != workspace:
        return None
    fields = form(event, row.recorded_at)
    return stub(event, fields) if row.data is None else fields


def _stretch(ledger: Ledger, row: Row) -> dict[str, Any] | None:
    """The line of a stretch of compacted events, in place of the first of them."""
    gone = ledger.recorder.holes.gone
    assert gone is not None, "there are compacted events"
    stretches = gone.stretches
    place = stretches.holding(np.array([row.position]))
    first, last = int(stretches.first[place[0]]), int(stretches.last[place[0]])
    if first != row.position:
        return None
    count, digest = stretches.told(place)
    return {"event": GONE, "first": first, "last": last, "count": count, "digest": digest}


# ---------------------------------------------------------------- event → exchange form


def form(event: ev.Event, recorded_at: int | None = None) -> dict[str, Any]:
    """An event in the exchange form, keys in their order, ready for JSON."""
    fields: dict[str, Any] = {"event": event.TYPE, "id": event.id, "workspace": event.workspace}
    late: dict[str, Any] = {}
    if isinstance(event, ev.Claim):
        fields |= {
            "subject": event.subject,
            "predicate": event.predicate,
            "object": event.object,
            "text": event.text,
            "kind": event.kind,
            "perspective": event.perspective,
        }
        _put(fields, "recall_when", list(event.recall_when) or None)
        late = _basis(event)
    elif isinstance(event, ev.Support):
        fields |= {"claim": event.claim, **_basis(event), "stance": event.stance}
    elif isinstance(event, ev.Correction):
        _put(fields, "corrects", event.corrects)
        _put(fields, "unresolved", event.unresolved)
        _put(fields, "candidates", list(event.candidates) or None)
        _put(fields, "by", event.by)
        _put(fields, "resolves", event.resolves)
        _put(late, "source", _source(event.source))
        _put(late, "reason", event.reason)
    elif isinstance(event, ev.Withdrawal):
        late = _withdrawn(fields, event)
    elif isinstance(event, ev.Citation | ev.Summary):
        _declared(fields, event)
    elif isinstance(event, ev.Policy):
        _policy(fields, event)
        _put(late, "reason", event.reason)
    if isinstance(event, ev.Claim | ev.Support | ev.Correction | ev.Withdrawal):
        # what an unresolved correction leaves out takes its default when it is resolved
        if event.valid_from is not None:
            fields["valid_from"] = _bound(event.valid_from)
        if event.valid_to is not None:
            fields["valid_to"] = _bound(event.valid_to)
    if recorded_at is not None:
        fields["recorded_at"] = times.iso(recorded_at)
    fields |= late
    _put(fields, "assumed", getattr(event, "assumed", None))
    _put(fields, "stated_at", None if event.stated_at is None else times.iso(event.stated_at))
    return fields


def _put(fields: dict[str, Any], key: str, value: object) -> None:
    if value is not None:
        fields[key] = value


def _bound(at: int) -> str | None:
    return None if at in (times.NEG, times.POS) else times.iso(at)


def _basis(event: ev.Claim | ev.Support) -> dict[str, Any]:
    if event.source is not None:
        return {"source": _source(event.source)}
    return {"because": _references(event.because)} if event.because else {}


def _source(source: ev.SourceRef | None) -> object:
    if source is None:
        return None
    fields = source.model_dump(exclude_none=True)
    if "observed_at" in fields:
        fields["observed_at"] = times.iso(fields["observed_at"])
    return source.id if len(fields) == 1 else fields


def _references(refs: Sequence[str | ev.Ref]) -> list[Any]:
    return [
        {"workspace": ref.workspace, "id": ref.id} if isinstance(ref, ev.Ref) else ref
        for ref in refs
    ]


def _withdrawn(fields: dict[str, Any], event: ev.Withdrawal) -> dict[str, Any]:
    late: dict[str, Any] = {}
    asked_by = _source(event.asked_by)
    if event.target is not None:
        fields["target"] = event.target
        _put(late, "source", asked_by)
    else:
        fields |= {"source": event.source, "whole_source": True}
        _put(late, "asked_by", asked_by)
    _put(fields, "reason", event.reason)
    return late


def _policy(fields: dict[str, Any], event: ev.Policy) -> None:
    for name, others in ev.POLICIES.items():
        value = getattr(event, name)
        if name == "redacted":
            value = [codec.erasure_fields(one) for one in value]
        if isinstance(value, ev.Compaction):
            value = value.model_dump()
        if not value:
            continue
        if isinstance(value, ev.Ref):
            (value,) = _references([value])
        fields[name] = list(value) if isinstance(value, tuple) else value
        for other in others:
            said = getattr(event, other)
            _put(fields, other, times.iso(said) if type(said) is int else said)


def _declared(fields: dict[str, Any], event: ev.Citation | ev.Summary) -> None:
    fields |= {
        "text": event.text,
        "facts": _references(event.facts),
        "supports": _references(event.supports),
        "sources": list(event.sources),
    }
    if isinstance(event, ev.Summary):
        fields["citations"] = _references(event.citations)
    fields["binding"] = event.binding
    if event.binding == "snapshot":
        fields["subjects"] = None if event.subjects is None else list(event.subjects)
        _put(fields, "valid_at", None if event.valid_at is None else times.iso(event.valid_at))
