"""What is published, held against the belief: files, chain, every row, and that the rows tile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from doxa.engine.belief import Belief
from doxa.engine.graph import CLAIM
from doxa.projections.columns import Ints, columns_of
from doxa.projections.publication import MANIFEST, Publication
from doxa.projections.rectangles import FOREVER, Commits, added
from doxa.projections.segments import Segment, chunks, intact
from doxa.projections.tables import TABLES

__all__ = ["check"]

Found = tuple[int, str, str]  # position, code, message


def check(belief: Belief, upto: int, publication: Publication | None) -> Iterator[Found]:
    """What is wrong with the published tables, and with the rows of the beliefs up to the end of a
    commit: the position that it concerns (0: none), a code, and words. O(rows), in numpy.

    Where nothing is published, nothing of it is wrong. What is wrong here does no harm beyond: it
    is made again from the log when it is next asked for.
    """
    yield from _untiled(belief, upto)
    if publication is None:
        return
    try:
        manifest = publication.checked()
    except (OSError, ValueError) as error:
        yield 0, "projection", f"{publication.folder / MANIFEST}: {error}"
        return
    if manifest is None or manifest.position > upto:
        return
    for segment in manifest.segments:
        wrong = intact(publication.folder, segment)
        if wrong is None:
            yield from _compared(publication.folder, segment, belief)
        else:
            yield 0, "projection", f"{publication.folder / segment.name} {wrong}"


def _compared(folder: Path, segment: Segment, belief: Belief) -> Iterator[Found]:
    """What a segment holds otherwise than the belief."""
    path = folder / segment.name
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            for name, table in TABLES.items():
                first = 0
                for low, high in chunks(belief, segment.after, segment.upto):
                    expected = table.added(belief, low, high, segment.upto)
                    sql = f"FROM {name} WHERE rowid >= {first} AND rowid < {first + len(expected)}"
                    stored = con.sql(sql).to_arrow_table().combine_chunks()
                    if not stored.cast(table.schema).equals(expected.combine_chunks()):
                        where = f"between {low} and {high}"
                        yield low, "projection", f"{path}: {name} {where} are not the belief's"
                    first += len(expected)
                (count,) = con.execute(f"SELECT count(*) FROM {name}").fetchall()[0]
                if count != first:
                    yield 0, "projection", f"{path}: {name} has {count} rows instead of {first}"
                if table.kind is not None and segment.after:
                    ends = con.sql(f"FROM {name}_ends").to_arrow_table().combine_chunks()
                    expected = table.ended(belief, segment.after, segment.upto)
                    if not ends.equals(expected.combine_chunks()):
                        yield 0, "projection", f"{path}: the ends of {name} are not the belief's"
    except (duckdb.Error, ValueError) as error:
        yield 0, "projection", f"{path}: {error}"


# ---------------------------------------------------------------- tiling


def _untiled(belief: Belief, upto: int) -> Iterator[Found]:
    """Claims whose rows do not tile their own interval, by all that is known from their commit on.

    At each commit, what ends of a claim covers the very stretches of valid time that what begins
    does; the claim's own interval counts as ended at its own commit.
    """
    graph, arrays = belief.graph, columns_of(belief)
    claims = graph.claims_upto(upto)
    rows = added(belief, CLAIM, 0, upto, upto)
    own = np.arange(claims)
    known = Commits(belief, upto).ends(arrays.ints(graph.c_pos, claims))
    low, high = arrays.ints(graph.c_from, claims), arrays.ints(graph.c_to, claims)
    ended = rows.chosen(rows.until != FOREVER)
    begins = _stretches(rows.owner, rows.known, rows.low, rows.high)
    ends = _stretches(
        np.concatenate([own, ended.owner]),
        np.concatenate([known, ended.until]),
        np.concatenate([low, ended.low]),
        np.concatenate([high, ended.high]),
    )
    if not np.array_equal(begins, ends):
        count = min(begins.shape[1], ends.shape[1])
        other = np.flatnonzero((begins[:, :count] != ends[:, :count]).any(axis=0))
        first = begins if len(other) or begins.shape[1] > count else ends
        claim, at = first[:2, other[0] if len(other) else count].tolist()
        yield at, "tiling", f"the beliefs of claim {graph.claim_id(claim)!r} overlap or leave a gap"


def _stretches(owner: Ints, at: Ints, low: Ints, high: Ints) -> Ints:
    """Stretches of one claim at one commit, as long as they can be where none overlap: (4, n)."""
    order = np.lexsort((low, at, owner))
    owner, at, low, high = owner[order], at[order], low[order], high[order]
    joined = (owner[1:] == owner[:-1]) & (at[1:] == at[:-1]) & (low[1:] == high[:-1])
    starts = np.flatnonzero(np.append(True, ~joined)[: len(owner)])
    lasts = np.append(starts[1:], len(owner))[: len(starts)] - 1
    return np.stack([owner[starts], at[starts], low[starts], high[lasts]])
