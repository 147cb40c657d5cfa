"""What is behind a standing as W3C PROV-JSON, for whoever keeps provenance of many systems.

Records (claims, evidence, corrections, withdrawals, artefacts, policies) and sources are entities;
commits are activities, with their times; who stands behind evidence is an agent. A record that
takes something back invalidates it while it counts at the view, and only influences it otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from doxa.adapters.extras import missing
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.view import Id
from doxa.engine.why import Why, why

if TYPE_CHECKING:
    from doxa.views import TruthView

__all__ = ["why_to_prov"]

TERMS: Final = "urn:doxa:terms:"
_TAKES_BACK: Final = ("withdrawn by", "corrected by")
_SOURCE, _WITHDRAWN = "source ", " withdrawn by"  # around the name of one
_RESTS: Final = ("supported by", "because", "rests on", "cites")


def why_to_prov(view: TruthView, id: Id, *, workspace: str | None = None) -> dict[str, Any]:
    """What `TruthView.why` tells of a claim or another record, as a PROV-JSON document.

    The same view gives the same document. Raises `MissingExtra` where the library ``prov`` is not
    installed, and what `TruthView.why` raises.
    """
    tree = why(view, id, workspace=workspace)
    return _Document(view).explain(tree)


def _library() -> Any:
    try:
        from prov.model import ProvDocument
    except ImportError:
        raise missing("prov", "prov", "this") from None
    return ProvDocument()


class _Document:
    """One document in the making."""

    def __init__(self, view: TruthView) -> None:
        self.view, self.made = view, _library()
        store: Any = getattr(view.origin[0], "store", None) if view.origin is not None else None
        ledger = "" if store is None else f"{store.ledger_id}:"
        self.terms = self.made.add_namespace("doxa", TERMS)
        self.names = self.made.add_namespace("ledger", f"urn:doxa:ledger:{ledger}")
        self.there: set[str] = set()
        self.told: set[tuple[object, ...]] = set()
        self.cut: set[int] = set()  # records with more behind them than the tree tells

    def explain(self, tree: Why) -> dict[str, Any]:
        self.cut = _cut(tree)
        asked = self.record(tree)
        view = self.view
        explained = self.entity(
            "explanation",
            "Explanation",
            valid_at=times.moment(view.v),
            known_at=times.moment(view.graph.recorded_of(view.k)) if view.k else None,
            revision=view.revision,
            workspace=view.workspace,
            standing=None if tree.standing is None else str(tree.standing),
        )
        self.relate("wasDerivedFrom", explained, asked, "explains")
        self.walk(tree, asked)
        text: str = self.made.serialize(format="json")
        found: dict[str, Any] = json.loads(text)
        return {section: found[section] for section in sorted(found)}

    def walk(self, top: Why, name: Any) -> None:
        stack = [(top, name)]
        while stack:
            step, name = stack.pop()
            for child in step.behind:
                below = self.record(child)
                self.bears_on(step, name, child, below)
                stack.append((child, below))

    # ------------------------------------------------------------ relations

    def bears_on(self, step: Why, above: Any, child: Why, below: Any) -> None:
        """Tells how a step bears on the one above it."""
        role = child.role
        if role.startswith(_SOURCE) and role.endswith(_WITHDRAWN):
            name = role.removeprefix(_SOURCE).removesuffix(_WITHDRAWN)
            above, role = self.source(self.event(step).workspace, name), "withdrawn by"
        counts = child.counts is not False
        if role in _TAKES_BACK and counts:
            self.invalidates(above, child, below, role)
        elif role in _RESTS and counts:
            self.relate("wasDerivedFrom", above, below, role)
        elif step.counts and (
            role == "by" or (role == "replaces it" and step.behind[0].role == "corrects")
        ):
            self.relate("wasRevisionOf", below, self.corrected(step), "in place of", of=step)
        elif role == "in place of" and step.counts:
            self.relate("wasRevisionOf", self.put_in(step), below, role, of=step)
        else:
            self.relate("wasInfluencedBy", above, below, role, counts=child.counts)

    def invalidates(self, above: Any, child: Why, below: Any, role: str) -> None:
        """What is taken back ends with the commit of the record that does it."""
        assert child.position is not None, child
        commit, at = self.commit(child.position)
        if self.once("invalid", above, below):
            attributes = self.attributes(by=below, role=role)
            self.made.wasInvalidatedBy(above, commit, at, other_attributes=attributes)
        self.relate("wasInfluencedBy", above, below, role, counts=True)

    def relate(
        self,
        kind: str,
        one: Any,
        other: Any,
        role: str,
        of: Why | None = None,
        counts: bool | None = None,
    ) -> None:
        if not self.once(kind, one, other, role):
            return
        make: Callable[..., Any] = getattr(self.made, kind)
        attributes = self.attributes(
            role=role or None, counts=counts, by=None if of is None else self.record(of)
        )
        make(one, other, other_attributes=attributes)

    def corrected(self, step: Why) -> Any:
        event = self.event(step)
        assert isinstance(event, ev.Correction), step
        return self.named(event.workspace, event.corrects or event.unresolved or "")

    def put_in(self, step: Why) -> Any:
        event = self.event(step)
        assert isinstance(event, ev.Correction), step
        return self.named(event.workspace, event.by or "")

    def once(self, *what: object) -> bool:
        key = tuple(str(each) for each in what)
        if key in self.told:
            return False
        self.told.add(key)
        return True

    # ------------------------------------------------------------ records

    def record(self, step: Why) -> Any:
        """The entity of a step, with the commit that made it and the source that it has."""
        if step.position is None or not step.id:  # of what was compacted a count is left
            return self.entity(f"compacted/{step.position}", "Compacted", label=step.says)
        event = self.event(step)
        name = self.named(event.workspace, step.id)
        if name.localpart in self.there:
            return name
        said = {} if event.erased else _said(event, step)
        self.entity(
            name.localpart,
            type(event).__name__ if isinstance(event, ev.Artefact) else step.kind.capitalize(),
            workspace=event.workspace,
            id=step.id,
            position=step.position,
            standing=None if step.standing is None else str(step.standing),
            counts=step.counts,
            erased=True if event.erased else None,
            more=True if step.position in self.cut else None,
            **said,
        )
        commit, at = self.commit(step.position)
        self.made.wasGeneratedBy(name, commit, at)
        self.origins(name, event, step.kind)
        return name

    def origins(self, name: Any, event: ev.Event, kind: str) -> None:
        """Tells where a record comes from: its sources, and who stands behind them."""
        source = _source(event)
        if source is not None and kind != "claim":  # a claim's is that of the support it carries
            self.made.hadPrimarySource(name, self.source(event.workspace, source.id))
            self.made.wasAttributedTo(name, self.agent(source.origin or source.id))
        for named in event.sources if isinstance(event, ev.Artefact) else ():
            self.made.hadPrimarySource(name, self.source(event.workspace, named))
        if isinstance(event, ev.Policy) and event.author:
            self.made.wasAttributedTo(name, self.agent(event.author))

    def source(self, workspace: str, id: str) -> Any:
        return self.entity(
            self.local("source", workspace, id), "Source", id=id, workspace=workspace
        )

    def agent(self, origin: str) -> Any:
        name = f"origin/{_escaped(origin)}"
        if name not in self.there:
            self.there.add(name)
            self.made.agent(self.names[name], self.attributes(type="Origin", id=origin))
        return self.names[name]

    def commit(self, position: int) -> tuple[Any, datetime]:
        last = self.view.graph.commit_of(position)
        at = times.moment(self.view.graph.recorded_of(position))
        name = f"commit/{last}"
        if name not in self.there:
            self.there.add(name)
            attributes = self.attributes(type="Commit", revision=last)
            self.made.activity(self.names[name], at, at, attributes)
        return self.names[name], at

    def event(self, step: Why) -> ev.Event:
        assert step.position is not None, step
        return self.view.payload(step.position)

    # ------------------------------------------------------------ names and attributes

    def named(self, workspace: str, id: str) -> Any:
        return self.names[self.local("record", workspace, id)]

    def local(self, what: str, workspace: str, id: str) -> str:
        place = f"in/{_escaped(workspace)}/" if workspace else ""
        return f"{place}{what}/{_escaped(id)}"

    def entity(self, local: str, type: str, **said: Any) -> Any:
        if local not in self.there:
            self.there.add(local)
            self.made.entity(self.names[local], self.attributes(type=type, **said))
        return self.names[local]

    def attributes(self, type: str | None = None, **said: Any) -> list[tuple[Any, Any]]:
        """Attributes of PROV, and of doxa's own under their names here, in camel case."""
        found: list[tuple[Any, Any]] = []
        if type is not None:
            found.append(("prov:type", self.terms[type]))
        if (label := said.pop("label", None)) is not None:
            found.append(("prov:label", label))
        for key, value in said.items():
            if value is not None:
                first, *rest = key.split("_")
                found.append((self.terms[first + "".join(map(str.capitalize, rest))], value))
        return found


