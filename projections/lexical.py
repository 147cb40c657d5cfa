"""The arms of words: documents ranked by BM25, and claims recalled by phrases of their own.

    score(q, d) = Σ over the distinct terms t of q:  qtf · idf(t) · tf / (tf + norm(d))
    norm(d)     = k1 · (1 - b + b · |d| / average),  k1 = 1.2,  b = 0.75
    idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))

This is BM25 (Robertson and Zaragoza 2009, section 3.4) as Lucene 8 has it, without the constant
factor k1 + 1 and with exact lengths ("Lucene (accurate)" in Kamphuis, de Vries, Boytsov and Lin
2020). qtf is how often the question has the term, tf how often the document has it. N, df and the
average are those of the documents in the view's workspaces that were recorded by its revision; one
without terms counts in N. Counts are summed exactly, terms are added in the order of their texts,
and every operation is that of one double: the same question at the same view has the same scores,
to the last bit, whatever parts the index is made of and whatever was recorded later.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from doxa.engine.arms import Floats
from doxa.engine.graph import Graph
from doxa.engine.log import Row
from doxa.engine.view import TruthView
from doxa.engine.whole import discard
from doxa.projections import sections
from doxa.projections.corpus import Corpus
from doxa.projections.pool import Pool, Sight
from doxa.projections.ranking import Dense, Sparse
from doxa.projections.reading import read
from doxa.projections.words import METHOD, asked, stem, words

__all__ = ["FILE", "K1", "LOOKED_AT", "SHAPE", "B", "Lexical", "TriggerArm"]

K1: Final = 1.2
B: Final = 0.75
FILE: Final = "words.doxa"
SHAPE: Final = 1  # of what is stored; another one is thrown away
LOOKED_AT: Final = 10_000  # terms of a question; phrases that occur only behind them don't fire


class Lexical:
    """The index of words of one log, and the arm that searches it.

    It lives in memory and follows the log when it is told to; `save` writes it to ``folder``, for
    the next opening. ``link_at`` gives the chain's link at a position of the log, ``None`` where
    there is no such position. A file that is not of this log, this shape and these libraries, or
    not as it was written, is not used. One thread follows or saves at a time; others may search
    meanwhile, at views of positions that are in.
    """

    name: Final = "lexical"
    generation: Final = f"bm25.{SHAPE}-{METHOD}"

    def __init__(
        self, folder: Path | None, ledger_id: str, link_at: Callable[[int], bytes | None]
    ) -> None:
        self._path = None if folder is None else folder / FILE
        self._ledger, self._link_at = ledger_id, link_at
        self._norms: tuple[object, Floats] = (None, np.empty(0))
        found = self._stored()
        self._corpus = Corpus() if found is None else found
        self._saved = self.position  # what the file goes up to
        self.triggers = TriggerArm(lambda: self._corpus)

    @property
    def position(self) -> int:
        """The position of the log that the index goes up to."""
        return self._corpus.position

    @property
    def pool(self) -> Pool:
        """The documents, in log order."""
        return self._corpus.pool

    def follow(self, graph: Graph, pages: Iterable[Sequence[Row]]) -> None:
        """Takes in the stored rows behind ``position``, in pages; the graph has them already.

        Raises `DamageError` and `NewerFormat` where a row can't be read. O(terms · log n), on
        average.
        """
        corpus = self._corpus
        corpus.pool.follow(graph)
        for rows in pages:
            if not rows:
                continue
            assert rows[0].position == corpus.position + 1, (rows[0].position, corpus.position)
            documents = read(rows)
            try:
                corpus.add(graph, rows[-1].position, documents)
            except BaseException:
                self._corpus = Corpus()  # half of the rows are in: all is made anew
                raise

    def search(self, query: str, view: TruthView) -> Dense:
        """The documents in the workspaces of a view, recorded by its revision, that have a word of
        the question. Raises `Unavailable`. O(documents + occurrences of the terms)."""
        corpus = self._corpus
        sight = corpus.sight(view)
        terms_of = Counter(map(stem, asked(query)))
        terms = sorted((term, corpus.terms.find(term)) for term in terms_of)
        known = [(terms_of[term], code) for term, code in terms if code >= 0]
        codes = np.array([code for _, code in known], np.int64)
        places, start = [], 0
        for place, count in sight.parts:
            places.append((start, corpus.postings.find(place.number, codes, count)))
            start += count
        scores, norms = np.zeros(sight.size), self._norms_of(corpus, sight)
        for i, (times, _) in enumerate(known):
            found = [(start, part) for start, of in places for part in of[i]]
            df = sum(len(part.documents) for _, part in found)
            weight = times * _idf(sight.size, df)
            for start, (documents, counts) in found:
                slots = documents + np.intp(start)
                added = counts / (counts + norms.take(slots))
                np.add.at(scores, slots, weight * added)  # each slot once
        return Dense(sight, scores)

    def _norms_of(self, corpus: Corpus, sight: Sight) -> Floats:
        """What the length of each document adds to a term's count, by slot."""
        key = corpus, sight.key
        kept, norms = self._norms
        if kept != key:
            average = sight.terms / sight.size if sight.terms else 1.0
            norms = K1 * (1 - B + B * (sight.lengths() / average))
            self._norms = key, norms
        return norms

    # -- keeping

    def save(self) -> bool:
        """Writes the index to its folder, for the next opening. False where that can't be: there is
        no folder, it can't be written to, the disk is full, or the log does not reach so far."""
        corpus = self._corpus
        if self._path is None:
            return False
        if corpus.position == 0 or (self._saved == corpus.position and self._path.exists()):
            return True
        link = self._link_at(corpus.position)
        if link is None:
            return False
        about, arrays = corpus.sealed()
        try:
            sections.save(self._path, {**self._about(), "chain": link.hex(), **about}, arrays)
        except OSError:
            return False
        self._saved = corpus.position
        return True

    def _about(self) -> dict[str, object]:
        return {
            "format": "doxa words",
            "shape": SHAPE,
            "generation": self.generation,
            "ledger": self._ledger,
        }

    def _stored(self) -> Corpus | None:
        """What the file holds, if it is of this log and this version."""
        about: dict[str, Any] = {}
        if self._path is not None:
            with contextlib.suppress(OSError, sections.Unfit):
                about, arrays = sections.load(self._path)
        if any(about.get(name) != value for name, value in self._about().items()):
            return None
        link = self._link_at(about["position"])
        return Corpus.load(about, arrays) if link and link.hex() == about["chain"] else None

    @property
    def saved(self) -> int:
        """The position of the log that the file goes up to."""
        return self._saved

    def forget(self) -> None:
        """Forgets everything: all is made anew from the log then."""
        self._corpus, self._saved = Corpus(), 0

    def discard(self) -> None:
        """Forgets everything, and removes the file, so that nothing is left of what was erased from
        the log. Raises `OSError` where the file can't be removed."""
        self.forget()
        if self._path is not None:
            discard(self._path)


