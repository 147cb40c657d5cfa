"""LightRAG: its stores into a ledger, and its query data judged by a view. Needs no LightRAG."""

from doxa.adapters.lightrag.importing import Gone, Imported, import_workspace

__all__ = ["Gone", "Imported", "import_workspace"]
