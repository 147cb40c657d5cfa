"""How compacted claims stood at (v, k), as `Belief` would say it had they stayed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from doxa.engine.belief import HOLDS, STANDINGS, SUPERSEDED, WITHDRAWN, Standing
from doxa.engine.gone import HYPOTHETICAL, Gone, Ints

__all__ = ["codes", "held", "held_until", "of_standings", "standings"]

FEW: Final = 64  # claims whose codes are looked up one by one
_BITS: Final = WITHDRAWN | SUPERSEDED


def codes(gone: Gone, claims: Ints, v: int, k: int) -> Ints:
    """The codes of claims at (v, k)."""
    columns = gone.columns
    found = columns.flags[claims] & np.uint8(HOLDS)
    if len(claims) <= FEW:
        for place, claim in enumerate(claims.tolist()):
            first = int(gone.starts[claim])
            for row in range(first, first + int(columns.pieces[claim])):
                known = columns.known[row] <= k < columns.until[row]
                if known and columns.low[row] <= v < columns.high[row]:
                    found[place] = columns.code[row]
        return found
    met = (columns.known <= k) & (k < columns.until)
    met &= (columns.low <= v) & (v < columns.high)
    owners = np.repeat(np.arange(len(columns.event)), columns.pieces)[met]
    every = columns.flags & np.uint8(HOLDS)
    every[owners] = columns.code[met]
    chosen: Ints = every[claims]
    return chosen


def held(gone: Gone, claims: Ints, v: int, k: int) -> Ints:
    """Those of some claims, known at ``k``, that were held at (v, k)."""
    columns = gone.columns
    inside = claims[(columns.start[claims] <= v) & (v < columns.end[claims])]
    return inside[(codes(gone, inside, v, k) & HOLDS) != 0] if len(inside) else inside


def held_until(gone: Gone, claim: int, v: int) -> int:
    """The position up to which a claim, whose interval holds ``v``, was held there; 0 where it
    never was."""
    columns, first = gone.columns, int(gone.starts[claim])
    rows = range(first, first + int(columns.pieces[claim]))
    met = [row for row in rows if columns.low[row] <= v < columns.high[row]]
    holding = [int(columns.until[row]) for row in met if columns.code[row] & HOLDS]
    begun = min((int(columns.known[row]) for row in met), default=0)
    if columns.flags[claim] & HOLDS and begun > columns.position[columns.event[claim]]:
        holding.append(begun)
    return max(holding, default=0)


def standings(gone: Gone, claims: Ints, v: int, k: int) -> tuple[Ints, list[Standing]]:
    """The standings of claims that were known at ``k``: for each its place in the list of those
    that there are."""
    columns = gone.columns
    found = codes(gone, claims, v, k).astype(np.int32)
    found |= (v < columns.start[claims]).astype(np.int32) << 8
    found |= (v >= columns.end[claims]).astype(np.int32) << 9
    found |= (columns.flags[claims] & HYPOTHETICAL).astype(np.int32) << 10
    kinds, places = np.unique(found, return_inverse=True)
    return places, [_standing(kind) for kind in kinds.tolist()]


def of_standings(gone: Gone, claims: Ints, wanted: Collection[Standing], v: int, k: int) -> Ints:
    """Those of some claims, known at ``k``, that had one of the standings at (v, k)."""
    if not len(claims):
        return claims
    places, kinds = standings(gone, claims, v, k)
    return claims[np.isin(places, [i for i, kind in enumerate(kinds) if kind in wanted])]


def _standing(kind: int) -> Standing:
    code = kind & 0xFF
    if not code & _BITS:
        if kind & 1 << 8:
            return Standing.NOT_YET_VALID
        if kind & 1 << 9:
            return Standing.EXPIRED
        if kind & HYPOTHETICAL << 10:
            return Standing.HYPOTHESIS
    return STANDINGS[code]
