"""The engine against the oracle, on random histories: at home a few, in CI hundreds, at leisure
thousands (``make oracle-long``). A failure prints the history, cut down, as exchange lines."""

from __future__ import annotations

import json
import tempfile
import traceback
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.differences import Comparison
from tests.histories import DAY, GRID, INSTANTS, KINDS, moment
from tests.recalls import Speaker
from tests.recalls import first_difference as asked
from tests.trials import Watch, answers, few, first_difference, report, walking
from tests.walks import Step, Walk, cut, play, wander

LENGTH = 20


@settings(max_examples=settings().max_examples * 3)
@given(
    seed=st.integers(0, 2**48),
    on_disk=st.sampled_from((False, False, False, True)),
    children=st.sampled_from((16, 0, 1)),
)
def test_every_answer_on_a_random_history_is_the_oracles(
    seed: int, on_disk: bool, children: int
) -> None:
    with few(children), walking(on_disk) as walk:
        watch = Watch(Random(seed))
        try:
            wander(Random(seed), walk, LENGTH, watch)
            found = first_difference(walk, watch, seed, 12)
        except Exception:
            found = traceback.format_exc()
        steps = walk.steps
        if found is not None:
            pytest.fail(report(steps, seed, on_disk, found), pytrace=False)


class LedgerMachine(RuleBasedStateMachine):
    """A ledger that is written to, read, closed, disturbed and compared in any order."""

    @initialize(on_disk=st.booleans(), random=st.randoms(use_true_random=False))
    def open(self, on_disk: bool, random: Random) -> None:
        self.folder = tempfile.TemporaryDirectory() if on_disk else None
        self.walk = Walk(Path(self.folder.name) if self.folder is not None else None)
        self.author, self.now = Speaker(random), GRID[2]
        self.watch = Watch(Random(0))

    def take(self, step: Step) -> None:
        if self.walk.take(step):
            self.author.learn(step.events)
        self.watch(self.walk)

    @rule(
        random=st.randoms(use_true_random=False), kinds=st.lists(st.sampled_from(KINDS), max_size=4)
    )
    def append(self, random: Random, kinds: list[str]) -> None:
        self.author.random = random
        self.take(
            Step("append", self.author.of(kinds) if kinds else self.author.commit(), self.now)
        )

    @rule(random=st.randoms(use_true_random=False))
    def abort(self, random: Random) -> None:
        self.author.random = random
        self.take(Step("abort", self.author.commit(), self.now))

    @rule(past=st.sampled_from((0, 1, 2)))
    def expect(self, past: int) -> None:
        expected = max(0, self.walk.ledger.revision - past)
        self.take(Step("append", self.author.of(["claim"]), self.now, expected))

    @rule(passing=st.sampled_from((1, DAY // 4, DAY)))
    def pass_time(self, passing: int) -> None:
        self.now += passing

    @precondition(lambda self: self.folder is not None)
    @rule()
    def restart(self) -> None:
        self.take(Step("restart", clock=self.now))

    @rule()
    def seal(self) -> None:
        self.take(Step("seal", clock=self.now))

    @rule()
    def swap(self) -> None:
        self.take(Step("swap", clock=self.now))

    @rule()
    def capture(self) -> None:
        self.watch.capture(self.walk)

    @rule(seed=st.integers(0, 1000))
    def compare(self, seed: int) -> None:
        self.agree(seed, 2)

    @rule(random=st.randoms(use_true_random=False))
    def ask(self, random: Random) -> None:
        """Questions, whose words are looked for in an index that follows the log in steps."""
        found = asked(self.walk.ledger, self.walk.log(), random, 2)
        assert found is None, f"{self.walk}\n\nfirst difference: {found}"

    @invariant()
    def positions_have_no_gaps(self) -> None:
        if hasattr(self, "walk"):
            assert self.walk.ledger.revision == self.walk.log().head

    def agree(self, seed: int, places: int) -> None:
        found = first_difference(self.walk, self.watch, seed, places)
        assert found is None, f"{self.walk}\n\nfirst difference: {found}"

    def teardown(self) -> None:
        if not hasattr(self, "walk"):
            return
        try:
            self.agree(len(self.walk.steps), 6)
        finally:
            self.walk.close()
            if self.folder is not None:
                self.folder.cleanup()


TestLedgerAgainstOracle = LedgerMachine.TestCase
TestLedgerAgainstOracle.settings = settings(
    stateful_step_count=settings().stateful_step_count if settings().max_examples >= 1000 else 30
)


@settings(max_examples=max(5, settings().max_examples // 10))
@given(seed=st.integers(0, 2**48))
def test_a_small_history_agrees_at_every_pair_of_coordinates(seed: int) -> None:
    with walking(False) as walk:
        wander(Random(seed), walk, 5)
        log = walk.log()
        assume(log.head)
        found = next(Comparison(walk.ledger, log).differences(), None)
        assert found is None, f"seed {seed}\n{walk}\n\nfirst difference: {found}"


@settings(max_examples=max(5, settings().max_examples // 10))
@given(seed=st.integers(0, 2**48))
@example(seed=13291740)  # a source comes back before supports that are read along with that
def test_a_ledger_that_was_closed_and_opened_is_the_one_that_was_never_closed(seed: int) -> None:
    with walking(True) as walk:
        wander(Random(seed), walk, LENGTH)
        views = [walk.ledger.view(valid_at=moment(at), workspace="w") for at in INSTANTS]
        before = [answers(view) for view in views]
        walk.take(Step("restart", clock=GRID[6]))
        again = [walk.ledger.view(valid_at=moment(at), workspace="w") for at in INSTANTS]
        assert [answers(view) for view in again] == before
        assert [answers(view) for view in views] == before


def test_a_history_is_cut_down_to_what_it_fails_for() -> None:
    steps = [Step("append", [{"id": str(n)}, {"id": str(n + 10)}], n) for n in range(6)]
    few = cut(steps, lambda tried: any(e["id"] == "13" for step in tried for e in step.events))
    assert [list(step.events) for step in few] == [[{"id": "13"}]]
    assert json.loads(str(few[0]).splitlines()[1]) == {"id": "13"}


def test_a_walk_played_again_comes_to_the_same_log() -> None:
    with walking(False) as first, walking(True) as second:
        wander(Random(5), first, LENGTH)
        play(first.steps, second)
        assert [row[2:] for row in first.rows()] == [row[2:] for row in second.rows()]
