"""The libraries that an extra brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from doxa.engine.errors import CallerError

__all__ = ["MissingExtra", "missing", "needed"]


class MissingExtra(CallerError, ImportError):
    """A library that is not installed, or not in the release that is needed; the message names the
    extra that brings it."""

    code = "missing_extra"


def missing(library: str, extra: str, needs: str = "", besides: str = "") -> MissingExtra:
    """The error where a library is not installed, what needs it, and what may be said besides.

    >>> print(missing("markdown-it-py", "markdown", "reading the text of memos"))
    markdown-it-py is not installed, which reading the text of memos needs: \
pip install 'doxa[markdown]' (from a clone: pip install '.[markdown]')
    """
    what = f"{library} is not installed{f', which {needs} needs' if needs else ''}"
    return MissingExtra(f"{what}: {_install(extra)}{f'; {besides}' if besides else ''}")


def _install(extra: str, options: str = "") -> str:
    return f"pip install {options}'doxa[{extra}]' (from a clone: pip install {options}'.[{extra}]')"


@contextmanager
def needed(library: str, extra: str) -> Iterator[None]:
    """Around imports from a library: raises `MissingExtra` where it is not installed, or is of a
    release that lacks what is imported.

    >>> with needed("no_such_library", "nothing"):
    ...     import no_such_library.parts
    Traceback (most recent call last):
        ...
    doxa.adapters.extras.MissingExtra: no_such_library is not installed: \
pip install 'doxa[nothing]' (from a clone: pip install '.[nothing]')
    """
    try:
        yield
    except ImportError as error:
        name = error.name or ""
        if name.partition(".")[0] != library:
            raise
        if name == library and isinstance(error, ModuleNotFoundError):
            raise missing(library, extra) from None
        raise MissingExtra(
            f"the {library} that is installed is of a release with which this does not work "
            f"({error}): {_install(extra, '--upgrade ')}"
        ) from error
