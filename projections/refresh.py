"""What a new version of a source changes: what it still says stays as it is, what it says otherwise
is corrected, what it says no longer is withdrawn from it alone, what it says now is added.

Pure: takes a view at the head and what was extracted, and says what is to be appended, in one
commit. Of the claims nothing is touched that another source has ever supported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError, DuplicateId
from doxa.engine.graph import CLAIM, NONE, SUPPORT, entity
from doxa.engine.insight import keyed
from doxa.engine.texts import Rows
from doxa.engine.view import TruthView
from doxa.projections.extracted import UNNAMED, Content, Extracted, Line
from doxa.projections.told import Statement, Support, Told, located

__all__ = ["Changed", "Part", "Planned", "Turn", "plan"]

Key = tuple[str, str, str, str, int]
E = TypeVar("E", bound=ev.Event)


class Turn(StrEnum):
    """What becomes of one claim."""

    ADDED = "added"
    SUPPORTED = "supported"  # the claim was there already; the source supports it now
    CONFIRMED = "confirmed"  # nothing has changed but the content around it
    CORRECTED = "corrected"
    WITHDRAWN = "withdrawn"  # from this source
    REJECTED = "rejected"  # not recorded: somebody has rejected the value


class Part(StrEnum):
    """What became of one section, or of the source as a whole."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of one claim: of ``claim``, or with ``by``, of it and the one in its place."""

    turn: Turn
    claim: str
    subject: str
    predicate: str
    object: Any
    section: str = ""
    by: str | None = None
    event: str = ""  # the id of the event that changed it

    def as_dict(self) -> dict[str, Any]:
        """What became of the claim, as a JSON object."""
        names = ("claim", "subject", "predicate", "object", "section", "by", "event")
        return {"turn": str(self.turn), **{name: getattr(self, name) for name in names}}


@dataclass
class Planned:
    """What is to be appended, and what it means; ``touched`` are the entities whose evidence
    changes, each with the id of the event that changes it, ``kept_out`` claims that say what was
    rejected."""

    parts: dict[str, Part] = field(default_factory=dict)
    kept: int = 0
    changes: list[Changed] = field(default_factory=list)
    made: list[ev.Event] = field(default_factory=list)
    ended: list[ev.Event] = field(default_factory=list)
    touched: dict[int, str] = field(default_factory=dict)
    kept_out: list[ev.Claim] = field(default_factory=list)

    @property
    def events(self) -> list[ev.Event]:
        """The events of the commit: what is new before what ends."""
        return [*self.made, *self.ended]


class Given(NamedTuple):
    """What a refresh is asked for; ``rejected`` gives the id of what keeps a claim out."""

    source: ev.SourceRef
    workspace: str
    content: Content
    lines: Extracted
    partial: bool = False
    allow_empty: bool = False
    confirm: bool = False
    reason: str | None = None
    rejected: Callable[[ev.Claim], str | None] = lambda claim: None


def plan(view: TruthView, given: Given, rows: Rows) -> Planned:
    """What is to be done. ``view`` is of the workspace alone, at the head; ``rows`` reads stored
    events. O(supports from the source + claims about what it speaks of)."""
    told = Told(view, given.source.id, rows)
    return _Planner(view, given, told).planned()


