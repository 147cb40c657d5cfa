"""The systems that are judged side by side: two without a view, and doxa.

All search the same documents with the same scorer (`Lexical`, BM25 over the same stems, with the
counts of the same pool), and differ in what they make of what it finds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

import doxa
from doxa.bench.generated import System
from doxa.bench.questions import Question
from doxa.engine import times
from doxa.engine.envelope import Recalled
from doxa.engine.graph import CLAIM
from doxa.engine.outcomes import Outcome, Tier, Verdict
from doxa.ledger import Ledger
from doxa.projections.lexical import Lexical

__all__ = ["Answer", "Answering", "Baseline", "Doxa", "Truth", "searcher"]

Ids = npt.NDArray[np.int64]
SERVED: Final = (Verdict.OK, Verdict.UNVERIFIED, Verdict.CONTESTED)


@dataclass(frozen=True)
class Answer:
    """What a system served as current: claims, best first; and what it took.

    ``abstained``: there is nothing to act on in it, though both sides of a conflict may be shown.
    ``refused``: its gate could not run. ``grades`` are those of the validity profile, one for each
    hit, where it was asked for.
    """

    served: tuple[str, ...]
    seconds: float
    abstained: bool = False
    refused: bool = False
    grades: tuple[str, ...] = ()


class Answering(Protocol):
    """A system that is asked questions."""

    @property
    def name(self) -> str: ...

    def answer(self, question: Question) -> Answer:
        """What it serves."""


# ------------------------------------------------------------ what is right


class Truth:
    """Whether a claim is held, read off the lines of a history: recorded by then, valid there, and
    not taken back or replaced by then. Shares nothing with the engine.

    It knows only corrections and withdrawals of whole claims; other lines raise `AssertionError`.
    """

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        self._spans: dict[str, tuple[int, int, int]] = {}
        self._ended: dict[str, int] = {}
        for line in lines:
            recorded = times.instant(line["recorded_at"])
            if line["event"] == "claim":
                low = times.valid_start(line.get("valid_from"))
                high = times.valid_end(line.get("valid_to"))
                self._spans[line["id"]] = low, high, recorded
            elif line["event"] in ("correction", "withdrawal"):
                assert line.get("valid_from") is line.get("valid_to") is None, line
                target = line.get("corrects") or line["target"]
                assert target in self._spans, line
                self._ended[target] = min(recorded, self._ended.get(target, recorded))
            else:
                assert "single_valued" in line, line

    def held(self, claim: str, question: Question) -> bool:
        """Whether a claim is held at the view of a question."""
        v, k = times.instant(question.valid_at), times.instant(question.known_at)
        low, high, recorded = self._spans[claim]
        return recorded <= k < self._ended.get(claim, times.POS) and low <= v < high


# ------------------------------------------------------------ without a view


def searcher(ledger: Ledger) -> Lexical:
    """An index of words over a ledger's log, in memory: the scorer that all systems share."""
    store, revision = ledger.recorder, ledger.revision
    words = Lexical(None, store.ledger_id, lambda position: None)
    graph = ledger.view(valid_at="2024-01-01").graph
    words.follow(graph, store.read_rows(0, revision))
    return words


@dataclass
class Baseline:
    """A store of texts without a view: the nearest of them, or of each subject and predicate only
    the newest recorded.

    With ``cut`` it is given the texts that were recorded by a question's ``known_at``, as if it had
    kept a copy of itself for each moment; else it has those of today, as such a store does.
    """

    kind: System
    ledger: Ledger
    words: Lexical
    top_k: int
    cut: bool = True
    _newest: tuple[int, Ids] = field(default=(-1, np.empty(0, np.int64)))

    @property
    def name(self) -> str:
        """How it is called in tables."""
        named = {System.PLAIN: "plain top-k", System.NEWEST: "newest wins"}[self.kind]
        return named if self.cut else f"{named}, as of today"

    def answer(self, question: Question) -> Answer:
        """The first of what its words find, ties by id."""
        known_at = question.known_at if self.cut else None
        view = self.ledger.view(valid_at=question.valid_at, known_at=known_at)
        newest_rows = self._rows(view) if self.kind is System.NEWEST else None
        started = time.perf_counter()
        ranking = self.words.search(question.text, view)
        wanted = self.top_k if newest_rows is None else ranking.total
        documents, scores = ranking.best(wanted)
        assert (documents & 7 == CLAIM).all(), "only claims are judged here"
        if newest_rows is not None:
            newest = np.isin(documents >> 3, newest_rows, assume_unique=True)
            documents, scores = documents[newest], scores[newest]
            if len(scores) > self.top_k:
                least = np.partition(scores, -self.top_k)[-self.top_k]
                documents, scores = documents[scores >= least], scores[scores >= least]
        id_of = view.graph.id_of
        listed = sorted((-s, id_of(d)) for d, s in zip(documents.tolist(), scores, strict=True))
        served = tuple(id for _, id in listed[: self.top_k])
        return Answer(served, time.perf_counter() - started, abstained=not served)

    def _rows(self, view: doxa.TruthView) -> Ids:
        """The claims recorded last of their subject and predicate, by a view's revision."""
        if self._newest[0] != view.k:
            graph = view.graph
            count = graph.claims_upto(view.k)
            last = {(graph.c_subject[row], graph.c_predicate[row]): row for row in range(count)}
            self._newest = view.k, np.array(sorted(last.values()), np.int64)
        return self._newest[1]


# ------------------------------------------------------------ with one


@dataclass
class Doxa:
    """A ledger that is asked at each question's own view. What it serves as current is what it
    hands out without a verdict against it, and the sides of a conflict, which say that they are."""

    name: str
    ledger: Ledger
    top_k: int
    options: dict[str, Any] = field(default_factory=dict)

    def answer(self, question: Question) -> Answer:
        """What a recall serves, from capturing the view on."""
        started = time.perf_counter()
        found = self.recalled(question)
        seconds = time.perf_counter() - started
        return Answer(
            served_of(found),
            seconds,
            found.abstained,
            found.outcome is Outcome.REFUSED,
            tuple(hit.validity["grade"] for hit in found.hits if hit.validity is not None),
        )

    def recalled(self, question: Question) -> Recalled:
        """The whole answer."""
        view = self.ledger.view(valid_at=question.valid_at, known_at=question.known_at)
        return self.ledger.recall(question.text, view=view, top_k=self.top_k, **self.options)


def served_of(found: Recalled) -> tuple[str, ...]:
    """The claims that an answer hands out as current, in its order."""
    for hit in found.hits:
        assert hit.tier is Tier.CLAIM, "only claims are judged here"
    return tuple(hit.id for hit in found.hits if hit.verdict in SERVED)
