"""Claims that say the same, and claims of which one denies what the other says.

Only claims of one workspace, perspective, kind, subject and predicate are held against each other.
The claims of a group are the same two by two: each claim, in log order, joins the first group all
of whose claims it is the same as, or opens its own. So claims that come later change no group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doxa.engine import events as ev
from doxa.engine.belief import Standing
from doxa.engine.texts import Rows, Texts
from doxa.engine.view import TruthView
from doxa.projections.clusters import evidence
from doxa.projections.similarity import (
    NEAR,
    Denial,
    Wording,
    denial,
    fewest,
    may_deny,
    within,
    wording,
)

__all__ = ["Block", "blocks", "denials", "grouped"]

_AT_ONCE = 4_096  # claims whose words are read together


class Block(NamedTuple):
    """Held claims with sources of one workspace, perspective, kind, subject and predicate: their
    rows and standings in log order, and what is held against each other of each. ``denials`` is
    empty where no claim may deny anything."""

    rows: tuple[int, ...]
    standings: tuple[Standing, ...]
    events: tuple[ev.Claim, ...]
    wordings: tuple[Wording, ...]
    denials: tuple[Denial, ...]


def blocks(view: TruthView, rows: Rows, kind: str | None = None) -> Iterator[Block]:
    """The blocks of two claims or more at a view, in the order of their first claims; what was
    erased is left out. ``rows`` reads stored events. O(claims)."""
    graph = view.graph
    found: dict[tuple[int, ...], list[tuple[int, Standing]]] = {}
    for row, standing in evidence(view, kind):
        place = (
            *(graph.c_ws[row], graph.c_perspective[row], graph.c_kind[row]),
            *(graph.c_subject[row], graph.c_predicate[row]),
        )
        found.setdefault(place, []).append((row, standing))
    several = [claims for claims in found.values() if len(claims) > 1]
    waiting: list[list[tuple[int, Standing]]] = []
    for claims in several:
        waiting.append(claims)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield from _read(view, rows, waiting)
            waiting = []
    yield from _read(view, rows, waiting)


def _read(
    view: TruthView, rows: Rows, several: Sequence[Sequence[tuple[int, Standing]]]
) -> Iterator[Block]:
    """The blocks of some claims, whose words are read together."""
    graph, texts = view.graph, Texts(view.graph, rows)
    texts.expect_at([graph.c_pos[row] for claims in several for row, _ in claims])
    for claims in several:
        read = [(row, standing, texts.event(graph.c_pos[row])) for row, standing in claims]
        kept = [(r, s, event) for r, s, event in read if isinstance(event, ev.Claim)]
        if len(kept) > 1:
            said = [(e.subject, e.predicate, e.object, e.text) for _, _, e in kept]
            yield Block(
                tuple(row for row, _, _ in kept),
                tuple(standing for _, standing, _ in kept),
                tuple(event for _, _, event in kept),
                tuple(wording(*each) for each in said),
                tuple(denial(*each) for each in said) if _some_deny(kept) else (),
            )


def _some_deny(read: Sequence[tuple[int, Standing, ev.Claim]]) -> bool:
    first = read[0][2]
    about = f"{first.subject} {first.predicate}"
    return may_deny(about, None) or any(may_deny(e.object, e.text) for _, _, e in read)


def grouped(wordings: Sequence[Wording]) -> list[list[int]]:
    """The numbers of the statements of each group, single ones too, in the order of their first.

    Statements are held against those only that have the rarest word of the shorter one: O(words),
    and the square of the statements that share such a word in the worst case.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, each in enumerate(wordings):
        alike.setdefault(each.guard, []).append(number)
    found = []
    for numbers in alike.values():
        found += _Alike([wordings[number].words for number in numbers]).groups(numbers)
    return sorted(found)


class _Alike:
    """Statements with one guard, by their words."""

    def __init__(self, words: Sequence[tuple[str, ...]]) -> None:
        self.words = words
        self.often = Counter(word for distinct in set(words) for word in set(distinct))
        self.group_of: dict[tuple[str, ...], int] = {}
        self.distinct: list[int] = []  # by group: its different wordings
        # wordings seen so far, by a word and how many they have: the rarest one, and each
        self.by_rarest: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        self.by_word: dict[tuple[str, int], list[tuple[str, ...]]] = {}

    def groups(self, numbers: Sequence[int]) -> list[list[int]]:
        """The numbers of each group."""
        found: list[list[int]] = []
        for number, words in zip(numbers, self.words, strict=True):
            group = self.group_of.get(words)
            if group is None:
                group = self.group_of[words] = self._joined(words)
                if group == len(found):
                    found.append([])
            found[group].append(number)
        return found

    def _joined(self, words: tuple[str, ...]) -> int:
        """The group that a new wording joins, which may be one more."""
        met = Counter(self.group_of[other] for other in self._near(words))
        whole = (group for group, count in met.items() if count == self.distinct[group])
        group = min(whole, default=len(self.distinct))
        if group == len(self.distinct):
            self.distinct.append(0)
        self.distinct[group] += 1
        if words:
            self.by_rarest.setdefault((self._rarest(words), len(words)), []).append(words)
            for word in set(words):
                self.by_word.setdefault((word, len(words)), []).append(words)
        return group

    def _rarest(self, words: tuple[str, ...]) -> str:
        return min(words, key=lambda word: (self.often[word], word))

    def _near(self, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The wordings seen so far that one is near to."""
        if not words:
            return
        size = len(words)
        for word in set(words):
            for length in range(fewest(size), size + 1):
                for other in self.by_rarest.get((word, length), ()):
                    if within(other, words):
                        yield other
        rarest = self._rarest(words)
        longest = size * NEAR.denominator // NEAR.numerator
        for length in range(size + 1, longest + 1):
            for other in self.by_word.get((rarest, length), ()):
                if within(words, other):
                    yield other


def denials(statements: Sequence[Denial]) -> list[tuple[int, int]]:
    """Pairs of numbers of statements that contradict each other: one says what the other denies.

    Of each side every statement is in a pair, with the first of the other side.
    """
    sides: dict[tuple[object, ...], tuple[list[int], list[int]]] = {}
    for number, each in enumerate(statements):
        sides.setdefault(each.core, ([], []))[each.denied].append(number)
    pairs = {
        (min(one, other), max(one, other))
        for said, denied in sides.values()
        if said and denied
        for one, other in [(a, denied[0]) for a in said] + [(said[0], b) for b in denied]
    }
    return sorted(pairs)
