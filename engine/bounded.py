"""Calls of what somebody else wrote, for whose answer doxa waits so long and no longer."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from doxa.engine.outcomes import Gap, Unavailable

__all__ = ["bounded", "in_short"]

T = TypeVar("T")

SHOWN: Final = 160  # characters of what somebody else's error says


def bounded(call: Callable[[], T], timeout: float, who: str) -> T:
    """What ``call`` returns, if it does so within ``timeout`` seconds.

    It runs in a thread of its own, with the context variables of its caller. One that hangs is left
    behind: it does not keep the interpreter from ending. ``who`` names it in messages, such as
    "embedder 'x'".

    Raises `Unavailable` (dependency_unavailable) where there is no answer in time, or where
    anything else is raised in there; an `Unavailable` that is raised in there passes as it is.

    >>> bounded(lambda: 6 * 7, 10.0, "a test")
    42
    """
    answer: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer.append(context.run(call))
        except BaseException as error:  # told to whoever asked, in whose thread it belongs
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name=f"doxa: {who}", daemon=True).start()
    if not done.wait(timeout):
        raise Unavailable(Gap.DEPENDENCY_UNAVAILABLE, f"{who} gave no answer within {timeout:g} s")
    if not failure:
        return answer[0]
    if isinstance(failure[0], Unavailable):
        raise failure[0]
    raise Unavailable(
        Gap.DEPENDENCY_UNAVAILABLE,
        f"{who} failed: {_told(failure[0])}",
        f"{who} failed: {type(failure[0]).__name__}",
    ) from failure[0]


def _told(error: BaseException) -> str:
    """An error of somebody else's on one line: its type, and what it says in quotes."""
    kind = type(error).__name__
    try:
        said = str(error)
    except Exception as worse:  # it can't even say what it is
        return f"{kind}, which can't be put into words ({type(worse).__name__})"
    return f"{kind} {in_short(said)}" if said.strip() else kind


def in_short(text: str, limit: int = SHOWN) -> str:
    r"""Somebody else's words on one line of doxa's own: quoted, without controls, at most ``limit``
    characters of them.

    >>> in_short("no such\n  model\x07")
    "'no such model'"
    >>> in_short("abcdef", 3)
    "'abc…'"
    """
    line = " ".join(text[: 8 * limit].split())
    line = "".join(char for char in line if char.isprintable())
    return repr(line if len(line) <= limit else f"{line[:limit]}…")
