"""The command line: the same nouns and argument names as in Python."""

from __future__ import annotations

from io import TextIOWrapper
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the ``doxa`` command on the process's arguments, and exits with its code."""
    import sys

    from doxa.adapters.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Exchange lines and JSON are UTF-8, whatever the terminal's language.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    app(prog_name="doxa")
    raise SystemExit(0)
