"""How fast recall is: beside bm25s on the same texts, with vectors, and what the view costs.

The texts are drawn from Zipf's law: some forty words each, of 60,000. One in twenty claims is taken
back later, and one in twenty replaced. Questions are six words of one text each; none is asked
twice. A figure is the median of one run of questions; there are five runs, the contenders taking
turns in each, and the least of them is the best of five quiet ones.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import doxa
from doxa.bench.generated import NUCLEI, ONSETS
from doxa.bench.measuring import Effort, Finding, Series, in_turn, timed
from doxa.bench.scores import Broken
from doxa.engine import times
from doxa.engine.choosing import Chooser, Filters
from doxa.engine.eligibility import Judge
from doxa.engine.embedding import Embedder
from doxa.engine.texts import Texts
from doxa.engine.times import DAY
from doxa.ledger import Ledger
from doxa.projections.lexical import FILE, K1, B, Lexical
from doxa.projections.words import searched, stem

__all__ = ["BM25S", "PROMISES", "Kept", "Promise", "Texts40", "measure", "promises"]

START: Final = times.instant("2024-01-01")
VALID_AT: Final = "2024-09-01"
WORDS: Final = (30, 50)  # in a text: from, to
VOCABULARY: Final = 60_000
QUERY: Final = 6  # words of a question
RUNS: Final = 5
QUESTIONS: Final = RUNS * 300
TOP_K: Final = 10
POOL: Final = 100  # what recall takes from each way of searching
DIMENSION: Final = 384
COMMIT: Final = 1_000  # claims
TAKEN_BACK: Final = 20  # of so many claims one, and one replaced
BM25S: Final = "bm25s"
RECALL, SEARCH = "doxa", "doxa: search alone"
FUSED, DENSE = "doxa: fused", "doxa: dense alone"
FILTERED, UNFILTERED = "doxa: ten that are held", "doxa: ten of all"
HUNDRED = "doxa: a hundred that are held", "doxa: a hundred of all"


# ------------------------------------------------------------ the corpus


@dataclass(frozen=True)
class Texts40:
    """So many texts of about forty words; the same for the same values."""

    size: int
    seed: int = 7

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many words each text has."""
        rng = np.random.default_rng((self.seed, 1))
        return rng.integers(WORDS[0], WORDS[1], self.size, endpoint=True)

    @cached_property
    def drawn(self) -> npt.NDArray[np.int64]:
        """The words of each text, by their ranks: the n-th most frequent comes 1/n times as often
        as the first. Of each row the first of a text's length count."""
        shares = 1 / np.arange(1, VOCABULARY + 1)
        rng = np.random.default_rng(self.seed)
        found = rng.choice(VOCABULARY, (self.size, WORDS[1]), p=shares / shares.sum())
        return found.astype(np.int64)

    @cached_property
    def words(self) -> list[str]:
        """The vocabulary, the most frequent first."""
        return [_word(rank) for rank in range(VOCABULARY)]

    def text(self, number: int) -> str:
        """One text."""
        return " ".join(self.words[rank] for rank in self._ranks(number))

    def _ranks(self, number: int) -> list[int]:
        ranks: list[int] = self.drawn[number, : self.lengths[number]].tolist()
        return ranks

    def subject(self, number: int) -> str:
        """What a text is about: some twenty of them are about the same."""
        return f"subject {number % max(1, self.size // 20)}"

    @cached_property
    def questions(self) -> list[str]:
        """What is asked: six words of one text each."""
        rng, found = random.Random(f"questions {self.seed}"), []
        for _ in range(QUESTIONS):
            ranks = self._ranks(rng.randrange(self.size))
            found.append(" ".join(self.words[rank] for rank in rng.sample(ranks, QUERY)))
        return found

    def events(self) -> Iterator[dict[str, Any]]:
        """The claims, with the texts, then what takes some back and replaces others."""
        for number in range(self.size):
            yield {
                "event": "claim",
                "id": f"c{number}",
                "subject": self.subject(number),
                "predicate": f"predicate {number % 50}",
                "object": number,
                "text": self.text(number),
                "valid_from": "2024-01-01",
                "source": f"source {number % 1_000}",
                "recorded_at": times.iso(START + number // COMMIT * 1_000_000),
            }
        for number in range(0, self.size, TAKEN_BACK):
            at = {"recorded_at": times.iso(START + 100 * DAY + number // COMMIT * 1_000_000)}
            yield {"event": "withdrawal", "id": f"w{number}", "target": f"c{number}"} | at
            if (other := number + TAKEN_BACK // 2) + 1 < self.size:
                change = {"event": "correction", "id": f"k{other}", "corrects": f"c{other}"}
                yield change | {"by": f"c{other + 1}"} | at


def _word(rank: int) -> str:
    """A word that no other rank has: shorter ones come more often."""
    syllables = [onset + nucleus for onset in ONSETS for nucleus in NUCLEI]
    letters, left = "", rank + len(syllables)
    while left:
        left, place = divmod(left, len(syllables))
        letters += syllables[place]
    return letters


def drawn_vectors(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """A random direction for each text, always the same. It says nothing of what texts mean: it is
    here to be searched, not to be right."""
    found = np.empty((len(texts), DIMENSION), np.float32)
    for place, text in enumerate(texts):
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
        found[place] = np.random.Generator(np.random.SFC64(seed)).standard_normal(
            DIMENSION, np.float32
        )
    return found


DRAWN: Final = Embedder("drawn-384", drawn_vectors, dimension=DIMENSION, timeout=600)


# ------------------------------------------------------------ what is measured


class Kept:
    """A ledger in a folder with the texts, its indexes written down."""

    def __init__(self, texts: Texts40, folder: Path) -> None:
        self.texts, self.folder = texts, folder
        with doxa.open(folder) as ledger:
            report = ledger.import_events(texts.events())
            assert not report.set_aside, report
            ledger.index()

    def state(self) -> dict[str, str]:
        """A digest of each file, by its name."""
        return {
            path.relative_to(self.folder).as_posix(): blake2b(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


def measure(size: int, effort: Effort, folder: Path, *, vectors: bool = True) -> list[Finding]:
    """All that is measured at one size. Raises `Broken` where a recall changed a byte on the
    disk."""
    texts = Texts40(size)
    kept = Kept(texts, folder)
    found = []
    with doxa.open(folder) as ledger:
        words = _words(ledger, folder)
        found.append(_indexing(texts, ledger, effort))
        found.append(_keeping(size, ledger, words, effort))
        before = kept.state()
        found.append(_recall(texts, ledger, words, effort))
        found.append(_filtering(texts, ledger, words, effort))
        unchanged(before, kept.state())
    if vectors:
        with doxa.open(folder, embedder=DRAWN) as ledger:
            started = time.perf_counter()
            embedded = ledger.index()["embedded"]
            seconds = time.perf_counter() - started
            assert embedded == size, embedded
            before = kept.state()
            fused = _fused(texts, ledger, effort)
            unchanged(before, kept.state())
            fused.facts["vectors made and kept, texts/s"] = round(size / seconds)
            found.append(fused)
    return found


def unchanged(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raises `Broken` where a file is another one than before, is new, or is gone."""
    names = sorted({*before, *after})
    if changed := [name for name in names if before.get(name) != after.get(name)]:
        raise Broken(f"recalls changed what is on the disk: {', '.join(changed)}")


def _words(ledger: Ledger, folder: Path) -> Lexical:
    """The ledger's own index of words, as it was written down, loaded beside it."""
    store = ledger.recorder

    def link(position: int) -> bytes | None:
        found = store.link_at(position)
        return None if found is None else found[1]

    words = Lexical(folder / "cache" / "search", store.ledger_id, link)
    assert words.position == ledger.revision, (words.position, ledger.revision)
    words.follow(ledger.view(valid_at=VALID_AT).graph, [])
    return words


def _runs(calls: dict[str, Callable[[int], object]], rounds: int, effort: Effort) -> Runs:
    """Of each contender the medians of `RUNS` runs, and all its figures; a question is never asked
    twice of the same one."""
    assert rounds + 2 <= QUESTIONS // RUNS, rounds
    medians: dict[str, list[float]] = {name: [] for name in calls}
    every: dict[str, list[float]] = {name: [] for name in calls}
    for run in range(RUNS):
        first = run * (QUESTIONS // RUNS)
        asked = {name: _from(timed(call), first) for name, call in calls.items()}
        for name, series in in_turn(asked, rounds, effort, warm=2).items():
            medians[name].append(series.median)
            every[name] += series.figures
    return medians, every


Runs = tuple[dict[str, list[float]], dict[str, list[float]]]


def _from(call: Callable[[int], float], first: int) -> Callable[[int], float]:
    return lambda number: call(first + number)


def _finding(measure: str, size: int, runs: Runs) -> Finding:
    medians, every = runs
    series = {name: Series(tuple(figures)) for name, figures in medians.items()}
    finding = Finding(measure, size, series)
    for name, figures in every.items():
        finding.facts[f"{name}, p95 ms"] = round(Series(tuple(figures)).share(0.95) * 1e3, 3)
    finding.facts["questions a run"] = len(next(iter(every.values()))) // RUNS
    return finding


def _recall(texts: Texts40, ledger: Ledger, words: Lexical, effort: Effort) -> Finding:
    """A question to all texts by words: the whole recall, with all it says of ten hits; the search
    alone, for the ten best; and bm25s, for the ten best, over the same stems with the same k1 and
    b."""
    view = ledger.view(valid_at=VALID_AT)
    calls: dict[str, Callable[[int], object]] = {
        RECALL: lambda n: ledger.recall(texts.questions[n], view=view, top_k=TOP_K),
        SEARCH: lambda n: words.search(texts.questions[n], view).best(TOP_K),
    }
    if find_spec(BM25S) is not None:
        retrieve = _bm25s(texts)
        calls[BM25S] = lambda n: retrieve(texts.questions[n])
    assert len(ledger.recall(texts.questions[0], view=view, top_k=TOP_K)) > 0
    return _finding("recall", texts.size, _runs(calls, effort.of(200, 20), effort))


def _bm25s(texts: Texts40) -> Callable[[str], object]:
    """bm25s over the same texts, as stems; the stems of a question are made in the call, as doxa
    makes them."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index([_stems(texts, number) for number in range(texts.size)], show_progress=False)

    def retrieve(question: str) -> object:
        stems = [stem(word) for word in searched(question)]
        return index.retrieve([stems], k=TOP_K, show_progress=False, n_threads=0)

    return retrieve


def _stems(texts: Texts40, number: int) -> list[str]:
    return [stem(word) for word in searched(f"{texts.subject(number)} {texts.text(number)}")]


def _filtering(texts: Texts40, ledger: Ledger, words: Lexical, effort: Effort) -> Finding:
    """A search for the best of all texts, beside the best that are held at the view: ten of them,
    and a hundred, which is what a recall takes; and ten with half of the log in sight."""
    view = ledger.view(valid_at=VALID_AT)
    early = ledger.view(
        valid_at=VALID_AT, known_at=times.moment(START + texts.size // 2 // COMMIT * 1_000_000)
    )

    def every(number: int, wanted: int) -> object:
        return words.search(texts.questions[number], view).best(wanted)

    def held(number: int, wanted: int, at: doxa.TruthView) -> object:
        judge = Judge(ledger._registry_of(at), at, Texts(at.graph, lambda positions: {}))
        ranking = words.search(texts.questions[number], at)
        return Chooser(judge, Filters()).refilled(ranking, wanted)

    calls: dict[str, Callable[[int], object]] = {
        UNFILTERED: lambda n: every(n, TOP_K),
        FILTERED: lambda n: held(n, TOP_K, view),
        f"{FILTERED}, half of the log": lambda n: held(n, TOP_K, early),
        HUNDRED[1]: lambda n: every(n, POOL),
        HUNDRED[0]: lambda n: held(n, POOL, view),
    }
    finding = _finding("filtering", texts.size, _runs(calls, effort.of(200, 20), effort))
    some, all_of = (finding.series[name].least for name in HUNDRED)
    finding.facts["added to a hundred, %"] = round((some / all_of - 1) * 100, 1)
    return finding


def _fused(texts: Texts40, ledger: Ledger, effort: Effort) -> Finding:
    """A question by words and by vectors of 384 dimensions, exactly, with ranks fused; and by
    vectors alone. The vectors are random directions: what is measured is the search."""
    view = ledger.view(valid_at=VALID_AT)

    def ask(number: int, mode: str) -> object:
        found = ledger.recall(
            texts.questions[number], view=view, top_k=TOP_K, mode=mode, trust="standing"
        )
        assert found.hits
        return found

    calls: dict[str, Callable[[int], object]] = {
        FUSED: lambda n: ask(n, "fused"),
        DENSE: lambda n: ask(n, "dense"),
    }
    return _finding("recall_fused", texts.size, _runs(calls, effort.of(40, 10), effort))


def _indexing(texts: Texts40, ledger: Ledger, effort: Effort) -> Finding:
    """All texts read from the log, taken apart and indexed in memory, five times; bm25s is given
    the same texts and makes the same stems."""
    store, revision = ledger.recorder, ledger.revision
    graph = ledger.view(valid_at=VALID_AT).graph

    def ours(number: int) -> None:
        words = Lexical(None, store.ledger_id, lambda position: None)
        words.follow(graph, store.read_rows(0, revision))
        assert len(words.pool) == texts.size

    taken = in_turn({RECALL: timed(ours)}, RUNS, Effort(seconds=600), warm=0)
    if find_spec(BM25S) is not None:
        taken |= in_turn({BM25S: timed(lambda number: _bm25s(texts))}, 1, effort, warm=0)
    finding = Finding("indexing", texts.size, taken, items=texts.size)
    finding.facts["texts/s, median"] = round(texts.size / taken[RECALL].median)
    finding.facts["texts/s, best"] = round(texts.size / taken[RECALL].least)
    return finding


def _keeping(size: int, ledger: Ledger, words: Lexical, effort: Effort) -> Finding:
    """Writing the index down and loading it again, five times each."""
    folder = ledger.path
    assert folder is not None
    file = folder / "cache" / "search" / FILE

    def save(number: int) -> None:
        file.unlink()
        assert words.save()

    def load(number: int) -> None:
        _words(ledger, folder)

    calls = {"doxa: save": timed(save), "doxa: load": timed(load)}
    finding = Finding("keeping", size, in_turn(calls, RUNS, effort))
    finding.facts["bytes a text"] = round(file.stat().st_size / size, 1)
    return finding


# ------------------------------------------------------------ what is promised


@dataclass(frozen=True)
class Promise:
    """A limit, and what a run found: the best of five runs, and the median of them."""

    title: str
    size: int
    limit: float
    unit: str
    at_most: bool
    best: float
    median: float

    @property
    def met(self) -> bool:
        """Whether the best of five kept it."""
        return self.best <= self.limit if self.at_most else self.best >= self.limit

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        return {**vars(self), "met": self.met}


@dataclass(frozen=True)
class _Limit:
    """What is promised: of one finding a figure, from the best of the runs or from their median."""

    title: str
    measure: str
    figure: Callable[[Finding, Callable[[str], float]], float]
    limit: float
    unit: str
    at_most: bool = True


PROMISED_AT: Final = 100_000  # texts
PROMISES: Final = (
    _Limit("lexical recall, p50", "recall", lambda f, of: of(RECALL) * 1e3, 10, "ms"),
    _Limit(
        "lexical recall ÷ bm25s",
        "recall",
        lambda f, of: of(RECALL) / of(BM25S) if BM25S in f.series else math.nan,
        3,
        "x",
    ),
    _Limit("fused recall, p50", "recall_fused", lambda f, of: of(FUSED) * 1e3, 60, "ms"),
    _Limit(
        "what the view adds to a search for ten",
        "filtering",
        lambda f, of: (of(FILTERED) / of(UNFILTERED) - 1) * 100,
        20,
        "%",
    ),
    _Limit(
        "indexing by words",
        "indexing",
        lambda f, of: f.items / of(RECALL),
        20_000,
        "texts/s",
        False,
    ),
)


def promises(findings: Iterable[Finding]) -> list[Promise]:
    """What is promised at `PROMISED_AT` texts, as far as it was measured; else at the largest size
    below."""
    kept: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda f: f.size):
        if finding.size <= PROMISED_AT:
            kept[finding.measure] = finding
    found = [_kept(one, kept[one.measure]) for one in PROMISES if one.measure in kept]
    return [promise for promise in found if not math.isnan(promise.best)]


def _kept(one: _Limit, finding: Finding) -> Promise:
    series = finding.series
    best = one.figure(finding, lambda name: series[name].least)
    median = one.figure(finding, lambda name: series[name].median)
    return Promise(one.title, finding.size, one.limit, one.unit, one.at_most, best, median)
