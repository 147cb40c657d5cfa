"""Community reports: what each rests on, through its citations and the reports below it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from doxa.adapters.carrying import key
from doxa.adapters.graphrag.aliases import Rests
from doxa.adapters.graphrag.cells import shown
from doxa.adapters.graphrag.citations import Cited, citations
from doxa.adapters.graphrag.dates import ASSUMED
from doxa.adapters.graphrag.naming import Naming, claim_id, digest_of
from doxa.adapters.graphrag.rows import Community, Report
from doxa.adapters.graphrag.tables import Remark, Tables
from doxa.adapters.graphrag.words import REPORTS, Vocabulary, name

if TYPE_CHECKING:
    from doxa.adapters.graphrag.mapping import Mapped

__all__ = ["Read", "map_reports"]

BASIS: Final = "report_basis"  # the kind of claims that stand for many
_PART: Final = 8_000  # claims that one of them stands for
_ROOM: Final = 700_000  # bytes that the ids of one report may take; an event has a limit


@dataclass(slots=True)
class Read:
    """What became of one report's citations.

    ``own`` are the rows that it cites, ``below`` the numbers of the reports; ``whole`` says why it
    is bound to its whole community as well, and is empty where its citations are all that it rests
    on; ``outside`` counts rows that are none of the community's.
    """

    report: Report
    own: list[Rests] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    resolved: int = 0
    outside: int = 0
    unresolved: list[Remark] = field(default_factory=list)
    coarse: bool = False


def map_reports(
    tables: Tables,
    naming: Naming,
    vocabulary: Vocabulary,
    subjects: Mapping[str, list[Rests]],
    made: Mapped,
) -> None:
    """Registers the reports as summaries. O(what the reports reach, for each)."""
    if tables.community_reports:
        _Reports(tables, naming, vocabulary, subjects, made).map()


class _Reports:
    def __init__(
        self,
        tables: Tables,
        naming: Naming,
        vocabulary: Vocabulary,
        subjects: Mapping[str, list[Rests]],
        made: Mapped,
    ) -> None:
        self.tables, self.naming, self.vocabulary, self.made = tables, naming, vocabulary, made
        self.subjects = subjects
        self.communities: dict[int, list[Community]] = {}
        for community in tables.communities:
            if community.number is not None:
                self.communities.setdefault(community.number, []).append(community)
        self.places: dict[int, list[Rests]] = {}  # of 0.x: a community's entities
        for entity in tables.entities:
            for place in entity.places:
                found = made.aliases.of("entities", row=entity.row)
                self.places.setdefault(place, []).extend(found)
        self._titles = {entity.row: name(entity.title) for entity in tables.entities}
        self._parts: dict[int, list[int]] = {}  # a community → those that name it as their parent
        for community in tables.communities:
            if community.number is not None and community.parent is not None:
                self._parts.setdefault(community.parent, []).append(community.number)
        said = [(report.number, self._says(report)) for report in tables.community_reports]
        self._numbers = {number for number, says in said if says}
        self._silent = {number for number, _ in said} - self._numbers
        self._members: dict[int, dict[tuple[str, int], Rests]] = {}
        self.read: dict[int, list[Read]] = {}

    def map(self) -> None:
        every: list[Read] = []
        idle: list[Read] = []
        for report in self.tables.community_reports:
            if not self._says(report):
                self.made.leave(REPORTS, report, "it has no text", report.title)
                continue
            read = self._read(report)
            every.append(read)
            if report.number is not None:
                self.read.setdefault(report.number, []).append(read)
        for read in every:
            if not any(one.own or one.whole for one in self._with_below(read)):
                idle.append(read)
        for read in idle:  # they only cite each other
            read.whole.append("it cites nothing but reports that do so too")
        for read in every:
            self._register(read)
        self.made.reports = every

    def _says(self, report: Report) -> bool:
        return not self.vocabulary.nothing(report.text)

    # -- citations

    def _read(self, report: Report) -> Read:
        """Resolves what a report cites itself."""
        read = Read(report)
        members = self._community(report.number)
        cut = False
        for cited in citations(report.text or "", self.vocabulary):
            cut |= cited.more
            self._resolve(cited, read, members)
        if cut:
            read.whole.append("its lists are cut (+more)")
        if not read.own and not read.below and not read.unresolved:
            read.whole.append("it cites nothing")
        if read.unresolved:
            read.whole.append("not all that it cites can be resolved")
        if 2 * read.outside > read.resolved - len(read.below) and members:
            read.whole.append("most of what it cites is no part of its community")
        return read

    def _resolve(self, cited: Cited, read: Read, members: Mapping[tuple[str, int], Rests]) -> None:
        def missed(what: object, reason: str) -> None:
            said = f"{cited.word} ({what})" if what != "" else cited.word
            report = read.report
            found = Remark(REPORTS, report.row, reason, report.number, shown(said))
            read.unresolved.append(found)

        if cited.table is None:
            said = ", ".join([*map(str, cited.numbers), *cited.odd])
            return missed(said, "cites a table that no index has")
        for odd in cited.odd:
            missed(odd, "cites what is no number of a row")
        if not cited.numbers and not cited.odd and not cited.more:
            missed("", "cites a table and no row of it")
        for number in cited.numbers:
            if cited.table == REPORTS:
                if number in self._numbers:
                    read.below.append(number)
                    read.resolved += 1
                elif number in self._silent:
                    missed(number, "cites a report that was set aside: it has no text")
                else:
                    missed(number, "cites a report that is not there")
                continue
            rows = self.made.aliases.of(cited.table, number=number)
            carried = [rests for rests in rows if rests.reason is None]
            if not carried:
                missed(number, self._why(cited.table, number, rows))
                continue
            read.own += carried
            read.resolved += 1
            if cited.table in _MEMBERS and not any(self._within(r, members) for r in carried):
                read.outside += 1

    def _within(self, rests: Rests, members: Mapping[tuple[str, int], Rests]) -> bool:
        """Whether a row is a community's: a relationship is with one of its ends, too."""
        if (rests.table, rests.row) in members:
            return True
        if rests.table != "relationships":
            return False
        row = self.tables.relationships[rests.row]
        ends = (one for end in (row.source, row.target) for one in self.subjects.get(name(end), ()))
        return any((one.table, one.row) in members for one in ends)

    def _why(self, table: str, number: int, rows: Iterable[Rests]) -> str:
        for rests in rows:
            return f"cites a row of {table} that was set aside: {rests.reason}"
        others = [
            other
            for other in _MEMBERS
            if other != table and self.made.aliases.of(other, number=number)
        ]
        hint = f"; {' and '.join(others)} has one" if others else ""
        return f"cites a row that {table} does not have{hint}"

    # -- communities

    def _community(self, number: int | None) -> dict[tuple[str, int], Rests]:
        """All that a community holds, with those below it."""
        if number is None:
            return {}
        if number not in self._members:
            found: dict[tuple[str, int], Rests] = {}
            for below in _reached(number, self._children):
                for rests in self._direct(below):
                    if rests.reason is None:
                        found[rests.table, rests.row] = rests
            self._members[number] = found
        return self._members[number]

    def _children(self, number: int) -> Iterator[int]:
        for community in self.communities.get(number, ()):
            yield from community.children
        yield from self._parts.get(number, ())  # not all versions say both

    def _direct(self, number: int) -> Iterator[Rests]:
        """A community's entities, the claims about them, and its relationships."""
        named = self.made.aliases.of
        entities = list(self.places.get(number, ()))
        for community in self.communities.get(number, ()):
            for id in community.entities:
                entities += named("entities", id=id)
            for id in community.relationships:
                yield from named("relationships", id=id)
        yield from entities
        for entity in entities:
            yield from self.subjects.get(self._titles.get(entity.row, ""), ())

    # -- what it comes to

    def _register(self, read: Read) -> None:
        report = read.report
        rests = self._rests_on(read)
        facts, supports = _declared(rests.values())
        if not facts and not supports:
            reason = "nothing in the index vouches for it"
            return self.made.leave(REPORTS, report, reason, report.title)
        if len(json.dumps([facts, supports])) > _ROOM:
            # the passages in place of each piece of evidence: never less, but in fewer words
            read.coarse = True
            facts, supports = _coarsely(rests.values())
            if len(json.dumps(facts)) > _ROOM:
                facts = [self._together(report, part) for part in _parts(facts)]
        id = self.naming.summary("report", report.text, facts, supports)
        fields = {"event": "summary", "id": id, "text": report.text}
        self.made.put({**fields, "facts": facts, "supports": supports}, REPORTS, report)
        self.made.aliases.add(
            Rests(
                REPORTS,
                report.row,
                report.number,
                report.id,
                facts=tuple(facts),
                supports=tuple(supports),
                artefact=id,
                sources=tuple(dict.fromkeys(s for one in rests.values() for s in one.sources)),
                units=tuple(dict.fromkeys(u for one in rests.values() for u in one.units)),
            )
        )

    def _together(self, report: Report, facts: tuple[str, ...]) -> str:
        """A claim that is held while all of these are: one id in place of thousands."""
        subject = f"report {digest_of(report.text or '').removeprefix('sha256:')[:16]}"
        said = {"subject": subject, "predicate": "RESTS_ON", "object": key(*facts), "kind": BASIS}
        id = claim_id(*said.values(), ASSUMED)
        event = {"event": "claim", "id": id, **said, "because": list(facts), "assumed": ASSUMED}
        return self.made.put(event, REPORTS, report)

    def _rests_on(self, read: Read) -> dict[tuple[str, int], Rests]:
        """All rows that a report rests on, through the reports that it cites."""
        found: dict[tuple[str, int], Rests] = {}
        for one in self._with_below(read):
            for rests in one.own:
                found[rests.table, rests.row] = rests
            if one.whole:
                whole = self._community(one.report.number)
                if not whole:  # unknown: then the whole index
                    one.whole[:] = dict.fromkeys([*one.whole, "its community is not known"])
                    whole = self._everything()
                found.update(whole)
        return found

    def _with_below(self, read: Read) -> Iterator[Read]:
        yield read
        for number in _reached_all(read.below, self._below):
            yield from self.read.get(number, ())

    def _below(self, number: int) -> Iterator[int]:
        for read in self.read.get(number, ()):
            yield from read.below

    def _everything(self) -> dict[tuple[str, int], Rests]:
        """The passages of the index."""
        return {
            (rests.table, rests.row): rests
            for rests in self.made.aliases
            if rests.table == "text_units" and rests.reason is None
        }


