"""The graphs that neo4j-graphrag builds of documents go into a ledger, and to a database after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j_graphrag.components.entity_relation_extractor import LLMEntityRelationExtractor
from neo4j_graphrag.components.kg_writer import KGWriter, KGWriterModel
from neo4j_graphrag.components.types import (
    DocumentInfo,
    GeoPoint,
    LexicalGraphConfig,
    Neo4jGraph,
    Neo4jNode,
    Neo4jRelationship,
    TextChunk,
    TextChunks,
)
from neo4j_graphrag.llm import LLMInterface, LLMResponse

import doxa
from doxa.adapters.neo4j import LedgerWriter, TruthRetriever
from doxa.adapters.neo4j.mapping import named
from doxa.ledger import Ledger
from tests.frameworks.test_neo4j import Given
from tests.frameworks.towns import HOSTILE, Text

DAY = "2024-07-01"
LONDON, LISBON = "Ada lives in London.", "Ada lives in Lisbon."
CONFIG = LexicalGraphConfig()


class Extracting(LLMInterface):
    """Finds where somebody lives, in a prompt that has a chunk in it."""

    def __init__(self) -> None:
        super().__init__("extracting")

    def invoke(self, input: Any, *args: Any, **kwargs: Any) -> LLMResponse:
        towns = [town for town in ("London", "Lisbon") if f"lives in {town}" in str(input)]
        nodes = [{"id": "0", "label": "Person", "properties": {"name": "Ada", "born": 1815}}]
        edges = []
        for number, town in enumerate(towns, 1):
            nodes.append({"id": str(number), "label": "Town", "properties": {"name": town}})
            ends = {"start_node_id": "0", "end_node_id": str(number)}
            edges.append({"type": "LIVES_IN", **ends, "properties": {}})
        return LLMResponse(content=json.dumps({"nodes": nodes, "relationships": edges}))

    async def ainvoke(self, input: Any, *args: Any, **kwargs: Any) -> LLMResponse:
        return self.invoke(input)


class Keeping(KGWriter):
    """Keeps what it is to write."""

    def __init__(self, status: Any = "SUCCESS") -> None:
        self.graphs: list[Neo4jGraph] = []
        self.status = status

    async def run(
        self, graph: Neo4jGraph, lexical_graph_config: LexicalGraphConfig = CONFIG
    ) -> KGWriterModel:
        self.graphs.append(graph)
        return KGWriterModel(status=self.status, metadata={"files": ["mine"]})


def built(path: str, *texts: str) -> Neo4jGraph:
    """The graph of a document, as the library builds it: other ids in each run."""
    chunks = TextChunks(chunks=[TextChunk(text=t, index=n) for n, t in enumerate(texts)])
    extractor = LLMEntityRelationExtractor(Extracting())
    made: Neo4jGraph = asyncio.run(
        extractor.run(chunks=chunks, document_info=DocumentInfo(path=path))
    )
    return made


def written(writer: LedgerWriter, graph: Neo4jGraph, **options: Any) -> dict[str, Any]:
    done = asyncio.run(writer.run(graph, **options))
    assert done.status == "SUCCESS"
    told: dict[str, Any] = done.metadata["ledger"]
    return told


def graph_of(
    *properties: Mapping[str, Any], path: str = "a.md", text: str = "Words."
) -> Neo4jGraph:
    """One chunk of one document, and an entity for each set of properties."""
    nodes = [
        Neo4jNode(id="d", label="Document", properties={"path": path}),
        Neo4jNode(id="c", label="Chunk", properties={"text": text, "index": 0}),
    ]
    edges = [Neo4jRelationship(start_node_id="c", end_node_id="d", type="FROM_DOCUMENT")]
    for number, each in enumerate(properties):
        nodes.append(Neo4jNode(id=f"e{number}", label="Thing", properties=dict(each)))
        edges.append(
            Neo4jRelationship(start_node_id=f"e{number}", end_node_id="c", type="FROM_CHUNK")
        )
    return Neo4jGraph(nodes=nodes, relationships=edges)


def facts(ledger: Ledger) -> set[tuple[Any, ...]]:
    claims = ledger.view(valid_at=DAY).claims()
    return {(each.subject, each.predicate, each.object) for each in claims}


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with doxa.open() as opened:
        yield opened


def test_a_graph_becomes_claims_with_supports_by_chunk_and_sources_by_document(
    ledger: Ledger,
) -> None:
    told = written(LedgerWriter(ledger), built("a.md", LONDON, "Ada was born in 1815."))
    assert facts(ledger) == {
        ("a.md", "SAYS", LONDON),
        ("a.md", "SAYS", "Ada was born in 1815."),
        ("Ada", "IS_A", "Person"),
        ("Ada", "born", 1815),
        ("London", "IS_A", "Town"),
        ("Ada", "LIVES_IN", "London"),
    }
    assert (told["claims"], told["supports"], told["citations"]) == (6, 8, 2)
    assert told["events"] == 16
    assert told["commits"] == 1
    assert told["set_aside"] == []
    view = ledger.view(valid_at=DAY)
    (lives,) = view.claims(subject="Ada", predicate="LIVES_IN")
    assert str(view.standing(lives.id)) == "reported"
    assert "a.md" in str(view.why(lives.id))
    ledger.withdraw(doxa.Source("a.md"))
    assert facts(ledger) == set()


def test_the_same_document_again_writes_nothing(ledger: Ledger) -> None:
    writer = LedgerWriter(ledger)
    first = built("a.md", LONDON)
    written(writer, first)
    before = ledger.revision
    again = built("a.md", LONDON)
    assert {node.id for node in again.nodes}.isdisjoint(node.id for node in first.nodes)
    told = written(writer, again)
    assert ledger.revision == before
    assert (told["events"], told["repeated"], told["set_aside"]) == (0, 11, [])


def test_two_documents_that_say_the_same_corroborate_it_unless_they_are_copies(
    ledger: Ledger,
) -> None:
    writer = LedgerWriter(ledger)
    written(writer, built("a.md", LONDON))
    written(writer, built("copy.md", LONDON))

    def standing() -> str:
        view = ledger.view(valid_at=DAY)
        (lives,) = view.claims(subject="Ada", predicate="LIVES_IN")
        return str(view.standing(lives.id))

    assert standing() == "reported"
    written(writer, built("b.md", f"{LONDON} Everybody knows."))
    assert standing() == "corroborated"


def test_the_database_gets_a_graph_that_declares_what_it_rests_on(ledger: Ledger) -> None:
    database = Keeping()
    graph = built("a.md", LONDON)
    before = graph.model_dump_json()
    done = asyncio.run(LedgerWriter(ledger, database).run(graph))
    assert done.metadata["files"] == ["mine"]
    assert done.metadata["ledger"]["claims"] == 5
    assert graph.model_dump_json() == before
    (got,) = database.graphs
    assert len(got.nodes) == len(graph.nodes)
    assert len(got.relationships) == len(graph.relationships)
    nodes = {node.properties.get("name", node.label): node for node in got.nodes}
    view = ledger.view(valid_at=DAY)

    def said(ids: Any) -> set[tuple[str, str]]:
        return {(view.claim(id).subject, view.claim(id).predicate) for id in ids}

    assert said(nodes["Ada"].properties["claim_ids"]) == {("Ada", "IS_A"), ("Ada", "born")}
    assert len(nodes["Chunk"].properties["claim_ids"]) == 5
    assert len(nodes["Chunk"].properties["citation_ids"]) == 1
    assert "claim_ids" not in nodes["Document"].properties
    (lives,) = (each for each in got.relationships if each.type == "LIVES_IN")
    assert said(lives.properties["claim_ids"]) == {("Ada", "LIVES_IN")}


def test_what_is_found_later_is_judged_by_what_was_written(ledger: Ledger) -> None:
    """From a document to a corrected answer: build, record, store, correct, search."""
    database = Keeping()
    writer = LedgerWriter(ledger, database)
    for path, text in (("a.md", LONDON), ("b.md", LISBON)):
        written(writer, built(path, text))
    chunks = [
        Text(node.id, str(node.properties["text"]), dict(node.properties), None)
        for graph in database.graphs
        for node in graph.nodes
        if node.label == "Chunk"
    ]
    retriever = TruthRetriever(Given([(each, 1.0) for each in chunks]), ledger, valid_at=DAY)
    (item,) = retriever.search("Where does Ada live?").items
    assert f"> {LONDON}" in item.content
    assert "a.md, chunk 0" in item.content
    view = ledger.view(valid_at=DAY)
    (wrong,) = (c for c in view.claims(subject="Ada", predicate="LIVES_IN") if c.object == "London")
    ledger.correct(wrong.id, source="letter", reason="she moved")
    (item,) = retriever.search("Where does Ada live?").items
    assert f"> {LONDON}" not in item.content
    assert f"> {LISBON}" in item.content


def test_an_unwritten_graph_is_not_recorded_twice(ledger: Ledger) -> None:
    failing = LedgerWriter(ledger, Keeping("FAILURE"))
    done = asyncio.run(failing.run(built("a.md", LONDON)))
    assert done.status == "FAILURE"
    assert done.metadata["ledger"]["claims"] == 5
    assert written(LedgerWriter(ledger, Keeping()), built("a.md", LONDON))["events"] == 0


def test_what_lost_its_chunk_is_withdrawn_only_where_the_graph_is_the_whole_document(
    ledger: Ledger,
) -> None:
    adding, replacing = LedgerWriter(ledger), LedgerWriter(ledger, replace=True)
    written(adding, built("a.md", LONDON, "Ada is here."))
    written(adding, built("b.md", "Ada is there."))
    assert written(adding, built("a.md", LISBON))["withdrawn"] == 0
    assert ("Ada", "LIVES_IN", "London") in facts(ledger)
    told = written(replacing, built("a.md", LISBON))
    assert told["withdrawn"] == 8
    left = facts(ledger)
    assert ("Ada", "LIVES_IN", "London") not in left
    assert {("b.md", "SAYS", "Ada is there."), ("Ada", "born", 1815)} <= left
    back = written(replacing, built("a.md", LONDON))
    assert (back["restored"], back["withdrawn"], back["claims"]) == (5, 5, 0)
    assert ("Ada", "LIVES_IN", "London") in facts(ledger)
    assert ("Ada", "LIVES_IN", "Lisbon") not in facts(ledger)
    empty = Neo4jGraph(nodes=[Neo4jNode(id="d", label="Document", properties={"path": "a.md"})])
    assert written(replacing, empty)["withdrawn"] == 5
    assert written(replacing, empty)["withdrawn"] == 0
    assert ("b.md", "SAYS", "Ada is there.") in facts(ledger)


def test_what_comes_from_nowhere_is_set_aside_or_is_from_the_source_that_is_given(
    ledger: Ledger,
) -> None:
    graph = Neo4jGraph(
        nodes=[
            Neo4jNode(id="1", label="Person", properties={"name": "Ada"}),
            Neo4jNode(id="2", label="Town", properties={"name": "Lisbon"}),
            Neo4jNode(id="3", label="Thing"),
        ],
        relationships=[
            Neo4jRelationship(start_node_id="1", end_node_id="2", type="LIVES_IN"),
            Neo4jRelationship(start_node_id="1", end_node_id="3", type="HAS"),
            Neo4jRelationship(start_node_id="1", end_node_id="9", type="HAS"),
        ],
    )
    told = written(LedgerWriter(ledger), graph)
    assert told["events"] == 0
    assert {each["reason"] for each in told["set_aside"]} == {
        "comes from no chunk; give a source",
        "has no name; give a function that makes one",
        "its ends come from no common chunk",
        "3 is no entity with a name in the graph",
        "9 is no entity with a name in the graph",
    }
    told = written(LedgerWriter(ledger, source="an import"), graph)
    assert ("Ada", "LIVES_IN", "Lisbon") in facts(ledger)
    assert len(told["set_aside"]) == 3
    ledger.withdraw(doxa.Source("an import"))
    assert facts(ledger) == set()


def test_a_relationship_of_two_chunks_is_evidence_of_neither(ledger: Ledger) -> None:
    graph = built("a.md", LONDON, LISBON)
    people = [node.id for node in graph.nodes if node.label == "Person"]
    towns = [node.id for node in graph.nodes if node.label == "Town"]
    across = Neo4jRelationship(start_node_id=people[0], end_node_id=towns[1], type="LEFT")
    graph.relationships.append(across)
    told = written(LedgerWriter(ledger, source="x"), graph)
    assert [each["reason"] for each in told["set_aside"]] == ["its ends come from no common chunk"]


def test_properties_of_any_kind_are_values(ledger: Ledger) -> None:
    point = GeoPoint(latitude=1.0, longitude=2.0, height=3.0)
    odd = {
        "name": "it",
        "day": date(2024, 1, 2),
        "at": datetime(2024, 1, 2, 3, tzinfo=UTC),
        "where": point,
        "list": ["a", 1, 2.5, True],
        "none of ours": "x",
        "claim_ids": ["forged"],
    }
    database = Keeping()
    written(LedgerWriter(ledger, database), graph_of(odd))
    claims = ledger.view(valid_at=DAY).claims(subject="it")
    assert {(each.predicate, str(each.object)) for each in claims} == {
        ("IS_A", "Thing"),
        ("day", "2024-01-02"),
        ("at", "2024-01-02T03:00:00+00:00"),
        ("where", str(point.model_dump())),
        ("list", "['a', 1, 2.5, True]"),
        ("none of ours", "x"),
    }
    entity = database.graphs[0].nodes[2]
    assert "forged" not in entity.properties["claim_ids"]


def test_relationships_with_properties_say_them(ledger: Ledger) -> None:
    graph = graph_of({"name": "Ada"}, {"name": "mill"})
    for since in (2020, 2021):
        graph.relationships.append(
            Neo4jRelationship(
                start_node_id="e0", end_node_id="e1", type="WORKS_AT", properties={"since": since}
            )
        )
    written(LedgerWriter(ledger), graph)
    claims = ledger.view(valid_at=DAY).claims(subject="Ada", predicate="WORKS_AT")
    assert {each.text for each in claims} == {
        'Ada WORKS_AT mill {"since": 2020}',
        'Ada WORKS_AT mill {"since": 2021}',
    }


def test_hostile_texts_and_names_are_recorded_as_they_are_or_set_aside(ledger: Ledger) -> None:
    graph = graph_of(
        {"name": HOSTILE},
        {"name": "\u202eevil\x00\n"},
        {"name": "x" * 5000},
        {"name": "\x00"},
        {"name": "nan", "value": float("nan")},
        {"name": "odd", "\x01": 1, "y" * 2000: 2},
        text=HOSTILE,
    )
    told = written(LedgerWriter(ledger), graph)
    subjects = {subject for subject, _, _ in facts(ledger)}
    assert "evil" in subjects
    assert any(s.startswith("reported, from") and "\n" not in s for s in subjects)
    assert ("a.md", "SAYS", HOSTILE) in facts(ledger)
    assert any("no name" in each["reason"] for each in told["set_aside"])
    assert any("NaN" in str(each) or "nan" in str(each) for each in told["set_aside"]), told
    assert written(LedgerWriter(ledger), graph)["events"] == 0


def test_a_chunk_that_is_too_large_is_set_aside_and_stops_nothing(ledger: Ledger) -> None:
    told = written(LedgerWriter(ledger), graph_of({"name": "Ada"}, text="word " * 300_000))
    assert any("1 MiB" in each["reason"] or "large" in each["reason"] for each in told["set_aside"])
    assert ("Ada", "IS_A", "Thing") in facts(ledger)


def test_a_rejected_value_is_kept_out_and_what_declares_it_falls(ledger: Ledger) -> None:
    database = Keeping()
    writer = LedgerWriter(ledger, database)
    ledger.reject("London", predicate="LIVES_IN", reason="wrong")
    told = written(writer, built("a.md", LONDON))
    assert any("rejected value" in each["reason"] for each in told["set_aside"])
    assert ("Ada", "LIVES_IN", "London") not in facts(ledger)
    (chunk,) = (node for node in database.graphs[0].nodes if node.label == "Chunk")
    text = Text("c", LONDON, dict(chunk.properties), None)
    assert TruthRetriever(Given([(text, 1.0)]), ledger, valid_at=DAY).search("Where?").items == []


def test_labels_and_types_may_be_called_otherwise(ledger: Ledger) -> None:
    config = LexicalGraphConfig(
        document_node_label="File",
        chunk_node_label="Piece",
        chunk_to_document_relationship_type="OF",
        node_to_chunk_relationship_type="IN",
        chunk_text_property="words",
    )
    graph = Neo4jGraph(
        nodes=[
            Neo4jNode(id="d", label="File", properties={"path": "a.md"}),
            Neo4jNode(id="c", label="Piece", properties={"words": LONDON}),
            Neo4jNode(id="e", label="Chunk", properties={"name": "an entity"}),
        ],
        relationships=[
            Neo4jRelationship(start_node_id="c", end_node_id="d", type="OF"),
            Neo4jRelationship(start_node_id="e", end_node_id="c", type="IN"),
        ],
    )
    written(LedgerWriter(ledger), graph, lexical_graph_config=config)
    assert facts(ledger) == {("a.md", "SAYS", LONDON), ("an entity", "IS_A", "Chunk")}


def test_entities_are_named_by_their_properties_or_by_a_function(ledger: Ledger) -> None:
    bare = Neo4jNode(id="1", label="Invoice", properties={"number": 7, "day": date(2024, 1, 1)})
    assert named(bare) == 'Invoice({"day": "2024-01-01", "number": 7})'
    assert named(Neo4jNode(id="1", label="X", properties={"title": "T", "id": "I"})) == "T"
    assert named(Neo4jNode(id="1", label="X")) is None
    writer = LedgerWriter(ledger, naming=lambda node: f"No. {node.properties['number']}")
    written(writer, graph_of({"number": 7}))
    assert ("No. 7", "number", 7) in facts(ledger)


VALUES = st.text(max_size=8) | st.integers(-9, 9) | st.booleans() | st.floats(allow_nan=False)
THINGS = st.dictionaries(st.sampled_from(["name", "title", "colour", "size"]), VALUES, max_size=3)


@given(st.lists(THINGS, max_size=4), st.text(max_size=20), st.booleans())
def test_whatever_a_graph_says_it_is_recorded_once(
    things: list[dict[str, Any]], text: str, replace: bool
) -> None:
    graph = graph_of(*things, text=text)
    with doxa.open() as ledger:
        writer = LedgerWriter(ledger, replace=replace)
        first = written(writer, graph)
        known = facts(ledger)
        again = written(writer, graph)
        assert again["events"] == again["withdrawn"] == 0
        assert facts(ledger) == known
        assert [a["place"] for a in again["set_aside"]] == [a["place"] for a in first["set_aside"]]
        assert ledger.verify().ok


def test_an_import_has_a_name_that_can_stand_in_ids(ledger: Ledger) -> None:
    with pytest.raises(doxa.CallerError, match="name is 'a/b'"):
        LedgerWriter(ledger, name="a/b")
