"""What goes wrong with queries, by whose problem it is."""

from __future__ import annotations

from doxa.engine.errors import CallerError

__all__ = ["InvalidQuery"]


class InvalidQuery(CallerError):
    """A query that can't be run: no SQL, no single SELECT, an unknown column, too much memory."""

    code = "invalid_query"
