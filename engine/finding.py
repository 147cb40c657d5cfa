"""What a question finds at a view: the arms are asked, what may not be served is passed over, and
what replaced it is brought in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from doxa.engine import lost
from doxa.engine.arms import Ranking
from doxa.engine.asking import Asked, Means, Refused
from doxa.engine.belief import HELD, Standing
from doxa.engine.choosing import Chooser, Found
from doxa.engine.describing import Describer
from doxa.engine.envelope import Missing
from doxa.engine.graph import ARTEFACT, CLAIM, entity
from doxa.engine.outcomes import Gap, Mode, Tier, Trust, Unavailable, Verdict
from doxa.engine.ranking import RRF, Entry, fused
from doxa.engine.registry import Reason
from doxa.engine.trust import verdict

__all__ = ["VERDICTS", "Finder"]

_ALONE: Final = (Standing.REPORTED, Standing.CORROBORATED)  # held, and no side of a conflict
LEXICAL, DENSE, TRIGGERS = "lexical", "dense", "triggers"
TOLD: Final = 10  # of what an arm passed over that are told of; of more, what replaced them counts
# What a reason says that is not about the standing of a claim.
VERDICTS: Final = {
    Reason.NOT_YET_REGISTERED: Verdict.NOT_YET_KNOWN,
    Reason.MISSING_SUPPORT: Verdict.RETRACTED,
    Reason.WITHDRAWN: Verdict.RETRACTED,
    Reason.SNAPSHOT_MISMATCH: Verdict.UNSUPPORTED,
    Reason.REDACTED: Verdict.REDACTED,
}
_RANKED: Final = {
    Mode.LEXICAL: (LEXICAL,),
    Mode.DENSE: (DENSE,),
    Mode.FUSED: (LEXICAL, DENSE),
}


class Finder:
    """One question, asked of all arms: the entries found, those withheld, and what was missing."""

    def __init__(self, asked: Asked, means: Means, chooser: Chooser, tell: Describer) -> None:
        self.asked, self.means, self.gate = asked, means, means.gate
        self.chooser, self.tell = chooser, tell
        self.view, self.graph = chooser.view, chooser.graph
        self.reasons: list[Missing] = [*means.missing]
        self.warnings: list[str] = [*means.warnings]
        self.rankings: dict[str, Ranking] = {}
        self.found: dict[str, Found] = {}
        self.entries: dict[int, Entry] = {}
        self.rest: dict[int, float] = {}  # what comes behind them, by score
        self.withheld: list[Entry] = []
        self.told: set[int] = set()  # the documents of those withheld that are told of
        self.fusion: dict[str, Any] | None = None
        self.lifted: list[str] = []
        self._foreseen: dict[int, Entry] = {}  # of successors, by document

    def find(self) -> None:
        """Fills the pool. Raises `Refused` where the gate, or every arm, is without an answer."""
        self._search()
        self._gather()
        self._promote()

    # -- the arms

    def _search(self) -> None:
        """Asks the arms. Raises `Refused` where the gate, or every arm, is without an answer."""
        mode, strict = self.asked.mode, self.gate.trust is Trust.STRICT
        ranked = _RANKED[mode]
        failed: dict[str, Missing] = {}
        for name in self.asked_arms:
            if name not in self.means.arms:
                continue
            try:
                self.rankings[name] = self.means.arms[name].search(self.asked.query, self.view)
            except Unavailable as error:
                failed[name] = Missing(error.reason, error.disclosed)
        if DENSE in failed and (strict or mode is Mode.DENSE):
            raise Refused(*self.reasons, failed[DENSE])
        self.reasons += failed.values()
        if not any(name in self.rankings for name in ranked):
            raise Refused(*self.reasons)
        if not self.view.k:
            detail = "nothing had been recorded by then: the history of the ledger begins later"
            self.reasons.append(Missing(Gap.HISTORY_BOUNDARY, detail))
        wanted = self.asked.filters
        told = lost.not_searched(
            self.view,
            wanted.standings,
            wanted.subject,
            wanted.predicate,
            wanted.kind,
            workspace=wanted.workspace,
            perspective=wanted.perspective,
            predecessors=self.asked.predecessors,
        )
        if told is not None:
            count, digest = told
            detail = (
                f"claims that may have been found lie among {count:,} events that were compacted, "
                f"digest {digest}"
            )
            self.reasons.append(Missing(Gap.HISTORY_BOUNDARY, detail))

    def _gather(self) -> None:
        """Fills the pool with what may be served, and notes what may not."""
        asked, strict_only = self.asked, self._scores_only()
        for name, ranking in self.rankings.items():
            if name != strict_only:
                self.found[name] = self.chooser.refilled(ranking, asked.pool, asked.scan_limit)
        listed = {name: found.eligible for name, found in self.found.items() if found.eligible}
        own = [name for name in listed if name != TRIGGERS]
        if asked.mode is Mode.FUSED or TRIGGERS in listed:
            scores = fused(list(listed.values()))
            self.fusion = {"method": "rrf", "k": RRF, "arms": list(listed)}
        else:
            scores = {one.document: one.score for name in own for one in listed[name]}
            self.fusion = None
        nominated = {one.document for one in listed.get(TRIGGERS, ())}
        end = asked.offset + asked.top_k
        if self.means.warm and end < len(scores):  # what is equal may be put in another order
            ordered = list(scores.values())
            while end < len(ordered) and ordered[end] == ordered[end - 1]:
                end += 1
        if len(scores) > end and self._settled(scores):
            self.rest = dict(islice(scores.items(), end, None))
        for document, score in islice(scores.items(), len(scores) - len(self.rest)):
            self._enter(document, score).nominated = document in nominated
        self._pass_over()
        self._measure([*self.entries.values(), *self.withheld])

    def _pass_over(self) -> None:
        """Notes what matched and may not be served: the best of each arm, to be told of, and behind
        them what was replaced."""
        lists = [found.passed for found in self.found.values()]
        best = dict.fromkeys(one.document for passed in lists for one in passed[:TOLD])
        further = dict.fromkeys(one.document for passed in lists for one in passed[TOLD:])
        self.told = {document for document in best if self._barred(document)}
        of_more = (one for one in further if one not in self.told and self._replaced(one))
        self.withheld = [
            self._entry(document)
            for document in dict.fromkeys([*(one for one in best if one in self.told), *of_more])
        ]

    def _settled(self, documents: Iterable[int]) -> bool:
        """Whether all documents come in the order in which they were found, each in a place of its
        own: then those behind the page need no closer look."""
        means, asked = self.means, self.asked
        moved = self.fusion is not None or self.gate.trust is Trust.STRICT
        if moved or means.rerank is not None or asked.annotate or asked.profile is not None:
            return False
        standing = self.chooser.judge.standing
        return all(
            document & 7 == CLAIM and standing(document >> 3) in _ALONE for document in documents
        )

    @property
    def eligible(self) -> int:
        """How many documents may be served."""
        return len(self.entries) + len(self.rest)

    def _barred(self, document: int) -> bool:
        """Whether what was passed over may not be served; a held claim, and a live quote of one,
        only was not asked for."""
        kind, row, view = document & 7, document >> 3, self.view
        if kind == ARTEFACT:
            return True
        claim = row if kind == CLAIM else self.graph.s_claim[row]
        if self.chooser.judge.standing(claim) not in HELD:
            return True
        return kind != CLAIM and not self.chooser.belief.live(row, view.v, view.k)

    def _replaced(self, document: int) -> bool:
        """Whether a claim that a document rests on is superseded."""
        standing = self.chooser.judge.standing
        return any(
            standing(claim) is Standing.SUPERSEDED for claim in self.chooser.claims_of(document)
        )

    def _scores_only(self) -> str | None:
        """The arm that is asked for scores and finds nothing itself."""
        strict = self.gate.trust is Trust.STRICT
        return DENSE if strict and self.asked.mode is Mode.LEXICAL else None

    @property
    def asked_arms(self) -> list[str]:
        """The arms that a question of this kind is put to."""
        strict = self.gate.trust is Trust.STRICT and self.asked.mode is Mode.LEXICAL
        return [*_RANKED[self.asked.mode], TRIGGERS, *([DENSE] if strict else [])]

    def arm_json(self, name: str) -> dict[str, Any]:
        """What one arm did, for the trace."""
        ranking, found = self.rankings.get(name), self.found.get(name)
        return {
            "name": name,
            "available": ranking is not None,
            "fired": found is not None and found.scanned > 0,
            "found": 0 if ranking is None else ranking.total,
            "scanned": 0 if found is None else found.scanned,
            "eligible": 0 if found is None else len(found.eligible),
            "exhausted": found is not None and found.exhausted,
        }

    def fetched(self, document: int, why: str) -> Entry:
        """An entry for a document that no arm found."""
        entry = self._entry(document)
        self._measure([entry])
        entry.fetched = why
        return entry

    def barred(self, entry: Entry) -> Verdict:
        """The verdict on what is withheld: that of its claims or, where these are held, of the
        evidence or the registered text itself."""
        held = entry.trusted or entry.verdict in (Verdict.LOW_CONFIDENCE, Verdict.CONTESTED)
        if not held:
            return entry.verdict
        if entry.tier is Tier.QUOTE:
            return Verdict.RETRACTED
        if entry.tier is Tier.SUMMARY:
            problem = self.chooser.judge.artefact(entry.document >> 3, None)
            if problem is not None:
                return VERDICTS.get(problem.reason, Verdict.UNSUPPORTED)
        return Verdict.UNSUPPORTED

    def _enter(self, document: int, score: float) -> Entry:
        entry = self.entries[document] = self._entry(document, score)
        return entry

    def _entry(self, document: int, score: float = 0.0) -> Entry:
        chooser = self.chooser
        claims = chooser.claims_of(document)
        standing = None
        if document & 7 != ARTEFACT:
            standing = chooser.judge.standing(claims[0])
        return Entry(
            document,
            chooser.item(document, score),
            claims,
            standing,
            score,
            ambiguous=chooser.ambiguous(claims),
        )

    def _measure(self, entries: Sequence[Entry]) -> None:
        """Puts the scores of all arms, and the verdicts, to entries."""
        self._score(entries)
        for entry in entries:
            standings = (self.chooser.judge.standing(claim) for claim in entry.claims)
            entry.verdict = verdict(standings, bool(entry.ambiguous), self.gate, entry.dense)

    def _score(self, entries: Sequence[Entry]) -> None:
        for name, ranking in self.rankings.items():
            scores = self._scores(name, ranking, [entry.document for entry in entries])
            for entry in entries:
                score = scores.get(entry.document, math.nan)
                entry.scores[name] = None if math.isnan(score) else score
                if name == DENSE:
                    entry.dense = score

    def _scores(self, name: str, ranking: Ranking, documents: Sequence[int]) -> dict[int, float]:
        """The scores of documents by an arm, those that it listed as it listed them; NaN, or none,
        for what it did not find."""
        found = self.found.get(name)
        scores = {} if found is None else dict(found.eligible + found.passed)
        others = [document for document in documents if document not in scores]
        if others and ranking.total:
            given = ranking.scores(np.array(others, np.int64)).tolist()
            scores.update(zip(others, given, strict=True))
        return scores

    # -- successors

    def _promote(self) -> None:
        """Brings in what replaced the superseded claims that matched, and lifts it where the one
        that it replaced would have been the confident answer."""
        strict, lifted = self.gate.trust is Trust.STRICT, []
        replaced = [
            (old, self.tell.successors(old.claims))
            for old in [*self.withheld, *self.entries.values()]
            if old.verdict is Verdict.SUPERSEDED and self._would_answer(old)
        ]
        self._foresee([claim for _, claims in replaced for claim in claims])
        for old, successors in replaced:
            for claim in successors:
                entry = self._successor(claim, old)
                if entry is None:
                    continue
                entry.promoted_from = entry.promoted_from or old.item.id
                if strict and entry.verdict is Verdict.LOW_CONFIDENCE:
                    entry.verdict = Verdict.OK
                    lifted.append(entry.item.id)
        self.lifted = lifted

    def _would_answer(self, old: Entry) -> bool:
        """Whether a superseded document would have been the confident answer; by its standing
        alone, whatever matched would."""
        return self.gate.trust is not Trust.STRICT or self.gate.confident(old.dense)

    def _foresee(self, claims: Sequence[int]) -> None:
        """Makes the entries of terminal successors that will be needed, together."""
        sought = [entity(CLAIM, claim) for claim in dict.fromkeys(claims)]
        sought = [
            document
            for document in sought
            if document not in self.entries and document not in self.rest
        ]
        fits, _ = self.chooser.judged(np.array(sought, np.int64))
        fresh = [self._entry(sought[place]) for place in fits.tolist()]
        self._measure(fresh)
        self._foreseen = {entry.document: entry for entry in fresh}

    def _successor(self, claim: int, old: Entry) -> Entry | None:
        """The entry of a terminal successor, made where no arm found it; ``None`` where it may not
        be served."""
        document = entity(CLAIM, claim)
        if document in self.rest:
            self._measure([self._enter(document, self.rest.pop(document))])
        known, entry = self.entries.get(document), self._foreseen.get(document)
        if known is not None or not self.view.in_sight(claim):
            return known
        if entry is None:
            if not self.chooser.fits(document):
                return None
            entry = self._entry(document)
            self._measure([entry])
        entry.fetched = "promotion"
        if self.fusion is None:
            own = entry.scores.get(LEXICAL if self.asked.mode is Mode.LEXICAL else DENSE)
            entry.score = own or 0.0
        self.entries[document] = entry
        return entry
