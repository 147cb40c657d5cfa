"""An index of Microsoft GraphRAG in a ledger: what it says, rests on, and no longer says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.graphrag import VOCABULARY, IndexImport, aliases_of, import_index, read_tables
from doxa.engine import times
from doxa.ledger import Ledger
from tests.graph_indexes import A0, A1, B0, B1, STORY, Rows, index, story, written

Shared = Callable[..., Path]
NOW = "2026-06-01"


def imported(ledger: Ledger, folder: Path, rows: Rows, **more: Any) -> IndexImport:
    for file in folder.glob("*.parquet"):
        file.unlink()
    return import_index(ledger, written(folder, rows), index="story", **more)


def rests(rows: Rows, table: str, number: int, **more: Any) -> Any:
    (found,) = aliases_of(rows, index="story", **more).of(table, number=number)
    return found


def eligible(ledger: Ledger, *ids: str | None, at: str = NOW) -> list[bool]:
    view = ledger.view(valid_at=at)
    return [judged.eligible for judged in ledger.judge([id for id in ids if id], view)]


def reports(ledger: Ledger, rows: Rows) -> dict[int, bool]:
    every = [r for r in aliases_of(rows, index="story") if r.table == "community_reports"]
    return {r.number or 0: eligible(ledger, r.artefact) == [True] for r in every}


# ---------------------------------------------------------------- what becomes of rows


def test_rows_become_claims_evidence_and_summaries(ledger: Ledger, tmp_path: Path) -> None:
    rows = story()
    done = imported(ledger, tmp_path, rows)
    assert done.runs[0].kinds == {"claim": 12, "summary": 7, "support": 15}
    assert not done.set_aside
    view = ledger.view(valid_at=NOW)
    assert view.values("ACME", "IS_A") == ("ORGANIZATION",)
    assert view.values("BOB", "RELATED_TO") == ("ACME",)
    acme = rests(rows, "entities", 1)
    assert view.standing(acme.claims[0]) == doxa.Standing.CORROBORATED
    assert len(acme.supports) == 3
    assert len(acme.sources) == 2
    assert set(done.documents.values()) == {"alice.txt", "bob.txt"}
    assert ledger.verify().ok


def test_what_is_suspected_is_a_hypothesis_and_what_is_denied_is_refuted(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    view = ledger.view(valid_at=NOW)
    fact, suspected, denied = (rests(rows, "covariates", n) for n in range(3))
    standings = [view.standing(r.claims[0]).value for r in (fact, suspected, denied)]
    assert standings == ["reported", "hypothesis", "unsupported"]
    assert (fact.facts, fact.supports) == (fact.claims, ())
    assert suspected.facts == denied.facts == ()
    assert suspected.supports == suspected.evidence
    assert denied.supports == denied.evidence
    # a text about them depends on their evidence, since neither is ever held
    assert reports(ledger, rows) == {0: True, 1: True}
    ledger.withdraw(suspected.evidence[0])
    assert reports(ledger, rows) == {0: True, 1: False}


def test_a_claim_of_one_text_unit_and_its_denial_in_another_contest(
    ledger: Ledger, tmp_path: Path
) -> None:
    same = {"description": "Acme paid bribes.", "type": "BRIBERY"}
    rows = story(claims=[{"unit": A1, **same}, {"unit": B0, "status": "FALSE", **same}])
    imported(ledger, tmp_path, rows)
    one, other = rests(rows, "covariates", 0), rests(rows, "covariates", 1)
    assert one.claims == other.claims
    assert ledger.view(valid_at=NOW).standing(one.claims[0]) == doxa.Standing.CONTESTED


def test_one_text_unit_in_two_documents_is_two_pieces_of_evidence_and_either_is_enough(
    ledger: Ledger, tmp_path: Path
) -> None:
    copy = {"alice.txt": [A0, A1], "copy.txt": ["Preface.", A1], "bob.txt": [B0, B1]}
    rows = story(documents=copy, reports={0: "Fined [Data: Sources (1)]."})
    rows["text_units"] = [
        {**unit, "human_readable_id": n} for n, unit in enumerate(rows["text_units"])
    ]
    imported(ledger, tmp_path, rows)
    fine, acme = rests(rows, "covariates", 0), rests(rows, "entities", 1)
    assert len(fine.evidence) == 2
    assert len(fine.sources) == 2
    first, second = fine.sources
    ledger.withdraw(doxa.Source(second))
    kept = eligible(ledger, *fine.claims, acme.artefact, *acme.facts)
    assert kept == [True] * len(kept)
    assert reports(ledger, rows) == {0: True}
    ledger.withdraw(doxa.Source(first))
    assert eligible(ledger, *fine.claims) == [False]
    assert reports(ledger, rows) == {0: False}


def test_a_document_that_is_one_text_unit_vouches_for_it_beside_a_longer_one(
    ledger: Ledger, tmp_path: Path
) -> None:
    for copy in ({"short.txt": [A1], "long.txt": [A0, A1]}, {"long.txt": [A0, A1], "z.txt": [A1]}):
        rows = story(documents={**copy, "bob.txt": [B0, B1]})
        fine = rests(rows, "covariates", 0)
        assert len(fine.sources) == len(fine.evidence) == 2
    imported(ledger, tmp_path, rows)
    (short,) = (rests(rows, "text_units", n) for n in (2,))
    for source in fine.sources:
        assert eligible(ledger, *fine.claims) == [True]
        ledger.withdraw(doxa.Source(source))
    assert short.sources == fine.sources
    assert eligible(ledger, *fine.claims) == [False]


def test_withdrawing_one_document_leaves_what_does_not_rest_on_it(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    alice, acme, bob = (rests(rows, "entities", n) for n in range(3))
    source = rests(rows, "text_units", 0).sources[0]
    ledger.withdraw(doxa.Source(source), reason="retracted")
    claims = eligible(ledger, *alice.claims, *acme.claims, *bob.claims)
    assert claims == [False, True, True]
    # Acme's description was made from both documents: nobody knows what of it is left
    assert eligible(ledger, alice.artefact, acme.artefact, bob.artefact) == [False, False, True]
    assert reports(ledger, rows) == {0: False, 1: True}


def test_valid_time_that_is_not_stated_is_assumed_and_the_policy_says_what_dates_are(
    ledger: Ledger, tmp_path: Path
) -> None:
    dates = [
        {"start_date": "2021-05-03T00:00:00", "end_date": "2021-05-04"},
        {"start_date": "2021-05"},
        {"end_date": "2021"},
        {"start_date": "2021-05-04", "end_date": "2021-05-03"},
        {"start_date": "NONE"},
        {"start_date": "springtime"},
    ]
    rows = story(claims=[{"unit": A1, **d} for d in dates], reports={})
    spans: list[tuple[str | None, str | None, bool]] = []
    done = imported(ledger, tmp_path, rows, dates="valid")
    for n in range(len(dates)):
        (id,) = rests(rows, "covariates", n, dates="valid").claims
        event = ledger._stream.payload(_position(ledger, id))
        span = times.shown(event.valid_from), times.shown(event.valid_to)  # type: ignore[attr-defined]
        spans.append((*span, event.assumed is None))  # type: ignore[attr-defined]
    assert spans == [
        ("2021-05-03", "2021-05-05", True),
        ("2021-05-01", "open", False),
        ("open", "2022-01-01", False),
        ("open", "open", False),
        ("open", "open", False),
        ("open", "open", False),
    ]
    assert done.runs[0].dates == {
        **{"given": 1, "start only": 1, "end only": 1, "inverted": 1, "missing": 1},
        "unreadable": 1,
    }
    assert [remark.row for remark in done.runs[0].remarks] == [3, 5]
    with doxa.open() as other:
        imported(other, tmp_path, rows)  # observed
        seen = [
            other._stream.payload(_position(other, rests(rows, "covariates", n).evidence[0]))
            for n in range(len(dates))
        ]
        said = [e.source.observed_at for e in seen]  # type: ignore[attr-defined]
        days = [None if at is None else times.shown(at) for at in said]
        assert days == ["2021-05-03", "2021-05-01", "2021-01-01", None, None, None]
    with doxa.open() as third:
        imported(third, tmp_path, rows, dates="ignore")
        event = third._stream.payload(
            _position(third, rests(rows, "covariates", 0, dates="ignore").evidence[0])
        )
        assert event.source.observed_at is None  # type: ignore[attr-defined]


def _position(ledger: Ledger, id: str) -> int:
    graph = ledger._stream.capture()[0].belief.graph
    return graph.position_of(graph.find("", id))


def test_every_entity_and_relationship_says_that_its_valid_time_is_assumed(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    for table in ("entities", "relationships", "text_units"):
        event = ledger._stream.payload(_position(ledger, rests(rows, table, 0).claims[0]))
        assert event.assumed == "no valid time is stated: taken as unbounded"  # type: ignore[attr-defined]


def test_words_of_another_language_are_known_or_given(ledger: Ledger, tmp_path: Path) -> None:
    claims = [
        {"unit": A0, "status": "真实", "object_id": "无"},
        {"unit": A1, "status": "疑似"},
        {"unit": B0, "status": "**True**"},
        {"unit": B1, "status": "vrai"},
    ]
    rows = story(
        claims=claims,
        reports={0: "[数据\uff1a实体\uff080、2\uff09\uff1b关系\uff080\uff0c+更多\uff09]"},
    )
    done = imported(ledger, tmp_path, rows)
    assert [one.row for one in done.set_aside] == [3]
    assert "'vrai'" in done.set_aside[0].reason
    assert done.runs[0].resolved == 3
    assert done.runs[0].bound[0].reasons == ("its lists are cut (+more)",)
    french = VOCABULARY.extended({"true": ["Vrai"]})
    again = imported(ledger, tmp_path, rows, vocabulary=french)
    assert not again.set_aside
    assert again.events == 3  # the claim, its evidence, and the report on the whole community


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"true": "yes"}, "give a list of words"),
        ({"true": [1]}, "words are text"),
        ({"maybe": ["x"]}, "has no 'maybe'"),
        ({"false": ["TRUE"]}, "can't mean true and false"),
        ({"datasets": {"Entidades": "tables"}}, "give one of entities"),
        ({"datasets": ["Entidades"]}, "give a mapping"),
    ],
)
def test_a_vocabulary_that_can_not_be_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(doxa.CallerError, match=said):
        VOCABULARY.extended(more)


# ---------------------------------------------------------------- imported again


def test_the_same_index_again_changes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    rows = story()
    first = imported(ledger, tmp_path, rows)
    head = ledger.revision
    again = imported(ledger, tmp_path, story())  # with other ids of rows
    assert (again.events, again.repeated) == (0, first.events)
    assert ledger.revision == head
    assert not again.not_repeated
    assert not again.withdrawn
    assert not again.runs[0].stale


def test_what_vanished_with_its_text_unit_is_withdrawn_and_what_is_not_repeated_is_told(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    before = {n: rests(rows, "covariates", n) for n in range(3)}
    edited = {"alice.txt": [A0, A1], "bob.txt": [B0]}
    # Bob's document is another one now; the claim of A1 is not repeated
    claims = [{"unit": B0, "subject_id": "BOB", "type": "LEAK", "status": "SUSPECTED"}]
    done = imported(
        ledger,
        tmp_path,
        story(documents=edited, claims=claims, entities=[("BOB", "PERSON", "Bob.", [B0])],
              relationships=[], communities={}, reports={}),
    )  # fmt: skip
    bob = before[2]
    assert set(bob.evidence) <= set(done.withdrawn)
    assert set(before[0].evidence) <= set(done.not_repeated)
    assert not set(done.withdrawn) & set(done.not_repeated)
    # it stands all the same: another run words the same text otherwise
    assert eligible(ledger, *before[0].claims) == [True]
    assert done.runs[0].stale
    again = imported(
        ledger,
        tmp_path,
        story(documents=edited, claims=claims, entities=[("BOB", "PERSON", "Bob.", [B0])],
              relationships=[], communities={}, reports={}),
    )  # fmt: skip
    assert again.events == 0
    assert not again.withdrawn


def test_what_comes_back_counts_again_and_may_go_again(ledger: Ledger, tmp_path: Path) -> None:
    whole, part = story(), story(
        documents={"alice.txt": STORY["alice.txt"]},
        entities=[("ALICE", "PERSON", "Alice is the founder of Acme.", [A0])],
        relationships=[], claims=[], communities={}, reports={},
    )  # fmt: skip
    imported(ledger, tmp_path, whole)
    bob = rests(whole, "entities", 2)
    start = ledger.view(valid_at=NOW).fingerprint
    for turn in range(3):
        gone = imported(ledger, tmp_path, part)
        assert set(bob.evidence) <= set(gone.withdrawn), turn
        assert eligible(ledger, *bob.claims, bob.artefact) == [False, False]
        back = imported(ledger, tmp_path, whole)
        assert sorted(back.restored) == sorted(gone.withdrawn)
        assert eligible(ledger, *bob.claims, bob.artefact) == [True, True]
        assert ledger.view(valid_at=NOW).fingerprint == start
    assert ledger.verify().ok


def test_what_somebody_withdrew_does_not_come_back_with_the_index(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    alice, acme, fine = (
        rests(rows, "entities", 0), rests(rows, "entities", 1), rests(rows, "covariates", 0)
    )  # fmt: skip
    ledger.withdraw(doxa.Source(alice.sources[0]), reason="forged")
    ledger.withdraw(acme.evidence[2], reason="misread")
    head = ledger.revision
    again = imported(ledger, tmp_path, rows)
    assert again.events == 0
    assert ledger.revision == head
    assert eligible(ledger, *alice.claims, *acme.claims, *fine.claims) == [False] * 3
    # nor with another cut of the same document
    recut = story(documents={"alice.txt": [f"{A0} {A1}"], "bob.txt": STORY["bob.txt"]},
                  entities=[("ALICE", "PERSON", "Alice is a founder.", [f"{A0} {A1}"])],
                  relationships=[], claims=[], communities={}, reports={})  # fmt: skip
    imported(ledger, tmp_path, recut)
    assert eligible(ledger, *rests(recut, "entities", 0).claims) == [False]


def test_what_somebody_restored_by_hand_is_not_withdrawn_again(
    ledger: Ledger, tmp_path: Path
) -> None:
    whole = story()
    part = story(documents={"alice.txt": STORY["alice.txt"]}, entities=[], relationships=[],
                 claims=[], communities={}, reports={})  # fmt: skip
    imported(ledger, tmp_path, whole)
    imported(ledger, tmp_path, part)
    bob = rests(whole, "entities", 2)
    for id in bob.evidence:
        ledger.withdraw(f"{id}/gone-1", reason="it stays")
    again = imported(ledger, tmp_path, part)
    assert again.events == 0
    assert not again.withdrawn
    assert eligible(ledger, *bob.claims) == [True]


def test_an_index_of_which_nothing_is_left_is_taken_for_another_one(
    ledger: Ledger, tmp_path: Path
) -> None:
    imported(ledger, tmp_path, story())
    other = index({"other.txt": ["Something else."]}, [("X", "Y", "z", ["Something else."])])
    head = ledger.revision
    with pytest.raises(doxa.CallerError, match="none of them is among the 1"):
        imported(ledger, tmp_path, other)
    assert ledger.revision == head
    done = imported(ledger, tmp_path, other, replace=True)
    assert len(done.withdrawn) == 15


@pytest.mark.parametrize("lost", ["table", "texts", "row"])
def test_what_was_withdrawn_does_not_come_back_when_its_document_is_not_there(
    ledger: Ledger, tmp_path: Path, lost: str
) -> None:
    rows = story()
    imported(ledger, tmp_path, rows)
    alice = rests(rows, "entities", 0)
    ledger.withdraw(doxa.Source(alice.sources[0]), reason="forged")
    less = {**rows, "documents": [] if lost == "table" else rows["documents"][1:]}
    if lost == "texts":
        less["documents"] = [{**row, "text": None} for row in rows["documents"]]
    before = ledger.revision
    with pytest.raises(doxa.CallerError, match="what was withdrawn with one would come back"):
        imported(ledger, tmp_path, less)
    assert ledger.revision == before
    assert eligible(ledger, *alice.claims) == [False]
    assert imported(ledger, tmp_path, rows).events == 0
    assert imported(ledger, tmp_path, less, replace=True).events
    assert imported(ledger, tmp_path, less, replace=True).events == 0


def test_an_index_without_documents_is_imported_again_and_may_get_them(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    less = {**rows, "documents": []}
    assert imported(ledger, tmp_path, less).events
    assert imported(ledger, tmp_path, less).events == 0
    done = imported(ledger, tmp_path, rows)
    assert len(done.withdrawn) == done.runs[0].kinds["support"]  # each from another source now
    assert imported(ledger, tmp_path, rows).events == 0


def test_two_indexes_in_one_ledger_leave_each_other_alone(ledger: Ledger, tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", story()), written(tmp_path / "two", story(claims=[]))
    first = import_index(ledger, one)
    second = import_index(ledger, two)
    assert (first.index, second.index) == ("one", "two")
    part = index({"alice.txt": STORY["alice.txt"]}, [("ALICE", "PERSON", "She.", [A0])])
    for file in two.glob("*.parquet"):
        file.unlink()
    gone = import_index(ledger, written(two, part))
    assert gone.withdrawn
    assert all(id.startswith("graphrag/two/") for id in gone.withdrawn)
    assert import_index(ledger, one).events == 0
    (bob,) = aliases_of(read_tables(one), index="one").of("entities", number=2)
    assert eligible(ledger, *bob.claims, bob.artefact) == [True, True]


def test_workspaces_are_apart(ledger: Ledger, tmp_path: Path) -> None:
    rows = story()
    first = imported(ledger, tmp_path, rows, workspace="a")
    second = imported(ledger, tmp_path, rows, workspace="b")
    assert first.events == second.events
    assert ledger.view(valid_at=NOW, workspace="a").values("ACME", "IS_A") == ("ORGANIZATION",)
    assert not ledger.view(valid_at=NOW).values("ACME", "IS_A")


def test_a_dry_run_says_what_an_import_does_and_writes_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    rows = story()
    said = imported(ledger, tmp_path, rows, dry_run=True)
    assert ledger.revision == 0
    assert said.dry_run
    assert imported(ledger, tmp_path, rows).events == said.events
    part = story(documents={"alice.txt": STORY["alice.txt"]}, entities=[], relationships=[],
                 claims=[], communities={}, reports={})  # fmt: skip
    head = ledger.revision
    would = imported(ledger, tmp_path, part, dry_run=True)
    assert ledger.revision == head
    assert ledger.claim("x", "y", "z")
    assert ledger.verify().ok
    assert imported(ledger, tmp_path, part).withdrawn == would.withdrawn


def test_a_time_of_recording_is_taken_and_one_that_steps_back_writes_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    done = imported(ledger, tmp_path, story(), recorded_at="2025-01-01")
    assert done.runs[0].recorded_at == "2025-01-01T00:00:00Z"
    more = story(entities=[("NEW", "PERSON", "New.", [A0])], relationships=[], communities={},
                 reports={})  # fmt: skip
    head = ledger.revision
    with pytest.raises(doxa.ClockError, match="2024-01-01"):
        imported(ledger, tmp_path, more, recorded_at="2024-01-01")
    assert ledger.revision == head
    assert imported(ledger, tmp_path, story(), recorded_at="2024-01-01").events == 0


def test_what_says_a_rejected_value_is_kept_out_and_its_rows_are_named(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.reject("ORGANIZATION", predicate="IS_A", reason="no")
    rows = story()
    done = imported(ledger, tmp_path, rows)
    # its evidence and description go with it
    assert {(one.table, one.row) for one in done.kept_out} == {("entities", 1)}
    assert len(done.kept_out) == 5
    assert "ORGANIZATION" not in str(done.kept_out)
    assert reports(ledger, rows) == {0: True, 1: True}
    head = ledger.revision
    assert imported(ledger, tmp_path, rows).events == 0
    assert ledger.revision == head


def test_two_imports_at_once_record_it_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    folder = written(tmp_path / "index", story())
    with doxa.open(tmp_path / "ledger") as one, doxa.open(tmp_path / "ledger") as other:
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda each: import_index(each, folder), [one, other, one]))
        assert sorted(each.events for each in done)[:2] == [0, 0]
        assert other.verify().ok


texts = st.sampled_from([A0, A1, B0, B1])
some_rows = st.builds(
    index,
    documents=st.dictionaries(
        st.sampled_from(["a", "b", "c"]), st.lists(texts, min_size=1, max_size=3), min_size=1
    ),
    entities=st.lists(
        st.tuples(
            st.sampled_from(["X", "Y", '"x"', " "]),
            st.sampled_from(["T", None]),
            st.sampled_from(["one", "two", ""]),
            st.lists(texts, max_size=2),
        ),
        max_size=3,
    ),
    claims=st.lists(
        st.fixed_dictionaries(
            {
                "unit": texts,
                "status": st.sampled_from(["TRUE", "FALSE", "SUSPECTED", "2021"]),
                "subject_id": st.sampled_from(["X", None]),
                "start_date": st.sampled_from(["NONE", "2021", "2021-13"]),
            }
        ),
        max_size=3,
    ),
    reports=st.dictionaries(
        st.integers(0, 2), st.sampled_from(["[Data: Entities (0, 1)]", "[Data: Claims (0, +more)]"])
    ),
)


@given(history=st.lists(some_rows, min_size=1, max_size=4))
def test_after_any_history_of_imports_the_last_one_again_changes_nothing(
    history: Sequence[Rows],
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place, doxa.open() as ledger:
        for rows in history:
            imported(ledger, Path(place), rows, replace=True)
        head = ledger.revision
        again = imported(ledger, Path(place), history[-1], replace=True)
        assert again.events == 0
        assert ledger.revision == head
        # what has evidence now is held, and nothing is that has none in this index or another
        aliases = aliases_of(history[-1], index="story")
        view = ledger.view(valid_at=NOW)
        for row in aliases:
            if row.reason is None and row.facts and not row.supports:
                assert all(view.standing(id).value not in ("unsupported",) for id in row.facts)
        assert ledger.verify().ok


# ---------------------------------------------------------------- the shared indexes


@pytest.mark.parametrize("name", ["graphrag_dulce", "graphrag_dulce_v0", "graphrag_verbs"])
def test_a_real_index_goes_in_once(shared: Shared, ledger: Ledger, name: str) -> None:
    folder = shared("data", name)
    done = import_index(ledger, folder)
    assert done.index == name
    assert done.events == sum(done.runs[0].kinds.values())
    head = ledger.revision
    again = import_index(ledger, folder)
    assert (again.events, again.repeated, ledger.revision) == (0, done.events, head)
    assert ledger.verify().ok


def test_nothing_of_the_large_index_is_dropped_silently(shared: Shared, ledger: Ledger) -> None:
    done = import_index(ledger, shared("data", "graphrag_verbs")).runs[0]
    assert done.rows["covariates"] == 406
    assert Counter(one.reason for one in done.set_aside) == {
        "a piece of a record that was split: it has no type, status and description": 25,
        "it has no type": 2,
    }
    assert done.statuses == {"false": 2, "other": 27, "suspected": 21, "true": 356}
    assert done.dates == {"given": 12, "missing": 367}
    assert sum(done.quotes.values()) == 379
    assert done.quotes["exact"] == 30
    assert (done.resolved, len(done.unresolved)) == (3805, 9)
    assert all("relationships has one" in one.reason for one in done.unresolved)


def test_both_indexings_of_one_story_and_another_one_go_into_one_ledger(
    shared: Shared, ledger: Ledger
) -> None:
    names = ["graphrag_dulce", "graphrag_dulce_v0", "graphrag_verbs"]
    done = {name: import_index(ledger, shared("data", name)) for name in names}
    assert not any(each.withdrawn or each.not_repeated for each in done.values())
    every = {name: aliases_of(read_tables(shared("data", name)), index=name) for name in names}
    told = {name: [r.artefact for r in every[name].in_table("community_reports")] for name in names}
    assert [len(told[name]) for name in names] == [10, 20, 122]
    assert all(all(eligible(ledger, *told[name])) for name in names)
    (source,) = done["graphrag_dulce"].documents
    ledger.withdraw(doxa.Source(source), reason="retracted")
    assert not any(eligible(ledger, *told["graphrag_dulce"]))
    assert all(eligible(ledger, *told["graphrag_dulce_v0"], *told["graphrag_verbs"]))
    view = ledger.view(valid_at=NOW)
    in_both = [
        rests.claims[0]
        for rests in every["graphrag_dulce"].in_table("entities")
        if rests.claims[0] in {r.claims[0] for r in every["graphrag_dulce_v0"].in_table("entities")}
    ]
    assert in_both
    assert all(view.standing(id).value == "reported" for id in in_both)
    alone = {r.claims[0] for r in every["graphrag_dulce"].in_table("entities")} - set(in_both)
    verbs = {r.claims[0] for r in every["graphrag_verbs"].in_table("entities")}
    assert all(view.standing(id).value == "unsupported" for id in alone - verbs)
    assert import_index(ledger, shared("data", "graphrag_dulce")).events == 0


def test_the_name_of_a_folder_of_updates_is_local_time(tmp_path: Path) -> None:
    from doxa.adapters.graphrag.folders import runs_in

    written(tmp_path / "update_output" / "20260131-093000" / "delta", story())
    (run,), notes = runs_in(tmp_path / "update_output")
    assert run.at == datetime(2026, 1, 31, 9, 30).astimezone(UTC)
    assert not run.complete
    assert not notes
