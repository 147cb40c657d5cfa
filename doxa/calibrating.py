"""From which score on a hit is an answer: fitted to labelled questions, and recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doxa.arguments import check_uncompacted, check_view, looks_at_a_view
from doxa.engine.errors import CallerError, StorageError
from doxa.engine.graph import NONE
from doxa.recalling import Recalling
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.engine.calibration import Calibration, Refusal
    from doxa.engine.cases import Case
    from doxa.engine.drift import Drift
    from doxa.engine.embedding import Embedder

__all__ = ["Calibrating"]

Progress = Callable[[int, int | None], None]
Cases = str | os.PathLike[str] | Iterable[str | bytes | Mapping[str, Any]]


class Calibrating(Recalling):
    """What parts questions that the ledger answers from those that it does not."""

    if TYPE_CHECKING:
        policy: Callable[..., str]
        view: Callable[..., TruthView]

    @looks_at_a_view
    def calibrate(
        self,
        cases: Cases,
        *,
        view: TruthView,
        reason: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Calibration:
        """Fits the boundary of confidence to labelled questions, and records it as a policy.

        ``cases`` are the path of a JSONL file, or its lines: ``{"query": …, "answerable": true}``.
        Each is asked at the view; its score is the best dense one of what may be served there. One
        half is held out, and says how often the boundary is wrong. The policy is recorded in the
        view's workspace under the calibration's own id, and counts from then on; while it is in
        force the same again is a no-op, and later it is recorded anew, as ``<id>/2``. With
        ``dry_run`` nothing is recorded. Confidence is a ranking, not a probability.

        Raises `CallerError` for lines that can't be used or without an embedder, `Unavailable`
        where the embedder fails.
        """
        from doxa.engine.calibration import calibrate
        from doxa.engine.documents import LINEAGE

        embedder, labelled = self._embedder_for("calibrate"), _read(cases)
        scores = self._scores(view, embedder, progress)
        own = self._searching().own(embedder)
        if own is None:
            raise CallerError(
                "nothing that is recorded has a vector, so that no question can be near to it; "
                "record something first, then calibrate"
            )
        fitted = calibrate(
            labelled,
            scores,
            embedder=embedder.name,
            dimension=own.dimension,
            lineage=LINEAGE,
            documents=own.count,
        )
        if not dry_run:
            self._record(fitted, view, reason)
        return fitted

    def _record(self, fitted: Calibration, view: TruthView, reason: str | None) -> None:
        """Puts a calibration in force for views like this one, unless it is."""
        now = self.view(
            valid_at=view.valid_at,
            workspace=view.workspace,
            perspective=view.perspective,
            shared=view.shared,
        )
        current = self.calibration(now)
        if current is not None and current.id == fitted.id:
            return
        id, number = fitted.id, 1
        while now.graph.find(view.workspace, id) != NONE:  # of before, and withdrawn or replaced
            number += 1
            id = f"{fitted.id}/{number}"
        recorded = fitted.as_json()
        self.policy(calibrated=recorded, id=id, workspace=view.workspace, reason=reason)

    def calibration(self, view: TruthView) -> Calibration | None:
        """The calibration in force at a view for the ledger's embedder; ``None`` where there is
        none that can be used. Raises `CallerError` without an embedder."""
        from doxa.engine.calibration import Calibration

        found = self._in_force(view)
        return found if isinstance(found, Calibration) else None

    @looks_at_a_view
    def calibration_drift(
        self, cases: Cases, *, view: TruthView, progress: Progress | None = None
    ) -> Drift:
        """How the calibration in force judges labelled questions that are asked now.

        Raises `CallerError` where none is in force, and as `calibrate` does.
        """
        from doxa.engine.drift import drift

        embedder, labelled = self._embedder_for("calibration_drift"), _read(cases)
        found = self.calibration(view)
        if found is None:
            raise CallerError(
                f"no calibration for {embedder.who} is in force at this view; ledger.calibrate "
                "makes one"
            )
        scores = self._scores(view, embedder, progress)([case.query for case in labelled])
        by_label: dict[bool, list[float]] = {True: [], False: []}
        for case, score in zip(labelled, scores, strict=True):
            by_label[case.answerable].append(score)
        return drift(found, by_label[True], by_label[False])

    def _in_force(self, view: TruthView, named: str | None = None) -> Calibration | Refusal:
        """The calibration that a recall at a view uses, of that id where one is named; or why there
        is none."""
        from doxa.trusting import in_force

        check_view(view, self._stream)
        embedder = self._embedder_for("calibration")
        dimension = embedder.dimension
        if dimension is None:  # not stated: that of the vectors which there are
            search = self._searching()
            search.follow()
            own = search.own(embedder)
            dimension = None if own is None else own.dimension
        return in_force(view, embedder, named, dimension)

    def _embedder_for(self, call: str) -> Embedder:
        if self.embedder is None:
            raise CallerError(
                f"{call} needs vectors, and no embedder is configured; give one to open"
            )
        return self.embedder

    def _scores(
        self, view: TruthView, embedder: Embedder, progress: Progress | None
    ) -> Callable[[Sequence[str]], list[float]]:
        """What gives the best dense score of each question, of what may be served at the view; -1
        where nothing may."""
        from doxa.engine.choosing import Chooser, Filters
        from doxa.engine.eligibility import Judge
        from doxa.engine.texts import Texts
        from doxa.projections.dense import DenseArm

        registry, search = check_view(view, self._stream), self._searching()
        check_uncompacted(view, self._stream)
        search.follow()
        search.embed(embedder, limit=None)
        arm = DenseArm(search.vectors, search.words.pool, embedder)
        judge = Judge(registry, view, Texts(view.graph, self._stream.rows))
        chooser = Chooser(judge, Filters())

        def scores(queries: Sequence[str]) -> list[float]:
            found: list[float] = []
            for start in range(0, len(queries), embedder.batch):
                part = queries[start : start + embedder.batch]
                for vector in embedder.queries(part):
                    best = chooser.refilled(arm.search_vector(vector, view), 1).eligible
                    found.append(best[0].score if best else -1.0)
                if progress is not None:
                    progress(len(found), len(queries))
            return found

        return scores


def _read(cases: Cases) -> list[Case]:
    """The labelled questions of a file, or of its lines."""
    from doxa.engine.cases import read_cases

    if not isinstance(cases, str | os.PathLike):
        return read_cases(cases)
    try:
        with open(cases, "rb") as file:
            return read_cases(file)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise StorageError(f"{os.fspath(cases)!r:.200}: {told}; give a file of questions") from None
