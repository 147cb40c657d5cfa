"""Which candidates may be served at a view, and what each of them rests on.

Every candidate is judged, before anything is ranked. Most rest on claims alone, or are a registered
summary that does: those are judged in few steps, all others closely. Both ways come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final, NamedTuple, cast

from doxa.engine.belief import HELD, Standing
from doxa.engine.candidates import Given, Omission, Unread, as_omission
from doxa.engine.eligibility import (
    NOTHING,
    Item,
    Judge,
    Missing,
    Problem,
    as_item,
    first_of,
    name_of,
    once,
)
from doxa.engine.events import Ref
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity
from doxa.engine.registry import Reason
from doxa.engine.view import Id

__all__ = ["judged"]

_HELD = (Standing.REPORTED, Standing.CORROBORATED, Standing.CONTESTED)  # in no time, unlike a set
assert {*_HELD} == HELD
_CONTESTED = Standing.CONTESTED
_DONE: Final = (Item, Omission)
PAGE: Final = 1_000  # candidates whose registered texts are read at once


def judged(judge: Judge, given: Iterable[Given | Unread]) -> Iterator[Item | Omission]:
    """Each candidate with what it rests on, or the first reason why it may not be served.

    What they name is looked up, and the registered texts that they need are read, a page of
    candidates at a time.
    """
    left = iter(given)
    while some := list(islice(left, PAGE)):
        page = _begun(judge, some)
        begun = [one for one in page if not isinstance(one, _DONE)]
        judge.texts.expect(chain.from_iterable(one.registered() for one in begun))
        for one in page:
            yield one if isinstance(one, _DONE) else one.outcome()


def _begun(
    judge: Judge, given: Iterable[Given | Unread]
) -> list[Item | Omission | _Summary | _Close]:
    """What becomes of candidates, as far as can be told without registered texts."""
    named: list[str | Ref] = []
    claims: list[int] = []
    begun: list[Given | Unread | _Summary] = []
    for one in given:
        if isinstance(one, Given):
            named += one.facts
            if one.artefact is not None and (summary := _summary(judge, one)) is not None:
                claims += summary.facts
                begun.append(summary)
                continue
        begun.append(one)
    judge.look_up(named, claims)
    page: list[Item | Omission | _Summary | _Close] = []
    for each in begun:
        if isinstance(each, Given):
            page.append(_plain(judge, each) or _Close(judge, each))
        elif isinstance(each, _Summary):
            page.append(each.judged() or _Close(judge, each.given))
        else:
            reason = Reason.INVALID_ANNOTATION if each.declares else Reason.MISSING_ANNOTATION
            page.append(Omission(each.id, reason, each.detail))
    return page


# ------------------------------------------------------------ in few steps


def _plain(judge: Judge, given: Given) -> Item | Omission | None:
    """What becomes of a text that rests on claims alone, each of them in sight; ``None`` for all
    others."""
    id, text, facts, supports, citations, sources, score, artefact, workspace = given
    if artefact is not None or supports or citations or sources or workspace is not None:
        return None
    if text is None or not facts:
        return None
    claims, missing, contested = [], None, False
    row_of, standing_of = judge.claims, judge.standings
    for fact in facts:
        claim = row_of.get(fact, NONE)  # type: ignore[arg-type]  # a `Ref` is no plain id
        if claim == NONE:
            return None
        standing = standing_of[claim]
        if standing not in _HELD:
            missing = missing or (fact, standing)
        elif standing is _CONTESTED:
            contested = True
        claims.append(claim)
    if missing is not None:
        about, standing = missing
        detail = f"{about!r} is {standing}"
        return as_omission((id, Reason.MISSING_FACT, detail, about, standing))
    if judge.hidden and any(entity(CLAIM, claim) in judge.hidden for claim in claims):
        return None
    rests = (claim,) if len(claims) == 1 else once(claims)
    torn = judge.contested_of(rests) if contested else ()
    return as_item((id, "", score, text, rests, (), (), (), (), NOTHING, torn))


def _summary(judge: Judge, given: Given) -> _Summary | None:
    _, _, _, supports, citations, sources, _, artefact, workspace = given
    if artefact is None or supports or citations or sources or workspace is not None:
        return None
    found = judge.plain_summary(artefact)
    return None if found is None else _as_summary((judge, given, *found))


class _Summary(NamedTuple):
    """A candidate that is a registered summary, which rests on claims in sight alone."""

    judge: Judge
    given: Given
    row: int
    facts: Sequence[int]

    def judged(self) -> _Summary | Omission | None:
        """Itself where it is held throughout; ``None`` where it is to be looked at closely."""
        judge, given, row, facts = self
        standing_of, row_of, missing = judge.standings, judge.claims, NONE
        for claim in facts:
            if standing_of[claim] not in _HELD:
                missing = claim
                break
        for fact in given.facts:
            claim = row_of.get(fact, NONE)  # type: ignore[arg-type]  # as in `_plain`
            if claim == NONE or (missing == NONE and standing_of[claim] not in _HELD):
                return None
        if missing == NONE and judge.hidden:
            named = [
                entity(ARTEFACT, row),
                *(entity(CLAIM, judge.claim(fact)) for fact in given.facts),
            ]
            if any(number in judge.hidden for number in named):
                return None
        if missing == NONE:
            return self if judge.counts(row) else None
        about, standing = judge.graph.claim_id(missing), standing_of[missing]
        assert given.artefact is not None, given
        detail = f"registered {name_of(given.artefact)!r} rests on {about!r} ({standing})"
        return as_omission((given.id, Reason.MISSING_FACT, detail, about, standing))

    def registered(self) -> Sequence[int]:
        """The artefacts whose texts it needs."""
        return (self.row,)

    def outcome(self) -> Item | Omission:
        judge, given, row, facts = self
        text = judge.texts.artefact(row)
        if text is None or not (given.text is None or given.text == text):
            return _Close(judge, given).outcome()
        rests = once([*facts, *map(judge.claim, given.facts)])
        workspace, torn = judge.workspaces[judge.graph.a_ws[row]], judge.contested_of(rests)
        return as_item(
            (given.id, workspace, given.score, text, rests, (), (), (), (row,), NOTHING, torn)
        )


# from a tuple of all fields, in half the time
_as_summary = cast("Callable[[tuple[Any, ...]], _Summary]", partial(tuple.__new__, _Summary))


# ------------------------------------------------------------ closely


class _Close:
    """One candidate, looked at closely: the rows that it declares, and the problems found."""

    def __init__(self, judge: Judge, given: Given) -> None:
        self.judge, self.given = judge, given
        self.problems: list[Problem] = []
        self.facts: list[int] = []
        self.supports: list[int] = []
        self.sources: list[int] = []
        self.citations: list[int] = []
        self.artefact = NONE  # the registered summary that it is, if it is one
        self.unknown: list[Problem] = []  # citations that are, a problem after all others
        self.places = judge.places(given.workspace)
        if self.places is None:
            detail = f"workspace {given.workspace!r} is out of the view's sight"
            self.problems.append(Problem(Reason.WRONG_WORKSPACE, detail))
        else:
            self._find_registered(self.places)

    def registered(self) -> list[int]:
        """The artefacts that it names, as far as the view may know them."""
        pos, k = self.judge.graph.a_pos, self.judge.view.k
        rows = (self.artefact, *self.citations)
        return [row for row in rows if row != NONE and pos[row] <= k]

    def outcome(self) -> Item | Omission:
        given = self.given
        if self.places is not None:
            self._look_up(self.places)
        problem = first_of(self.problems)
        if problem is not None:
            return Omission(given.id, *problem)
        return self._item()

    def _look_up(self, places: Sequence[str]) -> None:
        given, judge = self.given, self.judge
        if self.artefact != NONE:
            self._note(judge.artefact(self.artefact, given.text))
        for id in given.facts:
            self._fact(id, places)
        for id in given.supports:
            self._support(id, places)
        for name in given.sources:
            self._source(name, places)
        for row in self.citations:
            self._note(judge.citation(row))
        self.problems += self.unknown
        if judge.hidden:
            self._note_hidden()

    def _note_hidden(self) -> None:
        """What of all that it names itself is archived. What a registered text declares may be: it
        still supports that."""
        graph = self.judge.graph
        named = [
            *(entity(ARTEFACT, row) for row in (self.artefact, *self.citations) if row != NONE),
            *(entity(CLAIM, row) for row in self.facts),
            *(entity(CLAIM, graph.s_claim[support]) for support in self.supports),
        ]
        for number in named:
            if number in self.judge.hidden:
                id = graph.id_of(number)
                detail = f"{id!r} is archived; restore it, or ask with archived=True"
                self.problems.append(Problem(Reason.ARCHIVED, detail, id))

    def _note(self, problem: Problem | None) -> None:
        if problem is not None:
            self.problems.append(problem)

    def _found(self, id: Id, kind: int, places: Sequence[str], upto: int) -> int:
        try:
            return self.judge.find(id, kind, places, upto)
        except Missing as missing:
            unknown = missing.reason is Reason.MISSING_FACT
            standing = missing.standing if unknown else None
            self.problems.append(Problem(missing.reason, str(missing), name_of(id), standing))
            return NONE

    def _find_registered(self, places: Sequence[str]) -> None:
        given, horizon = self.given, self.judge.view.horizon
        if given.artefact is not None:
            self.artefact = self._found(given.artefact, ARTEFACT, places, horizon)
        elif given.facts or given.supports or given.citations or given.sources:
            if given.text is None:
                self.problems.append(Problem(Reason.INVALID_ANNOTATION, "text is missing"))
        else:
            self.artefact = self._found(given.id, ARTEFACT, places, horizon)
            if self.problems and self.problems[-1].reason is Reason.UNKNOWN_ARTIFACT:
                detail = "declares no facts, supports, citations or sources that it rests on"
                self.problems[-1] = Problem(Reason.MISSING_ANNOTATION, detail)
        before, self.problems = self.problems, []
        for id in given.citations:
            row = self._found(id, ARTEFACT, places, horizon)
            if row != NONE:
                self.citations.append(row)
        self.problems, self.unknown = before, self.problems

    def _fact(self, id: Id, places: Sequence[str]) -> None:
        judge = self.judge
        row = judge.claim(id) if self.given.workspace is None else NONE
        if row != NONE:
            standing = judge.standing(row)
        else:
            row = self._found(id, CLAIM, places, judge.view.k)
            if row == NONE:
                return
            in_sight = judge.view.in_sight(row)
            standing = judge.standing(row) if in_sight else Standing.NOT_YET_KNOWN
        if standing not in _HELD:
            detail = f"{name_of(id)!r} is {standing}"
            self.problems.append(Problem(Reason.MISSING_FACT, detail, name_of(id), standing))
        self.facts.append(row)

    def _support(self, id: Id, places: Sequence[str]) -> None:
        view = self.judge.view
        row = self._found(id, SUPPORT, places, view.k)
        if row == NONE:
            return
        claim = view.graph.s_claim[row]
        if not view.belief.live(row, view.v, view.k):
            detail = f"{name_of(id)!r} is not live"
            self.problems.append(Problem(Reason.MISSING_SUPPORT, detail, name_of(id)))
        elif entity(SUPPORT, row) in view.graph.erased:
            detail = f"{name_of(id)!r} was erased"
            self.problems.append(Problem(Reason.MISSING_SUPPORT, detail, name_of(id)))
        elif not view.in_sight(claim):
            unknown, about = Standing.NOT_YET_KNOWN, view.graph.claim_id(claim)
            detail = f"{about!r}, which {name_of(id)!r} is about, is {unknown} here"
            self.problems.append(Problem(Reason.MISSING_FACT, detail, about, unknown))
        self.supports.append(row)

    def _source(self, name: str, places: Sequence[str]) -> None:
        view = self.judge.view
        try:
            rows = self.judge.source_rows(name, places)
        except Missing as missing:
            self.problems.append(Problem(missing.reason, str(missing), name))
            return
        if not all(view.belief.source_live(row, view.v, view.k) for row in rows):
            detail = f"the source {name!r} is withdrawn"
            self.problems.append(Problem(Reason.MISSING_SUPPORT, detail, name))
        self.sources += rows

    def _item(self) -> Item:
        given, judge, row = self.given, self.judge, self.artefact
        text, workspace = given.text, given.workspace or ""
        facts, supports, sources = self.facts, self.supports, self.sources
        citations = self.citations
        if row != NONE:
            graph = judge.graph
            text, workspace = judge.texts.artefact(row), judge.workspaces[graph.a_ws[row]]
            facts, supports = [*graph.a_facts[row], *facts], [*graph.a_supports[row], *supports]
            sources = [*graph.a_sources[row], *sources]
            citations = [*graph.a_citations[row], *citations]
        assert text is not None, given
        cited = once(citations)
        item = Item(
            given.id,
            workspace,
            given.score,
            text,
            once(facts),
            once(supports),
            once(sources),
            cited,
            () if row == NONE else (row,),
            judge.declared_by(cited),
        )
        contested = judge.contested(item)
        return item._replace(contested=contested) if contested else item
