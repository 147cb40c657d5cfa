"""The libraries that an extra brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from doxa.engine.errors import CallerError

__all__ = ["MissingExtra", "needed"]


class MissingExtra(CallerError, ImportError):
    """A library that is not installed, or not in the release that is needed; the message names the
    extra that brings it."""

    code = "missing_extra"


@contextmanager
def needed(library: str, extra: str) -> Iterator[None]:
    """Around imports from a library: raises `MissingExtra` where it is not installed, or is of a
    release that lacks what is imported.

    >>> with needed("no_such_library", "nothing"):
    ...     import no_such_library.parts
    Traceback (most recent call last):
        ...
    doxa.adapters.extras.MissingExtra: no_such_library is not installed: pip install 'doxa[nothing]'
    """
    try:
        yield
    except ImportError as error:
        name = error.name or ""
        if name.partition(".")[0] != library:
            raise
        if name == library and isinstance(error, ModuleNotFoundError):
            raise MissingExtra(f"{library} is not installed: pip install 'doxa[{extra}]'") from None
        raise MissingExtra(
            f"the {library} that is installed is of a release with which this does not work "
            f"({error}): pip install --upgrade 'doxa[{extra}]'"
        ) from error
