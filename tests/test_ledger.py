"""What the public calls do, one sentence each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

import doxa

DAY = "2024-07-01"


def _ada(ledger: doxa.Ledger) -> dict[str, Any]:
    """The story of the first page: Ada's home, what rests on it, and how it was corrected."""
    home = ledger.claim("ada", "lives_in", "London", valid_from="2024-03-01", source="register")
    tax = ledger.claim("ada", "taxed_in", "UK", valid_from="2024-03-01", because=[home])
    quote = ledger.cite("Register, line 7", claim=home, source="register")
    note = ledger.summarize("Ada lives in London.", facts=[home], citations=[quote])
    june = ledger.revision
    fix = ledger.correct(home, "Lisbon", valid_from="2024-06-01", source="letter from Ada")
    return {"home": home, "tax": tax, "quote": quote, "note": note, "june": june, "fix": fix}


# ---------------------------------------------------------------- the first page


def test_the_same_day_is_better_known_later(ledger: doxa.Ledger) -> None:
    told = _ada(ledger)
    then = ledger.view(valid_at=DAY, known_at=told["june"])
    now = ledger.view(valid_at=DAY)
    assert then.value("ada", "lives_in") == "London"
    assert now.value("ada", "lives_in") == "Lisbon"
    assert now.standing(told["tax"]) is doxa.Standing.UNSUPPORTED
    assert then.standing(told["tax"]) == "reported"
    assert ledger.view(valid_at="2024-05-31").value("ada", "lives_in") == "London"
    assert told["home"] in str(now.why(told["tax"]))
    assert {change.id for change in now.diff(then)} == {
        told["home"],
        told["tax"],
        told["fix"].replacement,
    }


def test_a_text_falls_with_what_it_rests_on_and_is_printed_no_more(ledger: doxa.Ledger) -> None:
    told = _ada(ledger)
    then, now = ledger.view(valid_at=DAY, known_at=told["june"]), ledger.view(valid_at=DAY)
    result = ledger.reconcile(now)
    assert {item.id for item in result.invalidated} == {told["note"], told["quote"]} - {
        item.id for item in result.unchanged
    }
    [note] = [item for item in result.invalidated if item.id == told["note"]]
    assert note.cause is not None
    assert note.cause.event == told["fix"]
    assert ledger.reconcile(now, since=now).invalidated == ()
    before = ledger.assemble("Where does Ada live?", view=then, budget=800)
    assert "Ada lives in London." in before.text
    assert [citation.text for citation in before.citations] == ["Register, line 7"]
    after = ledger.assemble("Where does Ada live?", view=now, budget=800)
    assert "London" not in after.text
    assert "ada lives in Lisbon" in after.text
    assert after.reasons == dict.fromkeys(
        (told["home"], told["tax"], told["note"]), doxa.Reason.MISSING_FACT
    )


def test_an_assembly_is_made_again_from_its_receipt(ledger: doxa.Ledger) -> None:
    told = _ada(ledger)
    view = ledger.view(valid_at=DAY, known_at=told["june"])
    block = ledger.assemble("Where does Ada live?", view=view, budget=800)
    kept = json.loads(json.dumps(block.receipt.as_dict()))
    ledger.withdraw(told["home"])
    again = ledger.replay(kept)
    assert again.same
    assert again.text == block.text


# ---------------------------------------------------------------- writing


def test_each_call_returns_the_id_that_the_others_take(ledger: doxa.Ledger) -> None:
    claim = ledger.claim("x", "p", 1, source="s")
    support = ledger.support(claim, source="t")
    correction = ledger.correct(claim, 2, source="u")
    citation = ledger.cite("so", claim=claim)
    summary = ledger.summarize("so it is", supports=[support], citations=[citation])
    policy = ledger.policy(single_valued="p")
    view = ledger.view(valid_at=DAY)
    for id in (claim, support, correction, citation, summary, policy):
        assert isinstance(id, str)
        assert id in str(view.why(id))
    assert correction.replacement is not None
    assert view.standing(correction.replacement) == "reported"
    for target in (support, correction, citation, summary, policy, claim):
        ledger.withdraw(ledger.withdraw(target))  # taken back, and restored
    assert ledger.view(valid_at=DAY).fingerprint == view.fingerprint


def test_given_ids_are_kept_and_others_are_new(ledger: doxa.Ledger) -> None:
    assert ledger.claim("x", "p", 1, id="mine") == "mine"
    assert ledger.claim("x", "p", 1) != ledger.claim("x", "p", 1)


