"""Which statements say the same, from the definition: each is held against all others.

What the words of a statement are, and what may not differ at all, the caller says.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import NamedTuple

__all__ = ["Statement", "groups", "same"]


class Statement(NamedTuple):
    """What must be equal of two statements that are the same, and the words of one."""

    guard: Hashable
    words: tuple[str, ...]


def same(one: Statement, other: Statement) -> bool:
    """Whether two statements are the same: the longest sequence of words that both have, in order,
    is all of the shorter, and four fifths of the longer at least."""
    common = _longest_common(one.words, other.words)
    lengths = sorted((len(one.words), len(other.words)))
    return one.guard == other.guard and common == lengths[0] and common * 5 >= lengths[1] * 4


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest sequence that is in both, in order (Wagner and Fischer 1974)."""

    @cache
    def upto(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        if one[i - 1] == other[j - 1]:
            return upto(i - 1, j - 1) + 1
        return max(upto(i - 1, j), upto(i, j - 1))

    return upto(len(one), len(other))


def groups(statements: Sequence[Statement]) -> list[list[int]]:
    """The numbers of the statements of each group: each joins the first group all of whose
    statements it is the same as, or opens its own."""
    found: list[list[int]] = []
    for number, statement in enumerate(statements):
        for group in found:
            if all(same(statement, statements[member]) for member in group):
                group.append(number)
                break
        else:
            found.append([number])
    return found
