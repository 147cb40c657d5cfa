"""What fades is put away, what is put away stays true and comes back, and nothing is done twice."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine import fading, shelving
from doxa.engine.decay import BELOW, DAY, SEVEN_DAYS, decay, floored, horizon
from doxa.engine.fading import Wanted, faded, still_due, vitals
from doxa.engine.graph import CLAIM, entity
from doxa.engine.layers import Layer, layer
from doxa.ledger import Ledger
from doxa.oracle import Log, Truth
from tests.histories import moment
from tests.recalls import Speaker
from tests.walks import Walk, wander

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now

    def rest(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    with doxa.open(clock=clock) as opened:
        yield opened


def claim(ledger: Ledger, id: str, **more: Any) -> str:
    fields = {"subject": id, "predicate": "is", "object": "here", "source": "s", **more}
    return ledger.claim(id=id, **fields)


def archived(ledger: Ledger, id: str, workspace: str = "") -> bool:
    (found,) = ledger.usage(id, workspace=workspace)
    return bool(found["archived"])


def found(ledger: Ledger, query: str, **more: Any) -> list[str]:
    view = ledger.view(valid_at=ledger_now(ledger), workspace=more.pop("place", ""))
    return [hit.id for hit in ledger.recall(query, view=view, **more)]


def ledger_now(ledger: Ledger) -> datetime:
    return moment(ledger.clock())


# ---------------------------------------------------------------- decay as a function of time


@given(st.integers(-(10**18), 10**18), st.floats(1, 1e18))
def test_less_is_left_the_longer_it_rests_and_never_more_than_all(
    idle: int, constant: float
) -> None:
    assert 0 <= decay(idle, constant) <= 1
    assert decay(idle + 1, constant) <= decay(idle, constant)


@given(st.integers(0, 400 * DAY), st.floats(0.01, 0.99), st.floats(0.01, 100))
def test_what_rested_longer_than_the_horizon_has_less_left(
    idle: int, below: float, days: float
) -> None:
    left, end = decay(idle, days * DAY), horizon(days * DAY, below)
    if not math.isclose(idle, end, rel_tol=1e-12, abs_tol=2):
        assert (left < below) == (idle > end)


def test_what_never_fades_has_no_horizon() -> None:
    assert decay(10**18, math.inf) == 1
    assert horizon(math.inf) == math.inf


def test_floors_hold_what_is_verified_important_or_pinned() -> None:
    assert floored(0.01, verified=False, importance=0) == 0.01
    assert floored(0.01, verified=True, importance=0) == 0.2
    assert floored(0.01, verified=True, importance=0.4) == 0.4
    assert floored(0.9, verified=True, importance=0.4) == 0.9
    assert floored(0.0, verified=False, importance=0, pinned=True) == 1


def test_layers_begin_at_five_and_at_twenty_uses() -> None:
    assert [layer(count) for count in (0, 4, 5, 19, 20, 10**9)] == [
        Layer.BUFFER, Layer.BUFFER, Layer.WORKING, Layer.WORKING, Layer.CORE, Layer.CORE,
    ]  # fmt: skip


# ---------------------------------------------------------------- the pass


def test_a_claim_is_archived_when_less_than_a_twentieth_is_left(
    ledger: Ledger, clock: Clock
) -> None:
    claim(ledger, "a")
    clock.rest(20.9)
    assert not ledger.decay()
    clock.rest(0.1)
    done = ledger.decay()
    assert done.ids == ("a",)
    assert archived(ledger, "a")
    why = str(ledger.view(valid_at=clock.now).why("a"))
    assert "archived: decay" in why
    assert done.policies[0] in why


def test_ten_passes_do_what_one_does_and_a_dry_run_does_nothing(
    ledger: Ledger, clock: Clock
) -> None:
    for number in range(5):
        claim(ledger, f"c{number}")
    clock.rest(30)
    before = ledger.revision
    dry = ledger.decay(dry_run=True)
    assert ledger.revision == before
    assert dry.policies == ()
    assert dry.ids == ledger.decay().ids
    after = ledger.revision
    assert after == before + 1
    assert [ledger.decay().ids for _ in range(10)] == [()] * 10
    assert ledger.revision == after


def test_a_bounded_pass_is_gone_on_with_by_the_next_the_longest_at_rest_first(
    ledger: Ledger, clock: Clock
) -> None:
    for number in range(7):
        claim(ledger, f"c{number}")
        clock.rest(1)
    clock.rest(60)
    told: list[tuple[int, int | None]] = []
    first = ledger.decay(limit=3, progress=lambda *each: told.append(each))
    assert first.ids == ("c0", "c1", "c2")
    assert first.left == 4
    assert told == [(3, 3)]
    assert ledger.decay(limit=3).ids == ("c3", "c4", "c5")
    assert ledger.decay().ids == ("c6",)


def test_one_event_names_a_thousand_records_at_most(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelving, "AT_ONCE", 3)
    for number in range(8):
        claim(ledger, f"c{number}", workspace="w" if number % 2 else "")
    clock.rest(60)
    done = ledger.decay()
    assert len(done) == 8
    assert len(done.policies) == 6  # a workspace's records are named in its own events


def test_ids_that_are_very_long_are_named_in_several_events(ledger: Ledger) -> None:
    ids = [f"{number:03}" + "€" * 990 for number in range(300)]
    ledger.append(
        [{"event": "claim", "id": id, "subject": "s", "predicate": "p", "object": 1} for id in ids]
    )
    assert len(ledger.archive(ids).policies) > 1
    assert all(one["archived"] for one in ledger.usage(ids))


def test_use_support_and_restoring_begin_the_rest_anew(ledger: Ledger, clock: Clock) -> None:
    for id in ("used", "supported", "refuted", "restored", "idle"):
        claim(ledger, id)
    clock.rest(15)
    assert found(ledger, "used", reinforce=True) == ["used"]
    ledger.support("supported", source="t")
    ledger.support("refuted", source="t", stance="refutes")
    ledger.archive("restored")
    ledger.restore("restored")
    clock.rest(15)
    assert set(ledger.decay().ids) == {"idle", "refuted"}
    assert not ledger.decay()


def test_who_takes_back_an_archiving_has_the_record_for_another_while(
    ledger: Ledger, clock: Clock
) -> None:
    claim(ledger, "a")
    clock.rest(30)
    (policy,) = ledger.decay().policies
    ledger.withdraw(policy)
    assert not archived(ledger, "a")
    assert not ledger.decay()
    clock.rest(22)
    assert ledger.decay().ids == ("a",)


def test_what_is_pinned_verified_or_important_is_kept_and_counted(
    ledger: Ledger, clock: Clock
) -> None:
    for id in ("pinned", "verified", "important", "little", "cleared", "plain"):
        claim(ledger, id)
    ledger.pin("pinned")
    ledger.verify_claim("verified")
    ledger.score("important", 0.05)
    ledger.score("little", 0.04)
    ledger.score("cleared", 0.9)
    ledger.score("cleared", 0)
    clock.rest(3_650)
    done = ledger.decay()
    assert set(done.ids) == {"little", "cleared", "plain"}
    assert done.kept == {"pinned": 1, "verified": 1, "important": 1}


def test_a_floor_that_is_withdrawn_holds_no_longer(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    policies = [ledger.pin("a"), ledger.verify_claim("a"), ledger.score("a", 1)]
    clock.rest(60)
    for policy in policies:
        assert not ledger.decay()
        ledger.withdraw(policy)
    assert ledger.decay().ids == ("a",)


def test_a_kind_fades_as_fast_as_was_declared_or_never(ledger: Ledger, clock: Clock) -> None:
    for kind in ("fast", "slow", "never", "other"):
        claim(ledger, kind, kind=kind)
        claim(ledger, kind, kind=kind, workspace="w")
    ledger.decays("fast", 1)
    ledger.decays("slow", 100)
    ledger.decays("never", None)
    ledger.decays("fast", 1_000, workspace="w")
    clock.rest(4)
    assert [*ledger.decay().records] == [("", "fast")]
    clock.rest(20)
    assert [*ledger.decay().records] == [("", "other"), ("w", "other")]
    clock.rest(3_650)
    assert {one.id for one in ledger.decay().records} == {"slow", "fast"}


def test_a_pass_can_be_of_one_workspace(ledger: Ledger, clock: Clock) -> None:
    for place in ("", "w"):
        claim(ledger, "a", workspace=place)
    clock.rest(60)
    assert [*ledger.decay(workspace="w").records] == [("w", "a")]
    assert ledger.decay(workspace="nowhere").ids == ()
    assert [*ledger.decay(workspace="").records] == [("", "a")]


def test_layers_change_nothing_about_decay(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "often")
    claim(ledger, "once")
    clock.rest(1)
    for _ in range(25):
        found(ledger, "often", reinforce=True)
    found(ledger, "once", reinforce=True)
    often, once = ledger.usage(["often", "once"], now=clock.now + timedelta(days=10))
    assert (often["layer"], once["layer"]) == ("core", "buffer")
    assert often["decay"] == once["decay"] == pytest.approx(math.exp(-10 / 7))
    clock.rest(21)
    assert len(ledger.decay()) == 2


def test_a_clock_that_stood_ahead_makes_nothing_older(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    clock.rest(-100)
    assert not ledger.decay()
    (told,) = ledger.usage("a")
    assert told["decay"] == 1


# ---------------------------------------------------------------- beside its slow twin


def _due_by_hand(ledger: Ledger, now: int, wanted: Wanted) -> tuple[set[int], dict[str, int]]:
    belief = ledger._stream.capture()[0].belief
    graph, due, kept = belief.graph, set[int](), dict[str, int]()
    for row in range(len(graph.c_pos)):
        number = entity(CLAIM, row)
        key = graph.names.texts[graph.c_ws[row]], graph.claim_id(row)
        one = vitals(belief, number, ledger._usage.of([key]).get(key), now)
        idle = max(0, now - one.last)
        if one.archived or (
            wanted.below is not None and idle <= horizon(one.constant, wanted.below)
        ):
            continue
        if wanted.workspace not in (None, key[0]):
            continue
        if wanted.kind not in (None, graph.names.texts[graph.c_kind[row]]):
            continue
        if wanted.before is not None and graph.recorded_of(graph.c_pos[row]) >= wanted.before:
            continue
        least = 0.0 if wanted.protecting else wanted.below or 0.0
        why = one.kept
        if why == "important" and one.importance < least:
            why = None
        if why == "verified" and not wanted.protecting and least > 0.2:
            why = None
        if why is None:
            due.add(number)
        else:
            kept[why] = kept.get(why, 0) + 1
    return due, kept


@given(seed=st.integers(0, 2**48), on_disk=st.sampled_from((False, False, True)))
def test_the_pass_finds_what_looking_at_each_claim_finds(
    seed: int, on_disk: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    random = Random(seed)
    walk = Walk(tmp_path_factory.mktemp("walk") if on_disk else None)
    try:
        wander(random, walk, 20, writer=Keeper)
        ledger, log = walk.ledger, walk.log()
        for key in [*log.claims]:
            if random.random() < 0.3:
                at = walk._now + random.choice((0, 3, 10)) * DAY
                placed = random.choice((None, ledger._stream.capture()[0].belief.graph))
                ledger._usage.touch([key] * random.choice((1, 5)), at, placed)
        for days in (0, 5, 20, 21, 22, 40, 400):
            now = walk._now + days * DAY
            for wanted in (
                Wanted(),
                Wanted(workspace="w"),
                Wanted(random.choice((0.01, 0.15, 0.3, 0.9, None)), protecting=True),
                Wanted(None, "hypothesis", now - 10 * DAY, protecting=True),
            ):
                belief = ledger._stream.capture()[0].belief
                with patch.object(fading, "FEW", random.choice((0, 10_000))):
                    due = faded(belief, ledger._usage, now, wanted)
                assert (set(due.numbers), due.kept) == _due_by_hand(ledger, now, wanted), wanted
                assert len(due.numbers) == len(set(due.numbers))
                if wanted.before is None and wanted.kind is None:
                    again = still_due(belief, ledger._usage, due.numbers, now, wanted)
                    assert again == due.numbers
    finally:
        walk.close()


class Keeper(Speaker):
    """An author who scores, verifies, pins and lets fade, and takes it back."""

    def _policy(self, event: dict[str, Any]) -> dict[str, Any]:
        chance, workspace = self.random.random(), event["workspace"]
        if chance < 0.15:
            event["decays"] = self.random.choice(("fact", "hypothesis"))
            days = self.random.choice((1, 3, 100, None))
            event |= {} if days is None else {"days": days}
        elif chance < 0.3:
            event |= {"scored": self._one(workspace, "claim")}
            event["importance"] = self.random.choice((0, 0.02, 0.05, 0.5))
        elif chance < 0.4:
            event["verified"] = self._one(workspace, "claim")
        elif chance < 0.45:
            event["pinned"] = self._one(workspace, "claim")
        else:
            return super()._policy(event)
        return event

    def _kind(self) -> str:
        return "policy" if self.random.random() < 0.25 else super()._kind()


@given(seed=st.integers(0, 2**48))
def test_what_is_hidden_is_what_the_twin_says_at_any_coordinates(seed: int) -> None:
    from doxa.engine.hiding import hidden

    random = Random(seed)
    walk = Walk(None)
    try:
        wander(random, walk, 20, writer=Keeper)
        ledger, log = walk.ledger, walk.log()
        _agree(ledger, log, random, hidden)
    finally:
        walk.close()


def _agree(ledger: Ledger, log: Log, random: Random, hidden: Callable[..., Any]) -> None:
    graph = ledger._stream.capture()[0].belief.graph
    for _ in range(6):
        known_at = random.choice([commit.last for commit in log.commits] or [0])
        day = random.randrange(-1, 8)
        view = ledger.view(
            valid_at=moment(1_704_067_200_000_000 + day * DAY), known_at=known_at or None
        )
        hides = hidden(view.belief, view.v, view.k)
        for place, id in [*log.claims, *log.artefacts]:
            number = graph.find(place, id)
            if graph.position_of(number) > view.k:
                continue
            truth = Truth(log, view.v, view.k, place)
            assert (number in hides) == truth.hidden(id, place), (place, id, view)


# ---------------------------------------------------------------- archiving and coming back


def test_an_archived_claim_is_hidden_stays_true_and_supports_what_rests_on_it(
    ledger: Ledger,
) -> None:
    claim(ledger, "a")
    claim(ledger, "b", source=None, because=["a"])
    before = ledger.view(valid_at=BEGIN)
    done = ledger.archive(["a", "a"], reason="noise")
    after = ledger.view(valid_at=BEGIN)
    assert done.ids == ("a",)
    assert found(ledger, "a here") == ["b"]
    assert found(ledger, "a here", archived=True) == ["a", "b"]
    assert after.value("a", "is") == "here"
    assert after.standing("b") is doxa.Standing.REPORTED
    assert after.fingerprint == before.fingerprint
    assert not after.diff(before)
    assert [hit.id for hit in ledger.recall("a here", view=before)] == ["a", "b"]


def test_archiving_again_and_restoring_what_is_there_record_nothing(ledger: Ledger) -> None:
    claim(ledger, "a")
    ledger.archive("a")
    revision = ledger.revision
    assert not ledger.archive("a")
    assert ledger.revision == revision
    assert ledger.restore("a").ids == ("a",)
    revision = ledger.revision
    assert not ledger.restore("a")
    assert ledger.revision == revision


def test_archiving_can_be_withdrawn_and_restoring_too(ledger: Ledger) -> None:
    claim(ledger, "a")
    (first,) = ledger.archive("a").policies
    (second,) = ledger.restore("a").policies
    ledger.withdraw(second)
    assert archived(ledger, "a")
    ledger.withdraw(first)
    assert not archived(ledger, "a")


@pytest.mark.parametrize(
    "again",
    [
        lambda ledger: ledger.support("a", source="t"),
        lambda ledger: ledger.claim("a", "is", "here", id="other", source="t"),
        lambda ledger: ledger.claim("a", "is", "here", id="a", source="s"),
        lambda ledger: ledger.correct("b", by=claim(ledger, "new", subject="a")),
        lambda ledger: ledger.append(
            [
                {"event": "claim", "id": f"x{n}", "subject": s, "predicate": "is", "object": "here"}
                for n, s in enumerate(("z", "a"))
            ]
        ),
        lambda ledger: ledger.import_events(
            [{"event": "support", "id": "t", "claim": "a", "source": "t"}]
        ),
    ],
)
def test_asserting_a_claim_again_brings_it_back_in_the_same_commit(
    ledger: Ledger, again: Callable[[Ledger], object]
) -> None:
    claim(ledger, "a")
    claim(ledger, "b")
    ledger.archive(["a", "b"])
    again(ledger)
    assert not archived(ledger, "a")
    assert archived(ledger, "b")
    view = ledger.view(valid_at=BEGIN)
    assert "back: asserted again" in str(view.why("a"))


def test_a_claim_that_is_said_again_as_of_then_comes_back_now(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a", recorded_at=BEGIN)
    clock.rest(1)
    ledger.archive("a")
    clock.rest(1)
    claim(ledger, "a", recorded_at=BEGIN)
    assert not archived(ledger, "a")
    assert ledger.view(valid_at=BEGIN, known_at=clock.now).revision == ledger.revision


def test_ledgers_that_were_told_the_same_can_be_brought_together(ledger: Ledger) -> None:
    from doxa.adapters.exchange import export_events

    with doxa.open() as other:
        for each, extra in ((ledger, 1), (other, 4)):
            for number in range(extra):  # so that positions are not the same
                each.claim("x", "is", number, id=f"x{extra}-{number}", source="s")
            claim(each, "a")
            each.append([{"event": "policy", "id": "p", "archived": ["a"]}])
            claim(each, "again", subject="a")
        report = ledger.import_events(export_events(other), restamp=True)
        assert report.set_aside == ()
        assert report.events == 4
        assert not archived(ledger, "a")


@pytest.mark.parametrize(
    "other",
    [
        {"subject": "b"},
        {"predicate": "was"},
        {"object": "there"},
        {"perspective": "p"},
        {"workspace": "w"},
    ],
)
def test_saying_something_else_brings_nothing_back(ledger: Ledger, other: dict[str, Any]) -> None:
    claim(ledger, "a")
    ledger.archive("a")
    ledger.claim(**{"subject": "a", "predicate": "is", "object": "here", "source": "t", **other})
    ledger.support(claim(ledger, "c"), source="t")
    ledger.support("a", source="t", stance="refutes")
    assert archived(ledger, "a")


def test_the_same_number_in_another_form_is_the_same_assertion(ledger: Ledger) -> None:
    claim(ledger, "a", object=1)
    ledger.archive("a")
    claim(ledger, "b", subject="a", object=True)
    assert archived(ledger, "a")
    claim(ledger, "c", subject="a", object=1.0)
    assert not archived(ledger, "a")


def test_an_append_or_an_import_of_what_is_there_brings_nothing_back(ledger: Ledger) -> None:
    line = {"event": "claim", "id": "a", "subject": "a", "predicate": "is", "object": "here"}
    ledger.append([line])
    ledger.archive("a")
    revision = ledger.revision
    ledger.append([line])
    ledger.import_events([line])
    assert archived(ledger, "a")
    assert ledger.revision == revision


def test_a_history_with_returns_is_exported_and_imported_as_it_is(ledger: Ledger) -> None:
    from doxa.adapters.exchange import export_events

    claim(ledger, "a")
    for number in range(3):
        ledger.archive("a")
        claim(ledger, f"again {number}", subject="a")
    lines = list(export_events(ledger))
    with doxa.open() as other:
        assert not other.import_events(lines).set_aside
        assert list(export_events(other)) == lines
        assert other.import_events(lines).events == 0
        assert not archived(other, "a")
        assert other.verify().ok


def test_what_is_pinned_is_never_archived_and_pinning_shows_what_was(ledger: Ledger) -> None:
    claim(ledger, "a")
    claim(ledger, "b")
    ledger.archive("b")
    pin = ledger.pin("a")
    ledger.pin("b")
    revision = ledger.revision
    with pytest.raises(doxa.CallerError, match=r"'a' is pinned.*withdraw the pin"):
        ledger.archive(["a", "b"])
    assert ledger.revision == revision
    assert found(ledger, "here") == ["a", "b"]
    ledger.withdraw(pin)
    assert ledger.archive("a").ids == ("a",)


def test_summaries_and_citations_are_archived_by_themselves(ledger: Ledger) -> None:
    claim(ledger, "a", source={"id": "s", "quote": "the quoted word"})
    cited = ledger.cite("the cited word", claim="a", source="s", id="q")
    ledger.summarize("the word in short", facts=["a"], citations=[cited], id="n")
    ledger.archive("a")
    assert found(ledger, "word") == ["n"]
    view = ledger.view(valid_at=BEGIN)
    assert all(one.eligible for one in ledger.judge(["n", "q"], view))
    ledger.archive(["n", "q"])
    assert found(ledger, "word") == []
    view = ledger.view(valid_at=BEGIN)
    assert ledger.judge("n", view)[0].eligible
    assert not ledger.reconcile(view).invalidated
    ledger.restore(["n"])
    assert found(ledger, "word") == ["n"]


def test_a_view_of_then_shows_what_was_archived_since(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    then = ledger.revision
    clock.rest(1)
    ledger.archive("a")
    ledger.restore("a")
    between = ledger.revision - 1
    old = ledger.view(valid_at=BEGIN, known_at=then)
    hid = ledger.view(valid_at=BEGIN, known_at=between)
    now = ledger.view(valid_at=BEGIN)
    assert [len(ledger.recall("a", view=view)) for view in (old, hid, now)] == [1, 0, 1]


# ---------------------------------------------------------------- expiry, pruning, maintenance


def test_what_expires_is_archived_by_maintenance_alone_and_once(
    ledger: Ledger, clock: Clock
) -> None:
    claim(ledger, "a")
    claim(ledger, "kept")
    ledger.pin("kept")
    ledger.score("a", 1)
    note = ledger.summarize("about a", facts=["a"])
    for id in ("a", "kept", note):
        ledger.expire(id, BEGIN + timedelta(days=2))
    clock.rest(1)
    assert ledger.maintain().left == 0
    assert not archived(ledger, "a")
    clock.rest(1)
    done = ledger.maintain(dry_run=True).steps["expired"]
    assert set(done.ids) == {"a", note}  # type: ignore[union-attr]  # of two kinds of report
    ledger.maintain()
    assert archived(ledger, "a")
    assert archived(ledger, note)
    assert not archived(ledger, "kept")
    assert ledger.view(valid_at=clock.now).value("a", "is") == "here"
    ledger.restore("a")
    ledger.maintain()
    assert not archived(ledger, "a")  # who brings it back has the last word
    ledger.expire("a", clock.now)
    ledger.maintain()
    assert archived(ledger, "a")


def test_an_expiry_that_is_put_off_or_withdrawn_does_nothing(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    claim(ledger, "b")
    ledger.expire("a", BEGIN)
    ledger.expire("a", BEGIN + timedelta(days=100))
    ledger.withdraw(ledger.expire("b", BEGIN))
    clock.rest(1)
    ledger.maintain()
    assert not archived(ledger, "a")
    assert not archived(ledger, "b")


def test_pruning_asks_all_filters_and_spares_what_is_protected(
    ledger: Ledger, clock: Clock
) -> None:
    for id in ("pinned", "verified", "scored", "plain"):
        claim(ledger, id, kind="note")
    claim(ledger, "fact")
    ledger.pin("pinned")
    ledger.verify_claim("verified")
    ledger.score("scored", 0.01)
    clock.rest(2)
    claim(ledger, "young", kind="note")
    assert ledger.prune(kind="note", older_than=1, dry_run=True).ids == ("plain",)
    assert ledger.prune(kind="note", older_than=3).ids == ()
    assert ledger.prune(decay_below=0.7).ids == ()
    assert set(ledger.prune(decay_below=0.8, dry_run=True).ids) == {"plain", "fact"}
    done = ledger.prune(kind="note", decay_below=0.8, reason="clutter")
    assert done.ids == ("plain",)
    assert done.kept == {"pinned": 1, "verified": 1, "important": 1}
    assert "clutter" in str(ledger.view(valid_at=clock.now).why("plain"))
    assert set(ledger.prune(older_than=0).ids) == {"fact"}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda ledger: ledger.prune(), "needs a filter"),
        (lambda ledger: ledger.prune(colour="red"), "takes no 'colour'"),
        (lambda ledger: ledger.prune(as_of="2024-01-01"), "valid_at"),
        (lambda ledger: ledger.prune(older_than=-1), "older_than is -1"),
        (lambda ledger: ledger.prune(older_than=math.nan), "older_than is nan"),
        (lambda ledger: ledger.prune(older_than=True), "older_than is True"),
        (lambda ledger: ledger.prune(decay_below=0), "decay_below is 0"),
        (lambda ledger: ledger.prune(decay_below=1.5), "decay_below is 1.5"),
        (lambda ledger: ledger.prune(decay_below="x"), "decay_below is 'x'"),
        (lambda ledger: ledger.prune(kind=3), "kind is 3"),
        (lambda ledger: ledger.prune(older_than=1, limit=0), "limit is 0"),
        (lambda ledger: ledger.decay(limit=-1), "limit is -1"),
        (lambda ledger: ledger.decay(limit=2.5), "limit is 2.5"),
        (lambda ledger: ledger.decay(now="2024-01-01T10:00:00"), "no time zone"),
        (lambda ledger: ledger.decay(workspace=3), "workspace is 3"),
        (lambda ledger: ledger.maintain(limit=0), "limit is 0"),
        (lambda ledger: ledger.archive([]), "ids is empty"),
        (lambda ledger: ledger.archive("nobody"), "'nobody' is not in the shared workspace"),
        (lambda ledger: ledger.archive("a/support"), "is a support"),
        (lambda ledger: ledger.archive("a", workspace="w"), "workspace 'w'"),
        (lambda ledger: ledger.restore(["a", 3]), "id is 3"),
        (lambda ledger: ledger.usage("nobody"), "'nobody' is not in"),
        (lambda ledger: ledger.score("a", 1.5), "importance"),
        (lambda ledger: ledger.score("a", -0.1), "importance"),
        (lambda ledger: ledger.score("nobody", 0.5), "nobody"),
        (lambda ledger: ledger.expire("a", "soon"), "soon"),
        (lambda ledger: ledger.decays("fact", 0), "days"),
        (lambda ledger: ledger.decays("fact", -3), "days"),
        (lambda ledger: ledger.decays("", 3), "decays"),
    ],
)
def test_what_can_not_be_carried_out_is_refused_and_writes_nothing(
    ledger: Ledger, call: Callable[[Ledger], object], told: str
) -> None:
    claim(ledger, "a")
    revision = ledger.revision
    with pytest.raises(doxa.CallerError, match=told):
        call(ledger)
    assert ledger.revision == revision


def test_dry_runs_of_every_call_write_nothing(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    claim(ledger, "b")
    ledger.archive("b")
    clock.rest(60)
    revision = ledger.revision
    ledger.score("a", 1, dry_run=True)
    ledger.expire("a", BEGIN, dry_run=True)
    ledger.decays("fact", 1, dry_run=True)
    assert ledger.archive("a", dry_run=True).ids == ("a",)
    assert ledger.restore("b", dry_run=True).ids == ("b",)
    assert ledger.decay(dry_run=True).ids == ("a",)
    assert ledger.prune(older_than=1, dry_run=True).ids == ("a",)
    assert ledger.maintain(dry_run=True).dry_run
    assert ledger.revision == revision


def test_a_dry_run_of_maintenance_names_each_record_once_as_the_run_does(
    ledger: Ledger, clock: Clock
) -> None:
    for number in range(4):
        claim(ledger, f"c{number}")
    ledger.expire("c3", BEGIN)
    clock.rest(60)
    reports = [ledger.maintain(dry_run=dry).as_dict() for dry in (True, False)]
    for report in reports:
        assert [one["id"] for one in report["expired"]["records"]] == ["c3"]
        assert [one["id"] for one in report["decay"]["records"]] == ["c0", "c1", "c2"]


def test_a_limit_on_maintenance_is_shared_by_its_steps(ledger: Ledger, clock: Clock) -> None:
    for number in range(4):
        claim(ledger, f"c{number}")
    ledger.expire("c3", BEGIN)
    clock.rest(60)
    told: list[tuple[int, int | None]] = []
    done = ledger.maintain(limit=2, progress=lambda *each: told.append(each))
    report = done.as_dict()
    assert [one["id"] for one in report["expired"]["records"]] == ["c3"]
    assert [one["id"] for one in report["decay"]["records"]] == ["c0"]
    assert done.left == 2
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    assert ledger.maintain(limit=1).left == 1
    assert ledger.maintain().left == 0
    assert ledger.maintain().as_dict()["decay"]["records"] == []


def test_asynchronous_twins_do_the_same(ledger: Ledger, clock: Clock) -> None:
    async def told() -> None:
        await ledger.ascore("a", 0.5)
        assert (await ledger.aarchive("a")).ids == ("a",)
        assert (await ledger.arestore("a")).ids == ("a",)
        assert (await ledger.ausage("a"))[0]["importance"] == 0.5
        assert not await ledger.adecay()
        assert not await ledger.aprune(older_than=1)
        await ledger.aexpire("a", BEGIN)
        await ledger.adecays("fact", 1)
        assert (await ledger.amaintain()).left == 0

    claim(ledger, "a")
    asyncio.run(told())


# ---------------------------------------------------------------- several at once, and killed


KEEPER = """
import sys, doxa
with doxa.open(sys.argv[1], create=False) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    done = ledger.maintain(now="2030-01-01")
    print(len(done.steps["decay"]), flush=True)
