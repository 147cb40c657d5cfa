"""Texts that another search brought, judged in place of what arms find.

A text is worth what it declares that it rests on. One that declares nothing that can be found has
invalid metadata: it is withheld, and the others still come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from doxa.engine.asking import Asked, Means, Refused
from doxa.engine.candidates import Given, Omission, Unread
from doxa.engine.choosing import Chooser
from doxa.engine.describing import Describer
from doxa.engine.eligibility import Item, once
from doxa.engine.envelope import Missing
from doxa.engine.finding import VERDICTS, Finder
from doxa.engine.graph import NONE
from doxa.engine.judging import judged
from doxa.engine.outcomes import Trust, Unavailable, Verdict
from doxa.engine.ranking import Entry
from doxa.engine.registry import Reason
from doxa.engine.trust import verdict

__all__ = ["BroughtFinder"]

BROUGHT: Final = "brought"
_FIRST: Final = -2  # the number of the first text; NONE means none


class BroughtFinder(Finder):
    """Candidates, as a question finds them: those that may be served, and those withheld."""

    def __init__(
        self,
        asked: Asked,
        means: Means,
        chooser: Chooser,
        tell: Describer,
        candidates: Iterable[Given | Unread],
    ) -> None:
        super().__init__(asked, means, chooser, tell)
        self._candidates = list(candidates)
        self._texts = {one.id: one.text for one in self._candidates if isinstance(one, Given)}

    @property
    def asked_arms(self) -> list[str]:
        """No arm is asked: what was brought stands in for one."""
        return [BROUGHT]

    def arm_json(self, name: str) -> dict[str, Any]:
        """What was brought, for the trace."""
        total = len(self._candidates)
        return {
            "name": name,
            "available": True,
            "fired": total > 0,
            "found": total,
            "scanned": total,
            "eligible": len(self.entries),
            "exhausted": True,
        }

    def find(self) -> None:
        """Judges the candidates. Raises `Refused` where confidence is to be judged and can't be."""
        told: dict[int, Verdict] = {}
        for number, one in enumerate(judged(self.chooser.judge, self._candidates)):
            document = _FIRST - number
            if isinstance(one, Item):
                entry = self._eligible(document, one)
                if self.chooser.passes(entry.claims):
                    self.entries[document] = entry
            elif one.reason is Reason.ARCHIVED:
                self.warnings.append(f"{one.id!r} is left out: {one.detail}")
            else:
                self.withheld.append(self._omitted(document, one))
                self.told.add(document)
                if one.standing is None:
                    told[document] = VERDICTS.get(one.reason, Verdict.INVALID_METADATA)
                elif not self.withheld[-1].claims:  # it is of a claim that the view does not see
                    told[document] = verdict([one.standing], False, self.gate, math.nan)
        self._measure([*self.entries.values(), *self.withheld])
        for entry in self.withheld:
            entry.verdict = told.get(entry.document, entry.verdict)
        self._promote()

    def _eligible(self, document: int, item: Item) -> Entry:
        graph = self.graph
        supports = (*item.supports, *item.cited.supports)
        claims = once(
            [*item.facts, *item.cited.facts, *(graph.s_claim[support] for support in supports)]
        )
        ambiguous = self.chooser.ambiguous(claims)
        return Entry(document, item, claims, None, item.score, ambiguous=ambiguous, given=item.text)

    def _omitted(self, document: int, omission: Omission) -> Entry:
        """A candidate that may not be served; of what it says nothing is given."""
        id, _, detail, about, standing = omission
        claim = NONE if about is None else self.chooser.judge.claim(about)
        if claim != NONE and self.chooser.judge.standing(claim) is not standing:
            claim = NONE  # another of that id was meant, in another workspace
        claims = () if claim == NONE else (claim,)
        return Entry(
            document,
            Item(id, "", 0.0, "", claims),
            claims,
            standing,
            ambiguous=self.chooser.ambiguous(claims),
            given="",
            detail=detail,
        )

    def _foresee(self, claims: Sequence[int]) -> None:
        """Nothing: most successors were brought, and the others have to be embedded."""

    def _successor(self, claim: int, old: Entry) -> Entry | None:
        """The text that was brought for a terminal successor, or else its own; ``None`` where that
        may not be served, or its id is that of another text."""
        for entry in self.entries.values():
            if entry.claims == (claim,):
                return entry
        id = self.graph.claim_id(claim)
        if any(entry.item.id == id for entry in self.entries.values()):
            return None
        return super()._successor(claim, old)

    def _score(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            entry.scores[BROUGHT] = entry.item.score if entry.document < 0 else None
        similar = self.means.similar
        if self.gate.trust is Trust.STANDING or similar is None or not entries:
            return
        texts = [self._text(entry) for entry in entries]
        try:
            scores = similar(self.asked.query, texts)
        except Unavailable as error:
            if self.gate.trust is Trust.STRICT:
                raise Refused(*self.reasons, Missing(error.reason, error.disclosed)) from None
            self.reasons.append(Missing(error.reason, error.disclosed))
            return
        for entry, score in zip(entries, scores, strict=True):
            entry.scores["dense"] = entry.dense = score

    def _text(self, entry: Entry) -> str:
        """What of a text is compared with the question; it is not given to anybody."""
        if entry.document >= 0:
            try:
                return self.tell.said(entry)
            except Unavailable:  # it is told of where the text is to be given
                return entry.item.id
        return entry.given or self._texts.get(entry.item.id) or entry.item.id