def test_the_same_again_is_no_second_event(ledger: doxa.Ledger) -> None:
    for _ in range(2):
        ledger.claim("x", "p", 1.0, id="a", valid_from="2024-01-01", source=doxa.Source("s"))
        ledger.claim("x", "p", 1, id="a", valid_from=date(2024, 1, 1), source="s")
        ledger.withdraw("a", id="w")
        ledger.correct("a", by=None, id="k")
    assert ledger.revision == 3


def test_a_correction_by_value_can_be_repeated(ledger: doxa.Ledger) -> None:
    old = ledger.claim("x", "p", 1, source="s")
    first, again = (ledger.correct(old, 2, id="k", source="t") for _ in range(2))
    assert first.replacement == again.replacement == "k/replacement"
    assert ledger.revision == 3
    with pytest.raises(doxa.DuplicateId):
        ledger.correct(old, 3, id="k", source="t")


def test_a_correction_can_name_the_revision_that_it_was_decided_on(ledger: doxa.Ledger) -> None:
    old = ledger.claim("x", "p", 1, source="s")
    read = ledger.revision
    ledger.claim("y", "p", 1, source="s")
    with pytest.raises(doxa.RevisionConflict):
        ledger.correct(old, 2, source="t", expected_revision=read)
    with pytest.raises(doxa.CallerError, match="0 or more"):
        ledger.correct(old, 2, source="t", expected_revision=-1)
    assert ledger.view(valid_at="2024-01-01").value("x", "p") == 1
    ledger.correct(old, 2, source="t", expected_revision=ledger.revision)
    assert ledger.view(valid_at="2024-01-01").value("x", "p") == 2


def test_an_append_says_what_was_new(ledger: doxa.Ledger) -> None:
    event = {"event": "claim", "id": "a", "subject": "x", "predicate": "p", "object": 1}
    first = ledger.append([event])
    again = ledger.append([event, {**event, "id": "b"}])
    assert (first.new, first.repeated, first.revision, first.ids) == (1, 0, 1, ("a",))
    assert (again.new, again.repeated, again.revision, again.ids) == (1, 1, 2, ("a", "b"))
    assert again.recorded_at > first.recorded_at


def test_an_append_goes_in_whole_or_not_at_all(ledger: doxa.Ledger) -> None:
    good = {"event": "claim", "id": "a", "subject": "x", "predicate": "p", "object": 1}
    with pytest.raises(doxa.UnknownTarget):
        ledger.append([good, {"event": "withdrawal", "target": "nobody"}])
    assert ledger.revision == 0


def test_a_correction_by_value_takes_the_bounds_left_out_from_its_target(
    ledger: doxa.Ledger,
) -> None:
    old = ledger.claim("x", "p", 1, valid_from="2024-01-01", valid_to="2025-01-01", source="s")
    new = ledger.correct(old, 2, valid_from="2024-06-01", source="t").replacement
    assert new is not None
    item = ledger.view(valid_at=DAY).claim(new)
    assert item.valid_from == datetime(2024, 6, 1, tzinfo=UTC)
    assert item.valid_to == datetime(2025, 1, 1, tzinfo=UTC)
    assert ledger.view(valid_at="2024-05-31").value("x", "p") == 1


def test_left_out_is_not_none(ledger: doxa.Ledger) -> None:
    """``None`` as an object is null, as a bound an open end."""
    old = ledger.claim("x", "p", 1, valid_to="2025-01-01", source="s")
    ledger.correct(old, None, valid_to=None, source="t")
    assert ledger.view(valid_at=DAY).value("x", "p") is None
    assert ledger.view(valid_at="2030-01-01").value("x", "p") is None
    gone = ledger.claim("y", "p", 1, valid_to="2025-01-01", source="s")
    assert ledger.correct(gone).replacement is None
    assert ledger.view(valid_at=DAY).values("y", "p") == ()


def test_a_withdrawn_source_takes_its_claims_and_later_ones_too(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, source=doxa.Source("blog", locator="post 3"))
    ledger.withdraw(doxa.Source("blog"), valid_from="2024-06-01", reason="invented")
    later = ledger.claim("y", "p", 1, source="blog")
    assert ledger.view(valid_at="2024-05-01").value("x", "p") == 1
    assert ledger.view(valid_at=DAY).values("x", "p") == ()
    assert ledger.view(valid_at=DAY).standing(later) == "unsupported"


