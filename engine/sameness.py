"""Whether two folds of one log hold the same, whatever order they gave out codes in."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from doxa.engine.fold import Fold
from doxa.engine.graph import Graph
from doxa.engine.history import History
from doxa.engine.tables import NONE

__all__ = ["differences"]

# Columns of whole numbers that mean the same in every fold, and of codes, which stand for texts.
_NUMBERS: Final = (
    "c_pos", "c_from", "c_to", "c_carried", "c_plain", "s_pos", "s_claim", "s_from", "s_to",
    "s_observed", "s_refutes", "k_pos", "k_target", "k_by", "k_from", "k_to", "w_pos", "w_target",
    "w_from", "w_to", "a_pos", "a_at", "a_summary", "a_snapshot", "p_pos", "commit_last",
    "commit_at",
)  # fmt: skip
_CODES: Final = ("c_ws", "c_subject", "c_predicate", "c_perspective", "c_kind", "s_origin")
_ROWS: Final = ("owner", "low", "high", "known", "until", "code")


def differences(one: Fold, other: Fold) -> Iterator[str]:
    """The names of what differs between two folds; none where they are the same."""
    for name in _NUMBERS:
        if not np.array_equal(*(_ints(getattr(fold.belief.graph, name)) for fold in (one, other))):
            yield name
    for name in _CODES:
        if _texts(one.belief.graph, name) != _texts(other.belief.graph, name):
            yield name
    if list(one.belief.graph.ids.texts) != list(other.belief.graph.ids.texts):
        yield "ids"
    for name in ("beliefs", "extents"):
        histories = (getattr(fold.belief, name) for fold in (one, other))
        if not np.array_equal(*map(_rows, histories)):
            yield name


def _ints(column: array[int] | bytearray) -> Any:
    return np.frombuffer(column[:], np.uint8 if isinstance(column, bytearray) else column.typecode)


def _texts(graph: Graph, name: str) -> list[str | None]:
    texts: dict[int, str | None] = {NONE: None}
    column = getattr(graph, name)
    for code in set(column) - {NONE}:
        texts[code] = graph.names.texts[code]
    return [texts[code] for code in column]


def _rows(history: History) -> Any:
    columns = [_ints(getattr(history, name)).astype(np.int64) for name in _ROWS]
    return np.stack(columns)[:, np.lexsort(columns[::-1])]