"""


def _filled(path: Path, count: int) -> None:
    with doxa.open(path) as ledger:
        ledger.append(
            [
                {"event": "claim", "id": f"c{n}", "subject": f"s{n}", "predicate": "p", "object": n}
                for n in range(count)
            ]
        )


def test_two_processes_that_maintain_at_once_archive_each_record_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    _filled(path, 3_000)
    command = [sys.executable, "-c", KEEPER, str(path)]
    keepers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for keeper in keepers:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "ready\n"
    done = [keeper.communicate("go\n", timeout=60)[0] for keeper in keepers]
    assert sum(map(int, done)) == 3_000
    with doxa.open(path) as ledger:
        assert ledger.revision == 3_003
        assert not ledger.decay(now="2030-01-01")
        assert ledger.stats()["archived"]["claims"] == 3_000


def test_a_pass_that_breaks_off_has_done_what_it_had_done_and_is_gone_on_with(
    tmp_path: Path,
) -> None:
    _filled(tmp_path / "ledger", 2_500)

    class Killed(Exception):
        pass

    def kill(done: int, due: int | None) -> None:
        if done >= 1_000:
            raise Killed

    with doxa.open(tmp_path / "ledger") as ledger, pytest.raises(Killed):
        ledger.decay(now="2030-01-01", progress=kill)
    with doxa.open(tmp_path / "ledger") as ledger:
        assert ledger.stats()["archived"]["claims"] == 1_000
        assert len(ledger.decay(now="2030-01-01")) == 1_500
        assert ledger.verify().ok


KILLED = """
import os, sys, doxa
with doxa.open(sys.argv[1], create=False) as ledger:
    def told(done, due):
        print(done, flush=True)
    ledger.decay(now="2030-01-01", progress=told)
