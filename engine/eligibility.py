"""What candidates name at a view: the rows that ids mean there, and what stands against them.

Of several reasons against one thing, the first in the order of `Reason` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from doxa.engine.belief import Standing
from doxa.engine.candidates import Given
from doxa.engine.events import Ref
from doxa.engine.graph import ARTEFACT, CLAIM, KINDS, NONE, SUPPORT, entity
from doxa.engine.hiding import NOTHING as NONE_HIDDEN
from doxa.engine.hiding import hidden
from doxa.engine.lookups import entities, standings
from doxa.engine.lost import event_of
from doxa.engine.registry import Reason, Registry
from doxa.engine.texts import Texts
from doxa.engine.view import Id, TruthView

__all__ = [
    "NOTHING",
    "Cited",
    "Item",
    "Judge",
    "Missing",
    "Problem",
    "as_item",
    "first_of",
    "name_of",
    "once",
    "rank",
]

_ORDER = {reason: place for place, reason in enumerate(Reason)}


class Cited(NamedTuple):
    """The rows that a set of artefacts declares."""

    facts: tuple[int, ...] = ()
    supports: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


NOTHING = Cited()


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
    cited: Cited = NOTHING  # what its citations declare
    contested: tuple[int, ...] = ()  # the claims that it reaches and that are, in log order


def rank(item: Item) -> tuple[float, str, str]:
    """The place of a candidate in the ranking: the higher score first, then the id."""
    return -item[2], item[0], item[1]


# from a tuple of all eleven, in half the time
as_item = cast("Callable[[tuple[Any, ...]], Item]", partial(tuple.__new__, Item))
_CONTESTED = Standing.CONTESTED


class Problem(NamedTuple):
    """What stands against a candidate: as in `Omission`, whose id is the candidate's."""

    reason: Reason
    detail: str
    about: str | None = None
    standing: Standing | None = None


class Missing(Exception):
    """An id that names nothing that a candidate may rest on here."""

    def __init__(
        self, reason: Reason, detail: str, standing: Standing = Standing.NOT_YET_KNOWN
    ) -> None:
        super().__init__(detail)
        self.reason, self.standing = reason, standing


