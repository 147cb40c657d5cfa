"""What is held about one subject and predicate: the way that most questions go.

Where the claims lie side by side (see `points`), they are read there; else along their chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from doxa.engine import events as ev
from doxa.engine import times
from doxa.engine.belief import CONTESTED, HOLDS
from doxa.engine.errors import CallerError, Erased
from doxa.engine.graph import NONE
from doxa.engine.points import MIXED, RECORD
from doxa.engine.rows import SHARED
from doxa.engine.tables import Objects

if TYPE_CHECKING:
    from doxa.engine.view import TruthView

__all__ = ["SHARED_ONLY", "check", "held_about", "refuse_erased", "several"]

SHARED_ONLY: Final = frozenset({SHARED})
_SIZE: Final = RECORD.size
_unpack: Final = RECORD.iter_unpack
_number: Final = int.from_bytes


def check(text: object) -> None:
    """Raises `CallerError` for what is no text."""
    if not isinstance(text, str):
        raise CallerError(
            f"{text!r:.80} is of type {type(text).__name__}; subjects, predicates and kinds are "
            "text"
        )


def held_about(view: TruthView, subject: str, predicate: str) -> tuple[list[int], bool]:
    """The rows of what is held, in log order, and whether any of it is contested."""
    graph = view.graph
    if graph.erased_about:
        refuse_erased(view, subject, predicate)
    names, laid = graph.names, graph.points.laid
    if laid is None:
        return _chained(view, subject, predicate)
    live, secret, spread, shift, heads, records = laid
    try:
        aside = subject in live or live is not names.live
        code, text = names.find(predicate), subject.encode()
    except (AttributeError, TypeError, UnicodeEncodeError):  # no text; or one that needs care
        aside = True
    if aside:
        return _chained(view, subject, predicate)
    if code == NONE:
        return [], False
    bucket = (_number(text, "big") * spread + code * MIXED) % secret >> shift
    first, end = heads[bucket], heads[bucket + 1]
    belief = view.belief
    if end - first > belief.many:
        return _chained(view, subject, predicate)
    v, k = view.v, view.k
    held: list[int] = []
    contested, confirmed = False, NONE
    for said, about, row, position, workspace, stands, low, high in _unpack(
        records[first * _SIZE : end * _SIZE]
    ):
        if position > k or said != code or v < low or v >= high:
            continue
        if about != confirmed:
            blob, ends, _ = names.texts.parts[0]
            if blob[ends[about] : ends[about + 1]] != text:
                continue
            confirmed = about
        if workspace not in (view.workspaces if view.workspace else SHARED_ONLY):
            continue
        if view.perspective is not None and not _of_perspective(view, row):
            continue
        beliefs = belief.beliefs
        if row < len(beliefs.since) and beliefs.since[row] <= k:
            stands = beliefs.at(row, v, k)
        if stands & HOLDS:
            held.append(row)
            if stands & CONTESTED:
                contested = True
    return held, contested


def refuse_erased(view: TruthView, subject: str, predicate: str) -> None:
    """Raises `Erased` where a claim that was held about a subject and predicate, and belongs to the
    answer, has no content any more."""
    check(subject)
    check(predicate)
    graph = view.graph
    gone = [
        row
        for row in graph.erased_claims(subject, predicate)
        if view.in_sight(row) and view.belief.held(row, view.v, view.k)
    ]
    if gone:
        raise Erased(
            f"{subject} {predicate} at {times.iso(view.v)}: the answer as known at revision "
            f"{view.k} was erased ({', '.join(map(graph.claim_id, gone))}), and nobody can give it "
            "any more; ask as known now, or for what else is held with claims"
        )


def _chained(view: TruthView, subject: str, predicate: str) -> tuple[list[int], bool]:
    """The same along the chain of the claims about a subject and predicate."""
    check(subject)
    check(predicate)
    graph, belief, v, k = view.graph, view.belief, view.v, view.k
    about, said = graph.names.find(subject), graph.names.find(predicate)
    if about == NONE or said == NONE:
        return [], False
    many = belief.crowds.known(about, said)
    found: list[int] = []
    if not many:
        row, following = graph.newest_about(about, said), graph.c_next_key
        starts, ends, steps = graph.c_from, graph.c_to, 0
        while row != NONE and not many:
            if starts[row] <= v < ends[row]:
                found.append(row)
            row, steps = following[row], steps + 1
            many = steps > belief.many
    if many:
        found = belief.about(about, said, v)
    held: list[int] = []
    contested = False
    for row in sorted(found):
        code = _holding(view, row, v, k)
        if code:
            held.append(row)
            contested = contested or bool(code & CONTESTED)
    return held, contested


def _holding(view: TruthView, row: int, v: int, k: int) -> int:
    """The code of a claim that is in sight and held, whose interval holds ``v``; else 0."""
    graph = view.graph
    if (
        graph.c_pos[row] > k
        or graph.c_ws[row] not in view.workspaces
        or (view.perspective is not None and not _of_perspective(view, row))
    ):
        return 0
    code = view.belief.beliefs.at(row, v, k)
    return code if code & HOLDS else 0


def _of_perspective(view: TruthView, row: int) -> bool:
    graph = view.graph
    return graph.names.texts[graph.c_perspective[row]] == view.perspective


def several(objects: Objects, rows: Sequence[int]) -> bool:
    """Whether the objects of claims are not all one by value."""
    texts = {objects.text(row) for row in rows}
    if len(texts) == 1:
        return False
    if all(text[0] == '"' and "\\" not in text for text in texts):
        return True  # texts without escapes are written in one way alone
    return len({ev.equality_key(objects[row]) for row in rows}) > 1
