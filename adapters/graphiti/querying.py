"""What a Graphiti search brings back, judged by a view: edges, nodes, episodes, communities."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from doxa.adapters.basis import compacted, find, forgotten, says
from doxa.adapters.carrying import in_turn, plain
from doxa.adapters.graphiti.graph import Edge, graph_of, value
from doxa.adapters.graphiti.mapping import Ids
from doxa.adapters.graphiti.summaries import told
from doxa.adapters.judging import Found, Kept, LeftOut, Sieve, Sifting, Unknown
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.errors import CallerError
from doxa.engine.graph import ARTEFACT, CLAIM, CORRECTION, NONE, SUPPORT, entity

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.engine.block import Block
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = ["Judged", "Truth"]

# The lists of a search's results, those of their scores, and what one of each is called.
KINDS: Final = {
    "edges": ("edge_reranker_scores", "edge"),
    "nodes": ("node_reranker_scores", "node"),
    "episodes": ("episode_reranker_scores", "episode"),
    "communities": ("community_reranker_scores", "community"),
}
_CITED: Final = 5  # episodes that a text names


@dataclass(frozen=True, slots=True)
class Judged:
    """A search as a view judges it: ``results`` has the form of what was given, without what may
    not be used; ``notes`` has, by uuid, what is to be known of what was kept, in the documented
    keys; ``left_out`` has the rest, each with its reason."""

    view: TruthView
    results: Any
    kept: tuple[Kept, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def notes(self) -> dict[str, dict[str, Any]]:
        """Status, times and claims of what was kept, by uuid."""
        return {each.found.id: dict(each.notes) for each in self.kept if each.found.id}


class _Item(NamedTuple):
    """Where a result is from, and what it rests on."""

    kind: str
    place: int
    item: Any
    rests: Mapping[str, Any]


def _rests(found: Found) -> Mapping[str, Any]:
    rests: Mapping[str, Any] = found.item.rests
    return rests


class Truth:
    """Judges what a Graphiti finds whose graph was recorded in a ledger.

    ``name`` is the one that it was recorded under; all else is as for a `Sieve`: ``valid_at`` and
    ``known_at`` where a call names none, and what becomes of what the ledger does not know
    (``unknown``: drop, flag or keep). Of an episode, all that was extracted must hold (``texts`` is
    ``held``), or it is enough that nobody took it back (``said``).
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        *,
        name: str = "default",
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        workspace: str = "",
        shared: bool = True,
        unknown: Unknown = "drop",
        archived: bool = False,
        texts: Literal["held", "said"] = "held",
        keys: str | os.PathLike[str] | None = None,
    ) -> None:
        if texts not in ("held", "said"):
            raise CallerError(f"texts is {texts!r:.60}; give held or said")
        self.texts = texts
        self.ids = Ids(name)
        self.sieve = Sieve(
            ledger,
            valid_at=valid_at,
            known_at=known_at,
            workspace=workspace,
            shared=shared,
            unknown=unknown,
            archived=archived,
            annotate=_rests,
            keys=keys,
        )

    def close(self) -> None:
        """Closes the ledger, where it was given as a path."""
        self.sieve.close()

    # -- judging

    def judge(
        self,
        results: Any,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Judged:
        """What may be used of the results of ``search_``, or of the list of edges of ``search``, in
        their own form.

        Nothing that was given is changed, scores least of all. An edge that the graph has
        invalidated, or given other words, since it was last recorded is not known: record first.
        Raises `CallerError` for anything else, `ViewMoved` where the truth moved meanwhile.
        """
        view = self.sieve.view(valid_at, known_at)
        found = [one for ones in self._found(view, results) for one in ones]
        sifting = self.sieve.sift(found, view)
        self.sieve.still(view)
        return Judged(view, _results(results, sifting), sifting.kept, sifting.left_out)

    async def ajudge(
        self,
        results: Any,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
    ) -> Judged:
        """`judge` for asynchronous code, with the same result."""
        return await asyncio.to_thread(self.judge, results, valid_at=valid_at, known_at=known_at)

    def context(
        self,
        query: str,
        results: Any,
        *,
        valid_at: Instant | None = None,
        known_at: Instant | int | None = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
        ids: bool = True,
    ) -> Block:
        """One block of what may be believed of a search, in place of Graphiti's
        ``search_results_to_context_string``: edges, nodes, episodes and communities in turn, each
        with its standing, its uuid (unless ``ids`` is false) and numbered citations of episodes,
        within a budget."""
        view = self.sieve.view(valid_at, known_at)
        lists = self._found(view, results)
        sifting = self.sieve.sift([one for ones in lists for one in ones], view)
        kept, others = in_turn(lists, sifting)
        said = [*(self._told(view, one, ids) for one in kept), *others]
        return self.sieve.assemble(query, said, view, budget=budget, count=count, top_k=top_k)

    async def acontext(self, query: str, results: Any, **options: Any) -> Block:
        """`context` for asynchronous code, with the same result."""
        return await asyncio.to_thread(lambda: self.context(query, results, **options))

    async def search(self, graphiti: Any, query: str, *args: Any, **options: Any) -> Judged:
        """`ajudge` of what ``graphiti.search_`` finds; ``valid_at`` and ``known_at`` are the
        view's, all else is the search's."""
        when = {key: options.pop(key) for key in ("valid_at", "known_at") if key in options}
        return await self.ajudge(await graphiti.search_(query, *args, **options), **when)

    # -- results

    def _found(self, view: TruthView, results: Any) -> list[list[Found]]:
        """The results with what stands behind them, by kind."""
        lists = _lists(results)
        found = []
        for name, (scored, kind) in KINDS.items():
            scores = [] if isinstance(results, list | tuple) else value(results, scored) or []
            ones = []
            for place, item in enumerate(lists[name]):
                uuid = value(item, "uuid")
                uuid = uuid if isinstance(uuid, str) and uuid else None
                text, rests = "", dict[str, Any]()
                if uuid is not None:
                    text, rests = self._behind(view, kind, uuid, item)
                score = scores[place] if place < len(scores) else None
                # no rank of an assembly: scores of several kinds do not compare
                told = {} if score is None else {"score": score}
                ones.append(Found(text, told, uuid, item=_Item(kind, place, item, rests)))
            found.append(ones)
        return found

    def _behind(
        self, view: TruthView, kind: str, uuid: str, item: Any
    ) -> tuple[str, dict[str, Any]]:
        """The text of a result, and what it rests on."""
        if kind == "edge":
            edge = graph_of({"edges": [item]}).edges.get(uuid)
            claim = None if edge is None else self._claim_of(view, edge)
            rests = {} if claim is None else {"claim_ids": [claim]}
            return "" if edge is None else edge.fact, rests
        if kind == "episode":
            episode = graph_of({"episodes": [item]}).episodes.get(uuid)
            if episode is None or not episode.content.strip():
                return "", {}
            held = self._extracted(view, uuid) if self.texts == "held" else []
            return episode.content, {"claim_ids": [self.ids.text(episode), *held]}
        summary = value(item, "summary")
        if not isinstance(summary, str) or not summary.strip():
            return "", {}
        text = told(plain(str(value(item, "name") or "")), plain(summary))
        artefact = self.ids.summary(kind, uuid, text)
        found = find(view, artefact)
        known = found != NONE and found & 7 == ARTEFACT
        return text, {"artefact_id": artefact} if known else {}

    def _extracted(self, view: TruthView, episode: str) -> list[str]:
        """The edges that an episode is evidence of, by what counts at the view, or was
        erased: their claims."""
        graph, head = view.graph, f"{self.ids.prefix}support:"
        found: dict[str, str] = {}  # edge → the claim of its last version
        lost = 0
        for source in graph.sources_named.get(graph.names.find(self.ids.source(episode))):
            lost += forgotten(view, source)
            for row in graph.supports_from(source):
                id = graph.id_of(entity(SUPPORT, row))
                if id.startswith(head) and says(view, row):
                    found[id.removeprefix(head).split(":")[0]] = graph.claim_id(graph.s_claim[row])
        if lost:  # all but former versions of what is there were taken back by somebody
            lost -= sum(self._former(view, claim) for claim in found.values())
        told = [f"({lost} compacted claims of {self.ids.source(episode)})"] if lost > 0 else []
        return [*found.values(), *told]  # what nobody knows any more leaves it out

    def _former(self, view: TruthView, claim: str) -> int:
        """How many former versions of an edge were compacted."""
        first, _, version = claim.rpartition(":")
        if not version.isdecimal() or not first.startswith("graphiti:edge:"):
            return 0
        former = (first, *(f"{first}:{n}" for n in range(2, int(version))))
        return sum(compacted(view, id) for id in former)

    def _claim_of(self, view: TruthView, edge: Edge) -> str | None:
        """The claim that an edge is at a view: its last version there. `None` where the ledger was
        not told yet what the graph says now."""
        found = None
        for version in count(1):
            id = self.ids.edge(edge.uuid, version)
            number = find(view, id)
            if number == NONE and compacted(view, id):
                found, last = id, number
                continue
            if number == NONE or number & 7 != CLAIM:
                break
            if found is None or view.graph.position_of(number) <= view.k:
                found = id
            last = number
        if found is None or last == NONE:
            return found
        said = view.payload(view.graph.position_of(last))
        same = isinstance(said, ev.Claim) and (said.erased or said.text == edge.fact)
        return found if same and not (edge.ended and self._open(view, last)) else None

    def _open(self, view: TruthView, number: int) -> bool:
        """Whether the ledger was never told of an end of a claim."""
        graph = view.graph
        if graph.c_to[number >> 3] != times.POS:
            return False
        return not any(
            graph.id_of(entity(CORRECTION, row)).startswith("graphiti:edge:")
            for row in graph.corrections_of.get(number >> 3)
        )

    def _told(self, view: TruthView, one: Found, ids: bool) -> Found:
        """A result that may be used, as it is printed: with its uuid, and citations."""
        kind, _, item, rests = one.item
        if "artefact_id" in rests:
            row = find(view, rests["artefact_id"]) >> 3
            facts, supports = view.graph.a_facts[row], view.graph.a_supports[row]
            told = {
                "claim_ids": [view.graph.claim_id(claim) for claim in facts],
                "support_ids": [view.graph.id_of(entity(SUPPORT, each)) for each in supports],
                "source_ids": self._sources(view, row),
            }
        else:
            row = find(view, rests["claim_ids"][0]) >> 3
            told = {"claim_ids": list(rests["claim_ids"])}
            supports = tuple(view.graph.supports_of(row))
        if cited := self._citations(view, supports):
            told["citation_ids"] = cited
        text = f"{value(item, 'name')}: {one.text}" if kind == "episode" else one.text
        if ids:
            text = f"{text}\n({kind} {one.id})"
        return Found(text, told, one.id, item=one.item)

    def _sources(self, view: TruthView, artefact: int) -> list[str]:
        graph = view.graph
        return [graph.names.texts[graph.r_name[each]] for each in graph.a_sources[artefact]]

    def _citations(self, view: TruthView, supports: Any) -> list[str]:
        """Citations of the episodes that evidence is from, where they are known."""
        graph, belief = view.graph, view.belief
        found: dict[str, None] = {}
        for support in supports:
            source = graph.s_source[support]
            if source == NONE or not belief.live(support, view.v, view.k):
                continue
            uuid = graph.names.texts[graph.r_name[source]].removeprefix("graphiti:episode:")
            head = self.ids.said(uuid)
            for row in graph.supports_from(source):
                said = graph.id_of(entity(SUPPORT, row))
                if said.startswith(head) and belief.live(row, view.v, view.k):
                    found[self.ids.citation(uuid, said.removeprefix(head))] = None
        return [id for id in found if find(view, id) != NONE][:_CITED]


def _lists(results: Any) -> dict[str, list[Any]]:
    """The lists of a search's results; a list alone is one of edges."""
    if isinstance(results, list | tuple):
        return {name: list(results) if name == "edges" else [] for name in KINDS}
    found = {name: value(results, name) for name in KINDS}
    if all(each is None for each in found.values()):
        raise CallerError(
            f"the results are {results!r:.120}; give what search_ returned, or the edges of search"
        )
    for name, each in found.items():
        if each is not None and not isinstance(each, list | tuple):
            raise CallerError(f"{name} is {each!r:.80}; give a list")
    return {name: list(each or ()) for name, each in found.items()}


def _results(results: Any, sifting: Sifting) -> Any:
    """What was kept, in the form of what was given: its own objects, and its own scores."""
    places: dict[str, list[int]] = {kind: [] for _, kind in KINDS.values()}
    for each in sifting.kept:
        places[each.found.item.kind].append(each.found.item.place)
    if isinstance(results, list | tuple):
        return [results[place] for place in places["edge"]]
    lists = _lists(results)
    fields: dict[str, list[Any]] = {}
    for name, (scored, kind) in KINDS.items():
        scores = value(results, scored) or []
        fields[name] = [lists[name][place] for place in places[kind]]
        fields[scored] = [scores[place] for place in places[kind] if place < len(scores)]
    if isinstance(results, Mapping):
        return {**results, **fields}
    copy = getattr(results, "model_copy", None)
    if copy is None:
        raise CallerError(
            f"the results are of type {type(results).__name__}; give those of search_"
        )
    return copy(update=fields)
