"""A trial: one history, watched on its way and compared at its end."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

from doxa import oracle
from doxa.engine import belief, corroboration, direct, drawing, history
from doxa.oracle import Log, Truth
from doxa.oracle.log import Record
from doxa.views import TruthView
from tests.differences import ABOUT, Comparison, unjustified, value_of, wrongly_accepted
from tests.histories import GRID, INSTANTS, moment
from tests.walks import Step, Walk, cut

Answers = tuple[object, ...]


class Different(AssertionError):
    """Something on the way was not as it should be."""


@contextmanager
def few(children: int) -> Iterator[None]:
    """An engine that looks at no more than so many things one by one, and finds them in time where
    there are more: what pays for thousands is used for two."""
    with ExitStack() as stack:
        for module in (belief, direct, drawing, corroboration):
            stack.enter_context(patch.object(module, "FEW", children))
        stack.enter_context(patch.object(history, "_FEW", children))
        yield


@contextmanager
def walking(on_disk: bool) -> Iterator[Walk]:
    """A fresh ledger, in memory or in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder) if on_disk else None)
        try:
            yield walk
        finally:
            walk.close()


def answers(view: TruthView) -> Answers:
    """What a captured view must go on saying."""
    items = view.claims(standing="any")
    return (
        view.revision,
        view.fingerprint_of(("s", "t")),
        tuple(view.entries()),
        tuple((item.id, item.standing, tuple(item.successors)) for item in items),
        tuple(value_of(view, *about) for about in ABOUT),
    )


def touched_after(log: Log, revision: int) -> set[str]:
    """The workspaces of the events after a revision."""
    events: tuple[Iterable[Record], ...] = (
        log.claims.values(), log.supports.values(), log.corrections,
        log.withdrawals, log.policies, log.artefacts.values(),
    )  # fmt: skip
    return {e.workspace for kind in events for e in kind if e.position > revision}


class Watch:
    """What is looked at after each step: refusals, acceptances, and views captured on the way."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.captured: list[tuple[TruthView, Answers]] = []
        self._length = 0

    def __call__(self, walk: Walk) -> None:
        for problem in walk.problems:
            raise Different(problem)
        if walk.refusal is not None and (wrong := unjustified(walk.refusal)) is not None:
            raise Different(wrong)
        log = walk.log()
        if log.head > self._length:
            for wrong in wrongly_accepted(log, self._length + 1, walk.steps[-1].events):
                raise Different(f"accepted, but {wrong}")
            self._length = log.head
        if self.random.random() < 0.3:
            self.capture(walk)

    def capture(self, walk: Walk) -> None:
        """Keeps a view of now with its answers."""
        view = walk.ledger.view(
            valid_at=moment(self.random.choice(INSTANTS)),
            workspace=self.random.choice(("", "w")),
            perspective=self.random.choice((None, None, "ada")),
        )
        self.captured.append((view, answers(view)))

    def changed(self, walk: Walk) -> str | None:
        """What a captured view answers otherwise than it did, or whether it moved unseen."""
        log = walk.log()
        fold = walk.ledger.view(valid_at=moment(GRID[0])).belief
        for view, before in self.captured:
            if (now := answers(view)) != before:
                return f"{view} answered {before}, and now {now}"
            if view.belief is not fold:
                continue  # of a ledger that was closed since
            later = touched_after(log, view.revision)
            if walk.ledger.moved(view) != bool(later & {view.workspace, ""}):
                return f"{view} has moved: {walk.ledger.moved(view)}; touched since: {later}"
            if found := self._reconciled(walk, log, view):
                return found
        return None

    def _reconciled(self, walk: Walk, log: Log, since: TruthView) -> str | None:
        """What becomes of the texts of now since a captured view."""
        now = walk.ledger.view(valid_at=moment(GRID[4]), workspace=since.workspace)
        ours = walk.ledger.reconcile(now, since)
        theirs = oracle.reconcile(
            *(Truth(log, view.v, view.revision, view.workspace) for view in (now, since))
        )
        found = [{(o.workspace, o.id) for o in part} for part in (ours.invalidated, ours.restored)]
        if found != [set(theirs.invalidated), set(theirs.restored)]:
            return f"from {since} to {now}: engine {ours}, oracle {theirs}"
        return None


def first_difference(walk: Walk, watch: Watch, seed: int, places: int) -> str | None:
    """The first thing at the end of a walk that is not as it should be."""
    if changed := watch.changed(walk):
        return changed
    comparison = Comparison(walk.ledger, walk.log(), Random(seed), places)
    return next(comparison.differences(), None)


def replayed(steps: Sequence[Step], seed: int, on_disk: bool) -> str | None:
    """The first difference on a history, or what the engine fell over."""
    with walking(on_disk) as walk:
        watch = Watch(Random(seed))
        try:
            for step in steps:
                walk.take(step)
                watch(walk)
            return first_difference(walk, watch, seed, 24)
        except Exception:
            return traceback.format_exc()


def report(steps: list[Step], seed: int, on_disk: bool, found: str) -> str:
    """What a failure prints."""
    few = cut(steps, lambda tried: replayed(tried, seed, on_disk) is not None)
    place = "on disk" if on_disk else "in memory"
    history = "\n".join(map(str, few))
    last = replayed(few, seed, on_disk)
    return f"seed {seed}, {place}: {found}\n\ncut down:\n{history}\n\nfirst difference: {last}"
