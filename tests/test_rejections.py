"""Rejected values: every way into the ledger is asked, and nothing of what was kept out stays."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import exported, set_aside
from doxa.engine import codec
from doxa.engine import events as ev
from doxa.engine.blocking import Blocking
from doxa.engine.gate import Override
from doxa.engine.parse import parse
from doxa.engine.requests import Request
from doxa.engine.sameness import differences
from doxa.ledger import Ledger

SECRET = "the Zanzibar Secret"  # what is rejected; it is to be found nowhere afterwards
AGAIN = "  THE  zanzibar\u00a0secret "


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with doxa.open() as opened:
        yield opened


def policies(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    """The policies of one name in a ledger, as they are exported."""
    lines = (json.loads(item.line) for item in exported(ledger))
    return [line for line in lines if name in line]


def export(ledger: Ledger) -> list[str]:
    return [item.line for item in exported(ledger)]


def kept_out(call: Callable[[], object], *rejections: str) -> doxa.ValueRejected:
    """The refusal of a write, which names the rejections and does not hold the value."""
    with pytest.raises(doxa.ValueRejected) as raised:
        call()
    error = raised.value
    assert error.rejections == rejections
    assert SECRET.casefold() not in str(error).casefold()
    assert SECRET.casefold() not in repr(error).casefold()
    return error


# ---------------------------------------------------------------- what is kept out


def test_a_rejected_value_is_kept_out_whatever_its_subject_and_an_event_says_so(
    ledger: Ledger,
) -> None:
    ledger.reject(SECRET, reason="made up", id="r1")
    before = ledger.revision
    error = kept_out(lambda: ledger.claim("ada", "says", AGAIN, id="c1"), "r1")
    assert (error.claim, error.workspace) == ("c1", "")
    assert "r1" in str(error)
    assert "made up" in str(error)
    (audit,) = policies(ledger, "blocked")
    assert (audit["blocked"], audit["of"], audit["id"]) == ("r1", "c1", *error.audits)
    assert ledger.revision == before + 1
    assert not ledger.view(valid_at="2024-01-01").claims(standing=list(doxa.Standing))


def test_a_write_that_is_tried_again_ends_the_same_way_and_adds_no_event(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    first = kept_out(lambda: ledger.claim("ada", "says", SECRET, id="c1"), "r1")
    head = ledger.revision
    for _ in range(3):
        again = kept_out(lambda: ledger.claim("bob", "heard", AGAIN, id="c1"), "r1")
        assert (str(again), again.audits) == (str(first), first.audits)
    event = {"event": "claim", "id": "c1", "subject": "a", "predicate": "b", "object": SECRET}
    kept_out(lambda: ledger.append([event], expected_revision=head - 1), "r1")
    assert ledger.revision == head


def test_texts_are_compared_as_objects_are(ledger: Ledger) -> None:
    ledger.reject({"city": SECRET}, id="r1")
    kept_out(lambda: ledger.claim("a", "p", 1, text=json.dumps({"CITY": AGAIN})), "r1")
    ledger.claim("a", "p", 1, text=SECRET)
    ledger.reject(1, id="r2", withdraw=True)
    kept_out(lambda: ledger.claim("a", "p", 1.0, text=json.dumps({"city": AGAIN})), "r1", "r2")
    ledger.claim("a", "p", "1")
    ledger.claim("a", "p", True)


def test_a_rejection_bears_on_its_predicate_and_workspace_alone(ledger: Ledger) -> None:
    ledger.reject(SECRET, predicate="says", workspace="w", id="r1")
    ledger.claim("a", "says", SECRET)
    ledger.claim("a", "says", SECRET, workspace="other")
    ledger.claim("a", "heard", SECRET, workspace="w")
    kept_out(lambda: ledger.claim("a", "says", SECRET, workspace="w"), "r1")


@pytest.mark.parametrize("everywhere", ["", "*"])
def test_a_rejection_in_the_shared_workspace_bears_on_all(ledger: Ledger, everywhere: str) -> None:
    ledger.reject(SECRET, workspace=everywhere, id="r1")
    kept_out(lambda: ledger.claim("a", "p", SECRET), "r1")
    kept_out(lambda: ledger.claim("a", "p", SECRET, workspace="w", id="c1"), "r1")
    ledger.claim("a", "p", SECRET, workspace="w", id="c1", override="seen it")
    (blocked, _) = sorted(policies(ledger, "blocked"), key=lambda one: -len(one["workspace"]))
    assert blocked["workspace"] == "w"
    assert blocked["blocked"] == {"workspace": "", "id": "r1"}
    (override,) = policies(ledger, "overrides")
    assert (override["workspace"], override["overrides"]) == ("w", blocked["blocked"])
    assert ledger.verify().ok
    with doxa.open() as other:
        assert not other.import_events(export(ledger)).set_aside
        assert export(other) == export(ledger)


def test_a_rejection_runs_out(ledger: Ledger, tmp_path: Path) -> None:
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    with doxa.open(clock=lambda: now[0]) as opened:
        opened.reject(SECRET, until="2030-02-01", id="r1")
        now[0] = datetime(2030, 2, 1, tzinfo=UTC) - timedelta(microseconds=1)
        assert opened.is_rejected(SECRET)
        kept_out(lambda: opened.claim("a", "p", SECRET), "r1")
        now[0] = datetime(2030, 2, 1, tzinfo=UTC) + timedelta(microseconds=1)
        assert not opened.is_rejected(SECRET)
        opened.claim("a", "p", SECRET)
        assert [one.in_force for one in opened.rejections()] == [False]


def test_a_rejection_that_would_never_be_in_force_is_refused() -> None:
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    with doxa.open(clock=lambda: now[0]) as opened:
        with pytest.raises(doxa.InvalidTime, match="never be in force"):
            opened.reject(SECRET, until="2030-01-01")
        with pytest.raises(doxa.InvalidTime):
            opened.reject(SECRET, until="2031-01-01T00:00:00")  # without its offset
        opened.reject(SECRET, until="2030-01-02", id="r1")
        now[0] = datetime(2031, 1, 1, tzinfo=UTC)
        assert opened.reject(SECRET, until="2030-01-02", id="r1") == "r1"  # the same again


def test_the_time_that_a_write_states_is_what_an_expiry_is_compared_with() -> None:
    clock = datetime(2029, 1, 1, tzinfo=UTC)
    with doxa.open(clock=lambda: clock) as opened:
        opened.reject(SECRET, until="2030-02-01", id="r1")
        kept_out(lambda: opened.claim("a", "p", SECRET, recorded_at="2030-01-31"), "r1")
        opened.claim("a", "p", SECRET, recorded_at="2030-02-01")


def test_withdrawing_a_rejection_lifts_it_and_withdrawing_that_brings_it_back(
    ledger: Ledger,
) -> None:
    ledger.reject(SECRET, id="r1")
    lifted = ledger.withdraw("r1")
    ledger.claim("a", "p", SECRET, id="c1")
    ledger.withdraw(lifted)
    kept_out(lambda: ledger.claim("a", "p", SECRET), "r1")


def test_a_rejection_that_is_withdrawn_from_an_instant_on_counts_until_then() -> None:
    now = [datetime(2030, 1, 1, tzinfo=UTC)]
    with doxa.open(clock=lambda: now[0]) as opened:
        opened.reject(SECRET, id="r1")
        opened.withdraw("r1", valid_from="2030-06-01")
        kept_out(lambda: opened.claim("a", "p", SECRET), "r1")
        now[0] = datetime(2030, 6, 1, tzinfo=UTC)
        opened.claim("a", "p", SECRET)


def test_of_one_commit_nothing_is_written_where_one_claim_is_kept_out(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    events = [
        {"event": "claim", "id": "c1", "subject": "a", "predicate": "p", "object": "fine"},
        {"event": "claim", "id": "c2", "subject": "a", "predicate": "p", "object": SECRET},
        {"event": "claim", "id": "c3", "subject": "a", "predicate": "p", "object": AGAIN},
    ]
    error = kept_out(lambda: ledger.append(events), "r1")
    assert error.claim == "c2"
    assert [one["of"] for one in policies(ledger, "blocked")] == ["c2", "c3"]
    assert [json.loads(line)["event"] for line in export(ledger)] == ["policy"] * 3


def test_a_value_that_is_rejected_in_the_same_commit_passes(ledger: Ledger) -> None:
    digest = ledger._gate().digest(SECRET)
    ledger.append(
        [
            {"event": "policy", "id": "r1", "rejected": digest},
            {"event": "claim", "id": "c1", "subject": "a", "predicate": "p", "object": SECRET},
        ]
    )
    kept_out(lambda: ledger.claim("a", "p", SECRET), "r1")


def test_what_is_there_already_is_no_write(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    ledger.reject(SECRET, id="r1", withdraw=True)
    head = ledger.revision
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    assert ledger.revision == head
    assert ledger.import_events(export(ledger)).repeated == head
    kept_out(lambda: ledger.claim("a", "p", AGAIN, id="c1", source="s"), "r1")


def test_derived_claims_and_replacements_are_asked_too(ledger: Ledger) -> None:
    ledger.claim("a", "p", "x", id="c1")
    ledger.claim("a", "q", "y", id="c2")
    ledger.reject(SECRET, id="r1")
    kept_out(lambda: ledger.claim("a", "both", SECRET, because=["c1", "c2"]), "r1")
    kept_out(lambda: ledger.correct("c1", AGAIN, id="k1"), "r1")
    kept_out(lambda: ledger.correct("c1", "z", text=SECRET), "r1")
    ledger.correct("c1", AGAIN, id="k1", override="it is so")
    assert ledger.view(valid_at="2024-01-01").standing("c1") == "superseded"


def test_threads_that_share_a_flush_are_judged_one_by_one(tmp_path: Path) -> None:
    async def run(ledger: Ledger) -> list[str | BaseException]:
        values = [SECRET if number % 3 == 0 else f"value {number}" for number in range(60)]
        calls = [ledger.aclaim("a", "p", v, id=f"c{n}") for n, v in enumerate(values)]
        return await asyncio.gather(*calls, return_exceptions=True)

    with doxa.open(tmp_path / "l") as ledger:
        ledger.reject(SECRET, id="r1")
        answers = asyncio.run(run(ledger))
        for number, answer in enumerate(answers):
            assert isinstance(answer, doxa.ValueRejected) == (number % 3 == 0), answer
        assert len(policies(ledger, "blocked")) == 20
        assert ledger.verify().ok


def test_another_process_sees_a_rejection_at_once(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as one, doxa.open(tmp_path / "l") as other:
        other.claim("a", "p", "x")
        one.reject(SECRET, id="r1")
        kept_out(lambda: other.claim("a", "p", SECRET), "r1")


def test_a_refusal_can_be_carried_to_another_process(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1", reason="made up")
    error = kept_out(lambda: ledger.claim("a", "p", SECRET, id="c1"), "r1")
    other = pickle.loads(pickle.dumps(error))
    assert (str(other), other.rejections, other.claim) == (str(error), ("r1",), "c1")


def test_an_id_that_is_itself_the_value_is_not_written_down(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    with pytest.raises(doxa.ValueRejected):
        ledger.claim("a", "p", SECRET, id=AGAIN.strip())
    assert "zanzibar" not in "".join(export(ledger)).casefold()


# ---------------------------------------------------------------- overrides


def test_an_override_lets_one_claim_in_and_leaves_the_rejection_standing(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    ledger.reject(SECRET, predicate="p", id="r2")
    reason = {"reason": "read it myself", "author": "eve"}
    ledger.claim("a", "p", SECRET, id="c1", source="s", override=reason)
    told = policies(ledger, "overrides")
    assert [(one["overrides"], one["of"], one["author"]) for one in told] == [
        ("r1", "c1", "eve"),
        ("r2", "c1", "eve"),
    ]
    assert len({one["recorded_at"] for one in told}) == 1
    assert ledger.view(valid_at="2024-01-01").value("a", "p") == SECRET
    assert "in spite of the rejection r2" in str(ledger.view(valid_at="2024-01-01").why("c1"))
    head = ledger.revision
    ledger.claim("a", "p", SECRET, id="c1", source="s", override=reason)
    assert ledger.revision == head
    kept_out(lambda: ledger.claim("a", "p", SECRET, id="c2"), "r1", "r2")


def test_an_override_of_what_is_not_rejected_leaves_no_trace(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    ledger.claim("a", "p", "fine", override="to be safe")
    assert policies(ledger, "overrides") == []


def test_an_override_event_counts_in_the_commit_of_its_claim_and_for_that_alone(
    ledger: Ledger,
) -> None:
    ledger.reject(SECRET, id="r1")
    ledger.reject(SECRET, id="r2")
    claim = {"event": "claim", "id": "c1", "subject": "a", "predicate": "p", "object": SECRET}
    one = {"event": "policy", "id": "o1", "overrides": "r1", "of": "c1", "reason": "so"}
    two = {"event": "policy", "id": "o2", "overrides": "r2", "of": "c1"}
    kept_out(lambda: ledger.append([one, claim]), "r2")
    ledger.append([one, claim, two])
    kept_out(lambda: ledger.append([{**claim, "id": "c2"}]), "r1", "r2")
    kept_out(lambda: ledger.append([{**claim, "id": "c2"}, {**one, "id": "o3"}]), "r1", "r2")


@pytest.mark.parametrize(
    "override", ["", "  ", 7, {"author": "eve"}, {"reason": "x", "why": "y"}, {"reason": None}]
)
def test_an_override_needs_a_reason(ledger: Ledger, override: Any) -> None:
    with pytest.raises(doxa.CallerError, match=r"reason|override"):
        ledger.claim("a", "p", SECRET, override=override)


# ---------------------------------------------------------------- held values


def test_a_value_that_is_held_is_not_rejected_unless_it_is_withdrawn_too(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    ledger.claim("b", "q", "x", text=AGAIN, id="c2", source="s", workspace="w")
    ledger.claim("c", "q", SECRET, id="c3", kind="hypothesis", source="s")
    head = ledger.revision
    with pytest.raises(doxa.ValueHeld) as raised:
        ledger.reject(SECRET)
    assert raised.value.claims == ("c1", "c2")
    assert "zanzibar" not in str(raised.value).casefold()
    assert ledger.revision == head
    assert ledger.reject(SECRET, predicate="elsewhere", id="r0") == "r0"
    assert ledger.reject(SECRET, id="r1", withdraw=True, reason="made up") == "r1"
    assert ledger.view(valid_at="2024-01-01").standing("c1") == "retracted"
    assert ledger.view(valid_at="2024-01-01", workspace="w").standing("c2") == "retracted"
    lines = [json.loads(line) for line in export(ledger)][head + 1 :]
    assert [line["event"] for line in lines] == ["policy", "withdrawal", "withdrawal"]
    assert len({line["recorded_at"] for line in lines}) == 1


def test_a_value_that_is_held_no_more_can_be_rejected(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    ledger.correct("c1", "other")
    ledger.claim("a", "p", SECRET, id="c2", source="s", valid_from="2020-01-01")
    ledger.withdraw("c2", valid_from="2021-01-01")
    with pytest.raises(doxa.ValueHeld) as raised:
        ledger.reject(SECRET)
    assert raised.value.claims == ("c2",)
    ledger.withdraw("c2")
    ledger.reject(SECRET)


def test_a_claim_that_comes_while_a_value_is_rejected_is_found_under_the_lock(
    tmp_path: Path,
) -> None:
    with doxa.open(tmp_path / "l") as one, doxa.open(tmp_path / "l") as other:
        one.claim("a", "p", "x")

        def meanwhile(done: int, total: int | None) -> None:
            other.claim("b", "p", SECRET, id="late", source="s")

        with pytest.raises(doxa.ValueHeld):
            one.reject(SECRET, progress=meanwhile)
        one.claim("a", "p", "y")
        one.reject(SECRET, withdraw=True, id="r1", progress=meanwhile)
        assert one.view(valid_at="2024-01-01").standing("late") == "retracted"


def test_the_same_rejection_is_recorded_once(ledger: Ledger) -> None:
    first = ledger.reject(SECRET, reason="made up")
    head = ledger.revision
    assert ledger.reject(AGAIN, reason="made up") == first
    assert ledger.revision == head
    assert ledger.reject(SECRET, reason="otherwise") != first
    assert ledger.reject(SECRET, id="r1") == ledger.reject(SECRET, id="r1")
    with pytest.raises(doxa.DuplicateId):
        ledger.reject("another", id="r1")
    ledger.withdraw(first)
    assert ledger.reject(SECRET, reason="made up") != first


def test_rejecting_again_with_withdraw_takes_back_what_an_override_let_in(ledger: Ledger) -> None:
    first = ledger.reject(SECRET)
    ledger.claim("a", "p", SECRET, id="c1", source="s", override="so")
    assert ledger.reject(SECRET) == first
    assert ledger.reject(SECRET, withdraw=True) == first
    assert ledger.view(valid_at="2024-01-01").standing("c1") == "retracted"


def test_a_dry_run_judges_and_writes_nothing(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, source="s")
    head = ledger.revision
    with pytest.raises(doxa.ValueHeld):
        ledger.reject(SECRET, dry_run=True)
    assert ledger.reject(SECRET, withdraw=True, id="r1", dry_run=True) == "r1"
    assert ledger.revision == head
    assert ledger.rejections() == []


def test_weighing_a_write_asks_as_writing_it_does(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    head = ledger.revision
    claim = {"event": "claim", "id": "c1", "subject": "a", "predicate": "p", "object": SECRET}
    kept_out(lambda: ledger._stream.weigh(Request([parse(claim)])), "r1")
    ledger._stream.weigh(Request([parse(claim)], override=Override("so")))
    assert ledger.revision == head


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}, "\ud800", b"x"])
def test_what_is_no_value_can_be_neither_rejected_nor_asked_for(ledger: Ledger, value: Any) -> None:
    with pytest.raises(doxa.CallerError):
        ledger.reject(value)
    with pytest.raises(doxa.CallerError):
        ledger.is_rejected(value)


# ---------------------------------------------------------------- corrections that reject


def test_a_correction_rejects_the_old_value_in_its_own_commit(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, text="It is SO.", id="c1", source="s")
    done = ledger.correct("c1", "Lisbon", reject=True, id="k1")
    assert done == "k1"
    assert ledger.view(valid_at="2024-01-01").standing("c1") == "superseded"
    ids = ("k1/object", "k1/text")
    assert tuple(one.id for one in ledger.rejections()) == ids
    assert {one.predicate for one in ledger.rejections()} == {"p"}
    kept_out(lambda: ledger.claim("b", "p", AGAIN), "k1/object")
    kept_out(lambda: ledger.claim("b", "p", AGAIN, text="it is  so."), *ids)
    ledger.claim("b", "elsewhere", SECRET)
    head = ledger.revision
    assert ledger.correct("c1", "Lisbon", reject=True, id="k1").replacement == "k1/replacement"
    assert ledger.revision == head


def test_a_correction_by_nothing_or_by_a_claim_rejects_too(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    ledger.claim("a", "p", "right", id="c2", source="s")
    ledger.claim("a", "p", "wrong", id="c3", source="s")
    ledger.correct("c1", by="c2", reject=True)
    ledger.correct("c3", reject=True)
    assert ledger.is_rejected(SECRET)
    assert ledger.is_rejected("wrong", predicate="p")
    assert not ledger.is_rejected("wrong", predicate="q")


def test_a_correction_does_not_reject_what_others_hold_or_what_it_puts_in(ledger: Ledger) -> None:
    ledger.claim("a", "p", SECRET, id="c1", source="s")
    ledger.claim("b", "p", AGAIN, id="c2", source="s")
    head = ledger.revision
    with pytest.raises(doxa.ValueHeld) as raised:
        ledger.correct("c1", "other", reject=True)
    assert raised.value.claims == ("c2",)
    with pytest.raises(doxa.CallerError, match="what is to be rejected"):
        ledger.correct("c1", AGAIN, reject=True)
    assert ledger.revision == head


# ---------------------------------------------------------------- asking


def test_rejections_are_listed_without_their_values(ledger: Ledger) -> None:
    ledger.reject(
        SECRET, predicate="p", workspace="w", reason="made up", evidence="letter 7",
        author="eve", until="2100-01-01", id="r1",
    )  # fmt: skip
    ledger.reject("x", workspace="*", id="r2")
    ledger.withdraw("r2")
    one, two = ledger.rejections()
    assert (one.id, one.workspace, one.predicate, one.in_force) == ("r1", "w", "p", True)
    assert (one.reason, one.evidence, one.author) == ("made up", "letter 7", "eve")
    assert one.until == datetime(2100, 1, 1, tzinfo=UTC)
    assert (two.id, two.workspace, two.predicate, two.in_force) == ("r2", "", None, False)
    assert ledger.rejections(workspace="w") == [one, two]
    assert ledger.rejections(workspace="*") == ledger.rejections(workspace="other") == [two]


def test_asking_says_what_would_keep_a_value_out_and_writes_nothing(ledger: Ledger) -> None:
    ledger.reject(SECRET, predicate="p", workspace="w", id="r1")
    head = ledger.revision
    assert [one.id for one in ledger.is_rejected(AGAIN, predicate="p", workspace="w")] == ["r1"]
    assert [one.id for one in ledger.is_rejected(AGAIN, workspace="w")] == ["r1"]
    assert ledger.is_rejected(AGAIN, predicate="q", workspace="w") == ()
    assert ledger.is_rejected(AGAIN, predicate="p") == ()
    assert ledger.revision == head


# ---------------------------------------------------------------- what is stored


def test_a_blocked_write_is_stored_and_folded_as_its_event_would_be(tmp_path: Path) -> None:
    for ref in ("r1", ev.Ref("", "r1")):
        for workspace in ("", "w"):
            blocking = Blocking(workspace, "b1", ref, "c1")
            kind, head, data, tags = blocking.stored()
            assert (kind, (head, data), tags) == (
                "policy",
                codec.encode(blocking.event),
                codec.tags(blocking.event),
            )
            assert codec.decode(kind, head, data) == blocking.event
    with doxa.open(tmp_path / "l") as ledger:
        ledger.reject(SECRET, id="r1")
        for place in ("", "w", "w"):
            with pytest.raises(doxa.ValueRejected):
                ledger.claim("a", "p", SECRET, workspace=place)
        ledger.claim("a", "p", "x", workspace="w")
        with doxa.open(tmp_path / "l") as other:
            assert [*differences(*(one._stream.capture()[0] for one in (ledger, other)))] == []
        assert ledger.workspace_revision("w") == 5
        assert ledger.verify().ok


def test_a_ledger_without_a_secret_asks_nothing_and_is_not_written_to(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        digest = "ab" * 32
        with ledger.recorder.write() as transaction:
            transaction._write("DELETE FROM meta WHERE key=?", [("secret",)])
            transaction._changed = True
        ledger.recorder._keyed = None
        ledger.append([{"event": "policy", "id": "r1", "rejected": digest}])
        ledger.claim("a", "p", SECRET)
        assert ledger.is_rejected("x") == ()
        assert ledger.recorder.keyed_if_made() is None
        ledger.reject("x", id="r2")
        assert ledger.recorder.keyed_if_made() is not None
        kept_out(lambda: ledger.claim("a", "p", "X"), "r2")


def test_rejections_of_another_ledger_come_along_and_bear_on_nothing(ledger: Ledger) -> None:
    ledger.reject(SECRET, id="r1")
    ledger.claim("a", "p", SECRET, id="c1", override="so")
    with pytest.raises(doxa.ValueRejected):
        ledger.claim("a", "p", SECRET, id="c2")
    with doxa.open() as other:
        report = other.import_events(export(ledger))
        assert (report.set_aside, report.blocked) == ((), ())
        assert export(other) == export(ledger)
        other.claim("a", "p", SECRET, id="c2")


def test_a_policy_that_names_what_rejects_nothing_is_refused(ledger: Ledger) -> None:
    ledger.claim("a", "p", "x", id="c1")
    pin = ledger.pin("c1")
    for named in (pin, "c1", "nothing", {"workspace": "", "id": pin}):
        event = {"event": "policy", "id": "o1", "overrides": named, "of": "c1"}
        with pytest.raises(doxa.CallerError):
            ledger.append([event])
    with pytest.raises(doxa.InvalidEvent, match="shared"):
        parse({"event": "policy", "id": "o", "blocked": {"workspace": "w", "id": "r"}, "of": "c"})


# ---------------------------------------------------------------- imports


def line(**fields: Any) -> str:
    return json.dumps({"event": "claim", "subject": "s", "predicate": "p", **fields})


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose history ends in 2020, where a value is rejected."""
    with doxa.open(tmp_path / "old") as opened:
        opened.claim("s", "p", "x", id="c0", recorded_at="2020-01-01")
        opened.reject(SECRET, id="r1", recorded_at="2020-01-02")
        yield opened


