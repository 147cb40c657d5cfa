"""What a source has said so far: which claims it supports, in which section, and of what content.

A section is named by the locator of the support: "notes.md#billing" is the section "billing" of the
source "notes.md"; a support without such a locator belongs to the section "". The content that was
looked at last has its digest on whatever was recorded of the source last: on a support, or on the
withdrawal of one, as ``asked_by``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from doxa.engine import events as ev
from doxa.engine.graph import NONE, SUPPORT, entity
from doxa.engine.texts import Rows, Texts
from doxa.engine.times import Instant, intersect
from doxa.engine.view import TruthView

__all__ = ["Statement", "Support", "Told", "located", "section_of", "statement"]


class Statement(NamedTuple):
    """What a claim says: two claims are the same fact where these are equal. ``value`` is the
    equality key of the object."""

    subject: str
    predicate: str
    value: str
    perspective: str
    kind: str
    valid_from: Instant
    valid_to: Instant


class Support(NamedTuple):
    """One support by the source that still counts somewhere."""

    row: int
    claim: int
    section: str
    statement: Statement
    digest: str | None


def statement(claim: ev.Claim) -> Statement:
    """What a claim says."""
    return Statement(
        claim.subject,
        claim.predicate,
        ev.equality_key(claim.object),
        claim.perspective,
        claim.kind,
        claim.valid_from,
        claim.valid_to,
    )


def located(source: str, section: str) -> str | None:
    """The locator of a section of a source."""
    return f"{source}#{section}" if section else None


def section_of(source: str, locator: str | None) -> str:
    """The section that a locator names; "" for the source as a whole.

    >>> section_of("notes.md", "notes.md#billing"), section_of("notes.md", "p. 2")
    ('billing', '')
    """
    found = locator if locator is not None else ""
    return found.removeprefix(f"{source}#") if found.startswith(f"{source}#") else ""


class Told:
    """What a source has said in one workspace, as known at a view of it."""

    def __init__(self, view: TruthView, source: str, rows: Rows) -> None:
        self.view, self.graph, self.source = view, view.graph, source
        self.supports: list[Support] = []  # those that count, in log order
        self.digest: str | None = None  # of the content that was looked at last
        self.digests: dict[str, str | None] = {}  # the same by section
        self.origin: str | None = None  # as it was stated last
        self.texts = Texts(view.graph, rows)
        row = view.graph.find_source(view.workspace, source)
        if row != NONE:
            self._read([s for s in view.graph.supports_from(row) if self._known(s)][::-1])

    def _known(self, support: int) -> bool:
        return self.graph.s_pos[support] <= self.view.k and not self.graph.s_refutes[support]

    def _read(self, rows: list[int]) -> None:
        graph = self.graph
        withdrawals = [
            w
            for row in rows
            for w in graph.withdrawals_of.get(entity(SUPPORT, row))
            if graph.w_pos[w] <= self.view.k
        ]
        positions = [graph.s_pos[row] for row in rows]
        claims = [graph.c_pos[graph.s_claim[row]] for row in rows]
        self.texts.expect_at([*positions, *claims, *(graph.w_pos[w] for w in withdrawals)])
        named: list[tuple[int, ev.SourceRef]] = []
        for row, position in zip(rows, positions, strict=True):
            event = self.texts.event(position)
            if isinstance(event, ev.Claim | ev.Support) and event.source is not None:
                named.append((position, event.source))
                self._note(row, event.source)
        for w in withdrawals:
            event = self.texts.event(graph.w_pos[w])
            if isinstance(event, ev.Withdrawal) and event.asked_by is not None:
                named.append((graph.w_pos[w], event.asked_by))
        self._look(ref for _, ref in sorted(named, key=lambda item: item[0]))

    def _look(self, refs: Iterable[ev.SourceRef]) -> None:
        """Takes note of the contents that were looked at, in log order."""
        for ref in refs:
            if ref.id == self.source:
                self.digest = self.digests[section_of(self.source, ref.locator)] = ref.digest
                self.origin = ref.origin

    def _note(self, row: int, ref: ev.SourceRef) -> None:
        graph, belief = self.graph, self.view.belief
        claim = graph.s_claim[row]
        extent = belief.extent(entity(SUPPORT, row), self.view.k)
        event = self.texts.event(graph.c_pos[claim])
        if isinstance(event, ev.Claim) and intersect(extent, belief.own(claim)):
            section = section_of(self.source, ref.locator)
            self.supports.append(Support(row, claim, section, statement(event), ref.digest))
