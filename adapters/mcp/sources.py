"""What the texts of a block are from, by the names of their sources."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.engine.block import Block
from doxa.engine.candidates import Given, Unread
from doxa.engine.graph import ARTEFACT, CLAIM, NONE, SUPPORT, entity
from doxa.views import TruthView

__all__ = ["printed_sources"]


def printed_sources(block: Block, view: TruthView) -> list[list[str]]:
    """The sources of each text that is printed, each once; of what was concluded, those of the
    claims that it was concluded from. Evidence against it is not among them."""
    read = block._made.candidates or ()
    given = {one.id: one for one in read if not isinstance(one, Unread)}
    found = []
    for one in block.printed:
        candidate = given.get(one.id) if one.kind == "candidate" else None
        declared = () if candidate is None else candidate.sources
        numbers = [view.find(one.id)] if candidate is None else _rests_on(candidate, view)
        found.append([*dict.fromkeys((*declared, *_sources(numbers, view)))])
    return found


def _rests_on(given: Given, view: TruthView) -> list[int]:
    """What a candidate is or, where it is nothing registered, what it says that it rests on."""
    if given.artefact is not None:
        return [view.find(given.artefact, given.workspace)]
    ids = (*given.facts, *given.supports, *given.citations)
    if not ids and not given.sources:
        return [view.find(given.id, given.workspace)]
    return [view.find(id, given.workspace) for id in ids]


def _sources(numbers: list[int], view: TruthView) -> Iterator[str]:
    """The names of the sources behind entities, as far as they are in sight and count there."""
    graph, texts = view.graph, view.graph.names.texts
    sight = {view.workspace, ""} if view.shared else {view.workspace}
    left, seen = numbers[::-1], {NONE}
    while left:
        number = left.pop()
        if number in seen:
            continue
        seen.add(number)
        if texts[graph.workspace_of(number)] not in sight:
            continue
        if number & 7 == SUPPORT and graph.s_source[number >> 3] != NONE:
            yield texts[graph.r_name[graph.s_source[number >> 3]]]
        elif number & 7 == ARTEFACT:
            yield from (texts[graph.r_name[source]] for source in graph.a_sources[number >> 3])
        left += reversed(_behind(number, view))


def _behind(number: int, view: TruthView) -> list[int]:
    """What a claim, a piece of evidence or a registered text rests on itself."""
    graph, kind, row = view.graph, number & 7, number >> 3
    if kind == CLAIM:
        live = view.belief.live_supports(row, view.v, view.k)
        return [entity(SUPPORT, support) for support in live if not graph.s_refutes[support]]
    if kind == SUPPORT:
        return [entity(CLAIM, claim) for claim in graph.s_because.get(row)]
    if kind == ARTEFACT:
        return [
            *(entity(CLAIM, claim) for claim in graph.a_facts[row]),
            *(entity(SUPPORT, support) for support in graph.a_supports[row]),
            *(entity(ARTEFACT, citation) for citation in graph.a_citations[row]),
        ]
    return []
