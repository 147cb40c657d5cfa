"""Reports of an index rest on what they cite, through the reports below them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.adapters.graphrag import aliases_of, import_index, read_tables, tables_of
from doxa.adapters.graphrag.citations import Cited, citations
from doxa.adapters.graphrag.citations import written as cited_as
from doxa.adapters.graphrag.mapping import Mapped, mapped
from doxa.engine import events as ev
from doxa.ledger import Ledger
from tests.graph_indexes import A0, A1, B0, B1, Rows, sha, story, written

Shared = Callable[..., Path]

# ---------------------------------------------------------------- citations

WORDS = {
    "Entities": "entities",
    "Relationships": "relationships",
    "Claims": "covariates",
    "Sources": "text_units",
    "Reports": "community_reports",
    "General Knowledge": None,
}
some_cited = st.builds(
    lambda word, numbers, more, odd: Cited(word, WORDS[word], tuple(numbers), more, tuple(odd)),
    st.sampled_from(sorted(WORDS)),
    st.lists(st.integers(0, 10**18 - 1), unique=True, max_size=6),
    st.booleans(),
    st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True).filter(lambda w: w != "etc"),
             unique=True, max_size=2).filter(lambda odd: "more" not in odd),
)  # fmt: skip


@given(st.lists(some_cited, max_size=4), st.text("ab .\n"), st.text("ab .\n"))
def test_what_is_written_is_read_again(said: list[Cited], before: str, after: str) -> None:
    assert citations(before + cited_as(said) + after) == said


@given(st.lists(some_cited, min_size=1, max_size=3), st.lists(some_cited, min_size=1, max_size=3))
def test_citations_are_read_one_after_the_other(one: list[Cited], other: list[Cited]) -> None:
    assert citations(f"A {cited_as(one)}. B {cited_as(other)}.") == one + other


@given(st.text("[](),;: +Data実体Entities0123\n\uff08\uff09\uff1a", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for cited in citations(text):
        assert len(set(cited.numbers)) == len(cited.numbers)
        assert all(number >= 0 for number in cited.numbers)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("[Data: Sources (15, 16), Reports (1); Claims (2, +more)]",
         [("text_units", (15, 16), False), ("community_reports", (1,), False),
          ("covariates", (2,), True)]),
        ("[data:entities(1;2)]", [("entities", (1, 2), False)]),
        ("[Data: Reports (1), (2)]", [("community_reports", (1,), False),
                                      ("community_reports", (2,), False)]),
        ("[Data: Entities (1, 2 +more)]", [("entities", (1, 2), True)]),
        ("[Data: Entities 5, 7; Reports (3)]", [("entities", (5, 7), False),
                                                ("community_reports", (3,), False)]),
        ("[Data: Entities (1), and Relationships (2)]", [("entities", (1,), False),
                                                         ("relationships", (2,), False)]),
        ("[Data: Entities (1\n, 2)\n]", [("entities", (1, 2), False)]),
        ("[Data: Entities (1, 2", [("entities", (1, 2), False)]),
        ("[Data: Entities (1) [Data: Reports (2)]", [("entities", (1,), False),
                                                     ("community_reports", (2,), False)]),
        ("[Data: Reports]", [("community_reports", (), False)]),
        ("[Database: Entities (1)] and [Data Entities (1)]", []),
        ("[Data: ]", []),
    ],
)  # fmt: skip
def test_citations_are_read_as_models_write_them(
    said: str, found: list[tuple[str, tuple[int, ...], bool]]
) -> None:
    assert [(c.table, c.numbers, c.more) for c in citations(said)] == found


def test_what_is_no_number_is_told_of() -> None:
    (dates,) = citations("[Data: Date_Range ((2001, 05, 15), (2001, 05, 18))]")
    assert dates.table is None
    assert dates.odd
    (ids,) = citations("[Data: Entities (5-7, 99999999999999999999, e12)]")
    assert ids.numbers == ()
    assert ids.odd == ("5-7", "99999999999999999999", "e12")


# ---------------------------------------------------------------- what reports rest on


def report(rows: Rows, number: int = 0) -> tuple[Any, Mapped]:
    said = mapped(tables_of(rows), index="story")
    (found,) = said.aliases.of("community_reports", number=number)
    return found, said


def of(said: Mapped, table: str, number: int) -> Any:
    (found,) = said.aliases.of(table, number=number)
    return found


def test_a_report_rests_on_what_it_cites_and_on_no_more() -> None:
    found, said = report(story(reports={0: "Alice [Data: Entities (0); Claims (0)]."}))
    alice, bribery = of(said, "entities", 0), of(said, "covariates", 0)
    assert set(found.facts) == {*alice.facts, *bribery.facts}
    assert set(found.supports) == set(alice.supports)


def test_a_cut_list_binds_a_report_to_its_whole_community_and_its_claims() -> None:
    found, said = report(story(reports={0: "Alice [Data: Entities (0, +more)]."}))
    tables = ("entities", "relationships", "covariates")
    every = [r for t in tables for r in said.aliases.in_table(t)]
    assert set(found.facts) == {fact for r in every for fact in r.facts}
    assert set(found.supports) == {support for r in every for support in r.supports}
    small, said = report(story(reports={1: "Bob [Data: Entities (2, +more)]."}), 1)
    assert not set(small.facts) & set(of(said, "entities", 0).facts)
    assert set(of(said, "covariates", 1).supports) <= set(small.supports)


def test_a_report_rests_on_what_the_reports_below_it_rest_on() -> None:
    told = {
        0: "All [Data: Reports (1)].",
        1: "Bob [Data: Claims (2); Reports (2)].",
        2: "Alice [Data: Entities (0); Reports (0)].",  # a ring
    }
    rows = story(reports=told)
    found, said = report(rows)
    bob, alice = of(said, "covariates", 2), of(said, "entities", 0)
    assert set(found.facts) == set(alice.facts)
    assert set(found.supports) == {*bob.supports, *alice.supports}
    assert {(r.facts, r.supports) for r in said.aliases.in_table("community_reports")} == {
        (found.facts, found.supports)
    }


@pytest.mark.parametrize("told", [{0: "Reports (1)", 1: "Reports (0)"}, {0: "Reports (0)"}])
def test_reports_that_only_cite_each_other_are_bound_to_their_communities(
    told: dict[int, str],
) -> None:
    found, said = report(story(reports={n: f"All [Data: {cited}]." for n, cited in told.items()}))
    assert not said.set_aside
    every = [r for t in ("entities", "covariates") for r in said.aliases.in_table(t)]
    assert set(found.facts) >= {fact for r in every for fact in r.facts}
    assert all(
        read.whole == ["it cites nothing but reports that do so too"] for read in said.reports
    )


def test_a_report_that_cites_an_empty_one_is_bound_to_its_whole_community() -> None:
    told = {0: "Alice [Data: Entities (0); Reports (1)].", 1: "None"}
    found, said = report(story(reports=told))
    assert set(found.facts) >= set(of(said, "entities", 2).facts)
    (read,) = said.reports
    (missed,) = read.unresolved
    assert missed.reason == "cites a report that was set aside: it has no text"


def test_communities_that_only_name_their_parents_hold_what_is_below_them() -> None:
    below: dict[int, Any] = {0: ([], ["ALICE"], []), 1: ([], ["ACME"], []), 2: ([], ["BOB"], [])}
    rows = story(communities=below, reports={0: "All [Data: Entities (0, +more)]."})
    for row, parent in zip(rows["communities"], (-1, 0, 1), strict=True):
        del row["children"]
        row["parent"] = parent
    found, said = report(rows)
    every = [r for t in ("entities", "covariates") for r in said.aliases.in_table(t)]
    assert set(found.facts) >= {fact for r in every for fact in r.facts}


def test_a_long_chain_of_reports_is_followed() -> None:
    told = {n: f"Above [Data: Reports ({n + 1})]." for n in range(3_000)}
    found, said = report(story(reports=told | {3_000: "Alice [Data: Entities (0)]."}))
    assert set(found.facts) == set(of(said, "entities", 0).facts)


@pytest.mark.parametrize(
    ("cited", "reason"),
    [
        ("Entities (99)", "cites a row that entities does not have"),
        ("Claims (1, 3)", "cites a row that covariates does not have"),
        ("Entities (href)", "cites what is no number of a row"),
        ("Entities", "cites a table and no row of it"),
        ("Reports (7)", "cites a report that is not there"),
        ("Legends (1)", "cites a table that no index has"),
    ],
)
def test_what_can_not_be_resolved_is_told_and_the_report_is_bound_to_its_community(
    cited: str, reason: str
) -> None:
    found, said = report(story(reports={0: f"Alice [Data: Entities (0); {cited}]."}))
    (read,) = said.reports
    assert [one.reason for one in read.unresolved] == [reason]
    assert read.whole == ["not all that it cites can be resolved"]
    assert set(of(said, "entities", 2).facts) <= set(found.facts)


def test_the_number_of_another_table_is_hinted_at_and_never_guessed() -> None:
    rows = story(reports={0: "Bob [Data: Claims (0); Relationships (2)]."})
    _, said = report(rows)
    (one,) = said.reports[0].unresolved
    assert one.reason == (
        "cites a row that relationships does not have; entities and covariates has one"
    )


def test_a_row_that_was_set_aside_is_not_resolved() -> None:
    rows = story(reports={1: "Bob [Data: Claims (1)]."})
    rows["covariates"][1]["status"] = "NONE"
    found, said = report(rows, 1)
    (one,) = said.reports[0].unresolved
    assert one.reason.startswith(
        "cites a row of covariates that was set aside: its status is 'NONE'"
    )
    assert set(of(said, "entities", 2).facts) <= set(found.facts)


def test_a_report_that_cites_nothing_is_bound_to_its_whole_community() -> None:
    found, said = report(story(reports={1: "Bob is about."}), 1)
    assert said.reports[0].whole == ["it cites nothing"]
    assert set(of(said, "entities", 2).facts) <= set(found.facts)
    assert not set(of(said, "entities", 0).facts) & set(found.facts)


def test_citations_that_mostly_lead_elsewhere_are_not_relied_on() -> None:
    found, said = report(story(reports={1: "Bob [Data: Entities (0, 1); Claims (1)]."}), 1)
    assert said.reports[0].outside == 2
    assert said.reports[0].whole == ["most of what it cites is no part of its community"]
    for cited in (of(said, "entities", 0), of(said, "entities", 2)):
        assert set(cited.facts) <= set(found.facts)


def test_a_report_of_no_known_community_that_cites_nothing_rests_on_the_whole_index() -> None:
    rows = story(reports={7: "Something."})
    found, said = report(rows, 7)
    assert said.reports[0].whole == ["it cites nothing", "its community is not known"]
    assert set(found.facts) == {r.claims[0] for r in said.aliases.in_table("text_units")}


def test_a_report_of_nothing_is_set_aside() -> None:
    said = mapped(tables_of({"community_reports": story()["community_reports"]}), index="i")
    assert [(one.row, one.reason) for one in said.set_aside] == [
        (0, "nothing in the index vouches for it"),
        (1, "nothing in the index vouches for it"),
    ]
    assert not said.events


def test_a_report_on_very_much_names_passages_in_place_of_each_piece_of_evidence(
    ledger: Ledger, tmp_path: Path
) -> None:
    units = [f"Passage {n}." for n in range(60)]
    entities = [(f"E{n}", "THING", f"Number {n}.", units) for n in range(150)]
    rows = story(
        documents={"long.txt": units},
        entities=entities,
        relationships=[],
        claims=[{"unit": units[0], "subject_id": "E0", "status": "SUSPECTED"}],
        communities={0: ([], [title for title, *_ in entities], [])},
        reports={0: "All [Data: Entities (0, +more)]."},
    )
    name = "an index with a long name " + "x" * 60
    done = import_index(ledger, written(tmp_path, rows), index=name)
    assert done.runs[0].coarse == 1
    assert not done.set_aside
    aliases = aliases_of(rows, index=name)
    (found,) = aliases.of("community_reports", number=0)
    assert len(found.facts) == 150 + 60
    assert len(found.supports) == 1
    (one,) = aliases.of("entities", number=3)
    view = ledger.view(valid_at="2026-06-01")
    assert found.artefact is not None
    assert ledger.judge([found.artefact], view)[0].eligible
    ledger.withdraw(doxa.Source(one.sources[0]))
    view = ledger.view(valid_at="2026-06-01")
    assert not ledger.judge([found.artefact], view)[0].eligible


def test_a_report_on_more_than_an_event_can_name_still_falls_with_each_of_it(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.adapters.graphrag import reports

    monkeypatch.setattr(reports, "_ROOM", 100)
    monkeypatch.setattr(reports, "_PART", 3)
    rows = story(reports={0: "All [Data: Entities (0, +more)]."})
    done = import_index(ledger, written(tmp_path, rows), index="i")
    assert not done.set_aside
    head = ledger.revision
    assert import_index(ledger, tmp_path, index="i").events == 0
    aliases = aliases_of(rows, index="i")
    (found,) = aliases.of("community_reports", number=0)
    assert found.artefact is not None
    every = {c for r in aliases for c in r.claims}
    suspected = {c for n in (1, 2) for c in aliases.of("covariates", number=n)[0].claims}
    assert not set(found.facts) & every
    for id in sorted(every - suspected):
        gone = ledger.withdraw(id)
        view = ledger.view(valid_at="2026-06-01")
        assert not ledger.judge([found.artefact], view)[0].eligible, id
        ledger.withdraw(gone)
    view = ledger.view(valid_at="2026-06-01")
    assert ledger.judge([found.artefact], view)[0].eligible
    assert ledger.revision > head
    assert ledger.verify().ok


# ---------------------------------------------------------------- the slow twin

CITED = re.compile(r"\[Data: ([^\]]+)\]")
PART = re.compile(r"(\w+) \(([^)]*)\)")
TABLE = {"Entities": "entities", "Relationships": "relationships", "Claims": "covariates"}


class Naive:
    """What reports rest on, row by row from data frames, the slow way."""

    def __init__(self, folder: Path) -> None:
        files = {p.stem.removeprefix("create_final_"): p for p in folder.glob("*.parquet")}
        self.frames = {table: pandas.read_parquet(path) for table, path in files.items()}
        if "entities" not in self.frames:
            nodes = self.frames["nodes"]
            self.nodes = nodes
            self.frames["entities"] = nodes.drop_duplicates("title").assign(
                text_unit_ids=lambda f: f["source_id"].str.split(",")
            )
        self.texts = self.frames["text_units"].set_index("id")["text"].to_dict()

    def rows(self, table: str, number: int) -> list[dict[str, Any]]:
        frame = self.frames[table]
        found = frame[frame["human_readable_id"].astype(int) == number].to_dict("records")
        return [row for row in found if table != "covariates" or row["type"] not in (None, "NONE")]

    def community(self, number: int) -> list[tuple[str, dict[str, Any]]]:
        communities = self.frames["communities"]
        column = "community" if "community" in communities else "raw_community"
        (own,) = communities[communities[column].astype(int) == number].to_dict("records")
        if "entity_ids" in own:
            members = self.frames["entities"]
            members = members[members["id"].isin(list(own["entity_ids"]))]
        else:
            placed = self.nodes[self.nodes["community"] == str(number)]["title"]
            members = self.frames["entities"]
            members = members[members["title"].isin(list(placed))]
        ties, claims = self.frames["relationships"], self.frames["covariates"]
        ties = ties[ties["id"].isin(list(own["relationship_ids"]))]
        claims = claims[claims["subject_id"].isin(list(members["title"]))]
        claims = claims[~claims["type"].isin([None, "NONE"])]
        return [
            (table, row)
            for table, frame in (
                ("entities", members), ("relationships", ties), ("covariates", claims)
            )
            for row in frame.to_dict("records")
        ]  # fmt: skip

    def rests_on(self, text: str, number: int) -> set[tuple[str, ...]]:
        """The claims, as (what it is about, its text), and the texts of the text units."""
        found: list[tuple[str, dict[str, Any]]] = []
        whole, outside, resolved = False, 0, 0
        members = self.community(number)
        inside = {(table, row["id"]) for table, row in members}
        titles = {row["title"] for table, row in members if table == "entities"}
        for body in CITED.findall(text):
            for word, ids in PART.findall(body):
                whole |= "+more" in ids
                for digits in re.findall(r"\d+", ids):
                    rows = self.rows(TABLE[word], int(digits))
                    whole |= not rows
                    found += [(TABLE[word], row) for row in rows]
                    resolved += bool(rows)
                    outside += bool(rows) and not any(
                        (TABLE[word], row["id"]) in inside
                        or {row.get("source"), row.get("target")} & titles
                        for row in rows
                    )
        if whole or 2 * outside > resolved or not found:
            found += members
        return {each for table, row in found for each in self.says(table, row)}

    def says(self, table: str, row: dict[str, Any]) -> list[tuple[str, ...]]:
        if table == "covariates":
            if row["status"] == "TRUE":
                return [("claim", row["subject_id"], row["description"])]
            return [("evidence", row["description"], self.texts[row["text_unit_id"]])]
        about = row["title"] if table == "entities" else row["source"]
        predicate = "IS_A" if table == "entities" else f"RELATED_TO {row['target']}"
        units = [self.texts[unit] for unit in row["text_unit_ids"]]
        return [("claim", about, predicate), *(("evidence", about, unit) for unit in units)]


@pytest.mark.parametrize("name", ["graphrag_dulce", "graphrag_dulce_v0", "graphrag_verbs"])
def test_the_slow_twin_finds_the_same_for_every_report(
    shared: Shared, ledger: Ledger, name: str
) -> None:
    folder = shared("data", name)
    import_index(ledger, folder)
    naive = Naive(folder)
    aliases = aliases_of(read_tables(folder), index=name)
    text_of = {digest(text): text for text in naive.texts.values()}
    reports = naive.frames["community_reports"].to_dict("records")
    for row in reports:
        (found,) = aliases.of("community_reports", id=row["id"])
        assert found.artefact is not None
        event = event_of(ledger, found.artefact)
        assert isinstance(event, ev.Summary)
        assert event.text == row["full_content"]
        assert (event.facts, event.supports) == (found.facts, found.supports)
        told = {each for id in event.facts for each in claim(event_of(ledger, id))}
        told |= {evidence(ledger, id, text_of) for id in event.supports}
        assert told == naive.rests_on(row["full_content"], int(row["community"])), row["title"]


def digest(text: str) -> str:
    from doxa.adapters.graphrag.naming import digest_of

    return digest_of(text)


def event_of(ledger: Ledger, id: str | ev.Ref) -> ev.Event:
    graph = ledger._stream.capture()[0].belief.graph
    return ledger._stream.payload(graph.position_of(graph.find("", str(id))))


def claim(event: ev.Event) -> list[tuple[str, ...]]:
    assert isinstance(event, ev.Claim)
    if event.text is not None:
        return [("claim", event.subject, event.text)]
    tie = event.predicate == "RELATED_TO"
    return [("claim", event.subject, f"RELATED_TO {event.object}" if tie else event.predicate)]


def evidence(ledger: Ledger, id: str | ev.Ref, text_of: dict[str, str]) -> tuple[str, ...]:
    support = event_of(ledger, id)
    assert isinstance(support, ev.Support)
    assert support.source is not None
    about = event_of(ledger, support.claim)
    assert isinstance(about, ev.Claim)
    return ("evidence", about.text or about.subject, text_of[support.source.digest or ""])


def test_the_passages_of_a_report_are_those_of_its_rows() -> None:
    found, said = report(story(reports={0: "Both [Data: Entities (1); Sources (3)]."}))
    acme = of(said, "entities", 1)
    passages = {of(said, "text_units", n).claims[0] for n in (0, 1, 2, 3)}
    assert set(found.units) == passages
    assert set(found.sources) == set(acme.sources)
    assert {sha(text) for text in (A0, A1, B0, B1)} == {
        r.id for r in said.aliases.in_table("text_units")
    }
