"""Where a host's context comes from: what a guarded ledger is asked, and what there is instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from doxa.degrading import Context, Reason, Source, Trouble, said
from doxa.engine.context import BUDGET, LARGE_BUDGET
from doxa.engine.errors import CallerError
from doxa.engine.outcomes import Outcome
from doxa.holding import Failed

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.engine.block import Block
    from doxa.engine.envelope import Recalled
    from doxa.ledger import Ledger
    from doxa.views import TruthView

__all__ = [
    "LOCAL_ONLY",
    "Fallback",
    "any_size",
    "assembling",
    "fits_in",
    "instead",
    "recalling",
    "warm",
]

LOCAL_ONLY: Final = "Local only, not checked against the ledger."
"""The first line of a text that a host's own fallback gave."""

Fallback = str | Callable[[str], str | None]
Asked = Callable[["Ledger"], Context]
Fits = Callable[[str], bool]
_VIEW: Final = ("workspace", "perspective", "shared")


def assembling(
    query: str, valid_at: Instant | None, known_at: Instant | int | None, options: dict[str, Any]
) -> Asked:
    """What asks a ledger for a block."""
    if callable(options.get("candidates")):
        options["candidates"] = _of_the_host(options["candidates"])
    at: Instant = datetime.now(UTC) if valid_at is None else valid_at

    def ask(ledger: Ledger) -> Context:
        if known_at is None:
            return _of_block(ledger.assemble_fresh(query, valid_at=at, **options))
        view, rest = _captured(ledger, at, known_at, options)
        if callable(chosen := rest.get("candidates")):
            rest["candidates"] = chosen(view)
        return _of_block(ledger.assemble(query, view=view, **rest))

    return ask


def recalling(
    query: str, valid_at: Instant | None, known_at: Instant | int | None, options: dict[str, Any]
) -> Asked:
    """What asks a ledger for an answer."""
    at: Instant = datetime.now(UTC) if valid_at is None else valid_at

    def ask(ledger: Ledger) -> Context:
        view, rest = _captured(ledger, at, known_at, options)
        return _of_answer(ledger.recall(query, view=view, **rest))

    return ask


def warm(ledger: Ledger) -> None:
    """Asks a ledger something, so that the next question finds all that it needs at hand."""
    view = ledger.view(valid_at=datetime.now(UTC))
    ledger.recall("ready", view=view, mode="lexical", trust="standing")


def _captured(
    ledger: Ledger, at: Instant, known_at: Instant | int | None, options: dict[str, Any]
) -> tuple[TruthView, dict[str, Any]]:
    """A view as the options say, and the others of them."""
    of_view = {name: options[name] for name in _VIEW if name in options}
    rest = {name: value for name, value in options.items() if name not in _VIEW}
    rest.pop("attempts", None)
    return ledger.view(valid_at=at, known_at=known_at, **of_view), rest


def _of_the_host(call: Callable[[TruthView], Any]) -> Callable[[TruthView], Any]:
    """A function of the host, whose errors are its own."""

    def called(view: TruthView) -> Any:
        try:
            return call(view)
        except BaseException as error:
            raise Failed(error, None) from error

    return called


def _of_block(block: Block) -> Context:
    answer = block.recalled
    if answer is not None and answer.outcome is Outcome.REFUSED:
        return _refused(answer, block)
    return Context(block.text, "ledger", block=block, answer=answer)


def _of_answer(answer: Recalled) -> Context:
    if answer.outcome is Outcome.REFUSED:
        return _refused(answer, None)
    return Context(answer.text, "ledger", answer=answer)


def _refused(answer: Recalled, block: Block | None) -> Context:
    reason: Reason = answer.reasons[0].reason if answer.reasons else Trouble.REFUSED
    detail = "; ".join(str(missing) for missing in answer.reasons)
    return Context("", "none", True, reason, detail, block, answer)


# ---------------------------------------------------------------- what there is instead


def fits_in(budget: int | Literal["large"] | None, count: Callable[[str], int] | None) -> Fits:
    """Whether a text fits in the budget of an assembly. Raises `CallerError` for no budget, whether
    the ledger is asked or not."""
    from doxa.engine.assembly import check_number
    from doxa.engine.rendering import measured

    most = BUDGET if budget is None else LARGE_BUDGET if budget == "large" else budget
    check_number("budget", most, 0)
    return lambda text: (len(text) if count is None else measured(count, text)) <= most


def any_size(text: str) -> bool:
    """That a text fits where there is no budget."""
    return True


def instead(found: Context, query: str, fallback: Fallback | None, fits: Fits) -> Context:
    """A context that is missing, with what the host's own fallback has instead, marked as that."""
    if fallback is None:
        return found
    try:
        text = fallback if isinstance(fallback, str) else fallback(query)
        if text is not None and not isinstance(text, str):
            raise CallerError(f"it gave {text!r:.80}; a fallback gives text, or None")
    except Exception as error:  # the host goes on, with nothing
        return _but(found, "", f"the fallback failed too: {said(error)}", error)
    if text is None or not text.strip():
        return found
    marked = f"{LOCAL_ONLY}\n{text}"
    if not fits(marked):
        return _but(found, "", "what the fallback gave does not fit in the budget", None)
    return _but(found, marked, "", None)


def _but(found: Context, text: str, more: str, error: BaseException | None) -> Context:
    detail = "; ".join(part for part in (found.detail, more) if part)
    source: Source = "local-only" if text else "none"
    raised = found.error or error
    return Context(text, source, True, found.reason, detail, found.block, found.answer, raised)
