"""What a ledger itself says to a framework's question: its hits, or a block. A refusal is raised,
so that it does not look as if there were nothing to be found."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from doxa.adapters.judging import Found, Remembered, Sieve
from doxa.engine import times
from doxa.engine.errors import CallerError, ViewMoved
from doxa.engine.outcomes import Outcome

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.engine.block import Block
    from doxa.engine.envelope import Recalled
    from doxa.views import TruthView

__all__ = [
    "RecallRefused",
    "UnjudgedArm",
    "ask",
    "block",
    "block_at",
    "refuse_arms",
    "settings",
]


class RecallRefused(CallerError):
    """A question that the ledger refused to answer, as the gate could not run; ``answer`` has the
    reasons. No text went out."""

    code = "refused"
    answer: Recalled


class UnjudgedArm(CallerError):
    """A search whose results are merged with others, or handed on, without being judged; ``arms``
    names each."""

    code = "unjudged_arm"
    arms: tuple[str, ...] = ()


def refuse_arms(arms: Iterable[str]) -> None:
    """Raises `UnjudgedArm` where there are any."""
    found = tuple(arms)
    if found:
        error = UnjudgedArm(
            f"not judged: {'; '.join(found)}. What was withdrawn comes back through it: judge what "
            "is merged, or each of its arms"
        )
        error.arms = found
        raise error


def ask(
    sieve: Sieve,
    query: str,
    valid_at: Instant | None = None,
    known_at: Instant | int | None = None,
    **options: Any,
) -> Remembered:
    """`Sieve.recall` that raises `RecallRefused` where the answer is one."""
    found = sieve.recall(query, valid_at, known_at, **options)
    _granted(found.answer)
    return found


def block(
    sieve: Sieve,
    query: str,
    valid_at: Instant | None = None,
    known_at: Instant | int | None = None,
    *,
    found: Sequence[Found] | None = None,
    attempts: int = 3,
    **options: Any,
) -> Block:
    """The block of what may be believed of what was ``found`` or, without that, of what the ledger
    knows about a question; ``options`` are those of `Sieve.assemble` and of `Ledger.assemble`. It
    is made anew where the truth moves meanwhile; after ``attempts`` `ViewMoved` is raised, and
    `RecallRefused` where the question is refused."""
    for attempt in range(attempts):
        try:
            return block_at(sieve, query, sieve.view(valid_at, known_at), found, **options)
        except ViewMoved:
            if attempt == attempts - 1:
                raise
    raise CallerError(f"attempts is {attempts!r}; give a whole number, 1 or more")


def block_at(
    sieve: Sieve,
    query: str,
    view: TruthView,
    found: Sequence[Found] | None = None,
    **options: Any,
) -> Block:
    """`block` at a view that was captured already; raises `ViewMoved` where it moved."""
    if found is not None:
        return sieve.assemble(query, found, view, **options)
    made = sieve.open.assemble(query, view=view, **{"archived": sieve.archived, **options})
    sieve.still(view)
    if made.recalled is not None:
        _granted(made.recalled)
    return made


def _granted(answer: Recalled) -> None:
    if answer.outcome is Outcome.REFUSED:
        error = RecallRefused(
            "the ledger refused to answer, which does not mean that it knows nothing: "
            + "; ".join(map(str, answer.reasons))
        )
        error.answer = answer
        raise error


def settings(sieve: Sieve) -> dict[str, Any]:
    """What a sieve was made with, as a JSON object that `Sieve` takes again; without ``annotate``,
    which a framework writes down in its own way. Raises `CallerError` for a ledger that is given
    open: it can't be written down."""
    if not isinstance(sieve.ledger, str | os.PathLike):
        raise CallerError(
            f"{sieve.ledger!r} is open and can't be written down; give the path of its folder, "
            "from which it is opened when it is asked"
        )
    return {
        "ledger": os.fspath(sieve.ledger),
        "valid_at": _written(sieve.valid_at),
        "known_at": _written(sieve.known_at),
        "workspace": sieve.workspace,
        "perspective": sieve.perspective,
        "shared": sieve.shared,
        "unknown": sieve.unknown,
        "archived": sieve.archived,
        "keys": None if sieve.keys is None else os.fspath(sieve.keys),
    }


def _written(at: Instant | int | None) -> str | int | None:
    return at if at is None or isinstance(at, int | str) else times.iso(times.instant(at))
