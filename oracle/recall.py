"""What a recall must answer, slowly: every document of the view judged, scored and sorted.

What the words of a text are, and what its vector is, the caller says. What the law leaves open is
written down where it is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doxa.oracle import calibration, conflicts, dense, lexical, validity
from doxa.oracle.log import Key
from doxa.oracle.searched import Document, Filters, Sight
from doxa.oracle.truth import Truth
from doxa.oracle.vouched import vouched

__all__ = ["VERDICTS", "Answer", "Hit", "Means", "Question", "recall"]

VERDICTS = (
    "invalid_metadata", "not_yet_known", "redacted", "compacted", "retracted",
    "ambiguous_supersession", "superseded", "expired", "not_yet_valid", "hypothesis",
    "unsupported", "contested", "low_confidence", "not_entailed", "ok", "unverified",
)  # fmt: skip
TRUSTED = ("ok", "unverified")
ABSTENTIONS = {
    "not_yet_known": "outside_window", "expired": "outside_window",
    "not_yet_valid": "outside_window", "redacted": "erased", "compacted": "erased",
    "ambiguous_supersession": "ambiguous", "low_confidence": "below_boundary",
}  # fmt: skip
TOLD = 10  # of the documents that an arm passed over, those that are told of


class Means(NamedTuple):
    """What texts are made into: the words of a document, those of a question, those of a phrase,
    and a vector of length 1."""

    words: Callable[[str], Sequence[str]]
    asked: Callable[[str], Sequence[str]]
    phrases: Callable[[str], Sequence[str]]
    vector: Callable[[str], Sequence[float]]


@dataclass(frozen=True)
class Question:
    """What is asked. ``looked`` says how many of its documents each arm looked at, the best first;
    of an arm that is not named, all. Only where it is ``limited`` may that be too few.
    ``published`` is the position that the indexes go up to, where they are behind the log. With
    ``profile`` mode fused is re-ranked by validity, counted from the recording ``by_recording``.
    ``counts`` says how often records were used."""

    query: str
    mode: str = "lexical"
    trust: str = "standing"
    boundary: float = 0.5
    scale: float = 0.05
    filters: Filters = field(default_factory=Filters)
    top_k: int = 10
    pool: int = 100
    offset: int = 0
    looked: Mapping[str, int] = field(default_factory=dict)
    limited: bool = False
    published: int | None = None
    profile: bool = False
    annotate: bool = False
    by_recording: bool = False
    counts: Mapping[Key, int] = field(default_factory=dict)


class Hit(NamedTuple):
    """One document that is given."""

    key: Key
    tier: str
    verdict: str
    standing: str | None
    score: float
    scores: dict[str, float | None]
    confidence: float | None
    promoted_from: str | None
    fetched: str | None
    nominated: bool
    contested_with: list[str]
    successors: list[str]
    validity: dict[str, object] | None


class Answer(NamedTuple):
    """What is given, and what is told besides. ``withheld`` are documents with their verdicts, and
    what replaced them."""

    outcome: str
    hits: list[Hit]
    withheld: list[tuple[Key, str, list[str]]]
    reasons: set[str]
    documents: int
    eligible: int
    more: bool
    abstention: tuple[str, list[str]] | None


@dataclass
class Entry:
    """A document on its way into an answer."""

    document: Document
    score: float = 0.0
    verdict: str = ""
    promoted_from: str | None = None
    fetched: str | None = None
    nominated: bool = False

    @property
    def rank(self) -> tuple[float, str, str]:
        """The higher score first, then the id."""
        return -self.score, self.document.key[1], self.document.key[0]


class Unit(NamedTuple):
    """What takes one place: an entry; or those of a conflict, whose ``sides`` are named, with
    those sides that no entry speaks for."""

    entries: list[Entry]
    sides: Sequence[Key] = ()
    bare: Sequence[Key] = ()
    further: bool = False

    @property
    def rank(self) -> tuple[float, str, str]:
        return min(entry.rank for entry in self.entries)

    @property
    def trusted(self) -> bool:
        return all(entry.verdict in TRUSTED for entry in self.entries)


def recall(truth: Truth, question: Question, means: Means) -> Answer:
    """The answer to a question at a view."""
    return _Recall(truth, question, means).answer()


class _Recall:
    def __init__(self, truth: Truth, question: Question, means: Means) -> None:
        self.truth, self.question, self.means = truth, question, means
        self.sight = Sight(truth, question.filters, question.counts)
        self.by_key = {document.key: document for document in self.sight.documents}
        self.upto = truth.known_at
        if question.published is not None:
            self.upto = min(self.upto, question.published)
        self.searched = [each for each in self.sight.documents if each.position <= self.upto]
        self.scores = {arm: self._scores(arm) for arm in self._arms()}
        self.short = False  # whether an arm left out what may be served

    def answer(self) -> Answer:
        """All of it."""
        lists: dict[str, list[Document]] = {}
        passed: list[list[Document]] = []
        for arm in self._finding():
            lists[arm], over = self._taken(arm)
            passed.append(over)
        entries = self._entries({arm: found for arm, found in lists.items() if found})
        withheld = self._barred(each for over in passed for each in over[:TOLD])
        further = self._barred(each for over in passed for each in over[TOLD:])
        self._promote([*withheld, *further], entries, fused=self._fuses(lists))
        if self.question.profile and self.question.mode == "fused":
            self._rerank(list(entries.values()))
        units = self._units(list(entries.values()))
        question = self.question
        page = units[question.offset : question.offset + question.top_k]
        hits = [hit for unit in page for hit in self._hits(unit)]
        more = len(units) > question.offset + question.top_k
        reasons = {"history_boundary"} if not self.truth.known_at else set()
        if self.upto < self.truth.known_at:
            reasons.add("revision_unpublished")
        if self.short and not more and (question.offset or len(page) < question.top_k):
            reasons.add("candidate_limit")
        trusted = any(hit.verdict in TRUSTED for hit in hits)
        outcome = ("partial" if reasons else "answered") if trusted else "abstained"
        why = None if trusted else self._why(hits, [*withheld, *further])
        told = [
            (entry.document.key, self._withheld(entry), self._successors(entry.document.key))
            for entry in withheld
        ]
        return Answer(outcome, hits, told, reasons, len(self.searched), len(entries), more, why)

    def _why(self, hits: Sequence[Hit], withheld: Sequence[Entry]) -> tuple[str, list[str]]:
        """Why nothing is to be trusted, and the ids that this is about: what is given comes first,
        then what was withheld. In strict trust only what is confident matched at all; where nothing
        is, the nearest is too far off."""
        if self.question.trust == "strict":
            keys = [*(hit.key for hit in hits), *(old.document.key for old in withheld)]
            cosines = [(cosine, key) for key in keys if (cosine := self._cosine(key)) is not None]
            hits = [hit for hit in hits if self._confident(hit.key)]
            withheld = [old for old in withheld if self._confident(old.document.key)]
            if cosines and not hits and not withheld:
                return "below_boundary", [max(cosines, key=lambda pair: pair[0])[1][1]]
        if hits:
            verdict, key = hits[0].verdict, hits[0].key
            others = hits[0].successors or hits[0].contested_with
            if verdict == "ambiguous_supersession":
                others = self._ambiguous(key)
        elif withheld:
            best = withheld[0]
            verdict, key = self._withheld(best), best.document.key
            others = self._ambiguous(key) or self._successors(key)
        else:
            return "nothing_found", []
        return ABSTENTIONS.get(verdict, verdict), [key[1], *others]

    def _ambiguous(self, key: Key) -> list[str]:
        """The unresolved corrections that may mean a claim which a document rests on."""
        ambiguous = self.truth.belief.ambiguous
        found = [one for claim in self.sight.claims_of(key) for one in ambiguous.get(claim, ())]
        return [id for _, id in dict.fromkeys(found)]

    # -- the arms

    def _finding(self) -> list[str]:
        """The arms that find documents."""
        ranked = {"lexical": ["lexical"], "dense": ["dense"], "fused": ["lexical", "dense"]}
        return [*ranked[self.question.mode], "triggers"]

    def _arms(self) -> list[str]:
        """All that give scores: in strict trust that of vectors always does."""
        found = self._finding()
        return found + ["dense"] * (self.question.trust == "strict" and "dense" not in found)

    def _scores(self, arm: str) -> dict[Key, float]:
        query, means, searched = self.question.query, self.means, self.searched
        upto, places = self.upto, self.sight.workspaces
        found: Mapping[object, float]
        if arm == "lexical":
            texts = [lexical.Text(d.key, d.key[0], d.position, d.words) for d in searched]
            found = lexical.scores(texts, query, places, upto, means.words, means.asked)
        elif arm == "triggers":
            claims = [lexical.Claim(d.key, d.key[0], d.position, d.phrases) for d in searched]
            found = lexical.fired(claims, query, places, upto, means.phrases)
        else:
            asked = means.vector(query)
            found = {d.key: dense.product(means.vector(d.said), asked) for d in searched}
        return {d.key: float(found[d.key]) for d in searched if d.key in found}

    def _taken(self, arm: str) -> tuple[list[Document], list[Document]]:
        """The first documents of an arm that may be served, ties by id, as many as the pool takes;
        and as many of those that were passed over, ties as they were recorded."""
        scores = self.scores[arm]
        ranked = sorted(scores, key=lambda key: (-scores[key], key[1], key[0]))
        seen = [self.by_key[key] for key in ranked[: self.question.looked.get(arm, len(ranked))]]
        seen = [document for document in seen if self.sight.asked(document)]
        served = [document for document in seen if self.sight.eligible(document)]
        over = [document for document in seen if not self.sight.eligible(document)]
        over.sort(key=lambda d: (-scores[d.key], d.position, d.tier != "claim"))
        all_seen = self.question.looked.get(arm, len(ranked)) >= len(ranked)
        enough = all_seen or self.question.limited or len(served) >= self.question.pool
        assert enough, f"{arm} looked at too few"
        self.short = self.short or not all_seen or len(served) > self.question.pool
        return served[: self.question.pool], over[: self.question.pool]

    def _barred(self, passed: Iterable[Document]) -> list[Entry]:
        """Those passed over, each once, that may not be served whatever is asked for."""
        return [
            Entry(document, verdict=self._judged(document))
            for document in dict.fromkeys(passed)
            if not self.sight.believed(document)
        ]

    def _fuses(self, lists: Mapping[str, Sequence[Document]]) -> bool:
        return self.question.mode == "fused" or bool(lists["triggers"])

    def _entries(self, lists: Mapping[str, Sequence[Document]]) -> dict[Key, Entry]:
        """What was found, in the order in which the arms gave it. A list of one arm alone keeps its
        scores; of several, and in mode fused, the ranks are fused."""
        entries: dict[Key, Entry] = {}
        for arm, found in lists.items():
            for rank, document in enumerate(found, 1):
                entry = entries.setdefault(document.key, Entry(document))
                if self.question.mode == "fused" or "triggers" in lists:
                    entry.score += 1 / (60 + rank)
                else:
                    entry.score = self.scores[arm][document.key]
                entry.nominated = entry.nominated or arm == "triggers"
        for entry in entries.values():
            entry.verdict = self._judged(entry.document)
        return entries

    # -- trust

    def _cosine(self, key: Key) -> float | None:
        return self.scores.get("dense", {}).get(key)

    def _confident(self, key: Key) -> bool:
        cosine = self._cosine(key)
        if cosine is None or self.question.trust == "standing":
            return False
        return cosine >= self.question.boundary

    def _confidence(self, key: Key) -> float | None:
        cosine = self._cosine(key)
        if cosine is None or self.question.trust == "standing":
            return None
        return calibration.confidence(cosine, self.question.boundary, self.question.scale)

    def _judged(self, document: Document) -> str:
        """The verdict: the first that applies to any claim that it rests on."""
        claims = self.sight.claims_of(document.key)
        found = {self.sight.standing(claim) for claim in claims}
        if self._ambiguous(document.key):
            found.add("ambiguous_supersession")
        for verdict in VERDICTS:
            if verdict in found:
                return verdict
        if self.question.trust != "strict":
            return "unverified"
        return "ok" if self._confident(document.key) else "low_confidence"

    def _withheld(self, entry: Entry) -> str:
        """The verdict of what is withheld; where the claims are held, what is wrong with the
        evidence, or with the registered text, itself."""
        if entry.verdict not in (*TRUSTED, "low_confidence", "contested"):
            return entry.verdict
        return self.sight.fault(entry.document)

    def _promote(self, withheld: Sequence[Entry], entries: dict[Key, Entry], fused: bool) -> None:
        """Brings in the terminal successors of what would have been the answer, those of withheld
        documents first. One that has replaced several says the first of them."""
        strict = self.question.trust == "strict"
        for old in [*withheld, *entries.values()]:
            if old.verdict != "superseded" or (strict and not self._confident(old.document.key)):
                continue
            for claim in self.sight.claims_of(old.document.key):
                if self.sight.standing(claim) != "superseded":
                    continue
                for id in self._ends(claim):
                    new = self._successor((claim[0], id), entries, fused)
                    if new is not None:
                        new.promoted_from = new.promoted_from or old.document.key[1]
                        if strict and new.verdict == "low_confidence":
                            new.verdict = "ok"

    def _ends(self, claim: Key) -> Sequence[str]:
        own = Truth(self.truth.log, self.truth.valid_at, self.truth.known_at, claim[0])
        return own.successors(claim[1], claim[0])

    def _successor(self, key: Key, entries: dict[Key, Entry], fused: bool) -> Entry | None:
        document = self.by_key.get(key)
        if key in entries or document is None:
            return entries.get(key)
        if not (self.sight.asked(document) and self.sight.eligible(document)):
            return None
        entry = Entry(document, verdict=self._judged(document), fetched="promotion")
        if not fused:
            entry.score = self.scores[self.question.mode].get(key, 0.0)
        entries[key] = entry
        return entry

    def _rerank(self, entries: Sequence[Entry]) -> None:
        """Puts base score times multiplier in place of the scores."""
        listed = sorted(entries, key=lambda entry: entry.rank)
        hits = [vouched(self.sight, entry.document) for entry in listed]
        question = self.question
        final = validity.finals(hits, None, self.truth.valid_at, question.by_recording)
        for entry, score in zip(listed, final, strict=True):
            entry.score = float(score)

    def _validity(self, document: Document) -> dict[str, object] | None:
        """The block of a hit, with its freshness and multiplier."""
        if not (self.question.profile or self.question.annotate):
            return None
        hit, now = vouched(self.sight, document), self.truth.valid_at
        block = validity.block(hit, now, self.question.by_recording)
        block["freshness"] = float(validity.fresh(hit, now, self.question.by_recording))
        block["multiplier"] = float(validity.multiplier(hit, now, self.question.by_recording))
        return block

    # -- conflicts

    def _units(self, entries: Sequence[Entry]) -> list[Unit]:
        """Everything in order. The best entry for each side of a conflict is in its one unit; a
        further one takes a place of its own."""
        units, torn = [], []
        for entry in sorted(entries, key=lambda entry: entry.rank):
            if reached := self._contested(entry):
                torn.append((entry, reached))
            else:
                units.append(Unit([entry]))
        for conflict, members in self._joined(torn):
            sides = conflicts.sides(self.truth, conflict)
            spoken: dict[Key, Entry] = {}
            for entry in members:
                for side in conflicts.speaks_for(self.sight, entry.document.key):
                    spoken.setdefault(side, entry)
            chosen = {id(spoken[side]) for side in sides if side in spoken}
            own = [entry for entry in members if id(entry) in chosen]
            units.append(Unit(own, sides, [side for side in sides if side not in spoken]))
            rest = [entry for entry in members if id(entry) not in chosen]
            units += [Unit([entry], sides, further=True) for entry in rest]
        units.sort(key=lambda unit: (unit.rank[0], -self._heat(unit), unit.rank))
        if self.question.trust == "strict":
            units = [u for u in units if u.trusted] + [u for u in units if not u.trusted]
        return units

    def _heat(self, unit: Unit) -> int:
        """How warm the warmest of it is; of equals, the warmer come first. A further entry on a
        conflict has no warmth, so that it stays behind."""
        return 0 if unit.further else max(self.sight.heat(each.document) for each in unit.entries)

    def _contested(self, entry: Entry) -> set[Key]:
        claims = self.sight.claims_of(entry.document.key)
        return {claim for claim in claims if self.sight.standing(claim) == "contested"}

    def _joined(self, torn: Sequence[tuple[Entry, set[Key]]]) -> list[tuple[set[Key], list[Entry]]]:
        """The conflicts that entries reach, each with those entries, best first; one that reaches
        several makes them one."""
        found: list[tuple[set[Key], list[Entry]]] = []
        for entry, reached in torn:
            claims: set[Key] = set().union(
                *(conflicts.component(self.truth, claim) for claim in reached)
            )
            members = [entry]
            apart = []
            for other, those in found:
                if other & claims:
                    claims |= other
                    members = those + members
                else:
                    apart.append((other, those))
            found = [*apart, (claims, sorted(members, key=lambda each: each.rank))]
        return found

    # -- what is given

    def _hits(self, unit: Unit) -> list[Hit]:
        bare = [self._side(key, unit.entries[0].score) for key in unit.bare]
        return [self._hit(entry, unit.sides) for entry in [*unit.entries, *bare]]

    def _side(self, key: Key, score: float) -> Entry:
        """A side of a conflict that no entry speaks for."""
        tier = "claim" if key in self.truth.log.claims else "quote"
        document = Document(key, tier, 0, "", "")
        return Entry(document, score, self._judged(document), fetched="conflict")

    def _hit(self, entry: Entry, sides: Sequence[Key]) -> Hit:
        key, tier = entry.document.key, entry.document.tier
        claims = self.sight.claims_of(key)
        against = [side[1] for side in sides if side not in (key, *claims)]
        standing = None if tier == "summary" else self.sight.standing(claims[0])
        return Hit(
            key, tier, entry.verdict, standing, entry.score, self._of_arms(key),
            self._confidence(key), entry.promoted_from, entry.fetched, entry.nominated,
            against, self._successors(key), self._validity(entry.document),
        )  # fmt: skip

    def _successors(self, key: Key) -> list[str]:
        """The ids of the claims that replaced those which a document rests on, each claim once."""
        ends = [
            (claim[0], id)
            for claim in self.sight.claims_of(key)
            if self.sight.standing(claim) == "superseded"
            for id in self._ends(claim)
        ]
        return [id for _, id in dict.fromkeys(ends)]

    def _of_arms(self, key: Key) -> dict[str, float | None]:
        return {arm: found.get(key) for arm, found in self.scores.items()}
