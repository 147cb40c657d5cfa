"""The tables of a ledger, held against the views of it: every row, at every pair of coordinates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine.belief import Belief
from doxa.engine.graph import CORRECTION, NONE, SUPPORT, WITHDRAWAL, entity
from doxa.engine.times import NEG, POS
from doxa.projections import checking, growing, rectangles
from doxa.projections.checking import check
from doxa.projections.tables import TABLES
from tests.histories import INSTANTS, WORKSPACES, moment
from tests.trials import walking
from tests.walks import Walk, wander

Row = dict[str, Any]
LENGTH = 25
SEEDS = st.integers(0, 2**48)
FEWER = settings(max_examples=max(15, settings().max_examples // 2))


def believed(ledger: doxa.Ledger) -> tuple[Belief, int]:
    """What a ledger believes, and its head."""
    view = ledger.view(valid_at="2024-01-01")
    return view.belief, view.revision


def rows_of(belief: Belief, head: int, name: str) -> list[Row]:
    """All rows of a table, made at once."""
    found: list[Row] = TABLES[name].added(belief, 0, head).to_pylist()
    return found


def covers(row: Row, v: int, k: int) -> bool:
    """The four comparisons."""
    return bool(
        row["valid_from"] <= v < row["valid_to"] and row["known_from"] <= k < row["known_to"]
    )


def commits(belief: Belief, head: int) -> list[int]:
    return [0, *(last for last in belief.graph.commit_last if last <= head)]


def wandered(seed: int, *, on_disk: bool = False) -> Iterator[Walk]:
    with walking(on_disk) as walk:
        wander(Random(seed), walk, LENGTH)
        yield walk


@FEWER
@given(seed=SEEDS)
def test_a_slice_of_the_beliefs_is_what_views_say_of_claims_in_their_own_intervals(
    seed: int,
) -> None:
    for walk in wandered(seed):
        belief, head = believed(walk.ledger)
        rows = rows_of(belief, head, "beliefs")
        random = Random(seed)
        for _ in range(12):
            v, k = random.choice(INSTANTS), random.choice(commits(belief, head))
            view = walk.ledger.view(
                valid_at=moment(v), known_at=k, workspace=random.choice(WORKSPACES)
            )
            expected = [
                (item.workspace, item.id, str(item.standing), item.position)
                for item in view.claims(standing="any")
                if (item.valid_from is None or item.valid_from <= view.valid_at)
                and (item.valid_to is None or view.valid_at < item.valid_to)
            ]
            found = [
                (row["workspace"], row["claim"], row["standing"], row["position"])
                for row in rows
                if covers(row, v, k) and row["workspace"] in {view.workspace, ""}
            ]
            assert sorted(found) == sorted(expected), (v, k)


@FEWER
@given(seed=SEEDS)
def test_supports_corrections_and_withdrawals_have_rows_where_they_count(seed: int) -> None:
    for walk in wandered(seed):
        belief, head = believed(walk.ledger)
        graph, random = belief.graph, Random(seed)
        for _ in range(8):
            v, k = random.choice(INSTANTS), random.choice(commits(belief, head))
            for name, kind, positions in (
                ("supports", SUPPORT, graph.s_pos),
                ("corrections", CORRECTION, graph.k_pos),
                ("withdrawals", WITHDRAWAL, graph.w_pos),
            ):
                rows = rows_of(belief, head, name)
                expected = [
                    positions[row]
                    for row in range(len(positions))
                    if positions[row] <= k and counts(belief, entity(kind, row), v, k)
                ]
                found = [row["position"] for row in rows if covers(row, v, k)]
                assert sorted(found) == sorted(expected), (name, v, k)


def counts(belief: Belief, number: int, v: int, k: int) -> bool:
    """Whether an event counts, by the engine; a correction of a name, while the claim of that name
    has not arrived, over the portion that it states."""
    graph, row = belief.graph, number >> 3
    unmet = graph.k_unresolved.get(row) if number & 7 == CORRECTION else None
    if unmet is not None:
        claim = graph.k_target[row]
        if claim == NONE or graph.c_pos[claim] > k:
            low, high = unmet.valid
            extents = belief.extents
            return low <= v < high and (not extents.has(number) or bool(extents.at(number, v, k)))
    return belief.counts(number, v, k)


@FEWER
@given(seed=SEEDS)
def test_what_comes_in_part_by_part_is_what_comes_in_at_once(seed: int) -> None:
    for walk in wandered(seed):
        belief, head = believed(walk.ledger)
        ends = commits(belief, head)
        cuts = sorted({0, head, *Random(seed).choices(ends, k=3)})
        for name, table in TABLES.items():
            whole = table.added(belief, 0, head)
            parts = [table.added(belief, low, high, head) for low, high in pairwise(cuts)]
            assert pa.concat_tables(parts or [whole]).equals(whole), name
            assert followed(belief, name, cuts) == whole.to_pylist(), name


def followed(belief: Belief, name: str, cuts: list[int]) -> list[Row]:
    """The rows as somebody has them who was told at each cut what came in and what ended."""
    rows: list[Row] = []
    for low, high in pairwise(cuts):
        told = [
            ((end["position"], end["valid_from"], end["known_from"]), end)
            for end in TABLES[name].ended(belief, low, high).to_pylist()
        ]
        ends = dict(told)
        assert len(ends) == len(told), "the key of an end means one row"
        for row in rows:
            end = ends.pop((row["position"], row.get("valid_from"), row["known_from"]), None)
            if end is not None:
                assert row["known_to"] == POS, "a closed row never changes"
                row["known_to"], row["known_to_at"] = end["known_to"], end["known_to_at"]
        assert not ends, "what ended was known"
        rows += TABLES[name].added(belief, low, high).to_pylist()
    return rows


@FEWER
@given(seed=SEEDS)
def test_the_rows_of_a_claim_tile_its_interval_from_its_commit_on(seed: int) -> None:
    for walk in wandered(seed):
        belief, head = believed(walk.ledger)
        rows, graph = rows_of(belief, head, "beliefs"), belief.graph
        for claim, position in enumerate(graph.c_pos):
            mine = [row for row in rows if row["position"] == position]
            own = (graph.c_from[claim], graph.c_to[claim], graph.commit_of(position))
            assert tiles(mine, *own), (graph.claim_id(claim), own, mine)
        assert list(check(belief, head, None)) == []


def tiles(rows: list[Row], low: int, high: int, known: int) -> bool:
    """Whether each cell of the grid of all bounds lies in one row if inside, else in none."""
    days = sorted({low, high, *(row[name] for row in rows for name in ("valid_from", "valid_to"))})
    ends = sorted({known, POS, *(row[name] for row in rows for name in ("known_from", "known_to"))})
    return all(
        sum(covers(row, v, k) for row in rows) == (low <= v < high and known <= k)
        for v in days[:-1]
        for k in ends[:-1]
    )


@pytest.mark.parametrize("left_out", [0, 1, -1])
def test_beliefs_that_do_not_tile_are_found_out(
    ledger: doxa.Ledger, monkeypatch: pytest.MonkeyPatch, left_out: int
) -> None:
    home = ledger.claim("ada", "lives_in", "London", id="home", source="s", valid_from="2024-01-01")
    ledger.correct(home, "Lisbon", valid_from="2024-06-01", source="s")
    whole = rectangles.added

    def added(*args: Any) -> rectangles.Rectangles:
        found = whole(*args)
        keep = [n for n in range(len(found.owner)) if n != left_out % len(found.owner)]
        return found.chosen(keep)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "added", added)
    ((_, code, message),) = check(*believed(ledger), None)
    assert code == "tiling"
    assert "overlap or leave a gap" in message


@FEWER
@given(seed=SEEDS)
def test_claims_artefacts_and_events_are_as_recorded(seed: int) -> None:
    for walk in wandered(seed):
        belief, head = believed(walk.ledger)
        graph, log = belief.graph, walk.log()
        events = rows_of(belief, head, "events")
        assert [row["position"] for row in events] == list(range(1, head + 1))
        assert [row["id"] for row in events] == [graph.id_at(p) for p in range(1, head + 1)]
        stored = [row for page in walk.ledger.recorder.read_rows() for row in page]
        assert [row["type"] for row in events] == [row.type for row in stored]
        assert [row["recorded_at"] for row in events] == [row.recorded_at for row in stored]
        assert all(row["known_from"] == graph.commit_of(row["position"]) for row in events)
        claims = rows_of(belief, head, "claims")
        assert [(row["workspace"], row["claim"]) for row in claims] == list(log.claims)
        assert [(row["valid_from"], row["valid_to"]) for row in claims] == [
            (claim.valid_from, claim.valid_to) for claim in log.claims.values()
        ]
        artefacts = rows_of(belief, head, "artefacts")
        assert [(row["workspace"], row["artefact"]) for row in artefacts] == list(log.artefacts)
        for row, artefact in zip(artefacts, log.artefacts.values(), strict=True):
            payload = walk.ledger.view(valid_at=moment(INSTANTS[0])).payload(artefact.position)
            assert row["kind"] == payload.TYPE
            assert row["binding"] == payload.__dict__["binding"]
            assert row["sources"] == list(payload.__dict__["sources"])
            named = [getattr(ref, "id", ref) for ref in payload.__dict__["supports"]]
            assert row["supports"] == named
            subjects = payload.__dict__["subjects"]
            assert row["subjects"] == (None if subjects is None else list(subjects))


def test_what_supports_rest_on_and_come_from_stands_in_their_rows(ledger: doxa.Ledger) -> None:
    letter = doxa.Source("letter", origin="ada", digest="d1", observed_at="2024-03-05")
    one = ledger.claim("a", "p", 1, id="one", source=letter)
    two = ledger.claim("b", "p", 2, id="two", because=[one], workspace="")
    three = ledger.claim("c", "p", 3, id="three", workspace="w", because=[doxa.Ref("", two)])
    ledger.support(one, because=[two], stance="refutes", id="doubt")
    rows = {row["support"]: row for row in rows_of(*believed(ledger), "supports")}
    carried = rows["one/support"]
    assert [carried[name] for name in ("source", "origin", "digest")] == ["letter", "ada", "d1"]
    assert carried["observed_at"] == 1709596800000000
    assert (carried["valid_from"], carried["valid_to"]) == (NEG, POS)
    derived = rows[f"{three}/support"]
    assert (derived["workspace"], derived["because"]) == ("w", ["two"])
    assert derived["because_positions"] == [2]
    assert (derived["source"], derived["origin"], derived["observed_at"]) == (None, None, None)
    assert (rows["doubt"]["stance"], rows["doubt"]["claim"]) == ("refutes", "one")


def test_a_correction_of_a_name_has_no_claim_until_that_arrives(ledger: doxa.Ledger) -> None:
    ledger.append([
        {"event": "correction", "id": "k", "unresolved": "late", "valid_from": "2024-02-01"},
    ])  # fmt: skip
    before = ledger.revision
    ledger.claim("a", "p", 1, id="late", source="s", valid_from="2024-01-01", valid_to="2024-06-01")
    then, now = rows_of(*believed(ledger), "corrections")
    assert (then["claim"], then["known_to"], then["valid_to"]) == (None, ledger.revision, POS)
    assert (now["claim"], now["known_from"], now["known_to"]) == ("late", ledger.revision, POS)
    assert then["known_from"] == before
    assert now["valid_to"] == 1717200000000000


def test_targets_of_withdrawals_are_named_by_kind(ledger: doxa.Ledger) -> None:
    claim = ledger.claim("a", "p", 1, id="c", source="letter")
    quote = ledger.cite("words", claim=claim, id="q")
    first = ledger.withdraw(claim, id="w1")
    targets: list[Any] = [f"{claim}/support", quote, first, doxa.Source("letter"), claim]
    for number, target in enumerate(targets, 2):
        ledger.withdraw(target, id=f"w{number}")
    rows = rows_of(*believed(ledger), "withdrawals")
    named = {row["withdrawal"]: (row["target_kind"], row["target"]) for row in rows}
    assert named == {
        "w1": ("claim", "c"),
        "w2": ("support", "c/support"),
        "w3": ("artefact", "q"),
        "w4": ("withdrawal", "w1"),
        "w5": ("source", "letter"),
        "w6": ("claim", "c"),
    }
    assert {row["target_position"] for row in rows if row["target_kind"] == "source"} == {None}


def test_many_rows_are_made_as_few_are(ledger: doxa.Ledger) -> None:
    lines = [
        {"event": "claim", "id": f"c{n}", "subject": f"s{n % 7}", "predicate": "p", "object": n,
         "source": f"o{n % 3}", "recorded_at": f"2024-01-01T00:00:{n // 500:02}Z"}
        for n in range(21_000)
    ]  # fmt: skip
    ledger.import_events(lines)
    belief, head = believed(ledger)
    whole = TABLES["beliefs"].added(belief, 0, head).to_pylist()
    part = TABLES["beliefs"].added(belief, 500, 1_000, head).to_pylist()
    assert part == whole[500:1_000]
    assert Counter(row["standing"] for row in whole) == {"reported": 21_000}
    assert [row["object"] for row in whole[:3]] == ["0", "1", "2"]


def test_texts_of_more_bytes_than_a_plain_array_can_have_are_given_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "LARGEST", 100)
    with doxa.open(tmp_path) as ledger:
        for number in range(1_100):
            ledger.append([{"event": "claim", "subject": f"s{number}", "predicate": "p",
                            "object": f"value {number}", "source": "s"}])  # fmt: skip
    with doxa.open(tmp_path) as again:
        again.claim("one", "more", "value", source="s")
        said = [json.dumps(f"value {number}") for number in range(1_100)] + ['"value"']
        assert [row["object"] for row in rows_of(*believed(again), "claims")] == said
        table = again.view(valid_at="2024-01-01").to_arrow()
        assert table.column("object").to_pylist() == said
