"""A Graphiti graph as its dump has it: nodes, edges and episodes as `model_dump(mode="json")`."""

from __future__ import annotations

import copy
from typing import Any

DAY = "2024-01-02T09:00:00Z"


def node(uuid: str, name: str, summary: str = "", **more: Any) -> dict[str, Any]:
    fixed = {"group_id": "", "labels": ["Entity"], "created_at": DAY, "attributes": {}}
    return {"uuid": uuid, "name": name, "summary": summary, **fixed, **more}


def episode(uuid: str, content: str, valid_at: str | None, **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "name": f"press {uuid}",
        "group_id": "",
        "source": "text",
        "source_description": "press",
        "content": content,
        "created_at": DAY,
        "valid_at": valid_at,
        **more,
    }


def edge(uuid: str, ends: tuple[str, str], fact: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "group_id": "",
        "source_node_uuid": ends[0],
        "target_node_uuid": ends[1],
        "name": "LEADS",
        "fact": fact,
        "episodes": ["p1"],
        "created_at": DAY,
        "expired_at": None,
        "valid_at": "2024-01-01T00:00:00Z",
        "invalid_at": None,
        "reference_time": None,
        "attributes": {},
        **more,
    }


ANN, BOB, ACME = node("n1", "Ann", "Ann leads Acme."), node("n2", "Bob"), node("n3", "Acme")
P1 = episode("p1", "Ann leads Acme.", "2024-01-01T00:00:00Z")
P2 = episode("p2", "Bob replaced Ann.", "2026-03-01T00:00:00Z", created_at="2026-03-04T08:00:00Z")
E1 = edge("e1", ("n1", "n3"), "Ann leads Acme.")
E2 = edge(
    "e2",
    ("n2", "n3"),
    "Bob leads Acme.",
    episodes=["p2"],
    created_at="2026-03-04T08:00:00Z",
    valid_at="2026-03-01T00:00:00Z",
)
ENDED = {"invalid_at": "2026-03-01T00:00:00Z", "expired_at": "2026-03-04T08:00:01Z"}


def mention(of: dict[str, Any], by: dict[str, Any]) -> dict[str, Any]:
    ends = {"source_node_uuid": by["uuid"], "target_node_uuid": of["uuid"]}
    return {"uuid": f"{by['uuid']}-{of['uuid']}", "group_id": "", "created_at": DAY, **ends}


def before() -> dict[str, Any]:
    """The graph after the first episode; each time a copy."""
    graph = {
        "nodes": [ANN, ACME],
        "edges": [E1],
        "episodes": [P1],
        "episodic_edges": [mention(ANN, P1), mention(ACME, P1)],
        "communities": [],
        "community_edges": [],
    }
    return copy.deepcopy(graph)


def after() -> dict[str, Any]:
    """The graph after the second, which has overwritten the first edge; each time a copy."""
    graph = {
        "nodes": [ANN, node("n2", "Bob", "Bob leads Acme."), ACME],
        "edges": [{**E1, **ENDED}, E2],
        "episodes": [P1, P2],
        "episodic_edges": [mention(ANN, P1), mention(ACME, P1), mention(BOB, P2)],
        "communities": [node("k1", "Acme and its people", "Bob leads Acme these days.")],
        "community_edges": [
            {
                "uuid": f"k1-{uuid}",
                "group_id": "",
                "source_node_uuid": "k1",
                "target_node_uuid": uuid,
                "created_at": DAY,
            }
            for uuid in ("n1", "n2", "n3")
        ],
    }
    return copy.deepcopy(graph)