LINES = [
    '{"event":"claim","id":"b0","object":"the zanzibar SECRET",,}',
    line(id="c1", object=AGAIN, recorded_at="2020-02-01"),
    json.dumps(
        {"event": "support", "id": "s1", "claim": "c1", "recorded_at": "2020-02-01"}
        | {"source": {"id": "q", "quote": SECRET}}
    ),
    json.dumps(
        {"event": "support", "id": "s2", "claim": "c1", "recorded_at": "2020-02-02"}
        | {"source": {"id": "q", "quote": SECRET}}
    ),
    line(id="c2", object="fine", recorded_at="2020-02-02"),
    line(id="c3", object=1, text=SECRET, valid_from="2021", recorded_at="2020-02-03"),
    line(id="c4", objct=SECRET, recorded_at="2020-02-03"),
    json.dumps({"event": "correction", "id": "k1", "corrects": "c0", "by": "c5"}
               | {"recorded_at": "2020-02-04"}),
    line(id="c5", object=SECRET, recorded_at="2020-02-04"),
    line(id="c6", object=SECRET, recorded_at="2019-02-04"),
    line(id="c0", object=SECRET, recorded_at="2020-02-05"),
    line(id="c7", object=SECRET, because=["nothing"], recorded_at="2020-02-05"),
    line(id="c8", object="fine too", recorded_at="2020-02-06"),
]  # fmt: skip
KEPT_OUT = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]


