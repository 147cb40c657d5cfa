"""All that is indexed of one log: its documents, their terms, and the phrases of its claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from doxa.engine.graph import Graph
from doxa.engine.outcomes import Gap, Unavailable
from doxa.engine.view import TruthView
from doxa.projections.pool import COLUMNS, Pool, Sight
from doxa.projections.postings import AT_ONCE, Postings, Segment
from doxa.projections.reading import Read
from doxa.projections.terms import Terms
from doxa.projections.triggers import Triggers
from doxa.projections.words import searched, split

__all__ = ["Corpus"]

Arrays = dict[str, npt.NDArray[Any]]

_TERMS_AT_ONCE: Final = 1 << 22  # terms that are sorted out together, and one document's more


class Corpus:
    """What is indexed up to a position of the log. Written by one thread; others may search
    meanwhile what they know of."""

    def __init__(self) -> None:
        self.position = 0
        self.pool, self.terms = Pool(), Terms()
        self.postings, self.triggers = Postings(), Triggers()

    def sight(self, view: TruthView) -> Sight:
        """What a view may know of the documents. Raises `Unavailable` where they are not in yet."""
        if self.position < view.k:
            raise Unavailable(
                Gap.INDEX_UNAVAILABLE,
                f"the index of words goes up to revision {self.position}, the view to {view.k}",
            )
        return self.pool.sight(view)

    def add(self, graph: Graph, position: int, documents: Sequence[Read]) -> None:
        """Adds the documents of the rows up to a position. If it raises, what is here is spoilt."""
        self.pool.follow(graph)
        for some, lengths, codes in self._batches(documents):
            first = len(self.pool)
            places, numbers = self.pool.add(some, lengths)
            self.postings.add(places, numbers, lengths, codes)
            for number, one in enumerate(some):
                for phrase in one.document.triggers:
                    terms = list(map(self.terms.code_of, split(phrase)))
                    self.triggers.add(int(places[number]), first + number, terms)
            self.pool.close()
        self.position = position

    def _batches(self, documents: Sequence[Read]) -> Iterator[tuple[Sequence[Read], Any, Any]]:
        """The documents in parts that can be sorted out together, with their lengths and terms."""
        codes: list[int] = []
        lengths: list[int] = []
        start, code_of = 0, self.terms.code_of
        for end, one in enumerate(documents, 1):
            found = searched(one.document.words)
            codes += map(code_of, found)
            lengths.append(len(found))
            if len(lengths) == AT_ONCE or len(codes) >= _TERMS_AT_ONCE or end == len(documents):
                yield documents[start:end], np.array(lengths, np.int32), np.array(codes, np.int32)
                start, codes, lengths = end, [], []

    def sealed(self) -> tuple[dict[str, Any], Arrays]:
        """All of it as JSON and as arrays by name."""
        numbers, arrays = self.terms.sealed()
        parts = {
            "pool": self.pool.columns,
            "postings": self.postings.merge()._asdict(),
            "terms": arrays,
            "triggers": self.triggers.sealed(),
        }
        named = {f"{part}.{name}": of for part, some in parts.items() for name, of in some.items()}
        return {"position": self.position, "places": self.pool.names, "terms": numbers}, named

    @classmethod
    def load(cls, about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Corpus:
        """What `sealed` gave."""
        parts: dict[str, Arrays] = {}
        for name, values in arrays.items():
            part, _, field = name.partition(".")
            parts.setdefault(part, {})[field] = values
        found = cls()
        places = [found.pool.place(name) for name in about["places"]]
        found.pool.extend({name: parts["pool"][name] for name in COLUMNS}, places)
        found.pool.close()
        found.terms = Terms.load(about["terms"], parts["terms"])
        found.postings = Postings([Segment(**parts["postings"])])
        found.triggers = Triggers.load(parts["triggers"], found.pool.places)
        found.position = about["position"]
        return found
