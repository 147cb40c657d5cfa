"""Observations: what several claims say, recorded once; and contradictions, declared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.consolidating import Consolidation
from doxa.engine.errors import CallerError, RevisionConflict
from doxa.engine.retention import archived
from doxa.oracle import Truth
from doxa.oracle import overlaps as oracle
from doxa.projections.consolidation import Consolidated, Step
from doxa.projections.similarity import denial, wording
from tests.histories import GRID, moment
from tests.walks import Walk, failing_commits, wander

DAY = "2024-06-01"


@pytest.fixture
def ledger() -> Iterator[doxa.Ledger]:
    with doxa.open() as opened:
        yield opened


def london(ledger: doxa.Ledger, *sources: str, **more: Any) -> list[str]:
    """Claims that Ada lives in London, one a source."""
    return [
        ledger.claim("ada", "lives_in", "London", source=source, **{"id": source, **more})
        for source in sources
    ]


def one(done: Consolidation, step: Step = Step.OBSERVED) -> Consolidated:
    (found,) = done.of(step)
    return found


def held(ledger: doxa.Ledger, **options: Any) -> list[str]:
    view = ledger.view(valid_at=options.pop("valid_at", DAY), **options)
    return [claim.id for claim in view.claims()]


# ---------------------------------------------------------------- observations


def test_claims_that_say_the_same_become_one_observation(ledger: doxa.Ledger) -> None:
    london(ledger, "register", "letter")
    ledger.claim("ada", "lives_in", "Paris", source="rumour")
    found = one(ledger.consolidate(valid_at=DAY))
    assert found.evidence == ("register", "letter")
    claim = ledger.view(valid_at=DAY).claim(found.id or "")
    assert (claim.subject, claim.predicate, claim.object) == ("ada", "lives_in", "London")
    assert (claim.kind, claim.text) == ("observation", "ada lives in London (2 origins)")
    assert (found.proofs, str(claim.standing)) == (2, "reported")
    assert claim.supports[0].because == ("register", "letter")


def test_an_observation_is_shown_with_its_proofs_by_recall_and_in_blocks(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "register", "letter", "passport")
    ledger.consolidate(valid_at=DAY)
    view = ledger.view(valid_at=DAY)
    texts = [hit.text for hit in ledger.recall("Where does Ada live?", view=view).hits]
    assert "[unverified] ada lives in London (3 origins)" in texts
    assert "ada lives in London (3 origins)" in ledger.assemble("Ada London", view=view).text
    assert view.value("ada", "lives_in") == "London"


def test_a_second_pass_changes_nothing(ledger: doxa.Ledger) -> None:
    london(ledger, "register", "letter")
    ledger.consolidate(valid_at=DAY)
    revision = ledger.revision
    assert ledger.consolidate(valid_at=DAY).clusters == ()
    assert ledger.revision == revision


def test_a_dry_run_writes_nothing_and_tells_the_same(ledger: doxa.Ledger) -> None:
    london(ledger, "register", "letter")
    ledger.claim("ada", "likes", "tea", source="a")
    ledger.claim("ada", "likes", "no tea", source="b")
    revision = ledger.revision
    dry = ledger.consolidate(valid_at=DAY, dry_run=True)
    assert ledger.revision == revision
    assert dry.clusters == ledger.consolidate(valid_at=DAY).clusters
    assert [each.step for each in dry] == ["observed", "declared"]


def test_an_observation_falls_with_any_of_its_evidence(ledger: doxa.Ledger) -> None:
    london(ledger, "register", "letter")
    found = one(ledger.consolidate(valid_at=DAY))
    ledger.withdraw(doxa.Source("letter"))
    assert ledger.view(valid_at=DAY).standing(found.id or "") == "unsupported"
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_an_observation_applies_where_all_of_its_evidence_does(ledger: doxa.Ledger) -> None:
    london(ledger, "register", valid_from="2024-01-01", valid_to="2025-01-01")
    london(ledger, "letter", valid_from="2024-03-01")
    found = one(ledger.consolidate(valid_at=DAY))
    claim = ledger.view(valid_at=DAY).claim(found.id or "")
    assert claim.valid_from == datetime(2024, 3, 1, tzinfo=UTC)
    assert claim.valid_to == datetime(2025, 1, 1, tzinfo=UTC)


def test_what_does_not_apply_together_is_not_one(ledger: doxa.Ledger) -> None:
    london(ledger, "register", valid_to="2024-01-01")
    london(ledger, "letter", valid_from="2024-03-01")
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_workspaces_perspectives_and_kinds_are_kept_apart(ledger: doxa.Ledger) -> None:
    london(ledger, "register")
    london(ledger, "b", perspective="bob")
    london(ledger, "c", kind="preference")
    london(ledger, "register", workspace="w")
    assert ledger.consolidate(valid_at=DAY).clusters == ()
    london(ledger, "x", "y", workspace="w", perspective="bob", kind="preference")
    found = one(ledger.consolidate(valid_at=DAY, workspace="w"))
    assert (found.kind, found.perspective, found.evidence) == ("preference", "bob", ("x", "y"))
    claim = ledger.view(valid_at=DAY, workspace="w").claim(found.id or "")
    assert (claim.workspace, claim.perspective) == ("w", "bob")


def test_one_kind_or_perspective_alone_can_be_consolidated(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b", kind="preference")
    london(ledger, "c", "d", perspective="bob")
    assert one(ledger.consolidate(kind="preference", valid_at=DAY)).evidence == ("a", "b")
    assert one(ledger.consolidate(perspective="bob", valid_at=DAY)).evidence == ("c", "d")
    assert ledger.consolidate(kind="unheard of", valid_at=DAY).clusters == ()


def test_conclusions_and_observations_are_no_evidence(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    ledger.claim("ada", "lives_in", "London", because=["a"], id="derived")
    first = one(ledger.consolidate(valid_at=DAY))
    assert first.evidence == ("a", "b")
    ledger.support(first.id or "", source="somebody")
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_the_object_is_in_the_words_that_all_say_as_most_write_it(ledger: doxa.Ledger) -> None:
    for id, value in enumerate(["London town", "LONDON TOWN", "London town", "the London town"]):
        ledger.claim("ada", "lives_in", value, source=str(id), id=str(id))
    assert one(ledger.consolidate(valid_at=DAY)).object == "London town"


def test_the_text_is_the_shortest_if_all_say_it_and_else_the_statement_in_words(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "a", text="Ada lives in London.")
    london(ledger, "b", text="Ada lives in London, by the river.")
    assert one(ledger.consolidate(valid_at=DAY)).text == "Ada lives in London (2 origins)"
    london(ledger, "c", text="Her home is London.")
    assert one(ledger.consolidate(valid_at=DAY)).text == "ada lives in London (3 origins)"


def test_claims_of_one_origin_are_one_proof(ledger: doxa.Ledger) -> None:
    ledger.claim("ada", "is", "well", source={"id": "a", "origin": "ada"}, id="1")
    ledger.claim("ada", "is", "well", source={"id": "b", "origin": "ada"}, id="2")
    ledger.claim("ada", "is", "well", source={"id": "c", "digest": "d"}, id="3")
    ledger.claim("ada", "is", "well", source={"id": "d", "digest": "d"}, id="4")
    assert one(ledger.consolidate(valid_at=DAY)).proofs == 2


# ---------------------------------------------------------------- evidence that changes


def test_more_evidence_supersedes_the_observation_of_less(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    first = one(ledger.consolidate(valid_at=DAY))
    london(ledger, "c")
    second = one(ledger.consolidate(valid_at=DAY))
    assert second.supersedes == (first.id,)
    view = ledger.view(valid_at=DAY)
    assert view.standing(first.id or "") == "superseded"
    assert view.successors(first.id or "") == [second.id]
    assert len(second.events) == 2  # both in one commit


def test_another_origin_behind_the_same_claims_is_told(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    first = one(ledger.consolidate(valid_at=DAY))
    ledger.support("a", source="c")
    second = one(ledger.consolidate(valid_at=DAY))
    assert (second.proofs, second.supersedes) == (3, (first.id,))
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_the_earlier_observation_stands_again_when_later_evidence_falls(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "a", "b")
    first = one(ledger.consolidate(valid_at=DAY))
    london(ledger, "c")
    second = one(ledger.consolidate(valid_at=DAY))
    fallen = ledger.withdraw("c")
    again = one(ledger.consolidate(valid_at=DAY), Step.RESTORED)
    assert again.id == first.id
    assert held(ledger) == ["a", "b", first.id]
    ledger.withdraw(fallen)
    assert one(ledger.consolidate(valid_at=DAY)).supersedes == (first.id,)
    assert held(ledger) == ["a", "b", "c", second.id]
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_what_is_left_of_an_observation_and_more_takes_its_place(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    first = one(ledger.consolidate(valid_at=DAY))
    ledger.withdraw("b")
    london(ledger, "c")
    second = one(ledger.consolidate(valid_at=DAY))
    assert (second.evidence, second.supersedes) == (("a", "c"), (first.id,))


def test_evidence_goes_back_and_forth_without_a_ring(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b", "c")
    gone: dict[str, str] = {}
    for step in ["b", "c", "b", "c", "a", "b", "a", "c", "b", "a", "b", "c"] * 2:
        if step in gone:
            ledger.withdraw(gone.pop(step))
        else:
            gone[step] = ledger.withdraw(step)
        ledger.consolidate(valid_at=DAY)
        left = [id for id in "abc" if id not in gone]
        found = [id for id in held(ledger) if id not in left]
        assert len(found) == (len(left) > 1)
        assert ledger.consolidate(valid_at=DAY).clusters == ()
    assert ledger.verify().ok


def test_what_somebody_took_back_does_not_come_again(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    first = one(ledger.consolidate(valid_at=DAY))
    taken = ledger.withdraw(first.id or "")
    assert one(ledger.consolidate(valid_at=DAY), Step.SETTLED).id == first.id
    ledger.withdraw(taken)
    ledger.correct(first.id or "", "Lisbon", source="c")
    assert one(ledger.consolidate(valid_at=DAY), Step.SETTLED).id == first.id


def archive(ledger: doxa.Ledger, *ids: str) -> None:
    ledger.append([{"event": "policy", "archived": list(ids)}])


def test_what_is_archived_is_still_evidence_but_makes_no_new_observation_by_itself(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "a", "b")
    archive(ledger, "a", "b")
    assert ledger.consolidate(valid_at=DAY).clusters == ()
    london(ledger, "c")
    assert one(ledger.consolidate(valid_at=DAY)).evidence == ("a", "b", "c")
    assert ledger.consolidate(valid_at=DAY).clusters == ()


def test_what_is_left_of_archived_evidence_is_observed_anew(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b", "c")
    first = one(ledger.consolidate(valid_at=DAY))
    archive(ledger, "a", "b", "c")
    london(ledger, "d")
    assert one(ledger.consolidate(valid_at=DAY)).supersedes == (first.id,)
    archive(ledger, "d")
    ledger.withdraw("a")
    assert one(ledger.consolidate(valid_at=DAY)).evidence == ("b", "c", "d")


def hits(ledger: doxa.Ledger) -> list[str]:
    return [hit.id for hit in ledger.recall("Ada London", view=ledger.view(valid_at=DAY)).hits]


def test_what_an_observation_says_can_be_archived_unless_it_is_protected(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "a", "b", "c", "d", "e")
    ledger.pin("a")
    ledger.verify_claim("b")
    ledger.score("c", 0.1)
    dry = ledger.consolidate(valid_at=DAY, archive=True, dry_run=True)
    done = ledger.consolidate(valid_at=DAY, archive=True)
    assert dry.archived == done.archived == ("d", "e")
    assert sorted(hits(ledger)) == ["a", "b", "c", done.clusters[0].id]
    assert held(ledger) == ["a", "b", "c", "d", "e", done.clusters[0].id]
    again = ledger.consolidate(valid_at=DAY, archive=True)
    assert (again.clusters, again.archived, again.revision) == ((), (), done.revision)


def test_what_an_earlier_pass_has_left_is_archived_by_the_next(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    london(ledger, "x", "y", kind="preference")
    ledger.consolidate(valid_at=DAY)
    assert ledger.consolidate(valid_at=DAY, kind="fact", archive=True).archived == ("a", "b")
    assert ledger.consolidate(valid_at=DAY, archive=True).archived == ("x", "y")
    ledger.restore("a")
    assert ledger.consolidate(valid_at=DAY, archive=True).archived == ()
    london(ledger, "c")
    assert ledger.consolidate(valid_at=DAY, archive=True).archived == ("c",)


def test_what_was_archived_comes_back_when_its_observation_has_fallen(
    ledger: doxa.Ledger,
) -> None:
    london(ledger, "a", "b", "c")
    ledger.consolidate(valid_at=DAY, archive=True)
    fallen = ledger.withdraw("c")
    assert hits(ledger) == []
    done = ledger.consolidate(valid_at=DAY)  # a and b are observed anew
    assert (len(done), done.restored) == (1, ())
    other = ledger.withdraw("b")
    assert ledger.consolidate(valid_at=DAY, kind="other").restored == ()
    assert ledger.consolidate(valid_at=DAY, dry_run=True).restored == ("a",)
    assert ledger.consolidate(valid_at=DAY).restored == ("a",)
    assert hits(ledger) == ["a"]
    assert ledger.consolidate(valid_at=DAY).restored == ()
    ledger.withdraw(other)
    ledger.withdraw(fallen)
    assert ledger.consolidate(valid_at=DAY, archive=True).archived == ("a",)
    assert len(hits(ledger)) == 1


def test_what_somebody_archived_stays_so_when_its_observation_falls(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    ledger.consolidate(valid_at=DAY)
    ledger.archive(["a"], reason="dull")
    ledger.withdraw("b")
    assert ledger.consolidate(valid_at=DAY, archive=True).restored == ()


def test_what_was_used_lately_comes_last(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ledger:
        many(ledger, 3)
        ledger._usage.touch([("", "0-a")], ledger.clock())
        dry = ledger.consolidate(valid_at=DAY, dry_run=True)
        assert [each.subject for each in dry] == ["s1", "s2", "s0"]


def test_an_id_that_is_taken_is_reported(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    dry = one(ledger.consolidate(valid_at=DAY, dry_run=True))
    ledger.claim("x", "y", "z", id=dry.id)
    found = one(ledger.consolidate(valid_at=DAY), Step.SETTLED)
    assert found.reason == f"the id {dry.id!r} is taken"


def test_an_observation_that_is_too_large_is_refused_and_stops_nothing(
    ledger: doxa.Ledger,
) -> None:
    value = "x" * 600_000
    for id in ("a", "b"):
        ledger.claim("ada", "wrote", value, source="s", id=id)
    london(ledger, "c", "d")
    for dry in (True, False):
        done = ledger.consolidate(valid_at=DAY, dry_run=dry)
        assert [each.step for each in done] == ["refused", "observed"]
        assert "the limit is 1,048,576" in (done.clusters[0].reason or "")


def test_an_observation_whose_words_were_rejected_stops_nothing(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    london(ledger, "c", "d", kind="preference")
    ledger.reject("ada lives in London (2 origins)")
    ledger.claim("bob", "likes", "tea", source="a")
    ledger.claim("bob", "likes", "tea", source="b")
    done = ledger.consolidate(valid_at=DAY)
    assert [str(each.step) for each in done] == ["refused", "refused", "observed"]


def test_an_observation_is_recalled_when_its_evidence_is(ledger: doxa.Ledger) -> None:
    london(ledger, "a", recall_when=["home", "post"])
    london(ledger, "b", recall_when=["post", "visit"])
    (claim, *_) = one(ledger.consolidate(valid_at=DAY)).events
    assert claim.recall_when == ("home", "post", "visit")  # type: ignore[attr-defined]


# ---------------------------------------------------------------- contradictions


def test_a_claim_and_its_denial_are_declared_a_contradiction(ledger: doxa.Ledger) -> None:
    ledger.claim("ada", "likes", "tea", source="a", id="yes")
    ledger.claim("ada", "likes", "tea", source="b", id="too")
    ledger.claim("ada", "likes", "tea", source="c", id="no", text="Ada does not like tea")
    found = ledger.consolidate(valid_at=DAY)
    assert [each.step for each in found] == ["declared", "declared"]  # and nothing is merged
    view = ledger.view(valid_at=DAY)
    assert {str(view.standing(id)) for id in ("yes", "too", "no")} == {"contested"}
    revision = ledger.revision
    again = ledger.consolidate(valid_at=DAY)
    assert one(again, Step.CONTESTED).evidence == ("yes", "too", "no")
    assert ledger.revision == revision


def test_a_contradiction_that_somebody_took_back_is_not_declared_again(
    ledger: doxa.Ledger,
) -> None:
    ledger.claim("ada", "likes", "tea", source="a", id="yes")
    ledger.claim("ada", "likes", "no tea", source="c", id="no")
    declared = one(ledger.consolidate(valid_at=DAY), Step.DECLARED)
    ledger.withdraw(declared.id or "", reason="she likes both")
    assert ledger.consolidate(valid_at=DAY).clusters == ()
    ledger.claim("ada", "likes", "tea", source="b", id="too")
    assert one(ledger.consolidate(valid_at=DAY), Step.DECLARED).evidence == ("no", "too")


def test_rivals_are_not_declared_and_not_merged(ledger: doxa.Ledger) -> None:
    ledger.policy(single_valued="lives_in")
    london(ledger, "a", "b")
    ledger.claim("ada", "lives_in", "not London", source="c", id="c")
    revision = ledger.revision
    found = one(ledger.consolidate(valid_at=DAY), Step.CONTESTED)
    assert found.evidence == ("a", "b", "c")
    assert ledger.revision == revision
    ledger.withdraw("c")
    assert one(ledger.consolidate(valid_at=DAY)).evidence == ("a", "b")


def test_a_refuted_claim_keeps_its_group_from_being_merged(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    refuting = ledger.support("a", source="c", stance="refutes")
    assert one(ledger.consolidate(valid_at=DAY), Step.CONTESTED).evidence == ("a",)
    ledger.withdraw(refuting)
    assert one(ledger.consolidate(valid_at=DAY)).evidence == ("a", "b")


# ---------------------------------------------------------------- passes


def many(ledger: doxa.Ledger, count: int) -> None:
    ledger.append(
        {
            "event": "claim",
            "id": f"{n}-{copy}",
            "subject": f"s{n}",
            "predicate": "p",
            "object": n,
            "source": copy,
        }
        for n in range(count)
        for copy in "ab"
    )


def test_a_limit_bounds_a_pass_and_the_next_goes_on(ledger: doxa.Ledger) -> None:
    many(ledger, 5)
    assert [d.subject for d in ledger.consolidate(valid_at=DAY, limit=0)] == []
    first = ledger.consolidate(valid_at=DAY, limit=2)
    assert ([each.subject for each in first], first.remaining) == (["s0", "s1"], 3)
    dry = ledger.consolidate(valid_at=DAY, limit=2, dry_run=True)
    second = ledger.consolidate(valid_at=DAY, limit=2)
    assert ([each.subject for each in second], second.remaining) == (["s2", "s3"], 1)
    assert dry.clusters == second.clusters
    assert len(ledger.consolidate(valid_at=DAY)) == 1
    assert len(ledger.consolidate(valid_at=DAY)) == 0


def test_the_longest_unused_come_first(ledger: doxa.Ledger) -> None:
    many(ledger, 3)

    def used(workspace: str, id: str) -> int | None:
        return {"1-b": 2_000_000_000_000_000, "2-a": 5, "2-b": 5}.get(id)

    done = ledger.consolidate(valid_at=DAY, limit=2, last_used=used)
    assert [each.subject for each in done] == ["s2", "s0"]


def test_each_cluster_is_one_commit_and_what_was_written_stays(ledger: doxa.Ledger) -> None:
    many(ledger, 200)
    told: list[tuple[int, int | None]] = []
    done = ledger.consolidate(valid_at=DAY, progress=lambda *seen: told.append(seen))
    assert len(done) == 200
    assert told[-1] == (200, 200)
    assert ledger.revision == done.revision == 400 + 200


def test_a_disk_that_fails_leaves_nothing_half_done(ledger: doxa.Ledger) -> None:
    london(ledger, "a", "b")
    ledger.consolidate(valid_at=DAY)
    london(ledger, "c")
    revision = ledger.revision
    with failing_commits(ledger), pytest.raises(doxa.StorageError):
        ledger.consolidate(valid_at=DAY)
    assert ledger.revision == revision
    assert len(one(ledger.consolidate(valid_at=DAY)).events) == 2


def test_what_another_process_writes_meanwhile_is_looked_at(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "l") as ours, doxa.open(tmp_path / "l") as theirs:
        many(ours, 200)

        def meddle(done: int, total: int | None) -> None:
            if done == 64 and total == 200:
                theirs.withdraw("150-a")

        done = ours.consolidate(valid_at=DAY, progress=meddle)
        assert len(done.of(Step.OBSERVED)) == 199
        assert ours.consolidate(valid_at=DAY).clusters == ()


def test_who_is_disturbed_again_and_again_gives_up(
    ledger: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    london(ledger, "a", "b")

    def moved(requests: Any) -> Any:
        raise RevisionConflict("moved")

    monkeypatch.setattr(ledger._stream, "append_many", moved)
    with pytest.raises(RevisionConflict):
        ledger.consolidate(valid_at=DAY)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": -1},
        {"limit": True},
        {"limit": "3"},
        {"kind": 3},
        {"workspace": None},
        {"perspective": 3},
        {"valid_at": "yesterday"},
    ],
)
def test_what_makes_no_sense_is_refused(ledger: doxa.Ledger, wrong: dict[str, Any]) -> None:
    with pytest.raises(CallerError):
        ledger.consolidate(**wrong)


def test_hostile_texts_are_consolidated_like_others(ledger: doxa.Ledger) -> None:
    for value in ["\u0000", "\u202eevil", "e" + "\u0301" * 5_000, "{}", "%", "\n\n"]:
        for id in ("a", "b"):
            ledger.claim("ada", "said", value, source=id, text=f"{value} ({value})")
    assert len(ledger.consolidate(valid_at=DAY).of(Step.OBSERVED)) == 6
    assert ledger.verify().ok


# ---------------------------------------------------------------- by definition


def expected(walk: Walk, workspace: str, at: int) -> set[frozenset[str]]:
    """The evidence of each observation that there is to be at an instant: the groups of those that
    say the same, without something contested in them."""
    log = walk.log()
    truth = Truth(log, at, log.commits[-1].last, workspace, shared=False)
    blocks: dict[tuple[str, ...], list[Any]] = {}
    for claim in sorted(log.claims.values(), key=lambda claim: claim.position):
        if claim.key not in truth.held():
            continue
        supports = [s for s in log.supports.values() if s.claim == claim.key]
        carried = [s for s in supports if s.position == claim.position and s.because]
        live = truth.live_supports(claim.key[1])
        sourced = [s for s in supports if s.source is not None and not s.refutes]
        if carried or not any(s.key[1] in live for s in sourced):
            continue
        place = (claim.perspective, claim.kind, claim.subject, claim.predicate)
        blocks.setdefault(place, []).append(claim)
    found = set()
    for claims in blocks.values():
        said = [(c.subject, c.predicate, c.object, c.text) for c in claims]
        wordings = [wording(*each) for each in said]
        told = [oracle.Statement(each.guard, each.words) for each in wordings]
        assert len({denial(*each).denied for each in said}) == 1
        for group in oracle.groups(told):
            ids = frozenset(claims[n].key[1] for n in group)
            if len(ids) > 1 and not any(truth.standing(id) == "contested" for id in ids):
                found.add(ids)
    return found


def consolidated(walk: Walk, workspace: str, at: int) -> Consolidation:
    """Consolidates, and holds what came of it against the definition."""
    options: dict[str, Any] = {"workspace": workspace, "valid_at": moment(at)}
    before = walk.ledger.view(shared=False, **options)
    others = [c for c in before.claims(standing="any") if not c.id.startswith("observation-")]
    dry = walk.ledger.consolidate(dry_run=True, **options)
    done = walk.ledger.consolidate(**options)
    assert dry.clusters == done.clusters
    assert all(not each.events for each in walk.ledger.consolidate(**options))

    view = walk.ledger.view(shared=False, **options)
    assert [str(view.standing(c.id)) for c in others] == [str(c.standing) for c in others]
    made = [c for c in view.claims(kind="observation") if c.id.startswith("observation-")]
    rests = [frozenset(c.supports[0].because) for c in made]
    assert len(rests) == len(set(rests))
    settled = {frozenset(each.evidence) for each in done.of(Step.SETTLED)}
    wanted = expected(walk, workspace, at)
    assert settled <= wanted
    for ids in wanted - settled - set(rests):
        assert all(hidden(view, id) for id in ids), ids
    for rest in rests:  # an observation of fewer is there for what speaks for itself only
        assert rest in wanted or not any(rest < ids for ids in wanted - settled)
    return done


def hidden(view: doxa.TruthView, id: str) -> bool:
    return archived(view.belief, view.find(id), view.v, view.k)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 60))
def test_random_histories_are_consolidated_by_the_definition(seed: int, length: int) -> None:
    random, walk = Random(seed), Walk()

    def look(walk: Walk) -> None:
        if random.random() < 0.15 and walk.ledger.revision:
            consolidated(walk, random.choice(("", "w", "x")), random.choice(GRID))

    wander(random, walk, length, look)
    assert walk.ledger.verify().ok
    walk.close()


NUMBERS = st.integers(0, 30)
STEPS = st.one_of(
    st.tuples(
        st.just("claim"),
        st.sampled_from(
            ["tea", "tea.", "green tea from the hills", "green tea from hills", 1, 1.0]
        ),
        st.sampled_from("ABC"),
        st.sampled_from([(None, None), (None, 4), (2, None), (1, 5)]),
    ),
    st.tuples(st.just("withdraw"), NUMBERS),
    st.tuples(st.just("restore"), NUMBERS),
    st.tuples(st.just("support"), NUMBERS, st.sampled_from("ABCD")),
    st.tuples(st.just("refute"), NUMBERS),
    st.tuples(st.just("forget"), NUMBERS),
    st.tuples(st.just("archive"), NUMBERS),
    st.tuples(st.just("consolidate"), st.sampled_from(GRID)),
    st.tuples(st.just("consolidate"), st.just(GRID[3])),
)


class Told:
    """A ledger that is told what Ada likes, step by step."""

    def __init__(self) -> None:
        self.walk = Walk()
        self.ledger = self.walk.ledger
        self.claims: list[str] = []
        self.withdrawals: list[str] = []
        self.observations: list[str] = []

    def take(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    def claim(self, value: Any, source: str, span: tuple[int | None, int | None]) -> None:
        low, high = (None if day is None else moment(GRID[day]) for day in span)
        made = self.ledger.claim(
            "ada", "likes", value, source=source, valid_from=low, valid_to=high
        )
        self.claims.append(made)

    def withdraw(self, number: int) -> None:
        if self.claims:
            claim = self.claims[number % len(self.claims)]
            self.withdrawals.append(self.ledger.withdraw(claim))

    def restore(self, number: int) -> None:
        if self.withdrawals:
            self.ledger.withdraw(self.withdrawals[number % len(self.withdrawals)])

    def support(self, number: int, source: str) -> None:
        if self.claims:
            self.ledger.support(self.claims[number % len(self.claims)], source=source)

    def refute(self, number: int) -> None:
        if self.claims and number < 3:
            claim = self.claims[number % len(self.claims)]
            self.withdrawals.append(self.ledger.support(claim, source="E", stance="refutes"))

    def forget(self, number: int) -> None:
        if self.observations and number < 8:
            told = self.observations[number % len(self.observations)]
            self.withdrawals.append(self.ledger.withdraw(told))

    def archive(self, number: int) -> None:
        if self.claims:
            claim = self.claims[number % len(self.claims)]
            self.ledger.append([{"event": "policy", "archived": [claim]}])

    def consolidate(self, at: int) -> None:
        if self.ledger.revision:
            done = consolidated(self.walk, "", at)
            self.observations += [each.id or "" for each in done.of(Step.OBSERVED)]


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_the_observations_are_those_of_the_definition(steps: list[tuple[Any, ...]]) -> None:
    told = Told()
    for step in [*steps, ("consolidate", GRID[3])]:
        told.take(step)
    assert told.ledger.verify().ok
    told.walk.close()
