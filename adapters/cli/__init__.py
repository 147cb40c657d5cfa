"""The command line: the same nouns and argument names as in Python."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the ``doxa`` command on the process's arguments, and exits with its code."""
    from doxa.adapters.cli.app import app

    app(prog_name="doxa")
    raise SystemExit(0)
