"""Which candidates may be served at a view, and what each of them rests on.

Every candidate is judged, before anything is ranked; of several reasons against one, the first in
the order of `Reason` counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from doxa.engine.belief import HELD, Standing
from doxa.engine.candidates import Candidate, LeftOut, Unread
from doxa.engine.events import Ref
from doxa.engine.graph import ARTEFACT, CLAIM, KINDS, NONE, SUPPORT
from doxa.engine.registry import Reason, Registry
from doxa.engine.texts import Texts
from doxa.engine.view import Id, TruthView

__all__ = ["Cited", "Item", "Judge"]

_ORDER = {reason: place for place, reason in enumerate(Reason)}


class Cited(NamedTuple):
    """The rows that a set of artefacts declares."""

    facts: tuple[int, ...] = ()
    supports: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


_NOTHING = Cited()


class Item(NamedTuple):
    """An eligible candidate, in rows of the graph: what it declares, and what that declares."""

    id: str
    workspace: str
    score: float
    text: str
    facts: tuple[int, ...]
    supports: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    citations: tuple[int, ...] = ()
    artefacts: tuple[int, ...] = ()  # the registered summary that it is, if it is one
    cited: Cited = _NOTHING  # what its citations declare
    contested: tuple[int, ...] = ()  # the claims that it reaches and that are, in log order

    @property
    def key(self) -> tuple[float, str, str]:
        """Its place in the ranking: the higher score first, then the id."""
        return (-self.score, self.id, self.workspace)


_HELD = (Standing.REPORTED, Standing.CORROBORATED, Standing.CONTESTED)  # in no time, unlike a set
assert {*_HELD} == HELD
_CONTESTED = Standing.CONTESTED
PAGE: Final = 1_000  # candidates whose registered texts are read at once


class _Problem(NamedTuple):
    reason: Reason
    detail: str
    about: str | None = None
    standing: Standing | None = None


class _Missing(Exception):
    """An id that names nothing that a candidate may rest on here."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Judge:
    """Judges candidates and registered summaries against one view."""

    def __init__(self, registry: Registry, view: TruthView, texts: Texts) -> None:
        self.registry, self.view, self.texts = registry, view, texts
        self.graph, self.belief = view.graph, view.belief
        self._places = tuple(
            dict.fromkeys((view.workspace, "") if view.shared else (view.workspace,))
        )
        codes = {self.graph.names.find(place): place for place in self._places}
        self.workspaces = {code: place for code, place in codes.items() if code != NONE}
        self._citations: dict[int, _Problem | None] = {}
        self._standings: dict[int, Standing] = {}

    def summaries(self) -> Iterator[Candidate]:
        """The registered summaries in sight, as candidates of their own."""
        graph = self.graph
        for row in self.registry.in_sight(self.view):
            if graph.a_summary[row]:
                id = graph.artefact_id(row)
                yield Candidate(id, artefact=Ref(self.workspaces[graph.a_ws[row]], id))

    def all(self, given: Iterable[Candidate | Unread]) -> Iterator[Item | LeftOut]:
        """Each candidate with what it rests on, or the first reason why it may not be served.

        The registered texts that they need are read a page of candidates at a time.
        """
        left = iter(given)
        while page := [self._begun(one) for one in islice(left, PAGE)]:
            begun = [one for one in page if isinstance(one, _Judged)]
            self.texts.expect(chain.from_iterable(one.registered() for one in begun))
            yield from (one.outcome() if isinstance(one, _Judged) else one for one in page)

    def _begun(self, given: Candidate | Unread) -> Item | LeftOut | _Judged:
        if isinstance(given, Unread):
            reason = Reason.INVALID_ANNOTATION if given.declares else Reason.MISSING_ANNOTATION
            return LeftOut(given.id, reason, given.detail)
        return self._plain(given) or _Judged(self, given)

    def _plain(self, given: Candidate) -> Item | None:
        """The item of a text that rests on claims alone, each of them held, as most do. ``None``
        for all others, which are to be looked at closely."""
        if (
            not given.facts
            or given.text is None
            or given.artefact is not None
            or given.workspace is not None
            or given.supports
            or given.citations
            or given.sources
        ):
            return None
        facts, contested = [], False
        for id in given.facts:
            row = self.claim(id)
            if row == NONE:
                return None
            standing = self.standing(row)
            if standing not in _HELD:
                return None
            facts.append(row)
            contested = contested or standing is _CONTESTED
        item = Item(given.id, "", given.score, given.text, _once(facts))
        return item._replace(contested=self.contested(item)) if contested else item

    def claim(self, id: Id) -> int:
        """The row of the claim in sight that a plain id means, or NONE."""
        if not isinstance(id, str):
            return NONE
        graph, k = self.graph, self.view.k
        for workspace in self.workspaces:
            number = graph.ids.find(workspace, id)
            if number != NONE and number & 7 == CLAIM:
                row = number >> 3
                if graph.c_pos[row] <= k:
                    return row if self.view.perspective is None or self._in_sight(row) else NONE
        return NONE

    def _in_sight(self, claim: int) -> bool:
        """As the view says; for most claims in no time."""
        view, graph = self.view, self.graph
        if view.perspective is not None or graph.c_ws[claim] not in self.workspaces:
            return view.in_sight(claim)
        return graph.c_pos[claim] <= view.k

    def contested(self, item: Item) -> tuple[int, ...]:
        """The contested claims that an item reaches, directly or through its citations."""
        claim_of, standing, cited = self.graph.s_claim, self.standing, item.cited
        found = [c for c in item.facts if standing(c) is _CONTESTED]
        if item.supports or item.citations:
            reached = {claim_of[support] for support in (*item.supports, *cited.supports)}
            reached.update(cited.facts)
            found += [c for c in reached if standing(c) is _CONTESTED]
        return tuple(sorted(set(found))) if found else ()

    def standing(self, claim: int) -> Standing:
        """The standing of a claim row at the view, in its sight or not."""
        found = self._standings.get(claim)
        if found is None:
            found = self.belief.standing(claim, self.view.v, self.view.k)
            self._standings[claim] = found
        return found

    def places(self, workspace: str | None) -> tuple[str, ...] | None:
        """Where plain ids are looked up, or ``None`` where that is out of sight."""
        if workspace is None:
            return self._places
        return (workspace,) if workspace in self._places else None

    def find(self, id: Id, kind: int, places: Sequence[str], upto: int) -> int:
        """The row that an id means, recorded up to a position. Raises `_Missing`."""
        if isinstance(id, Ref):
            if id.workspace not in self._places:
                raise _Missing(
                    Reason.WRONG_WORKSPACE, f"workspace {id.workspace!r} is out of the view's sight"
                )
            places, id = (id.workspace,), id.id
        assert isinstance(id, str), id
        first = self.graph.find(places[0], id)
        if first != NONE and first & 7 == kind and self.graph.position_of(first) <= self.view.k:
            return first >> 3
        found = self._rows(id, places, upto)
        meant = [number for number in found if number & 7 == kind]
        if meant:
            known = self.graph.position_of
            return min(meant, key=lambda number: known(number) > self.view.k) >> 3
        if found:
            other = KINDS[found[0] & 7]
            raise _Missing(_UNKNOWN[kind], f"{id!r} is a {other}, not a {KINDS[kind]}")
        names = self.graph.names.texts
        workspaces = [names[ws] for ws in list(self.graph.revisions)]
        elsewhere = [name for name in workspaces if name not in self._places]
        if any(number & 7 == kind for number in self._rows(id, elsewhere, upto)):
            raise _Missing(Reason.WRONG_WORKSPACE, f"{id!r} is out of the view's sight")
        raise _Missing(_UNKNOWN[kind], f"{id!r} is not known at revision {self.view.k}")

    def _rows(self, id: str, places: Iterable[str], upto: int) -> list[int]:
        graph = self.graph
        numbers = (graph.find(place, id) for place in places)
        return [n for n in numbers if n != NONE and graph.position_of(n) <= upto]

    def source_rows(self, name: str, places: Sequence[str]) -> list[int]:
        """The rows of a source that evidence names by the view. Raises `_Missing`."""
        graph = self.graph
        rows = graph.sources_named.get(graph.names.find(name))
        places = (*places, "") if "" in self._places else places
        here = [row for row in rows if graph.names.texts[graph.r_ws[row]] in places]
        if any(self._named_by(row, self.view.k) for row in here):
            return here
        if any(self._named_by(row, self.view.k) for row in rows):
            detail = f"the source {name!r} is out of the view's sight"
            raise _Missing(Reason.WRONG_WORKSPACE, detail)
        detail = f"no evidence is from {name!r} at revision {self.view.k}"
        raise _Missing(Reason.MISSING_SUPPORT, detail)

    def _named_by(self, source: int, k: int) -> bool:
        graph = self.graph
        return any(graph.s_pos[row] <= k for row in graph.supports_from(source))

    def citation(self, row: int) -> _Problem | None:
        """What is wrong with naming a registered citation, if anything."""
        if row not in self._citations:
            self._citations[row] = self._citation(row)
        return self._citations[row]

    def _citation(self, row: int) -> _Problem | None:
        id = self.graph.artefact_id(row)
        if not self.graph.a_summary[row]:
            problem = self.artefact(row, None)
            if problem is None:
                return None
            if problem.reason is Reason.NOT_YET_REGISTERED:
                return problem
            detail = f"citation {id!r} is not eligible: {problem.reason}, {problem.detail}"
        else:
            detail = f"{id!r} is a summary, not a citation"
        return _Problem(Reason.INVALID_CITATION, detail, id)

    def artefact(self, row: int, text: str | None) -> _Problem | None:
        """Why a registered artefact may not be served, as the text given if one is, if at all."""
        view = self.view
        judged = self.registry.judge(row, view.v, view.k)
        id, problems = judged.id, []
        if judged.reason is Reason.NOT_YET_REGISTERED:
            return _Problem(judged.reason, f"{id!r} is not registered at revision {view.k}", id)
        if judged.reason is not None:
            about = "" if judged.about is None else f" {judged.about!r}"
            standing = "" if judged.standing is None else f" ({judged.standing})"
            detail = (
                f"registered {id!r} rests on{about}{standing}" if about else f"registered {id!r}"
            )
            problems.append(_Problem(judged.reason, detail, judged.about or id, judged.standing))
        problems += self._out_of_sight(row)
        first = _first(problems)
        if first is not None and _ORDER[first.reason] < _ORDER[Reason.CONTENT_MISMATCH]:
            return first
        registered = self.texts.artefact(row)
        if registered is None:
            problems.append(_Problem(Reason.REDACTED, f"the text of {id!r} was erased", id))
        elif text is not None and text != registered:
            detail = f"the text is not the one registered as {id!r}"
            problems.append(_Problem(Reason.CONTENT_MISMATCH, detail, id))
        return _first(problems)

    def _out_of_sight(self, row: int) -> Iterator[_Problem]:
        """The facts of an artefact that the view does not see, though they may be held."""
        graph, view = self.graph, self.view
        claims = graph.a_facts[row]
        if supports := graph.a_supports[row]:
            claims = [*claims, *(graph.s_claim[support] for support in supports)]
        for claim in claims:
            if self._in_sight(claim):
                continue
            id = graph.claim_id(claim)
            if graph.c_ws[claim] not in view.workspaces:
                detail = f"{id!r} is out of the view's sight"
                yield _Problem(Reason.WRONG_WORKSPACE, detail, id)
            else:
                unknown = Standing.NOT_YET_KNOWN
                yield _Problem(Reason.MISSING_FACT, f"{id!r} is {unknown} here", id, unknown)

    def declared_by(self, rows: Sequence[int]) -> Cited:
        """The facts, supports and sources that registered artefacts declare."""
        if not rows:
            return _NOTHING
        graph = self.graph
        return Cited(
            _once([each for row in rows for each in graph.a_facts[row]]),
            _once([each for row in rows for each in graph.a_supports[row]]),
            _once([each for row in rows for each in graph.a_sources[row]]),
        )


