"""What is extracted from chunks of documents, as events: who says which text, what follows from it,
and from which chunk. Ids are made of content: a chunk is the same chunk in every run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.carrying import Aside, Earlier, Written, checked_name, key, label, plain, write

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["IS_A", "SAYS", "Evidence", "Ids", "Part", "Said", "record"]

SAYS: Final = "SAYS"  # a chunk's text, as said by its document
IS_A: Final = "IS_A"
_ASSUMED: Final = "always: what was extracted states no valid time"


@dataclass(frozen=True, slots=True)
class Ids:
    """How the events are called that come by one tool, in imports of one name."""

    tool: str
    name: str

    def __post_init__(self) -> None:
        checked_name(self.name)

    @property
    def prefix(self) -> str:
        """How the ids of all but claims begin."""
        return f"{self.tool}:{self.name}:"

    def claim(self, subject: str, predicate: str, object: Any, text: str | None) -> str:
        return f"{self.tool}:claim:{key(subject, predicate, object, text)}"

    def document(self, source: str) -> str:
        """How the parts begin that are of a document."""
        return f"{key(source, size=12)}:"

    def part(self, source: str, digest: str) -> str:
        """A chunk of a document, in the ids of what rests on it."""
        return f"{self.document(source)}{digest[:24]}"

    def support(self, part: str, claim: str) -> str:
        return f"{self.prefix}support:{part}:{key(claim)}"

    def citation(self, part: str) -> str:
        return f"{self.prefix}citation:{part}"


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk as a source of evidence: what it is called where it comes from, and in ids."""

    node: str
    id: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Said:
    """What was extracted: events by id, in an order in which they can be recorded; the documents
    and chunks that were seen, as they stand in ids; the claims and citations that each node rests
    on; and what can't be recorded."""

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    documents: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    claims: dict[str, list[str]] = field(default_factory=dict)
    citations: dict[str, list[str]] = field(default_factory=dict)
    aside: list[Aside] = field(default_factory=list)


class Evidence:
    """Makes the events of one run."""

    def __init__(self, ids: Ids) -> None:
        self.ids, self._said = ids, Said()
        self._later: list[dict[str, Any]] = []  # supports and citations, behind all claims

    def said(self) -> Said:
        """All that was made."""
        for event in self._later:
            self._said.events.setdefault(event["id"], event)
        return self._said

    def set_aside(self, place: str, reason: str, text: object = "") -> None:
        """Names what can't be recorded."""
        self._said.aside.append(Aside.of(place, reason, text))

    def document(self, source: str) -> None:
        """A document that was seen, even if nothing is in it."""
        self._said.documents.add(self.ids.document(source))

    def source(self, name: str) -> Part:
        """Where that is from which comes from no chunk."""
        source = label(name)
        id = self.ids.part(source, hashlib.sha256(b"").hexdigest())
        self.document(source)
        self._said.parts.add(id)
        return Part("", id, {"id": source})

    def chunk(
        self,
        node: str,
        source: str,
        text: str,
        locator: str | None = None,
        observed_at: datetime | None = None,
    ) -> Part:
        """A chunk of a document, whose text the document says; without a source it is its own."""
        text = plain(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        source = label(source) or f"chunk {digest[:24]}"
        where = None if locator is None else label(locator)
        fields = {
            "id": source,
            "locator": where,
            "digest": f"sha256:{digest}",
            "observed_at": observed_at,
        }
        part = Part(node, self.ids.part(source, digest), fields)
        self.document(source)
        self._said.parts.add(part.id)
        if text.strip():
            (claim,) = self.claims(node, [(source, SAYS, text, None)], [part])
            cited = source if where is None else label(f"{source}, {where}")
            event = {"event": "citation", "id": self.ids.citation(part.id), "text": cited}
            self._later.append({**event, "supports": [self.ids.support(part.id, claim)]})
            self._said.citations[node] = [event["id"]]
        return part

    def claims(
        self,
        node: str,
        said: Iterable[tuple[str, str, Any, str | None]],
        parts: Iterable[Part],
    ) -> list[str]:
        """Claims (subject, predicate, object, text), each with a support from each chunk. The node
        rests on them, and so do the chunks. Gives their ids."""
        made: list[str] = []
        for subject, predicate, object, text in said:
            id = self.ids.claim(subject, predicate, object, text)
            fields = {"subject": subject, "predicate": predicate, "object": object, "text": text}
            event = {"event": "claim", "id": id, **fields, "assumed": _ASSUMED}
            self._said.events.setdefault(id, event)
            for part in parts:
                support = {"event": "support", "id": self.ids.support(part.id, id), "claim": id}
                self._later.append({**support, "source": part.fields})
                self._declare(part.node, id)
            self._declare(node, id)
            made.append(id)
        return made

    def _declare(self, node: str, claim: str) -> None:
        if node:
            found = self._said.claims.setdefault(node, [])
            if claim not in found:
                found.append(claim)


def record(
    ledger: Ledger, workspace: str, ids: Ids, said: Said, *, replace: bool = False
) -> dict[str, Any]:
    """Records what is new of it, and says what was written, as a JSON object.

    With ``replace`` it is all there is of its documents: supports from chunks that are no longer
    in them are withdrawn. What an earlier run withdrew is restored where its chunk is there again.
    """
    earlier = Earlier(ledger, workspace)
    gone = list(_gone(earlier, ids, said)) if replace else []
    back = list(_back(earlier, said))
    new = [event for id, event in said.events.items() if not earlier.has(id)]
    events = [*gone, *back, *new]
    done = write(ledger, events, workspace) if events else Written()
    kinds = Counter(event["event"] for event in new)
    return {
        "events": done.events,
        "commits": done.commits,
        "claims": kinds["claim"],
        "supports": kinds["support"],
        "citations": kinds["citation"],
        "repeated": len(said.events) - len(new),
        "withdrawn": len(gone),
        "restored": len(back),
        "set_aside": [aside.as_dict() for aside in (*said.aside, *done.refused)],
    }


def _gone(earlier: Earlier, ids: Ids, said: Said) -> Iterator[dict[str, Any]]:
    """Withdrawals of what rested on chunks that a document no longer has."""
    head = f"{ids.prefix}support:"
    for id in earlier.supports(head):
        document, chunk, _ = id.removeprefix(head).split(":")
        if f"{document}:" in said.documents and f"{document}:{chunk}" not in said.parts:
            event = earlier.taken_back(id, "its chunk is no longer in the document")
            if event is not None:
                yield event


def _back(earlier: Earlier, said: Said) -> Iterator[dict[str, Any]]:
    """What takes those back whose chunk is there again."""
    for id, event in said.events.items():
        if event["event"] == "support" and earlier.has(id):
            back = earlier.come_back(id, "its chunk is in the document again")
            if back is not None:
                yield back
