"""What a view holds of the rows of an index: which may be served, and which only without their
description."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from doxa.adapters.graphrag.aliases import Aliases, Rests, aliases_of
from doxa.adapters.graphrag.cells import text
from doxa.adapters.judging import UNKNOWN, Sieve
from doxa.adapters.undeclared import place_of, warn
from doxa.engine.belief import HELD, Standing
from doxa.engine.errors import CallerError
from doxa.engine.registry import Reason

if TYPE_CHECKING:
    from doxa.adapters.graphrag.dates import Dates
    from doxa.adapters.graphrag.words import Vocabulary
    from doxa.engine.sifting import Sifted
    from doxa.views import TruthView

__all__ = ["SERVED", "IndexJudge", "Judged", "Omitted"]

# The tables whose rows go into a context. Communities are no more than groups of them.
SERVED: Final = ("entities", "relationships", "covariates", "community_reports", "text_units")
# Those that a row is kept of without its description, where that can't be served.
_DESCRIBED: Final = ("entities", "relationships")
_CACHED: Final = 4  # judgements that are remembered
# How the claim of a row that is suspected or denied may stand. Any other was taken back, replaced,
# erased, or does not apply then.
_DOUBTED: Final = frozenset({*HELD, Standing.HYPOTHESIS, Standing.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class Omitted:
    """A row of an index, or the description of one (``part``), that is not in a context, and why:
    the reasons of `judge_candidates`, ``unknown`` for what the ledger has nothing of, and
    ``budget_exceeded``."""

    table: str
    id: str
    reason: str
    detail: str
    part: str = "row"
    number: str | None = None
    about: str | None = None
    standing: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """What is omitted, as a JSON object."""
        names = ("table", "id", "number", "part", "reason", "detail", "about", "standing")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        what = "" if self.part == "row" else f" ({self.part})"
        return f"{self.table} {self.number or self.id}{what}: {self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of an index as one view judges them."""

    view: TruthView
    omitted: tuple[Omitted, ...]
    unknown: tuple[Omitted, ...]
    _keeps: bool = field(repr=False)  # what the tables never had
    _gone: Mapping[str, frozenset[str]] = field(repr=False)
    _bare: Mapping[str, frozenset[str]] = field(repr=False)
    _heard_of: Mapping[str, frozenset[str]] = field(repr=False)

    def serves(self, table: str, id: object) -> bool:
        """Whether a row may be served. One that the tables did not have is unknown."""
        known = _id(id)
        return known not in self._gone[table] and (self._keeps or known in self._heard_of[table])

    def describes(self, table: str, id: object) -> bool:
        """Whether a row that may be served may be with its description."""
        return _id(id) not in self._bare.get(table, ())

    def beside(self, rows: Mapping[str, Iterable[object]]) -> Judged:
        """The same, which tells of those of some rows, ids by table, that the tables did not have:
        they are of another run of the index."""
        strange = tuple(
            Omitted(table, str(id), UNKNOWN, "the tables that are judged have no such row")
            for table, ids in rows.items()
            for id in ids
            if _id(id) not in self._heard_of[table]
        )
        if not strange:
            return self
        if self._keeps:
            return replace(self, unknown=(*self.unknown, *strange))
        return replace(self, omitted=(*self.omitted, *strange))

    def gone(self, table: str) -> int:
        """How many rows of a table may not be served."""
        return len(self._gone[table])


