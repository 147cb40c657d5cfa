"""Graphiti itself: what it returned, what it stored, and what it found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from graphiti_core.nodes import EpisodeType
from graphiti_core.search.search_config import SearchResults
from graphiti_core.search.search_config_recipes import COMBINED_HYBRID_SEARCH_RRF
from graphiti_core.search.search_helpers import search_results_to_context_string

import doxa
from doxa.adapters.graphiti import (
    Truth,
    aimport_graph,
    arecord_results,
    import_graph,
    read_graph,
    record_results,
)
from doxa.engine.errors import CallerError
from doxa.ledger import Ledger
from tests.frameworks.scripted_graphiti import opened

NOW = "2026-06-01"
THEN = "2025-01-01"
ASKED = "Who is the CEO of Acme?"
Use = Callable[[Any], Coroutine[Any, Any, Any]]


@pytest.fixture
def ledger() -> Any:
    with doxa.open() as opened_here:
        yield opened_here


async def first(graphiti: Any) -> Any:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    text = "Ann is the CEO of Acme."
    return await graphiti.add_episode("press 2024", text, "press", at, source=EpisodeType.text)


async def second(graphiti: Any) -> Any:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    text = "Bob replaced Ann as CEO of Acme."
    return await graphiti.add_episode("press 2026", text, "press", at, source=EpisodeType.text)


def with_graphiti(use: Use) -> Any:
    async def run() -> Any:
        graphiti = await opened()
        try:
            return await use(graphiti)
        finally:
            await graphiti.close()

    return asyncio.run(run())


def held(ledger: Ledger, valid_at: str, **when: Any) -> set[str]:
    found = ledger.view(valid_at=valid_at, **when).claims(predicate="LEADS")
    return {claim.subject for claim in found}


def test_what_add_episode_returns_is_recorded_before_the_graph_overwrites_it(
    ledger: Ledger,
) -> None:
    async def use(graphiti: Any) -> None:
        one = await first(graphiti)
        done = await arecord_results(ledger, one)
        assert (done.claims, done.set_aside) == (2, ())
        head = ledger.revision
        two = await second(graphiti)
        done = await arecord_results(ledger, two)
        assert (done.claims, done.ended, done.set_aside) == (2, 1, ())
        assert held(ledger, NOW) == {"Bob"}
        assert held(ledger, NOW, known_at=head) == {"Ann"}
        assert held(ledger, THEN) == {"Ann"}
        # an end is recorded at the time that the graph states: the ledger was written before it
        (old,) = [edge for edge in two.edges if edge.expired_at is not None]
        (claim,) = ledger.view(valid_at=THEN).claims(predicate="LEADS")
        before = ledger.view(valid_at=NOW, known_at=head)
        assert str(before.standing(claim.id)) == "reported"
        assert claim.id == f"graphiti:edge:{old.uuid}"
        assert record_results(ledger, two).unchanged
        assert record_results(ledger, one).unchanged
        assert ledger.verify().ok

    with_graphiti(use)


def test_a_stored_graph_is_read_and_its_dump_says_the_same(ledger: Ledger) -> None:
    async def use(graphiti: Any) -> None:
        await first(graphiti)
        before = await read_graph(graphiti.driver)
        assert {name: len(rows) for name, rows in before.items()} == {
            "nodes": 2,
            "edges": 1,
            "episodes": 1,
            "episodic_edges": 2,
            "communities": 0,
            "community_edges": 0,
        }
        import_graph(ledger, before)
        await second(graphiti)
        graph = await read_graph(graphiti.driver, [""])
        done = await aimport_graph(ledger, graph)
        assert (done.ended, done.set_aside) == (1, ())
        assert held(ledger, NOW) == {"Bob"}
        dump = json.loads(
            json.dumps({k: [row.model_dump(mode="json") for row in v] for k, v in graph.items()})
        )
        assert import_graph(ledger, dump).unchanged
        with doxa.open() as other:
            fresh = import_graph(other, dump)
            assert (fresh.claims, fresh.ended) == (4, 1)
            (claim,) = other.view(valid_at=NOW).claims(predicate="LEADS")
            created = next(e.created_at for e in graph["edges"] if e.uuid in claim.id)
            assert claim.recorded_at == created.replace(tzinfo=UTC)
            assert held(other, NOW) == {"Bob"}

    with_graphiti(use)


def test_a_large_graph_is_read_page_by_page(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(graphiti: Any) -> None:
        await first(graphiti)
        await second(graphiti)
        whole = await read_graph(graphiti.driver)
        monkeypatch.setattr("doxa.adapters.graphiti.stored._PAGE", 1)
        paged = await read_graph(graphiti.driver)
        assert {name: sorted(row.uuid for row in rows) for name, rows in paged.items()} == {
            name: sorted(row.uuid for row in rows) for name, rows in whole.items()
        }
        import_graph(ledger, whole)
        assert import_graph(ledger, paged, complete=True).unchanged

    with_graphiti(use)


def test_a_removed_episode_takes_its_evidence_with_it_where_the_graph_is_complete(
    ledger: Ledger,
) -> None:
    async def use(graphiti: Any) -> None:
        one = await first(graphiti)
        await second(graphiti)
        graph = await read_graph(graphiti.driver)
        import_graph(ledger, graph)
        await graphiti.remove_episode(one.episode.uuid)
        rest = await read_graph(graphiti.driver)
        assert import_graph(ledger, rest).withdrawn == ()
        assert held(ledger, THEN) == {"Ann"}
        assert len(import_graph(ledger, rest, complete=True).withdrawn) == 2
        assert held(ledger, THEN) == set()
        assert held(ledger, NOW) == {"Bob"}
        assert import_graph(ledger, graph, complete=True).restored >= 2
        assert held(ledger, THEN) == {"Ann"}

    with_graphiti(use)


def test_a_triplet_and_a_bulk_of_episodes_are_recorded(ledger: Ledger) -> None:
    from graphiti_core.edges import EntityEdge
    from graphiti_core.nodes import EntityNode
    from graphiti_core.utils.bulk_utils import RawEpisode

    async def use(graphiti: Any) -> None:
        at = datetime(2024, 1, 1, tzinfo=UTC)
        raw = RawEpisode(
            name="press 2024",
            content="Ann is the CEO of Acme.",
            source_description="press",
            source=EpisodeType.text,
            reference_time=at,
        )
        bulk = await graphiti.add_episode_bulk([raw])
        assert record_results(ledger, bulk).claims == 2
        ada, mill = (EntityNode(name=name, group_id="") for name in ("Ada", "the mill"))
        edge = EntityEdge(
            group_id="",
            source_node_uuid=ada.uuid,
            target_node_uuid=mill.uuid,
            created_at=at,
            name="WORKS_AT",
            fact="Ada works at the mill.",
            valid_at=at,
        )
        triplet = await graphiti.add_triplet(ada, edge, mill)
        done = record_results(ledger, triplet)
        assert (done.claims, done.set_aside) == (1, ())
        view = ledger.view(valid_at=NOW)
        assert view.value("Ada", "WORKS_AT") == "the mill"
        assert held(ledger, NOW) == {"Ann"}

    with_graphiti(use)


def test_a_search_is_judged_in_its_own_form_with_its_own_scores(ledger: Ledger) -> None:
    async def use(graphiti: Any) -> None:
        truth = Truth(ledger, valid_at=NOW)
        await arecord_results(ledger, await first(graphiti))
        await arecord_results(ledger, await second(graphiti))
        found = await graphiti.search_(ASKED, config=COMBINED_HYBRID_SEARCH_RRF)
        was = found.model_copy(deep=True)
        judged = truth.judge(found)
        assert isinstance(judged.results, SearchResults)
        assert found.model_dump() == was.model_dump()
        assert len(found.edges) == 2
        assert [edge.fact for edge in judged.results.edges] == ["Bob replaced Ann as CEO of Acme."]
        place = found.edges.index(judged.results.edges[0])
        score = found.edge_reranker_scores[place]
        assert judged.results.edge_reranker_scores == [score]
        assert [episode.name for episode in judged.results.episodes] == ["press 2026"]
        assert [node.name for node in judged.results.nodes] == ["Bob"]
        twin = await truth.ajudge(found)
        assert (twin.results, twin.left_out) == (judged.results, judged.left_out)
        again = await truth.search(graphiti, ASKED, config=COMBINED_HYBRID_SEARCH_RRF)
        assert again.notes.keys() == judged.notes.keys()
        edges = await graphiti.search(ASKED)
        assert {edge.fact for edge in truth.judge(edges).results} <= {
            "Bob replaced Ann as CEO of Acme."
        }

        block = truth.context(ASKED, found, budget=2_000)
        assert "Ann is the CEO" not in block.text
        assert "Ann is the CEO" in search_results_to_context_string(found)
        assert f"(edge {judged.results.edges[0].uuid})" in block.text
        assert (await truth.acontext(ASKED, found, budget=2_000)).text == block.text
        past = truth.context(ASKED, found, budget=2_000, valid_at=THEN)
        assert "Ann is the CEO of Acme." in past.text
        assert "Bob" not in past.text

    with_graphiti(use)


def test_what_the_ledger_was_not_told_of_is_unknown(ledger: Ledger) -> None:
    async def use(graphiti: Any) -> None:
        await arecord_results(ledger, await first(graphiti))
        await second(graphiti)
        found = await graphiti.search_(ASKED, config=COMBINED_HYBRID_SEARCH_RRF)
        judged = Truth(ledger, valid_at=NOW).judge(found)
        assert judged.results.edges == []  # neither the new one, nor the old one as it was
        flagged = Truth(ledger, valid_at=NOW, unknown="flag").judge(found)
        assert len(flagged.results.edges) == 2
        assert {note["truth_status"] for note in flagged.notes.values()} >= {"unknown"}

    with_graphiti(use)


def test_communities_are_summaries_of_their_members(ledger: Ledger) -> None:
    async def use(graphiti: Any) -> None:
        await first(graphiti)
        await graphiti.build_communities()
        graph = await read_graph(graphiti.driver)
        assert graph["communities"]
        assert graph["community_edges"]
        done = import_graph(ledger, graph)
        assert done.set_aside == ()
        results = {"communities": graph["communities"]}
        truth = Truth(ledger, valid_at=NOW)
        assert truth.judge(results).left_out == ()
        (edge,) = graph["edges"]
        ledger.withdraw(f"graphiti:edge:{edge.uuid}", reason="wrong")
        assert len(truth.judge(results).left_out) == len(graph["communities"])

    with_graphiti(use)


def test_groups_are_given_as_a_list() -> None:
    with pytest.raises(CallerError, match="group_ids"):
        asyncio.run(read_graph(object(), "one"))
