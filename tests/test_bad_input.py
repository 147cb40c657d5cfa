"""What can't be accepted: the right error, a message with the value and the next step, and a ledger
that is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pytest

import doxa
from tests.refusals import DAY, Call, appending, claim, refused, told_ledger


@pytest.fixture
def told() -> Iterator[doxa.Ledger]:
    with told_ledger() as ledger:
        yield ledger


# ---------------------------------------------------------------- times

NAIVE = datetime(2024, 5, 1, 10)
FORMS = "give an aware datetime, a date, or ISO text such as 2024-03-01"
TIMES: dict[str, tuple[Call, tuple[str, ...]]] = {
    "a naive text": (
        lambda on: on.claim("x", "p", 1, valid_from="2024-05-01T10:00:00"),
        ("valid_from", "'2024-05-01T10:00:00'", FORMS),
    ),
    "a naive datetime": (
        lambda on: on.claim("x", "p", 1, valid_to=NAIVE),
        ("valid_to", "2024-05-01T10:00:00", "no time zone", FORMS),
    ),
    "a naive recorded_at": (
        lambda on: on.claim("x", "p", 1, recorded_at=NAIVE),
        ("recorded_at", "no time zone"),
    ),
    "a naive time of observation": (
        lambda on: on.claim("x", "p", 1, source=doxa.Source("s", observed_at=NAIVE)),
        ("observed_at", "no time zone"),
    ),
    "a naive view": (lambda on: on.view(valid_at=NAIVE), ("valid_at", "no time zone")),
    "a naive knowledge": (
        lambda on: on.view(valid_at=DAY, known_at="2024-05-01T10:00"),
        ("known_at", FORMS),
    ),
    "a naive history": (lambda on: on.history("a", "p", valid_at=NAIVE), ("valid_at",)),
    # no time by its type either
    # of a wrong type on purpose
    "a number": (lambda on: on.view(valid_at=1714557600), ("1714557600", "int", FORMS)),  # type: ignore[arg-type]
    "a month 13": (lambda on: on.view(valid_at="2024-13-01"), ("'2024-13-01'", FORMS)),
    "a month 00": (lambda on: on.view(valid_at="2000-00-00"), ("'2000-00-00'", FORMS)),
    "a leap day of no leap year": (lambda on: on.view(valid_at="2023-02-29"), ("'2023-02-29'",)),
    "a leap second": (lambda on: on.view(valid_at="2016-12-31T23:59:60Z"), ("23:59:60",)),
    "nanoseconds": (lambda on: on.view(valid_at="2024-01-01T00:00:00.0000001Z"), ("0000001Z",)),
    "a year alone": (lambda on: on.view(valid_at="2000"), ("'2000'", FORMS)),
    "digits of another script": (lambda on: on.view(valid_at="\uff12024-01-01"), (FORMS,)),
    "spaces around": (lambda on: on.view(valid_at=" 2024-01-01"), ("' 2024-01-01'", FORMS)),
    "a long text": (lambda on: on.view(valid_at="2" * 10_000), ("222...",)),
    "an empty interval": (
        lambda on: on.claim("x", "p", 1, valid_from=DAY, valid_to=DAY),
        ("empty", DAY, "valid_from must lie before valid_to"),
    ),
    "an inverted interval": (
        lambda on: on.claim("x", "p", 1, valid_from=DAY, valid_to="2024-05-31"),
        ("inverted", DAY, "2024-05-31"),
    ),
    "an interval inverted by its offsets": (
        lambda on: on.claim(
            "x", "p", 1, valid_from="2024-06-01T00:00:00-02:00", valid_to="2024-06-01T01:00:00Z"
        ),
        ("inverted", "2024-06-01T02:00:00Z", "2024-06-01T01:00:00Z"),
    ),
    "an inverted portion of a withdrawal": (
        lambda on: on.withdraw("a", valid_from="2024-03-01", valid_to="2024-02-01"),
        ("inverted", "2024-03-01", "2024-02-01"),
    ),
    "an empty portion of a correction": (
        lambda on: on.correct("a", valid_from=DAY, valid_to=DAY),
        ("empty", DAY),
    ),
    "a portion inverted by its default": (
        lambda on: on.correct("a", valid_from="2026-01-01"),
        ("2026-01-01", "2025-01-01", "give both bounds"),
    ),
    "a replacement that applies elsewhere": (
        appending(
            claim(id="new", valid_from="2030-01-01"),
            {"event": "correction", "id": "k", "corrects": "a", "by": "new"},
        ),
        ("'new'", "2030-01-01", "2025-01-01", "give valid_from and valid_to"),
    ),
    "a day of which the end is a time": (
        lambda on: on.claim("x", "p", 1, valid_until="2024-05-01T10:00:00Z"),
        ("valid_until", "an inclusive end is a day"),
    ),
    "several times of recording in one append": (
        appending(claim(recorded_at="2025-01-02"), claim(recorded_at="2025-01-03")),
        ("2 different recorded_at", "import_events"),
    ),
    "a time of recording that is said twice": (
        appending(claim(recorded_at="2025-01-02"), recorded_at="2025-01-03"),
        ("twice", "give one"),
    ),
    "knowledge of tomorrow": (
        lambda on: on.view(valid_at=DAY, known_at="2025-01-02"),
        ("2025-01-02", "future", "leave it out"),
    ),
}


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_means_no_instant_is_refused(name: str, told: doxa.Ledger) -> None:
    call, words = TIMES[name]
    refused(told, call, doxa.InvalidTime, *words)


@pytest.mark.parametrize(
    ("until", "last"),
    [(date(2024, 5, 1), "2024-05-01T23:59:59.999999Z"), ("9999-12-31", "9999-12-31T23:59:59Z")],
)
def test_an_inclusive_day_lasts_until_midnight(until: Any, last: str, told: doxa.Ledger) -> None:
    told.claim("x", "p", 1, valid_from="2024-05-01", valid_until=until, id="whole")
    told.support("whole", source="s")
    assert told.view(valid_at=last).standing("whole") == "reported"


def test_both_kinds_of_end_at_once_are_refused(told: doxa.Ledger) -> None:
    both = {"valid_to": "2024-05-01", "valid_until": "2024-05-01"}
    words = ("valid_to (exclusive) and valid_until (an inclusive day)",)
    refused(told, lambda on: on.claim("x", "p", 1, **both), doxa.InvalidEvent, *words)
    refused(told, appending(claim(**both)), doxa.InvalidEvent, "valid_to (exclusive)", "give one")


def test_a_recording_time_that_is_not_later_than_the_last_is_refused(told: doxa.Ledger) -> None:
    at = told.view(valid_at=DAY).known_at
    assert at is not None
    for earlier in (at, at - timedelta(seconds=1)):
        with pytest.raises(doxa.ClockError, match="not later"):
            told.claim("x", "p", 1, recorded_at=earlier)
    told.claim("x", "p", 1, recorded_at=at + timedelta(microseconds=1))


# ---------------------------------------------------------------- targets, rings, ids

TARGETS: dict[str, tuple[Call, type[doxa.DoxaError], tuple[str, ...]]] = {
    "support of nobody": (
        lambda on: on.support("nobody", source="s"),
        doxa.UnknownTarget, ("'nobody'", "record it first"),
    ),
    "withdrawal of nobody": (
        lambda on: on.withdraw("nobody"), doxa.UnknownTarget, ("'nobody'", "record it first"),
    ),
    "withdrawal of a source that nobody named": (
        lambda on: on.withdraw(doxa.Source("nobody")), doxa.UnknownTarget,
        ("'nobody'", "spelled otherwise"),
    ),
    "withdrawal of a source as if it were an event": (
        lambda on: on.withdraw("s"), doxa.UnknownTarget, ("'s'", "is a source", "doxa.Source"),
    ),
    "correction of nobody": (
        lambda on: on.correct("nobody", 2), doxa.UnknownTarget, ("'nobody'", "that claim returned"),
    ),
    "correction by nobody": (
        lambda on: on.correct("a", by="nobody"), doxa.UnknownTarget, ("'nobody'",),
    ),
    "derived from nobody": (
        lambda on: on.claim("x", "p", 1, because=["a", "nobody"]),
        doxa.UnknownTarget, ("'nobody'",),
    ),
    "a reference into another workspace": (
        lambda on: on.claim("x", "p", 1, workspace="w", because=["a"]),
        doxa.UnknownTarget, ("'a'", "workspace 'w'"),
    ),
    "a fact of another workspace than the shared one": (
        lambda on: on.summarize("t", facts=[{"workspace": "w", "id": "a"}]),
        doxa.InvalidEvent, ("'w'", "shared"),
    ),
    "a citation of nobody's support": (
        lambda on: on.cite("t", supports=["nobody"]), doxa.UnknownTarget, ("'nobody'",),
    ),
    "a citation of a claim without supports": (
        lambda on: on.cite("t", claim=on.claim("x", "p", 1)), doxa.UnknownTarget, ("no support",),
    ),
    "a citation of another source": (
        lambda on: on.cite("t", claim="a", source="u"), doxa.UnknownTarget, ("'u'", "support(…)"),
    ),
    "a citation without supports": (
        lambda on: on.cite("t"), doxa.InvalidEvent, ("at least one",),
    ),
    "a source without its claim": (
        lambda on: on.cite("t", supports=["s2"], source="s"), doxa.CallerError, ("which claim",),
    ),
    "a summary of nothing": (
        lambda on: on.summarize("t"), doxa.InvalidEvent, ("facts, supports, sources or citations",),
    ),
    "a summary of a source that nobody named": (
        lambda on: on.summarize("t", sources=["nobody"]), doxa.UnknownTarget, ("'nobody'",),
    ),
    "a verified nobody": (
        lambda on: on.policy(verified="nobody"), doxa.UnknownTarget, ("'nobody'",),
    ),
    "a contradiction of one": (
        lambda on: on.policy(contradicts=["a", "a"]), doxa.InvalidEvent, ("fewer than two",),
    ),
    "a contradiction with nobody": (
        lambda on: on.policy(contradicts=["a", "nobody"]), doxa.UnknownTarget, ("'nobody'",),
    ),
    "two policies in one": (
        lambda on: on.policy(single_valued="p", verified="a"), doxa.InvalidEvent, ("exactly one",),
    ),
    "no policy at all": (lambda on: on.policy(), doxa.InvalidEvent, ("exactly one",)),
    "a citation as a claim": (
        lambda on: on.support("q", source="s"), doxa.InvalidEvent, ("'q', a citation", "a claim"),
    ),
    "a support as a fact": (
        lambda on: on.summarize("t", facts=["s2"]), doxa.InvalidEvent, ("'s2', a support",),
    ),
    "a claim as a support": (
        lambda on: on.cite("t", supports=["a"]), doxa.InvalidEvent, ("'a', a claim",),
    ),
    "a policy as a citation": (
        lambda on: on.summarize("t", citations=["a/support"]), doxa.InvalidEvent, ("a support",),
    ),
    "the support of a claim that carries none": (
        appending(claim(id="bare", source=None), {"event": "withdrawal", "target": "bare/support"}),
        doxa.UnknownTarget, ("'bare/support'",),
    ),
    "a correction of a claim by itself": (
        lambda on: on.correct("a", by="a"), doxa.InvalidEvent, ("'a' by itself", "another claim"),
    ),
    "both a value and a claim": (
        lambda on: on.correct("a", 2, by="b"), doxa.CallerError, ("not both",),
    ),
    "a withdrawal of itself": (
        appending({"event": "withdrawal", "id": "w", "target": "w"}),
        doxa.InvalidEvent, ("withdraws itself",),
    ),
    "a withdrawal of a later withdrawal": (
        appending(
            {"event": "withdrawal", "id": "w1", "target": "w2"},
            {"event": "withdrawal", "id": "w2", "target": "a"},
        ),
        doxa.InvalidEvent, ("'w2'", "put it after"),
    ),
    "a ring of two": (
        appending(
            {"event": "correction", "corrects": "a", "by": "b"},
            {"event": "correction", "corrects": "b", "by": "a"},
        ),
        doxa.CorrectionRing, ("a by b by a", "claim anew"),
    ),
    "a ring of three": (
        appending(
            {"event": "correction", "corrects": "a", "by": "b"},
            {"event": "correction", "corrects": "b", "by": "c"},
            {"event": "correction", "corrects": "c", "by": "a"},
        ),
        doxa.CorrectionRing, ("by b", "by c", "by a"),
    ),
    "a known id with another content": (
        lambda on: on.claim("a", "p", "other", id="a", source="s"),
        doxa.DuplicateId, ("'a'", "another id, or correct"),
    ),
    "an id of one kind for another": (
        lambda on: on.withdraw("a", id="b"), doxa.DuplicateId, ("'b'", "claim"),
    ),
    "one id twice in an append": (
        appending(claim(id="new"), claim(id="new", object=2)), doxa.DuplicateId, ("'new'",),
    ),
    "true for one": (
        appending(claim(id="new", object=1), claim(id="new", object=True)),
        doxa.DuplicateId, ("'new'",),
    ),
    "an id that ends as a carried support's": (
        lambda on: on.claim("x", "p", 1, id="x/support"),
        doxa.InvalidEvent, ("/support", "reserved"),
    ),
    "a revision that has passed": (
        appending(claim(), expected_revision=3),
        doxa.RevisionConflict, ("revision 5", "not at 3", "repeat"),
    ),
    "a source that was withdrawn": (
        lambda on: [on.withdraw(doxa.Source("t"), id="wt"), on.claim("x", "p", 1, source="t")],
        doxa.InvalidEvent, ("'t'", "withdrawn", "another source"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_an_event_that_points_nowhere_or_in_a_ring_is_refused(name: str, told: doxa.Ledger) -> None:
    call, kind, words = TARGETS[name]
    if name in ("a citation of a claim without supports", "a source that was withdrawn"):
        with pytest.raises(kind) as caught:  # these record something acceptable first
            call(told)
        assert all(word in str(caught.value) for word in words), caught.value
        return
    refused(told, call, kind, *words)


def test_a_ring_closed_by_a_later_append_is_refused(told: doxa.Ledger) -> None:
    told.correct("a", by="b")
    told.correct("b", by="c")
    refused(told, lambda on: on.correct("c", by="a"), doxa.CorrectionRing, "c by a by b by c")


def test_corrections_that_go_round_but_never_meet_are_accepted(told: doxa.Ledger) -> None:
    told.correct("a", by="b", valid_from="2024-01-01", valid_to="2024-03-01")
    told.correct("b", by="a", valid_from="2024-03-01", valid_to="2024-06-01")
    for day, stands in (("2024-02-01", {"b", "c"}), ("2024-04-01", {"a", "c"})):
        assert {claim.id for claim in told.view(valid_at=day).claims()} == stands
    words = ("b by a by b",)
    refused(
        told,
        lambda on: on.correct("b", by="a", valid_from="2024-02-29", valid_to="2024-03-01"),
        doxa.CorrectionRing,
        *words,
    )


def test_a_correction_goes_back_once_the_first_is_withdrawn(told: doxa.Ledger) -> None:
    first = told.correct("a", by="b")
    with pytest.raises(doxa.CorrectionRing):
        told.correct("b", by="a")
    told.append(
        [
            {"event": "withdrawal", "id": "w", "target": first},
            {"event": "correction", "id": "back", "corrects": "b", "by": "a"},
        ]
    )
    assert told.view(valid_at=DAY).standing("a") == "corroborated"


# ---------------------------------------------------------------- coordinates and options

ASKED: dict[str, tuple[Call, tuple[str, ...]]] = {
    "as_of": (lambda on: on.view(as_of=DAY), ("valid_at", "known_at", "as_of is refused")),
    "as_of beside": (lambda on: on.view(valid_at=DAY, as_of=DAY), ("valid_at", "known_at")),
    "no valid_at": (lambda on: on.view(), ("valid_at is missing",)),
    "known_at alone": (lambda on: on.view(known_at=5), ("ambiguous", "say both")),
    "an option that is not there": (
        lambda on: on.view(valid_at=DAY, workspaces=["w"]), ("'workspaces'", "it takes valid_at"),
    ),
    "knowledge that is true": (lambda on: on.view(valid_at=DAY, known_at=True), ("True",)),
    "knowledge below zero": (lambda on: on.view(valid_at=DAY, known_at=-1), ("-1", "0 or more")),
    "knowledge inside a commit": (
        lambda on: on.view(valid_at=DAY, known_at=3), ("position 3", "ends at 5", "give 0"),
    ),
    "knowledge past the head": (
        lambda on: on.view(valid_at=DAY, known_at=99), ("99", "the ledger's is 5"),
    ),
    "a standing that is none": (
        lambda on: on.view(valid_at=DAY).claims(standing="sure"), ("'sure'", "reported"),
    ),
    "a budget below zero": (
        lambda on: on.assemble("q", view=on.view(valid_at=DAY), budget=-1), ("-1", "0 or more"),
    ),
    "a budget that is no number": (
        lambda on: on.assemble("q", view=on.view(valid_at=DAY), budget=True), ("True",),
    ),
    "a top_k of zero": (
        lambda on: on.assemble("q", view=on.view(valid_at=DAY), budget=9, top_k=0),
        ("0", "from 1"),
    ),
    "no attempts": (
        lambda on: on.assemble_fresh("q", valid_at=DAY, budget=9, attempts=0), ("attempts is 0",),
    ),
    "a revision below zero": (appending(claim(), expected_revision=-1), ("-1", "0 or more")),
    "an append of nothing": (appending(), ("at least one event",)),
    "an event of no kind": (appending({"event": "rumour"}), ("'rumour'", "claim, support")),
    "a key that is not the event's": (
        appending(claim(publish_date=DAY)), ("publish_date", "not a key"),
    ),
    "the standing of a citation": (
        lambda on: on.view(valid_at=DAY).standing("q"), ("'q' is a artefact",),
    ),
    "a view of another ledger": (
        lambda on: on.reconcile(doxa.open().view(valid_at=DAY)), ("another ledger",),
    ),
    "a text made from another ledger's view": (
        lambda on: on.summarize("t", facts=["a"], view=doxa.open().view(valid_at=DAY)),
        ("another ledger",),
    ),
    "a difference to another ledger's view": (
        lambda on: on.view(valid_at=DAY).diff(doxa.open().view(valid_at=DAY)),
        ("different ledgers",),
    ),
    "a file that is not there": (lambda on: on.import_events("/no/such/file"), ("/no/such/file",)),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_a_question_that_can_be_read_two_ways_or_none_is_refused(
    name: str, told: doxa.Ledger
) -> None:
    call, words = ASKED[name]
    refused(told, call, doxa.CallerError, *words)


def test_where_a_source_is_named_by_its_origin_the_one_source_of_it_is_told() -> None:
    with doxa.open() as ledger:
        ledger.claim("x", "p", 1, source=doxa.Source("s1", origin="o"))
        ledger.claim("x", "p", 1, source=doxa.Source("s1", origin="o"), workspace="w")
        one = ("'o'", "the origin of the source 's1'", "did you mean that?")
        refused(ledger, lambda on: on.withdraw("o"), doxa.UnknownTarget, *one, "--whole-source")
        refused(ledger, lambda on: on.withdraw(doxa.Source("o")), doxa.UnknownTarget, *one)
        there = partial(doxa.Ledger.withdraw, workspace="v")
        refused(ledger, lambda on: there(on, "o"), doxa.UnknownTarget, "record it first")
        ledger.claim("x", "p", 2, source=doxa.Source("s2", origin="o"))
        refused(
            ledger, lambda on: on.withdraw(doxa.Source("o")), doxa.UnknownTarget, "sources lists"
        )