class Judge:
    """Judges candidates and registered summaries against one view; what is ``hidden`` there, unless
    the ``archived`` is asked for."""

    def __init__(
        self, registry: Registry, view: TruthView, texts: Texts, archived: bool = False
    ) -> None:
        self.registry, self.view, self.texts = registry, view, texts
        self.graph, self.belief = view.graph, view.belief
        self.hidden = NONE_HIDDEN if archived else hidden(view.belief, view.v, view.k)
        self._places = tuple(
            dict.fromkeys((view.workspace, "") if view.shared else (view.workspace,))
        )
        codes = {self.graph.names.find(place): place for place in self._places}
        self.workspaces = {code: place for code, place in codes.items() if code != NONE}
        self._first = self.graph.names.find(self._places[0])
        self._citations: dict[int, Problem | None] = {}
        # what was looked up: the rows of claims in sight, or NONE, by plain id; how claims stand
        self.claims: dict[str, int] = {}
        self.standings: dict[int, Standing] = {}

    def summaries(self) -> Iterator[Given]:
        """The registered summaries in sight, as candidates of their own."""
        graph = self.graph
        for row in self.registry.in_sight(self.view):
            if graph.a_summary[row]:
                id = graph.artefact_id(row)
                yield Given(id, artefact=Ref(self.workspaces[graph.a_ws[row]], id))

    def look_up(self, ids: Iterable[str | Ref], claims: Iterable[int]) -> None:
        """Finds together the claims that plain ids mean, and how they and others stand."""
        named = {id for id in ids if isinstance(id, str)}.difference(self.claims)
        self.claims.update(self._claims_of(named))
        rows = {self.claims[id] for id in named}.union(claims).difference(self.standings)
        rows.discard(NONE)
        self.standings.update(standings(self.belief, rows, self.view.v, self.view.k))

    def claim(self, id: Id) -> int:
        """The row of the claim in sight that a plain id means, or NONE."""
        if not isinstance(id, str):
            return NONE
        found = self.claims.get(id)
        if found is None:
            found = self.claims[id] = self._claims_of((id,))[id]
        return found

    def _claims_of(self, ids: Collection[str]) -> dict[str, int]:
        """`claim` of each id."""
        found = dict.fromkeys(ids, NONE)
        known, seen = self.graph.claims_upto(self.view.k), self.view.perspective is None
        for workspace in reversed(self.workspaces):  # the first that knows an id counts
            for id, number in entities(self.graph.ids, workspace, ids).items():
                row = number >> 3
                if number & 7 == CLAIM and row < known:
                    found[id] = row if seen or self._in_sight(row) else NONE
        return found

    def plain_summary(self, id: str | Ref) -> tuple[int, Sequence[int]] | None:
        """The artefact in sight that an id means, and its facts, where it was registered as resting
        on claims in sight alone, whatever their state."""
        graph = self.graph
        if isinstance(id, str):
            number = graph.ids.find(self._first, id)
        elif id.workspace in self._places:
            number = graph.find(*id)
        else:
            return None
        row = number >> 3
        if number == NONE or number & 7 != ARTEFACT or graph.a_snapshot[row]:
            return None
        if graph.a_pos[row] > self.view.k or self.view.perspective is not None:
            return None
        for lists in (graph.a_supports, graph.a_sources, graph.a_citations):
            if lists.ends[row] < lists.ends[row + 1]:
                return None
        facts, places = graph.a_facts[row], graph.c_ws
        for claim in facts:  # they were known before it was
            if places[claim] not in self.workspaces:
                return None
        return row, facts

    def counts(self, artefact: int) -> bool:
        """Whether a registered artefact was not withdrawn."""
        return self.belief.counts(entity(ARTEFACT, artefact), self.view.v, self.view.k)

    def _in_sight(self, claim: int) -> bool:
        """As the view says; for most claims in no time."""
        view, graph = self.view, self.graph
        if view.perspective is not None or graph.c_ws[claim] not in self.workspaces:
            return view.in_sight(claim)
        return graph.c_pos[claim] <= view.k

    def contested(self, item: Item) -> tuple[int, ...]:
        """The contested claims that an item reaches, directly or through its citations."""
        claim_of, cited = self.graph.s_claim, item.cited
        reached = (claim_of[support] for support in (*item.supports, *cited.supports))
        return self.contested_of((*item.facts, *cited.facts, *reached))

    def contested_of(self, claims: Iterable[int]) -> tuple[int, ...]:
        """The contested ones among claims, each once, in log order."""
        found = {claim for claim in claims if self.standing(claim) is _CONTESTED}
        return tuple(sorted(found)) if found else ()

    def standing(self, claim: int) -> Standing:
        """The standing of a claim row at the view, in its sight or not."""
        found = self.standings.get(claim)
        if found is None:
            found = self.belief.standing(claim, self.view.v, self.view.k)
            self.standings[claim] = found
        return found

    def places(self, workspace: str | None) -> tuple[str, ...] | None:
        """Where plain ids are looked up, or ``None`` where that is out of sight."""
        if workspace is None:
            return self._places
        return (workspace,) if workspace in self._places else None

    def find(self, id: Id, kind: int, places: Sequence[str], upto: int) -> int:
        """The row that an id means, recorded up to a position. Raises `Missing`."""
        if isinstance(id, Ref):
            if id.workspace not in self._places:
                raise Missing(
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
            raise Missing(_UNKNOWN[kind], f"{id!r} is a {other}, not a {KINDS[kind]}")
        if any(event_of(self.view, place, id) != NONE for place in places):
            raise Missing(_UNKNOWN[kind], f"{id!r} was compacted", Standing.COMPACTED)
        names = self.graph.names.texts
        workspaces = [names[ws] for ws in list(self.graph.revisions)]
        elsewhere = [name for name in workspaces if name not in self._places]
        if any(number & 7 == kind for number in self._rows(id, elsewhere, upto)):
            raise Missing(Reason.WRONG_WORKSPACE, f"{id!r} is out of the view's sight")
        raise Missing(_UNKNOWN[kind], f"{id!r} is not known at revision {self.view.k}")

    def _rows(self, id: str, places: Iterable[str], upto: int) -> list[int]:
        graph = self.graph
        numbers = (graph.find(place, id) for place in places)
        return [n for n in numbers if n != NONE and graph.position_of(n) <= upto]

    def source_rows(self, name: str, places: Sequence[str]) -> list[int]:
        """The rows of a source that evidence names by the view. Raises `Missing`."""
        graph = self.graph
        rows = graph.sources_named.get(graph.names.find(name))
        places = (*places, "") if "" in self._places else places
        here = [row for row in rows if graph.names.texts[graph.r_ws[row]] in places]
        if any(self._named_by(row, self.view.k) for row in here):
            return here
        if any(self._named_by(row, self.view.k) for row in rows):
            detail = f"the source {name!r} is out of the view's sight"
            raise Missing(Reason.WRONG_WORKSPACE, detail)
        detail = f"no evidence is from {name!r} at revision {self.view.k}"
        raise Missing(Reason.MISSING_SUPPORT, detail)

    def _named_by(self, source: int, k: int) -> bool:
        graph = self.graph
        return any(graph.s_pos[row] <= k for row in graph.supports_from(source))

    def citation(self, row: int) -> Problem | None:
        """What is wrong with naming a registered citation, if anything."""
        if row not in self._citations:
            self._citations[row] = self._citation(row)
        return self._citations[row]

    def _citation(self, row: int) -> Problem | None:
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
        return Problem(Reason.INVALID_CITATION, detail, id)

    def artefact(self, row: int, text: str | None) -> Problem | None:
        """Why a registered artefact may not be served, as the text given if one is, if at all."""
        view = self.view
        judged = self.registry.judge(row, view.v, view.k)
        id, problems = judged.id, []
        if judged.reason is Reason.NOT_YET_REGISTERED:
            return Problem(judged.reason, f"{id!r} is not registered at revision {view.k}", id)
        if judged.reason is not None:
            about = "" if judged.about is None else f" {judged.about!r}"
            standing = "" if judged.standing is None else f" ({judged.standing})"
            detail = (
                f"registered {id!r} rests on{about}{standing}" if about else f"registered {id!r}"
            )
            problems.append(Problem(judged.reason, detail, judged.about or id, judged.standing))
        problems += self._out_of_sight(row)
        first = first_of(problems)
        if first is not None and _ORDER[first.reason] < _ORDER[Reason.CONTENT_MISMATCH]:
            return first
        registered = self.texts.artefact(row)
        if registered is None:
            problems.append(Problem(Reason.REDACTED, f"the text of {id!r} was erased", id))
        elif text is not None and text != registered:
            detail = f"the text is not the one registered as {id!r}"
            problems.append(Problem(Reason.CONTENT_MISMATCH, detail, id))
        return first_of(problems)

    def _out_of_sight(self, row: int) -> Iterator[Problem]:
        """The facts of an artefact, and of its citations, that the view does not see, though they
        may be held."""
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
                yield Problem(Reason.WRONG_WORKSPACE, detail, id)
            else:
                unknown = Standing.NOT_YET_KNOWN
                yield Problem(Reason.MISSING_FACT, f"{id!r} is {unknown} here", id, unknown)
        for citation in graph.a_citations[row]:
            id = graph.artefact_id(citation)
            for _, detail, *_ in self._out_of_sight(citation):
                why = f"citation {id!r} is not eligible: {detail}"
                yield Problem(Reason.INVALID_CITATION, why, id)

    def declared_by(self, rows: Sequence[int]) -> Cited:
        """The facts, supports and sources that registered artefacts declare."""
        if not rows:
            return NOTHING
        graph = self.graph
        return Cited(
            once([each for row in rows for each in graph.a_facts[row]]),
            once([each for row in rows for each in graph.a_supports[row]]),
            once([each for row in rows for each in graph.a_sources[row]]),
        )


_UNKNOWN = {
    CLAIM: Reason.MISSING_FACT,
    SUPPORT: Reason.MISSING_SUPPORT,
    ARTEFACT: Reason.UNKNOWN_ARTIFACT,
}


def first_of(problems: Sequence[Problem]) -> Problem | None:
    return min(problems, key=lambda problem: _ORDER[problem.reason]) if problems else None


def once(rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(rows) if len(rows) > 1 else rows)


def name_of(id: Id) -> str:
    """An id in its workspace."""
    return id if isinstance(id, str) else id.id if isinstance(id, Ref) else id["id"]
