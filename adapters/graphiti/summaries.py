"""The summaries that Graphiti writes of nodes and communities, with what they rest on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from doxa.adapters.graphiti.graph import Community, Node, ref
from doxa.adapters.graphiti.mapping import Mapping
from doxa.engine import events as ev
from doxa.engine.graph import SUPPORT, entity

__all__ = ["Rests", "add_summaries", "told"]


def told(name: str, summary: str) -> str:
    """A summary as it is registered: with the name that it is of."""
    return f"{name}: {summary.strip()}"


@dataclass(slots=True)
class Rests:
    """What a summary rests on: claims that must hold, evidence that must be live, and sources that
    nobody has withdrawn."""

    facts: dict[str, None] = field(default_factory=dict)
    supports: dict[str, None] = field(default_factory=dict)
    sources: dict[str, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.facts or self.supports or self.sources)

    def add(self, other: Rests) -> None:
        """Rests on what another rests on, too."""
        self.facts |= other.facts
        self.supports |= other.supports
        self.sources |= other.sources


def add_summaries(mapping: Mapping) -> int:
    """Adds the summaries of a graph that are not there; returns how many earlier ones the graph has
    replaced.

    Graphiti writes facts into a node's summary, and leaves them there when it invalidates them. So
    a summary rests on the edges of its node that hold when it is recorded, and on all that it
    quotes: it falls with any of them. It rests on the texts of episodes that mention the node, and
    on the sources of other edges.
    """
    return _Summaries(mapping).run()


class _Summaries:
    def __init__(self, mapping: Mapping) -> None:
        self.mapping, self.graph = mapping, mapping.graph
        self.earlier, self.ids = mapping.earlier, mapping.ids
        self.before: dict[str, list[str]] = {}
        for kind in ("node", "community"):
            for id in self.earlier.artefacts(f"graphiti:{kind}:"):
                if not id.endswith("/back"):
                    self.before.setdefault(id.rpartition(":")[0], []).append(id)
        self.edges: dict[str, list[str]] = {}
        for edge in self.graph.edges.values():
            for uuid in dict.fromkeys((edge.source, edge.target)):
                self.edges.setdefault(uuid, []).append(edge.uuid)

    def run(self) -> int:
        replaced = 0
        for node in self.graph.nodes.values():
            replaced += self._summary("node", node, self._of_node(node.uuid, node.summary))
        for community in self.graph.communities.values():
            rests = Rests()
            for uuid in self.graph.members.get(community.uuid, ()):
                rests.add(self._of_node(uuid, community.summary))
            replaced += self._summary("community", community, rests)
        return replaced

    def _of_node(self, node: str, text: str) -> Rests:
        """What a text about a node rests on."""
        rests = self._inherited(node, text)
        for uuid in self.edges.get(node, ()):
            edge, claim = self.graph.edges[uuid], self.mapping.claims.get(uuid)
            if claim is None:
                continue
            if not edge.ended or edge.fact.strip() in text:
                rests.facts[claim] = None
            else:
                rests.facts.pop(claim, None)
                rests.sources |= dict.fromkeys(map(self.ids.source, edge.episodes or (None,)))
        for episode in self.graph.mentions.get(node, ()):
            if (support := self.mapping.texts.get(episode)) is not None:
                rests.supports[support] = None
        return rests

    def _inherited(self, node: str, text: str) -> Rests:
        """What the last summary rested on: results of one episode do not name a node's other edges.
        A claim that was corrected since counts on where the text still quotes it."""
        rests, graph = Rests(), self.earlier.graph
        known = self.before.get(f"graphiti:node:{ref(node)}", ())
        if not known:
            return rests
        row = self.earlier.number(known[-1]) >> 3
        for claim in graph.a_facts[row]:
            id = graph.claim_id(claim)
            if not self._corrected(claim) or self._quoted(claim, text):
                rests.facts[id] = None
        rests.supports = dict.fromkeys(
            id
            for support in graph.a_supports[row]
            if self.earlier.counts(id := graph.id_of(entity(SUPPORT, support)))
        )
        names = graph.names.texts
        rests.sources = {names[graph.r_name[source]]: None for source in graph.a_sources[row]}
        return rests

    def _corrected(self, claim: int) -> bool:
        belief, k = self.earlier.belief, self.earlier.k
        return bool(belief.record(claim, k).superseded)

    def _quoted(self, claim: int, text: str) -> bool:
        found = self.earlier.payload(self.earlier.graph.c_pos[claim])
        return isinstance(found, ev.Claim) and bool(found.text) and str(found.text).strip() in text

    def _summary(self, kind: str, of: Node | Community, rests: Rests) -> int:
        """Registers a summary, if it is new; returns how many it replaces."""
        if not of.summary.strip():
            return 0
        text = told(of.name, of.summary)
        id = self.ids.summary(kind, of.uuid, text)
        if not self.mapping.stored and self.earlier.has(id):
            return 0  # results that come again, perhaps after others
        replaced = 0
        for old in self.before.get(id.rpartition(":")[0], ()):
            event = None
            if old != id:
                event = self.earlier.taken_back(old, "the graph has another summary now")
                replaced += event is not None
            else:
                event = self.earlier.come_back(old, "the graph has this summary again")
            if event is not None:
                self.mapping.add(event, [])
        if self.earlier.has(id):
            return replaced
        if not rests:
            place = f"{kind} {of.uuid}"
            self.mapping.set_aside(place, "nothing is known that its summary rests on", of.summary)
            return replaced
        event = self._event(id, text, rests)
        self.mapping.add(event, [], *rests.facts, *rests.supports)
        return replaced

    def _event(self, id: str, text: str, rests: Rests) -> dict[str, Any]:
        named = {name: sorted(getattr(rests, name)) for name in ("facts", "supports", "sources")}
        return {"event": "summary", "id": id, "text": text, **named}