def _cut(tree: Why) -> set[int]:
    """The positions of the records that a tree ends at, though there is more behind them."""
    cut: set[int] = set()
    whole: set[int] = set()  # told elsewhere, less deep
    stack = [tree]
    while stack:
        step = stack.pop()
        if step.position is not None:
            if step.more:
                cut.add(step.position)
            elif step.behind:
                whole.add(step.position)
        stack += step.behind
    return cut - whole


def _escaped(text: str) -> str:
    """Any text as a part of a name, each as another: letters, digits and -_~ stay."""
    return quote(text, safe="").replace(".", "%2E")


def _source(event: ev.Event) -> ev.SourceRef | None:
    """The source that a record has, or that asked for it."""
    if isinstance(event, ev.Withdrawal):
        return event.asked_by
    if isinstance(event, ev.Claim | ev.Support | ev.Correction):
        return event.source
    return None


def _said(event: ev.Event, step: Why) -> dict[str, Any]:
    """What a record says, as attributes."""
    found: dict[str, Any] = {"label": step.says}
    if isinstance(event, ev.Claim | ev.Support | ev.Withdrawal | ev.Correction):
        for name in ("valid_from", "valid_to"):
            at = getattr(event, name)
            found[name] = None if at in (None, times.NEG, times.POS) else times.moment(at)
    if step.kind == "claim":
        assert isinstance(event, ev.Claim), event
        value = json.dumps(event.object, ensure_ascii=False)
        return found | {
            "label": f"{event.subject} {event.predicate} {value}",
            "subject": event.subject,
            "predicate": event.predicate,
            "object": value,
            "text": event.text,
            "kind": event.kind,
            "perspective": event.perspective or None,
            "assumed": event.assumed,
        }
    if step.kind == "support":
        assert isinstance(event, ev.Claim | ev.Support), event
        found["stance"] = event.stance if isinstance(event, ev.Support) else "supports"
        if (source := event.source) is not None:
            seen = source.observed_at
            found |= {
                "locator": source.locator,
                "quote": source.quote,
                "digest": source.digest,
                "observed_at": None if seen is None else times.moment(seen),
            }
    if isinstance(event, ev.Artefact):
        found |= {"label": None, "text": event.text, "binding": event.binding}
    if isinstance(event, ev.Withdrawal):
        found["whole_source"] = event.source
    found["reason"] = getattr(event, "reason", None)
    return found