def test_an_import_keeps_out_what_is_rejected_and_what_goes_with_it(old: Ledger) -> None:
    report = old.import_events(LINES)
    assert [one.line for one in report.blocked] == KEPT_OUT
    assert {one.rejections for one in report.blocked} == {("r1",)}
    assert (report.events, report.set_aside) == (2, ())
    assert "zanzibar" not in str(report).casefold()
    of = [one["of"] for one in policies(old, "blocked")]
    assert of == ["b0", "c1", "c3", "c4", "c5", "c6", "c0", "c7"]
    head = old.revision
    again = old.import_events(LINES)
    assert (again.blocked, again.repeated, old.revision) == (report.blocked, 2, head)
    assert set_aside(old) == []
    assert old.verify().ok


def test_a_strict_import_is_refused_and_still_leaves_its_audit(old: Ledger) -> None:
    head = old.revision
    with pytest.raises(doxa.InvalidEvent) as raised:
        old.import_events(LINES, strict=True)
    assert "zanzibar" not in str(raised.value).casefold()
    assert "11 lines" in str(raised.value)
    assert len(policies(old, "blocked")) == old.revision - head == 8
    assert old.import_events([LINES[4], LINES[12]]).events == 2  # history goes on from where it was


def test_a_line_that_was_set_aside_and_is_rejected_since_leaves_the_register(
    tmp_path: Path,
) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(line(id="c1", object=SECRET, because=["c9"]) + "\n")
    with doxa.open(tmp_path / "l") as ledger:
        assert len(ledger.import_events(file).set_aside) == 1
        assert SECRET.encode() in (tmp_path / "l" / "set-aside.jsonl").read_bytes()
        ledger.reject(SECRET, id="r1")
        report = ledger.import_events(file)
        assert (len(report.blocked), report.set_aside) == (1, ())
        assert set_aside(ledger) == []


