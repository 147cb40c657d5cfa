"""Blocks: what may be believed of candidates, or of what a question finds, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from doxa.arguments import Instant, check_text, check_view, looks_at_a_view, refuse_unknown
from doxa.calibrating import Calibrating
from doxa.engine import times
from doxa.engine.errors import CallerError, Compacted, ViewMoved
from doxa.using import check_sides, printed_records
from doxa.views import TruthView

if TYPE_CHECKING:
    from doxa.engine.assembly import Block, Candidate, Receipt, Replay
    from doxa.engine.envelope import Recalled
    from doxa.engine.registry import Registry
    from doxa.engine.sifting import Sifted

__all__ = ["Assembling"]

REGISTERED: Final = "registered"
Given = Iterable["Candidate | Mapping[str, Any]"]
Chosen = Given | Literal["registered"] | None
Inject = Literal["on_demand", "always_inject"]


class Assembling(Calibrating):
    """Text for a reader or a model, checked to the last moment."""

    if TYPE_CHECKING:
        moved: Callable[..., bool]
        view: Callable[..., TruthView]
        _known: Callable[..., tuple[int, bool]]

    @looks_at_a_view
    def assemble(
        self,
        query: str,
        *,
        view: TruthView,
        candidates: Chosen = None,
        budget: int | Literal["large"] | None = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
        inject: Inject = "on_demand",
        archived: bool = False,
        reinforce: bool = False,
        skip_side_effects: bool = False,
        **options: Any,
    ) -> Block:
        """Renders what may be believed at a view, within a budget.

        Of the candidates, where some are given (``"registered"``: the registered summaries in
        sight). Else of what the question finds: `recall` answers it, with these ``options``; what
        may be acted on goes into the block with all sides of conflicts, behind a line that says
        that it is information and not instruction; `Block.recalled` is the answer. With
        ``inject="always_inject"`` the pinned claims come first, five at most. A question that says
        nothing gives a pointer alone, the same bytes always, or with it the pinned claims.

        ``budget`` is in characters, or in what ``count`` counts: 1,500 where it is left out, 6,000
        for ``"large"``. What is archived is left out, unless ``archived`` is asked for. With
        ``reinforce`` the use of what is printed is noted, and what of it is archived is restored,
        unless ``skip_side_effects``. Raises `ViewMoved`, and returns nothing, if the truth moved
        while the block was made.
        """
        from doxa.engine.assembly import assemble
        from doxa.engine.block import linked, recalled_as

        registry, budget = check_view(view, self._stream), _budget(budget)
        self._stream.capture()  # refuses a closed ledger
        noted = check_sides(reinforce, skip_side_effects)
        if archived is not True and archived is not False:
            raise CallerError(f"archived is {archived!r:.80}; give True or False")
        if archived and candidates is None:
            options["archived"] = True
        made = _Sources(self, registry, view).of(query, candidates, inject, top_k, options)
        block = assemble(
            registry,
            view,
            self._stream.rows,
            query,
            candidates=made.candidates,
            budget=budget,
            count=count,
            top_k=made.top_k,
            frame=made.frame,
            archived=archived,
        )
        if self.moved(view):
            raise ViewMoved(
                f"the truth moved past revision {view.revision} since the view was captured; "
                "capture a new view and assemble again, or use assemble_fresh"
            )
        linked(block, self.recorder.link_at(view.horizon))
        problem = self._used(printed_records(block, view)) if noted else None
        warnings = made.warnings if problem is None else (*made.warnings, problem)
        if candidates is not None and not warnings:
            return block
        return recalled_as(block, made.recalled, warnings)

    def judge_candidates(
        self, candidates: Given, view: TruthView, *, archived: bool = False
    ) -> list[Sifted]:
        """Whether each candidate may be served at a view, in the order given: with its standing and
        the stretch in which it applies, or with the reason why not.

        As `assemble` judges them, each by itself; nothing is ranked, cut off or printed, and the
        sides of a conflict are not brought together. Ask `moved` before the judgement is used. What
        is archived may not be served, unless ``archived`` is asked for. Raises `CallerError`.
        """
        from doxa.engine.sifting import sift

        registry = check_view(view, self._stream)
        self._stream.capture()  # refuses a closed ledger
        if archived is not True and archived is not False:
            raise CallerError(f"archived is {archived!r:.80}; give True or False")
        return sift(registry, view, self._stream.rows, candidates, archived)

    def assemble_fresh(
        self,
        query: str,
        *,
        valid_at: Instant | None = None,
        budget: int | Literal["large"] | None = None,
        candidates: Chosen | Callable[[TruthView], Given] = None,
        count: Callable[[str], int] | None = None,
        top_k: int | None = None,
        workspace: str = "",
        perspective: str | None = None,
        shared: bool = True,
        attempts: int = 3,
        **options: Any,
    ) -> Block:
        """Captures a live view and assembles, anew when the truth moves meanwhile.

        ``candidates`` may be a function of the view, called for each attempt. After ``attempts``
        the last `ViewMoved` is raised. ``options`` are those of `assemble`.
        """
        if "as_of" in options:
            refuse_unknown({"as_of": None}, "assemble_fresh", "")
        if not isinstance(attempts, int) or attempts < 1:
            raise CallerError(f"attempts is {attempts!r}; give a whole number, 1 or more")
        if not (candidates is None or candidates == REGISTERED or callable(candidates)):
            candidates = list(candidates)
        for attempt in range(attempts):
            view = self.view(
                valid_at=valid_at, workspace=workspace, perspective=perspective, shared=shared
            )
            chosen = candidates(view) if callable(candidates) else candidates
            try:
                return self.assemble(
                    query,
                    view=view,
                    candidates=chosen,
                    budget=budget,
                    count=count,
                    top_k=top_k,
                    **options,
                )
            except ViewMoved:
                if attempt == attempts - 1:
                    raise
        raise AssertionError("unreachable")

    def replay(
        self,
        receipt: Receipt | Mapping[str, Any],
        *,
        count: Callable[[str], int] | None = None,
    ) -> Replay:
        """Renders a receipt's request again at its own view and compares every byte.

        ``count`` is the counter that was used, if any: the receipt has only its name. What was
        erased since is named, and where something was compacted that the request rested on, that
        is the difference.
        """
        from doxa.engine.assembly import as_receipt, replay
        from doxa.engine.receipt import Replay

        given = as_receipt(receipt)
        fold, _ = self._stream.capture()
        view = self._view_of(given)
        try:
            return replay(fold.registry, given, view, self._stream.rows, count=count)
        except Compacted as error:
            return Replay(False, "", (str(error),))

    def _view_of(self, receipt: Receipt) -> TruthView:
        at = receipt.view
        fold, head = self._stream.capture(wait=True)
        if at["horizon"] > head or at["revision"] > head:
            raise CallerError(
                f"the receipt is of revision {at['revision']} (horizon {at['horizon']}); this "
                f"ledger ends at {head}: it is another ledger, or an older copy"
            )
        for position in (at["revision"], at["horizon"]):
            self._known(fold, head, position)  # raises inside a commit
        return TruthView(
            fold.belief,
            self._stream.payload,
            valid_at=times.instant(at["valid_at"], "valid_at"),
            revision=at["revision"],
            workspace=at["workspace"],
            shared=at["shared"],
            perspective=at["perspective"],
            live=False,
            horizon=at["horizon"],
            origin=(self._stream, fold.registry),
        )


class _Made(NamedTuple):
    """What a block is made of, and the answer that it comes from."""

    candidates: Given | None
    frame: str | None = None
    top_k: int | None = None
    recalled: Recalled | None = None
    warnings: tuple[str, ...] = ()


class _Sources:
    """Where the candidates of a block come from."""

    def __init__(self, ledger: Assembling, registry: Registry, view: TruthView) -> None:
        self.ledger, self.registry, self.view = ledger, registry, view

    def of(
        self,
        query: str,
        candidates: Chosen,
        inject: object,
        top_k: int | None,
        options: Mapping[str, Any],
    ) -> _Made:
        """The candidates that were given, or else those that the question brings."""
        if inject not in ("on_demand", "always_inject"):
            raise CallerError(f"inject is {inject!r:.60}; give on_demand or always_inject")
        if candidates is None:
            return self._asked(query, inject == "always_inject", top_k, options)
        if options or inject != "on_demand":
            unknown = dict(options) or {"inject": inject}
            accepted = "view, budget, count, top_k, archived and reinforce"
            refuse_unknown(unknown, "assemble of candidates", accepted)
        if isinstance(candidates, str):
            if candidates != REGISTERED:
                raise CallerError(
                    f"candidates is {candidates!r:.60}; give a list of candidates, or "
                    f"{REGISTERED!r}, or leave them out"
                )
            return _Made(None, top_k=top_k)
        return _Made(candidates, top_k=top_k)

    def _asked(
        self, query: str, injecting: bool, top_k: int | None, options: Mapping[str, Any]
    ) -> _Made:
        from doxa.engine import context

        pinned, warnings = (
            context.always_on(self.registry, self.view, self.ledger._stream.rows)
            if injecting
            else ([], ())
        )
        check_text(query, "query")
        if not query.strip():
            frame = context.FRAME if pinned else context.POINTER
            return _Made(context.distinct(pinned), frame, None, None, warnings)
        asked = {**options, **({} if top_k is None else {"top_k": top_k})}
        answer = self.ledger.recall(query, view=self.view, **asked)
        chosen = context.distinct([*pinned, *context.found(answer, pinned)])
        return _Made(chosen, context.FRAME if chosen else None, None, answer, warnings)


def _budget(value: Any) -> int:
    """The budget that is meant; what is no whole number is refused where it is used."""
    from doxa.engine.context import BUDGET, LARGE_BUDGET

    if value is None:
        return BUDGET
    budget: int = LARGE_BUDGET if value == "large" else value
    return budget
