"""Which claims may contradict one another, because they say otherwise where one value is said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Final

from doxa.engine import events as ev
from doxa.engine.graph import CLAIM, NONE, Graph
from doxa.engine.history import DenseHistory
from doxa.engine.keyed import PREDICATE, SUBJECT
from doxa.engine.rivals import RivalGroup
from doxa.engine.times import ALL, EMPTY, Intervals

__all__ = ["FEW", "Rivalry"]

FEW: Final = 16  # children of one thing that are looked at one by one


class Rivalry(ABC):
    """The groups of claims about one subject and predicate that were asked for, and what each
    claim says in a form in which equals are equal."""

    beliefs: DenseHistory

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._rivals: dict[tuple[int, int, int, int], RivalGroup] = {}
        self._object_keys: dict[int, str] = {}
        # groups of rivals by workspace and digests, and how many of them there are here
        self._rivals_about: dict[tuple[int, str, str], list[tuple[int, int, int, int]]] = {}
        self._digested = 0

    @abstractmethod
    def own(self, claim: int) -> Intervals:
        """The interval that a claim was recorded with."""

    @abstractmethod
    def held_now(self, claim: int, where: Intervals = ALL) -> Intervals:
        """Where a claim is held at the head, within ``where``."""

    def rival_group(self, claim: int) -> RivalGroup:
        """The held claims about the subject of a claim and its single-valued predicate."""
        graph = self.graph
        ws, perspective = graph.c_ws[claim], graph.c_perspective[claim]
        subject, predicate = graph.c_subject[claim], graph.c_predicate[claim]
        group = self._rivals.get((ws, perspective, subject, predicate))
        if group is None:
            group = self._rivals[ws, perspective, subject, predicate] = RivalGroup()
            for other in self.fellows(claim):
                group.note(other, self.object_key(other), self.held_hull(other))
        return group

    def predicate_of(self, claim: int) -> int:
        """The code of a claim's predicate; of an erased one it is known where it has one value at a
        time, else NONE. O(such predicates)."""
        graph = self.graph
        one = graph.erased.get(claim * 8 + CLAIM) if graph.erased else None
        if one is None or one.predicate is None or graph.keyed is None:
            return graph.c_predicate[claim]
        digest, texts = graph.keyed().digest, graph.names.texts
        for code in graph.single_valued:
            if digest(PREDICATE, texts[code]) == one.predicate:
                return code
        return NONE

    def group_of_erased(self, claim: int) -> RivalGroup | None:
        """The rivals of an erased claim, where any that is not erased was looked for. O(groups
        that were made meanwhile)."""
        graph = self.graph
        one = graph.erased[claim * 8 + CLAIM]
        assert one.subject is not None, one
        assert one.predicate is not None, one
        assert graph.keyed is not None, one
        digest, texts = graph.keyed().digest, graph.names.texts
        for ws, perspective, subject, predicate in islice(self._rivals, self._digested, None):
            about = digest(SUBJECT, texts[subject]), digest(PREDICATE, texts[predicate])
            place = ws, perspective, subject, predicate
            self._rivals_about.setdefault((ws, *about), []).append(place)
        self._digested = len(self._rivals)
        for place in self._rivals_about.get((graph.c_ws[claim], one.subject, one.predicate), ()):
            if graph.of_perspective(claim, texts[place[1]]):
                return self._rivals[place]
        return None

    def fellows(self, claim: int) -> Iterator[int]:
        """The claims about the subject and predicate of a claim, and of its perspective, in its
        workspace; of those that were erased the ones that are known to have been."""
        graph = self.graph
        ws, perspective = graph.c_ws[claim], graph.c_perspective[claim]
        subject, predicate = graph.c_subject[claim], graph.c_predicate[claim]
        for other in graph.claims_about(subject, predicate):
            if graph.c_ws[other] == ws and graph.c_perspective[other] == perspective:
                yield other
        if graph.erased_about:
            texts = graph.names.texts
            for other in graph.erased_claims(texts[subject], texts[predicate]):
                if graph.c_ws[other] == ws and graph.of_perspective(other, texts[perspective]):
                    yield other

    def known_to_agree(self, one: int, other: int) -> bool:
        """Whether of two claims, one of them erased, it is known that they said the same."""
        return bool(self.graph.erased) and self.graph.agree(one, other)

    def held_hull(self, claim: int) -> Intervals:
        """The smallest interval with all that a claim is held over at the head; its own where it
        has many stretches."""
        if len(self.beliefs.leaves.get(claim)) > FEW:
            return self.own(claim)
        held = self.held_now(claim)
        return (held[0], held[-1]) if held else EMPTY

    def object_key(self, claim: int) -> str:
        """The equality key of the object of a claim."""
        key = self._object_keys.get(claim)
        if key is None:
            erased = claim * 8 + CLAIM in self.graph.erased
            said = f"erased {claim}" if erased else ev.equality_key(self.graph.c_object[claim])
            key = self._object_keys[claim] = said
        return key

    def forget_contents(self) -> None:
        """Forgets what claims say; it is found again where it still is."""
        self._rivals, self._object_keys = {}, {}
        self._rivals_about, self._digested = {}, 0
