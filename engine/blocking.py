"""That a claim was kept out: the smallest of all events, written whenever somebody tries again.

It changes nothing that is believed, so what is stored and what is folded are made of it directly;
both are, to the last byte and row, what the codec and the fold make of its event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.declared import BLOCKED
from doxa.engine.graph import POLICY, Graph, entity
from doxa.engine.log import NewEvent, as_new

__all__ = ["Blocking", "note"]

_DATA = to_json({})


class Blocking(NamedTuple):
    """What is recorded of a claim that was kept out: its id, and which rejection it ran into."""

    workspace: str
    id: str
    rejection: str | ev.Ref
    of: str

    @property
    def event(self) -> ev.Policy:
        """The event."""
        return ev.Policy(id=self.id, workspace=self.workspace, blocked=self.rejection, of=self.of)

    def stored(self) -> NewEvent:
        """The event as it is stored."""
        head: dict[str, Any] = {"v": codec.VERSION, "id": self.id}
        if self.workspace:
            head["workspace"] = self.workspace
        ref = self.rejection
        head["blocked"] = (
            ref if isinstance(ref, str) else {"workspace": ref.workspace, "id": ref.id}
        )
        head["of"] = self.of
        return as_new(("policy", to_json(head), _DATA, ()))


def note(graph: Graph, first: int, recorded_at: int, blockings: Sequence[Blocking]) -> None:
    """Adds the rows of a commit that says nothing else."""
    assert first == graph.position + 1, (first, graph.position)
    workspaces = set()
    for position, blocking in enumerate(blockings, first):
        ws = graph.names.code(blocking.workspace)
        graph.ids.add(ws, blocking.id, entity(POLICY, graph.put_policy(position, ws, BLOCKED)))
        workspaces.add(ws)
    graph.close_commit(first + len(blockings) - 1, recorded_at, workspaces)
