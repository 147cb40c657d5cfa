"""Views as Arrow tables, against the claims that the same views give one by one."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.engine.times import iso
from doxa.projections import arrow
from tests.histories import INSTANTS, PERSPECTIVES, PREDICATES, SUBJECTS, WORKSPACES, moment
from tests.trials import walking
from tests.walks import wander

DAY = "2024-06-01"


def of_table(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as `ClaimItem.as_dict` has them."""
    rows = []
    for row in table.to_pylist():
        row["object"] = json.loads(row["object"])
        for name in ("valid_from", "valid_to", "recorded_at"):
            row[name] = None if row[name] is None else iso(row[name])
        rows.append(row)
    return rows


@given(seed=st.integers(0, 2**48), few=st.sampled_from([0, 10_000]), many=st.sampled_from([0, 99]))
def test_a_table_has_the_claims_of_the_same_selection(seed: int, few: int, many: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch, walking(False) as walk:
        patch.setattr(arrow, "_FEW", few)
        patch.setattr(arrow, "_MANY", many)
        wander(random, walk, 25)
        commits = [0, *walk.ledger.view(valid_at=DAY).graph.commit_last]
        for _ in range(10):
            view = walk.ledger.view(
                valid_at=moment(random.choice(INSTANTS)),
                known_at=random.choice(commits),
                workspace=random.choice(WORKSPACES),
                shared=random.random() < 0.8,
                perspective=random.choice([None, None, *PERSPECTIVES]),
            )
            selection = {
                "subject": random.choice([None, None, *SUBJECTS, "nobody"]),
                "predicate": random.choice([None, *PREDICATES, "nothing"]),
                "standing": random.choice([None, None, "any", "superseded"]),
            }
            expected = [item.as_dict() for item in view.claims(**selection)]
            found = of_table(view.to_arrow(**selection))
            assert [{name: row[name] for name in found[0]} for row in expected] == found or (
                not found and not expected
            ), (view, selection)


def test_only_the_columns_that_are_named_are_made(ledger: doxa.Ledger) -> None:
    ledger.claim("x", "p", 1, source="s", id="a")
    view = ledger.view(valid_at=DAY)
    assert view.to_arrow(columns=["standing", "id"]).to_pylist() == [
        {"standing": "reported", "id": "a"}
    ]
    assert view.to_arrow(columns=["id", "id"]).column_names == ["id"]
    wrong: list[Any] = ["id", []]
    for bad in wrong:
        with pytest.raises(doxa.CallerError, match="give a list of names"):
            view.to_arrow(columns=bad)
    with pytest.raises(doxa.CallerError, match="'colour' is no column of claims; they are id"):
        view.to_arrow(columns=["id", "colour"])
