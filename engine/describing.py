"""What is said of each document that is served: what it rests on, sources, times, relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Standing
from doxa.engine.choosing import Chooser
from doxa.engine.corroboration import distinct_origins
from doxa.engine.documents import documents
from doxa.engine.eligibility import Item, once
from doxa.engine.envelope import Attribution, Reference
from doxa.engine.graph import ARTEFACT, CLAIM, CORRECTION, KINDS, NONE, POLICY, SUPPORT, entity
from doxa.engine.items import moment_or_none, own_copy
from doxa.engine.labels import Labels
from doxa.engine.outcomes import Gap, Tier, Unavailable
from doxa.engine.ranking import Entry
from doxa.engine.texts import Texts, side_text
from doxa.engine.times import NEG, Instant, shown, span

__all__ = ["Describer"]


class Describer:
    """Describes documents at one view."""

    LISTED: Final = 16  # pieces of live evidence that a hit lists

    def __init__(self, chooser: Chooser, texts: Texts) -> None:
        self.chooser, self.texts = chooser, texts
        self.view, self.graph, self.belief = chooser.view, chooser.graph, chooser.belief
        self.labels = Labels(chooser.judge)
        self._successors: dict[int, Sequence[int]] = {}
        self._evidence: dict[int, list[int]] = {}

    def said(self, entry: Entry) -> str:
        """The words of a document. Raises `Unavailable` where they can't be had."""
        if entry.given is not None:
            return entry.given
        document = entry.document
        graph, kind, row = self.graph, document & 7, document >> 3
        position = graph.position_of(document)
        event = self.texts.event(position)
        if event is None:
            raise Unavailable(
                Gap.SOURCE_UNAVAILABLE, f"the text of {graph.id_of(document)!r} was erased"
            )
        found = [one.said for one in documents(event) if one.kind == kind]
        if found:
            return found[0]
        assert kind == SUPPORT, document  # evidence without a quote, shown as a side of a conflict
        return side_text(graph, self.texts, entity(SUPPORT, row))

    def positions(self, entries: Iterable[Entry]) -> list[int]:
        """Where in the log the words of documents are."""
        return [self.graph.position_of(one.document) for one in entries if one.given is None]

    # -- what it is of

    def about(self, entry: Entry) -> dict[str, Any]:
        """Subject, predicate, object, kind and perspective of the claim that it states or quotes;
        ``None`` each where it is a summary, or rests on several."""
        names = ("subject", "predicate", "object", "kind", "perspective")
        if entry.tier is Tier.SUMMARY or len(entry.claims) != 1:
            return dict.fromkeys(names)
        graph, (claim,) = self.graph, entry.claims
        texts = graph.names.texts
        columns = (graph.c_subject, graph.c_predicate, graph.c_kind, graph.c_perspective)
        subject, predicate, kind, perspective = (texts[column[claim]] for column in columns)
        value = own_copy(graph.c_object[claim])
        return dict(zip(names, (subject, predicate, value, kind, perspective), strict=True))

    def references(self, entry: Entry) -> tuple[Reference, ...]:
        """The document itself first, then the claims and supports that it rests on."""
        item, found = entry.item, [] if entry.document < 0 else [entry.document]
        found += (entity(CLAIM, claim) for claim in entry.claims)
        if entry.tier is Tier.CLAIM or entry.tier is Tier.QUOTE:
            found += self.evidence(entry)[: self.LISTED]
        else:
            found += (entity(SUPPORT, support) for support in item.supports)
            found += (entity(ARTEFACT, row) for row in (*item.artefacts, *item.citations))
            found = found or self._of_sources(item)
        return tuple(self._reference(number) for number in once(found))

    def _reference(self, number: int) -> Reference:
        graph = self.graph
        position = graph.position_of(number)
        return Reference(
            self._kind(number),
            graph.id_of(number),
            graph.names.texts[graph.workspace_of(number)],
            position,
            graph.commit_of(position),
        )

    def _kind(self, number: int) -> str:
        if number & 7 != ARTEFACT:
            return KINDS[number & 7]
        return "summary" if self.graph.a_summary[number >> 3] else "citation"

    def evidence(self, entry: Entry) -> list[int]:
        """The live evidence about a document's claims, of both stances, in log order; of a quote
        the one that it stands in."""
        found = self._evidence.get(entry.document)
        if found is None:
            found = self._evidence[entry.document] = self._live_evidence(entry)
        return found

    def _live_evidence(self, entry: Entry) -> list[int]:
        if entry.tier is Tier.QUOTE:
            return [entry.document]
        view, item = self.view, entry.item
        found = {
            support
            for claim in entry.claims
            for support in self.belief.live_supports(claim, view.v, view.k)
        }
        found.update(item.supports, item.cited.supports)
        if not found:
            named = (number >> 3 for number in self._of_sources(item))
            found.update(row for row in named if self.belief.live(row, view.v, view.k))
        return [entity(SUPPORT, row) for row in sorted(found)]

    def _of_sources(self, item: Item) -> list[int]:
        """The newest evidence from each source that a text declares, where it declares no other."""
        known, k = self.graph.s_pos, self.view.k
        return [
            entity(SUPPORT, row)
            for source in item.sources
            for row in islice(
                (row for row in self.graph.supports_from(source) if known[row] <= k), self.LISTED
            )
        ]

    def attribution(self, entry: Entry) -> tuple[tuple[Attribution, ...], int]:
        """The live evidence, and how much more of it there is."""
        evidence = self.evidence(entry)
        listed = evidence[: self.LISTED]
        positions = [self.graph.position_of(number) for number in listed]
        self.texts.expect_at(positions)
        attributed = tuple(self._attributed(number >> 3) for number in listed)
        return attributed, len(evidence) - len(listed)

    def _attributed(self, support: int) -> Attribution:
        graph, texts = self.graph, self.graph.names.texts
        position, source = graph.s_pos[support], graph.s_source[support]
        event = None if source == NONE else self.texts.event(position)
        locator = None
        if isinstance(event, ev.Claim | ev.Support) and event.source is not None:
            locator = event.source.locator
        siblings = [*graph.supports_of(graph.s_claim[support])]
        return Attribution(
            support=graph.id_of(entity(SUPPORT, support)),
            stance="refutes" if graph.s_refutes[support] else "supports",
            source=None if source == NONE else texts[graph.r_name[source]],
            locator=locator,
            origin=None if source == NONE else texts[graph.s_origin[support]],
            ordinal=sorted(siblings).index(support) + 1,
            first_recorded=times.moment(graph.recorded_of(position)),
            observed_at=moment_or_none(graph.s_observed[support]),
            because=tuple(graph.claim_id(claim) for claim in graph.s_because.get(support)),
        )

    # -- when

    def window(self, entry: Entry) -> tuple[Instant, Instant]:
        """Where around the view's valid_at it applies; of what is not held, the interval that was
        stated."""
        if entry.held:
            return self.labels.window(entry.item)
        (claim,) = entry.claims
        return self.graph.c_from[claim], self.graph.c_to[claim]

    def observed(self, entry: Entry) -> Instant:
        """When it was last observed."""
        if entry.tier is Tier.QUOTE:
            return self.labels.support_observed(entry.document >> 3)
        if entry.tier is Tier.CLAIM:
            evidence = [number >> 3 for number in self.evidence(entry)]
            return self.view.observed(entry.document >> 3, evidence)
        return self.labels.observed(entry.item)

    def recorded(self, entry: Entry) -> Instant:
        """When it was recorded; of a text that was given, the newest that it rests on."""
        if entry.document >= 0:
            return self.graph.recorded_of(self.graph.position_of(entry.document))
        newest = max(reference.position for reference in self.references(entry))
        return self.graph.recorded_of(newest)

    def looked_at(self, entry: Entry) -> Instant | None:
        """When somebody last looked: the latest time that a live support says it was observed at,
        or at which a claim of it was verified; ``None`` where nobody says."""
        graph = self.graph
        stated = [
            graph.s_observed[number >> 3]
            for number in self.evidence(entry)
            if not graph.s_refutes[number >> 3]
        ]
        verified = self.verified(entry.claims)
        stated += [] if verified is None else [verified]
        return max((at for at in stated if at != NEG), default=None)

    def verified(self, claims: Iterable[int]) -> Instant | None:
        """When all of the claims had been verified, by what counts here; ``None`` where one has
        not."""
        graph, view, found = self.graph, self.view, []
        for claim in claims:
            at = [
                graph.recorded_of(graph.p_pos[row])
                for row in graph.verifications.get(claim)
                if graph.p_pos[row] <= view.k
                and self.belief.counts(entity(POLICY, row), view.v, view.k)
            ]
            if not at:
                return None
            found.append(max(at))
        return min(found, default=None)

    def corroborated(self, claims: Sequence[int]) -> bool:
        """Whether each of the claims has live sources of two or more origins; those with an equal
        content digest are one."""
        graph, view = self.graph, self.view
        for claim in claims:
            sourced = (
                row
                for row in self.belief.live_supports(claim, view.v, view.k)
                if graph.s_source[row] != NONE and not graph.s_refutes[row]
            )
            if distinct_origins(graph, sourced) < 2:
                return False
        return bool(claims)

    def label(self, entry: Entry, side: str) -> str:
        """Standing, applicability and when it was last observed, in words."""
        if entry.held:
            return self.labels.of_item(entry.item, side)
        (low, high), at = self.window(entry), self.observed(entry)
        return f"{entry.standing}, {span(low, high)}, observed {shown(at - at % times.DAY)}"

    # -- why not

    def barred(self, entry: Entry) -> str:
        """Why a document may not be served, in words that say nothing of what it says."""
        graph, view, document = self.graph, self.view, entry.document
        if entry.detail is not None:
            return entry.detail
        if entry.tier is Tier.SUMMARY:
            problem = self.chooser.judge.artefact(document >> 3, None)
            return "eligible" if problem is None else problem.detail
        if entry.tier is Tier.QUOTE and not self.belief.live(document >> 3, view.v, view.k):
            return f"{graph.id_of(document)!r} is not live"
        (claim,) = entry.claims
        return f"{graph.claim_id(claim)!r} is {entry.standing}"

    # -- relations

    def successors(self, claims: Iterable[int]) -> tuple[int, ...]:
        """What replaced the claims here, held ones first."""
        return once([row for claim in claims for row in self._replaced_by(claim)])

    def _replaced_by(self, claim: int) -> Sequence[int]:
        found = self._successors.get(claim)
        if found is None:
            superseded = self.chooser.judge.standing(claim) is Standing.SUPERSEDED
            view = self.view
            found = self.belief.successors(claim, view.v, view.k) if superseded else ()
            self._successors[claim] = found
        return found

    def predecessors(self, claims: Sequence[int]) -> tuple[str, ...]:
        """The ids of the claims that these replaced here, directly or over others, in log order."""
        graph, view = self.graph, self.view
        found: set[int] = set()
        stack = [*claims]
        while stack:
            for row in graph.replaces.get(stack.pop()):
                target = graph.k_target[row]
                live = graph.k_pos[row] <= view.k and self.belief.counts(
                    entity(CORRECTION, row), view.v, view.k
                )
                if target != NONE and live and target not in found:
                    found.add(target)
                    stack.append(target)
        return tuple(graph.claim_id(row) for row in sorted(found.difference(claims)))