class TriggerArm:
    """Finds claims by their phrases. A phrase fires where its terms occur in the question side by
    side and in order. The score of a claim is the number of terms in the longest phrase of its own
    that fires; it says nothing of how well the claim fits."""

    name: Final = "triggers"
    generation: Final = f"triggers.{SHAPE}-{METHOD}"

    def __init__(self, corpus: Callable[[], Corpus]) -> None:
        self._corpus = corpus

    def search(self, query: str, view: TruthView) -> Sparse:
        """The claims in the workspaces of a view, recorded by its revision, with a phrase that the
        question has. Raises `Unavailable`. O(terms of the question · lengths of phrases)."""
        corpus = self._corpus()
        sight = corpus.sight(view)
        asked = [corpus.terms.find(term) for term in words(query)[:LOOKED_AT]]
        numbers, scores = [np.empty(0, np.int32)], [np.empty(0)]
        for place, _ in sight.parts:
            for length, documents in corpus.triggers.fired(place.number, asked, sight.documents):
                numbers.append(np.array(documents, np.int32))
                scores.append(np.full(len(documents), float(length)))
        number, score = np.concatenate(numbers), np.concatenate(scores)
        order = np.lexsort((score, number))
        number, score = number[order], score[order]
        longest = np.append(number[1:] != number[:-1], True)[: len(number)]
        return Sparse(corpus.pool.entities[number[longest]], score[longest])


def _idf(documents: int, df: int) -> float:
    """How much a term that ``df`` of so many documents have says."""
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))
