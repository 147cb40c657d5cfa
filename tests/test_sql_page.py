"""Every query of the page about the tables gives what the engine gives, on random histories.

Each is run by the ledger, and by a plain DuckDB over the Parquet files of an export.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.engine.belief import Belief
from doxa.projections.tables import TABLES
from tests.histories import INSTANTS
from tests.support import ROOT
from tests.trials import walking
from tests.walks import wander

PAGE = (ROOT / "docs" / "sql.md").read_text("utf-8")
QUERIES = {
    found[1]: found[2]
    for found in re.finditer(r"^### (.+?)$[^#]*?```sql\n(.*?)```", PAGE, re.M | re.S)
}
LENGTH = 25
FEWER = settings(max_examples=max(10, settings().max_examples // 3))
Rows = list[tuple[Any, ...]]
Ask = Callable[[str, dict[str, int]], Rows]


@contextmanager
def engines(ledger: doxa.Ledger) -> Iterator[list[Ask]]:
    """The ledger's own SQL, and another engine over its export."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        ledger.export_parquet(Path(folder) / "tables")
        for name in TABLES:
            con.execute(f"CREATE VIEW {name} AS FROM '{folder}/tables/{name}.parquet'")
        yield [
            lambda sql, params: ledger.sql(sql, params).rows,
            lambda sql, params: con.execute(sql, params).fetchall(),
        ]


class Places:
    """A ledger with a random history, and coordinates in it."""

    def __init__(self, ledger: doxa.Ledger, seed: int) -> None:
        self.ledger, self.random = ledger, Random(seed)
        view = ledger.view(valid_at="2024-01-01")
        self.belief: Belief = view.belief
        self.ends = [0, *(last for last in view.graph.commit_last if last <= view.revision)]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for _ in range(4):
            yield self.random.choice(INSTANTS), self.random.choice(self.ends)

    def claims(self, v: int, k: int) -> list[int]:
        """The claims that are known and whose own interval holds an instant."""
        graph = self.belief.graph
        return [
            row for row in range(graph.claims_upto(k)) if graph.c_from[row] <= v < graph.c_to[row]
        ]

    def key(self, row: int) -> tuple[str, str]:
        graph = self.belief.graph
        return graph.names.texts[graph.c_ws[row]], graph.claim_id(row)


def believed(places: Places, v: int, k: int) -> Rows:
    standing = places.belief.standing
    return [(*places.key(row), str(standing(row, v, k))) for row in places.claims(v, k)]


def behind(places: Places, v: int, k: int) -> Rows:
    belief, graph = places.belief, places.belief.graph
    found: Rows = []
    for row in places.claims(v, k):
        if belief.held(row, v, k):
            live = [s for s in belief.live_supports(row, v, k) if not graph.s_refutes[s]]
            found.append((*places.key(row), len(live), len(belief.origins(row, v, k))))
    return found


def replaced(places: Places, v: int, k: int) -> Rows:
    belief = places.belief
    return [
        (*places.key(row), places.key(successor)[1])
        for row in range(belief.graph.claims_upto(k))
        for successor in belief.successors(row, v, k)
    ]


def changed(places: Places, v: int, k: int, before: int) -> Rows:
    earlier = dict(((w, c), s) for w, c, s in believed(places, v, before))
    later = dict(((w, c), s) for w, c, s in believed(places, v, k))
    return [
        (*key, earlier.get(key), later.get(key))
        for key in earlier.keys() | later.keys()
        if earlier.get(key) != later.get(key)
    ]


def test_the_page_has_the_queries_that_are_tested() -> None:
    assert set(QUERIES) == {
        "What was believed",
        "What was believed, as known at an instant",
        "What stands behind it",
        "What replaced it",
        "What changed",
    }


def compared(seed: int, check: Callable[[Places, Ask, int, int], None]) -> None:
    with walking(False) as walk:
        wander(Random(seed), walk, LENGTH)
        places = Places(walk.ledger, seed)
        with engines(walk.ledger) as asks:
            for v, k in places:
                for ask in asks:
                    check(places, ask, v, k)


@FEWER
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("What was believed", believed),
        ("What stands behind it", behind),
        ("What replaced it", replaced),
    ],
)
@given(seed=st.integers(0, 2**48))
def test_the_query_gives_what_the_engine_gives(
    title: str, expected: Callable[[Places, int, int], Rows], seed: int
) -> None:
    def check(places: Places, ask: Ask, v: int, k: int) -> None:
        found = ask(QUERIES[title], {"valid_at": v, "known_at": k})
        assert sorted(found) == sorted(expected(places, v, k)), (v, k)

    compared(seed, check)


@FEWER
@given(seed=st.integers(0, 2**48), late=st.integers(0, 1_000))
def test_the_query_by_an_instant_of_knowledge_gives_what_was_known_by_then(
    seed: int, late: int
) -> None:
    def check(places: Places, ask: Ask, v: int, k: int) -> None:
        graph = places.belief.graph
        at = graph.recorded_of(k) + late if k else graph.commit_at[0] - 1 if graph.position else 0
        found = ask(
            QUERIES["What was believed, as known at an instant"], {"valid_at": v, "known_at": at}
        )
        assert sorted(found) == sorted(believed(places, v, graph.known(at))), (v, at)

    compared(seed, check)


@FEWER
@given(seed=st.integers(0, 2**48))
def test_the_query_for_changes_gives_the_difference_of_two_slices(seed: int) -> None:
    def check(places: Places, ask: Ask, v: int, k: int) -> None:
        before = places.random.choice(places.ends)
        found = ask(QUERIES["What changed"], {"valid_at": v, "known_at": k, "before": before})
        expected = changed(places, v, k, before)
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), (v, k, before)

    compared(seed, check)


def test_the_differences_are_those_of_two_views(ledger: doxa.Ledger) -> None:
    home = ledger.claim("ada", "lives_in", "London", id="home", valid_from="2024-03-01", source="s")
    then = ledger.view(valid_at="2024-07-01")
    ledger.correct(home, "Lisbon", id="moved", valid_from="2024-06-01", source="t")
    now = ledger.view(valid_at="2024-07-01")
    found = ledger.sql(
        QUERIES["What changed"],
        {"valid_at": now.valid_at, "known_at": now.revision, "before": then.revision},
    )
    assert sorted(found, key=lambda row: str(row[1])) == [
        (change.workspace, change.id, None if change.before == "not_yet_known" else change.before,
         str(change.after))
        for change in now.diff(then)
    ]  # fmt: skip
