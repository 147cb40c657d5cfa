"""A search that looks on until it has enough, however many score alike."""

from __future__ import annotations

import pytest

import doxa


@pytest.mark.parametrize("count", [40, 300, 1_500])
def test_what_is_held_is_found_behind_many_that_match_as_well_and_are_not(count: int) -> None:
    with doxa.open() as ledger:
        day = {"valid_from": "2024-01-01", "valid_to": "2024-01-02", "source": "s"}
        old = [{"event": "claim", "id": f"o{n}", "subject": f"a{n}"} for n in range(count)]
        said = {"predicate": "said", "object": 1, "text": "the same word"}
        ledger.append([{**claim, **said, **day} for claim in old])
        ledger.append([{"event": "claim", "id": "now", "subject": "b", **said, "source": "s"}])
        answer = ledger.recall("word", view=ledger.view(valid_at="2024-06-01"))
        assert [hit.id for hit in answer] == ["now"]
        assert (answer.pool.scanned, answer.pool.state) == (count + 1, "exhausted")
