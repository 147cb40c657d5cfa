"""What a framework's search brings back, judged by a view, whatever the framework."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.annotations import ANNOTATIONS, OURS, annotated, declared
from doxa.adapters.judging import Found, Sieve, Sifting
from doxa.ledger import Ledger


@pytest.fixture
def town() -> Iterator[Ledger]:
    """A ledger in which Ada moved, and one source was withdrawn."""
    with doxa.open() as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
        ledger.claim("ada", "works_at", "mill", id="work", source="rumour", valid_to="2024-06-01")
        ledger.cite("Register, line 7", claim="home", id="quote")
        ledger.summarize("Ada lives in London.", facts=["home"], id="note")
        ledger.correct("home", "Lisbon", valid_from="2024-06-01", id="moved", source="letter")
        yield ledger


def at(ledger: Ledger, day: str = "2024-05-01", **options: Any) -> Sieve:
    return Sieve(ledger, valid_at=day, **options)


def reasons(sifting: Sifting) -> dict[str | None, str]:
    return {left.found.id: left.reason for left in sifting.left_out}


def statuses(sifting: Sifting) -> dict[str | None, object]:
    return {kept.found.id: kept.notes.get("truth_status") for kept in sifting}


def test_what_is_held_is_kept_with_its_status_and_its_times(town: Ledger) -> None:
    before = {"claim_ids": ["home"], "score": 0.7, "valid_from": "mine"}
    (kept,) = at(town).filter([Found("Ada lives in London.", before, "d1")])
    assert kept.metadata == {
        "claim_ids": ["home"],
        "score": 0.7,
        "truth_status": "reported",
        "truth_label": kept.judgement and kept.judgement.label,
        "valid_from": None,
        "valid_to": "2024-06-01T00:00:00Z",
        "view_revision": town.revision,
        "truth_valid_at": "2024-05-01T00:00:00Z",
        "known_at": kept.notes["known_at"],
    }
    assert before == {"claim_ids": ["home"], "score": 0.7, "valid_from": "mine"}
    json.dumps(dict(kept.notes))


def test_what_another_judgement_said_does_not_stay(town: Ledger) -> None:
    forged = {"truth_status": "corroborated", "truth_verdict": "ok", "truth_reason": "none"}
    found = [Found("a", {"claim_ids": "home", **forged}), Found("b", dict(forged))]
    kept, flagged = at(town, unknown="flag").filter(found)
    assert kept.metadata["truth_status"] == "reported"
    assert flagged.metadata["truth_status"] == "unknown"
    assert flagged.metadata["truth_reason"] == "missing_annotation"
    for one in (kept, flagged):
        assert one.metadata["truth_verdict"] is None
    assert kept.metadata["truth_reason"] is None
    (as_it_is,) = at(town, unknown="keep").filter(found[1:])
    assert as_it_is.metadata == dict.fromkeys(forged)


def test_what_is_not_held_is_left_out_with_its_reason_and_standing(town: Ledger) -> None:
    found = [
        Found("Ada lives in London.", {"claim_ids": ["home"]}, "d1"),
        Found("Ada lives in Lisbon.", {"claim_ids": ["moved/replacement"]}, "d2"),
        Found("Nobody declared anything.", {}, "d3"),
        Found("Of what is not there.", {"claim_ids": ["nowhere"]}, "d4"),
    ]
    sifting = at(town, "2024-07-01").filter(found)
    assert list(statuses(sifting)) == ["d2"]
    assert reasons(sifting) == {
        "d1": "missing_fact",
        "d3": "missing_annotation",
        "d4": "missing_fact",
    }
    assert [left.standing for left in sifting.left_out] == ["superseded", None, "not_yet_known"]


def test_a_result_whose_id_is_one_of_the_ledgers_rests_on_that(town: Ledger) -> None:
    ids = ["home", "home/support", "note", "quote"]
    found = [Found("Ada lives in London.", id=id) for id in ids]
    assert list(statuses(at(town).filter(found))) == ids
    left = reasons(at(town, "2024-07-01").filter(found))
    assert set(left) == {"home", "home/support", "note"}  # a citation rests on evidence alone
    kept = at(town).filter(found).kept
    assert [annotated(declared(one.metadata)) for one in kept] == [
        {"claim_ids": '["home"]'},
        {"claim_ids": '["home"]', "support_ids": '["home/support"]'},
        {"artefact_id": "note"},
        {"citation_ids": '["quote"]'},
    ]


def test_a_result_without_words_is_judged_by_what_it_declares(town: Ledger) -> None:
    found = [Found("", {"claim_ids": "home"}, "picture"), Found(" ", {}, "blank"), Found("")]
    sifting = at(town).filter(found)
    assert list(statuses(sifting)) == ["picture"]
    assert reasons(sifting) == {"blank": "missing_annotation", None: "missing_annotation"}


def test_a_summary_with_other_words_is_not_the_registered_one(town: Ledger) -> None:
    assert reasons(at(town).filter([Found("Ada lives there.", id="note")])) == {
        "note": "content_mismatch"
    }


def test_what_is_unknown_is_dropped_flagged_or_kept_as_is_asked(town: Ledger) -> None:
    found = [
        Found("a", {}, "bare"),
        Found("b", {"claim_ids": ["nowhere"]}, "foreign"),
        Found("c", {"source_ids": "nobody"}, "of nobody"),
        Found("d", {"claim_ids": ["home", "nowhere"]}, "half"),
        Found("e", {"claim_ids": 7}, "unreadable"),
        Found("f", {"claim_ids": ["home"]}, "gone"),
    ]
    day = "2024-07-01"
    left = {"half", "unreadable", "gone"}
    assert set(reasons(at(town, day).filter(found))) == left | {"bare", "foreign", "of nobody"}
    flagged = at(town, day, unknown="flag").filter(found)
    assert statuses(flagged) == dict.fromkeys(("bare", "foreign", "of nobody"), "unknown")
    assert set(reasons(flagged)) == left
    kept = at(town, day, unknown="keep").filter(found)
    assert [dict(one.notes) for one in kept] == [{}, {}, {}]
    assert set(reasons(kept)) == left


def test_what_is_unknown_never_gets_into_a_block(town: Ledger) -> None:
    sieve = at(town, unknown="keep")
    view = sieve.view()
    found = [Found("Anything.", {}, "d"), Found("Ada.", {"claim_ids": ["home"]}, "d")]
    block = sieve.assemble("Who?", found, view, budget=500)
    assert block.reasons == {"#1": "missing_annotation"}
    assert "Ada." in block.text


def test_a_score_that_is_no_number_costs_no_result_its_place_in_a_block(town: Ledger) -> None:
    sieve = at(town)
    scores = [float("nan"), float("inf"), None, 0.1]
    found = [Found("Ada.", {"claim_ids": "home"}, f"d{n}", each) for n, each in enumerate(scores)]
    block = sieve.assemble("Who?", found, sieve.view(), budget=2000)
    assert block.ids == ("d0", "d1", "d2", "d3")


def test_a_withdrawn_source_takes_what_names_it(town: Ledger) -> None:
    found = [Found("Ada works at the mill.", {"source_ids": ["rumour"]}, "d")]
    assert statuses(at(town).filter(found)) == {"d": "reported"}
    town.withdraw(doxa.Source("rumour"))
    assert reasons(at(town).filter(found)) == {"d": "missing_support"}


def test_results_are_annotated_by_a_function_where_their_metadata_says_nothing(
    town: Ledger,
) -> None:
    def annotate(found: Found) -> dict[str, Any] | None:
        return {"claim_ids": [found.metadata["row"]]} if "row" in found.metadata else None

    found = [Found("a", {"row": "home"}, "1"), Found("b", {}, "2")]
    found.append(Found("c", {"row": "work", "claim_ids": ["home"]}, "3"))
    sifting = at(town, annotate=annotate).filter(found)
    assert [kept.notes.get("claim_ids") for kept in sifting] == ['["home"]', None]
    assert reasons(sifting) == {"2": "missing_annotation"}


def test_a_view_that_moved_is_refused_and_a_pinned_one_does_not_move(town: Ledger) -> None:
    def annotate(found: Found) -> dict[str, Any]:
        town.claim("something", "else", 1, source="s")
        return {"claim_ids": ["home"]}

    with pytest.raises(doxa.ViewMoved):
        at(town, annotate=annotate).filter([Found("a")])
    pinned = at(town, known_at=town.revision, annotate=annotate)
    assert len(pinned.filter([Found("a")]).kept) == 1


def test_a_call_names_its_own_times(town: Ledger) -> None:
    found = [Found("Ada lives in London.", {"claim_ids": ["home"]}, "d1")]
    sieve = at(town, "2024-07-01")
    assert not sieve.filter(found).kept
    assert sieve.filter(found, valid_at="2024-05-01").kept
    assert sieve.filter(found, known_at=1).kept


def test_without_a_time_the_view_is_of_now(town: Ledger) -> None:
    assert not Sieve(town).filter([Found("Ada lives in London.", {"claim_ids": ["home"]})]).kept


def test_a_path_is_opened_when_it_is_asked_and_never_made(tmp_path: Path) -> None:
    path = tmp_path / "people.doxa"
    sieve = Sieve(path, valid_at="2024-05-01")
    with pytest.raises(doxa.NotALedger):
        sieve.filter([Found("a")])
    assert not path.exists()
    with doxa.open(path) as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
    assert sieve.filter([Found("a", id="home")]).kept
    sieve.close()
    assert sieve.filter([Found("a", id="home")]).kept
    sieve.close()


def test_threads_that_ask_first_open_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "people.doxa"
    doxa.open(path).close()
    sieve = Sieve(path)
    with ThreadPoolExecutor(8) as pool:
        opened = set(pool.map(lambda _: id(sieve.open), range(32)))
    assert len(opened) == 1
    sieve.close()


def test_asynchronous_code_gets_the_same(town: Ledger) -> None:
    found = [Found("a", id="home"), Found("b", id="work"), Found("c")]
    same = at(town).filter(found)
    other = asyncio.run(at(town).afilter(found))
    assert (other.kept, other.left_out) == (same.kept, same.left_out)


def test_what_the_ledger_recalls_comes_as_results(town: Ledger) -> None:
    found = at(town).recall("Where does Ada live?", top_k=2)
    assert str(found.answer.outcome) == "answered"
    kept = {one.found.id: one for one in found}
    assert kept["home"].notes["truth_status"] == "reported"
    assert kept["home"].notes["truth_verdict"] == "unverified"
    assert kept["home"].notes["claim_ids"] == '["home"]'
    assert kept["home"].found.metadata["sources"] == '["register"]'
    assert set(kept["home"].notes) <= {*OURS, *ANNOTATIONS}
    assert kept["note"].found.text == kept["note"].found.item.text
    said = [Found(one.found.item.said, one.metadata, one.found.id) for one in found]
    assert list(statuses(at(town).filter(said))) == list(kept) == ["home", "note"]


def test_what_unknown_may_be_is_said(town: Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="'maybe'; give drop, flag or keep"):
        at(town, unknown="maybe")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "facts": st.lists(st.text(min_size=1), min_size=1),
            "supports": st.lists(st.text(min_size=1), min_size=1),
            "citations": st.lists(st.text(min_size=1), min_size=1),
            "sources": st.lists(st.text(min_size=1), min_size=1),
            "artefact": st.text(min_size=1),
        },
    )
)
def test_what_is_declared_survives_a_store_of_scalars(fields: dict[str, Any]) -> None:
    assert declared(annotated(fields)) == fields
    assert declared(json.loads(json.dumps(annotated(fields)))) == fields


@pytest.mark.parametrize("nothing", [None, "", [], (), float("nan"), "[]"])
def test_what_is_none_declares_nothing(nothing: object) -> None:
    assert declared({"claim_ids": nothing, "artefact_id": None}) == {}


@pytest.mark.filterwarnings("ignore::doxa.adapters.judging.NothingDeclared")
@given(
    st.dictionaries(
        st.sampled_from(["claim_ids", "source_ids", "artefact_id"]),
        st.none()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.lists(st.text() | st.integers() | st.none())
        | st.dictionaries(st.text(), st.integers()),
    ),
    st.text(),
)
def test_no_metadata_gets_through_that_declares_nothing_held(
    metadata: dict[str, Any], text: str
) -> None:
    with doxa.open() as ledger:
        ledger.claim("a", "p", 1, id="held", source="s")
        ledger.withdraw("held")
        for unknown in ("drop", "flag", "keep"):
            sifting = Sieve(ledger, unknown=unknown, valid_at="2024-01-01").filter(
                [Found(text, metadata)]
            )
            assert all(kept.judgement is None for kept in sifting)
            assert len(sifting.kept) + len(sifting.left_out) == 1
