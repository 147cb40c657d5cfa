"""One way of asking a ledger: a view, the means that are at hand there, and the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import refuse_unknown
from doxa.armed import Clipped, Embedded, Failing
from doxa.engine.asking import Asked, Means
from doxa.engine.bounded import bounded
from doxa.engine.cursors import check_order, offset
from doxa.engine.cursors import cursor as cursor_of
from doxa.engine.envelope import Missing, Recalled
from doxa.engine.errors import CallerError
from doxa.engine.layers import Warm
from doxa.engine.outcomes import Gap, Mode, Trust, Unavailable
from doxa.engine.recall import recall
from doxa.engine.receipt import coordinates
from doxa.engine.registry import moved
from doxa.engine.stream import Stream
from doxa.engine.view import TruthView
from doxa.questions import DEFAULTS, asked_of, in_few, mode_of, named, request_json
from doxa.trusting import Gated, Size, gate, trust_of

if TYPE_CHECKING:
    from doxa.engine.arms import Arm
    from doxa.engine.candidates import Candidate
    from doxa.engine.embedding import Embedder
    from doxa.engine.registry import Registry
    from doxa.projections.dense import DenseArm
    from doxa.searching import Search

__all__ = ["Asking"]

DAY: Final = 86_400  # seconds


class Asking:
    """Answers questions at one view."""

    def __init__(
        self,
        search: Search,
        stream: Stream,
        registry: Registry,
        embedder: Embedder | None,
        view: TruthView,
        mode: object,
        trust: object,
        rerank: Any,
        judge: Any,
        timeout: Any,
        calibration: Any,
        fresh: object,
        *,
        warm: Warm,
        warnings: Sequence[str],
    ) -> None:
        self.warm, self.warnings = warm, warnings
        self.search, self.stream, self.registry = search, stream, registry
        self.embedder, self.view = embedder, view
        self.mode, self.trust = mode_of(mode, embedder), trust_of(trust, embedder)
        for name, call in (("rerank", rerank), ("judge", judge)):
            if call is not None and not callable(call):
                raise CallerError(f"{name} is {in_few(call)}; give a function of a query and texts")
        if not _positive(timeout):
            raise CallerError(f"timeout is {in_few(timeout)}; give seconds, at most a day")
        if judge is not None and self.trust is not Trust.STRICT:
            raise CallerError(
                f"judge is asked about hits that are ok, and with trust={self.trust} none is; give "
                "trust='strict', or leave the judge out"
            )
        if calibration is not None and not isinstance(calibration, str):
            raise CallerError(f"calibration is {in_few(calibration)}; give the id of one")
        if calibration is not None and embedder is None:
            raise CallerError("calibration is given, and no embedder that it could be for")
        if fresh is not True and fresh is not False:
            raise CallerError(f"fresh is {in_few(fresh)}; give True or False")
        self.rerank, self.judge, self.timeout = rerank, judge, timeout
        self.calibration, self.fresh = calibration, fresh
        self.missing: list[Missing] = []
        self.arms = self._arms()
        self.gated = self._gated()

    # -- the means

    @property
    def _wants_vectors(self) -> bool:
        return self.mode is not Mode.LEXICAL or self.trust is not Trust.STANDING

    @property
    def _asks_vectors(self) -> bool:
        return self.mode is not Mode.LEXICAL or self.trust is Trust.STRICT

    def _arms(self) -> dict[str, Arm]:
        """The arms that can be had; why another can't is put to ``missing``."""
        search = self.search
        if self.fresh:
            try:
                search.follow()
            except Unavailable as error:
                if search.words.position < self.view.k:  # else it is nothing to the view
                    self.missing.append(Missing(error.reason, error.disclosed))
                    return {}
        upto = search.words.position
        if upto < self.view.k:
            detail = f"the indexes go up to revision {upto}, the view to {self.view.k}"
            self.missing.append(Missing(Gap.REVISION_UNPUBLISHED, detail))
        arms: dict[str, Arm] = {"lexical": search.words, "triggers": search.words.triggers}
        dense = self._dense() if self._wants_vectors else None
        if dense is not None:
            arms["dense"] = dense
        if upto < self.view.k:
            return {name: Clipped(arm, upto) for name, arm in arms.items()}
        return arms

    def _dense(self) -> DenseArm | None:
        from doxa.projections.dense import DenseArm

        search, embedder = self.search, self.embedder
        if embedder is None:
            if self.mode is not Mode.LEXICAL:
                detail = "no embedder is configured; give one to open, or ask in mode lexical"
                self.missing.append(Missing(Gap.VECTORS_UNAVAILABLE, detail))
            return None
        arm = DenseArm(search.vectors, search.words.pool, embedder)
        if self.fresh:
            try:
                search.embed(embedder)
            except Unavailable as error:
                if self._asks_vectors and _lacks(arm, self.view):
                    self.missing.append(Missing(error.reason, error.disclosed))
        return arm

    def _gated(self) -> Gated:
        documents, dimension = 0, None
        if self.embedder is not None and self._wants_vectors:
            own = self.search.own(self.embedder)
            known = None if own is None or not self._upto else own.dimension
            dimension = self.embedder.dimension or known
            documents = 0 if own is None else min(own.count, self._upto)
        size = Size(dimension, documents)
        return gate(self.view, self.trust, self.embedder, self.calibration, size)

    @property
    def _upto(self) -> int:
        """How many documents of any workspace were recorded by the view."""
        return self.search.words.pool.upto(self.view.k)

    def means(self, arms: Mapping[str, Arm]) -> Means:
        """What a question is answered with."""
        return Means(
            arms=arms,
            gate=self.gated.gate,
            documents=self.search.words.pool.sight(self.view).size,
            index=" + ".join(self._generations(arms)),
            missing=tuple(self.missing),
            refusals=self.gated.refusals,
            similar=None if self.embedder is None else self._similar,
            rerank=None if self.rerank is None else self._reranked,
            entails=None if self.judge is None else self._judged,
            warm=self.warm,
            warnings=self.warnings,
        )

    def _generations(self, arms: Mapping[str, Arm]) -> Iterable[str]:
        """What the indexes are; not that of vectors, while there is nothing to have one."""
        silent = ("triggers",) if self._upto else ("triggers", "dense")
        return (arms[name].generation for name in sorted(arms) if name not in silent)

    def _similar(self, query: str, texts: list[str]) -> Sequence[float]:
        """The exact cosine of each text with a question, of vectors made now; -1 where that of the
        text is all zeros."""
        import numpy as np

        from doxa.projections.cosines import exact_products

        assert self.embedder is not None
        question = self.embedder.query(query)
        found = self.embedder.vectors(texts, dimension=len(question), zeros=True)
        scores = np.where(found.any(axis=1), exact_products(found, question), -1.0)
        return [float(score) for score in scores]

    def _reranked(self, query: str, texts: list[str]) -> Sequence[float | None]:
        def call() -> list[float | None]:
            given = self.rerank(query, texts)
            return [_score(score) for score in islice(given, count + 1)]

        count = len(texts)  # of what it was given; one more says that there are too many

        return bounded(call, float(self.timeout), "the reranker")

    def _judged(self, query: str, texts: list[str]) -> Sequence[bool]:
        def call() -> list[bool]:
            given = self.judge(query, texts)
            return [_decided(decision) for decision in islice(given, count + 1)]

        count = len(texts)

        return bounded(call, float(self.timeout), "the judge")

    # -- answering

    def answer(
        self,
        query: str,
        options: Mapping[str, Any],
        cursor: object = None,
        candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
    ) -> Recalled:
        """The answer to one question, behind a cursor where one is given; of candidates, where
        there are some, and else of what is found."""
        if cursor is not None and candidates is not None:
            raise CallerError("cursor and candidates are both given; candidates come on one page")
        return self._answer(self._asked(query, options), self.arms, cursor, candidates)

    def answers(self, queries: Sequence[str], options: Mapping[str, Any]) -> list[Recalled]:
        """The answers to several questions, which are embedded together."""
        from doxa.projections.dense import DenseArm

        asked = [self._asked(query, options) for query in queries]
        dense = self.arms.get("dense")
        if not isinstance(dense, DenseArm) or not asked or self.gated.refusals:
            return [self._answer(each, self.arms) for each in asked]
        try:
            vectors = dense.embedder.queries([each.query for each in asked])
        except Unavailable as error:  # one question that can't be embedded stops no other
            waited = error.reason is Gap.DEPENDENCY_UNAVAILABLE and error.__cause__ is None
            arms = {**self.arms, "dense": Failing(dense, error)} if waited else self.arms
            return [self._answer(each, arms) for each in asked]
        return [
            self._answer(each, {**self.arms, "dense": Embedded(dense, vector)})
            for each, vector in zip(asked, vectors, strict=True)
        ]

    def _asked(self, query: str, options: Mapping[str, Any]) -> Asked:
        unknown = {name: value for name, value in options.items() if name not in DEFAULTS}
        if unknown:
            accepted = f"view, mode, trust, {', '.join(DEFAULTS)} and others"
            refuse_unknown(unknown, "recall", accepted)
        return asked_of(query, self.view, self.mode, options)

    def _stays(self, revision: int) -> bool:
        """Whether all that the view sees is as it was at a revision before."""
        view = self.view
        return not moved(self.registry, view.workspace, view.shared, revision, view.k)

    def _answer(
        self,
        asked: Asked,
        arms: Mapping[str, Arm],
        cursor: object = None,
        candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
    ) -> Recalled:
        request = request_json(
            asked,
            str(self.trust),
            embedder=None if self.embedder is None else self.embedder.name,
            calibration=self.gated.gate.calibration,
            rerank=named(self.rerank),
            judge=named(self.judge),
        )
        at, ledger = coordinates(self.view), self.stream.store.ledger_id
        if cursor is not None:
            asked = replace(asked, offset=offset(cursor, ledger, at, request, self._stays))
        means = self.means(arms)
        if candidates is not None:  # no arm is asked for them, so that none is missing
            means = replace(means, missing=())
        answer = recall(self.registry, self.view, self.stream.rows, asked, means, candidates)
        if isinstance(cursor, str):
            check_order(cursor, answer.warmth)
        if answer.more is None or candidates is not None:
            return answer
        return answer.but(cursor=cursor_of(ledger, at, request, answer.more, answer.warmth))


def _lacks(arm: DenseArm, view: TruthView) -> bool:
    """Whether a document that a view sees has no vector yet."""
    try:
        arm.asks(view)
    except Unavailable:
        return True
    return False


def _positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= DAY


def _decided(value: object) -> bool:
    """Whether a judge said yes; what is no decision is none."""
    import numpy as np

    return value is True or (isinstance(value, np.bool_) and bool(value))


def _score(value: object) -> float | None:
    """A score as a reranker gave it; ``None`` for what is no number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
