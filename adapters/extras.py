"""The libraries that an extra brings."""

from __future__ import annotations

from importlib.util import find_spec

from doxa.engine.errors import CallerError

__all__ = ["MissingExtra", "needs"]


class MissingExtra(CallerError, ImportError):
    """A library that is not installed; the message names the extra that brings it."""

    code = "missing_extra"


def needs(library: str, extra: str) -> None:
    """Raises `MissingExtra` where a library can't be imported.

    >>> needs("no_such_library", "nothing")
    Traceback (most recent call last):
        ...
    doxa.adapters.extras.MissingExtra: no_such_library is not installed: pip install 'doxa[nothing]'
    """
    if find_spec(library) is None:
        raise MissingExtra(f"{library} is not installed: pip install 'doxa[{extra}]'")