class _Planner:
    def __init__(self, view: TruthView, given: Given, told: Told) -> None:
        self.view, self.graph, self.belief = view, view.graph, view.belief
        self.given, self.told = given, told
        source = given.source
        if source.origin is None and told.origin is not None:  # one source has one origin
            source = source.model_copy(update={"origin": told.origin})
        self.source = source
        self.about: dict[tuple[str, str], dict[Statement, list[int]]] = {}
        self.result = Planned()

    def planned(self) -> Planned:
        """All of it."""
        scope = self._scope()
        self._not_empty(scope)
        said = [s for s in self.told.supports if s.section in scope]
        wanted = {
            (line.section, line.statement): self._from_origin(line)
            for section in scope
            for line in self.given.lines.get(section, {}).values()
        }
        there = {(s.section, s.statement): s for s in said}
        gone = [s for s in said if (s.section, s.statement) not in wanted]
        fresh = [
            line
            for place, line in wanted.items()
            if place not in there and not self._rejected(line)
        ]
        kept = [there[place] for place in wanted if place in there]
        self.result.kept = len(kept)
        if self.given.confirm:
            for support in kept:
                self._confirm(support)
        self._change(gone, fresh)
        return self.result

    def _from_origin(self, line: Line) -> Line:
        """A claim, from the origin that the source has."""
        ref = line.claim.source
        assert ref is not None, line
        if ref.origin == self.source.origin:
            return line
        ref = ref.model_copy(update={"origin": self.source.origin})
        return line._replace(claim=line.claim.model_copy(update={"source": ref}))

    # -- what is looked at

    def _scope(self) -> set[str]:
        """The sections that have changed, or are gone."""
        content, told, parts = self.given.content, self.told, self.result.parts
        recorded = {support.section for support in told.supports}
        if content.whole is not None:
            if content.whole == told.digest:
                parts[""] = Part.UNCHANGED
                return set()
            parts[""] = Part.REFRESHED
            return recorded | set(self.given.lines)
        for section, digest in content.sections.items():
            same = told.digests.get(section) == digest
            parts[section] = Part.UNCHANGED if same else Part.REFRESHED
        if not self.given.partial:
            for section in sorted(recorded - set(content.sections)):
                parts[section] = Part.VANISHED
        return {section for section, part in parts.items() if part is not Part.UNCHANGED}

    def _not_empty(self, scope: set[str]) -> None:
        """Refuses to withdraw everything because nothing was extracted."""
        if self.given.allow_empty:
            return
        content, lines, source = self.given.content, self.given.lines, self.source.id
        had = {support.section for support in self.told.supports} & scope
        if had and content.whole is None and not content.sections:
            raise CallerError(
                f"no sections of {source!r} are given, and it has some: if they are all gone, say "
                "so with allow_empty; nothing was written"
            )
        silent = sorted(had & set(content.sections) - set(lines))
        if silent or (had and content.whole is not None and not lines):
            where = f"section {silent[0]!r:.80} of {source!r}" if any(silent) else repr(source)
            raise CallerError(
                f"no claims were extracted from {where}, which has some: if it says nothing any "
                "more, say so with allow_empty; nothing was written"
            )

    # -- what is done

    def _rejected(self, line: Line) -> bool:
        """Whether somebody has rejected what a claim says; it is told of then."""
        said, rejection = line.claim, self.given.rejected(line.claim)
        if rejection is None:
            return False
        if not line.named:  # under one id, however often it is tried
            parts = (self.source.id, said.model_dump_json(exclude={"id", "source"}))
            said = said.model_copy(update={"id": keyed("claim", parts)})
        self.result.kept_out.append(said)
        about = said.id, said.subject, said.predicate, said.object
        self.result.changes.append(Changed(Turn.REJECTED, *about, line.section, event=rejection))
        return True

    def _change(self, gone: Sequence[Support], fresh: Sequence[Line]) -> None:
        pairs = self._pairs(gone, fresh)
        ended: dict[int, list[Support]] = {}
        for support in gone:
            ended.setdefault(support.claim, []).append(support)
        placed: dict[Statement, str] = {}  # one claim a statement, whatever the sections
        for line in fresh:
            old = pairs.pop(line.statement, None)
            new = self._place(line, placed, old)
            if old is not None:
                self._correct(old, line, new, ended.pop(old.claim))
        for claim, supports in ended.items():
            for support in supports:
                event = self._withdraw(support, "the source says it no longer")
                self._tell(Turn.WITHDRAWN, claim, support, event)

    def _pairs(self, gone: Sequence[Support], fresh: Sequence[Line]) -> dict[Statement, Support]:
        """What is corrected by which new statement: where the source said one thing, says another
        now, from the same time on, and nobody else has ever said the first."""
        before: dict[Key, set[Statement]] = {}
        after: dict[Key, set[Statement]] = {}
        left = {support.row for support in self.told.supports} - {support.row for support in gone}
        for support in self.told.supports:
            before.setdefault(_key(support.statement), set()).add(support.statement)
            if support.row in left:
                after.setdefault(_key(support.statement), set()).add(support.statement)
        for line in fresh:
            after.setdefault(_key(line.statement), set()).add(line.statement)
        found: dict[Statement, Support] = {}
        for support in gone:
            key = _key(support.statement)
            if len(before[key]) == len(after.get(key, ())) == 1 and self._alone(support):
                (new,) = after[key]
                if new != support.statement:
                    found.setdefault(new, support)
        return found

    def _alone(self, support: Support) -> bool:
        """Whether a claim stands whole, and has never had evidence but that of the source."""
        graph = self.graph
        return self._whole(support.claim) and all(
            graph.s_refutes[s] or graph.s_source[s] == graph.s_source[support.row]
            for s in graph.supports_of(support.claim)
            if graph.s_pos[s] <= self.view.k
        )

    def _whole(self, claim: int) -> bool:
        """Whether nothing of a claim was withdrawn or corrected."""
        record = self.belief.record(claim, self.view.k)
        own = self.belief.own(claim)
        return not times.intersect(own, record.withdrawn) and not times.intersect(
            own, record.superseded
        )

    def _place(self, line: Line, placed: dict[Statement, str], old: Support | None) -> str:
        """Records what is new: a claim, or a support of one that says the same; its id."""
        id = placed.get(line.statement)
        if id is None:
            row = self._equal(line)
            id = None if row is None else self.graph.claim_id(row)
        if id is not None:
            event = self._new(
                ev.Support(
                    id=UNNAMED,
                    workspace=self.given.workspace,
                    claim=id,
                    source=line.claim.source,
                )
            )
            turn, cause = Turn.SUPPORTED, event.id
            self.result.made.append(event)
        else:
            claim = self._named(line)
            self.result.made.append(claim)
            turn, cause, id = Turn.ADDED, claim.id, claim.id
        placed[line.statement] = id
        if old is None:
            said = line.claim
            self.result.changes.append(
                Changed(
                    turn, id, said.subject, said.predicate, said.object, line.section, event=cause
                )
            )
        return id

    def _equal(self, line: Line) -> int | None:
        """A claim that says the same, stands whole, and is no conclusion."""
        graph = self.graph
        for row in self._saying(line.statement):
            carried = graph.c_carried[row]
            if self._whole(row) and (carried == NONE or graph.s_source[carried] != NONE):
                return row
        return None

    def _saying(self, statement: Statement) -> Sequence[int]:
        """The claims of the workspace that say something, in log order."""
        about = statement.subject, statement.predicate
        found = self.about.get(about)
        if found is None:
            found = self.about[about] = {}
            codes = [self.graph.names.find(name) for name in about]
            rows = [] if NONE in codes else [*self.graph.claims_about(codes[0], codes[1])]
            for row in reversed(rows):
                if self._in_place(row):
                    found.setdefault(self._said(row), []).append(row)
        return found.get(statement, ())

    def _in_place(self, row: int) -> bool:
        graph = self.graph
        return (
            graph.c_pos[row] <= self.view.k
            and graph.names.texts[graph.c_ws[row]] == self.given.workspace
        )

    def _said(self, row: int) -> Statement:
        graph, texts = self.graph, self.graph.names.texts
        return Statement(
            texts[graph.c_subject[row]],
            texts[graph.c_predicate[row]],
            self.belief.object_key(row),
            texts[graph.c_perspective[row]],
            texts[graph.c_kind[row]],
            *self.belief.own(row),
        )

    def _named(self, line: Line) -> ev.Claim:
        """A new claim, under the id that it brings if that is free."""
        claim, graph = line.claim, self.graph
        found = graph.find(self.given.workspace, claim.id) if line.named else NONE
        if line.named and found == NONE:
            return claim
        if found != NONE and (found & 7 != CLAIM or self._said(found >> 3) != line.statement):
            raise DuplicateId(
                f"the id {claim.id!r} is taken by something that says otherwise; a refresh finds "
                "claims by what they say: leave the ids out, or give one to each statement"
            )
        return self._new(claim)

    def _correct(self, old: Support, line: Line, by: str, supports: Iterable[Support]) -> None:
        low, high = self.belief.own(old.claim)
        id = self.graph.claim_id(old.claim)
        correction = self._new(
            ev.Correction(
                id=UNNAMED,
                workspace=self.given.workspace,
                corrects=id,
                by=by,
                valid_from=low,
                valid_to=high,
                source=line.claim.source,
                reason=self.given.reason or "the source says otherwise now",
            )
        )
        self.result.ended.append(correction)
        for support in supports:
            self._withdraw(support, "the source says otherwise now")
        self.result.touched[entity(CLAIM, old.claim)] = correction.id
        self._tell(Turn.CORRECTED, old.claim, old, correction.id, by)

    def _withdraw(self, support: Support, reason: str) -> str:
        """Takes a support back; the id of the withdrawal."""
        section = support.section
        asked = self._at(section)
        target = self.graph.id_of(entity(SUPPORT, support.row))
        withdrawal = self._new(
            ev.Withdrawal(
                id=UNNAMED,
                workspace=self.given.workspace,
                target=target,
                reason=self.given.reason or reason,
                asked_by=asked,
            )
        )
        self.result.ended.append(withdrawal)
        self.result.touched[entity(SUPPORT, support.row)] = withdrawal.id
        self.result.touched.setdefault(entity(CLAIM, support.claim), withdrawal.id)
        return withdrawal.id

    def _at(self, section: str) -> ev.SourceRef:
        """The source, at a section, with the content that it has now."""
        place = {
            "locator": located(self.source.id, section),
            "digest": self.given.content.of(section),
        }
        return self.source.model_copy(update=place)

    def _confirm(self, support: Support) -> None:
        """Records that the new content says it too."""
        digest = self.given.content.of(support.section)
        if support.digest == digest:
            return
        id = self.graph.claim_id(support.claim)
        source = self._at(support.section)
        event = self._new(
            ev.Support(id=UNNAMED, workspace=self.given.workspace, claim=id, source=source)
        )
        self.result.made.append(event)
        self._tell(Turn.CONFIRMED, support.claim, support, event.id)

    def _tell(
        self, turn: Turn, claim: int, support: Support, event: str, by: str | None = None
    ) -> None:
        graph, said = self.graph, support.statement
        self.result.changes.append(
            Changed(
                turn,
                graph.claim_id(claim),
                said.subject,
                said.predicate,
                graph.c_object[claim],
                support.section,
                by,
                event,
            )
        )

    def _new(self, event: E) -> E:
        """An event under an id that is new at this revision, and the same whenever the same is
        planned at it: two that refresh at once with one content do one thing."""
        said = event.model_dump_json(exclude={"id"})
        return event.model_copy(update={"id": keyed(event.TYPE, (said, f"at {self.view.k}"))})


def _key(statement: Statement) -> Key:
    """What two statements have in common of which one corrects the other."""
    return (
        statement.subject,
        statement.predicate,
        statement.perspective,
        statement.kind,
        statement.valid_from,
    )
