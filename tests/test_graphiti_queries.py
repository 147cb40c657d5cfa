"""What a Graphiti search brings back, judged by a view."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.graphiti import Judged, Truth, import_graph
from doxa.adapters.judging import NothingDeclared
from doxa.engine.errors import CallerError, ViewMoved
from doxa.ledger import Ledger
from tests.graphiti_graph import ACME, ANN, BOB, E1, E2, ENDED, P1, P2, after, before, node

NOW = "2026-06-01"
FOUND = {
    "edges": [{**E1, **ENDED}, E2],
    "edge_reranker_scores": [0.9, 0.5],
    "nodes": after()["nodes"],
    "node_reranker_scores": [0.4, 0.3, 0.2],
    "episodes": [P1, P2],
    "episode_reranker_scores": [0.7, 0.6],
    "communities": after()["communities"],
    "community_reranker_scores": [0.1],
}


@dataclass
class Results:
    """As `SearchResults` is: an object with lists, that makes copies of itself."""

    edges: list[Any] = field(default_factory=list)
    edge_reranker_scores: list[float] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    node_reranker_scores: list[float] = field(default_factory=list)
    episodes: list[Any] = field(default_factory=list)
    episode_reranker_scores: list[float] = field(default_factory=list)
    communities: list[Any] = field(default_factory=list)
    community_reranker_scores: list[float] = field(default_factory=list)

    def model_copy(self, update: dict[str, Any]) -> Results:
        return replace(self, **update)


def left(judged: Judged) -> dict[str, str]:
    return {str(each.found.id): each.reason for each in judged.left_out}


@pytest.fixture
def truth(ledger: Ledger) -> Truth:
    import_graph(ledger, after())
    return Truth(ledger, valid_at=NOW)


def test_invalidated_edges_and_what_quotes_them_are_left_out(truth: Truth) -> None:
    given = copy.deepcopy(FOUND)
    judged = truth.judge(given)
    assert given == FOUND
    assert judged.results == {
        "edges": [E2],
        "edge_reranker_scores": [0.5],
        "nodes": [FOUND["nodes"][1]],
        "node_reranker_scores": [0.3],
        "episodes": [P2],
        "episode_reranker_scores": [0.6],
        "communities": FOUND["communities"],
        "community_reranker_scores": [0.1],
    }
    assert judged.results["edges"][0] is given["edges"][1]  # its own objects
    assert left(judged) == {
        "e1": "missing_fact",
        "n1": "missing_fact",
        "n3": "missing_annotation",  # it says nothing
        "p1": "missing_fact",
    }
    assert judged.notes["e2"]["truth_status"] == "reported"
    assert judged.notes["e2"]["valid_from"] == "2026-03-01T00:00:00Z"
    for note in judged.notes.values():
        assert all(isinstance(value, str | int | None) for value in note.values())


def test_another_day_and_another_knowledge_give_another_answer(
    truth: Truth, ledger: Ledger
) -> None:
    assert set(truth.judge(FOUND, valid_at="2025-01-01").notes) == {"e1", "n1", "p1"}
    then = truth.judge(FOUND, known_at="2025-01-01")
    assert set(then.notes) == {"e1", "p1"}  # the summaries came with the import
    ledger.withdraw("graphiti:edge:e2", reason="wrong")
    assert set(truth.judge(FOUND).notes) == set()


def test_what_only_says_it_may_pass_on_request(truth: Truth, ledger: Ledger) -> None:
    said = Truth(ledger, valid_at=NOW, texts="said")
    assert {"p1", "p2"} <= set(said.judge(FOUND).notes)
    ledger.withdraw(doxa.Source("graphiti:episode:p1"), reason="forged")
    assert "p1" in left(said.judge(FOUND))


def test_an_edge_that_the_ledger_was_not_told_of_again_is_unknown(ledger: Ledger) -> None:
    import_graph(ledger, before())
    truth = Truth(ledger, valid_at=NOW)
    assert left(truth.judge([E1])) == {}
    with pytest.warns(NothingDeclared, match="import what was searched into this ledger first"):
        truth.judge([{**E1, **ENDED}])
    # invalidated, or in other words, since it was recorded
    for stale in ({**E1, **ENDED}, {**E1, "fact": "Ann led Acme."}):
        assert left(truth.judge([stale])) == {"e1": "missing_annotation"}
        flagged = Truth(ledger, valid_at=NOW, unknown="flag").judge([stale])
        assert flagged.notes["e1"]["truth_status"] == "unknown"
    import_graph(ledger, after())
    assert left(truth.judge([{**E1, **ENDED}])) == {"e1": "missing_fact"}
    assert left(truth.judge([{**E1, **ENDED}], valid_at="2025-01-01")) == {}


def test_an_edge_of_changed_words_is_judged_as_the_view_knew_it(ledger: Ledger) -> None:
    import_graph(ledger, before())
    then = ledger.revision
    renamed = {**before(), "nodes": [node("n1", "Ann Smith"), ACME]}
    import_graph(ledger, renamed)
    truth = Truth(ledger, valid_at=NOW)
    judged = truth.judge([E1])
    assert judged.notes["e1"]["claim_ids"] == '["graphiti:edge:e1:2"]'
    was = truth.judge([E1], known_at=then)
    assert was.notes["e1"]["claim_ids"] == '["graphiti:edge:e1"]'


def test_what_is_called_as_something_else_of_the_ledgers_rests_on_nothing(ledger: Ledger) -> None:
    for uuid in ("e1", "n1", "p1"):
        ledger.claim("a", "p", uuid, id=uuid, source="s")
    found = {"edges": [E1], "nodes": [ANN], "episodes": [P1]}
    assert Truth(ledger).judge(found).kept == ()


def test_an_episode_does_not_come_back_when_what_it_said_is_erased(
    truth: Truth, ledger: Ledger
) -> None:
    assert "p2" in truth.judge(FOUND).notes
    claim = "graphiti:edge:e2"
    ledger.withdraw(claim)
    assert "p2" in left(truth.judge(FOUND))
    ledger.archive(claim)
    ledger.purge(claim, with_residue=True)
    assert "p2" in left(truth.judge(FOUND))


def test_an_episode_does_not_come_back_when_what_it_said_is_compacted(ledger: Ledger) -> None:
    def graph(fact: str) -> dict[str, Any]:
        ends = [node("n1", "Ann"), ACME]
        return {"nodes": ends, "edges": [{**E1, "fact": fact}], "episodes": [P1]}

    truth = Truth(ledger, valid_at=NOW)
    import_graph(ledger, graph("Ann leads Acme."))
    import_graph(ledger, graph("Ann heads Acme."))
    assert ledger.compact(older_than=0).claims == 1  # a former version
    assert "p1" in truth.judge({"episodes": [P1]}).notes
    ledger.withdraw("graphiti:edge:e1:2")
    assert "p1" in left(truth.judge({"episodes": [P1]}))
    assert ledger.compact(older_than=0).claims == 1
    assert "p1" in left(truth.judge({"episodes": [P1]}))


def test_results_come_back_in_the_form_in_which_they_came(truth: Truth) -> None:
    assert truth.judge([E1, E2]).results == [E2]
    assert truth.judge((E1, E2)).results == [E2]
    results = Results(**FOUND)
    judged = truth.judge(results)
    assert isinstance(judged.results, Results)
    assert (judged.results.edges, judged.results.edge_reranker_scores) == ([E2], [0.5])
    assert results.edges == FOUND["edges"]
    assert truth.judge([]).results == []
    assert truth.judge(Results()).results == Results()
    short = truth.judge({**FOUND, "edge_reranker_scores": [0.9]}).results
    assert (short["edges"], short["edge_reranker_scores"]) == ([E2], [])


def test_the_context_has_status_and_uuids_and_numbered_citations(
    truth: Truth, ledger: Ledger
) -> None:
    block = truth.context("Who leads Acme?", FOUND, budget=2_000)
    assert "reported, from 2026-03-01, observed 2026-03-01 [1]\n> Bob leads Acme.\n> (edge e2)" in (
        block.text
    )
    assert "> press p2: Bob replaced Ann.\n> (episode p2)" in block.text
    assert "> Bob: Bob leads Acme.\n> (node n2)" in block.text
    assert "(community k1)" in block.text
    assert "Ann leads" not in block.text
    cited = [(1, "press p2, press"), (2, "press p1, press")]
    assert [(c.number, c.text) for c in block.citations] == cited
    assert block.reasons.keys() == {"e1", "n1", "n3", "p1"}
    assert ledger.replay(block.receipt).same
    bare = truth.context("Who leads Acme?", FOUND, budget=2_000, ids=False)
    assert "(edge" not in bare.text
    assert "> Bob leads Acme." in bare.text
    short = truth.context("Who leads Acme?", FOUND, budget=110)
    assert len(short.text) <= 110
    assert "budget_exceeded" in short.reasons.values()


def test_sides_of_a_conflict_are_in_the_context_together(ledger: Ledger) -> None:
    rival = {**E2, "source_node_uuid": "n1", "target_node_uuid": "n4", "fact": "Ann leads Apex."}
    graph = {"nodes": [ANN, ACME, node("n4", "Apex")], "edges": [E1, rival], "episodes": [P1]}
    import_graph(ledger, graph)
    ledger.policy(single_valued="LEADS")
    truth = Truth(ledger, valid_at=NOW)
    block = truth.context("Who leads Acme?", [E1], budget=2_000)
    assert "contested (1 of 2)" in block.text
    assert "Ann leads Apex." in block.text
    assert truth.judge([E1]).notes["e1"]["truth_status"] == "contested"


def test_the_twins_give_the_same(truth: Truth) -> None:
    class Graphiti:
        async def search_(self, query: str, **options: Any) -> Any:
            assert options == {"config": "any"}
            return FOUND

    async def both() -> None:
        one, other = truth.judge(FOUND), await truth.ajudge(FOUND)
        assert (one.results, one.left_out, one.notes) == (
            other.results,
            other.left_out,
            other.notes,
        )
        found = await truth.search(Graphiti(), "Who?", config="any", valid_at=NOW)
        assert found.results == one.results
        block = truth.context("Who?", FOUND, budget=900)
        assert (await truth.acontext("Who?", FOUND, budget=900)).text == block.text

    asyncio.run(both())


def test_a_truth_that_moves_meanwhile_is_told_of(
    truth: Truth, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    sift = truth.sieve.sift

    def moving(*given: Any) -> Any:
        found = sift(*given)
        ledger.claim("x", "y", "z")
        return found

    monkeypatch.setattr(truth.sieve, "sift", moving)
    for call in (truth.judge, lambda found: truth.context("Who?", found)):
        with pytest.raises(ViewMoved):
            call(FOUND)


@pytest.mark.parametrize("given", [None, "text", {}, {"edges": "e1"}, 7])
def test_what_are_no_results_is_refused(given: Any, truth: Truth) -> None:
    with pytest.raises(CallerError):
        truth.judge(given)


def test_items_that_are_none_are_left_out_and_stop_nothing(truth: Truth) -> None:
    odd = {"edges": [None, 7, {}, {"uuid": "e2"}, {**E2, "valid_at": "soon"}, E2], "nodes": [{}]}
    judged = truth.judge(odd)
    assert judged.results["edges"] == [E2]
    assert len(judged.left_out) == 6, judged.left_out
    truth.context("Who?", odd)


@pytest.mark.parametrize("options", [{"unknown": "maybe"}, {"texts": "any"}, {"name": ""}])
def test_options_that_are_none_are_refused(options: Any, ledger: Ledger) -> None:
    with pytest.raises(CallerError):
        Truth(ledger, **options)


def test_a_ledger_may_be_given_as_its_path(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "led") as ledger:
        import_graph(ledger, after())
    truth = Truth(tmp_path / "led", valid_at=NOW)
    assert truth.judge([E1, E2]).results == [E2]
    truth.close()
    with doxa.open(tmp_path / "enc", keys=tmp_path / "keys") as ledger:
        import_graph(ledger, after())
    truth = Truth(tmp_path / "enc", valid_at=NOW, keys=tmp_path / "keys")
    assert truth.judge([E1, E2]).results == [E2]
    truth.close()


def test_a_workspace_of_its_own_is_judged_by_itself(ledger: Ledger) -> None:
    import_graph(ledger, after(), workspace="team")
    assert Truth(ledger, valid_at=NOW, workspace="team").judge([E2]).results == [E2]
    with pytest.warns(NothingDeclared, match="name the workspace that it was imported into"):
        assert Truth(ledger, valid_at=NOW).judge([E2]).results == []
    assert BOB["name"] == "Bob"


@given(st.permutations([0, 1, 2, 3]), st.randoms())
def test_the_order_of_results_does_not_matter_and_the_kept_keep_theirs(
    order: list[int], random: Any
) -> None:
    with doxa.open() as ledger:
        import_graph(ledger, after())
        truth = Truth(ledger, valid_at=NOW)
        edges = [E1, E2, {**E1, **ENDED}, {**E2, "uuid": "e9"}]
        scores = [random.random() for _ in edges]
        given = {
            "edges": [edges[place] for place in order],
            "edge_reranker_scores": [scores[place] for place in order],
        }
        judged = truth.judge(given)
        kept = [place for place in order if edges[place] == E2]
        assert judged.results["edges"] == [edges[place] for place in kept]
        assert judged.results["edge_reranker_scores"] == [scores[place] for place in kept]
