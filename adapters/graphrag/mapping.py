"""Rows as events: claims, their evidence, and the summaries that were made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doxa.adapters.graphrag.aliases import Aliases, Rests
from doxa.adapters.graphrag.cells import shown
from doxa.adapters.graphrag.dates import ASSUMED, Dated, Dates, checked_dates, dated
from doxa.adapters.graphrag.naming import Naming, claim_id
from doxa.adapters.graphrag.passages import Passage, Passages, Source
from doxa.adapters.graphrag.quotes import locate
from doxa.adapters.graphrag.reports import Read, map_reports
from doxa.adapters.graphrag.rows import Covariate, Entity, Relationship, Row
from doxa.adapters.graphrag.tables import Remark, Tables
from doxa.adapters.graphrag.words import VOCABULARY, Status, Vocabulary, name

__all__ = ["Mapped", "mapped"]


@dataclass(slots=True)
class Mapped:
    """What a run says, as events in the exchange form, by id, each with the row that it comes from.

    ``evidence`` are the passages and documents that it has, as (digest, source); ``stand_ins`` the
    sources that stand for a document whose text is not there.
    """

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, tuple[str, Row | None]] = field(default_factory=dict)
    aliases: Aliases = field(default_factory=Aliases)
    evidence: set[tuple[str, str]] = field(default_factory=set)
    stand_ins: set[str] = field(default_factory=set)
    sources: dict[str, Source] = field(default_factory=dict)
    set_aside: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    dates: Counter[str] = field(default_factory=Counter)
    quotes: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    reports: list[Read] = field(default_factory=list)

    def put(self, event: dict[str, Any], table: str, row: Row | None) -> str:
        """Takes an event in; the same one again is one event."""
        id: str = event["id"]
        if id not in self.events:
            self.events[id] = event
            self.places[id] = table, row
        return id

    def leave(self, table: str, row: Row, reason: str, text: object = "") -> None:
        """Sets a row aside."""
        self.set_aside.append(Remark(table, row.row, reason, row.number, shown(text)))
        number, id = row.number, row.id
        self.aliases.add(Rests(table, row.row, number, id, reason=reason))


def mapped(
    tables: Tables,
    *,
    index: str,
    dates: Dates = "observed",
    vocabulary: Vocabulary = VOCABULARY,
    progress: Callable[[], None] = lambda: None,
) -> Mapped:
    """Maps a run's tables. O(rows), and for reports their dependencies. ``progress`` is called for
    each row. Raises `CallerError`."""
    mapping = _Mapping(tables, Naming(index), checked_dates(dates), vocabulary)
    mapping.map(progress)
    map_reports(tables, mapping.naming, vocabulary, mapping.subjects, mapping.made)
    return mapping.made


class _Mapping:
    def __init__(
        self, tables: Tables, naming: Naming, dates: Dates, vocabulary: Vocabulary
    ) -> None:
        self.tables, self.naming, self.dates, self.vocabulary = tables, naming, dates, vocabulary
        self.made = Mapped()
        self.passages = Passages(tables)
        self.subjects: dict[str, list[Rests]] = {}  # an entity's name → its rows and its claims
        self.told: dict[str, list[str]] = {}  # passages whose claim is there → its evidence

    def map(self, progress: Callable[[], None]) -> None:
        """Everything but the reports."""
        self._text_units()
        for entity in self.tables.entities:
            self._entity(entity)
            progress()
        for relationship in self.tables.relationships:
            self._relationship(relationship)
            progress()
        for covariate in self.tables.covariates:
            self._covariate(covariate)
            progress()
        self.made.stand_ins = self.passages.stand_ins
        self.made.set_aside[:0] = self.passages.set_aside
        self.made.remarks[:0] = self.passages.remarks

    # -- passages

    def _text_units(self) -> None:
        for document in self.passages.documents.values():
            self.made.sources[document.id] = document
        for unit in self.tables.text_units:
            passage = self.passages.find(unit.id) if unit.id is not None else None
            if passage is None:
                continue
            id = self._told(passage, unit)
            self.made.aliases.add(
                Rests(
                    "text_units",
                    unit.row,
                    unit.number,
                    unit.id,
                    claims=(id,),
                    facts=(id,),
                    evidence=tuple(self.told[passage.digest]),
                    sources=tuple(source.id for source in passage.sources),
                    units=(id,),
                )
            )

    def _told(self, passage: Passage, row: Row) -> str:
        """The claim that the index has a passage."""
        claim = passage.claim
        if passage.digest not in self.told:
            self.made.put(claim, "text_units", row)
            for source in passage.sources:
                self.made.evidence.add((passage.digest, source.id))
                self.made.sources.setdefault(source.id, source)
            ids = self._supports(str(claim["id"]), passage, ("text_units", row))
            self.told[passage.digest] = ids
        return str(claim["id"])

    def _named(self, table: str, row: Row, units: Iterable[str]) -> list[Passage]:
        """The passages that a row names; what it names and the index does not have is set aside."""
        found: dict[str, Passage] = {}
        for unit in units:
            passage = self.passages.find(unit)
            if passage is None:
                reason = f"names the text unit {shown(unit)[:40]}, which text_units does not have"
                self.made.set_aside.append(Remark(table, row.row, reason, row.number))
                continue
            self._told(passage, row)
            found[passage.digest] = passage
        return list(found.values())

    # -- claims and evidence

    def _claim(
        self,
        place: tuple[str, Row],
        subject: str,
        predicate: str,
        object: str | None,
        *,
        text: str | None = None,
        kind: str = "fact",
        when: Dated | None = None,
    ) -> str:
        assumed = ASSUMED if when is None else when.assumed
        start, end = (None, None) if when is None else (when.valid_from, when.valid_to)
        fields = {
            "event": "claim",
            "subject": subject,
            "predicate": predicate,
            "object": object,
            "text": text,
            "kind": kind,
            "valid_from": start,
            "valid_to": end,
            "assumed": assumed,
        }
        fields["id"] = claim_id(subject, predicate, object, text, kind, start, end, assumed)
        return self.made.put(fields, *place)

    def _supports(
        self,
        claim: str,
        passage: Passage,
        place: tuple[str, Row],
        *,
        stance: str = "supports",
        quote: str | None = None,
        where: str | None = None,
        observed_at: str | None = None,
    ) -> list[str]:
        """The evidence of a passage: a support for each document that has it."""
        locator = passage.name if where is None else f"{passage.name}, {where}"
        made = []
        for source in passage.sources:
            told = {
                "id": source.id,
                "locator": locator if source.title is None else f"{source.title}, {locator}",
                "quote": quote,
                "digest": passage.digest,
                "origin": source.title,
                "observed_at": observed_at,
            }
            id = self.naming.support(claim, stance, *told.values())
            support = {
                "event": "support",
                "id": id,
                "claim": claim,
                "source": {key: item for key, item in told.items() if item is not None},
                "stance": stance,
            }
            made.append(self.made.put(support, *place))
        return made

    def _evidence(
        self, claim: str, passages: Iterable[Passage], place: tuple[str, Row]
    ) -> tuple[list[str], list[str], list[str]]:
        """The evidence that passages give; and what a text that was made from them depends on
        besides their claim, as held and as live."""
        every: list[str] = []
        facts: list[str] = []
        supports: list[str] = []
        for passage in passages:
            ids = self._supports(claim, passage, place)
            every += ids
            _depend(passage, ids, facts, supports)
        return every, facts, supports

    def _summary(
        self, kind: str, text: str | None, rests: Mapping[str, list[str]], place: tuple[str, Row]
    ) -> str | None:
        if text is None or self.vocabulary.nothing(text):
            return None
        fields = {"event": "summary", "text": text, **rests}
        fields["id"] = self.naming.summary(kind, text, rests["facts"], rests["supports"])
        return self.made.put(fields, *place)

    # -- rows

    def _entity(self, row: Entity) -> None:
        title, place = name(row.title), ("entities", row)
        if not title:
            return self.made.leave(*place, "it has no title", row.description)
        type = self.vocabulary.value(row.type)
        self._described(place, row, (title, "IS_A", name(type) or None), (title,))

    def _relationship(self, row: Relationship) -> None:
        source, target = name(row.source), name(row.target)
        if not source or not target:
            told = f"{row.source or ''} → {row.target or ''}"
            return self.made.leave("relationships", row, "it lacks a source or target", told)
        self._described(("relationships", row), row, (source, "RELATED_TO", target), ())

    def _described(
        self,
        place: tuple[str, Row],
        row: Entity | Relationship,
        said: tuple[str, str, str | None],
        subjects: tuple[str, ...],
    ) -> None:
        """An entity or relationship: its claim, the evidence, and its description."""
        passages = self._named(*place, row.text_units)
        if not passages:
            return self.made.leave(*place, "no text unit vouches for it", said[0])
        claim = self._claim(place, *said)
        every, units, supports = self._evidence(claim, passages, place)
        facts = [claim, *units]
        kind = "entity" if place[0] == "entities" else "relationship"
        declared = {"facts": facts, "supports": supports}
        rests = Rests(
            place[0],
            row.row,
            row.number,
            row.id,
            claims=(claim,),
            facts=tuple(facts),
            supports=tuple(supports),
            evidence=tuple(every),
            artefact=self._summary(kind, row.description, declared, place),
            sources=_sources(passages),
            units=_units(passages),
        )
        self.made.aliases.add(rests)
        for subject in subjects:
            self.subjects.setdefault(subject, []).append(rests)

    def _covariate(self, row: Covariate) -> None:
        place = ("covariates", row)
        value, told = self.vocabulary.value, row.description or row.subject
        subject, kind, text = (
            name(value(row.subject)),
            name(value(row.type)),
            value(row.description),
        )
        status = self.vocabulary.status(row.status)
        self.made.statuses[status or "other"] += 1
        if reason := _debris(row, subject, kind, text, status):
            return self.made.leave(*place, reason, told)
        passages = self._named(*place, row.text_units)
        if not passages:
            return self.made.leave(*place, "no text unit vouches for it", told)
        assert status is not None
        self._stated(row, (subject, kind, name(value(row.object)) or None), text, status, passages)

    def _stated(
        self,
        row: Covariate,
        said: tuple[str, str, str | None],
        text: str | None,
        status: Status,
        passages: list[Passage],
    ) -> None:
        """A claim that somebody made: its dates, its quote, and what its status says of it."""
        place = ("covariates", row)
        when = dated(row.start, row.end, self.dates, self.vocabulary)
        self.made.dates[when.how] += 1
        if when.how in ("inverted", "unreadable"):
            reason = f"its dates are {when.how}: {row.start or '-'} to {row.end or '-'}"
            self.made.remarks.append(Remark("covariates", row.row, reason, row.number))
        kind = "hypothesis" if status == "suspected" else "fact"
        claim = self._claim(place, *said, text=text, kind=kind, when=when)
        quote = self.vocabulary.value(row.quote)
        every: list[str] = []
        units: list[str] = []
        supports: list[str] = []
        for passage in passages:
            found = locate(quote, passage.text)
            self.made.quotes[found.grade] += 1
            ids = self._supports(
                claim,
                passage,
                place,
                stance="refutes" if status == "false" else "supports",
                quote=quote,
                where=None if quote is None else str(found),
                observed_at=when.observed_at,
            )
            every += ids
            _depend(passage, ids, units, supports)
        rests = Rests(
            "covariates",
            row.row,
            row.number,
            row.id,
            claims=(claim,),
            # what is suspected or denied is never held: a text about it depends on its evidence
            facts=(claim,) if status == "true" else tuple(units),
            supports=() if status == "true" else tuple(supports),
            evidence=tuple(every),
            sources=_sources(passages),
            units=_units(passages),
        )
        self.made.aliases.add(rests)
        self.subjects.setdefault(said[0], []).append(rests)


def _debris(
    row: Covariate, subject: str, kind: str, text: str | None, status: Status | None
) -> str | None:
    """Why a covariate is no claim: most often it is a piece of one that was split in parsing."""
    if row.type is row.status is row.description is None:
        return "a piece of a record that was split: it has no type, status and description"
    lacks = [word for word, said in (("subject", subject), ("type", kind)) if not said]
    if text is None:
        lacks.append("description")
    if lacks:
        return f"it has no {' and no '.join(lacks)}"
    if status is None:
        return f"its status is {shown(row.status)!r}, which is no status that the vocabulary has"
    return None


def _depend(passage: Passage, evidence: list[str], facts: list[str], supports: list[str]) -> None:
    """What a text that was made from a passage depends on: its evidence as live; or, where several
    documents have the passage and one of them is enough, that the index has it."""
    if len(evidence) == 1:
        supports += evidence
    else:
        facts.append(str(passage.claim["id"]))


def _sources(passages: Iterable[Passage]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.id for p in passages for source in p.sources))


def _units(passages: Iterable[Passage]) -> tuple[str, ...]:
    return tuple(str(passage.claim["id"]) for passage in passages)