"""


def test_a_process_that_is_killed_in_a_pass_leaves_a_sound_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    _filled(path, 6_000)
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1000\n"
        process.kill()
    with doxa.open(path) as ledger:
        done = ledger.stats()["archived"]["claims"]
        assert done >= 1_000
        assert done % 1_000 == 0
        assert len(ledger.decay(now="2030-01-01")) == 6_000 - done
        assert not ledger.decay(now="2030-01-01")
        assert ledger.verify(oracle=False).ok


def test_what_is_used_while_a_pass_runs_is_not_archived_by_it(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelving, "AT_ONCE", 1)
    claim(ledger, "first")
    claim(ledger, "second")
    claim(ledger, "third")
    clock.rest(60)

    def use(done: int, due: int | None) -> None:
        if done == 1:
            ledger._usage.touch([("", "second")], ledger.clock())
            ledger.pin("third")

    assert ledger.decay(progress=use).ids == ("first",)


def test_decay_takes_the_place_of_no_withdrawal(ledger: Ledger, clock: Clock) -> None:
    claim(ledger, "a")
    claim(ledger, "gone")
    ledger.withdraw("gone")
    clock.rest(60)
    before = ledger.view(valid_at=clock.now).fingerprint
    assert set(ledger.decay().ids) == {"a", "gone"}
    view = ledger.view(valid_at=clock.now)
    assert view.fingerprint == before
    assert view.standing("gone") is doxa.Standing.RETRACTED
    assert BELOW == 0.05
    assert SEVEN_DAYS == 7 * DAY


# ---------------------------------------------------------------- figures


def test_figures_tell_how_a_ledger_grows_and_what_there_is_most_of(
    ledger: Ledger, clock: Clock
) -> None:
    claim(ledger, "a")
    claim(ledger, "b", subject="a")
    clock.rest(40)
    for number in range(3):
        ledger.support("b", source=f"t{number}")
    note = ledger.summarize("one", facts=["a"])
    ledger.summarize("two", facts=["b"])
    ledger.archive(["a", note])
    ledger.withdraw("b")
    found(ledger, "here", archived=True, reinforce=True)
    told = ledger.stats()
    assert [month for month in told["growth"]] == ["2024-01", "2024-02"]
    assert sum(month["events"] for month in told["growth"].values()) == told["revision"]
    assert sum(told["event_bytes"].values()) == sum(m["bytes"] for m in told["growth"].values())
    assert told["largest_histories"] == [{"id": "b", "workspace": "", "events": 5}]
    assert told["largest_subjects"] == [{"subject": "a", "workspace": "", "claims": 2}]
    assert told["artefacts"] == {"eligible": 0, "invalidated": 1, "archived": 1}
    assert told["archived"] == {"claims": 0, "artefacts": 1}
    assert told["usage"] == {"records": 1, "uses": 1, "problem": None}


def test_figures_of_an_empty_ledger_are_empty(ledger: Ledger) -> None:
    told = ledger.stats()
    assert told["growth"] == {}
    assert told["largest_histories"] == told["largest_subjects"] == []
