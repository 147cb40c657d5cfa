"""What is hidden at a view, how important it is, and until when: what policies say of records.

A *record* is a claim or an artefact, by its entity. Policies count from their recording until they
are withdrawn; of several that say the same kind of thing the newest that counts decides.
"""

from __future__ import annotations

from doxa.engine.belief import Belief
from doxa.engine.declared import ARCHIVED, EXPIRES, RESTORED, SCORED
from doxa.engine.graph import NONE, POLICY, entity
from doxa.engine.times import Instant

__all__ = ["archived", "archived_now", "expiry", "importance"]

_HIDING = (ARCHIVED, RESTORED)


def archived(belief: Belief, number: int, v: Instant, k: int) -> bool:
    """Whether a record is archived at (v, k): hidden from recall and context, and true as ever.
    O(policies that name it)."""
    row = _newest(belief, number, _HIDING, v, k)
    return row != NONE and belief.graph.p_what[row] == ARCHIVED


def archived_now(belief: Belief, number: int) -> bool:
    """Whether a record is archived by what was recorded last and is not wholly withdrawn."""
    graph = belief.graph
    for row in reversed(graph.policies_on.get(number)):
        if graph.p_what[row] in _HIDING and belief.extent_now(entity(POLICY, row)):
            return graph.p_what[row] == ARCHIVED
    return False


def importance(belief: Belief, number: int, v: Instant, k: int) -> float:
    """The importance of a record as it was scored last, from 0 to 1; 0 where nobody did."""
    row = _newest(belief, number, (SCORED,), v, k)
    return max(0.0, belief.graph.p_number[row]) if row != NONE else 0.0


def expiry(belief: Belief, number: int, v: Instant, k: int) -> Instant | None:
    """The instant from which on a record is to be archived, or ``None``."""
    row = _newest(belief, number, (EXPIRES,), v, k)
    return belief.graph.p_at[row] if row != NONE else None


def _newest(belief: Belief, number: int, kinds: tuple[int, ...], v: Instant, k: int) -> int:
    """The newest policy of some kinds about a record that counts at (v, k), or NONE."""
    graph = belief.graph
    for row in reversed(graph.policies_on.get(number)):
        if (
            graph.p_what[row] in kinds
            and graph.p_pos[row] <= k
            and belief.counts(entity(POLICY, row), v, k)
        ):
            return row
    return NONE
