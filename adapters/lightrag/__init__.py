"""LightRAG: its stores into a ledger, and its query data judged by a view. Needs no LightRAG."""

from doxa.adapters.lightrag.importing import Gone, Imported, import_workspace
from doxa.adapters.lightrag.querying import Judged, Truth

__all__ = ["Gone", "Imported", "Judged", "Truth", "import_workspace"]
