"""How good recall is: the same questions to plain top-k, to newest-wins, and to doxa.

Each corpus is judged by labelled questions (`doxa.bench.questions`), half of which are kept for
calibration and are no part of any figure. Two things end a run with `Broken`, since then no figure
means anything: doxa serving what is not held at a question's view, and a broken system scoring
otherwise on the generated corpus than the formulas say.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import doxa
from doxa.bench import corpora
from doxa.bench.aged import NOTES, NOW, WORKSPACE, Aged
from doxa.bench.generated import Generated, System, generated
from doxa.bench.questions import Lack, Question, halves
from doxa.bench.scores import Asked, Broken, Share, against_formula, counted, never_served
from doxa.bench.systems import Answering, Baseline, Doxa, Truth, searcher
from doxa.engine import times
from doxa.engine.calibration import Calibration, fit
from doxa.engine.documents import LINEAGE
from doxa.engine.embedding import Embedder
from doxa.ledger import Ledger

__all__ = ["CORPORA", "TOP_K", "Ages", "Column", "Judged", "ages", "judged"]

TOP_K: Final = 10
INVENTED: Final = "generated"
CORPORA: Final = (*corpora.HISTORIES, INVENTED)
FIRST: Final = 3  # hits of the aged corpus that are looked at
GRADES: Final = ("stale", "context_invalid")
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Column:
    """One system's figures over the questions it is judged by: those at the newest knowledge and
    those at past knowledge, its abstentions by why there is no answer, what it took, and the share
    of its hits of each grade where these were asked for."""

    name: str
    now: dict[str, Share]
    past: dict[str, Share]
    lacks: dict[str, Share]
    p50: float
    p95: float
    grades: dict[str, Share] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """A JSON object; times are in seconds."""
        shares = {
            group: {name: share.as_dict() for name, share in getattr(self, group).items()}
            for group in ("now", "past", "lacks", "grades")
        }
        return {"name": self.name, **shares, "p50": self.p50, "p95": self.p95}


@dataclass(frozen=True)
class Judged:
    """One corpus: how large it is, which questions it was judged by, and what came of it."""

    name: str
    documents: int
    questions: dict[str, int]
    columns: tuple[Column, ...]
    calibration: Calibration | None = None

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        fitted = self.calibration
        return {
            "corpus": self.name,
            "documents": self.documents,
            "questions": self.questions,
            "systems": [column.as_dict() for column in self.columns],
            "calibration": None if fitted is None else fitted.as_json(),
        }


# ------------------------------------------------------------ one corpus


def judged(
    name: str,
    topics: int,
    embedder: Embedder | None,
    step: Step = lambda done, of: None,
    change: Callable[[Answering], Answering] = lambda system: system,
) -> Judged:
    """Asks all systems all questions of a corpus, and counts. ``topics`` is the size of the
    generated one. ``change`` may put another system in the place of one.

    Raises `Broken`, and `corpora.Absent` where a published history is not on this machine.
    """
    made = generated(topics) if name == INVENTED else None
    lines = corpora.events(name) if made is None else list(made.events())
    with doxa.open(embedder=embedder) as ledger:
        report = ledger.import_events(lines)
        assert not report.set_aside, report
        questions = corpora.questions(name, ledger) if made is None else made.questions
        documents = ledger.index()["documents"]
        kept, asked = halves(questions)
        fitted = None if embedder is None else _calibrated(ledger, embedder, kept, documents)
        systems = [change(system) for system in _systems(ledger, fitted)]
        truth = Truth(lines)
        answers: dict[str, list[Asked]] = {}
        for number, system in enumerate(systems):
            some = questions if _is_plain(system) else asked
            answers[system.name] = [Asked(q, system.answer(q)) for q in some]
            step(number + 1, len(systems))
    for system in systems:
        if isinstance(system, Doxa):
            never_served(f"{system.name}, on {name},", answers[system.name], truth)
    if made is not None:
        _guard(made, systems, answers, truth)
    columns = [_column(each, answers[each.name], truth) for each in systems]
    kinds = Counter("answerable" if q.lack is None else str(q.lack) for q in asked)
    kinds["at past knowledge"] = sum(q.past for q in asked)
    return Judged(name, documents, dict(sorted(kinds.items())), tuple(columns), fitted)


def _systems(ledger: Ledger, fitted: Calibration | None) -> Iterator[Answering]:
    words = searcher(ledger)
    for cut in (True, False):
        for kind in System:
            yield Baseline(kind, ledger, words, TOP_K, cut)
    plain = {"mode": "lexical", "trust": "standing"}
    yield Doxa("doxa", ledger, TOP_K, plain)
    if fitted is None:
        return
    fused = {"mode": "fused", "trust": "standing"}
    yield Doxa("doxa, fused", ledger, TOP_K, {**fused, "validity_annotate": True})
    yield Doxa("doxa, fused by validity", ledger, TOP_K, {**fused, "profile": "validity"})
    yield Doxa(
        "doxa, strict",
        ledger,
        TOP_K,
        {"mode": "fused", "trust": "strict", "calibration": fitted.id},
    )


def _is_plain(system: Answering) -> bool:
    """Whether a system is without an embedder, and so is asked what is held out too."""
    return not isinstance(system, Doxa) or system.options["mode"] == "lexical"


def _calibrated(
    ledger: Ledger, embedder: Embedder, kept: Sequence[Question], documents: int
) -> Calibration:
    """The calibration fitted to the questions that are kept for it, each at its own view, recorded
    behind the history."""
    best = Doxa("best", ledger, 1, {"mode": "dense", "trust": "development"})
    scores: dict[bool, list[float]] = {True: [], False: []}
    for question in kept:
        hits = best.recalled(question).hits
        found = [hit.scores["dense"] for hit in hits]
        scores[question.answerable].append(max((s for s in found if s is not None), default=-1.0))
    dimension = embedder.dimension or len(embedder.query("dimension"))
    fitted = fit(
        scores[True],
        scores[False],
        embedder=embedder.name,
        dimension=dimension,
        lineage=LINEAGE,
        documents=documents,
    )
    ledger.policy(calibrated=fitted.as_json(), id=fitted.id)
    return fitted


def _guard(
    made: Generated,
    systems: Sequence[Answering],
    answers: dict[str, list[Asked]],
    truth: Truth,
) -> None:
    """Holds the broken systems against their formulas. Raises `Broken`."""
    named = {(each.kind, each.cut): each.name for each in systems if isinstance(each, Baseline)}
    for kind in System:
        today, cut = (answers[named[kind, cut]] for cut in (False, True))
        against_formula(made, kind, today, cut, truth)


def _column(system: Answering, answers: Sequence[Asked], truth: Truth) -> Column:
    """The figures over those questions that are not kept for calibration."""
    asked = [one for one in answers if not one.question.held_out]
    ranked = sorted(one.answer.seconds for one in asked)
    lacks = {
        str(lack): counted([one for one in asked if one.question.lack is lack], truth)[
            "abstained rightly"
        ]
        for lack in Lack
    }
    graded = [grade for one in asked for grade in one.answer.grades]
    return Column(
        system.name,
        counted([one for one in asked if not one.question.past], truth),
        counted([one for one in asked if one.question.past], truth),
        {lack: share for lack, share in lacks.items() if share.of},
        statistics.median(ranked),
        ranked[int(len(ranked) * 0.95)],
        {grade: Share(graded.count(grade), len(graded)) for grade in GRADES if graded},
    )


# ------------------------------------------------------------ ages


@dataclass(frozen=True)
class Ages:
    """What the order of some hits is worth, with the validity profile or without: of the first
    `FIRST` hits of each question the share of each grade, and of those about the topic; and the
    share of questions at which the fresh note in scope stands above the older, better match."""

    name: str
    stale: Share
    context_invalid: Share
    about_it: Share
    fresh_first: Share

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        names = ("stale", "context_invalid", "about_it", "fresh_first")
        return {"name": self.name, **{name: getattr(self, name).as_dict() for name in names}}


def ages(topics: int) -> tuple[Ages, ...]:
    """Recall on the corpus of stated ages, by match alone and by validity. Raises `Broken` where
    match alone does not put the oldest notes first, as the corpus is made to."""
    corpus = Aged(topics)
    with doxa.open(embedder=corpus.embedder) as ledger:
        report = ledger.import_events(corpus.events())
        assert not report.set_aside, report
        ledger.index()
        by_match = _ages("by match", corpus, ledger, {"validity_annotate": True})
        by_validity = _ages("by validity", corpus, ledger, {"profile": "validity"})
    invalid = sum(note.age > 90 for note in NOTES[:FIRST])
    stale = sum(30 < note.age <= 90 for note in NOTES[:FIRST])
    shown = FIRST * topics
    wanted = Ages(
        "by match",
        Share(stale * topics, shown),
        Share(invalid * topics, shown),
        Share(shown, shown),
        Share(0, topics),
    )
    if by_match != wanted:
        raise Broken(f"by match alone it must be {wanted}, and it is {by_match}")
    return by_match, by_validity


def _ages(name: str, corpus: Aged, ledger: Ledger, options: dict[str, Any]) -> Ages:
    view = ledger.view(valid_at=times.moment(NOW), workspace=WORKSPACE)
    grades: list[str] = []
    about, above = [], []
    for topic in corpus.topics:
        found = ledger.recall(
            topic.text, view=view, mode="fused", trust="standing", top_k=100, **options
        )
        for hit in found.hits[:FIRST]:
            assert hit.validity is not None
            grades.append(hit.validity["grade"])
            about.append(hit.id in topic.notes)
        places = {hit.id: place for place, hit in enumerate(found.hits)}
        fresh, oldest = topic.notes[-1], topic.notes[0]
        above.append(places.get(fresh, 101) < places.get(oldest, 101))
    stale, invalid = (Share(grades.count(grade), len(grades)) for grade in GRADES)
    about_it, fresh_first = (Share(sum(each), len(each)) for each in (about, above))
    return Ages(name, stale, invalid, about_it, fresh_first)
