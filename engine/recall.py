"""Recall: what may be believed of what a question finds, at one view.

Pure: the same request at the same view gives the same answer, whatever was recorded later. The arms
find, the view decides who is eligible, ranks are fused, and the gate says how far each hit may be
acted on. Nothing here reads a clock, or writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from doxa.engine.asking import Asked, Means, Refused
from doxa.engine.brought import BroughtFinder
from doxa.engine.candidates import Candidate, Given, Unread, read_all
from doxa.engine.choosing import Chooser
from doxa.engine.describing import Describer
from doxa.engine.eligibility import Judge
from doxa.engine.envelope import Hit, Missing, Pool, Recalled, Staleness, Withheld
from doxa.engine.errors import DamageError
from doxa.engine.finding import DENSE, Finder
from doxa.engine.graph import CLAIM, entity
from doxa.engine.hiding import hidden
from doxa.engine.items import moment_or_none
from doxa.engine.outcomes import Gap, Outcome, Tier, Trust, Unavailable, Verdict
from doxa.engine.outline import Group, Page, disclosed, page
from doxa.engine.placing import Bundle, Placer
from doxa.engine.ranking import Entry
from doxa.engine.receipt import coordinates
from doxa.engine.registry import Registry
from doxa.engine.rendering import counter_name
from doxa.engine.texts import Rows, Texts
from doxa.engine.times import instant, moment
from doxa.engine.trust import Abstention, Abstinence, gap_warning, in_band, short
from doxa.engine.view import TruthView

__all__ = ["Asked", "Means", "recall"]

SIDES: Final = 32  # of a conflict that are shown; of a larger one the others are named


def recall(
    registry: Registry,
    view: TruthView,
    rows: Rows,
    asked: Asked,
    means: Means,
    candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
) -> Recalled:
    """Answers a question at a view. ``rows`` reads stored events of the log. With ``candidates``
    these are judged in place of what the arms find.

    Raises `CallerError` where a reranker or a judge gives another number of answers than it was
    asked for.
    """
    brought = None if candidates is None else read_all(candidates)
    made = _Recall(registry, view, rows, asked, means, brought)
    try:
        if means.refusals:
            raise Refused(*means.missing, *means.refusals)
        return made.answer()
    except Refused as refused:
        return made.refused(refused.reasons)
    except DamageError:
        detail = "what is recorded can't be read; ledger.verify() says where it is damaged"
        return made.refused([Missing(Gap.SOURCE_UNAVAILABLE, detail)])


class _Recall:
    """One recall under way."""

    def __init__(
        self,
        registry: Registry,
        view: TruthView,
        rows: Rows,
        asked: Asked,
        means: Means,
        brought: list[Given | Unread] | None,
    ) -> None:
        self.view, self.graph, self.asked, self.means = view, view.graph, asked, means
        texts = Texts(view.graph, rows)
        judge = Judge(registry, view, texts, asked.filters.archived)
        self.chooser = Chooser(judge, asked.filters, means.warm)
        self.hides = hidden(view.belief, view.v, view.k)
        self.texts, self.tell = texts, Describer(self.chooser, texts)
        at_hand = asked, means, self.chooser, self.tell
        self.finder = Finder(*at_hand) if brought is None else BroughtFinder(*at_hand, brought)
        self.placer = Placer(self.finder)
        self.ambiguous: dict[tuple[str, str], tuple[str, ...]] = {}  # by the hits' ids, and places

    def answer(self) -> Recalled:
        """Finds, judges, ranks, and describes. Raises `Refused`."""
        self.finder.find()
        bundles, more = self.placer.page()
        shown = [bundle for bundle in bundles if bundle.entries]
        self._expect(shown)
        groups = [group for bundle in shown if (group := self._group(bundle)).hits]
        disclosure = self._disclosure()
        put = page(disclosure, groups, self.asked.budget, self.asked.count)
        for sides in put.uncovered:
            detail = f"a conflict of {len(sides)} sides does not fit in the budget"
            self._miss(Gap.CONFLICT_COVERAGE, detail, sides)
        self._limits(len(bundles), more)
        hits = [hit for group in groups for hit in group.hits]
        end = self.asked.offset + self.asked.top_k
        return self._enveloped(put, hits, disclosure).but(
            more=end if more else None, warmth=tuple(self.placer.warmth)
        )

    def refused(self, reasons: Iterable[Missing]) -> Recalled:
        """The answer without any text."""
        disclosure = self._disclosure()
        return self._base(Outcome.REFUSED, disclosure).but(reasons=tuple(_once(reasons)))

    def _miss(self, reason: Gap, detail: str, ids: Iterable[str] = ()) -> None:
        self.finder.reasons.append(Missing(reason, detail, tuple(ids)))

    # -- hits

    def _expect(self, bundles: Sequence[Bundle]) -> None:
        """Has the events that will be needed read together."""
        entries = [entry for bundle in bundles for entry in bundle.entries]
        numbers = {number for bundle in bundles for number in bundle.bare[:SIDES]}
        for entry in entries:
            numbers.update(self.tell.evidence(entry)[: self.tell.LISTED])
        positions = {self.graph.position_of(number) for number in numbers}
        self.texts.expect_at(sorted(positions.union(self.tell.positions(entries))))

    def _group(self, bundle: Bundle) -> Group:
        """A bundle with its hits; of a conflict those of the sides too that no entry speaks for."""
        entries, sides = list(bundle.entries), bundle.sides
        if bundle.bare:
            fetched = bundle.bare[: max(0, SIDES - len(entries))]
            for document in fetched:
                entry = self.finder.fetched(document, "conflict")
                entry.score = entries[0].score
                self.placer.annotate(entry)
                entries.append(entry)
            if unshown := bundle.bare[len(fetched) :]:
                detail = f"{len(unshown)} of {len(sides)} sides of a conflict are not shown"
                self._miss(Gap.CONFLICT_COVERAGE, detail, map(self.graph.id_of, unshown))
        size = len(entries) if sides and not bundle.further else 0
        hits = []
        for number, entry in enumerate(entries, 1):
            side = f" ({number} of {len(sides)})" if size > 1 else ""
            hit = self._hit(entry, side, sides)
            if hit is not None:
                hits.append(hit)
                self.ambiguous[hit.id, hit.workspace] = entry.ambiguous
        ids = tuple(map(self.graph.id_of, sides))
        if len(hits) < len(entries) and sides:
            shown = {hit.id for hit in hits}
            lost = [entry.item.id for entry in entries if entry.item.id not in shown]
            self._miss(Gap.CONFLICT_COVERAGE, "sides of a conflict can't be read", lost)
        return Group(hits, ids, bundle.further)

    def _hit(self, entry: Entry, side: str, sides: Sequence[int]) -> Hit | None:
        """An entry as it is given; ``None`` where its text can't be had, which is then told."""
        tell = self.tell
        try:
            said = tell.said(entry)
        except Unavailable as error:
            self._miss(error.reason, error.disclosed, (entry.item.id,))
            return None
        (low, high), observed = tell.window(entry), tell.observed(entry)
        against = tuple(
            self.graph.id_of(number)
            for number in sides[:SIDES]
            if number != entry.document and number >> 3 not in _claim_rows(number, entry)
        )
        successors = tuple(map(self.graph.claim_id, tell.successors(entry.claims)))
        names = {
            Verdict.CONTESTED: against,
            Verdict.SUPERSEDED: successors,
            Verdict.AMBIGUOUS_SUPERSESSION: entry.ambiguous,
        }
        attribution, unlisted = tell.attribution(entry)
        return Hit(
            id=entry.item.id,
            tier=entry.tier,
            workspace=entry.item.workspace,
            text=in_band(entry.verdict, names.get(entry.verdict, ())) + said,
            said=said,
            verdict=entry.verdict,
            standing=entry.standing,
            label=tell.label(entry, side),
            score=entry.score,
            scores=entry.scores,
            confidence=self.means.gate.confidence(entry.dense),
            **tell.about(entry),
            valid_from=moment_or_none(low),
            valid_to=moment_or_none(high),
            recorded_at=moment(tell.recorded(entry)),
            observed_at=moment(observed),
            age=max(0, self.asked.now - observed) / 1e6,
            references=tell.references(entry),
            attribution=attribution,
            unlisted=unlisted,
            contested_with=against,
            successors=successors,
            predecessors=tell.predecessors(entry.claims) if self.asked.predecessors else None,
            promoted_from=entry.promoted_from,
            fetched=entry.fetched,
            nominated=entry.nominated,
            validity=entry.validity,
            archived=self._archived(entry),
        )

    def _archived(self, entry: Entry) -> bool:
        """Whether a document is archived; of a text that was brought, what it rests on."""
        if not self.hides:
            return False
        if entry.document < 0:
            return any(entity(CLAIM, claim) in self.hides for claim in entry.claims)
        (record,) = self.chooser.record_of(np.array([entry.document], np.int64)).tolist()
        return record in self.hides

    # -- the envelope

    def _disclosure(self) -> str:
        return disclosed(self.view, str(self.means.gate.trust), str(self.asked.mode))

    def _base(self, outcome: Outcome, disclosure: str) -> Recalled:
        asked, gate = self.asked, self.means.gate
        return Recalled(
            outcome=outcome,
            query=asked.query,
            view=coordinates(self.view),
            mode=str(asked.mode),
            trust=str(gate.trust),
            calibrated=gate.calibrated,
            calibration=gate.calibration,
            index=self.means.index,
            pool=Pool(self.means.documents, 0, 0, "bounded"),
            warnings=tuple(self.finder.warnings),
            disclosure=disclosure,
            budget=asked.budget,
            unit=counter_name(asked.count),
            trace=self._trace(),
        )

    def _enveloped(self, put: Page, hits: Sequence[Hit], disclosure: str) -> Recalled:
        """The answer with what was put on its page, of all hits that belong there."""
        finder = self.finder
        found = finder.found.values()
        trusted = any(map(_trusted, hits))
        if self.asked.offset and not trusted:  # pages before this one may have had what is trusted
            trusted = any(entry.trusted for entry in finder.entries.values())
        elif trusted and not any(map(_trusted, put.hits)):
            detail = f"nothing to act on fits in the budget of {self.asked.budget}; give more"
            self._miss(Gap.CANDIDATE_LIMIT, detail, put.left_out)
        reasons = tuple(_once(finder.reasons))
        if not trusted:
            outcome, abstention = Outcome.ABSTAINED, self._abstention(hits)
        else:
            outcome, abstention = Outcome.PARTIAL if reasons else Outcome.ANSWERED, None
        entries = list(finder.entries.values())
        return self._base(outcome, disclosure).but(
            hits=tuple(put.hits),
            reasons=reasons,
            abstention=abstention,
            withheld=tuple(self._withheld()),
            gap_warning=gap_warning((entry.dense for entry in entries), self.means.gate),
            staleness=self._staleness(put.hits),
            pool=Pool(
                self.means.documents,
                sum(each.scanned for each in found),
                finder.eligible,
                "exhausted" if all(each.exhausted for each in found) else "bounded",
            ),
            text=put.text,
            used=put.used,
            left_out=tuple(put.left_out),
        )

    def _abstention(self, hits: Sequence[Hit]) -> Abstention:
        """Why nothing is to be trusted: what matched best decides, or else the judge.

        Where confidence is judged, only what would have been confident matched at all: what is
        shown comes before what is withheld.
        """
        gate, withheld = self.means.gate, self.finder.withheld
        for hit in hits:
            if hit.verdict is Verdict.NOT_ENTAILED:  # without the judge it was the answer
                return Abstention.over(hit.verdict, hit.id, (), gate)
        if gate.trust is Trust.STRICT and (hits or withheld):
            scores = [(_dense(hit), hit.id) for hit in hits]
            scores += [(old.dense, old.item.id) for old in withheld]
            known = [pair for pair in scores if not math.isnan(pair[0])]
            hits = [hit for hit in hits if gate.confident(_dense(hit))]
            withheld = [old for old in withheld if gate.confident(old.dense)]
            if not hits and not withheld and known:
                _, nearest = max(known, key=itemgetter(0))
                return Abstention.over(Verdict.LOW_CONFIDENCE, nearest, (), gate)
        if hits:
            return self._over(hits[0])
        erased = [one.ids for one in self.finder.reasons if one.reason is Gap.SOURCE_UNAVAILABLE]
        if erased and erased[0] and not (gate.trust is Trust.STRICT and withheld):
            return Abstention.over(Verdict.REDACTED, erased[0][0], (), gate)
        if not withheld:
            return Abstention(Abstinence.NOTHING_FOUND, self._nothing())
        best = withheld[0]
        others = best.ambiguous or tuple(
            map(self.graph.claim_id, self.tell.successors(best.claims))
        )
        return Abstention.over(self.finder.barred(best), best.item.id, others, gate)

    def _over(self, hit: Hit) -> Abstention:
        """What is said where the best match is this hit."""
        others = hit.successors or hit.contested_with
        if hit.verdict is Verdict.AMBIGUOUS_SUPERSESSION:
            others = self.ambiguous[hit.id, hit.workspace]
        return Abstention.over(hit.verdict, hit.id, others, self.means.gate)

    def _nothing(self) -> str:
        """That nothing was found, and under which filters, if any."""
        names = ("workspace", "subject", "predicate", "perspective", "kind")
        given = {name: getattr(self.asked.filters, name) for name in names}
        told = [f"{name} {short(text)}" for name, text in given.items() if text is not None]
        beside = f" and the filters: {', '.join(told)}" if told else ""
        return f"nothing in sight matches the question{beside}"

    def _withheld(self) -> Iterable[Withheld]:
        for entry in self.finder.withheld:
            if entry.document not in self.finder.told:
                continue
            successors = tuple(map(self.graph.claim_id, self.tell.successors(entry.claims)))
            quoted = entry.tier is Tier.QUOTE
            yield Withheld(
                id=entry.item.id,
                workspace=entry.item.workspace,
                tier=entry.tier,
                verdict=self.finder.barred(entry),
                detail=self.tell.barred(entry),
                successors=successors,
                claim=self.graph.claim_id(entry.claims[0]) if quoted else None,
            )

    def _staleness(self, hits: Sequence[Hit]) -> Staleness | None:
        if not hits:
            return None
        newest, greatest = max(hit.observed_at for hit in hits), self.asked.max_age
        age = max(0, self.asked.now - instant(newest)) / 1e6
        return Staleness(newest, age, greatest, None if greatest is None else age > greatest)

    def _limits(self, given: int, more: bool) -> None:
        """Says where the search ended before there was enough: fewer places are ``given`` than were
        asked for, or it was gone on with to its end."""
        asked, finder = self.asked, self.finder
        cut = [name for name, found in finder.found.items() if not found.exhausted]
        if not cut or more or (given >= asked.top_k and not asked.offset):
            return
        scanned = ", ".join(f"{name} {finder.found[name].scanned}" for name in cut)
        if asked.scan_limit is not None and finder.eligible < asked.pool:
            detail = f"the search ended at scan_limit (looked at: {scanned}); raise it for more"
        else:
            detail = f"the pool of {asked.pool} a way of searching ended; give a larger pool"
        self._miss(Gap.CANDIDATE_LIMIT, detail)

    def _trace(self) -> dict[str, Any]:
        """What was done, for people: nothing in it depends on the clock or the machine."""
        finder = self.finder
        return {
            "arms": [finder.arm_json(name) for name in finder.asked_arms],
            "fusion": finder.fusion,
            "promoted": finder.lifted,
            **self.placer.trace,
        }


def _dense(hit: Hit) -> float:
    """The dense score of a hit, NaN where it has none."""
    score = hit.scores.get(DENSE)
    return math.nan if score is None else score


def _trusted(hit: Hit) -> bool:
    return hit.verdict in (Verdict.OK, Verdict.UNVERIFIED)


def _claim_rows(number: int, entry: Entry) -> Sequence[int]:
    """The rows that a side of a conflict may not have to stand against an entry."""
    return entry.claims if number & 7 == CLAIM else ()


def _once(reasons: Iterable[Missing]) -> Iterable[Missing]:
    return dict.fromkeys(reasons)
