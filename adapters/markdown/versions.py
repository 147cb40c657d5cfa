"""Versions of one memo, by their names: ``plan``, ``plan-v2``, ``plan v3``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from doxa.adapters.markdown.memo import Memo

__all__ = ["families", "siblings", "version_of", "year_of", "years"]

_VERSION: Final = re.compile(
    r"(?P<name>.*?)[-_. ]*(?:(?<=[-_. ])|\A)\(?(?:v|ver|version|rev|revision)[-_. ]?"
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6}){0,3})\)?",
    re.IGNORECASE | re.DOTALL,
)

_YEAR: Final = re.compile(
    r"(?P<name>.*?[^\W\d].*?)[-_. ]\(?(?P<year>(?:19|20)[0-9]{2})\)?"
    r"|(?P<before>(?:19|20)[0-9]{2})[-_. ](?P<after>[^\W\d].*)",
    re.DOTALL,
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


def year_of(stem: str) -> tuple[str, int] | None:
    """The name that the memos of several years share, and the year of this one. Days are none.

    >>> year_of("fees-2024"), year_of("2024 Fees"), year_of("2024-01-08"), year_of("fees")
    (('fees', 2024), ('fees', 2024), None, None)
    """
    found = _YEAR.fullmatch(stem)
    if found is None:
        return None
    name = (found["name"] or found["after"]).strip("-_. (").casefold()
    return name, int(found["year"] or found["before"])


def siblings(one: str, other: str) -> bool:
    """Whether two stems differ in their version, or in their year, alone."""
    (name, number), (its_name, its_number) = version_of(one), version_of(other)
    year, its_year = year_of(one), year_of(other)
    same_years = year is not None and its_year is not None and year[0] == its_year[0]
    return (name == its_name and number != its_number) or (same_years and year != its_year)


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


def years(memos: Iterable[Memo]) -> Iterator[tuple[Memo, Memo]]:
    """The pairs of ``policy-2023`` and ``policy-2024``, each of which says from when it applies,
    where the earlier one still applies when the later one begins. Minutes, posts and the like state
    no such day, or end: each of them stands for itself."""
    alike: dict[str, dict[int, list[Memo]]] = defaultdict(lambda: defaultdict(list))
    for memo in memos:
        if memo.valid_from is not None and (found := year_of(memo.stem)) is not None:
            alike[found[0]][found[1]].append(memo)
    for numbers in alike.values():
        for before, after in pairwise(sorted(numbers)):
            if len(numbers[before]) == len(numbers[after]) == 1:
                former, later = numbers[before][0], numbers[after][0]
                start, begins = former.valid_from, later.valid_from
                if start is not None and begins is not None and start <= begins < former.valid_to:
                    yield former, later
