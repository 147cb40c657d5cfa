"""What carries something into a ledger, or out of it, and is given its path in place of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.adapters.exchange import export_events, import_events
from doxa.adapters.git import import_git
from doxa.adapters.graphiti import import_graph, record_results
from doxa.adapters.graphrag import import_index
from doxa.adapters.lightrag import import_workspace
from doxa.adapters.markdown import import_corpus
from doxa.adapters.tables import events_to_arrow, import_table, write_parquet

CALLS: dict[str, Callable[[Any, Path], object]] = {
    "import_corpus": lambda ledger, here: import_corpus(ledger, here),
    "import_index": lambda ledger, here: import_index(ledger, here),
    "import_git": lambda ledger, here: import_git(ledger, here, "a.csv", key="id"),
    "import_workspace": lambda ledger, here: import_workspace(ledger, here),
    "import_graph": lambda ledger, here: import_graph(ledger, {"nodes": []}),
    "record_results": lambda ledger, here: record_results(ledger, []),
    "import_table": lambda ledger, here: import_table(ledger, events_to_arrow(doxa.open())),
    "write_parquet": lambda ledger, here: write_parquet(ledger, here / "events.parquet"),
    "import_events": lambda ledger, here: import_events(ledger, ["{}"]),
    "export_events": lambda ledger, here: list(export_events(ledger)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_in_place_of_a_ledger_is_said_to_be_one_with_how_it_is_opened(
    name: str, kind: type, tmp_path: Path
) -> None:
    path = tmp_path / "team.doxa"
    with pytest.raises(doxa.CallerError) as raised:
        CALLS[name](kind(path), tmp_path)
    said = f"ledger is {str(path)!r}; open it first: with doxa.open({str(path)!r}) as ledger: …"
    assert str(raised.value) == said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_ledger_at_all_is_named_by_its_type(name: str, tmp_path: Path) -> None:
    said = re.escape("ledger is of type NoneType; give what doxa.open returns")
    with pytest.raises(doxa.CallerError, match=said):
        CALLS[name](None, tmp_path)
