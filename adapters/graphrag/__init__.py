"""Indexes of Microsoft GraphRAG: read without that package, carried into a ledger, and resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doxa.adapters.graphrag.aliases import Aliases, Rests, aliases_of
    from doxa.adapters.graphrag.importing import import_index
    from doxa.adapters.graphrag.outcome import IndexImport, RunImport
    from doxa.adapters.graphrag.tables import Tables, read_tables, tables_of
    from doxa.adapters.graphrag.words import VOCABULARY, Vocabulary

_FROM = "doxa.adapters.graphrag."
# What is loaded when it is first used, and from where. None is called as a module is.
_LAZY = {
    "Aliases": "aliases",
    "IndexImport": "outcome",
    "Rests": "aliases",
    "RunImport": "outcome",
    "Tables": "tables",
    "VOCABULARY": "words",
    "Vocabulary": "words",
    "aliases_of": "aliases",
    "import_index": "importing",
    "read_tables": "tables",
    "tables_of": "tables",
}

__all__ = [
    "VOCABULARY",
    "Aliases",
    "IndexImport",
    "Rests",
    "RunImport",
    "Tables",
    "Vocabulary",
    "aliases_of",
    "import_index",
    "read_tables",
    "tables_of",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'doxa.adapters.graphrag' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_FROM + module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