_MEMBERS: Final = ("entities", "relationships", "covariates")


def _reached(start: int, following: Callable[[int], Iterable[int]]) -> Iterator[int]:
    return _reached_all([start], following)


def _reached_all(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> Iterator[int]:
    """All that is reached, each once; rings end."""
    seen: set[int] = set()
    waiting = list(starts)
    while waiting:
        number = waiting.pop()
        if number not in seen:
            seen.add(number)
            yield number
            waiting += following(number)


def _declared(rows: Iterable[Rests]) -> tuple[list[str], list[str]]:
    facts: set[str] = set()
    supports: set[str] = set()
    for rests in rows:
        facts.update(rests.facts)
        supports.update(rests.supports)
    return sorted(facts), sorted(supports)


def _parts(facts: list[str]) -> Iterator[tuple[str, ...]]:
    left = iter(facts)
    while part := tuple(islice(left, _PART)):
        yield part


def _coarsely(rows: Iterable[Rests]) -> tuple[list[str], list[str]]:
    facts: set[str] = set()
    supports: set[str] = set()
    for rests in rows:
        facts.update(rests.facts, rests.units)
        if not set(rests.claims) <= set(rests.facts):  # suspected or denied
            supports.update(rests.supports)
    return sorted(facts), sorted(supports)
