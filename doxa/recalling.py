"""Asking a ledger in words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doxa.arguments import check_list, check_uncompacted, check_view, looks_at_a_view
from doxa.engine.errors import CallerError
from doxa.engine.stream import Stream
from doxa.places import CACHE
from doxa.using import Using, check_sides
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.asking import Asking
    from doxa.engine.candidates import Candidate
    from doxa.engine.embedding import Embedder
    from doxa.engine.envelope import Recalled
    from doxa.engine.sqlite import SQLiteRecorder
    from doxa.searching import Search

__all__ = ["Recalling"]

Progress = Callable[[int, int | None], None]
Reranker = Callable[[str, list[str]], Sequence[float | None]]
Entails = Callable[[str, list[str]], Sequence[bool]]

TIMEOUT: Final = 30.0  # seconds, for a reranker and a judge
_making = threading.Lock()


def checked_embedder(value: object) -> Embedder | None:
    """An embedder that was given as an argument. Raises `CallerError`."""
    from doxa.engine.embedding import Embedder

    if value is None or isinstance(value, Embedder):
        return value
    raise CallerError(
        f"embedder is {value!r:.80}; give a doxa.Embedder: a name for the vectors, and a function "
        "that takes texts and returns a vector for each"
    )


class Recalling(Using):
    """What is asked in words, and the indexes that answer it."""

    recorder: SQLiteRecorder
    embedder: Embedder | None
    path: Path | None
    _stream: Stream
    _search: Search | None = None

    def index(self, *, progress: Progress | None = None) -> dict[str, int]:
        """Brings the indexes up to the log, and writes them into the ledger's cache.

        Returns how many ``documents`` there are, how many were ``embedded`` now, and ``saved``: 1
        where all could be written down. ``progress(done, total)`` is called now and then. Raises
        `Unavailable` where the embedder fails, or the log can't be read.
        """
        search = self._searching()
        search.follow(progress)
        embedded = 0
        if self.embedder is not None:
            embedded = search.embed(self.embedder, limit=None, progress=progress)
        return {
            "documents": len(search.words.pool),
            "embedded": embedded,
            "saved": int(search.save()),
        }

    @looks_at_a_view
    def recall(
        self,
        query: str,
        *,
        view: TruthView,
        mode: str | None = None,
        trust: str | None = None,
        rerank: Reranker | None = None,
        judge: Entails | None = None,
        timeout: float = TIMEOUT,
        calibration: str | None = None,
        fresh: bool = True,
        cursor: str | None = None,
        candidates: Iterable[Candidate | Mapping[str, Any]] | None = None,
        reinforce: bool = False,
        skip_side_effects: bool = False,
        **options: Any,
    ) -> Recalled:
        """What may be believed, at a view, of what a question finds.

        ``mode`` is ``lexical``, ``dense`` or ``fused`` (the default where an embedder is
        configured), ``trust`` is ``strict`` (likewise), ``standing`` or ``development``. Filters
        are ``workspace``, ``subject``, ``predicate``, ``perspective``, ``kind``, ``standing`` (as
        of `view.claims`), ``tier`` (``claim``, ``summary``, ``quote``) and ``layer`` (``buffer``,
        ``working``, ``core``); what is ``archived`` is found on request. ``top_k`` (10) places are
        given, a conflict taking one; ``budget`` bounds the text, in characters or in what
        ``count`` counts; ``cursor`` goes on behind the last answer. ``profile="validity"`` weighs
        how fresh and how well vouched for each hit is, ``validity_annotate`` only says so, with
        ``freshness_from`` and ``now``. ``max_age`` is the age, in seconds, that is stale.
        ``predecessors`` are told on request. Each way of searching gives ``pool`` (100) documents
        at most, and looks at ``scan_limit``. With ``fresh=False`` the index answers as it is. With
        ``candidates`` (as of `assemble`) these are judged in place of what is found.

        ``rerank(query, texts)`` gives a score for each text, ``judge(query, texts)`` whether each
        answers the question (asked about hits that are ``ok`` alone); they have ``timeout``
        seconds. With ``reinforce`` the use of the hits is noted once they are found, and archived
        ones are restored, unless ``skip_side_effects``; else nothing is written. Raises
        `CallerError` for what can't be asked, `ViewMoved` for a cursor whose view is out of date;
        all else is told in the answer's ``outcome`` and ``reasons``.
        """
        noted = check_sides(reinforce, skip_side_effects)
        asking = self._asking(view, mode, trust, rerank, judge, timeout, calibration, fresh)
        answer = asking.answer(query, options, cursor, candidates)
        return self._reinforced(answer) if noted else answer

    @looks_at_a_view
    def recall_batch(
        self,
        queries: Iterable[str],
        *,
        view: TruthView,
        mode: str | None = None,
        trust: str | None = None,
        rerank: Reranker | None = None,
        judge: Entails | None = None,
        timeout: float = TIMEOUT,
        calibration: str | None = None,
        fresh: bool = True,
        reinforce: bool = False,
        skip_side_effects: bool = False,
        **options: Any,
    ) -> list[Recalled]:
        """`recall` of each question, at one view; the questions are embedded together. What is used
        is noted once all are answered: no answer is another for those beside it."""
        noted = check_sides(reinforce, skip_side_effects)
        asking = self._asking(view, mode, trust, rerank, judge, timeout, calibration, fresh)
        answers = asking.answers(check_list(queries, "queries"), options)
        return self._all_reinforced(answers) if noted else answers

    def _asking(self, view: TruthView, *settings: Any) -> Asking:
        from doxa.asking import Asking

        registry = check_view(view, self._stream)
        check_uncompacted(view, self._stream)
        search, usage = self._searching(), self._usage
        warm = usage.warm(view.graph)
        told = () if usage.problem is None else (usage.problem,)
        at_hand = search, self._stream, registry, self.embedder, view
        return Asking(*at_hand, *settings, warm=warm, warnings=told)

    def _searching(self) -> Search:
        self._stream.capture()  # refuses a closed ledger
        with _making:
            if self._search is None:
                from doxa.searching import Search

                folder = self.path if self._stream.cipher is None else None
                self._search = Search(self._stream, self.recorder, folder)
            return self._search

    def _prepare_to_erase(self) -> None:
        """Brings the index of words up to the log where vectors are kept, which stay but for those
        of what is going to be erased."""
        from doxa.projections.matrices import FOLDER, manifests

        kept = self.path is not None and bool(manifests(self.path / CACHE / FOLDER))
        if kept or (self._search is not None and self._search.vectors.any()):
            self._searching().follow()

    def _discard_indexes(self) -> None:
        """Removes what the indexes keep of erased events. Raises `OSError`."""
        self._searching().discard()

    def _stop_searching(self) -> None:
        """Writes down what is worth it."""
        if self._search is not None:
            self._search.save(closing=True)
            self._search = None
