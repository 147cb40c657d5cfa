"""Which of a ledger's records stand behind what a LightRAG query brings back."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from doxa.adapters.basis import find, forgotten, says
from doxa.adapters.lightrag.mapping import Ids
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity

if TYPE_CHECKING:
    from doxa.engine.graph import Graph
    from doxa.views import TruthView

__all__ = ["Lookup"]

_CITED: Final = 5  # chunks that a description names; it rests on all of them


class Lookup:
    """Finds records by what their ids are made of. Reads each record's id once: O(new ones)."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self._graph: Graph | None = None
        self._claims = self._artefacts = 0  # rows that have been read
        self._found: dict[str, list[int]] = {}  # how an id begins → entities, in log order
        self._lock = Lock()

    def _read(self, graph: Graph) -> None:
        claims, artefacts = len(graph.c_pos), len(graph.a_pos)
        known = self._graph is graph and self._claims <= claims and self._artefacts <= artefacts
        if not known:
            self._graph, self._found = graph, {}
            self._claims = self._artefacts = 0
        new = [entity(CLAIM, row) for row in range(self._claims, claims)]
        new += [entity(ARTEFACT, row) for row in range(self._artefacts, artefacts)]
        for number in new:
            id = graph.id_of(number)
            if id.startswith(("lightrag:text:", self.ids.prefix)):
                self._found.setdefault(id[: id.rindex(":") + 1], []).append(number)
        self._claims, self._artefacts = claims, artefacts

    def _in_sight(self, view: TruthView, beginning: str) -> list[int]:
        """What there is under ids that begin so, the newest first, whether known at the view or
        not."""
        with self._lock:
            self._read(view.graph)
            found = self._found.get(beginning, [])[::-1]
        return [n for n in found if view.graph.workspace_of(n) in view.workspaces]

    def description(self, view: TruthView, name: str | tuple[str, str], text: str) -> str | None:
        """The summary that is this description: one that counts, else the last that is known, or
        the last."""
        found = self._in_sight(view, self.ids.description(name, text))
        known = [n for n in found if view.graph.position_of(n) <= view.k]
        best = [n for n in known if self._stands(view, n)] or known or found
        return view.graph.id_of(best[0]) if best else None

    def _stands(self, view: TruthView, number: int) -> bool:
        supports = view.graph.a_supports[number >> 3]
        counts = view.belief.counts(number, view.v, view.k)
        return counts and all(view.belief.live(s, view.v, view.k) for s in supports)

    def saying(self, view: TruthView, text: str) -> list[str]:
        """The claims that somebody says a text."""
        return [view.graph.id_of(n) for n in self._in_sight(view, self.ids.texts(text))]

    def rests_on(self, view: TruthView, artefact: str) -> dict[str, Any]:
        """What a summary declares, and citations of the first of the chunks that it is from."""
        graph = view.graph
        row = find(view, artefact) >> 3
        supports = list(graph.a_supports[row])
        return {
            "claim_ids": [graph.claim_id(claim) for claim in graph.a_facts[row]],
            "support_ids": [graph.id_of(entity(SUPPORT, s)) for s in supports],
            "citation_ids": self._citations(view, supports)[:_CITED],
        }

    def extracted(self, view: TruthView, claim: str) -> list[str]:
        """What was extracted from the chunks by which a text is said: claims, by evidence that
        counts at the view, or was erased."""
        found: dict[str, None] = {}
        graph, number = view.graph, find(view, claim)
        if number == NONE or number & 7 != CLAIM:
            return []
        for support in self._live(view, graph.supports_of(number >> 3)):
            part = graph.id_of(entity(SUPPORT, support)).rpartition(":")[0] + ":"
            source = graph.s_source[support]
            if source == NONE or not part.startswith(self.ids.prefix):
                continue
            if count := forgotten(view, source):
                name = graph.names.texts[graph.r_name[source]]
                found[f"({count} compacted claims of {name})"] = None  # so that it is left out
            for row in graph.supports_from(source):
                own = graph.id_of(entity(SUPPORT, row)).startswith(part)
                if own and says(view, row):
                    found[graph.claim_id(graph.s_claim[row])] = None
        found.pop(claim, None)
        return list(found)

    def cited(self, view: TruthView, claim: str) -> list[str]:
        """Citations of where a text stands."""
        live = self._live(view, view.graph.supports_of(find(view, claim) >> 3))
        return self._citations(view, live)[:_CITED]

    def _live(self, view: TruthView, supports: Iterable[int]) -> list[int]:
        return [row for row in supports if view.belief.live(row, view.v, view.k)]

    def _citations(self, view: TruthView, supports: Iterable[int]) -> list[str]:
        head = f"{self.ids.prefix}support:"
        found: dict[str, None] = {}
        for support in supports:
            id = view.graph.id_of(entity(SUPPORT, support))
            if id.startswith(head):
                found[self.ids.citation(id.removeprefix(head).rpartition(":")[0])] = None
        return [id for id in found if find(view, id) != NONE]
