"""Everything that a ledger keeps in its folder, and how each is cleared of what was erased.

A store that is added has to be named here: a test finds every file in a ledger's folder that none
of these owns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from doxa.engine.errors import StorageError
from doxa.engine.purged import PurgeList

if TYPE_CHECKING:
    from doxa.ledger import Ledger

__all__ = ["STORES", "Gone", "Store", "clear", "owner_of"]

Gone = Sequence[tuple[str, str]]
"""What was erased: the workspaces and ids of events."""


class Store(NamedTuple):
    """One thing that is kept: its files, as patterns of paths in the folder, and what takes the
    content of erased events out of it. That may be repeated, and raises `StorageError` or `OSError`
    where it can't be done now."""

    name: str
    files: tuple[str, ...]
    clear: Callable[[Ledger, Gone], None]


def _purged(ledger: Ledger, gone: Gone) -> None:
    if ledger.path is not None:
        PurgeList.open(ledger.path).add(gone, ledger.recorder.keyed)


def _set_aside(ledger: Ledger, gone: Gone) -> None:
    from doxa.adapters.exchange.set_aside import register_of

    register_of(ledger).forget(gone)


def _usage(ledger: Ledger, gone: Gone) -> None:
    if (problem := ledger._usage.forget(gone)) is not None:
        raise StorageError(problem)


def _checkpoint(ledger: Ledger, gone: Gone) -> None:
    ledger._stream.upkeep.discard()


def _tables(ledger: Ledger, gone: Gone) -> None:
    ledger._discard_tables()


def _indexes(ledger: Ledger, gone: Gone) -> None:
    ledger._discard_indexes()


def _log(ledger: Ledger, gone: Gone) -> None:
    ledger.recorder.scrub()


# The list of what was purged comes first: whatever else fails, no backup brings it back. The log
# itself comes last: its old bytes are what a reader may hold on to for a while.
STORES: Final = (
    Store("purged", ("purged",), _purged),
    Store("lines set aside", ("set-aside.jsonl*",), _set_aside),
    Store("usage", ("usage.sqlite*",), _usage),
    Store("checkpoint", ("cache/fold.doxa*",), _checkpoint),
    Store("tables for SQL", ("cache/beliefs/*",), _tables),
    Store("indexes", ("cache/search/*",), _indexes),
    Store("log", ("log.sqlite", "log.sqlite-*", "log.sqlite.*"), _log),
)


def clear(ledger: Ledger, gone: Gone) -> None:
    """Clears every store of what was erased. Raises as the stores do, after all were tried."""
    failures: list[Exception] = []
    for store in STORES:
        try:
            store.clear(ledger, gone)
        except Exception as error:  # the others are cleared all the same; it is raised below
            failures.append(error)
    if failures:
        raise failures[0]


def owner_of(path: str) -> Store | None:
    """The store that a file of a ledger's folder belongs to, by its path in it."""
    return next(
        (store for store in STORES if any(fnmatchcase(path, each) for each in store.files)), None
    )
