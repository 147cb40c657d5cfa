"""Truth views as users meet them: with tables for other tools, and the history of a belief."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from doxa.engine import times
from doxa.engine import view as engine_view
from doxa.engine.errors import Compacted, Contested, Erased, SeveralHeld
from doxa.engine.graph import CLAIM, entity
from doxa.engine.lost import boundary

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from doxa.engine.registry import Registry
    from doxa.engine.why import Why

__all__ = ["Belief", "TruthView", "history"]


class TruthView(engine_view.TruthView):
    __slots__ = ()
    __doc__ = engine_view.TruthView.__doc__
    origin: tuple[object, Registry] | None  # what it was captured from, and its registry then

    def __setattr__(self, name: str, value: object) -> None:
        if name[0] != "_":
            raise AttributeError(f"a view never changes: capture another for another {name}")
        super().__setattr__(name, value)

    def why(self, id: str, *, workspace: str | None = None) -> Why:
        """The events, sources and steps behind the standing of a claim, or behind an artefact:
        a tree, to be printed or taken as data (``as_dict``)."""
        from doxa.engine.why import why

        return why(self, id, workspace=workspace)

    def to_arrow(self, **selection: Any) -> pyarrow.Table:
        """The claims as an Arrow table, one row a claim; `claims` takes the same selection. With
        ``columns``, a list of names, only those are made.

        Columns: id, workspace, subject, predicate, object (JSON text), kind, perspective, standing
        (text), valid_from, valid_to, recorded_at (int64 microseconds since 1970, null where open).
        """
        from doxa.projections.arrow import to_arrow

        return to_arrow(self, **selection)

    def to_pandas(self, **selection: Any) -> pandas.DataFrame:
        """`to_arrow` as a pandas ``DataFrame``. Raises `CallerError` where pandas is not there."""
        from doxa.adapters.frames import to_pandas

        frame: pandas.DataFrame = to_pandas(self.to_arrow(**selection))
        return frame

    def to_polars(self, **selection: Any) -> polars.DataFrame:
        """`to_arrow` as a Polars ``DataFrame``. Raises `CallerError` where Polars is not there."""
        from doxa.adapters.frames import to_polars

        frame: polars.DataFrame = to_polars(self.to_arrow(**selection))
        return frame


@dataclass(frozen=True, slots=True)
class Belief:
    """What was believed from one commit on: the distinct values held, perhaps none. ``erased`` are
    the ids of claims that were held too, and whose content is gone.

    Where the beginning was compacted, ``known_at`` and ``values`` of the first are ``None``, and
    ``compacted`` has the count and the digest of the stretches in which it lies.
    """

    known_at: datetime | None
    revision: int
    values: tuple[Any, ...] | None
    contested: bool
    erased: tuple[str, ...] = ()
    compacted: tuple[int, str] | None = None

    @property
    def value(self) -> Any:
        """The one value; ``None`` where nothing was held. Raises `Compacted`, `Erased`,
        `Contested` and `SeveralHeld` as a view does."""
        if self.values is None or self.compacted is not None:
            count, digest = self.compacted or (0, "")
            raise Compacted(
                f"what was believed first lies among {count:,} events that were compacted, with "
                f"the digest {digest}",
                count,
                digest,
            )
        if self.erased:
            raise Erased(f"as known at revision {self.revision}, {', '.join(self.erased)} was held")
        if self.contested:
            raise Contested(f"contested as known at revision {self.revision}: {self.values!r}")
        if len(self.values) > 1:
            raise SeveralHeld(f"several as known at revision {self.revision}: {self.values!r}")
        return self.values[0] if self.values else None


def history(view: TruthView, subject: str, predicate: str) -> list[Belief]:
    """The beliefs about a subject's predicate at the view's valid time, up to its revision."""
    graph, belief = view.graph, view.belief
    rows = [
        row
        for row in view.rows(subject, predicate)
        if graph.c_from[row] <= view.v < graph.c_to[row] and view.in_sight(row)
    ]
    due: dict[int, list[int]] = {}  # commit → the claims that may stand otherwise from it on
    for row in rows:
        due.setdefault(graph.commit_of(graph.c_pos[row]), []).append(row)
        for k in belief.changes_of(row):
            if 0 < k <= view.k:
                due.setdefault(k, []).append(row)
    held: list[int] = []  # in log order
    found: list[Belief] = []
    last: tuple[frozenset[str], bool, tuple[str, ...]] | None = (frozenset(), False, ())
    start, lost = 0, boundary(view, subject, predicate)
    if lost is not None:
        start, count, digest = lost
        found.append(Belief(None, 0, None, False, compacted=(count, digest)))
        due.setdefault(start, [])
        last = None
    for k in sorted(due):
        for row in set(due[k]):
            place = bisect_left(held, row)
            if place < len(held) and held[place] == row:
                del held[place]
            if belief.held(row, view.v, k):
                held.insert(place, row)
        if k < start:
            continue
        distinct, contested = view.held_values(held, k)
        gone = tuple(graph.claim_id(row) for row in held if entity(CLAIM, row) in graph.erased)
        state = (frozenset(distinct), contested, gone)
        if state == last:
            continue
        last = state
        known_at = times.moment(graph.recorded_of(k))
        found.append(Belief(known_at, k, tuple(distinct.values()), contested, gone))
    return found
