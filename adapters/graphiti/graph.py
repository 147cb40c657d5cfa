"""A Graphiti graph as values: read from the library's objects, or from what `model_dump` made of
them. Needs no Graphiti."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from doxa.adapters.carrying import Aside, key, label, moment, plain
from doxa.engine.errors import CallerError

__all__ = ["Community", "Edge", "Episode", "Graph", "Node", "graph_of", "ref", "value"]

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Where lists of what are found: in a dump, in a search's results, in those of add_episode.
_PARTS: Final = ("nodes", "edges", "episodes", "episodic_edges", "communities", "community_edges")


@dataclass(frozen=True, slots=True)
class Edge:
    """An EntityEdge: a fact between two nodes, with its times."""

    uuid: str
    source: str
    target: str
    name: str
    fact: str
    episodes: tuple[str, ...]
    valid: datetime | None
    invalid: datetime | None
    created: datetime | None
    expired: datetime | None
    reference: datetime | None

    @property
    def ended(self) -> bool:
        """Whether the graph says that it does not hold for ever."""
        return self.invalid is not None or self.expired is not None


@dataclass(frozen=True, slots=True)
class Node:
    """An EntityNode: its name, and what is said of it in short."""

    uuid: str
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class Episode:
    """An EpisodicNode: a text that was added."""

    uuid: str
    name: str
    content: str
    description: str
    valid: datetime | None
    created: datetime | None


@dataclass(frozen=True, slots=True)
class Community:
    """A CommunityNode: what is said of a group of nodes in short."""

    uuid: str
    name: str
    summary: str


@dataclass(slots=True)
class Graph:
    """What was read, and what could not be."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    communities: dict[str, Community] = field(default_factory=dict)
    mentions: dict[str, list[str]] = field(default_factory=dict)  # node → episodes
    members: dict[str, list[str]] = field(default_factory=dict)  # community → nodes
    aside: list[Aside] = field(default_factory=list)


def ref(uuid: str) -> str:
    """A uuid as a part of ids; anything else that stands in its place, by its digest.

    >>> ref("526f54e9-1edf"), len(ref("a b"))
    ('526f54e9-1edf', 24)
    """
    return uuid if _PLAIN.fullmatch(uuid) else key(uuid)


def value(item: Any, name: str) -> Any:
    """An attribute of an object, or the value of a mapping."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def graph_of(given: object, group_ids: Iterable[str] | None = None) -> Graph:
    """A graph from the results of ``add_episode``, ``add_episode_bulk`` or ``add_triplet``, from a
    mapping or object with the lists ``nodes``, ``edges``, ``episodes``, ``episodic_edges``,
    ``communities``, ``community_edges`` (each may be left out), or from several of these. Of the
    groups named, or of all. Raises `CallerError`."""
    if isinstance(group_ids, str):
        raise CallerError(f"group_ids is {group_ids!r:.80}; give a list of them")
    reader = _Reader(None if group_ids is None else frozenset(group_ids))
    for part in given if isinstance(given, list | tuple) else [given]:
        reader.read(part)
    return reader.graph


class _Reader:
    def __init__(self, groups: frozenset[str] | None) -> None:
        self.groups, self.graph = groups, Graph()

    def read(self, given: object) -> None:
        lists = {name: value(given, name) for name in _PARTS}
        single = value(given, "episode")
        if single is None and all(found is None for found in lists.values()):
            raise CallerError(
                f"{given!r:.120} is no graph: give the results of add_episode, or an object with "
                f"lists of {', '.join(_PARTS)}"
            )
        readers = {
            "nodes": self._node,
            "edges": self._edge,
            "episodes": self._episode,
            "episodic_edges": self._mention,
            "communities": self._community,
            "community_edges": self._member,
        }
        for name, read in readers.items():
            items = lists[name]
            if items is not None and not isinstance(items, list | tuple):
                raise CallerError(f"{name} is {items!r:.80}; give a list")
            for item in items or ():
                if self._wanted(name, item):
                    read(item)
        if single is not None and self._wanted("episode", single):
            self._episode(single)

    def _wanted(self, place: str, item: Any) -> bool:
        uuid = value(item, "uuid")
        if not isinstance(uuid, str) or not uuid:
            self._set_aside(place, "has no uuid", item)
            return False
        return self.groups is None or value(item, "group_id") in self.groups

    def _set_aside(self, place: str, reason: str, text: object = "") -> None:
        self.graph.aside.append(Aside.of(place, reason, text))

    def _text(self, item: Any, name: str) -> str:
        found = value(item, name)
        return plain(found) if isinstance(found, str) else ""

    def _time(self, item: Any, name: str) -> datetime | None:
        """A time as the library means it: without a zone, it is UTC."""
        return moment(value(item, name), UTC)

    def _soft_time(self, place: str, item: Any, name: str) -> datetime | None:
        """A time that can be done without."""
        try:
            return self._time(item, name)
        except ValueError as error:
            self._set_aside(place, f"{name} is not used: {error}")
            return None

    def _edge(self, item: Any) -> None:
        uuid = value(item, "uuid")
        place = f"edge {uuid}"
        fact, name = self._text(item, "fact"), label(self._text(item, "name")) or "RELATES_TO"
        if not fact.strip():
            self._set_aside(place, "states no fact", item)
            return
        try:
            valid, invalid = self._time(item, "valid_at"), self._time(item, "invalid_at")
        except ValueError as error:
            self._set_aside(place, f"it can't be told when it holds: {error}", fact)
            return
        episodes = value(item, "episodes") or ()
        if not isinstance(episodes, list | tuple):
            self._set_aside(place, "its episodes are no list, and are not used", episodes)
            episodes = ()
        self.graph.edges[uuid] = Edge(
            uuid,
            str(value(item, "source_node_uuid") or ""),
            str(value(item, "target_node_uuid") or ""),
            name,
            fact,
            tuple(dict.fromkeys(each for each in episodes if isinstance(each, str) and each)),
            valid,
            invalid,
            self._soft_time(place, item, "created_at"),
            self._soft_time(place, item, "expired_at"),
            self._soft_time(place, item, "reference_time"),
        )

    def _node(self, item: Any) -> None:
        uuid, name = value(item, "uuid"), self._text(item, "name")
        if not label(name):
            self._set_aside(f"node {uuid}", "has no name", item)
            return
        self.graph.nodes[uuid] = Node(uuid, name, self._text(item, "summary"))

    def _episode(self, item: Any) -> None:
        uuid = value(item, "uuid")
        place = f"episode {uuid}"
        self.graph.episodes[uuid] = Episode(
            uuid,
            label(self._text(item, "name")) or ref(uuid),
            self._text(item, "content"),
            label(self._text(item, "source_description")),
            self._soft_time(place, item, "valid_at"),
            self._soft_time(place, item, "created_at"),
        )

    def _community(self, item: Any) -> None:
        uuid = value(item, "uuid")
        name, summary = self._text(item, "name"), self._text(item, "summary")
        self.graph.communities[uuid] = Community(uuid, name, summary)

    def _mention(self, item: Any) -> None:
        self._join(self.graph.mentions, item, "target_node_uuid", "source_node_uuid")

    def _member(self, item: Any) -> None:
        self._join(self.graph.members, item, "source_node_uuid", "target_node_uuid")

    def _join(self, lists: dict[str, list[str]], item: Any, one: str, other: str) -> None:
        of, what = value(item, one), value(item, other)
        if isinstance(of, str) and isinstance(what, str):
            found = lists.setdefault(of, [])
            if what not in found:
                found.append(what)