class IndexJudge:
    """Judges the rows of an index that was imported by the views of a ledger.

    ``tables`` is the folder of the index, or its data frames by the names of the tables (or what
    `read_tables` read); ``index`` (by default made of the folder), ``dates`` and ``vocabulary`` are
    those of its import. ``sieve``
    says by which ledger, and at which times; its ``unknown`` says what becomes of rows that were
    set aside as they were imported, or that never were: they are dropped, or kept. Safe for
    threads. Where the ledger has nothing of the index, it warns once (`NothingDeclared`). Raises
    `CallerError`.
    """

    def __init__(
        self,
        sieve: Sieve,
        tables: str | os.PathLike[str] | Mapping[str, Any],
        *,
        index: str | None = None,
        dates: Dates = "observed",
        vocabulary: Vocabulary | None = None,
    ) -> None:
        from doxa.adapters.graphrag.folders import index_name
        from doxa.adapters.graphrag.tables import read_tables

        self.sieve = sieve
        read: Any = tables
        if isinstance(tables, str | os.PathLike):
            read, index = read_tables(tables), index_name(tables) if index is None else index
        if index is None:
            raise CallerError("index is missing: name the index as it was named when imported")
        self.index = index
        self.aliases: Aliases = aliases_of(read, index=index, dates=dates, vocabulary=vocabulary)
        self._rows = [rests for table in SERVED for rests in self.aliases.in_table(table)]
        nameless = next((rests for rests in self._rows if rests.id is None), None)
        if nameless is not None:
            raise CallerError(
                f"{nameless.table} row {nameless.row} has no id, so what a search brings back of "
                "it can't be told apart; index again, or import it only"
            )
        self._heard_of = {
            table: frozenset(_id(rests.id) for rests in self.aliases.in_table(table))
            for table in SERVED
        }
        self._lock = threading.Lock()
        self._warned = False
        self._cache: dict[object, Judged] = {}
        self._turning: tuple[object, np.ndarray[Any, Any]] = None, np.empty(0, np.int64)

    def judge(self, view: TruthView) -> Judged:
        """Each row, judged at a view. O(rows), once for all the times between which nothing that
        was recorded begins or ends."""
        sight = view.workspace, view.shared, view.perspective
        asked = self.sieve.unknown, self.sieve.archived
        with self._lock:
            key = (view.revision, *sight, *asked, *self._place(view))
            found = self._cache.get(key)
            if found is None:
                found = self._judged(view)
                if len(self._cache) >= _CACHED:
                    del self._cache[next(iter(self._cache))]
                self._cache[key] = found
        return found if found.view is view else replace(found, view=view)

    def _place(self, view: TruthView) -> tuple[object, int]:
        """The state of the log that a view looks at, and the stretch of valid time it is in."""
        graph = view.graph
        state = view.horizon, len(graph.blank), id(graph)
        if self._turning[0] != state:
            names = [f"{kind}_{end}" for kind in "cskw" for end in ("from", "to")]
            # in copies: an array whose memory is looked at can't grow
            ends = [np.frombuffer(getattr(graph, name)[:], np.int64) for name in names]
            self._turning = state, np.unique(np.concatenate(ends))
        return state, int(np.searchsorted(self._turning[1], view.v, side="right"))

    def _judged(self, view: TruthView) -> Judged:
        asked = list(self._questions())
        candidates = [
            {"id": str(number), **fields, **({} if "artefact" in fields else {"text": "-"})}
            for number, (_, _, fields) in enumerate(asked)
        ]
        ledger = self.sieve.open
        judged = ledger.judge_candidates(candidates, view, archived=self.sieve.archived)
        omitted: list[Omitted] = []
        unknown: list[Omitted] = []
        for (rests, part, fields), sifted in zip(asked, judged, strict=True):
            if sifted.eligible:
                omitted.extend(_taken_back(rests, view))
                continue
            if not fields or self.sieve.unheard_of(view, fields):
                unknown.append(_unknown(rests, part))
            else:
                omitted.append(_omitted(rests, part, sifted))
        if self.sieve.unknown == "drop":
            if asked and len(unknown) == len(asked):
                self._warn(len(self._rows))
            omitted, unknown = [*omitted, *unknown], []
        gone = _ids(omitted, "row")
        bare = _ids(omitted, "description")
        told = (o for o in omitted if o.part == "row" or _id(o.id) not in gone[o.table])
        keeps = self.sieve.unknown != "drop"
        return Judged(view, tuple(told), tuple(unknown), keeps, gone, bare, self._heard_of)

    def _warn(self, rows: int) -> None:
        if not self._warned:
            self._warned = True
            warn(
                f"{place_of(self.sieve.open)} has nothing of the {rows} rows of the index "
                f"{self.index!r:.120}, so none is served: import the index into this ledger first "
                "(import_index), or name the index as it was named then"
            )

    def _questions(self) -> Iterator[tuple[Rests, str, Mapping[str, Any]]]:
        """What is asked about each row: about which part, and what that rests on. The id of what is
        registered is made of its text, so another text is another artefact."""
        for rests in self._rows:
            registered = {} if rests.artefact is None else {"artefact": rests.artefact}
            if rests.table in _DESCRIBED:
                yield rests, "row", {"facts": list(rests.claims)} if rests.claims else {}
                if registered:
                    yield rests, "description", registered
            else:
                yield rests, "row", registered or rests.fields


def _taken_back(rests: Rests, view: TruthView) -> Iterator[Omitted]:
    """A row that is suspected or denied and has live evidence, though its claim was taken back."""
    if rests.table != "covariates":
        return
    for claim in rests.claims:
        standing = view.standing(claim)
        if claim not in rests.facts and standing not in _DOUBTED:
            number = None if rests.number is None else str(rests.number)
            told = str(Reason.MISSING_FACT), f"the claim {claim!r} is {standing}", "row", number
            yield Omitted(rests.table, str(rests.id), *told, claim, str(standing))


def _id(id: object) -> str:
    """The id of a row as it is compared: a number has one form, whatever wrote it."""
    said = text(id) or ""
    return said[:-2] if said.endswith(".0") and said[:-2].isdigit() else said


def _ids(omitted: Sequence[Omitted], part: str) -> dict[str, frozenset[str]]:
    return {
        table: frozenset(_id(one.id) for one in omitted if one.table == table and one.part == part)
        for table in SERVED
    }


def _unknown(rests: Rests, part: str) -> Omitted:
    number = None if rests.number is None else str(rests.number)
    detail = rests.reason or "the ledger has nothing of it: import the index"
    return Omitted(rests.table, str(rests.id), UNKNOWN, detail, part, number)


def _omitted(rests: Rests, part: str, sifted: Sifted) -> Omitted:
    number = None if rests.number is None else str(rests.number)
    standing = None if sifted.standing is None else str(sifted.standing)
    told = str(sifted.reason), sifted.detail or "", part, number, sifted.about, standing
    return Omitted(rests.table, str(rests.id), *told)
