"""What a result rests on: what it declares in whatever form, what is said of it, what its id names,
and what the ledger never had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import doxa
from doxa.adapters.annotations import declared
from doxa.adapters.answering import block
from doxa.adapters.judging import Found, NothingDeclared, Sieve, Sifting
from doxa.engine.errors import CallerError, ViewMoved
from doxa.ledger import Ledger

DAY = "2024-05-01"


@pytest.fixture
def town() -> Iterator[Ledger]:
    """A ledger in which something is held, something was taken back, and others have theirs."""
    with doxa.open() as ledger:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
        ledger.claim("ada", "works_at", "mill", id="gone", source="rumour")
        ledger.withdraw("gone", reason="hearsay", id="taken back")
        ledger.claim("bob", "lives_in", "Rome", id="theirs", source="r", workspace="w2")
        ledger.summarize("Ada lives in London.", facts=["home"], id="note")
        yield ledger


def reasons(sifting: Sifting) -> dict[str | None, str]:
    return {left.found.id: left.reason for left in sifting.left_out}


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (np.array(["home", "gone"]), ["home", "gone"]),
        (pd.Series(["home"]), ["home"]),
        ({"home", "gone"}, ["gone", "home"]),
        (iter(["gone"]), ["gone"]),
        (' ["home", "gone"]', ["home", "gone"]),
        ({"workspace": "w2", "id": "theirs"}, [{"workspace": "w2", "id": "theirs"}]),
        ('{"workspace": "w2", "id": "theirs"}', [{"workspace": "w2", "id": "theirs"}]),
        ("[home]", ["[home]"]),
    ],
)
def test_ids_are_read_in_whatever_holds_them(value: Any, same: list[Any]) -> None:
    assert declared({"claim_ids": value}) == {"facts": same}


@pytest.mark.parametrize("value", ["note", ["note"], '["note"]', ("note",)])
def test_a_summary_is_named_by_itself_or_in_a_list(town: Ledger, value: Any) -> None:
    found = [Found("Ada lives in London.", {"artefact_id": value}, "d")]
    assert [kept.found.id for kept in Sieve(town, valid_at=DAY).filter(found)] == ["d"]


@pytest.mark.parametrize(
    "nothing", [np.array([]), set(), pd.NA, pd.NaT, np.float32("nan"), pd.Series([], dtype=object)]
)
def test_what_data_frames_write_for_none_declares_nothing(town: Ledger, nothing: Any) -> None:
    with pytest.warns(NothingDeclared):
        sifting = Sieve(town, valid_at=DAY).filter([Found("a", {"claim_ids": nothing}, "d")])
    assert reasons(sifting) == {"d": "missing_annotation"}


@pytest.mark.parametrize(
    "value",
    ["theirs", ["gone", "nowhere"], '["gone", "no', '{"id": "gone"}', [""], b"gone", np.array(5)],
)
@pytest.mark.parametrize("unknown", ["flag", "keep"])
def test_what_the_ledger_has_or_cant_read_is_not_unknown(
    town: Ledger, value: Any, unknown: Any
) -> None:
    found = [Found("Words.", {"claim_ids": value}, "d")]
    assert Sieve(town, valid_at=DAY, unknown=unknown).filter(found).kept == ()


@pytest.mark.parametrize("id", ["theirs", "taken back", "gone", "gone/support"])
def test_a_result_that_is_called_as_something_of_the_ledgers_is_not_unknown(
    town: Ledger, id: str
) -> None:
    assert Sieve(town, valid_at=DAY, unknown="keep").filter([Found("Words.", {}, id)]).kept == ()


def test_what_was_compacted_is_not_unknown(town: Ledger) -> None:
    town.claim("x", "p", 1, id="x1", source="s")
    town.withdraw("x1")
    assert town.compact(older_than=0).claims == 2  # and what was taken back before
    found = [Found("x", {"claim_ids": ["x1"]}, "d1"), Found("x", {}, "x1"), Found("x", {}, "new")]
    (kept,) = Sieve(town, unknown="keep").filter(found)
    assert kept.found.id == "new"


def test_a_quote_of_what_was_taken_back_is_not_kept_though_its_evidence_is_live(
    town: Ledger,
) -> None:
    source = doxa.Source("hall", quote="Born in Oslo, she says.")
    town.claim("ada", "born_in", "Oslo", id="born", source=source)
    sieve = Sieve(town, valid_at=DAY)
    quotes = [
        Found(one.found.text, one.metadata, one.found.id)
        for one in sieve.recall("Born in Oslo", tier="quote")
    ]
    assert [one.id for one in quotes] == ["born/support"]
    bare = [Found(one.text, {}, one.id) for one in quotes]
    assert sieve.filter([*quotes, *bare]).left_out == ()
    town.withdraw("born")
    assert [left.standing for left in sieve.filter([*quotes, *bare]).left_out] == ["retracted"] * 2


def test_a_place_in_a_list_is_no_id_of_the_ledgers(town: Ledger) -> None:
    for id in ("0", "1", "#1"):
        town.summarize(f"Note {id}.", facts=["home"], id=id)
    found = [Found("a", {}, "d"), Found("Note 1.", {}, "e")]
    with pytest.warns(NothingDeclared):
        sifting = Sieve(town, valid_at=DAY).filter(found)
    assert set(reasons(sifting).values()) == {"missing_annotation"}


def test_in_a_block_no_result_takes_the_place_of_another(town: Ledger) -> None:
    sieve, rests = Sieve(town, valid_at=DAY), {"claim_ids": "home"}
    ids = [None, "#1", " ", "\ud800", "##1", "twice", "twice"]
    found = [Found(f"Text {place}.", rests, id) for place, id in enumerate(ids)]
    made = sieve.assemble("Where?", found, sieve.view(), budget=5_000)
    assert len(made.printed) == len(ids)
    assert not made.left_out


@pytest.mark.parametrize("said", [5, "home", ["home"]])
def test_what_says_what_results_rest_on_gives_a_mapping(town: Ledger, said: Any) -> None:
    sieve = Sieve(town, valid_at=DAY, annotate=lambda _: said)
    with pytest.raises(CallerError, match="for the result 'd'; it gives a mapping"):
        sieve.filter([Found("a", {}, "d")])


def test_what_is_said_of_a_result_is_all_and_none_leaves_it_to_its_id(town: Ledger) -> None:
    found = [Found("Other words.", {}, "home")]
    nothing = Sieve(town, valid_at=DAY, annotate=lambda _: {}).filter(found)
    assert reasons(nothing) == {"home": "missing_annotation"}
    assert Sieve(town, valid_at=DAY, annotate=lambda _: None).filter(found).left_out == ()


# -- what was recalled


def test_what_was_recalled_with_a_warning_is_judged_again_and_keeps_it(town: Ledger) -> None:
    sieve = Sieve(town, valid_at=DAY)
    recalled = [
        Found(one.found.text, one.metadata, one.found.id)
        for one in sieve.recall("Where does Ada live?")
    ]
    assert {one.id: one.text for one in recalled}["note"] == "[unverified] Ada lives in London."
    again = sieve.filter(recalled)
    assert again.left_out == ()
    assert [kept.found.text for kept in again] == [one.text for one in recalled]
    made = sieve.assemble("Where?", recalled, sieve.view(), budget=2_000)
    assert not made.left_out
    assert "> Ada lives in London." in made.text


def test_a_contested_summary_is_judged_again_by_its_words(town: Ledger) -> None:
    town.policy(single_valued="lives_in")
    town.claim("ada", "lives_in", "Paris", id="rival", source="letter")
    sieve = Sieve(town, valid_at=DAY)
    hits = {one.found.id: one for one in sieve.recall("Where does Ada live?")}
    text = hits["note"].found.text
    assert text == '[contested by "rival": not settled] Ada lives in London.'
    assert sieve.filter([Found(text, {"artefact_id": "note"}, "d")]).left_out == ()


@pytest.mark.parametrize(
    "words",
    [
        "[ok] Ada lives in London.",
        "[unverified] [unverified] Ada lives in London.",
        "[unverified]Ada lives in London.",
        '[contested by "obey me": not settled] Ada lives in London.',
        '[contested by "home", "\\u0061": not settled] Ada lives in London.',
        "[superseded: not current] Ada lives in London.",
    ],
)
def test_other_words_are_no_warning(town: Ledger, words: str) -> None:
    sifting = Sieve(town, valid_at=DAY).filter([Found(words, {"artefact_id": "note"}, "d")])
    assert reasons(sifting) == {"d": "content_mismatch"}


# -- what is erased meanwhile


def erase(ledger: Ledger) -> None:
    ledger.archive("home")
    ledger.purge("home", with_residue=True)


def test_what_is_erased_after_it_was_judged_at_a_pinned_view_is_not_handed_on(
    town: Ledger,
) -> None:
    sieve = Sieve(town, valid_at=DAY, known_at=town.revision)
    view = sieve.view()
    assert len(sieve.sift([Found("a", {"claim_ids": "home"})], view).kept) == 1
    erase(town)
    with pytest.raises(ViewMoved, match="something was erased since the view of revision"):
        sieve.still(view)
    assert sieve.filter([Found("a", {"claim_ids": "home"}, "d")]).kept == ()


@pytest.mark.parametrize("found", [None, [Found("a", {"claim_ids": "home"}, "d")]])
def test_a_block_of_a_pinned_view_is_made_anew_where_something_is_erased(
    town: Ledger, found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Callable[..., Any] = town.assemble
    texts = []

    def meanwhile(*args: Any, **options: Any) -> Any:
        done = made(*args, **options)
        texts.append(done.text)
        if len(texts) == 1:
            erase(town)
        return done

    monkeypatch.setattr(town, "assemble", meanwhile)
    sieve = Sieve(town, valid_at=DAY, known_at=town.revision)
    answer = block(sieve, "Where does Ada live?", found=found)
    assert [bool(text) for text in texts] == [True, False]
    assert answer.text == ""


def test_another_process_that_erases_is_seen(tmp_path: Any) -> None:
    with doxa.open(tmp_path / "ledger") as ledger, doxa.open(tmp_path / "ledger") as other:
        ledger.claim("ada", "lives_in", "London", id="home", source="register")
        sieve = Sieve(ledger, valid_at=DAY, known_at=ledger.revision)
        view = sieve.view()
        sieve.sift([Found("a", {"claim_ids": "home"})], view)
        erase(other)
        with pytest.raises(ViewMoved):
            sieve.still(view)
