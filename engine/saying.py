"""Which claims say a value, whatever they are about: for its rejection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from pydantic_core import from_json

from doxa.engine.belief import Belief
from doxa.engine.graph import NONE, Graph
from doxa.engine.log import Row
from doxa.engine.rejecting import normal
from doxa.engine.rows import SHARED

__all__ = ["Saying"]

_AT_ONCE: Final = 5_000  # claims whose content is in memory at a time


class Saying:
    """The claims whose object or text is one of some values, found step by step as the log grows.

    Their content is read from the log, since their texts are nowhere else: O(claims in scope), a
    few microseconds each.
    """

    def __init__(
        self,
        values: Iterable[object],
        workspace: str,
        predicate: str | None,
        rows: Callable[[Sequence[int]], Mapping[int, Row]],
    ) -> None:
        """Looked at are the claims of a workspace, or of all for the shared one, and of a
        predicate, if one is given. ``rows`` reads the stored events at log positions."""
        self.forms = set(map(normal, values))
        self.workspace, self.predicate = workspace, predicate
        self.rows = rows
        self.upto = 0  # the claims up to this row have been looked at
        self.found: list[int] = []

    def look(
        self, graph: Graph, position: int, progress: Callable[[int, int | None], None] | None = None
    ) -> None:
        """Looks at the claims up to a position that were not looked at yet.

        ``progress(claims, all)`` is called now and then.
        """
        end = graph.claims_upto(position)
        claims = self._in_scope(graph, self.upto, end)
        for first in range(0, len(claims), _AT_ONCE):
            some = claims[first : first + _AT_ONCE]
            by_position = {graph.c_pos[claim]: claim for claim in some}
            for at, row in self.rows(list(by_position)).items():
                if row.data is not None and self._says(row.data):
                    self.found.append(by_position[at])
            if progress is not None:
                progress(first + len(some), len(claims))
        self.upto = end

    def _in_scope(self, graph: Graph, first: int, end: int) -> list[int]:
        find, chosen = graph.names.find, np.ones(end - first, dtype=bool)
        for column, name, every in (
            (graph.c_ws, self.workspace, SHARED),
            (graph.c_predicate, self.predicate, NONE),
        ):
            code = every if name is None else find(name)
            if name is not None and code == NONE:
                return []  # nothing was ever said there
            if code != every:
                chosen &= np.frombuffer(column[first:end], dtype=np.int32) == code
        claims: list[int] = (np.flatnonzero(chosen) + first).tolist()
        return claims

    def _says(self, data: bytes) -> bool:
        content = from_json(data)
        text = content.get("text")
        return normal(content["object"]) in self.forms or (
            text is not None and normal(text) in self.forms
        )

    def held(self, belief: Belief) -> list[int]:
        """Those of them that are held at any valid time, as known at the head."""
        return [claim for claim in self.found if belief.held_now(claim)]
