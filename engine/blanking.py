"""Taking the content of erased events out of a fold that has it: as if it had been read without.

What the log keeps of them (ids, intervals, edges) stays, and so does all that was worked out from
their content of others. Names that nothing else goes by, and objects, are overwritten; the claims
are found by their subjects no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import Belief
from doxa.engine.graph import ARTEFACT, CLAIM, CORRECTION, NONE, SUPPORT, Graph
from doxa.engine.rows import NAMED, SHARED, WHOLE

__all__ = ["blank"]


def blank(belief: Belief, numbers: Iterable[int]) -> None:
    """Takes the content of entities out of a belief whose columns are all there.
    O(claims), in numpy, and O(claims about the subjects of those erased)."""
    graph = belief.graph
    rows: dict[int, list[int]] = {}
    for number in numbers:
        rows.setdefault(number & 7, []).append(number >> 3)
    claims = sorted(rows.get(CLAIM, ()))
    unused = _claims(graph, claims)
    unused |= _supports(graph, rows.get(SUPPORT, ()))
    unused |= _artefacts(graph, rows.get(ARTEFACT, ()))
    for row in rows.get(CORRECTION, ()):
        if row in graph.k_unresolved:
            graph.k_unresolved[row] = _wordless(graph.k_unresolved[row])
    graph.names.blank(sorted(unused - _named(graph, unused) - {SHARED, NONE}))
    belief.forget_contents()
    belief.forget_origins()
    belief.crowds.forget()


def _claims(graph: Graph, rows: Sequence[int]) -> set[int]:
    """Blanks claims; the names that they went by."""
    if not rows:
        return set()
    names: set[int] = set()
    graph.unchain(rows)
    graph.points.leave_out(graph.names, rows)
    for column in (graph.c_subject, graph.c_predicate, graph.c_perspective):
        for row in rows:
            names.add(column[row])
            column[row] = SHARED
    graph.c_object.blank(rows)
    return names


def _supports(graph: Graph, rows: Iterable[int]) -> set[int]:
    names: set[int] = set()
    for row in rows:
        names |= {graph.s_origin[row], graph.s_digest[row]}
        source = graph.s_source[row]
        graph.s_origin[row] = NONE if source == NONE else graph.r_name[source]
        graph.s_digest[row] = NONE
        graph.s_observed[row] = times.NEG
    return names


def _artefacts(graph: Graph, rows: Iterable[int]) -> set[int]:
    names: set[int] = set()
    for row in rows:
        if graph.a_snapshot[row] == NAMED:
            names.update(graph.a_subjects[row])
            graph.a_subjects.replace(row, SHARED)
            graph.a_snapshot[row] = WHOLE
    return names


def _wordless(event: ev.Correction) -> ev.Correction:
    source = None if event.source is None else ev.SourceRef(id=event.source.id)
    return event.model_copy(update={"reason": None, "source": source})


def _named(graph: Graph, codes: set[int]) -> set[int]:
    """Those of some codes of names that anything still goes by. O(events), in numpy."""
    sought = np.array(sorted(codes), np.int64)
    used: set[int] = set()
    for column in (
        *(graph.c_ws, graph.c_subject, graph.c_predicate, graph.c_perspective, graph.c_kind),
        *(graph.s_origin, graph.s_digest, graph.r_name, graph.r_ws, graph.a_subjects.values),
    ):
        used.update(sought[np.isin(sought, np.frombuffer(column[:], column.typecode))].tolist())
    for keys in (graph.revisions, graph.single_valued):
        used.update(codes.intersection(keys))
    for lists in (graph.decays_of, graph.calibrations, graph.rejections):
        used.update(codes.intersection(lists.keys()))
    for numbers in (graph.p_about, graph.p_predicate):
        used.update(codes.intersection(value for _, value in numbers.items()))
    return used
