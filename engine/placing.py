"""In which order what was found is given: by a reranker, by validity, those to be trusted first,
conflicts whole; and what a judge says of the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from doxa.engine.asking import Refused
from doxa.engine.belief import Standing
from doxa.engine.conflicts import Unit, units
from doxa.engine.envelope import Missing
from doxa.engine.errors import CallerError
from doxa.engine.finding import Finder
from doxa.engine.labels import weakest
from doxa.engine.outcomes import Trust, Unavailable, Verdict
from doxa.engine.ranking import Entry, bases, place
from doxa.engine.validity import Facts, Scope, judge, profiled

__all__ = ["Bundle", "Placer"]


@dataclass(slots=True)
class Bundle:
    """What takes one place: an entry, or those of a conflict, with all its ``sides`` as entities
    and those of them, ``bare``, that no entry speaks for."""

    entries: list[Entry]
    sides: tuple[int, ...] = ()
    bare: tuple[int, ...] = ()
    further: bool = False

    @property
    def trusted(self) -> bool:
        """Whether nothing is held against any of it."""
        return all(entry.trusted for entry in self.entries)


class Placer:
    """Puts in order what a finder found."""

    def __init__(self, finder: Finder) -> None:
        self.finder, self.asked, self.means = finder, finder.asked, finder.means
        self.view, self.graph, self.tell = finder.view, finder.graph, finder.tell
        self.chooser = finder.chooser
        self.trace: dict[str, Any] = {}
        self.warmth: list[tuple[str, int]] = []  # what of the order is owed to how much is used

    def page(self) -> tuple[list[Bundle], bool]:
        """The bundles of the page that is asked for, and whether there are more."""
        self._rank()
        bundles = self._bundles()
        first, end = self.asked.offset, self.asked.offset + self.asked.top_k
        page = bundles[first:end]
        if self._judge_entailment(page):
            page = self._trusted_first(page)
        return page, len(bundles) + len(self.finder.rest) > end

    def _rank(self) -> None:
        """Puts the scores of a reranker, and validity, in place of those that were found."""
        listed = sorted(self.finder.entries.values(), key=place)
        scores = self._reranker(listed)
        if scores is not None:
            based = bases([entry.item.id for entry in listed], scores)
            for entry, score in zip(listed, based, strict=True):
                entry.score = score
            order = sorted(range(len(listed)), key=lambda i: place(listed[i]))
            listed, scores = [listed[i] for i in order], [scores[i] for i in order]
        self.trace["rerank"] = scores is not None
        if self.asked.annotate or self.asked.profile is not None:
            self._rate(listed, scores)

    def _reranker(self, listed: Sequence[Entry]) -> list[float | None] | None:
        rerank = self.means.rerank
        if rerank is None or not listed:
            return None
        self.tell.texts.expect_at(self.tell.positions(listed))
        readable = [entry for entry in listed if self._readable(entry)]
        try:
            given = [*rerank(self.asked.query, [self.tell.said(e) for e in readable])]
        except Unavailable as error:
            self.finder.reasons.append(Missing(error.reason, error.disclosed))
            return None
        if len(given) != len(readable):
            raise CallerError(
                f"the reranker gave {len(given)} scores for {len(readable)} texts; it gives one "
                "for each, None where it has none"
            )
        by_document = dict(zip((entry.document for entry in readable), given, strict=True))
        return [by_document.get(entry.document) for entry in listed]

    def _readable(self, entry: Entry) -> bool:
        """Whether a document's text is there; where not, it is taken out, and said so."""
        try:
            self.tell.said(entry)
        except Unavailable as error:
            self.finder.entries.pop(entry.document, None)
            self.finder.reasons.append(Missing(error.reason, error.disclosed, (entry.item.id,)))
            return False
        return True

    def _rate(self, listed: Sequence[Entry], scores: Sequence[float | None] | None) -> None:
        asked = self.asked
        facts = [self._facts(entry, number) for number, entry in enumerate(listed)]
        rated = profiled(
            facts,
            scores,
            profile=asked.profile,
            mode=asked.mode,
            now=asked.now,
            freshness_from=asked.freshness_from,
        )
        for hit in rated.hits:
            entry = listed[hit.facts.rank]
            entry.validity = hit.validity.as_dict()
            if hit.final is not None:
                entry.score = hit.final
        self.trace["validity"] = rated.trace.as_dict()

    def annotate(self, entry: Entry) -> None:
        """Says how valid a side of a conflict is that nothing found; it has no rank of its own."""
        asked = self.asked
        if asked.annotate or asked.profile is not None:
            rated = judge(self._facts(entry, 0), now=asked.now, freshness_from=asked.freshness_from)
            entry.validity = rated.as_dict()

    def _facts(self, entry: Entry, number: int) -> Facts:
        view, tell = self.view, self.tell
        workspace = entry.item.workspace
        scope = Scope.EXACT if workspace == view.workspace else Scope.GLOBAL
        return Facts(
            id=entry.item.id,
            rank=number,
            standing=entry.standing or self._weakest(entry),
            scope=scope if workspace in (view.workspace, "") else Scope.NONE,
            recorded_at=tell.recorded(entry),
            observed_at=tell.looked_at(entry),
            valid_to=tell.window(entry)[1],
            verified=tell.verified(entry.claims) is not None,
            corroborated=tell.corroborated(entry.claims),
        )

    def _weakest(self, entry: Entry) -> Standing:
        return weakest(self.chooser.judge.standing(claim) for claim in entry.claims)

    def _bundles(self) -> list[Bundle]:
        """All bundles in order of their scores, ties by id; but see `_trusted_first`."""
        of_item = {}  # by identity: a text that was brought may have the id of a claim
        for entry in self.finder.entries.values():
            if entry.item.score != entry.score:
                entry.item = entry.item._replace(score=entry.score)
            of_item[id(entry.item)] = entry
        bundles = []
        for unit in units(self.chooser.judge, (entry.item for entry in of_item.values())):
            if isinstance(unit, Unit):
                own = [of_item[id(item)] for item in unit.items]
                bundles.append(Bundle(own, unit.conflict.sides, unit.sides, unit.further))
            else:
                bundles.append(Bundle([of_item[id(unit)]]))
        if self.means.warm and len(bundles) > 1:
            bundles = self._warm_first(bundles)
        return self._trusted_first(bundles)

    def _warm_first(self, bundles: list[Bundle]) -> list[Bundle]:
        """Of bundles with equal scores, those first that are used most often."""
        # a further candidate on a conflict stays behind it
        heat = [0 if bundle.further else self._heat(bundle.entries) for bundle in bundles]
        keys = [
            (-bundle.entries[0].score, -warm) for bundle, warm in zip(bundles, heat, strict=True)
        ]
        order = sorted(range(len(bundles)), key=keys.__getitem__)
        scores = [score for score, _ in keys]
        tied = {score for score, after in pairwise(scores) if score == after}
        self.warmth = [
            (bundles[i].entries[0].item.id, heat[i]) for i in order if heat[i] and scores[i] in tied
        ]
        return [bundles[i] for i in order]

    def _heat(self, entries: Sequence[Entry]) -> int:
        """How warm the warmest of entries is; a text that was brought has no warmth of its own."""
        documents = np.array([e.document for e in entries if e.document >= 0], np.int64)
        heat = self.means.warm.heat(self.chooser.record_of(documents))
        return int(heat.max(initial=0))

    def _trusted_first(self, bundles: list[Bundle]) -> list[Bundle]:
        """Where confidence is judged, those that are ok come first; else the scores alone count."""
        if self.means.gate.trust is not Trust.STRICT:
            return bundles
        return sorted(bundles, key=lambda bundle: not bundle.trusted)

    def _judge_entailment(self, bundles: Sequence[Bundle]) -> bool:
        """Asks the judge about the ok hits of this page, and nothing else."""
        entails = self.means.entails
        asked = [e for bundle in bundles for e in bundle.entries if e.verdict is Verdict.OK]
        self.trace["entailment"] = None if entails is None else len(asked)
        if entails is None or not asked:
            return False
        asked = [entry for entry in asked if self._readable(entry)]
        try:
            given = [*entails(self.asked.query, [self.tell.said(e) for e in asked])]
        except Unavailable as error:
            raise Refused(Missing(error.reason, error.disclosed)) from None
        if len(given) != len(asked):
            raise CallerError(
                f"the judge gave {len(given)} decisions on {len(asked)} texts; it gives one for "
                "each, True where the text answers the question"
            )
        for entry, decision in zip(asked, given, strict=True):
            if decision is not True:
                entry.verdict = Verdict.NOT_ENTAILED
        return True
