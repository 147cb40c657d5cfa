"""The exact products of unit vectors, many at once: each the same wherever it is computed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from doxa.engine.arms import Floats
from doxa.engine.embedding import DIMENSIONS, Vector

__all__ = ["error_bound", "exact_products"]

_ROWS: Final = 512  # at once, so that they stay near the processor
_UNIT: Final = 2.0**-24  # the unit roundoff of single precision
# Adding one of these to a smaller number and taking it away again leaves what the number has in
# multiples of its last place: 2^-50, and 2^-87.
_FIRST: Final = 1.5 * 2.0**2
_SECOND: Final = 1.5 * 2.0**-35


def exact_products(rows: Vector, vector: Vector) -> Floats:
    """The product of each row with a vector, all of length 1: the exact sum, rounded once, so that
    it is the same in whatever order it is summed.

    The product of two numbers of single precision is one of double precision, with nothing lost.
    Each is split into multiples of 2^-50, of 2^-87, and a rest (extraction as in AccSum: Rump,
    Ogita, Oishi, *Accurate floating-point summation, part I*, SIAM J. Sci. Comput. 31, 2008). The
    absolute values sum up to 1 at most (Cauchy and Schwarz), and what the first split leaves to
    dimension · 2^-51, so that either sum fits into a double at every step: it is exact. Where the
    rest could change how both together are rounded, `math.fsum` decides. O(rows · dimension).
    """
    assert rows.shape[1] == len(vector) <= DIMENSIONS, (rows.shape, len(vector))
    doubles = vector.astype(np.float64)
    found = np.empty(len(rows), np.float64)
    for at in range(0, len(rows), _ROWS):
        products = rows[at : at + _ROWS] * doubles
        found[at : at + _ROWS] = _sums(products)
    return found


def _sums(products: Floats) -> Floats:
    """The exact sum of each row, rounded once."""
    first = (products + _FIRST) - _FIRST
    left = products - first
    second = (left + _SECOND) - _SECOND
    left -= second
    high, low = first.sum(axis=1), second.sum(axis=1)
    rest = np.abs(left).sum(axis=1) * 1.01  # no less than the sum, though it is rounded itself
    sums: Floats = high + _moved(low, rest, np.inf)
    for row in np.flatnonzero(sums != high + _moved(low, -rest, -np.inf)).tolist():
        sums[row] = math.fsum(products[row].tolist())
    return sums


def _moved(low: Floats, rest: Floats, towards: float) -> Floats:
    """``low + rest``, or a little further where that is rounded."""
    moved: Floats = np.where(rest == 0.0, low, np.nextafter(low + rest, towards))
    return moved


def error_bound(dimension: int) -> float:
    """How far the product of two unit vectors in single precision is off at most, in whatever order
    it is summed, and with fused multiplications or without.

    Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed. (2002), section 3.1 (3.5) and
    lemma 3.1: |fl(x·y) - x·y| <= g · |x|·|y| with g = n·u / (1 - n·u), where u is the unit
    roundoff; and by Cauchy and Schwarz |x|·|y| is at most the product of the lengths. Those are
    1 but for the rounding of each number to single precision, and 2u is more than that. Numbers
    too small for single precision are not in the model: one that is flushed to zero costs less
    than 2^-126, as a factor or as a product.
    """
    gamma = dimension * _UNIT / (1 - dimension * _UNIT)
    return gamma * (1 + 2 * _UNIT) ** 2 + dimension * 2.0**-124
