"""The data frames that are given to ``graphrag.api``, without what may not be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doxa.adapters.graphrag.judging import SERVED, IndexJudge, Judged, Omitted

if TYPE_CHECKING:
    from doxa.arguments import Instant
    from doxa.views import TruthView

__all__ = ["Filtered", "filter_frames"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """Data frames without what may not be believed at a view, by the names of their tables;
    ``omitted`` says what is not in them, ``unknown`` what the ledger knows nothing of and that was
    let through. Ask `Sieve.still` of the ``view`` once the answer is there."""

    frames: Mapping[str, Any]
    view: TruthView
    omitted: tuple[Omitted, ...]
    unknown: tuple[Omitted, ...]

    def __getitem__(self, table: str) -> Any:
        return self.frames[table]


def filter_frames(
    judge: IndexJudge,
    frames: Mapping[str, Any],
    *,
    valid_at: Instant | None = None,
    known_at: Instant | int | None = None,
) -> Filtered:
    """The pandas data frames of an index, as ``graphrag.api.local_search`` and the others take
    them, without the rows that may not be served at a view; a description that may not be is empty.

    Frames of which nothing goes are handed back as they are, all others are copies. Tables without
    rows of their own to judge (communities, documents) pass. Raises `ViewMoved`.
    """
    view = judge.sieve.view(valid_at, known_at)
    ids = {table: frame["id"] for table, frame in frames.items() if _judged(table, frame)}
    judged = judge.judge(view).beside(ids)
    found = {
        table: _filtered(judged, table, frame) if _judged(table, frame) else frame
        for table, frame in frames.items()
    }
    judge.sieve.still(view)
    return Filtered(found, view, judged.omitted, judged.unknown)


def _judged(table: str, frame: Any) -> bool:
    return frame is not None and table in SERVED


def _filtered(judged: Judged, table: str, frame: Any) -> Any:
    stays = [judged.serves(table, id) for id in frame["id"]]
    bare = [not judged.describes(table, id) for id in frame["id"]]
    if all(stays) and not any(bare):
        return frame
    kept = frame[stays].copy()
    if any(bare) and "description" in kept.columns:
        kept.loc[[b for b, s in zip(bare, stays, strict=True) if s], "description"] = ""
    return kept
