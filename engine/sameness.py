"""Whether two folds of one log hold the same, whatever order they gave out codes in."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from doxa.engine.fold import Fold
from doxa.engine.graph import CLAIM, SOURCE, Graph
from doxa.engine.history import History
from doxa.engine.tables import NONE

__all__ = ["differences"]

# Columns of whole numbers that mean the same in every fold; of codes, which stand for texts; of the
# rows of sources, which stand for their workspaces and names; and of entities.
_NUMBERS: Final = (
    "c_pos", "c_from", "c_to", "c_carried", "c_plain", "s_pos", "s_claim", "s_from", "s_to",
    "s_observed", "s_refutes", "k_pos", "k_target", "k_by", "k_from", "k_to", "w_pos", "w_from",
    "w_to", "a_pos", "a_at", "a_summary", "a_snapshot", "p_pos", "commit_last", "commit_at",
)  # fmt: skip
_CODES: Final = (
    "c_ws", "c_subject", "c_predicate", "c_perspective", "c_kind", "s_origin", "s_digest",
)  # fmt: skip
_SOURCES: Final = ("s_source", "k_source")
_LISTS: Final = (
    "extra_supports", "dependents", "corrections_of", "replaces", "s_because", "contradictions",
    "p_claims", "verifications", "pinnings",
)  # fmt: skip
_SERIES: Final = ("a_facts", "a_supports", "a_citations")
_ROWS: Final = ("low", "high", "known", "until", "code")


def differences(one: Fold, other: Fold) -> Iterator[str]:
    """The names of what differs between two folds; none where they are the same."""
    graphs = one.belief.graph, other.belief.graph
    ranks = [_ranks(graph) for graph in graphs]
    for name in _NUMBERS:
        if not np.array_equal(*(_ints(getattr(graph, name)) for graph in graphs)):
            yield name
    for name in _CODES:
        if _texts(graphs[0], name) != _texts(graphs[1], name):
            yield name
    for name in _SOURCES:
        if not np.array_equal(
            *(r[_ints(getattr(g, name))] for g, r in zip(graphs, ranks, strict=True))
        ):
            yield name
    if not np.array_equal(
        *(_ranked(_ints(g.w_target), r) for g, r in zip(graphs, ranks, strict=True))
    ):
        yield "w_target"
    for name in _LISTS:
        if _lists(graphs[0], name) != _lists(graphs[1], name):
            yield name
    for name in _SERIES:
        series = [getattr(graph, name) for graph in graphs]
        if any(series[0].values != each.values or series[0].ends != each.ends for each in series):
            yield name
    for name in ("c_object", "ids"):
        texts = [g.c_object if name == "c_object" else g.ids.texts for g in graphs]
        if [texts[0].text(i) for i in range(len(texts[0]))] != [
            texts[1].text(i) for i in range(len(texts[1]))
        ]:
            yield name
    gone = np.array([n >> 3 for n in graphs[0].erased if n & 7 == CLAIM], np.int64)
    if not np.array_equal(*(_rows(f.belief.beliefs, None, gone) for f in (one, other))):
        yield "beliefs"
    extents = [_rows(f.belief.extents, r) for f, r in zip((one, other), ranks, strict=True)]
    if not np.array_equal(*extents):
        yield "extents"


def _ints(column: array[int] | bytearray) -> Any:
    return np.frombuffer(column[:], np.uint8 if isinstance(column, bytearray) else column.typecode)


def _texts(graph: Graph, name: str) -> list[str | None]:
    texts: dict[int, str | None] = {NONE: None}
    column = getattr(graph, name)
    for code in set(column) - {NONE}:
        texts[code] = graph.names.texts[code]
    return [texts[code] for code in column]


def _ranks(graph: Graph) -> Any:
    """The place of each source among all, by workspace and name; NONE, at the end, for none."""
    texts = graph.names.texts
    named = [(texts[ws], texts[name]) for ws, name in zip(graph.r_ws, graph.r_name, strict=True)]
    ranks = np.full(len(named) + 1, NONE, np.int64)
    ranks[sorted(range(len(named)), key=named.__getitem__)] = np.arange(len(named))
    return ranks


def _ranked(numbers: Any, ranks: Any) -> Any:
    """Entities, with sources by their places."""
    of_source = (numbers & 7) == SOURCE
    return np.where(of_source, ranks[np.where(of_source, numbers >> 3, NONE)] * 8, numbers * 2 + 1)


def _lists(graph: Graph, name: str) -> dict[int, tuple[int, ...]]:
    return {key: tuple(values) for key, values in getattr(graph, name).items()}


def _rows(history: History, ranks: Any, but: Any = ()) -> Any:
    """The rows of a history in one order, but for those of some owners: what corroborated or
    contested a claim that is erased is gone with its content."""
    owners = _ints(history.owner).astype(np.int64)
    columns = [owners if ranks is None else _ranked(owners, ranks)]
    columns += [_ints(getattr(history, name)).astype(np.int64) for name in _ROWS]
    found = np.stack(columns)[:, np.lexsort(columns[::-1])]
    return found[:, ~np.isin(found[0], but)]
