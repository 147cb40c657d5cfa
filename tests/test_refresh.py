"""A source that changes: what stays, what is corrected, withdrawn and added; by section too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine.belief import Belief
from doxa.engine.errors import CallerError, DuplicateId, RevisionConflict
from doxa.refreshing import Refresh
from tests.histories import GRID, moment
from tests.walks import failing_commits

DAY = "2024-06-01"
Fields = dict[str, Any]


@pytest.fixture
def ledger() -> Iterator[doxa.Ledger]:
    with doxa.open() as opened:
        yield opened


def says(subject: str, predicate: str, value: Any, **more: Any) -> Fields:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


HOME = says("ada", "lives_in", "London")
WORK = says("ada", "works_at", "the mill")
MOVED = says("ada", "lives_in", "Lisbon")


def values(ledger: doxa.Ledger, predicate: str = "lives_in", **options: Any) -> tuple[Any, ...]:
    return ledger.view(valid_at=options.pop("valid_at", DAY), **options).values("ada", predicate)


def turns(done: Refresh) -> list[tuple[str, Any]]:
    return [(str(change.turn), change.object) for change in done.changes]


# ---------------------------------------------------------------- what becomes of a claim


def test_what_a_new_source_says_is_added(ledger: doxa.Ledger) -> None:
    done = ledger.refresh("notes.md", [HOME, WORK], content="v1")
    assert turns(done) == [("added", "London"), ("added", "the mill")]
    assert done.sections == {"": "refreshed"}
    assert values(ledger) == ("London",)
    (support,) = ledger.view(valid_at=DAY).supports(done.changes[0].claim)
    assert (support.source, support.origin) == ("notes.md", "notes.md")


def test_the_same_content_is_not_looked_at_and_nothing_is_written(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    revision = ledger.revision
    for again in ({"content": b"v1"}, {"digest": f"sha256:{sha256(b'v1').hexdigest()}"}):
        done = ledger.refresh("notes.md", [], **again)
        assert (done.sections, done.unchanged) == ({"": "unchanged"}, True)
    assert ledger.revision == revision


def test_new_content_that_says_the_same_writes_nothing(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME, WORK], content="v1")
    revision = ledger.revision
    done = ledger.refresh("notes.md", [WORK, HOME], content="v2")
    assert (done.kept, done.changes, ledger.revision) == (2, (), revision)


def test_what_stays_can_be_confirmed_with_the_new_content(ledger: doxa.Ledger) -> None:
    first = ledger.refresh("notes.md", [HOME], content="v1")
    done = ledger.refresh("notes.md", [HOME], content="v2", confirm=True)
    assert turns(done) == [("confirmed", "London")]
    ledger.claim("ada", "is", "well", source="x")
    copy = {"id": "copy.md", "digest": f"sha256:{sha256(b'v2').hexdigest()}"}
    ledger.support(first.changes[0].claim, source=copy)
    view = ledger.view(valid_at=DAY)
    assert view.standing(first.changes[0].claim) == "reported"  # a copy is no second origin
    assert ledger.refresh("notes.md", [HOME], content="v2", confirm=True).changes == ()


def test_what_the_source_says_otherwise_is_corrected_in_one_commit(ledger: doxa.Ledger) -> None:
    old = ledger.refresh("notes.md", [HOME, WORK], content="v1").changes[0].claim
    done = ledger.refresh("notes.md", [MOVED, WORK], content="v2")
    assert turns(done) == [("corrected", "London")]
    (change,) = done.changes
    view = ledger.view(valid_at=DAY)
    assert values(ledger) == ("Lisbon",)
    assert (view.standing(old), view.successors(old)) == ("superseded", [change.by])
    assert not view.supports(old)[0].live
    assert view.graph.commit_of(view.claim(change.by or "").position) == done.revision


def test_a_claim_that_ends_now_is_corrected_over_all_of_its_time(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [says("ada", "is", "here", valid_from="2024-01-01")], content="1")
    ended = says("ada", "is", "here", valid_from="2024-01-01", valid_to="2024-03-01")
    done = ledger.refresh("notes.md", [ended], content="2")
    assert [change.turn for change in done.changes] == ["corrected"]
    assert values(ledger, "is", valid_at="2024-02-01") == ("here",)
    assert values(ledger, "is") == ()


def test_what_is_said_several_times_is_withdrawn_and_added_not_corrected(
    ledger: doxa.Ledger,
) -> None:
    likes = [says("ada", "likes", value) for value in ("tea", "jazz", "rain")]
    ledger.refresh("notes.md", likes[:2], content="v1")
    done = ledger.refresh("notes.md", [likes[0], likes[2]], content="v2")
    assert turns(done) == [("added", "rain"), ("withdrawn", "jazz")]
    assert values(ledger, "likes") == ("tea", "rain")
    done = ledger.refresh("notes.md", [likes[1]], content="v3")
    assert turns(done) == [("supported", "jazz"), ("withdrawn", "tea"), ("withdrawn", "rain")]


def test_what_the_source_says_no_longer_is_withdrawn_from_it_alone(ledger: doxa.Ledger) -> None:
    claim = ledger.refresh("notes.md", [HOME, WORK], content="v1").changes[0].claim
    ledger.support(claim, source="register")
    done = ledger.refresh("notes.md", [WORK], content="v2")
    assert turns(done) == [("withdrawn", "London")]
    view = ledger.view(valid_at=DAY)
    assert view.value("ada", "lives_in") == "London"
    assert [(s.source, s.live) for s in view.supports(claim)] == [
        ("notes.md", False),
        ("register", True),
    ]
    assert view.claim(claim).origins == ["register"]


def test_what_another_source_ever_said_is_not_corrected(ledger: doxa.Ledger) -> None:
    claim = ledger.refresh("notes.md", [HOME], content="v1").changes[0].claim
    support = ledger.support(claim, source="register")
    gone = ledger.withdraw(support)
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert turns(done) == [("added", "Lisbon"), ("withdrawn", "London")]
    ledger.withdraw(gone)
    assert values(ledger) == ("London", "Lisbon")


def test_a_source_that_says_what_another_says_supports_the_same_claim(
    ledger: doxa.Ledger,
) -> None:
    claim = ledger.claim("ada", "lives_in", "London", source="register")
    done = ledger.refresh("notes.md", [HOME], content="v1")
    assert turns(done) == [("supported", "London")]
    assert ledger.view(valid_at=DAY).standing(claim) == "corroborated"
    ledger.refresh("notes.md", [MOVED], content="v2")
    view = ledger.view(valid_at=DAY)
    assert view.standing(claim) == "reported"
    assert values(ledger) == ("London", "Lisbon")


def test_what_was_said_before_is_said_again(ledger: doxa.Ledger) -> None:
    for version, said in [("1", [HOME, WORK]), ("2", [MOVED]), ("1", [HOME, WORK])] * 3:
        ledger.refresh("notes.md", said, content=version)
        wanted = tuple(each["object"] for each in said if each["predicate"] == "lives_in")
        assert values(ledger) == wanted
    assert ledger.verify().ok


def test_what_somebody_took_back_is_not_claimed_again(ledger: doxa.Ledger) -> None:
    claim = ledger.refresh("notes.md", [HOME, WORK], content="v1").changes[0].claim
    ledger.withdraw(claim, reason="misread")
    assert ledger.refresh("notes.md", [HOME, WORK], content="v2").changes == ()
    assert values(ledger) == ()


def test_what_somebody_corrected_is_not_corrected_again(ledger: doxa.Ledger) -> None:
    claim = ledger.refresh("notes.md", [HOME], content="v1").changes[0].claim
    by = ledger.correct(claim, "Leeds", source="letter").replacement
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert turns(done) == [("added", "Lisbon"), ("withdrawn", "London")]
    assert ledger.view(valid_at=DAY).successors(claim) == [by]


def test_a_conclusion_that_says_the_same_is_not_taken_for_the_claim(ledger: doxa.Ledger) -> None:
    premise = ledger.claim("ada", "pays_tax_in", "UK", source="form")
    ledger.claim("ada", "lives_in", "London", because=[premise], id="derived")
    assert turns(ledger.refresh("notes.md", [HOME], content="v1")) == [("added", "London")]


def test_claims_of_the_source_from_before_are_taken_up(ledger: doxa.Ledger) -> None:
    claim = ledger.claim("ada", "lives_in", "London", source={"id": "notes.md", "origin": "ada"})
    assert ledger.refresh("notes.md", [HOME], content="v1").kept == 1
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert done.changes[0].claim == claim
    new = ledger.view(valid_at=DAY).claim(done.changes[0].by or "")
    assert new.origins == ["ada"]  # one source has one origin


def test_an_id_that_is_brought_along_is_used(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME | {"id": "home"}], content="v1")
    assert ledger.view(valid_at=DAY).claim("home").object == "London"
    assert ledger.refresh("notes.md", [HOME | {"id": "other"}], content="v2").kept == 1
    with pytest.raises(DuplicateId, match="home"):
        ledger.refresh("notes.md", [MOVED | {"id": "home"}], content="v3")
    ledger.refresh("notes.md", [MOVED], content="v3")
    back = ledger.refresh("notes.md", [HOME | {"id": "home"}], content="v1")
    assert back.changes[0].by != "home"
    assert values(ledger) == ("London",)


def test_workspaces_are_refreshed_each_alone(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    ledger.refresh("notes.md", [MOVED], content="v2", workspace="w")
    assert values(ledger) == ("London",)
    assert values(ledger, workspace="w", shared=False) == ("Lisbon",)
    assert ledger.refresh("notes.md", [], content="v1").unchanged


def test_the_observed_time_and_the_words_are_kept(ledger: doxa.Ledger) -> None:
    source = doxa.Source("notes.md", origin="ada", observed_at="2024-05-01")
    done = ledger.refresh(source, [HOME | {"quote": "I live in London"}], content="v1")
    item = ledger.view(valid_at=DAY).claim(done.changes[0].claim)
    assert item.observed_at == datetime(2024, 5, 1, tzinfo=UTC)
    event = ledger.view(valid_at=DAY).payload(item.position)
    assert event.source.quote == "I live in London"  # type: ignore[attr-defined]
    assert event.source.digest == f"sha256:{sha256(b'v1').hexdigest()}"  # type: ignore[attr-defined]


# ---------------------------------------------------------------- sections


def section(name: str, *said: Fields) -> list[Fields]:
    return [each | {"section": name} for each in said]


def test_only_a_section_that_has_changed_is_looked_at(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("work", WORK)]
    ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    revision = ledger.revision
    done = ledger.refresh("notes.md", section("home", MOVED), sections={"home": "c", "work": "b"})
    assert done.sections == {"home": "refreshed", "work": "unchanged"}
    assert turns(done) == [("corrected", "London")]
    assert ledger.revision == revision + 3
    assert values(ledger, "works_at") == ("the mill",)
    assert ledger.refresh("notes.md", [], sections={"home": "c", "work": "b"}).unchanged


def test_a_section_that_is_gone_takes_what_it_said_with_it(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("work", WORK)]
    ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    done = ledger.refresh("notes.md", [], sections={"home": "a"})
    assert done.sections == {"home": "unchanged", "work": "vanished"}
    assert turns(done) == [("withdrawn", "the mill")]
    back = ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    assert turns(back) == [("supported", "the mill")]


def test_sections_that_are_not_given_are_left_alone_where_some_are(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("work", WORK)]
    ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    done = ledger.refresh("notes.md", section("new", MOVED), sections={"new": "x"}, partial=True)
    assert turns(done) == [("added", "Lisbon")]
    assert values(ledger, "works_at") == ("the mill",)


def test_what_two_sections_say_stays_while_one_does(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("too", HOME)]
    done = ledger.refresh("notes.md", both, sections={"home": "a", "too": "b"})
    assert turns(done) == [("added", "London"), ("supported", "London")]
    done = ledger.refresh("notes.md", section("too", MOVED), sections={"home": "a", "too": "c"})
    assert turns(done) == [("added", "Lisbon"), ("withdrawn", "London")]
    assert values(ledger) == ("London", "Lisbon")
    assert ledger.view(valid_at=DAY).claims()[0].standing == "reported"


def test_what_moves_to_another_section_stays(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", section("a", HOME), sections={"a": "1", "b": "2"})
    done = ledger.refresh("notes.md", section("b", HOME), sections={"b": "3"})
    assert turns(done) == [("supported", "London"), ("withdrawn", "London")]
    assert values(ledger) == ("London",)
    assert ledger.refresh("notes.md", [], sections={"b": "3"}).unchanged


def test_one_thing_that_all_sections_say_otherwise_is_corrected_once(ledger: doxa.Ledger) -> None:
    both = [*section("a", HOME), *section("b", HOME)]
    ledger.refresh("notes.md", both, sections={"a": "1", "b": "2"})
    moved = [*section("a", MOVED), *section("b", MOVED)]
    done = ledger.refresh("notes.md", moved, sections={"a": "3", "b": "4"})
    assert turns(done) == [("corrected", "London"), ("supported", "Lisbon")]
    assert values(ledger) == ("Lisbon",)
    assert not any(s.live for s in ledger.view(valid_at=DAY).supports(done.changes[0].claim))


def test_a_locator_that_names_a_section_is_one(ledger: doxa.Ledger) -> None:
    place = {"id": "notes.md", "locator": "notes.md#home"}
    ledger.refresh("notes.md", [HOME | {"source": place}], sections={"home": "a"})
    ledger.refresh("notes.md", section("home", MOVED), sections={"home": "b"})
    assert values(ledger) == ("Lisbon",)


def test_a_source_in_sections_can_be_refreshed_whole_and_back(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("work", WORK)]
    ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    done = ledger.refresh("notes.md", [MOVED], content="all of it")
    assert turns(done) == [("corrected", "London"), ("withdrawn", "the mill")]
    done = ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    assert values(ledger) == ("London",)
    assert values(ledger, "works_at") == ("the mill",)


# ---------------------------------------------------------------- stale evidence


def test_what_rests_on_changed_evidence_is_told_with_the_event(ledger: doxa.Ledger) -> None:
    first = ledger.refresh("notes.md", [HOME, WORK], content="v1")
    home, work = (change.claim for change in first.changes)
    ledger.support(work, source="register")
    ledger.claim("ada", "taxed_in", "UK", because=[home], id="tax")
    ledger.claim("ada", "earns", "a wage", because=[work], id="wage")
    ledger.claim("ada", "is", "taxed", because=["tax"], id="second hand")
    ledger.cite("line 1", claim=home, id="quote")
    ledger.summarize("Ada lives in London.", citations=["quote"], id="note")
    ledger.summarize("Ada works.", facts=[work], id="work note")
    ledger.summarize("Ada is taxed.", facts=["tax"], id="tax note")
    dry = ledger.refresh("notes.md", [MOVED], content="v2", dry_run=True)
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert [(s.id, s.kind, s.evidence, s.stands) for s in done.stale_evidence] == [
        ("tax", "fact", home, False),
        ("wage", "fact", work, True),
        ("quote", "citation", f"{home}/support", False),
        ("note", "summary", f"{home}/support", False),
        ("work note", "summary", work, True),
    ]
    corrected, withdrawn = done.changes
    assert [s.event for s in done.stale_evidence][:2] == [corrected.event, withdrawn.event]
    assert [(s.id, s.event, s.stands) for s in dry.stale_evidence] == [
        (s.id, s.event, None) for s in done.stale_evidence
    ]


def test_an_observation_on_changed_evidence_is_consolidated_anew(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    claim = ledger.claim("ada", "lives_in", "London", source="register")
    other = ledger.claim("ada", "lives_in", "London", source="letter")
    ledger.support(claim, source="passport")
    (first,) = ledger.consolidate(valid_at=DAY)
    assert first.proofs == 4
    done = ledger.refresh("passport", [], content="", allow_empty=True)
    assert [(s.id, s.kind, s.stands) for s in done.stale_evidence] == [
        (first.id, "observation", True)
    ]
    (second,) = ledger.consolidate(valid_at=DAY)
    assert (second.proofs, second.supersedes) == (3, (first.id,))
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert [(s.id, s.stands) for s in done.stale_evidence if s.stands is not None][-1] == (
        second.id,
        False,
    )
    (third,) = ledger.consolidate(valid_at=DAY)
    assert third.evidence == (claim, other)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("claims", "options", "told"),
    [
        ([], {"content": "v2"}, "no claims were extracted"),
        ([HOME], {}, "its digest"),
        ([HOME], {"content": "a", "digest": "b"}, "one of"),
        ([HOME], {"digest": ""}, "digest is empty"),
        ([HOME], {"digest": 3}, "give text"),
        ([HOME], {"content": 3}, "text or bytes"),
        ([HOME], {"content": "\ud800"}, "surrogate"),
        ([HOME], {"content": "v2", "partial": True}, "partial goes with sections"),
        ([HOME], {"sections": ["a"]}, "by name"),
        ([HOME], {"sections": {"a": None}}, "text or bytes"),
        ([HOME], {"sections": {}}, "whose content is not given"),
        ([], {"sections": {}}, "no sections"),
        ([], {"sections": {"": "new"}}, "no claims were extracted"),
        ([HOME | {"section": "b"}], {"sections": {"a": ""}}, "'b'"),
        (HOME, {"content": "v2"}, "list of claims"),
        ("claims", {"content": "v2"}, "list of claims"),
        ([HOME, 3], {"content": "v2"}, "claim 2: 3 is no claim"),
        ([{"subject": "ada"}], {"content": "v2"}, "claim 1: .* predicate is missing"),
        ([HOME | {"id": "x"}, WORK | {"id": "x"}], {"content": "v2"}, "claim 2: the id 'x'"),
        ([HOME | {"source": "other.md"}], {"content": "v2"}, "from the source 'other.md'"),
        ([HOME | {"source": 3}], {"content": "v2"}, "from the source 3"),
        ([HOME | {"source": {"id": "notes.md", "digest": "x"}}], {"content": "v2"}, "'digest'"),
        ([HOME | {"workspace": "w"}], {"content": "v2"}, "workspace 'w'"),
        ([HOME | {"because": ["x"]}], {"content": "v2"}, "because"),
        ([HOME | {"recorded_at": "2024-01-01T00:00:00Z"}], {"content": "v2"}, "recorded_at"),
        ([HOME | {"event": "support"}], {"content": "v2"}, "'support'"),
        ([HOME | {"section": 3}], {"content": "v2"}, "section is 3"),
        ([HOME | {"nonsense": 3}], {"content": "v2"}, "nonsense is not a key"),
        ([HOME | {"valid_from": "2024-01-01T00:00:00"}], {"content": "v2"}, "claim 1"),
        ([HOME | {"object": float("nan")}], {"content": "v2"}, "nan"),
        ([HOME | {"quote": "\ud800"}], {"content": "v2"}, "surrogate"),
        ([HOME | {"subject": "a\u202eb"}], {"content": "v2"}, "direction mark"),
        ([HOME | {"object": "x" * 2_000_000}], {"content": "v2"}, "limit|1 MiB|at most"),
        ([HOME], {"content": "v2", "workspace": 3}, "workspace is 3"),
        ([], {"digest": "a\nb", "allow_empty": True}, "control"),
        ([], {"content": "v2", "reason": 3, "allow_empty": True}, "reason is 3"),
        ([], {"content": "v2", "reason": "\ud800", "allow_empty": True}, "surrogate"),
        ([HOME], {"content": "v2", "valid_at": "noon"}, "valid_at"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    ledger: doxa.Ledger, claims: Any, options: Fields, told: str
) -> None:
    ledger.refresh("notes.md", [HOME, WORK], content="v1")
    before = ledger.revision, ledger.view(valid_at=DAY).fingerprint
    with pytest.raises(CallerError, match=told):
        ledger.refresh("notes.md", claims, **options)
    with pytest.raises(CallerError, match=told):
        ledger.refresh("notes.md", claims, dry_run=True, **options)
    assert (ledger.revision, ledger.view(valid_at=DAY).fingerprint) == before


@pytest.mark.parametrize("source", [None, "", 3, {"id": "x", "quote": "q"}, doxa.Source("x", "p")])
def test_a_source_is_named_by_its_id(ledger: doxa.Ledger, source: Any) -> None:
    with pytest.raises(CallerError):
        ledger.refresh(source, [HOME], content="v1")


def test_a_section_of_which_nothing_was_extracted_is_refused(ledger: doxa.Ledger) -> None:
    both = [*section("home", HOME), *section("work", WORK)]
    ledger.refresh("notes.md", both, sections={"home": "a", "work": "b"})
    with pytest.raises(CallerError, match="section 'work'"):
        ledger.refresh("notes.md", section("home", MOVED), sections={"home": "c", "work": "d"})
    moved, contents = section("home", MOVED), {"home": "c", "work": "d"}
    ledger.refresh("notes.md", moved, sections=contents, allow_empty=True)
    assert values(ledger, "works_at") == ()


def test_a_source_that_says_nothing_any_more_can_say_so(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    assert ledger.refresh("notes.md", [], content="", allow_empty=True).of("withdrawn")
    assert values(ledger) == ()
    assert ledger.refresh("notes.md", [], content="", allow_empty=True).unchanged
    assert ledger.refresh("notes.md", [HOME], content="v1").of("supported")


def test_a_value_that_was_rejected_is_left_out_and_told_of(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    rejection = ledger.reject("Lisbon", predicate="lives_in")
    for dry in (True, False):
        done = ledger.refresh("notes.md", [MOVED, WORK], content="v2", dry_run=dry)
        assert turns(done) == [
            ("rejected", "Lisbon"),
            ("added", "the mill"),
            ("withdrawn", "London"),
        ]
        assert done.changes[0].event == rejection
    revision = ledger.revision
    for content in ("v3", "v4"):
        again = ledger.refresh("notes.md", [MOVED, WORK], content=content)
        assert (turns(again), again.unchanged) == ([("rejected", "Lisbon")], True)
    assert ledger.revision <= revision + 1


def test_a_source_that_was_withdrawn_can_say_nothing_new(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME], content="v1")
    ledger.withdraw(doxa.Source("notes.md"))
    with pytest.raises(CallerError, match=r"notes\.md"):
        ledger.refresh("notes.md", [MOVED], content="v2")
    assert ledger.refresh("notes.md", [], content="v2").unchanged


# ---------------------------------------------------------------- one commit or none


def test_a_disk_that_fails_leaves_the_version_before(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME, WORK], content="v1")
    before = ledger.revision, ledger.view(valid_at=DAY).fingerprint
    with failing_commits(ledger), pytest.raises(doxa.StorageError):
        ledger.refresh("notes.md", [MOVED], content="v2")
    assert (ledger.revision, ledger.view(valid_at=DAY).fingerprint) == before
    assert len(ledger.refresh("notes.md", [MOVED], content="v2").changes) == 2


def test_a_dry_run_writes_nothing_and_tells_the_same(ledger: doxa.Ledger) -> None:
    ledger.refresh("notes.md", [HOME, WORK], content="v1")
    revision = ledger.revision
    dry = ledger.refresh("notes.md", [MOVED], content="v2", dry_run=True)
    assert ledger.revision == revision
    done = ledger.refresh("notes.md", [MOVED], content="v2")
    assert (dry.changes, dry.sections, dry.kept) == (done.changes, done.sections, done.kept)
    json.dumps(done.as_dict())


def test_what_another_process_records_meanwhile_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with doxa.open(tmp_path / "l") as ours, doxa.open(tmp_path / "l") as theirs:
        ours.refresh("notes.md", [HOME], content="v1")
        append, meddling = ours._stream.append, [True]

        def slow(request: Any) -> Any:
            if meddling and meddling.pop():
                theirs.refresh("notes.md", [MOVED], content="v2")
            return append(request)

        monkeypatch.setattr(ours._stream, "append", slow)
        done = ours.refresh("notes.md", [says("ada", "lives_in", "Rome")], content="v3")
        assert turns(done) == [("corrected", "Lisbon")]
        assert values(ours) == ("Rome",)


def test_who_is_disturbed_again_and_again_gives_up(
    ledger: doxa.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moved(request: Any) -> Any:
        raise RevisionConflict("moved")

    monkeypatch.setattr(ledger._stream, "append", moved)
    with pytest.raises(RevisionConflict):
        ledger.refresh("notes.md", [HOME], content="v1")


def test_a_refresh_costs_what_the_source_says_and_not_its_square(ledger: doxa.Ledger) -> None:
    count = 300
    versions = [[says("user", "said", n + more) for n in range(count)] for more in (0, 1)]
    ledger.refresh("log.txt", versions[0], content="1")
    for source, content in (("log.txt", "2"), ("other.txt", "3")):
        with patch.object(
            Belief, "object_key", autospec=True, side_effect=Belief.object_key
        ) as asked:
            done = ledger.refresh(source, versions[1], content=content)
        assert len(done.changes) in (2, count)
        assert asked.call_count <= 3 * count


# ---------------------------------------------------------------- any versions

SPANS = st.sampled_from([(None, None), (None, 3), (2, None), (2, 5)])
SAID = st.tuples(
    st.sampled_from("st"), st.sampled_from("pq"), st.sampled_from([1, 2, "x"]), SPANS
)  # fmt: skip
VERSIONS = st.lists(SAID, max_size=6)
STEPS = st.one_of(
    st.tuples(st.just("whole"), st.sampled_from("AB"), VERSIONS, st.integers(0, 3)),
    st.tuples(
        st.just("sections"),
        st.sampled_from("AB"),
        st.dictionaries(st.sampled_from(["", "one", "two"]), VERSIONS, max_size=3),
        st.booleans(),
    ),
    st.tuples(st.just("vouch"), st.integers(0, 30)),
    st.tuples(st.just("claim"), SAID),
)
Said = tuple[str, str, Any, tuple[int | None, int | None]]


def line(said: Said) -> Fields:
    subject, predicate, value, (low, high) = said
    bounds = {"valid_from": low, "valid_to": high}
    given = {name: moment(GRID[day]) for name, day in bounds.items() if day is not None}
    return says(subject, predicate, value, **given)


def facts(ledger: doxa.Ledger, source: str) -> set[tuple[Any, ...]]:
    """What is held from a source, at each day of the week."""
    found = set()
    for at in GRID:
        view = ledger.view(valid_at=moment(at))
        for claim in view.claims():
            if any(s.source == source and s.live for s in claim.supports):
                bounds = (claim.valid_from, claim.valid_to)
                found.add((at, claim.subject, claim.predicate, claim.object, *bounds))
    return found


class Sources:
    """Two sources that are refreshed, and a third one that nobody may make say less."""

    def __init__(self) -> None:
        self.ledger = doxa.open()
        self.now: dict[str, dict[str, list[Said]]] = {"A": {}, "B": {}}
        self.steady: list[Said] = []

    def whole(self, source: str, version: list[Said], number: int) -> None:
        content = f"{number} {version}"
        claims = [line(said) for said in version]
        for _ in range(2):
            done = self.ledger.refresh(source, claims, content=content, allow_empty=True)
        assert done.unchanged
        self.now[source] = {"": version}

    def sections(self, source: str, contents: dict[str, list[Said]], partial: bool) -> None:
        claims = [
            line(said) | {"section": name} for name, version in contents.items() for said in version
        ]
        told = {name: f"{name} {version}" for name, version in contents.items()}
        options: Fields = {"sections": told, "partial": partial, "allow_empty": True}
        for _ in range(2):
            done = self.ledger.refresh(source, claims, **options)
        assert done.unchanged
        self.now[source] = {**(self.now[source] if partial else {}), **contents}

    def vouch(self, number: int) -> None:
        claims = self.ledger.view(valid_at=moment(GRID[3])).claims()
        if claims:
            claim = claims[number % len(claims)]
            self.ledger.support(claim.id, source="C")
            days = (_day(claim.valid_from), _day(claim.valid_to))
            self.steady.append((claim.subject, claim.predicate, claim.object, days))

    def claim(self, said: Said) -> None:
        self.ledger.claim(**line(said), source="C")
        self.steady.append(said)

    def check(self) -> None:
        says = {name: [s for v in parts.values() for s in v] for name, parts in self.now.items()}
        for source, told in {**says, "C": self.steady}.items():
            with doxa.open() as alone:
                for said in told:
                    alone.claim(**line(said), source=source)
                assert facts(self.ledger, source) == facts(alone, source)


def _day(at: datetime | None) -> int | None:
    return None if at is None else [moment(day) for day in GRID].index(at)


@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_what_is_held_from_a_source_is_what_its_latest_version_says(
    steps: list[tuple[Any, ...]],
) -> None:
    sources = Sources()
    for step in steps:
        getattr(sources, step[0])(*step[1:])
        sources.check()
    assert sources.ledger.verify().ok
    sources.ledger.close()