def test_rejecting_a_value_takes_lines_that_say_it_out_of_the_register(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        bad = [
            line(id="c1", object=AGAIN, because=["c9"]),
            line(id="c2", object="fine", because=["c9"]),
            f'{{"event":"claim","object":"{SECRET}"',
            line(id="c3", object=SECRET, because=["c9"], predicate="q"),
        ]
        assert len(ledger.import_events(bad).set_aside) == 4
        ledger.reject(SECRET, predicate="p", dry_run=True)
        assert len(set_aside(ledger)) == 4
        ledger.reject(SECRET, predicate="p")
        assert [kept.id for kept in set_aside(ledger)] == ["c2", "c3"]
        ledger.claim("a", "q", SECRET, id="c4", source="s")
        ledger.correct("c4", "better", reject=True)
        assert [kept.id for kept in set_aside(ledger)] == ["c2"]


def test_an_override_comes_with_its_claim_in_an_import(old: Ledger) -> None:
    override = {"event": "policy", "id": "o1", "overrides": "r1", "of": "c1", "reason": "so"}
    at = {"recorded_at": "2020-03-01"}
    report = old.import_events([line(id="c1", object=SECRET, **at), json.dumps(override | at)])
    assert (report.events, report.blocked) == (2, ())
    late = {"recorded_at": "2020-03-02"}
    report = old.import_events(
        [
            line(id="c2", object=SECRET, **late),
            json.dumps(override | late | {"of": "c2", "id": "o2"}),
        ]
    )
    assert (report.events, report.blocked) == (2, ())


# ---------------------------------------------------------------- nothing of it stays


def test_no_byte_of_a_value_that_was_kept_out_is_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(LINES))
    with doxa.open(folder) as ledger:
        ledger.claim("s", "p", "x", id="c0", recorded_at="2020-01-01", source="s")
        ledger.reject(SECRET, id="r1", recorded_at="2020-01-02", reason="made up")
        ledger.import_events(file)
        with pytest.raises(doxa.InvalidEvent):
            ledger.import_events(LINES, strict=True)
        for write in (
            lambda: ledger.claim("a", "p", SECRET, text=AGAIN, source={"id": "q"}),
            lambda: ledger.claim("a", "p", SECRET, id=SECRET),
            lambda: ledger.claim("a", "p", SECRET, because=["c0"]),
            lambda: ledger.correct("c0", SECRET),
            lambda: ledger.append([json.loads(LINES[1])]),
            lambda: asyncio.run(ledger.aclaim("a", "p", SECRET)),
        ):
            with pytest.raises(doxa.ValueRejected):
                write()
        ledger.claim("s", "p", "y", source="s")
        ledger.index()
        _scan(folder)
    with doxa.open(folder) as ledger:
        assert ledger.verify().ok
        _scan(folder)
    _scan(folder)


def _scan(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name.startswith("log.sqlite") for path in files)
    for path in files:
        content = path.read_bytes()
        for seen in (SECRET, AGAIN.strip(), SECRET.casefold(), SECRET.upper(), "anzibar"):
            assert seen.encode() not in content, f"{path} holds {seen}"
            assert seen.encode("utf-16-le") not in content, f"{path} holds {seen}"
