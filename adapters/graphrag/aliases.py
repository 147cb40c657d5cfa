"""What a row of an index rests on in the ledger: from the tables alone, for this run.

Ids of rows are new in every run, and numbers mean one table of one run: both are no more than
aliases. `aliases_of` resolves them, with the same ids that `import_index` records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doxa.engine.errors import CallerError

if TYPE_CHECKING:
    from doxa.adapters.graphrag.dates import Dates
    from doxa.adapters.graphrag.tables import Tables
    from doxa.adapters.graphrag.words import Vocabulary

__all__ = ["Aliases", "Rests", "aliases_of"]


@dataclass(frozen=True, slots=True)
class Rests:
    """What one row rests on.

    ``claims`` are what it says, ``evidence`` what vouches for that (or, where it is denied, speaks
    against it), ``sources`` its documents, ``units`` the claims that the index has the passages
    which it was made from, ``artefact`` the summary that its text is registered as. ``facts`` and
    ``supports`` are what a text about it depends on, as held and as live. A row that was not
    carried over has a ``reason``, and rests on nothing.
    """

    table: str
    row: int
    number: int | None = None
    id: str | None = None
    claims: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    artefact: str | None = None
    sources: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a candidate that says what this row says; empty where it rests on
        nothing."""
        found = {"facts": list(self.facts), "supports": list(self.supports)}
        return {name: ids for name, ids in found.items() if ids}


@dataclass(slots=True)
class Aliases:
    """The rows of one run, by table and id, number, or place."""

    _by_id: dict[tuple[str, str], list[Rests]] = field(default_factory=dict)
    _by_number: dict[tuple[str, int], list[Rests]] = field(default_factory=dict)
    _by_row: dict[tuple[str, int], Rests] = field(default_factory=dict)

    def add(self, rests: Rests) -> None:
        """Takes a row in; where the ids or numbers of two are the same, they name both."""
        self._by_row[rests.table, rests.row] = rests
        if rests.id is not None:
            self._by_id.setdefault((rests.table, rests.id), []).append(rests)
        number = rests.row if rests.number is None else rests.number
        self._by_number.setdefault((rests.table, number), []).append(rests)

    def of(
        self, table: str, *, id: object = None, number: object = None, row: int | None = None
    ) -> tuple[Rests, ...]:
        """What the rows rest on that an id, a number or a place in the table names; mostly one,
        none where there is no such row. A report's number is its community's."""
        if (id is not None) + (number is not None) + (row is not None) != 1:
            raise CallerError("name a row by its id, its number or its place: one of them")
        if row is not None:
            found = self._by_row.get((table, row))
            return () if found is None else (found,)
        if id is not None:
            return tuple(self._by_id.get((table, str(id)), ()))
        said = str(number)
        if not said.isascii() or not said.isdigit() or len(said) > 18:
            return ()
        return tuple(self._by_number.get((table, int(said)), ()))

    def __iter__(self) -> Iterator[Rests]:
        return iter(self._by_row.values())

    def in_table(self, table: str) -> Iterable[Rests]:
        """The rows of a table, in order."""
        return (rests for rests in self if rests.table == table)


def aliases_of(
    tables: Tables | Mapping[str, Any],
    *,
    index: str,
    dates: Dates = "observed",
    vocabulary: Vocabulary | None = None,
) -> Aliases:
    """What each row of an index rests on, with the ids that `import_index` records for it under the
    same ``index``, ``dates`` and ``vocabulary``.

    ``tables`` are those that `read_tables` read, or data frames by the names of the tables (see
    `tables_of`). Nothing is read from a ledger. O(rows).
    """
    from doxa.adapters.graphrag.mapping import mapped
    from doxa.adapters.graphrag.tables import Tables, tables_of
    from doxa.adapters.graphrag.words import VOCABULARY

    read = tables if isinstance(tables, Tables) else tables_of(tables)
    return mapped(read, index=index, dates=dates, vocabulary=vocabulary or VOCABULARY).aliases
