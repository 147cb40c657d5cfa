"""What grows with what changed, and not with its square: counted, not timed."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import doxa
from doxa.engine.belief import Belief


def test_a_long_series_of_corrections_is_told_at_the_cost_of_its_length(
    ledger: doxa.Ledger,
) -> None:
    length = 300
    claim: dict[str, Any] = {"event": "claim", "subject": "x", "predicate": "p", "source": "s"}
    ledger.append([claim | {"id": "c0", "object": 0}])
    for n in range(1, length):
        new = claim | {"id": f"c{n}", "object": n}
        ledger.append([new, {"event": "correction", "corrects": f"c{n - 1}", "by": f"c{n}"}])
    with patch.object(Belief, "standing", autospec=True, side_effect=Belief.standing) as asked:
        told = ledger.history("x", "p", valid_at="2024-06-01")
    assert [belief.value for belief in told] == list(range(length))
    assert asked.call_count <= 2 * length
