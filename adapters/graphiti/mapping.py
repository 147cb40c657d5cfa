"""What a Graphiti graph says, as events: its edges as claims, their ends as corrections, its
episodes as sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Final, Literal

from doxa.adapters.carrying import Aside, Earlier, checked_name, key, label
from doxa.adapters.graphiti.graph import Edge, Episode, Graph, ref
from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.graph import NONE

__all__ = ["ARRIVAL", "SAYS", "Ids", "Mapping", "Undated"]

SAYS: Final = "SAYS"  # an episode's text, as said by it
Undated = Literal["always", "reference_time"]
ARRIVAL: Final = times.POS  # recorded as it arrives, after all that has a time of its own


@dataclass(frozen=True, slots=True)
class Ids:
    """How events are called: by the graph's own uuids, whatever else is known of what they name.
    Evidence carries the name of the import as well, so that two graphs can be told apart."""

    name: str

    def __post_init__(self) -> None:
        checked_name(self.name)

    @property
    def prefix(self) -> str:
        return f"graphiti:{self.name}:"

    def edge(self, uuid: str, version: int) -> str:
        """The claim that an edge is; a later version where its words were changed in place."""
        return f"graphiti:edge:{ref(uuid)}" + (f":{version}" if version > 1 else "")

    def end(self, claim: str, number: int) -> str:
        return f"{claim}:ends-{number}"

    def support(self, uuid: str, version: int, episode: str | None) -> str:
        of = "-" if episode is None else ref(episode)
        return f"{self.prefix}support:{ref(uuid)}:{version}:{of}"

    def text(self, episode: Episode) -> str:
        return f"graphiti:text:{ref(episode.uuid)}:{key(episode.content, size=12)}"

    def said(self, uuid: str) -> str:
        """How the supports begin by which an episode says its text."""
        return f"{self.prefix}said:{ref(uuid)}:"

    def citation(self, uuid: str, content: str) -> str:
        return f"{self.prefix}citation:{ref(uuid)}:{content}"

    def source(self, uuid: str | None) -> str:
        return f"{self.prefix[:-1]}" if uuid is None else f"graphiti:episode:{ref(uuid)}"

    def summary(self, kind: str, uuid: str, text: str) -> str:
        return f"graphiti:{kind}:{ref(uuid)}:{key(text)}"


@dataclass(slots=True)
class Mapping:
    """What is to be recorded of one graph, given what is recorded already."""

    graph: Graph
    earlier: Earlier
    ids: Ids
    now: int
    undated: Undated = "always"
    stored: bool = True  # what the graph has now; else results, which may be handed in again later
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    at: dict[str, int] = field(default_factory=dict)  # new events → when they are recorded
    present: set[str] = field(default_factory=set)  # supports that the graph has
    texts: dict[str, str] = field(default_factory=dict)  # episode → the support of its text
    aside: list[Aside] = field(default_factory=list)
    claims: dict[str, str] = field(default_factory=dict)  # edge → its claim
    ended: int = 0
    changed: int = 0

    def add(self, event: dict[str, Any], stated: Iterable[datetime | None], *after: str) -> None:
        """An event, recorded at the latest of the times that are stated, where the ledger's own
        history allows that; not before what it names."""
        known = [times.instant(each) for each in stated if each is not None]
        named = [self.at.get(id, times.NEG) for id in after]
        at = max([*known, *named], default=times.NEG)
        if not known or not self.earlier.head < at <= self.now:
            at = ARRIVAL
        if at != ARRIVAL:
            event["recorded_at"] = times.iso(at)
        elif known:
            event["stated_at"] = times.iso(max(known))
        self.at[event["id"]] = at
        self.events.append((at, event))

    def in_order(self) -> list[dict[str, Any]]:
        """The events as they can be recorded."""
        return [event for _, event in sorted(self.events, key=lambda each: each[0])]

    def set_aside(self, place: str, reason: str, text: object = "") -> None:
        self.aside.append(Aside.of(place, reason, text))

    def run(self) -> None:
        """Episodes, then edges."""
        for episode in self.graph.episodes.values():
            self._episode(episode)
        for edge in self.graph.edges.values():
            self._edge(edge)

    # ------------------------------------------------------------ episodes

    def _source(self, uuid: str | None) -> dict[str, Any]:
        episode = None if uuid is None else self.graph.episodes.get(uuid)
        source: dict[str, Any] = {"id": self.ids.source(uuid)}
        if episode is not None:
            source |= {"locator": episode.name, "observed_at": episode.valid}
            if episode.content:
                digest = hashlib.sha256(episode.content.encode()).hexdigest()
                source["digest"] = f"sha256:{digest}"
        return source

    def _episode(self, episode: Episode) -> None:
        head, claim = self.ids.said(episode.uuid), self.ids.text(episode)
        content = claim.rpartition(":")[2]
        support = head + content
        if not episode.content.strip():
            return
        self.present.add(support)
        self.texts[episode.uuid] = support
        if not self.earlier.has(claim):
            said = {"subject": episode.name, "predicate": SAYS, "object": episode.content}
            dated = {"valid_from": episode.valid} if episode.valid else {"assumed": "always"}
            self.add({"event": "claim", "id": claim, **said, **dated}, [episode.created])
        self._evidence(support, claim, episode.uuid, [episode.created])
        citation = self.ids.citation(episode.uuid, content)
        if not self.earlier.has(citation):
            text = ", ".join(each for each in (episode.name, episode.description) if each)
            event = {"event": "citation", "id": citation, "text": text, "supports": [support]}
            self.add(event, [episode.created], support)

    def _evidence(
        self, id: str, claim: str, episode: str | None, stated: Iterable[datetime | None]
    ) -> None:
        """A support, unless it is there; one that was taken back comes back."""
        if not self.earlier.has(id):
            event = {"event": "support", "id": id, "claim": claim, "source": self._source(episode)}
            self.add(event, stated, claim)
        elif (back := self.earlier.come_back(id, "it is in the graph again")) is not None:
            self.add(back, [])

    # ------------------------------------------------------------ edges

    def _edge(self, edge: Edge) -> None:
        version = next(n for n in count(1) if not self.earlier.has(self.ids.edge(edge.uuid, n))) - 1
        last = self.ids.edge(edge.uuid, version)
        if version and self.earlier.number(last) == NONE:
            self.set_aside(f"edge {edge.uuid}", "was compacted here, and does not come back")
            return
        old = self._recorded(edge, version) if version else None
        if old is not None and old.erased:
            self.claims[edge.uuid] = old.id
            self.set_aside(f"edge {edge.uuid}", "was erased here, and does not come back")
            return
        said = self._said(edge, old)
        if said is None:
            return
        if old is not None and self._taken_back(said, old):
            reason = "was taken back here, and does not come back in the same words"
            self.set_aside(f"edge {edge.uuid}", reason, edge.fact)
        elif old is None or self._differs(edge, said, old):
            if old is not None and self._late(edge, said, version):
                return
            version += 1
            if not self._claim(edge, version, said, old):
                return
        elif self._ends_now(edge, old) != self._end(edge) and (edge.ended or self.stored):
            self._move_end(edge, old.id)
        claim = self.claims[edge.uuid] = self.ids.edge(edge.uuid, version)
        for episode in edge.episodes or (None,):
            support = self.ids.support(edge.uuid, version, episode)
            self.present.add(support)
            known = None if episode is None else self.graph.episodes.get(episode)
            stated = [edge.created, None if known is None else known.created]
            self._evidence(support, claim, episode, stated)

    def _taken_back(self, said: dict[str, Any], old: ev.Claim) -> bool:
        """Whether somebody else took back, at all times, what the graph still says."""
        if self.earlier.stands(old.id) or any(map(self.earlier.counts, self._ends(old.id))):
            return False
        return said["text"] == old.text and not self._otherwise(said, old)

    def _late(self, edge: Edge, said: dict[str, Any], version: int) -> bool:
        """Whether results say what an edge said before it was changed: they come late, or again."""
        earlier = [] if self.stored else map(self.earlier.number, self._versions(edge, version))
        known = [self._event(number) for number in earlier if number != NONE]
        return any(not one.erased and not self._other(said, one) for one in known)

    def _versions(self, edge: Edge, version: int) -> Iterator[str]:
        """The claims that an edge was before a version."""
        return (self.ids.edge(edge.uuid, n) for n in range(1, version))

    def _recorded(self, edge: Edge, version: int) -> ev.Claim:
        return self._event(self.earlier.number(self.ids.edge(edge.uuid, version)))

    def _event(self, number: int) -> ev.Claim:
        found = self.earlier.payload(self.earlier.graph.position_of(number))
        assert isinstance(found, ev.Claim), found
        return found

    def _said(self, edge: Edge, old: ev.Claim | None) -> dict[str, Any] | None:
        """What an edge says; without its nodes, their names are those recorded."""
        source, target = (self.graph.nodes.get(uuid) for uuid in (edge.source, edge.target))
        if old is None and (source is None or target is None):
            missing = edge.source if source is None else edge.target
            reason = f"its node {missing or '(none)'} is not in the graph given"
            self.set_aside(f"edge {edge.uuid}", reason, edge.fact)
            return None
        said: dict[str, Any] = {
            "subject": label(source.name) if source is not None else old.subject if old else "",
            "predicate": edge.name,
            "object": target.name if target is not None else old.object if old else "",
            "text": edge.fact,
        }
        if edge.valid is not None:
            said["valid_from"] = edge.valid
        elif self.undated == "reference_time" and edge.reference is not None:
            said |= {"valid_from": edge.reference, "assumed": "from the episode's reference_time"}
        else:
            said["assumed"] = "always: the graph states no valid_at"
        return said

    def _differs(self, edge: Edge, said: dict[str, Any], old: ev.Claim) -> bool:
        """Whether the graph says other words now, or of a time that the claim does not reach."""
        end = self._end(edge)
        beyond = (times.POS if end is None else end) > old.valid_to
        return self._other(said, old) or (beyond and (edge.ended or self.stored))

    def _other(self, said: dict[str, Any], old: ev.Claim) -> bool:
        """Whether what is said are other words, or begins to hold at another time."""
        start = said.get("valid_from")
        return (
            self._otherwise(said, old)
            or said["text"] != old.text
            or (times.NEG if start is None else times.instant(start)) != old.valid_from
        )

    def _otherwise(self, said: dict[str, Any], old: ev.Claim) -> bool:
        """Whether what is said is of something else."""
        return any(said[name] != getattr(old, name) for name in ("subject", "predicate", "object"))

    def _end(self, edge: Edge) -> int | None:
        """From when on it does not hold: where only that it was expired is known, from then on."""
        end = edge.invalid or edge.expired
        return None if end is None else times.instant(end)

    def _claim(self, edge: Edge, version: int, said: dict[str, Any], old: ev.Claim | None) -> bool:
        """The claim of an edge that is new, or whose words were changed in place."""
        id = self.ids.edge(edge.uuid, version)
        end = self._end(edge)
        later = edge.expired is not None and (
            edge.created is None or edge.expired > edge.created or edge.invalid is None
        )
        if end is not None and not later:
            start = said.get("valid_from")
            if start is not None and times.instant(start) >= end:
                stated = f"valid_at {times.iso(times.instant(start))} is not before invalid_at"
                self.set_aside(f"edge {edge.uuid}", f"{stated} {times.iso(end)}", edge.fact)
                if old is not None:
                    self._never(edge, old.id)
                return False
            said = {**said, "valid_to": times.iso(end)}
        self.add({"event": "claim", "id": id, **said}, [edge.created] if old is None else [])
        if end is not None and later:
            self._correct(edge, id, 1, end)
        if old is not None:
            self.changed += 1
            event = {"event": "correction", "id": f"{id}:replaces", "corrects": old.id, "by": id}
            whole = {"valid_from": None, "valid_to": None}
            self.add({**event, **whole, "reason": "the graph has other words"}, [], id)
        return True

    # -- where it ends

    def _ends(self, claim: str) -> Iterator[str]:
        """The corrections by which it was ended."""
        for n in count(1):
            id = self.ids.end(claim, n)
            if not self.earlier.has(id):
                return
            yield id

    def _ends_now(self, edge: Edge, old: ev.Claim) -> int | None:
        graph = self.earlier.graph
        live = [id for id in self._ends(old.id) if self.earlier.counts(id)]
        if live:
            return graph.k_from[self.earlier.number(live[-1]) >> 3]
        return None if old.valid_to == times.POS else old.valid_to

    def _move_end(self, edge: Edge, claim: str) -> None:
        """The end of an edge that the graph has overwritten in place."""
        ends = list(self._ends(claim))
        for id in filter(self.earlier.counts, ends):
            reason = "the graph has another end now"
            back = self.earlier.taken_back(id, reason)
            if back is not None:
                self.add(back, [edge.expired])
        end = self._end(edge)
        stated = self._recorded_end(claim)
        if end is not None and end != stated:
            self._correct(edge, claim, len(ends) + 1, end)

    def _never(self, edge: Edge, claim: str) -> None:
        """The end of an edge that, as the graph has it now, never holds."""
        ends = list(self._ends(claim))
        live = [self.earlier.number(id) >> 3 for id in ends if self.earlier.counts(id)]
        if not any(self.earlier.graph.k_from[row] == times.NEG for row in live):
            self._correct(edge, claim, len(ends) + 1, None)

    def _recorded_end(self, claim: str) -> int:
        return self.earlier.graph.c_to[self.earlier.number(claim) >> 3]

    def _correct(self, edge: Edge, claim: str, number: int, end: int | None) -> None:
        self.ended += 1
        reason = "the graph has invalidated it"
        if end is None:
            reason = "as the graph has it, it never holds"
        elif edge.invalid is None:
            reason += ", without saying when it ceased to hold: from when that became known"
        event = {
            "event": "correction",
            "id": self.ids.end(claim, number),
            "corrects": claim,
            "valid_from": None if end is None else times.iso(end),
            "valid_to": None,
            "reason": reason,
        }
        self.add(event, [edge.expired], claim)