def test_a_text_of_a_moved_view_is_not_registered(ledger: doxa.Ledger) -> None:
    fact = ledger.claim("x", "p", 1, source="s", workspace="w")
    view = ledger.view(valid_at=DAY, workspace="w")
    ledger.claim("y", "p", 1, source="s")  # in the shared workspace, which the view sees
    bindings: tuple[Literal["dependencies", "snapshot"], ...] = ("dependencies", "snapshot")
    for binding in bindings:
        with pytest.raises(doxa.ViewMoved, match="make the text anew"):
            ledger.summarize("one", facts=[fact], view=view, workspace="w", binding=binding)
    assert ledger.revision == 2
    alone = ledger.view(valid_at=DAY, workspace="w", shared=False)
    ledger.claim("z", "p", 1, source="s")
    assert ledger.summarize("one", facts=[fact], view=alone, workspace="w").eligible


def test_what_is_registered_though_it_is_not_eligible_says_so(ledger: doxa.Ledger) -> None:
    fact = ledger.claim("x", "p", 1)  # nothing supports it
    note = ledger.summarize("one", facts=[fact])
    assert not note.eligible
    assert (note.judgement.reason, note.judgement.about) == ("missing_fact", fact)


def test_a_snapshot_falls_with_any_change_of_its_selection(ledger: doxa.Ledger) -> None:
    ledger.claim("ada", "p", 1, source="s")
    whole = ledger.summarize("all", binding="snapshot")
    ada = ledger.summarize("ada", binding="snapshot", selection=["ada"])
    ledger.claim("bo", "p", 1, source="s")
    now = ledger.view(valid_at=datetime.now(UTC))
    assert [item.id for item in ledger.reconcile(now).invalidated] == [whole]
    assert [judged.eligible for judged in ledger.judge([whole, ada], now)] == [False, True]


# ---------------------------------------------------------------- asking


