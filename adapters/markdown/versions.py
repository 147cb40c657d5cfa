"""Versions of one memo, by their names: ``plan``, ``plan-v2``, ``plan v3``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from doxa.adapters.markdown.memo import Memo

__all__ = ["families", "version_of"]

_VERSION: Final = re.compile(
    r"(?P<name>.*?)[-_. ]*(?:(?<=[-_. ])|\A)\(?(?:v|ver|version|rev|revision)[-_. ]?"
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6}){0,3})\)?",
    re.IGNORECASE | re.DOTALL,
)


def version_of(stem: str) -> tuple[str, tuple[int, ...]]:
    """The name that versions share, and the number of this one; ``()`` where it has none.

    >>> version_of("plan-v2.1"), version_of("Plan (rev 3)"), version_of("plan"), version_of("cv2")
    (('plan', (2, 1)), ('plan', (3,)), ('plan', ()), ('cv2', ()))
    """
    found = _VERSION.fullmatch(stem)
    if found is None or not found["name"].strip("-_. "):
        return stem.casefold(), ()
    numbers = tuple(int(part) for part in found["number"].split("."))
    return found["name"].strip("-_. ").casefold(), numbers


def families(memos: Iterable[Memo]) -> Iterator[tuple[Memo, Memo]]:
    """The pairs of a version and the one after it, where their numbers tell them apart."""
    alike: dict[str, dict[tuple[int, ...], list[Memo]]] = defaultdict(lambda: defaultdict(list))
    for memo in memos:
        name, number = version_of(memo.stem)
        alike[name][number].append(memo)
    for numbers in alike.values():
        order = sorted(numbers)
        for before, after in pairwise(order):
            if len(numbers[before]) == len(numbers[after]) == 1:
                yield numbers[before][0], numbers[after][0]