_UNKNOWN = {
    CLAIM: Reason.MISSING_FACT,
    SUPPORT: Reason.MISSING_SUPPORT,
    ARTEFACT: Reason.UNKNOWN_ARTIFACT,
}


def _first(problems: Sequence[_Problem]) -> _Problem | None:
    return min(problems, key=lambda problem: _ORDER[problem.reason]) if problems else None


def _once(rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(rows) if len(rows) > 1 else rows)


def _name(id: Id) -> str:
    return id if isinstance(id, str) else id.id if isinstance(id, Ref) else id["id"]


class _Judged:
    """One candidate under judgement: the rows that it declares, and the problems found."""

    def __init__(self, judge: Judge, given: Candidate) -> None:
        self.judge, self.given = judge, given
        self.problems: list[_Problem] = []
        self.facts: list[int] = []
        self.supports: list[int] = []
        self.sources: list[int] = []
        self.citations: list[int] = []
        self.artefact = NONE  # the registered summary that it is, if it is one
        self.unknown: list[_Problem] = []  # citations that are, a problem after all others
        self.places = judge.places(given.workspace)
        if self.places is None:
            detail = f"workspace {given.workspace!r} is out of the view's sight"
            self.problems.append(_Problem(Reason.WRONG_WORKSPACE, detail))
        else:
            self._find_registered(self.places)

    def registered(self) -> list[int]:
        """The artefacts that it names, as far as the view may know them."""
        pos, k = self.judge.graph.a_pos, self.judge.view.k
        rows = (self.artefact, *self.citations)
        return [row for row in rows if row != NONE and pos[row] <= k]

    def outcome(self) -> Item | LeftOut:
        given = self.given
        if self.places is not None:
            self._look_up(self.places)
        problem = _first(self.problems)
        if problem is not None:
            return LeftOut(
                given.id, problem.reason, problem.detail, problem.about, problem.standing
            )
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

    def _note(self, problem: _Problem | None) -> None:
        if problem is not None:
            self.problems.append(problem)

    def _found(self, id: Id, kind: int, places: Sequence[str], upto: int) -> int:
        try:
            return self.judge.find(id, kind, places, upto)
        except _Missing as missing:
            unknown = missing.reason is Reason.MISSING_FACT
            standing = Standing.NOT_YET_KNOWN if unknown else None
            self.problems.append(_Problem(missing.reason, str(missing), _name(id), standing))
            return NONE

    def _find_registered(self, places: Sequence[str]) -> None:
        given, horizon = self.given, self.judge.view.horizon
        if given.artefact is not None:
            self.artefact = self._found(given.artefact, ARTEFACT, places, horizon)
        elif given.facts or given.supports or given.citations or given.sources:
            if given.text is None:
                self.problems.append(_Problem(Reason.INVALID_ANNOTATION, "text is missing"))
        else:
            self.artefact = self._found(given.id, ARTEFACT, places, horizon)
            if self.problems and self.problems[-1].reason is Reason.UNKNOWN_ARTIFACT:
                detail = "declares no facts, supports, citations or sources that it rests on"
                self.problems[-1] = _Problem(Reason.MISSING_ANNOTATION, detail)
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
            detail = f"{_name(id)!r} is {standing}"
            self.problems.append(_Problem(Reason.MISSING_FACT, detail, _name(id), standing))
        self.facts.append(row)

    def _support(self, id: Id, places: Sequence[str]) -> None:
        view = self.judge.view
        row = self._found(id, SUPPORT, places, view.k)
        if row == NONE:
            return
        claim = view.graph.s_claim[row]
        if not view.belief.live(row, view.v, view.k):
            detail = f"{_name(id)!r} is not live"
            self.problems.append(_Problem(Reason.MISSING_SUPPORT, detail, _name(id)))
        elif not view.in_sight(claim):
            unknown, about = Standing.NOT_YET_KNOWN, view.graph.claim_id(claim)
            detail = f"{about!r}, which {_name(id)!r} is about, is {unknown} here"
            self.problems.append(_Problem(Reason.MISSING_FACT, detail, about, unknown))
        self.supports.append(row)

    def _source(self, name: str, places: Sequence[str]) -> None:
        view = self.judge.view
        try:
            rows = self.judge.source_rows(name, places)
        except _Missing as missing:
            self.problems.append(_Problem(missing.reason, str(missing), name))
            return
        if not all(view.belief.source_live(row, view.v, view.k) for row in rows):
            detail = f"the source {name!r} is withdrawn"
            self.problems.append(_Problem(Reason.MISSING_SUPPORT, detail, name))
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
        cited = _once(citations)
        item = Item(
            given.id,
            workspace,
            given.score,
            text,
            _once(facts),
            _once(supports),
            _once(sources),
            cited,
            () if row == NONE else (row,),
            judge.declared_by(cited),
        )
        contested = judge.contested(item)
        return item._replace(contested=contested) if contested else item
