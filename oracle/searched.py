"""What a question may find at a view: the documents in sight, and which of them may be served.

A document is known by the workspace and id of its event: a claim, a summary, or evidence with a
quote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from doxa.oracle.log import Artefact, Claim, Key, Log
from doxa.oracle.truth import HELD, Truth

__all__ = ["LAYERS", "TIERS", "Document", "Filters", "Sight", "documents"]

TIERS = ("claim", "summary", "quote")
LAYERS = ("buffer", "working", "core")


class Document(NamedTuple):
    """One text: what is embedded of it, what is looked for by words, at which phrases it comes."""

    key: Key
    tier: str
    position: int
    said: str
    words: str
    phrases: tuple[str, ...] = ()


def documents(log: Log) -> list[Document]:
    """The documents of a whole log. Of what was erased there are none."""
    return [*_of_claims(log), *_of_quotes(log), *_of_summaries(log)]


def _of_claims(log: Log) -> Iterator[Document]:
    for key, claim in log.claims.items():
        if claim.erased:
            continue
        if claim.text is None or not claim.text.strip():
            said = words = _in_words(claim)
        else:
            said, words = claim.text, claim.subject + " " + claim.text
        yield Document(key, "claim", claim.position, said, words, claim.recall_when)


def _in_words(claim: Claim) -> str:
    value = claim.object
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return " ".join((claim.subject, claim.predicate.replace("_", " "), value))


def _of_quotes(log: Log) -> Iterator[Document]:
    for key, support in log.supports.items():
        if support.quote is not None and support.quote.strip() and not support.erased:
            yield Document(key, "quote", support.position, support.quote, support.quote)


def _of_summaries(log: Log) -> Iterator[Document]:
    for key, artefact in log.artefacts.items():
        if artefact.kind == "summary" and not artefact.erased:
            yield Document(key, "summary", artefact.position, artefact.text, artefact.text)


@dataclass(frozen=True)
class Filters:
    """Which documents are asked for; None asks nothing."""

    workspace: str | None = None
    subject: str | None = None
    predicate: str | None = None
    perspective: str | None = None
    kind: str | None = None
    standings: frozenset[str] = frozenset(HELD)
    tiers: frozenset[str] = frozenset(TIERS)
    archived: bool = False
    layers: frozenset[str] | None = None

    def about(self, claim: Claim) -> bool:
        """Whether a claim is about what is asked for."""
        wanted = (self.subject, self.predicate, self.perspective, self.kind)
        found = (claim.subject, claim.predicate, claim.perspective, claim.kind)
        return all(one in (None, other) for one, other in zip(wanted, found, strict=True))

    @property
    def asks_about(self) -> bool:
        """Whether anything of claims is asked for."""
        asked = (self.subject, self.predicate, self.perspective, self.kind)
        return asked != (None, None, None, None)


class Sight:
    """The documents that a view sees, judged under filters."""

    def __init__(
        self, truth: Truth, filters: Filters, counts: Mapping[Key, int] | None = None
    ) -> None:
        self.truth, self.log, self.filters = truth, truth.log, filters
        self.counts = {} if counts is None else counts  # how often records were used
        self.documents = [
            document
            for document in documents(truth.log)
            if truth.sees(document.key[0]) and document.position <= truth.known_at
        ]

    @property
    def workspaces(self) -> list[str]:
        """The workspaces in sight."""
        return sorted({"", self.truth.workspace} if self.truth.shared else {self.truth.workspace})

    def standing(self, claim: Key) -> str:
        """The standing of a claim, wherever it is."""
        own = Truth(self.log, self.truth.valid_at, self.truth.known_at, claim[0])
        return own.standing(claim[1], claim[0])

    def artefacts_of(self, key: Key) -> list[Artefact]:
        """A summary and its citations; of other documents none."""
        if key not in self.log.artefacts:
            return []
        summary = self.log.artefacts[key]
        return [summary, *(self.log.artefacts[citation] for citation in summary.citations)]

    def claims_of(self, key: Key) -> list[Key]:
        """The claims that a document is worth as much as: its own, or all that it declares, itself
        and through its citations."""
        if key in self.log.claims:
            return [key]
        if key in self.log.supports:
            return [self.log.supports[key].claim]
        declared = (c for each in self.artefacts_of(key) for c in self._declared(each))
        return list(dict.fromkeys(declared))

    def supports_of(self, key: Key) -> list[Key]:
        """The evidence that a document is, or declares, itself and through its citations."""
        if key in self.log.supports:
            return [key]
        return list(dict.fromkeys(s for each in self.artefacts_of(key) for s in each.supports))

    def facts_of(self, key: Key) -> list[Key]:
        """The claims that a document states, or declares as facts."""
        if key in self.log.claims:
            return [key]
        return list(dict.fromkeys(f for each in self.artefacts_of(key) for f in each.facts))

    def _declared(self, artefact: Artefact) -> list[Key]:
        return [*artefact.facts, *(self.log.supports[s].claim for s in artefact.supports)]

    # -- whether it is asked for

    def asked(self, document: Document) -> bool:
        """Whether the filters let a document through, whatever it is worth."""
        filters, key = self.filters, document.key
        if document.tier not in filters.tiers or filters.workspace not in (None, key[0]):
            return False
        place, id = self.record_of(document)
        if not filters.archived and self.truth.hidden(id, place):
            return False
        if filters.layers is not None and LAYERS[self.heat(document)] not in filters.layers:
            return False
        if document.tier == "summary":
            claims = [self.log.claims[claim] for claim in self.claims_of(key)]
            return not filters.asks_about or any(map(filters.about, claims))
        (claim,) = (self.log.claims[c] for c in self.claims_of(key))
        return filters.about(claim) and self._in_perspective(claim)

    def record_of(self, document: Document) -> Key:
        """What a document is used and archived as: a quote as its claim."""
        return self.claims_of(document.key)[0] if document.tier == "quote" else document.key

    def heat(self, document: Document) -> int:
        """How warm a document is: 0 for the buffer, 1 for working, 2 for core."""
        count = self.counts.get(self.record_of(document), 0)
        return 0 if count < 5 else 1 if count < 20 else 2

    def _in_perspective(self, claim: Claim) -> bool:
        return self.truth.perspective in (None, claim.perspective)

    # -- whether it may be served

    def eligible(self, document: Document) -> bool:
        """Whether a document that is asked for may be served."""
        if document.tier == "summary":
            return self.sound(document)
        (claim,) = self.claims_of(document.key)
        return self.sound(document) and self.standing(claim) in self.filters.standings

    def sound(self, document: Document) -> bool:
        """Whether a document itself stands: evidence that is live, a summary that is eligible and
        rests on what is in sight; a claim always does."""
        if document.tier == "claim":
            return True
        if document.tier == "quote":
            return document.key in self.truth.belief.based
        return self._reason(document.key) is None and self._sees(self.claims_of(document.key))

    def fault(self, document: Document) -> str:
        """What evidence that is not live, or a summary that is not eligible though its claims are
        held, is called: taken back, or without what it rested on."""
        if document.tier == "quote":
            return "retracted"
        reason = self._reason(document.key)
        if not self._sees(self._declared(self.log.artefacts[document.key])):
            return "unsupported"
        if reason == "missing_support":
            return "retracted"
        withdrawn = reason == "withdrawn" and self._sees(self.claims_of(document.key))
        return "retracted" if withdrawn else "unsupported"

    def _reason(self, summary: Key) -> str | None:
        return self.truth.eligible(summary[1], summary[0])[1]

    def _sees(self, claims: Iterable[Key]) -> bool:
        return all(
            self.truth.sees(claim[0]) and self._in_perspective(self.log.claims[claim])
            for claim in claims
        )

    def believed(self, document: Document) -> bool:
        """Whether nothing but its standing not being asked for may keep a document back."""
        held = all(self.standing(claim) in HELD for claim in self.claims_of(document.key))
        return document.tier != "summary" and held and self.sound(document)
