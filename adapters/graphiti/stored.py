"""All that a Graphiti driver has stored, read through the library's own classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from doxa.adapters.extras import missing
from doxa.engine.errors import CallerError

__all__ = ["read_graph"]

_PAGE: Final = 1_000


async def read_graph(driver: Any, group_ids: Iterable[str] = ("",)) -> dict[str, list[Any]]:
    """The nodes, edges, episodes and communities of some groups, as `import_graph` takes them;
    ``driver`` is that of a Graphiti (``graphiti.driver``). Raises `MissingExtra` without Graphiti.
    """
    try:
        from graphiti_core import edges, errors, nodes
    except ImportError as error:
        needs, besides = f"reading a stored graph ({error})", "or give import_graph a dump"
        raise missing("graphiti_core", "graphiti", needs, besides) from None
    if isinstance(group_ids, str):
        raise CallerError(f"group_ids is {group_ids!r:.80}; give a list of them")
    groups = list(group_ids)
    kinds = {
        "nodes": nodes.EntityNode,
        "edges": edges.EntityEdge,
        "episodes": nodes.EpisodicNode,
        "episodic_edges": edges.EpisodicEdge,
        "communities": nodes.CommunityNode,
        "community_edges": edges.CommunityEdge,
    }
    found: dict[str, list[Any]] = {}
    for name, kind in kinds.items():
        found[name] = await _all(driver, kind, groups, errors.GroupsEdgesNotFoundError)
    return found


async def _all(driver: Any, kind: Any, groups: list[str], none: type[Exception]) -> list[Any]:
    """Everything of one kind, page by page; the library goes down the uuids."""
    found: list[Any] = []
    cursor = None
    while True:
        try:
            page = await kind.get_by_group_ids(driver, groups, limit=_PAGE, uuid_cursor=cursor)
        except none:
            page = []
        found += page
        if len(page) < _PAGE:
            return found
        cursor = page[-1].uuid
