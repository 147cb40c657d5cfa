"""Graphiti: its edges and episodes into a ledger, and its search judged by a view. Only reading a
stored graph needs Graphiti."""

from doxa.adapters.graphiti.querying import Judged, Truth
from doxa.adapters.graphiti.recording import (
    Recorded,
    aimport_graph,
    arecord_results,
    import_graph,
    record_results,
)
from doxa.adapters.graphiti.stored import read_graph

__all__ = [
    "Judged",
    "Recorded",
    "Truth",
    "aimport_graph",
    "arecord_results",
    "import_graph",
    "read_graph",
    "record_results",
]
