"""A Graphiti graph into a ledger: as episodes are added, or all that is stored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doxa.adapters.carrying import Aside, Earlier, Progress, check_ledger, write
from doxa.adapters.graphiti.graph import Graph, graph_of, ref
from doxa.adapters.graphiti.mapping import Ids, Mapping, Undated
from doxa.adapters.graphiti.summaries import add_summaries
from doxa.engine.errors import CallerError
from doxa.engine.graph import SUPPORT, entity
from doxa.engine.words import counted

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["Recorded", "aimport_graph", "arecord_results", "import_graph", "record_results"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded: ``events`` that are new and their ``commits``, of which so many are
    ``claims``, ``supports`` and ``summaries``; claims that have ``ended``; edges whose words were
    ``changed`` in place; evidence ``withdrawn`` since the graph has it no more, and what was
    ``restored``; summaries ``replaced`` by others; what was ``set_aside``."""

    events: int
    commits: int
    claims: int
    supports: int
    summaries: int
    ended: int
    changed: int
    withdrawn: tuple[str, ...]
    restored: int
    replaced: int
    set_aside: tuple[Aside, ...]
    dry_run: bool = False

    @property
    def unchanged(self) -> bool:
        """Whether there was nothing to record."""
        return not self.events

    def as_dict(self) -> dict[str, Any]:
        """What was recorded, as a JSON object."""
        found = {name: getattr(self, name) for name in self.__slots__}
        found["withdrawn"] = list(self.withdrawn)
        found["set_aside"] = [aside.as_dict() for aside in self.set_aside]
        return found

    def __str__(self) -> str:
        head = (
            f"{counted(self.claims, 'claim')}, {counted(self.supports, 'support')}, "
            f"{counted(self.summaries, 'summary', 'summaries')}; "
            f"{self.ended} ended, {self.changed} changed, {len(self.withdrawn)} withdrawn, "
            f"{self.restored} restored, {self.replaced} replaced; {len(self.set_aside)} set aside"
        )
        return "\n".join([head, *map(str, self.set_aside)])


def record_results(
    ledger: Ledger,
    results: object,
    *,
    name: str = "default",
    workspace: str = "",
    undated: Undated = "always",
) -> Recorded:
    """Records what ``add_episode`` returned (or ``add_episode_bulk``, ``add_triplet``): the episode
    as a source, edges as claims, invalidated ones as corrections from their ``invalid_at`` on.

    Call it after each of them: the graph overwrites in place, the ledger keeps both. Each event is
    recorded at the time that the graph states (``created_at``, ``expired_at``) where that is later
    than all in the ledger, else as it arrives. An edge without ``valid_at`` holds ``always``, or
    from its ``reference_time`` on, as ``undated`` says. Safe to repeat: results that come late, or
    again, take no end away and bring no former words back. Raises `CallerError`.
    """
    return _record(ledger, graph_of(results), name, workspace, undated, stored=False)


def import_graph(
    ledger: Ledger,
    graph: object,
    *,
    name: str = "default",
    workspace: str = "",
    group_ids: Iterable[str] | None = None,
    undated: Undated = "always",
    complete: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Recorded:
    """Records a stored graph: an object or mapping with lists of ``nodes``, ``edges``,
    ``episodes``, ``episodic_edges``, ``communities`` and ``community_edges``, such as `read_graph`
    returns, or a dump of it; several may be given in a list.

    As `record_results`, with the history that the graph still has. Where an edge was overwritten
    since the last import, that is a correction. With ``complete`` the graph given is all there is:
    evidence recorded under this ``name`` that it lacks is withdrawn. A ``dry_run`` writes nothing.
    ``progress(events done, total)`` is called now and then.
    """
    found = graph_of(graph, group_ids)
    how = {"complete": complete, "dry_run": dry_run}
    return _record(ledger, found, name, workspace, undated, **how, progress=progress)


async def arecord_results(ledger: Ledger, results: object, **options: Any) -> Recorded:
    """`record_results` for asynchronous code, in a thread, with the same result."""
    return await asyncio.to_thread(lambda: record_results(ledger, results, **options))


async def aimport_graph(ledger: Ledger, graph: object, **options: Any) -> Recorded:
    """`import_graph` for asynchronous code, in a thread, with the same result."""
    return await asyncio.to_thread(lambda: import_graph(ledger, graph, **options))


def _record(
    ledger: Ledger,
    graph: Graph,
    name: str,
    workspace: str,
    undated: Undated,
    *,
    stored: bool = True,
    complete: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Recorded:
    check_ledger(ledger)
    if undated not in ("always", "reference_time"):
        raise CallerError(f"undated is {undated!r:.60}; give always or reference_time")
    ids = Ids(name)
    mapping = Mapping(graph, Earlier(ledger, workspace), ids, ledger.clock(), undated, stored)
    mapping.run()
    withdrawn = _withdrawn(mapping, complete)
    replaced = add_summaries(mapping)
    events = mapping.in_order()
    kinds = Counter(event["event"] for event in events)
    refused: tuple[Aside, ...] = ()
    written, commits = len(events), 0
    if not dry_run:
        done = write(ledger, events, workspace, progress)
        written, commits, refused = done.events, done.commits, done.refused
    return Recorded(
        written,
        commits,
        kinds["claim"],
        kinds["support"],
        kinds["summary"],
        mapping.ended,
        mapping.changed,
        withdrawn,
        sum(event["id"].endswith("/back") for event in events),
        replaced,
        (*graph.aside, *mapping.aside, *refused),
        dry_run,
    )


def _withdrawn(mapping: Mapping, complete: bool) -> tuple[str, ...]:
    """Takes back evidence that the graph no longer has; returns its ids."""
    found = []
    for id in dict.fromkeys(_absent(mapping, complete)):
        event = mapping.earlier.taken_back(id, "the graph no longer has it")
        if event is not None:
            mapping.add(event, [])
            found.append(id)
    return tuple(found)


def _absent(mapping: Mapping, complete: bool) -> Iterator[str]:
    """Supports that were recorded and that the graph would have: of its edges, of its episodes'
    former texts or, where it is complete, of whatever else."""
    earlier, ids, graph = mapping.earlier, mapping.ids, mapping.graph
    if complete:
        episodes = {"-", *map(ref, graph.episodes)}
        for kind in ("support", "said"):
            for id in earlier.supports(f"{ids.prefix}{kind}:"):
                unknown = kind == "support" and id.rpartition(":")[2] not in episodes
                if id not in mapping.present or (unknown and graph.episodes):
                    yield id
        return
    if not mapping.stored:
        return
    for claim in mapping.claims.values():
        number = earlier.number(claim)
        if number >= 0:
            rows = earlier.graph.supports_of(number >> 3)
            for id in (earlier.graph.id_of(entity(SUPPORT, row)) for row in rows):
                if id.startswith(f"{ids.prefix}support:") and id not in mapping.present:
                    yield id
    for episode in graph.episodes.values():
        yield from (id for id in _said_before(mapping, episode.uuid) if id not in mapping.present)


def _said_before(mapping: Mapping, uuid: str) -> Iterator[str]:
    """The supports by which an episode said its text, whatever that was."""
    earlier = mapping.earlier
    names = earlier.graph.names
    for source in earlier.graph.sources_named.get(names.find(mapping.ids.source(uuid))):
        for row in earlier.graph.supports_from(source):
            id = earlier.graph.id_of(entity(SUPPORT, row))
            if id.startswith(mapping.ids.said(uuid)):
                yield id