def test_a_view_is_what_was_known_then(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    first = ledger.view(valid_at=DAY)
    ledger.claim("x", "p", 2, id="b", source="s")
    assert first.values("x", "p") == (1,)
    assert (first.revision, first.live) == (1, True)
    assert ledger.view(valid_at=DAY, known_at=0).claims() == []
    at = first.known_at
    assert at is not None
    assert ledger.view(valid_at=DAY, known_at=at).fingerprint == first.fingerprint
    assert ledger.view(valid_at=DAY, known_at=at - timedelta(microseconds=1)).revision == 0
    assert not ledger.view(valid_at=DAY, known_at=1).live


def test_an_empty_ledger_answers_everything(ledger: doxa.Ledger) -> None:
    view = ledger.view(valid_at=DAY)
    assert (view.revision, view.known_at, view.claims(), view.values("x", "p")) == (0, None, [], ())
    assert view.standing("anything") == "not_yet_known"
    assert ledger.history("x", "p", valid_at=DAY) == []
    assert ledger.reconcile(view).invalidated == ()
    assert ledger.assemble("q", view=view, budget=100).text == ""
    assert ledger.view(valid_at=DAY, known_at="1999-01-01").fingerprint == view.fingerprint
    assert ledger.verify().ok


def test_value_says_which_of_three_ways_there_is_no_one_value(ledger: doxa.Ledger) -> None:
    view: Callable[[], doxa.TruthView] = lambda: ledger.view(valid_at=DAY)  # noqa: E731
    with pytest.raises(doxa.NotHeld, match="nothing is held about 'x' 'p'"):
        view().value("x", "p")
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("x", "p", 1.0, id="same", source="s")
    assert view().value("x", "p") == 1
    ledger.claim("x", "p", True, id="b", source="s")
    with pytest.raises(doxa.SeveralHeld, match="ask for values"):
        view().value("x", "p")
    ledger.policy(contradicts=["a", "b"])
    with pytest.raises(doxa.Contested, match="contested"):
        view().value("x", "p")
    assert view().values("x", "p") == (1, True)


def test_a_refusal_to_choose_names_the_first_few_and_counts_the_others(ledger: doxa.Ledger) -> None:
    for n in range(7):
        ledger.claim("x", "p", n, id=f"c{n}", source="s")
    with pytest.raises(doxa.SeveralHeld, match="'c0', 'c1', 'c2', 'c3', 'c4' and 2 more"):
        ledger.view(valid_at=DAY).value("x", "p")


def test_whoever_takes_a_correction_for_its_claim_is_told_of_the_claim(ledger: doxa.Ledger) -> None:
    made = ledger.correct(ledger.claim("x", "p", 1, source="s"), 2, id="k", source="s")
    with pytest.raises(doxa.UnknownTarget, match=r"'k' is a correction .* give 'k/replacement'"):
        ledger.correct(made, 3)
    with pytest.raises(doxa.InvalidEvent, match="ask for that of 'k/replacement'"):
        ledger.view(valid_at=DAY).standing(made)
    gone = ledger.correct("k/replacement")
    with pytest.raises(doxa.UnknownTarget, match="give the id that claim returned"):
        ledger.correct(gone, 3)


def test_claims_are_those_held_unless_others_are_asked_for(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, id="held", source="s")
    ledger.claim("x", "p", 2, id="bare")
    ledger.claim("x", "q", 3, id="guess", kind="hypothesis", source="s")
    ledger.claim("y", "p", 4, id="gone", source="s")
    ledger.withdraw("gone")
    view = ledger.view(valid_at=DAY)

    def ids(**selection: Any) -> list[str]:
        return [claim.id for claim in view.claims(**selection)]

    assert ids() == ["held"]
    assert ids(standing="any") == ["held", "bare", "guess", "gone"]
    assert ids(standing=["retracted", doxa.Standing.UNSUPPORTED]) == ["bare", "gone"]
    assert ids(subject="x", standing="any") == ["held", "bare", "guess"]
    assert ids(predicate="p", standing="any") == ["held", "bare", "gone"]
    assert ids(kind="hypothesis", standing="any") == ["guess"]


def test_what_a_view_gives_out_may_be_changed_without_changing_the_ledger(
    ledger: doxa.Ledger,
) -> None:
    given = {"deep": [1]}
    id = ledger.claim("x", "p", given, source="s")
    view = ledger.view(valid_at=DAY)
    given["deep"].append(2)
    view.value("x", "p")["deep"].append(3)
    view.values("x", "p")[0]["deep"].append(4)
    view.claim(id).object["deep"].append(5)
    assert view.value("x", "p") == {"deep": [1]}
    assert ledger.verify().ok


def test_history_tells_when_each_belief_began(ledger: doxa.Ledger) -> None:
    a = ledger.claim("x", "p", 1, source="s")
    ledger.claim("elsewhere", "p", 1, source="s")
    ledger.correct(a, 2, source="s")
    ledger.withdraw(doxa.Source("s"))
    items = ledger.history("x", "p", valid_at=DAY)
    assert [(item.revision, item.values, item.value) for item in items] == [
        (1, (1,), 1),
        (4, (2,), 2),
        (5, (), None),
    ]
    for item in items:
        assert ledger.view(valid_at=DAY, known_at=item.known_at).values("x", "p") == item.values


def test_workspaces_see_the_shared_one_and_not_each_other(ledger: doxa.Ledger) -> None:
    law = ledger.claim("law", "says", "so", source="gazette")
    mine = ledger.claim("case", "is", "won", because=[doxa.Ref("", law)], workspace="w1")
    ledger.claim("case", "is", "lost", source="s", workspace="w2")
    one = ledger.view(valid_at=DAY, workspace="w1")
    assert [claim.subject for claim in one.claims()] == ["law", "case"]
    assert one.value("case", "is") == "won"
    alone = ledger.view(valid_at=DAY, workspace="w1", shared=False)
    assert [claim.id for claim in alone.claims()] == [mine]
    assert ledger.workspace_revision("w1") == 2
    assert ledger.workspace_revision("nowhere") == 0
    ledger.withdraw(law)
    assert ledger.view(valid_at=DAY, workspace="w1").standing(mine) == "unsupported"


def test_perspectives_are_judged_each_alone(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="winner")
    ledger.claim("match", "winner", "red", source="s", perspective="red fans")
    ledger.claim("match", "winner", "blue", source="s", perspective="blue fans")
    view = ledger.view(valid_at=DAY, perspective="blue fans")
    assert view.value("match", "winner") == "blue"
    assert ledger.view(valid_at=DAY).values("match", "winner") == ("red", "blue")


def test_withdrawing_and_restoring_comes_back_to_the_same_fingerprint(ledger: doxa.Ledger) -> None:
    a = ledger.claim("x", "p", 1, source="s", valid_to="2025-01-01")
    marks = [ledger.view(valid_at=DAY).fingerprint]
    w = ledger.withdraw(a)
    marks.append(ledger.view(valid_at=DAY).fingerprint)
    ledger.withdraw(w)
    marks.append(ledger.view(valid_at=DAY).fingerprint)
    marks.append(ledger.view(valid_at="2025-01-01").fingerprint)
    assert marks[0] == marks[2] != marks[1]
    assert marks[3] == marks[1]  # nothing is held: after the end as after the withdrawal


# ---------------------------------------------------------------- opening, async, audit


def test_a_ledger_is_kept_in_its_folder_and_one_without_a_path_is_not(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "kept.doxa") as ledger:
        told = _ada(ledger)
        mark = ledger.view(valid_at=DAY).fingerprint
        assert "kept.doxa" in repr(ledger)
    with doxa.open(str(tmp_path / "kept.doxa"), create=False) as again:
        assert again.view(valid_at=DAY).fingerprint == mark
        assert again.view(valid_at=DAY, known_at=told["june"]).value("ada", "lives_in") == "London"
    with doxa.open() as other:
        assert other.revision == 0
        assert "memory" in repr(other)


def test_the_clock_of_the_caller_is_the_ledgers(tmp_path: Path) -> None:
    noon = datetime(2020, 5, 1, 12, tzinfo=UTC)
    with doxa.open(tmp_path / "l", clock=lambda: noon) as ledger:
        ledger.claim("x", "p", 1, source="s")
        assert ledger.view(valid_at=DAY).known_at == noon
        with pytest.raises(doxa.InvalidTime, match="future"):
            ledger.view(valid_at=DAY, known_at=noon + timedelta(microseconds=1))
    with pytest.raises(doxa.InvalidTime, match="the clock's time"):
        doxa.open(clock=lambda: datetime(2020, 5, 1))


def test_asynchronous_twins_give_the_same(ledger: doxa.Ledger) -> None:
    async def told() -> None:
        home = await ledger.aclaim("ada", "lives_in", "London", source="s")
        note = await ledger.asummarize("Ada lives in London.", facts=[home])
        view = await ledger.aview(valid_at=DAY)
        assert view.fingerprint == ledger.view(valid_at=DAY).fingerprint
        block = await ledger.aassemble("Ada", view=view, budget=400)
        assert block.text == ledger.assemble("Ada", view=view, budget=400).text != ""
        await ledger.acorrect(home, "Lisbon", source="t")
        result = await ledger.areconcile(await ledger.aview(valid_at=DAY))
        assert [item.id for item in result.invalidated] == [note]
        assert [b.value for b in await ledger.ahistory("ada", "lives_in", valid_at=DAY)] == [
            "London",
            "Lisbon",
        ]
        with pytest.raises(doxa.ViewMoved):
            await ledger.aassemble("Ada", view=view, budget=400)
        many = [ledger.aclaim("x", "p", n, source="s") for n in range(20)]
        assert len(set(await asyncio.gather(*many))) == 20
        assert (await ledger.averify()).ok

    asyncio.run(told())


def test_every_call_that_writes_or_asks_has_its_twin() -> None:
    plain = {"open", "close", "moved", "stats", "judge_artefact", "workspace_revision", "revision"}
    public = {name for name in dir(doxa.Ledger) if not name.startswith("_")}
    calls = {name for name in public if f"a{name}" in public}
    twins = {f"a{name}" for name in calls}
    assert public - calls - twins <= plain | {"path", "clock", "recorder", "embedder", "encrypted"}


def test_stats_and_verify_tell_of_the_whole_ledger(ledger: doxa.Ledger) -> None:
    _ada(ledger)
    stats = ledger.stats()
    assert stats["revision"] == ledger.revision == 6
    assert stats["events"]["claim"] == 3
    json.dumps(stats)
    report = ledger.verify()
    assert report.ok
    assert report.events == 6
    assert report.compared > 0
    assert report.chain in str(report)
    json.dumps(report.as_dict())


def test_a_clock_that_once_ran_ahead_hides_nothing() -> None:
    now = [datetime(2031, 1, 1, tzinfo=UTC)]
    with doxa.open(clock=lambda: now[0]) as ledger:
        ledger.claim("x", "p", 1, source="s")
        now[0] = datetime(2025, 1, 1, tzinfo=UTC)
        ledger.claim("x", "p", 2, source="s")
        view = ledger.view(valid_at=DAY)
        assert view.values("x", "p") == (1, 2)
        assert view.live
        assert ledger.view(valid_at=DAY, known_at="2025-06-01").values("x", "p") == ()
        assert ledger.view(valid_at=DAY, known_at="2031-01-01").values("x", "p") == (1,)
        assert ledger.stats()["ahead_of_clock_seconds"] > 0


def test_a_ledger_is_closed_by_an_asynchronous_with_too(tmp_path: Path) -> None:
    async def told() -> doxa.Ledger:
        async with doxa.open(tmp_path / "ledger") as ledger:
            await ledger.aclaim("x", "p", 1, id="a", source="s")
            assert (await ledger.aview(valid_at=DAY)).value("x", "p") == 1
        return ledger

    closed = asyncio.run(told())
    with pytest.raises(doxa.CallerError, match="closed"):
        closed.claim("x", "p", 2)


def test_held_names_the_standings_that_are_believed(ledger: doxa.Ledger) -> None:
    for id in ("a", "b"):
        ledger.claim("x", "p", id, id=id, source="s")
    ledger.withdraw("b")
    view = ledger.view(valid_at=DAY)
    assert [item.id for item in view.claims(standing="held")] == ["a"]
    assert [item.id for item in view.claims(standing="any")] == ["a", "b"]


def test_a_citation_of_a_claim_leaves_out_what_was_withdrawn_or_refutes(
    ledger: doxa.Ledger,
) -> None:
    ledger.claim("x", "p", 1, id="a", source="first")
    ledger.support("a", source="second", id="good")
    ledger.support("a", source="third", id="bad")
    ledger.support("a", source="fourth", id="against", stance="refutes")
    ledger.withdraw("bad")
    assert ledger.cite("words", claim="a").eligible
    ledger.withdraw("a/support")
    ledger.withdraw("good")
    quote = ledger.cite("words", claim="a")
    assert str(quote.judgement.reason) == "missing_support"


def test_a_correction_by_nothing_takes_nothing_of_a_new_claim(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="s")
    ledger.claim("x", "p", 2, id="b", source="s")
    for more in ({"because": ["b"]}, {"text": "words"}, {"kind": "fact"}):
        for by in (None, "b"):
            with pytest.raises(doxa.CallerError, match="give its object too"):
                ledger.correct("a", by=by, **more)


def test_the_sources_of_a_view_say_what_withdrawing_them_would_reach(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, id="a", source="letter")
    ledger.claim("x", "q", 2, id="b", source="register")
    ledger.support("b", source="letter")
    before = ledger.revision
    ledger.withdraw(doxa.Source("letter"), valid_from="2024-06-01")
    ledger.claim("y", "p", 3, id="c", source="letter", workspace="w", valid_to="2024-05-01")

    def told(**at: Any) -> list[tuple[str, str, bool, tuple[str, ...]]]:
        found = ledger.view(**{"valid_at": DAY, **at}).sources()
        return [(item.id, item.workspace, item.live, item.claims) for item in found]

    shared = [("letter", "", False, ("a", "b")), ("register", "", True, ("b",))]
    assert told() == shared
    assert told(valid_at="2024-05-01")[0] == ("letter", "", True, ("a", "b"))
    assert told(known_at=before)[0] == ("letter", "", True, ("a", "b"))
    assert told(known_at=1) == [("letter", "", True, ("a",))]
    assert told(workspace="w") == [shared[0], ("letter", "w", False, ("c",)), shared[1]]


def test_a_view_without_the_shared_workspace_moves_with_what_that_changes_in_its_own(
    ledger: doxa.Ledger,
) -> None:
    ledger.claim("x", "p", 1, source="s")
    ledger.claim("x", "p", 1, source="s", workspace="w")

    def alone() -> doxa.TruthView:
        return ledger.view(valid_at=DAY, workspace="w", shared=False)

    view = alone()
    ledger.claim("y", "p", 1, source="s")
    assert not ledger.moved(view)
    w = ledger.withdraw(doxa.Source("s"))
    assert ledger.moved(view)
    assert alone().values("x", "p") == ()
    with pytest.raises(doxa.ViewMoved):
        ledger.assemble("q", view=view, candidates=[], budget=100)
    ledger.withdraw(w)
    view = alone()
    ledger.policy(single_valued="p")
    assert not ledger.moved(view)
    ledger.claim("x", "p", 2, source="s", workspace="w")
    view = alone()
    assert not ledger.moved(view)
