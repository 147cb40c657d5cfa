"""How a ledger grows: what takes how much, month by month, and what there is most of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from doxa.engine.graph import ARTEFACT, CLAIM, Graph, entity

if TYPE_CHECKING:
    from doxa.engine.view import TruthView
    from doxa.ledger import Ledger

__all__ = ["growth"]

MOST: Final = 5  # of the largest that are named
# Microseconds since 1970 are whole seconds rounded down: years before 1970 too.
_MONTHS: Final = (
    "SELECT strftime('%Y-%m', (recorded_at - 999999 * (recorded_at < 0)) / 1000000, 'unixepoch'),"
    " type, count(*), total(length(head) + coalesce(length(data), 0))"
    " FROM log WHERE position <= ? GROUP BY 1, 2 ORDER BY 1"
)


def growth(ledger: Ledger, view: TruthView) -> dict[str, Any]:
    """What grows, as a JSON object: bytes of events by kind, events and bytes by month, the claims
    with the longest histories and the subjects with the most claims, artefacts by state at the
    view, what is archived there, and how much is used. O(events)."""
    graph, bytes_of, months = view.graph, Counter[str](), dict[str, dict[str, int]]()
    for month, kind, events, size in ledger.recorder.select(_MONTHS, (view.revision,)):
        bytes_of[kind] += int(size)
        told = months.setdefault(month, {"events": 0, "bytes": 0})
        told["events"] += events
        told["bytes"] += int(size)
    usage = ledger._usage
    return {
        "event_bytes": dict(sorted(bytes_of.items())),
        "growth": months,
        "largest_histories": list(_histories(graph, view.revision)),
        "largest_subjects": list(_subjects(graph, view.revision)),
        "artefacts": _states(ledger, view),
        "archived": _archived(view),
        "usage": {**usage.figures(), "problem": usage.problem},
    }


def _histories(graph: Graph, head: int) -> Iterator[dict[str, Any]]:
    """The claims about which most was recorded: supports, corrections, withdrawals."""
    import numpy as np

    count = graph.claims_upto(head)
    events = np.zeros(count, np.int64)
    for claims, positions in (
        (graph.s_claim, graph.s_pos),
        (graph.k_target, graph.k_pos),
        (_claims_withdrawn(graph), graph.w_pos),
    ):
        size = len(positions)
        of, at = np.array(claims[:size], np.int64), np.array(positions[:size], np.int64)
        known = (of >= 0) & (of < count) & (at <= head)
        events += np.bincount(of[known], minlength=count)
    for claim in nlargest(MOST, range(min(count, len(events))), key=events.__getitem__):
        if events[claim] > 1:  # besides what every claim has
            yield {
                "id": graph.claim_id(claim),
                "workspace": graph.names.texts[graph.c_ws[claim]],
                "events": int(events[claim]),
            }


def _claims_withdrawn(graph: Graph) -> list[int]:
    """Of each withdrawal, the claim that it takes back, or -1."""
    import numpy as np

    targets = np.array(graph.w_target, np.int64)
    found: list[int] = np.where(targets & 7 == CLAIM, targets >> 3, -1).tolist()
    return found


def _subjects(graph: Graph, head: int) -> Iterator[dict[str, Any]]:
    """The subjects about which there are most claims."""
    import numpy as np

    count = graph.claims_upto(head)
    if not count:
        return
    pairs = np.array(graph.c_ws[:count], np.int64) << 32 | np.array(
        graph.c_subject[:count], np.int64
    )
    found, sizes = np.unique(pairs, return_counts=True)
    for place in nlargest(MOST, range(len(found)), key=sizes.__getitem__):
        if sizes[place] > 1:
            workspace, subject = divmod(int(found[place]), 1 << 32)
            yield {
                "subject": graph.names.texts[subject],
                "workspace": graph.names.texts[workspace],
                "claims": int(sizes[place]),
            }


def _states(ledger: Ledger, view: TruthView) -> dict[str, int]:
    """How many artefacts, of all workspaces, are eligible, invalidated, archived."""
    from doxa.engine.hiding import hidden

    fold = ledger._stream.capture()[0]
    hides, found = hidden(view.belief, view.v, view.k), Counter[str]()
    for row, position in enumerate(view.graph.a_pos):
        if position > view.k:
            break
        if entity(ARTEFACT, row) in hides:
            found["archived"] += 1
        elif fold.registry.eligible(row, view.v, view.k):
            found["eligible"] += 1
        else:
            found["invalidated"] += 1
    return {state: found[state] for state in ("eligible", "invalidated", "archived")}


def _archived(view: TruthView) -> dict[str, int]:
    from doxa.engine.hiding import hidden

    numbers: Iterable[int] = hidden(view.belief, view.v, view.k).numbers.tolist()
    kinds = Counter(number & 7 for number in numbers)
    return {"claims": kinds[CLAIM], "artefacts": kinds[ARTEFACT]}
